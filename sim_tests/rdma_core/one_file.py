#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs one file of rdma-core's tests, unmodified, and writes what became of each test.

one_file.py TESTS_DIR MODULE RESULTS [NAME...]: NAMEs are tests that are left out. RESULTS gets a
line when a test starts ("start NAME"), and one when it has ended ("pass NAME", "fail NAME",
"skip NAME<tab>REASON"), at once, so that a test which takes the process with it is known.
"""
import importlib
import os
import sys
import unittest


class Results(unittest.TextTestResult):
    """Writes each end of a test to the file of results; a forked child of a test writes nothing."""

    file = None
    owner = os.getpid()

    def line(self, word, test, more=""):
        if os.getpid() == self.owner:
            os.write(self.file, f"{word} {test.id()}{more}\n".encode())

    def startTest(self, test):
        self.line("start", test)
        super().startTest(test)

    def addSuccess(self, test):
        self.line("pass", test)
        super().addSuccess(test)

    def addSkip(self, test, reason):
        self.line("skip", test, "\t" + " ".join(reason.split()))
        super().addSkip(test, reason)

    def addError(self, test, err):
        self.line("fail", test)
        super().addError(test, err)

    def addFailure(self, test, err):
        self.line("fail", test)
        super().addFailure(test, err)

    def addSubTest(self, test, subtest, err):
        if err:
            self.line("fail", test)
        super().addSubTest(test, subtest, err)

    def addExpectedFailure(self, test, err):
        self.line("pass", test)
        super().addExpectedFailure(test, err)

    def addUnexpectedSuccess(self, test):
        self.line("fail", test)
        super().addUnexpectedSuccess(test)


def each(suite):
    for t in suite:
        if isinstance(t, unittest.TestSuite):
            yield from each(t)
        else:
            yield t


def main():
    folder, module, results, leave_out = sys.argv[1], sys.argv[2], sys.argv[3], set(sys.argv[4:])
    # The tests' own command line: none of it is used.
    sys.argv[1:] = []
    # The package loads all of its files, in an order in which their imports of each other work.
    sys.path[:0] = [os.path.dirname(os.path.abspath(folder)), folder]
    importlib.import_module("args_parser").parser.parse_args()
    importlib.import_module("tests")
    Results.file = os.open(results, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    found = unittest.defaultTestLoader.loadTestsFromModule(importlib.import_module("tests." + module))
    suite = unittest.TestSuite(t for t in each(found) if t.id() not in leave_out)
    runner = unittest.TextTestRunner(resultclass=Results, verbosity=2)
    status = int(not runner.run(suite).wasSuccessful())
    sys.stdout.flush()
    sys.stderr.flush()
    # Every test has ended and closed what it opened. An interpreter that ends takes the rest apart in
    # any order, and pyverbs objects that outlive their context crash then, on any device.
    os._exit(status)


main()
