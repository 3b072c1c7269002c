# SPDX-License-Identifier: GPL-2.0-or-later
"""Who kills a program: the OOM killer for a limit that is really there, others, itself."""

import contextlib
import os
import re
import signal
import struct

from cgroups import memory_cgroup, memory_hierarchy, move
from lib import (attached, load_report, need_root, run_memtraced, scratch, send_line, started,
                 target, test, without)

BESIDE_OTHERS = True
BLOCK = 100_000
LIMIT = 20 << 20
# What CPUs have charged ahead is given back before the killer comes, so a little may be free.
AT_LIMIT = r" was at its limit, (19\.\d|20\.0) MiB used of 20\.0 MiB"


def own_count(path):
    """Blocks that the target has made, and the line that asked for them."""
    with open(path, "rb") as file:
        return struct.unpack("=QQ", file.read())


@contextlib.contextmanager
def victim(folder, size=0, env=None):
    """The target, that waits for its line; and the file of its count."""
    path = os.path.join(folder, "count")
    with started([target("deaths"), path, str(size)], env=env) as process:
        process.lines.until("ready")
        yield process, path


def leaking_site(process):
    """That of most bytes, with the blocks of all: a stack that was cut is a site of its own."""
    sites = [site for site in process["sites"]
             if any(frame["function"] == "leaks" for frame in site["frames"])]
    most = max(sites, key=lambda site: site["live_bytes"])
    return dict(most, live_blocks=sum(site["live_blocks"] for site in sites),
                live_bytes=sum(site["live_bytes"] for site in sites))


@test(need_root, every_kernel=True)
def the_oom_killer_and_whose_limit_it_was_are_named():
    with scratch() as folder, memory_cgroup(LIMIT) as (_, inner, path), \
            victim(folder, BLOCK) as (process, count):
        move(process.pid, inner)
        with attached([process.pid]) as session:
            send_line(process)
            (report,) = session.finish(None)["processes"]
        made, line = own_count(count)
    assert process.wait() == -signal.SIGKILL
    assert report["end"] == {"exit": None, "signal": signal.SIGKILL, "oom": True}, report["end"]
    death = report["death"]
    assert (death["signal"], death["by"], death["sender"]) == (9, "kernel", None), death
    # without kprobes it is not seen for whom the killer acts, but who was at the limit is
    assert death["oom"]["constraint"] in ("memcg", None), death
    for cgroup in (death["full_cgroup"], death["oom"]["cgroup"] or death["full_cgroup"]):
        assert (cgroup["path"], cgroup["limit"]) == (path, LIMIT), death
        assert LIMIT - (1 << 20) < cgroup["used"] <= cgroup["most"] <= LIMIT, death
    inside = death["cgroup"]
    assert (inside["path"], inside["limit"]) == (f"{path}/inner", None), death
    assert inside["used"] <= LIMIT and inside["oom_kills"] == 1, death
    # anonymous pages of what was written, but for batches of each CPU and the last block
    assert abs(death["memory"]["anon_rss"] - made * BLOCK) < 2 << 20, (death, made)
    site = leaking_site(report)
    assert (site["live_blocks"], site["live_bytes"]) == (made, made * BLOCK), (site, made)
    frame = next(frame for frame in site["frames"] if frame["function"] == "leaks")
    assert (os.path.basename(frame["file"]), frame["line"]) == ("deaths.c", line), frame


@test(need_root)
def a_command_that_is_killed_so_says_it_in_the_table():
    with scratch() as folder, memory_cgroup(LIMIT) as (_, inner, path):
        done = run_memtraced("--", "sh", "-c", f"echo $$ > {inner}/cgroup.procs; exec "
                             f"{target('deaths')} {folder}/count {BLOCK}", input="\n")
    assert done.returncode == 128 + signal.SIGKILL, done.stderr
    words = " ".join(done.stdout.split())
    assert re.search(r"deaths \(pid \d+\), killed by SIGKILL \(out of memory\)", words), words
    assert re.search(rf"killed by the OOM killer(:| when) cgroup {path}{AT_LIMIT}", words), words
    assert re.search(rf"cgroup {path}/inner: \S+ MiB used without a limit", words), words


