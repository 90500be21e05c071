#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Compares the ICRC of frames (hex lines from the program named as argument) with scapy's for IPv4, and with
zlib's CRC over bytes masked here for both IP versions. Exit code 77: scapy is missing."""
import subprocess
import sys
import zlib

try:
    from scapy.contrib.roce import BTH
    from scapy.layers.inet import IP, UDP
    from scapy.layers.l2 import Ether
except ImportError as missing:
    print(f"skipped: {missing} (package python3-scapy)")
    sys.exit(77)


def masked_crc(frame):
    """The ICRC as IBTA Annex A17.3.3 defines it, from a whole frame."""
    ip = bytearray(frame[14:-4])
    if ip[0] >> 4 == 4:
        udp = 20
        ip[1] = ip[8] = ip[10] = ip[11] = 0xFF
    else:
        udp = 40
        ip[0] |= 0x0F
        ip[1] = ip[2] = ip[3] = ip[7] = 0xFF
    ip[udp + 6] = ip[udp + 7] = 0xFF
    ip[udp + 8 + 4] = 0xFF
    return zlib.crc32(b"\xff" * 8 + bytes(ip)).to_bytes(4, "little")


def scapy_crc(frame):
    packet = Ether(frame)
    bth = packet[BTH]
    assert packet[IP].version == 4 and packet[UDP].dport == 4791
    return bth.compute_icrc(bytes(bth)[:-4])


def main():
    frames = subprocess.run([sys.argv[1]], check=True, capture_output=True, text=True).stdout.split()
    wrong = 0
    compared = {"zlib": 0, "scapy": 0}
    for number, text in enumerate(frames):
        frame = bytes.fromhex(text)
        checks = {"zlib": masked_crc}
        if frame[12:14] == b"\x08\x00":
            checks["scapy"] = scapy_crc
        for name, crc in checks.items():
            compared[name] += 1
            expected = crc(frame)
            if expected != frame[-4:]:
                wrong += 1
                print(f"frame {number} opcode 0x{frame[42]:02x}: ICRC {frame[-4:].hex()}, {name} has {expected.hex()}")
    print(f"{len(frames)} frames, compared {compared}, {wrong} wrong")
    if wrong or not compared["scapy"]:
        sys.exit(1)


main()
