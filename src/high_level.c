/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * QPs in one call. A struct doca_gpu_verbs_qp_hl is filled step by step, and destroying a
 * half-filled one is how a failure cleans up: every member is either whole or NULL.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/doca_gpunetio_verbs_dev.h"
#include "export.h"
#include "host/doca_gpunetio_high_level.h"
#include "log.h"
#include "prm/enums.h"
#include "util.h"

enum { MAX_SQ_NWQE = 32768 };

_Static_assert(sizeof(struct doca_gpu_verbs_qp_init_attr_hl) == 56, "layout is ABI");
_Static_assert(sizeof(struct doca_gpu_verbs_qp_hl) == 112, "layout is ABI");
_Static_assert(sizeof(struct doca_gpu_verbs_qp_group_hl) == 224, "layout is ABI");

/* What all QPs of one call share. */
struct plan {
	struct doca_gpu *gpu;
	struct ibv_pd *pd;
	uint32_t wqebbs;
	enum doca_gpu_verbs_mem_reg_type reg_type;
	enum doca_gpu_dev_verbs_nic_handler handler; /* resolved: never AUTO */
	enum doca_gpu_verbs_send_dbr_mode_ext ext;
	bool is_collapsed;
};

/* ---- Arguments ---- */

static doca_error_t check_attr(const struct doca_gpu_verbs_qp_init_attr_hl *attr, bool is_group)
{
	bool is_bf = attr->nic_handler == DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_BF;

	if (!attr->gpu_dev || !attr->ibpd || !attr->sq_nwqe || attr->sq_nwqe > MAX_SQ_NWQE) {
		ENGINE_ERR("gpu_dev %p, ibpd %p, sq_nwqe %u: expected both and 1..%d",
			   (void *)attr->gpu_dev, (void *)attr->ibpd, attr->sq_nwqe, MAX_SQ_NWQE);
		return DOCA_ERROR_INVALID_VALUE;
	}
	if (attr->nic_handler != DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO &&
	    attr->nic_handler != DOCA_GPUNETIO_VERBS_NIC_HANDLER_CPU_PROXY &&
	    attr->nic_handler != DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_DB && !is_bf) {
		ENGINE_ERR("nic_handler %d is not one to ask for", (int)attr->nic_handler);
		return DOCA_ERROR_INVALID_VALUE;
	}
	if (is_bf && (is_group ||
		      attr->send_dbr_mode_ext != DOCA_GPUNETIO_VERBS_SEND_DBR_MODE_EXT_VALID_DBR)) {
		ENGINE_ERR("BlueFlame takes one QP per register and a doorbell record");
		return DOCA_ERROR_INVALID_VALUE;
	}
	if ((unsigned int)attr->mreg_type >= DOCA_GPUNETIO_VERBS_MEM_REG_TYPE_MAX ||
	    (unsigned int)attr->send_dbr_mode_ext >
		    DOCA_GPUNETIO_VERBS_SEND_DBR_MODE_EXT_NO_DBR_SW_EMULATED) {
		ENGINE_ERR("mreg_type %d or send_dbr_mode_ext %d is unknown", (int)attr->mreg_type,
			   (int)attr->send_dbr_mode_ext);
		return DOCA_ERROR_INVALID_VALUE;
	}
	if (attr->send_dbr_mode_ext == DOCA_GPUNETIO_VERBS_SEND_DBR_MODE_EXT_NO_DBR_SW_EMULATED &&
	    !attr->gpu_dev->mem.can_map_cpu) {
		ENGINE_ERR("mode NO_DBR_SW_EMULATED needs GDRCopy");
		return DOCA_ERROR_NOT_SUPPORTED;
	}
	return DOCA_SUCCESS;
}

/* The proxy keeps the doorbell record, so it must lie where the CPU can write it. */
static bool has_host_record(enum doca_gpu_dev_verbs_nic_handler handler,
			    enum doca_gpu_verbs_send_dbr_mode_ext ext)
{
	return handler == DOCA_GPUNETIO_VERBS_NIC_HANDLER_CPU_PROXY ||
	       ext == DOCA_GPUNETIO_VERBS_SEND_DBR_MODE_EXT_NO_DBR_SW_EMULATED;
}

