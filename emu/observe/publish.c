// SPDX-License-Identifier: BSD-3-Clause
#include "emu/observe/publish.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "emu/fds/fds.h"

enum {
	BLOCKS = 256,
	BLOCK_BYTES = 512,
	BLOCKS_OFF = BLOCK_BYTES, /* the first one's place is the lock of the text files */
	LOCK_TRIES = 20,
	LOCK_PAUSE_NS = 1000000,
};

_Static_assert(sizeof(struct nm_counters) <= BLOCK_BYTES, "a block holds all counters");

/*
 * Names and units: Linux, Documentation/ABI/stable/sysfs-class-infiniband and
 * drivers/infiniband/hw/mlx5/counters.c. port_*_data is in octets divided by 4.
 */
#define FILE_(dir, name, field, shift)                                                             \
	{                                                                                          \
		dir "/" #name, offsetof(struct nm_counters, field), SIZE_MAX, shift, NULL          \
	}
#define LESS_(dir, name, field, minus)                                                             \
	{                                                                                          \
		dir "/" #name, offsetof(struct nm_counters, field),                                \
			offsetof(struct nm_counters, minus), 0, NULL                               \
	}
#define HW_(name) FILE_("hw_counters", name, name, 0)
#define ZERO_(path)                                                                                \
	{                                                                                          \
		path, SIZE_MAX, SIZE_MAX, 0, NULL                                                  \
	}
static const struct publish_file files[] = {
	FILE_("counters", port_xmit_data, tx_bytes, 2),
	FILE_("counters", port_rcv_data, rx_bytes, 2),
	FILE_("counters", port_xmit_packets, tx_packets, 0),
	FILE_("counters", port_rcv_packets, rx_packets, 0),
	LESS_("counters", unicast_xmit_packets, tx_packets, tx_multicast_packets),
	LESS_("counters", unicast_rcv_packets, rx_packets, rx_multicast_packets),
	FILE_("counters", multicast_xmit_packets, tx_multicast_packets, 0),
	FILE_("counters", multicast_rcv_packets, rx_multicast_packets, 0),
	ZERO_("counters/port_xmit_wait"),
	ZERO_("counters/port_xmit_discards"),
	ZERO_("counters/port_xmit_constraint_errors"),
	ZERO_("counters/port_rcv_errors"),
	ZERO_("counters/port_rcv_constraint_errors"),
	ZERO_("counters/port_rcv_remote_physical_errors"),
	ZERO_("counters/port_rcv_switch_relay_errors"),
	ZERO_("counters/symbol_error"),
	ZERO_("counters/link_downed"),
	ZERO_("counters/link_error_recovery"),
	ZERO_("counters/local_link_integrity_errors"),
	ZERO_("counters/excessive_buffer_overrun_errors"),
	ZERO_("counters/VL15_dropped"),
	HW_(duplicate_request),
	HW_(implied_nak_seq_err),
	HW_(local_ack_timeout_err),
	HW_(out_of_buffer),
	HW_(out_of_sequence),
	HW_(packet_seq_err),
	HW_(req_cqe_error),
	HW_(req_cqe_flush_error),
	HW_(req_remote_access_errors),
	HW_(req_remote_invalid_request),
	HW_(resp_cqe_error),
	HW_(resp_cqe_flush_error),
	HW_(resp_local_length_error),
	HW_(resp_remote_access_errors),
	HW_(rnr_nak_retry_err),
	HW_(rx_atomic_requests),
	HW_(rx_read_requests),
	HW_(rx_write_requests),
	ZERO_("hw_counters/rx_dct_connect"),
	ZERO_("hw_counters/np_cnp_sent"),
	ZERO_("hw_counters/np_ecn_marked_roce_packets"),
	ZERO_("hw_counters/rp_cnp_handled"),
	ZERO_("hw_counters/rp_cnp_ignored"),
	ZERO_("hw_counters/roce_adp_retrans"),
	ZERO_("hw_counters/roce_adp_retrans_to"),
	ZERO_("hw_counters/roce_slow_restart"),
	ZERO_("hw_counters/roce_slow_restart_cnps"),
	ZERO_("hw_counters/roce_slow_restart_trans"),
	ZERO_("hw_counters/rx_icrc_encapsulated"),
	{"hw_counters/lifespan", SIZE_MAX, SIZE_MAX, 0, "100"}, /* ms that a value may be old */
};
enum { FILES = sizeof(files) / sizeof(files[0]) };
_Static_assert((int)FILES <= (int)PUBLISH_FILES_MAX, "shown[] has room");

const struct publish_file *publish_files(unsigned int *count)
{
	*count = FILES;
	return files;
}

/* Locks of the open file: they end with its last descriptor, which no exec() inherits. */
static bool try_lock(int fd, off_t at, short type)
{
	struct flock lock = {
		.l_type = type, .l_whence = SEEK_SET, .l_start = at, .l_len = BLOCK_BYTES};

	return fcntl(fd, F_OFD_SETLK, &lock) == 0;
}

