# SPDX-License-Identifier: GPL-2.0-or-later
"""What the C library keeps until a process ends is not "still reachable": memcheck has it freed."""

import os
import re

from leaks import memcheck, read_sums
from lib import need_long, need_program, need_root, note, run_memtraced, scratch, target, test

BESIDE_OTHERS = True
TRANSLATES = True
KEPT = {"messages_of_errors": (40, 2)}  # memcheck, too


def ours():
    """{case: sums of the check at its end}"""
    with scratch() as folder:
        log = os.path.join(folder, "log")
        done = run_memtraced("--leak-check=full", f"--log-file={log}", "--", target("libc_holds"))
        assert done.returncode == 0, done.stderr
        with open(log, encoding="utf-8", errors="replace") as file:
            text = file.read()
    pids = re.findall(r"^(\w+) (\d+)$", done.stdout, re.M)
    assert len(pids) > 20, done.stdout
    return {name: read_sums("\n".join(re.findall(rf"^=={pid}==.*", text, re.M)))
            for name, pid in pids}


@test(need_root)
def what_libc_holds_by_design_is_not_still_reachable():
    for name, sums in ours().items():
        assert sums["still reachable"] == KEPT.get(name, (0, 0)), (name, sums)
        assert sums["definitely lost"] == sums["possibly lost"] == (0, 0), (name, sums)


@test(need_root, need_long, need_program("valgrind"), timeout=300)
def memcheck_has_no_more_freed():
    for name, sums in ours().items():
        text = memcheck([target("libc_holds"), name])
        theirs = (0, 0) if "no leaks are possible" in text else read_sums(text)["still reachable"]
        note(f"{name}: {sums['still reachable']}, memcheck {theirs}")
        assert sums["still reachable"] <= theirs, (name, sums, theirs)
