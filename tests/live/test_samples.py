# SPDX-License-Identifier: GPL-2.0-or-later
"""--sample: what programs show by otel_memory probes, to the byte."""

import math
import os
import platform
import subprocess

from bpf_objects import traced_calls
import schema
from lib import (ATTACH_PATHS, attach_option, attached, heap_sites, load_report, memtraced,
                 need_program, need_root, refused, run, run_memtraced, scaled, scratch, send_line,
                 started, target, test, total, with_function, without)

BESIDE_OTHERS = True
UNTRANSLATED = True
PLACE = ("blocks", "bytes", "live_blocks", "live_bytes", "samples", "weight", "live_samples",
         "live_weight")
INTERVAL = 65536
# The targets: where there is no other way to walk stacks (tests/targets/targets.mk).
HAS_FRAME_POINTERS = platform.machine() == "aarch64"
# The library that samples for programs without probes: test_sample_preload.py.
NOTHING_PRELOADED = {**os.environ, "MEMTRACED_SAMPLE_PRELOAD": "no"}


def said_places(stdout):
    """{function: numbers}"""
    lines = [line.split() for line in stdout.splitlines() if line.startswith("place ")]
    assert len(lines) == 3, stdout
    return {words[1]: dict(zip(PLACE, map(int, words[2:]))) for words in lines}


def check_weights(process, places):
    """Bytes are the sums of the weights that were shown, in all and by place."""
    alloc, sites = process["alloc"], heap_sites(process)
    assert alloc["bytes"] == sum(said["weight"] for said in places.values()), (alloc, places)
    assert alloc["live_bytes"] == sum(said["live_weight"] for said in places.values()), alloc
    assert alloc["unknown_frees"] == alloc["missed_frees"] == 0, alloc
    # What samples do not tell is not 0.
    assert alloc["failed"] is alloc["temporary"] is None, alloc
    for function, said in places.items():
        ours = with_function(sites, function)
        assert total(ours, "bytes") == said["weight"], (function, said, ours)
        assert total(ours, "live_bytes") == said["live_weight"], (function, said, ours)
    assert total(sites, "bytes") == alloc["bytes"], sites
    # The function with the probe has no frame of its own: its caller is there nevertheless.
    assert with_function(sites, "allocate") == sites == with_function(sites, "show"), sites
    assert all(site["class"] == "heap" for site in process["sites"]), process["sites"]


def is_interval(estimate, interval):
    """It is told from weights, which are rounded."""
    return abs(estimate["interval"] - interval) <= 1 + interval / 1000


def check_margin(counts, estimate):
    """No more than 1.96 errors of as many bytes in small blocks, at the ends of the interval."""
    assert is_interval(estimate, INTERVAL), estimate
    n = counts["live_bytes"] / INTERVAL
    margin = 1.96 * 1.002 * INTERVAL * math.sqrt(n + 1.93) if n else 3.003 * INTERVAL
    assert 0 < estimate["ci95_bytes"] <= margin, (counts, estimate)


def check_estimates(process, places):
    """The seed is the same each time: the truth is where it is in 95 of 100 cases."""
    alloc = process["alloc"]
    check_margin(alloc, alloc["estimate"])
    for site in process["sites"]:
        check_margin(site, site["estimate"])
        assert site["temporary"] is None, site
    assert alloc["estimate"]["samples"] == sum(said["live_samples"] for said in places.values())
    truth = {key: sum(said[key] for said in places.values()) for key in PLACE}
    for key, said, margin in (("live_bytes", "live_bytes", "bytes"),
                              ("live_blocks", "live_blocks", "blocks"),
                              ("bytes", "bytes", "allocated_bytes"),
                              ("allocs", "blocks", "allocs")):
        off = abs(alloc[key] - truth[said])
        assert off <= alloc["estimate"][f"ci95_{margin}"], (key, truth, alloc)
    off = abs(alloc["frees"] - (truth["blocks"] - truth["live_blocks"]))
    assert off <= alloc["estimate"]["ci95_frees"], (truth, alloc)
    # Three in four are freed at once, and it holds most at the end.
    off = abs(alloc["peak_bytes"] - truth["live_bytes"])
    assert off <= alloc["estimate"]["ci95_peak_bytes"], (truth, alloc)


