// SPDX-License-Identifier: BSD-3-Clause
/*
 * The program's own view of /sys and /dev: a mount namespace in which the device's files lie over
 * the real ones. As root, or in a user namespace in which the caller keeps its ids. Inherited by
 * all descendants, and gone with the last of them: nothing to clean up.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tools/gdakit.h"

/* ---- namespaces ---- */

static int write_proc(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC), ret;

	if (fd < 0)
		return -1;
	ret = write(fd, text, strlen(text)) == (ssize_t)strlen(text) ? 0 : -1;
	close(fd);
	return ret;
}

/* Every id outside the map is "nobody" inside; the caller's own are what they were. */
static int map_ids(uid_t uid, gid_t gid)
{
	char map[64];

	if (write_proc("/proc/self/setgroups", "deny") && errno != ENOENT)
		return -1;
	snprintf(map, sizeof(map), "%u %u 1", gid, gid);
	if (write_proc("/proc/self/gid_map", map))
		return -1;
	snprintf(map, sizeof(map), "%u %u 1", uid, uid);
	return write_proc("/proc/self/uid_map", map);
}

int view_new_namespace(void)
{
	uid_t uid = geteuid();
	gid_t gid = getegid();

	if (unshare(CLONE_NEWNS)) {
		if (unshare(CLONE_NEWUSER | CLONE_NEWNS) || map_ids(uid, gid))
			return -1;
	}
	return mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL);
}

/* ---- netlink ---- */

#if defined(__x86_64__)
#define OUR_AUDIT_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define OUR_AUDIT_ARCH AUDIT_ARCH_AARCH64
#else
#error "which AUDIT_ARCH is this?"
#endif

#define LOAD(field)  BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define UNLESS(v, n) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (v), 0, (n)) /* skips n instructions */

/*
 * libibverbs asks the kernel's RDMA stack for devices first and looks into sysfs only where there
 * is none (EPROTONOSUPPORT). The kernel answers all other system calls from a bitmap, so this costs
 * them nothing.
 */
int view_refuse_netlink(bool promise)
{
	struct sock_filter filter[] = {
		LOAD(arch),
		UNLESS(OUR_AUDIT_ARCH, 7),
		LOAD(nr),
		UNLESS(__NR_socket, 5),
		LOAD(args[0]),
		UNLESS(AF_NETLINK, 3),
		LOAD(args[2]),
		UNLESS(NETLINK_RDMA, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPROTONOSUPPORT),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = {sizeof(filter) / sizeof(filter[0]), filter};

	if (!prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog))
		return 0;
	/* Without the capability a filter needs the promise that set-user-id programs gain nothing.
	 */
	if (errno != EACCES || !promise || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -1;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog);
}

/* ---- /sys ---- */

/* a/b in `out`; -1 with errno if it does not fit. */
static int join(char out[PATH_MAX], const char *a, const char *b)
{
	if (snprintf(out, PATH_MAX, "%s/%s", a, b) < PATH_MAX)
		return 0;
	errno = ENAMETOOLONG;
	return -1;
}

