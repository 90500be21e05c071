/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The one description of every PRM structure that gdakit packs or unpacks.
 *
 * prm.h says how to read an entry. A list holds the fields that someone here uses; bits that no entry
 * names are reserved for us. Source of each layout: the PRM's table of the same name. The offsets are
 * compared in CI with the definitions in the packaged Linux headers (sim_tests/prm_kernel_check).
 */
#ifndef GDAKIT_PRM_LAYOUTS_H
#define GDAKIT_PRM_LAYOUTS_H

/* ---- contexts ---- */

/* Address path (ads), inside qpc. */
#define PRM_FIELDS_ads(F, Q, B)                                                                    \
	F(ads, fl, 0x00, 31, 31)                                                                   \
	F(ads, free_ar, 0x00, 30, 30)                                                              \
	F(ads, pkey_index, 0x00, 15, 0)                                                            \
	F(ads, grh, 0x04, 23, 23)                                                                  \
	F(ads, mlid, 0x04, 22, 16)                                                                 \
	F(ads, rlid, 0x04, 15, 0)                                                                  \
	F(ads, ack_timeout, 0x08, 31, 27)                                                          \
	F(ads, src_addr_index, 0x08, 23, 16)                                                       \
	F(ads, stat_rate, 0x08, 11, 8)                                                             \
	F(ads, hop_limit, 0x08, 7, 0)                                                              \
	F(ads, tclass, 0x0c, 27, 20)                                                               \
	F(ads, flow_label, 0x0c, 19, 0)                                                            \
	B(ads, rgid_rip, 0x10, 16)                                                                 \
	F(ads, f_dscp, 0x20, 27, 27)                                                               \
	F(ads, f_ecn, 0x20, 26, 26)                                                                \
	F(ads, f_eth_prio, 0x20, 24, 24)                                                           \
	F(ads, ecn, 0x20, 23, 22)                                                                  \
	F(ads, dscp, 0x20, 21, 16)                                                                 \
	F(ads, udp_sport, 0x20, 15, 0)                                                             \
	F(ads, dei, 0x24, 31, 31)                                                                  \
	F(ads, eth_prio, 0x24, 30, 28)                                                             \
	F(ads, sl, 0x24, 27, 24)                                                                   \
	F(ads, vhca_port_num, 0x24, 23, 16)                                                        \
	F(ads, rmac_47_32, 0x24, 15, 0)                                                            \
	F(ads, rmac_31_0, 0x28, 31, 0)

