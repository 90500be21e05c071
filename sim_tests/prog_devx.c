// SPDX-License-Identifier: BSD-3-Clause
/*
 * A DevX program: everything that an engine on a GPU does on the host, by mailboxes of its own.
 * Runs under `gdakit run` or on a ConnectX. Exit code 0: all as expected; each step that is not
 * says so on stdout.
 */
#include <errno.h>
#include <infiniband/mlx5dv.h>
#include <inttypes.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "prm/prm.h"

enum { PAGE = 4096, LOG_CQ = 6, LOG_SQ = 6, PSN = 0x123456 };

struct rig {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	uint32_t pdn, eqn, cqn, qpn;
	uint8_t *mem; /* CQ ring, SQ ring, doorbell records: a page each */
	struct mlx5dv_devx_umem *umem;
	struct mlx5dv_devx_uar *uar;
	struct mlx5dv_devx_obj *cq, *qp;
};

static int failures;

static bool expect(bool ok, const char *what)
{
	if (!ok) {
		printf("FAIL %s (errno %d: %s)\n", what, errno, strerror(errno));
		failures++;
	}
	return ok;
}

static bool open_device(struct rig *r)
{
	struct mlx5dv_context_attr attr = {.flags = MLX5DV_CONTEXT_FLAGS_DEVX};
	struct mlx5dv_pd dv_pd;
	struct mlx5dv_obj obj = {0};
	struct ibv_device **list = ibv_get_device_list(NULL);

	if (!expect(list && list[0], "a device is there"))
		return false;
	r->ctx = mlx5dv_open_device(list[0], &attr);
	ibv_free_device_list(list);
	if (!expect(r->ctx != NULL, "it opens with DevX"))
		return false;
	r->pd = ibv_alloc_pd(r->ctx);
	if (!expect(r->pd != NULL, "ibv_alloc_pd"))
		return false;
	obj.pd.in = r->pd;
	obj.pd.out = &dv_pd;
	expect(!mlx5dv_init_obj(&obj, MLX5DV_OBJ_PD), "mlx5dv_init_obj gives the PD's number");
	r->pdn = dv_pd.pdn;
	return true;
}

static void query_caps(struct rig *r)
{
	uint8_t in[PRM_cmd_in_SIZE] = {0}, out[PRM_query_hca_cap_out_SIZE] = {0};
	const uint8_t *cap = PRM_CPTR(query_hca_cap_out, out, capability);
	/* as GPUNetIO asks: general, RoCE, general 2; all current */
	static const uint16_t op_mods[] = {0x01, 0x09, 0x41};

	for (int i = 2; i >= 0; i--) {
		PRM_SET(cmd_in, in, opcode, PRM_CMD_QUERY_HCA_CAP);
		PRM_SET(cmd_in, in, op_mod, op_mods[i]);
		expect(!mlx5dv_devx_general_cmd(r->ctx, in, sizeof(in), out, sizeof(out)),
		       "QUERY_HCA_CAP");
	}
	expect(PRM_GET(cmd_hca_cap, cap, rc), "the device has RC");
	expect(PRM_GET(cmd_hca_cap, cap, log_max_qp_sz) >= 11, "rings of 2048 WQEs");
}

/* A general command that is none, and one that does not exist. */
static void refuse_general(struct rig *r)
{
	uint8_t in[PRM_cmd_in_SIZE] = {0}, out[PRM_cmd_out_SIZE] = {0};

	PRM_SET(cmd_in, in, opcode, PRM_CMD_ALLOC_PD);
	expect(mlx5dv_devx_general_cmd(r->ctx, in, sizeof(in), out, sizeof(out)),
	       "ALLOC_PD is no general command");
	PRM_SET(cmd_in, in, opcode, 0xfff);
	expect(mlx5dv_devx_general_cmd(r->ctx, in, sizeof(in), out, sizeof(out)),
	       "opcode 0xfff is none");
}

/* A device without a null MR says so; one that gives it gives a key of its own. */
static void null_mr(struct rig *r)
{
	struct ibv_mr *mr = ibv_alloc_null_mr(r->pd);

	if (!expect(mr != NULL, "a null MR"))
		return;
	expect(mr->lkey != 0, "a null MR has a key");
	expect(!ibv_dereg_mr(mr), "and is deregistered");
}

