/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The uverbs face: what mlx5_ib and ib_uverbs do in a kernel, inside the program.
 *
 *   preload.c       ioctl(), close()...  -> uv_ioctl(), uv_closing()
 *   codec.c         attributes           -> struct uv_req, bounds checked against
 *   tables.c        (object, method)     -> handler and attribute specs; INVOKE_WRITE commands
 *   names.c         number of a method or command -> its name, for messages
 *   context.c       command fds, handles, teardown
 *   face.c          the NICs of this process
 *   mem.c           addresses that the program names
 *   device.c        what the device and the port are
 *   verbs_*.c       PD, MR, MW, AH, CQ, QP, SRQ, XRC domain -> PRM commands
 *   devx.c          mailboxes, umems, UARs
 *   pages.c         pages of the command file that are no doorbells
 *   events.c        EQEs -> event fds, and who has read how many
 *
 * Locks, in the order in which they may be taken:
 *   end lock      held while a context ends (context.c)
 *   face lock     list of contexts, the world (context.c)
 *   context lock  handle table and objects of one context; held for the whole of a call
 *   world lock    inside world_command(); the model
 *   event lock    event fds and routes (events.c); a leaf: nothing is called under it
 *
 * The ABI's structures and numbers are those of the packaged kernel headers (rdma/...).
 */
#ifndef GDAKIT_UVERBS_UV_H
#define GDAKIT_UVERBS_UV_H

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/mlx5-abi.h>
#include <rdma/mlx5_user_ioctl_cmds.h>
#include <rdma/mlx5_user_ioctl_verbs.h>
#include <rdma/rdma_user_ioctl_cmds.h>

#include "emu/uverbs/identity.h"
#include "emu/world/world.h"
#include "prm/prm.h"

enum {
	UV_MEMIC_PAGES = 64, /* device memory of one NIC in one process: a ConnectX's 256 KiB */
	UV_UAR_PAGES = 2048, /* of one NIC in one process */
	UV_CTX_UARS = 1216,  /* of one context; below the kernel's special mmap offsets (5 << 8) */
	UV_COMP_VECTORS = 4, /* completion EQs */
	UV_MAILBOX_MAX = 16 << 20, /* bytes of one DevX mailbox; a kernel takes about as much */
	UV_MAX_ATTRS = 32,	   /* of a method's specs */
	UV_IOCTL_MAX = 4096,	   /* bytes of a header with its attributes */
	UV_WRITE_OUT_MAX = 512,	   /* largest core response */
	UV_PORT = 1,
	UV_MEMFD_BYTES = 64 << 20, /* of the file in a command fd's place; sparse */
	UV_GID_INDEX_CM = 0,	   /* which the connection manager uses: RoCE v2, IPv4 */
	UV_PKEY = 0xffff,
};

/* ---- saying why (face.c) ---- */

