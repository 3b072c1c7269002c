# SPDX-License-Identifier: GPL-2.0-or-later
"""--off-cpu: what waits and for how long: between what was asked for, and what the target's own
clock said around it."""

import os
import re
import time

from lib import (attached, eventually, load_report, need_program, need_root, need_sampling, refused,
                 run, run_memtraced, scratch, send_line, started, target, test, without)

BESIDE_OTHERS = True

MS = 10**6
ASKED = {"sleeps": 3 * 100 * MS, "pauses": 200 * MS, "reads": 0}
GO = ("go", "tool", "pprof")


def waits(report):
    event, = report["events"]
    assert event["name"] == "off-cpu" and event["period_ns"] is None, event["name"]
    return event


def under(event, function):
    """(times, nanoseconds) of the stacks that a function is on."""
    stacks = [stack for stack in event["stacks"]
              if function in [frame["function"] for frame in stack["frames"]]]
    return sum(stack["count"] for stack in stacks), sum(stack["ns"] for stack in stacks)


def check(event, text):
    said = {name: (int(times), int(ns)) for name, times, ns in
            re.findall(r"^(\w+) (\d+) (\d+)$", text, re.M)}
    assert said.keys() == ASKED.keys(), text
    for function, (times, most) in said.items():
        counted, ns = under(event, function)
        assert counted == times, (function, counted, times)
        # what it takes to get there is a part of what was asked for
        assert 0.9 * ASKED[function] <= ns <= most, (function, ASKED[function], ns, most)


@test(need_root, need_sampling)
def a_wait_takes_what_it_took():
    with scratch() as folder:
        path, folded = os.path.join(folder, "json"), os.path.join(folder, "folded")
        done = run_memtraced("--off-cpu", "-o", f"json:{path}", "-o", f"folded:{folded}", "--",
                             target("waits"), "100", input="")
        assert done.returncode == 0, done.stderr
        report = load_report(path, allocations=False)
        with open(folded, encoding="utf-8") as file:
            lines = file.read().splitlines()
    check(waits(report), done.stdout)
    assert report["coverage"]["exact"] and report["coverage"]["all_stacks_complete"], \
        report["coverage"]
    assert sum(int(line.rsplit(" ", 1)[1]) for line in lines) == waits(report)["ns"]


@test(need_root, need_sampling, need_program("go"))
def pprof_shows_delays_as_of_gos_own():
    with scratch() as folder:
        path, profile = os.path.join(folder, "json"), os.path.join(folder, "p")
        done = run_memtraced("--off-cpu", "-o", f"json:{path}", "-o", f"pprof:{profile}", "--",
                             target("waits"), "20", input="")
        assert done.returncode == 0, done.stderr
        event = waits(load_report(path, allocations=False))
        for kind, want in (("contentions", event["count"]), ("delay", event["ns"])):
            shown = run([*GO, "-top", f"-sample_index={kind}", "-unit=ns", "-nodecount=100000",
                         profile], env=dict(os.environ, HOME=folder))
            total, = re.findall(r"of (\d+)(?:ns)? total", shown.stdout)
            assert int(total) == want, (kind, total, want)


@test(need_root, need_sampling)
def a_wait_that_is_not_over_counts_until_now():
    with started([target("waits"), "1"]) as process:
        process.lines.until("ready")
        with attached([process.pid], "--off-cpu", "--kernel", "--alloc") as session:
            before = time.monotonic_ns()
            send_line(process)
            eventually(lambda: under(waits(session.next_report()), "rests")[0], "it does not rest")
            times, ns = under(waits(session.latest), "rests")
            later = under(waits(session.finish()), "rests")
            most = time.monotonic_ns() - before
    assert times == later[0] == 1, (times, later)
    assert 0 < ns < later[1] <= most, (ns, later, most)


@test(need_root)
def a_kernel_that_cannot_says_so():
    with without("sampling"):
        refused(run_memtraced("--off-cpu", "--", "true"), 1, "--off-cpu", "Linux 6.1")
