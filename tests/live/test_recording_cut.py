# SPDX-License-Identifier: GPL-2.0-or-later
"""Recordings are written as the run goes: what a killed memtraced or a full disk leaves behind is
read up to its latest state, which is then said not to be the run's end."""

import contextlib
import os
import signal
import subprocess
import tempfile

from lib import (eventually, heap_sites, load_report, memtraced, need_root, run, run_memtraced,
                 scratch, send_line, started, target, test, total, with_function)

BESIDE_OTHERS = True
BLOCKS, BLOCK_SIZE = 40, 100000  # tests/targets/resident.c


def reported(recording):
    """The report of a recording that may still be written; None where there is none so far."""
    if not os.path.exists(recording):
        return None
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        done = run_memtraced("report", recording, "-o", f"json:{file.name}")
        assert done.returncode == 0, done.stderr
        return load_report(file.name)


def blocks_held(report):
    """(blocks, bytes) that the target's make_blocks() holds by a report."""
    sites = with_function([site for process in report["processes"] for site in heap_sites(process)],
                          "make_blocks")
    return total(sites, "live_blocks"), total(sites, "live_bytes")


def holds_blocks(recording):
    report = reported(recording)
    return bool(report) and blocks_held(report) == (BLOCKS, BLOCKS * BLOCK_SIZE)


def is_cut_off(recording, said="ends early or is damaged"):
    """What a report of it says, for machines and for people."""
    report = reported(recording)
    assert not report["coverage"]["exact"] and report["coverage"]["lost"] == \
        {"recording-cut-off": 1}, report["coverage"]
    done = run_memtraced("report", recording)
    assert said in done.stderr, done.stderr
    assert "the recording is unfinished, and values are those of" in " ".join(done.stdout.split())
    assert "events were lost" not in done.stdout
    return report


@contextlib.contextmanager
def recorded_until_blocks(recording, *options, then="true", **how):
    """memtraced records the target, whose blocks are in the file."""
    command = [memtraced(), "-o", f"record:{recording}", *options, "--", "sh", "-c",
               f"{target('resident')}; {then}"]
    with started(command, **how) as process:
        process.lines.until("ready")
        send_line(process)
        assert int(process.lines.until("blocks")) == BLOCKS * BLOCK_SIZE
        eventually(lambda: holds_blocks(recording), "the blocks are in no state of the recording")
        yield process


@test(need_root)
def what_a_killed_memtraced_has_recorded_can_be_read():
    with scratch() as folder:
        recording = os.path.join(folder, "run")
        with recorded_until_blocks(recording) as process:
            process.send_signal(signal.SIGKILL)
            process.wait()
        report = is_cut_off(recording)
        assert blocks_held(report) == (BLOCKS, BLOCKS * BLOCK_SIZE)
        # names and lines came along: no file of the target is asked
        site, = with_function([site for process in report["processes"]
                               for site in heap_sites(process)], "make_blocks")
        frame = next(frame for frame in site["frames"] if frame["function"] == "make_blocks")
        assert frame["file"].endswith("resident.c") and frame["line"] > 0, frame
        assert os.listdir(folder) == ["run"], "a temporary file is left"


@test(need_root)
def a_recording_that_ends_well_says_so():
    with scratch() as folder:
        recording = os.path.join(folder, "run")
        path = os.path.join(folder, "json")
        with recorded_until_blocks(recording, "-o", f"json:{path}") as process:
            process.stdin.close()
            assert process.wait(30) == 0
        whole, again = load_report(path), reported(recording)
        assert again["coverage"] == whole["coverage"] and again["coverage"]["exact"]
        assert again["processes"] == whole["processes"]


@test(need_root)
def an_earlier_recording_stays_until_there_is_something_to_read():
    with scratch() as folder:
        recording = os.path.join(folder, "run")
        done = run_memtraced("-o", f"record:{recording}", "--", target("leak"), "10", "0")
        assert done.returncode == 0, done.stderr
        with open(recording, "rb") as file:
            earlier = file.read()
        with started([memtraced(), "-o", f"record:{recording}", "--", target("leak")]) as process:
            process.lines.until("ready")
            process.send_signal(signal.SIGKILL)
            process.wait()
        with open(recording, "rb") as file:
            left = file.read()
        # on a slow machine a first state may have come
        if left != earlier:
            is_cut_off(recording)
        assert os.listdir(folder) == ["run"]


