// SPDX-License-Identifier: BSD-3-Clause
/* Threads that share a copy, and payload that is pulled by several of them. */
#include <sched.h>
#include <sys/mman.h>

#include "sim_tests/link_shm_rig.h"

TestSuite(link_shm_team, .init = name_all, .timeout = 60);

/* ---- the team ---- */

enum { CELLS = 64, ROUNDS = 3000 };

struct work {
	uint32_t cells[CELLS]; /* plain: whoever runs a slice, the owner sees it afterwards */
	struct shm_team *team;
	pthread_t owner;
	_Atomic unsigned int arrived;
	unsigned int want;
};

static void count_cell(void *arg, unsigned int i)
{
	((struct work *)arg)->cells[i]++;
}

Test(link_shm_team, without_threads_the_owner_does_each_slice_once)
{
	struct shm_team *team = shm_team_create(SHM_HELPERS_MAX);
	struct work w = {0};

	cr_assert_eq(shm_team_hands(team), 1);
	for (unsigned int n = 1; n <= CELLS; n++)
		shm_team_run(team, n, count_cell, &w);
	for (unsigned int i = 0; i < CELLS; i++)
		cr_assert_eq(w.cells[i], CELLS - i);
	shm_team_destroy(team);
}

/* Holds on to its slice until all hands have one. */
static void meet(void *arg, unsigned int i)
{
	struct work *w = arg;

	w->cells[i]++;
	atomic_fetch_add(&w->arrived, 1);
	while (atomic_load(&w->arrived) < w->want) {
		if (pthread_equal(pthread_self(), w->owner))
			shm_team_call(w->team);
		sched_yield();
	}
}

Test(link_shm_team, those_who_are_called_take_slices)
{
	struct work w = {.owner = pthread_self(), .want = SHM_HELPERS_MAX + 1};

	w.team = shm_team_create(SHM_HELPERS_MAX);
	for (int round = 0; round < 20; round++) {
		atomic_store(&w.arrived, 0);
		w.team->rest_until_ns = 0;
		shm_team_run(w.team, w.want, meet, &w);
	}
	for (unsigned int i = 0; i < w.want; i++)
		cr_assert_eq(w.cells[i], 20);
	shm_team_destroy(w.team);
}

Test(link_shm_team, each_slice_is_done_once_and_seen_by_the_owner_whoever_does_it)
{
	struct shm_team *team = shm_team_create(SHM_HELPERS_MAX);
	struct work w = {0};

	for (unsigned int round = 1; round <= ROUNDS; round++) {
		team->rest_until_ns = 0;
		shm_team_call(team);
		shm_team_run(team, 1 + round % CELLS, count_cell, &w);
		for (unsigned int i = 0; i <= round % CELLS; i++) {
			cr_assert_eq(w.cells[i], 1);
			w.cells[i] = 0;
		}
	}
	shm_team_destroy(team);
}

Test(link_shm_team, it_ends_whether_its_helpers_sleep_or_look_for_work)
{
	struct work w = {0};

	for (int round = 0; round < 50; round++) {
		struct shm_team *team = shm_team_create(SHM_HELPERS_MAX);

		shm_team_call(team);
		while (round % 2 && !atomic_load(&team->asleep))
			sched_yield();
		shm_team_run(team, 4, count_cell, &w);
		shm_team_destroy(team);
	}
	cr_assert_eq(w.cells[3], 50);
}

Test(link_shm_team, after_a_helper_was_late_the_owner_is_alone_for_a_while)
{
	struct shm_team *team = shm_team_create(SHM_HELPERS_MAX);

	team->tried = true;
	atomic_store(&team->awake, 1);
	cr_assert_eq(shm_team_hands(team), 2);
	team->rest_until_ns = UINT64_MAX;
	cr_assert_eq(shm_team_hands(team), 1);
	team->rest_until_ns = 1;
	cr_assert_eq(shm_team_hands(team), 2);
	shm_team_destroy(team);
}

/* ---- payload ---- */

/* So many hands that the payload is cut, but no threads: this one does all slices. */
static void cut_for(struct link *link, unsigned int helpers)
{
	struct shm_link *sl = (struct shm_link *)link;

	shm_team_destroy(sl->team);
	sl->team = shm_team_create(helpers);
	sl->team->tried = true;
	atomic_store(&sl->team->awake, helpers);
}

/* As three pieces, which end where no slice does. */
static void in_pieces(struct nm_packet *pkt, uint8_t *payload, uint32_t len)
{
	pkt->niov = 3;
	pkt->payload[0] = (struct iovec){payload, 5};
	pkt->payload[1] = (struct iovec){payload + 5, len / 2};
	pkt->payload[2] = (struct iovec){payload + 5 + len / 2, len - 5 - len / 2};
}

