# SPDX-License-Identifier: GPL-2.0-or-later
"""What one of memcheck and --leak-check writes with --gen-suppressions=all silences the other: of
programs in C, C++ and Rust (tests/targets/suppressions) by several compilers and options. With
MEMTRACED_SUPPRESSIONS=PATH the table is written there."""

import os
import re

from leaks import checked, memcheck
from lib import (LONG, need_forms, need_program, need_root, run, run_memtraced, scratch, test)

BESIDE_OTHERS = True
TRANSLATES = True
SOURCES = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))),
                       "targets/suppressions")
DEBIAN_RUSTC = "/usr/bin/rustc"  # beside which there may be one that has its own default mangling


def c(*options, compiler="gcc"):
    return "plain.c", (compiler, "-w", *options)


def cxx(*options, compiler="g++", source="classes.cc"):
    return source, (compiler, "-w", "-std=gnu++17", "-pthread", *options)


def rust(*options):
    return "rust.rs", (DEBIAN_RUSTC, "--edition", "2018", *options)


QUICK = {
    "C -O2": c("-g", "-O2"),
    "C++ -O2": cxx("-g", "-O2"),
    "threads -O2": cxx("-g", "-O2", source="threads.cc"),
    "Rust, legacy names": rust("-O", "-g"),
}
PROGRAMS = {
    **QUICK,
    "C -O0": c("-g", "-O0"),
    "C -O2, without -g": c("-O2"),
    "C -O2, no PIE": c("-g", "-O2", "-no-pie"),
    "C -O2, static": c("-g", "-O2", "-static"),
    "C -O0, clang": c("-g", "-O0", compiler="clang"),
    "C -O2, clang": c("-g", "-O2", compiler="clang"),
    "C++ -O0": cxx("-g", "-O0"),
    "C++ -O2, without -g": cxx("-O2"),
    "C++ -O2 -fno-plt": cxx("-g", "-O2", "-fno-plt"),
    "C++ -O2, lazy PLT": cxx("-g", "-O2", "-fcf-protection=none", "-Wl,-z,lazy"),
    "C++ -O2, no PIE": cxx("-g", "-O2", "-no-pie"),
    "C++ -O2, static": cxx("-g", "-O2", "-static"),
    "C++ -O2, stripped": cxx("-O2", "-s"),
    "C++ -O0, clang": cxx("-g", "-O0", compiler="clang++"),
    "C++ -O2, clang": cxx("-g", "-O2", compiler="clang++"),
    "threads -O0": cxx("-g", "-O0", source="threads.cc"),
    "threads -O2, without -g": cxx("-O2", source="threads.cc"),
    "Rust, legacy names, without -g": rust("-O"),
    "Rust, legacy names, not optimised": rust("-g"),
    "Rust, v0 names": rust("-O", "-g", "-Csymbol-mangling-version=v0"),
    "Rust, v0 names, without -g": rust("-O", "-Csymbol-mangling-version=v0"),
    "Rust, v0 names, not optimised": rust("-g", "-Csymbol-mangling-version=v0"),
}
LEAST_SHARE = 0.98

ERROR = re.compile(r"^==\d+== (?:.* are (?:definitely lost|indirectly lost|possibly lost|still "
                   r"reachable) in loss record|Mismatched free|Invalid free)", re.M)


def errors_in(text):
    return len(ERROR.findall(text))


class Table:
    rows = []

    @classmethod
    def add(cls, *row):
        cls.rows.append(row)
        print(f"# {row[0]}: memcheck {row[1]}, {row[2]} are left; memtraced {row[3]}, {row[4]} are "
              f"left", flush=True)

    @classmethod
    def write(cls, path):
        def share(n, left):
            return f"{100 * (n - left) / n:.0f} %"

        sums = [sum(row[i] for row in cls.rows) for i in range(1, 5)]
        lines = [f"| {name} | {theirs} | {share(theirs, left)} | {ours} | "
                 f"{share(ours, ours_left)} |"
                 for name, theirs, left, ours, ours_left in (*cls.rows, ("all", *sums))]
        uname = os.uname()
        with open(path, "w", encoding="utf-8") as file:
            file.write(DOCUMENT.format(
                version=run_memtraced("--version").stdout.split()[1], kernel=uname.release,
                machine=uname.machine, valgrind=run(["valgrind", "--version"]).stdout.strip(),
                gcc=version_of("gcc"), clang=version_of("clang"), rustc=version_of(DEBIAN_RUSTC),
                rows="\n".join(lines)))


def version_of(compiler):
    return run([compiler, "--version"]).stdout.splitlines()[0]


DOCUMENT = """# Suppressions of memcheck and memtraced for each other

Made by `tests/live/test_suppressions.py` with `MEMTRACED_SUPPRESSIONS`: memtraced {version} on
Linux {kernel}, {machine}; {valgrind}; {gcc}; {clang}; {rustc}.

Loss records of all kinds, and frees by the wrong form, of programs in tests/targets/suppressions;
how many of them are silenced by what the other tool has written with `--gen-suppressions=all`.
memcheck does not see the allocator of a static program: there both runs are memtraced's.

| program | memcheck's errors | silenced by ours | memtraced's errors | silenced by memcheck's |
|---|---|---|---|---|
{rows}
"""


def build(name, folder):
    source, command = PROGRAMS[name]
    program = os.path.join(folder, "program")
    done = run([*command, "-o", program, os.path.join(SOURCES, source)], timeout=120)
    assert done.returncode == 0, done.stderr
    return program


def write_entries(text, path):
    entries = re.findall(r"^\{\n.*\n   Memcheck:(?:Leak|Free)\n(?s:.*?)^\}$", text, re.M)
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(entries) + "\n")
    return len(entries)


@test(need_root, need_program("valgrind"), need_forms,
      each=tuple(PROGRAMS) if LONG else tuple(QUICK), in_turn=1, timeout=180)
def each_tools_suppressions_silence_the_other(name):
    compiler = PROGRAMS[name][1][0]
    need_program(compiler)()
    options = ("--show-leak-kinds=all",)
    with scratch() as folder:
        program = build(name, folder)
        tools = [(memcheck, ()), (checked, ("--heap-errors",))]
        if "static" in name:  # memcheck does not see its allocator
            tools[0] = tools[1]
        texts = [tool([program], *options, *more, "--gen-suppressions=all")
                 for tool, more in tools]
        paths = [os.path.join(folder, f"{i}.supp") for i in range(2)]
        for text, path in zip(texts, paths):
            assert write_entries(text, path) == errors_in(text) > 0, text
        left = [tool([program], *options, *more, f"--suppressions={path}")
                for (tool, more), path in zip(tools, reversed(paths))]
    numbers = [n for text, rest in zip(texts, left) for n in (errors_in(text), errors_in(rest))]
    Table.add(name, *numbers)
    if os.environ.get("MEMTRACED_SUPPRESSIONS"):
        Table.write(os.environ["MEMTRACED_SUPPRESSIONS"])
    for i, (text, rest) in enumerate(zip(texts, left)):
        share = 1 - errors_in(rest) / errors_in(text)
        assert share >= LEAST_SHARE, f"{('memcheck', 'memtraced')[i]} shows: {rest[:1500]}"
