/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Objects and the mailboxes they send. Offsets here are the PRM's, in bytes, and not taken from the
 * library's own description of it.
 */
#include <criterion/criterion.h>
#include <errno.h>

#include "engine_verbs.h"

TestSuite(engine_verbs, .init = fake_reset, .fini = nothing_lives);

Test(engine_verbs, device_attributes_are_what_device_and_firmware_say)
{
	struct doca_verbs_device_attr *attr;

	cr_assert_eq(doca_verbs_query_device(NULL, &attr), DOCA_ERROR_INVALID_VALUE);
	cr_assert_eq(doca_verbs_query_device(fake_pd.context, &attr), DOCA_SUCCESS);
	cr_assert_eq(doca_verbs_device_attr_get_max_qp(attr), 1000);
	cr_assert_eq(doca_verbs_device_attr_get_max_cqe(attr), 4194303);
	cr_assert_eq(doca_verbs_device_attr_get_max_srq_sge(attr), 31);
	cr_assert_eq(doca_verbs_device_attr_get_max_pkeys(attr), 128);
	cr_assert_eq(doca_verbs_device_attr_get_send_dbr_mode_no_dbr_ext(attr), 1);
	cr_assert_eq(doca_verbs_device_attr_get_max_qp_init_rd_atom(attr), 16);
	cr_assert_eq(doca_verbs_device_attr_get_is_qp_type_supported(attr, DOCA_VERBS_QP_TYPE_RC),
		     DOCA_SUCCESS);
	cr_assert_eq(doca_verbs_device_attr_get_is_qp_type_supported(attr, 1),
		     DOCA_ERROR_INVALID_VALUE);
	cr_assert_eq(doca_verbs_device_attr_free(attr), DOCA_SUCCESS);
}

Test(engine_verbs, umem_registers_memory_or_a_dmabuf)
{
	static char memory[8192];
	struct doca_verbs_umem *umem;
	uint32_t id = 0;
	size_t size = 0;
	void *addr;

	cr_assert_eq(doca_verbs_umem_create(fake_pd.context, NULL, 1, 0, -1, 0, &umem),
		     DOCA_ERROR_INVALID_VALUE);
	cr_assert_eq(doca_verbs_umem_create(fake_pd.context, memory, 0, 0, -1, 0, &umem),
		     DOCA_ERROR_INVALID_VALUE);
	cr_assert_eq(doca_verbs_umem_create(fake_pd.context, memory, sizeof(memory), 1,
					    (int)DOCA_VERBS_DMABUF_INVALID_FD, 0, &umem),
		     DOCA_SUCCESS);
	cr_assert_eq(fake.last_umem.addr, memory);
	cr_assert_eq(fake.last_umem.comp_mask, 0);
	cr_assert_eq(doca_verbs_umem_get_id(umem, &id), DOCA_SUCCESS);
	cr_assert_eq(doca_verbs_umem_get_size(umem, &size), DOCA_SUCCESS);
	cr_assert_eq(doca_verbs_umem_get_address(umem, &addr), DOCA_SUCCESS);
	cr_assert_eq(size, sizeof(memory));
	cr_assert_eq(addr, memory);
	cr_assert_neq(id, 0);
	cr_assert_eq(doca_verbs_umem_destroy(umem), DOCA_SUCCESS);

	cr_assert_eq(doca_verbs_umem_create(fake_pd.context, memory, 4096, 1, 5, 0x2000, &umem),
		     DOCA_SUCCESS);
	cr_assert_eq(fake.last_umem.addr, (void *)0x2000,
		     "with a dma-buf the address is its offset");
	cr_assert_eq(fake.last_umem.dmabuf_fd, 5);
	cr_assert_eq(fake.last_umem.comp_mask, 1);
	cr_assert_eq(doca_verbs_umem_destroy(umem), DOCA_SUCCESS);
}

Test(engine_verbs, umem_errors_keep_their_kind)
{
	static char memory[4096];
	struct doca_verbs_umem *umem;

	fake.fail_at = 1;
	cr_assert_eq(doca_verbs_umem_create(fake_pd.context, memory, 4096, 1, -1, 0, &umem),
		     DOCA_ERROR_DRIVER);
	fake.fail_at = 2;
	fake.fail_errno = ENOMEM;
	cr_assert_eq(doca_verbs_umem_create(fake_pd.context, memory, 4096, 1, -1, 0, &umem),
		     DOCA_ERROR_NO_MEMORY);
}

