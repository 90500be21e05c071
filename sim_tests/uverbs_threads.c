// SPDX-License-Identifier: BSD-3-Clause
/*
 * Many threads in the face at once, linked directly so that a sanitizer sees all of it: objects are
 * made, used and destroyed on contexts that are shared and on contexts that come and go.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "sim_tests/uverbs_rig.h"

enum {
	THREADS = 64,
	SHARED = 4, /* contexts that all but every fourth thread share */
	ROUNDS = 4,
	WAIT_MS = 30000,
};

/*
 * What ThreadSanitizer cannot know: a NIC reads what the program wrote before it rang, and the ring
 * is seen through another mapping of the page; and pthread_mutex_clocklock().
 */
const char *__tsan_default_suppressions(void);
const char *__tsan_default_suppressions(void)
{
	return "race:copy_fn\nmutex:world_peek\n";
}

/* Where in a thread's memory; the rig has its own in it. */
enum { SQ_AT = 4 * 8192, DBR_AT = SQ_AT + 4096, CQ_AT = 8192, BUF_AT = 6 * 8192 };

static struct ur_dev shared[SHARED];
static _Atomic unsigned int completed;

static void connect_to_itself(struct ur_dev *dev, uint32_t qp, uint32_t qpn)
{
	cr_assert_eq(ur_modify_qp(dev, qp, qpn, UV_QPS_INIT,
				  UV_QP_PKEY_INDEX | UV_QP_PORT | UV_QP_ACCESS),
		     0);
	cr_assert_eq(ur_modify_qp(dev, qp, qpn, UV_QPS_RTR,
				  UV_QP_AV | UV_QP_PATH_MTU | UV_QP_DEST_QPN | UV_QP_RQ_PSN |
					  UV_QP_MAX_DEST_RD_ATOMIC | UV_QP_MIN_RNR_TIMER),
		     0);
	cr_assert_eq(ur_modify_qp(dev, qp, qpn, UV_QPS_RTS,
				  UV_QP_TIMEOUT | UV_QP_RETRY_CNT | UV_QP_RNR_RETRY | UV_QP_SQ_PSN |
					  UV_QP_MAX_RD_ATOMIC),
		     0);
}

static uint32_t new_uar(struct ur_dev *dev, uint8_t **page, uint32_t *handle)
{
	uint64_t offset, type = MLX5_IB_UAPI_UAR_ALLOC_TYPE_NC;
	uint32_t length, id;
	struct ur_call c;

	ur_begin(&c, MLX5_IB_OBJECT_UAR, MLX5_IB_METHOD_UAR_OBJ_ALLOC);
	ur_handle(&c, MLX5_IB_ATTR_UAR_OBJ_ALLOC_HANDLE, 0);
	ur_in(&c, MLX5_IB_ATTR_UAR_OBJ_ALLOC_TYPE, &type, sizeof(type));
	ur_out(&c, MLX5_IB_ATTR_UAR_OBJ_ALLOC_MMAP_OFFSET, &offset, sizeof(offset));
	ur_out(&c, MLX5_IB_ATTR_UAR_OBJ_ALLOC_MMAP_LENGTH, &length, sizeof(length));
	ur_out(&c, MLX5_IB_ATTR_UAR_OBJ_ALLOC_PAGE_ID, &id, sizeof(id));
	cr_assert_eq(ur_run(dev->fd, &c), 0);
	*handle = (uint32_t)ur_attr(&c, MLX5_IB_ATTR_UAR_OBJ_ALLOC_HANDLE)->data;
	*page = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED, dev->fd, (off_t)offset);
	cr_assert_neq((void *)*page, MAP_FAILED);
	return id;
}

static void destroy(struct ur_dev *dev, uint16_t object, uint16_t method, uint16_t id,
		    uint32_t handle)
{
	struct ur_call c;

	ur_begin(&c, object, method);
	ur_handle(&c, id, handle);
	cr_assert_eq(ur_run(dev->fd, &c), 0, "object 0x%x", object);
}

static void destroy_qp(struct ur_dev *dev, uint32_t handle)
{
	struct ib_uverbs_destroy_qp_resp resp;
	struct ur_call c;

	ur_begin(&c, UVERBS_OBJECT_QP, UVERBS_METHOD_QP_DESTROY);
	ur_handle(&c, UVERBS_ATTR_DESTROY_QP_HANDLE, handle);
	ur_out(&c, UVERBS_ATTR_DESTROY_QP_RESP, &resp, sizeof(resp));
	cr_assert_eq(ur_run(dev->fd, &c), 0);
}

static void put32(void *p, uint32_t host)
{
	__atomic_store_n((uint32_t *)p, htobe32(host), __ATOMIC_RELEASE);
}

