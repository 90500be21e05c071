/* SPDX-License-Identifier: BSD-3-Clause */
/* How both spaces of this folder move bytes. */
#ifndef GDAKIT_SPACE_MOVE_H
#define GDAKIT_SPACE_MOVE_H

#include "emu/nicmodel/nm.h"

/*
 * Moves all segments of `dma` between `local` and this process's memory, in order. 0, -EFAULT, or
 * -EINVAL when the segments do not add up to dma->len.
 */
int space_move(const struct nm_dma *dma);

#endif
