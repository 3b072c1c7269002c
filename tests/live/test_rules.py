# SPDX-License-Identifier: GPL-2.0-or-later
"""Rules of --service: what they see, whom they have traced, and what is said of it."""

import contextlib
import os
import re
import shutil
import signal

import lib
import schema
from lib import (eventually, exact, need_root, refused, resident, run_memtraced, scratch, send_line,
                 started, target, test)
from test_ctl import ctl
from test_service import service, until_traced
from test_watch import GROWING, MIB, fake_cgroups, growing, pressure, put, swept


WATCH = "[watch]\ninterval = 1s\n"
# A name that no other test's target has, beside which this may run.
LEAK = f"leak-{os.getpid()}"


@contextlib.contextmanager
def leaking(wait_us=100):
    with scratch() as folder:
        program = os.path.join(folder, LEAK)
        shutil.copy(target("leak"), program)
        with started([program, "0", str(wait_us)]) as process:
            assert int(process.lines.until("ready")) == process.pid
            yield process


def grow(process, mib):
    for _ in range(mib):
        send_line(process)


def report_of(served, folder, pid, comm, rule):
    """The report that the log says was written, and nothing but what it holds."""
    said = served.said.until(f"memtraced: process {pid} ({comm}): report ", timeout=60)
    name = re.fullmatch(rf"(trace-\S+-{pid}-\S+\.json), for rule {rule}", said).group(1)
    assert name in ctl(served, "reports")
    with open(os.path.join(folder, "state", name), encoding="utf-8") as file:
        report = schema.load(file)
    assert [process["pid"] for process in report["processes"]] == [pid], lib.brief(report)
    return report


@test(need_root, timeout=90, alone=True)
def a_process_that_grows_is_traced_and_one_that_does_not_is_not():
    rule = f"""[rule leak]
when = rss_slope > 1MiB/min for 5s
comm = [l]{LEAK[1:]}
uid = root
trace = 2s
format = json
"""
    with scratch() as folder, leaking(wait_us=1000000) as quiet, leaking() as process, \
            service(folder, trace=WATCH + rule) as served:
        served.said.until("memtraced: rule leak: rss_slope > 1MiB/min for 5s: process "
                          f"{process.pid} ({LEAK}) is traced for 2 s", timeout=40)
        assert f"heap of process {process.pid} ({LEAK}): for " in ctl(served, "status")
        report = report_of(served, folder, process.pid, LEAK, "leak")
        exact(report)
        frames = [frame["function"] for frame in report["processes"][0]["sites"][0]["frames"]]
        assert "leak_one" in frames, frames
        for _ in range(2):
            swept(served)
        # Once: the process is left alone for an hour now. The quiet one is of the rule, too.
        assert served.metric("memtraced_rule_fired_total", rule="leak") == 1
        assert served.metric("memtraced_rule_refused_total", rule="leak") == 0
        assert served.metric("memtraced_traces_total") == 1
        said = ctl(served, "status")
        assert re.search(r"^rule leak: rss_slope > 1MiB/min for 5s: fired 1 times, the last time "
                         rf"\S+ \S+ ago for process {process.pid} \({LEAK}\); 0 traces of it run$",
                         said, re.M), said
        assert quiet.poll() is None


@test(need_root, timeout=90)
def resident_memory_must_be_above_for_its_time():
    with scratch() as folder, growing() as process:
        rule = f"""[rule large]
when = rss > {resident(process.pid) + 16 * MIB} for 2s
comm = {GROWING}
trace = 1s
format = json
"""
        with service(folder, trace=WATCH + rule) as served:
            swept(served)
            swept(served)
            assert served.metric("memtraced_rule_fired_total", rule="large") == 0, \
                ctl(served, "status")
            grow(process, 32)
            report_of(served, folder, process.pid, GROWING, "large")
            assert served.metric("memtraced_rule_fired_total", rule="large") == 1, \
                ctl(served, "status")


@test(need_root, each=["memory.pressure > 20%", "memory.current > 90% of max",
                       "memory.current > 15000"], in_turn=1, timeout=90)
def of_a_cgroup_the_largest_process_is_traced_when(condition):
    rule = f"""[rule tight]
when = {condition}
cgroup = /ap*
trace = 1s
format = json
"""
    with scratch() as folder, fake_cgroups(folder) as root, growing() as large, \
            leaking(1000) as small, \
            service(folder, trace=f"{WATCH}cgroup_root = {root}\n{rule}") as served:
        grow(large, 8)
        put(f"{root}/app", cgroup_procs=small.pid)
        put(f"{root}/app/one two", cgroup_procs=large.pid)
        put(f"{root}/other", cgroup_procs=small.pid, memory_current=9999999, memory_max=10000000,
            memory_pressure=pressure("99.00"))
        swept(served)
        assert served.metric("memtraced_rule_fired_total", rule="tight") == 0
        put(f"{root}/app", memory_current=15001, memory_pressure=pressure("20.01"))
        report_of(served, folder, large.pid, GROWING, "tight")
        swept(served)
        assert served.metric("memtraced_rule_fired_total", rule="tight") == 1