Test(engine_verbs, uar_has_a_register_and_one_for_queues_without_record)
{
	struct doca_verbs_uar *uar;
	void *reg, *dbr_less;
	uint32_t id = 0;

	cr_assert_eq(doca_verbs_uar_create(fake_pd.context, (enum doca_verbs_uar_allocation_type)3,
					   &uar),
		     DOCA_ERROR_INVALID_VALUE);
	cr_assert_eq(doca_verbs_uar_create(fake_pd.context,
					   DOCA_VERBS_UAR_ALLOCATION_TYPE_NONCACHE_DEDICATED, &uar),
		     DOCA_SUCCESS);
	cr_assert_eq(doca_verbs_uar_reg_addr_get(uar, &reg), DOCA_SUCCESS);
	cr_assert_eq(doca_verbs_uar_dbr_less_addr_get(uar, &dbr_less), DOCA_SUCCESS);
	cr_assert_eq(doca_verbs_uar_id_get(uar, &id), DOCA_SUCCESS);
	cr_assert_eq((char *)reg - (char *)dbr_less, 0x800 - 0x600);
	cr_assert_neq(id, 0);
	cr_assert_eq(doca_verbs_uar_destroy(uar), DOCA_SUCCESS);
}

Test(engine_verbs, create_cq_mailbox_of_a_cq_with_own_memory)
{
	struct doca_verbs_cq *cq = make_cq(16);
	const uint8_t *in = fake_input(CREATE_CQ), *cqe;
	uint32_t entries, *ci, *arm;
	uint8_t entry_bytes;
	uint64_t *reg;
	void *ring;

	cr_assert_eq(fake.command[CREATE_CQ].size, 272);
	cr_assert_eq(in[0x10] & 0x02, 0x02, "dbr_umem_valid");
	cr_assert_eq(be32_at(in, 0x10) >> 17 & 1, 1, "overrun ignored");
	cr_assert_eq(be32_at(in, 0x10) >> 20 & 1, 0, "not collapsed");
	cr_assert_eq(in[0x1c], 4, "log_cq_size");
	cr_assert_eq(in[0x27], 7, "EQN");
	cr_assert_neq(be32_at(in, 0x58), 0, "cq_umem_id");
	cr_assert_eq(be32_at(in, 0x14), be32_at(in, 0x58), "ring and record in one umem");
	cr_assert_eq(be64_at(in, 0x48), 16 * 64, "record behind the ring");
	cr_assert_eq(in[0x5c] & 0x80, 0x80, "cq_umem_valid");

	doca_verbs_cq_get_wq(cq, &ring, &entries, &entry_bytes);
	doca_verbs_cq_get_dbr_addr(cq, &reg, &ci, &arm);
	cr_assert_eq(entries, 16);
	cr_assert_eq(entry_bytes, 64);
	cr_assert_eq((char *)ci - (char *)ring, 16 * 64);
	cr_assert_eq(arm, ci + 1);
	cr_assert_not_null(reg);
	cqe = ring;
	for (uint32_t i = 0; i < entries; i++)
		cr_assert_eq(cqe[i * 64 + 63], 0xf1, "entry %u reads as not written", i);
	cr_assert_neq(doca_verbs_cq_get_cqn(cq), 0);
	cr_assert_eq(doca_verbs_cq_destroy(cq), DOCA_SUCCESS);
}

