// SPDX-License-Identifier: BSD-3-Clause
/*
 * The function as a driver meets it: configuration space, initialization segment, command queue,
 * events and doorbells, through the vfio-user protocol and memory of the client; and what becomes
 * of a driver that means no good.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <linux/pci_regs.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "emu/qemu/cmdq.h"
#include "emu/nicmodel/cq.h"
#include "emu/nicmodel/nm_obj.h"
#include "emu/qemu/hca.h"
#include "emu/world/world.h"
#include "prm/prm.h"
#include "sim_tests/qemu_client.h"

enum {
	BAR = VFIO_PCI_BAR0_REGION_INDEX,
	CONFIG = VFIO_PCI_CONFIG_REGION_INDEX,
	PAGE = 4096,
	PAGES = 64,
	/* pages of the memory */
	CMDQ = 0,
	IN_BLOCKS = 1,
	OUT_BLOCKS = 9,
	EQ_RING = 17,
	CQ_RING = 18,
	CQ_RECORD = 19,
	BLOCK = 1024, /* from one mailbox block to the next */
	BLOCK_NEXT = 560,
	BLOCK_NUMBER = 568,
	BLOCK_TOKEN = 573,
	BLOCKS = 8 * PAGE / BLOCK,
	TOKEN = 0x5a,
};
#define MEMORY UINT64_C(0x100000)

static struct world *world;
static struct hca *hca;
static struct client c;
static uint8_t *memory;
static int memory_fd;
static uint8_t in[BLOCKS * 512], out[BLOCKS * 512];

static uint64_t page_addr(unsigned int page)
{
	return MEMORY + (uint64_t)page * PAGE;
}

static uint8_t *page_ptr(unsigned int page)
{
	return memory + (size_t)page * PAGE;
}

static void write4(uint64_t off, uint32_t value)
{
	uint8_t be[4];

	prm_store32(be, value);
	cr_assert_eq(client_write(&c, BAR, off, be, 4), 0);
}

static uint32_t read4(uint64_t off)
{
	uint8_t be[4];

	cr_assert_eq(client_read(&c, BAR, off, be, 4), 0);
	return prm_load32(be);
}

static void write8(uint64_t off, uint64_t value)
{
	uint8_t be[8];

	prm_store64(be, value);
	cr_assert_eq(client_write(&c, BAR, off, be, 8), 0);
}

static void set_queue(void)
{
	write4(0x10, 0);
	write4(0x14, (uint32_t)page_addr(CMDQ));
}

static void setup(void)
{
	const struct world_config config = {.wire = WORLD_WIRE_LOCAL};
	struct hca_config h = {0};
	const char *why = "";

	world = world_create(&config, &why);
	cr_assert(world, "%s", why);
	h.world = world;
	hca = hca_create(&h, &why);
	cr_assert(hca, "%s", why);
	memory_fd = memfd_create("guest", MFD_CLOEXEC);
	cr_assert_eq(ftruncate(memory_fd, PAGES * PAGE), 0);
	memory = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, memory_fd, 0);
	client_open(&c, hca_server(hca));
	client_greet(&c);
	cr_assert_eq(client_map(&c, MEMORY, PAGES * PAGE, memory_fd, 0, 3), 0);
	set_queue();
}

static void teardown(void)
{
	client_close(&c);
	hca_stop(hca);
	world_destroy(world);
	hca_destroy(hca);
	munmap(memory, PAGES * PAGE);
	close(memory_fd);
}

TestSuite(qemu_hca, .init = setup, .fini = teardown);

/* ---- a driver's command queue ---- */

static void put_blocks(unsigned int first_page, const uint8_t *data, size_t len)
{
	for (uint32_t n = 0; n * 512 < len; n++) {
		uint8_t *block = page_ptr(first_page) + (size_t)n * BLOCK;
		size_t left = len - (size_t)n * 512;

		memset(block, 0, BLOCK);
		if (data)
			memcpy(block, data + (size_t)n * 512, left < 512 ? left : 512);
		prm_store64(block + BLOCK_NEXT, page_addr(first_page) + (n + 1) * (uint64_t)BLOCK);
		prm_store32(block + BLOCK_NUMBER, n);
		block[BLOCK_TOKEN] = TOKEN;
	}
}

