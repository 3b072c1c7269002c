# SPDX-License-Identifier: GPL-2.0-or-later
"""Attacks on the memory of memtraced: targets that have it keep far more than they hold
themselves. --memory-limit makes the limits small, so that targets can be, too."""

import contextlib
import os
import socket
import subprocess

import schema
from lib import (Place, attached, eventually, heap_sites, memtraced, need_root, scratch, send_line,
                 started, target, test, with_function)
from test_attacks_books import LIBRARY, SECONDS, preloading
from test_attacks_setuid import become
from test_service import NOBODY, service

BESIDE_OTHERS = True
LIMIT = "--memory-limit=96M"
MIB = 1 << 10
STRANGE_LIMIT, STRANGE_KIB = "--memory-limit=256M", 256 * MIB


def most_memory(pid):
    """In KiB, so far."""
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmHWM:"))


def traced(command, *options, env=None):
    """Sends the command a line when it is traced. The most that memtraced takes, in KiB, and a
    report of afterwards."""
    with started(command, env=env) as process:
        process.lines.until("ready")
        with attached([process.pid], LIMIT, *options) as session:
            send_line(process)
            process.lines.until("forked")
            report = session.later_report()
            kib = most_memory(session.process.pid)
            session.finish()
        return kib, report


def of_book(doublings, way, *options):
    return traced([target("hostile_book"), "many", str(doublings), way], "--exact=library",
                  *options)


@test(need_root, each=["plain", "doubles", "forked"])
def a_book_of_2_600_000_blocks_costs_no_more_than_the_limit_allows(way):
    empty, _ = of_book(0, way)
    kib, report = of_book(13, way)
    assert report["coverage"]["library"]["used"], report["coverage"]
    assert kib - empty < 32 * MIB, f"{kib - empty} KiB for a book of 64 MiB"
    # Of blocks that children share copies are kept, and there is room for 190,000.
    if way == "forked":
        assert report["coverage"]["lost"]["book-unreadable"] > 2000000, report["coverage"]


@test(need_root)
def a_leak_check_of_more_blocks_than_there_is_room_for_is_not_made():
    empty, _ = of_book(0, "plain")
    kib, report = of_book(13, "plain", "--leak-check=summary")
    assert kib - empty < 32 * MIB, f"{kib - empty} KiB"
    assert not report["processes"][0].get("leaks"), report["processes"][0]["leaks"]


@test(need_root, each=["probes", "library"])
def what_many_children_inherit_costs_no_more_than_the_limit_allows(exact):
    """Of 2048 sites, each of 100 children has all; there is room for 1365."""
    env = preloading(os.path.join(Place.build, LIBRARY)) if exact == "library" else None
    few, _ = traced([target("many_heirs"), "11", "1"], f"--exact={exact}", env=env)
    kib, report = traced([target("many_heirs"), "11", "100"], f"--exact={exact}", env=env)
    assert kib - few < 48 * MIB, f"{kib - few} KiB"
    assert report["coverage"]["lost"]["process-stacks-full"] > 100000, report["coverage"]
    held = [process["alloc"]["live_blocks"] for process in report["processes"]]
    assert held == 101 * [2048], held


@test(need_root, each=["probes", "library"])
def deep_stacks_cost_no_more_than_the_limit_allows(exact):
    """There is room for 1365 stacks of 64 frames each, of which one process may have three
    quarters; the other stacks keep their innermost frames."""
    env = preloading(os.path.join(Place.build, LIBRARY)) if exact == "library" else None
    with started([target("deep_stacks"), "10", "110", "inner"], env=env) as process:
        process.lines.until("ready")
        with attached([process.pid], LIMIT, f"--exact={exact}", "--max-stack=200") as session:
            send_line(process)
            process.lines.until("made")
            report = session.later_report()
            session.finish()
    coverage = report["coverage"]
    whole, beyond = coverage["stacks_complete"], coverage["cut"].get("frames-full", 0)
    assert whole + beyond >= 1024 and 500 < whole < 1365 * 64 // 110, coverage
    assert not coverage["lost"], coverage
    assert report["processes"][0]["alloc"]["live_blocks"] >= 1024, report["processes"][0]["alloc"]