Test(engine_verbs, external_memory_is_used_where_its_offset_says)
{
	static char memory[8192] __attribute__((aligned(4096)));
	struct doca_verbs_umem *umem;
	struct doca_verbs_cq_attr *attr;
	struct doca_verbs_cq *cq;
	const uint8_t *in;
	uint32_t *ci;
	void *ring;

	cr_assert_eq(doca_verbs_umem_create(fake_pd.context, memory, 8192, 1, -1, 0, &umem),
		     DOCA_SUCCESS);
	doca_verbs_cq_attr_create(&attr);
	doca_verbs_cq_attr_set_cq_size(attr, 64);
	doca_verbs_cq_attr_set_external_umem(attr, umem, 0x400);
	cr_assert_eq(doca_verbs_cq_create(fake_pd.context, attr, &cq), DOCA_ERROR_INVALID_VALUE,
		     "a ring without a record");
	doca_verbs_cq_attr_set_external_dbr_umem(attr, umem, 0x1ff9);
	cr_assert_eq(doca_verbs_cq_create(fake_pd.context, attr, &cq), DOCA_ERROR_INVALID_VALUE,
		     "a record that does not fit");
	doca_verbs_cq_attr_set_external_dbr_umem(attr, umem, 0x1ff0);
	doca_verbs_cq_attr_set_external_umem(attr, umem, 0x1040);
	cr_assert_eq(doca_verbs_cq_create(fake_pd.context, attr, &cq), DOCA_ERROR_INVALID_VALUE,
		     "a ring that does not fit");
	doca_verbs_cq_attr_set_external_umem(attr, umem, 0x420);
	cr_assert_eq(doca_verbs_cq_create(fake_pd.context, attr, &cq), DOCA_ERROR_INVALID_VALUE,
		     "a misaligned ring");
	doca_verbs_cq_attr_set_external_umem(attr, umem, 0x400);
	cr_assert_eq(doca_verbs_cq_create(fake_pd.context, attr, &cq), DOCA_SUCCESS);
	in = fake_input(CREATE_CQ);
	cr_assert_eq(be64_at(in, 0x50), 0x400, "cq_umem_offset");
	cr_assert_eq(be64_at(in, 0x48), 0x1ff0, "dbr_addr");
	doca_verbs_cq_get_wq(cq, &ring, NULL, NULL);
	doca_verbs_cq_get_dbr_addr(cq, NULL, &ci, NULL);
	cr_assert_eq(ring, memory + 0x400);
	cr_assert_eq((char *)ci, memory + 0x1ff0);
	cr_assert_eq(doca_verbs_cq_destroy(cq), DOCA_SUCCESS);
	doca_verbs_cq_attr_destroy(attr);
	cr_assert_eq(doca_verbs_umem_destroy(umem), DOCA_SUCCESS);
}

Test(engine_verbs, cq_sizes_are_powers_of_two)
{
	static const uint32_t bad[] = {0, 3, 100, 1u << 23};
	struct doca_verbs_cq_attr *attr;
	struct doca_verbs_cq *cq;

	doca_verbs_cq_attr_create(&attr);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		doca_verbs_cq_attr_set_cq_size(attr, bad[i]);
		cr_assert_eq(doca_verbs_cq_create(fake_pd.context, attr, &cq),
			     DOCA_ERROR_INVALID_VALUE, "size %u", bad[i]);
	}
	cr_assert_eq(doca_verbs_cq_create(fake_pd.context, attr, NULL), DOCA_ERROR_INVALID_VALUE);
	doca_verbs_cq_attr_destroy(attr);
}

Test(engine_verbs, create_qp_mailbox)
{
	struct doca_verbs_cq *cq = make_cq(64);
	struct doca_verbs_qp_init_attr *attr = qp_init(cq);
	struct doca_verbs_qp *qp;
	const uint8_t *in, *qpc;
	uint32_t wqebbs, *dbr;
	void *sq, *rq;

	doca_verbs_qp_init_attr_set_core_direct_master(attr, 1);
	doca_verbs_qp_init_attr_set_user_index(attr, 0x112233);
	cr_assert_eq(doca_verbs_qp_create(fake_pd.context, attr, &qp), DOCA_SUCCESS);
	in = fake_input(CREATE_QP);
	qpc = in + QPC;
	cr_assert_eq(fake.command[CREATE_QP].size, 272);
	cr_assert_eq(qpc[1], 0, "RC");
	cr_assert_eq(be32_at(qpc, 0x04) & 0xffffff, 0x123456, "PD number");
	cr_assert_eq(be32_at(qpc, 0x08) >> 11 & 0xf, 6, "log_sq_size");
	cr_assert_eq(be32_at(qpc, 0x08) >> 15 & 1, 0, "has an SQ");
	cr_assert_eq(be32_at(qpc, 0x10), 0x112233, "user_index, record valid");
	cr_assert_eq(be32_at(qpc, 0x7c), doca_verbs_cq_get_cqn(cq));
	cr_assert_eq(be32_at(qpc, 0x90) & 1, 1, "cd_master");
	cr_assert_eq(be32_at(qpc, 0x94), 0, "next_rcv_psn is not touched");
	cr_assert_eq(be32_at(qpc, 0xac) >> 24 & 7, 3, "no RQ");
	cr_assert_eq(be64_at(qpc, 0xa0), 64 * 64, "record behind the ring");
	cr_assert_eq(be32_at(qpc, 0xd0) >> 28 & 1, 1, "dbr_umem_valid");
	cr_assert_eq(be32_at(qpc, 0xe4), be32_at(in, 0x108), "ring and record in one umem");
	cr_assert_eq(be64_at(in, 0x100), 0, "wq_umem_offset");
	cr_assert_eq(in[0x10c], 0x80, "wq_umem_valid");

	doca_verbs_qp_get_wq(qp, &sq, &wqebbs, &rq, NULL, NULL);
	dbr = doca_verbs_qp_get_dbr_addr(qp);
	cr_assert_eq(wqebbs, 64);
	cr_assert_null(rq);
	cr_assert_eq((char *)dbr - (char *)sq, 64 * 64);
	cr_assert_neq(doca_verbs_qp_get_qpn(qp), 0);
	drop_queues(attr, qp, cq);
}

