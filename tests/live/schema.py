# SPDX-License-Identifier: GPL-2.0-or-later
"""The JSON report's schema, strictly: every key there, none besides, each of its type; and what
must hold between the numbers of any report, whatever was traced. check(report)
raises AssertionError.

A report refers to stacks by their numbers in tables. loads(text), load(file) and check(report)
put the frames in their place, by which tests know them."""

import json


class Nullable:
    def __init__(self, kind):
        self.kind = kind


class ListOf:
    def __init__(self, kind):
        self.kind = kind


class OneOf:
    def __init__(self, *values):
        self.values = values


class MapOf:
    """An object whose keys are free."""

    def __init__(self, kind):
        self.kind = kind


class Hex:
    """A string of hexadecimal digits; `prefix` before it; `digits` of them, if given."""

    def __init__(self, prefix="", digits=None):
        self.prefix, self.digits = prefix, digits


class Natural:
    """An integer that is not negative."""


class Integer:
    """An integer of either sign."""


class Real:
    """An integer or a fraction."""


NATURAL, INTEGER, REAL, ADDRESS = Natural(), Integer(), Real(), Hex("0x")

SITE_ESTIMATE = {"interval": NATURAL, "samples": NATURAL, "ci95_bytes": NATURAL,
                 "ci95_blocks": NATURAL, "ci95_peak_bytes": NATURAL,
                 "ci95_allocated_bytes": NATURAL, "ci95_allocs": NATURAL}
ESTIMATE = Nullable({**SITE_ESTIMATE, "ci95_frees": NATURAL, "shown_interval": NATURAL})
SITE_ESTIMATE = Nullable(SITE_ESTIMATE)

FRAME = {"addr": Nullable(ADDRESS), "function": Nullable(str), "offset": Nullable(NATURAL),
         "file": Nullable(str),
         "line": Nullable(NATURAL), "object": Nullable(str), "inline": bool}

# The tables, and the members that are numbers in them, as tests name their frames.
TABLES = {"functions": ListOf({"function": Nullable(str), "file": Nullable(str),
                               "object": Nullable(str)}),
          "frames": ListOf({"function": NATURAL, "addr": Nullable(ADDRESS),
                            "offset": Nullable(NATURAL), "line": Nullable(NATURAL),
                            "inline": bool}),
          "stacks": ListOf(ListOf(Nullable(NATURAL)))}
STACKS = {"stack_id": "frames", "allocated_stack_id": "allocated", "freed_stack_id": "freed"}
VERSION, EXPANDED = 2, "2, expanded"

# null where allocations were not traced
COUNTED = ("allocs", "frees", "failed", "bytes", "live_bytes", "live_blocks", "peak_bytes",
           "temporary", "missed_frees", "unknown_frees")
ALLOC = {**{key: Nullable(NATURAL) for key in COUNTED}, "estimate": ESTIMATE,
         "lifetime_resolution_ns": Nullable(NATURAL),
         # of what is live, with --existing
         "before_attach": Nullable({"usable_bytes": NATURAL, "live_blocks": NATURAL,
                                    "unread_bytes": NATURAL})}

MAPPED = {key: NATURAL for key in ("live_bytes", "live_blocks", "peak_bytes", "allocs", "bytes",
                                  "left_out")} | {"inaccessible": Nullable(NATURAL)}

GROWTH = Nullable({"verdict": OneOf("leak", "growing", "cache", "steady"), "bytes_per_s": REAL,
                   "confidence": REAL})

SITE = {"id": Hex(digits=16), "class": OneOf("heap", "mmap"), "live_bytes": NATURAL,
        "live_blocks": NATURAL, "allocs": NATURAL, "bytes": NATURAL, "peak_bytes": NATURAL,
        "peak_blocks": Nullable(NATURAL), "lifetime_ns": Nullable(NATURAL),
        "temporary": Nullable(NATURAL), "oldest_ns": Nullable(NATURAL),
        "newest_ns": Nullable(NATURAL),
        "growth": GROWTH,
        "leak": Nullable(OneOf("definite", "indirect", "possible", "reachable")),
        "estimate": SITE_ESTIMATE, "series": Nullable(ListOf(Nullable(NATURAL))),
        "frames": ListOf(FRAME), "name_frame": Nullable(NATURAL)}  # its index

