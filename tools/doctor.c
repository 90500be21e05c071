// SPDX-License-Identifier: BSD-3-Clause
/* gdakit doctor: each thing that `gdakit run` needs is tried in a child, and the answer is a line.
 */
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <linux/netlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/gdakit.h"

enum { REASON_MAX = 256 };

/* A check runs in a process of its own. true: fine; in both cases `why` may say more. */
struct check {
	const char *what;
	bool required;
	bool (*run)(char why[REASON_MAX]);
	const char *advice; /* if it fails */
};

static bool say_errno(char why[REASON_MAX], const char *what)
{
	snprintf(why, REASON_MAX, "%s: %s", what, strerror(errno));
	return false;
}

static bool check_library(char why[REASON_MAX], const char *name)
{
	if (dlopen(name, RTLD_NOW | RTLD_LOCAL))
		return true;
	snprintf(why, REASON_MAX, "%s", dlerror());
	return false;
}

static bool check_ibverbs(char why[REASON_MAX])
{
	return check_library(why, "libibverbs.so.1");
}

static bool check_mlx5(char why[REASON_MAX])
{
	struct stat st;

	if (!check_library(why, "libmlx5.so.1"))
		return false;
	if (!stat("/etc/libibverbs.d/mlx5.driver", &st))
		return true;
	return say_errno(why, "/etc/libibverbs.d/mlx5.driver");
}

static bool check_preload(char why[REASON_MAX])
{
	char path[PATH_MAX];

	if (!find_preload(PRELOAD_UVERBS, path, true)) {
		snprintf(why, REASON_MAX, "libgdakit_uverbs.so is not where gdakit looks for it");
		return false;
	}
	snprintf(why, REASON_MAX, "%.200s", path);
	return true;
}

/* As the dynamic linker will do it in every program: what is missing then keeps them from starting.
 */
static bool check_preload_loads(char why[REASON_MAX])
{
	char path[PATH_MAX];

	if (find_preload(PRELOAD_UVERBS, path, true))
		return check_library(why, path);
	snprintf(why, REASON_MAX, "no preload library to try");
	return false;
}

static bool check_claim(char why[REASON_MAX])
{
	struct uv_identity id;

	if (claim_host(NULL, 1, &id))
		return say_errno(why, "binding a loopback address");
	snprintf(why, REASON_MAX, "the next host would be 127.%u.%u.0/24", id.a, id.b);
	return true;
}

static bool check_namespace(char why[REASON_MAX])
{
	bool root = geteuid() == 0;

	if (view_new_namespace())
		return say_errno(why, root ? "unshare (mount, or user and mount)"
					   : "unshare (user and mount)");
	snprintf(why, REASON_MAX, "%s", root ? "as root" : "with a user namespace");
	return true;
}

static bool check_overlay(char why[REASON_MAX])
{
	char dir[] = "/tmp/gdakit-doctor-XXXXXX", lower[64];
	const char *const targets[] = {"/sys/class", "/sys/bus", "/sys/devices"};
	bool ok = false;

	if (view_new_namespace())
		return say_errno(why, "no namespace");
	if (!mkdtemp(dir))
		return say_errno(why, dir);
	snprintf(lower, sizeof(lower), "%s/lower", dir);
	if (mount("gdakit", dir, "tmpfs", 0, NULL) || mkdir(lower, 0755)) {
		say_errno(why, "tmpfs");
		goto out;
	}
	ok = true;
	for (int i = 0; ok && i < 3; i++)
		if (view_overlay(lower, targets[i]))
			ok = say_errno(why, targets[i]);
	umount2(dir, MNT_DETACH);
out:
	rmdir(dir);
	return ok;
}

static bool check_seccomp(char why[REASON_MAX])
{
	int fd;

	if (view_refuse_netlink(true))
		return say_errno(why, "seccomp filter");
	fd = socket(AF_NETLINK, SOCK_RAW, NETLINK_RDMA);
	if (fd >= 0 || errno != EPROTONOSUPPORT) {
		snprintf(why, REASON_MAX, "the filter is in place, but RDMA netlink still answers");
		return false;
	}
	return true;
}

static bool check_memfd(char why[REASON_MAX])
{
	int fd = memfd_create("gdakit-doctor", MFD_CLOEXEC);

	if (fd < 0 || ftruncate(fd, 4096) ||
	    mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED)
		return say_errno(why, "memfd");
	return true;
}

