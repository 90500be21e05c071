#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Plays the client of GPUNetIO's put_bw or write_bw example up to the end of its exchange, byte by byte.

    upstream_exchange.py PORT [MODE]

Receives 16 times {u64 address, u32 rkey}, then for the queue pair: sends and receives u32 QP number, 16 bytes of GID,
u32 LID. Then it closes, as that client does when it is done. Exit code 0 if what the server sent makes sense.

MODE makes it a stranger or a client that dies instead: "stranger" connects and sends bytes of another protocol,
"gid" a GID that no port has, "step" a control step that is none, "half" one of ours, of two sizes, then nothing more.
"""
import socket
import struct
import sys

BUFFERS = 16
TIMEOUT_S = 30


def receive(sock, count):
    data = b""
    while len(data) < count:
        part = sock.recv(count - len(data))
        if not part:
            raise SystemExit(f"the server closed after {len(data)} of {count} bytes")
        data += part
    return data


CONTROL_STEP = "=7I"  # magic, buffer, bytes of a message, messages, seed, iterations, sizes left
AFTER_EXCHANGE = {
    "step": bytes(28),
    "half": struct.pack(CONTROL_STEP, 0x67646B32, 0, 1, 32, 0, 32, 1),
}


def answer(sock):
    """Whatever the server says until it closes; it may also reset the connection."""
    try:
        while sock.recv(4096):
            pass
    except ConnectionError:
        pass


def main():
    mode = sys.argv[2] if len(sys.argv) > 2 else ""
    with socket.create_connection(("127.0.0.1", int(sys.argv[1])), timeout=TIMEOUT_S) as sock:
        buffers = [struct.unpack("=QI", receive(sock, 12)) for _ in range(BUFFERS)]
        if mode == "stranger":
            sock.sendall(b"GET / HTTP/1.0\r\nHost: localhost\r\n\r\n")
            return answer(sock)
        sock.sendall(struct.pack("=I", 0x123))
        (qpn,) = struct.unpack("=I", receive(sock, 4))
        sock.sendall(bytes(16) if mode == "gid" else bytes(10) + b"\xff\xff\x7f\x00\x00\x01")
        gid = receive(sock, 16)
        sock.sendall(struct.pack("=I", 0))
        (lid,) = struct.unpack("=I", receive(sock, 4))
        if mode == "gid":
            return answer(sock)
        if mode in AFTER_EXCHANGE:
            sock.sendall(AFTER_EXCHANGE[mode])
            receive(sock, 16 if mode == "half" else 0)
            if mode == "step":
                return answer(sock)
    print(f"{len(set(buffers))} buffers, QP 0x{qpn:x}, GID {gid.hex()}, LID {lid}")
    if len({addr for addr, _ in buffers}) != BUFFERS or any(a == 0 or k == 0 for a, k in buffers):
        raise SystemExit(f"addresses or keys are missing: {buffers}")
    if qpn == 0 or qpn >> 24:
        raise SystemExit(f"QP number 0x{qpn:x}")


main()
