# SPDX-License-Identifier: GPL-2.0-or-later
"""The process that parses files for memtraced: what it may do, and what its death costs."""

import contextlib
import ctypes
import fcntl
import os
import platform
import re
import shutil
import signal
import socket
import struct
import termios
from collections import Counter

from cgroups import cgroup, move
from lib import (GONE, Skip, attached, counting, eventually, exact, heap_sites, load_report,
                 memtraced, need_root, process_state, read_counts, run_memtraced, same, scratch,
                 send_line, started, target, test, total, with_function)
from test_attach import BLOCKS, THREADS, counted, one, since, started_target, work
from test_host import tracing
from test_jit import CALLS, jit_frames, made_code
from test_service import Asking, finish, service, until_traced
from test_unwind import need_x86_64

BESIDE_OTHERS = "services"
SYS_PIDFD_GETFD = 438
OBJECT_ROWS = 0x41  # of probe/object_wire.h
LOOK_UP = 1  # of symbol/symbol_wire.h


def children(pid):
    """Of all its threads: a helper is started again by the thread that asks for it."""
    found = []
    for task in os.listdir(f"/proc/{pid}/task"):
        with contextlib.suppress(*GONE), open(f"/proc/{pid}/task/{task}/children",
                                              encoding="ascii") as file:
            found += [int(word) for word in file.read().split()]
    return found


def has_ended(pid):
    with contextlib.suppress(*GONE):
        return process_state(pid)[0] == "Z"
    return True


def runs_as(pid, name):
    """Has it that name, and not ended?"""
    with contextlib.suppress(*GONE), open(f"/proc/{pid}/comm", encoding="utf-8") as file:
        return file.read().strip() == name and not has_ended(pid)
    return False


def helpers(pid):
    """The keeper of a memtraced, and its worker; None where it has none yet."""
    keeper, = eventually(lambda: [child for child in children(pid)
                                  if runs_as(child, "memtraced-keep")], "it has no keeper")
    workers = [child for child in children(keeper) if not has_ended(child)]
    assert len(workers) <= 1, workers
    return keeper, workers[0] if workers else None


def status(pid):
    with open(f"/proc/{pid}/status", encoding="utf-8") as file:
        return dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)


CONFINED = {"CapEff": 0, "CapPrm": 0, "NoNewPrivs": 1, "Seccomp": 2}


def is_confined(pid):
    """A worker is so before its first request; while it begins it is not yet."""
    said = status(pid)
    return {key: int(said[key], 16) for key in CONFINED} == CONFINED


def while_there(condition):
    """Not yet, where a process is gone between two looks: any may be replaced at any time."""
    def is_so():
        with contextlib.suppress(*GONE):
            return condition()
        return False
    return is_so


def confined_worker(pid):
    """That of a memtraced, once it is so."""
    def found():
        worker = helpers(pid)[1]
        return worker if worker and is_confined(worker) else None

    return eventually(while_there(found), "no worker is confined")


def need_one_file_system():
    """Else a worker that is about to be killed may be replaced, as it has read other files."""
    if len({os.stat(path).st_dev for path in (target("attach"), "/tmp", "/usr/lib")}) > 1:
        raise Skip("the build, /tmp and /usr/lib are not in one file system")


@contextlib.contextmanager
def socket_of(pid):
    """The only one that a worker has."""
    sockets = [int(fd) for fd in os.listdir(f"/proc/{pid}/fd")
               if os.readlink(f"/proc/{pid}/fd/{fd}").startswith("socket:")]
    assert len(sockets) == 1, sockets
    process = os.pidfd_open(pid)
    try:
        ours = ctypes.CDLL(None, use_errno=True).syscall(SYS_PIDFD_GETFD, process, sockets[0], 0)
        assert ours >= 0, os.strerror(ctypes.get_errno())
        with socket.socket(fileno=ours) as shared:
            yield shared
    finally:
        os.close(process)


def has_request(pid):
    """Does a worker have something to read?"""
    with socket_of(pid) as shared:
        waiting = fcntl.ioctl(shared.fileno(), termios.FIONREAD, struct.pack("i", 0))
    return struct.unpack("i", waiting)[0] > 0