Test(engine_verbs, a_qp_in_memory_of_the_callers_tells_the_firmware_its_offset)
{
	static char memory[12288] __attribute__((aligned(4096)));
	struct doca_verbs_cq *cq = make_cq(64);
	struct doca_verbs_qp_init_attr *attr = qp_init(cq);
	struct doca_verbs_umem *umem;
	struct doca_verbs_qp *qp;
	void *sq;

	cr_assert_eq(
		doca_verbs_umem_create(fake_pd.context, memory, sizeof(memory), 1, -1, 0, &umem),
		DOCA_SUCCESS);
	doca_verbs_qp_init_attr_set_external_umem(attr, umem, 0x1c0);
	doca_verbs_qp_init_attr_set_external_dbr_umem(attr, umem, 0x2ff8);
	cr_assert_eq(doca_verbs_qp_create(fake_pd.context, attr, &qp), DOCA_SUCCESS);
	doca_verbs_qp_get_wq(qp, &sq, NULL, NULL, NULL, NULL);
	cr_assert_eq(sq, memory + 0x1c0);
	cr_assert_eq(be64_at(fake_input(CREATE_QP), 0x100), 0x1c0, "wq_umem_offset");
	cr_assert_eq(be64_at(fake_input(CREATE_QP) + QPC, 0xa0), 0x2ff8, "dbr_addr");
	drop_queues(attr, qp, cq);
	cr_assert_eq(doca_verbs_umem_destroy(umem), DOCA_SUCCESS);
}

Test(engine_verbs, a_ring_whose_depth_has_17_bits_is_refused)
{
	struct doca_verbs_cq *cq = make_cq(64);
	struct doca_verbs_qp_init_attr *attr = qp_init(cq);
	struct doca_verbs_qp *qp;

	fake.log_max_qp_sz = 16;
	doca_verbs_qp_init_attr_set_sq_wr(attr, 65536);
	cr_assert_eq(doca_verbs_qp_create(fake_pd.context, attr, &qp), DOCA_ERROR_INVALID_VALUE);
	doca_verbs_qp_init_attr_set_sq_wr(attr, 32768);
	cr_assert_eq(doca_verbs_qp_create(fake_pd.context, attr, &qp), DOCA_SUCCESS);
	drop_queues(attr, qp, cq);
}

Test(engine_verbs, core_direct_is_asked_for_only_where_the_device_has_it)
{
	struct doca_verbs_cq *cq = make_cq(64);
	struct doca_verbs_qp_init_attr *attr = qp_init(cq);
	struct doca_verbs_qp *qp;

	fake.has_core_direct = false;
	doca_verbs_qp_init_attr_set_core_direct_master(attr, 1);
	cr_assert_eq(doca_verbs_qp_create(fake_pd.context, attr, &qp), DOCA_SUCCESS);
	cr_assert_eq(be32_at(fake_input(CREATE_QP) + QPC, 0x90) & 1, 0);
	drop_queues(attr, qp, cq);
}

