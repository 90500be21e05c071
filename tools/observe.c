// SPDX-License-Identifier: BSD-3-Clause
/*
 * gdakit run --record, --pcap: the launcher's part. The processes of the run write the files; what
 * can be said before they start is said here.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "emu/observe/mapfile.h"
#include "emu/observe/recording.h"
#include "tools/gdakit.h"

static const uint8_t pcapng_magic[] = {0x0a, 0x0d, 0x0d, 0x0a};

/* Does a file that exists begin as what would be written over it? */
static bool is_ours(int fd)
{
	uint8_t head[8];
	ssize_t n = pread(fd, head, sizeof(head), 0);

	return n == 0 || (n == sizeof(head) && (!memcmp(head, REC_MAGIC, sizeof(head)) ||
						!memcmp(head, pcapng_magic, sizeof(pcapng_magic))));
}

/* The pattern, absolute: the program may change its directory. A `%` of the directory is doubled.
 */
static bool absolute(char full[PATH_MAX], const char *pattern)
{
	char cwd[PATH_MAX];
	size_t n = 0;

	if (*pattern == '/')
		return snprintf(full, PATH_MAX, "%s", pattern) < PATH_MAX;
	if (!getcwd(cwd, sizeof(cwd)))
		return false;
	for (const char *p = cwd; *p && n < PATH_MAX - 2; p++) {
		full[n++] = *p;
		if (*p == '%')
			full[n++] = '%';
	}
	return snprintf(full + n, PATH_MAX - n, "/%s", pattern) < (int)(PATH_MAX - n);
}

/* An empty file of that name, so that the first process finds it free. */
static int prepare(const char *option, const char *pattern)
{
	char path[PATH_MAX];
	struct stat st;
	int fd, ret = -1;
	bool each;

	if (!mapfile_name(path, pattern, &each)) {
		complain("%s: the name is too long", option);
		return -1;
	}
	if (each)
		return 0;
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0644);
	if (fd < 0)
		complain("%s %s: %s", option, path, strerror(errno));
	else if (fstat(fd, &st) || !S_ISREG(st.st_mode))
		complain("%s %s: not a regular file", option, path);
	else if (flock(fd, LOCK_EX | LOCK_NB))
		complain("%s %s: another run writes it: name it otherwise, %%p in a name is the "
			 "process id",
			 option, path);
	else if (!is_ours(fd))
		complain("%s %s: the file exists and is neither a recording nor a pcapng: it is "
			 "not overwritten",
			 option, path);
	else if (ftruncate(fd, 0))
		complain("%s %s: %s", option, path, strerror(errno));
	else
		ret = 0;
	if (fd >= 0)
		close(fd);
	return ret;
}

static int set(const char *option, const char *env, const char *pattern)
{
	char full[PATH_MAX];

	if (!pattern)
		return unsetenv(env);
	if (!*pattern) {
		complain("%s: the name of a file is expected", option);
		return -1;
	}
	if (!absolute(full, pattern)) {
		complain("%s %s: the path is too long", option, pattern);
		return -1;
	}
	if (prepare(option, full))
		return -1;
	return setenv(env, full, 1);
}

int observe_prepare(const struct run_options *o)
{
	if (set("--record", UV_ENV_RECORD, o->record) || set("--pcap", UV_ENV_PCAP, o->pcap))
		return -1;
	if (o->record && o->pcap && !strcmp(getenv(UV_ENV_RECORD), getenv(UV_ENV_PCAP))) {
		complain("--record and --pcap both name %s: two files are expected", o->pcap);
		return -1;
	}
	return o->record_payload ? setenv(UV_ENV_PAYLOAD, o->record_payload, 1)
				 : unsetenv(UV_ENV_PAYLOAD);
}

static void finish(const char *option, const char *env)
{
	const char *pattern = getenv(env);
	char path[PATH_MAX];
	struct stat st;
	bool each;

	if (!pattern || !mapfile_name(path, pattern, &each) || each)
		return;
	if (stat(path, &st) || !S_ISREG(st.st_mode) || st.st_size)
		return;
	unlink(path);
	complain("%s: no process of the run opened the device, so there is no %s", option, path);
}

void observe_finish(void)
{
	finish("--record", UV_ENV_RECORD);
	finish("--pcap", UV_ENV_PCAP);
}
