// SPDX-License-Identifier: BSD-3-Clause
/*
 * Large payload through pipes: the sender's thread gives its pages to a pipe (vmsplice), the
 * receiver reads them to where they go. It is one copy, as pulling is, and finding the pages is the
 * sender's part of the work, who finds them in its own memory at a fifth of the price.
 *
 * A pipe has a lock that a reader holds while it copies. So there are two, with a part of the
 * payload each: one is filled while the other is read, and two threads may read.
 *
 * The places of the payload are told as well (shm_pull.c). What the pipes do not have, because they
 * are new, because memory cannot be given away (a device's), or because the payload is wanted in
 * pieces or once more, is pulled from there; what is left in them is thrown away with its packet.
 *
 * A pipe without a reader raises SIGPIPE, which threads of the NIC block (emu/fds/thread.h).
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "emu/fds/fds.h"
#include "emu/link/shm.h"

enum {
	SHM_PAGE = 4096,
	PIPE_BYTES = 64 * SHM_PAGE, /* seven trains: a slot for each page, or part of one */
	READS_MAX = 64,		    /* of one payload, when its producer wrote crumbs */
};

/* What the first pipe has of a payload; the second has the rest. */
static uint32_t first_part(uint32_t len)
{
	return len < SHM_SHARE_MIN ? len : (len / 2 + SHM_PAGE - 1) / SHM_PAGE * SHM_PAGE;
}

static void close_fds(int fds[SHM_PIPES])
{
	for (unsigned int i = 0; i < SHM_PIPES; i++) {
		fds_close(fds[i]);
		fds[i] = -1;
	}
}

/* ---- the sender ---- */

void shm_tx_no_pipes(struct shm_tx *tx)
{
	struct shm_outlet *o = &tx->outlet;

	if (!o->open)
		return;
	close_fds(o->fds);
	o->open = false;
	o->count = 0;
}

void shm_tx_take_pipes(struct shm_tx *tx, const int fds[SHM_PIPES])
{
	struct shm_outlet *o = &tx->outlet;
	int least = PIPE_BYTES;

	for (unsigned int i = 0; i < SHM_PIPES; i++) {
		int bytes = fcntl(fds[i], F_GETPIPE_SZ);

		o->fds[i] = fds_own(fds[i]);
		o->used[i] = 0;
		if (bytes < least)
			least = bytes;
	}
	o->open = true;
	o->first = o->count = 0;
	o->slots = least > 0 ? (uint32_t)least / SHM_PAGE : 0;
}

/* The pieces of [from, to) of the payload; and the slots of a pipe that they take. */
static unsigned int pieces_of(const struct nm_packet *pkt, uint32_t from, uint32_t to,
			      struct iovec iov[NM_PKT_MAX_IOV], uint32_t *slots)
{
	unsigned int n = 0;
	uint32_t at = 0;

	*slots = 0;
	for (unsigned int i = 0; i < pkt->niov && at < to; i++) {
		uint32_t len = (uint32_t)pkt->payload[i].iov_len;
		uint32_t skip = from > at ? from - at : 0;
		uint32_t end = to - at < len ? to - at : len;

		at += len;
		if (skip >= end)
			continue;
		iov[n].iov_base = (uint8_t *)pkt->payload[i].iov_base + skip;
		iov[n].iov_len = end - skip;
		*slots += (uint32_t)(((uintptr_t)iov[n].iov_base % SHM_PAGE + iov[n].iov_len +
				      SHM_PAGE - 1) /
				     SHM_PAGE);
		n++;
	}
	return n;
}

/* What the receiver has taken from the ring it has taken from the pipes as well. */
static void reclaim(struct shm_tx *tx)
{
	struct shm_outlet *o = &tx->outlet;

	while (o->count && shm_ring_taken(&tx->ring, o->way[o->first].mark)) {
		for (unsigned int i = 0; i < SHM_PIPES; i++)
			o->used[i] -= o->way[o->first].slots[i];
		o->first = (o->first + 1) % SHM_ON_WAY_MAX;
		o->count--;
	}
}

