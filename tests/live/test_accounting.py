# SPDX-License-Identifier: GPL-2.0-or-later
"""Totals and sites to the byte, by each way of attaching: DESIGN.md section 5."""

import functools
import os

from lib import (ATTACH_PATHS, EXACT_KEYS, SERIAL_KEYS, SMALL, attach_option, attached, by_library,
                 called_by, exact, heap_sites, load_report, need_long, need_probes, need_root,
                 run_memtraced, same, same_calls, same_images, scaled, scratch, send_line, started,
                 target, test, total, trace, with_function)

BESIDE_OTHERS = True
EACH_PATH = sorted(ATTACH_PATHS)


@test(need_root, each=EACH_PATH, timeout=120, every_kernel=True, first=["perf", "session"])
def threads_free_each_others_blocks(path):
    ops = scaled(40000, 10000000, 6000)
    run = trace([target("threads"), "8", str(ops)], attach_option(path), timeout=3000)
    same_images(run)
    assert run.only_count()["allocs"] >= ops
    assert f"done {ops}" in run.stdout


@test(need_root, each=EACH_PATH)
def a_programs_own_calls_are_at_its_sites_without_any_preload(path):
    ops = scaled(15000, 1000000, 2000)
    run = trace([target("threads"), "4", str(ops)], attach_option(path), library=None, timeout=900)
    exact(run.report)
    (own,), = run.own.values()
    assert own["allocs"] == ops
    same_calls(run.only_process(), own, "threads")


@test(need_root, each=EACH_PATH, timeout=120, every_kernel=["perf"])
def realloc_chains_move_shrink_and_fail_while_others_allocate(path):
    chains = scaled(1000, 100000, 100)
    run = trace([target("reallocs"), str(chains)], attach_option(path), timeout=900)
    same_images(run)
    # Two failing calls in each chain.
    assert run.only_count()["failed"] == 2 * chains


@test(need_root, each=EACH_PATH)
def realloc_to_zero_follows_glibc_when_nothing_is_preloaded(path):
    run = trace([target("failures"), "60"], attach_option(path), library=None)
    exact(run.report)
    process, ((own,),) = run.only_process(), run.own.values()
    same_calls(process, own, "failures")
    # The whole process makes no heap calls but these, and failed and frees have no sites.
    for key in EXACT_KEYS:
        assert process["alloc"][key] == own[key], (key, process["alloc"], own)


@test(need_root, each=EACH_PATH)
def the_aligned_family_counts_what_it_was_asked_for(path):
    run = trace([target("aligned"), "300"], attach_option(path))
    same_images(run, SERIAL_KEYS)
    assert run.only_count()["failed"] == 6


@test(need_root, each=EACH_PATH)
def impossible_and_overflowing_requests_count_as_failed(path):
    run = trace([target("failures"), "50"], attach_option(path))
    same_images(run, SERIAL_KEYS)
    assert run.only_count()["failed"] == 6 * 50


@test(need_root, each=EACH_PATH, every_kernel=["exit", "session"])
def caught_exceptions_and_longjmp_survive_tracing(path):
    run = trace([target("exceptions"), "200"], attach_option(path))
    assert "caught 200" in run.stdout, run.stdout
    same_images(run, SERIAL_KEYS)


@test(need_root, each=EACH_PATH)
def exceptions_survive_without_preload_as_well(path):
    run = trace([target("exceptions"), "50"], attach_option(path), library=None)
    assert "caught 50" in run.stdout, run.stdout
    exact(run.report)


@test(need_root, each=EACH_PATH, every_kernel=True)
def a_seccomp_filtered_program_is_not_killed(path):
    run = trace([target("seccomp"), "2000"], attach_option(path))
    assert "done 2000" in run.stdout, run.stdout
    same_images(run, SERIAL_KEYS)


@test(need_root, each=EACH_PATH)
def constructors_and_the_loaders_own_calls_are_counted(path):
    run = trace([target("ctors")], attach_option(path))
    same_images(run, SERIAL_KEYS)
    assert run.only_count()["allocs"] >= 100
    assert with_function(run.only_process()["sites"], "first"), "no site in the constructor"


