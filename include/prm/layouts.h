/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The one description of every PRM structure that gdakit packs or unpacks (those of capabilities:
 * layouts_caps.h).
 *
 * prm.h says how to read an entry. A list holds the fields that someone here uses; bits that no
 * entry names are reserved for us. Source of each layout: the PRM's table of the same name. The
 * offsets are compared in CI with the definitions in the packaged Linux headers
 * (sim_tests/prm_kernel_check).
 */
#ifndef GDAKIT_PRM_LAYOUTS_H
#define GDAKIT_PRM_LAYOUTS_H

#include "prm/layouts_caps.h"

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
	F(cqc, mini_cqe_res_format, 0x00, 13, 12)                                                  \
	F(cqc, st, 0x00, 11, 8)                                                                    \
	F(cqc, always_armed_cq, 0x00, 7, 7)                                                        \
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

/* Event queue entry: affiliated events name an object, a CQ error its CQ. */
#define PRM_FIELDS_eqe(F, Q, B)                                                                    \
	F(eqe, type, 0x00, 23, 16)                                                                 \
	F(eqe, sub_type, 0x00, 7, 0)                                                               \
	F(eqe, cq_err_cqn, 0x20, 23, 0)                                                            \
	F(eqe, number, 0x38, 23, 0)

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
	F(mkc, log_page_size, 0x38, 5, 0)

#define PRM_FIELDS_umem(F, Q, B)                                                                   \
	F(umem, ats, 0x10, 31, 31)                                                                 \
	F(umem, log_page_size, 0x10, 4, 0)                                                         \
	F(umem, page_offset, 0x14, 31, 0)                                                          \
	Q(umem, num_of_mtt, 0x18)

/* Work queue (wq) inside an RMP or RQ context. */
#define PRM_FIELDS_wq(F, Q, B)                                                                     \
	F(wq, wq_type, 0x00, 31, 28)                                                               \
	F(wq, end_padding_mode, 0x00, 26, 25)                                                      \
	F(wq, page_offset, 0x04, 20, 16)                                                           \
	F(wq, lwm, 0x04, 15, 0)                                                                    \
	F(wq, pd, 0x08, 23, 0)                                                                     \
	Q(wq, dbr_addr, 0x10)                                                                      \
	F(wq, hw_counter, 0x18, 31, 0)                                                             \
	F(wq, sw_counter, 0x1c, 31, 0)                                                             \
	F(wq, log_wq_stride, 0x20, 19, 16)                                                         \
	F(wq, log_wq_pg_sz, 0x20, 12, 8)                                                           \
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
#define PRM_FIELDS_rmp_bitmask(F, Q, B) F(rmp_bitmask, lwm, 0x04, 0, 0)

#define PRM_FIELDS_srqc(F, Q, B)                                                                   \
	F(srqc, state, 0x00, 31, 28)                                                               \
	F(srqc, log_srq_size, 0x00, 27, 24)                                                        \
	F(srqc, wq_signature, 0x04, 31, 31)                                                        \
	F(srqc, rlky, 0x04, 28, 28)                                                                \
	F(srqc, log_rq_stride, 0x04, 26, 24)                                                       \
	F(srqc, xrcd, 0x04, 23, 0)                                                                 \
	F(srqc, page_offset, 0x08, 31, 26)                                                         \
	F(srqc, cqn, 0x08, 23, 0)                                                                  \
	F(srqc, log_page_size, 0x10, 29, 24)                                                       \
	F(srqc, pd, 0x18, 23, 0)                                                                   \
	F(srqc, lwm, 0x1c, 31, 16)                                                                 \
	F(srqc, wqe_cnt, 0x1c, 15, 0)                                                              \
	Q(srqc, dbr_addr, 0x28)
