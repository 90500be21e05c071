/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The connection manager's face: what rdma_ucm, rdma_cm and ib_cm do in a kernel, inside the
 * program.
 *
 *   cm_preload.c  open(), epoll_ctl()       -> cm_opened(), cm_channel()
 *                 write()                   -> cm_write()
 *                 getifaddrs()              -> one more interface a device
 *   cm_file.c     event channels            -> commands (table), the queue of events
 *   cm_id.c       commands on identifiers   -> states, events, messages
 *   cm_query.c    what a program asks       -> addresses, paths, attributes of a QP
 *   cm_peer.c     sockets and the thread    -> messages to cm_id.c
 *   cm_msg.c      a message of a peer       -> checked
 *   cm_addr.c     IP addresses              -> devices, hosts
 *
 * A channel is a descriptor of /dev/infiniband/rdma_cm, replaced at its first use by the read end
 * of a pipe: it holds one byte for each event that can be had, so poll(), epoll and O_NONBLOCK
 * need no help. The two ends of a connection talk through a socket of their own: its name says
 * host, port space and port, so nobody but the kernel needs to know who listens; and when a process
 * dies, its peers see the socket close. It carries CM messages by meaning (REQ, REP, RTU...), not
 * as MADs.
 *
 * One lock guards everything here (cm_lock). It is never held while a program waits, and nothing
 * of the face's is called under it.
 */
#ifndef GDAKIT_UVERBS_CM_H
#define GDAKIT_UVERBS_CM_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

#include <rdma/rdma_user_cm.h>

#include "emu/uverbs/uv.h"

#define CM_NODE UV_NODE_DIR "/" UV_CM_NODE_NAME

enum {
	CM_PRIVATE_MAX = RDMA_MAX_PRIVATE_DATA,
	CM_PATIENCE_MS = 200,  /* a listener that is just coming: a network's delay */
	CM_PORT_FIRST = 32768, /* of those given out, as the kernel's ip_local_port_range */
	CM_PORT_LAST = 60999,
};

/* enum rdma_cm_event_type of librdmacm; the uAPI headers do not have it. */
enum cm_event_type {
	CM_ADDR_RESOLVED,
	CM_ADDR_ERROR,
	CM_ROUTE_RESOLVED,
	CM_ROUTE_ERROR,
	CM_CONNECT_REQUEST,
	CM_CONNECT_RESPONSE,
	CM_CONNECT_ERROR,
	CM_UNREACHABLE,
	CM_REJECTED,
	CM_ESTABLISHED,
	CM_DISCONNECTED,
	CM_DEVICE_REMOVAL,
	CM_MULTICAST_JOIN,
	CM_MULTICAST_ERROR,
	CM_ADDR_CHANGE,
	CM_TIMEWAIT_EXIT,
};

/* IBTA 12.6.7.2, reject reasons. */
enum { CM_REJ_INVALID_SERVICE_ID = 8, CM_REJ_CONSUMER = 28 };

/* ---- messages between the two ends (cm_msg.c) ---- */

enum cm_msg_type {
	CM_MSG_REQ,
	CM_MSG_REP,
	CM_MSG_RTU,
	CM_MSG_REJ,
	CM_MSG_DREQ,
	CM_MSG_DREP,
	CM_MSG_SIDR_REQ,
	CM_MSG_SIDR_REP,
	CM_MSG_TYPES
};

/* In host order: both ends are processes of one machine. One record of a SOCK_SEQPACKET each. */
struct cm_msg {
	uint32_t magic, version;
	uint8_t type; /* enum cm_msg_type */
	uint8_t qp_type;
	uint8_t srq, flow_control;
	uint8_t responder_resources, initiator_depth; /* as the sender sees them */
	uint8_t retry_count, rnr_retry_count;
	uint32_t qpn, qkey, psn;
	uint32_t status; /* REJ: reason; SIDR_REP: 0 or not */
	uint32_t mtu;	 /* enum ib_mtu */
	uint32_t ece_vendor, ece_attr;
	uint16_t lid;
	uint16_t private_len; /* bytes of private_data that were given */
	uint8_t gid[16];
	struct sockaddr_in6 from, to; /* REQ, SIDR_REQ: as the active end names both */
	uint8_t private_data[CM_PRIVATE_MAX];
};

enum { CM_MSG_MAGIC = 0x6d636467, CM_MSG_VERSION = 1 };

/* What comes from a peer is bytes: NULL if they are a message that may be acted upon, else what is
 * wrong. */
const char *cm_msg_wrong(const void *bytes, size_t len);
const char *cm_msg_name(uint8_t type);
/* Bytes that the receiver is told of: a MAD has no length, so always the whole field (IBTA 12.6).
 */