def check_coverage(report, whole):
    coverage = report["coverage"]
    assert not coverage["exact"], "estimates are not exact"
    assert coverage["lost"] == {} and coverage["unprobed"] == [], coverage
    assert coverage["all_stacks_complete"] == whole, coverage


def sampled(program, *options, env=()):
    """The only process of the report, and what it said."""
    rounds = scaled(20000, 200000, 2000)
    with scratch() as folder:
        path = os.path.join(folder, "json")
        done = run_memtraced("--sample", *options, "-o", f"json:{path}", "--", target(program),
                             str(rounds), str(INTERVAL), env={**NOTHING_PRELOADED, **dict(env)})
        assert done.returncode == 0, done.stderr
        report = load_report(path)
        process, = report["processes"]
        check_coverage(report, HAS_FRAME_POINTERS or "--unwind=fp" not in options)
        return process, said_places(done.stdout)


@test(need_root, each=sorted(ATTACH_PATHS), first=["perf", "session"])
def weights_are_those_that_the_target_showed(path):
    check_weights(*sampled("samples", attach_option(path)))


@test(need_root, each=["samples-static", "samples-static-pie", "samples-dlopen"], in_turn=1)
def probes_are_found_however_they_come_into_a_process(program):
    check_weights(*sampled(program))


@test(need_root)
def estimates_say_how_far_they_can_be_off():
    check_estimates(*sampled("samples"))


@test(need_root)
def weights_that_are_multiples_of_the_interval_are_recognised():
    """As the contract had them before: n samples of the interval R are off by R sqrt(n)."""
    process, places = sampled("samples", env={"SAMPLER_MULTIPLES": "1"})
    check_weights(process, places)
    alloc = process["alloc"]
    assert alloc["estimate"]["interval"] == INTERVAL, alloc
    error = math.sqrt(INTERVAL * alloc["live_bytes"])
    assert 1.96 * error <= alloc["estimate"]["ci95_bytes"] <= 2 * error + 3 * INTERVAL, alloc
    for key, margin in (("live_bytes", "bytes"), ("live_blocks", "blocks"),
                        ("bytes", "allocated_bytes")):
        off = abs(alloc[key] - sum(said[key] for said in places.values()))
        assert off <= alloc["estimate"][f"ci95_{margin}"], (key, places, alloc)


@test(need_root)
def a_recording_keeps_what_estimates_are():
    with scratch() as folder:
        report, again, record = (os.path.join(folder, name) for name in ("json", "again", "rec"))
        done = run_memtraced("--sample", "-o", f"json:{report}", "-o", f"record:{record}", "--",
                             target("samples"), "300", str(INTERVAL))
        assert done.returncode == 0, done.stderr
        done = run_memtraced("report", record, "-o", f"json:{again}")
        assert done.returncode == 0, done.stderr
        before, after = load_report(report), load_report(again)
        assert before["processes"][0]["alloc"] == after["processes"][0]["alloc"]
        assert before["processes"][0]["alloc"]["estimate"]["interval"] == \
            after["processes"][0]["alloc"]["estimate"]["interval"], before
        table = " ".join(run_memtraced("report", record).stdout.split())
        assert "ESTIMATES" in table and " ± " in table and "samples only" in table, table


