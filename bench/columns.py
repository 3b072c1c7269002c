# SPDX-License-Identifier: GPL-2.0-or-later
"""The columns of the table: nothing, and memtraced in its ways; peers.py has the other tools. A
column runs a row once and says how many allocations its tool saw, so that a tool that traces
nothing does not pass as a cheap one."""

import dataclasses
import json
import re
import subprocess

from measure import Failed, run_under


@dataclasses.dataclass
class Column:
    key: str
    title: str
    slow: bool = False  # it is given fewer rounds
    pairs: int = 1      # so many times the row's pairs: what is fast needs more to be measured

    def missing(self, place):
        """Why it cannot be measured here, or None."""
        raise NotImplementedError

    def run(self, place, row, limit_s):
        raise NotImplementedError


def has_option(place, option):
    done = subprocess.run([place.memtraced, "--help", "all"], capture_output=True, text=True,
                          check=False)
    return re.search(rf"(^|[\s,]){re.escape(option)}\b", done.stdout, re.M) is not None


class Bare(Column):
    def missing(self, place):
        return None

    def run(self, place, row, limit_s):
        return run_under(place, row.times(self.pairs), limit_s=limit_s)[0]


@dataclasses.dataclass
class Memtraced(Column):
    options: tuple = ()
    needs: str = None  # an option that this build may not have
    counts: bool = True  # allocations
    env: dict = None  # beside the bench's own
    launcher: str = "timed"

    def missing(self, place):
        if self.needs and not has_option(place, self.needs):
            return f"this memtraced has no {self.needs}"
        return None

    def run(self, place, row, limit_s):
        report = place.file("report.json")
        before = [place.memtraced, "-q", *self.options, "-o", f"json:{report}", "--"]
        sample, status, output = run_under(place, row.times(self.pairs), before=before,
                                           env=self.env, limit_s=limit_s,
                                           launcher=self.launcher)
        if status != 0:
            raise Failed(f"memtraced ended with status {status}: {output.strip()[-300:]}")
        if self.counts:
            with open(report, encoding="utf-8") as file:
                self.take_counts(sample, json.load(file))
        return sample

    @staticmethod
    def take_counts(sample, report):
        allocs = [process["alloc"] for process in report["processes"] if process["alloc"]]
        sample.allocs = sum(counts["allocs"] for counts in allocs)
        sample.frees = sum(counts["frees"] + counts["unknown_frees"] for counts in allocs)
        sample.bytes = sum(counts["bytes"] for counts in allocs)
        coverage = report["coverage"]
        # The launcher is linked statically and has no allocator, which is said of any such program.
        sample.exact = coverage["exact"] or set(coverage["lost"]) == {"no-allocator-found"}
        stacks = coverage["stacks_complete"] + coverage["stacks_truncated"]
        sample.complete = coverage["stacks_complete"] / stacks if stacks else None


class Library(Memtraced):
    """Counted by a preloaded library, which a launcher that is linked statically would prevent."""

    @staticmethod
    def take_counts(sample, report):
        probed = [process["comm"] for process in report["processes"]
                  if process["alloc"] and not process["alloc"]["by_library"]]
        if probed:
            raise Failed(f"counted by probes: {', '.join(probed)}")
        Memtraced.take_counts(sample, report)
        sample.peak_blocks = max((sum(site["peak_blocks"] or 0 for site in process["sites"]
                                      if site["class"] == "heap")
                                  for process in report["processes"]), default=None)


PROBES = ("--exact=probes",)


def own_columns():
    return [
        Bare("bare", "bare", pairs=25),
        Memtraced("growth", "growth", pairs=25, options=("--page-faults",), needs="--page-faults",
                  counts=False),
        Memtraced("floor", "floor", options=("--floor",), needs="--floor", counts=False),
        Memtraced("nostack", "exact, no stacks", options=(*PROBES, "--max-stack=0"),
                  needs="--max-stack"),
        Memtraced("exact", "exact", options=PROBES),
        Library("library", "library", pairs=5, options=("--exact=library",), needs="--exact",
                launcher="timed-dynamic"),
    ]
