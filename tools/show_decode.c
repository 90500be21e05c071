// SPDX-License-Identifier: BSD-3-Clause
/* Names and fields of what a NIC sees. Numbers: enum prm_*, IBTA table 38. */
#include <string.h>

#include "emu/nicmodel/cq.h"
#include "emu/nicmodel/roce.h"
#include "emu/nicmodel/roce_wire.h"
#include "tools/show.h"

struct name {
	uint32_t number;
	const char *name;
};

#define FIND(table, n) find(table, sizeof(table) / sizeof((table)[0]), n)
static const char *find(const struct name *table, size_t count, uint32_t number)
{
	for (size_t i = 0; i < count; i++)
		if (table[i].number == number)
			return table[i].name;
	return "unknown";
}

#define COMMAND_(name, opcode) {opcode, #name},
static const struct name commands[] = {PRM_COMMANDS(COMMAND_)};

#define CQE(n)                                                                                     \
	{                                                                                          \
		PRM_CQE_##n, #n                                                                    \
	}
#define SYND(n)                                                                                    \
	{                                                                                          \
		PRM_SYND_##n, #n                                                                   \
	}
#define STATE(n)                                                                                   \
	{                                                                                          \
		PRM_QP_##n, #n                                                                     \
	}
#define EVENT(n)                                                                                   \
	{                                                                                          \
		PRM_EVENT_##n, #n                                                                  \
	}
static const struct name cqes[] = {
	CQE(REQ),	CQE(RESP_WR_IMM), CQE(RESP_SEND), CQE(RESP_SEND_IMM), CQE(RESP_SEND_INV),
	CQE(RESIZE_CQ), CQE(REQ_ERR),	  CQE(RESP_ERR),  CQE(INVALID),
};
static const struct name syndromes[] = {
	SYND(LOCAL_LENGTH),   SYND(LOCAL_QP_OP), SYND(LOCAL_PROT),   SYND(WR_FLUSH),
	SYND(MW_BIND),	      SYND(BAD_RESP),	 SYND(LOCAL_ACCESS), SYND(REMOTE_INVAL_REQ),
	SYND(REMOTE_ACCESS),  SYND(REMOTE_OP),	 SYND(RETRY_EXC),    SYND(RNR_RETRY_EXC),
	SYND(REMOTE_ABORTED),
};
static const struct name states[] = {
	STATE(RST),  STATE(INIT), STATE(RTR), STATE(RTS),
	STATE(SQER), STATE(SQD),  STATE(ERR), {NM_QP_GONE, "gone"},
};
static const struct name events[] = {
	EVENT(COMP),
	EVENT(PATH_MIG),
	EVENT(COMM_EST),
	EVENT(SQ_DRAINED),
	EVENT(CQ_ERROR),
	EVENT(WQ_CATAS_ERROR),
	EVENT(PORT_CHANGE),
	EVENT(WQ_INVAL_REQ_ERROR),
	EVENT(WQ_ACCESS_ERROR),
	EVENT(SRQ_CATAS_ERROR),
	EVENT(SRQ_LAST_WQE),
	EVENT(SRQ_RQ_LIMIT),
};
static const struct name fates[] = {
	{REC_PASSED, "passed"},
	{REC_DROPPED, "dropped"},
	{REC_TWICE, "twice"},
	{REC_FAILED, "failed"},
};

/* BTH opcode bits 4:0, for RC, UC, UD and XRC alike (bits 7:5). */
static const char *const packets[0x20] = {
	"SEND first",
	"SEND middle",
	"SEND last",
	"SEND last imm",
	"SEND only",
	"SEND only imm",
	"WRITE first",
	"WRITE middle",
	"WRITE last",
	"WRITE last imm",
	"WRITE only",
	"WRITE only imm",
	"READ request",
	"READ response first",
	"READ response middle",
	"READ response last",
	"READ response only",
	"ACK",
	"atomic ACK",
	"compare-swap",
	"fetch-add",
	NULL,
	"SEND last inv",
	"SEND only inv",
};
static const char *const services[8] = {"RC", "UC", "RD", "UD", "", "XRC", "", ""};

const char *name_of_command(uint16_t opcode)
{
	return FIND(commands, opcode);
}

