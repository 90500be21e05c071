// SPDX-License-Identifier: BSD-3-Clause
/*
 * Every transition of every service: those that there are not, attributes that are missing or too
 * many, values out of range. The table is IBTA 10.3.1 and table 94, as Linux has it (ib_core:
 * ib_modify_qp_is_ok), less what mlx5_ib has no command for (RTS to SQD).
 */
#include "sim_tests/progs/errno_check.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

enum { RC, UC, UD, INI, TGT, TYPES };
enum { STATES = IBV_QPS_ERR + 1, ATTR_BITS = 21 };

static const struct {
	const char *name;
	enum ibv_qp_type type;
	/* ib_uverbs drops these: XRC programs give both ends what an RC QP takes. */
	int ignored;
} types[TYPES] = {
	[RC] = {"RC", IBV_QPT_RC, 0},
	[UC] = {"UC", IBV_QPT_UC, 0},
	[UD] = {"UD", IBV_QPT_UD, 0},
	[INI] = {"XRC_SEND", IBV_QPT_XRC_SEND, IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER},
	[TGT] = {"XRC_RECV", IBV_QPT_XRC_RECV,
		 IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY},
};
static const char *const state_names[STATES] = {"RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR"};

#define PORT  (IBV_QP_PKEY_INDEX | IBV_QP_PORT)
#define PATH  (IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN)
#define RESP  (IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER)
#define REQ   (IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC)
#define ACCES IBV_QP_ACCESS_FLAGS
#define MIG   IBV_QP_PATH_MIG_STATE
#define CUR   IBV_QP_CUR_STATE
/* Alternate paths are known to the transitions, but not modelled: neither missing nor too many. */
#define ALT IBV_QP_ALT_PATH

static const struct step {
	enum ibv_qp_state from, to;
	int required[TYPES], optional[TYPES];
} steps[] = {
	{IBV_QPS_RESET,
	 IBV_QPS_INIT,
	 {PORT | ACCES, PORT | ACCES, PORT | IBV_QP_QKEY, PORT | ACCES, PORT | ACCES},
	 {0}},
	{IBV_QPS_INIT,
	 IBV_QPS_INIT,
	 {0},
	 {PORT | ACCES, PORT | ACCES, PORT | IBV_QP_QKEY, PORT | ACCES, PORT | ACCES}},
	{IBV_QPS_INIT,
	 IBV_QPS_RTR,
	 {PATH | RESP, PATH, 0, PATH, PATH | RESP},
	 {ALT | ACCES | IBV_QP_PKEY_INDEX, ALT | ACCES | IBV_QP_PKEY_INDEX,
	  IBV_QP_PKEY_INDEX | IBV_QP_QKEY, ALT | ACCES | IBV_QP_PKEY_INDEX,
	  ALT | ACCES | IBV_QP_PKEY_INDEX}},
	{IBV_QPS_RTR,
	 IBV_QPS_RTS,
	 {IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | REQ, IBV_QP_SQ_PSN, IBV_QP_SQ_PSN,
	  IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | REQ, IBV_QP_SQ_PSN | IBV_QP_TIMEOUT},
	 {CUR | ALT | ACCES | MIG | IBV_QP_MIN_RNR_TIMER, CUR | ALT | ACCES | MIG,
	  CUR | IBV_QP_QKEY, CUR | ALT | ACCES | MIG,
	  CUR | ALT | ACCES | MIG | IBV_QP_MIN_RNR_TIMER}},
	{IBV_QPS_RTS,
	 IBV_QPS_RTS,
	 {0},
	 {CUR | ALT | ACCES | MIG | IBV_QP_MIN_RNR_TIMER, CUR | ALT | ACCES | MIG,
	  CUR | IBV_QP_QKEY, CUR | ALT | ACCES | MIG,
	  CUR | ALT | ACCES | MIG | IBV_QP_MIN_RNR_TIMER}},
	{IBV_QPS_SQE, IBV_QPS_RTS, {0}, {0, CUR | ACCES, CUR | IBV_QP_QKEY}},
};

static const struct step *step_of(int from, int to)
{
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
		if ((int)steps[i].from == from && (int)steps[i].to == to)
			return &steps[i];
	return NULL;
}