@test(need_root, each=EACH_PATH)
def a_block_freed_before_the_next_allocation_is_temporary(path):
    run = trace([target("temporary"), "100"], attach_option(path))
    same_images(run, ("allocs", "frees", "live_bytes", "temporary"))
    sites = heap_sites(run.only_process())
    short = with_function(sites, "short_lived")
    assert total(short, "temporary") == total(short, "allocs") == 100
    assert total(with_function(sites, "long_lived"), "temporary") == 0


@test(need_root, each=EACH_PATH)
def a_static_program_is_counted(path):
    run = trace([target("static"), "500"], attach_option(path), library=None)
    exact(run.report)
    (own,), = run.own.values()
    same_calls(run.only_process(), own, "static")
    # --wrap reaches the C library's calls as well where it is part of the program.
    same(run.only_process(), own)


@test(need_root, timeout=120)
def very_many_live_blocks():
    blocks = scaled(100000, 1000000, small=8000)
    room = [] if SMALL else ["--max-blocks=2M"]
    run = trace([target("million"), str(blocks)], *room, timeout=900)
    same_images(run, SERIAL_KEYS)
    assert run.only_process()["alloc"]["live_blocks"] > 0.9 * blocks


@test(need_root, each=EACH_PATH)
def without_stacks_each_function_is_one_site(path):
    ops = scaled(15000, 1000000, 2000)
    run = trace([target("threads"), "4", str(ops)], attach_option(path), "--max-stack=0")
    same_images(run)
    process = run.only_process()
    functions = [site["frames"][0]["function"] for site in heap_sites(process)]
    assert "malloc" in functions and len(set(functions)) == len(functions), functions
    assert all(len(site["frames"]) == 1 for site in heap_sites(process))
    assert total(heap_sites(process), "allocs") == run.only_count()["allocs"]
    assert run.report["coverage"]["stacks_complete"] == 0, run.report["coverage"]


@test(need_root, each=EACH_PATH)
def stacks_are_cut_at_the_depth_that_was_asked_for(path):
    def depth(site):
        return sum(not frame["inline"] for frame in site["frames"]) - 1  # without the allocator

    def deepest(*options):
        run = trace([target("leak"), "200", "0"], attach_option(path), *options, library=None)
        exact(run.report)
        process = run.only_process()
        sites = heap_sites(process)
        # That of a mapping may be deeper: memory for libraries' symbols.
        whole = max(map(depth, process["sites"])) + 1
        coverage = {k: v for k, v in run.report["coverage"].items() if k not in ("cost", "library")}
        return whole, max(map(depth, sites)), total(sites, "allocs"), coverage

    whole, deep, allocs, coverage = deepest()
    assert deep > 3 and coverage["stacks_complete"] > 0, (deep, coverage)
    assert deepest(f"--max-stack={whole}")[3] == coverage
    _, cut, cut_allocs, cut_coverage = deepest("--max-stack=3")
    assert (cut, cut_allocs) == (3, allocs)
    assert cut_coverage["stacks_truncated"] > coverage["stacks_truncated"], cut_coverage


@test(need_root, each=EACH_PATH)
def floor_counts_nothing_and_says_so(path):
    run = trace([target("million"), "2000"], attach_option(path), "--floor", library=None)
    assert run.report["coverage"]["lost"] == {"nothing-counted": 1}, run.report["coverage"]
    assert not run.report["coverage"]["exact"] and run.report["coverage"]["events"] == 0
    process = run.only_process()
    assert set(process["alloc"].values()) == {None} and process["sites"] == [], process


@test(need_root, need_long)
def two_million_live_blocks_when_there_is_room_for_them():
    run = trace([target("million"), "2000000"], "--max-blocks=4M", timeout=900)
    same_images(run, SERIAL_KEYS)


