# SPDX-License-Identifier: GPL-2.0-or-later
"""What goes wrong around a service: it says so, answers all the same, and comes back as it was."""

import contextlib
import json
import os
import re
import signal
import subprocess
import time

from cgroups import cgroup, move, rmdir
import schema
from lib import (Lines, Skip, blocks_lost, breakpoints, eventually, exact, memtraced, need_kernel,
                 need_long, need_program, need_root, run, same, scratch, send_line, started, target,
                 test)
from test_attach import counted, one, since, started_target, work
from test_ctl import ctl
from test_service import Asking, Service, finish, service, until_traced

BESIDE_OTHERS = "services"


def heap(served, pid):
    return schema.loads(served.text(f"/debug/pprof/heap?pid={pid}&seconds=1&format=json"))


# Neither tracefs nor the capability to mount it: as in a container that lacks its mount.
NO_TRACEFS = """
mount --make-rprivate / && mount -t tmpfs none /sys/kernel/tracing &&
{ ! mountpoint -q /sys/kernel/debug || mount -t tmpfs none /sys/kernel/debug; } &&
exec setpriv --no-new-privs --bounding-set=-sys_admin %s --service --config=%s
"""
TRACEFS = "umount /sys/kernel/tracing; cd /sys/kernel/tracing && { mountpoint -q . || " \
          "mount -t tracefs none .; }"


@test(need_root, need_program("unshare", "nsenter", "setpriv"), timeout=90)
def without_tracefs_that_is_said_until_it_is_mounted():
    with scratch() as folder, started([target("leak"), "0", "20000"]) as process:
        pid = process.lines.until("ready")
        path, config = os.path.join(folder, "http.sock"), os.path.join(folder, "memtraced.conf")
        with open(config, "w", encoding="ascii") as file:
            file.write(f"[http]\nlisten = unix {path}\n[state]\ndirectory = {folder}/state\n")
        script = NO_TRACEFS % (memtraced(), config)
        with started(["unshare", "-m", "sh", "-c", script], stderr=subprocess.PIPE) as masked:
            said = Lines(masked.stderr)
            said.until("memtraced: ready")
            served = Service(masked, path, None, said)
            address = f"/debug/pprof/heap?pid={pid}&seconds=1&debug=1"
            assert "it cannot be traced" in served.text(address, status=500)
            assert said.until("memtraced: tracefs is not mounted, and mounting it failed").endswith(
                "mount it with 'mount -t tracefs tracefs /sys/kernel/tracing'")
            done = run(["nsenter", "-t", str(masked.pid), "-m", "sh", "-c", TRACEFS])
            assert done.returncode == 0, done
            assert "leak_one" in served.text(address)


@contextlib.contextmanager
def freezer():
    """A new cgroup of version 1's freezer."""
    with open("/proc/self/mounts", encoding="utf-8") as file:
        mounts = [words[1] for words in map(str.split, file)
                  if words[2] == "cgroup" and "freezer" in words[3].split(",")]
    if not mounts:
        raise Skip("no freezer of cgroup v1 is mounted")
    path = os.path.join(mounts[0], f"memtraced-test-{os.getpid()}")
    os.mkdir(path)
    try:
        yield path
    finally:
        eventually(lambda: not rmdir(path), f"{path} is busy")


@test(need_root, each=["SIGSTOP", "its cgroup", "freezer of version 1"], in_turn=1, timeout=90)
def a_target_that_is_frozen_is_answered_for(how):
    with (freezer() if how == "freezer of version 1" else cgroup()) as place, \
            scratch() as folder, scratch() as counts, \
            service(folder) as served, started_target(counts) as process:
        path = place if how == "freezer of version 1" else place[0]
        pid = int(process.lines.until("ready"))
        freeze = os.path.join(path, "cgroup.freeze")
        if how != "SIGSTOP":
            move(pid, path)

        def frozen(on):
            if how == "SIGSTOP":
                os.kill(pid, signal.SIGSTOP if on else signal.SIGCONT)
                return
            if how == "freezer of version 1":
                state = "FROZEN" if on else "THAWED"
                with open(os.path.join(path, "freezer.state"), "r+", encoding="ascii") as file:
                    file.write(state)
                    file.flush()
                    eventually(lambda: file.seek(0) == 0 and file.read().strip() == state, state)
                return
            with open(freeze, "w", encoding="ascii") as file:
                file.write("1" if on else "0")
            with open(os.path.join(path, "cgroup.events"), encoding="ascii") as events:
                eventually(lambda: events.seek(0) == 0 and f"frozen {on:d}" in events.read(),
                           "it freezes" if on else "it thaws")

        # When the trace begins.
        frozen(True)
        report = heap(served, pid)
        exact(report)
        assert one(report, pid)["alloc"]["allocs"] == 0, report
        frozen(False)
        # While it lasts, and at its end.
        before = counted(counts, pid)
        asked = Asking(served, f"/debug/pprof/heap?pid={pid}&seconds=10&format=json")
        until_traced(served, 1)
        work(process)
        own = since(counts, pid, before)
        frozen(True)
        report = schema.loads(asked.body())
        exact(report)
        same(one(report, pid), own)
        until_traced(served, 0)
        frozen(False)
        finish(process)


