# SPDX-License-Identifier: GPL-2.0-or-later
"""--max-overhead: a command begins with samples, or page faults where it shows none; what is quiet
becomes exact when that is paid for, what allocates all the time does not; what ran before begins
exact; and the report says what since when."""

import contextlib
import itertools
import math
import os
import select
import signal
import subprocess

import browser
from bpf_objects import traced_calls
from lib import (Lines, attached, exact, heap_sites, load_report, memtraced, need_program,
                 need_root, refused, run_memtraced, scratch, send_line, started, target, test,
                 total, with_function, without)
from test_html import root_value
from test_samples import check_weights, said_places

BESIDE_OTHERS = True

INTERVAL = 65536
SMALL_INTERVAL = 32768
LARGE_INTERVAL = 1 << 20
CHANGED = "memtraced: --max-overhead: from now on "
SAMPLED, GROWTH, EXACT = "samples", "only page faults", "all calls"


class Waves:
    """The target under memtraced -c, or by itself."""

    def __init__(self, process):
        self.process = process
        self.tracer = process.pid  # of -c
        self.pid = int(process.lines.until("ready "))

    def do(self, line):
        """(allocations, bytes) of it."""
        send_line(self.process, line)
        return tuple(int(word) for word in self.process.lines.until("done ", timeout=90).split())


@contextlib.contextmanager
def governed(*options, share="5%", program="waves"):
    """A command that does as it is told; .finish() gives (report, table)."""
    with scratch() as folder:
        paths = [os.path.join(folder, name) for name in ("json", "table")]
        command = [memtraced(), f"--max-overhead={share}", *options, "-o", f"json:{paths[0]}",
                   "-o", f"table:{paths[1]}", "--", target(program)]
        with started(command, stderr=subprocess.PIPE) as process:
            waves = Waves(process)
            waves.said = Lines(process.stderr)

            def finish():
                process.stdin.close()
                assert process.wait(60) == 0, process.returncode
                with open(paths[1], encoding="utf-8") as file:
                    return load_report(paths[0]), file.read()
            waves.finish = finish
            yield waves


def depths(report):
    return [change["depth"] for change in report["coverage"]["depths"]]


def factors(report):
    return [change["interval_factor"] for change in report["coverage"]["depths"]]


def until_changed(waves, what, line, tries=40):
    """Goes on so until the depth is `what`."""
    with_it = CHANGED + what
    for _ in range(tries):
        waves.do(line)
        while b"\n" in waves.said.buffer or select_now(waves.said):
            line_said = waves.said.next()
            assert line_said is not None, "memtraced has ended"
            if line_said.startswith(with_it):
                return
    raise AssertionError(f"no line {with_it!r}")


def select_now(lines):
    return bool(select.select([lines.fd], [], [], 0)[0])


def images(report, pid):
    """Of a process, the oldest first."""
    return [process for process in report["processes"] if process["pid"] == pid][::-1]


def counted_exactly(process, done):
    assert process["depth"] == "exact" and process["end"]["exit"] == 0, process["end"]
    assert process["alloc"]["allocs"] == sum(n for n, _ in done), process["alloc"]
    assert process["alloc"]["bytes"] == sum(n for _, n in done), process["alloc"]


def done_exactly(waves):
    """What it says that it did when all calls are counted."""
    until_changed(waves, EXACT, "quiet 500")
    # What the change came in the middle of is over.
    return [waves.do("quiet 500"), waves.do("keep 100 4096"), waves.do("quiet 500")]


def check_exact(image, done):
    assert image["depth"] == "exact" and image["end"]["exit"] == 0, image["end"]
    assert image["alloc"]["live_bytes"] == 100 * 4096, image["alloc"]
    assert image["alloc"]["allocs"] >= sum(n for n, _ in done), image["alloc"]


@test(need_root, timeout=120)
def what_is_quiet_becomes_exact():
    with governed() as waves:
        early = waves.do("keep 200 1048576")
        assert traced_calls(waves.tracer) == set()
        done = done_exactly(waves)
        assert traced_calls(waves.tracer) != set()
        report, table = waves.finish()
    # Where samples take long, fewer are kept in between.
    kinds = [kind for kind, _ in itertools.groupby(depths(report))]
    assert kinds == ["sampled", "exact"], report["coverage"]["depths"]
    first, *_, change = report["coverage"]["depths"]
    assert first["at_ns"] == 0 and first["exact_ppm"] is None, first
    # Half of the share, or four times that as long as only the calibration tells.
    assert change["at_ns"] >= 2000000000 and change["exact_ppm"] < 100000, change
    before, after = images(report, waves.pid)[-2:]
    assert before["depth"] == "sampled" and before["end"]["depth_changed"], before["end"]
    margin = before["alloc"]["estimate"]["ci95_bytes"]
    assert abs(before["alloc"]["live_bytes"] - early[1]) < 3 * margin, before["alloc"]
    check_exact(after, done)
    overhead = report["coverage"]["overhead"]
    assert overhead["max_ppm"] == 50000, overhead
    assert 0 < overhead["predicted_ppm"] < 50000, overhead
    # A sample finds nothing in the caches, and drives out as much.
    assert overhead["sample_ns"] > overhead["call_ns"] > 0, overhead
    assert "\ndepth: from the start on samples: " in table, table[-1500:]
    assert "\noverhead: " in table, table[-1500:]