static bool register_memory(struct rig *r)
{
	struct mlx5dv_devx_umem_in in = {
		.size = 3 * PAGE, .access = IBV_ACCESS_LOCAL_WRITE, .pgsz_bitmap = PAGE};

	r->mem = aligned_alloc(PAGE, 3 * PAGE);
	if (!expect(r->mem != NULL, "memory"))
		return false;
	memset(r->mem, 0, 3 * PAGE);
	for (int i = 0; i < 1 << LOG_CQ; i++)
		r->mem[i * 64 + 63] = 0xf1; /* invalid, owned by hardware */
	in.addr = r->mem;
	r->umem = mlx5dv_devx_umem_reg_ex(r->ctx, &in);
	expect(!mlx5dv_devx_umem_reg(r->ctx, (void *)(uintptr_t)PAGE, PAGE, 0),
	       "unmapped memory is no umem");
	expect(errno == EFAULT, "and the error is EFAULT");
	r->uar = mlx5dv_devx_alloc_uar(r->ctx, MLX5_IB_UAPI_UAR_ALLOC_TYPE_NC);
	expect(!mlx5dv_devx_query_eqn(r->ctx, 0, &r->eqn), "mlx5dv_devx_query_eqn");
	return expect(r->umem != NULL, "mlx5dv_devx_umem_reg_ex") &&
	       expect(r->uar != NULL, "mlx5dv_devx_alloc_uar") &&
	       expect(r->uar->reg_addr && r->uar->base_addr, "the UAR page is mapped");
}

static void fill_cq(const struct rig *r, uint8_t *in)
{
	uint8_t *cqc = PRM_PTR(create_cq_in, in, cq_context);

	memset(in, 0, PRM_create_cq_in_SIZE);
	PRM_SET(cmd_in, in, opcode, PRM_CMD_CREATE_CQ);
	PRM_SET(cqc, cqc, log_cq_size, LOG_CQ);
	PRM_SET(cqc, cqc, uar_page, r->uar->page_id);
	PRM_SET(cqc, cqc, c_eqn_or_apu_element, r->eqn);
	PRM_SET(cqc, cqc, oi, 1);
	PRM_SET(cqc, cqc, dbr_umem_valid, 1);
	PRM_SET(cqc, cqc, dbr_umem_id, r->umem->umem_id);
	PRM_SET64(cqc, cqc, dbr_addr, 2 * PAGE + 64);
	PRM_SET(create_cq_in, in, cq_umem_valid, 1);
	PRM_SET(create_cq_in, in, cq_umem_id, r->umem->umem_id);
}

static bool create_cq(struct rig *r)
{
	uint8_t in[PRM_create_cq_in_SIZE], out[PRM_obj_out_SIZE] = {0};

	fill_cq(r, in);
	r->cq = mlx5dv_devx_obj_create(r->ctx, in, sizeof(in), out, sizeof(out));
	r->cqn = PRM_GET(obj_out, out, number);
	return expect(r->cq != NULL, "CREATE_CQ");
}

/* The NIC's own answer reaches the program: status and syndrome in the mailbox, EREMOTEIO in errno.
 */
static void bad_mailboxes(struct rig *r)
{
	uint8_t in[PRM_create_cq_in_SIZE], out[PRM_obj_out_SIZE] = {0};
	struct mlx5dv_devx_obj *obj;

	fill_cq(r, in);
	PRM_SET(create_cq_in, in, cq_umem_id, 0x7ffff0);
	obj = mlx5dv_devx_obj_create(r->ctx, in, sizeof(in), out, sizeof(out));
	expect(!obj, "a CQ on an umem that does not exist is refused");
	expect(errno == EREMOTEIO, "with EREMOTEIO");
	expect(PRM_GET(cmd_out, out, status) != PRM_STATUS_OK, "with a status");
	expect(PRM_GET(cmd_out, out, syndrome) != 0, "with a syndrome");

	PRM_SET(cmd_in, in, opcode, PRM_CMD_DESTROY_CQ);
	obj = mlx5dv_devx_obj_create(r->ctx, in, sizeof(in), out, sizeof(out));
	expect(!obj, "a destroy command does not create");
}

