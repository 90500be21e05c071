// SPDX-License-Identifier: BSD-3-Clause
/*
 * The messages of vfio-user. Each has a least length, which is checked before its handler runs;
 * what a handler reads beyond that it checks itself. A handler answers 0 with its reply's length,
 * or an errno, of which the client gets the header alone.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "emu/qemu/vfu_priv.h"

enum {
	MAJOR = 0,
	MINOR = 1,
	IRQ_KINDS = VFIO_PCI_NUM_IRQS,
	WRITE_MULTI_ENTRY = 24,
	WRITE_MULTI_DATA = 8,
};

static const char capabilities[] =
	"{\"capabilities\":{\"max_msg_fds\":16,\"max_data_xfer_size\":65536,\"max_dma_maps\":1024,"
	"\"pgsizes\":4096}}";

struct version {
	uint16_t major, minor;
};

struct dma_map {
	uint32_t argsz, flags;
	uint64_t offset, address, size;
};

struct dma_unmap {
	uint32_t argsz, flags;
	uint64_t address, size;
};

struct access {
	uint64_t offset;
	uint32_t region, count;
};

enum { DMA_READABLE = 1 << 0, DMA_WRITEABLE = 1 << 1 };

_Static_assert(sizeof(struct vfu_header) == 16, "the header on the wire");
_Static_assert(sizeof(struct access) == VFU_ACCESS_HEAD, "a region access on the wire");
_Static_assert(sizeof(struct dma_map) == 32 && sizeof(struct dma_unmap) == 24, "on the wire");

struct call {
	struct vfu *v;
	struct vfu_message *m;
	size_t len; /* of the body */
	uint8_t *out;
	size_t out_len;
};

static int vfu_nothing(struct call *c)
{
	(void)c;
	return EOPNOTSUPP;
}

/* The peer's list of capabilities is for what we would send: neither descriptors nor DMA
 * messages, so nothing of it matters. */
static int vfu_version(struct call *c)
{
	struct version theirs, ours = {.major = MAJOR, .minor = MINOR};

	memcpy(&theirs, c->m->body, sizeof(theirs));
	if (theirs.major != MAJOR || c->v->greeted)
		return EINVAL;
	if (c->len > sizeof(theirs) && c->m->body[c->len - 1] != '\0')
		return EINVAL;
	if (theirs.minor < ours.minor)
		ours.minor = theirs.minor;
	memcpy(c->out, &ours, sizeof(ours));
	memcpy(c->out + sizeof(ours), capabilities, sizeof(capabilities));
	c->out_len = sizeof(ours) + sizeof(capabilities);
	c->v->greeted = true;
	return 0;
}

/* ---- memory ---- */

static int vfu_dma_map(struct call *c)
{
	struct vfu *v = c->v;
	struct dma_map map;

	memcpy(&map, c->m->body, sizeof(map));
	if (map.argsz < sizeof(map) || map.flags & ~(uint32_t)(DMA_READABLE | DMA_WRITEABLE) ||
	    c->m->nfds > 1)
		return EINVAL;
	return -v->config.ops->dma_map(v->config.ctx, map.address, map.size,
				       c->m->nfds ? c->m->fds[0] : -1, map.offset,
				       map.flags & DMA_WRITEABLE);
}

static int vfu_dma_unmap(struct call *c)
{
	struct vfu *v = c->v;
	struct dma_unmap unmap;
	int err;

	memcpy(&unmap, c->m->body, sizeof(unmap));
	if (unmap.argsz < sizeof(unmap) || unmap.flags)
		return EINVAL;
	err = -v->config.ops->dma_unmap(v->config.ctx, unmap.address, unmap.size);
	if (err)
		return err;
	memcpy(c->out, &unmap, sizeof(unmap));
	c->out_len = sizeof(unmap);
	return 0;
}

/* ---- what the device is ---- */

static int vfu_device_info(struct call *c)
{
	struct {
		uint32_t argsz, flags, regions, irqs;
	} info;

	memcpy(&info, c->m->body, sizeof(info));
	if (info.argsz < sizeof(info))
		return EINVAL;
	info.argsz = sizeof(info);
	info.flags = VFIO_DEVICE_FLAGS_RESET | VFIO_DEVICE_FLAGS_PCI;
	info.regions = VFU_REGIONS;
	info.irqs = IRQ_KINDS;
	memcpy(c->out, &info, sizeof(info));
	c->out_len = sizeof(info);
	return 0;
}

static int vfu_region_info(struct call *c)
{
	struct vfio_region_info info;

	memcpy(&info, c->m->body, sizeof(info));
	if (info.argsz < sizeof(info) || info.index >= VFU_REGIONS)
		return EINVAL;
	info.argsz = sizeof(info);
	info.size = c->v->config.region_bytes[info.index];
	info.flags = info.size ? VFIO_REGION_INFO_FLAG_READ | VFIO_REGION_INFO_FLAG_WRITE : 0;
	info.cap_offset = 0;
	info.offset = 0;
	memcpy(c->out, &info, sizeof(info));
	c->out_len = sizeof(info);
	return 0;
}

