/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the library can do, for programs that test these macros. Everything is decided at run time
 * here (rdma-core and CUDA are loaded when first used), so all of them are 1.
 */
#ifndef DOCA_GPUNETIO_CONFIG_H
#define DOCA_GPUNETIO_CONFIG_H

#define DOCA_GPUNETIO_HAVE_MLX5DV_UMEM_DMABUF 1
#define DOCA_GPUNETIO_HAVE_DEDICATED_NC_UAR   1
#define DOCA_GPUNETIO_HAVE_CUDA_DMABUF	      1

#endif /* DOCA_GPUNETIO_CONFIG_H */
