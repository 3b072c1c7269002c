# SPDX-License-Identifier: GPL-2.0-or-later
"""scripts/check-words: what it reads of each kind of file, and what it refuses there."""

import glob
import os
import tempfile
import unittest

from loading import SCRIPTS, load


class CheckWords(unittest.TestCase):
    def setUp(self):
        self.script = load("check-words")

    def found(self, name, text):
        """(line, words) of all that is refused in a file of this name."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, name)
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            return [(self.script.line_of(part, at, first), words)
                    for first, part in self.script.units(path)
                    for at, words, _ in self.script.findings(part)]

    def test_strings_are_joined_and_comments_are_not_read(self):
        self.assertEqual(self.found("a.c", '/* nobody */\nf("it is "\n  "no number"); // nobody\n'),
                         [(2, "is no number")])
        self.assertEqual(self.found("a.js", "f('nobody' + \"his\" + `whom`); // nobody\n"),
                         [(1, "nobody"), (1, "his"), (1, "whom")])

    def test_prose_of_documents_is_read_and_code_is_not(self):
        text = ("a line\nthat nobody\n\n    $ nobody\n\n`nobody`, and\n"
                "```\nnobody\n```\n| a | who |\n")
        self.assertEqual(self.found("a.md", text), [(2, "nobody"), (10, "who")])

    def test_text_of_man_pages_is_read_and_names_are_not(self):
        text = ".Sh NAME\nIt is\n.Fl Fl who\nfor that and\nno more.\n.Bd\nnobody\n.Ed\n"
        self.assertEqual(self.found("a.8", text), [(5, "no more")])

    def test_the_right_uses_stand(self):
        text = ("The user who asks. There is no file. It is no longer there, and no more "
                "than 3.\n\nWhat is the peak?\n")
        self.assertEqual(self.found("a.md", text), [])

    def test_a_sentence_begins_with_its_subject(self):
        found = self.found("a.md", "It ends. What is left\nis freed. Of what ran, none.\n")
        self.assertEqual(sorted(found), [(1, "What is left is freed."), (2, "Of what")])

    def test_every_place_has_files(self):
        top = os.path.join(SCRIPTS, "..")
        for place in self.script.PLACES:
            self.assertTrue(glob.glob(os.path.join(top, place), recursive=True), place)


if __name__ == "__main__":
    unittest.main()
