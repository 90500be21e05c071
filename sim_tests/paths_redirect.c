// SPDX-License-Identifier: BSD-3-Clause
/* Which paths the hooks show from the private tree. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "emu/paths/paths.h"

#define ROOT "/tmp/t"

/* NULL: the real path is meant. */
struct sample {
	const char *path, *want;
};

static void check(const struct sample *s, size_t n,
		  const char *(*redirect)(int, const char *, char *))
{
	char buf[PATH_MAX];

	paths_set_root(ROOT);
	for (size_t i = 0; i < n; i++) {
		const char *got;

		errno = 4711;
		got = redirect(AT_FDCWD, s[i].path, buf);
		if (!s[i].want)
			cr_assert(got == s[i].path, "%s became %s, expected as it is", s[i].path,
				  got);
		else
			cr_assert(got == buf && !strcmp(got, s[i].want),
				  "%s became %s, expected %s", s[i].path, got, s[i].want);
		cr_assert(errno == 4711, "%s: errno is kept", s[i].path);
	}
}
#define CHECK(s, redirect) check(s, sizeof(s) / sizeof((s)[0]), redirect)

Test(paths_redirect, the_device_s_paths_are_in_the_tree)
{
	static const struct sample s[] = {
		{"/sys/class/infiniband", ROOT "/sys/class/infiniband"},
		{"/sys/class/infiniband/", ROOT "/sys/class/infiniband/"},
		{"/sys/class/infiniband/mlx5_0/device/../x",
		 ROOT "/sys/class/infiniband/mlx5_0/device/../x"},
		{"/sys/class/infiniband_verbs/abi_version",
		 ROOT "/sys/class/infiniband_verbs/abi_version"},
		{"/sys/bus/pci/devices/0000:00:01.0/vendor",
		 ROOT "/sys/bus/pci/devices/0000:00:01.0/vendor"},
		{"/sys/devices/pci0000:c0", ROOT "/sys/devices/pci0000:c0"},
		{"/sys/class/misc/rdma_cm/dev", ROOT "/sys/class/misc/rdma_cm/dev"},
		{"/dev/infiniband/uverbs0", ROOT "/dev/infiniband/uverbs0"},
		{"//sys//./class/infiniband//mlx5_0", ROOT "/sys/class/infiniband//mlx5_0"},
		{"/sys/class/net/../infiniband/mlx5_0", ROOT "/sys/class/infiniband/mlx5_0"},
		{"/../sys/class/infiniband", ROOT "/sys/class/infiniband"},
	};

	CHECK(s, paths_redirect);
	CHECK(s, paths_redirect_list);
}

Test(paths_redirect, everything_else_is_real)
{
	static const struct sample s[] = {
		{"", NULL},
		{"/", NULL},
		{"/sys", NULL},
		{"/sys/class", NULL},
		{"/sys/class/net", NULL},
		{"/sys/class/infiniband_mad", NULL},
		{"/sys/class/misc/kvm", NULL},
		{"/sys/class/infiniband.x", NULL},
		{"/sys/devices/pci0000:c", NULL},
		{"/sys/devices/pci0000:c00", NULL},
		{"/dev", NULL},
		{"/dev/null", NULL},
		{"/dev/infiniband0", NULL},
		{"/tmp/sys/class/infiniband", NULL},
		{"/proc/self/maps", NULL},
		/* What a link leads to is not known from the text. */
		{"/sys/class/net/eth0/device/../../infiniband", NULL},
		{"/sys/class/net/eth0/../../infiniband", NULL},
	};

	CHECK(s, paths_redirect);
}

Test(paths_redirect, directories_above_the_device_are_listed_from_the_tree)
{
	static const struct sample s[] = {
		{"/dev", ROOT "/dev"},
		{"/sys/", ROOT "/sys"},
		{"/sys/class", ROOT "/sys/class"},
		{"/sys/bus/pci", ROOT "/sys/bus/pci"},
		{"/sys/class/infiniband/..", ROOT "/sys/class/infiniband/.."},
		{"/", NULL},
		{"/sys/class/net", NULL},
		{"/sys/classes", NULL},
	};

	CHECK(s, paths_redirect_list);
}

