/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Present so that an include of this name finds a file. The library's own view of the firmware's
 * structures is not part of its interface: programs that want the mlx5 bit layouts take them from
 * rdma-core or the kernel.
 */
#ifndef MLX5_IFC_H
#define MLX5_IFC_H

#include <linux/types.h>
#include <stddef.h>
#include <stdint.h>

#endif /* MLX5_IFC_H */
