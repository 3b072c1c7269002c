# SPDX-License-Identifier: GPL-2.0-or-later
"""Recordings that are cut off or damaged are read as far as they go, and that is said."""

import os
import struct
import subprocess
import zlib

import schema
from lib import (heap_sites, load_report, need_program, need_root, run_memtraced, scratch, target,
                 test)

BESIDE_OTHERS = True
HEADER, RECORD = 16, struct.Struct("<III")  # docs/recording.md
CUT_END, PACKED = 14, 65


def record(kind, payload=b""):
    head = struct.pack("<II", kind, len(payload))
    return head + struct.pack("<I", zlib.crc32(payload, zlib.crc32(head))) + payload


def unpacked(data):
    """The same recording with each record as it is."""
    out, at = [data[:HEADER]], HEADER
    while at < len(data):
        kind, length, _ = RECORD.unpack_from(data, at)
        at += RECORD.size + length
        payload = data[at - length:at]
        if kind != PACKED:
            out.append(record(kind, payload))
            continue
        done = subprocess.run(["zstd", "-dc"], input=payload, stdout=subprocess.PIPE, check=True)
        packed, inside = done.stdout, 0
        while inside < len(packed):
            kind, length = struct.unpack_from("<II", packed, inside)
            inside += 8 + length
            out.append(record(kind, packed[inside - length:inside]))
    return b"".join(out)


def ends_of(data):
    """(type, where it ends) of each record."""
    at, found = HEADER, []
    while at < len(data):
        kind, length, _ = RECORD.unpack_from(data, at)
        at += RECORD.size + length
        found.append((kind, at))
    assert at == len(data)
    return found


def recorded(folder):
    """A recording's bytes, and the report of the same run."""
    recording, path = os.path.join(folder, "run"), os.path.join(folder, "json")
    done = run_memtraced("-o", f"record:{recording}", "-o", f"json:{path}", "--", target("leak"),
                         "100", "0")
    assert done.returncode == 0, done.stderr
    with open(recording, "rb") as file:
        data = file.read()
    plain = unpacked(data)
    # zstd takes a tenth to a third of it
    assert len(data) < len(plain) / 2, (len(data), len(plain))
    return plain, load_report(path)


def read(folder, data, checked=True):
    """The report of such a file, and what was said."""
    damaged, path = os.path.join(folder, "damaged"), os.path.join(folder, "damaged.json")
    with open(damaged, "wb") as file:
        file.write(data)
    done = run_memtraced("report", damaged, "-o", f"json:{path}")
    assert done.returncode == 0, done.stderr
    if checked:
        return load_report(path), done.stderr
    with open(path, encoding="utf-8") as file:
        return schema.load(file), done.stderr


SAID = "ends early or is damaged; reporting what comes before that"


@test(need_root, need_program("zstd"))
def what_comes_before_the_damage_is_reported():
    with scratch() as folder:
        data, whole = recorded(folder)
        process, = whole["processes"]
        ends = ends_of(data)
        behind_cut = [end for kind, end in ends if kind == CUT_END][-1]
        flipped = bytearray(data)
        flipped[behind_cut + RECORD.size] ^= 1
        broken = {
            "a byte of a record behind the cut": (bytes(flipped), SAID),
            "a cut-off record behind the cut": (data[:behind_cut + 5], SAID),
            "a record where it has no meaning": (data[:-RECORD.size] + record(CUT_END),
                                                 "is damaged; reporting"),
        }
        for what, (bad, said) in broken.items():
            report, stderr = read(folder, bad)
            assert said in stderr, (what, stderr)
            assert report["processes"][0]["alloc"] == process["alloc"], what
            assert whole["coverage"]["exact"] and not report["coverage"]["exact"], what


@test(need_root, need_program("zstd"))
def what_holds_no_state_has_no_numbers():
    with scratch() as folder:
        data, _ = recorded(folder)
        first = [end for kind, end in ends_of(data) if kind == CUT_END][0]
        report, stderr = read(folder, data[:first - 1], checked=False)
        assert SAID in stderr, stderr
        for process in report["processes"]:
            assert process["alloc"]["allocs"] is None, process["alloc"]
            assert not heap_sites(process), "regions alone are known without a cut"
        assert not report["coverage"]["exact"] and report["coverage"]["events"] is None


@test(need_root)
def leak_checks_of_a_run_are_in_reports_of_its_recording():
    with scratch() as folder:
        recording, path = os.path.join(folder, "run"), os.path.join(folder, "json")
        done = run_memtraced("--leak-check=full", "-o", f"record:{recording}", "-o",
                             f"json:{path}", "-f", "table", "--", target("leaks/shapes"))
        assert done.returncode == 0, done.stderr
        again = run_memtraced("report", recording, "-o", f"json:{path}.again", "-f", "table")
        assert (again.returncode, again.stdout, again.stderr) == (0, done.stdout, done.stderr)
        whole, read_back = load_report(path), load_report(path + ".again")
        assert read_back["processes"] == whole["processes"]
        # tests/targets/leaks/shapes.c: 15 blocks of 16 bytes
        leaks = read_back["processes"][0]["leaks"]
        kinds = ("definite", "indirect", "possible", "reachable", "suppressed")
        assert sum(leaks[kind]["blocks"] for kind in kinds) == 15 and leaks["complete"], leaks
        assert sum(leaks[kind]["bytes"] for kind in kinds) == 240, leaks
        assert {site["leak"] for site in heap_sites(read_back["processes"][0])} >= \
            {"definite", "possible"}
