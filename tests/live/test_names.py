# SPDX-License-Identifier: GPL-2.0-or-later
"""Names of processes: those that they have set themselves, in whichever way they are traced."""

import json
import os
import signal
import sys

from lib import load_report, memtraced, need_root, need_sampling, run_memtraced, scratch, \
    send_line, started, test

BESIDE_OTHERS = True
JOBS = {"allocations": [], "syscalls": ["--syscalls"], "event": ["-e", "clock_nanosleep"],
        "cpu": ["--cpu"], "page faults": ["--page-faults"]}

WORK = """
import os, sys, time

def work(name):
    with open("/proc/self/comm", "wb") as comm:
        comm.write(name)
    time.sleep(0.001)
    end = time.process_time() + 0.03
    while time.process_time() < end:
        kept = bytearray(100000)
"""

# A child is forked by what has the name of then.
FORKS = WORK + """
work(b"parent;a b")
if os.fork() == 0:
    work(b"the child")
    os._exit(0)
os.wait()
work(b"parent;last")
"""

WAITS = WORK + """
print("ready", flush=True)
sys.stdin.readline()
work(b"renamed")
print("renamed", flush=True)
sys.stdin.readline()
"""


def names(report, job):
    """Of processes and of whatever names one beside."""
    pids = {process["pid"]: process["comm"] for process in report["processes"]}
    others = [(calls["pid"], calls["comm"]) for calls in report["syscalls"]]
    others += [(stack["pid"], stack["comm"]) for event in report["events"]
               for stack in event["stacks"]]
    for pid, comm in others:
        assert pids.setdefault(pid, comm) == comm, f"{job}: {pid} is {pids[pid]} and {comm}"
    return sorted(pids.values())


@test(need_root, need_sampling, each=JOBS, in_turn=2)
def a_process_has_the_name_that_it_has_set_last(job):
    with scratch() as folder:
        path = os.path.join(folder, "report.json")
        done = run_memtraced(*JOBS[job], "-o", f"json:{path}", "--", sys.executable, "-c", FORKS)
        assert done.returncode == 0, done.stderr
        report = load_report(path, allocations=job == "allocations")
    assert names(report, job) == ["parent;last", "the child"], names(report, job)


@test(need_root, need_sampling, each=JOBS, in_turn=2)
def a_process_that_runs_on_has_the_name_that_it_has_now(job):
    with started([sys.executable, "-c", WAITS]) as process:
        process.lines.until("ready")
        command = [memtraced(), *JOBS[job], "-p", str(process.pid), "-f", "json", "-i", "0.2"]
        with started(command) as tracer:
            assert tracer.lines.next() is not None
            send_line(process)
            process.lines.until("renamed")
            tracer.send_signal(signal.SIGINT)
            last = None
            while (line := tracer.lines.next()) is not None:
                last = line
            assert tracer.wait(30) == 0
    assert names(json.loads(last), job) == ["renamed"], names(json.loads(last), job)
