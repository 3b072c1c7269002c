# SPDX-License-Identifier: GPL-2.0-or-later
"""bpftrace and libbpf look for tracepoints in a mounted tracefs. memtraced does without, so where
it is not mounted the bench mounts it for itself alone."""

import os
import shutil
import sys

TRACEFS = "/sys/kernel/tracing"
MARK = "MEMTRACED_BENCH_TRACEFS"  # keeps a mount that fails from being tried for ever
MOUNT = f'mount -t tracefs nodev {TRACEFS}; exec "$0" "$@"'


def ensure():
    """Starts this program again in a mount namespace of its own, if it must."""
    if os.path.isdir(TRACEFS + "/events") or MARK in os.environ or not shutil.which("unshare"):
        return
    os.environ[MARK] = "1"
    os.execvp("unshare", ["unshare", "--mount", "sh", "-c", MOUNT, sys.executable, *sys.argv])
