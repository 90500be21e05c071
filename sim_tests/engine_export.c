/* SPDX-License-Identifier: BSD-3-Clause */
/* High-level creation, export, device handles, reset and error query. */
#include <criterion/criterion.h>
#include <endian.h>
#include <string.h>

#include "common/doca_gpunetio_verbs_dev.h"
#include "engine_fake.h"
#include "export.h"
#include "host/doca_gpunetio_high_level.h"
#include "host/mlx5_prm.h"

enum { DEPTH = 64 };

static struct doca_gpu *gpu;

static void start(void)
{
	fake_reset();
	cr_assert_eq(doca_gpu_create("cpu", &gpu), DOCA_SUCCESS);
}

static void nothing_lives(void)
{
	cr_assert_eq(fake.objects, 0);
	cr_assert_eq(fake.umems, 0);
	cr_assert_eq(fake.uars, 0);
	cr_assert_eq(gpu->allocation_count, 0);
}

static void stop(void)
{
	nothing_lives();
	cr_assert_eq(doca_gpu_destroy(gpu), DOCA_SUCCESS);
	cr_assert_eq(fake.blocks, 0);
}

TestSuite(engine_export, .init = start, .fini = stop);

static struct doca_gpu_verbs_qp_init_attr_hl hl_attr(void)
{
	return (struct doca_gpu_verbs_qp_init_attr_hl){
		.gpu_dev = gpu, .ibpd = &fake_pd, .sq_nwqe = DEPTH - 1};
}

static struct doca_gpu_verbs_qp_hl *make_hl(enum doca_gpu_dev_verbs_nic_handler handler,
					    enum doca_gpu_verbs_send_dbr_mode_ext ext)
{
	struct doca_gpu_verbs_qp_init_attr_hl attr = hl_attr();
	struct doca_gpu_verbs_qp_hl *hl = NULL;

	attr.nic_handler = handler;
	attr.send_dbr_mode_ext = ext;
	cr_assert_eq(doca_gpu_verbs_create_qp_hl(&attr, &hl), DOCA_SUCCESS);
	cr_assert_eq(attr.sq_nwqe, DEPTH, "rounded up in place");
	return hl;
}

#define HANDLER(name) DOCA_GPUNETIO_VERBS_NIC_HANDLER_##name
#define MODE(name)    DOCA_GPUNETIO_VERBS_SEND_DBR_MODE_EXT_##name

Test(engine_export, a_high_level_qp_is_exported_whole)
{
	struct doca_gpu_verbs_qp_hl *hl = make_hl(HANDLER(AUTO), MODE(VALID_DBR));
	const struct doca_gpu_dev_verbs_qp *dev = hl->qp_gverbs->qp_cpu;
	struct doca_gpu_dev_verbs_qp *handle, *again;
	uint32_t qpn = doca_verbs_qp_get_qpn(hl->qp);

	cr_assert_eq(fake.objects, 2);
	cr_assert_eq(fake.umems, 4, "ring and record, twice");
	cr_assert_eq(fake.uars, 1, "one doorbell page for both queues");
	cr_assert_eq(hl->nic_handler, HANDLER(GPU_SM_DB));
	cr_assert_eq(dev->sq_num, qpn);
	cr_assert_eq(dev->sq_num_shift8, qpn << 8);
	cr_assert_eq(be32toh(dev->sq_num_shift8_be), qpn << 8);
	cr_assert_eq(be32toh(dev->sq_num_shift8_be_3ds), qpn << 8 | 3);
	cr_assert_eq(be32toh(dev->sq_num_shift8_be_5ds), qpn << 8 | 5);
	cr_assert_eq(dev->sq_wqe_num, DEPTH);
	cr_assert_eq(dev->sq_wqe_mask, DEPTH - 1);
	cr_assert_eq(dev->sq_wqe_daddr, hl->qp_umem_gpu_ptr);
	cr_assert_eq((uint32_t *)dev->sq_dbrec, (uint32_t *)hl->qp_umem_dbr_gpu_ptr + 1);
	cr_assert_eq(dev->sq_db, doca_verbs_qp_get_uar_addr(hl->qp));
	cr_assert_eq(dev->nic_handler, HANDLER(GPU_SM_DB));
	cr_assert_eq(dev->mem_type, DOCA_GPUNETIO_VERBS_MEM_TYPE_HOST);
	cr_assert_eq(dev->cq_sq.cqe_daddr, hl->cq_sq_umem_gpu_ptr);
	cr_assert_eq(dev->cq_sq.cqe_num, DEPTH);
	cr_assert_eq(dev->cq_sq.cqe_mask, DEPTH - 1);
	cr_assert_eq(dev->cq_sq.cqe_size, 64);
	cr_assert_eq(dev->cq_sq.cq_num, doca_verbs_cq_get_cqn(hl->cq_sq));
	cr_assert_eq(dev->cq_sq.cqe_daddr[63], 0xf1, "ring reads as not written");
	cr_assert_eq(*(uint32_t *)dev->sq_dbrec, 0);
	cr_assert_not(hl->qp_gverbs->cpu_proxy);

	cr_assert_eq(doca_gpu_verbs_get_qp_dev(hl->qp_gverbs, &handle), DOCA_SUCCESS);
	cr_assert_eq(memcmp(handle, dev, sizeof(*handle)), 0);
	cr_assert_eq(doca_gpu_verbs_get_qp_dev(hl->qp_gverbs, &again), DOCA_SUCCESS);
	cr_assert_eq(handle, again, "one handle per QP");
	cr_assert_eq(doca_gpu_verbs_destroy_qp_hl(hl), DOCA_SUCCESS);
}

