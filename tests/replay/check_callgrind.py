#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Checks Callgrind's format: its lines, names before their numbers, and that what functions cost
themselves is the sum.

    check_callgrind.py FILE...      problems on stdout, exit 1 when there are any
    check_callgrind.py --self-test  tries the checker on texts with one trap each
"""

import re

import checker

HEADER = re.compile(r"version: 1|creator: .+|pid: \d+|cmd: .*|desc: \w+: .+|positions: line|"
                    r"event: (\w+) : .+|events:( \w+)+|summary:( \d+)+")
FUNCTION = re.compile(r"(c?)fn=\((\d+)\)(?: (.+))?$")
NAMED = re.compile(r"(c?ob|fl|cfi)=.+$")
CALLS = re.compile(r"calls=\d+ 0$")
COSTS = re.compile(r"\d+((?: \d+)+)$")


class Graph:
    """What is read, function by function."""

    def __init__(self, n_costs):
        self.n_costs, self.names, self.own, self.calls = n_costs, {}, {}, {}
        self.here = self.callee = None
        self.called = False

    def function(self, match):
        is_callee, number, name = match.groups()
        if (name is None) != (number in self.names):
            yield f"({number}) has its name not the first time, or twice"
        self.names.setdefault(number, name)
        if is_callee:
            self.callee = number
        else:
            self.here, self.callee = number, None

    def costs(self, numbers):
        if len(numbers) != self.n_costs:
            yield f"{len(numbers)} costs instead of {self.n_costs}"
        elif self.here is None or (self.callee is not None) != self.called:
            yield "costs of no function, or of a callee without calls="
        elif self.callee is None:
            self._add(self.own, self.here, numbers)
        else:
            self._add(self.calls, (self.here, self.callee), numbers)
        self.callee, self.called = None, False

    @staticmethod
    def _add(sums, key, numbers):
        sums[key] = [a + b for a, b in zip(sums.get(key, [0] * len(numbers)), numbers)]

    def line(self, line):
        if match := FUNCTION.match(line):
            yield from self.function(match)
        elif CALLS.match(line):
            self.called = True
        elif match := COSTS.match(line):
            yield from self.costs([int(word) for word in match.group(1).split()])
        elif line and not NAMED.match(line):
            yield f"no line of the format: {line!r}"


def header_of(lines):
    """(number of lines, totals, problems)"""
    events, summary, n = [], None, 0
    for n, line in enumerate(lines):
        if not line:
            break
        if not HEADER.match(line):
            return n, None, [f"no header: {line!r}"]
        if line.startswith("events:"):
            events = line.split()[1:]
        if line.startswith("summary:"):
            summary = [int(word) for word in line.split()[1:]]
    if not events or summary is None or len(events) != len(summary):
        return n, None, ["no events, or not a sum for each"]
    return n, summary, []


def check(data):
    # A run without a job that has stacks gives an empty file.
    if not data:
        return []
    lines = data.decode("utf-8").split("\n")
    if lines[0] != "# callgrind format" or lines[-1] or not lines[-2].startswith("totals:"):
        return ["it does not begin or end as such a file"]
    n, summary, problems = header_of(lines[1:])
    if problems:
        return problems
    graph = Graph(len(summary))
    for line in lines[n + 1:-2]:
        problems += graph.line(line)
    if [int(word) for word in lines[-2].split()[1:]] != summary:
        problems.append("the totals are not those of the header")
    own = [sum(column) for column in zip(*graph.own.values())] or [0] * len(summary)
    if own != summary:
        problems.append(f"functions cost {own} themselves, which is not {summary}")
    return problems


GOOD = """# callgrind format
version: 1
creator: memtraced 1.0
pid: 42
cmd: server
desc: Totals: exact
positions: line
event: Live : Live bytes
event: Allocs : Allocations
events: Live Allocs
summary: 160 3

ob=/bin/server
fl=a.c
fn=(1) main
4 32 1
cob=/bin/server
cfi=???
cfn=(2) make
calls=2 0
5 128 2

ob=/bin/server
fl=???
fn=(2)
0 128 2

totals: 160 3
"""

# What is replaced in GOOD, by what, and a part of the problem that must be reported.
TRAPS = [
    ("# callgrind format\n", "", "begin or end"),
    ("\ntotals: 160 3\n", "\n", "begin or end"),
    ("positions: line", "positions: instr", "no header"),
    ("events: Live Allocs", "events: Live", "not a sum for each"),
    ("summary: 160 3\n", "", "not a sum for each"),
    ("totals: 160 3", "totals: 161 3", "not those of the header"),
    ("4 32 1", "4 33 1", "which is not"),
    ("4 32 1", "4 32", "1 costs instead of 2"),
    ("4 32 1", "4 -32 1", "no line of the format"),
    ("fn=(1) main", "fn=(1)", "has its name"),
    ("fn=(2)\n", "fn=(2) make\n", "has its name"),
    ("calls=2 0\n", "", "without calls="),
    ("cfi=", "cxx=", "no line of the format"),
]


def self_test():
    return check(GOOD.encode()) + checker.try_traps(GOOD, TRAPS, check)


if __name__ == "__main__":
    checker.main(__doc__, check, self_test)