Test(engine_verbs, receive_queue_lies_before_the_send_queue)
{
	struct doca_verbs_cq *cq = make_cq(64);
	struct doca_verbs_qp_init_attr *attr = qp_init(cq);
	uint32_t wqebbs, rq_n, rwqe;
	struct doca_verbs_qp *qp;
	const uint8_t *qpc;
	void *sq, *rq;

	doca_verbs_qp_init_attr_set_rq_wr(attr, 10);
	doca_verbs_qp_init_attr_set_receive_max_sges(attr, 3);
	cr_assert_eq(doca_verbs_qp_create(fake_pd.context, attr, &qp), DOCA_ERROR_INVALID_VALUE,
		     "no receive CQ");
	doca_verbs_qp_init_attr_set_receive_cq(attr, cq);
	cr_assert_eq(doca_verbs_qp_create(fake_pd.context, attr, &qp), DOCA_SUCCESS);
	qpc = fake_input(CREATE_QP) + QPC;
	doca_verbs_qp_get_wq(qp, &sq, &wqebbs, &rq, &rq_n, &rwqe);
	cr_assert_eq(rwqe, 64, "3 SGEs round up to 4");
	cr_assert_eq(rq_n, 16);
	cr_assert_eq((char *)sq - (char *)rq, 16 * 64);
	cr_assert_eq(be32_at(qpc, 0x08) >> 19 & 0xf, 4, "log_rq_size");
	cr_assert_eq(be32_at(qpc, 0x08) >> 16 & 7, 2, "log_rq_stride counts from 16 bytes");
	cr_assert_eq(be32_at(qpc, 0xac) >> 24 & 7, 0, "regular RQ");
	cr_assert_eq(be32_at(qpc, 0x9c), doca_verbs_cq_get_cqn(cq));
	drop_queues(attr, qp, cq);
}

Test(engine_verbs, qp_without_record_rings_another_register)
{
	struct doca_verbs_cq *cq = make_cq(64);
	struct doca_verbs_qp_init_attr *attr = qp_init(cq);
	struct doca_verbs_qp *qp;

	doca_verbs_qp_init_attr_set_send_dbr_mode(attr, DOCA_VERBS_QP_SEND_DBR_MODE_NO_DBR_EXT);
	fake.has_no_dbr_ext = false;
	cr_assert_eq(doca_verbs_qp_create(fake_pd.context, attr, &qp), DOCA_ERROR_NOT_SUPPORTED);
	fake.has_no_dbr_ext = true;
	cr_assert_eq(doca_verbs_qp_create(fake_pd.context, attr, &qp), DOCA_SUCCESS,
		     "with a doorbell page of its own");
	cr_assert_eq(fake_input(CREATE_QP)[QPC + 0x10] >> 6, 1, "send_dbr_mode");
	cr_assert_eq((uintptr_t)doca_verbs_qp_get_uar_addr(qp) & 0xfff, 0x600);
	doca_verbs_qp_init_attr_set_emulate_no_dbr_ext(attr, true);
	cr_assert_eq(doca_verbs_qp_create(fake_pd.context, attr, &qp), DOCA_ERROR_INVALID_VALUE);
	drop_queues(attr, qp, cq);
}

Test(engine_verbs, impossible_qps_are_refused)
{
	struct doca_verbs_cq *cq = make_cq(64);
	struct doca_verbs_qp_init_attr *attr;
	struct doca_verbs_qp *qp;

	doca_verbs_qp_init_attr_create(&attr);
	cr_assert_eq(doca_verbs_qp_create(fake_pd.context, attr, &qp), DOCA_ERROR_INVALID_VALUE,
		     "no PD");
	doca_verbs_qp_init_attr_set_pd(attr, &fake_pd);
	cr_assert_eq(doca_verbs_qp_create(fake_pd.context, attr, &qp), DOCA_ERROR_INVALID_VALUE,
		     "no queue");
	doca_verbs_qp_init_attr_set_sq_wr(attr, 4);
	cr_assert_eq(doca_verbs_qp_create(fake_pd.context, attr, &qp), DOCA_ERROR_INVALID_VALUE,
		     "no CQ");
	doca_verbs_qp_init_attr_set_send_cq(attr, cq);
	cr_assert_eq(doca_verbs_qp_create(fake_pd.context, attr, &qp), DOCA_ERROR_INVALID_VALUE,
		     "no SGEs");
	doca_verbs_qp_init_attr_set_send_max_sges(attr, 0x10000001);
	cr_assert_eq(doca_verbs_qp_create(fake_pd.context, attr, &qp), DOCA_ERROR_INVALID_VALUE,
		     "a WQE whose size wraps 32 bits");
	doca_verbs_qp_init_attr_set_send_max_sges(attr, 1);
	doca_verbs_qp_init_attr_set_max_inline_data(attr, 2000);
	cr_assert_eq(doca_verbs_qp_create(fake_pd.context, attr, &qp), DOCA_ERROR_INVALID_VALUE,
		     "too much inline data");
	doca_verbs_qp_init_attr_set_max_inline_data(attr, 0);
	doca_verbs_qp_init_attr_set_sq_wr(attr, 32769);
	cr_assert_eq(doca_verbs_qp_create(fake_pd.context, attr, &qp), DOCA_ERROR_INVALID_VALUE,
		     "too deep");
	doca_verbs_qp_init_attr_set_sq_wr(attr, 32768);
	doca_verbs_qp_init_attr_set_qp_type(attr, 2);
	cr_assert_eq(doca_verbs_qp_create(fake_pd.context, attr, &qp), DOCA_ERROR_INVALID_VALUE,
		     "type");
	doca_verbs_qp_init_attr_set_qp_type(attr, DOCA_VERBS_QP_TYPE_RC);
	cr_assert_eq(doca_verbs_qp_create(fake_pd.context, attr, &qp), DOCA_SUCCESS);
	cr_assert_eq(fake.command[CREATE_QP].count, 1, "only the good one reached the firmware");
	drop_queues(attr, qp, cq);
}

