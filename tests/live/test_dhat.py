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
TRANSLATES = True
HERE = os.path.dirname(os.path.abspath(__file__))
VIEWER = "/usr/libexec/valgrind/dh_view.js"
FIELDS = {"tb": "bytes", "tbk": "allocs", "gb": "peak_bytes", "gbk": "peak_blocks",
          "eb": "live_bytes", "ebk": "live_blocks"}
US = 1000  # ns
BELOW_MAIN = ("(below main)", "__libc_start_call_main", "__libc_start_main")


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


@test(need_root, each=("probes", "library", "probes report", "library report",
                       "library report stopped", "probes report stopped"))
def lifetimes_are_those_of_the_program(how):
    """By its own clock; where they are true to a tick, as a mean of several blocks. The library's
    ticks are the kernel's: they come as ever while memtraced itself is stopped."""
    by, *rest = how.split()
    options = (f"--exact={by}",)
    words = ["stopped"] if "stopped" in rest else []
    with scratch() as folder:
        if rest:
            recording, path = os.path.join(folder, "run"), os.path.join(folder, "dhat")
            done = run_memtraced(*options, "-o", f"record:{recording}", "--", target("lifetimes"),
                                 *words)
            assert done.returncode == 0, done.stderr
            told = done.stdout
            done = run_memtraced("report", recording, "-o", f"dhat:{path}")
            assert done.returncode == 0, done.stderr
            dhat = checked(path)
        else:
            files, _, told = traced(folder, target("lifetimes"), options=options)
            (dhat,) = files.values()
    resolution = dhat["memtraced"]["lifetime_resolution_ns"]
    assert (resolution < 2 * US) == (not rest), resolution
    if how == "probes report stopped":
        assert resolution >= 40 * 10 ** 6, resolution
    elif by == "library":
        assert resolution <= 10 ** 7, resolution
    for name, least, most in re.findall(r"(\w+_lived) (\d+) (\d+)", told):
        points = named(dhat, name)
        lifetime, blocks = (sum(point[key] for point in points) for key in ("tl", "tbk"))
        # each birth and each end is rounded; a tick may be late
        off = blocks * resolution * (3 if rest and by == "probes" else 1)
        if name == "short_lived" and rest:
            off = 10 ** 9
        assert (int(least) - off) / US - 1 <= lifetime <= (int(most) + off) / US + 1, \
            (name, least, lifetime, most)
    assert dhat["tg"] <= dhat["te"] and dhat["te"] >= 40000, dhat["te"]
    # 100 bytes each live on: from early on to the end
    (kept,) = named(dhat, "keep")
    assert (kept["eb"], kept["ebk"]) == (300, 3), kept
    assert 3 * 40000 <= kept["tl"] <= 3 * (dhat["te"] + resolution / US), (kept, dhat["te"])
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


def place_of(frame):
    """Where in its page, which is the same in each run; None: not the program's own code."""
    address = int(frame.split(":")[0], 16)
    return None if "/vgpreload_" in frame or ": __wrap_" in frame else address % 4096


def by_places(dhat):
    """Sums of the points by what both have of one: the places up to main, inlined functions as
    one with what holds them. DHAT leaves out its malloc only with its debug information."""
    table = {}
    for point in dhat["pps"]:
        places = []
        for frame in (dhat["ftbl"][number] for number in point["fs"]):
            if any(f": {name}" in frame for name in BELOW_MAIN):
                break
            place = place_of(frame)
            if place is not None and places[-1:] != [place]:
                places.append(place)
        row = table.setdefault(tuple(places), dict.fromkeys(FIELDS, 0))
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
    assert len(theirs["pps"]) == 3 and by_places(ours) == by_places(theirs), (ours, theirs)
    assert {key: sums(ours, key) for key in FIELDS} == {key: sums(theirs, key) for key in FIELDS}


# Each is the same with and without valgrind; none has an allocator of its own.
PROGRAMS = {
    "sort": ["sort", "-S1M", "/usr/share/common-licenses/GPL-3"],
    "jq": ["jq", "-n", "[range(2000)|{a: ., b: tostring}]|length"],
    "sqlite3": ["sqlite3", ":memory:", "create table t(a, b); with recursive n(i) as (select 1 "
                "union all select i+1 from n where i<2000) insert into t select i, hex(i) from n; "
                "select count(*) from t where b like '%3%';"],
    "perl": ["perl", "-e", "my %h; $h{$_ % 100} .= $_ for 1..5000; print scalar keys %h;"],
    "python3": ["python3", "-S", "-E", "-c",
                "import json; print(len(json.dumps([str(i) for i in range(1000)])))"],
    "xmllint": ["xmllint", "--noout", "/usr/share/mime/packages/freedesktop.org.xml"],
    "gawk": ["gawk", "BEGIN { for (i = 0; i < 2000; i++) a[i] = i \"\"; print length(a) }"],
    "bash": ["bash", "--norc", "-c", "for i in {1..300}; do a[$i]=$i; done; echo ${#a[@]}"],
    "lifetimes": None,
}
ALIKE = ("jq", "sqlite3", "lifetimes")  # they neither look at their environment nor realloc much
HEAD = ("program", "points", "of them equal", "their blocks", "bytes in all", "DHAT", "blocks",
        "DHAT", "at the peak", "DHAT", "at the end", "DHAT")


def compared(name):
    command = PROGRAMS[name] or [target(name)]
    with scratch() as folder:
        files, _, _ = traced(folder, *command)
        (ours,) = files.values()
        theirs = dhat_of_valgrind(folder, *command)
    mine, other = by_places(ours), by_places(theirs)
    equal = [places for places in other if mine.get(places) == other[places]]
    share = sum(other[places]["tbk"] for places in equal) / max(sums(theirs, "tbk"), 1)
    if name in ALIKE:
        assert share > 0.99, (name, share)
        for key in ("tb", "tbk", "gb", "gbk"):
            assert sums(ours, key) == sums(theirs, key), (name, key)
    totals = [f"{sums(dhat, key):,}" for key in ("tb", "tbk", "gb", "eb")
              for dhat in (ours, theirs)]
    return [name, str(len(other)), str(len(equal)), f"{100 * share:.1f} %", *totals]


@test(need_root, need_long, need_program("valgrind"), timeout=600)
def real_programs_are_those_of_dhat():
    os.environ.update(PYTHONHASHSEED="0", PERL_HASH_SEED="0", LC_ALL="C")
    rows = [compared(name) for name, command in PROGRAMS.items()
            if not command or lib.shutil.which(command[0])]
    lines = [f"| {' | '.join(row)} |" for row in (HEAD, ["---"] * len(HEAD), *rows)]
    for line in lines:
        lib.note(line)
    if os.environ.get("MEMTRACED_DHAT"):
        with open(os.environ["MEMTRACED_DHAT"], "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")
