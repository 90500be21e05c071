/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Keys that change and memory that is the device's, byte by byte: windows of both types,
 * invalidation from here and from afar, the null MR, rereg, device memory. Two QPs of one process,
 * connected to each other. keys_check [-d DEVICE] [-g GID_INDEX]
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim_tests/progs/vp.h"

enum { LEN = 1 << 16, PART = 8192, PART_LEN = 20000 };

static struct {
	struct vp_dev dev;
	struct ibv_pd *pd;
	struct vp_cq cq[2];
	struct ibv_qp *qp[2];
	uint8_t *mem[2];
	struct ibv_mr *mr[2];
} t;
static int failures;

static bool check(bool ok, const char *what)
{
	if (!ok) {
		fprintf(stderr, "keys_check: %s (errno %d)\n", what, errno);
		failures++;
	}
	return ok;
}

/* ---- two connected QPs ---- */

static bool connect_both(void)
{
	const struct vp_qp_opts opts = {.send_wr = 16, .recv_wr = 16, .sges = 4};
	struct vp_dest dest[2];

	for (int i = 0; i < 2; i++) {
		t.qp[i] = vp_qp_open(t.pd, &t.cq[i], &t.cq[i], &opts, NULL);
		if (!t.qp[i])
			return false;
		vp_qp_dest(&t.dev, t.qp[i], &opts, &dest[i]);
	}
	return !vp_qp_connect(&t.dev, t.qp[0], &opts, &dest[1]) &&
	       !vp_qp_connect(&t.dev, t.qp[1], &opts, &dest[0]);
}

/* After an error both are in ERR: new ones. */
static bool reconnect(void)
{
	for (int i = 0; i < 2; i++) {
		struct ibv_wc wc;

		ibv_destroy_qp(t.qp[i]);
		while (ibv_poll_cq(t.cq[i].cq, 1, &wc) > 0)
			;
	}
	return check(connect_both(), "the QPs connect again");
}

static bool open_all(const char *device, int gid_index)
{
	if (vp_open(&t.dev, device, gid_index))
		return false;
	t.pd = ibv_alloc_pd(t.dev.ctx);
	for (int i = 0; i < 2; i++) {
		t.mem[i] = aligned_alloc(4096, LEN);
		if (!t.pd || !t.mem[i] || vp_cq_open(&t.dev, &t.cq[i], 64, false))
			return false;
		t.mr[i] = ibv_reg_mr(t.pd, t.mem[i], LEN,
				     i ? IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND
				       : IBV_ACCESS_LOCAL_WRITE);
		if (!t.mr[i])
			return false;
	}
	return connect_both();
}

/* The next completion of QP i: its status; -1: none. */
static int next(int i, struct ibv_wc *wc)
{
	struct ibv_wc own;

	wc = wc ? wc : &own;
	return vp_next(&t.cq[i], wc, VP_WAIT_MS) == 1 ? (int)wc->status : -1;
}

static int post(int i, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad;

	wr->send_flags |= IBV_SEND_SIGNALED;
	return ibv_post_send(t.qp[i], wr, &bad) ? -1 : next(i, NULL);
}

static int rdma(enum ibv_wr_opcode opcode, uint32_t rkey, uint64_t addr, uint32_t len)
{
	struct ibv_sge sge = {(uintptr_t)t.mem[0], len, t.mr[0]->lkey};
	struct ibv_send_wr wr = {.opcode = opcode,
				 .sg_list = &sge,
				 .num_sge = 1,
				 .wr.rdma = {.remote_addr = addr, .rkey = rkey}};

	return post(0, &wr);
}

static bool recv_here(uint32_t len)
{
	struct ibv_sge sge = {(uintptr_t)t.mem[1], len, t.mr[1]->lkey};
	struct ibv_recv_wr wr = {.sg_list = &sge, .num_sge = 1}, *bad;

	return !ibv_post_recv(t.qp[1], &wr, &bad);
}

/* ---- windows ---- */

static struct ibv_mw_bind_info part(int access)
{
	return (struct ibv_mw_bind_info){.mr = t.mr[1],
					 .addr = (uintptr_t)t.mem[1] + PART,
					 .length = PART_LEN,
					 .mw_access_flags = (unsigned int)access};
}

/* What a window of its key allows and what not; reconnects. */
static void use_window(uint32_t rkey, const char *what)
{
	uint64_t at = (uintptr_t)t.mem[1] + PART;

	vp_fill(t.mem[0], PART_LEN, 11);
	memset(t.mem[1], 0, LEN);
	check(rdma(IBV_WR_RDMA_WRITE, rkey, at, PART_LEN) == IBV_WC_SUCCESS, what);
	check(vp_wrong(t.mem[1] + PART, PART_LEN, 11) < 0, "a window's bytes");
	check(t.mem[1][PART - 1] == 0 && t.mem[1][PART + PART_LEN] == 0, "beside a window");
	check(rdma(IBV_WR_RDMA_WRITE, rkey, at + 1, PART_LEN) == IBV_WC_REM_ACCESS_ERR,
	      "beyond a window is a remote access error");
	reconnect();
}

