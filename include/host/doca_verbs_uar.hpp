/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * GPUNetIO's internal header of this name, as far as its example programs need it: they include it,
 * and use only the public functions of doca_verbs.h.
 */
#ifndef DOCA_VERBS_UAR_HPP
#define DOCA_VERBS_UAR_HPP

#include "doca_verbs.h"

#endif
