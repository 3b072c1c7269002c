# SPDX-License-Identifier: GPL-2.0-or-later
"""Every allocator of the table, to the byte, by each way of attaching."""

import os
import re

import matrix

from lib import (ATTACH_PATHS, LONG, SERIAL_KEYS, SMALL, Place, Skip, attach_option, by_library,
                 called_by, exact, heap_sites, load_report, need_kernel, need_probes, need_program,
                 need_root, run, run_memtraced, same, same_calls, same_images, scaled, scratch,
                 target, test, total, trace, with_function, without)

BESIDE_OTHERS = True
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


def run_alone(program, path, calls, preload=""):
    """The totals of the process, and what main() counted of them itself."""
    run_ = trace([program, str(calls)], attach_option(path), library=None, preload=preload,
                 timeout=900)
    assert f"done {calls}" in run_.stdout, run_.stdout
    exact(run_.report)
    (own,), = run_.own.values()
    alloc = run_.only_process()["alloc"]
    assert alloc["missed_frees"] == 0, alloc
    return alloc, own


def only_main_differs(what, program, path, calls, preload=""):
    """What the loader and the run-time libraries do on top of main() is the same when that does
    little. what: for the table (matrix.py)."""
    alloc, own = run_alone(program, path, calls, preload)
    assert own["allocs"] > calls // 3, own
    # Not none: peaks add up only where both are main()'s. What stays until the exit alone, as
    # libgcc's of a static program, is not live at the end, but at the peak.
    little, own_little = run_alone(program, path, calls // 10, preload)
    besides = {key: little[key] - own_little[key] for key in SERIAL_KEYS}
    # The library asks the dynamic linker for functions that are not there, which allocates.
    most = 40 if by_library() else 20
    assert besides["failed"] == besides["unknown_frees"] == 0 <= besides["allocs"] < most, besides
    true = {key: own[key] + besides[key] for key in SERIAL_KEYS}
    matrix.compared(what, alloc, true)
    assert {key: alloc[key] for key in SERIAL_KEYS} == true, (alloc, true)


@test(need_root, each=[f"{name} {path}" for name in FAMILIES for path in EACH_PATH], in_turn=5)
def every_function_of(family_and_path):
    name, path = family_and_path.split()
    allocator, _, linked = name.partition("-")
    linked = {"": "shared", "je": "static, je_*", "rjem": "static, _rjem_*",
              "names": "shared, own names"}.get(linked, linked)
    only_main_differs((allocator, linked, "C", "families"), family(name), path,
                      scaled(3000, 300000))


@test(need_root, each=EACH_PATH, in_turn=2)
def a_function_that_jumps_into_our_library_counts(path):
    """musl's memalign jumps to aligned_alloc, which is the library's, and that calls musl's. Our
    library is never probed, and keeps no book of musl."""
    only_main_differs(("musl", "shared", "C", "families, our library"), family("musl"), path,
                      scaled(3000, 300000), os.path.join(Place.build, "libmemtraced-sample.so"))


# musl's memalign() jumps to the aligned_alloc() of a library that is preloaded.
JUMPS = """
#include <stdlib.h>
extern void *memalign(size_t, size_t);
void *volatile kept;
int main(void) { for (int i = 0; i < 100; i++) kept = memalign(64, 1000); return 0; }
"""
JUMPED_TO = {
    "an allocator": """
#include <stddef.h>
static _Alignas(64) char room[1 << 20]; static size_t used;
void *aligned_alloc(size_t to, size_t size)
{ used = (used + to - 1) / to * to + size; return room + used - size; }
""",
    "a wrapper": """
#include <stddef.h>
extern void *dlsym(void *, const char *);
void *aligned_alloc(size_t to, size_t size)
{
	void *(*next)(size_t, size_t) = dlsym((void *)-1, "aligned_alloc"), *block = next(to, size);
	__asm__ volatile("" ::: "memory");
	return block;
}
""",
    "an indirect jump": """
#include <stddef.h>
static _Alignas(64) char room[1 << 20]; static size_t used;
static __attribute__((noinline)) void *own(size_t to, size_t size)
{ used = (used + to - 1) / to * to + size; return room + used - size; }
void *(*volatile how)(size_t, size_t) = own;
void *aligned_alloc(size_t to, size_t size) { return how(to, size); }
""",
}


def jump_into(kind, *options):
    """The allocations of JUMPS with that library, and what the report says of functions."""
    with scratch() as folder:
        for name, source, words in (("jumps", JUMPS, []),
                                    ("library.so", JUMPED_TO[kind], ["-shared", "-fPIC"])):
            done = run(["musl-gcc", "-O2", *words, "-x", "c", "-", "-o",
                        os.path.join(folder, name)], input=source)
            assert done.returncode == 0, done.stderr
        path = os.path.join(folder, "json")
        done = run_memtraced(*options, f"--env=LD_PRELOAD={folder}/library.so", "-o",
                             f"json:{path}", "--", os.path.join(folder, "jumps"))
        assert done.returncode == 0, done.stderr
        report = load_report(path)
    (process,) = report["processes"]
    return process["alloc"]["allocs"], process["alloc"]["bytes"], report["coverage"]["unprobed"]


@test(need_root, need_program("musl-gcc"), need_probes("ways of attaching"),
      each=[f"{kind} {path}" for kind in JUMPED_TO for path in EACH_PATH], in_turn=1)
def a_function_that_jumps_into_a_preloaded_library_counts(kind_and_path):
    kind, path = kind_and_path.rsplit(" ", 1)
    assert jump_into(kind, attach_option(path)) == (100, 100000, [])


@test(need_root, need_program("musl-gcc"), need_probes("ways of attaching"))
def where_the_library_cannot_be_probed_that_is_said():
    """Its return is not seen where no return probe may be used."""
    with without("uretprobe-seccomp"):
        assert jump_into("an allocator") == (100, 100000, [])
        allocs, _, unprobed = jump_into("an indirect jump")
    assert allocs == 0 and [row["function"] for row in unprobed] == ["aligned_alloc"], unprobed


LIBRARIES = {"jemalloc": "libjemalloc.so.2", "tcmalloc": "libtcmalloc_minimal.so.4",
             "mimalloc": "libmimalloc.so.2"}


def library_path(name):
    for folder in ("/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib"):
        path = os.path.join(folder, LIBRARIES[name])
        if os.path.exists(path):
            return path
    raise Skip(f"{LIBRARIES[name]} is not installed")


@test(need_root, each=[f"{name} {path}" for name in ["libstdc++", *LIBRARIES]
                       for path in EACH_PATH], in_turn=2)
def every_form_of_new_and_delete(library_and_path):
    name, path = library_and_path.split()
    preload = "" if name == "libstdc++" else library_path(name)
    what = ("glibc" if name == "libstdc++" else name, "preloaded" if preload else "shared",
            "C++", "operators")
    only_main_differs(what, target("operators"), path, scaled(3000, 300000), preload)


PROGRAMS = {
    "python3": ["/usr/bin/python3", "-c",
                "import json; print(len(json.dumps([{'a': i} for i in range(4000)])))"],
    "sqlite3": ["sqlite3", ":memory:", "create table t(a, b); with recursive n(i) as (select 1 "
                "union all select i + 1 from n where i < 3000) insert into t select i, "
                "hex(i) from n; create index x on t(b); select count(*) from t where b > '4';"],
}


@test(need_root, need_program("sqlite3", "/usr/bin/python3"),
      each=[f"{program} {name}" for program in PROGRAMS for name in LIBRARIES], in_turn=2)
def a_preloaded_allocator_in(program_and_name):
    program, name = program_and_name.split()
    run_ = trace(PROGRAMS[program], library="libcounter-next.so", preload=library_path(name),
                 timeout=120)
    assert run_.stdout.strip().isdigit(), run_.stdout
    exact(run_.report)
    process, true = run_.only_process(), run_.only_count()
    assert true["allocs"] > 1000
    # tcmalloc's constructors allocate by its own names, which the counter does not stand before.
    inner = called_by(process, os.path.basename(os.path.realpath(library_path(name))))
    assert total(inner, "allocs") < 10, inner
    for key in ("allocs", "bytes", "live_bytes", "live_blocks"):
        true[key] += total(inner, key)
    true["frees"] += total(inner, "allocs") - total(inner, "live_blocks")
    matrix.compared((name, "preloaded", "C", program), process["alloc"], true)
    same(process, true)


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
                       for path in EACH_PATH], in_turn=1)
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


