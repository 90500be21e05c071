/* SPDX-License-Identifier: BSD-3-Clause */
/* Tables of objects: dense, numbers handed out round-robin so that a dead number is not reused at
 * once. */
#include <errno.h>
#include <stdlib.h>

#include "emu/nicmodel/nm_obj.h"

enum {
	NM_TABLE_START = 1024
}; /* slots at first; a freed number rests for at least a quarter of these */

static int table_grow(struct nm_table *t)
{
	uint32_t cap = t->cap ? t->cap * 2 : NM_TABLE_START;
	struct nm_obj **slot;

	if (cap > t->limit)
		cap = t->limit;
	if (cap == t->cap)
		return -ENOSPC;
	slot = realloc(t->slot, (size_t)cap * sizeof(struct nm_obj *));
	if (!slot)
		return -ENOMEM;
	memset(slot + t->cap, 0, (size_t)(cap - t->cap) * sizeof(struct nm_obj *));
	t->slot = slot;
	t->cap = cap;
	return 0;
}

/* A free slot exists when this is called: count < cap. */
static uint32_t table_free_slot(struct nm_table *t)
{
	for (uint32_t n = 0; n < t->cap; n++) {
		if (t->next >= t->cap)
			t->next = 0;
		if (!t->slot[t->next])
			return t->next++;
		t->next++;
	}
	assert(!"a table with room has no free slot");
	return 0;
}

static void enter(struct nm_nic *nic, struct nm_obj *obj, enum nm_obj_type type, uint16_t uid,
		  uint32_t slot)
{
	struct nm_table *t = &nic->table[type];

	t->slot[slot] = obj;
	t->count++;
	obj->type = type;
	obj->number = t->first + slot;
	obj->uid = uid;
	obj->users = 0;
	obj->nic = nic;
}

int nm_obj_add(struct nm_nic *nic, struct nm_obj *obj, enum nm_obj_type type, uint16_t uid)
{
	struct nm_table *t = &nic->table[type];

	if (t->count >= t->limit)
		return -ENOSPC;
	if (t->next >= t->cap && t->count >= t->cap / 2) {
		int err = table_grow(t);

		if (err && t->count >= t->cap)
			return err;
	}
	enter(nic, obj, type, uid, table_free_slot(t));
	return 0;
}

int nm_obj_add_at(struct nm_nic *nic, struct nm_obj *obj, enum nm_obj_type type, uint16_t uid,
		  uint32_t number)
{
	const struct nm_table *t = &nic->table[type];
	uint32_t slot = number - t->first;

	if (slot >= t->cap)
		return -ENOENT;
	if (t->slot[slot])
		return -EEXIST;
	enter(nic, obj, type, uid, slot);
	return 0;
}

void nm_obj_remove(struct nm_nic *nic, struct nm_obj *obj)
{
	struct nm_table *t = &nic->table[obj->type];
	uint32_t slot = obj->number - t->first;

	assert(slot < t->cap && t->slot[slot] == obj);
	t->slot[slot] = NULL;
	t->count--;
}

struct nm_obj *nm_obj_get(const struct nm_nic *nic, enum nm_obj_type type, uint32_t number)
{
	const struct nm_table *t = &nic->table[type];
	uint32_t slot = number - t->first; /* a number below `first` wraps to a huge slot */

	return slot < t->cap ? t->slot[slot] : NULL;
}

struct nm_obj *nm_obj_find(struct nm_nic *nic, enum nm_obj_type type, uint32_t number, uint16_t uid)
{
	struct nm_obj *obj = nm_obj_get(nic, type, number);

	return obj && (uid == 0 || obj->uid == uid) ? obj : NULL;
}
