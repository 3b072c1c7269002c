# SPDX-License-Identifier: GPL-2.0-or-later
"""What counting all calls costs is said: in each report, and at once where it is much. Of -p it is
limited, if nobody has said otherwise."""

import contextlib
import os
import re
import subprocess

from cgroups import cgroup, move
from lib import (ALL_CALLS, Lines, exact, load_report, memtraced, need_probes, need_program,
                 need_root, run_memtraced, scratch, send_line, started, target, test)
from test_tui import PROMPT, start, terminal

WARNING = r"memtraced: \S+( k| M)? calls/s; counting took .*; --max-overhead=5% bounds that"


@contextlib.contextmanager
def waves():
    with started([target("waves")]) as process:
        process.pid_said = int(process.lines.until("ready "))
        yield process


def do(process, line):
    send_line(process, line)
    process.lines.until("done ", timeout=90)


@test(need_root)
def of_a_busy_process_it_is_said_at_once_and_in_the_report():
    with scratch() as folder, waves() as process:
        path = os.path.join(folder, "json")
        command = [memtraced(), ALL_CALLS, "-p", str(process.pid_said), "-i", "1s", "-o",
                   f"json:{path}", "-f", "table"]
        with started(command, stderr=subprocess.PIPE) as tracer:
            said = Lines(tracer.stderr)
            send_line(process, "busy 3000")
            line = said.next()
            assert re.fullmatch(WARNING, line), line
            process.lines.until("done ", timeout=90)
            tracer.terminate()
            table = " ".join(tracer.stdout.read().decode().split())
            assert tracer.wait(60) == 0
        # In the last report; a report at an interval has it as well.
        assert table.count(" cost: ") >= 2, table[-3000:]
        cost = load_report(path)["coverage"]["cost"]
        assert cost["measured_ns"] > 200000000 and cost["calls"] > 100000, cost
        assert cost["limit_ppm"] is None, cost
        assert 0.2 < cost["predicted_ns"] / cost["measured_ns"] < 5, cost


@test(need_root, need_probes("cost that is seen from outside"))
def of_a_command_it_is_said_in_the_report_alone():
    with scratch() as folder:
        path = os.path.join(folder, "json")
        with started([memtraced(), "-o", f"json:{path}", "--", target("waves")],
                     stderr=subprocess.PIPE) as process:
            process.lines.until("ready ")
            do(process, "busy 1500")
            process.stdin.close()
            assert process.wait(60) == 0
            said = process.stderr.read().decode()
        assert "calls/s" not in said, said
        cost = load_report(path)["coverage"]["cost"]
        assert cost["measured_ns"] and cost["own_cpu_ns"] is not None, cost


LIMITED = (r"memtraced: from now on only page faults are counted, not calls: all \S+( k| M)? "
           r"calls/s would take \d+ % of the CPU time that the processes use themselves, and the "
           r"limit is 20 %; --max-overhead=none counts them all")


def images_of(report, pid):
    """The oldest first."""
    return [process for process in report["processes"] if process["pid"] == pid][::-1]


@test(need_root)
def of_a_process_that_runs_the_cost_is_limited():
    with scratch() as folder, waves() as process:
        path = os.path.join(folder, "json")
        with started([memtraced(), "-p", str(process.pid_said), "-o", f"json:{path}", "-f",
                      "table"], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE) as tracer:
            said = Lines(tracer.stderr)
            send_line(process, "busy 3000")
            line = said.next()
            assert re.fullmatch(LIMITED, line), line
            process.lines.until("done ", timeout=90)
            do(process, "keep 2000 65536")
            tracer.terminate()
            table = " ".join(tracer.stdout.read().decode().split())
            assert tracer.wait(60) == 0
        report = load_report(path)
        first = images_of(report, process.pid_said)[0]
        assert first["depth"] == "exact" and first["end"]["depth_changed"], first["end"]
        assert report["coverage"]["overhead"]["max_ppm"] == 200000, report["coverage"]
        assert report["coverage"]["depths"][0]["depth"] == "growth", report["coverage"]["depths"]
        # Where memory grew meanwhile is known.
        assert [event["name"] for event in report["events"]] == ["page-faults"], report["events"]
        assert "the limit was 20 %: --max-overhead=none counts all calls" in table, table[-2000:]
        assert table.index(" heap: ") < table.index(" page-faults: "), table
        # Calls a second are of the time in which they were counted.
        cost = report["coverage"]["cost"]
        assert cost["counted_ns"] < cost["span_ns"] / 2, cost
        assert cost["limit_ppm"] == 200000, cost
        assert re.search(r" cost: \S+( [kM])? calls/s \(counted for [^;]*\); ", table), table


