# SPDX-License-Identifier: GPL-2.0-or-later
"""A report that takes long must not cost events."""

import fcntl
import os
import select
import subprocess

import schema
from lib import ALL_CALLS, memtraced, need_root, scaled, send_line, started, target, test

BESIDE_OTHERS = True
F_SETPIPE_SZ = 1031  # fcntl.F_SETPIPE_SZ is of Python 3.10
PIPE_BYTES = 4096


@test(need_root)
def events_are_taken_in_while_a_report_is_written():
    """Nobody reads the report, so that writing it takes as long as the target needs to make several
    rings full of records."""
    with started([target("flood"), str(scaled(300_000, 300_000))]) as process:
        process.lines.until("ready")
        read_fd, write_fd = os.pipe()
        fcntl.fcntl(write_fd, F_SETPIPE_SZ, PIPE_BYTES)
        with started([memtraced(), "-q", ALL_CALLS, "-p", str(process.pid), "-f", "json", "-i",
                      "0.2"],
                     stdin=subprocess.DEVNULL, stdout=write_fd) as tracer, \
                open(read_fd, encoding="utf-8") as reports:
            os.close(write_fd)
            # The first report has begun: the rest of it waits for a reader.
            assert select.select([read_fd], [], [], 30)[0], "no report"
            send_line(process)
            process.wait(50)
            last = schema.loads([line for line in reports if line.strip()][-1])
            assert tracer.wait(30) == 0
        # The target's vfork child is one for every -p.
        assert set(last["coverage"]["lost"]) <= {"child-in-shared-memory"}, last["coverage"]
        assert last["processes"][0]["end"] == {"exit": 0, "signal": None, "oom": False}