@test(need_root, need_kernel(5, 15), each=EACH_PATH)
def a_free_may_have_its_frame_where_it_is_probed(path):
    calls = scaled(3000, 30000)
    run_ = trace([target("frame_free"), str(calls)], attach_option(path), "--free-stacks",
                 "--allocator=object=frame_free;malloc=slot_get:size@1;free=slot_put:ptr@1",
                 library=None)
    assert run_.report["coverage"]["lost"] == {"allocation-unknown": 1}, run_.report["coverage"]
    process, kept = run_.only_process(), (calls - 1) // 10
    assert (process["alloc"]["allocs"], process["alloc"]["live_blocks"]) == (calls, kept)
    assert (process["alloc"]["frees"], process["alloc"]["unknown_frees"]) == (calls - kept, 1)
    places = [place for site in heap_sites(process) for place in site["frees"]]
    assert total(places, "blocks") == calls - kept, places
    for place in places:
        assert [frame["function"] for frame in place["frames"]][:2] == ["slot_put", "main"], place


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


@test(need_root, need_target("arena"), each=EACH_PATH)
def rusts_own_functions_where_the_allocator_behind_is_not_visible(path):
    run_ = trace([target("arena"), str(scaled(3000, 100000))], attach_option(path), library=None)
    exact(run_.report)
    count_of_rust(run_, "__r(ust|g|dl)_", ("its own", "static", "Rust", "arena"))


