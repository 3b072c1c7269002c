# SPDX-License-Identifier: GPL-2.0-or-later
"""memtraced -p on processes that have children, and make others."""

import contextlib

from lib import (attached, brief, exact, need_program, need_root, send_line, started, target, test)

BESIDE_OTHERS = True
UNTRANSLATED = True
BLOCKS = 57  # of tests/targets/workers.c


@contextlib.contextmanager
def workers(number):
    with started([target("workers"), str(number)]) as process:
        process.lines.until("ready")
        yield process


def work(process):
    """The pid of the child that it made."""
    send_line(process)
    return int(process.lines.until("worked"))


def allocations(report):
    return {process["pid"]: process["alloc"]["allocs"] for process in report["processes"]}


@test(need_root)
def running_children_are_traced_too():
    with workers(2) as process:
        with attached([process.pid]) as session:
            child = work(process)
            report = session.finish()
    exact(report)
    counts = allocations(report)
    assert len(counts) == 4 and counts.pop(process.pid) == 0, brief(report["processes"])
    assert set(counts.values()) == {BLOCKS} and child in counts, brief(report["processes"])


@test(need_root)
def no_follow_leaves_running_children_alone():
    with workers(2) as process:
        with attached([process.pid], "--no-follow") as session:
            work(process)
            report = session.finish()
    exact(report)
    assert list(allocations(report)) == [process.pid], brief(report["processes"])


@test(need_root)
def all_is_counted_of_the_children_of_a_process_that_has_forked_before():
    with workers(0) as process:
        work(process)
        with attached([process.pid]) as session:
            children = [work(process) for _ in range(3)]
            report = session.finish()
    exact(report)
    counts = allocations(report)
    assert [counts[pid] for pid in children] == [BLOCKS] * 3, brief(report["processes"])


@test(need_root)
def from_the_first_fork_on_no_child_is_late():
    with workers(0) as process:
        with attached([process.pid]) as session:
            first = work(process)
            while first not in allocations(session.next_report()):
                continue
            children = [work(process) for _ in range(3)]
            report = session.finish()
    counts = allocations(report)
    assert [counts[pid] for pid in children] == [BLOCKS] * 3, brief(report["processes"])
    assert report["coverage"]["lost"] == {"attached-late": 1}, report["coverage"]


@test(need_root, need_program("dash"))
def from_the_first_child_in_shared_memory_on_none_is_lost():
    """dash starts programs by vfork."""
    script = "while read line; do /bin/sleep 0.1; echo worked; done"
    with started(["dash", "-c", script]) as shell:
        with attached([shell.pid]) as session:
            def work_and_wait(number):
                send_line(shell)
                shell.lines.until("worked")
                while len((report := session.next_report())["processes"]) < number + 1:
                    continue
                return report["coverage"]["lost"]
            before = work_and_wait(1)
            assert before["child-in-shared-memory"] == 1, before
            work_and_wait(2)
            lost = work_and_wait(3)
    assert lost == before, (before, lost)
