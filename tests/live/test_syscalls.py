# SPDX-License-Identifier: GPL-2.0-or-later
"""--syscalls against the targets' own counts of calls, errors, bytes and files, and against strace
and bpftrace."""

import collections
import contextlib
import os
import re
import signal
import time

from lib import (exact, load_report, memtraced, need_program, need_root, run, run_memtraced, scaled,
                 scratch, send_line, started, target, test, without,
                 workdir)

BESIDE_OTHERS = True
Told = collections.namedtuple("Told", "calls errnos other")


def told(output):
    """What a target has told of its calls: {name: (calls, errors, bytes)}, {(name, errno): n}."""
    calls, errnos, other = {}, {}, {}
    for line in output.splitlines():
        word, *rest = line.split()
        if word == "call":
            numbers = [int(number) for number in rest[1:]]
            before = calls.get(rest[0], (0, 0, 0))
            calls[rest[0]] = tuple(a + b for a, b in zip(before, numbers))
        elif word == "errno":
            key = (rest[0], int(rest[1]))
            errnos[key] = errnos.get(key, 0) + int(rest[2])
        else:
            other[word] = rest
    return Told(calls, errnos, other)


def watch(command, *options, timeout=60, status=0):
    """A command under --syscalls: its report, and what it told."""
    with scratch() as folder:
        path = os.path.join(folder, "report.json")
        done = run_memtraced("--syscalls", *options, "-o", f"json:{path}", "--", *command,
                             timeout=timeout)
        assert done.returncode == status, f"status {done.returncode}: {done.stderr[-2000:]}"
        report = load_report(path, allocations=False)
        exact(report)
        return report, told(done.stdout)


def calls_of(processes, name):
    return [call for process in processes for call in process["calls"] if call["name"] == name]


def total(calls, key):
    return sum(call[key] for call in calls)


def errnos_of(calls):
    sums = {}
    for call in calls:
        for error in call["errnos"]:
            sums[error["errno"]] = sums.get(error["errno"], 0) + error["count"]
    return sums


def same_calls(processes, counts):
    """Each call that a target counted is in the report with the same numbers."""
    wrong = []
    for name, true in counts.calls.items():
        calls = calls_of(processes, name)
        got = tuple(total(calls, key) for key in ("calls", "errors", "bytes"))
        if got != true:
            wrong.append(f"{name}: (calls, errors, bytes) reported {got}, true {true}")
        errnos = {number: n for (of, number), n in counts.errnos.items() if of == name}
        if errnos_of(calls) != errnos:
            wrong.append(f"{name}: errors reported {errnos_of(calls)}, true {errnos}")
    assert not wrong, "; ".join(wrong)


@test(need_root, timeout=300)
def calls_of_eight_threads_are_all_counted():
    report, counts = watch([target("syscalls"), "threads", "8", str(scaled(25000, 1250000))],
                           timeout=280)
    same_calls(report["syscalls"], counts)
    assert sum(calls for calls, _, _ in counts.calls.values()) == scaled(200000, 10000000)
    for name in counts.calls:
        for call in calls_of(report["syscalls"], name):
            assert call["timed"] == call["calls"], f"without latency: {call}"


@test(need_root, each=("fork", "vfork"), in_turn=1)
def children_are_counted_once_and_their_births_not_as_calls(how):
    report, counts = watch([target("syscalls"), how, "20"])
    same_calls(report["syscalls"], counts)
    births = sum(total(calls_of(report["syscalls"], name), "calls")
                 for name in ("clone", "clone3", "fork", "vfork"))
    assert births == 20, f"{births} births of 20 children"
    assert total(calls_of(report["syscalls"], "exit_group"), "calls") == 21


@test(need_root)
def children_are_left_out_without_follow():
    report, counts = watch([target("syscalls"), "fork", "5"], "--no-follow")
    assert counts.calls["getppid"][0] == 15
    assert not calls_of(report["syscalls"], "getppid")
    assert total(calls_of(report["syscalls"], "clone"), "calls") == 5


