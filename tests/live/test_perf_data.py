# SPDX-License-Identifier: GPL-2.0-or-later
"""perf.data as perf report and perf script show it."""

import os
import re
import sys

import clients
from lib import (heap_sites, load_report, mapped_sites, need_program, need_root, run,
                 run_memtraced, scratch, target, test, total, with_function)

BESIDE_OTHERS = True
CHECKER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "replay",
                       "check_perf_data.py")
COSTS = (("Live", "live_bytes"), ("LiveBlocks", "live_blocks"), ("Peak", "peak_bytes"),
         ("Allocated", "bytes"), ("Allocs", "allocs"))
MAPPED = (("Mapped", "live_bytes"), ("Regions", "live_blocks"), ("MappedPeak", "peak_bytes"),
          ("MappedInAll", "bytes"), ("Mappings", "allocs"))


def need_perf():
    need_program("perf")()


def perf(*args):
    done = run(["perf", *args])
    assert done.returncode == 0, done.stderr
    return done.stdout


def scripted(path):
    """[(event, period, functions from the innermost)]"""
    samples = []
    for block in perf("script", "-i", path).split("\n\n"):
        lines = block.strip("\n").split("\n")
        head = re.match(r".* (\d+) +(\S+): *$", lines[0])
        if head:
            samples.append((head.group(2), int(head.group(1)),
                            [line.split()[1].split("+")[0] for line in lines[1:]]))
    return samples


def recorded(folder, *args):
    path, report = os.path.join(folder, "perf.data"), os.path.join(folder, "json")
    done = run_memtraced(*args[:-1], "-o", f"perf-data:{path}", "-o", f"json:{report}", "--",
                         *args[-1])
    assert done.returncode == 0, done.stderr
    checked = run([sys.executable, CHECKER, path])
    assert checked.returncode == 0, checked.stdout
    return path, report


@test(need_root, need_perf)
def perf_shows_what_we_report():
    with scratch() as folder:
        path, report = recorded(folder, [target("leak"), "300", "0"])
        process, = load_report(report)["processes"]
        samples = scripted(path)
        shown = perf("report", "-i", path, "--stdio", "--no-children", "-g", "none")
        ids = perf("buildid-list", "-i", path, "--with-hits")
        header = perf("report", "-i", path, "--header-only")
    assert re.search(rf"^# cmdline : {re.escape(target('leak'))} 300 0 *$", header, re.M), header
    for name, key in COSTS + MAPPED:
        sites = heap_sites(process) if (name, key) in COSTS else mapped_sites(process)
        event = f"memtraced-{name}"
        ours = total(sites, key)
        count = re.search(rf"of event '{event}'\n# Event count \(approx.\): (\d+)\n", shown)
        clients.same("perf report", "perf-data", event, count and int(count.group(1)), ours)
        clients.same("perf script", "perf-data", event,
                     sum(period for its, period, _ in samples if its == event), ours)
        for function in ("leak_one", "work_one"):
            theirs = sum(period for its, period, stack in samples
                         if its == event and function in stack)
            ours = total(with_function(sites, function), key)
            assert theirs == ours, (event, function, theirs, ours)
    assert sum(period for its, period, _ in samples if its == "memtraced-Temporary") == 300
    # a site's own cost is at the function that it is named by
    for function in ("leak_one", "work_one"):
        theirs = sum(period for its, period, stack in samples
                     if its == "memtraced-Allocs" and stack[0] == function)
        assert theirs == total(with_function(heap_sites(process), function), "allocs"), theirs
    # the stacks end where programs begin, and perf found our files by their build IDs
    assert all(stack[-1] in ("_start", "_dl_start") for _, _, stack in samples), samples
    assert f" {target('leak')}\n" in ids, ids


@test(need_root, need_perf)
def an_event_s_samples_are_how_often_it_happened():
    with scratch() as folder:
        path, _ = recorded(folder, "-e", "write", [
            "dd", "if=/dev/zero", f"of={folder}/out", "bs=1", "count=300", "status=none"])
        samples = scripted(path)
    assert sum(period for _, period, _ in samples) == 300, samples
    assert all("sys_enter_write" in event for event, _, _ in samples), samples


@test(need_root, need_perf)
def an_exec_has_the_mappings_of_its_own_image():
    with scratch() as folder:
        path, report = recorded(folder, ["sh", "-c", f"true; exec {target('leak')} 50 0"])
        processes = load_report(report)["processes"]
        samples = scripted(path)
    ours = sum(total(with_function(heap_sites(process), "leak_one"), "live_bytes")
               for process in processes)
    theirs = sum(period for event, period, stack in samples
                 if event == "memtraced-Live" and "leak_one" in stack)
    assert theirs == ours >= sum(64 + i % 64 for i in range(50)), (theirs, ours)
