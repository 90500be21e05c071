/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every function of the library, called wrongly: NULL, out of range, in the wrong state, without
 * memory, without rdma-core. engine_bad_input.def has a row for each call; here is what the rows
 * use, what must hold after each of them, and the proof that no exported function lacks rows.
 */
#include <criterion/criterion.h>
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/doca_gpunetio_verbs_dev.h"
#include "engine_fake.h"
#include "export.h"
#include "host/doca_gpunetio_high_level.h"
#include "log.h"

#define HANDLER(name) DOCA_GPUNETIO_VERBS_NIC_HANDLER_##name
#define MODE(name)    DOCA_GPUNETIO_VERBS_SEND_DBR_MODE_EXT_##name
#define A(name)	      DOCA_VERBS_QP_ATTR_##name
#define STATE(name)   DOCA_VERBS_QP_STATE_##name

enum {
	DEPTH = 64,
	MEMORY_BYTES = 8192,
	NEXT = A(NEXT_STATE),
	INIT_MASK = A(PKEY_INDEX) | A(PORT_NUM) | A(ALLOW_REMOTE_WRITE) | A(ALLOW_REMOTE_READ),
	RTR_MASK = A(RQ_PSN) | A(DEST_QP_NUM) | A(PATH_MTU) | A(AH_ATTR) | A(MIN_RNR_TIMER),
	RTS_MASK = A(SQ_PSN) | A(ACK_TIMEOUT) | A(RETRY_CNT) | A(RNR_RETRY),
};

/* A request for more memory than there is gets NULL, as without the sanitizer. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "allocator_may_return_null=1";
}

/* ---- What the rows call with ---- */

static char memory[MEMORY_BYTES] __attribute__((aligned(4096)));

/* One of everything, all of it in order. The rows must leave it so. */
static struct {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct doca_gpu *gpu, *other_gpu;
	void *gpu_memory; /* 4096 bytes of gpu */
	struct doca_verbs_device_attr *device;
	struct doca_verbs_umem *umem; /* of memory */
	struct doca_verbs_uar *uar;
	struct doca_verbs_cq_attr *cq_attr;
	struct doca_verbs_cq *cq;
	struct doca_verbs_srq_init_attr *srq_init;
	struct doca_verbs_srq *srq;
	struct doca_verbs_qp_init_attr *qp_init, *scratch_init;
	struct doca_verbs_ah_attr *ah;
	struct doca_verbs_qp_attr *qp_attr;
	struct doca_verbs_qp *qp, *qp_without_sq;
	struct doca_gpu_verbs_qp_init_attr_hl hl_attr;
	struct doca_gpu_verbs_qp_hl *hl[2], *hl_proxied, *hl_monitored, *hl_recorded, *hl_array[2],
		*hl_of_other_gpu;
	struct doca_gpu_verbs_qp *plain; /* hl[0]: rings itself, no device handle */
	struct doca_gpu_verbs_qp *proxied;
	struct doca_gpu_verbs_qp *monitored; /* proxied, and in service */
	struct doca_gpu_verbs_qp *recorded;  /* its proxy needs a device handle, which it lacks */
	struct doca_gpu_verbs_qp *in_array[2];
	struct doca_gpu_dev_verbs_qp *array; /* of in_array */
	struct doca_gpu_dev_verbs_qp *flat;  /* of hl */
	doca_gpu_verbs_service_t service;
} f;

/* Where results would go. A call that fails leaves a pointer as it was, or NULL. */
static struct {
	void *p, *q, *r;
	uint64_t u64;
	size_t size;
	uint32_t u32, u32b, u32c;
	uint8_t u8;
	bool flag;
	int fd;
	struct doca_gpu_verbs_qp_error_info error;
} out;
static char untouched;

static void make_attributes(void)
{
	*f.qp_init = (struct doca_verbs_qp_init_attr){
		.pd = f.pd, .send_cq = f.cq, .sq_wr = DEPTH, .send_max_sges = 1};
	*f.cq_attr = (struct doca_verbs_cq_attr){.cq_size = DEPTH};
	*f.srq_init =
		(struct doca_verbs_srq_init_attr){.pd = f.pd, .srq_wr = 8, .receive_max_sges = 1};
	*f.ah = (struct doca_verbs_ah_attr){.addr_type = DOCA_VERBS_ADDR_TYPE_IB_NO_GRH, .dlid = 1};
	*f.qp_attr = (struct doca_verbs_qp_attr){.path_mtu = DOCA_VERBS_MTU_SIZE_1K_BYTES,
						 .dest_qp_num = 1,
						 .ah_attr = f.ah,
						 .port_num = 1,
						 .ack_timeout = 14,
						 .retry_cnt = 7,
						 .rnr_retry = 7,
						 .max_rd_atomic = 1,
						 .max_dest_rd_atomic = 1};
	f.hl_attr = (struct doca_gpu_verbs_qp_init_attr_hl){
		.gpu_dev = f.gpu, .ibpd = f.pd, .sq_nwqe = DEPTH};
}

