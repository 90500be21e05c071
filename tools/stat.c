// SPDX-License-Identifier: BSD-3-Clause
/*
 * gdakit stat: what the NICs of this user's `gdakit run` processes count, asked of the processes
 * themselves (emu/observe/stat.h). /proc/net/unix names their sockets.
 */
#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "emu/observe/stat.h"
#include "prm/prm.h"
#include "tools/gdakit.h"
#include "tools/show.h"

enum { KEY_JSON = 256, KEY_PROMETHEUS, NAME_MAX_LEN = 96, PROCESSES_MAX = 4096, ANSWER_MS = 2000 };

enum format { TABLE, JSON, PROMETHEUS };

struct options {
	enum format format;
	bool watch;
};

static const struct argp_option stat_options[] = {
	{.name = "json", .key = KEY_JSON, .doc = "One JSON object with all counters"},
	{.name = "prometheus", .key = KEY_PROMETHEUS, .doc = "Prometheus text"},
	{.name = "watch", .key = 'w', .doc = "Again every second, until interrupted"},
	{0},
};

static error_t stat_parse(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	(void)arg;
	switch (key) {
	case KEY_JSON:
		o->format = JSON;
		return 0;
	case KEY_PROMETHEUS:
		o->format = PROMETHEUS;
		return 0;
	case 'w':
		o->watch = true;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp stat_argp = {
	.options = stat_options,
	.parser = stat_parse,
	.doc = "Shows the counters of each NIC and QP of your `gdakit run` processes on this "
	       "machine. docs/recording.md names the fields.",
};

/* ---- asking ---- */

struct target {
	char name[NAME_MAX_LEN]; /* of the socket, without the leading zero */
	char host[16];
};

/* Sockets of this user, in the order of the kernel's list without repetition. */
static unsigned int find_targets(struct target *targets)
{
	char prefix[64], line[512];
	FILE *f = fopen("/proc/net/unix", "re");
	unsigned int n = 0;

	snprintf(prefix, sizeof(prefix), "@" STAT_PREFIX "%u/", (unsigned int)geteuid());
	while (f && n < PROCESSES_MAX && fgets(line, sizeof(line), f)) {
		char *at = strstr(line, prefix), *host = at ? at + strlen(prefix) : NULL;
		size_t len = at ? strcspn(at, "\n") - 1 : 0;
		bool known = false;

		if (!at || len >= sizeof(targets[0].name) || strcspn(host, "/") > 15)
			continue;
		memcpy(targets[n].name, at + 1, len);
		targets[n].name[len] = '\0';
		snprintf(targets[n].host, sizeof(targets[n].host), "%.*s", (int)strcspn(host, "/"),
			 host);
		for (unsigned int i = 0; i < n; i++)
			known |= !strcmp(targets[i].name, targets[n].name);
		n += !known;
	}
	if (f)
		fclose(f);
	return n;
}

static int connect_to(const struct target *t)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	const struct timeval patience = {.tv_sec = ANSWER_MS / 1000};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	socklen_t len = sizeof(struct ucred);
	struct ucred peer;

	memcpy(a.sun_path + 1, t->name, strlen(t->name));
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	if (!connect(fd, (struct sockaddr *)&a,
		     (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(t->name))) &&
	    !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) && peer.uid == geteuid())
		return fd;
	close(fd);
	return -1;
}

/* A whole answer of a version that we know, with strings that end. */
static bool ask(int fd, uint32_t nic, uint32_t from_qpn, struct stat_reply *r)
{
	const struct stat_request q = {
		.magic = STAT_MAGIC, .version = STAT_VERSION, .nic = nic, .from_qpn = from_qpn};
	ssize_t n;

	if (send(fd, &q, sizeof(q), MSG_NOSIGNAL) != (ssize_t)sizeof(q))
		return false;
	n = recv(fd, r, sizeof(*r), 0);
	if (n < (ssize_t)offsetof(struct stat_reply, qps) || r->magic != STAT_MAGIC ||
	    r->version != STAT_VERSION || r->ncounters != NM_NCOUNTERS || r->nqps > STAT_QPS ||
	    n != (ssize_t)(offsetof(struct stat_reply, qps) + r->nqps * sizeof(r->qps[0])))
		return false;
	r->device[sizeof(r->device) - 1] = '\0';
	r->command[sizeof(r->command) - 1] = '\0';
	return true;
}

