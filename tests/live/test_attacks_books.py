# SPDX-License-Identifier: GPL-2.0-or-later
"""Attacks on the reader of what a process counts itself: files that others hold, tables that are
said to be huge, events without end, and counts that the user who asks may not see."""

import contextlib
import os
import shutil
import signal
import subprocess
import time

import fuse_server
import schema
from lib import (Lines, Place, Skip, attached, eventually, heap_sites, load_report, memtraced,
                 need_long, need_program, need_root, process_state, run_memtraced, scratch,
                 send_line, started, target, target_for_all, test, total)
from test_attacks_setuid import QUANTITIES, answer_of, asked_by_nobody, become, build
from test_service import ask_as, service, until_traced

BESIDE_OTHERS = "services"
LIBRARY = "libmemtraced-sample.so"
SECONDS = 20  # where nothing is waited for it takes two


def preloading(path, way="keep"):
    return {**os.environ, "LD_PRELOAD": path, "MEMTRACED_EXACT": way}


def report_of(pid):
    began = time.monotonic()
    done = run_memtraced("-p", str(pid), "-d", "1", "-f", "json", timeout=SECONDS)
    assert done.returncode == 0, done.stderr
    assert time.monotonic() - began < SECONDS
    return schema.loads(done.stdout)


@contextlib.contextmanager
def file_of_a_server(folder):
    """Of another user; a function that has it answer nobody, and one that ends it."""
    path = os.path.join(folder, "served.so")
    shutil.copy(target("libcounter.so"), path)
    with fuse_server.served(folder, 1000, path) as (point, stop, end):
        yield os.path.join(point, "served.so"), stop, end


@test(need_root)
def a_book_whose_file_is_locked_for_ever_is_read():
    with scratch() as folder, file_of_a_server(folder) as (path, stop, end), \
            started([target("hostile_book"), "locked", path]) as process:
        process.lines.until("ready")
        stop()
        try:
            send_line(process)
            process.lines.until("locked")
            report = report_of(process.pid)
        finally:
            end()
        assert report["coverage"]["library"]["used"], report["coverage"]


@test(need_root)
def a_file_whose_server_hangs_is_not_asked_whether_it_is_a_book():
    with scratch() as folder, file_of_a_server(folder) as (path, stop, end):
        report = os.path.join(folder, "report.json")
        with started([memtraced(), "--exact=library", "-q", "-o", f"json:{report}", "--",
                      target("hostile_book"), "told", path]) as process:
            process.lines.until("ready")
            stop()
            try:
                send_line(process)
                assert process.wait(SECONDS) == 0
            finally:
                end()
        assert load_report(report)["processes"], "no process"


DESCRIPTORS = ["pipe", "epoll", "hugetlb", "secret", "shrinking", "unwritable", "others", "swapped"]


@test(need_root, each=DESCRIPTORS, in_turn=3)
def a_descriptor_that_is_no_book_is_neither_waited_for_nor_written(kind):
    """The program tells of it thousands of times; of another user's file, which it may read."""
    with scratch() as folder:
        path = f"/dev/shm/memtraced-{os.getpid()}-{kind}"
        report = os.path.join(folder, "report.json")
        os.chmod(folder, 0o777)
        with open(path, "wb") as file:
            file.write(bytes(range(256)) * 64)
        try:
            done = run_memtraced("--exact=library", "-q", "-o", f"json:{report}",
                                 "--run-as=nobody", "--",
                                 target_for_all(folder, "hostile_book"), "descriptor", kind, path,
                                 input="\n", timeout=SECONDS)
            assert done.returncode == 0, done
            with open(path, "rb") as file:
                assert file.read() == bytes(range(256)) * 64, "it is written to"
        finally:
            os.unlink(path)
        assert load_report(report)["processes"], "no process"


@test(need_root, each=["with the library", "without"])
def a_book_that_a_client_hands_a_server_is_not_the_servers(way):
    claimed = 123456789
    env = preloading(os.path.join(Place.build, LIBRARY)) if way == "with the library" else None
    with started([target("hostile_book"), "given", str(claimed)], env=env) as server:
        server.lines.until("ready")
        report = report_of(server.pid)
    (process,) = [one for one in report["processes"] if one["pid"] == server.pid]
    coverage, sites = report["coverage"], heap_sites(process)
    assert total(sites, "allocs") < claimed, sites
    assert coverage.get("library", {}).get("used", False) == (env is not None), coverage


@test(need_root)
def tables_that_are_said_to_be_huge_are_not_read():
    with started([target("hostile_book"), "huge"]) as process:
        process.lines.until("ready")
        report = report_of(process.pid)
    coverage = report["coverage"]
    assert not coverage["exact"] and coverage["lost"]["book-unreadable"] > 0, coverage