@test(need_root, timeout=90)
def a_process_is_chosen_by_its_cgroup():
    with scratch() as folder, leaking(1000) as process:
        with open(f"/proc/{process.pid}/cgroup", encoding="ascii") as file:
            rows = [line.strip().split(":", 2) for line in file]
        paths = {path for _, names, path in rows if names in ("", "memory")}
        rules = "".join(f"[rule in{i}]\nwhen = rss > 1\ncomm = {LEAK}\ncgroup = {path}\n"
                        "trace = 1s\nformat = json\n" for i, path in enumerate(sorted(paths)))
        rules += (f"[rule out]\nwhen = rss > 1\ncomm = {LEAK}\ncgroup = /no/such/*\n"
                  f"[rule nobody]\nwhen = rss > 1\ncomm = {LEAK}\nuid = nobody\n")
        with service(folder, trace=WATCH + rules) as served:
            served.said.until(f"memtraced: process {process.pid} ({LEAK}): report ", timeout=60)
            swept(served)
            assert served.metric("memtraced_rule_fired_total", rule="out") == 0
            assert served.metric("memtraced_rule_fired_total", rule="nobody") == 0


@test(need_root, timeout=90)
def at_most_so_many_are_traced_at_once():
    rule = f"""[rule large]
when = rss > 1
comm = {LEAK}
trace = 1s
format = folded
max_at_once = 1
"""
    with scratch() as folder, leaking(1000) as first, leaking(1000) as second, \
            service(folder, trace=WATCH + rule) as served:
        def both():
            assert served.metric("memtraced_rule_traces_running", rule="large") <= 1
            return served.metric("memtraced_rule_fired_total", rule="large") == 2
        eventually(both, "the second one's turn", timeout=40)
        until_traced(served, 0)
        names = ctl(served, "reports")
        assert all(f"-{process.pid}-{LEAK}.folded" in names for process in (first, second)), names


@test(need_root, timeout=60)
def what_cannot_be_traced_is_said_once():
    rules = "".join(f"[rule {name}]\nwhen = rss > 1\ncomm = {comm}\ntrace = 10m\n"
                    for name, comm in (("first", LEAK), ("second", GROWING)))
    with scratch() as folder, leaking(1000), growing() as process, \
            service(folder, trace=f"max_traces = 1\n{WATCH}{rules}") as served:
        # The first one holds its place before it has begun to trace.
        served.said.until(f"memtraced: rule second: process {process.pid}: trace limit reached "
                          "([trace] max_traces)")
        served.said.until("memtraced: rule first: rss > 1: process ")
        sweeps = served.metric("memtraced_watch_sweeps_total")
        for _ in range(4):
            swept(served)
        refused_ = served.metric("memtraced_rule_refused_total", rule="second")
        sweeps = served.metric("memtraced_watch_sweeps_total") - sweeps
        # Not at each sweep; on a busy machine one that comes late begins anew.
        assert 1 <= refused_ < sweeps / 2, (refused_, sweeps)
        assert served.metric("memtraced_rule_fired_total", rule="second") == 0
        status = ctl(served, "status")
        assert f"fired 0 times, {refused_} times it could not; 0 traces of it run" in status, status


@test(need_root, timeout=60)
def a_new_configuration_leaves_the_traces_of_old_rules():
    rule = f"[rule {{}}]\nwhen = rss > 1\ncomm = {LEAK}\ntrace = 10m\nformat = json\n"
    with scratch() as folder, leaking(1000) as process, \
            service(folder, trace=WATCH + rule.format("old")) as served:
        served.said.until("memtraced: rule old: rss > 1: process ")
        path = os.path.join(folder, "memtraced.conf")
        with open(path, encoding="ascii") as file:
            text = file.read()
        with open(path, "w", encoding="ascii") as file:
            file.write(text.replace(rule.format("old"), rule.format("new").replace("> 1", "> 1T")))
        served.process.send_signal(signal.SIGHUP)
        served.said.until("memtraced: configuration reloaded")
        assert served.metric("memtraced_traces_running") == 1
        status = ctl(served, "status")
        assert "rule new: rss > 1T: fired 0 times" in status and "rule old" not in status, status
        with open(path, "a", encoding="ascii") as file:
            file.write("[rule bad]\nwhen = rsss > 1\n")
        served.process.send_signal(signal.SIGHUP)
        served.said.until(f"memtraced: {path}:")
        served.said.until("memtraced: the old configuration stays in use")
        assert "rule new: rss > 1T: fired 0 times" in ctl(served, "status")
        process.kill()
        report_of(served, folder, process.pid, LEAK, "old")


@test(need_root, each=["format = htmll|unknown format 'htmll'; did you mean 'html'?",
                       "uid = nosuchuser|there is no user 'nosuchuser'",
                       "whe = rss > 2|unknown key '[rule] whe'; did you mean '[rule] when'?",
                       "comm = |'comm' has no value"])
def what_a_rule_has_wrong_is_refused_with_its_line(case):
    line, message = case.split("|")
    with scratch() as folder:
        path = os.path.join(folder, "memtraced.conf")
        with open(path, "w", encoding="ascii") as file:
            file.write(f"[rule a]\nwhen = rss > 1\n{line}\n")
        refused(run_memtraced("--service", f"--config={path}"), 1, f"{path}:3: {message}")
