# SPDX-License-Identifier: GPL-2.0-or-later
"""Every allocator of the table, to the byte, by each way of attaching."""

import os

from lib import (ATTACH_PATHS, SERIAL_KEYS, Skip, attach_option, exact, need_root, scaled, target,
                 test, trace)

EACH_PATH = sorted(ATTACH_PATHS)
# What tests/targets/families.c is built for; what is not installed was not built.
FAMILIES = ["glibc", "glibc-static", "glibc-static-pie", "musl", "musl-static", "jemalloc",
            "jemalloc-static", "jemalloc-je", "jemalloc-rjem", "tcmalloc", "tcmalloc-names",
            "tcmalloc-static", "mimalloc", "mimalloc-names"]


def family(name):
    path = target(f"families-{name}")
    if not os.path.exists(path):
        raise Skip(f"{name} is not installed, or was not when targets were built")
    return path


def run_alone(name, path, calls):
    """The totals of the process, and what main() counted of them itself."""
    run = trace([family(name), str(calls)], attach_option(path), library=None, timeout=900)
    assert f"done {calls}" in run.stdout, run.stdout
    exact(run.report)
    (own,), = run.own.values()
    alloc = run.only_process()["alloc"]
    assert alloc["missed_frees"] == 0, alloc
    return alloc, own


@test(need_root, each=[f"{name} {path}" for name in FAMILIES for path in EACH_PATH])
def every_function_of(family_and_path):
    name, path = family_and_path.split()
    calls = scaled(3000, 300000)
    alloc, own = run_alone(name, path, calls)
    assert own["allocs"] > calls // 3, own
    # What the loader and the run-time libraries do on top is the same when main() does nearly
    # nothing.
    alloc_0, own_0 = run_alone(name, path, 0)
    besides = {key: alloc_0[key] - own_0[key] for key in SERIAL_KEYS}
    assert besides["failed"] == besides["unknown_frees"] == 0 <= besides["allocs"] < 20, besides
    true = {key: own[key] + besides[key] for key in SERIAL_KEYS}
    assert {key: alloc[key] for key in SERIAL_KEYS} == true, (alloc, true)
