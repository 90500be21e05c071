/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory and doorbell pages of queues: UMEM, UAR, and what queues make of them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "devx.h"
#include "host/mlx5_prm.h"
#include "log.h"
#include "prm/enums.h"
#include "util.h"
#include "verbs.h"

/* ---- UMEM ---- */

static struct mlx5dv_devx_umem *register_umem(const struct rdma_ops *rdma,
					      struct ibv_context *context, void *address,
					      size_t size, uint32_t access, int dmabuf,
					      size_t dmabuf_offset)
{
	struct mlx5dv_devx_umem_in in = {
		.addr = address,
		.size = size,
		.access = access,
		.pgsz_bitmap = host_page_size(),
		.dmabuf_fd = -1,
	};

	if (!rdma->umem_reg_ex)
		return rdma->umem_reg(context, address, size, access);
	if (dmabuf >= 0) {
		in.addr = (void *)dmabuf_offset; /* with a dma-buf, addr counts from its start */
		in.comp_mask = MLX5DV_UMEM_MASK_DMABUF;
		in.dmabuf_fd = dmabuf;
	}
	return rdma->umem_reg_ex(context, &in);
}

doca_error_t doca_verbs_umem_create(struct ibv_context *context, void *address, size_t size,
				    uint32_t access_flags, int dmabuf_id, size_t dmabuf_offset,
				    struct doca_verbs_umem **umem_obj)
{
	const struct rdma_ops *rdma;
	struct doca_verbs_umem *umem;

	if (!context || !address || !size || !umem_obj) {
		ENGINE_ERR("umem: context %p, address %p, size %zu: none may be 0", (void *)context,
			   address, size);
		return DOCA_ERROR_INVALID_VALUE;
	}
	if (size - 1 > UINTPTR_MAX - (uintptr_t)address || dmabuf_id < -1) {
		ENGINE_ERR("umem: %zu bytes at %p with dma-buf %d: expected an end within the "
			   "address space, and a descriptor or -1",
			   size, address, dmabuf_id);
		return DOCA_ERROR_INVALID_VALUE;
	}
	rdma = rdma_get();
	if (!rdma)
		return DOCA_ERROR_NOT_FOUND;
	if (dmabuf_id >= 0 && !rdma->umem_reg_ex) {
		ENGINE_ERR("this rdma-core cannot register a dma-buf (no mlx5dv_devx_umem_reg_ex)");
		return DOCA_ERROR_NOT_SUPPORTED;
	}
	umem = calloc(1, sizeof(*umem));
	if (!umem)
		return DOCA_ERROR_NO_MEMORY;
	umem->devx =
		register_umem(rdma, context, address, size, access_flags, dmabuf_id, dmabuf_offset);
	if (!umem->devx) {
		doca_error_t status = rdma_failed("mlx5dv_devx_umem_reg", errno);

		free(umem);
		return status;
	}
	umem->address = address;
	umem->size = size;
	*umem_obj = umem;
	return DOCA_SUCCESS;
}

doca_error_t doca_verbs_umem_destroy(struct doca_verbs_umem *umem_obj)
{
	const struct rdma_ops *rdma = rdma_get();
	int rc;

	if (!umem_obj)
		return DOCA_ERROR_INVALID_VALUE;
	if (!rdma)
		return DOCA_ERROR_NOT_FOUND;
	rc = rdma->umem_dereg(umem_obj->devx);
	if (rc)
		return rdma_failed("mlx5dv_devx_umem_dereg", rc > 0 ? rc : errno);
	free(umem_obj);
	return DOCA_SUCCESS;
}

doca_error_t doca_verbs_umem_get_id(const struct doca_verbs_umem *umem_obj, uint32_t *umem_id)
{
	if (!umem_obj || !umem_id)
		return DOCA_ERROR_INVALID_VALUE;
	*umem_id = umem_obj->devx->umem_id;
	return DOCA_SUCCESS;
}

doca_error_t doca_verbs_umem_get_size(const struct doca_verbs_umem *umem_obj, size_t *umem_size)
{
	if (!umem_obj || !umem_size)
		return DOCA_ERROR_INVALID_VALUE;
	*umem_size = umem_obj->size;
	return DOCA_SUCCESS;
}

