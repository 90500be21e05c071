/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A stand-in for rdma-core and the firmware behind it, for CUDA, and for the allocator: keeps the
 * last mailbox of each command, counts what lives, refuses when told to. Only as much NIC as the
 * engine's tests need; the model proper is elsewhere.
 */
#ifndef GDAKIT_ENGINE_FAKE_H
#define GDAKIT_ENGINE_FAKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cuda_driver.h"
#include "rdma.h"

/* Whose calls can be told to fail. */
enum fake_kind {
	FAKE_RDMA = 1,
	FAKE_CUDA = 2,	 /* and GDRCopy */
	FAKE_MEMORY = 4, /* malloc and its kin, as the program under test calls them */
	FAKE_THREAD = 8, /* pthread_create */
	FAKE_ALL = 15,
};

struct fake {
	/* What the device is. */
	bool is_ethernet;
	bool has_no_dbr_ext;
	bool has_core_direct;
	bool has_dedicated_uar;
	bool no_libraries; /* dlopen() finds nothing */
	uint8_t roce_version;
	uint8_t log_max_qp_sz;	   /* the deepest SQ: 15 */
	uint32_t qp_state, qp_mtu; /* QUERY_QP's answer */

	/*
	 * Refuse the call number fail_at (from 1; 0: none) of all that can fail, with this errno
	 * (ENOMEM is CUDA's "out of memory" too), and those after it if fails_on. Only calls of
	 * these kinds are counted. `failed` names the first call that was refused.
	 */
	unsigned int fail_at, calls, fail_kinds;
	bool fails_on;
	int fail_errno;
	const char *failed;

	/* What lives. All zero when a test ends. */
	int objects, umems, uars, ahs;
	int blocks;	      /* of malloc and its kin; atomic */
	size_t largest_block; /* bytes of the largest request; of one thread */
	unsigned int naps;    /* of nanosleep() outside the test's own thread; atomic */
	/* What the other side kept because it refused a call that gives something back for good. */
	int kept;

	/* The last mailbox of each opcode, and its size. */
	struct {
		uint8_t in[1024];
		size_t size;
		unsigned int count;
	} command[0x1000];

	struct mlx5dv_devx_umem_in last_umem;
	struct ibv_ah_attr last_ah;
};

extern struct fake fake;
extern struct ibv_pd fake_pd; /* fake_pd.context is the device */

/* A default device (InfiniBand, everything supported; only FAKE_RDMA can fail) in rdma-core's
 * place. */
void fake_reset(void);

/* The same device, and what lives goes on living: only the refusals end. */
void fake_obey(void);

/* The last input of a command; fails the test if there was none. */
const uint8_t *fake_input(uint32_t opcode);

/* Big-endian values at a byte offset. */
uint32_t be32_at(const uint8_t *p, size_t offset);
uint64_t be64_at(const uint8_t *p, size_t offset);

/* A CUDA driver and a GDRCopy whose GPU memory is host memory at other addresses than asked for. */
enum { FAKE_CUDA_BLOCKS = 64 };
struct fake_cuda {
	int allocations, registrations, mappings, contexts, streams, depth;
	bool refuses_io; /* no mapping of doorbell pages */
	bool has_dmabuf;
	bool all_is_device; /* the answer about any pointer */
	unsigned int last_register_flags;
	cuda_ptr block[FAKE_CUDA_BLOCKS]; /* the allocations */
};
extern struct fake_cuda fake_cuda;

/* What CUDA has that nobody can give back any more; its memory is freed, all counts are zero. */
int fake_cuda_sweep(void);
extern const struct cuda_ops fake_cuda_ops;
extern const struct gdr_ops fake_gdr_ops;

/* The NIC and the allocator forget what lives. */
void fake_forget(void);

/* Is it this call's turn to fail? Counts it, and sets errno. */
bool fake_fails(enum fake_kind kind, const char *call);

/* The allocator itself, behind the wrappers that count and fail (ld's --wrap): for the fake's own.
 */
void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
int __real_posix_memalign(void **memory, size_t alignment, size_t size);
void __real_free(void *memory);

#endif