@test(need_root)
def stacks_that_cost_most_to_read_are_read_in_time():
    with started([target("hostile_book"), "deep", "500"]) as process:
        process.lines.until("ready")
        report = report_of(process.pid)
    sites = heap_sites(report["processes"][0])
    assert total(sites, "allocs") == 500, total(sites, "allocs")


@test(need_root, need_long, timeout=90)
def forks_that_books_say_are_open_are_not_looked_for_without_end():
    """For each book, all of the host's processes that are younger would be read."""
    books = 60
    with started([target("hostile_book"), "open", str(books)]) as process, \
            started([target("crowd"), "3000"]) as crowd:
        for _ in range(books + 1):
            assert process.lines.next()
        crowd.lines.until("ready", timeout=60)
        report = report_of(process.pid)
        crowd.kill()
    assert len(report["processes"]) == books + 1, len(report["processes"])


@test(need_root, each=[1, 4])
def events_without_end_do_not_keep_a_trace_from_its_end(threads):
    library = os.path.join(Place.build, LIBRARY)
    with started([target("hostile_book"), "storm", str(threads)],
                 env=preloading(library)) as process:
        process.lines.until("ready")
        with started([memtraced(), "-q", "-p", str(process.pid), "-d", "2", "-o",
                      "json:/dev/null"]) as tracer:
            time.sleep(0.5)
            send_line(process)
            assert tracer.wait(SECONDS) == 0


@contextlib.contextmanager
def shell_that_counts_itself(folder, *words):
    """As shell_that_executes()."""
    library = shutil.copy(os.path.join(Place.build, LIBRARY), folder)
    os.chmod(library, 0o755)
    script = 'echo ready; read line; exec "$0" "$@"'
    with started(["/bin/sh", "-c", script, *words], preexec_fn=become(),
                 env=preloading(library)) as process:
        process.lines.until("ready")
        yield process


@test(need_root, need_program("cc"), each=["and ends", "and goes on"])
def a_process_that_hides_itself_is_shown_until_then(end):
    more = ["stay"] if end == "and goes on" else []
    with scratch() as folder, service(folder) as served:
        path = build(folder, "own_program")
        with shell_that_counts_itself(folder, path, "hide", *more) as process:
            send_line(process)
            process.lines.until("ready")
            with asked_by_nobody(served, QUANTITIES["heap"].format(process.pid)) as asking:
                until_traced(served, 1)
                now = f"/debug/pprof/heap?pid={process.pid}&seconds=1&format=folded"
                eventually(lambda: "allocate_openly" in ask_as(served, "unix", now)[0],
                           "it is not traced", 30)
                send_line(process)
                status, body = answer_of(asking)
            assert status == 200, (status, body)
            assert "allocate_openly" in body, body[:3000]
            assert "allocate_secretly" not in body, body[:3000]


def has_book(pid):
    with open(f"/proc/{pid}/maps", encoding="ascii", errors="replace") as file:
        return "/memfd:memtraced-book" in file.read()


@contextlib.contextmanager
def another_with_pid(pid, command):
    """Another process that has the pid of one that has ended, and keeps a book."""
    with open("/proc/sys/kernel/ns_last_pid", "w", encoding="ascii") as file:
        file.write(str(pid - 1))
        file.flush()
        other = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                 env=preloading(os.path.join(Place.build, LIBRARY)))
    try:
        if other.pid != pid:
            raise Skip("another process took the pid")
        other.lines = Lines(other.stdout)
        send_line(other)
        other.lines.until("allocated")
        yield other
    finally:
        other.kill()
        other.communicate()


@test(need_root)
def a_book_of_another_process_that_has_the_pid_by_then_is_not_read():
    """A process ends when it has told of its book, before memtraced opens that."""
    blocks = 777
    library = os.path.join(Place.build, LIBRARY)
    with started(["/bin/sh", "-c", 'read line; "$0" 1; read line', target("late_book")],
                 env=preloading(library)) as shell, attached([shell.pid]) as session:
        assert session.latest["coverage"]["library"]["used"], session.latest["coverage"]
        send_line(shell)
        pid = int(shell.lines.until("ready"))
        session.next_report()
        session.next_report()  # what is told of its start is over
        tracer = session.process.pid
        os.kill(tracer, signal.SIGSTOP)
        try:
            eventually(lambda: process_state(tracer)[0] == "T", "memtraced goes on")
            send_line(shell)
            eventually(lambda: has_book(pid), "it tells of no book")
            shell.lines.until("allocated")
            os.kill(pid, signal.SIGKILL)
            eventually(lambda: not os.path.exists(f"/proc/{pid}"), "it does not end")
            with another_with_pid(pid, [target("late_book"), str(blocks)]) as other:
                os.kill(tracer, signal.SIGCONT)
                report = session.next_report() and session.next_report()
                assert other.poll() is None
        finally:
            os.kill(tracer, signal.SIGCONT)
    counted = {process["pid"]: total(heap_sites(process), "allocs")
               for process in report["processes"]}
    assert counted[pid] < blocks, counted
