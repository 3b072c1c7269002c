#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Checks files for speedscope: the keys that it knows, and what its reader takes for granted.

    check_speedscope.py FILE...      problems on stdout, exit 1 when there are any
    check_speedscope.py --self-test  tries the checker on texts with one trap each
"""

import json

import checker

SCHEMA = "https://www.speedscope.app/file-format-schema.json"
TOP = {"$schema", "name", "exporter", "activeProfileIndex", "profiles", "shared"}
PROFILE = {"type", "name", "unit", "startValue", "endValue", "samples", "weights"}


def is_natural(value, below=2 ** 63):
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < below


def check_frames(frames):
    seen = set()
    for index, frame in enumerate(frames):
        if not {"name"} <= frame.keys() <= {"name", "file", "line"} or not frame["name"]:
            yield f"frames[{index}] is no name with a place: {frame!r}"
            continue
        if "line" in frame and ("file" not in frame or not is_natural(frame["line"] - 1)):
            yield f"frames[{index}]: a line of nothing: {frame!r}"
        key = frame["name"], frame.get("file")
        if key in seen:
            yield f"frames[{index}] was there before: {frame!r}"
        seen.add(key)


def check_profile(index, profile, n_frames):
    at = f"profiles[{index}]"
    if profile.keys() != PROFILE or profile["type"] != "sampled" or \
            profile["unit"] not in ("bytes", "none", "nanoseconds"):
        yield f"{at}: not the keys and units of a sampled profile"
        return
    samples, weights = profile["samples"], profile["weights"]
    if len(samples) != len(weights):
        yield f"{at}: {len(samples)} samples, {len(weights)} weights"
    for sample in samples:
        if not sample or not all(is_natural(frame, n_frames) for frame in sample):
            yield f"{at}: no such frames: {sample!r}"
    if not all(is_natural(weight) and weight for weight in weights):
        yield f"{at}: a weight that is no positive number"
    elif profile["startValue"] != 0 or profile["endValue"] != sum(weights):
        yield f"{at}: ends at {profile['endValue']}, not at the sum of its weights"


def check(data):
    # A run without a job that has stacks gives an empty file.
    if not data:
        return []
    try:
        scope = json.loads(data.decode("utf-8"))
    except ValueError as error:
        return [f"no JSON: {error}"]
    if not TOP - {"exporter"} <= scope.keys() <= TOP or scope["$schema"] != SCHEMA:
        return ["not the keys of a file for speedscope"]
    frames, profiles = scope["shared"]["frames"], scope["profiles"]
    problems = list(check_frames(frames))
    if not is_natural(scope["activeProfileIndex"], len(profiles)):
        problems.append(f"no profile {scope['activeProfileIndex']}")
    for index, profile in enumerate(profiles):
        problems += check_profile(index, profile, len(frames))
    if not problems:
        used = {frame for p in profiles for sample in p["samples"] for frame in sample}
        problems += [f"frames[{i}] is in no sample" for i in range(len(frames)) if i not in used]
    return problems


GOOD = """{"$schema":"%s",
"name":"server-42","exporter":"memtraced 1.0","activeProfileIndex":0,
"profiles":[{"type":"sampled","name":"Live bytes","unit":"bytes","samples":[[0,1],[0,2]],
"weights":[4096,64],"startValue":0,"endValue":4160}],
"shared":{"frames":[{"name":"server-42"},{"name":"main","file":"a.c","line":4},{"name":"make"}]}}
""" % SCHEMA

# What is replaced in GOOD, by what, and a part of the problem that must be reported.
TRAPS = [
    ("file-format-schema", "schema", "not the keys"),
    ('"activeProfileIndex":0,', "", "not the keys"),
    ('Index":0', 'Index":1', "no profile 1"),
    ('"sampled"', '"evented"', "sampled profile"),
    ('"bytes"', '"octets"', "sampled profile"),
    ("[4096,64]", "[4096]", "2 samples, 1 weights"),
    ("[4096,64]", "[4160,0]", "positive"),
    ("[4096,64]", "[4161,-1]", "positive"),
    ("4160", "4161", "the sum of"),
    ("[0,1]", "[]", "no such frames"),
    ("[0,1]", "[0,3]", "no such frames"),
    ("[0,1]", "[0,2]", "is in no sample"),
    ('"file":"a.c",', "", "a line of nothing"),
    ('"line":4', '"line":0', "a line of nothing"),
    ('"make"', '"server-42"', "there before"),
    ('"make"', '""', "no name"),
    ("]}}\n", "]}", "no JSON"),
]


def self_test():
    return check(GOOD.encode()) + checker.try_traps(GOOD, TRAPS, check)


if __name__ == "__main__":
    checker.main(__doc__, check, self_test)
