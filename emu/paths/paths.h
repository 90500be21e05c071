/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which paths of a program are shown from the private tree of `gdakit run --mode hooks`. The tree
 * is a small copy of the root directory (tools/tree.c): ROOT/sys/class/infiniband is what the
 * program shall see at /sys/class/infiniband. What is not the device's stands in the tree as a link
 * to the real thing, so that listings are whole and ".." leads out again.
 *
 * Nothing here allocates, locks or changes errno.
 */
#ifndef GDAKIT_PATHS_H
#define GDAKIT_PATHS_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

/* Environment of the program: the tree's root, an absolute path without symbolic links. */
#define PATHS_ENV_ROOT "GDAKIT_TREE"
#define PATHS_LIBRARY  "libgdakit_paths.so"
enum { PATHS_ROOT_MAX = PATH_MAX / 2 }; /* with the terminator */

/* The tree, or NULL: no path is redirected. Taken from the environment at the first call. */
const char *paths_root(void);
/* For tests: `root` must outlive its use; NULL: none. */
void paths_set_root(const char *root);

/*
 * `path` as seen from `dirfd` (or AT_FDCWD): returns `path` itself where the real one is meant,
 * else `buf`, filled with the path in the tree. NULL and "" are returned as they are.
 */
const char *paths_redirect(int dirfd, const char *path, char buf[PATH_MAX]);
/* The same for whoever lists a directory: also the directories in which the device has an entry. */
const char *paths_redirect_list(int dirfd, const char *path, char buf[PATH_MAX]);

/* The other way: a path in the tree becomes the one that the program knows. `len` without the
 * terminator, which is optional; returns the new length. */
size_t paths_strip(char *path, size_t len);
/* Is this redirected path the device's node? It stands for a character device, not for a link. */
bool paths_is_node(const char *redirected);

#endif
