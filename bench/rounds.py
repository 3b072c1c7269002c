# SPDX-License-Identifier: GPL-2.0-or-later
"""All columns over all rows, in rounds: within a round each column runs once, and each round begins
with another column, so that no column always follows the same one or always comes first."""

import dataclasses
import sys
import time

import kernelside
import stats
from measure import TROUBLE


LEAST_ROUNDS = 3


@dataclasses.dataclass(frozen=True)
class Limits:
    rounds: int
    slow_rounds: int
    run_s: float = 60     # a peer that takes longer is not run a second time
    stop_s: float = 120   # a run that takes longer is stopped
    peers_s: float = 2700 # no slow peer is begun after so many seconds
    end_s: float = 3300   # from then on a row gets LEAST_ROUNDS


@dataclasses.dataclass
class Cell:
    """What one column gave on one row: samples by round, and why there are not more."""
    samples: dict = dataclasses.field(default_factory=dict)
    note: str = None

    def values(self, name):
        found = {number: getattr(sample, name) for number, sample in self.samples.items()}
        return {number: value for number, value in found.items() if value is not None}

    def median(self, name):
        spread = stats.spread(self.values(name).values())
        return spread.median if spread else None


class Results:
    """cell(row's name, column's key), and the columns that are not measured, with the reason."""

    def __init__(self):
        self.cells = {}
        self.missing = {}
        self.disturbed = {}  # row -> how many programs of other tracers were there
        self.cut = {}        # row -> how many rounds it got, where time ran out

    def cell(self, row, column):
        return self.cells.setdefault((row, column), Cell())

    def cpu(self, row, column):
        return self.cell(row, column).values("cpu_s")


def progress(text):
    print(text, file=sys.stderr, flush=True)


def rotated(items, by):
    by %= len(items) or 1
    return items[by:] + items[:by]


def run_cell(place, row, column, cell, number, limits):
    try:
        sample = column.run(place, row, limits.stop_s)
    except TROUBLE as reason:
        cell.note = str(reason)
        progress(f"  {row.name}: {column.title}: {reason}")
        return
    cell.samples[number] = sample
    if sample.wall_s > limits.run_s and column.slow:
        cell.note = f"took {sample.wall_s:.0f} s: measured once"


def measure_row(place, row, columns, results, limits, start):
    for number in range(limits.rounds):
        if number >= LEAST_ROUNDS and time.monotonic() - start > limits.end_s:
            results.cut[row.name] = number
            break
        others = kernelside.probes_of_others()
        if others:
            results.disturbed[row.name] = max(others, results.disturbed.get(row.name, 0))
        for column in rotated(columns, number):
            cell = results.cell(row.name, column.key)
            if cell.note or (column.slow and number >= limits.slow_rounds):
                continue
            if column.slow and time.monotonic() - start > limits.peers_s:
                cell.note = "not measured: out of time"
                continue
            kernelside.probes_of_others()
            run_cell(place, row, column, cell, number, limits)


def measure_all(place, rows, columns, limits, start):
    results = Results()
    usable = []
    for column in columns:
        reason = column.missing(place)
        if reason:
            results.missing[column.title] = reason
            progress(f"bench: no column {column.title}: {reason}")
        else:
            usable.append(column)
    for row in rows:
        progress(f"bench: {time.monotonic() - start:5.0f} s  {row.name}")
        measure_row(place, row, usable, results, limits, start)
    return results
