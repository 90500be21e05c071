/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Objects and the mailboxes they send. Offsets here are the PRM's, in bytes, and not taken from the
 * library's own description of it.
 */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <errno.h>

#include "engine_fake.h"
#include "verbs.h"

enum {
	CREATE_CQ = 0x400,
	CREATE_QP = 0x500,
	RST2INIT = 0x502,
	INIT2RTR = 0x503,
	RTR2RTS = 0x504,
	RTS2RTS = 0x505,
	TO_ERR = 0x507,
	TO_RST = 0x50a,
	INIT2INIT = 0x50e,
	CREATE_RMP = 0x90c,
	QPC = 0x18,	   /* in a QP mailbox */
	PATH = QPC + 0x18, /* primary address path */
};

TestSuite(engine_verbs, .init = fake_reset);

static void nothing_lives(void)
{
	cr_assert_eq(fake.objects, 0);
	cr_assert_eq(fake.umems, 0);
	cr_assert_eq(fake.uars, 0);
	cr_assert_eq(fake.ahs, 0);
}

static struct doca_verbs_cq *make_cq(uint32_t size)
{
	struct doca_verbs_cq_attr *attr;
	struct doca_verbs_cq *cq = NULL;

	cr_assert_eq(doca_verbs_cq_attr_create(&attr), DOCA_SUCCESS);
	doca_verbs_cq_attr_set_cq_size(attr, size);
	doca_verbs_cq_attr_set_cq_overrun(attr, DOCA_VERBS_CQ_ENABLE_OVERRUN);
	cr_assert_eq(doca_verbs_cq_create(fake_pd.context, attr, &cq), DOCA_SUCCESS);
	doca_verbs_cq_attr_destroy(attr);
	return cq;
}

static struct doca_verbs_qp_init_attr *qp_init(struct doca_verbs_cq *cq)
{
	struct doca_verbs_qp_init_attr *attr;

	cr_assert_eq(doca_verbs_qp_init_attr_create(&attr), DOCA_SUCCESS);
	doca_verbs_qp_init_attr_set_pd(attr, &fake_pd);
	doca_verbs_qp_init_attr_set_send_cq(attr, cq);
	doca_verbs_qp_init_attr_set_sq_wr(attr, 64);
	doca_verbs_qp_init_attr_set_send_max_sges(attr, 1);
	return attr;
}

static struct doca_verbs_qp *make_qp(struct doca_verbs_cq *cq)
{
	struct doca_verbs_qp_init_attr *attr = qp_init(cq);
	struct doca_verbs_qp *qp = NULL;

	cr_assert_eq(doca_verbs_qp_create(fake_pd.context, attr, &qp), DOCA_SUCCESS);
	doca_verbs_qp_init_attr_destroy(attr);
	return qp;
}

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
	nothing_lives();
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
	nothing_lives();
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
	nothing_lives();
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
	nothing_lives();
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
	doca_verbs_qp_init_attr_destroy(attr);
	cr_assert_eq(doca_verbs_qp_destroy(qp), DOCA_SUCCESS);
	cr_assert_eq(doca_verbs_cq_destroy(cq), DOCA_SUCCESS);
	nothing_lives();
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
}

/* ---- modify ---- */

#define A(name) DOCA_VERBS_QP_ATTR_##name
enum {
	NEXT = A(NEXT_STATE),
	INIT_MASK = A(PKEY_INDEX) | A(PORT_NUM) | A(ALLOW_REMOTE_WRITE) | A(ALLOW_REMOTE_READ),
	RTR_MASK = A(RQ_PSN) | A(DEST_QP_NUM) | A(PATH_MTU) | A(AH_ATTR) | A(MIN_RNR_TIMER),
	RTS_MASK = A(SQ_PSN) | A(ACK_TIMEOUT) | A(RETRY_CNT) | A(RNR_RETRY),
};

struct link {
	struct doca_verbs_cq *cq;
	struct doca_verbs_qp *qp;
	struct doca_verbs_qp_attr *attr;
	struct doca_verbs_ah_attr *ah;
};

