// SPDX-License-Identifier: BSD-3-Clause
/*
 * From the bytes of RDMA_VERBS_IOCTL to a request whose attributes are checked against the method's
 * specs.
 *
 * The rules are those of the kernel's documented ABI (rdma/rdma_user_ioctl_cmds.h): attributes come
 * in any order; input of up to 8 bytes lies in `data` itself; an unknown attribute is an error only
 * if it is marked mandatory; EPROTONOSUPPORT says "I do not know this method" and makes libibverbs
 * fall back.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "emu/uverbs/uv.h"

static const struct uv_method *find_method(uint16_t object, uint16_t method)
{
	for (unsigned int i = 0; i < uv_nmethods; i++)
		if (uv_methods[i].object == object && uv_methods[i].method == method)
			return &uv_methods[i];
	return NULL;
}

static struct uv_arg *find_arg(const struct uv_req *req, uint16_t id)
{
	for (unsigned int i = 0; i < req->method->nspecs; i++)
		if (req->method->specs[i].id == id)
			return (struct uv_arg *)&req->args[i];
	return NULL;
}

static struct uv_arg *given_arg(const struct uv_req *req, uint16_t id)
{
	struct uv_arg *arg = find_arg(req, id);

	return arg && arg->user ? arg : NULL;
}

static int check_handle(struct uv_req *req, const struct uv_attr_spec *spec, struct uv_arg *arg)
{
	const char *name = req->method->name;

	if (arg->attr.len)
		return uv_refuse(EINVAL, "%s: handle attribute 0x%x has length %u, expected 0",
				 name, spec->id, arg->attr.len);
	if (spec->type == UV_IDR_NEW)
		return 0;
	if (!req->ctx)
		return uv_refuse(EINVAL, "%s: no context", name);
	arg->obj = arg->attr.data > UINT32_MAX ? NULL
					       : uv_obj_find(req->ctx, (uint32_t)arg->attr.data);
	if (!arg->obj)
		return uv_refuse(ENOENT, "%s: no object with handle %" PRIu64, name,
				 (uint64_t)arg->attr.data);
	if (spec->kind != UV_ANY && arg->obj->kind != spec->kind)
		return uv_refuse(EINVAL, "%s: handle %u is a %s, expected a %s", name,
				 arg->obj->handle, uv_kind_name(arg->obj->kind),
				 uv_kind_name(spec->kind));
	return 0;
}

/* Libraries widen small constants to the 8 bytes of `data`: the excess must be zero. */
static bool is_widened(const struct uv_attr_spec *spec, const struct ib_uverbs_attr *attr)
{
	return spec->type == UV_PTR_IN && spec->max < sizeof(attr->data) &&
	       attr->len <= sizeof(attr->data) && !(attr->data >> (8 * spec->max));
}

static int check_attr(struct uv_req *req, const struct uv_attr_spec *spec, struct uv_arg *arg)
{
	const char *name = req->method->name;

	switch (spec->type) {
	case UV_PTR_IN:
	case UV_PTR_OUT:
		if (arg->attr.len < spec->min)
			return uv_refuse(EINVAL,
					 "%s: attribute 0x%x has %u bytes, expected at least %u",
					 name, spec->id, arg->attr.len, spec->min);
		if (arg->attr.len > spec->max && !is_widened(spec, &arg->attr))
			return uv_refuse(EINVAL,
					 "%s: attribute 0x%x has %u bytes, expected at most %u",
					 name, spec->id, arg->attr.len, spec->max);
		return 0;
	case UV_FD:
	case UV_FD_NEW:
		if (arg->attr.len)
			return uv_refuse(EINVAL,
					 "%s: descriptor attribute 0x%x has length %u, expected 0",
					 name, spec->id, arg->attr.len);
		if (spec->type == UV_FD &&
		    (arg->attr.data_s64 < 0 || arg->attr.data_s64 > INT32_MAX))
			return uv_refuse(EBADF, "%s: attribute 0x%x is not a file descriptor", name,
					 spec->id);
		return 0;
	case UV_IDR:
	case UV_IDR_NEW:
	case UV_IDR_DESTROY:
		return check_handle(req, spec, arg);
	}
	return -EINVAL;
}