@test(need_root, need_program("chromium"), timeout=120)
def a_page_says_since_when_what_was_counted_and_what_it_cost():
    with scratch() as folder:
        path = os.path.join(folder, "page.html")
        with governed("-o", f"html:{path}") as waves:
            waves.do("keep 200 1048576")
            done_exactly(waves)
            report, _ = waves.finish()
        changes = depths(report)
        live = sum(process["alloc"]["live_bytes"] for process in report["processes"]
                   if not process["end"].get("depth_changed"))
        with browser.page(f"file://{path}", folder) as page:
            page.until("document.body.dataset.ready === '1'")
            said = page.value("[...document.querySelectorAll('p.depth')].map(p => p.textContent)")
            cost = page.value("document.getElementById('overhead').textContent")
            shown = page.value("document.querySelector('.card[data-key=live_bytes]').innerText")
            text = page.value("document.body.innerText")
            graph = root_value(page)
    assert len(said) == len(changes) >= 2, (said, changes)
    assert said[0].startswith("depth: from the start on samples: the overhead budget "), said
    assert " on all calls: ~" in said[-1], said  # a busy machine has steps between
    assert "measured (the kernel's count" in cost and cost.endswith("asked for: 5.00\u00a0%"), cost
    # What went on at another depth is not held twice.
    assert f"{live:,} bytes" in shown, (shown, live)
    assert graph == live, (graph, live)
    assert "goes on at another depth" in text, text[:2000]


@test(need_root, need_program("clang"))
def what_samples_tell_of_while_libraries_come_is_in_time():
    """Page faults of the linker's, in a program that maps a lot: none of it has run yet."""
    with scratch() as folder:
        path = os.path.join(folder, "json")
        done = run_memtraced("--max-overhead=5%", "-o", f"json:{path}", "--", "clang", "--version")
        assert done.returncode == 0, done.stderr
        assert load_report(path)["coverage"]["lost"] == {}, load_report(path)["coverage"]


@test(need_root, timeout=120)
def what_is_static_begins_with_page_faults_and_earns_all_calls():
    """Nothing can be preloaded into it."""
    with governed(program="waves-static") as waves:
        waves.said.until(f"memtraced: {target('waves-static')} is not sampled itself: it is linked "
                         "statically; ")
        waves.do("keep 200 1048576")
        done = done_exactly(waves)
        report, table = waves.finish()
    assert depths(report) == ["growth", "exact"], report["coverage"]["depths"]
    # Of what page faults alone tell there is no image: the program goes on in the next.
    (after,) = images(report, waves.pid)
    check_exact(after, done)
    assert with_function(heap_sites(after), "keep"), heap_sites(after)
    assert "\ndepth: from the start on page faults alone: " in table, table[-1500:]


@test(need_root, each=("samples-static", "samples-static-pie"), in_turn=1)
def what_is_static_and_shows_samples_itself_begins_with_these(program):
    with scratch() as folder:
        path = os.path.join(folder, "json")
        done = run_memtraced("--max-overhead=5%", "-o", f"json:{path}", "--", target(program),
                             "20000", str(INTERVAL))
        assert done.returncode == 0, done.stderr
        assert "is not sampled itself" not in done.stderr, done.stderr
        report = load_report(path)
    first = report["processes"][-1]
    assert depths(report)[0] == first["depth"] == "sampled", report["coverage"]["depths"]
    if len(depths(report)) == 1:
        check_weights(first, said_places(done.stdout))
    estimate = first["alloc"]["estimate"]
    assert estimate["shown_interval"] == INTERVAL, first["alloc"]
    # On a busy machine only one in some of them is kept.
    thinned = estimate["interval"] // INTERVAL
    assert estimate["interval"] == thinned * INTERVAL and thinned in (1, 2, 4, 8, 16, 32, 64), \
        first["alloc"]