Test(engine_export, modes_become_handlers)
{
	static const struct {
		enum doca_gpu_dev_verbs_nic_handler asked, got;
		enum doca_gpu_verbs_send_dbr_mode_ext ext;
		bool proxy;
	} rows[] = {
		{HANDLER(AUTO), HANDLER(GPU_SM_DB), MODE(VALID_DBR), false},
		{HANDLER(GPU_SM_DB), HANDLER(GPU_SM_DB), MODE(VALID_DBR), false},
		{HANDLER(GPU_SM_BF), HANDLER(GPU_SM_BF), MODE(VALID_DBR), false},
		{HANDLER(CPU_PROXY), HANDLER(CPU_PROXY), MODE(VALID_DBR), true},
		{HANDLER(AUTO), HANDLER(GPU_SM_NO_DBR), MODE(NO_DBR_HW), false},
		{HANDLER(CPU_PROXY), HANDLER(CPU_PROXY), MODE(NO_DBR_HW), true},
		{HANDLER(AUTO), HANDLER(GPU_SM_NO_DBR), MODE(NO_DBR_SW_EMULATED), true},
		{HANDLER(CPU_PROXY), HANDLER(CPU_PROXY), MODE(NO_DBR_SW_EMULATED), true},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct doca_gpu_verbs_qp_hl *hl = make_hl(rows[i].asked, rows[i].ext);

		cr_assert_eq(hl->qp_gverbs->qp_cpu->nic_handler, rows[i].got, "row %zu", i);
		cr_assert_eq(hl->qp_gverbs->cpu_proxy, rows[i].proxy, "row %zu", i);
		cr_assert_eq(doca_gpu_verbs_destroy_qp_hl(hl), DOCA_SUCCESS);
		nothing_lives();
	}
}

