/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory spaces over this process's own memory.
 *
 * space_host() is what a NIC inside the program uses: bus address = virtual address. A program may
 * unmap memory that it told the NIC about; hardware then reports an error and lives on, so the
 * copies here are guarded: a SIGSEGV or SIGBUS inside one ends the copy with -EFAULT instead of the
 * process. The guard is a sigsetjmp() without the signal mask, so a copy costs no system call.
 *
 * space_copy_create() is the opposite: a space that can only copy, late and in an order drawn from
 * a seed. Every test of the model runs on it too, because GPU memory, another process and a guest
 * behave like it.
 */
#ifndef GDAKIT_SPACE_H
#define GDAKIT_SPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "emu/nicmodel/nm.h"

/*
 * This process's memory. One for all, never freed, safe from any thread. map() returns the address
 * itself for any range that does not wrap and does not start at 0: it cannot know what the program
 * will unmap later, so reads through the pointer are only as safe as the program is; submit() is
 * guarded. Segments of 4 or 8 bytes that are so aligned move with one atomic access (doorbell
 * records, the last dword of a CQE), every other segment in address order without such a promise;
 * each write segment is ordered after the one before it.
 */
struct nm_space *space_host(void);

/*
 * Runs fn(arg) with the guard up: 0, or -EFAULT if a memory access in it faulted (fn was left at
 * that point: it must hold no lock and own nothing). Calls do not nest. Safe from any thread. The
 * first call installs the handlers for SIGSEGV and SIGBUS; faults outside of guarded calls go to
 * the handler that was there before. The first call of a thread unblocks these two signals in it.
 */
int space_guarded(void (*fn)(void *arg), void *arg);
/* memmove() under the guard. 0 or -EFAULT (some of it may have been copied). */
int space_guarded_copy(void *dst, const void *src, size_t len);

/*
 * Puts the guard's handlers back in front if the program has installed its own since, and passes
 * faults that are not ours on to those. Two system calls; emu/world makes it about once a
 * millisecond while the NIC works. Between a program's sigaction() and the next call here, a fault
 * in a NIC copy ends in the program's handler. Safe from any thread.
 */
void space_guard_renew(void);

struct space_copy_config {
	uint32_t seed;
	uint32_t min_polls, max_polls; /* a transfer completes after so many polls, drawn in [min,
					  max]; 0, 0: in submit */
	uint64_t lo, hi;	       /* only [lo, hi) exists; 0, 0: all memory of the process */
};

/*
 * A copy-only space over this process's memory: map() returns NULL, transfers complete only through
 * poll(). The bytes move at a random one of those polls, not with the last one, and two transfers
 * may overtake each other. Not thread-safe: the NIC's lock guards it. NULL: no memory.
 */
struct nm_space *space_copy_create(const struct space_copy_config *config);
/* Transfers submitted and neither completed nor cancelled; 0 once every NIC on it is destroyed. */
uint32_t space_copy_pending(const struct nm_space *space);
void space_copy_destroy(struct nm_space *space);

/*
 * A guest's memory: addresses are the guest's, its ranges come as files and go. Each address has
 * one place in this process for as long as the space lives, so a pointer that map() gave is right
 * again when a range has gone and come back (firmware remaps low memory many times); while it is
 * gone an access through the guard is -EFAULT, and never another's memory.
 *
 * Changing ranges is not thread-safe, and must not overlap with the NIC's accesses: its lock is the
 * caller's to hold.
 */
#define SPACE_GUEST_BYTES (UINT64_C(1) << 40)
enum { SPACE_GUEST_RANGES = 1024 };
/* NULL: no address space for it. */
struct nm_space *space_guest_create(void);
void space_guest_destroy(struct nm_space *space);
/*
 * [addr, addr+len) is [off, off+len) of the file `fd` (the caller's to close), or has no bytes
 * (fd < 0). All in pages of 4 KiB. 0; -EINVAL: not pages, or the file is shorter; -EEXIST: overlaps
 * a range; -ENOSPC: too many ranges, or beyond SPACE_GUEST_BYTES; errno of mmap().
 */
int space_guest_map(struct nm_space *space, uint64_t addr, uint64_t len, int fd, uint64_t off,
		    bool write);
/* Exactly one range of before: 0 or -ENOENT. */
int space_guest_unmap(struct nm_space *space, uint64_t addr, uint64_t len);
void space_guest_unmap_all(struct nm_space *space);
/* `len` bytes between a guest's address and `local`: 0 or -EFAULT (some may have been copied). */
int space_guest_copy(struct nm_space *space, uint64_t addr, void *local, uint64_t len,
		     bool to_guest);

#endif
