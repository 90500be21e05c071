// SPDX-License-Identifier: BSD-3-Clause
/*
 * Legacy write commands from bytes, as INVOKE_WRITE carries them: a context that has objects of
 * most kinds, then any commands with core structures and driver data as the input says. Each word
 * of a structure is nothing, a small number (handles, states, masks), four bytes of the input or
 * half an address, so that structures are plausible more often than not. Whatever comes, the face
 * answers with an errno, and the NIC behind it lives on.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sim_tests/uverbs_rig.h"

enum { MAX_CALLS = 48, MAX_CORE = 512, MAX_DRV = 64 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
	const uint8_t *p;
	size_t left;
};

static uint8_t *readonly;

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

/* Within the device's memory, at its end, in what can only be read, or nowhere. */
static uint64_t address(struct input *in, const struct ur_dev *d)
{
	uint64_t at = take(in, 2);

	switch (at & 7) {
	case 0:
		return (uintptr_t)readonly + at;
	case 1:
		return at; /* page 0 and around */
	case 2:
		return (uintptr_t)d->mem + UR_MEM - (at >> 8);
	default:
		return (uintptr_t)d->mem + (at & ~UINT64_C(0x3f));
	}
}

static void fill(struct input *in, const struct ur_dev *d, uint8_t *buf, size_t len)
{
	uint64_t kinds = 0, v;

	memset(buf, 0, len);
	for (size_t i = 0; i < len / 4; i++) {
		uint32_t *word = (uint32_t *)(void *)(buf + 4 * i);

		if (i % 32 == 0)
			kinds = take(in, 8);
		switch (kinds >> (i % 32 * 2) & 3) {
		case 0:
			continue;
		case 1:
			v = take(in, 1) & 0x3f;
			break;
		case 2:
			v = take(in, 4);
			break;
		default:
			v = address(in, d);
			if (i % 2 == 0 && i + 1 < len / 4)
				memcpy(word + 1, (uint8_t *)&v + 4, 4);
			break;
		}
		memcpy(word, &v, 4);
		if (i % 2 == 0 && (kinds >> (i % 32 * 2) & 3) == 3)
			i++; /* an address has filled the next word too */
	}
}

static void one_call(struct input *in, const struct ur_dev *d)
{
	_Alignas(8) uint8_t core[MAX_CORE], drv[MAX_DRV];
	const struct uv_write *w = &uv_writes[take(in, 1) % uv_nwrites];
	uint8_t odd = (uint8_t)take(in, 1), *out = d->mem + UR_MEM / 2;
	uint16_t in_len = w->in_len, out_len = w->out_len, drv_len = 0;

	if (odd & 1)
		in_len = (uint16_t)(take(in, 2) % MAX_CORE);
	if (odd & 2)
		out_len = (uint16_t)(take(in, 2) % MAX_CORE);
	if (odd & 4)
		drv_len = (uint16_t)(take(in, 1) % MAX_DRV);
	if (w->cmd == IB_USER_VERBS_CMD_CREATE_COMP_CHANNEL)
		odd &= 0xf7; /* its answer, a descriptor, is ours to close */
	if (odd & 8)
		out = (uint8_t *)(uintptr_t)address(in, d);
	fill(in, d, core, in_len);
	fill(in, d, drv, drv_len);
	memset(d->mem + UR_MEM / 2, 0xff, sizeof(uint32_t));
	if (ur_write(d->fd, w->cmd, core, in_len, out, out_len, drv, drv_len) == 0 &&
	    w->cmd == IB_USER_VERBS_CMD_CREATE_COMP_CHANNEL) {
		int fd;

		memcpy(&fd, out, sizeof(fd));
		close(fd);
	}
}

/* What commands may name: with small numbers as handles. */
static void make_objects(struct ur_dev *d)
{
	static const uint8_t types[] = {IB_UVERBS_QPT_RC, IB_UVERBS_QPT_UD, IB_UVERBS_QPT_UC};
	struct ib_uverbs_reg_mr_resp mr;
	uint32_t pd = ur_pd(d), cq, cqn, qp, qpn;

	(void)ur_pd(d);
	if (ur_cq(d, 0, 1, -1, &cq, &cqn))
		abort();
	for (size_t i = 0; i < sizeof(types); i++)
		(void)ur_qp_of(d, types[i], pd, cq, i, &qp, &qpn);
	(void)ur_reg_mr(d, pd, (uintptr_t)d->mem, UR_MEM, IB_UVERBS_ACCESS_LOCAL_WRITE, &mr);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = {data, size};
	struct ur_dev d;

	if (!readonly)
		readonly = mmap(NULL, UR_MEM * 2, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ur_open(&d);
	make_objects(&d);
	for (int i = 0; i < MAX_CALLS && in.left; i++)
		one_call(&in, &d);
	ur_close(&d);
	close(d.async_fd);
	munmap(d.mem, UR_MEM);
	return 0;
}
