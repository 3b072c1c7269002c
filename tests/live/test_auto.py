# SPDX-License-Identifier: GPL-2.0-or-later
"""What counts a command where nothing is said of it: the library, where it can be used, and else
probes, with the reason; and that no program notices the library but by its environment."""

import os
import re
import shutil

from lib import (PRELOAD, Place, Skip, as_users_do, exact, heap_sites, load_report, memtraced,
                 need_program, need_root, run, run_memtraced, scratch, target, target_for_all, test,
                 total, trace, with_function, without)

BESIDE_OTHERS = True
LIBRARY = "libmemtraced-sample.so"
USED = {"used": True, "why_not": None}
NOBODY = 65534


def traced(command, *options, **how):
    with as_users_do():
        return trace(command, *options, library=None, **how)


def reported(tracer, command, **how):
    """tracer: its words up to -o. What it says of the command, and its report."""
    with as_users_do(), scratch() as folder:
        path = os.path.join(folder, "report.json")
        done = run([*tracer, "-o", f"json:{path}", "--", *command], **how)
        return done, load_report(path)


def quietly_reported(tracer, command):
    done, report = reported(tracer, command)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    return report


def ways(run_):
    """{name: was it counted by the library?}, and that nothing is lost, and nothing was said."""
    exact(run_.report)
    assert run_.stderr == "", run_.stderr
    return {process["comm"]: process["alloc"]["by_library"]
            for process in run_.report["processes"]}


def allocs(run_, name):
    return [process["alloc"]["allocs"] for process in run_.report["processes"]
            if process["comm"] == name]


# --- what is chosen ----------------------------------------------------------------------------

@test(need_root, every_kernel=True)
def a_command_is_counted_by_the_library():
    run_ = traced([target("aligned"), "20"])
    assert ways(run_) == {"aligned": True}
    assert run_.report["coverage"]["library"] == USED, run_.report["coverage"]
    with as_users_do():
        text = run_memtraced("--", target("aligned"), "20").stdout
    assert " by a preloaded library\n\n" in text.split("aligned", 1)[0], text[:500]


@test(need_root)
def what_the_kernel_lacks_for_probes_is_not_said_where_there_are_none():
    with without("cookies"):
        assert ways(traced([target("aligned"), "20"])) == {"aligned": True}


# What only probes can tell, and what is said about probes alone.
NEED_PROBES = ["--allocator=malloc=nowhere:size@1;free=no:ptr@1", "--attach=perf", "--check-stacks",
               "--unwind=fp", "--max-stack=15", "--no-follow", "--memory-limit=128M"]


@test(need_root, each=NEED_PROBES)
def an_option_that_needs_probes_has_them_and_is_named(option):
    name = option.split("=")[0]
    done, report = reported([memtraced(), "-v", option, "-f", "table"], [target("aligned"), "20"])
    library = report["coverage"]["library"]
    assert not library["used"] and library["why_not"].startswith(name), library
    assert library["why_not"].endswith(" needs probes"), library
    assert f"probes\nnot by a preloaded library: {library['why_not']}\n\n" in done.stdout, \
        done.stdout[:500]
    assert f"aligned is counted by probes: {library['why_not']}" in done.stderr, done.stderr
    assert [p["alloc"]["by_library"] for p in report["processes"]] == [False], report["processes"]


@test(need_root, each=["--exact=probes", PRELOAD])
def who_asks_for_probes_is_given_no_reason(way):
    options = [] if way == PRELOAD else [way]
    done, report = reported([memtraced(), *options, "-f", "table"], [target("aligned"), "20"],
                            env={**os.environ, PRELOAD: "no"} if way == PRELOAD else None)
    assert "library" not in report["coverage"], report["coverage"]
    assert "library" not in done.stdout.split("aligned", 1)[0], done.stdout[:300]


@test(need_root)
def where_nothing_is_counted_the_command_is_given_nothing():
    with as_users_do():
        for option in ("--hist=read", "--syscalls", "--mappings", "--floor", "--cpu"):
            done = run_memtraced("-q", option, "-o", "json:/dev/null", "--", "/usr/bin/env")
            assert done.returncode == 0 and "LD_PRELOAD" not in done.stdout, (option, done)


@test(need_root)
def a_static_command_is_counted_by_probes():
    run_ = traced([target("static")])
    assert ways(run_) == {"static": False}
    library = run_.report["coverage"]["library"]
    assert library == {"used": False, "why_not": "it is linked statically"}, library


@test(need_root)
def without_the_library_probes_count():
    with scratch() as folder:
        alone = os.path.join(folder, "memtraced")
        shutil.copy(memtraced(), alone)
        report = quietly_reported([alone, "-q"], [target("aligned"), "20"])
    library = report["coverage"]["library"]
    assert not library["used"] and LIBRARY in library["why_not"], library


