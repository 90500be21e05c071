// SPDX-License-Identifier: BSD-3-Clause
#include "emu/qemu/cmdq.h"

#include <stdlib.h>
#include <string.h>

#include "emu/space/space.h"
#include "prm/prm.h"

/* Byte offsets (PRM, command queue entry layout; command interface mailbox block layout). */
enum {
	ENTRY_TYPE = 0x00,
	ENTRY_IN_LEN = 0x04,
	ENTRY_IN_PTR = 0x08,
	ENTRY_IN = 0x10,
	ENTRY_OUT = 0x20,
	ENTRY_OUT_PTR = 0x30,
	ENTRY_OUT_LEN = 0x38,
	ENTRY_TOKEN = 0x3c,
	ENTRY_SIGNATURE = 0x3d,
	ENTRY_STATUS_OWN = 0x3f,
	TYPE_PCI_CMD = 7,
	OWNER_DEVICE = 1,
	BLOCK_NEXT = 560,
	BLOCK_NUMBER = 568,
	BLOCK_TOKEN = 573,
	BLOCK_SIGNATURE = 575,
	CMDQ_LEAST = 8,	     /* bytes of a mailbox: opcode, or status and syndrome */
	POINTER_ALIGN = 512, /* of a mailbox block, bytes */
};

struct command {
	const struct cmdq *q;
	uint8_t entry[CMDQ_ENTRY_BYTES];
	uint8_t *in, *out;
	size_t in_len, out_len;
};

static uint8_t xor8(const uint8_t *p, size_t len)
{
	uint8_t x = 0;

	while (len--)
		x ^= *p++;
	return x;
}

static int copy(const struct cmdq *q, uint64_t addr, void *local, uint64_t len, bool to_guest)
{
	return space_guest_copy(q->space, addr, local, len, to_guest);
}

/* A block of a chain, after it was read: does it belong where the driver says? */
static uint8_t check_block(const uint8_t *block, uint32_t number, uint8_t token)
{
	if (prm_load32(block + BLOCK_NUMBER) != number)
		return PRM_DELIVERY_BLOCK_NUMBER;
	return block[BLOCK_TOKEN] == token ? PRM_DELIVERY_OK : PRM_DELIVERY_TOKEN;
}

/* What of the mailbox is not in the entry itself, from or to the blocks. */
static uint8_t walk(const struct command *c, uint64_t at, uint8_t *data, size_t len, bool to_guest)
{
	uint8_t bad = to_guest ? PRM_DELIVERY_OUT_POINTER : PRM_DELIVERY_IN_POINTER;
	uint8_t block[CMDQ_BLOCK_BYTES];

	for (uint32_t number = 0; len; number++) {
		size_t n = len < CMDQ_BLOCK_DATA ? len : CMDQ_BLOCK_DATA;
		uint8_t status;

		if (at % POINTER_ALIGN || copy(c->q, at, block, sizeof(block), false))
			return bad;
		status = check_block(block, number, c->entry[ENTRY_TOKEN]);
		if (status)
			return status;
		if (to_guest) {
			memcpy(block, data, n);
			block[BLOCK_SIGNATURE] = 0;
			block[BLOCK_SIGNATURE] = (uint8_t)~xor8(block, sizeof(block));
			if (copy(c->q, at, block, sizeof(block), true))
				return bad;
		} else {
			memcpy(data, block, n);
		}
		at = prm_load64(block + BLOCK_NEXT);
		data += n;
		len -= n;
	}
	return PRM_DELIVERY_OK;
}

static uint8_t check_entry(const struct command *c)
{
	if (c->entry[ENTRY_TYPE] != TYPE_PCI_CMD)
		return PRM_DELIVERY_TYPE;
	if (xor8(c->entry, sizeof(c->entry)) != 0xff)
		return PRM_DELIVERY_SIGNATURE;
	if (c->in_len < CMDQ_LEAST || c->in_len > CMDQ_MAILBOX_MAX)
		return PRM_DELIVERY_IN_LENGTH;
	if (c->out_len < CMDQ_LEAST || c->out_len > CMDQ_MAILBOX_MAX)
		return PRM_DELIVERY_OUT_LENGTH;
	return PRM_DELIVERY_OK;
}

/* Some commands name less than the 16 bytes that the entry has room for (ENABLE_HCA: 12). */
static uint8_t deliver(struct command *c)
{
	uint8_t status = check_entry(c);

	if (status)
		return status;
	if (c->in_len < CMDQ_INLINE)
		c->in_len = CMDQ_INLINE;
	if (c->out_len < CMDQ_INLINE)
		c->out_len = CMDQ_INLINE;
	c->in = malloc(c->in_len);
	c->out = calloc(1, c->out_len);
	if (!c->in || !c->out)
		return PRM_DELIVERY_INTERNAL;
	memcpy(c->in, c->entry + ENTRY_IN, CMDQ_INLINE);
	status = walk(c, prm_load64(c->entry + ENTRY_IN_PTR), c->in + CMDQ_INLINE,
		      c->in_len - CMDQ_INLINE, false);
	if (status)
		return status;
	c->q->run(c->q->ctx, c->in, c->in_len, c->out, c->out_len);
	memcpy(c->entry + ENTRY_OUT, c->out, CMDQ_INLINE);
	return walk(c, prm_load64(c->entry + ENTRY_OUT_PTR), c->out + CMDQ_INLINE,
		    c->out_len - CMDQ_INLINE, true);
}

/* The ownership last: a driver polls it. */
static bool give_back(const struct command *c, uint64_t at, uint8_t status)
{
	uint8_t answer[CMDQ_ENTRY_BYTES];

	memcpy(answer, c->entry, sizeof(answer));
	answer[ENTRY_STATUS_OWN] = (uint8_t)(status << 1);
	answer[ENTRY_SIGNATURE] = 0;
	answer[ENTRY_SIGNATURE] = (uint8_t)~xor8(answer, sizeof(answer));
	if (copy(c->q, at + ENTRY_OUT, answer + ENTRY_OUT, CMDQ_INLINE, true) ||
	    copy(c->q, at + ENTRY_SIGNATURE, answer + ENTRY_SIGNATURE, 1, true))
		return false;
	__atomic_thread_fence(__ATOMIC_RELEASE);
	return copy(c->q, at + ENTRY_STATUS_OWN, answer + ENTRY_STATUS_OWN, 1, true) == 0;
}

bool cmdq_execute(const struct cmdq *q, uint32_t index)
{
	struct command c = {.q = q};
	uint64_t at = q->addr + ((uint64_t)index << CMDQ_LOG_STRIDE);
	bool done;

	if (copy(q, at, c.entry, sizeof(c.entry), false) ||
	    !(c.entry[ENTRY_STATUS_OWN] & OWNER_DEVICE))
		return false;
	c.in_len = prm_load32(c.entry + ENTRY_IN_LEN);
	c.out_len = prm_load32(c.entry + ENTRY_OUT_LEN);
	done = give_back(&c, at, deliver(&c));
	free(c.in);
	free(c.out);
	return done;
}
