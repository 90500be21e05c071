#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Breaks the NIC model on purpose, one rule at a time, and demands that a test turns red.

    sim_tests/mutate.py [NAME...]      all mutations of sim_tests/mutations.txt, or the named ones

Each entry names a file, a text that occurs in it exactly once, and what replaces it. A copy of the tree is
built once; each mutation is applied there, the model's tests are rebuilt and run, and the text is put back.
A mutation that no test notices, that does not compile or whose text is gone is a failure.
"""
import os
import re
import shutil
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
WORK = os.path.join(ROOT, "build", "mutate")
TREE = os.path.join(WORK, "tree")
BUILD = os.path.join(WORK, "build")
MODEL_TESTS = "^(cmd|cq|eq|mkey|rc|doorbell|wqe|link_roce|uc|ud)_|^(xrc|uverbs_cm|paths_redirect|fds_own)"  # a test and its target share a name


def parse(path):
    """Entries: '== name', 'file: path', '<<<' lines '---' lines '>>>'."""
    text = open(path, encoding="utf-8").read()
    entry = re.compile(r"^== (\S+)[^\n]*\nfile: (\S+)\n<<<\n(.*?)\n---\n(.*?)\n?>>>$", re.M | re.S)
    found = entry.findall(text)
    if len(found) != len(re.findall(r"^== ", text, re.M)):
        sys.exit(f"{path}: an entry is malformed; {len(found)} of {len(re.findall(r'^== ', text, re.M))} read")
    return found


def copy_tree():
    if os.path.exists(TREE):
        shutil.rmtree(TREE)
    files = subprocess.run(["git", "-C", ROOT, "ls-files", "-z"], check=True, capture_output=True).stdout
    for name in files.decode().split("\0"):
        src = os.path.join(ROOT, name)
        if name and os.path.isfile(src):
            dst = os.path.join(TREE, name)
            os.makedirs(os.path.dirname(dst), exist_ok=True)
            shutil.copy(src, dst)  # new times: objects of an earlier mutation are stale


def run(cmd, timeout):
    try:
        return subprocess.run(cmd, capture_output=True, text=True, timeout=timeout, check=False)
    except subprocess.TimeoutExpired as late:
        return subprocess.CompletedProcess(cmd, 124, str(late.stdout), str(late.stderr))


def targets():
    listed = run(["ctest", "--test-dir", BUILD, "-N", "-R", MODEL_TESTS], 60)
    return re.findall(r"Test\s+#\d+: (\S+)", listed.stdout)


def build():
    return run(["cmake", "--build", BUILD, "--target", *targets()], 900)


def tests():
    return run(["ctest", "--test-dir", BUILD, "-R", MODEL_TESTS, "--stop-on-failure", "--timeout", "60",
                "-j", str(os.cpu_count()), "--output-on-failure"], 600)


def main():
    entries = parse(os.path.join(ROOT, "sim_tests", "mutations.txt"))
    if len(sys.argv) > 1:
        entries = [e for e in entries if e[0] in sys.argv[1:]]
    copy_tree()
    configured = run(["cmake", "-S", TREE, "-B", BUILD, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=None", "-DCMAKE_C_FLAGS=-O1"], 300)
    if configured.returncode or build().returncode or tests().returncode:
        print("the unchanged tree does not build or its tests fail; nothing to compare with")
        print(configured.stderr, build().stdout[-3000:], tests().stdout[-3000:])
        print("0 passed, 1 failed, 0 skipped")
        return 1
    killed = alive = 0
    for name, path, old, new in entries:
        began = time.monotonic()
        target = os.path.join(TREE, path)
        original = open(target, encoding="utf-8").read()
        verdict, detail = "FAIL", ""
        if original.count(old) != 1:
            detail = f"its text occurs {original.count(old)} times in {path}, expected once"
        else:
            with open(target, "w", encoding="utf-8") as f:
                f.write(original.replace(old, new))
            built = build()
            if built.returncode:
                detail = "does not compile:\n" + built.stdout[-1500:]
            else:
                ran = tests()
                red = re.findall(r"^\s*\d+/\d+ Test\s+#\d+: (\S+) .*\*\*\*", ran.stdout, re.M)
                if ran.returncode:
                    verdict, detail = "ok  ", "noticed by " + (", ".join(red) or "a time-out")
                else:
                    detail = "no test noticed"
            with open(target, "w", encoding="utf-8") as f:
                f.write(original)
        killed += verdict == "ok  "
        alive += verdict == "FAIL"
        print(f"  {verdict} {name}: {detail} ({time.monotonic() - began:.0f} s)", flush=True)
    print(f"{killed} passed, {alive} failed, 0 skipped")
    return 1 if alive else 0


if __name__ == "__main__":
    sys.exit(main())
