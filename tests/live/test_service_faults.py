# SPDX-License-Identifier: GPL-2.0-or-later
"""What goes wrong around a service: it says so, answers all the same, and comes back as it was."""

import json
import os
import re
import signal
import subprocess
import time

from cgroups import cgroup, move
from lib import (Lines, breakpoints, eventually, exact, memtraced, need_program, need_root, run,
                 same, scratch, started, target, test)
from test_attach import counted, one, since, started_target, work
from test_ctl import ctl
from test_service import Asking, Service, finish, service, until_traced


def heap(served, pid):
    return json.loads(served.text(f"/debug/pprof/heap?pid={pid}&seconds=1&format=json"))


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
            assert said.until("memtraced: tracefs is not mounted and cannot be").endswith(
                "mount it with 'mount -t tracefs tracefs /sys/kernel/tracing'")
            done = run(["nsenter", "-t", str(masked.pid), "-m", "sh", "-c", TRACEFS])
            assert done.returncode == 0, done
            assert "leak_one" in served.text(address)


@test(need_root, each=["SIGSTOP", "its cgroup"], timeout=90)
def a_target_that_is_frozen_is_answered_for(how):
    with cgroup() as (path, _), scratch() as folder, scratch() as counts, \
            service(folder) as served, started_target(counts) as process:
        pid = int(process.lines.until("ready"))
        freeze = os.path.join(path, "cgroup.freeze")
        if how == "its cgroup":
            move(pid, path)

        def frozen(on):
            if how == "SIGSTOP":
                os.kill(pid, signal.SIGSTOP if on else signal.SIGCONT)
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
        asked = Asking(served, f"/debug/pprof/heap?pid={pid}&seconds=5&format=json")
        until_traced(served, 1)
        work(process)
        own = since(counts, pid, before)
        frozen(True)
        report = json.loads(asked.body())
        exact(report)
        same(one(report, pid), own)
        until_traced(served, 0)
        frozen(False)
        finish(process)


@test(need_root, timeout=90)
def a_cgroup_that_goes_while_its_process_is_traced_is_no_loss():
    with cgroup() as (path, inner), scratch() as folder, scratch() as counts, \
            service(folder) as served, started_target(counts) as process:
        pid = int(process.lines.until("ready"))
        move(pid, inner)
        before = counted(counts, pid)
        asked = Asking(served, f"/debug/pprof/heap?pid={pid}&seconds=5&format=json")
        until_traced(served, 1)
        move(pid, os.path.dirname(path))
        os.rmdir(inner)
        work(process)
        own = since(counts, pid, before)
        report = json.loads(asked.body())
        exact(report)
        same(one(report, pid), own)
        assert served.text("/metrics")
        finish(process)


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
