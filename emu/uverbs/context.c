// SPDX-License-Identifier: BSD-3-Clause
/*
 * Contexts: one for each open of the device. GET_CONTEXT replaces the program's descriptor by a
 * memfd whose pages are the UAR pages, so that mmap, munmap, dup and fork need nobody's help. The
 * memfd's inode says which context a call is for: it survives dup() and being passed around, a
 * number does not.
 *
 * When a context ends, the NIC must have let go of the program's memory before close() returns. So
 * the preload takes over close(), and asks uv_closing() about descriptors that this table knows.
 * What it does not see (a raw system call, a duplicate that lives longer) ends later: the program
 * closes the asynchronous event fd as well, that one hangs up, and the watcher (events.c) calls
 * uv_ctx_end().
 */
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "emu/fds/size.h"
#include "emu/uverbs/face.h"

static pthread_mutex_t face_lock = PTHREAD_MUTEX_INITIALIZER;
static struct uv_ctx *contexts;

/* Held while a context is being taken down, so that a second one who wants it gone waits for the
 * first. Taken before all other locks. */
static pthread_mutex_t end_lock = PTHREAD_MUTEX_INITIALIZER;

/* Command fd -> inode of the context's memfd, 0: none. Read by every close(), so without a lock. */
enum { UV_FDS_KNOWN = 4096 };
static _Atomic uint64_t command_ino[UV_FDS_KNOWN];
static _Atomic pid_t command_owner; /* the process whose descriptors these are */

/* ---- objects ---- */

const char *uv_kind_name(enum uv_kind kind)
{
	return kind < UV_KINDS ? uv_kinds[kind].name : "object";
}

static int grow(struct uv_ctx *ctx)
{
	uint32_t n = ctx->slots ? 2 * ctx->slots : 32;
	struct uv_obj **slot = realloc(ctx->slot, n * sizeof(void *));

	if (!slot)
		return -ENOMEM;
	memset(slot + ctx->slots, 0, (n - ctx->slots) * sizeof(void *));
	ctx->slot = slot;
	ctx->slots = n;
	return 0;
}

void *uv_obj_new(struct uv_ctx *ctx, enum uv_kind kind, size_t size, struct uv_obj *const *uses,
		 unsigned int nuses)
{
	struct uv_obj *obj;
	uint32_t h = ctx->full;

	assert(nuses <= UV_MAX_USES && size >= sizeof(*obj));
	while (h < ctx->slots && ctx->slot[h])
		h++;
	if (h == ctx->slots && grow(ctx))
		return NULL;
	obj = calloc(1, size);
	if (!obj)
		return NULL;
	obj->kind = kind;
	obj->handle = h;
	for (unsigned int i = 0; i < nuses; i++) {
		obj->uses[i] = uses[i];
		if (uses[i])
			uses[i]->users++;
	}
	obj->older = ctx->newest;
	if (ctx->newest)
		ctx->newest->newer = obj;
	ctx->newest = obj;
	ctx->slot[h] = obj;
	ctx->full = h + 1;
	ctx->objects++;
	return obj;
}

void uv_obj_free(struct uv_ctx *ctx, struct uv_obj *obj)
{
	assert(ctx->slot[obj->handle] == obj);
	for (unsigned int i = 0; i < UV_MAX_USES; i++) {
		if (!obj->uses[i])
			continue;
		assert(obj->uses[i]->users > 0);
		obj->uses[i]->users--;
	}
	if (obj->newer)
		obj->newer->older = obj->older;
	else
		ctx->newest = obj->older;
	if (obj->older)
		obj->older->newer = obj->newer;
	ctx->slot[obj->handle] = NULL;
	if (obj->handle < ctx->full)
		ctx->full = obj->handle;
	ctx->objects--;
	free(obj);
}

int uv_obj_destroy(struct uv_ctx *ctx, struct uv_obj *obj)
{
	int ret;

	if (obj->users)
		return uv_refuse(EBUSY, "%s (handle %u) is used by %u other objects",
				 uv_kind_name(obj->kind), obj->handle, obj->users);
	ret = uv_kinds[obj->kind].destroy(ctx, obj);
	if (!ret)
		uv_obj_free(ctx, obj);
	return ret;
}

struct uv_obj *uv_obj_find(struct uv_ctx *ctx, uint32_t handle)
{
	return handle < ctx->slots ? ctx->slot[handle] : NULL;
}

/* Destroy methods whose only attribute is the handle. */
int uv_destroy_handle(struct uv_req *req)
{
	return uv_obj_destroy(req->ctx, req->args[0].obj);
}

/* ---- finding a context ---- */

