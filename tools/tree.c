// SPDX-License-Identifier: BSD-3-Clause
/*
 * The private tree of `gdakit run --mode hooks`: /sys and /dev as the program shall see them, in a
 * directory below TMPDIR. The device's files are there; what else stands beside them on the real
 * machine is linked to, so that a listing is whole and a walk with ".." leads out again.
 *
 * A lock says that somebody uses it: on a descriptor that all descendants inherit, so that it goes
 * with the last of them. What a killed gdakit has left behind, a later one of the same user
 * removes.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "emu/paths/paths.h"
#include "tools/gdakit.h"

#define PREFIX "gdakit-tree-"

enum {
	HIGH_FD = 200, /* out of the way of programs that count their descriptors */
	TRIES = 100,   /* of making one that no other gdakit takes for a leftover */
	DEPTH_MAX = 32,
};

static const char *temporary(void)
{
	const char *tmp = getenv("TMPDIR");

	return tmp && *tmp == '/' ? tmp : "/tmp";
}

/* ---- removal ---- */

/* Empties the directory, and closes it. Links are not followed. */
static void empty(int fd, int depth)
{
	DIR *d = fdopendir(fd);
	struct dirent *e;

	if (!d) {
		close(fd);
		return;
	}
	while ((e = readdir(d))) {
		int sub;

		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		if (!unlinkat(dirfd(d), e->d_name, 0) || errno == ENOENT || depth == DEPTH_MAX)
			continue;
		sub = openat(dirfd(d), e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (sub >= 0)
			empty(sub, depth + 1);
		unlinkat(dirfd(d), e->d_name, AT_REMOVEDIR);
	}
	closedir(d);
}

/* Removes the tree, or returns false: somebody uses it. */
static bool remove_unused(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), again;
	bool used = true;
	struct stat st;

	if (fd < 0)
		return true;
	if (!fstat(fd, &st) && st.st_uid == geteuid() && !flock(fd, LOCK_EX | LOCK_NB)) {
		again = fcntl(fd, F_DUPFD_CLOEXEC, 0); /* the same lock */
		if (again >= 0)
			empty(again, 0);
		rmdir(path);
		used = false;
	}
	close(fd);
	return !used;
}

static void remove_leftovers(void)
{
	DIR *d = opendir(temporary());
	char path[PATH_MAX];
	struct dirent *e;

	while (d && (e = readdir(d)))
		if (!strncmp(e->d_name, PREFIX, sizeof(PREFIX) - 1) &&
		    snprintf(path, sizeof(path), "%s/%s", temporary(), e->d_name) < PATH_MAX)
			remove_unused(path);
	if (d)
		closedir(d);
}

/* ---- creation ---- */

/* An empty directory with its lock: the descriptor, or -1 with errno. */
static int make_locked(char root[PATH_MAX])
{
	char made[PATH_MAX];

	for (int i = 0; i < TRIES; i++) {
		struct stat by_name, by_fd;
		int fd, high;

		if (snprintf(made, sizeof(made), "%s/" PREFIX "XXXXXX", temporary()) >=
		    PATHS_ROOT_MAX) {
			errno = ENAMETOOLONG;
			return -1;
		}
		/* The hooks compare with real paths. */
		if (!mkdtemp(made) || !realpath(made, root))
			return -1;
		if (strlen(root) >= PATHS_ROOT_MAX) {
			rmdir(root);
			errno = ENAMETOOLONG;
			return -1;
		}
		fd = open(root, O_RDONLY | O_DIRECTORY);
		/* Another gdakit may have taken it for a leftover before it was locked. Readable
		 * by all, for the program may become another user. */
		if (fd >= 0 && !flock(fd, LOCK_EX | LOCK_NB) && !fstat(fd, &by_fd) &&
		    !stat(root, &by_name) && by_name.st_ino == by_fd.st_ino && !fchmod(fd, 0755)) {
			high = fcntl(fd, F_DUPFD, HIGH_FD);
			if (high < 0)
				return fd;
			close(fd);
			return high;
		}
		if (fd >= 0)
			close(fd);
	}
	errno = EAGAIN;
	return -1;
}

/* Entries of the real `dir` that the tree's does not have: links are copied, as they are relative
 * to places that the tree has too; for the rest there is a link. */
