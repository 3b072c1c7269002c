# SPDX-License-Identifier: GPL-2.0-or-later
"""--exact=library: calls that a process counts itself are those that probes count, and what it
writes is not believed."""

import contextlib
import glob
import os
import pty
import random
import re
import signal
import struct
import subprocess
import time

import schema

from lib import (called_by, counting, Counts, eventually, exact, EXACT_KEYS, heap_sites, Lines,
                 load_report, mapped_sites, memtraced, need_kernel, need_program, need_root, note,
                 read_counts, refused, run, run_memtraced, same, same_calls, scaled, scratch,
                 send_line, SERIAL_KEYS, Skip, started, target, test, total, trace)

BESIDE_OTHERS = True
LIBRARY = "--exact=library"


def by_library(report):
    assert report["coverage"]["library"] == {"used": True, "why_not": None}, report["coverage"]
    return [process["alloc"]["by_library"] for process in report["processes"]]


def counted(command, *options, **how):
    run = trace(command, LIBRARY, *options, **how)
    assert all(by_library(run.report)), "a process was counted by probes"
    return run


# By their own count alone: what the library asks the dynamic linker for allocates, too, which a
# counter behind it would see.
@test(need_root, timeout=120, each=["threads 8 400000", "reallocs 300", "aligned 300",
                                    "temporary 50"])
def a_programs_own_calls_are_at_its_sites(words):
    name, *args = words.split()
    run = counted([target(name), *args], library=None, timeout=3000)
    exact(run.report)
    (own,), = run.own.values()
    assert own["allocs"] > 0
    same_calls(run.only_process(), own, name)


@test(need_root, each=["jump", "realloc", "signal", "altstack", "switch", "stuck"], in_turn=3)
def calls_that_begin_while_others_seem_to_go_on_count(case):
    """The allocator is in a library behind ours: some calls of it never return."""
    run = counted([target("nesting-behind"), case, "30"], library=None)
    exact(run.report)
    (own,), = run.own.values()
    assert own["allocs"] > 30
    same_calls(run.only_process(), own, "nesting-behind")
    same(run.only_process(), own, EXACT_KEYS)


# Of a site: what does not depend on when it was looked at.
SITE_KEYS = ("live_bytes", "live_blocks", "allocs", "bytes", "peak_bytes", "temporary")


FREE_KEYS = ("blocks", "bytes", "other_thread", "unknown")


def callers(stack):
    """glibc has several names for some functions, and the library one each."""
    return tuple((frame["function"], frame["line"], frame["object"])
                 for frame in stack["frames"][1:])


def sites_by_stack(process):
    sites = {}
    for site in heap_sites(process):
        sums = sites.setdefault(callers(site), {**dict.fromkeys(SITE_KEYS, 0), "frees": {}})
        for key in SITE_KEYS:
            sums[key] += site[key]
        for place in site.get("frees") or ():
            freed = sums["frees"].setdefault(callers(place), dict.fromkeys(FREE_KEYS, 0))
            for key in FREE_KEYS:
                freed[key] += place[key]
    return sites


def mapped_by_others_than_the_linker(process):
    """Its own blocks are more and larger with another library."""
    return sum(site["allocs"] for site in mapped_sites(process)
               if not any("/ld-linux" in (frame["object"] or "") for frame in site["frames"]))


def both_ways_are_the_same(words, *options):
    """With libraries of the system alone, whose stacks are the same in both."""
    name, *args = words.split()
    command = [os.path.join(target(""), name), *args]
    runs = []
    for way in ("probes", "library"):
        run = trace(command, f"--exact={way}", *options, library=None, timeout=120)
        exact(run.report)
        runs.append(run.report)
    cut = [run["coverage"]["stacks_truncated"] > 0 for run in runs]
    assert cut == [any(option.startswith("--max-stack") for option in options)] * 2, cut
    probed_, counted_ = (run["processes"] for run in runs)
    assert len(probed_) == len(counted_)
    assert any(map(heap_sites, probed_))
    for probed, counted_ in zip(probed_, counted_):
        probes, library = sites_by_stack(probed), sites_by_stack(counted_)
        assert counted_["alloc"]["by_library"], probed
        different = {key: (probes.get(key), library.get(key)) for key in {*probes, *library}
                     if probes.get(key) != library.get(key)}
        assert not different, different
        same(counted_, probed["alloc"], SERIAL_KEYS)
    return zip(*(run["processes"] for run in runs))


