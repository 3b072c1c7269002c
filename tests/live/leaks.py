# SPDX-License-Identifier: GPL-2.0-or-later
"""Leak checks of one program by memcheck and by memtraced, side by side."""

import functools
import os
import pwd
import re
import time

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


def as_user(name):
    """What runs a command as memtraced's --run-as does."""
    user = pwd.getpwnam(name)
    return ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--init-groups", "env",
            f"HOME={user.pw_dir}", f"USER={name}", f"LOGNAME={name}", f"SHELL={user.pw_shell}"]


def memcheck(command, *options, timeout=120, user=None, **how):
    """Its text, in which there is nothing of the program's. A breakpoint of probes that another
    tracer has put into all processes is an instruction to it that ends the program: then again."""
    before = as_user(user) if user else []
    for _ in range(10):
        with scratch() as folder:
            path = os.path.join(folder, "log")
            run([*before, "valgrind", "--leak-check=full", f"--log-file={path}", *options,
                 *command], timeout=timeout, **how)
            with open(path, encoding="utf-8", errors="replace") as file:
                text = file.read()
        if "(SIGTRAP)" not in text:
            return text
        time.sleep(2)
    raise AssertionError("another tracer's breakpoints end the program under memcheck")


@functools.lru_cache(maxsize=1)
def memcheck_variables():
    """What memcheck adds to a program's environment, whose copies are blocks of their own size:
    the same for memtraced, but for the name of what ld.so would load here."""
    added = []
    for line in run(["valgrind", "-q", "env"]).stdout.splitlines():
        name, _, value = line.partition("=")
        if name not in os.environ:
            added.append(f"--env={name.replace('PRELOAD', 'PRELOAX')}={value}")
    assert any("PRELOAX" in word for word in added), added
    return added


def checked(command, *options, timeout=120, user=None, **how):
    """The same of memtraced."""
    options += (f"--run-as={user}",) if user else ()
    with scratch() as folder:
        path = os.path.join(folder, "log")
        done = run([memtraced(), "--leak-check=full", f"--log-file={path}", *options, "--",
                    *command], timeout=timeout, **how)
        assert os.path.exists(path), f"no text; {done.returncode}: {done.stderr[-2000:]}"
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()


def leaker(name):
    return target(os.path.join("leaks", name))


def records(text):
    """[(bytes, direct, indirect, blocks, kind, functions)] of the loss records."""
    found = []
    head = re.compile(r"==\d+== ([\d,]+) (?:\(([\d,]+) direct, ([\d,]+) indirect\) )?bytes in "
                      r"([\d,]+) blocks are ([a-z ]+) in loss record [\d,]+ of [\d,]+$")
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


ALLOCATES = {"malloc", "calloc", "realloc", "memalign", "posix_memalign", "aligned_alloc"}

def plain(function):
    """Without versions, without what libc's own calls of its functions are named by, and without
    Rust's scopes, which memcheck does not have of inlined functions."""
    name = re.sub(r"^__GI_", "", function.split("@")[0])
    return name if "(" in name else name.rpartition("::")[2]


# The nearer to lost, the lower. Which block of a cycle is the one that others hang on its address
# says, and differs from run to run.
LEVELS = {"definitely lost": 0, "indirectly lost": 0, "possibly lost": 1, "still reachable": 2}


def by_place(found):
    """{functions but for the allocator's: [[bytes, blocks] of each level]}. ld.so's functions, and
    libc's of two names, are not named alike, so the first callers tell."""
    places = {}
    for _total, direct, _indirect, blocks, kind, functions in found:
        # setenv jumps to what it calls
        callers = [plain(name) for name in functions if name != "setenv"]
        while callers and (callers[0] in ALLOCATES or callers[0].startswith("operator new")):
            del callers[0]
        sums = places.setdefault(tuple(callers[:2]), [[0, 0] for _ in range(3)])
        sums[LEVELS[kind]][0] += direct
        sums[LEVELS[kind]][1] += blocks
    return places


def total(sums):
    return [sum(level[i] for level in sums) for i in range(2)]


def attribute(ours, theirs):
    """What differs between two lists of records: [(reason, place, our levels, theirs)]. STALE: what
    memcheck calls lost is held here. WORSE: the contrary. OTHER: not the same blocks."""
    mine, other = by_place(ours), by_place(theirs)
    none = [[0, 0]] * 3
    differences = []
    for place in sorted(set(mine) | set(other), key=str):
        here, there = mine.get(place, none), other.get(place, none)
        worse = any(sum(level[1] for level in here[:n]) > sum(level[1] for level in there[:n])
                    for n in (1, 2))
        if total(here) != total(there):
            differences.append((OTHER, place, here, there))
        elif here != there:
            differences.append((WORSE if worse else STALE, place, here, there))
    return differences


STALE, WORSE, OTHER = "stale", "worse", "other"
