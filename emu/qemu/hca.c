// SPDX-License-Identifier: BSD-3-Clause
#include "emu/qemu/hca.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "emu/qemu/cmdq.h"
#include "emu/qemu/pci.h"
#include "emu/qemu/vfu.h"
#include "emu/space/space.h"
#include "emu/world/world.h"
#include "prm/prm.h"

/* The initialization segment (PRM; struct mlx5_init_seg of linux/mlx5/device.h). */
enum iseg {
	ISEG_FW_REV = 0x00,
	ISEG_CMDIF_REV = 0x04,
	ISEG_CMDQ_HIGH = 0x10,
	ISEG_CMDQ_LOW = 0x14,
	ISEG_DOORBELL = 0x18,
	ISEG_HEALTH_FW_VER = 0x230,
	ISEG_HEALTH_HW_ID = 0x234,
	ISEG_TIMER_HIGH = 0x1000,
	ISEG_TIMER_LOW = 0x1004,
	ISEG_HEALTH_COUNTER = 0x1010,
};

enum {
	HW_ID = 0x218,
	UID_SHARED = 0xffff, /* MLX5_SHARED_RESOURCE_UID of the driver */
	FW_MAJOR = 28,
	FW_MINOR = 39,
	FW_SUB = 1002,
	CMDIF_REV = 5,
	HEALTH_NS = 10000000,
	HEALTH_MASK = 0xffffff,
	UAR_PAGE = 4096,
	BF_STEP = 0x100,
};

/* nic_interface: bits 10:8 of the low half of the queue's address. */
enum nic_state { NIC_FULL = 0, NIC_DISABLED = 1, NIC_SW_RESET = 7 };

struct hca {
	struct hca_config config;
	struct world_nic *nic;
	struct nm_space *space;
	struct vfu *vfu;
	void *uars;
	char name[16];
	struct pci_config pci;
	uint32_t cmdq_high, cmdq_low;
	uint8_t nic_state;
	bool cmdq_valid;
	/* the first half of a doorbell that comes as two writes of 4 bytes */
	uint64_t half_at; /* 0: none */
	uint32_t half;
};

static uint64_t clock_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static void say(const struct hca *h, const char *what, uint64_t value)
{
	if (h->config.verbose)
		fprintf(stderr, "%s: %s 0x%llx\n", h->name, what, (unsigned long long)value);
}

/* ---- reset ---- */

/* The port's address is its own; on the NIC it stands in the one table there is. */
static void set_gid(struct hca *h)
{
	enum { ROCE_V2 = 2 };
	uint8_t in[PRM_roce_address_in_SIZE] = {0}, out[16];
	uint8_t *addr = PRM_PTR(roce_address_in, in, roce_address);
	const struct nm_cmd_ctx ctx = {.uid = 0};

	PRM_SET(cmd_in, in, opcode, PRM_CMD_SET_ROCE_ADDRESS);
	world_nic_gid(h->nic, PRM_PTR(roce_addr, addr, source_l3_address));
	PRM_SET(roce_addr, addr, roce_version, ROCE_V2);
	nm_nic_command(world_nic_model(h->nic), &ctx, in, sizeof(in), out, sizeof(out), NULL);
}

static void reset_locked(void *arg)
{
	struct hca *h = arg;

	nm_nic_reset(world_nic_model(h->nic));
	set_gid(h);
}

static void reset_device(struct hca *h)
{
	h->cmdq_high = h->cmdq_low = 0;
	h->cmdq_valid = false;
	h->half_at = 0;
	h->nic_state = NIC_FULL;
	world_locked(h->config.world, reset_locked, h);
}

static void hca_reset(void *ctx)
{
	struct hca *h = ctx;

	reset_device(h);
	pci_config_init(&h->pci, PRM_DEVICE_CONNECTX7, HCA_BAR_BYTES, HCA_VECTORS);
}

/* ---- memory ---- */

struct range {
	struct hca *h;
	uint64_t addr, len, off;
	int fd;
	bool write;
	int ret;
};

static void map_locked(void *arg)
{
	struct range *r = arg;

	r->ret = space_guest_map(r->h->space, r->addr, r->len, r->fd, r->off, r->write);
}