static struct link make_link(enum doca_verbs_addr_type type)
{
	static const struct doca_verbs_gid gid = {
		{0xfe, 0x80, 0, 0, 0, 0, 0, 0, 9, 8, 7, 6, 5, 4, 3, 2}};
	struct link l;

	fake.is_ethernet = type == DOCA_VERBS_ADDR_TYPE_IPv4 || type == DOCA_VERBS_ADDR_TYPE_IPv6;
	l.cq = make_cq(64);
	l.qp = make_qp(l.cq);
	cr_assert_eq(doca_verbs_qp_attr_create(&l.attr), DOCA_SUCCESS);
	cr_assert_eq(doca_verbs_ah_attr_create(fake_pd.context, &l.ah), DOCA_SUCCESS);
	doca_verbs_ah_attr_set_gid(l.ah, gid);
	doca_verbs_ah_attr_set_addr_type(l.ah, type);
	doca_verbs_ah_attr_set_dlid(l.ah, 0x1234);
	doca_verbs_ah_attr_set_sl(l.ah, 5);
	doca_verbs_ah_attr_set_sgid_index(l.ah, 3);
	doca_verbs_ah_attr_set_static_rate(l.ah, 2);
	doca_verbs_ah_attr_set_hop_limit(l.ah, 64);
	doca_verbs_ah_attr_set_traffic_class(l.ah, 0x68);
	doca_verbs_qp_attr_set_ah_attr(l.attr, l.ah);
	doca_verbs_qp_attr_set_path_mtu(l.attr, DOCA_VERBS_MTU_SIZE_4K_BYTES);
	doca_verbs_qp_attr_set_rq_psn(l.attr, 0x1a2b3c4d);
	doca_verbs_qp_attr_set_sq_psn(l.attr, 0x123456);
	doca_verbs_qp_attr_set_port_num(l.attr, 1);
	doca_verbs_qp_attr_set_pkey_index(l.attr, 2);
	doca_verbs_qp_attr_set_dest_qp_num(l.attr, 0xa1b2c3);
	doca_verbs_qp_attr_set_allow_remote_write(l.attr, 1);
	doca_verbs_qp_attr_set_allow_remote_read(l.attr, 1);
	doca_verbs_qp_attr_set_allow_remote_atomic(l.attr, DOCA_VERBS_QP_ATOMIC_MODE_IB_SPEC);
	doca_verbs_qp_attr_set_ack_timeout(l.attr, 14);
	doca_verbs_qp_attr_set_retry_cnt(l.attr, 7);
	doca_verbs_qp_attr_set_rnr_retry(l.attr, 6);
	doca_verbs_qp_attr_set_min_rnr_timer(l.attr, 12);
	doca_verbs_qp_attr_set_max_rd_atomic(l.attr, 16);
	doca_verbs_qp_attr_set_max_dest_rd_atomic(l.attr, 8);
	return l;
}

static doca_error_t move(struct link *l, enum doca_verbs_qp_state next, int mask)
{
	doca_verbs_qp_attr_set_next_state(l->attr, next);
	return doca_verbs_qp_modify(l->qp, l->attr, mask | NEXT);
}

static void drop_link(struct link *l)
{
	doca_verbs_qp_attr_destroy(l->attr);
	doca_verbs_ah_attr_destroy(l->ah);
	cr_assert_eq(doca_verbs_qp_destroy(l->qp), DOCA_SUCCESS);
	cr_assert_eq(doca_verbs_cq_destroy(l->cq), DOCA_SUCCESS);
	nothing_lives();
}