static bool create_qp(struct rig *r)
{
	uint8_t in[PRM_create_qp_in_SIZE] = {0}, out[PRM_obj_out_SIZE] = {0};
	uint8_t *qpc = PRM_PTR(create_qp_in, in, qpc);

	PRM_SET(cmd_in, in, opcode, PRM_CMD_CREATE_QP);
	PRM_SET(qpc, qpc, st, PRM_QP_ST_RC);
	PRM_SET(qpc, qpc, pd, r->pdn);
	PRM_SET(qpc, qpc, uar_page, r->uar->page_id);
	PRM_SET(qpc, qpc, cqn_snd, r->cqn);
	PRM_SET(qpc, qpc, cqn_rcv, r->cqn);
	PRM_SET(qpc, qpc, log_sq_size, LOG_SQ);
	PRM_SET(qpc, qpc, rq_type, PRM_RQ_NONE);
	PRM_SET(qpc, qpc, user_index, 0x77);
	PRM_SET(qpc, qpc, dbr_umem_valid, 1);
	PRM_SET(qpc, qpc, dbr_umem_id, r->umem->umem_id);
	PRM_SET64(qpc, qpc, dbr_addr, 2 * PAGE);
	PRM_SET(create_qp_in, in, wq_umem_valid, 1);
	PRM_SET(create_qp_in, in, wq_umem_id, r->umem->umem_id);
	PRM_SET64(create_qp_in, in, wq_umem_offset, PAGE);
	r->qp = mlx5dv_devx_obj_create(r->ctx, in, sizeof(in), out, sizeof(out));
	r->qpn = PRM_GET(obj_out, out, number);
	return expect(r->qp != NULL, "CREATE_QP");
}

static uint32_t query_qp(struct rig *r, uint8_t *qpc)
{
	uint8_t in[PRM_obj_in_SIZE] = {0}, out[PRM_query_qp_out_SIZE] = {0};

	PRM_SET(cmd_in, in, opcode, PRM_CMD_QUERY_QP);
	PRM_SET(obj_in, in, number, r->qpn);
	if (!expect(!mlx5dv_devx_obj_query(r->qp, in, sizeof(in), out, sizeof(out)), "QUERY_QP"))
		return UINT32_MAX;
	memcpy(qpc, PRM_PTR(query_qp_out, out, qpc), PRM_qpc_SIZE);
	return PRM_GET(qpc, qpc, state);
}

static int modify(struct rig *r, uint16_t opcode, uint8_t *in)
{
	uint8_t out[PRM_cmd_out_SIZE] = {0};

	PRM_SET(cmd_in, in, opcode, opcode);
	PRM_SET(modify_qp_in, in, qpn, r->qpn);
	return mlx5dv_devx_obj_modify(r->qp, in, PRM_modify_qp_in_SIZE, out, sizeof(out));
}

