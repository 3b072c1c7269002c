# SPDX-License-Identifier: GPL-2.0-or-later
"""memtraced diff: what it says has changed is what the targets counted themselves."""

import errno
import gzip
import json
import os
import re
import signal
import subprocess

import schema
from lib import (ALL_CALLS, Counts, counting, eventually, memtraced, need_program, need_root,
                 read_counts, refused, run, run_memtraced, scratch, send_line, started, target,
                 test)
from test_flamegraph import frames_of
from test_pprof import GO, shown

BESIDE_OTHERS = True
KEYS = ("live_bytes", "live_blocks", "allocs", "bytes", "temporary", "peak_bytes")


def recorded(folder, name, *command, **env):
    """A recording, and what the program counted of itself."""
    path, counts = os.path.join(folder, name + ".rec"), os.path.join(folder, name)
    words = [f"--env={key}={value}" for key, value in dict(counting(counts), **env).items()]
    done = run_memtraced(*words, "-o", f"record:{path}", "--", *command)
    assert done.returncode == 0, done.stderr
    images, = read_counts(os.path.join(counts, "all")).values()
    return path, images[-1]


def diffed(before, after, *options):
    done = run_memtraced("diff", before, after, "-f", "json", *options)
    assert done.returncode == 0, done.stderr
    assert done.stderr == "", done.stderr
    return schema.loads(done.stdout)


def same_change(program, before, after):
    """The program's totals are what it counted in both runs."""
    for side, counts in (("before", before), ("after", after)):
        for key in KEYS:
            assert program["heap"][side][key] == counts[key], (side, key, program["heap"], counts)
    change = Counts(after).minus(before)
    for key in KEYS:
        assert program["heap"]["change"][key] == change[key], (key, program["heap"], change)
    for key in ("live_bytes", "live_blocks", "allocs", "bytes"):
        sites = [s for s in program["sites"] if s["class"] == "heap"]
        assert sum(s["change"][key] for s in sites) == change[key], key
    assert program["exact"]


def site_of(program, function):
    found = [s for s in program["sites"] if s["class"] == "heap" and
             any(f["function"] == function for f in s["frames"])]
    assert len(found) == 1, (function, len(found))
    return found[0]


@test(need_root)
def the_change_is_what_the_program_counted():
    with scratch() as folder:
        (a, before), (b, after) = (recorded(folder, str(n), target("leak"), str(n), "0")
                                   for n in (100, 130))
        program, = diffed(a, b)["programs"]
        same_change(program, before, after)
        assert program["processes_before"] == program["processes_after"] == 1
        leaked = sum(64 + i % 64 for i in range(100, 130))
        change = site_of(program, "leak_one")["change"]
        assert (change["live_bytes"], change["live_blocks"]) == (leaked, 30), change
        assert program["sites"][0] == site_of(program, "leak_one"), "it has changed most"
        assert site_of(program, "work_one")["change"]["live_bytes"] == 0
        assert not any(s["before"] is None or s["after"] is None for s in program["sites"])
        back, = diffed(b, a)["programs"]
        same_change(back, after, before)
        same, = diffed(a, a)["programs"]
        same_change(same, before, before)


@test(need_root, need_program("go"))
def each_format_has_the_same_change():
    with scratch() as folder:
        (a, _), (b, _) = (recorded(folder, str(n), target("leak"), str(n), "0")
                          for n in (100, 130))
        svg, back, profile = (os.path.join(folder, name) for name in ("x.svg", "y.svg", "x.pb.gz"))
        program, = diffed(a, b, "-o", f"flamegraph:{svg}", "-o", f"pprof:{profile}")["programs"]
        own = site_of(program, "leak_one")
        values = own["before"]["live_bytes"], own["after"]["live_bytes"]
        totals = [sum(s[side]["live_bytes"] for s in program["sites"] if s["class"] == "heap")
                  for side in ("before", "after")]
        lines = [line.rsplit(" ", 2) for line in
                 run_memtraced("diff", a, b, "-f", "folded").stdout.splitlines()]
        assert [sum(int(line[i]) for line in lines) for i in (1, 2)] == totals, lines
        assert sum(int(x[2]) for x in lines if x[0].endswith(";leak_one;__wrap_malloc;malloc")) \
            == values[1], lines
        frames = {frame.name: frame for frame in frames_of(svg)}
        assert frames["all"].value == totals[1], frames["all"].title
        change = f"; +{values[1] - values[0]:,})"
        assert frames["__wrap_malloc"].title.endswith(change), frames["__wrap_malloc"].title
        done = run_memtraced("diff", a, b, "--widths=before", "-o", f"flamegraph:{back}")
        assert done.returncode == 0, done.stderr
        frames = {frame.name: frame for frame in frames_of(back)}
        assert frames["all"].value == totals[0], frames["all"].title
        for kind, key in (("inuse_space", "live_bytes"), ("alloc_objects", "allocs"),
                          ("inuse_objects", "live_blocks"), ("alloc_space", "bytes")):
            _, functions = shown(GO, profile, kind)
            assert functions["leak_one"] == own["change"][key], (kind, functions)


