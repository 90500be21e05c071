// SPDX-License-Identifier: BSD-3-Clause
/* A guest's memory as a space: ranges come as files, go, and come back at the same place. */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "emu/space/space.h"

enum { PAGE = 4096, FILE_PAGES = 8 };

static struct nm_space *g;
static int fd = -1;

static void setup(void)
{
	g = space_guest_create();
	fd = memfd_create("guest", MFD_CLOEXEC);
	cr_assert(g && fd >= 0 && ftruncate(fd, FILE_PAGES * PAGE) == 0);
}

static void teardown(void)
{
	space_guest_destroy(g);
	close(fd);
}

TestSuite(space_guest, .init = setup, .fini = teardown);

static int read_at(uint64_t addr, void *to, uint64_t len)
{
	struct nm_dma dma = {.nsegs = 1, .segs = {{addr, len}}, .local = to, .len = len};

	return g->ops->submit(g, &dma);
}

Test(space_guest, addresses_are_the_guests)
{
	char hello[] = "hello", got[sizeof(hello)] = "";

	cr_assert_eq(space_guest_map(g, 0x100000, 2 * PAGE, fd, PAGE, true), 0);
	cr_assert_eq(pwrite(fd, hello, sizeof(hello), PAGE + 16), sizeof(hello));
	cr_assert_eq(read_at(0x100010, got, sizeof(got)), 0);
	cr_assert_str_eq(got, hello);
	cr_assert_eq(space_guest_copy(g, 0x100100, hello, sizeof(hello), true), 0);
	cr_assert_eq(pread(fd, got, sizeof(got), PAGE + 0x100), sizeof(got));
	cr_assert_str_eq(got, hello);
}

Test(space_guest, a_range_that_comes_back_has_its_old_place)
{
	uint8_t *before, byte = 7;

	cr_assert_eq(space_guest_map(g, 0, PAGE, fd, 0, true), 0);
	before = g->ops->map(g, 0, PAGE, true);
	cr_assert_eq(space_guest_unmap(g, 0, PAGE), 0);
	cr_assert_eq(g->ops->copy(&byte, before, 1), -EFAULT, "gone, and no other memory");
	cr_assert_eq(space_guest_map(g, 0, 2 * PAGE, fd, 2 * PAGE, true), 0);
	cr_assert_eq(g->ops->map(g, 0, PAGE, true), before);
	cr_assert_eq(g->ops->copy(before, &byte, 1), 0);
	cr_assert_eq(pread(fd, &byte, 1, 2 * PAGE), 1);
	cr_assert_eq(byte, 7);
}

Test(space_guest, what_is_not_mapped_is_a_fault)
{
	uint8_t bytes[2 * PAGE];

	cr_assert_eq(space_guest_map(g, PAGE, PAGE, fd, 0, true), 0);
	cr_assert_eq(read_at(2 * PAGE - 1, bytes, 1), 0);
	cr_assert_eq(read_at(2 * PAGE - 1, bytes, 2), -EFAULT);
	cr_assert_eq(read_at(SPACE_GUEST_BYTES - 1, bytes, 1), -EFAULT);
	cr_assert_eq(read_at(SPACE_GUEST_BYTES, bytes, 1), -EFAULT);
	cr_assert_eq(read_at(UINT64_MAX, bytes, 1), -EFAULT);
	cr_assert_eq(space_guest_copy(g, UINT64_MAX - 1, bytes, 2, false), -EFAULT);
	cr_assert_null(g->ops->map(g, SPACE_GUEST_BYTES - 1, 2, false));
	cr_assert_null(g->ops->map(g, UINT64_MAX, 1, false));
	cr_assert_null(g->ops->map(g, 0, UINT64_MAX, false));
}

Test(space_guest, a_range_without_a_file_has_no_bytes)
{
	uint8_t byte;

	cr_assert_eq(space_guest_map(g, 0xf0000000, PAGE, -1, 0, true), 0);
	cr_assert_eq(read_at(0xf0000000, &byte, 1), -EFAULT);
	cr_assert_eq(space_guest_map(g, 0xf0000000, PAGE, fd, 0, true), -EEXIST);
	cr_assert_eq(space_guest_map(g, UINT64_C(1) << 60, PAGE, -1, 0, true), 0,
		     "a BAR may lie anywhere");
	cr_assert_eq(space_guest_unmap(g, 0xf0000000, PAGE), 0);
}

Test(space_guest, a_range_that_only_reads_is_not_written)
{
	uint8_t byte = 1;

	cr_assert_eq(space_guest_map(g, 0, PAGE, fd, 0, false), 0);
	cr_assert_eq(space_guest_copy(g, 0, &byte, 1, false), 0);
	cr_assert_eq(space_guest_copy(g, 0, &byte, 1, true), -EFAULT);
}

Test(space_guest, wrong_ranges_are_refused)
{
	cr_assert_eq(space_guest_map(g, 0, 0, fd, 0, true), -EINVAL);
	cr_assert_eq(space_guest_map(g, 1, PAGE, fd, 0, true), -EINVAL);
	cr_assert_eq(space_guest_map(g, 0, PAGE + 1, fd, 0, true), -EINVAL);
	cr_assert_eq(space_guest_map(g, 0, PAGE, fd, 1, true), -EINVAL);
	cr_assert_eq(space_guest_map(g, 0, PAGE, fd, FILE_PAGES * PAGE, true), -EINVAL,
		     "the file ends there");
	cr_assert_eq(space_guest_map(g, 0, PAGE, fd, UINT64_MAX - PAGE + 1, true), -EINVAL);
	cr_assert_eq(space_guest_map(g, UINT64_MAX - PAGE + 1, 2 * PAGE, -1, 0, true), -EINVAL);
	cr_assert_eq(space_guest_map(g, SPACE_GUEST_BYTES, PAGE, fd, 0, true), -ENOSPC);
	cr_assert_eq(space_guest_map(g, 0, 2 * PAGE, fd, 0, true), 0);
	cr_assert_eq(space_guest_map(g, PAGE, PAGE, fd, 0, true), -EEXIST);
	cr_assert_eq(space_guest_unmap(g, 0, PAGE), -ENOENT, "not exactly that range");
	cr_assert_eq(space_guest_unmap(g, 0, 2 * PAGE), 0);
	cr_assert_eq(space_guest_unmap(g, 0, 2 * PAGE), -ENOENT);
}

Test(space_guest, there_are_only_so_many_ranges)
{
	for (uint64_t i = 0; i < SPACE_GUEST_RANGES; i++)
		cr_assert_eq(space_guest_map(g, i * PAGE, PAGE, -1, 0, true), 0);
	cr_assert_eq(space_guest_map(g, UINT64_C(1) << 30, PAGE, -1, 0, true), -ENOSPC);
	space_guest_unmap_all(g);
	cr_assert_eq(space_guest_map(g, UINT64_C(1) << 30, PAGE, fd, 0, true), 0);
}
