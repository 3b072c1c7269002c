# SPDX-License-Identifier: GPL-2.0-or-later
"""Flame graphs: what they draw is what we report, and their script works in a browser."""

import os
import sys

import browser
import clients
from lib import (heap_sites, load_report, need_long, need_program, need_root, run_memtraced,
                 scratch, target, test, total, with_function)

BESIDE_OTHERS = True
REPLAY = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "replay")
LEAKED = sum(64 + i % 64 for i in range(100))

# What the script says of a frame, by its name.
FRAME = """(name => { const g = [...document.querySelectorAll("#frames > g")].find(
    g => g.firstChild.textContent.startsWith(name + " ("));
    const away = g.classList.contains("away"), rect = g.querySelector("rect");
    return { away, x: +rect.getAttribute("x"), width: +rect.getAttribute("width"),
             y: +rect.getAttribute("y"), found: g.classList.contains("found"),
             below: g.classList.contains("below"), value: +g.dataset.v }; })"""
RECT = """[...document.querySelectorAll("#frames > g")].find(
    g => g.firstChild.textContent.startsWith("%s (")).querySelector("rect")"""


def frames_of(path):
    """The frames, once the checker has found nothing wrong."""
    sys.path.insert(0, REPLAY)
    import check_flamegraph  # pylint: disable=import-outside-toplevel
    with open(path, "rb") as file:
        data = file.read()
    problems = check_flamegraph.check(data)
    assert not problems, problems[:5]
    return check_flamegraph.frames_of(data)


def drawn(folder, *options):
    """A graph of a program with leaks, and the report of the same run."""
    path, report = os.path.join(folder, "flame.svg"), os.path.join(folder, "json")
    done = run_memtraced(*options, "-o", f"flamegraph:{path}", "-o", f"json:{report}", "--",
                         target("leak"), "100", "0")
    assert done.returncode == 0, done.stderr
    return path, load_report(report)["processes"][0]


@test(need_root)
def frames_are_as_wide_as_what_we_report():
    for sort, key in (("bytes", "live_bytes"), ("peak", "peak_bytes"),
                      ("temporary", "temporary")):
        with scratch() as folder:
            path, process = drawn(folder, f"--sort={sort}")
            frames = frames_of(path)
            sites = heap_sites(process)
            root, = [frame for frame in frames if frame.depth == 0]
            assert root.value == total(sites, key), (sort, root.value)
            leak_one = sum(f.value for f in frames if f.name == "leak_one")
            assert leak_one == total(with_function(sites, "leak_one"), key), (sort, leak_one)


def share(page):
    """(count, sum) as the search says it."""
    words = page.value("document.getElementById('found').textContent").split()
    return int(words[0]), int(words[2].replace(",", ""))


@test(need_root, need_long, need_program("chromium"))
def a_click_zooms_and_a_search_counts():
    with scratch() as folder:
        path, process = drawn(folder, "--sort=peak")
        own = total(with_function(heap_sites(process), "leak_one"), "peak_bytes")
        everything = total(heap_sites(process), "peak_bytes")
        with browser.page(f"file://{path}", folder) as page:
            page.until("document.documentElement.classList.contains('live')")
            before = page.value(FRAME + "('leak_one')")
            assert before["value"] == own and before["width"] < 1179, before
            assert page.value(FRAME + "('work_one')")["away"] is False
            page.click(RECT % "leak_one")
            zoomed = page.value(FRAME + "('leak_one')")
            assert zoomed["x"] == 10 and zoomed["width"] > 1179, zoomed
            assert page.value(FRAME + "('main')")["below"], "what is below it is faded"
            assert page.value(FRAME + "('work_one')")["away"], "others are not there"
            assert page.value("document.getElementById('details').textContent"
                              ).startswith("leak_one ("), "the mouse is on it"
            page.click("document.getElementById('reset')")
            assert page.value(FRAME + "('leak_one')") == before
            page.click("document.getElementById('turn')")
            assert page.value(FRAME + "('all')")["y"] == 74, "the root is on top"
            page.key("/", 191)
            page.type("^leak_")
            assert share(page) == (1, own), share(page)
            assert page.value(FRAME + "('leak_one')")["found"]
            assert not page.value(FRAME + "('main')")["found"]
            # Frames within others that match do not count twice.
            page.type("|^all$")
            count, sum_ = share(page)
            assert sum_ == everything and count == 2, (count, sum_)
            page.type("(")
            assert page.value("document.getElementById('search').className") == "wrong"
            page.key("Escape", 27)
            assert page.value("document.getElementById('found').textContent") == ""
            assert page.value("document.querySelectorAll('.found').length") == 0
            clients.same("chromium", "flamegraph", "live bytes",
                         page.value(FRAME + "('all')")["value"], everything)
            page.click(RECT % "main")
            page.picture(clients.picture("flamegraph"))


@test(need_root, need_long, need_program("chromium"))
def hostile_names_stay_text():
    with scratch() as folder:
        name = "<script>&\"]]>x"
        program = os.path.join(folder, name)
        os.symlink(target("leak"), program)
        path = os.path.join(folder, "flame.svg")
        done = run_memtraced("-o", f"flamegraph:{path}", "--", program, "10", "0")
        assert done.returncode == 0, done.stderr
        frames_of(path)
        with browser.page(f"file://{path}", folder) as page:
            page.until("document.documentElement.classList.contains('live')")
            assert page.value("document.querySelectorAll('script').length") == 1
            assert "<script>&\"]]>x" in page.value("document.getElementById('title').textContent")