doca_error_t doca_verbs_umem_get_address(const struct doca_verbs_umem *umem_obj,
					 void **umem_address)
{
	if (!umem_obj || !umem_address)
		return DOCA_ERROR_INVALID_VALUE;
	*umem_address = umem_obj->address;
	return DOCA_SUCCESS;
}

/* ---- UAR ---- */

static const uint32_t uar_flags[] = {
	[DOCA_VERBS_UAR_ALLOCATION_TYPE_BLUEFLAME] = MLX5DV_UAR_ALLOC_TYPE_BF,
	[DOCA_VERBS_UAR_ALLOCATION_TYPE_NONCACHE] = MLX5DV_UAR_ALLOC_TYPE_NC,
	[DOCA_VERBS_UAR_ALLOCATION_TYPE_NONCACHE_DEDICATED] = MLX5DV_UAR_ALLOC_TYPE_NC_DEDICATED,
};

/* The first of count types that can be had; only the last failure is told loudly. */
static doca_error_t create_uar(struct ibv_context *context,
			       const enum doca_verbs_uar_allocation_type *types, size_t count,
			       struct doca_verbs_uar **uar_obj)
{
	const struct rdma_ops *rdma = rdma_get();
	doca_error_t status = DOCA_ERROR_INVALID_VALUE;
	struct doca_verbs_uar *uar;

	if (!rdma)
		return DOCA_ERROR_NOT_FOUND;
	uar = calloc(1, sizeof(*uar));
	if (!uar)
		return DOCA_ERROR_NO_MEMORY;
	for (size_t i = 0; i < count; i++) {
		uar->type = types[i];
		uar->devx = rdma->alloc_uar(context, uar_flags[types[i]]);
		if (uar->devx) {
			*uar_obj = uar;
			return DOCA_SUCCESS;
		}
		status = rdma_failed_at(i + 1 < count ? LOG_INFO : LOG_ERR, "mlx5dv_devx_alloc_uar",
					errno);
	}
	free(uar);
	return status;
}

doca_error_t doca_verbs_uar_create(struct ibv_context *context,
				   enum doca_verbs_uar_allocation_type allocation_type,
				   struct doca_verbs_uar **uar_obj)
{
	if (!context || !uar_obj ||
	    (size_t)allocation_type >= sizeof(uar_flags) / sizeof(uar_flags[0])) {
		ENGINE_ERR("uar: context %p, type %d", (void *)context, (int)allocation_type);
		return DOCA_ERROR_INVALID_VALUE;
	}
	return create_uar(context, &allocation_type, 1, uar_obj);
}

doca_error_t doca_verbs_uar_destroy(struct doca_verbs_uar *uar_obj)
{
	const struct rdma_ops *rdma = rdma_get();

	if (!uar_obj)
		return DOCA_ERROR_INVALID_VALUE;
	if (!rdma)
		return DOCA_ERROR_NOT_FOUND;
	rdma->free_uar(uar_obj->devx);
	free(uar_obj);
	return DOCA_SUCCESS;
}

doca_error_t doca_verbs_uar_id_get(const struct doca_verbs_uar *uar, uint32_t *id)
{
	if (!uar || !id)
		return DOCA_ERROR_INVALID_VALUE;
	*id = uar->devx->page_id;
	return DOCA_SUCCESS;
}

doca_error_t doca_verbs_uar_reg_addr_get(const struct doca_verbs_uar *uar_obj, void **reg_addr)
{
	if (!uar_obj || !reg_addr)
		return DOCA_ERROR_INVALID_VALUE;
	*reg_addr = uar_obj->devx->reg_addr;
	return DOCA_SUCCESS;
}

doca_error_t doca_verbs_uar_dbr_less_addr_get(const struct doca_verbs_uar *uar_obj,
					      void **dbr_less_addr)
{
	if (!uar_obj || !dbr_less_addr)
		return DOCA_ERROR_INVALID_VALUE;
	*dbr_less_addr = (uint8_t *)uar_obj->devx->base_addr + PRM_UAR_SQ_NO_DBR;
	return DOCA_SUCCESS;
}

doca_error_t uar_get(struct ibv_context *context, struct doca_verbs_uar *external,
		     const enum doca_verbs_uar_allocation_type order[2],
		     struct doca_verbs_uar **uar, struct doca_verbs_uar **own)
{
	doca_error_t status = DOCA_SUCCESS;

	*own = NULL;
	if (!external)
		status = create_uar(context, order, 2, own);
	*uar = external ? external : *own;
	return status;
}