@contextlib.contextmanager
def old_target(busy_ms):
    """The target, which has used so much CPU time."""
    with started([target("waves")]) as process:
        waves = Waves(process)
        waves.do(f"busy {busy_ms}")
        yield waves


@test(need_root, timeout=120)
def what_ran_before_and_is_quiet_stays_exact():
    with old_target(600) as waves, \
            attached([waves.pid], "--max-overhead=50%", "--no-tui") as session:
        done = [waves.do("quiet 1000"), waves.do("keep 100 4096"), waves.do("quiet 500")]
        waves.process.stdin.close()
        report = session.finish(None)
    exact(report)
    assert depths(report) == [], report["coverage"]["depths"]
    (process,) = images(report, waves.pid)
    counted_exactly(process, done)


@test(need_root, timeout=120)
def what_is_nearly_idle_is_counted_when_that_takes_little_of_a_cpu():
    """Its calls take more than its own work, and little of the fifth of a CPU that it counts as."""
    with scratch() as folder, started([target("waves")]) as process:
        waves = Waves(process)
        path = os.path.join(folder, "json")
        with started([memtraced(), "--max-overhead=90%", "--no-tui", "-p", str(waves.pid), "-o",
                      f"json:{path}"], stderr=subprocess.PIPE) as tracer:
            waves.said = Lines(tracer.stderr)
            until_changed(waves, EXACT, "serve 500")
            done = [waves.do("serve 2000"), waves.do("keep 100 4096"), waves.do("serve 2000")]
            waves.process.stdin.close()
            assert tracer.wait(60) == 0
        report = load_report(path)
    assert not report["coverage"]["lost"], report["coverage"]
    assert depths(report) == ["growth", "exact"], report["coverage"]["depths"]
    after = images(report, waves.pid)[-1]
    check_exact(after, done)
    overhead = report["coverage"]["overhead"]
    assert 0 < overhead["measured_ppm"] < 900000, overhead


@test(need_root, timeout=120)
def what_has_just_begun_has_earned_no_exact_depth():
    with old_target(1) as waves, \
            attached([waves.pid], "--max-overhead=5%", "--no-tui") as session:
        report = session.finish()
    assert depths(report) == ["growth"], report["coverage"]["depths"]
    assert images(report, waves.pid)[0]["alloc"]["live_bytes"] is None, report["processes"]


# What a kernel before Linux 5.15 lacks: there sites are in no table.
OLD = "atomics"


# Alone: where it has no CPU for a while, its rate is low, and it is counted exactly for a moment.
@test(need_root, each=["with sites in a table", "with all in a map"], in_turn=1, timeout=120,
      alone=True)
def what_allocates_all_the_time_stays_sampled(where):
    old = without(OLD) if where == "with all in a map" else contextlib.nullcontext()
    # 80 million allocations a second have 8,000 samples: of the time 5 %, or, where traps are slow
    # (40 us were seen), a third
    with old, governed(f"--sample={LARGE_INTERVAL}", share="60%") as waves:
        waves.do("busy 3000")
        kept = waves.do("keep 1600 262144")
        report, table = waves.finish()
    # Where samples take long, fewer are kept.
    assert set(depths(report)) == {"sampled"}, report["coverage"]["depths"]
    assert not report["coverage"]["exact"] and not report["coverage"]["lost"], report["coverage"]
    (process,) = images(report, waves.pid)
    assert process["depth"] == "sampled", process["depth"]
    live = total(with_function(heap_sites(process), "keep"), "live_bytes")
    interval = process["alloc"]["estimate"]["interval"]
    assert interval == factors(report)[-1] * LARGE_INTERVAL, process["alloc"]
    within = 5 * math.sqrt(interval * kept[1])
    assert abs(live - kept[1]) <= within, f"~{live} of {kept[1]}, +-{within:.0f}"
    overhead = report["coverage"]["overhead"]
    assert overhead["predicted_ppm"] < 600000, overhead
    # However it is wrapped.
    text = " ".join(table.split())
    for words in (" samples are counted, all numbers are ESTIMATES, from ",
                  " depth: from the start on samples", " overhead: ", "asked for: 60.00 %"):
        assert words in text, words


