# SPDX-License-Identifier: GPL-2.0-or-later
"""--hist: of whom and of what it is, sizes asked for, fields of tracepoints, beside bpftrace, what
it says when it cannot, and that nothing is left behind."""

import glob
import json
import os
import random
import re
import signal
import time

from bpf_objects import bpf_orphans, none_left
from cgroups import cgroup, move
from hists import (Tallies, calls, counted, differences, held, one, options, ready, same,
                   until_ready, watching)
import schema
from lib import (eventually, memtraced, need_program, need_root, process_state, run,
                 run_memtraced, scaled, scratch, send_line, started, target, test)
from states import is_blocked

BESIDE_OTHERS = True
LSEEK = 8 if os.uname().machine == "x86_64" else 62  # its number

# --- cgroups, the host ---------------------------------------------------------------------------


def released(process):
    send_line(process)
    return until_ready(process)


@test(need_root)
def of_a_cgroup_and_those_inside():
    specs = ["lseek,by=pid", "lseek", "lseek,by=comm"]
    with cgroup() as (path, inner), held("children", 5) as first, held("seeks", 70) as second, \
            held("seeks", 90) as outside:
        pids = [ready(process) for process in (first, second, outside)]
        move(pids[0], path)
        move(pids[1], inner)
        with watching("--cgroup", path, *options(specs)) as watch:
            tallies = Tallies(released(first) + "\n" + released(second))
            released(outside)
            report = watch.finish()
    same(report, tallies, *specs)


@test(need_root)
def a_folder_that_is_no_cgroup_of_version_2():
    for path in ("/tmp", "/nonexistent", "/proc"):
        done = run_memtraced("--cgroup", path, "--hist=read")
        assert done.returncode == 1 or done.returncode == 2, done.returncode
        assert path in done.stderr and len(done.stderr.splitlines()) == 1, done.stderr


@test(need_root)
def of_the_host_without_memtraced():
    specs = ["lseek,by=pid", "write,by=pid"]
    with held("children", 5) as process:
        ready(process)
        with watching("-a", *options(specs)) as watch:
            tallies = Tallies(released(process))
            watch.next_report()
            watch.next_report()
            report = watch.finish()
            own = watch.process.pid
    pids = {str(row[0]) for row in tallies.rows}
    others = [h for h in report["histograms"] if h["key"] not in pids or h["spec"] != specs[0]]
    report["histograms"] = [h for h in report["histograms"] if h not in others]
    same(report, tallies, specs[0])
    assert str(own) not in {h["key"] for h in others}, "memtraced counts its own calls"


# --- fields, sizes -------------------------------------------------------------------------------

@test(need_root)
def fields_of_the_tracepoints_of_system_calls():
    """As the kernel has them: the number of the call is the same at each."""
    specs = ["syscalls:sys_exit_lseek:ret", "syscalls:sys_enter_lseek:offset,lin=-150-150/1",
             "syscalls:sys_enter_getpriority:who",
             f"syscalls:sys_enter_lseek:__syscall_nr,lin={LSEEK}-{LSEEK + 1}/1"]
    report, tallies = calls("values", 3, specs=specs)
    rows = [(pid, comm, {"lseek": specs[0], "lseek:offset": specs[1].split(",")[0],
                         "getpriority:who": specs[2]}.get(channel, channel), value, count)
            for pid, comm, channel, value, count in tallies.rows]
    rows += [(0, "", specs[3].split(",")[0], LSEEK, tallies.total("lseek"))]
    tallies.rows = rows
    same(report, tallies, *specs)


def switches(pid):
    with open(f"/proc/{pid}/status", encoding="utf-8") as file:
        return sum(int(n) for n in re.findall(r"ctxt_switches:\s*(\d+)", file.read()))