#define PRM_FIELDS_xrc_srqc(F, Q, B)                                                               \
	F(xrc_srqc, state, 0x00, 31, 28)                                                           \
	F(xrc_srqc, log_xrc_srq_size, 0x00, 27, 24)                                                \
	F(xrc_srqc, wq_signature, 0x04, 31, 31)                                                    \
	F(xrc_srqc, rlky, 0x04, 28, 28)                                                            \
	F(xrc_srqc, basic_cyclic_rcv_wqe, 0x04, 27, 27)                                            \
	F(xrc_srqc, log_rq_stride, 0x04, 26, 24)                                                   \
	F(xrc_srqc, xrcd, 0x04, 23, 0)                                                             \
	F(xrc_srqc, page_offset, 0x08, 31, 26)                                                     \
	F(xrc_srqc, dbr_umem_valid, 0x08, 24, 24)                                                  \
	F(xrc_srqc, cqn, 0x08, 23, 0)                                                              \
	F(xrc_srqc, user_index_equal_xrc_srqn, 0x10, 31, 31)                                       \
	F(xrc_srqc, log_page_size, 0x10, 29, 24)                                                   \
	F(xrc_srqc, user_index, 0x10, 23, 0)                                                       \
	F(xrc_srqc, pd, 0x18, 23, 0)                                                               \
	F(xrc_srqc, lwm, 0x1c, 31, 16)                                                             \
	F(xrc_srqc, wqe_cnt, 0x1c, 15, 0)                                                          \
	F(xrc_srqc, db_record_addr_h, 0x28, 31, 0)                                                 \
	F(xrc_srqc, db_record_addr_l, 0x2c, 31, 2)

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
#define PRM_FIELDS_obj_in(F, Q, B)  F(obj_in, number, 0x08, 23, 0)
#define PRM_FIELDS_obj_out(F, Q, B) F(obj_out, number, 0x08, 23, 0)

#define PRM_FIELDS_general_obj_in(F, Q, B)                                                         \
	F(general_obj_in, obj_type, 0x04, 15, 0)                                                   \
	F(general_obj_in, obj_id, 0x08, 31, 0)                                                     \
	F(general_obj_in, log_obj_range, 0x0c, 28, 24)
#define PRM_FIELDS_general_obj_out(F, Q, B) F(general_obj_out, obj_id, 0x08, 31, 0)

#define PRM_FIELDS_query_hca_cap_out(F, Q, B) B(query_hca_cap_out, capability, 0x10, 0x1000)

#define PRM_FIELDS_create_cq_in(F, Q, B)                                                           \
	B(create_cq_in, cq_context, 0x10, 0x40)                                                    \
	Q(create_cq_in, cq_umem_offset, 0x50)                                                      \
	F(create_cq_in, cq_umem_id, 0x58, 31, 0)                                                   \
	F(create_cq_in, cq_umem_valid, 0x5c, 31, 31)                                               \
	B(create_cq_in, pas, 0x110, 0)
#define PRM_FIELDS_query_cq_out(F, Q, B) B(query_cq_out, cq_context, 0x10, 0x40)
#define PRM_FIELDS_modify_cq_in(F, Q, B)                                                           \
	F(modify_cq_in, cqn, 0x08, 23, 0)                                                          \
	F(modify_cq_in, field_select, 0x0c, 31, 0)                                                 \
	B(modify_cq_in, cq_context, 0x10, 0x40)                                                    \
	B(modify_cq_in, pas, 0x110, 0)

#define PRM_FIELDS_create_eq_in(F, Q, B)                                                           \
	B(create_eq_in, eq_context, 0x10, 0x40)                                                    \
	Q(create_eq_in, event_bitmask, 0x58)                                                       \
	B(create_eq_in, pas, 0x110, 0)
#define PRM_FIELDS_create_eq_out(F, Q, B) F(create_eq_out, eqn, 0x08, 7, 0)
#define PRM_FIELDS_query_eq_out(F, Q, B)  B(query_eq_out, eq_context, 0x10, 0x40)

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
	B(modify_qp_in, qpc, 0x18, 0xe8)                                                           \
	Q(modify_qp_in, opt_param_mask_95_32, 0x108)