uint32_t cm_msg_private_len(uint8_t type);

/* ---- devices (cm_addr.c) ---- */

struct cm_device {
	struct uv_identity id;
	uint16_t lid;
};

/* Of the host's uv_nics(). Does not open it. */
void cm_device(unsigned int index, struct cm_device *dev);

enum cm_addr_kind {
	CM_ADDR_BAD, /* family or length is not one of those handled */
	CM_ADDR_ANY,
	CM_ADDR_HOST,	 /* an address of a simulated host: `block` */
	CM_ADDR_MACHINE, /* another address of this machine */
	CM_ADDR_ELSEWHERE,
};
struct cm_addr {
	enum cm_addr_kind kind;
	uint8_t a, b;  /* HOST: block 127.a.b */
	uint16_t port; /* host order */
};
void cm_addr_of(const struct sockaddr *sa, struct cm_addr *addr);
/* Index of the device of this host that owns the address; -1: none. */
int cm_device_of(const struct cm_addr *addr);
/* The IPv4 address of a device and a port, as a sockaddr. */
void cm_sockaddr_of(unsigned int device, uint16_t port, struct sockaddr_in6 *sa);
uint16_t cm_port(const struct sockaddr_in6 *sa); /* host order; IPv4 or IPv6 */
void cm_set_port(struct sockaddr_in6 *sa, uint16_t port);
socklen_t cm_addr_len(const struct sockaddr_in6 *sa);

/* ---- identifiers ---- */

enum cm_state {
	CM_IDLE,
	CM_BOUND,
	CM_LISTEN,
	CM_ADDR_DONE,
	CM_ROUTE_DONE,
	CM_REQ_SENT,
	CM_REP_RECEIVED, /* active: the program is to accept */
	CM_REQ_RECEIVED, /* passive: likewise */
	CM_REP_SENT,
	CM_CONNECTED,
	CM_DREQ_SENT,
	CM_CLOSED,
};

struct cm_file;

struct cm_event {
	struct cm_event *next;
	struct cm_id *id;    /* whose; for a connection request the listener */
	struct cm_id *fresh; /* connection request: the new one */
	struct rdma_ucm_event_resp resp;
};

struct cm_id {
	struct cm_id *next; /* of all */
	struct cm_file *file;
	uint32_t handle;
	uint64_t uid;
	uint16_t ps;
	uint8_t qp_type; /* enum ib_uverbs_qp_type */
	uint8_t state;	 /* enum cm_state */
	int device;	 /* -1: none yet */
	struct sockaddr_in6 src, dst;
	uint16_t port;	     /* claimed; 0: none */
	int listener;	     /* socket that holds the port; -1 */
	bool listener_on;    /* and somebody may connect */
	int peer;	     /* socket to the other end; -1 */
	uint64_t give_up_ns; /* nobody listens yet: until then it is tried again */
	uint32_t events_reported;
	uint32_t psn, qpn, qkey;
	uint8_t responder_resources, initiator_depth, retry_count, rnr_retry_count, tos;
	uint8_t ack_timeout;   /* as the QP's timeout; 0: not set, the manager's own */
	struct cm_msg request; /* active: what is sent */
	struct cm_msg remote;  /* REQ or REP of the other end */
	bool have_remote;
	struct cm_id *listen_id; /* passive, until its request was read */
	struct cm_mcast {
		struct cm_mcast *next;
		uint32_t handle;
		uint64_t uid;
		uint32_t events_reported;
	} * groups;
};

struct cm_file {
	struct cm_file *next;
	int signal; /* write end of the pipe */
	uint64_t dev, ino;
	struct cm_event *head, **tail;
};

extern pthread_mutex_t cm_lock;
extern struct cm_id *cm_ids;
extern struct cm_file *cm_files;

/* The program has opened the node: fd will be a channel when it is first used as one. librdmacm
 * looks whether it is a character device before. */
void cm_opened(int fd);
/* Is fd a channel, or opened to be one? Then it is one afterwards: 1; 0: it is not; -errno. */
int cm_channel(int fd);
/* A write() of the program to fd: its return value or -errno; -ENOTTY: not ours. */
ssize_t cm_write(int fd, const void *buf, size_t len);
/* After fork() in the child. */
void cm_abandon(void);

/* ---- cm_file.c ---- */

/* Queues an event; resp.uid and id are filled in. Nothing if the id has no user yet. */
void cm_event_put(struct cm_id *id, uint32_t type, int32_t status,
		  const struct rdma_ucm_event_resp *with);