static uint8_t *entry_of(unsigned int slot)
{
	return page_ptr(CMDQ) + (size_t)slot * CMDQ_ENTRY_BYTES;
}

static void sign(uint8_t *entry)
{
	uint8_t x = 0;

	entry[0x3d] = 0;
	for (int i = 0; i < CMDQ_ENTRY_BYTES; i++)
		x ^= entry[i];
	entry[0x3d] = (uint8_t)~x;
}

/* in[] into slot `slot` with its mailboxes; not rung. */
static uint8_t *prepare(unsigned int slot, size_t in_len, size_t out_len)
{
	uint8_t *entry = entry_of(slot);

	memset(entry, 0, CMDQ_ENTRY_BYTES);
	entry[0] = 7;
	prm_store32(entry + 0x04, (uint32_t)in_len);
	prm_store64(entry + 0x08, page_addr(IN_BLOCKS));
	memcpy(entry + 0x10, in, 16);
	prm_store64(entry + 0x30, page_addr(OUT_BLOCKS));
	prm_store32(entry + 0x38, (uint32_t)out_len);
	entry[0x3c] = TOKEN;
	entry[0x3f] = 1;
	sign(entry);
	if (in_len > 16)
		put_blocks(IN_BLOCKS, in + 16, in_len - 16);
	if (out_len > 16)
		put_blocks(OUT_BLOCKS, NULL, out_len - 16);
	return entry;
}

/* The delivery status, with the answer in out[]. */
static uint8_t ring(unsigned int slot, size_t out_len)
{
	const uint8_t *entry = entry_of(slot);

	write4(0x18, UINT32_C(1) << slot);
	cr_assert_eq(entry[0x3f] & 1, 0, "the entry is the driver's again");
	memcpy(out, entry + 0x20, 16);
	for (size_t n = 0; 16 + n * 512 < out_len; n++)
		memcpy(out + 16 + n * 512, page_ptr(OUT_BLOCKS) + n * BLOCK, 512);
	return entry[0x3f] >> 1;
}

/* The command's status; delivery must succeed. */
static uint8_t command(size_t in_len, size_t out_len)
{
	prepare(0, in_len, out_len);
	cr_assert_eq(ring(0, out_len), PRM_DELIVERY_OK);
	return (uint8_t)PRM_GET(cmd_out, out, status);
}

static void begin(uint16_t opcode, uint16_t op_mod)
{
	memset(in, 0, sizeof(in));
	PRM_SET(cmd_in, in, opcode, opcode);
	PRM_SET(cmd_in, in, op_mod, op_mod);
}

static uint32_t alloc(uint16_t opcode)
{
	begin(opcode, 0);
	cr_assert_eq(command(16, 16), PRM_STATUS_OK);
	return PRM_GET(obj_out, out, number);
}

/* ---- PCI ---- */

Test(qemu_hca, configuration_space_is_a_connectx)
{
	uint8_t config[256];
	uint32_t all = UINT32_MAX, bar = 0;

	cr_assert_eq(client_read(&c, CONFIG, 0, config, 64), 0);
	cr_assert_eq(config[0] | config[1] << 8, 0x15b3);
	cr_assert_eq(config[2] | config[3] << 8, 0x1021);
	cr_assert_eq(client_write(&c, CONFIG, PCI_BASE_ADDRESS_0, &all, 4), 0);
	cr_assert_eq(client_read(&c, CONFIG, PCI_BASE_ADDRESS_0, &bar, 4), 0);
	cr_assert_eq(bar, (uint32_t) ~(HCA_BAR_BYTES - 1) | 0xc, "64 bits, prefetchable, its size");
	cr_assert_eq(client_write(&c, CONFIG, 0, &all, 4), 0);
	cr_assert_eq(client_read(&c, CONFIG, 0, &bar, 4), 0);
	cr_assert_eq(bar, 0x102115b3, "what is read only stays");
	cr_assert_eq(client_read(&c, CONFIG, 4092, &bar, 4), 0);
	cr_assert_eq(client_read(&c, CONFIG, 4093, &bar, 4), EINVAL);
}

