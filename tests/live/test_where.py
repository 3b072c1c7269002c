# SPDX-License-Identifier: GPL-2.0-or-later
"""--where: what is left of a run are the sites of which the expression is true."""

import os

from lib import (heap_sites, load_report, need_root, run_memtraced, scratch, target, test, total,
                 with_function)

BESIDE_OTHERS = True


def mean(site):
    return site["bytes"] // site["allocs"]


def frame_files(site):
    return [os.path.basename(frame["file"] or "") for frame in site["frames"]]


# What each expression says, by the numbers of the report of all sites.
CASES = {
    "function = leak_one": lambda s: bool(with_function([s], "leak_one")),
    "not function = 'leak_*'": lambda s: not with_function([s], "leak_one"),
    "class = mmap": lambda s: s["class"] == "mmap",
    "class = heap and live > 0": lambda s: s["class"] == "heap" and s["live_bytes"] > 0,
    "size >= 100 and size < 8k": lambda s: 100 <= mean(s) < 8192,
    "allocs = 100 or live >= 10k": lambda s: s["allocs"] == 100 or s["live_bytes"] >= 10240,
    "temporary >= 50": lambda s: s["temporary"] is not None and 2 * s["temporary"] >= s["allocs"],
    "file = wrap.c and (peak > 1k)":
        lambda s: "wrap.c" in frame_files(s) and s["peak_bytes"] > 1024,
    "oldest >= 0": lambda s: s["oldest_ns"] is not None,
    "process = leak and live > 5T": lambda s: False,
}


@test(need_root)
def a_report_has_the_sites_of_which_it_is_true():
    with scratch() as folder:
        recording, path = os.path.join(folder, "run"), os.path.join(folder, "json")
        done = run_memtraced("-o", f"record:{recording}", "-o", f"json:{path}", "--",
                             target("leak"), "100", "0")
        assert done.returncode == 0, done.stderr
        everything, = load_report(path)["processes"]
        for expression, holds in CASES.items():
            done = run_memtraced("report", recording, "--where", expression, "-o", f"json:{path}")
            assert done.returncode == 0, done.stderr
            processes = load_report(path, filtered=True)["processes"]
            ours = [site["id"] for site in everything["sites"] if holds(site)]
            if not ours:
                assert not processes, expression
                continue
            process, = processes
            assert [site["id"] for site in process["sites"]] == ours, expression
            assert process["alloc"] == everything["alloc"], "totals are those of the process"
        done = run_memtraced("report", recording, "--where", "function = leak_one", "--top", "1")
        left_out = sum(not with_function([site], "leak_one") for site in everything["sites"])
        assert f"… {left_out} sites left out by --where, " in done.stdout, done.stdout


@test(need_root)
def a_live_report_is_filtered_the_same_way():
    with scratch() as folder:
        path = os.path.join(folder, "json")
        done = run_memtraced("--where=function = leak_one", "-o", f"json:{path}", "--",
                             target("leak"), "100", "0")
        assert done.returncode == 0, done.stderr
        process, = load_report(path, filtered=True)["processes"]
        assert process["sites"] and with_function(process["sites"], "leak_one") == process["sites"]
        assert total(heap_sites(process), "live_blocks") == 100


@test(need_root)
def groups_sum_the_sites_of_a_run():
    with scratch() as folder:
        path = os.path.join(folder, "json")
        done = run_memtraced("--group-by=class", "--top=0", "-o", f"json:{path}",
                             "-o", f"table:{folder}/table", "--", target("leak"), "100", "0")
        assert done.returncode == 0, done.stderr
        process, = load_report(path)["processes"]
        with open(os.path.join(folder, "table"), encoding="utf-8") as file:
            table = file.read()
    for kind in ("heap", "mmap"):
        sites = [site for site in process["sites"] if site["class"] == kind]
        row, = [line.split() for line in table.split("\n") if line.endswith(f"  {kind}")]
        assert row[-2] == str(len(sites)) and row[-3] == str(total(sites, "allocs")), (row, kind)


@test(need_root)
def a_site_is_named_by_what_is_no_wrapper():
    """In JSON by the index of the frame, in a table of groups alone."""
    with scratch() as folder:
        recording, path = os.path.join(folder, "run"), os.path.join(folder, "json")
        done = run_memtraced("-o", f"record:{recording}", "--", target("leak"), "100", "0")
        assert done.returncode == 0, done.stderr
        for wrappers, name in ((), "leak_one"), (("--wrapper=x*", "--wrapper=*k_one"), "main"):
            done = run_memtraced("report", recording, *wrappers, "-o", f"json:{path}",
                                 "--group-by=line", "-f", "table")
            assert done.returncode == 0, done.stderr
            process, = load_report(path)["processes"]
            site = with_function(heap_sites(process), "leak_one")[0]
            frame = site["frames"][site["name_frame"]]
            assert frame["function"] == name, site
            place = f"  {name} ({os.path.basename(frame['file'])}:{frame['line']})"
            assert any(line.endswith(place) for line in done.stdout.split("\n")), done.stdout


@test()
def a_wrong_expression_is_an_error_of_usage():
    done = run_memtraced("report", "/nowhere", "--where", "size > 4k and lve = 1")
    assert done.returncode == 1 and done.stdout == ""
    assert done.stderr == ("memtraced: --where: column 15: unknown field 'lve'; did you mean "
                           "'live'?\n"), done.stderr