void cm_event_put_request(struct cm_id *listener, struct cm_id *fresh,
			  const struct rdma_ucm_event_resp *with);
void cm_event_put_group(struct cm_id *id, struct cm_mcast *group,
			const struct rdma_ucm_event_resp *with);
/* Takes the unread events about `id` (or a group of it) out of its channel, whose descriptor is fd,
 * with the identifiers of requests. */
void cm_events_withdraw(struct cm_id *id, int fd);
void cm_events_drop(struct cm_file *file); /* all of them: nobody can read it any more */
struct cm_file *cm_file_of_fd(int fd);
void cm_file_forget(const struct cm_file *file); /* its pipe is about to be closed */
/* Moves the unread events of id from its channel, at fd, to another. */
void cm_events_move(struct cm_id *id, int fd, struct cm_file *to);

/* ---- cm_id.c ---- */

struct cm_cmd {
	int fd; /* of the channel */
	struct cm_file *file;
	const char *name;
	void *out; /* response, out_len bytes */
	size_t out_len;
};

/* NULL with *err -ENOENT or -EINVAL. */
struct cm_id *cm_id_find(const struct cm_cmd *cmd, uint32_t handle, int *err);
struct cm_id *cm_id_new(struct cm_file *file, uint16_t ps, uint8_t qp_type, uint64_t uid);
void cm_id_free(struct cm_id *id);
const char *cm_state_name(const struct cm_id *id); /* static text */
/* A message without more than its status to the other end; nothing where there is none. */
void cm_send_simple(struct cm_id *id, uint8_t type, uint32_t status);
/* Sends the request of an id that waits for a listener, or gives up. */
void cm_try_connect(struct cm_id *id);
uint64_t cm_now_ns(void);
bool cm_is_ud(const struct cm_id *id);

#define CM_HANDLER(name) int name(struct cm_cmd *cmd, const void *in)
CM_HANDLER(cm_create_id);
CM_HANDLER(cm_destroy_id);
CM_HANDLER(cm_bind_ip);
CM_HANDLER(cm_bind);
CM_HANDLER(cm_resolve_ip);
CM_HANDLER(cm_resolve_addr);
CM_HANDLER(cm_resolve_route);
CM_HANDLER(cm_connect);
CM_HANDLER(cm_listen);
CM_HANDLER(cm_accept);
CM_HANDLER(cm_reject);
CM_HANDLER(cm_disconnect);
CM_HANDLER(cm_set_option);
CM_HANDLER(cm_notify);
CM_HANDLER(cm_join_ip_mcast);
CM_HANDLER(cm_join_mcast);
CM_HANDLER(cm_leave_mcast);
CM_HANDLER(cm_migrate_id);
/* cm_query.c */
CM_HANDLER(cm_query);
CM_HANDLER(cm_query_route);
CM_HANDLER(cm_init_qp_attr);
/* The address of the other end, for an address handle or a QP. */
void cm_fill_ah(const struct cm_id *id, const uint8_t dgid[16], uint16_t dlid,
		struct ib_uverbs_ah_attr *ah);

/* ---- cm_remote.c ---- */

/* From the thread: the socket of a listener has a visitor; a message; the other end is gone. */
void cm_on_request(struct cm_id *listener, int peer, const struct cm_msg *msg);
void cm_on_message(struct cm_id *id, const struct cm_msg *msg);
void cm_on_hangup(struct cm_id *id);

/* ---- cm_peer.c ---- */

/*
 * Claims a port of this host in a port space: *fd is a socket that holds it. port 0: any free one,
 * returned in *port. 0, -EADDRINUSE, -EADDRNOTAVAIL (none is free), -errno.
 */
int cm_port_claim(uint16_t ps, uint16_t *port, int *fd);
/* A socket to who listens on (host, ps, port): the socket, or -ECONNREFUSED, -errno. */
int cm_peer_connect(const struct cm_addr *to, uint16_t ps);
int cm_peer_send(int fd, const struct cm_msg *msg); /* 0 or -errno */
/* What the thread is to hear of: that a channel's reader is gone, who comes, what is said. */
enum cm_watch { CM_WATCH_FILE, CM_WATCH_LISTENER, CM_WATCH_PEER, CM_WATCHES };
/* `handle` is the identifier's; a channel has none. 0 or -errno. */
int cm_watch(int fd, enum cm_watch what, uint32_t handle);
/* Closes what may have been given to cm_watch(): its port is free when this returns. */
void cm_watched_close(int fd);
int cm_thread_start(void); /* once; 0 or -errno */
void cm_thread_wake(void); /* the lists changed */
void cm_thread_abandon(void);

#endif