Test(paths_redirect, a_relative_path_is_seen_from_where_it_begins)
{
	static const struct sample from_root[] = {
		{"sys/class/infiniband/mlx5_0", ROOT "/sys/class/infiniband/mlx5_0"},
		{"./dev/infiniband", ROOT "/dev/infiniband"},
		{"class/infiniband", NULL},
		{"tmp", NULL},
	};
	static const struct sample from_class[] = {
		{"infiniband/mlx5_0", ROOT "/sys/class/infiniband/mlx5_0"},
		{"../bus/pci/devices", ROOT "/sys/bus/pci/devices"},
		{"net", NULL},
		{".", NULL},
	};
	char buf[PATH_MAX];
	int fd = open("/sys/class", O_PATH | O_DIRECTORY);

	if (fd < 0)
		cr_skip_test("no /sys/class here");
	cr_assert(!chdir("/"));
	CHECK(from_root, paths_redirect);
	cr_assert_str_eq(paths_redirect(fd, "infiniband", buf), ROOT "/sys/class/infiniband");
	cr_assert(!chdir("/sys/class"));
	CHECK(from_class, paths_redirect);
	cr_assert_str_eq(paths_redirect_list(AT_FDCWD, ".", buf), ROOT "/sys/class");
	close(fd);
}

Test(paths_redirect, what_begins_in_the_tree_stays_there)
{
	char root[] = "/tmp/gdakit-paths-XXXXXX", buf[PATH_MAX];
	const char *path = "infiniband";

	cr_assert(mkdtemp(root) && !chdir(root));
	paths_set_root(root);
	cr_assert(paths_redirect(AT_FDCWD, path, buf) == path);
	cr_assert(!chdir("/"));
	rmdir(root);
}

Test(paths_redirect, a_path_that_does_not_fit_is_left_alone)
{
	char path[PATH_MAX], buf[PATH_MAX];

	paths_set_root(ROOT);
	memset(path, 'x', sizeof(path));
	memcpy(path, "/sys/class/infiniband/", 22);
	path[sizeof(path) - 1] = '\0';
	cr_assert(paths_redirect(AT_FDCWD, path, buf) == path);
	memset(path, '/', 3000);
	memcpy(path + 3000, "sys/class/infiniband", 21);
	cr_assert_str_eq(paths_redirect(AT_FDCWD, path, buf), ROOT "/sys/class/infiniband");
	memset(path, 'x', sizeof(path));
	memcpy(path, "/sys/", 5);
	path[sizeof(path) - 1] = '\0';
	cr_assert(paths_redirect(AT_FDCWD, path, buf) == path);
}

Test(paths_redirect, without_a_tree_nothing_is_redirected)
{
	const char *path = "/sys/class/infiniband";
	char buf[PATH_MAX];

	paths_set_root(NULL);
	cr_assert(paths_redirect(AT_FDCWD, path, buf) == path);
	cr_assert(paths_redirect_list(AT_FDCWD, NULL, buf) == NULL);
}

Test(paths_redirect, paths_of_the_tree_lose_its_root)
{
	static const struct sample s[] = {
		{ROOT "/sys/devices/pci0000:c0", "/sys/devices/pci0000:c0"},
		{ROOT, "/"},
		{ROOT "x/y", ROOT "x/y"},
		{"/tmp", "/tmp"},
		{"/dev/full", "/dev/full"},
	};
	char buf[64], bare[] = {'/', 't', 'm', 'p', '/', 't', '/', 'a', '!'};

	paths_set_root(ROOT);
	for (size_t i = 0; i < sizeof(s) / sizeof(s[0]); i++) {
		strcpy(buf, s[i].path);
		cr_assert_eq(paths_strip(buf, strlen(buf)), strlen(s[i].want));
		cr_assert_str_eq(buf, s[i].want);
	}
	/* readlink() gives no terminator, and what lies behind is not ours. */
	cr_assert_eq(paths_strip(bare, sizeof(bare) - 1), 2);
	cr_assert(!memcmp(bare, "/a", 2) && bare[8] == '!');
}

Test(paths_redirect, the_node_is_a_device_and_its_directory_is_not)
{
	paths_set_root(ROOT);
	cr_assert(paths_is_node(ROOT "/dev/infiniband/uverbs0"));
	cr_assert(!paths_is_node(ROOT "/dev/infiniband/"));
	cr_assert(!paths_is_node(ROOT "/dev/infiniband"));
	cr_assert(!paths_is_node("/dev/infiniband/uverbs0"));
}
