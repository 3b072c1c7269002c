# SPDX-License-Identifier: GPL-2.0-or-later
"""A session that hangs holds up neither the service nor the other sessions."""

import contextlib
import json
import os
import signal
import statistics
import subprocess
import threading
import time

import bombs
from health import HEALTH_SECONDS, health
import schema
from lib import (counting, descendants, eventually, exact, load_report, memtraced, need_root,
                 run_memtraced, same, scaled, scratch, send_line, started, target, target_for_all,
                 test)
from test_attach import BLOCKS, THREADS, counted, one, since, started_target, work
from test_service import Asking, finish, service


def parsers(served):
    return {pid for pid, name in descendants(served.process.pid).items()
            if name == "memtraced-parse"}


def slowest_health(served, seconds):
    """The longest of many answers. The best of each three counts: this machine is shared."""
    worst, end = 0, time.monotonic() + seconds
    while time.monotonic() < end:
        took = []
        for _ in range(3):
            begun = time.monotonic()
            assert served.text("/healthz").startswith("ok")
            took.append(time.monotonic() - begun)
        worst = max(worst, min(took))
    return worst


def send(pids, number):
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):  # another one may be in its place
            os.kill(pid, number)


def is_traced(served, pid):
    return f"heap of process {pid} " in served.text("/ctl/status")


def traced_exactly(served, counts, process):
    pid = int(process.lines.until("ready"))
    before = counted(counts, pid)
    asked = Asking(served, f"/debug/pprof/heap?pid={pid}&seconds=600&format=json")
    eventually(lambda: is_traced(served, pid), "its trace", timeout=30)
    work(process)
    finish(process)
    own = since(counts, pid, before)
    report = schema.loads(asked.body())
    exact(report)
    same(one(report, pid), own)


def target_of_many_symbols(folder, name):
    """It has not been parsed yet, and takes longer than a look at all processes, so that its parser
    can be stopped in the midst of it."""
    path = target_for_all(folder, name)
    with open(path, "rb") as file:
        program = file.read()
    with open(path, "wb") as file:
        file.write(bombs.many_symbols(program))
    return path


def holds_up_its_own_trace_alone(served, counts):
    """False: the parser had answered all that the trace asks of it before it was stopped."""
    environ = dict(os.environ, **counting(counts))
    command = [target_of_many_symbols(counts, "attach"), str(BLOCKS), str(THREADS)]
    with started(command, env=environ) as hung, started_target(counts) as process:
        pid = int(hung.lines.until("ready"))
        asked = Asking(served, f"/debug/pprof/heap?pid={pid}&seconds=1&format=json")
        stopped = eventually(lambda: parsers(served), "a process that parses")
        send(stopped, signal.SIGSTOP)
        try:
            slowest = slowest_health(served, 2)
            hangs = not is_traced(served, pid) and asked.result is None
            if hangs:
                assert slowest < HEALTH_SECONDS, slowest
                traced_exactly(served, counts, process)
        finally:
            send(stopped, signal.SIGCONT)
        assert asked.answer()[0] == 200, asked.result
        work(hung)
        finish(hung)
        return hangs


@test(need_root, timeout=150)
def a_parser_that_hangs_holds_up_its_own_trace_alone():
    with scratch() as folder, service(folder) as served:
        for _ in range(10):
            with scratch() as counts:
                if holds_up_its_own_trace_alone(served, counts):
                    return
    raise AssertionError("each time it was stopped when it had answered all")


@contextlib.contextmanager
def asked_all_the_time(served, target_, clients):
    stop = threading.Event()

    def ask():
        while not stop.is_set():
            served.text(target_)

    threads = [threading.Thread(target=ask) for _ in range(clients)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def seconds_of(served, target_):
    begun = time.monotonic()
    served.text(target_)
    return time.monotonic() - begun


def share_of_health(served, path):
    """How long /healthz takes while the path is asked for, in shares of the path's own time."""
    alone = min(seconds_of(served, path) for _ in range(3))
    with health(served) as finish_health, asked_all_the_time(served, path, clients=2):
        time.sleep(2)
        took, _ = finish_health()
    return statistics.median(took) / alone


@test(need_root, timeout=150)
def lists_of_thousands_of_processes_hold_nobody_up():
    n = scaled(3000, 10000)
    with scratch() as folder, service(folder) as served, \
            started([target("crowd"), str(n)]) as crowd:
        crowd.lines.until("ready", timeout=60)
        for path in ("/host", "/metrics", "/debug/pprof/"):
            shares = []
            while not shares or (shares[-1] >= 1 / 4 and len(shares) < 3):
                shares.append(share_of_health(served, path))
            assert shares[-1] < 1 / 4, (path, shares)
        assert json.loads(served.text("/host"))["n_processes"] > n
        assert served.metric("memtraced_processes") > n
        send_line(crowd)
        assert crowd.wait(60) == 0


def full_pipe():
    """Both ends of a pipe that has no room."""
    read, write = os.pipe()
    os.set_blocking(write, False)
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(write, b"x" * 4096)
    os.set_blocking(write, True)
    return read, write


@test(need_root)
def messages_that_nobody_reads_hold_nothing_up():
    with scratch() as folder:
        read, write = full_pipe()
        report = os.path.join(folder, "report.json")
        done = subprocess.run([memtraced(), "--verbose", "-o", f"json:{report}", "--", "true"],
                              stderr=write, timeout=30, check=False)
        os.close(write)
        os.close(read)
        assert done.returncode == 0, done
        exact(load_report(report))


@test(need_root, each=["probes", "library"])
def children_that_crash_one_after_another_hold_nobody_up(way):
    """For each one, all live blocks would be searched."""
    with scratch() as folder:
        path = os.path.join(folder, "report.json")
        done = run_memtraced(f"--exact={way}", "-q", "-o", f"json:{path}", "--", target("crashes"),
                             "children", timeout=60)
        assert done.returncode == 0, done.stderr
        report = load_report(path)
    coverage = report["coverage"]
    faults = [process["fault"] for process in report["processes"] if process["fault"]]
    assert len(faults) == 100 and coverage["exact"], (len(faults), coverage)
    unsearched = [fault for fault in faults if not fault["blocks_searched"]]
    # How many is the machine's speed; that there is a limit: test_fault.c.
    assert len(unsearched) < len(faults), unsearched
    assert coverage["lost"].get("crash-block-not-searched", 0) == len(unsearched), coverage["lost"]
