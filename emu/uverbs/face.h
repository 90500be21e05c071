/* SPDX-License-Identifier: BSD-3-Clause */
/* Bringing the NICs of this process up and down: between context.c and face.c. Face lock held for
 * all. */
#ifndef GDAKIT_UVERBS_FACE_H
#define GDAKIT_UVERBS_FACE_H

#include "emu/uverbs/uv.h"

int uv_nic_start(void);	   /* the one entered: 0 if it runs already; else -errno, said */
void uv_nic_abandon(void); /* after fork() in the child */

#endif
