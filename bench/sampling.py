# SPDX-License-Identifier: GPL-2.0-or-later
"""What sampled depth costs where the library is preloaded, and other samplers beside it: each as a
ratio to the same allocator without it, in the same round."""

import contextlib
import dataclasses
import glob
import os
import time

import kernelside
import peers
import rounds
import rows
import stats
import table
from columns import Column, Memtraced, has_option
from inputs import Inputs
from lines import Line
from measure import POLL_S, Failed, Running, forget_cost, run_under, timed

LIBRARY = "libmemtraced-sample.so"
QUICK_PROGRAMS = ("jq", "C++ stress", "python3 json")
QUICK_SCALE = 0.25
LONG_SCALE = 4  # of the inputs: programs run for a second, so that more than their start is seen
ROUNDS = {True: 6, False: 20}  # quick: of OURS, since two rounds differ by more than is added
OURS = ("bare", "unheard", "sampled")
OTHERS = ("jemalloc", "jemalloc_prof", "bare_beside", "heaptrack")
SLOW = ("tcmalloc", "tcmalloc_prof")  # a hundred times slower with its profiler
COUNTING = "--sample=16k"  # so many samples that one run tells calls to some 5 %
PAIRS = 25  # times the row's: what is fast needs more to be measured
END_S = 5400
COUNTS_TIME = "/proc/sys/kernel/bpf_stats_enabled"
COUNTING_NS = 40  # of each run, by the kernel's count itself: trace/bpf/run_stats.h
HIT_BLOCKS, HIT_INTERVAL = 4_000_000, 16384  # 160 MiB and 10,000 samples
LIMIT_S = 120


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
        # Of all calls. In rounds with a bare program of their own.
        Bare("bare_beside", "bare", pairs=PAIRS),
        peers.Heaptrack("heaptrack", "heaptrack"),
    ]


def pair_jobs(place, quick):
    return [row for row in rows.pair_rows(place, quick) if row.depth == 4 and row.threads == 1]


def program_jobs(place, quick, scale):
    made = Inputs(place.work, QUICK_SCALE if quick else scale)
    return [row for row in rows.program_rows(place, made)
            if not quick or row.name in QUICK_PROGRAMS]


def per_pair(results, row, column):
    """{round: ns of a pair}, start and end subtracted."""
    alone = results.cell(rows.ONE_PAIR, column.key).median("cpu_s") or 0
    return {number: (used - alone) * 1e9 / (row.pairs * column.pairs)
            for number, used in results.cpu(row.name, column.key).items()}


def pair_lines(results, row, found):
    ns = {column.key: per_pair(results, row, column) for column in found}

    def line(key, title, column, base, half=1, note=""):
        return Line(f"sampling.{key}", title, stats.paired(
            ns[column], ns[base], lambda with_it, without: (with_it - without) / half), "ns",
            note)

    return [
        Line("sampling.pair", "malloc and free, of 24 to 64 bytes", list(ns["bare"].values()),
             "ns"),
        line("interposed", "functions that pass them on add", "interposed", "bare"),
        line("above", "the library, unheard: a call above these", "unheard", "interposed", 2,
             "OpenTelemetry: 10 ns"),
        line("unheard", "the library, unheard, adds", "unheard", "bare"),
        line("sampled", "the library, heard by --sample, adds", "sampled", "bare"),
        line("jemalloc", "jemalloc's prof:true adds", "jemalloc_prof", "jemalloc"),
        line("tcmalloc", "tcmalloc's HEAPPROFILE adds", "tcmalloc_prof", "tcmalloc"),
        line("heaptrack", "heaptrack adds", "heaptrack", "bare_beside"),
    ]


def rates(results, row):
    """Allocations and frees, and bytes, of a second of the bare program's CPU time, by what samples
    say of one run; {}: nothing is known, or no sample was seen."""
    counted = next(iter(results.cell(row.name, "counted").samples.values()), None)
    bare = results.cell(row.name, "bare").median("cpu_s")
    if not counted or not counted.allocs or not bare:
        return {}
    return {"calls_per_s": (counted.allocs + counted.frees) / bare,
            "bytes_per_s": counted.bytes / bare}


def rates_words(found):
    if not found:
        return "calls/s not known"
    return (f"{table.amount(found['calls_per_s'])} calls/s, "
            f"{table.number(found['bytes_per_s'] / (1 << 20))} MiB/s (estimates)")


def rounds_words(values):
    interval = stats.median_interval(values)
    if not interval:
        return []
    return [f"95 %: {interval[0]:.2f} to {interval[1]:.2f}; {len(values)} rounds"]


