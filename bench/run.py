#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Measures what memtraced costs, beside no tool, the floor and other tools, and writes a table
(Markdown) and all its rounds (JSON).

    run.py --build DIR [--quick] [--any-core] [--copy PATH] [--columns KEY,...] [PATTERN...]

PATTERN limits the rows to those whose names contain one, --columns the columns, beside the bare
one. --any-core: programs and tools run on any core, as users run them; quartiles are wider then.
The results are DIR/bench/results.md and .json, and PATH.md and PATH.json where that is given."""

import argparse
import json
import os
import signal
import sys
import time

import columns
import extras
import figures
import inputs
import lines
import machine
import measure
import peers
import rounds
import rows
import table
import tracefs
import values

FULL = rounds.Limits(rounds=7, slow_rounds=3)
QUICK = rounds.Limits(rounds=3, slow_rounds=1, peers_s=150)
QUICK_SCALE = 0.25


def chosen_rows(place, args):
    made = inputs.Inputs(place.work, QUICK_SCALE if args.quick else 1)
    every = rows.pair_rows(place, args.quick) + rows.program_rows(place, made)
    if args.quick:
        every = [row for row in every if row.quick]
    if args.patterns:
        every = [row for row in every if row.name == rows.ONE_PAIR or
                 any(pattern in row.name for pattern in args.patterns)]
    return every


def as_markdown(facts, settings, computed, all_rows, sections, reached):
    parts = [
        "# memtraced: what it costs",
        machine.as_text(facts),
        settings["text"],
        "## Figures to reach",
        figures.as_table(reached.all()),
        "## Pair loop: ns for each malloc and free",
        table.pairs_table(computed, all_rows),
        "### Its stacks, one thread: bpf_get_stackid follows frame pointers in the same frames",
        reached.stacks_table(),
        "## Programs: user and system time, as a ratio to bare",
        table.programs_table(computed, all_rows),
        "## Programs: peak memory, as a ratio to bare; memtraced's own memory and CPU",
        table.memory_table(computed, all_rows),
        "## Do the tools see what happens?",
        table.counts_table(computed, all_rows),
        table.notes(computed, all_rows),
        "## Single figures",
        *(lines.as_table(section.heading, section.lines) for section in sections
          if section.lines),
        "\n".join(f"- {failure}" for section in sections for failure in section.failures),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def method(limits, place, quick, elapsed_s):
    cores = ("Program and tool have any core. " if place.any_core else
             "The program has one core, the tool the other (two threads: both). ")
    return (f"Medians of {limits.rounds} rounds ({limits.slow_rounds} for memcheck, massif, "
            "bpftrace and memleak), in brackets the quartiles; ratios are taken within a round. "
            f"{cores}calls/s: allocations and frees in memtraced's exact count, by seconds of "
            "bare run."
            f"{' A quick run: small inputs.' if quick else ''} Took {elapsed_s:.0f} s.")


def write(path, text):
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def parse(argv):
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--any-core", action="store_true")
    parser.add_argument("--copy")
    parser.add_argument("--columns", type=lambda keys: {"bare", *keys.split(",")})
    parser.add_argument("patterns", nargs="*")
    return parser.parse_args(argv)


def main(argv):
    args = parse(argv)
    if os.geteuid() != 0:
        print("bench: tracing needs root; run: sudo make bench", file=sys.stderr)
        return 1
    tracefs.ensure()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # ends what it runs
    start = time.monotonic()
    build = os.path.abspath(args.build)
    place = measure.Place(build, os.path.join(build, "bench", "work"), *measure.cores(),
                          args.any_core)
    os.makedirs(place.work, exist_ok=True)
    measure.settle(place)
    limits = QUICK if args.quick else FULL
    facts = machine.facts(place.memtraced)
    all_rows = chosen_rows(place, args)
    every = [column for column in columns.own_columns() + peers.peer_columns()
             if not args.columns or column.key in args.columns]
    runnable = [row for row in all_rows if not row.missing]
    computed = values.Values(rounds.measure_all(place, runnable, every, limits, start), every)

    sections = extras.sections(place, limits, args.quick, start) if not args.patterns else []
    single = extras.all_lines(sections)
    reached = figures.Figures(computed, all_rows, single, facts)
    settings = {"quick": args.quick, "rounds": limits.rounds, "slow_rounds": limits.slow_rounds,
                "text": method(limits, place, args.quick, time.monotonic() - start)}
    text = as_markdown(facts, settings, computed, all_rows, sections, reached)
    data = json.dumps({"version": 1, "machine": facts, "settings": settings,
                       "not_measured": computed.results.missing,
                       "figures": [figure.as_json() for figure in reached.all()],
                       "rows": computed.as_json(all_rows),
                       "single": [line.as_json() for line in single]}, indent=1)
    print(text)
    for path in filter(None, (os.path.join(build, "bench", "results"), args.copy)):
        write(path + ".md", text)
        write(path + ".json", data + "\n")
        print(f"bench: written to {path}.md and {path}.json")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