/* How the world is when a row begins: nothing fails, and the results are marked. */
static void set_the_scene(void)
{
	fake_obey();
	fake.no_libraries = true;
	cuda_inject(NULL, NULL);
	make_attributes();
	memset(&out, 0, sizeof(out));
	out.p = out.q = out.r = &untouched;
}

/* The call number n of rdma-core's, or the first of the allocator's, of the system's, fails. */
static void refuse(unsigned int n)
{
	fake.fail_at = fake.calls + n;
}

static void no_memory(void)
{
	fake.fail_kinds = FAKE_MEMORY;
	refuse(1);
}

static void no_thread(void)
{
	fake.fail_kinds = FAKE_THREAD;
	refuse(1);
}

/* libibverbs cannot be opened. */
static void no_rdma_core(void)
{
	rdma_inject(NULL);
}

/* An rdma-core that knows no dma-buf. */
static void old_rdma_core(void)
{
	static struct rdma_ops ops;

	ops = *rdma_get();
	ops.umem_reg_ex = NULL;
	rdma_inject(&ops);
}

/* A CUDA driver whose call number n fails (0: none). */
static void played_cuda(unsigned int n)
{
	cuda_inject(&fake_cuda_ops, NULL);
	fake.fail_kinds = FAKE_CUDA;
	fake.fail_at = n ? fake.calls + n : 0;
}

static struct doca_verbs_qp_attr *qp_attr(void)
{
	return f.qp_attr;
}

/* The attributes, with one value changed. */
#define cq_with(field, value)	(f.cq_attr->field = (value), f.cq_attr)
#define srq_with(field, value)	(f.srq_init->field = (value), f.srq_init)
#define init_with(field, value) (f.qp_init->field = (value), f.qp_init)
#define hl_with(field, value)	(f.hl_attr.field = (value), &f.hl_attr)
#define attr_with(field, value) (f.qp_attr->field = (value), qp_attr())
#define ah_with(field, value)	(f.ah->field = (value), qp_attr())
#define to(state)		attr_with(next_state, STATE(state))
#define from(state, next)	(f.qp_attr->current_state = STATE(state), to(next))

static struct umem_at umem_at(uint64_t offset)
{
	return (struct umem_at){.umem = f.umem, .offset = offset};
}

static struct umem_at umem_at_null(void)
{
	return (struct umem_at){0};
}

static struct doca_verbs_cq_attr *cq_at(struct umem_at ring, struct umem_at dbr)
{
	f.cq_attr->ring = ring;
	f.cq_attr->dbr = dbr;
	return f.cq_attr;
}

static struct doca_verbs_qp_init_attr *init_at(struct umem_at ring, struct umem_at dbr)
{
	f.qp_init->ring = ring;
	f.qp_init->dbr = dbr;
	return f.qp_init;
}

static struct doca_verbs_qp_init_attr *init_receiving(uint32_t wr, uint32_t sges)
{
	f.qp_init->receive_cq = f.cq;
	f.qp_init->rq_wr = wr;
	f.qp_init->receive_max_sges = sges;
	return f.qp_init;
}

static struct doca_verbs_qp_init_attr *init_no_dbr(bool emulated)
{
	f.qp_init->send_dbr_mode = DOCA_VERBS_QP_SEND_DBR_MODE_NO_DBR_EXT;
	f.qp_init->emulate_no_dbr_ext = emulated;
	return f.qp_init;
}

static struct doca_gpu_verbs_qp_init_attr_hl *hl_bf_without_record(void)
{
	f.hl_attr.nic_handler = HANDLER(GPU_SM_BF);
	f.hl_attr.send_dbr_mode_ext = MODE(NO_DBR_HW);
	return &f.hl_attr;
}

