/* SPDX-License-Identifier: BSD-3-Clause */
#include "engine_fake.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "host/mlx5_prm.h"
#include "prm/prm.h"

struct fake fake;
static struct ibv_context context;
struct ibv_pd fake_pd = {.context = &context};

enum { MAX_COMMAND = 0x1000 };

bool fake_fails(enum fake_kind kind, const char *call)
{
	unsigned int number;

	if (!(fake.fail_kinds & kind))
		return false;
	number = ++fake.calls;
	if (number != fake.fail_at && !(fake.fails_on && fake.fail_at && number > fake.fail_at))
		return false;
	if (!fake.failed)
		fake.failed = call;
	errno = fake.fail_errno;
	return true;
}

/* The functions below have the names of what they stand for. */
static bool fails(const char *call)
{
	return fake_fails(FAKE_RDMA, call);
}

/* A call that gives something back and is refused: the other side keeps it. */
static int refuse_release(int error)
{
	fake.kept++;
	return error;
}

static int query_device(struct ibv_context *ctx, struct ibv_device_attr *attr)
{
	cr_assert_eq(ctx, &context);
	if (fails("query_device"))
		return fake.fail_errno;
	*attr = (struct ibv_device_attr){
		.max_qp = 1000,
		.max_qp_wr = 32768,
		.max_sge = 30,
		.max_cq = 2000,
		.max_cqe = 4194303,
		.max_mr = 3000,
		.max_pd = 400,
		.max_ah = 500,
		.max_srq = 600,
		.max_srq_wr = 32767,
		.max_srq_sge = 31,
		.max_pkeys = 128,
		.phys_port_cnt = 1,
		.max_qp_rd_atom = 16,
		.max_qp_init_rd_atom = 16,
	};
	return 0;
}

static struct ibv_ah *create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
	cr_assert_eq(pd, &fake_pd);
	if (fails("create_ah"))
		return NULL;
	fake.last_ah = *attr;
	fake.ahs++;
	return __real_calloc(1, sizeof(struct ibv_ah));
}

static int destroy_ah(struct ibv_ah *ah)
{
	fake.ahs--;
	__real_free(ah);
	return fails("destroy_ah") ? refuse_release(fake.fail_errno) : 0;
}

static int init_obj(struct mlx5dv_obj *obj, uint64_t type)
{
	static struct mlx5_wqe_av av = {.rmac = {0x02, 0x11, 0x22, 0x33, 0x44, 0x55}};

	if (fails("init_obj"))
		return fake.fail_errno;
	if (type == MLX5DV_OBJ_PD)
		obj->pd.out->pdn = 0x123456;
	else
		obj->ah.out->av = &av;
	return 0;
}

static void record(const void *in, size_t size)
{
	uint32_t opcode = PRM_GET(cmd_in, in, opcode);

	cr_assert_lt(opcode, MAX_COMMAND);
	cr_assert_leq(size, sizeof(fake.command[0].in));
	memset(fake.command[opcode].in, 0, sizeof(fake.command[opcode].in));
	memcpy(fake.command[opcode].in, in, size);
	fake.command[opcode].size = size;
	fake.command[opcode].count++;
}

static void refuse(void *out)
{
	PRM_SET(cmd_out, out, status, PRM_STATUS_BAD_PARAM);
	PRM_SET(cmd_out, out, syndrome, 0x31313131);
}

/* What the NIC holds for each object: neither may go before it. */
static struct holding {
	const struct mlx5dv_devx_obj *obj; /* NULL: free */
	uint32_t uar, umem[2];
} held[64];

static struct holding *holding_of(const struct mlx5dv_devx_obj *obj)
{
	for (size_t i = 0; i < sizeof(held) / sizeof(held[0]); i++)
		if (held[i].obj == obj)
			return &held[i];
	cr_assert_fail("object %p", (const void *)obj);
	return NULL;
}