def kind_of_request(pid):
    """Its first byte, which comes after a length; the request stays where it is."""
    with socket_of(pid) as shared:
        return shared.recv(5, socket.MSG_PEEK | socket.MSG_DONTWAIT)[4]


def kill_while_it_works(pid, sig, begin):
    """`begin` makes the memtraced ask its worker, which gets the signal before it has answered."""
    _, worker = helpers(pid)
    os.kill(worker, signal.SIGSTOP)
    eventually(lambda: process_state(worker)[0] == "T", "it does not stop")
    begin()
    eventually(lambda: has_request(worker), "nothing is asked")
    os.kill(worker, sig)
    with contextlib.suppress(ProcessLookupError):  # of SIGKILL it dies as it is
        os.kill(worker, signal.SIGCONT)


def stop(pid):
    os.kill(pid, signal.SIGSTOP)
    eventually(lambda: process_state(pid)[0] == "T", f"process {pid} does not stop")


def kill_at(pid, kind, begin, sig=signal.SIGKILL):
    """The same at the first request of that kind: those before are answered, one by one."""
    _, worker = helpers(pid)
    stop(worker)
    begin()
    while True:
        eventually(lambda: has_request(worker), "nothing is asked")
        if kind_of_request(worker) == kind:
            break
        # Who asks stands still meanwhile, so that the next request cannot be missed.
        stop(pid)
        os.kill(worker, signal.SIGCONT)
        eventually(lambda: process_state(worker)[0] == "S" and not has_request(worker),
                   "it does not answer")
        stop(worker)
        os.kill(pid, signal.SIGCONT)
    os.kill(worker, sig)
    with contextlib.suppress(ProcessLookupError):  # of SIGKILL it dies as it is
        os.kill(worker, signal.SIGCONT)


def busiest(report, pid):
    """The image that a process ran longest."""
    return max((process for process in report["processes"] if process["pid"] == pid),
               key=lambda process: process["alloc"]["allocs"])


def frames_of(process):
    """Of mappings, too: any of them may have been asked for when it died."""
    return [frame for site in process["sites"] for frame in site["frames"]]


@test(need_root, need_one_file_system, each=("KILL", "SEGV"), in_turn=1, every_kernel=["SEGV"])
def its_death_during_a_report_costs_names_and_nothing_else(name):
    with scratch() as folder, started_target(folder) as process:
        pid = int(process.lines.until("ready"))
        before = counted(folder, pid)
        recording = os.path.join(folder, "recording")
        with attached([pid], "-o", f"record:{recording}") as session:
            tracer = session.process.pid
            # Killed by a debug file that it looks at, it would cost that file instead.
            kill_at(tracer, LOOK_UP, lambda: work(process), getattr(signal, "SIG" + name))
            report = session.finish()
        exact(report)
        same(one(report, pid), since(folder, pid, before))
        lost = report["coverage"]["lost"]
        assert set(lost) == {"symbols-unread"} and lost["symbols-unread"] > 0, lost
        frames = frames_of(one(report, pid))
        named = {frame["object"] for frame in frames if frame["function"]}
        places = {(frame["object"], frame["addr"]) for frame in frames
                  if frame["object"] not in named}
        # One file was read when it died; others (a libc may be stripped) are read by the next one.
        assert named, frames
        assert lost["symbols-unread"] in Counter(object_ for object_, _ in places).values(), \
            (lost, frames)
        again = os.path.join(folder, "again.json")
        done = run_memtraced("report", recording, "-o", f"json:{again}", "-f", "table")
        assert done.returncode == 0, done.stderr
        assert load_report(again)["coverage"]["lost"] == lost, (load_report(again), lost)
        said = " ".join(done.stdout.split())
        words = re.search(r"; (\d+) stacks? or names? lost \(symbols-unread", said)
        assert words and int(words.group(1)) == lost["symbols-unread"], said


@test(need_root, need_one_file_system, each=("KILL", "SEGV"), in_turn=1, every_kernel=["SEGV"],
      timeout=120)
