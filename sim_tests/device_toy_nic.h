/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A toy NIC for the tests of the device headers: one send queue, one CQ, all memory in this
 * process. It is written from the PRM's formats and shares no code with the headers or the real
 * model.
 *
 * It takes doorbells by exchanging the register with zero, checks the doorbell record and every
 * WQE's control segment and reserved bytes, executes the WQE in place and writes a CQE whose last
 * word comes last. `poll` does one step: call it from a thread (toy_thread) or from the scheduler
 * (simt_attach). Complaints are counted in `faults`, with the first kept as text.
 */
#ifndef DEVICE_TOY_NIC_H
#define DEVICE_TOY_NIC_H

#include <atomic>
#include <cstdio>
#include <cstring>
#include <endian.h>
#include <string>
#include <thread>
#include <vector>

#include "common/doca_gpunetio_verbs_dev.h"
#include "simt_attach.h"

struct toy_nic {
	static constexpr uint32_t qpn = 0x123456;
	static constexpr uint32_t lkey = 0x1111, rkey = 0x2222;

	struct doca_gpu_dev_verbs_qp qp = {};
	std::vector<uint64_t> ring, cq;
	uint32_t depth;
	alignas(8) uint32_t dbrec[2] = {};
	uint64_t doorbell = 0;	 /* UAR register */
	uint64_t proxy_word = 0; /* CPU proxy: next producer index */
	uint64_t proxy_last = 0;
	uint64_t next = 0;	  /* index of the next WQE to execute */
	uint64_t announced = 0;	  /* WQEs below it may be executed */
	uint64_t rung = 0;	  /* doorbells seen */
	uint64_t fail_at = ~0ull; /* first WQE that completes with an error */
	uint8_t fail_opcode = DOCA_GPUNETIO_IB_MLX5_CQE_REQ_ERR;
	bool collapsed = false;
	bool move_data = true;	    /* false: do not touch the memory that WQEs name */
	uint32_t budget = 3;	    /* WQEs per poll, at most */
	toy_nic *awaited = nullptr; /* whose CQ a WAIT names */
	std::vector<uint8_t> opcodes;
	std::vector<uint32_t> lengths; /* byte counts of the first data segment */
	std::atomic<int> faults{0};
	std::string first_fault;

	/* `start`: the first index, so that a test can begin just before a wrap. */
	toy_nic(uint32_t depth_, uint64_t start = 0,
		enum doca_gpu_dev_verbs_nic_handler handler =
			DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_DB)
	    : ring(depth_ * 8 + 1, 0xeeeeeeeeeeeeeeeeull), cq(depth_ * 8 + 1, 0), depth(depth_)
	{
		qp.sq_rsvd_index = qp.sq_ready_index = qp.sq_wqe_pi = start;
		qp.sq_num = qpn;
		qp.sq_num_shift8 = qpn << 8;
		qp.sq_num_shift8_be = htobe32(qpn << 8);
		qp.sq_wqe_num = (uint16_t)depth;
		qp.sq_wqe_mask = (uint16_t)(depth - 1);
		qp.sq_wqe_daddr = aligned(ring);
		qp.sq_dbrec = &dbrec[DOCA_GPUNETIO_IB_MLX5_SND_DBR];
		qp.nic_handler = handler;
		qp.sq_db = handler == DOCA_GPUNETIO_VERBS_NIC_HANDLER_CPU_PROXY ? &proxy_word
										: &doorbell;
		qp.mem_type = DOCA_GPUNETIO_VERBS_MEM_TYPE_GPU;
		qp.cq_sq.cqe_daddr = aligned(cq);
		qp.cq_sq.cq_num = 7;
		qp.cq_sq.cqe_num = depth;
		qp.cq_sq.cqe_ci = start;
		qp.cq_sq.cqe_size = 64;
		for (uint32_t i = 0; i < depth; i++)
			cqe(i)[63] = 0xf1;
		next = announced = proxy_word = proxy_last = start;
		dbrec[1] = htobe32(start & 0xffff);
	}

	static uint8_t *aligned(std::vector<uint64_t> &v)
	{
		uintptr_t p = reinterpret_cast<uintptr_t>(v.data());

		return reinterpret_cast<uint8_t *>((p + 15) & ~(uintptr_t)15);
	}

	uint8_t *cqe(uint64_t i)
	{
		return qp.cq_sq.cqe_daddr + i % depth * 64;
	}

	const uint8_t *wqe(uint64_t i)
	{
		return qp.sq_wqe_daddr + i % depth * 64;
	}