const char *name_of_wqe(uint8_t opcode)
{
	const char *name = prm_wqe_name(opcode);

	return name ? name : "unknown";
}

const char *name_of_cqe(uint8_t opcode)
{
	return FIND(cqes, opcode);
}

const char *name_of_syndrome(uint8_t syndrome)
{
	return FIND(syndromes, syndrome);
}

const char *name_of_state(uint32_t state)
{
	return FIND(states, state);
}

const char *name_of_event(uint8_t type)
{
	return FIND(events, type);
}

const char *name_of_packet(uint8_t bth_opcode)
{
	const char *name = packets[bth_opcode & 0x1f];

	if (bth_opcode == 0x81)
		return "CNP";
	if (bth_opcode == 0xc0 || bth_opcode == 0xc1)
		return bth_opcode & 1 ? "masked fetch-add" : "masked compare-swap";
	return name ? name : "unknown";
}

uint32_t kinds_of(const char *list, const char **bad, size_t *bad_len)
{
	uint32_t kinds = 0;

	do {
		size_t n = strcspn(list, ",");
		unsigned int kind = 0;

		while (kind < REC_KINDS) {
			const struct rec_shape *shape = rec_shape(kind);

			if (shape && strlen(shape->name) == n && !memcmp(shape->name, list, n))
				break;
			kind++;
		}
		if (kind == REC_KINDS) {
			*bad = list;
			*bad_len = n;
			return 0;
		}
		kinds |= 1u << kind;
		list += n + (list[n] == ',');
	} while (*list);
	return kinds;
}

/* ---- commands ---- */

enum { CMD_QP_FIRST = 0x500, CMD_QP_LAST = 0x50f, NUMBER_OFF = 8, NUMBER_MASK = 0xffffff };

uint32_t qpn_of_command(const struct rec_event *ev)
{
	uint16_t opcode = ev->command->opcode;
	unsigned int from = opcode == PRM_CMD_CREATE_QP ? 1 : 0;

	if (opcode < CMD_QP_FIRST || opcode > CMD_QP_LAST || ev->blob_len[from] < NUMBER_OFF + 4)
		return 0;
	return prm_load32(ev->blob[from] + NUMBER_OFF) & NUMBER_MASK;
}

void learn_type(struct qp_types *types, const struct rec_event *ev)
{
	if (ev->head.kind != REC_COMMAND || ev->command->opcode != PRM_CMD_CREATE_QP ||
	    ev->command->status || ev->blob_len[0] < PRM_SIZE(create_qp_in))
		return;
	types->st[qpn_of_command(ev)] =
		(uint8_t)PRM_GET(qpc, PRM_CPTR(create_qp_in, ev->blob[0], qpc), st);
}

/* Commands whose mailboxes have no layout of their own name. */
static const struct {
	uint16_t opcode;
	const char *in, *out;
} layouts[] = {
	{PRM_CMD_RST2INIT_QP, "modify_qp_in", "cmd_out"},
	{PRM_CMD_INIT2INIT_QP, "modify_qp_in", "cmd_out"},
	{PRM_CMD_INIT2RTR_QP, "modify_qp_in", "cmd_out"},
	{PRM_CMD_RTR2RTS_QP, "modify_qp_in", "cmd_out"},
	{PRM_CMD_RTS2RTS_QP, "modify_qp_in", "cmd_out"},
	{PRM_CMD_SQERR2RTS_QP, "modify_qp_in", "cmd_out"},
	{PRM_CMD_SQD_RTS_QP, "modify_qp_in", "cmd_out"},
	{PRM_CMD_QUERY_ROCE_ADDRESS, "roce_address_in", "roce_address_out"},
	{PRM_CMD_SET_ROCE_ADDRESS, "roce_address_in", "cmd_out"},
	{PRM_CMD_ACCESS_REG, "access_register_in", "access_register_out"},
};

/* `create_qp_in` of CREATE_QP and so on; else the layout that all mailboxes share. */
static const struct prm_layout *layout_of(uint16_t opcode, const char *direction)
{
	const char *command = name_of_command(opcode);
	char name[64];
	size_t n = 0;
	const struct prm_layout *found;

	for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++)
		if (layouts[i].opcode == opcode)
			return prm_layout_find(*direction == 'i' ? layouts[i].in : layouts[i].out);
	for (; command[n] && n < sizeof(name) - 8; n++)
		name[n] = command[n] >= 'A' && command[n] <= 'Z' ? (char)(command[n] | 0x20)
								 : command[n];
	memcpy(name + n, *direction == 'i' ? "_in" : "_out", *direction == 'i' ? 4 : 5);
	found = prm_layout_find(name);
	return found ? found : prm_layout_find(*direction == 'i' ? "obj_in" : "obj_out");
}

