# SPDX-License-Identifier: GPL-2.0-or-later
"""Sampled depth in the service: by its addresses, by ctl, by rules, and for post-mortems."""

import contextlib
import json
import os
import re
import shutil
import subprocess

import lib
from lib import (breakpoints, eventually, heap_sites, need_program, need_root, refused,
                 run_memtraced, scaled, schema, scratch, send_line, started, target, test, total,
                 with_function)
from test_allocators import POOL
from test_ctl import ctl
from test_host_page import choose, data_of, host_page
from test_post_mortem import post_mortems, read
from test_samples import INTERVAL, check_weights, said_places
from test_service import Asking, service, until_traced

BESIDE_OTHERS = "services"
WATCH = "[watch]\ninterval = 1s\n"
ROUNDS = scaled(20000, 20000, 2000)
# A name that no other test's target has, beside which this may run.
NAME = f"samples-{os.getpid()}"


@contextlib.contextmanager
def showing():
    """A process that shows samples when it is told to, and somebody listens."""
    with scratch() as folder:
        program = os.path.join(folder, NAME)
        shutil.copy(target("samples"), program)
        with started([program, str(ROUNDS), str(INTERVAL), "1"]) as process:
            assert process.lines.next() == "ready"
            yield process


def begin(process):
    """Waits for who listens."""
    send_line(process)
    assert process.lines.next() == "watched"


def work(process):
    send_line(process)
    return said_places("\n".join(process.lines.next() for _ in range(3)))


def check(report, process, places):
    one, = report["processes"]
    assert one["pid"] == process.pid, lib.brief(report["processes"])
    schema.check(report, False, True)
    check_weights(one, places)
    assert one["alloc"]["estimate"]["interval"] == INTERVAL, one["alloc"]
    coverage = report["coverage"]
    assert not coverage["exact"] and coverage["lost"] == {}, coverage
    assert coverage["all_stacks_complete"], coverage


@test(need_root, timeout=60)
def an_address_has_what_the_process_shows():
    with scratch() as folder, service(folder) as served, showing() as process:
        for other in ("profile", "growth", "mappings"):
            assert "'depth' applies to heap and allocs only" in served.text(
                f"/debug/pprof/{other}?pid={process.pid}&depth=sampled", status=400)
        where = f"/debug/pprof/heap?pid={process.pid}&depth=sampled"
        asked = Asking(served, f"{where}&seconds=600&format=json")
        until_traced(served, 1)
        begin(process)
        status = ctl(served, "status")
        assert f"heap by its samples of process {process.pid} ({NAME}): for " in status, status
        running, = json.loads(served.text("/host"))["traces"]
        assert (running["kind"], running["depth"]) == ("heap", "sampled"), running
        places = work(process)
        # Who asks for the same joins, and has it at once.
        check(schema.loads(served.text(f"{where}&format=json")), process, places)
        assert "ESTIMATES" in served.text(f"{where}&debug=1")
        send_line(process)
        assert process.wait(10) == 0
        check(schema.loads(asked.body()), process, places)


@test(need_root, timeout=60)
def all_calls_and_samples_are_traced_beside_each_other():
    with scratch() as folder, service(folder) as served, showing() as process:
        asked = {depth: Asking(served, f"/debug/pprof/allocs?pid={process.pid}&depth={depth}"
                               "&seconds=600&format=json") for depth in ("exact", "sampled")}
        until_traced(served, 2)
        begin(process)
        places = work(process)
        send_line(process)
        assert process.wait(10) == 0
        check(schema.loads(asked["sampled"].body()), process, places)
        exact = schema.loads(asked["exact"].body())
        lib.exact(exact)
        # Its allocator is C's, below what it shows.
        sites = heap_sites(exact["processes"][0])
        for place, said in places.items():
            ours = with_function(sites, place)
            assert total(ours, "live_blocks") == said["live_blocks"], (place, said, ours)


@test(need_root, timeout=60)
def ctl_keeps_a_report_of_samples():
    # What has no part in samples is no hindrance.
    with scratch() as folder, service(folder, trace=f"allocator = {POOL}") as served, \
            showing() as process:
        said = ctl(served, "trace", str(process.pid), "--sample", "--for=10m", "--format=json")
        assert f"process {process.pid} ({NAME}) is traced by its samples for 600 s" in said, said
        begin(process)
        places = work(process)
        send_line(process)
        assert process.wait(10) == 0
        served.said.until(f"memtraced: process {process.pid} ({NAME}): report ")
        check(schema.loads(ctl(served, "reports", said.split()[-1])), process, places)


@test(need_root, need_program("chromium"), timeout=120)
def a_box_on_the_page_has_samples_taken():
    with scratch() as folder, service(folder, trace=WATCH) as served, showing() as process, \
            host_page(served, folder) as page:
        choose(page, process.pid)
        page.value("document.getElementById('sampled').checked = true")
        page.click("document.getElementById('trace')")
        until_traced(served, 1)
        begin(process)
        places = work(process)
        running, = data_of(served)["traces"]
        assert (running["pid"], running["depth"]) == (process.pid, "sampled"), running
        live = sum(place["live_weight"] for place in places.values())
        cards = "[...document.querySelectorAll('.card')].map(c => c.textContent)"

        def shown():
            return [text for found in page.in_frames(cards) for text in found]

        eventually(lambda: any(f"~{live:,} bytes" in text for text in shown()), "its live heap", 60)
        assert any("estimates: ± is 95" in text for text in shown()), shown()
        facts = page.value("document.querySelector('#process p').innerText")
        assert "traced by its samples for " in facts, facts
        send_line(process)


