/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "emu/world/world_priv.h"
#include "sim_tests/world_fake_nic.h"

static char host_a[32], host_b[32];

static void name_hosts(void)
{
	unsigned int n = (unsigned int)getpid();

	snprintf(host_a, sizeof(host_a), "127.%u.%u", 20 + n % 20, n / 20 % 256);
	snprintf(host_b, sizeof(host_b), "127.%u.%u", 40 + n % 20, n / 20 % 256);
}

TestSuite(world, .init = name_hosts);

static struct world *make_world(enum world_wire wire, const char *host)
{
	const char *why = NULL;
	struct world *w = world_create(&(struct world_config){.wire = wire, .host = host}, &why);

	cr_assert_not_null(w, "%s", why);
	return w;
}

static struct world_nic *add_nic(struct world *w)
{
	struct nm_config config = {
		.name = "fake",
		.uar_base = aligned_alloc(4096, 4096),
		.uar_pages = 1,
	};
	const char *why = NULL;
	struct world_nic *n;

	memset(config.uar_base, 0, 4096);
	n = world_add_nic(w, &config, NULL, NULL, &why);
	cr_assert_not_null(n, "%s", why);
	return n;
}

static struct nm_nic *fake(struct world_nic *n)
{
	return world_nic_model(n);
}

static void ring(struct world_nic *n, uint64_t value)
{
	__atomic_store_n((uint64_t *)fake(n)->config.uar_base, value, __ATOMIC_RELEASE);
}

static void destroy(struct world *w, struct world_nic *n0, struct world_nic *n1)
{
	void *uar0 = n0 ? fake(n0)->config.uar_base : NULL;
	void *uar1 = n1 ? fake(n1)->config.uar_base : NULL;

	world_destroy(w);
	free(uar0);
	free(uar1);
}

/* Waits for as long as a loaded machine may need; the test fails by its own timeout at worst. */
static bool eventually(_Atomic uint32_t *counter, uint32_t at_least)
{
	for (int i = 0; i < 20000; i++) {
		if (atomic_load(counter) >= at_least)
			return true;
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	}
	return false;
}

Test(world, a_doorbell_is_served_without_any_call)
{
	struct world *w = make_world(WORLD_WIRE_LOCAL, NULL);
	struct world_nic *n = add_nic(w);

	for (uint32_t i = 1; i <= 20; i++) {
		ring(n, FAKE_DOORBELL_COUNT);
		cr_assert(eventually(&fake(n)->doorbells, i));
	}
	destroy(w, n, NULL);
}

Test(world, a_nic_without_work_is_looked_at_ever_less_often_but_within_a_millisecond)
{
	uint64_t last = 0;

	for (uint64_t idle_ns = 0; idle_ns < 2000000000; idle_ns += 100000) {
		uint64_t ns = waiter_backoff_ns(idle_ns);

		cr_assert_geq(ns, last);
		cr_assert_lt(ns, 1000000);
		last = ns;
	}
	cr_assert_geq(last, 500000, "an idle NIC costs too many wake-ups");
	cr_assert_leq(waiter_backoff_ns(20000), 20000, "and a busy one answers too late");
}

static void set_timer(void *nic)
{
	((struct nm_nic *)nic)->timer_ns = 1; /* long past: due at once */
}

/* A machine of a test: its clock, its cores, and how long a yield takes. */
static struct {
	uint64_t now_ns, yield_ns;
	unsigned int cpus, yields;
} machine;

static uint64_t machine_now_ns(void)
{
	return machine.now_ns;
}

static void machine_yield(void)
{
	machine.yields++;
	machine.now_ns += machine.yield_ns;
}

static unsigned int machine_cpus(void)
{
	return machine.cpus;
}

static struct spinner spinner_on(unsigned int cpus, uint64_t yield_ns)
{
	machine.now_ns = 1000000000;
	machine.yields = 0;
	machine.cpus = cpus;
	machine.yield_ns = yield_ns;
	return (struct spinner){
		.now_ns = machine_now_ns, .yield = machine_yield, .cpus = machine_cpus};
}

