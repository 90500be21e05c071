/* SPDX-License-Identifier: BSD-3-Clause */
/* Between verbs_qp.c and verbs_qp_modify.c. Context lock held. */
#ifndef GDAKIT_UVERBS_VERBS_QP_H
#define GDAKIT_UVERBS_VERBS_QP_H

#include "emu/uverbs/uv.h"

uint8_t uv_qp_state_of_prm(uint8_t prm);
/* QUERY_QP: 0 or -errno. */
int uv_qp_query_context(struct uv_ctx *ctx, uint32_t qpn, uint8_t qpc[PRM_qpc_SIZE]);

#endif
