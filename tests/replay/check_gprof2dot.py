#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Checks JSON for gprof2dot --format=json: all that the schema.json it publishes says, and what its
reader takes for granted.

    check_gprof2dot.py FILE...      problems on stdout, exit 1 when there are any
    check_gprof2dot.py --self-test  tries the checker on texts with one trap each
"""

import json
import sys


def is_natural(value):
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def is_text(value):
    return isinstance(value, str) and value != ""


def keys(value, needed, optional=()):
    """Whether it is an object of these keys."""
    return isinstance(value, dict) and set(needed) <= value.keys() <= set(needed) | set(optional)


def check_functions(functions):
    seen = set()
    for index, function in enumerate(functions):
        if not keys(function, ["name"], ["module"]) or \
                not all(map(is_text, function.values())):
            yield f"functions[{index}] is no name with a module: {function!r}"
            continue
        key = (function["name"], function.get("module"))
        if key in seen:
            yield f"functions[{index}] was there before: {function!r}"
        seen.add(key)


def check_events(events, n_functions, n_costs):
    used = set()
    for index, event in enumerate(events):
        if not keys(event, ["callchain", "cost"]):
            yield f"events[{index}] is no chain with a cost: {event!r}"
            continue
        chain, cost = event["callchain"], event["cost"]
        if not isinstance(chain, list) or not isinstance(cost, list):
            yield f"events[{index}]: chain and cost are no arrays"
            continue
        if not chain:
            yield f"events[{index}]: an empty chain"
        if not all(is_natural(function) and function < n_functions for function in chain):
            yield f"events[{index}]: no such functions: {chain!r}"
        if len(cost) != n_costs or not all(is_natural(value) and value for value in cost):
            yield f"events[{index}]: not a positive number for each cost: {cost!r}"
        used.update(chain)
    for function in range(n_functions):
        if function not in used:
            yield f"functions[{function}] is in no event"


def check(data):
    """Checks bytes: (problems, sum of the first costs)."""
    try:
        graph = json.loads(data.decode("utf-8"))
    except ValueError as error:
        return [f"no JSON: {error}"], 0
    if not keys(graph, ["version", "costs", "functions", "events"]) or \
            not is_natural(graph["version"]) or graph["version"] != 0:
        return ["not the keys of a graph of version 0"], 0
    problems = [f"{key} is no array" for key in ("costs", "functions", "events")
                if not isinstance(graph[key], list)]
    if problems:
        return problems, 0
    for cost in graph["costs"]:
        if not keys(cost, ["description", "unit"]) or not all(map(is_text, cost.values())):
            problems.append(f"no description with a unit: {cost!r}")
    if not graph["costs"]:
        problems.append("no cost")
    problems += check_functions(graph["functions"])
    problems += check_events(graph["events"], len(graph["functions"]), len(graph["costs"]))
    total = 0 if problems else sum(event["cost"][0] for event in graph["events"])
    return problems, total


GOOD = """{"version":0,"costs":[{"description":"Heap","unit":"bytes"}],
"events":[{"callchain":[1,0],"cost":[4096]},{"callchain":[0],"cost":[64]}],
"functions":[{"name":"main","module":"server"},{"name":"make_buf"}]}
"""

# What is replaced in GOOD, by what, and a part of the problem that must be reported.
TRAPS = [
    ('"version":0', '"version":1', "not the keys"),
    ('"version":0,', "", "not the keys"),
    ('"version":0', '"version":false', "not the keys"),
    ('"unit":"bytes"', '"unit":1', "no description with a unit"),
    ('[{"description":"Heap","unit":"bytes"}]', '{"description":"x"}', "costs is no array"),
    ("[1,0]", '{"1":0}', "no arrays"),
    ("[4096]", "4096", "no arrays"),
    ('"version":0', '"version":0,"more":1', "not the keys"),
    (',"unit":"bytes"', "", "no description with a unit"),
    ('{"description":"Heap","unit":"bytes"}', "", "no cost"),
    ("[1,0]", "[]", "empty chain"),
    ("[1,0]", "[2,0]", "no such functions"),
    ("[1,0]", "[-1,0]", "no such functions"),
    ("[1,0]", "[0]", "in no event"),
    ("[4096]", "[0]", "positive number"),
    ("[4096]", "[4096,1]", "positive number"),
    ("[4096]", "[4096.5]", "positive number"),
    ('"make_buf"', '"main","module":"server"', "there before"),
    ('"module":"server"', '"module":null', "no name with a module"),
    ('"make_buf"', '"make_buf","file":"x"', "no name with a module"),
    ("]}\n", "]", "no JSON"),
]


def self_test():
    failures, total = check(GOOD.encode())
    if total != 4160:
        failures.append(f"counted {total}")
    for old, new, expected in TRAPS:
        bad = GOOD.replace(old, new)
        problems, _ = check(bad.encode())
        if bad == GOOD or not any(expected in problem for problem in problems):
            failures.append(f"{new!r} for {old!r}: {problems}")
    return failures


def main(arguments):
    if not arguments:
        print(__doc__)
        return 2
    if arguments == ["--self-test"]:
        problems = self_test()
    else:
        problems = []
        for path in arguments:
            with open(path, "rb") as file:
                data = file.read()
            # A run without a job that has stacks gives an empty file.
            if data:
                problems += [f"{path}: {problem}" for problem in check(data)[0]]
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
