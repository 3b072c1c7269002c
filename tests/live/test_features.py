# SPDX-License-Identifier: GPL-2.0-or-later
"""What memtraced finds out about a kernel, and which way of attaching it takes."""

import os
import re

from lib import Skip, need_root, run_memtraced, target, test

KERNEL = os.environ.get("MEMTRACED_KERNEL", "")

# Debian's cloud kernels, by the names that scripts/check-kernels gives them.
OLDEST = {"btf", "tracefs", "perf-uprobe", "uretprobe-seccomp"}
WITH_COOKIES = OLDEST | {"cookies", "atomics"}
WITH_MULTI = WITH_COOKIES | {"uprobe-multi", "hold-cpu"}
WITH_SESSION = WITH_MULTI | {"uprobe-session"}
EXPECTED = {
    "5.10": (OLDEST, "perf"),
    "6.1": (WITH_COOKIES, "perf"),
    "6.12": (WITH_MULTI, "multi"),
    "6.18": (WITH_SESSION, "session"),
    "newest": (WITH_SESSION, "session"),
}


def need_known_kernel():
    if KERNEL not in EXPECTED:
        raise Skip("only in make check-kernels")


@test(need_root, need_known_kernel, every_kernel=True)
def a_kernels_features_are_what_is_known_of_it():
    done = run_memtraced("--features")
    assert done.returncode == 0, done.stderr
    rows = dict(re.findall(r"^(\S+) +(yes|no)\b", done.stdout, re.M))
    found = {name for name, present in rows.items() if present == "yes"}
    assert found == EXPECTED[KERNEL][0], done.stdout
    # Each that is not there says why.
    assert done.stdout.count(" (") >= len(rows) - len(found), done.stdout


@test(need_root, every_kernel=True)
def the_best_way_of_attaching_is_taken():
    done = run_memtraced("--", target("million"), "10")
    assert done.returncode == 0, done.stderr
    path = re.search(r" by (\w+) probes", done.stdout).group(1)
    print(f"# attach path: {path}", flush=True)
    if KERNEL in EXPECTED:
        assert path == EXPECTED[KERNEL][1], path