static int take_attr(struct uv_req *req, const struct ib_uverbs_attr *attr, uint64_t user)
{
	struct uv_arg *arg = find_arg(req, attr->attr_id);

	if (!arg) {
		if (attr->flags & UVERBS_ATTR_F_MANDATORY)
			return uv_refuse(EPROTONOSUPPORT,
					 "%s: mandatory attribute 0x%x is not known",
					 req->method->name, attr->attr_id);
		return 0;
	}
	if (arg->user)
		return uv_refuse(EINVAL, "%s: attribute 0x%x given twice", req->method->name,
				 attr->attr_id);
	if (attr->attr_data.reserved)
		return uv_refuse(EINVAL, "%s: attribute 0x%x has reserved bits set",
				 req->method->name, attr->attr_id);
	arg->attr = *attr;
	arg->user = user;
	return check_attr(req, &req->method->specs[arg - req->args], arg);
}

/* Fills req->args from the program's array at `attrs`. */
static int parse(struct uv_req *req, uint64_t attrs, unsigned int n)
{
	struct ib_uverbs_attr copy[UV_IOCTL_MAX / sizeof(struct ib_uverbs_attr)];
	int ret = uv_copy_in(copy, attrs, n * sizeof(copy[0]));

	for (unsigned int i = 0; !ret && i < n; i++)
		ret = take_attr(req, &copy[i], attrs + i * sizeof(copy[0]));
	for (unsigned int i = 0; !ret && i < req->method->nspecs; i++)
		if (req->method->specs[i].mandatory && !req->args[i].user)
			ret = uv_refuse(EINVAL, "%s: attribute 0x%x is missing", req->method->name,
					req->method->specs[i].id);
	return ret;
}

static int check_header(const struct ib_uverbs_ioctl_hdr *hdr)
{
	if (hdr->length != sizeof(*hdr) + hdr->num_attrs * sizeof(struct ib_uverbs_attr))
		return uv_refuse(EINVAL, "ioctl header says %u bytes, but %u attributes make %zu",
				 hdr->length, hdr->num_attrs,
				 sizeof(*hdr) + hdr->num_attrs * sizeof(struct ib_uverbs_attr));
	if (hdr->length > UV_IOCTL_MAX)
		return uv_refuse(EINVAL, "ioctl has %u bytes of attributes, at most %u are taken",
				 hdr->length, UV_IOCTL_MAX);
	if (hdr->reserved1 || hdr->reserved2)
		return uv_refuse(EPROTONOSUPPORT, "ioctl header has reserved bits set");
	return 0;
}

static int run(struct uv_req *req, const struct ib_uverbs_ioctl_hdr *hdr, uint64_t arg)
{
	int ret = check_header(hdr);

	if (ret)
		return ret;
	if (hdr->driver_id != RDMA_DRIVER_MLX5)
		return uv_refuse(EINVAL, "ioctl of driver id %u, expected %u (mlx5)",
				 hdr->driver_id, RDMA_DRIVER_MLX5);
	req->method = find_method(hdr->object_id, hdr->method_id);
	if (!req->method)
		return uv_refuse(EPROTONOSUPPORT, "%s (0x%x) of %s (0x%x) is not emulated",
				 uv_name_of_method(hdr->object_id, hdr->method_id), hdr->method_id,
				 uv_name_of_object(hdr->object_id), hdr->object_id);
	if (!req->ctx && !req->method->without_ctx)
		return uv_refuse(EINVAL, "%s before GET_CONTEXT", req->method->name);
	ret = parse(req, arg + offsetof(struct ib_uverbs_ioctl_hdr, attrs), hdr->num_attrs);
	if (ret)
		return ret;
	req->name = req->method->name;
	ret = req->method->handler(req);
	/* Wherever it was that a descriptor was missing: the program's own limit is the reason. */
	if (ret == -EMFILE || ret == -ENFILE)
		uv_say("%s: too many open files, no descriptor is left for it (ulimit -n)",
		       req->name);
	return ret;
}

