/* SPDX-License-Identifier: BSD-3-Clause */
#include "simt_park.h"

#include "simt_sched.h"

namespace simt
{

/* --- in and out --- */

static size_t bucket_of(const void *addr, uint64_t value)
{
	uint64_t key = (reinterpret_cast<uintptr_t>(addr) ^ value) * 0x9e3779b97f4a7c15ull;

	return key >> 56 & (parking_lot::buckets - 1);
}

static const look *cas_look(const lane *l)
{
	for (uint32_t i = 0; i < l->looks.count; i++) {
		const look *k = &l->looks.at[i];

		if (k->by_cas && k->when >= l->park.since)
			return k;
	}
	return nullptr;
}

static uint64_t word_now(const look &k)
{
	switch (k.size) {
	case 1:
		return __atomic_load_n(static_cast<const uint8_t *>(k.addr), __ATOMIC_ACQUIRE);
	case 2:
		return __atomic_load_n(static_cast<const uint16_t *>(k.addr), __ATOMIC_ACQUIRE);
	case 4:
		return __atomic_load_n(static_cast<const uint32_t *>(k.addr), __ATOMIC_ACQUIRE);
	default:
		return __atomic_load_n(static_cast<const uint64_t *>(k.addr), __ATOMIC_ACQUIRE);
	}
}

/* Is there something new for the lane? To a compare-and-swap, what it wants is; other values are
 * not worth a turn. */
static bool has_news(const lane *l)
{
	for (uint32_t i = 0; i < l->looks.count; i++) {
		const look &k = l->looks.at[i];

		if (k.when < l->park.since)
			continue;
		uint64_t value = word_now(k);

		if (k.by_cas ? value == k.wanted : value != k.value)
			return true;
	}
	return false;
}

static void lane_park(lane *l)
{
	parking_lot *lot = &l->blk->g->lot;
	parking *p = &l->park;
	const look *cas = cas_look(l);
	uint32_t patience = 1u << (p->patience < 8 ? p->patience : 8);

	p->until = lot->scans + (patience < park_scans_max ? patience : park_scans_max);
	p->index = static_cast<uint32_t>(lot->lanes.size());
	lot->lanes.push_back(l);
	if (cas != nullptr) {
		p->at = &lot->by_wanted[bucket_of(cas->addr, cas->wanted)];
		p->next = *p->at;
		if (p->next != nullptr)
			p->next->park.at = &p->next;
		*p->at = l;
		lot->wanting++;
	}
	lane_block(lane_state::parked);
	p->came_back = true;
}

static void lane_unpark(lane *l, bool changed)
{
	parking_lot *lot = &l->blk->g->lot;
	parking *p = &l->park;

	lot->lanes.back()->park.index = p->index;
	lot->lanes[p->index] = lot->lanes.back();
	lot->lanes.pop_back();
	if (p->at != nullptr) {
		*p->at = p->next;
		if (p->next != nullptr)
			p->next->park.at = p->at;
		p->at = nullptr;
		lot->wanting--;
	}
	p->patience = changed ? 0 : p->patience + 1;
	/* one whole round before it may be parked again: its clock or counter may have moved */
	l->looks.news = ++l->looks.now;
	lane_wake(l);
}

/* --- what the lanes do --- */

static look *find_look(look_list *list, const void *addr)
{
	look *oldest = &list->at[0];

	for (uint32_t i = 0; i < list->count; i++) {
		if (list->at[i].addr == addr)
			return &list->at[i];
		if (list->at[i].when < oldest->when)
			oldest = &list->at[i];
	}
	if (list->count < look_list::slots)
		oldest = &list->at[list->count++];
	oldest->addr = nullptr;
	return oldest;
}

bool park_looked(lane *l, const look &seen)
{
	look_list *list = &l->looks;
	look *k = find_look(list, seen.addr);
	uint32_t before = k->when;
	/* to a compare-and-swap all values but the wanted one are the same */
	bool same = k->addr == seen.addr && k->by_cas == seen.by_cas && k->wanted == seen.wanted &&
		    (seen.by_cas || k->value == seen.value);

	*k = seen;
	k->when = ++list->now;
	if (!same) {
		list->news = list->now;
		return false;
	}
	if (before < list->news)
		return false;
	l->park.since = before;
	if (has_news(l))
		return false;
	lane_park(l);
	return true;
}

void park_stored(lane *l, const void *addr, uint64_t value)
{
	grid *g = l->blk->g;
	lane *found = nullptr;

	l->looks.count = l->looks.now = l->looks.news = 0;
	l->park.patience = 0;
	l->park.came_back = false;
	if (g->lot.wanting == 0)
		return;
	/* one of those who want this value, any */
	for (lane *w = g->lot.by_wanted[bucket_of(addr, value)]; w != nullptr; w = w->park.next) {
		const look *cas = cas_look(w);

		if (cas->addr != addr || cas->wanted != value)
			continue;
		found = w;
		if (random_below(g, 4) == 0)
			break;
	}
	if (found != nullptr)
		lane_unpark(found, true);
}

bool lot_scan(grid *g)
{
	parking_lot *lot = &g->lot;
	bool any = false;

	lot->scans++;
	/* backwards: who leaves is replaced by one that was looked at */
	for (size_t i = lot->lanes.size(); i-- > 0;) {
		lane *l = lot->lanes[i];
		bool changed = has_news(l);

		any |= changed;
		if (changed || lot->scans >= l->park.until)
			lane_unpark(l, changed);
	}
	return any;
}

} // namespace simt
