/* SPDX-License-Identifier: BSD-3-Clause */
/* Capabilities: what lies in query_hca_cap_out.capability. Part of layouts.h, which says how. */
#ifndef GDAKIT_PRM_LAYOUTS_CAPS_H
#define GDAKIT_PRM_LAYOUTS_CAPS_H

#define PRM_FIELDS_cmd_hca_cap(F, Q, B)                                                            \
	F(cmd_hca_cap, hca_cap_2, 0x04, 31, 31)                                                    \
	F(cmd_hca_cap, vhca_id, 0x04, 15, 0)                                                       \
	F(cmd_hca_cap, log_max_srq_sz, 0x10, 31, 24)                                               \
	F(cmd_hca_cap, log_max_qp_sz, 0x10, 23, 16)                                                \
	F(cmd_hca_cap, log_max_qp, 0x10, 4, 0)                                                     \
	F(cmd_hca_cap, ece_support, 0x14, 28, 28)                                                  \
	F(cmd_hca_cap, log_max_srq, 0x14, 20, 16)                                                  \
	F(cmd_hca_cap, ts_cqe_to_dest_cqn, 0x14, 13, 13)                                           \
	F(cmd_hca_cap, log_max_cq_sz, 0x18, 23, 16)                                                \
	F(cmd_hca_cap, relaxed_ordering_write_umr, 0x18, 15, 15)                                   \
	F(cmd_hca_cap, relaxed_ordering_read_umr, 0x18, 14, 14)                                    \
	F(cmd_hca_cap, log_max_cq, 0x18, 4, 0)                                                     \
	F(cmd_hca_cap, log_max_eq_sz, 0x1c, 31, 24)                                                \
	F(cmd_hca_cap, relaxed_ordering_write, 0x1c, 23, 23)                                       \
	F(cmd_hca_cap, relaxed_ordering_read_pci_enabled, 0x1c, 22, 22)                            \
	F(cmd_hca_cap, log_max_mkey, 0x1c, 21, 16)                                                 \
	F(cmd_hca_cap, terminate_scatter_list_mkey, 0x1c, 9, 9)                                    \
	F(cmd_hca_cap, repeated_mkey, 0x1c, 8, 8)                                                  \
	F(cmd_hca_cap, dump_fill_mkey, 0x1c, 7, 7)                                                 \
	F(cmd_hca_cap, log_max_eq, 0x1c, 3, 0)                                                     \
	F(cmd_hca_cap, max_indirection, 0x20, 31, 24)                                              \
	F(cmd_hca_cap, fixed_buffer_size, 0x20, 23, 23)                                            \
	F(cmd_hca_cap, log_max_mrw_sz, 0x20, 22, 16)                                               \
	F(cmd_hca_cap, log_max_bsf_list_size, 0x20, 13, 8)                                         \
	F(cmd_hca_cap, umr_extended_translation_offset, 0x20, 7, 7)                                \
	F(cmd_hca_cap, null_mkey, 0x20, 6, 6)                                                      \
	F(cmd_hca_cap, log_max_klm_list_size, 0x20, 5, 0)                                          \
	F(cmd_hca_cap, qpc_extension, 0x24, 29, 29)                                                \
	F(cmd_hca_cap, log_max_ra_req_dc, 0x24, 21, 16)                                            \
	F(cmd_hca_cap, log_max_ra_res_dc, 0x24, 5, 0)                                              \
	F(cmd_hca_cap, roce_accl, 0x28, 22, 22)                                                    \
	F(cmd_hca_cap, log_max_ra_req_qp, 0x28, 21, 16)                                            \
	F(cmd_hca_cap, rts2rts_qp_udp_sport, 0x28, 14, 14)                                         \
	F(cmd_hca_cap, log_max_ra_res_qp, 0x28, 5, 0)                                              \
	F(cmd_hca_cap, end_pad, 0x2c, 31, 31)                                                      \
	F(cmd_hca_cap, cc_query_allowed, 0x2c, 30, 30)                                             \
	F(cmd_hca_cap, cc_modify_allowed, 0x2c, 29, 29)                                            \
	F(cmd_hca_cap, cache_line_128byte, 0x2c, 27, 27)                                           \
	F(cmd_hca_cap, rts2rts_qp_counters_set_id, 0x2c, 22, 22)                                   \
	F(cmd_hca_cap, rts2rts_qp_dscp, 0x2c, 21, 21)                                              \
	F(cmd_hca_cap, gid_table_size, 0x2c, 15, 0)                                                \
	F(cmd_hca_cap, out_of_seq_cnt, 0x30, 31, 31)                                               \
	F(cmd_hca_cap, vport_counters, 0x30, 30, 30)                                               \
	F(cmd_hca_cap, retransmission_q_counters, 0x30, 29, 29)                                    \
	F(cmd_hca_cap, debug, 0x30, 28, 28)                                                        \
	F(cmd_hca_cap, max_qp_cnt, 0x30, 25, 16)                                                   \
	F(cmd_hca_cap, pkey_table_size, 0x30, 15, 0)                                               \
	F(cmd_hca_cap, vport_group_manager, 0x34, 31, 31)                                          \
	F(cmd_hca_cap, ib_virt, 0x34, 29, 29)                                                      \
	F(cmd_hca_cap, eth_virt, 0x34, 28, 28)                                                     \
	F(cmd_hca_cap, ets, 0x34, 26, 26)                                                          \
	F(cmd_hca_cap, nic_flow_table, 0x34, 25, 25)                                               \
	F(cmd_hca_cap, eswitch_manager, 0x34, 24, 24)                                              \
	F(cmd_hca_cap, device_memory, 0x34, 23, 23)                                                \
	F(cmd_hca_cap, mcam_reg, 0x34, 22, 22)                                                     \
	F(cmd_hca_cap, pcam_reg, 0x34, 21, 21)                                                     \
	F(cmd_hca_cap, local_ca_ack_delay, 0x34, 20, 16)                                           \
	F(cmd_hca_cap, enhanced_error_q_counters, 0x34, 14, 14)                                    \
	F(cmd_hca_cap, port_type, 0x34, 9, 8)                                                      \
	F(cmd_hca_cap, num_ports, 0x34, 7, 0)                                                      \
	F(cmd_hca_cap, log_max_msg, 0x38, 28, 24)                                                  \
	F(cmd_hca_cap, max_tc, 0x38, 19, 16)                                                       \
	F(cmd_hca_cap, general_notification_event, 0x38, 13, 13)                                   \
	F(cmd_hca_cap, stat_rate_support, 0x3c, 31, 16)                                            \
	F(cmd_hca_cap, cqe_version, 0x3c, 3, 0)                                                    \
	F(cmd_hca_cap, compact_address_vector, 0x40, 31, 31)                                       \
	F(cmd_hca_cap, striding_rq, 0x40, 30, 30)                                                  \
	F(cmd_hca_cap, ipoib_enhanced_offloads, 0x40, 28, 28)                                      \
	F(cmd_hca_cap, ipoib_basic_offloads, 0x40, 27, 27)                                         \
	F(cmd_hca_cap, umr_modify_entity_size_disabled, 0x40, 24, 24)                              \
	F(cmd_hca_cap, umr_modify_atomic_disabled, 0x40, 23, 23)                                   \
	F(cmd_hca_cap, umr_indirect_mkey_disabled, 0x40, 22, 22)                                   \
	F(cmd_hca_cap, umr_fence, 0x40, 21, 20)                                                    \
	F(cmd_hca_cap, dc_req_scat_data_cqe, 0x40, 19, 19)                                         \
	F(cmd_hca_cap, drain_sigerr, 0x40, 16, 16)                                                 \
	F(cmd_hca_cap, sigerr_cqe, 0x40, 13, 13)                                                   \
	F(cmd_hca_cap, wq_signature, 0x40, 11, 11)                                                 \
	F(cmd_hca_cap, sctr_data_cqe, 0x40, 10, 10)                                                \
	F(cmd_hca_cap, sho, 0x40, 8, 8)                                                            \
	F(cmd_hca_cap, dct, 0x40, 5, 5)                                                            \
	F(cmd_hca_cap, qos, 0x40, 4, 4)                                                            \
	F(cmd_hca_cap, eth_net_offloads, 0x40, 3, 3)                                               \
	F(cmd_hca_cap, roce, 0x40, 2, 2)                                                           \
	F(cmd_hca_cap, atomic, 0x40, 1, 1)                                                         \
	F(cmd_hca_cap, cq_oi, 0x44, 31, 31)                                                        \
	F(cmd_hca_cap, cq_resize, 0x44, 30, 30)                                                    \
	F(cmd_hca_cap, cq_moderation, 0x44, 29, 29)                                                \
	F(cmd_hca_cap, cq_period_mode_modify, 0x44, 28, 28)                                        \
	F(cmd_hca_cap, cq_eq_remap, 0x44, 25, 25)                                                  \
	F(cmd_hca_cap, pg, 0x44, 24, 24)                                                           \
	F(cmd_hca_cap, block_lb_mc, 0x44, 23, 23)                                                  \
	F(cmd_hca_cap, scqe_break_moderation, 0x44, 21, 21)                                        \
	F(cmd_hca_cap, cq_period_start_from_cqe, 0x44, 20, 20)                                     \
	F(cmd_hca_cap, cd, 0x44, 19, 19)                                                           \
	F(cmd_hca_cap, apm, 0x44, 17, 17)                                                          \
	F(cmd_hca_cap, imaicl, 0x44, 14, 14)                                                       \
	F(cmd_hca_cap, qkv, 0x44, 9, 9)                                                            \
	F(cmd_hca_cap, pkv, 0x44, 8, 8)                                                            \
	F(cmd_hca_cap, set_deth_sqpn, 0x44, 7, 7)                                                  \
	F(cmd_hca_cap, xrc, 0x44, 3, 3)                                                            \
	F(cmd_hca_cap, ud, 0x44, 2, 2)                                                             \
	F(cmd_hca_cap, uc, 0x44, 1, 1)                                                             \
	F(cmd_hca_cap, rc, 0x44, 0, 0)                                                             \
	F(cmd_hca_cap, uar_4k, 0x48, 31, 31)                                                       \
	F(cmd_hca_cap, uar_sz, 0x48, 21, 16)                                                       \
	F(cmd_hca_cap, umem_uid_0, 0x48, 13, 13)                                                   \
	F(cmd_hca_cap, log_pg_sz, 0x48, 7, 0)                                                      \
	F(cmd_hca_cap, bf, 0x4c, 31, 31)                                                           \
	F(cmd_hca_cap, log_bf_reg_size, 0x4c, 20, 16)                                              \
	F(cmd_hca_cap, qp_error_syndrome, 0x4c, 12, 12)                                            \
	F(cmd_hca_cap, lag_dct, 0x4c, 9, 8)                                                        \
	F(cmd_hca_cap, lag_tx_port_affinity, 0x4c, 7, 7)                                           \
	F(cmd_hca_cap, num_lag_ports, 0x4c, 3, 0)                                                  \
	F(cmd_hca_cap, max_wqe_sz_sq, 0x50, 15, 0)                                                 \
	F(cmd_hca_cap, max_wqe_sz_rq, 0x54, 15, 0)                                                 \
	F(cmd_hca_cap, max_wqe_sz_sq_dc, 0x58, 15, 0)                                              \
	F(cmd_hca_cap, max_qp_mcg, 0x5c, 24, 0)                                                    \
	F(cmd_hca_cap, log_max_mcg, 0x60, 7, 0)                                                    \
	F(cmd_hca_cap, log_max_transport_domain, 0x64, 28, 24)                                     \
	F(cmd_hca_cap, relaxed_ordering_read, 0x64, 21, 21)                                        \
	F(cmd_hca_cap, log_max_pd, 0x64, 20, 16)                                                   \
	F(cmd_hca_cap, log_max_xrcd, 0x64, 4, 0)                                                   \
	F(cmd_hca_cap, log_max_rq, 0x6c, 28, 24)                                                   \
	F(cmd_hca_cap, log_max_sq, 0x6c, 20, 16)                                                   \
	F(cmd_hca_cap, log_max_tir, 0x6c, 12, 8)                                                   \
	F(cmd_hca_cap, log_max_tis, 0x6c, 4, 0)                                                    \
	F(cmd_hca_cap, basic_cyclic_rcv_wqe, 0x70, 31, 31)                                         \
	F(cmd_hca_cap, log_max_rmp, 0x70, 28, 24)                                                  \
	F(cmd_hca_cap, log_max_rqt, 0x70, 20, 16)                                                  \
	F(cmd_hca_cap, log_max_rqt_size, 0x70, 12, 8)                                              \
	F(cmd_hca_cap, log_max_tis_per_sq, 0x70, 4, 0)                                             \
	F(cmd_hca_cap, ext_stride_num_range, 0x74, 31, 31)                                         \
	F(cmd_hca_cap, roce_rw_supported, 0x74, 30, 30)                                            \
	F(cmd_hca_cap, log_max_stride_sz_rq, 0x74, 28, 24)                                         \
	F(cmd_hca_cap, log_min_stride_sz_rq, 0x74, 20, 16)                                         \
	F(cmd_hca_cap, log_max_stride_sz_sq, 0x74, 12, 8)                                          \
	F(cmd_hca_cap, log_min_stride_sz_sq, 0x74, 4, 0)                                           \
	F(cmd_hca_cap, log_max_wq_sz, 0x78, 4, 0)                                                  \
	F(cmd_hca_cap, log_max_vlan_list, 0x7c, 20, 16)                                            \
	F(cmd_hca_cap, log_max_current_mc_list, 0x7c, 12, 8)                                       \
	F(cmd_hca_cap, log_max_current_uc_list, 0x7c, 4, 0)                                        \
	Q(cmd_hca_cap, general_obj_types, 0x80)                                                    \
	F(cmd_hca_cap, sq_ts_format, 0x88, 31, 30)                                                 \
	F(cmd_hca_cap, rq_ts_format, 0x88, 29, 28)                                                 \
	F(cmd_hca_cap, ats, 0x8c, 30, 30)                                                          \
	F(cmd_hca_cap, log_max_uctx, 0x8c, 28, 24)                                                 \
	F(cmd_hca_cap, crypto, 0x8c, 22, 22)                                                       \
	F(cmd_hca_cap, log_max_umem, 0x8c, 20, 16)                                                 \
	F(cmd_hca_cap, max_num_eqs, 0x8c, 15, 0)                                                   \
	F(cmd_hca_cap, log_max_l2_table, 0x90, 28, 24)                                             \
	F(cmd_hca_cap, log_uar_page_sz, 0x90, 15, 0)                                               \
	F(cmd_hca_cap, device_frequency_mhz, 0x98, 31, 0)                                          \
	F(cmd_hca_cap, device_frequency_khz, 0x9c, 31, 0)                                          \
	F(cmd_hca_cap, num_of_uars_per_page, 0xa4, 31, 0)                                          \
	F(cmd_hca_cap, log_max_dci_stream_channels, 0xb0, 20, 16)                                  \
	F(cmd_hca_cap, log_max_dci_errored_streams, 0xb0, 12, 8)                                   \
	F(cmd_hca_cap, enhanced_cqe_compression, 0xb4, 15, 15)                                     \
	F(cmd_hca_cap, mini_cqe_resp_stride_index, 0xb4, 3, 3)                                     \
	F(cmd_hca_cap, cqe_128_always, 0xb4, 2, 2)                                                 \
	F(cmd_hca_cap, cqe_compression_128, 0xb4, 1, 1)                                            \
	F(cmd_hca_cap, cqe_compression, 0xb4, 0, 0)                                                \
	F(cmd_hca_cap, cqe_compression_timeout, 0xb8, 31, 16)                                      \
	F(cmd_hca_cap, cqe_compression_max_num, 0xb8, 15, 0)                                       \
	F(cmd_hca_cap, tag_matching, 0xbc, 15, 15)                                                 \
	F(cmd_hca_cap, rndv_offload_rc, 0xbc, 14, 14)                                              \
	F(cmd_hca_cap, rndv_offload_dc, 0xbc, 13, 13)                                              \
	F(cmd_hca_cap, log_tag_matching_list_sz, 0xbc, 12, 8)                                      \
	F(cmd_hca_cap, log_max_xrq, 0xbc, 4, 0)                                                    \
	F(cmd_hca_cap, native_port_num, 0xc0, 23, 16)                                              \
	F(cmd_hca_cap, num_vhca_ports, 0xc0, 15, 8)                                                \
	F(cmd_hca_cap, sw_owner_id, 0xc0, 1, 1)                                                    \
	F(cmd_hca_cap, uctx_cap, 0xd4, 31, 0)                                                      \
	F(cmd_hca_cap, data_direct, 0xe8, 13, 13)