/* Connected to itself. */
static void connect_qp(struct rig *r)
{
	uint8_t in[PRM_modify_qp_in_SIZE] = {0}, qpc_now[PRM_qpc_SIZE];
	uint8_t *qpc = PRM_PTR(modify_qp_in, in, qpc);
	uint8_t *ads = PRM_PTR(qpc, qpc, primary_address_path);
	union ibv_gid gid;

	expect(query_qp(r, qpc_now) == PRM_QP_RST, "a new QP is in RESET");
	expect(PRM_GET(qpc, qpc_now, mtu) >= 1 && PRM_GET(qpc, qpc_now, mtu) <= 5,
	       "with an MTU that can be read");
	expect(modify(r, PRM_CMD_RTR2RTS_QP, in), "RESET to RTS is refused");
	expect(!ibv_query_gid(r->ctx, 1, 0, &gid), "ibv_query_gid");

	PRM_SET(qpc, qpc, pm_state, 3);
	PRM_SET(qpc, qpc, rwe, 1);
	PRM_SET(ads, ads, vhca_port_num, 1);
	expect(!modify(r, PRM_CMD_RST2INIT_QP, in), "RST2INIT_QP");

	PRM_SET(qpc, qpc, mtu, 5);
	PRM_SET(qpc, qpc, log_msg_max, 30);
	PRM_SET(qpc, qpc, remote_qpn, r->qpn);
	PRM_SET(qpc, qpc, next_rcv_psn, PSN);
	PRM_SET(qpc, qpc, min_rnr_nak, 12);
	memcpy(PRM_PTR(ads, ads, rgid_rip), gid.raw, sizeof(gid.raw));
	PRM_SET(ads, ads, hop_limit, 64);
	expect(!modify(r, PRM_CMD_INIT2RTR_QP, in), "INIT2RTR_QP");

	PRM_SET(qpc, qpc, next_send_psn, PSN);
	PRM_SET(qpc, qpc, retry_count, 7);
	PRM_SET(qpc, qpc, rnr_retry, 7);
	PRM_SET(ads, ads, ack_timeout, 14);
	expect(!modify(r, PRM_CMD_RTR2RTS_QP, in), "RTR2RTS_QP");
	expect(query_qp(r, qpc_now) == PRM_QP_RTS, "it is in RTS");
	expect(PRM_GET(qpc, qpc_now, remote_qpn) == r->qpn, "connected to itself");
	expect(PRM_GET(qpc, qpc_now, user_index) == 0x77, "with its user index");
}

/* A mailbox that names another object than the handle. */
static void wrong_names(struct rig *r)
{
	uint8_t in[PRM_obj_in_SIZE] = {0}, out[PRM_query_qp_out_SIZE] = {0};

	PRM_SET(cmd_in, in, opcode, PRM_CMD_QUERY_QP);
	PRM_SET(obj_in, in, number, r->qpn + 1);
	expect(mlx5dv_devx_obj_query(r->qp, in, sizeof(in), out, sizeof(out)),
	       "the handle's QP must be the mailbox's");
	PRM_SET(obj_in, in, number, r->qpn);
	expect(mlx5dv_devx_obj_query(r->cq, in, sizeof(in), out, sizeof(out)),
	       "a CQ's handle is no QP");
}

/* One NOP through the ring, at WQE index i: the record, then the register, and a CQE in the CQ's
 * page. */
static void post_nop(struct rig *r, uint16_t i)
{
	uint8_t *wqe = r->mem + PAGE + i * PRM_WQEBB_SIZE, *dbr = r->mem + 2 * PAGE;
	volatile uint8_t *cqe = r->mem + i * PRM_CQE_SIZE;

	prm_store32(wqe, (uint32_t)i << 8 | PRM_WQE_NOP);
	prm_store32(wqe + 4, r->qpn << 8 | 1);
	prm_store32(wqe + 8, 8); /* a CQE is wanted */
	prm_store32(dbr + 4, i + 1u);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	*(volatile uint64_t *)r->uar->reg_addr = *(uint64_t *)wqe;
	for (int n = 0; n < 30000 && cqe[63] >> 4 == 0xf; n++)
		usleep(1000);
	expect(cqe[63] >> 4 == PRM_CQE_REQ, "the NOP completes");
}

