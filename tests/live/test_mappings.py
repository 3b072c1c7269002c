# SPDX-License-Identifier: GPL-2.0-or-later
"""--mappings: who maps what is still mapped, as the target counts it, without probes."""

import os

from lib import load_report, need_root, refused, run_memtraced, scratch, target, test

BESIDE_OTHERS = True


def mapped_by(*command):
    """What the target told, and the sites of its only process."""
    with scratch() as folder:
        path = os.path.join(folder, "json")
        done = run_memtraced("--mappings", "-o", f"json:{path}", "--", *command)
        assert done.returncode == 0, done.stderr
        report = load_report(path, allocations=False)
    told = {key: int(value) for key, value in (line.split() for line in done.stdout.splitlines()
                                               if len(line.split()) == 2)}
    (process,) = report["processes"]
    assert report["coverage"]["exact"], report["coverage"]
    assert report["coverage"]["all_stacks_complete"], report["coverage"]
    return told, process["sites"]


def live_under(sites, *functions):
    return sum(site["live_bytes"] for site in sites
               if any(frame["function"] in functions for frame in site["frames"]))


@test(need_root, timeout=100, first=True)
def regions_are_counted_where_they_are_mapped():
    """Partial unmaps, moves, and mappings over others; what malloc maps, too."""
    told, sites = mapped_by(target("maps"), "20")
    mremaps = sum(site["live_bytes"] for site in sites
                  if site["frames"][0]["function"] == "mremap"
                  and any(frame["function"] == "move_about" for frame in site["frames"]))
    live = live_under(sites, "map_region") + mremaps
    assert live == told["mmap_live"], (live, told)
    # ten blocks of 900,000 bytes
    assert live_under(sites, "malloc", "realloc", "__libc_realloc") >= 9_000_000, sites


@test(need_root, timeout=100, every_kernel=True)
def what_brk_adds_is_counted_until_it_is_given_back():
    told, sites = mapped_by(target("segments"), "256")
    assert live_under(sites, "grow") == told["brk_live"], (live_under(sites, "grow"), told)
    assert {site["frames"][0]["function"] for site in sites
            if any(frame["function"] == "grow" for frame in site["frames"])} == {"brk"}, sites


@test(need_root)
def allocations_have_their_own_mappings():
    refused(run_memtraced("--mappings", "--alloc", "-p", "1"), 1, "--mappings")