/* ---- interrupts ---- */

static uint32_t irq_count(const struct vfu *v, uint32_t index)
{
	return index == VFIO_PCI_MSIX_IRQ_INDEX ? v->config.vectors : 0;
}

static int vfu_irq_info(struct call *c)
{
	struct vfio_irq_info info;

	memcpy(&info, c->m->body, sizeof(info));
	if (info.argsz < sizeof(info) || info.index >= IRQ_KINDS)
		return EINVAL;
	/* Without error reporting: as a kernel says it, so that a client need not warn of it. */
	if (info.index == VFIO_PCI_ERR_IRQ_INDEX)
		return EINVAL;
	info.argsz = sizeof(info);
	info.count = irq_count(c->v, info.index);
	info.flags = info.count ? VFIO_IRQ_INFO_EVENTFD | VFIO_IRQ_INFO_NORESIZE : 0;
	memcpy(c->out, &info, sizeof(info));
	c->out_len = sizeof(info);
	return 0;
}

/* Only a true eventfd can be written to without a wait or a signal. */
static bool is_eventfd(int fd)
{
	static const char want[] = "anon_inode:[eventfd]";
	char link[64], what[64];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, what, sizeof(what));
	return n == (ssize_t)sizeof(want) - 1 && memcmp(what, want, (size_t)n) == 0;
}

static void set_vector(struct vfu *v, uint32_t vector, int fd)
{
	int old;

	pthread_mutex_lock(&v->irq_lock);
	old = v->vectors[vector];
	v->vectors[vector] = fd;
	pthread_mutex_unlock(&v->irq_lock);
	if (old >= 0)
		close(old);
}

void vfu_raise(struct vfu *v, uint32_t vector)
{
	const uint64_t one = 1;

	if (vector >= v->config.vectors)
		return;
	pthread_mutex_lock(&v->irq_lock);
	if (v->vectors[vector] >= 0 && write(v->vectors[vector], &one, sizeof(one)) < 0) {
		/* Full: it is raised already. */
	}
	pthread_mutex_unlock(&v->irq_lock);
}

static int take_eventfds(struct call *c, const struct vfio_irq_set *set)
{
	struct vfu_message *m = c->m;

	if (m->nfds && m->nfds != set->count)
		return EINVAL;
	for (uint32_t i = 0; i < m->nfds; i++) {
		if (!is_eventfd(m->fds[i]))
			return EBADF;
	}
	for (uint32_t i = 0; i < set->count; i++) {
		set_vector(c->v, set->start + i, m->nfds ? m->fds[i] : -1);
		if (m->nfds)
			m->fds[i] = -1;
	}
	return 0;
}

/* The client raises them itself: all of the range, or those whose byte is not 0. */
static int raise_range(struct call *c, const struct vfio_irq_set *set, bool by_byte)
{
	const uint8_t *bytes = c->m->body + sizeof(*set);

	if (by_byte && c->len - sizeof(*set) < set->count)
		return EINVAL;
	for (uint32_t i = 0; i < set->count; i++) {
		if (!by_byte || bytes[i])
			vfu_raise(c->v, set->start + i);
	}
	return 0;
}

static void forget_vectors(struct vfu *v)
{
	for (uint32_t i = 0; i < v->config.vectors; i++)
		set_vector(v, i, -1);
}

static int vfu_set_irqs(struct call *c)
{
	struct vfio_irq_set set;
	uint32_t have;

	memcpy(&set, c->m->body, sizeof(set));
	if (set.argsz < sizeof(set) || set.index >= IRQ_KINDS)
		return EINVAL;
	have = irq_count(c->v, set.index);
	if (set.start > have || set.count > have - set.start)
		return EINVAL;
	if ((set.flags & VFIO_IRQ_SET_ACTION_TYPE_MASK) != VFIO_IRQ_SET_ACTION_TRIGGER)
		return EOPNOTSUPP; /* nothing here can be masked but by the client */
	switch (set.flags & VFIO_IRQ_SET_DATA_TYPE_MASK) {
	case VFIO_IRQ_SET_DATA_EVENTFD:
		return take_eventfds(c, &set);
	case VFIO_IRQ_SET_DATA_BOOL:
		return raise_range(c, &set, true);
	case VFIO_IRQ_SET_DATA_NONE:
		if (set.count)
			return raise_range(c, &set, false);
		if (have)
			forget_vectors(c->v);
		return 0;
	default:
		return EINVAL;
	}
}

/* ---- registers ---- */

static int check_access(const struct vfu *v, const struct access *a)
{
	uint64_t bytes;

	if (a->region >= VFU_REGIONS || a->count > VFU_XFER_MAX)
		return EINVAL;
	bytes = v->config.region_bytes[a->region];
	return a->offset <= bytes && a->count <= bytes - a->offset ? 0 : EINVAL;
}

