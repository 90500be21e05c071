/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The NIC's own descriptors in a program that does not know of them, and that may close all it did
 * not open (closefrom(), close_range(), a loop). They have high numbers, and the preload's close()
 * passes over them. So whoever opens a descriptor for the NIC marks it, and closes it by
 * fds_close(). Any thread.
 */
#ifndef GDAKIT_FDS_H
#define GDAKIT_FDS_H

#include <stdbool.h>

/*
 * Marks `fd`, and moves it to a high number if one is free (close-on-exec then). Returns its
 * number; a negative `fd` is returned as it is, with errno as it was.
 */
int fds_own(int fd);
/* Closes one that fds_own() returned. Negative: nothing. Keeps errno. */
void fds_close(int fd);
/* Is it one of this process's? A child of fork() or vfork() owns none: what it inherits is its own
 * to close. */
bool fds_is_own(int fd);
/* The lowest of them from `fd` on; -1: none. */
int fds_next_own(int fd);

#endif
