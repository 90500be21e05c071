/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers of the Mellanox PRM: command opcodes, states, opcodes, syndromes. Values only, no layout.
 */
#ifndef GDAKIT_PRM_ENUMS_H
#define GDAKIT_PRM_ENUMS_H

/* Firmware commands (PRM, command reference). X(name, opcode). */
#define PRM_COMMANDS(X)                                                                            \
	X(QUERY_HCA_CAP, 0x100)                                                                    \
	X(QUERY_ADAPTER, 0x101)                                                                    \
	X(INIT_HCA, 0x102)                                                                         \
	X(TEARDOWN_HCA, 0x103)                                                                     \
	X(ENABLE_HCA, 0x104)                                                                       \
	X(DISABLE_HCA, 0x105)                                                                      \
	X(QUERY_PAGES, 0x107)                                                                      \
	X(MANAGE_PAGES, 0x108)                                                                     \
	X(SET_HCA_CAP, 0x109)                                                                      \
	X(QUERY_ISSI, 0x10a)                                                                       \
	X(SET_ISSI, 0x10b)                                                                         \
	X(CREATE_MKEY, 0x200)                                                                      \
	X(QUERY_MKEY, 0x201)                                                                       \
	X(DESTROY_MKEY, 0x202)                                                                     \
	X(QUERY_SPECIAL_CONTEXTS, 0x203)                                                           \
	X(ALLOC_MEMIC, 0x205)                                                                      \
	X(DEALLOC_MEMIC, 0x206)                                                                    \
	X(CREATE_EQ, 0x301)                                                                        \
	X(DESTROY_EQ, 0x302)                                                                       \
	X(QUERY_EQ, 0x303)                                                                         \
	X(CREATE_CQ, 0x400)                                                                        \
	X(DESTROY_CQ, 0x401)                                                                       \
	X(QUERY_CQ, 0x402)                                                                         \
	X(MODIFY_CQ, 0x403)                                                                        \
	X(CREATE_QP, 0x500)                                                                        \
	X(DESTROY_QP, 0x501)                                                                       \
	X(RST2INIT_QP, 0x502)                                                                      \
	X(INIT2RTR_QP, 0x503)                                                                      \
	X(RTR2RTS_QP, 0x504)                                                                       \
	X(RTS2RTS_QP, 0x505)                                                                       \
	X(SQERR2RTS_QP, 0x506)                                                                     \
	X(QP_2ERR, 0x507)                                                                          \
	X(RTS2SQD_QP, 0x508)                                                                       \
	X(QP_2RST, 0x50a)                                                                          \
	X(QUERY_QP, 0x50b)                                                                         \
	X(SQD_RTS_QP, 0x50c)                                                                       \
	X(MAD_IFC, 0x50d)                                                                          \
	X(INIT2INIT_QP, 0x50e)                                                                     \
	X(SQD2SQD_QP, 0x511)                                                                       \
	X(CREATE_SRQ, 0x700)                                                                       \
	X(DESTROY_SRQ, 0x701)                                                                      \
	X(QUERY_SRQ, 0x702)                                                                        \
	X(ARM_RQ, 0x703)                                                                           \
	X(CREATE_XRC_SRQ, 0x705)                                                                   \
	X(DESTROY_XRC_SRQ, 0x706)                                                                  \
	X(QUERY_XRC_SRQ, 0x707)                                                                    \
	X(ARM_XRC_SRQ, 0x708)                                                                      \
	X(QUERY_VPORT_STATE, 0x750)                                                                \
	X(QUERY_ESW_VPORT_CONTEXT, 0x752)                                                          \
	X(QUERY_NIC_VPORT_CONTEXT, 0x754)                                                          \
	X(QUERY_ROCE_ADDRESS, 0x760)                                                               \
	X(SET_ROCE_ADDRESS, 0x761)                                                                 \
	X(QUERY_HCA_VPORT_CONTEXT, 0x762)                                                          \
	X(MODIFY_HCA_VPORT_CONTEXT, 0x763)                                                         \
	X(QUERY_HCA_VPORT_GID, 0x764)                                                              \
	X(QUERY_HCA_VPORT_PKEY, 0x765)                                                             \
	X(QUERY_Q_COUNTER, 0x773)                                                                  \
	X(ALLOC_Q_COUNTER, 0x771)                                                                  \
	X(DEALLOC_Q_COUNTER, 0x772)                                                                \
	X(ALLOC_PD, 0x800)                                                                         \
	X(DEALLOC_PD, 0x801)                                                                       \
	X(ALLOC_UAR, 0x802)                                                                        \
	X(DEALLOC_UAR, 0x803)                                                                      \
	X(ACCESS_REG, 0x805)                                                                       \
	X(ATTACH_TO_MCG, 0x806)                                                                    \
	X(DETACH_FROM_MCG, 0x807)                                                                  \
	X(ALLOC_XRCD, 0x80e)                                                                       \
	X(DEALLOC_XRCD, 0x80f)                                                                     \
	X(ALLOC_TRANSPORT_DOMAIN, 0x816)                                                           \
	X(DEALLOC_TRANSPORT_DOMAIN, 0x817)                                                         \
	X(CREATE_RMP, 0x90c)                                                                       \
	X(MODIFY_RMP, 0x90d)                                                                       \
	X(DESTROY_RMP, 0x90e)                                                                      \
	X(QUERY_RMP, 0x90f)                                                                        \
	X(CREATE_GENERAL_OBJECT, 0xa00)                                                            \
	X(DESTROY_GENERAL_OBJECT, 0xa03)                                                           \
	X(CREATE_UCTX, 0xa04)                                                                      \
	X(DESTROY_UCTX, 0xa06)                                                                     \
	X(CREATE_UMEM, 0xa08)                                                                      \
	X(DESTROY_UMEM, 0xa0a)