int uv_ioctl(int fd, void *arg)
{
	struct uv_req req = {.fd = fd, .ctx = uv_ctx_of_fd(fd)};
	struct ib_uverbs_ioctl_hdr hdr = {0};
	int ret;

	if (!req.ctx && !uv_fd_is_device(fd))
		return -ENOTTY;
	if (req.ctx && req.ctx->dead)
		ret = uv_refuse(EIO, "this context belongs to the parent process: open the device "
				     "again after fork()");
	else
		ret = uv_copy_in(&hdr, (uintptr_t)arg, sizeof(hdr));
	if (!ret)
		ret = run(&req, &hdr, (uintptr_t)arg);
	if (req.ctx)
		uv_ctx_unlock(req.ctx);
	return ret;
}

/* ---- what handlers use ---- */

bool uv_has(const struct uv_req *req, uint16_t id)
{
	return given_arg(req, id) != NULL;
}

size_t uv_len(const struct uv_req *req, uint16_t id)
{
	const struct uv_arg *arg = given_arg(req, id);

	return arg ? arg->attr.len : 0;
}

static int arg_read(const struct uv_arg *arg, void *dst, size_t len)
{
	if (arg->attr.len <= sizeof(arg->attr.data)) {
		memcpy(dst, &arg->attr.data, len);
		return 0;
	}
	return uv_copy_in(dst, arg->attr.data, len);
}

int uv_in(const struct uv_req *req, uint16_t id, void *dst, size_t len)
{
	const struct uv_arg *arg = given_arg(req, id);

	memset(dst, 0, len);
	if (!arg)
		return -ENOENT;
	return arg_read(arg, dst, arg->attr.len < len ? arg->attr.len : len);
}

bool uv_is_zero_from(const struct uv_req *req, uint16_t id, size_t off)
{
	const struct uv_arg *arg = given_arg(req, id);
	size_t len = arg ? arg->attr.len : 0;
	uint8_t chunk[256];

	while (off < len) {
		size_t n = len - off < sizeof(chunk) ? len - off : sizeof(chunk);

		if (len <= sizeof(arg->attr.data))
			memcpy(chunk, (const uint8_t *)&arg->attr.data + off, n);
		else if (uv_copy_in(chunk, arg->attr.data + off, n))
			return false;
		for (size_t i = 0; i < n; i++)
			if (chunk[i])
				return false;
		off += n;
	}
	return true;
}

int uv_in_alloc(const struct uv_req *req, uint16_t id, void **p, size_t *len, size_t max)
{
	const struct uv_arg *arg = given_arg(req, id);
	int ret;

	*p = NULL;
	*len = 0;
	if (!arg)
		return -ENOENT;
	if (arg->attr.len > max)
		return -EINVAL;
	*p = calloc(1, arg->attr.len ? arg->attr.len : 1);
	if (!*p)
		return -ENOMEM;
	*len = arg->attr.len;
	ret = arg_read(arg, *p, *len);
	if (ret) {
		free(*p);
		*p = NULL;
	}
	return ret;
}

uint64_t uv_in_u64(const struct uv_req *req, uint16_t id, uint64_t otherwise)
{
	uint64_t v;

	return uv_in(req, id, &v, sizeof(v)) ? otherwise : v;
}

static int mark_valid(const struct uv_arg *arg)
{
	uint16_t flags = arg->attr.flags | UVERBS_ATTR_F_VALID_OUTPUT;

	return uv_copy_out(arg->user + offsetof(struct ib_uverbs_attr, flags), &flags,
			   sizeof(flags));
}

