#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Checks massif's format as ms_print and massif-visualizer read it: its lines, snapshots in order,
one peak, and that nodes are the sums of their children, the largest first.

    check_massif.py FILE...      problems on stdout, exit 1 when there are any
    check_massif.py --self-test  tries the checker on texts with one trap each
"""

import re

import checker

HEADER = [re.compile(r"desc: [^#]+"), re.compile(r"cmd: [^#]+"), re.compile(r"time_unit: (ms|B)")]
RULE = "#-----------"
FIELDS = ("time", "mem_heap_B", "mem_heap_extra_B", "mem_stacks_B")
NODE = re.compile(r"( *)n(\d+): (\d+) ([^#]+)")
ROOT = "(heap allocation functions) malloc/new/new[], --alloc-fns, etc."
FRAME = re.compile(r"0x[0-9A-F]+: \S.*")
FOLDED = re.compile(r"in (1 place,|\d+ places, all) below massif's threshold \(\d+\.\d\d%\)")


class Malformed(Exception):
    """A line that no reader takes."""


class Snapshots:
    def __init__(self, lines):
        self.lines, self.at = lines, 0
        self.problems, self.time, self.number, self.peaks = [], 0, 0, 0
        self.total = 0

    def take(self, pattern):
        line = self.lines[self.at] if self.at < len(self.lines) else ""
        match = re.fullmatch(pattern, line)
        if not match:
            raise Malformed(f"{line!r} instead of {pattern}")
        self.at += 1
        return match

    def node(self, depth):
        """Its bytes."""
        indent, n, size, label = self.take(NODE).groups()
        n, size = int(n), int(size)
        if len(indent) != depth:
            raise Malformed(f"{len(indent)} deep instead of {depth}: {label!r}")
        if (label != ROOT) if depth == 0 else not (FRAME.fullmatch(label) or
                                                   FOLDED.fullmatch(label)):
            self.problems.append(f"no label: {label!r}")
        if size > self.total:
            self.problems.append(f"a node of {size} in a snapshot of {self.total}")
        children = [self.node(depth + 1) for _ in range(n)]
        if children and sum(children) != size:
            self.problems.append(f"children of {sum(children)} below {size}")
        if children != sorted(children, reverse=True):
            self.problems.append("the largest does not come first")
        return size

    def snapshot(self):
        self.take(RULE)
        self.take(f"snapshot={self.number}")
        self.take(RULE)
        time, heap, extra, stacks = (int(self.take(rf"{name}=(\d+)").group(1)) for name in FIELDS)
        tree = self.take(r"heap_tree=(empty|detailed|peak)").group(1)
        if time < self.time:
            self.problems.append(f"time goes back to {time}")
        self.time, self.number = time, self.number + 1
        self.total = heap + extra + stacks
        self.peaks += tree == "peak"
        if tree != "empty" and self.node(0) != heap:
            self.problems.append("the root is not the snapshot")


def check(data):
    # A run without allocations gives an empty file.
    if not data:
        return []
    lines = data.decode("utf-8").split("\n")
    if lines.pop() or len(lines) < 4:
        return ["it does not end as such a file"]
    for line, pattern in zip(lines, HEADER):
        if not pattern.fullmatch(line):
            return [f"no header: {line!r}"]
    snapshots = Snapshots(lines[len(HEADER):])
    try:
        while snapshots.at < len(snapshots.lines):
            snapshots.snapshot()
    except Malformed as error:
        return [str(error)]
    if snapshots.peaks > 1:
        snapshots.problems.append("more than one peak")
    return snapshots.problems


GOOD = """desc: memtraced 1.0, pid 42
cmd: server
time_unit: ms
#-----------
snapshot=0
#-----------
time=5
mem_heap_B=160
mem_heap_extra_B=0
mem_stacks_B=0
heap_tree=peak
n3: 160 (heap allocation functions) malloc/new/new[], --alloc-fns, etc.
 n1: 128 0x401136: make (a.c:10)
  n0: 128 0x401180: main (in /bin/server)
 n0: 31 0x0: ???
 n0: 1 in 1 place, below massif's threshold (1.00%)
#-----------
snapshot=1
#-----------
time=7
mem_heap_B=0
mem_heap_extra_B=0
mem_stacks_B=0
heap_tree=empty
"""

# What is replaced in GOOD, by what, and a part of the problem that must be reported.
TRAPS = [
    ("heap_tree=empty\n", "heap_tree=empty", "does not end"),
    ("desc: ", "desc:", "no header"),
    ("cmd: server", "cmd: {lambda()#1}", "no header"),
    ("time_unit: ms", "time_unit: s", "no header"),
    ("snapshot=1", "snapshot=2", "instead of snapshot=1"),
    ("#-----------\nsnapshot=1", "#---\nsnapshot=1", "instead of #-----------"),
    ("mem_stacks_B=0\nheap_tree=peak", "heap_tree=peak", "instead of mem_stacks_B"),
    ("time=7", "time=4", "goes back"),
    ("time=7", "time=7.5", "instead of time="),
    ("mem_heap_B=160", "mem_heap_B=100", "in a snapshot of 100"),
    ("mem_heap_B=160", "mem_heap_B=161", "the root is not"),
    ("n0: 31 ", "n0: 30 ", "children of 159"),
    ("n0: 31 0x0: ???\n n0: 1 in 1 place,", "n0: 1 0x0: ???\n n0: 31 in 1 place,",
     "the largest does not"),
    ("n3: 160", "n4: 160", "instead of"),
    ("  n0: 128", " n0: 128", "deep instead of 2"),
    ("0x401136: ", "", "no label"),
    ("in 1 place,", "in 2 place,", "no label"),
    ("make (", "make#1 (", "instead of"),
    ("heap_tree=empty\n", "heap_tree=peak\n"
     "n0: 0 (heap allocation functions) malloc/new/new[], --alloc-fns, etc.\n", "more than one"),
]


def self_test():
    return check(GOOD.encode()) + checker.try_traps(GOOD, TRAPS, check)


if __name__ == "__main__":
    checker.main(__doc__, check, self_test)