@test(need_root)
def files_of_diffs_are_packed_and_fail_as_those_of_reports():
    with scratch() as folder:
        recording, _ = recorded(folder, "a", target("leak"), "10", "0")
        packed = os.path.join(folder, "d.json.gz")
        done = run_memtraced("diff", recording, recording, "-o", f"json:{packed}")
        assert done.returncode == 0, done.stderr
        with gzip.open(packed, "rt", encoding="utf-8") as file:
            assert json.load(file)["programs"]
        done = run_memtraced("diff", recording, recording, "-o", "json:/dev/full")
        assert done.returncode == 2 and os.strerror(errno.ENOSPC) in done.stderr, done


PYTHON = "import sys; kept = [bytearray(4096) for i in range(int(sys.argv[1]))]; import os; " \
    "os._exit(0)"


@test(need_root)
def an_interpreter_is_compared_by_its_own_functions():
    with scratch() as folder:
        (a, before), (b, after) = (
            recorded(folder, str(n), "/usr/bin/python3", "-S", "-c", PYTHON, str(n),
                     PYTHONHASHSEED="0")
            for n in (100, 300))
        program, = diffed(a, b)["programs"]
        same_change(program, before, after)
        # A bytearray's bytes, and one for a 0 behind them, come from malloc by one function.
        # Which function maps an arena for the interpreter's own blocks is chance.
        first = next(site for site in program["sites"] if site["class"] == "heap")
        assert first["change"]["live_blocks"] == 200, first
        assert first["change"]["live_bytes"] == 200 * 4097, first


SOURCE = """
#include <cstdlib>
#include <cstdio>
#include <vector>
namespace demo {
struct Table { std::vector<char *> rows; };
__attribute__((noinline)) char *fresh(Table &t, size_t n)
{
	t.rows.push_back((char *)std::malloc(n));
	return t.rows.back();
}
#ifdef NEXT
__attribute__((noinline)) void extra(Table &t) { t.rows.push_back((char *)std::malloc(777)); }
#else
__attribute__((noinline)) void dropped(Table &t) { t.rows.push_back((char *)std::malloc(333)); }
#endif
}
int main()
{
	demo::Table t;
	t.rows.reserve(1000);
	for (int i = 0; i < COUNT; i++)
		std::putchar(demo::fresh(t, 100 + i) ? '.' : ',');
#ifdef NEXT
	demo::extra(t);
#else
	demo::dropped(t);
#endif
	std::fflush(stdout);
	std::_Exit(0);
}
"""


def built(folder, name, *flags):
    source, program = os.path.join(folder, name + ".cc"), os.path.join(folder, name)
    with open(source, "w", encoding="ascii") as file:
        file.write("// a line\n" * len(flags) + SOURCE)
    subprocess.run(["g++", *flags, "-o", program, source], check=True)
    return program


