#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks a capture that the program named as argument writes: tshark decodes every packet without a malformed mark or
a warning, with the opcode that was written, and the ICRC is what scapy computes. Closed, and as a killed process
leaves it. Exit code 77: tshark or scapy is missing."""
import os
import shutil
import subprocess
import sys
import tempfile

try:
    from scapy.contrib.roce import BTH
    from scapy.layers.l2 import Ether
    from scapy.utils import RawPcapNgReader
except ImportError as missing:
    print(f"skipped: {missing} (package python3-scapy)")
    sys.exit(77)

# IBTA vol. 1, table 38: RC, UC, UD, and XRC, which tshark 4.0 decodes without names of its opcodes.
RC = set(range(0x00, 0x15)) | {0x16, 0x17}
EXPECTED = RC | {0x20 + op for op in range(0x0c)} | {0x64, 0x65} | {0xa0 + op for op in RC}


def tshark(path):
    fields = ["ip.version", "infiniband.bth.opcode", "_ws.malformed", "_ws.expert.severity", "frame.comment"]
    # Without its guesses about what payload might be: an empty or random SEND passes for RPC over RDMA.
    command = ["tshark", "--disable-protocol", "rpcordma", "-r", path, "-T", "fields", "-E", "separator=|"]
    for field in fields:
        command += ["-e", field]
    result = subprocess.run(command, check=False, capture_output=True, text=True)
    errors = [line for line in result.stderr.splitlines() if "appears" in line or "cut short" in line or "isn't" in line]
    return [line.split("|") for line in result.stdout.splitlines()], errors


def check_tshark(path, opcodes):
    rows, errors = tshark(path)
    wrong = len(errors)
    for line in errors:
        print(line)
    if len(rows) != len(opcodes):
        print(f"{len(rows)} packets decoded, {len(opcodes)} written")
        wrong += 1
    for row, opcode in zip(rows, opcodes):
        version, got, malformed, severity, comment = row
        # RoCEv2 has no UDP checksum (Annex A17.3.2), which tshark minds in IPv6; a comment is a mark, too.
        fine = version == "6" or not severity or comment
        bad = malformed or not fine or not got or int(got.split(",")[0], 0) != opcode
        if bad or (comment == "a comment") != (opcode == 4):
            wrong += 1
            print(f"packet {row}: written with opcode 0x{opcode:02x}")
    return wrong


def check_icrc(path):
    compared = wrong = 0
    for data, _ in RawPcapNgReader(path):
        if data[12:14] != b"\x08\x00":
            continue
        bth = Ether(data)[BTH]
        compared += 1
        if bth.compute_icrc(bytes(bth)[:-4]) != data[-4:]:
            wrong += 1
    print(f"{compared} ICRCs compared, {wrong} wrong")
    return wrong + (compared == 0)


def main():
    if not shutil.which("tshark"):
        print("skipped: no tshark (package tshark)")
        return 77
    wrong = 0
    for leave_open in ("", "1"):
        environment = dict(os.environ)
        if leave_open:
            environment["LEAVE_OPEN"] = leave_open
        with tempfile.TemporaryDirectory() as scratch:
            path = os.path.join(scratch, "all.pcapng")
            text = subprocess.run([sys.argv[1], path], check=True, capture_output=True, text=True, env=environment).stdout
            opcodes = [int(line, 0) for line in text.split()]
            missing = EXPECTED - set(opcodes)
            if missing:
                print("not written:", sorted(hex(op) for op in missing))
                wrong += 1
            wrong += check_tshark(path, opcodes)
            if not leave_open:
                wrong += check_icrc(path)
    print(f"{len(opcodes)} packets, {len(set(opcodes))} opcodes, {wrong} wrong")
    return 1 if wrong else 0


sys.exit(main())