/* ---- modify ---- */

Test(engine_verbs, create_rmp_mailbox_and_chained_list)
{
	struct doca_verbs_srq_init_attr *attr;
	struct doca_verbs_srq *srq;
	const uint8_t *in, *ring;
	uint32_t n, bytes;
	void *buf;

	doca_verbs_srq_init_attr_create(&attr);
	doca_verbs_srq_init_attr_set_pd(attr, &fake_pd);
	doca_verbs_srq_init_attr_set_srq_wr(attr, 5);
	doca_verbs_srq_init_attr_set_receive_max_sges(attr, 32);
	cr_assert_eq(doca_verbs_srq_create(fake_pd.context, attr, &srq), DOCA_ERROR_NOT_SUPPORTED);
	doca_verbs_srq_init_attr_set_receive_max_sges(attr, 1);
	cr_assert_eq(doca_verbs_srq_create(fake_pd.context, attr, &srq), DOCA_SUCCESS);
	doca_verbs_srq_get_wq(srq, &buf, &n, &bytes);
	cr_assert_eq(n, 8);
	cr_assert_eq(bytes, 32);
	ring = buf;
	for (uint32_t i = 0; i < n; i++)
		cr_assert_eq(be32_at(ring + i * bytes, 0), (i + 1) % n,
			     "WQE %u names its successor", i);
	in = fake_input(CREATE_RMP);
	cr_assert_eq(fake.command[CREATE_RMP].size, 272);
	cr_assert_eq(be32_at(in, 0x20), 1u << 20, "state ready");
	cr_assert_eq(be32_at(in, 0x50) >> 28, 0, "linked list");
	cr_assert_eq(be32_at(in, 0x58), 0x123456, "PD number");
	cr_assert_eq(be32_at(in, 0x70), 5u << 16 | 3, "stride 32, 8 WQEs");
	cr_assert_eq(be32_at(in, 0x74) >> 30, 3, "both umems valid");
	cr_assert_eq((char *)doca_verbs_srq_get_dbr_addr(srq) - (char *)buf, 256);
	cr_assert_eq(be64_at(in, 0x60), 256, "dbr_addr");
	doca_verbs_srq_init_attr_destroy(attr);
	cr_assert_eq(doca_verbs_srq_destroy(srq), DOCA_SUCCESS);
}

Test(engine_verbs, an_rdma_core_without_umem_reg_ex_serves_plain_memory)
{
	static char memory[4096];
	struct rdma_ops old = *rdma_get();
	struct doca_verbs_umem *umem;

	old.umem_reg_ex = NULL;
	rdma_inject(&old);
	cr_assert_eq(doca_verbs_umem_create(fake_pd.context, memory, 4096, 1, 3, 0, &umem),
		     DOCA_ERROR_NOT_SUPPORTED, "a dma-buf is not silently dropped");
	cr_assert_eq(doca_verbs_umem_create(fake_pd.context, memory, 4096, 1, -1, 0, &umem),
		     DOCA_SUCCESS);
	doca_verbs_umem_destroy(umem);
}

Test(engine_rdma, this_machines_rdma_core_has_every_symbol)
{
	const struct rdma_ops *ops = rdma_get();

	cr_assert_not_null(ops);
	cr_assert_not_null(ops->obj_create);
	cr_assert_not_null(ops->query_device);
}
