/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * errno_check: what its files share. errno_check.c owns the rig and the driver, errno_create.c what
 * is refused to be made, destroyed or used, errno_modify.c the transitions of a QP.
 */
#ifndef SIM_TESTS_PROGS_ERRNO_CHECK_H
#define SIM_TESTS_PROGS_ERRNO_CHECK_H

#include "sim_tests/progs/vp.h"

enum {
	EC_BYTES = 65536,
	EC_NO_ERRNO = -1, /* a library that says no and leaves errno alone */
};

struct ec_rig {
	struct vp_dev dev;
	struct ibv_device_attr attr;
	bool ethernet;
	struct ibv_pd *pd;
	struct vp_cq cq;
	uint8_t *mem;
	struct ibv_mr *mr; /* all of mem, all rights */
};
extern struct ec_rig ec;

/* One call: `got` is the errno it gave (0: it succeeded). Counts, and says what is wrong. */
void ec_check(const char *name, int want, int got, const char *source);

/* After a call that gave NULL, with errno 0 before it. */
int ec_errno(void);

void ec_create(void); /* errno_create.c */
void ec_destroy(void);
void ec_stale(void);
void ec_modify(void); /* errno_modify.c */

#endif
