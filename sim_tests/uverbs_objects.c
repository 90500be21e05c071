// SPDX-License-Identifier: BSD-3-Clause
/* Objects behind handles: references, memory checks, transitions, events, end of a context, fork.
 */
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sim_tests/uverbs_rig.h"

/* ---- page lists ---- */

Test(uverbs_pages, a_list_covers_its_range_and_is_as_short_as_it_can_be)
{
	static const struct {
		uint64_t addr, len, same;
		unsigned int granule;
		uint64_t count;
	} cases[] = {
		{0x7f0000001000, 0x1000, 0x7f0000001000, 64, 1},
		{0x7f0000001010, 0x1000, 0x7f0000001010, 64, 1},
		{0x7f0000000fff, 2, 0x7f0000000fff, 64, 1},
		{0x7f0000001000, 0x40000000, 0x7f0000001000, 64, 1},
		{0x7f0000001000, 0x10000, 0, 64, 16}, /* an mkey that starts at 0 */
		{0x7f0000000000, 0x10000, 0, 64, 1},  /* the same, better placed */
		{0x7f0000001040, 0x1000, 0x7f0000001040, 6,
		 2}, /* a ring: offset in units of page/64 */
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct uv_pages p =
			uv_pages_of(cases[i].addr, cases[i].len, cases[i].same, cases[i].granule);

		cr_expect_eq(p.count, cases[i].count, "case %zu: %lu pages of 1 << %u", i, p.count,
			     p.shift);
		cr_expect_eq(p.first + p.offset, cases[i].addr);
		cr_expect_eq(p.first & ((UINT64_C(1) << p.shift) - 1), 0);
		cr_assert_geq(p.first + (p.count << p.shift), cases[i].addr + cases[i].len);
	}
}

/* ---- references and memory ---- */

Test(uverbs_objects, a_pd_in_use_is_EBUSY)
{
	struct ib_uverbs_reg_mr_resp mr;
	struct ur_dev dev;
	struct ur_call c;
	uint32_t pd;

	ur_open(&dev);
	pd = ur_pd(&dev);
	cr_assert_eq(
		ur_reg_mr(&dev, pd, (uintptr_t)dev.mem, UR_MEM, IB_UVERBS_ACCESS_LOCAL_WRITE, &mr),
		0);
	cr_expect_eq(ur_pd_destroy(&dev, pd), -EBUSY);
	ur_begin(&c, UVERBS_OBJECT_MR, UVERBS_METHOD_MR_DESTROY);
	ur_handle(&c, UVERBS_ATTR_DESTROY_MR_HANDLE, mr.mr_handle);
	cr_expect_eq(ur_run(dev.fd, &c), 0);
	cr_expect_eq(ur_pd_destroy(&dev, pd), 0);
}

