// SPDX-License-Identifier: BSD-3-Clause
/*
 * DevX: the program's own mailboxes. They pass to the NIC as they are, under the uid of the
 * context; what is left to do here is to know which commands may pass which door, to remember how
 * an object is destroyed, and umems.
 *
 * A command that the NIC refuses still has its answer copied out, and the call fails with
 * EREMOTEIO: libmlx5 then looks at status and syndrome.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "emu/uverbs/uv.h"

enum { UMEM_LEN_MAX_LOG = 47 }; /* the address space of a program */

/* What objects are for the doors below: the object, its create and destroy, and the commands that
 * name one. */
enum devx_type {
	DEVX_PD,
	DEVX_MKEY,
	DEVX_CQ,
	DEVX_QP,
	DEVX_RMP,
	DEVX_SRQ,
	DEVX_XRC_SRQ,
	DEVX_XRCD,
	DEVX_TD,
	DEVX_Q_COUNTER,
	DEVX_GENERAL,
	DEVX_TYPES
};

static const struct {
	const char *name;
	uint16_t create, destroy;
} devx_objects[DEVX_TYPES] = {
	[DEVX_PD] = {"PD", PRM_CMD_ALLOC_PD, PRM_CMD_DEALLOC_PD},
	[DEVX_MKEY] = {"mkey", PRM_CMD_CREATE_MKEY, PRM_CMD_DESTROY_MKEY},
	[DEVX_CQ] = {"CQ", PRM_CMD_CREATE_CQ, PRM_CMD_DESTROY_CQ},
	[DEVX_QP] = {"QP", PRM_CMD_CREATE_QP, PRM_CMD_DESTROY_QP},
	[DEVX_RMP] = {"RMP", PRM_CMD_CREATE_RMP, PRM_CMD_DESTROY_RMP},
	[DEVX_SRQ] = {"SRQ", PRM_CMD_CREATE_SRQ, PRM_CMD_DESTROY_SRQ},
	[DEVX_XRC_SRQ] = {"XRC SRQ", PRM_CMD_CREATE_XRC_SRQ, PRM_CMD_DESTROY_XRC_SRQ},
	[DEVX_XRCD] = {"XRC domain", PRM_CMD_ALLOC_XRCD, PRM_CMD_DEALLOC_XRCD},
	[DEVX_TD] = {"transport domain", PRM_CMD_ALLOC_TRANSPORT_DOMAIN,
		     PRM_CMD_DEALLOC_TRANSPORT_DOMAIN},
	[DEVX_Q_COUNTER] = {"Q counter", PRM_CMD_ALLOC_Q_COUNTER, PRM_CMD_DEALLOC_Q_COUNTER},
	[DEVX_GENERAL] = {"general object", PRM_CMD_CREATE_GENERAL_OBJECT,
			  PRM_CMD_DESTROY_GENERAL_OBJECT},
};

/* Commands of the query and modify doors; all name their object in the dword at 8. */
static const struct {
	uint16_t opcode;
	enum devx_type type;
	bool modify;
} devx_uses[] = {
	{PRM_CMD_QUERY_MKEY, DEVX_MKEY, false},	   {PRM_CMD_QUERY_CQ, DEVX_CQ, false},
	{PRM_CMD_MODIFY_CQ, DEVX_CQ, true},	   {PRM_CMD_QUERY_QP, DEVX_QP, false},
	{PRM_CMD_RST2INIT_QP, DEVX_QP, true},	   {PRM_CMD_INIT2RTR_QP, DEVX_QP, true},
	{PRM_CMD_RTR2RTS_QP, DEVX_QP, true},	   {PRM_CMD_RTS2RTS_QP, DEVX_QP, true},
	{PRM_CMD_SQERR2RTS_QP, DEVX_QP, true},	   {PRM_CMD_QP_2ERR, DEVX_QP, true},
	{PRM_CMD_QP_2RST, DEVX_QP, true},	   {PRM_CMD_INIT2INIT_QP, DEVX_QP, true},
	{PRM_CMD_SQD_RTS_QP, DEVX_QP, true},	   {PRM_CMD_RTS2SQD_QP, DEVX_QP, true},
	{PRM_CMD_SQD2SQD_QP, DEVX_QP, true},	   {PRM_CMD_QUERY_RMP, DEVX_RMP, false},
	{PRM_CMD_MODIFY_RMP, DEVX_RMP, true},	   {PRM_CMD_QUERY_SRQ, DEVX_SRQ, false},
	{PRM_CMD_ARM_RQ, DEVX_SRQ, true},	   {PRM_CMD_QUERY_XRC_SRQ, DEVX_XRC_SRQ, false},
	{PRM_CMD_ARM_XRC_SRQ, DEVX_XRC_SRQ, true},
};

