#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Checks HTML reports: one page that loads nothing, whose data no name can end, and whose tables
refer to what is there.

    check_html.py FILE...      problems on stdout, exit 1 when there are any
    check_html.py --text FILE  the data, a row a line, without scripts and style
    check_html.py --self-test  tries the checker on pages with one trap each
"""

import html.parser
import json
import re

import checker

COLUMNS = 20  # of a site
POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"


class Page(html.parser.HTMLParser):
    """Elements with their attributes, and the text of scripts and styles."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.texts, self.within = [], [], None
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        self.within = tag
        if tag in ("script", "style"):
            self.texts.append([tag, dict(attrs), ""])

    def handle_endtag(self, tag):
        self.within = None

    def handle_data(self, data):
        if self.within in ("script", "style"):
            self.texts[-1][2] += data

    def data_text(self):
        found = [text for _, attributes, text in self.texts if attributes.get("id") == "data"]
        return found[0] if len(found) == 1 else ""


def data_of(data):
    """What the page knows: ValueError."""
    return json.loads(Page(data.decode()).data_text())


def check_alone(page):
    for tag, attributes in page.elements:
        for key, value in attributes.items():
            if key in ("href", "src", "srcset", "action") or key.startswith("on"):
                yield f"{tag} has {key}"
            if "://" in (value or ""):
                yield f"{tag} refers to {value}"
    if ("meta", {"http-equiv": "Content-Security-Policy", "content": POLICY}) not in page.elements:
        yield "no policy that forbids to load anything"
    for tag, attributes, text in page.texts:
        if tag == "style" and re.search(r"url\(|@import", text):
            yield "the style refers to something"
        if tag == "script" and "type" not in attributes and re.search(
                r"\bfetch\(|XMLHttpRequest|\bimport\b|innerHTML|outerHTML|insertAdjacentHTML|"
                r"document\.write|\beval\(", text):
            yield "a script loads something, or makes markup of strings"
        if attributes.get("id") == "data" and "<" in text:
            yield "the data has a '<'"
    if [text[0] for text in page.texts] != ["style", "script", "script"]:
        yield "not one style and two scripts"


def check_frees(data):
    """Where blocks are freed: of a site that is there, and no more lifetimes than blocks."""
    for process in data["processes"]:
        for row in process.get("frees", []):
            site, node, blocks, _, others, unknown, _, lifetimes = row
            if not 0 <= site < len(process["sites"]) or not -1 <= node < len(data["nodes"]) // 2:
                yield f"frees of no site, or at no node: {row}"
            if sum(lifetimes[1::2]) != blocks - unknown or others > blocks - unknown:
                yield f"lifetimes that are not of its blocks: {row}"


def check_tables(data):
    yield from check_frees(data)
    nodes, frames, strings = data["nodes"], data["frames"], data["strings"]
    for at in range(0, len(nodes), 2):
        if not -1 <= nodes[at] < at // 2:
            yield f"node {at // 2} stands before its caller"
        if not 0 <= nodes[at + 1] < len(frames):
            yield f"node {at // 2} has no frame"
    if len({(nodes[at], nodes[at + 1]) for at in range(0, len(nodes), 2)}) != len(nodes) // 2:
        yield "a node is there twice"
    for number, frame in enumerate(frames):
        if not all(-1 <= frame[at] < len(strings) for at in (0, 1, 3, 6)):
            yield f"frame {number} has a string that is not there"
    if len(set(strings)) != len(strings):
        yield "a string is there twice"


def stack_ids(value):
    """Of all members, however deep, that refer to a stack of JSON's tables."""
    if isinstance(value, dict):
        for key, item in value.items():
            if key.endswith("stack_id") and item is not None:
                yield item
            yield from stack_ids(item)
    elif isinstance(value, list):
        for item in value:
            yield from stack_ids(item)


def check_json_tables(data):
    """Of the parts that are as in JSON."""
    tables = data["tables"]
    for number, (frame, caller) in enumerate(tables["stacks"]):
        if caller is not None and not 0 <= caller < number:
            yield f"stack {number} stands before its caller"
        if not 0 <= frame < len(tables["frames"]):
            yield f"stack {number} has no frame"
    if any(not 0 <= f["function"] < len(tables["functions"]) for f in tables["frames"]):
        yield "a frame of no function"
    if any(not 0 <= number < len(tables["stacks"]) for number in stack_ids(data)):
        yield "a stack_id of no stack"


def depth_of(node, nodes):
    n = 0
    while node >= 0:
        node = nodes[2 * node]
        n += 1
    return n


def check_site(site, process, nodes):
    timeline = process["timeline"]
    if len(site) != COLUMNS:
        yield f"site {site[0]} has {len(site)} columns"
    elif not -1 <= site[-1] < len(nodes) // 2:
        yield f"site {site[0]} has no stack"
    elif not 0 <= site[-2] < max(depth_of(site[-1], nodes), 1):
        yield f"site {site[0]} is named by a frame that it has not"
    elif site[-3] is not None and (timeline is None or not (
            site[-3][0] + len(site[-3]) - 1 == len(timeline["time_ns"]))):
        yield f"the series of site {site[0]} is not as long as the timeline"