int shm_tx_pipe(struct shm_tx *tx, const struct nm_packet *pkt, uint32_t piped[SHM_PIPES])
{
	const uint32_t ends[SHM_PIPES] = {first_part(pkt->payload_len), pkt->payload_len};
	struct iovec iov[SHM_PIPES][NM_PKT_MAX_IOV];
	unsigned int niov[SHM_PIPES];
	uint32_t slots[SHM_PIPES];
	struct shm_outlet *o = &tx->outlet;
	bool room = true, ever = true;

	memset(piped, 0, SHM_PIPES * sizeof(piped[0]));
	if (!o->open)
		return 0;
	reclaim(tx);
	for (unsigned int i = 0; i < SHM_PIPES; i++) {
		niov[i] = pieces_of(pkt, i ? ends[i - 1] : 0, ends[i], iov[i], &slots[i]);
		ever &= slots[i] <= o->slots;
		room &= slots[i] <= o->slots - o->used[i];
	}
	if (!ever)
		return 0;
	if (!room || o->count == SHM_ON_WAY_MAX)
		return -EAGAIN;
	for (unsigned int i = 0; i < SHM_PIPES && niov[i]; i++) {
		ssize_t n = vmsplice(o->fds[i], iov[i], niov[i], SPLICE_F_NONBLOCK);

		if (n < 0 && errno != EFAULT && errno != EAGAIN)
			shm_tx_no_pipes(tx); /* none is left, or this kernel has no such thing */
		if (n < 0)
			break;
		piped[i] = (uint32_t)n;
		if (n != (ssize_t)(ends[i] - (i ? ends[i - 1] : 0)))
			break;
	}
	memcpy(o->want, slots, sizeof(o->want));
	return 0;
}

void shm_tx_piped(struct shm_tx *tx)
{
	struct shm_outlet *o = &tx->outlet;
	struct shm_on_way *way = &o->way[(o->first + o->count) % SHM_ON_WAY_MAX];

	if (!o->open)
		return;
	way->mark = tx->ring.pos;
	for (unsigned int i = 0; i < SHM_PIPES; i++) {
		way->slots[i] = o->want[i];
		o->used[i] += o->want[i];
	}
	o->count++;
}

/* ---- the receiver ---- */

bool shm_rx_make_pipes(struct shm_rx *rx, int outlets[SHM_PIPES])
{
	int ends[2];

	for (unsigned int i = 0; i < SHM_PIPES; i++) {
		if (pipe2(ends, O_CLOEXEC | O_NONBLOCK)) {
			for (unsigned int j = 0; j < i; j++)
				close(outlets[j]);
			close_fds(rx->pipes);
			return false;
		}
		/* Refused to a user who has many: then it holds less. */
		(void)fcntl(ends[0], F_SETPIPE_SZ, PIPE_BYTES);
		rx->pipes[i] = fds_own(ends[0]);
		outlets[i] = ends[1];
	}
	return true;
}

void shm_rx_no_pipes(struct shm_rx *rx)
{
	close_fds(rx->pipes);
}

/* Fewer than `len` bytes: they are not there, or `to` is not. */
static uint32_t read_some(struct shm_rx *rx, unsigned int i, uint8_t *to, uint32_t len)
{
	uint32_t done = 0;

	for (unsigned int turn = 0; turn < READS_MAX && done < len; turn++) {
		ssize_t n = read(rx->pipes[i], to + done, len - done);

		if (n <= 0)
			break;
		done += (uint32_t)n;
	}
	rx->piped[i] -= done;
	return done;
}

struct pipe_read {
	struct shm_rx *rx;
	uint8_t *to;
	uint32_t first, len;
	_Atomic bool failed;
};

static void read_part(void *arg, unsigned int i)
{
	struct pipe_read *r = arg;
	uint32_t from = i ? r->first : 0, len = i ? r->len - r->first : r->first;

	if (read_some(r->rx, i, r->to + from, len) != len)
		atomic_store(&r->failed, true);
}

bool shm_rx_read(struct shm_rx *rx, struct shm_team *team, void *to, uint32_t len)
{
	struct pipe_read r = {.rx = rx, .to = to, .len = len, .first = first_part(len)};

	if (rx->piped[0] != r.first || rx->piped[1] != len - r.first)
		return false;
	if (team && r.first < len) {
		shm_team_run(team, SHM_PIPES, read_part, &r);
	} else {
		read_part(&r, 0);
		if (r.first < len)
			read_part(&r, 1);
	}
	return !atomic_load(&r.failed);
}

bool shm_rx_skip(struct shm_rx *rx)
{
	static uint8_t rest[NM_TRAIN_MAX]; /* guarded as the link is: one thread at a time */

	for (unsigned int i = 0; i < SHM_PIPES; i++) {
		uint32_t left = rx->piped[i];

		if (left && read_some(rx, i, rest, left) != left)
			return false;
	}
	return true;
}
