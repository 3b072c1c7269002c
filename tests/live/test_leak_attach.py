# SPDX-License-Identifier: GPL-2.0-or-later
"""Leak checks of a process that runs already, also by links that all processes share."""

import os

from leaks import leaker, read_sums
from lib import memtraced, need_root, scratch, send_line, started, test
from test_leak_check import asked, wait_attached

BESIDE_OTHERS = True
UNTRANSLATED = True


@test(need_root, each=("", "without its first thread"), timeout=90)
def a_running_process_is_checked_when_asked_and_at_its_end(how):
    """The target's own numbers: each line makes it lose 100 bytes and keep 70."""
    with scratch() as folder, started([leaker("on_line"), *how.split()[:1]]) as program:
        log = os.path.join(folder, "log")
        program.lines.until("ready")
        command = [memtraced(), "-p", str(program.pid), "--leak-check=full", "--leak-check-delta",
                   f"--log-file={log}", "-f", "json", "-i", "1000", "--error-exitcode=8"]
        with started(command) as tracer:
            wait_attached(tracer, program)
            for number in (1, 2):
                send_line(program)
                program.lines.until("done")
                text = asked(tracer, log, number)
                sums = read_sums(text.replace(" (+0)", "").replace(" (+100)", "")
                                 .replace(" (+70)", "").replace(" (+1)", ""))
                assert sums["definitely lost"] == (100 * number, number), text
                assert sums["still reachable"] == (70 * number, number), text
            assert "200 (+100) bytes in 2 (+1) blocks are definitely lost" in text, text
            assert "blocks from before the attach are not known" in text, text
            assert "have the sizes that can be used" not in text, text
            program.stdin.close()
            assert program.wait(30) == 0
            assert tracer.wait(30) == 8
        with open(log, encoding="utf-8") as file:
            text = file.read()
        assert text.count("HEAP SUMMARY") == 3, text
        # One record in each of the two checks; the third has found no more.
        assert "ERROR SUMMARY: 2 errors from 2 contexts (suppressed: 0 from 0)" in text, text