/* Turns of `ns` each in which there was just work, until the spinner gives up; at most `most`. */
static unsigned int spin(struct spinner *s, uint64_t ns, unsigned int most)
{
	unsigned int n;

	for (n = 0; n < most && spinner_turn(s, 0, machine.now_ns); n++)
		machine.now_ns += ns;
	return n;
}

Test(world, a_thread_spins_only_where_cores_are_to_spare_and_only_for_a_while)
{
	struct spinner two = spinner_on(2, 500), many;

	cr_assert_eq(spin(&two, 300, 1000), 0);
	cr_assert_eq(machine.yields, 0);
	many = spinner_on(16, 500);
	cr_assert_eq(spin(&many, 300, 1000), 1000);
	cr_assert_gt(machine.yields, 10);
	cr_assert_not(spinner_turn(&many, 1000000, machine.now_ns), "idle for a millisecond");
}

Test(world, a_thread_whose_yield_comes_back_late_spins_no_more_and_tries_again_later)
{
	struct spinner s = spinner_on(16, 2000000);
	unsigned int first = spin(&s, 300, 1000), second;
	uint64_t gave_up_ns = machine.now_ns, pause_ns, again_ns;

	cr_assert_lt(first, 100);
	cr_assert_eq(spin(&s, 300, 1000), 0);
	machine.now_ns += 1000000000;
	second = spin(&s, 300, 1000);
	cr_assert_gt(second, 0);
	cr_assert_lt(second, 100);
	again_ns = machine.now_ns;
	for (pause_ns = 0; !spinner_turn(&s, 0, machine.now_ns); pause_ns += 1000000)
		machine.now_ns += 1000000;
	cr_assert_gt(pause_ns, 30000000, "longer than the first time");
	cr_assert_lt(pause_ns, 2000000000);
	cr_assert_gt(again_ns, gave_up_ns);
}

Test(world, a_process_that_is_bound_to_fewer_cores_stops_spinning)
{
	struct spinner s = spinner_on(16, 500);

	cr_assert_eq(spin(&s, 300, 100), 100);
	machine.cpus = 1;
	machine.now_ns += 200000000;
	cr_assert_eq(spin(&s, 300, 100), 0);
}

Test(world, a_timer_of_the_nic_is_not_forgotten)
{
	struct world *w = make_world(WORLD_WIRE_LOCAL, NULL);
	struct world_nic *n = add_nic(w);

	world_locked(w, set_timer, fake(n));
	cr_assert(eventually(&fake(n)->timers, 1));
	destroy(w, n, NULL);
}

struct hammer {
	struct world_nic *n;
	uint32_t count;
};

static void *hammer_commands(void *arg)
{
	struct hammer *h = arg;
	uint8_t in[16] = {0}, out[16];

	for (uint32_t i = 0; i < h->count; i++)
		cr_assert_eq(world_command(h->n, &(struct nm_cmd_ctx){0}, in, sizeof(in), out,
					   sizeof(out), NULL),
			     0);
	return NULL;
}

Test(world, commands_of_several_threads_get_in_while_the_nic_is_always_busy)
{
	struct world *w = make_world(WORLD_WIRE_LOCAL, NULL);
	struct world_nic *n = add_nic(w);
	struct hammer h = {.n = n, .count = 500};
	pthread_t threads[4];
	uint32_t before;

	atomic_store(&fake(n)->always_busy, true);
	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, hammer_commands, &h);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	cr_assert_eq(atomic_load(&fake(n)->commands), 2000);
	cr_assert_eq(atomic_load(&fake(n)->overlaps), 0, "one at a time");
	before = atomic_load(&fake(n)->progresses);
	cr_assert(eventually(&fake(n)->progresses, before + 10));
	destroy(w, n, NULL);
}

struct exchange {
	struct world_nic *n;
	struct world_nic *peer;
};

static void set_peer(void *arg)
{
	struct exchange *e = arg;

	world_nic_gid(e->peer, fake(e->n)->peer.dgid);
	world_nic_gid(e->n, fake(e->n)->peer.sgid);
	fake(e->n)->peer_qpn = fake(e->peer)->config.qpn_prefix;
}

