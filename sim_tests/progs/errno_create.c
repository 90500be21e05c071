// SPDX-License-Identifier: BSD-3-Clause
/*
 * Objects that are refused to be made, to be destroyed while others need them, and handles of what
 * is gone. Beside each call: who refuses it on a ConnectX.
 */
#include "sim_tests/progs/errno_check.h"

#include <errno.h>
#include <fcntl.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/rdma_user_ioctl.h>
#include <rdma/rdma_user_ioctl_cmds.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#define LIB    "libmlx5"
#define UMEM   "ib_core: ib_umem_get"
#define CHECK  "ib_core: ib_check_mr_access"
#define XRCD   "ib_uverbs: ib_uverbs_open_xrcd"
#define IOCTL_ "ib_uverbs: rdma_lookup_get_uobject, by ioctl"
#define WRITE_ "ib_uverbs: uobj_get_read, by command"

/* ---- create ---- */

static void cqs(void)
{
	static const struct {
		const char *name;
		int depth_over_max, depth, vector, want;
		const char *source;
	} rows[] = {
		{"CQ of no entry", 0, 0, 0, EINVAL, LIB},
		{"CQ of -1 entries", 0, -1, 0, EINVAL, LIB},
		{"CQ of one more than the device has", 1, 0, 0, EINVAL, "mlx5_ib: create_cq"},
		{"CQ of 2^30 entries", 0, 1 << 30, 0, EINVAL, LIB},
		{"CQ on vector 1000", 0, 16, 1000, EINVAL, "ib_uverbs: create_cq"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int depth = rows[i].depth_over_max ? ec.attr.max_cqe + rows[i].depth_over_max
						   : rows[i].depth;
		struct ibv_cq *cq;

		errno = 0;
		cq = ibv_create_cq(ec.dev.ctx, depth, NULL, NULL, rows[i].vector);
		ec_check(rows[i].name, rows[i].want, cq ? 0 : ec_errno(), rows[i].source);
		if (cq)
			ibv_destroy_cq(cq);
	}
}

static struct ibv_qp_init_attr qp_init(void)
{
	return (struct ibv_qp_init_attr){
		.qp_type = IBV_QPT_RC,
		.send_cq = ec.cq.cq,
		.recv_cq = ec.cq.cq,
		.cap = {.max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1}};
}

static void qp(const char *name, struct ibv_qp_init_attr *init, int want, const char *source)
{
	struct ibv_qp *made;

	errno = 0;
	made = ibv_create_qp(ec.pd, init);
	ec_check(name, want, made ? 0 : ec_errno(), source);
	if (made)
		ibv_destroy_qp(made);
}

static void qps(void)
{
	static const struct {
		const char *name;
		size_t field;
	} caps[] = {
		{"QP of too many send WRs", offsetof(struct ibv_qp_cap, max_send_wr)},
		{"QP of too many receive WRs", offsetof(struct ibv_qp_cap, max_recv_wr)},
		{"QP of too many send SGEs", offsetof(struct ibv_qp_cap, max_send_sge)},
		{"QP of too many receive SGEs", offsetof(struct ibv_qp_cap, max_recv_sge)},
		{"QP of too much inline data", offsetof(struct ibv_qp_cap, max_inline_data)},
	};
	struct ibv_qp_init_attr init;

	for (size_t i = 0; i < sizeof(caps) / sizeof(caps[0]); i++) {
		init = qp_init();
		*(uint32_t *)((char *)&init.cap + caps[i].field) = 1 << 20;
		qp(caps[i].name, &init, EINVAL, LIB);
	}
	init = qp_init();
	init.cap.max_send_wr = (uint32_t)ec.attr.max_qp_wr + 1;
	qp("QP of one send WR more than the device has", &init, EINVAL, LIB);
	init = qp_init();
	init.cap.max_recv_wr = (uint32_t)ec.attr.max_qp_wr + 1;
	qp("QP of one receive WR more than the device has", &init, EINVAL, LIB);
	init = qp_init();
	init.qp_type = (enum ibv_qp_type)77;
	qp("QP of type 77", &init, EINVAL, LIB);
}

static void srqs(void)
{
	static const struct {
		const char *name;
		uint32_t over_wr, over_sge;
	} rows[] = {{"SRQ of too many WRs", 1, 0}, {"SRQ of too many SGEs", 0, 1}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct ibv_srq_init_attr init = {
			.attr = {.max_wr = rows[i].over_wr ? (uint32_t)ec.attr.max_srq_wr + 1 : 16,
				 .max_sge =
					 rows[i].over_sge ? (uint32_t)ec.attr.max_srq_sge + 1 : 1}};
		struct ibv_srq *srq;

		errno = 0;
		srq = ibv_create_srq(ec.pd, &init);
		ec_check(rows[i].name, EINVAL, srq ? 0 : ec_errno(), LIB);
		if (srq)
			ibv_destroy_srq(srq);
	}
}

static void srq_modify(void)
{
	struct ibv_srq_init_attr init = {.attr = {.max_wr = 16, .max_sge = 1}};
	struct ibv_srq_attr attr = {.max_wr = 32, .srq_limit = 1u << 20};
	struct ibv_srq *srq = ibv_create_srq(ec.pd, &init);

	if (!srq) {
		ec_check("an SRQ", 0, errno, "errno_check");
		return;
	}
	ec_check("SRQ resized", EINVAL, ibv_modify_srq(srq, &attr, IBV_SRQ_MAX_WR),
		 "mlx5_ib: mlx5_ib_modify_srq");
	ec_check("SRQ limit above its size", EINVAL, ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT),
		 "mlx5_ib: mlx5_ib_modify_srq");
	ec_check("SRQ destroyed", 0, ibv_destroy_srq(srq), "errno_check");
}