/* To RESET from everywhere, to ERR from all but RESET, with nothing but the state. */
static bool is_step(int from, int to)
{
	return to == IBV_QPS_RESET || (to == IBV_QPS_ERR && from != IBV_QPS_RESET) ||
	       step_of(from, to);
}

/* ---- a QP in a state ---- */

static struct ibv_xrcd *xrcd;

static struct ibv_qp *make(int type)
{
	struct ibv_qp_init_attr_ex init = {
		.qp_type = types[type].type,
		.send_cq = ec.cq.cq,
		.recv_cq = type == INI ? NULL : ec.cq.cq,
		.cap = {.max_send_wr = 4,
			.max_recv_wr = type == INI ? 0 : 4,
			.max_send_sge = 1,
			.max_recv_sge = type == INI ? 0 : 1},
		.comp_mask = IBV_QP_INIT_ATTR_PD,
		.pd = ec.pd,
	};

	if (type == TGT)
		init = (struct ibv_qp_init_attr_ex){.qp_type = IBV_QPT_XRC_RECV,
						    .comp_mask = IBV_QP_INIT_ATTR_XRCD,
						    .xrcd = xrcd};
	return ibv_create_qp_ex(ec.dev.ctx, &init);
}

static struct ibv_qp_attr attributes(struct ibv_qp *qp, int from, int to)
{
	struct ibv_qp_attr attr = {
		.qp_state = (enum ibv_qp_state)to,
		.cur_qp_state = (enum ibv_qp_state)from,
		.port_num = 1,
		.path_mtu = ec.dev.port.active_mtu,
		.dest_qp_num = qp->qp_num,
		.qkey = 0x1234,
		.max_rd_atomic = 1,
		.max_dest_rd_atomic = 1,
		.min_rnr_timer = 1,
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.path_mig_state = IBV_MIG_MIGRATED,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE,
		.ah_attr = {.port_num = 1, .dlid = ec.dev.port.lid, .is_global = ec.ethernet},
	};

	attr.ah_attr.grh.dgid = ec.dev.gid;
	attr.ah_attr.grh.sgid_index = (uint8_t)ec.dev.gid_index;
	attr.ah_attr.grh.hop_limit = 64;
	return attr;
}

static int modify(struct ibv_qp *qp, int from, int to, int mask)
{
	struct ibv_qp_attr attr = attributes(qp, from, to);

	return ibv_modify_qp(qp, &attr, mask | IBV_QP_STATE);
}

/* A send with a key that is none: IBTA 10.3.1.5. The query tells the driver, too. */
static bool fail_send(struct ibv_qp *qp, int type)
{
	struct ibv_sge sge = {(uintptr_t)ec.mem, 64, ec.mr->lkey ^ 0x00345600};
	struct ibv_send_wr wr = {.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND}, *bad;
	struct ibv_qp_attr attr = attributes(qp, 0, 0);
	struct ibv_wc wc;
	bool ok;

	if (type == UD) {
		wr.wr.ud.ah = ibv_create_ah(ec.pd, &attr.ah_attr);
		wr.wr.ud.remote_qpn = qp->qp_num;
		wr.wr.ud.remote_qkey = 0x1234;
		if (!wr.wr.ud.ah)
			return false;
	}
	ok = !ibv_post_send(qp, &wr, &bad) && vp_next(&ec.cq, &wc, VP_WAIT_MS) == 1 &&
	     wc.status == IBV_WC_LOC_PROT_ERR && vp_qp_state(qp) == IBV_QPS_SQE;
	if (type == UD)
		ibv_destroy_ah(wr.wr.ud.ah);
	return ok;
}

/* NULL: there is no such state for it, or no way to it. */
static struct ibv_qp *make_in(int type, int state)
{
	struct ibv_qp *qp = make(type);
	bool ok = qp != NULL;