@test(need_root, need_program("g++"))
def two_builds_of_a_program_compare():
    with scratch() as folder:
        old = built(folder, "demo-1", "-O0", "-g", "-DCOUNT=50")
        new = built(folder, "demo-2", "-O2", "-DNEXT", "-DCOUNT=80", "-s", "-rdynamic")
        a, before = recorded(folder, "a", old)
        b, after = recorded(folder, "b", new)
        program, = diffed(a, b)["programs"]
        assert program["name"] == "demo-1 → demo-2", program["name"]
        same_change(program, before, after)
        fresh = site_of(program, "demo::fresh(demo::Table&, unsigned long)")
        assert fresh["before"]["live_bytes"] == sum(100 + i for i in range(50)), fresh
        assert fresh["change"]["live_bytes"] == sum(100 + i for i in range(50, 80)), fresh
        extra = site_of(program, "demo::extra(demo::Table&)")
        assert extra["before"] is None and extra["change"]["live_bytes"] == 777, extra
        dropped = site_of(program, "demo::dropped(demo::Table&)")
        assert dropped["after"] is None and dropped["change"]["live_bytes"] == -333, dropped
        done = run_memtraced("diff", a, b)
        assert re.search(r"\+777 B live, new: 777 B in 1 block after; \+1 alloc$", done.stdout,
                         re.M), done.stdout
        assert re.search(r"-333 B live, gone: 333 B in 1 block before; -1 alloc$", done.stdout,
                         re.M), done.stdout
        done = run_memtraced("diff", a, b, "-f", "json", "--where=function = 'demo::extra*'")
        site, = schema.loads(done.stdout)["programs"][0]["sites"]
        assert site == extra, site


@test(need_root)
def two_checkpoints_of_a_process_compare():
    """Both count from the same moment; what the first has not seen is the change."""
    with scratch() as folder, \
            started([target("attach"), "3000", "1"],
                    env=dict(os.environ, **counting(folder))) as process:
        pid = int(process.lines.until("ready"))
        paths = [os.path.join(folder, name) for name in ("first", "second")]
        tracers = []
        try:
            for path in paths:
                with open(path + ".json", "wb") as out:
                    tracers.append(subprocess.Popen(
                        [memtraced(), ALL_CALLS, "-p", str(pid), "-i", "0.2", "-f", "json",
                         "-o", f"record:{path}"], stdout=out, stdin=subprocess.DEVNULL,
                        stderr=subprocess.DEVNULL))
                eventually(lambda p=path: os.path.getsize(p + ".json") > 0, "no report")
            tracers[0].send_signal(signal.SIGINT)
            assert tracers[0].wait(30) == 0
            counts = read_counts(os.path.join(folder, "all"))[pid][0]
            send_line(process)
            process.lines.until("worked")
            after = read_counts(os.path.join(folder, "all"))[pid][0].minus(counts)
            tracers[1].send_signal(signal.SIGINT)
            assert tracers[1].wait(30) == 0
        finally:
            for tracer in tracers:
                if tracer.poll() is None:
                    tracer.kill()
                tracer.wait()
        report = diffed(*paths)
        program, = report["programs"]
        change = site_of(program, "new_blocks")["change"]
        kept = [48 + i % 100 for i in range(3000) if i % 3]
        assert change["live_bytes"] == sum(kept) and change["live_blocks"] == len(kept), change
        assert change["allocs"] == after["allocs"] == 3000, (change, after)
        send_line(process)
        process.lines.until("done")


@test(need_root)
def what_cannot_be_compared_is_said():
    with scratch() as folder:
        whole, _ = recorded(folder, "a", target("leak"), "10", "0")
        events, other = os.path.join(folder, "events"), os.path.join(folder, "other")
        done = run_memtraced("-e", "getpid", "-o", f"record:{events}", "--", "/bin/true")
        assert done.returncode == 0, done.stderr
        with open(other, "w", encoding="ascii") as file:
            file.write("text")
        refused(run_memtraced("diff", whole, events), 2, "events", "nothing in common")
        refused(run_memtraced("diff", other, whole), 2, "other", "not a memtraced recording")
        refused(run_memtraced("diff", whole, folder + "/none"), 2, "none", "No such file")
        refused(run_memtraced("diff", whole), 1, "two files")
        refused(run_memtraced("diff", whole, whole, "-f", "massif"), 1, "massif", "diff")
        refused(run_memtraced("diff", whole, whole, "-o", "json:/nowhere/x"), 2, "/nowhere/x")
        with open(whole, "rb") as file:
            data = file.read()
        with open(other, "wb") as file:
            file.write(data[:-3])
        done = run_memtraced("diff", whole, other, "-f", "json")
        assert done.returncode == 0 and "other ends early or is damaged" in done.stderr, done.stderr
        report = schema.loads(done.stdout)
        assert report["after"]["damaged"] and not report["before"]["damaged"]
        assert "damaged: compared up to the damage" in run_memtraced("diff", whole, other).stdout
        with open(other, "wb") as file:
            file.write(data[:600])
        refused(run_memtraced("diff", "-q", whole, other), 2, "no process was counted")
        closed = run([f"{memtraced()} diff {whole} {whole} >&-"], shell=True)
        assert closed.returncode in (2, 141), closed


