#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""rdma-core's own pyverbs tests under `gdakit run`, held against a committed list.

run.py --tests DIR --list FILE --log DIR [--timeout S] [--only MODULE]... -- COMMAND...

COMMAND runs a program on the model: `gdakit run -- python3`, or the same in a private root. The list
(skips-*.txt) names the tests that may skip, each with its class; "leave-out TEST CLASS" names one that
cannot skip and is not run; tests of a "machine-class" need what a machine may have, and may pass there. It fails on: a test that fails, is
stopped by the timeout, or takes its process with it; a skip that the list does not name; a name in
the list that did not skip; fewer passes than the list's minimum.
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile


class List:
    """The committed list: minimum, classes, and test -> class."""

    def __init__(self, path):
        self.minimum, self.classes, self.tests, self.left_out = 0, {}, {}, set()
        self.of_machine = set()
        for n, text in enumerate(open(path, encoding="utf-8"), 1):
            words = text.split("#")[0].split(None, 2)
            if not words:
                continue
            if words[0] == "minimum" and len(words) == 2:
                self.minimum = int(words[1])
            elif words[0] in ("class", "machine-class") and len(words) == 3:
                self.classes[words[1]] = words[2].strip()
                if words[0] == "machine-class":
                    self.of_machine.add(words[1])
            elif words[0] == "leave-out" and len(words) == 3 and words[2].strip() in self.classes:
                self.tests[words[1]] = words[2].strip()
                self.left_out.add(words[1])
            elif len(words) == 2 and words[1] in self.classes and words[0] not in self.tests:
                self.tests[words[0]] = words[1]
            else:
                sys.exit(f"{path}:{n}: not understood, a class that is not declared, or a name twice: {text.strip()}")


def run_once(command, folder, module, leave_out, log, timeout_s):
    """One process: (results as {name: (word, reason)}, name of the test under way at the end, how it ended)."""
    here = os.path.dirname(os.path.abspath(__file__))
    results, running = {}, None
    # Beside the log, which a private root can see as well.
    with tempfile.NamedTemporaryFile("r", dir=os.path.dirname(log.name), suffix=".results") as out:
        child = [os.path.join(here, "one_file.py"), folder, module, out.name, *leave_out]
        # timeout(1) ends the whole process group, and waits.
        cmd = ["timeout", "-k", "5", str(timeout_s), *command, *child]
        rc = subprocess.run(cmd, stdin=subprocess.DEVNULL, stdout=log, stderr=log, check=False).returncode
        for text in out:
            word, _, rest = text.rstrip("\n").partition(" ")
            name, _, reason = rest.partition("\t")
            if word == "start":
                running = name
            # What fails in the clean-up after a pass has failed.
            if word != "start" and results.get(name, ("",))[0] != "fail":
                results[name] = (word, reason)
                running = None
    if rc in (124, 137):
        return results, running, f"did not end within {timeout_s} s"
    return results, running, f"the process ended with status {rc}" if rc not in (0, 1) else ""


def run_file(command, folder, module, logs, timeout_s, left_out):
    """Every test of a file, in as many processes as it takes: {name: (word, reason)}."""
    results = {t: ("skip", "left out") for t in left_out if t.split(".")[1] == module}
    with open(os.path.join(logs, module + ".log"), "w", encoding="utf-8") as log:
        while True:
            got, running, end = run_once(command, folder, module, list(results), log, timeout_s)
            results.update(got)
            if not end:
                break
            # The one that was running, or none: the rest goes on in another process.
            results[running or f"{module}: beside its tests, {len(results)} of which had ended"] = ("fail", end)
            if not got:
                break
    if not results:
        results[f"{module}: no test was found"] = ("fail", f"see {log.name}")
    return results


def judge(results, skips, whole):
    """What is wrong, as sentences."""
    wrong = []
    for name, (word, reason) in results.items():
        if word == "fail":
            wrong.append(f"{name} failed{': ' + reason if reason else ''}")
        elif word == "skip" and name not in skips.tests:
            wrong.append(f"{name} skipped, and the list does not name it: {reason}")
        elif word == "pass" and name in skips.tests and skips.tests[name] not in skips.of_machine:
            wrong.append(f"{name} passes now: take it out of the list (class {skips.tests[name]})")
    if whole:
        wrong += [f"{name} is in the list and was not run" for name in skips.tests if name not in results]
        passed = sum(word == "pass" for word, _ in results.values())
        if passed < skips.minimum:
            wrong.append(f"{passed} passed, the list's minimum is {skips.minimum}")
    return wrong


def count(results):
    words = [word for word, _ in results.values()]
    return words.count("pass"), words.count("fail"), words.count("skip")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tests", required=True)
    parser.add_argument("--list", required=True)
    parser.add_argument("--log", required=True)
    parser.add_argument("--timeout", type=int, default=90)
    parser.add_argument("--only", action="append")
    parser.add_argument("command", nargs="+")
    args = parser.parse_args()
    skips, results, classes = List(args.list), {}, {}
    os.makedirs(args.log, exist_ok=True)
    modules = sorted(f[:-3] for f in os.listdir(args.tests) if re.fullmatch(r"test_\w+\.py", f))
    for module in args.only or modules:
        got = run_file(args.command, args.tests, module, args.log, args.timeout, skips.left_out)
        print("  %-24s %3d passed, %d failed, %d skipped" % (module, *count(got)), flush=True)
        results.update(got)
    with open(os.path.join(args.log, "results.txt"), "w", encoding="utf-8") as out:
        out.writelines(f"{word} {name}\t{reason}\n" for name, (word, reason) in sorted(results.items()))
    for name, (word, _) in results.items():
        if word == "skip":
            what = skips.tests.get(name, "not in the list")
            classes[what] = classes.get(what, 0) + 1
    print("  skipped by class: " + ", ".join(f"{n} {what}" for what, n in sorted(classes.items())))
    wrong = judge(results, skips, not args.only)
    for sentence in wrong:
        print("  FAIL " + sentence)
    passed, _, skipped = count(results)
    print(f"{passed} passed, {len(wrong)} failed, {skipped} skipped")
    sys.exit(bool(wrong))


main()
