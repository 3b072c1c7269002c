# SPDX-License-Identifier: GPL-2.0-or-later
"""-c with --sample: the sampling library in programs that carry no probes, beside exact depth."""

import math
import os
import shutil

from lib import (Place, Skip, heap_sites, load_report, memtraced, need_program, need_root, refused,
                 run, run_memtraced, scratch, target, test, total)

BESIDE_OTHERS = True
LIBRARY = "libmemtraced-sample.so"
INTERVAL = 65536
BUILD = os.path.join(os.path.dirname(__file__), "..", "..")

PROGRAMS = {
    "python3": ["/usr/bin/python3", "-c", "x = [str(i) * 20 for i in range(100000)]"],
    "jq": ["jq", "-n", "[range(100000)] | add"],
    "sqlite3": ["sqlite3", ":memory:", "create table t(a); with recursive c(x) as (values(1) union "
                "all select x + 1 from c where x < 50000) insert into t select x from c;"],
    "perl": ["perl", "-e", "my @x = map { $_ x 9 } 1 .. 50000;"],
    "git": ["git", "-C", BUILD, "log", "--oneline", "-p", "-3"],
    "rg": ["rg", "-j1", "-c", "malloc", "/usr/include/c++"],
    "clang": ["clang", "-x", "c", "-fsyntax-only", "-include", "stdlib.h", "/dev/null"],
    "redis-server": ["redis-server", "--version"],
}


def reported(command, *options, status=0):
    with scratch() as folder:
        path = os.path.join(folder, "json")
        done = run_memtraced(*options, "-o", f"json:{path}", "--", *command, timeout=120)
        assert done.returncode == status, f"{done.returncode}: {done.stderr[-2000:]}"
        return done, load_report(path)["processes"]


@test(need_root, each=sorted(PROGRAMS), in_turn=3, timeout=120)
def estimates_agree_with_exact_depth(name):
    need_program(name)()
    _, exact = reported(PROGRAMS[name])
    done, (process,) = reported(PROGRAMS[name], f"--sample={INTERVAL}",
                                "--env=MEMTRACED_SAMPLE_SEED=1")
    assert "not sampled" not in done.stderr, done.stderr
    true = exact[0]["alloc"]["bytes"]
    # The seed is given, so that this does not fail once in a million runs either.
    within = 5 * math.sqrt(INTERVAL * true)
    assert abs(process["alloc"]["bytes"] - true) <= within, \
        f"~{process['alloc']['bytes']} of {true}, ±{within:.0f}"
    assert total(heap_sites(process), "bytes") == process["alloc"]["bytes"], process["alloc"]


@test(need_root)
def a_block_that_is_chosen_for_certain_is_no_estimate():
    """The process may have small ones that no sample was of."""
    size, interval = 100 << 20, 512 << 10
    _, (process,) = reported(["/usr/bin/python3", "-c", f"""if True:
        import ctypes, os
        malloc = ctypes.CDLL(None).malloc
        malloc.argtypes, malloc.restype = [ctypes.c_size_t], ctypes.c_void_p
        assert malloc({size})
        os._exit(0)"""], "--sample")
    estimate = process["alloc"]["estimate"]
    assert estimate["interval"] == interval, estimate
    site = max(heap_sites(process), key=lambda site: site["live_bytes"])
    assert site["live_bytes"] == size and site["live_blocks"] == 1, site
    for margin in ("bytes", "blocks", "allocated_bytes", "allocs", "peak_bytes"):
        assert site["estimate"][f"ci95_{margin}"] == 0, site
    small = process["alloc"]["live_bytes"] - size
    most = 2 * math.sqrt(interval * (small + 2 * interval))
    assert 2 * interval < estimate["ci95_bytes"] < most, process["alloc"]


@test(need_root, each=["", "--unwind=fp"], every_kernel=[""])
def of_the_library_stacks_have_what_the_program_called(option):
    _, (process,) = reported(["/usr/bin/python3", "-c", "x = [str(i) for i in range(9999)]"],
                             "--sample=4k", *option.split())
    called_by_the_program(process)


@test(need_root)
def what_the_library_allocates_for_itself_is_no_sample():
    """Each byte is one, so that what dlsym() and dlerror() do for it at the start would be seen."""
    _, (process,) = reported(["/usr/bin/python3", "-c", "pass"], "--sample=1")
    called_by_the_program(process)


@test(need_root)
def what_the_library_does_not_find_is_no_error_of_the_program():
    """By its name, which is none of a file, the program itself is not found."""
    done, _ = reported(["/bin/bash", "-c", 'exec -a absent/program "$0"', target("last_error")],
                       "--sample")
    assert done.stdout == "operators called, error none\n", done.stdout


def called_by_the_program(process):
    assert process["sites"]
    for site in process["sites"]:
        inside = [f["function"] for f in site["frames"]
                  if os.path.basename(f["object"] or "") == LIBRARY
                  and not f["inline"]]
        assert site["frames"][0]["function"] == "[sampled]", site["frames"][:3]
        assert inside in (["malloc"], ["calloc"], ["realloc"]), site["frames"][:5]
        assert os.path.basename(site["frames"][-1]["object"] or "") != LIBRARY, site["frames"]


