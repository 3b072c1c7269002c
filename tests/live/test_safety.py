# SPDX-License-Identifier: GPL-2.0-or-later
"""memtraced dies by SIGKILL at any instant: the target runs on with the right result, nothing is
stopped, no probe and no file is left."""

import contextlib
import os
import random
import shutil
import signal
import subprocess
import time

from bpf_objects import bpf_orphans, none_left
from lib import (ALL_CALLS, ATTACH_PATHS, Skip, attach_option, breakpoints, called_by, eventually,
                 heap_sites, libc_of_its_own, load_report, memtraced, need_program, need_root,
                 process_state, run, scaled, scratch, started, target, test, total, with_function)

BESIDE_OTHERS = True

STEPS = scaled(2000, 4500, 4500)  # about 0.7 and 1.6 seconds with the waits below


def right_sums(steps=STEPS):
    """What an undisturbed run of so many steps prints."""
    done = run([target("leak"), str(steps), "0"])
    assert done.returncode == 0
    return [line for line in done.stdout.splitlines() if not line.startswith("ready")]


def goes_on_rightly(process, sums):
    """The endless target has got somewhere since now, with the right sums on its way."""
    os.set_blocking(process.stdout.fileno(), False)
    seen = (process.stdout.read() or b"").decode()
    os.set_blocking(process.stdout.fileno(), True)
    lines = (process.lines.buffer.decode() + seen).split("\n")
    process.lines.buffer = bytearray(lines.pop().encode())
    lines += [process.lines.next(), process.lines.next()]
    wrong = [line for line in lines if line not in sums]
    assert not wrong, f"wrong sums: {wrong}"


def nothing_left(before, folder):
    is_nothing = none_left(before)
    # The kernel frees programs some time after their last user is gone.
    with contextlib.suppress(AssertionError):
        eventually(is_nothing, "", timeout=60)
    assert not is_nothing.left, f"BPF objects are left: {sorted(is_nothing.left)}"
    assert os.listdir(folder) == [], f"files are left: {os.listdir(folder)}"


def undisturbed(pid):
    state, tracer = process_state(pid)
    assert tracer == 0, f"still traced by {tracer}"
    assert state not in "Tt", f"state {state}"


def instants(last):
    """Times of death, seeded, so that a failing run can be repeated."""
    source = random.Random(20240607)
    return [source.uniform(0, last) for _ in range(scaled(6, 100))]


@test(need_root, need_program("bpftool"), timeout=400)
def killed_while_attached():
    sums = set(right_sums(100000))
    for turn, after in enumerate(instants(1.1)):
        with scratch() as folder, libc_of_its_own() as env:
            before = bpf_orphans()
            with started([target("leak"), "0", "300"], env=env) as process:
                pid = int(process.lines.until("ready"))
                with started([memtraced(), ALL_CALLS, "-p", str(pid), "-i", "0.05", "-o",
                              f"json:{folder}/out"], cwd=folder) as tracer:
                    time.sleep(after)
                    if turn % 3 == 0:
                        # In its final report, or while it takes the probes out.
                        tracer.send_signal(signal.SIGINT)
                        time.sleep(after / 20)
                    tracer.kill()
                    tracer.wait()
                undisturbed(pid)
                eventually(lambda: breakpoints(pid) == 0, f"probes left, killed after {after} s")
                for name in os.listdir(folder):
                    # The report is one of the whole ones, and no temporary file is beside it.
                    assert name == "out", f"{name} is left"
                    os.unlink(os.path.join(folder, name))
                goes_on_rightly(process, sums)
            nothing_left(before, folder)


@test(need_root, need_program("bpftool"), timeout=400)
def killed_while_it_holds_its_command():
    right = right_sums()
    for after in instants(scaled(1.5, 2.6, 2.6)):  # the last ones after the command's end
        with scratch() as folder:
            before = bpf_orphans()
            with started([memtraced(), "-o", f"json:{folder}/out", "--", target("leak"), str(STEPS),
                          "300"], cwd=folder) as tracer:
                time.sleep(after)
                tracer.kill()
                # Its command keeps our pipe: it runs to its end, or had not begun.
                said = []
                while (line := tracer.lines.next(60)) is not None:
                    said.append(line)
                tracer.wait()
            if said:
                assert said[1:] == right, f"killed after {after} s: {said}"
            for name in os.listdir(folder):
                assert name == "out", f"{name} is left"
                os.unlink(os.path.join(folder, name))
            nothing_left(before, folder)


@test(need_root, need_program("bpftool"), timeout=400)
def killed_while_children_come_and_go():
    for after in instants(1.5)[:scaled(6, 100)]:
        with scratch() as folder:
            before = bpf_orphans()
            with started([memtraced(), "-o", f"json:{folder}/out", "--", target("forkrun"), "200",
                          "200"], cwd=folder) as tracer:
                time.sleep(after)
                tracer.kill()
                said = []
                while (line := tracer.lines.next(60)) is not None:
                    said.append(line)
                tracer.wait()
            assert said in ([], ["done 200"]), f"killed after {after} s: {said}"
            for name in os.listdir(folder):
                assert name == "out", f"{name} is left"
                os.unlink(os.path.join(folder, name))
            nothing_left(before, folder)


