# SPDX-License-Identifier: GPL-2.0-or-later
"""The pair loop in short batches in turns: all columns run at the same time, each in a process and
a C library of its own, so that its probes are in a file that no other program maps, and one of
them does a batch while the others wait. What a neighbour or a clock takes from one batch it takes
from the next, and a difference is taken between batches of one turn. Rounds of whole runs, seconds
apart, have differences that swing by as much as they are."""

import contextlib
import json
import os
import shutil
import subprocess

import kernelside
import rows
import stats
from columns import PROBES, Memtraced
from lines import Line
from measure import Failed, Sample

BATCH = 5_000
WARM = 4
LIMIT_S = 30
# Name, options, by which probes malloc is counted: those of entry and return, or sites inside it.
WAYS = (("floor", ("--floor",), "never"), ("nostack", ("--max-stack=0",), "never"),
        ("exact", (), "never"), ("one", (), "always"))


class Runner:
    """A process that does a batch for each byte."""

    def __init__(self, place, name, argv):
        self.name = name
        with open(place.file(f"turns-{name}.log"), "wb") as log:
            self.process = subprocess.Popen(
                argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log,
                start_new_session=True)

    def batch(self):
        """ns of a pair"""
        self.process.stdin.write(b"1")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise Failed(f"{self.name} ended before its turns")
        return int(line) / BATCH

    def end(self):
        self.process.stdin.close()
        self.process.wait(LIMIT_S)


def own_library(place, name):
    folder = place.file(f"turns-{name}")
    os.makedirs(folder, exist_ok=True)
    shutil.copy(rows.libc(), folder)
    return folder


def begin(place, depth):
    """The columns, and bpf_get_stackid beside; the CPU is the same for all that take turns."""
    on_cpu = ["taskset", "-c", str(place.target_cpu)]
    for name, options, sites in WAYS:
        report = place.file(f"turns-{name}.json")
        yield Runner(place, name, [
            "env", f"MEMTRACED_TEST_RESULT_SITES={sites}", place.memtraced, "-q", *PROBES,
            *options, "-o", f"json:{report}", "--", "env",
            f"LD_LIBRARY_PATH={own_library(place, name)}", *on_cpu, place.program("pairs"),
            str(depth), "1", str(BATCH), "turns"])
    yield Runner(place, "stackid",
                 [*on_cpu, place.program("yardstick"), "turns", str(BATCH), str(depth)])


def take(place, depth, turns):
    """{name: [ns of a pair]} by turns, the Sample of the exact column's counts."""
    kernelside.rest()
    with contextlib.ExitStack() as stack:
        runners = []
        for runner in begin(place, depth):
            stack.callback(runner.process.kill)
            runners.append(runner)
        for _ in range(WARM):
            for runner in runners:
                runner.batch()
        found = {runner.name: [] for runner in runners}
        for number in range(turns):
            by = number % len(runners)
            for runner in runners[by:] + runners[:by]:
                found[runner.name].append(runner.batch())
        for runner in runners:
            runner.end()
    sample = Sample(0, 0, 0)
    with open(place.file("turns-exact.json"), encoding="utf-8") as file:
        Memtraced.take_counts(sample, json.load(file))
    if sample.allocs is None or sample.allocs < BATCH * (turns + WARM):
        raise Failed(f"{sample.allocs} allocations seen of {BATCH * (turns + WARM)}")
    return found, sample


def lines_of(depth, found, sample):
    adds = [stack - none for stack, none in zip(found["exact"], found["nostack"])]
    shares = [ours / kernel for ours, kernel in zip(adds, found["stackid"])]
    made = [("adds", "a complete stack adds", adds, "ns"),
            ("stackid", "bpf_get_stackid adds", found["stackid"], "ns"),
            ("share", "their ratio", shares, ""),
            ("nostack", "no stacks / floor",
             [none / floor for none, floor in zip(found["nostack"], found["floor"])], ""),
            ("exact", "with stacks / floor",
             [stack / floor for stack, floor in zip(found["exact"], found["floor"])], ""),
            ("one", "with stacks, malloc by one trap / floor by two",
             [one / floor for one, floor in zip(found["one"], found["floor"])], ""),
            ("traps", "with stacks, malloc by one trap / by two",
             [one / two for one, two in zip(found["one"], found["exact"])], "")]
    lines = []
    for key, title, values, unit in made:
        low, high = stats.median_interval(values)
        lines.append(Line(f"turns.{key}.{depth}", f"{depth} frames: {title}", values, unit,
                          f"95 %: {low:.4g} to {high:.4g}; {len(values)} turns; stacks complete "
                          f"{sample.complete * 100:.0f} %"))
    return lines


def measure(place, quick):
    turns = 30 if quick else 150
    lines = []
    for depth in rows.DEPTHS:
        lines += lines_of(depth, *take(place, depth, turns))
    return lines
