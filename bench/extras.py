# SPDX-License-Identifier: GPL-2.0-or-later
"""All that is measured besides the programs' table, as sections of single figures. What fails says
so in its section and does not stop the rest."""

import dataclasses
import time

import free_stacks
import growth
import kernelside
import large
import one_trap
import rounds
import overhead
import sampling
import startup
import syscalls
import turns
import unwinding
from measure import TROUBLE


@dataclasses.dataclass
class Section:
    heading: str
    lines: list
    failures: list


def sections(place, limits, quick, start):
    few = rounds.Limits(rounds=min(limits.rounds, 5), slow_rounds=limits.slow_rounds)
    parts = [
        ("growth depth", lambda: growth.measure(place, quick)),
        ("sampled depth", lambda: sampling.measure(place, quick, few, start)),
        ("as close as it may cost", lambda: overhead.measure(place, quick, few, start)),
        ("one trap in place of two", lambda: one_trap.measure(place, quick, few, start)),
        ("where blocks are freed", lambda: free_stacks.measure(place, few, quick, start)),
        ("start and end", lambda: startup.measure_starts(place, few.rounds)),
        ("attach and detach", lambda: unwinding.measure_attach(place, few.rounds)),
        ("unwind rows", lambda: unwinding.measure_files(place, few.rounds)),
        ("report", lambda: startup.measure_report(place, few.rounds, quick)),
        ("a large run", lambda: large.measure(place, quick)),
        ("system calls", lambda: syscalls.measure(place, few, quick, start)),
        ("kernel memory", lambda: kernelside.measure_memory(place)),
        ("memory of processes",
         lambda: kernelside.measure_processes(place, few.slow_rounds, quick)),
        ("daemon", lambda: kernelside.measure_daemon(place, quick)),
        ("pair loop, batches in turns", lambda: turns.measure(place, quick)),
        ("the kernel's own", lambda: kernelside.measure_yardsticks(place, few.rounds, quick)),
    ]
    found = []
    for heading, measure in parts:
        rounds.progress(f"bench: {time.monotonic() - start:5.0f} s  {heading}")
        try:
            found.append(Section(heading, measure(), []))
        except TROUBLE as reason:
            rounds.progress(f"  {heading}: {reason}")
            found.append(Section(heading, [], [f"{heading}: {reason}"]))
    return found


def all_lines(found):
    return [line for section in found for line in section.lines]
