// SPDX-License-Identifier: BSD-3-Clause
/* Payload that goes through pipes: what is taken of them, and what when it is not. */
#include <sys/mman.h>

#include "sim_tests/link_shm_rig.h"

TestSuite(link_shm_pipe, .init = name_all, .timeout = 60);

static uint8_t *pages(size_t len)
{
	uint8_t *p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	cr_assert_neq((void *)p, MAP_FAILED);
	return p;
}

static void send_from(struct pair *p, uint32_t psn, void *payload, uint32_t len)
{
	struct nm_packet pkt = write_to(&p->b->port, psn, payload, len);

	cr_assert_eq(p->x->ops->send(p->x, &p->a->port, &pkt), 0);
}

/* A packet through the pipes, as the sink takes it. */
static void assert_good(struct pair *p, uint32_t psn)
{
	static uint8_t payload[NM_TRAIN_MAX];
	uint32_t count = p->b->count, lost = p->b->lost;

	fill(payload, sizeof(payload), psn);
	memset(p->b->last_payload, 0, sizeof(payload));
	p->b->port.rx = sink_rx;
	p->b->port.ctx = p->b;
	send_from(p, psn, payload, sizeof(payload));
	receive(p->x, p->y, p->b, count + 1);
	cr_assert_arr_eq(p->b->last_payload, payload, sizeof(payload));
	cr_assert_eq(p->b->lost, lost);
}

Test(link_shm_pipe, the_first_large_payload_asks_for_pipes_and_small_ones_do_not)
{
	struct pair p = open_pair();
	static uint8_t payload[NM_TRAIN_MAX];

	settle(&p);
	send_from(&p, 1, payload, SHM_PULL_MIN - 1);
	receive(p.x, p.y, p.b, 2);
	turn(p.x);
	cr_assert_not(first_tx(p.x)->outlet.asked);
	send_from(&p, 2, payload, SHM_PULL_MIN);
	receive(p.x, p.y, p.b, 3);
	turn(p.x);
	cr_assert(first_tx(p.x)->outlet.open);
	assert_good(&p, 3);
	close_pair(&p);
}

Test(link_shm_pipe, payload_of_any_length_arrives)
{
	struct pair p = open_pair();
	static uint8_t payload[NM_TRAIN_MAX + 4096];
	uint32_t psn = 1;

	settle_pipes(&p);
	for (uint32_t len = SHM_PULL_MIN; len <= NM_TRAIN_MAX; len += 1237) {
		uint8_t *from = payload + len % 4096;

		fill(from, len, len);
		send_from(&p, psn, from, len);
		receive(p.x, p.y, p.b, ++psn);
		cr_assert_arr_eq(p.b->last_payload, from, len);
	}
	cr_assert_eq(p.b->lost, 0);
	close_pair(&p);
}

Test(link_shm_pipe, what_is_in_the_pipes_arrives_although_its_memory_has_gone)
{
	struct pair p = open_pair();
	static uint8_t same[NM_TRAIN_MAX];
	uint8_t *mem = pages(NM_TRAIN_MAX);

	settle_pipes(&p);
	fill(mem, NM_TRAIN_MAX, 1);
	fill(same, NM_TRAIN_MAX, 1);
	send_from(&p, 1, mem, NM_TRAIN_MAX);
	munmap(mem, NM_TRAIN_MAX);
	receive(p.x, p.y, p.b, 2);
	cr_assert_arr_eq(p.b->last_payload, same, NM_TRAIN_MAX);
	cr_assert_eq(p.b->lost, 0);
	close_pair(&p);
}

Test(link_shm_pipe, payload_that_was_recalled_is_lost_and_the_next_is_not)
{
	struct pair p = open_pair();
	static uint8_t payload[NM_TRAIN_MAX];

	settle_pipes(&p);
	send_from(&p, 1, payload, sizeof(payload));
	p.x->ops->recall(p.x, &p.a->port);
	receive(p.x, p.y, p.b, 2);
	cr_assert_eq(p.b->lost, 1);
	assert_good(&p, 2);
	close_pair(&p);
}

static void not_wanted(void *ctx, struct nm_packet *pkt)
{
	(void)pkt;
	++*(uint32_t *)ctx;
}

