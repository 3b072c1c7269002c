# SPDX-License-Identifier: GPL-2.0-or-later
"""What counts calls is loaded when a process needs it: where the library counts a command, its
children may. Nothing of their calls is lost, however late that is."""

import re

from lib import (EXACT_KEYS, Skip, as_users_do, exact, need_kernel, need_root, run_memtraced,
                 same_calls, same_images, target, test, trace, variable, without)
from test_crashes import fault_of, own
from test_fallbacks import FORK_KEYS, need_everything
from test_nesting import what_operator_new_allocates_before_an_exception_leaves_it_counts

BESIDE_OTHERS = True
UNTRANSLATED = True
WALKS = {"on_exit_mmap", "on_fault", "on_fault_perf"}
COUNTING = {"on_session", "on_entry", "on_return", "on_exit", "on_exit_perf"}
STATIC = ["/bin/sh", "-c", f"{target('static')}; exit $?"]


def later():
    """Any run that holds its processes loads it late, whatever counts them."""
    return variable("MEMTRACED_TEST_CALLS", "later")


def loaded(command):
    """Programs that a second run since the boot loads: the first one finds out what may be."""
    with as_users_do(), variable("MEMTRACED_DEBUG_BPF", "1"):
        for _ in range(2):
            done = run_memtraced("-q", "-o", "json:/dev/null", "--", *command)
            assert done.returncode == 0, done
    found = re.findall(r"^(on_\w+): \d+ instructions verified$", done.stderr, re.M)
    if not found:
        raise Skip("this kernel does not tell what it has verified (Linux 5.16)")
    return found


@test(need_root)
def where_the_library_counts_nothing_is_loaded_that_counts_calls():
    found = loaded([target("aligned"), "20"])
    assert not COUNTING & set(found) and len(found) == len(set(found)), found


@test(need_root, need_kernel(5, 15))
def one_program_walks_stacks():
    found = set(loaded([target("aligned"), "20"]))
    if "on_exit_any" not in found:  # what is preempted has others
        assert WALKS & found == {"on_exit_mmap"}, found


@test(need_root, each=["nothing", "cookies", "whole-tracepoints"])
def a_program_that_ends_at_once_by_a_signal_has_its_stack(left_out):
    """What walks stacks is loaded while the program is executed, from the second run on."""
    with without(None if left_out == "nothing" else left_out), as_users_do():
        for _ in range(2):
            fault = fault_of("null")
            assert own(fault["frames"]) == ["touches", "null", "main"], fault["frames"]


@test(need_root, need_everything)
def a_child_that_needs_probes_has_it_loaded_once():
    found = loaded(STATIC)
    assert sorted(COUNTING & set(found)) == ["on_exit", "on_session"], found
    assert found.count("on_session") == found.count("on_exit") == 1, found


@test(need_root)
def a_child_that_needs_probes_is_counted_as_by_probes_alone():
    with as_users_do():
        runs = [trace(STATIC, f"--exact={way}", library=None) for way in ("auto", "probes")]
    counts = []
    for run_ in runs:
        exact(run_.report)
        child, = (p["alloc"] for p in run_.report["processes"] if p["comm"] == "static")
        assert not child.get("by_library"), child
        counts.append({key: child[key] for key in EXACT_KEYS})
    assert counts[0] == counts[1] and counts[0]["allocs"] > 0, counts


WITHOUT = ["nothing", "uprobe-session", "uprobe-session,uprobe-multi", "cookies",
           "whole-tracepoints", "unwind-cfi"]


@test(need_root, need_everything, each=WITHOUT, in_turn=2)
def nothing_is_lost_by_late_programs_of_any_kind(left_out):
    with without(None if left_out == "nothing" else left_out), later():
        forks = trace([target("forks"), "60"], timeout=300)
        threads = trace([target("threads"), "4", "4000"], timeout=300)
    same_images(forks, FORK_KEYS)
    same_images(threads)


@test(need_root, need_everything)
def nothing_is_lost_by_late_programs_without_return_probes():
    with without("uretprobe-seccomp"), later():
        run_ = trace([target("threads"), "4", "4000"], library=None, timeout=300)
    (own,), = run_.own.values()
    same_calls(run_.only_process(), own, "threads")


@test(need_root, need_kernel(5, 15), each=["jemalloc", "tcmalloc"], in_turn=1)
def what_was_made_in_calls_that_end_with_their_thread_counts(library):
    """An exception is there at the end, made inside an operator new that it left."""
    with later():
        what_operator_new_allocates_before_an_exception_leaves_it_counts(f"{library} perf")
