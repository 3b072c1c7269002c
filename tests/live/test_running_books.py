# SPDX-License-Identifier: GPL-2.0-or-later
"""A process that counts its calls itself (MEMTRACED_EXACT) is read by -p at any time, from its
first call on, without a probe."""

import os
import signal
import struct
import time

from lib import (Place, attached, called_by, eventually, exact, heap_sites, need_root, refused,
                 run_memtraced, scaled, send_line, started, target, test, total, with_function)

BESIDE_OTHERS = True
WHILE_READ, KEEP = "1", "keep"
SILENCE = 3.1  # sample/book.c waits for more than two whole seconds


def counting_itself(way=KEEP, *command):
    library = os.path.join(Place.build, "libmemtraced-sample.so")
    return started(command or (target("waves"),),
                   env=dict(os.environ, LD_PRELOAD=library, MEMTRACED_EXACT=way))


class Waves:
    """What target waves has made so far, and what of that it keeps."""

    def __init__(self, process):
        self.process, self.allocs, self.kept = process, 0, 0

    def do(self, words):
        send_line(self.process, words)
        allocations, nbytes = self.process.lines.until("done ").split()
        self.allocs += int(allocations)
        if words.startswith("keep"):
            self.kept += int(nbytes)
        elif words == "drop":
            self.kept = 0


def compare(report, waves, by_library=True):
    exact(report)
    (process,) = report["processes"]
    assert report["coverage"]["library"] == {"used": True, "why_not": None}, report["coverage"]
    assert process["alloc"]["by_library"] == by_library, process["alloc"]
    sites = called_by(process, "waves")
    assert total(sites, "allocs") == waves.allocs, (total(sites, "allocs"), waves.allocs)
    assert total(sites, "live_bytes") == waves.kept, (total(sites, "live_bytes"), waves.kept)
    assert report["coverage"]["stacks_truncated"] == 0, report["coverage"]
    return process


def why_probes(report, why):
    """why: the report's own word for it; None: nobody would have expected anything else."""
    library = None if why is None else {"used": False, "why_not": why}
    assert report["coverage"].get("library") == library, report["coverage"]
    for process in report["processes"]:
        assert not process["alloc"].get("by_library"), process["alloc"]


# What a process that runs is not asked for, or that it has not counted.
NEED_PROBES = ["--no-follow", "--max-stack=15", "--min-size=1", "--max-size=1000000"]


@test(need_root, each=[WHILE_READ, KEEP])
def it_is_counted_from_its_first_call_and_again_by_the_next(way):
    with counting_itself(way) as process:
        waves = Waves(process)
        waves.do("keep 100 1000")
        waves.do("busy 20")
        for _ in range(2):
            with attached([process.pid]) as session:
                compare(session.latest, waves)
                waves.do("drop")
                waves.do("keep 30 100")
                compare(session.next_report() and session.next_report(), waves)
                waves.do("keep 10 100")
                last = session.finish()
            counted = compare(last, waves)
            assert counted["alloc"]["peak_bytes"] >= 100 * 1000, counted["alloc"]
            waves.do("keep 50 10")  # unread


@test(need_root)
def blocks_from_before_have_their_own_ages():
    tick = 10**7
    with counting_itself() as process:
        waves = Waves(process)
        before = time.monotonic_ns()
        waves.do("keep 100 1000")
        kept = time.monotonic_ns()
        time.sleep(1)
        with attached([process.pid]) as session:
            waves.do("keep 1 10")
            asked = time.monotonic_ns()
            report = session.finish()
            ended = time.monotonic_ns()
    (site,) = [site for site in called_by(report["processes"][0], "waves")
               if site["live_blocks"] > 100]
    assert asked - kept - 2 * tick <= site["oldest_ns"] <= ended - before + 2 * tick, site
    assert site["newest_ns"] <= ended - kept, site


@test(need_root)
def probes_behind_it_count_the_same_at_the_same_time():
    """Each call is counted by both; the next allocator's functions are probed."""
    with counting_itself(KEEP) as process, attached([process.pid], "--exact=probes") as probes:
        waves = Waves(process)
        waves.do("keep 4000 100")
        waves.do(f"busy {scaled(500, 60000)}")
        waves.do("drop")
        waves.do("keep 2000 24")
        waves.do("steady 200")
        with attached([process.pid]) as session:
            counted = compare(session.finish(), waves)
        report = probes.finish()
    exact(report)
    (probed,) = report["processes"]
    assert not probed["alloc"].get("by_library"), probed["alloc"]
    for key in ("allocs", "bytes", "live_blocks", "live_bytes", "temporary", "peak_bytes"):
        behind = total(with_function(heap_sites(probed), "make"), key)
        assert behind == total(called_by(counted, "waves"), key), (key, probed, counted)
    print(f"# {waves.allocs} allocations")


