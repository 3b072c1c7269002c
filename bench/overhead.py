# SPDX-License-Identifier: GPL-2.0-or-later
"""--max-overhead=5% over all programs: what the report predicts and measures, beside what the
program's CPU time says (its task clock from its exec on), with it and without in the same round."""

import dataclasses
import json

import rounds
import rows
import stats
from columns import Column, Memtraced
from inputs import Inputs
from lines import Line
from measure import Failed, run_under
from sampling import LONG_SCALE, QUICK_SCALE

QUICK_PROGRAMS = ("jq", "sqlite3", "C++ stress")
SHARE = 5
END_S = 5400


@dataclasses.dataclass
class Bare(Column):
    def missing(self, place):
        return None

    def run(self, place, row, limit_s):
        return run_under(place, row, limit_s=limit_s, execs=1)[0]


@dataclasses.dataclass
class Governed(Memtraced):
    """As a user runs it: memtraced starts the program itself, and the launcher is around both."""
    said: dict = dataclasses.field(default_factory=dict)

    def run(self, place, row, limit_s):
        report = place.file("report.json")
        words = [place.memtraced, "-q", *self.options, "-o", f"json:{report}", "--"]
        sample, status, output = run_under(place, row, inside=words, limit_s=limit_s, execs=2)
        if status != 0:
            raise Failed(f"memtraced ended with status {status}: {output.strip()[-300:]}")
        with open(report, encoding="utf-8") as file:
            coverage = json.load(file)["coverage"]
        if "overhead" not in coverage:
            raise Failed("the report says nothing of what it cost")
        self.said.setdefault(row.name, []).append(coverage)
        return sample


def percent(ppm):
    return "?" if ppm is None else f"{ppm / 10000:.1f}"


def remark(reports):
    """Of the round whose prediction is the median."""
    if not reports:
        return ""
    middle = sorted(reports, key=lambda coverage: coverage["overhead"]["predicted_ppm"])[
        len(reports) // 2]
    overhead = middle["overhead"]
    depths = [change["depth"] for change in middle["depths"]]
    if not middle["depths"] or middle["depths"][0]["at_ns"] > 0:
        depths.insert(0, "exact")
    return (f"predicted {percent(overhead['predicted_ppm'])}, measured "
            f"{percent(overhead['measured_ppm'])}; {' > '.join(depths)}")


def measure(place, quick, limits, start):
    made = Inputs(place.work, QUICK_SCALE if quick else LONG_SCALE)
    programs = [row for row in rows.program_rows(place, made)
                if not quick or row.name in QUICK_PROGRAMS]
    governed = Governed("governed", f"--max-overhead={SHARE}%",
                        options=(f"--max-overhead={SHARE}%",), needs="--max-overhead",
                        counts=False)
    results = rounds.measure_all(place, [row for row in programs if not row.missing],
                                 [Bare("bare", "bare"), governed],
                                 dataclasses.replace(limits, end_s=END_S), start)
    lines = []
    for row in programs:
        cells = [results.cell(row.name, name) for name in ("governed", "bare")]
        notes = [cell.note for cell in cells if cell.note] + ([row.missing] if row.missing else [])
        lines.append(Line(
            f"overhead.{row.name}", f"{row.name}: --max-overhead={SHARE}% adds",
            stats.paired(cells[0].values("cpu_s"), cells[1].values("cpu_s"),
                         lambda with_it, without: (with_it / without - 1) * 100), "% CPU time",
            "; ".join([word for word in [remark(governed.said.get(row.name))] if word] + notes)))
    return lines
