// SPDX-License-Identifier: BSD-3-Clause
/*
 * The NICs of this process: each is brought up at the first GET_CONTEXT on its node, as a driver
 * would at probe time, and left alone by the child of a fork. Everything that is the driver's own
 * (uid 0) is here.
 *
 * They share one world: one thread looks at the doorbells of all of them, so eight idle NICs cost
 * about what one does, and packets between them go by reference. What it costs is that their work
 * shares one core, and that a command on one may wait for a slice of another.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "emu/space/space.h"
#include "emu/uverbs/face.h"

enum { EQ_LOG_SIZE = 8, EQ_BYTES = PRM_EQE_SIZE << EQ_LOG_SIZE };

struct uv_nic {
	struct world_nic *nic; /* NULL: not in the world */
	bool ready;
	uint8_t *uar_base; /* UV_UAR_PAGES pages, each replaced by a context's page when it is given
			      out */
	uint8_t *memic_base; /* UV_MEMIC_PAGES pages, likewise */
	uint64_t memic_used; /* one bit a page; changed atomically */
	struct uv_identity id;
	uint32_t uar;
	uint32_t null_mkey;
	uint32_t eqn[UV_COMP_VECTORS + 1]; /* the last one takes asynchronous events */
	uint8_t cap[UV_CAPS][PRM_cmd_hca_cap_SIZE];
	bool cap_known[UV_CAPS];
};

static struct world *world;
static struct uv_nic nics[UV_MAX_NICS];
static bool ethernet;
static const struct uv_model *model = uv_models;

/* Which NIC this thread speaks for: that of the context whose lock it holds. */
static _Thread_local struct uv_nic *current;

static struct uv_nic *here(void)
{
	return current ? current : &nics[0];
}

void uv_nic_enter(unsigned int index)
{
	assert(index < UV_MAX_NICS);
	current = &nics[index];
}

void uv_nic_leave(void)
{
	current = NULL;
}

unsigned int uv_nic_index(void)
{
	return (unsigned int)(here() - nics);
}

static const enum prm_cap_type cap_types[UV_CAPS] = {
	[UV_CAP_GENERAL] = PRM_CAP_GENERAL,
	[UV_CAP_ATOMIC] = PRM_CAP_ATOMIC,
	[UV_CAP_ROCE] = PRM_CAP_ROCE,
	[UV_CAP_GENERAL_2] = PRM_CAP_GENERAL_2,
	[UV_CAP_DEVICE_MEM] = PRM_CAP_DEVICE_MEMORY,
};

/* ---- saying why ---- */

bool uv_verbose(void)
{
	const char *v = getenv(UV_ENV_VERBOSE);

	return v && *v && strcmp(v, "0") != 0;
}

/* One write() a line, so that lines of several processes do not mix. */
static void say(const char *fmt, va_list ap)
{
	char line[1024] = "gdakit: ";
	size_t n = strlen(line);
	int len;

	len = vsnprintf(line + n, sizeof(line) - n - 1, fmt, ap);
	if (len < 0)
		return;
	n += (size_t)len < sizeof(line) - n - 1 ? (size_t)len : sizeof(line) - n - 2;
	line[n++] = '\n';
	(void)!write(STDERR_FILENO, line, n);
}

void uv_say(const char *fmt, ...)
{
	int saved = errno;
	va_list ap;

	if (!uv_verbose())
		return;
	va_start(ap, fmt);
	say(fmt, ap);
	va_end(ap);
	errno = saved;
}

void uv_say_always(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(fmt, ap);
	va_end(ap);
}

void uv_warn(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(fmt, ap);
	va_end(ap);
}

int uv_refuse(int err, const char *fmt, ...)
{
	va_list ap;

	if (uv_verbose()) {
		va_start(ap, fmt);
		say(fmt, ap);
		va_end(ap);
	}
	return -err;
}

