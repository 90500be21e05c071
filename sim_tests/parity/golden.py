#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Records parity over this library and compares with the recordings of it over upstream's.

    golden.py GDAKIT PARITY GOLDEN

GOLDEN is sim_tests/golden; its README says where the recordings are from. Exit code 0: the differences are those that
are expected; 77: `gdakit run` cannot work here.
"""
import glob
import lzma
import os
import subprocess
import sys
import tempfile

TIMEOUT_S = 60


def run(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=TIMEOUT_S,
                          check=False)
    return done.returncode, done.stdout


def prepare(golden, name, scratch):
    """The recording, and one list of what is expected of it."""
    with lzma.open(os.path.join(golden, name + ".rec.xz")) as f, open(os.path.join(scratch, "a.rec"), "wb") as to:
        to.write(f.read())
    with open(os.path.join(scratch, "expected"), "w", encoding="utf-8") as to:
        for part in ("common", name):
            with open(os.path.join(golden, part + ".expected"), encoding="utf-8") as f:
                to.write(f.read())


def compare(gdakit, parity, golden, name):
    """None, or what is wrong."""
    scenario = name.removesuffix("-ib")
    link = ["--link-layer", "infiniband"] if name != scenario else []
    with tempfile.TemporaryDirectory() as scratch:
        prepare(golden, name, scratch)
        ours = os.path.join(scratch, "b.rec")
        code, said = run(gdakit, "run", "--nic", "connectx-8", *link, "--record", ours, "--", parity, scenario)
        if code:
            return f"parity {scenario}: exit code {code}\n{said}"
        code, said = run(gdakit, "trace-diff", "--program", "--expect", os.path.join(scratch, "expected"),
                         os.path.join(scratch, "a.rec"), ours)
        return said if code else None


def main():
    gdakit, parity, golden = sys.argv[1:4]
    code, said = run(gdakit, "doctor")
    if code:
        print(f"SKIP golden recordings: {said.strip().splitlines()[-1]}")
        return 77
    names = sorted(os.path.basename(path)[:-len(".rec.xz")] for path in glob.glob(os.path.join(golden, "*.rec.xz")))
    failed = not names
    for name in names:
        wrong = compare(gdakit, parity, golden, name)
        failed |= wrong is not None
        print(f"{'FAIL' if wrong else 'ok  '} {name}" + (f": A is upstream, B is ours\n{wrong}" if wrong else ""))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