@test(need_root)
def as_many_blocks_as_there_is_room_for_are_exact():
    # 65536 at a time: a fifth of them finds its bucket full and goes into the map beside.
    run = trace([target("million"), "65000"], "--max-blocks=64k")
    same_images(run, SERIAL_KEYS)


@test(need_root)
def threads_free_each_others_blocks_in_the_map_beside_the_table():
    run = trace([target("threads"), "4", str(scaled(40000, 1000000))], "--max-blocks=30k",
                timeout=900)
    same_images(run)


@test(need_root, need_probes("limit of blocks"))
def a_full_block_map_is_counted_and_makes_totals_inexact():
    run = trace([target("million"), "20000"], "--max-blocks=1000")
    coverage = run.report["coverage"]
    assert not coverage["exact"]
    lost = sum(count for cause, count in coverage["lost"].items() if "block" in cause)
    assert lost > 0, coverage
    true = run.only_count()
    alloc = run.only_process()["alloc"]
    # What fits is right: never more than the map holds, never more than was there.
    assert alloc["live_blocks"] <= 1000 < true["live_blocks"], alloc
    assert lost >= true["live_blocks"] - 1000, (lost, true)


@test(need_root, need_probes("limit of blocks"))
def a_table_says_that_its_totals_are_not_exact():
    done = run_memtraced("--max-blocks=1000", "--", target("million"), "20000")
    assert done.returncode == 0, done.stderr
    assert any(word in done.stdout.lower() for word in ("not exact", "inexact", "at least")), \
        done.stdout


@test(need_root)
def an_address_that_comes_again_closes_the_block_whose_free_was_missed():
    rounds, size = 25, 1 << 20
    with scratch() as folder:
        path = os.path.join(folder, "report.json")
        done = run_memtraced("-o", f"json:{path}", "--", target("missed"), str(rounds))
        assert done.returncode == 0 and done.stdout == f"done {rounds}\n", done
        (process,) = load_report(path)["processes"]
    assert process["alloc"]["missed_frees"] == rounds, process["alloc"]
    sites = called_by(process, "missed")
    true = {"allocs": 2 * rounds, "bytes": 2 * rounds * size, "live_blocks": rounds,
            "live_bytes": rounds * size}
    for key, value in true.items():
        assert total(sites, key) == value, f"{key}: reported {total(sites, key)}, true {value}"


@test(need_root)
def the_peak_and_its_sites_are_exact():
    run = trace([target("million"), "50000"])
    process = run.only_process()
    same(process, run.only_count(), SERIAL_KEYS)
    # At the peak, right before the first free, every block was there.
    sites = [site for site in called_by(process, "million") if site["peak_bytes"]]
    assert total(sites, "peak_bytes") == 8 * 50000 + sum(16 + i % 32 for i in range(50000))


@test(need_root, each=EACH_PATH, every_kernel=["perf"])
def mapped_regions_follow_partial_unmaps_and_remaps(path):
    rounds = 20
    run = trace([target("maps"), str(rounds)], attach_option(path))
    same_images(run, SERIAL_KEYS)
    told = dict(line.split() for line in run.stdout.splitlines())
    mapped = [site for site in run.only_process()["sites"] if site["class"] == "mmap"]
    # libc's mremap has a frame of its own: the walk by frame pointers misses its caller, remap.
    remapped = [site for site in mapped if site["frames"][0]["function"] == "mremap"]
    own = with_function(mapped, "map_region") + with_function(remapped, "move_about")
    assert total(own, "live_bytes") == int(told["mmap_live"]), \
        f"reported {total(own, 'live_bytes')}, true {told['mmap_live']}"


@test(need_root)
def what_malloc_maps_for_itself_is_no_region_of_the_program():
    run = trace([target("maps"), "20"])
    mapped = [site for site in run.only_process()["sites"] if site["class"] == "mmap"]
    known = [site for name in ("map_region", "remap", "ledger_map")
             for site in with_function(mapped, name)]
    # Ten blocks of 900,000 bytes, each of which malloc has mapped, are live in the heap class.
    assert total(heap_sites(run.only_process()), "live_bytes") >= 9000000
    assert total(mapped, "live_bytes") - total(known, "live_bytes") < 900000, mapped


