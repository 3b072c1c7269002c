# SPDX-License-Identifier: GPL-2.0-or-later
"""What a histogram of one system call costs that call and others, with memtraced and with
bpftrace: a loop of read, which is observed, a loop of getppid, which is not, and dd, which reads
and writes in turn."""

import dataclasses
import shutil

import rounds
import stats
from columns import Bare, Column, Memtraced
from lines import Line
from measure import run_held
from peers import Stable
from rows import Row

COUNTS = {True: 300_000, False: 2_000_000}  # quick


class Histogram(Memtraced):
    @staticmethod
    def take_counts(sample, report):
        """Allocations are not traced here."""


@dataclasses.dataclass
class BpftraceHistogram(Column):
    SCRIPT = "tracepoint:syscalls:sys_exit_read /pid == PID/ { @ = hist(args->ret); }"

    def missing(self, place):
        return None if shutil.which("bpftrace") else "bpftrace is not installed"

    def run(self, place, row, limit_s):
        sample, _ = run_held(
            place, row,
            lambda pid: ["bpftrace", "-p", str(pid), "-e", self.SCRIPT.replace("PID", str(pid))],
            Stable(1), limit_s=limit_s)
        return sample


def measure(place, limits, quick, start):
    count = COUNTS[quick]
    program = place.program("syscalls")
    rows = [
        Row("read", [program, "read", str(count)]),
        Row("getppid", [program, "getppid", str(count)]),
        Row("dd", ["dd", "if=/dev/zero", "of=/dev/null", "bs=1", f"count={count}", "status=none"]),
    ]
    what = {"read": "read, observed", "getppid": "getppid, not observed",
            "dd": "dd, a read and a write"}
    columns = [Bare("bare", "bare"),
               Histogram("hist", "memtraced --hist read", options=("--hist", "read"),
                         needs="--hist"),
               BpftraceHistogram("bpftrace", "bpftrace's hist()")]
    results = rounds.measure_all(place, rows, columns, limits, start)
    lines = []
    for row in rows:
        bare = results.cpu(row.name, "bare")
        others = results.disturbed.get(row.name)
        disturbed = f"{others} programs of other tracers" if others else ""
        lines.append(Line(f"syscall.{row.name}.bare", f"{what[row.name]}: bare",
                          [cpu / count * 1e9 for cpu in bare.values()], "ns a call",
                          disturbed))
        for column in columns[1:]:
            cell = results.cell(row.name, column.key)
            added = stats.paired(cell.values("cpu_s"), bare,
                                 lambda with_it, without: (with_it - without) / count * 1e9)
            lines.append(Line(f"syscall.{row.name}.{column.key}",
                              f"{what[row.name]}: {column.title} adds", added, "ns a call",
                              results.missing.get(column.title) or cell.note or disturbed))
    return lines