def its_death_by_a_file_that_is_mapped_costs_that_file_alone(name):
    """A program that kills it when it is looked at runs on, and calls of its libc are counted."""
    with cgroup() as (path, _), scratch() as folder, contextlib.ExitStack() as stack:
        def begin(*command):
            environ = dict(os.environ, **counting(folder))
            return stack.enter_context(
                started([*command, str(BLOCKS), str(THREADS)], env=environ,
                        preexec_fn=lambda: move(os.getpid(), path)))

        deadly = os.path.join(folder, "deadly")
        shutil.copy(target("attach"), deadly)
        good = begin(target("attach"))
        shell = begin("/bin/sh", "-c", 'echo waits; read line; exec "$0" "$@"', deadly)
        shell.lines.until("waits")
        pid = int(good.lines.until("ready"))
        before = counted(folder, pid)
        wide = stack.enter_context(tracing("--cgroup", path))
        kill_while_it_works(wide.process.pid, getattr(signal, "SIG" + name),
                            lambda: send_line(shell))
        deadly_pid = int(shell.lines.until("ready"))
        work(good)
        work(shell)
        report = wide.finish()
        same(one(report, pid), since(folder, pid, before))
        # It ran already while nobody looked at it, as none of a whole cgroup is held.
        assert max(process["alloc"]["allocs"] for process in report["processes"]
                   if process["pid"] == deadly_pid) > BLOCKS / 2, report["processes"]
        coverage = report["coverage"]
        assert coverage["lost"].get("file-not-parsed") == 1, coverage["lost"]
        why = "the process that parses files ended while reading it, or was not running"
        assert [row["why"] for row in coverage["unprobed"] if row["object"] == deadly] == [why], \
            coverage["unprobed"]
        assert not coverage["exact"], coverage


@test(need_root, need_one_file_system, need_x86_64, timeout=120)
def its_death_by_unwinding_information_cuts_the_stacks_through_that_file_alone():
    with cgroup() as (path, _), scratch() as folder, contextlib.ExitStack() as stack:
        deadly = os.path.join(folder, "deadly")
        shutil.copy(target("attach"), deadly)  # so new that no rows of it are kept
        shell = stack.enter_context(
            started(["/bin/sh", "-c", 'echo waits; read line; exec "$0" "$@"', deadly,
                     str(BLOCKS), str(THREADS)], env=dict(os.environ, **counting(folder)),
                    preexec_fn=lambda: move(os.getpid(), path)))
        shell.lines.until("waits")
        wide = stack.enter_context(tracing("--cgroup", path))
        kill_at(wide.process.pid, OBJECT_ROWS, lambda: send_line(shell))
        pid = int(shell.lines.until("ready"))
        work(shell)
        report = wide.finish()
        done = busiest(report, pid)
        # The shell's counts come first. Nobody held what it has become.
        counts = read_counts(os.path.join(folder, "all"))[pid][1]
        missed = counts["allocs"] - done["alloc"]["allocs"]
        assert 0 <= missed < BLOCKS, (counts, done["alloc"])
        coverage = report["coverage"]
        assert coverage["lost"].get("unwind-rows-not-parsed") == 1, coverage
        assert "file-not-parsed" not in coverage["lost"], coverage
        # Through it stacks go on by frame pointers, or not at all; none did so otherwise.
        assert coverage["stacks_guided"] + coverage["stacks_truncated"] > BLOCKS, coverage
        # It is not tried again for its symbols.
        frames = [frame for frame in frames_of(done) if frame["object"] == deadly]
        assert frames and not any(frame["function"] for frame in frames), frames
        places = {frame["addr"] for frame in frames}
        assert coverage["lost"]["symbols-unread"] >= len(places) > 0, (coverage, places)


def need_code_that_is_made():
    if platform.machine() != "x86_64":
        raise Skip("the code that tests/targets/jit.c makes is x86-64's")


@test(need_root, need_one_file_system, need_code_that_is_made, each=("map", "dump"), in_turn=1,
      every_kernel=["map"])
