# SPDX-License-Identifier: GPL-2.0-or-later
"""What a process is doing at this moment, by what the kernel says of it once it is off its CPU. Its
state in /proc is that of a sleep before it sleeps, and may be so while others have the CPU."""

import os

READ = "0" if os.uname().machine == "x86_64" else "63"  # its number


def system_call(pid):
    """The number of the one that it waits in, and its arguments; nothing while it can run."""
    with open(f"/proc/{pid}/syscall", encoding="ascii") as file:
        words = file.read().split()
    return [] if words[0] in ("running", "-1") else words[:7]


def is_blocked(pid):
    """All that it does until it waits for something is done, and its switches are counted."""
    return bool(system_call(pid))


def in_read(pid):
    """Does it wait for its standard input, by read()?"""
    return system_call(pid)[:2] == [READ, "0x0"]
