#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""docs/compatibility.md names tests for the faults of upstream that are not repeated here; do they exist?

    fault_tests.py ROOT

Rows are "| ids | fault | here | tests |" with tests as `suite.name` or the path of a file, or "| ids | tests |" with
"suite: name, name; suite: name". Each fault of the device code must have a row.
"""
import glob
import os
import re
import sys

WANTED = [f"D{i}" for i in range(1, 23)]
IDS = r"[HDE]\d+\*?(, [HDE]\d+\*?)*"


def known_tests(root):
    names = set()
    for path in glob.glob(os.path.join(root, "sim_tests", "**", "*.c*"), recursive=True):
        text = open(path, encoding="utf-8", errors="replace").read()
        names |= {f"{suite}.{name}" for suite, name in re.findall(r"^Test\((\w+),\s*(\w+)", text, re.M)}
    return names


def tests_named(cells):
    if len(cells) == 4:
        return re.findall(r"`([\w./]+)`", cells[3])
    named = []
    for suite, names in re.findall(r"(\w+_\w+): (\w+(?:, \w+)*)", cells[1]):
        named += [f"{suite}.{name}" for name in names.split(", ") if "_" in name]
    return named


def main():
    root = sys.argv[1]
    tests, seen, bad = known_tests(root), set(), []
    for line in open(os.path.join(root, "docs", "compatibility.md"), encoding="utf-8"):
        cells = [c.strip() for c in line.strip().strip("|").split(" | ")]
        if not re.fullmatch(IDS, cells[0]) or len(cells) not in (2, 4):
            continue
        seen |= set(cells[0].replace("*", "").split(", "))
        named = tests_named(cells)
        if not named and len(cells) == 4 and "no test" not in cells[3]:
            bad.append(f"{cells[0]}: names no test")
        bad += [f"{cells[0]}: there is no test {n}" for n in named
                if n not in tests and not os.path.isfile(os.path.join(root, n))]
    bad += [f"{i}: not in the table" for i in WANTED if i not in seen]
    print("\n".join(bad) or f"fault_tests: {len(seen)} faults with their tests")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
