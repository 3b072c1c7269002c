# SPDX-License-Identifier: GPL-2.0-or-later
"""The service's page of the host: processes and their growth, a trace at a click, kept reports."""

import contextlib
import json
import os
import re
import shutil
import subprocess

import browser
from lib import (eventually, need_long, need_program, need_root, resident, scratch, started, target,
                 test)
from test_ctl import ctl, nobodys_targets
from test_service import NOBODY, ask_as, service

BESIDE_OTHERS = "services"
WATCH = "[watch]\ninterval = 1s"


def data_of(served):
    return json.loads(served.text("/host"))


@contextlib.contextmanager
def host_page(served, folder):
    with browser.page(served.url("/"), folder) as page:
        page.until("document.body && document.body.dataset.ready === '1'")
        yield page


def text_of(page, selector):
    return page.value(f"document.querySelector({json.dumps(selector)}).innerText")


def choose(page, pid):
    row = f"document.querySelector('tr[data-pid=\"{pid}\"]')"
    page.until(f"{row} !== null")
    page.value(f"{row}.click()")


@test(need_root, need_long, need_program("chromium"), timeout=180)
def a_click_traces_a_process_and_shows_its_heap_while_it_runs():
    with scratch() as folder, service(folder, trace=WATCH) as served, \
            started([target("leak"), "0", "60000"]) as process, \
            host_page(served, folder) as page:
        pid = int(process.lines.until("ready"))
        choose(page, pid)
        assert text_of(page, "#process h2") == f"leak ({pid})"
        held = resident(pid) / 1024
        shown = re.match(r"([\d.]+) ([KM])iB resident", text_of(page, "#process p"))
        in_kib = float(shown.group(1)) * (1 if shown.group(2) == "K" else 1024)
        assert abs(in_kib - held) < 0.05 * held + 1024, (shown.group(0), held)

        page.value("document.querySelector('#process input[type=number]').value = 20")
        page.click("document.getElementById('trace')")
        page.until("document.querySelector('iframe:not(.coming)') !== null", timeout=60)
        names = "[...document.querySelectorAll('.f')].map(f => f.textContent)"
        total = "[...document.querySelectorAll('.card b')].slice(0, 1).map(b => b.textContent)"

        def in_frames(texts):
            return {text for found in page.in_frames(texts) for text in found}

        eventually(lambda: any("leak_one" in name for name in in_frames(names)),
                   "its flame graph", 60)
        first = eventually(lambda: in_frames(total), "its total")
        eventually(lambda: in_frames(total) - first, "it is made anew", 60)

        # It ends by itself, and its report is there to be looked at and saved.
        link = "document.querySelector('a[href^=\"/report?name=\"]')"
        page.until(f"{link} !== null", timeout=90)
        name = page.value(f"{link}.textContent")
        assert name.endswith(f"-{pid}-leak.html") and name in ctl(served, "reports"), name
        eventually(lambda: data_of(served)["traces"] == [], "the trace is over")
        page.open(f"http://localhost:{served.port}" + page.value(f"{link}.getAttribute('href')"))
        page.until("document.body && document.body.dataset.ready === '1'", timeout=60)
        assert any("leak_one" in found for found in page.value(names))


@test(need_root, need_long, need_program("chromium"), timeout=120)
def processes_are_sorted_found_and_their_growth_is_shown():
    with scratch() as folder, service(folder, trace=WATCH) as served, \
            started([target("leak"), "0", "60000"]) as process, \
            host_page(served, folder) as page:
        pid = int(process.lines.until("ready"))
        rows = "[...document.querySelectorAll('tr[data-pid]')].map(r => +r.dataset.pid)"
        page.until(f"{rows}.includes({pid})")
        own = {p["pid"]: p["rss"] for p in data_of(served)["processes"]}
        shown = [row for row in page.value(rows) if row in own]
        # In the middle sizes may have moved meanwhile.
        assert own[shown[0]] >= own[shown[-1]], (shown, own)
        page.value("document.querySelector('thead button').click()")
        assert page.value(rows) == sorted(page.value(rows))
        page.value("(i => { i.value = 'LEAK'; i.dispatchEvent(new Event('input')); })"
                   "(document.querySelector('input[type=search]'))")
        assert pid in page.value(rows)
        assert {row[1] for row in page.value(
            "[...document.querySelectorAll('tr[data-pid]')].map(r => "
            "[...r.children].map(c => c.textContent))")} == {"leak"}
        points = eventually(lambda: [p for p in data_of(served)["processes"]
                                     if p["pid"] == pid][0]["series"], "it is watched")
        assert len(points) % 2 == 0 and points[1] > 0, points


def owner_of(pid):
    """None: it has ended meanwhile."""
    try:
        return os.stat(f"/proc/{pid}").st_uid
    except FileNotFoundError:
        return None