static void hold(const struct mlx5dv_devx_obj *obj, const void *in)
{
	struct holding *h = holding_of(NULL);
	const uint8_t *c;

	*h = (struct holding){.obj = obj};
	switch (PRM_GET(cmd_in, in, opcode)) {
	case PRM_CMD_CREATE_CQ:
		c = PRM_CPTR(create_cq_in, in, cq_context);
		h->uar = PRM_GET(cqc, c, uar_page);
		h->umem[0] = PRM_GET(create_cq_in, in, cq_umem_id);
		h->umem[1] = PRM_GET(cqc, c, dbr_umem_id);
		break;
	case PRM_CMD_CREATE_QP:
		c = PRM_CPTR(create_qp_in, in, qpc);
		h->uar = PRM_GET(qpc, c, uar_page);
		h->umem[0] = PRM_GET(create_qp_in, in, wq_umem_id);
		h->umem[1] = PRM_GET(qpc, c, dbr_umem_id);
		break;
	default:
		c = PRM_CPTR(rmpc, PRM_CPTR(create_rmp_in, in, rmpc), wq);
		h->umem[0] = PRM_GET(wq, c, wq_umem_id);
		h->umem[1] = PRM_GET(wq, c, dbr_umem_id);
	}
}

static struct mlx5dv_devx_obj *obj_create(struct ibv_context *ctx, const void *in, size_t in_size,
					  void *out, size_t out_size)
{
	static uint32_t number = 0x100;

	cr_assert_eq(ctx, &context);
	cr_assert_eq(out_size, 16);
	record(in, in_size);
	if (fails("obj_create")) {
		refuse(out);
		return NULL;
	}
	PRM_SET(obj_out, out, number, ++number);
	fake.objects++;
	hold((struct mlx5dv_devx_obj *)(uintptr_t)number, in);
	return (struct mlx5dv_devx_obj *)(uintptr_t)number;
}

static int obj_destroy(struct mlx5dv_devx_obj *obj)
{
	cr_assert_not_null(obj);
	if (fails("obj_destroy"))
		return fake.fail_errno;
	fake.objects--;
	holding_of(obj)->obj = NULL;
	return 0;
}

static int obj_modify(struct mlx5dv_devx_obj *obj, const void *in, size_t in_size, void *out,
		      size_t out_size)
{
	cr_assert_not_null(obj);
	cr_assert_eq(out_size, 16);
	record(in, in_size);
	if (fails("obj_modify")) {
		refuse(out);
		return fake.fail_errno;
	}
	return 0;
}

static int obj_query(struct mlx5dv_devx_obj *obj, const void *in, size_t in_size, void *out,
		     size_t out_size)
{
	uint8_t *qpc = PRM_PTR(query_qp_out, out, qpc);

	cr_assert_not_null(obj);
	record(in, in_size);
	cr_assert_eq(out_size, PRM_SIZE(query_qp_out));
	if (fails("obj_query"))
		return fake.fail_errno;
	PRM_SET(qpc, qpc, state, fake.qp_state);
	PRM_SET(qpc, qpc, mtu, fake.qp_mtu);
	PRM_SET(qpc, qpc, remote_qpn, 0xabcdef);
	PRM_SET(qpc, qpc, user_index, 0x77);
	PRM_SET(qpc, qpc, log_sra_max, 4);
	PRM_SET(qpc, qpc, rwe, 1);
	return 0;
}

static void answer_hca_cap(uint32_t op_mod, uint8_t *cap)
{
	cr_assert(op_mod & 1, "current capabilities, not the maximum");
	switch (op_mod >> 1) {
	case PRM_CAP_GENERAL:
		PRM_SET(cmd_hca_cap, cap, port_type, fake.is_ethernet);
		PRM_SET(cmd_hca_cap, cap, gid_table_size, 0); /* 8 entries */
		PRM_SET(cmd_hca_cap, cap, rc, 1);
		PRM_SET(cmd_hca_cap, cap, cd, fake.has_core_direct);
		PRM_SET(cmd_hca_cap, cap, rts2rts_qp_dscp, 1);
		PRM_SET(cmd_hca_cap, cap, max_wqe_sz_sq, 1024);
		PRM_SET(cmd_hca_cap, cap, max_wqe_sz_rq, 512);
		PRM_SET(cmd_hca_cap, cap, log_max_qp_sz, fake.log_max_qp_sz);
		PRM_SET(cmd_hca_cap, cap, hca_cap_2, 1);
		break;
	case PRM_CAP_ROCE:
		cr_assert(fake.is_ethernet, "an InfiniBand port is not asked about RoCE");
		PRM_SET(roce_cap, cap, roce_address_table_size, 32);
		PRM_SET(roce_cap, cap, r_roce_min_src_udp_port, 0xc000);
		PRM_SET(roce_cap, cap, r_roce_max_src_udp_port, 0xffff);
		break;
	case PRM_CAP_GENERAL_2:
		PRM_SET(cmd_hca_cap_2, cap, send_dbr_mode_no_dbr_ext, fake.has_no_dbr_ext);
		break;
	default:
		cr_assert_fail("capability type %u was not expected", op_mod >> 1);
	}
}

