// SPDX-License-Identifier: BSD-3-Clause
/*
 * Runs a program with what a default Docker container leaves it:
 *
 *     docker_filter [--root] [--deny CALL[,CALL...]] PROGRAM [ARGUMENT...]
 *
 * As an ordinary user without any capability (--root: as root with Docker's default set), who gains
 * nothing from set-user-id programs, under a filter that refuses the system calls that Docker's
 * default profile refuses: github.com/moby/profiles, seccomp/default.json (what is in no rule of
 * it without a capability; EPERM, and ENOSYS for clone3), and moby's
 * daemon/pkg/oci/caps/defaults.go.
 * --deny refuses more, as older profiles do. The mounts of a container are not imitated.
 */
#include <errno.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define OUR_AUDIT_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define OUR_AUDIT_ARCH AUDIT_ARCH_AARCH64
#else
#error "which AUDIT_ARCH is this?"
#endif

enum { SOMEBODY = 1000, RULES_MAX = 512 };

struct call {
	const char *name;
	long nr;
	bool always; /* refused by the default profile */
};

#define REFUSED(name)	{#name, __NR_##name, true},
#define REFUSABLE(name) {#name, __NR_##name, false},

/* clang-format off */
static const struct call calls[] = {
#ifdef __x86_64__
	/* Of the past, or this architecture's own. */
	REFUSED(uselib) REFUSED(ustat) REFUSED(sysfs) REFUSED(_sysctl) REFUSED(iopl)
	REFUSED(ioperm) REFUSED(create_module) REFUSED(get_kernel_syms) REFUSED(query_module)
	REFUSED(getpmsg) REFUSED(putpmsg) REFUSED(afs_syscall) REFUSED(tuxcall)
	REFUSED(security) REFUSED(vserver)
#endif
	/* Namespaces and mounts. */
	REFUSED(unshare) REFUSED(setns) REFUSED(mount) REFUSED(umount2) REFUSED(pivot_root)
	REFUSED(open_tree) REFUSED(move_mount) REFUSED(fsopen) REFUSED(fsconfig)
	REFUSED(fsmount) REFUSED(fspick) REFUSED(mount_setattr)
	/* Other processes, and what the kernel tells of itself. */
	REFUSED(userfaultfd) REFUSED(bpf) REFUSED(perf_event_open) REFUSED(kcmp)
	REFUSED(pidfd_getfd) REFUSED(process_madvise) REFUSED(io_uring_setup)
	REFUSED(io_uring_enter) REFUSED(io_uring_register) REFUSED(open_by_handle_at)
	REFUSED(fanotify_init) REFUSED(lookup_dcookie) REFUSED(syslog)
	/* Keys, NUMA, the machine. */
	REFUSED(add_key) REFUSED(request_key) REFUSED(keyctl) REFUSED(mbind)
	REFUSED(set_mempolicy) REFUSED(get_mempolicy) REFUSED(migrate_pages)
	REFUSED(move_pages) REFUSED(acct) REFUSED(settimeofday) REFUSED(clock_settime)
	REFUSED(swapon) REFUSED(swapoff) REFUSED(reboot) REFUSED(sethostname)
	REFUSED(setdomainname) REFUSED(set_mempolicy_home_node) REFUSED(init_module) REFUSED(finit_module)
	REFUSED(delete_module) REFUSED(quotactl) REFUSED(quotactl_fd) REFUSED(nfsservctl) REFUSED(vhangup)
	REFUSED(kexec_load)
#ifdef __NR_kexec_file_load
	REFUSED(kexec_file_load)
#endif
	/* Refused by older profiles, or by other container managers. */
	REFUSABLE(process_vm_readv) REFUSABLE(process_vm_writev) REFUSABLE(ptrace)
	REFUSABLE(memfd_create) REFUSABLE(close_range) REFUSABLE(statx) REFUSABLE(seccomp)
	REFUSABLE(prctl) REFUSABLE(mlock)
};
/* clang-format on */

enum { NCALLS = sizeof(calls) / sizeof(calls[0]) };

static _Noreturn void fail(const char *what)
{
	fprintf(stderr, "docker_filter: %s: %s\n", what, strerror(errno));
	exit(125);
}

/* ---- who ---- */

/* Docker's default set, moby daemon/pkg/oci/caps/defaults.go. */
static const uint8_t kept[] = {
	CAP_CHOWN,   CAP_DAC_OVERRIDE, CAP_FSETID,	     CAP_FOWNER,
	CAP_MKNOD,   CAP_NET_RAW,      CAP_SETGID,	     CAP_SETUID,
	CAP_SETFCAP, CAP_SETPCAP,      CAP_NET_BIND_SERVICE, CAP_SYS_CHROOT,
	CAP_KILL,    CAP_AUDIT_WRITE,
};

static void drop_to_default_root(void)
{
	struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
	struct __user_cap_data_struct data[2] = {0};

	for (size_t i = 0; i < sizeof(kept); i++)
		data[CAP_TO_INDEX(kept[i])].permitted |= CAP_TO_MASK(kept[i]);
	for (int cap = 0; prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0; cap++)
		if (!(data[CAP_TO_INDEX(cap)].permitted & CAP_TO_MASK(cap)) &&
		    prctl(PR_CAPBSET_DROP, cap, 0, 0, 0))
			fail("bounding set");
	for (int i = 0; i < 2; i++)
		data[i].effective = data[i].permitted;
	if (syscall(SYS_capset, &header, data))
		fail("capset");
}