#define PRM_FIELDS_qpc(F, Q, B)                                                                    \
	F(qpc, state, 0x00, 31, 28)                                                                \
	F(qpc, st, 0x00, 23, 16)                                                                   \
	F(qpc, pm_state, 0x00, 12, 11)                                                             \
	F(qpc, end_padding_mode, 0x00, 3, 2)                                                       \
	F(qpc, wq_signature, 0x04, 31, 31)                                                         \
	F(qpc, block_lb_mc, 0x04, 30, 30)                                                          \
	F(qpc, atomic_like_write_en, 0x04, 29, 29)                                                 \
	F(qpc, drain_sigerr, 0x04, 26, 26)                                                         \
	F(qpc, pd, 0x04, 23, 0)                                                                    \
	F(qpc, mtu, 0x08, 31, 29)                                                                  \
	F(qpc, log_msg_max, 0x08, 28, 24)                                                          \
	F(qpc, log_rq_size, 0x08, 22, 19)                                                          \
	F(qpc, log_rq_stride, 0x08, 18, 16)                                                        \
	F(qpc, no_sq, 0x08, 15, 15)                                                                \
	F(qpc, log_sq_size, 0x08, 14, 11)                                                          \
	F(qpc, ts_format, 0x08, 7, 6)                                                              \
	F(qpc, rlky, 0x08, 4, 4)                                                                   \
	F(qpc, ulp_stateless_offload_mode, 0x08, 3, 0)                                             \
	F(qpc, counter_set_id, 0x0c, 31, 24)                                                       \
	F(qpc, uar_page, 0x0c, 23, 0)                                                              \
	F(qpc, send_dbr_mode, 0x10, 31, 30)                                                        \
	F(qpc, user_index, 0x10, 23, 0)                                                            \
	F(qpc, log_page_size, 0x14, 28, 24)                                                        \
	F(qpc, remote_qpn, 0x14, 23, 0)                                                            \
	B(qpc, primary_address_path, 0x18, 0x2c)                                                   \
	B(qpc, secondary_address_path, 0x44, 0x2c)                                                 \
	F(qpc, log_ack_req_freq, 0x70, 31, 28)                                                     \
	F(qpc, log_sra_max, 0x70, 23, 21)                                                          \
	F(qpc, retry_count, 0x70, 18, 16)                                                          \
	F(qpc, rnr_retry, 0x70, 15, 13)                                                            \
	F(qpc, fre, 0x70, 11, 11)                                                                  \
	F(qpc, cur_rnr_retry, 0x70, 10, 8)                                                         \
	F(qpc, cur_retry_count, 0x70, 7, 5)                                                        \
	F(qpc, next_send_psn, 0x78, 23, 0)                                                         \
	F(qpc, cqn_snd, 0x7c, 23, 0)                                                               \
	F(qpc, deth_sqpn, 0x80, 23, 0)                                                             \
	F(qpc, last_acked_psn, 0x88, 23, 0)                                                        \
	F(qpc, ssn, 0x8c, 23, 0)                                                                   \
	F(qpc, log_rra_max, 0x90, 23, 21)                                                          \
	F(qpc, atomic_mode, 0x90, 19, 16)                                                          \
	F(qpc, rre, 0x90, 15, 15)                                                                  \
	F(qpc, rwe, 0x90, 14, 14)                                                                  \
	F(qpc, rae, 0x90, 13, 13)                                                                  \
	F(qpc, page_offset, 0x90, 11, 6)                                                           \
	F(qpc, cd_slave_receive, 0x90, 2, 2)                                                       \
	F(qpc, cd_slave_send, 0x90, 1, 1)                                                          \
	F(qpc, cd_master, 0x90, 0, 0)                                                              \
	F(qpc, min_rnr_nak, 0x94, 28, 24)                                                          \
	F(qpc, next_rcv_psn, 0x94, 23, 0)                                                          \
	F(qpc, xrcd, 0x98, 23, 0)                                                                  \
	F(qpc, cqn_rcv, 0x9c, 23, 0)                                                               \
	Q(qpc, dbr_addr, 0xa0)                                                                     \
	F(qpc, q_key, 0xa8, 31, 0)                                                                 \
	F(qpc, rq_type, 0xac, 26, 24)                                                              \
	F(qpc, srqn_rmpn_xrqn, 0xac, 23, 0)                                                        \
	F(qpc, rmsn, 0xb0, 23, 0)                                                                  \
	F(qpc, hw_sq_wqebb_counter, 0xb4, 31, 16)                                                  \
	F(qpc, sw_sq_wqebb_counter, 0xb4, 15, 0)                                                   \
	F(qpc, hw_rq_counter, 0xb8, 31, 0)                                                         \
	F(qpc, sw_rq_counter, 0xbc, 31, 0)                                                         \
	F(qpc, cs_req, 0xc4, 15, 8)                                                                \
	F(qpc, cs_res, 0xc4, 7, 0)                                                                 \
	Q(qpc, dc_access_key, 0xc8)                                                                \
	F(qpc, dbr_umem_valid, 0xd0, 28, 28)                                                       \
	F(qpc, dbr_umem_id, 0xe4, 31, 0)

#define PRM_FIELDS_cqc(F, Q, B)                                                                    \
	F(cqc, status, 0x00, 31, 28)                                                               \
	F(cqc, dbr_umem_valid, 0x00, 25, 25)                                                       \
	F(cqc, cqe_sz, 0x00, 23, 21)                                                               \
	F(cqc, cc, 0x00, 20, 20)                                                                   \
	F(cqc, scqe_break_moderation_en, 0x00, 18, 18)                                             \
	F(cqc, oi, 0x00, 17, 17)                                                                   \
	F(cqc, cq_period_mode, 0x00, 16, 15)                                                       \
	F(cqc, cqe_comp_en, 0x00, 14, 14)                                                          \
	F(cqc, st, 0x00, 11, 8)                                                                    \
	F(cqc, dbr_umem_id, 0x04, 31, 0)                                                           \
	F(cqc, page_offset, 0x08, 11, 6)                                                           \
	F(cqc, log_cq_size, 0x0c, 28, 24)                                                          \
	F(cqc, uar_page, 0x0c, 23, 0)                                                              \
	F(cqc, cq_period, 0x10, 27, 16)                                                            \
	F(cqc, cq_max_count, 0x10, 15, 0)                                                          \
	F(cqc, c_eqn_or_apu_element, 0x14, 31, 0)                                                  \
	F(cqc, log_page_size, 0x18, 28, 24)                                                        \
	F(cqc, last_notified_index, 0x20, 23, 0)                                                   \
	F(cqc, last_solicit_index, 0x24, 23, 0)                                                    \
	F(cqc, consumer_counter, 0x28, 23, 0)                                                      \
	F(cqc, producer_counter, 0x2c, 23, 0)                                                      \
	Q(cqc, dbr_addr, 0x38)

