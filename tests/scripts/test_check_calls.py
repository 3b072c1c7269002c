# SPDX-License-Identifier: GPL-2.0-or-later
"""scripts/check-calls finds what it is there for, in objects of a compiler."""

import os
import subprocess
import tempfile
import unittest

from loading import load

# Folder, file, what it defines, what that calls.
SOURCES = (("user", "a", "a", "b"), ("user", "b", "b", "c"), ("user", "c", "c", "a"),
           ("user", "d", "d_alone", "a"),
           ("user/trace/live/code", "code", "code_alone", "cut"),
           ("user/trace/live/cuts", "cut", "cut", "puts"))


class Calls(unittest.TestCase):
    def setUp(self):
        self.script = load("check-calls")
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.paths = []
        for where, name, defined, called in SOURCES:
            path = os.path.join(folder.name, where, name + ".o")
            os.makedirs(os.path.dirname(path), exist_ok=True)
            subprocess.run(["cc", "-x", "c", "-c", "-w", "-o", path, "-"], text=True, check=True,
                           input=f"void {called}(); void {defined}(void) {{ {called}(); }}")
            self.paths.append(path)
        self.graph, self.lacking, self.functions = self.script.calls(self.paths)

    def test_a_circle_of_three_files_is_named_without_those_that_call_it(self):
        circles = [sorted(os.path.basename(path) for path in circle)
                   for circle in self.script.circles(self.graph)]
        self.assertEqual(circles, [["a.o", "b.o", "c.o"]])

    def test_a_folder_of_trace_live_does_not_call_one_above_it(self):
        found = list(self.script.upward(self.graph))
        self.assertEqual(len(found), 1)
        self.assertIn("code/code.o must not call", found[0])

    def test_what_no_other_file_calls_is_named(self):
        found = self.script.unshared(self.functions, self.lacking)
        self.assertEqual([name for _, name in found], ["d_alone", "code_alone"])

    def test_objects_of_removed_sources_are_not_read(self):
        self.assertEqual(list(self.script.objects([os.path.dirname(self.paths[0])])), [])


if __name__ == "__main__":
    unittest.main()