@test(need_root)
def what_cannot_be_sampled_is_said_and_runs_without():
    done, _ = reported([target("static")], "--sample")
    assert "not sampled itself: it is linked statically" in done.stderr, done.stderr
    done, _ = reported([memtraced(), "--version"], "--sample")
    assert "not sampled itself: it has a malloc of its own" in done.stderr, done.stderr
    if not shutil.which("gcc"):
        raise Skip("no compiler for the other half")
    with scratch() as folder:
        source, program = (os.path.join(folder, name) for name in ("hello.c", "hello"))
        with open(source, "w", encoding="ascii") as file:
            file.write("#include <stdlib.h>\nint main(void) { free(malloc(9)); return 3; }\n")
        if run(["gcc", "-fsanitize=address", "-o", program, source]).returncode:
            raise Skip("gcc has no AddressSanitizer here")
        done, _ = reported([program], "--sample", "--env=ASAN_OPTIONS=detect_leaks=0",
                           status=3)  # which does not go with ptrace
        assert "not sampled itself: a sanitizer is its allocator" in done.stderr, done.stderr
        # What a command starts has inherited the library.
        done, processes = reported(["sh", "-c", f"{program}; exit $?"], "--sample",
                                   "--env=ASAN_OPTIONS=detect_leaks=0", status=3)
        assert "this program is not sampled: AddressSanitizer" in done.stderr, done.stderr
        assert "does not come first" not in done.stderr, done.stderr


@test(need_root)
def a_program_that_carries_probes_gets_no_others():
    done, (process,) = reported([target("samples"), "2000", "65536"], "--sample")
    said = [line.split() for line in done.stdout.splitlines() if line.startswith("place ")]
    assert process["alloc"]["bytes"] == sum(int(words[7]) for words in said), process["alloc"]


@test(need_root)
def a_child_with_probes_of_its_own_is_not_counted_twice():
    """It inherits the library, whose samples end with the first of its own."""
    done, processes = reported(["sh", "-c", f"{target('samples')} 20000 {INTERVAL}; true"],
                               f"--sample={INTERVAL}", "--env=MEMTRACED_SAMPLE_SEED=1")
    alloc, = (p["alloc"] for p in processes if p["comm"] == "samples")
    said = sum(int(line.split()[7]) for line in done.stdout.splitlines()
               if line.startswith("place "))
    assert said > 100 * INTERVAL, done.stdout
    assert said <= alloc["bytes"] <= said + 20 * INTERVAL, (alloc, said)
    assert alloc["unknown_frees"] == 0, alloc
    # Of a block that both have chosen, the second sample is at an address that is taken.
    assert alloc["missed_frees"] <= 1, alloc


@test(need_root)
def what_the_user_preloads_stays():
    show = ["/usr/bin/env"]
    library = os.path.realpath(os.path.join(Place.build, LIBRARY))
    for options, env, after in (((), {}, ""), ((), {"LD_PRELOAD": "libm.so.6"}, ":libm.so.6"),
                                (("--env=LD_PRELOAD=libdl.so.2",), {}, ":libdl.so.2")):
        done = run_memtraced("--sample=1M", *options, "--", *show, env={**os.environ, **env})
        assert f"\nLD_PRELOAD={library}{after}\n" in "\n" + done.stdout, done.stdout
        assert "\nMEMTRACED_SAMPLE_INTERVAL=1048576\n" in done.stdout, done.stdout
    done = run_memtraced("--sample", "--", *show,
                         env={**os.environ, "MEMTRACED_SAMPLE_PRELOAD": "no"})
    assert "libmemtraced-sample" not in done.stdout, done.stdout


@test(need_root)
def a_library_that_is_not_there_is_said():
    with scratch() as folder:
        alone = os.path.join(folder, "memtraced")
        shutil.copy(os.path.join(Place.build, "memtraced"), alone)
        done = run([alone, "--sample", "--", "true"])
        assert "libmemtraced-sample.so is neither beside" in done.stderr, done.stderr
        assert done.returncode == 0, done.stderr


@test(need_root)
def a_service_gets_a_drop_in_and_loses_it():
    unit = f"memtraced-test-{os.getpid()}"
    folder = f"/etc/systemd/system/{unit}.service.d"
    if not os.path.isdir(os.path.dirname(folder)):
        raise Skip("no systemd here")
    printed = run_memtraced("sample", "--unit", unit, "--interval=1M", "--print")
    assert printed.returncode == 0 and not os.path.exists(folder), printed.stderr
    done = run_memtraced("sample", "--unit", unit, "--interval=1M")
    try:
        with open(f"{folder}/memtraced-sample.conf", encoding="ascii") as file:
            assert file.read() == printed.stdout
    finally:
        removed = run_memtraced("sample", "--unit", unit, "--remove")
    for said in (done, removed):
        assert said.returncode == 0, said.stderr
        assert f"systemctl restart {unit}.service" in said.stdout, said.stdout
    assert not os.path.exists(folder)
    refused(run_memtraced("sample", "--unit", unit, "--remove"), 2, "is not there")
    refused(run_memtraced("sample", "--unit=../up"), 1, "invalid unit name")
    refused(run_memtraced("sample", "--unit=a.timer"), 1, "give a service")
    refused(run_memtraced("sample"), 1, "--unit=NAME")
