#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Lets tshark decode frames (hex lines from the program named as argument) and compares opcode, DQPN and PSN of
each with the bytes. Exit code 77: tshark is missing."""
import shutil
import struct
import subprocess
import sys
import tempfile

FIELDS = ["infiniband.bth.opcode", "infiniband.bth.destqp", "infiniband.bth.psn"]


def write_pcap(path, frames):
    with open(path, "wb") as out:
        out.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
        for second, frame in enumerate(frames):
            out.write(struct.pack("<IIII", second, 0, len(frame), len(frame)) + frame)


def expected(frame):
    bth = frame[42:] if frame[12:14] == b"\x08\x00" else frame[62:]
    return [bth[0], int.from_bytes(bth[5:8], "big"), int.from_bytes(bth[9:12], "big")]


def main():
    if not shutil.which("tshark"):
        print("skipped: no tshark (package tshark)")
        return 77
    text = subprocess.run([sys.argv[1]], check=True, capture_output=True, text=True).stdout.split()
    frames = [bytes.fromhex(line) for line in text]
    with tempfile.NamedTemporaryFile(suffix=".pcap") as pcap:
        write_pcap(pcap.name, frames)
        command = ["tshark", "-r", pcap.name, "-T", "fields"]
        for field in FIELDS:
            command += ["-e", field]
        lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    wrong = 0
    for number, (frame, line) in enumerate(zip(frames, lines)):
        got = [int(value.split(",")[0], 0) if value else -1 for value in line.split("\t")]
        if got != expected(frame):
            wrong += 1
            print(f"frame {number}: tshark has {got}, the bytes say {expected(frame)}")
    print(f"{len(frames)} frames, {len(lines)} decoded, {wrong} wrong")
    return 1 if wrong or len(lines) != len(frames) else 0


sys.exit(main())
