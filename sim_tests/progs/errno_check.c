// SPDX-License-Identifier: BSD-3-Clause
/*
 * What a refused call gives: errno_check [-d DEVICE] [-g GID_INDEX] [-v]
 *
 * Tables of calls that a ConnectX's driver refuses, with the errno and where it comes from:
 * libmlx5, libibverbs, the kernel's ib_uverbs and ib_core, or mlx5_ib. After each table data moves,
 * so that a refusal left nothing behind. Ends with "N calls as expected, N not"; -v names each.
 */
#include "sim_tests/progs/errno_check.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct ec_rig ec;
static uint32_t good, wrong;
static bool verbose;

static const char *name_of(int err)
{
	if (err == EC_NO_ERRNO)
		return "refused without errno";
	return err ? strerrorname_np(err) : "success";
}

int ec_errno(void)
{
	return errno ? errno : EC_NO_ERRNO;
}

void ec_check(const char *name, int want, int got, const char *source)
{
	if (want == got)
		good++;
	else
		wrong++;
	if (want != got)
		printf("FAIL %s: %s, expected %s (%s)\n", name, name_of(got), name_of(want),
		       source);
	else if (verbose)
		printf("ok   %s: %s (%s)\n", name, name_of(got), source);
}

static bool set_up(const char *device, int gid_index)
{
	if (vp_open(&ec.dev, device, gid_index) || ibv_query_device(ec.dev.ctx, &ec.attr))
		return false;
	ec.ethernet = ec.dev.port.link_layer == IBV_LINK_LAYER_ETHERNET;
	ec.pd = ibv_alloc_pd(ec.dev.ctx);
	ec.mem = aligned_alloc(4096, EC_BYTES);
	if (!ec.pd || !ec.mem || vp_cq_open(&ec.dev, &ec.cq, 256, false))
		return false;
	memset(ec.mem, 0, EC_BYTES);
	ec.mr = ibv_reg_mr(ec.pd, ec.mem, EC_BYTES,
			   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
				   IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC);
	return ec.mr != NULL;
}

/* A QP connected to itself writes half of the buffer to the other half. */
static int works(void)
{
	static const struct vp_qp_opts opts;
	static uint32_t seed;
	struct ibv_sge sge = {(uintptr_t)ec.mem, EC_BYTES / 2, ec.mr->lkey};
	struct ibv_send_wr wr = {.sg_list = &sge,
				 .num_sge = 1,
				 .opcode = IBV_WR_RDMA_WRITE,
				 .send_flags = IBV_SEND_SIGNALED},
			   *bad;
	struct ibv_qp *qp = vp_qp_open(ec.pd, &ec.cq, &ec.cq, &opts, NULL);
	struct vp_dest dest;
	struct ibv_wc wc;
	int err = EIO;

	if (!qp)
		return err;
	vp_qp_dest(&ec.dev, qp, &opts, &dest);
	vp_fill(ec.mem, EC_BYTES / 2, ++seed);
	wr.wr.rdma.remote_addr = (uintptr_t)ec.mem + EC_BYTES / 2;
	wr.wr.rdma.rkey = ec.mr->rkey;
	if (!vp_qp_connect(&ec.dev, qp, &opts, &dest) && !ibv_post_send(qp, &wr, &bad) &&
	    vp_next(&ec.cq, &wc, VP_WAIT_MS) == 1 && wc.status == IBV_WC_SUCCESS &&
	    vp_wrong(ec.mem + EC_BYTES / 2, EC_BYTES / 2, seed) < 0)
		err = 0;
	return ibv_destroy_qp(qp) ? EBUSY : err;
}

static int tear_down(void)
{
	int err = ibv_dereg_mr(ec.mr);

	vp_cq_close(&ec.cq);
	if (!err)
		err = ibv_dealloc_pd(ec.pd); /* EBUSY: something was left behind */
	vp_close(&ec.dev);
	free(ec.mem);
	return err;
}

int main(int argc, char **argv)
{
	static void (*const tables[])(void) = {ec_create, ec_destroy, ec_stale, ec_modify};
	const char *device = NULL;
	int gid_index = 0, opt;

	while ((opt = getopt(argc, argv, "d:g:v")) != -1) {
		if (opt == 'd')
			device = optarg;
		else if (opt == 'g')
			gid_index = atoi(optarg);
		else if (opt == 'v')
			verbose = true;
		else
			return 2;
	}
	if (!set_up(device, gid_index)) {
		perror("errno_check: set-up");
		return 2;
	}
	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		tables[i]();
		ec_check("data moves afterwards", 0, works(), "errno_check");
	}
	ec_check("all is given back", 0, tear_down(), "errno_check");
	printf("%u calls as expected, %u not\n", good, wrong);
	return wrong != 0;
}
