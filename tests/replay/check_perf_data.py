#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Checks perf.data files as perf reads them: sections within the file, records that fill theirs,
samples of known events, addresses that something is mapped at.

    check_perf_data.py FILE...      problems on stdout, exit 1 when there are any
    check_perf_data.py --text FILE  its events, and its records
    check_perf_data.py --self-test  tries the checker on files with one trap each
"""

import struct

import checker

HEADER, ATTR_IDS = struct.Struct("<8s8Q"), struct.Struct("<QQ")
COMM, MMAP2, SAMPLE = 3, 10, 9
CONTEXTS = {2**64 - 128: "[kernel]", 2**64 - 512: "[user]"}
HOSTNAME, EVENT_DESC = 3, 12
FEATURES = 1 << HOSTNAME | 1 << EVENT_DESC


class Malformed(Exception):
    """What no reader takes."""


def text(data):
    return data.split(b"\0", 1)[0].decode("utf-8")


class PerfData:
    def __init__(self, data):
        self.problems, self.lines, self.maps, self.time = [], [], {}, 0
        self.names = {}
        if len(data) < 104 or data[:8] != b"PERFILE2":
            raise Malformed("no header")
        (_, size, self.attr_size, attrs, attrs_size, start, length, _, _) = \
            HEADER.unpack_from(data)
        features = struct.unpack_from("<4Q", data, HEADER.size)
        if size != 104 or attrs_size % self.attr_size or attrs + attrs_size > len(data):
            raise Malformed("attributes are outside")
        if start + length > len(data):
            raise Malformed("data are outside")
        self.read_features(data, features[0], start + length)
        for at in range(attrs, attrs + attrs_size, self.attr_size):
            offset, n = ATTR_IDS.unpack_from(data, at + self.attr_size - 16)
            ids = struct.unpack_from(f"<{n // 8}Q", data, offset)
            if any(number not in self.names for number in ids):
                self.problems.append(f"an event without a name: {ids}")
        at = start
        while at < start + length:
            kind, misc, size = struct.unpack_from("<IHH", data, at)
            if size < 8 or size % 8 or at + size > start + length:
                raise Malformed(f"a record of {size} bytes")
            self.record(kind, misc, data[at + 8:at + size])
            at += size

    def read_features(self, data, bits, at):
        if not bits >> HOSTNAME & 1:
            self.problems.append("no host name: hotspot reads no feature then")
        for bit in range(64):
            if not bits >> bit & 1:
                continue
            offset, size = ATTR_IDS.unpack_from(data, at)
            at += 16
            if offset + size > len(data):
                raise Malformed(f"feature {bit} is outside")
            if bit == EVENT_DESC:
                self.read_names(data[offset:offset + size])

    def read_names(self, data):
        n, size = struct.unpack_from("<II", data)
        at = 8
        for _ in range(n):
            n_ids, length = struct.unpack_from("<II", data, at + size)
            at += size + 8
            name = text(data[at:at + length])
            at += length
            for number in struct.unpack_from(f"<{n_ids}Q", data, at):
                self.names[number] = name
            at += 8 * n_ids

    def record(self, kind, misc, data):
        if kind == SAMPLE:
            self.sample(data)
            return
        pid, time = struct.unpack_from("<I4xQ", data, len(data) - 24)
        if kind == COMM:
            if misc & 1 << 13:
                self.maps[pid] = []
            self.lines.append(f"comm {pid} {text(data[8:])}")
        elif kind == MMAP2:
            start, size, offset = struct.unpack_from("<3Q", data, 8)
            build_id = data[36:36 + data[32]].hex() if misc & 1 << 14 else "none"
            self.maps.setdefault(pid, []).append((start, start + size))
            self.lines.append(f"map {pid} {start:#x} {size:#x} at {offset:#x} of "
                              f"{text(data[64:])}, build ID {build_id}")
        else:
            self.problems.append(f"a record of type {kind}")
        self.time = time

    def sample(self, data):
        number, _, pid, _, time, period, n = struct.unpack_from("<QQIIQQQ", data)
        chain = struct.unpack_from(f"<{n}Q", data, 48)
        if len(data) != 48 + 8 * n:
            self.problems.append("a sample of another length")
        if number not in self.names:
            self.problems.append(f"a sample of no event: {number}")
        if time < self.time:
            self.problems.append("a sample before its mappings")
        if n and chain[0] not in CONTEXTS:
            self.problems.append("addresses of nobody knows whom")
        self.lines.append(f"{self.names.get(number)} {pid} {period}: " + " ".join(
            CONTEXTS.get(word) or f"{word:#x}" for word in chain))


def check(data):
    # A run without such a job gives an empty file.
    if not data:
        return []
    try:
        return PerfData(data).problems
    except (Malformed, struct.error) as error:
        return [str(error)]


def print_text(path):
    with open(path, "rb") as file:
        data = file.read()
    if data:
        print("\n".join(PerfData(data).lines))


def good():
    """A file with an event, a mapping and a sample."""
    host = struct.pack("<I8s", 8, b"unknown")
    names = struct.pack("<II8sII8sQ", 1, 8, b"attrattr", 1, 8, b"live\0\0\0\0", 1)
    trailer = struct.pack("<IIQQ", 42, 42, 5, 1)
    comm = struct.pack("<II8s", 42, 42, b"server\0\0") + trailer
    mmap = struct.pack("<II3QB3x20sII8s", 42, 42, 0x1000, 0x1000, 0, 20, b"b" * 20, 5, 2,
                       b"/bin/a\0\0") + trailer
    sample = struct.pack("<QQIIQQQQQ", 1, 0x1010, 42, 42, 9, 4096, 2, 2**64 - 512, 0x1010)
    data = b"".join(struct.pack("<IHH", kind, misc, len(body) + 8) + body for kind, misc, body in
                    ((COMM, 1 << 13, comm), (MMAP2, 1 << 14, mmap), (SAMPLE, 2, sample)))
    start = 104 + 8 + 24
    return (HEADER.pack(b"PERFILE2", 104, 24, 112, 24, start, len(data), 0, 0) +
            struct.pack("<4Q", FEATURES, 0, 0, 0) + struct.pack("<Q", 1) +
            struct.pack("<8sQQ", b"attrattr", 104, 8) + data +
            struct.pack("<QQ", start + len(data) + 32, len(host)) +
            struct.pack("<QQ", start + len(data) + 32 + len(host), len(names)) + host + names)


# What is replaced, by what, and a part of the problem that must be reported.
TRAPS = [
    (b"PERFILE2", b"PERFFILE", "no header"),
    (struct.pack("<QQ", 112, 24), struct.pack("<QQ", 112, 2400), "attributes are outside"),
    (struct.pack("<IH", SAMPLE, 2), struct.pack("<IH", 77, 2), "a record of type 77"),
    (struct.pack("<IHH", SAMPLE, 2, 72), struct.pack("<IHH", SAMPLE, 2, 80), "a record of 80"),
    (struct.pack("<QQI", 1, 0x1010, 42), struct.pack("<QQI", 7, 0x1010, 42), "of no event"),
    (struct.pack("<QQ", 9, 4096), struct.pack("<QQ", 4, 4096), "before its mappings"),
    (struct.pack("<QQ", 2, 2**64 - 512), struct.pack("<QQ", 1, 2**64 - 512), "another length"),
    (struct.pack("<QQ", 2**64 - 512, 0x1010), struct.pack("<QQ", 0x1010, 0x1010), "nobody"),
    (b"live\0\0\0\0" + struct.pack("<Q", 1), b"live\0\0\0\0" + struct.pack("<Q", 2),
     "without a name"),
    (struct.pack("<4Q", FEATURES, 0, 0, 0), struct.pack("<4Q", 1 << 4 | 1 << EVENT_DESC, 0, 0, 0),
     "no host name"),
]


def self_test():
    return check(good()) + checker.try_traps(good(), TRAPS, check)


if __name__ == "__main__":
    checker.main(__doc__, check, self_test, print_text)
