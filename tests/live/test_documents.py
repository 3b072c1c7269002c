# SPDX-License-Identifier: GPL-2.0-or-later
"""Commands of README.md and docs/guide: they work, and print again what is shown (documents.py),
on the release that it is from, Debian 12."""

import contextlib
import os
import re
import sys

from documents import all_blocks, first_difference
from lib import (LONG, Place, Skip, as_users_do, need_program, need_root, need_speed, run,
                 run_memtraced, scratch, started, test)

BESIDE_OTHERS = True
SOURCES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "documents")


def need_debian_12():
    with contextlib.suppress(OSError), open("/etc/os-release", encoding="utf-8") as file:
        if 'VERSION_ID="12"' in file.read():
            return
    raise Skip("the documents show what Debian 12 prints")


def need_names_of_libc():
    if run(["dpkg-query", "-W", "libc6-dbg"]).returncode != 0:
        raise Skip("the documents show places of the C library: libc6-dbg is not installed")


def build(folder, source, program, *options):
    need_program("cc")()
    done = run(["cc", "-g", *options, "-o", os.path.join(folder, program),
                os.path.join(SOURCES, source)])
    assert done.returncode == 0, done.stderr


@contextlib.contextmanager
def programs(*names):
    need_program(*names)()
    yield None


@contextlib.contextmanager
def c_program(folder, source, program):
    build(folder, source, program)
    yield None


@contextlib.contextmanager
def servers(folder):
    """Two versions of a program, and a recording of the older one."""
    for program, entries in (("server-1.2", 100), ("server-1.3", 150)):
        build(folder, "server.c", program, f"-DENTRIES={entries}")
    done = run_memtraced("-o", "record:old.rec", "--", "./server-1.2", cwd=folder)
    assert done.returncode == 0, done.stderr
    yield None


@contextlib.contextmanager
def leaky_python(_folder):
    with started([sys.executable, os.path.join(SOURCES, "leaky.py")]) as process:
        process.lines.until("ready")
        yield process.pid


@contextlib.contextmanager
def project(folder):
    """What make -C proj builds: seven files."""
    need_program("make", "cc")()
    path = os.path.join(folder, "proj")
    os.mkdir(path)
    names = [f"part{i}" for i in range(7)]
    for name in names:
        with open(os.path.join(path, f"{name}.c"), "w", encoding="ascii") as file:
            file.write(f"#include <stdio.h>\nvoid {name}(void) {{ puts(\"{name}\"); }}\n")
    with open(os.path.join(path, "Makefile"), "w", encoding="ascii") as file:
        file.write("all: " + " ".join(f"{name}.o" for name in names) + "\n")
    yield None


@contextlib.contextmanager
def jobs(folder):
    """A script, and a server that ends with --once or by itself."""
    need_program("sqlite3", "python3")()
    build(folder, "server.c", "server", "-DENTRIES=100")
    with open(os.path.join(folder, "job.py"), "w", encoding="ascii") as file:
        file.write("print(sum(range(1000000)))\n")
    yield None


@contextlib.contextmanager
def recording(folder):
    done = run_memtraced("-o", "record:build.rec", "--", "true", cwd=folder)
    assert done.returncode == 0, done.stderr
    yield None


# What a mark names: in a folder of its own, with the process that stands for the number of -p.
PREPARATIONS = {
    "dd": lambda _: programs("dd"),
    "openssl": lambda _: programs("openssl"),
    "graph": lambda _: programs("openssl", "gprof2dot", "dot"),
    "jobs": jobs,
    "recording": recording,
    "leak": lambda folder: c_program(folder, "leak.c", "leak"),
    "lost": lambda folder: c_program(folder, "lost.c", "prog"),
    "servers": servers,
    "leaky python": leaky_python,
    "project": project,
}


def to_run():
    return {block.name: block for block in all_blocks() if block.kind in ("run", "run long")}


def run_block(block, folder, pid):
    path = f"{os.path.abspath(Place.build)}:{os.environ['PATH']}"
    env = dict(os.environ, PATH=path, LC_ALL="C.UTF-8")
    for name in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL"):  # of the make that runs the tests
        env.pop(name, None)
    for command, shown in block.commands():
        if pid:
            command = re.sub(r"-p \d+", f"-p {pid}", command)
        done = run(["sh", "-c", command + " 2>&1"], cwd=folder, env=env, timeout=60)
        assert done.returncode == 0, (command, done.returncode, done.stdout)
        wrong = first_difference(shown, done.stdout.splitlines())
        assert wrong is None, f"{block.name}: {command}\n{wrong}"


@test(need_root, need_speed, need_debian_12, need_names_of_libc, each=tuple(to_run()), timeout=90)
def commands_work_and_print_what_is_shown(name):
    block = to_run()[name]
    if block.kind == "run long" and not LONG:
        raise Skip("only in make check-long")
    with as_users_do(), scratch() as folder, PREPARATIONS[block.argument](folder) as pid:
        run_block(block, folder, pid)