/* Commands that name no object and change nothing: what a user context may ask (DEVX_OTHER). */
static const uint16_t devx_general[] = {
	PRM_CMD_QUERY_HCA_CAP,
	PRM_CMD_QUERY_ADAPTER,
	PRM_CMD_QUERY_ISSI,
	PRM_CMD_QUERY_VPORT_STATE,
	PRM_CMD_QUERY_ESW_VPORT_CONTEXT,
	PRM_CMD_QUERY_NIC_VPORT_CONTEXT,
	PRM_CMD_QUERY_ROCE_ADDRESS,
	PRM_CMD_QUERY_HCA_VPORT_CONTEXT,
	PRM_CMD_QUERY_HCA_VPORT_GID,
	PRM_CMD_QUERY_HCA_VPORT_PKEY,
	PRM_CMD_QUERY_SPECIAL_CONTEXTS,
	PRM_CMD_QUERY_Q_COUNTER,
};

static const char *command_name(uint16_t opcode)
{
#define NAME(name, op)                                                                             \
	case op:                                                                                   \
		return #name;
	switch (opcode) {
		PRM_COMMANDS(NAME)
	default:
		return "command";
	}
#undef NAME
}

/* ---- mailboxes ---- */

struct mailbox {
	uint8_t *in, *out;
	size_t in_len, out_len;
	uint16_t opcode;
};

static void mailbox_free(struct mailbox *m)
{
	free(m->in);
	free(m->out);
}

/* The specs guarantee the head of both. */
static int mailbox_read(struct uv_req *req, uint16_t in_attr, uint16_t out_attr, struct mailbox *m)
{
	void *in;
	int ret;

	memset(m, 0, sizeof(*m));
	ret = uv_in_alloc(req, in_attr, &in, &m->in_len, UV_MAILBOX_MAX);
	if (ret)
		return ret;
	m->in = in;
	m->out_len = uv_len(req, out_attr);
	m->out = calloc(1, m->out_len);
	if (!m->out) {
		mailbox_free(m);
		return -ENOMEM;
	}
	m->opcode = (uint16_t)PRM_GET(cmd_in, m->in, opcode);
	PRM_SET(cmd_in, m->in, uid, req->ctx->uid);
	return 0;
}

/*
 * Runs it and gives the answer to the program: 0, -EREMOTEIO, or what went wrong in copying. Why a
 * command is refused the world's observer says.
 */
static int mailbox_run(struct uv_req *req, uint16_t out_attr, struct mailbox *m)
{
	uint8_t status = uv_command_raw(req->ctx->uid, m->in, m->in_len, m->out, m->out_len, NULL);
	int ret = uv_out(req, out_attr, m->out, m->out_len);

	if (ret || status == PRM_STATUS_OK)
		return ret;
	return -EREMOTEIO;
}