@test(need_root)
def when_its_reader_was_killed_it_goes_on_if_it_is_to():
    with counting_itself(KEEP) as keeps, counting_itself(WHILE_READ) as ceases:
        waves = Waves(keeps), Waves(ceases)
        for one in waves:
            one.do("keep 100 1000")
            with attached([one.process.pid]) as session:
                session.process.kill()
        # Calls look for the reader, and again when its clock has stood for long enough.
        for pause in (SILENCE, 0):
            for one in waves:
                one.do("busy 50")
            time.sleep(pause)
        with attached([keeps.pid]) as session:
            compare(session.latest, waves[0])
        done = run_memtraced("-p", str(ceases.pid), "--exact=library", "-f", "json")
        refused(done, 2, "it has ceased to count", "--exact=library")
        with attached([ceases.pid]) as session:
            waves[1].do("keep 10 10")
            report = session.finish()
        why_probes(report, f"process {ceases.pid}: it has ceased to count, as the memtraced that "
                           "read it is gone")
        (process,) = report["processes"]
        assert total(called_by(process, "waves"), "live_bytes") == 100, process["alloc"]


@test(need_root, each=[1, 2])
def whichever_of_its_calls_make_blocks_it_sees_that_its_reader_was_killed(kept):
    with counting_itself() as process:
        waves = Waves(process)
        waves.do(f"keep {kept} 10")
        with attached([process.pid]) as session:
            session.process.kill()
        assert is_read(process.pid)
        waves.do("busy 50")
        time.sleep(SILENCE)
        # It looks once in 16,381 calls, for which 50 ms of a busy machine may be too short.
        eventually(lambda: waves.do("busy 50") or not is_read(process.pid),
                   "it takes its reader for alive")


@test(need_root)
def two_do_not_read_one_process():
    with counting_itself() as process:
        waves = Waves(process)
        waves.do("keep 100 1000")
        with attached([process.pid]) as session:
            done = run_memtraced("-p", str(process.pid), "--exact=library")
            refused(done, 2, "another memtraced reads its counts")
            with attached([process.pid]) as second:
                waves.do("keep 10 10")
                report = second.finish()
            why_probes(report, f"process {process.pid}: another memtraced reads its counts")
            probed, = report["processes"]
            assert total(called_by(probed, "waves"), "allocs") == 10, probed["alloc"]
            compare(session.finish(), waves)


@test(need_root)
def what_needs_probes_or_asks_for_them_has_them():
    with counting_itself() as process:
        waves = Waves(process)
        waves.do("keep 100 1000")
        for option in ("--exact=probes", *NEED_PROBES):
            with attached([process.pid], option) as session:
                waves.do("keep 5 10")
                report = session.finish()
            why = option.split("=")[0] + (" below 16" if "stack" in option else "")
            why_probes(report, None if "exact" in option else f"{why} needs probes")
            counted, = report["processes"]
            assert total(called_by(counted, "waves"), "allocs") == 5, counted["alloc"]
        for option in ("--unwind=fp", *NEED_PROBES):
            done = run_memtraced("-p", str(process.pid), "--exact=library", option)
            refused(done, 1, option.split("=")[0], "--exact=library")
        text = run_memtraced("-p", str(process.pid), "--no-follow", "-d", "0.1").stdout
        assert "\nnot by a preloaded library: --no-follow needs probes\n" in text, text[:500]
        with attached([process.pid]) as session:
            compare(session.latest, waves)


@test(need_root)
def one_that_does_not_count_itself_is_probed():
    with started([target("waves")]) as process:
        done = run_memtraced("-p", str(process.pid), "--exact=library")
        refused(done, 2, "--exact=library", "memtraced sample --unit=NAME --exact")
        with counting_itself() as other:
            Waves(other).do("keep 1 10")  # its first call
            with attached([process.pid, other.pid]) as session:
                Waves(process).do("keep 5 10")
                report = session.finish()
        why_probes(report, "1 of 2 processes count their calls themselves")
        with attached([process.pid]) as session:
            why_probes(session.finish(), None)


FORKS = """
import os, signal, sys
kept = [bytearray(5000) for _ in range(50)]
while sys.stdin.readline():
    if os.fork() == 0:
        more = [bytearray(7000) for _ in range(20)]
        print(os.getpid(), flush=True)
        signal.pause()
"""


@test(need_root)
def what_it_forks_is_counted_from_then_on():
    """A child has a book of its own, with what it has from its parent if that was read then."""
    children = []
    with counting_itself(KEEP, "/usr/bin/python3", "-u", "-c", FORKS) as process:
        try:
            send_line(process)
            children.append(int(process.lines.next()))
            with attached([process.pid]) as session:
                send_line(process)
                children.append(int(process.lines.next()))
                report = session.finish()
        finally:
            for pid in children:
                os.kill(pid, signal.SIGKILL)
    held = {one["pid"]: one["alloc"] for one in report["processes"]}
    assert sorted(held) == sorted([process.pid, *children]), held
    assert all(alloc["by_library"] for alloc in held.values()), held
    before, since = (held[pid]["live_bytes"] for pid in children)
    assert 20 * 7000 <= before < 50 * 5000, held
    assert since >= 50 * 5000 + 20 * 7000, held


