#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Checks perf-script text against the grammar that stackcollapse-perf.pl, inferno, gprof2dot and
speedscope all accept, and against the traps in which one of them loses events.

    check_perf_script.py FILE...      problems on stdout, exit 1 when there are any
    check_perf_script.py --self-test  tries the checker on texts with one trap each
"""

import re

from checker import main, try_traps

HEADER = re.compile(r"(?P<comm>\S.*?) +(?P<pid>\d+)/(?P<tid>\d+) +\[\d+\] +"
                    r"(?P<time>\d+\.(?:\d{6}|\d{9})): +(?P<period>\S+) (?P<event>\S+): ?")
FRAME = re.compile(r"\t *(?P<addr>[0-9a-f]+) (?P<symbol>.+) \((?P<dso>.*)\)")
OFFSET = re.compile(r"\+0x[0-9a-f]+$")
MAX_PERIOD = 2 ** 53  # beyond it one client counts in floating point


class Checker:
    """Reads one file line by line; problems collect in `problems`."""

    def __init__(self):
        self.problems = []
        self.number = 0
        self.frames = None  # of the event that is being read; None between events
        self.event_name = None
        self.last_time = {}
        self.events = 0
        self.total = 0

    def problem(self, text):
        self.problems.append(f"line {self.number}: {text}")

    def header(self, line):
        match = HEADER.fullmatch(line)
        if not match:
            self.problem(f"no event header: {line!r}")
            return
        comm, event = match["comm"], match["event"]
        if len(comm) < 2:
            self.problem(f"comm {comm!r} has fewer than two characters")
        if re.search(r"\s", comm):
            self.problem(f"comm {comm!r} has white space in it")
        if not match["period"].isdecimal() or not 0 < int(match["period"]) <= MAX_PERIOD:
            self.problem(f"period {match['period']!r} is no positive number")
        else:
            self.total += int(match["period"])
        if ":" in event:
            self.problem(f"event name {event!r} has a colon")
        if self.event_name not in (None, event):
            self.problem(f"a second event type, {event!r} after {self.event_name!r}")
        self.event_name = event
        thread = (match["pid"], match["tid"])
        seconds, fraction = match["time"].split(".")
        time = int(seconds) * 10 ** 9 + int(fraction.ljust(9, "0"))
        if time < self.last_time.get(thread, 0):
            self.problem(f"time goes back in thread {thread[1]}")
        self.last_time[thread] = time
        self.events += 1

    def frame(self, line):
        match = FRAME.fullmatch(line)
        if not match:
            self.problem(f"no frame: {line!r}")
            return
        if " (deleted)" in line:
            self.problem(f"a dso that says it is deleted: {line!r}")
        symbol, dso = match["symbol"], match["dso"]
        if symbol != symbol.strip() or symbol.startswith("("):
            self.problem(f"symbol {symbol!r} begins or ends with what costs its frame")
        if ";" in symbol or "->" in OFFSET.sub("", symbol):
            self.problem(f"symbol {symbol!r} would be split")
        if OFFSET.search(symbol) and OFFSET.sub("", symbol) in ("", "[unknown]"):
            self.problem(f"offset without a symbol: {symbol!r}")
        if not dso or re.search(r"\s", dso):
            self.problem(f"dso {dso!r} is empty or has white space in it")

    def line(self, line):
        if self.frames is None:
            if line.startswith("#"):
                return
            if line == "":
                self.problem("an empty line where an event should begin")
                return
            self.frames = 0
            self.header(line)
        elif line == "":
            if self.frames == 0:
                self.problem("an event without frames")
            self.frames = None
        else:
            self.frames += 1
            self.frame(line)


def check(data):
    """Checks bytes: the Checker with its problems, number of events and sum of periods."""
    checker = Checker()
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        checker.problem(f"not UTF-8: {error}")
        return checker
    if re.search(r"[\x00-\x08\x0b-\x1f\x7f]", text):
        checker.problem("control characters")
    if text and not text.endswith("\n"):
        checker.problem("the last line has no end")
    for checker.number, line in enumerate(text.split("\n")[:-1] if text else [], 1):
        checker.line(line)
    if checker.frames is not None:
        checker.problem("no empty line after the last event")
    return checker


def problems_of(data):
    return check(data).problems


GOOD = """# comment
server 42/42 [000]   812.000001:       4096 mt-live-bytes: 
\t            1189 make_buf+0x19 (/opt/demo/server)
\t            11c0 operator new(unsigned long)+0x20 (/opt/demo/server)

server 42/43 [000]   812.000300:         64 mt-live-bytes: 
\t            2000 [unknown] (/opt/demo/libfoo.so)
\t    7f1200002abc inline_me (inlined)

"""

TRAPS = [
    ("server 42/42", "x 42/42", "fewer than two"),
    ("server 42/42", " server 42/42", "no event header"),
    ("server 42/42", "my app 42/42", "white space"),
    ("812.000001:", "812:", "no event header"),
    ("      4096", "        -1", "no positive number"),
    ("      4096", "         0", "no positive number"),
    ("64 mt-live-bytes", "64 mt-count", "second event type"),
    ("mt-live-bytes", "mt:live-bytes", "colon"),
    ("42/43 [000]   812.000300", "42/42 [000]   811.000300", "goes back"),
    ("server)\n\nserver", "server)\n\n\nserver", "empty line where"),
    ("server)\n\nserver", "server)\nserver", "no frame"),
    ("(inlined)\n\n", "(inlined)\n", "no empty line after the last"),
    ("\t            2000 [unknown] (/opt/demo/libfoo.so)\n\t    7f1200002abc inline_me "
     "(inlined)\n", "", "without frames"),
    ("1189 make", "0x1189 make", "no frame"),
    ("2000 [unknown] (", "2000 (", "no frame"),
    ("make_buf", "(anonymous namespace)::f", "costs its frame"),
    ("make_buf", "a;b", "split"),
    ("make_buf", "a->b", "split"),
    ("[unknown] (", "[unknown]+0x1 (", "offset without"),
    ("(/opt/demo/libfoo.so)", "()", "empty or has"),
    ("(/opt/demo/libfoo.so)", "(/opt/my demo/libfoo.so)", "empty or has"),
    ("(/opt/demo/libfoo.so)", "(/opt/demo/libfoo.so (deleted))", "is deleted"),
    ("server)\n", "server)\r\n", "control"),
]


def self_test():
    checker = check(GOOD.encode())
    failures = list(checker.problems)
    if (checker.events, checker.total) != (2, 4160):
        failures.append(f"counted {checker.events} events, {checker.total} in all")
    return failures + try_traps(GOOD, TRAPS, problems_of)


if __name__ == "__main__":
    main(__doc__, problems_of, self_test)
