// SPDX-License-Identifier: BSD-3-Clause
/* Rows: WQEs that the program builds and posts itself. */
#include "sim_tests/matrix/matrix.h"

namespace
{

__host__ __device__ static uint64_t bits(const void *p)
{
	return reinterpret_cast<uint64_t>(p);
}

/* WRITE of one piece, of two, with an unused immediate. */
struct write : mx_row {
	template <mx_sharing S, mx_scope E>
	__device__ static int run(const mx_args &a, const mx_op &op, mx_ticket *ticket)
	{
		const uint32_t bytes = op.size + 1, half = bytes / 2;

		*ticket = mx_post<S>(
			a.qp, 1, op.code_opt,
			[&](struct doca_gpu_dev_verbs_wqe *wqe, uint16_t idx, uint32_t) {
				if (half == 0)
					doca_gpu_dev_verbs_wqe_prepare_write(
						a.qp, wqe, idx,
						DOCA_GPUNETIO_IB_MLX5_OPCODE_RDMA_WRITE,
						GDAKIT_CQ_UPDATE, 0x11223344, bits(op.remote),
						a.remote_key, bits(op.local), a.local_key, bytes);
				else
					doca_gpu_dev_verbs_wqe_prepare_write(
						a.qp, wqe, idx,
						DOCA_GPUNETIO_IB_MLX5_OPCODE_RDMA_WRITE,
						GDAKIT_CQ_UPDATE, 0, bits(op.remote), a.remote_key,
						bits(op.local), a.local_key, half,
						bits(op.local + half), a.local_key, bytes - half);
			});
		return 0;
	}
	static void expect(mx_image &image, const mx_args &a, const mx_op &op)
	{
		image.put(a, op, op.size + 1);
	}
};

struct read : mx_row {
	template <mx_sharing S, mx_scope E>
	__device__ static int run(const mx_args &a, const mx_op &op, mx_ticket *ticket)
	{
		const uint32_t bytes = op.size + 1, half = bytes / 2;

		*ticket = mx_post<S>(
			a.qp, 1, op.code_opt,
			[&](struct doca_gpu_dev_verbs_wqe *wqe, uint16_t idx, uint32_t) {
				if (half == 0)
					doca_gpu_dev_verbs_wqe_prepare_read(
						a.qp, wqe, idx, GDAKIT_CQ_UPDATE, bits(op.remote),
						a.remote_key, bits(op.local), a.local_key, bytes);
				else
					doca_gpu_dev_verbs_wqe_prepare_read(
						a.qp, wqe, idx, GDAKIT_CQ_UPDATE, bits(op.remote),
						a.remote_key, bits(op.local), a.local_key, half,
						bits(op.local + half), a.local_key, bytes - half);
			});
		return 0;
	}
	static void expect(mx_image &image, const mx_args &a, const mx_op &op)
	{
		image.get(a, op, op.size + 1);
	}
};

static uint32_t inline_size(const mx_op &op)
{
	return 1 + op.size % DOCA_GPUNETIO_VERBS_MAX_INLINE_SIZE;
}

/* Any number of bytes inline, from memory. */
struct write_inl : mx_row {
	template <mx_sharing S, mx_scope E>
	__device__ static int run(const mx_args &a, const mx_op &op, mx_ticket *ticket)
	{
		*ticket = mx_post<S>(
			a.qp, 1, op.code_opt,
			[&](struct doca_gpu_dev_verbs_wqe *wqe, uint16_t idx, uint32_t) {
				doca_gpu_dev_verbs_wqe_prepare_write_inl(
					a.qp, wqe, idx, GDAKIT_CQ_UPDATE, bits(op.remote),
					a.remote_key, bits(op.local), inline_size(op));
			});
		return 0;
	}
	static void expect(mx_image &image, const mx_args &a, const mx_op &op)
	{
		image.put(a, op, inline_size(op));
	}
};

/* Header first, data later. */
struct inl_header_data : mx_row {
	struct twenty {
		uint32_t w[5];
	};

	template <typename T>
	__device__ static void fill(const mx_args &a, const mx_op &op,
				    struct doca_gpu_dev_verbs_wqe *wqe, uint16_t idx)
	{
		T value;

