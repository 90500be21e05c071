#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Has engine_bad_input.def a row with NULL for each pointer of each host function?

engine_bad_input_rows.py SOURCE-FOLDER
That each function has rows at all, the test engine_bad_input checks against what the library exports.
"""
import os
import re
import sys

TREE = sys.argv[1]
# Pointers that are allowed to be NULL and tell nothing by it.
OPTIONAL = {("doca_gpu_verbs_cpu_proxy_progress", 1), ("doca_verbs_cq_attr_set_cq_context", 1)}


def read(path):
    with open(os.path.join(TREE, path), encoding="utf-8") as f:
        return re.sub(r"/\*.*?\*/", "", f.read(), flags=re.S)


def split(arguments):
    """At commas that no bracket holds."""
    out, depth, current = [], 0, ""
    for c in arguments:
        depth += (c in "({") - (c in ")}")
        if c == "," and depth == 0:
            out.append(current.strip())
            current = ""
        else:
            current += c
    return out + [current.strip()]


def prototypes():
    for header in ("doca_gpunetio.h", "doca_gpunetio_high_level.h", "doca_verbs.h"):
        for m in re.finditer(r"\b(doca_\w+)\s*\(([^;{}]*?)\);", read("include/host/" + header), re.S):
            yield m[1], split(m[2])


def calls():
    """Function and arguments of each row."""
    for line in read("sim_tests/engine_bad_input.def").split("\n"):
        row = re.match(r"(STATUS|VALUE)\((\w+), [^,]+, (.*)\)$", line)
        if row:
            yield row[2], split(row[3])
        row = re.match(r"HOLDS\((\w+), (.*)\)$", line)
        for m in re.finditer(row[1] + r"\(([^()]*(?:\([^()]*\)[^()]*)*)\)", row[2]) if row else ():
            yield row[1], split(m[1])


def main():
    with_null = {(f, i) for f, args in calls() for i, a in enumerate(args) if a == "NULL"}
    pointers = [(f, i, p) for f, params in prototypes() for i, p in enumerate(params)
                if "*" in p or "service_t" in p]
    missing = [p for p in pointers if p[:2] not in with_null | OPTIONAL]
    for function, _, parameter in missing:
        print(f"FAIL {function}: no row with NULL for '{parameter}'")
    print(f"{len(pointers)} pointers, {len(missing)} without a row")
    sys.exit(bool(missing) or len(pointers) < 250)


main()
