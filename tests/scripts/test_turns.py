# SPDX-License-Identifier: GPL-2.0-or-later
"""tests/live/turns.py: with which arguments make check runs a live test."""

import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../live"))

import turns  # noqa: E402

PATHS = ["multi", "perf", "session"]
FAMILIES = [f"{name} {path}" for name in ("glibc", "musl", "jemalloc") for path in PATHS]


def attach_path(argument):
    path = str(argument).split(" ")[-1]
    return path if path in PATHS else ""


class Turns(unittest.TestCase):
    def test_all_arguments_have_their_turn(self):
        for arguments, most in ((range(7), 2), (PATHS, None), (FAMILIES, None), (FAMILIES, 1),
                                ([None, "atomics"], 1), ([["a", 1], ["b", 2]], 1)):
            run = [argument for number in range(9)
                   for argument in turns.usual("name", arguments, most, attach_path, number)]
            self.assertEqual([a for a in arguments if a not in run], [])

    def test_as_many_run_as_are_said_and_none_twice(self):
        for number in range(20):
            run = turns.usual("name", range(7), 3, attach_path, number)
            self.assertEqual(len(set(run)), 3)

    def test_without_a_number_all_run(self):
        self.assertEqual(set(turns.usual("name", range(7), None, attach_path, 5)), set(range(7)))

    def test_of_attach_paths_one_runs_with_each_other_argument(self):
        for number in range(20):
            run = turns.usual("name", FAMILIES, None, attach_path, number)
            self.assertEqual(sorted(argument.split(" ")[0] for argument in run),
                             ["glibc", "jemalloc", "musl"])

    def test_the_same_number_gives_the_same(self):
        self.assertEqual(turns.usual("name", FAMILIES, 2, attach_path, 77),
                         turns.usual("name", FAMILIES, 2, attach_path, 77))


if __name__ == "__main__":
    unittest.main()
