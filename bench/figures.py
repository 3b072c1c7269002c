# SPDX-License-Identifier: GPL-2.0-or-later
"""The figures to reach, beside those reached. A limit that depends on what a trap costs is given at
180 and at 600 ns, the two machines it was set on, and lies on the line between them here."""

import dataclasses
import re
import statistics

import lines as single
import stats
import table
from rows import DEPTHS

CHEAP_TRAP_NS, DEAR_TRAP_NS = 180, 600
WHOLE = 0.99       # of the stacks must be complete for a figure about complete stacks
BUSY_CALLS = 0.5e6
IDLE_CALLS = 50e3
BOUND_BY_ALLOCATOR = ("C++ stress", "Rust trees")
SAMPLED_CALLS = 2e6  # a second, up to which --sample may cost the least
AGAINST_MASSIF = ("clang -O1", "node", "sqlite3", "git log -p", "python3 json")
BYTES_OF_BLOCK = 64  # of the library's for a live block
LIBRARY_KIB = 640  # what it takes of a program that hardly allocates, and may be small
RSS_NOISE = 1.02   # two bare runs differ by so much
THREAD_NOISE = 1.10  # empty programs on two cores cost so much more than on one


@dataclasses.dataclass
class Figure:
    title: str
    to_reach: str
    reached: str = "–"
    verdict: str = "not measured"  # or yes, no; with a reason where it needs one

    def as_json(self):
        return vars(self)


def yes_no(holds):
    return "yes" if holds else "no"


def at_most(title, value, limit, unit="", ok=True, why=""):
    """ok, why: a further condition, and what to say when it does not hold."""
    figure = Figure(title, f"≤ {limit:g}{unit}")
    if value is not None:
        figure.reached = table.number(value) + unit
        figure.verdict = yes_no(value <= limit and ok)
        if not ok:
            figure.verdict += ", " + why
    return figure


def each(title, to_reach, found, worst=max):
    """found: [(row, value, holds)]; one figure for all of them, with the worst named."""
    figure = Figure(title, to_reach)
    found = [entry for entry in found if entry[1] is not None]
    if found:
        row, value, _ = worst(found, key=lambda entry: entry[1])
        good = sum(holds for *_, holds in found)
        figure.reached = f"{good} of {len(found)}; the worst: {row} {table.number(value)}"
        figure.verdict = yes_no(good == len(found))
    return figure


def interval_words(values):
    """Where their median lies, for behind it; nothing where they are too few."""
    interval = stats.median_interval(values)
    return f" ({interval[0]:.2f} to {interval[1]:.2f})" if interval else ""


def side(values, limit):
    """Whether the median of what they are a sample of is at most the limit; None: that may be
    chance, or they are too few to tell."""
    interval = stats.median_interval(values)
    if interval is None or interval[0] <= limit < interval[1]:
        return None
    return interval[1] <= limit


