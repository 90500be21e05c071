/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The scenarios of engine_failures.c with rdma-core as it is, for `gdakit run`: each call that the
 * library makes of it fails once. A call that carries a firmware command fails twice: refused on
 * the way, and by the NIC itself, to which it then goes with a header alone, with no room for the
 * answer, or about what is not there. What rdma-core and the NIC hold is counted at this
 * boundary, and the NIC checks the order of destruction, as it refuses to give up what is in use.
 */
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine_scenarios.h"
#include "prm/prm.h"
#include "rdma.h"

enum { SKIPPED = 77, MAX_CALLS = 500 };

#define CHECK(condition, ...)                                                                      \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "%s:%d: %s: ", __FILE__, __LINE__, #condition);            \
			fprintf(stderr, __VA_ARGS__);                                              \
			fputc('\n', stderr);                                                       \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

/* ---- rdma-core, with a call that fails ---- */

struct living {
	int objects, umems, uars, ahs;
};

static struct {
	struct rdma_ops real;
	unsigned int calls, fail_at; /* from 1 */
	bool by_nic;		     /* commands are refused by the NIC */
	const char *failed;
	struct living living;
} below;

static bool fails(const char *call)
{
	if (++below.calls != below.fail_at)
		return false;
	below.failed = call;
	errno = EINVAL;
	return true;
}

static int query_device(struct ibv_context *context, struct ibv_device_attr *attr)
{
	return fails("query_device") ? EINVAL : below.real.query_device(context, attr);
}

static struct ibv_ah *create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
	struct ibv_ah *ah = fails("create_ah") ? NULL : below.real.create_ah(pd, attr);

	below.living.ahs += ah != NULL;
	return ah;
}

static int destroy_ah(struct ibv_ah *ah)
{
	int rc = below.real.destroy_ah(ah);

	CHECK(rc == 0, "destroy_ah: %d", rc);
	below.living.ahs--;
	return 0;
}

static int init_obj(struct mlx5dv_obj *obj, uint64_t type)
{
	return fails("init_obj") ? EINVAL : below.real.init_obj(obj, type);
}

/* A command that the NIC refuses; it must have said so in out. */
static void check_refused(bool is_refused, const void *out)
{
	CHECK(is_refused && PRM_GET(cmd_out, out, status) != 0, "%s: the NIC took it",
	      below.failed);
}

static struct mlx5dv_devx_obj *obj_create(struct ibv_context *context, const void *in, size_t size,
					  void *out, size_t out_size)
{
	struct mlx5dv_devx_obj *obj = NULL;

	if (!fails("obj_create")) {
		obj = below.real.obj_create(context, in, size, out, out_size);
	} else if (below.by_nic) {
		obj = below.real.obj_create(context, in, PRM_SIZE(cmd_in), out, out_size);
		check_refused(!obj, out);
	}
	below.living.objects += obj != NULL;
	return obj;
}

static int obj_destroy(struct mlx5dv_devx_obj *obj)
{
	int rc;

	if (fails("obj_destroy"))
		return EINVAL;
	rc = below.real.obj_destroy(obj);
	CHECK(rc == 0, "obj_destroy: %d, errno %d: an object that is in use?", rc, errno);
	below.living.objects--;
	return 0;
}

static int obj_modify(struct mlx5dv_devx_obj *obj, const void *in, size_t size, void *out,
		      size_t out_size)
{
	uint8_t other[PRM_modify_qp_in_SIZE] = {0};
	int rc;

	if (!fails("obj_modify"))
		return below.real.obj_modify(obj, in, size, out, out_size);
	if (!below.by_nic)
		return EINVAL;
	CHECK(size <= sizeof(other), "%zu bytes", size);
	memcpy(other, in, size);
	PRM_SET(cmd_in, other, opcode, PRM_CMD_SQERR2RTS_QP); /* from a state that no QP is in */
	rc = below.real.obj_modify(obj, other, sizeof(other), out, out_size);
	check_refused(rc != 0, out);
	return rc;
}

static int obj_query(struct mlx5dv_devx_obj *obj, const void *in, size_t size, void *out,
		     size_t out_size)
{
	int rc;

	if (!fails("obj_query"))
		return below.real.obj_query(obj, in, size, out, out_size);
	if (!below.by_nic)
		return EINVAL;
	rc = below.real.obj_query(obj, in, size, out, PRM_SIZE(cmd_out));
	check_refused(rc != 0, out);
	return rc;
}

