# SPDX-License-Identifier: GPL-2.0-or-later
"""tests/live/areas.txt: every source has its live tests, and there are all that it names."""

import glob
import os
import unittest

from loading import load

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")


class Areas(unittest.TestCase):
    def setUp(self):
        self.script = load("changed-areas")
        self.areas = self.script.read_areas()
        self.tests = {os.path.basename(path)[len("test_"):-len(".py")]
                      for path in glob.glob(os.path.join(TOP, "tests/live/test_*.py"))}

    def test_every_area_is_one_of_live_tests(self):
        named = {area for areas in self.areas.values() for area in areas}
        self.assertEqual(named - self.tests, set())

    def test_every_beginning_is_one_of_a_file(self):
        gone = [start for start in self.areas if not glob.glob(os.path.join(TOP, start + "*"))]
        self.assertEqual(gone, [])

    def test_every_source_has_an_area(self):
        without = [path for folder in ("user", "bpf", "sample")
                   for path in glob.glob(f"{folder}/**/*.[ch]", root_dir=TOP, recursive=True)
                   if not self.script.areas_of(path, self.areas)]
        self.assertEqual(without, [])

    def test_the_longest_beginning_counts(self):
        areas = {"user/": ["a"], "user/report/": ["b", "c"], "user/report/pprof": ["d"]}
        for path, expected in (("user/main.c", ["a"]), ("user/report/text/table.c", ["b", "c"]),
                               ("user/report/pprof/", ["d"]), ("docs/man/memtraced.1", []),
                               ("tests/live/test_tui.py", ["tui"])):
            self.assertEqual(self.script.areas_of(path, areas), expected)


if __name__ == "__main__":
    unittest.main()
