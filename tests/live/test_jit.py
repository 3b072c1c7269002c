# SPDX-License-Identifier: GPL-2.0-or-later
"""Code that run-times make while they run: maps and dumps of their own, and node."""

import contextlib
import os
import re

from lib import (attached, exact, heap_sites, load_report, need_program, need_root, run_memtraced,
                 scratch, send_line, started, target, test, total, with_function)

BESIDE_OTHERS = True
CALLS = 50


def remove_map(pid):
    """A run-time leaves its map behind, and so do our targets."""
    path = f"/tmp/perf-{pid}.map"
    if os.path.exists(path):
        os.unlink(path)


def jit_frames(site):
    return [frame for frame in site["frames"] if (frame["function"] or "").startswith("jit ")]


def check_phase(process, phase, name, size, source):
    """All calls of a phase went through the one function, and its frame says where from."""
    sites = with_function(heap_sites(process), phase)
    assert total(sites, "allocs") == CALLS, (phase, sites)
    assert total(sites, "bytes") == CALLS * size, (phase, sites)
    for site in sites:
        frames = jit_frames(site)
        assert [frame["function"] for frame in frames] == [name], site["frames"]
        assert frames[0]["object"] == source, frames
        assert frames[0]["offset"] == 6, frames  # where the call returns to
        assert site["frames"][-1]["function"] is not None, site["frames"]


@contextlib.contextmanager
def made_code(mode, *options, cwd=None):
    """A target that has called its two functions under a memtraced, and is about to say so."""
    with started([target("jit"), mode], cwd=cwd) as process:
        pid = int(process.lines.until("pid"))
        try:
            with attached([pid], *options) as session:
                for _ in range(2):
                    send_line(process)
                    process.lines.until("called")
                    session.later_report()
                yield process, session
        finally:
            remove_map(pid)


def check_map(report, pid):
    process, source = report["processes"][0], f"/tmp/perf-{pid}.map"
    check_phase(process, "phase_one", "jit one", 1000, source)
    check_phase(process, "phase_two", "jit two", 3000, source)
    exact(report)


@test(need_root)
def map_is_read_when_the_process_has_ended():
    with made_code("map") as (process, session):
        before = session.next_report()["processes"][0]
        assert not any(jit_frames(site) for site in before["sites"]), before["sites"]
        process.stdin.close()
        # The last line has no newline.
        check_map(session.finish(sig=None), process.pid)


@test(need_root)
def map_that_grows_is_read_for_each_report():
    with made_code("map") as (process, session):
        send_line(process)
        process.lines.until("written")
        report = session.later_report()
        named = {frame["function"] for site in report["processes"][0]["sites"]
                 for frame in jit_frames(site)}
        assert named == {"jit one"}, named
        send_line(process)
        check_map(session.finish(sig=None), process.pid)


@test(need_root)
def map_of_another_user_is_not_believed():
    """Anybody may write to /tmp."""
    with made_code("map") as (process, session):
        send_line(process)
        process.lines.until("written")
        os.chown(f"/tmp/perf-{process.pid}.map", 65534, 65534)
        send_line(process)
        process.wait(20)
        report = session.finish(sig=None)
        # A report may have been made of it before.
        sites = with_function(heap_sites(report["processes"][0]), "phase_two")
        assert total(sites, "allocs") == CALLS, sites
        assert not any(jit_frames(site) for site in sites), sites


@test(need_root)
def dump_says_what_was_there_at_the_time():
    with scratch() as folder:
        tape = os.path.join(folder, "run.rec")
        with made_code("dump", "-o", f"record:{tape}", cwd=folder) as (target_, session):
            send_line(target_)
            process = session.finish(sig=None)["processes"][0]
        dump = os.path.join(folder, f"jit-{target_.pid}.dump")
        for phase, name, size in (("phase_one", "jit one", 1000), ("phase_two", "jit two", 3000)):
            check_phase(process, phase, name, size, dump)
        lines = {frame["function"]: (frame["file"], frame["line"])
                 for site in process["sites"] for frame in jit_frames(site)}
        # Lines are of the code that follows them in the file, which the first function is.
        assert lines == {"jit one": ("made.js", 12), "jit two": (None, None)}, lines

        # The recording needs neither the process nor its files.
        os.unlink(dump)
        again = os.path.join(folder, "again.json")
        done = run_memtraced("report", tape, "-o", f"json:{again}")
        assert done.returncode == 0, done.stderr
        assert load_report(again)["processes"][0]["sites"] == process["sites"]


NODE_SCRIPT = """
function allocate_from_script(n) { return Buffer.allocUnsafeSlow(n); }
let kept = [];
for (let i = 0; i < 20000; i++) { allocate_from_script(5000 + i % 7); }
for (let i = 0; i < 100; i++) kept.push(allocate_from_script(9000));
console.log("made", kept.length);
"""


@test(need_root, need_program("node"), timeout=120)
def node_with_its_map():
    with scratch() as folder:
        path = os.path.join(folder, "report.json")
        done = run_memtraced("-o", f"json:{path}", "--", "node", "--perf-basic-prof",
                             "--interpreted-frames-native-stack", "-e", NODE_SCRIPT, timeout=110)
        assert done.returncode == 0 and "made 100" in done.stdout, done.stderr[-2000:]
        report = load_report(path)
        process = max(report["processes"], key=lambda p: p["alloc"]["allocs"])
        named = [site for site in process["sites"] for frame in site["frames"]
                 if re.search("allocate_from_script", frame["function"] or "")]
        remove_map(process["pid"])
        assert named, [frame["function"] for site in process["sites"][:20]
                       for frame in site["frames"]]
        assert all("/tmp/perf-" in (frame["object"] or "") for site in named
                   for frame in site["frames"]
                   if "allocate_from_script" in (frame["function"] or "")), named[0]