@test(need_root)
def of_a_quiet_process_all_is_counted_as_if_there_were_no_limit():
    with scratch() as folder, waves() as process:
        path = os.path.join(folder, "json")
        with started([memtraced(), "-p", str(process.pid_said), "-i", "0.2", "-f", "json"],
                     stdin=subprocess.DEVNULL) as tracer:
            tracer.lines.next()
            do(process, "keep 100 4096")
            do(process, "quiet 2500")
            tracer.terminate()
            *_, last = (line for line in iter(tracer.lines.next, None))
        with open(path, "w", encoding="utf-8") as file:
            file.write(last)
        report = load_report(path)
        exact(report)
        (image,) = images_of(report, process.pid_said)
        assert image["alloc"]["live_bytes"] == 100 * 4096, image["alloc"]
        assert "overhead" not in report["coverage"] and not report["events"], report["coverage"]
        assert report["coverage"]["cost"]["limit_ppm"] == 200000, report["coverage"]["cost"]


@test(need_root, each=["--max-overhead=none", "--free-stacks", "--heap-errors"])
def what_needs_all_calls_has_no_limit(option):
    with scratch() as folder, waves() as process:
        path = os.path.join(folder, "json")
        with started([memtraced(), option, "-q", "-p", str(process.pid_said), "-i", "0.2", "-o",
                      f"json:{path}", "-f", "table"], stdin=subprocess.DEVNULL) as tracer:
            tracer.lines.next()
            do(process, "busy 1500")
            tracer.terminate()
            tracer.stdout.read()
            assert tracer.wait(60) == 0
        report = load_report(path)
        exact(report)
        (image,) = images_of(report, process.pid_said)
        assert image["alloc"]["allocs"] > 10000, image["alloc"]


@test(need_root)
def of_a_quiet_process_nothing_is_warned_of():
    with scratch() as folder, waves() as process:
        path = os.path.join(folder, "json")
        with started([memtraced(), "-p", str(process.pid_said), "-d", "2s", "-o",
                      f"json:{path}"], stderr=subprocess.PIPE) as tracer:
            do(process, "quiet 2500")
            assert tracer.wait(60) == 0
            said = tracer.stderr.read().decode()
        assert "calls/s" not in said, said
        assert load_report(path)["coverage"]["cost"]["calls"] > 100


@test(need_root)
def of_a_host_it_is_a_share_of_one_cpu():
    with scratch() as folder, waves() as process:
        path = os.path.join(folder, "json")
        with started([memtraced(), ALL_CALLS, "-a", "-d", "2s", "-o", f"json:{path}"],
                     stderr=subprocess.PIPE) as tracer:
            do(process, "busy 2500")
            assert tracer.wait(60) == 0
        cost = load_report(path)["coverage"]["cost"]
        assert cost["own_cpu_ns"] is None and cost["measured_ns"] > 100000000, cost


WARNING_WIDELY = (r"memtraced: \S+( k| M)? calls/s; counting took ~\S+ (%|times) of the time of "
                  r"one CPU; --max-overhead=5% bounds that")


