# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads gzipped profile.proto by the wire format alone (field numbers of FORMATS.md 2.1), so that
what protobuf-c wrote is not judged by itself."""

import gzip
import zlib

FIXED64 = "fixed64"

# field: (name, kind, repeated); kinds are numbers, FIXED64, bytes, or the fields of a message.
VALUE_TYPE = {1: ("type", int, False), 2: ("unit", int, False)}
LABEL = {1: ("key", int, False), 2: ("str", int, False), 3: ("num", int, False),
         4: ("num_unit", int, False)}
SAMPLE = {1: ("location_id", int, True), 2: ("value", int, True), 3: ("label", LABEL, True)}
MAPPING = {1: ("id", int, False), 2: ("memory_start", int, False), 3: ("memory_limit", int, False),
           4: ("file_offset", int, False), 5: ("filename", int, False), 6: ("build_id", int, False),
           7: ("has_functions", int, False), 8: ("has_filenames", int, False),
           9: ("has_line_numbers", int, False), 10: ("has_inline_frames", int, False)}
LINE = {1: ("function_id", int, False), 2: ("line", int, False)}
LOCATION = {1: ("id", int, False), 2: ("mapping_id", int, False), 3: ("address", int, False),
            4: ("line", LINE, True)}
FUNCTION = {1: ("id", int, False), 2: ("name", int, False), 3: ("system_name", int, False),
            4: ("filename", int, False), 5: ("start_line", int, False)}
PROFILE = {1: ("sample_type", VALUE_TYPE, True), 2: ("sample", SAMPLE, True),
           3: ("mapping", MAPPING, True), 4: ("location", LOCATION, True),
           5: ("function", FUNCTION, True), 6: ("string_table", bytes, True),
           7: ("drop_frames", int, False),
           9: ("time_nanos", int, False), 10: ("duration_nanos", int, False),
           11: ("period_type", VALUE_TYPE, False), 12: ("period", int, False),
           13: ("comment", int, True), 14: ("default_sample_type", int, False)}


ADDRESSES = {"memory_start", "memory_limit", "file_offset", "address"}


class Malformed(Exception):
    pass


def varint(data, at):
    value, shift = 0, 0
    while True:
        if at >= len(data) or shift > 63:
            raise Malformed("a number has no end")
        byte = data[at]
        value |= (byte & 0x7f) << shift
        at, shift = at + 1, shift + 7
        if not byte & 0x80:
            return (value - (1 << 64) if value >> 63 else value), at


def varints(data):
    at, values = 0, []
    while at < len(data):
        value, at = varint(data, at)
        values.append(value)
    return values


def take(message, name, kind, repeated, values):
    if isinstance(kind, dict):
        values = [parse(value, kind) for value in values]
    if name in ADDRESSES:
        values = [value % (1 << 64) for value in values]
    if repeated:
        message[name] += values
    else:
        message[name] = values[-1]


def parse(data, fields):
    message = {name: [] if repeated else {} if isinstance(kind, dict) else
               b"" if kind is bytes else 0 for name, kind, repeated in fields.values()}
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        number, wire = tag >> 3, tag & 7
        if number not in fields:
            raise Malformed(f"field {number} is not known")
        name, kind, repeated = fields[number]
        if wire == 0 and kind is int:
            value, at = varint(data, at)
            values = [value]
        elif wire == 1 and kind is FIXED64 and len(data) - at >= 8:
            values, at = [int.from_bytes(data[at:at + 8], "little")], at + 8
        elif wire == 2 and kind is not FIXED64 and (kind is not int or repeated):
            length, at = varint(data, at)
            if not 0 <= length <= len(data) - at:
                raise Malformed(f"{name} goes beyond the end")
            part, at = data[at:at + length], at + length
            values = varints(part) if kind is int else [part]
        else:
            raise Malformed(f"{name} has wire type {wire}")
        take(message, name, kind, repeated, values)
    return message


def read(data):
    """The profile, its strings decoded; Malformed, UnicodeDecodeError."""
    try:
        raw = gzip.decompress(data)
    except (OSError, EOFError, zlib.error) as error:
        raise Malformed(f"no gzip: {error}") from error
    profile = parse(raw, PROFILE)
    profile["string_table"] = [string.decode("utf-8") for string in profile["string_table"]]
    return profile