#define PRM_FIELDS_cmd_hca_cap_2(F, Q, B)                                                          \
	F(cmd_hca_cap_2, log_reserved_qpn_granularity, 0x10, 12, 8)                                \
	F(cmd_hca_cap_2, umr_log_entity_size_5, 0x10, 7, 7)                                        \
	F(cmd_hca_cap_2, log_min_mkey_entity_size, 0x34, 20, 16)                                   \
	F(cmd_hca_cap_2, send_dbr_mode_no_dbr_ext, 0x5c, 30, 30)                                   \
	F(cmd_hca_cap_2, max_mkey_log_entity_size_mtt, 0x74, 21, 16)                               \
	F(cmd_hca_cap_2, max_num_eqs_24b, 0x88, 23, 0)

#define PRM_FIELDS_atomic_caps(F, Q, B)                                                            \
	F(atomic_caps, atomic_req_8B_endianness_mode, 0x08, 31, 30)                                \
	F(atomic_caps, supported_atomic_req_8B_endianness_mode_1, 0x08, 25, 25)                    \
	F(atomic_caps, atomic_operations, 0x10, 15, 0)                                             \
	F(atomic_caps, atomic_size_qp, 0x14, 15, 0)                                                \
	F(atomic_caps, atomic_size_dc, 0x18, 15, 0)

