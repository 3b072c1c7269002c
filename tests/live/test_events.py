# SPDX-License-Identifier: GPL-2.0-or-later
"""-e: the stacks that lead to events, each as often as the target says that it went that way."""

import collections
import os
import re

from hists import counted, ready, until_ready, watching
import schema
from lib import (Skip, eventually, load_report, need_kernel, need_program, need_root, run,
                 run_memtraced, scaled, scratch, send_line, started, target, test, without)
from states import is_blocked

BESIDE_OTHERS = True
KERNEL = "[kernel.kallsyms]"
LIBRARY = {"getrandom", "getpriority", "__GI___getrandom", "__GI___getpriority"}


class Paths:
    """What the target says: where it went and how often."""

    def __init__(self, text):
        self.counts, self.children, self.deep = collections.Counter(), {}, 0
        for line in text.splitlines():
            words = line.split()
            if words[0] == "path":
                self.counts[words[1], tuple(words[3:])] += int(words[2])
            elif words[0] == "child":
                self.children[int(words[1])] = int(words[2])
            elif words[0] == "deep":
                self.deep = int(words[2])
        assert self.counts and self.children and self.deep, text

    def of(self, event, pid):
        """{(pid, functions from the innermost): count}"""
        counts = {(pid, path): n for (name, path), n in self.counts.items() if name == event}
        ends = {"getrandom": ("raw", "leaf_raw"), "getpriority": ("leaf_priority",)}[event]
        for child, n in self.children.items():
            times = n if event == "getrandom" else (n + 1) // 2
            counts[child, ends + ("alpha", "child", "main")] = times
        return counts


def user_frames(stack):
    return [frame for frame in stack["frames"] if frame["object"] != KERNEL]


def own_path(stack):
    """The functions of the target on a stack, without the C library's around them. On arm64 libc
    has frame pointers, so that stacks go on to where it was started."""
    return tuple(frame["function"] or "?" for frame in user_frames(stack)
                 if os.path.basename(frame["object"] or "") == "paths" and
                 frame["function"] != "_start")


def event_of(report, name):
    found = [event for event in report["events"] if event["name"] == name]
    assert len(found) == 1, f"{len(found)} events {name}: {[e['name'] for e in report['events']]}"
    return found[0]


def exact(report):
    assert report["coverage"]["exact"], f"not exact: {report['coverage']}"


def same_paths(report, paths, pid, *events, startup=False):
    """Every stack is one that the target knows, with its count. `startup`: what the loader and
    the first malloc did before is there, too."""
    exact(report)
    for event in events:
        got = collections.Counter()
        for stack in event_of(report, f"syscalls:sys_enter_{event}")["stacks"]:
            if not startup or own_path(stack) not in ((), ("main",), ("__wrap_malloc", "main")):
                got[stack["pid"], own_path(stack)] += stack["count"]
        expected = paths.of(event, pid)
        wrong = [f"{key}: reported {got.get(key, 0)}, true {expected.get(key, 0)}"
                 for key in got.keys() | expected.keys() if got.get(key, 0) != expected.get(key, 0)]
        assert not wrong, f"{event}: " + "; ".join(wrong)


def held(n):
    return started([target("paths"), str(n), "held"])


def watched(n, *words):
    """The report of what a running target did from its line on, what it says, its pid."""
    with held(n) as process:
        pid = ready(process)
        with watching("-p", str(pid), *words) as watch:
            eventually(lambda: is_blocked(pid), "not blocked")
            send_line(process)
            paths = Paths(until_ready(process))
            report = watch.finish()
    return report, paths, pid


@test(need_root, each=["getrandom", "sys_enter_getrandom", "syscalls:sys_enter_getrandom"],
      in_turn=1)
def every_path_as_often_as_it_was_taken(spec):
    report, paths, pid = watched(scaled(400, 100000), "-e", spec)
    same_paths(report, paths, pid, "getrandom")


@test(need_root, each=[None, "atomics", "unwind-cfi", "whole-tracepoints"], in_turn=2,
      first=[None])
