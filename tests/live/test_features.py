# SPDX-License-Identifier: GPL-2.0-or-later
"""What memtraced finds out about a kernel, and which way of attaching it takes."""

import functools
import os
import platform
import re
import resource

from lib import (Skip, kernel_version, load_report, memtraced, need_probes, need_program,
                 need_root, run, run_memtraced, scratch, target, test)

BESIDE_OTHERS = True
KERNEL = os.environ.get("MEMTRACED_KERNEL", "")

# Debian's cloud kernels, by the names that scripts/check-kernels gives them.
UNWINDS = {"unwind-cfi"} if platform.machine() == "x86_64" else set()
OLDEST = {"btf", "tracefs", "perf-uprobe", "uretprobe-seccomp", "whole-tracepoints",
          "grace-period", "deaths", "oom-limit"} | UNWINDS
WITH_COOKIES = OLDEST | {"cookies", "atomics", "find-vma", "sampling"}
WITH_MULTI = WITH_COOKIES | {"uprobe-multi", "hold-cpu"}
WITH_SESSION = WITH_MULTI | {"uprobe-session"}
NEWEST = WITH_SESSION - {"whole-tracepoints"}
EXPECTED = {
    "5.10": (OLDEST, "perf"),
    "6.1": (WITH_COOKIES, "perf"),
    "6.12": (WITH_MULTI, "multi"),
    "6.18": (WITH_SESSION, "session"),
    "newest": (NEWEST, "session"),
}


def need_known_kernel():
    if KERNEL not in EXPECTED:
        raise Skip("only in make check-kernels")


# One run says all of this: starts are what takes long in a guest.

@functools.lru_cache(maxsize=1)
def features():
    """What --features says."""
    done = run_memtraced("--features")
    assert done.returncode == 0, done.stderr
    return done.stdout


@functools.lru_cache(maxsize=1)
def usual_run():
    """A run without any option: the finished process, with a table, and the coverage of its
    report."""
    with scratch() as folder:
        path = os.path.join(folder, "report.json")
        done = run_memtraced("-f", "table", "-o", f"json:{path}", "--", target("million"), "10")
        assert done.returncode == 0, done.stderr
        return done, load_report(path)["coverage"]


@test(need_root, need_known_kernel, first=True)
def a_kernels_features_are_what_is_known_of_it():
    rows = dict(re.findall(r"^(\S+) +(yes|no)\b", features(), re.M))
    found = {name for name, present in rows.items() if present == "yes"}
    assert found == EXPECTED[KERNEL][0], features()
    uts = os.uname()
    assert re.search(rf"^kernel +{re.escape(uts.release)} {uts.machine}$", features(), re.M)
    assert features().splitlines()[0].split() == run_memtraced("--version").stdout.split()
    # Each that is not there says why, in the line behind it.
    lines = features().splitlines()
    for line, after in zip(lines, lines[1:]):
        if re.match(r"\S+ +no\b", line):
            assert re.match(r" +\(.+\)$", after), features()


# What is said of them at the start and in the coverage of reports, for runs with allocations.
LACKS = {
    "5.10": "probes are perf events; each has a program of its own; hash maps stand for atomic "
            "operations; calls after a jump out of an allocator may be taken for its own",
    "6.1": "probes are perf events",
    "6.12": None,
    "6.18": None,
    "newest": "every system call of the machine passes our programs",
}


@test(need_root, need_known_kernel, every_kernel=True)
def what_a_kernel_lacks_is_said_at_the_start_and_in_the_report():
    done, coverage = usual_run()
    assert coverage["kernel_lacks"] == LACKS[KERNEL], coverage
    assert coverage["exact"], coverage
    said = f"memtraced: Linux {os.uname().release}: {LACKS[KERNEL]}\n"
    assert (said in done.stderr) == bool(LACKS[KERNEL]), done.stderr


def low_limit():
    resource.setrlimit(resource.RLIMIT_MEMLOCK, (65536, 65536))


# Before 5.11 BPF's memory counts as locked; root may raise the limit, but not without
# CAP_SYS_RESOURCE.
def run_limited(*before):
    return run([*before, memtraced(), "--", target("million"), "10"], preexec_fn=low_limit)


def need_counted_memory():
    if kernel_version() >= (5, 11):
        raise Skip("BPF's memory is not counted as locked: Linux 5.11")


@test(need_root, need_counted_memory, every_kernel=True)
def a_low_limit_of_locked_memory_is_raised():
    done = run_limited()
    assert done.returncode == 0 and "totals are exact" in done.stdout, done.stderr


@test(need_root, need_program("setpriv"), every_kernel=True)
def a_low_limit_of_locked_memory_is_named_where_it_counts():
    done = run_limited("setpriv", "--bounding-set=-sys_resource")
    if kernel_version() >= (5, 11):
        assert done.returncode == 0 and "totals are exact" in done.stdout, done.stderr
        return
    assert done.returncode not in (0, -11), done.stdout
    assert "RLIMIT_MEMLOCK" in done.stderr and "64.0 KiB" in done.stderr, done.stderr


@test(need_root, need_probes("ways of attaching"), every_kernel=True)
def the_best_way_of_attaching_is_taken():
    path = re.search(r" by (\w+) probes", usual_run()[0].stdout).group(1)
    print(f"# attach path: {path}", flush=True)
    if KERNEL in EXPECTED:
        assert path == EXPECTED[KERNEL][1], path


@test(need_root, every_kernel=True)
def stacks_are_unwound_as_the_features_say():
    present, reason = re.search(r"^unwind-cfi +(yes|no) .*\n(?: +\((.*)\)$)?", features(),
                                re.M).groups()
    unwinder = usual_run()[1]["unwinder"]
    assert unwinder == {"yes": "cfi", "no": "fp"}[present], (unwinder, features())
    assert (present == "no") == bool(reason), features()
    if platform.machine() == "x86_64":
        assert present == "yes", features()
    else:
        assert reason.startswith("Operation not supported"), features()
