#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Is it Prometheus text? prometheus_check.py FILE

What promtool minds: each name has one HELP and one TYPE, before its series, which stand together; counters end in
_total; names, labels and values have their form; no series is there twice."""
import re
import sys

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
LABEL = r'[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\["\\n])*"'
COMMENT = re.compile(rf"# (HELP|TYPE) ({NAME}) (\S.*)")
SERIES = re.compile(rf"({NAME})\{{({LABEL}(?:,{LABEL})*)\}} (\d+)")


def main():
    text = open(sys.argv[1], encoding="utf-8").read()
    seen, told, closed, name, wrong = set(), {}, set(), None, []
    if not text.endswith("\n"):
        wrong.append("the last line does not end")
    for n, line in enumerate(text.splitlines(), 1):
        comment, series = COMMENT.fullmatch(line), SERIES.fullmatch(line)
        if not comment and not series:
            wrong.append(f"line {n} is neither a comment nor a series: {line}")
            continue
        now = (comment or series).group(2 if comment else 1)
        if now != name:
            if now in closed:
                wrong.append(f"line {n}: {now} again, after others")
            closed.add(name)
            name = now
        if comment:
            if (now, comment[1]) in told or any(s.startswith(now + "{") for s in seen):
                wrong.append(f"line {n}: {comment[1]} of {now} twice, or after its series")
            told[now, comment[1]] = comment[3]
            continue
        labels = re.findall(LABEL, series[2])
        key = now + "{" + ",".join(sorted(labels)) + "}"
        if key in seen:
            wrong.append(f"line {n}: the series is there twice: {line}")
        seen.add(key)
        if len({label.split("=")[0] for label in labels}) != len(labels):
            wrong.append(f"line {n}: a label twice: {line}")
        if told.get((now, "TYPE")) != "counter" or (now, "HELP") not in told or not now.endswith("_total"):
            wrong.append(f"line {n}: {now} is no counter that was announced")
    for sentence in wrong[:20]:
        print(sentence)
    print(f"{len(seen)} series of {len({s.split('{')[0] for s in seen})} names, {len(wrong)} wrong")
    return 1 if wrong or not seen else 0


sys.exit(main())