#define PRM_FIELDS_query_qp_out(F, Q, B)                                                           \
	F(query_qp_out, opt_param_mask, 0x10, 31, 0)                                               \
	F(query_qp_out, ece, 0x14, 31, 0)                                                          \
	B(query_qp_out, qpc, 0x18, 0xe8)                                                           \
	B(query_qp_out, pas, 0x110, 0)

#define PRM_FIELDS_create_rmp_in(F, Q, B)                                                          \
	B(create_rmp_in, rmpc, 0x20, 0xf0)                                                         \
	B(create_rmp_in, pas, 0x110, 0)
#define PRM_FIELDS_modify_rmp_in(F, Q, B)                                                          \
	F(modify_rmp_in, rmp_state, 0x08, 31, 28)                                                  \
	F(modify_rmp_in, rmpn, 0x08, 23, 0)                                                        \
	B(modify_rmp_in, bitmask, 0x10, 0x8)                                                       \
	B(modify_rmp_in, rmpc, 0x20, 0xf0)
#define PRM_FIELDS_query_rmp_out(F, Q, B) B(query_rmp_out, rmp_context, 0x20, 0xf0)
#define PRM_FIELDS_create_srq_in(F, Q, B)                                                          \
	B(create_srq_in, srq_context_entry, 0x10, 0x40)                                            \
	B(create_srq_in, pas, 0x110, 0)
#define PRM_FIELDS_query_srq_out(F, Q, B) B(query_srq_out, srq_context_entry, 0x10, 0x40)
#define PRM_FIELDS_arm_rq_in(F, Q, B)                                                              \
	F(arm_rq_in, srq_number, 0x08, 23, 0)                                                      \
	F(arm_rq_in, lwm, 0x0c, 15, 0)
#define PRM_FIELDS_create_xrc_srq_in(F, Q, B)                                                      \
	B(create_xrc_srq_in, xrc_srq_context_entry, 0x10, 0x40)                                    \
	F(create_xrc_srq_in, xrc_srq_umem_valid, 0x5c, 31, 31)                                     \
	B(create_xrc_srq_in, pas, 0x110, 0)
#define PRM_FIELDS_query_xrc_srq_out(F, Q, B)                                                      \
	B(query_xrc_srq_out, xrc_srq_context_entry, 0x10, 0x40)

#define PRM_FIELDS_create_mkey_in(F, Q, B)                                                         \
	F(create_mkey_in, mkey_index, 0x08, 23, 0)                                                 \
	F(create_mkey_in, pg_access, 0x0c, 31, 31)                                                 \
	F(create_mkey_in, mkey_umem_valid, 0x0c, 30, 30)                                           \
	B(create_mkey_in, mkc, 0x10, 0x40)                                                         \
	F(create_mkey_in, translations_octword_actual_size, 0x60, 31, 0)                           \
	F(create_mkey_in, mkey_umem_id, 0x64, 31, 0)                                               \
	Q(create_mkey_in, mkey_umem_offset, 0x68)                                                  \
	B(create_mkey_in, klm_pas_mtt, 0x110, 0)
#define PRM_FIELDS_create_mkey_out(F, Q, B) F(create_mkey_out, mkey_index, 0x08, 23, 0)
#define PRM_FIELDS_query_mkey_out(F, Q, B)  B(query_mkey_out, mkc, 0x10, 0x40)

#define PRM_FIELDS_alloc_memic_in(F, Q, B)                                                         \
	F(alloc_memic_in, log_memic_addr_alignment, 0x0c, 7, 0)                                    \
	Q(alloc_memic_in, range_start_addr, 0x10)                                                  \
	F(alloc_memic_in, range_size, 0x18, 31, 0)                                                 \
	F(alloc_memic_in, memic_size, 0x1c, 31, 0)