static struct doca_gpu_verbs_qp **list(struct doca_gpu_verbs_qp *a, struct doca_gpu_verbs_qp *b)
{
	static struct doca_gpu_verbs_qp *qps[2];

	qps[0] = a;
	qps[1] = b;
	return qps;
}

static struct doca_gpu_verbs_qp_hl **hl_list(struct doca_gpu_verbs_qp_hl *a,
					     struct doca_gpu_verbs_qp_hl *b)
{
	static struct doca_gpu_verbs_qp_hl *hls[2];

	hls[0] = a;
	hls[1] = b;
	return hls;
}

static bool is_zero_gid(struct doca_verbs_gid gid)
{
	static const struct doca_verbs_gid zero;

	return memcmp(&gid, &zero, sizeof(gid)) == 0;
}

/* ---- The table ---- */

struct row {
	const char *function, *arguments;
	uint64_t (*call)(void);
	uint64_t expected;
};

#define ROW_NAME__(line)		row_##line
#define ROW_NAME_(line)			ROW_NAME__(line)
#define STATUS(function, expected, ...) VALUE(function, DOCA_ERROR_##expected, __VA_ARGS__)
#define VALUE(function, expected, ...)                                                             \
	static uint64_t ROW_NAME_(__LINE__)(void)                                                  \
	{                                                                                          \
		return (uint64_t)(uintptr_t)function(__VA_ARGS__);                                 \
	}
#define HOLDS(function, expression)                                                                \
	static uint64_t ROW_NAME_(__LINE__)(void)                                                  \
	{                                                                                          \
		return expression;                                                                 \
	}
