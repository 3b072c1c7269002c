# SPDX-License-Identifier: GPL-2.0-or-later
"""Single measured figures that are not a column of the programs' table."""

import dataclasses

import stats
import table


@dataclasses.dataclass
class Line:
    key: str
    title: str
    values: list
    unit: str
    note: str = ""
    facts: dict = dataclasses.field(default_factory=dict)  # numbers behind the note

    @property
    def spread(self):
        return stats.spread(self.values)

    def as_json(self):
        spread = self.spread
        return {"key": self.key, "title": self.title, "unit": self.unit, "values": self.values,
                "spread": spread.as_json() if spread else None, "note": self.note,
                "facts": self.facts}


def as_table(heading, lines):
    return table.markdown([heading, "measured", "unit", "remark"],
                          [[line.title, table.spread(line.spread), line.unit, line.note]
                           for line in lines])


def median(lines, key):
    """None where that was not measured."""
    found = next((line.spread for line in lines if line.key == key), None)
    return found.median if found else None
