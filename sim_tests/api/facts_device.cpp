/* SPDX-License-Identifier: BSD-3-Clause */
/* The facts of the device API, as the CPU's compiler sees it. Compiled, never run. */
#include "gdakit_kernel.h"

#include "doca_gpunetio_device.h"

#include "check_device.h"