Test(qemu_hca, a_function_level_reset_ends_all_objects)
{
	uint16_t flr = PCI_EXP_DEVCTL_BCR_FLR;
	uint32_t pd = alloc(PRM_CMD_ALLOC_PD);

	cr_assert_eq(client_write(&c, CONFIG, 0x60 + PCI_EXP_DEVCTL, &flr, 2), 0);
	cr_assert_eq(read4(0x14) & 0xfffff000, 0, "the queue is forgotten");
	write4(0x18, 1);
	set_queue();
	begin(PRM_CMD_DEALLOC_PD, 0);
	PRM_SET(obj_in, in, number, pd);
	cr_assert_eq(command(16, 16), PRM_STATUS_BAD_RES);
}

/* ---- the initialization segment ---- */

Test(qemu_hca, the_initialization_segment_is_ready)
{
	uint32_t first = read4(0x1004);

	cr_assert_eq(read4(0x00) & 0xffff, 28);
	cr_assert_eq(read4(0x04) >> 16, 5);
	cr_assert_eq(read4(0x14) & 0xff, 5 << 4 | 6);
	cr_assert_eq(read4(0x1fc) >> 31, 0, "not initializing");
	cr_assert_eq(read4(0x23c), 0, "healthy");
	cr_assert_neq(read4(0x230), UINT32_MAX);
	cr_assert_neq(read4(0x1004), first, "the clock runs");
	cr_assert_eq(read4(0x100000), 0, "a UAR page reads as nothing");
	cr_assert_eq(read4(HCA_BAR_BYTES - 4), 0);
}

Test(qemu_hca, the_health_counter_moves)
{
	uint32_t first = read4(0x1010);

	for (int n = 0; n < 2000 && read4(0x1010) == first; n++)
		usleep(1000);
	cr_assert_neq(read4(0x1010), first);
}

Test(qemu_hca, the_driver_sets_the_state_of_the_interface)
{
	uint32_t pd = alloc(PRM_CMD_ALLOC_PD);

	write4(0x14, read4(0x14) | 7 << 8);
	cr_assert_eq(read4(0x14) >> 8 & 7, 1, "after a software reset it is disabled");
	prepare(0, 16, 16);
	write4(0x18, 1);
	cr_assert_eq(entry_of(0)[0x3f], 1, "no command is executed");
	set_queue();
	begin(PRM_CMD_DEALLOC_PD, 0);
	PRM_SET(obj_in, in, number, pd);
	cr_assert_eq(command(16, 16), PRM_STATUS_BAD_RES);
}

/* ---- commands ---- */

Test(qemu_hca, a_command_without_mailboxes)
{
	begin(PRM_CMD_ENABLE_HCA, 0);
	prepare(3, 16, 12);
	cr_assert_eq(ring(3, 12), PRM_DELIVERY_OK);
	cr_assert_eq(PRM_GET(cmd_out, out, status), PRM_STATUS_OK);
}

Test(qemu_hca, a_command_with_chains_of_blocks)
{
	enum { GIVE = 600 };

	begin(PRM_CMD_MANAGE_PAGES, PRM_PAGES_GIVE);
	PRM_SET(manage_pages_in, in, input_num_entries, GIVE);
	for (unsigned int i = 0; i < GIVE; i++)
		prm_store64(in + 16 + 8 * (size_t)i, (uint64_t)(i + 1) << 12);
	cr_assert_eq(command(16 + 8 * GIVE, 16), PRM_STATUS_OK);
	begin(PRM_CMD_MANAGE_PAGES, PRM_PAGES_TAKE);
	PRM_SET(manage_pages_in, in, input_num_entries, GIVE + 1);
	cr_assert_eq(command(16, 16 + 8 * GIVE), PRM_STATUS_OK);
	cr_assert_eq(PRM_GET(manage_pages_out, out, output_num_entries), GIVE);
	for (unsigned int i = 0; i < GIVE; i++)
		cr_assert_eq(prm_load64(out + 16 + 8 * (size_t)i), (uint64_t)(GIVE - i) << 12);
}