#define PRM_FIELDS_roce_cap(F, Q, B)                                                               \
	F(roce_cap, roce_apm, 0x00, 31, 31)                                                        \
	F(roce_cap, sw_r_roce_src_udp_port, 0x00, 27, 27)                                          \
	F(roce_cap, fl_rc_qp_when_roce_disabled, 0x00, 26, 26)                                     \
	F(roce_cap, fl_rc_qp_when_roce_enabled, 0x00, 25, 25)                                      \
	F(roce_cap, qp_ts_format, 0x00, 1, 0)                                                      \
	F(roce_cap, l3_type, 0x10, 19, 16)                                                         \
	F(roce_cap, roce_version, 0x10, 7, 0)                                                      \
	F(roce_cap, r_roce_dest_udp_port, 0x14, 15, 0)                                             \
	F(roce_cap, r_roce_max_src_udp_port, 0x18, 31, 16)                                         \
	F(roce_cap, r_roce_min_src_udp_port, 0x18, 15, 0)                                          \
	F(roce_cap, roce_address_table_size, 0x1c, 15, 0)

#define PRM_FIELDS_odp_cap(F, Q, B)                                                                \
	B(odp_cap, transport_page_fault_scheme_cap, 0x00, 0x40)                                    \
	B(odp_cap, memory_page_fault_scheme_cap, 0x40, 0x40)                                       \
	F(odp_cap, mem_page_fault, 0xc0, 31, 31)

