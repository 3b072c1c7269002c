# SPDX-License-Identifier: GPL-2.0-or-later
"""What a tool takes before its program runs and after it has ended; attaching to a process with 200
libraries and leaving it; making a report of a large run."""

import glob
import os
import re
import shutil
import signal
import struct
import subprocess
import tempfile
import time

import kernelside
from columns import has_option
from lines import Line
from measure import Failed, Running, wait_until

LIMIT_S = 60
SETTLED_S = 0.5
DETACHED_LIMIT_S = 5
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
    kernelside.probes_of_others()
    start = time.monotonic_ns()
    with Running(argv, place.file("tool.log")) as tool:
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


def read_times(path):
    with open(path, "rb") as file:
        return struct.unpack("4q", file.read(32))


# Where root's unwind rows are kept; elf/cfi_cache.h
ROWS_HOME = "/var/cache/memtraced/unwind"


def own_rows(folder):
    """argv ahead of a memtraced that keeps its unwind rows in that folder, whose mount it alone
    sees."""
    script = f'mkdir -p {ROWS_HOME} && mount --bind "$0" {ROWS_HOME} && exec "$@"'
    return ["unshare", "-m", "sh", "-c", script, folder]


def attach_once(place, before, options):
    """(ms until the last allocator function had its probe, ms from SIGINT until all code was as
    before, ms from SIGINT to the tool's end, what the tool said)"""
    out = place.file("libs")
    libraries = sorted(glob.glob(os.path.join(place.build, "bench", "workloads", "libraries",
                                        "*.so")))
    if os.path.exists(out):
        os.unlink(out)
    with Running([place.program("libs"), out, *libraries], place.file("target.log")) as target:
        wait_until(lambda: os.path.exists(out) and os.path.getsize(out) == 32 and
                   read_times(out)[0], "loading the libraries")
        start = time.monotonic_ns()
        with Running([*before, place.memtraced, "-v", "-p", str(target.pid), *options, "-o",
                      f"json:{place.file('report.json')}"], place.file("tool.log")) as tool:
            wait_until(lambda: read_times(out)[1] and
                       time.monotonic_ns() - read_times(out)[2] > SETTLED_S * 1e9,
                       "seeing the probes")
            attached = read_times(out)[2]
            stopped = time.monotonic_ns()
            tool.interrupt()
            tool.wait(LIMIT_S)
            ended = time.monotonic_ns()
            said = tool.output()
        gone = wait_until(lambda: read_times(out)[3], "the code as it was (do other tools probe "
                          "the C library of this host?)", DETACHED_LIMIT_S)
        os.kill(target.pid, signal.SIGTERM)
    return (attached - start) / 1e6, (gone - stopped) / 1e6, (ended - stopped) / 1e6, said


def table_lines(said):
    """The unwinder's tables, by what memtraced -v says at its end."""
    found = re.search(r"unwind tables: (\d+) files, .* (\d+) KiB of rows", said)
    if not found:
        return []
    files, rows = int(found.group(1)), int(found.group(2))
    return [Line("unwind.rows", "unwind rows of a process with 200 libraries", [rows], "KiB",
                 "kernel memory; of a process besides: 1 KiB, and 24 bytes a mapping"),
            Line("unwind.file", "the same, of each file", [rows / files], "KiB",
                 "generated libraries of two functions among them")]


def measure_attach(place, rounds):
    kept = tempfile.mkdtemp(dir=place.work)
    first, again, by_fp, ends = [], [], [], []
    attach_once(place, own_rows(kept), [])
    for _ in range(rounds):
        with tempfile.TemporaryDirectory(dir=place.work) as empty:
            first.append(attach_once(place, own_rows(empty), [])[0])
        ends.append(attach_once(place, own_rows(kept), []))
        again.append(ends[-1][0])
        if has_option(place, "--unwind"):
            by_fp.append(attach_once(place, own_rows(kept), ["--unwind=fp"])[0])
    to = "to the last allocator function probed"
    return [
        Line("attach.first", "attach to 200 libraries, no unwind rows kept", first, "ms", to),
        Line("attach.again", "attach to 200 libraries, rows kept", again, "ms", to),
        Line("attach.fp", "attach to 200 libraries, --unwind=fp", by_fp, "ms", to),
        *table_lines(ends[-1][3]),
        Line("detach.code", "detach: until the code is as before", [t[1] for t in ends], "ms"),
        Line("detach.end", "detach: until memtraced has reported and ended",
             [t[2] for t in ends], "ms"),
    ]


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
