# SPDX-License-Identifier: GPL-2.0-or-later
"""Attaching to a process with 200 libraries and leaving it, and what the unwinder's tables take:
memory, and time to make them."""

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
import rows
import stats
from columns import has_option
from lines import Line
from measure import Failed, Running, used_s, wait_until

LIMIT_S = 60
SETTLED_S = 0.5
DETACHED_LIMIT_S = 5
KEPT_AFTER_S = 2.1  # no rows are kept of a file that has just been written; elf/cfi/cfi_cache.h


def read_times(path):
    with open(path, "rb") as file:
        return struct.unpack("4q", file.read(32))


# Where root's unwind rows are kept; elf/cfi/cfi_cache.h
ROWS_HOME = "/var/cache/memtraced/unwind"


def own_rows(folder):
    """argv ahead of a memtraced that keeps its unwind rows in that folder, whose mount it alone
    sees."""
    script = f'mkdir -p {ROWS_HOME} && mount --bind "$0" {ROWS_HOME} && exec "$@"'
    return ["unshare", "-m", "sh", "-c", script, folder]


def own_libc(place):
    """argv ahead of a program that has a copy of the C library, in its mounts alone: probes stand
    in files, and those of other tools on this host are to be in another."""
    copy = place.file("libc.so.6")
    shutil.copyfile(rows.libc(), copy)
    os.chmod(copy, 0o755)
    time.sleep(KEPT_AFTER_S)
    return ["unshare", "-m", "sh", "-c", 'mount --bind "$0" "$1" && shift && exec "$@"', copy,
            rows.libc()]


def attach_once(place, libc, before, options, taken):
    """Adds to the lists of `taken`, which measure_attach names, what one attach took; returns what
    the tool said."""
    out = place.file("libs")
    libraries = sorted(glob.glob(os.path.join(place.build, "bench", "workloads", "libraries",
                                        "*.so")))
    if os.path.exists(out):
        os.unlink(out)
    program = [*libc, place.program("libs"), out, *libraries]
    with Running(program, place.file("target.log")) as target:
        wait_until(lambda: os.path.exists(out) and os.path.getsize(out) == 32 and
                   read_times(out)[0], "loading the libraries")
        kernelside.rest()
        start = time.monotonic_ns()
        with Running([*before, place.memtraced, "-v", "-p", str(target.pid), *options, "-o",
                      f"json:{place.file('report.json')}"], place.file("tool.log"),
                     cpus=place.cpus) as tool:
            wait_until(lambda: read_times(out)[1] and
                       time.monotonic_ns() - read_times(out)[2] > SETTLED_S * 1e9,
                       "seeing the probes")
            attached, used = read_times(out)[2], used_s(tool.pid)
            stopped = time.monotonic_ns()
            tool.interrupt()
            tool.wait(LIMIT_S)
            ended = time.monotonic_ns()
            said = tool.output()
        gone = wait_until(lambda: read_times(out)[3], "the code as it was", DETACHED_LIMIT_S)
        os.kill(target.pid, signal.SIGTERM)
    for name, value in (("wall", (attached - start) / 1e6), ("cpu", used * 1e3),
                        ("code", (gone - stopped) / 1e6), ("end", (ended - stopped) / 1e6)):
        taken.setdefault(name, []).append(value)
    return said


def table_lines(said):
    """The unwinder's tables, by what memtraced -v says at its end."""
    found = re.search(r"unwind tables: (\d+) files, .* (\d+) KiB of rows, (\d+) bytes of", said)
    if not found:
        return []
    files, rows, process = map(int, found.groups())
    return [Line("unwind.rows", "unwind rows of a process with 200 libraries", [rows], "KiB",
                 "kernel memory, as all in this table"),
            Line("unwind.file", "the same, of each file", [rows / files], "KiB",
                 "generated libraries of two functions among them"),
            Line("unwind.process", "where that process has its files", [process / 1024], "KiB",
                 "of each process of its own; rows are there once for all")]


def measure_attach(place, rounds):
    libc, kept = own_libc(place), tempfile.mkdtemp(dir=place.work)
    first, again, by_fp = {}, {}, {}
    attach_once(place, libc, own_rows(kept), [], {})
    for _ in range(rounds):
        with tempfile.TemporaryDirectory(dir=place.work) as empty:
            attach_once(place, libc, own_rows(empty), [], first)
        said = attach_once(place, libc, own_rows(kept), [], again)
        if has_option(place, "--unwind"):
            attach_once(place, libc, own_rows(kept), ["--unwind=fp"], by_fp)
    to, cpu = "to the last allocator function probed", "until it waits for events"
    lines = []
    for key, title, taken in (("first", "no unwind rows kept", first),
                              ("again", "unwind rows kept", again),
                              ("fp", "--unwind=fp", by_fp)):
        lines += [Line(f"attach.{key}", f"attach to 200 libraries, {title}",
                       taken.get("wall", []), "ms", to),
                  Line(f"attach.{key}.cpu", "the same: memtraced's CPU", taken.get("cpu", []),
                       "ms", cpu)]
    return [
        *lines, *table_lines(said),
        Line("detach.code", "detach: until the code is as before", again["code"], "ms"),
        Line("detach.end", "detach: until memtraced has reported and ended", again["end"], "ms"),
    ]


def own_files():
    """{name: path} of files whose rows are measured, those that are here."""
    found = {name: glob.glob(f"/usr/lib/*-linux-gnu/{pattern}") for name, pattern in (
        ("libc", "libc.so.6"), ("libstdc++", "libstdc++.so.6"),
        ("libpython", "libpython3.*.so.1.0"), ("libLLVM", "libLLVM-14.so.1"))}
    found["node"] = [path for path in [shutil.which("node")] if path]
    return {name: os.path.realpath(paths[0]) for name, paths in found.items() if paths}


def rows_once(place, path):
    """{name: value}, as bench/workloads/rows.c says them."""
    with tempfile.TemporaryDirectory(dir=place.work) as folder:
        done = subprocess.run([place.program("rows"), folder, path], capture_output=True,
                              text=True, timeout=LIMIT_S, check=False)
    if done.returncode != 0:
        raise Failed(f"rows of {path}: {done.stderr[-300:]}")
    return {name: float(value) for name, value in
            (line.split() for line in done.stdout.splitlines())}


def measure_files(place, rounds):
    lines = []
    for name, path in own_files().items():
        runs = [rows_once(place, path) for _ in range(rounds)]
        last = runs[-1]
        lines += [
            Line(f"rows.{name}.share", f"{name}: rows for return addresses",
                 [last["bytes"] / last["size"] * 100], "% of the file",
                 f"{last['bytes'] / 1024:.0f} KiB"),
            Line(f"rows.{name}.first", f"{name}: compile its rows, and keep them",
                 [run["first"] for run in runs], "ms",
                 f"besides {stats.spread([run['open'] for run in runs]).median:.1f} ms to open it"),
            Line(f"rows.{name}.kept", f"{name}: take them from the cache",
                 [run["kept"] for run in runs], "ms"),
        ]
    return lines
