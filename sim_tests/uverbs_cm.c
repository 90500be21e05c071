// SPDX-License-Identifier: BSD-3-Clause
/* The connection manager, driven by the commands that librdmacm writes: both ends in one process,
 * each on a channel of its own. */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#include "emu/uverbs/cm.h"

enum { PORT = 7471, WAIT_MS = 20000 };

/* Tests run side by side: each is a host of its own. */
static uint8_t host_a, host_b;
static char self_ip[16], other_ip[16];

static void setup(void)
{
	char host[16];

	host_a = (uint8_t)(UV_BLOCK_A_FIRST + getpid() % 60);
	host_b = (uint8_t)(getpid() / 60);
	snprintf(host, sizeof(host), "127.%u.%u", host_a, host_b);
	snprintf(self_ip, sizeof(self_ip), "127.%u.%u.1", host_a, host_b);
	snprintf(other_ip, sizeof(other_ip), "127.%u.%u.1", host_a, host_b ^ 0x80);
	setenv(UV_ENV_HOST, host, 1);
}

TestSuite(uverbs_cm, .init = setup);

/* ---- as librdmacm does ---- */

static int channel(void)
{
	int fd = open(UV_NODE_PATH, O_RDWR | O_CLOEXEC);

	cr_assert_geq(fd, 0);
	cm_opened(fd);
	return fd;
}

struct frame {
	struct rdma_ucm_cmd_hdr hdr;
	uint8_t body[400];
};

/* `in` begins with the response's address where the command has one; the caller put it there. */
static int command(int fd, uint32_t cmd, const void *in, size_t in_len, size_t out_len)
{
	_Alignas(8) struct frame f = {.hdr = {cmd, (uint16_t)in_len, (uint16_t)out_len}};
	ssize_t n;

	memcpy(f.body, in, in_len);
	n = cm_write(fd, &f, sizeof(f.hdr) + in_len);
	if (n < 0)
		return (int)n;
	cr_assert_eq(n, (ssize_t)(sizeof(f.hdr) + in_len));
	return 0;
}

static uint32_t create(int fd, uint16_t ps, uint64_t uid)
{
	struct rdma_ucm_create_id_resp resp = {0};
	struct rdma_ucm_create_id in = {.uid = uid, .response = (uintptr_t)&resp, .ps = ps};

	cr_assert_eq(command(fd, RDMA_USER_CM_CMD_CREATE_ID, &in, sizeof(in), sizeof(resp)), 0);
	return resp.id;
}

static int destroy(int fd, uint32_t id, uint32_t *reported)
{
	struct rdma_ucm_destroy_id_resp resp = {0};
	struct rdma_ucm_destroy_id in = {.response = (uintptr_t)&resp, .id = id};
	int ret = command(fd, RDMA_USER_CM_CMD_DESTROY_ID, &in, sizeof(in), sizeof(resp));

	if (reported)
		*reported = resp.events_reported;
	return ret;
}

static struct sockaddr_in6 address(const char *ip, uint16_t port)
{
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(port)};
	struct sockaddr_in6 sa = {0};

	cr_assert_eq(inet_pton(AF_INET, ip, &in.sin_addr), 1);
	memcpy(&sa, &in, sizeof(in));
	return sa;
}

static int bind_ip(int fd, uint32_t id, const char *ip, uint16_t port)
{
	struct rdma_ucm_bind_ip in = {.id = id, .addr = address(ip, port)};

	return command(fd, RDMA_USER_CM_CMD_BIND_IP, &in, sizeof(in), 0);
}

static int listen_on(int fd, uint32_t id)
{
	struct rdma_ucm_listen in = {.id = id, .backlog = 8};

	return command(fd, RDMA_USER_CM_CMD_LISTEN, &in, sizeof(in), 0);
}

static int get_event(int fd, struct rdma_ucm_event_resp *ev)
{
	struct rdma_ucm_get_event in = {.response = (uintptr_t)ev};

	return command(fd, RDMA_USER_CM_CMD_GET_EVENT, &in, sizeof(in), sizeof(*ev));
}

static struct rdma_ucm_event_resp expect(int fd, uint32_t type)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	struct rdma_ucm_event_resp ev = {0};

	cr_assert_eq(poll(&p, 1, WAIT_MS), 1, "no event came, expected %u", type);
	cr_assert_eq(get_event(fd, &ev), 0);
	cr_assert_eq(ev.event, type, "event %u, expected %u", ev.event, type);
	return ev;
}

