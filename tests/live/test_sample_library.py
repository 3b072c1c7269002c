# SPDX-License-Identifier: GPL-2.0-or-later
"""libmemtraced-sample.so in real programs, heard by tracefs (usdt.py). With an interval of one byte
each byte is a sample: the weights are the sizes and must be what the program counts itself."""

import math
import os
import re
import shutil

import usdt

from lib import (Place, Skip, need_program, need_root, read_counts, run, scaled, scratch, send_line,
                 started, target, test)

BESIDE_OTHERS = True
LIBRARY = "libmemtraced-sample.so"
SCRIPTS = os.path.join(os.path.dirname(__file__), "..", "..", "scripts")


def copy_of_library(folder):
    """Of its own, so that no other test's processes are heard."""
    path = os.path.join(folder, LIBRARY)
    shutil.copy(os.path.join(Place.build, LIBRARY), path)
    return path


class Heard:
    """What came of one program under the library."""

    def __init__(self, done, events, own):
        self.done, self.events, self.own = done, events, own

    def allocated(self):
        return sum(event.weight for event in self.events)

    def live_bytes(self):
        """Of one process; each block is told once, and no free is of another one."""
        live = {}
        for event in self.events:
            if event.name == "alloc":
                assert event.block not in live, f"{event.block:#x} is told twice"
                live[event.block] = event.weight
            else:
                assert live.pop(event.block, None), f"{event.block:#x} was not told"
        return sum(live.values())


def heard(command, interval=1, preload="", status=0, **env):
    with scratch() as folder, scratch() as counts:
        library = copy_of_library(folder)
        with usdt.listening(library) as listener:
            done = run(command, timeout=120, env={
                **os.environ, "LD_PRELOAD": f"{library} {preload}".strip(),
                "MEMTRACED_SAMPLE_INTERVAL": str(interval), "SELF_COUNTS": counts, **env})
            if preload and "cannot be preloaded" in done.stderr:
                raise Skip(f"{preload} is not installed")
            assert done.returncode == status, f"{done.returncode}: {done.stderr[-2000:]}"
            own = [image for images in read_counts(counts).values() for image in images]
            return Heard(done, listener.events(), own[0] if own else None)


def only_main_differs(program, calls, preload=""):
    """As in test_allocators.py: what goes on beside main() is the same when that does nothing."""
    path = target(program)
    if not os.path.exists(path):
        raise Skip(f"{program} was not built")
    nothing, all_ = (heard([path, str(n)], preload=preload) for n in (0, calls))
    assert all_.own["allocs"] > calls // 3, all_.own
    for what, mine, own in (("bytes", Heard.allocated, "bytes"),
                            ("live bytes", Heard.live_bytes, "live_bytes")):
        beside = mine(nothing) - nothing.own[own]
        assert 0 <= beside < 200000, f"{what} beside main(): {beside}"
        assert mine(all_) - all_.own[own] == beside, \
            f"{what}: {mine(all_)} told, {all_.own[own]} by the program, {beside} beside it"


@test(need_root, usdt.need_tracefs, each=["glibc", "musl", "jemalloc", "tcmalloc", "mimalloc"],
      in_turn=2,
      every_kernel=["glibc"])
def every_function_counts_once(family):
    only_main_differs(f"families-{family}", scaled(3000, 30000))


@test(need_root, usdt.need_tracefs,
      each=["", "libjemalloc.so.2", "libtcmalloc_minimal.so.4", "libmimalloc.so.2"])
def operators_count_once(preload):
    only_main_differs("operators", scaled(3000, 30000), preload)


@test(need_root, usdt.need_tracefs)
def a_call_that_fails_is_neither_a_free_nor_an_allocation():
    """realloc, reallocarray, malloc and calloc, each often, of blocks that are all sampled."""
    only_main_differs("failures", scaled(3000, 30000))


# Allocates when it is told to, by the C library's malloc and of a size that nobody else asks for.
ON_COMMAND = """
import ctypes, sys
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
libc.free.argtypes = [ctypes.c_void_p]
blocks = []
for line in sys.stdin:
    if line.strip() == "malloc":
        blocks += [libc.malloc(31337) for _ in range(100)]
    else:
        for block in blocks:
            libc.free(block)
        blocks = []
    print(line.strip(), len(blocks), flush=True)
"""


@test(need_root, usdt.need_tracefs)
def nothing_is_told_while_nobody_listens():
    with scratch() as folder:
        library = copy_of_library(folder)
        env = {**os.environ, "LD_PRELOAD": library, "MEMTRACED_SAMPLE_INTERVAL": "1"}
        with usdt.listening(library, on=False) as listener, \
                started(["/usr/bin/python3", "-c", ON_COMMAND], env=env) as process:
            def blocks(command):
                send_line(process, command)
                process.lines.until(command)
                return [event for event in listener.events() if event.size == 31337]

            assert not blocks("malloc")
            assert not listener.events(), "told although nobody listens"
            listener.listen()
            told = blocks("malloc")
            assert len(told) == 100 and all(event.weight == 31337 for event in told), told
            blocks("free")
            freed = [event.block for event in listener.events() if event.name == "free"]
            assert all(event.block in freed for event in told), "a free was not told"
            assert len(blocks("malloc")) == 200
            listener.listen(False)
            blocks("free")
            listener.listen()
            assert len(blocks("malloc")) == 300, "what went unheard is in the way of others"