@test(need_root, timeout=90)
def who_sets_the_clock_changes_no_report_and_no_time_that_is_shown():
    """By a day back, before the service began, and by a day ahead."""
    with scratch() as folder, scratch() as counts:
        step = os.path.join(folder, "step")
        within = ["env", f"LD_PRELOAD={target('libstepped_clock.so')}", f"STEPPED_CLOCK={step}"]
        with service(folder, trace="[watch]\ninterval = 1s", within=within) as served, \
                started_target(counts) as process:
            pid = int(process.lines.until("ready"))
            before, kept = counted(counts, pid), []
            asked = Asking(served, f"/debug/pprof/heap?pid={pid}&seconds=7&format=json")
            until_traced(served, 1)
            for seconds in (-86400, 86400):
                with open(step, "w", encoding="ascii") as file:
                    file.write(str(seconds))
                if seconds < 0:
                    work(process)
                    own = since(counts, pid, before)
                data = json.loads(served.text("/host"))
                assert data["up_ns"] < 3600 * 10 ** 9, data["up_ns"]
                up = ctl(served, "status").splitlines()[0]
                assert re.search(r", up for [\d.]+ (s|ms),", up), up
                sweeps = served.metric("memtraced_watch_sweeps_total")
                eventually(lambda n=sweeps: served.metric("memtraced_watch_sweeps_total") > n,
                           "the watch goes on")
                kept.append(ctl(served, "trace", str(pid), "--for=1s", "--format=json").split()[-1])
                eventually(lambda: kept[-1] in ctl(served, "reports"), "its report", timeout=30)
            report = schema.loads(asked.body())
            exact(report)
            same(one(report, pid), own)
            assert 0 < report["elapsed_ns"] < 3600 * 10 ** 9, report["elapsed_ns"]
            assert all(name in ctl(served, "reports") for name in kept), kept
            finish(process)


@test(need_root, need_long, timeout=300)
def ten_thousand_processes_are_watched_and_one_of_them_is_traced():
    crowd = 10000
    with open("/proc/sys/kernel/pid_max", encoding="ascii") as file:
        if int(file.read()) < 3 * crowd:
            raise Skip("the kernel allows too few processes")
    with scratch() as folder, scratch() as counts, started([target("crowd"), str(crowd)]) as many:
        many.lines.until("ready", timeout=120)
        check_crowd(folder, counts, crowd)
        send_line(many)
        assert many.wait(200) == 0


def check_crowd(folder, counts, crowd):
    with service(folder, trace="[watch]\ninterval = 1s") as served, \
            started_target(counts) as process:
        pid = int(process.lines.until("ready"))
        # Sweeps take what they may of a CPU, so that the next one is long in coming.
        eventually(lambda: served.metric("memtraced_watched", what="processes") > crowd,
                   "all are watched", timeout=60)
        assert served.metric("memtraced_watch_left_out", what="processes") == 0
        before = counted(counts, pid)
        asked = Asking(served, f"/debug/pprof/heap?pid={pid}&seconds=600&format=json")
        until_traced(served, 1)
        work(process)
        finish(process)
        own = since(counts, pid, before)
        assert json.loads(served.text("/host"))["n_processes"] > crowd
        report = schema.loads(asked.body())
        exact(report)
        same(one(report, pid), own)


