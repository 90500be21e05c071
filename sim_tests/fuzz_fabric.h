/* SPDX-License-Identifier: BSD-3-Clause */
/* What the transport's fuzz targets share: a pair of QPs whose memory has watched surroundings. */
#ifndef GDAKIT_FUZZ_FABRIC_H
#define GDAKIT_FUZZ_FABRIC_H

#include "sim_tests/harness_srq.h"

enum { FUZZ_MEM = 16384, FUZZ_MARGIN = 4096 };

static const uint8_t fuzz_group[16] = {0xff, 0x12, [15] = 1};

struct fuzz_fabric {
	struct hx *h;
	struct hx_qp *a, *b;
	uint8_t *mem[2]; /* of a, of b: margin, key, margin */
	uint32_t key[2];
	uint32_t lists[2][2]; /* of a, of b: keys for lists of keys, free */
	struct hx_srq *srq;   /* of b; NULL: it has a receive queue of its own */
};

/* Services, and whether b receives from a shared queue. */
static const struct {
	uint8_t st;
	bool shared;
} fuzz_services[8] = {{PRM_QP_ST_RC, false}, {PRM_QP_ST_RC, false}, {PRM_QP_ST_UC, false},
		      {PRM_QP_ST_UD, false}, {PRM_QP_ST_XRC, true}, {PRM_QP_ST_RC, true},
		      {PRM_QP_ST_UC, true},  {PRM_QP_ST_UD, true}};

static inline void fuzz_share(struct fuzz_fabric *f, struct hx_qp_attr *b)
{
	struct hx_srq_attr attr = {0};

	if (b->st == PRM_QP_ST_XRC) {
		attr.create = PRM_CMD_CREATE_XRC_SRQ;
		attr.xrcd = b->xrcd = hx_new(f->h, 1, PRM_CMD_ALLOC_XRCD);
		attr.cq = hx_cq(f->h, 1, 8);
	}
	f->srq = hx_srq(f->h, 1, &attr);
	b->srqn = f->srq->number;
}

/* Consumes the first byte: which spaces, which link, which service. B is in a group. */
static inline struct fuzz_fabric fuzz_open(uint8_t how)
{
	struct hx_config config = {.copied = (how & 1) != 0,
				   .serialise = (how & 2) != 0,
				   .trains = (how & 0x20) != 0,
				   .seed = how};
	struct hx_qp_attr attr = {.st = fuzz_services[how >> 2 & 7].st,
				  .timeout = 5,
				  .retry = 2,
				  .rnr_retry = 2,
				  .mtu = 1,
				  .log_sq = 5};
	struct fuzz_fabric f = {.h = hx_open(&config)};

	f.a = hx_qp(f.h, 0, &attr);
	if (fuzz_services[how >> 2 & 7].shared)
		fuzz_share(&f, &attr);
	f.b = hx_qp(f.h, 1, &attr);
	for (uint32_t i = 0; i < 2; i++) {
		f.mem[i] = hx_alloc(f.h, FUZZ_MEM + 2 * FUZZ_MARGIN);
		memset(f.mem[i], 0x5a, FUZZ_MEM + 2 * FUZZ_MARGIN);
		f.key[i] = hx_mkey(f.h, i, f.h->nic[i].pd, f.mem[i] + FUZZ_MARGIN, FUZZ_MEM,
				   HX_ALL_RIGHTS);
		for (uint32_t n = 0; n < 2; n++)
			f.lists[i][n] = hx_free_key(f.h, i, f.h->nic[i].pd, 8);
	}
	hx_connect(f.a, f.b);
	if (attr.st == PRM_QP_ST_UD)
		cr_assert_eq(hx_mcg(f.b, PRM_CMD_ATTACH_TO_MCG, fuzz_group), 0);
	for (uint32_t i = 0; i < 7; i++) {
		const struct hx_sge sge = {f.mem[1] + FUZZ_MARGIN, FUZZ_MEM, f.key[1]};

		if (f.srq)
			hx_srq_recv(f.srq, &sge, 1);
		else
			hx_recv(f.b, &sge, 1);
	}
	return f;
}

/* Nothing beside the keys was written, and everything can be taken down. */
static inline void fuzz_close(struct fuzz_fabric *f)
{
	for (uint32_t i = 0; i < 2; i++) {
		for (uint32_t j = 0; j < FUZZ_MARGIN; j++) {
			cr_assert_eq(f->mem[i][j], 0x5a);
			cr_assert_eq(f->mem[i][FUZZ_MARGIN + FUZZ_MEM + j], 0x5a);
		}
	}
	cr_assert_eq(hx_destroy(f->h, 1, PRM_CMD_DESTROY_MKEY, f->key[1] >> 8), 0);
	cr_assert_eq(hx_destroy(f->h, 0, PRM_CMD_DESTROY_QP, f->a->qpn), 0);
	cr_assert_eq(hx_destroy(f->h, 1, PRM_CMD_DESTROY_QP, f->b->qpn), 0);
	if (f->srq)
		cr_assert_eq(hx_srq_destroy(f->srq), 0);
	hx_close(f->h);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
