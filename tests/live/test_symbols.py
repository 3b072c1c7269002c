# SPDX-License-Identifier: GPL-2.0-or-later
"""Names of code whose files change under the traced program."""

import os
import shutil

from lib import (exact, heap_sites, load_report, need_root, run_memtraced, scratch, target, test,
                 total)

CALLS, SIZE = 50, 1111


def run_replaced(how):
    """(the library's path, the sites of the calls)"""
    with scratch() as folder:
        paths = {name: os.path.join(folder, name) for name in ("program", "lib.so", "other.so")}
        shutil.copy(target("replaced"), paths["program"])
        shutil.copy(target("libplug_a.so"), paths["lib.so"])
        shutil.copy(target("libplug_b.so"), paths["other.so"])
        report_path = os.path.join(folder, "report.json")
        done = run_memtraced("-o", f"json:{report_path}", "--", paths["program"], how,
                             paths["lib.so"], paths["other.so"])
        assert done.returncode == 0, done.stderr
        report = load_report(report_path)
        exact(report)
        sites = [site for site in heap_sites(report["processes"][0])
                 if site["bytes"] == CALLS * SIZE]
        assert total(sites, "allocs") == CALLS, heap_sites(report["processes"][0])
        return paths, sites[0]["frames"]


@test(need_root, each=("unlink", "rename", "program"))
def file_that_is_deleted_or_has_lost_its_name(how):
    paths, frames = run_replaced(how)
    assert frames[1]["function"] == "leak_from_a", frames
    assert frames[1]["object"] == paths["lib.so"], frames
    assert frames[2]["function"] == "main", frames
    assert frames[2]["object"] == paths["program"], frames


@test(need_root, each=("overwrite", "truncate"))
def file_with_other_bytes_is_not_believed(how):
    """Offsets of the one file would find functions of the other."""
    paths, frames = run_replaced(how)
    assert frames[1]["function"] is None, frames
    assert frames[1]["file"] is None, frames
    assert frames[1]["object"] == paths["lib.so"], frames
    assert frames[2]["function"] == "main", frames
