# SPDX-License-Identifier: GPL-2.0-or-later
"""What of a process is in memory, by use: against the target's own count of each step, and on
programs of the distribution, of whose memory at most 2 % may be unknown."""

import contextlib
import os
import shutil
import signal
import subprocess
import time

import schema

from lib import (ALL_CALLS, attached, load_report, memtraced, need_program, need_root,
                 run_memtraced, scratch, send_line, started, target, test, Lines)
from test_programs import Redis, free_port, redis_command

BESIDE_OTHERS = True
HEADERS = 64  # of a block, and what alignment adds: more than any allocator's


class Watched:
    """A command under memtraced that reports when asked to; what the command says is .said."""

    def __init__(self, process):
        self.process, self.said = process, Lines(process.stderr)

    def process_now(self, **kind):
        self.process.send_signal(signal.SIGUSR1)
        report = schema.loads(self.process.lines.next())
        schema.check(report, **kind)
        assert report["coverage"]["exact"], report["coverage"]
        return report["processes"][0]

    def rss(self):
        return self.process_now()["rss"]

    def at_rest(self):
        """While nothing moves; a process that has just told something goes to sleep first."""
        for _ in range(50):
            rss = self.rss()
            if rss["exact"]:
                return rss
            time.sleep(0.1)
        raise AssertionError(f"it does not come to rest: {rss}")

    def step(self, what):
        count = int(self.said.until(what))
        return count, self.at_rest()

    def go_on(self):
        send_line(self.process)

    def end(self):
        """The final report is read, for which the pipe may be too small."""
        while self.process.lines.next(120) is not None:
            pass
        assert self.process.wait(30) == 0


@contextlib.contextmanager
def watched(command, *options):
    with started([memtraced(), "-f", "json", "-q", *options, "--", *command],
                 stderr=subprocess.PIPE) as process:
        yield Watched(process)


def grown(after, before, key):
    return after[key] - before[key]


def mostly_known(rss):
    assert rss and rss["unknown"] * 50 < rss["rss"], rss


@test(need_root, every_kernel=True)
def each_step_of_a_target_is_seen_to_the_byte():
    with scratch() as folder:
        recording, final = os.path.join(folder, "run"), os.path.join(folder, "report.json")
        with watched([target("resident")], "-o", f"record:{recording}", "-o",
                     f"json:{final}") as session:
            _, ready = session.step("ready")
            session.go_on()
            size, blocks = session.step("blocks")
            assert grown(blocks, ready, "heap_live") == size, (ready, blocks)
            assert grown(blocks, ready, "rss") >= size, (ready, blocks)
            session.go_on()
            size, mapped = session.step("mapped")
            assert grown(mapped, blocks, "mmap") == size, (blocks, mapped)
            assert grown(mapped, blocks, "heap_live") == 0, (blocks, mapped)
            session.go_on()
            size, reserved = session.step("reserved")
            assert grown(reserved, mapped, "mapped") == size, (mapped, reserved)
            assert grown(reserved, mapped, "inaccessible") == size, (mapped, reserved)
            session.go_on()
            size, committed = session.step("committed")
            assert grown(committed, reserved, "mapped") == 0, (reserved, committed)
            assert grown(committed, reserved, "inaccessible") == -size, (reserved, committed)
            session.go_on()
            size, stack = session.step("stack")
            # Beside the array, the thread has its descriptor and some frames there.
            assert size <= grown(stack, mapped, "stack") <= size + 65536, (mapped, stack)
            assert grown(stack, mapped, "mmap") == 0, (mapped, stack)
            session.go_on()
            size, freed = session.step("freed")
            assert grown(freed, stack, "heap_live") == -size, (stack, freed)
            assert grown(freed, stack, "heap_free") == size, (stack, freed)
            mostly_known(freed)
            session.go_on()
            session.end()
        # The process is gone: it was read once more when all it did was to end.
        last = load_report(final)["processes"][0]["rss"]
        assert last["at_ns"] > freed["at_ns"] and last["exact"], (last, freed)
        assert last["heap_live"] == freed["heap_live"], (last, freed)
        mostly_known(last)
        again = run_memtraced("report", recording, "-f", "json")
        assert schema.loads(again.stdout)["processes"][0]["rss"] == last, again.stderr


KEPT = 40 << 20

# What ends a program, and what it then holds at least (None: the image goes without a reading).
ENDS = {
    "return": ("del kept", 0),
    "_exit": ("os._exit(3)", KEPT),
    "thread": ("threading.Thread(target=os._exit, args=(3,)).start(); time.sleep(60)", KEPT),
    "abort": ("os.abort()", KEPT),
    "SIGKILL": ("os.kill(os.getpid(), 9)", KEPT),
    "exec": ("os.execv('/bin/true', ['true'])", None),
}


@test(need_root)
def mappings_alone_tell_what_is_reserved_from_what_may_be_used():
    """Of a process that has ended that is not known any more."""
    with scratch() as folder:
        final = os.path.join(folder, "report.json")
        with watched([target("resident")], "--mappings", "-o", f"json:{final}") as session:
            seen = {}
            for what in ("ready", "blocks", "mapped", "reserved", "committed", "stack", "freed"):
                size = int(session.said.until(what))
                process = session.process_now(allocations=False)
                seen[what] = size, process["mmap"]
                assert process["rss"] is None, process["rss"]
                session.go_on()
            session.end()
        last = load_report(final, allocations=False)["processes"][0]["mmap"]
    size, reserved = seen["reserved"]
    assert grown(reserved, seen["mapped"][1], "live_bytes") == size, seen
    assert grown(reserved, seen["mapped"][1], "inaccessible") == size, seen
    size, committed = seen["committed"]
    assert grown(committed, reserved, "live_bytes") == 0, seen
    assert grown(committed, reserved, "inaccessible") == -size, seen
    assert last["inaccessible"] is None and last["live_bytes"] > 0, last