static bool quiet(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	return poll(&p, 1, 0) == 0;
}

static void resolve(int fd, uint32_t id, const char *ip, uint16_t port)
{
	struct rdma_ucm_resolve_ip addr = {
		.id = id, .dst_addr = address(ip, port), .timeout_ms = 100};
	struct rdma_ucm_resolve_route route = {.id = id, .timeout_ms = 100};

	cr_assert_eq(command(fd, RDMA_USER_CM_CMD_RESOLVE_IP, &addr, sizeof(addr), 0), 0);
	expect(fd, CM_ADDR_RESOLVED);
	cr_assert_eq(command(fd, RDMA_USER_CM_CMD_RESOLVE_ROUTE, &route, sizeof(route), 0), 0);
	expect(fd, CM_ROUTE_RESOLVED);
}

static struct rdma_ucm_conn_param params(uint32_t qpn, const char *text)
{
	struct rdma_ucm_conn_param p = {.qp_num = qpn,
					.responder_resources = 3,
					.initiator_depth = 5,
					.retry_count = 7,
					.rnr_retry_count = 6,
					.valid = 1};

	p.private_data_len = (uint8_t)strlen(text);
	memcpy(p.private_data, text, strlen(text));
	return p;
}

static int connect_id(int fd, uint32_t id, struct rdma_ucm_conn_param p)
{
	struct rdma_ucm_connect in = {.conn_param = p, .id = id};

	return command(fd, RDMA_USER_CM_CMD_CONNECT, &in, sizeof(in), 0);
}

static int accept_id(int fd, uint32_t id, uint64_t uid, struct rdma_ucm_conn_param p)
{
	struct rdma_ucm_accept in = {.uid = uid, .conn_param = p, .id = id};

	return command(fd, RDMA_USER_CM_CMD_ACCEPT, &in, sizeof(in), 0);
}

static int simple(int fd, uint32_t cmd, uint32_t id)
{
	struct rdma_ucm_disconnect in = {.id = id};

	return command(fd, cmd, &in, sizeof(in), 0);
}

static int qp_attr(int fd, uint32_t id, uint32_t state, struct ib_uverbs_qp_attr *a)
{
	struct rdma_ucm_init_qp_attr in = {.response = (uintptr_t)a, .id = id, .qp_state = state};

	return command(fd, RDMA_USER_CM_CMD_INIT_QP_ATTR, &in, sizeof(in), sizeof(*a));
}

/* Two ends: a listener and an id that may connect to it. */
struct ends {
	int server, client;
	uint32_t listener, active, passive;
};

static struct ends start(uint16_t ps)
{
	struct ends e = {.server = channel(), .client = channel()};

	e.listener = create(e.server, ps, 0x11);
	cr_assert_eq(bind_ip(e.server, e.listener, "0.0.0.0", PORT), 0);
	cr_assert_eq(listen_on(e.server, e.listener), 0);
	e.active = create(e.client, ps, 0x22);
	resolve(e.client, e.active, self_ip, PORT);
	return e;
}

static struct ends connected(void)
{
	struct ends e = start(RDMA_PS_TCP);
	struct rdma_ucm_event_resp ev;

	cr_assert_eq(connect_id(e.client, e.active, params(0x101, "hello")), 0);
	ev = expect(e.server, CM_CONNECT_REQUEST);
	e.passive = ev.id;
	cr_assert_eq(accept_id(e.server, e.passive, 0x33, params(0x202, "welcome")), 0);
	expect(e.client, CM_CONNECT_RESPONSE);
	cr_assert_eq(accept_id(e.client, e.active, 0, (struct rdma_ucm_conn_param){0}), 0);
	expect(e.server, CM_ESTABLISHED);
	return e;
}

/* ---- facts ---- */

