# SPDX-License-Identifier: GPL-2.0-or-later
"""Files that are made to take long to read: they cost their own names at most, and little time."""

import os
import resource
import sys

import bombs
from lib import (heap_sites, load_report, need_long, need_root, run_memtraced, scratch, started,
                 target, test)
from test_unwind import need_x86_64

BESIDE_OTHERS = True
# Maps files as code, and allocates until its input ends.
MAPPER = """
import mmap, select, sys
maps = []
for path in sys.argv[1:]:
    with open(path, "rb") as file:
        maps.append(mmap.mmap(file.fileno(), 0, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_EXEC))
print("ready", flush=True)
while not select.select([sys.stdin], [], [], 0.01)[0]:
    kept = [bytearray(1000) for _ in range(10)]
"""

UNREAD = {"file-not-parsed", "symbols-unread", "unwind-rows-not-parsed"}


def write(folder, name, data, mode=0o644):
    path = os.path.join(folder, name)
    with open(path, "wb") as file:
        file.write(data)
    os.chmod(path, mode)
    return path


def unread(report):
    return {name: count for name, count in report["coverage"]["lost"].items() if name in UNREAD}


@test(need_root, need_x86_64, each=tuple(bombs.MAPPED))
def a_file_that_is_mapped_is_read_in_time(kind):
    with scratch() as folder:
        bomb, output = write(folder, "bomb", bombs.MAPPED[kind]()), os.path.join(folder, "report")
        with started([sys.executable, "-c", MAPPER, bomb]) as process:
            process.lines.until("ready")
            done = run_memtraced("-p", str(process.pid), "-d", "0.3", "-o", f"json:{output}")
        assert done.returncode == 0, done.stderr
        report = load_report(output)
        assert not unread(report), unread(report)
        assert report["processes"][0]["alloc"]["allocs"] > 0, report["processes"]


# Writes a jitdump of its own, announces it as run-times do, and allocates until its input ends.
MOVER = """
import mmap, os, select, struct, sys
def record(kind, body):
    return struct.pack("<IIQ", kind, 16 + len(body), 0) + body
lines = b"".join(struct.pack("<QII", 0x1000 + i, i + 1, 0) + b"a\\0" for i in range(65536))
data = struct.pack("<IIIIIIQQ", 0x4A695444, 1, 40, 62, 0, os.getpid(), 0, 0)
data += record(2, struct.pack("<QQ", 0x1000, 65536) + lines)
data += record(0, struct.pack("<IIQQQQ", os.getpid(), os.getpid(), 0x1000, 0x1000, 4096, 1)
               + b"moves\\0")
data += record(1, struct.pack("<IIQQQQQ", os.getpid(), os.getpid(), 0x1000, 0x1000, 0x2000, 4096,
                              1)) * 10000
with open(f"{sys.argv[1]}/jit-{os.getpid()}.dump", "wb+") as file:
    file.write(data)
    file.flush()
    page = mmap.mmap(file.fileno(), 4096, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_EXEC)
print("ready", flush=True)
while not select.select([sys.stdin], [], [], 0.01)[0]:
    kept = [bytearray(1000) for _ in range(10)]
"""


def bounded_memory():
    resource.setrlimit(resource.RLIMIT_DATA, (2 << 30, 2 << 30))


@test(need_root)
def code_that_moves_ten_thousand_times_takes_no_memory():
    """Each time with its 65,536 lines, of 16 bytes and more."""
    with scratch() as folder:
        output = os.path.join(folder, "report")
        with started([sys.executable, "-c", MOVER, folder]) as process:
            process.lines.until("ready")
            done = run_memtraced("-p", str(process.pid), "-d", "0.3", "-o", f"json:{output}",
                                 preexec_fn=bounded_memory)
        assert done.returncode == 0, done.stderr
        assert "MiB of names" in done.stderr, done.stderr
        assert load_report(output)["processes"][0]["alloc"]["allocs"] > 0


def run_program(folder, *paths):
    """Runs programs one after the other, traced; the report."""
    output = os.path.join(folder, "report")
    lines = ["#!/bin/sh", *(f"echo | {path} 100 1" for path in paths)]
    script = write(folder, "script", "\n".join(lines).encode() + b"\n", 0o755)
    done = run_memtraced("-o", f"json:{output}", "-c", script, timeout=120)
    assert done.returncode == 0, done.stderr
    return load_report(output)


def allocations(report, path):
    return sum(site["allocs"] for process in report["processes"] for site in heap_sites(process)
               if any(frame["object"] == path for frame in site["frames"]))


@test(need_root, need_x86_64, each=tuple(bombs.NAMED))
def symbols_of_a_program_are_read_in_time(kind):
    with open(target("attach"), "rb") as file:
        program = file.read()
    with scratch() as folder:
        path = write(folder, "bomb", bombs.NAMED[kind](program), 0o755)
        report = run_program(folder, path)
        assert not unread(report), unread(report)
        assert allocations(report, path) > 0, report["processes"]


@test(need_root, need_x86_64)
def what_a_library_reads_for_minutes_costs_its_names():
    with open(target("attach"), "rb") as file:
        program = file.read()
    with scratch() as folder:
        path = write(folder, "bomb", bombs.abbreviations_of_all(program), 0o755)
        report = run_program(folder, path)
        assert set(unread(report)) == {"symbols-unread"}, unread(report)
        assert allocations(report, path) > 0, report["processes"]


@test(need_root, need_x86_64, need_long, timeout=120)
def one_after_the_other_keeps_nobody_busy():
    """Those of one user: twenty of them would take a minute, and his budget is 15 s."""
    with open(target("attach"), "rb") as file:
        program = bombs.abbreviations_of_all(file.read())
    with scratch() as folder:
        paths = [write(folder, f"bomb{i}", program, 0o755) for i in range(20)]
        good = write(folder, "good", open(target("attach"), "rb").read(), 0o755)
        for path in paths:
            os.chown(path, 65533, 65533)
        report = run_program(folder, *paths, good)
        assert unread(report)["symbols-unread"] >= 20, unread(report)
        frames = [frame for process in report["processes"] for site in heap_sites(process)
                  for frame in site["frames"] if frame["object"] == good]
        assert frames and all(frame["function"] for frame in frames), frames
