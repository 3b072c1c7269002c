# SPDX-License-Identifier: GPL-2.0-or-later
"""--hist: every bucket holds what the target has counted itself, whoever makes the calls and
whatever interrupts them."""

import collections
import os
import select
import signal
import time

from hists import Tallies, calls, held, one, options, ready, same, until_ready, watching
from lib import eventually, need_root, process_state, scaled, send_line, started, target, test
from states import is_blocked

BESIDE_OTHERS = True
# --- values ------------------------------------------------------------------------------------

VALUE_SPECS = ["lseek", "lseek:offset", "lseek:offset,lin=-150-150/1", "lseek,lin=-40-1000/26",
               "lseek:offset,lin=-100--50/5", "lseek:offset,lin=33-1057/1",
               "lseek:offset,by=pid", "lseek,by=comm,lin=0-64/8", "lseek:fd",
               "getpriority:who", "getpriority:who,lin=-32768-65536/32768", "getpriority",
               "fchmodat:mode", "fchmodat:mode,lin=0-65536/64", "fchmodat"]


@test(need_root, every_kernel=True)
def every_bucket_of_results_and_arguments():
    report, tallies = calls("values", 3, specs=VALUE_SPECS)
    same(report, tallies, *VALUE_SPECS)
    for spec in ("lseek", "getpriority", "fchmodat"):
        assert one(report, spec)["errors"] == tallies.errors(spec), one(report, spec)["errors"]
        assert one(report, spec)["restarted"] == 0
    events = sum(histogram["count"] for histogram in report["histograms"])
    assert report["coverage"]["events"] == events, report["coverage"]


@test(need_root)
def latencies_are_as_many_as_calls():
    report, tallies = calls("values", 3, specs=["lseek:ns", "lseek:ns,by=pid", "lseek:ns,by=comm"])
    for spec in ("lseek:ns", "lseek:ns,by=pid", "lseek:ns,by=comm"):
        histogram = one(report, spec)
        assert histogram["count"] == tallies.total("lseek"), (spec, histogram["count"])
        assert histogram["unit"] == "ns" and histogram["buckets"][0]["lo"] > 0, histogram
    assert report["coverage"]["exact"], report["coverage"]


@test(need_root, first=True)
def beside_allocations():
    specs = ["lseek", "lseek:offset,lin=-150-150/1"]
    report, tallies = calls("values", 3, specs=specs, more=["--alloc"])
    same(report, tallies, *specs)


MASS_SPECS = ["lseek", "lseek:offset,lin=0-512/1", "lseek,by=comm",
              "lseek:offset,by=pid,lin=0-512/64", "lseek:ns"]


@test(need_root, timeout=100)
def eight_threads():
    calls_made = scaled(100000, 10000000)
    report, tallies = calls("threads", calls_made, specs=MASS_SPECS, timeout=1500)
    same(report, tallies, *MASS_SPECS[:-1])
    assert tallies.total("lseek") == calls_made
    assert one(report, "lseek:ns")["count"] == calls_made, one(report, "lseek:ns")["count"]


@test(need_root, each=["eight", "storm"], in_turn=1)
def values_of_calls_that_are_made_before_the_attach_are_not_there(how):
    words = ("threads", 80000) if how == "eight" else ("storm-restarted", 60)
    channel = "lseek" if how == "eight" else "read"
    with held(*words) as process:
        with watching(f"--hist={channel}", "-p", str(ready(process))) as watch:
            send_line(process)
            tallies = Tallies(until_ready(process))
            report = watch.finish()
        with watching(f"--hist={channel}", "-p", str(process.pid)) as watch:
            assert watch.finish()["histograms"][0]["count"] == 0
    same(report, tallies, channel)


# --- processes ---------------------------------------------------------------------------------

CHILD_SPECS = ["lseek", "lseek,by=pid", "lseek:offset,by=comm", "lseek:offset,by=pid,lin=0-900/30"]


@test(need_root)
def children_of_every_kind():
    report, tallies = calls("children", 5, specs=CHILD_SPECS)
    assert len(tallies.of("lseek,by=pid")) == 5
    same(report, tallies, *CHILD_SPECS)