	for (int s = IBV_QPS_INIT; ok && s <= (state > IBV_QPS_RTS ? IBV_QPS_RTS : state); s++)
		ok = modify(qp, s - 1, s, step_of(s - 1, s)->required[type]) == 0;
	if (ok && state == IBV_QPS_SQE)
		ok = fail_send(qp, type);
	if (ok && state == IBV_QPS_ERR)
		ok = modify(qp, IBV_QPS_RTS, IBV_QPS_ERR, 0) == 0;
	if (ok)
		return qp;
	ec_check("a QP in the state to begin from", 0, errno ? errno : EIO, "errno_check");
	if (qp)
		ibv_destroy_qp(qp);
	return NULL;
}

/* ---- transitions ---- */

static const char source[] = "ib_core: ib_modify_qp_is_ok; mlx5_ib: __mlx5_ib_modify_qp";

/* One call for a QP in `from`; where it leaves the state, the QP is replaced. */
static void transition(struct ibv_qp **qp, int type, int from, int to, int mask, int want,
		       const char *what)
{
	char name[160];
	int got;

	if (!*qp)
		return;
	snprintf(name, sizeof(name), "%s %s to %s, %s (mask 0x%x)", types[type].name,
		 state_names[from], state_names[to], what, (unsigned)mask);
	got = modify(*qp, from, to, mask);
	ec_check(name, want, got, source);
	if (got && vp_qp_state(*qp) != from)
		ec_check("the state after a refusal", from, vp_qp_state(*qp), source);
	if (got)
		return;
	ec_check("the state after it", to, vp_qp_state(*qp), source);
	ibv_destroy_qp(*qp);
	*qp = make_in(type, from);
}

static void attributes_of_step(struct ibv_qp **qp, int type, const struct step *s)
{
	const int required = s->required[type], optional = s->optional[type];

	for (int n = 1; n < ATTR_BITS; n++) {
		int bit = 1 << n;

		if (bit & (ALT | types[type].ignored))
			continue;
		if (bit & required)
			transition(qp, type, s->from, s->to, required & ~bit, EINVAL,
				   "one missing");
		else if (bit & optional)
			transition(qp, type, s->from, s->to, required | bit, 0, "one optional");
		else
			transition(qp, type, s->from, s->to, required | bit, EINVAL,
				   "one too many");
	}
}

static void from_state(int type, int from)
{
	struct ibv_qp *qp = make_in(type, from);

	for (int to = 0; to < STATES; to++) {
		const struct step *s = step_of(from, to);
		int mask = s ? s->required[type] : 0;

		transition(&qp, type, from, to, mask, is_step(from, to) ? 0 : EINVAL,
			   "what it needs");
		if (s)
			attributes_of_step(&qp, type, s);
		else
			transition(&qp, type, from, to, IBV_QP_PKEY_INDEX, EINVAL, "one too many");
	}
	if (qp)
		ibv_destroy_qp(qp);
}

/* ---- values ---- */

#define VALUE_(what_, from_, to_, err_, field_, value_, source_)                                   \
	static void set_##what_(struct ibv_qp_attr *a)                                             \
	{                                                                                          \
		a->field_ = value_;                                                                \
	}
#define CORE  "ib_uverbs: modify_qp"
#define MLX5  "mlx5_ib: mlx5_ib_modify_qp"
#define GIDS  "ib_core: rdma_get_gid_attr"
#define BITS_ "mlx5_ib: MLX5_SET cuts it to its field"
/* Of an RC QP. */
#define VALUES_(X)                                                                                 \
	X(port_0, RESET, INIT, EINVAL, port_num, 0, CORE)                                          \
	X(port_2, RESET, INIT, EINVAL, port_num, 2, CORE)                                          \
	X(pkey_index, RESET, INIT, EINVAL, pkey_index, 0xffff, MLX5)                               \
	X(mtu_0, INIT, RTR, EINVAL, path_mtu, 0, MLX5)                                             \
	X(mtu_6, INIT, RTR, EINVAL, path_mtu, 6, MLX5)                                             \
	X(address_port_0, INIT, RTR, EINVAL, ah_attr.port_num, 0, CORE)                            \
	X(address_port_2, INIT, RTR, EINVAL, ah_attr.port_num, 2, CORE)                            \
	X(dest_rd_atomic, INIT, RTR, EINVAL, max_dest_rd_atomic, 255, MLX5)                        \
	X(rnr_timer_32, INIT, RTR, 0, min_rnr_timer, 32, BITS_)                                    \
	X(rd_atomic, RTR, RTS, EINVAL, max_rd_atomic, 255, MLX5)                                   \
	X(retry_8, RTR, RTS, 0, retry_cnt, 8, BITS_)                                               \
	X(rnr_retry_8, RTR, RTS, 0, rnr_retry, 8, BITS_)                                           \
	X(timeout_32, RTR, RTS, 0, timeout, 32, BITS_)                                             \
	X(cur_state_rts, RTR, RTS, EINVAL, cur_qp_state, IBV_QPS_INIT, MLX5)                       \
	X(cur_state_8, RTR, RTS, EINVAL, cur_qp_state, 8, CORE)                                    \
	X(state_8, RTR, RTS, EINVAL, qp_state, 8, CORE)                                            \
	X(rts_as_sqe, RTS, RTS, EINVAL, cur_qp_state, IBV_QPS_SQE, "the device: SQERR2RTS_QP")