		memcpy(&value, op.local, sizeof(value));
		doca_gpu_dev_verbs_prepare_inl_rdma_write_wqe_header(
			a.qp, wqe, idx, GDAKIT_CQ_UPDATE, bits(op.remote), a.remote_key, sizeof(T));
		doca_gpu_dev_verbs_prepare_inl_rdma_write_wqe_data(a.qp, wqe, value);
	}
	template <mx_sharing S, mx_scope E>
	__device__ static int run(const mx_args &a, const mx_op &op, mx_ticket *ticket)
	{
		*ticket =
			mx_post<S>(a.qp, 1, op.code_opt,
				   [&](struct doca_gpu_dev_verbs_wqe *wqe, uint16_t idx, uint32_t) {
					   if (op.call % 2)
						   fill<twenty>(a, op, wqe, idx);
					   else
						   fill<uint16_t>(a, op, wqe, idx);
				   });
		return 0;
	}
	static void expect(mx_image &image, const mx_args &a, const mx_op &op)
	{
		image.put(a, op, op.call % 2 ? 20 : 2);
	}
};

/* --- atomics, each on the first word of its slice; the old value comes to the local slice --- */

template <typename T>
static T word_of(const uint8_t *p)
{
	T value;

	memcpy(&value, p, sizeof(value));
	return value;
}

template <typename T>
static void expect_atomic(mx_image &image, const mx_args &a, const mx_op &op, T next)
{
	memcpy(image.local_of(a, op), image.remote_of(a, op), sizeof(T));
	memcpy(image.remote_of(a, op), &next, sizeof(T));
}

__host__ __device__ static uint64_t operand(const mx_op &op, uint32_t salt)
{
	return static_cast<uint64_t>(mx_hash(op.n, salt)) << 32 | mx_hash(salt, op.n);
}

/* What a compare-and-swap compares with: right in every other call. Reads what nobody writes
 * before. */
template <typename T>
__host__ __device__ static T guess(const mx_op &op, const uint8_t *target)
{
	T value;

	memcpy(&value, target, sizeof(value));
	return op.call / 4 % 2 ? value : static_cast<T>(value ^ 1);
}

struct atomic : mx_row {
	__host__ __device__ static bool adds(const mx_op &op)
	{
		return op.call % 2 == 0;
	}
	template <mx_sharing S, mx_scope E>
	__device__ static int run(const mx_args &a, const mx_op &op, mx_ticket *ticket)
	{
		*ticket = mx_post<S>(
			a.qp, 1, op.code_opt,
			[&](struct doca_gpu_dev_verbs_wqe *wqe, uint16_t idx, uint32_t) {
				doca_gpu_dev_verbs_wqe_prepare_atomic(
					a.qp, wqe, idx,
					adds(op) ? DOCA_GPUNETIO_IB_MLX5_OPCODE_ATOMIC_FA
						 : DOCA_GPUNETIO_IB_MLX5_OPCODE_ATOMIC_CS,
					GDAKIT_CQ_UPDATE, bits(op.remote), a.remote_key,
					bits(op.local), a.local_key, 8,
					adds(op) ? operand(op, 1) : guess<uint64_t>(op, op.remote),
					operand(op, 2));
			});
		return 0;
	}
	static void expect(mx_image &image, const mx_args &a, const mx_op &op)
	{
		uint64_t old = word_of<uint64_t>(image.remote_of(a, op));

		if (adds(op))
			expect_atomic<uint64_t>(image, a, op, old + operand(op, 1));
		else
			expect_atomic<uint64_t>(image, a, op,
						guess<uint64_t>(op, image.remote_of(a, op)) == old
							? operand(op, 2)
							: old);
	}
};

/* Addition in fields: a carry out of a bit that `boundary` has is lost (PRM, extended atomics). */
template <typename T>
static T add_in_fields(T x, T y, T boundary)
{
	T sum = 0;
	uint32_t carry = 0;

	for (uint32_t i = 0; i < 8 * sizeof(T); i++) {
		uint32_t total = (x >> i & 1) + (y >> i & 1) + carry;

		sum |= static_cast<T>(total & 1) << i;
		carry = boundary >> i & 1 ? 0 : total >> 1;
	}
	return sum;
}

template <typename T>
static T swap_masked(T old, T compare, T compare_mask, T swap, T swap_mask)
{
	return (old & compare_mask) == (compare & compare_mask)
		       ? static_cast<T>((old & ~swap_mask) | (swap & swap_mask))
		       : old;
}

/* The masked ones that fit into one WQEBB: fetch-and-add of 4 and of 8 bytes, compare-and-swap of
 * 4. */
struct masked_atomic : mx_row {
	static constexpr uint64_t boundary = 0x8000800080000080ull;

