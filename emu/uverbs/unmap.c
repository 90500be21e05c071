// SPDX-License-Identifier: BSD-3-Clause
/*
 * A word for the program that takes a UAR page away from its own queues, with --verbose only: what
 * it gets is a segmentation fault at the next doorbell, somewhere else.
 *
 * munmap() is what allocators call with their locks held, so nothing here allocates, and no lock is
 * waited for: who does not get one says nothing.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "emu/uverbs/verbs_qp.h"

enum { READ_BYTES = 4096, LINE_MAX_BYTES = 512 };

struct mapping {
	uint64_t start, end, offset, dev, ino;
};

/* Lines of /proc/self/maps, without stdio. */
struct maps {
	int fd;
	size_t len, at;
	char buf[READ_BYTES];
};

static bool next_char(struct maps *m, char *c)
{
	if (m->at == m->len) {
		long n = syscall(SYS_read, m->fd, m->buf, sizeof(m->buf));

		if (n <= 0)
			return false;
		m->len = (size_t)n;
		m->at = 0;
	}
	*c = m->buf[m->at++];
	return true;
}

static bool parse(const char *line, struct mapping *m)
{
	unsigned int major_no, minor_no;
	char perms[5];

	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %x:%x %" SCNu64, &m->start,
		   &m->end, perms, &m->offset, &major_no, &minor_no, &m->ino) != 7)
		return false;
	m->dev = makedev(major_no, minor_no);
	return perms[3] == 's';
}

/* The next shared mapping of a file that is not the NIC's own. */
static bool next_mapping(struct maps *maps, struct mapping *m)
{
	char line[LINE_MAX_BYTES], c;
	size_t n = 0;

	while (next_char(maps, &c)) {
		if (c != '\n') {
			if (n < sizeof(line) - 1)
				line[n++] = c;
			continue;
		}
		line[n] = '\0';
		n = 0;
		if (parse(line, m) && m->ino && !uv_is_nics_page(m->start))
			return true;
	}
	return false;
}

static bool open_maps(struct maps *maps)
{
	maps->fd = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC, 0);
	maps->at = maps->len = 0;
	return maps->fd >= 0;
}

/* Whether that page of the file is mapped outside of [start, end) as well. */
static bool mapped_elsewhere(const struct mapping *gone, uint64_t offset, uint64_t start,
			     uint64_t end)
{
	struct mapping m;
	struct maps maps;
	bool found = false;

	if (!open_maps(&maps))
		return true;
	while (!found && next_mapping(&maps, &m)) {
		uint64_t at = m.start + (offset - m.offset);

		found = m.dev == gone->dev && m.ino == gone->ino && offset >= m.offset &&
			at < m.end && (at < start || at >= end);
	}
	syscall(SYS_close, maps.fd);
	return found;
}

static bool rings_page(struct uv_ctx *ctx, const struct uv_obj *obj, uint32_t uar_page)
{
	uint8_t qpc[PRM_qpc_SIZE];
	const struct uv_devx_obj *devx = (const struct uv_devx_obj *)obj;

	if (obj->kind != UV_QP &&
	    !(obj->kind == UV_DEVX_OBJ && devx->create_opcode == PRM_CMD_CREATE_QP))
		return false;
	if (obj->kind == UV_QP && ((const struct uv_qp *)obj)->target)
		return false; /* rings none */
	return !uv_qp_query_context(ctx->uid, obj->num, qpc) &&
	       PRM_GET(qpc, qpc, uar_page) == uar_page;
}

/* Page `slot` of the context's file goes: says who is left with it. */
static void look_at_page(struct uv_ctx *ctx, uint64_t slot)
{
	const struct uv_obj *uar = ctx->newest;
	uint32_t queues = 0, first = 0;

	while (uar && (uar->kind != UV_UAR || ((const struct uv_uar *)uar)->slot != slot))
		uar = uar->older;
	for (const struct uv_obj *obj = uar ? ctx->newest : NULL; obj; obj = obj->older) {
		if (!rings_page(ctx, obj, uar->num))
			continue;
		first = queues++ ? first : obj->num;
	}
	if (queues)
		uv_say("munmap: UAR page %u is the doorbell of %u QPs (0x%x first): the next ring "
		       "is a segmentation fault of the program",
		       uar->num, queues, first);
}

static void look_at_mapping(const struct mapping *m, uint64_t start, uint64_t end)
{
	uint64_t from = start > m->start ? start : m->start, to = end < m->end ? end : m->end;
	struct uv_ctx *ctx = uv_ctx_try(m->dev, m->ino);

	if (!ctx)
		return;
	for (uint64_t at = from; !ctx->dead && at < to; at += PRM_UAR_PAGE_SIZE) {
		uint64_t offset = m->offset + (at - m->start);

		if (offset / PRM_UAR_PAGE_SIZE < UV_CTX_UARS &&
		    !mapped_elsewhere(m, offset, start, end))
			look_at_page(ctx, offset / PRM_UAR_PAGE_SIZE);
	}
	uv_ctx_unlock(ctx);
}

void uv_unmapping(const void *addr, size_t len)
{
	uint64_t start = (uintptr_t)addr, end = start + len;
	int saved = errno;
	struct mapping m;
	struct maps maps;

	if (!uv_has_contexts() || !uv_verbose() || end < start)
		return;
	if (open_maps(&maps)) {
		while (next_mapping(&maps, &m) && m.start < end)
			if (m.end > start)
				look_at_mapping(&m, start, end);
		syscall(SYS_close, maps.fd);
	}
	errno = saved;
}