static int general_cmd(struct ibv_context *ctx, const void *in, size_t in_size, void *out,
		       size_t out_size)
{
	cr_assert_eq(ctx, &context);
	record(in, in_size);
	if (fails("general_cmd"))
		return fake.fail_errno;
	if (PRM_GET(cmd_in, in, opcode) == PRM_CMD_QUERY_HCA_CAP) {
		cr_assert_eq(out_size, 4112);
		answer_hca_cap(PRM_GET(cmd_in, in, op_mod),
			       PRM_PTR(query_hca_cap_out, out, capability));
	} else {
		cr_assert_eq(PRM_GET(cmd_in, in, opcode), PRM_CMD_QUERY_ROCE_ADDRESS);
		PRM_SET(roce_addr, PRM_PTR(roce_address_out, out, roce_address), roce_version,
			fake.roce_version);
	}
	return 0;
}

static int query_eqn(struct ibv_context *ctx, uint32_t vector, uint32_t *eqn)
{
	cr_assert_eq(ctx, &context);
	cr_assert_eq(vector, 0);
	if (fails("query_eqn"))
		return fake.fail_errno;
	*eqn = 7;
	return 0;
}

static struct mlx5dv_devx_umem *umem_reg_ex(struct ibv_context *ctx, struct mlx5dv_devx_umem_in *in)
{
	static uint32_t id = 0x40;
	struct mlx5dv_devx_umem *umem;

	cr_assert_eq(ctx, &context);
	if (fails("umem_reg_ex"))
		return NULL;
	fake.last_umem = *in;
	fake.umems++;
	umem = __real_calloc(1, sizeof(*umem));
	umem->umem_id = ++id;
	return umem;
}

static struct mlx5dv_devx_umem *umem_reg(struct ibv_context *ctx, void *addr, size_t size,
					 uint32_t access)
{
	struct mlx5dv_devx_umem_in in = {
		.addr = addr, .size = size, .access = access, .dmabuf_fd = -1};

	return umem_reg_ex(ctx, &in);
}

static int umem_dereg(struct mlx5dv_devx_umem *umem)
{
	if (fails("umem_dereg"))
		return fake.fail_errno;
	for (size_t i = 0; i < sizeof(held) / sizeof(held[0]); i++)
		cr_assert(!held[i].obj || (held[i].umem[0] != umem->umem_id &&
					   held[i].umem[1] != umem->umem_id),
			  "a umem goes before its queue");
	fake.umems--;
	__real_free(umem);
	return 0;
}

static struct mlx5dv_devx_uar *alloc_uar(struct ibv_context *ctx, uint32_t flags)
{
	static uint32_t page_id = 0x10;
	struct mlx5dv_devx_uar *uar;

	cr_assert_eq(ctx, &context);
	if (flags == MLX5DV_UAR_ALLOC_TYPE_NC_DEDICATED && !fake.has_dedicated_uar) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	if (fails("alloc_uar"))
		return NULL;
	uar = __real_calloc(1, sizeof(*uar));
	if (__real_posix_memalign(&uar->base_addr, 4096, 4096))
		abort();
	memset(uar->base_addr, 0, 4096);
	uar->reg_addr = (char *)uar->base_addr + 0x800;
	uar->page_id = ++page_id;
	fake.uars++;
	return uar;
}

static void free_uar(struct mlx5dv_devx_uar *uar)
{
	for (size_t i = 0; i < sizeof(held) / sizeof(held[0]); i++)
		cr_assert(!held[i].obj || held[i].uar != uar->page_id,
			  "a doorbell page goes before its queue");
	fake.uars--;
	__real_free(uar->base_addr);
	__real_free(uar);
}

static const struct rdma_ops ops = {
	.query_device = query_device,
	.create_ah = create_ah,
	.destroy_ah = destroy_ah,
	.init_obj = init_obj,
	.obj_create = obj_create,
	.obj_destroy = obj_destroy,
	.obj_modify = obj_modify,
	.obj_query = obj_query,
	.general_cmd = general_cmd,
	.query_eqn = query_eqn,
	.umem_reg = umem_reg,
	.umem_reg_ex = umem_reg_ex,
	.umem_dereg = umem_dereg,
	.alloc_uar = alloc_uar,
	.free_uar = free_uar,
};

