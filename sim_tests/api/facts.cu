// SPDX-License-Identifier: BSD-3-Clause
/* All facts, as CUDA. Compiled by ci/check-nvcc.sh for every architecture, never run. */
#include "doca_gpunetio_host.h"
#include "doca_gpunetio_device.h"

#include "check.h"
#include "check_device.h"

#include "sdk_names.cpp"