@test(need_root, need_program("python3"), each=ENDS, in_turn=2, timeout=120)
def the_end_of_a_command_is_read_however_it_comes(how):
    end, at_least = ENDS[how]
    script = f"import os, threading, time\nkept = b'x' * {KEPT}\n{end}"
    with scratch() as folder:
        path = os.path.join(folder, "report.json")
        run_memtraced("-q", "-o", f"json:{path}", "--", "/usr/bin/python3", "-c", script)
        processes = load_report(path)["processes"]
    rss = {os.path.basename(p["exe"]): p["rss"] for p in processes}
    python = next(rss[name] for name in rss if name.startswith("python3"))
    if at_least is None:
        assert python is None and rss["true"]["rss"] > 0, processes
        return
    mostly_known(python)
    assert python["exact"] and python["rss"] > python["heap_live"] >= at_least, python


@test(need_root, need_program("sh"))
def children_of_a_command_are_not_read_at_their_end():
    with scratch() as folder:
        path = os.path.join(folder, "report.json")
        run_memtraced("-q", "-o", f"json:{path}", "--", "sh", "-c", f"{target('forkrun')} 1 60; :")
        processes = load_report(path)["processes"]
    assert [p["rss"] is not None for p in processes].count(True) == 1, processes


@test(need_root)
def blocks_from_before_the_attach_are_unknown():
    with started([target("resident")]) as process:
        process.lines.until("ready")
        send_line(process)
        size = int(process.lines.until("blocks"))
        with attached([process.pid]) as session:
            report = session.finish()
        rss = report["processes"][0]["rss"]
        assert rss["heap_live"] == 0 and rss["heap_free"] is None, rss
        assert rss["unknown_heap"] >= size, rss
        assert rss["file"] > 0 and rss["stack"] > 0, rss
    with started([target("resident")]) as process:
        process.lines.until("ready")
        with attached([process.pid], "--no-rss") as session:
            assert session.finish()["processes"][0]["rss"] is None


@test(need_root)
def so_are_those_from_before_a_rule_has_found_the_process():
    name = f"held-{os.getpid()}"
    with scratch() as folder:
        program, path = os.path.join(folder, name), os.path.join(folder, "report.json")
        shutil.copy(target("resident"), program)
        with started([program]) as process:
            process.lines.until("ready")
            send_line(process)
            size = int(process.lines.until("blocks"))
            done = run_memtraced("-q", ALL_CALLS, "--comm", name, "-d", "0.5", "-o",
                                 f"json:{path}")
            assert done.returncode == 0, done.stderr
        found, = [p for p in load_report(path)["processes"] if p["pid"] == process.pid]
    rss = found["rss"]
    assert rss["heap_live"] == 0 and rss["heap_free"] is None, rss
    assert rss["unknown_heap"] >= size, rss


@test(need_root, need_program("redis-server", "redis-cli"), timeout=120)
def heap_of_any_allocator_is_known_by_a_block_that_comes_from_it():
    with scratch() as folder:
        redis = Redis(free_port())
        with started(redis_command(redis.port, folder)) as process:
            redis.wait()
            redis.load(30000, 300)
            with attached([process.pid]) as session:
                redis.load(3000, 300)
                rss = session.finish()["processes"][0]["rss"]
        # Two thirds of the keys are left, of which as many are new.
        assert rss["unknown_heap"] >= 2 * (30000 - 3000) // 3 * 300, rss


@test(need_root)
def blocks_that_a_filter_leaves_out_are_not_free():
    with watched([target("resident")], "--min-size", "1M") as session:
        session.step("ready")
        session.go_on()
        size, rss = session.step("blocks")
        assert rss["heap_free"] is None and rss["unknown_heap"] >= size, rss


PYTHON = """
import sys
kept = [str(i) * 9 for i in range(100000)] + [b'x' * 200000 for i in range(20)]
gone = [bytearray(i % 5000) for i in range(20000)]
del gone
print('made', flush=True, file=sys.stderr)
sys.stdin.readline()
"""


@test(need_root, need_program("python3"), timeout=120)
def a_python_program_has_little_unknown():
    with watched(["/usr/bin/python3", "-c", PYTHON]) as session:
        session.said.until("made")
        rss = session.at_rest()
        mostly_known(rss)
        assert rss["heap_live"] >= 20 * 200000 and rss["mmap"] > 0, rss
        session.go_on()
        session.end()


@test(need_root, need_program("redis-server", "redis-cli"), timeout=120)
def redis_server_has_little_unknown():
    with scratch() as folder:
        redis = Redis(free_port())
        with watched(redis_command(redis.port, folder)) as session:
            redis.wait()
            redis.load(3000, 300)
            rss = session.at_rest()
            mostly_known(rss)
            # Two thirds of the keys are left.
            assert rss["heap_live"] >= 2000 * 300, rss
            redis.ask("shutdown", "nosave")
            session.end()


@test(need_root, need_program("clang++"), timeout=180)
def a_compiler_at_work_has_little_unknown():
    with scratch() as folder:
        fifo = os.path.join(folder, "fifo.cc")
        os.mkfifo(fifo)
        # It works on what it has got and waits for the rest.
        with watched(["clang++", "-O1", "-x", "c++", "-c", fifo, "-o", "/dev/null"],
                     "--max-stack", "0", "--no-follow") as session:
            with open(fifo, "w", encoding="utf-8") as source:
                source.write("#include <map>\n#include <string>\nint x;\n")
                source.flush()
                rss = session.at_rest()
                mostly_known(rss)
                source.write("std::map<std::string, int> m;\n")
            session.end()
