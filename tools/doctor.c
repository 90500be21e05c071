// SPDX-License-Identifier: BSD-3-Clause
/* gdakit doctor: each thing that `gdakit run` needs is tried in a child, and the answer is a line.
 */
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <linux/perf_event.h>
#include <linux/seccomp.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/gdakit.h"

enum { REASON_MAX = 256 };

/* What a check is for. */
enum need {
	NEED_ALWAYS,	/* no mode works without it */
	NEED_NAMESPACE, /* --mode namespace */
	NEED_HOOKS,	/* --mode hooks */
	NEED_NOTHING,	/* something is lost, no more */
	NEEDS
};

/* A check runs in a process of its own. true: fine; in both cases `why` may say more. */
struct check {
	const char *what;
	enum need need;
	bool (*run)(char why[REASON_MAX]);
	const char *advice; /* if it fails: how to get it, or what is lost without */
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

static bool find(char why[REASON_MAX], enum preload which)
{
	char path[PATH_MAX];

	if (!find_preload(which, path, true)) {
		snprintf(why, REASON_MAX, "it is not where gdakit looks for it");
		return false;
	}
	snprintf(why, REASON_MAX, "%.200s", path);
	return true;
}

static bool check_preload(char why[REASON_MAX])
{
	return find(why, PRELOAD_UVERBS);
}

static bool check_paths(char why[REASON_MAX])
{
	char path[PATH_MAX];

	if (!find(why, PRELOAD_PATHS) || !find_preload(PRELOAD_PATHS, path, true))
		return false;
	return check_library(why, path);
}

/* As a run would make it, with a host's usual device. */
static bool check_tree(char why[REASON_MAX])
{
	struct view view = {.nics = 1, .ethernet = true, .model = uv_models};
	char root[PATH_MAX];
	int lock;

	uv_identity_of_block(&view.id, UV_BLOCK_A_FIRST, 0);
	lock = tree_create(root, &view);
	if (lock < 0)
		return say_errno(why, "no directory for it below TMPDIR");
	snprintf(why, REASON_MAX, "%.200s", root);
	tree_remove(root, lock);
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

/* All that a run does, once more as a whole. */
static bool check_view(char why[REASON_MAX])
{
	struct view view = {.nics = 1, .ethernet = true, .model = uv_models};
	char scratch[] = "/tmp/gdakit-doctor-XXXXXX";
	bool ok;

	_Static_assert((int)REASON_MAX == (int)VIEW_WHY_MAX, "one size of a reason");
	uv_identity_of_block(&view.id, UV_BLOCK_A_FIRST, 0);
	if (!mkdtemp(scratch))
		return say_errno(why, scratch);
	ok = !view_enter(scratch, &view, why);
	rmdir(scratch);
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

static bool check_user_namespace(char why[REASON_MAX])
{
	return !unshare(CLONE_NEWUSER) || say_errno(why, "unshare");
}

static bool check_listener(char why[REASON_MAX])
{
	struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	struct sock_fprog prog = {1, &allow};

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &prog) <
	    0)
		return say_errno(why, errno == EBUSY ? "somebody listens already" : "seccomp");
	return true;
}

static bool check_userfaultfd(char why[REASON_MAX])
{
	enum { USER_MODE_ONLY = 1 };

	if (syscall(SYS_userfaultfd, O_CLOEXEC | USER_MODE_ONLY) < 0)
		return say_errno(why, "userfaultfd");
	return true;
}

static bool check_perf(char why[REASON_MAX])
{
	struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
				       .size = sizeof(attr),
				       .config = PERF_COUNT_SW_TASK_CLOCK,
				       .exclude_kernel = 1};

	if (syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0) < 0)
		return say_errno(why, "perf_event_open");
	return true;
}

static bool check_ptrace(char why[REASON_MAX])
{
	pid_t pid = fork();
	int status;

	if (!pid)
		_exit(ptrace(PTRACE_TRACEME, 0, NULL, NULL) ? errno : 0);
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return say_errno(why, "fork");
	errno = WEXITSTATUS(status);
	return !errno || say_errno(why, "ptrace");
}

static bool check_memlock(char why[REASON_MAX])
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_MEMLOCK, &limit))
		return say_errno(why, "getrlimit");
	if (limit.rlim_cur == RLIM_INFINITY)
		return true;
	snprintf(why, REASON_MAX, "RLIMIT_MEMLOCK is %llu KiB",
		 (unsigned long long)limit.rlim_cur / 1024);
	return false;
}

static bool check_shm(char why[REASON_MAX])
{
	enum { ENOUGH_MIB = 256 };
	struct statvfs fs;
	unsigned long long mib;

	if (statvfs("/dev/shm", &fs))
		return say_errno(why, "/dev/shm");
	mib = (unsigned long long)fs.f_bavail * fs.f_frsize >> 20;
	snprintf(why, REASON_MAX, "%llu MiB free", mib);
	return mib >= ENOUGH_MIB;
}

static bool check_hugepages(char why[REASON_MAX])
{
	void *p = mmap(NULL, 2 << 20, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);

	return p != MAP_FAILED || say_errno(why, "mmap");
}

/* Addresses beside loopback: what programs use to find each other's hosts. */
static bool check_net(char why[REASON_MAX])
{
	struct ifaddrs *list, *i;
	bool found = false;

	if (getifaddrs(&list))
		return say_errno(why, "getifaddrs");
	for (i = list; i && !found; i = i->ifa_next)
		found = i->ifa_addr && i->ifa_addr->sa_family == AF_INET &&
			!(i->ifa_flags & IFF_LOOPBACK);
	freeifaddrs(list);
	if (!found)
		snprintf(why, REASON_MAX, "loopback only");
	return found;
}