# Sites have it only with --free-stacks; null where there are no frees: of regions.
FREES = Nullable(ListOf({"blocks": NATURAL, "bytes": NATURAL, "other_thread": NATURAL,
                         "unknown": NATURAL, "mean_ns": Nullable(NATURAL),
                         "lifetimes": ListOf(ListOf(Nullable(NATURAL))), "frames": ListOf(FRAME)}))

# Only of processes of which there is something to say.
NOTES = ListOf({"program": OneOf("32-bit", "no-symbols", "go", "python", "node", "java", "erlang"),
                "text": str})

LEAK = {"bytes": NATURAL, "blocks": NATURAL}

CGROUP_USE = {"path": str, "used": NATURAL, "most": NATURAL, "limit": Nullable(NATURAL)}

PROCESS = {
    "pid": NATURAL, "comm": str, "exe": Nullable(str),
    "end": Nullable({"exit": Nullable(NATURAL), "signal": Nullable(NATURAL),
                     "oom": Nullable(bool)}),
    "alloc": ALLOC, "mmap": Nullable(MAPPED), "sites": ListOf(SITE),
    "leaks": Nullable({"definite": LEAK, "indirect": LEAK, "possible": LEAK, "reachable": LEAK,
                       "suppressed": LEAK, "errors": NATURAL, "checks": NATURAL,
                       "complete": bool, "all_blocks_known": bool, "stopped_ns": NATURAL}),
    "death": Nullable({
        "signal": NATURAL, "code": int, "by": Nullable(OneOf("kernel", "process")),
        "sender": Nullable({"pid": NATURAL, "uid": NATURAL, "comm": Nullable(str)}),
        "oom": Nullable({
            "constraint": Nullable(OneOf("none", "cpuset", "memory-policy", "memcg")),
            "cgroup": Nullable(CGROUP_USE)}),
        "oom_score_adj": int,
        "memory": Nullable({"total_vm": NATURAL, "anon_rss": NATURAL, "file_rss": NATURAL,
                            "shmem_rss": NATURAL, "swapped": NATURAL, "page_tables": NATURAL}),
        "cgroup": Nullable(CGROUP_USE | {"limit_hits": Nullable(NATURAL), "ooms": Nullable(NATURAL),
                                         "oom_kills": Nullable(NATURAL)}),
        "full_cgroup": Nullable(CGROUP_USE)}),
    "fault": Nullable({
        "signal": NATURAL, "name": Nullable(str), "code": int, "tid": NATURAL,
        "addr": Nullable(ADDRESS),
        "block": Nullable({"addr": ADDRESS, "size": NATURAL, "freed": bool,
                           "side": OneOf("before", "inside", "after"), "bytes": NATURAL}),
        "blocks_searched": bool,
        "frames": ListOf(FRAME), "allocated": Nullable(ListOf(FRAME)),
        "freed": Nullable(ListOf(FRAME))}),
    "heap_errors": ListOf({
        "kind": OneOf("invalid-free", "double-free", "mismatched-free", "foreign-free",
                      "failed-allocation", "suspicious-size", "realloc-zero"), "certain": bool,
        "count": NATURAL, "addr": Nullable(ADDRESS), "size": Nullable(NATURAL),
        "block": Nullable({"addr": ADDRESS, "size": NATURAL, "offset": NATURAL}),
        "frames": ListOf(FRAME), "allocated": Nullable(ListOf(FRAME)),
        "freed": Nullable(ListOf(FRAME))}),
    "further_heap_errors": NATURAL,
    "rss": Nullable({"at_ns": Nullable(NATURAL), "exact": bool, "rss": NATURAL, "pss": NATURAL,
                     "heap_live": NATURAL, "heap_free": Nullable(NATURAL), "mmap": NATURAL,
                     "file": NATURAL, "stack": NATURAL, "unknown": NATURAL,
                     "unknown_heap": NATURAL, "moved": NATURAL, "swap": NATURAL,
                     "page_tables": NATURAL, "mapped": NATURAL, "inaccessible": NATURAL}),
    "timeline": Nullable({
        "peak_ns": Nullable(NATURAL), "peak_rss": Nullable(NATURAL), "peak_rss_exact": bool,
        "sites_left_out": Nullable(NATURAL),
        "points": ListOf({"time_ns": NATURAL, "live_bytes": Nullable(NATURAL),
                          "live_blocks": Nullable(NATURAL), "allocs": Nullable(NATURAL),
                          "frees": Nullable(NATURAL), "bytes": Nullable(NATURAL),
                          "rss": Nullable(NATURAL), "pss": Nullable(NATURAL),
                          "cgroup": Nullable(NATURAL)})}),
    "growth": GROWTH}