def several_events_from_the_start_of_a_command(left_out=None):
    with without(left_out):
        report, text = counted([target("paths"), "100"],
                               more=["-e", "getrandom", "-e", "getpriority"])
    paths = Paths(text)
    pid = {stack["pid"] for event in report["events"] for stack in event["stacks"]
           if "run" in own_path(stack)}
    assert len(pid) == 1, pid
    same_paths(report, paths, pid.pop(), "getrandom", "getpriority", startup=True)
    assert report["coverage"]["events"] == sum(event["count"] for event in report["events"])


@test(need_root)
def stacks_are_named_by_what_wrapper_does_not_name():
    """In the table of all stacks, and as costs of the functions that files of profiles have."""
    with scratch() as folder:
        path, output = os.path.join(folder, "callgrind"), os.path.join(folder, "json")
        done = run_memtraced("-e", "getrandom", "--wrapper=raw", "--wrapper=leaf_*", "--top=0",
                             "-f", "table", "-o", f"callgrind:{path}", "-o", f"json:{output}", "--",
                             target("paths"), "100")
        assert done.returncode == 0, done.stderr
        with open(path, encoding="utf-8") as file:
            functions = {line.split(" ", 1)[1].strip() for line in file
                         if line.startswith(("fn=", "cfn=")) and " " in line}
        report = load_report(output, allocations=False)
    named = {line.split()[1] for line in done.stdout.split("\n") if line.startswith("    > ")}
    assert {"alpha", "beta", "gamma_"} <= named, done.stdout
    assert named.isdisjoint(("raw", "leaf_raw", "leaf_library")), done.stdout
    assert {"alpha", "beta", "gamma_"} <= functions, functions
    assert functions.isdisjoint(("raw", "leaf_raw", "leaf_library")), functions
    in_json = {stack["frames"][stack["name_frame"]]["function"]
               for stack in report["events"][0]["stacks"]}
    assert named - {"…"} <= in_json and in_json.isdisjoint(("raw", "leaf_raw")), (named, in_json)


@test(need_root, every_kernel=True)
def beside_allocations_and_histograms():
    report, paths, pid = watched(100, "-e", "getrandom", "--hist=getrandom",
                                 "--hist=syscalls:sys_enter_getrandom:len", "--hist=getrandom:ns",
                                 "--hist=getrandom,by=pid")
    same_paths(report, paths, pid, "getrandom")
    count = event_of(report, "syscalls:sys_enter_getrandom")["count"]
    sums = collections.Counter()
    for histogram in report["histograms"]:
        sums[histogram["spec"]] += histogram["count"]
    assert len(sums) == 4 and set(sums.values()) == {count}, (sums, count)


@test(need_root)
def the_call_of_the_library_is_the_innermost_frame():
    report, paths, pid = watched(100, "-e", "getpriority")
    same_paths(report, paths, pid, "getpriority")
    for stack in event_of(report, "syscalls:sys_enter_getpriority")["stacks"]:
        first = stack["frames"][0]
        assert first["function"] in LIBRARY and "libc" in first["object"], first


# Older kernels hand the user's registers to programs at system calls' tracepoints, from which no
# walk of the kernel's stack starts: each is counted as unreadable.
@test(need_root, need_kernel(6, 12), every_kernel=True)
def kernel_frames_stand_before_the_others():
    report, paths, pid = watched(100, "-e", "getrandom", "--kernel")
    same_paths(report, paths, pid, "getrandom")
    for stack in event_of(report, "syscalls:sys_enter_getrandom")["stacks"]:
        kernel = [frame["function"] for frame in stack["frames"] if frame["object"] == KERNEL]
        assert {"do_syscall_64", "do_el0_svc"} & set(kernel), kernel
    report, _, _ = watched(100, "-e", "getrandom")
    for stack in event_of(report, "syscalls:sys_enter_getrandom")["stacks"]:
        assert user_frames(stack) == stack["frames"], "kernel frames without --kernel"


def switches(pid):
    with open(f"/proc/{pid}/status", encoding="utf-8") as file:
        return sum(int(n) for n in re.findall(r"ctxt_switches:\s*(\d+)", file.read()))