Test(engine_export, bad_attributes_are_refused)
{
	struct doca_gpu_verbs_qp_init_attr_hl attr = hl_attr();
	struct doca_gpu_verbs_qp_group_hl *group;
	struct doca_gpu_verbs_qp_hl *hl;

	cr_assert_eq(doca_gpu_verbs_create_qp_hl(NULL, &hl), DOCA_ERROR_INVALID_VALUE);
	cr_assert_eq(doca_gpu_verbs_create_qp_hl(&attr, NULL), DOCA_ERROR_INVALID_VALUE);
	cr_assert_eq(doca_gpu_verbs_destroy_qp_hl(NULL), DOCA_ERROR_INVALID_VALUE);
	cr_assert_eq(doca_gpu_verbs_destroy_qp_group_hl(NULL), DOCA_ERROR_INVALID_VALUE);
	attr.sq_nwqe = 0;
	cr_assert_eq(doca_gpu_verbs_create_qp_hl(&attr, &hl), DOCA_ERROR_INVALID_VALUE);
	attr.sq_nwqe = 32769;
	cr_assert_eq(doca_gpu_verbs_create_qp_hl(&attr, &hl), DOCA_ERROR_INVALID_VALUE);
	attr = hl_attr();
	attr.nic_handler = HANDLER(GPU_SM_NO_DBR);
	cr_assert_eq(doca_gpu_verbs_create_qp_hl(&attr, &hl), DOCA_ERROR_INVALID_VALUE);
	attr.nic_handler = HANDLER(GPU_SM_BF);
	cr_assert_eq(doca_gpu_verbs_create_qp_group_hl(&attr, &group), DOCA_ERROR_INVALID_VALUE);
	attr.send_dbr_mode_ext = MODE(NO_DBR_HW);
	cr_assert_eq(doca_gpu_verbs_create_qp_hl(&attr, &hl), DOCA_ERROR_INVALID_VALUE);
	attr = hl_attr();
	attr.mreg_type = DOCA_GPUNETIO_VERBS_MEM_REG_TYPE_MAX;
	cr_assert_eq(doca_gpu_verbs_create_qp_hl(&attr, &hl), DOCA_ERROR_INVALID_VALUE);
	attr.mreg_type = DOCA_GPUNETIO_VERBS_MEM_REG_TYPE_CUDA_DMABUF;
	cr_assert_eq(doca_gpu_verbs_create_qp_hl(&attr, &hl), DOCA_ERROR_NOT_SUPPORTED,
		     "host memory has no dma-buf");
}

/* The call that fails moves through the whole creation: each time an error and nothing left. */
static unsigned int count_failures(bool is_group)
{
	struct doca_gpu_verbs_qp_init_attr_hl attr = hl_attr();
	struct doca_gpu_verbs_qp_group_hl *group = NULL;
	struct doca_gpu_verbs_qp_hl *hl = NULL;
	unsigned int n;

	for (n = 1; n < 100; n++) {
		doca_error_t status;

		fake.calls = 0;
		fake.fail_at = n;
		status = is_group ? doca_gpu_verbs_create_qp_group_hl(&attr, &group)
				  : doca_gpu_verbs_create_qp_hl(&attr, &hl);
		fake.fail_at = 0;
		if (status == DOCA_SUCCESS && fake.calls < n)
			break;		      /* past the last call */
		if (status == DOCA_SUCCESS) { /* a failure that has a second way */
			is_group ? doca_gpu_verbs_destroy_qp_group_hl(group)
				 : doca_gpu_verbs_destroy_qp_hl(hl);
			nothing_lives();
			continue;
		}
		cr_assert_eq(status, DOCA_ERROR_DRIVER, "call %u", n);
		nothing_lives();
	}
	cr_assert_lt(n, 100);
	is_group ? doca_gpu_verbs_destroy_qp_group_hl(group) : doca_gpu_verbs_destroy_qp_hl(hl);
	return n - 1;
}

Test(engine_export, a_failure_anywhere_leaves_nothing_behind)
{
	cr_assert_geq(count_failures(false), 12);
	cr_assert_geq(count_failures(true), 22);
}

Test(engine_export, a_queue_that_firmware_keeps_keeps_its_memory)
{
	struct doca_gpu_verbs_qp_hl *hl = make_hl(HANDLER(AUTO), MODE(VALID_DBR));

	fake.fail_at = fake.calls + 1;
	cr_assert_eq(doca_gpu_verbs_destroy_qp_hl(hl), DOCA_ERROR_DRIVER);
	cr_assert_eq(fake.umems, 4);
	cr_assert_eq(fake.uars, 1);
	cr_assert_eq(doca_gpu_verbs_destroy_qp_hl(hl), DOCA_SUCCESS, "a second try goes on");
}

