# SPDX-License-Identifier: GPL-2.0-or-later
"""What the table and the figures say, computed from the measured rounds."""

import stats
from rows import ONE_PAIR


class Values:
    def __init__(self, results, columns):
        self.results = results
        self.columns = {column.key: column for column in columns}

    def pair_ns(self, row, key):
        """By round: ns of a pair in each thread, without what one pair alone takes."""
        start = self.results.cell(ONE_PAIR, key).median("cpu_s")
        if start is None:
            return {}
        pairs = row.pairs * row.threads * self.columns[key].pairs
        return {number: max(0.0, cpu - start) / pairs * 1e9
                for number, cpu in self.results.cpu(row.name, key).items()}

    def cost(self, row, key):
        """By round, of whatever unit the row has."""
        return self.pair_ns(row, key) if row.pairs > 1 else self.results.cpu(row.name, key)

    def ratio(self, row, key, base="bare"):
        return stats.ratio(self.cost(row, key), self.cost(row, base))

    def excess(self, row, key, base="floor"):
        return stats.excess_ratio(self.cost(row, key), self.cost(row, base),
                                  self.cost(row, "bare"))

    def calls(self, row):
        """Allocations and frees of one run, by memtraced's own count; None if not exact."""
        for key in ("exact", "library"):
            for sample in self.results.cell(row.name, key).samples.values():
                if sample.exact:
                    return (sample.allocs + sample.frees) / \
                        (self.columns[key].pairs if row.pairs > 1 else 1)
        return None

    def calls_per_s(self, row):
        bare = self.results.cell(row.name, "bare").median("cpu_s")
        calls = self.calls(row)
        if calls is None or not bare:
            return None
        return calls / (bare if row.pairs <= 1 else bare / self.columns["bare"].pairs)

    def median(self, row, key, name):
        return self.results.cell(row.name, key).median(name)

    def as_json(self, rows):
        return [self.row_json(row) for row in rows]

    def row_json(self, row):
        cells = {}
        for key in self.columns:
            cell = self.results.cell(row.name, key)
            if cell.samples or cell.note:
                ratio = self.ratio(row, key)
                cells[key] = {"ratio_to_bare": ratio.as_json() if ratio else None,
                              "note": cell.note,
                              "rounds": {number: vars(sample)
                                         for number, sample in cell.samples.items()}}
        return {"name": row.name, "threads": row.threads, "pairs": row.pairs or None,
                "depth": row.depth or None,
                "programs_of_others": self.results.disturbed.get(row.name, 0),
                "missing": row.missing, "calls": self.calls(row),
                "calls_per_s": self.calls_per_s(row), "columns": cells}
