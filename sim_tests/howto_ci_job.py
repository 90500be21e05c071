#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The workflow of docs/how-to/ci-job.md: is it YAML, and does each command in it exist?

howto_ci_job.py WORKFLOW GDAKIT           checks it; exit code 77: PyYAML is missing
howto_ci_job.py WORKFLOW --step JOB NAME  prints the script of a step, to be run
"""
import os
import re
import shlex
import shutil
import subprocess
import sys

try:
    import yaml
except ImportError:
    print("SKIP PyYAML is not installed")
    sys.exit(77)

TREE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# Not on the machines where this runs: there as GitHub's own.
ELSEWHERE = {"sudo"}
SHELL = {"cd", "wait", "until", "do", "done", "if", "then", "fi", "for"}
CHECKOUT = "gdakit/"  # where the workflow puts the tree


def fail(what):
    print("FAIL " + what)
    sys.exit(1)


def steps_of(workflow, job):
    return workflow["jobs"][job]["steps"]


def commands(script):
    """The simple commands of a script, each as its words."""
    lexer = shlex.shlex(script.replace("\n", " ; "), posix=True, punctuation_chars=True)
    lexer.whitespace_split, lexer.commenters = True, "#" if "\n#" in script else ""
    words = []
    for word in lexer:
        if word and set(word) <= set(";&|()"):
            if words:
                yield words
            words = []
        else:
            words.append(word)
    if words:
        yield words


def without_redirections(words):
    """`2>&1` and `>file` are not arguments; the lexer splits them into up to three words."""
    out, skip = [], False
    for i, word in enumerate(words):
        if skip:
            skip = False
        elif word and set(word) <= set("<>&"):
            skip = True
        elif word.isdigit() and i + 1 < len(words) and words[i + 1].startswith((">", "<")):
            continue
        else:
            out.append(word)
    return out


def check_gdakit(words, gdakit):
    """Its command, and each option before `--`."""
    def text(*args):
        return subprocess.run([gdakit, *args], capture_output=True, text=True, check=False).stdout

    command = words[1] if len(words) > 1 else ""
    if not re.search(rf"^ +{re.escape(command)} ", text("--help"), re.M):
        fail(f"gdakit has no command '{command}'")
    own = words[2:words.index("--")] if "--" in words else words[2:]
    for option in (w.split("=")[0] for w in own if w.startswith("-")):
        if not re.search(rf"(^|[ ,]){re.escape(option)}\b", text(command, "--help"), re.M):
            fail(f"gdakit {command} has no option '{option}'")
    if "--" in words:
        check_command(words[words.index("--") + 1:], gdakit)


def check_command(words, gdakit):
    while words and (words[0] in SHELL or words[0] in ELSEWHERE):
        if words[0] == "cd" or words[0] == "wait":
            return
        words = words[1:]
    if not words:
        return
    if words[0] == "gdakit":
        check_gdakit(words, gdakit)
    elif words[0].startswith(CHECKOUT):
        if not os.access(os.path.join(TREE, words[0][len(CHECKOUT):]), os.X_OK):
            fail(f"{words[0]} is not in the tree")
    elif not shutil.which(words[0]):
        fail(f"there is no command '{words[0]}'")
    elif words[0] == "timeout":
        check_command(words[2:], gdakit)
    elif words[:2] == ["bash", "-c"]:
        check_script(words[2], gdakit)
    elif words[0] == "cmake" and "--preset" in words:
        name = words[words.index("--preset") + 1]
        with open(os.path.join(TREE, "CMakePresets.json"), encoding="utf-8") as f:
            if f'"{name}"' not in f.read():
                fail(f"there is no preset '{name}'")


def check_script(script, gdakit):
    syntax = subprocess.run(["bash", "-n"], input=script, capture_output=True, text=True, check=False)
    if syntax.returncode:
        fail(f"bash does not take\n{script}\n{syntax.stderr}")
    count = 0
    for words in commands(script):
        check_command(without_redirections(words), gdakit)
        count += 1
    return count


def main():
    with open(sys.argv[1], encoding="utf-8") as f:
        workflow = yaml.safe_load(f)
    if sys.argv[2] == "--step":
        for step in steps_of(workflow, sys.argv[3]):
            if step.get("name") == sys.argv[4]:
                print(step["run"])
                return
        fail(f"job {sys.argv[3]} has no step '{sys.argv[4]}'")
    count = 0
    for job in workflow["jobs"]:
        steps = steps_of(workflow, job)
        scripts = [s["run"] for s in steps if "run" in s]
        for s in steps:
            if ("run" in s) == ("uses" in s):
                fail(f"job {job}: a step is either run or uses: {s}")
        count += sum(check_script(s, sys.argv[2]) for s in scripts)
        kept = next(s["with"]["path"] for s in steps if s.get("uses", "").startswith("actions/upload-artifact"))
        if not any(f"mkdir -p {kept}" in s for s in scripts):
            fail(f"job {job} keeps {kept}, which no step makes")
    if count < 10:
        fail(f"only {count} commands were found")
    print(f"ok: {count} commands")


main()