Test(engine_export, a_group_shares_one_page_and_the_companion_is_master)
{
	struct doca_gpu_verbs_qp_init_attr_hl attr = hl_attr();
	struct doca_gpu_verbs_qp_group_hl *group;

	cr_assert_eq(doca_gpu_verbs_create_qp_group_hl(&attr, &group), DOCA_SUCCESS);
	cr_assert_eq(fake.objects, 4);
	cr_assert_eq(fake.uars, 1);
	cr_assert_eq(fake_input(0x500)[0x18 + 0x93] & 1, 1, "cd_master of the second QP");
	cr_assert_eq(group->qp_main.qp_gverbs->qp_cpu->sq_db,
		     group->qp_companion.qp_gverbs->qp_cpu->sq_db);
	cr_assert_neq(group->qp_main.qp, group->qp_companion.qp);
	cr_assert_eq(doca_gpu_verbs_destroy_qp_group_hl(group), DOCA_SUCCESS);
}

Test(engine_export, an_old_rdma_core_gives_a_shared_page)
{
	struct doca_gpu_verbs_qp_hl *hl;

	fake.has_dedicated_uar = false;
	hl = make_hl(HANDLER(AUTO), MODE(VALID_DBR));
	cr_assert_eq(hl->external_uar->type, DOCA_VERBS_UAR_ALLOCATION_TYPE_NONCACHE);
	cr_assert_eq(doca_gpu_verbs_destroy_qp_hl(hl), DOCA_SUCCESS);
}

Test(engine_export, modes_that_contradict_the_qp_are_refused)
{
	struct doca_gpu_verbs_qp_hl *hl = make_hl(HANDLER(AUTO), MODE(VALID_DBR));
	struct doca_gpu_verbs_qp *out;

	cr_assert_eq(doca_gpu_verbs_export_qp(gpu, hl->qp, HANDLER(AUTO), NULL, hl->cq_sq,
					      MODE(NO_DBR_HW), &out),
		     DOCA_ERROR_INVALID_VALUE);
	cr_assert_eq(doca_gpu_verbs_export_qp(gpu, hl->qp, HANDLER(GPU_SM_NO_DBR), NULL, hl->cq_sq,
					      MODE(VALID_DBR), &out),
		     DOCA_ERROR_INVALID_VALUE);
	cr_assert_eq(doca_gpu_verbs_export_qp(gpu, hl->qp, (enum doca_gpu_dev_verbs_nic_handler)3,
					      NULL, hl->cq_sq, MODE(VALID_DBR), &out),
		     DOCA_ERROR_INVALID_VALUE);
	cr_assert_eq(doca_gpu_verbs_export_qp(gpu, hl->qp, HANDLER(AUTO), NULL, NULL,
					      MODE(VALID_DBR), &out),
		     DOCA_ERROR_INVALID_VALUE);
	cr_assert_eq(doca_gpu_verbs_destroy_qp_hl(hl), DOCA_SUCCESS);
}

Test(engine_export, a_qp_with_a_page_of_its_own_can_be_exported)
{
	struct doca_verbs_qp_init_attr *init;
	struct doca_verbs_cq_attr *cq_attr;
	struct doca_gpu_verbs_qp *out;
	struct doca_verbs_qp *qp;
	struct doca_verbs_cq *cq;

	doca_verbs_cq_attr_create(&cq_attr);
	doca_verbs_cq_attr_set_cq_size(cq_attr, DEPTH);
	cr_assert_eq(doca_verbs_cq_create(fake_pd.context, cq_attr, &cq), DOCA_SUCCESS);
	doca_verbs_qp_init_attr_create(&init);
	doca_verbs_qp_init_attr_set_pd(init, &fake_pd);
	doca_verbs_qp_init_attr_set_send_cq(init, cq);
	doca_verbs_qp_init_attr_set_sq_wr(init, DEPTH);
	doca_verbs_qp_init_attr_set_send_max_sges(init, 1);
	cr_assert_eq(doca_verbs_qp_create(fake_pd.context, init, &qp), DOCA_SUCCESS);
	cr_assert_eq(
		doca_gpu_verbs_export_qp(gpu, qp, HANDLER(AUTO), NULL, cq, MODE(VALID_DBR), &out),
		DOCA_SUCCESS);
	cr_assert_eq(out->qp_cpu->sq_db, doca_verbs_qp_get_uar_addr(qp));
	cr_assert_eq(doca_gpu_verbs_unexport_qp(gpu, out), DOCA_SUCCESS);
	doca_verbs_qp_init_attr_destroy(init);
	doca_verbs_cq_attr_destroy(cq_attr);
	cr_assert_eq(doca_verbs_qp_destroy(qp), DOCA_SUCCESS);
	cr_assert_eq(doca_verbs_cq_destroy(cq), DOCA_SUCCESS);
}

