# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs on a translator of code end as they do without memtraced."""

import contextlib
import os
import time

from leaks import leaker
from lib import (Skip, attached, brief, eventually, load_report, need_program, need_root, refused,
                 run, run_memtraced, scratch, send_line, started, target, test)

BESIDE_OTHERS = True
TRANSLATES = True
VALGRIND = ("valgrind", "--tool=none", "-q")
QEMU = ("qemu-x86_64",)
LEAK = (target("leak"), "10", "0")


def need_no_shared_probes(*translator):
    """Those of other traces on this host, of which one that has just ended may still have some."""
    def check():
        need_program(translator[0])()
        try:
            eventually(lambda: run([*translator, *LEAK]).returncode == 0, "it ends by itself", 10)
        except AssertionError:
            raise Skip("another trace's shared probes end what runs on a translator") from None
    return check


def traced(*command, options=()):
    with scratch() as folder:
        path = os.path.join(folder, "json")
        done = run_memtraced(*options, "-o", f"json:{path}", "--", *command)
        assert done.returncode == 0, (done.returncode, done.stderr)
        return load_report(path)


def named_as_unprobed(report):
    return [os.path.basename(row["object"]) for row in report["coverage"]["unprobed"]
            if "SIGTRAP" in row["why"]]


def ends_as_alone(*translator, options=()):
    report = traced(*translator, *LEAK, options=options)
    assert len(named_as_unprobed(report)) == 1, report["coverage"]
    assert not report["coverage"]["exact"], report["coverage"]


@test(need_root, need_no_shared_probes(*VALGRIND), each=["--alloc", "--sample"], in_turn=1)
def valgrind_is_not_probed(option):
    """Nor by the probes of the two programs that its process was before."""
    ends_as_alone(*VALGRIND, options=() if option == "--alloc" else (option,))


@test(need_root, need_no_shared_probes(*QEMU), each=["--alloc", "--sample"], in_turn=1)
def qemu_is_not_probed(option):
    ends_as_alone(*QEMU, options=() if option == "--alloc" else (option,))


@test(need_root, need_no_shared_probes(*VALGRIND), need_program(*QEMU))
def shared_probes_go_before_a_translator_runs():
    """dash forks more often than processes have probes of their own, and by vfork at first."""
    script = "for i in 1 2 3 4 5 6 7 8 9 10; do /bin/true; (:); done; " + " && ".join(
        " ".join((*translator, *LEAK)) for translator in (VALGRIND, QEMU, VALGRIND)) + " && " + (
        " ".join(LEAK))
    report = traced("dash", "-c", script)
    assert len(named_as_unprobed(report)) == 2, report["coverage"]
    assert report["coverage"]["lost"]["no-allocator-found"] == 3, report["coverage"]
    # What is no translator goes on being counted: a block that leaks, and another, for each step.
    assert [process["alloc"]["allocs"] for process in report["processes"]
            if process["comm"] == "leak"] == [20], brief(report["processes"])


@contextlib.contextmanager
def a_translator_runs():
    """Its program allocates all the time."""
    with started([*QEMU, target("leak"), "100000", "1000"]) as process:
        yield process
        assert process.poll() is None, process.returncode


@test(need_root, need_no_shared_probes(*QEMU))
def a_running_translator_is_refused():
    with a_translator_runs() as process:
        done = run_memtraced("-p", str(process.pid), "-d", "1")
    refused(done, 2, "translator", "SIGTRAP")


@test(need_root, need_no_shared_probes(*QEMU), need_program("dash"))
def probes_are_not_shared_while_a_translator_runs():
    """Children that come then are counted late, which is said."""
    with a_translator_runs(), started(["dash", "-c", "read x; (:); echo done; read x"]) as shell:
        with attached([shell.pid]) as session:
            send_line(shell)
            shell.lines.until("done")
            report = session.finish()
    assert named_as_unprobed(report) == ["qemu-x86_64"], report["coverage"]
    assert report["coverage"]["lost"] == {"attached-late": 1}, report["coverage"]


@test(need_root, need_no_shared_probes(*VALGRIND))
def what_needs_shared_probes_is_counted_once_no_translator_runs():
    """A process whose first thread has ended allocates 170 bytes for each line."""
    with started([leaker("on_line"), "without"]) as program:
        program.lines.until("ready")
        with started([*VALGRIND, "sleep", "1000"]) as translator:
            done = run_memtraced("-p", str(program.pid), "-d", "1")
            assert f"process {program.pid} (on_line) is not counted while" in done.stderr, done
            with attached([program.pid]) as session:
                send_line(program)
                program.lines.until("done")
                assert allocated(session.later_report()) == 0
                translator.kill()
                translator.wait()
                time.sleep(3)
                send_line(program)
                program.lines.until("done")
                report = session.finish()
    assert allocated(report) == 170, brief(report["processes"])
    assert len(named_as_unprobed(report)) == 1, report["coverage"]
    assert report["coverage"]["lost"] == {"attached-late": 1}, report["coverage"]


def allocated(report):
    process, = report["processes"]
    return process["alloc"]["bytes"]
