#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""symbols.py READELF LIBRARY FUNCTIONS.DEF: the library exports the functions of the list, each with
its version as the default, and nothing else."""
import re
import subprocess
import sys

VERSION = "DOCA_GPUNETIO_2.0"
LOG = "_Z18doca_gpu_log_printiPKciS0_S0_z"  # of programs written against GPUNetIO's C++ sources


def exported(readelf, library):
    out = subprocess.run([readelf, "--dyn-syms", "-W", library], check=True, capture_output=True, text=True).stdout
    found = {}
    for line in out.splitlines():
        field = line.split()
        # Num: Value Size Type Bind Vis Ndx Name
        if len(field) >= 8 and field[3] in ("FUNC", "OBJECT", "IFUNC") and field[6] not in ("UND", "ABS"):
            name, _, version = field[7].partition("@")
            found[name] = version
    return found


def main():
    readelf, library, facts = sys.argv[1:]
    with open(facts, encoding="utf-8") as f:
        listed = set(re.findall(r"^FUNCTION\([^,]*, (\w+),", f.read(), re.M)) | {LOG}
    found = exported(readelf, library)
    wrong = [f"{name} is not exported" for name in sorted(listed - found.keys())]
    wrong += [f"{name} is exported, and no fact names it" for name in sorted(found.keys() - listed)]
    wrong += [f"{name}: version '{version}', expected the default '@{VERSION}'"
              for name, version in sorted(found.items()) if version != "@" + VERSION]
    print("\n".join(wrong) or f"{len(found)} symbols, all {VERSION}")
    return 1 if wrong or len(listed) < 190 else 0


sys.exit(main())