/* Prints "gdakit: ..." on stderr in a verbose run. */
void uv_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* The same in any run: the program cannot know it. */
void uv_say_always(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* The same in any run. */
void uv_warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Says why and returns -err. */
int uv_refuse(int err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* ---- memory of the program (mem.c) ---- */

/* memcpy() from or to an address that the program named: 0 or -EFAULT. */
int uv_copy_in(void *dst, uint64_t src, size_t len);
int uv_copy_out(uint64_t dst, const void *src, size_t len);
/* Is all of [addr, addr+len) mapped, readable, and writable if `write`? 0 or -EFAULT, and says
 * which part is not. */
int uv_range_check(uint64_t addr, uint64_t len, bool write);

/* How a VA-contiguous range is told to the NIC: pages of 1 << shift bytes, the first holds addr at
 * `offset`. */
struct uv_pages {
	uint8_t shift;
	uint64_t first;	 /* address of the first page */
	uint64_t offset; /* of the range in it */
	uint64_t count;
};
/*
 * The shortest list for [addr, addr+len), len > 0. The offset will be a multiple of (page size >>
 * offset_bits): contexts of rings have 6 bits for it. `same` is congruent with addr modulo the page
 * size: an mkey's iova; addr itself sets no condition. The caller has checked that addr suits pages
 * of 4 KiB.
 */
enum { UV_RING_OFFSET = 6, UV_ANY_OFFSET = 64 };
struct uv_pages uv_pages_of(uint64_t addr, uint64_t len, uint64_t same, unsigned int offset_bits);
void uv_pages_fill(const struct uv_pages *pages, void *pas);

/* ---- objects and handles (context.c) ---- */

enum uv_kind {
	UV_PD,
	UV_MR,
	UV_MW,
	UV_DM,
	UV_AH,
	UV_CQ,
	UV_QP,
	UV_SRQ,
	UV_XRCD,
	UV_UAR,
	UV_VAR,
	UV_DEVX_OBJ,
	UV_DEVX_UMEM,
	UV_KINDS,
	UV_ANY = UV_KINDS, /* an attribute that takes several kinds */
};

enum { UV_MAX_USES = 4 };

/* Head of every object. Owned by its context; guarded by the context lock. */
struct uv_obj {
	enum uv_kind kind;
	uint32_t handle;
	uint32_t users; /* objects that use this one: destroy answers EBUSY */
	uint32_t num;	/* in the NIC: pdn, mkey index, cqn, qpn, umem id, UAR page */
	struct uv_obj *uses[UV_MAX_USES]; /* NULL where unused */
	struct uv_obj *older, *newer;	  /* order of creation, for teardown */
};

struct uv_ctx;
struct uv_event_file;

struct uv_mr {
	struct uv_obj obj;
	uint64_t start, length, iova;
	uint32_t access;
	uint32_t key;
	uint8_t tag; /* low byte of the key */
};

struct uv_dm {
	struct uv_obj obj;
	uint64_t addr;	 /* in the device's BAR */
	uint64_t length; /* as asked */
	uint64_t size;	 /* of the allocation */
	uint32_t page, pages;
};

/* Where an object's events go, and how many were put there. Guarded by the event lock. */
struct uv_event_route {
	uint64_t user_handle;
	struct uv_event_file *comp, *async;
	uint32_t comp_sent, async_sent;
	uint32_t num;
	uint8_t nic;		     /* whose number that is */
	struct uv_event_route *next; /* of a hash bucket */
};

struct uv_cq {
	struct uv_obj obj;
	struct uv_event_route route;
	uint32_t entries;
	uint8_t cqe_size; /* bytes */
};

struct uv_srq {
	struct uv_obj obj;
	struct uv_event_route route;
	uint8_t type; /* enum ib_uverbs_srq_type */
	uint32_t max_wr, max_sge;
};

struct uv_target;

struct uv_qp {
	struct uv_obj obj;
	struct uv_event_route route;
	uint16_t uid;		  /* who commands it: the context, the driver (0) an XRC target */
	struct uv_target *target; /* XRC target: what all handles of it share; else NULL */
	uint8_t type;		  /* enum ib_uverbs_qp_type */
	uint8_t state;		  /* enum ib_qp_state, what the last modify left */
	bool sig_all;
	struct uv_group *groups; /* verbs_ah.c: multicast groups that it is in */
	struct ib_uverbs_qp_cap cap;
	uint32_t access;	    /* last qp_access_flags */
	uint8_t max_dest_rd_atomic; /* last */
	uint8_t max_rd_atomic;
	uint8_t port;
	uint32_t remote_qpn;
};

struct uv_uar {
	struct uv_obj obj;
	uint32_t slot; /* page of the context's memfd */
};

struct uv_devx_obj {
	struct uv_obj obj;
	uint16_t create_opcode, destroy_opcode;
	uint16_t general_type; /* obj_type of a general object, else 0 */
};

struct uv_ctx {
	pthread_mutex_t lock;
	struct uv_ctx *next; /* face list */
	uint64_t dev, ino;   /* identity of the memfd that stands for the command fd */
	uint32_t refs;	     /* face lock: calls under way, and the list */
	bool dead;	     /* closed, or opened by the parent of a fork: no NIC behind it here */
	uint8_t nic;	     /* index: N of the node uverbsN that was opened */
	uint16_t uid;
	uint32_t tdn;
	struct uv_obj **slot; /* handle -> object */
	uint32_t slots, full; /* allocated; those below `full` are taken */
	struct uv_obj *newest;
	uint32_t objects;
	uint64_t *clock_page; /* the NIC's mapping of the device's clock; NULL: there is none */
	uint64_t vars;	      /* VAR pages in use */
	uint64_t uar_slots[UV_CTX_UARS / 64]; /* pages of the memfd in use */
	unsigned int next_uar_slot;
	struct uv_event_file *async; /* the first one; where events without an EVENT_FD go */
};

/* Allocates an object of `size` bytes with a handle, counts it at `uses`. NULL: no memory. */
void *uv_obj_new(struct uv_ctx *ctx, enum uv_kind kind, size_t size, struct uv_obj *const *uses,
		 unsigned int nuses);
/* Takes it out of the table and frees it; the NIC's side is the caller's. */
void uv_obj_free(struct uv_ctx *ctx, struct uv_obj *obj);
/* The NIC's side first, then uv_obj_free(): 0, -EBUSY while used, or what the NIC said. */
int uv_obj_destroy(struct uv_ctx *ctx, struct uv_obj *obj);
struct uv_obj *uv_obj_find(struct uv_ctx *ctx, uint32_t handle);
const char *uv_kind_name(enum uv_kind kind);

/* Per kind (tables.c): name, and how the NIC's side is destroyed (0 or -errno; the object stays
 * then). */
struct uv_kind_ops {
	const char *name;
	int (*destroy)(struct uv_ctx *ctx, struct uv_obj *obj);
};
extern const struct uv_kind_ops uv_kinds[UV_KINDS];

/* ---- the NICs of this process (face.c) ---- */

/*
 * Which NIC the calling thread speaks for until uv_nic_leave(): whoever takes a context's lock
 * enters its NIC. All functions of this section are about the NIC that was entered, or the first
 * one. index < UV_MAX_NICS.
 */
void uv_nic_enter(unsigned int index);
void uv_nic_leave(void);
unsigned int uv_nic_index(void);

/* One PRM command. `uid` 0: as the driver. Status byte; out has status and syndrome; why:
 * NM_WHY_MAX or NULL. */
uint8_t uv_command_raw(uint16_t uid, const void *in, size_t in_len, void *out, size_t out_len,
		       char *why);
/* The same for a verb: a refusal becomes the errno that a kernel makes of that status.
 */
int uv_command(uint16_t uid, const char *what, const void *in, size_t in_len, void *out,
	       size_t out_len);
/* {opcode, number} commands: destroys and the like. number 0 and out NULL are fine. */
int uv_command_simple(uint16_t uid, const char *what, uint16_t opcode, uint32_t number,
		      uint32_t *result);
/* QUERY_HCA_CAP, current values, as asked once at start; all zero if the NIC has no such type. */
enum uv_cap {
	UV_CAP_GENERAL,
	UV_CAP_ATOMIC,
	UV_CAP_ROCE,
	UV_CAP_GENERAL_2,
	UV_CAP_DEVICE_MEM,
	UV_CAPS
};
const void *uv_cap(enum uv_cap which);
uint32_t uv_eqn(uint32_t comp_vector); /* vector < UV_COMP_VECTORS */
uint32_t uv_null_mkey(void);	       /* what ibv_alloc_null_mr() gives */
/* How many NICs the host has, as the launcher said; 1 if it did not, or not 1 to UV_MAX_NICS. */
unsigned int uv_nics(void);
const struct uv_identity *uv_identity(void);
bool uv_link_is_ethernet(void);
const struct uv_model *uv_model(void);
/* May an address name this source GID? 0, -EINVAL beyond the table, -ENODATA for an entry without
 * a GID (Linux: rdma_get_gid_attr). */
int uv_check_sgid(const char *command, uint32_t index);
bool uv_verbose(void);
uint32_t uv_kernel_uar(void); /* UAR page of the driver itself */
/* Is that in the NICs' own mapping of their UAR pages? */
bool uv_is_nics_page(uint64_t addr);
/*
 * Pages of device memory: takes n neighbours that are free (their first, or -ENOMEM), puts pages of
 * the command fd's file in their place (0 or -errno), gives them back.
 */
int uv_memic_take(uint32_t n);
int uv_memic_bind(int fd, uint32_t page, uint32_t n);
void uv_memic_give(uint32_t page, uint32_t n);
uint8_t *uv_memic(void); /* where this NIC's is */
/*
 * Operations on mapped device memory (memic_ops.c): are there any; the page number that the program
 * maps for operation `op` (0 increment, 1 test and set) on a page; and accesses to such pages of
 * the context's file mean that memory from now on: 0 or -EOPNOTSUPP.
 */
bool uv_memic_ops(void);
uint16_t uv_memic_op_page(uint8_t op, uint32_t page);
int uv_memic_op_map(const struct uv_ctx *ctx, uint8_t op, uint8_t *memory);
/* Puts page `slot` of the command fd's file in the place of the NIC's page. 0 or -errno. */
int uv_uar_bind(int fd, uint32_t uar_page, uint32_t slot);

/* ---- requests (codec.c) ---- */

enum uv_attr_type {
	UV_PTR_IN,
	UV_PTR_OUT,
	UV_IDR,	    /* handle of an object */
	UV_IDR_NEW, /* handle is returned */
	UV_IDR_DESTROY,
	UV_FD,
	UV_FD_NEW,
};

struct uv_attr_spec {
	uint16_t id;
	enum uv_attr_type type;
	bool mandatory;
	uint32_t min, max; /* bytes of PTR attributes */
	enum uv_kind kind; /* of IDR attributes */
};

struct uv_req;

struct uv_method {
	uint16_t object, method;
	const char *name;
	int (*handler)(struct uv_req *req); /* 0 or -errno */
	const struct uv_attr_spec *specs;
	unsigned int nspecs;
	bool without_ctx; /* may come before GET_CONTEXT */
};

struct uv_arg {
	struct ib_uverbs_attr attr; /* a copy */
	uint64_t user;		    /* address of the program's attr; 0: not given */
	struct uv_obj *obj;	    /* IDR */
};

/* An INVOKE_WRITE command: core structures of fixed size. */
struct uv_write {
	uint32_t cmd; /* with IB_USER_VERBS_CMD_FLAG_EXTENDED */
	const char *name;
	uint32_t in_len, out_len; /* least bytes of the core structures */
	uint32_t in_known;	  /* bytes of the input that have a meaning; what follows is zero */
	int (*handler)(struct uv_req *req, const void *in,
		       void *out); /* in: 256, out: UV_WRITE_OUT_MAX bytes, zero padded */
};

struct uv_req {
	int fd; /* as the program named it */
	struct uv_ctx *ctx;
	const struct uv_method *method;
	const char *name;		  /* of the method, or of its write command */
	struct uv_arg args[UV_MAX_ATTRS]; /* parallel to method->specs */
	size_t write_out_len; /* INVOKE_WRITE: bytes of `out` that the program can take */
};

extern const struct uv_method uv_methods[];
extern const unsigned int uv_nmethods;
extern const struct uv_write uv_writes[];
extern const unsigned int uv_nwrites;

/* RDMA_VERBS_IOCTL on `fd`. 0 or -errno; -ENOTTY: not our file, ask the kernel. */
int uv_ioctl(int fd, void *arg);

bool uv_has(const struct uv_req *req, uint16_t id);
size_t uv_len(const struct uv_req *req, uint16_t id); /* bytes; 0 if not given */
/* First min(len, given) bytes; the rest of dst is zero. 0, -EFAULT; -ENOENT if not given (dst is
 * zero). */
int uv_in(const struct uv_req *req, uint16_t id, void *dst, size_t len);
/* Are all bytes from `off` on zero? True if there are none, false also where they cannot be read.
 */
bool uv_is_zero_from(const struct uv_req *req, uint16_t id, size_t off);
/* The whole attribute in malloc'ed memory, at most `max` bytes. 0, -EFAULT, -ENOMEM, -EINVAL,
 * -ENOENT. */
int uv_in_alloc(const struct uv_req *req, uint16_t id, void **p, size_t *len, size_t max);
uint64_t uv_in_u64(const struct uv_req *req, uint16_t id, uint64_t otherwise);
/* Writes min(len, given) bytes, zeroes the rest of the program's buffer, marks it valid. 0 also if
 * not given. */
int uv_out(const struct uv_req *req, uint16_t id, const void *src, size_t len);
struct uv_obj *uv_obj(const struct uv_req *req, uint16_t id); /* NULL if not given */
int uv_fd(const struct uv_req *req, uint16_t id);	      /* -1 if not given */
int uv_set_handle(const struct uv_req *req, uint16_t id, uint32_t handle);
int uv_set_fd(const struct uv_req *req, uint16_t id, int fd);

/* Names of the ABI's numbers, or "unknown" (names.c). cmd has IB_USER_VERBS_CMD_FLAG_EXTENDED. */
const char *uv_name_of_write(uint32_t cmd);
const char *uv_name_of_qp_type(uint32_t type); /* enum ib_uverbs_qp_type */
const char *uv_name_of_object(uint16_t object);
const char *uv_name_of_method(uint16_t object, uint16_t method);

/* ---- contexts (context.c) ---- */

/* The context behind fd, locked; NULL: none (not ours, or not yet opened). */
struct uv_ctx *uv_ctx_of_fd(int fd);
/* An fd of one of our device nodes on which GET_CONTEXT has not been done. */
bool uv_fd_is_device(int fd);
/* N of the node uverbsN that such an fd was opened by; 0 if its name does not say. */
unsigned int uv_device_of_fd(int fd);
/*
 * The program closed the context with that memfd: takes down all that it has. When this returns the
 * NIC touches none of its memory, whoever else began it. No such context: nothing.
 */
void uv_ctx_end(uint64_t dev, uint64_t ino);
/* The program is about to close fd: ends the context behind it, if this was its only descriptor.
 * From any thread, at any time but inside the face; cheap for other descriptors. */
void uv_closing(int fd);
/* The same for all of [first, last]. */
void uv_closing_range(unsigned int first, unsigned int last);
/* The program opened that path as fd: if it is a node, its name is remembered. */
void uv_node_opened(int fd, const char *path);
void uv_ctx_unlock(struct uv_ctx *ctx);
/* The context of that memfd, locked, if nothing need be waited for; else NULL. */
struct uv_ctx *uv_ctx_try(uint64_t dev, uint64_t ino);
/* Is there one in this process? No lock. */
bool uv_has_contexts(void);
/* The program is about to unmap that: with --verbose, says which queues lose their doorbell
 * (unmap.c). From any thread, at any time. */
void uv_unmapping(const void *addr, size_t len);

/* ---- events (events.c) ---- */

enum uv_event_file_kind { UV_EVENTS_COMP, UV_EVENTS_ASYNC, UV_EVENTS_DEVX, UV_EVENTS_DEVX_CMD };

/* Makes an event file of the context; *fd is the program's end. NULL with errno. */
struct uv_event_file *uv_events_open(struct uv_ctx *ctx, enum uv_event_file_kind kind,
				     uint32_t flags, int *fd);
/* The event file of this context behind the program's fd; NULL: not one of that kind. */
struct uv_event_file *uv_events_find(struct uv_ctx *ctx, enum uv_event_file_kind kind, int fd);
void uv_events_add_cq(struct uv_event_route *route, uint32_t cqn);
/* A QP may have several (XRC target): each gets its events. */
void uv_events_add_qp(struct uv_event_route *route, uint32_t qpn);
void uv_events_add_srq(struct uv_event_route *route, uint32_t srqn);
/*
 * Ends the events of a CQ, QP or SRQ: those that the program has not read are withdrawn. Counts are
 * of those it has read, which is what destroy reports (libibverbs waits until it has acknowledged
 * exactly so many).
 */
void uv_events_remove_cq(struct uv_event_route *route, uint32_t *comp_read, uint32_t *async_read);
void uv_events_remove_qp(struct uv_event_route *route, uint32_t *async_read);
void uv_events_remove_srq(struct uv_event_route *route, uint32_t *async_read);
/*
 * DevX subscription: events of PRM type `type` about `obj` (NULL: that name no object) reach `file`
 * with `cookie`, or add 1 to the eventfd `signal_fd` if it is not -1. 0, -ENOMEM, -EBADF.
 */
int uv_events_subscribe(struct uv_event_file *file, uint16_t type, const struct uv_obj *obj,
			uint64_t cookie, int signal_fd);
/* Ends the subscriptions about an object, before it is destroyed. */
void uv_events_unsubscribe(const struct uv_obj *obj);
/* The answer of an asynchronous DevX query: {wr_id, mailbox}. 0, -EAGAIN: the program reads too
 * slowly. */
int uv_events_put_answer(struct uv_event_file *file, uint64_t wr_id, const void *out, size_t len);
/*
 * The end of a context, in two steps around that of its objects: no event reaches the program any
 * more (and its descriptors, which it may have closed and used again, are left alone); then nothing
 * points to the files, and the watcher frees them when it looks at its list again.
 */
void uv_events_hang_up(struct uv_ctx *ctx);
void uv_events_forget(struct uv_ctx *ctx);
/* world_event_fn; arg: index of the NIC */
void uv_events_eqe(void *arg, uint32_t eqn, uint32_t intr, const uint8_t *eqe);
/* In the child of a fork: forget all. */
void uv_events_abandon(void);
int uv_events_start(void); /* the watcher thread; 0 or -errno */

/* ---- handlers (tables.c names them) ---- */

#define UV_HANDLER(name) int name(struct uv_req *req)
UV_HANDLER(uv_invoke_write);
UV_HANDLER(uv_get_context);
UV_HANDLER(uv_query_context);
UV_HANDLER(uv_query_port);
UV_HANDLER(uv_query_gid_table);
UV_HANDLER(uv_query_gid_entry);
UV_HANDLER(uv_async_event_alloc);
UV_HANDLER(uv_destroy_handle); /* of any kind whose destroy returns nothing */
UV_HANDLER(uv_pd_query);
UV_HANDLER(uv_mr_query);
UV_HANDLER(uv_mr_advise);
UV_HANDLER(uv_dm_alloc);
UV_HANDLER(uv_dm_query);
UV_HANDLER(uv_dm_map_op);
UV_HANDLER(uv_dm_mr_reg);
UV_HANDLER(uv_mr_reg_dmabuf);
UV_HANDLER(uv_cq_create);
UV_HANDLER(uv_cq_destroy);
UV_HANDLER(uv_qp_create);
UV_HANDLER(uv_qp_destroy);
UV_HANDLER(uv_srq_create);
UV_HANDLER(uv_srq_destroy);
UV_HANDLER(uv_uar_alloc);
UV_HANDLER(uv_var_alloc);
UV_HANDLER(uv_mlx5_query_port);
UV_HANDLER(uv_devx_other);
UV_HANDLER(uv_devx_query_eqn);
UV_HANDLER(uv_devx_query_uar);
UV_HANDLER(uv_devx_obj_create);
UV_HANDLER(uv_devx_obj_query);
UV_HANDLER(uv_devx_obj_modify);
UV_HANDLER(uv_devx_umem_reg);
UV_HANDLER(uv_devx_event_channel);
UV_HANDLER(uv_devx_cmd_channel);
UV_HANDLER(uv_devx_obj_query_async);
UV_HANDLER(uv_devx_subscribe);

#define UV_WRITE_HANDLER(name) int name(struct uv_req *req, const void *core_in, void *core_out)
UV_WRITE_HANDLER(uv_w_query_device);
UV_WRITE_HANDLER(uv_w_ex_query_device);
UV_WRITE_HANDLER(uv_w_query_port);
UV_WRITE_HANDLER(uv_w_alloc_pd);
UV_WRITE_HANDLER(uv_w_reg_mr);
UV_WRITE_HANDLER(uv_w_rereg_mr);
UV_WRITE_HANDLER(uv_w_alloc_mw);
UV_WRITE_HANDLER(uv_w_create_ah);
UV_WRITE_HANDLER(uv_w_attach_mcast);
UV_WRITE_HANDLER(uv_w_detach_mcast);
UV_WRITE_HANDLER(uv_w_create_comp_channel);
UV_WRITE_HANDLER(uv_w_ex_modify_cq);
UV_WRITE_HANDLER(uv_w_resize_cq);
UV_WRITE_HANDLER(uv_w_modify_qp);
UV_WRITE_HANDLER(uv_w_ex_modify_qp);
UV_WRITE_HANDLER(uv_w_query_qp);
UV_WRITE_HANDLER(uv_w_open_qp);
UV_WRITE_HANDLER(uv_w_modify_srq);
UV_WRITE_HANDLER(uv_w_query_srq);
UV_WRITE_HANDLER(uv_w_open_xrcd);

/*
 * Fills a CQ's arm word, UV_CQ_ARM_OFFSET bytes into its record, with one that no program arms with
 * (nm.h): before CREATE_CQ, so that any change of it is an arm. 0 or -EFAULT.
 */
enum { UV_CQ_ARM_OFFSET = 4 };
int uv_cq_arm_sentinel(uint64_t arm_addr);

/* What the device takes of a shared receive queue. */
uint32_t uv_max_srq_wr(void);
uint32_t uv_max_srq_sge(void);
void uv_xrc_abandon(void); /* in the child of a fork */

int uv_pd_destroy(struct uv_ctx *ctx, struct uv_obj *obj);
int uv_mr_destroy(struct uv_ctx *ctx, struct uv_obj *obj);
int uv_mw_destroy(struct uv_ctx *ctx, struct uv_obj *obj);
int uv_dm_free(struct uv_ctx *ctx, struct uv_obj *obj);
/* What ib_check_mr_access() and ib_uverbs say of access flags: 0 or -errno. */
int uv_check_access(uint32_t access);
uint8_t uv_next_tag(void);		 /* of a new key */
void uv_groups_forget(struct uv_qp *qp); /* the QP has ended */
int uv_ah_destroy(struct uv_ctx *ctx, struct uv_obj *obj);
int uv_cq_release(struct uv_ctx *ctx, struct uv_obj *obj);
int uv_qp_release(struct uv_ctx *ctx, struct uv_obj *obj);
int uv_srq_release(struct uv_ctx *ctx, struct uv_obj *obj);
int uv_xrcd_release(struct uv_ctx *ctx, struct uv_obj *obj);
int uv_uar_release(struct uv_ctx *ctx, struct uv_obj *obj);
int uv_var_release(struct uv_ctx *ctx, struct uv_obj *obj);
int uv_devx_obj_release(struct uv_ctx *ctx, struct uv_obj *obj);
int uv_devx_umem_release(struct uv_ctx *ctx, struct uv_obj *obj);

/* enum ib_qp_state and ib_qp_attr_mask of the verbs ABI: kernel headers for user space do not have
 * them. */
enum uv_qp_state {
	UV_QPS_RESET,
	UV_QPS_INIT,
	UV_QPS_RTR,
	UV_QPS_RTS,
	UV_QPS_SQD,
	UV_QPS_SQE,
	UV_QPS_ERR,
	UV_QPS
};
enum uv_qp_attr {
	UV_QP_STATE = 1 << 0,
	UV_QP_CUR_STATE = 1 << 1,
	UV_QP_EN_SQD_NOTIFY = 1 << 2,
	UV_QP_ACCESS = 1 << 3,
	UV_QP_PKEY_INDEX = 1 << 4,
	UV_QP_PORT = 1 << 5,
	UV_QP_QKEY = 1 << 6,
	UV_QP_AV = 1 << 7,
	UV_QP_PATH_MTU = 1 << 8,
	UV_QP_TIMEOUT = 1 << 9,
	UV_QP_RETRY_CNT = 1 << 10,
	UV_QP_RNR_RETRY = 1 << 11,
	UV_QP_RQ_PSN = 1 << 12,
	UV_QP_MAX_RD_ATOMIC = 1 << 13,
	UV_QP_ALT_PATH = 1 << 14,
	UV_QP_MIN_RNR_TIMER = 1 << 15,
	UV_QP_SQ_PSN = 1 << 16,
	UV_QP_MAX_DEST_RD_ATOMIC = 1 << 17,
	UV_QP_PATH_MIG = 1 << 18,
	UV_QP_CAP = 1 << 19,
	UV_QP_DEST_QPN = 1 << 20,
	UV_QP_RATE_LIMIT = 1 << 25,
};

#endif