@test(need_root, every_kernel=True)
def who_sends_sigkill_is_named():
    with scratch() as folder, victim(folder) as (process, _):
        with attached([process.pid]) as session:
            with started(["sh", "-c", f"kill -9 {process.pid}; read line"]) as killer:
                assert process.wait() == -signal.SIGKILL
                (report,) = session.finish(None)["processes"]
            assert report["death"]["sender"] == {
                "pid": killer.pid, "uid": os.getuid(), "comm": "sh"}, report["death"]
    assert report["death"]["by"] == "process" and report["death"]["oom"] is None, report["death"]
    assert report["end"] == {"exit": None, "signal": signal.SIGKILL, "oom": False}, report["end"]


def process_of(*command, status, text=""):
    with scratch() as folder:
        path = os.path.join(folder, "report.json")
        done = run_memtraced("-o", f"json:{path}", "--", *command, input=text)
        assert done.returncode == status, (done.returncode, done.stderr)
        return load_report(path)["processes"][0]


@test(need_root)
def a_fault_has_no_sender_and_what_ends_by_itself_no_death():
    death = process_of(target("crashes"), "null", status=128 + signal.SIGSEGV)["death"]
    assert (death["signal"], death["by"], death["sender"]) == (signal.SIGSEGV, None, None), death
    assert process_of(target("crashes"), "handled", status=0)["death"] is None
    # another signal than those for which there is a reason to look
    process = process_of("sh", "-c", "kill -TERM $$", status=128 + signal.SIGTERM)
    assert process["death"] is None, process["death"]


@test(need_root)
def who_aborts_for_want_of_memory_is_told_with_what_it_holds():
    with scratch() as folder:
        path = os.path.join(folder, "count")
        command = f"ulimit -v 100000; exec {target('deaths')} {path} {BLOCK}"
        process = process_of("sh", "-c", command, status=128 + signal.SIGABRT, text="\n")
        made, _ = own_count(path)
    assert process["death"]["signal"] == process["fault"]["signal"] == signal.SIGABRT, process
    assert made * BLOCK < process["death"]["memory"]["total_vm"] <= 100_000 << 10, process["death"]
    site = leaking_site(process)
    assert (site["live_blocks"], process["alloc"]["failed"]) == (made, 1), (site, made)


@test(need_root)
def where_the_kernel_does_not_say_nothing_is_guessed():
    with without("deaths"), scratch() as folder:
        path = os.path.join(folder, "report.json")
        done = run_memtraced("-f", "table", "-o", f"json:{path}", "--", "sh", "-c", "kill -9 $$")
        assert done.returncode == 128 + signal.SIGKILL, done.stderr
        assert "SIGKILL sent" not in done.stdout, done.stdout
        assert "the OOM killer included" in done.stdout, done.stdout
        with open(path, encoding="utf-8") as file:
            assert '"death":null' in file.read()


@test(need_root, each=("oom", "kill", "kill-after-oom", "term"), in_turn=2, every_kernel=True)
def unseen_the_oom_killer_is_excluded_by_its_count_alone(how):
    """Of whom the cgroup's count says nothing, so that only none tells something; v1 has no cgroup
    of who ends."""
    with without("deaths"), scratch() as folder, memory_cgroup(LIMIT) as (_, inner, _path):
        if how == "kill-after-oom":
            with victim(folder, BLOCK) as (other, _):
                move(other.pid, inner)
                send_line(other)
                assert other.wait() == -signal.SIGKILL
            os.unlink(os.path.join(folder, "count"))
        with victim(folder, BLOCK if how == "oom" else 0) as (process, _):
            move(process.pid, inner)
            with attached([process.pid]) as session:
                if how == "oom":
                    send_line(process)
                else:
                    process.send_signal(signal.SIGTERM if how == "term" else signal.SIGKILL)
                # It has not been waited for until the report is there.
                (report,) = session.finish(None)["processes"]
    signal_ = signal.SIGTERM if how == "term" else signal.SIGKILL
    assert process.wait() == -signal_
    proven = False if memory_hierarchy()[1] == 2 else None
    expected = {"oom": None, "kill": proven, "kill-after-oom": None, "term": False}[how]
    assert report["end"] == {"exit": None, "signal": signal_, "oom": expected}, report["end"]
