# SPDX-License-Identifier: GPL-2.0-or-later
"""Estimates beside what exact depth counts, as a table and as a document: docs/results/."""

import math
import os
import re

from lib import run, run_memtraced

DOCUMENT = """# Samples: estimates beside exact depth

Made by `tests/live/test_sample_programs.py` with `MEMTRACED_SAMPLES`
(docs/hacking/sampling.md): memtraced {version} ({commit}) on Linux {kernel}, {machine}; one sample
in {interval} KiB.

Each program is run once at exact depth and {runs} times with `--sample`, with seeds in a row,
others for each; redis-server is under redis-benchmark, traced at both depths at a time.
*By stack*: what was allocated, and what is live, by who called the allocator, of each stack of
which {expected} samples and more are to be expected.
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
        below += math.exp(math.lgamma(n + 1) - math.lgamma(covered + 1) -
                          math.lgamma(n - covered + 1) + covered * math.log(chance) +
                          (n - covered) * math.log(1 - chance))
        if below > p:
            return covered
        covered += 1


# A site is looked at if so many samples are expected of it: whether one is must not go by chance.
EXPECTED_SAMPLES = 20
LIBRARY = "libmemtraced-sample.so"
ALLOCATORS = re.compile(r"\[sampled\]|(re|c|m)?alloc(array)?|posix_memalign|aligned_alloc|memalign|"
                        r"operator new.*|_Zn[wa]m.*")


def callers(site):
    """What both depths show of a stack: who called the allocator."""
    frames = [frame for frame in site["frames"]
              if os.path.basename(frame["object"] or "") != LIBRARY]
    while frames and ALLOCATORS.fullmatch((frames[0]["function"] or "").partition("(")[0]):
        del frames[0]
    return tuple((frame["object"], frame["function"], frame["offset"], frame["line"])
                 for frame in frames)


def by_callers(process):
    """{callers: [bytes, live bytes, margin of either]}; margins of estimates add up by squares."""
    found = {}
    for site in process["sites"]:
        if site["class"] != "heap":
            continue
        margins = site["estimate"] or {"ci95_allocated_bytes": 0, "ci95_bytes": 0}
        row = found.setdefault(callers(site), [0, 0, 0, 0])
        row[0] += site["bytes"]
        row[1] += site["live_bytes"]
        row[2] = math.hypot(row[2], margins["ci95_allocated_bytes"])
        row[3] = math.hypot(row[3], margins["ci95_bytes"])
    return found


class Program:
    def __init__(self):
        self.exact, self.first, self.runs = None, None, 0
        self.covered = dict.fromkeys((key for key, _ in FIGURES), 0)
        self.sites, self.sites_covered = 0, 0

    def add_sites(self, exact, sampled):
        """What was allocated, and is live, by each stack of which there should be samples."""
        ours, interval = by_callers(sampled), sampled["alloc"]["estimate"]["interval"]
        for stack, true in by_callers(exact).items():
            for at in (0, 1):
                if true[at] < EXPECTED_SAMPLES * interval:
                    continue
                said = ours.get(stack, [0, 0, 0, 0])
                self.sites += 1
                self.sites_covered += abs(said[at] - true[at]) <= said[at + 2]


class Table:
    """Of all programs so far."""
    programs = {}

    @classmethod
    def add(cls, name, exact, sampled):
        """Both are processes of reports. What of them the intervals hold."""
        program = cls.programs.setdefault(name, Program())
        program.add_sites(exact, sampled)
        exact, sampled = exact["alloc"], sampled["alloc"]
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
    def sites(cls):
        """(covered, looked at) of all programs and runs."""
        return (sum(program.sites_covered for program in cls.programs.values()),
                sum(program.sites for program in cls.programs.values()))

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
            lines.append(f"{'':12} {'by stack':15} {'':12} {'':12} {'':10} "
                         f"[{program.sites_covered} of {program.sites}]")
        return lines

    @classmethod
    def coverage(cls):
        figures = [(NAMES[key].split(',', maxsplit=1)[0], *cls.counted(key)) for key, _ in FIGURES]
        return [f"{name}: {covered} of {n} covered, {100 * covered / max(n, 1):.1f} %; "
                f"fewer than {least_covered(n)} would be one in a hundred"
                for name, covered, n in [*figures, ("by stack", *cls.sites())]]

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
                expected=EXPECTED_SAMPLES,
                table="\n".join(cls.lines()),
                coverage="\n".join(f"- {line}" for line in cls.coverage())))
