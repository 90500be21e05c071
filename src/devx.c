/* SPDX-License-Identifier: BSD-3-Clause */
#include "devx.h"

#include <errno.h>
#include <string.h>

#include "log.h"
#include "prm/prm.h"

doca_error_t rdma_failed_at(int level, const char *what, int error)
{
	char text[128] = "";

	ENGINE_LOG(level, "%s: %s (errno %d)", what, strerror_r(error, text, sizeof(text)), error);
	return error == ENOMEM ? DOCA_ERROR_NO_MEMORY : DOCA_ERROR_DRIVER;
}

doca_error_t rdma_failed(const char *what, int error)
{
	return rdma_failed_at(LOG_ERR, what, error);
}

/* rdma-core returns 0, a positive errno, or a negative one; some functions only set errno. */
static doca_error_t command_failed(const char *what, int rc, const void *out)
{
	int error = rc > 0 ? rc : rc < -1 ? -rc : errno;

	if (PRM_GET(cmd_out, out, status))
		ENGINE_ERR("%s: firmware status 0x%x, syndrome 0x%x", what,
			   PRM_GET(cmd_out, out, status), PRM_GET(cmd_out, out, syndrome));
	return rdma_failed(what, error);
}

doca_error_t devx_create(struct ibv_context *context, const char *what, const void *in,
			 size_t in_size, void *out, size_t out_size, struct mlx5dv_devx_obj **obj)
{
	const struct rdma_ops *rdma = rdma_get();

	if (!rdma)
		return DOCA_ERROR_NOT_FOUND;
	*obj = rdma->obj_create(context, in, in_size, out, out_size);
	return *obj ? DOCA_SUCCESS : command_failed(what, -1, out);
}

doca_error_t devx_modify(struct mlx5dv_devx_obj *obj, const char *what, const void *in,
			 size_t in_size)
{
	const struct rdma_ops *rdma = rdma_get();
	uint8_t out[PRM_cmd_out_SIZE] = {0};
	int rc;

	if (!rdma)
		return DOCA_ERROR_NOT_FOUND;
	rc = rdma->obj_modify(obj, in, in_size, out, sizeof(out));
	return rc ? command_failed(what, rc, out) : DOCA_SUCCESS;
}

doca_error_t devx_query(struct mlx5dv_devx_obj *obj, const char *what, const void *in,
			size_t in_size, void *out, size_t out_size)
{
	const struct rdma_ops *rdma = rdma_get();
	int rc;

	if (!rdma)
		return DOCA_ERROR_NOT_FOUND;
	rc = rdma->obj_query(obj, in, in_size, out, out_size);
	return rc ? command_failed(what, rc, out) : DOCA_SUCCESS;
}

doca_error_t devx_general(struct ibv_context *context, const char *what, const void *in,
			  size_t in_size, void *out, size_t out_size)
{
	const struct rdma_ops *rdma = rdma_get();
	int rc;

	if (!rdma)
		return DOCA_ERROR_NOT_FOUND;
	rc = rdma->general_cmd(context, in, in_size, out, out_size);
	return rc ? command_failed(what, rc, out) : DOCA_SUCCESS;
}

doca_error_t devx_destroy(struct mlx5dv_devx_obj *obj, const char *what)
{
	const struct rdma_ops *rdma = rdma_get();
	int rc;

	if (!rdma)
		return DOCA_ERROR_NOT_FOUND;
	rc = rdma->obj_destroy(obj);
	return rc ? rdma_failed(what, rc > 0 ? rc : errno) : DOCA_SUCCESS;
}
