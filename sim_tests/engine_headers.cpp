/* SPDX-License-Identifier: BSD-3-Clause */
/* The same table, as C++. */
#include <cstddef>

#include "engine_headers.c"
