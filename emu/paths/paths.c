// SPDX-License-Identifier: BSD-3-Clause
/*
 * A path is walked component by component, as text, until it is one of the device's; what follows
 * is left to the kernel, which resolves it inside the tree. Only whoever begins with /sys or /dev,
 * or is relative and may lead there, is walked at all.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "emu/paths/paths.h"

/* Shown from the tree, with all that is below. */
static const char *const shown[] = {
	"/sys/class/infiniband", "/sys/class/infiniband_verbs",	   "/sys/class/misc/rdma_cm",
	"/sys/bus/pci/devices",	 "/sys/bus/pci/drivers/mlx5_core", "/sys/devices/pci0000:c0",
	"/dev/infiniband",
};

/* Above them: only their listing is. */
static const char *const listed[] = {
	"/dev",	    "/sys",	    "/sys/class",	    "/sys/class/misc",
	"/sys/bus", "/sys/bus/pci", "/sys/bus/pci/drivers", "/sys/devices",
};

/* Directories above the device's that a machine may lack (one without PCI): shown if so. */
static const char *const optional[] = {
	"/sys/class/misc",
	"/sys/bus/pci",
	"/sys/bus/pci/drivers",
};

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* The components of all of the above. */
static const char *const words[] = {
	"sys", "dev",	  "class",	"infiniband", "infiniband_verbs", "misc", "rdma_cm", "bus",
	"pci", "devices", "pci0000:c0", "drivers",    "mlx5_core",	  ".",	  "..",
};

/* ".." takes back a directory, but what a link leads to only the kernel knows. Above this depth
 * /sys and /dev hold directories. */
enum { DEPTH_OF_LINKS = 3 };

/* ---- the root ---- */

static _Atomic(const char *) root;
static atomic_bool root_known;

const char *paths_root(void)
{
	if (!atomic_load_explicit(&root_known, memory_order_acquire)) {
		const char *env = getenv(PATHS_ENV_ROOT), *copy = NULL;

		/* A copy: programs change their environment. Two threads here make two. */
		if (env && env[0] == '/' && strlen(env) < PATHS_ROOT_MAX)
			copy = strdup(env);
		atomic_store_explicit(&root, copy, memory_order_release);
		atomic_store_explicit(&root_known, true, memory_order_release);
	}
	return atomic_load_explicit(&root, memory_order_acquire);
}

void paths_set_root(const char *new_root)
{
	atomic_store(&root, new_root);
	atomic_store(&root_known, true);
}

/* ---- text ---- */

static bool one_of(const char *const *table, size_t n, const char *text, size_t len)
{
	for (size_t i = 0; i < n; i++)
		if (strlen(table[i]) == len && !memcmp(table[i], text, len))
			return true;
	return false;
}

static const char *skip_slashes(const char *p)
{
	while (*p == '/')
		p++;
	return p;
}

/* A path under construction: "" is the root directory. */
struct walk {
	char at[PATH_MAX];
	size_t len;
	unsigned int depth;
};

static bool pop(struct walk *w)
{
	if (w->depth > DEPTH_OF_LINKS)
		return false;
	while (w->len && w->at[--w->len] != '/')
		;
	w->at[w->len] = '\0';
	w->depth -= w->depth > 0;
	return true;
}

static bool push(struct walk *w, const char *name, size_t len)
{
	if (w->len + len + 2 > sizeof(w->at))
		return false;
	w->at[w->len++] = '/';
	memcpy(w->at + w->len, name, len);
	w->len += len;
	w->at[w->len] = '\0';
	w->depth++;
	return true;
}

/* True: what has been walked is the device's, `*rest` is the remainder. False: all of it was walked
 * and is not (`*rest` is empty), or it was given up. */
static bool walk_to_shown(struct walk *w, const char *path, const char **rest)
{
	while (*(path = skip_slashes(path))) {
		size_t len = strcspn(path, "/");

		if (len == 2 && !memcmp(path, "..", 2)) {
			*rest = path;
			if (!pop(w))
				return false;
		} else if (len != 1 || *path != '.') {
			*rest = path;
			if (!push(w, path, len))
				return false;
			if (one_of(shown, COUNT(shown), w->at, w->len)) {
				*rest = path + len;
				return true;
			}
		}
		path += len;
	}
	*rest = path;
	return false;
}

