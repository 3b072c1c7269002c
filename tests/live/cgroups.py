# SPDX-License-Identifier: GPL-2.0-or-later
"""Cgroups of a test's own."""

import contextlib
import os

from lib import Skip, eventually


@contextlib.contextmanager
def cgroup():
    """A new cgroup of version 2, with one inside."""
    with open("/proc/self/mounts", encoding="utf-8") as file:
        mounts = [line.split()[1] for line in file if line.split()[2] == "cgroup2"]
    if not mounts:
        raise Skip("no cgroup v2 is mounted")
    path = os.path.join(mounts[0], f"memtraced-test-{os.getpid()}")
    inner = os.path.join(path, "inner")
    try:
        os.makedirs(inner)
    except OSError as error:
        raise Skip(f"no cgroup can be made: {error}") from error
    try:
        yield path, inner
    finally:
        for folder in (inner, path):
            eventually(lambda at=folder: not rmdir(at), f"{folder} is busy")


def rmdir(path):
    with contextlib.suppress(OSError):
        os.rmdir(path)
    return os.path.exists(path)


def move(pid, path):
    with open(os.path.join(path, "cgroup.procs"), "w", encoding="ascii") as file:
        file.write(str(pid))