#define PRM_FIELDS_alloc_memic_out(F, Q, B) Q(alloc_memic_out, memic_start_addr, 0x08)
#define PRM_FIELDS_dealloc_memic_in(F, Q, B)                                                       \
	Q(dealloc_memic_in, memic_start_addr, 0x10)                                                \
	F(dealloc_memic_in, memic_size, 0x18, 31, 0)

#define PRM_FIELDS_create_umem_in(F, Q, B)                                                         \
	B(create_umem_in, umem, 0x10, 0x20)                                                        \
	B(create_umem_in, mtt, 0x30, 0)
#define PRM_FIELDS_create_uctx_in(F, Q, B) F(create_uctx_in, cap, 0x10, 31, 0)

#define PRM_FIELDS_query_special_contexts_out(F, Q, B)                                             \
	F(query_special_contexts_out, dump_fill_mkey, 0x08, 31, 0)                                 \
	F(query_special_contexts_out, resd_lkey, 0x0c, 31, 0)                                      \
	F(query_special_contexts_out, null_mkey, 0x10, 31, 0)                                      \
	F(query_special_contexts_out, terminate_scatter_list_mkey, 0x14, 31, 0)

#define PRM_FIELDS_roce_addr(F, Q, B)                                                              \
	B(roce_addr, source_l3_address, 0x00, 16)                                                  \
	F(roce_addr, vlan_valid, 0x10, 28, 28)                                                     \
	F(roce_addr, vlan_id, 0x10, 27, 16)                                                        \
	F(roce_addr, source_mac_47_32, 0x10, 15, 0)                                                \
	F(roce_addr, source_mac_31_0, 0x14, 31, 0)                                                 \
	F(roce_addr, roce_l3_type, 0x18, 11, 8)                                                    \
	F(roce_addr, roce_version, 0x18, 7, 0)
#define PRM_FIELDS_mcg_in(F, Q, B)                                                                 \
	F(mcg_in, qpn, 0x08, 23, 0)                                                                \
	B(mcg_in, multicast_gid, 0x10, 0x10)
#define PRM_FIELDS_roce_address_in(F, Q, B)                                                        \
	F(roce_address_in, roce_address_index, 0x08, 31, 16)                                       \
	F(roce_address_in, vhca_port_num, 0x08, 3, 0)                                              \
	B(roce_address_in, roce_address, 0x10, 0x20)
#define PRM_FIELDS_roce_address_out(F, Q, B) B(roce_address_out, roce_address, 0x10, 0x20)

/* ---- port and device queries ---- */

#define PRM_FIELDS_query_adapter_out(F, Q, B)                                                      \
	B(query_adapter_out, query_adapter_struct, 0x10, 0x100)
#define PRM_FIELDS_query_adapter_param_block(F, Q, B)                                              \
	F(query_adapter_param_block, ieee_vendor_id, 0x18, 23, 0)                                  \
	F(query_adapter_param_block, vsd_vendor_id, 0x1c, 15, 0)                                   \
	B(query_adapter_param_block, vsd, 0x20, 0xd0)                                              \
	B(query_adapter_param_block, vsd_contd_psid, 0xf0, 0x10)
#define PRM_FIELDS_query_vport_state_out(F, Q, B)                                                  \
	F(query_vport_state_out, admin_state, 0x0c, 7, 4)                                          \
	F(query_vport_state_out, state, 0x0c, 3, 0)
