#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What may depend on what: docs/architecture.md has a table, and every #include of the tree is held against it. Also the
rules of the parts that know least: the NIC has no thread, socket, file or clock, and engine and device code do not
know whether a NIC is real.

folder_rules.py SOURCE_DIR"""
import os
import re
import sys

SOURCES = re.compile(r"\.(c|h|cpp|cuh|cu)$")
INCLUDE = re.compile(r'^\s*#\s*include\s+["<]([^">]+)[">]', re.M)
# Where a name is looked for besides the folder of the file that includes it.
SEARCHED = ["", "include", "device", "emu/simt", "hw_tests/common"]
# emu/nicmodel: a state machine that its owner drives. FILE is one that somebody hands in (prm_print.c).
NO_SYSTEM = re.compile(
    r"\b(pthread_\w+|socket|sendmsg|recvmsg|fopen|open|mmap|clock_gettime|gettimeofday|time|nanosleep|usleep|getenv|fork|"
    r"syscall|printf|puts|perror)\s*\(|#\s*include\s+<(pthread|threads|unistd|fcntl|time|sys/(socket|mman|time|stat))\.h>")
NO_MODEL = re.compile(r"\b(nicmodel|gdakit run|GDAKIT_(HOST|NICS|WIRE|FABRIC)|emu/(nicmodel|uverbs|world|link))\b")
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)


def table(root):
    """Folder -> what it may include, from the rows "| `a/`, `b/` | `c/`, ... |"."""
    rules = {}
    for line in open(os.path.join(root, "docs/architecture.md"), encoding="utf-8"):
        cells = line.split("|")
        if len(cells) == 4 and cells[1].strip().startswith("`"):
            for folder in re.findall(r"`([^`]+)/`", cells[1]):
                rules[folder] = [name.rstrip("/") for name in re.findall(r"`([^`]+)`", cells[2])]
    return rules


def below(path, folder):
    return path == folder or path.startswith(folder + "/")


def sources(root, folder):
    for where, _, names in os.walk(os.path.join(root, folder)):
        for name in sorted(names):
            if SOURCES.search(name):
                yield os.path.relpath(os.path.join(where, name), root)


def included(root, path, name):
    """The file of the tree that an #include means, or None."""
    for base in [os.path.dirname(path)] + SEARCHED:
        found = os.path.normpath(os.path.join(base, name))
        if os.path.isfile(os.path.join(root, found)):
            return found
    return None


def check_includes(root, rules):
    wrong = 0
    for folder, allowed in rules.items():
        for path in sources(root, folder):
            text = open(os.path.join(root, path), encoding="utf-8").read()
            for name in INCLUDE.findall(text):
                found = included(root, path, name)
                if found and not any(below(found, what) for what in [folder] + allowed):
                    print(f"{path} includes {found}: docs/architecture.md lets {folder}/ include {', '.join(allowed) or 'nothing'}")
                    wrong += 1
    return wrong


def check_words(root, folders, forbidden, what):
    wrong = 0
    for folder in folders:
        for path in sources(root, folder):
            text = COMMENT.sub(lambda m: "\n" * m[0].count("\n"), open(os.path.join(root, path), encoding="utf-8").read())
            for n, line in enumerate(text.splitlines(), 1):
                found = forbidden.search(line)
                if found:
                    print(f"{path}:{n}: {what}: {found[0]}")
                    wrong += 1
    return wrong


def main():
    root = sys.argv[1]
    rules = table(root)
    wrong = check_includes(root, rules)
    parts = [os.path.join("emu", name) for name in os.listdir(os.path.join(root, "emu"))]
    for folder in sorted(name for name in parts + ["include", "device", "src", "hw_tests", "tools"]
                         if os.path.isdir(os.path.join(root, name)) and name not in rules):
        print(f"docs/architecture.md does not say what {folder}/ may depend on")
        wrong += 1
    wrong += check_words(root, ["emu/nicmodel"], NO_SYSTEM, "the NIC has no thread, socket, file or clock")
    wrong += check_words(root, ["src", "device"], NO_MODEL, "whether a NIC is real is not known here")
    print(f"{len(rules)} folders, {wrong} wrong")
    return 1 if wrong else 0


sys.exit(main())