# --- what the command finds --------------------------------------------------------------------

@test(need_root)
def what_is_in_its_environment_is_that_and_no_more():
    with as_users_do():
        plain = run(["/usr/bin/env"]).stdout.splitlines()
        ours = run_memtraced("-q", "-o", "json:/dev/null", "--", "/usr/bin/env").stdout.splitlines()
    library = os.path.realpath(os.path.join(Place.build, LIBRARY))
    added = sorted(set(ours) - set(plain))
    assert added == ["ASAN_OPTIONS=verify_asan_link_order=0", f"LD_PRELOAD={library}",
                     "MEMTRACED_EXACT=1"], added


@test(need_root)
def what_a_program_starts_in_another_environment_is_counted_as_well():
    run_ = traced(["/usr/bin/env", "-i", target("aligned"), "20"])
    assert ways(run_) == {"env": True, "aligned": False}
    assert allocs(run_, "aligned")[0] >= 100


# --- what cannot load it -----------------------------------------------------------------------

PROGRAM_32 = """
void _start(void)
{
	__asm__ volatile("int $0x80" : : "a"(1), "b"(5));
}
"""


@test(need_root, need_program("gcc"))
def a_program_for_32_bits_sees_nothing_of_it():
    with scratch() as folder:
        path = os.path.join(folder, "odd-32-bit")
        libc = "/lib32/libc.so.6"
        done = run(["gcc", "-m32", "-nostdlib", "-no-pie", "-x", "c", "-", "-x", "none", "-o", path,
                    "-Wl,--dynamic-linker=/lib/ld-linux.so.2", "-Wl,--no-as-needed", libc],
                   input=PROGRAM_32)
        try:
            if done.returncode or run([path]).returncode != 5:
                raise Skip("no 32-bit program with a dynamic linker can be built and run")
        except OSError as error:
            raise Skip(f"this kernel runs no 32-bit programs: {error}") from error
        with as_users_do():
            for command in ([path], ["/bin/sh", "-c", f"{path}; exit $?"]):
                done = run_memtraced("-q", "-o", "json:/dev/null", "--", *command)
                assert done.returncode == 5 and "LD_PRELOAD" not in done.stderr, done


@test(need_root, need_program("musl-gcc"))
def a_program_of_another_c_library_runs_as_ever():
    program = target("families-musl")
    run_ = traced([program, "300"])
    assert ways(run_) == {os.path.basename(program)[:15]: False}
    assert "glibc" in run_.report["coverage"]["library"]["why_not"], run_.report["coverage"]
    run_ = traced(["/bin/sh", "-c", f"{program} 300; exit $?"])
    assert ways(run_) == {"sh": True, os.path.basename(program)[:15]: False}
    assert allocs(run_, os.path.basename(program)[:15])[0] > 200


def copy_with_libraries(program, root):
    """It can run there, in chroot(1)."""
    found = run(["ldd", program]).stdout
    for path in [program, *re.findall(r"(/\S+) \(0x", found)]:
        place = root + path
        os.makedirs(os.path.dirname(place), exist_ok=True)
        shutil.copy(path, place)


@test(need_root, need_program("ldd", "chroot"))
def in_another_root_where_it_is_not_nothing_is_said_of_it():
    with scratch() as root:
        copy_with_libraries(target("aligned"), root)
        run_ = traced(["chroot", root, target("aligned"), "20"])
    assert ways(run_) == {"chroot": True, "aligned": False}
    assert allocs(run_, "aligned")[0] >= 100