@test(need_root)
def an_exec_by_a_thread_that_does_not_lead_splits_the_counts():
    report, counts = watch([target("syscalls"), "exec", "500"])
    same_calls(report["syscalls"], counts)
    images = report["syscalls"]
    assert len(images) == 2 and images[0]["pid"] == images[1]["pid"], images
    by_first = {total(calls_of([image], "execve"), "calls"): image for image in images}
    assert list(by_first) == [1], "each image is made by one exec"
    # 500 calls of the first image, and those of 500 rounds of the second.
    parts = sorted(total(calls_of([image], "getsid"), "calls") for image in images)
    assert parts[0] == 1 and parts[1] > 1, parts


@test(need_root, every_kernel=True)
def a_call_that_seccomp_refuses_counts_without_latency():
    report, counts = watch([target("syscalls"), "seccomp", "12"])
    same_calls(report["syscalls"], counts)
    call, = calls_of(report["syscalls"], "getsid")
    assert (call["calls"], call["timed"]) == (12, 0), call


@test(need_root)
def a_running_process_is_counted_from_its_attach_on():
    with scratch() as folder, started([target("syscalls"), "attach", "20000"]) as process:
        process.lines.until("ready")
        path = os.path.join(folder, "report.json")
        command = [memtraced(), "--syscalls", "-p", str(process.pid), "-f", "json", "-i", "0.2",
                   "-o", f"json:{path}"]
        with started(command) as tracer:
            assert tracer.lines.next() is not None
            send_line(process)
            lines = []
            while (line := process.lines.next()) is not None:
                lines.append(line)
            process.wait()
            while tracer.lines.next() is not None:
                continue
            tracer.wait(30)
        report = load_report(path, allocations=False)
    exact(report)
    same_calls(report["syscalls"], told("\n".join(lines)))
    # The read that was waiting for the line had begun before.
    read, = calls_of(report["syscalls"], "read")
    assert read["calls"] == read["timed"] + 1, read


# arm64 has no poll.
STORMS = ("readv", "nanosleep", "futex") + (("poll",) if os.uname().machine == "x86_64" else ())


@test(need_root, each=STORMS + tuple(f"restart-{name}" for name in STORMS), in_turn=3)
def interrupted_calls_count_once(mode):
    name = mode.replace("restart-", "")
    report, counts = watch([target("interrupted"), mode, str(scaled(1000, 10000))], timeout=55)
    same_calls(report["syscalls"],
               counts._replace(calls={name: counts.calls[name]}))
    call, = calls_of(report["syscalls"], name)
    assert call["timed"] == call["calls"], call
    handled = int(counts.other["handled"][0])
    assert handled > 0, "no signal came"
    if mode == "restart-readv":
        assert 0 < call["restarted"] <= handled, call
    if mode == "readv":
        assert call["restarted"] == 0, call


@test(need_root)
def calls_interrupted_within_handlers_of_interrupted_calls_count_once():
    report, counts = watch([target("interrupted"), "nested", "1000"])
    same_calls(report["syscalls"], counts)
    for name in ("readv", "recvfrom"):
        call, = calls_of(report["syscalls"], name)
        assert call["restarted"] > 0 and call["timed"] == call["calls"], call
        assert call["max_ns"] < 10 ** 9, call


@test(need_root)
def calls_left_by_longjmp_count_without_latency():
    report, counts = watch([target("interrupted"), "jump", "200"])
    same_calls(report["syscalls"], counts)
    call, = calls_of(report["syscalls"], "readv")
    assert (call["timed"], call["restarted"]) == (0, 0), call


@test(need_root)
def a_sleep_that_stops_interrupt_is_one_call():
    report, counts = watch([target("interrupted"), "stopped"])
    same_calls(report["syscalls"], counts)
    call, = calls_of(report["syscalls"], "nanosleep")
    assert call["restarted"] == 3, call
    assert not calls_of(report["syscalls"], "restart_syscall")
    assert call["max_ns"] >= 3 * 10 ** 9, call


# --- files -------------------------------------------------------------------------------------

FILE_KEYS = ("opens", "reads", "writes", "others", "bytes_read", "bytes_written")