/* ---- what was answered ---- */

struct row {
	char host[16], device[16], command[STAT_COMMAND_MAX];
	uint32_t pid;
	uint8_t gid[16];
	bool is_qp;
	struct stat_qp qp; /* of a NIC: only its counters */
};

struct rows {
	struct row *row;
	size_t count, cap;
};

static void add_row(struct rows *rows, const struct target *t, const struct stat_reply *r,
		    const struct stat_qp *qp)
{
	struct row *row;

	if (rows->count == rows->cap) {
		size_t cap = rows->cap ? 2 * rows->cap : 64;
		struct row *more = realloc(rows->row, cap * sizeof(*more));

		if (!more)
			return;
		rows->row = more;
		rows->cap = cap;
	}
	row = &rows->row[rows->count++];
	memset(row, 0, sizeof(*row));
	memcpy(row->host, t->host, sizeof(row->host));
	memcpy(row->device, r->device, sizeof(row->device));
	memcpy(row->command, r->command, sizeof(row->command));
	memcpy(row->gid, r->gid, sizeof(row->gid));
	row->pid = r->pid;
	row->is_qp = qp != NULL;
	if (qp)
		row->qp = *qp;
	else
		row->qp.counters = r->counters;
}

static void ask_nic(int fd, const struct target *t, uint32_t nic, struct rows *rows)
{
	static struct stat_reply r;
	uint32_t from = 0;

	for (unsigned int i = 0; i < 1 << 16 && ask(fd, nic, from, &r); i++) {
		if (nic >= r.nics)
			return;
		if (i == 0)
			add_row(rows, t, &r, NULL);
		for (uint32_t q = 0; q < r.nqps; q++)
			add_row(rows, t, &r, &r.qps[q]);
		if (r.nqps < STAT_QPS || r.qps[STAT_QPS - 1].qpn < from)
			return;
		from = r.qps[STAT_QPS - 1].qpn + 1;
	}
}

static void ask_all(struct rows *rows)
{
	static struct target targets[PROCESSES_MAX + 1];
	unsigned int n = find_targets(targets);

	rows->count = 0;
	for (unsigned int i = 0; i < n; i++) {
		size_t before = rows->count;
		int fd = connect_to(&targets[i]);

		for (uint32_t nic = 0; fd >= 0 && nic < STAT_NICS; nic++) {
			size_t had = rows->count;

			ask_nic(fd, &targets[i], nic, rows);
			if (rows->count == had)
				break;
		}
		if (fd >= 0)
			close(fd);
		/* It may just have ended; one of another version answers nothing that we read. */
		if (fd >= 0 && rows->count == before)
			complain("%s: no answer (is its process stopped, or of another version of "
				 "gdakit?)",
				 targets[i].name);
	}
}

/* ---- printing ---- */

static uint64_t value_of(const struct row *row, const struct nm_counter_row *c)
{
	uint64_t value;

	memcpy(&value, (const uint8_t *)&row->qp.counters + c->off, sizeof(value));
	return value;
}

/* What is shown in any case; the others where they are not 0. */
static bool always_shown(const char *name)
{
	return !strcmp(name, "tx_packets") || !strcmp(name, "tx_bytes") ||
	       !strcmp(name, "rx_packets") || !strcmp(name, "rx_bytes") || !strcmp(name, "cqes_ok");
}

static void print_row(const struct row *row)
{
	if (row->is_qp)
		printf("  QP 0x%06x  %s %s to 0x%06x", row->qp.qpn, prm_qp_st_name(row->qp.st),
		       name_of_state(row->qp.state), row->qp.remote_qpn);
	else
		printf("%s  host %s  pid %u  %.60s\n  port", row->device, row->host, row->pid,
		       row->command);
	for (unsigned int i = 0; i < NM_NCOUNTERS; i++) {
		uint64_t value = value_of(row, &nm_counter_rows[i]);

		if (value || always_shown(nm_counter_rows[i].name))
			printf("  %s %" PRIu64, nm_counter_rows[i].name, value);
	}
	putchar('\n');
}