def program_lines(results, row):
    busy = rates(results, row)

    def line(key, what, column, base):
        cells = [results.cell(row.name, name) for name in (column, base)]
        added = stats.paired(cells[0].values("cpu_s"), cells[1].values("cpu_s"),
                             lambda with_it, without: (with_it / without - 1) * 100)
        ours = key == "sampled" and not row.missing
        notes = [rates_words(busy)] if ours else []
        notes += rounds_words(added) + [cell.note for cell in cells if cell.note]
        return Line(f"sampling.{key}.{row.name}", f"{row.name}: {what} adds", added, "% CPU time",
                    "; ".join(notes + ([row.missing] if row.missing else [])),
                    busy if ours else {})

    return [line("unheard", "the library, unheard,", "unheard", "bare"),
            line("sampled", "--sample", "sampled", "bare"),
            line("jemalloc", "jemalloc's prof:true", "jemalloc_prof", "jemalloc"),
            line("tcmalloc", "tcmalloc's HEAPPROFILE", "tcmalloc_prof", "tcmalloc"),
            line("heaptrack", "heaptrack", "heaptrack", "bare_beside")]


@contextlib.contextmanager
def program_time():
    """The kernel counts what BPF programs take."""
    with open(COUNTS_TIME, encoding="ascii") as file:
        before = file.read()
    with open(COUNTS_TIME, "w", encoding="ascii") as file:
        file.write("1")
    try:
        yield
    finally:
        with open(COUNTS_TIME, "w", encoding="ascii") as file:
            file.write(before)


def sample_programs():
    """{id: (ns, runs)} of what stands at probes of samples, on this host."""
    return {entry["id"]: (entry.get("run_time_ns", 0), entry.get("run_cnt", 0))
            for entry in kernelside.bpftool("prog", "show") if entry.get("name") == "on_sample"}


def ns_of_hits(found):
    """[(ns, runs)] -> ns of a run."""
    ns, runs = (sum(column) for column in zip(*found)) if found else (0, 0)
    return ns / runs - COUNTING_NS if runs else None


def hit_ns(place, row):
    """While it runs: what programs have taken is gone with them."""
    others, seen = set(sample_programs()), {}
    argv = [place.memtraced, "-q", "--sample", "-o", f"json:{place.file('report.json')}", "--",
            *timed(place, row), *row.command]
    forget_cost(place)
    with Running(argv, place.file("tool.log")) as tool:
        while not tool.ended():
            seen.update({number: taken for number, taken in sample_programs().items()
                         if number not in others})
            time.sleep(POLL_S)
        tool.wait(LIMIT_S)
    found = ns_of_hits(list(seen.values()))
    if found is None:
        raise Failed("no sample was seen: " + tool.output().strip()[-300:])
    return found


def hit_row(place, depth, blocks, *more):
    return rows.Row("hits", [place.program("pairs"), str(depth), "1", str(blocks), *more],
                    env={"LD_PRELOAD": library(place),
                         "MEMTRACED_SAMPLE_INTERVAL": str(HIT_INTERVAL)})


def hit_lines(place, quick, count):
    if not has_option(place, "--sample"):
        return []
    blocks = HIT_BLOCKS // 4 if quick else HIT_BLOCKS
    ns = {depth: [hit_ns(place, hit_row(place, depth, blocks, "keep")) for _ in range(count)]
          for depth in rows.DEPTHS}
    lines = [Line(f"sampling.hit.{depth}", f"BPF's time for a sampled allocation, {depth} frames",
                  found, "ns", "its stack included") for depth, found in ns.items()]
    # One program serves both probes: where each block is freed at once, half of its runs are frees,
    # and they find in the caches what the allocation has left there.
    both = [hit_ns(place, hit_row(place, rows.DEPTHS[0], blocks)) for _ in range(count)]
    return lines + [Line("sampling.free", f"the mean of it and its free at once, "
                         f"{rows.DEPTHS[0]} frames", both, "ns",
                         "OpenTelemetry: 4.7 us, and 0.6 for a free")]


def program_results(place, quick, limits, start):
    """An allocator's profiler is held against that allocator alone, so others can have rounds of
    their own, and fewer."""
    found, merged = {column.key: column for column in columns(place)}, rounds.Results()
    counted = Sampled("counted", "calls", options=(COUNTING,), needs="--sample")
    for some, scale, count in (
            ([found[key] for key in OURS], LONG_SCALE, ROUNDS[quick]),
            ([counted], LONG_SCALE, 1),
            ([found[key] for key in OTHERS], LONG_SCALE, limits.rounds),
            ([found[key] for key in SLOW], 1, limits.slow_rounds)):
        results = rounds.measure_all(
            place, [row for row in program_jobs(place, quick, scale) if not row.missing], some,
            dataclasses.replace(limits, rounds=count), start)
        merged.cells.update(results.cells)
    return merged


def measure(place, quick, limits, start):
    found, limits = columns(place), dataclasses.replace(limits, end_s=END_S)
    pairs = pair_jobs(place, quick)
    of_pairs = rounds.measure_all(place, pairs, found, limits, start)
    lines = [line for row in pairs if row.pairs > 1 for line in pair_lines(of_pairs, row, found)]
    of_programs = program_results(place, quick, limits, start)
    for row in program_jobs(place, quick, LONG_SCALE):
        lines += program_lines(of_programs, row)
    with program_time():
        return lines + hit_lines(place, quick, limits.rounds)
