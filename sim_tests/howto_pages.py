#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What a page of docs/how-to promises: howto_pages.py PAGE BUILD

In its indented blocks, lines that begin with `$ ` are commands and the lines below them what they print. Each is
run in the source tree, with the build folder in the place of build/release, and must print that. In an output
`...` stands for anything; with it, other lines may lie between. Links to files must lead somewhere.
Exit code 77: `gdakit run` cannot work on this machine.
"""
import os
import re
import subprocess
import sys

TREE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def fail(what):
    print("FAIL " + what)
    sys.exit(1)


def check_links(page, text):
    for target in re.findall(r"\]\(([^)#]+)\)", text):
        if "://" not in target and not os.path.exists(os.path.join(os.path.dirname(page), target)):
            fail(f"{page}: the link to {target} leads nowhere")


def examples(text):
    """Pairs of a command and the lines below it."""
    command, output = None, []
    for line in text.split("\n") + [""]:
        if line.startswith("    $ "):
            if command:
                yield command, output
            command, output = line[6:], []
        elif command and line.startswith("    "):
            output.append(line[4:])
        elif command:
            yield command, output
            command = None


def prints(expected, got):
    if not any("..." in line for line in expected):
        return expected == got
    lines = iter(got)
    for line in (e for e in expected if e != "..."):
        pattern = re.compile(".*".join(re.escape(part) for part in line.split("...")))
        if not any(pattern.fullmatch(g) for g in lines):
            return False
    return True


def main():
    page, build = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    with open(page, encoding="utf-8") as f:
        text = f.read()
    check_links(page, text)
    doctor = subprocess.run([build + "/bin/gdakit", "doctor"], capture_output=True, text=True, check=False)
    if doctor.returncode:
        print("SKIP " + doctor.stdout.rstrip().rsplit("\n", 1)[-1])
        sys.exit(77)
    count = 0
    for command, expected in examples(text):
        words = [re.sub("^build/release", build, word) for word in command.split()]
        run = subprocess.run(words, cwd=TREE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                             timeout=100, check=False)
        got = run.stdout.rstrip("\n").split("\n")
        if not prints(expected, got):
            fail(f"{command} printed\n" + "\n".join(got) + "\nand the page says\n" + "\n".join(expected))
        count += 1
    if not count:
        fail(f"{page} has no command")
    print(f"{count} commands print what the page says")


main()