static void type_1(void)
{
	struct ibv_mw *mw = ibv_alloc_mw(t.pd, IBV_MW_TYPE_1);
	struct ibv_mw_bind bind = {.send_flags = IBV_SEND_SIGNALED,
				   .bind_info = part(IBV_ACCESS_REMOTE_WRITE)};
	uint32_t rkey;

	if (!check(mw != NULL, "a window of type 1"))
		return;
	check(!ibv_bind_mw(t.qp[1], mw, &bind) && next(1, NULL) == IBV_WC_SUCCESS, "it is bound");
	rkey = mw->rkey;
	use_window(rkey, "a write through a window of type 1");
	bind.bind_info.length = 0;
	check(!ibv_bind_mw(t.qp[1], mw, &bind) && next(1, NULL) == IBV_WC_SUCCESS,
	      "and bound to nothing");
	check(rdma(IBV_WR_RDMA_WRITE, rkey, (uintptr_t)t.mem[1] + PART, 1) == IBV_WC_REM_ACCESS_ERR,
	      "what was its key is refused");
	reconnect();
	check(!ibv_dealloc_mw(mw), "it goes");
}

static int bind_2(struct ibv_mw *mw, uint32_t rkey)
{
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_BIND_MW,
		.bind_mw = {.mw = mw, .rkey = rkey, .bind_info = part(IBV_ACCESS_REMOTE_WRITE)}};

	return post(1, &wr);
}

static int local_inv(uint32_t rkey)
{
	struct ibv_send_wr wr = {.opcode = IBV_WR_LOCAL_INV, .invalidate_rkey = rkey};

	return post(1, &wr);
}

static void type_2(void)
{
	struct ibv_mw *mw = ibv_alloc_mw(t.pd, IBV_MW_TYPE_2);
	uint64_t at = (uintptr_t)t.mem[1] + PART;
	uint32_t rkey;

	if (!check(mw != NULL, "a window of type 2"))
		return;
	rkey = ibv_inc_rkey(mw->rkey);
	check(bind_2(mw, rkey) == IBV_WC_SUCCESS, "it is bound");
	check(rdma(IBV_WR_RDMA_WRITE, rkey, at, 100) == IBV_WC_SUCCESS, "and written through");
	check(local_inv(rkey) == IBV_WC_SUCCESS, "and invalidated");
	check(local_inv(rkey) == IBV_WC_MW_BIND_ERR, "but not twice");
	reconnect();
	check(bind_2(mw, rkey) == IBV_WC_SUCCESS, "bound again");
	use_window(rkey, "a write through a window of type 2");
	check(rdma(IBV_WR_RDMA_WRITE, rkey, at, 1) == IBV_WC_REM_ACCESS_ERR,
	      "another QP may not use it");
	reconnect();
	check(!ibv_dealloc_mw(mw), "it goes");
}

static void send_with_invalidate(void)
{
	struct ibv_mw *mw = ibv_alloc_mw(t.pd, IBV_MW_TYPE_2);
	struct ibv_sge sge = {(uintptr_t)t.mem[0], 3000, t.mr[0]->lkey};
	struct ibv_send_wr wr = {.opcode = IBV_WR_SEND_WITH_INV, .sg_list = &sge, .num_sge = 1};
	struct ibv_wc wc;

	if (!check(mw != NULL, "a window of type 2"))
		return;
	wr.invalidate_rkey = ibv_inc_rkey(mw->rkey);
	check(bind_2(mw, wr.invalidate_rkey) == IBV_WC_SUCCESS, "it is bound");
	vp_fill(t.mem[0], 3000, 12);
	check(recv_here(3000) && post(0, &wr) == IBV_WC_SUCCESS, "a send that invalidates");
	check(next(1, &wc) == IBV_WC_SUCCESS && (wc.wc_flags & IBV_WC_WITH_INV) &&
		      wc.invalidated_rkey == wr.invalidate_rkey,
	      "its receiver is told the key");
	check(vp_wrong(t.mem[1], 3000, 12) < 0, "and gets the bytes");
	check(rdma(IBV_WR_RDMA_WRITE, wr.invalidate_rkey, (uintptr_t)t.mem[1] + PART, 1) ==
		      IBV_WC_REM_ACCESS_ERR,
	      "the key is gone");
	reconnect();
	check(!ibv_dealloc_mw(mw), "it goes");
}

