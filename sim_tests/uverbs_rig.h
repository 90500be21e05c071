/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * RDMA ioctls by hand: what libibverbs sends, and what it never would. The face is linked in, its
 * NIC is alone (wire "local"), and the full device plays /dev/infiniband/uverbs0.
 */
#ifndef SIM_TESTS_UVERBS_RIG_H
#define SIM_TESTS_UVERBS_RIG_H

#ifdef HX_WITHOUT_CRITERION
#include "sim_tests/harness_abort.h"
#else
#include <criterion/criterion.h>
#endif
#include <stdint.h>

#include "emu/uverbs/uv.h"

enum { UR_MAX_ATTRS = 16 };

/* One ioctl under construction. */
struct ur_call {
	union { /* the header's attributes follow it */
		uint8_t room[sizeof(struct ib_uverbs_ioctl_hdr) +
			     UR_MAX_ATTRS * sizeof(struct ib_uverbs_attr)];
		struct ib_uverbs_ioctl_hdr hdr;
	};
};

void ur_begin(struct ur_call *c, uint16_t object, uint16_t method);
/* Input of up to 8 bytes lies in the attribute, as libibverbs does it. */
void ur_in(struct ur_call *c, uint16_t id, const void *p, uint16_t len);
void ur_out(struct ur_call *c, uint16_t id, void *p, uint16_t len);
void ur_handle(struct ur_call *c, uint16_t id, uint32_t handle); /* also of fds */
/* Returns what the kernel would: 0 or -errno. */
int ur_run(int fd, struct ur_call *c);
struct ib_uverbs_attr *ur_attr(struct ur_call *c, uint16_t id);

/* INVOKE_WRITE of `cmd`. drv may be NULL. */
int ur_write(int fd, uint32_t cmd, const void *in, uint16_t in_len, void *out, uint16_t out_len,
	     const void *drv, uint16_t drv_len);

/* Turns stderr, and a verbose run, into text: what was said between the two calls. The text is good
 * until the next ur_heard(). */
int ur_hear(void);
const char *ur_heard(int before); /* what ur_hear() returned */

/* An opened device. */
struct ur_dev {
	int fd, async_fd;
	uint32_t uar; /* page id */
	uint8_t *mem; /* UR_MEM bytes, page aligned: rings and records */
};
enum { UR_MEM = 1 << 16 };
void ur_open(struct ur_dev *d);
/* The first step alone: only d->fd is there. */
void ur_get_context(struct ur_dev *d);
/* The same without assertions, for the child of a fork, in which the framework would hang: 0 or
 * -errno. */
int ur_try_context(struct ur_dev *d, uint32_t *vectors, struct mlx5_ib_alloc_ucontext_resp *resp);
/* close(d->fd), as the preload does it. */
void ur_close(struct ur_dev *d);

uint32_t ur_pd(struct ur_dev *d);
int ur_try_pd(struct ur_dev *d, uint32_t *handle); /* without assertions: 0 or -errno */
int ur_pd_destroy(struct ur_dev *d, uint32_t handle);
/* 0 or -errno; handle and key on success. */
int ur_reg_mr(struct ur_dev *d, uint32_t pd, uint64_t addr, uint64_t len, uint32_t access,
	      struct ib_uverbs_reg_mr_resp *resp);
/* 64 CQEs at mem + slot * 8 KiB, record behind them. channel -1: none. */
int ur_cq(struct ur_dev *d, unsigned int slot, uint64_t user_handle, int channel, uint32_t *handle,
	  uint32_t *cqn);
int ur_cq_destroy(struct ur_dev *d, uint32_t handle, struct ib_uverbs_destroy_cq_resp *resp);
int ur_channel(struct ur_dev *d);
/* DEVX_UMEM_REG, DEVX_OBJ_CREATE: 0 or -errno. */
int ur_umem(struct ur_dev *d, void *addr, uint64_t len, uint32_t *handle, uint32_t *id);
int ur_devx_create(struct ur_dev *d, const void *in, size_t in_len, void *out, size_t out_len,
		   uint32_t *handle);
int ur_devx_destroy(struct ur_dev *d, uint32_t handle);
/* An RC QP of 64 send and no receive WQEs, in slot 4. */
/* The same of any type. */
int ur_qp_of(struct ur_dev *d, uint8_t qp_type, uint32_t pd, uint32_t cq, uint64_t user_handle,
	     uint32_t *handle, uint32_t *qpn);
int ur_qp(struct ur_dev *d, uint32_t pd, uint32_t cq, uint64_t user_handle, uint32_t *handle,
	  uint32_t *qpn);
/* MODIFY_QP with attributes that are good for every transition; `mask` says which of them count,
 * besides the state. To the QP with that number behind our own GID. 0 or -errno. */
int ur_modify_qp(struct ur_dev *d, uint32_t qp, uint32_t dest_qpn, uint8_t to, uint32_t mask);

#endif
