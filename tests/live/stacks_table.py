# SPDX-License-Identifier: GPL-2.0-or-later
"""What the tests of stacks print, as a document: docs/results/."""

import os

from lib import run_memtraced, scaled

DOCUMENT = """# Stacks: ours against libdwfl's and gdb's

Made by `tests/live/test_stacks.py` and `test_gdb_stacks.py` with `MEMTRACED_STACKS`
(docs/hacking/unwinding.md, "Are the stacks right?", which says what the words mean): memtraced
{version} on Linux {kernel}, {machine}{size}.

Each line of the first table is a run with `--check-stacks`: the same registers and a copy of the
same stack memory, walked by the programs and, in user space, by elfutils' libdwfl. *Identical* has
in it `identical-reference-failed` (the same frames, where libdwfl cannot tell that these are all:
ld.so's entry has no information, so all of clang's constructors are among them) and
`identical-by-frame-pointer` (both have to guess).

```
{libdwfl}
```

- `rbx` is not to be followed: a CFA in rbx. Of code that was built with frame pointers around it,
  both guess alike.

gdb stops at each call of a function that allocates once; these stacks are all equal to ours, by
address and as often:

```
{gdb}
```
"""

PROGRAMS = """# Stacks of programs of many kinds

Made by `tests/live/test_stack_programs.py` with `MEMTRACED_STACK_PROGRAMS`: memtraced {version} on
Linux {kernel}, {machine}. Each allocation's stack counts. *Compared* stacks were walked by
elfutils' libdwfl as well (docs/hacking/unwinding.md, "Are the stacks right?"); no compared stack
has other frames than libdwfl's. Stacks of musl, Haskell, Go and SBCL go through code about which
libdwfl has no information, or on to a stack of which it has no copy: these are not compared, but
Go's are with what Go says (test_go_stacks.py). *Cut* says why stacks are not complete.

```
{heading}
{rows}
```
{less}"""
HEADING = f"{'program':18} {'stacks':>9} {'complete':>11} {'compared':>9} {'identical':>9}  cut"


def write_programs(path, less):
    """`less`: names of programs of which less is complete, with the reason."""
    uname = os.uname()
    version = run_memtraced("--version").stdout.split()[1]
    reasons = "".join(f"\n- {name}: {reason}" for name, reason in less.items())
    with open(path, "w", encoding="utf-8") as file:
        file.write(PROGRAMS.format(version=version, kernel=uname.release, machine=uname.machine,
                                   heading=HEADING, rows="\n".join(Table.programs),
                                   less=reasons + "\n" if reasons else ""))


class Table:
    """Of all programs so far: what was compared, identical, wrong. And what is printed of it."""
    rows = []
    libdwfl, gdb, programs = [], [], []

    @staticmethod
    def say(lines, line):
        print(f"# {line}", flush=True)
        lines.append(line)

    @classmethod
    def write(cls, path):
        uname = os.uname()
        version = run_memtraced("--version").stdout.split()[1]
        size = ", at full size" if scaled(False, True) else ""
        with open(path, "w", encoding="utf-8") as file:
            file.write(DOCUMENT.format(version=version, kernel=uname.release, size=size,
                                       machine=uname.machine, gdb="\n".join(cls.gdb),
                                       libdwfl="\n".join(cls.libdwfl)))