/* ---- regions ---- */

static void null_mr(void)
{
	struct ibv_mr *null = ibv_alloc_null_mr(t.pd);
	struct ibv_sge sge[3] = {{(uintptr_t)t.mem[0], 1000, t.mr[0]->lkey}, {0}, {0}};
	struct ibv_send_wr wr = {.opcode = IBV_WR_SEND, .sg_list = sge, .num_sge = 3};

	if (!check(null != NULL, "a null MR"))
		return;
	sge[1] = (struct ibv_sge){0, 500, null->lkey};
	sge[2] = (struct ibv_sge){(uintptr_t)t.mem[0] + 1000, 1000, t.mr[0]->lkey};
	vp_fill(t.mem[0], 2000, 13);
	memset(t.mem[1], 0xee, LEN);
	check(recv_here(LEN) && post(0, &wr) == IBV_WC_SUCCESS && next(1, NULL) == IBV_WC_SUCCESS,
	      "a send with a hole");
	check(vp_wrong(t.mem[1], 1000, 13) < 0 && vp_not(t.mem[1] + 1000, 500, 0) < 0 &&
		      !memcmp(t.mem[1] + 1500, t.mem[0] + 1000, 1000),
	      "the hole is zeroes");
	check(!ibv_dereg_mr(null), "it goes");
}

static void rereg(void)
{
	const int all = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
	struct ibv_mr *mr = ibv_reg_mr(t.pd, t.mem[1], PART, all);
	uint32_t rkey;

	if (!check(mr != NULL, "a region"))
		return;
	rkey = mr->rkey;
	check(!ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, t.mem[1] + PART, PART_LEN,
			    0),
	      "it moves");
	check(mr->rkey == rkey, "and keeps its key");
	check(rdma(IBV_WR_RDMA_WRITE, mr->rkey, (uintptr_t)t.mem[1] + PART, PART_LEN) ==
		      IBV_WC_SUCCESS,
	      "where it moved to");
	check(!ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, IBV_ACCESS_LOCAL_WRITE),
	      "it loses the remote right");
	check(rdma(IBV_WR_RDMA_WRITE, mr->rkey, (uintptr_t)t.mem[1] + PART, 1) ==
		      IBV_WC_REM_ACCESS_ERR,
	      "and is refused");
	reconnect();
	check(!ibv_dereg_mr(mr), "it goes");
}

static void device_memory(void)
{
	struct ibv_alloc_dm_attr attr = {.length = PART_LEN};
	const unsigned int access = IBV_ACCESS_ZERO_BASED | IBV_ACCESS_LOCAL_WRITE |
				    IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
	struct ibv_dm *dm = ibv_alloc_dm(t.dev.ctx, &attr);
	struct ibv_mr *mr = dm ? ibv_reg_dm_mr(t.pd, dm, 0, PART_LEN, access) : NULL;

	if (!check(mr != NULL, "device memory and a region of it"))
		return;
	vp_fill(t.mem[0], PART_LEN, 14);
	check(rdma(IBV_WR_RDMA_WRITE, mr->rkey, 0, PART_LEN) == IBV_WC_SUCCESS,
	      "written from afar");
	check(!ibv_memcpy_from_dm(t.mem[1], dm, 0, PART_LEN) &&
		      vp_wrong(t.mem[1], PART_LEN, 14) < 0,
	      "and read by the program");
	vp_fill(t.mem[1], PART_LEN, 15);
	check(!ibv_memcpy_to_dm(dm, 0, t.mem[1], PART_LEN), "written by the program");
	check(rdma(IBV_WR_RDMA_READ, mr->rkey, 0, PART_LEN) == IBV_WC_SUCCESS &&
		      vp_wrong(t.mem[0], PART_LEN, 15) < 0,
	      "and read from afar");
	check(ibv_free_dm(dm) == EBUSY, "it stays while a region has it");
	check(!ibv_dereg_mr(mr) && !ibv_free_dm(dm), "both go");
}

int main(int argc, char **argv)
{
	const char *device = NULL;
	int gid_index = 0, opt;

	while ((opt = getopt(argc, argv, "d:g:")) != -1) {
		if (opt == 'd')
			device = optarg;
		else if (opt == 'g')
			gid_index = atoi(optarg);
		else
			return 2;
	}
	if (!open_all(device, gid_index)) {
		fprintf(stderr, "keys_check: no two connected QPs\n");
		return 1;
	}
	type_1();
	type_2();
	send_with_invalidate();
	null_mr();
	rereg();
	device_memory();
	if (!failures)
		printf("keys_check: windows, invalidation, null MR, rereg, device memory: ok\n");
	return failures != 0;
}
