# SPDX-License-Identifier: GPL-2.0-or-later
"""--free-stacks: where blocks are freed, by whom and after how long, is what the target counted."""

import os

import browser
import lib
import schema
from lib import (ATTACH_PATHS, attach_option, blocks_lost, counting, exact, heap_sites, load_report,
                 need_program, need_root, need_speed, read_counts, refused, run_memtraced, same,
                 scaled, scratch, target, test, total, with_function, without)
from test_html import READY, picture

BESIDE_OTHERS = True
KEYS = ("blocks", "bytes", "other_thread")


def traced(folder, command, *options):
    """The report, what the target said, and what it counted."""
    path, counts = os.path.join(folder, "json"), os.path.join(folder, "counts")
    words = [f"--env={key}={value}" for key, value in counting(counts).items()]
    done = run_memtraced("--free-stacks", *options, *lib.less_room(options), *words, "-o",
                         f"json:{path}", "--", *command)
    assert done.returncode == 0, done.stderr
    images = read_counts(os.path.join(counts, "all"))
    return load_report(path), done.stdout, next(iter(images.values()))[-1]


def said_pairs(stdout):
    """{(made, dropped): numbers}"""
    pairs = {}
    for line in stdout.splitlines():
        words = line.split()
        if words[:1] == ["place"]:
            pairs[words[1], words[2]] = dict(zip(KEYS + ("least", "most"), map(int, words[3:])))
    return pairs


def dropped_by(site, function):
    found = [place for place in site["frees"] if with_function([place], function)]
    assert len(found) == 1, (function, site["frees"])
    return found[0]


def all_frees(process):
    return [place for site in heap_sites(process) for place in site["frees"]]


def check_pairs(process, pairs):
    for (made, dropped), said in pairs.items():
        site, = with_function(heap_sites(process), made)
        place = dropped_by(site, dropped)
        assert {key: place[key] for key in KEYS} == {key: said[key] for key in KEYS}, (place, said)
        assert place["unknown"] == 0, place
        assert sum(n for _, _, n in place["lifetimes"]) == said["blocks"], place
        low = sum(n * at for at, _, n in place["lifetimes"])
        high = sum(n * below for _, below, n in place["lifetimes"])
        total_ns = place["mean_ns"] * said["blocks"]
        # The mean is rounded down.
        assert said["least"] - said["blocks"] <= total_ns <= said["most"], (place, said)
        assert low <= total_ns + said["blocks"] and total_ns < high, place


def check_run(*options):
    with scratch() as folder:
        report, stdout, counts = traced(folder, [target("wander"), str(scaled(300, 9000, 60))],
                                        *options)
        process, = report["processes"]
        exact(report)
        same(process, counts)
        pairs = said_pairs(stdout)
        assert len(pairs) == 4, stdout
        check_pairs(process, pairs)
        # Each block that was freed was freed somewhere.
        assert total(all_frees(process), "blocks") == counts["frees"], process["alloc"]
        for site in heap_sites(process):
            assert total(site["frees"], "blocks") == site["allocs"] - site["live_blocks"], site


@test(need_root, each=sorted(ATTACH_PATHS), every_kernel=["perf", "session"])
def pairs_are_those_that_the_target_counted(path):
    check_run(attach_option(path))


@test(need_root)
def kernels_without_cookies_count_the_same():
    with without("cookies"):
        check_run()


@test(need_root, need_speed)
def threads_that_free_each_others_blocks_are_all_counted():
    with scratch() as folder:
        report, _, counts = traced(folder, [target("threads"), "8", str(scaled(20000, 200000))])
        process, = report["processes"]
        exact(report)
        same(process, counts, lib.EXACT_KEYS)
        site, = with_function(heap_sites(process), "make_block")
        assert total(site["frees"], "blocks") == site["allocs"] - site["live_blocks"], site
        assert total(site["frees"], "unknown") == 0, site["frees"]
        assert 0 < total(site["frees"], "other_thread") < total(site["frees"], "blocks")


@test(need_root)
def reallocs_end_what_they_replace():
    with scratch() as folder:
        report, _, counts = traced(folder, [target("reallocs")])
        process = report["processes"][0]
        exact(report)
        same(process, counts)
        assert total(all_frees(process), "blocks") == counts["frees"], counts
        assert total(all_frees(process), "unknown") == 0


@test(need_root)
def a_child_that_frees_what_it_inherited_has_it_in_its_own():
    with scratch() as folder:
        path = os.path.join(folder, "json")
        done = run_memtraced("--free-stacks", "-o", f"json:{path}", "--", target("forks"))
        assert done.returncode == 0, done.stderr
        report = load_report(path)
        exact(report)
        for process in report["processes"]:
            frees = total(all_frees(process), "blocks")
            assert frees == process["alloc"]["frees"], (process["pid"], frees, process["alloc"])