static void lock_ctx(struct uv_ctx *ctx)
{
	pthread_mutex_lock(&ctx->lock);
	uv_nic_enter(ctx->nic);
}

static void unlock_ctx(struct uv_ctx *ctx)
{
	uv_nic_leave();
	pthread_mutex_unlock(&ctx->lock);
}

/*
 * A memfd's position says its inode. Nobody reads or writes the file, a duplicate has the same
 * position, and to ask for it takes half the time of fstat(), which would be half of what it takes
 * to register memory.
 */
static const off_t position_mark = (off_t)1 << 62;

static struct uv_ctx *ctx_at_position(off_t position)
{
	struct uv_ctx *ctx = contexts;

	while (ctx && position != (off_t)(position_mark | ctx->ino))
		ctx = ctx->next;
	return ctx;
}

static struct uv_ctx *ctx_of_file(int fd)
{
	struct uv_ctx *ctx = contexts;
	struct stat st;

	if (fstat(fd, &st) || !S_ISREG(st.st_mode))
		return NULL;
	while (ctx && (ctx->dev != st.st_dev || ctx->ino != st.st_ino))
		ctx = ctx->next;
	return ctx;
}

struct uv_ctx *uv_ctx_of_fd(int fd)
{
	off_t position = lseek(fd, 0, SEEK_CUR);
	struct uv_ctx *ctx = NULL;

	pthread_mutex_lock(&face_lock);
	if (position > position_mark)
		ctx = ctx_at_position(position);
	if (!ctx)
		ctx = ctx_of_file(fd);
	if (ctx)
		ctx->refs++;
	pthread_mutex_unlock(&face_lock);
	if (ctx)
		lock_ctx(ctx);
	return ctx;
}

bool uv_has_contexts(void)
{
	return __atomic_load_n(&contexts, __ATOMIC_RELAXED) &&
	       atomic_load(&command_owner) == getpid();
}

static struct uv_ctx *try_lock(uint64_t dev, uint64_t ino)
{
	struct uv_ctx *ctx = contexts;

	while (ctx && (ctx->dev != dev || ctx->ino != ino))
		ctx = ctx->next;
	if (!ctx || pthread_mutex_trylock(&ctx->lock))
		return NULL;
	ctx->refs++;
	uv_nic_enter(ctx->nic);
	return ctx;
}

struct uv_ctx *uv_ctx_try(uint64_t dev, uint64_t ino)
{
	struct uv_ctx *ctx;

	if (pthread_mutex_trylock(&face_lock))
		return NULL;
	ctx = try_lock(dev, ino);
	pthread_mutex_unlock(&face_lock);
	return ctx;
}

static void put(struct uv_ctx *ctx)
{
	bool last;

	pthread_mutex_lock(&face_lock);
	last = --ctx->refs == 0;
	pthread_mutex_unlock(&face_lock);
	if (!last)
		return;
	pthread_mutex_destroy(&ctx->lock);
	free(ctx->slot);
	free(ctx);
}

void uv_ctx_unlock(struct uv_ctx *ctx)
{
	unlock_ctx(ctx);
	put(ctx);
}

/* The launcher shows the full device under the names of uverbsN: nobody sends it RDMA ioctls. */
bool uv_fd_is_device(int fd)
{
	struct stat st;

	return !fstat(fd, &st) && S_ISCHR(st.st_mode) && major(st.st_rdev) == UV_NODE_MAJOR &&
	       minor(st.st_rdev) == UV_NODE_MINOR;
}

/* N of /dev/infiniband/uverbsN; UV_MAX_NICS: it is no such path. */
static unsigned int node_number(const char *path)
{
	static const char prefix[] = UV_NODE_DIR "/" UV_NODE_NAME;
	const char *digits = path + sizeof(prefix) - 1;
	unsigned long index;
	char *end;

	if (strncmp(path, prefix, sizeof(prefix) - 1) != 0)
		return UV_MAX_NICS;
	index = strtoul(digits, &end, 10);
	return end != digits && !*end && index < UV_MAX_NICS ? (unsigned int)index : UV_MAX_NICS;
}

/* Where paths are shown by hooks, the names are links to one node: fd -> number, plus 1. */
static _Atomic uint8_t node_of[UV_FDS_KNOWN];

void uv_node_opened(int fd, const char *path)
{
	unsigned int n = node_number(path);

	if (n < UV_MAX_NICS && fd >= 0 && fd < UV_FDS_KNOWN)
		atomic_store(&node_of[fd], (uint8_t)(n + 1));
}

