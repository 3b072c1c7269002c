# SPDX-License-Identifier: GPL-2.0-or-later
"""The system's BPF programs, links and maps, as bpftool and /proc tell of them."""

import collections
import contextlib
import glob
import json
import os
import re
import time

from lib import GONE, run


def bpf_list(kind):
    """bpftool fails where one of what it lists is gone before it has looked at it."""
    path = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
    for _ in range(10):
        done = run(["bpftool", "-j", kind, "list"], env=dict(os.environ, PATH=path))
        if done.returncode == 0:
            break
        time.sleep(0.1)
    assert done.returncode == 0, f"bpftool {kind} list: {done.stderr or done.stdout}"
    return json.loads(done.stdout or "[]")


# bpf/mmap.bpf.c
CALL_PROGRAMS = {"on_exit_mmap", "on_enter_munmap", "on_exit_munmap", "on_enter_mremap",
                 "on_enter_brk", "on_enter_any", "on_exit_any"}


def traced_calls(pid):
    """The programs that a process has at tracepoints of system calls, by name."""
    names = {program["id"]: program.get("name") for program in bpf_list("prog")}
    by_descriptor = {entry["prog_id"] for entry in bpf_list("perf") if entry["pid"] == pid}
    by_link = collections.Counter()
    # Since Linux 5.15 these are links, of which bpftool does not tell where they lead.
    for path in glob.glob(f"/proc/{pid}/fdinfo/*"):
        found = None
        with contextlib.suppress(*GONE), open(path, encoding="utf-8") as info:
            found = re.search(r"^link_type:\s*perf\n(?:.*\n)*?prog_id:\s*(\d+)$", info.read(), re.M)
        if found:
            by_link[names.get(int(found[1]))] += 1
    # One of its links is at the tracepoint of signals (programs_attach_signals).
    by_link["on_exit_mmap"] -= 1
    return ({names.get(i) for i in by_descriptor} | set(+by_link)) & CALL_PROGRAMS


def bpf_held():
    """What processes hold by descriptors, as (kind, id)."""
    held = set()
    for path in glob.glob("/proc/[0-9]*/fdinfo/*"):
        with contextlib.suppress(OSError), open(path, encoding="ascii", errors="replace") as file:
            held |= {(kind, int(number)) for kind, number in
                     re.findall(r"^(prog|link|map)_id:\s*(\d+)$", file.read(), re.M)}
    return held


def bpf_orphans():
    """The system's BPF programs, links and maps that no living process holds: what a tracer of
    another may have at the same time does not count."""
    listed = {kind: bpf_list(kind) for kind in ("link", "prog", "map")}
    held = bpf_held()
    held |= {("prog", link["prog_id"]) for link in listed["link"]
             if ("link", link["id"]) in held and "prog_id" in link}
    for prog in listed["prog"]:
        if ("prog", prog["id"]) in held:
            held |= {("map", number) for number in prog.get("map_ids", [])}
    # An array of programs that somebody opens by its id, as bpftool does, just when its last
    # descriptor is closed stays for good, whosoever's it was (Linux 6.18: 2,501 of 3,000 empty
    # ones that were made and closed beside a loop that lists maps).
    held |= {("map", item["id"]) for item in listed["map"] if item["type"] == "prog_array"}
    return {(kind, item["id"]) for kind, items in listed.items() for item in items} - held


def none_left(before):
    """Asks whether something is an orphan still that is one now and was none `before`; what others
    leave meanwhile is not ours."""
    left = bpf_orphans() - before

    def is_nothing():
        left.intersection_update(bpf_orphans())
        return not left
    is_nothing.left = left
    return is_nothing


def held_maps(pid, *names):
    """The entries of a process's maps of these names."""
    path = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
    ids = set()
    for info in glob.glob(f"/proc/{pid}/fdinfo/*"):
        with contextlib.suppress(*GONE), open(info, encoding="ascii", errors="replace") as file:
            ids |= {int(number) for number in re.findall(r"^map_id:\s*(\d+)$", file.read(), re.M)}
    entries = []
    for item in bpf_list("map"):
        if item["id"] in ids and item.get("name") in names:
            done = run(["bpftool", "-j", "map", "dump", "id", str(item["id"])],
                       env=dict(os.environ, PATH=path))
            entries += json.loads(done.stdout)
    return entries


def known_threads(pid):
    """How many threads memtraced's programs keep the state of (bpf/thread.bpf.h)."""
    return sum(entry["formatted"]["value"].get("tid", 1) != 0
               for entry in held_maps(pid, "thread_places", "threads"))
