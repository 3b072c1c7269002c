# SPDX-License-Identifier: GPL-2.0-or-later
"""One process that makes endless stacks or blocks leaves their room to others."""

import contextlib
import re

from lib import attached, brief, heap_sites, need_long, need_root, run_memtraced, scaled, \
    send_line, started, target, test, total, trace, with_function, without

BESIDE_OTHERS = True
OTHER = "[other stacks]"
# Room for some 1,300 stacks and sites: the least that there is.
LITTLE = "--memory-limit=96M"
QUIET_DEPTH = 6


@contextlib.contextmanager
def crowding(program, depth, kept=0):
    with started([target(program), str(depth), str(kept)]) as process:
        assert process.lines.next() == "ready"
        yield process


def run_to_end(process):
    """{blocks, bytes}: what it made, or has shown, all of which is live."""
    send_line(process)
    words = process.lines.next(timeout=60).split()
    assert words[::2] == ["blocks", "bytes"], words
    return dict(zip(words[::2], map(int, words[1::2])))


def crowded(program, noisy, *options):
    """The report, and of who makes much (depth, blocks kept) and then who makes little what each
    did and what was reported of it."""
    with crowding(program, *noisy) as first, crowding(program, QUIET_DEPTH, 100) as second, \
            attached([first.pid, second.pid], *options) as session:
        said = [run_to_end(process) for process in (first, second)]
        session.next_report()
        session.next_report()
        report = session.finish()
    found = {process["pid"]: process for process in report["processes"]}
    return report, said, [found[process.pid] for process in (first, second)]


def check_bytes(process, said, key="live_bytes"):
    assert process["alloc"][key] == process["alloc"]["bytes"] == said["bytes"], (
        said, brief([process]))
    assert total(heap_sites(process), key) == said["bytes"], (said, brief([process]))


def check_quiet(process, said):
    """Each of its stacks is its own: two functions, QUIET_DEPTH deep, and what it keeps."""
    check_bytes(process, said)
    sites = heap_sites(process)
    assert with_function(sites, OTHER) == [], with_function(sites, OTHER)
    assert len(with_function(sites, "step_left") + with_function(sites, "step_right")) >= \
        2 ** QUIET_DEPTH, len(sites)
    kept = with_function(sites, "keep_blocks")  # a loop that is unrolled has several calls
    assert kept and len(kept) < 8, kept


def check_stacks(program, *options, depth=scaled(13, 17, 12)):
    report, said, (noisy, quiet) = crowded(program, (depth, 0), LITTLE, *options)
    lost = report["coverage"]["lost"]
    assert list(lost) == ["process-stacks-full"], lost
    check_bytes(noisy, said[0])
    check_quiet(quiet, said[1])
    other = with_function(heap_sites(noisy), OTHER)
    assert len(other) == 1 and other[0]["frames"][1]["function"] == OTHER, other
    # What was told of a stack was told of its own, for most of the room, and the rest is there.
    told = len(heap_sites(noisy)) - 1
    assert 512 < told < 1536, told
    return report, said, (noisy, quiet), other[0]


@test(need_root, every_kernel=True)
def endless_stacks_are_one_site_of_their_process():
    report, said, (noisy, _), other = check_stacks("crowding")
    assert report["coverage"]["exact"], report["coverage"]
    told = len(heap_sites(noisy)) - 1
    assert other["live_blocks"] == said[0]["blocks"] - told == \
        report["coverage"]["lost"]["process-stacks-full"], (other, report["coverage"])


@test(need_root)
def by_default_there_is_room_for_the_stacks_of_a_browser():
    """Chromium's largest process makes 230,000: so do more in one process here."""
    done = run_memtraced("--top=1", "--", target("crowding"), "18", "0", input="\n\n")
    assert done.returncode == 0, done
    complete = re.search(r" (\d+) complete, 0 truncated", done.stdout)
    assert complete and int(complete[1]) >= 2 ** 18, done.stdout[-500:]  # and some of mappings
    assert "LOST" not in done.stdout, done.stdout[-500:]


@test(need_root)
def endless_stacks_are_one_site_without_cookies_too():
    """Without a table of blocks there is room for fewer: some 76,000 of one process."""
    with without("cookies"):
        check_stacks("crowding", depth=scaled(13, 16, 12))


@test(need_root, every_kernel=True)
def endless_stacks_of_samples_keep_their_weight():
    check_stacks("crowding-samples", "--sample", depth=12)


@test(need_root, each=["16k", "40k"], in_turn=1, every_kernel=["40k"])
def endless_blocks_leave_room_to_others(room):
    """In the map alone; in the table, and in the map what does not find its place there."""
    kept = scaled(100000, 400000, 50000)
    report, said, (noisy, quiet) = crowded("crowding", (1, kept), f"--max-blocks={room}")
    lost = report["coverage"]["lost"]
    assert list(lost) == ["process-blocks-full"] and not report["coverage"]["exact"], lost
    alloc = noisy["alloc"]
    assert alloc["live_blocks"] + lost["process-blocks-full"] == said[0]["blocks"], (alloc, lost)
    check_quiet(quiet, said[1])


CODE_STARTS = 131072  # of the map (bpf/maps.bpf.h), for all processes together


@test(need_root, need_long, timeout=200)
def where_code_is_mapped_has_its_room_and_what_has_none_is_counted():
    """A child's entries are kept for its own children. Others of the run are of its libraries."""
    beyond = 2000
    run_ = trace([target("code_starts"), str(CODE_STARTS + beyond)], timeout=180)
    lost = {key: n for key, n in run_.report["coverage"]["lost"].items() if n}
    assert set(lost) == {"code-start-map-full"}, lost
    assert beyond <= lost["code-start-map-full"] <= beyond + 100, lost
    # such a loss is of stacks, and totals are true
    assert run_.report["coverage"]["exact"], run_.report["coverage"]
    live = sorted(process["alloc"]["live_bytes"] for process in run_.report["processes"])
    assert live == [0, 4321], live
    few = trace([target("code_starts"), "1000"]).report["coverage"]["lost"]
    assert not any(few.values()), few
