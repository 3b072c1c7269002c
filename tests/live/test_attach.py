# SPDX-License-Identifier: GPL-2.0-or-later
"""memtraced -p: running processes, alone and in company."""

import contextlib
import glob
import json
import os
import re
import shutil
import signal
import sys

import schema

from lib import (ALL_CALLS, ATTACH_PATHS, GONE, Counts, attach_option, attached, brief, counting,
                 eventually, exact, descendants, load_report, memtraced, need_program, need_root,
                 process_state, read_counts, refused, run, run_memtraced, same, scaled, scratch,
                 send_line, started, target, test)
from tracees import PTRACE_SEIZE, ptrace

BESIDE_OTHERS = True
EACH_PATH = sorted(ATTACH_PATHS)
BLOCKS, THREADS = 6000, 3


def counted(folder, pid):
    return read_counts(os.path.join(folder, "all"))[pid][0]


def since(folder, pid, before):
    """What the attach target did since: the old blocks it freed are unknown to memtraced."""
    counts = counted(folder, pid).minus(before)
    per_thread = BLOCKS // THREADS
    old = per_thread // 2 * THREADS
    old_bytes = sum(500 + i % 10 for i in range(per_thread // 2)) * THREADS
    return Counts(counts, frees=counts["frees"] - old, unknown_frees=old,
                  live_bytes=counts["live_bytes"] + old_bytes,
                  live_blocks=counts["live_blocks"] + old)


def started_target(folder):
    environ = dict(os.environ, **counting(folder))
    return started([target("attach"), str(BLOCKS), str(THREADS)], env=environ)


def work(process):
    send_line(process)
    process.lines.until("worked")


def one(report, pid):
    found = [process for process in report["processes"] if process["pid"] == pid]
    assert len(found) == 1, brief(report["processes"])
    return found[0]


@test(need_root, each=EACH_PATH, every_kernel=["multi", "perf", "session"],
      first=["perf", "session"])
def everything_after_the_attach_is_counted(path):
    with scratch() as folder, started_target(folder) as process:
        pid = int(process.lines.until("ready"))
        before = counted(folder, pid)
        with attached([pid], attach_option(path)) as session:
            work(process)
            report = session.finish()
        exact(report)
        same(one(report, pid), since(folder, pid, before))
        assert one(report, pid)["end"] is None, "it still runs"
        send_line(process)
        process.lines.until("done")
        assert process.wait(10) == 0


def with_many_libraries(folder, libraries, command):
    """It takes long to attach to."""
    paths = [os.path.join(folder, f"many{i}.so") for i in range(libraries)]
    for path in paths:
        shutil.copy(target("libplug_a.so"), path)
    return started(command, env=dict(os.environ, LD_PRELOAD=" ".join(paths)))


ALLOCATING = [sys.executable, "-c", """
import time
print("ready", flush=True)
while True:
    kept = bytearray(1000)
    time.sleep(0.001)
"""]


def allocs_within_a_tenth_of_a_second():
    with scratch() as folder, with_many_libraries(folder, 200, ALLOCATING) as process:
        process.lines.until("ready")
        report = os.path.join(folder, "report.json")
        done = run_memtraced("-p", str(process.pid), "-d", "0.1", "-o", f"json:{report}")
        assert done.returncode == 0, done.stderr
        return one(load_report(report), process.pid)["alloc"]["allocs"]


@test(need_root, timeout=120)
def a_duration_begins_when_the_target_is_traced():
    # some 85 on an idle machine; a few come before the loop begins
    assert any(allocs_within_a_tenth_of_a_second() > 30 for _ in range(5))


@test(need_root, each=["INT", "TERM", "HUP"], in_turn=1)
def a_signal_ends_the_run_with_its_report_and_the_target_goes_on(name):
    with scratch() as folder, started_target(folder) as process:
        pid = int(process.lines.until("ready"))
        before = counted(folder, pid)
        with attached([pid]) as session:
            work(process)
            report = session.finish(sig=getattr(signal, "SIG" + name))
        exact(report)
        same(one(report, pid), since(folder, pid, before))
        assert one(report, pid)["end"] is None
        send_line(process)
        process.lines.until("done")
        assert process.wait(10) == 0


@test(need_root)
def under_nohup_a_hangup_does_not_end_the_run():
    with scratch() as folder, started_target(folder) as process:
        pid = int(process.lines.until("ready"))
        with started(["/usr/bin/nohup", memtraced(), ALL_CALLS, "-p", str(pid), "-f",
                      "json", "-i", "0.1"]) as tracer:
            assert tracer.lines.next() is not None
            tracer.send_signal(signal.SIGHUP)
            for _ in range(5):
                assert tracer.lines.next() is not None, "it has ended"
            tracer.send_signal(signal.SIGINT)
            while tracer.lines.next() is not None:
                continue
            assert tracer.wait(30) == 0


@test(need_root)
def several_processes_at_once():
    with scratch() as folder, started_target(folder) as first, started_target(folder) as second:
        pids = [int(process.lines.until("ready")) for process in (first, second)]
        before = [counted(folder, pid) for pid in pids]
        with attached(pids) as session:
            work(first)
            work(second)
            report = session.finish()
        exact(report)
        for pid, counts in zip(pids, before):
            same(one(report, pid), since(folder, pid, counts))


@test(need_root)
def code_of_a_file_that_cannot_be_told_is_a_loss_of_its_own():
    with started([target("closed")]) as process:
        pid = int(process.lines.until("ready"))
        with attached([pid]) as session:
            send_line(process)
            sure, perhaps = map(int, process.lines.until("done").split())
            coverage = session.finish()["coverage"]
    assert sure + perhaps > 0, "the descriptor was never closed in time"
    lost = coverage["lost"].get("mapped-file-unreadable", 0)
    assert sure <= lost <= sure + perhaps, (sure, perhaps, coverage)
    assert "in-flight-missing" not in coverage["lost"] and not coverage["exact"], coverage


@test(need_root)
def two_memtraced_on_one_process_are_both_right():
    with scratch() as folder, started_target(folder) as process:
        pid = int(process.lines.until("ready"))
        before = counted(folder, pid)
        with attached([pid]) as one_session, attached([pid]) as other_session:
            work(process)
            reports = [one_session.finish(), other_session.finish()]
        for report in reports:
            exact(report)
            same(one(report, pid), since(folder, pid, before))


@test(need_root)
def a_target_that_ends_ends_the_run_with_its_final_report():
    with scratch() as folder, started_target(folder) as process:
        pid = int(process.lines.until("ready"))
        with attached([pid]) as session:
            work(process)
            send_line(process)
            process.lines.until("done")
            report = session.finish(sig=None)
        end = one(report, pid)["end"]
        assert end == {"exit": 0, "signal": None, "oom": False}, end
        exact(report)


@test(need_root)
def a_target_killed_by_sigkill_still_gets_its_exact_report():
    with scratch() as folder, started_target(folder) as process:
        pid = int(process.lines.until("ready"))
        before = counted(folder, pid)
        with attached([pid]) as session:
            work(process)
            process.kill()
            report = session.finish(sig=None)
        assert one(report, pid)["end"] == {"exit": None, "signal": 9, "oom": False}
        exact(report)
        same(one(report, pid), since(folder, pid, before))


@test(need_root)
def an_end_that_found_the_ring_full_ends_the_run():
    with started([target("flood"), "100000"]) as process:
        pid = int(process.lines.until("ready"))
        with attached([pid]) as session:
            tracer = session.process
            tracer.send_signal(signal.SIGSTOP)
            eventually(lambda: process_state(tracer.pid)[0] == "T", "memtraced is not stopped")
            send_line(process)
            assert process.wait(20) == 0
            tracer.send_signal(signal.SIGCONT)
            report = session.finish(sig=None)
    assert not report["coverage"]["exact"] and report["coverage"]["lost"]["ring-full"] > 0
    # How it ended is what was lost; that nobody of its cgroup was chosen, version 2 alone tells.
    process = one(report, pid)
    end = process["end"]
    assert end["exit"] is None and end["signal"] is None and end["oom"] in (None, False), end
    assert process["comm"] == "flood", process


@test(need_root, each=EACH_PATH)
def a_process_whose_seccomp_filter_is_in_place_survives(path):
    environ = dict(os.environ)
    with started([target("seccomp"), "3000", "wait"], env=environ) as process:
        pid = int(process.lines.until("ready"))
        with attached([pid], attach_option(path)) as session:
            send_line(process)
            process.lines.until("done")
            report = session.finish(sig=None)
        assert process.wait(10) == 0
        exact(report)
        # realloc(grown) and a block each time, three of four freed, the last free of grown.
        alloc = one(report, pid)["alloc"]
        assert alloc["allocs"] == 6000 and alloc["frees"] == 2250 + 2999 + 1, alloc


@test(need_root)
def another_memtraced_may_leave_first():
    with scratch() as folder, started_target(folder) as process:
        pid = int(process.lines.until("ready"))
        before = counted(folder, pid)
        with attached([pid]) as stays:
            with attached([pid]) as leaves:
                leaves.finish()
            work(process)
            report = stays.finish()
        exact(report)
        same(one(report, pid), since(folder, pid, before))


@test(need_root)
def a_target_under_a_debugger_is_traced_and_stays_the_debuggers():
    with scratch() as folder, started_target(folder) as process:
        pid = int(process.lines.until("ready"))
        before = counted(folder, pid)
        ptrace(PTRACE_SEIZE, pid)
        with attached([pid]) as session:
            assert process_state(pid)[1] == os.getpid(), "memtraced took the debugger's place"
            work(process)
            report = session.finish()
        assert process_state(pid)[1] == os.getpid()
        exact(report)
        same(one(report, pid), since(folder, pid, before))


def waits_for(pid, number):
    """The signal would not end the process: a descriptor reads it, and it is blocked, which all are
    for a moment before."""
    masks = []
    for path in (f"/proc/{pid}/status", *glob.glob(f"/proc/{pid}/fdinfo/*")):
        with contextlib.suppress(*GONE), open(path, encoding="utf-8") as file:
            masks += re.findall(r"^(SigBlk|sigmask):\s*([0-9a-f]+)$", file.read(), re.M)
    return {name for name, mask in masks if int(mask, 16) >> (number - 1) & 1} == {
        "SigBlk", "sigmask"}


@test(need_root)
def sigusr1_reports_and_goes_on():
    with scratch() as folder, started_target(folder) as process:
        pid = int(process.lines.until("ready"))
        with started([memtraced(), ALL_CALLS, "-p", str(pid), "-f", "json"]) as tracer:
            # not by its probes: other tracers have some in the same library
            eventually(lambda: waits_for(tracer.pid, signal.SIGUSR1), "it does not wait for it")
            for _ in range(3):
                tracer.send_signal(signal.SIGUSR1)
                schema.check(schema.loads(tracer.lines.next()))
            tracer.send_signal(signal.SIGINT)
            schema.check(schema.loads(tracer.lines.next()))
            assert tracer.lines.next() is None and tracer.wait(10) == 0
        assert process.poll() is None


@test(need_root, need_program("bash"))
def a_child_that_has_ended_before_it_is_seen_is_a_loss():
    """It had no links of its own yet."""
    with started(["bash", "-c", "read; (:); echo ended; read"]) as shell:
        with attached([shell.pid]) as session:
            session.process.send_signal(signal.SIGSTOP)
            eventually(lambda: process_state(session.process.pid)[0] == "T", "a stop")
            send_line(shell)
            shell.lines.until("ended")
            session.process.send_signal(signal.SIGCONT)
            report = session.finish()
    assert len(report["processes"]) == 2, brief(report["processes"])
    assert report["coverage"]["lost"] == {"attached-late": 1}, report["coverage"]


@test(need_root, need_program("strace"))
def each_of_many_files_is_opened_once():
    """More than are opened before the first is read: trace/live/code/open_ahead.h."""
    libraries = 100
    with scratch() as folder:
        crowding = [target("crowding"), "0", "0"]
        with with_many_libraries(folder, libraries, crowding) as process:
            assert process.lines.next() == "ready"
            calls = os.path.join(folder, "calls")
            done = run(["strace", "-f", "-o", calls, "-e", "trace=openat", memtraced(), "-p",
                        str(process.pid), "-d", "1", "-f", "json"])
            assert done.returncode == 0, done.stderr
            with open(f"/proc/{process.pid}/maps", encoding="utf-8") as file:
                ours = {line.split()[0].lstrip("0") for line in file
                        if "/many" in line and " r-xp " in line}
            assert len(ours) == libraries, len(ours)
        with open(calls, encoding="utf-8") as file:
            opened = re.findall(r'"/proc/[0-9]+/map_files/([0-9a-f-]+)"', file.read())
        times = {name: opened.count(name) for name in ours}
        assert set(times.values()) == {1}, sorted(times.values())


LOADER = """
import ctypes, sys
for part in range(2):
    for path in sys.argv[1 + part::2]:
        assert ctypes.CDLL(path).leak_from_a
    print("loaded", flush=True)
    sys.stdin.readline()
"""


def bytes_read(pid):
    with open(f"/proc/{pid}/io", encoding="ascii") as file:
        return int(file.readline().split()[1])


@test(need_root)
def the_list_of_mappings_is_not_read_for_each_library():
    """It grows with each. What the processes that open and read have read says how often."""
    libraries = scaled(400, 4000)
    with scratch() as folder:
        paths = [os.path.join(folder, f"many{i}.so") for i in range(libraries)]
        for path in paths:
            shutil.copy(target("libplug_a.so"), path)
        report = os.path.join(folder, "report.json")
        with started([memtraced(), "-q", "-o", f"json:{report}", "--", sys.executable, "-c", LOADER,
                      *paths]) as process:
            read = []
            for _ in range(2):
                process.lines.until("loaded")
                pids = [pid for pid, name in descendants(process.pid).items()
                        if name == "memtraced-open"]
                read.append(sum(bytes_read(pid) for pid in pids))
                send_line(process)
            assert process.wait(60) == 0
        report = load_report(report)
        exact(report)
        assert not report["coverage"]["lost"], report["coverage"]
        assert read[1] - read[0] < libraries // 2 * 4096, read


@contextlib.contextmanager
def of_name(name, *commands):
    """Copies of a target that are called so, each with these words."""
    with scratch() as folder, contextlib.ExitStack() as stack:
        path = os.path.join(folder, name)
        shutil.copy(target("leak"), path)
        processes = [stack.enter_context(started([path, *words])) for words in commands]
        for process in processes:
            process.lines.until("ready")
        yield processes


def traced(done):
    assert done.returncode == 0, done.stderr
    return {process["pid"] for process in json.loads(done.stdout)["processes"]}


BRIEFLY = ("-d", "0.1", "-f", "json")


@test(need_root)
def a_process_is_found_by_its_name():
    name = f"named-{os.getpid()}"
    with of_name(name, ["0", "500"]) as (process,):
        assert traced(run_memtraced("-p", name, *BRIEFLY)) == {process.pid}
    # The kernel keeps 15 bytes of a name; that of the file is whole.
    with of_name(name + "-of-a-long-name", ["0", "500"]) as (process,):
        assert traced(run_memtraced("-p", name + "-of-a-long-name", *BRIEFLY)) == {process.pid}
        refused(run_memtraced("-p", name + "-of", *BRIEFLY), 2, "no process has this name", "ps -e")


@test(need_root)
def several_of_a_name_are_listed():
    name = f"named-{os.getpid()}"
    with of_name(name, ["0", "500"], ["0", "501"]) as processes:
        pids = [str(process.pid) for process in processes]
        refused(run_memtraced("-p", name), 2, "2 processes have this name", *pids, "0 501")
        for words in (["-p", "\n".join(pids)], ["-p", " ".join(pids)], ["-p", ",".join(pids)],
                      ["-p", *pids], ["-p", pids[0], "-d", "0.1", pids[1]]):
            assert traced(run_memtraced(*words, *BRIEFLY)) == {p.pid for p in processes}, words


@test(need_root)
def of_a_process_and_its_children_the_parent_is_meant():
    """A shell by another name, whose child has that name as well."""
    name = f"named-{os.getpid()}"
    with scratch() as folder:
        path = os.path.join(folder, name)
        shutil.copy("/bin/sh", path)
        with started([path, "-c", f"{path} -c 'echo $$; read line; :'; read line"]) as shell:
            child = int(shell.lines.next())
            assert traced(run_memtraced("-p", name, *BRIEFLY)) == {shell.pid, child}
            refused(run_memtraced("-p", name, "--no-follow"), 2, "2 processes have this name")