def check_process(process, nodes):
    timeline = process["timeline"]
    for site in process["sites"]:
        yield from check_site(site, process, nodes)
    if timeline is not None:
        columns = [column for column in timeline.values() if isinstance(column, list)]
        if len({len(column) for column in columns}) != 1:
            yield "columns of a timeline differ in length"
        if timeline["time_ns"] != sorted(timeline["time_ns"]):
            yield "a timeline goes back"


def check(data):
    """Problems of a file's bytes."""
    try:
        page = Page(data.decode())
        known = json.loads(page.data_text())
    except ValueError as error:
        return [f"no page: {error}"]
    problems = list(check_alone(page)) + list(check_tables(known)) + list(check_json_tables(known))
    n_nodes = len(known["nodes"]) // 2
    for process in known["processes"]:
        problems += check_process(process, known["nodes"])
    for event in known["events"]:
        if sum(stack[2] for stack in event["stacks"]) != event["count"]:
            problems.append(f"the stacks of {event['name']} are not all")
        if not all(-1 <= stack[3] < n_nodes for stack in event["stacks"]):
            problems.append(f"{event['name']} has a stack that is not there")
    return problems


def print_text(path):
    with open(path, "rb") as file:
        data = data_of(file.read())
    for key, value in data.items():
        if key == "nodes":
            value = [value[at:at + 2] for at in range(0, len(value), 2)]
        if not isinstance(value, list):
            print(f"{key}: {json.dumps(value)}")
            continue
        print(f"{key}:")
        for number, row in enumerate(value):
            if key != "processes":
                print(f"  {number} {json.dumps(row)}")
                continue
            for member, of in row.items():
                print(f"  {member}: {json.dumps(of) if member != 'sites' else ''}".rstrip())
            for site in row["sites"]:
                print(f"    {json.dumps(site)}")


GOOD = """<!DOCTYPE html><html><head><meta http-equiv="Content-Security-Policy" content="POLICY">
<style>a{}</style></head><body><script type="application/json" id="data">{"processes":[{"sites":[
["a",0,1,1,1,1,1,null,null,null,null,null,null,null,null,null,null,[1,5],1,1]],
"timeline":{"peak_ns":null,"time_ns":[1,2],"rss":[3,4]}}],
"events":[{"name":"e","count":3,"stacks":[[1,"x",3,0]]}],"nodes":[-1,0,0,1],
"frames":[[0,-1,0,-1,0,0,-1],[1,-1,0,-1,0,0,-1]],"strings":["main","f"],
"syscalls":[{"stack_id":1}],
"tables":{"functions":[{}],"frames":[{"function":0}],"stacks":[[0,null],[0,0]]}}</script>
<script>draw()</script></body></html>
""".replace("POLICY", POLICY)

TRAPS = [
    ('{"processes"', '"processes"', "no page"),
    ("default-src 'none'", "default-src *", "no policy"),
    ("a{}", "a{b:url(x)}", "the style refers"),
    ("draw()", "fetch(1)", "a script loads"),
    ("draw()", "x.innerHTML=1", "makes markup"),
    ("<body>", '<body onload="1">', "has onload"),
    ("<body>", '<img src="x">', "has src"),
    ("<body>", '<p title="http://x">', "refers to"),
    ("<body>", "<style></style>", "not one style"),
    ('"main"', '"<b>"', "has a '<'"),
    ("[-1,0,0,1]", "[1,0,-1,1]", "before its caller"),
    ("[-1,0,0,1]", "[-1,0,0,2]", "has no frame"),
    ("[-1,0,0,1]", "[-1,0,0,1,0,1]", "node is there twice"),
    ("[[0,-1,", "[[2,-1,", "string that is not there"),
    ('["main","f"]', '["f","f"]', "string is there twice"),
    ("[0,0]]", "[0,1]]", "stack 1 stands before its caller"),
    ("[0,0]]", "[1,0]]", "stack 1 has no frame"),
    ('"function":0', '"function":1', "of no function"),
    ('"stack_id":1', '"stack_id":2', "of no stack"),
    ("[1,5],1,1]", "[1,5],1,2]", "has no stack"),
    ("[1,5],1,1]", "[1,5],2,1]", "named by a frame"),
    ("[1,5],1,1]", "[0,5],1,1]", "series"),
    ("[1,5],1,1]", "1]", "columns"),
    ("[3,4]", "[3]", "differ in length"),
    ('"time_ns":[1,2]', '"time_ns":[2,1]', "goes back"),
    ('"x",3,0', '"x",2,0', "are not all"),
    ('"x",3,0', '"x",3,7', "stack that is not there"),
]


def self_test():
    return check(GOOD.encode()) + checker.try_traps(GOOD, TRAPS, check)


if __name__ == "__main__":
    checker.main(__doc__, check, self_test, print_text)