@test(need_root, each=["120", "125", "89"], in_turn=1)
def switches_by_priority(priority):
    """The kernel counts a thread's switches where its tracepoint is."""
    spec = "sched:sched_switch:prev_prio"
    linear = spec + ",lin=60-160/1"
    with held("sleeps", 40) as process:
        pid = ready(process)
        if priority != "89":
            os.setpriority(os.PRIO_PROCESS, pid, int(priority) - 120)
        else:
            os.sched_setscheduler(pid, os.SCHED_FIFO, os.sched_param(10))
        eventually(lambda: is_blocked(pid), "not blocked")
        with watching(f"--hist={spec}", f"--hist={linear}", "-p", str(pid)) as watch:
            before = switches(pid)
            released(process)
            eventually(lambda: is_blocked(pid), "not blocked")
            true = switches(pid) - before
            report = watch.finish()
    # four sleeps a round, three where there is no poll
    assert true >= (160 if os.uname().machine == "x86_64" else 120), f"only {true} switches"
    tallies = Tallies(f"tally {pid} calls {spec} {priority} {true}")
    same(report, tallies, spec, linear)


MALLOC_SPECS = ["malloc", "malloc,lin=0-1024/8", "malloc,by=comm", "malloc,by=pid"]


@test(need_root, each=["alone", "alloc", "wrapped", "wrapped alloc"], in_turn=2)
def requested_sizes(how):
    """A wrapper that passes a request on does not make another of it."""
    more = ["--alloc"] if "alloc" in how else []
    wrapped = "wrapped" in how
    if wrapped:
        more.append("--env=LD_PRELOAD=" + target("libcounter-next.so"))
    report, tallies = calls("mallocs", 12, specs=MALLOC_SPECS + ["calloc"], more=more)
    same(report, tallies, *MALLOC_SPECS, "calloc")
    passed_on = {h["spec"]: h["passed_on"] for h in report["histograms"]}
    assert passed_on["malloc"] == (tallies.total("malloc") if wrapped else 0), passed_on
    assert passed_on["malloc,by=pid"] == passed_on["malloc"], passed_on


@test(need_root, each=["-c", "-p"], in_turn=1)
def requested_sizes_of_threads(how):
    n = scaled(60, 6000)
    if how == "-c":
        report, tallies = calls("malloc-threads", n, specs=MALLOC_SPECS, timeout=600)
    else:
        with held("malloc-threads", n) as process:
            with watching(*options(MALLOC_SPECS), "-p", str(ready(process))) as watch:
                tallies = Tallies(released(process))
                report = watch.finish()
    same(report, tallies, *MALLOC_SPECS)


# --- beside bpftrace -----------------------------------------------------------------------------

BPFTRACE = """
tracepoint:syscalls:sys_exit_lseek /pid == PID/ { @lseek = hist(args->ret); }
tracepoint:syscalls:sys_enter_lseek /pid == PID/ { @offset = lhist(args->offset, 0, 500, 50); }
"""


def bpftrace_buckets(entries):
    """bpftrace's 0 has min and max 0, 1 has min and max 1; its ends are inclusive."""
    buckets = {}
    for entry in entries:
        if entry["count"]:
            low, high = entry.get("min"), entry.get("max")
            buckets[low, None if high is None else high + 1] = entry["count"]
    return buckets


@test(need_root, need_program("bpftrace", "unshare"))
def the_same_as_bpftrace():
    """Where tracefs is not mounted, it is for bpftrace alone. In JSON, bpftrace 0.17 is right below
    2^31 only."""
    specs = ["lseek", "lseek:offset,lin=0-500/50"]
    with held("threads", 40000) as process:
        pid = ready(process)
        script = "mount -t tracefs none /sys/kernel/tracing; exec bpftrace -f json -e \"$0\""
        with started(["unshare", "-m", "sh", "-c", script, BPFTRACE.replace("PID", str(pid))]) as \
                other, watching(*options(specs), "-p", str(pid)) as watch:
            other.lines.until('{"type": "attached_probes"')
            time.sleep(0.5)  # the line comes before they are
            tallies = Tallies(released(process))
            report = watch.finish()
            other.send_signal(signal.SIGINT)
            maps = {}
            while (line := other.lines.next()) is not None:
                if line.startswith("{"):
                    maps.update(json.loads(line)["data"])
    same(report, tallies, *specs)
    for spec, name in zip(specs, ("@lseek", "@offset")):
        ours = {(b["lo"], b["hi"]): b["count"] for b in one(report, spec)["buckets"]}
        wrong = differences(spec, {None: ours}, {None: bpftrace_buckets(maps[name])})
        assert not wrong, "; ".join(wrong)