	void fault(const char *what, uint64_t idx, uint64_t got, uint64_t want)
	{
		char text[160];

		if (faults++ != 0)
			return;
		snprintf(text, sizeof(text), "%s at WQE %llu: got %#llx, want %#llx", what,
			 (unsigned long long)idx, (unsigned long long)got,
			 (unsigned long long)want);
		first_fault = text;
	}

	void expect(const char *what, uint64_t idx, uint64_t got, uint64_t want)
	{
		if (got != want)
			fault(what, idx, got, want);
	}

	static uint32_t be32_at(const uint8_t *p)
	{
		uint32_t v;

		memcpy(&v, p, sizeof(v));
		return be32toh(v);
	}

	static uint64_t be64_at(const uint8_t *p)
	{
		uint64_t v;

		memcpy(&v, p, sizeof(v));
		return be64toh(v);
	}

	/* The CPU proxy's step: publish the record, then ring, like a host library does. */
	void proxy_step()
	{
		uint64_t pi = __atomic_load_n(&proxy_word, __ATOMIC_ACQUIRE);

		if (pi == proxy_last)
			return;
		if (pi < proxy_last)
			fault("proxy word went back", pi, pi, proxy_last);
		proxy_last = pi;
		__atomic_store_n(&dbrec[1], htobe32(pi & 0xffff), __ATOMIC_RELEASE);
		__atomic_store_n(&doorbell,
				 (uint64_t)htobe32(qpn << 8) << 32 | htobe32((pi & 0xffff) << 8),
				 __ATOMIC_RELEASE);
	}

	void take_doorbell()
	{
		uint64_t db = __atomic_exchange_n(&doorbell, 0, __ATOMIC_ACQ_REL);

		if (db == 0)
			return;
		uint32_t first = be32toh((uint32_t)db), second = be32toh((uint32_t)(db >> 32));
		uint16_t pi = (uint16_t)(first >> 8);
		uint64_t to = announced + (uint16_t)(pi - (uint16_t)announced);

		rung++;
		expect("doorbell QPN", to, second >> 8, qpn);
		expect("doorbell bits outside the index", to, first & 0xff0000ff, 0);
		if (to - next > depth && to <= fail_at)
			fault("doorbell beyond the ring", to, to - next, depth);
		if (qp.nic_handler != DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_NO_DBR) {
			uint16_t rec =
				(uint16_t)be32toh(__atomic_load_n(&dbrec[1], __ATOMIC_ACQUIRE));

			/* the record is written before the doorbell: never behind it */
			if ((uint16_t)(rec - pi) >= 0x8000)
				fault("doorbell record behind the doorbell", to, rec, pi);
		}
		announced = to;
	}

	int poll()
	{
		int work = 0;

		if (qp.nic_handler == DOCA_GPUNETIO_VERBS_NIC_HANDLER_CPU_PROXY)
			proxy_step();
		take_doorbell();
		for (uint32_t i = 0; i < budget && next < announced && !must_wait(); i++, work++) {
			execute(next);
			next++;
		}
		return work;
	}

	/* Is the next WQE a WAIT for a CQE that is not there yet? */
	bool must_wait()
	{
		if (next >= fail_at)
			return false;
		const uint8_t *w = wqe(next);

		if (w[3] != DOCA_GPUNETIO_IB_MLX5_OPCODE_WAIT)
			return false;
		expect("CQN of a WAIT", next, be32_at(w + 28), awaited->qp.cq_sq.cq_num);
		/* CQE numbers are compared in 32 bits, cyclically */
		uint32_t produced = (uint32_t)(awaited->next + awaited->qp.cq_sq.cqe_rsvd);

		return (int32_t)(produced - 1 - be32_at(w + 24)) < 0;
	}

	void execute(uint64_t idx)
	{
		if (idx >= fail_at) {
			/* a failed queue flushes what it is given, whatever that is */
			complete(idx, fail_opcode, idx == fail_at ? 0x13 : 0x05);
			return;
		}
		const uint8_t *w = wqe(idx);
		uint32_t word0 = be32_at(w);

		expect("index in the control segment", idx, word0 >> 8 & 0xffff, idx & 0xffff);
		expect("QPN in the control segment", idx, be32_at(w + 4) >> 8, qpn);
		expect("reserved bytes of the control segment", idx, w[8] | w[9] | w[10], 0);
		expect("CQ_UPDATE", idx, w[11], 8);
		opcodes.push_back((uint8_t)word0);
		run(idx, (uint8_t)word0, be32_at(w + 4) & 0x3f);
		complete(idx, DOCA_GPUNETIO_IB_MLX5_CQE_REQ, 0);
	}