#define PRM_CMD_ENUM_(name, opcode) PRM_CMD_##name = (opcode),
enum prm_cmd_opcode { PRM_COMMANDS(PRM_CMD_ENUM_) };

/* obj_type of general objects, and their bits of cmd_hca_cap.general_obj_types (rdma-core,
 * mlx5_ifc.h). */
enum prm_obj_type {
	PRM_OBJ_TYPE_RESERVED_QPN = 0x2c,
};

/* Status byte of a command's output (PRM, command interface; same list as the driver prints). */
enum prm_status {
	PRM_STATUS_OK = 0x0,
	PRM_STATUS_INT_ERR = 0x1,
	PRM_STATUS_BAD_OP = 0x2,
	PRM_STATUS_BAD_PARAM = 0x3,
	PRM_STATUS_BAD_SYS_STATE = 0x4,
	PRM_STATUS_BAD_RES = 0x5,
	PRM_STATUS_RES_BUSY = 0x6,
	PRM_STATUS_LIM_ERR = 0x8,
	PRM_STATUS_BAD_RES_STATE = 0x9,
	PRM_STATUS_IX_ERR = 0xa,
	PRM_STATUS_NO_RES_ERR = 0xf,
	PRM_STATUS_BAD_INP_LEN = 0x50,
	PRM_STATUS_BAD_OUTP_LEN = 0x51,
	PRM_STATUS_BAD_QP_STATE = 0x10,
	PRM_STATUS_BAD_PKT = 0x30,
	PRM_STATUS_BAD_SIZE_OUTS = 0x40,
};

enum prm_qp_state {
	PRM_QP_RST = 0,
	PRM_QP_INIT = 1,
	PRM_QP_RTR = 2,
	PRM_QP_RTS = 3,
	PRM_QP_SQER = 4,
	PRM_QP_SQD = 5,
	PRM_QP_ERR = 6,
	PRM_QP_SQ_DRAINING = 7, /* only as QUERY_QP's answer */
};

enum prm_qp_st {
	PRM_QP_ST_RC = 0,
	PRM_QP_ST_UC = 1,
	PRM_QP_ST_UD = 2,
	PRM_QP_ST_XRC = 3,
	PRM_QP_ST_DCI = 5,
	PRM_QP_ST_QP0 = 7,
	PRM_QP_ST_QP1 = 8,
	PRM_QP_ST_RAW = 9,
	PRM_QP_ST_UMR = 12, /* the driver's own, for keys of every PD */
};

enum prm_rq_type { PRM_RQ_REGULAR = 0, PRM_RQ_SRQ = 1, PRM_RQ_CRQ = 2, PRM_RQ_NONE = 3 };

/* wq.wq_type of a receive queue */
enum prm_wq_type { PRM_WQ_LINKED_LIST = 0, PRM_WQ_CYCLIC = 1 };

/* States of a shared receive queue: rmpc has an encoding of its own. */
enum prm_rmp_state { PRM_RMP_RDY = 1, PRM_RMP_ERR = 3 };
enum prm_srq_state { PRM_SRQ_GOOD = 0, PRM_SRQ_ERROR = 1 };