static int hca_dma_map(void *ctx, uint64_t addr, uint64_t len, int fd, uint64_t off, bool write)
{
	struct hca *h = ctx;
	struct range r = {h, addr, len, off, fd, write, 0};

	world_locked(h->config.world, map_locked, &r);
	return r.ret;
}

static void unmap_locked(void *arg)
{
	struct range *r = arg;

	r->ret = space_guest_unmap(r->h->space, r->addr, r->len);
}

static int hca_dma_unmap(void *ctx, uint64_t addr, uint64_t len)
{
	struct hca *h = ctx;
	struct range r = {.h = h, .addr = addr, .len = len};

	world_locked(h->config.world, unmap_locked, &r);
	return r.ret;
}

static void forget_memory_locked(void *arg)
{
	space_guest_unmap_all(((struct hca *)arg)->space);
}

/* A virtual machine that has gone is a host whose power went off. */
static void hca_gone(void *ctx)
{
	struct hca *h = ctx;

	hca_reset(h);
	world_locked(h->config.world, forget_memory_locked, h);
}

/* ---- commands ---- */

static void run_command(void *ctx, const uint8_t *in, size_t in_len, uint8_t *out, size_t out_len)
{
	struct hca *h = ctx;
	uint16_t uid = (uint16_t)PRM_GET(cmd_in, in, uid);
	/* What all contexts may use (EQs, UAR pages, XRC domains) is, in the model, the driver's.
	 */
	const struct nm_cmd_ctx who = {.uid = uid == UID_SHARED ? 0 : uid, .space = h->space};
	char why[NM_WHY_MAX];
	uint8_t status = world_command(h->nic, &who, in, in_len, out, out_len, why);

	if (h->config.verbose)
		fprintf(stderr, "%s: command 0x%03x.%x uid %u, %zu -> %zu bytes: %s\n", h->name,
			PRM_GET(cmd_in, in, opcode), PRM_GET(cmd_in, in, op_mod), who.uid, in_len,
			out_len, status ? why : "ok");
}

struct done {
	struct hca *h;
	uint32_t entries;
	bool wanted;
};

static void events_wanted_locked(void *arg)
{
	struct done *d = arg;

	d->wanted = nm_nic_command_events(world_nic_model(d->h->nic));
}

static void command_done_locked(void *arg)
{
	struct done *d = arg;

	nm_nic_command_done(world_nic_model(d->h->nic), d->entries);
}

static void ring_commands(struct hca *h, uint32_t entries)
{
	const struct cmdq q = {.space = h->space,
			       .addr = (uint64_t)h->cmdq_high << 32 | h->cmdq_low,
			       .run = run_command,
			       .ctx = h};

	if (!h->cmdq_valid || h->nic_state != NIC_FULL) {
		say(h, "a command is rung without a queue:", entries);
		return;
	}
	for (uint32_t i = 0; i < 1u << CMDQ_LOG_ENTRIES; i++) {
		struct done d = {.h = h, .entries = UINT32_C(1) << i};

		if (!(entries & d.entries))
			continue;
		world_locked(h->config.world, events_wanted_locked, &d);
		if (cmdq_execute(&q, i) && d.wanted)
			world_locked(h->config.world, command_done_locked, &d);
	}
}

/* ---- BAR 0 ---- */

static void write_cmdq_low(struct hca *h, uint32_t value)
{
	uint8_t state = value >> 8 & 7;

	h->cmdq_low = value & 0xfffff000;
	h->cmdq_valid = (h->cmdq_high | h->cmdq_low) != 0;
	if (state == h->nic_state)
		return;
	say(h, "the driver sets the interface to state", state);
	if (state != NIC_FULL) {
		reset_device(h);
		h->nic_state = NIC_DISABLED;
	} else {
		h->nic_state = state;
	}
}

static void write_iseg(struct hca *h, uint32_t off, uint32_t value)
{
	switch (off) {
	case ISEG_CMDQ_HIGH:
		h->cmdq_high = value;
		break;
	case ISEG_CMDQ_LOW:
		write_cmdq_low(h, value);
		break;
	case ISEG_DOORBELL:
		ring_commands(h, value);
		break;
	default:
		say(h, "a write to the initialization segment at", off);
		break;
	}
}

