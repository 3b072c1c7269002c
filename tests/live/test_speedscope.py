# SPDX-License-Identifier: GPL-2.0-or-later
"""Files for speedscope: their sums are ours, and speedscope in a browser shows them."""

import base64
import json
import os
import subprocess
import sys

import browser
import clients
import lib
from lib import (heap_sites, load_report, mapped_sites, need_long, need_program, need_root,
                 run_memtraced, scratch, target, test, total, with_function)

BESIDE_OTHERS = True
HERE = os.path.dirname(os.path.abspath(__file__))
SCRIPTS = os.path.join(HERE, "..", "..", "scripts")
KEYS = {"Live bytes": "live_bytes", "Live blocks": "live_blocks",
        "Bytes at the heap's peak": "peak_bytes", "Allocated bytes": "bytes",
        "Allocations": "allocs", "Temporary allocations": "temporary"}
MAPPED = {"Mapped bytes": "live_bytes", "Mapped regions": "live_blocks",
          "Bytes at the mappings' peak": "peak_bytes", "Bytes of all mappings": "bytes",
          "Mappings made": "allocs"}


def written(folder, *options):
    """The file, what is in it, and the report of the same run."""
    path, report = os.path.join(folder, "scope.json"), os.path.join(folder, "json")
    done = run_memtraced(*options, "-o", f"speedscope:{path}", "-o", f"json:{report}", "--",
                         target("leak"), "100", "0")
    assert done.returncode == 0, done.stderr
    sys.path.insert(0, os.path.join(HERE, "..", "replay"))
    import check_speedscope  # pylint: disable=import-outside-toplevel
    with open(path, "rb") as file:
        data = file.read()
    problems = check_speedscope.check(data)
    assert not problems, problems[:5]
    return path, json.loads(data), load_report(report)["processes"][0]


def sum_of(scope, profile, function):
    frames = scope["shared"]["frames"]
    return sum(weight for sample, weight in zip(profile["samples"], profile["weights"])
               if any(frames[frame]["name"] == function for frame in sample))


@test(need_root)
def each_profile_has_the_sums_that_we_report():
    with scratch() as folder:
        _, scope, process = written(folder, "--sort=count")
    for profile in scope["profiles"]:
        name = profile["name"]
        sites = heap_sites(process) if name in KEYS else mapped_sites(process)
        key = KEYS[name] if name in KEYS else MAPPED[name]
        own = with_function(sites, "leak_one")
        assert profile["endValue"] == total(sites, key), (name, profile["endValue"])
        assert sum_of(scope, profile, "leak_one") == total(own, key), name
        if name in MAPPED:
            assert profile["endValue"] == process["mmap"][key] > 0, name
    assert scope["profiles"][scope["activeProfileIndex"]]["name"] == "Live blocks"
    assert len(scope["profiles"]) == len(KEYS) + len(MAPPED)


def need_speedscope():
    if not os.path.isfile(viewer()):
        raise lib.Skip("speedscope is not there (scripts/deps-viewers)")


def viewer():
    where = subprocess.run([os.path.join(SCRIPTS, "deps-viewers"), "--where"], check=True,
                           stdout=subprocess.PIPE, text=True).stdout.strip()
    return os.path.join(where, "node_modules/speedscope/dist/release/index.html")


def as_shown(size):
    """Bytes as speedscope writes them."""
    for unit in ("B", "KB", "MB", "GB"):
        if size < 1024:
            return f"{size} B" if unit == "B" else f"{size:.2f} {unit}"
        size /= 1024
    raise AssertionError(size)


TAB = "[...document.querySelectorAll('div')].filter(d => d.textContent == '🥪Sandwich').pop()"
ROW = """[...document.querySelectorAll('tr')].map(r => [...r.cells].map(c => c.textContent))
    .filter(c => c.length == 3 && c[2] == '%s')[0]"""


@test(need_root, need_long, need_program("chromium"), need_speedscope)
def speedscope_shows_the_totals_that_we_report():
    with scratch() as folder:
        path, _, process = written(folder)
        with open(path, "rb") as file:
            text = base64.b64encode(file.read()).decode()
        script = os.path.join(folder, "data.js")
        with open(script, "w", encoding="ascii") as file:
            file.write(f'speedscope.loadFileFromBase64("scope.speedscope.json", "{text}")')
        with browser.page(f"file://{viewer()}#localProfilePath={script}", folder) as page:
            page.until(TAB)
            page.click(TAB)
            leak_one = page.until(ROW % "leak_one")
            everything = page.until(ROW % f"leak-{process['pid']}")
            page.picture(clients.picture("speedscope"))
    own = total(with_function(process["sites"], "leak_one"), "live_bytes")
    assert leak_one[0].startswith(as_shown(own) + " ("), (leak_one, own)
    clients.same("speedscope", "speedscope", "live bytes", everything[0],
                 as_shown(total(heap_sites(process), "live_bytes")) + " (100%)")