Test(qemu_hca, several_commands_with_one_ring)
{
	begin(PRM_CMD_ALLOC_PD, 0);
	prepare(1, 16, 16);
	prepare(31, 16, 16);
	write4(0x18, 1u << 1 | 1u << 31);
	cr_assert_eq(entry_of(1)[0x3f], 0);
	cr_assert_eq(entry_of(31)[0x3f], 0);
	cr_assert_neq(PRM_GET(obj_out, entry_of(1) + 0x20, number),
		      PRM_GET(obj_out, entry_of(31) + 0x20, number));
}

Test(qemu_hca, an_answer_is_signed)
{
	uint8_t x = 0;

	begin(PRM_CMD_QUERY_HCA_CAP, 0);
	cr_assert_eq(command(16, 16 + 256), PRM_STATUS_OK);
	for (int i = 0; i < 576; i++)
		x ^= page_ptr(OUT_BLOCKS)[i];
	cr_assert_eq(x, 0xff);
	x = 0;
	for (int i = 0; i < CMDQ_ENTRY_BYTES; i++)
		x ^= entry_of(0)[i];
	cr_assert_eq(x, 0xff);
}

Test(qemu_hca, an_entry_that_is_the_drivers_is_left_alone)
{
	uint8_t before[CMDQ_ENTRY_BYTES];

	begin(PRM_CMD_ALLOC_PD, 0);
	prepare(0, 16, 16)[0x3f] = 0;
	memcpy(before, entry_of(0), sizeof(before));
	write4(0x18, 1);
	cr_assert_arr_eq(entry_of(0), before, sizeof(before));
}

/* What is wrong with an entry, and what its status then says. */
struct fault {
	const char *what;
	void (*make)(uint8_t *entry);
	uint8_t status;
	bool sign;
};

static void wrong_type(uint8_t *entry)
{
	entry[0] = 3;
}

static void wrong_signature(uint8_t *entry)
{
	entry[0x3d] ^= 1;
}

static void in_too_short(uint8_t *entry)
{
	prm_store32(entry + 0x04, 7);
}

static void in_too_long(uint8_t *entry)
{
	prm_store32(entry + 0x04, UINT32_MAX);
}

static void out_too_short(uint8_t *entry)
{
	prm_store32(entry + 0x38, 0);
}

static void out_too_long(uint8_t *entry)
{
	prm_store32(entry + 0x38, UINT32_MAX);
}

static void in_outside(uint8_t *entry)
{
	prm_store64(entry + 0x08, UINT64_MAX & ~UINT64_C(511));
}

static void in_unmapped(uint8_t *entry)
{
	prm_store64(entry + 0x08, MEMORY + PAGES * PAGE);
}

static void in_crosses_the_end(uint8_t *entry)
{
	prm_store64(entry + 0x08, MEMORY + PAGES * PAGE - 512);
}

static void in_unaligned(uint8_t *entry)
{
	prm_store64(entry + 0x08, page_addr(IN_BLOCKS) + 8);
}

static void out_outside(uint8_t *entry)
{
	prm_store64(entry + 0x30, 0);
}

static void in_loop(uint8_t *entry)
{
	(void)entry;
	prm_store64(page_ptr(IN_BLOCKS) + BLOCK_NEXT, page_addr(IN_BLOCKS));
}

static void out_loop(uint8_t *entry)
{
	(void)entry;
	prm_store64(page_ptr(OUT_BLOCKS) + BLOCK_NEXT, page_addr(OUT_BLOCKS));
}

static void in_token(uint8_t *entry)
{
	(void)entry;
	page_ptr(IN_BLOCKS)[BLOCK + BLOCK_TOKEN] ^= 1;
}

