# SPDX-License-Identifier: GPL-2.0-or-later
"""--page-faults: the stacks that touch new memory, as often as the target knows that they did."""

import os
import shutil
import signal

from bpf_objects import traced_calls
import schema
from lib import (INTERVAL, load_report, memtraced, need_root, need_sampling, refused,
                 run_memtraced, scratch, send_line, started, target, test)
from test_cpu import under

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


@test(need_root)
def what_is_no_period_is_refused():
    for value in ("0", "-1", "x", "1000000001"):
        refused(run_memtraced("-a", f"--page-faults={value}"), 1, "--page-faults", value)


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
                # Two reports later what is mapped has been read again, on slow machines, too.
                tool.lines.forget()
                assert tool.lines.next() and tool.lines.next()
                told(f"touch_{name} {PAGES}")
            tool.send_signal(signal.SIGINT)
            *_, last = iter(tool.lines.next, None)
            assert tool.wait(60) == 0
    (event,) = schema.loads(last)["events"]
    for name in "ab":
        seen = under(event, f"touch_{name}")
        # and what the kernel and the linker touch for it
        assert 2 * PAGES <= seen <= 2 * (PAGES + 120), (name, seen)


@test(need_root, need_sampling, timeout=100, each=[False, True])
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
                assert tool.lines.next() and tool.lines.next()
            tool.send_signal(signal.SIGSTOP)
            if not known:
                told(target("libtouch_a.so"))
                told(str(PAGES))
            told(target("libtouch_b.so"))
            told(str(PAGES))
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