#define PRM_FIELDS_eqc(F, Q, B)                                                                    \
	F(eqc, status, 0x00, 31, 28)                                                               \
	F(eqc, ec, 0x00, 18, 18)                                                                   \
	F(eqc, oi, 0x00, 17, 17)                                                                   \
	F(eqc, st, 0x00, 11, 8)                                                                    \
	F(eqc, page_offset, 0x08, 11, 6)                                                           \
	F(eqc, log_eq_size, 0x0c, 28, 24)                                                          \
	F(eqc, uar_page, 0x0c, 23, 0)                                                              \
	F(eqc, intr, 0x14, 11, 0)                                                                  \
	F(eqc, log_page_size, 0x18, 28, 24)                                                        \
	F(eqc, consumer_counter, 0x28, 23, 0)                                                      \
	F(eqc, producer_counter, 0x2c, 23, 0)

#define PRM_FIELDS_mkc(F, Q, B)                                                                    \
	F(mkc, free, 0x00, 30, 30)                                                                 \
	F(mkc, access_mode_4_2, 0x00, 28, 26)                                                      \
	F(mkc, relaxed_ordering_write, 0x00, 18, 18)                                               \
	F(mkc, small_fence_on_rdma_read_response, 0x00, 16, 16)                                    \
	F(mkc, umr_en, 0x00, 15, 15)                                                               \
	F(mkc, a, 0x00, 14, 14)                                                                    \
	F(mkc, rw, 0x00, 13, 13)                                                                   \
	F(mkc, rr, 0x00, 12, 12)                                                                   \
	F(mkc, lw, 0x00, 11, 11)                                                                   \
	F(mkc, lr, 0x00, 10, 10)                                                                   \
	F(mkc, access_mode_1_0, 0x00, 9, 8)                                                        \
	F(mkc, qpn, 0x04, 31, 8)                                                                   \
	F(mkc, mkey_7_0, 0x04, 7, 0)                                                               \
	F(mkc, length64, 0x0c, 31, 31)                                                             \
	F(mkc, bsf_en, 0x0c, 30, 30)                                                               \
	F(mkc, en_rinval, 0x0c, 24, 24)                                                            \
	F(mkc, pd, 0x0c, 23, 0)                                                                    \
	Q(mkc, start_addr, 0x10)                                                                   \
	Q(mkc, len, 0x18)                                                                          \
	F(mkc, bsf_octword_size, 0x20, 31, 0)                                                      \
	F(mkc, translations_octword_size, 0x34, 31, 0)                                             \
	F(mkc, relaxed_ordering_read, 0x38, 6, 6)                                                  \
	F(mkc, log_page_size, 0x38, 4, 0)

#define PRM_FIELDS_umem(F, Q, B)                                                                   \
	F(umem, log_page_size, 0x08, 28, 24)                                                       \
	F(umem, page_offset, 0x0c, 31, 0)                                                          \
	Q(umem, num_of_mtt, 0x10)

/* Work queue (wq) inside an RMP or RQ context. */
#define PRM_FIELDS_wq(F, Q, B)                                                                     \
	F(wq, wq_type, 0x00, 31, 28)                                                               \
	F(wq, end_padding_mode, 0x00, 26, 25)                                                      \
	F(wq, pd, 0x08, 23, 0)                                                                     \
	Q(wq, dbr_addr, 0x10)                                                                      \
	F(wq, log_wq_stride, 0x20, 19, 16)                                                         \
	F(wq, log_wq_sz, 0x20, 4, 0)                                                               \
	F(wq, dbr_umem_valid, 0x24, 31, 31)                                                        \
	F(wq, wq_umem_valid, 0x24, 30, 30)                                                         \
	F(wq, dbr_umem_id, 0x28, 31, 0)                                                            \
	F(wq, wq_umem_id, 0x2c, 31, 0)                                                             \
	Q(wq, wq_umem_offset, 0x30)