@test(need_root, timeout=120, each=["aligned 50", "exceptions 50", "swaps", "forks 60",
                                    "fork_storm 50", "silent_forks", "dl 30"],
      every_kernel=["swaps"])
def sites_and_stacks_are_those_of_probes(words):
    for both in both_ways_are_the_same(words):
        mapped = [mapped_by_others_than_the_linker(process) for process in both]
        assert mapped[0] == mapped[1], (mapped, both)


@test(need_root, each=["exceptions 50", "swaps", "forks 60", "silent_forks", "dl 30"],
      in_turn=3)
def places_where_blocks_are_freed_are_those_of_probes(words):
    for _, counted_ in both_ways_are_the_same(words, "--free-stacks", "--heap-errors"):
        freed = sum(place["blocks"] for site in heap_sites(counted_) for place in site["frees"])
        assert freed == counted_["alloc"]["frees"], (freed, counted_["alloc"])
        assert all(error["kind"] in ("failed-allocation", "suspicious-size")
                   for error in counted_["heap_errors"]), counted_["heap_errors"]


@test(need_root, each=["--min-size=100", "--max-size=100", "--min-size=100 --max-size=2000"])
def blocks_of_some_sizes_are_those_of_probes(options):
    for words in ("forks 20", "lifetimes fork"):
        both_ways_are_the_same(words, *options.split())


# A shell, what it starts, and what that starts as another user.
CHOSEN = ("sort /etc/passwd; (: ; sort /etc/passwd); ls /; "
          "setpriv --reuid=nobody --clear-groups sort /etc/passwd")


@test(need_root, need_program("setpriv"), each=["--comm=sort", "--comm=ls", "--uid=nobody"])
def processes_that_are_chosen_are_those_of_probes(option):
    told = []
    for way in ("probes", "library"):
        run = trace(["/bin/sh", "-c", CHOSEN], f"--exact={way}", option, library=None)
        exact(run.report)
        told.append([(process["comm"], sites_by_stack(process))
                     for process in run.report["processes"]])
        assert all(process["alloc"].get("by_library", False) == (way == "library")
                   for process in run.report["processes"]), run.report["processes"]
    assert told[0] == told[1] and any(sites for _, sites in told[0]), told


@test(need_root, need_program("jq"))
def truncated_stacks_are_those_of_probes():
    both_ways_are_the_same("/usr/bin/jq -n reduce(range(40))as$i(0;[.])|tojson", "--max-stack=16")


@test(need_root, each=["double", "interior", "wild", "resize", "child", "failed", "negative",
                       "zero", "right"])
def wrong_uses_of_the_heap_are_those_that_probes_see(kind):
    if kind in ("double", "resize"):
        need_kernel(5, 15)()  # before, probes take the second for an invalid one
    told = []
    for way in ("probes", "library"):
        with scratch() as folder:
            path = os.path.join(folder, "report.json")
            run_memtraced(f"--exact={way}", "-q", "-o", f"json:{path}", "--",
                          target("heap_errors"), kind)
            report = load_report(path)
        told.append([[(error["kind"], error["count"], functions(error["frames"]),
                       functions(error["allocated"]), process["alloc"]["failed"])
                      for error in process["heap_errors"]] for process in report["processes"]])
    assert told[0] == told[1], told
    assert any(told[0]) == (kind != "right"), told


def functions(frames):
    return frames and [frame["function"] for frame in frames]


def next_generation(process):
    """What the program holds then, in bytes and blocks, as it says itself."""
    send_line(process)
    held = re.match(r"holds (\d+) (\d+) ", process.lines.next())
    return int(held[1]), int(held[2])


def held(report):
    (process,) = report["processes"]
    sites = called_by(process, "generations")
    return total(sites, "live_bytes"), total(sites, "live_blocks")


def pid_of_child(process, name="generations"):
    with open(f"/proc/{process.pid}/task/{process.pid}/children", encoding="ascii") as file:
        pids = [int(pid) for pid in file.read().split()]
    for pid in pids:
        with open(f"/proc/{pid}/comm", encoding="ascii") as file:
            if file.read().strip() == name:
                return pid
    return None