static void mr(const char *name, void *addr, size_t len, unsigned int access, int want,
	       const char *source)
{
	struct ibv_mr *made;

	errno = 0;
	made = ibv_reg_mr(ec.pd, addr, len, access);
	ec_check(name, want, made ? 0 : ec_errno(), source);
	if (made)
		ibv_dereg_mr(made);
}

static void *pages(int prot)
{
	return mmap(NULL, 3 * 4096, prot, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static void mrs(void)
{
	uint8_t *readable = pages(PROT_READ), *hole = pages(PROT_READ | PROT_WRITE),
		*none = pages(PROT_NONE);

	munmap(hole + 4096, 4096);
	mr("MR of memory that is not there", hole + 4096, 4096, 0, EFAULT, UMEM);
	mr("MR with a hole", hole, 3 * 4096, 0, EFAULT, UMEM);
	mr("MR of memory without access", none, 4096, 0, EFAULT, UMEM);
	mr("MR to write memory that is only readable", readable, 4096, IBV_ACCESS_LOCAL_WRITE,
	   EFAULT, UMEM);
	mr("MR to read it", readable, 4096, 0, 0, UMEM);
	mr("MR of no byte", ec.mem, 0, 0, EINVAL, UMEM);
	mr("MR that passes the end of memory", (void *)(uintptr_t)-4096, 8192, 0, EINVAL, UMEM);
	mr("MR of remote write without local write", ec.mem, 4096, IBV_ACCESS_REMOTE_WRITE, EINVAL,
	   CHECK);
	mr("MR of remote atomic without local write", ec.mem, 4096, IBV_ACCESS_REMOTE_ATOMIC,
	   EINVAL, CHECK);
	mr("MR of an access that there is not", ec.mem, 4096, 1 << 15, EINVAL, CHECK);
	munmap(readable, 3 * 4096);
	munmap(hole, 4096);
	munmap(hole + 8192, 4096);
	munmap(none, 3 * 4096);
}

static void ah(const char *name, const struct ibv_ah_attr *attr, int want, const char *source)
{
	struct ibv_ah_attr copy = *attr;
	struct ibv_ah *made;

	errno = 0;
	made = ibv_create_ah(ec.pd, &copy);
	ec_check(name, want, made ? 0 : ec_errno(), source);
	if (made)
		ibv_destroy_ah(made);
}

static void ahs(void)
{
	struct ibv_ah_attr good = {.port_num = 1,
				   .dlid = ec.dev.port.lid,
				   .is_global = ec.ethernet},
			   bad;

	good.grh.dgid = ec.dev.gid;
	good.grh.sgid_index = (uint8_t)ec.dev.gid_index;
	ah("AH", &good, 0, LIB);
	bad = good;
	bad.port_num = 0;
	ah("AH at port 0", &bad, EC_NO_ERRNO, LIB);
	bad.port_num = 2;
	ah("AH at port 2", &bad, EC_NO_ERRNO, LIB);
	bad = good;
	bad.sl = 16;
	ah("AH of service level 16", &bad, 0, "mlx5_ib: create_ah_ib takes the low bits");
	if (!ec.ethernet)
		return;
	bad = good;
	bad.is_global = 0;
	ah("AH without a GRH on Ethernet", &bad, EINVAL, LIB);
	bad = good;
	bad.grh.sgid_index = 1;
	ah("AH from an empty GID entry", &bad, ENODATA, "ib_core: rdma_get_gid_attr");
}

static void rest(void)
{
	struct ibv_xrcd_init_attr init = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS, .fd = -1};
	struct ibv_alloc_dm_attr dm = {.length = 1u << 30};
	struct ibv_xrcd *xrcd;
	struct ibv_dm *memory;
	struct ibv_mw *mw;

	errno = 0;
	mw = ibv_alloc_mw(ec.pd, (enum ibv_mw_type)3);
	ec_check("window of type 3", EINVAL, mw ? 0 : ec_errno(), "mlx5_ib: mlx5_ib_alloc_mw");
	errno = 0;
	xrcd = ibv_open_xrcd(ec.dev.ctx, &init);
	ec_check("XRC domain of no file", 0, xrcd ? 0 : ec_errno(), XRCD);
	if (xrcd)
		ibv_close_xrcd(xrcd);
	init.fd = ec.dev.ctx->cmd_fd; /* any file */
	errno = 0;
	xrcd = ibv_open_xrcd(ec.dev.ctx, &init);
	ec_check("XRC domain of a file without O_CREAT", EAGAIN, xrcd ? 0 : ec_errno(), XRCD);
	init.fd = 9999;
	init.oflags = O_CREAT;
	errno = 0;
	xrcd = ibv_open_xrcd(ec.dev.ctx, &init);
	ec_check("XRC domain of a descriptor that is none", EBADF, xrcd ? 0 : ec_errno(), XRCD);
	errno = 0;
	memory = ibv_alloc_dm(ec.dev.ctx, &dm);
	ec_check("device memory of 1 GiB", EINVAL, memory ? 0 : ec_errno(), LIB);
}

/* A PD that is none: its handle is of another kind, or of nothing. */
static void in_pd(uint32_t handle, int by_command, int by_ioctl, const char *whose)
{
	struct ibv_srq_init_attr srq_init = {.attr = {.max_wr = 16, .max_sge = 1}};
	struct ibv_qp_init_attr init = qp_init();
	const uint32_t own = ec.pd->handle;
	struct ibv_srq *srq;
	struct ibv_mw *mw;
	char name[80];

	ec.pd->handle = handle;
	snprintf(name, sizeof(name), "MR in a PD that is %s", whose);
	mr(name, ec.mem, 4096, 0, by_command, WRITE_);
	snprintf(name, sizeof(name), "QP in a PD that is %s", whose);
	qp(name, &init, by_ioctl, IOCTL_);
	errno = 0;
	srq = ibv_create_srq(ec.pd, &srq_init);
	snprintf(name, sizeof(name), "SRQ in a PD that is %s", whose);
	ec_check(name, by_ioctl, srq ? 0 : ec_errno(), IOCTL_);
	errno = 0;
	mw = ibv_alloc_mw(ec.pd, IBV_MW_TYPE_1);
	snprintf(name, sizeof(name), "window in a PD that is %s", whose);
	ec_check(name, by_command, mw ? 0 : ec_errno(), WRITE_);
	ec.pd->handle = own;
}

void ec_create(void)
{
	in_pd(UINT32_MAX, EINVAL, ENOENT, "none");
	in_pd(ec.mr->handle, EINVAL, EINVAL, "an MR");
	cqs();
	qps();
	srqs();
	srq_modify();
	mrs();
	ahs();
	rest();
}

/* ---- destroy while in use ---- */

#define USE "ib_core: rdma_remove_commit_uobject; usecnt"

static void busy_groups(void)
{
	static const union ibv_gid group = {.raw = {0xff, 0x12, 0xa0, 0x1b, 0xff, [15] = 9}};
	struct ibv_qp_init_attr init = qp_init();
	struct ibv_qp *rc = ibv_create_qp(ec.pd, &init), *ud;

	init = qp_init();
	init.qp_type = IBV_QPT_UD;
	ud = ibv_create_qp(ec.pd, &init);
	if (!rc || !ud) {
		ec_check("QPs for groups", 0, errno, "errno_check");
		return;
	}
	ec_check("RC QP into a group", EINVAL, ibv_attach_mcast(rc, &group, 0xc001),
		 "ib_core: ib_attach_mcast");
	ec_check("UD QP into what is no group", EINVAL, ibv_attach_mcast(ud, &ec.dev.gid, 0xc001),
		 "ib_core: ib_attach_mcast");
	ec_check("UD QP out of a group that it is not in", EINVAL,
		 ibv_detach_mcast(ud, &group, 0xc001), "ib_uverbs: ib_uverbs_detach_mcast");
	ec_check("UD QP into a group", 0, ibv_attach_mcast(ud, &group, 0xc001), "ib_core");
	ec_check("QP that is in a group", EBUSY, ibv_destroy_qp(ud), "ib_uverbs: uverbs_free_qp");
	ec_check("UD QP out of the group", 0, ibv_detach_mcast(ud, &group, 0xc001), "ib_core");
	ec_check("QP", 0, ibv_destroy_qp(ud), USE);
	ec_check("QP", 0, ibv_destroy_qp(rc), USE);
}

void ec_destroy(void)
{
	struct ibv_srq_init_attr srq_init = {.attr = {.max_wr = 16, .max_sge = 1}};
	struct ibv_qp_init_attr init = qp_init();
	struct ibv_pd *pd = ibv_alloc_pd(ec.dev.ctx);
	struct ibv_comp_channel *chan = ibv_create_comp_channel(ec.dev.ctx);
	struct ibv_cq *cq = ibv_create_cq(ec.dev.ctx, 16, NULL, chan, 0);
	struct ibv_srq *srq = ibv_create_srq(pd, &srq_init);
	struct ibv_mr *mr = ibv_reg_mr(pd, ec.mem, 4096, IBV_ACCESS_LOCAL_WRITE);
	struct ibv_mw *mw = ibv_alloc_mw(pd, IBV_MW_TYPE_1);
	struct ibv_qp *qp;

	init.send_cq = init.recv_cq = cq;
	init.srq = srq;
	qp = srq ? ibv_create_qp(pd, &init) : NULL;
	if (!qp || !mr || !mw) {
		ec_check("objects that need each other", 0, errno ? errno : EIO, "errno_check");
		return;
	}
	ec_check("PD with a QP, an SRQ, an MR and a window", EBUSY, ibv_dealloc_pd(pd), USE);
	ec_check("CQ of a QP", EBUSY, ibv_destroy_cq(cq), USE);
	ec_check("SRQ of a QP", EBUSY, ibv_destroy_srq(srq), USE);
	ec_check("channel of a CQ", EBUSY, ibv_destroy_comp_channel(chan), "libibverbs");
	ec_check("QP", 0, ibv_destroy_qp(qp), USE);
	ec_check("SRQ", 0, ibv_destroy_srq(srq), USE);
	ec_check("CQ", 0, ibv_destroy_cq(cq), USE);
	ec_check("channel", 0, ibv_destroy_comp_channel(chan), "libibverbs");
	ec_check("PD with an MR and a window", EBUSY, ibv_dealloc_pd(pd), USE);
	ec_check("MR", 0, ibv_dereg_mr(mr), USE);
	ec_check("PD with a window", EBUSY, ibv_dealloc_pd(pd), USE);
	ec_check("window", 0, ibv_dealloc_mw(mw), USE);
	ec_check("PD", 0, ibv_dealloc_pd(pd), USE);
	busy_groups();
}

/* ---- handles of what is gone, by the kernel's own interface ---- */

enum { MAX_ATTRS = 4 };

static int call(uint16_t object, uint16_t method, const struct ib_uverbs_attr *attrs, uint16_t n)
{
	struct {
		struct ib_uverbs_ioctl_hdr hdr;
		struct ib_uverbs_attr attrs[MAX_ATTRS];
	} cmd = {.hdr = {.length = (uint16_t)(sizeof(cmd.hdr) + n * sizeof(attrs[0])),
			 .object_id = object,
			 .method_id = method,
			 .num_attrs = n,
			 .driver_id = RDMA_DRIVER_MLX5}};

	memcpy(cmd.attrs, attrs, n * sizeof(attrs[0]));
	return ioctl(ec.dev.ctx->cmd_fd, RDMA_VERBS_IOCTL, &cmd) ? errno : 0;
}

static struct ib_uverbs_attr handle_attr(uint16_t id, uint32_t handle)
{
	return (struct ib_uverbs_attr){
		.attr_id = id, .flags = UVERBS_ATTR_F_MANDATORY, .data = handle};
}

static struct ib_uverbs_attr ptr_attr(uint16_t id, const void *ptr, uint16_t len)
{
	return (struct ib_uverbs_attr){.attr_id = id,
				       .flags = UVERBS_ATTR_F_MANDATORY,
				       .len = len,
				       .data = (uintptr_t)ptr};
}

static int destroy(uint16_t object, uint16_t method, uint16_t attr, uint32_t handle)
{
	struct ib_uverbs_attr a = handle_attr(attr, handle);

	return call(object, method, &a, 1);
}

static int destroy_qp(uint32_t handle)
{
	struct ib_uverbs_destroy_qp_resp resp;
	const struct ib_uverbs_attr attrs[] = {
		handle_attr(UVERBS_ATTR_DESTROY_QP_HANDLE, handle),
		ptr_attr(UVERBS_ATTR_DESTROY_QP_RESP, &resp, sizeof(resp))};

	return call(UVERBS_OBJECT_QP, UVERBS_METHOD_QP_DESTROY, attrs, 2);
}

/* One of the commands that older libraries write(). */
static int command(uint32_t number, const void *in, size_t in_len, void *out, size_t out_len)
{
	const struct ib_uverbs_attr attrs[] = {
		ptr_attr(UVERBS_ATTR_WRITE_CMD, (const void *)(uintptr_t)number, sizeof(uint64_t)),
		ptr_attr(UVERBS_ATTR_CORE_IN, in, (uint16_t)in_len),
		ptr_attr(UVERBS_ATTR_CORE_OUT, out, (uint16_t)out_len)};

	return call(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_INVOKE_WRITE, attrs, out_len ? 3 : 2);
}

static void stale_qp(uint32_t handle, const char *whose)
{
	struct ib_uverbs_modify_qp modify = {
		.qp_handle = handle, .attr_mask = IBV_QP_STATE, .qp_state = IBV_QPS_ERR};
	struct ib_uverbs_query_qp query = {.qp_handle = handle};
	struct ib_uverbs_query_qp_resp resp;
	char name[80];

	snprintf(name, sizeof(name), "MODIFY_QP, %s", whose);
	ec_check(name, EINVAL,
		 command(IB_USER_VERBS_CMD_MODIFY_QP, &modify, sizeof(modify), NULL, 0), WRITE_);
	snprintf(name, sizeof(name), "QUERY_QP, %s", whose);
	ec_check(name, EINVAL,
		 command(IB_USER_VERBS_CMD_QUERY_QP, &query, sizeof(query), &resp, sizeof(resp)),
		 WRITE_);
}

void ec_stale(void)
{
	struct ibv_qp_init_attr init = qp_init();
	struct ibv_qp *qp = ibv_create_qp(ec.pd, &init);
	struct ibv_mr *mr = ibv_reg_mr(ec.pd, ec.mem, 4096, 0);
	struct ibv_pd *pd = ibv_alloc_pd(ec.dev.ctx);
	struct ibv_mw *mw = ibv_alloc_mw(ec.pd, IBV_MW_TYPE_2);
	uint32_t qp_handle, mr_handle, pd_handle, mw_handle;

	if (!qp || !mr || !pd || !mw) {
		ec_check("objects to destroy", 0, errno, "errno_check");
		return;
	}
	ec_check("QP_DESTROY with a handle of a CQ", EINVAL, destroy_qp(ec.cq.cq->handle), IOCTL_);
	ec_check("PD_DESTROY with a handle of an MR", EINVAL,
		 destroy(UVERBS_OBJECT_PD, UVERBS_METHOD_PD_DESTROY, UVERBS_ATTR_DESTROY_PD_HANDLE,
			 mr->handle),
		 IOCTL_);
	stale_qp(mr->handle, "handle of an MR");
	qp_handle = qp->handle;
	mr_handle = mr->handle;
	pd_handle = pd->handle;
	mw_handle = mw->handle;
	if (ibv_destroy_qp(qp) || ibv_dereg_mr(mr) || ibv_dealloc_pd(pd) || ibv_dealloc_mw(mw)) {
		ec_check("destroying them", 0, errno ? errno : EIO, "errno_check");
		return;
	}
	ec_check("QP_DESTROY once more", ENOENT, destroy_qp(qp_handle), IOCTL_);
	ec_check("MR_DESTROY once more", ENOENT,
		 destroy(UVERBS_OBJECT_MR, UVERBS_METHOD_MR_DESTROY, UVERBS_ATTR_DESTROY_MR_HANDLE,
			 mr_handle),
		 IOCTL_);
	ec_check("PD_DESTROY once more", ENOENT,
		 destroy(UVERBS_OBJECT_PD, UVERBS_METHOD_PD_DESTROY, UVERBS_ATTR_DESTROY_PD_HANDLE,
			 pd_handle),
		 IOCTL_);
	ec_check("MW_DESTROY once more", ENOENT,
		 destroy(UVERBS_OBJECT_MW, UVERBS_METHOD_MW_DESTROY, UVERBS_ATTR_DESTROY_MW_HANDLE,
			 mw_handle),
		 IOCTL_);
	stale_qp(qp_handle, "destroyed");
	stale_qp(UINT32_MAX, "handle of nothing");
}
