# SPDX-License-Identifier: GPL-2.0-or-later
"""scripts/check-distros, without its root file systems."""

import os
import re
import shutil
import subprocess
import tempfile
import unittest

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
SCRIPT = os.path.join("scripts", "check-distros")
STEPS = os.path.join("tests", "distros", "steps")
WHY = "deps-distro: no mirror of Debian"


def run(tree, *args, **variables):
    """Without other variables of the environment."""
    return subprocess.run([os.path.join(tree, SCRIPT), *args], text=True, check=False,
                          stdout=subprocess.PIPE, env={"PATH": os.environ["PATH"], **variables})


class Distros(unittest.TestCase):
    def setUp(self):
        self.tree = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.tree)
        for name in (SCRIPT, STEPS):
            os.makedirs(os.path.dirname(os.path.join(self.tree, name)), exist_ok=True)
            shutil.copy(os.path.join(ROOT, name), os.path.join(self.tree, name))
        deps = os.path.join(self.tree, "scripts", "deps-distro")
        with open(deps, "w", encoding="utf-8") as file:
            file.write(f"#!/bin/sh\necho {WHY} >&2\nexit 1\n")
        os.chmod(deps, 0o755)
        with open(os.path.join(self.tree, STEPS), encoding="utf-8") as file:
            self.steps = re.findall(r"^(\w+)\(\) \{ # step$", file.read(), re.M)

    def test_it_is_skipped_but_in_the_long_check(self):
        done = run(self.tree, "1.2.3")
        self.assertTrue(done.stdout.startswith("1..1\nok 1 - distributions # SKIP "), done.stdout)
        self.assertEqual(done.returncode, 0)

    def test_each_step_of_a_release_that_is_not_available_is_a_skip_with_the_reason(self):
        done = run(self.tree, "1.2.3", "old", "new", MEMTRACED_LONG="1")
        self.assertIn(f"1..{2 * len(self.steps)}\n", done.stdout)
        for release in ("old", "new"):
            for step in self.steps:
                line = f" - {release}: {step.replace('_', ' ')} # SKIP {WHY}\n"
                self.assertIn(line, done.stdout)
        self.assertEqual(done.returncode, 0)

    def test_it_is_a_failure_where_releases_are_demanded(self):
        done = run(self.tree, "1.2.3", "old", MEMTRACED_LONG="1", MEMTRACED_NEED_KERNELS="1")
        self.assertEqual(len(re.findall("^not ok", done.stdout, re.M)), len(self.steps))
        self.assertIn(WHY, done.stdout)
        self.assertEqual(done.returncode, 1)

    def test_it_can_be_limited_to_steps(self):
        done = run(self.tree, "--step", "make_install", "--step", "package_is", "1.2.3", "old",
                   MEMTRACED_LONG="1")
        self.assertIn("1..2\n", done.stdout)


if __name__ == "__main__":
    unittest.main()
