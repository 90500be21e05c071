/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * libFuzzer target: a hostile guest. It says what it likes to the vfio-user server, with
 * descriptors of any kind; rings commands whose entries and mailboxes are in its memory, right or
 * wrong; and writes to the registers. A step is a byte that says what, and bytes of its own. The
 * function and the NIC behind it are real, and so is the world's thread. At the end of an input the
 * guest is gone: no descriptor of its stays open.
 */
#include <dirent.h>
#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "emu/qemu/cmdq.h"
#include "emu/qemu/hca.h"
#include "emu/qemu/vfu.h"
#include "emu/world/world.h"
#include "prm/prm.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
	PAGE = 4096,
	PAGES = 32,
	STEPS = 64,
	FDS = 3,
	BODY = 256,
	/* the guest's memory, in pages: its queue, mailbox blocks of 1 KiB, and what its objects
	   use */
	CMDQ = 0,
	IN_BLOCKS = 1,
	OUT_BLOCKS = 3,
	FREE_PAGES = 5,
	BLOCK = 1024,
	MAILBOX = 512,
};
#define MEMORY UINT64_C(0x100000)

struct input {
	const uint8_t *at;
	size_t left;
};

static struct vfu *server;
static uint8_t *memory;
static int kinds[FDS]; /* memory, an eventfd, something else */
static struct vfu_reply reply;

static uint8_t take(struct input *in)
{
	uint8_t v = in->left ? *in->at : 0;

	in->at += in->left > 0;
	in->left -= in->left > 0;
	return v;
}

static uint32_t take32(struct input *in)
{
	uint32_t v = 0;

	for (int i = 0; i < 4; i++)
		v = v << 8 | take(in);
	return v;
}

/* A number that is often one of those that matter. */
static uint64_t take_address(struct input *in)
{
	static const uint64_t some[] = {0,
					MEMORY,
					MEMORY + PAGE,
					MEMORY + PAGES * PAGE,
					UINT64_MAX - 4095,
					UINT64_C(1) << 40};
	uint8_t which = take(in);

	return which < 6 ? some[which] : (uint64_t)take32(in) << (which % 33);
}

/* ---- what the guest says ---- */

static void say(uint16_t command, uint32_t flags, const void *body, size_t len, uint8_t fds)
{
	int copies[FDS * 2];
	struct vfu_message m = {
		.head = {.command = command,
			 .size = (uint32_t)(sizeof(m.head) + len),
			 .flags = flags},
		.body = (uint8_t *)(uintptr_t)body,
		.fds = copies,
		.nfds = fds % 4,
	};
	const char *why;

	if (vfu_header_fault(server, &m.head))
		return;
	for (uint32_t i = 0; i < m.nfds; i++)
		copies[i] = dup(kinds[fds / 4 % FDS]);
	if (!vfu_execute(server, &m, &reply, &why))
		vfu_forget_client(server);
	for (uint32_t i = 0; i < m.nfds; i++) {
		if (copies[i] >= 0)
			close(copies[i]);
	}
}

static void greet(void)
{
	say(VFU_VERSION, 0, "\0\0\1\0", 4, 0);
}

static void map_memory(void)
{
	const struct {
		uint32_t argsz, flags;
		uint64_t off, addr, len;
	} map = {sizeof(map), 3, 0, MEMORY, PAGES * PAGE};

	say(VFU_DMA_MAP, 0, &map, sizeof(map), 1);
}

static void write_region(uint32_t region, uint64_t off, uint64_t value, uint32_t len)
{
	struct {
		uint64_t off;
		uint32_t region, len;
		uint64_t value;
	} a = {off, region, len, value};

	say(VFU_REGION_WRITE, VFU_NO_REPLY, &a, 16 + (len <= 8 ? len : 8), 0);
}

static void any_message(struct input *in)
{
	static uint8_t body[BODY];
	uint8_t command = take(in), fds = take(in), len = take(in);

	memset(body, 0, sizeof(body));
	for (unsigned int i = 0; i < len % 64; i++)
		body[i] = take(in);
	say(command % 20, 0, body, len, fds);
}

static void set_queue(uint64_t addr)
{
	write_region(0, 0x10, htobe32((uint32_t)(addr >> 32)), 4);
	write_region(0, 0x14, htobe32((uint32_t)addr), 4);
}

/* ---- commands ---- */

#define OPCODE_(name, opcode) (opcode),
static const uint16_t opcodes[] = {PRM_COMMANDS(OPCODE_)};

static void put_blocks(unsigned int page, uint8_t token)
{
	for (uint32_t n = 0; n < 2; n++) {
		uint8_t *block = memory + (size_t)page * PAGE + (size_t)n * BLOCK;

		prm_store64(block + 560, MEMORY + (uint64_t)page * PAGE + (n + 1) * BLOCK);
		prm_store32(block + 568, n);
		block[573] = token;
	}
}

