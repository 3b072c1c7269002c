# SPDX-License-Identifier: GPL-2.0-or-later
"""Timelines of runs that count no allocations: what was resident."""

import contextlib
import os
import signal
import subprocess
import sys
import time

import schema
from lib import (PATIENCE, load_report, memtraced, need_long, need_root, need_sampling, resident,
                 run_memtraced, scratch, send_line, started, test)

BESIDE_OTHERS = True

MIB = 1 << 20
PAGE = os.sysconf("SC_PAGESIZE")
STEPS = 30
# Two MiB at a time, for a second and a half; then it says how much, and waits.
GROWS = f"""
import sys, time
print("ready", flush=True)
sys.stdin.readline()
kept = []
for _ in range({STEPS}):
    kept.append(b"x" * {2 * MIB})
    time.sleep(0.05)
print("grown", flush=True)
sys.stdin.readline()
"""
GROWN = STEPS * 2 * MIB


def timeline_of(report, pid):
    (process,) = [one for one in report["processes"] if one["pid"] == pid]
    return process["timeline"]


def known(timeline):
    return [point["rss"] for point in timeline["points"] if point["rss"] is not None] \
        if timeline else []


@contextlib.contextmanager
def reports(*options):
    """memtraced's reports as they come, the first of which has come: it samples."""
    command = [memtraced(), "-q", "-f", "json", "-i", "0.5", *options]

    def each(process):
        while (line := process.lines.next(60)) is not None:
            yield schema.loads(line)

    with started(command, stdin=subprocess.DEVNULL) as process:
        come = each(process)
        next(come)
        yield come
        process.send_signal(signal.SIGINT)
        for _ in come:
            pass
        assert process.wait(60 * PATIENCE) == 0


def check_growth(*options):
    """A process that grows while it is looked at, and what is seen of it then."""
    with started([sys.executable, "-c", GROWS]) as process:
        process.lines.until("ready")
        scope = options if "-a" in options else (*options, "-p", str(process.pid))
        with reports(*scope) as come:
            before = resident(process.pid)
            send_line(process)
            process.lines.until("grown")
            after, deadline = resident(process.pid), time.monotonic() + 60 * PATIENCE
            seen = []
            assert after - before > 0.9 * GROWN, (before, after)
            # of a busy machine the samples are rare
            for report in come:
                assert time.monotonic() < deadline, f"it is not seen to have {after} bytes: {seen}"
                pids = [one["pid"] for one in report["processes"]]
                timeline = timeline_of(report, process.pid) if process.pid in pids else None
                seen = known(timeline)
                if seen and seen[-1] >= after - MIB:
                    break
            schema.check(report, False, allocations=False)
    assert abs(seen[-1] - after) <= 2 * MIB, (seen, after)
    return report, timeline, seen, before


@test(need_root, need_sampling, timeout=100)
def page_faults_of_a_process_have_what_was_resident():
    _, timeline, seen, before = check_growth("--page-faults=10")
    assert len(seen) >= 2 and seen[0] < before + 0.8 * GROWN, (seen, before)
    cgroups = {point["cgroup"] is None for point in timeline["points"]}
    assert len(cgroups) == 1, "its cgroup's use comes and goes"


@test(need_root, timeout=100, every_kernel=True)
def so_have_its_mappings():
    _, _, seen, before = check_growth("--mappings")
    assert len(seen) >= 2 and seen[0] < before + 0.8 * GROWN, (seen, before)


@test(need_root, need_sampling, timeout=200)
def of_a_host_those_have_it_that_are_sampled():
    report, _, _, _ = check_growth("--page-faults=10", "-a")
    assert sum(one["timeline"] is not None for one in report["processes"]) <= 1024


KILLS_ITSELF = f"""
import os, time
kept = []
for _ in range({STEPS // 3}):
    kept.append(b"x" * {2 * MIB})
    time.sleep(0.1)
kept.append(b"x" * {100 * MIB})
with open("/proc/self/statm") as file:
    print(int(file.read().split()[1]) * {PAGE}, flush=True)
os.kill(os.getpid(), 9)
"""


@test(need_root, need_sampling, timeout=100)
def the_last_point_is_what_who_is_killed_had_and_a_recording_has_all_of_it():
    with scratch() as folder:
        record, path = os.path.join(folder, "rec"), os.path.join(folder, "json")
        done = run_memtraced("--page-faults=10", "-o", f"record:{record}", "-o", f"json:{path}",
                             "--", sys.executable, "-c", KILLS_ITSELF)
        assert done.returncode == 128 + signal.SIGKILL, (done.returncode, done.stderr)
        report = load_report(path, allocations=False)
        again = run_memtraced("report", record, "-f", "json")
    assert again.returncode == 0, again.stderr
    (process,) = [one for one in report["processes"] if one["timeline"]]
    points, last = process["timeline"]["points"], process["timeline"]["points"][-1]
    held = int(done.stdout.split()[-1])
    # what CPUs have not added yet is not in what the kernel says of a death
    assert abs(last["rss"] - held) < 4 * MIB, (last, held)
    assert points[0]["rss"] < held - 90 * MIB and len(points) >= 2, points
    assert schema.loads(again.stdout)["processes"] == report["processes"]


@test(need_root, need_sampling, timeout=60)
def who_wants_none_has_none():
    with scratch() as folder:
        path = os.path.join(folder, "json")
        done = run_memtraced("--page-faults=10", "--sample-interval=1h", "-o", f"json:{path}", "--",
                             sys.executable, "-c", "import time; time.sleep(1)")
        assert done.returncode == 0, done.stderr
        report = load_report(path, allocations=False)
    assert all(one["timeline"] is None for one in report["processes"])


MANY = 1100
# A look at all of them takes some 20 ms, and a thousandth of the time.
FORKS = f"""
import os, signal, time
for _ in range({MANY}):
    if os.fork() == 0:
        kept = b"x" * {256 << 10}
        signal.alarm(300)  # whatever becomes of the test
        signal.pause()
time.sleep(120)
os.killpg(0, signal.SIGKILL)
"""


@test(need_root, need_sampling, need_long, timeout=400)
def of_very_many_1024_have_one_and_the_others_are_counted():
    with scratch() as folder:
        path = os.path.join(folder, "json")
        done = run_memtraced("--page-faults=1", "-o", f"json:{path}", "--", "setsid",
                             sys.executable, "-c", FORKS, timeout=300)
        assert done.returncode == 128 + signal.SIGKILL, (done.returncode, done.stderr[-500:])
        report = load_report(path, allocations=False)
    assert report["coverage"]["timelines_left_out"] == MANY + 1 - 1024, report["coverage"]
    # of the others what they held when they were killed is known, which is one point
    points = [len(one["timeline"]["points"]) for one in report["processes"] if one["timeline"]]
    assert sum(n > 1 for n in points) == 1024, (points, len(report["processes"]))