static doca_error_t make_plan(const struct doca_gpu_verbs_qp_init_attr_hl *attr,
			      struct doca_verbs_uar *uar, struct plan *plan)
{
	doca_error_t status;
	bool can_map;

	*plan = (struct plan){
		.gpu = attr->gpu_dev,
		.pd = attr->ibpd,
		.wqebbs = attr->sq_nwqe,
		.reg_type = attr->mreg_type,
		.handler = attr->nic_handler,
		.ext = attr->send_dbr_mode_ext,
		.is_collapsed = attr->cq_collapsed,
	};
	if (plan->handler == DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO) {
		status = uar_can_map(&plan->gpu->mem, uar->devx->reg_addr, &can_map);
		if (status != DOCA_SUCCESS)
			return status;
		plan->handler = can_map ? DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_DB
					: DOCA_GPUNETIO_VERBS_NIC_HANDLER_CPU_PROXY;
	}
	if (plan->handler == DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_DB &&
	    plan->ext != DOCA_GPUNETIO_VERBS_SEND_DBR_MODE_EXT_VALID_DBR)
		plan->handler = DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_NO_DBR;
	return DOCA_SUCCESS;
}

/* ---- Memory ---- */

static doca_error_t register_dmabuf(const struct plan *plan, void *ptr, size_t size,
				    struct doca_verbs_umem **umem)
{
	doca_error_t status;
	int fd = -1;

	status = doca_gpu_dmabuf_fd(plan->gpu, ptr, size, &fd);
	if (status != DOCA_SUCCESS)
		return status;
	status = doca_verbs_umem_create(plan->pd->context, ptr, size, IBV_ACCESS_LOCAL_WRITE, fd, 0,
					umem);
	close(fd); /* the registration keeps the memory */
	return status;
}

static doca_error_t register_memory(const struct plan *plan, enum doca_gpu_verbs_mem_reg_type type,
				    void *ptr, size_t size, struct doca_verbs_umem **umem)
{
	doca_error_t status;

	if (type != DOCA_GPUNETIO_VERBS_MEM_REG_TYPE_CUDA_PEERMEM) {
		status = register_dmabuf(plan, ptr, size, umem);
		if (status == DOCA_SUCCESS || type == DOCA_GPUNETIO_VERBS_MEM_REG_TYPE_CUDA_DMABUF)
			return status;
		ENGINE_INFO("no dma-buf for GPU memory: registering its address");
	}
	return doca_verbs_umem_create(plan->pd->context, ptr, size, IBV_ACCESS_LOCAL_WRITE, -1, 0,
				      umem);
}

/* Zeroed, registered memory of size bytes (whole pages) into *ptr and *umem. */
static doca_error_t get_memory(const struct plan *plan, bool is_host, size_t size, void **ptr,
			       struct doca_verbs_umem **umem)
{
	enum doca_gpu_verbs_mem_reg_type type = plan->reg_type;
	size_t page = host_page_size();
	struct gpu_mem *mem = &plan->gpu->mem;
	doca_error_t status;

	size = align_up(size, page);
	if (is_host) {
		type = DOCA_GPUNETIO_VERBS_MEM_REG_TYPE_CUDA_PEERMEM;
		if (posix_memalign(ptr, page, size)) {
			*ptr = NULL;
			return DOCA_ERROR_NO_MEMORY;
		}
		memset(*ptr, 0, size);
	} else {
		status =
			doca_gpu_mem_alloc(plan->gpu, size, page, DOCA_GPU_MEM_TYPE_GPU, ptr, NULL);
		if (status != DOCA_SUCCESS)
			return status;
		status = mem->ops->fill(mem, *ptr, 0, size);
		if (status != DOCA_SUCCESS)
			return status;
	}
	return register_memory(plan, type, *ptr, size, umem);
}

