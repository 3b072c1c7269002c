# SPDX-License-Identifier: GPL-2.0-or-later
"""Names of code whose files change under the traced program."""

import os
import shutil
import sys

from lib import (Skip, exact, heap_sites, load_report, need_program, need_root, run, run_memtraced,
                 scratch, target, test, total)

BESIDE_OTHERS = True
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


@test(need_root, each=("unlink", "rename", "program"), in_turn=1)
def file_that_is_deleted_or_has_lost_its_name(how):
    paths, frames = run_replaced(how)
    assert frames[1]["function"] == "leak_from_a", frames
    assert frames[1]["object"] == paths["lib.so"], frames
    assert frames[2]["function"] == "main", frames
    assert frames[2]["object"] == paths["program"], frames


@test(need_root, each=("overwrite", "truncate"), in_turn=1)
def file_with_other_bytes_is_not_believed(how):
    """Offsets of the one file would find functions of the other."""
    paths, frames = run_replaced(how)
    assert frames[1]["function"] is None, frames
    assert frames[1]["file"] is None, frames
    assert frames[1]["object"] == paths["lib.so"], frames
    assert frames[2]["function"] == "main", frames


# Executes the first file, which loads the second: both are in memory alone by then.
FROM_MEMORY = """
import os, sys
def copy(path):
    fd = os.memfd_create("my memfd;(x)", 0)
    with open(path, "rb") as file:
        os.write(fd, file.read())
    return fd
program, library = map(copy, sys.argv[1:3])
os.execve(program, [sys.argv[3], "program", f"/proc/self/fd/{library}", "-"], os.environ)
"""


@test(need_root)
def program_and_library_in_memory_alone():
    with scratch() as folder:
        report_path, name = os.path.join(folder, "report.json"), os.path.join(folder, "name")
        with open(name, "wb"):
            pass
        done = run_memtraced("-o", f"json:{report_path}", "--", sys.executable, "-c", FROM_MEMORY,
                             target("replaced"), target("libplug_a.so"), name)
        assert done.returncode == 0, done.stderr
        report = load_report(report_path)
    exact(report)
    sites = [site for process in report["processes"] for site in heap_sites(process)
             if site["bytes"] == CALLS * SIZE]
    assert total(sites, "allocs") == CALLS, report["processes"]
    frames = sites[0]["frames"]
    for frame, function, file in ((frames[1], "leak_from_a", "plugin.c"),
                                  (frames[2], "main", "replaced.c")):
        assert frame["function"] == function, frames
        assert os.path.basename(frame["file"]) == file and frame["line"] > 0, frames
        assert frame["object"].startswith("/memfd:my memfd;(x)"), frames


def need_zstd_sections():
    if "zstd" not in run(["objcopy", "--help"]).stdout:
        raise Skip("objcopy cannot compress by zstd")


@test(need_root, need_program("objcopy"), need_zstd_sections, each=("none", "zlib", "zstd"),
      in_turn=1)
def lines_of_compressed_debug_sections(how):
    with scratch() as folder:
        report_path, name = os.path.join(folder, "report.json"), os.path.join(folder, "program")
        library = os.path.join(folder, "library.so")
        for source, path in (("replaced", name), ("libplug_a.so", library)):
            done = run(["objcopy", f"--compress-debug-sections={how}", target(source), path])
            assert done.returncode == 0, done.stderr
        done = run_memtraced("-o", f"json:{report_path}", "--", name, "program", library, "-")
        assert done.returncode == 0, done.stderr
        report = load_report(report_path)
    exact(report)
    frames = [site["frames"] for site in heap_sites(report["processes"][0])
              if site["bytes"] == CALLS * SIZE][0]
    for frame, function, file in ((frames[1], "leak_from_a", "plugin.c"),
                                  (frames[2], "main", "replaced.c")):
        assert frame["function"] == function, frames
        assert os.path.basename(frame["file"] or "") == file and frame["line"] > 0, frames
