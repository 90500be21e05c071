/* SPDX-License-Identifier: BSD-3-Clause */
/* The layouts as C sees them; device_layout.cpp and check_nvcc.cu do the same for C++ and CUDA. */
#include "gdakit_layout_check.h"
