# SPDX-License-Identifier: GPL-2.0-or-later
"""Massif's format as ms_print shows it."""

import os
import re
import sys

import clients
from lib import (heap_sites, load_report, need_program, need_root, run, run_memtraced, scratch,
                 target, test, total, with_function)

BESIDE_OTHERS = True
CHECKER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "replay",
                       "check_massif.py")


def number(text):
    return int(text.replace(",", ""))


class Printed:
    """What ms_print shows of a file: rows of (number, time, total, useful, extra, stacks), which
    one is the peak, and of each detailed one the lines of its tree as (bytes, label)."""

    def __init__(self, path):
        done = run([sys.executable, CHECKER, path])
        assert done.returncode == 0, done.stdout
        done = run(["ms_print", "--threshold=0", path])
        assert done.returncode == 0 and not done.stderr, done.stderr
        self.text, self.rows, self.trees = done.stdout, [], {}
        self.peak = re.search(r"(\d+) \(peak\)", done.stdout)
        self.peak = self.peak and int(self.peak.group(1))
        for line in done.stdout.splitlines():
            if re.fullmatch(r" *\d+(?: +[\d,]+){5}", line):
                self.rows.append([number(word) for word in line.split()])
            elif match := re.match(r"[ |]*(?:->)?\d+\.\d\d% \(([\d,]+)B\) (.*)", line):
                self.trees.setdefault(self.rows[-1][0], []).append(
                    (number(match.group(1)), match.group(2)))

    def bytes_of(self, snapshot, function):
        return sum(size for size, label in self.trees[snapshot]
                   if re.match(rf"0x[0-9A-F]+: {function} ", label))


def traced(folder, *args):
    path, report = os.path.join(folder, "massif"), os.path.join(folder, "json")
    done = run_memtraced("--threshold=0", *args, "-o", f"massif:{path}.%p", "-o",
                         f"json:{report}", "--", target("leak"), "1200", "1000")
    assert done.returncode == 0, done.stderr
    process, = load_report(report)["processes"]
    printed = Printed(f"{path}.{process['pid']}")
    assert f"Command:            {target('leak')} 1200 1000\n" in printed.text, printed.text
    return printed, process


def is_what_we_report(printed, process):
    alloc, sites = process["alloc"], heap_sites(process)
    clients.same("ms_print", "massif", "peak", printed.rows[printed.peak][2], alloc["peak_bytes"])
    clients.same("ms_print", "massif", "at the end", printed.rows[-1][2], alloc["live_bytes"])
    for row, key in ((printed.peak, "peak_bytes"), (len(printed.rows) - 1, "live_bytes")):
        ours = total(with_function(sites, "leak_one"), key)
        assert ours > 0 and printed.bytes_of(row, "leak_one") == ours, (printed.text, ours)
        assert printed.trees[row][0][0] == total(sites, key), printed.text


@test(need_root, need_program("ms_print"))
def ms_print_shows_what_we_report():
    with scratch() as folder:
        printed, process = traced(folder, "--sample-interval=0.1")
        is_what_we_report(printed, process)
        points = process["timeline"]["points"]
    # each tenth is detailed, beside the peak and the end; the time is the program's own
    assert {9} <= printed.trees.keys() or len(points) < 10, printed.text
    # the peak is one more, unless one of them is of its moment
    assert len(printed.rows) - len(points) in (0, 1), (printed.text, points)
    plain = [row for row in printed.rows
             if row[0] != printed.peak or len(printed.rows) == len(points)]
    assert [row[2] for row in plain] == [point["live_bytes"] for point in points], printed.text
    # since the program began, and not since memtraced did
    before = [point["time_ns"] / 1e6 - row[1] for row, point in zip(plain, points)]
    assert min(before) > 0 and max(before) - min(before) <= 1, (before, printed.text, points)
    # what leak_one gave, 64 to 127 bytes in turn, is there still
    ours = sum(64 + i % 64 for i in range(1200))
    assert printed.bytes_of(len(plain), "leak_one") == ours, printed.text


@test(need_root, need_program("ms_print"))
def time_can_be_bytes_and_snapshots_few():
    with scratch() as folder:
        printed, process = traced(folder, "--sample-interval=0.05", "--max-snapshots=10",
                                  "--time-unit=B")
        is_what_we_report(printed, process)
    assert len(printed.rows) == 10, printed.text
    assert printed.rows[-1][1] == process["alloc"]["bytes"], (printed.text, process["alloc"])
    assert "time(B)" in printed.text


@test(need_root, need_program("ms_print"))
def several_processes_need_a_file_each():
    with scratch() as folder:
        script = f"{target('leak')} 10 0 & {target('leak')} 20 0 & wait"
        path, report = os.path.join(folder, "massif"), os.path.join(folder, "json")
        done = run_memtraced("-o", f"massif:{path}", "-o", f"massif:{path}.%p", "-o",
                             f"json:{report}", "--", "sh", "-c", script)
        assert done.returncode != 0 and "with %p in PATH" in done.stderr, done.stderr
        assert not os.path.exists(path)
        leaks = [process for process in load_report(report)["processes"]
                 if process["comm"] == "leak"]
        assert len(leaks) == 2, leaks
        for process in leaks:
            is_what_we_report(Printed(f"{path}.{process['pid']}"), process)


@test(need_root)
def without_allocations_there_is_nothing_to_show():
    done = run_memtraced("-f", "massif", "-e", "write", "--", "true")
    assert done.returncode != 0 and "trace them with --alloc" in done.stderr, done.stderr
    assert not done.stdout, done.stdout