Test(engine_export, several_qps_in_one_array)
{
	struct doca_gpu_verbs_qp_hl *hl[3];
	struct doca_gpu_verbs_qp *qps[3];
	struct doca_gpu_dev_verbs_qp *array, *one;

	for (int i = 0; i < 3; i++) {
		hl[i] = make_hl(HANDLER(AUTO), i == 1 ? MODE(NO_DBR_SW_EMULATED) : MODE(VALID_DBR));
		qps[i] = hl[i]->qp_gverbs;
	}
	cr_assert_eq(doca_gpu_verbs_export_multi_qps_dev(gpu, qps, 0, &array),
		     DOCA_ERROR_INVALID_VALUE);
	cr_assert_eq(doca_gpu_verbs_export_multi_qps_dev(gpu, qps, 3, &array), DOCA_SUCCESS);
	for (int i = 0; i < 3; i++) {
		cr_assert_eq(array[i].sq_num, doca_verbs_qp_get_qpn(hl[i]->qp));
		cr_assert_eq(doca_gpu_verbs_get_qp_dev(qps[i], &one), DOCA_SUCCESS);
		cr_assert_eq(one, &array[i]);
	}
	cr_assert_eq(qps[1]->cpu_db, &array[1].sq_wqe_pi, "the proxy follows the handle");
	cr_assert_null(qps[0]->cpu_db);
	cr_assert_eq(doca_gpu_verbs_export_multi_qps_dev(gpu, qps, 3, &array),
		     DOCA_ERROR_INVALID_VALUE, "they have handles");
	cr_assert_eq(doca_gpu_verbs_unexport_multi_qps_dev(gpu, qps, 3, array + 1),
		     DOCA_ERROR_INVALID_VALUE);
	cr_assert_eq(doca_gpu_verbs_unexport_multi_qps_dev(gpu, qps, 3, array), DOCA_SUCCESS);
	cr_assert_null(qps[1]->cpu_db);
	cr_assert_eq(doca_gpu_verbs_cpu_proxy_progress(qps[1], NULL), DOCA_ERROR_BAD_STATE);
	for (int i = 0; i < 3; i++)
		cr_assert_eq(doca_gpu_verbs_destroy_qp_hl(hl[i]), DOCA_SUCCESS);
}

Test(engine_export, unexport_leaves_a_foreign_array_alone)
{
	struct doca_gpu_verbs_qp_hl *hl = make_hl(HANDLER(AUTO), MODE(VALID_DBR));
	struct doca_gpu_dev_verbs_qp *array;
	struct doca_gpu_verbs_qp *qp = hl->qp_gverbs;

	cr_assert_eq(doca_gpu_verbs_export_multi_qps_dev(gpu, &qp, 1, &array), DOCA_SUCCESS);
	cr_assert_eq(doca_gpu_verbs_destroy_qp_hl(hl), DOCA_SUCCESS);
	cr_assert_eq(doca_gpu_mem_free(gpu, array), DOCA_SUCCESS, "still there");
}