# --- what cannot be counted ----------------------------------------------------------------------

REFUSED = [
    ("nanoslep", ["nanoslep", "nanosleep"]),
    ("read:cuont", ["read", "cuont", "count"]),
    ("getpid:pid", ["getpid", "pid"]),
    ("sched:sched_swich:prev_prio", ["sched_swich", "sched_switch"]),
    ("shced:sched_switch:prev_prio", ["shced", "sched"]),
    ("sched:sched_switch:prev_pri", ["prev_pri", "prev_prio"]),
    ("sched:sched_switch:prev_comm", ["prev_comm", "not a number"]),
    ("read:__syscall_nr", ["__syscall_nr", "count"]),
]


@test(need_root, each=[spec for spec, _ in REFUSED])
def a_spec_that_does_not_exist(spec):
    done = run_memtraced(f"--hist={spec}", "--", "true")
    assert done.returncode == 1, f"exit status {done.returncode}: {done.stderr}"
    assert len(done.stderr.splitlines()) == 1, done.stderr
    for word in dict(REFUSED)[spec]:
        assert word in done.stderr, f"{word!r} is not in {done.stderr!r}"


MOUNTS = """
while umount /sys/kernel/tracing || umount -R /sys/kernel/debug; do :; done 2> /dev/null
cat /proc/self/mounts > "$0/before"
"$@" > /dev/null || exit
cat /proc/self/mounts > "$0/after"
"""


@test(need_root, need_program("unshare"))
def without_tracefs_and_no_mount_is_left():
    with scratch() as folder:
        done = run(["unshare", "-m", "sh", "-c", MOUNTS, folder, memtraced(), "--hist=read",
                    "--hist=sched:sched_switch:prev_prio", "-e", "getpid", "-o",
                    f"json:{folder}/report", "--", "true"])
        assert done.returncode == 0, done.stderr
        texts = []
        for name in ("before", "after"):
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                texts.append(file.read())
        with open(os.path.join(folder, "report"), encoding="utf-8") as file:
            assert one(schema.load(file), "read")["count"] > 0
    assert " tracefs " not in texts[0], "tracefs is still mounted"
    assert texts[0] == texts[1], "a mount is left"


# --- killed --------------------------------------------------------------------------------------


@test(need_root, need_program("bpftool"), timeout=150)
def killed_while_counting():
    """The target's sums are as always, and neither a program nor a map is left."""
    source = random.Random(20261121)
    for _ in range(scaled(4, 60)):
        with scratch() as folder:
            before = bpf_orphans()
            after = source.uniform(0, 0.8)
            with held("threads", 2000000) as process:
                send_line(process)
                pid = ready(process)
                with started([memtraced(), "-p", str(pid), "--hist=lseek:ns,by=comm",
                              "--hist=lseek,by=pid", "-e", "lseek", "--kernel", "-o",
                              f"json:{folder}/out"], cwd=folder) as tracer:
                    time.sleep(after)
                    tracer.kill()
                    tracer.wait()
                assert process_state(pid)[0] not in "Tt" and process_state(pid)[1] == 0
                tallies = Tallies(until_ready(process))
            assert tallies.total("lseek") == 2000000, tallies.total("lseek")
            eventually(none_left(before), f"left, killed after {after} s")
            assert glob.glob(folder + "/*") == [], os.listdir(folder)


@test(need_root, need_program("strace"))
def a_real_program():
    """dd reads as many blocks as it is told to, and once more for what ld.so reads."""
    with scratch() as folder:
        done = run(["strace", "-o", f"{folder}/calls", "-e", "trace=read", "dd", "if=/dev/zero",
                    "of=/dev/null", "bs=7", "count=1000"])
        assert done.returncode == 0, done.stderr
        with open(f"{folder}/calls", encoding="utf-8") as file:
            sizes = [int(n) for n in re.findall(r"^read.*= (\d+)$", file.read(), re.M)]
    report, _ = counted(["dd", "if=/dev/zero", "of=/dev/null", "bs=7", "count=1000"], "read")
    text = "\n".join(f"tally 0 dd read {size} 1" for size in sizes)
    assert len(sizes) > 1000
    same(report, Tallies(text), "read")