/* All nodes are the same device: their names tell them apart. */
unsigned int uv_device_of_fd(int fd)
{
	char link[64], path[128];
	unsigned int n;
	ssize_t len;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = readlink(link, path, sizeof(path) - 1);
	path[len > 0 ? len : 0] = '\0';
	n = node_number(path);
	if (n < UV_MAX_NICS)
		return n;
	if (!strcmp(path, UV_NODE_PATH) && fd >= 0 && fd < UV_FDS_KNOWN &&
	    atomic_load(&node_of[fd]))
		return atomic_load(&node_of[fd]) - 1u;
	return 0;
}

/* ---- teardown ---- */

static void close_in_nic(struct uv_ctx *ctx)
{
	uv_command_simple(ctx->uid, "DEALLOC_TRANSPORT_DOMAIN", PRM_CMD_DEALLOC_TRANSPORT_DOMAIN,
			  ctx->tdn, NULL);
	uv_command_simple(0, "DESTROY_UCTX", PRM_CMD_DESTROY_UCTX, ctx->uid, NULL);
}

static struct uv_ctx *unlist(uint64_t dev, uint64_t ino)
{
	struct uv_ctx **p, *ctx;

	pthread_mutex_lock(&face_lock);
	for (p = &contexts; *p && ((*p)->dev != dev || (*p)->ino != ino); p = &(*p)->next)
		;
	ctx = *p;
	if (ctx)
		*p = ctx->next;
	pthread_mutex_unlock(&face_lock);
	return ctx;
}

static void destroy_objects(struct uv_ctx *ctx)
{
	/* Newest first: users come after what they use. */
	while (ctx->newest) {
		struct uv_obj *obj = ctx->newest;
		int ret;

		assert(!obj->users);
		ret = uv_kinds[obj->kind].destroy(ctx, obj);
		if (ret)
			uv_say("closing a context: %s 0x%x stays behind in the NIC (error %d)",
			       uv_kind_name(obj->kind), obj->num, -ret);
		uv_obj_free(ctx, obj);
	}
}

void uv_ctx_end(uint64_t dev, uint64_t ino)
{
	struct uv_ctx *ctx;

	pthread_mutex_lock(&end_lock);
	ctx = unlist(dev, ino);
	if (ctx) {
		lock_ctx(ctx);
		uv_events_hang_up(ctx);
		destroy_objects(ctx);
		uv_events_forget(ctx);
		uv_pages_stop(ctx);
		close_in_nic(ctx);
		ctx->dead = true; /* for calls that are waiting for the lock */
		unlock_ctx(ctx);
		put(ctx);
	}
	pthread_mutex_unlock(&end_lock);
}

/* ---- close() ---- */

static void remember_fd(int fd, uint64_t ino)
{
	atomic_store(&command_owner, getpid());
	if (fd < UV_FDS_KNOWN)
		atomic_store(&command_ino[fd], ino);
}

/* Is the file open under another number as well? Then the context lives on. The others' numbers may
 * be closed and given out again meanwhile, so they are looked at by name. */
static bool has_duplicate(int fd, const struct stat *st)
{
	DIR *dir = opendir("/proc/self/fd");
	const struct dirent *entry;
	bool found = false;
	struct stat other;

	if (!dir)
		return true; /* the watcher will see */
	while (!found && (entry = readdir(dir)))
		found = entry->d_name[0] != '.' && atoi(entry->d_name) != fd &&
			!fstatat(dirfd(dir), entry->d_name, &other, 0) &&
			other.st_dev == st->st_dev && other.st_ino == st->st_ino;
	closedir(dir);
	return found;
}

void uv_closing(int fd)
{
	uint64_t ino = fd >= 0 && fd < UV_FDS_KNOWN ? atomic_load(&command_ino[fd]) : 0;
	int saved = errno;
	struct stat st;

	/* A child of vfork() closes descriptors of its own in our memory. */
	if (!ino || atomic_load(&command_owner) != getpid())
		return;
	/* The number may mean another file by now: closed by a raw system call, and given out
	 * again. */
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_ino == ino &&
	    atomic_compare_exchange_strong(&command_ino[fd], &ino, 0) && !has_duplicate(fd, &st))
		uv_ctx_end(st.st_dev, st.st_ino);
	errno = saved;
}

void uv_closing_range(unsigned int first, unsigned int last)
{
	for (unsigned int fd = first; fd <= last && fd < UV_FDS_KNOWN; fd++)
		uv_closing((int)fd);
}

/* ---- fork ---- */

static void before_fork(void)
{
	pthread_mutex_lock(&face_lock);
}

static void after_fork_parent(void)
{
	pthread_mutex_unlock(&face_lock);
}

/* The child holds no engine until it opens the device itself; what the parent opened is only a name
 * here. */
