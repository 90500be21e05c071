/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rdma-core, loaded when first needed: the library links neither libibverbs nor libmlx5, so a
 * program without RDMA can carry it. Types come from rdma-core's headers; every call goes through
 * one table.
 */
#ifndef GDAKIT_RDMA_H
#define GDAKIT_RDMA_H

#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>

#include "host/doca_error.h"

enum rdma_library { RDMA_LIBIBVERBS, RDMA_LIBMLX5, RDMA_LIBRARIES };

/* X(library, required, return type, member, symbol, arguments) */
#define RDMA_SYMBOLS(X)                                                                            \
	X(RDMA_LIBIBVERBS, true, int, query_device, ibv_query_device,                              \
	  (struct ibv_context *, struct ibv_device_attr *))                                        \
	X(RDMA_LIBIBVERBS, true, struct ibv_ah *, create_ah, ibv_create_ah,                        \
	  (struct ibv_pd *, struct ibv_ah_attr *))                                                 \
	X(RDMA_LIBIBVERBS, true, int, destroy_ah, ibv_destroy_ah, (struct ibv_ah *))               \
	X(RDMA_LIBMLX5, true, int, init_obj, mlx5dv_init_obj, (struct mlx5dv_obj *, uint64_t))     \
	X(RDMA_LIBMLX5, true, struct mlx5dv_devx_obj *, obj_create, mlx5dv_devx_obj_create,        \
	  (struct ibv_context *, const void *, size_t, void *, size_t))                            \
	X(RDMA_LIBMLX5, true, int, obj_destroy, mlx5dv_devx_obj_destroy,                           \
	  (struct mlx5dv_devx_obj *))                                                              \
	X(RDMA_LIBMLX5, true, int, obj_modify, mlx5dv_devx_obj_modify,                             \
	  (struct mlx5dv_devx_obj *, const void *, size_t, void *, size_t))                        \
	X(RDMA_LIBMLX5, true, int, obj_query, mlx5dv_devx_obj_query,                               \
	  (struct mlx5dv_devx_obj *, const void *, size_t, void *, size_t))                        \
	X(RDMA_LIBMLX5, true, int, general_cmd, mlx5dv_devx_general_cmd,                           \
	  (struct ibv_context *, const void *, size_t, void *, size_t))                            \
	X(RDMA_LIBMLX5, true, int, query_eqn, mlx5dv_devx_query_eqn,                               \
	  (struct ibv_context *, uint32_t, uint32_t *))                                            \
	X(RDMA_LIBMLX5, true, struct mlx5dv_devx_umem *, umem_reg, mlx5dv_devx_umem_reg,           \
	  (struct ibv_context *, void *, size_t, uint32_t))                                        \
	X(RDMA_LIBMLX5, false, struct mlx5dv_devx_umem *, umem_reg_ex, mlx5dv_devx_umem_reg_ex,    \
	  (struct ibv_context *, struct mlx5dv_devx_umem_in *))                                    \
	X(RDMA_LIBMLX5, true, int, umem_dereg, mlx5dv_devx_umem_dereg,                             \
	  (struct mlx5dv_devx_umem *))                                                             \
	X(RDMA_LIBMLX5, true, struct mlx5dv_devx_uar *, alloc_uar, mlx5dv_devx_alloc_uar,          \
	  (struct ibv_context *, uint32_t))                                                        \
	X(RDMA_LIBMLX5, true, void, free_uar, mlx5dv_devx_free_uar, (struct mlx5dv_devx_uar *))

#define RDMA_MEMBER_(library, required, ret, member, symbol, args) ret(*member) args;
struct rdma_ops {
	RDMA_SYMBOLS(RDMA_MEMBER_)
};

/*
 * The table, loaded once per process and never unloaded. NULL if a library or a required symbol is
 * missing; the log (always printed) names it. umem_reg_ex may be NULL. Thread-safe.
 */
const struct rdma_ops *rdma_get(void);

/* Tests put their own table in place of rdma-core, or take it away again with NULL. */
void rdma_inject(const struct rdma_ops *ops);

#endif
