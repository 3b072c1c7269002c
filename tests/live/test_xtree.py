# SPDX-License-Identifier: GPL-2.0-or-later
"""--xtree-leak: loss records as callgrind_annotate shows them, beside memcheck's."""

import os
import re

from leaks import read_sums
from lib import need_program, need_root, refused, run, run_memtraced, scratch, target, test

BESIDE_OTHERS = True
TRANSLATES = True


def annotated(path):
    """The events and the totals that callgrind_annotate shows, {event: n}, and its text."""
    done = run(["callgrind_annotate", "--inclusive=yes", "--auto=no", path])
    assert done.returncode == 0 and not done.stderr, done.stderr
    names = re.search(r"Events recorded: +(.*)", done.stdout).group(1).split()
    line = re.search(r"^(.*) PROGRAM TOTALS", done.stdout, re.M).group(1)
    values = [int(n.replace(",", "")) for n in re.sub(r"\(.*?\)", "", line).split()]
    assert len(names) == len(values), line
    return dict(zip(names, values)), done.stdout


@test(need_root, need_program("valgrind", "callgrind_annotate"), each=("shapes", "tree_lost"),
      in_turn=1, timeout=90)
def callgrind_annotate_shows_the_sums_of_memcheck(name):
    program = target(f"leaks/{name}")
    with scratch() as folder:
        ours, theirs = (os.path.join(folder, who) for who in ("ours.%p", "theirs"))
        done = run_memtraced("--xtree-leak=yes", f"--xtree-leak-file={ours}", "--", program)
        assert done.returncode == 0, done.stderr
        pid = re.search(r"^==(\d+)==", done.stderr, re.M).group(1)
        run(["valgrind", "-q", "--xtree-leak=yes", f"--xtree-leak-file={theirs}", program])
        (totals, text), (memchecks, _) = annotated(ours.replace("%p", pid)), annotated(theirs)
    assert list(totals) == list(memchecks), totals
    lost = {key: n for key, n in totals.items() if "R" not in key}
    assert lost == {key: n for key, n in memchecks.items() if "R" not in key}
    sums = read_sums(done.stderr)
    assert (totals["RB"], totals["RBk"]) == sums["still reachable"]
    assert totals["DB"] - totals["DIB"] == sums["definitely lost"][0]
    assert (totals["IB"], totals["IBk"]) == sums["indirectly lost"]
    assert f"{name}.c:" in text, text
    assert "in loss record" not in done.stderr, done.stderr


@test(need_root)
def a_path_that_cannot_be_written_is_said_at_once():
    done = run_memtraced("--xtree-leak=yes", "--xtree-leak-file=/nonexistent/x", "--", "true")
    refused(done, 2, "/nonexistent/x")
