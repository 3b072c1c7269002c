# SPDX-License-Identifier: GPL-2.0-or-later
"""Allocations of the host, of a cgroup, of a user, of a name. Others run on this host, too: what is
asserted is of processes that the test has started, by their pids."""

import contextlib
import json
import os
import pwd
import shutil
import signal
import subprocess
import tempfile

import schema
from cgroups import cgroup, move
from lib import (EXACT_KEYS, PATIENCE, brief, counting, load_report, memtraced, need_root,
                 read_counts, run_memtraced, scratch, send_line, started, target, test)


class Wide:
    """memtraced on a rule, with a report as a line of JSON every second."""

    def __init__(self, process, errors):
        self.process, self.errors = process, errors

    def next_report(self, timeout=60):
        line = self.process.lines.next(timeout)
        if line is None:
            self.process.wait(30)
            self.errors.seek(0)
            said = self.errors.read().decode(errors="replace")
            raise AssertionError(f"memtraced ended with {self.process.returncode}: {said[-1000:]}")
        report = json.loads(line)
        schema.check(report)
        return report

    def finish(self, timeout=120):
        """The last report."""
        self.process.send_signal(signal.SIGINT)
        latest = None
        while (line := self.process.lines.next(timeout)) is not None:
            latest = line
        assert self.process.wait(30 * PATIENCE) == 0, f"exit status {self.process.returncode}"
        report = json.loads(latest)
        schema.check(report)
        return report


@contextlib.contextmanager
def tracing(*words, **how):
    """Yields once the first report has come: all that runs is probed."""
    command = [memtraced(), *words, "-f", "json", "-i", "1"]
    with tempfile.TemporaryFile() as errors, started(command, stdin=subprocess.DEVNULL,
                                                     stderr=errors, **how) as process:
        wide = Wide(process, errors)
        wide.next_report()
        yield wide


def of_pids(report, pids):
    """{pid: [alloc of each of its images in turn]}"""
    images = {}
    for process in report["processes"]:
        if process["pid"] in pids:
            images.setdefault(process["pid"], []).append(process)
    return images


def check_counts(report, counts, keys=EXACT_KEYS):
    """Every image that counted itself is there with the same numbers."""
    images = of_pids(report, counts)
    for pid, expected in sorted(counts.items()):
        found = [p["alloc"] for p in images.get(pid, []) if p["alloc"]["allocs"]]
        expected = [e for e in expected if e["allocs"]]
        assert len(found) == len(expected), \
            f"{pid}: {len(found)} images, not {len(expected)}: {brief(images.get(pid, []))}"
        for ours, theirs in zip(found, expected):
            wrong = {k: (ours[k], theirs[k]) for k in keys if ours[k] != theirs[k]}
            assert not wrong, f"{pid}: {wrong}; lost: {report['coverage']['lost']}"


def run_counted(command, **how):
    """Runs a target that counts itself; (its counts by pid, what it wrote)."""
    with scratch() as folder:
        env = dict(os.environ, **counting(folder))
        done = subprocess.run(command, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              timeout=120 * PATIENCE, text=True, check=True, **how)
        return read_counts(os.path.join(folder, "all")), done.stdout


def known(wide, command, **how):
    """Has the files of a command probed, so that all of its next run is seen."""
    counts, _ = run_counted(command, **how)
    wanted = set(counts)
    for _ in range(20):
        report = wide.next_report()
        if wanted <= {process["pid"] for process in report["processes"]}:
            return
    raise AssertionError(f"{command} was not seen: {wanted}")


# --- each kind of target -------------------------------------------------------------------------

@test(need_root, each=["vfork", "fork", "spawn", "vm"], timeout=240, every_kernel=["spawn"])
def children_of_every_kind_on_the_host(how):
    command = [target("children"), how, "5"]
    with tracing("-a") as wide:
        known(wide, command)
        counts, _ = run_counted(command)
        report = wide.finish()
        own = wide.process.pid
    # A child on its own stack in shared memory is a thread of its own to memtraced.
    check_counts(report, counts, [key for key in EXACT_KEYS if how != "vm" or key != "temporary"])
    assert own not in {process["pid"] for process in report["processes"]}, "it counts itself"