static void after_fork_child(void)
{
	for (struct uv_ctx *ctx = contexts; ctx; ctx = ctx->next) {
		pthread_mutex_init(&ctx->lock, NULL);
		ctx->dead = true;
	}
	for (int fd = 0; fd < UV_FDS_KNOWN; fd++)
		atomic_store_explicit(&command_ino[fd], 0, memory_order_relaxed);
	uv_events_abandon();
	uv_xrc_abandon();
	uv_nic_abandon();
	pthread_mutex_init(&face_lock, NULL);
	pthread_mutex_init(&end_lock, NULL);
}

static void install_fork_handlers(void)
{
	pthread_atfork(before_fork, after_fork_parent, after_fork_child);
}

/* ---- GET_CONTEXT ---- */

static uint32_t bf_reg_size(void)
{
	uint32_t log = PRM_GET(cmd_hca_cap, uv_cap(UV_CAP_GENERAL), log_bf_reg_size);

	return PRM_GET(cmd_hca_cap, uv_cap(UV_CAP_GENERAL), bf) ? 1u << log : 0;
}

static int fill_response(struct uv_req *req, const struct uv_ctx *ctx, uint16_t attr)
{
	const void *cap = uv_cap(UV_CAP_GENERAL);
	struct mlx5_ib_alloc_ucontext_resp resp = {
		.qp_tab_size = 1u << PRM_GET(cmd_hca_cap, cap, log_max_qp),
		.bf_reg_size = bf_reg_size(),
		.cache_line_size = 64,
		.max_sq_desc_sz = (uint16_t)PRM_GET(cmd_hca_cap, cap, max_wqe_sz_sq),
		.max_rq_desc_sz = (uint16_t)PRM_GET(cmd_hca_cap, cap, max_wqe_sz_rq),
		.max_send_wqebb = 1u << PRM_GET(cmd_hca_cap, cap, log_max_qp_sz),
		.max_recv_wr = 1u << PRM_GET(cmd_hca_cap, cap, log_max_qp_sz),
		.max_srq_recv_wr = 1u << PRM_GET(cmd_hca_cap, cap, log_max_srq_sz),
		.num_ports = 1,
		.cqe_version = (uint8_t)PRM_GET(cmd_hca_cap, cap, cqe_version),
		.cmds_supp_uhw =
			MLX5_USER_CMDS_SUPP_UHW_QUERY_DEVICE | MLX5_USER_CMDS_SUPP_UHW_CREATE_AH,
		.eth_min_inline = MLX5_USER_INLINE_MODE_NONE,
		.log_uar_size = 12,
		.num_uars_per_page = 1,
		.comp_mask = MLX5_IB_ALLOC_UCONTEXT_RESP_MASK_DUMP_FILL_MKEY,
		.dump_fill_mkey = uv_null_mkey(),
		/* tot_bfregs 0: every UAR page is allocated when it is wanted. */
	};

	if (ctx->clock_page) {
		resp.comp_mask |= MLX5_IB_ALLOC_UCONTEXT_RESP_MASK_CORE_CLOCK_OFFSET;
		resp.hca_core_clock_offset = 0; /* in its page */
		resp.clock_info_versions = 1u << MLX5_IB_CLOCK_INFO_V1;
	}
	resp.response_length = sizeof(resp);
	if (uv_len(req, attr) < sizeof(resp))
		resp.response_length = (uint32_t)uv_len(req, attr);
	return uv_out(req, attr, &resp, sizeof(resp));
}

static int fill_support(struct uv_req *req, uint16_t vectors_attr, uint16_t support_attr)
{
	uint32_t vectors = UV_COMP_VECTORS;
	uint64_t support = IB_UVERBS_CORE_SUPPORT_OPTIONAL_MR_ACCESS;
	int ret = uv_out(req, vectors_attr, &vectors, sizeof(vectors));

	return ret ? ret : uv_out(req, support_attr, &support, sizeof(support));
}

/*
 * libmlx5 repeats a GET_CONTEXT that failed in the words of older kernels, which know no lib_caps.
 * So a request without them is answered with the failure of the one before.
 */
static _Thread_local int full_request_ret;

/* The library must allocate UAR pages dynamically: static ones are mapped at offsets of another
 * meaning. */
static int check_library(struct uv_req *req)
{
	struct mlx5_ib_alloc_ucontext_req_v2 in;
	int ret = uv_in(req, UVERBS_ATTR_UHW_IN, &in, sizeof(in));

	if (ret)
		return uv_refuse(EINVAL, "GET_CONTEXT without the mlx5 request");
	if (!(in.lib_caps & MLX5_LIB_CAP_DYN_UAR)) {
		if (full_request_ret)
			return full_request_ret;
		return uv_refuse(
			EOPNOTSUPP,
			"this libmlx5 has no dynamic UAR pages; rdma-core 30 or later is needed");
	}
	return 0;
}