@test(need_root)
def switches_are_as_many_as_the_kernel_counts():
    with started([target("calls"), "sleeps", "40", "held"]) as process:
        pid = ready(process)
        eventually(lambda: is_blocked(pid), "not blocked")
        with watching("-p", str(pid), "-e", "sched:sched_switch", "--kernel") as watch:
            before = switches(pid)
            send_line(process)
            until_ready(process)
            eventually(lambda: is_blocked(pid), "not blocked")
            true = switches(pid) - before
            report = watch.finish()
    exact(report)
    event = event_of(report, "sched:sched_switch")
    # four sleeps a round, three where there is no poll
    least = 160 if os.uname().machine == "x86_64" else 120
    assert event["count"] == true >= least, (event["count"], true)
    for stack in event["stacks"]:
        functions = [frame["function"] for frame in stack["frames"]]
        assert any("schedule" in (function or "") for function in functions), functions
    slept = [stack["count"] for stack in event["stacks"]
             if "sleeps" in [frame["function"] for frame in stack["frames"]]]
    assert sum(slept) >= least, event


@test(need_root, each=["1", "5", "64", "511"], in_turn=2)
def no_stack_is_deeper_than_asked(most):
    """So many callers, behind the function that makes the call."""
    report, paths, _ = watched(50, "-e", "getpgid", "--max-stack", most)
    exact(report)
    event = event_of(report, "syscalls:sys_enter_getpgid")
    assert event["count"] == paths.deep, (event["count"], paths.deep)
    # inlined functions do not count: the target has none here
    depths = {len(stack["frames"]) for stack in event["stacks"]}
    assert depths == {min(int(most) + 1, 511)}, depths
    assert report["coverage"]["stacks_truncated"] == paths.deep, report["coverage"]


@test(need_root)
def without_stacks_at_all():
    report, paths, pid = watched(50, "-e", "getrandom", "--max-stack", "0")
    exact(report)
    event = event_of(report, "syscalls:sys_enter_getrandom")
    true = collections.Counter()
    for (child, _), n in paths.of("getrandom", pid).items():
        true[child] += n
    assert {stack["pid"]: stack["count"] for stack in event["stacks"]} == dict(true), event


def strace_count(call, command):
    with scratch() as folder:
        done = run(["strace", "-f", "-o", f"{folder}/calls", "-e", f"trace={call}", *command])
        assert done.returncode == 0, done.stderr
        with open(f"{folder}/calls", encoding="utf-8") as file:
            return len(re.findall(rf"^\d+ +{call}\(", file.read(), re.M))


@test(need_root, need_program("strace", "openssl", "dd"),
      each=["getrandom openssl rand -out /dev/null 100000",
            "read dd if=/dev/zero of=/dev/null bs=7 count=3000",
            "write dd if=/dev/zero of=/dev/null bs=7 count=3000 status=none"], in_turn=1)
def real_programs(words):
    call, *command = words.split()
    true = strace_count(call, command)
    report, _ = counted(command, f"{call}", more=["-e", call, "--kernel"])
    exact(report)
    event = event_of(report, f"syscalls:sys_enter_{call}")
    assert event["count"] == true > 0, (event["count"], true)
    assert sum(h["count"] for h in report["histograms"]) == true, report["histograms"]


@test(need_root, each=["getrandm", "syscalls:sys_enter_getrandm", "sched:sched_swich",
                       "shced:sched_switch"])
def an_event_that_does_not_exist(spec):
    near = "getrandom" if "getrandm" in spec else "sched"
    done = run_memtraced("-e", spec, "--", "true")
    assert done.returncode == 1, f"exit status {done.returncode}: {done.stderr}"
    assert len(done.stderr.splitlines()) == 1 and spec in done.stderr, done.stderr
    assert near in done.stderr.replace(spec, ""), done.stderr


def need_fault_tracepoint():
    if os.uname().machine != "x86_64":
        raise Skip("arm64 kernels have no exceptions:page_fault_user")


@test(need_root, need_fault_tracepoint)
def a_fault_belongs_to_the_function_whose_first_instruction_it_was():
    done = run_memtraced("-f", "json", "-e", "exceptions:page_fault_user", "--",
                         target("faults"), "100")
    assert done.returncode == 0, done.stderr
    event = event_of(schema.loads(done.stdout), "exceptions:page_fault_user")
    innermost = collections.Counter()
    for stack in event["stacks"]:
        innermost[stack["frames"][0]["function"]] += stack["count"]
    assert innermost["touch"] == 100 and innermost["before"] == 0, innermost