static bool check_node(char why[REASON_MAX])
{
	struct stat st;

	if (stat(UV_NODE_PATH, &st))
		return say_errno(why, UV_NODE_PATH);
	if (S_ISCHR(st.st_mode) && st.st_rdev == makedev(UV_NODE_MAJOR, UV_NODE_MINOR))
		return true;
	snprintf(why, REASON_MAX, UV_NODE_PATH " is not character device %d:%d", UV_NODE_MAJOR,
		 UV_NODE_MINOR);
	return false;
}

static bool check_process_vm(char why[REASON_MAX])
{
	int a = 1, b = 0;
	struct iovec local = {&b, sizeof(b)}, remote = {&a, sizeof(a)};

	if (process_vm_readv(getpid(), &local, 1, &remote, 1, 0) != sizeof(a))
		return say_errno(why, "process_vm_readv on oneself");
	return true;
}

static bool check_no_kernel_rdma(char why[REASON_MAX])
{
	struct stat st;
	int fd = socket(AF_NETLINK, SOCK_RAW, NETLINK_RDMA);

	if (fd >= 0 || !stat("/sys/class/infiniband", &st)) {
		snprintf(why, REASON_MAX,
			 "this kernel has an RDMA stack; its devices are hidden from the program");
		return true;
	}
	snprintf(why, REASON_MAX, "this kernel has no RDMA stack; none is needed");
	return true;
}

static bool check_gpu(char why[REASON_MAX])
{
	struct stat st;

	if (stat("/dev/nvidiactl", &st)) {
		snprintf(why, REASON_MAX, "no NVIDIA GPU: kernels run on the CPU");
		return false;
	}
	return check_library(why, "libcuda.so.1");
}

static const struct check checks[] = {
	{"libibverbs", true, check_ibverbs, "apt install libibverbs1"},
	{"libmlx5", true, check_mlx5, "apt install ibverbs-providers"},
	{"preload library", true, check_preload, "build the target gdakit_uverbs"},
	{"its libraries", true, check_preload_loads,
	 "install the library that is named (libisal.so.2: apt install libisal2)"},
	{"loopback address block", true, check_claim,
	 "UDP port 4791 on 127.64.0.0/10 must be free"},
	{"mount namespace", true, check_namespace,
	 "run as root, or allow user namespaces (kernel.unprivileged_userns_clone); in a "
	 "container: --privileged or "
	 "--cap-add SYS_ADMIN and no seccomp profile; in a chroot: its root must be a mount point "
	 "(mount --bind DIR DIR)"},
	{"overlays on /sys", true, check_overlay,
	 "Linux 5.11 or later is needed without root; /sys must be mounted"},
	{"seccomp filter", true, check_seccomp, "CONFIG_SECCOMP_FILTER"},
	{"memfd", true, check_memfd, "Linux 3.17 or later"},
	{"full device", true, check_node, "mknod -m 666 " UV_NODE_PATH " c 1 7"},
	{"process_vm_readv", false, check_process_vm,
	 "wrong addresses in calls end the program instead of EFAULT"},
	{"kernel RDMA", false, check_no_kernel_rdma, ""},
	{"GPU", false, check_gpu, "optional"},
};
enum { NCHECKS = sizeof(checks) / sizeof(checks[0]) };

/* In a child, because a namespace or a filter cannot be left again. */
static bool run_check(const struct check *c, char why[REASON_MAX])
{
	struct {
		bool ok;
		char why[REASON_MAX];
	} * shared;
	bool ok;
	pid_t pid;

	why[0] = '\0';
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (shared == MAP_FAILED)
		return say_errno(why, "mmap");
	pid = fork();
	if (!pid) {
		shared->ok = c->run(shared->why);
		_exit(0);
	}
	if (pid < 0 || waitpid(pid, NULL, 0) != pid)
		say_errno(shared->why, "fork");
	ok = shared->ok;
	memcpy(why, shared->why, REASON_MAX);
	munmap(shared, sizeof(*shared));
	return ok;
}

int doctor(void)
{
	char why[REASON_MAX];
	int missing = 0;

	for (int i = 0; i < NCHECKS; i++) {
		const struct check *c = &checks[i];
		bool ok = run_check(c, why);

		missing += !ok && c->required;
		printf("%-8s %-24s %s%s%s\n",
		       ok	     ? "ok"
		       : c->required ? "MISSING"
				     : "-",
		       c->what, why, !ok && *c->advice ? " -- " : "", !ok ? c->advice : "");
		fflush(stdout);
	}
	if (missing)
		printf("gdakit run cannot work here: %d missing\n", missing);
	else
		printf("gdakit run can work here\n");
	return missing ? 1 : 0;
}
