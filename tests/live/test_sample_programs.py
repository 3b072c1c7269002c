# SPDX-License-Identifier: GPL-2.0-or-later
"""Real programs under the sampling library, beside exact depth: do the intervals that reports give
hold the truth as often as they say? Seeds are numbers in a row, others for each program, as the
same would choose alike; none was chosen."""

import os
import subprocess

from lib import (LONG, Place, Skip, attached, free_port, load_report, need_program, need_root,
                 note, run, run_memtraced, scaled, scratch, started, test)
from sample_table import Table, least_covered
from test_programs import Redis, redis_command
from test_sample_preload import BUILD, INTERVAL

BESIDE_OTHERS = True
QUICK = ("jq", "perl", "sqlite3", "xmllint")
SEEDS = scaled(4, 10, 1)

XML = "<list>" + "".join(f"<item id='{i}'>{'text ' * (i % 20)}</item>" for i in range(8000)) + \
      "</list>"
C_SOURCE = "#include <stdio.h>\n#include <stdlib.h>\n#include <math.h>\n" + \
           "".join(f"int f{i}(int x) {{ return x * {i} + printf(\"%d\", x); }}\n"
                   for i in range(999))
CMAKE = """
foreach(i RANGE 20000)
  list(APPEND all "name_${i}")
  string(REPLACE "name" "other" one "name_${i}")
endforeach()
"""
PROGRAMS = {
    "clang": ["clang", "-fsyntax-only", "{folder}/source.c"],
    "cmake": ["cmake", "-P", "{folder}/script.cmake"],
    "git": ["git", "-C", BUILD, "log", "--oneline", "-p", "-9"],
    "jq": ["jq", "-n", "[range(200000) | tostring] | add | length"],
    "perl": ["perl", "-e", "my %x = map { $_ => 'v' x ($_ % 90) } 1 .. 100000;"],
    "python3": ["/usr/bin/python3", "-c", "x = [str(i) * (i % 200) for i in range(100000)]"],
    "rg": ["rg", "-j1", "-c", "malloc", "/usr/include"],
    "sqlite3": ["sqlite3", ":memory:", "create table t(a, b); with recursive c(x) as (values(1) "
                "union all select x + 1 from c where x < 60000) insert into t select x, "
                "printf('%d', x) from c; create index i on t(b); select count(*) from t;"],
    "xmllint": ["xmllint", "--noout", "{folder}/list.xml"],
}
# Without chance of its own: hashes are seeded.
SETTLED = {"PERL_HASH_SEED": "0", "PERL_PERTURB_KEYS": "0", "PYTHONHASHSEED": "0",
           "GIT_PAGER": "cat"}


def write_inputs(folder):
    for name, text in (("source.c", C_SOURCE), ("script.cmake", CMAKE), ("list.xml", XML)):
        with open(os.path.join(folder, name), "w", encoding="ascii") as file:
            file.write(text)


def counted(command, *options):
    """The command itself."""
    with scratch() as folder:
        path = os.path.join(folder, "json")
        done = run_memtraced(*options, "-q", "-o", f"json:{path}", "--", *command, timeout=120,
                             env={**os.environ, **SETTLED})
        assert done.returncode in (0, 1), f"{done.returncode}: {done.stderr[-2000:]}"
        return load_report(path)["processes"][0]


def seeds_of(name):
    first = 1 + 100 * sorted([*PROGRAMS, "redis-server"]).index(name)
    return range(first, first + SEEDS)


@test(need_root, each=sorted(PROGRAMS) if LONG else QUICK, in_turn=1, timeout=300)
def intervals_hold_what_exact_depth_counts(name):
    need_program(name)()
    with scratch() as folder:
        write_inputs(folder)
        command = [word.format(folder=folder) if "{folder}" in word else word
                   for word in PROGRAMS[name]]
        exact = counted(command)
        for seed in seeds_of(name):
            sampled = counted(command, f"--sample={INTERVAL}",
                              f"--env=MEMTRACED_SAMPLE_SEED={seed}")
            Table.add(name, exact, sampled)


@test(need_root, need_program("redis-server", "redis-benchmark", "redis-cli"), timeout=300)
def redis_server_under_load_is_told_by_both_at_a_time():
    with scratch() as folder:
        for seed in seeds_of("redis-server"):
            redis(folder, seed)


def redis(folder, seed):
    server = Redis(free_port())
    library = os.path.realpath(os.path.join(Place.build, "libmemtraced-sample.so"))
    env = {**os.environ, "LD_PRELOAD": library, "MEMTRACED_SAMPLE_INTERVAL": str(INTERVAL),
           "MEMTRACED_SAMPLE_SEED": str(seed)}
    with started(redis_command(server.port, folder), env=env,
                 stdout=subprocess.DEVNULL) as process:
        server.wait()
        with attached([process.pid]) as all_calls, \
                attached([process.pid], "--sample") as samples:
            run(["redis-benchmark", "-p", str(server.port), "-t", "set,lpush,hset", "-n",
                 str(scaled(1500, 20000)), "-r", "100000", "-d", "300", "-q"], timeout=120)
            # At rest: the first report that both make after it.
            for session in (all_calls, samples):
                session.later_report()
            exact, sampled = (session.finish()["processes"][0]
                              for session in (all_calls, samples))
        process.terminate()
    Table.add("redis-server", exact, sampled)


@test(need_root)
def all_programs_together():
    """The last one: those before it have filled the table."""
    if not Table.programs:
        raise Skip("no program was sampled in this run")
    for line in Table.lines() + Table.coverage():
        note(line)
    if os.environ.get("MEMTRACED_SAMPLES"):
        Table.write(os.environ["MEMTRACED_SAMPLES"], INTERVAL)
    for key in ("bytes", "live_bytes", "peak_bytes"):
        covered, n = Table.counted(key)
        assert covered >= least_covered(n), f"{key}: {covered} of {n}"
    covered, n = Table.sites()
    assert n and covered >= least_covered(n), f"sites: {covered} of {n}"
