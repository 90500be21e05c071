/* SPDX-License-Identifier: BSD-3-Clause */
/* Every WQE builder, byte for byte. Expected bytes are written out from the PRM's formats. */
#include <criterion/criterion.h>
#include <cstdio>
#include <string>

#include "gdakit_kernel.h"
#include "doca_gpunetio_dev_verbs_onesided.cuh"
#include "device_toy_nic.h"

constexpr uint64_t RADDR = 0x1122334455667788, LADDR = 0xa1a2a3a4a5a6a7a8;
static const uint32_t RKEY = htobe32(0x0badcafe), LKEY = htobe32(0x0000beef);
constexpr auto CQ_UPDATE = DOCA_GPUNETIO_IB_MLX5_WQE_CTRL_CQ_UPDATE;

/* "xx xx ..": the first n segments as hexadecimal */
static std::string hex(const void *p, size_t segments)
{
	const uint8_t *b = static_cast<const uint8_t *>(p);
	std::string text;
	char byte[4];

	for (size_t i = 0; i < 16 * segments; i++) {
		snprintf(byte, sizeof(byte), "%02x%s", b[i], i % 16 == 15 ? "\n" : "");
		text += byte;
	}
	return text;
}

static void expect_hex(const void *p, size_t segments, const char *want)
{
	const std::string got = hex(p, segments);

	cr_expect_str_eq(got.c_str(), want);
}

struct fixture {
	toy_nic nic{4};
	struct doca_gpu_dev_verbs_qp *qp = &nic.qp;
	struct doca_gpu_dev_verbs_wqe *wqe = doca_gpu_dev_verbs_get_wqe_ptr(&nic.qp, 1);

	/* the WQE's segments, and that what follows is untouched */
	void check(const char *want, size_t segments)
	{
		expect_hex(wqe, segments, want);
		for (size_t i = 16 * segments; i < 64; i++)
			cr_expect_eq(wqe->inl_data[i], 0xee, "byte %zu was written", i);
	}
};

Test(device_wqe, slots_follow_the_ring_and_wrap)
{
	fixture f;

	cr_assert_eq((uint8_t *)doca_gpu_dev_verbs_get_wqe_ptr(f.qp, 65535) - f.qp->sq_wqe_daddr,
		     192);
	cr_assert_eq((uint8_t *)doca_gpu_dev_verbs_get_wqe_ptr(f.qp, 6) - f.qp->sq_wqe_daddr, 128);
}

Test(device_wqe, nop)
{
	fixture f;

	doca_gpu_dev_verbs_wqe_prepare_nop(f.qp, f.wqe, 0xabcd, CQ_UPDATE);
	f.check("00abcd00"
		"12345601"
		"00000008"
		"00000000\n",
		1);
}

Test(device_wqe, write_with_one_data_segment)
{
	fixture f;

	doca_gpu_dev_verbs_wqe_prepare_write(f.qp, f.wqe, 1,
					     DOCA_GPUNETIO_IB_MLX5_OPCODE_RDMA_WRITE, CQ_UPDATE, 0,
					     RADDR, RKEY, LADDR, LKEY, 0x4321);
	f.check("00000108"
		"12345603"
		"00000008"
		"00000000\n"
		"1122334455667788"
		"0badcafe"
		"00000000\n"
		"00004321"
		"0000beef"
		"a1a2a3a4a5a6a7a8\n",
		3);
}

Test(device_wqe, write_with_immediate_and_two_data_segments)
{
	fixture f;

	doca_gpu_dev_verbs_wqe_prepare_write(
		f.qp, f.wqe, 2, DOCA_GPUNETIO_IB_MLX5_OPCODE_RDMA_WRITE_IMM,
		DOCA_GPUNETIO_IB_MLX5_WQE_CTRL_CQ_UPDATE_FENCE, htobe32(0x01020304), RADDR, RKEY,
		LADDR, LKEY, 16, LADDR + 16, LKEY, 1u << 30);
	f.check("00000209"
		"12345604"
		"00000048"
		"01020304\n"
		"1122334455667788"
		"0badcafe"
		"00000000\n"
		"00000010"
		"0000beef"
		"a1a2a3a4a5a6a7a8\n"
		"40000000"
		"0000beef"
		"a1a2a3a4a5a6a7b8\n",
		4);
}