Test(engine_export, a_flat_list_holds_copies)
{
	struct doca_gpu_verbs_qp_hl *hl[2] = {make_hl(HANDLER(AUTO), MODE(VALID_DBR)),
					      make_hl(HANDLER(CPU_PROXY), MODE(VALID_DBR))};
	struct doca_gpu_dev_verbs_qp *list;

	cr_assert_eq(doca_gpu_verbs_qp_flat_list_create_hl(hl, 0, &list), DOCA_ERROR_INVALID_VALUE);
	cr_assert_eq(doca_gpu_verbs_qp_flat_list_create_hl(hl, 2, &list), DOCA_SUCCESS);
	cr_assert_eq(list[1].sq_num, doca_verbs_qp_get_qpn(hl[1]->qp));
	cr_assert_eq(list[1].sq_db, hl[1]->qp_gverbs->cpu_db);
	cr_assert_eq(doca_gpu_verbs_qp_flat_list_destroy_hl(list), DOCA_SUCCESS);
	cr_assert_eq(doca_gpu_verbs_qp_flat_list_destroy_hl(list), DOCA_ERROR_INVALID_VALUE);
	doca_gpu_verbs_destroy_qp_hl(hl[0]);
	doca_gpu_verbs_destroy_qp_hl(hl[1]);
}

/* ---- after an error ---- */

static void put_error(uint8_t *ring, uint32_t slot, uint32_t qpn, uint8_t syndrome, uint8_t vendor,
		      uint16_t wqe)
{
	struct mlx5_err_cqe_ex *cqe = (struct mlx5_err_cqe_ex *)(ring + slot * 64);

	memset(cqe, 0, sizeof(*cqe));
	cqe->syndrome = syndrome;
	cqe->vendor_err_synd = vendor;
	cqe->s_wqe_opcode_qpn = htobe32(8u << 24 | qpn);
	cqe->wqe_counter = htobe16(wqe);
	cqe->op_own = 13 << 4;
}

Test(engine_export, the_first_cause_is_found_among_flushes)
{
	struct doca_gpu_verbs_qp_hl *hl = make_hl(HANDLER(AUTO), MODE(VALID_DBR));
	uint32_t qpn = doca_verbs_qp_get_qpn(hl->qp);
	struct doca_gpu_verbs_qp_error_info info;
	uint8_t *ring = hl->cq_sq_umem_gpu_ptr;

	fake.qp_state = 3;
	fake.qp_mtu = 5;
	cr_assert_eq(doca_gpu_verbs_query_last_error(hl->qp_gverbs, &info), DOCA_SUCCESS);
	cr_assert_not(info.has_error);
	put_error(ring, 1, qpn + 1, 0x13, 1, 1); /* another QP's */
	put_error(ring, 4, qpn, 0x05, 0xf9, 40);
	put_error(ring, 9, qpn, 0x15, 0x81, 39);
	put_error(ring, 10, qpn, 0x05, 0xf9, 41);
	for (uint32_t state = 4; state <= 6; state += 2) {
		fake.qp_state = state;
		cr_assert_eq(doca_gpu_verbs_query_last_error(hl->qp_gverbs, &info), DOCA_SUCCESS);
		cr_assert(info.has_error, "state %u", state);
		cr_assert_eq(info.syndrome, 0x15);
		cr_assert_eq(info.vendor_err_synd, 0x81);
		cr_assert_eq(info.wqe_counter, 39);
	}
	cr_assert_eq(doca_gpu_verbs_destroy_qp_hl(hl), DOCA_SUCCESS);
}

/* As a kernel's poll sees it: written in the lap of index, or not yet. */
static bool looks_new(const uint8_t *ring, uint64_t index)
{
	uint8_t op_own = ring[(index % DEPTH) * 64 + 63];

	return (op_own & 1) == (index / DEPTH & 1);
}

