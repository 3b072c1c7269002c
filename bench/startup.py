# SPDX-License-Identifier: GPL-2.0-or-later
"""What a tool takes before its program runs and after it has ended; making a report of a large
run."""

import os
import shutil
import subprocess
import time

import kernelside
from columns import PROBES, has_option
from lines import Line
from measure import Failed, Running

LIMIT_S = 60
SITE_BITS = {True: 11, False: 14}  # quick: 2,048 stacks, else 16,384

BPFTRACE_ALLOC = ("uprobe:libc:malloc /pid == cpid/ { @size[tid] = arg0; } "
                  "uretprobe:libc:malloc /pid == cpid/ { @[ustack] = sum(@size[tid]); } "
                  "uprobe:libc:free /pid == cpid/ { delete(@size[tid]); }")
BPFTRACE_HIST = "tracepoint:syscalls:sys_exit_read /pid == cpid/ { @ = hist(args->ret); }"


def starters(place):
    """(key, title, argv ahead of the command or None, why there is none)"""
    quiet = [place.memtraced, "-q", "-o", f"json:{place.file('report.json')}"]
    hist = has_option(place, "--hist")
    bpftrace = shutil.which("bpftrace")
    return [
        ("none", "no tool", [], None),
        ("memtraced", "memtraced", [*quiet, "--"], None),
        ("probes", "memtraced --exact=probes", [*quiet, *PROBES, "--"], None),
        ("fp", "memtraced --unwind=fp",
         [*quiet, "--unwind=fp", "--"] if has_option(place, "--unwind") else None,
         "this memtraced has no --unwind"),
        ("hist", "memtraced --hist read", [*quiet, "--hist", "read", "--"] if hist else None,
         "this memtraced has no --hist"),
        ("heaptrack", "heaptrack",
         ["heaptrack", "-o", place.file("start-heaptrack")] if shutil.which("heaptrack") else None,
         "heaptrack is not installed"),
        ("bpftrace", "bpftrace, malloc and free by stack",
         ["bpftrace", "-e", BPFTRACE_ALLOC, "-c"] if bpftrace else None,
         "bpftrace is not installed"),
        ("bpftrace_hist", "bpftrace, histogram of read",
         ["bpftrace", "-e", BPFTRACE_HIST, "-c"] if bpftrace else None,
         "bpftrace is not installed"),
    ]


def start_once(place, before):
    """(ms from our spawn to the program's main, ms from there to the tool's end)"""
    stamp = place.file("stamp")
    command = [place.program("stamp"), stamp]
    argv = [*before, " ".join(command)] if before[-1:] == ["-c"] else [*before, *command]
    kernelside.rest()
    start = time.monotonic_ns()
    with Running(argv, place.file("tool.log"), cpus=place.cpus) as tool:
        tool.process.wait(LIMIT_S)
        end = time.monotonic_ns()
        if not os.path.exists(stamp):
            raise Failed(f"{argv[0]} ran nothing: " + tool.output().strip()[-300:])
    with open(stamp, encoding="ascii") as file:
        main = int(file.read())
    os.unlink(stamp)
    return (main - start) / 1e6, (end - main) / 1e6


def measure_starts(place, rounds):
    found = starters(place)
    before = {key: [] for key, *_ in found}
    after = {key: [] for key, *_ in found}
    for number in range(rounds):
        for key, _, argv, _ in found[number % len(found):] + found[:number % len(found)]:
            if argv is not None:
                one, other = start_once(place, argv)
                before[key].append(one)
                after[key].append(other)
    lines = []
    for key, title, argv, reason in found:
        note = reason if argv is None else ""
        both = [one + other for one, other in zip(before[key], after[key])]
        lines += [Line(f"start.{key}", f"{title}: until the program's main", before[key], "ms",
                       note),
                  Line(f"end.{key}", f"{title}: from there to the tool's end", after[key], "ms",
                       note),
                  Line(f"total.{key}", f"{title}: start to exit", both, "ms", note)]
    return lines


def measure_report(place, rounds, quick):
    recording = place.file("recording")
    bits = SITE_BITS[quick]
    done = subprocess.run([place.memtraced, "-q", "-o", f"record:{recording}", "--",
                           place.program("sites"), str(bits)], capture_output=True, text=True,
                          timeout=LIMIT_S, check=False)
    if done.returncode != 0:
        raise Failed("recording: " + done.stderr[-300:])
    taken = []
    for _ in range(rounds):
        start = time.monotonic()
        done = subprocess.run([place.memtraced, "report", recording, "-f", "json"],
                              capture_output=True, timeout=LIMIT_S, check=False)
        taken.append((time.monotonic() - start) * 1e3)
        if done.returncode != 0:
            raise Failed("report: " + done.stderr.decode(errors="replace")[-300:])
    return [Line("report.json", f"JSON report of a recording with {1 << bits} stacks", taken, "ms",
                 f"{len(done.stdout) / 1e6:.1f} MB of JSON")]
