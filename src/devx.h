/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Firmware commands through DevX, with one place that turns a failure into a sentence and an error
 * code. in and out are whole mailboxes; sizes in bytes. what names the command in the log. Errors:
 * NOT_FOUND without rdma-core, NO_MEMORY for ENOMEM, else DRIVER.
 */
#ifndef GDAKIT_DEVX_H
#define GDAKIT_DEVX_H

#include <stddef.h>
#include <stdint.h>

#include "rdma.h"

doca_error_t devx_create(struct ibv_context *context, const char *what, const void *in,
			 size_t in_size, void *out, size_t out_size, struct mlx5dv_devx_obj **obj);
doca_error_t devx_modify(struct mlx5dv_devx_obj *obj, const char *what, const void *in,
			 size_t in_size);
doca_error_t devx_query(struct mlx5dv_devx_obj *obj, const char *what, const void *in,
			size_t in_size, void *out, size_t out_size);
doca_error_t devx_general(struct ibv_context *context, const char *what, const void *in,
			  size_t in_size, void *out, size_t out_size);
doca_error_t devx_destroy(struct mlx5dv_devx_obj *obj, const char *what);

/* The error code for an errno of rdma-core, logged as "what: ..."; as an error unless level says
 * so. */
doca_error_t rdma_failed(const char *what, int error);
doca_error_t rdma_failed_at(int level, const char *what, int error);

#endif
