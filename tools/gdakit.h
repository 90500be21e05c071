/* SPDX-License-Identifier: BSD-3-Clause */
/* The gdakit command: what its files offer each other. One thread. */
#ifndef GDAKIT_TOOLS_GDAKIT_H
#define GDAKIT_TOOLS_GDAKIT_H

#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "emu/uverbs/identity.h"

enum exit_code {
	EXIT_USAGE = 64,    /* EX_USAGE */
	EXIT_FOUND = 99,    /* --check: a rule fired */
	EXIT_REFUSED = 125, /* gdakit itself could not do it; as env(1) and docker(1) */
	EXIT_NO_EXEC = 126,
	EXIT_NOT_FOUND = 127,
};

/* "gdakit: ..." on stderr. */
void complain(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* The limit of the stack that gdakit was started with, which is the program's (main.c). */
extern struct rlimit stack_given;

/* ---- a guest (qemu.c) ---- */

int main_qemu(int argc, char **argv);

/* ---- the simulated host (claim.c) ---- */

/*
 * Takes `nics` (1 to UV_MAX_NICS) consecutive address blocks and says the first: `name` NULL: the
 * first free ones; a number; "127.a.b"; or a name, which always means the same block. Descriptors
 * keep them, and are inherited. 0; -1: said why.
 */
int claim_host(const char *name, unsigned int nics, struct uv_identity *id);
/* NULL if claim_host() can take `name` (not NULL), else what is expected instead. */
const char *claim_expects(const char *name);

/* ---- what the program sees (sysfs_tree.c, ns.c) ---- */

struct view {
	struct uv_identity id; /* of the first NIC */
	unsigned int nics;
	bool ethernet;
	const struct uv_model *model;
};

/* Writes the files below `root`: class/..., bus/..., devices/... 0 or -1, said. */
int sysfs_tree_write(const char *root, const struct view *view);
/*
 * The directories of the tree that processes write to: number `which` of them, below the root;
 * false: there is none.
 */
bool sysfs_tree_live(const struct view *view, unsigned int which, char path[PATH_MAX]);
enum { VIEW_WHY_MAX = 256 };
/*
 * Gives the calling process its own view of /sys and /dev, with the devices in it, and refuses RDMA
 * netlink. `scratch` is a directory to mount on meanwhile. 0, or -1 and the reason in `why`.
 */
int view_enter(const char *scratch, const struct view *view, char why[VIEW_WHY_MAX]);
/* The steps, for the doctor: 0, or -1 with errno and nothing said. */
int view_new_namespace(void);
/* `promise`: also where the filter needs PR_SET_NO_NEW_PRIVS. */
int view_refuse_netlink(bool promise);
int view_overlay(const char *lower, const char *target);

/* ---- the same without namespaces (tree.c) ---- */

/*
 * Makes the private tree that the path hooks show: its path in `root`, and a descriptor that keeps
 * it and is inherited; or -1, said. Trees that nobody uses any more are removed on the way.
 */
int tree_create(char root[PATH_MAX], const struct view *view);
/* Closes the descriptor; removes the tree unless descendants still hold it. */
void tree_remove(const char *root, int lock);
/* A gdakit inside `gdakit run --mode hooks` starts again without the hooks, and sees the real /sys
 * and /dev. Returns where there is nothing to leave. */
void tree_leave(char **argv);

/* ---- run.c ---- */

enum run_mode { MODE_AUTO, MODE_NAMESPACE, MODE_HOOKS };

enum { FABRIC_MAX = 48 }; /* bytes of a fabric's name, with the 0 */

struct run_options {
	bool verbose;
	bool ethernet;
	unsigned int nics;
	const struct uv_model *nic; /* which ConnectX */
	enum run_mode mode;
	const char *host;	    /* NULL: any */
	const char *wire;	    /* "auto", "shm", "udp" or "local" */
	const char *fabric;	    /* who has the same shares memory */
	const char *record, *pcap;  /* patterns of file names, or NULL */
	const char *record_payload; /* bytes of each packet, a number; NULL: the default */
	bool check;
	const char *check_json, *check_junit; /* files, or NULL */
	int check_exit;			      /* exit code if a rule fired */
	char **argv;			      /* program and its arguments, NULL terminated */
};

/* Exit code of the program, 128 + signal, or enum exit_code. */
int run_program(const struct run_options *options);
enum preload { PRELOAD_UVERBS, PRELOAD_PATHS };
/* Path of a preload library, or false: said where it was looked for (unless quiet). */
bool find_preload(enum preload which, char path[PATH_MAX], bool quiet);

/* ---- attend.c ---- */

/* The signals that are the program's, or are about it: blocked until attend(). */
void attend_signals(sigset_t *signals);
/*
 * Waits for the child `pid`, with `signals` blocked. Signals that somebody sent to us are for it;
 * those of the terminal reach it anyway, since it is in our process group. While it is stopped, so
 * are we. Returns its exit code, or 128 + signal.
 */
int attend(pid_t pid, const sigset_t *signals);

/* ---- observe.c ---- */

/* Puts --record and --pcap into the environment, and makes room for their files. 0 or -1, said. */
int observe_prepare(const struct run_options *options);
/* After the run: takes away, with a word, what nobody wrote to. */
void observe_finish(void);

/* ---- check.c ---- */

/* Puts --check into the environment. 0 or -1, said. */
int check_prepare(const struct run_options *options);
/* After the run, whose exit code was `code`: writes what was found to the files that were asked
 * for, and says how much it is. The exit code of gdakit. */
int check_finish(const struct run_options *options, int code);

/* ---- show.c, stat.c ---- */

int main_show(int argc, char **argv);
int main_trace_diff(int argc, char **argv);
int main_stat(int argc, char **argv);

/* 0: `gdakit run` can work on this machine; 1: not, said what is missing. */
int doctor(void);

#endif
