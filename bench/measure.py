# SPDX-License-Identifier: GPL-2.0-or-later
"""Running one command once, under a tool or not, and what that cost: processor time and peak memory
of the command (from the launcher, bench/workloads/timed.c, which is there in every column) and of
the tool. The command and the tool have a core each where there are two."""

import contextlib
import dataclasses
import os
import resource
import signal
import subprocess
import time

POLL_S = 0.01
READY_LIMIT_S = 60


class Failed(Exception):
    """A run that gives no number; its text is the reason."""


class TooSlow(Exception):
    """A run that was stopped at its limit."""


# What may go wrong with one run and shall not end the others: a process that went away, a driver
# that failed or hung.
TROUBLE = (Failed, TooSlow, OSError, subprocess.SubprocessError)


@dataclasses.dataclass
class Sample:
    cpu_s: float
    wall_s: float
    rss_kib: int
    tool_cpu_s: float = None
    tool_rss_kib: int = None
    allocs: int = None  # as the tool counted them, where it says so
    frees: int = None
    bytes: int = None
    peak_blocks: int = None  # live when the most bytes were, in the process that had the most
    exact: bool = None
    complete: float = None  # the share of stacks that reached their end


@dataclasses.dataclass(frozen=True)
class Place:
    """Where things are built, written and run."""
    build: str
    work: str
    target_cpu: int
    tool_cpu: int
    any_core: bool = False  # programs and tools, as users run them

    @property
    def cpus(self):
        """All, of which the kernel takes those that are ours: for who starts and attaches, which
        nothing is measured beside."""
        return set(range(os.cpu_count()))

    def program(self, name):
        return os.path.join(self.build, "bench", "workloads", name)

    def file(self, name):
        return os.path.join(self.work, name)

    @property
    def memtraced(self):
        return os.path.join(self.build, "memtraced")


def cores():
    """(for targets, for everything else)"""
    usable = sorted(os.sched_getaffinity(0))
    return usable[-1], usable[0]


def timed(place, row, hold=False, execs=0, launcher="timed"):
    """The launcher's part of a command line; what it writes is in place.file("cost"). With execs
    (1: the command's, 2: what it starts) the task clock counts from there on, and nothing is pinned
    to a core, as a tool that starts the program would be, too."""
    if place.any_core:
        cpus = sorted(os.sched_getaffinity(0))
    else:
        cpus = [place.target_cpu] if row.threads == 1 else [place.tool_cpu, place.target_cpu]
    words = [place.program(launcher)]
    if execs:
        words += ["-x", str(execs), "-c", f"{place.tool_cpu},{place.target_cpu}"]
    else:
        words += ["-c", ",".join(str(cpu) for cpu in cpus)]
    for name, value in row.env.items():
        words += ["-e", f"{name}={value}"]
    if hold:
        words.append("-w")
    return words + [place.file("cost")]


def read_cost(place):
    """(Sample without the tool, the launcher's own seconds)"""
    try:
        with open(place.file("cost"), encoding="ascii") as file:
            words = [int(word) for word in file.read().split()]
    except FileNotFoundError:
        raise Failed("the launcher wrote nothing") from None
    user, system, rss, wall, _, _, status, own = words
    if status != 0:
        raise Failed(f"the program ended with status {status}")
    return Sample((user + system) / 1e6, wall / 1e9, rss), own / 1e6


def forget_cost(place):
    for name in ("cost", "cost.pid"):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(place.file(name))


def peak_rss_kib(pid):
    """VmHWM; 0 when the process has ended."""
    try:
        with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
            for line in file:
                if line.startswith("VmHWM:"):
                    return int(line.split()[1])
    except (FileNotFoundError, ProcessLookupError):
        pass
    return 0


