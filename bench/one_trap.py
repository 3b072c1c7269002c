# SPDX-License-Identifier: GPL-2.0-or-later
"""One trap for an allocation in place of two, over all programs: what counting adds to their CPU
time by entry and return alone, and as it is (entry and return until the sites inside have been
compared with them), beside no tool, in the same rounds."""

import dataclasses
import glob

import rounds
import rows
import stats
from columns import PROBES, Bare, Memtraced
from inputs import Inputs
from lines import Line
from sampling import QUICK_SCALE

QUICK_PROGRAMS = ("jq", "sqlite3", "C++ stress")
END_S = 5400
SCALE = 2  # of the inputs: most programs run for a second or two when they are counted
# Whose operator new has a `ret` that would be single-stepped.
OTHERS = {"jemalloc": "libjemalloc.so.2", "tcmalloc": "libtcmalloc_minimal.so.4",
          "mimalloc": "libmimalloc.so.2"}
COLUMNS = (("two", "entry and return", "never"), ("one", "as it is", "checked"))


def with_allocators(programs):
    """C++ stress with each allocator that is installed, too."""
    for row in programs:
        yield row
        for name, library in OTHERS.items() if row.name == "C++ stress" else ():
            for path in glob.glob(f"/usr/lib/*/{library}"):
                yield dataclasses.replace(row, name=f"{row.name}, {name}",
                                          env={**row.env, "LD_PRELOAD": path}, allocator=path)


def added(results, row, key):
    """Shares of the bare program's CPU time, by rounds."""
    bare = results.cpu(row.name, "bare")
    return {number: value / bare[number] - 1
            for number, value in results.cpu(row.name, key).items() if number in bare}


def lines_of(results, row):
    two, one = added(results, row, "two"), added(results, row, "one")
    cells = [results.cell(row.name, key) for key in ("bare", "two", "one")]
    notes = [cell.note for cell in cells if cell.note] + ([row.missing] if row.missing else [])
    if two and one:
        notes.append(f"adds {stats.spread(two.values()).median * 100:.0f} % by two, "
                     f"{stats.spread(one.values()).median * 100:.0f} % by one")
    yield Line(f"one_trap.{row.name}", f"{row.name}: added by one trap / by two",
               stats.paired(one, two, lambda with_one, with_two: with_one / with_two), "",
               "; ".join(notes))


def dearest(results, measured):
    """The program, of glibc's, to which two traps add most."""
    found = {row.name: stats.spread(added(results, row, "two").values())
             for row in measured if "," not in row.name and added(results, row, "two")}
    if not found:
        return
    name = max(found, key=lambda one: found[one].median)
    row, = (one for one in measured if one.name == name)
    for line in lines_of(results, row):
        yield dataclasses.replace(line, key="one_trap.dearest",
                                  title=f"the program to which two traps add most: {line.title}")


def measure(place, quick, limits, start):
    made = Inputs(place.work, QUICK_SCALE if quick else SCALE)
    programs = [row for row in with_allocators(rows.program_rows(place, made))
                if not quick or row.name.split(",")[0] in QUICK_PROGRAMS]
    columns = [Bare("bare", "bare")] + [
        Memtraced(key, title, options=PROBES, env={"MEMTRACED_TEST_RESULT_SITES": how})
        for key, title, how in COLUMNS]
    results = rounds.measure_all(place, [row for row in programs if not row.missing], columns,
                                 dataclasses.replace(limits, end_s=END_S), start)
    return [*(line for row in programs for line in lines_of(results, row)),
            *dearest(results, [row for row in programs if not row.missing])]