#define PRM_FIELDS_eth_cap(F, Q, B)                                                                \
	F(eth_cap, csum_cap, 0x00, 31, 31)                                                         \
	F(eth_cap, vlan_cap, 0x00, 30, 30)                                                         \
	F(eth_cap, lro_cap, 0x00, 29, 29)                                                          \
	F(eth_cap, self_lb_en_modifiable, 0x00, 23, 23)                                            \
	F(eth_cap, max_lso_cap, 0x00, 20, 16)                                                      \
	F(eth_cap, multi_pkt_send_wqe, 0x00, 15, 14)                                               \
	F(eth_cap, wqe_inline_mode, 0x00, 13, 12)                                                  \
	F(eth_cap, rss_ind_tbl_cap, 0x00, 11, 8)                                                   \
	F(eth_cap, reg_umr_sq, 0x00, 7, 7)                                                         \
	F(eth_cap, scatter_fcs, 0x00, 6, 6)                                                        \
	F(eth_cap, enhanced_multi_pkt_send_wqe, 0x00, 5, 5)

#define PRM_FIELDS_qos_cap(F, Q, B)                                                                \
	F(qos_cap, packet_pacing, 0x00, 31, 31)                                                    \
	F(qos_cap, nic_sq_scheduling, 0x00, 23, 23)                                                \
	F(qos_cap, packet_pacing_uid, 0x00, 20, 20)                                                \
	F(qos_cap, packet_pacing_max_rate, 0x08, 31, 0)                                            \
	F(qos_cap, packet_pacing_min_rate, 0x0c, 31, 0)                                            \
	F(qos_cap, packet_pacing_rate_table_size, 0x10, 15, 0)

#define PRM_FIELDS_device_mem_cap(F, Q, B)                                                         \
	F(device_mem_cap, memic, 0x00, 31, 31)                                                     \
	F(device_mem_cap, log_min_memic_alloc_size, 0x04, 20, 16)                                  \
	F(device_mem_cap, log_max_memic_addr_alignment, 0x04, 7, 0)                                \
	F(device_mem_cap, memic_increment_sizes, 0x04, 31, 24)                                     \
	F(device_mem_cap, memic_test_and_set_sizes, 0x04, 15, 8)                                   \
	Q(device_mem_cap, memic_bar_start_addr, 0x08)                                              \
	F(device_mem_cap, memic_bar_size, 0x10, 31, 0)                                             \
	F(device_mem_cap, max_memic_size, 0x14, 31, 0)                                             \
	F(device_mem_cap, memic_operations, 0x40, 31, 0)

#endif
