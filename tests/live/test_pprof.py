# SPDX-License-Identifier: GPL-2.0-or-later
"""Profiles as pprof shows them: its totals are ours, and the target's own."""

import contextlib
import os
import re
import sys

import clients
import lib
from lib import (heap_sites, load_report, need_long, need_program, need_root, run,
                 run_memtraced, scratch, started, target, test, total, with_function)
from test_programs import redis_in_use

TYPES = {"alloc_objects": "allocs", "alloc_space": "bytes", "inuse_objects": "live_blocks",
         "inuse_space": "live_bytes"}
sys.path.append(os.path.join(lib.ROOT, "tests", "replay"))
import pprof_wire  # noqa: E402

BESIDE_OTHERS = True
GO = ("go", "tool", "pprof")
SOURCE = "/usr/share/gocode/src/github.com/google/pprof"


def need_source():
    if not os.path.isdir(SOURCE):
        raise lib.Skip("golang-github-google-pprof-dev is not installed")


def top(pprof, profile, sample_type, *options):
    """What -top says: the sum of the samples that pass, and of each function what it has itself,
    and what it and what it calls have."""
    env = dict(os.environ, PPROF_TMPDIR=os.path.dirname(profile), HOME=os.path.dirname(profile))
    done = run([*pprof, "-top", f"-sample_index={sample_type}", "-unit=B", "-nodecount=100000",
                "-nodefraction=0", *options, profile], env=env)
    assert done.returncode == 0, done.stderr
    accounted = re.search(r"^Showing nodes accounting for (\d+)B?, \S+% of \d+B? total$",
                          done.stdout, re.M)
    assert accounted, done.stdout
    rows = re.findall(r"^ *(\d+)B? +\S+ +\S+ +(\d+)B? +\S+%  ?(.+?)"
                      r"(?: \((?:partial-)?inline\))?$", done.stdout, re.M)
    return int(accounted.group(1)), {name: (int(own), int(all_)) for own, all_, name in rows}


def shown(*args):
    """The sum, and of each function what it and what it calls have."""
    sum_, rows = top(*args)
    return sum_, {name: all_ for name, (_, all_) in rows.items()}


def traced(folder, *command):
    """Profile and report of one run."""
    profile, report = os.path.join(folder, "heap.pb.gz"), os.path.join(folder, "json")
    done = run_memtraced("-o", f"pprof:{profile}", "-o", f"json:{report}", *command)
    assert done.returncode == 0, done.stderr
    return profile, load_report(report)


def same_totals(pprof, folder):
    profile, report = traced(folder, "--", target("leak"), "100", "0")
    process, = report["processes"]
    leaked = sum(64 + i % 64 for i in range(100))
    own = with_function(heap_sites(process), "leak_one")
    for sample_type, key in TYPES.items():
        sum_, functions = shown(pprof, profile, sample_type)
        clients.same("go tool pprof" if pprof is GO else "pprof", "pprof", sample_type, sum_,
                     total(heap_sites(process), key))
        assert functions["leak_one"] == total(own, key), (sample_type, functions)
    heap, functions = shown(pprof, profile, "inuse_space")
    assert functions["leak_one"] == leaked, functions
    assert heap == process["alloc"]["live_bytes"] == total(heap_sites(process), "live_bytes"), heap


@test(need_root, need_program("go"))
def go_shows_the_totals_that_we_report():
    with scratch() as folder:
        same_totals(GO, folder)


@test(need_root, need_long, need_program("go"), need_source, timeout=120)
def standalone_pprof_shows_the_totals_that_we_report():
    with scratch() as folder:
        program = os.path.join(folder, "pprof")
        env = dict(os.environ, GO111MODULE="off", GOPATH="/usr/share/gocode",
                   GOCACHE=os.path.join(folder, "cache"), GOFLAGS="")
        built = run(["go", "build", "-o", program, "github.com/google/pprof"], env=env, timeout=100)
        assert built.returncode == 0, built.stderr
        same_totals([program], folder)


def mangled_names(path):
    """{name: as in the symbol table}"""
    with open(path, "rb") as file:
        profile = pprof_wire.read(file.read())
    strings = profile["string_table"]
    return {strings[f["name"]]: strings[f["system_name"]] for f in profile["function"]}


@test(need_root)
def a_recording_has_the_names_of_the_symbol_table():
    with scratch() as folder:
        record, again = os.path.join(folder, "record"), os.path.join(folder, "again")
        profile, _ = traced(folder, "-o", f"record:{record}",
                             *(f"--env={name}={value}" for name, value in
                               lib.counting(folder, "").items()), "--", target("operators"))
        done = run_memtraced("report", record, "-o", f"pprof:{again}")
        assert done.returncode == 0, done.stderr
        live, recorded = mangled_names(profile), mangled_names(again)
    assert any(name.startswith("_Z") for name in live.values()), live
    assert recorded == live, (recorded, live)


