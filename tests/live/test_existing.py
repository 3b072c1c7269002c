# SPDX-License-Identifier: GPL-2.0-or-later
"""--existing: blocks from before the attach, to the byte by the target's own count."""

import contextlib
import os
import signal

import schema
from lib import (ATTACH_PATHS, Skip, attach_option, attached, eventually, exact, heap_sites,
                 need_program, need_root, run_memtraced, scaled, scratch, send_line, started,
                 target, test)
from states import in_read

BESIDE_OTHERS = True
EXISTING = ("--existing=20",)
# glibc's malloc_chunk: 8 bytes beyond the usable size, 16 of a mapped one. A thread's cache is 656.
HEAD, MAPPED_HEAD, CACHE = 8, 16, 656


# What is left of a cache is 656 bytes a thread.
NO_CACHES = {"GLIBC_TUNABLES": "glibc.malloc.tcache_count=0"}


@contextlib.contextmanager
def older(blocks, shares, name="older", **environ):
    """The target, and what it says that it holds."""
    with started([target(name), str(blocks), str(shares)],
                 env=dict(os.environ, **environ)) as process:
        yield process, schema.loads(process.lines.next())


def phase(process, name):
    send_line(process, name)
    return schema.loads(process.lines.next())


def the_one(report):
    assert len(report["processes"]) == 1, report["processes"]
    return report["processes"][0]


def holds(process, truth, new_bytes=0, new_blocks=0):
    """truth: the target's own, by usable sizes; without what it allocated since the attach."""
    before = process["alloc"]["before_attach"]
    assert before == {"usable_bytes": truth["bytes"], "live_blocks": truth["blocks"],
                      "unread_bytes": 0}, (before, truth)
    assert process["alloc"]["live_bytes"] == truth["bytes"] + new_bytes, (process["alloc"], truth)
    assert process["alloc"]["live_blocks"] == truth["blocks"] + new_blocks
    assert process["alloc"]["unknown_frees"] == process["alloc"]["missed_frees"] == 0


def as_mallinfo_says(process, info):
    """Of one thread without a cache."""
    before = process["alloc"]["before_attach"]
    heads = HEAD * (before["live_blocks"] - info["hblks"]) + MAPPED_HEAD * info["hblks"]
    assert before["usable_bytes"] + heads + CACHE == info["uordblks"] + info["hblkhd"], \
        (before, info)


@test(need_root, each=[1, 6], in_turn=1)
def blocks_of_all_arenas_count_to_the_byte(shares):
    with older(scaled(20000, 60000, 2000), shares) as (process, truth):
        with attached([process.pid], "--max-blocks=2M", *EXISTING) as session:
            report = session.finish()
        exact(report)
        holds(the_one(report), truth)
        site, = heap_sites(the_one(report))
        assert [frame["function"] for frame in site["frames"]] == ["[before attach]"], site
        assert (site["allocs"], site["oldest_ns"]) == (0, None), site


@test(need_root)
def a_static_program_has_what_mallinfo_says():
    with older(5000, 1, "older-static", **NO_CACHES) as (process, info):
        with attached([process.pid], *EXISTING) as session:
            report = session.finish()
        exact(report)
        as_mallinfo_says(the_one(report), info)


