#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Checks profiles for pprof: what its readers take for granted (FORMATS.md 2), Parca's stricter
rules among it.

    check_pprof.py FILE...      problems on stdout, exit 1 when there are any
    check_pprof.py --text FILE  the profile as text
    check_pprof.py --self-test  tries the checker on profiles with one trap each
"""

import copy
import re

import checker
import pprof_wire

MAPPED = [("mmap_calls", "count"), ("mmap_space", "bytes"), ("mapped_regions", "count"),
          ("mapped_space", "bytes")]
IN_USE = [("alloc_objects", "count"), ("alloc_space", "bytes"), ("inuse_objects", "count"),
          ("inuse_space", "bytes")]
HEAP = MAPPED + IN_USE
# a run of mappings alone shows these first
MAPPINGS = IN_USE + MAPPED
# of Go's CPU profiles and of its profiles of blocking
TIMES = ([("samples", "count"), ("cpu", "nanoseconds")],
         [("contentions", "count"), ("delay", "nanoseconds")])


def check_strings(profile):
    strings = profile["string_table"]
    if not strings or strings[0]:
        yield "string 0 is not empty"
    if len(set(strings)) != len(strings):
        yield "a string stands there twice"
    if any(ord(char) < 32 for string in strings for char in string):
        yield "a control character"


def indexes(profile):
    """Each number that must be a string's."""
    types = profile["sample_type"] + [profile["period_type"]] * bool(profile["period_type"])
    for value_type in types:
        yield from (value_type["type"], value_type["unit"])
    for sample in profile["sample"]:
        for label in sample["label"]:
            yield from (label["key"], label["str"], label["num_unit"])
    for mapping in profile["mapping"]:
        yield from (mapping["filename"], mapping["build_id"])
    for function in profile["function"]:
        yield from (function["name"], function["system_name"], function["filename"])
    yield from profile["comment"]
    yield from (profile["drop_frames"], profile["default_sample_type"])


def check_types(profile):
    types = type_names(profile)
    if not types:
        yield "no sample type"
    if len(types) > 1 and types not in (HEAP, MAPPINGS, *TIMES):
        yield f"not Go's order of types: {types}"
    if profile["default_sample_type"] != (profile["sample_type"] or [{"type": 0}])[-1]["type"]:
        yield "the last type is not the default"
    if types in (HEAP, MAPPINGS) and profile["duration_nanos"]:
        yield "a heap profile with a duration, which Parca takes for a difference"
    # Of a heap profile the interval of samples, where it is made of such.
    if not profile["period_type"] or profile["period"] < 1 or \
            (types not in (HEAP, MAPPINGS) and (profile["period"] > 1) != (types == TIMES[0])):
        yield "a period of 1 for samples, or another for what is none"


def check_ids(profile):
    for kind in ("mapping", "location", "function"):
        ids = [item["id"] for item in profile[kind]]
        if ids != list(range(1, len(ids) + 1)):
            yield f"{kind} ids are not 1, 2, 3...: {ids[:20]}"
    for location in profile["location"]:
        if not 0 <= location["mapping_id"] <= len(profile["mapping"]):
            yield f"location {location['id']}: no such mapping"
        if not location["line"]:
            yield f"location {location['id']} has no line: speedscope drops it"
        if not all(1 <= line["function_id"] <= len(profile["function"])
                   for line in location["line"]):
            yield f"location {location['id']}: no such function"
    used = {number for sample in profile["sample"] for number in sample["location_id"]}
    if used != set(range(1, len(profile["location"]) + 1)):
        yield "not the locations that samples have"


def check_mappings(profile):
    strings = profile["string_table"]
    for mapping in profile["mapping"]:
        if mapping["memory_start"] >= mapping["memory_limit"]:
            yield f"mapping {mapping['id']} is empty"
        build_id = strings[mapping["build_id"]]
        if build_id.strip("0123456789abcdef") or len(build_id) % 2:
            yield f"mapping {mapping['id']}: build ID {build_id!r}"
    for location in profile["location"]:
        if not 0 < location["mapping_id"] <= len(profile["mapping"]):
            continue
        mapping = profile["mapping"][location["mapping_id"] - 1]
        if location["address"] and not \
                mapping["memory_start"] <= location["address"] < mapping["memory_limit"]:
            yield f"location {location['id']} is outside of its mapping"


