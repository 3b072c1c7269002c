# SPDX-License-Identifier: GPL-2.0-or-later
"""What growth depth costs two jobs of the usual kind, compiling, and redis-server under its
benchmark, where a service watches the whole host. One service runs all the time, and is told by
reloads to sample page faults, to see mappings besides, or to do nothing; a job does short batches
after each, in turns, of which the first does not count. A percent is less than two runs differ, so
it is CPU time of the job alone, a batch is held against that of the same turn without, and a second
one without shows what chance makes. Then the interval in which the median of turns lies."""

import contextlib
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import time

import rows
import stats
from inputs import Inputs
from lines import Line
from measure import Failed, Running, used_s, wait_until

QUICK_SCALE = 0.25
TURNS = {True: 12, False: 60}  # quick
REQUESTS = {True: 4_000, False: 20_000}
LIMIT_S = 60
END_S = 1500  # of one job
STATES = {"nothing": ("no", "no"), "again": ("no", "no"), "faults": ("yes", "no"),
          "mappings": ("yes", "yes")}
TITLES = {"again": "nothing at all, once more,", "faults": "growth depth",
          "mappings": "growth depth with mappings"}


class Local(http.client.HTTPConnection):
    """HTTP over a Unix socket."""

    def __init__(self, path):
        super().__init__("localhost", timeout=30)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class Service:
    """A service with nothing but its standing session, which begins and ends at each reload."""

    def __init__(self, place):
        self.place = place
        self.config, self.socket = place.file("growth.conf"), place.file("growth.sock")
        self.write("nothing")
        self.running = Running([place.memtraced, "--service", f"--config={self.config}"],
                               place.file("growth.log"), cpus={place.tool_cpu})
        wait_until(self.is_ready, "the service")

    def is_ready(self):
        if self.running.ended():
            raise Failed("the service: " + self.running.output().strip()[-300:])
        return "memtraced: ready" in self.running.output()

    def write(self, state):
        enabled, mappings = STATES[state]
        with open(self.config, "w", encoding="ascii") as file:
            file.write(f"[http]\nlisten = unix {self.socket}\n[watch]\nenabled = no\n"
                       f"[post_mortem]\nreports = no\n[state]\n"
                       f"directory = {self.place.file('growth.state')}\n"
                       f"[growth]\nenabled = {enabled}\nmappings = {mappings}\n")

    def get(self, target):
        with contextlib.closing(Local(self.socket)) as connection:
            connection.request("GET", target)
            answer = connection.getresponse()
            text = answer.read().decode(errors="replace")  # a profile is packed
            if answer.status != 200:
                raise Failed(f"{target}: {text[:200]}")
            return text

    def is_running(self):
        found = re.search(r"^memtraced_growth_running (\d)$", self.get("/metrics"), re.M)
        return bool(found) and found.group(1) == "1"

    def become(self, state):
        """Answers come between reloads, so that the one asked for is over when it is told."""
        before = self.running.output().count("read anew")
        self.write(state)
        os.kill(self.running.pid, signal.SIGHUP)
        wait_until(lambda: self.running.output().count("read anew") > before, "a reload")
        wait_until(lambda: self.is_running() == (STATES[state][0] == "yes"), f"state {state}")

    def seen(self):
        """Samples that it has, which it reads when it is asked for them."""
        self.get("/debug/pprof/growth")
        found = re.search(r"^memtraced_growth_samples (\d+)$", self.get("/metrics"), re.M)
        return int(found.group(1)) if found else 0


class Compiler:
    """A compilation is a batch."""

    def __init__(self, place, quick):
        made = Inputs(place.work, QUICK_SCALE if quick else 1)
        self.row = {row.name: row for row in rows.program_rows(place, made)}["clang -O1"]
        self.cpu = place.target_cpu

    def batch(self):
        process = subprocess.Popen(["taskset", "-c", str(self.cpu), *self.row.command],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise Failed(f"the compiler ended with status {process.returncode}")
        return used.ru_utime + used.ru_stime

    def end(self):
        pass


class Redis:
    """A number of requests is a batch, of a server that keeps running. Its CPU time alone."""

    def __init__(self, place, quick):
        made = Inputs(place.work, QUICK_SCALE if quick else 1)
        self.row = {row.name: row for row in rows.program_rows(place, made)}["redis-server"]
        self.requests = REQUESTS[quick]
        self.socket = place.file(rows.REDIS_SOCKET)
        self.server = None
        if not self.row.missing:
            self.server = Running(["taskset", "-c", str(place.target_cpu), *self.row.command],
                                  place.file("redis.log"))
            wait_until(lambda: rows.answers(self.socket), "an answer of redis-server")

    def batch(self):
        before = used_s(self.server.pid)
        subprocess.run(["redis-benchmark", "-s", self.socket, "-q", "-t", "set,lpush,hset", "-c",
                        "8", "-n", str(self.requests), "-r", "100000", "-d", "200"],
                       check=True, stdout=subprocess.DEVNULL, timeout=LIMIT_S)
        used = used_s(self.server.pid) - before
        # What lpush has made, which else grows from batch to batch.
        subprocess.run(["redis-cli", "-s", self.socket, "flushall"], check=True, timeout=LIMIT_S,
                       stdout=subprocess.DEVNULL)
        return used

    def end(self):
        if self.server:
            self.server.kill()


def take(service, job, turns):
    """{state: [seconds of a batch]} by turns"""
    found = {state: [] for state in STATES}
    states, end = list(STATES), time.monotonic() + END_S
    for number in range(turns):
        by = number % len(states)
        for state in states[by:] + states[:by]:
            service.become(state)
            job.batch()  # meanwhile it reads the files of what it finds running, once
            found[state].append(job.batch())
            if state != "nothing" and state != "again" and not service.seen():
                raise Failed("it saw no page fault")
        if time.monotonic() > end:
            break
    return found


def lines_of(key, title, found):
    of = f"of {stats.spread(found['nothing']).median:.2f} s" if found["nothing"] else ""
    for state, words in TITLES.items():
        added = [(with_it / without - 1) * 100
                 for with_it, without in zip(found[state], found["nothing"])]
        interval = stats.median_interval(added)
        note = of
        if interval:
            note += f"; 95 %: {interval[0]:.2f} to {interval[1]:.2f}; {len(added)} turns"
        yield Line(f"{key}.{state}", f"{words} adds: {title}", added, "% CPU time", note)


def measure(place, quick):
    service, lines = Service(place), []
    with service.running:
        for key, title, make in (("growth.compile", "compiling", Compiler),
                                 ("growth.redis", "redis-server", Redis)):
            job = make(place, quick)
            with contextlib.ExitStack() as stack:
                stack.callback(job.end)
                if job.row.missing:
                    lines.append(Line(f"{key}.faults", f"growth depth adds: {title}", [],
                                      "% CPU time", job.row.missing))
                    continue
                lines += lines_of(key, title, take(service, job, TURNS[quick]))
        service.running.interrupt()
        service.running.wait(LIMIT_S)
    return lines
