# SPDX-License-Identifier: GPL-2.0-or-later
"""Viewers with windows: the sums on their screens are those that we report."""

import os
import shutil

import clients
import window
from lib import (heap_sites, load_report, memtraced, need_long, need_program, need_root,
                 run_memtraced, scratch, target, test, total)

BESIDE_OTHERS = True


def traced(folder, form, *options):
    """The file for a viewer, with the process in its name, and the process in the report."""
    path, report = os.path.join(folder, "data"), os.path.join(folder, "json")
    done = run_memtraced(*options, "-o", f"{form}:{path}", "-o", f"json:{report}", "--",
                         target("leak"), "1200", "500")
    assert done.returncode == 0, done.stderr
    process, = load_report(report)["processes"]
    return path, process


def compare(client, form, found, ours):
    for what, shown in found.items():
        clients.same(client, form, what, shown, ours[what])


@test(need_root, need_long, need_program("heaptrack_gui"), window.need_windows)
def heaptrack_gui_shows_what_we_report():
    with scratch() as folder:
        path, process = traced(folder, "heaptrack")
        alloc = process["alloc"]
        ours = {"allocations": str(alloc["allocs"]), "temporary": str(alloc["temporary"]),
                "peak": f"{alloc['peak_bytes'] / 1000:.1f}kB",
                "leaked": f"{alloc['live_bytes'] / 1000:.1f}kB"}
        found = window.shown(folder, ["heaptrack_gui", path], {
            "allocations": r"\b(\d+) \(\d+/s\)", "temporary": r"\b(\d+) \(50%",
            "peak": r"([\d.]+kB) after", "leaked": r"total memory leaked:\s+([\d.]+kB)",
        }, clients.picture("heaptrack_gui"))
        compare("heaptrack_gui", "heaptrack", found, ours)


@test(need_root, need_long, need_program("massif-visualizer"), window.need_windows)
def massif_visualizer_shows_what_we_report():
    with scratch() as folder:
        path, process = traced(folder, "massif", "--sample-interval=0.1")
        found = window.shown(folder, ["massif-visualizer", path],
                             {"peak": r"Peak of ([\d.]+ KiB) at snapshot"},
                             clients.picture("massif-visualizer"))
        compare("massif-visualizer", "massif", found,
                {"peak": f"{process['alloc']['peak_bytes'] / 1024:.1f} KiB"})
    assert total(heap_sites(process), "peak_bytes") == process["alloc"]["peak_bytes"]


@test(need_root, need_long, need_program("kcachegrind"), window.need_windows)
def kcachegrind_shows_what_we_report():
    with scratch() as folder:
        path, process = traced(folder, "callgrind")
        # it tells files by their names
        os.rename(path, os.path.join(folder, "callgrind.out"))
        with open(os.path.join(folder, "kcachegrindrc"), "w", encoding="ascii") as file:
            file.write("[TipOfDay]\nRunOnStart=false\n")
        found = window.shown(folder, ["kcachegrind", os.path.join(folder, "callgrind.out")],
                             {"Live bytes": r"Total Live bytes Cost: (\d+)"},
                             clients.picture("kcachegrind"))
        compare("kcachegrind", "callgrind", found,
                {"Live bytes": str(total(process["sites"], "live_bytes"))})


@test(need_root, need_long, need_program("hotspot"), window.need_windows)
def hotspot_shows_what_we_report():
    with scratch() as folder:
        path, process = traced(folder, "perf-data")
        sites = process["sites"]
        ours = {"Live": f"{total(sites, 'live_bytes'):.3E}",
                "LiveBlocks": str(total(sites, "live_blocks")),
                "Allocs": str(total(sites, "allocs")),
                "Temporary": str(process["alloc"]["temporary"])}
        found = window.shown(folder, ["hotspot", path],
                             {name: rf"memtraced-{name}:\s+([\d.E+]+) \(" for name in ours},
                             clients.picture("hotspot"))
        # beyond some digits it writes 1.234E+05
        ours = {name: f"{int(value):.3E}" if "E" in found[name] and "E" not in value else value
                for name, value in ours.items()}
        compare("hotspot", "perf-data", found, ours)


QT_CREATOR = """[Analyzer]
Analyzer.Valgrind.ValgrindExecutable={valgrind}

[General]
SuppressedWarnings=TakeUITour, LinkWithQtInstallation

[KeyboardShortcutsV2]
Memcheck.Local=F12
"""
CMAKE = """cmake_minimum_required(VERSION 3.16)
project(lost C)
set(CMAKE_BUILD_TYPE Debug)
add_executable(lost lost.c)
"""


def qt_creators_memory_analyzer(valgrind, picture):
    """What it shows of a project that it has configured, built and run under this program."""
    with scratch() as folder:
        os.mkdir(os.path.join(folder, "QtProject"))
        os.mkdir(os.path.join(folder, "lost"))
        for path, text in (("QtProject/QtCreator.ini", QT_CREATOR.format(valgrind=valgrind)),
                           ("lost/CMakeLists.txt", CMAKE)):
            with open(os.path.join(folder, path), "w", encoding="ascii") as file:
                file.write(text)
        shutil.copy(os.path.join(os.path.dirname(__file__), "documents", "lost.c"),
                    os.path.join(folder, "lost"))
        return window.shown(
            folder, ["qtcreator", "-noload", "Welcome", "-noload", "ClangCodeModel",
                     os.path.join(folder, "lost", "CMakeLists.txt")],
            {"issues": r"Memory Analyzer Tool finished. (\d+) issue",
             "leak": r"(\d+ \(\d+ direct, \d+ indirect\) bytes in \d+ blocks are definitely lost)",
             "line": r"(lost\.c:\d+)"}, picture, timeout=120,
            # it has no run to offer until cmake is done
            keys=(("Configure Project", "Qt Creator", "alt+c"),
                  (r"(?s)\A(?!.*Memcheck).*no document", "Qt Creator", "F12")))


@test(need_root, need_long, need_program("qtcreator", "xdotool", "cmake", "valgrind"),
      window.need_windows, timeout=400)
def qt_creator_shows_what_it_shows_of_valgrind():
    with scratch() as folder:
        link = os.path.join(folder, "valgrind-memtraced")
        os.symlink(memtraced(), link)
        theirs, ours = (qt_creators_memory_analyzer(program, clients.picture(f"qtcreator-{name}"))
                        for name, program in (("valgrind", shutil.which("valgrind")),
                                              ("memtraced", link)))
    for what, shown in ours.items():
        clients.same("Qt Creator", "XML", what, shown, theirs[what])
