# SPDX-License-Identifier: GPL-2.0-or-later
"""Stacks of programs without frame pointers, function by function (tests/targets/frames.c)."""

import os
import platform
import re
import shutil
import signal
import time

from lib import (Skip, attached, eventually, heap_sites, load_report, memtraced, need_long,
                 need_program, need_root, run, run_memtraced, scratch, send_line, started, target,
                 test)

BESIDE_OTHERS = True
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
    1009: CHAIN + ["on_trap"],
    1010: ["malloc", "inner_rows", "outer", "call_outer", "rows", "main"],
}
# Blocks of signal handlers, and what main called.
INTERRUPTED = {1008: "raise_it", 1009: "trap"}
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


def blocks(report, size):
    return sum(n for n, _ in stacks_by_size(report).get(size, []))


def check_stack(size, names):
    expected = EXPECTED[size]
    assert names[:len(expected)] == expected, (size, names)
    if size == 1003:
        assert len(names) - len(expected) == 2, (size, names)  # start_thread, clone3
    elif size in INTERRUPTED:
        assert names[-2 - names[::-1].index("main"):][0] == INTERRUPTED[size], (size, names)
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


def check_coverage(report, cut=None, guided=0):
    coverage = report["coverage"]
    assert coverage["unwinder"] == "cfi", coverage
    assert coverage["cut"] == (cut or {}), coverage
    assert coverage["all_stacks_complete"] == (not cut), coverage
    assert coverage["stacks_guided"] == guided and coverage["stacks_complete"] > 0, coverage


def trace_frames(program, *modes, options=(), timeout=60, env=None):
    with scratch() as folder:
        path = os.path.join(folder, "report.json")
        done = run_memtraced(*options, "-o", f"json:{path}", "--", target(program), *modes,
                             timeout=timeout, env=env)
        assert done.returncode == 0, done.stderr
        report = load_report(path)
        if not options:
            has_walk(report)
        return report, done


@test(need_root, need_x86_64, first=True)
def each_stack_is_what_a_program_did_that_does_it_all():
    modes = ("plain", "thread", "signal", "plugins", "fork")
    report, _ = trace_frames("frames", *modes)
    assert len(report["processes"]) == 2, report["processes"]
    check_stacks(report, {1001: 1} | {size: n for mode in modes
                                      for size, n in COUNTS[mode].items()})
    check_coverage(report)


@test(need_root, need_x86_64, each=tuple(COUNTS), in_turn=2)
def each_stack_is_what_the_program_did(mode):
    report, _ = trace_frames("frames", mode)
    images = 2 if mode == "fork" else 1
    assert len(report["processes"]) == images, report["processes"]
    check_stacks(report, {1001: 1, **COUNTS[mode]})
    check_coverage(report)


def calls_through(report, function):
    """Allocations of the process that has most of them, which are made before it forks."""
    return max(sum(site["allocs"] for site in heap_sites(process)
                   if function in [frame["function"] for frame in site["frames"]])
               for process in report["processes"])


@test(need_root, need_x86_64, each=("frames-static", "frames-static-pie"), in_turn=1)
def static_programs(program):
    report, _ = trace_frames(program, "plain", "thread", "fork", "signal")
    check_stacks(report, {1001: 1, 1002: 1, 1003: 3, 1004: 1, 1008: 1})
    # From gcc 13 on libgcc allocates in there, and crtbeginT.o has no call frame information.
    check_coverage(report, guided=calls_through(report, "frame_dummy"))


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


@test(need_root, need_x86_64, each=["", "distant"])
def a_library_that_is_known_has_no_gap_after_its_mapping(change):
    """Under -p nothing waits for the daemon; the program that sees the mapping puts it in. There
    are more mappings than it has room for, of which each says what an older one has said."""
    modes = ["wait", "open", "wait", "close", *change.split(), "plugins", "wait"]
    with started([target("frames"), *modes]) as process:
        process.lines.until("ready")
        with attached([process.pid], "--top=0") as session:
            send_line(process)
            process.lines.until("ready")
            session.later_report()
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
    assert coverage["exact"] and coverage["all_stacks_complete"] is False, coverage
    assert stacks_by_size(report)[1001] == [(1, CHAIN)]


@test(need_root, need_x86_64)
def an_instruction_without_a_row_gets_the_file_all_rows():
    """Of large files only return addresses have rows, until a signal tells of another need."""
    modes = ["wait", "large", "wait", "trap", "wait", "trap", "wait"]
    with started([target("frames"), *modes]) as process:
        process.lines.until("ready")
        with attached([process.pid], "--top=0") as session:
            send_line(process)
            process.lines.until("ready")
            session.later_report()
            for n in (1, 2):
                send_line(process)
                process.lines.until("ready")
                eventually(lambda: blocks(session.next_report(), 1009) == n, f"{n} blocks")
            report = session.finish()
        send_line(process)
    has_walk(report)
    stacks = sorted(stacks_by_size(report)[1009], key=lambda stack: len(stack[1]))
    (first, cut), (second, whole) = stacks
    assert first == second == 1 and whole[:len(cut)] == cut and cut[-1] == "trapped", stacks
    check_stack(1009, whole)
    check_coverage(report, {"pruned": 1})