/* Gives memory back, umem first; stops where the umem stays registered. */
static doca_error_t put_memory(struct doca_gpu *gpu, bool is_host, void **ptr,
			       struct doca_verbs_umem **umem)
{
	doca_error_t status;

	if (*umem) {
		status = doca_verbs_umem_destroy(*umem);
		if (status != DOCA_SUCCESS)
			return status;
		*umem = NULL;
	}
	if (*ptr && is_host)
		free(*ptr);
	else if (*ptr)
		doca_gpu_mem_free(gpu, *ptr);
	*ptr = NULL;
	return DOCA_SUCCESS;
}

/* ---- One QP ---- */

static doca_error_t create_uar(struct ibv_context *context,
			       enum doca_gpu_dev_verbs_nic_handler handler,
			       struct doca_verbs_uar **uar)
{
	static const enum doca_verbs_uar_allocation_type blueflame[2] = {
		DOCA_VERBS_UAR_ALLOCATION_TYPE_BLUEFLAME, DOCA_VERBS_UAR_ALLOCATION_TYPE_BLUEFLAME};
	static const enum doca_verbs_uar_allocation_type noncached[2] = {
		DOCA_VERBS_UAR_ALLOCATION_TYPE_NONCACHE_DEDICATED,
		DOCA_VERBS_UAR_ALLOCATION_TYPE_NONCACHE};
	bool is_bf = handler == DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_BF;
	struct doca_verbs_uar *used;

	return uar_get(context, NULL, is_bf ? blueflame : noncached, &used, uar);
}

static doca_error_t fill_new_cq(const struct plan *plan, void *gpu_ring)
{
	size_t bytes = (size_t)plan->wqebbs * PRM_CQE_SIZE;
	struct gpu_mem *mem = &plan->gpu->mem;
	void *image = malloc(bytes);
	doca_error_t status;

	if (!image)
		return DOCA_ERROR_NO_MEMORY;
	cq_init_ring(image, plan->wqebbs);
	status = mem->ops->copy(mem, gpu_ring, image, bytes);
	free(image);
	return status;
}

static doca_error_t create_cq(const struct plan *plan, struct doca_gpu_verbs_qp_hl *hl)
{
	struct doca_verbs_cq_attr attr = {
		.cq_size = plan->wqebbs, /* a CQE for every WQE that can be open */
		.external_uar = hl->external_uar,
		.cq_overrun = DOCA_VERBS_CQ_ENABLE_OVERRUN, /* kernels never tell the NIC what they
							       read */
		.cq_collapsed = plan->is_collapsed,
	};
	doca_error_t status;

	status = get_memory(plan, false, (size_t)plan->wqebbs * PRM_CQE_SIZE,
			    &hl->cq_sq_umem_gpu_ptr, &hl->cq_sq_umem);
	if (status == DOCA_SUCCESS)
		status = fill_new_cq(plan, hl->cq_sq_umem_gpu_ptr);
	if (status == DOCA_SUCCESS)
		status = get_memory(plan, false, DBR_SIZE, &hl->cq_sq_umem_dbr_gpu_ptr,
				    &hl->cq_sq_umem_dbr);
	if (status != DOCA_SUCCESS)
		return status;
	attr.ring.umem = hl->cq_sq_umem;
	attr.dbr.umem = hl->cq_sq_umem_dbr;
	return doca_verbs_cq_create(plan->pd->context, &attr, &hl->cq_sq);
}

static doca_error_t create_qp(const struct plan *plan, bool is_master,
			      struct doca_gpu_verbs_qp_hl *hl)
{
	struct doca_verbs_qp_init_attr attr = {
		.pd = plan->pd,
		.send_cq = hl->cq_sq,
		.sq_wr = plan->wqebbs,
		.send_max_sges = 1, /* so a WQE is one block and sq_wr blocks are enough */
		.receive_max_sges = 1,
		.external_uar = hl->external_uar,
		.core_direct_master = is_master,
		.send_dbr_mode = plan->ext == DOCA_GPUNETIO_VERBS_SEND_DBR_MODE_EXT_NO_DBR_HW
					 ? DOCA_VERBS_QP_SEND_DBR_MODE_NO_DBR_EXT
					 : DOCA_VERBS_QP_SEND_DBR_MODE_DBR_VALID,
	};
	doca_error_t status;

