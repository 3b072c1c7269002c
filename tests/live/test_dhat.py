# SPDX-License-Identifier: GPL-2.0-or-later
"""DHAT's format: what its viewer shows is what we report, and what valgrind --tool=dhat writes of
the same programs. MEMTRACED_DHAT=docs/results/NAME.md with MEMTRACED_LONG writes the table."""

import json
import os
import re
import sys

import clients
import lib
from lib import (heap_sites, load_report, need_long, need_program, need_root, run, run_memtraced,
                 scratch, target, test, total, with_function)

BESIDE_OTHERS = True
HERE = os.path.dirname(os.path.abspath(__file__))
VIEWER = "/usr/libexec/valgrind/dh_view.js"
FIELDS = {"tb": "bytes", "tbk": "allocs", "gb": "peak_bytes", "gbk": "peak_blocks",
          "eb": "live_bytes", "ebk": "live_blocks"}
US = 1000  # ns


def need_viewer():
    if not os.path.isfile(VIEWER):
        raise lib.Skip("valgrind is not installed")


def checked(path):
    sys.path.insert(0, os.path.join(HERE, "..", "replay"))
    import check_dhat  # pylint: disable=import-outside-toplevel
    with open(path, "rb") as file:
        data = file.read()
    problems = check_dhat.check(data)
    assert not problems, problems[:5]
    return json.loads(data)


def traced(folder, *command, options=()):
    """Files by pid, the report, and what the command said."""
    path, report = os.path.join(folder, "dhat"), os.path.join(folder, "json")
    done = run_memtraced(*options, "-o", f"dhat:{path}.%p", "-o", f"json:{report}", "--", *command)
    assert done.returncode == 0, done.stderr
    processes = load_report(report)["processes"]
    return {process["pid"]: checked(f"{path}.{process['pid']}") for process in processes
            if process["alloc"]["allocs"]}, processes, done.stdout


def sums(dhat, key):
    return sum(point[key] for point in dhat["pps"])


def named(dhat, name):
    """The points on whose stacks a function is."""
    frames = {i for i, frame in enumerate(dhat["ftbl"]) if f": {name} (" in frame}
    return [point for point in dhat["pps"] if frames & set(point["fs"])]


@test(need_root, need_program("node"), need_viewer)
def its_viewer_shows_what_we_report():
    with scratch() as folder:
        files, (process,), _ = traced(folder, target("leak"), "1200", "500")
        (dhat,) = files.values()
        path = os.path.join(folder, f"dhat.{process['pid']}")
        shown = {metric: run(["node", os.path.join(HERE, "dh_view_text.js"), VIEWER, path, metric])
                 for metric in ("Total (bytes)", "At t-gmax (bytes)", "At t-end (bytes)",
                                "Total (blocks), short-lived")}
    for key, ours in FIELDS.items():
        assert sums(dhat, key) == total(heap_sites(process), ours), (key, ours)
    assert sums(dhat, "gb") == process["alloc"]["peak_bytes"]
    for metric, done in shown.items():
        assert done.returncode == 0 and not done.stderr, (metric, done.stderr[-2000:])
    text, alloc = shown["Total (bytes)"].stdout, process["alloc"]
    root = text[text.index("PP 1/1"):text.index("#0: [root]")]
    numbers = [number.replace(",", "") for number in re.findall(r"([\d,]+) (?:bytes|blocks)", root)]
    clients.same("dh_view.js", "dhat", "bytes and blocks in all", numbers[:2],
                 [str(alloc["bytes"]), str(alloc["allocs"])])
    peak = re.search(r"At t-gmax: ([\d,]+) bytes", root).group(1).replace(",", "")
    clients.same("dh_view.js", "dhat", "bytes at the peak", peak, str(alloc["peak_bytes"]))
    end = re.search(r"At t-end:  ([\d,]+) bytes .* in ([\d,]+) blocks", root)
    clients.same("dh_view.js", "dhat", "bytes and blocks at the end",
                 [number.replace(",", "") for number in end.groups()],
                 [str(alloc["live_bytes"]), str(alloc["live_blocks"])])
    assert "µs" in text and "NaN" not in text and "undefined" not in text, text[:2000]
    assert "leak_one (leak.c:" in text, text[:2000]


