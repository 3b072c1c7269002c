# SPDX-License-Identifier: GPL-2.0-or-later
"""Mappings that a forked child has from its parent: live in both, until each unmaps its own."""

import os
import signal

from lib import (attached, eventually, load_report, mapped_sites, need_root, run_memtraced,
                 scratch, send_line, started, target, test, total, with_function)

BESIDE_OTHERS = True
FUNCTIONS = {"map_region": ("child", "parent"), "map_old": ("old",)}


def told_by(lines):
    """(function, pid): bytes, as the target tells."""
    return {(function, int(words[1])): int(words[2])
            for words in map(str.split, lines) if len(words) == 3
            for function, names in FUNCTIONS.items() if words[0] in names}


def reported(report):
    return {(function, process["pid"]):
            total(with_function(mapped_sites(process), function), "live_bytes")
            for process in report["processes"] for function in FUNCTIONS}


def check(report, told, spared=()):
    """spared: losses that are no mappings'."""
    found = reported(report)
    assert found == told, (found, told)
    assert set(report["coverage"]["lost"]) <= set(spared), report["coverage"]
    for process in report["processes"]:
        assert process["mmap"]["live_bytes"] == total(mapped_sites(process), "live_bytes"), \
            process["mmap"]
        assert process["mmap"]["peak_bytes"] >= process["mmap"]["live_bytes"], process["mmap"]
        assert not process["heap_errors"], process["heap_errors"]


@test(need_root, in_turn=1, timeout=100, every_kernel=True, each=["--alloc", "--mappings"])
def a_child_holds_what_it_has_from_its_parent(option):
    with scratch() as folder:
        path = os.path.join(folder, "json")
        done = run_memtraced(option, "-o", f"json:{path}", "--", target("forkmaps"), input="")
        assert done.returncode == 0, done.stderr
        report = load_report(path, allocations=option == "--alloc")
    told = told_by(done.stdout.splitlines())
    assert len(told) == 4, done.stdout
    check(report, told)


@test(need_root, timeout=100)
def of_a_process_from_before_the_child_holds_what_was_seen():
    with started([target("forkmaps")]) as process:
        assert process.lines.until("ready") is not None
        with attached([process.pid]) as session:
            send_line(process, "go")
            lines = []
            while len(told_by(lines)) < 4:
                lines.append(process.lines.next())
            told = told_by(lines)
            for pid in {pid for _, pid in told}:
                told["map_old", pid] = 0  # nobody saw who mapped it
            eventually(lambda: reported(session.next_report()) == told, "all is told")
            report = session.finish(signal.SIGINT)
            send_line(process, "end")
    # What a child allocates before its probes are there, but it maps nothing by malloc.
    check(report, told, ["attached-late"])
