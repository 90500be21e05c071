/* SPDX-License-Identifier: BSD-3-Clause */
/* What a process tells others of its NICs: answers on a socket, counters in files. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "emu/observe/publish.h"
#include "emu/observe/stat.h"

/* ---- the socket ---- */

static struct world *w;
static struct world_nic *n;
static struct stat_server *server;
static char host[16];

static void up(const char *sysfs)
{
	const struct world_config wc = {.wire = WORLD_WIRE_LOCAL};
	struct nm_config nc = {.name = "mlx5_0", .port_mtu = 5, .uar_pages = 4};
	const char *why = "";

	snprintf(host, sizeof(host), "t%d", (int)getpid() % 1000000);
	nc.uar_base =
		mmap(NULL, 4 * 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	w = world_create(&wc, &why);
	cr_assert(w != NULL, "%s", why);
	n = world_add_nic(w, &nc, NULL, NULL, &why);
	cr_assert(n != NULL, "%s", why);
	server = stat_start(w, host, sysfs);
	cr_assert(server != NULL);
	stat_add(server, n);
}

static void down(void)
{
	stat_end(server);
	world_destroy(w);
}

static int call(void)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);
	int len = snprintf(a.sun_path + 1, sizeof(a.sun_path) - 1, STAT_PREFIX "%u/%s/0",
			   (unsigned int)geteuid(), host);

	cr_assert(connect(fd, (struct sockaddr *)&a,
			  (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)len)) ==
			  0,
		  "%s", strerror(errno));
	return fd;
}

static ssize_t ask(int fd, const struct stat_request *q, size_t len, struct stat_reply *r)
{
	if (send(fd, q, len, MSG_NOSIGNAL) != (ssize_t)len)
		return -1;
	return recv(fd, r, sizeof(*r), 0);
}

Test(observe_stat, a_nic_is_told_with_its_name)
{
	const struct stat_request q = {STAT_MAGIC, STAT_VERSION, 0, 0};
	static struct stat_reply r;
	int fd;

	up(NULL);
	fd = call();
	cr_assert(ask(fd, &q, sizeof(q), &r) == (ssize_t)offsetof(struct stat_reply, qps));
	cr_expect(r.magic == STAT_MAGIC && r.version == STAT_VERSION);
	cr_expect(r.pid == (uint32_t)getpid() && r.nics == 1 && r.nqps == 0);
	cr_expect(strcmp(r.device, "mlx5_0") == 0);
	cr_expect(ask(fd, &q, sizeof(q), &r) > 0, "a caller may ask again");
	close(fd);
	down();
}

Test(observe_stat, a_nic_that_is_not_there_has_no_name)
{
	const struct stat_request q = {STAT_MAGIC, STAT_VERSION, UINT32_MAX, UINT32_MAX};
	static struct stat_reply r;
	int fd;

	up(NULL);
	fd = call();
	cr_assert(ask(fd, &q, sizeof(q), &r) > 0);
	cr_expect(r.nics == 1 && r.nqps == 0 && r.device[0] == '\0');
	close(fd);
	down();
}

Test(observe_stat, what_is_no_request_gets_no_answer_and_the_next_caller_one)
{
	const struct stat_request good = {STAT_MAGIC, STAT_VERSION, 0, 0},
				  magic = {1, STAT_VERSION, 0, 0}, version = {STAT_MAGIC, 77, 0, 0};
	static struct stat_reply r;
	int fd;

	up(NULL);
	fd = call();
	cr_expect(ask(fd, &magic, sizeof(magic), &r) <= 0);
	close(fd);
	fd = call();
	cr_expect(ask(fd, &version, sizeof(version), &r) <= 0);
	close(fd);
	fd = call();
	cr_expect(ask(fd, &good, 5, &r) <= 0, "a short one");
	close(fd);
	fd = call();
	close(fd);
	fd = call();
	cr_expect(ask(fd, &good, sizeof(good), &r) > 0);
	close(fd);
	down();
}

/* ---- files ---- */

static char sysfs[64];

