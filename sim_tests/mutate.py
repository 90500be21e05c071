#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Breaks the NIC model on purpose, one rule at a time, and demands that a test turns red.

    sim_tests/mutate.py [NAME...]      all mutations of sim_tests/mutations.txt, or the named ones
    sim_tests/mutate.py --check        only: does each text still occur once, and do the named tests exist?
    sim_tests/mutate.py --learn ...    also writes into the list which test noticed what

Each entry names a file, a text that occurs in it exactly once, and what replaces it; with `test:` also the
tests that are known to notice. A copy of the tree is built once; each mutation is applied there, those tests are
rebuilt and run, and where they notice nothing all of the model's tests; then the text is put back. A mutation
that no test notices, that does not compile or whose text is gone is a failure.
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
LIST = os.path.join(ROOT, "sim_tests", "mutations.txt")
# A test and its target share a name; scripts have no target and are left out.
MODEL_TESTS = (r"^(cap|check|cmd|cq|device_group|device_matrix|device_order|device_stall|doorbell|engine|fds|link|many|"
               r"mkey|observe|paths|qemu|rc|recording|space|trace|"
               r"uc|ud|uverbs|world|wqe|xrc)(_|$)")


def parse(path):
    """Entries: '== name', 'file: path', perhaps 'test: names', '<<<' lines '---' lines '>>>'."""
    text = open(path, encoding="utf-8").read()
    entry = re.compile(r"^== (\S+)[^\n]*\nfile: (\S+)\n(?:test: ([^\n]+)\n)?<<<\n(.*?)\n---\n(.*?)\n?>>>$", re.M | re.S)
    found = [(name, file, tests.split(), old, new) for name, file, tests, old, new in entry.findall(text)]
    if len(found) != len(re.findall(r"^== ", text, re.M)):
        sys.exit(f"{path}: an entry is malformed; {len(found)} of {len(re.findall(r'^== ', text, re.M))} read")
    return found


def check(entries):
    bad = 0
    for name, path, known, old, _ in entries:
        file = os.path.join(ROOT, path)
        count = open(file, encoding="utf-8").read().count(old) if os.path.isfile(file) else 0
        if count != 1:
            bad += 1
            print(f"{name}: its text occurs {count} times in {path}, expected once")
        for test in known:
            if not any(os.path.isfile(os.path.join(ROOT, "sim_tests", test + end)) for end in (".c", ".cpp")):
                bad += 1
                print(f"{name}: there is no test {test}")
    return 1 if bad else 0


def learn(name, tests):
    """Writes who noticed mutation `name` into the list."""
    text = open(LIST, encoding="utf-8").read()
    head = re.compile(rf"(^== {re.escape(name)}\b[^\n]*\nfile: [^\n]+\n)(?:test: [^\n]+\n)?", re.M)
    with open(LIST, "w", encoding="utf-8") as f:
        f.write(head.sub(lambda m: m.group(1) + f"test: {' '.join(tests)}\n", text, count=1))


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


def all_tests():
    listed = run(["ctest", "--test-dir", BUILD, "-N", "-R", MODEL_TESTS], 60)
    made = run(["ninja", "-C", BUILD, "-t", "targets", "all"], 60)
    programs = set(re.findall(r"^(\S+): phony", made.stdout, re.M))
    return [t for t in re.findall(r"Test\s+#\d+: (\S+)", listed.stdout) if t in programs]


def build(tests):
    return run(["cmake", "--build", BUILD, "--target", *tests], 1800)


def run_tests(tests):
    return run(["ctest", "--test-dir", BUILD, "-R", f"^({'|'.join(tests)})$", "--stop-on-failure", "--timeout", "120",
                "-j", str(os.cpu_count()), "--output-on-failure"], 1200)


def who_notices(known, every):
    """(verdict, detail, names) of the tree as it is now: first the tests that are known to notice, then all."""
    for tests in (known, every):
        if not tests:
            continue
        built = build(tests)
        if built.returncode:
            return "FAIL", "does not compile:\n" + built.stdout[-1500:], []
        ran = run_tests(tests)
        if ran.returncode:
            red = re.findall(r"^\s*\d+/\d+ Test\s+#\d+: (\S+) .*\*\*\*", ran.stdout, re.M)
            late = "" if tests is known else "; not by those that its entry names"
            return "ok  ", "noticed by " + (", ".join(red) or "a time-out") + late, red
    return "FAIL", "no test noticed", []


def main():
    entries = parse(LIST)
    options = {a for a in sys.argv[1:] if a.startswith("-")}
    names = [a for a in sys.argv[1:] if a not in options]
    if options - {"--check", "--learn"}:
        sys.exit(__doc__)
    if "--check" in options:
        return check(entries)
    if names:
        entries = [e for e in entries if e[0] in names]
    copy_tree()
    configured = run(["cmake", "-S", TREE, "-B", BUILD, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=None", "-DCMAKE_C_FLAGS=-O1"], 300)
    every = all_tests()
    built, ran = build(every), run_tests(every)
    if configured.returncode or built.returncode or ran.returncode:
        print("the unchanged tree does not build or its tests fail; nothing to compare with")
        print(configured.stderr, built.stdout[-3000:], ran.stdout[-3000:])
        print("0 passed, 1 failed, 0 skipped")
        return 1
    killed = alive = 0
    for name, path, known, old, new in entries:
        began = time.monotonic()
        target = os.path.join(TREE, path)
        original = open(target, encoding="utf-8").read()
        verdict, detail = "FAIL", ""
        if original.count(old) != 1:
            detail = f"its text occurs {original.count(old)} times in {path}, expected once"
        else:
            with open(target, "w", encoding="utf-8") as f:
                f.write(original.replace(old, new))
            verdict, detail, red = who_notices([t for t in known if t in every], every)
            if red and "--learn" in options:
                learn(name, red[:1])
            with open(target, "w", encoding="utf-8") as f:
                f.write(original)
        killed += verdict == "ok  "
        alive += verdict == "FAIL"
        print(f"  {verdict} {name}: {detail} ({time.monotonic() - began:.0f} s)", flush=True)
    print(f"{killed} passed, {alive} failed, 0 skipped")
    return 1 if alive else 0


if __name__ == "__main__":
    sys.exit(main())