Test(engine_verbs, rst2init_mailbox)
{
	struct link l = make_link(DOCA_VERBS_ADDR_TYPE_IB_NO_GRH);
	const uint8_t *in;

	cr_assert_eq(move(&l, DOCA_VERBS_QP_STATE_INIT, INIT_MASK), DOCA_SUCCESS);
	in = fake_input(RST2INIT);
	cr_assert_eq(fake.command[RST2INIT].size, 272);
	cr_assert_eq(be32_at(in, 8), doca_verbs_qp_get_qpn(l.qp));
	cr_assert_eq(be32_at(in, 0x10), 0, "nothing is optional");
	cr_assert_eq(be32_at(in, QPC) >> 11 & 3, 3, "pm_state migrated");
	cr_assert_eq(be32_at(in, PATH) & 0xffff, 2, "pkey_index");
	cr_assert_eq(in[PATH + 0x25], 1, "port");
	cr_assert_eq(be32_at(in, QPC + 0x90) >> 13 & 7, 7, "rre, rwe, rae");
	cr_assert_eq(be32_at(in, QPC + 0x90) >> 16 & 0xf, 1, "atomic_mode");
	drop_link(&l);
}

Test(engine_verbs, init2rtr_mailbox_on_infiniband)
{
	struct link l = make_link(DOCA_VERBS_ADDR_TYPE_IB_NO_GRH);
	const uint8_t *in;

	cr_assert_eq(move(&l, DOCA_VERBS_QP_STATE_INIT, INIT_MASK), DOCA_SUCCESS);
	cr_assert_eq(move(&l, DOCA_VERBS_QP_STATE_RTR, RTR_MASK | A(MAX_DEST_RD_ATOMIC)),
		     DOCA_SUCCESS);
	in = fake_input(INIT2RTR);
	cr_assert_eq(in[QPC + 8] >> 5, 5, "MTU 4096");
	cr_assert_eq(in[QPC + 8] & 0x1f, 30, "log_msg_max");
	cr_assert_eq(be32_at(in, QPC + 0x14) & 0xffffff, 0xa1b2c3, "remote QPN");
	cr_assert_eq(be32_at(in, QPC + 0x94), 12u << 24 | 0x2b3c4d, "min_rnr_nak, PSN of 24 bits");
	cr_assert_eq(be32_at(in, QPC + 0x90) >> 21 & 7, 3, "log_rra_max");
	cr_assert_eq(be32_at(in, PATH + 4), 0x1234, "LID, no GRH");
	cr_assert_eq(in[PATH + 0x24] & 0xf, 5, "SL");
	cr_assert_eq(in[PATH + 0x25], 1, "port");
	cr_assert_eq(be32_at(in, PATH + 8) >> 8 & 0xf, 2, "static rate");
	cr_assert_eq(be64_at(in, PATH + 0x18), 0, "no GID");
	cr_assert_eq(be32_at(in, 0x10), 1 << 2, "atomics are wanted");
	drop_link(&l);
}

Test(engine_verbs, init2rtr_mailbox_on_infiniband_with_grh)
{
	struct link l = make_link(DOCA_VERBS_ADDR_TYPE_IB_GRH);
	const uint8_t *in;

	cr_assert_eq(move(&l, DOCA_VERBS_QP_STATE_INIT, INIT_MASK), DOCA_SUCCESS);
	cr_assert_eq(move(&l, DOCA_VERBS_QP_STATE_RTR, RTR_MASK), DOCA_SUCCESS);
	in = fake_input(INIT2RTR);
	cr_assert_eq(be32_at(in, PATH + 4), 1u << 23 | 0x1234, "GRH and LID");
	cr_assert_eq(be64_at(in, PATH + 0x10), 0xfe80000000000000);
	cr_assert_eq(be64_at(in, PATH + 0x18), 0x0908070605040302);
	cr_assert_eq(in[PATH + 9], 3, "sgid_index");
	cr_assert_eq(in[PATH + 0xb], 64, "hop limit");
	cr_assert_eq(be32_at(in, PATH + 0xc) >> 20 & 0xff, 0x68, "traffic class");
	drop_link(&l);
}