static void make_sysfs(bool blocks)
{
	char command[512];

	strcpy(sysfs, "/tmp/gdakit-stat-XXXXXX");
	cr_assert(mkdtemp(sysfs) != NULL);
	snprintf(
		command, sizeof(command),
		"cd %s && mkdir -p class/infiniband/mlx5_0/gdakit && cd class/infiniband/mlx5_0 && "
		"mkdir -p ports/1/counters ports/1/hw_counters && "
		"for f in counters/port_xmit_data counters/port_xmit_packets "
		"counters/unicast_rcv_packets counters/multicast_rcv_packets "
		"hw_counters/out_of_buffer; do echo 0 >ports/1/$f; done%s",
		sysfs, blocks ? " && : >gdakit/blocks" : "");
	cr_assert(system(command) == 0);
}

static void remove_sysfs(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -r %s", sysfs);
	cr_assert(system(command) == 0);
}

static unsigned long file(const char *name)
{
	char path[256], text[32] = "";
	FILE *f;

	snprintf(path, sizeof(path), "%s/class/infiniband/mlx5_0/ports/1/%s", sysfs, name);
	f = fopen(path, "re");
	cr_assert(f != NULL);
	cr_assert(fgets(text, sizeof(text), f) != NULL);
	fclose(f);
	return strtoul(text, NULL, 10);
}

Test(observe_stat, files_hold_the_sum_of_all_processes)
{
	static struct publisher a, b;
	const struct nm_counters of_a = {.tx_bytes = 4000, .tx_packets = 4},
				 of_b = {.tx_bytes = 80, .tx_packets = 1, .out_of_buffer = 3};

	make_sysfs(true);
	cr_assert(publish_open(&a, sysfs, "mlx5_0") && publish_open(&b, sysfs, "mlx5_0"));
	cr_expect(a.block != b.block);
	cr_expect(publish_update(&a, &of_a));
	cr_expect(!publish_update(&a, &of_a), "nothing new");
	cr_expect(file("counters/port_xmit_data") == 1000, "units of four bytes");
	cr_expect(publish_update(&b, &of_b));
	cr_expect(file("counters/port_xmit_data") == 1020);
	cr_expect(file("counters/port_xmit_packets") == 5);
	cr_expect(file("hw_counters/out_of_buffer") == 3);
	publish_close(&a);
	publish_close(&b);
	remove_sysfs();
}

Test(observe_stat, packets_of_a_group_are_not_counted_as_unicast)
{
	static struct publisher p;
	const struct nm_counters some = {.rx_packets = 9, .rx_multicast_packets = 2};

	make_sysfs(true);
	cr_assert(publish_open(&p, sysfs, "mlx5_0"));
	cr_expect(publish_update(&p, &some));
	cr_expect(file("counters/multicast_rcv_packets") == 2);
	cr_expect(file("counters/unicast_rcv_packets") == 7);
	publish_close(&p);
	remove_sysfs();
}

Test(observe_stat, a_block_goes_on_where_its_last_owner_ended)
{
	static struct publisher p;
	const struct nm_counters seven = {.tx_packets = 7}, two = {.tx_packets = 2};

	make_sysfs(true);
	cr_assert(publish_open(&p, sysfs, "mlx5_0"));
	publish_update(&p, &seven);
	publish_close(&p); /* as the kernel does for a killed process */
	cr_assert(publish_open(&p, sysfs, "mlx5_0"));
	cr_expect(p.block == 0);
	publish_update(&p, &two);
	cr_expect(file("counters/port_xmit_packets") == 9);
	publish_close(&p);
	remove_sysfs();
}

Test(observe_stat, a_sysfs_that_is_not_ours_is_left_alone)
{
	static struct publisher p;
	const struct nm_counters seven = {.tx_packets = 7};

	make_sysfs(false);
	cr_expect(!publish_open(&p, sysfs, "mlx5_0"));
	cr_expect(!publish_update(&p, &seven));
	cr_expect(file("counters/port_xmit_packets") == 0);
	publish_close(&p);
	remove_sysfs();
}

Test(observe_stat, a_descriptor_that_the_program_has_taken_is_not_written_to)
{
	static struct publisher p;
	const struct nm_counters seven = {.tx_packets = 7};
	char path[128];
	struct stat st;
	int fd;

	make_sysfs(true);
	cr_assert(publish_open(&p, sysfs, "mlx5_0"));
	snprintf(path, sizeof(path), "%s/program", sysfs);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
	cr_assert(dup2(fd, p.fd) == p.fd);
	cr_expect(!publish_update(&p, &seven));
	cr_assert(fstat(fd, &st) == 0);
	cr_expect(st.st_size == 0);
	close(fd);
	remove_sysfs();
}