int uv_devx_other(struct uv_req *req)
{
	const uint16_t out_attr = MLX5_IB_ATTR_DEVX_OTHER_CMD_OUT;
	struct mailbox m;
	bool known = false;
	int ret = mailbox_read(req, MLX5_IB_ATTR_DEVX_OTHER_CMD_IN, out_attr, &m);

	if (ret)
		return ret;
	for (size_t i = 0; i < sizeof(devx_general) / sizeof(devx_general[0]); i++)
		known |= devx_general[i] == m.opcode;
	if (known)
		ret = mailbox_run(req, out_attr, &m);
	else
		ret = uv_refuse(EINVAL,
				"DevX general command %s (0x%x) is not one that a user may give",
				command_name(m.opcode), m.opcode);
	mailbox_free(&m);
	return ret;
}

/*
 * A program knows no physical pages, so where its mailboxes have room for memory they mean umems,
 * whether they say so or not: the driver sets the bits (devx.c of mlx5_ib, devx_set_umem_valid).
 */
static void mean_umems(struct mailbox *m)
{
	switch (m->opcode) {
	case PRM_CMD_CREATE_CQ:
		if (m->in_len < PRM_create_cq_in_SIZE)
			return;
		PRM_SET(create_cq_in, m->in, cq_umem_valid, 1);
		PRM_SET(cqc, PRM_PTR(create_cq_in, m->in, cq_context), dbr_umem_valid, 1);
		return;
	case PRM_CMD_CREATE_QP:
		if (m->in_len < PRM_create_qp_in_SIZE)
			return;
		PRM_SET(create_qp_in, m->in, wq_umem_valid, 1);
		PRM_SET(qpc, PRM_PTR(create_qp_in, m->in, qpc), dbr_umem_valid, 1);
		return;
	case PRM_CMD_CREATE_RMP: {
		uint8_t *rmpc = PRM_PTR(create_rmp_in, m->in, rmpc);
		uint8_t *wq = PRM_PTR(rmpc, rmpc, wq);

		if (m->in_len < PRM_create_rmp_in_SIZE)
			return;
		PRM_SET(wq, wq, wq_umem_valid, 1);
		PRM_SET(wq, wq, dbr_umem_valid, 1);
		return;
	}
	default:
		return;
	}
}

/* ---- objects ---- */

struct uv_devx_umem {
	struct uv_obj obj;
	uint64_t addr;
	uint64_t reach; /* bytes from addr to the end of its last page: what the NIC knows of */
};

/* Where a CREATE_CQ mailbox puts the record's arm word; 0: nowhere that the NIC will accept. */
static uint64_t arm_word_addr(const struct uv_ctx *ctx, const struct mailbox *m)
{
	const uint8_t *cqc = PRM_CPTR(create_cq_in, m->in, cq_context);
	uint64_t at, id;

	if (m->in_len < PRM_create_cq_in_SIZE)
		return 0;
	at = PRM_GET64(cqc, cqc, dbr_addr);
	if (at & 7)
		return 0;
	if (!PRM_GET(cqc, cqc, dbr_umem_valid))
		return at ? at + UV_CQ_ARM_OFFSET : 0;
	id = PRM_GET(cqc, cqc, dbr_umem_id);
	for (const struct uv_obj *o = ctx->newest; o; o = o->older) {
		const struct uv_devx_umem *umem = (const struct uv_devx_umem *)o;

		if (o->kind != UV_DEVX_UMEM || o->num != id)
			continue;
		if (umem->reach < 8 || at > umem->reach - 8)
			return 0;
		return umem->addr + at + UV_CQ_ARM_OFFSET;
	}
	return 0;
}

/*
 * CREATE_CQ with an arm word that any arm changes, as for a CQ of verbs. A record that the program
 * cannot write it cannot arm through, so there a failed write is none. Queues whose owner polls
 * (GPUNetIO's) keep the word for ever. A refused command leaves the record as it was.
 */
static int run_create_cq(struct uv_req *req, uint16_t out_attr, struct mailbox *m)
{
	const uint64_t at = arm_word_addr(req->ctx, m);
	uint32_t before = 0;
	bool written;
	int ret;

	written = at && !uv_copy_in(&before, at, sizeof(before)) && !uv_cq_arm_sentinel(at);
	ret = mailbox_run(req, out_attr, m);
	if (written && PRM_GET(cmd_out, m->out, status) != PRM_STATUS_OK)
		uv_copy_out(at, &before, sizeof(before));
	return ret;
}