static void out_token(uint8_t *entry)
{
	(void)entry;
	page_ptr(OUT_BLOCKS)[BLOCK + BLOCK_TOKEN] ^= 1;
}

static const struct fault faults[] = {
	{"type", wrong_type, PRM_DELIVERY_TYPE, true},
	{"signature", wrong_signature, PRM_DELIVERY_SIGNATURE, false},
	{"input too short", in_too_short, PRM_DELIVERY_IN_LENGTH, true},
	{"input too long", in_too_long, PRM_DELIVERY_IN_LENGTH, true},
	{"output too short", out_too_short, PRM_DELIVERY_OUT_LENGTH, true},
	{"output too long", out_too_long, PRM_DELIVERY_OUT_LENGTH, true},
	{"input at the end of addresses", in_outside, PRM_DELIVERY_IN_POINTER, true},
	{"input behind the memory", in_unmapped, PRM_DELIVERY_IN_POINTER, true},
	{"input across the end of memory", in_crosses_the_end, PRM_DELIVERY_IN_POINTER, true},
	{"input between two blocks", in_unaligned, PRM_DELIVERY_IN_POINTER, true},
	{"output where no memory is", out_outside, PRM_DELIVERY_OUT_POINTER, true},
	{"input loop", in_loop, PRM_DELIVERY_BLOCK_NUMBER, true},
	{"output loop", out_loop, PRM_DELIVERY_BLOCK_NUMBER, true},
	{"token of an input block", in_token, PRM_DELIVERY_TOKEN, true},
	{"token of an output block", out_token, PRM_DELIVERY_TOKEN, true},
};

Test(qemu_hca, what_is_wrong_with_an_entry_is_said)
{
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
		uint8_t *entry, status;

		begin(PRM_CMD_MANAGE_PAGES, PRM_PAGES_TAKE);
		entry = prepare(0, 16 + 1024, 16 + 1024);
		faults[i].make(entry);
		if (faults[i].sign)
			sign(entry);
		write4(0x18, 1);
		status = entry[0x3f];
		cr_expect_eq(status, faults[i].status << 1, "%s: status 0x%02x", faults[i].what,
			     status);
	}
	cr_assert_gt(alloc(PRM_CMD_ALLOC_PD), 0, "the next one is executed");
}

Test(qemu_hca, a_queue_that_is_not_in_memory_is_rung_in_vain)
{
	write4(0x10, 0xffffffff);
	write4(0x14, 0xfffff000);
	write4(0x18, UINT32_MAX);
	set_queue();
	cr_assert_gt(alloc(PRM_CMD_ALLOC_PD), 0);
}

Test(qemu_hca, memory_that_goes_takes_the_queue_with_it)
{
	prepare(0, 16, 16);
	cr_assert_eq(client_unmap(&c, MEMORY, PAGES * PAGE), 0);
	write4(0x18, 1);
	cr_assert_eq(entry_of(0)[0x3f], 1, "not executed");
	cr_assert_eq(client_map(&c, MEMORY, PAGES * PAGE, memory_fd, 0, 3), 0);
	cr_assert_gt(alloc(PRM_CMD_ALLOC_PD), 0);
}

Test(qemu_hca, ranges_of_memory_do_not_overlap)
{
	cr_assert_eq(client_map(&c, MEMORY + PAGE, PAGE, memory_fd, 0, 3), EEXIST);
	cr_assert_eq(client_unmap(&c, MEMORY, PAGE), ENOENT);
	cr_assert_eq(client_map(&c, MEMORY + PAGES * PAGE, PAGE, memory_fd, PAGES * PAGE, 3),
		     EINVAL, "beyond the end of the file");
}

/* ---- events ---- */

