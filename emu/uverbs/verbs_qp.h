/* SPDX-License-Identifier: BSD-3-Clause */
/* Between verbs_qp.c and verbs_qp_modify.c. Context lock held. */
#ifndef GDAKIT_UVERBS_VERBS_QP_H
#define GDAKIT_UVERBS_VERBS_QP_H

#include "emu/uverbs/uv.h"

enum { UV_PM_STATE_MIGRATED = 3 }; /* qpc.pm_state */

uint8_t uv_qp_state_of_prm(uint8_t prm);
/* QUERY_QP, as `uid`: 0 or -errno. */
int uv_qp_query_context(uint16_t uid, uint32_t qpn, uint8_t qpc[PRM_qpc_SIZE]);

/* 2RST_QP and DESTROY_QP, as `uid`. */
int uv_qp_destroy_in_nic(uint16_t uid, uint32_t qpn);

/*
 * verbs_xrc.c: qp becomes a handle of the target QP qpn of an XRC domain, or of a new one if qpn is
 * 0; its number and uid are set. The last handle's close destroys it. 0 or -errno.
 */
int uv_target_open(struct uv_qp *qp, struct uv_obj *xrcd, uint32_t qpn);
int uv_target_close(struct uv_qp *qp);

#endif