@test(need_root, need_target("arena-rjem"), each=EACH_PATH)
def rust_with_jemalloc_under_its_own_names(path):
    run_ = trace([target("arena-rjem"), str(scaled(3000, 100000))], attach_option(path),
                 library=None)
    exact(run_.report)
    count_of_rust(run_, "^_rjem_", ("jemalloc", "static, _rjem_*", "Rust", "arena-rjem"))


def count_of_rust(run_, functions, what):
    """The sites of these functions are what the program has counted of itself."""
    allocs, frees, bytes_, live = map(int, run_.stdout.split()[:4])
    process = run_.only_process()
    sites = [site for site in heap_sites(process)
             if re.search(functions, site["frames"][0]["function"])]
    # Printing the line takes a buffer of stdout, which is one more block.
    late = [site for site in sites if site["live_bytes"] and total(sites, "allocs") > allocs
            and site["allocs"] == site["live_blocks"] == 1 and site["bytes"] == 1024]
    sites = [site for site in sites if site not in late[:1]]
    seen = {key: total(sites, key) for key in ("allocs", "bytes", "live_bytes")}
    seen["frees"] = seen["allocs"] - total(sites, "live_blocks")
    matrix.compared(what, seen,
                    {"allocs": allocs, "frees": frees, "bytes": bytes_, "live_bytes": live})
    assert total(sites, "allocs") == allocs, (total(sites, "allocs"), allocs)
    assert total(sites, "bytes") == bytes_, (total(sites, "bytes"), bytes_)
    assert total(sites, "live_bytes") == live, (total(sites, "live_bytes"), live)
    assert total(sites, "live_blocks") == allocs - frees, (total(sites, "live_blocks"), frees)
    assert process["alloc"]["unknown_frees"] == 0, process["alloc"]


@test(need_root, need_target("arena-plain"), each=EACH_PATH)
def rusts_usual_allocator_is_the_c_librarys(path):
    rounds = scaled(3000, 100000)
    run_ = trace([target("arena-plain"), str(rounds)], attach_option(path))
    matrix.compared(("glibc", "shared", "Rust", "arena-plain"), run_.only_process()["alloc"],
                    run_.only_count())
    same_images(run_)
    assert run_.only_count()["allocs"] > rounds


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
