/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lanes that wait for memory.
 *
 * A lane whose last looks at memory all showed what it had seen before, and which has stored
 * nothing meanwhile, goes round a loop that waits. It is parked, with the words that the loop reads
 * (at most look_list::slots): it comes back when one of them has changed. Two ways lead there:
 *
 *   - a store of the value that a failing compare-and-swap waits for brings back one lane at once
 *     (a lock, a turn in a queue: of a thousand who wait, only the next one runs);
 *   - lot_scan() compares all words with what was seen. That finds the stores of NICs and hosts.
 *
 * What a lane waits for may not be in memory at all (a clock, a counter in a register), so it comes
 * back without a change as well, less and less often: each park_scans_max scans at the latest, and
 * then goes round its loop at least once.
 *
 * Like the scheduler, a lot belongs to its stream's thread.
 */
#ifndef SIMT_PARK_H
#define SIMT_PARK_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace simt
{

struct lane;
struct grid;

constexpr uint32_t park_scans_max = 4;

/* What was seen at an address. */
struct look {
	const void *addr;
	uint64_t value;
	uint64_t wanted; /* by_cas: what the compare-and-swap would have liked to see */
	uint32_t when;	 /* number of the look */
	uint8_t size;	 /* bytes: 1, 2, 4 or 8 */
	bool by_cas;
};

/* A lane's looks since its last store. */
struct look_list {
	static constexpr uint32_t slots = 8; /* the oldest is forgotten */
	look at[slots];
	uint32_t count = 0; /* valid ones */
	uint32_t now = 0;   /* number of the last look */
	uint32_t news = 0;  /* of the last one that showed something new */
};

/* Where a parked lane is found; watched are the looks from number `since` on. */
struct parking {
	uint32_t since = 0;
	uint32_t index = 0;	/* in parking_lot::lanes */
	uint32_t patience = 0;	/* how often it came back for nothing: the next time is later */
	uint64_t until = 0;	/* scan at which it comes back in any case */
	bool came_back = false; /* and has not been told to give way since */
	lane *next = nullptr, **at = nullptr; /* its bucket's list; at == NULL: in none */
};

struct parking_lot {
	static constexpr uint32_t buckets = 256; /* a power of two */
	std::vector<lane *> lanes;
	lane *by_wanted[buckets] = {}; /* those with a failing compare-and-swap */
	uint32_t wanting = 0;	       /* lanes in there */
	uint64_t scans = 0;
};

/* The running lane looked; gives way (and comes back after a wait) if that was a loop's second
 * round. True: it did. */
bool park_looked(lane *l, const look &seen);
/* The running lane stores `value`. */
void park_stored(lane *l, const void *addr, uint64_t value);
/* Brings back those whose words changed or whose time has come; true if a word had changed. */
bool lot_scan(grid *g);

} // namespace simt

#endif /* SIMT_PARK_H */
