// SPDX-License-Identifier: BSD-3-Clause
#include "emu/check/finding.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "emu/fds/fds.h"
#include "emu/nicmodel/prm_print.h"
#include "emu/nicmodel/wqe.h"
#include "prm/prm.h"

enum { LINE = 8192, ROW = 32 };

/* ---- text that grows in a buffer, and is cut where that ends ---- */

struct text {
	char *at;
	size_t size, used;
};

static __attribute__((format(printf, 2, 3))) void add(struct text *t, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(t->at + t->used, t->size - t->used, fmt, ap);
	va_end(ap);
	if (n > 0)
		t->used += (size_t)n < t->size - t->used ? (size_t)n : t->size - t->used - 1;
}

static void add_escaped(struct text *t, const char *s, bool xml)
{
	for (; *s; s++) {
		unsigned char c = (unsigned char)*s;

		if (xml && strchr("<>&\"'", c))
			add(t, "&#%u;", c);
		else if (!xml && (c == '"' || c == '\\'))
			add(t, "\\%c", c);
		else if (c >= 0x20 && c < 0x7f)
			add(t, "%c", c);
		else if (c == '\n')
			add(t, xml ? "\n" : "\\n");
		else
			add(t, xml ? "?" : "\\u%04x", c);
	}
}

/* ---- WQEs ---- */

static void add_sges(struct text *t, const struct nm_sq_ring *ring, const struct nm_wr *wr)
{
	uint32_t ow = wr->data_ow;

	for (unsigned int i = 0; i < wr->nsge; i++) {
		struct nm_sge sge;

		ow = nm_wqe_sge(ring, wr, ow, &sge);
		if (sge.is_inline)
			add(t, " [inline len %u]", sge.len);
		else
			add(t, " [va 0x%llx len %u lkey 0x%x]", (unsigned long long)sge.va, sge.len,
			    sge.lkey);
	}
}

void finding_wqe_text(char *text, size_t size, uint8_t st, uint32_t qpn, uint16_t wqe_idx,
		      const uint8_t *wqe, uint32_t len)
{
	_Alignas(16) uint8_t bytes[FINDING_WQE_MAX] = {0};
	struct nm_sq_ring ring = {.base = bytes, .bbs = FINDING_WQE_MAX / PRM_WQEBB_SIZE, .st = st};
	struct text t = {.at = text, .size = size};
	char why[NM_WHY_MAX] = "";
	struct nm_wr wr;
	uint8_t wrong;
	const char *name;

	/* Where the decoder looks for it: at its index in a ring of its own. */
	for (uint32_t ow = 0; ow < len / NM_OCTOWORD && ow < FINDING_WQE_MAX / NM_OCTOWORD; ow++)
		memcpy(nm_wqe_octoword(&ring, wqe_idx, ow), wqe + (size_t)ow * NM_OCTOWORD,
		       NM_OCTOWORD);
	wrong = nm_wqe_decode(&ring, wqe_idx, &wr, why);
	name = prm_wqe_name(wr.opcode);
	add(&t, "%s QP 0x%x wqe[%u]: ", prm_qp_st_name(st), qpn, wqe_idx);
	if (name)
		add(&t, "%s", name);
	else
		add(&t, "opcode 0x%02x", wr.opcode);
	add(&t, " %c%c%c", wr.ce >= NM_CE_ALWAYS ? 's' : '-', wr.fence ? 'f' : '-',
	    wr.se ? 'e' : '-');
	if (wrong) {
		add(&t, " (%s)", why);
		return;
	}
	if (wr.kind == NM_WR_WRITE || wr.kind == NM_WR_READ || wr.kind == NM_WR_ATOMIC)
		add(&t, " [rva 0x%llx rkey 0x%x]", (unsigned long long)wr.raddr, wr.rkey);
	if (wr.kind == NM_WR_ATOMIC)
		add(&t, " [swap_add 0x%llx compare 0x%llx]", (unsigned long long)wr.swap_add,
		    (unsigned long long)wr.compare);
	if (wr.kind == NM_WR_WAIT)
		add(&t, " [cq 0x%x index %u]", wr.wait_cqn, wr.wait_index);
	if (wr.kind == NM_WR_UMR)
		add(&t, " [mkey 0x%x mask 0x%llx]", wr.imm, (unsigned long long)wr.umr_mask);
	if (wr.imm_valid)
		add(&t, " [imm 0x%x]", wr.imm);
	if (wr.inval)
		add(&t, " [invalidates 0x%x]", wr.imm);
	add_sges(&t, &ring, &wr);
}

/* ---- the three forms ---- */

static void add_hex(struct text *t, const struct finding *g, const char *indent)
{
	for (uint32_t i = 0; i < g->wqe_len; i++) {
		if (i % ROW == 0)
			add(t, "%s%s%03x:", i ? "\n" : "", indent, i);
		add(t, "%s%02x", i % 4 == 0 ? " " : "", g->wqe[i]);
	}
	add(t, "\n");
}

