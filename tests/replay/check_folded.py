#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Checks collapsed stacks: what flamegraph.pl, inferno, gprof2dot and speedscope all read alike.

    check_folded.py FILE...      problems on stdout, exit 1 when there are any
    check_folded.py --self-test  tries the checker on texts with one trap each
"""

import re

from checker import main, try_traps

# Readers split at the last blank, and take a number before the count for a second count.
STACK = r"(?P<stack>(?:\S[^\n]* )?(?![\d.]+ )\S+)"
LINE = re.compile(STACK + r" (?P<count>[1-9]\d*)")
ROOT = re.compile(r".+-\d+")
EACH_PEAK = "each_process_at_its_own_peak"  # a root above those of processes


def check_lines(data, pattern, wanted, root=None):
    """Checks bytes whose lines are a stack and more, by `pattern`: (problems, {stack: its other
    groups, as numbers}), which are not all 0. `wanted`: what a line is to be."""
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
        match = pattern.fullmatch(line)
        counts = tuple(int(count) for count in match.groups()[1:]) if match else ()
        if not any(counts):
            problems.append(f"line {number}: not {wanted}: {line!r}")
            continue
        frames = match["stack"].split(";")
        if root and frames[0] == EACH_PEAK:
            frames.pop(0)
        if not all(frames):
            problems.append(f"line {number}: an empty frame: {line!r}")
        if root and not root.fullmatch(frames[0]):
            problems.append(f"line {number}: the root is not COMM-PID: {frames[0]!r}")
        if match["stack"] in stacks:
            problems.append(f"line {number}: this stack was there before: {line!r}")
        stacks[match["stack"]] = counts
    return problems, stacks


def check(data):
    """Checks bytes: (problems, {stack: count})."""
    problems, stacks = check_lines(data, LINE, "a stack and a positive count", ROOT)
    return problems, {stack: count for stack, (count,) in stacks.items()}


def problems_of(data):
    return check(data)[0]


GOOD = "my server-42;main;malloc 4096\nmy server-42;main;operator new(unsigned long) 64\n"

TRAPS = [
    ("4096", "0", "positive count"),
    ("4096", "-1", "positive count"),
    ("4096", "1e3", "positive count"),
    ("4096", "4096 64", "positive count"),
    (" 4096", "", "positive count"),
    ("4096", "4096 ", "positive count"),
    ("main;malloc", ";malloc", "empty frame"),
    ("server-42;main;malloc", "server;main;malloc", "COMM-PID"),
    ("malloc", "operator new(unsigned long)", "there before"),
    ("64\n", "64", "no end"),
    ("4096\n", "4096\n\n", "positive count"),
    ("main;", "m\x1bain;", "control"),
]


def self_test():
    failures, stacks = check(GOOD.encode())
    if sum(stacks.values()) != 4160:
        failures.append(f"counted {stacks}")
    return failures + try_traps(GOOD, TRAPS, problems_of)


if __name__ == "__main__":
    main(__doc__, problems_of, self_test)
