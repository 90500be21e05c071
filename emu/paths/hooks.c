// SPDX-License-Identifier: BSD-3-Clause
/*
 * libgdakit_paths.so, preloaded after libgdakit_uverbs.so by `gdakit run --mode hooks`: functions
 * of libc that take a path, or tell one. Those that only wrap a system call make it themselves;
 * the others call libc's with another path. libc's own calls among themselves do not come by here,
 * so each outer function is wrapped: fopen() as well as open().
 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <glob.h>
#include <linux/netlink.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "emu/paths/paths.h"

#define SHOWN __attribute__((visibility("default")))

/* libc's function of this name. */
#define NEXT(name)                                                                                 \
	({                                                                                         \
		static _Atomic(void *) next_;                                                      \
		(__typeof__(&name))next_function(&next_, #name);                                   \
	})

static void *next_function(_Atomic(void *) *slot, const char *name)
{
	void *f = *slot;

	if (!f) {
		f = dlsym(RTLD_NEXT, name);
		if (!f)
			abort(); /* a libc without it: nobody could have linked it either */
		*slot = f;
	}
	return f;
}

/* ---- opening ---- */

/* A directory that is opened to be read is listed. */
static const char *redirect_open(int dirfd, const char *path, int *flags, char buf[PATH_MAX])
{
	const char *p = *flags & (O_ACCMODE | O_CREAT | O_PATH)
				? paths_redirect(dirfd, path, buf)
				: paths_redirect_list(dirfd, path, buf);

	if (p == buf && paths_is_node(p))
		*flags &= ~O_NOFOLLOW;
	return p;
}

static int open_at(int dirfd, const char *path, int flags, mode_t mode)
{
	char buf[PATH_MAX];

	path = redirect_open(dirfd, path, &flags, buf);
	return NEXT(openat)(dirfd, path, flags, mode);
}

#define MODE_OF(flags)                                                                             \
	({                                                                                         \
		mode_t mode_ = 0;                                                                  \
		if ((flags) & (O_CREAT | __O_TMPFILE)) {                                           \
			va_list ap;                                                                \
			va_start(ap, flags);                                                       \
			mode_ = va_arg(ap, mode_t);                                                \
			va_end(ap);                                                                \
		}                                                                                  \
		mode_;                                                                             \
	})

#define DEFINE_OPEN(name)                                                                          \
	SHOWN int name(const char *path, int flags, ...);                                          \
	int name(const char *path, int flags, ...)                                                 \
	{                                                                                          \
		return open_at(AT_FDCWD, path, flags, MODE_OF(flags));                             \
	}
DEFINE_OPEN(open)
DEFINE_OPEN(open64)
DEFINE_OPEN(__open)
DEFINE_OPEN(__open64)

#define DEFINE_OPENAT(name)                                                                        \
	SHOWN int name(int dirfd, const char *path, int flags, ...);                               \
	int name(int dirfd, const char *path, int flags, ...)                                      \
	{                                                                                          \
		return open_at(dirfd, path, flags, MODE_OF(flags));                                \
	}
DEFINE_OPENAT(openat)
DEFINE_OPENAT(openat64)

/* What _FORTIFY_SOURCE calls where no mode is given. */
#define DEFINE_OPEN_2(name)                                                                        \
	SHOWN int name(const char *path, int flags);                                               \
	int name(const char *path, int flags)                                                      \
	{                                                                                          \
		return open_at(AT_FDCWD, path, flags, 0);                                          \
	}
DEFINE_OPEN_2(__open_2)
DEFINE_OPEN_2(__open64_2)

#define DEFINE_OPENAT_2(name)                                                                      \
	SHOWN int name(int dirfd, const char *path, int flags);                                    \
	int name(int dirfd, const char *path, int flags)                                           \
	{                                                                                          \
		return open_at(dirfd, path, flags, 0);                                             \
	}
DEFINE_OPENAT_2(__openat_2)
DEFINE_OPENAT_2(__openat64_2)

#define DEFINE_CREAT(name)                                                                         \
	SHOWN int name(const char *path, mode_t mode);                                             \
	int name(const char *path, mode_t mode)                                                    \
	{                                                                                          \
		return open_at(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode);                \
	}
DEFINE_CREAT(creat)
DEFINE_CREAT(creat64)

#define DEFINE_FOPEN(name)                                                                         \
	SHOWN FILE *name(const char *path, const char *mode);                                      \
	FILE *name(const char *path, const char *mode)                                             \
	{                                                                                          \
		char buf[PATH_MAX];                                                                \
                                                                                                   \
		return NEXT(name)(paths_redirect(AT_FDCWD, path, buf), mode);                      \
	}
DEFINE_FOPEN(fopen)
DEFINE_FOPEN(fopen64)

#define DEFINE_FREOPEN(name)                                                                       \
	SHOWN FILE *name(const char *path, const char *mode, FILE *f);                             \
	FILE *name(const char *path, const char *mode, FILE *f)                                    \
	{                                                                                          \
		char buf[PATH_MAX];                                                                \
                                                                                                   \
		return NEXT(name)(paths_redirect(AT_FDCWD, path, buf), mode, f);                   \
	}
DEFINE_FREOPEN(freopen)
DEFINE_FREOPEN(freopen64)

/* ---- directories ---- */

SHOWN DIR *opendir(const char *path);
DIR *opendir(const char *path)
{
	char buf[PATH_MAX];

	return NEXT(opendir)(paths_redirect_list(AT_FDCWD, path, buf));
}

#define DEFINE_SCANDIR(name, entry)                                                                \
	SHOWN int name(const char *path, struct entry ***list, int (*keep)(const struct entry *),  \
		       int (*compare)(const struct entry **, const struct entry **));              \
	int name(const char *path, struct entry ***list, int (*keep)(const struct entry *),        \
		 int (*compare)(const struct entry **, const struct entry **))                     \
	{                                                                                          \
		char buf[PATH_MAX];                                                                \
                                                                                                   \
		return NEXT(name)(paths_redirect_list(AT_FDCWD, path, buf), list, keep, compare);  \
	}
DEFINE_SCANDIR(scandir, dirent)
DEFINE_SCANDIR(scandir64, dirent64)

#define DEFINE_SCANDIRAT(name, entry)                                                              \
	SHOWN int name(int dirfd, const char *path, struct entry ***list,                          \
		       int (*keep)(const struct entry *),                                          \
		       int (*compare)(const struct entry **, const struct entry **));              \
	int name(int dirfd, const char *path, struct entry ***list,                                \
		 int (*keep)(const struct entry *),                                                \
		 int (*compare)(const struct entry **, const struct entry **))                     \
	{                                                                                          \
		char buf[PATH_MAX];                                                                \
                                                                                                   \
		return NEXT(name)(dirfd, paths_redirect_list(dirfd, path, buf), list, keep,        \
				  compare);                                                        \
	}
DEFINE_SCANDIRAT(scandirat, dirent)
DEFINE_SCANDIRAT(scandirat64, dirent64)

SHOWN int chdir(const char *path);
int chdir(const char *path)
{
	char buf[PATH_MAX];

	return (int)syscall(SYS_chdir, paths_redirect(AT_FDCWD, path, buf));
}

SHOWN char *getcwd(char *out, size_t size);
char *getcwd(char *out, size_t size)
{
	char buf[PATH_MAX];
	size_t len;

	if (!paths_root())
		return NEXT(getcwd)(out, size);
	if (syscall(SYS_getcwd, buf, sizeof(buf)) < 0)
		return NULL;
	len = paths_strip(buf, strlen(buf));
	if (!out && !size)
		size = len + 1;
	if (len + 1 > size || (!out && !(out = malloc(size)))) {
		errno = !size ? EINVAL : ERANGE;
		return NULL;
	}
	return memcpy(out, buf, len + 1);
}

SHOWN char *__getcwd_chk(char *out, size_t size, size_t room);
char *__getcwd_chk(char *out, size_t size, size_t room)
{
	return getcwd(out, size < room ? size : room);
}

SHOWN char *get_current_dir_name(void);
char *get_current_dir_name(void)
{
	return paths_root() ? getcwd(NULL, 0) : NEXT(get_current_dir_name)();
}

/* ---- what is there ---- */

/* Layouts of the kernel and of libc are the same where `long` has 64 bits. */
_Static_assert(sizeof(struct stat) == sizeof(struct stat64), "one struct stat");

static int stat_at(int dirfd, const char *path, void *st, int flags)
{
	char buf[PATH_MAX];

	path = paths_redirect(dirfd, path, buf);
	if (path == buf && paths_is_node(path))
		flags &= ~AT_SYMLINK_NOFOLLOW;
	return (int)syscall(SYS_newfstatat, dirfd, path, st, flags);
}

#define DEFINE_STAT(name, type, flags)                                                             \
	SHOWN int name(const char *path, struct type *st);                                         \
	int name(const char *path, struct type *st)                                                \
	{                                                                                          \
		return stat_at(AT_FDCWD, path, st, flags);                                         \
	}
DEFINE_STAT(stat, stat, 0)
DEFINE_STAT(stat64, stat64, 0)
DEFINE_STAT(lstat, stat, AT_SYMLINK_NOFOLLOW)
DEFINE_STAT(lstat64, stat64, AT_SYMLINK_NOFOLLOW)

#define DEFINE_FSTATAT(name, type)                                                                 \
	SHOWN int name(int dirfd, const char *path, struct type *st, int flags);                   \
	int name(int dirfd, const char *path, struct type *st, int flags)                          \
	{                                                                                          \
		return stat_at(dirfd, path, st, flags);                                            \
	}
DEFINE_FSTATAT(fstatat, stat)
DEFINE_FSTATAT(fstatat64, stat64)

/* Programs built before glibc 2.33 call these. */
#define DEFINE_XSTAT(name, type, flags)                                                            \
	SHOWN int name(int version, const char *path, struct type *st);                            \
	int name(int version, const char *path, struct type *st)                                   \
	{                                                                                          \
		(void)version;                                                                     \
		return stat_at(AT_FDCWD, path, st, flags);                                         \
	}
DEFINE_XSTAT(__xstat, stat, 0)
DEFINE_XSTAT(__xstat64, stat64, 0)
DEFINE_XSTAT(__lxstat, stat, AT_SYMLINK_NOFOLLOW)
DEFINE_XSTAT(__lxstat64, stat64, AT_SYMLINK_NOFOLLOW)

#define DEFINE_FXSTATAT(name, type)                                                                \
	SHOWN int name(int version, int dirfd, const char *path, struct type *st, int flags);      \
	int name(int version, int dirfd, const char *path, struct type *st, int flags)             \
	{                                                                                          \
		(void)version;                                                                     \
		return stat_at(dirfd, path, st, flags);                                            \
	}
DEFINE_FXSTATAT(__fxstatat, stat)
DEFINE_FXSTATAT(__fxstatat64, stat64)

SHOWN int statx(int dirfd, const char *restrict path, int flags, unsigned int mask,
		struct statx *restrict out);
int statx(int dirfd, const char *restrict path, int flags, unsigned int mask,
	  struct statx *restrict out)
{
	char buf[PATH_MAX];
	const char *p = paths_redirect(dirfd, path, buf);

	if (p == buf && paths_is_node(p))
		flags &= ~AT_SYMLINK_NOFOLLOW;
	return NEXT(statx)(dirfd, p, flags, mask, out);
}

#define DEFINE_ACCESS(name)                                                                        \
	SHOWN int name(const char *path, int mode);                                                \
	int name(const char *path, int mode)                                                       \
	{                                                                                          \
		char buf[PATH_MAX];                                                                \
                                                                                                   \
		return NEXT(name)(paths_redirect(AT_FDCWD, path, buf), mode);                      \
	}
DEFINE_ACCESS(access)
DEFINE_ACCESS(eaccess)
DEFINE_ACCESS(euidaccess)

SHOWN int faccessat(int dirfd, const char *path, int mode, int flags);
int faccessat(int dirfd, const char *path, int mode, int flags)
{
	char buf[PATH_MAX];

	return NEXT(faccessat)(dirfd, paths_redirect(dirfd, path, buf), mode, flags);
}

SHOWN int inotify_add_watch(int fd, const char *path, uint32_t mask);
int inotify_add_watch(int fd, const char *path, uint32_t mask)
{
	char buf[PATH_MAX];

	return (int)syscall(SYS_inotify_add_watch, fd, paths_redirect(AT_FDCWD, path, buf), mask);
}

/* `ls -l` asks for these of each file. */
#define DEFINE_GETXATTR(name)                                                                      \
	SHOWN ssize_t name(const char *path, const char *attr, void *value, size_t size);          \
	ssize_t name(const char *path, const char *attr, void *value, size_t size)                 \
	{                                                                                          \
		char buf[PATH_MAX];                                                                \
                                                                                                   \
		return NEXT(name)(paths_redirect(AT_FDCWD, path, buf), attr, value, size);         \
	}
DEFINE_GETXATTR(getxattr)
DEFINE_GETXATTR(lgetxattr)

#define DEFINE_LISTXATTR(name)                                                                     \
	SHOWN ssize_t name(const char *path, char *list, size_t size);                             \
	ssize_t name(const char *path, char *list, size_t size)                                    \
	{                                                                                          \
		char buf[PATH_MAX];                                                                \
                                                                                                   \
		return NEXT(name)(paths_redirect(AT_FDCWD, path, buf), list, size);                \
	}
DEFINE_LISTXATTR(listxattr)
DEFINE_LISTXATTR(llistxattr)

/* ---- links ---- */

static ssize_t readlink_at(int dirfd, const char *path, char *out, size_t size)
{
	char buf[PATH_MAX];
	const char *p = paths_redirect(dirfd, path, buf);
	ssize_t n;

	if (p == buf && paths_is_node(p)) {
		errno = EINVAL; /* a device */
		return -1;
	}
	n = syscall(SYS_readlinkat, dirfd, p, out, size);
	return n > 0 ? (ssize_t)paths_strip(out, (size_t)n) : n;
}

SHOWN ssize_t readlink(const char *restrict path, char *restrict out, size_t size);
ssize_t readlink(const char *restrict path, char *restrict out, size_t size)
{
	return readlink_at(AT_FDCWD, path, out, size);
}

SHOWN ssize_t readlinkat(int dirfd, const char *restrict path, char *restrict out, size_t size);
ssize_t readlinkat(int dirfd, const char *restrict path, char *restrict out, size_t size)
{
	return readlink_at(dirfd, path, out, size);
}

SHOWN ssize_t __readlink_chk(const char *path, char *out, size_t size, size_t room);
ssize_t __readlink_chk(const char *path, char *out, size_t size, size_t room)
{
	return readlink_at(AT_FDCWD, path, out, size < room ? size : room);
}

SHOWN ssize_t __readlinkat_chk(int dirfd, const char *path, char *out, size_t size, size_t room);
ssize_t __readlinkat_chk(int dirfd, const char *path, char *out, size_t size, size_t room)
{
	return readlink_at(dirfd, path, out, size < room ? size : room);
}

SHOWN char *realpath(const char *restrict path, char *restrict out);
char *realpath(const char *restrict path, char *restrict out)
{
	char buf[PATH_MAX];
	const char *p = paths_redirect(AT_FDCWD, path, buf);
	char *result = NEXT(realpath)(p, out);

	if (!result)
		return NULL;
	if (p == buf &&
	    paths_is_node(p)) { /* not what it stands for; and shorter than the tree's */
		paths_strip(buf, strlen(buf));
		if (out)
			return strcpy(out, buf);
		free(result);
		return strdup(buf);
	}
	paths_strip(result, strlen(result));
	return result;
}

SHOWN char *__realpath_chk(const char *path, char *out, size_t room);
char *__realpath_chk(const char *path, char *out, size_t room)
{
	(void)room; /* PATH_MAX, or the compiler has complained */
	return realpath(path, out);
}

SHOWN char *canonicalize_file_name(const char *path);
char *canonicalize_file_name(const char *path)
{
	return realpath(path, NULL);
}

/* ---- walks ---- */

static void *glob_opendir(const char *path)
{
	return opendir(path);
}

static struct dirent *glob_readdir(void *dir)
{
	return readdir(dir);
}

static void glob_closedir(void *dir)
{
	closedir(dir);
}

/* glob() lets its caller say how directories are read. A caller that does so is left alone. */
#define DEFINE_GLOB(name, type)                                                                    \
	SHOWN int name(const char *restrict pattern, int flags, int (*error)(const char *, int),   \
		       type *restrict found);                                                      \
	int name(const char *restrict pattern, int flags, int (*error)(const char *, int),         \
		 type *restrict found)                                                             \
	{                                                                                          \
		int ret;                                                                           \
                                                                                                   \
		if (!paths_root() || flags & GLOB_ALTDIRFUNC)                                      \
			return NEXT(name)(pattern, flags, error, found);                           \
		found->gl_opendir = glob_opendir;                                                  \
		found->gl_readdir = (void *)glob_readdir;                                          \
		found->gl_closedir = glob_closedir;                                                \
		found->gl_stat = (void *)stat;                                                     \
		found->gl_lstat = (void *)lstat;                                                   \
		ret = NEXT(name)(pattern, flags | GLOB_ALTDIRFUNC, error, found);                  \
		found->gl_flags &= ~GLOB_ALTDIRFUNC;                                               \
		return ret;                                                                        \
	}
DEFINE_GLOB(glob, glob_t)
DEFINE_GLOB(glob64, glob64_t)

/* A tree walk reports paths of the tree, which the callback must not see. */
static __thread struct {
	void *callback;
	size_t skip; /* bytes of the root */
} ftw_state;

#define DEFINE_FTW(name, type)                                                                     \
	static int name##_step(const char *path, const struct type *st, int kind)                  \
	{                                                                                          \
		int (*fn)(const char *, const struct type *, int) = ftw_state.callback;            \
                                                                                                   \
		return fn(path + ftw_state.skip, st, kind);                                        \
	}                                                                                          \
	SHOWN int name(const char *path, int (*fn)(const char *, const struct type *, int),        \
		       int fds);                                                                   \
	int name(const char *path, int (*fn)(const char *, const struct type *, int), int fds)     \
	{                                                                                          \
		__typeof__(ftw_state) outer = ftw_state;                                           \
		char buf[PATH_MAX];                                                                \
		const char *p = paths_redirect_list(AT_FDCWD, path, buf);                          \
		int ret;                                                                           \
                                                                                                   \
		ftw_state.callback = fn;                                                           \
		ftw_state.skip = p == buf ? strlen(paths_root()) : 0;                              \
		ret = NEXT(name)(p, name##_step, fds);                                             \
		ftw_state = outer;                                                                 \
		return ret;                                                                        \
	}
DEFINE_FTW(ftw, stat)
DEFINE_FTW(ftw64, stat64)

#define DEFINE_NFTW(name, type)                                                                    \
	static int name##_step(const char *path, const struct type *st, int kind, struct FTW *ftw) \
	{                                                                                          \
		int (*fn)(const char *, const struct type *, int, struct FTW *) =                  \
			ftw_state.callback;                                                        \
		struct FTW shown = *ftw;                                                           \
                                                                                                   \
		shown.base -= (int)ftw_state.skip;                                                 \
		return fn(path + ftw_state.skip, st, kind, &shown);                                \
	}                                                                                          \
	SHOWN int name(const char *path,                                                           \
		       int (*fn)(const char *, const struct type *, int, struct FTW *), int fds,   \
		       int flags);                                                                 \
	int name(const char *path,                                                                 \
		 int (*fn)(const char *, const struct type *, int, struct FTW *), int fds,         \
		 int flags)                                                                        \
	{                                                                                          \
		__typeof__(ftw_state) outer = ftw_state;                                           \
		char buf[PATH_MAX];                                                                \
		const char *p = paths_redirect_list(AT_FDCWD, path, buf);                          \
		int ret;                                                                           \
                                                                                                   \
		ftw_state.callback = fn;                                                           \
		ftw_state.skip = p == buf ? strlen(paths_root()) : 0;                              \
		ret = NEXT(name)(p, name##_step, fds, flags);                                      \
		ftw_state = outer;                                                                 \
		return ret;                                                                        \
	}
DEFINE_NFTW(nftw, stat)
DEFINE_NFTW(nftw64, stat64)

/* ---- netlink ---- */

/* libibverbs asks the kernel's RDMA stack first, and looks into sysfs only where there is none. */
SHOWN int socket(int domain, int type, int protocol);
int socket(int domain, int type, int protocol)
{
	if (domain == AF_NETLINK && protocol == NETLINK_RDMA && paths_root()) {
		errno = EPROTONOSUPPORT;
		return -1;
	}
	return (int)syscall(SYS_socket, domain, type, protocol);
}