@test(need_root)
def children_of_an_attached_process():
    with held("children", 5) as process:
        with watching(*options(CHILD_SPECS), "-p", str(ready(process))) as watch:
            send_line(process)
            tallies = Tallies(until_ready(process))
            report = watch.finish()
    same(report, tallies, *CHILD_SPECS)


@test(need_root, each=["-c", "-p"], in_turn=1)
def children_that_are_not_followed(how):
    """A child of vfork is its parent's until its exec: it borrows the parent's memory."""
    if how == "-p":
        with held("children", 5) as process:
            with watching(*options(CHILD_SPECS), "--no-follow", "-p",
                          str(ready(process))) as watch:
                send_line(process)
                tallies = Tallies(until_ready(process))
                report = watch.finish()
    else:
        report, tallies = calls("children", 5, specs=CHILD_SPECS, more=["--no-follow"])
    sizes = collections.Counter()
    for pid, comm, channel, _, count in tallies.rows:
        if channel == "lseek" and comm == "calls":
            sizes[pid] += count
    mine = {pid for pid, count in sizes.items() if count in (6 + 3, 35)}
    assert len(mine) == 2 and len(sizes) == 3, sizes
    same(report, tallies, *CHILD_SPECS, keep=lambda child, comm: child in mine and comm == "calls")


@test(need_root, timeout=90, every_kernel=True)
def many_short_children():
    report, tallies = calls("family", scaled(400, 20000), specs=["lseek", "lseek,by=comm"],
                            timeout=1500)
    same(report, tallies, "lseek", "lseek,by=comm")


@test(need_root)
def several_processes_at_once():
    with held("seeks", 40) as first, held("seeks", 70) as second, held("seeks", 90) as other:
        pids = [ready(process) for process in (first, second)]
        ready(other)
        with watching("--hist=lseek,by=pid", "-p", ",".join(map(str, pids))) as watch:
            texts = []
            for process in (first, second, other):
                send_line(process)
                texts.append(until_ready(process))
            report = watch.finish()
    same(report, Tallies("\n".join(texts)), "lseek,by=pid", keep=lambda pid, comm: pid in pids)


@test(need_root, each=["execs", "thread-execs"], in_turn=1)
def execve(how):
    """The trace begins within the one that starts the command: it has a result and no time."""
    specs = ["execve", "execve:ns", "lseek", "lseek,by=comm"]
    report, tallies = calls(how, 6, specs=specs)
    same(report, tallies, "lseek", "lseek,by=comm")
    got = one(report, "execve")
    assert got["errors"] == tallies.errors("execve"), got
    assert one(report, "execve:ns")["count"] == tallies.total("execve"), one(report, "execve:ns")
    tallies.rows.append((0, "memtraced", "execve", 0, 1))
    same(report, tallies, "execve")


# --- signals -----------------------------------------------------------------------------------

STORM_SPECS = ["read", "read:count", "read,by=pid"]


@test(need_root, each=["storm-restarted", "storm-interrupted"], in_turn=1)
def a_storm_of_signals_over_blocking_reads(how):
    with held(how, 150) as process:
        with watching(*options(STORM_SPECS), "--hist=read:ns", "-p", str(ready(process))) as watch:
            send_line(process)
            tallies = Tallies(until_ready(process))
            report = watch.finish()
    same(report, tallies, *STORM_SPECS)
    got = one(report, "read")
    assert got["errors"] == tallies.errors("read"), (got["errors"], tallies.errors("read"))
    assert one(report, "read:ns")["count"] == tallies.total("read")
    restarted = [histogram["restarted"] for histogram in report["histograms"]]
    assert len(set(restarted)) == 1, f"the same calls, but restarted: {restarted}"
    if how == "storm-restarted":
        assert min(restarted) > 50, f"restarted: {restarted}"
    else:
        assert max(restarted) == 0 and got["errors"]["EINTR"] > 50, (restarted, got["errors"])


