# SPDX-License-Identifier: GPL-2.0-or-later
"""What ends a program by a signal of its own making: told with the block that the address is in or
near, and only then."""

import os
import re
import signal

from leaks import memcheck
from lib import (attached, load_report, memtraced, need_program, need_root, run, run_memtraced,
                 scratch, send_line, started, target, test)

BESIDE_OTHERS = True
TRANSLATES = True
SEGV_MAPERR, SEGV_ACCERR, BUS_ADRERR = 1, 2, 2
MIB = 1 << 20


def report_of(case, *options, status, where=()):
    with scratch() as folder:
        path = os.path.join(folder, "report.json")
        done = run_memtraced(*options, "-o", f"json:{path}", "--", target("crashes"), case,
                             *where)
        assert done.returncode == status, (done.returncode, done.stderr)
        return load_report(path)["processes"]


def fault_of(case, *options, number=signal.SIGSEGV):
    (process,) = report_of(case, *options, status=128 + number)
    fault = process["fault"]
    assert fault and fault["signal"] == number and fault["name"] == number.name, fault
    assert process["end"]["signal"] == number, process["end"]
    return fault


def own(frames):
    names = [frame["function"] for frame in frames
             if os.path.basename(frame["object"] or "") == "crashes"]
    return names[:names.index("main") + 1] if "main" in names else names


@test(need_root)
def a_block_that_was_freed_is_named_with_both_its_stacks():
    fault = fault_of("freed", "--heap-errors")
    block = fault["block"]
    assert fault["code"] == SEGV_MAPERR, fault
    assert (block["size"], block["freed"], block["side"], block["bytes"]) == (
        MIB, True, "inside", 100), block
    assert int(fault["addr"], 16) == int(block["addr"], 16) + 100, fault
    assert own(fault["frames"]) == ["touches", "freed", "main"], fault["frames"]
    assert own(fault["freed"]) == ["drops", "freed", "main"], fault["freed"]
    assert own(fault["allocated"]) == ["makes", "freed", "main"], fault["allocated"]


@test(need_root)
def the_block_before_the_address_is_named():
    fault = fault_of("after")
    block = fault["block"]
    assert fault["code"] == SEGV_ACCERR, fault
    assert (block["size"], block["freed"], block["side"], block["bytes"]) == (
        MIB, False, "after", 100), block
    assert own(fault["allocated"]) == ["makes", "after", "main"], fault["allocated"]
    assert fault["freed"] is None, fault


@test(need_root)
def where_no_block_is_near_none_is_named():
    fault = fault_of("null")
    assert (fault["addr"], fault["block"], fault["code"]) == ("0x8", None, SEGV_MAPERR), fault
    assert own(fault["frames"]) == ["touches", "null", "main"], fault["frames"]
    fault = fault_of("wild")
    assert (fault["addr"], fault["block"]) == (None, None), fault
    assert own(fault["frames"]) == ["touches", "wild", "main"], fault["frames"]
    fault = fault_of("abort", number=signal.SIGABRT)
    assert (fault["addr"], fault["block"]) == (None, None), fault
    assert "abort" in [frame["function"] for frame in fault["frames"]], fault["frames"]
    fault = fault_of("cut", number=signal.SIGBUS)
    assert (fault["block"], fault["code"]) == (None, BUS_ADRERR), fault
    assert own(fault["frames"]) == ["touches", "cut", "main"], fault["frames"]


@test(need_root, each=[(where, options) for where in ("unmapped", "kernel", "noncanonical", "top",
                                                      "loop")
                       for options in ("--exact=probes", "--unwind=fp", "--heap-errors")],
      in_turn=3)
def a_stack_that_leads_astray_is_truncated(case):
    where, option = case
    (process,) = report_of("astray", option, status=128 + signal.SIGSEGV, where=[where])
    fault = process["fault"]
    assert fault["addr"] == "0x8" and fault["signal"] == signal.SIGSEGV, fault
    assert own(fault["frames"])[:1] == ["go_astray"], fault["frames"]
    assert "main" not in [frame["function"] for frame in fault["frames"]], fault["frames"]