#define PRM_FIELDS_nic_vport_context(F, Q, B)                                                      \
	F(nic_vport_context, min_wqe_inline_mode, 0x00, 26, 24)                                    \
	F(nic_vport_context, disable_mc_local_lb, 0x00, 2, 2)                                      \
	F(nic_vport_context, disable_uc_local_lb, 0x00, 1, 1)                                      \
	F(nic_vport_context, roce_en, 0x00, 0, 0)                                                  \
	F(nic_vport_context, mtu, 0x24, 15, 0)                                                     \
	Q(nic_vport_context, system_image_guid, 0x28)                                              \
	Q(nic_vport_context, port_guid, 0x30)                                                      \
	Q(nic_vport_context, node_guid, 0x38)                                                      \
	F(nic_vport_context, qkey_violation_counter, 0x68, 31, 16)                                 \
	F(nic_vport_context, allowed_list_type, 0xf0, 26, 24)                                      \
	F(nic_vport_context, allowed_list_size, 0xf0, 11, 0)                                       \
	B(nic_vport_context, permanent_address, 0xf4, 0x8)
#define PRM_FIELDS_query_nic_vport_context_out(F, Q, B)                                            \
	B(query_nic_vport_context_out, nic_vport_context, 0x10, 0x100)
#define PRM_FIELDS_hca_vport_context(F, Q, B)                                                      \
	F(hca_vport_context, field_select, 0x00, 31, 0)                                            \
	F(hca_vport_context, sm_virt_aware, 0x20, 31, 31)                                          \
	F(hca_vport_context, has_smi, 0x20, 30, 30)                                                \
	F(hca_vport_context, has_raw, 0x20, 29, 29)                                                \
	F(hca_vport_context, grh_required, 0x20, 28, 28)                                           \
	F(hca_vport_context, port_physical_state, 0x20, 15, 12)                                    \
	F(hca_vport_context, vport_state_policy, 0x20, 11, 8)                                      \
	F(hca_vport_context, port_state, 0x20, 7, 4)                                               \
	F(hca_vport_context, vport_state, 0x20, 3, 0)                                              \
	Q(hca_vport_context, system_image_guid, 0x28)                                              \
	Q(hca_vport_context, port_guid, 0x30)                                                      \
	Q(hca_vport_context, node_guid, 0x38)                                                      \
	F(hca_vport_context, cap_mask1, 0x40, 31, 0)                                               \
	F(hca_vport_context, cap_mask1_field_select, 0x44, 31, 0)                                  \
	F(hca_vport_context, cap_mask2, 0x48, 31, 0)                                               \
	F(hca_vport_context, lid, 0x60, 31, 16)                                                    \
	F(hca_vport_context, init_type_reply, 0x60, 11, 8)                                         \
	F(hca_vport_context, lmc, 0x60, 7, 5)                                                      \
	F(hca_vport_context, subnet_timeout, 0x60, 4, 0)                                           \
	F(hca_vport_context, sm_lid, 0x64, 31, 16)                                                 \
	F(hca_vport_context, sm_sl, 0x64, 15, 12)                                                  \
	F(hca_vport_context, qkey_violation_counter, 0x68, 31, 16)                                 \
	F(hca_vport_context, pkey_violation_counter, 0x68, 15, 0)
#define PRM_FIELDS_query_hca_vport_context_out(F, Q, B)                                            \
	B(query_hca_vport_context_out, hca_vport_context, 0x10, 0x200)
#define PRM_FIELDS_modify_hca_vport_context_in(F, Q, B)                                            \
	F(modify_hca_vport_context_in, port_num, 0x08, 19, 16)                                     \
	F(modify_hca_vport_context_in, vport_number, 0x08, 15, 0)                                  \
	B(modify_hca_vport_context_in, hca_vport_context, 0x10, 0x200)
#define PRM_FIELDS_mad_ifc_in(F, Q, B)                                                             \
	F(mad_ifc_in, port, 0x08, 7, 0)                                                            \
	B(mad_ifc_in, mad, 0x10, 0x100)