ENDED = {"comm": str, "exe": Nullable(str), "processes": NATURAL, "lost": NATURAL,
         "alloc": ALLOC}

SYSCALLS = {
    "pid": NATURAL, "comm": str,
    "calls": ListOf({"number": int, "name": Nullable(str), "calls": NATURAL, "timed": NATURAL,
                     "errors": NATURAL, "restarted": NATURAL, "total_ns": NATURAL,
                     "p99_ns": Nullable(NATURAL), "max_ns": Nullable(NATURAL), "bytes": NATURAL,
                     "errnos": ListOf({"errno": NATURAL, "name": Nullable(str),
                                       "count": NATURAL}),
                     "latency_ns": ListOf({"lo": NATURAL, "hi": Nullable(NATURAL),
                                           "count": NATURAL})}),
    "files": ListOf({"path": str, "opens": NATURAL, "reads": NATURAL, "writes": NATURAL,
                     "others": NATURAL, "bytes_read": NATURAL, "bytes_written": NATURAL,
                     "total_ns": NATURAL}),
    "stacks": ListOf({"number": int, "name": Nullable(str), "calls": NATURAL,
                      "total_ns": NATURAL, "frames": ListOf(FRAME)})}

REPORT = {
    "version": OneOf(EXPANDED), "tool": str, "start": str, "elapsed_ns": NATURAL,
    "slept_ns": NATURAL,
    "processes": ListOf(PROCESS), "ended": ListOf(ENDED),
    "histograms": ListOf({"spec": str, "unit": Nullable(str), "key": Nullable(str),
                          "count": NATURAL,
                          "buckets": ListOf({"lo": Nullable(INTEGER), "hi": Nullable(INTEGER),
                                             "count": NATURAL}),
                          "errors": MapOf(NATURAL), "restarted": Nullable(NATURAL),
                          "passed_on": Nullable(NATURAL)}),
    "events": ListOf({"name": str, "count": NATURAL, "period_ns": Nullable(NATURAL),
                      "period": Nullable(NATURAL), "longest_period": Nullable(NATURAL),
                      "ns": Nullable(NATURAL), "weight": Nullable(NATURAL),
                      "ci95_weight": Nullable(NATURAL),
                      "stacks": ListOf({"pid": Nullable(NATURAL), "comm": str, "count": NATURAL,
                                        "ns": Nullable(NATURAL), "weight": Nullable(NATURAL),
                                        "ci95_weight": Nullable(NATURAL),
                                        "frames": ListOf(FRAME),
                                        "name_frame": Nullable(NATURAL)})}),
    "syscalls": ListOf(SYSCALLS),
    "coverage": {"exact": bool, "sampled": bool, "events": NATURAL, "lost": MapOf(NATURAL),
                 "unwinder": Nullable(OneOf("cfi", "fp")), "stacks_complete": NATURAL,
                 "stacks_guided": NATURAL, "stacks_truncated": NATURAL, "cut": MapOf(NATURAL),
                 "all_stacks_complete": Nullable(bool),
                 "stack_check": Nullable({"results": MapOf(NATURAL), "differing": ListOf(
                     {"pid": Nullable(NATURAL), "whole": bool, "stack": ListOf(str),
                      "reference": ListOf(str)})}),
                 "kernel_lacks": Nullable(str),
                 "unprobed": ListOf({"function": str, "object": str, "why": str})}}


SITES_DIFFER = {"function": str, "object": str, "calls": NATURAL, "different": NATURAL}
BUDGET = {"max_ppm": Nullable(NATURAL), "used_ppm": NATURAL, "predicted_ppm": NATURAL,
          "untraced_ns": NATURAL}


