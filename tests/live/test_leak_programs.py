# SPDX-License-Identifier: GPL-2.0-or-later
"""--leak-check and memcheck on programs of the distribution, by the places that allocate. With
MEMTRACED_LEAK_PROGRAMS=docs/results/NAME.md the table is written there."""

import contextlib
import glob
import os
import shutil

from leaks import (OTHER, STALE, WORSE, attribute, checked, memcheck, memcheck_variables,
                   read_sums, records, total)
from lib import (ROOT, Skip, need_long, need_program, need_root, run, run_memtraced,
                 scratch, test)
from test_programs import redis_in_use

BESIDE_OTHERS = True
TRANSLATES = True
SOURCE = """#include <iostream>
#include <map>
#include <string>
#include <vector>
int main(int argc, char **argv)
{
    std::map<std::string, std::vector<int>> places;
    for (int i = 0; i < argc; i++)
        places[argv[i]].push_back(i);
    for (auto &place : places)
        std::cout << place.first << place.second.size() << "\\n";
}
"""
POSTGRES = sorted(glob.glob("/usr/lib/postgresql/*/bin"))
CC1PLUS = sorted(glob.glob("/usr/lib/gcc/*/*/cc1plus"))


@contextlib.contextmanager
def a_command(_folder, *command):
    yield list(command), {}


@contextlib.contextmanager
def a_compiler(folder, *command):
    """Of a C++ source, for whose sake `command` has SOURCE and OBJECT."""
    source = os.path.join(folder, "places.cc")
    with open(source, "w", encoding="ascii") as file:
        file.write(SOURCE)
    files = {"SOURCE": source, "OBJECT": os.path.join(folder, "places.o")}
    yield [files.get(word, word) for word in command], {}


@contextlib.contextmanager
def a_script(folder, program, option, text):
    path = os.path.join(folder, "script")
    with open(path, "w", encoding="ascii") as file:
        file.write(text)
    yield [program, option, path], {}


@contextlib.contextmanager
def of_cargo(_folder):
    """Not rustup's program, which executes it."""
    path = os.path.join(run(["rustc", "--print", "sysroot"]).stdout.strip(), "bin", "cargo")
    yield [path, "--list"], {}


@contextlib.contextmanager
def of_redis(folder):
    with redis_in_use(folder) as command:
        yield command, {}


@contextlib.contextmanager
def of_postgres(folder):
    """As a user of its own, alone with its data."""
    data = os.path.join(folder, "data")
    os.mkdir(data)
    shutil.chown(data, "postgres")
    done = run(["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups",
                f"{POSTGRES[-1]}/initdb", "-D", data, "--no-sync"])
    assert done.returncode == 0, done.stderr
    yield ([f"{POSTGRES[-1]}/postgres", "--single", "-D", data, "postgres"],
           {"user": "postgres", "input": "select count(*) from generate_series(1, 1000)\n"})


# {name: (what it needs, how it is run, arguments of that)}
PROGRAMS = {
    "bash": ("bash", a_command, "bash", "--norc", "-c",
             "for i in {1..200}; do a[$i]=x$i; done; echo ${#a[@]}"),
    "cargo (Rust)": ("rustc", of_cargo),
    "cc1plus": (CC1PLUS, a_compiler, *CC1PLUS[-1:], "-quiet", "-O1", "-o", "OBJECT", "SOURCE"),
    "clang (C)": ("clang", a_command, "clang", "-S", "-o", "-",
                  os.path.join(ROOT, "tests/targets/leaks/shapes.c")),
    "clang (C++)": ("clang++", a_compiler, "clang++", "-c", "-O0", "-o", "OBJECT", "SOURCE"),
    "cmake (C++)": ("cmake", a_script, "cmake", "-P",
                    "foreach(i RANGE 200)\nlist(APPEND l item${i})\nendforeach()\n"),
    "curl": ("curl", a_command, "curl", "-s", "file:///etc/passwd"),
    "git": ("git", a_command, "git", "-C", "/", "help", "-a"),
    "jq": ("jq", a_command, "jq", "-n", "[range(2000)] | map(. * 2) | add"),
    "make": ("make", a_command, "make", "-s", "-p", "-f", "/dev/null"),
    "openssl": ("openssl", a_command, "openssl", "dgst", "-sha256", "/etc/passwd"),
    "perl": ("perl", a_command, "perl", "-e",
             "my %h; $h{$_} = qq(x$_) for 1..2000; print scalar(keys %h)"),
    "perl, modules": ("perl", a_command, "perl", "-MData::Dumper", "-MStorable", "-MPOSIX", "-e",
                      "print length(Dumper([map {{n => $_}} 1..500])); POSIX::_exit(0)"),
    "postgres": (POSTGRES, of_postgres),
    "python3": ("python3", a_command, "/usr/bin/python3", "-S", "-c",
                "import json; print(len(json.dumps(list(range(1000)))))"),
    "python3, threads": ("python3", a_command, "/usr/bin/python3", "-c",
                         "import email.message, http.client, threading\n"
                         "for i in range(6):\n"
                         "  t = threading.Thread(target=lambda: [0] * 5000); t.start(); t.join()"),
    "redis-server": ("redis-server", of_redis),
    "sqlite3": ("sqlite3", a_command, "sqlite3", ":memory:", "create table t(a, b); insert into t "
                "values(1, 2), (3, 4); create index i on t(b); select sum(a * b) from t;"),
    "xmllint": ("xmllint", a_command, "xmllint", "--noout",
                "/usr/share/mime/packages/freedesktop.org.xml"),
}

