# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads OTLP's requests with profiles by the wire format alone: field numbers of
opentelemetry-proto 1.10.0 (collector/profiles/v1development, profiles/v1development, common/v1,
resource/v1)."""

import gzip
import zlib

from pprof_wire import FIXED64, Malformed, parse

ANY_VALUE = {1: ("string", bytes, False), 3: ("int", int, False)}
KEY_VALUE = {1: ("key", bytes, False), 2: ("value", ANY_VALUE, False)}
RESOURCE = {1: ("attributes", KEY_VALUE, True)}
SCOPE = {1: ("name", bytes, False), 2: ("version", bytes, False)}
VALUE_TYPE = {1: ("type", int, False), 2: ("unit", int, False)}
SAMPLE = {1: ("stack", int, False), 2: ("attributes", int, True), 3: ("link", int, False),
          4: ("values", int, True), 5: ("timestamps", FIXED64, True)}
PROFILE = {1: ("sample_type", VALUE_TYPE, False), 2: ("samples", SAMPLE, True),
           3: ("time_unix_nano", FIXED64, False), 4: ("duration_nano", int, False),
           5: ("period_type", VALUE_TYPE, False), 6: ("period", int, False),
           7: ("profile_id", bytes, False), 11: ("attributes", int, True)}
SCOPE_PROFILES = {1: ("scope", SCOPE, False), 2: ("profiles", PROFILE, True)}
RESOURCE_PROFILES = {1: ("resource", RESOURCE, False), 2: ("scope_profiles", SCOPE_PROFILES, True)}
MAPPING = {1: ("memory_start", int, False), 2: ("memory_limit", int, False),
           3: ("file_offset", int, False), 4: ("filename", int, False),
           5: ("attributes", int, True)}
LINE = {1: ("function", int, False), 2: ("line", int, False)}
LOCATION = {1: ("mapping", int, False), 2: ("address", int, False), 3: ("lines", LINE, True),
            4: ("attributes", int, True)}
FUNCTION = {1: ("name", int, False), 2: ("system_name", int, False), 3: ("filename", int, False)}
KEY_VALUE_AND_UNIT = {1: ("key", int, False), 2: ("value", ANY_VALUE, False),
                      3: ("unit", int, False)}
DICTIONARY = {1: ("mappings", MAPPING, True), 2: ("locations", LOCATION, True),
              3: ("functions", FUNCTION, True), 4: ("links", {}, True),
              5: ("strings", bytes, True), 6: ("attributes", KEY_VALUE_AND_UNIT, True),
              7: ("stacks", {1: ("locations", int, True)}, True)}
REQUEST = {1: ("resource_profiles", RESOURCE_PROFILES, True), 2: ("dictionary", DICTIONARY, False)}


def inside(index, table):
    if not 0 <= index < len(table):
        raise Malformed(f"{index} is in no table of {len(table)}")
    return table[index]


def check(request):
    """All numbers lead somewhere, and what means "none" is none."""
    words = request["dictionary"]
    zeros = [(name, parse(b"", fields)) for name, fields in (
        ("mappings", MAPPING), ("locations", LOCATION), ("functions", FUNCTION),
        ("attributes", KEY_VALUE_AND_UNIT), ("stacks", {1: ("locations", int, True)}))]
    for name, zero in zeros:
        if words[name][:1] != [zero]:
            raise Malformed(f"{name} do not begin with a zero value: {words[name][:1]}")
    if words["strings"][0] != b"" or len(words["links"]) != 1:
        raise Malformed("no empty string, or no empty link")
    for stack in words["stacks"]:
        for index in stack["locations"]:
            inside(index, words["locations"])
    for location in words["locations"]:
        inside(location["mapping"], words["mappings"])
        for line in location["lines"]:
            inside(line["function"], words["functions"])
    for row in words["mappings"] + words["locations"]:
        for index in row["attributes"]:
            inside(index, words["attributes"])
    for function in words["functions"]:
        for index in function.values():
            inside(index, words["strings"])


def read(data):
    """The request; Malformed."""
    try:
        raw = gzip.decompress(data)
    except (OSError, EOFError, zlib.error) as error:
        raise Malformed(f"no gzip: {error}") from error
    request = parse(raw, REQUEST)
    check(request)
    return request


def as_pprof(request):
    """Attributes of the resource, and its profiles, of one value each, as one of pprof's."""
    resource, = request["resource_profiles"]
    scope, = resource["scope_profiles"]
    if scope["scope"]["name"] != b"memtraced":
        raise Malformed(f"scope {scope['scope']}")
    words = request["dictionary"]
    # those of mappings have samples of their own
    mapped = [profile for profile in scope["profiles"] if
              words["strings"][profile["sample_type"]["type"]].startswith((b"mapped_", b"mmap_"))]
    profiles = [p for p in scope["profiles"] if p not in mapped] or mapped
    first = profiles[0]
    for profile in profiles:
        if any(a["stack"] != b["stack"] for a, b in zip(profile["samples"], first["samples"])):
            raise Malformed("profiles of other stacks")
    attributes = [{"key": row["key"], "str": words["strings"].index(row["value"]["string"])}
                  for row in words["attributes"][1:]]
    samples = [{"location_id": inside(rows[0]["stack"], words["stacks"])["locations"],
                "value": [value for row in rows for value in row["values"]],
                "label": [attributes[index - 1] for index in rows[0]["attributes"]]}
               for rows in zip(*(profile["samples"] for profile in profiles))]
    labels = {row["key"].decode(): row["value"].get("string").decode() or row["value"]["int"]
              for row in resource["resource"]["attributes"]}
    return labels, {
        "string_table": [string.decode("utf-8") for string in words["strings"]],
        "sample_type": [profile["sample_type"] for profile in profiles],
        "sample": samples,
        "location": [{"id": index, "line": [{"function_id": line["function"], "line": line["line"]}
                                            for line in row["lines"]]}
                     for index, row in enumerate(words["locations"])],
        "function": [{"id": index, "name": row["name"]}
                     for index, row in enumerate(words["functions"])],
        "time_nanos": first["time_unix_nano"], "duration_nanos": first["duration_nano"]}
