# SPDX-License-Identifier: GPL-2.0-or-later
"""Markdown tables of the results. Each number is a median; the middle half of the rounds follows in
brackets where it is not all the same."""

import stats


def number(value):
    """Three digits that say something."""
    if value is None:
        return "–"
    if value == 0:
        return "0"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.2f}" if abs(value) < 10 else f"{value:.1f}"


def amount(value):
    """1234567 -> 1.2 M"""
    if value is None:
        return "–"
    for unit, size in (("M", 1e6), ("k", 1e3)):
        if value >= size:
            return f"{value / size:.{0 if value >= 100 * size else 1}f} {unit}"
    return f"{value:.0f}"


def spread(value):
    if value is None:
        return "–"
    text, low, high = number(value.median), number(value.low), number(value.high)
    return text if low == text == high else f"{text} ({low}–{high})"


def markdown(heads, lines):
    """Padded, so that it reads as text too. Numbers to the right, the first column to the left."""
    cells = [[str(cell).replace("|", "\\|") for cell in line] for line in [heads, *lines]]
    widths = [max(len(line[i]) for line in cells) for i in range(len(heads))]

    def joined(line):
        padded = [line[0].ljust(widths[0])]
        padded += [cell.rjust(width) for cell, width in zip(line[1:], widths[1:])]
        return "| " + " | ".join(padded) + " |"

    rule = "|" + "|".join(["-" * (widths[0] + 2)] +
                          ["-" * (width + 1) + ":" for width in widths[1:]]) + "|"
    return "\n".join([joined(cells[0]), rule, *map(joined, cells[1:])])


def noted(values, row, key, text):
    """A cell with a mark where the column was cut short on this row."""
    note = values.results.cell(row.name, key).note
    return text + (" †" if note else "")


def shown_columns(values):
    return [column for column in values.columns.values()
            if column.title not in values.results.missing]


def pairs_table(values, rows):
    columns = shown_columns(values)
    lines = [[row.name, *(noted(values, row, column.key,
                                spread(stats.spread(values.cost(row, column.key).values())))
                          for column in columns)]
             for row in rows if row.pairs > 1]
    return markdown(["pair loop", *(column.title for column in columns)], lines)


def programs_table(values, rows):
    columns = [column for column in shown_columns(values) if column.key != "bare"]
    lines = []
    for row in rows:
        if row.missing or row.pairs:
            continue
        complete = values.median(row, "exact", "complete")
        lines.append([row.name, number(values.median(row, "bare", "cpu_s")),
                      amount(values.calls_per_s(row)),
                      *(noted(values, row, column.key, spread(values.ratio(row, column.key)))
                        for column in columns),
                      "–" if complete is None else f"{complete * 100:.0f} %"])
    heads = ["program", "bare, s", "calls/s", *(column.title for column in columns),
             "complete stacks"]
    return markdown(heads, lines)


def memory_table(values, rows):
    """Peak memory of the program under each tool, and of the memtraced process itself."""
    columns = [column for column in shown_columns(values) if column.key != "bare"]
    lines = []
    for row in rows:
        if row.missing or row.pairs > 1:
            continue
        bare = values.median(row, "bare", "rss_kib")
        if not bare:
            continue
        line = [row.name, f"{bare / 1024:.1f}"]
        for column in columns:
            rss = values.median(row, column.key, "rss_kib")
            line.append("–" if rss is None else f"{rss / bare:.2f}")
        for name, unit in (("tool_rss_kib", 1024), ("tool_cpu_s", 1)):
            value = values.median(row, "exact", name)
            line.append("–" if value is None else f"{value / unit:.2f}")
        lines.append(line)
    return markdown(["program", "bare, MiB", *(column.title for column in columns),
                     "memtraced with mapped maps, MiB", "memtraced, CPU s"], lines)


def counts_table(values, rows):
    """How many of the pair loop's allocations each tool saw."""
    row = next((row for row in rows if row.pairs > 1), None)
    lines = []
    for column in shown_columns(values) if row else []:
        seen = values.median(row, column.key, "allocs")
        if column.key == "floor" or seen is None:
            continue
        made = row.pairs * row.threads * column.pairs
        lines.append([column.title, made, int(seen), f"{seen / made * 100:.2f} %"])
    return markdown(["tool", "allocations made", "seen", "share"], lines)


def notes(values, rows):
    """The reasons behind every mark and every column or row that is not there."""
    lines = [f"- no column {title}: {reason}"
             for title, reason in values.results.missing.items()]
    lines += [f"- {row}: {count} programs of other tracers were loaded on this host"
              for row, count in values.results.disturbed.items()]
    lines += [f"- {row}: {count} rounds, then time ran out"
              for row, count in values.results.cut.items()]
    lines += [f"- no row {row.name}: {row.missing}" for row in rows if row.missing]
    for row in rows:
        for column in values.columns.values():
            note = values.results.cell(row.name, column.key).note
            if note:
                lines.append(f"- † {row.name}, {column.title}: {note}")
    return "\n".join(lines)