@test(need_root, usdt.need_tracefs, need_program("clang"))
def a_program_with_a_sanitizer_is_left_alone():
    with scratch() as folder:
        source = os.path.join(folder, "leak.c")
        with open(source, "w", encoding="ascii") as file:
            file.write("#include <stdlib.h>\nint main(void) { return !malloc(1 << 20); }\n")
        program = os.path.join(folder, "leak")
        built = run(["clang", "-fsanitize=address", "-o", program, source])
        if built.returncode:
            raise Skip(f"clang has no AddressSanitizer here: {built.stderr[-200:]}")
        run_ = heard([program], ASAN_OPTIONS="detect_leaks=0")
        assert not run_.events, run_.events[:3]
        assert "not sampled: AddressSanitizer is its allocator" in run_.done.stderr, \
            run_.done.stderr


@test(need_root, usdt.need_tracefs)
def a_seed_makes_a_run_that_can_be_had_again_and_others_differ():
    def weights(seed):
        run_ = heard([target("million"), "20000"], 4096, MEMTRACED_SAMPLE_SEED=str(seed))
        return [event.weight for event in run_.events if event.name == "alloc"], \
            [event.size for event in run_.events if event.name == "alloc"]

    first = weights(1)
    assert first[0] and first == weights(1)
    assert first != weights(2)


@test(need_root, usdt.need_tracefs, each=["", "0", "-5", "512KiB", "99999999999999999999"])
def an_interval_that_is_none_is_the_usual_one(interval):
    run_ = heard(["/usr/bin/python3", "-c", "x = [bytes(100000) for _ in range(1000)]"], interval)
    assert run_.events
    allocated = [event for event in run_.events if event.name == "alloc"]
    for event in allocated:
        expected = event.size / -math.expm1(-event.size / 524288)
        assert abs(event.weight - expected) <= 1 + expected / 524288, event


@test(need_root, usdt.need_tracefs, each=["threads 4 20000", "forks", "exceptions", "throwing",
                                          "bad_alloc", "ctors", "dl", "failures 5000",
                                          "weak_jemalloc", "own_operators", "odd_moments",
                                          "ctor_thread", "ctor_thread-cc", "weak_operators"],
      in_turn=4)
def programs_do_what_they_do_without_it(command):
    """At an interval at which there are many samples; the target checks itself."""
    program, *words = command.split()
    run_ = heard([target(program), *words], 512, MEMTRACED_SAMPLE_SEED="1")
    assert run_.events, "nothing was told"


def operators_looked_up(calls):
    """How often the dynamic linker is asked for operator new, and whether in libstdc++."""
    with scratch() as folder:
        log = os.path.join(folder, "log")
        done = run([target("weak_operators"), str(calls)], env={
            **os.environ, "LD_PRELOAD": copy_of_library(folder), "LD_DEBUG": "symbols",
            "LD_DEBUG_OUTPUT": log})
        assert done.returncode == 0, done.stderr
        (path,) = [name for name in os.listdir(folder) if name.startswith("log.")]
        with open(os.path.join(folder, path), encoding="utf-8") as file:
            lines = [line for line in file if "symbol=_Znwm;" in line]
    return len(lines), any("libstdc++" in line for line in lines)


@test()
def operators_that_nobody_has_are_not_looked_up_at_each_call():
    """Until an object is loaded, which may have them."""
    few, many = operators_looked_up(5), operators_looked_up(500)
    assert few == many, (few, many)
    assert few[0] > 0 and few[1], few


@test(need_program("readelf"))
def every_glibc_since_2_17_has_what_the_library_needs():
    """One that lacks a version does not start the program."""
    said = run(["readelf", "-VW", os.path.join(Place.build, LIBRARY)]).stdout
    needs = {tuple(map(int, version)) for version in
             re.findall(r"Name: GLIBC_(\d+)\.(\d+)", said)}
    assert needs and max(needs) <= (2, 17), sorted(needs)


def of_an_older_glibc(*command):
    """argv of a program of Debian 11, whose glibc is 2.31, under its own dynamic linker."""
    cache = run([os.path.join(SCRIPTS, "run-kernel"), "--cache"]).stdout.strip()
    root = os.path.join(cache, "distros", "bullseye")
    if not os.path.exists(os.path.join(root, "etc", "debian_version")):
        raise Skip("no Debian 11: scripts/deps-distro bullseye fetches it")
    folders = ":".join(os.path.join(root, name, "x86_64-linux-gnu") for name in ("lib", "usr/lib"))
    name, *words = command
    return [os.path.join(root, "lib/x86_64-linux-gnu/ld-2.31.so"), "--library-path", folders,
            os.path.join(root, "usr/bin", name), *words]


@test(each=["MEMTRACED_EXACT=1", "MEMTRACED_EXACT=keep", "MEMTRACED_SAMPLE_INTERVAL=1000"])
def a_program_of_an_older_glibc_runs_as_without_it(variable):
    """apt-cache has libpthread.so.0, which that glibc makes locks with, and C++."""
    name, value = variable.split("=")
    for command in (["perl", "-e", "print scalar map { $_ x 9 } 1 .. 5000"],
                    ["apt-cache", "--version"]):
        argv = of_an_older_glibc(*command)
        bare = run(argv, timeout=20)
        with scratch() as folder:
            done = run(argv, timeout=20, env={**os.environ, name: value,
                                              "LD_PRELOAD": copy_of_library(folder)})
        assert done.returncode == 0 and done.stdout == bare.stdout, (bare.stdout, done)
