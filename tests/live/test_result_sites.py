# SPDX-License-Identifier: GPL-2.0-or-later
"""One trap for an allocation: probes inside malloc see what its entry and its return see."""

import re
import zlib

import test_accounting
import test_free_stacks
from lib import (EXACT_KEYS, TESTS, Skip, attach_option, exact, heap_sites, need_probes, need_root,
                 run_memtraced, same_calls, same_images, scaled, target, test, total, trace,
                 variable, with_function)
from test_allocators import family, library_path, only_main_differs

BESIDE_OTHERS = True
PATHS = ["multi", "perf", "session"]  # --attach=exit has none
# Tests of other areas, which take sites from the start as well.
AREAS = ("accounting", "allocators", "free_stacks")
OTHERS = {one.name: one for one in TESTS
          if one.area in AREAS and not one.name.replace("[", " ").endswith(" exit]")}
SHUFFLED = sorted(OTHERS, key=lambda name: zlib.crc32(name.encode()))


def sites(how):
    return variable("MEMTRACED_TEST_RESULT_SITES", how)


def need_sites():
    if "\nmalloc: yes\n" not in run_memtraced("--features", "--verbose").stdout:
        raise Skip("no sites are proven in this C library")


@test(need_root, need_sites, each=PATHS)
def calls_are_exact_by_sites_from_the_start(path):
    ops = scaled(15000, 1000000, 2000)
    with sites("always"):
        run = trace([target("threads"), "4", str(ops)], attach_option(path), library=None,
                    timeout=900)
    exact(run.report)
    (own,), = run.own.values()
    assert own["allocs"] == ops
    same_calls(run.only_process(), own, "threads")


@test(need_root, need_sites)
def a_malloc_that_another_one_calls_is_not_counted_twice():
    with sites("always"):
        run = trace([target("threads"), "4", str(scaled(8000, 1000000, 2000))], timeout=900)
    same_images(run)


@test(need_root, need_sites, each=PATHS)
def failed_calls_are_seen_at_the_ways_that_return_null(path):
    with sites("always"):
        run = trace([target("failures"), "60"], attach_option(path), library=None)
    exact(run.report)
    process, ((own,),) = run.only_process(), run.own.values()
    same_calls(process, own, "failures")
    for key in EXACT_KEYS:
        assert process["alloc"][key] == own[key], (key, process["alloc"], own)


@test(need_root, need_sites, each=["glibc", "jemalloc", "mimalloc", "tcmalloc"], in_turn=2)
def every_function_counts_by_sites_from_the_start(name):
    with sites("always"):
        only_main_differs((name, "by sites", "C", "families"), family(name), "session",
                          scaled(3000, 300000))


@test(need_root, need_sites, need_probes("sites of results"), each=SHUFFLED, in_turn=2,
      timeout=max(one.timeout for one in OTHERS.values()))
def another_test_passes_by_sites_from_the_start(name):
    with sites("always"):
        OTHERS[name].run()


@test(need_root, need_sites)
def what_malloc_maps_is_known_to_be_its_own():
    with sites("always"):
        run = trace([target("maps"), "20"], library=None)
    exact(run.report)
    mapped = [site for site in run.only_process()["sites"] if site["class"] == "mmap"]
    known = [site for name in ("map_region", "remap", "ledger_map")
             for site in with_function(mapped, name)]
    assert total(heap_sites(run.only_process()), "live_bytes") >= 9000000
    assert total(mapped, "live_bytes") - total(known, "live_bytes") < 900000, mapped


@test(need_root, need_sites)
def stacks_are_those_of_entry_and_return():
    def found(how):
        with sites(how):
            run = trace([target("leak"), "200", "0"], library=None)
        exact(run.report)
        return sorted((tuple(frame["function"] for frame in site["frames"]), site["allocs"])
                      for site in heap_sites(run.only_process()))

    assert found("always") == found("never")


def many_calls(how, program, preload=""):
    """What was said of the functions of the allocator, in turn."""
    with sites(how):
        run = trace(program, "-v", library=None, preload=preload, timeout=900)
    exact(run.report)
    (own,), = run.own.values()
    if program[0] == target("threads"):
        same_calls(run.only_process(), own, "threads")
    # Run-time libraries allocate some blocks besides, which the program does not count.
    alloc = run.only_process()["alloc"]
    assert 0 <= alloc["allocs"] - own["allocs"] < 60, (alloc, own)
    assert alloc["unknown_frees"] == 0, alloc
    return [line for line in run.stderr.splitlines() if OUTCOME.search(line)], run.report


OUTCOME = re.compile(r"\S+ in \S+: (one trap for|entry and return are counted)")
# Which function of an allocator most calls of a program come to.
MOST_CALLED = {
    "glibc threads": "malloc in .*/libc",
    "jemalloc threads": "malloc in .*/libjemalloc",
    "mimalloc threads": "malloc in .*/libmimalloc",
    "jemalloc operators": "_Znwm in .*/libjemalloc",
    "tcmalloc operators": "_Znwm in .*/libtcmalloc",
}


def most_called(how, case):
    name, program = case.split()
    preload = "" if name == "glibc" else library_path(name)
    calls = str(scaled(250000, 1000000))
    command = [target("threads"), "2", calls] if program == "threads" else [
        target("operators"), str(scaled(2000000, 8000000)), "1"]
    lines, report = many_calls(how, command, preload)
    return [line for line in lines if re.search(MOST_CALLED[case], line)], report["coverage"]


@test(need_root, need_sites, need_probes("sites of results"), each=MOST_CALLED, timeout=120)
def sites_that_see_the_same_take_over(case):
    (line,), coverage = most_called("checked", case)
    assert "one trap for" in line, line
    assert "sites_differ" not in coverage, coverage


@test(need_root, need_sites, need_probes("sites of results"), each=MOST_CALLED, timeout=120)
def sites_that_see_something_else_are_given_up(case):
    (line,), coverage = most_called("wrong", case)
    assert "entry and return are counted" in line and "not the same" in line, line
    function, _, _ = MOST_CALLED[case].partition(" in ")
    assert function in [differ["function"] for differ in coverage["sites_differ"]], coverage
