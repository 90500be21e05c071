/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "emu/space/space.h"
#include "sim_tests/link_packets.h"

struct pair {
	struct link *link;
	struct sink *a, *b;
};

static struct pair make_pair(const struct link_local_config *config)
{
	struct pair p = {.link = link_local_create(config),
			 .a = malloc(sizeof(struct sink)),
			 .b = malloc(sizeof(struct sink))};
	const char *why = NULL;

	cr_assert_eq(sink_attach(p.link, p.a, &why), 0, "%s", why);
	cr_assert_eq(sink_attach(p.link, p.b, &why), 0, "%s", why);
	return p;
}

static void free_pair(struct pair *p)
{
	p->link->ops->detach(p->link, &p->a->port);
	p->link->ops->detach(p->link, &p->b->port);
	p->link->ops->destroy(p->link);
	free(p->a);
	free(p->b);
}

static int send_psn(struct pair *p, uint16_t qp, uint32_t psn)
{
	uint8_t payload[32] = {1};
	struct nm_packet pkt = packet_to(&p->b->port, qp, psn, payload, sizeof(payload));

	return p->link->ops->send(p->link, &p->a->port, &pkt);
}

Test(link_local, ports_have_their_own_slot_gid_and_lid)
{
	struct pair p = make_pair(&(struct link_local_config){0});

	cr_assert_eq(p.a->port.id.slot, 0);
	cr_assert_eq(p.b->port.id.slot, 1);
	cr_assert_arr_neq(p.a->port.id.gid, p.b->port.id.gid, 16);
	cr_assert_neq(p.a->port.id.lid, p.b->port.id.lid);
	free_pair(&p);
}

Test(link_local, by_reference_a_packet_arrives_during_send_and_its_payload_is_not_copied)
{
	struct pair p = make_pair(&(struct link_local_config){0});
	uint8_t payload[100] = "hello";
	struct nm_packet pkt = packet_to(&p.b->port, 7, 9, payload, sizeof(payload));

	cr_assert_eq(p.link->ops->send(p.link, &p.a->port, &pkt), 0);
	cr_assert_eq(p.b->count, 1);
	cr_assert_eq(p.b->last_base, payload);
	cr_assert_arr_eq(p.b->last.route.sgid, p.a->port.id.gid, 16);
	cr_assert_eq(p.b->last.route.slid, p.a->port.id.lid);
	free_pair(&p);
}

Test(link_local, a_packet_without_gids_is_routed_by_lid)
{
	for (int serialise = 0; serialise < 2; serialise++) {
		struct pair p = make_pair(&(struct link_local_config){.serialise = serialise});
		struct nm_packet pkt = packet_to(&p.b->port, 7, 9, NULL, 0);

		memset(pkt.route.dgid, 0, 16);
		pkt.route.dlid = p.b->port.id.lid;
		cr_assert_eq(p.link->ops->send(p.link, &p.a->port, &pkt), 0);
		p.link->ops->poll(p.link, 10);
		cr_assert_eq(p.b->count, 1);
		cr_assert_eq(p.b->last.route.slid, p.a->port.id.lid);
		cr_assert_eq(p.b->last.route.dlid, p.b->port.id.lid);
		free_pair(&p);
	}
}

Test(link_local, a_multicast_reaches_every_port_and_the_senders)
{
	static const uint8_t groups[2][16] = {{[10] = 0xff, [11] = 0xff, 239, 1, 1, 1},
					      {0xff, 0x12, [15] = 5}};
	uint8_t payload[100] = {7};

	for (int i = 0; i < 4; i++) {
		struct pair p = make_pair(&(struct link_local_config){.serialise = i & 1});
		struct nm_packet pkt = packet_to_group(groups[i / 2], payload, sizeof(payload));

		cr_assert_eq(p.link->ops->send(p.link, &p.a->port, &pkt), 0);
		p.link->ops->poll(p.link, 10);
		cr_assert_eq(p.a->count, 1);
		cr_assert_eq(p.b->count, 1);
		cr_assert_arr_eq(p.b->last.route.dgid, groups[i / 2], 16, "the group stays");
		cr_assert_arr_eq(p.b->last.route.sgid, p.a->port.id.gid, 16);
		cr_assert_arr_eq(p.b->last_payload, payload, sizeof(payload));
		free_pair(&p);
	}
}

