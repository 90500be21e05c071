// SPDX-License-Identifier: BSD-3-Clause
/*
 * gdakit run --check: the launcher's part. The processes of the run append what they find to the
 * files of a directory made for it; when it is over they become what was asked for.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "emu/check/finding.h"
#include "tools/gdakit.h"

static char folder[PATH_MAX]; /* "": nothing is checked */

int check_prepare(const struct run_options *o)
{
	const char *tmp = getenv("TMPDIR");

	if (!o->check)
		return unsetenv(UV_ENV_CHECK);
	if (o->check_json && o->check_junit && !strcmp(o->check_json, o->check_junit)) {
		complain("--check-json and --check-junit both name %s: two files are expected",
			 o->check_json);
		return -1;
	}
	if (snprintf(folder, sizeof(folder), "%s/gdakit-check-XXXXXX",
		     tmp && *tmp == '/' ? tmp : "/tmp") >= (int)sizeof(folder) ||
	    !mkdtemp(folder)) {
		complain("--check: a directory for findings, %s: %s", folder, strerror(errno));
		folder[0] = '\0';
		return -1;
	}
	return setenv(UV_ENV_CHECK, folder, 1);
}

static FILE *open_file(const char *name)
{
	char path[PATH_MAX + 32];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return fopen(path, "re");
}

/* Appends what a file of the directory holds to `to` (NULL: nowhere); returns its lines, -1 without
 * it. */
static int copy(const char *name, FILE *to)
{
	FILE *from = open_file(name);
	char *line = NULL;
	size_t cap = 0;
	int lines = 0;

	if (!from)
		return -1;
	while (getline(&line, &cap, from) > 0) {
		lines++;
		if (to)
			fputs(line, to);
	}
	free(line);
	fclose(from);
	return lines;
}

static bool save(const char *option, const char *path, const char *head, const char *name,
		 const char *tail)
{
	FILE *to;
	bool ok;

	if (!path)
		return true;
	to = fopen(path, "we");
	if (!to) {
		complain("%s %s: %s", option, path, strerror(errno));
		return false;
	}
	fputs(head, to);
	(void)copy(name, to);
	fputs(tail, to);
	ok = !ferror(to);
	if (fclose(to) || !ok) {
		complain("%s %s: %s", option, path, strerror(errno));
		return false;
	}
	return true;
}

static void remove_folder(void)
{
	static const char *const names[] = {FINDINGS_JSON, FINDINGS_JUNIT};
	char path[PATH_MAX + 32];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
		unlink(path);
	}
	rmdir(folder);
}

int check_finish(const struct run_options *o, int code)
{
	unsigned int found;
	char head[256];
	bool saved;
	int lines;

	if (!folder[0])
		return code;
	lines = copy(FINDINGS_JSON, NULL); /* made by the first process that opens the device */
	found = lines > 0 ? (unsigned int)lines : 0;
	/* A suite without a case is no suite to many readers: the run itself is one. */
	snprintf(
		head, sizeof(head),
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		"<testsuites><testsuite name=\"gdakit run --check\" tests=\"%u\" failures=\"%u\">\n"
		"<testcase classname=\"gdakit.check\" name=\"run\"/>\n",
		found + 1, found);
	saved = save("--check-json", o->check_json, "", FINDINGS_JSON, "");
	saved &= save("--check-junit", o->check_junit, head, FINDINGS_JUNIT,
		      "</testsuite></testsuites>\n");
	remove_folder();
	if (found && code > 128)
		complain("the program was ended by signal %d", code - 128);
	if (found)
		complain("--check: %u finding%s", found, found > 1 ? "s" : "");
	else if (lines == 0)
		complain("--check: nothing found");
	else if (code != EXIT_REFUSED)
		complain("--check: no process of the run opened the device, nothing was checked");
	if (!saved)
		return EXIT_REFUSED;
	return found ? o->check_exit : code;
}