	template <mx_sharing S, mx_scope E>
	__device__ static int run(const mx_args &a, const mx_op &op, mx_ticket *ticket)
	{
		constexpr auto FOUR = DOCA_GPUNETIO_VERBS_ATOMIC_EXT_BYTES_4;
		constexpr auto EIGHT = DOCA_GPUNETIO_VERBS_ATOMIC_EXT_BYTES_8;
		constexpr uint32_t FA = DOCA_GPUNETIO_IB_MLX5_OPCODE_ATOMIC_MASKED_FA;
		constexpr uint32_t CS = DOCA_GPUNETIO_IB_MLX5_OPCODE_ATOMIC_MASKED_CS;

		*ticket = mx_post<S>(
			a.qp, 1, op.code_opt,
			[&](struct doca_gpu_dev_verbs_wqe *wqe, uint16_t idx, uint32_t) {
				const uint64_t add = operand(op, 1);
				const uint64_t b64 = doca_gpu_dev_verbs_bswap64(boundary);
				const uint32_t b32 =
					doca_gpu_dev_verbs_bswap32(static_cast<uint32_t>(boundary));
				const uint64_t compare =
					doca_gpu_dev_verbs_bswap32(guess<uint32_t>(op, op.remote));

				if (op.call % 3 == 0)
					doca_gpu_dev_verbs_wqe_prepare_atomic_ext<FOUR>(
						a.qp, wqe, nullptr, idx, FA, GDAKIT_CQ_UPDATE,
						bits(op.remote), a.remote_key, bits(op.local),
						a.local_key, add, b32, 0, 0, 0, 0);
				else if (op.call % 3 == 1)
					doca_gpu_dev_verbs_wqe_prepare_atomic_ext<EIGHT>(
						a.qp, wqe, nullptr, idx, FA, GDAKIT_CQ_UPDATE,
						bits(op.remote), a.remote_key, bits(op.local),
						a.local_key, add, b64, 0, 0, 0, 0);
				else
					doca_gpu_dev_verbs_wqe_prepare_atomic_ext<FOUR>(
						a.qp, wqe, nullptr, idx, CS, GDAKIT_CQ_UPDATE,
						bits(op.remote), a.remote_key, bits(op.local),
						a.local_key, 0, 0, operand(op, 2), compare,
						operand(op, 3),
						doca_gpu_dev_verbs_bswap32(0xff00ff0f));
			});
		return 0;
	}
	static void expect(mx_image &image, const mx_args &a, const mx_op &op)
	{
		const uint8_t *at = image.remote_of(a, op);

		if (op.call % 3 == 0)
			expect_atomic<uint32_t>(
				image, a, op,
				add_in_fields<uint32_t>(word_of<uint32_t>(at),
							static_cast<uint32_t>(operand(op, 1)),
							static_cast<uint32_t>(boundary)));
		else if (op.call % 3 == 1)
			expect_atomic<uint64_t>(image, a, op,
						add_in_fields<uint64_t>(word_of<uint64_t>(at),
									operand(op, 1), boundary));
		else
			expect_atomic<uint32_t>(
				image, a, op,
				swap_masked<uint32_t>(word_of<uint32_t>(at),
						      guess<uint32_t>(op, at), 0xff00ff0f,
						      static_cast<uint32_t>(operand(op, 2)),
						      static_cast<uint32_t>(operand(op, 3))));
	}
};

/*
 * Compare-and-swap of 8 bytes takes two WQEBBs and makes one CQE, so WQE and CQE numbers part: only
 * a collapsed CQ, whose CQE names the WQE, can be used with it. A NOP behind it gives the second
 * index a completion of its own.
 */
struct wide_masked_cs : mx_row {
	static constexpr bool is_collapsed = true;
	static constexpr uint32_t log_depth_min = 6;
	static constexpr uint64_t compare_mask = 0xffff00ff0ff0000full;