/* What keeps the device from opening at all is said in any run: the program cannot know it. */
static int fail(int err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static int fail(int err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(fmt, ap);
	va_end(ap);
	return -err;
}

/* ---- commands ---- */

uint8_t uv_command_raw(uint16_t uid, const void *in, size_t in_len, void *out, size_t out_len,
		       char *why)
{
	const struct nm_cmd_ctx ctx = {.uid = uid, .space = space_host()};

	return world_command(here()->nic, &ctx, in, in_len, out, out_len, why);
}

/* Status byte -> errno, as drivers translate it (PRM, command interface, table of statuses). */
static int errno_of_status(uint8_t status)
{
	static const struct {
		uint8_t status;
		int err;
	} table[] = {
		{PRM_STATUS_INT_ERR, EIO},	    {PRM_STATUS_BAD_OP, EINVAL},
		{PRM_STATUS_BAD_PARAM, EINVAL},	    {PRM_STATUS_BAD_SYS_STATE, EIO},
		{PRM_STATUS_BAD_RES, EINVAL},	    {PRM_STATUS_RES_BUSY, EBUSY},
		{PRM_STATUS_LIM_ERR, ENOMEM},	    {PRM_STATUS_BAD_RES_STATE, EINVAL},
		{PRM_STATUS_IX_ERR, EINVAL},	    {PRM_STATUS_NO_RES_ERR, EAGAIN},
		{PRM_STATUS_BAD_QP_STATE, EINVAL},  {PRM_STATUS_BAD_PKT, EINVAL},
		{PRM_STATUS_BAD_SIZE_OUTS, EINVAL},
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (table[i].status == status)
			return table[i].err;
	return EIO;
}

/* Why a command was refused the world's observer has said; here, what becomes of it. */
int uv_command(uint16_t uid, const char *what, const void *in, size_t in_len, void *out,
	       size_t out_len)
{
	uint8_t status = uv_command_raw(uid, in, in_len, out, out_len, NULL);

	if (status == PRM_STATUS_OK)
		return 0;
	return uv_refuse(errno_of_status(status), "%s: status 0x%x is errno %d to the program",
			 what, status, errno_of_status(status));
}

int uv_command_simple(uint16_t uid, const char *what, uint16_t opcode, uint32_t number,
		      uint32_t *result)
{
	uint8_t in[PRM_obj_in_SIZE] = {0}, out[PRM_obj_out_SIZE] = {0};
	int ret;

	PRM_SET(cmd_in, in, opcode, opcode);
	PRM_SET(cmd_in, in, uid, uid);
	PRM_SET(obj_in, in, number, number);
	ret = uv_command(uid, what, in, sizeof(in), out, sizeof(out));
	if (!ret && result)
		*result = PRM_GET(obj_out, out, number);
	return ret;
}

/* ---- bringing the NIC up ---- */

static int query_cap(enum uv_cap which)
{
	uint8_t in[PRM_cmd_in_SIZE] = {0};
	uint8_t *out = calloc(1, PRM_query_hca_cap_out_SIZE);
	struct uv_nic *n = here();
	uint8_t status;

	if (!out)
		return -ENOMEM;
	PRM_SET(cmd_in, in, opcode, PRM_CMD_QUERY_HCA_CAP);
	PRM_SET(cmd_in, in, op_mod, (uint32_t)cap_types[which] << 1 | 1);
	status = uv_command_raw(0, in, sizeof(in), out, PRM_query_hca_cap_out_SIZE, NULL);
	if (status == PRM_STATUS_OK) {
		memcpy(n->cap[which], PRM_PTR(query_hca_cap_out, out, capability),
		       sizeof(n->cap[which]));
		n->cap_known[which] = true;
	}
	free(out);
	return 0;
}

/*
 * The driver reads EQEs from the callback, so the rings are there only for the NIC to write, and
 * overrun is ignored. They live as long as the process.
 */
static int create_eq(uint32_t intr, uint64_t mask, uint32_t *eqn)
{
	uint8_t in[PRM_create_eq_in_SIZE + 8 * (EQ_BYTES >> 12)] = {0},
							    out[PRM_create_eq_out_SIZE] = {0};
	uint8_t *eqc = PRM_PTR(create_eq_in, in, eq_context);
	struct uv_pages pages;
	uint8_t *ring;
	int ret;

	ring = mmap(NULL, EQ_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (ring == MAP_FAILED)
		return -errno;
	for (size_t i = 0; i < EQ_BYTES; i += PRM_EQE_SIZE)
		ring[i + PRM_EQE_SIZE - 1] = 1; /* owner: software, before the first lap */
	pages = uv_pages_of((uintptr_t)ring, EQ_BYTES, (uintptr_t)ring, UV_RING_OFFSET);
	PRM_SET(cmd_in, in, opcode, PRM_CMD_CREATE_EQ);
	PRM_SET(eqc, eqc, oi, 1);
	PRM_SET(eqc, eqc, st, PRM_CQ_ST_ALWAYS_ARMED);
	PRM_SET(eqc, eqc, log_eq_size, EQ_LOG_SIZE);
	PRM_SET(eqc, eqc, uar_page, here()->uar);
	PRM_SET(eqc, eqc, intr, intr);
	PRM_SET(eqc, eqc, log_page_size, pages.shift - 12u);
	PRM_SET(eqc, eqc, page_offset, (uint32_t)(pages.offset >> (pages.shift - 6)));
	PRM_SET64(create_eq_in, in, event_bitmask, mask);
	uv_pages_fill(&pages, PRM_PTR(create_eq_in, in, pas));
	ret = uv_command(0, "CREATE_EQ", in, PRM_create_eq_in_SIZE + 8 * pages.count, out,
			 sizeof(out));
	if (ret) {
		munmap(ring, EQ_BYTES);
		return ret;
	}
	*eqn = PRM_GET(create_eq_out, out, eqn);
	return 0;
}

static int create_eqs(void)
{
	const uint64_t async =
		UINT64_C(1) << PRM_EVENT_COMM_EST | UINT64_C(1) << PRM_EVENT_SQ_DRAINED |
		UINT64_C(1) << PRM_EVENT_CQ_ERROR | UINT64_C(1) << PRM_EVENT_WQ_CATAS_ERROR |
		UINT64_C(1) << PRM_EVENT_PORT_CHANGE | UINT64_C(1) << PRM_EVENT_WQ_INVAL_REQ_ERROR |
		UINT64_C(1) << PRM_EVENT_WQ_ACCESS_ERROR |
		UINT64_C(1) << PRM_EVENT_SRQ_CATAS_ERROR | UINT64_C(1) << PRM_EVENT_SRQ_LAST_WQE |
		UINT64_C(1) << PRM_EVENT_SRQ_RQ_LIMIT;
	int ret = 0;

	for (uint32_t i = 0; !ret && i <= UV_COMP_VECTORS; i++)
		ret = create_eq(i, i == UV_COMP_VECTORS ? async : 0, &here()->eqn[i]);
	return ret;
}

static int query_special_keys(struct uv_nic *n)
{
	uint8_t in[PRM_cmd_in_SIZE] = {0}, out[PRM_query_special_contexts_out_SIZE] = {0};
	int ret;

	PRM_SET(cmd_in, in, opcode, PRM_CMD_QUERY_SPECIAL_CONTEXTS);
	ret = uv_command(0, "QUERY_SPECIAL_CONTEXTS", in, sizeof(in), out, sizeof(out));
	n->null_mkey = PRM_GET(query_special_contexts_out, out, dump_fill_mkey);
	return ret;
}

/* The GID cache of a kernel tells the NIC each address of the port. */
static int set_roce_address(const uint8_t gid[16])
{
	uint8_t in[PRM_roce_address_in_SIZE] = {0}, out[PRM_cmd_out_SIZE] = {0};
	uint8_t *addr = PRM_PTR(roce_address_in, in, roce_address);
	const uint8_t *mac = here()->id.mac;

	PRM_SET(cmd_in, in, opcode, PRM_CMD_SET_ROCE_ADDRESS);
	PRM_SET(roce_address_in, in, roce_address_index, 0);
	memcpy(PRM_PTR(roce_addr, addr, source_l3_address), gid, 16);
	PRM_SET(roce_addr, addr, source_mac_47_32, (uint32_t)(mac[0] << 8 | mac[1]));
	PRM_SET(roce_addr, addr, source_mac_31_0, prm_load32(mac + 2));
	PRM_SET(roce_addr, addr, roce_l3_type, 0); /* IPv4 */
	PRM_SET(roce_addr, addr, roce_version, 2);
	return uv_command(0, "SET_ROCE_ADDRESS", in, sizeof(in), out, sizeof(out));
}

/* False: the text is no number of NICs. None is one. */
static bool parse_nics(const char *text, unsigned int *count)
{
	char *end;
	unsigned long n = text ? strtoul(text, &end, 10) : 1;

	*count = 1;
	if (text && (*text < '0' || *text > '9' || *end || n < 1 || n > UV_MAX_NICS))
		return false;
	*count = (unsigned int)n;
	return true;
}

unsigned int uv_nics(void)
{
	unsigned int count;

	(void)parse_nics(getenv(UV_ENV_NICS), &count);
	return count;
}

/* Shared memory where it reaches if nothing is said. */
static bool parse_wire(const char *name, enum world_wire *wire)
{
	static const struct {
		const char *name;
		enum world_wire wire;
	} wires[] = {
		{"auto", WORLD_WIRE_AUTO},
		{"local", WORLD_WIRE_LOCAL},
		{"udp", WORLD_WIRE_UDP},
		{"shm", WORLD_WIRE_SHM},
	};

	*wire = WORLD_WIRE_AUTO;
	for (size_t i = 0; name && i < sizeof(wires) / sizeof(wires[0]); i++) {
		*wire = wires[i].wire;
		if (!strcmp(name, wires[i].name))
			return true;
	}
	return !name;
}

static bool parse_link_layer(const char *name, bool *is_ethernet)
{
	*is_ethernet = !name || !strcmp(name, "ethernet");
	return *is_ethernet || !strcmp(name, "infiniband");
}

/* The launcher's words; a program may have changed them. */
static int read_environment(struct world_config *wc)
{
	const char *layer = getenv(UV_ENV_LINK_LAYER), *wire = getenv(UV_ENV_WIRE),
		   *nics_text = getenv(UV_ENV_NICS), *nic = getenv(UV_ENV_NIC);
	unsigned int count;

	if (!parse_nics(nics_text, &count))
		return fail(EINVAL, UV_ENV_NICS " is '%s', expected 1 to %d", nics_text,
			    UV_MAX_NICS);
	if (!parse_wire(wire, &wc->wire))
		return fail(EINVAL, UV_ENV_WIRE " is '%s', expected auto, shm, udp or local", wire);
	model = uv_model_named(nic);
	if (!model) {
		model = uv_models;
		return fail(EINVAL, UV_ENV_NIC " is '%s', expected connectx-7 or connectx-8", nic);
	}
	if (!parse_link_layer(layer, &ethernet))
		return fail(EINVAL, UV_ENV_LINK_LAYER " is '%s', expected ethernet or infiniband",
			    layer);
	return 0;
}

static int start_world(const char *host)
{
	const char *why = "";
	struct world_config wc = {
		.fabric = getenv(UV_ENV_FABRIC),
		.verbose = uv_verbose(),
		.host = host,
		.trap_doorbells = true, /* the program has its own mappings of the UAR pages */
	};
	struct uv_identity id;
	int ret = read_environment(&wc);

	if (ret)
		return ret;
	if (host ? !uv_identity_parse(&id, host) : wc.wire != WORLD_WIRE_LOCAL)
		return fail(ENODEV,
			    UV_ENV_HOST
			    " is '%s', expected 127.a.b: was the program started by `gdakit run`?",
			    host ? host : "");
	world = world_create(&wc, &why);
	if (!world)
		return fail(errno ? errno : EIO, "the NIC's world does not start: %s (%s)",
			    why ? why : "", strerror(errno ? errno : EIO));
	return 0;
}

/* Puts the NIC into the world. */
static int add_nic(struct uv_nic *n, unsigned int index)
{
	const char *host = getenv(UV_ENV_HOST), *why = "";
	char name[16], block[32];
	struct nm_config nc = {.name = name, .port_mtu = 5};
	int ret = world ? 0 : start_world(host);

	if (ret)
		return ret;
	nc.device_id = model->device_id;
	if (!host || !uv_identity_parse(&n->id, host))
		uv_identity_of_block(&n->id, UV_BLOCK_A_FIRST, 0);
	if (!uv_identity_of_nic(&n->id, index))
		return fail(ENODEV, "NIC %u of host %s has no address block", index, host);
	snprintf(name, sizeof(name), UV_DEV_NAME "%u", index);
	snprintf(block, sizeof(block), "127.%u.%u", n->id.a, n->id.b);
	nc.node_guid = n->id.node_guid;
	memcpy(nc.mac, n->id.mac, sizeof(nc.mac));
	nc.lid = n->id.lid;
	nc.link_is_ethernet = ethernet;
	nc.uar_base = n->uar_base;
	nc.uar_pages = UV_UAR_PAGES;
	nc.memic_base = n->memic_base;
	nc.memic_pages = UV_MEMIC_PAGES;
	nc.memic_ops = uv_memic_ops();
	n->nic = world_add_nic_at(world, block, &nc, uv_events_eqe, (void *)(uintptr_t)index, &why);
	if (!n->nic)
		return fail(errno ? errno : EIO, "no NIC in this process: %s (%s)", why ? why : "",
			    strerror(errno ? errno : EIO));
	world_nic_gid(n->nic, n->id.gid);
	uv_observe(world, n->nic);
	return 0;
}

/* As a driver probes it. */
static int probe(struct uv_nic *n)
{
	int ret = 0;

	for (enum uv_cap cap = 0; !ret && cap < UV_CAPS; cap++)
		ret = query_cap(cap);
	if (!ret && !n->cap_known[UV_CAP_GENERAL])
		ret = fail(EIO, "the NIC does not answer QUERY_HCA_CAP");
	if (!ret)
		ret = uv_command_simple(0, "ALLOC_UAR", PRM_CMD_ALLOC_UAR, 0, &n->uar);
	if (!ret)
		ret = query_special_keys(n);
	if (!ret)
		ret = create_eqs();
	if (!ret && ethernet)
		ret = set_roce_address(n->id.gid);
	return ret ? ret : uv_events_start();
}

/* A NIC that did not come up stays in the world as long as others need that; the next try probes it
 * again. */
static void end_world(void)
{
	for (unsigned int i = 0; i < UV_MAX_NICS; i++)
		if (nics[i].ready)
			return;
	for (unsigned int i = 0; i < UV_MAX_NICS; i++)
		nics[i].nic = NULL;
	uv_observe_end();
	if (world)
		world_destroy(world);
	world = NULL;
}

static void *device_pages(size_t n)
{
	void *p = mmap(NULL, n * PRM_UAR_PAGE_SIZE, PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

int uv_nic_start(void)
{
	unsigned int index = uv_nic_index();
	struct uv_nic *n = &nics[index];
	int ret = 0;

	if (n->ready)
		return 0;
	if (index >= uv_nics())
		return fail(ENODEV, UV_NODE_NAME "%u is opened, but this host has %u", index,
			    uv_nics());
	if (!n->uar_base)
		n->uar_base = device_pages(UV_UAR_PAGES);
	if (!n->memic_base)
		n->memic_base = device_pages(UV_MEMIC_PAGES);
	if (!n->uar_base || !n->memic_base)
		return -ENOMEM;
	if (!n->nic)
		ret = add_nic(n, index);
	if (!ret)
		ret = probe(n);
	n->ready = !ret;
	if (ret)
		end_world();
	return ret;
}

void uv_nic_abandon(void)
{
	struct world *w = world;

	/* The UAR pages may be shared with the parent's NIC: the child gets new ones. */
	memset(nics, 0, sizeof(nics));
	world = NULL;
	uv_observe_abandon();
	if (w)
		world_abandon(w);
}

bool uv_clock_add(uint64_t *page)
{
	return world_clock_add(world, page);
}

void uv_clock_remove(uint64_t *page)
{
	world_clock_remove(world, page);
}

/* ---- what the rest of the face asks ---- */

const void *uv_cap(enum uv_cap which)
{
	assert(which < UV_CAPS);
	return here()->cap[which]; /* all zero if the NIC does not have it */
}

uint32_t uv_eqn(uint32_t comp_vector)
{
	assert(comp_vector < UV_COMP_VECTORS);
	return here()->eqn[comp_vector];
}

uint32_t uv_null_mkey(void)
{
	return here()->null_mkey;
}

const struct uv_identity *uv_identity(void)
{
	return &here()->id;
}

const struct uv_model *uv_model(void)
{
	return model;
}

bool uv_link_is_ethernet(void)
{
	return ethernet;
}

uint32_t uv_kernel_uar(void)
{
	return here()->uar;
}

bool uv_is_nics_page(uint64_t addr)
{
	for (unsigned int i = 0; i < UV_MAX_NICS; i++) {
		uint64_t base = (uintptr_t)nics[i].uar_base;

		if (base && addr >= base &&
		    addr - base < (uint64_t)UV_UAR_PAGES * PRM_UAR_PAGE_SIZE)
			return true;
	}
	return false;
}

int uv_uar_bind(int fd, uint32_t uar_page, uint32_t slot)
{
	void *at = here()->uar_base + (size_t)uar_page * PRM_UAR_PAGE_SIZE;

	if (uar_page >= UV_UAR_PAGES)
		return fail(EIO, "UAR page %u of the NIC, expected below %u", uar_page,
			    UV_UAR_PAGES);
	if (mmap(at, PRM_UAR_PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd,
		 (off_t)slot * PRM_UAR_PAGE_SIZE) == MAP_FAILED)
		return -errno;
	memset(at, 0, PRM_UAR_PAGE_SIZE); /* a page of the file may have been used before */
	return 0;
}

/* ---- device memory ---- */

static uint64_t memic_bits(uint32_t page, uint32_t n)
{
	return (n < 64 ? (UINT64_C(1) << n) - 1 : UINT64_MAX) << page;
}

int uv_memic_take(uint32_t n)
{
	uint64_t *used = &here()->memic_used;
	uint64_t seen = __atomic_load_n(used, __ATOMIC_RELAXED);

	static_assert(UV_MEMIC_PAGES == 64, "one bit of a word for each");
	for (uint32_t page = 0; n && page + n <= UV_MEMIC_PAGES;) {
		if (seen & memic_bits(page, n))
			page++;
		else if (__atomic_compare_exchange_n(used, &seen, seen | memic_bits(page, n), false,
						     __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			return (int)page;
		else
			page = 0; /* others took or gave some */
	}
	return -ENOMEM;
}

int uv_memic_bind(int fd, uint32_t page, uint32_t n)
{
	void *at = here()->memic_base + (size_t)page * PRM_UAR_PAGE_SIZE;
	size_t len = (size_t)n * PRM_UAR_PAGE_SIZE;
	off_t off = ((off_t)MLX5_IB_MMAP_DEVICE_MEM << 8 | page) * PRM_UAR_PAGE_SIZE;

	if (mmap(at, len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, off) == MAP_FAILED)
		return -errno;
	memset(at, 0, len); /* of the same file, but perhaps another allocation's before */
	return 0;
}

uint8_t *uv_memic(void)
{
	return here()->memic_base;
}

void uv_memic_give(uint32_t page, uint32_t n)
{
	/* Without the file again; should that fail, its pages stay until the next bind. */
	(void)!mmap(here()->memic_base + (size_t)page * PRM_UAR_PAGE_SIZE,
		    (size_t)n * PRM_UAR_PAGE_SIZE, PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	__atomic_fetch_and(&here()->memic_used, ~memic_bits(page, n), __ATOMIC_ACQ_REL);
}
