# SPDX-License-Identifier: GPL-2.0-or-later
"""Stacks of programs without frame pointers, function by function (tests/targets/frames.c)."""

import json
import os
import platform

from lib import (Skip, attached, eventually, load_report, need_root,
                 run_memtraced, scratch, send_line, started, target, test)

CHAIN = ["malloc", "step_3", "step_2", "step_1"]
# How a process's stack begins; libc has names for what is between if it has symbols.
ROOT = "_start"
EXPECTED = {
    1001: CHAIN + ["early"],
    1002: CHAIN + ["plain", "main"],
    1003: CHAIN + ["in_thread"],
    1004: CHAIN + ["in_child", "forked", "main"],
    1005: CHAIN + ["execed", "main"],
    1006: ["malloc", "inner_a", "outer", "use", "plugins", "main"],
    1007: ["malloc", "inner_b", "outer", "use", "plugins", "main"],
    1008: CHAIN + ["handler"],
}
# What the target does of each size in each mode.
COUNTS = {"plain": {1002: 1}, "thread": {1003: 3}, "fork": {1004: 1}, "signal": {1008: 1},
          "plugins": {1006: 10, 1007: 10}}


def need_x86_64():
    if platform.machine() != "x86_64":
        raise Skip("stacks are unwound without frame pointers on x86-64 only")


def has_walk(report):
    """On every kernel."""
    assert report["coverage"]["unwinder"] == "cfi", report["coverage"]


def functions(site):
    return [frame["function"] for frame in site["frames"]]


def stacks_by_size(report, pid=None):
    """{block size: [(number of blocks, functions)]} of the target's own allocations."""
    found = {}
    for process in report["processes"]:
        if pid not in (None, process["pid"]):
            continue
        for site in process["sites"]:
            if site["class"] == "heap" and site["allocs"] and not site["bytes"] % site["allocs"]:
                size = site["bytes"] // site["allocs"]
                if size in EXPECTED:
                    found.setdefault(size, []).append((site["allocs"], functions(site)))
    return found


def check_stack(size, names):
    expected = EXPECTED[size]
    assert names[:len(expected)] == expected, (size, names)
    if size == 1003:
        assert len(names) - len(expected) == 2, (size, names)  # start_thread, clone3
    elif size == 1008:
        assert names[-2 - names[::-1].index("main"):][0] == "raise_it", (size, names)
        assert names[-1] == ROOT, (size, names)
    else:
        assert names[-1] == ROOT and len(names) - len(expected) <= 3, (size, names)


def check_stacks(report, counts, pid=None):
    """Each of these blocks was allocated where the target does it, and nowhere else."""
    found = stacks_by_size(report, pid)
    for size, stacks in found.items():
        for _, names in stacks:
            check_stack(size, names)
    got = {size: sum(n for n, _ in stacks) for size, stacks in found.items()}
    assert got == counts, (got, counts)


def check_coverage(report, truncated=0):
    coverage = report["coverage"]
    assert coverage["unwinder"] == "cfi", coverage
    assert coverage["stacks_truncated"] == truncated, coverage
    assert coverage["stacks_guided"] == 0 and coverage["stacks_complete"] > 0, coverage


def trace_frames(program, *modes, options=(), timeout=60):
    with scratch() as folder:
        path = os.path.join(folder, "report.json")
        done = run_memtraced(*options, "-o", f"json:{path}", "--", target(program), *modes,
                             timeout=timeout)
        assert done.returncode == 0, done.stderr
        report = load_report(path)
        if not options:
            has_walk(report)
        return report, done


@test(need_root, need_x86_64, each=tuple(COUNTS), every_kernel=True)
def each_stack_is_what_the_program_did(mode):
    report, _ = trace_frames("frames", mode)
    images = 2 if mode == "fork" else 1
    assert len(report["processes"]) == images, report["processes"]
    check_stacks(report, {1001: 1, **COUNTS[mode]})
    check_coverage(report)


@test(need_root, need_x86_64, each=("frames-static", "frames-static-pie"))
def static_programs(program):
    report, _ = trace_frames(program, "plain", "thread", "fork", "signal")
    check_stacks(report, {1001: 1, 1002: 1, 1003: 3, 1004: 1, 1008: 1})
    check_coverage(report)


@test(need_root, need_x86_64)
def another_library_at_the_address_of_one_that_has_gone():
    report, done = trace_frames("frames", *["plugins"] * 6)
    # the kernel puts it there, else this proves nothing
    assert done.stderr.count("same 10") + done.stdout.count("same 10") > 0, done.stderr
    check_stacks(report, {1001: 1, 1006: 60, 1007: 60})
    check_coverage(report)


@test(need_root, need_x86_64)
def each_image_of_a_chain_of_execs():
    report, _ = trace_frames("frames", "plain", "exec")
    assert len(report["processes"]) == 3, report["processes"]
    check_stacks(report, {1001: 3, 1002: 3, 1005: 3})
    check_coverage(report)


@test(need_root, need_x86_64)
def a_process_that_runs_already_and_its_children():
    modes = ["wait", "plain", "fork", "thread", "signal", "wait"]
    with started([target("frames"), *modes]) as process:
        process.lines.until("ready")
        with attached([process.pid], "--top=0") as session:
            send_line(process)
            process.lines.until("child")
            process.lines.until("ready")
            eventually(lambda: 1008 in stacks_by_size(session.next_report()), "the last block")
            report = session.finish()
        send_line(process)
    has_walk(report)
    check_stacks(report, {1002: 1, 1003: 3, 1008: 1}, process.pid)
    # The child's probes may have come too late for its one block.
    for _, names in stacks_by_size(report).get(1004, []):
        check_stack(1004, names)
    check_coverage(report)


@test(need_root, need_x86_64)
def a_library_that_is_known_has_no_gap_after_its_mapping():
    """Under -p nothing waits for the daemon; the program that sees the mapping puts it in."""
    modes = ["wait", "open", "wait", "close", "plugins", "wait"]
    with started([target("frames"), *modes]) as process:
        process.lines.until("ready")
        with attached([process.pid], "--top=0") as session:
            send_line(process)
            process.lines.until("ready")
            session.next_report()
            session.next_report()
            send_line(process)
            process.lines.until("ready")
            eventually(lambda: len(stacks_by_size(session.next_report())) == 2, "both libraries")
            report = session.finish()
        send_line(process)
    has_walk(report)
    check_stacks(report, {1006: 10, 1007: 10})


@test(need_root, need_x86_64)
def frame_pointers_alone_when_they_are_asked_for():
    report, _ = trace_frames("frames", options=("--unwind=fp",))
    coverage = report["coverage"]
    assert coverage["unwinder"] == "fp", coverage
    assert coverage["cut"] == {"frame-pointers": coverage["stacks_truncated"]}, coverage
    (_, names), = stacks_by_size(report)[1001]
    assert names[:2] == ["malloc", "step_3"] and "early" not in names, names


@test(need_root, need_x86_64)
def the_limit_is_a_cause_of_its_own():
    report, _ = trace_frames("frames", options=("--max-stack=3",))
    coverage = report["coverage"]
    assert coverage["cut"] == {"limit": coverage["stacks_truncated"]}, coverage
    assert stacks_by_size(report)[1001] == [(1, CHAIN)]