/* A doorbell starts 200 packets back and forth. */
static void play(struct world *wa, struct world_nic *a, struct world *wb, struct world_nic *b)
{
	struct exchange ab = {a, b}, ba = {b, a};

	world_locked(wa, set_peer, &ab);
	world_locked(wb, set_peer, &ba);
	ring(a, FAKE_DOORBELL_SEND);
	cr_assert(eventually(&fake(b)->received, 101));
	cr_assert(eventually(&fake(a)->received, 100));
	cr_assert_eq(atomic_load(&fake(a)->overlaps) + atomic_load(&fake(b)->overlaps), 0);
	for (unsigned int i = 1; i < 3000; i++)
		cr_assert_eq(fake(a)->answer[i], 200);
}

Test(world, nics_of_one_world_talk_by_reference)
{
	struct world *w = make_world(WORLD_WIRE_LOCAL, NULL);
	struct world_nic *a = add_nic(w), *b = add_nic(w);

	cr_assert_eq(fake(a)->config.qpn_prefix, 0);
	cr_assert_eq(fake(b)->config.qpn_prefix, 0x10000);
	play(w, a, w, b);
	destroy(w, a, b);
}

Test(world, worlds_talk_over_udp)
{
	struct world *wa = make_world(WORLD_WIRE_UDP, host_a);
	struct world *wb = make_world(WORLD_WIRE_UDP, host_b);
	struct world_nic *a = add_nic(wa), *b = add_nic(wb);

	cr_assert_eq(world_nic_lid(a), world_host_lid(host_a));
	play(wa, a, wb, b);
	destroy(wa, a, NULL);
	destroy(wb, b, NULL);
}

Test(world, two_worlds_of_one_host_have_one_gid_and_two_slots)
{
	struct world *wa = make_world(WORLD_WIRE_UDP, host_a);
	struct world *wb = make_world(WORLD_WIRE_UDP, host_a);
	struct world_nic *a = add_nic(wa), *b = add_nic(wb);
	uint8_t gid_a[16], gid_b[16];

	world_nic_gid(a, gid_a);
	world_nic_gid(b, gid_b);
	cr_assert_arr_eq(gid_a, gid_b, 16);
	cr_assert_neq(fake(a)->config.qpn_prefix, fake(b)->config.qpn_prefix);
	play(wa, a, wb, b);
	destroy(wa, a, NULL);
	destroy(wb, b, NULL);
}

Test(world, a_bad_host_or_a_nic_that_cannot_be_made_is_reported)
{
	const char *why = NULL;
	struct nm_config config = {.name = "fake"};
	struct world *w;

	cr_assert_null(
		world_create(&(struct world_config){.wire = WORLD_WIRE_UDP, .host = "x"}, &why));
	cr_assert_not_null(why);
	w = make_world(WORLD_WIRE_LOCAL, NULL);
	why = NULL;
	cr_assert_null(world_add_nic(w, &config, NULL, NULL, &why));
	cr_assert_str_eq(why, "no UAR memory");
	world_destroy(w);
}

Test(world, a_child_that_abandons_the_world_leaves_the_parents_alone)
{
	struct world *w = make_world(WORLD_WIRE_UDP, host_a);
	struct world_nic *n = add_nic(w);
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		world_abandon(w);
		world_destroy(w);
		_exit(0);
	}
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_assert_eq(status, 0);
	ring(n, FAKE_DOORBELL_COUNT);
	cr_assert(eventually(&fake(n)->doorbells, 1));
	destroy(w, n, NULL);
}

Test(world, a_kick_wakes_a_sleeping_thread_and_is_not_lost)
{
	struct waiter wt;

	cr_assert(waiter_init(&wt));
	waiter_kick(&wt); /* before the sleep */
	waiter_sleep(&wt, NULL, 0, UINT64_C(3600000000000));
	waiter_fini(&wt);
}

/* A NIC whose UAR page lies in a file, which the program maps once more. */
struct trapped {
	struct world *w;
	struct world_nic *n;
	uint64_t *nic_page, *program_page;
};

static struct trapped make_trapped(void)
{
	const char *why = NULL;
	struct trapped t = {
		.w = world_create(&(struct world_config){.trap_doorbells = true}, &why)};
	int fd = memfd_create("uar", MFD_CLOEXEC);
	struct nm_config config = {.name = "fake", .uar_pages = 1};