@test(need_root, timeout=120)
def of_samples_that_take_too_much_fewer_are_kept():
    """Of 400 samples and more a second: more than this share, and too few to be left at once."""
    with governed(f"--sample={SMALL_INTERVAL}", share="0.1%") as waves:
        until_changed(waves, "one sample in ", "steady 100")
        kept = waves.do("keep 400 262144")
        report, table = waves.finish()
    assert set(depths(report)) == {"sampled"}, report["coverage"]
    # By what a sample takes here; again where it takes more than it did.
    first, *others, factor = factors(report)
    assert first == 1 and {*others, factor} <= {4, 16, 64}, report["coverage"]
    assert not report["coverage"]["lost"], report["coverage"]["lost"]
    (process,) = images(report, waves.pid)
    estimate = process["alloc"]["estimate"]
    assert estimate["interval"] == factor * SMALL_INTERVAL, estimate
    assert estimate["shown_interval"] == SMALL_INTERVAL, estimate
    live = total(with_function(heap_sites(process), "keep"), "live_bytes")
    within = 5 * math.sqrt(estimate["interval"] * kept[1])
    assert abs(live - kept[1]) <= within, f"~{live} of {kept[1]}, +-{within:.0f}"
    said = " ".join(line.strip() for line in table.split("\n"))
    assert f" on one sample in {factor}, which stands for the others: they took more" in said, said


@test(need_root, timeout=120)
def what_becomes_busy_is_sampled_again():
    with governed(f"--sample={INTERVAL}", share="20%") as waves:
        until_changed(waves, EXACT, "quiet 500")
        first = waves.do("keep 64 1000")
        until_changed(waves, SAMPLED, "busy 200")
        report, table = waves.finish()
    assert depths(report)[:3] == ["sampled", "exact", "sampled"], report["coverage"]
    assert not report["coverage"]["lost"], report["coverage"]
    change = report["coverage"]["depths"][2]
    assert change["exact_ppm"] > 200000 and change["calls_per_s"] > 10000, change
    # The first may have no sample at all, and no image then.
    every = images(report, waves.pid)
    first_exact = [image["depth"] for image in every].index("exact")
    assert first_exact <= 1, [image["depth"] for image in every]
    before, after = every[first_exact:first_exact + 2]
    assert before["depth"] == "exact" and before["end"]["depth_changed"], before["end"]
    assert after["depth"] == "sampled", after["depth"]
    # What lived when the depth changed is known exactly, but for a block in the making.
    assert first[0] <= before["alloc"]["live_blocks"] <= first[0] + 1, before["alloc"]
    held = total(with_function(heap_sites(before), "keep"), "live_bytes")
    assert held == first[1], (held, first)
    assert before["alloc"]["estimate"] is None, before["alloc"]
    frames = [frame["object"] or "" for site in heap_sites(before) for frame in site["frames"]]
    assert not any("libmemtraced-sample" in name for name in frames), frames[:20]
    for words in ("  all calls were counted, from ", "blocks that were live then"):
        assert words in " ".join(table.split("\n        ")) or words in table, words


@test(need_root, timeout=120)
def without_samples_page_faults_are_left():
    with scratch() as folder, old_target(2000) as waves:
        path = os.path.join(folder, "json")
        with started([memtraced(), "--max-overhead=2%", "--page-faults=1", "--no-tui", "-p",
                      str(waves.pid), "-o", f"json:{path}"], stderr=subprocess.PIPE) as tracer:
            waves.said = Lines(tracer.stderr)
            until_changed(waves, GROWTH, "busy 200")
            waves.do("keep 40 1000000")
            tracer.send_signal(signal.SIGINT)
            assert tracer.wait(60) == 0
        report = load_report(path)
    assert depths(report)[0] == "growth", report["coverage"]
    before, after = images(report, waves.pid)[:2]
    assert before["depth"] == "exact" and before["end"]["depth_changed"], before
    assert after["depth"] == "growth" and after["alloc"]["live_bytes"] is None, after["alloc"]
    # Who took the memory is known all the same: a page for each block, at least.
    (event,) = report["events"]
    stacks = [s for s in event["stacks"] if any(f["function"] == "keep" for f in s["frames"])]
    assert sum(s["count"] for s in stacks) >= 40, [s["count"] for s in event["stacks"]]


@test(need_root, timeout=180)
def what_changes_goes_there_and_back():
    with governed() as waves:
        until_changed(waves, EXACT, "quiet 500")
        until_changed(waves, SAMPLED, "busy 100")
        until_changed(waves, EXACT, "quiet 500", tries=60)
        kept = waves.do("keep 50 3000")
        report, _ = waves.finish()
    there = ["sampled", "exact", "sampled", "exact"]
    # Where the samples of "busy" take more than their share, fewer are kept, or none for a while.
    kinds = [kind for kind, _ in itertools.groupby(d for d in depths(report) if d != "growth")]
    assert kinds == there, report["coverage"]["depths"]
    counted = [image for image in images(report, waves.pid) if image["depth"] != "growth"]
    # The first may have no sample at all, and no image then.
    every = [list(same)[-1] for _, same in
             itertools.groupby(counted, key=lambda image: image["depth"])][-3:]
    assert [image["depth"] for image in every] == there[1:], [image["depth"] for image in every]
    last = every.pop()
    assert last["alloc"]["live_bytes"] == kept[1], last["alloc"]
    assert last["alloc"]["live_blocks"] == kept[0], last["alloc"]
    assert not last["heap_errors"], last["heap_errors"]
    ends = [image["end"] for image in every]
    assert all(end["depth_changed"] for end in ends) and last["end"]["exit"] == 0, ends