int view_overlay(const char *lower, const char *target)
{
	char options[2 * PATH_MAX];

	if (snprintf(options, sizeof(options), "lowerdir=%s:%s", lower, target) >=
	    (int)sizeof(options)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	return mount("gdakit", target, "overlay", MS_RDONLY | MS_NOSUID | MS_NODEV, options);
}

/* Of the step that failed last; one thread. */
static char reason[VIEW_WHY_MAX];

static int failed(const char *what)
{
	snprintf(reason, sizeof(reason), "%.120s: %.120s", what, strerror(errno));
	return -1;
}

static int show_sys(const char *tree, const struct view *view)
{
	static const char *const tops[] = {"class", "bus", "devices"};
	static const char *const hide[] = {"class/infiniband", "class/infiniband_verbs"};
	char lower[PATH_MAX], target[PATH_MAX], live[PATH_MAX];

	for (size_t i = 0; i < sizeof(tops) / sizeof(tops[0]); i++) {
		if (join(lower, tree, tops[i]) || join(target, "/sys", tops[i]) ||
		    view_overlay(lower, target))
			return failed(target);
	}
	/* Real RDMA devices would show through, under the same names perhaps: this host has only
	 * ours. */
	for (size_t i = 0; i < sizeof(hide) / sizeof(hide[0]); i++) {
		if (join(lower, tree, hide[i]) || join(target, "/sys", hide[i]) ||
		    mount(lower, target, NULL, MS_BIND, NULL))
			return failed(target);
	}
	/* An overlay may not change below; these files do. */
	for (unsigned int i = 0; sysfs_tree_live(view, i, live); i++) {
		if (join(lower, tree, live) || join(target, "/sys", live) ||
		    mount(lower, target, NULL, MS_BIND, NULL))
			return failed(target);
	}
	return 0;
}

/* ---- /dev ---- */

static int make_file(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	if (fd < 0)
		return -1;
	close(fd);
	return 0;
}

static int add_device(const char *dev, const char *name)
{
	char path[PATH_MAX];

	if (join(path, dev, name) || make_file(path) ||
	    mount(UV_NODE_PATH, path, NULL, MS_BIND, NULL))
		return failed(path);
	return 0;
}

static int add_devices(const char *dev, unsigned int nics)
{
	char name[32];

	for (unsigned int i = 0; i < nics; i++) {
		snprintf(name, sizeof(name), UV_NODE_NAME "%u", i);
		if (add_device(dev, name))
			return -1;
	}
	return add_device(dev, UV_CM_NODE_NAME);
}

/* One entry of /dev in the new one. What cannot be shown is left out: it may be gone by now. */
static void copy_entry(const char *name, const char *to)
{
	char from[PATH_MAX], link[PATH_MAX];
	struct stat st;
	ssize_t n;

	if (join(from, "/dev", name) || lstat(from, &st))
		return;
	if (S_ISLNK(st.st_mode)) {
		n = readlink(from, link, sizeof(link) - 1);
		if (n < 0)
			return;
		link[n] = '\0';
		(void)!symlink(link, to);
		return;
	}
	if (S_ISDIR(st.st_mode) ? mkdir(to, 0755) : make_file(to))
		return;
	mount(from, to, NULL, MS_BIND | MS_REC, NULL);
}

/* /dev has no directory for RDMA and is shared with everyone: show a /dev that has one, with all
 * entries of the old. */
static int rebuild_dev(const char *scratch, unsigned int nics)
{
	char root[PATH_MAX], to[PATH_MAX];
	struct dirent *e;
	DIR *d;

	if (join(root, scratch, "dev") || mkdir(root, 0755) ||
	    mount("gdakit", root, "tmpfs", MS_NOSUID, "mode=0755"))
		return failed(root);
	d = opendir("/dev");
	if (!d)
		return failed("/dev");
	while ((e = readdir(d))) {
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		if (!join(to, root, e->d_name))
			copy_entry(e->d_name, to);
	}
	closedir(d);
	if (join(to, root, "infiniband") || mkdir(to, 0755))
		return failed(to);
	if (add_devices(to, nics))
		return -1;
	if (mount(root, "/dev", NULL, MS_MOVE, NULL))
		return failed("/dev");
	return 0;
}

static int show_dev(const char *scratch, unsigned int nics)
{
	struct stat st;

	if (stat(UV_NODE_DIR, &st))
		return rebuild_dev(scratch, nics);
	if (mount("gdakit", UV_NODE_DIR, "tmpfs", MS_NOSUID, "mode=0755"))
		return failed(UV_NODE_DIR);
	return add_devices(UV_NODE_DIR, nics);
}

static int enter(const char *scratch, const struct view *view)
{
	char tree[PATH_MAX];

	if (view_new_namespace())
		return failed(errno == EINVAL ? "mount namespace: / is no mount point (a chroot?)"
					      : "mount namespace");
	if (mount("gdakit", scratch, "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755"))
		return failed(scratch);
	if (join(tree, scratch, "sys") || sysfs_tree_write(tree, view) || show_sys(tree, view) ||
	    show_dev(scratch, view->nics))
		return -1;
	/* The mounts above hold what they need of it. */
	if (umount2(scratch, MNT_DETACH))
		return failed(scratch);
	if (view_refuse_netlink(true))
		return failed("seccomp filter for RDMA netlink");
	return 0;
}

int view_enter(const char *scratch, const struct view *view, char why[VIEW_WHY_MAX])
{
	snprintf(reason, sizeof(reason), "the device's files");
	if (!enter(scratch, view))
		return 0;
	memcpy(why, reason, VIEW_WHY_MAX);
	return -1;
}