def is_base(profile, sample):
    """Is it subtracted, in a difference? By this label pprof knows the samples of -diff_base."""
    strings = profile["string_table"]
    return any((strings[label["key"]], strings[label["str"]]) == ("pprof::base", "true")
               for label in sample["label"])


def check_samples(profile):
    for index, sample in enumerate(profile["sample"]):
        if len(sample["value"]) != len(profile["sample_type"]):
            yield f"sample {index} has not a value for each type"
        if not sample["location_id"]:
            yield f"sample {index} has no location"
        signs = {value > 0 for value in sample["value"] if value}
        if signs != {not is_base(profile, sample)}:
            yield f"sample {index}: values {sample['value']}"
        for label in sample["label"]:
            if not label["key"] or bool(label["str"]) == bool(label["num"]):
                yield f"sample {index}: a label that is no string and no number"


def matched(name):
    """What pprof matches of a function's name: not its parameters."""
    return re.match(r"\.?((?:operator\(\)|\(anonymous namespace\)|[^(])*)", name, re.S).group(1)


def check_drop_frames(profile):
    strings = profile["string_table"]
    names = [matched(strings[function["name"]]) for function in profile["function"]]
    for part in re.findall(r"(?:\\.|[^|])+", strings[profile["drop_frames"]], re.S):
        if not any(re.fullmatch(part, name) for name in names):
            yield f"drops what is no function: {part}"


def check_profile(profile):
    problems = list(check_strings(profile))
    if any(not 0 <= index < len(profile["string_table"]) for index in indexes(profile)):
        return problems + ["no such string"]
    for part in (check_types, check_ids, check_mappings, check_samples, check_drop_frames):
        problems += part(profile)
    return problems


def check(data):
    """Problems of a file's bytes."""
    if not data:  # a run without a job that has stacks
        return []
    try:
        return check_profile(pprof_wire.read(data))
    except (pprof_wire.Malformed, UnicodeDecodeError) as error:
        return [f"no profile: {error}"]


# --- as text -----------------------------------------------------------------------------------

def type_names(profile):
    strings = profile["string_table"]
    return [(strings[t["type"]], strings[t["unit"]]) for t in profile["sample_type"]]


def label_text(strings, label):
    if label["str"]:
        return f"{strings[label['key']]}:{strings[label['str']]}"
    return f"{strings[label['key']]}:{label['num']} {strings[label['num_unit']]}".rstrip()


def frame_texts(profile, location):
    strings = profile["string_table"]
    for line in location["line"]:
        function = profile["function"][line["function_id"] - 1]
        text = strings[function["name"]]
        if function["system_name"]:
            text += f" = {strings[function['system_name']]}"
        if function["filename"]:
            text += f" ({strings[function['filename']]}:{line['line']})"
        yield f"    {location['mapping_id']} {location['address']:#x} {text}"


def text_lines(profile):
    strings = profile["string_table"]
    yield "types " + " ".join("/".join(names) for names in type_names(profile))
    yield f"default {strings[profile['default_sample_type']]}"
    yield f"time {profile['time_nanos']} duration {profile['duration_nanos']}"
    if profile["period"] > 1:
        of = profile["period_type"]
        yield f"period {profile['period']} {strings[of['type']]}/{strings[of['unit']]}"
    if profile["drop_frames"]:
        yield f"drop_frames {strings[profile['drop_frames']]}"
    for comment in profile["comment"]:
        yield f"comment {strings[comment]}"
    for mapping in profile["mapping"]:
        known = " ".join(name for name in ("functions", "filenames", "line_numbers",
                                           "inline_frames") if mapping["has_" + name])
        yield (f"mapping {mapping['id']} {mapping['memory_start']:#x}-{mapping['memory_limit']:#x} "
               f"{mapping['file_offset']:#x} {strings[mapping['filename']]} "
               f"[{strings[mapping['build_id']]}] {known}").rstrip()
    for sample in profile["sample"]:
        labels = " ".join(label_text(strings, label) for label in sample["label"])
        yield "sample " + " ".join(map(str, sample["value"])) + " " + labels
        for number in sample["location_id"]:
            yield from frame_texts(profile, profile["location"][number - 1])


def print_text(path):
    with open(path, "rb") as file:
        data = file.read()
    if data:
        print("\n".join(text_lines(pprof_wire.read(data))))


# --- trying itself -----------------------------------------------------------------------------