@test(need_root, each=sorted(ATTACH_PATHS), every_kernel=["perf"])
def their_frees_take_them_out(path):
    with older(scaled(6000, 20000, 1000), 3) as (process, truth):
        with attached([process.pid], attach_option(path), *EXISTING) as session:
            phase(process, "new")
            left = phase(process, "free")
            report = session.finish()
        exact(report)
        new = sum(range(1000, 1100))
        usable = sum((size + HEAD + 15) // 16 * 16 - HEAD for size in range(1000, 1100))
        holds(the_one(report),
              {"bytes": left["bytes"] - usable, "blocks": left["blocks"] - 100}, new, 100)
        alloc = the_one(report)["alloc"]
        assert alloc["frees"] == truth["blocks"] + 100 - left["blocks"], (alloc, truth, left)
        assert alloc["peak_bytes"] == truth["bytes"] + new, (alloc, truth)


def frees_of_points(report):
    timeline = the_one(report)["timeline"]
    return [point["frees"] for point in timeline["points"]] if timeline else []


@test(need_root)
def a_timeline_has_their_frees_and_no_others():
    with older(2000, 1) as (process, truth):
        with attached([process.pid], *EXISTING) as session:
            report = session.next_report()
            while len(frees_of_points(report)) < 3:
                report = session.next_report()
            assert not any(frees_of_points(report)), frees_of_points(report)
            left = phase(process, "free")
            report = session.finish()
        frees = frees_of_points(report)
        assert frees == sorted(frees), frees
        assert frees[-1] == truth["blocks"] - left["blocks"], (frees, truth, left)


@test(need_root)
def threads_that_allocate_all_the_time_are_counted_or_it_is_said():
    """In the end they have freed what they had: what is left must be what was there before."""
    with older(3000, 3) as (process, truth):
        phase(process, "churn")
        with attached([process.pid], *EXISTING) as session:
            left = phase(process, "rest")
            report = session.finish()
        assert [left[key] for key in ("bytes", "blocks")] == \
            [truth[key] for key in ("bytes", "blocks")], (left, truth)
        if "before-attach-unread" in report["coverage"]["lost"]:
            assert not report["coverage"]["exact"]
            return
        exact(report)
        holds(the_one(report), truth)


@test(need_root)
def without_the_option_they_are_unknown():
    with older(500, 1) as (process, truth):
        with attached([process.pid]) as session:
            left = phase(process, "free")
            alloc = the_one(session.finish())["alloc"]
        assert alloc["before_attach"] is None and alloc["live_blocks"] == 0, alloc
        assert alloc["unknown_frees"] == truth["blocks"] - left["blocks"], alloc


@test(need_root)
def more_than_there_is_room_for_are_a_loss():
    with older(6000, 1) as (process, truth):
        with attached([process.pid], "--max-blocks=2000", *EXISTING) as session:
            report = session.finish()
        lost = report["coverage"]["lost"]["before-attach-no-room"]
        before = the_one(report)["alloc"]["before_attach"]
        assert before["live_blocks"] + lost == truth["blocks"], (before, lost, truth)
        assert 0 < before["live_blocks"] <= 2000 + 7 and not report["coverage"]["exact"], before


@test(need_root)
def sizes_are_filtered_as_those_of_others():
    with older(2000, 1) as (process, truth):
        with attached([process.pid], "--min-size=100000", *EXISTING, filtered=True) as session:
            report = session.finish()
        before = the_one(report)["alloc"]["before_attach"]
        assert 0 < before["live_blocks"] < truth["blocks"], (before, truth)
        assert before["usable_bytes"] >= 100000 * before["live_blocks"], before


@contextlib.contextmanager
def real_program(command, ready):
    """A program that waits for input, without caches of threads; and mallinfo2's answer."""
    with scratch() as folder:
        path = os.path.join(folder, "info")
        env = dict(os.environ, LD_PRELOAD=target("libmallinfo.so"), MALLINFO_FILE=path,
                   **NO_CACHES)
        with started(command, env=env) as process:
            ready(process)
            # What it reads into is allocated then.
            eventually(lambda: in_read(process.pid), "it does not wait for input")
            process.send_signal(signal.SIGUSR2)
            eventually(lambda: os.path.exists(path) and os.path.getsize(path) > 0, "no answer")
            with open(path, encoding="ascii") as file:
                yield process, schema.load(file)


def python_ready(process):
    process.lines.until("ready")


def sqlite_ready(process):
    send_line(process, "create table t(a, b);")
    send_line(process, "with recursive n(i) as (select 1 union all select i + 1 from n where "
                       "i < 20000) insert into t select i, hex(randomblob(100)) from n;")
    send_line(process, "select 'ready';")
    process.lines.until("ready")


PYTHON = ["/usr/bin/python3", "-c",
          "import sys; x = [str(i) * 200 for i in range(30000)]; print('ready', flush=True); "
          "sys.stdin.readline()"]


@test(need_root, each=["python3", "sqlite3"], in_turn=1)
def a_real_program_has_what_mallinfo_says(name):
    need_program(name)()
    command, ready = {"python3": (PYTHON, python_ready),
                      "sqlite3": (["sqlite3"], sqlite_ready)}[name]
    with real_program(command, ready) as (process, info):
        with attached([process.pid], *EXISTING) as session:
            report = session.finish()
        exact(report)
        as_mallinfo_says(the_one(report), info)


@test(need_root)
def another_allocator_is_said():
    path = "/usr/lib/x86_64-linux-gnu/libjemalloc.so.2"
    if not os.path.exists(path):
        raise Skip("no jemalloc")
    with started(["/bin/cat"], env=dict(os.environ, LD_PRELOAD=path)) as process:
        eventually(lambda: os.readlink(f"/proc/{process.pid}/exe").endswith("cat"), "no exec")
        eventually(lambda: "libc.so" in open(f"/proc/{process.pid}/maps").read(), "no libc")
        done = run_memtraced("-p", str(process.pid), "--existing", "-d", "0.2", "-f", "json")
    assert "no heap of glibc's malloc found" in done.stderr, done.stderr
    report = schema.loads(done.stdout)
    assert report["coverage"]["lost"]["before-attach-unread"] == 1, report["coverage"]