/* Twice as a whole, then in pieces that do not follow each other. */
static void wanted_in_many_ways(void *ctx, struct nm_packet *pkt)
{
	static uint8_t whole[NM_TRAIN_MAX], again[NM_TRAIN_MAX], pieces[NM_TRAIN_MAX];
	uint32_t len = pkt->payload_len, half = len / 2;

	cr_assert_not_null(pkt->pull);
	cr_assert_eq(pkt->pull(pkt, half, pieces + half, len - half), 0);
	cr_assert_eq(pkt->pull(pkt, 0, whole, len), 0);
	cr_assert_eq(pkt->pull(pkt, 0, again, len), 0);
	cr_assert_eq(pkt->pull(pkt, 0, pieces, half), 0);
	cr_assert_arr_eq(whole, again, len);
	cr_assert_arr_eq(whole, pieces, len);
	++*(uint32_t *)ctx;
}

static void take_once(struct pair *p, uint32_t psn, link_rx_fn rx)
{
	static uint8_t payload[NM_TRAIN_MAX];
	uint32_t count = 0;

	fill(payload, sizeof(payload), psn);
	p->b->port.rx = rx;
	p->b->port.ctx = &count;
	send_from(p, psn, payload, sizeof(payload));
	for (int i = 0; i < 100 && !count; i++) {
		turn(p->x);
		turn(p->y);
	}
	cr_assert_eq(count, 1);
}

Test(link_shm_pipe, what_nobody_takes_does_not_stay_before_the_next)
{
	struct pair p = open_pair();

	settle_pipes(&p);
	for (uint32_t psn = 1; psn < 40; psn++)
		take_once(&p, psn, not_wanted);
	assert_good(&p, 40);
	close_pair(&p);
}

Test(link_shm_pipe, payload_may_be_taken_in_pieces_and_twice)
{
	struct pair p = open_pair();

	settle_pipes(&p);
	take_once(&p, 1, wanted_in_many_ways);
	assert_good(&p, 2);
	close_pair(&p);
}

Test(link_shm_pipe, full_pipes_push_back_and_nothing_is_lost_or_reordered)
{
	struct pair p = open_pair();
	static uint8_t payload[NM_TRAIN_MAX];
	uint32_t sent = 0, pushed_back = 0;

	settle_pipes(&p);
	while (sent < 200) {
		struct nm_packet pkt = write_to(&p.b->port, sent + 1, payload, sizeof(payload));
		int err = p.x->ops->send(p.x, &p.a->port, &pkt);

		sent += err == 0;
		if (!err)
			continue;
		cr_assert_eq(err, -EAGAIN);
		pushed_back++;
		turn(p.x);
		turn(p.y);
	}
	receive(p.x, p.y, p.b, sent + 1);
	cr_assert_gt(pushed_back, 3);
	cr_assert_eq(p.b->lost, 0);
	for (uint32_t i = 0; i <= sent; i++)
		cr_assert_eq(p.b->psn[i], i);
	assert_good(&p, sent + 1);
	close_pair(&p);
}

Test(link_shm_pipe, memory_that_is_not_there_is_lost_whichever_page_and_the_next_is_not)
{
	struct pair p = open_pair();

	settle_pipes(&p);
	for (uint32_t page = 0; page < NM_TRAIN_MAX; page += 4096) {
		uint8_t *mem = pages(NM_TRAIN_MAX);
		uint32_t count = p.b->count, lost = p.b->lost;

		munmap(mem + page, 4096);
		send_from(&p, 1, mem, NM_TRAIN_MAX);
		receive(p.x, p.y, p.b, count + 1);
		cr_assert_eq(p.b->lost, lost + 1, "page %u", page / 4096);
		munmap(mem, NM_TRAIN_MAX);
		first_tx(p.x)->pull_failures++;
		first_tx(p.x)->pull_pause = 0;
		assert_good(&p, 2);
	}
	close_pair(&p);
}

Test(link_shm_pipe, a_receiver_that_is_gone_is_noticed_and_its_successor_has_pipes_again)
{
	struct pair p = open_pair();
	static uint8_t payload[NM_TRAIN_MAX];
	unsigned int fds = count_fds();

	for (int round = 0; round < 5; round++) {
		struct nm_packet pkt;

		settle_pipes(&p);
		assert_good(&p, 1);
		free_sink(p.b);
		p.b = make_sink(p.y);
		pkt = write_to(&p.b->port, 1, payload, sizeof(payload));
		for (int i = 0; i < 20; i++)
			cr_assert_neq(p.x->ops->send(p.x, &p.a->port, &pkt), -EFAULT);
		until_senders_are(p.y, 0);
		free_sink(p.b);
		p.b = make_sink(p.y);
		turn(p.x);
	}
	cr_assert_eq(count_fds(), fds);
	close_pair(&p);
}
