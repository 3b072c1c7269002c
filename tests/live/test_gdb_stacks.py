# SPDX-License-Identifier: GPL-2.0-or-later
"""Are the stacks those that gdb sees at the same stop? Without randomised addresses a program is
the same twice: each call of a function that allocates once, under gdb and under memtraced."""

import collections
import os

from lib import (exact, heap_sites, need_probes, need_program, need_root, run, scaled, scratch,
                 target, test, trace)
from stacks_table import Table

BESIDE_OTHERS = True
# What is run, and the function in it at whose calls gdb looks at the stack.
PROGRAMS = {
    "C": (["unwinding", "plain"], "allocate"),
    "C -O3": (["unwinding-o3", "plain"], "allocate"),
    "alloca and variable arrays": (["unwinding-o3", "variable"], "allocate"),
    "realigned frames": (["unwinding-o3", "aligned"], "allocate"),
    "stubs that jump on": (["unwinding", "stubs"], "allocate"),
    "frames by rbx": (["unwinding", "rbx"], "allocate"),
    "callbacks of libc": (["unwinding-o3", "sorted"], "allocate"),
    "signal handlers": (["unwinding-o3", "raised"], "allocate"),
    "signal handlers on a stack of their own": (["unwinding", "altstack"], "allocate"),
    "C++ exceptions": (["exceptions"], "__cxa_allocate_exception"),
}

GDB_SCRIPT = """
import gdb

for words in ("set breakpoint pending on", "set backtrace past-main on",
              "set backtrace past-entry on", "handle all nostop noprint pass"):
    gdb.execute(words)


class Stop(gdb.Breakpoint):
    def stop(self):
        addresses, frame = [], gdb.newest_frame().older()
        while frame:
            # Of a function that jumped to the next gdb infers a frame, which is on no stack.
            if frame.type() not in (gdb.INLINE_FRAME, gdb.TAILCALL_FRAME):
                addresses.append(hex(frame.pc()))
            frame = frame.older()
        print("stack", *addresses, flush=True)
        return False


Stop("*{function}")
gdb.execute("run")
"""


def stacks_of_gdb(command, function):
    """The callers of the function by their return addresses, and how often it had them."""
    with scratch() as folder:
        script = os.path.join(folder, "stops.py")
        with open(script, "w", encoding="ascii") as file:
            file.write(GDB_SCRIPT.format(function=function))
        done = run(["gdb", "-nx", "-batch", "-x", script, "--args", *command], timeout=300)
    assert "exited normally" in done.stdout, done.stdout[-2000:] + done.stderr[-2000:]
    return collections.Counter(tuple(line.split()[1:]) for line in done.stdout.splitlines()
                               if line.startswith("stack "))


def our_stacks(command, function):
    report = trace(["setarch", "-R", *command], library=None, timeout=120).report
    exact(report)
    stacks = collections.Counter()
    images = [process for process in report["processes"]
              if process["comm"] == os.path.basename(command[0])[:15]]
    assert len(images) == 1, [process["comm"] for process in report["processes"]]
    for site in heap_sites(images[0]):
        frames = [frame for frame in site["frames"][1:] if not frame["inline"]]
        if frames and frames[0]["function"] == function:
            stacks[tuple(frame["addr"] for frame in frames[1:])] += site["allocs"]
    return stacks


@test(need_root, need_probes("addresses as under gdb"), need_program("gdb", "setarch"),
      each=PROGRAMS, in_turn=2, timeout=120)
def stacks_are_those_of_gdb(name):
    words, function = PROGRAMS[name]
    n = scaled(60, 600)
    command = [target(words[0]), *words[1:], str(n)]
    theirs, ours = stacks_of_gdb(command, function), our_stacks(command, function)
    assert sum(theirs.values()) >= n, theirs
    assert ours == theirs, f"ours alone: {ours - theirs}\ngdb's alone: {theirs - ours}"
    Table.say(Table.gdb, f"{name:40} {sum(theirs.values()):5} stacks, {len(theirs):4} different")
