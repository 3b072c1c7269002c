# SPDX-License-Identifier: GPL-2.0-or-later
"""memtraced ctl: traces of a running service, and the reports that they leave."""

import contextlib
import os
import re
import signal
import subprocess

import lib
import schema
from lib import eventually, exact, need_root, refused, run, run_memtraced, same, scratch, test
from test_allocators import POOL
from test_attach import counted, one, since, started_target, work
from test_service import NOBODY, finish, service, until_traced

BESIDE_OTHERS = "services"


def ctl(served, *words, status=0):
    done = run_memtraced("ctl", f"--socket={served.path}", *words)
    assert done.returncode == status, done
    return done.stdout


@test(need_root, each=["its time is over", "the service ends", "the target ends"], in_turn=1,
      timeout=60)
def a_trace_leaves_an_exact_report_when(end):
    with scratch() as folder, scratch() as counts, service(folder) as served, \
            started_target(counts) as process:
        pid = int(process.lines.until("ready"))
        before = counted(counts, pid)
        long = "10s" if end == "its time is over" else "10m"
        said = ctl(served, "trace", str(pid), f"--for={long}", "--format=json")
        name = re.search(r"memtraced ctl reports (\S+)$", said).group(1)
        assert f"process {pid} (attach) is traced for" in said, said
        assert f"heap of process {pid} (attach): for " in ctl(served, "status")
        work(process)
        own = since(counts, pid, before)
        path = os.path.join(folder, "state", name)
        if end == "the target ends":
            finish(process)
            own = since(counts, pid, before)
        if end == "the service ends":
            served.process.send_signal(signal.SIGTERM)
            assert served.process.wait(20 * lib.PATIENCE) == 0
        else:
            served.said.until(f"memtraced: process {pid} (attach): report {name}")
            assert ctl(served, "reports").split()[-1] == name
            with open(path, encoding="utf-8") as file:
                assert ctl(served, "reports", name) == file.read()
        with open(path, encoding="utf-8") as file:
            report = schema.load(file)
        exact(report)
        same(one(report, pid), own)
        info = os.stat(path)
        assert (info.st_mode & 0o777, info.st_uid) == (0o600, 0), oct(info.st_mode)


@test(need_root)
def a_wrapper_of_the_configuration_names_no_site():
    with scratch() as folder, scratch() as counts, \
            service(folder, trace="wrapper = new_bl*") as served, \
            started_target(counts) as process:
        pid = int(process.lines.until("ready"))
        name = ctl(served, "trace", str(pid), "--for=10m", "--format=json").split()[-1]
        work(process)
        finish(process)
        served.said.until(f"memtraced: process {pid} (attach): report {name}")
        report = schema.loads(ctl(served, "reports", name))
    sites = lib.with_function(lib.heap_sites(one(report, pid)), "new_blocks")
    assert sites and all(site["frames"][site["name_frame"]]["function"] == "work"
                         for site in sites), sites


@test(need_root)
def old_reports_make_room():
    with scratch() as folder, scratch() as counts, \
            started_target(counts) as process:
        pid = process.lines.until("ready")
        with service(folder, trace="[state]\nmax_reports = 2") as served:
            names = []
            for _ in range(4):
                said = ctl(served, "trace", pid, "--for=1s", "--format=folded")
                names.append(said.split()[-1])
                served.said.until(f"memtraced: process {pid} (attach): report")
            assert len(set(names)) == 4, names
            listed = [line.split()[-1] for line in ctl(served, "reports").splitlines()]
            assert listed == [names[3], names[2]], (listed, names)


def as_nobody(served):
    return ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups",
            lib.memtraced(), "ctl", f"--socket={served.path}"]


@contextlib.contextmanager
def nobodys_targets(n):
    """The pids of processes that this user may see."""
    def become():
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)

    with scratch() as folder, contextlib.ExitStack() as stack:
        command = [lib.target_for_all(folder, "leak"), "0", "60000"]
        pids = [stack.enter_context(lib.started(command, preexec_fn=become)).lines.until("ready")
                for _ in range(n)]
        for pid in pids:
            eventually(lambda pid=pid: os.stat(f"/proc/{pid}/environ").st_uid == NOBODY, "its exec")
        yield pids


@test(need_root)
def who_asks_owns_the_report():
    with scratch() as folder, service(folder) as served, nobodys_targets(1) as (pid,):
        ctl(served, "trace", pid, "--for=1s")
        said = run([*as_nobody(served), "trace", pid, "--for=1s", "--format=folded"])
        assert said.returncode == 0, said
        name = said.stdout.split()[-1]
        for _ in range(2):
            served.said.until(f"memtraced: process {pid} (leak): report")
        assert run([*as_nobody(served), "reports"]).stdout.split()[-1] == name
        assert len(ctl(served, "reports").splitlines()) == 2
        roots, = [word for word in ctl(served, "reports").split() if word.endswith(".html")]
        refused(run([*as_nobody(served), "reports", roots]), 2, "no such report of yours")
        refused(run([*as_nobody(served), "trace", "1"]), 2, "process 1 is not yours")
        refused(run([*as_nobody(served), "reports", "../memtraced.conf"]), 2, "no such report")
        until_traced(served, 0)


@test(need_root)
def a_user_has_so_many_traces_and_leaves_room_for_others():
    with scratch() as folder, service(folder) as served, nobodys_targets(3) as pids:
        for pid in pids[:2]:
            done = run([*as_nobody(served), "trace", pid])
            assert done.returncode == 0, done
        refused(run([*as_nobody(served), "trace", pids[2]]), 2, "max_traces_of_user")
        # Who joins begins none.
        assert run([*as_nobody(served), "trace", pids[1]]).returncode == 0
        ctl(served, "trace", pids[2])
        assert served.metric("memtraced_traces_running") == 3
        assert served.metric("memtraced_traces_refused_total") == 1


@test(need_root)
def a_users_reports_make_no_room_among_others():
    with scratch() as folder, nobodys_targets(1) as (pid,), \
            service(folder, trace="[state]\nmax_reports = 1") as served:
        names = []
        for command in ([lib.memtraced(), "ctl", f"--socket={served.path}"],
                        *[as_nobody(served)] * 2):
            said = run([*command, "trace", pid, "--for=1s", "--format=folded"])
            assert said.returncode == 0, said
            names.append(said.stdout.split()[-1])
            served.said.until(f"memtraced: process {pid} (leak): report")
        listed = [line.split()[-1] for line in ctl(served, "reports").splitlines()]
        assert listed == [names[2], names[0]], (listed, names)


@test(need_root)
def a_pool_that_the_configuration_names_is_traced_as_such():
    with scratch() as folder, service(folder, trace=f"allocator = {POOL}") as served, \
            lib.started([lib.target("pools"), str(10 ** 9)], stdout=subprocess.DEVNULL,
                        env=dict(os.environ, **lib.counting(folder))) as process:
        said = ctl(served, "trace", str(process.pid), "--for=1s", "--format=json")
        served.said.until(f"memtraced: process {process.pid} (pools): report")
        report = schema.loads(ctl(served, "reports", said.split()[-1]))
        functions = {site["frames"][0]["function"] for site in report["processes"][0]["sites"]}
        assert "pool_get" in functions and not functions & {"malloc", "free"}, functions
        process.kill()


@test()
def without_a_service_it_says_so():
    done = run_memtraced("ctl", "--socket=/nonexistent/sock", "status")
    refused(done, 2, "no service listens on /nonexistent/sock")