Test(uverbs_objects, memory_must_be_there_with_the_rights_that_are_asked)
{
	uint8_t *ro = mmap(NULL, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct ib_uverbs_reg_mr_resp mr;
	struct ur_dev dev;
	uint32_t pd;

	ur_open(&dev);
	pd = ur_pd(&dev);
	cr_expect_eq(ur_reg_mr(&dev, pd, (uintptr_t)ro, 8192, IB_UVERBS_ACCESS_REMOTE_READ, &mr),
		     0);
	cr_expect_eq(ur_reg_mr(&dev, pd, (uintptr_t)ro, 8192, IB_UVERBS_ACCESS_LOCAL_WRITE, &mr),
		     -EFAULT);
	munmap(ro + 4096, 4096);
	cr_expect_eq(ur_reg_mr(&dev, pd, (uintptr_t)ro, 8192, 0, &mr), -EFAULT,
		     "its second page is gone");
	cr_expect_eq(ur_reg_mr(&dev, pd, (uintptr_t)dev.mem, 0, 0, &mr), -EINVAL, "length 0");
	cr_expect_eq(ur_reg_mr(&dev, pd, UINT64_MAX - 100, 4096, 0, &mr), -EINVAL, "wraps");
	cr_expect_eq(
		ur_reg_mr(&dev, pd, (uintptr_t)dev.mem, 64, IB_UVERBS_ACCESS_REMOTE_WRITE, &mr),
		-EINVAL, "remote write without local write");
	cr_expect_eq(ur_reg_mr(&dev, pd, (uintptr_t)dev.mem, 64, IB_UVERBS_ACCESS_ON_DEMAND, &mr),
		     -EOPNOTSUPP);
	cr_expect_eq(
		ur_reg_mr(&dev, pd, (uintptr_t)dev.mem, 64, IB_UVERBS_ACCESS_RELAXED_ORDERING, &mr),
		0);
}

Test(uverbs_objects, a_key_that_was_destroyed_does_not_come_back)
{
	struct ib_uverbs_reg_mr_resp a, b;
	struct ur_dev dev;
	struct ur_call c;
	uint32_t pd;

	ur_open(&dev);
	pd = ur_pd(&dev);
	ur_reg_mr(&dev, pd, (uintptr_t)dev.mem, 4096, 0, &a);
	ur_begin(&c, UVERBS_OBJECT_MR, UVERBS_METHOD_MR_DESTROY);
	ur_handle(&c, UVERBS_ATTR_DESTROY_MR_HANDLE, a.mr_handle);
	cr_assert_eq(ur_run(dev.fd, &c), 0);
	ur_reg_mr(&dev, pd, (uintptr_t)dev.mem, 4096, 0, &b);
	cr_assert_neq(a.lkey, b.lkey);
	cr_expect_eq(a.mr_handle, b.mr_handle, "the handle is free again");
}

/* ---- DevX ---- */

enum { RECORD_AT = 8192, CQ_LOG = 6 };

/* CREATE_CQ whose record lies RECORD_AT into the umem; says so, or leaves it to the driver to say.
 */
static int devx_cq(struct ur_dev *dev, uint32_t umem_id, bool say_umem, uint32_t *handle)
{
	uint8_t in[PRM_create_cq_in_SIZE] = {0}, out[PRM_obj_out_SIZE] = {0};
	uint8_t *cqc = PRM_PTR(create_cq_in, in, cq_context);

	PRM_SET(cmd_in, in, opcode, PRM_CMD_CREATE_CQ);
	PRM_SET(cqc, cqc, log_cq_size, CQ_LOG);
	PRM_SET(cqc, cqc, uar_page, dev->uar);
	PRM_SET(cqc, cqc, c_eqn_or_apu_element, uv_eqn(0));
	PRM_SET(cqc, cqc, dbr_umem_valid, say_umem);
	PRM_SET(cqc, cqc, dbr_umem_id, umem_id);
	PRM_SET64(cqc, cqc, dbr_addr, RECORD_AT);
	PRM_SET(create_cq_in, in, cq_umem_valid, say_umem);
	PRM_SET(create_cq_in, in, cq_umem_id, umem_id);
	return ur_devx_create(dev, in, sizeof(in), out, sizeof(out), handle);
}

Test(uverbs_devx, a_cq_made_by_mailbox_sees_any_first_arm)
{
	uint32_t *arm, umem, id, cq;
	struct ur_dev dev;

	ur_open(&dev);
	arm = (uint32_t *)(dev.mem + RECORD_AT + UV_CQ_ARM_OFFSET);
	cr_assert_eq(ur_umem(&dev, dev.mem, UR_MEM, &umem, &id), 0);
	for (int say = 0; say < 2; say++) {
		*arm = 0;
		cr_assert_eq(devx_cq(&dev, id, say, &cq), 0);
		cr_expect_eq(*arm, NM_CQ_ARM_SENTINEL, "the mailbox says umem: %d", say);
		cr_expect_eq(arm[-1], 0, "the other word is the program's");
		cr_assert_eq(ur_devx_destroy(&dev, cq), 0);
	}
}

Test(uverbs_devx, a_receive_pool_made_by_mailbox_takes_umems_without_being_told)
{
	uint8_t in[PRM_create_rmp_in_SIZE] = {0}, out[PRM_obj_out_SIZE] = {0};
	uint8_t *rmpc = PRM_PTR(create_rmp_in, in, rmpc), *wq = PRM_PTR(rmpc, rmpc, wq);
	uint8_t alloc_pd[PRM_obj_in_SIZE] = {0};
	uint32_t umem, id, rmp, pd;
	struct ur_dev dev;

	ur_open(&dev);
	PRM_SET(cmd_in, alloc_pd, opcode, PRM_CMD_ALLOC_PD);
	cr_assert_eq(ur_devx_create(&dev, alloc_pd, sizeof(alloc_pd), out, sizeof(out), &pd), 0);
	cr_assert_eq(ur_umem(&dev, dev.mem, UR_MEM, &umem, &id), 0);
	PRM_SET(cmd_in, in, opcode, PRM_CMD_CREATE_RMP);
	PRM_SET(rmpc, rmpc, state, PRM_RMP_RDY);
	PRM_SET(wq, wq, pd, PRM_GET(obj_out, out, number));
	PRM_SET(wq, wq, log_wq_sz, 4);
	PRM_SET(wq, wq, log_wq_stride, 5);
	PRM_SET(wq, wq, wq_umem_id, id);
	PRM_SET(wq, wq, dbr_umem_id, id);
	PRM_SET64(wq, wq, dbr_addr, RECORD_AT);
	cr_assert_eq(ur_devx_create(&dev, in, sizeof(in), out, sizeof(out), &rmp), 0);
	cr_expect_eq(ur_devx_destroy(&dev, rmp), 0);
}

Test(uverbs_devx, a_refused_cq_leaves_the_record_as_it_was)
{
	uint32_t *arm, umem, id, cq;
	struct ur_dev dev;

	ur_open(&dev);
	arm = (uint32_t *)(dev.mem + RECORD_AT + UV_CQ_ARM_OFFSET);
	*arm = 0x12345678;
	cr_expect_eq(devx_cq(&dev, 0x7ffff0, false, &cq), -EREMOTEIO, "no such umem");
	cr_expect_eq(*arm, 0x12345678);
	cr_assert_eq(ur_umem(&dev, dev.mem, 4096, &umem, &id), 0);
	cr_expect_eq(devx_cq(&dev, id, true, &cq), -EREMOTEIO, "a record behind the umem's end");
	cr_expect_eq(*arm, 0x12345678);
}

Test(uverbs_devx, a_pd_is_made_by_mailbox_and_used)
{
	uint8_t in[PRM_cmd_in_SIZE] = {0}, out[PRM_obj_out_SIZE] = {0};
	struct ur_dev dev;
	uint32_t pd;

	ur_open(&dev);
	PRM_SET(cmd_in, in, opcode, PRM_CMD_ALLOC_PD);
	cr_assert_eq(ur_devx_create(&dev, in, sizeof(in), out, sizeof(out), &pd), 0);
	cr_assert_neq(PRM_GET(obj_out, out, number), 0);
	cr_expect_eq(ur_devx_destroy(&dev, pd), 0);
	cr_expect_eq(ur_devx_destroy(&dev, pd), -ENOENT, "it is gone");
}

/* ---- transitions ---- */

static const struct {
	uint8_t to;
	uint32_t required;
} ladder[] = {
	{UV_QPS_INIT, UV_QP_PKEY_INDEX | UV_QP_PORT | UV_QP_ACCESS},
	{UV_QPS_RTR, UV_QP_AV | UV_QP_PATH_MTU | UV_QP_DEST_QPN | UV_QP_RQ_PSN |
			     UV_QP_MAX_DEST_RD_ATOMIC | UV_QP_MIN_RNR_TIMER},
	{UV_QPS_RTS,
	 UV_QP_TIMEOUT | UV_QP_RETRY_CNT | UV_QP_RNR_RETRY | UV_QP_SQ_PSN | UV_QP_MAX_RD_ATOMIC},
};

Test(uverbs_objects, a_transition_takes_what_it_needs_and_nothing_else)
{
	uint32_t pd, cq, cqn, qp, qpn;
	struct ur_dev dev;

	ur_open(&dev);
	pd = ur_pd(&dev);
	cr_assert_eq(ur_cq(&dev, 0, 1, -1, &cq, &cqn), 0);
	cr_assert_eq(ur_qp(&dev, pd, cq, 2, &qp, &qpn), 0);
	cr_expect_eq(ur_modify_qp(&dev, qp, 0, UV_QPS_RTS, ladder[2].required), -EINVAL,
		     "RESET to RTS");
	for (size_t i = 0; i < 3; i++) {
		for (uint32_t bit = 1; bit < UV_QP_RATE_LIMIT; bit <<= 1)
			if (ladder[i].required & bit)
				cr_expect_eq(ur_modify_qp(&dev, qp, 0, ladder[i].to,
							  ladder[i].required & ~bit),
					     -EINVAL, "step %zu without 0x%x", i, bit);
		cr_expect_eq(
			ur_modify_qp(&dev, qp, 0, ladder[i].to, ladder[i].required | UV_QP_QKEY),
			-EINVAL, "an RC QP has no Q_Key");
		cr_assert_eq(ur_modify_qp(&dev, qp, 0, ladder[i].to, ladder[i].required), 0,
			     "step %zu", i);
	}
	cr_expect_eq(ur_modify_qp(&dev, qp, 0, UV_QPS_ERR, 0), 0);
	cr_expect_eq(ur_modify_qp(&dev, qp, 0, UV_QPS_RTS, 0), -EINVAL, "ERR to RTS");
	cr_expect_eq(ur_modify_qp(&dev, qp, 0, UV_QPS_RESET, 0), 0);
	cr_expect_eq(ur_modify_qp(&dev, qp, 0, UV_QPS_INIT, ladder[0].required), 0, "and up again");
}

Test(uverbs_objects, states_are_named_also_beside_one_that_is_none)
{
	uint32_t pd, cq, cqn, qp, qpn;
	struct ur_dev dev;
	const char *said;
	int before;

	ur_open(&dev);
	pd = ur_pd(&dev);
	cr_assert_eq(ur_cq(&dev, 0, 1, -1, &cq, &cqn), 0);
	cr_assert_eq(ur_qp(&dev, pd, cq, 2, &qp, &qpn), 0);
	before = ur_hear();
	cr_expect_eq(ur_modify_qp(&dev, qp, 0, 99, 0), -EINVAL);
	said = ur_heard(before);
	cr_assert_not_null(strstr(said, "from RESET (0) to unknown (99)"), "said: %s", said);
}

/* ---- events ---- */

static void fire(uint32_t cqn)
{
	uint8_t eqe[PRM_EQE_SIZE] = {0};

	PRM_SET(eqe, eqe, type, PRM_EVENT_COMP);
	PRM_SET(eqe, eqe, number, cqn);
	uv_events_eqe(NULL, 0, 0, eqe);
}

static uint64_t next_event(int fd)
{
	struct ib_uverbs_comp_event_desc d = {0};
	struct pollfd p = {.fd = fd, .events = POLLIN};

	if (poll(&p, 1, 0) != 1 || read(fd, &d, sizeof(d)) != sizeof(d))
		return 0;
	return d.cq_handle;
}

Test(uverbs_events, destroy_reports_exactly_what_was_read)
{
	struct ib_uverbs_destroy_cq_resp resp;
	uint32_t a, an, b, bn;
	struct ur_dev dev;
	int channel;

	ur_open(&dev);
	channel = ur_channel(&dev);
	cr_assert_eq(ur_cq(&dev, 0, 0xa, channel, &a, &an), 0);
	cr_assert_eq(ur_cq(&dev, 1, 0xb, channel, &b, &bn), 0);
	fire(an);
	fire(bn);
	fire(an);
	fire(bn);
	cr_expect_eq(next_event(channel), 0xa);
	cr_assert_eq(ur_cq_destroy(&dev, a, &resp), 0);
	cr_expect_eq(resp.comp_events_reported, 1, "the one that was read");
	cr_expect_eq(next_event(channel), 0xb, "the other queue's stay");
	cr_expect_eq(next_event(channel), 0xb);
	cr_expect_eq(next_event(channel), 0);
	cr_assert_eq(ur_cq_destroy(&dev, b, &resp), 0);
	cr_expect_eq(resp.comp_events_reported, 2);
	cr_expect_eq(resp.async_events_reported, 0);
}

Test(uverbs_events, more_events_than_a_socket_holds_all_arrive)
{
	enum { MANY = 20000 };
	uint32_t cq, cqn, got = 0;
	struct ur_dev dev;
	int channel;

	ur_open(&dev);
	channel = ur_channel(&dev);
	cr_assert_eq(ur_cq(&dev, 0, 0xa, channel, &cq, &cqn), 0);
	for (int i = 0; i < MANY; i++)
		fire(cqn);
	while (got < MANY) {
		struct pollfd p = {.fd = channel, .events = POLLIN};

		cr_assert_eq(poll(&p, 1, 10000), 1, "%u of %u", got, MANY);
		cr_assert_eq(next_event(channel), 0xa);
		got++;
	}
}

Test(uverbs_events, a_qp_event_carries_the_handle_of_its_qp)
{
	struct ib_uverbs_async_event_desc d = {0};
	uint8_t eqe[PRM_EQE_SIZE] = {0};
	uint32_t pd, cq, cqn, qp, qpn;
	struct ur_dev dev;

	ur_open(&dev);
	pd = ur_pd(&dev);
	cr_assert_eq(ur_cq(&dev, 0, 0xa, -1, &cq, &cqn), 0);
	cr_assert_eq(ur_qp(&dev, pd, cq, 0x9999, &qp, &qpn), 0);
	PRM_SET(eqe, eqe, type, PRM_EVENT_WQ_ACCESS_ERROR);
	PRM_SET(eqe, eqe, number, qpn);
	uv_events_eqe(NULL, 0, 0, eqe);
	cr_assert_eq(read(dev.async_fd, &d, sizeof(d)), sizeof(d));
	cr_expect_eq(d.element, 0x9999);
	cr_expect_eq(d.event_type, 3, "IBV_EVENT_QP_ACCESS_ERR");
}

Test(uverbs_events, a_channel_of_another_context_is_EBADF)
{
	struct ur_dev one, two;
	uint32_t cq, cqn;

	ur_open(&one);
	ur_open(&two);
	cr_expect_eq(ur_cq(&one, 0, 1, ur_channel(&two), &cq, &cqn), -EBADF);
	cr_expect_eq(ur_cq(&one, 0, 1, 0, &cq, &cqn), -EBADF);
}

/* ---- end of a context, fork ---- */

Test(uverbs_context, closing_it_ends_everything_it_had)
{
	struct ib_uverbs_reg_mr_resp mr;
	uint32_t pd, cq, cqn;
	struct ur_dev dev;
	struct pollfd p;
	int channel;

	ur_open(&dev);
	pd = ur_pd(&dev);
	channel = ur_channel(&dev);
	ur_cq(&dev, 0, 1, channel, &cq, &cqn);
	ur_reg_mr(&dev, pd, (uintptr_t)dev.mem, 4096, 0, &mr);
	close(dev.fd);
	close(dev.async_fd);
	p = (struct pollfd){.fd = channel};
	cr_expect_eq(poll(&p, 1, 30000), 1, "its channel hangs up");
	cr_expect(p.revents & POLLHUP);
}

static uint8_t query_qp_status(uint32_t qpn)
{
	uint8_t in[PRM_obj_in_SIZE] = {0}, out[PRM_query_qp_out_SIZE];

	PRM_SET(cmd_in, in, opcode, PRM_CMD_QUERY_QP);
	PRM_SET(obj_in, in, number, qpn);
	return uv_command_raw(0, in, sizeof(in), out, sizeof(out), NULL);
}

static bool hung_up(int fd)
{
	struct pollfd p = {.fd = fd};

	return poll(&p, 1, 0) == 1 && (p.revents & POLLHUP);
}

Test(uverbs_context, the_nic_has_let_go_of_it_when_close_returns)
{
	uint32_t pd, cq, cqn, qp, qpn;
	struct ur_dev dev;
	int channel;

	ur_open(&dev);
	pd = ur_pd(&dev);
	channel = ur_channel(&dev);
	cr_assert_eq(ur_cq(&dev, 0, 1, channel, &cq, &cqn), 0);
	cr_assert_eq(ur_qp(&dev, pd, cq, 2, &qp, &qpn), 0);
	cr_assert_eq(query_qp_status(qpn), PRM_STATUS_OK);
	ur_close(&dev);
	cr_assert_neq(query_qp_status(qpn), PRM_STATUS_OK, "the QP is gone");
	cr_expect(hung_up(channel), "and so is the channel");
	cr_expect(hung_up(dev.async_fd));
}

Test(uverbs_context, one_without_asynchronous_descriptor_ends_like_any_other)
{
	struct ur_dev dev;
	int channel;

	ur_get_context(&dev);
	ur_pd(&dev);
	channel = ur_channel(&dev);
	ur_close(&dev);
	cr_expect(hung_up(channel));
}

Test(uverbs_context, a_number_that_means_another_file_by_now_ends_nothing)
{
	struct ur_dev dev, kept;
	uint32_t pd;
	int other;

	ur_open(&dev);
	kept = dev;
	kept.fd = dup(dev.fd);
	pd = ur_pd(&kept);
	close(dev.fd); /* nobody was told */
	other = memfd_create("other", MFD_CLOEXEC);
	cr_assert_eq(other, dev.fd, "the lowest number is given out again");
	ur_close(&dev);
	cr_assert_not(hung_up(dev.async_fd));
	cr_expect_eq(ur_pd_destroy(&kept, pd), 0);
}

Test(uverbs_context, two_contexts_know_only_their_own_handles)
{
	struct ur_dev one, two;
	uint32_t pd;

	ur_open(&one);
	ur_open(&two);
	ur_pd(&one);
	pd = ur_pd(&one);
	cr_expect_eq(ur_pd_destroy(&two, pd), -ENOENT);
	cr_expect_eq(ur_pd_destroy(&one, pd), 0);
}

Test(uverbs_context, a_duplicate_of_the_descriptor_is_the_same_context)
{
	struct ur_dev dev, again;
	uint32_t pd;

	ur_open(&dev);
	pd = ur_pd(&dev);
	again = dev;
	again.fd = dup(dev.fd);
	ur_close(&dev);
	cr_expect_eq(ur_pd_destroy(&again, pd), 0);
}

/* What the file says of itself comes first only because it is faster. */
Test(uverbs_context, a_descriptor_is_the_context_of_its_file_and_no_other)
{
	struct ur_dev dev, other;
	uint32_t pd;

	ur_open(&dev);
	ur_open(&other);
	pd = ur_pd(&dev);
	cr_assert_eq(lseek(dev.fd, 0, SEEK_SET), 0);
	cr_expect_eq(ur_pd_destroy(&dev, pd), 0, "its position was moved");
	pd = ur_pd(&other);
	cr_assert_eq(dup2(other.fd, dev.fd), dev.fd);
	cr_expect_eq(ur_pd_destroy(&dev, pd), 0, "the number means the other's file by now");
}

/* An exit code: in the child of a fork nothing may assert. */
static int be_a_child(struct ur_dev *parents, uint32_t pd)
{
	struct mlx5_ib_alloc_ucontext_resp resp;
	struct ur_dev own;
	uint32_t vectors;

	if (ur_pd_destroy(parents, pd) != -EIO)
		return 1;
	if (ur_try_context(&own, &vectors, &resp))
		return 2;
	if (ur_try_pd(&own, &pd))
		return 3;
	return ur_pd_destroy(&own, pd) ? 4 : 0;
}

Test(uverbs_context, a_child_has_no_engine_until_it_opens_the_device)
{
	struct ur_dev dev;
	int status;
	uint32_t pd;
	pid_t pid;

#ifdef __SANITIZE_THREAD__
	cr_skip_test("ThreadSanitizer lets no child of a threaded process start threads");
#endif
	ur_open(&dev);
	pd = ur_pd(&dev);
	pid = fork();
	cr_assert_geq(pid, 0);
	if (!pid)
		_exit(be_a_child(&dev, pd));
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_expect(WIFEXITED(status) && WEXITSTATUS(status) == 0, "status 0x%x", status);
	cr_expect_eq(ur_pd_destroy(&dev, pd), 0, "the parent's goes on");
}

/* ---- threads ---- */

enum { THREADS = 4, ROUNDS = 60 };

/* Objects come and go on a context of its own and on one that all share; events arrive meanwhile.
 */
static void *churn(void *arg)
{
	struct ur_dev own, shared = *(struct ur_dev *)arg;
	struct ib_uverbs_destroy_cq_resp resp;
	struct ib_uverbs_reg_mr_resp mr;
	uint32_t cq, cqn;

	for (int i = 0; i < ROUNDS; i++) {
		int channel;

		ur_open(&own);
		channel = ur_channel(&own);
		cr_assert_eq(ur_cq(&own, 0, 1, channel, &cq, &cqn), 0);
		cr_assert_eq(ur_reg_mr(&own, ur_pd(&own), (uintptr_t)own.mem, 4096, 0, &mr), 0);
		fire(cqn);
		cr_assert_eq(next_event(channel), 1);
		if (i & 1) {
			cr_assert_eq(ur_cq_destroy(&own, cq, &resp), 0);
			cr_assert_eq(resp.comp_events_reported, 1);
		}
		cr_assert_eq(ur_pd_destroy(&shared, ur_pd(&shared)), 0);
		/* Three ways, of which two race with the watcher. */
		if (i % 3 == 0)
			close(own.async_fd);
		if (i % 3 == 1)
			close(own.fd);
		else
			ur_close(&own);
		if (i % 3 != 0)
			close(own.async_fd);
		close(channel);
		munmap(own.mem, UR_MEM);
	}
	return NULL;
}

Test(uverbs_context, threads_do_not_disturb_each_other)
{
	pthread_t threads[THREADS];
	struct ur_dev shared;

	ur_open(&shared);
	for (int i = 0; i < THREADS; i++)
		cr_assert_eq(pthread_create(&threads[i], NULL, churn, &shared), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

/* ---- handles ---- */

Test(uverbs_objects, the_lowest_free_handle_is_given_out_next)
{
	uint32_t pd[8], first;
	struct ur_dev dev;

	ur_open(&dev);
	for (int i = 0; i < 8; i++)
		pd[i] = ur_pd(&dev);
	first = pd[0];
	for (uint32_t i = 0; i < 8; i++)
		cr_expect_eq(pd[i], first + i);
	cr_assert_eq(ur_pd_destroy(&dev, pd[5]), 0);
	cr_assert_eq(ur_pd_destroy(&dev, pd[2]), 0);
	cr_expect_eq(ur_pd(&dev), pd[2]);
	cr_expect_eq(ur_pd(&dev), pd[5]);
	cr_expect_eq(ur_pd(&dev), first + 8);
}
