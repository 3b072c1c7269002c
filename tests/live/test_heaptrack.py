# SPDX-License-Identifier: GPL-2.0-or-later
"""heaptrack's format as heaptrack_print and heaptrack_gui show it."""

import os
import re
import subprocess
import sys

import clients
from lib import (heap_sites, load_report, need_program, need_root, run, run_memtraced,
                 scratch, target, test, total, with_function)

BESIDE_OTHERS = True
CHECKER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "replay",
                       "check_heaptrack.py")
LARGEST_TEMPORARY = 407  # bytes, of tests/targets/leak.c
# What its stacks may be worth, and what we call that.
COSTS = (("allocations", "allocs"), ("temporary", "temporary"), ("leaked", "live_bytes"),
         ("peak", "peak_bytes"))


def size(n):
    """As heaptrack writes it."""
    for unit in ("B", "K", "M"):
        if n < 1000:
            return f"{n:g}{unit}" if unit == "B" else f"{n:.2f}{unit}"
        n /= 1000
    return f"{n:.2f}G"


def printed(path, *options):
    done = run(["heaptrack_print", "--disable-builtin-suppressions", *options, "-f", path])
    assert done.returncode == 0 and not done.stderr, done.stderr
    return done.stdout


def stacks(path, cost, folder):
    """{stack: value}, as it gives them to flame graph programs."""
    out = os.path.join(folder, "stacks")
    printed(path, "-F", out, "--flamegraph-cost-type", cost)
    values = {}
    with open(out, encoding="utf-8") as file:
        for line in file:
            stack, value = line.rsplit(" ", 1)
            values[stack] = values.get(stack, 0) + int(value)
    return values


def traced(folder, suffix, *command):
    path, report = os.path.join(folder, "heaptrack"), os.path.join(folder, "json")
    done = run_memtraced("--sample-interval=0.1", "-o", f"heaptrack:{path}.%p{suffix}", "-o",
                         f"json:{report}", "--", *command)
    assert done.returncode == 0, done.stderr
    process, = load_report(report)["processes"]
    return f"{path}.{process['pid']}{suffix}", process


def is_what_we_report(path, process, folder):
    alloc, text = process["alloc"], printed(path)
    for line in (f"calls to allocation functions: {alloc['allocs']} (",
                 f"temporary memory allocations: {alloc['temporary']} (",
                 f"peak heap memory consumption: {size(alloc['peak_bytes'])}\n",
                 f"total memory leaked: {size(alloc['live_bytes'])}\n",
                 "peak RSS (including heaptrack overhead): "
                 f"{size(process['timeline']['peak_rss'])}\n"):
        assert line in text, (line, text[-600:])
    assert "totals exact; sizes of single blocks are means or less)" in text, text[:400]
    for cost, key in COSTS:
        values = stacks(path, cost, folder)
        clients.same("heaptrack_print", "heaptrack", cost, sum(values.values()), alloc[key])


@test(need_root, need_program("heaptrack_print"), each=("", ".gz", ".zst"), in_turn=1)
def heaptrack_print_shows_what_we_report(suffix):
    with scratch() as folder:
        path, process = traced(folder, suffix, target("leak"), "1200", "500")
        is_what_we_report(path, process, folder)
        if not suffix:
            done = run([sys.executable, CHECKER, path])
            assert done.returncode == 0, done.stdout
        for cost, key in COSTS:
            values = stacks(path, cost, folder)
            for function in ("leak_one", "work_one"):
                shown = sum(value for stack, value in values.items() if f";{function} " in stack)
                ours = total(with_function(heap_sites(process), function), key)
                assert shown == ours, (cost, function, values, ours)
    # what leak_one gave, 64 to 127 bytes in turn, is there still; work_one's is freed at once
    assert process["alloc"]["live_bytes"] == sum(64 + i % 64 for i in range(1200))
    assert process["alloc"]["temporary"] == 1200


@test(need_root, need_program("heaptrack_print", "jq", "git", "sqlite3"),
      each=("jq", "git", "sqlite3"), in_turn=1)
def real_programs_have_their_sums(name):
    commands = {
        "jq": ("jq", "-n", "[range(3000)|tostring]|length"),
        "git": ("git", "-c", "safe.directory=*", "hash-object", __file__),
        "sqlite3": ("sqlite3", ":memory:", "create table t(a); insert into t with recursive c(x) "
                    "as (select 1 union all select x + 1 from c limit 3000) select x from c;"),
    }
    with scratch() as folder:
        path, process = traced(folder, ".zst", *commands[name])
        is_what_we_report(path, process, folder)


