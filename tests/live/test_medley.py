# SPDX-License-Identifier: GPL-2.0-or-later
"""Random programs: what they have called, by their own count, is what is reported, by the library,
by probes and of a process that runs; where totals are called exact they are, and no wrong use of
the heap is claimed."""

import os
import random

from lib import (EXACT_KEYS, SERIAL_KEYS, Place, attached, counting, exact, need_root, note,
                 read_counts, same, same_images, scaled, scratch, started, target, test, trace)

BESIDE_OTHERS = True


def keys_of(way, threads):
    """Where threads race there are several right peaks, and orders of events. Which blocks are
    temporary is another thing for probes where a child has its parent's memory: it is another
    thread there."""
    if threads > 1:
        return EXACT_KEYS
    return SERIAL_KEYS if way == "library" else EXACT_KEYS + ("peak_bytes",)


def is_said(way, report):
    """Of a child in its parent's memory probes lose what the parent's end cuts off, where that
    comes first, and say so."""
    return way == "probes" and "child-in-shared-memory" in report["coverage"]["lost"]


def compare(way, seed, threads):
    """(processes, calls) that were compared; none: the run was not exact, and says so."""
    run = trace([target("medley"), str(seed), str(scaled(30, 100)), str(threads)], f"--exact={way}",
                "--heap-errors", timeout=120)
    if is_said(way, run.report):
        return 0, 0
    same_images(run, keys_of(way, threads))
    kinds = {error["kind"] for process in run.report["processes"]
             for error in process["heap_errors"]}
    assert kinds <= {"failed-allocation", "suspicious-size", "realloc-zero"}, kinds
    return len(run.everything), sum(image["allocs"] for images in run.everything.values()
                                    for image in images)


@test(need_root, each=[(way, threads) for way in ("library", "probes") for threads in (1, 4)],
      timeout=1800)
def random_programs_are_told_as_they_are(case):
    way, threads = case
    processes = calls = 0
    seeds = [random.randrange(1 << 30) for _ in range(scaled(3, 200))]
    for seed in seeds:
        try:
            n, made = compare(way, seed, threads)
        except AssertionError as error:
            raise AssertionError(f"medley {seed}: {error}") from error
        processes += n
        calls += made
    assert calls, f"none of {len(seeds)} programs was exact"
    note(f"{len(seeds)} programs by {way}, {threads} threads at a time: {processes} processes, "
         f"{calls} allocations")


@test(need_root, each=[1, 4], timeout=1800)
def what_random_programs_have_counted_is_read_while_they_run(threads):
    library = os.path.join(Place.build, "libmemtraced-sample.so")
    for _ in range(scaled(2, 50)):
        seed = random.randrange(1 << 30)
        with scratch() as folder:
            env = {**os.environ, **counting(folder), "MEMTRACED_EXACT": "keep"}
            env["LD_PRELOAD"] = f"{library}:{env['LD_PRELOAD']}"
            command = [target("medley"), str(seed), "60", str(threads), "held"]
            with started(command, env=env) as process:
                process.lines.until("ready")
                with attached([process.pid]) as session:
                    report = session.finish()
                (own,) = read_counts(os.path.join(folder, "all"))[process.pid]
            exact(report)
            try:
                same(report["processes"][0], own, keys_of("library", threads))
            except AssertionError as error:
                raise AssertionError(f"medley {seed}: {error}") from error
