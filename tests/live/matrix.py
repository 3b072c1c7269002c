# SPDX-License-Identifier: GPL-2.0-or-later
"""Allocators by how they are linked and by language: what the report said of each, beside the
target's own count, by all ways of attaching. Tests add to it, run.py prints it."""

KEYS = ("allocs", "frees", "bytes", "live_bytes")
HEAD = ("allocator", "linked", "language", "program", *KEYS, "as the target says")


class Row:
    def __init__(self):
        self.paths, self.equal, self.seen = 0, 0, None


ROWS = {}


def compared(what, seen, true):
    """what: allocator, how it is linked, language, program. Both counts, whether equal or not."""
    row = ROWS.setdefault(what, Row())
    row.paths += 1
    row.equal += all(seen[key] == true[key] for key in KEYS)
    row.seen = [seen[key] for key in KEYS]


def lines():
    table = [HEAD] + [(*what, *map(str, row.seen), f"{row.equal} of {row.paths}")
                      for what, row in ROWS.items()]
    if len(table) == 1:
        return []
    widths = [max(len(row[i]) for row in table) for i in range(len(HEAD))]
    return ["  ".join(cell.rjust(width) if 4 <= i < 4 + len(KEYS) else cell.ljust(width)
                      for i, (cell, width) in enumerate(zip(row, widths))).rstrip()
            for row in table]