Test(uverbs_cm, a_request_brings_its_parameters_and_private_data)
{
	struct ends e = start(RDMA_PS_TCP);
	struct rdma_ucm_event_resp ev;

	cr_assert_eq(connect_id(e.client, e.active, params(0x101, "hello")), 0);
	ev = expect(e.server, CM_CONNECT_REQUEST);
	cr_assert_eq(ev.uid, 0x11, "a request names the listener");
	cr_assert_neq(ev.id, e.listener);
	cr_assert_eq(ev.param.conn.qp_num, 0x101);
	cr_assert_eq(ev.param.conn.private_data_len, 56, "a MAD has no length: all of the field");
	cr_assert_eq(memcmp(ev.param.conn.private_data, "hello\0", 6), 0);
	cr_assert_eq(ev.param.conn.responder_resources, 5,
		     "what the other end will have in flight");
	cr_assert_eq(ev.param.conn.initiator_depth, 3);
}

Test(uverbs_cm, a_connection_gives_both_ends_each_others_qp)
{
	struct ends e = connected();
	struct ib_uverbs_qp_attr a = {0}, p = {0}, rts = {0};
	const uint8_t gid[16] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, host_a, host_b, 1};

	cr_assert_eq(qp_attr(e.client, e.active, UV_QPS_RTR, &a), 0);
	cr_assert_eq(qp_attr(e.server, e.passive, UV_QPS_RTR, &p), 0);
	cr_assert_eq(a.dest_qp_num, 0x202);
	cr_assert_eq(p.dest_qp_num, 0x101);
	cr_assert_eq(memcmp(a.ah_attr.grh.dgid, gid, 16), 0);
	cr_assert_eq(a.max_dest_rd_atomic, 3);
	cr_assert_eq(qp_attr(e.client, e.active, UV_QPS_RTS, &rts), 0);
	cr_assert_eq(rts.sq_psn, p.rq_psn, "what one sends first the other expects first");
	cr_assert_eq(rts.max_rd_atomic, 5);
	cr_assert_eq(qp_attr(e.server, e.passive, UV_QPS_RTS, &rts), 0);
	cr_assert_eq(rts.sq_psn, a.rq_psn);
}

Test(uverbs_cm, a_disconnect_reaches_both_ends_once)
{
	struct ends e = connected();
	uint32_t reported;

	cr_assert_eq(simple(e.client, RDMA_USER_CM_CMD_DISCONNECT, e.active), 0);
	expect(e.server, CM_DISCONNECTED);
	expect(e.client, CM_DISCONNECTED);
	cr_assert_eq(simple(e.server, RDMA_USER_CM_CMD_DISCONNECT, e.passive), 0);
	cr_assert(quiet(e.server) && quiet(e.client));
	cr_assert_eq(destroy(e.client, e.active, &reported), 0);
	cr_assert_eq(reported, 4, "resolved twice, answered, disconnected");
	cr_assert_eq(destroy(e.server, e.passive, &reported), 0);
	cr_assert_eq(reported, 2, "established, disconnected");
	cr_assert_eq(destroy(e.server, e.listener, &reported), 0);
	cr_assert_eq(reported, 1, "the request counts at the listener");
}

Test(uverbs_cm, a_channel_that_closes_ends_its_connections)
{
	struct ends e = connected();

	close(e.client);
	expect(e.server, CM_DISCONNECTED);
}

Test(uverbs_cm, an_identifier_destroyed_before_its_answer_rejects)
{
	struct ends e = start(RDMA_PS_TCP);
	struct rdma_ucm_event_resp ev;

	cr_assert_eq(connect_id(e.client, e.active, params(0x101, "")), 0);
	ev = expect(e.server, CM_CONNECT_REQUEST);
	cr_assert_eq(destroy(e.server, ev.id, NULL), 0);
	ev = expect(e.client, CM_REJECTED);
	cr_assert_eq(ev.status, CM_REJ_CONSUMER);
}

Test(uverbs_cm, a_rejection_brings_its_reason_and_private_data)
{
	struct ends e = start(RDMA_PS_TCP);
	struct rdma_ucm_reject in = {.private_data_len = 4, .private_data = "full"};
	struct rdma_ucm_event_resp ev;

	cr_assert_eq(connect_id(e.client, e.active, params(0x101, "")), 0);
	in.id = expect(e.server, CM_CONNECT_REQUEST).id;
	cr_assert_eq(command(e.server, RDMA_USER_CM_CMD_REJECT, &in, sizeof(in), 0), 0);
	ev = expect(e.client, CM_REJECTED);
	cr_assert_eq(ev.status, CM_REJ_CONSUMER);
	cr_assert_eq(memcmp(ev.param.conn.private_data, "full", 4), 0);
}