Test(device_wqe, read)
{
	fixture f;

	doca_gpu_dev_verbs_wqe_prepare_read(f.qp, f.wqe, 3, CQ_UPDATE, RADDR, RKEY, LADDR, LKEY, 8);
	f.check("00000310"
		"12345603"
		"00000008"
		"00000000\n"
		"1122334455667788"
		"0badcafe"
		"00000000\n"
		"00000008"
		"0000beef"
		"a1a2a3a4a5a6a7a8\n",
		3);
	doca_gpu_dev_verbs_wqe_prepare_read(f.qp, f.wqe, 3, CQ_UPDATE, RADDR, RKEY, LADDR, LKEY, 8,
					    LADDR, LKEY, 9);
	cr_expect_eq(f.wqe->inl_data[7], 4);
	cr_expect_eq(f.wqe->inl_data[51], 9);
}

Test(device_wqe, inline_write_of_12_bytes_takes_three_segments)
{
	fixture f;
	const char *data = "abcdefghijkl";

	doca_gpu_dev_verbs_wqe_prepare_write_inl(f.qp, f.wqe, 4, CQ_UPDATE, RADDR, RKEY,
						 (uint64_t)data, 12);
	f.check("00000408"
		"12345603"
		"00000008"
		"00000000\n"
		"1122334455667788"
		"0badcafe"
		"00000000\n"
		"8000000c"
		"6162636465666768696a6b6c\n",
		3);
}

Test(device_wqe, inline_write_of_28_bytes_takes_four_segments)
{
	fixture f;
	const char *data = "abcdefghijklmnopqrstuvwxyz01";

	doca_gpu_dev_verbs_wqe_prepare_write_inl(f.qp, f.wqe, 4, CQ_UPDATE, RADDR, RKEY,
						 (uint64_t)(data), 28);
	f.check("00000408"
		"12345604"
		"00000008"
		"00000000\n"
		"1122334455667788"
		"0badcafe"
		"00000000\n"
		"8000001c"
		"6162636465666768696a6b6c\n"
		"6d6e6f707172737475767778797a3031\n",
		4);
}

Test(device_wqe, inline_write_reads_unaligned_sources_and_no_byte_more)
{
	fixture f;
	char *end = new char[13]; /* AddressSanitizer watches the end */

	memcpy(end, "0123456789abc", 13);
	doca_gpu_dev_verbs_wqe_prepare_write_inl(f.qp, f.wqe, 4, CQ_UPDATE, RADDR, RKEY,
						 (uint64_t)(end + 10), 3);
	cr_expect_eq(memcmp(f.wqe->inl_data + 32,
			    "\x80\0\0\3"
			    "abc\0\0\0\0\0\0\0\0\0",
			    16),
		     0);
	delete[] end;
}

Test(device_wqe, inline_header_then_value)
{
	fixture f;

	doca_gpu_dev_verbs_prepare_inl_rdma_write_wqe_header(f.qp, f.wqe, 5, CQ_UPDATE, RADDR, RKEY,
							     8);
	doca_gpu_dev_verbs_prepare_inl_rdma_write_wqe_data(f.qp, f.wqe,
							   (uint64_t)0x0807060504030201);
	f.check("00000508"
		"12345603"
		"00000008"
		"00000000\n"
		"1122334455667788"
		"0badcafe"
		"00000000\n"
		"80000008"
		"0102030405060708"
		"00000000\n",
		3);
	doca_gpu_dev_verbs_prepare_inl_rdma_write_wqe_header(f.qp, f.wqe, 5, CQ_UPDATE, RADDR, RKEY,
							     1);
	doca_gpu_dev_verbs_prepare_inl_rdma_write_wqe_data(f.qp, f.wqe, (uint8_t)0x7f);
	cr_expect_eq(memcmp(f.wqe->inl_data + 32, "\x80\0\0\1\x7f\0\0\0\0\0\0\0\0\0\0\0", 16), 0);
}

