/* SPDX-License-Identifier: BSD-3-Clause */
#include "log.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static pthread_once_t threshold_once = PTHREAD_ONCE_INIT;
static int threshold;

static const char *const level_name[] = {
	[LOG_EMERG] = "EMERG", [LOG_ALERT] = "ALERT",	  [LOG_CRIT] = "CRIT",
	[LOG_ERR] = "ERR",     [LOG_WARNING] = "WARNING", [LOG_NOTICE] = "NOTICE",
	[LOG_INFO] = "INFO",   [LOG_DEBUG] = "DEBUG",
};

static void read_threshold(void)
{
	const char *text = getenv("DOCA_GPUNETIO_LOG");
	char *end;
	long level;

	if (!text || !*text)
		return;
	level = strtol(text, &end, 10);
	if (*end == '\0' && level >= LOG_EMERG && level <= LOG_DEBUG)
		threshold = (int)level;
}

void doca_gpu_log_print(int log_level, const char *file, int line, const char *func,
			const char *fmt, ...)
{
	char text[1024], stamp[32];
	const char *base;
	struct tm tm;
	time_t now;
	va_list ap;
	size_t len;

	pthread_once(&threshold_once, read_threshold);
	if (log_level < LOG_EMERG || log_level > LOG_DEBUG || log_level > threshold)
		return;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	len = strlen(text);
	if (len && text[len - 1] == '\n')
		text[len - 1] = '\0';

	now = time(NULL);
	localtime_r(&now, &tm);
	strftime(stamp, sizeof(stamp), "%F %T", &tm);
	base = strrchr(file, '/');
	/* One call, so that lines of several threads do not mix: stdio locks the stream. */
	fprintf(stderr, "%s [%s] [%s]: %d: %s(): %s\n", stamp, level_name[log_level],
		base ? base + 1 : file, line, func, text);
}
