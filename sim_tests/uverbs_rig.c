// SPDX-License-Identifier: BSD-3-Clause
#include "sim_tests/uverbs_rig.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

void ur_begin(struct ur_call *c, uint16_t object, uint16_t method)
{
	memset(c, 0, sizeof(*c));
	c->hdr.object_id = object;
	c->hdr.method_id = method;
	c->hdr.driver_id = RDMA_DRIVER_MLX5;
}

static struct ib_uverbs_attr *add(struct ur_call *c, uint16_t id, uint16_t len)
{
	struct ib_uverbs_attr *a = &c->hdr.attrs[c->hdr.num_attrs++];

	cr_assert_leq(c->hdr.num_attrs, UR_MAX_ATTRS);
	a->attr_id = id;
	a->len = len;
	a->flags = UVERBS_ATTR_F_MANDATORY;
	c->hdr.length = (uint16_t)(sizeof(c->hdr) + c->hdr.num_attrs * sizeof(*a));
	return a;
}

void ur_in(struct ur_call *c, uint16_t id, const void *p, uint16_t len)
{
	struct ib_uverbs_attr *a = add(c, id, len);

	if (len <= sizeof(a->data))
		memcpy(&a->data, p, len);
	else
		a->data = (uintptr_t)p;
}

void ur_out(struct ur_call *c, uint16_t id, void *p, uint16_t len)
{
	add(c, id, len)->data = (uintptr_t)p;
}

void ur_handle(struct ur_call *c, uint16_t id, uint32_t handle)
{
	add(c, id, 0)->data = handle;
}

int ur_run(int fd, struct ur_call *c)
{
	c->hdr.length = (uint16_t)(sizeof(c->hdr) + c->hdr.num_attrs * sizeof(c->hdr.attrs[0]));
	return uv_ioctl(fd, c);
}

struct ib_uverbs_attr *ur_attr(struct ur_call *c, uint16_t id)
{
	for (int i = 0; i < c->hdr.num_attrs; i++)
		if (c->hdr.attrs[i].attr_id == id)
			return &c->hdr.attrs[i];
	cr_assert_fail("the call has no attribute 0x%x", id);
	return NULL;
}

int ur_write(int fd, uint32_t cmd, const void *in, uint16_t in_len, void *out, uint16_t out_len,
	     const void *drv, uint16_t drv_len)
{
	const uint64_t wide = cmd;
	struct ur_call c;

	ur_begin(&c, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_INVOKE_WRITE);
	if (in_len)
		ur_in(&c, UVERBS_ATTR_CORE_IN, in, in_len);
	if (out_len)
		ur_out(&c, UVERBS_ATTR_CORE_OUT, out, out_len);
	ur_in(&c, UVERBS_ATTR_WRITE_CMD, &wide, sizeof(wide));
	if (drv_len)
		ur_in(&c, UVERBS_ATTR_UHW_IN, drv, drv_len);
	return ur_run(fd, &c);
}

int ur_hear(void)
{
	FILE *said = tmpfile();
	int before = dup(STDERR_FILENO);

	cr_assert_not_null(said);
	dup2(fileno(said), STDERR_FILENO);
	fclose(said);
	setenv(UV_ENV_VERBOSE, "1", 1);
	return before;
}

const char *ur_heard(int before)
{
	static char text[4096];
	ssize_t n = pread(STDERR_FILENO, text, sizeof(text) - 1, 0);

	text[n > 0 ? n : 0] = '\0';
	dup2(before, STDERR_FILENO);
	close(before);
	return text;
}

int ur_try_context(struct ur_dev *d, uint32_t *vectors, struct mlx5_ib_alloc_ucontext_resp *resp)
{
	struct mlx5_ib_alloc_ucontext_req_v2 req = {.flags = MLX5_IB_ALLOC_UCTX_DEVX,
						    .max_cqe_version = 1,
						    .lib_caps = MLX5_LIB_CAP_4K_UAR |
								MLX5_LIB_CAP_DYN_UAR};
	uint64_t support;
	struct ur_call c;

	setenv(UV_ENV_WIRE, "local", 1);
	d->fd = open(UV_NODE_PATH, O_RDWR | O_CLOEXEC);
	ur_begin(&c, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_GET_CONTEXT);
	ur_out(&c, UVERBS_ATTR_GET_CONTEXT_NUM_COMP_VECTORS, vectors, sizeof(*vectors));
	ur_out(&c, UVERBS_ATTR_GET_CONTEXT_CORE_SUPPORT, &support, sizeof(support));
	ur_in(&c, UVERBS_ATTR_UHW_IN, &req, sizeof(req));
	ur_out(&c, UVERBS_ATTR_UHW_OUT, resp, sizeof(*resp));
	return ur_run(d->fd, &c);
}