Test(engine_verbs, init2rtr_mailbox_on_ethernet)
{
	struct link l = make_link(DOCA_VERBS_ADDR_TYPE_IPv4);
	const uint8_t *in;
	uint32_t sport;

	cr_assert_eq(move(&l, DOCA_VERBS_QP_STATE_INIT, INIT_MASK), DOCA_SUCCESS);
	cr_assert_eq(move(&l, DOCA_VERBS_QP_STATE_RTR, RTR_MASK), DOCA_SUCCESS);
	in = fake_input(INIT2RTR);
	cr_assert_eq(be32_at(in, PATH + 0x24) & 0xffff, 0x0211, "MAC, first two bytes");
	cr_assert_eq(be32_at(in, PATH + 0x28), 0x22334455, "MAC, last four bytes");
	cr_assert_eq(be64_at(in, PATH + 0x18), 0x0908070605040302, "GID");
	cr_assert_eq(in[PATH + 0x21] & 0x3f, 0x68 >> 2, "DSCP");
	sport = be32_at(in, PATH + 0x20) & 0xffff;
	cr_assert_geq(sport, 0xc000, "UDP source port within the device's range");
	cr_assert_eq(be32_at(in, PATH + 4), 0, "no LID");
	cr_assert_eq(in[PATH + 0x24] >> 4 & 7, 5, "priority");
	cr_assert_eq(fake.last_ah.is_global, 1);
	cr_assert_eq(fake.last_ah.port_num, 1);
	cr_assert_eq(fake.last_ah.grh.sgid_index, 3);
	cr_assert_eq(be32_at(fake_input(0x760), 8) >> 16, 3, "QUERY_ROCE_ADDRESS of that GID");
	drop_link(&l);
}

Test(engine_verbs, roce_v1_has_no_udp_port)
{
	struct link l = make_link(DOCA_VERBS_ADDR_TYPE_IPv6);

	fake.roce_version = 0;
	cr_assert_eq(move(&l, DOCA_VERBS_QP_STATE_INIT, INIT_MASK), DOCA_SUCCESS);
	cr_assert_eq(move(&l, DOCA_VERBS_QP_STATE_RTR, RTR_MASK), DOCA_SUCCESS);
	cr_assert_eq(be32_at(fake_input(INIT2RTR), PATH + 0x20), 0);
}

Test(engine_verbs, rtr2rts_and_later_mailboxes)
{
	struct link l = make_link(DOCA_VERBS_ADDR_TYPE_IB_NO_GRH);
	const uint8_t *in;

	cr_assert_eq(move(&l, DOCA_VERBS_QP_STATE_INIT, INIT_MASK), DOCA_SUCCESS);
	cr_assert_eq(move(&l, DOCA_VERBS_QP_STATE_INIT, A(ALLOW_REMOTE_WRITE) | A(PKEY_INDEX)),
		     DOCA_SUCCESS);
	cr_assert_eq(be32_at(fake_input(INIT2INIT), 0x10), 1 << 3 | 1 << 4 | 1 << 2,
		     "rwe, pkey, rae");
	cr_assert_eq(move(&l, DOCA_VERBS_QP_STATE_RTR, RTR_MASK), DOCA_SUCCESS);
	cr_assert_eq(move(&l, DOCA_VERBS_QP_STATE_RTS, RTS_MASK | A(MAX_QP_RD_ATOMIC)),
		     DOCA_SUCCESS);
	in = fake_input(RTR2RTS);
	cr_assert_eq(be32_at(in, QPC + 0x78), 0x123456, "PSN");
	cr_assert_eq(in[PATH + 8] >> 3, 14, "ack_timeout");
	cr_assert_eq(be32_at(in, QPC + 0x70), 4u << 21 | 7 << 16 | 6 << 13, "log_sra_max, retries");

	doca_verbs_qp_attr_set_allow_remote_write(l.attr, 0);
	doca_verbs_qp_attr_set_min_rnr_timer(l.attr, 20);
	cr_assert_eq(move(&l, DOCA_VERBS_QP_STATE_RTS, A(ALLOW_REMOTE_WRITE) | A(MIN_RNR_TIMER)),
		     DOCA_SUCCESS);
	in = fake_input(RTS2RTS);
	cr_assert_eq(be32_at(in, 0x10), 1 << 3 | 1 << 6 | 1 << 2, "rwe, RNR timer, rae");
	cr_assert_eq(be32_at(in, QPC + 0x90) >> 13 & 7, 5, "rre stays, rwe goes");
	cr_assert_eq(in[QPC + 0x94], 20);
	cr_assert_eq(move(&l, DOCA_VERBS_QP_STATE_ERR, 0), DOCA_SUCCESS);
	cr_assert_eq(fake.command[TO_ERR].size, 16);
	cr_assert_eq(move(&l, DOCA_VERBS_QP_STATE_RST, 0), DOCA_SUCCESS);
	cr_assert_eq(be32_at(fake_input(TO_RST), 8), doca_verbs_qp_get_qpn(l.qp));
	drop_link(&l);
}