static void deliver_shared(struct pair *p)
{
	static uint8_t payload[NM_TRAIN_MAX];
	uint32_t psn = 1;

	for (unsigned int helpers = 1; helpers <= SHM_HELPERS_MAX; helpers++) {
		cut_for(p->y, helpers);
		for (uint32_t len = NM_TRAIN_MAX; len > 32000; len -= 3333) {
			struct nm_packet pkt = write_to(&p->b->port, psn, payload, len);

			fill(payload, len, psn);
			in_pieces(&pkt, payload, len);
			cr_assert_eq(p->x->ops->send(p->x, &p->a->port, &pkt), 0);
			receive(p->x, p->y, p->b, ++psn);
			cr_assert_arr_eq(p->b->last_payload, payload, len);
			memset(p->b->last_payload, 0, len);
		}
	}
	cr_assert_eq(p->b->pulled, psn - 1);
	cr_assert_eq(p->b->lost, 0);
	close_pair(p);
}

Test(link_shm_team, payload_that_is_pulled_delivers_every_byte)
{
	struct pair p = open_pair();

	settle_without_pipes(&p);
	deliver_shared(&p);
}

Test(link_shm_team, pipes_that_are_read_by_two_deliver_every_byte)
{
	struct pair p = open_pair();

	settle_pipes(&p);
	deliver_shared(&p);
}

/* A sender that does not mind failures: it tells places again at once. */
static void forgive(struct shm_tx *tx)
{
	tx->pull_failures = atomic_load(&tx->ring.head->pull_failures);
	tx->pull_pause = 0;
}

Test(link_shm_team, payload_of_which_any_page_is_gone_is_lost)
{
	struct pair p = open_pair();
	uint32_t lost = 0;

	settle_without_pipes(&p);
	for (uint32_t page = 0; page < NM_TRAIN_MAX; page += 4096) {
		uint8_t *mem = mmap(NULL, NM_TRAIN_MAX, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		struct nm_packet pkt = write_to(&p.b->port, 1, mem, NM_TRAIN_MAX);

		cr_assert_eq(p.x->ops->send(p.x, &p.a->port, &pkt), 0);
		cr_assert_eq(munmap(mem + page, 4096), 0);
		receive(p.x, p.y, p.b, 2 + lost);
		cr_assert_eq(p.b->lost, ++lost, "page %u", page / 4096);
		forgive(first_tx(p.x));
		munmap(mem, NM_TRAIN_MAX);
	}
	close_pair(&p);
}

struct place {
	uint8_t *to;
	int rc;
};

static void pull_to(void *ctx, struct nm_packet *pkt)
{
	struct place *place = ctx;

	place->rc = pkt->pull ? pkt->pull(pkt, 0, place->to, pkt->payload_len) : 2;
}

static void pull_to_pages_that_are_read_only(struct pair *p)
{
	static uint8_t payload[NM_TRAIN_MAX];
	struct place place = {.to = mmap(NULL, NM_TRAIN_MAX, PROT_READ | PROT_WRITE,
					 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)};
	struct nm_packet pkt = write_to(&p->b->port, 1, payload, NM_TRAIN_MAX);

	cut_for(p->y, SHM_HELPERS_MAX);
	p->b->port.rx = pull_to;
	p->b->port.ctx = &place;
	for (uint32_t page = 0; page < NM_TRAIN_MAX; page += 4096) {
		cr_assert_eq(mprotect(place.to + page, 4096, PROT_READ), 0);
		place.rc = 1;
		cr_assert_eq(p->x->ops->send(p->x, &p->a->port, &pkt), 0);
		for (int i = 0; i < 100 && place.rc == 1; i++) {
			turn(p->x);
			turn(p->y);
		}
		cr_assert_eq(place.rc, -EFAULT, "page %u", page / 4096);
		cr_assert_eq(mprotect(place.to + page, 4096, PROT_READ | PROT_WRITE), 0);
	}
	close_pair(p);
}

Test(link_shm_team, memory_of_which_any_page_cannot_be_written_is_the_receivers_fault)
{
	struct pair p = open_pair();

	settle_without_pipes(&p);
	pull_to_pages_that_are_read_only(&p);
}

Test(link_shm_team, so_it_is_when_payload_comes_through_pipes)
{
	struct pair p = open_pair();

	settle_pipes(&p);
	pull_to_pages_that_are_read_only(&p);
}

static void stream_to_helpers(struct pair *p)
{
	static uint8_t payload[NM_TRAIN_MAX];
	struct shm_link *sl = (struct shm_link *)p->y;

	shm_team_destroy(sl->team);
	sl->team = shm_team_create(SHM_HELPERS_MAX);
	for (uint32_t psn = 1; psn < 300; psn++) {
		struct nm_packet pkt = write_to(&p->b->port, psn, payload, NM_TRAIN_MAX);

		sl->team->rest_until_ns = 0;
		sl->pull_row = 1 << 20; /* helpers are worth waking */
		memset(payload, (int)psn, sizeof(payload));
		cr_assert_eq(p->x->ops->send(p->x, &p->a->port, &pkt), 0);
		receive(p->x, p->y, p->b, 1 + psn);
		cr_assert_arr_eq(p->b->last_payload, payload, NM_TRAIN_MAX);
	}
	cr_assert_eq(p->b->lost, 0);
	close_pair(p);
}

Test(link_shm_team, payload_that_helpers_read_is_whole_when_the_packet_is_delivered)
{
	struct pair p = open_pair();

	settle_pipes(&p);
	stream_to_helpers(&p);
}