# Of --max-overhead.
DEPTH = OneOf("exact", "sampled", "growth")
OVERHEAD = {"max_ppm": NATURAL, "predicted_ppm": NATURAL, "measured_ppm": Nullable(NATURAL),
            "cpu_ns": NATURAL, "call_ns": NATURAL, "sample_ns": NATURAL}
# Of a run that counts calls without it.
COST = {"calls": NATURAL, "span_ns": NATURAL, "counted_ns": NATURAL,
        "predicted_ns": Nullable(NATURAL), "measured_ns": Nullable(NATURAL),
        "own_cpu_ns": Nullable(NATURAL), "limit_ppm": Nullable(NATURAL)}
DEPTHS = ListOf({"at_ns": NATURAL, "depth": DEPTH, "calls_per_s": Nullable(NATURAL),
                 "exact_ppm": Nullable(NATURAL), "interval_factor": NATURAL})


def match_object(value, kind, where):
    assert isinstance(value, dict), f"{where}: not an object: {value!r}"
    missing, more = sorted(kind.keys() - value.keys()), sorted(value.keys() - kind.keys())
    assert not missing, f"{where}: keys missing: {missing}"
    assert not more, f"{where}: keys that the schema has not: {more}"
    for key, inner in kind.items():
        match(value[key], inner, f"{where}.{key}")


def match_hex(value, kind, where):
    assert isinstance(value, str) and value.startswith(kind.prefix), f"{where}: {value!r}"
    digits = value[len(kind.prefix):]
    assert digits and set(digits) <= set("0123456789abcdef"), f"{where}: not hex: {value!r}"
    assert kind.digits in (None, len(digits)), f"{where}: not {kind.digits} digits: {value!r}"


def match_scalar(value, kind, where):
    if isinstance(kind, OneOf):
        assert value in kind.values and not isinstance(value, bool), f"{where}: {value!r}"
    elif isinstance(kind, Natural):
        assert isinstance(value, int) and not isinstance(value, bool) and value >= 0, \
            f"{where}: not an integer >= 0: {value!r}"
    elif isinstance(kind, Integer):
        assert isinstance(value, int) and not isinstance(value, bool), f"{where}: {value!r}"
    elif isinstance(kind, Real):
        assert isinstance(value, (int, float)) and not isinstance(value, bool), \
            f"{where}: {value!r}"
    elif isinstance(kind, Hex):
        match_hex(value, kind, where)
    else:
        assert isinstance(value, kind), f"{where}: not {kind.__name__}: {value!r}"


def match(value, kind, where):
    if isinstance(kind, Nullable):
        if value is not None:
            match(value, kind.kind, where)
    elif isinstance(kind, ListOf):
        assert isinstance(value, list), f"{where}: not a list: {value!r}"
        for index, item in enumerate(value):
            match(item, kind.kind, f"{where}[{index}]")
    elif isinstance(kind, MapOf):
        assert isinstance(value, dict), f"{where}: not an object: {value!r}"
        for key, item in value.items():
            match(item, kind.kind, f"{where}[{key!r}]")
    elif isinstance(kind, dict):
        match_object(value, kind, where)
    else:
        match_scalar(value, kind, where)


def check_timeline(process, heap, where):
    """Times ascend; of the heap all is known, or nothing where allocations were not traced."""
    if process["timeline"] is None:
        return
    points = process["timeline"]["points"]
    times = [point["time_ns"] for point in points]
    assert points and times == sorted(times), f"{where}: {times}"
    for point in points:
        for key in ("live_bytes", "live_blocks", "allocs", "frees", "bytes"):
            assert (point[key] is not None) == heap, f"{where}: {key} of {point}"
    for key in ("peak_ns", "sites_left_out"):
        assert heap or process["timeline"][key] is None, f"{where}: {key} without a heap"


def check_no_allocations(process, where):
    known = [key for key in COUNTED if process["alloc"][key] is not None]
    assert not known, f"{where}: {known} are known, but allocations were not traced"
    heap = [site for site in process["sites"] if site["class"] != "mmap"]
    assert not heap, f"{where}: sites of the heap, but allocations were not traced"
    check_timeline(process, False, where)


