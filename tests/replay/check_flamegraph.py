#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Checks flame graphs: well-formed, alone (nothing is loaded from elsewhere), and frames that stand
on each other and are as wide as their values.

    check_flamegraph.py FILE...      problems on stdout, exit 1 when there are any
    check_flamegraph.py --text FILE  what stands where, without script and style
    check_flamegraph.py --self-test  tries the checker on pictures with one trap each
"""

import re
import xml.etree.ElementTree as ElementTree

import checker

SVG = "{http://www.w3.org/2000/svg}"
TITLE = re.compile(r"(?s).+ \(([\d,]+) \w+, \d+\.\d\d %(; [+-][\d,]+)?\)$")
LEFT, WIDTH = 10, 1180


class Frame:
    def __init__(self, g):
        self.title = g.findtext(SVG + "title", "")
        self.name = self.title.rpartition(" (")[0]
        self.start, self.value, self.depth = (int(g.get(f"data-{key}")) for key in "svd")
        rect = g.find(SVG + "rect")
        self.x, self.y, self.width = (float(rect.get(key)) for key in ("x", "y", "width"))

    @property
    def end(self):
        return self.start + self.value


def frames_of(data):
    """The frames of a picture; ElementTree.ParseError."""
    return frames_in(ElementTree.fromstring(data))


def frames_in(svg):
    found = [g for g in svg.iter(SVG + "g") if g.get("id") == "frames"]
    return [Frame(g) for parent in found for g in parent]


def check_alone(svg):
    for element in svg.iter():
        for key, value in element.attrib.items():
            if re.sub(r"^{.*}", "", key) in ("href", "src") or key.startswith("on"):
                yield f"{element.tag} has {key}"
            if "url(" in value or "://" in value:
                yield f"{element.tag} refers to {value}"
        if element.tag == SVG + "style" and re.search(r"url\(|@import", element.text or ""):
            yield "the style refers to something"
        if element.tag == SVG + "script" and re.search(r"://|fetch\(|import\b", element.text or ""):
            yield "the script loads something"


def check_frame(frame, root):
    match = TITLE.match(frame.title)
    if not match:
        yield f"title {frame.title!r}"
    elif int(match.group(1).replace(",", "")) != frame.value:
        yield f"{frame.title!r} has the value {frame.value}"
    if root.value:
        left = LEFT + frame.start * WIDTH / root.value
        width = frame.value * WIDTH / root.value
        if abs(frame.x - left) > 0.01 or not -0.1 < width - frame.width < 0.5:
            yield f"{frame.title!r} is not where its value is"


def check_tree(frames):
    rows = {}
    for frame in frames:
        rows.setdefault(frame.depth, []).append(frame)
    for depth, row in rows.items():
        row.sort(key=lambda frame: frame.start)
        for left, right in zip(row, row[1:]):
            if right.start < left.end:
                yield f"{left.title!r} and {right.title!r} overlap"
        if len({frame.y for frame in row}) != 1:
            yield f"the frames of depth {depth} are not in a row"
        parents, at = rows.get(depth - 1, []), 0
        for frame in row if depth else []:
            while at < len(parents) and parents[at].end < frame.end:
                at += 1
            if at == len(parents) or not parents[at].start <= frame.start:
                yield f"{frame.title!r} stands on nothing"


def check(data):
    """Problems of a file's bytes."""
    if not data:  # a run without a job that has stacks
        return []
    try:
        svg = ElementTree.fromstring(data)
        frames = frames_in(svg)
    except (ElementTree.ParseError, AttributeError, TypeError, ValueError) as error:
        return [f"no picture: {error}"]
    problems = list(check_alone(svg))
    if svg.tag != SVG + "svg" or len(svg) == 0 or svg[0].tag != SVG + "title" or not svg[0].text:
        problems.append("no SVG with a title first")
    if svg.find(SVG + "script") is None:
        problems.append("no script")
    roots = [frame for frame in frames if frame.depth == 0]
    if len(roots) != 1 or roots[0].start != 0:
        return problems + ["not one root"]
    for frame in frames:
        problems += check_frame(frame, roots[0])
    return problems + list(check_tree(frames))


def print_text(path):
    with open(path, "rb") as file:
        data = file.read()
    if not data:
        return
    svg = ElementTree.fromstring(data)
    for key in ("width", "height", "data-top", "data-rows", "data-unit"):
        print(key, svg.get(key))
    for text in svg.iter(SVG + "text"):
        if text.get("id"):
            print(text.get("id"), text.get("x"), text.get("y"), text.text or "")
    for g in svg.iter(SVG + "g"):
        if g.get("data-d"):
            frame, rect = Frame(g), g.find(SVG + "rect")
            print(f"{'  ' * frame.depth}{frame.title} at {frame.x:g},{frame.y:g} {frame.width:g} "
                  f"{rect.get('fill')} {g.findtext(SVG + 'text', '')}".rstrip())


GOOD = """<?xml version="1.0"?>
<svg xmlns="http://www.w3.org/2000/svg"><title>Memory</title><style>text{}</style><g id="frames">
<g data-s="0" data-v="300" data-d="2"><title>a (int) (300 bytes, 30.00 %)</title>
<rect x="10" y="10" width="353.60"/></g>
<g data-s="300" data-v="600" data-d="2"><title>c (600 bytes, 60.00 %)</title>
<rect x="364" y="10" width="707.6"/></g>
<g data-s="0" data-v="1000" data-d="1"><title>b (1,000 bytes, 100.00 %; -5)</title>
<rect x="10" y="20" width="1179.60"/></g>
<g data-s="0" data-v="1000" data-d="0"><title>all (1,000 bytes, 100.00 %)</title>
<rect x="10" y="30" width="1179.60"/></g></g><script>1;</script></svg>
"""

TRAPS = [
    ("</svg>", "", "no picture"),
    ('data-v="300"', 'data-v="x"', "no picture"),
    ("<title>Memory</title>", "", "title first"),
    ("<script>1;</script>", "", "no script"),
    ("1;", "fetch(1)", "loads something"),
    ("text{}", "a{fill:url(x)}", "the style"),
    ('<g id="frames">', '<g id="frames" onclick="1">', "has onclick"),
    ('<g id="frames">', '<g id="frames" href="x">', "has href"),
    ('<g id="frames">', '<g id="frames" fill="http://x">', "refers to"),
    ('data-d="0"', 'data-d="3"', "not one root"),
    ("600 bytes", "601 bytes", "has the value"),
    ("c (600 bytes, 60.00 %)", "c", "title"),
    ('width="353.60"', 'width="350"', "not where"),
    ('x="364"', 'x="363"', "not where"),
    ('data-s="300"', 'data-s="299"', "overlap"),
    ('x="364" y="10"', 'x="364" y="11"', "in a row"),
    ('data-v="600" data-d="2"', 'data-v="701" data-d="2"', "stands on nothing"),
]


def self_test():
    return check(GOOD.encode()) + checker.try_traps(GOOD, TRAPS, check)


if __name__ == "__main__":
    checker.main(__doc__, check, self_test, print_text)