@test(need_root, need_kernel(6, 4), timeout=150)
def full_maps_are_said_and_the_next_trace_is_exact():
    blocks = 1000000
    with scratch() as folder, scratch() as counts, \
            service(folder, trace="memory_limit = 96M") as served, \
            started_target(counts) as process:
        shell = ["/bin/sh", "-c", 'read line; exec "$0" "$@"', target("million"), str(blocks)]
        with started(shell) as full:
            asked = Asking(served, f"/debug/pprof/heap?pid={full.pid}&seconds=600&format=json",
                           timeout=110)
            until_traced(served, 1)
            send_line(full)
            report = schema.loads(asked.body())
        coverage = report["coverage"]
        assert blocks_lost(report) and not coverage["exact"], coverage
        until_traced(served, 0)
        pid = int(process.lines.until("ready"))
        before = counted(counts, pid)
        asked = Asking(served, f"/debug/pprof/heap?pid={pid}&seconds=600&format=json")
        until_traced(served, 1)
        work(process)
        finish(process)
        own = since(counts, pid, before)
        report = schema.loads(asked.body())
        exact(report)
        same(one(report, pid), own)


@test(need_root, timeout=90)
def a_cgroup_that_goes_while_its_process_is_traced_is_no_loss():
    with cgroup() as (path, inner), scratch() as folder, scratch() as counts, \
            service(folder) as served, started_target(counts) as process:
        pid = int(process.lines.until("ready"))
        move(pid, inner)
        before = counted(counts, pid)
        asked = Asking(served, f"/debug/pprof/heap?pid={pid}&seconds=600&format=json")
        until_traced(served, 1)
        move(pid, os.path.dirname(path))
        os.rmdir(inner)
        work(process)
        finish(process)
        own = since(counts, pid, before)
        report = schema.loads(asked.body())
        exact(report)
        same(one(report, pid), own)
        assert served.text("/metrics")


@test(need_root, need_program("mount"), timeout=90)
def where_no_report_can_be_written_that_is_said_and_the_rest_goes_on():
    with scratch() as folder, started([target("leak"), "0", "20000"]) as process:
        pid = process.lines.until("ready")
        state = os.path.join(folder, "state")
        os.mkdir(state)
        # Root writes wherever the file system lets it.
        assert run(["mount", "-t", "tmpfs", "-o", "ro", "none", state]).returncode == 0
        try:
            with service(folder) as served:
                ctl(served, "trace", pid, "--for=1s")
                said = served.said.until(f"memtraced: process {pid}: no report in {state}:")
                assert said == "Read-only file system", said
                assert ctl(served, "reports") == ""
                assert "leak_one" in served.text(f"/debug/pprof/heap?pid={pid}&seconds=1&debug=1")
                assert run(["mount", "-o", "remount,rw", state]).returncode == 0
                ctl(served, "trace", pid, "--for=1s")
                name = served.said.until(f"memtraced: process {pid} (leak): report")
                assert ctl(served, "reports").split()[-1] == name
        finally:
            run(["umount", "-l", state])


@test(need_root, timeout=120)
def killed_at_any_time_it_comes_back_with_its_reports():
    with scratch() as folder, started([target("leak"), "0", "20000"]) as process:
        pid, state = process.lines.until("ready"), os.path.join(folder, "state")
        kept = set()
        for delay in (None, 0.05, 0.3, 1.02):
            with service(folder, trace="max_seconds = 7s") as served:
                assert kept <= set(ctl(served, "reports").splitlines()), kept
                too_long = f"/debug/pprof/heap?pid={pid}&seconds=8"
                assert "at most 7 seconds" in served.text(too_long, status=400)
                ctl(served, "trace", pid, "--for=1s")
                if delay is None:
                    served.said.until(f"memtraced: process {pid} (leak): report")
                else:
                    time.sleep(delay)  # in the attach, in the trace, about when it writes
                kept = set(ctl(served, "reports").splitlines())
                assert kept
                served.process.kill()
                served.process.wait()
            # A report is there whole or not at all, whenever that was.
            for name in os.listdir(state):
                if re.fullmatch(r"trace-.*\.html", name):
                    with open(os.path.join(state, name), encoding="utf-8") as file:
                        assert file.read().rstrip().endswith("</html>"), name
            eventually(lambda: not breakpoints(int(pid)), "the probes are gone")
