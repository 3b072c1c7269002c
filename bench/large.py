# SPDX-License-Identifier: GPL-2.0-or-later
"""Every format of a large run: what making it takes, by a recording that is made up."""

import os
import subprocess
import time

from lines import Line
from measure import Failed, TooSlow

SIZES = {True: (20000, 10000), False: (1000000, 100000)}  # sites, functions; quick or not
FORMATS = ("table", "folded", "flamegraph", "html", "json", "speedscope", "pprof", "perf-data",
           "perf-script", "callgrind", "gprof2dot", "massif", "openmetrics")
LIMIT_S = 300


def run(argv):
    """(seconds of the processor, peak MB)"""
    with subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        deadline = time.monotonic() + LIMIT_S
        while True:
            pid, status, used = os.wait4(process.pid, os.WNOHANG)
            if pid:
                break
            if time.monotonic() > deadline:
                process.kill()
                raise TooSlow(f"{argv[-1]}: more than {LIMIT_S} s")
            time.sleep(0.05)
        process.returncode = os.waitstatus_to_exitcode(status)
        said = process.stderr.read().decode(errors="replace")
    if process.returncode != 0:
        raise Failed(f"{argv[-1]}: {said.strip()[-300:]}")
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def measure(place, quick):
    sites, functions = SIZES[quick]
    recording, out = place.file("large"), place.file("large.out")
    run([place.program("large"), str(sites), str(functions), recording])
    size = os.path.getsize(recording) / 1e6
    what = f"{sites:,} sites, {functions:,} functions"
    lines = []
    for form in FORMATS:
        seconds, peak = run([place.memtraced, "report", recording, "-o", f"{form}:{out}"])
        made = os.path.getsize(out) / 1e6
        os.unlink(out)
        lines += [Line(f"large.{form}", f"{form} of {what}", [seconds], "s",
                       f"{made:.1f} MB of a recording of {size:.1f} MB"),
                  Line(f"large.{form}.memory", f"{form}: peak memory", [peak], "MB")]
    return lines