@test(need_root)
def restarts_are_those_of_their_group():
    with held("storm-restarted", 60) as stormy, held("in-flight", 30) as calm:
        pids = [ready(process) for process in (stormy, calm)]
        with watching("--hist=read", "--hist=read,by=pid", "-p", f"{pids[0]},{pids[1]}") as watch:
            send_line(calm)
            assert ready(calm) == pids[1]
            texts = []
            for process in (stormy, calm):
                send_line(process)
                texts.append(until_ready(process))
            report = watch.finish()
    same(report, Tallies("\n".join(texts)), "read", "read,by=pid")
    restarted = {histogram["key"]: histogram["restarted"] for histogram in report["histograms"]}
    assert restarted[None] == restarted[str(pids[0])] > 20 and restarted[str(pids[1])] == 0, \
        restarted


# arm64 has no poll.
POLL = os.uname().machine == "x86_64"
SLEEPS = ["nanosleep", "clock_nanosleep", "futex", "futex:val"]
SLEEPS += ["poll", "poll:timeout_msecs"] if POLL else []
SLEEPS_NS = ["nanosleep:ns", "clock_nanosleep:ns", "futex:ns"] + (["poll:ns"] if POLL else [])


def same_sleeps(report, tallies):
    same(report, tallies, *SLEEPS)
    for spec in SLEEPS:
        if ":" not in spec:
            assert one(report, spec)["errors"] == tallies.errors(spec), one(report, spec)
    for spec in SLEEPS_NS:
        count = one(report, spec)["count"]
        assert count == tallies.total(spec.split(":")[0]), f"{spec}: {count}"


@test(need_root, each=["sleeps", "sleeps-interrupted", "sleeps-restarted"], in_turn=1,
      every_kernel=["sleeps-restarted"])
def sleeps(how):
    report, tallies = calls(how, 60, specs=SLEEPS + SLEEPS_NS)
    same_sleeps(report, tallies)


@test(need_root)
def sleeps_that_are_stopped_and_go_on():
    """SIGSTOP and SIGCONT make restart_syscall go on with them: one call all the same."""
    with held("sleeps", 600) as process:
        with watching(*options(SLEEPS + SLEEPS_NS), "-p", str(ready(process))) as watch:
            send_line(process)
            for _ in range(200):
                if select.select([process.lines.fd], [], [], 0)[0]:
                    break  # it has slept enough, and tells what it has counted
                process.send_signal(signal.SIGSTOP)
                eventually(lambda: process_state(process.pid)[0] in "Tt", "not stopped")
                process.send_signal(signal.SIGCONT)
                time.sleep(0.003)
            tallies = Tallies(until_ready(process))
            report = watch.finish()
    same_sleeps(report, tallies)
    restarted = {spec: one(report, spec)["restarted"] for spec in SLEEPS}
    assert sum(restarted.values()) > 50, f"hardly a call was stopped: {restarted}"


@test(need_root, each=["read", "nanosleep"], in_turn=1)
def a_handler_ends_a_sleep_that_was_stopped(observed):
    """restart_syscall goes on with it; the reads before, that began anew, have long ended."""
    with held("storm-and-sleeps", 8) as process:
        with watching(f"--hist={observed}", "-p", str(ready(process))) as watch:
            send_line(process)
            process.lines.until("asleep")
            for _ in range(6):
                time.sleep(0.05)
                for sig in (signal.SIGSTOP, signal.SIGCONT, signal.SIGALRM):
                    process.send_signal(sig)
                    time.sleep(0.03)
            tallies = Tallies(until_ready(process))
            report = watch.finish()
    assert tallies.errors("nanosleep")["EINTR"] > 0, tallies.rows
    same(report, tallies, observed)
    assert one(report, observed)["errors"] == tallies.errors(observed), one(report, observed)


@test(need_root)
def a_call_in_flight_at_the_attach_has_a_result_and_no_latency():
    specs = ["read", "read:ns", "read:count"]
    with started([target("calls"), "in-flight", "5"]) as process:
        pid = ready(process)
        eventually(lambda: is_blocked(pid), "not blocked")
        with watching(*options(specs), "-p", str(pid)) as watch:
            send_line(process)
            process.stdin.close()
            lines = []
            while (line := process.lines.next()) is not None:
                lines.append(line)
            report = watch.finish(sig=None)
    same(report, Tallies("\n".join(lines)), "read")
    assert one(report, "read:ns")["count"] == 5, one(report, "read:ns")
    assert one(report, "read:count")["count"] == 5, one(report, "read:count")