@test(need_root, each=("fine", "library", "report"))
def lifetimes_are_those_of_the_program(how):
    """By its own clock; where they are true to a tick, as a mean of several blocks."""
    options = ("--exact=library",) if how == "library" else ()
    with scratch() as folder:
        if how == "report":
            recording, path = os.path.join(folder, "run"), os.path.join(folder, "dhat")
            done = run_memtraced("-o", f"record:{recording}", "--", target("lifetimes"))
            assert done.returncode == 0, done.stderr
            told = done.stdout
            done = run_memtraced("report", recording, "-o", f"dhat:{path}")
            assert done.returncode == 0, done.stderr
            dhat = checked(path)
        else:
            files, _, told = traced(folder, target("lifetimes"), options=options)
            (dhat,) = files.values()
    resolution = dhat["memtraced"]["lifetime_resolution_ns"]
    assert (resolution < 2 * US) == (how == "fine"), resolution
    for name, least, most in re.findall(r"(\w+_lived) (\d+) (\d+)", told):
        points = named(dhat, name)
        lifetime, blocks = (sum(point[key] for point in points) for key in ("tl", "tbk"))
        # each birth and each end is rounded; a tick may be late
        off = blocks * resolution * (1 if how == "fine" else 3)
        if name == "short_lived" and how != "fine":
            off = 10 ** 9
        assert (int(least) - off) / US - 1 <= lifetime <= (int(most) + off) / US + 1, \
            (name, least, lifetime, most)
    assert dhat["tg"] <= dhat["te"] and dhat["te"] >= 40000, dhat["te"]
    # 100 bytes each live on: from early on to the end
    (kept,) = named(dhat, "keep")
    assert (kept["eb"], kept["ebk"]) == (300, 3), kept
    assert 3 * 40000 <= kept["tl"] <= 3 * dhat["te"], (kept, dhat["te"])
    # all of them are there at the peak, of which each has its share
    assert [(point["gb"], point["gbk"]) for point in named(dhat, "long_lived")] == [(10000, 10)]


@test(need_root, each=("", "--exact=library"))
def an_inherited_block_lives_from_the_fork_on(option):
    with scratch() as folder:
        _, processes, told = traced(folder, target("lifetimes"), "fork",
                                    options=filter(None, [option]))
    least, most = map(int, re.search(r"keep (\d+) (\d+)", told).groups())
    (inherited,) = [sites for process in processes
                    if not total(sites := with_function(heap_sites(process), "keep"), "allocs")]
    lifetime = total(inherited, "lifetime_ns")
    off = 3 * (2 * 10 ** 7 if option else 2 * US)
    assert least - off <= lifetime <= most + off, (least, lifetime, most)


# --- beside DHAT --------------------------------------------------------------------------------

def dhat_of_valgrind(folder, *command):
    path = os.path.join(folder, "dhat.valgrind")
    done = run(["valgrind", "--tool=dhat", f"--dhat-out-file={path}", "--num-callers=50", *command],
               timeout=300)
    assert done.returncode == 0, done.stderr
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def function_of(frame):
    """None: one of a tool's own. DHAT leaves out its malloc only with its debug information."""
    if "/vgpreload_" in frame or ": __wrap_" in frame or "(below main)" in frame:
        return None
    return re.sub(r" \((in .*|[^()]*:\d+)\)$", "", re.sub(r"^0x[0-9A-Fa-f]+: ", "", frame))


def by_functions(dhat, depth):
    """Sums by the innermost frames' functions, which is what both have of one place."""
    table = {}
    for point in dhat["pps"]:
        names = [function_of(dhat["ftbl"][frame]) for frame in point["fs"]]
        names = list(filter(None, names))[:depth]
        row = table.setdefault(tuple(names), dict.fromkeys(FIELDS, 0))
        for key in FIELDS:
            row[key] += point[key]
    return table


@test(need_root, need_program("valgrind"), timeout=120)
def points_are_those_of_dhat():
    """A program without realloc, and requests of 0 bytes."""
    with scratch() as folder:
        files, _, _ = traced(folder, target("lifetimes"))
        (ours,) = files.values()
        theirs = dhat_of_valgrind(folder, target("lifetimes"))
    mine, other = by_functions(ours, 3), by_functions(theirs, 3)
    known = {names: row for names, row in other.items() if names[0] == "birth"}
    assert known and known == {names: row for names, row in mine.items() if names[0] == "birth"}, \
        (known, mine)
    assert {key: sums(ours, key) for key in FIELDS} == {key: sums(theirs, key) for key in FIELDS}
