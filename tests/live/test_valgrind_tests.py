# SPDX-License-Identifier: GPL-2.0-or-later
"""Valgrind's own tests under memcheck and under `memtraced valgrind`: the sums of leaks. They are
not here: MEMTRACED_VALGRIND_SOURCE is a folder of its source where ./configure and, in each folder
of FOLDERS, `make check-am` have run."""

import collections
import glob
import os
import re
import shlex
import subprocess

from leaks import KINDS, memcheck_variables, number
from lib import LONG, ROOT, Skip, memtraced, need_long, need_program, need_root, run, scratch, test

BESIDE_OTHERS = True
TRANSLATES = True
SOURCE = os.environ.get("MEMTRACED_VALGRIND_SOURCE", "")
FOLDERS = ("memcheck/tests", "memcheck/tests/linux", "memcheck/tests/amd64",
           "memcheck/tests/amd64-linux", "none/tests", "none/tests/linux",
           "none/tests/amd64", "none/tests/amd64-linux", "massif/tests", "dhat/tests")
# What changes the sums; all else is about how Valgrind runs, or writes.
OPTIONS = re.compile("--(leak-check-heuristics|suppressions|run-libc-freeres|run-cxx-freeres|"
                     "default-suppressions|trace-children=|soname-synonyms)")
LIMIT_S = 20

# Tests whose sums differ, and why.
REQUESTS = "client requests do nothing outside of Valgrind: memtraced.h has them"
POOLS = "requests of memory pools do nothing outside of Valgrind: memtraced_pools.h has them"
WRAPS = "wraps functions, which calls them more often, by client requests"
FORKS = "a forked process has its own calls alone in its total heap usage"
LOW = "memcheck's heap is at low addresses, for which it takes numbers"
RUNS_ELSEWISE = "runs in another way outside of Valgrind"
DIFFERENCES = {
    "memcheck/tests/addressable": FORKS,
    "memcheck/tests/atomic_incs": FORKS,
    "memcheck/tests/noisy_child": FORKS,
    "memcheck/tests/custom-overlap": REQUESTS,
    "memcheck/tests/custom_alloc": REQUESTS,
    "memcheck/tests/origin1-yes": REQUESTS,
    "memcheck/tests/mempool": POOLS,
    "memcheck/tests/mempool2": POOLS,
    **{f"memcheck/tests/leak-pool-{i}": POOLS for i in range(6)},
    **{f"memcheck/tests/leak-autofreepool-{i}": POOLS for i in (0, 1, 2, 4, 5, 6)},
    "memcheck/tests/wrap5": WRAPS,
    "memcheck/tests/wrap6": WRAPS,
    "memcheck/tests/wrap8": WRAPS,
    "memcheck/tests/mallinfo": RUNS_ELSEWISE + ": it fails, as glibc's mallinfo() has other sums",
    "memcheck/tests/sh-mem": RUNS_ELSEWISE + ": it ends at once",
    "memcheck/tests/sh-mem-random": RUNS_ELSEWISE + ": it ends at once",
    "memcheck/tests/linux/getregset": "traces its child by ptrace(2), which memtraced holds",
    "memcheck/tests/amd64/xsave-avx": RUNS_ELSEWISE + ": it refuses a CPU with other features",
    "memcheck/tests/malloc3": "memcheck refuses calloc(0, -1), glibc gives a block",
    "memcheck/tests/linux/enomem": "memcheck counts a realloc that has failed",
    "memcheck/tests/static_malloc": "has a malloc of its own without free: memcheck is told by an "
                                    "option to take its place",
    "memcheck/tests/origin6-fp": LOW,
    "none/tests/pth_atfork1": FORKS,
    "none/tests/threaded-fork": FORKS,
    "massif/tests/big-alloc": LOW,
    "massif/tests/custom_alloc": REQUESTS,
}