#define PRM_FIELDS_rmpc(F, Q, B)                                                                   \
	F(rmpc, state, 0x00, 23, 20)                                                               \
	F(rmpc, basic_cyclic_rcv_wqe, 0x04, 31, 31)                                                \
	B(rmpc, wq, 0x30, 0xc0)

/* ---- command mailboxes ---- */

/* The head that all inputs and all outputs share. */
#define PRM_FIELDS_cmd_in(F, Q, B)                                                                 \
	F(cmd_in, opcode, 0x00, 31, 16)                                                            \
	F(cmd_in, uid, 0x00, 15, 0)                                                                \
	F(cmd_in, op_mod, 0x04, 15, 0)
#define PRM_FIELDS_cmd_out(F, Q, B)                                                                \
	F(cmd_out, status, 0x00, 31, 24)                                                           \
	F(cmd_out, syndrome, 0x04, 31, 0)

/* Inputs that name one object by a 24-bit number in the third dword; outputs that return one. */
#define PRM_FIELDS_obj_in(F, Q, B)                                                                 \
	F(obj_in, number, 0x08, 23, 0)
#define PRM_FIELDS_obj_out(F, Q, B)                                                                \
	F(obj_out, number, 0x08, 23, 0)

#define PRM_FIELDS_query_hca_cap_out(F, Q, B)                                                      \
	B(query_hca_cap_out, capability, 0x10, 0x1000)

#define PRM_FIELDS_create_cq_in(F, Q, B)                                                           \
	B(create_cq_in, cq_context, 0x10, 0x40)                                                    \
	Q(create_cq_in, cq_umem_offset, 0x50)                                                      \
	F(create_cq_in, cq_umem_id, 0x58, 31, 0)                                                   \
	F(create_cq_in, cq_umem_valid, 0x5c, 31, 31)                                               \
	B(create_cq_in, pas, 0x110, 0)
#define PRM_FIELDS_query_cq_out(F, Q, B)                                                           \
	B(query_cq_out, cq_context, 0x10, 0x40)
#define PRM_FIELDS_modify_cq_in(F, Q, B)                                                           \
	F(modify_cq_in, cqn, 0x08, 23, 0)                                                          \
	F(modify_cq_in, field_select, 0x0c, 31, 0)                                                 \
	B(modify_cq_in, cq_context, 0x10, 0x40)                                                    \
	B(modify_cq_in, pas, 0x110, 0)

#define PRM_FIELDS_create_eq_in(F, Q, B)                                                           \
	B(create_eq_in, eq_context, 0x10, 0x40)                                                    \
	Q(create_eq_in, event_bitmask, 0x58)                                                       \
	B(create_eq_in, pas, 0x110, 0)
#define PRM_FIELDS_create_eq_out(F, Q, B)                                                          \
	F(create_eq_out, eqn, 0x08, 7, 0)
#define PRM_FIELDS_query_eq_out(F, Q, B)                                                           \
	B(query_eq_out, eq_context, 0x10, 0x40)

#define PRM_FIELDS_create_qp_in(F, Q, B)                                                           \
	F(create_qp_in, input_qpn, 0x08, 23, 0)                                                    \
	F(create_qp_in, opt_param_mask, 0x10, 31, 0)                                               \
	F(create_qp_in, ece, 0x14, 31, 0)                                                          \
	B(create_qp_in, qpc, 0x18, 0xe8)                                                           \
	Q(create_qp_in, wq_umem_offset, 0x100)                                                     \
	F(create_qp_in, wq_umem_id, 0x108, 31, 0)                                                  \
	F(create_qp_in, wq_umem_valid, 0x10c, 31, 31)                                              \
	B(create_qp_in, pas, 0x110, 0)
#define PRM_FIELDS_modify_qp_in(F, Q, B)                                                           \
	F(modify_qp_in, qpn, 0x08, 23, 0)                                                          \
	F(modify_qp_in, opt_param_mask, 0x10, 31, 0)                                               \
	F(modify_qp_in, ece, 0x14, 31, 0)                                                          \
	B(modify_qp_in, qpc, 0x18, 0xe8)
