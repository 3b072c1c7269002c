# SPDX-License-Identifier: GPL-2.0-or-later
"""Calls that begin while others are in progress, or were left by a jump, a signal or a switch of
stacks: each block counts once, and none is missing. The truth is the target's own count."""

import os
import platform

import matrix

from lib import (ATTACH_PATHS, EXACT_KEYS, SERIAL_KEYS, attach_option, called_by, exact,
                 heap_sites, need_kernel, need_root, same, same_calls, target, test, total, trace,
                 without, without_library)
from test_allocators import library_path
from test_fallbacks import need_everything

BESIDE_OTHERS = True
EACH_PATH = sorted(ATTACH_PATHS)


def traced(case, *options, rounds=30):
    """The report, its process, and what that counted itself."""
    run = trace([target("nesting"), case, str(rounds)], *options, library=None)
    assert f"done {rounds}" in run.stdout, run.stdout
    (own,), = run.own.values()
    return run.report, run.only_process(), own


def counted(case, path, *options):
    report, process, own = traced(case, attach_option(path), *options)
    exact(report)
    same_calls(process, own, "nesting")
    same(process, own, EXACT_KEYS)


@test(need_root, need_kernel(5, 15), each=EACH_PATH, every_kernel=["session", "perf"])
def a_call_that_a_signal_handler_leaves_by_siglongjmp_hides_nothing(path):
    counted("jump", path)


@test(need_root, each=EACH_PATH)
def a_realloc_that_is_left_keeps_its_block(path):
    counted("realloc", path)


@test(need_root, need_kernel(5, 15), each=EACH_PATH)
def what_a_handler_allocates_inside_malloc_counts(path):
    counted("signal", path)


@test(need_root, each=EACH_PATH, every_kernel=["perf"])
def what_a_handler_allocates_on_the_alternate_stack_counts(path):
    counted("altstack", path)


@test(need_root, each=EACH_PATH, every_kernel=["perf"])
def coroutines_that_switch_inside_malloc_are_counted_both(path):
    counted("switch", path)


@test(need_root, each=EACH_PATH)
def coroutines_that_never_return_from_malloc_hide_nothing(path):
    counted("stuck", path)


# What cannot be walked is a guess. It may be wrong, but then it is a loss.
GUESSES = ("--unwind=fp",)


def guessed(report, process, own):
    """How many calls were not counted, which coverage says if there were any."""
    coverage = report["coverage"]
    missing = own["allocs"] - total(called_by(process, "nesting"), "allocs")
    assert set(coverage["lost"]) <= {"nesting-guessed"}, coverage
    # Of one that is missing both functions are lost, the program's malloc and the C library's.
    assert coverage["lost"].get("nesting-guessed", 0) >= missing >= 0, (missing, coverage)
    assert coverage["exact"] == (not coverage["lost"]), coverage
    return missing


@test(need_root, each=["jump", "signal"], in_turn=1, every_kernel=["jump"])
def a_call_that_is_taken_for_a_part_of_one_that_was_left_is_lost(case):
    missing = guessed(*traced(case, *GUESSES))
    # On arm64 frame records tell.
    assert (missing > 0) == (platform.machine() == "x86_64"), missing


@test(need_root, each=["realloc", "altstack", "switch", "stuck"], in_turn=2)
def a_guess_that_the_return_proves_is_no_loss(case):
    report, process, own = traced(case, *GUESSES)
    exact(report)
    same_calls(process, own, "nesting")


@test(need_root, need_everything, each=["jump", "signal"], in_turn=1)
def kernels_without_cookies_lose_what_they_guess_wrongly(case):
    with without("cookies"):
        assert guessed(*traced(case)) > 0


@test(need_root, need_everything)
def kernels_without_cookies_say_what_exceptions_have_hidden():
    with without("cookies"):
        run = trace([target("throwing"), "30"],
                    "--allocator=malloc=pool_get:size@1,ret,throws", library=None)
    calls = int(run.stdout.split()[0])
    seen = total(called_by(run.only_process(), "throwing"), "allocs")
    coverage = run.report["coverage"]
    assert not coverage["exact"] and coverage["lost"]["nesting-guessed"] >= calls - seen > 0, \
        (calls, seen, coverage)


@test(need_root, each=EACH_PATH)
def a_realloc_that_is_left_leaves_its_block_its_birth(path):
    _, process, _ = traced("realloc", attach_option(path), "--free-stacks")
    frees = [place for site in heap_sites(process) for place in site["frees"]]
    assert total(frees, "blocks") == process["alloc"]["frees"] > 0, process["alloc"]
    assert total(frees, "unknown") == 0, frees


@test(need_root, need_kernel(5, 15), each=EACH_PATH)
def calls_that_exceptions_leave_hide_nothing(path):
    run = trace([target("throwing"), "30"], attach_option(path),
                "--allocator=malloc=pool_get:size@1,ret,throws", library=None)
    exact(run.report)
    calls, n_bytes = (int(word) for word in run.stdout.split() if word.isdigit())
    sites = called_by(run.only_process(), "throwing")
    assert calls == 5 * 30 == total(sites, "allocs"), (calls, sites)
    assert n_bytes == total(sites, "bytes"), (n_bytes, sites)


@test(need_root, need_kernel(5, 15), each=[f"{name} {path}" for name in ("jemalloc", "tcmalloc")
                                           for path in EACH_PATH], in_turn=1)
def what_operator_new_allocates_before_an_exception_leaves_it_counts(library_and_path):
    name, path = library_and_path.split()
    library = library_path(name)
    run = trace([target("bad_alloc"), "30"], attach_option(path), library="libcounter-next.so",
                preload=library)
    exact(run.report)
    process, true = run.only_process(), run.only_count()
    true["failed"] += int(run.stdout.split()[0])  # operator new, which the counter does not see
    assert process["heap_errors"] == [] and process["alloc"]["unknown_frees"] == 0, process["alloc"]
    # Exceptions are kept, freed by others, freed inside, and one is there at the end.
    assert true["allocs"] >= 13 * 30 and true["live_blocks"] >= 2 * 30 + 1, true
    # What tcmalloc's constructors allocate by its own names, the counter does not see.
    inner = called_by(process, os.path.basename(os.path.realpath(library)))
    for key in ("allocs", "bytes", "temporary", "live_bytes", "live_blocks"):
        true[key] += total(inner, key)
    true["frees"] += total(inner, "allocs") - total(inner, "live_blocks")
    true["peak_bytes"] += total(inner, "live_bytes")
    matrix.compared((name, "preloaded", "C++", "bad_alloc"), process["alloc"],
                    without_library(process, true))
    # The sites' own shares of a peak inside a call that was left are not known: no peak_bytes here.
    same(process, true, [key for key in SERIAL_KEYS if key != "peak_bytes"])
    peak = without_library(process, true)["peak_bytes"]
    assert process["alloc"]["peak_bytes"] == peak, (process["alloc"], true)