class Figures:
    def __init__(self, values, rows, lines, facts):
        self.values, self.lines = values, lines
        self.rows = {row.name: row for row in rows if not row.missing}
        self.programs = [row for row in self.rows.values() if not row.pairs]
        self.trap_ns = facts["emulated_ns"] or DEAR_TRAP_NS

    def limit(self, cheap, dear):
        share = (self.trap_ns - CHEAP_TRAP_NS) / (DEAR_TRAP_NS - CHEAP_TRAP_NS)
        return round(cheap + (dear - cheap) * min(1, max(0, share)), 2)

    def line(self, key):
        return single.median(self.lines, key)

    def less(self, key, *others):
        """That line's median without those of others; None if one is not there."""
        found = [self.line(name) for name in (key, *others)]
        return None if None in found else found[0] - sum(found[1:])

    def pair_row(self, depth, threads=1):
        return self.rows.get(f"{depth} frames, {threads} thread{'s' if threads > 1 else ''}")

    def pair_ratio(self, row, key, base):
        found = self.values.ratio(row, key, base) if row else None
        return found.median if found else None

    def whole(self, row):
        """(whether the row's stacks are complete, what to say if not)"""
        share = self.values.median(row, "exact", "complete") if row else None
        share = share or 0
        return share >= WHOLE, f"{share * 100:.0f} % of the stacks are complete"

    def ratio(self, row, key):
        found = self.values.ratio(row, key)
        return found.median if found else None

    def excess(self, row, key, base):
        found = self.values.excess(row, key, base)
        return found.median if found else None

    def quotient(self, row, key, other):
        ours, theirs = self.ratio(row, key), self.ratio(row, other)
        return None if ours is None or theirs is None else ours / theirs

    def busy(self):
        return [row for row in self.programs
                if (self.values.calls_per_s(row) or 0) > BUSY_CALLS]

    # --- the pair loop -------------------------------------------------------------------------

    def pair_figures(self):
        row = self.pair_row(4)
        yield self.in_turns("pair loop, no stacks: exact / floor", "turns.nostack.4",
                            self.limit(1.2, 1.1))
        for depth in DEPTHS:
            yield self.stack_share(depth)
        complete, why = self.whole(row)
        yield self.in_turns("pair loop, 4 frames, complete stack: exact / floor", "turns.exact.4",
                            self.limit(1.8, 1.3), ok=complete, why=why)
        yield self.in_turns("pair loop, 4 frames, malloc by one trap / floor of two",
                            "turns.one.4", 0.75)

    def in_turns(self, title, key, limit, **complete):
        """By turns.py, with the interval of the median; what lies on both sides may be chance."""
        figure = at_most(title, self.line(key), limit, **complete)
        line = next((line for line in self.lines if line.key == key and line.values), None)
        interval = interval_words(line.values) if line else ""
        figure.reached += interval
        if interval and side(line.values, limit) is None:
            figure.verdict += ", not certain"
        return figure

    def stack_added(self, row):
        """ns of a pair that its complete stack adds, or None."""
        added = stats.spread(stats.paired(
            self.values.cost(row, "exact"), self.values.cost(row, "nostack"),
            lambda stack, none: stack - none)) if row else None
        return added.median if added else None

    def stack_share(self, depth):
        complete, why = self.whole(self.pair_row(depth))
        return self.in_turns(f"a stack of {depth} frames / bpf_get_stackid with frame pointers",
                             f"turns.share.{depth}", 0.35 if depth == DEPTHS[0] else 0.25,
                             ok=complete, why=why)

    def stacks_table(self):
        """What stacks cost by depth, beside the kernel's and on top of the empty probes."""
        lines = []
        for depth in DEPTHS:
            row, stackid = self.pair_row(depth), self.line(f"stackid.{depth}")
            added = self.stack_added(row)
            share = added / stackid if added is not None and stackid else None
            whole = self.values.median(row, "exact", "complete") if row else None
            lines.append([depth, *map(table.number, (
                added, stackid, share, self.pair_ratio(row, "nostack", "floor"),
                self.pair_ratio(row, "exact", "floor"))),
                "–" if whole is None else f"{whole * 100:.0f} %"])
        return table.markdown(
            ["frames", "a stack adds, ns", "bpf_get_stackid adds, ns", "share",
             "no stacks / floor", "with stacks / floor", "complete stacks"], lines)

    # --- programs ------------------------------------------------------------------------------

    def program_figures(self):
        limit = self.limit(1.8, 1.4)
        found = [(row.name, self.excess(row, "exact", "floor")) for row in self.busy()]
        yield each("programs above 0.5 M calls/s: exact − bare / floor − bare", f"≤ {limit:g}",
                   [(name, value, value is not None and value <= limit) for name, value in found])
        for key in ("memleak", "bpftrace"):
            found = [(row.name, self.excess(row, key, "exact")) for row in self.busy()]
            yield each(f"the same programs: {key} − bare / exact − bare", "≥ 4",
                       [(name, value, value is not None and value >= 4) for name, value in found],
                       worst=min)
        yield self.cheaper("memcheck", [row for row in self.programs
                                        if row.name not in BOUND_BY_ALLOCATOR])
        yield self.cheaper("massif", [row for row in self.programs
                                      if row.name in AGAINST_MASSIF])
        yield self.cheaper("heaptrack", [row for row in self.programs
                                         if (self.values.calls_per_s(row) or 0) < IDLE_CALLS],
                           "programs below 50 k calls/s")

    def cheaper(self, key, rows, which=None):
        found = [(row.name, self.quotient(row, "exact", key)) for row in rows]
        title = f"{which or ', '.join(row.name for row in rows)}: exact / {key}"
        return each(title, "< 1",
                    [(name, value, value is not None and value < 1) for name, value in found])

    def memory_growth(self):
        found = []
        for row in self.programs:
            bare, ours = (self.values.median(row, key, "rss_kib") for key in ("bare", "exact"))
            value = ours / bare if bare and ours else None
            found.append((row.name, value, value is not None and value <= RSS_NOISE))
        return each("the program's peak memory, exact / bare", f"1 (≤ {RSS_NOISE:g} for noise)",
                    found)

    # --- the library ---------------------------------------------------------------------------

    def library_figures(self):
        """What it adds in place of probes, beside heaptrack's recording, which is not read yet."""
        found = [(row.name, self.excess(row, "library", "heaptrack_raw")) for row in self.busy()]
        title = "library: what it adds / what heaptrack -r adds, programs above 0.5 M calls/s"
        yield each(title, "≤ 0.6",
                   [(name, value, value is not None and value <= 0.6) for name, value in found])
        values = [value for _, value in found if value is not None]
        yield at_most("the same, their median", statistics.median(values) if values else None, 0.4)
        for depth, limit in zip(DEPTHS, (45, 50, 70, 120)):
            yield at_most(f"library: a pair of {depth} frames, added",
                          self.added(self.pair_row(depth)), limit, " ns")
        yield self.threads_by_library()
        yield self.memory_of_library()

    def memory_of_library(self):
        """A program of 1 MiB has no room for a library in 5 % of it: that part is stated."""
        found = [(row.name, self.beyond_blocks(row)) for row in self.programs]
        return each(f"library: the program's peak memory beyond 1.05 of bare and {BYTES_OF_BLOCK} "
                    "bytes a live block, KiB", f"≤ {LIBRARY_KIB}, of the library itself",
                    [(name, value, value is not None and value <= LIBRARY_KIB)
                     for name, value in found])

    def beyond_blocks(self, row):
        """In KiB, or None."""
        bare = self.values.median(row, "bare", "rss_kib")
        ours, blocks = (self.values.median(row, "library", name)
                        for name in ("rss_kib", "peak_blocks"))
        if not bare or ours is None or blocks is None:
            return None
        return ours - 1.05 * bare - BYTES_OF_BLOCK * blocks / 1024

    def added(self, row):
        """ns that the library adds to a pair, or None."""
        added = stats.spread(stats.paired(
            self.values.cost(row, "library"), self.values.cost(row, "bare"),
            lambda library, bare: library - bare)) if row else None
        return added.median if added else None

    def threads_by_library(self):
        one, two = (self.pair_row(4, threads) for threads in (1, 2))
        costs = [stats.spread(self.values.cost(row, "library").values()) if row else None
                 for row in (one, two)]
        return at_most("library: two threads, each / one thread",
                       costs[1].median / costs[0].median if all(costs) else None, THREAD_NOISE)

    def growth(self, key, job):
        """Shown only where the whole interval of its median is below: else it may be chance."""
        line = next((line for line in self.lines if line.key == key and line.values), None)
        if line is None:
            return at_most(f"growth depth, {job}: added", None, 1, " %")
        figure = at_most(f"growth depth, {job}: added", line.spread.median, 1, " %")
        figure.reached += interval_words(line.values)
        if side(line.values, 1) is None:
            figure.verdict += ", not certain"
        return figure

    def two_threads(self):
        one, two = self.pair_row(4), self.pair_row(4, 2)
        value = None
        if one and two:
            costs = [stats.spread(self.values.cost(row, "exact").values()) for row in (one, two)]
            value = costs[1].median / costs[0].median if all(costs) else None
        return at_most("two threads, each / one thread: exact", value, THREAD_NOISE)

    def start_up(self):
        """What a user waits for at a start; ends are given with it, since tools differ there."""
        figure = at_most("start-up: until the program's main",
                         self.less("start.memtraced", "start.none"), 50, " ms")
        ours, theirs = self.line("total.memtraced"), self.line("total.heaptrack")
        if ours and theirs:
            figure.reached += (f"; start to exit {table.number(ours)}, "
                               f"heaptrack {table.number(theirs)}")
        return figure

    def unwind_figures(self):
        """Of files that are not here nothing is said."""
        shares = [(line.key.split(".")[1], line.spread.median) for line in self.lines
                  if re.fullmatch(r"rows\..*\.share", line.key)]
        yield each("unwind rows for return addresses, as a share of the file", "≤ 1 %",
                   [(name, value, value <= 1) for name, value in shares])
        yield at_most("compile libLLVM's unwind rows", self.line("rows.libLLVM.first"), 150, " ms")
        yield at_most("libLLVM's unwind rows from the cache", self.line("rows.libLLVM.kept"), 5,
                      " ms")

    def sampling_figures(self):
        """What --sample adds, by program; sampling.py has the others' figures beside."""
        yield at_most("sampling library: an unsampled call, above one that is passed on",
                      self.line("sampling.above"), 3, " ns")
        hits = [(line.key.split(".")[-1] + " frames", line.spread.median) for line in self.lines
                if line.key.startswith("sampling.hit.") and line.values]
        yield each("BPF's time for a sampled allocation, its stack included, ns", "≤ 1,500",
                   [(name, value, value <= 1500) for name, value in hits])
        added = {line.key.removeprefix("sampling.sampled."): line for line in self.lines
                 if line.key.startswith("sampling.sampled.") and line.values}
        bound = {name: line for name, line in added.items() if name in BOUND_BY_ALLOCATOR or
                 line.facts.get("calls_per_s", 0) > SAMPLED_CALLS}
        yield self.sampled("programs up to 2 M calls/s", 2,
                           {name: line for name, line in added.items() if name not in bound})
        yield self.sampled(f"{' and '.join(BOUND_BY_ALLOCATOR)}, and what makes more calls", 10,
                           bound)

    def sampled(self, which, limit, found):
        """found: {program: line}. All must be certain for a yes, one that is above for a no."""
        figure = each(f"--sample adds: {which}", f"≤ {limit} %",
                      [(name, line.spread.median, line.spread.median <= limit)
                       for name, line in found.items()])
        if found:
            worst = max(found.values(), key=lambda line: line.spread.median)
            figure.reached += " %" + interval_words(worst.values)
            sides = {side(line.values, limit) for line in found.values()}
            certain = sides == {True} if figure.verdict == "yes" else False in sides
            figure.verdict += "" if certain else ", not certain"
        return figure

    def overhead_figures(self):
        """overhead.py has what was predicted beside."""
        found = [(line.key.split(".", 1)[1], line.spread.median) for line in self.lines
                 if line.key.startswith("overhead.") and line.values]
        yield each("--max-overhead=5% adds", "≤ 5 %",
                   [(name, value, value <= 5) for name, value in found])

    def histogram(self):
        """An empty program on the same event is the floor of both."""
        ours, theirs, floor = map(self.line, ("syscall.read.hist", "syscall.read.bpftrace",
                                              "tracepoint.read"))
        figure = at_most("histogram: added to the observed call, / what bpftrace adds",
                         ours / theirs if ours is not None and theirs else None, 0.5)
        if floor is not None and theirs:
            figure.reached += f"; an empty program {table.number(floor / theirs)}"
        return figure

    # --- the rest ------------------------------------------------------------------------------

    def other_figures(self):
        yield self.start_up()
        for job, title in (("compile", "a compile job"), ("redis", "redis-benchmark")):
            yield self.growth(f"growth.{job}.faults", f"{title} beside the service")
            yield self.growth(f"growth.{job}.mappings", f"{title} beside it, with mappings")
        yield from self.sampling_figures()
        yield from self.overhead_figures()
        yield at_most("pair loop, 4 frames: malloc by one trap / by two",
                      self.line("turns.traps.4"), 0.75)
        yield at_most("the program to which two traps add most: added by one / by two",
                      self.line("one_trap.dearest"), 0.8)
        yield self.histogram()
        yield at_most("histogram: added to other calls", self.line("syscall.getppid.hist"), 65,
                      " ns")
        yield at_most("histogram: start to exit, without the kernel's own tear-down",
                      self.less("total.hist", "total.none", "tracepoint.close"), 50, " ms")
        yield at_most("attach to 200 libraries, unwind rows kept", self.line("attach.again"), 150,
                      " ms")
        yield at_most("attach to 200 libraries, no rows kept", self.line("attach.first"), 1500,
                      " ms")
        yield at_most("the same, CPU: unwind rows kept", self.line("attach.again.cpu"), 150, " ms")
        yield from self.unwind_figures()
        yield at_most("kernel memory for a live block", self.line("memory.block"), 128, " bytes")
        yield at_most("daemon's memory with 10^6 live blocks", self.line("memory.daemon"), 30,
                      " MiB")
        yield at_most("daemon's CPU at 10^6 events/s", self.line("daemon.cpu"), 2, " %")

    def all(self):
        return [*self.pair_figures(), *self.program_figures(), self.memory_growth(),
                self.two_threads(), *self.library_figures(), *self.other_figures()]


def as_table(figures):
    return table.markdown(["figure", "to reach", "reached", "?"],
                          [[figure.title, figure.to_reach, figure.reached, figure.verdict]
                           for figure in figures])
