/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Packets in memory that two processes share: one ring, one producer, one consumer (docs/wire.md).
 *
 * Nothing that lies in the ring is believed: each side keeps its own cursor, takes a snapshot of
 * what the other has written and checks that before it is used. A peer can lose or spoil its own
 * packets; it cannot make this side touch memory outside of the ring.
 *
 * Not thread-safe; each end has one owner.
 */
#ifndef GDAKIT_LINK_SHM_RING_H
#define GDAKIT_LINK_SHM_RING_H

#include <stdatomic.h>

#include "emu/nicmodel/nm.h"

enum {
	SHM_RING_HEAD = 4096,	     /* bytes before the entries */
	SHM_RING_BYTES = 512 * 1024, /* of entries; a power of two */
	SHM_RING_LAP = 96 * 1024,    /* after so many bytes it begins again, if it is about empty */
	SHM_RING_EMPTY = 16 * 1024,  /* in use at most, that is */
	SHM_PULL_MIN = 8192,	     /* shorter payload is always copied through the ring */
	SHM_PIPES = 2,		     /* through which payload may come instead */
};

/* The first page of the memory. Producer and consumer write to cache lines of their own. */
struct shm_ring_head {
	_Alignas(64) _Atomic uint64_t head; /* producer: bytes ever written */
	_Atomic uint64_t void_before;	    /* producer: payload of entries before this is gone */
	_Alignas(64) _Atomic uint64_t tail; /* consumer: bytes ever taken */
	_Atomic uint32_t pull_failures;	    /* consumer: times that payload could not be pulled */
};

/*
 * What lies at an entry's begin; then header, then payload or places of it, each padded to 8; then,
 * if some of the payload is in pipes, how much is in each. One without a header ends at the end of
 * the memory and says nothing else: the producer begins again, so that only a ring that runs full
 * ever uses all of it.
 */
struct shm_entry {
	uint32_t len; /* of all of it, bytes */
	uint32_t payload_len;
	uint32_t flow_label;
	uint16_t segs, seg_len; /* of a train; else 0 */
	uint16_t udp_sport;
	uint8_t hdr_len;
	uint8_t pulls; /* struct shm_place instead of payload; 0: payload */
	uint8_t tclass, hop_limit;
	uint8_t piped; /* 1: counts of bytes in pipes lie behind the places */
	uint8_t zero;
};

struct shm_place {
	uint64_t addr, len; /* in the producer's memory */
};

/* How the payload of an entry comes. */
struct shm_told {
	bool pulls;		   /* addresses of the producer, not bytes */
	uint32_t piped[SHM_PIPES]; /* bytes of it that lie in the pipes */
};

struct shm_ring {
	struct shm_ring_head *head;
	uint8_t *entries; /* SHM_RING_BYTES, and the same once more behind them */
	uint64_t pos;	  /* producer: bytes written; consumer: bytes taken */
	uint64_t shown;	  /* of them, what the other side has been told */
	uint64_t limit;	  /* producer: pos may come so far before tail is looked at again */
	bool broken;	  /* the other side's cursor is impossible */
};

/*
 * New memory for a ring: a descriptor, sealed so that nobody can shrink it. -errno. Then, as for
 * one that a peer sent, shm_ring_map(): 0; -EPROTO: not sealed, not of this size, or not plain
 * memory; -errno. The descriptor may be closed afterwards.
 */
int shm_ring_create(void);
int shm_ring_map(struct shm_ring *ring, int fd);
void shm_ring_unmap(struct shm_ring *ring);

/*
 * Producer. Appends a packet: 0; -EAGAIN: full; -EPROTO: broken; -EFAULT: its payload is gone. With
 * told->pulls the places of the payload are told instead of its bytes.
 */
int shm_ring_put(struct shm_ring *ring, const struct nm_packet *pkt, const struct shm_told *told,
		 int (*guard)(void (*fn)(void *arg), void *arg));
/* Is there room for any packet of which only the places are told? */
bool shm_ring_has_room(struct shm_ring *ring);
/* Shows the consumer what was put. True: there was something. */
bool shm_ring_show(struct shm_ring *ring);
/* Has the consumer taken all that was put before `pos` came to `mark`? Of another ring's mark: yes.
 */
bool shm_ring_taken(const struct shm_ring *ring, uint64_t mark);
/* Payload that was told by its place and has not been taken is gone from now on. */
void shm_ring_void(struct shm_ring *ring);

/*
 * Consumer. The next packet: its length in the ring; 0: none; -EPROTO: what lies there is no
 * packet, *why says what is wrong. The payload points into the ring or, with told->pulls set, has
 * addresses of the producer. Valid until shm_ring_took(), which gives the place back.
 */
int shm_ring_next(struct shm_ring *ring, struct nm_packet *pkt, struct shm_told *told,
		  const char **why);
void shm_ring_took(struct shm_ring *ring, uint32_t len);
/* Tells the producer what was taken. */
void shm_ring_give_back(struct shm_ring *ring);
/* Is there something? */
bool shm_ring_waits(const struct shm_ring *ring);
/* Is the payload of the entry under the cursor gone (shm_ring_void)? */
bool shm_ring_is_void(const struct shm_ring *ring);

#endif