@test(need_root, timeout=60)
def a_rule_has_samples_taken():
    rule = f"[rule held]\nwhen = rss > 64KiB\ncomm = {NAME}\ntrace = 10m\ndepth = sampled\n" \
           "format = json\n"
    with scratch() as folder, showing() as process, \
            service(folder, trace=WATCH + rule) as served:
        served.said.until(f"memtraced: rule held: rss > 64KiB: process {process.pid} "
                          f"({NAME}) is traced for 600 s", timeout=40)
        begin(process)
        places = work(process)
        send_line(process)
        assert process.wait(10) == 0
        name = served.said.until(f"memtraced: process {process.pid} ({NAME}): report ")
        check(schema.loads(ctl(served, "reports", name.split(",")[0])), process, places)


@test(need_root, timeout=60)
def who_shows_none_is_said_to_and_can_be_traced_otherwise():
    why = "shows no samples: nothing that it has mapped has otel_memory probes"
    rule = "[rule held]\nwhen = rss > 64KiB\ncomm = {}\ndepth = sampled\n"
    with scratch() as folder, scratch() as other:
        name = f"plain-{os.getpid()}"
        program = os.path.join(other, name)
        shutil.copy(target("leak"), program)
        with started([program, "0", "1000"]) as process, \
                service(folder, trace=WATCH + rule.format(name)) as served:
            pid = process.lines.until("ready")
            asked = f"/debug/pprof/heap?pid={pid}&seconds=1"
            assert why in served.text(f"{asked}&depth=sampled", status=422)
            refused(run_memtraced("ctl", f"--socket={served.path}", "trace", pid, "--sample"), 2,
                    why)
            served.said.until(f"memtraced: rule held: process {pid}: it shows no samples",
                              timeout=40)
            assert "depth is exact or sampled" in served.text(f"{asked}&depth=all", status=400)
            until_traced(served, 0)
            report = schema.loads(served.text(f"{asked}&depth=exact&format=json"))
            lib.exact(report)
            assert with_function(heap_sites(report["processes"][0]), "leak_one"), report


@contextlib.contextmanager
def sampled_by_the_library():
    """Allocates as fast as it can, and shows next to none of it."""
    env = {**os.environ, "MEMTRACED_SAMPLE_INTERVAL": str(1 << 34),
           "LD_PRELOAD": os.path.join(lib.Place.build, "libmemtraced-sample.so")}
    with started([target("leak"), "0", "0"], env=env, stdout=subprocess.DEVNULL) as process:
        yield process.pid


@test(need_root, timeout=60)
def what_samples_cost_is_no_call_of_the_allocator():
    with scratch() as folder, service(folder, trace="max_overhead = 2%") as served, \
            sampled_by_the_library() as pid:
        asked = f"/debug/pprof/heap?pid={pid}&format=json"
        report = schema.loads(served.text(f"{asked}&seconds=1&depth=sampled"))
        budget = report["coverage"]["budget"]
        assert budget["untraced_ns"] == 0 and budget["used_ppm"] < 20000, budget
        # Of which all calls would cost far too much.
        report = schema.loads(served.text(f"{asked}&seconds=30"))
        assert report["coverage"]["budget"]["untraced_ns"] > 0, report["coverage"]


STANDING = f"[post_mortem]\nformat = json\ntrace = {NAME}\ndepth = sampled\n"


@test(need_root, timeout=60)
def who_is_killed_while_samples_are_taken_has_a_post_mortem_of_them():
    with scratch() as folder, service(folder, trace=STANDING) as served, showing() as process:
        begin(process)
        # Its first probe is there; one question later all are.
        eventually(lambda: breakpoints(process.pid, NAME) > 0, "it is not traced", timeout=30)
        served.text("/healthz")
        places = work(process)
        process.kill()
        said = served.said.until(f"memtraced: process {process.pid} ({NAME}) was ended by signal ")
        live = sum(place["live_weight"] for place in places.values()) / (1 << 20)
        assert re.match(rf"9, .*; it held about {live:.1f} MiB of heap, most from ", said), said
        name, = post_mortems(served)
        check_weights(read(served, name)["processes"][0], places)


@test(need_root, timeout=60)
def who_has_shown_no_sample_has_no_post_mortem_of_samples():
    with scratch() as folder, scratch() as other, service(folder, trace=STANDING) as served:
        program = os.path.join(other, NAME)
        shutil.copy(target("leak"), program)
        with started([program, "0", "1000"]) as plain:
            plain.lines.until("ready")
            plain.kill()
            plain.wait()
            with showing() as process:
                begin(process)
                served.text("/healthz")
                work(process)
                process.kill()
                served.said.until(f"memtraced: process {process.pid} ({NAME}) was ended by signal ")
            assert len(post_mortems(served)) == 1, post_mortems(served)