def good():
    strings = ["", *[word for pair in HEAP for word in pair if word not in ("bytes", "count")],
               "bytes", "count", "space", "/opt/server", "ab01", "main", "malloc", "pid"]
    number = {string: index for index, string in enumerate(strings)}
    flags = {"has_functions": 1, "has_filenames": 0, "has_line_numbers": 0, "has_inline_frames": 0}
    return {
        "string_table": strings,
        "sample_type": [{"type": number[name], "unit": number[unit]} for name, unit in HEAP],
        "period_type": {"type": number["space"], "unit": number["bytes"]}, "period": 1,
        "time_nanos": 1, "duration_nanos": 0, "drop_frames": number["malloc"],
        "comment": [number["space"]],
        "default_sample_type": number["inuse_space"],
        "mapping": [{"id": 1, "memory_start": 4096, "memory_limit": 8192, "file_offset": 0,
                     "filename": number["/opt/server"], "build_id": number["ab01"], **flags}],
        "function": [{"id": 1, "name": number["malloc"], "system_name": 0, "filename": 0},
                     {"id": 2, "name": number["main"], "system_name": 0, "filename": 0}],
        "location": [
            {"id": 1, "mapping_id": 0, "address": 0, "line": [{"function_id": 1, "line": 0}]},
            {"id": 2, "mapping_id": 1, "address": 4097, "line": [{"function_id": 2, "line": 3}]}],
        "sample": [{"location_id": [1, 2], "value": [0, 0, 0, 0, 3, 96, 1, 32],
                    "label": [{"key": number["pid"], "str": 0, "num": 7, "num_unit": 0}]}],
    }


# Where something else stands in a good profile, what, and a part of the problem to be reported.
TRAPS = [
    (("string_table", 0), "x", "string 0"),
    (("string_table", 2), "main", "twice"),
    (("string_table", 3), "\x1b", "control"),
    (("comment", 0), 99, "no such string"),
    (("sample", 0, "label", 0, "key"), -1, "no such string"),
    (("sample_type", 0, "type"), 2, "Go's order"),
    (("default_sample_type",), 0, "default"),
    (("duration_nanos",), 5, "Parca"),
    (("drop_frames",), 9, "no function"),
    (("period",), 0, "period"),
    (("mapping", 0, "id"), 2, "mapping ids"),
    (("function", 1, "id"), 3, "function ids"),
    (("location", 0, "id"), 0, "location ids"),
    (("location", 1, "mapping_id"), 2, "no such mapping"),
    (("location", 1, "line"), [], "no line"),
    (("location", 1, "line", 0, "function_id"), 3, "no such function"),
    (("sample", 0, "location_id"), [1], "not the locations"),
    (("sample", 0, "location_id"), [], "no location"),
    (("sample", 0, "location_id"), [1, 2, 3], "not the locations"),
    (("mapping", 0, "memory_limit"), 4096, "is empty"),
    (("mapping", 0, "build_id"), 10, "build ID"),
    (("location", 1, "address"), 8192, "outside"),
    (("sample", 0, "value"), [1], "a value for each"),
    (("sample", 0, "value"), [0] * 8, "values"),
    (("sample", 0, "value"), [1] * 7 + [-1], "values"),
    (("sample", 0, "label", 0, "num"), 0, "a label"),
]

# Bytes that are no profile, and why not.
NO_PROFILES = [(b"\x1f", "no gzip"), (b"text", "no gzip")]
WIRE = [(b"\xff", "no end"), (b"\x12\x05\x00", "beyond"), (b"\x0d\x00\x00\x00\x00", "wire type"),
        (b"\x7a\x00", "not known")]


def self_test():
    failures = check_profile(good())
    for path, value, expected in TRAPS:
        bad = copy.deepcopy(good())
        at = bad
        for step in path[:-1]:
            at = at[step]
        at[path[-1]] = value
        problems = check_profile(bad)
        if not any(expected in problem for problem in problems):
            failures.append(f"{path} = {value!r}: {problems}")
    cases = NO_PROFILES + [(pprof_wire.gzip.compress(raw), why) for raw, why in WIRE]
    for data, expected in cases:
        if not any(expected in problem for problem in check(data)):
            failures.append(f"{data!r}: {check(data)}")
    return failures


if __name__ == "__main__":
    checker.main(__doc__, check, self_test, print_text)