	status = get_memory(plan, false, (size_t)plan->wqebbs * PRM_WQEBB_SIZE,
			    &hl->qp_umem_gpu_ptr, &hl->qp_umem);
	if (status == DOCA_SUCCESS)
		status = get_memory(plan, has_host_record(plan->handler, plan->ext), DBR_SIZE,
				    &hl->qp_umem_dbr_gpu_ptr, &hl->qp_umem_dbr);
	if (status != DOCA_SUCCESS)
		return status;
	attr.ring.umem = hl->qp_umem;
	attr.dbr.umem = hl->qp_umem_dbr;
	return doca_verbs_qp_create(plan->pd->context, &attr, &hl->qp);
}

/* hl->external_uar is set; the rest is made here. On failure hl holds what there is. */
static doca_error_t create_one(const struct plan *plan, bool is_master,
			       struct doca_gpu_verbs_qp_hl *hl)
{
	doca_error_t status;

	hl->gpu_dev = plan->gpu;
	hl->nic_handler = plan->handler;
	hl->send_dbr_mode_ext = plan->ext;
	status = create_cq(plan, hl);
	if (status == DOCA_SUCCESS)
		status = create_qp(plan, is_master, hl);
	if (status == DOCA_SUCCESS)
		status = doca_gpu_verbs_export_qp(plan->gpu, hl->qp, plan->handler,
						  hl->qp_umem_gpu_ptr, hl->cq_sq, plan->ext,
						  &hl->qp_gverbs);
	return status;
}

/* All but the UAR. What is gone is NULL, so a second call goes on where the first one stopped. */
static doca_error_t destroy_one(struct doca_gpu_verbs_qp_hl *hl)
{
	doca_error_t status = DOCA_SUCCESS;

	if (hl->qp_gverbs)
		doca_gpu_verbs_unexport_qp(hl->gpu_dev, hl->qp_gverbs);
	hl->qp_gverbs = NULL;
	/* Memory of a queue that the NIC still has must stay. */
	if (hl->qp)
		status = doca_verbs_qp_destroy(hl->qp);
	if (status != DOCA_SUCCESS)
		return status;
	hl->qp = NULL;
	if (hl->cq_sq)
		status = doca_verbs_cq_destroy(hl->cq_sq);
	if (status != DOCA_SUCCESS)
		return status;
	hl->cq_sq = NULL;
	status = put_memory(hl->gpu_dev, false, &hl->qp_umem_gpu_ptr, &hl->qp_umem);
	if (status == DOCA_SUCCESS)
		status = put_memory(hl->gpu_dev,
				    has_host_record(hl->nic_handler, hl->send_dbr_mode_ext),
				    &hl->qp_umem_dbr_gpu_ptr, &hl->qp_umem_dbr);
	if (status == DOCA_SUCCESS)
		status = put_memory(hl->gpu_dev, false, &hl->cq_sq_umem_gpu_ptr, &hl->cq_sq_umem);
	if (status == DOCA_SUCCESS)
		status = put_memory(hl->gpu_dev, false, &hl->cq_sq_umem_dbr_gpu_ptr,
				    &hl->cq_sq_umem_dbr);
	return status;
}

/* ---- Calls ---- */

doca_error_t doca_gpu_verbs_create_qp_hl(struct doca_gpu_verbs_qp_init_attr_hl *qp_init_attr,
					 struct doca_gpu_verbs_qp_hl **qp)
{
	struct doca_gpu_verbs_qp_hl *hl;
	doca_error_t status;
	struct plan plan;