static int create(struct uv_req *req, struct mailbox *m, enum devx_type type)
{
	struct uv_devx_obj *obj;
	int ret;

	obj = uv_obj_new(req->ctx, UV_DEVX_OBJ, sizeof(*obj), NULL, 0);
	if (!obj)
		return -ENOMEM;
	obj->create_opcode = devx_objects[type].create;
	obj->destroy_opcode = devx_objects[type].destroy;
	ret = (type == DEVX_CQ ? run_create_cq
			       : mailbox_run)(req, MLX5_IB_ATTR_DEVX_OBJ_CREATE_CMD_OUT, m);
	if (PRM_GET(cmd_out, m->out, status) != PRM_STATUS_OK) {
		uv_obj_free(req->ctx, &obj->obj);
		return ret;
	}
	obj->obj.num = PRM_GET(obj_out, m->out, number);
	if (type == DEVX_GENERAL)
		obj->general_type = (uint16_t)PRM_GET(general_obj_in, m->in, obj_type);
	if (!ret)
		ret = uv_set_handle(req, MLX5_IB_ATTR_DEVX_OBJ_CREATE_HANDLE, obj->obj.handle);
	if (ret)
		uv_obj_destroy(req->ctx, &obj->obj);
	return ret;
}

int uv_devx_obj_create(struct uv_req *req)
{
	struct mailbox m;
	enum devx_type type = 0;
	int ret = mailbox_read(req, MLX5_IB_ATTR_DEVX_OBJ_CREATE_CMD_IN,
			       MLX5_IB_ATTR_DEVX_OBJ_CREATE_CMD_OUT, &m);

	if (ret)
		return ret;
	while (type < DEVX_TYPES && devx_objects[type].create != m.opcode)
		type++;
	mean_umems(&m);
	if (type < DEVX_TYPES)
		ret = create(req, &m, type);
	else
		ret = uv_refuse(EINVAL, "DevX: %s (0x%x) is not a create command that is emulated",
				command_name(m.opcode), m.opcode);
	mailbox_free(&m);
	return ret;
}

/* Does the object behind the handle have this type, and does the mailbox name it? */
static int check_use(const struct uv_obj *obj, const struct mailbox *m, bool modify)
{
	const uint32_t number = PRM_GET(obj_in, m->in, number);
	const struct uv_devx_obj *d = (const struct uv_devx_obj *)obj;
	enum devx_type type = DEVX_TYPES;
	bool same;

	for (size_t i = 0; i < sizeof(devx_uses) / sizeof(devx_uses[0]); i++)
		if (devx_uses[i].opcode == m->opcode && devx_uses[i].modify == modify)
			type = devx_uses[i].type;
	if (type == DEVX_TYPES)
		return uv_refuse(EINVAL, "DevX: %s (0x%x) is not a %s command that is emulated",
				 command_name(m->opcode), m->opcode, modify ? "modify" : "query");
	same = obj->kind == UV_DEVX_OBJ ? d->create_opcode == devx_objects[type].create
	       : type == DEVX_QP	? obj->kind == UV_QP
	       : type == DEVX_CQ	? obj->kind == UV_CQ
					: type == DEVX_MKEY && obj->kind == UV_MR;
	if (!same || obj->num != number)
		return uv_refuse(EINVAL,
				 "DevX %s: the mailbox names %s 0x%x, the handle is a %s 0x%x",
				 command_name(m->opcode), devx_objects[type].name, number,
				 uv_kind_name(obj->kind), obj->num);
	return 0;
}

