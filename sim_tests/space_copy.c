/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "emu/space/space.h"

static struct nm_dma write_of(void *local, void *mem, size_t len)
{
	return (struct nm_dma){
		.purpose = NM_DMA_SCATTER,
		.to_space = true,
		.nsegs = 1,
		.segs = {{(uintptr_t)mem, len}},
		.local = local,
		.len = len,
	};
}

Test(space_copy, it_cannot_be_mapped)
{
	struct nm_space *s = space_copy_create(&(struct space_copy_config){0});
	int x;

	cr_assert_null(s->ops->map(s, (uintptr_t)&x, 4, false));
	space_copy_destroy(s);
}

Test(space_copy, a_transfer_takes_as_many_polls_as_configured)
{
	struct nm_space *s = space_copy_create(
		&(struct space_copy_config){.seed = 3, .min_polls = 5, .max_polls = 5});
	char mem[4] = "old", local[4] = "new";
	struct nm_dma dma = write_of(local, mem, 4);

	cr_assert_eq(s->ops->submit(s, &dma), -EINPROGRESS);
	cr_assert_eq(space_copy_pending(s), 1);
	cr_assert_str_eq(mem, "old");
	for (int i = 0; i < 4; i++)
		cr_assert_eq(s->ops->poll(s, &dma), -EINPROGRESS);
	cr_assert_eq(s->ops->poll(s, &dma), 0);
	cr_assert_str_eq(mem, "new");
	cr_assert_eq(space_copy_pending(s), 0);
	space_copy_destroy(s);
}

Test(space_copy, the_bytes_may_move_before_the_transfer_is_reported_complete)
{
	struct nm_space *s = space_copy_create(
		&(struct space_copy_config){.seed = 1, .min_polls = 6, .max_polls = 6});
	int early = 0;

	for (int n = 0; n < 50; n++) {
		int mem = 0, local = 7;
		struct nm_dma dma = write_of(&local, &mem, sizeof(mem));
		int err = s->ops->submit(s, &dma);

		while (err == -EINPROGRESS) {
			err = s->ops->poll(s, &dma);
			if (err == -EINPROGRESS && mem == 7) {
				early++;
				s->ops->cancel(s, &dma);
				break;
			}
		}
		cr_assert_eq(mem, 7);
	}
	cr_assert_gt(early, 10);
	cr_assert_lt(early, 50);
	cr_assert_eq(space_copy_pending(s), 0);
	space_copy_destroy(s);
}

static uint32_t completion_order(uint32_t seed)
{
	struct nm_space *s = space_copy_create(
		&(struct space_copy_config){.seed = seed, .min_polls = 1, .max_polls = 9});
	struct nm_dma dma[6];
	char mem[6], local[6] = "abcde";
	bool busy[6];
	uint32_t order = 0;

	for (int i = 0; i < 6; i++) {
		dma[i] = write_of(&local[i], &mem[i], 1);
		busy[i] = s->ops->submit(s, &dma[i]) == -EINPROGRESS;
	}
	for (int round = 0; round < 9; round++) {
		for (uint32_t i = 0; i < 6; i++) {
			if (busy[i] && s->ops->poll(s, &dma[i]) == 0) {
				busy[i] = false;
				order = order * 7 + i + 1;
			}
		}
	}
	cr_assert_eq(space_copy_pending(s), 0);
	cr_assert_arr_eq(mem, local, 6);
	space_copy_destroy(s);
	return order;
}

Test(space_copy, the_seed_decides_the_order_and_nothing_else_does)
{
	bool differs = false;

	for (uint32_t seed = 1; seed < 20; seed++) {
		cr_assert_eq(completion_order(seed), completion_order(seed));
		differs |= completion_order(seed) != completion_order(seed + 1);
	}
	cr_assert(differs);
}

Test(space_copy, memory_outside_of_the_range_does_not_exist)
{
	char mem[64], local[64] = {0};
	struct nm_space *s = space_copy_create(&(struct space_copy_config){
		.lo = (uintptr_t)mem + 8, .hi = (uintptr_t)mem + sizeof(mem)});
	struct nm_dma dma = write_of(local, mem + 8, 56);

	cr_assert_eq(s->ops->submit(s, &dma), 0, "no polls are configured");
	dma = write_of(local, mem + 9, 56);
	cr_assert_eq(s->ops->submit(s, &dma), -EFAULT);
	dma = write_of(local, mem + 7, 4);
	cr_assert_eq(s->ops->submit(s, &dma), -EFAULT);
	cr_assert_eq(space_copy_pending(s), 0);
	space_copy_destroy(s);
}

Test(space_copy, a_cancelled_write_never_lands)
{
	struct nm_space *s = space_copy_create(
		&(struct space_copy_config){.seed = 2, .min_polls = 3, .max_polls = 3});
	int mem = 1, local = 2;
	struct nm_dma dma = write_of(&local, &mem, sizeof(mem));

	cr_assert_eq(s->ops->submit(s, &dma), -EINPROGRESS);
	s->ops->cancel(s, &dma);
	cr_assert_eq(mem, 1);
	cr_assert_eq(space_copy_pending(s), 0);
	space_copy_destroy(s);
}

Test(space_copy, impossible_poll_counts_are_refused)
{
	cr_assert_null(
		space_copy_create(&(struct space_copy_config){.min_polls = 2, .max_polls = 1}));
	cr_assert_null(space_copy_create(&(struct space_copy_config){.max_polls = 1 << 20}));
}