ASKED = "import os, sys, time; n = int(sys.argv[1])\n" \
    "for i in range(n): os.getrandom(24)\n" \
    "for i in range(n // 10): time.sleep(0.001)"


def watched(folder, name, times, *jobs):
    path = os.path.join(folder, name + ".rec")
    done = run_memtraced(*jobs, "--env=PYTHONHASHSEED=0", "-o", f"record:{path}", "--",
                         "/usr/bin/python3", "-S", "-c", ASKED, str(times))
    assert done.returncode == 0, done.stderr
    return path


def change_at(event, function):
    """What has changed at all stacks with that function."""
    changes = [stack["change"] for stack in event["stacks"]
               if any(frame["function"] == function for frame in stack["frames"])]
    assert changes, (function, event)
    return {key: sum(change[key] or 0 for change in changes) for key in ("count", "ns")}


@test(need_root)
def events_and_histograms_are_compared_without_allocations():
    name, jobs = "syscalls:sys_enter_getrandom", ("-e", "getrandom", "--off-cpu",
                                                  "--hist=getrandom")
    with scratch() as folder:
        a, b = (watched(folder, str(n), n, *jobs) for n in (100, 130))
        report = diffed(a, b, "-o", f"folded:{folder}/%e.txt", "-o", f"flamegraph:{folder}/%e.svg")
        events = {event["name"]: event for event in report["events"]}
        assert set(events) == {name, "off-cpu"}, set(events)
        assert report["programs"] == []
        asked, slept = events[name], events["off-cpu"]
        assert asked["change"] == {"count": 30, "ns": None}, asked["change"]
        assert change_at(asked, "PyEval_EvalCode")["count"] == 30
        assert change_at(slept, "clock_nanosleep")["count"] == 3
        assert slept["change"]["ns"] == slept["after"]["ns"] - slept["before"]["ns"]
        group, = report["histograms"]
        buckets = [sum(bucket["count"] for bucket in group[side]["buckets"] if bucket["lo"] == 16)
                   for side in ("before", "after")]
        assert buckets[1] - buckets[0] == group["change"] == 30, group

        lines = [line.rsplit(" ", 2) for line in
                 open(f"{folder}/syscalls-sys_enter_getrandom.txt", encoding="utf-8")]
        totals = [sum(int(line[i]) for line in lines) for i in (1, 2)]
        assert totals == [asked[side]["count"] for side in ("before", "after")], totals
        frames = {frame.name: frame for frame in frames_of(f"{folder}/off-cpu.svg")}
        assert frames["all"].value == slept["after"]["ns"], frames["all"].title
        table = run_memtraced("diff", a, b).stdout
        assert re.search(r"^  times +\d+ +\d+ +\+30 ", table, re.M), table
        assert re.search(r"^  \[16, 32\) +\d+ +\d+ +\+30 ", table, re.M), table


@test(need_root)
def what_runs_do_not_have_in_common_is_not_compared():
    with scratch() as folder:
        slow, fast = (watched(folder, hz, 20, f"--cpu={hz}", "-e", "getrandom")
                      for hz in ("99", "199"))
        sampled = watched(folder, "sampled", 20, "--cpu=99")
        table = run_memtraced("diff", slow, fast)
        assert table.returncode == 0, table.stderr
        for run_, hz in (("earlier", 99), ("later", 199)):
            assert f"cpu-clock: not compared, only in the {run_} run at {hz} a second" \
                in table.stdout, table.stdout
        # One job is left, which needs no name.
        assert run_memtraced("diff", slow, fast, "-f", "folded").returncode == 0
        refused(run_memtraced("diff", fast, sampled), 2, "nothing in common", "--cpu")
        refused(run_memtraced("diff", slow, slow, "-f", "folded"), 1, "2 jobs", "%e")
        refused(run_memtraced("diff", slow, slow, "-o", f"json:{folder}/%e"), 1, "leave %e out")
        refused(run_memtraced("diff", slow, slow, "-o", f"pprof:{folder}/x"), 1, "allocations")