# What each signal has a process do; its children do the same.
FAMILY = """
import os, signal
signals = signal.SIGUSR1, signal.SIGUSR2
signal.pthread_sigmask(signal.SIG_BLOCK, signals)
kept = [bytearray(5000 + i) for i in range(50)]
print(os.getpid(), flush=True)
while True:
    if signal.sigwait(signals) == signal.SIGUSR2:
        del kept[:10]
        print("dropped", flush=True)
    elif os.fork() == 0:
        kept += [bytearray(7000) for _ in range(20)]
        print(os.getpid(), flush=True)
"""
TEN = sum(5001 + i for i in range(10))  # what the first drop frees of it, with a byte of Python's


def books(report):
    exact(report)
    held = {}
    for process in report["processes"]:
        alloc = process["alloc"]
        assert alloc["by_library"] and alloc["unknown_frees"] == 0, alloc
        for key in ("live_bytes", "live_blocks"):
            assert total(heap_sites(process), key) == alloc[key], (key, process)
        held[process["pid"]] = alloc["live_bytes"], alloc["live_blocks"]
    return held


def read_books(pid):
    with attached([pid]) as session:
        return books(session.finish())


def header_of(pid):
    """The first words of its book (struct abi_book_header)."""
    with open(f"/proc/{pid}/maps", encoding="utf-8") as maps:
        place = next(line.split()[0] for line in maps
                     if "rw-s 00000000" in line and "/memfd:memtraced-book" in line)
    start, end = (f"{int(address, 16):x}" for address in place.split("-"))
    with open(f"/proc/{pid}/map_files/{start}-{end}", "rb") as book:
        return struct.unpack("8I", book.read(32))


def forks_of(pid):
    """Forks that the book has told of, and how many of these are over."""
    return header_of(pid)[6:]


def is_read(pid):
    return header_of(pid)[3] == 1  # ABI_BOOK_READ


def tell(process, pid, sig):
    os.kill(pid, sig)
    line = process.lines.next()
    return int(line) if line.isdigit() else line


@test(need_root)
def what_was_forked_before_is_read_with_what_it_inherits():
    """The next reader finds parents and children, and takes up where the one before has ended."""
    children = []
    with counting_itself(KEEP, "/usr/bin/python3", "-u", "-c", FAMILY) as process:
        try:
            parent = int(process.lines.next())
            with attached([parent]) as session:
                for pid in (parent, parent):
                    children.append(tell(process, pid, signal.SIGUSR1))
                children.append(tell(process, children[0], signal.SIGUSR1))
                first = books(session.finish())
            assert sorted(first) == sorted([parent, *children]), first
            assert read_books(parent) == first
            # While nobody reads: shared by all, and each has its own of it.
            for n, pid in enumerate([parent, *children]):
                assert tell(process, pid, signal.SIGUSR2) == "dropped"
                now = read_books(parent)
                for done in [parent, *children][:n + 1]:
                    assert now[done] == (first[done][0] - TEN, first[done][1] - 10), (now, first)
                for other in [parent, *children][n + 1:]:
                    assert now[other] == first[other], (now, first)
            era, ended = forks_of(parent)
            assert era - ended == 2, (era, ended)
        finally:
            for pid in children:
                os.kill(pid, signal.SIGKILL)
        eventually(lambda: not any(is_mapped(pid) for pid in children), "they do not end")
        read_books(parent)
        assert forks_of(parent) == (era, era), "its next reader does not say that they are over"


@test(need_root)
def one_that_was_forked_by_what_has_ended_is_probed_and_the_reason_said():
    """What it inherits was in its parent's book."""
    with counting_itself(KEEP, "/usr/bin/python3", "-u", "-c", FAMILY) as process:
        parent = int(process.lines.next())
        with attached([parent]) as session:
            child = tell(process, parent, signal.SIGUSR1)
            session.finish()
        try:
            why = f"process {child}: a part of what it holds was counted by its parent"
            done = run_memtraced("-p", str(child), "--exact=library")
            refused(done, 2, why, "--exact=library")
            process.kill()
            process.wait()
            done = run_memtraced("-p", str(child), "--exact=library")
            refused(done, 2, why, "--exact=library")
            with attached([child]) as session:
                why_probes(session.finish(), why)
        finally:
            os.kill(child, signal.SIGKILL)


def is_mapped(pid):
    try:
        with open(f"/proc/{pid}/maps", encoding="utf-8") as maps:
            return maps.read() != ""
    except OSError:
        return False