static uint32_t create_eq(uint64_t mask, uint32_t vector)
{
	uint8_t *eqc = PRM_PTR(create_eq_in, in, eq_context);
	uint32_t uar = alloc(PRM_CMD_ALLOC_UAR);

	begin(PRM_CMD_CREATE_EQ, 0);
	PRM_SET(eqc, eqc, log_eq_size, 6);
	PRM_SET(eqc, eqc, uar_page, uar);
	PRM_SET(eqc, eqc, intr, vector);
	PRM_SET64(create_eq_in, in, event_bitmask, mask);
	prm_store64(in + PRM_create_eq_in_pas_OFF, page_addr(EQ_RING));
	for (int i = 0; i < 64; i++)
		page_ptr(EQ_RING)[i * 64 + PRM_EQE_OWNER] = 1;
	cr_assert_eq(command(PRM_create_eq_in_pas_OFF + 8, 16), PRM_STATUS_OK);
	return PRM_GET(create_eq_out, out, eqn);
}

static bool raised_soon(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	uint64_t n = 0;

	return poll(&p, 1, 10000) == 1 && read(fd, &n, sizeof(n)) == sizeof(n);
}

static bool raised_now(int fd)
{
	uint64_t n = 0;

	return read(fd, &n, sizeof(n)) == sizeof(n);
}

Test(qemu_hca, commands_end_with_events_once_an_eq_asks_for_them)
{
	int fd = eventfd(0, EFD_NONBLOCK);
	const uint8_t *eqe = page_ptr(EQ_RING);

	cr_assert_eq(client_vectors(&c, 2, 1, &fd, 1), 0);
	create_eq(UINT64_C(1) << PRM_EVENT_COMMAND, 2);
	cr_assert(!raised_now(fd), "the command that makes the EQ is polled for");
	cr_assert_eq(eqe[PRM_EQE_OWNER], 1);
	begin(PRM_CMD_ALLOC_PD, 0);
	prepare(5, 16, 16);
	cr_assert_eq(ring(5, 16), PRM_DELIVERY_OK);
	cr_assert(raised_soon(fd));
	cr_assert_eq(eqe[PRM_EQE_TYPE], PRM_EVENT_COMMAND);
	cr_assert_eq(prm_load32(eqe + PRM_EQE_DATA), 1u << 5);
	cr_assert_eq(eqe[PRM_EQE_OWNER], 0, "the first lap");
}

static uint32_t create_cq(uint32_t eqn, uint32_t uar)
{
	uint8_t *cqc = PRM_PTR(create_cq_in, in, cq_context);

	begin(PRM_CMD_CREATE_CQ, 0);
	PRM_SET(cqc, cqc, log_cq_size, 4);
	PRM_SET(cqc, cqc, uar_page, uar);
	PRM_SET(cqc, cqc, c_eqn_or_apu_element, eqn);
	PRM_SET64(cqc, cqc, dbr_addr, page_addr(CQ_RECORD));
	prm_store64(in + PRM_create_cq_in_pas_OFF, page_addr(CQ_RING));
	cr_assert_eq(command(PRM_create_cq_in_pas_OFF + 8, 16), PRM_STATUS_OK);
	return PRM_GET(obj_out, out, number);
}

static struct nm_nic *model(void)
{
	return world_nic_model(hca_nic(hca));
}

struct look {
	uint32_t cqn;
	uint8_t state;
};

static void look_locked(void *arg)
{
	struct look *l = arg;

	l->state = ((struct nm_cq *)nm_obj_get(model(), NM_OBJ_CQ, l->cqn))->arm_state;
}

static uint8_t arm_state(uint32_t cqn)
{
	struct look l = {.cqn = cqn};

	world_locked(world, look_locked, &l);
	return l.state;
}

Test(qemu_hca, only_a_doorbell_arms_a_queue)
{
	uint32_t eqn = create_eq(0, 1), uar = alloc(PRM_CMD_ALLOC_UAR), cqn = create_cq(eqn, uar);
	uint64_t page = (uint64_t)uar * PAGE;

	/* As a kernel does after CREATE_CQ: the record says an arm that was never rung. */
	prm_store32(page_ptr(CQ_RECORD) + 4, 2u << 28);
	write8(page + PRM_UAR_CQ_ARM, 1); /* of a CQ that is not there: nothing */
	usleep(20000);
	cr_assert_eq(arm_state(cqn), 0);
	write8(page + PRM_UAR_CQ_ARM, cqn);
	cr_assert_eq(arm_state(cqn), PRM_CQ_ST_ARMED);
}