static void add_where(struct text *t, const struct finding *g)
{
	add(t, "%s", g->nic);
	if (g->qpn)
		add(t, ", %s QP 0x%x", prm_qp_st_name(g->st), g->qpn);
	if (g->qpn && g->peer_qpn)
		add(t, " (peer QP 0x%x)", g->peer_qpn);
	if (g->cqn)
		add(t, ", CQ 0x%x", g->cqn);
}

static void for_people(struct text *t, const struct finding *g)
{
	const struct rule *r = &rules[g->rule];

	add(t, "gdakit: R%02d %s\n    on   ", (int)g->rule, r->title);
	add_where(t, g);
	add(t, ", process %d\n", (int)getpid());
	if (g->has_wqe) {
		add(t, "    wqe  %s, slot %u\n", g->wqe_text, g->slot);
		add_hex(t, g, "         ");
	}
	add(t, "    saw  %s\n    a ConnectX: %s (%s)\n    see  docs/rules/R%02d.md\n", g->what,
	    r->hardware, r->source, (int)g->rule);
}

static void in_json(struct text *t, const struct finding *g)
{
	add(t, "{\"rule\":\"R%02d\",\"title\":\"", (int)g->rule);
	add_escaped(t, rules[g->rule].title, false);
	add(t, "\",\"pid\":%d,\"nic\":\"", (int)getpid());
	add_escaped(t, g->nic, false);
	add(t, "\"");
	if (g->qpn)
		add(t, ",\"qp\":%u,\"service\":\"%s\"", g->qpn, prm_qp_st_name(g->st));
	if (g->qpn && g->peer_qpn)
		add(t, ",\"peer_qp\":%u", g->peer_qpn);
	if (g->cqn)
		add(t, ",\"cq\":%u", g->cqn);
	if (g->has_wqe) {
		add(t, ",\"wqe_idx\":%u,\"slot\":%u,\"wqe\":\"", g->wqe_idx, g->slot);
		for (uint32_t i = 0; i < g->wqe_len; i++)
			add(t, "%02x", g->wqe[i]);
		add(t, "\",\"decoded\":\"");
		add_escaped(t, g->wqe_text, false);
		add(t, "\"");
	}
	add(t, ",\"saw\":\"");
	add_escaped(t, g->what, false);
	add(t, "\",\"hardware\":\"");
	add_escaped(t, rules[g->rule].hardware, false);
	add(t, "\"}\n");
}

static void in_junit(struct text *t, const struct finding *g, const char *people)
{
	add(t, "<testcase classname=\"gdakit.check\" name=\"R%02d ", (int)g->rule);
	add_escaped(t, rules[g->rule].title, true);
	add(t, "\"><failure message=\"");
	add_escaped(t, g->what, true);
	add(t, "\">");
	add_escaped(t, people, true);
	add(t, "</failure></testcase>\n");
}

/* One write() each, so that the lines of several processes do not mix. */
static void put(int fd, const struct text *t)
{
	if (fd >= 0)
		(void)!write(fd, t->at, t->used);
}

void findings_put(struct findings *f, const struct finding *finding)
{
	char people[LINE], other[LINE];
	struct text t = {.at = people, .size = sizeof(people)};
	struct text o = {.at = other, .size = sizeof(other)};

	for_people(&t, finding);
	put(f->people, &t);
	in_json(&o, finding);
	put(f->json, &o);
	o.used = 0;
	in_junit(&o, finding, people);
	put(f->junit, &o);
}

/* ---- files ---- */

static int open_one(const struct findings *f, const char *dir, const char *name)
{
	char path[4096], line[4200];
	int fd, n;

	if (snprintf(path, sizeof(path), "%s/%s", dir, name) >= (int)sizeof(path))
		return -1;
	fd = fds_own(open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
	if (fd >= 0)
		return fd;
	if (errno == ENOENT) /* the launcher took the directory away */
		n = snprintf(line, sizeof(line),
			     "gdakit: --check: the run is over: what process %d does is said here "
			     "and not counted\n",
			     (int)getpid());
	else
		n = snprintf(line, sizeof(line), "gdakit: --check: %s: %s\n", path,
			     strerror(errno));
	(void)!write(f->people, line, (size_t)n);
	return -1;
}

void findings_open(struct findings *f, const char *dir, int people)
{
	*f = (struct findings){.json = -1, .junit = -1, .people = people};
	if (!dir || !*dir)
		return;
	f->json = open_one(f, dir, FINDINGS_JSON);
	if (f->json >= 0)
		f->junit = open_one(f, dir, FINDINGS_JUNIT);
}

void findings_close(struct findings *f)
{
	fds_close(f->json);
	fds_close(f->junit);
	f->json = f->junit = -1;
}
