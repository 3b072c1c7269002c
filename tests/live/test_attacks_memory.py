# SPDX-License-Identifier: GPL-2.0-or-later
"""Attacks on the memory of memtraced: targets that have it keep far more than they hold
themselves. --memory-limit makes the limits small, so that targets can be, too."""

import os
import time

from lib import (Place, load_report, memtraced, need_root, scratch, send_line, started, target, test)
from test_attacks_books import LIBRARY, preloading

LIMIT = "--memory-limit=96M"
MIB = 1 << 10


def traced(command, *options, seconds=2, env=None):
    """Sends the command a line when it is traced. The most that memtraced takes, in KiB, and its
    report."""
    with scratch() as folder, started(command, env=env) as process:
        process.lines.until("ready")
        path = os.path.join(folder, "report.json")
        with started([memtraced(), "-q", LIMIT, "-p", str(process.pid), "-d", str(seconds),
                      "-o", f"json:{path}", *options]) as tracer:
            time.sleep(seconds / 2)
            send_line(process)
            _, status, used = os.wait4(tracer.pid, 0)
            tracer.returncode = os.waitstatus_to_exitcode(status)
        assert tracer.returncode == 0, status
        return used.ru_maxrss, load_report(path)


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
    how = {"seconds": 6, "env": preloading(os.path.join(Place.build, LIBRARY))
           if exact == "library" else None}
    few, _ = traced([target("many_heirs"), "11", "1"], f"--exact={exact}", **how)
    kib, report = traced([target("many_heirs"), "11", "100"], f"--exact={exact}", **how)
    assert kib - few < 48 * MIB, f"{kib - few} KiB"
    assert report["coverage"]["lost"]["process-stacks-full"] > 100000, report["coverage"]
    held = [process["alloc"]["live_blocks"] for process in report["processes"]]
    assert held == 101 * [2048], held
