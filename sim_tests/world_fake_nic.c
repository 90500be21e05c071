/* SPDX-License-Identifier: BSD-3-Clause */
#include "sim_tests/world_fake_nic.h"

#include <stdlib.h>
#include <string.h>

static void enter(struct nm_nic *nic)
{
	if (atomic_fetch_add(&nic->inside, 1) != 0)
		atomic_fetch_add(&nic->overlaps, 1);
}

static void leave(struct nm_nic *nic)
{
	atomic_fetch_sub(&nic->inside, 1);
}

static uint64_t now(struct nm_nic *nic)
{
	return nic->ops.now_ns(nic->ops.ctx);
}

struct nm_nic *nm_nic_create(const struct nm_config *config, const struct nm_ops *ops,
			     const char **why)
{
	struct nm_nic *nic;

	if (!config->uar_base) {
		*why = "no UAR memory";
		return NULL;
	}
	nic = calloc(1, sizeof(*nic));
	if (!nic)
		return NULL;
	nic->config = *config;
	nic->ops = *ops;
	return nic;
}

const struct nm_counters *nm_nic_counters(const struct nm_nic *nic)
{
	return &nic->counters;
}

void nm_nic_destroy(struct nm_nic *nic)
{
	free(nic);
}

uint8_t nm_nic_command(struct nm_nic *nic, const struct nm_cmd_ctx *ctx, const void *in,
		       size_t in_len, void *out, size_t out_len, char *why)
{
	uint8_t status = in_len ? *(const uint8_t *)in : 0;
	struct nm_event ev = {
		.kind = NM_EV_COMMAND,
		.nic = nic,
		.command = {.opcode = 0x100, .status = status, .syndrome = 0xabcd},
		.why = status ? "the test asked for it" : "",
	};

	(void)ctx;
	enter(nic);
	atomic_fetch_add(&nic->commands, 1);
	if (out_len)
		*(uint8_t *)out = status;
	if (why)
		strcpy(why, ev.why);
	if (nic->observer && (nic->observer->mask & (1u << NM_EV_COMMAND)))
		nic->observer->event(nic->observer->ctx, &ev);
	leave(nic);
	return status;
}

bool nm_nic_has_work(const struct nm_nic *nic)
{
	(void)nic;
	return true;
}

void nm_nic_receive(struct nm_nic *nic, struct nm_packet *pkt)
{
	size_t off = 0;

	for (unsigned int i = 0; i < pkt->niov; i++) {
		memcpy(nic->answer + off, pkt->payload[i].iov_base, pkt->payload[i].iov_len);
		off += pkt->payload[i].iov_len;
	}
	if (off && nic->answer[0] > 0) {
		nic->answer[0]--;
		nic->answer_len = (uint32_t)off;
	}
	atomic_fetch_add(&nic->received, 1);
}

static bool send_answer(struct nm_nic *nic)
{
	struct nm_packet pkt = {
		.route = nic->peer,
		.hdr = {0x04, 0, 0xff, 0xff, 0, (uint8_t)(nic->peer_qpn >> 16)},
		.hdr_len = 12,
		.payload_len = nic->answer_len,
		.niov = 1,
		.payload = {{nic->answer, nic->answer_len}},
	};

	if (!nic->answer_len)
		return false;
	nic->answer_len = 0;
	if (nic->ops.link_send(nic->ops.ctx, &pkt)) {
		nic->answer_len = pkt.payload_len;
		return false;
	}
	atomic_fetch_add(&nic->sent, 1);
	return true;
}

static bool take_doorbell(struct nm_nic *nic)
{
	uint64_t v = __atomic_exchange_n((uint64_t *)nic->config.uar_base, 0, __ATOMIC_ACQ_REL);

	if (!v)
		return false;
	atomic_store(&nic->served_ns, now(nic));
	atomic_fetch_add(&nic->doorbells, 1);
	if (v == FAKE_DOORBELL_SEND) {
		memset(nic->answer, 200, sizeof(nic->answer));
		nic->answer_len = 3000;
	}
	return true;
}

struct nm_progress nm_nic_progress(struct nm_nic *nic, uint64_t budget_ns)
{
	struct nm_progress p = {.next_ns = UINT64_MAX};
	uint64_t until = now(nic) + budget_ns;

	enter(nic);
	atomic_fetch_add(&nic->progresses, 1);
	p.worked = take_doorbell(nic);
	p.worked |= send_answer(nic);
	if (nic->timer_ns) {
		if (now(nic) >= nic->timer_ns) {
			nic->timer_ns = 0;
			atomic_fetch_add(&nic->timers, 1);
		} else {
			p.next_ns = nic->timer_ns;
		}
	}
	while (atomic_load(&nic->always_busy) && now(nic) < until)
		p.worked = true;
	leave(nic);
	return p;
}

void nm_nic_add_observer(struct nm_nic *nic, struct nm_observer *obs)
{
	nic->observer = obs;
}

void nm_nic_remove_observer(struct nm_nic *nic, struct nm_observer *obs)
{
	if (nic->observer == obs)
		nic->observer = NULL;
}