@test(need_root, timeout=120)
def children_are_of_the_depth_that_holds():
    with scratch() as folder:
        path = os.path.join(folder, "json")
        done = run_memtraced("--max-overhead=5%", "-o", f"json:{path}", "--", "/bin/sh", "-c",
                             f"echo busy 1500 | {target('waves')}; "
                             f"echo keep 10 500000 | {target('waves')}", timeout=90)
        assert done.returncode == 0, done.stderr[-1000:]
        report = load_report(path)
    assert depths(report)[0] == "sampled", report["coverage"]["depths"]
    assert not report["coverage"]["lost"], report["coverage"]["lost"]
    last = [p for p in report["processes"] if p["comm"] == "waves" and p["end"]["exit"] == 0][-1]
    assert last["depth"] in ("sampled", "growth"), last["depth"]


@test(need_root, need_program("perl", "jq"), each=("perl", "jq"), in_turn=1, timeout=120)
def real_programs_hold_what_they_hold_bare(name):
    """What they print is what they print without."""
    command = {"perl": ["perl", "-e", "my %x = map { ($_ => 'v' x ($_ % 50)) } 1 .. 150000; "
                        "print scalar keys %x"],
               "jq": ["jq", "-n", "[range(200000)] | map(tostring) | length"]}[name]
    bare = subprocess.run(command, capture_output=True, text=True, check=True)
    with scratch() as folder:
        path = os.path.join(folder, "json")
        done = run_memtraced("--max-overhead=5%", "-q", "-o", f"json:{path}", "--", *command,
                             timeout=90)
        report = load_report(path)
    assert done.returncode == 0 and done.stdout == bare.stdout, done.stderr[-1000:]
    assert depths(report)[:1] == ["sampled"], report["coverage"]
    assert report["coverage"]["overhead"]["predicted_ppm"] > 0, report["coverage"]


@test(need_root)
def a_recording_has_the_changes():
    with scratch() as folder:
        recording, path = os.path.join(folder, "run.mtr"), os.path.join(folder, "json")
        done = run_memtraced("--max-overhead=5%", "-q", "-o", f"record:{recording}", "-o",
                             f"json:{path}", "--", "/bin/sh", "-c",
                             f"echo busy 1200 | {target('waves')}")
        assert done.returncode == 0, done.stderr
        again = os.path.join(folder, "again")
        run_memtraced("report", recording, "-o", f"json:{again}")
        live, replayed = load_report(path), load_report(again)
    for key in ("depths", "overhead", "exact"):
        assert live["coverage"][key] == replayed["coverage"][key], key
    assert [p["depth"] for p in live["processes"]] == [p["depth"] for p in replayed["processes"]]


@test(every_kernel=True)
def what_it_cannot_go_with_is_refused():
    refused(run_memtraced("--max-overhead=0%", "--", "true"), 1, "invalid --max-overhead", "0.01%")
    refused(run_memtraced("--max-overhead=5%", "--sample", "-a"), 1, "'--max-overhead'",
            "leave out '--sample'")
    refused(run_memtraced("--max-overhead=5%", "--leak-check=full", "--", "true"), 1,
            "'--leak-check'", "'--max-overhead'")


@test(need_root, need_program("env", "nice"), each=("--max-overhead=5%", "--sample"), in_turn=1)
def a_program_that_another_replaces_is_there_without_a_sample(how):
    """None of these allocates as much as one interval."""
    with scratch() as folder:
        path = os.path.join(folder, "json")
        done = run_memtraced(how, "-o", f"json:{path}", "--", "env", "nice", "true")
        assert done.returncode == 0, done.stderr
        report = load_report(path)
        found = [os.path.basename(process["exe"]) for process in report["processes"]]
        assert found == ["true", "nice", "env"], found
        assert len({process["pid"] for process in report["processes"]}) == 1, report["processes"]
        for process in report["processes"]:
            assert not process["sites"] or process["alloc"]["estimate"], process["alloc"]