class Running:
    """A process group of ours, its output in a file; wait() says what it used."""

    def __init__(self, argv, log, env=None, cpus=None):
        """cpus: those it may use; None: as the bench itself."""
        self.argv, self.log = argv, log
        with open(log, "wb") as output:
            self.process = subprocess.Popen(
                argv, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
                start_new_session=True, env=dict(os.environ, **(env or {})),
                preexec_fn=(lambda: os.sched_setaffinity(0, cpus)) if cpus else None)
        self.pid = self.process.pid
        self.rss_kib = 0

    def ended(self):
        return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def wait(self, limit_s):
        """(user + system seconds of it and all that it waited for, exit status)"""
        end = time.monotonic() + limit_s
        while not self.ended():
            self.rss_kib = max(self.rss_kib, peak_rss_kib(self.pid))
            if time.monotonic() > end:
                self.kill()
                raise TooSlow(f"stopped after {limit_s:.0f} s")
            time.sleep(POLL_S)
        _, status, used = os.wait4(self.pid, 0)
        self.process.returncode = os.waitstatus_to_exitcode(status)
        return used.ru_utime + used.ru_stime, self.process.returncode

    def interrupt(self):
        if self.process.returncode is None:
            os.kill(self.pid, signal.SIGINT)

    def kill(self):
        if self.process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.pid, signal.SIGKILL)
            self.process.wait()

    def output(self):
        with open(self.log, encoding="utf-8", errors="replace") as file:
            return file.read()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()


def wait_until(condition, what, limit_s=READY_LIMIT_S):
    end = time.monotonic() + limit_s
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise Failed(f"{what}: not within {limit_s} s")
        time.sleep(POLL_S)


def run_under(place, row, before=(), inside=(), env=None, limit_s=60, execs=0, launcher="timed"):
    """before: the tool's words ahead of the launcher, inside: those between it and the command.
    Returns (Sample, the tool's exit status, its output)."""
    argv = [*before, *timed(place, row, execs=execs, launcher=launcher), *inside, *row.command]
    forget_cost(place)
    with Running(argv, place.file("tool.log"), env) as running:
        if row.driver:
            row.driver(place)
        used, status = running.wait(limit_s)
        try:
            sample, own = read_cost(place)
        except Failed as failed:
            raise Failed(f"{failed}: {running.output().strip()[-300:]}") from None
        if before:
            sample.tool_cpu_s = max(0.0, used - sample.cpu_s - own)
            sample.tool_rss_kib = running.rss_kib
        return sample, status, running.output()


def run_held(place, row, tracer, ready, env=None, limit_s=60):
    """For a tool that attaches: tracer(pid) gives its words, ready(tool's pid) says whether it has
    attached. The command waits before its exec until then. Returns (Sample, the tool's output)."""
    argv = [*timed(place, row, hold=True), *row.command]
    forget_cost(place)
    with Running(argv, place.file("target.log")) as target:
        wait_until(lambda: os.path.exists(place.file("cost.pid")), "holding the program")
        with open(place.file("cost.pid"), encoding="ascii") as file:
            pid = int(file.read())
        with Running(tracer(pid), place.file("tool.log"), env) as tool:
            def attached():
                if tool.ended():
                    raise Failed("it ended at once: " + tool.output().strip()[-300:])
                return ready(tool.pid)
            wait_until(attached, "attaching")
            os.kill(pid, signal.SIGCONT)
            if row.driver:
                row.driver(place)
            target.wait(limit_s)
            sample, _ = read_cost(place)
            tool.interrupt()
            sample.tool_cpu_s, _ = tool.wait(limit_s)
            sample.tool_rss_kib = tool.rss_kib
            return sample, tool.output()


def used_s(pid):
    """Processor time that a running process has used so far, of all its living threads."""
    total = 0
    for thread in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{thread}/schedstat", encoding="ascii") as file:
            total += int(file.read().split()[0])
    return total / 1e9


def settle(place):
    """Be the tool's neighbour, not the target's, and leave no core files behind."""
    if not place.any_core:
        os.sched_setaffinity(0, {place.tool_cpu})
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