#include "engine_bad_input.def"
#undef VALUE
#undef HOLDS
#define VALUE(function, expected, ...)                                                             \
	{#function, #__VA_ARGS__, ROW_NAME_(__LINE__), (uint64_t)(uintptr_t)(expected)},
#define HOLDS(function, expression) {#function, #expression, ROW_NAME_(__LINE__), 1},
static const struct row rows[] = {
#include "engine_bad_input.def"
};
enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

/* ---- What must hold after each ---- */

struct living {
	int objects, umems, uars, ahs, blocks, descriptor;
	size_t allocations;
};

static struct living count_the_living(void)
{
	int next = dup(STDERR_FILENO); /* the first free descriptor */

	close(next);
	return (struct living){
		.objects = fake.objects,
		.umems = fake.umems,
		.uars = fake.uars,
		.ahs = fake.ahs,
		.blocks = fake.blocks,
		.descriptor = next,
		.allocations = f.gpu ? f.gpu->allocation_count : 0,
	};
}

static bool left_results_alone(void)
{
	return (!out.p || out.p == &untouched) && (!out.q || out.q == &untouched) &&
	       (!out.r || out.r == &untouched);
}

static void check_row(const struct row *row)
{
	struct living before, after;
	uint64_t got;

	set_the_scene();
	before = count_the_living();
	got = row->call();
	after = count_the_living();
	cr_expect_eq(got, row->expected, "%s(%s): %#llx, expected %#llx", row->function,
		     row->arguments, (unsigned long long)got, (unsigned long long)row->expected);
	cr_expect(
		memcmp(&before, &after, sizeof(before)) == 0,
		"%s(%s): objects %d, umems %d, UARs %d, AHs %d, blocks %d, fds %d, GPU blocks %zd",
		row->function, row->arguments, after.objects - before.objects,
		after.umems - before.umems, after.uars - before.uars, after.ahs - before.ahs,
		after.blocks - before.blocks, after.descriptor - before.descriptor,
		(ssize_t)(after.allocations - before.allocations));
	cr_expect(left_results_alone(), "%s(%s): a result that is no object", row->function,
		  row->arguments);
	cr_expect_eq(fake_cuda.depth + fake_cuda.contexts + fake_cuda.streams, 0, "%s(%s): CUDA",
		     row->function, row->arguments);
}

#define OK(call) cr_assert_eq(call, DOCA_SUCCESS, #call)

static struct doca_gpu_verbs_qp_hl *make_hl(struct doca_gpu *gpu,
					    enum doca_gpu_dev_verbs_nic_handler handler,
					    enum doca_gpu_verbs_send_dbr_mode_ext ext)
{
	struct doca_gpu_verbs_qp_hl *hl;

	make_attributes();
	f.hl_attr.gpu_dev = gpu;
	f.hl_attr.nic_handler = handler;
	f.hl_attr.send_dbr_mode_ext = ext;
	OK(doca_gpu_verbs_create_qp_hl(&f.hl_attr, &hl));
	return hl;
}

static void make_verbs(void)
{
	OK(doca_verbs_query_device(f.context, &f.device));
	OK(doca_verbs_umem_create(f.context, memory, MEMORY_BYTES, 1, -1, 0, &f.umem));
	OK(doca_verbs_uar_create(f.context, DOCA_VERBS_UAR_ALLOCATION_TYPE_NONCACHE, &f.uar));
	OK(doca_verbs_qp_init_attr_create(&f.qp_init));
	OK(doca_verbs_qp_init_attr_create(&f.scratch_init));
	OK(doca_verbs_qp_attr_create(&f.qp_attr));
	OK(doca_verbs_cq_attr_create(&f.cq_attr));
	OK(doca_verbs_srq_init_attr_create(&f.srq_init));
	OK(doca_verbs_ah_attr_create(f.context, &f.ah));
	make_attributes();
	OK(doca_verbs_cq_create(f.context, f.cq_attr, &f.cq));
	OK(doca_verbs_srq_create(f.context, f.srq_init, &f.srq));
	make_attributes();
	OK(doca_verbs_qp_create(f.context, f.qp_init, &f.qp));
	init_receiving(8, 1)->sq_wr = 0;
	OK(doca_verbs_qp_create(f.context, f.qp_init, &f.qp_without_sq));
}

static void make_exported(void)
{
	f.hl[0] = make_hl(f.gpu, HANDLER(AUTO), MODE(VALID_DBR));
	f.hl[1] = make_hl(f.gpu, HANDLER(AUTO), MODE(VALID_DBR));
	f.hl_array[0] = make_hl(f.gpu, HANDLER(AUTO), MODE(VALID_DBR));
	f.hl_array[1] = make_hl(f.gpu, HANDLER(AUTO), MODE(VALID_DBR));
	f.hl_proxied = make_hl(f.gpu, HANDLER(CPU_PROXY), MODE(VALID_DBR));
	f.hl_monitored = make_hl(f.gpu, HANDLER(CPU_PROXY), MODE(VALID_DBR));
	f.hl_recorded = make_hl(f.gpu, HANDLER(AUTO), MODE(NO_DBR_SW_EMULATED));
	f.hl_of_other_gpu = make_hl(f.other_gpu, HANDLER(AUTO), MODE(VALID_DBR));
	f.plain = f.hl[0]->qp_gverbs;
	f.proxied = f.hl_proxied->qp_gverbs;
	f.monitored = f.hl_monitored->qp_gverbs;
	f.recorded = f.hl_recorded->qp_gverbs;
	f.in_array[0] = f.hl_array[0]->qp_gverbs;
	f.in_array[1] = f.hl_array[1]->qp_gverbs;
	OK(doca_gpu_verbs_export_multi_qps_dev(f.gpu, f.in_array, 2, &f.array));
	OK(doca_gpu_verbs_qp_flat_list_create_hl(f.hl, 2, &f.flat));
	OK(doca_gpu_verbs_create_service(&f.service));
	OK(doca_gpu_verbs_service_monitor_qp(f.service, f.monitored));
}

static void make_fixture(void)
{
	fake_reset();
	fake.no_libraries = true;
	f.context = fake_pd.context;
	f.pd = &fake_pd;
	OK(doca_gpu_create("cpu", &f.gpu));
	OK(doca_gpu_create("cpu", &f.other_gpu));
	OK(doca_gpu_mem_alloc(f.gpu, 4096, 0, DOCA_GPU_MEM_TYPE_GPU, &f.gpu_memory, NULL));
	make_verbs();
	make_exported();
}

/* Everything still does what it is for. */
static void use_fixture(void)
{
	struct doca_gpu_dev_verbs_qp *dev;

	set_the_scene();
	OK(doca_verbs_qp_modify(f.qp, to(INIT), NEXT | INIT_MASK));
	OK(doca_verbs_qp_modify(f.qp, to(RTR), NEXT | RTR_MASK));
	OK(doca_verbs_qp_modify(f.qp, to(RTS), NEXT | RTS_MASK));
	OK(doca_gpu_verbs_get_qp_dev(f.plain, &dev));
	OK(doca_gpu_verbs_get_qp_dev(f.recorded, &dev));
	OK(doca_gpu_verbs_cpu_proxy_progress(f.proxied, NULL));
	OK(doca_gpu_verbs_cpu_proxy_progress(f.recorded, NULL));
	OK(doca_gpu_verbs_reset_tracking_and_memory(f.in_array[1]));
}

static void drop_fixture(void)
{
	OK(doca_gpu_verbs_destroy_service(f.service));
	OK(doca_gpu_verbs_qp_flat_list_destroy_hl(f.flat));
	OK(doca_gpu_verbs_unexport_multi_qps_dev(f.gpu, f.in_array, 2, f.array));
	for (int i = 0; i < 2; i++) {
		OK(doca_gpu_verbs_destroy_qp_hl(f.hl[i]));
		OK(doca_gpu_verbs_destroy_qp_hl(f.hl_array[i]));
	}
	OK(doca_gpu_verbs_destroy_qp_hl(f.hl_proxied));
	OK(doca_gpu_verbs_destroy_qp_hl(f.hl_monitored));
	OK(doca_gpu_verbs_destroy_qp_hl(f.hl_recorded));
	OK(doca_gpu_verbs_destroy_qp_hl(f.hl_of_other_gpu));
	OK(doca_verbs_qp_destroy(f.qp));
	OK(doca_verbs_qp_destroy(f.qp_without_sq));
	OK(doca_verbs_srq_destroy(f.srq));
	OK(doca_verbs_cq_destroy(f.cq));
	OK(doca_verbs_uar_destroy(f.uar));
	OK(doca_verbs_umem_destroy(f.umem));
	OK(doca_verbs_device_attr_free(f.device));
	OK(doca_verbs_qp_init_attr_destroy(f.qp_init));
	OK(doca_verbs_qp_init_attr_destroy(f.scratch_init));
	OK(doca_verbs_qp_attr_destroy(f.qp_attr));
	OK(doca_verbs_cq_attr_destroy(f.cq_attr));
	OK(doca_verbs_srq_init_attr_destroy(f.srq_init));
	OK(doca_verbs_ah_attr_destroy(f.ah));
	OK(doca_gpu_mem_free(f.gpu, f.gpu_memory));
	OK(doca_gpu_destroy(f.gpu));
	OK(doca_gpu_destroy(f.other_gpu));
	cr_assert_eq(fake.objects + fake.umems + fake.uars + fake.ahs, 0);
	cr_assert_eq(fake.blocks, 0);
}

Test(engine_bad_input, every_wrong_call_is_answered_and_leaves_everything_as_it_was)
{
	make_fixture();
	for (size_t i = 0; i < ROWS; i++)
		check_row(&rows[i]);
	use_fixture();
	drop_fixture();
}

/* ---- Is the table whole? ---- */

static bool has_row(const char *function)
{
	for (size_t i = 0; i < ROWS; i++)
		if (strcmp(rows[i].function, function) == 0)
			return true;
	return false;
}

/* A library's dynamic symbols: those it defines, each given to see(). */
static void walk_exports(const char *path, void (*see)(const char *name))
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	const Elf64_Shdr *section;
	const Elf64_Ehdr *head;
	struct stat st;

	cr_assert_geq(fd, 0, "%s", path);
	cr_assert_eq(fstat(fd, &st), 0);
	head = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	cr_assert_neq(head, MAP_FAILED);
	section = (const Elf64_Shdr *)((const char *)head + head->e_shoff);
	for (int i = 0; i < head->e_shnum; i++) {
		const Elf64_Sym *symbol =
			(const Elf64_Sym *)((const char *)head + section[i].sh_offset);
		const char *names;

		if (section[i].sh_type != SHT_DYNSYM)
			continue;
		names = (const char *)head + section[section[i].sh_link].sh_offset;
		for (size_t s = 0; s < section[i].sh_size / sizeof(*symbol); s++)
			if (symbol[s].st_shndx != SHN_UNDEF &&
			    ELF64_ST_TYPE(symbol[s].st_info) == STT_FUNC)
				see(names + symbol[s].st_name);
	}
	munmap((void *)head, (size_t)st.st_size);
	close(fd);
}

static size_t exported_functions;

static void expect_row(const char *name)
{
	exported_functions++;
	cr_expect(has_row(name), "%s is exported and has no row in engine_bad_input.def", name);
}

Test(engine_bad_input, every_exported_function_has_rows)
{
	walk_exports(GDAKIT_ENGINE_LIBRARY, expect_row);
	cr_assert_geq(exported_functions, 191, "190 functions and the log");
}
