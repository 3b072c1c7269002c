# SPDX-License-Identifier: GPL-2.0-or-later
"""Files for kcachegrind, as callgrind_annotate reads them."""

import os
import re

import clients
from lib import (heap_sites, load_report, mapped_sites, need_program, need_root, run,
                 run_memtraced, scratch, target, test, total, with_function)

BESIDE_OTHERS = True
COSTS = ("live_bytes", "live_blocks", "peak_bytes", "bytes", "allocs")


def annotated(path, *options):
    """What it shows: {function: costs}, the totals as "PROGRAM TOTALS"."""
    done = run(["callgrind_annotate", "--auto=no", "--threshold=100", "--show-percs=no", *options,
                path])
    assert done.returncode == 0 and not done.stderr, done.stderr
    rows = {}
    for line in done.stdout.splitlines():
        row = re.match(r" *((?:[\d,.]+ +)+)(?:\S*:)?(PROGRAM TOTALS|\S+)", line)
        if row:
            rows[row.group(2)] = [int(word.replace(",", "").replace(".", "0"))
                                  for word in row.group(1).split()]
    return rows


@test(need_root, need_program("callgrind_annotate"))
def callgrind_annotate_shows_what_we_report():
    with scratch() as folder:
        path, report = os.path.join(folder, "callgrind.out"), os.path.join(folder, "json")
        done = run_memtraced("-o", f"callgrind:{path}", "-o", f"json:{report}", "--",
                             target("leak"), "100", "0")
        assert done.returncode == 0, done.stderr
        process, = load_report(report)["processes"]
        inclusive, own = annotated(path, "--inclusive=yes"), annotated(path)
    named = {}
    for site in process["sites"]:
        named.setdefault(site["frames"][site["name_frame"]]["function"], []).append(site)
    assert not any(own.get("malloc", ())) and len(named) > 2, (own, list(named))
    for sites, row in ((process["sites"], inclusive["PROGRAM TOTALS"]),
                       (with_function(process["sites"], "leak_one"), inclusive["leak_one"]),
                       (process["sites"], inclusive[f"leak-{process['pid']}"]),
                       *((sites, own[function]) for function, sites in named.items())):
        heap = [site for site in sites if site["class"] == "heap"]
        mapped = [site for site in sites if site["class"] == "mmap"]
        assert row[:5] == [total(heap, key) for key in COSTS], row
        assert row[5] == total(heap, "temporary"), (row, sites)
        assert row[6:] == [total(mapped, key) for key in COSTS], (row, sites)
    for i, key in enumerate(COSTS):
        clients.same("callgrind_annotate", "callgrind", key, inclusive["PROGRAM TOTALS"][i],
                     total(heap_sites(process), key))
        assert inclusive["PROGRAM TOTALS"][6 + i] == total(mapped_sites(process), key) > 0, key
    assert total(heap_sites(process), "allocs") == 200


@test(need_root, need_program("callgrind_annotate"))
def peaks_of_several_processes_are_said_to_be_of_no_moment():
    """One after the other: they were never there together."""
    with scratch() as folder:
        path, report = os.path.join(folder, "callgrind.out"), os.path.join(folder, "json")
        leak = target("leak")
        done = run_memtraced("-o", f"callgrind:{path}", "-o", f"json:{report}", "--", "sh", "-c",
                             f"{leak} 100 0; {leak} 100 0; true")
        assert done.returncode == 0, done.stderr
        n = len(load_report(report)["processes"])
        shown = run(["callgrind_annotate", path]).stdout
    assert n > 2, n
    assert "Peaks: of each process at its own time, so that sums are of no moment\n" in shown, shown
    assert f" and {n - 1} more processes (PID " in shown, (n, shown)


@test(need_root, need_program("callgrind_annotate", "openssl"))
def calls_of_an_event_are_how_often_it_happened():
    with scratch() as folder:
        path = os.path.join(folder, "callgrind.out")
        done = run_memtraced("-e", "write", "-o", f"callgrind:{path}", "--", "dd", "if=/dev/zero",
                             f"of={folder}/out", "bs=1", "count=300", "status=none")
        assert done.returncode == 0, done.stderr
        rows = annotated(path)
        with open(path, encoding="utf-8") as file:
            text = file.read()
    assert rows["PROGRAM TOTALS"] == [300], rows
    assert "event: Times : syscalls:sys_enter_write\n" in text, text[:400]