@test(need_root, need_program("bpftool"), each=sorted(ATTACH_PATHS),
      every_kernel=["perf", "session"])
def an_ordinary_end_leaves_nothing(path):
    sums = set(right_sums(100000))
    with scratch() as folder, libc_of_its_own() as env:
        before = bpf_orphans()
        with started([target("leak"), "0", "300"], env=env) as process:
            pid = int(process.lines.until("ready"))
            with started([memtraced(), attach_option(path), ALL_CALLS, "-p", str(pid), "-i", "0.2",
                          "-f", "json"], cwd=folder) as tracer:
                assert tracer.lines.next() is not None
                assert breakpoints(pid) > 0, "it reports, but no probe is in libc"
                tracer.send_signal(signal.SIGINT)
                while tracer.lines.next() is not None:
                    continue
                assert tracer.wait(30) == 0
            undisturbed(pid)
            eventually(lambda: breakpoints(pid) == 0, "probes are left")
            goes_on_rightly(process, sums)
        nothing_left(before, folder)


@test(need_root)
def where_a_return_probe_would_kill_exit_sites_are_taken():
    with scratch() as folder:
        path = os.path.join(folder, "report.json")
        # A program for which nothing is kept of what this kernel was found to do.
        own = shutil.copy(memtraced(), folder)
        done = run([own, "--env=LD_PRELOAD=", "-o", f"json:{path}", "-f", "table", "--",
                    target("million"), "1000"],
                   env=dict(os.environ, LD_PRELOAD=target("libkiller.so")))
        assert done.returncode == 0, done.stderr
        assert " by exit probes" in done.stdout, done.stdout
        # glibc's calloc can then not be probed: nothing else is missing.
        report = load_report(path)
    (process,) = report["processes"]
    assert {row["function"] for row in report["coverage"]["unprobed"]} <= {"calloc"}
    assert total(called_by(process, "million"), "allocs") == 1001, process["alloc"]


@test(need_root)
def signals_reach_the_command_as_if_nobody_traced():
    script = ("import os, signal, sys, time\n"
              "got = []\n"
              "for s in (signal.SIGUSR1, signal.SIGUSR2, signal.SIGURG, signal.SIGALRM):\n"
              "    signal.signal(s, lambda n, f: got.append(n))\n"
              "for s in (signal.SIGUSR1, signal.SIGUSR2, signal.SIGURG):\n"
              "    os.kill(os.getpid(), s)\n"
              "signal.setitimer(signal.ITIMER_REAL, 0.05)\n"
              "time.sleep(0.2)\n"
              "print('got', sorted(got))\n")
    done = run([memtraced(), "-q", "-o", "json:/dev/null", "--", "/usr/bin/python3", "-c", script])
    wanted = sorted([signal.SIGUSR1, signal.SIGUSR2, signal.SIGURG, signal.SIGALRM])
    assert done.stdout.strip() == f"got {[int(n) for n in wanted]}", (done.stdout, done.stderr)


@test(need_root)
def job_control_works_on_the_command():
    with started([memtraced(), "-q", "-o", "json:/dev/null", "--", target("leak"), "2000",
                  "500"]) as tracer:
        pid = int(tracer.lines.until("ready"))
        os.kill(pid, signal.SIGSTOP)
        eventually(lambda: process_state(pid)[0] in "Tt", "SIGSTOP does not stop it")
        time.sleep(0.3)
        assert process_state(pid)[0] in "Tt", "it went on by itself"
        os.kill(pid, signal.SIGCONT)
        assert tracer.lines.until("result")
        assert tracer.wait(20) == 0


@test(need_program("nm"))
def its_own_calls_meet_no_shared_probe():
    """Links that all processes share stand in the C library: it must not call malloc there."""
    symbols = subprocess.run(["nm", "-D", "--defined-only", memtraced()], check=True,
                             stdout=subprocess.PIPE, text=True).stdout
    if "__asan_init" in symbols:
        raise Skip("the sanitizer's allocator is in use")
    defined = {line.split()[-1].split("@")[0] for line in symbols.splitlines()}
    assert {"malloc", "calloc", "realloc", "free", "posix_memalign"} <= defined


@test(need_root, each=sorted(ATTACH_PATHS))
def a_child_that_is_not_traced_outlives_its_parents_probes(path):
    """Linux 6.18 to 7.1 make calls of probed nops of five bytes, to a page that a child has not."""
    with scratch() as folder:
        report = os.path.join(folder, "json")
        done = run([memtraced(), "--no-follow", attach_option(path),
                    "--allocator=malloc=nops_alloc:size@1,ret;free=nops_free:ptr@1",
                    "-o", f"json:{report}", "--", target("nops")])
        assert done.returncode == 0 and "child 0\n" in done.stdout, (done.stdout, done.stderr)
        sites = heap_sites(load_report(report)["processes"][0])
        assert total(with_function(sites, "nops_alloc"), "allocs") == 10, sites