static void mailbox(struct out *o, const char *direction, uint16_t opcode, const uint8_t *p,
		    uint32_t len)
{
	const struct prm_layout *layout = layout_of(opcode, direction);
	const struct prm_layout *head = prm_layout_find(*direction == 'i' ? "cmd_in" : "cmd_out");

	if (opcode == PRM_CMD_QUERY_HCA_CAP && *direction == 'o')
		layout = NULL; /* capability() */
	out_begin(o, direction);
	if (len)
		out_layout(o, "head", head, p, len);
	if (layout && len)
		out_layout(o, "body", layout, p, len);
	if (o->json)
		out_bytes(o, "bytes", p, len);
	out_end(o);
}

/* QUERY_HCA_CAP: the layout of the capabilities follows from op_mod (type << 1 | current). */
static const struct {
	uint32_t type; /* enum prm_cap_type */
	const char *layout;
} capabilities[] = {
	{PRM_CAP_GENERAL, "cmd_hca_cap"}, {PRM_CAP_GENERAL_2, "cmd_hca_cap_2"},
	{PRM_CAP_ATOMIC, "atomic_caps"},  {PRM_CAP_ROCE, "roce_cap"},
	{PRM_CAP_ODP, "odp_cap"},	  {PRM_CAP_ETHERNET_OFFLOADS, "eth_cap"},
	{PRM_CAP_QOS, "qos_cap"},	  {PRM_CAP_DEVICE_MEMORY, "device_mem_cap"},
};

static void capability(struct out *o, const struct rec_event *ev)
{
	const size_t head = PRM_SIZE(cmd_out);
	uint32_t type;

	if (ev->blob_len[0] < PRM_SIZE(cmd_in) || ev->blob_len[1] < head)
		return;
	type = PRM_GET(cmd_in, ev->blob[0], op_mod) >> 1;
	for (size_t i = 0; i < sizeof(capabilities) / sizeof(capabilities[0]); i++)
		if (capabilities[i].type == type)
			out_layout(o, "capability", prm_layout_find(capabilities[i].layout),
				   ev->blob[1] + head, ev->blob_len[1] - head);
}

static void decode_command(struct out *o, const struct rec_event *ev)
{
	const struct rec_command *c = ev->command;
	uint32_t qpn = qpn_of_command(ev);

	out_word(o, "command", name_of_command(c->opcode));
	out_hex(o, "opcode", c->opcode);
	out_number(o, "uid", c->uid);
	if (qpn)
		out_hex(o, "qp", qpn);
	out_hex(o, "status", c->status);
	if (c->status) {
		out_hex(o, "syndrome", c->syndrome);
		out_text(o, "why", ev->blob[2], ev->blob_len[2]);
	}
	out_number(o, "in_len", c->in_len);
	out_number(o, "out_len", c->out_len);
	mailbox(o, "in", c->opcode, ev->blob[0], ev->blob_len[0]);
	mailbox(o, "out", c->opcode, ev->blob[1], ev->blob_len[1]);
	if (c->opcode == PRM_CMD_QUERY_HCA_CAP && !c->status)
		capability(o, ev);
}

/* ---- WQEs (PRM, send WQE construction): octowords ---- */

enum { OCTOWORD = 16, AV_MORE_OCTOWORDS = 2, OPMOD_EIGHT_BYTES = 9 };
#define AV_EXT 0x80000000u /* 48 bytes, not 16 */

struct wqe {
	const uint8_t *p;
	uint32_t octowords; /* ds, as far as there are bytes */
	uint32_t at;
};

static const uint8_t *next_octowords(struct wqe *w, uint32_t count)
{
	const uint8_t *p = w->p + (size_t)w->at * OCTOWORD;

	if (count > w->octowords - w->at)
		return NULL;
	w->at += count;
	return p;
}