@contextlib.contextmanager
def of_operators(folder):
    yield [*(f"--env={name}={value}" for name, value in lib.counting(folder, "").items()), "--",
           target("operators"), "2000"]


@contextlib.contextmanager
def of_redis(folder):
    need_program("redis-server", "redis-cli")()
    with redis_in_use(folder) as command:
        yield ["--", *command]


RUNTIME = ("libc.", "ld-", "libstdc++", "libgcc_s", "libjemalloc")


@test(need_root, need_program("go"), each={"C++": of_operators, "redis-server": of_redis},
      in_turn=1,
      timeout=90)
def go_shows_sites_by_the_functions_that_we_name_them_by(program):
    """But where a stack has runtimes' functions alone."""
    functions = {"C++": of_operators, "redis-server": of_redis}
    with scratch() as folder, functions[program](folder) as command:
        profile, report = traced(folder, *command)
        sum_, rows = top(GO, profile, "alloc_space")
    ours, of_runtimes = {}, set()
    for site in (site for process in report["processes"] for site in heap_sites(process)):
        frame = site["frames"][site["name_frame"]]
        name = frame["function"] or f"[{os.path.basename(frame['object'])}]"
        ours[name] = ours.get(name, 0) + site["bytes"]
        if os.path.basename(frame["object"] or "").startswith(RUNTIME):
            of_runtimes.add(name)
    theirs = {name: own for name, (own, _) in rows.items() if own > 0}
    assert sum(theirs.values()) == sum_ == sum(ours.values()), (sum_, theirs, ours)
    named = {name: size for name, size in ours.items() if name not in of_runtimes and size > 0}
    assert named and named == {name: theirs.get(name) for name in named}, (named, theirs)


@test(need_root, need_program("go"))
def go_tells_processes_apart():
    with scratch() as folder:
        profile, report = traced(folder, "--", target("forks"), "12")
        everything, _ = shown(GO, profile, "alloc_space")
        assert everything == sum(total(heap_sites(p), "bytes") for p in report["processes"])
        for process in report["processes"][:3]:
            own, _ = shown(GO, profile, "alloc_space", f"-tagfocus=pid={process['pid']}")
            assert own == total(heap_sites(process), "bytes"), (process["pid"], own)


@test(need_root, need_program("go"))
def mappings_are_those_of_the_process():
    with scratch() as folder, started([target("leak"), "0", "2000"]) as process:
        pid = process.lines.until("ready")
        with open(f"/proc/{pid}/maps", encoding="utf-8") as file:
            maps = {(words[5], words[0], int(words[2], 16)) for words in
                    (line.split() for line in file) if "x" in words[1] and len(words) > 5}
        profile = os.path.join(folder, "heap")
        done = run_memtraced("-p", pid, "-d", "0.5", "-o", f"pprof:{profile}")
        assert done.returncode == 0, done.stderr
        raw = run([*GO, "-raw", profile], env=dict(os.environ, HOME=folder))
    assert raw.returncode == 0, raw.stderr
    found = re.findall(r"^\d+: 0x(\w+)/0x(\w+)/0x(\w+) (\S+)", raw.stdout, re.M)
    assert found and found[0][3] == os.path.realpath(target("leak")), found
    for start, end, offset, path in found:
        if path.startswith("/"):
            assert (path, f"{int(start, 16):08x}-{int(end, 16):08x}",
                    int(offset, 16)) in maps, (path, start, end, offset, maps)


@test(need_root, need_program("go", "openssl"))
def an_event_is_a_profile_of_how_often_it_happened():
    with scratch() as folder:
        profile, report = os.path.join(folder, "writes"), os.path.join(folder, "json")
        done = run_memtraced("-e", "write", "-o", f"pprof:{profile}", "-o", f"json:{report}", "--",
                             "dd", "if=/dev/zero", f"of={folder}/out", "bs=1", "count=300")
        assert done.returncode == 0, done.stderr
        event, = load_report(report, allocations=False)["events"]
        sum_, _ = shown(GO, profile, event["name"])
        assert sum_ == event["count"] >= 300, sum_


@test(need_root)
def a_binary_format_is_refused_on_a_terminal():
    done = run(["script", "-qec", f"{lib.memtraced()} -f pprof -- /bin/true", "/dev/null"])
    assert done.returncode != 0 and "binary pprof output to a terminal" in done.stdout, done