@test(need_root, timeout=240)
def what_runs_already_is_counted_from_then_on():
    with started([target("attach")]) as process:
        with tracing("-a") as wide:
            pids = {p["pid"] for p in wide.next_report()["processes"]}
            assert process.pid in pids, pids
            wide.finish()


@test(need_root, timeout=240)
def of_a_name():
    """What does not match is not there, and what is forked by it with another name neither."""
    with scratch() as folder:
        for name in ("hosted-one", "hosted-two", "another"):
            shutil.copy(target("forks"), os.path.join(folder, name))
        with tracing("--comm", "hosted-[o]*", "--comm", "*d-two") as wide:
            commands = [[os.path.join(folder, name), "100"]
                        for name in ("hosted-one", "hosted-two", "another")]
            known(wide, commands[0])
            known(wide, commands[1])
            counts = [run_counted(command)[0] for command in commands]
            report = wide.finish()
    check_counts(report, counts[0])
    check_counts(report, counts[1])
    assert not of_pids(report, counts[2]), "another name is counted"
    assert {p["comm"] for p in report["processes"]} == {"hosted-one", "hosted-two"}


@test(need_root, timeout=240)
def of_a_user():
    nobody = pwd.getpwnam("nobody")
    command = [target("children"), "spawn", "3"]
    with tracing("--uid=nobody") as wide:
        known(wide, command, user=nobody.pw_uid)
        counts, _ = run_counted(command, user=nobody.pw_uid)
        others, _ = run_counted(command)
        report = wide.finish()
    check_counts(report, counts)
    assert not of_pids(report, others), "another user's are counted"


@test(need_root, timeout=240)
def of_a_cgroup():
    command = [target("children"), "fork", "3"]
    with cgroup() as (path, inner):
        def enter():
            move(os.getpid(), inner)
        with tracing("--cgroup", path) as wide:
            known(wide, command, preexec_fn=enter)
            counts, _ = run_counted(command, preexec_fn=enter)
            others, _ = run_counted(command)
            report = wide.finish()
    check_counts(report, counts)
    assert not of_pids(report, others), "what is outside is counted"


@test(need_root, each=["-c", "-p"], timeout=120)
def names_of_what_a_command_starts(how):
    """Everything is followed, what matches is counted, and nothing of it is missed."""
    with scratch() as folder:
        shutil.copy(target("forks"), os.path.join(folder, "wanted-forks"))
        script = "read x; for i in 1 2 3; do \"$0\" 50; \"$1\" 50; done; true"
        words = ["sh", "-c", script, os.path.join(folder, "wanted-forks"), target("forks")]
        env = counting(folder)
        path = os.path.join(folder, "report.json")
        if how == "-c":
            done = run_memtraced("--comm=wanted-*", "-o", f"json:{path}",
                                 *[f"--env={n}={v}" for n, v in env.items()], "--", *words,
                                 input="\n")
            assert done.returncode == 0, done.stderr
        else:
            with started(words, env=dict(os.environ, **env)) as shell:
                with started([memtraced(), "-p", str(shell.pid), "--comm=wanted-*", "-i", "1",
                              "-f", "json", "-o", f"json:{path}"]) as tracer:
                    tracer.lines.next()
                    send_line(shell)
                    assert tracer.wait(60 * PATIENCE) == 0
        report = load_report(path)
        counts = read_counts(os.path.join(folder, "all"))
    assert {p["comm"] for p in report["processes"]} == {"wanted-forks"}, brief(report["processes"])
    wanted = {p["pid"] for p in report["processes"]}
    assert len(wanted) == 9, brief(report["processes"])
    if how == "-c":  # held, so that nothing runs before it is probed
        assert report["coverage"]["exact"], report["coverage"]
        check_counts(report, {pid: found[-1:] for pid, found in counts.items() if pid in wanted})