def files_of(report):
    files = {}
    for process in report["syscalls"]:
        for file in process["files"]:
            before = files.get(file["path"], (0,) * len(FILE_KEYS))
            files[file["path"]] = tuple(a + file[key] for a, key in zip(before, FILE_KEYS))
    return files


def watch_files(folder, directory):
    path = os.path.join(folder, "report.json")
    done = run_memtraced("--syscalls", "-o", f"json:{path}", "--", target("files"), directory)
    assert done.returncode == 0, done.stderr
    report = load_report(path, allocations=False)
    exact(report)
    lines = [line.split(" ", 7) for line in done.stdout.splitlines() if line.startswith("file ")]
    return files_of(report), {line[7]: tuple(map(int, line[1:7])) for line in lines}


def same_files(files, true):
    assert true
    wrong = [f"{path}: {FILE_KEYS} reported {files.get(path)}, true {numbers}"
             for path, numbers in true.items() if files.get(path) != numbers]
    assert not wrong, "; ".join(wrong)


@test(need_root, every_kernel=True)
def files_are_named_and_their_bytes_counted():
    with scratch() as folder:
        directory = os.path.join(folder, "files")
        os.mkdir(directory)
        same_files(*watch_files(folder, directory))


@contextlib.contextmanager
def mounted(*command):
    done = run(["mount", *command])
    assert done.returncode == 0, done.stderr
    yield
    run(["umount", "-l", command[-1]])


@test(need_root, need_program("mount", "umount"))
def paths_go_on_across_mounts():
    with scratch() as folder:
        inner = os.path.join(folder, "mounted")
        os.mkdir(inner)
        with mounted("-t", "tmpfs", "none", inner):
            bound = os.path.join(inner, "bound")
            os.mkdir(bound)
            os.mkdir(os.path.join(folder, "other"))
            with mounted("--bind", os.path.join(folder, "other"), bound):
                same_files(*watch_files(folder, bound))


# --- callers -----------------------------------------------------------------------------------

@test(need_root, each=[None, "atomics", "unwind-cfi", "whole-tracepoints"], in_turn=2,
      first=[None])
def stacks_add_up_to_the_calls(left_out=None):
    with without(left_out):
        report, counts = watch([target("syscalls"), "threads", "2", "5000"], "--stacks")
    same_calls(report["syscalls"], counts)
    process, = report["syscalls"]
    for call in process["calls"]:
        stacks = [stack for stack in process["stacks"] if stack["number"] == call["number"]]
        assert total(stacks, "calls") == call["calls"], call
        assert total(stacks, "total_ns") == call["total_ns"], call
    callers = {frame["function"] for stack in process["stacks"] if stack["name"] == "getppid"
               for frame in stack["frames"]}
    assert "one_round" in callers, callers


@test(need_root)
def no_stacks_are_taken_unasked():
    report, _ = watch([target("syscalls"), "threads", "1", "100"])
    assert not any(process["stacks"] for process in report["syscalls"])


# --- other tools -------------------------------------------------------------------------------

@test(need_root, need_program("strace"))
def the_counts_are_those_of_strace():
    command = ["sh", "-c", "for i in 1 2 3; do cat /etc/passwd; done; ls /; ls /nonexistent"]
    report, _ = watch_command(command)
    ours = {}
    for process in report["syscalls"]:
        for call in process["calls"]:
            before = ours.get(call["name"], (0, 0))
            ours[call["name"]] = (before[0] + call["calls"], before[1] + call["errors"])
    theirs = counted_by_strace(command)
    # strace counts calls that returned; how often sh is interrupted by the end of a child varies.
    for name in ("exit_group", "rt_sigreturn"):
        ours.pop(name, None)
        theirs.pop(name, None)
    wrong = [f"{name}: {ours.get(name)}, strace {theirs.get(name)}"
             for name in sorted(set(ours) | set(theirs)) if ours.get(name) != theirs.get(name)]
    assert not wrong, "; ".join(wrong)