/* Each transition: every required bit is needed, no foreign bit is taken. */
static void walk_mask(struct link *l, enum doca_verbs_qp_state next, int required, int optional,
		      uint32_t opcode)
{
	unsigned int before = fake.command[opcode].count;

	for (int bit = 0; bit < 18; bit++) {
		int b = 1 << bit;

		if (b & (A(NEXT_STATE) | A(CURRENT_STATE)))
			continue;
		if (required & b)
			cr_assert_eq(move(l, next, required & ~b), DOCA_ERROR_INVALID_VALUE,
				     "opcode 0x%x without bit %d", opcode, bit);
		else if (!(optional & b))
			cr_assert_eq(move(l, next, required | b), DOCA_ERROR_INVALID_VALUE,
				     "opcode 0x%x with bit %d", opcode, bit);
	}
	cr_assert_eq(fake.command[opcode].count, before, "nothing wrong reached the firmware");
	cr_assert_eq(move(l, next, required | optional), DOCA_SUCCESS);
	cr_assert_eq(fake.command[opcode].count, before + 1);
}

Test(engine_verbs, masks_are_taken_exactly)
{
	struct link l = make_link(DOCA_VERBS_ADDR_TYPE_IB_NO_GRH);
	int rights = A(ALLOW_REMOTE_WRITE) | A(ALLOW_REMOTE_READ);

	walk_mask(&l, DOCA_VERBS_QP_STATE_INIT, INIT_MASK, 0, RST2INIT);
	walk_mask(&l, DOCA_VERBS_QP_STATE_INIT, 0, INIT_MASK, INIT2INIT);
	walk_mask(&l, DOCA_VERBS_QP_STATE_RTR, RTR_MASK,
		  A(PKEY_INDEX) | rights | A(MAX_DEST_RD_ATOMIC), INIT2RTR);
	walk_mask(&l, DOCA_VERBS_QP_STATE_RTS, RTS_MASK,
		  A(MIN_RNR_TIMER) | A(ALLOW_REMOTE_WRITE) | A(MAX_QP_RD_ATOMIC), RTR2RTS);
	walk_mask(&l, DOCA_VERBS_QP_STATE_RTS, 0, rights | A(MIN_RNR_TIMER) | A(AH_ATTR), RTS2RTS);
	walk_mask(&l, DOCA_VERBS_QP_STATE_ERR, 0, 0, TO_ERR);
	walk_mask(&l, DOCA_VERBS_QP_STATE_RST, 0, 0, TO_RST);
	drop_link(&l);
}

Test(engine_verbs, only_legal_transitions_reach_the_firmware)
{
	struct link l = make_link(DOCA_VERBS_ADDR_TYPE_IB_NO_GRH);

	cr_assert_eq(move(&l, DOCA_VERBS_QP_STATE_RTR, RTR_MASK), DOCA_ERROR_INVALID_VALUE);
	cr_assert_eq(move(&l, DOCA_VERBS_QP_STATE_RTS, RTS_MASK), DOCA_ERROR_INVALID_VALUE);
	cr_assert_eq(move(&l, (enum doca_verbs_qp_state)5, 0), DOCA_ERROR_INVALID_VALUE);
	cr_assert_eq(move(&l, DOCA_VERBS_QP_STATE_INIT, INIT_MASK), DOCA_SUCCESS);
	/* A state that the caller claims counts. */
	doca_verbs_qp_attr_set_current_state(l.attr, DOCA_VERBS_QP_STATE_RTR);
	cr_assert_eq(move(&l, DOCA_VERBS_QP_STATE_RTS, RTS_MASK | A(CURRENT_STATE)), DOCA_SUCCESS);
	/* A refused command leaves the handle's state alone. */
	cr_assert_eq(move(&l, DOCA_VERBS_QP_STATE_RST, 0), DOCA_SUCCESS);
	fake.fail_at = fake.calls + 1;
	cr_assert_eq(move(&l, DOCA_VERBS_QP_STATE_INIT, INIT_MASK), DOCA_ERROR_DRIVER);
	cr_assert_eq(move(&l, DOCA_VERBS_QP_STATE_INIT, INIT_MASK), DOCA_SUCCESS);
	drop_link(&l);
}