static void remote_segment(struct out *o, struct wqe *w)
{
	const uint8_t *p = next_octowords(w, 1);

	if (!p)
		return;
	out_begin(o, "raddr");
	out_hex(o, "va", prm_load64(p));
	out_hex(o, "rkey", prm_load32(p + 8));
	out_end(o);
}

static void gid(struct out *o, const char *name, const uint8_t g[16])
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
	char text[24];

	if (memcmp(g, mapped, sizeof(mapped)) != 0) {
		out_bytes(o, name, g, 16);
		return;
	}
	snprintf(text, sizeof(text), "%u.%u.%u.%u", g[12], g[13], g[14], g[15]);
	out_word(o, name, text);
}

static void av_segment(struct out *o, struct wqe *w)
{
	const uint8_t *p = next_octowords(w, 1), *more;
	uint32_t dqpn;

	if (!p)
		return;
	dqpn = prm_load32(p + 8);
	out_begin(o, "av");
	out_hex(o, "qkey", prm_load32(p));
	out_hex(o, "dqpn", dqpn & NUMBER_MASK);
	out_hex(o, "rlid", prm_load32(p + 12) & 0xffff);
	more = dqpn & AV_EXT ? next_octowords(w, AV_MORE_OCTOWORDS) : NULL;
	if (more) {
		out_number(o, "tclass", more[10]);
		out_number(o, "hop_limit", more[11]);
		out_number(o, "grh", more[12] >> 6 & 1);
		gid(o, "rgid", more + OCTOWORD);
	}
	out_end(o);
}

static void atomic_segment(struct out *o, struct wqe *w)
{
	const uint8_t *p = next_octowords(w, 1);

	if (!p)
		return;
	out_begin(o, "atomic");
	out_hex(o, "swap_add", prm_load64(p));
	out_hex(o, "compare", prm_load64(p + 8));
	out_end(o);
}

/* Extended atomics: operands of 4 or 8 bytes, as the opcode's modifier says (PRM, WQE formats). */
static void masked_segment(struct out *o, struct wqe *w, bool swap, bool eight)
{
	const uint8_t *p = next_octowords(w, swap && eight ? 2 : 1);

	if (!p)
		return;
	out_begin(o, "atomic");
	out_hex(o, swap ? "swap" : "add", eight ? prm_load64(p) : prm_load32(p));
	p += eight ? 8 : 4;
	out_hex(o, swap ? "compare" : "boundary", eight ? prm_load64(p) : prm_load32(p));
	p += eight ? 8 : 4;
	if (swap) {
		out_hex(o, "swap_mask", eight ? prm_load64(p) : prm_load32(p));
		p += eight ? 8 : 4;
		out_hex(o, "compare_mask", eight ? prm_load64(p) : prm_load32(p));
	}
	out_end(o);
}

/* CORE-Direct: the CQE to wait for. */
static void wait_segment(struct out *o, struct wqe *w)
{
	const uint8_t *p = next_octowords(w, 1);

	if (!p)
		return;
	out_begin(o, "wait");
	out_number(o, "max_index", prm_load32(p + 8));
	out_hex(o, "cqn", prm_load32(p + 12) & NUMBER_MASK);
	out_end(o);
}

static void data_segments(struct out *o, struct wqe *w)
{
	for (unsigned int n = 0; w->at < w->octowords; n++) {
		const uint8_t *p = w->p + (size_t)w->at * OCTOWORD;
		uint32_t count = prm_load32(p), len = count & 0x3ff;
		bool in_line = (count & 0x80000000u) != 0;
		uint32_t octowords = in_line ? (4 + len + OCTOWORD - 1) / OCTOWORD : 1;
		char name[16];

		snprintf(name, sizeof(name), "%s%u", in_line ? "inline" : "data", n);
		if (!next_octowords(w, octowords))
			break;
		out_begin(o, name);
		out_number(o, "bytes", in_line ? len : count);
		if (in_line) {
			out_bytes(o, "of", p + 4, len);
		} else {
			out_hex(o, "lkey", prm_load32(p + 4));
			out_hex(o, "va", prm_load64(p + 8));
		}
		out_end(o);
	}
}