/* As one simulated host reads another's payload: a process that is not its ancestor and allows it.
 */
static bool check_pull(char why[REASON_MAX])
{
	static int source = 1;
	int copy = 0, status = 0;
	struct iovec local = {&copy, sizeof(copy)}, remote = {&source, sizeof(source)};
	pid_t pid;

	(void)prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
	pid = fork();
	if (!pid)
		_exit(process_vm_readv(getppid(), &local, 1, &remote, 1, 0) == sizeof(copy)
			      ? 0
			      : errno);
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return say_errno(why, "fork");
	errno = WEXITSTATUS(status);
	if (status)
		return say_errno(why, "process_vm_readv on another process");
	snprintf(why, REASON_MAX, "large messages between processes take one copy%s",
		 geteuid() == 0 ? ""
				: "; two between hosts in user namespaces of their own (not in "
				  "--mode hooks)");
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
	{"libibverbs", NEED_ALWAYS, check_ibverbs, "apt install libibverbs1"},
	{"libmlx5", NEED_ALWAYS, check_mlx5, "apt install ibverbs-providers"},
	{"preload library", NEED_ALWAYS, check_preload, "build the target gdakit_uverbs"},
	{"its libraries", NEED_ALWAYS, check_preload_loads,
	 "install the library that is named (libisal.so.2: apt install libisal2)"},
	{"loopback address block", NEED_ALWAYS, check_claim,
	 "UDP port 4791 on 127.64.0.0/10 must be free"},
	{"memfd", NEED_ALWAYS, check_memfd, "Linux 3.17 or later"},
	{"full device", NEED_ALWAYS, check_node, "mknod -m 666 " UV_NODE_PATH " c 1 7"},
	{"mount namespace", NEED_NAMESPACE, check_namespace,
	 "run as root, or allow user namespaces (kernel.unprivileged_userns_clone); in a "
	 "container: --privileged or "
	 "--cap-add SYS_ADMIN and no seccomp profile; in a chroot: its root must be a mount point "
	 "(mount --bind DIR DIR)"},
	{"overlays on /sys", NEED_NAMESPACE, check_overlay,
	 "Linux 5.11 or later is needed without root; /sys must be mounted"},
	{"seccomp filter", NEED_NAMESPACE, check_seccomp, "CONFIG_SECCOMP_FILTER"},
	{"view of /sys and /dev", NEED_NAMESPACE, check_view, "see above"},
	{"path hooks", NEED_HOOKS, check_paths, "build the target gdakit_paths"},
	{"private tree", NEED_HOOKS, check_tree, "set TMPDIR to a directory that can be written"},
	{"user namespace", NEED_NOTHING, check_user_namespace,
	 "without root there is no mount namespace then"},
	{"seccomp listener", NEED_NOTHING, check_listener, "nothing is lost: gdakit uses none yet"},
	{"userfaultfd", NEED_NOTHING, check_userfaultfd,
	 "the NIC of an idle program looks at its doorbells a thousand times a second instead of "
	 "sleeping"},
	{"process_vm_readv", NEED_NOTHING, check_pull,
	 "large messages between processes take two copies instead of one"},
	{"ptrace", NEED_NOTHING, check_ptrace, "no gdb or strace on the program"},
	{"perf", NEED_NOTHING, check_perf, "no profile of the program with perf"},
	{"locked memory", NEED_NOTHING, check_memlock,
	 "nothing is lost: the software NIC locks none; a real one needs ulimit -l unlimited"},
	{"/dev/shm", NEED_NOTHING, check_shm,
	 "MPI and NCCL may run out of shared memory (docker run --shm-size=1g)"},
	{"huge pages", NEED_NOTHING, check_hugepages,
	 "programs that ask for them fail, as perftest --use_hugepages (vm.nr_hugepages)"},
	{"network", NEED_NOTHING, check_net,
	 "programs must be told 127.0.0.1 or a host name that resolves to it"},
	{"kernel RDMA", NEED_NOTHING, check_no_kernel_rdma, ""},
	{"GPU", NEED_NOTHING, check_gpu, "optional"},
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

/* Returns the exit code. `missing`: checks that failed, by need. */
static int say_mode(const int missing[NEEDS])
{
	if (missing[NEED_ALWAYS] || (missing[NEED_NAMESPACE] && missing[NEED_HOOKS])) {
		printf("mode     none\ngdakit run cannot work here: %d missing\n",
		       missing[NEED_ALWAYS] ? missing[NEED_ALWAYS] : missing[NEED_HOOKS]);
		return 1;
	}
	if (!missing[NEED_NAMESPACE])
		printf("mode     namespace: the program's own view of /sys and /dev\n"
		       "gdakit run can work here\n");
	else
		printf("mode     hooks: paths are shown by a preload library. Lost without "
		       "namespaces: "
		       "static and Go programs, and what clears LD_PRELOAD, find no device; what "
		       "lists "
		       "mounts or /sys by system calls of its own does not see it\n"
		       "gdakit run can work here, with path hooks\n");
	return 0;
}

int doctor(void)
{
	static const char *const absent[NEEDS] = {
		[NEED_ALWAYS] = "MISSING",
		[NEED_NAMESPACE] = "no",
		[NEED_HOOKS] = "no",
		[NEED_NOTHING] = "-",
	};
	char why[REASON_MAX];
	int missing[NEEDS] = {0};

	for (int i = 0; i < NCHECKS; i++) {
		const struct check *c = &checks[i];
		bool ok = run_check(c, why);

		missing[c->need] += !ok;
		printf("%-8s %-24s %s%s%s\n", ok ? "ok" : absent[c->need], c->what, why,
		       !ok && *c->advice ? " -- " : "", !ok ? c->advice : "");
		fflush(stdout);
	}
	return say_mode(missing);
}
