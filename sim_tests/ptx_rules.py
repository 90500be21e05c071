#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Rules for the PTX of the device headers, read from their text: no compiler can check them.

    ptx_rules.py ROOT

Assembly stands in gdakit_primitives.cuh only; each statement clobbers memory, so that no access moves across it;
the copy engine's BlueFlame write has a proxy fence before it, and is waited for.
"""
import glob
import os
import re
import sys


def problems(root):
    for path in glob.glob(os.path.join(root, "device", "*.cuh")):
        name = os.path.basename(path)
        text = re.sub(r"/\*.*?\*/", "", open(path, encoding="utf-8").read(), flags=re.S)
        statements = re.findall(r"\basm\b.*?;(?=\s*(?:\\?\n|$))", text, re.S)
        if name != "gdakit_primitives.cuh":
            if statements:
                yield f"{name}: assembly outside gdakit_primitives.cuh"
            continue
        if len(statements) < 20:
            yield f"{name}: only {len(statements)} statements found; the pattern no longer fits"
        for s in statements:
            if "volatile" not in s or '"memory"' not in s:
                yield f"{name}: a statement that may be moved: {' '.join(s.split())[:100]}"
        steps = re.findall(r'"(fence\.proxy\.async|cp\.async\.bulk\.global|cp\.async\.bulk\.commit_group|'
                           r'cp\.async\.bulk\.wait_group\.read 0)', text)
        wanted = ["fence.proxy.async", "cp.async.bulk.global", "cp.async.bulk.commit_group", "cp.async.bulk.wait_group.read 0"]
        if steps != wanted:
            yield f"{name}: the copy engine's write is {steps}, not {wanted}"


def main():
    found = list(problems(sys.argv[1]))
    print("\n".join(found) or "ptx_rules: fine")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