/* ---- relative paths ---- */

static bool in_tree(const char *path, size_t len)
{
	const char *r = paths_root();
	size_t n = r ? strlen(r) : 0;

	return n && len >= n && !memcmp(path, r, n) && (len == n || path[n] == '/');
}

/* Where a relative path begins, without links: false if that is in the tree already. */
static bool base_of(int dirfd, char at[PATH_MAX])
{
	char name[32];
	long n;

	if (dirfd == AT_FDCWD) {
		n = syscall(SYS_getcwd, at, PATH_MAX); /* with the terminator */
		n -= n > 0;
	} else {
		snprintf(name, sizeof(name), "/proc/self/fd/%d", dirfd);
		n = syscall(SYS_readlinkat, AT_FDCWD, name, at, PATH_MAX - 1);
	}
	if (n <= 0 || n >= PATH_MAX || at[0] != '/' || in_tree(at, (size_t)n))
		return false;
	at[n] = '\0';
	return true;
}

static bool may_lead_there(const char *path)
{
	const char *p = skip_slashes(path);

	if (*path == '/')
		return *p == '.' || !strncmp(p, "sys", 3) || !strncmp(p, "dev", 3);
	return one_of(words, COUNT(words), p, strcspn(p, "/"));
}

static bool is_missing(const char *path)
{
	return syscall(SYS_faccessat, AT_FDCWD, path, F_OK) != 0;
}

/* The walked part, or NULL: the real path is meant. */
static const char *find(struct walk *w, const char *path, bool list)
{
	const char *rest;

	if (walk_to_shown(w, path, &rest))
		return rest;
	if (*rest)
		return NULL; /* given up on the way */
	if (list && one_of(listed, COUNT(listed), w->at, w->len))
		return rest;
	if (one_of(optional, COUNT(optional), w->at, w->len) && is_missing(w->at))
		return rest;
	return NULL;
}

/* A frame of its own: most paths do not need these buffers, and stacks may be small. */
__attribute__((noinline)) static bool walk(int dirfd, const char *path, char buf[PATH_MAX],
					   bool list)
{
	struct walk w = {.len = 0};
	const char *rest;
	char base[PATH_MAX];

	if (*path != '/') {
		if (!base_of(dirfd, base))
			return false;
		if (walk_to_shown(&w, base, &rest))
			return snprintf(buf, PATH_MAX, "%s%s%s/%s", paths_root(), w.at, rest,
					path) < PATH_MAX;
	}
	rest = find(&w, path, list);
	return rest && snprintf(buf, PATH_MAX, "%s%s%s", paths_root(), w.at, rest) < PATH_MAX;
}

static const char *redirect(int dirfd, const char *path, char buf[PATH_MAX], bool list)
{
	int saved = errno;
	bool ours;

	if (!path || !*path || !paths_root() || !may_lead_there(path))
		return path;
	ours = walk(dirfd, path, buf, list);
	errno = saved;
	return ours ? buf : path;
}

/* ---- what is offered ---- */

const char *paths_redirect(int dirfd, const char *path, char buf[PATH_MAX])
{
	return redirect(dirfd, path, buf, false);
}

const char *paths_redirect_list(int dirfd, const char *path, char buf[PATH_MAX])
{
	return redirect(dirfd, path, buf, true);
}

size_t paths_strip(char *path, size_t len)
{
	size_t n;

	if (!in_tree(path, len))
		return len;
	n = strlen(paths_root());
	if (len == n) { /* the root itself */
		path[0] = '/';
		if (n > 1)
			path[1] = '\0';
		return 1;
	}
	memmove(path, path + n, len - n);
	path[len - n] = '\0'; /* inside the old text */
	return len - n;
}

bool paths_is_node(const char *redirected)
{
	static const char dir[] = "/dev/infiniband/";
	const char *r = paths_root();
	size_t n = r ? strlen(r) : 0;

	return n && !strncmp(redirected, r, n) && !strncmp(redirected + n, dir, sizeof(dir) - 1) &&
	       *skip_slashes(redirected + n + sizeof(dir) - 1);
}