static void drop_to_somebody(void)
{
	if (geteuid() != 0)
		return; /* is one already */
	if (setgroups(0, NULL) || setgid(SOMEBODY) || setuid(SOMEBODY))
		fail("setuid");
}

/* ---- the filter ---- */

static struct sock_filter rules[RULES_MAX];
static unsigned short nrules;

static void rule(uint16_t code, uint32_t k, uint8_t yes, uint8_t no)
{
	rules[nrules++] = (struct sock_filter){code, yes, no, k};
}

static void load(size_t offset)
{
	rule(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0);
}

static void answer(uint32_t value)
{
	rule(BPF_RET | BPF_K, value, 0, 0);
}

static void when(long nr, uint32_t value)
{
	rule(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)nr, 0, 1);
	answer(value);
}

enum {
	ALLOW = SECCOMP_RET_ALLOW,
	REFUSE = SECCOMP_RET_ERRNO | EPERM,
	MISSING = SECCOMP_RET_ERRNO | ENOSYS,
	NAMESPACES = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER |
		     CLONE_NEWPID | CLONE_NEWNET,
};

/* Each of these is reached with the number of the call loaded, and is jumped over by other calls.
 */

static void clone_without_namespaces(void)
{
	rule(BPF_JMP | BPF_JEQ | BPF_K, __NR_clone, 0, 4);
	load(offsetof(struct seccomp_data, args[0]));
	rule(BPF_JMP | BPF_JSET | BPF_K, (uint32_t)NAMESPACES, 0, 1);
	answer(REFUSE);
	answer(ALLOW);
}

static void socket_of_usual_families(void)
{
	rule(BPF_JMP | BPF_JEQ | BPF_K, __NR_socket, 0, 5);
	load(offsetof(struct seccomp_data, args[0]));
	rule(BPF_JMP | BPF_JEQ | BPF_K, AF_ALG, 1, 0);
	rule(BPF_JMP | BPF_JEQ | BPF_K, AF_VSOCK, 0, 1);
	answer(REFUSE);
	answer(ALLOW);
}

/* The five values that the profile lets through. */
static void personality_of_the_profile(void)
{
	static const uint32_t values[] = {0, 8, 0x20000, 0x20008, 0xffffffff};
	const uint8_t n = sizeof(values) / sizeof(values[0]);

	rule(BPF_JMP | BPF_JEQ | BPF_K, __NR_personality, 0, (uint8_t)(n + 3));
	load(offsetof(struct seccomp_data, args[0]));
	for (uint8_t i = 0; i < n; i++)
		rule(BPF_JMP | BPF_JEQ | BPF_K, values[i], (uint8_t)(n - i), 0);
	answer(REFUSE);
	answer(ALLOW);
}

static bool named(const char *list, const char *name)
{
	size_t len = strlen(name);

	while (list && *list) {
		size_t n = strcspn(list, ",");

		if (n == len && !memcmp(list, name, n))
			return true;
		list += n + (list[n] == ',');
	}
	return false;
}

static void build_filter(const char *also)
{
	load(offsetof(struct seccomp_data, arch));
	rule(BPF_JMP | BPF_JEQ | BPF_K, OUR_AUDIT_ARCH, 1, 0);
	answer(MISSING);
	load(offsetof(struct seccomp_data, nr));
	for (int i = 0; i < NCALLS; i++)
		if (calls[i].always || named(also, calls[i].name))
			when(calls[i].nr, REFUSE);
	when(__NR_clone3, MISSING);
	clone_without_namespaces();
	socket_of_usual_families();
	personality_of_the_profile();
	answer(ALLOW);
}

static void check_names(const char *list)
{
	char name[64];

	while (list && *list) {
		size_t n = strcspn(list, ",");
		bool known = false;

		snprintf(name, sizeof(name), "%.*s", (int)n, list);
		for (int i = 0; i < NCALLS; i++)
			known |= !strcmp(name, calls[i].name);
		if (!known) {
			fprintf(stderr, "docker_filter: --deny: '%s' is not in its table\n", name);
			exit(64);
		}
		list += n + (list[n] == ',');
	}
}

int main(int argc, char **argv)
{
	const char *also = NULL;
	bool root = false;
	struct sock_fprog prog;
	int i = 1;

	for (; i < argc && !strncmp(argv[i], "--", 2); i++) {
		if (!strcmp(argv[i], "--root"))
			root = true;
		else if (!strcmp(argv[i], "--deny") && i + 1 < argc)
			also = argv[++i];
		else
			break;
	}
	if (i >= argc || argv[i][0] == '-') {
		fprintf(stderr, "usage: docker_filter [--root] [--deny CALL[,CALL...]] PROGRAM "
				"[ARGUMENT...]\n");
		return 64;
	}
	check_names(also);
	if (root)
		drop_to_default_root();
	else
		drop_to_somebody();
	build_filter(also);
	prog = (struct sock_fprog){nrules, rules};
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog))
		fail("the filter");
	execvp(argv[i], argv + i);
	fail(argv[i]);
}