@test(need_root, need_x86_64)
def rows_are_given_up_and_their_room_is_used_again():
    """Forty libraries of 250,000 rows, one after the other; there is room for 29."""
    with scratch() as folder:
        for i in range(40):
            shutil.copy(target("libframes_rows.so"), os.path.join(folder, f"{i}.so"))
        env = {**os.environ, "ROWS": folder}
        report, done = trace_frames("frames", "rows", options=("-v",), env=env)
    has_walk(report)
    check_stacks(report, {1001: 1, 1010: 40})
    check_coverage(report)
    given_up = re.search(r"unwind tables: \d+ files, (\d+) given up", done.stderr)
    assert int(given_up.group(1)) >= 11, done.stderr


FLOODED = ["malloc", "inner_a", "outer", "call_outer", "flooded", "main"]


@test(need_root, need_x86_64)
def more_mappings_than_the_programs_can_note():
    """Under -c the mapper waits when half of that many are not sorted in yet."""
    report, _ = trace_frames("frames", *["open", "close", "flood", "flooded"] * 3)
    (n, names), = stacks_by_size(report)[1006]
    assert n == 3 and names[:6] == FLOODED and names[-1] == ROOT, (n, names)
    check_coverage(report)


@test(need_root, need_x86_64)
def what_there_was_no_room_to_note_is_cut_until_the_daemon_knows_it():
    modes = ["wait", "open", "wait", "close", "flood", "flooded", "wait", "flooded", "wait"]
    with started([target("frames"), *modes]) as process:
        process.lines.until("ready")
        with attached([process.pid], "--top=0") as session:
            send_line(process)
            process.lines.until("ready")
            session.later_report()
            session.process.send_signal(signal.SIGSTOP)
            send_line(process)
            process.lines.until("ready")
            session.process.send_signal(signal.SIGCONT)
            eventually(lambda: blocks(session.next_report(), 1006) == 1, "the first block")
            send_line(process)
            process.lines.until("ready")
            eventually(lambda: blocks(session.next_report(), 1006) == 2, "the second block")
            report = session.finish()
        send_line(process)
    has_walk(report)
    cut, whole = sorted(stacks_by_size(report)[1006], key=lambda stack: len(stack[1]))
    assert cut == (1, ["malloc", "inner_a"]), cut
    assert whole[0] == 1 and whole[1][:6] == FLOODED and whole[1][-1] == ROOT, whole
    check_coverage(report, {"no-mapping": 1})


# --- rows kept on disk --------------------------------------------------------------------------

CACHE = "/var/cache/memtraced/unwind"
SETTLED_S = 3  # rows of a file that has just been changed are not kept


def keeping_rows_in(folder):
    """What stands before a command of memtraced for which that is the folder of rows."""
    return ["unshare", "-m", "sh", "-c",
            f'mkdir -p {CACHE} && mount --bind "$0" {CACHE} && exec "$@"', folder]


def flip_a_byte(path):
    with open(path, "r+b") as file:
        file.seek(os.path.getsize(path) // 2)
        byte = file.read(1)
        file.seek(-1, os.SEEK_CUR)
        file.write(bytes([byte[0] ^ 1]))


def cut_off(path):
    os.truncate(path, os.path.getsize(path) // 2)


def give_away(path):
    os.chown(path, 65534, 65534)


def let_others_write(path):
    os.chmod(path, 0o666)


DAMAGES = {function.__name__: function
           for function in (flip_a_byte, cut_off, give_away, let_others_write)}


@test(need_root, need_x86_64, need_program("unshare"), each=tuple(DAMAGES), in_turn=2)
def rows_come_from_the_disk_unless_they_are_not_to_be_trusted(damage):
    if damage in ("cut_off", "give_away"):
        need_long()
    with scratch() as folder:
        cache = os.path.join(folder, "cache")
        os.mkdir(cache, 0o700)
        for name in ("frames", "libframes_a.so", "libframes_b.so"):
            shutil.copy(target(name), folder)
        time.sleep(SETTLED_S)

        def trace():
            path = os.path.join(folder, "report.json")
            done = run([*keeping_rows_in(cache), memtraced(), "-v", "-o", f"json:{path}", "--",
                        os.path.join(folder, "frames"), "plugins"])
            assert done.returncode == 0, done.stderr
            report = load_report(path)
            has_walk(report)
            check_stacks(report, {1001: 1, 1006: 10, 1007: 10})
            check_coverage(report)
            return [int(n) for n in re.search(r"rows on disk: (\d+) found, (\d+) not, of which "
                                              r"(\d+) refused", done.stderr).groups()]

        found, missed, refused = trace()
        kept = [os.path.join(cache, name) for name in os.listdir(cache)]
        # beside the three files libc, ld.so and the vDSO, which is no file that could be known
        assert found == refused == 0 and missed == len(kept) + 1 >= 5, (found, missed, kept)
        assert trace() == [len(kept), 1, 0]
        for path in kept:
            DAMAGES[damage](path)
        assert trace() == [0, len(kept) + 1, len(kept)]
        assert trace() == [len(kept), 1, 0]



@test(need_root, need_x86_64)
def signals_that_interrupt_a_traced_return_have_their_whole_stacks():
    """Before Linux 6.11 the trampoline is one instruction: hardly any signal comes there."""
    report, _ = trace_frames("signal_in_return", "500", options=("--alloc", "-e", "getppid"))
    event, = report["events"]
    for stack in event["stacks"]:
        names = [frame["function"] for frame in stack["frames"]]
        assert "handle" in names and "main" in names and names[-1] == "_start", stack["frames"]
    check_coverage(report)