/* ---- Memory of one queue ---- */

static doca_error_t check_place(const char *what, const struct umem_at *place, size_t bytes,
				size_t alignment)
{
	size_t size = place->umem->size;

	if (place->offset > size || size - place->offset < bytes) {
		ENGINE_ERR("%s: needs %zu bytes at offset %llu, the umem has %zu", what, bytes,
			   (unsigned long long)place->offset, size);
		return DOCA_ERROR_INVALID_VALUE;
	}
	if (place->offset % alignment) {
		ENGINE_ERR("%s: offset %llu is not a multiple of %zu", what,
			   (unsigned long long)place->offset, alignment);
		return DOCA_ERROR_INVALID_VALUE;
	}
	return DOCA_SUCCESS;
}

static doca_error_t use_external(const char *what, const struct umem_at *ring,
				 const struct umem_at *dbr, size_t ring_bytes,
				 struct queue_memory *memory)
{
	doca_error_t status = check_place(what, ring, ring_bytes, CACHE_LINE_SIZE);

	if (status == DOCA_SUCCESS)
		status = check_place(what, dbr, DBR_SIZE, DBR_SIZE);
	if (status != DOCA_SUCCESS)
		return status;
	memory->ring = (uint8_t *)ring->umem->address + ring->offset;
	memory->ring_umem_id = ring->umem->devx->umem_id;
	memory->ring_offset = ring->offset;
	memory->dbr = (uint32_t *)((uint8_t *)dbr->umem->address + dbr->offset);
	memory->dbr_umem_id = dbr->umem->devx->umem_id;
	memory->dbr_offset = dbr->offset;
	return DOCA_SUCCESS;
}

static doca_error_t make_own(struct ibv_context *context, size_t ring_bytes,
			     struct queue_memory *memory)
{
	size_t dbr_offset = align_up(ring_bytes, CACHE_LINE_SIZE), page = host_page_size();
	size_t size = align_up(dbr_offset + DBR_SIZE, page);
	doca_error_t status;

	if (posix_memalign(&memory->own_buffer, page, size)) {
		memory->own_buffer = NULL;
		return DOCA_ERROR_NO_MEMORY;
	}
	memset(memory->own_buffer, 0, size);
	status = doca_verbs_umem_create(context, memory->own_buffer, size, IBV_ACCESS_LOCAL_WRITE,
					-1, 0, &memory->own_umem);
	if (status != DOCA_SUCCESS) {
		free(memory->own_buffer);
		memory->own_buffer = NULL;
		return status;
	}
	memory->ring = memory->own_buffer;
	memory->dbr = (uint32_t *)(memory->ring + dbr_offset);
	memory->ring_umem_id = memory->dbr_umem_id = memory->own_umem->devx->umem_id;
	memory->ring_offset = 0;
	memory->dbr_offset = dbr_offset;
	return DOCA_SUCCESS;
}

doca_error_t queue_memory_get(struct ibv_context *context, const char *what,
			      const struct umem_at *ring, const struct umem_at *dbr,
			      size_t ring_bytes, struct queue_memory *memory)
{
	memset(memory, 0, sizeof(*memory));
	if (!ring->umem != !dbr->umem) {
		ENGINE_ERR("%s: ring and doorbell record must both be external, or neither", what);
		return DOCA_ERROR_INVALID_VALUE;
	}
	if (ring->umem)
		return use_external(what, ring, dbr, ring_bytes, memory);
	return make_own(context, ring_bytes, memory);
}

doca_error_t queue_memory_put(struct queue_memory *memory)
{
	doca_error_t status = DOCA_SUCCESS;

	/* Memory that the NIC may still reach is not given to somebody else. */
	if (memory->own_umem)
		status = doca_verbs_umem_destroy(memory->own_umem);
	if (status != DOCA_SUCCESS)
		return status;
	free(memory->own_buffer);
	memset(memory, 0, sizeof(*memory));
	return DOCA_SUCCESS;
}

doca_error_t queue_drop(struct mlx5dv_devx_obj **devx, const char *what,
			struct queue_memory *memory)
{
	doca_error_t status = *devx ? devx_destroy(*devx, what) : DOCA_SUCCESS;

	if (status != DOCA_SUCCESS)
		return status;
	*devx = NULL;
	return queue_memory_put(memory);
}