def counted_by_strace(command):
    """strace 6.1 ends by SIGSEGV where it has counted a system call that it has no name for, as
    uretprobe(2), which programs make while a test beside this one traces the whole host: then it is
    asked again."""
    for _ in range(60):
        with scratch() as folder:
            path = os.path.join(folder, "strace")
            done = run(["strace", "-c", "-f", "-o", path, *command])
            with open(path, encoding="utf-8") as file:
                text = file.read()
        if counts := read_strace(text):
            return counts
        assert done.returncode == -signal.SIGSEGV, done
        time.sleep(0.5)
    raise AssertionError(f"strace wrote no table: {done.returncode}, {text[-500:]}, "
                         f"{done.stderr[-500:]}")


def watch_command(command):
    with scratch() as folder:
        path = os.path.join(folder, "report.json")
        run_memtraced("--syscalls", "-o", f"json:{path}", "--", *command)
        report = load_report(path, allocations=False)
        exact(report)
        return report, None


def read_strace(text):
    """{name: (calls, errors)} of strace -c. A share is nan when no call took any time."""
    counts = {}
    for line in text.splitlines():
        words = line.split()
        if len(words) in (5, 6) and words[-1] != "total" and \
                re.fullmatch(r"[\d.]+|-?nan", words[0]):
            errors = int(words[4]) if len(words) == 6 else 0
            counts[words[-1]] = (int(words[3]), errors)
    return counts


@test(need_root, need_program("bpftrace", "unshare"))
def the_counts_are_those_of_bpftrace():
    program = ('tracepoint:raw_syscalls:sys_exit /comm == "syscalls"/ '
               '{ @calls[args->id] = count(); if (args->ret > 0) { @sums[args->id] = '
               'sum(args->ret); } }')
    command = [target("syscalls"), "threads", "2", "2000"]
    report, _ = watch(command)
    # bpftrace needs a tracefs; where none is mounted it gets one of its own.
    shell = 'test -d /sys/kernel/tracing/events || mount -t tracefs none /sys/kernel/tracing; "$@"'
    done = run(["unshare", "-m", "sh", "-c", shell, "sh", "bpftrace", "-e", program, "-c",
                " ".join(command)], cwd=workdir())
    assert done.returncode == 0, done.stderr
    calls, sums = ({int(number): int(n) for number, n in
                    re.findall(rf"@{name}\[(\d+)\]: (\d+)", done.stdout)}
                   for name in ("calls", "sums"))
    for name in ("getppid", "readv", "writev", "fdatasync", "getsid"):
        call, = calls_of(report["syscalls"], name)
        assert calls[call["number"]] == call["calls"], name
        if call["bytes"]:
            assert sums[call["number"]] == call["bytes"], name


# --- many processes ----------------------------------------------------------------------------

@test(need_root, timeout=200)
def processes_that_have_ended_stay_in_the_counts():
    n = scaled(300, 3000)
    script = f"i=0; while [ $i -lt {n} ]; do /bin/true; i=$((i+1)); done"
    report, _ = watch(["sh", "-c", script], timeout=190)
    for name in ("execve", "exit_group"):
        assert total(calls_of(report["syscalls"], name), "calls") == n + 1, name
    assert len(report["syscalls"]) == n + 1, len(report["syscalls"])
    calls = sum(total(process["calls"], "calls") for process in report["syscalls"])
    assert calls == report["coverage"]["events"]


@test(need_root)
def the_whole_host_is_watched_from_its_next_call_on():
    with scratch() as folder:
        path = os.path.join(folder, "report.json")
        command = [memtraced(), "--syscalls", "-a", "-f", "json", "-i", "0.2", "-o",
                   f"json:{path}"]
        with started(command) as tracer:
            assert tracer.lines.next() is not None
            done = run([target("syscalls"), "threads", "2", "3000"])
            tracer.send_signal(signal.SIGINT)
            while tracer.lines.next() is not None:
                continue
            tracer.wait(30)
        report = load_report(path, allocations=False)
    mine = [process for process in report["syscalls"] if process["comm"] == "syscalls"]
    same_calls(mine, told(done.stdout))
