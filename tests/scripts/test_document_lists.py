# SPDX-License-Identifier: GPL-2.0-or-later
"""Lists in the documents that have to be complete: the index, and the libraries of others."""

import glob
import os
import re
import unittest

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
# As the linker and pkg-config call them, by the name of their project.
PROJECTS = {"iberty": "libiberty", "stdc++": "libstdc++", "m": "glibc", "c": "glibc",
            "ncursesw": "ncurses", "libprotobuf-c": "protobuf-c"}


def read(*names):
    with open(os.path.join(ROOT, *names), encoding="utf-8") as file:
        return file.read()


class Index(unittest.TestCase):
    def test_it_lists_each_page(self):
        linked = set(re.findall(r"\]\(([^)#]*)", read("docs", "README.md")))
        os.chdir(os.path.join(ROOT, "docs"))
        pages = {page for folder in ("", "guide/", "hacking/", "man/")
                 for page in glob.glob(folder + "*.[md158]*") if page != "README.md"}
        pages.discard("memtraced.bash")
        self.assertEqual(pages - linked, set())

    def test_the_guide_lists_its_pages(self):
        linked = set(re.findall(r"\]\(([^)#]*)", read("docs", "guide", "README.md")))
        os.chdir(os.path.join(ROOT, "docs", "guide"))
        self.assertEqual(set(glob.glob("*.md")) - {"README.md"} - linked, set())


class Changelog(unittest.TestCase):
    def test_versions_and_kinds_are_those_of_keep_a_changelog(self):
        heads = re.findall(r"^(##+) (.*)$", read("CHANGELOG.md"), re.M)
        kinds = ["Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"]
        self.assertEqual(heads[0], ("##", "[Unreleased]"))
        last = -1
        for level, text in heads:
            if level == "##":
                self.assertRegex(text, r"^\[(Unreleased\]|\d+\.\d+\.\d+\] - \d{4}-\d\d-\d\d)$")
                last = -1
            else:
                self.assertEqual(level, "###")
                self.assertGreater(kinds.index(text), last, text)
                last = kinds.index(text)


class Losses(unittest.TestCase):
    def test_the_guide_explains_each_cause(self):
        source = read("user", "trace", "live", "cuts", "live_cut.c")
        names = source.split("loss_names[LOSSES] = {")[1].split("};")[0]
        causes = set(re.findall(r'= "([\w-]+)"', names))
        header = read("user", "trace", "record", "record_cut.h")
        causes |= set(re.findall(r'^#define RECORD_CAUSE_\w+ "([\w-]+)"', header, re.M))
        self.assertGreater(len(causes), 40)
        table = read("docs", "guide", "accuracy.md").split("## Causes of losses")[1]
        self.assertEqual(causes - set(re.findall(r"`([\w-]+)`", table)), set())


class ThirdParty(unittest.TestCase):
    def test_each_library_that_is_linked_or_loaded_has_its_licence(self):
        makefile = read("Makefile")
        packages = re.search(r"^PACKAGES := (.*(?:\\\n.*)*)", makefile, re.M).group(1).split()
        static = re.search(r"^ALL_LIBS = (.*)\n(?:.*\n)*?ALLOCATOR = (.*)", makefile, re.M).groups()
        flags = re.findall(r"-l:?(?:lib)?([\w+]+)", " ".join(static))
        sources = map(read, glob.glob(os.path.join(ROOT, "user/**/*.c"), recursive=True))
        loaded = [name for source in sources if "dlopen(" in source
                  for name in re.findall(r'"lib([a-z]+)[\w-]*\.so', source)]
        listed = read("docs", "third-party.md")
        for name in [name for name in packages if name != "\\"] + flags + loaded:
            project = PROJECTS.get(name, name)
            self.assertRegex(listed, rf"(?m)^\|.*{re.escape(project)}.*\|.*\|", name)


if __name__ == "__main__":
    unittest.main()
