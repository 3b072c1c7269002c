# SPDX-License-Identifier: GPL-2.0-or-later
"""Code that is interrupted in large files: their rows are those of any instruction at once."""

import os
import shutil

from hists import watching
from lib import (Skip, load_report, memtraced, need_program, need_root, need_sampling, run, scratch,
                 send_line, started, target, test)
from test_cpu import under
from test_unwind import check_stacks, keeping_rows_in, need_x86_64

BESIDE_OTHERS = True
C_FILE = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	for (int i = 0; i < argc; i++)
		printf("%zu %d\\n", strlen(argv[i]), atoi(argv[i]));
	return getpid();
}
"""


def trace(cache, options, command, allocations=False, env=None):
    """With the folder as the one where rows are kept: the report."""
    path = os.path.join(cache, os.pardir, "report.json")
    done = run([*keeping_rows_in(cache), memtraced(), *options, "-o", f"json:{path}", "--",
                *command], env=env)
    assert done.returncode == 0, done.stderr
    return load_report(path, allocations=allocations)


def new_cache(folder):
    cache = os.path.join(folder, "cache")
    os.mkdir(cache, 0o700)
    return cache


def check_whole(report, function, least):
    """None is cut for want of rows, and those of the function are many, and led up to main."""
    event, = report["events"]
    assert "pruned" not in report["coverage"]["cut"], report["coverage"]
    found = [[frame["function"] for frame in stack["frames"]] for stack in event["stacks"]]
    assert under(event, function) >= least, found
    assert all("main" in functions for functions in found if function in functions), found


@test(need_root, need_sampling, need_program("unshare"), timeout=100)
def samples_of_a_large_program_are_whole_from_the_first_on():
    """Where its rows must be made, and where they are kept."""
    with scratch() as folder:
        cache = new_cache(folder)
        for _ in ("made", "kept"):
            report = trace(cache, ["--cpu=500"], [target("large"), "spin", "300"])
            check_whole(report, "spins", 30)


@test(need_root, need_sampling, need_program("unshare"), timeout=100)
def page_faults_of_a_large_program_are_whole_from_the_first_on():
    with scratch() as folder:
        report = trace(new_cache(folder), ["--page-faults=1"], [target("large"), "touch", "500"])
        check_whole(report, "touches", 500)


@test(need_root, need_x86_64, need_program("unshare"), timeout=100)
def a_tracepoint_may_be_one_that_interrupts():
    with scratch() as folder:
        report = trace(new_cache(folder), ["-e", "exceptions:page_fault_user"],
                       [target("large"), "touch", "500"])
        check_whole(report, "touches", 500)


@test(need_root, need_sampling, each=["--cpu=500", "--page-faults=1"], in_turn=1, timeout=100)
def of_a_large_program_that_runs_already(option):
    mode, function = {"--cpu=500": (["spin", "300"], "spins"),
                      "--page-faults=1": (["touch", "500"], "touches")}[option]
    with started([target("large"), "wait", *mode]) as process:
        process.lines.until("ready")
        with watching("-p", str(process.pid), option) as watch:
            send_line(process)
            process.lines.until("ready")
            report = watch.finish()
        send_line(process)
    check_whole(report, function, 30)


@test(need_root, need_sampling, need_program("unshare", "clang"), timeout=100)
def a_real_one_with_several_large_libraries():
    with scratch() as folder:
        source = os.path.join(folder, "part.c")
        with open(source, "w", encoding="utf-8") as file:
            file.write(C_FILE)
        report = trace(new_cache(folder), ["--cpu=999"],
                       ["clang", "-O2", "-c", source, "-o", os.path.join(folder, "part.o")])
    assert "pruned" not in report["coverage"]["cut"], report["coverage"]
    event, = report["events"]
    objects = {os.path.basename(frame["object"] or "") for stack in event["stacks"]
               for frame in stack["frames"]}
    if not any(name.startswith(("libLLVM", "libclang")) for name in objects):
        raise Skip(f"this clang has no large library: {objects}")


@test(need_root, need_x86_64, need_sampling, need_program("unshare"), each=(1, 8),
      timeout=100)
def files_of_over_a_million_rows_have_them_all_while_there_is_room(files):
    """There are eight million: the other two have those of calls."""
    with scratch() as folder:
        libraries = os.path.join(folder, "libraries")
        os.mkdir(libraries)
        for i in range(files):
            shutil.copy(target("libframes_many.so"), os.path.join(libraries, f"{i}.so"))
        report = trace(new_cache(folder), ["--cpu", "--alloc"], [target("frames"), "rows"],
                       allocations=True, env={**os.environ, "ROWS": libraries})
    lost = {"unwind-tables-full": 2} if files == 8 else {}
    assert report["coverage"]["lost"] == lost, report["coverage"]
    check_stacks(report, {1001: 1, 1010: files})