#define PRM_FIELDS_query_qp_out(F, Q, B)                                                           \
	F(query_qp_out, opt_param_mask, 0x10, 31, 0)                                               \
	F(query_qp_out, ece, 0x14, 31, 0)                                                          \
	B(query_qp_out, qpc, 0x18, 0xe8)                                                           \
	B(query_qp_out, pas, 0x110, 0)

#define PRM_FIELDS_create_rmp_in(F, Q, B)                                                          \
	B(create_rmp_in, rmpc, 0x20, 0xf0)

#define PRM_FIELDS_create_mkey_in(F, Q, B)                                                         \
	F(create_mkey_in, mkey_index, 0x08, 23, 0)                                                 \
	F(create_mkey_in, pg_access, 0x0c, 31, 31)                                                 \
	F(create_mkey_in, mkey_umem_valid, 0x0c, 30, 30)                                           \
	B(create_mkey_in, mkc, 0x10, 0x40)                                                         \
	F(create_mkey_in, translations_octword_actual_size, 0x60, 31, 0)                           \
	F(create_mkey_in, mkey_umem_id, 0x64, 31, 0)                                               \
	Q(create_mkey_in, mkey_umem_offset, 0x68)                                                  \
	B(create_mkey_in, klm_pas_mtt, 0x110, 0)
#define PRM_FIELDS_create_mkey_out(F, Q, B)                                                        \
	F(create_mkey_out, mkey_index, 0x08, 23, 0)
#define PRM_FIELDS_query_mkey_out(F, Q, B)                                                         \
	B(query_mkey_out, mkc, 0x10, 0x40)

#define PRM_FIELDS_create_umem_in(F, Q, B)                                                         \
	B(create_umem_in, umem, 0x10, 0x20)                                                        \
	B(create_umem_in, mtt, 0x30, 0)
#define PRM_FIELDS_create_uctx_in(F, Q, B)                                                         \
	F(create_uctx_in, cap, 0x10, 31, 0)

#define PRM_FIELDS_query_special_contexts_out(F, Q, B)                                             \
	F(query_special_contexts_out, dump_fill_mkey, 0x08, 31, 0)                                 \
	F(query_special_contexts_out, resd_lkey, 0x0c, 31, 0)                                      \
	F(query_special_contexts_out, null_mkey, 0x10, 31, 0)

#define PRM_FIELDS_roce_addr(F, Q, B)                                                              \
	B(roce_addr, source_l3_address, 0x00, 16)                                                  \
	F(roce_addr, vlan_valid, 0x10, 28, 28)                                                     \
	F(roce_addr, vlan_id, 0x10, 27, 16)                                                        \
	F(roce_addr, source_mac_47_32, 0x10, 15, 0)                                                \
	F(roce_addr, source_mac_31_0, 0x14, 31, 0)                                                 \
	F(roce_addr, roce_l3_type, 0x18, 11, 8)                                                    \
	F(roce_addr, roce_version, 0x18, 7, 0)
#define PRM_FIELDS_roce_address_in(F, Q, B)                                                        \
	F(roce_address_in, roce_address_index, 0x08, 31, 16)                                       \
	F(roce_address_in, vhca_port_num, 0x08, 3, 0)                                              \
	B(roce_address_in, roce_address, 0x10, 0x20)
#define PRM_FIELDS_roce_address_out(F, Q, B)                                                       \
	B(roce_address_out, roce_address, 0x10, 0x20)

/* ---- capabilities (inside query_hca_cap_out.capability) ---- */

