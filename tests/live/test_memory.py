# SPDX-License-Identifier: GPL-2.0-or-later
"""What memtraced itself takes: --memory-limit, and what happens at its bounds."""

import os
import re
import time

import schema

from bpf_objects import bpf_list
from cgroups import memory_cgroup
from lib import (GONE, as_users_do, blocks_lost, counting, exact, heap_sites, load_report,
                 memtraced, need_kernel, need_long, need_root, need_speed, read_counts, run, scaled,
                 scratch, started, target, test, trace, with_function)

BESIDE_OTHERS = True
MIB = 1 << 20


def maps_bytes(pid):
    """Kernel memory of the BPF maps that a process holds, each once. Before Linux 6.4 that is what
    they would take if they were full."""
    sizes = {}
    for name in os.listdir(f"/proc/{pid}/fdinfo"):
        try:
            with open(f"/proc/{pid}/fdinfo/{name}", encoding="ascii") as file:
                found = dict(re.findall(r"^(map_id|memlock):\s*(\d+)$", file.read(), re.M))
        except GONE:
            continue
        if len(found) == 2:
            sizes[found["map_id"]] = int(found["memlock"])
    return sum(sizes.values())


def own_bytes(pid):
    """Resident memory but for mapped BPF maps, which are the kernel's and counted there."""
    total, is_map = 0, False
    with open(f"/proc/{pid}/smaps", encoding="ascii", errors="replace") as file:
        for line in file:
            if re.match(r"[0-9a-f]+-[0-9a-f]+ ", line):
                is_map = "bpf-map" in line
            elif line.startswith("Rss:") and not is_map:
                total += int(line.split()[1]) * 1024
    return total


def all_bytes(pid):
    return maps_bytes(pid) + own_bytes(pid)


def most_until_its_end(process, bytes_of=all_bytes):
    most = samples = 0
    while process.poll() is None:
        try:
            most = max(most, bytes_of(process.pid))
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            break
        samples += 1
        time.sleep(0.02)
    return most, samples


@test(need_root, need_kernel(6, 4), each=["96M", "1G"], in_turn=1, timeout=180)
def a_limit_holds_with_a_million_live_blocks(limit):
    if limit == "1G":
        need_long()
    # Of 1G one process has room for some 2,200,000.
    blocks = scaled(1000000, 2000000, 20000)
    with scratch() as folder:
        path = os.path.join(folder, "report.json")
        command = [memtraced(), "-q", "-o", f"json:{path}", f"--memory-limit={limit}", "--",
                   target("million"), str(blocks)]
        with started(command, env=dict(os.environ, **counting(folder))) as process:
            most, samples = most_until_its_end(process)
            assert process.wait(60) == 0
        with open(path, encoding="utf-8") as file:
            report = schema.load(file)
        (true,), = read_counts(os.path.join(folder, "all")).values()
    schema.check(report)
    allowed = {"96M": 96, "1G": 1024}[limit] * MIB
    assert samples > 5 and 20 * MIB < most <= allowed, (most / MIB, samples)
    alloc, = [process["alloc"] for process in report["processes"]]
    lost = blocks_lost(report)
    assert alloc["allocs"] + lost == true["allocs"], (alloc, lost, true)
    assert (lost == 0) == report["coverage"]["exact"], report["coverage"]
    assert limit != "1G" or lost == 0, lost
    # What was lost is freed, too: that is no error.
    errors, = [process["heap_errors"] for process in report["processes"]]
    assert errors == [], errors[:1]
    assert alloc["frees"] + alloc["unknown_frees"] == true["frees"], (alloc, true)


def within(limit, *command, bytes_of=all_bytes):
    """(the report, memory at its largest) under --memory-limit, of a run that was looked at often
    enough."""
    seen = []
    while len(seen) < 5:
        with scratch() as folder:
            path = os.path.join(folder, "report.json")
            with started([memtraced(), "-q", "-o", f"json:{path}", f"--memory-limit={limit}", "--",
                          *command]) as process:
                most, samples = most_until_its_end(process, bytes_of)
                assert process.wait(60) == 0, process.returncode
            if samples > 5:
                return load_report(path), most
        seen.append(samples)
    raise AssertionError(f"looked at {seen} times")


@test(need_root, need_kernel(6, 4), need_speed, each=["96M", "1G"], in_turn=1, timeout=180)
def a_limit_holds_with_more_places_than_there_is_room_for(limit):
    """What finds no room for its place is of a place that stands for all of these, is counted, and
    no place is shown that has nothing."""
    depth = scaled(13, 15)
    report, most = within(limit, target("branches"), str(depth))
    assert most <= {"96M": 96, "1G": 1024}[limit] * MIB, most / MIB
    (process,) = report["processes"]
    places = with_function(heap_sites(process), "branch")
    others = sum(site["allocs"] for site in with_function(heap_sites(process), "[other stacks]"))
    said = report["coverage"]["lost"].get("process-stacks-full", 0)
    assert sum(site["allocs"] for site in places) + others == 1 << depth, (len(places), others)
    assert process["alloc"]["allocs"] == 1 << depth, process["alloc"]
    assert all(site["allocs"] == site["live_blocks"] == 1 for site in places)
    assert said == others and (others > 0) == (limit == "96M"), (said, others)
    exact(report)