Test(uverbs_cm, nobody_listens_is_a_rejection_with_invalid_service_id)
{
	int fd = channel();
	uint32_t id = create(fd, RDMA_PS_TCP, 1);

	resolve(fd, id, self_ip, 9);
	cr_assert_eq(connect_id(fd, id, params(1, "")), 0);
	cr_assert_eq(expect(fd, CM_REJECTED).status, CM_REJ_INVALID_SERVICE_ID);
}

Test(uverbs_cm, a_listener_that_comes_a_moment_later_is_found)
{
	struct ends e = {.server = channel(), .client = channel()};

	e.active = create(e.client, RDMA_PS_TCP, 1);
	resolve(e.client, e.active, self_ip, PORT);
	cr_assert_eq(connect_id(e.client, e.active, params(1, "")), 0);
	e.listener = create(e.server, RDMA_PS_TCP, 2);
	cr_assert_eq(bind_ip(e.server, e.listener, self_ip, PORT), 0);
	cr_assert_eq(listen_on(e.server, e.listener), 0);
	expect(e.server, CM_CONNECT_REQUEST);
}

Test(uverbs_cm, a_port_has_one_owner)
{
	int fd = channel();

	cr_assert_eq(bind_ip(fd, create(fd, RDMA_PS_TCP, 1), "0.0.0.0", PORT), 0);
	cr_assert_eq(bind_ip(fd, create(fd, RDMA_PS_TCP, 2), "0.0.0.0", PORT), -EADDRINUSE);
	cr_assert_eq(bind_ip(fd, create(fd, RDMA_PS_UDP, 3), "0.0.0.0", PORT), 0,
		     "port spaces are apart");
}

Test(uverbs_cm, a_port_is_free_when_its_listener_is_destroyed)
{
	int fd = channel();

	for (int i = 0; i < 50; i++) {
		uint32_t id = create(fd, RDMA_PS_TCP, 1);

		cr_assert_eq(bind_ip(fd, id, self_ip, PORT), 0, "round %d", i);
		cr_assert_eq(listen_on(fd, id), 0);
		usleep(1000); /* the thread goes to sleep over it */
		cr_assert_eq(destroy(fd, id, NULL), 0);
	}
	close(fd);
}

Test(uverbs_cm, binding_names_the_device)
{
	struct rdma_ucm_query_route_resp r = {0};
	struct rdma_ucm_query in = {.response = (uintptr_t)&r};
	struct uv_identity self;
	int fd = channel();

	uv_identity_of_block(&self, host_a, host_b);
	in.id = create(fd, RDMA_PS_TCP, 1);
	cr_assert_eq(bind_ip(fd, in.id, self_ip, 0), 0);
	cr_assert_eq(command(fd, RDMA_USER_CM_CMD_QUERY_ROUTE, &in, sizeof(in), sizeof(r)), 0);
	cr_assert_eq(r.node_guid, htobe64(self.node_guid));
	cr_assert_eq(r.port_num, 1);
	cr_assert_neq(ntohs(r.src_addr.sin6_port), 0, "port 0 is replaced by a free one");
	in.id = create(fd, RDMA_PS_TCP, 2);
	cr_assert_eq(bind_ip(fd, in.id, "0.0.0.0", 0), 0);
	r = (struct rdma_ucm_query_route_resp){0};
	cr_assert_eq(command(fd, RDMA_USER_CM_CMD_QUERY_ROUTE, &in, sizeof(in), sizeof(r)), 0);
	cr_assert_eq(r.node_guid, 0, "a wildcard is no device's");
}

Test(uverbs_cm, an_address_of_no_device_is_refused)
{
	int fd = channel();

	cr_assert_eq(bind_ip(fd, create(fd, RDMA_PS_TCP, 1), other_ip, 0), -ENODEV);
	cr_assert_eq(bind_ip(fd, create(fd, RDMA_PS_TCP, 1), "192.0.2.1", 0), -EADDRNOTAVAIL);
}

