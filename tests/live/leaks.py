# SPDX-License-Identifier: GPL-2.0-or-later
"""Leak checks of one program by memcheck and by memtraced, side by side."""

import functools
import os
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


def memcheck(command, *options, timeout=120):
    """Its text, in which there is nothing of the program's. A breakpoint of probes that another
    tracer has put into all processes is an instruction to it that ends the program: then again."""
    for _ in range(10):
        with scratch() as folder:
            path = os.path.join(folder, "log")
            run(["valgrind", "--leak-check=full", f"--log-file={path}", *options, *command],
                timeout=timeout)
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


# Programs of the distribution: what is run of each.
REAL = {
    "git": ["git", "-C", "/", "help", "-a"],
    "sqlite3": ["sqlite3", ":memory:", "create table t(a, b); insert into t values(1, 2), (3, 4); "
                "create index i on t(b); select sum(a * b) from t;"],
    "python3": ["/usr/bin/python3", "-S", "-c",
                "import json; print(len(json.dumps(list(range(1000)))))"],
    "xmllint": ["xmllint", "--noout", "/usr/share/mime/packages/freedesktop.org.xml"],
    "openssl": ["openssl", "dgst", "-sha256", "/etc/passwd"],
}

ALLOCATES = {"malloc", "calloc", "realloc", "memalign", "posix_memalign", "aligned_alloc"}

# From the worst on.
KIND_ORDER = ("definitely lost", "indirectly lost", "possibly lost", "still reachable")


def plain(function):
    """Without versions, and without what libc's own calls of its functions are named by."""
    return re.sub(r"^__GI_", "", function.split("@")[0])


def spread(found):
    """Records by place and sizes: {(functions but for the allocator's, bytes, blocks): [kind]}.
    ld.so's functions, and libc's of two names, are not named alike, so the first callers tell."""
    places = {}
    for _total, direct, _indirect, blocks, kind, functions in found:
        # setenv jumps to what it calls
        callers = [plain(name) for name in functions if name != "setenv"]
        while callers and callers[0] in ALLOCATES:
            del callers[0]
        places.setdefault((tuple(callers[:2]), direct, blocks), []).append(kind)
    return {place: sorted(kinds, key=KIND_ORDER.index) for place, kinds in places.items()}


def attribute(ours, theirs):
    """What differs between two lists of records, each with its reason: [(reason, place, our
    kinds, their kinds)]; without one it is None."""
    mine, other = spread(ours), spread(theirs)
    differences = []
    for place in sorted(set(mine) | set(other), key=str):
        here, there = mine.get(place, []), other.get(place, [])
        if here == there:
            continue
        reason = None
        if len(here) == len(there) and all(
                KIND_ORDER.index(a) >= KIND_ORDER.index(b) for a, b in zip(here, there)):
            reason = "a word that memcheck knows not to be set any more"
        differences.append((reason, place, here, there))
    return differences