@test(need_root)
def what_a_killed_program_has_counted_is_there():
    """Calls that have returned are counted, to the last."""
    with scratch() as folder:
        path = os.path.join(folder, "report.json")
        with started([memtraced(), LIBRARY, "-q", "-o", f"json:{path}", "--",
                      target("generations")]) as process:
            assert process.lines.next() == "ready"
            for _ in range(5):
                own = next_generation(process)
            os.kill(pid_of_child(process), signal.SIGKILL)
            assert process.wait(30) == 128 + signal.SIGKILL
        report = load_report(path)
    exact(report)
    assert by_library(report) == [True]
    assert held(report) == own, (held(report), own)


THREADS = 4


def run_until_killed(moment):
    """What a program has counted of itself so many seconds after its start, and the report."""
    with scratch() as folder:
        path = os.path.join(folder, "report.json")
        words = [f"--env={name}={value}" for name, value in counting(folder, library=None).items()]
        with started([memtraced(), LIBRARY, "-q", *words, "-o", f"json:{path}", "--",
                      target("threads"), str(THREADS), str(10 ** 9)]) as process:
            pid = eventually(lambda: pid_of_child(process, "threads"), "no program")
            time.sleep(moment)
            os.kill(pid, signal.SIGKILL)
            assert process.wait(30) == 128 + signal.SIGKILL
        own = Counts()
        with contextlib.suppress(struct.error):  # killed before its counts had room
            (own,) = read_counts(os.path.join(folder, "own")).get(pid, [own])
        return own, load_report(path)


@test(need_root, timeout=900)
def so_it_is_of_threads_that_are_killed_at_any_moment():
    """The program counts an allocation when it has returned, and a free before it begins."""
    before = calls = 0
    moments = scaled(3, 500)
    for _ in range(moments):
        own, report = run_until_killed(random.uniform(0, 0.3))
        # Else it was killed before it had loaded its allocator.
        assert report["coverage"]["exact"] or not own, report["coverage"]
        sites = [site for process in report["processes"] for site in called_by(process, "threads")]
        allocs = total(sites, "allocs")
        frees = allocs - total(sites, "live_blocks")
        before += own.get("allocs", 0) == 0
        calls += allocs + frees
        assert 0 <= allocs - own.get("allocs", 0) <= THREADS, (allocs, own)
        # Of a call that was killed in the middle some counts of its site are there, and others not.
        assert abs(own.get("frees", 0) - frees) <= THREADS, (frees, own)
    note(f"{moments} programs killed: {calls} operations; {before} before they had allocated")


@test(need_root, timeout=900)
def a_program_ends_as_ever_when_memtraced_is_killed_at_any_moment():
    moments = scaled(3, 500)
    for _ in range(moments):
        with started([memtraced(), LIBRARY, "-q", "--", target("threads"), str(THREADS),
                      str(2000000)]) as process:
            eventually(lambda: pid_of_child(process, "threads"), "no program")
            time.sleep(random.uniform(0, 0.1))
            process.kill()
            process.wait(30)
            assert process.lines.until("done") == "2000000"
    note(f"{moments} times memtraced was killed, and its program ended as ever")


@test(need_root)
def a_program_goes_on_when_memtraced_is_killed():
    with started([memtraced(), LIBRARY, "-q", "--", target("generations")]) as process:
        assert process.lines.next() == "ready"
        first = next_generation(process)
        process.send_signal(signal.SIGKILL)
        process.wait(30)
        assert next_generation(process) > first


@test(need_root)
def an_exec_begins_a_book_of_its_own():
    run = counted(["/bin/sh", "-c", f"exec {target('aligned')} 20"], library=None)
    exact(run.report)
    names = [process["comm"] for process in run.report["processes"]]
    assert names == ["aligned", "sh"], names
    assert run.report["processes"][0]["alloc"]["allocs"] >= 100


@test(need_root)
def children_that_execute_programs_are_counted():
    """vfork and fork; each child's program has a book of its own."""
    run = counted(["/bin/sh", "-c", f"{target('aligned')} 20; {target('aligned')} 20; :"],
                  library=None)
    exact(run.report)
    counts = [process["alloc"]["allocs"] for process in run.report["processes"]
              if process["comm"] == "aligned"]
    assert len(counts) == 2 and counts[0] == counts[1] >= 100, counts


