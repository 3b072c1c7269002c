#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Checks heaptrack's interpreted data (FORMATS.md 4): what its readers take for granted, and that
nothing is freed that was not allocated; and adds it up as they do.

    check_heaptrack.py FILE...      problems on stdout, exit 1 when there are any
    check_heaptrack.py --text FILE  what stands in it: stacks with their sums, sums over time
    check_heaptrack.py --self-test  tries the checker on texts with one trap each
"""

import re

import checker

HEX = "[0-9a-f]+"
GRAMMAR = {
    "v": re.compile(f"v {HEX} 3"),
    "X": re.compile("X .+"),
    "I": re.compile(f"I {HEX} {HEX}"),
    "s": re.compile(f"s {HEX} .+"),
    "i": re.compile(f"i {HEX} {HEX}( {HEX}|( {HEX} {HEX} {HEX})+)?"),
    "t": re.compile(f"t {HEX} {HEX}"),
    "a": re.compile(f"a {HEX} {HEX}"),
    "+": re.compile(rf"\+ {HEX}"),
    "-": re.compile(f"- {HEX}"),
    "c": re.compile(f"c {HEX}"),
    "R": re.compile(f"R {HEX}"),
    "#": re.compile(f"# (strings|ips): {HEX}"),
}


class Sums:
    def __init__(self):
        self.calls = self.temporary = self.live = self.peak = 0


class Track:
    """What a reader knows of the file."""

    def __init__(self, lines):
        self.problems, self.command, self.rss = [], "", 0
        self.strings, self.ips, self.traces = [], [], []
        self.infos, self.held, self.by_trace, self.total = [], {}, {}, Sums()
        self.used = 0  # numbers below it were allocated; heaptrack_gui wants them in order
        self.last, self.time, self.peak_time, self.over_time = 0, 0, 0, []
        self.trailer = {}
        for line in lines:
            self.take(line)
        for name, found in (("strings", self.strings), ("ips", self.ips)):
            if self.trailer.get(name) != len(found):
                self.problems.append(f"not as many {name} as it says")

    def take(self, line):
        if not GRAMMAR.get(line[:1], re.compile("(?!)")).fullmatch(line):
            self.problems.append(f"no line: {line!r}")
            return
        mode, rest = line[0], line[2:]
        if mode == "s":
            length, text = rest.split(" ", 1)
            if int(length, 16) != len(text.encode()):
                self.problems.append(f"another length: {line!r}")
            self.strings.append(text)
        elif mode == "X":
            if self.command:
                self.problems.append("two commands")
            self.command = rest
        elif mode == "#":
            name, n = rest.split(": ")
            self.trailer[name] = int(n, 16)
        elif mode != "v":
            getattr(self, {"i": "ip", "t": "trace", "a": "info", "+": "plus", "-": "minus",
                           "c": "stamp", "R": "resident", "I": "page"}[mode])(
                               *(int(word, 16) for word in rest.split()))

    def known(self, number, table, what):
        if number > len(table):
            self.problems.append(f"no {what} {number:x}")
            return False
        return True

    def page(self, size, _):
        self.page_size = size

    def ip(self, _, module, *frames):
        words = [module] + [word for i, word in enumerate(frames) if i % 3 != 2]
        if all(self.known(word, self.strings, "string") for word in words):
            names = [self.strings[word - 1] if word else "?" for word in frames[::3]] or ["?"]
            self.ips.append(names)

    def trace(self, ip, parent):
        if self.known(ip or len(self.ips) + 1, self.ips, "ip") and \
                self.known(parent, self.traces, "trace"):
            self.traces.append((ip, parent))

    def info(self, size, trace):
        if self.known(trace, self.traces, "trace"):
            self.infos.append((size, trace))

    def plus(self, number):
        if number >= len(self.infos):
            self.problems.append(f"no block {number:x}")
            return
        if number > self.used:
            self.problems.append(f"block {number:x} comes before block {self.used:x}")
        self.used = max(self.used, number + 1)
        size, trace = self.infos[number]
        sums = self.by_trace.setdefault(trace, Sums())
        self.held[size, trace] = self.held.get((size, trace), 0) + 1
        self.last = number
        for each in (self.total, sums):
            each.calls += 1
            each.live += size
        if self.total.live > self.total.peak:
            self.total.peak, self.peak_time = self.total.live, self.time
            for each in self.by_trace.values():
                each.peak = each.live

    def minus(self, number):
        if number >= len(self.infos):
            self.problems.append(f"no block {number:x}")
            return
        size, trace = self.infos[number]
        self.held[size, trace] = self.held.get((size, trace), 0) - 1
        if self.held[size, trace] < 0:
            self.problems.append(f"freed, but never allocated: {size} by {trace:x}")
        for each in (self.total, self.by_trace.setdefault(trace, Sums())):
            each.live -= size
            each.temporary += number == self.last
        self.last = 0

    def stamp(self, time):
        if time < self.time:
            self.problems.append(f"time goes back to {time}")
        self.time = time
        self.over_time.append((time, self.total.live, self.total.calls))

    def resident(self, pages):
        self.rss = max(self.rss, pages * self.page_size)

    def stack(self, trace):
        """Names, innermost first."""
        names = []
        while trace:
            ip, trace = self.traces[trace - 1]
            names += self.ips[ip - 1]
        return names


def read(data):
    lines = data.decode("utf-8").split("\n")
    ends = lines.pop() == ""
    track = Track(lines)
    if not ends:
        track.problems.append("the last line has no end")
    if not lines or not lines[0].startswith("v "):
        track.problems.append("it does not begin with its version")
    return track


def check(data):
    # A run without allocations gives an empty file.
    return read(data).problems if data else []


def print_text(path):
    with open(path, "rb") as file:
        data = file.read()
    if not data:
        return
    track = read(data)
    print(track.command)
    print(f"in all: {track.total.calls} calls, {track.total.temporary} temporary, "
          f"peak {track.total.peak} at {track.peak_time} ms, {track.total.live} left, "
          f"RSS {track.rss}")
    for trace, sums in sorted(track.by_trace.items()):
        print(f"{sums.calls} calls, {sums.temporary} temporary, peak {sums.peak}, "
              f"{sums.live} left: {' < '.join(track.stack(trace))}")
    for time, live, calls in track.over_time:
        print(f"{time} ms: {live} live, {calls} calls")


GOOD = """v 10400 3
I 1000 0
s b /bin/server
s 4 main
s 3 a.c
s 3 inl
i 401180 1 2 3 a
t 1 0
i 7f00 1 4 3 5 2 3 7
t 2 1
i 7f10 1
t 3 1
i 7f20 0 2
t 4 0
X /bin/server --port 1
a 10 2
+ 0
+ 0
c 64
a 400 3
+ 1
- 1
a 10 2
+ 2
- 0
- 0
R 10
c c8
# strings: 4
# ips: 4
"""

# What is replaced in GOOD, by what, and a part of the problem that must be reported.
TRAPS = [
    ("ips: 4\n", "ips: 4", "has no end"),
    ("ips: 4", "ips: 3", "not as many ips"),
    ("strings: 4", "strings: 5", "not as many strings"),
    ("v 10400 3\n", "", "does not begin"),
    ("v 10400 3", "v 10400 4", "no line"),
    ("s b ", "s B ", "no line"),
    ("s 4 main", "s 5 main", "another length"),
    ("i 7f10 1\n", "i 7f10 9\n", "no string 9"),
    ("i 401180 1 2 3 a", "i 401180 1 2 3", "no line"),
    ("t 3 1", "t 9 1", "no ip 9"),
    ("t 3 1", "t 0 1", "no ip"),
    ("t 3 1", "t 3 9", "no trace 9"),
    ("a 400 3", "a 400 9", "no trace 9"),
    ("+ 2", "+ 9", "no block 9"),
    ("- 1", "- 9", "no block 9"),
    ("- 1", "- 1\n- 1", "never allocated"),
    ("+ 1\n- 1\n", "", "comes before"),
    ("c c8", "c 63", "goes back"),
    ("c c8", "c -8", "no line"),
    ("R 10", "x 10", "no line"),
    ("R 10", "X again", "two commands"),
]


def self_test():
    track = read(GOOD.encode())
    sums = (track.total.calls, track.total.temporary, track.total.peak, track.total.live,
            track.peak_time, track.rss)
    wrong = [] if sums == (4, 2, 1056, 16, 100, 65536) else [f"added up to {sums}"]
    return track.problems + wrong + checker.try_traps(GOOD, TRAPS, check)


if __name__ == "__main__":
    checker.main(__doc__, check, self_test, print_text)