Test(uverbs_cm, datagrams_bring_the_address_of_the_answering_qp)
{
	struct ends e = start(RDMA_PS_UDP);
	struct rdma_ucm_event_resp ev;

	cr_assert_eq(connect_id(e.client, e.active, params(0, "who")), 0);
	ev = expect(e.server, CM_CONNECT_REQUEST);
	cr_assert_eq(ev.param.ud.private_data_len, 180);
	cr_assert_eq(accept_id(e.server, ev.id, 0x44, params(0x303, "me")), 0);
	ev = expect(e.client, CM_ESTABLISHED);
	cr_assert_eq(ev.param.ud.qp_num, 0x303);
	cr_assert_eq(ev.param.ud.qkey, 0x01234567);
	cr_assert_eq(ev.param.ud.ah_attr.is_global, 1);
	cr_assert_eq(ev.param.ud.ah_attr.grh.dgid[15], 1);
	cr_assert_eq(memcmp(ev.param.ud.private_data, "me", 3), 0);
}

Test(uverbs_cm, joining_a_group_gives_its_address)
{
	struct rdma_ucm_create_id_resp resp = {0};
	struct rdma_ucm_join_ip_mcast in = {
		.response = (uintptr_t)&resp, .uid = 0x77, .addr = address("239.1.2.3", 0)};
	struct rdma_ucm_destroy_id_resp left = {0};
	struct rdma_ucm_destroy_id leave = {.response = (uintptr_t)&left};
	struct rdma_ucm_event_resp ev;
	int fd = channel();
	uint32_t id = create(fd, RDMA_PS_UDP, 1);

	cr_assert_eq(bind_ip(fd, id, self_ip, 0), 0);
	in.id = id;
	cr_assert_eq(command(fd, RDMA_USER_CM_CMD_JOIN_IP_MCAST, &in, sizeof(in), sizeof(resp)), 0);
	ev = expect(fd, CM_MULTICAST_JOIN);
	cr_assert_eq(ev.uid, 0x77);
	cr_assert_eq(ev.param.ud.qp_num, 0xffffff);
	cr_assert_eq(ev.param.ud.ah_attr.grh.dgid[12], 239);
	leave.id = resp.id;
	cr_assert_eq(command(fd, RDMA_USER_CM_CMD_LEAVE_MCAST, &leave, sizeof(leave), sizeof(left)),
		     0);
	cr_assert_eq(left.events_reported, 1);
	in.addr = address(self_ip, 0);
	cr_assert_eq(command(fd, RDMA_USER_CM_CMD_JOIN_IP_MCAST, &in, sizeof(in), sizeof(resp)),
		     -EINVAL, "no group");
}

Test(uverbs_cm, a_migrated_identifier_takes_its_events_along)
{
	struct ends e = start(RDMA_PS_TCP);
	int other = channel();
	struct rdma_ucm_migrate_resp resp = {0};
	struct rdma_ucm_migrate_id in = {
		.response = (uintptr_t)&resp, .id = e.active, .fd = (uint32_t)e.client};

	cr_assert_eq(connect_id(e.client, e.active, params(1, "")), 0);
	in.id = e.active;
	expect(e.server, CM_CONNECT_REQUEST);
	cr_assert_eq(command(other, RDMA_USER_CM_CMD_MIGRATE_ID, &in, sizeof(in), sizeof(resp)), 0);
	cr_assert_eq(resp.events_reported, 2);
	close(e.server);
	expect(other, CM_REJECTED);
	cr_assert(quiet(e.client));
	cr_assert_eq(destroy(e.client, e.active, NULL), -EINVAL, "it is another channel's now");
	cr_assert_eq(destroy(other, e.active, NULL), 0);
}

Test(uverbs_cm, unread_events_go_with_their_identifier)
{
	struct rdma_ucm_resolve_ip addr = {.dst_addr = address(self_ip, PORT)};
	int fd = channel();
	uint32_t reported;

	addr.id = create(fd, RDMA_PS_TCP, 1);
	cr_assert_eq(command(fd, RDMA_USER_CM_CMD_RESOLVE_IP, &addr, sizeof(addr), 0), 0);
	cr_assert(!quiet(fd), "an event is there");
	cr_assert_eq(destroy(fd, addr.id, &reported), 0);
	cr_assert_eq(reported, 0);
	cr_assert(quiet(fd), "the descriptor is not readable for an event that is gone");
}