@test(need_root, need_kernel(6, 4), timeout=60)
def maps_take_memory_as_they_fill():
    few, many = (within("1G", target("branches"), depth, bytes_of=maps_bytes)[1]
                 for depth in ("4", "14"))
    # Hashes of 16,384 stacks; their sites are in a table that is there at once.
    assert few + (1 << 20) < many, (few / MIB, many / MIB)


@test(need_root, need_kernel(6, 4), each=["parent", "child"], in_turn=1, timeout=120)
def records_of_blocks_that_forked_processes_share_are_bounded(first):
    """Who frees first leaves one for each block, be it for the child or for its own books."""
    blocks = 40000
    run = trace([target("shared_frees"), first, str(blocks)], "--memory-limit=96M", library=None)
    processes = {process["pid"]: process for process in run.report["processes"]}
    (parent_pid,), (child_pid,) = (re.findall(rf"{who} (\d+)", run.stdout)
                                   for who in ("parent", "child"))
    parent, child = processes[int(parent_pid)], processes[int(child_pid)]
    lost = run.report["coverage"]["lost"]
    assert set(lost) == {"shared-block-record"} and not run.report["coverage"]["exact"], lost
    assert parent["heap_errors"] == child["heap_errors"] == [], child["heap_errors"][:1]
    assert parent["alloc"]["frees"] == blocks and parent["alloc"]["unknown_frees"] == 0, parent
    assert child["alloc"]["frees"] + child["alloc"]["unknown_frees"] == blocks, child["alloc"]
    if first == "parent":
        assert child["alloc"]["unknown_frees"] == lost["shared-block-record"] > 0, (child, lost)


@test(need_root, each=["parent", "child"], in_turn=1, timeout=120)
def with_room_for_them_all_frees_of_shared_blocks_are_counted(first):
    run = trace([target("shared_frees"), first, "40000"], library=None)
    exact(run.report)
    for process in run.report["processes"]:
        assert process["alloc"]["frees"] == 40000, process["alloc"]
        assert process["alloc"]["unknown_frees"] == 0 and process["heap_errors"] == [], process


@test(need_root, need_kernel(5, 11))
def a_lack_of_memory_for_maps_says_what_needs_less():
    """Before, their memory is in no cgroup."""
    with memory_cgroup(64 * MIB) as (_, inner, _path):
        done = run(["sh", "-c", 'echo $$ >"$0/cgroup.procs" && exec "$@"', inner, memtraced(),
                    "--memory-limit=1G", "--", "true"])
    assert done.returncode == 2, done
    assert done.stderr == ("memtraced: cannot load the BPF programs: not enough memory for "
                           "their maps; a smaller --memory-limit or --max-blocks needs "
                           "less\n"), done.stderr


def maps_of_stacks(pid):
    """The entries of each map of stacks that a process holds."""
    held = set()
    for name in os.listdir(f"/proc/{pid}/fdinfo"):
        try:
            with open(f"/proc/{pid}/fdinfo/{name}", encoding="ascii") as file:
                held |= set(re.findall(r"^map_id:\s*(\d+)$", file.read(), re.M))
        except GONE:
            continue
    return sorted(item["max_entries"] for item in bpf_list("map")
                  if str(item["id"]) in held and item.get("name") == "stacks")


def let_in():
    """The first run of a program since the boot finds out whether what counts calls can wait."""
    done = run([memtraced(), "-q", "-o", "json:/dev/null", "--", "true"])
    assert done.returncode == 0, done.stderr


@test(need_root)
def no_map_of_stacks_is_made_beside_one_that_has_room_for_all():
    """The library cannot count this program, so that what counts calls is loaded at its exec."""
    with as_users_do(), scratch() as folder:
        let_in()
        with started([memtraced(), "-q", "-o", f"json:{folder}/report.json", "--alloc",
                      "--page-faults", "--", "/bin/sh", "-c", f"{target('waves-static')}; true"]) \
                as process:
            process.lines.until("ready")
            held = maps_of_stacks(process.pid)
            assert held == [1 << 20], held
            process.stdin.close()
            assert process.wait(60) == 0


@test(need_root, each=["library", "probes"], timeout=120)
def stacks_of_mappings_beyond_the_first_map_are_counted(exact):
    """There is room for 131,072 until calls are counted, of which one process may have three
    quarters; with probes there is room for a million by then. 131,072 and a few are made."""
    with as_users_do(), scratch() as folder:
        path = os.path.join(folder, "report.json")
        let_in()
        done = run([memtraced(), "-q", "-o", f"json:{path}", f"--exact={exact}", "--",
                    target("deep_stacks"), "17", "18", "inner", "maps"])
        assert done.returncode == 0, done.stderr
        with open(path, encoding="utf-8") as file:
            report = schema.load(file)
    (process,), lost = report["processes"], report["coverage"]["lost"]
    assert process["alloc"].get("by_library", False) == (exact == "library"), process["alloc"]
    assert process["mmap"]["allocs"] >= 1 << 17, process["mmap"]
    assert "stack-map-full" not in lost, lost
    if exact == "library":
        assert lost["process-stacks-full"] >= (1 << 17) // 4, lost
    else:
        assert "process-stacks-full" not in lost, lost
