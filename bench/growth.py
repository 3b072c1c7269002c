# SPDX-License-Identifier: GPL-2.0-or-later
"""What growth depth costs two jobs of the usual kind: compiling, and redis-server under its
benchmark; of a command line, and of a service that watches the whole host. A percent is less than
two runs differ, so: CPU time of the job alone, jobs of seconds, a pair of runs in each round, in
turns first, and the interval in which the median of pairs lies."""

import dataclasses
import http.client
import json
import re
import socket

import rounds
import rows
import stats
from columns import Column
from inputs import Inputs
from lines import Line
from measure import Failed, Running, run_held, used_s, wait_until
from peers import Stable

QUICK_SCALE = 0.25
ROUNDS = {True: 7, False: 31}  # quick
COMPILES = {True: 1, False: 4}
REQUESTS = {True: 10_000, False: 60_000}
END_S = 4500  # of all of the bench: what is below a percent needs its rounds
WAITS = 40    # polls, about as long as attaching takes


class Waits:
    """ready() for run_held of nothing: the job stands still for as long as with a tool."""

    def __init__(self):
        self.polls = 0

    def __call__(self, pid):
        self.polls += 1
        return self.polls > WAITS


@dataclasses.dataclass
class Nothing(Column):
    def missing(self, place):
        return None

    def run(self, place, row, limit_s):
        return run_held(place, row, lambda pid: ["sleep", "3600"], Waits(), limit_s=limit_s)[0]


@dataclasses.dataclass
class Growth(Column):
    def missing(self, place):
        return None

    def run(self, place, row, limit_s):
        report = place.file("growth.json")
        words = [place.memtraced, "-q", "--page-faults", "-o", f"json:{report}", "-p"]
        sample, _ = run_held(place, row, lambda pid: [*words, str(pid)], Stable(1),
                             limit_s=limit_s)
        with open(report, encoding="utf-8") as file:
            faults = json.load(file)["events"][0]["count"]
        if not faults:
            raise Failed("it saw no page fault")
        return sample


class Local(http.client.HTTPConnection):
    """HTTP over a Unix socket."""

    def __init__(self, path):
        super().__init__("localhost", timeout=30)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


def samples_seen(path):
    """By the service of that socket, which reads them when it is asked for them."""
    connection = Local(path)
    for target in ("/debug/pprof/growth", "/metrics"):
        connection.request("GET", target)
        answer = connection.getresponse()
        text = answer.read()
        if answer.status != 200:
            raise Failed(f"{target}: {text[:200]}")
    connection.close()
    found = re.search(rb"^memtraced_growth_samples (\d+)$", text, re.M)
    return int(found.group(1)) if found else 0


@dataclasses.dataclass
class Service(Column):
    """A service with nothing but its standing session. What it used itself is tool_cpu_s."""

    def missing(self, place):
        return None

    def run(self, place, row, limit_s):
        config, path = place.file("growth.conf"), place.file("growth.sock")
        with open(config, "w", encoding="ascii") as file:
            file.write(f"[http]\nlisten = unix {path}\n[watch]\nenabled = no\n"
                       f"[post_mortem]\nreports = no\n[state]\n"
                       f"directory = {place.file('growth.state')}\n")
        with Running([place.memtraced, "--service", f"--config={config}"],
                     place.file("growth.log")) as service:
            wait_until(lambda: "memtraced: ready" in service.output() or service.ended(),
                       "the service")
            before = 0 if service.ended() else used_s(service.pid)
            sample, _ = run_held(place, row, lambda pid: ["sleep", "3600"], Waits(),
                                 limit_s=limit_s)
            if service.ended():
                raise Failed("the service: " + service.output().strip()[-300:])
            sample.tool_cpu_s = used_s(service.pid) - before
            if not samples_seen(path):
                raise Failed("it saw no page fault")
            service.interrupt()
            service.wait(limit_s)
        return sample


def jobs(place, quick):
    """The rows by these names, with the job made long enough."""
    made = Inputs(place.work, QUICK_SCALE if quick else 1)
    programs = {row.name: row for row in rows.program_rows(place, made)}
    compiler, redis = programs["clang -O1"], programs["redis-server"]
    again = " && ".join([" ".join(compiler.command)] * COMPILES[quick])
    return [
        ("growth.compile", dataclasses.replace(compiler, name="compiling",
                                               command=["/bin/sh", "-c", again])),
        ("growth.redis", dataclasses.replace(redis, name="redis-server",
                                             driver=rows.drive_redis(REQUESTS[quick]))),
    ]


def as_line(key, what, column, row, results):
    nothing, growth = (results.cell(row.name, name) for name in ("nothing", column))
    added = stats.paired(growth.values("cpu_s"), nothing.values("cpu_s"),
                         lambda with_it, without: (with_it / without - 1) * 100)
    interval = stats.median_interval(added)
    remarks = [f"of {nothing.median('cpu_s'):.2f} s"] if nothing.samples else []
    if interval:
        remarks.append(f"95 %: {interval[0]:.2f} to {interval[1]:.2f}")
    if column == "service" and growth.samples:
        remarks.append(f"itself {growth.median('tool_cpu_s'):.2f} s")
    remarks += [reason for reason in (row.missing, nothing.note, growth.note) if reason]
    if row.name in results.disturbed:
        remarks.append(f"{results.disturbed[row.name]} programs of other tracers")
    return Line(key, f"{what} adds: {row.name}", added, "% CPU time", "; ".join(remarks))


def measure(place, quick, start):
    found = jobs(place, quick)
    limits = rounds.Limits(rounds=ROUNDS[quick], slow_rounds=ROUNDS[quick],
                           end_s=END_S)
    runnable = [row for _, row in found if not row.missing]
    columns = [Nothing("nothing", "nothing"), Growth("growth", "growth"),
               Service("service", "service")]
    results = rounds.measure_all(place, runnable, columns, limits, start)
    return [as_line(key, "growth depth", "growth", row, results) for key, row in found] + \
        [as_line(key.replace("growth.", "growth.service."), "the service's growth depth", "service",
                 row, results) for key, row in found]
