/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The function's own life, as a driver leads it: enable, pages, init, teardown (PRM, initialization
 * of the HCA). The model needs none of the pages that firmware asks for; it asks for a few, so that
 * a driver does what it does on a device, keeps what it gets and gives it back when asked.
 *
 * The order of the commands is the driver's affair and not enforced.
 */
#include <stdlib.h>

#include "emu/nicmodel/cmd.h"

enum {
	NM_PAGES_AT_BOOT = 32,
	NM_PAGES_AT_INIT = 256, /* with those of boot */
	NM_PAGES_MAX = 1 << 16, /* no driver has a reason to give more */
	NM_PAGE_BYTES = 4096,
};

static uint8_t check_function(struct nm_cmd *c)
{
	uint32_t function = PRM_GET(enable_hca_in, c->in, function_id);

	if (!function)
		return PRM_STATUS_OK;
	return nm_cmd_fail(c, PRM_STATUS_BAD_PARAM, NM_SYND_FIELD,
			   "function_id %u; the device has the one function 0", function);
}

uint8_t nm_cmd_enable_hca(struct nm_cmd *c)
{
	return check_function(c);
}

uint8_t nm_cmd_disable_hca(struct nm_cmd *c)
{
	uint8_t status = check_function(c);

	if (!status)
		nm_pages_reset(c->nic);
	return status;
}

uint8_t nm_cmd_init_hca(struct nm_cmd *c)
{
	(void)c;
	return PRM_STATUS_OK;
}

/* Whatever the driver has left ends here, in either profile (graceful or at once). */
uint8_t nm_cmd_teardown_hca(struct nm_cmd *c)
{
	nm_obj_free_owned(c->nic, 0, true);
	nm_caps_reset(c->nic);
	return PRM_STATUS_OK;
}

/* ---- pages ---- */

void nm_pages_reset(struct nm_nic *nic)
{
	free(nic->pages);
	nic->pages = NULL;
	nic->npages = 0;
}

uint8_t nm_cmd_query_pages(struct nm_cmd *c)
{
	uint32_t have = c->nic->npages, want;
	uint8_t status = check_function(c);

	if (status)
		return status;
	switch (c->op_mod) {
	case PRM_PAGES_BOOT:
		want = NM_PAGES_AT_BOOT;
		break;
	case PRM_PAGES_INIT:
		want = NM_PAGES_AT_INIT;
		break;
	case PRM_PAGES_REGULAR:
		want = 0;
		break;
	default:
		return nm_cmd_fail(c, PRM_STATUS_BAD_PARAM, NM_SYND_OP_MOD,
				   "op_mod %u; boot (1), init (2) and regular (3) exist",
				   c->op_mod);
	}
	PRM_SET(query_pages_out, c->out, num_pages, want > have ? want - have : 0);
	return PRM_STATUS_OK;
}

static uint8_t pages_give(struct nm_cmd *c, uint32_t count)
{
	struct nm_nic *nic = c->nic;
	uint64_t room = (c->in_len - PRM_manage_pages_in_pas_OFF) / 8;
	uint64_t *pages;

	if (count > room)
		return nm_cmd_fail(c, PRM_STATUS_BAD_INP_LEN, NM_SYND_PAGES,
				   "%u pages in a mailbox with room for %llu", count,
				   (unsigned long long)room);
	if (count > NM_PAGES_MAX - nic->npages)
		return nm_cmd_fail(c, PRM_STATUS_LIM_ERR, NM_SYND_TABLE_FULL,
				   "%u pages beside the %u that the device has; %d at most", count,
				   nic->npages, NM_PAGES_MAX);
	pages = realloc(nic->pages, (nic->npages + count + 1) * sizeof(*pages));
	if (!pages)
		return nm_cmd_no_memory(c);
	nic->pages = pages;
	for (uint32_t n = 0; n < count; n++) {
		uint64_t page = prm_load64(PRM_CPTR(manage_pages_in, c->in, pas) + 8 * (size_t)n);

		if (page % NM_PAGE_BYTES)
			return nm_cmd_fail(c, PRM_STATUS_BAD_PARAM, NM_SYND_ADDRESS,
					   "page %u is at 0x%llx, which is none of 4096 bytes", n,
					   (unsigned long long)page);
		pages[nic->npages + n] = page;
	}
	nic->npages += count;
	return PRM_STATUS_OK;
}

static void pages_take(struct nm_cmd *c, uint32_t count)
{
	struct nm_nic *nic = c->nic;
	size_t room = (c->out_len - PRM_manage_pages_out_pas_OFF) / 8;

	if (count > room)
		count = (uint32_t)room;
	if (count > nic->npages)
		count = nic->npages;
	for (uint32_t n = 0; n < count; n++)
		prm_store64(PRM_PTR(manage_pages_out, c->out, pas) + 8 * (size_t)n,
			    nic->pages[--nic->npages]);
	PRM_SET(manage_pages_out, c->out, output_num_entries, count);
}

uint8_t nm_cmd_manage_pages(struct nm_cmd *c)
{
	uint32_t count = PRM_GET(manage_pages_in, c->in, input_num_entries);
	uint8_t status = check_function(c);

	if (status)
		return status;
	switch (c->op_mod) {
	case PRM_PAGES_CANNOT_GIVE:
		return PRM_STATUS_OK; /* nothing waits for them */
	case PRM_PAGES_GIVE:
		return pages_give(c, count);
	case PRM_PAGES_TAKE:
		pages_take(c, count);
		return PRM_STATUS_OK;
	default:
		return nm_cmd_fail(c, PRM_STATUS_BAD_PARAM, NM_SYND_OP_MOD,
				   "op_mod %u; cannot give (0), give (1) and take (2) exist",
				   c->op_mod);
	}
}