def its_death_by_what_a_run_time_says_costs_the_names_of_its_code_alone(mode):
    with scratch() as folder, made_code(mode, cwd=folder) as (process, session):
        if mode == "map":  # a dump has been written, and read, before each call
            kill_while_it_works(session.process.pid, signal.SIGSEGV, lambda: send_line(process))
            process.lines.until("written")
        else:
            path = os.path.join(folder, f"jit-{process.pid}.dump")
            with open(path, "ab") as dump:
                kill_while_it_works(session.process.pid, signal.SIGSEGV,
                                    lambda: (dump.write(bytes(8)), dump.flush()))
        send_line(process)
        process.wait(20)
        report = session.finish(sig=None)
        exact(report)
        assert report["coverage"]["lost"] == {"symbols-unread": 1}, report["coverage"]
        traced = report["processes"][0]
        for phase, size in (("phase_one", 1000), ("phase_two", 3000)):
            sites = with_function(heap_sites(traced), phase)
            assert total(sites, "allocs") == CALLS, (phase, sites)
            assert total(sites, "bytes") == CALLS * size, (phase, sites)
            # What a dump said before it was deadly holds.
            named = [bool(jit_frames(site)) for site in sites]
            assert named and all(named if mode == "dump" else [not name for name in named]), sites


@test(need_root)
def its_death_between_reports_costs_nothing():
    with scratch() as folder, started_target(folder) as process:
        pid = int(process.lines.until("ready"))
        before = counted(folder, pid)
        with attached([pid]) as session:
            keeper, worker = helpers(session.process.pid)
            os.kill(worker, signal.SIGKILL)
            eventually(lambda: helpers(session.process.pid)[1] != worker, "it does not die")
            work(process)
            report = session.finish()
        exact(report)
        assert report["coverage"]["lost"] == {}, report["coverage"]
        same(one(report, pid), since(folder, pid, before))
        assert all(frame["function"] for frame in frames_of(one(report, pid))
                   if frame["object"] == target("attach")), frames_of(one(report, pid))
        eventually(lambda: not os.path.exists(f"/proc/{keeper}"), "the keeper stays")


@test(need_root, every_kernel=True)
def it_has_no_rights_and_ends_with_a_memtraced_that_is_killed():
    with started([target("attach"), "1", "1"]) as process:
        pid = int(process.lines.until("ready"))
        with attached([pid]) as session:
            both = helpers(session.process.pid)[0], confined_worker(session.process.pid)
            assert int(status(both[0])["CapEff"], 16) == 0, status(both[0])
            session.process.kill()
            eventually(lambda: not any(os.path.exists(f"/proc/{one_}") for one_ in both),
                       "they outlive it")


@contextlib.contextmanager
def traced_by(served):
    """While a target is traced, which then works and ends; its stacks have names."""
    with scratch() as counts, started_target(counts) as process:
        pid = int(process.lines.until("ready"))
        trace = Asking(served, f"/debug/pprof/heap?pid={pid}&seconds=600&format=folded")
        until_traced(served, 1)
        yield
        work(process)
        finish(process)
        assert b"new_blocks" in trace.body(), trace.result
        until_traced(served, 0)


@test(need_root, timeout=90)
def the_service_has_one_for_all_traces():
    """One at a time: it is another for files of another owner."""
    with scratch() as folder, service(folder) as served:
        keeper, worker = helpers(served.process.pid)
        assert worker is None, "nothing has been asked of it"
        for _ in range(2):
            with traced_by(served):
                confined_worker(served.process.pid)
            assert helpers(served.process.pid)[0] == keeper


def child_named(pid, name):
    """Its only child of that name that has not ended; None: it has none."""
    named = [child for child in children(pid) if runs_as(child, name)]
    assert len(named) <= 1, named
    return named[0] if named else None