@test(need_root, each=EACH_PATH)
def regions_and_their_stacks_are_among_what_was_seen(path):
    run = trace([target("maps"), "20"], attach_option(path))
    coverage, process = run.report["coverage"], run.only_process()
    alloc, regions = process["alloc"], process["mmap"]["allocs"]
    assert regions >= 20 * 6, process["mmap"]
    calls = sum(alloc[key] for key in ("allocs", "frees", "failed", "unknown_frees"))
    assert coverage["events"] == calls + regions, (coverage, alloc, regions)
    stacks = coverage["stacks_complete"] + coverage["stacks_truncated"]
    assert stacks == alloc["allocs"] + regions, (coverage, alloc, regions)


@test(need_root, each=EACH_PATH)
def of_nested_allocator_calls_the_outermost_counts(path):
    run = trace([target("aligned"), "50"], attach_option(path))
    same_images(run, SERIAL_KEYS)
    sites = called_by(run.only_process(), "aligned")
    assert total(sites, "allocs") == 5 * 50, sites
    for site in sites:
        # The preloaded counter's malloc, which calls glibc's.
        outermost = "libmemtraced-sample.so" if by_library() else "libcounter.so"
        assert os.path.basename(site["frames"][0]["object"]) == outermost, site["frames"]


@test(need_root)
def of_thousands_of_stacks_each_has_its_own_block():
    ways = 18
    run = trace([target("stacks")])
    same_images(run, SERIAL_KEYS)
    found = {}
    for site in heap_sites(run.only_process()):
        names = [frame["function"] or "" for frame in site["frames"]]
        digits = [int(name[5:]) for name in reversed(names) if name.startswith("step_")]
        if digits:
            way = functools.reduce(lambda number, digit: number * ways + digit, digits)
            assert len(digits) == 3 and way not in found, (way, names)
            found[way] = site
    assert set(found) == set(range(ways ** 3)), len(found)
    for way, site in found.items():
        assert (site["live_blocks"], site["live_bytes"]) == (1, 16 + way), (way, site)


def leaks_are_told_apart(process, said, rounds):
    """Of tests/targets/dl.c, by what it has said."""
    assert int(said) > 0, "the two libraries were never at the same address"
    for name, size in (("a", 1111), ("b", 2222)):
        leaks = [site for site in process["sites"] if site["live_bytes"] and any(
            os.path.basename(frame["object"] or "") == f"libplug_{name}.so" and
            frame["function"] == f"leak_from_{name}" for frame in site["frames"])]
        assert total(leaks, "live_bytes") == rounds * size, (name, leaks)
        assert total(leaks, "live_blocks") == rounds, (name, leaks)


@test(need_root)
def an_unloaded_library_keeps_its_sites_apart_from_the_next_at_its_address():
    run = trace([target("dl"), "30"])
    same_images(run)
    leaks_are_told_apart(run.only_process(), run.stdout.split("same")[1].split()[0], 30)


@test(need_root)
def so_does_one_that_a_child_has_from_its_parent():
    run = trace([target("dl"), "3", "fork"])
    same_images(run)
    child, = [process for process in run.report["processes"] if process["alloc"]["bytes"] > 9000]
    leaks_are_told_apart(child, run.stdout.split("same")[1].split()[0], 3)


@test(need_root)
def so_does_one_that_was_loaded_before_the_attach():
    with started([target("dl"), "1", "attach"]) as process:
        process.lines.until("ready")
        with attached([process.pid]) as session:
            send_line(process)
            process.lines.until("ready")
            # The file of the second can be looked at while it is there.
            session.later_report()
            send_line(process)
            said = process.lines.until("same")
            report = session.finish(None)  # as the target does
    leaks_are_told_apart(report["processes"][0], said, 1)