Test(uverbs_cm, a_request_that_nobody_read_is_no_identifier_yet)
{
	struct ends e = start(RDMA_PS_TCP);
	struct pollfd p = {.fd = e.server, .events = POLLIN};

	cr_assert_eq(connect_id(e.client, e.active, params(1, "")), 0);
	cr_assert_eq(poll(&p, 1, WAIT_MS), 1);
	cr_assert_eq(destroy(e.server, e.active + 1, NULL), -ENOENT, "a guessed number");
	close(e.server);
	expect(e.client, CM_REJECTED);
}

Test(uverbs_cm, a_channel_without_events_does_not_block_when_it_must_not)
{
	struct rdma_ucm_event_resp ev;
	int fd = channel();

	create(fd, RDMA_PS_TCP, 1);
	cr_assert_eq(fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK), 0);
	cr_assert_eq(get_event(fd, &ev), -EAGAIN);
}

Test(uverbs_cm, commands_in_the_wrong_state_are_refused)
{
	struct rdma_ucm_resolve_route route = {0};
	struct ib_uverbs_qp_attr a;
	int fd = channel();
	uint32_t id = create(fd, RDMA_PS_TCP, 1);

	route.id = id;
	cr_assert_eq(command(fd, RDMA_USER_CM_CMD_RESOLVE_ROUTE, &route, sizeof(route), 0),
		     -EINVAL);
	cr_assert_eq(connect_id(fd, id, params(1, "")), -EINVAL);
	cr_assert_eq(accept_id(fd, id, 1, params(1, "")), -EINVAL);
	cr_assert_eq(simple(fd, RDMA_USER_CM_CMD_DISCONNECT, id), -EINVAL);
	cr_assert_eq(qp_attr(fd, id, UV_QPS_INIT, &a), -EINVAL, "no device yet");
	cr_assert_eq(bind_ip(fd, id, self_ip, 0), 0);
	cr_assert_eq(bind_ip(fd, id, self_ip, 0), -EINVAL, "bound already");
	cr_assert_eq(qp_attr(fd, id, UV_QPS_RTR, &a), -EINVAL, "nobody to speak to");
	cr_assert_eq(qp_attr(fd, id, 77, &a), -EINVAL);
	cr_assert_eq(simple(fd, RDMA_USER_CM_CMD_DISCONNECT, 12345), -ENOENT);
}

Test(uverbs_cm, malformed_commands_are_refused)
{
	struct frame f = {.hdr = {RDMA_USER_CM_CMD_CREATE_ID, 24, 4}};
	struct rdma_ucm_create_id bad_space = {.ps = 0x999};
	int fd = channel(), other = open("/dev/null", O_WRONLY);

	create(fd, RDMA_PS_TCP, 1);
	f.hdr.cmd = 999;
	cr_assert_eq(cm_write(fd, &f, 32), -ENOSYS);
	f.hdr.cmd = RDMA_USER_CM_CMD_CREATE_ID;
	f.hdr.in = 8;
	cr_assert_eq(cm_write(fd, &f, 32), -EINVAL, "shorter than the structure");
	f.hdr.in = 300;
	cr_assert_eq(cm_write(fd, &f, 32), -EINVAL, "longer than what was written");
	f.hdr.in = 24;
	f.hdr.out = 0;
	cr_assert_eq(cm_write(fd, &f, 32), -ENOSPC, "no room for the answer");
	cr_assert_eq(cm_write(fd, (void *)16, 32), -EFAULT);
	cr_assert_eq(command(fd, RDMA_USER_CM_CMD_CREATE_ID, &bad_space, sizeof(bad_space), 4),
		     -EINVAL);
	cr_assert_eq(cm_write(other, &f, 32), -ENOTTY, "not a channel: the kernel's");
	cr_assert_eq(cm_write(fd, &f, 4), -ENOTTY);
}

Test(uverbs_cm, too_much_private_data_is_refused)
{
	struct ends e = start(RDMA_PS_TCP);
	struct rdma_ucm_conn_param p = params(1, "");

	p.private_data_len = 57;
	cr_assert_eq(connect_id(e.client, e.active, p), -EINVAL);
	p.private_data_len = 56;
	cr_assert_eq(connect_id(e.client, e.active, p), 0);
}