	void run(uint64_t idx, uint8_t opcode, uint32_t ds)
	{
		const uint8_t *w = wqe(idx);
		uint8_t *raddr = reinterpret_cast<uint8_t *>(be64_at(w + 16));
		uint32_t count = be32_at(w + 32);
		uint8_t *laddr = reinterpret_cast<uint8_t *>(be64_at(w + 40));

		if (opcode == DOCA_GPUNETIO_IB_MLX5_OPCODE_NOP) {
			expect("segments of a NOP", idx, ds, 1);
			return;
		}
		if (opcode == DOCA_GPUNETIO_IB_MLX5_OPCODE_DUMP ||
		    opcode == DOCA_GPUNETIO_IB_MLX5_OPCODE_WAIT) {
			expect("segments of a DUMP or WAIT", idx, ds, 2);
			return;
		}
		expect("rkey", idx, be32_at(w + 24), rkey);
		expect("reserved word of the address segment", idx, be32_at(w + 28), 0);
		if (opcode == DOCA_GPUNETIO_IB_MLX5_OPCODE_ATOMIC_FA) {
			uint64_t old = 0;

			expect("segments of a fetch-and-add", idx, ds, 4);
			if (move_data) {
				memcpy(&old, raddr, 8);
				uint64_t sum = old + be64_at(w + 32);

				memcpy(raddr, &sum, 8);
				memcpy(reinterpret_cast<uint8_t *>(be64_at(w + 56)), &old, 8);
			}
			return;
		}
		if (count & 0x80000000) {
			uint32_t n = count & 0x7fffffff;

			expect("opcode of an inline WQE", idx, opcode,
			       DOCA_GPUNETIO_IB_MLX5_OPCODE_RDMA_WRITE);
			expect("segments of an inline WRITE", idx, ds, n <= 12 ? 3 : 4);
			if (move_data)
				memcpy(raddr, w + 36, n);
			return;
		}
		expect("segments", idx, ds, 3);
		expect("lkey", idx, be32_at(w + 36), lkey);
		if (count == 0)
			fault("empty data segment (2 GiB)", idx, 0, 1);
		lengths.push_back(count);
		if (!move_data)
			return;
		if (opcode == DOCA_GPUNETIO_IB_MLX5_OPCODE_RDMA_WRITE)
			memcpy(raddr, laddr, count);
		else if (opcode == DOCA_GPUNETIO_IB_MLX5_OPCODE_RDMA_READ)
			memcpy(laddr, raddr, count);
		else
			fault("opcode", idx, opcode, DOCA_GPUNETIO_IB_MLX5_OPCODE_RDMA_WRITE);
	}

	void complete(uint64_t idx, uint8_t opcode, uint8_t syndrome)
	{
		uint8_t *c = cqe(collapsed ? 0 : idx);
		uint32_t owner = collapsed ? 0 : (idx & depth) != 0;
		uint32_t last;
		uint8_t bytes[4] = {(uint8_t)(idx >> 8), (uint8_t)idx, 0,
				    (uint8_t)(opcode << 4 | owner)};

		/* another thread may read these words at any time: store them whole */
		__atomic_store_n(reinterpret_cast<uint32_t *>(c + 52), (uint32_t)syndrome << 24,
				 __ATOMIC_RELAXED);
		memcpy(&last, bytes, sizeof(last));
		__atomic_store_n(reinterpret_cast<uint32_t *>(c + 60), last, __ATOMIC_RELEASE);
	}
};

/* Drives a toy NIC: as a thread of its own, or polled by the scheduler. */
class toy_driver
{
      public:
	toy_driver(toy_nic *nic_, bool own_thread) : nic(nic_), threaded(own_thread)
	{
		if (threaded)
			thread = std::thread([this] {
				while (!stop)
					if (nic->poll() == 0)
						sched_yield();
			});
		else
			simt_attach(poll, nic);
	}

	~toy_driver()
	{
		if (threaded) {
			stop = true;
			thread.join();
		} else {
			simt_detach(poll, nic);
		}
	}

      private:
	static int poll(void *ctx)
	{
		return static_cast<toy_nic *>(ctx)->poll();
	}

	toy_nic *nic;
	bool threaded;
	std::atomic<bool> stop{false};
	std::thread thread;
};

#endif /* DEVICE_TOY_NIC_H */
