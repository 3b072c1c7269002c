# SPDX-License-Identifier: GPL-2.0-or-later
"""Are the stacks right? Each is walked once more, by libdwfl, on a copy of the same registers and
memory (--check-stacks); the table at the end says how many were the same."""

import functools
import os
import subprocess
from collections import Counter

from lib import (Skip, attached, free_port, heap_sites, need_program, need_root, run, scaled,
                 scratch, started, target, test, total, trace)
from stacks_table import Table
from test_programs import PYTHON_SCRIPT, Redis

BESIDE_OTHERS = True
KINDS = ("plain", "variable", "aligned", "sorted", "raised", "altstack", "interrupted", "threads",
         "coroutines", "contexts", "told", "framed")
BUILDS = ("unwinding", "unwinding-o0", "unwinding-o3", "unwinding-lto", "unwinding-realign",
          "unwinding-static")
AVX = "unwinding-avx"  # whose frames of vectors are realigned
SAME = ("identical", "identical-reference-failed", "identical-by-frame-pointer")
WRONG = ("different", "truncated-different", "reference-short")
# What says nothing about our walk.
OPEN = ("no-information", "not-copied", "no-reference", "copy-lost")

PERL_SCRIPT = """
my (%seen, @kept);
for my $i (1 .. 4000) {
    my @words = map { "word" . ($i * $_ % 997) } 1 .. 8;
    $seen{$_}++ for @words;
    push @kept, { words => [@words], text => join("-", reverse sort @words) };
    $kept[-1]{text} =~ s/word(\\d+)/$1 * 2/ge;
}
my @order = sort { $seen{$b} <=> $seen{$a} || $a cmp $b } keys %seen;
print scalar(@order), "\\n";
"""

SQL = """
create table t(a integer primary key, b text, c real);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 3000)
    insert into t select i, printf('row %d', i * 7919 % 3001), i / 3.0 from n;
create index tb on t(b);
select count(*), sum(length(b)) from t where b like '%1%' group by a % 10 order by 2;
select group_concat(b) from (select b from t order by c desc limit 50);
"""

C_FILE = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(void) { char *text = malloc(100); strcpy(text, "x"); return puts(text) < 0; }
"""


def compared_of(results):
    return sum(count for key, count in results.items() if key not in OPEN)


def add_row(name, results):
    same = sum(results.get(key, 0) for key in SAME)
    wrong = sum(results.get(key, 0) for key in WRONG)
    compared = compared_of(results)
    Table.rows.append((name, compared, same, wrong))
    rest = ", ".join(f"{key} {count}" for key, count in sorted(results.items())
                     if key != "identical")
    share = 100 * same / compared if compared else 0
    Table.say(Table.libdwfl, f"{name:28} {compared:7} compared {same:7} identical {share:8.3f} %  "
              f"{rest}".rstrip())
    return compared, same


def differences(checks):
    shown = []
    for one in [one for check in checks for one in check["differing"]][:3]:
        shown.append("ours: " + " ".join(os.path.basename(f) for f in one["stack"]))
        shown.append("libdwfl: " + " ".join(os.path.basename(f) for f in one["reference"]))
    return "\n".join(shown)


MOST_RUNS = 5


def checked(name, report_of_run):
    """The results of all runs; everything that was sent is in one of them. There is another run
    where too few are left: a newer sqlite3 allocates half as often, or memtraced had no CPU."""
    checks, results, enough = [], Counter(), scaled(1000, 1000)
    while not checks or (len(checks) < MOST_RUNS and compared_of(results) < enough):
        checks.append(report_of_run()["coverage"]["stack_check"])
        results.update(checks[-1]["results"])
    compared, same = add_row(name, results)
    assert compared >= enough, f"{name}: only {compared} stacks compared: {results}"
    return results, same, differences(checks)


def right(name, report_of_run, stubs=False):
    """stubs: signals may come in linkers' stubs, which libdwfl does not know; gdb does."""
    results, same, shown = checked(name, report_of_run)
    compared = Table.rows[-1][1]
    assert same >= (0.99 if stubs else 0.995) * compared, \
        f"{name}: {same} of {compared} identical: {results}\n{shown}"
    assert not stubs or not any("truncated" in result for result in results), results


def option(n=2000):
    return f"--check-stacks={scaled(n, 50000)}"


def stacks_of(command, n=2000):
    return trace(command, option(n), library=None, timeout=300).report


def builds_for(kind):
    """All of them, or two, so that the kinds have had all."""
    at = KINDS.index(kind) if kind in KINDS else 0
    two = (BUILDS[at % len(BUILDS)], BUILDS[(at + 2) % len(BUILDS)])
    vectors = (AVX,) if kind == "aligned" and has_avx2() else ()
    return scaled(two, BUILDS, small=two) + vectors


def has_avx2():
    with open("/proc/cpuinfo", encoding="ascii") as file:
        return " avx2 " in file.read()


# Threads run ahead of the copies, of which some are then left out.
def unwinding(build, kind):
    n = scaled(1760 if kind == "threads" else 1200, 20000)
    report = stacks_of([target(build), kind, str(n)])
    done = total(heap_sites(report["processes"][0]), "allocs")
    assert done >= n, f"{build} {kind}: {done} allocations, not {n}"
    return report


@test(need_root, each=KINDS, in_turn=4, timeout=240)
def frames_of_one_kind(kind):
    """By several ways in which the compiler can build them."""
    for build in builds_for(kind):
        right(f"{build} {kind}", functools.partial(unwinding, build, kind),
              stubs=(build, kind) == ("unwinding-static", "interrupted"))