@test(need_root)
def a_static_program_is_counted_by_probes():
    run = trace([target("static")], LIBRARY, library=None)
    exact(run.report)
    assert run.report["coverage"]["library"] == {"used": False,
                                                 "why_not": "it is linked statically"}
    assert run.only_process()["alloc"]["allocs"] > 100
    assert "is counted by probes: it is linked statically" in run.stderr, run.stderr


@test(need_root)
def a_static_program_that_a_command_starts_is_counted_by_probes():
    run = trace(["/bin/sh", "-c", f"{target('static')}; {target('aligned')} 20; :"], LIBRARY,
                library=None)
    exact(run.report)
    ways = {process["comm"]: process["alloc"]["by_library"] for process in run.report["processes"]}
    assert ways == {"sh": True, "static": False, "aligned": True}, ways
    (static,) = [p for p in run.report["processes"] if p["comm"] == "static"]
    assert static["alloc"]["allocs"] > 100


@test(need_root)
def a_program_whose_children_lose_the_library_has_them_probed():
    run = trace(["/usr/bin/env", "-u", "LD_PRELOAD", target("aligned"), "20"], LIBRARY,
                library=None)
    exact(run.report)
    ways = {process["comm"]: process["alloc"]["by_library"] for process in run.report["processes"]}
    assert ways == {"aligned": False, "env": True}, ways
    (aligned,) = [p for p in run.report["processes"] if p["comm"] == "aligned"]
    assert aligned["alloc"]["allocs"] >= 100


@test(need_root, each=["tcmalloc-names", "mimalloc-names", "jemalloc-rjem", "glibc"])
def an_allocator_that_is_used_by_names_of_its_own_has_probes(family):
    path = target(f"families-{family}")
    if not os.path.exists(path):
        raise Skip(f"{family} is not installed")
    run = trace([path, "300"], LIBRARY, library=None)
    exact(run.report)
    assert by_library(run.report) == [family == "glibc"], run.report["coverage"]
    assert run.only_process()["alloc"]["allocs"] > 200


@test(need_root, each=["libtcmalloc_minimal.so.4", "libtcmalloc.so.4"])
def what_tcmalloc_calls_of_itself_is_counted(name):
    """By names that no program finds in our library, which has them all the same."""
    paths = glob.glob(f"/usr/lib*/{name}") + glob.glob(f"/usr/lib/*/{name}")
    if not paths:
        raise Skip(f"{name} is not installed")
    path = paths[0]
    runs = [trace([target("aligned"), "20"], way, library=None, preload=path, timeout=60)
            for way in (LIBRARY, "--exact=probes")]
    for run_, by in zip(runs, (True, False)):
        exact(run_.report)
        assert run_.only_process()["alloc"].get("by_library", False) == by, run_.report["coverage"]
    # In bytes the rest differs by what the environment and our library's entries make larger.
    for key in ("allocs", "bytes", "temporary"):
        own = [total(called_by(run_.only_process(), os.path.basename(os.path.realpath(path))), key)
               for run_ in runs]
        assert own[0] == own[1] >= 2, (key, own)
    for key in ("allocs", "frees", "live_blocks", "temporary"):
        counts = [run_.only_process()["alloc"][key] for run_ in runs]
        assert counts[0] == counts[1], (key, counts)
    look = "import ctypes; print(hasattr(ctypes.CDLL(None), 'tc_malloc'))"
    run_ = trace(["/usr/bin/python3", "-c", look], LIBRARY, library=None)
    assert run_.stdout == "False\n", run_.stdout


@test(need_root)
def a_program_that_is_not_to_keep_a_book_is_probed():
    """It has the library, which then waits for samples to be asked for."""
    run = trace(["/usr/bin/env", "MEMTRACED_EXACT=0", target("aligned"), "20"], LIBRARY,
                library=None)
    exact(run.report)
    ways = {process["comm"]: process["alloc"]["by_library"] for process in run.report["processes"]}
    assert ways == {"aligned": False, "env": True}, ways
    (aligned,) = [p for p in run.report["processes"] if p["comm"] == "aligned"]
    assert aligned["alloc"]["allocs"] >= 100