static int use_obj(struct uv_req *req, uint16_t handle, uint16_t in_attr, uint16_t out_attr,
		   bool modify)
{
	struct mailbox m;
	int ret = mailbox_read(req, in_attr, out_attr, &m);

	if (ret)
		return ret;
	ret = check_use(uv_obj(req, handle), &m, modify);
	if (!ret)
		ret = mailbox_run(req, out_attr, &m);
	mailbox_free(&m);
	return ret;
}

int uv_devx_obj_query(struct uv_req *req)
{
	return use_obj(req, MLX5_IB_ATTR_DEVX_OBJ_QUERY_HANDLE, MLX5_IB_ATTR_DEVX_OBJ_QUERY_CMD_IN,
		       MLX5_IB_ATTR_DEVX_OBJ_QUERY_CMD_OUT, false);
}

int uv_devx_obj_modify(struct uv_req *req)
{
	return use_obj(req, MLX5_IB_ATTR_DEVX_OBJ_MODIFY_HANDLE,
		       MLX5_IB_ATTR_DEVX_OBJ_MODIFY_CMD_IN, MLX5_IB_ATTR_DEVX_OBJ_MODIFY_CMD_OUT,
		       true);
}

int uv_devx_cmd_channel(struct uv_req *req)
{
	int fd, ret;

	if (!uv_events_open(req->ctx, UV_EVENTS_DEVX_CMD, 0, &fd))
		return errno ? -errno : -ENOMEM;
	ret = uv_set_fd(req, MLX5_IB_ATTR_DEVX_ASYNC_CMD_FD_ALLOC_HANDLE, fd);
	if (ret)
		close(fd);
	return ret;
}

/* The command takes no time here, so the answer is in the channel when the call returns. */
int uv_devx_obj_query_async(struct uv_req *req)
{
	const uint64_t wr_id = uv_in_u64(req, MLX5_IB_ATTR_DEVX_OBJ_QUERY_ASYNC_WR_ID, 0);
	int fd = uv_fd(req, MLX5_IB_ATTR_DEVX_OBJ_QUERY_ASYNC_FD);
	struct uv_event_file *file = uv_events_find(req->ctx, UV_EVENTS_DEVX_CMD, fd);
	struct mailbox m = {0};
	void *in;
	int ret;

	if (!file)
		return uv_refuse(
			EBADF,
			"DEVX_OBJ_ASYNC_QUERY: fd %d is not a command channel of this context", fd);
	m.out_len = (size_t)uv_in_u64(req, MLX5_IB_ATTR_DEVX_OBJ_QUERY_ASYNC_OUT_LEN, 0);
	if (m.out_len < PRM_cmd_out_SIZE)
		return uv_refuse(
			EINVAL,
			"DEVX_OBJ_ASYNC_QUERY: an answer of %zu bytes, expected at least %u",
			m.out_len, PRM_cmd_out_SIZE);
	ret = uv_in_alloc(req, MLX5_IB_ATTR_DEVX_OBJ_QUERY_ASYNC_CMD_IN, &in, &m.in_len,
			  UV_MAILBOX_MAX);
	if (ret)
		return ret;
	m.in = in;
	m.out = calloc(1, m.out_len);
	m.opcode = (uint16_t)PRM_GET(cmd_in, m.in, opcode);
	ret = m.out ? check_use(uv_obj(req, MLX5_IB_ATTR_DEVX_OBJ_QUERY_ASYNC_HANDLE), &m, false)
		    : -ENOMEM;
	if (!ret) {
		uv_command_raw(req->ctx->uid, m.in, m.in_len, m.out, m.out_len, NULL);
		ret = uv_events_put_answer(file, wr_id, m.out, m.out_len);
	}
	mailbox_free(&m);
	return ret;
}

