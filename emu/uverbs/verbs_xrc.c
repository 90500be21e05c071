// SPDX-License-Identifier: BSD-3-Clause
/*
 * XRC domains and the QPs that are targets. Both may be shared by contexts: a domain through the
 * file that names it, a target QP through its number in that domain (ibv_open_qp). In the NIC they
 * are the driver's.
 *
 * What is shared is shared within a process: another process has a NIC of its own, whose objects
 * its file's namesake does not reach. A domain that two processes open by one file is two domains,
 * and a request for a queue of the other is refused by the target.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "emu/uverbs/verbs_qp.h"

/* Guarded by xrc_lock, which is taken under a context's; only the world's is taken under it. */
struct uv_domain {
	struct uv_domain *next;
	uint8_t nic;
	bool named; /* by dev, ino; else private */
	uint64_t dev, ino;
	uint32_t xrcdn;
	uint32_t opens;
};

struct uv_target {
	struct uv_target *next;
	uint8_t nic;
	struct uv_domain *domain;
	uint32_t qpn;
	uint32_t opens;
};

struct uv_xrcd {
	struct uv_obj obj;
	struct uv_domain *domain;
};

static pthread_mutex_t xrc_lock = PTHREAD_MUTEX_INITIALIZER;
static struct uv_domain *domains;
static struct uv_target *targets;
static uint32_t target_pds[UV_MAX_NICS]; /* 0: not made yet */

/* In the child of a fork: all of it is the parent's. */
void uv_xrc_abandon(void)
{
	pthread_mutex_init(&xrc_lock, NULL);
	domains = NULL;
	targets = NULL;
	memset(target_pds, 0, sizeof(target_pds));
}

/* ---- domains ---- */

static struct uv_domain *find_domain(const struct stat *st)
{
	struct uv_domain *d = domains;

	while (d && (!d->named || d->nic != uv_nic_index() || d->dev != st->st_dev ||
		     d->ino != st->st_ino))
		d = d->next;
	return d;
}

static int new_domain(const struct stat *st, struct uv_domain **domain)
{
	struct uv_domain *d = calloc(1, sizeof(*d));
	int ret;

	if (!d)
		return -ENOMEM;
	ret = uv_command_simple(0, "ALLOC_XRCD", PRM_CMD_ALLOC_XRCD, 0, &d->xrcdn);
	if (ret) {
		free(d);
		return ret;
	}
	d->nic = (uint8_t)uv_nic_index();
	d->named = st != NULL;
	if (st) {
		d->dev = st->st_dev;
		d->ino = st->st_ino;
	}
	d->next = domains;
	domains = d;
	*domain = d;
	return 0;
}

/* The rules of O_CREAT and O_EXCL: ibv_open_xrcd(3). */
static int open_domain(int fd, uint32_t oflags, struct uv_domain **domain)
{
	struct stat st;

	if (fd < 0)
		return new_domain(NULL, domain);
	if (fstat(fd, &st))
		return uv_refuse(EBADF, "OPEN_XRCD: fd %d is not open", fd);
	*domain = find_domain(&st);
	if (*domain && (oflags & O_EXCL))
		return uv_refuse(EINVAL, "OPEN_XRCD: the file's domain exists, and O_EXCL");
	if (!*domain && !(oflags & O_CREAT))
		return uv_refuse(EAGAIN,
				 "OPEN_XRCD: the file has no domain in this process, and no "
				 "O_CREAT");
	return *domain ? 0 : new_domain(&st, domain);
}

static int close_domain(struct uv_domain *domain)
{
	struct uv_domain **p = &domains;
	int ret;

	if (domain->opens > 1) {
		domain->opens--;
		return 0;
	}
	ret = uv_command_simple(0, "DEALLOC_XRCD", PRM_CMD_DEALLOC_XRCD, domain->xrcdn, NULL);
	if (ret)
		return ret;
	while (*p != domain)
		p = &(*p)->next;
	*p = domain->next;
	free(domain);
	return 0;
}

int uv_w_open_xrcd(struct uv_req *req, const void *core_in, void *core_out)
{
	const struct ib_uverbs_open_xrcd *in = core_in;
	struct ib_uverbs_open_xrcd_resp *out = core_out;
	struct uv_xrcd *xrcd = uv_obj_new(req->ctx, UV_XRCD, sizeof(*xrcd), NULL, 0);
	int ret;

	if (!xrcd)
		return -ENOMEM;
	pthread_mutex_lock(&xrc_lock);
	ret = open_domain((int)in->fd, in->oflags, &xrcd->domain);
	if (!ret) {
		xrcd->domain->opens++;
		xrcd->obj.num = xrcd->domain->xrcdn;
	}
	pthread_mutex_unlock(&xrc_lock);
	if (ret) {
		uv_obj_free(req->ctx, &xrcd->obj);
		return ret;
	}
	out->xrcd_handle = xrcd->obj.handle;
	return 0;
}

int uv_xrcd_release(struct uv_ctx *ctx, struct uv_obj *obj)
{
	int ret;

	(void)ctx;
	pthread_mutex_lock(&xrc_lock);
	ret = close_domain(((struct uv_xrcd *)obj)->domain);
	pthread_mutex_unlock(&xrc_lock);
	return ret;
}

