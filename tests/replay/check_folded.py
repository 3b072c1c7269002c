#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Checks collapsed stacks: what flamegraph.pl, inferno, gprof2dot and speedscope all read alike.

    check_folded.py FILE...      problems on stdout, exit 1 when there are any
    check_folded.py --self-test  tries the checker on texts with one trap each
"""

import re
import sys

LINE = re.compile(r"(?P<stack>\S+) (?P<count>[1-9]\d*)")
ROOT = re.compile(r".+-\d+")


def check(data):
    """Checks bytes: (problems, {stack: count})."""
    problems, stacks = [], {}
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        return [f"not UTF-8: {error}"], stacks
    if re.search(r"[\x00-\x09\x0b-\x1f\x7f]", text):
        problems.append("control characters")
    if text and not text.endswith("\n"):
        problems.append("the last line has no end")
    for number, line in enumerate(text.split("\n")[:-1] if text else [], 1):
        match = LINE.fullmatch(line)
        if not match:
            problems.append(f"line {number}: not a stack and a positive count: {line!r}")
            continue
        frames = match["stack"].split(";")
        if not all(frames):
            problems.append(f"line {number}: an empty frame: {line!r}")
        if not ROOT.fullmatch(frames[0]):
            problems.append(f"line {number}: the root is not COMM-PID: {frames[0]!r}")
        if match["stack"] in stacks:
            problems.append(f"line {number}: this stack was there before: {line!r}")
        stacks[match["stack"]] = int(match["count"])
    return problems, stacks


GOOD = "server-42;main;malloc 4096\nserver-42;main;operator_new(unsigned_long) 64\n"

# What is replaced in GOOD, by what, and a part of the problem that must be reported.
TRAPS = [
    ("4096", "0", "positive count"),
    ("4096", "-1", "positive count"),
    ("4096", "1e3", "positive count"),
    ("4096", "4096 64", "positive count"),
    (" 4096", "", "positive count"),
    ("4096", "4096 ", "positive count"),
    ("main;malloc", "my main;malloc", "positive count"),
    ("main;malloc", ";malloc", "empty frame"),
    ("server-42;main;malloc", "server;main;malloc", "COMM-PID"),
    ("malloc", "operator_new(unsigned_long)", "there before"),
    ("64\n", "64", "no end"),
    ("4096\n", "4096\n\n", "positive count"),
    ("main;", "m\x1bain;", "control"),
]


def self_test():
    failures, stacks = check(GOOD.encode())
    if sum(stacks.values()) != 4160:
        failures.append(f"counted {stacks}")
    for old, new, expected in TRAPS:
        bad = GOOD.replace(old, new)
        problems, _ = check(bad.encode())
        if bad == GOOD or not any(expected in problem for problem in problems):
            failures.append(f"{new!r} for {old!r}: {problems}")
    return failures


def main(arguments):
    if not arguments:
        print(__doc__)
        return 2
    if arguments == ["--self-test"]:
        problems = self_test()
    else:
        problems = []
        for path in arguments:
            with open(path, "rb") as file:
                problems += [f"{path}: {problem}" for problem in check(file.read())[0]]
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