	if (!qp_init_attr || !qp)
		return DOCA_ERROR_INVALID_VALUE;
	status = check_attr(qp_init_attr, false);
	if (status != DOCA_SUCCESS)
		return status;
	qp_init_attr->sq_nwqe = (uint16_t)pow2_at_least(qp_init_attr->sq_nwqe);
	hl = calloc(1, sizeof(*hl));
	if (!hl)
		return DOCA_ERROR_NO_MEMORY;
	status = create_uar(qp_init_attr->ibpd->context, qp_init_attr->nic_handler,
			    &hl->external_uar);
	if (status == DOCA_SUCCESS)
		status = make_plan(qp_init_attr, hl->external_uar, &plan);
	if (status == DOCA_SUCCESS)
		status = create_one(&plan, false, hl);
	if (status != DOCA_SUCCESS) {
		if (hl->gpu_dev && destroy_one(hl) != DOCA_SUCCESS)
			return status; /* the NIC still has a queue: leave it its memory */
		if (hl->external_uar)
			doca_verbs_uar_destroy(hl->external_uar);
		free(hl);
		return status;
	}
	*qp = hl;
	return DOCA_SUCCESS;
}

doca_error_t doca_gpu_verbs_destroy_qp_hl(struct doca_gpu_verbs_qp_hl *qp)
{
	doca_error_t status;

	if (!qp)
		return DOCA_ERROR_INVALID_VALUE;
	status = destroy_one(qp);
	if (status != DOCA_SUCCESS)
		return status;
	doca_verbs_uar_destroy(qp->external_uar);
	free(qp);
	return DOCA_SUCCESS;
}

/* The UAR goes last: both queues ring it. */
static doca_error_t destroy_group(struct doca_gpu_verbs_qp_group_hl *group)
{
	struct doca_verbs_uar *uar = group->qp_main.external_uar;
	doca_error_t status = DOCA_SUCCESS;

	if (group->qp_main.gpu_dev)
		status = destroy_one(&group->qp_main);
	if (status == DOCA_SUCCESS && group->qp_companion.gpu_dev)
		status = destroy_one(&group->qp_companion);
	if (status != DOCA_SUCCESS)
		return status;
	if (uar)
		doca_verbs_uar_destroy(uar);
	free(group);
	return DOCA_SUCCESS;
}

doca_error_t doca_gpu_verbs_create_qp_group_hl(struct doca_gpu_verbs_qp_init_attr_hl *qp_init_attr,
					       struct doca_gpu_verbs_qp_group_hl **qpg)
{
	struct doca_gpu_verbs_qp_group_hl *group;
	struct doca_verbs_uar *uar = NULL;
	doca_error_t status;
	struct plan plan;

	if (!qp_init_attr || !qpg)
		return DOCA_ERROR_INVALID_VALUE;
	status = check_attr(qp_init_attr, true);
	if (status != DOCA_SUCCESS)
		return status;
	qp_init_attr->sq_nwqe = (uint16_t)pow2_at_least(qp_init_attr->sq_nwqe);
	group = calloc(1, sizeof(*group));
	if (!group)
		return DOCA_ERROR_NO_MEMORY;
	status = create_uar(qp_init_attr->ibpd->context, qp_init_attr->nic_handler, &uar);
	group->qp_main.external_uar = group->qp_companion.external_uar = uar;
	if (status == DOCA_SUCCESS)
		status = make_plan(qp_init_attr, uar, &plan);
	if (status == DOCA_SUCCESS)
		status = create_one(&plan, false, &group->qp_main);
	if (status == DOCA_SUCCESS)
		status = create_one(&plan, true, &group->qp_companion);
	if (status != DOCA_SUCCESS) {
		destroy_group(group); /* what cannot go stays with the NIC */
		return status;
	}
	*qpg = group;
	return DOCA_SUCCESS;
}

doca_error_t doca_gpu_verbs_destroy_qp_group_hl(struct doca_gpu_verbs_qp_group_hl *qpg)
{
	return qpg ? destroy_group(qpg) : DOCA_ERROR_INVALID_VALUE;
}

/* ---- Flat lists ---- */

