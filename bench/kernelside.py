# SPDX-License-Identifier: GPL-2.0-or-later
"""What memtraced holds and uses while it runs: kernel memory of its maps with 10^6 live blocks, the
daemon's memory and CPU; and the yardsticks of the kernel itself."""

import json
import os
import re
import signal
import subprocess
import time

from columns import PROBES
from lines import Line
from measure import Failed, Running, forget_cost, read_cost, used_s, wait_until
from rows import DEPTHS

BLOCKS = 1_000_000
FEW_PROCESSES, QUICK_PROCESSES, MANY_PROCESSES = 500, 1500, 3000
LIMIT_S = 60
SETTLE_S = 1.0
UNDER_WAY_S = 0.1


def bpftool(*words):
    """What it prints as JSON."""
    path = os.environ["PATH"] + ":/usr/sbin"
    done = subprocess.run(["bpftool", "-j", *words], capture_output=True, text=True, check=False,
                          env=dict(os.environ, PATH=path))
    if done.returncode != 0:
        raise Failed("bpftool: " + done.stderr[-300:])
    return json.loads(done.stdout)


def maps_of(pid):
    """{name: bytes} of the BPF maps that a process holds, as the kernel accounts for them."""
    sizes = {}
    folder = f"/proc/{pid}/fdinfo"
    for name in os.listdir(folder):
        try:
            with open(os.path.join(folder, name), encoding="ascii") as file:
                found = dict(re.findall(r"^(map_id|memlock):\s*(\d+)$", file.read(), re.M))
        except FileNotFoundError:
            continue
        if len(found) == 2:
            sizes[int(found["map_id"])] = int(found["memlock"])
    names = {entry["id"]: entry.get("name", "") for entry in bpftool("map", "show")}
    return {names.get(number, str(number)): size for number, size in sizes.items()}


GONE_LIMIT_S = 2


def probes_of_others():
    """How many programs that sit on probes and tracepoints there are, while no tool of ours runs:
    what they cost is in every column, so a table says that they were there. The kernel takes what
    the last tool attached apart after its end, for which this waits."""
    kinds = {"kprobe", "tracepoint", "raw_tracepoint", "raw_tracepoint_writable", "tracing"}
    deadline = time.monotonic() + GONE_LIMIT_S
    while True:
        count = sum(entry["type"] in kinds for entry in bpftool("prog", "show"))
        if not count or time.monotonic() > deadline:
            return count
        time.sleep(0.05)


# Tracepoints (40 ms each, one after the other, under a lock that the next attach needs) and large
# maps are taken apart in kernel threads after the programs are gone. Without the pause --hist read
# took 130 ms until main after a run with allocations, and 25 after another of its kind.
REST_S = 0.5


def rest():
    """When the kernel has done with the last tool: before what is measured by the clock."""
    probes_of_others()
    time.sleep(REST_S)


def resident_kib(pid):
    """(of its own, of BPF maps that it has mapped, which are the kernel's and counted there)"""
    own = maps = 0
    is_map = False
    with open(f"/proc/{pid}/smaps", encoding="ascii", errors="replace") as file:
        for line in file:
            if re.match(r"[0-9a-f]+-[0-9a-f]+ ", line):
                is_map = "bpf-map" in line
            elif line.startswith("Rss:") and is_map:
                maps += int(line.split()[1])
            elif line.startswith("Rss:"):
                own += int(line.split()[1])
    return own, maps


def measure_memory(place):
    ready = place.file("ready")
    if os.path.exists(ready):
        os.unlink(ready)
    argv = [place.memtraced, "-q", *PROBES, "-o", f"json:{place.file('report.json')}", "--",
            place.program("blocks"), str(BLOCKS), ready]
    with Running(argv, place.file("tool.log")) as tool:
        wait_until(lambda: os.path.exists(ready), "making the blocks")
        time.sleep(SETTLE_S)
        maps, (own, mapped) = maps_of(tool.pid), resident_kib(tool.pid)
        # Interrupted, memtraced would leave it running.
        os.kill(wait_until(lambda: descendant(tool.pid, "blocks"), "its process"), signal.SIGTERM)
        tool.wait(LIMIT_S)
    return [
        Line("memory.block", "kernel memory of the maps of blocks, for each of 10^6 live blocks",
             [sum(size for name, size in maps.items() if name.startswith("block")) / BLOCKS],
             "bytes"),
        Line("memory.maps", "kernel memory of all maps then, for each block",
             [sum(maps.values()) / BLOCKS], "bytes"),
        Line("memory.daemon", "memtraced's resident memory then, but for mapped BPF maps",
             [own / 1024], "MiB", f"mapped BPF maps {mapped / 1024:.1f} MiB; peak of both with the "
             f"report {tool.rss_kib / 1024:.1f} MiB"),
    ]


