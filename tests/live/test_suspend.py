# SPDX-License-Identifier: GPL-2.0-or-later
"""The machine suspends to memory and is woken from outside, seconds later (scripts/check-kernels
--suspend; nobody's own machine is ever suspended)."""

import contextlib
import json
import os
import socket
import sys
import threading
import time

import schema
from lib import (Skip, attached, eventually, exact, need_program, need_root, need_sampling, run,
                 same, scratch, send_line, started, target, test)
from test_attach import counted, one, since, started_target, work
from test_ctl import ctl
from test_rules import LEAK, leaking
from test_service import Asking, finish, service, until_traced
from test_watch import swept

WAKE_AFTER = float(os.environ.get("MEMTRACED_WAKE_AFTER", "0"))
SECOND = 10 ** 9


def need_waker():
    if not WAKE_AFTER:
        raise Skip("only where somebody wakes the machine: scripts/check-kernels --suspend")


def slept_ns():
    """So far, since the boot."""
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME) - time.monotonic_ns()


def suspend():
    """Comes back when the machine is awake again: how long it slept."""
    before = slept_ns()
    with open("/sys/power/state", "w", encoding="ascii") as file:
        file.write("mem")
    slept = slept_ns() - before
    assert slept > SECOND, f"it did not sleep: {slept} ns"
    return slept


@contextlib.contextmanager
def notifications(folder):
    """What systemd is told, while somebody reads it: who notifies waits otherwise."""
    said = []

    def listen():
        while words := listener.recv(4096):
            said.append(words.decode())
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        path = os.path.join(folder, "notify")
        listener.bind(path)
        thread = threading.Thread(target=listen, daemon=True)
        thread.start()
        yield path, said
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as end:
            end.sendto(b"", path)
        thread.join()


@test(need_root, need_waker, timeout=120)
def a_trace_goes_on_exactly_and_its_clock_stands_still_meanwhile():
    """One sleep before the program works, and one while it does."""
    with scratch() as folder, started_target(folder) as process:
        pid = int(process.lines.until("ready"))
        before, begun = counted(folder, pid), time.monotonic_ns()
        with attached([pid], "-i", "2") as session:
            slept = suspend()
            send_line(process)
            slept += suspend()
            process.lines.until("worked")
            report = session.finish()
        took = time.monotonic_ns() - begun
        exact(report)
        same(one(report, pid), since(folder, pid, before))
        assert 0 < report["elapsed_ns"] <= took, (report["elapsed_ns"], took)
        # The sleep is a number of its own. Two clocks are not read at once.
        assert abs(report["slept_ns"] - slept) < SECOND, (report["slept_ns"], slept)
        times = [point["time_ns"] for point in one(report, pid)["timeline"]["points"]]
        assert times == sorted(times) and times[-1] <= report["elapsed_ns"], times
        finish(process)


RULES = f"""[watch]
interval = 1s
[rule slope]
when = rss_slope > 1MiB/min for 3s
comm = {LEAK}
trace = 2s
[rule held]
when = rss > 4K for 1h
comm = {LEAK}
trace = 2s
"""


@test(need_root, need_waker, timeout=240)
def the_service_goes_on_and_what_it_was_asked_for_is_time_awake():
    with scratch() as folder, scratch() as counts, leaking(wait_us=10000000) as quiet, \
            started_target(counts) as process, notifications(folder) as (path, told):
        within = ["env", f"NOTIFY_SOCKET={path}", "WATCHDOG_USEC=5000000"]
        with service(folder, trace=RULES, within=within) as served:
            eventually(lambda: "WATCHDOG=1" in told, "it is watched")
            swept(served)
            pid = int(process.lines.until("ready"))
            before = counted(counts, pid)
            name = ctl(served, "trace", str(pid), "--for=10m", "--format=json").split()[-1]
            asked = Asking(served, f"/debug/pprof/heap?pid={quiet.pid}&seconds=8&format=json")
            until_traced(served, 2)
            up = json.loads(served.text("/host"))["up_ns"]
            slept = suspend()
            # It is as long in the world that it is up.
            assert json.loads(served.text("/host"))["up_ns"] - up >= slept
            work(process)
            finish(process)
            own = since(counts, pid, before)
            eventually(lambda: name in ctl(served, "reports"), "its report", timeout=30)
            report = schema.loads(ctl(served, "reports", name))
            exact(report)
            same(one(report, pid), own)
            report = schema.loads(asked.body())
            exact(report)
            assert report["elapsed_ns"] >= 8 * SECOND, report["elapsed_ns"]
            for _ in range(3):
                swept(served)
            fired = [served.metric("memtraced_rule_fired_total", rule=rule)
                     for rule in ("slope", "held")]
            assert fired == [0, 0], fired
            pings = told.count("WATCHDOG=1")
            eventually(lambda: told.count("WATCHDOG=1") > pings, "it is alive")
            assert quiet.poll() is None and served.process.poll() is None


def last_of(session, pids):
    """What perf has counted of each, and how often it was away, in a report begun now."""
    report = session.later_report()
    (event,) = report["events"]
    return [sum(stack["count"] for stack in event["stacks"] if stack["pid"] == pid)
            for pid in pids], report["coverage"]["lost"].get("cpu-was-away", 0)


# More than the C library ever keeps: touched for the first time, again and again.
CPU, PAGES = "--cpu=100", "--page-faults=100"
FAULTS = "while True: bytearray(40 << 20)"


def busy(option):
    """Does what is sampled, for good."""
    return [target("spin"), "1000000"] if option == CPU else [sys.executable, "-c", FAULTS]


@test(need_root, need_waker, need_sampling, need_program("taskset"), each=[CPU, PAGES], timeout=120)
def each_cpu_is_sampled_as_before(option):
    """All but the first are switched off for the sleep, and what perf counts there with them."""
    with started(["taskset", "-c", "0", *busy(option)]) as first, \
            started(["taskset", "-c", "1", *busy(option)]) as second:
        pids = first.pid, second.pid
        with attached(pids, "--alloc", option) as session:
            before = last_of(session, pids)
            suspend()
            between = last_of(session, pids)
            eventually(lambda: all(now > then for now, then in
                                   zip(last_of(session, pids)[0], between[0])),
                       "both go on", timeout=20)
            # Nothing of allocations was lost by it.
            exact(session.latest)
        assert (before[1], between[1]) == (0, 1), (before, between)


@test(need_root, need_waker, need_sampling, need_program("taskset"), timeout=120)
def a_cpu_that_is_switched_on_is_sampled():
    def switched(on):
        with open("/sys/devices/system/cpu/cpu1/online", "w", encoding="ascii") as file:
            file.write(on)
    switched("0")
    try:
        with started([target("spin"), "1000000"]) as process:
            pids = (process.pid,)
            with attached(pids, "--alloc", "--cpu=100") as session:
                assert last_of(session, pids)[1] == 0
                switched("1")
                eventually(lambda: last_of(session, pids)[1] == 1, "it is noticed", timeout=20)
                run(["taskset", "-cp", "1", str(process.pid)])
                there = last_of(session, pids)[0]
                eventually(lambda: last_of(session, pids)[0] > there, "it goes on", timeout=20)
                exact(session.latest)
    finally:
        switched("1")