Test(engine_verbs, values_out_of_range_are_refused)
{
	struct link l = make_link(DOCA_VERBS_ADDR_TYPE_IB_NO_GRH);

	doca_verbs_qp_attr_set_port_num(l.attr, 2);
	cr_assert_eq(move(&l, DOCA_VERBS_QP_STATE_INIT, INIT_MASK), DOCA_ERROR_INVALID_VALUE,
		     "port");
	doca_verbs_qp_attr_set_port_num(l.attr, 1);
	doca_verbs_qp_attr_set_pkey_index(l.attr, 128);
	cr_assert_eq(move(&l, DOCA_VERBS_QP_STATE_INIT, INIT_MASK), DOCA_ERROR_INVALID_VALUE,
		     "one past the last pkey");
	doca_verbs_qp_attr_set_pkey_index(l.attr, 127);
	cr_assert_eq(move(&l, DOCA_VERBS_QP_STATE_INIT, INIT_MASK), DOCA_SUCCESS);

	doca_verbs_qp_attr_set_dest_qp_num(l.attr, 0x1000000);
	cr_assert_eq(move(&l, DOCA_VERBS_QP_STATE_RTR, RTR_MASK), DOCA_ERROR_INVALID_VALUE, "QPN");
	doca_verbs_qp_attr_set_dest_qp_num(l.attr, 1);
	doca_verbs_qp_attr_set_path_mtu(l.attr, DOCA_VERBS_MTU_SIZE_RAW_ETHERNET);
	cr_assert_eq(move(&l, DOCA_VERBS_QP_STATE_RTR, RTR_MASK), DOCA_ERROR_INVALID_VALUE, "MTU");
	doca_verbs_qp_attr_set_path_mtu(l.attr, DOCA_VERBS_MTU_SIZE_1K_BYTES);
	doca_verbs_ah_attr_set_sgid_index(l.ah, 8);
	cr_assert_eq(move(&l, DOCA_VERBS_QP_STATE_RTR, RTR_MASK), DOCA_ERROR_INVALID_VALUE,
		     "GID index");
	doca_verbs_ah_attr_set_sgid_index(l.ah, 7);
	doca_verbs_ah_attr_set_sl(l.ah, 16);
	cr_assert_eq(move(&l, DOCA_VERBS_QP_STATE_RTR, RTR_MASK), DOCA_ERROR_INVALID_VALUE, "SL");
	doca_verbs_ah_attr_set_sl(l.ah, 0);
	doca_verbs_ah_attr_set_addr_type(l.ah, DOCA_VERBS_ADDR_TYPE_IPv4);
	cr_assert_eq(move(&l, DOCA_VERBS_QP_STATE_RTR, RTR_MASK), DOCA_ERROR_INVALID_VALUE,
		     "an IPv4 peer on InfiniBand");
	doca_verbs_ah_attr_set_addr_type(l.ah, DOCA_VERBS_ADDR_TYPE_IB_NO_GRH);
	doca_verbs_qp_attr_set_max_dest_rd_atomic(l.attr, 32);
	cr_assert_eq(move(&l, DOCA_VERBS_QP_STATE_RTR, RTR_MASK | A(MAX_DEST_RD_ATOMIC)),
		     DOCA_ERROR_INVALID_VALUE, "more atomics than the device has");
	cr_assert_eq(move(&l, DOCA_VERBS_QP_STATE_RTR, RTR_MASK), DOCA_SUCCESS);
	doca_verbs_qp_attr_set_retry_cnt(l.attr, 8);
	cr_assert_eq(move(&l, DOCA_VERBS_QP_STATE_RTS, RTS_MASK), DOCA_ERROR_INVALID_VALUE,
		     "retry_cnt");
	drop_link(&l);
}

