/* SPDX-License-Identifier: BSD-3-Clause */
/* Watching NICs begins and ends in whatever thread: the first one that opens the device, the last
 * one that leaves, and the one that ends the program. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "emu/observe/stat.h"
#include "emu/uverbs/face.h"

enum { ROUNDS = 40 };

static struct world *w;
static struct world_nic *n;
static char host[16];

static void up(void)
{
	const struct world_config wc = {.wire = WORLD_WIRE_LOCAL};
	struct nm_config nc = {.name = "mlx5_0", .port_mtu = 5, .uar_pages = 4};
	const char *why = "";

	snprintf(host, sizeof(host), "o%d", (int)getpid() % 1000000);
	setenv(UV_ENV_HOST, host, 1);
	nc.uar_base =
		mmap(NULL, 4 * 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	w = world_create(&wc, &why);
	cr_assert(w != NULL, "%s", why);
	n = world_add_nic(w, &nc, NULL, NULL, &why);
	cr_assert(n != NULL, "%s", why);
}

/* Does anybody answer `gdakit stat` for this process? */
static bool observed(void)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);
	int len = snprintf(a.sun_path + 1, sizeof(a.sun_path) - 1, STAT_PREFIX "%u/%s/0",
			   (unsigned int)geteuid(), host);
	bool is = !connect(fd, (struct sockaddr *)&a,
			   (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)len));

	close(fd);
	return is;
}

static void *begin_often(void *arg)
{
	(void)arg;
	for (int i = 0; i < ROUNDS; i++)
		uv_observe(w, n);
	return NULL;
}

static void *end_often(void *arg)
{
	(void)arg;
	for (int i = 0; i < ROUNDS; i++)
		uv_observe_end();
	return NULL;
}

Test(uverbs_observe, one_thread_may_end_it_while_another_begins, .timeout = 100)
{
	void *(*const what[])(void *) = {begin_often, end_often, begin_often};
	pthread_t thread[3];

	up();
	for (int i = 0; i < 3; i++)
		cr_assert(pthread_create(&thread[i], NULL, what[i], NULL) == 0);
	for (int i = 0; i < 3; i++)
		pthread_join(thread[i], NULL);
	uv_observe_end();
	cr_expect(!observed());
	world_destroy(w);
}

Test(uverbs_observe, a_thread_that_opens_the_device_after_the_exit_handlers_is_not_watched)
{
	up();
	uv_observe(w, n);
	cr_expect(observed());
	uv_observe_exit();
	cr_expect(!observed());
	uv_observe(w, n);
	cr_expect(!observed(), "nobody would end it");
	world_destroy(w);
}

Test(uverbs_observe, a_child_is_watched_again)
{
	up();
	uv_observe(w, n);
	uv_observe_exit();
	uv_observe_abandon(); /* as in the child of a fork */
	uv_observe(w, n);
	cr_expect(observed());
	uv_observe_end();
	world_destroy(w);
}