static uint32_t read_iseg(const struct hca *h, uint32_t off, uint64_t now_ns)
{
	switch (off) {
	case ISEG_FW_REV:
		return FW_MINOR << 16 | FW_MAJOR;
	case ISEG_CMDIF_REV:
		return CMDIF_REV << 16 | FW_SUB;
	case ISEG_CMDQ_HIGH:
		return h->cmdq_high;
	case ISEG_CMDQ_LOW:
		return h->cmdq_low | (uint32_t)h->nic_state << 8 | CMDQ_LOG_ENTRIES << 4 |
		       CMDQ_LOG_STRIDE;
	case ISEG_HEALTH_FW_VER:
		return FW_MAJOR << 24 | FW_MINOR << 16 | FW_SUB;
	case ISEG_HEALTH_HW_ID:
		return HW_ID;
	case ISEG_TIMER_HIGH:
		return (uint32_t)(now_ns >> 32);
	case ISEG_TIMER_LOW:
		return (uint32_t)now_ns;
	case ISEG_HEALTH_COUNTER:
		return (uint32_t)(now_ns / HEALTH_NS) & HEALTH_MASK;
	default:
		return 0;
	}
}

struct ring {
	struct hca *h;
	uint32_t page, off;
	uint64_t value;
};

static void ring_locked(void *arg)
{
	const struct ring *r = arg;

	nm_nic_doorbell(world_nic_model(r->h->nic), r->page, r->off, r->value);
}

static void ring_doorbell(struct hca *h, uint64_t at, uint64_t value)
{
	struct ring r = {h, (uint32_t)(at / UAR_PAGE), (uint32_t)(at % UAR_PAGE), value};

	/* A WQE in the BlueFlame area lies in the ring as well: its first 8 bytes ring. */
	if (r.off >= PRM_UAR_BF && r.off % BF_STEP)
		return;
	world_locked(h->config.world, ring_locked, &r);
}

/* 4 bytes: an EQ's register, or half of a doorbell. */
static void write_uar4(struct hca *h, uint64_t at, uint32_t value)
{
	uint32_t off = at % UAR_PAGE;
	bool second = h->half_at && at == h->half_at + 4;

	if (off == PRM_UAR_EQ_ARM || off == PRM_UAR_EQ_CI) {
		ring_doorbell(h, at, (uint64_t)value << 32);
	} else if (at % 8 == 0) {
		h->half_at = at;
		h->half = value;
		return;
	} else if (second) {
		ring_doorbell(h, at - 4, (uint64_t)h->half << 32 | value);
	}
	h->half_at = 0;
}

static int write_bar(struct hca *h, uint64_t off, const uint8_t *buf, uint32_t len)
{
	if (off % 4 || len % 4)
		return -EINVAL;
	while (len) {
		bool uar = off >= (uint64_t)HCA_UAR_FIRST * UAR_PAGE;
		uint32_t n = 4;

		if (uar && off % 8 == 0 && len >= 8) {
			n = 8;
			ring_doorbell(h, off, prm_load64(buf));
		} else if (uar) {
			write_uar4(h, off, prm_load32(buf));
		} else if (off < UAR_PAGE) {
			write_iseg(h, (uint32_t)off, prm_load32(buf));
		}
		off += n;
		buf += n;
		len -= n;
	}
	return 0;
}

static void read_bar(const struct hca *h, uint64_t off, uint8_t *buf, uint32_t len)
{
	uint64_t now_ns = clock_ns();

	for (uint32_t i = 0; i < len; i++) {
		uint64_t at = (off + i) & ~UINT64_C(3);
		uint8_t dword[4];

		prm_store32(dword, at < 2 * UAR_PAGE ? read_iseg(h, (uint32_t)at, now_ns) : 0);
		buf[i] = dword[(off + i) % 4];
	}
}

/* ---- regions ---- */

