# SPDX-License-Identifier: GPL-2.0-or-later
"""Reports while threads run: all of their numbers are of one moment (DESIGN.md section 10)."""

import schema
from lib import (ATTACH_PATHS, INTERVAL, SMALL, attach_option, exact, heap_sites,
                 need_root, run_memtraced, scaled, target, test, total, with_function, without)

BESIDE_OTHERS = True
THREADS = 16  # many more than CPUs, so that some stop in the middle of a call
SIZES = {"first": 64, "second": 48}


def reports(*options):
    rounds = scaled(8000, 300000, small=3000)
    done = run_memtraced("-i", INTERVAL if SMALL else "0.02", "-f", "json", *options, "--",
                         target("lockstep"), str(THREADS), str(rounds), timeout=900)
    assert done.returncode == 0, done.stderr
    assert f"done {rounds}" in done.stderr, done.stderr
    found = [schema.loads(line) for line in done.stdout.splitlines()]
    assert len(found) > 1, "no report while it ran"
    exact(found[-1])
    for name in SIZES:
        assert counts(found[-1], name)["allocs"] == THREADS * rounds
    return found


def counts(report, name):
    """The sums of a function's sites in the one process; None before its first call."""
    sites = [site for process in report["processes"]
             for site in with_function(heap_sites(process), name)]
    return {key: sum(site[key] for site in sites)
            for key in ("allocs", "bytes", "live_bytes", "live_blocks")} if sites else None


def check_is_of_one_moment(report):
    first, second = (counts(report, name) for name in SIZES)
    for name, of in (("first", first), ("second", second)):
        if of:
            assert of["bytes"] == SIZES[name] * of["allocs"], (name, of)
            assert of["live_bytes"] == SIZES[name] * of["live_blocks"], (name, of)
    if first and second:
        ahead = first["allocs"] - second["allocs"]
        assert 0 <= ahead <= THREADS, (first, second)
        freed = ahead - first["live_blocks"] + second["live_blocks"]
        assert 0 <= freed <= THREADS, (first, second)


@test(need_root, each=sorted(ATTACH_PATHS), timeout=120, every_kernel=["perf", "session"])
def reports_of_running_threads_are_of_one_moment(path):
    for report in reports(attach_option(path)):
        exact(report)
        check_is_of_one_moment(report)


@test(need_root, each=sorted(ATTACH_PATHS), timeout=120, every_kernel=["perf", "session"])
def frees_that_were_missed_are_of_that_moment_too(path):
    rounds = scaled(2000, 20000, small=4000)
    done = run_memtraced("-i", "0.1" if SMALL else "0.01", "-f", "json", attach_option(path),
                         "--", target("missed"), str(rounds))
    assert done.returncode == 0 and f"done {rounds}" in done.stderr, done
    found = [process for line in done.stdout.splitlines()
             for process in schema.loads(line)["processes"]]
    assert len(found) > 1, "no report while it ran"
    assert found[-1]["alloc"]["missed_frees"] == rounds, found[-1]["alloc"]
    for process in found:
        alloc, sites = process["alloc"], heap_sites(process)
        assert alloc["temporary"] <= alloc["frees"] <= found[-1]["alloc"]["frees"], alloc
        closed = total(sites, "allocs") - total(sites, "live_blocks")
        assert closed == alloc["missed_frees"], (closed, alloc)


@test(need_root)
def a_kernel_that_cannot_wait_for_programs_has_exact_totals_at_the_end_alone():
    with without("grace-period"):
        *interim, last = reports()
    for report in interim:
        if any(process["end"] is None for process in report["processes"]):
            assert report["coverage"]["lost"] == {"moment-uncertain": 1}, report["coverage"]
            assert not report["coverage"]["exact"], report["coverage"]
    assert last["coverage"]["lost"] == {}, last["coverage"]
