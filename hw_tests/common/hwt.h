/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the programs of hw_tests share: perftest's options, one session (GPU or CPU for the kernels,
 * RDMA device, queue pairs of the GPUNetIO engine, connection to the other half) and the result
 * table. Nothing here knows whether the NIC is real.
 *
 * Functions return 0, or -1 after printing the reason to stderr. One thread per session.
 */
#ifndef HWT_H
#define HWT_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "doca_gpunetio_host.h"
#include "hw_tests/common/bw_kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

#define HWT_SIZES     16  /* message sizes of a sweep, and buffers of a server */
#define HWT_SLOTS_MAX 512 /* messages of that size that fit into one such buffer */
#define HWT_SLOTS_MIN 32  /* messages of any size that must fit: one warp's */
/* The largest of these buffers, 512 messages of 1 MiB; larger messages share it, fewer of them. */
#define HWT_BUFFER_BYTES (512u << 20)
#define HWT_QPS_MAX	 64
#define HWT_SQ_DEPTH	 2048

/*
 * Exit codes: 0 all bytes right; 1 wrong bytes, a failed request, or a client that ended early;
 * 2 could not start; 3 hung. (argp's, 64: a mistake on the command line.)
 */
enum { HWT_EXIT_OK, HWT_EXIT_WRONG, HWT_EXIT_SETUP, HWT_EXIT_HUNG };

/* The programs, as bits: each has the options that mean something to it. */
enum hwt_program { HWT_PUT_BW = 1, HWT_WRITE_BW = 2, HWT_ONESIDED = 4 };

struct hwt_options {
	enum hwt_program program;
	const char *device; /* RDMA device, exact name; NULL: the first */
	const char *gpu;    /* PCI address, "gpu", "cpu", or NULL: a GPU if there is one */
	const char *server; /* NULL: this half is the server */
	uint32_t size;	    /* bytes of a message; 0: sweep */
	uint32_t iters;	    /* messages per size; 0: by the kind of kernel */
	uint32_t slots;	    /* messages that have memory of their own; 0: by the kind of kernel */
	uint32_t qps, post_list;
	int gid_index, port, timeout_s;
	enum doca_gpu_dev_verbs_exec_scope scope;
	enum doca_gpu_dev_verbs_nic_handler handler;
	enum doca_gpu_verbs_send_dbr_mode_ext dbr_mode;
	uint32_t seed; /* of the bytes sent; 0: upstream's (buffer number + 1) */
	bool upstream; /* the other half is upstream's example: no control steps */
};

/* Memory with its key. */
struct hwt_mem {
	void *ptr;
	size_t size;
	struct ibv_mr *mr;
	bool on_gpu;
};

/* A server's buffer as told to the client; 12 bytes on the wire. */
struct hwt_remote {
	uint64_t addr;
	uint32_t rkey;
};

struct hwt {
	const struct hwt_options *opt;
	const struct gdakit_rt *rt;
	struct doca_gpu *gpu;
	char kernel_on[96]; /* for the table: where kernels run */
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_port_attr port;
	union ibv_gid gid;
	int sock;
	struct doca_gpu_verbs_qp_hl *qp[HWT_QPS_MAX];
	struct doca_gpu_verbs_qp *gverbs[HWT_QPS_MAX];
	uint32_t qp_count;
	struct doca_gpu_dev_verbs_qp *qps_dev; /* qp_count handles for kernels */
	doca_gpu_verbs_service_t proxy;	       /* NULL: no QP needs one */
	gdakit_stream stream;
	gdakit_event start, stop;
};

/* Fills opt from the command line (exits on a mistake, as argp does). doc describes the program. */
void hwt_parse(struct hwt_options *opt, enum hwt_program program, int argc, char **argv,
	       const char *doc);

/* The enumerator's name: "DOCA_ERROR_INVALID_VALUE". Never NULL. */
const char *hwt_error_name(doca_error_t error);
/* 0 for DOCA_SUCCESS; else -1, after saying what failed and the error's name. */
int hwt_check(const char *what, doca_error_t error);

/* Kernel runtime, GPU, RDMA device, PD. hwt_close() also after a failure. */
int hwt_open(struct hwt *h, const struct hwt_options *opt);
void hwt_close(struct hwt *h);

/* QPs in state RST with their device handles; the CPU proxy runs if they need it. */
int hwt_create_qps(struct hwt *h, uint32_t count);
/* Sends own QP number, GID and LID over h->sock, receives the peer's and connects; for each QP. */
int hwt_connect(struct hwt *h);
/* RST to RTS towards that peer. */
int hwt_connect_qp(struct hwt *h, struct doca_verbs_qp *qp, uint32_t qpn, const union ibv_gid *gid,
		   uint32_t lid);

/* Zeroed host memory, or the GPU's (not zeroed), registered with IBV_ACCESS_* rights. */
int hwt_mem_host(struct hwt *h, struct hwt_mem *mem, size_t size, int access);
int hwt_mem_gpu(struct hwt *h, struct hwt_mem *mem, size_t size, int access);
void hwt_mem_free(struct hwt *h, struct hwt_mem *mem);

/*
 * Waits for what is queued on h->stream. A kernel that does not end within the -T limit cannot be
 * stopped: the process then says so and leaves with HWT_EXIT_HUNG.
 */
int hwt_wait_kernel(struct hwt *h, const char *what);
/* Explains a status with failures; 0 if there are none. */
int hwt_check_status(struct hwt *h, const struct hwt_status *status, const char *what);

/* Message sizes of a sweep: 1, 64, 128 ... 1 MiB. i < HWT_SIZES. */
uint32_t hwt_size(uint32_t i);

/* The byte that message bytes at offset of buffer number buf carry. */
static inline uint8_t hwt_pattern(uint32_t seed, uint32_t buf, size_t offset)
{
	if (!seed)
		return (uint8_t)(buf + 1);
	return (uint8_t)((offset * 167) ^ ((offset >> 8) * 31) ^ ((offset >> 16) * 59) ^
			 (seed * 97 + buf * 13));
}

void hwt_fill(uint8_t *dst, size_t len, uint32_t seed, uint32_t buf);
/* Bytes of [mem, mem + len) that are not the pattern's. */
uint64_t hwt_count_wrong(const uint8_t *mem, size_t len, uint32_t seed, uint32_t buf);

/* ---- the bandwidth programs ---- */

/* One size: the client asks for it, the server checks it. Goes over the wire as it is. */
struct hwt_run {
	uint32_t magic, buf, size, slots, seed, iters;
	uint32_t left; /* sizes that will follow; a client that closes before them ended early */
};

struct hwt_verdict {
	uint32_t magic, reserved;
	uint64_t wrong;
};

/*
 * Everything after hwt_parse(): both halves. cpu and cuda are the kernels as built for each; a NULL
 * table or member was not built or does not exist. Returns the exit code.
 */
int hwt_bw_main(const struct hwt_options *opt, const char *title, const struct bw_kernels *cpu,
		const struct bw_kernels *cuda);

#ifdef __cplusplus
}
#endif

#endif
