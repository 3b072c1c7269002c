# SPDX-License-Identifier: GPL-2.0-or-later
"""What building needs: scripts/packages, scripts/deps, scripts/find-tool."""

import os
import re
import subprocess
import tempfile
import unittest

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))


def read(*names):
    with open(os.path.join(ROOT, *names), encoding="utf-8") as file:
        return file.read()


def rows():
    return [line.split() for line in read("scripts", "packages").splitlines()
            if line and not line.startswith("#")]


class Packages(unittest.TestCase):
    def test_each_row_has_a_group_and_three_names(self):
        for row in rows():
            self.assertEqual(len(row), 4, row)
            self.assertIn(row[0], ("build", "test", "clients"))
        names = [row[1] for row in rows()]
        self.assertEqual(sorted(names), sorted(set(names)))

    def test_what_the_debian_package_is_built_with_is_installed(self):
        control = read("debian", "control")
        listed = re.search(r"^Build-Depends:\n((?: .*\n)+)", control, re.M).group(1)
        needed = {re.match(r" ([a-z0-9.+-]+)", line).group(1) for line in listed.splitlines()}
        known = {row[1] for row in rows() if row[0] in ("build", "test")}
        # scripts/make-deb installs these.
        self.assertEqual(needed - known, {"debhelper-compat", "systemd-dev"})

    def test_it_says_how_to_install_and_installs_nothing(self):
        done = subprocess.run([os.path.join(ROOT, "scripts", "deps"), "--show", "no-such-package"],
                              capture_output=True, text=True, check=True)
        self.assertIn("install --no-install-recommends no-such-package\n", done.stderr)
        self.assertEqual(done.stdout, "")


class FindTool(unittest.TestCase):
    def find(self, tools, *args):
        """Which of the tools, {name: what --version prints}, is found."""
        with tempfile.TemporaryDirectory() as folder:
            for name, version in tools.items():
                path = os.path.join(folder, name)
                with open(path, "w", encoding="ascii") as file:
                    file.write(f"#!/bin/sh\necho '{version}'\n")
                os.chmod(path, 0o755)
            done = subprocess.run([os.path.join(ROOT, "scripts", "find-tool"), *args],
                                  env={"PATH": folder + ":/usr/bin:/bin"}, capture_output=True,
                                  text=True, check=True)
            return os.path.relpath(done.stdout.strip(), folder) if "/" in done.stdout \
                else done.stdout.strip()

    def test_the_plain_name_is_first(self):
        tools = {"zcc": "zcc version 14.0.6", "zcc-19": "zcc version 19.1.0"}
        self.assertEqual(self.find(tools, "zcc", "14"), "zcc")

    def test_one_that_is_too_old_is_passed_over(self):
        tools = {"zcc": "zcc version 9.0.1", "zcc-9": "zcc 9.0.1", "zcc-15": "zcc 15.0.7",
                 "zcc-100": "zcc 100.1", "zcc-format-200": "no zcc 200.1"}
        self.assertEqual(self.find(tools, "zcc", "14"), "zcc-100")

    def test_one_that_does_not_run_is_passed_over(self):
        tools = {"ztool": "", "ztool-6": "ztool v6.1\\nusing lib v1.1"}
        self.assertEqual(self.find(tools, "ztool", "5.13"), "ztool-6")

    def test_without_any_the_name_is_left(self):
        self.assertEqual(self.find({"zcc": "zcc 9.0"}, "zcc", "14"), "zcc")
        self.assertEqual(self.find({}, "zcc", "14"), "zcc")


if __name__ == "__main__":
    unittest.main()
