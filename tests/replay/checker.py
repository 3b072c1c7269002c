# SPDX-License-Identifier: GPL-2.0-or-later
"""The command line of the checkers, and how they are tried themselves."""

import sys


def try_traps(good, traps, check):
    """What `check` (bytes to problems) does not find. `traps`: what is replaced in what is good
    (text or bytes), by what, and a part of the problem that must be reported."""
    failures = []
    for old, new, expected in traps:
        bad = good.replace(old, new)
        problems = check(bad.encode() if isinstance(bad, str) else bad)
        if bad == good or not any(expected in problem for problem in problems):
            failures.append(f"{new!r} for {old!r}: {problems}")
    return failures


def check_files(paths, check):
    problems = []
    for path in paths:
        with open(path, "rb") as file:
            problems += [f"{path}: {problem}" for problem in check(file.read())]
    return problems


def main(usage, check, self_test, print_text=None):
    """Checks the files named on the command line, or the checker by its own test; ends the program:
    1 when there were problems, 2 when nothing was asked. With --text, prints a file as golden files
    have it when nothing is wrong with it."""
    arguments = sys.argv[1:]
    if print_text and arguments[:1] == ["--text"]:
        problems = check_files(arguments[1:], check)
        if not problems:
            print_text(arguments[1])
        print("\n".join(problems), end="", file=sys.stderr)
        sys.exit(1 if problems else 0)
    if not arguments:
        print(usage)
        sys.exit(2)
    problems = self_test() if arguments == ["--self-test"] else check_files(arguments, check)
    for problem in problems:
        print(problem)
    sys.exit(1 if problems else 0)