int uv_devx_obj_release(struct uv_ctx *ctx, struct uv_obj *obj)
{
	const struct uv_devx_obj *d = (struct uv_devx_obj *)obj;
	uint8_t in[PRM_obj_in_SIZE] = {0}, out[PRM_cmd_out_SIZE] = {0};
	int ret;

	PRM_SET(cmd_in, in, opcode, d->destroy_opcode);
	PRM_SET(cmd_in, in, uid, ctx->uid);
	PRM_SET(general_obj_in, in, obj_type, d->general_type); /* others have op_mod 0 there */
	PRM_SET(obj_in, in, number, obj->num);
	ret = uv_command(ctx->uid, command_name(d->destroy_opcode), in, sizeof(in), out,
			 sizeof(out));

	if (!ret)
		uv_events_unsubscribe(obj);
	return ret;
}

/* ---- umems ---- */

static int create_umem(struct uv_ctx *ctx, struct uv_devx_umem *umem, uint64_t addr, uint64_t len,
		       uint64_t access)
{
	const struct uv_pages pages = uv_pages_of(addr, len, addr, UV_ANY_OFFSET);
	const size_t in_len = PRM_create_umem_in_SIZE + 8 * pages.count;
	uint8_t *in = calloc(1, in_len), *u, *mtt;
	uint8_t out[PRM_obj_out_SIZE] = {0};
	int ret;

	if (!in)
		return -ENOMEM;
	PRM_SET(cmd_in, in, opcode, PRM_CMD_CREATE_UMEM);
	PRM_SET(cmd_in, in, uid, ctx->uid);
	u = PRM_PTR(create_umem_in, in, umem);
	PRM_SET(umem, u, log_page_size, pages.shift - 12u);
	PRM_SET(umem, u, page_offset, (uint32_t)pages.offset);
	PRM_SET64(umem, u, num_of_mtt, pages.count);
	mtt = PRM_PTR(create_umem_in, in, mtt);
	uv_pages_fill(&pages, mtt);
	/* Present bits of an MTT entry: read, and write if asked (PRM, MTT). */
	for (uint64_t i = 0; i < pages.count; i++)
		mtt[8 * i + 7] |= access & IB_UVERBS_ACCESS_LOCAL_WRITE ? 3 : 1;
	ret = uv_command(ctx->uid, "CREATE_UMEM", in, in_len, out, sizeof(out));
	free(in);
	umem->obj.num = PRM_GET(obj_out, out, number);
	umem->addr = addr;
	umem->reach = (pages.count << pages.shift) - pages.offset;
	return ret;
}

static int check_umem(uint64_t addr, uint64_t len, uint64_t access)
{
	const uint64_t writes = IB_UVERBS_ACCESS_LOCAL_WRITE | IB_UVERBS_ACCESS_REMOTE_WRITE;
	const uint64_t known = writes | IB_UVERBS_ACCESS_REMOTE_READ;

	if (access & ~known)
		return uv_refuse(EINVAL,
				 "DEVX_UMEM_REG: access 0x%" PRIx64 ", unknown bits 0x%" PRIx64,
				 access, access & ~known);
	if (!len || len >> UMEM_LEN_MAX_LOG)
		return uv_refuse(EINVAL, "DEVX_UMEM_REG: length 0x%" PRIx64, len);
	return uv_range_check(addr, len, (access & writes) != 0);
}

int uv_devx_umem_reg(struct uv_req *req)
{
	const uint64_t addr = uv_in_u64(req, MLX5_IB_ATTR_DEVX_UMEM_REG_ADDR, 0);
	const uint64_t len = uv_in_u64(req, MLX5_IB_ATTR_DEVX_UMEM_REG_LEN, 0);
	const uint64_t access = uv_in_u64(req, MLX5_IB_ATTR_DEVX_UMEM_REG_ACCESS, 0);
	struct uv_devx_umem *umem;
	int ret = check_umem(addr, len, access);

	if (ret)
		return ret;
	umem = uv_obj_new(req->ctx, UV_DEVX_UMEM, sizeof(*umem), NULL, 0);
	if (!umem)
		return -ENOMEM;
	ret = create_umem(req->ctx, umem, addr, len, access);
	if (ret) {
		uv_obj_free(req->ctx, &umem->obj);
		return ret;
	}
	ret = uv_out(req, MLX5_IB_ATTR_DEVX_UMEM_REG_OUT_ID, &umem->obj.num, sizeof(umem->obj.num));
	if (!ret)
		ret = uv_set_handle(req, MLX5_IB_ATTR_DEVX_UMEM_REG_HANDLE, umem->obj.handle);
	if (ret)
		uv_obj_destroy(req->ctx, &umem->obj);
	return ret;
}

