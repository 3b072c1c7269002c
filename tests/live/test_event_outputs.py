# SPDX-License-Identifier: GPL-2.0-or-later
"""Stacks of events in each format, from the kernel's frames to the file: dd makes exactly as many
calls of write as it is told to."""

import json
import os
import re
import sys

from lib import load_report, need_kernel, need_root, run, run_memtraced, scratch, test

BESIDE_OTHERS = True
REPLAY = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "replay")
WRITES = 1000
DD = ["dd", "if=/dev/zero", "of=/dev/null", "bs=1", f"count={WRITES}", "status=none"]
FORMATS = ("perf-script", "folded", "gprof2dot", "pprof", "flamegraph", "speedscope",
           "callgrind")


def kernel_symbols():
    """Addresses by name, as this kernel gives them."""
    found = {}
    with open("/proc/kallsyms", encoding="utf-8") as file:
        for line in file:
            address, _, name, *module = line.split()
            name = " ".join([name, *module])
            found.setdefault(name, set()).add(int(address, 16))
    return found


def passes_its_checker(name, path):
    script = os.path.join(REPLAY, f"check_{name.replace('-', '_')}.py")
    done = run([sys.executable, script, path])
    assert done.returncode == 0, done.stdout


def is_kernel(frame):
    return frame["object"] == "[kernel.kallsyms]"


@test(need_root, need_kernel(6, 12))
def kernel_frames_have_the_names_that_the_kernel_gives():
    with scratch() as folder:
        path = os.path.join(folder, "json")
        done = run_memtraced("-e", "write", "--kernel", "-o", f"json:{path}", "--", *DD)
        assert done.returncode == 0, done.stderr
        report = load_report(path, allocations=False)
    event, = report["events"]
    assert event["count"] == WRITES, event["count"]
    symbols = kernel_symbols()
    for stack in event["stacks"]:
        kernel = [frame for frame in stack["frames"] if is_kernel(frame)]
        assert kernel and stack["comm"] == "dd", stack
        assert any(frame["function"] == "do_syscall_64" for frame in kernel) or \
            os.uname().machine != "x86_64", kernel
        for frame in kernel:
            start = int(frame["addr"], 16) - frame["offset"]
            assert start in symbols.get(frame["function"], ()), frame


@test(need_root)
def formats_agree_on_the_stacks_of_an_event():
    with scratch() as folder:
        outputs = [f"-o{name}:{folder}/{name}" for name in FORMATS + ("json",)]
        done = run_memtraced("-e", "write", "--kernel", *outputs, "--", *DD)
        assert done.returncode == 0, done.stderr
        for name in FORMATS:
            passes_its_checker(name, os.path.join(folder, name))
        event, = load_report(os.path.join(folder, "json"), allocations=False)["events"]
        with open(os.path.join(folder, "folded"), encoding="utf-8") as file:
            folded = [line.rpartition(" ") for line in file]
        with open(os.path.join(folder, "gprof2dot"), encoding="utf-8") as file:
            graph = json.load(file)
        with open(os.path.join(folder, "perf-script"), encoding="utf-8") as file:
            headers = re.findall(r"^dd .* 1 (sys_enter_write): $", file.read(), re.M)
    assert sum(int(count) for _, _, count in folded) == event["count"] == WRITES
    entry = re.compile(r";do_(syscall_64|el0_svc)_\[k\];")
    assert all(entry.search(stack) for stack, _, _ in folded), folded
    assert sum(stack["cost"][0] for stack in graph["events"]) == WRITES
    assert len(headers) == WRITES, len(headers)


@test(need_root)
def each_job_has_a_file_with_its_own_stacks():
    with scratch() as folder:
        done = run_memtraced("-e", "write", "-e", "read", "--alloc",
                             "-o", f"folded:{folder}/%e", "-o", f"json:{folder}/json", "--", *DD)
        assert done.returncode == 0, done.stderr
        report = load_report(os.path.join(folder, "json"))
        for event in report["events"]:
            name = event["name"].replace(":", "-")
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                counts = [int(line.split()[-1]) for line in file]
            assert sum(counts) == event["count"] >= WRITES, (name, counts)
        with open(os.path.join(folder, "alloc"), encoding="utf-8") as file:
            live = sum(int(line.split()[-1]) for line in file)
    assert live == report["processes"][0]["alloc"]["live_bytes"], live


@test(need_root)
def several_jobs_do_not_fit_into_one_stream():
    for options in (["-e", "write", "-e", "read"], ["-e", "write", "--alloc"], ["--hist", "read"]):
        for name in FORMATS:
            done = run_memtraced(*options, "-f", name, "--", *DD)
            assert done.returncode == 1 and done.stdout == "", (options, name, done)
            assert name in done.stderr, done.stderr


@test(need_root)
def each_event_by_itself_has_its_own_time():
    with scratch() as folder:
        path = os.path.join(folder, "events")
        done = run_memtraced("-e", "write", "--each", "-o", f"perf-script:{path}", "--", *DD)
        assert done.returncode == 0, done.stderr
        passes_its_checker("perf-script", path)
        with open(path, encoding="utf-8") as file:
            found = re.findall(r"^dd (\d+)/(\d+) \[\d+\] +(\d+\.\d{9}): 1 sys_enter_write: $",
                               file.read(), re.M)
    assert len(found) == WRITES, len(found)
    assert len({(pid, tid) for pid, tid, _ in found}) == 1, found[:3]
    times = [float(time) for _, _, time in found]
    steps = {round(after - before, 6) for before, after in zip(times, times[1:])}
    assert len(steps) > 1, "as if they were spread evenly"