/* ARM_RQ and ARM_XRC_SRQ */
enum prm_arm_op_mod { PRM_ARM_SRQ = 1, PRM_ARM_XRQ = 2 };

/* opt_param_mask bits of the modify commands. */
enum prm_qp_optpar {
	PRM_OPTPAR_ALT_ADDR = 1 << 0,
	PRM_OPTPAR_RRE = 1 << 1,
	PRM_OPTPAR_RAE = 1 << 2,
	PRM_OPTPAR_RWE = 1 << 3,
	PRM_OPTPAR_PKEY = 1 << 4,
	PRM_OPTPAR_QKEY = 1 << 5,
	PRM_OPTPAR_RNR_TIMEOUT = 1 << 6,
	PRM_OPTPAR_PRIMARY_ADDR = 1 << 7,
	PRM_OPTPAR_SRA_MAX = 1 << 8,
	PRM_OPTPAR_RRA_MAX = 1 << 9,
	PRM_OPTPAR_PM_STATE = 1 << 10,
	PRM_OPTPAR_RETRY_COUNT = 1 << 12,
	PRM_OPTPAR_RNR_RETRY = 1 << 13,
	PRM_OPTPAR_ACK_TIMEOUT = 1 << 14,
	PRM_OPTPAR_PRI_PORT = 1 << 16,
	PRM_OPTPAR_DSCP = 1 << 17,
	PRM_OPTPAR_SRQN = 1 << 18,
	PRM_OPTPAR_CQN_RCV = 1 << 19,
	PRM_OPTPAR_SGID_INDEX = 1 << 23,
	PRM_OPTPAR_COUNTER_SET = 1 << 25,
};

/* WQE opcodes (ctrl segment byte 3). */
enum prm_wqe_opcode {
	PRM_WQE_NOP = 0x00,
	PRM_WQE_SEND_INVAL = 0x01,
	PRM_WQE_RDMA_WRITE = 0x08,
	PRM_WQE_RDMA_WRITE_IMM = 0x09,
	PRM_WQE_SEND = 0x0a,
	PRM_WQE_SEND_IMM = 0x0b,
	PRM_WQE_TSO = 0x0e,
	PRM_WQE_WAIT = 0x0f,
	PRM_WQE_RDMA_READ = 0x10,
	PRM_WQE_ATOMIC_CS = 0x11,
	PRM_WQE_ATOMIC_FA = 0x12,
	PRM_WQE_ATOMIC_MASKED_CS = 0x14,
	PRM_WQE_ATOMIC_MASKED_FA = 0x15,
	PRM_WQE_LOCAL_INVAL = 0x1b,
	PRM_WQE_DUMP = 0x23,
	PRM_WQE_UMR = 0x25,
};

/* CQE opcodes (op_own bits 7:4). */
enum prm_cqe_opcode {
	PRM_CQE_REQ = 0,
	PRM_CQE_RESP_WR_IMM = 1,
	PRM_CQE_RESP_SEND = 2,
	PRM_CQE_RESP_SEND_IMM = 3,
	PRM_CQE_RESP_SEND_INV = 4,
	PRM_CQE_RESIZE_CQ = 5,
	PRM_CQE_REQ_ERR = 13,
	PRM_CQE_RESP_ERR = 14,
	PRM_CQE_INVALID = 15,
};

/* Syndrome of an error CQE. */
enum prm_cqe_syndrome {
	PRM_SYND_LOCAL_LENGTH = 0x01,
	PRM_SYND_LOCAL_QP_OP = 0x02,
	PRM_SYND_LOCAL_PROT = 0x04,
	PRM_SYND_WR_FLUSH = 0x05,
	PRM_SYND_MW_BIND = 0x06,
	PRM_SYND_BAD_RESP = 0x10,
	PRM_SYND_LOCAL_ACCESS = 0x11,
	PRM_SYND_REMOTE_INVAL_REQ = 0x12,
	PRM_SYND_REMOTE_ACCESS = 0x13,
	PRM_SYND_REMOTE_OP = 0x14,
	PRM_SYND_RETRY_EXC = 0x15,
	PRM_SYND_RNR_RETRY_EXC = 0x16,
	PRM_SYND_REMOTE_ABORTED = 0x22,
};

