// SPDX-License-Identifier: BSD-3-Clause
/*
 * A program that closes descriptors it has not opened while it has a device open, becomes another
 * program, or unmaps its doorbell: uverbs_fds_prog WAY. Exit code 0 and "ok": the device can be
 * opened and used again. Runs under `gdakit run` or on a ConnectX.
 */
#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { BYTES = 4096, LAST_FD = 4096, SENT = 0x37, WAIT_S = 20 };

struct end {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	union ibv_gid gid;
	uint8_t *mem;
};

static bool expect(bool ok, const char *what)
{
	if (!ok)
		printf("FAIL %s\n", what);
	fflush(stdout);
	return ok;
}

enum { ACCESS = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE };

/* A device with a QP in it. */
static bool open_end(struct end *e)
{
	struct ibv_qp_init_attr init = {.qp_type = IBV_QPT_RC,
					.cap = {.max_send_wr = 1, .max_send_sge = 1}};
	struct ibv_device **list = ibv_get_device_list(NULL);

	e->ctx = list && list[0] ? ibv_open_device(list[0]) : NULL;
	if (!expect(e->ctx && !ibv_query_gid(e->ctx, 1, 0, &e->gid), "a device opens"))
		return false;
	e->mem = aligned_alloc(BYTES, (size_t)2 * BYTES);
	e->pd = ibv_alloc_pd(e->ctx);
	e->cq = ibv_create_cq(e->ctx, 4, NULL, NULL, 0);
	init.send_cq = init.recv_cq = e->cq;
	e->qp = e->pd && e->cq ? ibv_create_qp(e->pd, &init) : NULL;
	e->mr = e->qp ? ibv_reg_mr(e->pd, e->mem, (size_t)2 * BYTES, ACCESS) : NULL;
	return expect(e->mr, "its objects");
}

/* Both ends are on one host. */
static bool connect_to(struct end *e, uint32_t qpn)
{
	struct ibv_qp_attr to_init = {
		.qp_state = IBV_QPS_INIT, .port_num = 1, .qp_access_flags = ACCESS};
	struct ibv_qp_attr rtr = {.qp_state = IBV_QPS_RTR,
				  .path_mtu = IBV_MTU_1024,
				  .max_dest_rd_atomic = 1,
				  .min_rnr_timer = 12,
				  .ah_attr = {.is_global = 1, .port_num = 1}};
	struct ibv_qp_attr rts = {
		.qp_state = IBV_QPS_RTS, .timeout = 14, .retry_cnt = 7, .max_rd_atomic = 1};

	rtr.dest_qp_num = qpn;
	rtr.ah_attr.grh.dgid = e->gid;
	rtr.ah_attr.grh.hop_limit = 64;
	return expect(!ibv_modify_qp(e->qp, &to_init,
				     IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
					     IBV_QP_ACCESS_FLAGS) &&
			      !ibv_modify_qp(e->qp, &rtr,
					     IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
						     IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
						     IBV_QP_MAX_DEST_RD_ATOMIC |
						     IBV_QP_MIN_RNR_TIMER) &&
			      !ibv_modify_qp(e->qp, &rts,
					     IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
						     IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
						     IBV_QP_MAX_QP_RD_ATOMIC),
		      "a QP connects");
}

/* A write of the first half of `e`'s memory. */
static bool write_to(struct end *e, uint64_t addr, uint32_t rkey)
{
	struct ibv_sge sge = {(uintptr_t)e->mem, BYTES, e->mr->lkey};
	struct ibv_send_wr wr = {.sg_list = &sge,
				 .num_sge = 1,
				 .opcode = IBV_WR_RDMA_WRITE,
				 .send_flags = IBV_SEND_SIGNALED,
				 .wr.rdma = {addr, rkey}};
	time_t until = time(NULL) + WAIT_S;
	struct ibv_send_wr *bad;
	struct ibv_wc wc = {.status = IBV_WC_GENERAL_ERR};

	memset(e->mem, SENT, BYTES);
	if (!expect(!ibv_post_send(e->qp, &wr, &bad), "a write is posted"))
		return false;
	while (time(NULL) < until && !ibv_poll_cq(e->cq, 1, &wc))
		;
	return expect(wc.status == IBV_WC_SUCCESS, "a write is acknowledged");
}

static bool works(struct end *e)
{
	memset(e->mem + BYTES, 0, BYTES);
	return write_to(e, (uintptr_t)e->mem + BYTES, e->mr->rkey) &&
	       expect(!memcmp(e->mem, e->mem + BYTES, BYTES), "a write arrives");
}

static bool open_and_use(struct end *e)
{
	return open_end(e) && connect_to(e, e->qp->qp_num) && works(e);
}

/* ---- another process ---- */

/* Shared; each number is written once. */
static struct meeting {
	_Atomic uint32_t opener_qpn, peer_qpn, peer_ready, done;
	uint64_t addr;
	uint32_t rkey;
} * meeting;

static bool wait_for(_Atomic uint32_t *number)
{
	for (int i = 0; i < WAIT_S * 1000 && !*number; i++)
		usleep(1000);
	return expect(*number, "the other process says something");
}

