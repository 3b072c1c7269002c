# SPDX-License-Identifier: GPL-2.0-or-later
"""What --service watches of the host: processes and cgroups, of both versions."""

import contextlib
import os
import re
import shutil
import subprocess
import sys

import lib
from cgroups import move, rmdir
from lib import Skip, eventually, need_root, scratch, started, test
from test_ctl import ctl
from test_service import service

BESIDE_OTHERS = "services"
MIB = 1 << 20
WATCH = "[watch]\ninterval = 1s\ngrowth = 3s"

GROWING = f"grows-{os.getpid()}"
# Its resident memory grows by a MiB with each line.
GROWS = """
import sys
kept = []
print("ready", flush=True)
for _ in sys.stdin:
    kept.append(b"x" * (1 << 20))
"""


def put(path, **files):
    os.makedirs(path, exist_ok=True)
    for name, text in files.items():
        with open(os.path.join(path, name.replace("_", ".", 1)), "w", encoding="ascii") as file:
            file.write(f"{text}\n")


def pressure(avg10):
    return f"some avg10={avg10} avg60=0.00 avg300=0.00 total=0\nfull avg10=0.00 avg60=0.00"


@contextlib.contextmanager
def fake_cgroups(folder):
    """A folder that looks like the root of version 2."""
    root = os.path.join(folder, "cgroup")
    put(root, cgroup_controllers="memory", memory_pressure=pressure("0.25"))
    put(f"{root}/app", memory_current=8192, memory_max=16384, memory_pressure=pressure("12.50"))
    put(f"{root}/app/one two", memory_current=4096, memory_max="max")
    yield root


@contextlib.contextmanager
def growing():
    """A python3 of a name of its own, which nothing else on the machine has."""
    with scratch() as folder:
        path = os.path.join(folder, GROWING)
        os.symlink(sys.executable, path)
        with started([path, "-c", GROWS], stdin=subprocess.PIPE) as process:
            process.lines.until("ready")
            yield process


def swept(served):
    """A sweep that began after now is over."""
    before = served.metric("memtraced_watch_sweeps_total")
    eventually(lambda: served.metric("memtraced_watch_sweeps_total") > before + 1, "two sweeps",
               timeout=30)


@test(need_root, timeout=60)
def cgroups_of_version_2_are_shown_as_their_files_are():
    with scratch() as folder, fake_cgroups(folder) as root, \
            service(folder, trace=f"{WATCH}\ncgroup_root = {root}") as served:
        swept(served)
        assert served.metric("memtraced_cgroup_memory_bytes", cgroup="/app") == 8192
        assert served.metric("memtraced_cgroup_memory_limit_bytes", cgroup="/app") == 16384
        name = "memtraced_cgroup_memory_pressure_hundredths"
        assert served.metric(name, cgroup="/app") == 1250
        assert served.metric(name, cgroup="/") == 25
        assert served.metric("memtraced_cgroup_memory_bytes", cgroup="/app/one two") == 4096
        assert f"3 cgroups (version 2, {root})" in ctl(served, "status"), ctl(served, "status")
        shutil.rmtree(f"{root}/app/one two")
        put(f"{root}/app", memory_current=12288)
        swept(served)
        assert served.metric("memtraced_cgroup_memory_bytes", cgroup="/app") == 12288
        assert served.metric("memtraced_watched", what="cgroups") == 2
        assert "one two" not in served.text("/metrics")


@test(need_root, timeout=60)
def cgroups_of_version_1_are_shown_with_their_limits():
    root = "/sys/fs/cgroup/memory"
    path = f"{root}/memtraced-watch-{os.getpid()}"
    if not os.path.exists(f"{root}/memory.usage_in_bytes"):
        raise Skip(f"{root} is no hierarchy of version 1's memory controller")
    try:
        os.mkdir(path)
    except OSError as error:
        raise Skip(f"no cgroup can be made: {error}") from error
    name = f"/{os.path.basename(path)}"
    try:
        put(path, memory_limit_in_bytes=64 * MIB)
        with scratch() as folder, \
                service(folder, trace=f"{WATCH}\ncgroup_root = {root}\n"
                        "[metrics]\ncgroups = 100000") as served, growing() as process:
            move(process.pid, path)
            for _ in range(8):
                lib.send_line(process)
            swept(served)
            assert served.metric("memtraced_cgroup_memory_limit_bytes", cgroup=name) == 64 * MIB
            eventually(lambda: swept(served) or served.metric(
                "memtraced_cgroup_memory_bytes", cgroup=name) >= 8 * MIB, "its memory")
            assert f"(version 1, {root})" in ctl(served, "status")
    finally:
        eventually(lambda: not rmdir(path), f"{path} is busy")


@test(need_root, timeout=90)
def what_grows_is_told_from_what_does_not():
    name = "memtraced_process_resident_growth_bytes_per_second"
    with scratch() as folder, \
            service(folder, trace=f"{WATCH}\n[metrics]\nprocesses = 100000") as served, \
            growing() as process, growing() as quiet:
        def growth(of):
            """None while it is not known: after a sweep that came late, too."""
            found = re.search(rf'^{name}{{pid="{of.pid}",comm="{GROWING}"}} (-?\d+)$',
                              served.text("/metrics"), re.M)
            return int(found.group(1)) if found else None

        def grows():
            lib.send_line(process)
            lib.send_line(process)
            return (growth(process) or 0) > 100000

        eventually(grows, "growth is seen", timeout=30)
        eventually(lambda: growth(quiet) == 0, "what has stopped to grow is seen", timeout=30)


@test(need_root, timeout=60)
def pss_is_read_where_it_is_asked_for():
    name = "memtraced_process_proportional_bytes"
    with scratch() as folder, growing() as process, \
            service(folder, trace=f"{WATCH}\npss_interval = 1s\n"
                    "[metrics]\nprocesses = 100000") as served:
        label = f'{name}{{pid="{process.pid}"'
        eventually(lambda: label in served.text("/metrics"), "its PSS", timeout=40)
        with open(f"/proc/{process.pid}/smaps_rollup", encoding="ascii") as file:
            rss = next(int(line.split()[1]) << 10 for line in file if line.startswith("Rss:"))
        assert 0 < served.metric(name, pid=process.pid, comm=GROWING) <= rss


@test(need_root, timeout=60)
def a_root_that_is_none_is_said_and_nothing_else_suffers():
    with scratch() as folder, \
            service(folder, trace=f"{WATCH}\ncgroup_root = {folder}") as served:
        served.said.until(f"memtraced: [watch] cgroup_root {folder}: not the root of cgroup v2")
        swept(served)
        assert served.metric("memtraced_watched", what="cgroups") == 0
        assert served.metric("memtraced_watched", what="processes") > 1


@test(need_root)
def nothing_is_watched_where_that_is_turned_off():
    with scratch() as folder, service(folder, trace="[watch]\nenabled = no") as served:
        assert "watch" not in ctl(served, "status")
        assert "memtraced_watch" not in served.text("/metrics")