/* EQE types. */
enum prm_event_type {
	PRM_EVENT_COMP = 0x00,
	PRM_EVENT_PATH_MIG = 0x01,
	PRM_EVENT_COMM_EST = 0x02,
	PRM_EVENT_SQ_DRAINED = 0x03,
	PRM_EVENT_CQ_ERROR = 0x04,
	PRM_EVENT_WQ_CATAS_ERROR = 0x05,
	PRM_EVENT_PORT_CHANGE = 0x09,
	PRM_EVENT_COMMAND = 0x0a,
	PRM_EVENT_PAGE_REQUEST = 0x0b,
	PRM_EVENT_WQ_INVAL_REQ_ERROR = 0x10,
	PRM_EVENT_WQ_ACCESS_ERROR = 0x11,
	PRM_EVENT_SRQ_CATAS_ERROR = 0x12,
	PRM_EVENT_SRQ_LAST_WQE = 0x13,
	PRM_EVENT_SRQ_RQ_LIMIT = 0x14,
};

/* cqc.st */
enum prm_cq_st {
	PRM_CQ_ST_SOLICITED_ARMED = 0x6,
	PRM_CQ_ST_ARMED = 0x9,
	PRM_CQ_ST_FIRED = 0xa,
	PRM_CQ_ST_ALWAYS_ARMED = 0xb,
};

/* mkc access modes: bits 4:2 << 2 | bits 1:0. */
enum prm_mkc_access_mode {
	PRM_MKC_MODE_PA = 0,
	PRM_MKC_MODE_MTT = 1,
	PRM_MKC_MODE_KLM = 2,
	PRM_MKC_MODE_KSM = 3,
	PRM_MKC_MODE_MEMIC = 5,
};

/* QUERY_HCA_CAP: op_mod = type << 1 | current. */
enum prm_cap_type {
	PRM_CAP_GENERAL = 0x0,
	PRM_CAP_ETHERNET_OFFLOADS = 0x1,
	PRM_CAP_ODP = 0x2,
	PRM_CAP_ATOMIC = 0x3,
	PRM_CAP_ROCE = 0x4,
	PRM_CAP_FLOW_TABLE = 0x7,
	PRM_CAP_ESWITCH_FLOW_TABLE = 0x8,
	PRM_CAP_ESWITCH = 0x9,
	PRM_CAP_QOS = 0xc,
	PRM_CAP_DEBUG = 0xd,
	PRM_CAP_DEVICE_MEMORY = 0xf,
	PRM_CAP_TLS = 0x11,
	PRM_CAP_VDPA = 0x13,
	PRM_CAP_CRYPTO = 0x1a,
	PRM_CAP_GENERAL_2 = 0x20,
};

/* Delivery status of a command queue entry (PRM, command queue entry layout; as the driver prints
 * them). */
enum prm_delivery {
	PRM_DELIVERY_OK = 0x0,
	PRM_DELIVERY_SIGNATURE = 0x1,
	PRM_DELIVERY_TOKEN = 0x2,
	PRM_DELIVERY_BLOCK_NUMBER = 0x3,
	PRM_DELIVERY_OUT_POINTER = 0x4,
	PRM_DELIVERY_IN_POINTER = 0x5,
	PRM_DELIVERY_INTERNAL = 0x6,
	PRM_DELIVERY_IN_LENGTH = 0x7,
	PRM_DELIVERY_OUT_LENGTH = 0x8,
	PRM_DELIVERY_TYPE = 0x10,
};

/* QUERY_PAGES and MANAGE_PAGES op_mod. */
enum prm_pages_for { PRM_PAGES_BOOT = 1, PRM_PAGES_INIT = 2, PRM_PAGES_REGULAR = 3 };
enum prm_pages_do { PRM_PAGES_CANNOT_GIVE = 0, PRM_PAGES_GIVE = 1, PRM_PAGES_TAKE = 2 };

/* Doorbell offsets in a 4 KiB UAR page (PRM, UAR page format). */
enum prm_uar_offset {
	PRM_UAR_PAGE_SIZE = 4096,
	PRM_UAR_CQ_ARM = 0x20,
	PRM_UAR_EQ_ARM = 0x40,
	PRM_UAR_EQ_CI = 0x48,
	PRM_UAR_SQ_NO_DBR = 0x600,
	PRM_UAR_BF = 0x800,
};

enum {
	PRM_WQEBB_SIZE = 64,
	PRM_CQE_SIZE = 64,
	PRM_EQE_SIZE = 64,
	PRM_LKEY_TERMINATOR = 0x100,
	PRM_INLINE_SEG = (int)0x80000000u,
};

/* PCI device ids: which ConnectX it is (pci.ids). */
enum prm_device_id { PRM_DEVICE_CONNECTX7 = 0x1021, PRM_DEVICE_CONNECTX8 = 0x1023 };

#endif
