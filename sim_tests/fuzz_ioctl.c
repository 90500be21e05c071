// SPDX-License-Identifier: BSD-3-Clause
/*
 * RDMA ioctls from bytes: a sequence of calls on one context, with objects, attributes, lengths and
 * handles as the input says. Whatever comes, the face answers with an errno, and the NIC behind it
 * lives on.
 *
 * Addresses are drawn from a region that may be written, one that may only be read, and one that is
 * not there; an answer therefore cannot hit the program itself.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "emu/uverbs/uv.h"

enum { REGION = 1 << 18, MAX_CALLS = 32, MAX_ATTRS = 12, MAX_INLINE = 64 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
	const uint8_t *p;
	size_t left;
};

struct call {
	union { /* the header's attributes follow it */
		uint8_t room[sizeof(struct ib_uverbs_ioctl_hdr) +
			     MAX_ATTRS * sizeof(struct ib_uverbs_attr)];
		struct ib_uverbs_ioctl_hdr hdr;
	};
};

static uint8_t *region, *readonly;

static uint64_t take(struct input *in, size_t n)
{
	uint64_t v = 0;

	if (n > in->left)
		n = in->left;
	memcpy(&v, in->p, n);
	in->p += n;
	in->left -= n;
	return v;
}

static uint64_t address(struct input *in)
{
	uint64_t pick = take(in, 1), at = take(in, 2);

	switch (pick & 7) {
	case 0:
		return (uintptr_t)readonly + at;
	case 1:
		return at; /* page 0 and around: not mapped */
	case 2:
		return (uintptr_t)region + REGION - (at & 0xff);
	default:
		return (uintptr_t)region + (at & ~UINT64_C(0x3f));
	}
}

/* Bytes of the input, with addresses put where the ABI has them (every 8 bytes, as a bit mask
 * says). */
static uint8_t *payload(struct input *in, uint8_t *buf, uint16_t len)
{
	uint8_t mask = (uint8_t)take(in, 1);

	memset(buf, 0, len);
	for (unsigned int i = 0; i + 8 <= len && i < MAX_INLINE * 4; i += 8) {
		uint64_t v = mask >> (i / 8 % 8) & 1 ? address(in) : take(in, 8);

		memcpy(buf + i, &v, 8);
	}
	return buf;
}

static void attribute(struct input *in, const struct uv_attr_spec *spec, struct ib_uverbs_attr *a,
		      uint8_t *buf)
{
	uint8_t odd = (uint8_t)take(in, 1);

	memset(a, 0, sizeof(*a));
	a->attr_id = odd == 1 ? (uint16_t)take(in, 2) : spec->id;
	a->flags = odd == 2 ? 0 : UVERBS_ATTR_F_MANDATORY;
	switch (spec->type) {
	case UV_PTR_IN:
		a->len = odd == 3 ? (uint16_t)take(in, 2)
				  : (uint16_t)(spec->max <= 8 ? spec->max : spec->min);
		if (spec->max == UINT16_MAX && odd >= 4)
			a->len = (uint16_t)(take(in, 2) % 4096);
		if (a->len <= 8)
			a->data = take(in, 8) &
				  (a->len < 8 ? (UINT64_C(1) << (8 * a->len)) - 1 : UINT64_MAX);
		else
			a->data = odd == 5 ? address(in)
					   : (uintptr_t)payload(in, buf,
								a->len < 4096 ? a->len : 4096);
		return;
	case UV_PTR_OUT:
		a->len = odd == 3 ? (uint16_t)take(in, 2) : (uint16_t)(spec->min + (odd & 0xf0));
		a->data = address(in);
		return;
	default:
		a->data = take(in, 1) % 16;
		a->len = odd == 3;
		return;
	}
}

/* File descriptors that a call has made are the program's to close. */
static void close_new(const struct uv_method *m, const struct ib_uverbs_attr *attrs, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		for (unsigned int s = 0; s < m->nspecs; s++)
			if (m->specs[s].type == UV_FD_NEW && m->specs[s].id == attrs[i].attr_id)
				close((int)attrs[i].data_s64);
}