static off_t place(uint32_t block)
{
	return BLOCKS_OFF + (off_t)block * BLOCK_BYTES;
}

static bool take_block(struct publisher *p)
{
	for (p->block = 0; p->block < BLOCKS; p->block++) {
		if (!try_lock(p->fd, place(p->block), F_WRLCK))
			continue;
		/* Nobody's before, or shorter: zero. */
		memset(&p->base, 0, sizeof(p->base));
		(void)!pread(p->fd, &p->base, sizeof(p->base), place(p->block));
		return true;
	}
	return false;
}

bool publish_open(struct publisher *p, const char *sysfs, const char *device)
{
	char path[PATH_MAX];
	struct stat st;

	memset(p, 0, sizeof(*p));
	p->fd = -1;
	if (snprintf(p->dir, sizeof(p->dir), "%s/class/infiniband/%s", sysfs, device) >=
		    (int)sizeof(p->dir) ||
	    snprintf(path, sizeof(path), "%s/" PUBLISH_BLOCKS, p->dir) >= (int)sizeof(path))
		return false;
	p->fd = fds_own(open(path, O_RDWR | O_CLOEXEC));
	if (p->fd < 0)
		return false;
	if (!fstat(p->fd, &st) && S_ISREG(st.st_mode) && take_block(p)) {
		p->dev = st.st_dev;
		p->ino = st.st_ino;
		return true;
	}
	fds_close(p->fd);
	p->fd = -1;
	return false;
}

/* The program may have closed our descriptor and opened another file under its number. */
static bool still_ours(const struct publisher *p)
{
	struct stat st;

	return p->fd >= 0 && !fstat(p->fd, &st) && st.st_dev == p->dev && st.st_ino == p->ino;
}

static uint64_t *at(struct nm_counters *n, size_t off)
{
	return (uint64_t *)(void *)((uint8_t *)n + off);
}

/* The sum of all blocks, those of processes that have ended included. */
static void sum_blocks(const struct publisher *p, struct nm_counters *sum)
{
	memset(sum, 0, sizeof(*sum));
	for (uint32_t b = 0; b < BLOCKS; b++) {
		struct nm_counters one;

		if (pread(p->fd, &one, sizeof(one), place(b)) != (ssize_t)sizeof(one))
			break; /* blocks are taken from the first one on */
		for (size_t off = 0; off < sizeof(one); off += sizeof(uint64_t))
			*at(sum, off) += *at(&one, off);
	}
}

/*
 * In place: who holds the file open reads the new value, as in sysfs. Sums only grow, so a text
 * never gets shorter.
 */
static void write_text(const struct publisher *p, const struct publish_file *f, uint64_t value)
{
	char path[PATH_MAX], text[32];
	int fd, len = snprintf(text, sizeof(text), "%" PRIu64 "\n", value);

	if (snprintf(path, sizeof(path), "%s/" PUBLISH_PORT "%s", p->dir, f->path) >=
	    (int)sizeof(path))
		return;
	fd = open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return;
	(void)!pwrite(fd, text, (size_t)len, 0);
	syscall(SYS_close, fd);
}

/* Whoever holds the lock may have been stopped: then its own next update shows our block, too. */
static bool lock_texts(const struct publisher *p)
{
	for (unsigned int i = 0; i < LOCK_TRIES; i++) {
		if (try_lock(p->fd, 0, F_WRLCK))
			return true;
		nanosleep(&(struct timespec){.tv_nsec = LOCK_PAUSE_NS}, NULL);
	}
	return false;
}

bool publish_update(struct publisher *p, const struct nm_counters *now)
{
	struct nm_counters mine = p->base, sum;

	if (p->fd < 0 || !memcmp(now, &p->last, sizeof(p->last)) || !still_ours(p))
		return false;
	for (size_t off = 0; off < sizeof(mine); off += sizeof(uint64_t)) {
		uint64_t add;

		memcpy(&add, (const uint8_t *)now + off, sizeof(add));
		*at(&mine, off) += add;
	}
	if (pwrite(p->fd, &mine, sizeof(mine), place(p->block)) != (ssize_t)sizeof(mine))
		return false;
	if (!lock_texts(p))
		return false;
	p->last = *now;
	sum_blocks(p, &sum);
	for (unsigned int i = 0; i < FILES; i++) {
		uint64_t value;

		if (files[i].off == SIZE_MAX)
			continue;
		value = *at(&sum, files[i].off);
		if (files[i].minus != SIZE_MAX)
			value -= *at(&sum, files[i].minus);
		value >>= files[i].shift;
		if (value != p->shown[i])
			write_text(p, &files[i], value);
		p->shown[i] = value;
	}
	try_lock(p->fd, 0, F_UNLCK);
	return true;
}

void publish_close(struct publisher *p)
{
	if (still_ours(p))
		fds_close(p->fd);
	p->fd = -1;
}