	cr_assert_not_null(t.w, "%s", why);
	cr_assert_eq(ftruncate(fd, 4096), 0);
	t.nic_page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	t.program_page = mmap(NULL, 4096, PROT_WRITE, MAP_SHARED, fd, 0);
	cr_assert(t.nic_page != MAP_FAILED && t.program_page != MAP_FAILED);
	close(fd);
	config.uar_base = t.nic_page;
	t.n = world_add_nic(t.w, &config, NULL, NULL, &why);
	cr_assert_not_null(t.n, "%s", why);
	return t;
}

/* Waits until the thread has trapped the doorbells; false: this kernel does not offer it. */
static bool wait_for_trap(struct trapped *t)
{
	if (!atomic_load(&t->w->trappable))
		return false;
	for (int i = 0; i < 20000; i++) {
		if (atomic_load(&t->w->trap.armed))
			return true;
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	}
	return false;
}

Test(world, an_idle_nic_traps_doorbells_and_is_woken_by_each)
{
	struct trapped t = make_trapped();

	for (uint32_t i = 1; i <= 3; i++) {
		if (!wait_for_trap(&t)) {
			world_destroy(t.w);
			cr_skip_test("no userfaultfd with write protection here");
		}
		__atomic_store_n(t.program_page, FAKE_DOORBELL_COUNT, __ATOMIC_RELEASE);
		cr_assert(eventually(&fake(t.n)->doorbells, i));
	}
	world_destroy(t.w);
	t.program_page[0] = 1; /* nothing is left protected */
}

Test(world, a_trapped_world_can_be_destroyed_under_a_waiting_store)
{
	struct trapped t = make_trapped();

	wait_for_trap(&t);
	world_destroy(t.w);
	t.program_page[0] = 1;
}

Test(world, doorbells_that_nobody_sees_end_the_trap)
{
	struct trapped t = make_trapped();
	uint32_t before;

	if (!wait_for_trap(&t)) {
		world_destroy(t.w);
		cr_skip_test("no userfaultfd with write protection here");
	}
	world_doorbells_unseen(t.w);
	before = atomic_load(&fake(t.n)->progresses);
	cr_assert(eventually(&fake(t.n)->progresses, before + 2000));
	cr_assert(!atomic_load(&t.w->trap.armed));
	world_destroy(t.w);
}

static void sleep_long(void *arg)
{
	((struct world *)arg)->trapped_sleep_ns = UINT64_C(3600000000000);
}

/* Until the thread sleeps with the doorbells trapped; false: this kernel does not offer it. */
static bool wait_for_sleep(struct trapped *t)
{
	if (!wait_for_trap(t))
		return false;
	for (int i = 0; i < 20000; i++) {
		if (atomic_load(&t->w->trap.armed) && atomic_load(&t->w->waiter.asleep))
			return true;
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	}
	return false;
}

Test(world, a_command_wakes_the_thread_of_an_idle_nic)
{
	struct trapped t = make_trapped();
	uint8_t in[16] = {0}, out[16];
	uint32_t before;

	world_locked(t.w, sleep_long, t.w);
	if (!wait_for_sleep(&t)) {
		world_destroy(t.w);
		cr_skip_test("no userfaultfd with write protection here");
	}
	before = atomic_load(&fake(t.n)->progresses);
	cr_assert_eq(
		world_command(t.n, &(struct nm_cmd_ctx){0}, in, sizeof(in), out, sizeof(out), NULL),
		0);
	cr_assert(eventually(&fake(t.n)->progresses, before + 1));
	cr_assert(wait_for_sleep(&t));
	before = atomic_load(&fake(t.n)->progresses);
	world_locked(t.w, set_timer, fake(t.n));
	cr_assert(eventually(&fake(t.n)->timers, 1));
	cr_assert(eventually(&fake(t.n)->progresses, before + 1));
	world_destroy(t.w);
}

Test(world, a_child_of_fork_may_ring_while_its_parent_is_trapped)
{
	struct trapped t = make_trapped();
	int status;
	pid_t pid;

	wait_for_trap(&t);
	pid = fork();
	if (pid == 0) {
		__atomic_store_n(t.program_page, FAKE_DOORBELL_COUNT, __ATOMIC_RELEASE);
		_exit(0);
	}
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_assert_eq(status, 0);
	cr_assert(eventually(&fake(t.n)->doorbells, 1));
	world_destroy(t.w);
}