@test(need_root, need_program("valgrind"), each=("null", "abort"))
def a_leak_check_counts_it_as_memcheck_does(case):
    """The errors, and the status, which is the signal's whatever --error-exitcode says."""
    said = []
    for command in ([memtraced(), "--"], ["valgrind"]):
        options = ["--leak-check=full", "--error-exitcode=9"]
        done = run([*command[:1], *options, *command[1:], target("crashes"), case])
        assert done.returncode in (128 + signal.SIGSEGV, 128 + signal.SIGABRT, -signal.SIGSEGV,
                                   -signal.SIGABRT), (command, done.returncode, done.stderr)
        said.append(re.search(r"ERROR SUMMARY: (\d+) errors from (\d+) contexts",
                              done.stderr).groups())
    assert said[0] == said[1], said


@test(need_root)
def it_is_the_process_and_the_thread_that_did_it():
    processes = report_of("child", status=0)
    faults = [process["fault"] for process in processes]
    assert sorted(fault is None for fault in faults) == [False, True], processes
    (child,) = [process for process in processes if process["fault"]]
    assert child["end"]["signal"] == signal.SIGSEGV, child["end"]
    assert own(child["fault"]["frames"]) == ["touches", "null", "in_child", "main"], child
    (process,) = report_of("thread", status=128 + signal.SIGSEGV)
    assert process["fault"]["tid"] != process["pid"], process["fault"]
    names = [frame["function"] for frame in process["fault"]["frames"]]
    assert names[:3] == ["touches", "null", "run"], names


@test(need_root)
def where_glibc_aborts_in_malloc_the_stack_goes_on_to_main():
    fault = fault_of("corrupt", number=signal.SIGABRT)
    assert own(fault["frames"]) == ["asks", "corrupt", "main"], fault["frames"]
    names = [frame["function"] for frame in fault["frames"]]
    assert names.index("abort") < names.index("malloc") < names.index("asks"), names


@test(need_root)
def who_is_attached_to_is_told_of_as_well():
    with started([target("crashes"), "freed", "wait"]) as process:
        process.lines.until("ready")
        with attached([process.pid], "--heap-errors") as session:
            send_line(process)
            report = session.finish(None)
    assert process.returncode == -signal.SIGSEGV, process.returncode
    fault = report["processes"][0]["fault"]
    block = fault["block"]
    assert (block["size"], block["freed"], block["side"], block["bytes"]) == (
        MIB, True, "inside", 100), block
    assert own(fault["frames"]) == ["touches", "freed", "main"], fault["frames"]
    assert own(fault["freed"]) == ["drops", "freed", "main"], fault["freed"]


@test(need_root, each=("handled", "ignored"), in_turn=1)
def a_signal_that_does_not_kill_is_no_fault(case):
    (process,) = report_of(case, status=0)
    assert process["fault"] is None, process["fault"]


@test(need_root, need_program("valgrind"), timeout=120, alone=True)
def the_text_of_leak_checks_has_memchecks_words():
    def told(text):
        return re.findall(r"^==\d+== ((?:Process terminating| Access|   (?:at|by) .* \(crashes\.c)"
                          r".*)$", re.sub(r"0x[0-9A-F]{3,}", "0x", text), re.M)

    with scratch() as folder:
        path = os.path.join(folder, "log")
        run_memtraced("--leak-check=full", f"--log-file={path}", "--", target("crashes"), "null")
        with open(path, encoding="utf-8") as file:
            ours = told(file.read())
    theirs = told(memcheck([target("crashes"), "null"]))
    # before it there is the write that is not allowed, which memcheck sees
    theirs = theirs[next(i for i, line in enumerate(theirs) if line.startswith("Process")):]
    assert len(ours) == 5, ours
    assert ours == theirs, f"ours: {ours}\nmemcheck: {theirs}"