@test(need_root)
def a_child_has_the_samples_that_it_inherited():
    with scratch() as folder:
        path = os.path.join(folder, "json")
        done = run_memtraced("--sample", "-o", f"json:{path}", "--", target("samples"), "2000",
                             str(INTERVAL), "0", "1")
        assert done.returncode == 0, done.stderr
        report = load_report(path)
        parent, child = (process["alloc"] for process in report["processes"])
        places = said_places(done.stdout)
        assert parent["live_bytes"] == child["live_bytes"], (parent, child)
        assert parent["live_bytes"] == sum(said["live_weight"] for said in places.values()), parent
        assert parent["live_blocks"] == child["live_blocks"], (parent, child)
        for of_live in "interval", "samples", "ci95_bytes", "ci95_blocks":
            assert parent["estimate"][of_live] == child["estimate"][of_live], (parent, child)
        # What it has got counts as what it began with, not as replaced.
        assert child["estimate"]["ci95_peak_bytes"] == child["estimate"]["ci95_bytes"], child
        assert child["allocs"] == child["frees"] == 0 < child["estimate"]["ci95_allocs"], child


@test(need_root)
def the_interval_of_a_command_is_asked_for_by_its_environment():
    for options, interval in ((["--sample=128k"], 131072),
                              (["--sample", "--env=MEMTRACED_SAMPLE_INTERVAL=4096"], 4096)):
        done = run_memtraced(*options, "-f", "json", "--", target("samples"), "500")
        assert done.returncode == 0, done.stderr
        process, = schema.loads(done.stdout)["processes"]
        assert is_interval(process["alloc"]["estimate"], interval), process["alloc"]


@test(need_root)
def kernels_without_cookies_count_the_same():
    with without("cookies"):
        check_weights(*sampled("samples"))
        check_weights(*sampled("samples-dlopen"))


@test(need_root)
def stacks_are_followed_by_frame_pointers_too():
    process, places = sampled("samples", "--unwind=fp")
    assert process["alloc"]["bytes"] == sum(said["weight"] for said in places.values()), process


@test(need_root, each=["samples", "samples-dlopen"], in_turn=1, every_kernel=["samples"])
def a_running_process_shows_its_samples_when_it_is_attached_to(program):
    """Also one that loads the library with the probes later."""
    with started([target(program), "3000", str(INTERVAL), "1"]) as process:
        lines = process.lines
        assert lines.next() == "ready"
        with attached([process.pid], "--sample") as session:
            send_line(process)
            assert lines.next() == "watched"
            session.later_report()  # all its probes are in
            send_line(process)
            places = said_places("\n".join(lines.next() for _ in range(3)))
            assert places["make_small"]["samples"] > 0, places
            session.next_report()
            report = session.finish()
            check_weights(report["processes"][0], places)
        send_line(process)


@test(need_root, every_kernel=True)
def libraries_that_come_and_go_are_told_apart():
    """Two at one address, each in turn, in a program all of whose blocks are samples."""
    with scratch() as folder:
        path = os.path.join(folder, "json")
        done = run_memtraced("--sample=1", "-o", f"json:{path}", "--", target("dl"), "20")
        assert done.returncode == 0, done.stderr
        assert done.stdout == "same 20\n", done.stdout
        report = load_report(path)
    check_coverage(report, True)
    sites = heap_sites(report["processes"][0])
    for function, size in (("leak_from_a", 1111), ("leak_from_b", 2222)):
        ours = with_function(sites, function)
        assert total(ours, "live_bytes") == 20 * size, (function, ours)
        assert total(ours, "live_blocks") == 20, (function, ours)


@test(need_root, need_program("gcc"))
def a_linker_of_another_kind_is_told_of_by_tracepoints():
    """One without the function that debuggers stop at: else nothing would tell of its libraries."""
    with open("/proc/self/maps", encoding="utf-8") as maps:
        linker = next(line.split(None, 5)[5].strip() for line in maps if "/ld-" in line)
    with open(linker, "rb") as file:
        code = file.read()
    assert b"\0_dl_debug_state\0" in code, linker
    with scratch() as folder:
        other, program, path = (os.path.join(folder, name) for name in ("ld.so", "dl", "json"))
        with open(other, "wb") as file:
            file.write(code.replace(b"\0_dl_debug_state\0", b"\0_dl_other_state\0"))
        os.chmod(other, 0o755)
        subprocess.run(["gcc", "-O1", "-fPIE", "-pie", "-o", program, "-x", "c", "-",
                        f"-Wl,--dynamic-linker={other}"], text=True, check=True, input="""
                       #include <stdlib.h>
                       int main(void) { return !malloc(1 << 20); }""")
        done = run_memtraced("--sample=4096", "-o", f"json:{path}", "--", program)
        assert done.returncode == 0, done.stderr
        report = load_report(path)
    check_coverage(report, True)
    sites = with_function(heap_sites(report["processes"][0]), "main")
    assert total(sites, "live_bytes") == 1 << 20, sites


