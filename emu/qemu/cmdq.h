/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The command queue of a driver (PRM, command interface): entries of 64 bytes in its memory, their
 * mailboxes as chains of blocks, rung by a bit an entry. All of it is the driver's to write while
 * it is read, so everything is copied before it is looked at, and the walk of a chain is bounded by
 * the length that the entry names.
 */
#ifndef GDAKIT_QEMU_CMDQ_H
#define GDAKIT_QEMU_CMDQ_H

#include <stddef.h>
#include <stdbool.h>
#include <stdint.h>

struct nm_space;

enum {
	CMDQ_LOG_ENTRIES = 5,
	CMDQ_LOG_STRIDE = 6,
	CMDQ_ENTRY_BYTES = 64,
	CMDQ_INLINE = 16,
	CMDQ_BLOCK_BYTES = 576,
	CMDQ_BLOCK_DATA = 512,
	CMDQ_MAILBOX_MAX = 8 << 20, /* bytes of a mailbox, either way */
};

/* Executes one command, as nm_nic_command() does. */
typedef void (*cmdq_run_fn)(void *ctx, const uint8_t *in, size_t in_len, uint8_t *out,
			    size_t out_len);

struct cmdq {
	struct nm_space *space;
	uint64_t addr; /* of entry 0 */
	cmdq_run_fn run;
	void *ctx;
};

/*
 * Executes the entry if it is the device's. True: it was, and is the driver's again; its status
 * says how delivery went. False: it is not, or is not in memory.
 */
bool cmdq_execute(const struct cmdq *q, uint32_t index);

#endif
