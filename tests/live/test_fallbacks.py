# SPDX-License-Identifier: GPL-2.0-or-later
"""What stands for a feature that a kernel lacks: the same numbers, on a kernel that has it all,
with MEMTRACED_WITHOUT. (What jobs do then is in test_events.py and test_syscalls.py.)"""

import platform
import re
import signal

from lib import (SERIAL_KEYS, Skip, attached, brief, eventually, exact, heap_sites, kernel_version,
                 need_probes, need_program, need_root, process_state, run_memtraced, same_calls,
                 same_images, scaled, send_line, started, target, test, trace, without)

BESIDE_OTHERS = True
UNTRANSLATED = True
PERF = "probes are perf events"
JUMPS = "calls after a jump out of an allocator may be taken for its own"
OLD = f"{PERF}; each has a program of its own; hash maps stand for atomic operations; {JUMPS}"
REFUSED = "user stacks follow frame pointers, as the unwinder was refused"
FILTER = "return probes would kill programs with a seccomp filter"
TRACEPOINTS = "every system call of the machine passes our programs"

# What is left out, the way of attaching that is then taken, what is said of it.
ROWS = {
    "uprobe-session": ("multi", None),
    "uprobe-session,uprobe-multi": ("perf", PERF),
    "cookies": ("perf", OLD),
    "atomics": ("perf", OLD),
    "uretprobe-seccomp": ("exit", FILTER),
    "uretprobe-seccomp,uprobe-session,uprobe-multi": ("exit", f"{PERF}; {FILTER}"),
    "whole-tracepoints": ("session", TRACEPOINTS),
    "unwind-cfi": ("session", f"{JUMPS}; {REFUSED}"),
    "unwind-cfi,hold-cpu": ("session", f"{JUMPS}; {REFUSED}"),
    "unwind-cfi,cookies": ("perf", f"{OLD}; {REFUSED}"),
}
FORK_KEYS = tuple(key for key in SERIAL_KEYS if key != "peak_bytes")


def need_everything():
    if platform.machine() != "x86_64" or kernel_version() < (6, 13):
        raise Skip("this kernel lacks features itself")


def same_but_calloc(run):
    """Where no return probe may be used glibc's calloc has none; that is said, and all else is
    right."""
    coverage = run.report["coverage"]
    assert {row["function"] for row in coverage["unprobed"]} == {"calloc"}, coverage
    assert coverage["lost"] == {}, coverage
    (own,), = run.own.values()
    same_calls(run.only_process(), own, "threads")


@test(need_root, need_everything, need_probes("ways of attaching"), each=ROWS, in_turn=3)
def threads_are_counted_as_exactly_without(left_out):
    path, lacks = ROWS[left_out]
    no_returns = "uretprobe-seccomp" in left_out
    with without(left_out):
        run = trace([target("threads"), "4", str(scaled(8000, 1000000, small=4000))], "-f", "table",
                    library=None if no_returns else "libcounter.so", timeout=900)
    if no_returns:
        same_but_calloc(run)
    else:
        same_images(run)
    assert f" by {path} probes" in run.stdout, run.stdout
    coverage = run.report["coverage"]
    assert coverage["unwinder"] == ("fp" if "unwind-cfi" in left_out else "cfi"), coverage
    said = re.findall(r"^memtraced: Linux \S+: (.*)$", run.stderr, re.M)
    assert said == ([coverage["kernel_lacks"]] if coverage["kernel_lacks"] else []), said
    # What this kernel lacks itself may come behind it.
    assert (coverage["kernel_lacks"] or "").startswith(lacks or ""), coverage


@test(need_root, need_everything,
      each=["uprobe-session", "cookies", "whole-tracepoints", "unwind-cfi"], in_turn=2)
def processes_are_followed_as_exactly_without(left_out):
    with without(left_out):
        run = trace([target("forks"), str(scaled(300, 60000, small=60))], timeout=300)
    assert len(run.everything) == 3, run.everything.keys()
    same_images(run, FORK_KEYS)
    ends = [process["end"] for process in run.report["processes"]]
    assert all(end and end["exit"] == 0 for end in ends), ends


@test(need_root, need_everything)
def a_refused_unwinder_leaves_the_frames_of_code_that_has_frame_pointers():
    with without("unwind-cfi"):
        run = trace([target("leak"), "200", "0"], library=None)
    exact(run.report)
    stacks = {tuple(frame["function"] for frame in site["frames"])
              for site in heap_sites(run.only_process())}
    assert any(len(stack) > 3 and stack[0] == "malloc" and "main" in stack for stack in stacks), \
        stacks
    assert set(run.report["coverage"]["cut"]) <= {"frame-pointers"}, run.report["coverage"]