/* The file that will stand for the program's descriptor, with its pages. */
static int make_file(struct uv_ctx *ctx)
{
	struct stat st = {0};
	int memfd, ret;

	memfd = memfd_create("gdakit-uverbs", MFD_CLOEXEC);
	if (memfd < 0)
		return -errno;
	if (fds_set_size(memfd, UV_MEMFD_BYTES) || fstat(memfd, &st)) {
		ret = -errno;
		close(memfd);
		if (ret == -EFBIG)
			uv_refuse(
				EFBIG,
				"the device's pages are a file of %u MiB; `ulimit -f` allows less",
				UV_MEMFD_BYTES >> 20);
		return ret;
	}
	ctx->dev = st.st_dev;
	ctx->ino = st.st_ino;
	(void)lseek(memfd, (off_t)(position_mark | ctx->ino), SEEK_SET); /* else fstat() says it */
	uv_pages_start(ctx, memfd);
	return memfd;
}

/* Puts the memfd where the program's descriptor is; the close-on-exec flag stays. */
static int swap_fd(int fd, int memfd)
{
	int flags = fcntl(fd, F_GETFD);

	return dup3(memfd, fd, flags >= 0 && (flags & FD_CLOEXEC) ? O_CLOEXEC : 0) < 0 ? -errno : 0;
}

static int open_in_nic(struct uv_ctx *ctx)
{
	uint8_t in[PRM_create_uctx_in_SIZE] = {0}, out[PRM_obj_out_SIZE] = {0};
	int ret;

	PRM_SET(cmd_in, in, opcode, PRM_CMD_CREATE_UCTX);
	ret = uv_command(0, "CREATE_UCTX", in, sizeof(in), out, sizeof(out));
	if (ret)
		return ret;
	ctx->uid = (uint16_t)PRM_GET(obj_out, out, number);
	ret = uv_command_simple(ctx->uid, "ALLOC_TRANSPORT_DOMAIN", PRM_CMD_ALLOC_TRANSPORT_DOMAIN,
				0, &ctx->tdn);
	if (ret) {
		uv_command_simple(0, "DESTROY_UCTX", PRM_CMD_DESTROY_UCTX, ctx->uid, NULL);
		ctx->uid = 0;
	}
	return ret;
}

int uv_get_context(struct uv_req *req)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	int memfd = -1, ret;
	struct uv_ctx *ctx;

	if (req->ctx)
		return uv_refuse(EINVAL, "GET_CONTEXT twice on one descriptor");
	ret = check_library(req);
	if (ret)
		return ret;
	ctx = calloc(1, sizeof(*ctx));
	if (!ctx)
		return -ENOMEM;
	pthread_mutex_init(&ctx->lock, NULL);
	ctx->refs = 1;
	ctx->nic = (uint8_t)uv_device_of_fd(req->fd);
	pthread_once(&once, install_fork_handlers);
	pthread_mutex_lock(&face_lock);
	uv_nic_enter(ctx->nic);
	ret = uv_nic_start();
	if (!ret)
		ret = open_in_nic(ctx);
	if (!ret)
		ret = fill_support(req, UVERBS_ATTR_GET_CONTEXT_NUM_COMP_VECTORS,
				   UVERBS_ATTR_GET_CONTEXT_CORE_SUPPORT);
	if (!ret) {
		memfd = make_file(ctx);
		ret = memfd < 0 ? memfd : fill_response(req, ctx, UVERBS_ATTR_UHW_OUT);
	}
	if (!ret)
		ret = swap_fd(req->fd, memfd);
	if (memfd >= 0)
		close(memfd);
	if (!ret) {
		ctx->next = contexts;
		contexts = ctx;
		remember_fd(req->fd, ctx->ino);
	} else if (ctx->uid) {
		uv_pages_stop(ctx);
		close_in_nic(ctx);
	}
	uv_nic_leave();
	pthread_mutex_unlock(&face_lock);
	full_request_ret = ret;
	if (ret)
		free(ctx);
	return ret;
}

int uv_query_context(struct uv_req *req)
{
	int ret = fill_support(req, UVERBS_ATTR_QUERY_CONTEXT_NUM_COMP_VECTORS,
			       UVERBS_ATTR_QUERY_CONTEXT_CORE_SUPPORT);

	return ret ? ret : fill_response(req, req->ctx, MLX5_IB_ATTR_QUERY_CONTEXT_RESP_UCTX);
}
