# SPDX-License-Identifier: GPL-2.0-or-later
"""The columns of other tools, as far as they are installed and work here."""

import dataclasses
import glob
import os
import re
import shutil
import subprocess

from columns import Column
from measure import Failed, run_held, run_under


@dataclasses.dataclass
class Heaptrack(Column):
    raw: bool = False

    def missing(self, place):
        return None if shutil.which("heaptrack") else "heaptrack is not installed"

    def run(self, place, row, limit_s):
        out = place.file("heaptrack")
        for old in glob.glob(out + ".*"):
            os.unlink(old)
        before = ["heaptrack", *(["-r"] if self.raw else []), "-o", out]
        sample, _, _ = run_under(place, row.times(self.pairs), before=before, limit_s=limit_s)
        sample.tool_rss_kib = None  # a pipeline of processes
        sample.allocs = self.recorded(glob.glob(out + ".*")) if row.small else None
        return sample

    @staticmethod
    def recorded(paths):
        """Allocations are lines that begin with "+" in both of its formats."""
        if len(paths) != 1:
            raise Failed("heaptrack wrote nothing")
        unpack = "zstd" if paths[0].endswith(".zst") else "gzip"
        count = f"{unpack} -dc {paths[0]} | grep -c '^+'"
        done = subprocess.run(count, shell=True, capture_output=True, text=True, check=False)
        return int(done.stdout or 0)


@dataclasses.dataclass
class Valgrind(Column):
    tool: str = "memcheck"
    count: str = r"total heap usage: ([\d,]+) allocs"
    options: tuple = ()

    def missing(self, place):
        return None if shutil.which("valgrind") else "valgrind is not installed"

    def run(self, place, row, limit_s):
        inside = ["valgrind", f"--tool={self.tool}", *self.options]
        sample, _, output = run_under(place, row.times(self.pairs), inside=inside, limit_s=limit_s)
        seen = re.search(self.count, output)
        sample.allocs = int(seen.group(1).replace(",", "")) if seen else None
        return sample


LINKS = ("anon_inode:[perf_event]", "anon_inode:bpf_link")


def links(pid):
    """By how many perf events and links of BPF a process is attached to something."""
    count = 0
    folder = f"/proc/{pid}/fd"
    for name in os.listdir(folder):
        try:
            count += os.readlink(os.path.join(folder, name)) in LINKS
        except FileNotFoundError:
            pass
    return count


class Stable:
    """ready() for run_held: at least so many links, and no more since some polls."""

    def __init__(self, least, polls=30):
        self.least, self.polls = least, polls
        self.last, self.unchanged = 0, 0

    def __call__(self, pid):
        count = links(pid)
        self.unchanged = self.unchanged + 1 if count == self.last else 0
        self.last = count
        return count >= self.least and self.unchanged >= self.polls


class Bpftrace(Column):
    """What bcc's memleak does, as a script: sizes by thread between entry and return, outstanding
    blocks by address with size, time and stack, allocations by stack. Its -p does not filter
    uprobes of a path (0.17: they are host-wide), so the script does."""

    SCRIPT = """
uprobe:LIB:malloc /pid == PID/ { @size[tid] = arg0; }
uprobe:LIB:calloc /pid == PID/ { @size[tid] = arg0 * arg1; }
uprobe:LIB:realloc /pid == PID/ { delete(@block[arg0]); @size[tid] = arg1; }
uretprobe:LIB:malloc, uretprobe:LIB:calloc, uretprobe:LIB:realloc /pid == PID && @size[tid]/ {
    @block[retval] = (@size[tid], nsecs, ustack);
    @by_stack[ustack] = count();
    @allocations = count();
    delete(@size[tid]);
}
uprobe:LIB:free /pid == PID && @block[arg0].0/ { delete(@block[arg0]); }
END { clear(@size); clear(@block); clear(@by_stack); }
"""
    PROBES = 7

    def missing(self, place):
        return None if shutil.which("bpftrace") else "bpftrace is not installed"

    def run(self, place, row, limit_s):
        script = self.SCRIPT.replace("LIB", row.allocator)
        sample, output = run_held(
            place, row,
            lambda pid: ["bpftrace", "-p", str(pid), "-e", script.replace("PID", str(pid))],
            Stable(self.PROBES), env={"BPFTRACE_MAP_KEYS_MAX": "1000000"}, limit_s=limit_s)
        seen = re.search(r"@allocations: (\d+)", output)
        sample.allocs = int(seen.group(1)) if seen else 0
        return sample


class Memleak(Column):
    PROBES = 8
    NAMES = ("memleak-bpfcc", "memleak")

    def program(self):
        return next(filter(None, (shutil.which(name) for name in self.NAMES)), None)

    def missing(self, place):
        program = self.program()
        if not program:
            return "memleak is not installed"
        # It compiles its programs at start, for which bcc wants the kernel's headers.
        release = os.uname().release
        if not (os.path.isdir(f"/lib/modules/{release}/build")
                or os.path.exists("/sys/kernel/kheaders.tar.xz")):
            return "memleak is not usable: no kernel headers for " + release
        return None

    def run(self, place, row, limit_s):
        words = [self.program(), "-O", row.allocator, "-p"]
        sample, _ = run_held(place, row, lambda pid: [*words, str(pid), "3600"],
                             Stable(self.PROBES), limit_s=limit_s)
        return sample


def peer_columns():
    return [
        Heaptrack("heaptrack_raw", "heaptrack -r", pairs=5, raw=True),
        Heaptrack("heaptrack", "heaptrack", pairs=5),
        Valgrind("memcheck", "memcheck", slow=True, pairs=5),
        Valgrind("massif", "massif", slow=True, pairs=5, tool="massif",
                 count=r"heap allocs:\s+([\d,]+)",
                 options=("--stats=yes", "--massif-out-file=/dev/null")),
        Bpftrace("bpftrace", "bpftrace", slow=True),
        Memleak("memleak", "memleak", slow=True),
    ]