# The requests of memcheck.h as memtraced.h has them.
AS_MEMTRACED = """
#include "memcheck.h"
#include "memtraced.h"
#include "memtraced_pools.h"
#undef VALGRIND_DO_LEAK_CHECK
#undef VALGRIND_DO_QUICK_LEAK_CHECK
#undef VALGRIND_DO_ADDED_LEAK_CHECK
#undef VALGRIND_DO_CHANGED_LEAK_CHECK
#undef VALGRIND_MALLOCLIKE_BLOCK
#undef VALGRIND_FREELIKE_BLOCK
#undef VALGRIND_MEMPOOL_ALLOC
#undef VALGRIND_MEMPOOL_FREE
#undef VALGRIND_MEMPOOL_TRIM
#undef VALGRIND_MEMPOOL_CHANGE
#undef VALGRIND_MOVE_MEMPOOL
#undef VALGRIND_DESTROY_MEMPOOL
#define VALGRIND_DO_LEAK_CHECK memtraced_do_leak_check()
#define VALGRIND_DO_QUICK_LEAK_CHECK memtraced_do_quick_leak_check()
#define VALGRIND_DO_ADDED_LEAK_CHECK memtraced_do_added_leak_check()
#define VALGRIND_DO_CHANGED_LEAK_CHECK memtraced_do_changed_leak_check()
#define VALGRIND_MALLOCLIKE_BLOCK(p, size, redzone, zeroed) \\
    ((void) memtraced_malloclike_block((void *) (p), size))
#define VALGRIND_FREELIKE_BLOCK(p, redzone) memtraced_freelike_block((void *) (p))
#define VALGRIND_MEMPOOL_ALLOC(pool, p, size) ((void) memtraced_mempool_alloc(pool, p, size))
#define VALGRIND_MEMPOOL_FREE(pool, p) memtraced_mempool_free(pool, p)
#define VALGRIND_MEMPOOL_TRIM(pool, p, size) memtraced_mempool_trim(pool, p, size)
#define VALGRIND_MEMPOOL_CHANGE(pool, from, to, size) memtraced_mempool_change(pool, from, to, size)
#define VALGRIND_MOVE_MEMPOOL(from, to) memtraced_move_mempool(from, to)
#define VALGRIND_DESTROY_MEMPOOL(pool) memtraced_destroy_mempool(pool)
"""
ASKING = ("leak-0", "leak-cases", "leak-cycle", "leak-delta", "leak-tree", "error_counts")


def need_source():
    if not os.path.isfile(os.path.join(SOURCE, "memcheck", "memcheck.h")):
        raise Skip("MEMTRACED_VALGRIND_SOURCE is not a folder of Valgrind's source")


class Case:
    """A .vgtest file."""
    def __init__(self, path):
        with open(path, encoding="utf-8", errors="replace") as file:
            says = dict(re.findall(r"^(prog|args|vgopts):[ \t]*(.*)$", file.read(), re.M))
        self.folder = os.path.dirname(path)
        self.name = os.path.relpath(path, SOURCE)[:-len(".vgtest")]
        program = says.get("prog", "").strip()
        self.is_built = program and os.path.isfile(os.path.join(self.folder, program))
        self.command = [f"./{program}", *shlex.split(says.get("args", ""))]
        self.options = [word for word in shlex.split(says.get("vgopts", ""))
                        if OPTIONS.match(word)]


def run_in(folder, command, limit_s=LIMIT_S):
    """Its exit status; None: it has not ended in time, or cannot be run."""
    try:
        return run(command, timeout=limit_s, cwd=folder, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL).returncode
    except (subprocess.TimeoutExpired, OSError):
        return None


def checks(text):
    """Of each process: the sums of its checks, and its total heap usage. Sorted."""
    processes = collections.defaultdict(lambda: ([], []))
    for pid, line in re.findall(r"^==(\d+)== ?(.*)$", text, re.M):
        sums, usage = processes[pid]
        if line.startswith("LEAK SUMMARY"):
            sums.append([])
        elif line.startswith("All heap blocks were freed"):
            sums.append([(0, 0)] * len(KINDS))
        elif line.startswith("  total heap usage"):
            usage.extend(number(n) for n in re.findall(r"[\d,]*\d", line))
        found = re.match(rf" *(?:{'|'.join(KINDS)}): ([\d,]+)(?: \(\S+\))? bytes in ([\d,]+)", line)
        if found:
            sums[-1].append(tuple(number(n) for n in found.groups()))
    return sorted((sums, usage) for sums, usage in processes.values())