static int vfu_region_read(struct call *c)
{
	struct vfu *v = c->v;
	struct access a;
	int err;

	memcpy(&a, c->m->body, sizeof(a));
	err = check_access(v, &a);
	if (err)
		return err;
	memcpy(c->out, &a, sizeof(a));
	c->out_len = sizeof(a) + a.count;
	return -v->config.ops->read(v->config.ctx, a.region, a.offset, c->out + sizeof(a), a.count);
}

static int vfu_region_write(struct call *c)
{
	struct vfu *v = c->v;
	struct access a;
	int err;

	memcpy(&a, c->m->body, sizeof(a));
	err = check_access(v, &a);
	if (!err && c->len - sizeof(a) < a.count)
		err = EINVAL;
	if (err)
		return err;
	memcpy(c->out, &a, sizeof(a));
	c->out_len = sizeof(a);
	return -v->config.ops->write(v->config.ctx, a.region, a.offset, c->m->body + sizeof(a),
				     a.count);
}

static int vfu_write_multi(struct call *c)
{
	struct vfu *v = c->v;
	uint64_t count;

	memcpy(&count, c->m->body, sizeof(count));
	if (count > (c->len - sizeof(count)) / WRITE_MULTI_ENTRY)
		return EINVAL;
	for (uint64_t i = 0; i < count; i++) {
		const uint8_t *entry = c->m->body + sizeof(count) + i * WRITE_MULTI_ENTRY;
		struct access a;
		int err;

		memcpy(&a, entry, sizeof(a));
		err = a.count > WRITE_MULTI_DATA ? EINVAL : check_access(v, &a);
		if (!err)
			err = -v->config.ops->write(v->config.ctx, a.region, a.offset,
						    entry + sizeof(a), a.count);
		if (err)
			return err;
	}
	memcpy(c->out, &count, sizeof(count));
	c->out_len = sizeof(count);
	return 0;
}

static int vfu_device_reset(struct call *c)
{
	c->v->config.ops->reset(c->v->config.ctx);
	return 0;
}

/* ---- the table ---- */

static const struct {
	uint32_t least; /* bytes of the body */
	int (*run)(struct call *c);
} commands[] = {
	[VFU_VERSION] = {sizeof(struct version), vfu_version},
	[VFU_DMA_MAP] = {sizeof(struct dma_map), vfu_dma_map},
	[VFU_DMA_UNMAP] = {sizeof(struct dma_unmap), vfu_dma_unmap},
	[VFU_DEVICE_INFO] = {16, vfu_device_info},
	[VFU_REGION_INFO] = {sizeof(struct vfio_region_info), vfu_region_info},
	[VFU_REGION_IO_FDS] = {0, vfu_nothing},
	[VFU_IRQ_INFO] = {sizeof(struct vfio_irq_info), vfu_irq_info},
	[VFU_SET_IRQS] = {sizeof(struct vfio_irq_set), vfu_set_irqs},
	[VFU_REGION_READ] = {sizeof(struct access), vfu_region_read},
	[VFU_REGION_WRITE] = {sizeof(struct access), vfu_region_write},
	[VFU_DEVICE_RESET] = {0, vfu_device_reset},
	[VFU_WRITE_MULTI] = {sizeof(uint64_t), vfu_write_multi},
};

const char *vfu_header_fault(const struct vfu *v, const struct vfu_header *head)
{
	if (head->size < sizeof(*head))
		return "a message that is shorter than its header";
	if (head->size - sizeof(*head) > VFU_BODY_MAX)
		return "a message that is longer than any may be";
	if ((head->flags & VFU_TYPE_MASK) != VFU_TYPE_COMMAND)
		return "a reply, but nothing was asked";
	if (!v->greeted && head->command != VFU_VERSION)
		return "a message before the version was agreed";
	return NULL;
}

static int run(struct call *c)
{
	uint16_t n = c->m->head.command;

	if (n >= sizeof(commands) / sizeof(commands[0]) || !commands[n].run)
		return EOPNOTSUPP;
	return c->len < commands[n].least ? EINVAL : commands[n].run(c);
}

bool vfu_execute(struct vfu *v, struct vfu_message *m, struct vfu_reply *r, const char **why)
{
	struct call c = {.v = v, .m = m, .len = m->head.size - sizeof(m->head), .out = r->body};
	int err = run(&c);

	if (err && v->config.verbose)
		fprintf(stderr, "vfio-user: message %u of %zu bytes refused: %s\n", m->head.command,
			c.len, strerror(err));
	r->none = m->head.flags & VFU_NO_REPLY;
	r->head = (struct vfu_header){
		.id = m->head.id,
		.command = m->head.command,
		.size = (uint32_t)(sizeof(r->head) + (err ? 0 : c.out_len)),
		.flags = VFU_TYPE_REPLY | (err ? VFU_ERROR : 0u),
		.error = (uint32_t)err,
	};
	/* With a version that we do not have no conversation is possible. */
	*why = v->greeted ? NULL : "no version in common";
	return v->greeted;
}

void vfu_forget_client(struct vfu *v)
{
	v->greeted = false;
	forget_vectors(v);
	v->config.ops->gone(v->config.ctx);
}
