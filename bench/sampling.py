# SPDX-License-Identifier: GPL-2.0-or-later
"""What sampled depth costs where the library is preloaded, and other samplers beside it: each as a
ratio to the same allocator without it, in the same round."""

import dataclasses
import glob
import os

import rounds
import rows
import stats
from columns import Column, Memtraced
from inputs import Inputs
from lines import Line
from measure import run_under

LIBRARY = "libmemtraced-sample.so"
PROGRAMS = ("redis-server", "sqlite3", "jq", "perl", "clang -O1", "C++ stress", "Rust trees")
QUICK_PROGRAMS = ("jq", "C++ stress")
QUICK_SCALE = 0.25
PAIRS = 25  # times the row's: what is fast needs more to be measured
END_S = 5400


def library(place):
    return os.path.join(place.build, LIBRARY)


def system_library(name):
    return next(iter(glob.glob(f"/usr/lib/*/{name}")), None)


@dataclasses.dataclass
class Preloaded(Column):
    """A program with a library before its allocator, or with another allocator."""
    path: str = None
    env: dict = dataclasses.field(default_factory=dict)

    def missing(self, place):
        return None if self.path and os.path.exists(self.path) else f"no library for {self.title}"

    def run(self, place, row, limit_s):
        row = dataclasses.replace(row.times(self.pairs),
                                  env={**row.env, **self.env, "LD_PRELOAD": self.path})
        return run_under(place, row, limit_s=limit_s)[0]


@dataclasses.dataclass
class Bare(Column):
    def missing(self, place):
        return None

    def run(self, place, row, limit_s):
        return run_under(place, row.times(self.pairs), limit_s=limit_s)[0]


@dataclasses.dataclass
class Sampled(Memtraced):
    """The launcher between is static and would not be given the library; the program is."""

    def run(self, place, row, limit_s):
        return super().run(place, dataclasses.replace(
            row, env={**row.env, "LD_PRELOAD": library(place)}), limit_s)


def columns(place):
    jemalloc, tcmalloc = (system_library(name) for name in ("libjemalloc.so.2",
                                                            "libtcmalloc.so.4"))
    # Without the names of dumps at the end, which are not what sampling costs.
    prof = {"MALLOC_CONF": "prof:true,prof_active:true,lg_prof_sample:19"}
    profile = {"HEAPPROFILE": place.file("heapprofile"),
               "HEAP_PROFILE_ALLOCATION_INTERVAL": str(1 << 50),
               "HEAP_PROFILE_INUSE_INTERVAL": str(1 << 50)}
    return [
        Bare("bare", "bare", pairs=PAIRS),
        Preloaded("interposed", "interposed", pairs=PAIRS, path=place.program("interpose.so")),
        Preloaded("unheard", "the library, unheard", pairs=PAIRS, path=library(place)),
        Sampled("sampled", "sampled", pairs=PAIRS, options=("--sample",), needs="--sample",
                counts=False),
        Preloaded("jemalloc", "jemalloc", pairs=PAIRS, path=jemalloc),
        Preloaded("jemalloc_prof", "jemalloc, prof:true", pairs=PAIRS, path=jemalloc, env=prof),
        Preloaded("tcmalloc", "tcmalloc", pairs=PAIRS, path=tcmalloc),
        Preloaded("tcmalloc_prof", "tcmalloc, HEAPPROFILE", path=tcmalloc, env=profile),
    ]


def jobs(place, quick):
    made = Inputs(place.work, QUICK_SCALE if quick else 1)
    names = QUICK_PROGRAMS if quick else PROGRAMS
    pairs = [row for row in rows.pair_rows(place, quick)
             if row.depth == 4 and row.threads == 1]
    return pairs + [row for row in rows.program_rows(place, made) if row.name in names]


def per_pair(results, row, column):
    """{round: ns of a pair}, start and end subtracted."""
    alone = results.cell(rows.ONE_PAIR, column.key).median("cpu_s") or 0
    return {number: (used - alone) * 1e9 / (row.pairs * column.pairs)
            for number, used in results.cpu(row.name, column.key).items()}


def pair_lines(results, row, found):
    ns = {column.key: per_pair(results, row, column) for column in found}

    def line(key, title, column, base, half=1):
        return Line(f"sampling.{key}", title, stats.paired(
            ns[column], ns[base], lambda with_it, without: (with_it - without) / half), "ns")

    return [
        Line("sampling.pair", "malloc and free, of 24 to 64 bytes", list(ns["bare"].values()),
             "ns"),
        line("interposed", "functions that pass them on add", "interposed", "bare"),
        line("above", "the library, unheard: a call above these", "unheard", "interposed", 2),
        line("unheard", "the library, unheard, adds", "unheard", "bare"),
        line("sampled", "the library, heard by --sample, adds", "sampled", "bare"),
        line("jemalloc", "jemalloc's prof:true adds", "jemalloc_prof", "jemalloc"),
        line("tcmalloc", "tcmalloc's HEAPPROFILE adds", "tcmalloc_prof", "tcmalloc"),
    ]


def program_lines(results, row):
    def line(key, what, column, base):
        cells = [results.cell(row.name, name) for name in (column, base)]
        notes = [cell.note for cell in cells if cell.note] + ([row.missing] if row.missing else [])
        return Line(f"sampling.{key}.{row.name}", f"{row.name}: {what} adds", stats.paired(
            cells[0].values("cpu_s"), cells[1].values("cpu_s"),
            lambda with_it, without: (with_it / without - 1) * 100), "% CPU time",
            "; ".join(notes))

    return [line("unheard", "the library, unheard,", "unheard", "bare"),
            line("sampled", "--sample", "sampled", "bare"),
            line("jemalloc", "jemalloc's prof:true", "jemalloc_prof", "jemalloc"),
            line("tcmalloc", "tcmalloc's HEAPPROFILE", "tcmalloc_prof", "tcmalloc")]


def measure(place, quick, limits, start):
    found = columns(place)
    every = jobs(place, quick)
    results = rounds.measure_all(place, [row for row in every if not row.missing], found,
                                 dataclasses.replace(limits, end_s=END_S), start)
    lines = []
    for row in every:
        if row.pairs > 1:
            lines += pair_lines(results, row, found)
        elif not row.pairs:
            lines += program_lines(results, row)
    return lines
