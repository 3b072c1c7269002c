# SPDX-License-Identifier: GPL-2.0-or-later
"""What --free-stacks costs a pair of malloc and free, beside the same run without it: a stack more
and two entries of maps."""

import rounds
import rows
import stats
from columns import PROBES, Memtraced
from lines import Line
from values import Values

DEPTHS = (4, 20)
COLUMNS = [Memtraced("exact", "exact", options=PROBES),
           Memtraced("free", "--free-stacks", options=(*PROBES, "--free-stacks"),
                     needs="--free-stacks")]


def measure(place, limits, quick, start):
    chosen = [row for row in rows.pair_rows(place, quick)
              if row.pairs == 1 or (row.threads == 1 and row.depth in DEPTHS)]
    results = rounds.measure_all(place, chosen, COLUMNS, limits, start)
    values = Values(results, COLUMNS)
    lines = []
    for row in chosen:
        if row.pairs == 1:
            continue
        plain, free = (values.cost(row, column.key) for column in COLUMNS)
        exact = all(sample.exact for column in COLUMNS
                    for sample in results.cell(row.name, column.key).samples.values())
        notes = [results.cell(row.name, column.key).note for column in COLUMNS]
        if row.name in results.disturbed:
            notes.append(f"{results.disturbed[row.name]} programs of other tracers")
        if not exact:
            notes.append("not exact: some were lost")
        note = "; ".join(note for note in notes if note)
        key = f"free.{row.depth}"
        lines += [Line(key + ".exact", f"{row.depth} frames: exact", list(plain.values()),
                       "ns a pair", note),
                  Line(key + ".free", f"{row.depth} frames: exact, --free-stacks",
                       list(free.values()), "ns a pair", note),
                  Line(key + ".adds", f"{row.depth} frames: --free-stacks adds",
                       stats.paired(free, plain, lambda with_it, without: with_it - without),
                       "ns a pair", note)]
    return lines
