# SPDX-License-Identifier: GPL-2.0-or-later
"""Leak checks of one program by memcheck and by memtraced, side by side."""

import os
import re

from lib import memtraced, run, scratch, target

KINDS = ("definitely lost", "indirectly lost", "possibly lost", "still reachable", "suppressed")


class Sums(dict):
    """{kind: (bytes, blocks)} of a LEAK SUMMARY, and of a HEAP SUMMARY "in use"."""

    def lost_and_held(self):
        return tuple(self[kind] for kind in KINDS[:4])

    def __str__(self):
        return "  ".join(f"{size}/{blocks}" for size, blocks in self.lost_and_held())


def number(text):
    return int(text.replace(",", ""))


def read_sums(text):
    """The sums of the last check in the text."""
    sums = Sums()
    used = re.findall(r"in use at exit: ([\d,]+) bytes in ([\d,]+) blocks", text)
    assert used, f"no HEAP SUMMARY in: {text[-2000:]}"
    sums["in use"] = tuple(number(n) for n in used[-1])
    for kind in KINDS:
        found = re.findall(rf"{kind}: ([\d,]+) bytes in ([\d,]+) blocks", text)
        sums[kind] = tuple(number(n) for n in found[-1]) if found else (0, 0)
    return sums


def memcheck(command, *options, timeout=120):
    """Its text, in which there is nothing of the program's."""
    with scratch() as folder:
        path = os.path.join(folder, "log")
        run(["valgrind", "--leak-check=full", f"--log-file={path}", *options, *command],
            timeout=timeout)
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()


def checked(command, *options, timeout=120):
    """The same of memtraced."""
    with scratch() as folder:
        path = os.path.join(folder, "log")
        done = run([memtraced(), "--leak-check=full", f"--log-file={path}", *options, "--",
                    *command], timeout=timeout)
        assert os.path.exists(path), f"no text; {done.returncode}: {done.stderr[-2000:]}"
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()


def leaker(name):
    return target(os.path.join("leaks", name))


def records(text):
    """[(bytes, direct, indirect, blocks, kind, functions)] of the loss records."""
    found = []
    head = re.compile(r"==\d+== ([\d,]+) (?:\(([\d,]+) direct, ([\d,]+) indirect\) )?bytes in "
                      r"([\d,]+) blocks are ([a-z ]+) in loss record \d+ of \d+$")
    frame = re.compile(r"==\d+==    (?:at|by) 0x[0-9A-F]+: (.*) \((.*)\)$")
    for line in text.splitlines():
        match = head.match(line)
        if match:
            total, direct, indirect, blocks, kind = match.groups()
            found.append((number(total), number(direct or total), number(indirect or "0"),
                          number(blocks), kind, []))
            continue
        match = frame.match(line)
        if match and found:
            found[-1][5].append(match.group(1))
    return found
