#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Checks DHAT's files, version 2: the fields that its format asks for, what dh_view.js refuses, and
the form of frames that the Firefox Profiler's importer takes apart.

    check_dhat.py FILE...      problems on stdout, exit 1 when there are any
    check_dhat.py --self-test  tries the checker on texts with one trap each
"""

import json
import re

import checker

TOP = {"dhatFileVersion": int, "mode": str, "verb": str, "bklt": bool, "bkacc": bool, "tu": str,
       "Mtu": str, "cmd": str, "pid": int, "te": int, "pps": list, "ftbl": list}
LIFETIMES = {"tuth": int, "tg": int}  # with bklt, as are the latter of a point
POINT, POINT_LIFETIMES = {"tb", "tbk", "fs"}, {"tl", "mb", "mbk", "gb", "gbk", "eb", "ebk"}
OWN = "memtraced"  # what the format has no field for
FRAME = re.compile(r"0x([0-9A-F]+): (.+)")
PLACED = re.compile(r"0x[0-9A-F]+: (.+) \((in .+|[^()]+:\d+)\)")


def is_natural(value, below=2 ** 64):
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < below


def check_point(index, point, dhat):
    at = f"pps[{index}]"
    wanted = POINT | (POINT_LIFETIMES if dhat["bklt"] else set())
    if point.keys() != wanted:
        yield f"{at}: not the fields of a point: {sorted(point)}"
        return
    for key in wanted - {"fs"}:
        if not is_natural(point[key]):
            yield f"{at}: {key} is no natural number: {point[key]!r}"
            return
    frames = point["fs"]
    if not frames or not all(is_natural(frame, len(dhat["ftbl"])) and frame for frame in frames):
        yield f"{at}: no such frames: {frames!r}"
    if dhat["bklt"] and point["mb"] != max(point["gb"], point["eb"]):
        yield f"{at}: the most is neither that at the peak nor that at the end"


def check_frames(frames):
    if not frames or frames[0] != "[root]":
        yield "the first frame is not the root"
    if len(set(frames)) != len(frames):
        yield "a frame is there twice"
    for frame in frames[1:]:
        match = FRAME.fullmatch(frame)
        if not match or (match.group(2).endswith(")") and " (" in match.group(2) and
                         not PLACED.fullmatch(frame) and not frame.endswith("()")):
            yield f"no frame: {frame!r}"


def check(data):
    # A run without allocations gives an empty file.
    if not data:
        return []
    try:
        dhat = json.loads(data.decode("utf-8"))
    except ValueError as error:
        return [f"not JSON in UTF-8: {error}"]
    fields = {**TOP, **(LIFETIMES if dhat.get("bklt") else {})}
    if dhat.keys() != fields.keys() | {OWN}:
        return [f"not the fields of a file: {sorted(dhat.keys() ^ (fields.keys() | {OWN}))}"]
    problems = [f"{key} is of another type" for key, kind in fields.items()
                if not isinstance(dhat[key], kind)]
    if dhat["dhatFileVersion"] != 2 or dhat["bkacc"]:
        problems.append("another version, or accesses")
    if problems:
        return problems
    if dhat["bklt"] and not 0 <= dhat["tg"] <= dhat["te"]:
        problems.append(f"the peak at {dhat['tg']} is not before the end at {dhat['te']}")
    problems += check_frames(dhat["ftbl"])
    stacks = set()
    for index, point in enumerate(dhat["pps"]):
        problems += check_point(index, point, dhat)
        stack = tuple(point.get("fs", ()))
        if stack in stacks:
            problems.append(f"pps[{index}]: a repeated location")
        stacks.add(stack)
    return problems


GOOD = """{"dhatFileVersion":2
,"mode":"heap","verb":"Allocated"
,"bklt":true,"bkacc":false
,"tu":"µs","Mtu":"s"
,"tuth":10
,"cmd":"prog 'a b'"
,"pid":7
,"te":40
,"tg":30
,"memtraced":{}
,"pps":
 [{"tb":5,"tbk":1
  ,"tl":1
  ,"mb":5,"mbk":1
  ,"gb":5,"gbk":1
  ,"eb":0,"ebk":0
  ,"fs":[1,2]
  }
 ,{"tb":6,"tbk":1
  ,"tl":1
  ,"mb":6,"mbk":1
  ,"gb":0,"gbk":0
  ,"eb":6,"ebk":1
  ,"fs":[3,2]
  }
 ]
,"ftbl":
 ["[root]"
 ,"0x4AA1D9F: operator()(int) (prog.c:12)"
 ,"0x4AA1DA0: main (in /usr/bin/prog (deleted))"
 ,"0x0: [truncated]"
 ]
}
"""


def self_test():
    failures = check(GOOD.encode())
    return failures + checker.try_traps(GOOD, [
        ('"te":40', '"te":29', "not before the end"),
        ('"tuth":10\n,', "", "not the fields of a file"),
        ('"tl":1', '"tl":-1', "no natural number"),
        (',"gb":5,"gbk":1\n', "", "not the fields of a point"),
        ("[3,2]", "[1,2]", "a repeated location"),
        ("[3,2]", "[4,2]", "no such frames"),
        ("[3,2]", "[]", "no such frames"),
        ('"mb":6', '"mb":7', "the most"),
        ('"[root]"', '"root"', "not the root"),
        ("0x0: [truncated]", "[truncated]", "no frame"),
        (":2\n", ":3\n", "another version"),
        ('"pid":7', '"pid":"7"', "another type"),
        ('"0x0: [truncated]"', '"0x4AA1DA0: main (in /usr/bin/prog (deleted))"', "twice"),
    ], check)


if __name__ == "__main__":
    checker.main(__doc__, check, self_test)
