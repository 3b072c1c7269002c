# SPDX-License-Identifier: GPL-2.0-or-later
"""Blocks of code of README.md and docs/guide. Each has a mark above it:

    <!-- run: PREPARATION -->       test_documents.py runs its commands; they print the output
    <!-- run long: PREPARATION -->  the same, in make check-long
    <!-- not run: REASON -->

A command begins with a prompt or sudo, its output follows it."""

import glob
import os
import re

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
MARK = re.compile(r"<!-- (run|run long|not run): (.+) -->$")
COMMAND = re.compile(r"(?:[#$] |(?=sudo ))(.*)")


class Block:
    def __init__(self, path, line, lines, mark):
        self.path, self.line, self.lines = path, line, lines
        self.kind, self.argument = mark.groups() if mark else (None, None)
        self.name = f"{path}:{line}"

    def commands(self):
        """(command, the lines of its output) of each; '' is the command of output that has none."""
        found = [("", [])]
        for line in self.lines:
            command = COMMAND.match(line)
            if command:
                found.append((re.sub(r"\s{2,}#.*", "", command.group(1)), []))
            else:
                found[-1][1].append(line)
        return [(command, output) for command, output in found if command or any(output)]


def blocks_of(path):
    """Indented blocks, behind a blank line, and fenced ones."""
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        lines = file.read().split("\n") + [""]
    mark, block, first, fenced, blank = None, None, 0, False, True
    for number, line in enumerate(lines, 1):
        if line.startswith("```"):
            if fenced:
                yield Block(path, first, block, mark)
                mark = block = None
            else:
                block, first = [], number + 1
            fenced = not fenced
        elif fenced:
            block.append(line)
        elif line.startswith("    ") and (block is not None or blank):
            if block is None:
                block, first = [], number
            block.append(line[4:])
        elif block is not None and not line.strip() and any(
                after.startswith("    ") for after in lines[number:number + 1]):
            block.append("")
        else:
            if block is not None:
                yield Block(path, first, block, mark)
                mark = block = None
            if line.strip():
                mark = MARK.match(line)
        blank = not line.strip()


def all_blocks():
    for path in ["README.md", *sorted(glob.glob("docs/guide/*.md", root_dir=ROOT))]:
        yield from blocks_of(path)


def stable(lines):
    """What another run prints again: numbers, times and bars are #, and line breaks are blanks."""
    text = " ".join(" ".join(lines).split())
    text = re.sub(r"Linux [\w.-]+", "Linux #", text)
    text = re.sub(r"by \w+ probes", "by # probes", text)
    text = re.sub(r"\| ?@* ?\|", "|", text)
    number = r"[~≥]?[+-]?(?:0x[0-9a-fA-F]+|\d[\d.,]*)(?: ?(?:[KMGT]iB|[num]?s|B|k|M|%)(?!\w))?"
    text = re.sub(number, "#", text)
    return re.sub(r"# to #", "#", text)


def first_difference(shown, printed):
    """The first part of `shown`, between its "…", that was not printed; None: all was."""
    printed, at = stable(printed), 0
    for part in "\n".join(shown).split("…"):
        part = stable(part.split("\n"))
        found = printed.find(part, at)
        if found < 0:
            return f"shown:   {part}\nprinted: {printed[at:]}"
        at = found + len(part)
    return None