@test(need_root, need_program("setpriv"), each=["its own", "another's"])
def who_may_not_read_it_runs_without(whose):
    """In its user's own folder it can be read."""
    with scratch() as folder:
        place = os.path.join(folder, "place")
        program = target_for_all(folder, "aligned")
        os.mkdir(place)
        for name in ("memtraced", LIBRARY):
            shutil.copy(os.path.join(Place.build, name), place)
        os.chmod(place, 0o700)
        if whose == "its own":
            for name in (".", LIBRARY):
                os.chown(os.path.join(place, name), NOBODY, NOBODY)
        report = quietly_reported(
            [os.path.join(place, "memtraced"), "-q"],
            ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", program, "20"])
    exact(report)
    found = {process["comm"]: process["alloc"]["by_library"] for process in report["processes"]}
    assert found == {"setpriv": True, "aligned": whose == "its own"}, found


@test(need_root, each=["gcc", "clang"])
def a_child_with_a_sanitizer_runs_as_ever(compiler):
    need_program(compiler)()
    with scratch() as folder:
        program = os.path.join(folder, "odd")
        built = run([compiler, "-fsanitize=address", "-x", "c", "-", "-o", program],
                    input="#include <stdlib.h>\nint main(void) { free(malloc(9)); return 3; }\n")
        if built.returncode:
            raise Skip(f"{compiler} has no AddressSanitizer here")
        runs = [traced(["/bin/sh", "-c", f"{program}; exit $?"], f"--exact={way}", status=3,
                       env={"ASAN_OPTIONS": "detect_leaks=0"}) for way in ("auto", "probes")]
    assert ways(runs[0]) == {"sh": True, "odd": False}
    assert allocs(runs[0], "odd") == allocs(runs[1], "odd"), allocs(runs[0], "odd")


# --- what cannot keep a book -------------------------------------------------------------------

@test(need_root, each=["v 200000", "v 60000000", "f 1000"])
def a_process_with_a_limit_has_probes_from_its_first_call_on(limit):
    run_ = traced(["/bin/bash", "-c", f"ulimit -{limit}; exec {target('aligned')} 20"])
    assert [process["alloc"]["by_library"] for process in run_.report["processes"]
            if process["comm"] == "aligned"] == [False], run_.report["processes"]
    assert allocs(run_, "aligned")[0] >= 100, run_.report["processes"]


@test(need_root, each=[0, 4])
def who_limits_its_addresses_gets_them(threads):
    """The book ends there, and the report says so."""
    run_ = traced([target("bounds"), "space", str(threads)])
    coverage = run_.report["coverage"]
    assert not coverage["exact"] and coverage["lost"].keys() == {"book-given-up"}, coverage


@test(need_root, each=["1", "2", "3"])
def who_locks_its_memory_locks_no_book(flags):
    run_ = traced([target("bounds"), "lock", flags])
    assert ways(run_) == {"bounds": True}
    assert allocs(run_, "bounds")[0] >= 101


@test(need_root, each=["", "early"])
def what_is_filtered_strictly_survives_whatever_its_book_has_to_do(early):
    """One that has begun no book before does so then."""
    run_ = traced([target("bounds"), "strict", "400000", *early.split()], "--max-blocks=1M")
    assert ways(run_) == {"bounds": True}
    assert allocs(run_, "bounds")[0] >= 400000, run_.report["processes"]


@test(need_root, each=[40, 400000])
def threads_behind_a_filter_of_what_malloc_calls_are_counted_whole(blocks):
    """No call but those of malloc is made, by whichever thread, and the table grows as ever."""
    command = [target("bounds"), "crowd", str(blocks)]
    assert run(command).returncode == 0
    run_ = traced(command, "--max-blocks=4M")
    assert ways(run_) == {"bounds": True}
    process, = run_.report["processes"]
    made = with_function(heap_sites(process), "make_deep")
    assert total(made, "allocs") == 3 * blocks, (total(made, "allocs"), process["alloc"])
    assert total(made, "live_blocks") == 3 * blocks // 2, process["alloc"]
    assert run_.report["coverage"]["stacks_truncated"] == 0, run_.report["coverage"]


@test(need_root)
def what_only_asks_for_filters_is_counted_as_any_other():
    """libseccomp does, by a filter that is none."""
    ask = ("import ctypes, os; libc = ctypes.CDLL(None); "
           "assert libc.syscall(317, 1, 0, None) == -1; "
           "os.wait4(os.fork() or os._exit(len([bytearray(5000) for _ in range(9)])), 0)")
    run_ = traced(["/usr/bin/python3", "-c", ask])
    assert [process["alloc"]["by_library"] for process in run_.report["processes"]] == [True] * 2
    exact(run_.report)


@test(need_root)
def what_is_executed_behind_a_filter_runs_without():
    run_ = traced([target("bounds"), "exec", target("aligned"), "20"])
    assert ways(run_) == {"bounds": True, "aligned": False}
    assert allocs(run_, "aligned")[0] >= 100


@test(need_root)
def a_child_behind_a_filter_has_probes_and_its_inheritance_is_lost():
    run_ = traced([target("bounds"), "child"])
    coverage = run_.report["coverage"]
    assert coverage["lost"].keys() == {"book-inheritance-unknown"}, coverage
    parent, child = sorted(run_.report["processes"], key=lambda process: process["pid"])
    assert parent["alloc"]["by_library"] and not child["alloc"]["by_library"]
    assert child["alloc"]["allocs"] == 50, child["alloc"]


# --- all of the run ----------------------------------------------------------------------------

@test(need_root, each=["v", "f"])
def a_limit_of_memtraced_itself_is_the_reason(limit):
    size = "60000000" if limit == "v" else "2000000"
    report = quietly_reported(["/bin/bash", "-c", f'ulimit -{limit} {size}; exec "$@"', "sh",
                               memtraced(), "-q"], [target("aligned"), "20"])
    library = report["coverage"]["library"]
    assert not library["used"] and "limit" in library["why_not"], library
    exact(report)