@test(need_root, each=["-a", "--uid=0", "--comm=waves", "--cgroup"])
def of_many_processes_it_is_said_at_once(wide):
    with contextlib.ExitStack() as stack:
        process = stack.enter_context(waves())
        options = [wide]
        if wide == "--cgroup":
            path, inner = stack.enter_context(cgroup())
            stack.callback(process.kill)
            move(process.pid, inner)
            options.append(path)
        with started([memtraced(), ALL_CALLS, *options, "-d", "4s"], stdin=subprocess.DEVNULL,
                     stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as tracer:
            do(process, "busy 5000")
            said = tracer.stderr.read().decode().splitlines()
            assert tracer.wait(60) == 0
        assert any(re.fullmatch(WARNING_WIDELY, line) for line in said), said


@test(need_root)
def what_processes_pay_that_are_not_counted_is_said():
    """Probes are in libc, and a process of another name runs into them all the time."""
    with scratch() as folder, waves() as process, started(["sleep", "60"]):
        path = os.path.join(folder, "json")
        with started([memtraced(), ALL_CALLS, "--comm=sleep", "-d", "4s", "-f", "table", "-o",
                      f"json:{path}"], stdin=subprocess.DEVNULL,
                     stderr=subprocess.PIPE) as tracer:
            do(process, "busy 5000")
            said = tracer.stderr.read().decode().splitlines()
            table = " ".join(tracer.stdout.read().decode().split())
            assert tracer.wait(60) == 0
        cost = load_report(path)["coverage"]["cost"]
        assert cost["measured_ns"] > 1000000000 and cost["predicted_ns"] is None, cost
        assert any(re.fullmatch(WARNING_WIDELY, line) for line in said), said
        assert " of the time of one CPU" in table, table[-1000:]


LIMITED_WIDELY = (r"memtraced: from now on only page faults are counted, not calls: that takes "
                  r"\d+ % of the CPU time that the host uses itself, and the limit is 20 %; "
                  r"--max-overhead=none counts all calls")


@test(need_root, each=["-a", "--comm=waves", "--comm=sleep"])
def of_a_host_it_is_limited(wide):
    """Of processes that match, or of those that only pay for being asked."""
    with scratch() as folder, waves() as process, started(["sleep", "60"]):
        path = os.path.join(folder, "json")
        with started([memtraced(), wide, "-o", f"json:{path}", "-f", "table"],
                     stdin=subprocess.DEVNULL, stderr=subprocess.PIPE) as tracer:
            said = Lines(tracer.stderr)
            assert said.until("memtraced: ").endswith("running processes")
            send_line(process, "busy 4000")
            line = said.next()
            assert re.fullmatch(LIMITED_WIDELY, line), line
            process.lines.until("done ", timeout=90)
            do(process, "keep 2000 65536")
            tracer.terminate()
            table = " ".join(tracer.stdout.read().decode().split())
            assert tracer.wait(60) == 0
        report = load_report(path)
        coverage = report["coverage"]
        assert coverage["overhead"]["max_ppm"] == 200000, coverage
        assert coverage["depths"][0]["depth"] == "growth", coverage["depths"]
        assert coverage["cost"]["counted_ns"] < coverage["cost"]["span_ns"] / 2, coverage["cost"]
        assert [event["name"] for event in report["events"]] == ["page-faults"], report["events"]
        assert "the limit was 20 %: --max-overhead=none counts all calls" in table, table[-2000:]
        if wide != "--comm=sleep":
            first = images_of(report, process.pid_said)[0]
            assert first["depth"] == "exact" and first["end"]["depth_changed"], first["end"]
            assert first["alloc"]["allocs"] > 1000, first["alloc"]


@test(need_root)
def what_samples_or_counts_for_a_service_has_none():
    with scratch() as folder:
        path = os.path.join(folder, "json")
        done = run_memtraced("--sample", "-o", f"json:{path}", "--", "/bin/true")
        assert done.returncode == 0, done.stderr
        assert "cost" not in load_report(path)["coverage"]


@test(need_root, need_program("tmux"))
def the_full_screen_view_says_it():
    with terminal(width=120) as window, waves() as process:
        start(window, process.pid_said, ALL_CALLS)
        window.shows(r"waves \(pid \d+\)")
        send_line(process, "busy 6000")
        window.shows(r"^ ?\S+ [kM] calls/s, counting them .*; --max-overhead=5% bounds that")
        process.lines.until("done ", timeout=90)
        window.shows(r"^ ?\S+ calls/s$")
        window.keys("q")
        window.shows(PROMPT)
        start(window, process.pid_said)
        window.shows(r"waves \(pid \d+\)")
        send_line(process, "busy 3000")
        window.shows(r"^ ?calls are not counted now, .*; --max-overhead=none counts all")
        window.keys("q")
