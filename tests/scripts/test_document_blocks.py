# SPDX-License-Identifier: GPL-2.0-or-later
"""tests/live/documents.py: each block of the documents is run, or says why not."""

import os
import re
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "live"))

import documents  # noqa: E402
import test_documents  # noqa: E402


class Blocks(unittest.TestCase):
    def test_each_block_has_a_mark(self):
        without = [block.name for block in documents.all_blocks() if not block.kind]
        self.assertEqual(without, [])

    def test_tests_that_are_named_are_there(self):
        for block in documents.all_blocks():
            for name in re.findall(r"\btest_\w+\.py", block.argument):
                path = os.path.join(documents.ROOT, "tests", "live", name)
                self.assertTrue(os.path.exists(path), (block.name, name))

    def test_each_preparation_is_there_and_used(self):
        named = {block.argument for block in test_documents.to_run().values()}
        self.assertEqual(named, set(test_documents.PREPARATIONS))

    def test_commands_have_their_output(self):
        block = documents.Block("a.md", 1, ["# one  # why", "1", "", "$ two", "sudo a", "3"], None)
        self.assertEqual(block.commands(), [("one", ["1", ""]), ("two", []), ("sudo a", ["3"])])

    def test_what_varies_is_not_compared(self):
        shown = ["#1  1.1 MiB live, 36.9% in 52113 blocks, 0 s to 3.3 s old, 1.1 MiB at",
                 "  the peak", "…", "end"]
        again = ["#1  2 KiB live, 5.0% in 2 blocks, 10 ms old, 2.0 KiB at the peak",
                 "more", "end", "tail"]
        self.assertIsNone(documents.first_difference(shown, again))
        self.assertIsNotNone(documents.first_difference(shown, again[:1]))
        self.assertIsNotNone(documents.first_difference(shown[:2] + shown[3:], again))


if __name__ == "__main__":
    unittest.main()