#define PRM_FIELDS_cmd_hca_cap(F, Q, B)                                                            \
	F(cmd_hca_cap, hca_cap_2, 0x04, 31, 31)                                                    \
	F(cmd_hca_cap, log_max_srq_sz, 0x10, 31, 24)                                               \
	F(cmd_hca_cap, log_max_qp_sz, 0x10, 23, 16)                                                \
	F(cmd_hca_cap, log_max_qp, 0x10, 4, 0)                                                     \
	F(cmd_hca_cap, log_max_srq, 0x14, 20, 16)                                                  \
	F(cmd_hca_cap, log_max_cq_sz, 0x18, 23, 16)                                                \
	F(cmd_hca_cap, log_max_cq, 0x18, 4, 0)                                                     \
	F(cmd_hca_cap, log_max_eq_sz, 0x1c, 31, 24)                                                \
	F(cmd_hca_cap, log_max_mkey, 0x1c, 21, 16)                                                 \
	F(cmd_hca_cap, log_max_eq, 0x1c, 3, 0)                                                     \
	F(cmd_hca_cap, max_indirection, 0x20, 31, 24)                                              \
	F(cmd_hca_cap, log_max_ra_req_dc, 0x24, 13, 8)                                             \
	F(cmd_hca_cap, log_max_ra_res_dc, 0x24, 5, 0)                                              \
	F(cmd_hca_cap, log_max_ra_req_qp, 0x28, 13, 8)                                             \
	F(cmd_hca_cap, log_max_ra_res_qp, 0x28, 5, 0)                                              \
	F(cmd_hca_cap, rts2rts_qp_dscp, 0x2c, 21, 21)                                              \
	F(cmd_hca_cap, gid_table_size, 0x2c, 15, 0)                                                \
	F(cmd_hca_cap, pkey_table_size, 0x30, 15, 0)                                               \
	F(cmd_hca_cap, local_ca_ack_delay, 0x34, 28, 24)                                           \
	F(cmd_hca_cap, port_type, 0x34, 9, 8)                                                      \
	F(cmd_hca_cap, num_ports, 0x34, 7, 0)                                                      \
	F(cmd_hca_cap, log_max_msg, 0x38, 28, 24)                                                  \
	F(cmd_hca_cap, roce, 0x40, 2, 2)                                                           \
	F(cmd_hca_cap, atomic, 0x40, 1, 1)                                                         \
	F(cmd_hca_cap, cd, 0x44, 19, 19)                                                           \
	F(cmd_hca_cap, rc, 0x44, 0, 0)                                                             \
	F(cmd_hca_cap, cqe_version, 0x48, 3, 0)                                                    \
	F(cmd_hca_cap, max_wqe_sz_sq, 0x50, 15, 0)                                                 \
	F(cmd_hca_cap, max_wqe_sz_rq, 0x54, 15, 0)                                                 \
	F(cmd_hca_cap, log_uar_page_sz, 0x64, 15, 0)

#define PRM_FIELDS_cmd_hca_cap_2(F, Q, B)                                                          \
	F(cmd_hca_cap_2, send_dbr_mode_no_dbr_ext, 0x5c, 30, 30)

#define PRM_FIELDS_roce_cap(F, Q, B)                                                               \
	F(roce_cap, r_roce_max_src_udp_port, 0x18, 31, 16)                                         \
	F(roce_cap, r_roce_min_src_udp_port, 0x18, 15, 0)                                          \
	F(roce_cap, roce_address_table_size, 0x1c, 15, 0)

#define PRM_STRUCTS(S)                                                                             \
	S(ads, 0x2c)                                                                               \
	S(qpc, 0xe8)                                                                               \
	S(cqc, 0x40)                                                                               \
	S(eqc, 0x40)                                                                               \
	S(mkc, 0x40)                                                                               \
	S(wq, 0xc0)                                                                                \
	S(rmpc, 0xf0)                                                                              \
	S(umem, 0x20)                                                                              \
	S(cmd_in, 0x10)                                                                            \
	S(cmd_out, 0x10)                                                                           \
	S(obj_in, 0x10)                                                                            \
	S(obj_out, 0x10)                                                                           \
	S(query_hca_cap_out, 0x1010)                                                               \
	S(create_cq_in, 0x110)                                                                     \
	S(query_cq_out, 0x110)                                                                     \
	S(modify_cq_in, 0x110)                                                                     \
	S(create_eq_in, 0x110)                                                                     \
	S(create_eq_out, 0x10)                                                                     \
	S(query_eq_out, 0x110)                                                                     \
	S(create_qp_in, 0x110)                                                                     \
	S(modify_qp_in, 0x110)                                                                     \
	S(query_qp_out, 0x110)                                                                     \
	S(create_rmp_in, 0x110)                                                                    \
	S(create_mkey_in, 0x110)                                                                   \
	S(create_mkey_out, 0x10)                                                                   \
	S(query_mkey_out, 0x110)                                                                   \
	S(create_umem_in, 0x30)                                                                    \
	S(create_uctx_in, 0x20)                                                                    \
	S(query_special_contexts_out, 0x20)                                                        \
	S(roce_addr, 0x20)                                                                         \
	S(roce_address_in, 0x30)                                                                   \
	S(roce_address_out, 0x30)                                                                  \
	S(cmd_hca_cap, 0x1000)                                                                     \
	S(cmd_hca_cap_2, 0x1000)                                                                   \
	S(roce_cap, 0x1000)

#endif
