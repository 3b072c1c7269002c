# SPDX-License-Identifier: GPL-2.0-or-later
"""[trace] max_overhead of --service: who is traced for how long, and that reports say so."""

import contextlib
import os
import re
import subprocess
import sys

import lib
import schema
from lib import (Skip, breakpoints, eventually, exact, need_root, refused, run_memtraced, same,
                 scratch, send_line, started, target, test)
from test_attach import counted, one, since, started_target, work
from test_ctl import ctl
from test_service import service, until_traced

BESIDE_OTHERS = "services"

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "replay"))

import pprof_wire  # noqa: E402

ASKED_NS = 20 * 10 ** 9


@contextlib.contextmanager
def fast():
    """Allocates as fast as it can."""
    with started([target("leak"), "0", "0"], stdout=subprocess.DEVNULL) as process:
        yield process


def json_of(served, folder, name):
    eventually(lambda: name in ctl(served, "reports"), "the report", timeout=60)
    with open(os.path.join(folder, "state", name), encoding="utf-8") as file:
        return schema.load(file)


@test(need_root, timeout=90)
def who_allocates_too_fast_is_not_traced_to_the_end():
    with scratch() as folder, fast() as process, \
            service(folder, trace="max_overhead = 1%") as served:
        said = ctl(served, "trace", str(process.pid), "--for=20s", "--format=json")
        served.said.until(f"memtraced: process {process.pid} (leak): tracing ends early, budget of "
                          "its traces exhausted ([trace] max_overhead): ", timeout=60)
        report = json_of(served, folder, said.split()[-1])
        until_traced(served, 0)
        coverage, budget = report["coverage"], report["coverage"]["budget"]
        assert not coverage["exact"], coverage
        assert set(coverage["lost"]) == {"untraced-ms-by-budget"}, coverage["lost"]
        assert 0 < budget["untraced_ns"] < ASKED_NS, budget
        assert coverage["lost"]["untraced-ms-by-budget"] == -(-budget["untraced_ns"] // 10 ** 6)
        # The share that was used is what was allowed, and more: it is looked at now and then.
        assert budget["max_ppm"] == 10000 and budget["used_ppm"] > 10000, budget
        assert budget["predicted_ppm"] > budget["max_ppm"], budget
        assert report["processes"][0]["alloc"]["allocs"] > 0, lib.brief(report["processes"])
        # Nobody pays any more, and nobody can have it go on at once.
        eventually(lambda: breakpoints(process.pid) == 0, "the probes are gone", timeout=20)
        why = f"tracing budget of process {process.pid} ([trace] max_overhead) exhausted for"
        refused(run_memtraced("ctl", f"--socket={served.path}", "trace", str(process.pid)), 2, why)
        assert why in served.text(f"/debug/pprof/heap?pid={process.pid}&seconds=1", status=503)
        assert served.metric("memtraced_traces_stopped_by_budget_total") == 1
        assert served.metric("memtraced_traces_refused_by_budget_total") == 2
        assert served.metric("memtraced_overhead_max_ppm") == 10000
        assert served.metric("memtraced_overhead_ppm") > 0
        status = ctl(served, "status")
        assert "at most 1.00 %" in status, status
        assert "for that 1 traces ended early, 2 were refused" in status, status
        assert process.poll() is None


@test(need_root, timeout=60)
def who_waits_over_http_is_answered_with_what_there_is():
    with scratch() as folder, fast() as process, \
            service(folder, trace="max_overhead = 0.5%") as served:
        report = schema.loads(served.text(f"/debug/pprof/heap?pid={process.pid}&seconds=60"
                                        "&format=json"))
        assert report["coverage"]["budget"]["untraced_ns"] > 0, report["coverage"]
        assert not report["coverage"]["exact"], report["coverage"]


@test(need_root, timeout=60)
def a_profile_says_what_it_has_cost_and_what_was_not_seen():
    with scratch() as folder, fast() as process, \
            service(folder, trace="max_overhead = 0.5%") as served:
        status, _, body = served.ask(f"/debug/pprof/heap?pid={process.pid}&seconds=60")
        assert status == 200, body[:500]
        profile = pprof_wire.read(body)
        said = [profile["string_table"][number] for number in profile["comment"]]
        line, = [line for line in said if line.startswith("budget: ")]
        assert re.fullmatch(r"budget: probes used \d+\.\d\d % of a CPU's time \(estimated\), "
                            r"\d+\.\d\d % if it had gone on; allowed: 0\.50 %; so it was "
                            r"NOT TRACED for the last .*s", line), line
        assert any(line.startswith("lost: untraced-ms-by-budget ") for line in said), said


@test(need_root, timeout=60)
def who_allocates_little_is_traced_to_the_end_and_exactly():
    with scratch() as folder, scratch() as counts, service(folder, trace="max_overhead = 90%") \
            as served, started_target(counts) as process:
        pid = int(process.lines.until("ready"))
        call = re.search(r"^memtraced_probe_call_seconds (0\.0\d+)$", served.text("/metrics"), re.M)
        assert float(call.group(1)) > 0
        before = counted(counts, pid)
        said = ctl(served, "trace", str(pid), "--for=10s", "--format=json")
        assert "; probes take " in ctl(served, "status")
        work(process)
        own = since(counts, pid, before)
        report = json_of(served, folder, said.split()[-1])
        exact(report)
        same(one(report, pid), own)
        budget = report["coverage"]["budget"]
        assert budget["untraced_ns"] == 0 and budget["max_ppm"] == 900000, budget
        assert 0 < budget["used_ppm"] < 900000, budget
        assert served.metric("memtraced_traces_stopped_by_budget_total") == 0
        send_line(process)
        process.lines.until("done")


@test(need_root, timeout=120)
def all_together_have_a_limit_too():
    cpus = os.cpu_count()
    if cpus > 3:
        raise Skip(f"it takes {cpus + 1} traces to use up the limit of {cpus} CPUs")
    with scratch() as folder, contextlib.ExitStack() as stack:
        pids = [stack.enter_context(fast()).pid for _ in range(cpus + 1)]
        served = stack.enter_context(service(folder, trace="max_overhead = 1%"))
        for pid in pids:
            ctl(served, "trace", str(pid), "--for=30s", "--format=json")
        # Each may have 1 % of a CPU, and all of them 1 % of the host's.
        while "budget of all traces together exhausted" not in served.said.next(timeout=60):
            pass
        until_traced(served, 0)
        quiet = stack.enter_context(started([target("leak"), "0", "100000"]))
        quiet.lines.until("ready")
        refused(run_memtraced("ctl", f"--socket={served.path}", "trace", str(quiet.pid)), 2,
                "tracing budget of all traces ([trace] max_overhead) exhausted")
