# SPDX-License-Identifier: GPL-2.0-or-later
"""ptrace(2) of other processes."""

import contextlib
import ctypes
import os

# linux/ptrace.h, linux/wait.h
PTRACE_DETACH = 17
PTRACE_SEIZE = 0x4206
WALL = 0x40000000


def ptrace(request, pid):
    libc = ctypes.CDLL(None, use_errno=True)
    libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    libc.ptrace.restype = ctypes.c_long
    assert libc.ptrace(request, pid, None, None) == 0, os.strerror(ctypes.get_errno())


@contextlib.contextmanager
def kept_stopped(pid):
    """A stopped process that SIGCONT does not continue before the end."""
    ptrace(PTRACE_SEIZE, pid)
    os.waitpid(pid, WALL)
    try:
        yield
    finally:
        ptrace(PTRACE_DETACH, pid)