static bool is_remote(uint8_t opcode)
{
	return opcode == PRM_WQE_RDMA_WRITE || opcode == PRM_WQE_RDMA_WRITE_IMM ||
	       opcode == PRM_WQE_RDMA_READ || opcode == PRM_WQE_ATOMIC_CS ||
	       opcode == PRM_WQE_ATOMIC_FA || opcode == PRM_WQE_ATOMIC_MASKED_CS ||
	       opcode == PRM_WQE_ATOMIC_MASKED_FA;
}

static void send_wqe(struct out *o, uint8_t st, const uint8_t *p, uint32_t len)
{
	uint32_t first = prm_load32(p), second = prm_load32(p + 4);
	uint8_t opcode = first & 0xff, flags = p[11];
	struct wqe w = {.p = p, .octowords = second & 0x3f, .at = 1};

	if (w.octowords > len / OCTOWORD)
		w.octowords = len / OCTOWORD;
	if (!w.octowords)
		w.at = 0;
	out_begin(o, "ctrl");
	out_word(o, "op", name_of_wqe(opcode));
	out_hex(o, "opcode", opcode);
	if (first >> 24)
		out_hex(o, "opmod", first >> 24);
	out_number(o, "wqe_index", first >> 8 & 0xffff);
	out_hex(o, "qpn", second >> 8);
	out_number(o, "ds", second & 0x3f);
	out_number(o, "fm", flags >> 5);
	out_number(o, "ce", flags >> 2 & 3);
	out_number(o, "se", flags >> 1 & 1);
	out_hex(o, "imm", prm_load32(p + 12));
	out_end(o);
	if (st == PRM_QP_ST_UD)
		av_segment(o, &w);
	else if (st == PRM_QP_ST_XRC)
		next_octowords(&w, 1);
	if (is_remote(opcode))
		remote_segment(o, &w);
	if (opcode == PRM_WQE_ATOMIC_CS || opcode == PRM_WQE_ATOMIC_FA)
		atomic_segment(o, &w);
	if (opcode == PRM_WQE_ATOMIC_MASKED_CS || opcode == PRM_WQE_ATOMIC_MASKED_FA)
		masked_segment(o, &w, opcode == PRM_WQE_ATOMIC_MASKED_CS,
			       (first >> 24 & 0xf) == OPMOD_EIGHT_BYTES);
	if (opcode == PRM_WQE_WAIT)
		wait_segment(o, &w);
	data_segments(o, &w);
}

static void decode_fetch(struct out *o, const struct qp_types *types, const struct rec_event *ev)
{
	const struct rec_fetch *f = ev->fetch;
	uint8_t st = types->st[ev->head.qpn & NUMBER_MASK];

	out_word(o, "queue", f->receive ? "receive" : "send");
	out_number(o, "wqe_idx", f->wqe_idx);
	out_number(o, "slot", f->slot);
	out_number(o, "len", f->len);
	if (!f->receive && ev->blob_len[0] >= OCTOWORD) {
		send_wqe(o, st, ev->blob[0], ev->blob_len[0]);
	} else if (f->receive) {
		struct wqe w = {.p = ev->blob[0], .octowords = ev->blob_len[0] / OCTOWORD};

		data_segments(o, &w);
	}
	if (o->json)
		out_bytes(o, "bytes", ev->blob[0], ev->blob_len[0]);
}

/* ---- packets ---- */

static void fate(struct out *o, uint32_t f)
{
	if (f)
		out_word(o, "fate", FIND(fates, f));
}

enum { ATOMIC_ETH_LEN = 28 };