# The first jq waits until it has been seen, so that its files are known. After eight forks links
# are shared, and count a child before its exec is seen.
BEFORE, UNSEEN = 13, 5
SHELL = f"""run() {{ for ((i = 0; i < $1; i++)); do jq -n '[range(2000)] | length' >&2; done; }}
            read; (read; echo 1) | jq . >&2; run {BEFORE - 1}; echo ran
            read; run {UNSEEN}; echo ran; read"""


def images(report):
    return [process for process in report["processes"] if process["comm"] == "jq"]


def ended_images(report):
    return sum(1 for process in images(report) if process["end"])


def stacks_cut_of_images_whose_exec_is_not_seen():
    with started(["bash", "-c", SHELL]) as shell, attached([shell.pid]) as session:
        send_line(shell)
        eventually(lambda: images(session.next_report()), "an image")
        send_line(shell)
        shell.lines.until("ran")
        eventually(lambda: ended_images(session.next_report()) == BEFORE, "their ends")
        before = session.latest["coverage"]["cut"]
        session.process.send_signal(signal.SIGSTOP)
        eventually(lambda: process_state(session.process.pid)[0] == "T", "a stop")
        send_line(shell)
        shell.lines.until("ran")
        session.process.send_signal(signal.SIGCONT)
        report = session.finish()
    assert ended_images(report) == BEFORE + UNSEEN, brief(report["processes"])
    assert report["coverage"]["unwinder"] == "cfi", report["coverage"]
    assert all(image["alloc"]["allocs"] > 1000 for image in images(report)[-UNSEEN:]), \
        brief(report["processes"])
    return {cause: n - before.get(cause, 0) for cause, n in report["coverage"]["cut"].items()
            if n > before.get(cause, 0)}


@test(need_root, need_everything, need_program("bash", "jq"))
def stacks_of_a_new_image_are_whole_from_its_exec_on():
    cut = stacks_cut_of_images_whose_exec_is_not_seen()
    assert cut == {}, cut


@test(need_root, need_everything, need_program("bash", "jq"))
def stacks_of_a_new_image_are_cut_until_its_exec_is_seen_without_find_vma():
    with without("find-vma"):
        cut = stacks_cut_of_images_whose_exec_is_not_seen()
    assert set(cut) == {"no-mapping"}, cut


NEEDED = {
    "btf": "has no BTF",
    "tracefs": "tracefs is not mounted, and mounting it failed",
    "uprobe-session,uprobe-multi,perf-uprobe": "offers no way to attach",
}


@test(need_root, each=NEEDED)
def what_nothing_stands_for_ends_the_run_and_is_named(left_out):
    with without(left_out):
        done = run_memtraced("--", target("million"), "10")
    assert done.returncode == 2 and done.stdout == "", done
    assert re.fullmatch(r"memtraced: .*\n", done.stderr), done.stderr
    assert NEEDED[left_out] in done.stderr, done.stderr


@test(need_root)
def a_path_that_is_asked_for_is_not_replaced():
    with without("uprobe-multi"):
        done = run_memtraced("--attach=multi", "--", target("million"), "10")
    assert done.returncode == 2, done
    assert done.stderr == ("memtraced: --attach=multi: this kernel lacks uprobe-multi: left out, "
                           "as MEMTRACED_WITHOUT says\n"), done.stderr


@test(need_root)
def every_feature_can_be_left_out():
    names = re.findall(r"^(\S+) +(?:yes|no)\b", run_memtraced("--features").stdout, re.M)
    assert len(names) > 10, names
    with without(",".join(names)):
        text = run_memtraced("--features").stdout
    found = re.findall(r"^(\S+) +no .*\n +\((.*)\)$", text, re.M)
    assert found == [(name, "left out, as MEMTRACED_WITHOUT says") for name in names], text


@test(need_root)
def a_feature_that_nobody_knows_is_refused():
    with without("cookies,cookie"):
        for words in (["--features"], ["--", target("million"), "10"]):
            done = run_memtraced(*words)
            assert (done.returncode, done.stdout) == (1, ""), done
            assert "no feature is called 'cookie'" in done.stderr, done.stderr