/* Only a datagram may go to many: a connected QP with such an address reaches nobody. */
Test(link_local, other_packets_to_a_group_vanish)
{
	static const uint8_t group[16] = {0xff, 0x12, [15] = 5};

	for (uint32_t i = 0; i < 2; i++) {
		struct pair p = make_pair(&(struct link_local_config){.serialise = i});
		struct nm_packet pkt = packet_to_group(group, NULL, 0);

		pkt.hdr[0] = 0xc0;
		pkt.hdr_len = 60;
		cr_assert_eq(p.link->ops->send(p.link, &p.a->port, &pkt), 0);
		p.link->ops->poll(p.link, 10);
		cr_assert_eq(p.a->count + p.b->count, 0);
		free_pair(&p);
	}
}

Test(link_local, what_infiniband_headers_would_say_arrives)
{
	for (uint32_t i = 0; i < 2; i++) {
		struct pair p = make_pair(&(struct link_local_config){.serialise = i});
		struct nm_packet pkt = packet_to(&p.b->port, 7, 9, NULL, 0);

		pkt.route.no_grh = true;
		pkt.route.sl = 0xb;
		cr_assert_eq(p.link->ops->send(p.link, &p.a->port, &pkt), 0);
		p.link->ops->poll(p.link, 10);
		cr_assert_eq(p.b->count, 1);
		cr_assert(p.b->last.route.no_grh);
		cr_assert_eq(p.b->last.route.sl, 0xb);
		cr_assert_eq(p.b->last.hdr[4], 0, "nothing of it stays in the BTH");
		free_pair(&p);
	}
}

Test(link_local, packets_for_nobody_vanish)
{
	struct pair p = make_pair(&(struct link_local_config){0});
	struct nm_packet pkt = packet_to(&p.b->port, 7, 9, NULL, 0);

	pkt.hdr[5] = 77; /* a slot that no port has */
	cr_assert_eq(p.link->ops->send(p.link, &p.a->port, &pkt), 0);
	pkt = packet_to(&p.b->port, 7, 9, NULL, 0);
	pkt.route.dgid[15] = 2; /* not a host's GID */
	cr_assert_eq(p.link->ops->send(p.link, &p.a->port, &pkt), 0);
	pkt = packet_to(&p.b->port, 7, 9, NULL, 0);
	pkt.hdr[5] = p.a->port.id.slot; /* slot of one host, GID of another */
	cr_assert_eq(p.link->ops->send(p.link, &p.a->port, &pkt), 0);
	cr_assert_eq(p.a->count + p.b->count, 0);
	cr_assert_eq(p.link->counters.dropped, 3);
	free_pair(&p);
}

Test(link_local, serialised_packets_arrive_at_poll_in_order_and_whole)
{
	struct pair p = make_pair(&(struct link_local_config){.serialise = true});
	uint8_t payload[4096];

	for (unsigned int i = 0; i < sizeof(payload); i++)
		payload[i] = (uint8_t)(i * 13);
	for (uint32_t psn = 0; psn < 50; psn++) {
		struct nm_packet pkt = packet_to(&p.b->port, 7, psn, payload, psn * 81);

		cr_assert_eq(p.link->ops->send(p.link, &p.a->port, &pkt), 0);
	}
	cr_assert_eq(p.b->count, 0);
	for (uint32_t psn = 0; psn < 50; psn++) {
		cr_assert_eq(p.link->ops->poll(p.link, 1), 1);
		cr_assert_eq(p.b->psn[psn], psn);
		cr_assert_eq(p.b->last.payload_len, psn * 81);
		cr_assert_arr_eq(p.b->last_payload, payload, psn * 81);
	}
	cr_assert_eq(p.link->ops->poll(p.link, 1), 0);
	free_pair(&p);
}

Test(link_local, a_full_queue_pushes_back_and_nothing_is_lost)
{
	struct pair p =
		make_pair(&(struct link_local_config){.serialise = true, .queue_packets = 4});

	for (uint32_t psn = 0; psn < 4; psn++)
		cr_assert_eq(send_psn(&p, 1, psn), 0);
	cr_assert_eq(send_psn(&p, 1, 4), -EAGAIN);
	cr_assert_eq(p.link->ops->poll(p.link, 1), 1);
	cr_assert_eq(send_psn(&p, 1, 4), 0);
	cr_assert_eq(p.link->ops->poll(p.link, 100), 4);
	cr_assert_eq(p.b->count, 5);
	cr_assert_eq(p.b->psn[4], 4);
	free_pair(&p);
}