/* A process that knows the name of a listener and says what it likes. */
static int stranger(void)
{
	struct sockaddr_un sa = {.sun_family = AF_UNIX};
	int n = snprintf(sa.sun_path + 1, sizeof(sa.sun_path) - 1, "gdakit-cm/%u/127.%u.%u/%x/%u",
			 (unsigned int)geteuid(), host_a, host_b, RDMA_PS_TCP, PORT);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	cr_assert_eq(connect(fd, (struct sockaddr *)&sa,
			     (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n)),
		     0);
	return fd;
}

static bool hung_up(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	char byte;

	return poll(&p, 1, WAIT_MS) == 1 && recv(fd, &byte, 1, MSG_DONTWAIT) <= 0;
}

static struct cm_msg good_request(void)
{
	struct cm_msg m = {
		.magic = CM_MSG_MAGIC, .version = CM_MSG_VERSION, .type = CM_MSG_REQ, .mtu = 5};

	m.from = address(self_ip, 1);
	m.to = address(self_ip, PORT);
	return m;
}

Test(uverbs_cm, a_stranger_who_talks_nonsense_is_hung_up_on)
{
	struct ends e = start(RDMA_PS_TCP);
	uint8_t junk[sizeof(struct cm_msg) + 8];
	struct cm_msg m = good_request();
	int fd = stranger();

	memset(junk, 0xa5, sizeof(junk));
	cr_assert_eq(send(fd, junk, sizeof(m), 0), (ssize_t)sizeof(m));
	cr_assert(hung_up(fd));
	fd = stranger();
	cr_assert_eq(send(fd, &m, sizeof(m) - 1, 0), (ssize_t)sizeof(m) - 1);
	cr_assert(hung_up(fd), "a byte is missing");
	fd = stranger();
	m.private_len = 57;
	cr_assert_eq(send(fd, &m, sizeof(m), 0), (ssize_t)sizeof(m));
	cr_assert(hung_up(fd), "more private data than a REQ has");
	fd = stranger();
	m = good_request();
	m.type = CM_MSG_REP;
	cr_assert_eq(send(fd, &m, sizeof(m), 0), (ssize_t)sizeof(m));
	cr_assert(hung_up(fd), "nobody asked");
	cr_assert(quiet(e.server), "nothing of it reached the program");
	cr_assert_eq(connect_id(e.client, e.active, params(0x101, "hello")), 0);
	expect(e.server, CM_CONNECT_REQUEST);
}

Test(uverbs_cm, a_message_that_does_not_fit_the_state_is_ignored)
{
	struct ends e = start(RDMA_PS_TCP);
	struct cm_msg m = good_request();
	int fd = stranger();

	cr_assert_eq(send(fd, &m, sizeof(m), 0), (ssize_t)sizeof(m));
	e.passive = expect(e.server, CM_CONNECT_REQUEST).id;
	m.type = CM_MSG_RTU; /* before the answer */
	cr_assert_eq(send(fd, &m, sizeof(m), 0), (ssize_t)sizeof(m));
	m.type = CM_MSG_DREP;
	cr_assert_eq(send(fd, &m, sizeof(m), 0), (ssize_t)sizeof(m));
	cr_assert_eq(accept_id(e.server, e.passive, 0x55, params(2, "")), 0);
	m.type = CM_MSG_RTU;
	cr_assert_eq(send(fd, &m, sizeof(m), 0), (ssize_t)sizeof(m));
	cr_assert_eq(expect(e.server, CM_ESTABLISHED).uid, 0x55);
	close(fd);
	expect(e.server, CM_DISCONNECTED);
}

Test(uverbs_cm, every_type_of_message_is_checked_alike)
{
	for (uint8_t type = 0; type < CM_MSG_TYPES; type++) {
		struct cm_msg m = good_request(), bad;

		m.type = type;
		m.private_len = (uint16_t)cm_msg_private_len(type);
		cr_assert_null(cm_msg_wrong(&m, sizeof(m)), "%s", cm_msg_name(type));
		bad = m;
		bad.private_len++;
		cr_assert_not_null(cm_msg_wrong(&bad, sizeof(bad)));
		bad = m;
		bad.qpn = 0x1000000;
		cr_assert_not_null(cm_msg_wrong(&bad, sizeof(bad)));
		bad = m;
		bad.mtu = 6;
		cr_assert_not_null(cm_msg_wrong(&bad, sizeof(bad)));
	}
}