Test(engine_export, a_reset_leaves_no_entry_that_looks_new)
{
	struct doca_gpu_verbs_qp_hl *hl = make_hl(HANDLER(AUTO), MODE(VALID_DBR));
	struct doca_gpu_verbs_qp *qp = hl->qp_gverbs;
	static const uint64_t posted[] = {DEPTH + 5, 3, 2 * DEPTH - 8, 0};
	struct doca_gpu_dev_verbs_qp *dev;
	uint64_t total = 0;

	cr_assert_eq(doca_gpu_verbs_reset_tracking_and_memory(NULL), DOCA_ERROR_INVALID_VALUE);
	cr_assert_eq(doca_gpu_verbs_reset_tracking_and_memory(qp), DOCA_ERROR_BAD_STATE);
	cr_assert_eq(doca_gpu_verbs_get_qp_dev(qp, &dev), DOCA_SUCCESS);
	for (size_t i = 0; i < sizeof(posted) / sizeof(posted[0]); i++) {
		dev->sq_rsvd_index = dev->sq_ready_index = dev->sq_wqe_pi = posted[i];
		dev->sq_lock = 1;
		dev->cq_sq.cqe_ci = posted[i];
		dev->cq_sq.cqe_err_synd = 5;
		*(uint32_t *)dev->sq_dbrec = 0x77;
		memset(dev->sq_wqe_daddr, 0xaa, DEPTH * 64);
		total += posted[i];
		cr_assert_eq(doca_gpu_verbs_reset_tracking_and_memory(qp), DOCA_SUCCESS);
		cr_assert_eq(dev->cq_sq.cqe_rsvd, total, "reset %zu: the CQ's counter goes on", i);
		cr_assert_eq(dev->sq_rsvd_index, 0);
		cr_assert_eq(dev->sq_wqe_pi, 0);
		cr_assert_eq(dev->sq_lock, 0);
		cr_assert_eq(dev->cq_sq.cqe_ci, 0);
		cr_assert_eq(dev->cq_sq.cqe_err_synd, 0);
		cr_assert_eq(*(uint32_t *)dev->sq_dbrec, 0);
		cr_assert_eq(dev->sq_wqe_daddr[100], 0);
		for (uint64_t n = total; n < total + DEPTH; n++)
			cr_assert_not(looks_new(dev->cq_sq.cqe_daddr, n), "reset %zu, CQE %lu", i,
				      n);
	}
	cr_assert_eq(doca_gpu_verbs_destroy_qp_hl(hl), DOCA_SUCCESS);
}

/* On the played GPU: what the high level chooses, and what export alone must refuse. */
Test(engine_export, a_proxy_needs_its_record_in_host_memory)
{
	struct doca_gpu_verbs_qp_init_attr_hl attr = hl_attr();
	struct doca_gpu_verbs_qp_hl *hl;
	struct doca_gpu_verbs_qp *out;
	struct doca_gpu *cuda_gpu;

	memset(&fake_cuda, 0, sizeof(fake_cuda));
	fake_cuda.refuses_io = true;
	cuda_inject(&fake_cuda_ops, NULL);
	cr_assert_eq(doca_gpu_create("0000:17:00.0", &cuda_gpu), DOCA_SUCCESS);
	attr.gpu_dev = cuda_gpu;
	cr_assert_eq(doca_gpu_verbs_create_qp_hl(&attr, &hl), DOCA_SUCCESS);
	cr_assert_eq(hl->nic_handler, HANDLER(CPU_PROXY), "the doorbell page cannot be mapped");
	cr_assert(hl->qp_gverbs->cpu_proxy);
	cr_assert_eq(fake_cuda.allocations, 3, "CQ ring and record, SQ ring; not the QP's record");
	cr_assert_eq(hl->qp_gverbs->qp_cpu->mem_type, DOCA_GPUNETIO_VERBS_MEM_TYPE_GPU);
	cr_assert_neq(hl->qp_gverbs->qp_cpu->sq_db, hl->qp_gverbs->cpu_db,
		      "the GPU has its own address for the shared word");
	cr_assert_eq(doca_gpu_verbs_export_qp(cuda_gpu, hl->qp, HANDLER(GPU_SM_DB), NULL, hl->cq_sq,
					      MODE(VALID_DBR), &out),
		     DOCA_ERROR_DRIVER, "asked for by name");
	fake_cuda.all_is_device = true;
	cr_assert_eq(doca_gpu_verbs_export_qp(cuda_gpu, hl->qp, HANDLER(AUTO), NULL, hl->cq_sq,
					      MODE(VALID_DBR), &out),
		     DOCA_ERROR_INVALID_VALUE);
	cr_assert_eq(doca_gpu_verbs_destroy_qp_hl(hl), DOCA_SUCCESS);
	cr_assert_eq(doca_gpu_destroy(cuda_gpu), DOCA_SUCCESS);
	cr_assert_eq(fake_cuda.allocations, 0);
	cr_assert_eq(fake_cuda.registrations, 0);
	cuda_inject(NULL, NULL);
}