static void link_neighbours(const char *root, const char *dir)
{
	char from[PATH_MAX], to[PATH_MAX], target[PATH_MAX];
	DIR *d = opendir(*dir ? dir : "/");
	struct dirent *e;

	while (d && (e = readdir(d))) {
		ssize_t n;

		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..") ||
		    snprintf(from, sizeof(from), "%s/%s", dir, e->d_name) >= PATH_MAX ||
		    snprintf(to, sizeof(to), "%s%s", root, from) >= PATH_MAX)
			continue;
		n = readlink(from, target, sizeof(target) - 1);
		if (n >= 0)
			target[n] = '\0';
		/* EEXIST: the device's. Others that fail are missing from a listing, no more. */
		(void)!symlink(n >= 0 ? target : from, to);
	}
	if (d)
		closedir(d);
}

static int add_nodes(const char *root, unsigned int nics)
{
	char path[PATH_MAX];
	int ret;

	snprintf(path, sizeof(path), "%.*s/dev", PATHS_ROOT_MAX, root);
	ret = mkdir(path, 0755);
	snprintf(path, sizeof(path), "%.*s" UV_NODE_DIR, PATHS_ROOT_MAX, root);
	if (!ret)
		ret = mkdir(path, 0755);
	snprintf(path, sizeof(path), "%.*s" UV_NODE_DIR "/" UV_CM_NODE_NAME, PATHS_ROOT_MAX, root);
	if (!ret)
		ret = symlink(UV_NODE_PATH, path);
	for (unsigned int i = 0; !ret && i < nics; i++) {
		snprintf(path, sizeof(path), "%.*s" UV_NODE_DIR "/" UV_NODE_NAME "%u",
			 PATHS_ROOT_MAX, root, i);
		ret = symlink(UV_NODE_PATH, path);
	}
	if (ret)
		complain("%s: %s", path, strerror(errno));
	return ret;
}

int tree_create(char root[PATH_MAX], const struct view *view)
{
	/* All in which the device has an entry: the innermost first, so that no link is in the way
	 * of a directory. */
	static const char *const above[] = {"/sys/devices/pci0000:c0",
					    "/sys/devices",
					    "/sys/bus/pci/drivers",
					    "/sys/bus/pci/devices",
					    "/sys/bus/pci",
					    "/sys/class/misc",
					    "/sys/bus",
					    "/sys/class",
					    "/sys",
					    "/dev",
					    ""};
	char sys[PATH_MAX];
	int lock;

	remove_leftovers();
	lock = make_locked(root);
	if (lock < 0) {
		complain("a directory in %s: %s", temporary(), strerror(errno));
		return -1;
	}
	if (snprintf(sys, sizeof(sys), "%s/sys", root) >= PATH_MAX || sysfs_tree_write(sys, view) ||
	    add_nodes(root, view->nics)) {
		tree_remove(root, lock);
		return -1;
	}
	for (size_t i = 0; i < sizeof(above) / sizeof(above[0]); i++)
		link_neighbours(root, above[i]);
	return lock;
}

void tree_remove(const char *root, int lock)
{
	close(lock);
	/* A descendant that ends just now still holds it for a moment. */
	for (int i = 0; i < 10 && !remove_unused(root); i++)
		usleep(5000);
}

/* The list of LD_PRELOAD without the hooks. */
static void drop_hooks(const char *list, char *out, size_t size)
{
	size_t used = 0;

	out[0] = '\0';
	while (*(list += strspn(list, ": "))) {
		size_t len = strcspn(list, ": ");
		bool ours = len >= sizeof(PATHS_LIBRARY) - 1 &&
			    !memcmp(list + len - sizeof(PATHS_LIBRARY) + 1, PATHS_LIBRARY,
				    sizeof(PATHS_LIBRARY) - 1);

		if (!ours && used + len + 2 < size)
			used += (size_t)snprintf(out + used, size - used, "%s%.*s", used ? ":" : "",
						 (int)len, list);
		list += len;
	}
}

void tree_leave(char **argv)
{
	const char *root = getenv(PATHS_ENV_ROOT), *sysfs = getenv("SYSFS_PATH"),
		   *preload = getenv("LD_PRELOAD");
	char rest[4 * PATH_MAX];

	if (!root)
		return;
	if (sysfs && !strncmp(sysfs, root, strlen(root)))
		unsetenv("SYSFS_PATH");
	unsetenv(PATHS_ENV_ROOT);
	drop_hooks(preload ? preload : "", rest, sizeof(rest));
	if (setenv("LD_PRELOAD", rest, 1))
		return;
	execv("/proc/self/exe", argv);
	complain("starting again without path hooks: %s", strerror(errno));
	exit(EXIT_REFUSED);
}
