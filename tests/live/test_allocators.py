# SPDX-License-Identifier: GPL-2.0-or-later
"""Every allocator of the table, to the byte, by each way of attaching."""

import os
import re

from lib import (ATTACH_PATHS, SERIAL_KEYS, Skip, attach_option, exact, heap_sites, need_program,
                 need_root, run, run_memtraced, same, same_calls, scaled, target, test, total,
                 trace, with_function)

EACH_PATH = sorted(ATTACH_PATHS)
# What tests/targets/families.c is built for; what is not installed was not built.
FAMILIES = ["glibc", "glibc-static", "glibc-static-pie", "musl", "musl-static", "jemalloc",
            "jemalloc-static", "jemalloc-je", "jemalloc-rjem", "tcmalloc", "tcmalloc-names",
            "tcmalloc-static", "mimalloc", "mimalloc-names"]


def family(name):
    path = target(f"families-{name}")
    if not os.path.exists(path):
        raise Skip(f"{name} is not installed, or was not when targets were built")
    return path


def run_alone(name, path, calls):
    """The totals of the process, and what main() counted of them itself."""
    run_ = trace([family(name), str(calls)], attach_option(path), library=None, timeout=900)
    assert f"done {calls}" in run_.stdout, run_.stdout
    exact(run_.report)
    (own,), = run_.own.values()
    alloc = run_.only_process()["alloc"]
    assert alloc["missed_frees"] == 0, alloc
    return alloc, own


@test(need_root, each=[f"{name} {path}" for name in FAMILIES for path in EACH_PATH])
def every_function_of(family_and_path):
    name, path = family_and_path.split()
    calls = scaled(3000, 300000)
    alloc, own = run_alone(name, path, calls)
    assert own["allocs"] > calls // 3, own
    # What the loader and the run-time libraries do on top is the same when main() does nearly
    # nothing.
    alloc_0, own_0 = run_alone(name, path, 0)
    besides = {key: alloc_0[key] - own_0[key] for key in SERIAL_KEYS}
    assert besides["failed"] == besides["unknown_frees"] == 0 <= besides["allocs"] < 20, besides
    true = {key: own[key] + besides[key] for key in SERIAL_KEYS}
    assert {key: alloc[key] for key in SERIAL_KEYS} == true, (alloc, true)


# --- allocators that the user names ------------------------------------------------------------

POOL = ("malloc=pool_get:size@2;calloc=pool_get_array:count@2,size@3;"
        "malloc=pool_get_into:size@1,out@3;realloc=pool_resize:size@2,ptr@3;"
        "free=pool_put:ptr@2;inside=pool_trim")


def addresses(spec, program, stripped):
    """The same with addresses for symbols: those of the program before it was stripped."""
    for line in run(["nm", target(program)]).stdout.splitlines():
        address, _, symbol = line.split()[-3:] if len(line.split()) == 3 else ("", "", "")
        spec = re.sub(rf"={symbol}\b", f"=0x{address.lstrip('0')}", spec) if symbol else spec
    return f"object={stripped};{spec}"


def pool_run(program, spec, path, calls):
    run_ = trace([target(program), str(calls)], attach_option(path), f"--allocator={spec}",
                 library=None)
    exact(run_.report)
    assert "was not found" not in run_.stderr, run_.stderr
    (own,), = run_.own.values()
    return run_.only_process(), own


@test(need_root, each=[f"{name} {path}" for name in ("pools", "pools-static", "pools-stripped")
                       for path in EACH_PATH])
def a_pool_that_is_named_counts_its_blocks_and_not_its_chunks(program_and_path):
    program, path = program_and_path.split()
    spec = addresses(POOL, "pools-static", program) if program == "pools-stripped" else POOL
    process, own = pool_run(program, spec, path, scaled(3000, 300000))
    if program == "pools-static":  # the C library's own blocks are in the same object
        within = with_function(heap_sites(process), "main")
        for key in ("allocs", "bytes", "live_bytes", "live_blocks"):
            assert total(within, key) == own[key], (key, total(within, key), own)
        assert process["alloc"]["unknown_frees"] == 0, process["alloc"]
    else:
        same(process, own, SERIAL_KEYS)


@test(need_root)
def a_pool_that_is_not_named_counts_its_chunks():
    run_ = trace([target("pools"), "3000"], library=None)
    exact(run_.report)
    functions = {site["frames"][0]["function"] for site in heap_sites(run_.only_process())}
    assert functions == {"calloc"}, functions


def need_target(name):
    def check():
        if not os.path.exists(target(name)):
            raise Skip(f"{name} was not built: what it needs is not installed")
    return check


@test(need_root, need_target("slices"), each=EACH_PATH)
def glibs_slices(path):
    spec = ("object=libglib-2.0.so.*;malloc=g_slice_alloc;malloc=g_slice_alloc0;"
            "free=g_slice_free1:ptr@2")
    process, own = pool_run("slices", spec, path, scaled(3000, 300000))
    same_calls(process, own, "slices")
    assert process["alloc"]["unknown_frees"] == 0, process["alloc"]


@test(need_root, need_program("/usr/bin/python3"), each=EACH_PATH)
def pythons_objects(path):
    kinds = ("Object", "Mem")
    spec = ";".join(f"malloc=Py{kind}_Malloc;calloc=Py{kind}_Calloc;realloc=Py{kind}_Realloc;"
                    f"free=Py{kind}_Free" for kind in kinds)
    script = "import ctypes, sys; ctypes.PyDLL(sys.argv[1]).use_blocks(int(sys.argv[2]))"
    run_ = trace(["/usr/bin/python3", "-c", script, target("libpyblocks.so"),
                  str(scaled(3000, 100000))], attach_option(path), f"--allocator={spec}",
                 library=None)
    (own,), = run_.own.values()
    same_calls(run_.only_process(), own, "libpyblocks.so")


@test(need_root)
def a_static_program_without_symbols_says_how_its_allocator_is_named():
    done = run_memtraced("--", target("pools-stripped"), "10",
                         env=dict(os.environ, SELF_COUNTS="/tmp"))
    assert "no allocator found" in done.stderr, done.stderr
    assert "--allocator 'object=pools-stripped;malloc=0xADDRESS" in done.stderr, done.stderr


@test(need_root)
def a_function_that_is_not_there_is_said_with_what_comes_near():
    done = run_memtraced("--allocator", "malloc=pool_gett;free=pool_put:ptr@2", "--allocator",
                         "object=nosuch.so;free=x", "--", target("pools"), "10",
                         env=dict(os.environ, SELF_COUNTS="/tmp"))
    assert "pool_gett was not found: no such symbol in any file; near it come pool_get" \
        in done.stderr, done.stderr
    assert "x was not found: no file named nosuch.so was mapped" in done.stderr, done.stderr
    assert "pool_put was" not in done.stderr, done.stderr