@test(need_root)
def many_children_have_their_libraries_told_apart_too():
    """By links that all processes share, which are in no linker: tracepoints tell of mappings."""
    children = 12
    with scratch() as folder:
        path = os.path.join(folder, "json")
        done = run_memtraced("--sample=1", "-o", f"json:{path}", "--", "sh", "-c",
                             f"for i in $(seq {children}); do {target('dl')} 2; done; true")
        assert done.returncode == 0, done.stderr
        report = load_report(path)
    check_coverage(report, True)
    found = [process for process in report["processes"] if process["comm"] == "dl"]
    assert len(found) == children, [process["comm"] for process in report["processes"]]
    for process in found:
        for function, size in (("leak_from_a", 1111), ("leak_from_b", 2222)):
            ours = with_function(heap_sites(process), function)
            assert total(ours, "live_bytes") == 2 * size, (function, ours)


@test(need_root, need_program("valgrind"), alone=True)
def programs_on_a_translator_go_on_beside_it():
    """Which takes a breakpoint that the kernel has put into their code for their own."""
    with started([memtraced(), "-a", "--sample", "-f", "json", "-i", "0.3"],
                 stderr=subprocess.DEVNULL) as session:
        schema.loads(session.lines.next())
        done = run(["valgrind", "-q", "--tool=none", "true"])
        assert done.returncode == 0, done.stderr


@test(need_root, need_program("bpftool"), every_kernel=True)
def no_system_call_is_traced():
    """All processes of the host would pay for it."""
    with started([target("samples"), "300", str(INTERVAL), "1"]) as process:
        assert process.lines.next() == "ready"
        with attached([process.pid], "--sample") as session:
            session.next_report()
            assert traced_calls(session.process.pid) == set()
            send_line(process)
            assert process.lines.next() == "watched"
            send_line(process)
            session.finish()
        send_line(process)


@test(need_root)
def a_process_without_probes_is_said_in_one_line():
    done = run_memtraced("--sample", "-f", "json", "--", "true", env=NOTHING_PRELOADED)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("no otel_memory probes") == 1, done.stderr
    report = schema.loads(done.stdout)
    assert report["processes"][0]["sites"] == [], report["processes"]
    assert report["coverage"]["lost"] == {"no-allocator-found": 1}, report["coverage"]


@test(need_root)
def of_a_user_only_the_programs_with_probes_are_named():
    """Others are counted, and the target is found although nobody named it."""
    with started([target("samples"), "3000", str(INTERVAL), "1"]) as process:
        assert process.lines.next() == "ready"
        command = [memtraced(), "--uid=0", "--comm=samples", "--comm=cat", "--sample", "-f",
                   "json", "-i", "0.3"]
        with started(["cat"]), started(command) as session:
            report = schema.loads(session.lines.next())
            send_line(process)
            assert process.lines.next() == "watched"
            session.lines.forget()
            assert session.lines.next() and session.lines.next()  # all its probes are in
            send_line(process)
            places = said_places("\n".join(process.lines.next() for _ in range(3)))
            session.lines.forget()
            session.lines.next()
            report = schema.loads(session.lines.next())
        found = {one["pid"]: one for one in report["processes"]}
        check_weights(found[process.pid], places)
        assert report["coverage"]["lost"]["no-allocator-found"] >= 1, report["coverage"]
        assert report["coverage"]["unprobed"] == [], report["coverage"]


