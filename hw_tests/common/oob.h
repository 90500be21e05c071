/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Out-of-band exchange: one TCP connection between the two halves of a test, over which they tell
 * each other what a queue pair needs to connect. The bytes are those of DOCA GPUNetIO's examples
 * (raw integers in the machine's order, no framing), so either half works with theirs.
 *
 * Every call waits a bounded time, handles short reads and writes, and prints the reason to stderr
 * when it fails. None is thread-safe on one connection.
 */
#ifndef HWT_OOB_H
#define HWT_OOB_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define OOB_PORT_DEFAULT 2000 /* of the upstream examples */

/*
 * Listens on all IPv4 addresses, says "listening on port N" on stdout, and takes one client. The
 * caller owns the descriptor. -1: the port is taken, or nobody came within timeout_ms.
 */
int oob_accept(uint16_t port, int timeout_ms);

/*
 * Connects to host:port; while nobody listens there it tries again until timeout_ms has passed. The
 * caller owns the descriptor. -1: unknown host, or no server in that time (also where the host does
 * not answer at all).
 */
int oob_connect(const char *host, uint16_t port, int timeout_ms);

/* How long the calls below wait for the peer, in ms (at least 1). Default 60 s. For all
 * connections. */
void oob_set_timeout(int timeout_ms);

/* Moves exactly len bytes; what names them in the message of a failure. 0 or -1. */
int oob_send(int fd, const void *buf, size_t len, const char *what);
int oob_recv(int fd, void *buf, size_t len, const char *what);

/* Like oob_recv(), but a peer that closed before the first byte gives 0; 1: received; -1: failed.
 */
int oob_recv_optional(int fd, void *buf, size_t len, const char *what);

/* Sends mine, then receives the peer's of the same length. 0 or -1. */
int oob_swap(int fd, const void *mine, void *theirs, size_t len, const char *what);

#ifdef __cplusplus
}
#endif

#endif