Test(engine_verbs, a_mask_with_ah_but_no_ah_is_refused)
{
	struct link l = make_link(DOCA_VERBS_ADDR_TYPE_IB_NO_GRH);
	struct doca_verbs_qp_attr *bare;

	cr_assert_eq(move(&l, DOCA_VERBS_QP_STATE_INIT, INIT_MASK), DOCA_SUCCESS);
	doca_verbs_qp_attr_create(&bare);
	doca_verbs_qp_attr_set_next_state(bare, DOCA_VERBS_QP_STATE_RTR);
	cr_assert_eq(doca_verbs_qp_modify(l.qp, bare, RTR_MASK | NEXT), DOCA_ERROR_INVALID_VALUE);
	doca_verbs_qp_attr_destroy(bare);
	drop_link(&l);
}

Test(engine_verbs, query_reads_every_state)
{
	static const struct {
		uint32_t raw, mtu;
		enum doca_verbs_qp_state state;
		doca_error_t status;
	} rows[] = {
		{0, 0, DOCA_VERBS_QP_STATE_RST, DOCA_SUCCESS},
		{1, 0, DOCA_VERBS_QP_STATE_INIT, DOCA_SUCCESS},
		{2, 3, DOCA_VERBS_QP_STATE_RTR, DOCA_SUCCESS},
		{3, 5, DOCA_VERBS_QP_STATE_RTS, DOCA_SUCCESS},
		{3, 6, DOCA_VERBS_QP_STATE_RTS, DOCA_ERROR_UNEXPECTED},
		{4, 1, DOCA_VERBS_QP_STATE_ERR, DOCA_SUCCESS},
		{5, 1, DOCA_VERBS_QP_STATE_RTS, DOCA_SUCCESS},
		{6, 0, DOCA_VERBS_QP_STATE_ERR, DOCA_SUCCESS},
		{7, 1, DOCA_VERBS_QP_STATE_RST, DOCA_ERROR_UNEXPECTED},
	};
	struct link l = make_link(DOCA_VERBS_ADDR_TYPE_IB_NO_GRH);
	struct doca_verbs_qp_init_attr *init;

	doca_verbs_qp_init_attr_create(&init);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		fake.qp_state = rows[i].raw;
		fake.qp_mtu = rows[i].mtu;
		cr_assert_eq(doca_verbs_qp_query(l.qp, l.attr, init), rows[i].status, "row %zu", i);
		if (rows[i].status == DOCA_SUCCESS)
			cr_assert_eq(doca_verbs_qp_attr_get_current_state(l.attr), rows[i].state);
	}
	fake.qp_state = 3;
	fake.qp_mtu = 4;
	cr_assert_eq(doca_verbs_qp_query(l.qp, l.attr, init), DOCA_SUCCESS);
	cr_assert_eq(doca_verbs_qp_attr_get_path_mtu(l.attr), DOCA_VERBS_MTU_SIZE_2K_BYTES);
	cr_assert_eq(doca_verbs_qp_attr_get_dest_qp_num(l.attr), 0xabcdef);
	cr_assert_eq(doca_verbs_qp_attr_get_allow_remote_write(l.attr), 1);
	cr_assert_eq(doca_verbs_qp_init_attr_get_user_index(init), 0x77);
	cr_assert_eq(doca_verbs_qp_init_attr_get_sq_wr(init), 64);
	cr_assert_eq(doca_verbs_qp_init_attr_get_send_cq(init), l.cq);
	doca_verbs_qp_init_attr_destroy(init);
	drop_link(&l);
}

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
	nothing_lives();
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