Test(link_local, shuffled_flows_overtake_each_other_but_each_keeps_its_order)
{
	struct pair p = make_pair(
		&(struct link_local_config){.serialise = true, .shuffle = true, .seed = 4});
	uint32_t next[3] = {0};
	bool overtaken = false;

	for (uint32_t psn = 0; psn < 30; psn++) {
		for (uint16_t qp = 0; qp < 3; qp++)
			cr_assert_eq(send_psn(&p, qp, psn), 0);
	}
	p.link->ops->poll(p.link, 1000);
	cr_assert_eq(p.b->count, 90);
	for (uint32_t i = 0; i < 90; i++) {
		uint32_t qp = p.b->qpn[i] & 0xffff;

		overtaken |= qp != i % 3;
		cr_assert_eq(p.b->psn[i], next[qp]++);
	}
	cr_assert(overtaken);
	free_pair(&p);
}

Test(link_local, the_seed_decides_what_is_lost_doubled_and_reordered)
{
	uint32_t first_count = 0, first_psn[SINK_MAX];

	for (int run = 0; run < 2; run++) {
		struct pair p = make_pair(&(struct link_local_config){.serialise = true,
								      .seed = 11,
								      .drop_permille = 100,
								      .dup_permille = 100,
								      .reorder_permille = 100,
								      .queue_packets = 2000});
		bool backwards = false, twice = false;

		for (uint32_t psn = 0; psn < 1000; psn++)
			cr_assert_eq(send_psn(&p, 1, psn), 0);
		p.link->ops->poll(p.link, 5000);
		for (uint32_t i = 1; i < p.b->count; i++) {
			backwards |= p.b->psn[i] < p.b->psn[i - 1];
			twice |= p.b->psn[i] == p.b->psn[i - 1];
		}
		cr_assert(backwards && twice);
		cr_assert_gt(p.link->counters.dropped, 50);
		cr_assert_lt(p.link->counters.dropped, 200);
		if (run == 0) {
			first_count = p.b->count;
			memcpy(first_psn, p.b->psn, sizeof(first_psn));
		} else {
			cr_assert_eq(p.b->count, first_count);
			cr_assert_arr_eq(p.b->psn, first_psn, first_count * sizeof(first_psn[0]));
		}
		free_pair(&p);
	}
}

Test(link_local, a_port_that_left_is_sent_nothing_more)
{
	struct pair p = make_pair(&(struct link_local_config){.serialise = true});
	const char *why = NULL;

	cr_assert_eq(send_psn(&p, 1, 0), 0);
	p.link->ops->detach(p.link, &p.b->port);
	cr_assert_eq(p.link->ops->poll(p.link, 10), 1);
	cr_assert_eq(p.b->count, 0);
	cr_assert_eq(sink_attach(p.link, p.b, &why), 0);
	cr_assert_eq(p.b->port.id.slot, 1, "its slot is free again");
	free_pair(&p);
}

Test(link_local, an_unplugged_port_neither_sends_nor_receives)
{
	struct pair p = make_pair(&(struct link_local_config){.serialise = true});

	cr_assert_eq(send_psn(&p, 1, 0), 0);
	p.b->port.unplugged = true;
	cr_assert_eq(send_psn(&p, 1, 1), 0);
	p.link->ops->poll(p.link, 10);
	cr_assert_eq(p.b->count, 0);
	p.b->port.unplugged = false;
	cr_assert_eq(send_psn(&p, 1, 2), 0);
	p.link->ops->poll(p.link, 10);
	cr_assert_eq(p.b->count, 1);
	free_pair(&p);
}

Test(link_local, payload_that_was_unmapped_is_an_error_of_the_send)
{
	struct pair p =
		make_pair(&(struct link_local_config){.serialise = true, .guard = space_guarded});
	void *gone = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct nm_packet pkt = packet_to(&p.b->port, 1, 0, gone, 64);

	cr_assert_eq(p.link->ops->send(p.link, &p.a->port, &pkt), -EFAULT);
	cr_assert_eq(p.link->ops->poll(p.link, 10), 0);
	free_pair(&p);
}