Test(world, a_program_that_unmaps_a_trapped_page_harms_nobody)
{
	struct trapped t = make_trapped();

	wait_for_trap(&t);
	munmap(t.program_page, 4096);
	__atomic_store_n(t.nic_page, FAKE_DOORBELL_COUNT, __ATOMIC_RELEASE);
	cr_assert(eventually(&fake(t.n)->doorbells, 1));
	world_destroy(t.w);
}

static struct waiter kicked_waiter;
static _Atomic uint32_t wakes;

static void *kick_each_sleep(void *arg)
{
	(void)arg;
	for (uint32_t i = 0; i < 1000; i++) {
		while (!atomic_load(&kicked_waiter.asleep))
			sched_yield();
		waiter_kick(&kicked_waiter);
		while (atomic_load(&wakes) == i)
			sched_yield();
	}
	return NULL;
}

Test(world, kicks_from_another_thread_always_end_the_sleep)
{
	pthread_t thread;

	cr_assert(waiter_init(&kicked_waiter));
	pthread_create(&thread, NULL, kick_each_sleep, NULL);
	for (uint32_t i = 0; i < 1000; i++) {
		waiter_sleep(&kicked_waiter, NULL, 0, UINT64_C(3600000000000));
		atomic_fetch_add(&wakes, 1);
	}
	pthread_join(thread, NULL);
	waiter_fini(&kicked_waiter);
}

static uint64_t test_now_ns;

static uint64_t test_clock(void *ctx)
{
	(void)ctx;
	return test_now_ns;
}

static size_t count_lines(int fd, char *text, size_t cap)
{
	ssize_t n = read(fd, text, cap - 1);
	size_t lines = 0;

	text[n > 0 ? n : 0] = 0;
	for (const char *p = text; *p; p++)
		lines += *p == '\n';
	return lines;
}

Test(world, a_diagnosis_is_one_line_and_a_repeated_one_is_counted)
{
	static struct verbose v;
	char text[4096];
	int fds[2];

	cr_assert_eq(pipe2(fds, O_NONBLOCK), 0);
	verbose_init(&v, "mlx5_0", fds[1], test_clock, NULL);
	for (int i = 0; i < 5; i++)
		verbose_print(&v, 0x10023, "key 0x1 is unknown");
	verbose_print(&v, 0, "something else");
	cr_assert_eq(count_lines(fds[0], text, sizeof(text)), 2);
	cr_assert_str_eq(text, "gdakit: mlx5_0: QP 0x010023: key 0x1 is unknown\n"
			       "gdakit: mlx5_0: something else\n");
	test_now_ns += 999999999;
	verbose_settle(&v, false);
	cr_assert_eq(count_lines(fds[0], text, sizeof(text)), 0);
	test_now_ns += 1;
	verbose_settle(&v, false);
	cr_assert_eq(count_lines(fds[0], text, sizeof(text)), 1);
	cr_assert(strstr(text, "key 0x1 is unknown (4 more like this)"));
	close(fds[0]);
	close(fds[1]);
}

Test(world, a_refused_command_is_told_with_its_status)
{
	static struct verbose v;
	char text[1024];
	int fds[2];
	struct nm_event ev = {.kind = NM_EV_COMMAND,
			      .command = {.opcode = 0x500, .status = 3, .syndrome = 0x12},
			      .why = "log_sq_size 40 is larger than 15"};

	cr_assert_eq(pipe2(fds, O_NONBLOCK), 0);
	verbose_init(&v, "mlx5_0", fds[1], test_clock, NULL);
	v.observer.event(v.observer.ctx, &ev);
	ev.command.status = 0;
	v.observer.event(v.observer.ctx, &ev);
	cr_assert_eq(count_lines(fds[0], text, sizeof(text)), 1);
	cr_assert(strstr(text, "command 0x500 refused: log_sq_size 40 is larger than 15"));
	close(fds[0]);
	close(fds[1]);
}