@test(need_root, each=["unix", "tcp"], in_turn=1)
def others_than_root_see_what_is_theirs(where):
    with scratch() as folder, service(folder, trace=WATCH) as served, \
            nobodys_targets(1) as (own,), started([target("leak"), "0", "60000"]) as process:
        roots = int(process.lines.until("ready"))
        ctl(served, "trace", str(roots), "--for=1s")
        served.said.until(f"memtraced: process {roots} (leak): report")
        status, _, body = ask_as(served, where, "/host")[0].partition(" ")
        theirs, all_, pid = json.loads(body), data_of(served), int(own)
        assert status == "200"
        seen = {p["pid"] for p in theirs["processes"]}
        assert pid in seen and roots not in seen, theirs["processes"]
        # Other tests may have some of nobody's, too.
        assert {owner for owner in map(owner_of, seen) if owner is not None} == {NOBODY}, seen
        assert theirs["cgroups"] == theirs["reports"] == theirs["traces"] == [], theirs
        assert (theirs["rules"], theirs["budget"]) == ([], None), theirs
        assert {pid, roots} <= {p["pid"] for p in all_["processes"]}
        name = all_["reports"][0]["name"]
        assert f"-{roots}-leak.html" in name
        answer, = ask_as(served, where, f"/report?name={name}")
        assert answer.startswith("404 "), answer


EVIL = """<!DOCTYPE html><body><script>
fetch("/host").then(() => { document.title = "read"; }, () => { document.title = "refused"; });
</script></body>"""


@test(need_root, need_program("chromium"), timeout=120)
def what_a_file_says_has_no_rights_of_ours():
    """A report whose file was changed cannot ask the service for anything."""
    with scratch() as folder, service(folder) as served, \
            started([target("leak"), "0", "60000"]) as process:
        pid = int(process.lines.until("ready"))
        name = ctl(served, "trace", str(pid), "--for=1s").split()[-1]
        served.said.until(f"memtraced: process {pid} (leak): report")
        with open(os.path.join(folder, "state", name), "w", encoding="ascii") as file:
            file.write(EVIL)
        with browser.page(served.url(f"/report?name={name}"), folder) as page:
            assert page.until("document.title") == "refused"
            assert page.value("origin") == "null"
        assert served.ask("/report")[0] == 400
        assert served.ask("/report?name=nothing.html")[0] == 404


@test(need_root, need_long, need_program("chromium"), timeout=120)
def names_are_text_in_the_page():
    name = "<img src=x>\u202e'"
    with scratch() as folder:
        script = os.path.join(folder, name)
        os.symlink("/bin/sleep", script)
        with started([script, "60"]) as process, service(folder) as served, \
                host_page(served, folder) as page:
            choose(page, process.pid)
            assert text_of(page, "#process h2") == f"<img src=x>\\u{{202e}}' ({process.pid})"
            assert page.value("document.querySelectorAll('img').length") == 0


LEAK = f"held-{os.getpid()}"  # no other test has it
RULE = f"[rule held]\nwhen = rss > 64KiB\ncomm = {LEAK}\ntrace = 30s\ncooldown = 1h"
IDLE_RULE = "[rule idle]\nwhen = rss > 1TiB for 10m"


@test(need_root, need_program("chromium"), timeout=120)
def rules_and_the_budget_are_shown_with_what_was_not_seen():
    """A rule has a program traced that allocates as fast as it can, which the budget ends."""
    lines = "\n".join(("max_overhead = 0.5%", WATCH, RULE, IDLE_RULE))
    with scratch() as folder, service(folder, trace=lines) as served, \
            started([shutil.copy(target("leak"), os.path.join(folder, LEAK)), "0", "0"],
                    stdout=subprocess.DEVNULL) as process, \
            host_page(served, folder) as page:
        pid = process.pid
        served.said.until(f"memtraced: process {pid} ({LEAK}): tracing ends early, budget of its "
                          "traces exhausted", timeout=60)
        eventually(lambda: data_of(served)["budget"]["stopped"] == 1, "it is counted")
        page.until("document.querySelector('#budget .bad:not([hidden])') !== null")
        costs = text_of(page, "#budget p")
        assert re.fullmatch(r"Probes take \d+\.\d\d % of the host's CPUs \(estimated: \d+ ns a "
                            r"call of an allocator\), at most 0\.50 %\. For that "
                            r"1 traces ended early, \d+ were refused\.", costs), costs
        unseen = text_of(page, "#budget .bad:not([hidden])")
        assert f"process {pid} for " in unseen or "NOT TRACED" in unseen, unseen
        held = text_of(page, "tr[data-rule=held]").split("\t")
        assert held[1] == "rss > 64KiB" and held[2].startswith("of 1, for "), held
        assert held[3].split(",")[0] == "1" and f"{LEAK} ({pid}), " in held[5], held
        idle = text_of(page, "tr[data-rule=idle]").split("\t")
        assert idle[1:] == ["rss > 1TiB for 10m", "of none", "0", "0", "\u2014"], idle
        rules = {rule["name"]: rule for rule in data_of(served)["rules"]}
        assert rules["held"]["last"]["pid"] == pid and rules["idle"]["last"] is None, rules


@test(need_root)
def who_is_no_browser_is_sent_to_the_list():
    with scratch() as folder, service(folder) as served:
        status, headers, _ = served.ask("/")
        assert (status, headers["Location"]) == (302, "/debug/pprof/")
        status, headers, body = served.ask("/", Accept="text/html")
        assert status == 200 and b"<script>" in body
        assert "connect-src 'self'" in headers["Content-Security-Policy"]
        assert headers["X-Frame-Options"] == "DENY"
        status, headers, _ = served.ask("/host", Sec_Fetch_Site="cross-site")
        assert status == 403