def check_estimates(process, where):
    assert process["alloc"]["failed"] is process["alloc"]["temporary"] is None, where
    for item in [process["alloc"], *process["sites"]]:
        assert item["estimate"] or item["bytes"] == 0, f"{where}: {item}"


def check_process(process, exact, sampled, where):
    alloc = process["alloc"]
    check_timeline(process, True, where)
    absent = [key for key in COUNTED if alloc[key] is None]
    assert absent == (["failed", "temporary"] if sampled else []), f"{where}: {absent} not known"
    if sampled:
        check_estimates(process, where)
    else:
        assert alloc["temporary"] <= alloc["frees"] < 1 << 63, f"{where}: {alloc}"
        assert alloc["estimate"] is None, where
    assert alloc["peak_bytes"] >= alloc["live_bytes"], f"{where}: more live than at the peak"
    assert alloc["bytes"] >= 0 and (alloc["allocs"] > 0 or alloc["bytes"] == 0), where
    heap = [site for site in process["sites"] if site["class"] == "heap"]
    for site in process["sites"]:
        known = site["temporary"] is not None
        assert known == (site["class"] == "heap" and not sampled), \
            f"{where}: only heap blocks can be temporary"
        assert (site["lifetime_ns"] is None) == (site["peak_blocks"] is None), where
        assert site["lifetime_ns"] is None or site["class"] == "heap" and not sampled, where
    for site in heap:
        assert site["live_blocks"] > 0 or site["live_bytes"] == 0, \
            f"{where}: bytes without blocks: {site}"
        if site["live_blocks"] and site["oldest_ns"] is not None:
            assert site["newest_ns"] is not None, f"{where}: an oldest block but no newest"
            assert site["oldest_ns"] >= site["newest_ns"], f"{where}: ages the wrong way round"
    if not exact:
        return
    for key in ("live_bytes", "live_blocks", "allocs", "bytes", "temporary"):
        total = sum(site[key] for site in heap)
        assert total == alloc[key], f"{where}: sites' {key} are {total}, the total is {alloc[key]}"


def check_uncounted(report):
    """Of --floor: totals are null and there are no sites."""
    uncounted = dict(PROCESS, alloc={key: OneOf(None) for key in ALLOC}, sites=OneOf([]))
    match(report, dict(REPORT, processes=ListOf(uncounted)), "report")
    assert not report["coverage"]["exact"]


def check_histogram(histogram, where):
    buckets = histogram["buckets"]
    total = sum(bucket["count"] for bucket in buckets)
    assert total == histogram["count"], f"{where}: buckets add up to {total}"
    assert all(bucket["count"] for bucket in buckets), f"{where}: an empty bucket"
    for below, above in zip(buckets, buckets[1:]):
        assert below["hi"] is not None and above["lo"] is not None, f"{where}: open in the middle"
        assert below["hi"] <= above["lo"], f"{where}: {below} and {above}"
    negative = sum(bucket["count"] for bucket in buckets
                   if bucket["lo"] is None or bucket["lo"] < 0)
    if histogram["spec"].count(":") == 0:
        assert sum(histogram["errors"].values()) <= negative, f"{where}: more errors than results"


def check_event(event, where):
    counts = [stack["count"] for stack in event["stacks"]]
    assert sum(counts) == event["count"], f"{where}: stacks add up to {sum(counts)}"
    order = counts
    if event["ns"] is not None:
        order = [stack["ns"] for stack in event["stacks"]]
        assert sum(order) == event["ns"], f"{where}: stacks add up to {sum(order)} ns"
    if event["weight"] is not None:
        order = [stack["weight"] for stack in event["stacks"]]
        assert sum(order) == event["weight"], f"{where}: stacks stand for {sum(order)}"
    assert order == sorted(order, reverse=True) and 0 not in counts, f"{where}: {order}"
    for stack in event["stacks"]:
        kernel = [frame["object"] == "[kernel.kallsyms]" for frame in stack["frames"]]
        assert kernel == sorted(kernel, reverse=True), f"{where}: kernel frames in the middle"
        assert not stack["frames"] or stack["name_frame"] < len(stack["frames"]), where