def check_thinned(alloc, places, doubled):
    """Estimates of samples that had no room for all: chance decides, so four errors and no seed."""
    estimate = alloc["estimate"]
    assert estimate["interval"] == estimate["shown_interval"] * doubled > 0, estimate
    for key, said, margin in (("live_bytes", "live_bytes", "bytes"),
                              ("bytes", "bytes", "allocated_bytes")):
        truth = sum(place[said] for place in places.values())
        off = abs(alloc[key] - truth)
        assert off <= 4 / 1.96 * estimate[f"ci95_{margin}"], (key, truth, alloc)
    assert alloc["unknown_frees"] == alloc["missed_frees"] == 0, alloc


def with_little_room(rounds, interval):
    with scratch() as folder:
        path = os.path.join(folder, "json")
        done = run_memtraced("--sample", "--max-blocks=8192", "-o", f"json:{path}", "--",
                             target("samples"), rounds, interval, env=NOTHING_PRELOADED)
        assert done.returncode == 0, done.stderr
        return load_report(path), said_places(done.stdout)


@test(need_root, every_kernel=True)
def what_has_no_room_weighs_in_what_has():
    """4,296 blocks live in all, and there is room for 1,024 of one process."""
    report, places = with_little_room("20000", "512")
    assert report["coverage"]["lost"] == {}, report["coverage"]
    alloc = report["processes"][0]["alloc"]
    interval = alloc["estimate"]["interval"]
    assert 2 * 512 <= interval <= 2 ** 15 * 512, alloc
    check_thinned(alloc, places, interval // 512)


@test(need_root)
def what_finds_no_room_at_all_is_said():
    """Blocks that are heavier than the interval after all doublings, of half a MiB."""
    report, places = with_little_room("150000", "16")
    lost, alloc = report["coverage"]["lost"], report["processes"][0]["alloc"]
    assert list(lost) == ["process-samples-full"] and lost["process-samples-full"] > 0, lost
    assert alloc["live_bytes"] < sum(place["live_bytes"] for place in places.values()), alloc


@test(need_root)
def a_noisy_process_leaves_the_others_their_room():
    """It would fill the room of all by itself; who comes after it is not even thinned."""
    def run_to_end(process):
        send_line(process)
        return said_places("\n".join(process.lines.next() for _ in range(3)))

    with started([target("samples"), "20000", "512", "1"]) as noisy, \
            started([target("samples"), "300", str(INTERVAL), "1"]) as quiet:
        processes = [noisy, quiet]
        assert [process.lines.next() for process in processes] == ["ready"] * 2
        with attached([process.pid for process in processes], "--sample",
                      "--max-blocks=4096") as session:
            for process in processes:
                send_line(process)
                assert process.lines.next() == "watched"
            session.later_report()  # all their probes are in
            said = {process.pid: run_to_end(process) for process in processes}
            session.next_report()
            report = session.finish()
        for process in processes:
            send_line(process)
    assert report["coverage"]["lost"] == {}, report["coverage"]
    found = {one["pid"]: one for one in report["processes"]}
    interval = found[noisy.pid]["alloc"]["estimate"]["interval"]
    assert interval > 512, found[noisy.pid]["alloc"]
    check_thinned(found[noisy.pid]["alloc"], said[noisy.pid], interval // 512)
    check_weights(found[quiet.pid], said[quiet.pid])
    check_thinned(found[quiet.pid]["alloc"], said[quiet.pid], 1)


@test(need_root)
def options_about_all_calls_are_refused():
    for option in ("--leak-check=full", "--heap-errors", "--free-stacks", "--floor"):
        refused(run_memtraced("--sample", option, "--", "true"), 1, "--sample", option[:12])
    refused(run_memtraced("--sample=0", "--", "true"), 1, "--sample")
    refused(run_memtraced("--sample=much", "--", "true"), 1, "--sample")
