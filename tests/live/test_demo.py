# SPDX-License-Identifier: GPL-2.0-or-later
"""scripts/demo: what it shows of demo/visitors.c, and what it suggests to try."""

import contextlib
import os
import pty
import re
import signal

from documents import all_blocks, first_difference
from lib import (LONG, Place, ROOT, Skip, memtraced, need_root, need_speed, run, scratch, started,
                 test)

BESIDE_OTHERS = True

DEMO = os.path.join(ROOT, "scripts", "demo")
# Its commands as they are, but for how long they watch, and when there is a verdict.
FASTER = """#!/bin/sh
case "$*" in
*"-d 12"*) set -- "$@" -d 5 --sample-interval=0.1 ;;
*"-d 3"*) set -- "$@" -d 1 ;;
*"-d 5"*) set -- "$@" -d 0.2 ;;
esac
exec %s "$@"
"""
# Where one of them is a terminal, memtraced shows a view or tables every other second.
WITHOUT_TERMINAL = "#!/bin/sh\n! [ -t 0 ] && ! [ -t 1 ] && ! [ -t 2 ]\n"
FAILING = "#!/bin/sh\nexit 3\n"
# As memtraced ends: without an error, and only then is the demo's turn.
WATCHING = "#!/bin/sh\ntrap 'kill $!; exit 0' INT\necho watching\nsleep 30 & wait\n"


def need_demo():
    if not os.path.exists(DEMO):
        raise Skip("scripts/demo is not in the guests of make check-kernels")


@contextlib.contextmanager
def build_with(script):
    """A build folder whose memtraced is this script."""
    with scratch() as folder:
        os.mkdir(os.path.join(folder, "demo"))
        os.symlink(os.path.join(Place.build, "demo", "visitors"),
                   os.path.join(folder, "demo", "visitors"))
        path = os.path.join(folder, "memtraced")
        with open(path, "w", encoding="ascii") as file:
            file.write(script)
        os.chmod(path, 0o755)
        yield folder


def line_of_leak():
    """Where what is lost was allocated."""
    with open(os.path.join(ROOT, "demo", "visitors.c"), encoding="ascii") as file:
        (found,) = [number for number, line in enumerate(file, 1)
                    if "visitor->browser = " in line]
    return found


def check_readme(said):
    (shown,) = [block.lines for block in all_blocks()
                if block.kind == "not run" and "test_demo.py" in block.argument]
    wrong = first_difference(shown, said.splitlines())
    assert wrong is None, wrong


def pid_of_program(said):
    return int(re.search(r"^\+ memtraced -p (\d+) ", said, re.M).group(1))


def has_ended(pid):
    return not os.path.exists(f"/proc/{pid}")


@test(need_root, need_demo, need_speed, timeout=200)
def it_names_the_leak_its_growth_and_three_commands_that_work():
    """In an empty environment, without a terminal and a standard input."""
    with build_with(FASTER % memtraced()) as folder:
        build = Place.build if LONG else folder
        done = run(["env", "-i", "PATH=/usr/bin:/bin", "SUDO_UID=0", "sh", "-c",
                    f"exec {DEMO} {build} <&-"], timeout=100)
        assert done.returncode == 0, done.stdout + done.stderr
        said, line = done.stdout, line_of_leak()
        assert said.count("\n") < 100, said
        first = said[said.index("  #1  "):said.index("  #2  ")]
        assert first.startswith("  #1  leak, ~"), said
        assert re.search(rf"^    > visitor_new  visitors\.c:{line}\b", first, re.M), said
        lost = said[said.index("definitely lost in loss record"):]
        assert f": visitor_new (visitors.c:{line})\n" in lost, said
        assert has_ended(pid_of_program(said)), said

        if LONG:
            check_readme(said)

        commands = re.findall(r"^  sudo (.*)", said, re.M)
        assert len(commands) == 3, said
        for command in commands:
            command = command.replace(memtraced(), os.path.join(folder, "memtraced"))
            done = run(["sh", "-c", command])
            assert done.returncode == 0, (command, done.stderr)
        page = os.path.join(build, "demo", "visitors.html")
        assert page in commands[2] and os.path.getsize(page) > 0, commands


@test(need_root, need_demo)
def it_fails_as_memtraced_does_and_leaves_nothing():
    with build_with(FAILING) as folder:
        done = run([DEMO, folder])
        assert done.returncode == 3, done
        assert "memtraced failed with status 3" in done.stderr, done.stderr
        assert has_ended(pid_of_program(done.stdout)), done.stdout


@test(need_root, need_demo)
def an_interrupt_ends_it_and_its_program():
    with build_with(WATCHING) as folder, started([DEMO, folder], start_new_session=True) as demo:
        pid = int(demo.lines.until("+ memtraced -p ").split()[0])
        demo.lines.until("watching")
        os.killpg(demo.pid, signal.SIGINT)
        assert demo.wait(20) == 130, demo.returncode
        assert has_ended(pid), pid


@test(need_root, need_demo)
def on_a_terminal_there_is_one_table_as_well():
    ours, theirs = pty.openpty()
    try:
        with build_with(WITHOUT_TERMINAL) as folder:
            done = run([DEMO, folder], stdin=theirs, stdout=theirs, stderr=theirs)
        assert done.returncode == 0, os.read(ours, 4096)
    finally:
        os.close(ours)
        os.close(theirs)
