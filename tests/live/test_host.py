# SPDX-License-Identifier: GPL-2.0-or-later
"""Allocations of the host, of a cgroup, of a user, of a name. Others run on this host, too: what is
asserted is of processes that the test has started, by their pids."""

import contextlib
import os
import pwd
import re
import shutil
import signal
import subprocess

import schema
from bpf_objects import known_threads
from cgroups import cgroup, move
from lib import (EXACT_KEYS, PATIENCE, Lines, Skip, all_calls, brief, counting, eventually,
                 load_report, memtraced, need_program, need_root, read_counts, resident, run,
                 run_memtraced, scaled, scratch, send_line, started, target, target_for_all, test)


class Wide:
    """memtraced on a rule, which reports when it is asked to."""

    def __init__(self, process, lines, path):
        self.process, self.lines, self.path = process, lines, path

    def load(self):
        with open(self.path, encoding="utf-8") as file:
            report = schema.load(file)
        schema.check(report)
        return report

    def written(self):
        """Which file it is; reports take each other's place."""
        try:
            return os.stat(self.path).st_ino, os.stat(self.path).st_mtime_ns
        except FileNotFoundError:
            return None

    def report(self):
        before = self.written()
        self.process.send_signal(signal.SIGUSR1)
        eventually(lambda: self.written() != before, "no report", timeout=120)
        return self.load()

    def finish(self):
        """The last report."""
        self.process.send_signal(signal.SIGINT)
        assert self.process.wait(240 * PATIENCE) == 0, f"exit status {self.process.returncode}"
        return self.load()