int uv_devx_umem_release(struct uv_ctx *ctx, struct uv_obj *obj)
{
	return uv_command_simple(ctx->uid, "DESTROY_UMEM", PRM_CMD_DESTROY_UMEM, obj->num, NULL);
}

/* ---- EQs, UARs, events ---- */

int uv_devx_query_eqn(struct uv_req *req)
{
	uint32_t vector = (uint32_t)uv_in_u64(req, MLX5_IB_ATTR_DEVX_QUERY_EQN_USER_VEC, 0);
	uint32_t eqn;

	if (vector >= UV_COMP_VECTORS)
		return uv_refuse(EINVAL, "DEVX_QUERY_EQN: vector %u, the device has %u", vector,
				 UV_COMP_VECTORS);
	eqn = uv_eqn(vector);
	return uv_out(req, MLX5_IB_ATTR_DEVX_QUERY_EQN_DEV_EQN, &eqn, sizeof(eqn));
}

/* Pages are allocated one by one and their index is the device's, so there is nothing to translate.
 */
int uv_devx_query_uar(struct uv_req *req)
{
	uint32_t index = (uint32_t)uv_in_u64(req, MLX5_IB_ATTR_DEVX_QUERY_UAR_USER_IDX, 0);

	return uv_out(req, MLX5_IB_ATTR_DEVX_QUERY_UAR_DEV_IDX, &index, sizeof(index));
}

int uv_devx_event_channel(struct uv_req *req)
{
	uint64_t flags = uv_in_u64(req, MLX5_IB_ATTR_DEVX_ASYNC_EVENT_FD_ALLOC_FLAGS, 0);
	int fd, ret;

	if (flags & ~(uint64_t)MLX5_IB_UAPI_DEVX_CR_EV_CH_FLAGS_OMIT_DATA)
		return uv_refuse(EINVAL, "DEVX_ASYNC_EVENT_FD_ALLOC: flags 0x%" PRIx64, flags);
	if (!uv_events_open(req->ctx, UV_EVENTS_DEVX, (uint32_t)flags, &fd))
		return errno ? -errno : -ENOMEM;
	ret = uv_set_fd(req, MLX5_IB_ATTR_DEVX_ASYNC_EVENT_FD_ALLOC_HANDLE, fd);
	if (ret)
		close(fd);
	return ret;
}

int uv_devx_subscribe(struct uv_req *req)
{
	int fd = uv_fd(req, MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_FD_HANDLE);
	struct uv_event_file *file = uv_events_find(req->ctx, UV_EVENTS_DEVX, fd);
	const struct uv_obj *obj = uv_obj(req, MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_OBJ_HANDLE);
	const uint16_t list_attr = MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_TYPE_NUM_LIST;
	uint64_t cookie = uv_in_u64(req, MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_COOKIE, 0);
	int signal_fd = -1, ret = 0;
	uint16_t types[64];
	size_t n = uv_len(req, list_attr) / sizeof(types[0]);

	if (!file)
		return uv_refuse(
			EBADF,
			"DEVX_SUBSCRIBE_EVENT: fd %d is not an event channel of this context", fd);
	if (uv_has(req, MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_FD_NUM))
		signal_fd = (int)uv_in_u64(req, MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_FD_NUM, 0);
	ret = uv_in(req, list_attr, types, n * sizeof(types[0]));
	for (size_t i = 0; !ret && i < n; i++)
		ret = uv_events_subscribe(file, types[i], obj, cookie, signal_fd);
	return ret;
}
