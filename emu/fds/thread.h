/* SPDX-License-Identifier: BSD-3-Clause */
/* The NIC's own threads in a program that does not know of them. */
#ifndef GDAKIT_FDS_THREAD_H
#define GDAKIT_FDS_THREAD_H

#include <pthread.h>
#include <stddef.h>

/*
 * Starts one. The program's signals are for its own threads: here all are blocked but those of
 * faults, which must reach the guard of accesses to memory that may vanish (emu/space/guard.c).
 * It inherits the caller's scheduling, but stands one above a SCHED_FIFO or SCHED_RR priority.
 * `stack_bytes`: 0 is the program's default, which also serves where thread-local memory of the
 * program leaves no room in less. `name`: 15 characters at most. 0 or a positive errno. Any thread.
 */
int nic_thread_start(pthread_t *thread, const char *name, size_t stack_bytes, void *(*run)(void *),
		     void *arg);

#endif