# Where not all is alike in two runs of one tool: why.
VARIES = {
    "clang (C)": "tables by address keep removed entries elsewhere in each run",
    "clang (C++)": "tables by address keep removed entries elsewhere in each run",
    "perl, modules": "hashes have random seeds",
    "redis-server": "its timer and its clients' buffers go by the clock",
}

DOCUMENT = """# Leak checks of programs of the distribution: ours and memcheck's

Made by `tests/live/test_leak_programs.py` with `MEMTRACED_LEAK_PROGRAMS`: memtraced {version} on
Linux {kernel}, {machine}, {valgrind}. Bytes/blocks; nothing is freed by the libraries
(`--run-libc-freeres=no`, `--run-cxx-freeres=no`; `--default-suppressions=no`), so that all of their
blocks are compared, and memtraced's command has memcheck's environment.

```
{rows}
```

By place (the two functions that call the allocator):

- *stale*: what memcheck calls possibly lost or lost is held here, by a word that nobody has set
  since its memory was handed out (docs/guide/leaks.md, "What was ever set is not known")
- *worse*: the contrary; none, but where two runs differ anyway
- *other*: not the same blocks or sizes in both runs

{differences}
"""


class Table:
    rows = [f"{'program':17} {'':9} {'definite':>11} {'indirect':>11} {'possible':>15} "
            f"{'reachable':>15}  by place"]
    differences = []

    @classmethod
    def add(cls, name, ours, theirs, differences):
        counts = {reason: sum(1 for found in differences if found[0] == reason)
                  for reason in (STALE, WORSE, OTHER)}
        words = ", ".join(f"{n} {reason}" for reason, n in counts.items() if n) or "equal"
        for tool, sums, text in (("memcheck", theirs, ""), ("memtraced", ours, words)):
            shown = [f"{size}/{blocks}" for size, blocks in sums.lost_and_held()]
            row = (f"{name if not text else '':17} {tool:9} {shown[0]:>11} {shown[1]:>11} "
                   f"{shown[2]:>15} {shown[3]:>15}  {text}").rstrip()
            cls.rows.append(row)
            print(f"# {row}", flush=True)
        stale = [sum(max(total(there[:n])[i] - total(here[:n])[i] for n in (1, 2))
                     for reason, _, here, there in differences if reason == STALE)
                 for i in range(2)]
        if differences:
            others = [f"{place[-1][:60]}: {total(here)[0]}/{total(here)[1]}, memcheck "
                      f"{total(there)[0]}/{total(there)[1]}"
                      for reason, place, here, there in differences if reason == OTHER]
            varies = f"; {VARIES[name]}" if name in VARIES else ""
            cls.differences.append(f"- {name}: {stale[0]}/{stale[1]} stale{varies}"
                                   + "".join(f"; {text}" for text in others[:3]))

    @classmethod
    def write(cls, path):
        uname = os.uname()
        with open(path, "w", encoding="utf-8") as file:
            file.write(DOCUMENT.format(
                version=run_memtraced("--version").stdout.split()[1], kernel=uname.release,
                machine=uname.machine, valgrind=run(["valgrind", "--version"]).stdout.strip(),
                rows="\n".join(cls.rows), differences="\n".join(cls.differences)))


def check_both(name):
    """The texts of both tools."""
    options = ("--show-leak-kinds=all", "--num-callers=60")
    variables = memcheck_variables()
    _, how, *arguments = PROGRAMS[name]
    with scratch() as folder, how(folder, *arguments) as (command, given):
        theirs = memcheck(command, "--run-libc-freeres=no", "--run-cxx-freeres=no", *options,
                          timeout=400, **given)
    with scratch() as folder, how(folder, *arguments) as (command, given):
        ours = checked(command, *variables, "--default-suppressions=no", *options, timeout=400,
                       **given)
    return ours, theirs


@test(need_root, need_program("valgrind"), need_long, each=tuple(PROGRAMS), timeout=900)
def what_memcheck_holds_is_not_lost(name):
    needs = PROGRAMS[name][0]
    if not needs or (isinstance(needs, str) and not shutil.which(needs)):
        raise Skip(f"{name} is not installed")
    ours, theirs = check_both(name)
    differences = attribute(records(ours), records(theirs))
    Table.add(name, read_sums(ours), read_sums(theirs), differences)
    path = os.environ.get("MEMTRACED_LEAK_PROGRAMS")
    if path:
        Table.write(path)
    lost = [found for found in differences if found[2][0][1] > found[3][0][1]]
    assert not lost, f"lost here alone: {lost}"
    if name not in VARIES:
        wrong = [found for found in differences if found[0] == WORSE]
        assert not wrong, f"nearer to lost than memcheck's: {wrong}"