def check_calls(process, ended, where):
    for call in process["calls"]:
        what = f"{where}.{call['name'] or call['number']}"
        assert call["timed"] <= call["calls"] and call["errors"] <= call["calls"], what
        assert call["errors"] == sum(error["count"] for error in call["errnos"]), what
        buckets = call["latency_ns"]
        assert call["timed"] == sum(bucket["count"] for bucket in buckets), what
        for before, after in zip(buckets, buckets[1:]):
            assert before["hi"] is not None and before["hi"] <= after["lo"], what
        for bucket in buckets:
            wide = bucket["lo"] == 0 or bucket["hi"] is None
            assert wide or bucket["hi"] * 8 <= bucket["lo"] * 9, what
        assert (call["max_ns"] is not None) == (call["timed"] > 0), what
        if call["timed"]:
            assert call["p99_ns"] <= call["max_ns"] <= call["total_ns"], what
            last = buckets[-1]
            # Of a process that runs on, the longest time can be a moment older than the rest.
            assert last["lo"] <= call["max_ns"] or not ended, what
            assert last["hi"] is None or call["max_ns"] < last["hi"], what


# Losses of stacks and names, which leave totals exact.
SPARES_TOTALS = {"stack-map-full", "process-stacks-full", "book-stacks-full",
                 "stack-unreadable",
                 "stack-scratch-busy", "mapping-unknown", "code-places-full",
                 "file-name", "unwind-tables-full", "free-pair-map-full", "birth-map-full",
                 "symbols-unread", "unwind-rows-not-parsed", "process-mapping-stacks-full",
                 "code-start-map-full", "cpu-was-away", "crash-block-not-searched"}


def check_stacks_said(coverage):
    truncated = coverage["stacks_truncated"]
    assert sum(coverage["cut"].values()) == truncated, coverage
    any_stacks = truncated + coverage["stacks_complete"] > 0
    assert coverage["all_stacks_complete"] == ((truncated == 0) if any_stacks else None), coverage


def check_resident(rss, where):
    """The uses add up to what is resident, but for what came or went while it was read."""
    parts = sum(rss[key] or 0 for key in ("heap_live", "heap_free", "mmap", "file", "stack",
                                          "unknown"))
    assert abs(parts - rss["rss"]) <= rss["moved"], f"{where}: {parts} of {rss}"
    assert rss["unknown_heap"] <= rss["unknown"], f"{where}: {rss}"
    assert rss["inaccessible"] <= rss["mapped"], f"{where}: {rss}"
    assert not rss["exact"] or rss["moved"] == 0, f"{where}: {rss}"


def without_frees(report):
    """A copy without where blocks are freed, and without notes on programs, which are checked
    here."""
    processes = []
    for process in report["processes"]:
        process = dict(process)
        notes = process.pop("notes", [{"program": "go", "text": "there are some"}])
        match(notes, NOTES, "notes")
        assert notes, "notes, but there are none"
        sites = [dict(site) for site in process["sites"]]
        for site in sites:
            match(site.pop("frees", None), FREES, "frees")
        processes.append({**process, "sites": sites})
    return {**report, "processes": processes}


def without_library(report):
    """What only runs have that the library counts, or would count but for a reason."""
    coverage, processes = dict(report["coverage"]), []
    if "library" not in coverage:
        return report
    match(coverage.pop("library"), {"used": bool, "why_not": Nullable(str)}, "coverage.library")
    for process in report["processes"]:
        alloc = dict(process["alloc"])
        match(alloc.pop("by_library"), bool, "by_library")
        processes.append({**process, "alloc": alloc})
    return {**report, "coverage": coverage, "processes": processes}


def without_depths(report):
    """A process has a depth, and an end says that it is none, where the depth can change."""
    coverage, processes = dict(report["coverage"]), []
    if "cost" in coverage:
        match(coverage.pop("cost"), COST, "coverage.cost")
    if "overhead" not in coverage:
        return {**report, "coverage": coverage}
    match(coverage.pop("overhead"), OVERHEAD, "coverage.overhead")
    match(coverage.pop("depths"), DEPTHS, "coverage.depths")
    for process in report["processes"]:
        end = process["end"] and dict(process["end"])
        process = {**process, "end": end}
        match(process.pop("depth"), DEPTH, "depth")
        assert not end or end.pop("depth_changed", True) is True, end
        processes.append(process)
    return {**report, "coverage": coverage, "processes": processes}


