# SPDX-License-Identifier: GPL-2.0-or-later
"""A week of the service in ten minutes, in make check six hours in twenty seconds: its clock goes a
thousand times as fast (tests/targets/fast_clock.c), all else is real. Processes and cgroups come
and go, rules have some traced, reports are written and expire, pages are asked for, the
configuration is read anew. What it held is a table in lines "# note:". Growth depth, which holds
what all of this host maps, has tests of its own (test_service_growth.py)."""

import contextlib
import os
import shutil
import signal
import subprocess
import time

from lib import (GONE, eventually, need_root, note, resident, scaled, scratch, started, target,
                 test)
from test_service import service
from test_service_requests import descriptors
from test_watch import fake_cgroups, put

FACTOR, DAY = 1000, 86400
CONFIG = """[http]
listen = unix {folder}/http.sock
timeout = 600s
[trace]
max_overhead = no
[watch]
cgroup_root = {cgroups}
[rule large]
when = rss > 1M
comm = week-*
trace = 10m
cooldown = 1h
[rule tight]
when = memory.current > 90% of max for 1m
cgroup = /job*
trace = 1m
[growth]
enabled = no
[state]
directory = {folder}/state
max_age = 1d
"""
# Some hundred at a time, of which each lives for 20 s to 5 minutes of the service.
COME_AND_GO = "while [ -e \"$0\" ]; do sleep 0.02 & sleep 0.3 & sleep 0.01; done; wait"
CGROUPS = 40
SAMPLES = 14  # of a week: two a day
FLAT = 4 << 20


class Host:
    """What happens beside the service, in rounds."""

    def __init__(self, folder, cgroups):
        self.folder, self.cgroups = folder, cgroups
        self.rounds, self.watched = 0, None

    def cgroups_come_and_go(self):
        shutil.rmtree(f"{self.cgroups}/job-{self.rounds - CGROUPS}", ignore_errors=True)
        put(f"{self.cgroups}/job-{self.rounds}", memory_current=self.rounds % 100 * 1000,
            memory_max=100000, cgroup_procs="")

    def a_large_one_comes(self):
        """And the one before it is killed, as it may be while it is traced."""
        if self.watched:
            self.watched.kill()
            self.watched.wait()
        program = os.path.join(self.folder, f"week-{self.rounds % 7}")
        shutil.copy(target("leak"), program)
        self.watched = subprocess.Popen([program, "0", "10000"], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL)

    def round(self, served):
        self.cgroups_come_and_go()
        for page in ("/metrics", "/host"):
            with contextlib.suppress(ConnectionError):  # as in metric()
                served.text(page)
        if self.rounds % 12 == 0:
            self.a_large_one_comes()
        if self.rounds % 36 == 6:
            served.process.send_signal(signal.SIGHUP)
        self.rounds += 1

    def close(self):
        if self.watched:
            self.watched.kill()
            self.watched.wait()


@contextlib.contextmanager
def in_fast_time(folder, cgroups):
    """A service whose clock is fast, and nobody else's."""
    os.mkdir(os.path.join(folder, "state"))
    fast = {"LD_PRELOAD": target("libfast_clock.so"), "FAST_CLOCK": FACTOR,
            "FAST_CLOCK_START": time.monotonic_ns()}
    within = ["env", *(f"{name}={value}" for name, value in fast.items())]
    with service(folder, config=CONFIG.format(folder=folder, cgroups=cgroups),
                 within=within) as served:
        # Nobody reads further lines: what it says must not stop it.
        with open(os.path.join(folder, "log"), "wb") as log, \
                started(["cat"], stdin=served.process.stderr, stdout=log):
            yield served


def metric(served, name, value=None, **labels):
    """What it is, or waits until it is that."""
    found = []

    def is_found():
        # A start of a trace takes ten minutes of this clock, after which it hangs up.
        with contextlib.suppress(ConnectionError):
            found.append(served.metric(name, **labels))
        return found and value in (None, found[-1])
    eventually(is_found, f"no {name} of {value}", timeout=60)
    return found[-1]


def sessions(pid):
    """Threads of sessions, also of those that begin, or have ended and are being let go."""
    n = 0
    for task in os.listdir(f"/proc/{pid}/task"):
        with contextlib.suppress(*GONE), \
                open(f"/proc/{pid}/task/{task}/comm", encoding="ascii") as file:
            n += file.read() == "memtraced-trace\n"
    return n


def row(served, begun, host, standing):
    """What it holds while nothing is traced, in a row of the table."""
    eventually(lambda: sessions(served.process.pid) == standing, "no trace", timeout=60)
    metric(served, "memtraced_traces_running", 0)
    size, fds = resident(served.process.pid), descriptors(served.process.pid)
    days = (time.monotonic() - begun) * FACTOR / DAY
    numbers = (metric(served, "memtraced_watch_sweeps_total"),
               metric(served, "memtraced_traces_total"),
               metric(served, "memtraced_rule_fired_total", rule="large"))
    reports = len(os.listdir(os.path.join(host.folder, "state")))
    note(f"{days:6.1f} {size >> 10:13} {fds:12}" + "".join(f"{n:9}" for n in numbers) +
         f"{host.rounds:9}{reports:9}")
    return size, fds


@test(need_root, timeout=300)
def a_week_leaves_it_as_large_as_it_was():
    seconds = scaled(10, 7 * DAY // FACTOR)
    held = []
    with scratch() as folder, fake_cgroups(folder) as cgroups, \
            in_fast_time(folder, cgroups) as served, \
            open(os.path.join(folder, "go"), "w", encoding="ascii") as go, \
            started(["sh", "-c", COME_AND_GO, go.name]) as sleeps, \
            contextlib.closing(Host(folder, cgroups)) as host:
        begun, standing = time.monotonic(), sessions(served.process.pid)
        note("  days  resident KiB  descriptors   sweeps   traces    fired  cgroups  reports")
        for i in range(1, SAMPLES + 1):
            while time.monotonic() < begun + i * seconds / SAMPLES:
                host.round(served)
                time.sleep(0.2)
            held.append(row(served, begun, host, standing))
        os.unlink(go.name)
        assert sleeps.wait(60) == 0
        assert metric(served, "memtraced_rule_fired_total", rule="large") > 0
    first, second = held[:SAMPLES // 2], held[SAMPLES // 2:]
    for of, (what, more) in enumerate((("bytes", FLAT), ("descriptors", 4))):
        # Whatever is under way at the moment of a look is none of it: what leaks is there at each.
        usual = sorted(h[of] for h in second)[len(second) // 2]
        assert usual <= max(h[of] for h in first) + more, (what, held)