@test(need_root, each=["plainly", "deep", "apart"])
def what_a_loaded_library_calls_past_the_book_is_said_to_be_missing(how):
    """In the child that is forked later, too."""
    command = [target("bypass"), how, target("libplug_a.so")]
    run = trace(command, LIBRARY, library=None)
    coverage = run.report["coverage"]
    bypassed = 0 if how == "plainly" else 2
    assert coverage["exact"] == (not bypassed), coverage
    assert coverage["lost"].get("book-bypassed", 0) == bypassed, coverage
    assert not any(process["heap_errors"] for process in run.report["processes"]), run.report
    probes = trace(command, "--exact=probes", library=None)
    exact(probes.report)
    calls = [total(called_by(process, "libplug_a.so"), "allocs")
             for process in probes.report["processes"]]
    assert sorted(calls) == [2, 11], calls


@test(need_root, timeout=120)
def libraries_at_one_address_are_told_apart():
    """Each is gone before memtraced reads of its calls: many run at once, so that it is late."""
    with scratch() as folder, contextlib.ExitStack() as runs:
        outputs = [os.path.join(folder, f"{i}.json") for i in range(10)]
        for traced in [runs.enter_context(started([memtraced(), LIBRARY, "-q", "-i", "0.05", "-o",
                                                   f"json:{path}", "--", target("dl"), "30"]))
                       for path in outputs]:
            assert traced.wait(60) == 0
        for path in outputs:
            report = load_report(path)
            exact(report)
            (process,) = report["processes"]
            allocs = {name: total(called_by(process, f"libplug_{name}.so"), "allocs")
                      for name in "ab"}
            assert allocs == {"a": 60, "b": 60}, allocs


@test(need_root, each=["handle", "version", "next", "names"])
def what_is_called_by_other_names_counts(way):
    """The program checks that it is given the addresses that it has for the names itself."""
    for how in (LIBRARY, "--exact=probes"):
        run = trace([target("past"), way, "50"], how, library=None)
        exact(run.report)
        sites = called_by(run.only_process(), "past")
        assert [total(sites, key) for key in ("allocs", "bytes", "live_blocks", "live_bytes")] == \
            list(map(int, run.stdout.split())), (how, run.stdout, sites)


NEXT_OF_LIBRARY = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#ifdef OWN
#define allocate malloc
#endif
void *allocate(size_t size);
void *allocate(size_t size)
{
	return ((void *(*)(size_t))dlsym(RTLD_NEXT, "malloc"))(size);
}
"""
CALLS_LIBRARY = """
#include <stdlib.h>
#ifdef OWN
#define allocate malloc
#endif
void *allocate(size_t size);
int main(void)
{
	for (int i = 0; i < 10; i++)
		free(i % 2 ? malloc(10) : allocate(20));
	return 0;
}
"""


@test(need_root, need_program("cc"), each=["other", "own"])
def a_library_behind_that_asks_for_the_next_function_gets_past(whose):
    """One that has a malloc of its own is an allocator: it is called by ours."""
    with scratch() as folder:
        library, program = os.path.join(folder, "libnext.so"), os.path.join(folder, "program")
        for source, *args in ((NEXT_OF_LIBRARY, "-shared", "-fPIC", "-o", library),
                              (CALLS_LIBRARY, "-o", program, library)):
            done = run(["cc", "-fno-builtin", *(["-DOWN"] if whose == "own" else []), "-x", "c",
                        "-", "-x", "none", *args], input=source)
            assert done.returncode == 0, done.stderr
        traced = trace([program], LIBRARY, library=None)
    coverage = traced.report["coverage"]
    assert coverage["lost"] == ({} if whose == "own" else {"book-bypassed": 1}), coverage
    assert not traced.only_process()["heap_errors"]


@test(need_root)
def a_block_that_was_made_past_the_book_is_no_wrong_free():
    """At the address of a block that was freed before, too."""
    program = f"""
import ctypes
own, all = ctypes.CDLL("{target("libplug_a.so")}", mode=8), ctypes.CDLL(None) # RTLD_DEEPBIND
own.leak_from_a.restype, all.malloc.restype = ctypes.c_void_p, ctypes.c_void_p
all.free.argtypes = [ctypes.c_void_p]
for _ in range(20):
    all.free(all.malloc(ctypes.c_size_t(4096)))
    all.free(own.leak_from_a())