/* ---- targets ---- */

/* The PD of targets, which have none of their own: nothing is of it. */
static int target_pd(uint32_t *pdn)
{
	uint32_t *mine = &target_pds[uv_nic_index()];
	int ret = *mine ? 0 : uv_command_simple(0, "ALLOC_PD", PRM_CMD_ALLOC_PD, 0, mine);

	*pdn = *mine;
	return ret;
}

static int create_target(struct uv_domain *domain, uint32_t *qpn)
{
	uint8_t in[PRM_create_qp_in_SIZE] = {0}, out[PRM_obj_out_SIZE] = {0};
	uint8_t *qpc = PRM_PTR(create_qp_in, in, qpc);
	uint32_t pdn;
	int ret = target_pd(&pdn);

	if (ret)
		return ret;
	PRM_SET(cmd_in, in, opcode, PRM_CMD_CREATE_QP);
	PRM_SET(qpc, qpc, st, PRM_QP_ST_XRC);
	PRM_SET(qpc, qpc, pm_state, UV_PM_STATE_MIGRATED);
	PRM_SET(qpc, qpc, pd, pdn);
	PRM_SET(qpc, qpc, no_sq, 1);
	PRM_SET(qpc, qpc, rq_type, PRM_RQ_SRQ);
	PRM_SET(qpc, qpc, xrcd, domain->xrcdn);
	PRM_SET(qpc, qpc, user_index, 0xffffff);
	ret = uv_command(0, "CREATE_QP", in, sizeof(in), out, sizeof(out));
	*qpn = PRM_GET(obj_out, out, number);
	return ret;
}

static int new_target(struct uv_domain *domain, struct uv_target **target)
{
	struct uv_target *t = calloc(1, sizeof(*t));
	int ret;

	if (!t)
		return -ENOMEM;
	ret = create_target(domain, &t->qpn);
	if (ret) {
		free(t);
		return ret;
	}
	t->nic = (uint8_t)uv_nic_index();
	t->domain = domain;
	t->next = targets;
	targets = t;
	*target = t;
	return 0;
}

static int find_target(struct uv_domain *domain, uint32_t qpn, struct uv_target **target)
{
	struct uv_target *t = targets;

	while (t && (t->domain != domain || t->qpn != qpn))
		t = t->next;
	*target = t;
	return t ? 0
		 : uv_refuse(EINVAL, "OPEN_QP: QP 0x%x is not an XRC target of this domain", qpn);
}

int uv_target_open(struct uv_qp *qp, struct uv_obj *xrcd, uint32_t qpn)
{
	struct uv_domain *domain = ((struct uv_xrcd *)xrcd)->domain;
	int ret;

	pthread_mutex_lock(&xrc_lock);
	ret = qpn ? find_target(domain, qpn, &qp->target) : new_target(domain, &qp->target);
	if (!ret) {
		qp->target->opens++;
		qp->obj.num = qp->target->qpn;
		qp->uid = 0;
	}
	pthread_mutex_unlock(&xrc_lock);
	return ret;
}

int uv_target_close(struct uv_qp *qp)
{
	struct uv_target **p = &targets, *t = qp->target;
	int ret = 0;

	pthread_mutex_lock(&xrc_lock);
	if (t->opens == 1)
		ret = uv_qp_destroy_in_nic(0, t->qpn);
	if (!ret && --t->opens == 0) {
		while (*p != t)
			p = &(*p)->next;
		*p = t->next;
		free(t);
	}
	pthread_mutex_unlock(&xrc_lock);
	return ret;
}

/* Another handle of a target: of one process, so of one NIC. */
int uv_w_open_qp(struct uv_req *req, const void *core_in, void *core_out)
{
	const struct ib_uverbs_open_qp *in = core_in;
	struct ib_uverbs_create_qp_resp *out = core_out;
	struct uv_obj *xrcd = uv_obj_find(req->ctx, in->pd_handle);
	struct uv_qp *qp;
	int ret;

	if (!xrcd || xrcd->kind != UV_XRCD)
		return uv_refuse(EINVAL, "OPEN_QP: handle %u is not an XRC domain", in->pd_handle);
	if (in->qp_type != IB_UVERBS_QPT_XRC_TGT)
		return uv_refuse(EINVAL, "OPEN_QP: QP type %s, expected XRC_TGT",
				 uv_name_of_qp_type(in->qp_type));
	if (!in->qpn)
		return uv_refuse(EINVAL, "OPEN_QP: QP 0 is not an XRC target");
	qp = uv_obj_new(req->ctx, UV_QP, sizeof(*qp), &xrcd, 1);
	if (!qp)
		return -ENOMEM;
	qp->type = IB_UVERBS_QPT_XRC_TGT;
	qp->route.user_handle = in->user_handle;
	qp->route.async = req->ctx->async;
	ret = uv_target_open(qp, xrcd, in->qpn);
	if (ret) {
		uv_obj_free(req->ctx, &qp->obj);
		return ret;
	}
	uv_events_add_qp(&qp->route, qp->obj.num);
	out->qp_handle = qp->obj.handle;
	out->qpn = qp->obj.num;
	return 0;
}
