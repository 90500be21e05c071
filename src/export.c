/* SPDX-License-Identifier: BSD-3-Clause */
/* From a created QP to the struct that kernels work with. */
#include <assert.h>
#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "common/doca_gpunetio_verbs_dev.h"
#include "export.h"
#include "log.h"
#include "prm/enums.h"
#include "util.h"

enum { MAX_SQ_WQEBBS = 32768 }; /* sq_wqe_num has 16 bits, a WQE index must tell two laps apart */

_Static_assert(sizeof(struct doca_gpu_verbs_qp) == 88, "layout is ABI");
_Static_assert(sizeof(struct doca_gpu_verbs_qp_error_info) == 24, "layout is ABI");
_Static_assert(sizeof(struct doca_gpu_dev_verbs_qp) == 296, "layout is ABI");
_Static_assert(offsetof(struct exported_qp, pub) == 0, "exported() casts");

/* ---- Arguments ---- */

static bool is_handler(enum doca_gpu_dev_verbs_nic_handler handler)
{
	switch (handler) {
	case DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO:
	case DOCA_GPUNETIO_VERBS_NIC_HANDLER_CPU_PROXY:
	case DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_DB:
	case DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_BF:
	case DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_NO_DBR:
		return true;
	default:
		return false;
	}
}

static doca_error_t check_modes(const struct doca_gpu *gpu, const struct doca_verbs_qp *qp,
				enum doca_gpu_dev_verbs_nic_handler handler,
				enum doca_gpu_verbs_send_dbr_mode_ext ext)
{
	bool no_record = qp->init.send_dbr_mode == DOCA_VERBS_QP_SEND_DBR_MODE_NO_DBR_EXT;
	bool wants_no_record = ext == DOCA_GPUNETIO_VERBS_SEND_DBR_MODE_EXT_NO_DBR_HW;

	if (!is_handler(handler) ||
	    (unsigned int)ext > DOCA_GPUNETIO_VERBS_SEND_DBR_MODE_EXT_NO_DBR_SW_EMULATED) {
		ENGINE_ERR("export: nic_handler %d or send_dbr_mode_ext %d is unknown",
			   (int)handler, (int)ext);
		return DOCA_ERROR_INVALID_VALUE;
	}
	if (no_record != wants_no_record) {
		ENGINE_ERR(
			"export: send_dbr_mode_ext %d, but the QP was created %s a doorbell record",
			(int)ext, no_record ? "without" : "with");
		return DOCA_ERROR_INVALID_VALUE;
	}
	if (handler == DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_NO_DBR &&
	    ext == DOCA_GPUNETIO_VERBS_SEND_DBR_MODE_EXT_VALID_DBR) {
		ENGINE_ERR("export: handler GPU_SM_NO_DBR contradicts mode VALID_DBR");
		return DOCA_ERROR_INVALID_VALUE;
	}
	if (ext == DOCA_GPUNETIO_VERBS_SEND_DBR_MODE_EXT_NO_DBR_SW_EMULATED &&
	    !gpu->mem.can_map_cpu) {
		ENGINE_ERR("export: mode NO_DBR_SW_EMULATED needs GDRCopy");
		return DOCA_ERROR_NOT_SUPPORTED;
	}
	return DOCA_SUCCESS;
}

static doca_error_t check_queues(const struct doca_verbs_qp *qp, const struct doca_verbs_cq *cq)
{
	if (!qp->sq_wqebbs || qp->sq_wqebbs > MAX_SQ_WQEBBS) {
		ENGINE_ERR("export: SQ of %u blocks, expected 1..%d", qp->sq_wqebbs, MAX_SQ_WQEBBS);
		return DOCA_ERROR_INVALID_VALUE;
	}
	if (qp->init.send_cq != cq)
		ENGINE_WARN("export: CQ 0x%x is not the send CQ of QP 0x%x", cq->cqn, qp->qpn);
	if (!cq->is_collapsed && cq->entries < qp->sq_wqebbs)
		ENGINE_WARN("export: CQ of %u entries for an SQ of %u blocks: poll before more "
			    "WQEs than "
			    "entries are open",
			    cq->entries, qp->sq_wqebbs);
	return DOCA_SUCCESS;
}

