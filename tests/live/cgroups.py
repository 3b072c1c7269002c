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


def memory_hierarchy():
    """Where the memory controller is: (mount point, version)."""
    with open("/proc/self/mounts", encoding="utf-8") as file:
        mounts = [line.split() for line in file]
    for _, path, kind, options, *_ in mounts:
        if kind == "cgroup" and "memory" in options.split(","):
            return path, 1
        if kind != "cgroup2":
            continue
        with open(os.path.join(path, "cgroup.controllers"), encoding="ascii") as file:
            if "memory" in file.read().split():
                return path, 2
    raise Skip("no memory controller is mounted")


def write(path, name, text):
    with open(os.path.join(path, name), "w", encoding="ascii") as file:
        file.write(str(text))


@contextlib.contextmanager
def memory_cgroup(limit):
    """Yields the folder of a new cgroup with this limit, of the version there is, that of one
    inside of it without one (where processes can be: in v2 only at the leaves), and the path of the
    first in the hierarchy."""
    root, version = memory_hierarchy()
    name = f"memtraced-memory-{os.getpid()}"
    outer = os.path.join(root, name)
    inner = os.path.join(outer, "inner")
    try:
        if version == 2:
            write(root, "cgroup.subtree_control", "+memory")
        os.mkdir(outer)
    except OSError as error:
        raise Skip(f"no memory cgroup can be made: {error}") from error
    try:
        if version == 2:
            write(outer, "cgroup.subtree_control", "+memory")
        os.mkdir(inner)
        write(outer, "memory.max" if version == 2 else "memory.limit_in_bytes", limit)
        yield outer, inner, f"/{name}"
    finally:
        for folder in (inner, outer):
            eventually(lambda at=folder: not rmdir(at), f"{folder} is busy")