void ur_get_context(struct ur_dev *d)
{
	struct mlx5_ib_alloc_ucontext_resp resp = {0};
	uint32_t vectors = 0;

	cr_assert_eq(ur_try_context(d, &vectors, &resp), 0, "GET_CONTEXT");
	cr_assert_eq(vectors, UV_COMP_VECTORS);
	cr_assert_eq(resp.cqe_version, 1);
}

void ur_close(struct ur_dev *d)
{
	uv_closing(d->fd);
	close(d->fd);
}

void ur_open(struct ur_dev *d)
{
	uint64_t offset, type = MLX5_IB_UAPI_UAR_ALLOC_TYPE_NC;
	struct ur_call c;
	uint32_t length;

	ur_get_context(d);
	ur_begin(&c, UVERBS_OBJECT_ASYNC_EVENT, UVERBS_METHOD_ASYNC_EVENT_ALLOC);
	ur_handle(&c, UVERBS_ATTR_ASYNC_EVENT_ALLOC_FD_HANDLE, 0);
	cr_assert_eq(ur_run(d->fd, &c), 0, "ASYNC_EVENT_ALLOC");
	d->async_fd = (int)c.hdr.attrs[0].data_s64;
	ur_begin(&c, MLX5_IB_OBJECT_UAR, MLX5_IB_METHOD_UAR_OBJ_ALLOC);
	ur_handle(&c, MLX5_IB_ATTR_UAR_OBJ_ALLOC_HANDLE, 0);
	ur_in(&c, MLX5_IB_ATTR_UAR_OBJ_ALLOC_TYPE, &type, sizeof(type));
	ur_out(&c, MLX5_IB_ATTR_UAR_OBJ_ALLOC_MMAP_OFFSET, &offset, sizeof(offset));
	ur_out(&c, MLX5_IB_ATTR_UAR_OBJ_ALLOC_MMAP_LENGTH, &length, sizeof(length));
	ur_out(&c, MLX5_IB_ATTR_UAR_OBJ_ALLOC_PAGE_ID, &d->uar, sizeof(d->uar));
	cr_assert_eq(ur_run(d->fd, &c), 0, "UAR_OBJ_ALLOC");
	d->mem = mmap(NULL, UR_MEM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	cr_assert_neq((void *)d->mem, MAP_FAILED);
}

int ur_try_pd(struct ur_dev *d, uint32_t *handle)
{
	struct ib_uverbs_alloc_pd in = {0};
	struct ib_uverbs_alloc_pd_resp out = {.pd_handle = UINT32_MAX};
	int ret = ur_write(d->fd, IB_USER_VERBS_CMD_ALLOC_PD, &in, sizeof(in), &out, sizeof(out),
			   NULL, 0);

	*handle = out.pd_handle;
	return ret;
}

uint32_t ur_pd(struct ur_dev *d)
{
	uint32_t handle;

	cr_assert_eq(ur_try_pd(d, &handle), 0);
	return handle;
}

int ur_pd_destroy(struct ur_dev *d, uint32_t handle)
{
	struct ur_call c;

	ur_begin(&c, UVERBS_OBJECT_PD, UVERBS_METHOD_PD_DESTROY);
	ur_handle(&c, UVERBS_ATTR_DESTROY_PD_HANDLE, handle);
	return ur_run(d->fd, &c);
}

int ur_reg_mr(struct ur_dev *d, uint32_t pd, uint64_t addr, uint64_t len, uint32_t access,
	      struct ib_uverbs_reg_mr_resp *resp)
{
	struct ib_uverbs_reg_mr in = {.start = addr,
				      .length = len,
				      .hca_va = addr,
				      .pd_handle = pd,
				      .access_flags = access};

	return ur_write(d->fd, IB_USER_VERBS_CMD_REG_MR, &in, sizeof(in), resp, sizeof(*resp), NULL,
			0);
}

int ur_channel(struct ur_dev *d)
{
	struct ib_uverbs_create_comp_channel in = {0};
	struct ib_uverbs_create_comp_channel_resp out = {0};

	cr_assert_eq(ur_write(d->fd, IB_USER_VERBS_CMD_CREATE_COMP_CHANNEL, &in, sizeof(in), &out,
			      sizeof(out), NULL, 0),
		     0);
	return (int)out.fd;
}

int ur_cq(struct ur_dev *d, unsigned int slot, uint64_t user_handle, int channel, uint32_t *handle,
	  uint32_t *cqn)
{
	struct mlx5_ib_create_cq drv = {.buf_addr = (uintptr_t)d->mem + slot * 8192,
					.db_addr = (uintptr_t)d->mem + slot * 8192 + 4096,
					.cqe_size = 64,
					.flags = MLX5_IB_CREATE_CQ_FLAGS_UAR_PAGE_INDEX,
					.uar_page_index = (uint16_t)d->uar};
	struct mlx5_ib_create_cq_resp resp = {0};
	uint32_t cqe = 63, vector = 0, got = 0;
	struct ur_call c;
	int ret;

	ur_begin(&c, UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_CREATE);
	ur_handle(&c, UVERBS_ATTR_CREATE_CQ_HANDLE, 0);
	ur_in(&c, UVERBS_ATTR_CREATE_CQ_CQE, &cqe, sizeof(cqe));
	ur_in(&c, UVERBS_ATTR_CREATE_CQ_USER_HANDLE, &user_handle, sizeof(user_handle));
	if (channel >= 0)
		ur_handle(&c, UVERBS_ATTR_CREATE_CQ_COMP_CHANNEL, (uint32_t)channel);
	ur_in(&c, UVERBS_ATTR_CREATE_CQ_COMP_VECTOR, &vector, sizeof(vector));
	ur_out(&c, UVERBS_ATTR_CREATE_CQ_RESP_CQE, &got, sizeof(got));
	ur_in(&c, UVERBS_ATTR_UHW_IN, &drv, sizeof(drv));
	ur_out(&c, UVERBS_ATTR_UHW_OUT, &resp, sizeof(resp));
	ret = ur_run(d->fd, &c);
	if (ret)
		return ret;
	cr_assert_eq(got, 63);
	*handle = (uint32_t)ur_attr(&c, UVERBS_ATTR_CREATE_CQ_HANDLE)->data;
	*cqn = resp.cqn;
	return 0;
}

int ur_cq_destroy(struct ur_dev *d, uint32_t handle, struct ib_uverbs_destroy_cq_resp *resp)
{
	struct ur_call c;

	ur_begin(&c, UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_DESTROY);
	ur_handle(&c, UVERBS_ATTR_DESTROY_CQ_HANDLE, handle);
	ur_out(&c, UVERBS_ATTR_DESTROY_CQ_RESP, resp, sizeof(*resp));
	return ur_run(d->fd, &c);
}

int ur_qp(struct ur_dev *d, uint32_t pd, uint32_t cq, uint64_t user_handle, uint32_t *handle,
	  uint32_t *qpn)
{
	return ur_qp_of(d, IB_UVERBS_QPT_RC, pd, cq, user_handle, handle, qpn);
}

int ur_qp_of(struct ur_dev *d, uint8_t qp_type, uint32_t pd, uint32_t cq, uint64_t user_handle,
	     uint32_t *handle, uint32_t *qpn)
{
	struct mlx5_ib_create_qp drv = {.buf_addr = (uintptr_t)d->mem + 4 * 8192,
					.db_addr = (uintptr_t)d->mem + 4 * 8192 + 4096,
					.sq_wqe_count = 64,
					.flags = MLX5_QP_FLAG_UAR_PAGE_INDEX,
					.bfreg_index = d->uar};
	struct ib_uverbs_qp_cap cap = {.max_send_wr = 64, .max_send_sge = 1}, got;
	uint64_t type = qp_type;
	struct ur_call c;
	int ret;

	ur_begin(&c, UVERBS_OBJECT_QP, UVERBS_METHOD_QP_CREATE);
	ur_handle(&c, UVERBS_ATTR_CREATE_QP_HANDLE, 0);
	ur_handle(&c, UVERBS_ATTR_CREATE_QP_PD_HANDLE, pd);
	ur_handle(&c, UVERBS_ATTR_CREATE_QP_SEND_CQ_HANDLE, cq);
	ur_handle(&c, UVERBS_ATTR_CREATE_QP_RECV_CQ_HANDLE, cq);
	ur_in(&c, UVERBS_ATTR_CREATE_QP_USER_HANDLE, &user_handle, sizeof(user_handle));
	ur_in(&c, UVERBS_ATTR_CREATE_QP_CAP, &cap, sizeof(cap));
	ur_in(&c, UVERBS_ATTR_CREATE_QP_TYPE, &type, sizeof(type));
	ur_out(&c, UVERBS_ATTR_CREATE_QP_RESP_CAP, &got, sizeof(got));
	ur_out(&c, UVERBS_ATTR_CREATE_QP_RESP_QP_NUM, qpn, sizeof(*qpn));
	ur_in(&c, UVERBS_ATTR_UHW_IN, &drv, sizeof(drv));
	ret = ur_run(d->fd, &c);
	if (!ret)
		*handle = (uint32_t)ur_attr(&c, UVERBS_ATTR_CREATE_QP_HANDLE)->data;
	return ret;
}

int ur_umem(struct ur_dev *d, void *addr, uint64_t len, uint32_t *handle, uint32_t *id)
{
	const uint32_t access = IB_UVERBS_ACCESS_LOCAL_WRITE;
	const uint64_t at = (uintptr_t)addr;
	struct ur_call c;
	int ret;

	ur_begin(&c, MLX5_IB_OBJECT_DEVX_UMEM, MLX5_IB_METHOD_DEVX_UMEM_REG);
	ur_handle(&c, MLX5_IB_ATTR_DEVX_UMEM_REG_HANDLE, 0);
	ur_in(&c, MLX5_IB_ATTR_DEVX_UMEM_REG_ADDR, &at, sizeof(at));
	ur_in(&c, MLX5_IB_ATTR_DEVX_UMEM_REG_LEN, &len, sizeof(len));
	ur_in(&c, MLX5_IB_ATTR_DEVX_UMEM_REG_ACCESS, &access, sizeof(access));
	ur_out(&c, MLX5_IB_ATTR_DEVX_UMEM_REG_OUT_ID, id, sizeof(*id));
	ret = ur_run(d->fd, &c);
	if (!ret)
		*handle = (uint32_t)ur_attr(&c, MLX5_IB_ATTR_DEVX_UMEM_REG_HANDLE)->data;
	return ret;
}

int ur_devx_create(struct ur_dev *d, const void *in, size_t in_len, void *out, size_t out_len,
		   uint32_t *handle)
{
	struct ur_call c;
	int ret;

	ur_begin(&c, MLX5_IB_OBJECT_DEVX_OBJ, MLX5_IB_METHOD_DEVX_OBJ_CREATE);
	ur_handle(&c, MLX5_IB_ATTR_DEVX_OBJ_CREATE_HANDLE, 0);
	ur_in(&c, MLX5_IB_ATTR_DEVX_OBJ_CREATE_CMD_IN, in, (uint16_t)in_len);
	ur_out(&c, MLX5_IB_ATTR_DEVX_OBJ_CREATE_CMD_OUT, out, (uint16_t)out_len);
	ret = ur_run(d->fd, &c);
	if (!ret)
		*handle = (uint32_t)ur_attr(&c, MLX5_IB_ATTR_DEVX_OBJ_CREATE_HANDLE)->data;
	return ret;
}

int ur_devx_destroy(struct ur_dev *d, uint32_t handle)
{
	struct ur_call c;

	ur_begin(&c, MLX5_IB_OBJECT_DEVX_OBJ, MLX5_IB_METHOD_DEVX_OBJ_DESTROY);
	ur_handle(&c, MLX5_IB_ATTR_DEVX_OBJ_DESTROY_HANDLE, handle);
	return ur_run(d->fd, &c);
}

int ur_modify_qp(struct ur_dev *d, uint32_t qp, uint32_t dest_qpn, uint8_t to, uint32_t mask)
{
	struct ib_uverbs_modify_qp m = {.qp_handle = qp,
					.qp_state = to,
					.attr_mask = mask | UV_QP_STATE,
					.dest_qp_num = dest_qpn,
					.port_num = 1,
					.path_mtu = 3,
					.max_rd_atomic = 1,
					.max_dest_rd_atomic = 1,
					.min_rnr_timer = 12,
					.timeout = 14,
					.retry_cnt = 7,
					.rnr_retry = 7,
					.qp_access_flags = IB_UVERBS_ACCESS_REMOTE_WRITE};

	m.dest.is_global = 1;
	m.dest.port_num = 1;
	memcpy(m.dest.dgid, uv_identity()->gid, 16);
	return ur_write(d->fd, IB_USER_VERBS_CMD_MODIFY_QP, &m, sizeof(m), NULL, 0, NULL, 0);
}
