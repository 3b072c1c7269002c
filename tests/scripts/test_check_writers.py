# SPDX-License-Identifier: GPL-2.0-or-later
"""scripts/check-writers: which statements write a field, and which only read it."""

import unittest

from loading import load

KINDS = {"cuts": "live_cuts", "number": "uint64_t", "list": "vec", "name": "char"}
CONST = {("read_it", 0)}


class Writers(unittest.TestCase):
    def setUp(self):
        self.script = load("check-writers")

    def written(self, statement):
        return self.script.writes(f"static void f(struct live *live)\n{{\n\t{statement}\n}}\n",
                                  r"\blive", KINDS, CONST)

    def test_what_writes(self):
        for statement in ("live->number = 1;", "live->number++;",
                          "--live->number;", "live->number |= 2;",
                          "live->cuts.begun = true;", "live->name[0] = '\\0';",
                          "memset(&live->number, 0, 8);", "change(&live->number);",
                          "struct live_cuts *cuts = &live->cuts;"):
            self.assertEqual(len(self.written(statement)), 1, statement)

    def test_what_only_reads(self):
        for statement in ("n = live->number;", "if (live->number == 1)", "read_it(&live->number);",
                          "const struct live_cuts *cuts = &live->cuts;",
                          "live_cuts_begin(&live->cuts);", "live->cuts.snapshot->n = 1;"):
            self.assertEqual(self.written(statement), set(), statement)


if __name__ == "__main__":
    unittest.main()