static void command(struct input *in)
{
	uint8_t mailbox[MAILBOX] = {0}, *entry = memory, x = 0, fault;
	uint16_t opcode = opcodes[take(in) % (sizeof(opcodes) / sizeof(opcodes[0]))];

	PRM_SET(cmd_in, mailbox, opcode, opcode);
	mailbox[7] = take(in);
	for (unsigned int n = take(in) % 32; n; n--) {
		size_t at = 8 + take(in) * 2u;

		mailbox[at % MAILBOX] ^= take(in);
	}
	fault = take(in);
	memset(entry, 0, CMDQ_ENTRY_BYTES);
	entry[0] = 7;
	prm_store32(entry + 0x04, fault & 1 ? take32(in) : 16u + MAILBOX);
	prm_store64(entry + 0x08, fault & 2 ? take_address(in) : MEMORY + IN_BLOCKS * PAGE);
	memcpy(entry + 0x10, mailbox, 16);
	prm_store64(entry + 0x30, fault & 4 ? take_address(in) : MEMORY + OUT_BLOCKS * PAGE);
	prm_store32(entry + 0x38, fault & 8 ? take32(in) : 16u + MAILBOX);
	entry[0x3f] = 1;
	put_blocks(IN_BLOCKS, fault & 16);
	put_blocks(OUT_BLOCKS, fault & 32);
	memcpy(memory + IN_BLOCKS * PAGE, mailbox + 16, MAILBOX - 16);
	for (int i = 0; i < CMDQ_ENTRY_BYTES; i++)
		x ^= entry[i];
	entry[0x3d] = (uint8_t)~x;
	write_region(0, 0x18, htobe32(fault & 64 ? UINT32_MAX : 1), 4);
}

static void poke(struct input *in)
{
	size_t at = (size_t)take32(in) % (PAGES * PAGE - 64);

	for (unsigned int n = take(in) % 64; n; n--)
		memory[at++] = take(in);
}

static void write_bar(struct input *in)
{
	static const uint32_t places[] = {0x10,	    0x14,     0x18,	0x1000,	  0x2000,  0x100020,
					  0x100040, 0x101020, 0x101800, 0x102900, 0x101040};
	uint8_t which = take(in);
	uint64_t off = which < 11 ? places[which] : take32(in) % (HCA_BAR_BYTES + 16);
	uint64_t value = (uint64_t)take32(in) << 32 | take32(in);

	write_region(0, off, value, which % 3 ? 8 : 4);
}

static void map_again(struct input *in)
{
	struct {
		uint32_t argsz, flags;
		uint64_t addr, len;
	} unmap = {sizeof(unmap), 0, MEMORY, PAGES * PAGE};

	say(VFU_DMA_UNMAP, 0, &unmap, sizeof(unmap), 0);
	if (take(in) % 2)
		map_memory();
}

static void step(struct input *in)
{
	switch (take(in) % 8) {
	case 0:
		any_message(in);
		break;
	case 1:
	case 2:
	case 3:
		command(in);
		break;
	case 4:
		write_bar(in);
		break;
	case 5:
		poke(in);
		break;
	case 6:
		write_region(VFIO_PCI_CONFIG_REGION_INDEX, take(in), take32(in), 4);
		break;
	default:
		map_again(in);
		break;
	}
}

static unsigned int count_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	const struct dirent *entry;
	unsigned int n = 0;

	while ((entry = readdir(dir))) {
		char what[64];
		ssize_t len = readlinkat(dirfd(dir), entry->d_name, what, sizeof(what) - 1);

		what[len > 0 ? len : 0] = '\0';
		n += strncmp(what, "pipe:", 5) != 0; /* the sanitizers' symbolizer has some */
	}
	closedir(dir);
	return n;
}

static void setup(void)
{
	const struct world_config config = {.wire = WORLD_WIRE_LOCAL};
	struct hca_config h = {0};
	const char *why = "no memory";
	struct hca *hca;

	h.world = world_create(&config, &why);
	hca = h.world ? hca_create(&h, &why) : NULL;
	kinds[0] = memfd_create("guest", MFD_CLOEXEC);
	kinds[1] = eventfd(0, EFD_NONBLOCK);
	kinds[2] = dup(STDERR_FILENO);
	if (!hca || ftruncate(kinds[0], PAGES * PAGE)) {
		fprintf(stderr, "fuzz_vfio_user: %s\n", why);
		abort();
	}
	memory = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, kinds[0], 0);
	server = hca_server(hca);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = {data, size};
	unsigned int before;

	if (!server)
		setup();
	before = count_fds();
	memset(memory, 0, PAGES * PAGE);
	greet();
	map_memory();
	set_queue(MEMORY);
	for (int i = 0; i < STEPS && in.left; i++)
		step(&in);
	vfu_forget_client(server);
	if (count_fds() != before) {
		fprintf(stderr, "fuzz_vfio_user: descriptors of the guest are left\n");
		abort();
	}
	return 0;
}