def checked_by(tool, folder, command, *options):
    """What `tool` finds; None: it has not ended in time."""
    with scratch() as logs:
        log = os.path.join(logs, "log")
        status = run_in(folder, [*tool, "--leak-check=full", "--show-leak-kinds=all",
                                 f"--log-file={log}", *options, *command], 5 * LIMIT_S)
        if status is None or not os.path.exists(log):
            return None
        with open(log, encoding="utf-8", errors="replace") as file:
            return checks(file.read())


def ours():
    added = [word[len("--env="):] for word in memcheck_variables()]
    return ["env", *added, memtraced(), "valgrind"]


def last_ones(found):
    """Of each process: the sums at its end, and its total heap usage."""
    return [(sums[-1:], usage) for sums, usage in found or []]


def compare(case):
    """None: it does not end natively, or does not allocate. Else both tools' results."""
    status = run_in(case.folder, case.command)
    if status is None or status < 0:
        return None
    theirs = checked_by(["valgrind"], case.folder, case.command, *case.options)
    if not any(usage and usage[0] for _, usage in theirs or []):
        return None
    return last_ones(checked_by(ours(), case.folder, case.command, *case.options)), \
        last_ones(theirs)


@test(need_root, need_program("valgrind"), need_long, need_source, each=FOLDERS, timeout=1800)
def what_allocates_and_ends_has_memchecks_sums(folder):
    cases = [Case(path) for path in sorted(glob.glob(os.path.join(SOURCE, folder, "*.vgtest")))]
    built = [case for case in cases if case.is_built]
    compared = {case.name: found for case in built if (found := compare(case))}
    differ = {name: found for name, found in compared.items() if found[0] != found[1]}
    print(f"# {folder}: {len(cases)} tests, {len(built)} built, {len(compared)} that allocate and "
          f"end, {len(compared) - len(differ)} equal")
    for name, (mine, other) in differ.items():
        print(f"# {name}: {DIFFERENCES.get(name, 'OTHER')}\n#   memtraced {mine}\n"
              f"#   memcheck  {other}", flush=True)
    unknown = sorted(set(differ) - set(DIFFERENCES))
    assert not unknown, unknown


# Others have blocks that do not begin at multiples of 8 (leak-autofreepool, mempool, mempool2,
# custom-overlap), or one where a block of malloc begins that outlives it (leak-pool 2, 5).
WITH_POOLS = ("leak-pool 0", "leak-pool 1", "leak-pool 3", "leak-pool 4", "custom_alloc")


def checked_with_requests(name, level):
    """What both tools find; with memtraced's functions in place of the requests for memtraced."""
    name, *args = name.split()
    folder = os.path.join(SOURCE, "memcheck", "tests")
    with scratch() as built:
        header, found = os.path.join(built, "requests.h"), []
        with open(header, "w", encoding="ascii") as file:
            file.write(AS_MEMTRACED)
        for tool, more in ((ours(), ["-include", header]), (["valgrind"], [])):
            program = os.path.join(built, f"program{len(found)}")
            done = run(["gcc", "-w", "-g", level, *more, "-I", os.path.join(ROOT, "include"),
                        *[f"-I{os.path.join(SOURCE, part)}" for part in ("", "include",
                                                                         "memcheck")],
                        "-DVGA_amd64=1", "-DVGO_linux=1", "-DVGP_amd64_linux=1",
                        "-o", program, f"{name}.c"], cwd=folder)
            assert done.returncode == 0, done.stderr
            found.append(checked_by(tool, folder, [program, *args]))
    return found


@test(need_root, need_program("valgrind", "gcc"), need_source, each=ASKING, in_turn=1, timeout=120)
def what_asks_for_checks_has_memchecks_sums_at_each(name):
    for level in ("-O0", "-O2") if LONG else ("-O0",):
        found = checked_with_requests(name, level)
        assert found[0] and found[0] == found[1], (level, found)


@test(need_root, need_program("valgrind", "gcc"), need_source, each=WITH_POOLS, in_turn=1,
      timeout=120)
def what_has_pools_has_memchecks_sums(name):
    """Not its total heap usage, in which memcheck has no blocks of pools."""
    for level in ("-O0", "-O2") if LONG else ("-O0",):
        mine, other = ([sums for sums, _ in found] for found in checked_with_requests(name, level))
        assert mine and mine == other, (level, mine, other)