Test(device_wqe, fetch_and_add_takes_compare_add_as_addend)
{
	fixture f;

	doca_gpu_dev_verbs_wqe_prepare_atomic(f.qp, f.wqe, 6,
					      DOCA_GPUNETIO_IB_MLX5_OPCODE_ATOMIC_FA, CQ_UPDATE,
					      RADDR, RKEY, LADDR, LKEY, 8, 0x55, 0x66);
	f.check("00000612"
		"12345604"
		"00000008"
		"00000000\n"
		"1122334455667788"
		"0badcafe"
		"00000000\n"
		"0000000000000055"
		"0000000000000000\n"
		"00000008"
		"0000beef"
		"a1a2a3a4a5a6a7a8\n",
		4);
}

Test(device_wqe, compare_and_swap)
{
	fixture f;

	doca_gpu_dev_verbs_wqe_prepare_atomic(f.qp, f.wqe, 6,
					      DOCA_GPUNETIO_IB_MLX5_OPCODE_ATOMIC_CS, CQ_UPDATE,
					      RADDR, RKEY, LADDR, LKEY, 8, 0x55, 0x66);
	f.check("00000611"
		"12345604"
		"00000008"
		"00000000\n"
		"1122334455667788"
		"0badcafe"
		"00000000\n"
		"0000000000000066"
		"0000000000000055\n"
		"00000008"
		"0000beef"
		"a1a2a3a4a5a6a7a8\n",
		4);
}

template <enum doca_gpu_dev_verbs_atomic_ext_bytes B>
static void masked(fixture *f, uint32_t opcode, struct doca_gpu_dev_verbs_wqe *second)
{
	doca_gpu_dev_verbs_wqe_prepare_atomic_ext<B>(f->qp, f->wqe, second, 7, opcode, CQ_UPDATE,
						     RADDR, RKEY, LADDR, LKEY, 0x11, 0x22, 0x33,
						     0x44, 0x55, 0x66);
}

Test(device_wqe, masked_atomics_of_4_bytes)
{
	fixture f;

	masked<DOCA_GPUNETIO_VERBS_ATOMIC_EXT_BYTES_4>(
		&f, DOCA_GPUNETIO_IB_MLX5_OPCODE_ATOMIC_MASKED_FA, nullptr);
	expect_hex(f.wqe->inl_data + 32, 1,
		   "00000011"
		   "22000000"
		   "0000000000000000\n");
	cr_expect_eq(memcmp(f.wqe, "\x08\0\x07\x15\x12\x34\x56\x04", 8), 0);
	masked<DOCA_GPUNETIO_VERBS_ATOMIC_EXT_BYTES_4>(
		&f, DOCA_GPUNETIO_IB_MLX5_OPCODE_ATOMIC_MASKED_CS, nullptr);
	expect_hex(f.wqe->inl_data + 32, 2,
		   "00000033"
		   "44000000"
		   "00000055"
		   "66000000\n"
		   "00000004"
		   "0000beef"
		   "a1a2a3a4a5a6a7a8\n");
}

