# SPDX-License-Identifier: GPL-2.0-or-later
"""--page-faults: the stacks that touch new memory, as often as the target knows that they did."""

import math
import os
import shutil
import signal
import tempfile

from bpf_objects import traced_calls
import schema
from lib import (INTERVAL, eventually, load_report, memtraced, need_long, need_root, need_sampling,
                 process_state, refused, run_memtraced, scratch, send_line, started, target, test)
from test_cpu import under

BESIDE_OTHERS = "services"
PAGES = 20000


def faults(*options):
    with scratch() as folder:
        path = os.path.join(folder, "json")
        done = run_memtraced(*options, "-o", f"json:{path}", "--", target("pages"), str(PAGES))
        assert done.returncode == 0, done.stderr
        report = load_report(path, allocations=False)
    (event,) = report["events"]
    assert event["name"] == "page-faults" and event["period_ns"] is None, event["name"]
    assert report["coverage"]["all_stacks_complete"], report["coverage"]
    assert report["coverage"]["exact"] == (event["period"] == 1), report["coverage"]
    return event


@test(need_root, need_sampling, timeout=100)
def each_fault_is_counted_where_it_is():
    """Those that the kernel takes for a read() as well."""
    event = faults("--page-faults=1")
    assert event["period"] == 1, event["period"]
    assert under(event, "touches") == PAGES, under(event, "touches")
    assert under(event, "reads") == 2 * PAGES, under(event, "reads")


@test(need_root, need_sampling, timeout=100)
def one_in_many_stands_for_them():
    event = faults("--page-faults=50")
    assert event["period"] == 50, event["period"]
    # a CPU's others take a place now and then, and the program may be moved between them
    for function, pages in (("touches", PAGES), ("reads", 2 * PAGES)):
        seen = under(event, function)
        assert abs(seen - pages / 50) <= 0.1 * pages / 50, (function, seen)


@test(need_root, need_sampling)
def the_words_of_the_table_say_that_it_is_an_estimate():
    done = run_memtraced("--page-faults=100", "-f", "table", "--", target("pages"), str(PAGES))
    assert done.returncode == 0, done.stderr
    (head,) = [line for line in done.stdout.splitlines() if line.startswith("page-faults: ")]
    samples, stands_for = head.split()[1], head.split()[3]
    assert stands_for == f"~{int(samples) * 100}", head


def weights(event, function):
    """(estimate, variance) of the faults under a function."""
    stacks = [s for s in event["stacks"] if any(f["function"] == function for f in s["frames"])]
    return (sum(s["weight"] for s in stacks),
            sum((s["ci95_weight"] / 1.96) ** 2 for s in stacks))


def check_adapted(event):
    """Of the target's pages, within five standard errors."""
    assert event["period"] is None and event["count"] <= event["weight"], event["count"]
    for function, pages in (("touches", PAGES), ("reads", 2 * PAGES)):
        weight, variance = weights(event, function)
        # What ticked when a period changed may be another's: some periods.
        error = 5 * math.sqrt(variance) + 4 * event["longest_period"]
        assert abs(weight - pages) <= error, (function, weight, error)


@test(need_root, need_sampling, timeout=100)
def without_a_number_samples_are_bounded_and_sums_right():
    event = faults("--page-faults")
    check_adapted(event)
    # 512 for each doubling, on each of the CPUs that it ran on
    assert 512 <= event["count"] <= 3 * PAGES / 4, event["count"]


def minor_faults(pid):
    """proc_pid_stat(5): minflt."""
    with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
        return int(file.read().rpartition(")")[2].split()[7])


def grown_under(option):
    """The event of a process that grows by 40 pages, what memtraced said, and how many faults the
    process had meanwhile."""
    with started([target("waves")]) as process, tempfile.TemporaryFile("w+") as errors:
        process.lines.until("ready ")
        with started([memtraced(), option, "--no-follow", "-p", str(process.pid), "-f", "json",
                      "-i", INTERVAL], stderr=errors) as tool:
            tool.lines.next()  # a report: it has attached
            before = minor_faults(process.pid)
            send_line(process, "keep 40 1000000")
            assert process.lines.until("done ") is not None
            had = minor_faults(process.pid) - before
            tool.send_signal(signal.SIGINT)
            *_, last = iter(tool.lines.next, None)
            assert tool.wait(60) == 0
        errors.seek(0)
        return schema.loads(last)["events"][0], errors.read(), had


@test(need_root, need_sampling, timeout=100)
def a_small_grower_is_seen():
    event, said, had = grown_under("--page-faults")
    weight, variance = weights(event, "keep")
    assert event["period"] is None and event["count"] > 0 and weight > 0, event["count"]
    # 40 first pages, and what the process had of faults besides, as its kernel counts them.
    within = 5 * math.sqrt(variance) + 4 * event["longest_period"]
    assert 40 - within <= weight <= had + within, (weight, had)
    assert "no page fault was sampled" not in said, said