static int general_cmd(struct ibv_context *context, const void *in, size_t size, void *out,
		       size_t out_size)
{
	uint8_t other[PRM_cmd_in_SIZE] = {0};
	int rc;

	if (!fails("general_cmd"))
		return below.real.general_cmd(context, in, size, out, out_size);
	if (!below.by_nic)
		return EINVAL;
	CHECK(size <= sizeof(other), "%zu bytes", size);
	memcpy(other, in, size);
	if (PRM_GET(cmd_in, in, opcode) == PRM_CMD_QUERY_HCA_CAP)
		PRM_SET(cmd_in, other, op_mod, 0xfffe); /* no such capabilities */
	else
		PRM_SET(roce_address_in, other, roce_address_index, 0xffff); /* no such entry */
	rc = below.real.general_cmd(context, other, size, out, out_size);
	check_refused(rc != 0, out);
	return rc;
}

static int query_eqn(struct ibv_context *context, uint32_t vector, uint32_t *eqn)
{
	return fails("query_eqn") ? EINVAL : below.real.query_eqn(context, vector, eqn);
}

static struct mlx5dv_devx_umem *umem_reg_ex(struct ibv_context *context,
					    struct mlx5dv_devx_umem_in *in)
{
	struct mlx5dv_devx_umem *umem =
		fails("umem_reg_ex") ? NULL : below.real.umem_reg_ex(context, in);

	below.living.umems += umem != NULL;
	return umem;
}

static int umem_dereg(struct mlx5dv_devx_umem *umem)
{
	int rc;

	if (fails("umem_dereg"))
		return EINVAL;
	rc = below.real.umem_dereg(umem);
	CHECK(rc == 0, "umem_dereg: %d, errno %d: a umem that is in use?", rc, errno);
	below.living.umems--;
	return 0;
}

static struct mlx5dv_devx_uar *alloc_uar(struct ibv_context *context, uint32_t flags)
{
	struct mlx5dv_devx_uar *uar =
		fails("alloc_uar") ? NULL : below.real.alloc_uar(context, flags);

	below.living.uars += uar != NULL;
	return uar;
}

static void free_uar(struct mlx5dv_devx_uar *uar)
{
	below.real.free_uar(uar);
	below.living.uars--;
}

static const struct rdma_ops ops = {
	.query_device = query_device,
	.create_ah = create_ah,
	.destroy_ah = destroy_ah,
	.init_obj = init_obj,
	.obj_create = obj_create,
	.obj_destroy = obj_destroy,
	.obj_modify = obj_modify,
	.obj_query = obj_query,
	.general_cmd = general_cmd,
	.query_eqn = query_eqn,
	.umem_reg_ex = umem_reg_ex,
	.umem_dereg = umem_dereg,
	.alloc_uar = alloc_uar,
	.free_uar = free_uar,
};

/* ---- One run ---- */

static struct {
	struct scenario_device device;
	struct living at_start; /* of the library's call */
	bool is_done;
	unsigned int points;
} run;

void scenario_before(const char *call)
{
	(void)call;
	run.at_start = below.living;
}

void scenario_expect(bool holds, const char *what)
{
	CHECK(holds, "%s (%s failed)", what, below.failed);
}

static bool gives_back(const char *call)
{
	return strstr(call, "_destroy") || strstr(call, "_unexport") || strstr(call, "_free");
}

bool scenario_after(const char *call, doca_error_t status)
{
	if (!below.failed || run.is_done) {
		CHECK(status == DOCA_SUCCESS, "%s: error %d and nothing failed", call, (int)status);
		return false;
	}
	run.is_done = true;
	run.points++;
	if (status == DOCA_SUCCESS) {
		/* Another kind of doorbell page will do. */
		CHECK(strcmp(below.failed, "alloc_uar") == 0, "%s: success, but %s failed", call,
		      below.failed);
		return false;
	}
	CHECK(status == DOCA_ERROR_DRIVER, "%s: error %d for a failed %s", call, (int)status,
	      below.failed);
	CHECK(gives_back(call) || memcmp(&run.at_start, &below.living, sizeof(run.at_start)) == 0,
	      "%s leaves something behind", call);
	return true;
}

static void once(void *ctx, const struct scenario *s, const struct scenario_variant *v)
{
	static const struct living nothing;
	unsigned int n;

	(void)ctx;
	if (v->collapsed || v->reg_type != DOCA_GPUNETIO_VERBS_MEM_REG_TYPE_DEFAULT)
		return; /* the calls are the same */
	for (n = 1; n < MAX_CALLS; n++) {
		below.calls = 0;
		below.fail_at = n;
		below.failed = NULL;
		run.is_done = false;
		s->run(&run.device, v);
		CHECK(memcmp(&below.living, &nothing, sizeof(nothing)) == 0,
		      "%s: %d objects, %d umems, %d UARs, %d AHs are left (%s failed)", s->name,
		      below.living.objects, below.living.umems, below.living.uars, below.living.ahs,
		      below.failed ? below.failed : "nothing");
		if (!below.failed)
			break;
	}
	CHECK(n < MAX_CALLS, "%s makes more calls than expected", s->name);
}

