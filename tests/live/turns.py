# SPDX-License-Identifier: GPL-2.0-or-later
"""Of tests that are the same thing with several arguments make check runs some, and others with the
next commit; make check-long runs all. What is run follows from the commit's hash alone."""

import functools
import os
import subprocess
import time
import zlib


@functools.lru_cache(maxsize=1)
def turn():
    """A number of eight hex digits: the beginning of the commit's hash, without git the day.
    MEMTRACED_TURN stands for it, so that a run can be repeated."""
    if "MEMTRACED_TURN" in os.environ:
        return int(os.environ["MEMTRACED_TURN"], 16)
    folder = os.path.dirname(os.path.abspath(__file__))
    try:  # the folder may be another user's
        done = subprocess.run(["git", "-c", "safe.directory=*", "-C", folder, "rev-parse", "HEAD"],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return int(time.time()) // (24 * 3600)
    return int(done.stdout[:8], 16)


def picked(name, items, most, number):
    """`most` of the items that follow each other; the next number begins at the next one."""
    first = zlib.crc32(name.encode()) + number
    return [items[(first + i) % len(items)] for i in range(min(most, len(items)))]


def usual(name, arguments, most, attach_path, number=None):
    """Those of a test's arguments with which make check runs it: `most` of them (None: all), and
    of arguments that differ by attach_path(argument) alone one."""
    number = turn() if number is None else number
    groups = {}
    for argument in arguments:
        kind = str(argument).removesuffix(attach_path(argument))
        groups.setdefault(kind, []).append(argument)
    kinds = picked(name, list(groups), most or len(groups), number)
    number //= len(groups)  # each kind has each path in the end
    return [picked(f"{name} {kind}", groups[kind], 1, number)[0] for kind in kinds]
