# SPDX-License-Identifier: GPL-2.0-or-later
"""Estimates beside what exact depth counts, as a table and as a document: docs/results/."""

import math
import os

from lib import run, run_memtraced

DOCUMENT = """# Samples: estimates beside exact depth

Made by `tests/live/test_sample_programs.py` with `MEMTRACED_SAMPLES`
(docs/hacking/sampling.md): memtraced {version} ({commit}) on Linux {kernel}, {machine}; one sample
in {interval} KiB.

Each program is run once at exact depth and {runs} times with `--sample`, with seeds in a row,
others for each; redis-server is under redis-benchmark, traced at both depths at a time.
The estimate is that of the first seed; in brackets is in how many runs the
95 % interval had the truth. Intervals of peaks are made to hold it more often
(docs/hacking/sampling.md, "Samples that a process shows").

```
{table}
```

{coverage}
"""

FIGURES = (("bytes", "ci95_allocated_bytes"), ("allocs", "ci95_allocs"),
           ("peak_bytes", "ci95_peak_bytes"), ("live_bytes", "ci95_bytes"))


NAMES = {"bytes": "allocated, MiB", "allocs": "allocations", "peak_bytes": "peak, MiB",
         "live_bytes": "at the end, MiB"}


def cell(key, value):
    return str(value) if key == "allocs" else f"{value / (1 << 20):.2f}"


def least_covered(n, chance=0.95, p=0.01):
    """Fewer of n are covered with a probability of less than p, if each is with this chance."""
    below, covered = 0.0, 0
    while True:
        below += math.comb(n, covered) * chance ** covered * (1 - chance) ** (n - covered)
        if below > p:
            return covered
        covered += 1


class Program:
    def __init__(self):
        self.exact, self.first, self.runs = None, None, 0
        self.covered = dict.fromkeys((key for key, _ in FIGURES), 0)


class Table:
    """Of all programs so far."""
    programs = {}

    @classmethod
    def add(cls, name, exact, sampled):
        """Both are "alloc" of reports. What of it the intervals hold."""
        program = cls.programs.setdefault(name, Program())
        program.exact = program.exact or exact
        program.first = program.first or sampled
        program.runs += 1
        for key, margin in FIGURES:
            off = abs(sampled[key] - exact[key])
            program.covered[key] += off <= sampled["estimate"][margin]

    @classmethod
    def counted(cls, key):
        """(covered, runs) of all programs."""
        return (sum(program.covered[key] for program in cls.programs.values()),
                sum(program.runs for program in cls.programs.values()))

    @classmethod
    def lines(cls):
        lines = [f"{'program':12} {'figure':15} {'exact':>12} {'estimate':>12} {'±':>10} covered"]
        for name, program in cls.programs.items():
            for key, margin in FIGURES:
                exact, estimate, off = (cell(key, value) for value in (
                    program.exact[key], program.first[key], program.first["estimate"][margin]))
                lines.append(f"{name:12} {NAMES[key]:15} {exact:>12} {estimate:>12} {off:>10} "
                             f"[{program.covered[key]} of {program.runs}]")
                name = ""
        return lines

    @classmethod
    def coverage(cls):
        return [f"{NAMES[key].split(',')[0]}: {covered} of {n} covered, {100 * covered / n:.1f} %; "
                f"fewer than {least_covered(n)} would be one in a hundred"
                for key, _ in FIGURES for covered, n in [cls.counted(key)]]

    @classmethod
    def write(cls, path, interval):
        uname = os.uname()
        version = run_memtraced("--version").stdout.split()[1]
        commit = run(["git", "-C", os.path.dirname(__file__), "describe", "--always",
                      "--dirty"]).stdout.strip()
        runs = max(program.runs for program in cls.programs.values())
        root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
        with open(os.path.join(root, path), "w", encoding="utf-8") as file:
            file.write(DOCUMENT.format(
                version=version, commit=commit or "of no commit", kernel=uname.release,
                machine=uname.machine, interval=interval >> 10, runs=runs,
                table="\n".join(cls.lines()),
                coverage="\n".join(f"- {line}" for line in cls.coverage())))