@test(need_root)
def a_full_map_of_pairs_is_counted_and_leaves_the_totals():
    """At the least limit of memory there is room for some 2,600 pairs; 70 by 70 are more."""
    with scratch() as folder:
        report, _, counts = traced(folder, [target("wander"), "30", "70"], "--memory-limit=96M")
        process, = report["processes"]
        exact(report)
        same(process, counts)
        lost = report["coverage"]["lost"]["free-pair-map-full"]
        assert lost > 1000, lost
        assert total(all_frees(process), "blocks") + lost == counts["frees"], (lost, counts)


@test(need_root, lib.need_probes("room of so many blocks"))
def what_is_not_in_the_books_is_in_no_pair():
    with scratch() as folder:
        report, _, counts = traced(folder, [target("wander"), "300"], "--max-blocks=100")
        # The books are full first: what is not in them has no birth either.
        assert blocks_lost(report), report["coverage"]
        process, = report["processes"]
        assert total(all_frees(process), "blocks") <= counts["frees"]


@test(need_root)
def recordings_keep_it_for_reports_and_filters():
    with scratch() as folder:
        recording, path = os.path.join(folder, "run"), os.path.join(folder, "json")
        done = run_memtraced("--free-stacks", "-o", f"record:{recording}", "-o", f"json:{path}",
                             "-o", f"html:{folder}/first", "--", target("wander"), "90")
        assert done.returncode == 0, done.stderr
        first = load_report(path)["processes"][0]
        done = run_memtraced("report", recording, "-o", f"html:{folder}/again", "-f", "json")
        assert done.returncode == 0, done.stderr
        assert schema.loads(done.stdout)["processes"][0]["sites"] == first["sites"]
        with open(f"{folder}/first", encoding="utf-8") as one, \
                open(f"{folder}/again", encoding="utf-8") as other:
            assert one.read() == other.read()
        # near's blocks are made before the wait and freed behind it, all of them.
        done = run_memtraced("report", recording, "--where", "lifetime >= 20ms", "-f", "json")
        kept = schema.loads(done.stdout)["processes"][0]["sites"]
        long = [site for site in first["sites"] if site["frees"] and
                sum(p["mean_ns"] * p["blocks"] for p in site["frees"]) >=
                20000000 * total(site["frees"], "blocks")]
        assert with_function(kept, "near") and [s["id"] for s in kept] == [s["id"] for s in long]
        done = run_memtraced("report", recording)
        assert "freed: 90 of 90 blocks, 6.7 KiB, after " in done.stdout, done.stdout


@test(need_root)
def nothing_of_it_is_there_unless_asked_for():
    with scratch() as folder:
        path = os.path.join(folder, "json")
        done = run_memtraced("-o", f"json:{path}", "--", target("wander"), "30")
        assert done.returncode == 0, done.stderr
        sites = load_report(path)["processes"][0]["sites"]
        assert sites and not any("frees" in site for site in sites)
        refused(run_memtraced("--free-stacks", "--max-stack=0", "--", "true"), 1, "--free-stacks",
                "stacks")


FREED = "[...document.querySelectorAll('tr.details p.freed')].map(p => p.textContent)"
BARS = "[...document.querySelectorAll('tr.details table.lifetimes')].map(t => " \
    "[...t.rows].map(r => r.cells[1].textContent))"


@test(need_root, need_program("chromium"))
def a_browser_shows_where_blocks_are_freed():
    with scratch() as folder:
        page_path, path = os.path.join(folder, "page.html"), os.path.join(folder, "json")
        done = run_memtraced("--free-stacks", "-o", f"html:{page_path}", "-o", f"json:{path}",
                             "--", target("wander"), "300")
        assert done.returncode == 0, done.stderr
        site, = with_function(heap_sites(load_report(path)["processes"][0]), "far")
        with browser.page(f"file://{page_path}", folder) as page:
            page.until(READY)
            heads = page.value("document.querySelector('#sites thead').textContent")
            assert "Lifetime" in heads, heads
            page.value(f"document.querySelector('tr.site[data-site=\"{site['id']}\"]').click()")
            said = page.value(FREED)
            assert len(said) == len(site["frees"]) == 3, said
            for text, bars, place in zip(said, page.value(BARS), site["frees"]):
                share = 100 * place["other_thread"] / place["blocks"]
                assert text.startswith(f"freed: {place['blocks']} blocks, {place['bytes']:,} bytes"
                                       ", after "), text
                assert text.endswith(f"{share:.1f}\u00a0% by another thread"), text
                assert [int(n.replace(",", "")) for n in bars] == \
                    [n for _, _, n in place["lifetimes"]], bars
            page.value("document.querySelector('tr.details').scrollIntoView()")
            picture(page, "html-free-stacks")
