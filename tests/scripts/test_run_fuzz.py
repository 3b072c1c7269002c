# SPDX-License-Identifier: GPL-2.0-or-later
"""scripts/run-fuzz with two builds: turns, and counts that later runs add to."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

from loading import SCRIPTS

PROGRAM = """#!/bin/sh
echo "$0 $*" >>"{log}"
echo "stat::number_of_executed_units: {inputs}" >&2
exit {status}
"""


class TwoBuilds(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.log = os.path.join(self.folder, "log")

    def build(self, name, inputs, status=0):
        path = os.path.join(self.folder, name, "tests/fuzz/fuzz_some")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="ascii") as file:
            file.write(PROGRAM.format(log=self.log, inputs=inputs, status=status))
        os.chmod(path, 0o755)

    def fuzz(self, runs):
        def path(name):
            return os.path.join(self.folder, name)
        return subprocess.run(
            [sys.executable, os.path.join(SCRIPTS, "run-fuzz"), "--build", path("sanitized"),
             "--fast", path("fast"), "--corpus", path("corpus"), "--runs", str(runs), "--seconds",
             "600", "fuzz_some"], capture_output=True, text=True, check=False)

    def counts(self):
        with open(os.path.join(self.folder, "sanitized/counts.json"), encoding="ascii") as file:
            return json.load(file)["fuzz_some"]

    def test_builds_take_turns_until_both_have_the_inputs(self):
        self.build("fast", 900)
        self.build("sanitized", 100)
        done = self.fuzz(1500)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.counts(), {"fast": 1800, "sanitized": 200})
        self.assertIn("ok 1 - fuzz_some: 2,000 inputs; in all 2,000, of which with "
                      "AddressSanitizer 200", done.stdout)

    def test_later_runs_add_and_make_a_turn_at_least(self):
        self.build("fast", 900)
        self.build("sanitized", 100)
        self.fuzz(1000)
        done = self.fuzz(1000)
        self.assertEqual(self.counts(), {"fast": 1800, "sanitized": 200})
        self.assertIn("fuzz_some: 1,000 inputs; in all 2,000", done.stdout)

    def test_an_input_that_fails_in_one_build_ends_the_run(self):
        self.build("fast", 900)
        self.build("sanitized", 7, status=77)
        done = self.fuzz(100000)
        self.assertEqual(done.returncode, 1)
        self.assertIn("not ok 1 - fuzz_some: 907 inputs", done.stdout)


if __name__ == "__main__":
    unittest.main()