Test(engine_export, a_gpu_queue_is_registered_by_dmabuf_else_by_address)
{
	struct doca_gpu_verbs_qp_init_attr_hl attr = hl_attr();
	struct doca_gpu_verbs_qp_hl *hl;
	struct doca_gpu *cuda_gpu;

	memset(&fake_cuda, 0, sizeof(fake_cuda));
	fake_cuda.has_dmabuf = true;
	cuda_inject(&fake_cuda_ops, NULL);
	cr_assert_eq(doca_gpu_create("0000:17:00.0", &cuda_gpu), DOCA_SUCCESS);
	attr.gpu_dev = cuda_gpu;
	attr.mreg_type = DOCA_GPUNETIO_VERBS_MEM_REG_TYPE_CUDA_DMABUF;
	cr_assert_eq(doca_gpu_verbs_create_qp_hl(&attr, &hl), DOCA_SUCCESS);
	cr_assert_eq(fake.last_umem.comp_mask, MLX5DV_UMEM_MASK_DMABUF);
	cr_assert_eq(fake.last_umem.addr, NULL, "from the dma-buf's start");
	cr_assert_eq(doca_gpu_verbs_destroy_qp_hl(hl), DOCA_SUCCESS);

	attr.mreg_type = DOCA_GPUNETIO_VERBS_MEM_REG_TYPE_DEFAULT;
	cuda_gpu->mem.has_dmabuf = false;
	cr_assert_eq(doca_gpu_verbs_create_qp_hl(&attr, &hl), DOCA_SUCCESS);
	cr_assert_eq(fake.last_umem.comp_mask, 0);
	cr_assert_eq(fake.last_umem.addr, hl->qp_umem_dbr_gpu_ptr);
	cr_assert_eq(doca_gpu_verbs_destroy_qp_hl(hl), DOCA_SUCCESS);
	cr_assert_eq(doca_gpu_destroy(cuda_gpu), DOCA_SUCCESS);
	cuda_inject(NULL, NULL);
}

Test(engine_export, collapsed_cqs_say_so)
{
	struct doca_gpu_verbs_qp_init_attr_hl attr = hl_attr();
	struct doca_gpu_verbs_qp_hl *hl;

	attr.cq_collapsed = true;
	cr_assert_eq(doca_gpu_verbs_create_qp_hl(&attr, &hl), DOCA_SUCCESS);
	cr_assert_eq(be32_at(fake_input(0x400), 0x10) >> 20 & 1, 1);
	cr_assert_eq(hl->qp_gverbs->qp_cpu->cq_sq.cqe_flags, GDAKIT_CQE_FLAG_COLLAPSED);
	cr_assert_eq(doca_gpu_verbs_destroy_qp_hl(hl), DOCA_SUCCESS);
}

Test(engine_export, versions_are_compared_at_both_ends)
{
	uint32_t v = 0;

	cr_assert_eq(doca_gpu_verbs_get_library_version(NULL), DOCA_ERROR_INVALID_VALUE);
	cr_assert_eq(doca_gpu_verbs_get_library_version(&v), DOCA_SUCCESS);
	cr_assert_eq(v, 0x020002);
	cr_assert_eq(doca_gpu_verbs_check_device_code_compatibility(0x020000), DOCA_SUCCESS);
	cr_assert_eq(doca_gpu_verbs_check_device_code_compatibility(0x01ffff),
		     DOCA_ERROR_NOT_SUPPORTED);
	cr_assert_eq(doca_gpu_verbs_check_device_code_compatibility(0x020002), DOCA_SUCCESS);
	cr_assert_eq(doca_gpu_verbs_check_device_code_compatibility(0x020003),
		     DOCA_ERROR_NOT_SUPPORTED);
	cr_assert_eq(doca_gpu_verbs_check_host_code_compatibility(0x020000), DOCA_SUCCESS);
	cr_assert_eq(doca_gpu_verbs_check_host_code_compatibility(0x01ffff),
		     DOCA_ERROR_NOT_SUPPORTED);
}