@test(need_root, timeout=120)
def helpers_that_are_killed_are_started_again():
    """Those that fork the others: before a trace, and during one."""
    names = ("memtraced-keep", "memtraced-open")
    rights = {"memtraced-keep": 0, "memtraced-open": 1 << 2 | 1 << 19 | 1 << 40}
    with scratch() as folder, service(folder) as served:
        for during in (False, True):
            with traced_by(served) if during else contextlib.nullcontext():
                killed = {name: child_named(served.process.pid, name) for name in names}
                for helper in killed.values():
                    os.kill(helper, signal.SIGKILL)
                eventually(lambda: all(child_named(served.process.pid, name) != helper
                                       for name, helper in killed.items()), "they do not end")
            with traced_by(served):
                confined_worker(served.process.pid)
                for name in names:
                    later = child_named(served.process.pid, name)
                    assert later not in (None, killed[name]), (name, later, killed)
                    said = status(later)
                    assert said["NoNewPrivs"] == "1", said
                    assert int(said["CapPrm"], 16) & ~rights[name] == 0, said
                    eventually(while_there(lambda: all(status(child)["Seccomp"] == "2"
                                                       for child in children(later))),
                               f"{name}: a child is free")
                    restarts = served.metric("memtraced_helper_restarts_total", helper=name)
                    assert restarts == during + 1, (name, restarts)


@test(need_root, timeout=90)
def a_helper_that_cannot_be_started_again_is_the_reason_that_is_told():
    """The program file of the service cannot be executed any more."""
    for name in ("memtraced-keep", "memtraced-open"):
        with scratch() as folder, started([target("attach"), "1", "1"]) as process:
            program = shutil.copy(memtraced(), folder)
            within = ["sh", "-c", f'shift; exec {program} "$@"', "sh"]
            with service(folder, within=within) as served:
                pid = int(process.lines.until("ready"))
                killed = child_named(served.process.pid, name)
                os.chmod(program, 0o644)
                os.kill(killed, signal.SIGKILL)
                eventually(lambda: child_named(served.process.pid, name) is None, "it lives")
                said = served.text(f"/debug/pprof/heap?pid={pid}&seconds=1", status=503)
                assert "a helper process was killed" in said, said


@test(need_root, every_kernel=True, timeout=120)
def what_has_read_a_users_file_reads_no_other_users():
    """It may have been taken over, and would say where to put breakpoints into the others."""
    with cgroup() as (path, _), scratch() as folder, contextlib.ExitStack() as stack:
        def copy(name, uid):
            copied = os.path.join(folder, name)
            shutil.copy(target("attach"), copied)
            os.chown(copied, uid, uid)
            return copied

        wide = stack.enter_context(tracing("--cgroup", path))
        readers = []
        for name, uid in (("a", 65533), ("b", 65533), ("c", 65532)):
            process = stack.enter_context(
                started([copy(name, uid), str(BLOCKS), str(THREADS)],
                        env=dict(os.environ, **counting(folder)),
                        preexec_fn=lambda: move(os.getpid(), path)))
            process.lines.until("ready")
            wide.report()
            readers.append(helpers(wide.process.pid)[1])
            work(process)
        assert None not in readers and readers[1] != readers[2], readers
        report = wide.finish()
        assert not {"file-not-parsed", "symbols-unread"} & set(report["coverage"]["lost"]), \
            report["coverage"]
        # Each was read by somebody: all their functions have names.
        for name in "abc":
            object_ = os.path.join(folder, name)
            frames = [frame for process in report["processes"] for frame in frames_of(process)
                      if frame["object"] == object_]
            assert frames and all(frame["function"] for frame in frames), (name, frames)


@test(need_root, timeout=120)
def its_own_memtraced_does_not_trace_it():
    """As of -a: a process that forks in the cgroup is counted, and so is what it forks."""
    with cgroup() as (path, _), tracing("--cgroup", path) as wide:
        keeper, worker = helpers(wide.process.pid)
        for pid in (keeper, worker):
            move(pid, path)
        os.kill(worker, signal.SIGKILL)
        with started([target("attach"), "60", "1"],
                     preexec_fn=lambda: move(os.getpid(), path)) as process:
            pid = int(process.lines.until("ready"))
            work(process)
            wide.report()
            later = helpers(wide.process.pid)[1]
            assert later not in (None, worker), "no other worker has been asked"
            report = wide.finish()
        pids = {process["pid"] for process in report["processes"]}
        assert pid in pids and not pids & {keeper, worker, later}, (pids, keeper, worker, later)