/* Takes one write, and checks it. */
static int peer_main(void)
{
	struct end e = {0};

	if (!open_end(&e))
		return 1;
	memset(e.mem, 0, BYTES);
	meeting->addr = (uintptr_t)e.mem;
	meeting->rkey = e.mr->rkey;
	meeting->peer_qpn = e.qp->qp_num;
	if (!wait_for(&meeting->opener_qpn) || !connect_to(&e, meeting->opener_qpn))
		return 1;
	meeting->peer_ready = 1;
	if (!wait_for(&meeting->done))
		return 1;
	for (int i = 0; i < BYTES; i++)
		if (e.mem[i] != SENT)
			return 1;
	return 0;
}

static pid_t start_peer(void)
{
	pid_t pid;

	meeting = mmap(NULL, sizeof(*meeting), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		       -1, 0);
	if (meeting == MAP_FAILED)
		return -1;
	pid = fork();
	if (!pid)
		_exit(peer_main());
	return pid;
}

/* A write to the peer, over whatever joins processes. */
static bool reaches_peer(pid_t peer)
{
	struct end e = {0};
	int status = -1;
	bool ok;

	if (!open_end(&e) || !wait_for(&meeting->peer_qpn))
		return false;
	meeting->opener_qpn = e.qp->qp_num;
	ok = connect_to(&e, meeting->peer_qpn) && wait_for(&meeting->peer_ready) &&
	     write_to(&e, meeting->addr, meeting->rkey);
	meeting->done = 1;
	return expect(waitpid(peer, &status, 0) == peer && !status, "the peer finds the bytes") &&
	       ok;
}

/* ---- the ways ---- */

static void close_loop(void)
{
	for (int fd = 3; fd < LAST_FD; fd++)
		close(fd);
}

/* Ranges that begin and end at, before and behind others' descriptors. */
static void close_parts(void)
{
	for (unsigned int fd = 3; fd < LAST_FD; fd += 7)
		close_range(fd, fd + 6, 0);
}

static void close_all(void)
{
	closefrom(3);
}

static void close_all_in_range(void)
{
	close_range(3, ~0U, 0);
}

/* What a daemon does after it has opened a device: all is gone, and it begins again. */
static bool closes_all(void (*close_them)(void))
{
	struct end before = {0}, after = {0};
	pid_t peer = start_peer();

	if (!expect(peer > 0, "fork") || !open_and_use(&before))
		return false;
	close_them();
	return open_and_use(&after) && reaches_peer(peer);
}

/* Only the command's descriptor, by the kernel itself: nobody is told. */
static bool closes_raw(void)
{
	struct end before = {0}, after = {0};

	if (!open_and_use(&before))
		return false;
	syscall(SYS_close, before.ctx->cmd_fd);
	syscall(SYS_close, before.ctx->async_fd);
	return open_and_use(&after);
}

static bool becomes_another(char *self)
{
	char *const argv[] = {self, "again", NULL};
	struct end e = {0};

	if (!open_and_use(&e))
		return false;
	execv(self, argv);
	return expect(false, "execv");
}

/* A child that closes everything, as one that is about to execute something does. */
static bool child_closes(bool shares_memory)
{
	struct end e = {0};
	int status = -1;
	pid_t pid;

	if (!open_and_use(&e))
		return false;
	pid = shares_memory ? vfork() : fork();
	if (!pid) {
		close_range(3, ~0U, 0);
		execl("/bin/true", "true", (char *)NULL);
		_exit(1);
	}
	return expect(pid > 0 && waitpid(pid, &status, 0) == pid && !status, "a child") &&
	       works(&e);
}

/* Unmaps the page that its QP's doorbells are in: what a wrong length or a double free does. */
static bool unmaps_doorbell(void)
{
	struct end e = {0};
	struct mlx5dv_qp dv = {0};
	struct mlx5dv_obj obj = {.qp = {.in = NULL, .out = &dv}};
	uintptr_t page;

	if (!open_and_use(&e))
		return false;
	obj.qp.in = e.qp;
	if (!expect(!mlx5dv_init_obj(&obj, MLX5DV_OBJ_QP) && dv.bf.reg, "a doorbell register"))
		return false;
	page = (uintptr_t)dv.bf.reg & ~(uintptr_t)4095;
	return expect(!munmap((void *)page, 4096), "munmap");
}

int main(int argc, char **argv)
{
	const char *way = argc > 1 ? argv[1] : "";
	struct end e = {0};
	bool ok = false;

	if (!strcmp(way, "closefrom"))
		ok = closes_all(close_all);
	else if (!strcmp(way, "close_range"))
		ok = closes_all(close_all_in_range);
	else if (!strcmp(way, "loop"))
		ok = closes_all(close_loop);
	else if (!strcmp(way, "parts"))
		ok = closes_all(close_parts);
	else if (!strcmp(way, "raw"))
		ok = closes_raw();
	else if (!strcmp(way, "exec"))
		ok = becomes_another(argv[0]);
	else if (!strcmp(way, "munmap"))
		ok = unmaps_doorbell();
	else if (!strcmp(way, "again"))
		ok = open_and_use(&e);
	else if (!strcmp(way, "fork") || !strcmp(way, "vfork"))
		ok = child_closes(way[0] == 'v');
	else
		printf("no way '%s'\n", way);
	if (ok)
		printf("ok\n");
	return !ok;
}