/* An 8-byte WRITE in WQE 0, record, doorbell (PRM, RDMA WRITE WQE). */
static void post_write(struct ur_dev *dev, uint8_t *uar, uint32_t qpn,
		       const struct ib_uverbs_reg_mr_resp *mr)
{
	uint8_t *wqe = dev->mem + SQ_AT;
	const uint64_t from = (uintptr_t)dev->mem + BUF_AT, to = from + 64;

	memset(wqe, 0, 64);
	prm_store32(wqe, PRM_WQE_RDMA_WRITE);
	prm_store32(wqe + 4, qpn << 8 | 3);
	wqe[11] = 2 << 2; /* a CQE always */
	prm_store64(wqe + 16, to);
	prm_store32(wqe + 24, mr->rkey);
	prm_store32(wqe + 32, 8);
	prm_store32(wqe + 36, mr->lkey);
	prm_store64(wqe + 40, from);
	put32(dev->mem + DBR_AT + 4, 1);
	__atomic_store_n((uint64_t *)(void *)(uar + PRM_UAR_BF), *(uint64_t *)(void *)wqe,
			 __ATOMIC_RELEASE);
}

/* The owner bit of CQE 0 is that of the first lap. */
static void wait_cqe(const struct ur_dev *dev)
{
	const uint8_t *last = dev->mem + CQ_AT + 63;
	const struct timespec ms = {.tv_nsec = 1000000};
	uint8_t op = 0xff;

	for (int i = 0; i < WAIT_MS; i++) {
		op = __atomic_load_n(last, __ATOMIC_ACQUIRE);
		if (op != 0xff)
			break;
		nanosleep(&ms, NULL);
	}
	cr_assert_eq(op >> 4, PRM_CQE_REQ, "CQE opcode 0x%x", op >> 4);
}

/* One life of a PD, MR, CQ, UAR and QP, with a WRITE in it. */
static void use(struct ur_dev *dev, uint64_t user)
{
	uint32_t pd = ur_pd(dev), cq, cqn, qp, qpn, uar;
	struct ib_uverbs_destroy_cq_resp resp;
	struct ib_uverbs_reg_mr_resp mr;
	uint8_t *page;

	dev->uar = new_uar(dev, &page, &uar);
	memset(dev->mem + DBR_AT, 0, 8);
	memset(dev->mem + CQ_AT, 0xff, 64);
	memcpy(dev->mem + BUF_AT, &user, sizeof(user));
	cr_assert_eq(ur_reg_mr(dev, pd, (uintptr_t)dev->mem + BUF_AT, 4096,
			       IB_UVERBS_ACCESS_LOCAL_WRITE | IB_UVERBS_ACCESS_REMOTE_WRITE, &mr),
		     0);
	cr_assert_eq(ur_cq(dev, 1, user, -1, &cq, &cqn), 0);
	cr_assert_eq(ur_qp(dev, pd, cq, user, &qp, &qpn), 0);
	connect_to_itself(dev, qp, qpn);
	post_write(dev, page, qpn, &mr);
	wait_cqe(dev);
	cr_assert_eq(memcmp(dev->mem + BUF_AT + 64, &user, sizeof(user)), 0);
	atomic_fetch_add(&completed, 1);
	destroy_qp(dev, qp);
	cr_assert_eq(ur_cq_destroy(dev, cq, &resp), 0);
	destroy(dev, UVERBS_OBJECT_MR, UVERBS_METHOD_MR_DESTROY, UVERBS_ATTR_DESTROY_MR_HANDLE,
		mr.mr_handle);
	munmap(page, PRM_UAR_PAGE_SIZE);
	destroy(dev, MLX5_IB_OBJECT_UAR, MLX5_IB_METHOD_UAR_OBJ_DESTROY,
		MLX5_IB_ATTR_UAR_OBJ_DESTROY_HANDLE, uar);
	cr_assert_eq(ur_pd_destroy(dev, pd), 0);
}

static void *live(void *arg)
{
	uintptr_t me = (uintptr_t)arg;
	struct ur_dev dev;

	for (uintptr_t round = 0; round < ROUNDS; round++) {
		bool own = me % 4 == 0;

		if (own) {
			ur_open(&dev);
		} else {
			dev = shared[me % SHARED];
			dev.mem = mmap(NULL, UR_MEM, PROT_READ | PROT_WRITE,
				       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
			cr_assert_neq((void *)dev.mem, MAP_FAILED);
		}
		use(&dev, me << 8 | round);
		if (own) {
			ur_close(&dev);
			close(dev.async_fd);
		}
		munmap(dev.mem, UR_MEM);
	}
	return NULL;
}

Test(uverbs_threads, sixty_four_make_use_and_destroy_objects_at_once, .timeout = 110)
{
	pthread_t threads[THREADS];

	for (int i = 0; i < SHARED; i++)
		ur_open(&shared[i]);
	for (uintptr_t i = 0; i < THREADS; i++)
		cr_assert_eq(pthread_create(&threads[i], NULL, live, (void *)i), 0);
	for (int i = 0; i < THREADS; i++)
		cr_assert_eq(pthread_join(threads[i], NULL), 0);
	cr_expect_eq(atomic_load(&completed), THREADS * ROUNDS);
	for (int i = 0; i < SHARED; i++)
		ur_close(&shared[i]);
}