def without_budget(report):
    """A copy without what only a service's reports have, and what only those of many processes
    have, which is checked here."""
    coverage = dict(report["coverage"])
    assert coverage.pop("timelines_left_out", 1) > 0, "a count of none"
    report = dict(report)
    assert report.pop("processes_left_out", 0) >= 0, "only with --where"
    for differ in coverage.pop("sites_differ", []):
        match(differ, SITES_DIFFER, "coverage.sites_differ[]")
        assert 0 < differ["different"] <= differ["calls"], differ
    hint = coverage.pop("hint", None)
    assert hint is None or (coverage["events"] == 0 and hint), hint
    budget = coverage.pop("budget", None)
    if budget is not None:
        budget = dict(budget)
        assert budget.pop("pre_empted", True) is True, budget
        match(budget, BUDGET, "coverage.budget")
        cut_short = "untraced-ms-by-budget" in coverage["lost"]
        assert cut_short == (budget["untraced_ns"] > 0), (budget, coverage["lost"])
    return {**report, "coverage": coverage}


def frames_of(tables):
    """The frames of each stack. Nothing is in a table twice, and callers come first."""
    for name, kind in TABLES.items():
        match(tables[name], kind, name)
        rows = [tuple(row.values() if isinstance(row, dict) else row) for row in tables[name]]
        assert len(set(rows)) == len(rows), f"{name}: something is there twice"
    frames = []
    for frame in tables["frames"]:
        frames.append({**frame, **tables["functions"][frame["function"]]})
    stacks = []
    for frame, caller in tables["stacks"]:
        assert caller is None or caller < len(stacks), f"stack {len(stacks)}: before its caller"
        stacks.append([frames[frame]] + (stacks[caller] if caller is not None else []))
    return stacks


def put_frames(value, stacks):
    if isinstance(value, list):
        for item in value:
            put_frames(item, stacks)
    elif isinstance(value, dict):
        for key, item in list(value.items()):
            if key in STACKS:
                absent = [] if key == "stack_id" else None
                value[STACKS[key]] = absent if item is None else stacks[item]
                del value[key]
            else:
                put_frames(item, stacks)


def expand(value):
    """Puts frames in the place of numbers of stacks; other JSON stays as it is."""
    if isinstance(value, dict) and TABLES.keys() <= value.keys() and value["version"] == VERSION:
        stacks = frames_of({name: value.pop(name) for name in TABLES})
        value["version"] = EXPANDED
        put_frames(value, stacks)
    return value


def loads(text):
    return expand(json.loads(text))


def load(file):
    return expand(json.load(file))


def check(report, filtered=False, allocations=True):
    """`filtered`: options hide sites, so that their sums are not the totals. `allocations`: they
    were traced, beside other jobs maybe."""
    expand(report)
    if report["coverage"]["lost"].get("nothing-counted"):
        check_uncounted(report)
        return
    depths = [process.get("depth") for process in report["processes"]]
    match(without_budget(without_depths(without_library(without_frees(report)))), REPORT,
          "report")
    coverage = report["coverage"]
    if coverage["exact"]:
        assert SPARES_TOTALS.issuperset(coverage["lost"]), f"exact, but lost {coverage['lost']}"
    check_stacks_said(coverage)
    for index, histogram in enumerate(report["histograms"]):
        check_histogram(histogram, f"histograms[{index}]")
    for index, event in enumerate(report["events"]):
        check_event(event, f"events[{index}]")
    for index, process in enumerate(report["processes"]):
        if not allocations or depths[index] == "growth":
            check_no_allocations(process, f"processes[{index}]")
            continue
        sampled = coverage["sampled"] or depths[index] == "sampled"
        check_process(process, coverage["exact"] and not filtered, sampled,
                      f"processes[{index}]")
        if process["rss"]:
            check_resident(process["rss"], f"processes[{index}].rss")
    ended = {process["pid"] for process in report["processes"] if process["end"]}
    for index, process in enumerate(report["syscalls"]):
        check_calls(process, process["pid"] in ended, f"syscalls[{index}]")
