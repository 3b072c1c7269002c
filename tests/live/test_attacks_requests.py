# SPDX-License-Identifier: GPL-2.0-or-later
"""Attacks by the requests of memtraced.h: a target may make any number of them, at once, with any
arguments. They cost the target its own time, and others nothing."""

import os
import signal
import time

import schema
from lib import (exact, memtraced, need_root, need_speed, same, scaled,
                 scratch, send_line, started, target, test)
from test_service import (Asking, counted, finish, one, service, since, started_target,
                          until_traced, work)

BESIDE_OTHERS = "services"
STORM = os.path.join("leaks", "request_storm")
MIB = 1 << 10


def storm(folder, *words, options=()):
    """Under memtraced, to its end: what the target says, and the most that memtraced takes, in
    KiB."""
    path = os.path.join(folder, "report.json")
    with started([memtraced(), "-q", "--leak-check=summary", f"-ojson:{path}", *options, "--",
                  target(STORM), *map(str, words)]) as process:
        process.lines.until("ready")
        send_line(process)
        said = process.lines.until("answers", timeout=90)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, status
    return int(said), used.ru_maxrss


@test(need_root, need_speed, each=["check", "exec"], timeout=120)
def checks_without_end_cost_as_much_memory_as_some(request):
    """Each of 20,000 blocks: kept until the report they took 1 MiB a check."""
    with scratch() as folder:
        _, some = storm(folder, request, 20, 1, 20000)
        _, many = storm(folder, request, 200, 1, 20000)
    assert many - some < 100 * MIB, f"{many - some} KiB"


@test(need_root, need_speed, timeout=300)
def many_threads_that_ask_for_sums_all_get_them():
    n = scaled(250, 12500)  # of 8 threads: 100,000 in make check-long
    with scratch() as folder:
        answers, kib = storm(folder, "count", n, 8, 100)
        _, few = storm(folder, "count", 1, 8, 100)
    assert answers == 8 * n, answers
    assert kib - few < 16 * MIB, f"{kib - few} KiB"


@test(need_root)
def sums_are_not_written_where_the_program_may_not_write():
    """It goes on, and so do we."""
    with scratch() as folder:
        answers, _ = storm(folder, "bad", 50, 4, 10)
    assert answers == 0, answers


@test(need_root, each=["count", "check", "bad"])
def requests_without_end_do_not_keep_a_signal_from_ending_it(request):
    with started([memtraced(), "-q", "--leak-check=summary", "-o", "json:/dev/null", "--",
                  target(STORM), request, "0", "8", "100"]) as process:
        process.lines.until("ready")
        send_line(process)
        time.sleep(1)
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) is not None


@test(need_root, each=["count", "check", "pool"], timeout=90)
def requests_without_end_do_not_disturb_what_the_service_traces_beside(request):
    with scratch() as folder, scratch() as counts, service(folder) as served, \
            started([target(STORM), request, "0", "8", "100"]) as hostile, \
            started_target(counts) as process:
        hostile.lines.until("ready")
        pid = int(process.lines.until("ready"))
        before = counted(counts, pid)
        asked = [Asking(served, f"/debug/pprof/heap?pid={p}&seconds={seconds}&format=json")
                 for p, seconds in ((hostile.pid, 3), (pid, 600))]
        until_traced(served, 2)
        send_line(hostile)
        work(process)
        finish(process)
        report = schema.loads(asked[1].body())
        exact(report)
        same(one(report, pid), since(counts, pid, before))
        assert asked[0].answer()[0] == 200, asked[0].answer()
