# SPDX-License-Identifier: GPL-2.0-or-later
"""A file system from which programs ran can be unmounted while the service runs: it keeps nothing
of others' files open."""

import contextlib
import os
import re
import shutil
import signal
import subprocess

import lib
from lib import (eventually, need_program, need_root, need_sampling, run, scratch, send_line,
                 started, target, test)
from test_service import Asking, service, until_traced

BESIDE_OTHERS = "services"
GROWTH = "enabled = yes\nperiod = 10\n[post_mortem]\nformat = json"


@contextlib.contextmanager
def file_system(folder):
    """A mounted one of its own; unmounted at the end, by force if need be."""
    point = os.path.join(folder, "fs")
    os.mkdir(point)
    subprocess.run(["mount", "-t", "tmpfs", "none", point], check=True)
    try:
        yield point
    finally:
        if os.path.ismount(point):
            subprocess.run(["umount", "-l", point], check=True)


def users_of(point, pid):
    """What the process and those below it have open or mapped of that file system."""
    device, found = os.stat(point).st_dev, []
    for one, name in {pid: "memtraced", **lib.descendants(pid)}.items():
        with contextlib.suppress(OSError):
            for fd in os.listdir(f"/proc/{one}/fd"):
                with contextlib.suppress(OSError):
                    if os.stat(f"/proc/{one}/fd/{fd}").st_dev == device:
                        found.append(f"{name} {one}: " + os.readlink(f"/proc/{one}/fd/{fd}"))
            with open(f"/proc/{one}/maps", encoding="utf-8") as maps:
                found += [f"{name} {one}: {line.strip()}" for line in maps if point in line]
    return found


def is_unmounted(point):
    return run(["umount", point]).returncode == 0


def check_unmount(point, served):
    try:
        eventually(lambda: is_unmounted(point), "unmounted", timeout=15)
    except AssertionError as error:
        raise AssertionError(f"{error}; {users_of(point, served.process.pid)}") from error


def copied(point, *names):
    return [shutil.copy(target(name), point) for name in names]


def ran_untraced(_served, point):
    """Growth alone looks at it."""
    program, = copied(point, "pages")
    assert run([program, "3000"]).returncode == 0


def killed_untraced(served, point):
    """It leaves a report."""
    program, = copied(point, "attach")
    with started([program, "1000", "1"]) as process:
        process.lines.until("ready")
        process.send_signal(signal.SIGSEGV)
        process.wait(10)
        served.said.until(f"memtraced: process {process.pid} (", 20)


def shown_untraced(served, point):
    """Its growth is asked for, with the names of its files."""
    program, library = copied(point, "attach", "libcounter.so")
    with started([program, "1000", "1"], env=dict(os.environ, LD_PRELOAD=library)) as process:
        process.lines.until("ready")
        for what in ("html", "json"):
            served.text(f"/debug/pprof/growth?pid={process.pid}&format={what}")
        served.text("/debug/pprof/growth?format=json")


def traced(how):
    def trace(served, point):
        program, library = copied(point, "attach", "libcounter.so")
        with started([program, "1000", "1"], env=dict(os.environ, LD_PRELOAD=library)) as process:
            process.lines.until("ready")
            asked = Asking(served, f"/debug/pprof/{how}pid={process.pid}&seconds=2&format=json")
            until_traced(served, 1)
            asked.body()
    return trace


def traced_to_its_end(served, point):
    """It ends before its trace would."""
    program, = copied(point, "attach")
    with started([program, "1000", "1"]) as process:
        process.lines.until("ready")
        asked = Asking(served, f"/debug/pprof/heap?pid={process.pid}&seconds=60&format=json")
        until_traced(served, 1)
        process.kill()
        process.wait(10)
        asked.body()


CASES = [ran_untraced, killed_untraced, shown_untraced, traced("heap?"), traced("profile?"),
         traced_to_its_end]


@test(need_root, need_sampling, need_program("umount"), in_turn=2, timeout=120,
      each=range(len(CASES)))
def a_file_system_from_which_a_program_ran_can_be_unmounted(case):
    with scratch() as folder, service(folder, growth=GROWTH) as served, \
            file_system(folder) as point:
        CASES[case](served, point)
        check_unmount(point, served)


@test(need_root, need_sampling, timeout=120, alone=True)
def a_program_that_runs_again_has_its_names():
    """And has them while its files are closed: they were looked up before. The page is of the whole
    host: beside others' programs this one may not be among what it keeps."""
    with scratch() as folder, service(folder, growth=GROWTH) as served, \
            file_system(folder) as point:
        program, = copied(point, "mapper")

        def grown(asks=True):
            with started([program]) as process:
                process.lines.until("ready")
                send_line(process, "map 3000 1")
                process.lines.until("held")
                eventually(lambda: users_of(point, served.process.pid), "opened")
                return asks and served.text(f"/debug/pprof/growth?pid={process.pid}&format=folded")

        grown(asks=False)
        eventually(lambda: not users_of(point, served.process.pid), "closed")
        host = served.text("/debug/pprof/growth?format=folded")
        assert re.search(r"^mapper-\d+;.*;keeps \d+$", host, re.M), \
            [line for line in host.splitlines() if line.startswith("mapper")] or host
        again = grown()
        assert ";keeps " in again, again
        check_unmount(point, served)