static void print_table(const struct rows *rows)
{
	for (size_t i = 0; i < rows->count; i++)
		print_row(&rows->row[i]);
	if (!rows->count)
		puts("no process of yours has a NIC of `gdakit run` open");
}

static void print_json_counters(const struct row *row)
{
	fputs(",\"counters\":{", stdout);
	for (unsigned int i = 0; i < NM_NCOUNTERS; i++)
		printf("%s\"%s\":%" PRIu64, i ? "," : "", nm_counter_rows[i].name,
		       value_of(row, &nm_counter_rows[i]));
	putchar('}');
}

/* {"nics":[{"host","pid","command","device","counters","qps":[{"qpn",...,"counters"}]}]} */
static void print_json(const struct rows *rows)
{
	struct out o = {.to = stdout, .json = true};

	fputs("{\"version\":1,\"nics\":[", stdout);
	for (size_t i = 0; i < rows->count;) {
		const struct row *nic = &rows->row[i];

		printf("%s{\"pid\":%u", i ? "," : "", nic->pid);
		out_word(&o, "host", nic->host);
		out_word(&o, "device", nic->device);
		out_word(&o, "command", nic->command);
		out_bytes(&o, "gid", nic->gid, sizeof(nic->gid));
		print_json_counters(nic);
		fputs(",\"qps\":[", stdout);
		for (i++; i < rows->count && rows->row[i].is_qp; i++) {
			const struct row *row = &rows->row[i];

			printf("%s{\"qpn\":%u", row - nic > 1 ? "," : "", row->qp.qpn);
			out_number(&o, "remote_qpn", row->qp.remote_qpn);
			out_word(&o, "type", prm_qp_st_name(row->qp.st));
			out_word(&o, "state", name_of_state(row->qp.state));
			print_json_counters(row);
			putchar('}');
		}
		fputs("]}", stdout);
	}
	puts("]}");
}

/* Other processes chose these texts: as the format wants them, and no other bytes. */
static void print_label(const char *name, const char *text)
{
	printf("%s=\"", name);
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			putchar('\\');
		putchar(*text >= 0x20 && *text < 0x7f ? *text : '.');
	}
	putchar('"');
}

static void print_series(const struct row *row, const struct nm_counter_row *c)
{
	printf("gdakit_%s_%s_total{", row->is_qp ? "qp" : "port", c->name);
	print_label("device", row->device);
	print_label(",host", row->host);
	printf(",pid=\"%u\"", row->pid);
	if (row->is_qp)
		printf(",qpn=\"0x%06x\"", row->qp.qpn);
	printf("} %" PRIu64 "\n", value_of(row, c));
}

/* https://prometheus.io/docs/instrumenting/exposition_formats: the lines of a name stand together.
 */
static void print_prometheus(const struct rows *rows)
{
	for (int qp = 0; qp < 2; qp++) {
		for (unsigned int i = 0; i < NM_NCOUNTERS; i++) {
			const struct nm_counter_row *c = &nm_counter_rows[i];

			printf("# HELP gdakit_%s_%s_total %s\n# TYPE gdakit_%s_%s_total counter\n",
			       qp ? "qp" : "port", c->name, c->what, qp ? "qp" : "port", c->name);
			for (size_t n = 0; n < rows->count; n++)
				if (rows->row[n].is_qp == (qp != 0))
					print_series(&rows->row[n], c);
		}
	}
}

int main_stat(int argc, char **argv)
{
	static void (*const print[])(const struct rows *rows) = {
		[TABLE] = print_table, [JSON] = print_json, [PROMETHEUS] = print_prometheus};
	struct options o = {0};
	struct rows rows = {0};

	argp_parse(&stat_argp, argc, argv, 0, NULL, &o);
	do {
		ask_all(&rows);
		print[o.format](&rows);
		if (o.watch && o.format == TABLE)
			putchar('\n');
		fflush(stdout);
		if (o.watch)
			sleep(1);
	} while (o.watch && !ferror(stdout));
	free(rows.row);
	return 0;
}