/* ---- The host image of the device handle ---- */

static void fill_sq(const struct doca_gpu *gpu, const struct doca_verbs_qp *qp,
		    struct doca_gpu_dev_verbs_qp *dev)
{
	uint32_t shifted = qp->qpn << 8;
	void *ring;

	doca_verbs_qp_get_wq(qp, &ring, NULL, NULL, NULL, NULL);
	dev->sq_wqe_daddr = ring;
	dev->sq_wqe_num = (uint16_t)qp->sq_wqebbs;
	dev->sq_wqe_mask = (uint16_t)(qp->sq_wqebbs - 1);
	dev->sq_num = qp->qpn;
	dev->sq_num_shift8 = shifted;
	dev->sq_num_shift8_be = htobe32(shifted);
	dev->sq_num_shift8_be_1ds = htobe32(shifted | 1);
	dev->sq_num_shift8_be_2ds = htobe32(shifted | 2);
	dev->sq_num_shift8_be_3ds = htobe32(shifted | 3);
	dev->sq_num_shift8_be_4ds = htobe32(shifted | 4);
	dev->sq_num_shift8_be_5ds = htobe32(shifted | 5);
	dev->sq_dbrec = (__be32 *)&qp->memory.dbr[DOCA_GPUNETIO_IB_MLX5_SND_DBR];
	dev->mem_type = gpu->mem.is_host ? DOCA_GPUNETIO_VERBS_MEM_TYPE_HOST
					 : DOCA_GPUNETIO_VERBS_MEM_TYPE_GPU;
}

static void fill_cq(const struct doca_gpu *gpu, const struct doca_verbs_cq *cq,
		    struct doca_gpu_dev_verbs_cq *dev)
{
	dev->cqe_daddr = cq->memory.ring;
	dev->cq_num = cq->cqn;
	dev->cqe_num = cq->entries;
	dev->cqe_mask = cq->entries - 1;
	dev->cqe_size = PRM_CQE_SIZE;
	dev->cqe_flags = cq->is_collapsed ? GDAKIT_CQE_FLAG_COLLAPSED : 0;
	dev->dbrec = (__be32 *)cq->memory.dbr;
	dev->mem_type = gpu->mem.is_host ? DOCA_GPUNETIO_VERBS_MEM_TYPE_HOST
					 : DOCA_GPUNETIO_VERBS_MEM_TYPE_GPU;
}

/* ---- Doorbell and proxy ---- */

static doca_error_t start_full_proxy(struct exported_qp *e)
{
	doca_error_t status;
	void *gpu_word, *cpu_word;

	status = doca_gpu_mem_alloc(e->pub.gpu_dev, sizeof(uint64_t), 0, DOCA_GPU_MEM_TYPE_CPU_GPU,
				    &gpu_word, &cpu_word);
	if (status != DOCA_SUCCESS)
		return status;
	e->proxy = PROXY_FULL;
	e->proxy_word = gpu_word;
	e->pub.cpu_db = cpu_word;
	e->pub.qp_cpu->sq_db = gpu_word;
	e->pub.qp_cpu->nic_handler = DOCA_GPUNETIO_VERBS_NIC_HANDLER_CPU_PROXY;
	return DOCA_SUCCESS;
}

/* The proxy keeps the record with ordinary stores. */
static doca_error_t check_record(const struct exported_qp *e)
{
	struct gpu_mem *mem = &e->pub.gpu_dev->mem;

	if (e->proxy == PROXY_NONE || !e->writes_record ||
	    !mem->ops->is_device_memory(mem, e->pub.sq_dbrec))
		return DOCA_SUCCESS;
	ENGINE_ERR("export: QP 0x%x needs the CPU proxy, but its doorbell record lies in the GPU",
		   e->pub.qp->qpn);
	return DOCA_ERROR_INVALID_VALUE;
}