#define PRM_FIELDS_mad_ifc_out(F, Q, B)	   B(mad_ifc_out, response_mad_packet, 0x10, 0x100)
#define PRM_FIELDS_enable_hca_in(F, Q, B)  F(enable_hca_in, function_id, 0x08, 15, 0)
#define PRM_FIELDS_query_pages_in(F, Q, B) F(query_pages_in, function_id, 0x08, 15, 0)
#define PRM_FIELDS_query_pages_out(F, Q, B)                                                        \
	F(query_pages_out, function_id, 0x08, 15, 0)                                               \
	F(query_pages_out, num_pages, 0x0c, 31, 0)
#define PRM_FIELDS_manage_pages_in(F, Q, B)                                                        \
	F(manage_pages_in, function_id, 0x08, 15, 0)                                               \
	F(manage_pages_in, input_num_entries, 0x0c, 31, 0)                                         \
	B(manage_pages_in, pas, 0x10, 0x0)
#define PRM_FIELDS_manage_pages_out(F, Q, B)                                                       \
	F(manage_pages_out, output_num_entries, 0x08, 31, 0)                                       \
	B(manage_pages_out, pas, 0x10, 0x0)
#define PRM_FIELDS_pvlc_reg(F, Q, B)                                                               \
	F(pvlc_reg, local_port, 0x00, 23, 16)                                                      \
	F(pvlc_reg, vl_hw_cap, 0x04, 3, 0)                                                         \
	F(pvlc_reg, vl_admin, 0x08, 3, 0)                                                          \
	F(pvlc_reg, vl_operational, 0x0c, 3, 0)
#define PRM_FIELDS_query_hca_vport_gid_out(F, Q, B)                                                \
	F(query_hca_vport_gid_out, gids_num, 0x0c, 31, 16)                                         \
	B(query_hca_vport_gid_out, gid, 0x10, 0x0)
#define PRM_FIELDS_query_hca_vport_pkey_in(F, Q, B)                                                \
	F(query_hca_vport_pkey_in, port_num, 0x08, 19, 16)                                         \
	F(query_hca_vport_pkey_in, vport_number, 0x08, 15, 0)                                      \
	F(query_hca_vport_pkey_in, pkey_index, 0x0c, 15, 0)
#define PRM_FIELDS_query_hca_vport_pkey_out(F, Q, B) B(query_hca_vport_pkey_out, pkey, 0x10, 0x0)
#define PRM_FIELDS_access_register_in(F, Q, B)                                                     \
	F(access_register_in, register_id, 0x08, 15, 0)                                            \
	F(access_register_in, argument, 0x0c, 31, 0)                                               \
	B(access_register_in, register_data, 0x10, 0x0)
#define PRM_FIELDS_access_register_out(F, Q, B) B(access_register_out, register_data, 0x10, 0x0)
#define PRM_FIELDS_ptys_reg(F, Q, B)                                                               \
	F(ptys_reg, local_port, 0x00, 23, 16)                                                      \
	F(ptys_reg, proto_mask, 0x00, 2, 0)                                                        \
	F(ptys_reg, data_rate_oper, 0x04, 15, 0)                                                   \
	F(ptys_reg, ext_eth_proto_capability, 0x08, 31, 0)                                         \
	F(ptys_reg, eth_proto_capability, 0x0c, 31, 0)                                             \
	F(ptys_reg, ib_link_width_capability, 0x10, 31, 16)                                        \
	F(ptys_reg, ib_proto_capability, 0x10, 15, 0)                                              \
	F(ptys_reg, ext_eth_proto_admin, 0x14, 31, 0)                                              \
	F(ptys_reg, eth_proto_admin, 0x18, 31, 0)                                                  \
	F(ptys_reg, ib_link_width_admin, 0x1c, 31, 16)                                             \
	F(ptys_reg, ib_proto_admin, 0x1c, 15, 0)                                                   \
	F(ptys_reg, ext_eth_proto_oper, 0x20, 31, 0)                                               \
	F(ptys_reg, eth_proto_oper, 0x24, 31, 0)                                                   \
	F(ptys_reg, ib_link_width_oper, 0x28, 31, 16)                                              \
	F(ptys_reg, ib_proto_oper, 0x28, 15, 0)                                                    \
	F(ptys_reg, connector_type, 0x2c, 3, 0)
