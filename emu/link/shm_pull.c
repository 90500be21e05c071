// SPDX-License-Identifier: BSD-3-Clause
/*
 * Payload out of the sender's memory, in one copy.
 *
 * Each read also fetches the sender's cookie, 16 random bytes at an address that it told when it
 * connected: the number of a process that has ended may belong to another one by now, and a process
 * that has called exec() has other memory.
 */
#include <errno.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/uio.h>

#include "emu/link/shm.h"

enum {
	SHM_ROW_MIN = 256 * 1024, /* some 25 us of copying: a thread wakes in less */
};

#ifndef PR_SET_PTRACER
#define PR_SET_PTRACER 0x59616d61
#endif
#ifndef PR_SET_PTRACER_ANY
#define PR_SET_PTRACER_ANY (-1UL)
#endif

/* 0: all of `want` bytes came from whom we know. */
static int read_peer(const struct shm_rx *rx, const struct iovec *remote, unsigned int nremote,
		     void *to, size_t want)
{
	uint8_t cookie[SHM_COOKIE];
	struct iovec local[2] = {{cookie, sizeof(cookie)}, {to, want}};
	ssize_t n = process_vm_readv(rx->pid, local, want ? 2 : 1, remote, nremote, 0);

	if (n != (ssize_t)(want + sizeof(cookie)))
		return n < 0 ? -errno : -EFAULT;
	return memcmp(cookie, rx->cookie, sizeof(cookie)) == 0 ? 0 : -ESRCH;
}

static struct iovec cookie_of(const struct shm_rx *rx)
{
	return (struct iovec){.iov_base = (void *)(uintptr_t)rx->cookie_addr,
			      .iov_len = SHM_COOKIE};
}

bool shm_can_pull(const struct shm_rx *rx)
{
	struct iovec remote = cookie_of(rx);

	return rx->pid > 0 && read_peer(rx, &remote, 1, NULL, 0) == 0;
}

static void failed(struct shm_rx *rx, int err)
{
	atomic_fetch_add(&rx->ring.head->pull_failures, 1);
	if (!rx->pull_told)
		shm_say(rx->to,
			"payload of process %d cannot be read (%s): it comes through the ring for "
			"a "
			"while",
			(int)rx->pid, strerror(-err));
	rx->pull_told = true;
}

struct copy_args {
	void *to;
	const void *from;
	size_t len;
};

static void copy_fn(void *arg)
{
	const struct copy_args *a = arg;

	memcpy(a->to, a->from, a->len);
}

/* [off, off+len) of the payload. 0; -EFAULT: one of the two memories is not there; -errno. */
static int pull_part(const struct nm_packet *pkt, uint32_t off, void *to, uint32_t len)
{
	const struct shm_rx *rx = pkt->pull_ctx;
	struct iovec remote[NM_PKT_MAX_IOV + 1] = {cookie_of(rx)};
	unsigned int n = 1;
	uint32_t left = len;

	for (unsigned int i = 0; i < pkt->niov && left; i++) {
		size_t have = pkt->payload[i].iov_len, take;

		if (off >= have) {
			off -= (uint32_t)have;
			continue;
		}
		take = have - off < left ? have - off : left;
		remote[n].iov_base = (uint8_t *)pkt->payload[i].iov_base + off;
		remote[n++].iov_len = take;
		left -= (uint32_t)take;
		off = 0;
	}
	return read_peer(rx, remote, n, to, len);
}

/* Threads that sleep would come too late for a single payload: they are woken when much came in a
 * row. NULL: nobody would take a part. */
static struct shm_team *team_for(struct shm_link *sl, uint32_t len)
{
	if (!sl->team || len < SHM_SHARE_MIN)
		return NULL;
	sl->pull_row += len;
	if (sl->pull_row >= SHM_ROW_MIN)
		shm_team_call(sl->team);
	return shm_team_hands(sl->team) > 1 ? sl->team : NULL;
}

/* Which of the two memories is it that is gone? The sender's bytes take a detour. */
static int pull_slowly(const struct nm_packet *pkt, uint32_t off, void *to, uint32_t len,
		       link_guard_fn guard)
{
	static uint8_t bounce[NM_TRAIN_MAX]; /* guarded as the link is: one thread at a time */
	struct copy_args args = {.to = to, .from = bounce, .len = len};
	int err = pull_part(pkt, off, bounce, len);

	if (err) {
		failed(pkt->pull_ctx, err);
		return -ENODATA;
	}
	if (!guard) {
		copy_fn(&args);
		return 0;
	}
	return guard(copy_fn, &args);
}

int shm_pull(const struct nm_packet *pkt, uint32_t off, void *to, uint32_t len)
{
	struct shm_rx *rx = pkt->pull_ctx;
	struct link *link = rx->to->outer->link;
	struct shm_link *sl = (struct shm_link *)link;
	int rc;

	if (len == pkt->payload_len && shm_rx_read(rx, team_for(sl, len), to, len))
		return shm_ring_is_void(&rx->ring) ? -ENODATA : 0;
	rc = pull_part(pkt, off, to, len);
	if (rc == -EFAULT)
		rc = pull_slowly(pkt, off, to, len, link->guard);
	else if (rc)
		failed(rx, rc);
	if (rc == -EFAULT)
		return rc;
	return rc || shm_ring_is_void(&rx->ring) ? -ENODATA : 0;
}

void shm_allow_pull(void)
{
	/* Refused where there is no Yama: then nothing is needed. */
	(void)prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
}