/* Destroy gets an address only, so the GPU of each list is remembered here. */
struct flat_list {
	struct flat_list *next;
	struct doca_gpu *gpu;
	struct doca_gpu_dev_verbs_qp *handles;
};

static pthread_mutex_t lists_lock = PTHREAD_MUTEX_INITIALIZER;
static struct flat_list *lists;

static doca_error_t check_list(struct doca_gpu_verbs_qp_hl **list, uint32_t count)
{
	if (!list || !count)
		return DOCA_ERROR_INVALID_VALUE;
	for (uint32_t i = 0; i < count; i++) {
		if (!list[i] || !list[i]->qp_gverbs || list[i]->gpu_dev != list[0]->gpu_dev) {
			ENGINE_ERR("QP %u of %u is NULL or of another GPU", i, count);
			return DOCA_ERROR_INVALID_VALUE;
		}
		if (exported(list[i]->qp_gverbs)->proxy == PROXY_RECORD) {
			ENGINE_ERR("QP %u of %u: its proxy cannot follow a copy of its handle", i,
				   count);
			return DOCA_ERROR_NOT_SUPPORTED;
		}
	}
	return DOCA_SUCCESS;
}

static doca_error_t fill_list(struct flat_list *flat, struct doca_gpu_verbs_qp_hl **list,
			      uint32_t count)
{
	struct doca_gpu_dev_verbs_qp *images = calloc(count, sizeof(*images));
	struct gpu_mem *mem = &flat->gpu->mem;
	doca_error_t status;

	if (!images)
		return DOCA_ERROR_NO_MEMORY;
	for (uint32_t i = 0; i < count; i++)
		images[i] = *list[i]->qp_gverbs->qp_cpu;
	status = mem->ops->copy(mem, flat->handles, images, count * sizeof(*images));
	free(images);
	return status;
}

doca_error_t doca_gpu_verbs_qp_flat_list_create_hl(struct doca_gpu_verbs_qp_hl **qp_list,
						   uint32_t num_elems,
						   struct doca_gpu_dev_verbs_qp **qp_gpu)
{
	struct flat_list *flat;
	doca_error_t status;

	status = qp_gpu ? check_list(qp_list, num_elems) : DOCA_ERROR_INVALID_VALUE;
	if (status != DOCA_SUCCESS)
		return status;
	flat = calloc(1, sizeof(*flat));
	if (!flat)
		return DOCA_ERROR_NO_MEMORY;
	flat->gpu = qp_list[0]->gpu_dev;
	status = doca_gpu_mem_alloc(flat->gpu, num_elems * sizeof(*flat->handles), 0,
				    DOCA_GPU_MEM_TYPE_GPU, (void **)&flat->handles, NULL);
	if (status == DOCA_SUCCESS) {
		status = fill_list(flat, qp_list, num_elems);
		if (status != DOCA_SUCCESS)
			doca_gpu_mem_free(flat->gpu, flat->handles);
	}
	if (status != DOCA_SUCCESS) {
		free(flat);
		return status;
	}
	pthread_mutex_lock(&lists_lock);
	flat->next = lists;
	lists = flat;
	pthread_mutex_unlock(&lists_lock);
	*qp_gpu = flat->handles;
	return DOCA_SUCCESS;
}

doca_error_t doca_gpu_verbs_qp_flat_list_destroy_hl(struct doca_gpu_dev_verbs_qp *qp_gpu)
{
	struct flat_list **link, *flat;
	doca_error_t status;

	if (!qp_gpu)
		return DOCA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&lists_lock);
	for (link = &lists; *link && (*link)->handles != qp_gpu; link = &(*link)->next)
		;
	flat = *link;
	if (flat)
		*link = flat->next;
	pthread_mutex_unlock(&lists_lock);
	if (!flat) {
		ENGINE_ERR("%p is not a flat list", (void *)qp_gpu);
		return DOCA_ERROR_INVALID_VALUE;
	}
	status = doca_gpu_mem_free(flat->gpu, flat->handles);
	free(flat);
	return status;
}