#define PRM_FIELDS_pmtu_reg(F, Q, B)                                                               \
	F(pmtu_reg, local_port, 0x00, 23, 16)                                                      \
	F(pmtu_reg, max_mtu, 0x04, 31, 16)                                                         \
	F(pmtu_reg, admin_mtu, 0x08, 31, 16)                                                       \
	F(pmtu_reg, oper_mtu, 0x0c, 31, 16)
#define PRM_FIELDS_alloc_q_counter_out(F, Q, B) F(alloc_q_counter_out, counter_set_id, 0x08, 7, 0)
#define PRM_FIELDS_query_q_counter_in(F, Q, B)                                                     \
	F(query_q_counter_in, clear, 0x18, 31, 31)                                                 \
	F(query_q_counter_in, aggregate, 0x18, 30, 30)                                             \
	F(query_q_counter_in, counter_set_id, 0x1c, 7, 0)
#define PRM_FIELDS_query_q_counter_out(F, Q, B)                                                    \
	F(query_q_counter_out, rx_write_requests, 0x10, 31, 0)                                     \
	F(query_q_counter_out, rx_read_requests, 0x18, 31, 0)                                      \
	F(query_q_counter_out, rx_atomic_requests, 0x20, 31, 0)                                    \
	F(query_q_counter_out, out_of_buffer, 0x30, 31, 0)                                         \
	F(query_q_counter_out, out_of_sequence, 0x38, 31, 0)                                       \
	F(query_q_counter_out, duplicate_request, 0x40, 31, 0)                                     \
	F(query_q_counter_out, rnr_nak_retry_err, 0x48, 31, 0)                                     \
	F(query_q_counter_out, packet_seq_err, 0x50, 31, 0)                                        \
	F(query_q_counter_out, implied_nak_seq_err, 0x58, 31, 0)                                   \
	F(query_q_counter_out, local_ack_timeout_err, 0x60, 31, 0)                                 \
	F(query_q_counter_out, resp_local_length_error, 0x78, 31, 0)                               \
	F(query_q_counter_out, resp_cqe_error, 0x90, 31, 0)                                        \
	F(query_q_counter_out, req_cqe_error, 0x94, 31, 0)                                         \
	F(query_q_counter_out, req_remote_invalid_request, 0xa0, 31, 0)                            \
	F(query_q_counter_out, req_remote_access_errors, 0xa8, 31, 0)                              \
	F(query_q_counter_out, resp_remote_access_errors, 0xac, 31, 0)                             \
	F(query_q_counter_out, resp_cqe_flush_error, 0xbc, 31, 0)                                  \
	F(query_q_counter_out, req_cqe_flush_error, 0xc0, 31, 0)
#define PRM_FIELDS_create_uctx_out(F, Q, B) F(create_uctx_out, uid, 0x08, 15, 0)
#define PRM_FIELDS_destroy_uctx_in(F, Q, B) F(destroy_uctx_in, uid, 0x08, 15, 0)
#define PRM_FIELDS_destroy_eq_in(F, Q, B)   F(destroy_eq_in, eq_number, 0x08, 7, 0)
#define PRM_FIELDS_query_issi_out(F, Q, B)                                                         \
	F(query_issi_out, current_issi, 0x08, 15, 0)                                               \
	F(query_issi_out, supported_issi_dw0, 0x6c, 31, 0)