"""
    run_ = trace(["/usr/bin/python3", "-c", program], LIBRARY, library=None)
    coverage, process = run_.report["coverage"], run_.only_process()
    assert coverage["lost"].pop("book-bypassed") == 1 and not coverage["exact"], coverage
    assert process["alloc"]["unknown_frees"] == 20 and not process["heap_errors"], process


@test(need_root)
def reports_while_it_runs_have_what_it_holds():
    with started([memtraced(), LIBRARY, "-q", "-f", "json", "-i", "0.1", "--",
                  target("generations")], stderr=subprocess.PIPE) as process:
        said = Lines(process.stderr)
        assert said.next() == "ready"
        for _ in range(4):
            send_line(process)
            own = tuple(map(int, re.match(r"holds (\d+) (\d+) ", said.next()).groups()))
            for _ in range(2):  # one may have been begun before
                process.lines.forget()
                report = schema.loads(process.lines.next())
            schema.check(report)
            exact(report)
            assert held(report) == own, (held(report), own)


BUSY = """
import time
end = time.monotonic() + 1.5
while time.monotonic() < end:
    list(map(str, range(1000)))
"""


@test(need_root)
def the_status_line_has_the_rate_of_calls():
    ours, theirs = pty.openpty()
    with started([memtraced(), LIBRARY, "-o", "json:/dev/null", "--env=PYTHONMALLOC=malloc", "--",
                  "/usr/bin/python3", "-c", BUSY], stderr=theirs) as process:
        os.close(theirs)
        said = b""
        with contextlib.suppress(OSError):  # it is closed
            while data := os.read(ours, 65536):
                said += data
        assert process.wait(30) == 0
    os.close(ours)
    rates = re.findall(r"([\d.]+ ?[kM]?) events/s", said.decode())
    assert rates and rates[0][-1] in "kM", said


@test(need_root)
def the_librarys_functions_have_their_lines():
    run = counted([target("aligned"), "20"], library=None)
    lines = {(frame["function"], frame["file"][-len("sample/preload_malloc.c"):])
             for site in called_by(run.only_process(), "aligned")
             for frame in site["frames"][:1] if frame["line"]}
    assert ("posix_memalign", "sample/preload_malloc.c") in lines, lines


@test(need_root)
def books_that_are_none_and_what_a_program_writes_into_its_own_do_no_harm():
    with scratch() as folder:
        path = os.path.join(folder, "report.json")
        done = run_memtraced(LIBRARY, "-q", "-i", "0.1", "-o", f"json:{path}", "--",
                             target("false_books"), "1000", timeout=120)
        assert done.returncode == 0, done.stderr
        assert os.path.getsize(path) > 100


LOST = re.compile(r"==\d+== ([\d,() a-z]+ are definitely lost) in loss record .*\n"
                  r"(?:==\d+==    at .*\n)((?:==\d+==    by .*\n)*)")


def lost(done):
    """What a leak check has found lost, with the callers of the allocator: that is an alias, where
    a function has two names, and the library is none. Other kinds have what it makes larger:
    the environment, and threads' vectors of thread-local storage."""
    frames = re.compile(r"==\d+==    by 0x[0-9A-F]+: (.*)")
    sums = re.findall(r"(?:definitely|indirectly) lost: .*", done.stderr)
    return sums, sorted((what, frames.findall(callers)) for what, callers in
                        LOST.findall(done.stderr))


LEAKS = os.path.join(os.path.dirname(__file__), "../targets/leaks")
# A signal's frame has registers that the library has used last, with addresses of blocks; others
# want arguments.
OTHERS = {"first_ends", "handler_words", "on_line"}


@test(need_root, each=sorted({name[:-2] for name in os.listdir(LEAKS) if name.endswith(".c")} -
                             OTHERS), in_turn=5, timeout=120)
def a_leak_check_finds_the_same(name):
    program = target(os.path.join("leaks", name))
    if not os.path.exists(program):
        raise Skip("it is a part of others")
    by_probes, by_library = (lost(run_memtraced(by, "--leak-check=full", "--", program,
                                                timeout=100))
                             for by in ("--exact=probes", LIBRARY))
    assert by_probes[0], "no summary"
    assert by_probes == by_library, f"{by_probes}\n{by_library}"


@test(each=["--sample", "--check-stacks", "--no-follow", "--unwind=fp", "--max-stack=15"])
def what_needs_probes_is_refused(option):
    refused(run_memtraced(LIBRARY, option, "--", "true"), 1, option.split("=")[0], LIBRARY)


@test()
def what_no_library_can_be_preloaded_into_is_refused():
    refused(run_memtraced(LIBRARY, "-a"), 1, "--exact=library", "command")
