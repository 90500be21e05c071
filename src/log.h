/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The library's log. DOCA_GPUNETIO_LOG=N (0..7, the syslog levels; default 0) prints messages of
 * level N and below to stderr, one write per line. Level 0 (LOG_EMERG) therefore always prints; it
 * is used only for what makes the whole library unusable, such as a missing rdma-core.
 */
#ifndef GDAKIT_LOG_H
#define GDAKIT_LOG_H

#include <syslog.h>

/*
 * Exported. Programs written against GPUNetIO's C++ sources call it by its C++ name, so that is the
 * name of the symbol. Thread-safe.
 */
void doca_gpu_log_print(int log_level, const char *file, int line, const char *func,
			const char *fmt, ...) __asm__("_Z18doca_gpu_log_printiPKciS0_S0_z")
	__attribute__((format(printf, 5, 6)));

#define ENGINE_LOG(level, ...) doca_gpu_log_print(level, __FILE__, __LINE__, __func__, __VA_ARGS__)
#define ENGINE_ERR(...)	       ENGINE_LOG(LOG_ERR, __VA_ARGS__)
#define ENGINE_WARN(...)       ENGINE_LOG(LOG_WARNING, __VA_ARGS__)
#define ENGINE_INFO(...)       ENGINE_LOG(LOG_INFO, __VA_ARGS__)

#endif