Test(qemu_hca, a_doorbell_may_come_in_two_halves)
{
	uint32_t eqn = create_eq(0, 1), uar = alloc(PRM_CMD_ALLOC_UAR), cqn = create_cq(eqn, uar);
	uint64_t page = (uint64_t)uar * PAGE;

	write4(page + PRM_UAR_CQ_ARM + 4, cqn);
	cr_assert_eq(arm_state(cqn), 0, "a second half alone");
	write4(page + PRM_UAR_CQ_ARM, 1u << 28);
	write4(page + PRM_UAR_EQ_ARM, eqn << 24);
	write4(page + PRM_UAR_CQ_ARM + 4, cqn);
	cr_assert_eq(arm_state(cqn), 0, "not behind another write");
	write4(page + PRM_UAR_CQ_ARM, 1u << 28);
	write4(page + PRM_UAR_CQ_ARM + 4, cqn);
	cr_assert_eq(arm_state(cqn), PRM_CQ_ST_ARMED);
}

Test(qemu_hca, doorbells_for_nothing_are_ignored)
{
	uint32_t uar = alloc(PRM_CMD_ALLOC_UAR);
	static const uint32_t offs[] = {0, 8, 0x20, 0x40, 0x48, 0x600, 0x800, 0x808, 0x900, 0xff8};

	for (size_t i = 0; i < sizeof(offs) / sizeof(offs[0]); i++) {
		write8((uint64_t)uar * PAGE + offs[i], UINT64_MAX);
		write8((uint64_t)HCA_UAR_FIRST * PAGE + 0x5000 + offs[i], 0x123456789abcdef0);
		write4((uint64_t)uar * PAGE + offs[i], UINT32_MAX);
	}
	write8(HCA_BAR_BYTES - 8, UINT64_MAX);
	cr_assert_eq(client_write(&c, BAR, 0x100001, "x", 1), EINVAL, "no register has one byte");
	cr_assert_gt(alloc(PRM_CMD_ALLOC_PD), 0);
}

/* ---- users ---- */

Test(qemu_hca, a_user_context_owns_what_it_makes)
{
	uint16_t uid;
	uint32_t pd;

	begin(PRM_CMD_CREATE_UCTX, 0);
	cr_assert_eq(command(64, 16), PRM_STATUS_OK);
	uid = (uint16_t)PRM_GET(obj_out, out, number);
	begin(PRM_CMD_ALLOC_PD, 0);
	PRM_SET(cmd_in, in, uid, uid);
	cr_assert_eq(command(16, 16), PRM_STATUS_OK);
	pd = PRM_GET(obj_out, out, number);
	begin(PRM_CMD_TEARDOWN_HCA, 0);
	PRM_SET(cmd_in, in, uid, uid);
	cr_assert_eq(command(16, 16), PRM_STATUS_BAD_OP, "a command of the driver");
	begin(PRM_CMD_DEALLOC_PD, 0);
	PRM_SET(obj_in, in, number, pd);
	PRM_SET(cmd_in, in, uid, 0xffff);
	cr_assert_eq(command(16, 16), PRM_STATUS_OK, "shared is the driver's");
}

Test(qemu_hca, a_guest_that_has_gone_leaves_nothing)
{
	uint32_t pd = alloc(PRM_CMD_ALLOC_PD);

	create_eq(1, 0);
	client_close(&c);
	client_open(&c, hca_server(hca));
	client_greet(&c);
	cr_assert_eq(client_map(&c, MEMORY, PAGES * PAGE, memory_fd, 0, 3), 0,
		     "its memory is gone");
	set_queue();
	begin(PRM_CMD_DEALLOC_PD, 0);
	PRM_SET(obj_in, in, number, pd);
	cr_assert_eq(command(16, 16), PRM_STATUS_BAD_RES);
}