/* Extension headers that many opcodes have, by their lengths in the table of the encoder. */
static void extension(struct out *o, uint8_t opcode, const uint8_t *p, uint32_t len)
{
	uint8_t op = opcode & 0x1f;

	if (len >= ROCE_RETH_LEN &&
	    (op == ROCE_WRITE_FIRST || op == ROCE_WRITE_ONLY || op == ROCE_WRITE_ONLY_IMM ||
	     op == ROCE_READ_REQUEST) &&
	    opcode < 0x40) {
		out_hex(o, "va", prm_load64(p));
		out_hex(o, "rkey", prm_load32(p + 8));
		out_number(o, "dma_len", prm_load32(p + 12));
	} else if (len >= ATOMIC_ETH_LEN &&
		   (opcode == ROCE_COMPARE_SWAP || opcode == ROCE_FETCH_ADD)) {
		out_hex(o, "va", prm_load64(p));
		out_hex(o, "rkey", prm_load32(p + 8));
		out_hex(o, "swap_add", prm_load64(p + 12));
		out_hex(o, "compare", prm_load64(p + 20));
	} else if (len >= ROCE_AETH_LEN && opcode >= ROCE_READ_RESP_FIRST &&
		   opcode <= ROCE_ATOMIC_ACK) {
		out_hex(o, "syndrome", p[0]);
		out_number(o, "msn", prm_load32(p) & NUMBER_MASK);
	} else if (len >= ROCE_DETH_LEN && opcode >> 5 == ROCE_BASE_UD >> 5) {
		out_hex(o, "qkey", prm_load32(p));
		out_hex(o, "src_qpn", prm_load32(p + 4) & NUMBER_MASK);
		if (len >= ROCE_DETH_LEN + ROCE_IMM_LEN)
			out_hex(o, "imm", prm_load32(p + ROCE_DETH_LEN));
	} else if (len) {
		out_bytes(o, "ext", p, len);
	}
}

static void decode_packet(struct out *o, const struct rec_event *ev)
{
	const struct rec_packet *p = ev->packet;
	const uint8_t *hdr = ev->blob[0];
	struct roce_bth bth;

	gid(o, "from", p->sgid);
	gid(o, "to", p->dgid);
	if (p->dlid) {
		out_number(o, "slid", p->slid);
		out_number(o, "dlid", p->dlid);
	}
	if (ev->blob_len[0] >= ROCE_BTH_LEN) {
		roce_bth_get(hdr, &bth);
		out_word(o, "service", services[bth.opcode >> 5]);
		out_word(o, "op", name_of_packet(bth.opcode));
		out_hex(o, "opcode", bth.opcode);
		out_hex(o, "dqpn", bth.dqpn);
		out_hex(o, "psn", bth.psn);
		if (bth.ackreq)
			out_number(o, "ackreq", 1);
		if (bth.se)
			out_number(o, "se", 1);
		extension(o, bth.opcode, hdr + ROCE_BTH_LEN, ev->blob_len[0] - ROCE_BTH_LEN);
	}
	out_number(o, "payload_len", p->payload_len);
	fate(o, p->fate);
	if (p->gone)
		out_word(o, "payload", "its memory was gone");
	if (o->json) {
		out_bytes(o, "header", hdr, ev->blob_len[0]);
		out_bytes(o, "bytes", ev->blob[1], ev->blob_len[1]);
	}
}

/* ---- the others ---- */

static void decode_cqe(struct out *o, const struct rec_event *ev)
{
	const uint8_t *b = ev->cqe->cqe;
	uint8_t opcode = b[PRM_CQE_OP_OWN] >> 4;
	uint32_t sop = prm_load32(b + PRM_CQE_SOP_QPN);

	out_hex(o, "cqn", ev->cqe->cqn);
	out_number(o, "index", ev->cqe->index);
	out_word(o, "op", name_of_cqe(opcode));
	out_number(o, "opcode", opcode);
	if (opcode == PRM_CQE_REQ || opcode == PRM_CQE_REQ_ERR)
		out_word(o, "wqe", name_of_wqe((uint8_t)(sop >> 24)));
	out_number(o, "wqe_counter",
		   (uint32_t)b[PRM_CQE_WQE_COUNTER] << 8 | b[PRM_CQE_WQE_COUNTER + 1]);
	if (opcode == PRM_CQE_REQ_ERR || opcode == PRM_CQE_RESP_ERR) {
		out_word(o, "error", name_of_syndrome(b[PRM_CQE_SYNDROME]));
		out_hex(o, "syndrome", b[PRM_CQE_SYNDROME]);
		out_hex(o, "vendor_syndrome", b[PRM_CQE_VENDOR_SYND]);
	} else {
		out_number(o, "byte_cnt", prm_load32(b + PRM_CQE_BYTE_CNT));
		out_hex(o, "imm", prm_load32(b + PRM_CQE_IMM));
	}
	out_number(o, "owner", b[PRM_CQE_OP_OWN] & 1);
	out_number(o, "se", b[PRM_CQE_OP_OWN] >> 1 & 1);
	fate(o, ev->cqe->fate);
	if (o->json)
		out_bytes(o, "bytes", b, sizeof(ev->cqe->cqe));
}