@test(need_root, need_program("heaptrack_print"))
def live_memory_over_time_is_that_of_the_samples():
    with scratch() as folder:
        path, process = traced(folder, "", target("leak"), "1000", "1000")
        out = run([sys.executable, CHECKER, "--text", path]).stdout
        shown = [(int(time_), int(live)) for time_, live in
                 re.findall(r"^(\d+) ms: (\d+) live", out, re.MULTILINE)]
        points = process["timeline"]["points"]
        # Times are since the program began, and not since memtraced did.
        before = points[-1]["time_ns"] / 1e6 - max(time_ for time_, _ in shown)
        assert before > 1, (points, out)
        for point in points:
            # A temporary block that a sample saw (work_one's) is not there.
            assert any(0 <= point["live_bytes"] - live <= LARGEST_TEMPORARY and
                       abs(point["time_ns"] / 1e6 - before - time_) <= 1
                       for time_, live in shown), (point, out)


# What is resident for a moment, between two samples; the kernel's own mark of it is printed.
SPIKE = """
import resource
block = b"x" * (96 << 20)
del block
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


@test(need_root, need_program("heaptrack_print"))
def peak_rss_is_the_mark_that_the_kernel_keeps():
    with scratch() as folder:
        path, report = os.path.join(folder, "heaptrack"), os.path.join(folder, "json")
        done = run_memtraced("--sample-interval=10", "-o", f"heaptrack:{path}", "-o",
                             f"json:{report}", "--", sys.executable, "-c", SPIKE)
        assert done.returncode == 0, done.stderr
        mark = int(re.search(r"^(\d+)$", done.stdout, re.MULTILINE).group(1)) * 1024
        process, = load_report(report)["processes"]
        assert f"peak RSS (including heaptrack overhead): {size(mark)}\n" in printed(path), \
            (mark, printed(path)[-400:])
        timeline = process["timeline"]
        assert (timeline["peak_rss"], timeline["peak_rss_exact"]) == (mark, True), timeline
        assert mark > process["alloc"]["peak_bytes"] > 96 << 20, process["alloc"]


@test(need_root, need_program("heaptrack_print"))
def peak_rss_of_a_running_process_is_its_mark_so_far():
    with scratch() as folder:
        path, report = os.path.join(folder, "heaptrack"), os.path.join(folder, "json")
        with subprocess.Popen([sys.executable, "-uc", SPIKE + "input()"], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE) as python:
            python.stdout.readline()
            # Not what it says itself, which counts the memory of whoever has forked it, too.
            with open(f"/proc/{python.pid}/status", encoding="ascii") as file:
                mark = int(re.search(r"^VmHWM:\s+(\d+) kB$", file.read(), re.M)[1]) * 1024
            done = run_memtraced("-p", str(python.pid), "-d", "0.5", "-o",
                                 f"heaptrack:{path}", "-o", f"json:{report}")
            python.communicate(b"\n")
        assert done.returncode == 0, done.stderr
        process, = load_report(report)["processes"]
        assert process["timeline"]["peak_rss"] == mark, (mark, process["timeline"])
        assert process["timeline"]["peak_rss_exact"], process["timeline"]
        assert f"peak RSS (including heaptrack overhead): {size(mark)}\n" in printed(path), mark


@test(need_root, need_program("heaptrack_print"))
def what_a_child_inherited_is_said():
    with scratch() as folder:
        path, report = os.path.join(folder, "heaptrack"), os.path.join(folder, "json")
        done = run_memtraced("-o", f"heaptrack:{path}.%p", "-o", f"json:{report}", "--",
                             target("forks"), "24")
        assert done.returncode == 0, done.stderr
        children = [process for process in load_report(report)["processes"]
                    if process["alloc"]["allocs"] and os.path.exists(f"{path}.{process['pid']}")]
        more = 0
        for process in children:
            text = printed(f"{path}.{process['pid']}")
            said = re.search(r"; (\d+) calls more than were made", text)
            more += bool(said)
            calls = process["alloc"]["allocs"] + (int(said.group(1)) if said else 0)
            assert f"calls to allocation functions: {calls} (" in text, (text[-400:], calls)
            assert f"total memory leaked: {size(process['alloc']['live_bytes'])}\n" in text, text
        assert len(children) > 1 and more > 0, children