void fake_obey(void)
{
	fake.has_no_dbr_ext = fake.has_core_direct = true;
	fake.has_dedicated_uar = true;
	fake.roce_version = 2;
	fake.log_max_qp_sz = 15;
	fake.qp_state = fake.qp_mtu = 0;
	fake.fail_at = 0;
	fake.fails_on = false;
	fake.fail_errno = EINVAL;
	fake.fail_kinds = FAKE_RDMA;
	fake.failed = NULL;
	rdma_inject(&ops);
}

void fake_forget(void)
{
	fake.objects = fake.umems = fake.uars = fake.blocks = 0;
	memset(held, 0, sizeof(held));
}

void fake_reset(void)
{
	memset(&fake, 0, sizeof(fake));
	fake_forget();
	fake_obey();
}

const uint8_t *fake_input(uint32_t opcode)
{
	cr_assert_gt(fake.command[opcode].count, 0, "command 0x%x was not sent", opcode);
	return fake.command[opcode].in;
}

uint32_t be32_at(const uint8_t *p, size_t offset)
{
	return prm_load32(p + offset);
}

uint64_t be64_at(const uint8_t *p, size_t offset)
{
	return prm_load64(p + offset);
}

/* ---- CUDA ---- */

struct fake_cuda fake_cuda;
static void *const primary = (void *)0x50;

enum { CUDA_REFUSED = 999, GPU_DEVICE = 3 };

static cuda_result cuda_error(void)
{
	return fake.fail_errno == ENOMEM ? CUDA_OUT_OF_MEMORY : CUDA_REFUSED;
}

#define CUDA_MAY_FAIL(call)                                                                        \
	do {                                                                                       \
		if (fake_fails(FAKE_CUDA, call))                                                   \
			return cuda_error();                                                       \
	} while (0)
#define CUDA_MAY_KEEP(call)                                                                        \
	do {                                                                                       \
		if (fake_fails(FAKE_CUDA, call))                                                   \
			return refuse_release(cuda_error());                                       \
	} while (0)

static cuda_result cu_ok(unsigned int flags)
{
	(void)flags;
	return CUDA_OK;
}

static cuda_result cu_count(int *count)
{
	*count = 1;
	return CUDA_OK;
}

static cuda_result cu_by_bus(cuda_device *dev, const char *id)
{
	CUDA_MAY_FAIL("DeviceGetByPCIBusId");
	*dev = GPU_DEVICE;
	return strcmp(id, "0000:17:00.0") == 0 ? CUDA_OK : 101;
}

static cuda_result cu_attr(int *v, int attr, cuda_device dev)
{
	cr_assert_eq(dev, GPU_DEVICE, "the GPU that was named is asked, not the current one");
	*v = attr == CUDA_ATTR_DMA_BUF_SUPPORTED && fake_cuda.has_dmabuf;
	return CUDA_OK;
}

static cuda_result cu_retain(void **ctx, cuda_device dev)
{
	CUDA_MAY_FAIL("PrimaryCtxRetain");
	(void)dev;
	*ctx = primary;
	fake_cuda.contexts++;
	return CUDA_OK;
}

static cuda_result cu_release(cuda_device dev)
{
	(void)dev;
	fake_cuda.contexts--;
	CUDA_MAY_KEEP("PrimaryCtxRelease");
	return CUDA_OK;
}

static cuda_result cu_current(void **ctx)
{
	CUDA_MAY_FAIL("CtxGetCurrent");
	*ctx = fake_cuda.depth ? primary : NULL;
	return CUDA_OK;
}

static cuda_result cu_device(cuda_device *dev)
{
	CUDA_MAY_FAIL("CtxGetDevice");
	*dev = fake_cuda.depth ? GPU_DEVICE : 0;
	return CUDA_OK;
}

static cuda_result cu_push(void *ctx)
{
	CUDA_MAY_FAIL("CtxPushCurrent");
	cr_assert_eq(ctx, primary);
	fake_cuda.depth++;
	return CUDA_OK;
}

static cuda_result cu_pop(void **ctx)
{
	*ctx = primary;
	fake_cuda.depth--;
	return CUDA_OK;
}