static void decode_eqe(struct out *o, const struct rec_event *ev)
{
	const uint8_t *b = ev->eqe->eqe;
	uint8_t type = b[PRM_EQE_TYPE];

	out_number(o, "eqn", ev->eqe->eqn);
	out_word(o, "event", name_of_event(type));
	out_number(o, "type", type);
	out_hex(o, type == PRM_EVENT_COMP ? "cqn" : "number",
		prm_load32(b + PRM_EQE_NUMBER) & NUMBER_MASK);
	fate(o, ev->eqe->fate);
	if (o->json)
		out_bytes(o, "bytes", b, sizeof(ev->eqe->eqe));
}

static void decode_doorbell(struct out *o, const struct rec_event *ev)
{
	const struct rec_doorbell *b = ev->doorbell;

	out_number(o, "uar", b->uar_page);
	out_hex(o, "offset", b->offset);
	out_bytes(o, "register",
		  (uint8_t[8]){(uint8_t)(b->value >> 56), (uint8_t)(b->value >> 48),
			       (uint8_t)(b->value >> 40), (uint8_t)(b->value >> 32),
			       (uint8_t)(b->value >> 24), (uint8_t)(b->value >> 16),
			       (uint8_t)(b->value >> 8), (uint8_t)b->value},
		  8);
	if (b->value >> 56)
		out_hex(o, "opmod", b->value >> 56);
	out_number(o, "index", b->value >> 40 & 0xffff);
	out_hex(o, "opcode", b->value >> 32 & 0xff);
	out_hex(o, "names_qp", b->value >> 8 & NUMBER_MASK);
	fate(o, b->fate);
}

static void decode_nic(struct out *o, const struct rec_event *ev)
{
	const struct rec_nic *n = ev->nic;

	out_text(o, "name", n->name, strnlen(n->name, sizeof(n->name)));
	out_hex(o, "device_id", n->device_id);
	out_bytes(o, "node_guid",
		  (uint8_t[8]){(uint8_t)(n->node_guid >> 56), (uint8_t)(n->node_guid >> 48),
			       (uint8_t)(n->node_guid >> 40), (uint8_t)(n->node_guid >> 32),
			       (uint8_t)(n->node_guid >> 24), (uint8_t)(n->node_guid >> 16),
			       (uint8_t)(n->node_guid >> 8), (uint8_t)n->node_guid},
		  8);
	gid(o, "gid", n->gid);
	out_bytes(o, "mac", n->mac, sizeof(n->mac));
	out_number(o, "lid", n->lid);
	out_word(o, "link_layer", n->ethernet ? "ethernet" : "infiniband");
	out_number(o, "port_mtu", 128u << (n->port_mtu & 7));
	out_hex(o, "qpn_prefix", n->qpn_prefix);
}

void decode(struct out *o, const struct qp_types *types, const struct rec_event *ev)
{
	switch (ev->head.kind) {
	case REC_TEXT:
		out_text(o, "key", ev->blob[0], ev->blob_len[0]);
		out_text(o, "value", ev->blob[1], ev->blob_len[1]);
		break;
	case REC_NIC:
		decode_nic(o, ev);
		break;
	case REC_COMMAND:
		decode_command(o, ev);
		break;
	case REC_DOORBELL:
		decode_doorbell(o, ev);
		break;
	case REC_DBR:
		out_hex(o, "addr", ev->dbr->addr);
		if (ev->dbr->known)
			out_number(o, "value", ev->dbr->value);
		break;
	case REC_FETCH:
		decode_fetch(o, types, ev);
		break;
	case REC_TX:
	case REC_RX:
		decode_packet(o, ev);
		break;
	case REC_CQE:
		decode_cqe(o, ev);
		break;
	case REC_EQE:
		decode_eqe(o, ev);
		break;
	case REC_STATE:
		out_word(o, "from", name_of_state(ev->state->from));
		out_word(o, "to", name_of_state(ev->state->to));
		break;
	case REC_DIAGNOSIS:
		out_text(o, "why", ev->blob[0], ev->blob_len[0]);
		break;
	case REC_END:
		out_number(o, "records", ev->end->events);
		break;
	default: /* of a later gdakit */
		break;
	}
}
