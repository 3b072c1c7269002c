# SPDX-License-Identifier: GPL-2.0-or-later
"""A report that takes long must not cost events."""

import contextlib
import fcntl
import os
import select
import struct
import subprocess
import termios
import time

import schema
from lib import (ALL_CALLS, memtraced, need_root, scaled, scratch, send_line, started, target,
                 test)

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


FORKS = 50
COUNTS = "while [ ! -e stop ]; do /bin/true; echo >>counted || exit; done"


@contextlib.contextmanager
def unread(*options):
    """A command that forks and counts that, while nobody reads the reports of it: the tracer, the
    reading end, and the folder."""
    with scratch() as folder:
        read_fd, write_fd = os.pipe()
        fcntl.fcntl(write_fd, F_SETPIPE_SZ, PIPE_BYTES)
        with started([memtraced(), *options, "--", "/bin/sh", "-c", COUNTS],
                     stdin=subprocess.DEVNULL, stdout=write_fd, stderr=subprocess.PIPE,
                     cwd=folder) as tracer, open(read_fd, encoding="utf-8") as reports:
            os.close(write_fd)
            try:
                yield tracer, reports, folder
            finally:
                with open(os.path.join(folder, "stop"), "w", encoding="utf-8"):
                    pass


def wait_until(what, timeout=60):
    deadline = time.monotonic() + timeout
    while not what():
        assert time.monotonic() < deadline, what
        time.sleep(0.05)


def counted(folder):
    try:
        with open(os.path.join(folder, "counted"), encoding="utf-8") as file:
            return len(file.readlines())
    except FileNotFoundError:
        return 0


def waiting(reports):
    return struct.unpack("i", fcntl.ioctl(reports, termios.FIONREAD, struct.pack("i", 0)))[0]


def is_full(reports):
    """What does not fit into the rest of a pipe is not begun."""
    before = waiting(reports)
    time.sleep(0.3)
    return PIPE_BYTES / 2 < waiting(reports) == before


@test(need_root, each=["-i 0.2 -f json", "-d 2 -f json"])
def a_command_forks_on_while_nobody_reads(options):
    """What is held at a fork waits for memtraced, which waits for no reader meanwhile. With -d it
    is the last report that nobody reads."""
    with unread(*options.split()) as (tracer, reports, folder):
        wait_until(lambda: is_full(reports))
        before = counted(folder)
        wait_until(lambda: counted(folder) > before + FORKS)
        with open(os.path.join(folder, "stop"), "w", encoding="utf-8"):
            pass
        last = schema.loads([line for line in reports if line.strip()][-1])
        assert tracer.wait(60) == 0
        said = tracer.stderr.read().decode()
    if options.startswith("-i"):
        assert " reports were left out: standard output was not read" in said, said
        assert last["coverage"]["exact"], last["coverage"]
        assert len(last["processes"]) > FORKS, len(last["processes"])


@test(need_root)
def a_command_forks_on_while_nobody_reads_its_events():
    """Of these none is left out."""
    with unread("-e", "syscalls:sys_enter_exit_group", "--each", "-f", "perf-script") as unread_run:
        tracer, reports, folder = unread_run
        wait_until(lambda: is_full(reports))
        before = counted(folder)
        wait_until(lambda: counted(folder) > before + FORKS)
        with open(os.path.join(folder, "stop"), "w", encoding="utf-8"):
            pass
        events = [line for line in reports if " sys_enter_exit_group:" in line]
        assert tracer.wait(60) == 0
        # Each run of true, and the shell.
        assert len(events) == counted(folder) + 1, (len(events), counted(folder))
