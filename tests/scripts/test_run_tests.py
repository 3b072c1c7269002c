# SPDX-License-Identifier: GPL-2.0-or-later
"""scripts/run-tests on made-up programs: what it counts, shows, and closes with."""

import os
import re
import shlex
import subprocess
import tempfile
import unittest

RUN_TESTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../scripts/run-tests")


def run(*args):
    done = subprocess.run([RUN_TESTS, *args], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=60, check=False)
    return done.returncode, done.stdout.splitlines()


class RunTests(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def tap(self, name, *lines, end="exit 0"):
        """A program's command; it prints the lines."""
        path = os.path.join(self.folder.name, "tests", name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join(["#!/bin/sh", *(f"echo {shlex.quote(line)}" for line in lines),
                                  end, ""]))
        os.chmod(path, 0o755)
        return path

    def test_results_of_all_programs_are_summed(self):
        tap = self.tap("a", "1..3", "ok 1 - x", "ok 2 - y # SKIP no y here", "ok 3 - z")
        status, lines = run("--tap", tap, "--status", "works", "true")
        self.assertEqual((status, lines[-1]), (0, "3 passed, 0 failed, 1 skipped"))
        self.assertEqual(lines[:3], ["SKIP tests/a: y: no y here",
                                     "ok   tests/a (2 passed, 0 failed, 1 skipped)", "ok   works"])

    def test_what_fails_is_shown_with_what_it_said(self):
        tap = self.tap("a", "1..2", "not ok 1 - x", "# why", "# 2.5 s", "ok 2 - y", end="exit 1")
        status, lines = run("--tap", tap, "--status", "breaks", "echo so; false")
        self.assertEqual((status, lines[-1]), (1, "1 passed, 2 failed, 0 skipped"))
        self.assertEqual(lines[:6], ["FAIL tests/a: x", "       # why", "       # 2.5 s",
                                     "FAIL tests/a (1 passed, 1 failed, 0 skipped)",
                                     "FAIL breaks", "       so"])
        self.assertEqual(lines[-6:-1],
                         ["note: FAIL tests/a: x", "note:        # why", "note:        # 2.5 s",
                          "note: FAIL breaks", "note:        so"])

    def test_a_skip_has_a_reason(self):
        for said, end in (("no y here", 0), (None, 1)):
            reason = [said] if said else []
            tap = self.tap("a", "1..2", "ok 1 - x", *reason, "not ok 2 # SKIP y")
            status, lines = run("--tap", tap)
            self.assertEqual(status, end, lines)
            self.assertEqual(lines[0], f"SKIP tests/a: y: {said}" if said else
                             "FAIL tests/a: y: it is skipped without a reason")

    def test_a_program_that_does_not_run_all_that_it_planned_has_failed(self):
        cases = ((("1..2", "ok 1 - x"), "exit 0", "ran 1 of 2 tests"),
                 (("ok 1 - x",), "exit 0", "printed no plan"),
                 (("1..0",), "exit 0", "has no tests"),
                 (("1..1", "ok 1 - x"), "exit 3", "all tests passed; it ended with exit status 3"),
                 (("1..1", "ok 1 - x"), "kill -9 $$", "it ended with signal 9"))
        for said, end, words in cases:
            status, lines = run("--tap", self.tap("a", *said, end=end))
            self.assertEqual(status, 1, lines)
            self.assertIn(words, lines[0])

    def test_the_longest_come_before_the_last_line(self):
        said = ["1..20"]
        for i in range(1, 21):
            said += [f"ok {i} - area: t{i}", f"# {i * 7 % 20}.5 s"]
        status, lines = run("--tap", self.tap("a", *said), "--status", "quick", "true")
        self.assertEqual((status, lines[-1]), (0, "21 passed, 0 failed, 0 skipped"))
        programs = lines.index("note: the programs that took longest, of 2:")
        areas = lines.index("note: the areas that took longest, of 1:")
        tests = lines.index("note: the tests that took longest, of 20:")
        self.assertEqual((areas, tests), (programs + 3, programs + 5), lines)
        self.assertEqual(lines[areas + 1], "note:    200.0 s  tests/a: area")
        names = [re.match(r"note: +\d+\.\d s  (\S+)$", line).group(1)
                 for line in lines[programs + 1:areas]]
        self.assertEqual(sorted(names), ["quick", "tests/a"])
        took = [re.match(r"note: +(\S+) s  tests/a: area: t(\d+)$", line).groups()
                for line in lines[tests + 1:-1]]
        self.assertEqual([seconds for seconds, _ in took], [f"{n}.5" for n in range(19, 4, -1)])
        self.assertTrue(all(int(i) * 7 % 20 == int(float(s)) for s, i in took), took)

    def test_together_they_wait_for_each_other_and_tell_in_order(self):
        fifo = os.path.join(self.folder.name, "fifo")
        os.mkfifo(fifo)
        first = self.tap("a", "1..1", "ok 1 - x", end=f"read word < {fifo}; test $word = go")
        last = self.tap("b", "1..1", "not ok 1 - y", end="exit 1")
        status, lines = run("--together", "--tap", first, "--status", "writes", f"echo go > {fifo}",
                            "--alone", "--tap", last)
        self.assertEqual((status, lines[-1]), (1, "2 passed, 1 failed, 0 skipped"))
        self.assertEqual(lines[:4], ["ok   tests/a (1 passed, 0 failed, 0 skipped)", "ok   writes",
                                     "FAIL tests/b: y",
                                     "FAIL tests/b (0 passed, 1 failed, 0 skipped)"])


if __name__ == "__main__":
    unittest.main()