@test(need_root, timeout=240)
def frames_that_nobody_can_follow_never_pass_for_proven():
    """A frame by a register of which what stands below, in another file, says nothing. (libdwfl
    follows none of these, but gdb does.)"""
    for build in builds_for("rbx-outside"):
        if build == "unwinding-static":
            continue  # where it is the same file
        reports = []

        def run_once(build=build, reports=reports):
            reports.append(unwinding(build, "rbx-outside"))
            return reports[-1]

        results, _, shown = checked(f"{build} rbx-outside", run_once)
        proven = results.get("identical", 0) + results.get("identical-reference-failed", 0)
        assert proven <= 10 * len(reports), f"what is not of this kind: {results}"
        assert results.get("different", 0) == 0, f"{results}\n{shown}"
        for report in reports:
            coverage = report["coverage"]
            assert coverage["stacks_complete"] - coverage["stacks_guided"] <= 10, coverage


def callers_of_blocks(report, n):
    """The functions of each stack of main's blocks, up to and from plain(); all n are whole."""
    coverage = report["coverage"]
    assert coverage["all_stacks_complete"] and coverage["stacks_guided"] == 0, coverage
    found = [([frame["function"] for frame in site["frames"]], site["allocs"])
             for site in heap_sites(report["processes"][0])]
    assert sum(allocs for _, allocs in found) >= n, found
    return found


@test(need_root)
def code_without_information_is_followed_by_its_instructions():
    """No frame pointer either; libdwfl leaves out the frame behind it, gdb does not."""
    report = trace([target("unwinding"), "bare", "1200"], library=None).report
    stacks = [names for names, allocs in callers_of_blocks(report, 1200) if "call_bare" in names]
    assert stacks
    for names in stacks:
        at = names.index("call_bare")
        assert names[at + 1] == "bare" and "main" in names[at + 2:], names


@test(need_root, each=("plain", "variable", "sorted", "raised", "altstack", "threads", "coroutines",
                       "bare"), in_turn=2)
def stacks_of_static_musl_are_whole(kind):
    """Its C library has neither information nor frame pointers."""
    report = trace([target("unwinding-musl"), kind, "1200"], library=None).report
    for names, _ in callers_of_blocks(report, 1200):
        end = {"threads": ["start", "__clone"]}.get(kind, ["libc_start_main_stage2", "_start"])
        if kind != "coroutines":  # these have stacks of their own
            assert names[-2:] == end, names


@test(need_root)
def exceptions_of_cxx():
    right("C++ exceptions",
          lambda: stacks_of([target("exceptions"), str(scaled(1000, 20000))]))


@test(need_root, need_program("/usr/bin/python3"))
def python3():
    right("python3", lambda: stacks_of(["/usr/bin/python3", "-c", PYTHON_SCRIPT]))


@test(need_root, need_program("perl"))
def perl():
    right("perl", lambda: stacks_of(["perl", "-e", PERL_SCRIPT]))


@test(need_root, need_program("sqlite3"))
def sqlite3():
    right("sqlite3", lambda: stacks_of(["sqlite3", ":memory:", SQL]))


@test(need_root, need_program("rg"))
def ripgrep():
    """In Rust, with threads."""
    right("ripgrep", lambda: stacks_of(["rg", "-c", "-j4", "--no-ignore", "-g", "*.h",
                                        "return [a-z]+", "/usr/include"]))


@test(need_root, need_program("clang"), timeout=120)
def clang():
    with scratch() as folder:
        with open(f"{folder}/a.c", "w", encoding="ascii") as file:
            file.write(C_FILE)
        # The first 4,000 are made by constructors.
        right("clang -O2", lambda: stacks_of(["clang", "-O2", "-c", "-o", f"{folder}/a.o",
                                              f"{folder}/a.c"], n=9000))


@test(need_root, need_program("gdb"), timeout=120)
def gdb():
    right("gdb", lambda: stacks_of(["gdb", "-nx", "-batch", "-ex", "info line main",
                                    target("unwinding")], n=4000))


def stacks_of_redis():
    """By -p: the objects are known before the first stack."""
    redis_ = Redis(free_port())
    with scratch() as folder, \
            started(["redis-server", "--port", str(redis_.port), "--save", "", "--dir", folder],
                    stdout=subprocess.DEVNULL) as server:
        redis_.wait()
        with attached([server.pid], option()) as session:
            words = "".join(f"SET key:{i} {'x' * (i % 100)}\nLPUSH list {i}\nSORT list LIMIT 0 3\n"
                            for i in range(scaled(600, 6000)))
            run(["redis-cli", "-p", str(redis_.port)], input=words)
            report = session.finish()
        server.terminate()
    return report


@test(need_root, need_program("redis-server", "redis-cli"), timeout=120)
def redis():
    right("redis-server", stacks_of_redis)


@test(need_root)
def all_programs_together():
    """The last one: those before it have filled the table."""
    rows = [row for row in Table.rows
            if "rbx" not in row[0]]
    compared, same, wrong = (sum(row[i] for row in rows) for i in (1, 2, 3))
    if not rows:
        raise Skip("no program was checked in this run")
    Table.say(Table.libdwfl, f"{'all that has CFI':28} {compared:7} compared {same:7} identical "
              f"{100 * same / compared:8.3f} %  wrong {wrong}")
    if os.environ.get("MEMTRACED_STACKS"):
        Table.write(os.environ["MEMTRACED_STACKS"])
    assert same >= 0.999 * compared, f"{same} of {compared} identical"