static cuda_result cu_sync(void)
{
	CUDA_MAY_FAIL("CtxSynchronize");
	cr_assert_gt(fake_cuda.depth, 0, "a context is current");
	return CUDA_OK;
}

static cuda_result cu_stream_create(void **stream, unsigned int flags)
{
	CUDA_MAY_FAIL("StreamCreate");
	cr_assert_eq(flags, CUDA_STREAM_NON_BLOCKING);
	*stream = (void *)0x60;
	fake_cuda.streams++;
	return CUDA_OK;
}

static cuda_result cu_stream_destroy(void *stream)
{
	(void)stream;
	fake_cuda.streams--;
	CUDA_MAY_KEEP("StreamDestroy");
	return CUDA_OK;
}

static cuda_result cu_stream_sync(void *stream)
{
	CUDA_MAY_FAIL("StreamSynchronize");
	cr_assert_eq(stream, (void *)0x60);
	return CUDA_OK;
}

static cuda_result cu_alloc(cuda_ptr *ptr, size_t size)
{
	CUDA_MAY_FAIL("MemAlloc");
	cr_assert_gt(fake_cuda.depth, 0, "a context is current");
	*ptr = (cuda_ptr)__real_malloc(size + 256) + 256; /* not the alignment that anybody wants */
	cr_assert_lt(fake_cuda.allocations, FAKE_CUDA_BLOCKS);
	fake_cuda.block[fake_cuda.allocations++] = *ptr;
	return CUDA_OK;
}

static cuda_result cu_free(cuda_ptr ptr)
{
	int i = 0;

	while (i < fake_cuda.allocations && fake_cuda.block[i] != ptr)
		i++;
	cr_assert_lt(i, fake_cuda.allocations, "%p was not allocated", (void *)ptr);
	fake_cuda.block[i] = fake_cuda.block[--fake_cuda.allocations];
	__real_free((void *)(ptr - 256));
	CUDA_MAY_KEEP("MemFree");
	return CUDA_OK;
}

static cuda_result cu_memcpy(cuda_ptr dst, cuda_ptr src, size_t size)
{
	CUDA_MAY_FAIL("Memcpy");
	memcpy((void *)dst, (void *)src, size);
	return CUDA_OK;
}

static cuda_result cu_dtoh(void *dst, cuda_ptr src, size_t size, void *stream)
{
	CUDA_MAY_FAIL("MemcpyDtoHAsync");
	cr_assert_eq(stream, (void *)0x60, "never the default stream, which waits for kernels");
	memcpy(dst, (void *)src, size);
	return CUDA_OK;
}

static cuda_result cu_memset(cuda_ptr dst, unsigned char byte, size_t size)
{
	CUDA_MAY_FAIL("MemsetD8");
	memset((void *)dst, byte, size);
	return CUDA_OK;
}

static cuda_result cu_register(void *p, size_t size, unsigned int flags)
{
	CUDA_MAY_FAIL("MemHostRegister");
	(void)p, (void)size;
	fake_cuda.last_register_flags = flags;
	if ((flags & CUDA_HOST_REGISTER_IOMEMORY) && fake_cuda.refuses_io)
		return 801;
	fake_cuda.registrations++;
	return CUDA_OK;
}

static cuda_result cu_unregister(void *p)
{
	(void)p;
	fake_cuda.registrations--;
	CUDA_MAY_KEEP("MemHostUnregister");
	return CUDA_OK;
}

/* The GPU sees host memory at another address, which the engine must not mix up. */
static cuda_result cu_device_pointer(cuda_ptr *ptr, void *p, unsigned int flags)
{
	CUDA_MAY_FAIL("MemHostGetDevicePointer");
	(void)flags;
	*ptr = (cuda_ptr)p + ((cuda_ptr)1 << 40);
	return CUDA_OK;
}

static cuda_result cu_pointer_attr(const void *value, int attr, cuda_ptr ptr)
{
	CUDA_MAY_FAIL("PointerSetAttribute");
	(void)ptr;
	cr_assert_eq(*(const unsigned int *)value, 1);
	cr_assert_eq(attr, CUDA_POINTER_ATTR_SYNC_MEMOPS);
	return CUDA_OK;
}