@test(need_root, need_sampling, timeout=100)
def that_a_number_was_too_large_is_said():
    event, said, _ = grown_under("--page-faults=1000000000")
    assert (event["count"], event["period"]) == (0, 1000000000), event["count"]
    assert "--page-faults=1000000000: no page fault was sampled, as too few came" in said, said


@test(need_root, need_sampling, timeout=100)
def a_recording_has_the_same_sums():
    with scratch() as folder:
        recording, live, again = (os.path.join(folder, name) for name in ("mtr", "live", "again"))
        done = run_memtraced("--page-faults", "-o", f"record:{recording}", "-o", f"json:{live}",
                             "--", target("pages"), str(PAGES))
        assert done.returncode == 0, done.stderr
        done = run_memtraced("report", recording, "-o", f"json:{again}")
        assert done.returncode == 0, done.stderr
        first, second = (load_report(path, allocations=False)["events"][0]
                         for path in (live, again))
    check_adapted(first)
    for key in ("count", "weight", "ci95_weight", "period", "longest_period"):
        assert first[key] == second[key], (key, first[key], second[key])


@test(need_root, need_sampling, need_long, timeout=900)
def intervals_hold_what_was_touched():
    """On a machine that does something else, too: of 40 runs most intervals hold, and no side is
    preferred."""
    errors = []
    for _ in range(40):
        event = faults("--page-faults")
        of_both = [weights(event, function) for function in ("touches", "reads")]
        weight, variance = (sum(column) for column in zip(*of_both))
        errors.append((weight - 3 * PAGES) / math.sqrt(variance))
    assert abs(sum(errors)) <= 4 * math.sqrt(len(errors)), errors
    assert sum(abs(error) > 1.96 for error in errors) <= 8, errors


@test(need_root)
def what_is_no_period_is_refused():
    for value in ("0", "-1", "x", "1000000001"):
        refused(run_memtraced("-a", f"--page-faults={value}"), 1, "--page-faults", value)


def two_reports_later(tool):
    """What is mapped has been read again, on slow machines, too."""
    tool.lines.forget()
    assert tool.lines.next() and tool.lines.next()


@test(need_root, need_sampling, timeout=100, every_kernel=True)
def libraries_that_come_and_go_are_seen_without_their_system_calls():
    """By who is not followed: tracepoints of system calls cost all processes of the host."""
    with started([target("loads")]) as process:
        def told(line):
            send_line(process, line)
            assert process.lines.until(line) is not None, line

        with started([memtraced(), "-q", "--page-faults=1", "--no-follow", "-p", str(process.pid),
                      "-f", "json", "-i", INTERVAL]) as tool:
            tool.lines.next()  # a report: it has attached
            if shutil.which("bpftool"):
                assert not traced_calls(tool.pid)
            for name in "abab":
                told(target(f"libtouch_{name}.so"))
                told(f"touch_{name} 100")
                two_reports_later(tool)
                told(f"touch_{name} {PAGES}")
            tool.send_signal(signal.SIGINT)
            *_, last = iter(tool.lines.next, None)
            assert tool.wait(60) == 0
    (event,) = schema.loads(last)["events"]
    for name in "ab":
        seen = under(event, f"touch_{name}")
        # and what the kernel and the linker touch for it
        assert 2 * PAGES <= seen <= 2 * (PAGES + 120), (name, seen)


@test(need_root, need_sampling, in_turn=1, timeout=100, each=[False, True])
def late_names_are_of_the_code_that_was_there(known):
    """While memtraced is stopped b comes to the address of a, which it has read before, or not."""
    with started([target("swaps")]) as process:
        def told(line):
            send_line(process, line)
            assert process.lines.until(line) is not None, line

        with started([memtraced(), "-q", "--page-faults=1", "--no-follow", "-p", str(process.pid),
                      "-f", "json", "-i", INTERVAL]) as tool:
            tool.lines.next()  # a report: it has attached
            if known:
                told(target("libtouch_a.so"))
                told(str(PAGES))
                two_reports_later(tool)
            tool.send_signal(signal.SIGSTOP)
            eventually(lambda: process_state(tool.pid)[0] == "T", "memtraced is not stopped")
            if not known:
                told(target("libtouch_a.so"))
                told(str(PAGES))
            told(target("libtouch_b.so"))
            told(str(PAGES))
            tool.lines.forget()
            tool.send_signal(signal.SIGCONT)
            assert tool.lines.next() and tool.lines.next()
            tool.send_signal(signal.SIGINT)
            *_, last = iter(tool.lines.next, None)
            assert tool.wait(60) == 0
    report = schema.loads(last)
    (event,) = report["events"]
    gone = report["coverage"]["cut"].get("gone", 0)
    # and what the kernel and the loop around it touch for them
    assert PAGES <= under(event, "touch_b") <= PAGES + 120, under(event, "touch_b")
    if known:
        assert PAGES <= under(event, "touch_a") <= PAGES + 120, under(event, "touch_a")
    else:
        assert under(event, "touch_a") == 0, under(event, "touch_a")
        assert PAGES <= gone <= PAGES + 120, report["coverage"]
