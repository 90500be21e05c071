/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A server of the vfio-user protocol: a PCI function whose registers are served over a Unix socket
 * to a virtual machine (QEMU, docs/interop/vfio-user.rst, protocol 0.1; numbers of regions, flags
 * and actions are those of linux/vfio.h).
 *
 * vfu_msg.c is the protocol itself, message by message and without a socket; vfu.c serves it: one
 * thread, one client at a time, the next one when it has gone. Everything a client says is checked
 * before it is used. A message that is understood and wrong gets an error reply; one that cannot be
 * delimited, or any before the version is agreed, ends the connection.
 */
#ifndef GDAKIT_VFU_H
#define GDAKIT_VFU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <linux/vfio.h>

struct vfu;

enum {
	VFU_VECTORS_MAX = 64,	  /* MSI-X */
	VFU_XFER_MAX = 64 * 1024, /* bytes of one region access */
	VFU_FDS_MAX = VFU_VECTORS_MAX,
	VFU_DMA_MAX = 1024, /* ranges of memory at a time */
	VFU_REGIONS = VFIO_PCI_NUM_REGIONS,
};

/*
 * The device. All on the server's thread; `ctx` is the device's own. Errors are negative errno,
 * which the client is told. A range that is read or written lies inside its region.
 */
struct vfu_ops {
	int (*read)(void *ctx, uint32_t region, uint64_t off, void *buf, uint32_t len);
	int (*write)(void *ctx, uint32_t region, uint64_t off, const void *buf, uint32_t len);
	/* Memory of the client: `fd` (-1: none) is closed after the call. */
	int (*dma_map)(void *ctx, uint64_t addr, uint64_t len, int fd, uint64_t off, bool write);
	int (*dma_unmap)(void *ctx, uint64_t addr, uint64_t len);
	void (*reset)(void *ctx);
	void (*gone)(void *ctx); /* the client has gone, and its memory with it */
};

struct vfu_config {
	const struct vfu_ops *ops;
	void *ctx;
	uint64_t region_bytes[VFU_REGIONS]; /* 0: there is no such region */
	uint32_t vectors;		    /* of MSI-X, at most VFU_VECTORS_MAX */
	bool verbose;			    /* what is refused is said on stderr */
};

/* NULL: no memory, or a configuration that makes no sense. Serves nobody yet. */
struct vfu *vfu_create(const struct vfu_config *config);
/*
 * Listens at `path` (made here, removed by vfu_destroy) and serves on a thread of its own. 0 or a
 * negative errno; -ENAMETOOLONG for a path of 108 bytes and more.
 */
int vfu_listen(struct vfu *v, const char *path);
/* Serves one client on a connected stream socket, on the caller's thread, until it has gone. The
 * socket is closed. Not together with vfu_listen. */
void vfu_serve(struct vfu *v, int fd);
/* Ends the connection and the thread; the rest of the server stays. */
void vfu_stop(struct vfu *v);
/* Stops and frees it. NULL: nothing. */
void vfu_destroy(struct vfu *v);

/* Raises an MSI-X vector; nothing if the client has not asked for it. Any thread, never blocks. */
void vfu_raise(struct vfu *v, uint32_t vector);

/* ---- the protocol, for vfu.c and for tests ---- */

enum vfu_command {
	VFU_VERSION = 1,
	VFU_DMA_MAP = 2,
	VFU_DMA_UNMAP = 3,
	VFU_DEVICE_INFO = 4,
	VFU_REGION_INFO = 5,
	VFU_REGION_IO_FDS = 6,
	VFU_IRQ_INFO = 7,
	VFU_SET_IRQS = 8,
	VFU_REGION_READ = 9,
	VFU_REGION_WRITE = 10,
	VFU_DEVICE_RESET = 13,
	VFU_WRITE_MULTI = 15,
};

enum vfu_flags {
	VFU_TYPE_MASK = 0xf,
	VFU_TYPE_COMMAND = 0,
	VFU_TYPE_REPLY = 1,
	VFU_NO_REPLY = 1 << 4,
	VFU_ERROR = 1 << 5,
};

struct vfu_header {
	uint16_t id;
	uint16_t command;
	uint32_t size; /* of the whole message, bytes */
	uint32_t flags;
	uint32_t error;
};

enum {
	VFU_ACCESS_HEAD = 16, /* of a region access before its data */
	VFU_BODY_MAX = VFU_ACCESS_HEAD + VFU_XFER_MAX,
};

struct vfu_message {
	struct vfu_header head;
	uint8_t *body; /* head.size - sizeof(head) bytes */
	int *fds;      /* what the handler keeps it sets to -1; the rest is the caller's to close */
	uint32_t nfds;
};

struct vfu_reply {
	bool none; /* the client wants no reply */
	struct vfu_header head;
	uint8_t body[VFU_BODY_MAX];
};

/* What is wrong with a header, or NULL: the body of one that is right may be read. */
const char *vfu_header_fault(const struct vfu *v, const struct vfu_header *head);
/* Executes a message. False: the connection is to end; *why says it. */
bool vfu_execute(struct vfu *v, struct vfu_message *m, struct vfu_reply *r, const char **why);
/* As when a client has gone. */
void vfu_forget_client(struct vfu *v);

#endif