@contextlib.contextmanager
def small_disk(folder, size):
    path = os.path.join(folder, "disk")
    os.mkdir(path)
    mounted = run(["mount", "-t", "tmpfs", "-o", f"size={size},mode=777", "small", path])
    assert mounted.returncode == 0, mounted.stderr
    try:
        yield path
    finally:
        run(["umount", "-l", path])


def fill(folder):
    with contextlib.suppress(OSError), open(os.path.join(folder, "filler"), "wb", 0) as file:
        while file.write(bytes(4096)):
            continue


@test(need_root)
def a_disk_that_fills_up_ends_the_recording_and_not_the_run():
    with scratch() as folder, small_disk(folder, "4m") as disk, \
            open(os.path.join(folder, "stderr"), "w+", encoding="utf-8") as errors:
        recording, path = os.path.join(disk, "run"), os.path.join(folder, "json")
        # its 5832 stacks are more than the last page has room for
        with recorded_until_blocks(recording, "-o", f"json:{path}", then=target("stacks"),
                                   stderr=errors) as process:
            fill(disk)
            for step in ("mapped", "reserved", "committed", "stack", "freed"):
                send_line(process)
                process.lines.until(step)
            process.stdin.close()
            assert process.wait(30) == 2
        errors.seek(0)
        assert errors.read().count("No space left on device") == 1
        report = load_report(path)
        assert report["coverage"]["exact"]
        assert blocks_held(report) == (BLOCKS // 2, BLOCKS // 2 * BLOCK_SIZE), blocks_held(report)
        # its last page may have had room for the state at the end
        assert blocks_held(is_cut_off(recording)) in [(n, n * BLOCK_SIZE)
                                                      for n in (BLOCKS, BLOCKS // 2)]


@test(need_root)
def what_never_fitted_replaces_nothing():
    with scratch() as folder, small_disk(folder, "64k") as disk:
        recording, path = os.path.join(disk, "run"), os.path.join(folder, "json")
        with open(recording, "w", encoding="ascii") as file:
            file.write("earlier")
        # 5832 stacks
        done = run_memtraced("-o", f"record:{recording}", "-o", f"json:{path}", "--",
                             target("stacks"))
        assert done.returncode == 2 and done.stderr.count("No space left on device") == 1, \
            (done.returncode, done.stderr)
        assert load_report(path)["coverage"]["exact"]
        with open(recording, encoding="ascii") as file:
            assert file.read() == "earlier"
        assert os.listdir(disk) == ["run"]


@test(need_root, each=["json:x", "json:x.gz", "html:x.zst", "pprof:x"], in_turn=2)
def a_report_for_which_there_is_no_room_says_so(output):
    form, name = output.split(":")
    with scratch() as folder, small_disk(folder, "8k") as disk:
        done = run_memtraced("-q", "-o", f"{form}:{disk}/{name}", "--", target("stacks"))
        assert done.returncode == 2, (done.returncode, done.stderr)
        assert done.stderr.count("No space left on device") == 1, done.stderr
        assert os.listdir(disk) == []


@test(need_root)
def a_reader_of_a_pipe_that_goes_ends_the_recording_and_not_the_run():
    with scratch() as folder:
        pipe, path = os.path.join(folder, "pipe"), os.path.join(folder, "json")
        os.mkfifo(pipe)
        reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
        command = [memtraced(), "-o", f"record:{pipe}", "-o", f"json:{path}", "--",
                   target("resident")]
        with started(command, stderr=subprocess.PIPE) as process:
            process.lines.until("ready")
            os.close(reader)
            process.stdin.close()
            said = process.stderr.read().decode()
            assert process.wait(30) == 2 and said.count("Broken pipe") == 1, said
        report = load_report(path)
        assert report["coverage"]["exact"]
        assert blocks_held(report) == (BLOCKS // 2, BLOCKS // 2 * BLOCK_SIZE), blocks_held(report)