int uv_out(const struct uv_req *req, uint16_t id, const void *src, size_t len)
{
	static const uint8_t zero[256];
	const struct uv_arg *arg = given_arg(req, id);
	size_t n;
	int ret;

	if (!arg)
		return 0;
	n = arg->attr.len < len ? arg->attr.len : len;
	ret = uv_copy_out(arg->attr.data, src, n);
	while (!ret && n < arg->attr.len) {
		size_t chunk = arg->attr.len - n < sizeof(zero) ? arg->attr.len - n : sizeof(zero);

		ret = uv_copy_out(arg->attr.data + n, zero, chunk);
		n += chunk;
	}
	return ret ? ret : mark_valid(arg);
}

struct uv_obj *uv_obj(const struct uv_req *req, uint16_t id)
{
	const struct uv_arg *arg = given_arg(req, id);

	return arg ? arg->obj : NULL;
}

int uv_fd(const struct uv_req *req, uint16_t id)
{
	const struct uv_arg *arg = given_arg(req, id);

	return arg ? (int)arg->attr.data_s64 : -1;
}

static int set_data(const struct uv_req *req, uint16_t id, int64_t value)
{
	const struct uv_arg *arg = given_arg(req, id);
	int ret;

	if (!arg)
		return -EINVAL;
	ret = uv_copy_out(arg->user + offsetof(struct ib_uverbs_attr, data), &value, sizeof(value));
	return ret ? ret : mark_valid(arg);
}

int uv_set_handle(const struct uv_req *req, uint16_t id, uint32_t handle)
{
	return set_data(req, id, handle);
}

int uv_set_fd(const struct uv_req *req, uint16_t id, int fd)
{
	return set_data(req, id, fd);
}

/* ---- the legacy write() commands, which libibverbs sends as one method ---- */

int uv_invoke_write(struct uv_req *req)
{
	uint8_t in[256] = {0}, out[UV_WRITE_OUT_MAX] = {0};
	const struct uv_write *cmd = NULL;
	uint32_t number;
	int ret;

	ret = uv_in(req, UVERBS_ATTR_WRITE_CMD, &number, sizeof(number));
	if (ret)
		return ret;
	for (unsigned int i = 0; i < uv_nwrites; i++)
		if (uv_writes[i].cmd == number)
			cmd = &uv_writes[i];
	if (!cmd)
		return uv_refuse(EOPNOTSUPP, "write command %s (0x%x) is not emulated",
				 uv_name_of_write(number), number);
	if (uv_len(req, UVERBS_ATTR_CORE_IN) < cmd->in_len ||
	    uv_len(req, UVERBS_ATTR_CORE_OUT) < cmd->out_len)
		return -ENOSPC; /* said by nobody: libibverbs probes with it */
	if (!req->ctx)
		return uv_refuse(EINVAL, "%s before GET_CONTEXT", cmd->name);
	req->name = cmd->name;
	/* What a later library added must be told from what it means: nothing yet. */
	if (!uv_is_zero_from(req, UVERBS_ATTR_CORE_IN, cmd->in_known))
		return uv_refuse(EOPNOTSUPP,
				 "%s: %zu bytes of input, and those behind the %u known are not "
				 "all zero",
				 cmd->name, uv_len(req, UVERBS_ATTR_CORE_IN), cmd->in_known);
	ret = uv_in(req, UVERBS_ATTR_CORE_IN, in, sizeof(in));
	if (ret && ret != -ENOENT)
		return ret;
	req->write_out_len = uv_len(req, UVERBS_ATTR_CORE_OUT);
	ret = cmd->handler(req, in, out);
	if (ret || !uv_has(req, UVERBS_ATTR_CORE_OUT))
		return ret;
	return uv_out(req, UVERBS_ATTR_CORE_OUT, out, sizeof(out));
}
