#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Checks collapsed stacks with two counts, before and after, as difffolded.pl writes them and
flamegraph.pl reads them.

    check_folded_diff.py FILE...      problems on stdout, exit 1 when there are any
    check_folded_diff.py --self-test  tries the checker on texts with one trap each
"""

import re

from check_folded import STACK, check_lines
from checker import main, try_traps

LINE = re.compile(STACK + r" (?P<before>0|[1-9]\d*) (?P<after>0|[1-9]\d*)")


def check(data):
    """Checks bytes: (problems, {stack: (before, after)})."""
    return check_lines(data, LINE, "a stack and two counts")


def problems_of(data):
    return check(data)[0]


GOOD = "server;main;malloc 4096 0\nserver;main;operator new(unsigned long) 64 128\n"

TRAPS = [
    ("4096 0", "0 0", "two counts"),
    ("4096 0", "4096", "two counts"),
    ("4096 0", "4096 -1", "two counts"),
    ("4096 0", "4096 1e3", "two counts"),
    ("4096 0", "4096 0 1", "two counts"),
    ("4096 0", "4096 0 ", "two counts"),
    ("main;malloc", ";malloc", "empty frame"),
    ("malloc", "operator new(unsigned long)", "there before"),
    ("128\n", "128", "no end"),
    ("main;", "m\x1bain;", "control"),
]


def self_test():
    failures, stacks = check(GOOD.encode())
    if list(stacks.values()) != [(4096, 0), (64, 128)]:
        failures.append(f"counted {stacks}")
    return failures + try_traps(GOOD, TRAPS, problems_of)


if __name__ == "__main__":
    main(__doc__, problems_of, self_test)
