#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Plays the client of GPUNetIO's put_bw or write_bw example up to the end of its exchange, byte by byte.

    upstream_exchange.py PORT

Receives 16 times {u64 address, u32 rkey}, then for the queue pair: sends and receives u32 QP number, 16 bytes of GID,
u32 LID. Then it closes, as that client does when it is done. Exit code 0 if what the server sent makes sense.
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


def main():
    with socket.create_connection(("127.0.0.1", int(sys.argv[1])), timeout=TIMEOUT_S) as sock:
        buffers = [struct.unpack("=QI", receive(sock, 12)) for _ in range(BUFFERS)]
        sock.sendall(struct.pack("=I", 0x123))
        (qpn,) = struct.unpack("=I", receive(sock, 4))
        sock.sendall(bytes(10) + b"\xff\xff\x7f\x00\x00\x01")
        gid = receive(sock, 16)
        sock.sendall(struct.pack("=I", 0))
        (lid,) = struct.unpack("=I", receive(sock, 4))
    print(f"{len(set(buffers))} buffers, QP 0x{qpn:x}, GID {gid.hex()}, LID {lid}")
    if len({addr for addr, _ in buffers}) != BUFFERS or any(a == 0 or k == 0 for a, k in buffers):
        raise SystemExit(f"addresses or keys are missing: {buffers}")
    if qpn == 0 or qpn >> 24:
        raise SystemExit(f"QP number 0x{qpn:x}")


main()