static int hca_read(void *ctx, uint32_t region, uint64_t off, void *buf, uint32_t len)
{
	const struct hca *h = ctx;

	if (region == VFIO_PCI_CONFIG_REGION_INDEX)
		memcpy(buf, h->pci.bytes + off, len);
	else
		read_bar(h, off, buf, len);
	return 0;
}

static int hca_write(void *ctx, uint32_t region, uint64_t off, const void *buf, uint32_t len)
{
	struct hca *h = ctx;

	if (region != VFIO_PCI_CONFIG_REGION_INDEX)
		return write_bar(h, off, buf, len);
	if (pci_config_write(&h->pci, (uint32_t)off, buf, len)) {
		say(h, "function level reset, written at", off);
		hca_reset(h);
	}
	return 0;
}

static const struct vfu_ops hca_ops = {
	.read = hca_read,
	.write = hca_write,
	.dma_map = hca_dma_map,
	.dma_unmap = hca_dma_unmap,
	.reset = hca_reset,
	.gone = hca_gone,
};

/* ---- its life ---- */

static void hca_event(void *ctx, uint32_t eqn, uint32_t intr, const uint8_t *eqe)
{
	(void)eqn;
	(void)eqe;
	vfu_raise(((struct hca *)ctx)->vfu, intr);
}

static bool create_nic(struct hca *h, const char **why)
{
	struct nm_config nic = {
		.name = h->name,
		.device_id = PRM_DEVICE_CONNECTX7,
		.node_guid = UINT64_C(0x946dae0300640000) + (uint64_t)h->config.index * 0x100,
		.mac = {0x94, 0x6d, 0xae, 0x64, 0, (uint8_t)h->config.index},
		.link_is_ethernet = h->config.ethernet,
		.port_mtu = 5,
		.uar_base = h->uars,
		.uar_pages = HCA_UAR_PAGES,
		.uar_first = HCA_UAR_FIRST,
		.doorbells_trapped = true,
	};

	h->nic = world_add_nic(h->config.world, &nic, hca_event, h, why);
	return h->nic != NULL;
}

static bool create_parts(struct hca *h, const char **why)
{
	struct vfu_config server = {
		.ops = &hca_ops,
		.ctx = h,
		.region_bytes = {[VFIO_PCI_BAR0_REGION_INDEX] = HCA_BAR_BYTES,
				 [VFIO_PCI_CONFIG_REGION_INDEX] = PCI_CONFIG_BYTES},
		.vectors = HCA_VECTORS,
		.verbose = h->config.verbose,
	};

	*why = "no address space for the guest's memory";
	h->space = space_guest_create();
	if (!h->space)
		return false;
	*why = "no memory for the UAR pages";
	h->uars = mmap(NULL, HCA_BAR_BYTES, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (h->uars == MAP_FAILED) {
		h->uars = NULL;
		return false;
	}
	*why = "no memory for the server";
	h->vfu = vfu_create(&server);
	return h->vfu && create_nic(h, why);
}

struct hca *hca_create(const struct hca_config *config, const char **why)
{
	struct hca *h = calloc(1, sizeof(*h));

	*why = "no memory for a NIC";
	if (!h)
		return NULL;
	h->config = *config;
	snprintf(h->name, sizeof(h->name), "mlx5_%u", config->index);
	if (!create_parts(h, why)) {
		vfu_destroy(h->vfu);
		h->vfu = NULL;
		hca_destroy(h);
		return NULL;
	}
	hca_reset(h);
	return h;
}

int hca_listen(struct hca *h, const char *path)
{
	return vfu_listen(h->vfu, path);
}

void hca_stop(struct hca *h)
{
	/* Without objects the NIC has no events, so nobody asks for the server any more. */
	vfu_stop(h->vfu);
	hca_gone(h);
	vfu_destroy(h->vfu);
	h->vfu = NULL;
}

void hca_destroy(struct hca *h)
{
	if (!h)
		return;
	space_guest_destroy(h->space);
	if (h->uars)
		munmap(h->uars, HCA_BAR_BYTES);
	free(h);
}

struct vfu *hca_server(struct hca *h)
{
	return h->vfu;
}

struct world_nic *hca_nic(struct hca *h)
{
	return h->nic;
}