static enum doca_gpu_dev_verbs_nic_handler gpu_handler(enum doca_gpu_dev_verbs_nic_handler asked,
						       enum doca_gpu_verbs_send_dbr_mode_ext ext)
{
	if (asked != DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO)
		return asked;
	return ext == DOCA_GPUNETIO_VERBS_SEND_DBR_MODE_EXT_VALID_DBR
		       ? DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_DB
		       : DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_NO_DBR;
}

static doca_error_t set_doorbell(struct exported_qp *e, enum doca_gpu_dev_verbs_nic_handler handler)
{
	struct doca_gpu_verbs_qp *pub = &e->pub;
	doca_error_t status = DOCA_ERROR_NOT_SUPPORTED;

	if (handler != DOCA_GPUNETIO_VERBS_NIC_HANDLER_CPU_PROXY) {
		status = uar_map(&pub->gpu_dev->mem, pub->sq_db, &pub->qp_cpu->sq_db);
		if (status == DOCA_ERROR_NO_MEMORY ||
		    (status != DOCA_SUCCESS && handler != DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO))
			return status;
	}
	if (status != DOCA_SUCCESS) {
		ENGINE_WARN("QP 0x%x: doorbells go through the CPU proxy", pub->qp->qpn);
		status = start_full_proxy(e);
	} else {
		pub->qp_cpu->nic_handler = gpu_handler(handler, pub->send_dbr_mode_ext);
		if (pub->send_dbr_mode_ext ==
		    DOCA_GPUNETIO_VERBS_SEND_DBR_MODE_EXT_NO_DBR_SW_EMULATED)
			e->proxy = PROXY_RECORD; /* its index is in the device handle */
	}
	pub->cpu_proxy = e->proxy != PROXY_NONE;
	return status;
}

/* What export made, whole or in part. */
static void release(struct exported_qp *e)
{
	if (e->proxy == PROXY_FULL)
		doca_gpu_mem_free(e->pub.gpu_dev, e->proxy_word);
	else if (e->pub.qp_cpu->sq_db)
		uar_unmap(e->pub.qp_cpu->sq_db);
	free(e->pub.qp_cpu);
	free(e);
}

doca_error_t doca_gpu_verbs_export_qp(struct doca_gpu *gpu_dev, struct doca_verbs_qp *qp,
				      enum doca_gpu_dev_verbs_nic_handler nic_handler,
				      void *gpu_qp_umem_dev_ptr, struct doca_verbs_cq *cq_sq,
				      enum doca_gpu_verbs_send_dbr_mode_ext send_dbr_mode_ext,
				      struct doca_gpu_verbs_qp **qp_out)
{
	struct exported_qp *e;
	doca_error_t status;

	(void)gpu_qp_umem_dev_ptr;
	if (!gpu_dev || !qp || !cq_sq || !qp_out)
		return DOCA_ERROR_INVALID_VALUE;
	status = check_modes(gpu_dev, qp, nic_handler, send_dbr_mode_ext);
	if (status == DOCA_SUCCESS)
		status = check_queues(qp, cq_sq);
	if (status != DOCA_SUCCESS)
		return status;

	e = calloc(1, sizeof(*e));
	if (!e)
		return DOCA_ERROR_NO_MEMORY;
	e->pub.qp_cpu = calloc(1, sizeof(*e->pub.qp_cpu));
	if (!e->pub.qp_cpu) {
		free(e);
		return DOCA_ERROR_NO_MEMORY;
	}
	atomic_flag_clear(&e->is_stepping);
	e->pub.gpu_dev = gpu_dev;
	e->pub.qp = qp;
	e->pub.send_dbr_mode_ext = send_dbr_mode_ext;
	fill_sq(gpu_dev, qp, e->pub.qp_cpu);
	fill_cq(gpu_dev, cq_sq, &e->pub.qp_cpu->cq_sq);
	e->pub.sq_db = doca_verbs_qp_get_uar_addr(qp);
	e->pub.sq_dbrec = e->pub.qp_cpu->sq_dbrec;
	e->pub.sq_num_shift8_be = e->pub.qp_cpu->sq_num_shift8_be;
	e->writes_record = qp->init.send_dbr_mode == DOCA_VERBS_QP_SEND_DBR_MODE_DBR_VALID;
	status = set_doorbell(e, nic_handler);
	if (status == DOCA_SUCCESS)
		status = check_record(e);
	if (status != DOCA_SUCCESS) {
		release(e);
		return status;
	}
	*qp_out = &e->pub;
	return DOCA_SUCCESS;
}