/*
 * What a queue still uses is not given up, by the NIC's own decision, and stays as it was:
 * rdma-core is asked directly here, since the counting functions take no refusal.
 */
static void try_what_is_in_use(void)
{
	static char memory[4096] __attribute__((aligned(4096)));
	struct doca_verbs_qp_init_attr *init;
	struct doca_verbs_cq_attr *attr;
	struct doca_verbs_umem *umem;
	struct doca_verbs_cq *cq;
	struct doca_verbs_qp *qp;

	CHECK(doca_verbs_umem_create(run.device.context, memory, sizeof(memory), 1, -1, 0, &umem) ==
		      DOCA_SUCCESS,
	      "umem");
	CHECK(doca_verbs_cq_attr_create(&attr) == DOCA_SUCCESS, "cq_attr");
	doca_verbs_cq_attr_set_cq_size(attr, SCENARIO_DEPTH);
	doca_verbs_cq_attr_set_external_umem(attr, umem, 0);
	doca_verbs_cq_attr_set_external_dbr_umem(attr, umem, 2048);
	CHECK(doca_verbs_cq_create(run.device.context, attr, &cq) == DOCA_SUCCESS, "cq");
	CHECK(doca_verbs_qp_init_attr_create(&init) == DOCA_SUCCESS, "init");
	doca_verbs_qp_init_attr_set_pd(init, run.device.pd);
	doca_verbs_qp_init_attr_set_send_cq(init, cq);
	doca_verbs_qp_init_attr_set_sq_wr(init, SCENARIO_DEPTH);
	doca_verbs_qp_init_attr_set_send_max_sges(init, 1);
	CHECK(doca_verbs_qp_create(run.device.context, init, &qp) == DOCA_SUCCESS, "qp");

	CHECK(doca_verbs_cq_destroy(cq) == DOCA_ERROR_DRIVER, "a CQ with a QP");
	CHECK(doca_verbs_umem_destroy(umem) == DOCA_ERROR_DRIVER, "a umem with a CQ");
	CHECK(doca_verbs_qp_destroy(qp) == DOCA_SUCCESS, "qp");
	CHECK(doca_verbs_umem_destroy(umem) == DOCA_ERROR_DRIVER, "a umem with a CQ");
	CHECK(doca_verbs_cq_destroy(cq) == DOCA_SUCCESS, "cq");
	CHECK(doca_verbs_umem_destroy(umem) == DOCA_SUCCESS, "umem");
	doca_verbs_qp_init_attr_destroy(init);
	doca_verbs_cq_attr_destroy(attr);
}

static void open_device(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct doca_verbs_device_attr *attr;
	struct ibv_port_attr port;
	union ibv_gid gid;

	if (!list || !list[0]) {
		printf("no RDMA device\n");
		exit(SKIPPED);
	}
	run.device.context = ibv_open_device(list[0]);
	ibv_free_device_list(list);
	CHECK(run.device.context, "ibv_open_device");
	run.device.pd = ibv_alloc_pd(run.device.context);
	CHECK(run.device.pd, "ibv_alloc_pd");
	CHECK(ibv_query_port(run.device.context, 1, &port) == 0, "ibv_query_port");
	CHECK(ibv_query_gid(run.device.context, 1, 0, &gid) == 0, "ibv_query_gid");
	memcpy(run.device.gid.raw, gid.raw, sizeof(gid.raw));
	run.device.dlid = port.lid;
	run.device.addr_type = port.link_layer == IBV_LINK_LAYER_ETHERNET
				       ? DOCA_VERBS_ADDR_TYPE_IPv4
				       : DOCA_VERBS_ADDR_TYPE_IB_NO_GRH;
	run.device.gpu_name = "cpu";
	run.device.maps_gpu_memory = true;
	CHECK(doca_verbs_query_device(run.device.context, &attr) == DOCA_SUCCESS, "query");
	run.device.has_no_dbr = doca_verbs_device_attr_get_send_dbr_mode_no_dbr_ext(attr);
	doca_verbs_device_attr_free(attr);
}

int main(void)
{
	open_device();
	below.real = *rdma_get();
	CHECK(below.real.umem_reg_ex, "an rdma-core without umem_reg_ex");
	try_what_is_in_use();
	rdma_inject(&ops);
	for (int by_nic = 0; by_nic < 2; by_nic++) {
		below.by_nic = by_nic;
		for (size_t i = 0; i < scenario_count; i++)
			scenario_each_variant(&scenarios[i], &run.device, once, NULL);
	}
	CHECK(ibv_dealloc_pd(run.device.pd) == 0, "the NIC still has objects of the PD");
	CHECK(ibv_close_device(run.device.context) == 0, "ibv_close_device");
	CHECK(run.points >= 600, "%u points", run.points);
	printf("engine: %u failures below the library, each reported and survived\n", run.points);
	return 0;
}