@contextlib.contextmanager
def tracing(*words):
    """Yields once all that runs is probed."""
    with scratch() as folder:
        path = os.path.join(folder, "report.json")
        command = [memtraced(), "-v", *all_calls(words), *words, "-o", f"json:{path}"]
        with started(command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
            lines, said = Lines(process.stderr), []
            while "running processes" not in (said[-1] if said else ""):
                said.append(lines.next(120))
                assert said[-1] is not None, f"memtraced ended: {said}"
            yield Wide(process, lines, path)


def of_pids(report, pids):
    """{pid: [alloc of each of its images in turn]}"""
    images = {}
    for process in report["processes"]:
        if process["pid"] in pids:
            images.setdefault(process["pid"], []).append(process)
    return images


def check_counts(report, counts, keys=EXACT_KEYS):
    """Every image that counted itself is there with the same numbers."""
    images = of_pids(report, counts)
    for pid, expected in sorted(counts.items()):
        # the newest image first
        found = [p["alloc"] for p in reversed(images.get(pid, [])) if p["alloc"]["allocs"]]
        expected = [e for e in expected if e["allocs"]]
        assert len(found) == len(expected), \
            f"{pid}: {len(found)} images, not {len(expected)}: {brief(images.get(pid, []))}"
        for ours, theirs in zip(found, expected):
            wrong = {k: (ours[k], theirs[k]) for k in keys if ours[k] != theirs[k]}
            assert not wrong, f"{pid}: {wrong}; lost: {report['coverage']['lost']}"


def run_counted(command, **how):
    """Runs a target that counts itself; (its counts by pid, what it wrote)."""
    with scratch() as folder:
        env = dict(os.environ, **counting(folder))
        done = subprocess.run(command, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              timeout=120 * PATIENCE, text=True, check=True, **how)
        return read_counts(os.path.join(folder, "all")), done.stdout


def known(wide, command, **how):
    """Has the files of a command probed, so that all of its next run is seen: one that is over
    before anybody has looked at it teaches nothing."""
    for _ in range(10):
        counts, _ = run_counted(command, **how)
        report = wide.report()
        missing = set(counts) - {process["pid"] for process in report["processes"]}
        assert not missing, f"{command} was not seen: {missing}"
        images = of_pids(report, counts)
        if all(sum(p["alloc"]["allocs"] for p in images[pid]) >= sum(e["allocs"] for e in expected)
               for pid, expected in counts.items()):
            return
    raise AssertionError(f"{command} is seen in part, again and again: {counts}")


# --- each kind of target -------------------------------------------------------------------------

@test(need_root, timeout=400, every_kernel=True)
def children_of_every_kind_on_the_host():
    ways = ("vfork", "fork", "spawn", "vm")
    with tracing("-a", "--keep-ended=1000") as wide:
        known(wide, [target("children"), "vfork", "1"])
        runs = {way: run_counted([target("children"), way, "5"])[0] for way in ways}
        report = wide.finish()
        own = wide.process.pid
    for way, counts in runs.items():
        # A child on its own stack in shared memory is a thread of its own to memtraced.
        check_counts(report, counts,
                     [key for key in EXACT_KEYS if way != "vm" or key != "temporary"])
    assert own not in {process["pid"] for process in report["processes"]}, "it counts itself"


@test(need_root, timeout=240)
def what_runs_already_is_counted_from_then_on():
    """What it made before is not known: its frees of that are no errors."""
    with started([target("attach")]) as process:
        process.lines.until("ready")
        with tracing("--comm=attach") as wide:
            send_line(process)
            process.lines.until("worked")
            report = wide.finish()
    (found,) = of_pids(report, {process.pid})[process.pid]
    assert found["alloc"]["allocs"] > 0 and found["alloc"]["unknown_frees"] > 0, found["alloc"]


@test(need_root, timeout=240)
def of_a_name():
    """What does not match is not there, and what is forked by it with another name neither."""
    with scratch() as folder:
        for name in ("hosted-one", "hosted-two", "another"):
            shutil.copy(target("forks"), os.path.join(folder, name))
        with tracing("--comm", "hosted-[o]*", "--comm", "*d-two") as wide:
            commands = [[os.path.join(folder, name), "100"]
                        for name in ("hosted-one", "hosted-two", "another")]
            known(wide, commands[0])
            known(wide, commands[1])
            counts = [run_counted(command)[0] for command in commands]
            report = wide.finish()
    check_counts(report, counts[0])
    check_counts(report, counts[1])
    assert not of_pids(report, counts[2]), "another name is counted"
    assert {p["comm"] for p in report["processes"]} == {"hosted-one", "hosted-two"}


@test(need_root, timeout=240)
def of_a_user():
    nobody = pwd.getpwnam("nobody")
    with scratch() as folder, tracing("--uid=nobody") as wide:
        command = [target_for_all(folder, "children"), "spawn", "3"]
        known(wide, command, user=nobody.pw_uid)
        counts, _ = run_counted(command, user=nobody.pw_uid)
        others, _ = run_counted(command)
        report = wide.finish()
    check_counts(report, counts)
    assert not of_pids(report, others), "another user's are counted"


@test(need_root, timeout=240)
def of_a_cgroup():
    command = [target("children"), "fork", "3"]
    with cgroup() as (path, inner):
        def enter():
            move(os.getpid(), inner)
        with tracing("--cgroup", path) as wide:
            known(wide, command, preexec_fn=enter)
            counts, _ = run_counted(command, preexec_fn=enter)
            others, _ = run_counted(command)
            report = wide.finish()
    check_counts(report, counts)
    assert not of_pids(report, others), "what is outside is counted"


@test(need_root, each=["-c", "-p"], in_turn=1, timeout=120)
def names_of_what_a_command_starts(how):
    """Everything is followed, what matches is counted, and nothing of it is missed."""
    with scratch() as folder:
        shutil.copy(target("forks"), os.path.join(folder, "wanted-forks"))
        script = "read x; for i in 1 2 3; do \"$0\" 50; \"$1\" 50; done; true"
        words = ["sh", "-c", script, os.path.join(folder, "wanted-forks"), target("forks")]
        env = counting(folder)
        path = os.path.join(folder, "report.json")
        if how == "-c":
            done = run_memtraced("--comm=wanted-*", "-o", f"json:{path}",
                                 *[f"--env={n}={v}" for n, v in env.items()], "--", *words,
                                 input="\n")
            assert done.returncode == 0, done.stderr
        else:
            with started(words, env=dict(os.environ, **env)) as shell:
                with started([memtraced(), "-p", str(shell.pid), "--comm=wanted-*", "-i", "1",
                              "-f", "json", "-o", f"json:{path}"],
                             stderr=subprocess.PIPE) as tracer:
                    tracer.lines.next()
                    send_line(shell)
                    while tracer.lines.next() is not None:
                        continue
                    assert tracer.wait(60 * PATIENCE) == 0, tracer.stderr.read()
        report = load_report(path)
        counts = read_counts(os.path.join(folder, "all"))
    assert {p["comm"] for p in report["processes"]} == {"wanted-forks"}, brief(report["processes"])
    wanted = {p["pid"] for p in report["processes"]}
    assert len(wanted) == 9, brief(report["processes"])
    if how == "-c":  # held, so that nothing runs before it is probed
        assert report["coverage"]["exact"], report["coverage"]
        check_counts(report, {pid: found[-1:] for pid, found in counts.items() if pid in wanted})


@test(need_root, need_program("bash", "bpftool"), timeout=120)
def threads_that_execute_what_is_not_counted_are_forgotten():
    with scratch() as folder:
        bash = os.path.join(folder, "wanted-bash")
        shutil.copy("/bin/bash", bash)
        with tracing("--comm=wanted-bash") as wide:
            done = run([bash, "-c", "for i in {1..400}; do /bin/true; done; :"])
            assert done.returncode == 0, done.stderr
            known = known_threads(wide.process.pid)
            assert any(process["alloc"]["allocs"] for process in wide.finish()["processes"])
    assert known < 5, f"{known} threads are kept"


# --- containers and other odd places -------------------------------------------------------------

def odd_place(folder):
    path = os.path.join(folder, "odd-place")
    shutil.copy(target("forks"), path)
    return path


def last_run(wide, command, counts, before=(), **how):
    """Of several runs, those before have its files probed, one by one where a process is over in a
    millisecond and they are another mount's: what the processes of the last counted."""
    for _ in range(5):
        with scratch() as folder:
            variables = counts(folder)
            done = subprocess.run([*before, "env", *variables, *command], timeout=120 * PATIENCE,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                  stderr=subprocess.PIPE, check=False, **how)
            assert done.returncode == 0, done.stderr
            images = [i for found in read_counts(os.path.join(folder, "all")).values()
                      for i in found]
            wide.report()
    assert images, "it has counted nothing"
    return images


def variables_of(folder):
    return [f"{name}={value}" for name, value in counting(folder).items()]


def check_images(report, images):
    """By their numbers, since a namespace has other pids."""
    keys = ("allocs", "frees", "bytes", "live_bytes", "live_blocks", "unknown_frees")
    found = [[p["alloc"][key] for key in keys] for p in report["processes"]
             if p["comm"] == "odd-place"]
    for image in images:
        numbers = [image[key] for key in keys]
        assert numbers in found, (numbers, found, report["coverage"]["lost"])
        found.remove(numbers)


@test(need_root, need_program("unshare"), in_turn=1, timeout=240,
      each=["--mount", "--pid --fork", "--user --map-root-user", "--pid --fork --mount-proc"])
def in_other_namespaces(namespaces):
    with scratch() as folder, tracing("--comm=odd-place") as wide:
        images = last_run(wide, [odd_place(folder), "50"], variables_of,
                            ["unshare", *namespaces.split()])
        report = wide.finish()
    check_images(report, images)


def probed_run(wide, command, exe, **how):
    """(allocations, frees, bytes) of the last of several runs: a program that is over before its
    files could be looked at is not counted, and teaches nothing of them."""
    for last in [False] * 30 + [True]:
        subprocess.run(command, stdout=subprocess.DEVNULL, check=True, cwd="/", **how)
        runs = [p["alloc"] for p in wide.report()["processes"] if p["exe"] == exe]
        counted = max(((run_["allocs"], run_["frees"], run_["bytes"]) for run_ in runs),
                      default=(0, 0, 0))
        if last or counted[0] > 0 and sum(run_["allocs"] == counted[0] for run_ in runs) > 1:
            assert counted[0] > 0, runs
            return counted
    return None


@test(need_root, timeout=240)
def in_a_chroot():
    """Its libraries are other files at the same paths; without a counter, the numbers are those of
    the same program outside."""
    with scratch() as folder:
        root = os.path.join(folder, "root")
        listed = run(["ldd", target("forks")]).stdout
        for path in set(re.findall(r"(/[^ :]+)", listed)):
            os.makedirs(root + os.path.dirname(path), exist_ok=True)
            shutil.copy(path, root + path)
        outside = odd_place(folder)
        shutil.copy(outside, root)
        with tracing("--comm=odd-place") as wide:
            totals = [probed_run(wide, [outside, "50"], outside),
                      probed_run(wide, ["/odd-place", "50"], "/odd-place",
                                 preexec_fn=lambda: os.chroot(root))]
            wide.finish()
    assert totals[0] == totals[1], totals


@test(need_root, timeout=240)
def of_deleted_files():
    """The executable and a library are gone, but still mapped."""
    with scratch() as folder:
        path = os.path.join(folder, "odd-place")
        library = os.path.join(folder, "libcounter.so")
        shutil.copy(target("attach"), path)
        shutil.copy(target("libcounter.so"), library)
        env = dict(os.environ, **counting(folder))
        env["LD_PRELOAD"] = library
        with started([path], env=env) as process:
            process.lines.until("ready")
            os.unlink(path)
            os.unlink(library)
            with tracing("--comm=odd-place") as wide:
                send_line(process)
                process.lines.until("worked")
                report = wide.finish()
    (found,) = report["processes"]
    assert found["pid"] == process.pid and found["alloc"]["allocs"] > 0, found["alloc"]
    assert found["exe"] == path, found["exe"]
    objects = {f["object"] for site in found["sites"] for f in site["frames"]}
    assert any(o and o.startswith(path) for o in objects), objects


PROGRAM_32 = """
void _start(void)
{
	struct { int seconds, ns; } time = { 3600, 0 };

	__asm__ volatile("int $0x80" : : "a"(162), "b"(&time), "c"(0) : "memory"); /* nanosleep */
	__asm__ volatile("int $0x80" : : "a"(1), "b"(0)); /* exit */
}
"""


@contextlib.contextmanager
def program_32(folder):
    path = os.path.join(folder, "odd-32-bit")
    done = run(["gcc", "-m32", "-nostdlib", "-static", "-fno-pie", "-no-pie", "-O1", "-x", "c", "-",
                "-o", path], input=PROGRAM_32)
    if done.returncode != 0:
        raise Skip(f"no 32-bit program can be built: {done.stderr[-200:]}")
    try:
        process = started([path])
        with process as running:
            yield path, running
    except OSError as error:
        raise Skip(f"this kernel runs no 32-bit programs: {error}") from error


@test(need_root, need_program("gcc"), timeout=120)
def programs_for_32_bits_are_refused():
    with scratch() as folder, program_32(folder) as (path, process):
        done = run_memtraced("-p", str(process.pid))
        assert done.returncode == 2 and "only 64-bit programs" in done.stderr, done
        with tracing("--comm=odd-32-bit") as wide:
            report = wide.finish()
    assert [p["pid"] for p in report["processes"]] == [process.pid], brief(report["processes"])
    assert any(u["object"] == path and "32-bit" in u["why"]
               for u in report["coverage"]["unprobed"]), report["coverage"]
    assert not report["coverage"]["exact"], "nothing is known of it"


# --- storms --------------------------------------------------------------------------------------

def of_program(report, *names):
    """Totals of all processes with one of these names, in full and in sums. A sum is of a file and
    has the name of who was first: other links to it have other names."""
    entries = [e for e in report["processes"] + report["ended"]
               if e["comm"] in names or os.path.basename(e["exe"] or "") in names]
    sums = {key: sum(e["alloc"][key] for e in entries) for key in ("allocs", "frees", "bytes")}
    return sums, sum(e.get("processes", 1) for e in entries)


# What a child of forkrun with 60 blocks asks for; its parent, and the shell, ask for nothing.
IN_A_STORM = sum(100 + k for k in range(60))


@test(need_root, in_turn=1, timeout=1800, each=["exec", "fork"])
def a_storm_of_short_processes(how):
    """Each is counted, though few stay in the report with their sites."""
    n = scaled(500, 10000)
    with scratch() as folder:
        program = os.path.join(folder, "in-a-storm")
        shutil.copy(target("forkrun"), program)
        command = [program, str(n), "60"]
        if how == "exec":
            command = ["sh", "-c", "i=0; while [ $i -lt $1 ]; do \"$0\" 1 60; i=$((i + 2)); done",
                       program, str(n)]
        with tracing("--comm=in-a-storm") as wide:
            known(wide, [program, "2", "60"])
            before, _ = of_program(wide.report(), "in-a-storm")
            memory = resident(wide.process.pid)
            counts, _ = run_counted(command)
            grown = resident(wide.process.pid) - memory
            report = wide.finish()
    after, processes = of_program(report, "in-a-storm")
    images = [i for found in counts.values() for i in found if i["bytes"] == IN_A_STORM]
    assert len(images) >= n // 2 and processes >= n, (len(images), processes)
    for key in ("allocs", "frees", "bytes"):
        assert after[key] - before[key] == sum(i[key] for i in images), \
            (key, after[key] - before[key], report["coverage"]["lost"])
    assert len(report["processes"]) < 300, "ended processes stay"
    assert grown < 40 << 20, f"memory grew by {grown} bytes"