def memory_with(place, count):
    """(KiB of all maps, KiB of its own) when so many processes live."""
    ready = place.file("ready")
    if os.path.exists(ready):
        os.unlink(ready)
    argv = [place.memtraced, "-q", *PROBES, "-o", f"json:{place.file('report.json')}", "--",
            place.program("processes"), str(count), ready]
    with Running(argv, place.file("tool.log")) as tool:
        wait_until(lambda: os.path.exists(ready), "starting the processes", LIMIT_S)
        time.sleep(SETTLE_S)
        maps, (own, _) = sum(maps_of(tool.pid).values()) / 1024, resident_kib(tool.pid)
        os.kill(wait_until(lambda: descendant(tool.pid, "processes"), "its process"),
                signal.SIGTERM)
        tool.wait(LIMIT_S)
    return maps, own


def measure_processes(place, rounds, quick):
    """Of each process beside the first few: what memtraced takes at its start, and gives back
    later, is more than a few hundred processes take."""
    few, many = FEW_PROCESSES, QUICK_PROCESSES if quick else MANY_PROCESSES
    maps, own = [], []
    for _ in range(rounds):
        before, after = memory_with(place, few), memory_with(place, many)
        maps.append((after[0] - before[0]) / (many - few))
        own.append((after[1] - before[1]) / (many - few))
    note = f"{many} processes and {few}, 100 blocks each"
    return [Line("memory.process.maps", "kernel memory of all maps for each live process", maps,
                 "KiB", note),
            Line("memory.process.daemon", "memtraced's resident memory for each of them", own,
                 "KiB", note)]


def read_proc(path):
    """Empty when the process has ended."""
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            return file.read()
    except (FileNotFoundError, ProcessLookupError):
        return ""


def descendant(pid, name):
    """The process of this name below another, or None."""
    for child in map(int, read_proc(f"/proc/{pid}/task/{pid}/children").split()):
        if read_proc(f"/proc/{child}/comm").strip() == name:
            return child
        found = descendant(child, name)
        if found:
            return found
    return None


def measure_daemon(place, quick):
    """Over a stretch in the middle of a run of the pair loop, without start and end."""
    pairs, stretch_s = (1_000_000, 1.0) if quick else (2_500_000, 3.0)
    argv = [place.memtraced, "-q", *PROBES, "-o", f"json:{place.file('report.json')}", "--",
            place.program("timed"), "-c", str(place.target_cpu), place.file("cost"),
            place.program("pairs"), "4", "1", str(pairs)]
    forget_cost(place)
    with Running(argv, place.file("tool.log")) as tool:
        loop = wait_until(lambda: descendant(tool.pid, "pairs"), "the pair loop")
        wait_until(lambda: used_s(loop) > UNDER_WAY_S, "the pair loop under way")
        start, before, loop_before = time.monotonic(), used_s(tool.pid), used_s(loop)
        time.sleep(stretch_s)
        if os.path.exists(place.file("cost")):
            raise Failed(f"the pair loop took less than {stretch_s:g} s")
        share = (used_s(tool.pid) - before) / (time.monotonic() - start)
        running = (used_s(loop) - loop_before) / (time.monotonic() - start)
        tool.wait(LIMIT_S)
    cost, _ = read_cost(place)
    rate = 2 * pairs / cost.cpu_s * running
    return [Line("daemon.cpu", "memtraced's CPU at 10^6 events/s", [share / rate * 1e8],
                 "% of a core", f"measured {share * 100:.2f} % at {rate / 1e6:.2f} M events/s")]


def measure_yardsticks(place, rounds, quick):
    hits = 20_000 if quick else 100_000
    found = {}
    for _ in range(rounds):
        done = subprocess.run([place.program("yardstick"), str(hits), *map(str, DEPTHS)],
                              capture_output=True, text=True, timeout=LIMIT_S, check=False,
                              preexec_fn=lambda: os.sched_setaffinity(0, {place.target_cpu}))
        if done.returncode != 0:
            raise Failed("yardstick: " + done.stderr[-300:])
        for name, value in re.findall(r"^(\S+) (-?[\d.]+)$", done.stdout, re.M):
            found.setdefault(name, []).append(float(value))
    lines = [Line(f"stackid.{depth}", f"bpf_get_stackid adds, {depth} frames, frame pointers",
                  found[f"stackid-{depth}"], "ns") for depth in DEPTHS]
    return lines + [
        Line("tracepoint.attach", "one empty program on syscalls:sys_exit_read: attach",
             [ns / 1e6 for ns in found["attach"]], "ms"),
        Line("tracepoint.close", "the same: close, the kernel's own tear-down",
             [ns / 1e6 for ns in found["close"]], "ms"),
        Line("tracepoint.read", "the same: what it adds to a read", found["exit-read"], "ns"),
    ]
