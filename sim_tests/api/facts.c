/* SPDX-License-Identifier: BSD-3-Clause */
/* The staged headers, alone, hold the facts of the host API. Compiled as C and as C++, never run.
 */
#include "doca_gpunetio_host.h"

#include "check.h"