	template <mx_sharing S, mx_scope E>
	__device__ static int run(const mx_args &a, const mx_op &op, mx_ticket *ticket)
	{
		*ticket = mx_post<S>(
			a.qp, 3, op.code_opt,
			[&](struct doca_gpu_dev_verbs_wqe *wqe, uint16_t idx, uint32_t i) {
				if (i == 2)
					doca_gpu_dev_verbs_wqe_prepare_nop(a.qp, wqe, idx,
									   GDAKIT_CQ_UPDATE);
				if (i != 0)
					return;
				doca_gpu_dev_verbs_wqe_prepare_atomic_ext<
					DOCA_GPUNETIO_VERBS_ATOMIC_EXT_BYTES_8>(
					a.qp, wqe,
					doca_gpu_dev_verbs_get_wqe_ptr(
						a.qp, static_cast<uint16_t>(idx + 1)),
					idx, DOCA_GPUNETIO_IB_MLX5_OPCODE_ATOMIC_MASKED_CS,
					GDAKIT_CQ_UPDATE, bits(op.remote), a.remote_key,
					bits(op.local), a.local_key, 0, 0, operand(op, 1),
					doca_gpu_dev_verbs_bswap64(guess<uint64_t>(op, op.remote)),
					operand(op, 2), doca_gpu_dev_verbs_bswap64(compare_mask));
			});
		return 0;
	}
	static void expect(mx_image &image, const mx_args &a, const mx_op &op)
	{
		const uint8_t *at = image.remote_of(a, op);

		expect_atomic<uint64_t>(image, a, op,
					swap_masked<uint64_t>(word_of<uint64_t>(at),
							      guess<uint64_t>(op, at), compare_mask,
							      operand(op, 1), operand(op, 2)));
	}
	static uint32_t wqes(const mx_args &, const mx_op &)
	{
		return 3;
	}
	static uint32_t cqes(const mx_args &, const mx_op &, uint32_t wqes)
	{
		return wqes / 3 * 2;
	}
};

/* A NOP, and a WAIT for its CQE. */
struct nop_wait : mx_row {
	template <mx_sharing S, mx_scope E>
	__device__ static int run(const mx_args &a, const mx_op &op, mx_ticket *ticket)
	{
		struct doca_gpu_dev_verbs_cq *cq = doca_gpu_dev_verbs_qp_get_cq_sq(a.qp);
		const uint64_t rsvd = cq->cqe_rsvd;
		uint64_t first = doca_gpu_dev_verbs_reserve_wq_slots<S>(a.qp, 2, op.code_opt);

		doca_gpu_dev_verbs_wqe_prepare_nop(
			a.qp, doca_gpu_dev_verbs_get_wqe_ptr(a.qp, static_cast<uint16_t>(first)),
			static_cast<uint16_t>(first), GDAKIT_CQ_UPDATE);
		doca_gpu_dev_verbs_wqe_prepare_wait(
			a.qp,
			doca_gpu_dev_verbs_get_wqe_ptr(a.qp, static_cast<uint16_t>(first + 1)),
			static_cast<uint16_t>(first + 1), GDAKIT_CQ_UPDATE,
			static_cast<uint32_t>(first + rsvd), cq->cq_num);
		doca_gpu_dev_verbs_mark_wqes_ready<S>(a.qp, first, first + 1);
		doca_gpu_dev_verbs_submit<S>(a.qp, first + 2, op.code_opt);
		*ticket = first + 1;
		return 0;
	}
	static void expect(mx_image &, const mx_args &, const mx_op &)
	{
	}
	static uint32_t wqes(const mx_args &, const mx_op &)
	{
		return 2;
	}
};

} // namespace

void mx_add_wqe(std::vector<mx_function> *table)
{
	table->push_back(mx_function_of<write>("wqe_write"));
	table->push_back(mx_function_of<read>("wqe_read"));
	table->push_back(mx_function_of<write_inl>("wqe_write_inl"));
	table->push_back(mx_function_of<inl_header_data>("wqe_inl_header_data"));
	table->push_back(mx_function_of<atomic>("wqe_atomic"));
	table->push_back(mx_function_of<masked_atomic>("wqe_masked_atomic"));
	table->push_back(mx_function_of<wide_masked_cs>("wqe_wide_masked_cs"));
	table->push_back(mx_function_of<nop_wait>("wqe_nop_wait"));
}
