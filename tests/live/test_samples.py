# SPDX-License-Identifier: GPL-2.0-or-later
"""--sample: what programs show by otel_memory probes, to the byte."""

import json
import os

from lib import (ATTACH_PATHS, Lines, attach_option, attached, heap_sites, load_report, need_root,
                 refused, run_memtraced, scaled, scratch, send_line, started, target, test, total,
                 with_function, without)

PLACE = ("blocks", "bytes", "live_blocks", "live_bytes", "samples", "weight", "live_samples",
         "live_weight")
INTERVAL = 65536
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
    assert alloc["unknown_frees"] == alloc["missed_frees"] == alloc["failed"] == 0, alloc
    for function, said in places.items():
        ours = with_function(sites, function)
        assert total(ours, "bytes") == said["weight"], (function, said, ours)
        assert total(ours, "live_bytes") == said["live_weight"], (function, said, ours)
    assert total(sites, "bytes") == alloc["bytes"], sites
    assert all(site["class"] == "heap" for site in process["sites"]), process["sites"]


def check_coverage(report, whole):
    coverage = report["coverage"]
    assert not coverage["exact"], "estimates are not exact"
    assert coverage["lost"] == {} and coverage["unprobed"] == [], coverage
    assert coverage["all_stacks_complete"] == whole, coverage


def sampled(program, *options):
    """The only process of the report, and what it said."""
    rounds = scaled(20000, 200000, 2000)
    with scratch() as folder:
        path = os.path.join(folder, "json")
        done = run_memtraced("--sample", *options, "-o", f"json:{path}", "--", target(program),
                             str(rounds), str(INTERVAL), env=NOTHING_PRELOADED)
        assert done.returncode == 0, done.stderr
        report = load_report(path)
        process, = report["processes"]
        check_coverage(report, "--unwind=fp" not in options)
        return process, said_places(done.stdout)


@test(need_root, each=sorted(ATTACH_PATHS), every_kernel=["perf", "session"])
def weights_are_those_that_the_target_showed(path):
    check_weights(*sampled("samples", attach_option(path)))


@test(need_root, each=["samples-static", "samples-static-pie", "samples-dlopen"])
def probes_are_found_however_they_come_into_a_process(program):
    check_weights(*sampled(program))


@test(need_root)
def kernels_without_cookies_count_the_same():
    with without("cookies"):
        check_weights(*sampled("samples"))
        check_weights(*sampled("samples-dlopen"))


@test(need_root)
def stacks_are_followed_by_frame_pointers_too():
    process, places = sampled("samples", "--unwind=fp")
    assert process["alloc"]["bytes"] == sum(said["weight"] for said in places.values()), process


@test(need_root, each=["samples", "samples-dlopen"], every_kernel=["samples"])
def a_running_process_shows_its_samples_when_it_is_attached_to(program):
    """Also one that loads the library with the probes later."""
    with started([target(program), "3000", str(INTERVAL), "1"]) as process:
        lines = process.lines
        assert lines.next() == "ready"
        with attached([process.pid], "--sample") as session:
            send_line(process)
            assert lines.next() == "watched"
            session.next_report()  # all its probes are in
            send_line(process)
            places = said_places("\n".join(lines.next() for _ in range(3)))
            assert places["make_small"]["samples"] > 0, places
            session.next_report()
            report = session.finish()
            check_weights(report["processes"][0], places)
        send_line(process)


@test(need_root)
def a_process_without_probes_is_said_in_one_line():
    done = run_memtraced("--sample", "-f", "json", "--", "true", env=NOTHING_PRELOADED)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("no otel_memory probes") == 1, done.stderr
    report = json.loads(done.stdout)
    assert report["processes"][0]["sites"] == [], report["processes"]
    assert report["coverage"]["lost"] == {"no-allocator-found": 1}, report["coverage"]


@test(need_root)
def options_about_all_calls_are_refused():
    for option in ("--leak-check=full", "--heap-errors", "--free-stacks", "--floor"):
        refused(run_memtraced("--sample", option, "--", "true"), 1, "--sample", option[:12])
    refused(run_memtraced("--sample=0", "--", "true"), 1, "--sample")
    refused(run_memtraced("--sample=much", "--", "true"), 1, "--sample")