#define PRM_STRUCTS(S)                                                                             \
	S(ads, 0x2c)                                                                               \
	S(qpc, 0xe8)                                                                               \
	S(cqc, 0x40)                                                                               \
	S(eqc, 0x40)                                                                               \
	S(eqe, 0x40)                                                                               \
	S(mkc, 0x40)                                                                               \
	S(wq, 0xc0)                                                                                \
	S(rmpc, 0xf0)                                                                              \
	S(rmp_bitmask, 0x8)                                                                        \
	S(srqc, 0x40)                                                                              \
	S(xrc_srqc, 0x40)                                                                          \
	S(umem, 0x20)                                                                              \
	S(cmd_in, 0x10)                                                                            \
	S(cmd_out, 0x10)                                                                           \
	S(general_obj_in, 0x10)                                                                    \
	S(general_obj_out, 0x10)                                                                   \
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
	S(modify_rmp_in, 0x110)                                                                    \
	S(query_rmp_out, 0x110)                                                                    \
	S(create_srq_in, 0x110)                                                                    \
	S(query_srq_out, 0x110)                                                                    \
	S(arm_rq_in, 0x10)                                                                         \
	S(create_xrc_srq_in, 0x110)                                                                \
	S(query_xrc_srq_out, 0x110)                                                                \
	S(create_mkey_in, 0x110)                                                                   \
	S(create_mkey_out, 0x10)                                                                   \
	S(query_mkey_out, 0x110)                                                                   \
	S(alloc_memic_in, 0x20)                                                                    \
	S(alloc_memic_out, 0x10)                                                                   \
	S(dealloc_memic_in, 0x20)                                                                  \
	S(create_umem_in, 0x30)                                                                    \
	S(create_uctx_in, 0x40)                                                                    \
	S(query_special_contexts_out, 0x20)                                                        \
	S(roce_addr, 0x20)                                                                         \
	S(mcg_in, 0x20)                                                                            \
	S(roce_address_in, 0x30)                                                                   \
	S(roce_address_out, 0x30)                                                                  \
	S(query_adapter_out, 0x110)                                                                \
	S(query_adapter_param_block, 0x100)                                                        \
	S(query_vport_state_out, 0x10)                                                             \
	S(nic_vport_context, 0x100)                                                                \
	S(query_nic_vport_context_out, 0x110)                                                      \
	S(hca_vport_context, 0x200)                                                                \
	S(query_hca_vport_context_out, 0x210)                                                      \
	S(modify_hca_vport_context_in, 0x210)                                                      \
	S(mad_ifc_in, 0x110)                                                                       \
	S(mad_ifc_out, 0x110)                                                                      \
	S(enable_hca_in, 0x10)                                                                     \
	S(query_pages_in, 0x10)                                                                    \
	S(query_pages_out, 0x10)                                                                   \
	S(manage_pages_in, 0x10)                                                                   \
	S(manage_pages_out, 0x10)                                                                  \
	S(pvlc_reg, 0x10)                                                                          \
	S(query_hca_vport_gid_out, 0x10)                                                           \
	S(query_hca_vport_pkey_in, 0x10)                                                           \
	S(query_hca_vport_pkey_out, 0x10)                                                          \
	S(access_register_in, 0x10)                                                                \
	S(access_register_out, 0x10)                                                               \
	S(ptys_reg, 0x40)                                                                          \
	S(pmtu_reg, 0x10)                                                                          \
	S(alloc_q_counter_out, 0x10)                                                               \
	S(query_q_counter_in, 0x20)                                                                \
	S(query_q_counter_out, 0x100)                                                              \
	S(create_uctx_out, 0x10)                                                                   \
	S(destroy_uctx_in, 0x10)                                                                   \
	S(destroy_eq_in, 0x10)                                                                     \
	S(query_issi_out, 0x70)                                                                    \
	S(cmd_hca_cap, 0x100)                                                                      \
	S(cmd_hca_cap_2, 0x100)                                                                    \
	S(atomic_caps, 0x100)                                                                      \
	S(roce_cap, 0x100)                                                                         \
	S(odp_cap, 0x100)                                                                          \
	S(eth_cap, 0x100)                                                                          \
	S(qos_cap, 0x100)                                                                          \
	S(device_mem_cap, 0x100)

#endif