static cuda_result cu_get_pointer_attr(void *value, int attr, cuda_ptr ptr)
{
	CUDA_MAY_FAIL("PointerGetAttribute");
	cr_assert_eq(attr, CUDA_POINTER_ATTR_MEMORY_TYPE);
	(void)ptr;
	if (!fake_cuda.all_is_device)
		return 1; /* memory that CUDA does not know */
	*(unsigned int *)value = CUDA_MEMORY_TYPE_DEVICE;
	return CUDA_OK;
}

static cuda_result cu_handle(void *handle, cuda_ptr ptr, size_t size, int type,
			     unsigned long long flags)
{
	CUDA_MAY_FAIL("MemGetHandleForAddressRange");
	if (ptr % 4096 || size % 4096)
		return 1; /* CUDA_ERROR_INVALID_VALUE */
	cr_assert_eq(type, CUDA_RANGE_HANDLE_DMA_BUF_FD);
	cr_assert_eq(flags, 0);
	*(int *)handle = memfd_create("dmabuf", 0);
	return CUDA_OK;
}

int fake_cuda_sweep(void)
{
	int left = fake_cuda.allocations + fake_cuda.registrations + fake_cuda.mappings +
		   fake_cuda.contexts + fake_cuda.streams + fake_cuda.depth;

	while (fake_cuda.allocations)
		__real_free((void *)(fake_cuda.block[--fake_cuda.allocations] - 256));
	fake_cuda.registrations = fake_cuda.mappings = fake_cuda.contexts = 0;
	fake_cuda.streams = fake_cuda.depth = 0;
	return left;
}

const struct cuda_ops fake_cuda_ops = {
	.Init = cu_ok,
	.DeviceGetCount = cu_count,
	.DeviceGetByPCIBusId = cu_by_bus,
	.DeviceGetAttribute = cu_attr,
	.PrimaryCtxRetain = cu_retain,
	.PrimaryCtxRelease = cu_release,
	.CtxGetCurrent = cu_current,
	.CtxGetDevice = cu_device,
	.CtxPushCurrent = cu_push,
	.CtxPopCurrent = cu_pop,
	.CtxSynchronize = cu_sync,
	.StreamCreate = cu_stream_create,
	.StreamDestroy = cu_stream_destroy,
	.StreamSynchronize = cu_stream_sync,
	.MemAlloc = cu_alloc,
	.MemFree = cu_free,
	.Memcpy = cu_memcpy,
	.MemcpyDtoHAsync = cu_dtoh,
	.MemsetD8 = cu_memset,
	.MemHostRegister = cu_register,
	.MemHostUnregister = cu_unregister,
	.MemHostGetDevicePointer = cu_device_pointer,
	.PointerGetAttribute = cu_get_pointer_attr,
	.PointerSetAttribute = cu_pointer_attr,
	.MemGetHandleForAddressRange = cu_handle,
};

static int gdr_pin(void *gdr, unsigned long addr, size_t size, uint64_t token, uint32_t va_space,
		   gdr_handle *handle)
{
	(void)gdr, (void)token, (void)va_space, (void)size;
	cr_assert_eq(addr % 65536, 0, "GDRCopy pins GPU pages");
	if (fake_fails(FAKE_CUDA, "gdr_pin_buffer"))
		return fake.fail_errno;
	handle->h = addr;
	fake_cuda.mappings++;
	return 0;
}

static int gdr_unpin(void *gdr, gdr_handle handle)
{
	(void)gdr, (void)handle;
	fake_cuda.mappings--;
	return fake_fails(FAKE_CUDA, "gdr_unpin_buffer") ? refuse_release(fake.fail_errno) : 0;
}

static int gdr_map_fake(void *gdr, gdr_handle handle, void **va, size_t size)
{
	(void)gdr, (void)size;
	if (fake_fails(FAKE_CUDA, "gdr_map"))
		return fake.fail_errno;
	*va = (void *)handle.h;
	return 0;
}

static int gdr_unmap_fake(void *gdr, gdr_handle handle, void *va, size_t size)
{
	(void)gdr, (void)size;
	cr_assert_eq(va, (void *)handle.h);
	return fake_fails(FAKE_CUDA, "gdr_unmap") ? refuse_release(fake.fail_errno) : 0;
}

const struct gdr_ops fake_gdr_ops = {
	.pin_buffer = gdr_pin,
	.unpin_buffer = gdr_unpin,
	.map = gdr_map_fake,
	.unmap = gdr_unmap_fake,
};