/* Events of a DevX object: through the channel with a cookie, and through an eventfd. */
static void watch_cq(struct rig *r)
{
	struct {
		struct mlx5dv_devx_async_event_hdr hdr;
		uint8_t eqe[PRM_EQE_SIZE];
	} event;
	struct mlx5dv_devx_event_channel *channel = mlx5dv_devx_create_event_channel(r->ctx, 0);
	uint16_t completion = PRM_EVENT_COMP;
	uint8_t *dbr = r->mem + 2 * PAGE + 64;
	int fd = eventfd(0, EFD_NONBLOCK);
	struct pollfd p = {.events = POLLIN};
	uint64_t count = 0, arm;

	if (!expect(channel != NULL, "mlx5dv_devx_create_event_channel"))
		return;
	expect(!mlx5dv_devx_subscribe_devx_event(channel, r->cq, sizeof(completion), &completion,
						 0xc00c1e),
	       "subscribe to the CQ's completions");
	expect(!mlx5dv_devx_subscribe_devx_event_fd(channel, fd, r->cq, PRM_EVENT_COMP),
	       "and with an eventfd");
	/* Arm for the CQE after the first. */
	prm_store32(dbr + 4, 1u << 28 | 1);
	prm_store32(&arm, 1u << 28 | 1);
	prm_store32((uint8_t *)&arm + 4, r->cqn);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	*(volatile uint64_t *)((uint8_t *)r->uar->base_addr + PRM_UAR_CQ_ARM) = arm;
	post_nop(r, 1);
	p.fd = channel->fd;
	if (expect(poll(&p, 1, 30000) == 1, "the channel has an event")) {
		ssize_t n = mlx5dv_devx_get_event(channel, &event.hdr, sizeof(event));

		expect(n == sizeof(event), "with an EQE");
		expect(event.hdr.cookie == 0xc00c1e, "and the cookie");
		expect(PRM_GET(eqe, event.eqe, number) == r->cqn, "about this CQ");
	}
	p.fd = fd;
	expect(poll(&p, 1, 30000) == 1 && read(fd, &count, sizeof(count)) == sizeof(count) &&
		       count == 1,
	       "the eventfd counts one");
	close(fd);
	mlx5dv_devx_destroy_event_channel(channel);
}

/* The same query as before, its answer by way of a channel. */
static void query_async(struct rig *r)
{
	struct {
		struct mlx5dv_devx_async_cmd_hdr hdr;
		uint8_t out[PRM_query_qp_out_SIZE];
	} answer = {0};
	struct mlx5dv_devx_cmd_comp *channel = mlx5dv_devx_create_cmd_comp(r->ctx);
	uint8_t in[PRM_obj_in_SIZE] = {0};

	if (!expect(channel != NULL, "mlx5dv_devx_create_cmd_comp"))
		return;
	PRM_SET(cmd_in, in, opcode, PRM_CMD_QUERY_QP);
	PRM_SET(obj_in, in, number, r->qpn);
	expect(!mlx5dv_devx_obj_query_async(r->qp, in, sizeof(in), PRM_query_qp_out_SIZE, 0x1234,
					    channel),
	       "QUERY_QP, asynchronously");
	expect(!mlx5dv_devx_get_async_cmd_comp(channel, &answer.hdr, sizeof(answer)),
	       "its answer comes");
	expect(answer.hdr.wr_id == 0x1234, "with the id");
	expect(PRM_GET(qpc, PRM_PTR(query_qp_out, answer.out, qpc), state) == PRM_QP_RTS,
	       "and the state");
	mlx5dv_devx_destroy_cmd_comp(channel);
}

/* What uses an object keeps it alive; then all goes in order. */
static void destroy(struct rig *r)
{
	struct mlx5dv_devx_obj *cq = r->cq;

	/* libmlx5 frees its handle only when the destroy succeeds. */
	expect(mlx5dv_devx_obj_destroy(cq), "a CQ that a QP uses stays");
	expect(!mlx5dv_devx_obj_destroy(r->qp), "destroy the QP");
	expect(!mlx5dv_devx_obj_destroy(cq), "destroy the CQ");
	expect(!mlx5dv_devx_umem_dereg(r->umem), "deregister the umem");
	mlx5dv_devx_free_uar(r->uar);
	expect(!ibv_dealloc_pd(r->pd), "deallocate the PD");
	expect(!ibv_close_device(r->ctx), "close the device");
	free(r->mem);
}

int main(void)
{
	struct rig r = {0};

	if (!open_device(&r))
		return 1;
	query_caps(&r);
	refuse_general(&r);
	null_mr(&r);
	if (!register_memory(&r) || !create_cq(&r))
		return 1;
	bad_mailboxes(&r);
	if (!create_qp(&r))
		return 1;
	connect_qp(&r);
	wrong_names(&r);
	post_nop(&r, 0);
	watch_cq(&r);
	query_async(&r);
	destroy(&r);
	if (!failures)
		printf("ok\n");
	return failures != 0;
}
