# SPDX-License-Identifier: GPL-2.0-or-later
"""--cpu: the stacks that run, as often as the target's own clocks say that they did."""

import os
import re
import signal

from lib import (attached, exact, heap_sites, load_report, need_program, need_root, need_sampling,
                 refused, run, run_memtraced, scratch, started, target, test, trace, without)

BESIDE_OTHERS = True

GO = ("go", "tool", "pprof")
KERNEL = "[kernel.kallsyms]"


def clocks(text):
    return {name: int(ns) for name, ns in re.findall(r"^(\w+) (\d+)$", text, re.M)}


def samples(report, hz):
    event, = report["events"]
    assert event["name"] == "cpu-clock" and event["period_ns"] == 10**9 // hz, event["name"]
    return event


def under(event, function):
    return sum(stack["count"] for stack in event["stacks"]
               if function in [frame["function"] for frame in stack["frames"]])


def stolen_ns():
    """What a hypervisor has given to others: a process's clock may go on, while no interrupt of
    the sampling clock comes."""
    with open("/proc/stat", encoding="ascii") as file:
        return int(file.readline().split()[8]) * 10**9 // os.sysconf("SC_CLK_TCK")


def near(n, period_ns, ns, stolen):
    """Of n samples, the standard deviation is sqrt(n) at most; one of a tenth is a busy machine's:
    its clock's interrupts are late or fall together."""
    expected = ns / period_ns
    within = 4 * expected**0.5 + 0.1 * expected
    assert -within - stolen / period_ns <= n - expected <= within, (n, expected, stolen)


def check_shares(event, said, stolen):
    for function in ("hot", "cold", "other"):
        near(under(event, function), event["period_ns"], said[function], stolen)
    near(event["count"], event["period_ns"], said["cpu"], stolen)


@test(need_root, need_sampling, timeout=100)
def samples_stand_for_the_time_that_a_function_ran():
    with scratch() as folder:
        path, before = os.path.join(folder, "json"), stolen_ns()
        done = run_memtraced("--cpu=500", "-o", f"json:{path}", "--", target("spin"), "300")
        assert done.returncode == 0, done.stderr
        stolen = stolen_ns() - before
        report = load_report(path, allocations=False)
    check_shares(samples(report, 500), clocks(done.stdout), stolen)
    assert report["coverage"]["all_stacks_complete"], report["coverage"]


@test(need_root, need_sampling, need_program("openssl", "go"), timeout=100, alone=True)
def pprof_shows_the_time():
    """A test beside this one that traces the whole host would move the time to malloc and free."""
    with scratch() as folder:
        profile, path = os.path.join(folder, "p"), os.path.join(folder, "json")
        done = run_memtraced("--cpu=500", "-o", f"pprof:{profile}", "-o", f"json:{path}", "--",
                             "openssl", "speed", "-seconds", "1", "-bytes", "256", "sha256")
        assert done.returncode == 0, done.stderr
        event = samples(load_report(path, allocations=False), 500)
        for kind, want in (("samples", event["count"]), ("cpu", event["count"] * 2000000)):
            shown = run([*GO, "-top", f"-sample_index={kind}", "-unit=ns", "-nodecount=100000",
                         profile], env=dict(os.environ, HOME=folder))
            assert shown.returncode == 0, shown.stderr
            total, = re.findall(r"of (\d+)(?:ns)? total", shown.stdout)
            assert int(total) == want, (kind, total, want)
    # of blocks of 256 bytes, of which a part of the time is spent around the hash itself
    assert under(event, "SHA256_Update") > event["count"] / 4, event["count"]


@test(need_root, need_sampling, timeout=100)
def of_a_running_process_with_the_kernel_beside_allocations():
    with started(["dd", "if=/dev/zero", "of=/dev/null", "bs=1"]) as process, \
            attached([process.pid], "--cpu=500", "--kernel", "--alloc", "-d", "2") as session:
        report = session.finish(None)
        process.send_signal(signal.SIGKILL)
    event = samples(report, 500)
    objects = {frame["object"] for stack in event["stacks"] for frame in stack["frames"]}
    assert KERNEL in objects and any(name and name.endswith("libc.so.6") for name in objects), \
        objects
    assert under(event, "ksys_read") + under(event, "ksys_write") > 0, event["count"]
    assert "write" in {frame["function"] for stack in event["stacks"]
                       for frame in stack["frames"] if frame["object"] != KERNEL}


@test(need_root, need_sampling)
def beside_allocations_both_are_there():
    run_ = trace([target("leak"), "300", "0"], "--cpu", "--alloc", timeout=60)
    exact(run_.report)
    assert heap_sites(run_.only_process()), "no allocations"
    samples(run_.report, 99)


# Of a program that does little else: one sample in twelve is in the trampoline, or at a breakpoint
# that stands for a push. In the middle of what the kernel does to a stack nobody can say where it
# leads; that is one in a hundred at most.
@test(need_root, need_sampling)
def samples_in_returns_that_are_traced_go_on_to_their_callers():
    report = trace([target("leak"), "30000", "0"], "--cpu=5000", "--alloc", timeout=60).report
    coverage, count = report["coverage"], samples(report, 5000)["count"]
    assert count > 100 and coverage["stacks_truncated"] <= 3 + count / 33, (coverage, count)


@test(need_root)
def a_kernel_that_cannot_says_so():
    with without("sampling"):
        refused(run_memtraced("--cpu", "--", "true"), 1, "--cpu", "Linux 6.1")


@test(each=["0", "x", "10001", "-1"])
def wrong_rates(value):
    refused(run_memtraced(f"--cpu={value}", "--", "true"), 1, "--cpu", "10000")
