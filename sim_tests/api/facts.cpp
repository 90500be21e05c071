/* SPDX-License-Identifier: BSD-3-Clause */
/* The same facts, as C++. */
#include "facts.c"