doca_error_t doca_gpu_verbs_unexport_qp(struct doca_gpu *gpu_dev, struct doca_gpu_verbs_qp *qp)
{
	struct exported_qp *e = exported(qp);

	if (!gpu_dev || !qp || qp->gpu_dev != gpu_dev)
		return DOCA_ERROR_INVALID_VALUE;
	proxy_forget(e);
	if (e->owns_qp_gpu)
		doca_gpu_mem_free(gpu_dev, qp->qp_gpu);
	release(e);
	return DOCA_SUCCESS;
}

/* ---- Device handles ---- */

/* The QP's handle is at gpu, which the CPU sees at cpu (or not at all). */
static void attach(struct exported_qp *e, struct doca_gpu_dev_verbs_qp *gpu,
		   struct doca_gpu_dev_verbs_qp *cpu)
{
	e->pub.qp_gpu = gpu;
	e->pub.qp_gpu_h = cpu;
	if (e->proxy == PROXY_RECORD)
		__atomic_store_n(&e->pub.cpu_db, cpu ? &cpu->sq_wqe_pi : NULL, __ATOMIC_RELEASE);
}

/* Memory for count handles; the CPU sees it if needs_cpu. */
static doca_error_t alloc_handles(struct doca_gpu *gpu, unsigned int count, bool needs_cpu,
				  struct doca_gpu_dev_verbs_qp **dev,
				  struct doca_gpu_dev_verbs_qp **cpu)
{
	enum doca_gpu_mem_type mtype =
		needs_cpu ? DOCA_GPU_MEM_TYPE_GPU_CPU : DOCA_GPU_MEM_TYPE_GPU;

	*cpu = NULL;
	return doca_gpu_mem_alloc(gpu, count * sizeof(**dev), DOCA_GPUNETIO_VERBS_PAGE_SIZE, mtype,
				  (void **)dev, (void **)cpu);
}

doca_error_t doca_gpu_verbs_get_qp_dev(struct doca_gpu_verbs_qp *qp,
				       struct doca_gpu_dev_verbs_qp **qp_gpu)
{
	struct doca_gpu_dev_verbs_qp *dev, *cpu;
	struct exported_qp *e = exported(qp);
	doca_error_t status;

	if (!qp || !qp_gpu)
		return DOCA_ERROR_INVALID_VALUE;
	if (!qp->qp_gpu) {
		status = alloc_handles(qp->gpu_dev, 1, e->proxy == PROXY_RECORD, &dev, &cpu);
		if (status != DOCA_SUCCESS)
			return status;
		status = qp->gpu_dev->mem.ops->copy(&qp->gpu_dev->mem, dev, qp->qp_cpu,
						    sizeof(*dev));
		if (status != DOCA_SUCCESS) {
			doca_gpu_mem_free(qp->gpu_dev, dev);
			return status;
		}
		e->owns_qp_gpu = true;
		attach(e, dev, cpu);
	}
	*qp_gpu = qp->qp_gpu;
	return DOCA_SUCCESS;
}

static doca_error_t check_list(struct doca_gpu *gpu, struct doca_gpu_verbs_qp **qps,
			       unsigned int count)
{
	if (!gpu || !qps || !count)
		return DOCA_ERROR_INVALID_VALUE;
	for (unsigned int i = 0; i < count; i++) {
		if (!qps[i] || qps[i]->gpu_dev != gpu) {
			ENGINE_ERR("QP %u of %u is NULL or of another GPU", i, count);
			return DOCA_ERROR_INVALID_VALUE;
		}
	}
	return DOCA_SUCCESS;
}

