/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The part of GPUNetIO's internal header that its example programs use: the log. It is here so that
 * they compile as they are; new programs have no need of it. C++ only.
 */
#ifndef DOCA_INTERNAL_HPP
#define DOCA_INTERNAL_HPP

#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <string>
#include <syslog.h>
#include <unistd.h>
#include <vector>

#include "doca_error.h"

/**
 * Prints a line on stderr, with the time, if `log_level` (LOG_EMERG 0 to LOG_DEBUG 7) is at most
 * what the environment's DOCA_GPUNETIO_LOG says; 0, the default: never. Exported under its C++
 * name. Thread-safe.
 */
void doca_gpu_log_print(int log_level, const char *file, int line, const char *func,
			const char *fmt, ...);

#define DOCA_LOG(level, ...) doca_gpu_log_print(level, __FILE__, __LINE__, __func__, __VA_ARGS__)

#endif