/* On Ethernet only. */
#define ROCE_VALUES_(X)                                                                            \
	X(no_grh, INIT, RTR, EINVAL, ah_attr.is_global, 0, "ib_core: rdma_check_ah_attr")          \
	X(sgid_empty, INIT, RTR, ENODATA, ah_attr.grh.sgid_index, 1, GIDS)                         \
	X(sgid_255, INIT, RTR, EINVAL, ah_attr.grh.sgid_index, 255, GIDS)

VALUES_(VALUE_)
ROCE_VALUES_(VALUE_)

#define ROW_(what_, from_, to_, err_, field_, value_, source_)                                     \
	{#what_ ": " #field_ " = " #value_,                                                        \
	 IBV_QPS_##from_,                                                                          \
	 IBV_QPS_##to_,                                                                            \
	 err_,                                                                                     \
	 source_,                                                                                  \
	 set_##what_},
struct value {
	const char *name;
	enum ibv_qp_state from, to;
	int want;
	const char *source;
	void (*set)(struct ibv_qp_attr *attr);
};
static const struct value values[] = {VALUES_(ROW_)}, roce_values[] = {ROCE_VALUES_(ROW_)};

static void values_of(const struct value *v, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct ibv_qp *qp = make_in(RC, v[i].from);
		struct ibv_qp_init_attr init;
		struct ibv_qp_attr attr;
		int mask = step_of(v[i].from, v[i].to)->required[RC] | IBV_QP_STATE;

		if (!qp)
			continue;
		attr = attributes(qp, v[i].from, v[i].to);
		v[i].set(&attr);
		if (attr.cur_qp_state != v[i].from)
			mask |= IBV_QP_CUR_STATE;
		ec_check(v[i].name, v[i].want, ibv_modify_qp(qp, &attr, mask), v[i].source);
		if (!v[i].want && !ibv_query_qp(qp, &attr, IBV_QP_TIMEOUT, &init))
			ec_check("what is cut reads 0 or the default", 0,
				 attr.retry_cnt == 8 || attr.rnr_retry == 8 || attr.timeout == 32 ||
					 attr.min_rnr_timer == 32,
				 v[i].source);
		ibv_destroy_qp(qp);
	}
}

void ec_modify(void)
{
	struct ibv_xrcd_init_attr init = {.comp_mask =
						  IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
					  .fd = -1,
					  .oflags = O_CREAT};

	xrcd = ibv_open_xrcd(ec.dev.ctx, &init);
	if (!xrcd) {
		ec_check("a domain of XRC", 0, errno, "errno_check");
		return;
	}
	for (int type = 0; type < TYPES; type++) {
		for (int from = 0; from < STATES; from++) {
			/* mlx5_ib has no way to SQD, and only what is unreliable fails to SQE. */
			if (from != IBV_QPS_SQD &&
			    (from != IBV_QPS_SQE || type == UC || type == UD))
				from_state(type, from);
		}
	}
	values_of(values, sizeof(values) / sizeof(values[0]));
	if (ec.ethernet)
		values_of(roce_values, sizeof(roce_values) / sizeof(roce_values[0]));
	ec_check("closing the domain", 0, ibv_close_xrcd(xrcd), "errno_check");
}
