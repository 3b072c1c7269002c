# SPDX-License-Identifier: GPL-2.0-or-later
"""Medians, quartiles and ratios of measured rounds."""

import dataclasses
import math
import statistics


@dataclasses.dataclass(frozen=True)
class Spread:
    """The middle of some values and where their middle half lies."""
    median: float
    low: float
    high: float
    count: int

    def as_json(self):
        return {"median": self.median, "q1": self.low, "q3": self.high, "n": self.count}


def spread(values):
    """None for no values. Quartiles are those of the values at hand, not of what they sample."""
    values = [value for value in values if value is not None]
    if not values:
        return None
    if len(values) == 1:
        return Spread(values[0], values[0], values[0], 1)
    low, median, high = statistics.quantiles(values, n=4, method="inclusive")
    return Spread(median, low, high, len(values))


def median_interval(values):
    """(low, high): what these values are a sample of has its median there, in 95 of 100 cases, by
    their order alone (the sign test's interval). None: there are too few for that, less than 6."""
    values, below, rank = sorted(values), 0.0, 0
    while rank < len(values) // 2:
        below += math.comb(len(values), rank) / 2 ** len(values)
        if below > 0.025:
            break
        rank += 1
    return (values[rank - 1], values[-rank]) if rank else None


def paired(values, others, operation):
    """[operation(value, other)] of the rounds in which both were measured: what drifts from round
    to round (clock, host, neighbours) is in both. Dicts from round to value."""
    rounds = sorted(values.keys() & others.keys())
    return [operation(values[number], others[number]) for number in rounds]


def ratio(values, others):
    usable = {number: other for number, other in others.items() if other}
    return spread(paired(values, usable, lambda value, other: value / other))


def excess_ratio(values, others, base):
    """(values / base - 1) / (others / base - 1), round by round: how much dearer than the floor."""
    rounds = sorted(values.keys() & others.keys() & base.keys())
    return spread([(values[n] - base[n]) / (others[n] - base[n])
                   for n in rounds if others[n] > base[n]])
