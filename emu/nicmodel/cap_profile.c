/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the modelled device tells of itself: a ConnectX-7, or a ConnectX-8, less what the model does
 * not do. A field that is not here reads as 0. Source "ConnectX-7": the value such a device is
 * known to report, "ConnectX-8" likewise; "model": a limit or feature of this model; "PRM": an
 * encoding.
 */
#include "emu/nicmodel/cmd.h"

#define CAP_(type, st, f, value, source)                                                           \
	{                                                                                          \
		PRM_CAP_##type, PRM_##st##_##f##_OFF, PRM_##st##_##f##_HI, PRM_##st##_##f##_LO,    \
			value, #f, source                                                          \
	}

const struct nm_cap_row nm_cap_connectx7[] = {
	CAP_(GENERAL, cmd_hca_cap, hca_cap_2, 1, "ConnectX-7"),
	CAP_(GENERAL, cmd_hca_cap, log_max_qp_sz, 15, "ConnectX-7"),
	CAP_(GENERAL, cmd_hca_cap, log_max_qp, 15, "model: QPN bits 15:0 from 0x100 on"),
	CAP_(GENERAL, cmd_hca_cap, log_max_cq_sz, 22, "ConnectX-7"),
	CAP_(GENERAL, cmd_hca_cap, log_max_cq, 16, "model"),
	CAP_(GENERAL, cmd_hca_cap, log_max_srq_sz, 15, "ConnectX-7"),
	CAP_(GENERAL, cmd_hca_cap, log_max_srq, 15, "model"),
	CAP_(GENERAL, cmd_hca_cap, log_max_rmp, 15, "model"),
	CAP_(GENERAL, cmd_hca_cap, log_max_xrcd, 15, "model"),
	CAP_(GENERAL, cmd_hca_cap, xrc, 1, "model"),
	CAP_(GENERAL, cmd_hca_cap, log_max_eq_sz, 22, "ConnectX-7"),
	CAP_(GENERAL, cmd_hca_cap, log_max_eq, 5, "model: 63 EQs"),
	CAP_(GENERAL, cmd_hca_cap, max_num_eqs, 32, "model"),
	CAP_(GENERAL, cmd_hca_cap, log_max_mkey, 20, "model"),
	CAP_(GENERAL, cmd_hca_cap, log_max_mrw_sz, 64, "ConnectX-7"),
	CAP_(GENERAL, cmd_hca_cap, dump_fill_mkey, 1, "ConnectX-7"),
	CAP_(GENERAL, cmd_hca_cap, log_max_klm_list_size, 16, "model"),
	CAP_(GENERAL, cmd_hca_cap, max_indirection, 4, "model: NM_KLM_DEPTH"),
	CAP_(GENERAL, cmd_hca_cap, umr_extended_translation_offset, 1, "ConnectX-7"),
	CAP_(GENERAL, cmd_hca_cap, fixed_buffer_size, 1,
	     "ConnectX-7: KSM, which UCX's atomics need"),
	CAP_(GENERAL, cmd_hca_cap, imaicl, 1, "ConnectX-7: memory windows, type 1 and 2B"),
	CAP_(GENERAL, cmd_hca_cap, terminate_scatter_list_mkey, 1,
	     "model: lkey 0x100 ends a scatter list"),
	CAP_(GENERAL, cmd_hca_cap, relaxed_ordering_write, 1,
	     "model: keeps strict order, which is allowed"),
	CAP_(GENERAL, cmd_hca_cap, relaxed_ordering_read, 1,
	     "model: keeps strict order, which is allowed"),
	CAP_(GENERAL, cmd_hca_cap, log_max_ra_req_qp, 4, "ConnectX-7"),
	CAP_(GENERAL, cmd_hca_cap, log_max_ra_res_qp, 4, "ConnectX-7"),
	CAP_(GENERAL, cmd_hca_cap, rts2rts_qp_dscp, 1, "model"),
	CAP_(GENERAL, cmd_hca_cap, rts2rts_qp_udp_sport, 1, "model"),
	CAP_(GENERAL, cmd_hca_cap, gid_table_size, 0, "PRM: 0 is 8 entries, the least"),
	CAP_(GENERAL, cmd_hca_cap, pkey_table_size, 0,
	     "PRM: 0 is 128 entries, the least; one is valid"),
	CAP_(GENERAL, cmd_hca_cap, out_of_seq_cnt, 1, "model"),
	CAP_(GENERAL, cmd_hca_cap, retransmission_q_counters, 1, "model"),
	CAP_(GENERAL, cmd_hca_cap, enhanced_error_q_counters, 1, "model"),
	CAP_(GENERAL, cmd_hca_cap, max_qp_cnt, 255, "model"),
	CAP_(GENERAL, cmd_hca_cap, local_ca_ack_delay, 16, "ConnectX-7"),
	CAP_(GENERAL, cmd_hca_cap, num_ports, 1, "ConnectX-7"),
	CAP_(GENERAL, cmd_hca_cap, log_max_msg, 30, "ConnectX-7"),
	CAP_(GENERAL, cmd_hca_cap, cqe_version, 1, "ConnectX-7"),
	CAP_(GENERAL, cmd_hca_cap, umr_fence, 2, "ConnectX-7"),
	CAP_(GENERAL, cmd_hca_cap, atomic, 1, "model"),
	CAP_(GENERAL, cmd_hca_cap, cq_oi, 1, "model"),
	CAP_(GENERAL, cmd_hca_cap, cq_resize, 1, "ConnectX-7"),
	CAP_(GENERAL, cmd_hca_cap, cq_moderation, 1, "ConnectX-7"),
	CAP_(GENERAL, cmd_hca_cap, cq_period_start_from_cqe, 1, "ConnectX-7"),
	CAP_(GENERAL, cmd_hca_cap, scqe_break_moderation, 1, "ConnectX-7"),
	CAP_(GENERAL, cmd_hca_cap, cqe_compression, 1,
	     "model: writes every CQE whole, which is always allowed"),
	CAP_(GENERAL, cmd_hca_cap, cqe_compression_128, 1, "as cqe_compression"),
	CAP_(GENERAL, cmd_hca_cap, mini_cqe_resp_stride_index, 1, "as cqe_compression"),
	CAP_(GENERAL, cmd_hca_cap, cqe_compression_max_num, 64, "ConnectX-7"),
	CAP_(GENERAL, cmd_hca_cap, cq_period_mode_modify, 1, "model"),
	CAP_(GENERAL, cmd_hca_cap, rc, 1, "model"),
	CAP_(GENERAL, cmd_hca_cap, uc, 1, "model"),
	CAP_(GENERAL, cmd_hca_cap, ud, 1, "model"),
	CAP_(GENERAL, cmd_hca_cap, block_lb_mc, 1, "model"),
	CAP_(GENERAL, cmd_hca_cap, log_max_mcg, 12, "model"),
	CAP_(GENERAL, cmd_hca_cap, max_qp_mcg, 240, "ConnectX-7"),
	CAP_(GENERAL, cmd_hca_cap, uar_4k, 1, "ConnectX-7"),
	CAP_(GENERAL, cmd_hca_cap, uar_sz, 5, "ConnectX-7"),
	CAP_(GENERAL, cmd_hca_cap, umem_uid_0, 1, "model"),
	CAP_(GENERAL, cmd_hca_cap, log_pg_sz, 12, "ConnectX-7"),
	CAP_(GENERAL, cmd_hca_cap, bf, 1, "model"),
	CAP_(GENERAL, cmd_hca_cap, log_bf_reg_size, 9, "ConnectX-7"),
	CAP_(GENERAL, cmd_hca_cap, max_wqe_sz_sq, 1024, "ConnectX-7"),
	CAP_(GENERAL, cmd_hca_cap, max_wqe_sz_rq, 512, "ConnectX-7"),
	CAP_(GENERAL, cmd_hca_cap, log_max_transport_domain, 10, "model"),
	CAP_(GENERAL, cmd_hca_cap, log_max_pd, 15, "model"),
	CAP_(GENERAL, cmd_hca_cap, log_uar_page_sz, 0, "PRM: unit of 4 KiB"),
	CAP_(GENERAL, cmd_hca_cap, num_of_uars_per_page, 1, "ConnectX-7"),
	/* A field of 64 bits: bit 0x2c is bit 12 of its first dword. */
	{PRM_CAP_GENERAL, PRM_cmd_hca_cap_general_obj_types_OFF, 12, 12, 1,
	 "general_obj_types: RESERVED_QPN", "ConnectX-7"},
	CAP_(GENERAL, cmd_hca_cap, log_max_uctx, 8, "model"),
	CAP_(GENERAL, cmd_hca_cap, log_max_umem, 16, "model"),
	CAP_(GENERAL, cmd_hca_cap, device_frequency_mhz, 1000, "model: timestamps count ns"),
	CAP_(GENERAL, cmd_hca_cap, device_frequency_khz, 1000000, "model: timestamps count ns"),
	CAP_(GENERAL, cmd_hca_cap, cqe_128_always, 1, "ConnectX-7"),
	CAP_(GENERAL, cmd_hca_cap, num_vhca_ports, 1, "ConnectX-7"),
	CAP_(GENERAL, cmd_hca_cap, native_port_num, 1, "ConnectX-7"),

	CAP_(GENERAL_2, cmd_hca_cap_2, log_reserved_qpn_granularity, NM_LOG_RESERVED_QPNS, "model"),

	CAP_(ATOMIC, atomic_caps, atomic_req_8B_endianness_mode, 1,
	     "PRM: 1 is host order; what mlx5_core selects"),
	CAP_(ATOMIC, atomic_caps, supported_atomic_req_8B_endianness_mode_1, 1, "ConnectX-7"),
	CAP_(ATOMIC, atomic_caps, atomic_operations, 0xf,
	     "ConnectX-7: compare-swap, fetch-add, and both with masks"),
	CAP_(ATOMIC, atomic_caps, atomic_size_qp, 0xc,
	     "model: bit n is a size of n bytes; 4 and 8"),

	CAP_(ROCE, roce_cap, sw_r_roce_src_udp_port, 1, "model"),
	CAP_(ROCE, roce_cap, l3_type, 6, "model: bit 1 IPv4, bit 2 IPv6"),
	CAP_(ROCE, roce_cap, roce_version, 4, "model: bit 2, RoCE v2"),
	CAP_(ROCE, roce_cap, r_roce_dest_udp_port, 0x12b7, "IANA"),
	CAP_(ROCE, roce_cap, r_roce_max_src_udp_port, 0xffff, "ConnectX-7"),
	CAP_(ROCE, roce_cap, r_roce_min_src_udp_port, 0xc000, "ConnectX-7"),
	CAP_(ROCE, roce_cap, roce_address_table_size, 1, "model"),
};

/* What a ConnectX-8 has beside that. */
const struct nm_cap_row nm_cap_connectx8[] = {
	CAP_(GENERAL_2, cmd_hca_cap_2, send_dbr_mode_no_dbr_ext, 1,
	     "ConnectX-8: GPUNetIO's change log says that it needs one"),
};

const size_t nm_cap_connectx8_rows = sizeof(nm_cap_connectx8) / sizeof(nm_cap_connectx8[0]);
const size_t nm_cap_connectx7_rows = sizeof(nm_cap_connectx7) / sizeof(nm_cap_connectx7[0]);