def of_strange_code(exact, where, how, folder):
    """The most that memtraced takes, in KiB, for 16,000 stacks of 60 frames, and its report."""
    path = os.path.join(folder, f"{how}.json")
    with subprocess.Popen([memtraced(), "-q", STRANGE_LIMIT, f"--exact={exact}", "--max-stack=200",
                           "-o", f"json:{path}", target("strange_code"), "16000", "60", where,
                           how], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL) as process:
        status, usage = os.wait4(process.pid, 0)[1:]
        process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, process.returncode
    with open(path, encoding="utf-8") as file:
        report = schema.loads(file.read())
    schema.check(report)
    return usage.ru_maxrss, report


@test(need_root, each=["probes anonymous", "probes file", "library anonymous", "library file"])
def addresses_that_do_not_come_again_cost_no_more_than_the_limit_allows(how):
    """With the same addresses in all stacks nothing is left out."""
    exact, where = how.split()
    with scratch() as folder:
        few, same = of_strange_code(exact, where, "same", folder)
        kib, report = of_strange_code(exact, where, "random", folder)
    assert "code-places-full" not in same["coverage"]["lost"], same["coverage"]
    assert kib < STRANGE_KIB and kib - few < 96 * MIB, f"{kib} KiB, {few} for recurring addresses"
    assert report["coverage"]["lost"]["code-places-full"] > 100000, report["coverage"]
    (process,) = report["processes"]
    assert process["alloc"]["live_blocks"] == 16000, process["alloc"]
    assert with_function(heap_sites(process), "[other code]")


# --- answers of a service that nobody takes ------------------------------------------------------

@contextlib.contextmanager
def asking_for(served, path, n=1):
    """So many connections, each of which takes the beginning of its answer; their statuses."""
    with contextlib.ExitStack() as stack:
        clients = [stack.enter_context(socket.socket(socket.AF_UNIX)) for _ in range(n)]
        for client in clients:
            client.settimeout(SECONDS)
            client.connect(served.path)
            client.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        yield [int(client.recv(1000).split()[1]) for client in clients]


@contextlib.contextmanager
def as_nobody():
    """Whom the kernel names as the user who connects."""
    os.setegid(NOBODY)
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(0)


@test(need_root)
def reports_that_are_not_taken_are_not_in_memory():
    with scratch() as folder, service(folder) as served:
        path = os.path.join(folder, "state", "trace-large.txt")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            for _ in range(100):
                file.write(b"x" * (1 << 20))
        os.chown(path, NOBODY, NOBODY)
        with as_nobody():
            assert len(served.text("/ctl/reports?name=trace-large.txt")) == 100 << 20
            with asking_for(served, "/ctl/reports?name=trace-large.txt", 10) as statuses:
                assert statuses == 10 * [200], statuses
        assert most_memory(served.process.pid) < 200 * MIB, most_memory(served.process.pid)


@test(need_root)
def answers_that_a_user_does_not_take_leave_that_user_no_room():
    """Of 1.8 MB each."""
    command = ["/bin/sh", "-c", "echo ready; read line", *14 * ["A" * 130000]]
    with scratch() as folder, service(folder, "max_answer = 2M") as served, \
            started(command, preexec_fn=become()) as process:
        process.lines.until("ready")
        path = f"/debug/pprof/cmdline?pid={process.pid}"
        with as_nobody():
            with asking_for(served, path) as first, asking_for(served, path) as second:
                os.seteuid(0)
                with asking_for(served, path) as roots, asking_for(served, path) as roots_next:
                    statuses = *first, *second, *roots, *roots_next
            os.seteuid(NOBODY)
            eventually(lambda: served.ask(path)[0] == 200, "there is room again")
    assert statuses == (200, 503, 200, 200), statuses
