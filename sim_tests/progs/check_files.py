#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The two files of gdakit run --check say the same: check_files.py FINDINGS.jsonl FINDINGS.xml"""
import json
import sys
import xml.etree.ElementTree

findings = [json.loads(line) for line in open(sys.argv[1], encoding="utf-8")]
suite = xml.etree.ElementTree.parse(sys.argv[2]).getroot()[0]
failures = [case for case in suite if case.find("failure") is not None]
assert findings and len(findings) == len(failures) == int(suite.get("failures")), (len(findings), len(failures))
assert len(suite) == int(suite.get("tests"))
for finding, case in zip(findings, failures):
    assert case.get("name") == f"{finding['rule']} {finding['title']}", (finding, case.attrib)
    assert case.find("failure").get("message") == finding["saw"]
    assert finding["hardware"] in case.find("failure").text
    if "wqe" in finding:
        assert finding["decoded"] in case.find("failure").text
        assert len(bytes.fromhex(finding["wqe"])) % 64 == 0