static void one_call(struct input *in, int fd)
{
	static uint8_t bufs[MAX_ATTRS][4096];
	struct call call = {0};
	const struct uv_method *m = &uv_methods[take(in, 1) % uv_nmethods];
	unsigned int n = m->nspecs < MAX_ATTRS ? m->nspecs : MAX_ATTRS;
	struct uv_write w = uv_writes[take(in, 1) % uv_nwrites];
	uint64_t leave_out = take(in, 1), number = w.cmd;

	call.hdr.object_id = m->object;
	call.hdr.method_id = m->method;
	call.hdr.driver_id = RDMA_DRIVER_MLX5;
	for (unsigned int i = 0; i < n; i++) {
		struct ib_uverbs_attr *a = &call.hdr.attrs[call.hdr.num_attrs];

		if (leave_out == 0x80 + i)
			continue;
		attribute(in, &m->specs[i], a, bufs[i]);
		if (m->handler == uv_invoke_write && m->specs[i].id == UVERBS_ATTR_WRITE_CMD)
			a->data = number;
		if (m->handler == uv_invoke_write && m->specs[i].id == UVERBS_ATTR_CORE_IN &&
		    a->len < w.in_len && w.in_len > 8) {
			a->len = (uint16_t)w.in_len;
			a->data = (uintptr_t)payload(in, bufs[i], a->len);
		}
		if (m->handler == uv_invoke_write && m->specs[i].id == UVERBS_ATTR_CORE_OUT &&
		    a->len < w.out_len)
			a->len = (uint16_t)w.out_len;
		call.hdr.num_attrs++;
	}
	call.hdr.length =
		(uint16_t)(sizeof(call.hdr) + call.hdr.num_attrs * sizeof(call.hdr.attrs[0]));
	if (m->handler == uv_invoke_write && w.cmd == IB_USER_VERBS_CMD_CREATE_COMP_CHANNEL)
		return; /* its descriptor is in an answer that may lie anywhere */
	if (m->handler == uv_async_event_alloc)
		return; /* closing it ends the context, at a time of its own */
	if (!uv_ioctl(fd, &call))
		close_new(m, call.hdr.attrs, call.hdr.num_attrs);
}

static int open_context(void)
{
	struct mlx5_ib_alloc_ucontext_req_v2 req = {.flags = MLX5_IB_ALLOC_UCTX_DEVX,
						    .lib_caps = MLX5_LIB_CAP_DYN_UAR};
	int fd = open(UV_NODE_PATH, O_RDWR | O_CLOEXEC);
	struct call call = {0};

	call.hdr.length = sizeof(call.hdr) + sizeof(call.hdr.attrs[0]);
	call.hdr.object_id = UVERBS_OBJECT_DEVICE;
	call.hdr.method_id = UVERBS_METHOD_GET_CONTEXT;
	call.hdr.num_attrs = 1;
	call.hdr.driver_id = RDMA_DRIVER_MLX5;
	call.hdr.attrs[0].attr_id = UVERBS_ATTR_UHW_IN;
	call.hdr.attrs[0].len = sizeof(req);
	call.hdr.attrs[0].data = (uintptr_t)&req;
	if (fd < 0 || uv_ioctl(fd, &call))
		abort();
	return fd;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = {data, size};
	struct uv_ctx *ctx;
	uint64_t dev, ino;
	int fd;

	if (!region) {
		setenv(UV_ENV_WIRE, "local", 1);
		region = mmap(NULL, REGION + 65536, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		readonly = mmap(NULL, REGION, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	}
	fd = open_context();
	for (int i = 0; i < MAX_CALLS && in.left; i++)
		one_call(&in, fd);
	ctx = uv_ctx_of_fd(fd);
	if (!ctx)
		abort();
	dev = ctx->dev;
	ino = ctx->ino;
	uv_ctx_unlock(ctx);
	uv_ctx_end(dev, ino);
	close(fd);
	return 0;
}