/* Each QP once, and none has a device handle. */
static doca_error_t check_new(struct doca_gpu_verbs_qp **qps, unsigned int count)
{
	doca_error_t status = DOCA_SUCCESS;
	unsigned int seen;

	for (seen = 0; seen < count && status == DOCA_SUCCESS; seen++) {
		struct exported_qp *e = exported(qps[seen]);

		if (e->pub.qp_gpu || e->is_listed) {
			ENGINE_ERR("QP %u of %u %s", seen, count,
				   e->is_listed ? "is there twice" : "has a device handle already");
			status = DOCA_ERROR_INVALID_VALUE;
		}
		e->is_listed = true;
	}
	while (seen--)
		exported(qps[seen])->is_listed = false;
	return status;
}

static doca_error_t copy_handles(struct doca_gpu *gpu, struct doca_gpu_verbs_qp **qps,
				 unsigned int count, struct doca_gpu_dev_verbs_qp *dev)
{
	struct doca_gpu_dev_verbs_qp *images = calloc(count, sizeof(*images));
	doca_error_t status;

	if (!images)
		return DOCA_ERROR_NO_MEMORY;
	for (unsigned int i = 0; i < count; i++)
		images[i] = *qps[i]->qp_cpu;
	status = gpu->mem.ops->copy(&gpu->mem, dev, images, count * sizeof(*images));
	free(images);
	return status;
}

doca_error_t doca_gpu_verbs_export_multi_qps_dev(struct doca_gpu *gpu_dev,
						 struct doca_gpu_verbs_qp **qps,
						 unsigned int num_qps,
						 struct doca_gpu_dev_verbs_qp **out_qp_gpus)
{
	struct doca_gpu_dev_verbs_qp *dev, *cpu;
	bool needs_cpu = false;
	doca_error_t status;

	status = out_qp_gpus ? check_list(gpu_dev, qps, num_qps) : DOCA_ERROR_INVALID_VALUE;
	if (status != DOCA_SUCCESS)
		return status;
	status = check_new(qps, num_qps);
	if (status != DOCA_SUCCESS)
		return status;
	for (unsigned int i = 0; i < num_qps; i++)
		needs_cpu |= exported(qps[i])->proxy == PROXY_RECORD;
	status = alloc_handles(gpu_dev, num_qps, needs_cpu, &dev, &cpu);
	if (status != DOCA_SUCCESS)
		return status;
	status = copy_handles(gpu_dev, qps, num_qps, dev);
	if (status != DOCA_SUCCESS) {
		doca_gpu_mem_free(gpu_dev, dev);
		return status;
	}
	for (unsigned int i = 0; i < num_qps; i++)
		attach(exported(qps[i]), &dev[i], cpu ? &cpu[i] : NULL);
	*out_qp_gpus = dev;
	return DOCA_SUCCESS;
}

doca_error_t doca_gpu_verbs_unexport_multi_qps_dev(struct doca_gpu *gpu_dev,
						   struct doca_gpu_verbs_qp **qps,
						   unsigned int num_qps,
						   struct doca_gpu_dev_verbs_qp *qp_gpus)
{
	doca_error_t status = check_list(gpu_dev, qps, num_qps);

	if (status != DOCA_SUCCESS || !qp_gpus)
		return DOCA_ERROR_INVALID_VALUE;
	for (unsigned int i = 0; i < num_qps; i++) {
		if (qps[i]->qp_gpu != &qp_gpus[i]) {
			ENGINE_ERR("QP %u of %u is not element %u of that array", i, num_qps, i);
			return DOCA_ERROR_INVALID_VALUE;
		}
	}
	for (unsigned int i = 0; i < num_qps; i++) {
		/* A step that runs now still reads the array: wait it out. */
		while (atomic_flag_test_and_set_explicit(&exported(qps[i])->is_stepping,
							 memory_order_acquire))
			;
		attach(exported(qps[i]), NULL, NULL);
		atomic_flag_clear_explicit(&exported(qps[i])->is_stepping, memory_order_release);
	}
	return doca_gpu_mem_free(gpu_dev, qp_gpus);
}