Test(device_wqe, masked_atomics_of_8_bytes)
{
	fixture f;
	struct doca_gpu_dev_verbs_wqe *second = doca_gpu_dev_verbs_get_wqe_ptr(f.qp, 2);

	masked<DOCA_GPUNETIO_VERBS_ATOMIC_EXT_BYTES_8>(
		&f, DOCA_GPUNETIO_IB_MLX5_OPCODE_ATOMIC_MASKED_FA, second);
	expect_hex(f.wqe->inl_data + 32, 1,
		   "0000000000000011"
		   "2200000000000000\n");
	cr_expect_eq(second->inl_data[0], 0xee, "one WQEBB");
	masked<DOCA_GPUNETIO_VERBS_ATOMIC_EXT_BYTES_8>(
		&f, DOCA_GPUNETIO_IB_MLX5_OPCODE_ATOMIC_MASKED_CS, second);
	cr_expect_eq(memcmp(f.wqe, "\x09\0\x07\x14\x12\x34\x56\x05", 8), 0);
	expect_hex(f.wqe->inl_data + 32, 2,
		   "0000000000000033"
		   "4400000000000000\n"
		   "0000000000000055"
		   "6600000000000000\n");
	expect_hex(second, 1,
		   "00000008"
		   "0000beef"
		   "a1a2a3a4a5a6a7a8\n");
}

Test(device_wqe, wait)
{
	fixture f;

	doca_gpu_dev_verbs_wqe_prepare_wait(f.qp, f.wqe, 8, CQ_UPDATE, 0x010203, 0x0a0b0c);
	f.check("0000080f"
		"12345602"
		"00000008"
		"00000000\n"
		"0000000000000000"
		"00010203"
		"000a0b0c\n",
		2);
}

Test(device_wqe, dump)
{
	fixture f;

	doca_gpu_dev_verbs_wqe_prepare_dump(f.qp, f.wqe, 9, CQ_UPDATE, LADDR, LKEY, 1);
	f.check("00000923"
		"12345602"
		"00000008"
		"00000000\n"
		"00000001"
		"0000beef"
		"a1a2a3a4a5a6a7a8\n",
		2);
}

Test(device_wqe, doorbell_values_carry_16_bits_of_the_index)
{
	fixture f;

	cr_expect_eq(doca_gpu_dev_verbs_prepare_dbr(0x12345), htobe32(0x2345));
	cr_expect_eq(doca_gpu_dev_verbs_prepare_db(f.qp, 0x12345),
		     (uint64_t)htobe32(0x12345600) << 32 | htobe32(0x00234500));
}

Test(device_wqe, byte_order_and_rounding_helpers)
{
	cr_expect_eq(doca_gpu_dev_verbs_bswap16(0x0102), 0x0201);
	cr_expect_eq(doca_gpu_dev_verbs_bswap32(0x01020304), 0x04030201);
	cr_expect_eq(doca_gpu_dev_verbs_bswap64(0x0102030405060708), 0x0807060504030201);
	cr_expect_eq(doca_gpu_dev_verbs_div_ceil_aligned_pow2(0, 30), 0);
	cr_expect_eq(doca_gpu_dev_verbs_div_ceil_aligned_pow2(1ull << 30, 30), 1);
	cr_expect_eq(doca_gpu_dev_verbs_div_ceil_aligned_pow2((1ull << 30) + 1, 30), 2);
	cr_expect_eq(doca_gpu_dev_verbs_div_ceil_aligned_pow2_32bits((5ull << 30) + 7, 30), 6);
	cr_expect_eq(doca_gpu_dev_verbs_cqe_idx_inc_mask(0xffffff, 2), 1);
}

Test(device_wqe, small_copies_at_any_alignment)
{
	char src[32] = "0123456789abcdefghijklmnopqrstu", dst[32];

	for (size_t from = 0; from < 9; from++)
		for (size_t n = 0; n < 20; n++) {
			memset(dst, '.', sizeof(dst));
			doca_gpu_dev_verbs_memcpy_data(dst + 1, src + from, n);
			cr_assert_eq(memcmp(dst + 1, src + from, n), 0);
			cr_assert_eq(dst[0], '.');
			cr_assert_eq(dst[n + 1], '.');
		}
}
