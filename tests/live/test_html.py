# SPDX-License-Identifier: GPL-2.0-or-later
"""HTML reports: what a browser shows of them are the numbers that we report."""

import os
import shutil
import subprocess
import sys

import browser
import clients
import lib
from lib import (attached, exact, heap_sites, load_report, mapped_sites, need_long, need_program,
                 need_root, need_sampling, run_memtraced, scratch, send_line, started, target, test,
                 total, with_function)

BESIDE_OTHERS = True
REPLAY = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "replay")
READY = "document.body.dataset.ready === '1'"
CARD = "document.querySelector('.card[data-key=%s]').innerText"
DETAILS = "document.getElementById('details').textContent"
COUNT = "document.getElementById('count').textContent"
CELLS = ("[...document.querySelectorAll('#sites tr.site')]"
         ".map(r => [...r.cells].map(c => c.innerText))")
PROCESSES = "[...document.querySelectorAll('.f.process')].map(f => f.node.name)"
FRAME = "[...document.querySelectorAll('.f')].find(f => f.textContent === '%s')"


def checked(path):
    """The file's data, once the checker has found nothing wrong."""
    sys.path.insert(0, REPLAY)
    import check_html  # pylint: disable=import-outside-toplevel
    with open(path, "rb") as file:
        data = file.read()
    problems = check_html.check(data)
    assert not problems, problems[:5]
    return check_html.data_of(data)


def written(folder, *command, options=()):
    """A page, and the report of the same run."""
    path, report = os.path.join(folder, "page.html"), os.path.join(folder, "json")
    done = run_memtraced(*options, "-o", f"html:{path}", "-o", f"json:{report}", "--", *command,
                         timeout=100)
    assert done.returncode == 0, done.stderr
    checked(path)
    return path, load_report(report)


def choose(page, name, value):
    """Sets an input of the page, as a user would."""
    kind = "checked" if isinstance(value, bool) else "value"
    page.value(f"""(e => {{ e.{kind} = {str(value).lower() if kind == "checked" else repr(value)};
        e.dispatchEvent(new Event('input')); e.dispatchEvent(new Event('change')); }})(
        document.getElementById('{name}'))""")


def number(text):
    """The first number of a text: "9,046 bytes in ..."."""
    return int("".join(c for c in text.split()[0] if c.isdigit()))


def root_value(page):
    """What the flame graph's root says: "all (1,234 bytes, 100.0 %)"."""
    return number(page.value(DETAILS).partition("(")[2])


def picture(page, name):
    for scheme in ("light", "dark"):
        page.call("Emulation.setEmulatedMedia",
                  features=[{"name": "prefers-color-scheme", "value": scheme}])
        page.picture(clients.picture(f"{name}-{scheme}"))


def check_totals(page, process):
    alloc = process["alloc"]
    live = page.value(CARD % "live_bytes").split("\n")[2]
    assert live == f"{alloc['live_bytes']:,} bytes in {alloc['live_blocks']:,} blocks", live
    assert f"{alloc['peak_bytes']:,} bytes" in page.value(CARD % "peak_bytes")
    assert f"{alloc['bytes']:,} bytes" in page.value(CARD % "bytes")
    for key in ("allocs", "frees"):
        assert page.value(CARD % key).startswith(f"{alloc[key]:,}\n"), key
    assert f"{alloc['temporary']:,} freed" in page.value(CARD % "temporary")


QUANTITIES = {"0": "live_bytes", "1": "live_blocks", "2": "peak_bytes", "3": "bytes", "4": "allocs",
              "5": "temporary"}
MAPPED = {"7": "live_bytes", "8": "live_blocks", "9": "peak_bytes", "10": "bytes", "11": "allocs"}


def check_flame(page, process):
    for choice, key in (QUANTITIES | MAPPED).items():
        sites = heap_sites(process) if choice in QUANTITIES else mapped_sites(process)
        own = total(with_function(sites, "leak_one"), key)
        choose(page, "quantity", choice)
        assert root_value(page) == total(sites, key), (key, page.value(DETAILS))
        choose(page, "flame-search", "^leak_one$")
        found = page.value("document.getElementById('found').textContent")
        assert number(found.partition(": ")[2]) == own, (key, found, own)
    choose(page, "flame-search", "")
    choose(page, "quantity", "0")


def check_table(page, process):
    """Each site is a row with its numbers, the largest first."""
    rows = page.value(CELLS)
    shown = [tuple(number(cell) for cell in row[:5]) for row in rows]
    keys = ("live_bytes", "live_blocks", "peak_bytes", "bytes", "allocs")
    ours = [tuple(site[key] for key in keys) for site in process["sites"]]
    assert sorted(shown) == sorted(ours), (shown, ours)
    assert [row[0] for row in shown] == sorted((row[0] for row in shown), reverse=True)
    count = page.value(COUNT)
    live, mapped = (total(of(process), "live_bytes") for of in (heap_sites, mapped_sites))
    assert count.startswith(f"{len(ours)} sites: {live:,} bytes"), count
    assert f"; mappings: {mapped:,} bytes live, " in count, count


@test(need_root, need_program("chromium"))
def a_browser_shows_the_numbers_that_we_report():
    with scratch() as folder:
        path, report = written(folder, target("leak"), "100", "0")
        process, = report["processes"]
        exact(report)
        with browser.page(f"file://{path}", folder) as page:
            page.until(READY)
            assert "none lost: totals are exact" in page.value(
                "document.getElementById('coverage').textContent")
            check_totals(page, process)
            check_flame(page, process)
            check_table(page, process)
            clients.same("chromium", "html", "live bytes", root_value(page),
                         total(heap_sites(process), "live_bytes"))
            assert page.value("performance.getEntriesByType('resource').length") == 0
            picture(page, "html-leak")


TICKS = "[...document.querySelectorAll('#timeline .tick')].map(text => text.textContent)"


@test(need_root, need_program("chromium"))
def a_process_that_no_sample_saw_is_in_the_timeline_with_its_peak():
    script = "true; /usr/bin/python3 -Ic 'b = bytearray(12 << 20); del b'; true"
    with scratch() as folder:
        path, report = written(folder, "sh", "-c", script, options=["--sample-interval=100"])
        python, = [p for p in report["processes"] if p["comm"].startswith("python3")]
        assert python["alloc"]["peak_bytes"] > 12 << 20 > 2 * python["alloc"]["live_bytes"], python
        assert python["timeline"]["peak_ns"] is not None, python["timeline"]
        point = python["timeline"]["points"][-1]
        assert point["live_bytes"] == python["alloc"]["live_bytes"], point
        with browser.page(f"file://{path}", folder) as page:
            page.until(READY)
            ticks = page.value(TICKS)
            picture(page, "html-peaks")
    assert any(tick.startswith("8") and tick.endswith("MiB") for tick in ticks), ticks


@test(need_root, need_program("chromium"))
def the_most_that_was_resident_stands_in_the_legend():
    program = "b = b'x' * (40 << 20); del b; import time; time.sleep(0.05)"
    with scratch() as folder:
        path, report = written(folder, "/usr/bin/python3", "-Ic", program,
                               options=["--sample-interval=0.02"])
        process, = report["processes"]
        assert process["timeline"]["peak_rss"] > 40 << 20, process["timeline"]
        with browser.page(f"file://{path}", folder) as page:
            page.until(READY)
            shown = page.value("document.getElementById('peak-rss').textContent")
            picture(page, "html-peak-rss")
    mib = process["timeline"]["peak_rss"] / (1 << 20)
    assert shown == f", at most {mib:.1f}\u00a0MiB", (shown, mib)


@test(need_root, need_program("chromium"))
def parts_of_resident_memory_add_up_to_it():
    with scratch() as folder:
        path = os.path.join(folder, "page.html")
        with started([target("resident")]) as process:
            process.lines.until("ready")
            send_line(process)
            size = int(process.lines.until("blocks"))
            with attached([process.pid], "-o", f"html:{path}") as session:
                rss = session.finish()["processes"][0]["rss"]
        assert rss["unknown_heap"] >= size, rss
        checked(path)
        with browser.page(f"file://{path}", folder) as page:
            page.until(READY)
            titles = page.value("[...document.querySelectorAll('.bar i')].map(i => i.title)")
            page.value("document.querySelector('.bar').scrollIntoView()")
            picture(page, "html-resident")
    parts = {name: number(size) for name, size in (title.split(": ") for title in titles)}
    assert abs(sum(parts.values()) - rss["rss"]) <= rss["moved"], (parts, rss)
    assert parts["heap, not known"] == rss["unknown_heap"], (parts, rss)


@test(need_root, need_long, need_program("chromium"))
def events_are_drawn_with_the_sums_that_we_report():
    with scratch() as folder:
        path, report = os.path.join(folder, "page.html"), os.path.join(folder, "json")
        done = run_memtraced("-e", "getrandom", "--off-cpu", "-o", f"html:{path}", "-o",
                             f"json:{report}", "--", "sh", "-c", "sleep 0.1; sleep 0.2")
        assert done.returncode == 0, done.stderr
        checked(path)
        events = load_report(report, allocations=False)["events"]
        assert len(events) == 2 and events[1]["ns"] > 200000000, events
        with browser.page(f"file://{path}", folder) as page:
            page.until(READY)
            for number_, event in enumerate(events):
                choose(page, "quantity", f"event{number_}")
                value = event["count"] if event["ns"] is None else event["ns"]
                assert page.value("document.querySelector('.f.all').node.value") == value, event
                names = page.value(PROCESSES)
                assert all(name.rpartition("-")[2].isdigit() for name in names) and names, names


def shown_live(page):
    return sum(number(row[0]) for row in page.value(CELLS))


def there(page, name):
    return page.value(f"!!({FRAME % name})")


@test(need_root, need_long, need_program("chromium"))
def filters_zoom_and_stacks_work():
    with scratch() as folder:
        path, report = written(folder, target("leak"), "100", "0")
        process, = report["processes"]
        sites, own = process["sites"], with_function(process["sites"], "leak_one")
        with browser.page(f"file://{path}", folder) as page:
            page.until(READY)
            choose(page, "filter-text", "leak_one")
            page.until(COUNT + f".startsWith('{len(own)} site')")
            assert shown_live(page) == total(own, "live_bytes")
            assert root_value(page) == total(with_function(heap_sites(process), "leak_one"),
                                             "live_bytes")
            choose(page, "filter-text", "")
            choose(page, "filter-class", "mmap")
            mapped = [site for site in sites if site["class"] == "mmap"]
            page.until(COUNT + f".startsWith('{len(mapped)} site')")
            assert shown_live(page) == total(mapped, "live_bytes") == root_value(page)
            choose(page, "filter-class", "")
            choose(page, "filter-min-live", "10K")
            big = [site for site in sites if site["live_bytes"] >= 10240]
            page.until(COUNT + f".startsWith('{len(big)} site')")
            choose(page, "filter-min-live", "10Q")
            page.until("document.getElementById('filter-min-live').className === 'wrong'")
            choose(page, "filter-min-live", "")
            page.until(COUNT + f".startsWith('{len(sites)} site')")
            choose(page, "quantity", "3")
            page.value("document.querySelector('#flame').scrollIntoView()")
            page.click(FRAME % "leak_one")
            assert page.value(DETAILS).startswith("leak_one ("), page.value(DETAILS)
            assert page.value(f"({FRAME % 'main'}).className") == "f below"
            assert not there(page, "work_one"), "others are not there"
            page.click("document.getElementById('unzoom')")
            assert there(page, "work_one")
            choose(page, "quantity", "0")
            choose(page, "reversed", True)
            assert root_value(page) == total(heap_sites(process), "live_bytes")
            assert page.value(f"({FRAME % 'malloc'}).style.top") == "19px", \
                "what allocates is on top"
            check_stack(page, own[0])


def check_stack(page, site):
    """A click on a row shows its frames with their source lines."""
    row = f"document.querySelector('#sites tr[data-site=\"{site['id']}\"]')"
    page.value(row + ".scrollIntoView()")
    page.click(row)
    shown = page.value("[...document.querySelectorAll('table.stack tr')].map("
                       "r => [r.cells[1].innerText, r.cells[2].innerText])")
    ours = [[(frame["function"] or "?") + (" inline" if frame["inline"] else ""),
             f"{frame['file']}:{frame['line']}" if frame["line"] else frame["file"] or ""]
            for frame in site["frames"]]
    assert shown == ours, (shown, ours)


def signed(value):
    return f"{'+' if value >= 0 else '−'}{abs(value):,}"


@test(need_root, need_long, need_program("chromium"), timeout=120)
def a_range_of_the_timeline_says_what_was_gained_in_it():
    with scratch() as folder:
        path, report = written(folder, target("growth"), "100", options=["--sample-interval=0.1"])
        process, = report["processes"]
        points = process["timeline"]["points"]
        first, last = len(points) // 4, len(points) // 2
        with browser.page(f"file://{path}", folder) as page:
            page.until(READY)
            assert page.value("document.querySelector('text#peak').textContent").startswith("peak ")
            choose(page, "from", str(points[first]["time_ns"] / 1e9))
            choose(page, "to", str(points[last]["time_ns"] / 1e9))
            said = page.value("document.getElementById('range').textContent")
            for key, unit in (("live_bytes", "bytes"), ("live_blocks", "blocks")):
                gained = points[last][key] - points[first][key]
                assert f"{signed(gained)} {unit}" in said, (said, gained)
            allocs = points[last]["allocs"] - points[first]["allocs"]
            assert f" {allocs:,} allocations" in said, (said, allocs)
            leak, = with_function(heap_sites(process), "leak")
            cell = f"#sites tr[data-site='{leak['id']}'] .in-range"
            assert page.value(f'document.querySelector("{cell}").innerText') == signed(
                leak["series"][last] - leak["series"][first])
            check_flame_of_range(page, process, first, last)
            picture(page, "html-growth")
            check_drag(page, points)


def check_flame_of_range(page, process, first, last):
    """The flame graph is of the range, too, until another quantity or no range is chosen."""
    gains = [site["series"][last] - site["series"][first] for site in heap_sites(process)
             if None not in (site["series"][first], site["series"][last])]
    gained, lost = (sum(gain for gain in gains if gain * sign > 0) for sign in (1, -1))
    chosen = "document.getElementById('quantity').selectedOptions[0].textContent"
    assert page.value(chosen) == "gained in the range", page.value(chosen)
    assert root_value(page) == gained > 0, (page.value(DETAILS), gained)
    said = page.value("document.getElementById('left-out').textContent")
    assert lost == 0 or f"lost {-lost:,} bytes" in said, (said, lost)
    choose(page, "quantity", "1")
    choose(page, "from", str(process["timeline"]["points"][0]["time_ns"] / 1e9))
    assert page.value(chosen) == "live blocks", "another quantity can be chosen meanwhile"
    page.click("document.getElementById('clear-range')")
    assert root_value(page) == total(heap_sites(process), "live_blocks")
    choose(page, "from", str(process["timeline"]["points"][first]["time_ns"] / 1e9))
    assert page.value(chosen) == "gained in the range", page.value(chosen)
    page.click("document.getElementById('clear-range')")
    assert page.value(chosen) == "live blocks", page.value(chosen)


GROWS = """
import time
kept = []
for _ in range(30):
    kept.append(b"x" * (2 << 20))
    time.sleep(0.1)
"""


@test(need_root, need_long, need_sampling, need_program("chromium"), timeout=120)
def without_allocations_the_timeline_is_of_what_was_resident():
    with scratch() as folder:
        path, report = os.path.join(folder, "page.html"), os.path.join(folder, "json")
        done = run_memtraced("--page-faults=10", "-o", f"html:{path}", "-o", f"json:{report}", "--",
                             sys.executable, "-c", GROWS)
        assert done.returncode == 0, done.stderr
        checked(path)
        (process,) = [one for one in load_report(report, allocations=False)["processes"]
                      if one["timeline"]]
        known = [point for point in process["timeline"]["points"] if point["rss"]]
        first, last = known[0], known[-1]
        with browser.page(f"file://{path}", folder) as page:
            page.until(READY)
            lines = "document.querySelectorAll('.plot path.%s').length"
            assert page.value(lines % "rss") == 1 and page.value(lines % "live") == 0
            choose(page, "from", str(first["time_ns"] / 1e9))
            choose(page, "to", str(last["time_ns"] / 1e9))
            said = page.value("document.getElementById('range').textContent")
            assert said.endswith(f"resident {signed(last['rss'] - first['rss'])} bytes"), said


def check_drag(page, points):
    """The mouse over all of the picture takes the range from the first point to the last."""
    page.value("document.querySelector('#timeline').scrollIntoView()")
    box = "document.querySelector('.plot svg').getBoundingClientRect()"
    x, y, width = page.value(f"(r => [r.x, r.y + 60, r.width])({box})")
    for kind, at in (("mousePressed", x + 1), ("mouseMoved", x + width / 2),
                     ("mouseMoved", x + width - 2), ("mouseReleased", x + width - 2)):
        page.call("Input.dispatchMouseEvent", type=kind, x=at, y=y, button="left", clickCount=1)
    said = page.value("document.getElementById('range').textContent")
    frees = points[-1]["frees"] - points[0]["frees"]
    assert said.endswith(f" {frees:,} frees"), (said, frees)


@test(need_root, need_long, need_program("chromium"))
def hostile_names_stay_text():
    with scratch() as folder:
        name = "</script><script>window.hit=1</script><img src=x onerror='window.hit=1'>&\"]]>"
        program = os.path.join(folder, name.replace("/", "\u2215"))
        shutil.copy(target("leak"), program)
        path, _ = written(folder, program, "10", "0")
        with browser.page(f"file://{path}", folder) as page:
            page.until(READY)
            assert page.value("document.querySelectorAll('script').length") == 2
            assert page.value("document.querySelectorAll('img').length") == 0
            assert page.value("typeof window.hit") == "undefined"
            assert "window.hit=1" in page.value("document.body.innerText")


SITES, FUNCTIONS = 50000, 2000


def large(folder):
    """A page of a run with many sites, by tests/replay/many_sites.h."""
    writer = os.path.join(lib.Place.build, "tests", "replay", "test_replay")
    if not os.path.exists(writer):
        raise lib.Skip("tests/replay/test_replay is not built")
    recording, path = os.path.join(folder, "run"), os.path.join(folder, "page.html")
    subprocess.run([writer, "--write-sites", str(SITES), recording], check=True)
    done = run_memtraced("report", recording, "-o", f"html:{path}", timeout=100)
    assert done.returncode == 0, done.stderr
    checked(path)
    return path


@test(need_root, need_long, need_program("chromium"), timeout=200)
def fifty_thousand_sites_are_as_usable_as_a_few():
    with scratch() as folder:
        path = large(folder)
        with browser.page(f"file://{path}", folder) as page:
            page.until(READY)
            everything = 16 * SITES * (SITES + 1) // 2
            assert page.value(CARD % "live_bytes").split("\n")[2].startswith(f"{everything:,} ")
            assert root_value(page) == everything
            assert page.value(COUNT).startswith(f"{SITES:,} sites: {everything:,} bytes live")
            assert len(page.value(CELLS)) == 100, "rows are made when they are asked for"
            # The number of elements does not grow with the run's.
            assert page.value("document.querySelectorAll('*').length") < 20000
            page.value("document.getElementById('more').click()")
            assert len(page.value(CELLS)) == 200
            choose(page, "reversed", True)
            assert root_value(page) == everything
            choose(page, "flame-search", "^malloc$")
            found = page.value("document.getElementById('found').textContent")
            assert found.startswith(f"1 function: {everything:,} bytes"), found
            choose(page, "reversed", False)
            check_filters(page)


def check_filters(page):
    """A filter by age and size leaves the sites that it should, in table and flame graph."""
    choose(page, "filter-older", "1m")
    old = [16 * (i + 1) for i in range(SITES) if 1 + i % 60 >= 60]
    page.until(COUNT + f".startsWith('{len(old)} sites: {sum(old):,} bytes live')")
    assert root_value(page) == sum(old)
    choose(page, "filter-min-live", "700000")
    large_ones = [size for size in old if size >= 700000]
    page.until(COUNT + f".startsWith('{len(large_ones)} sites: {sum(large_ones):,} bytes live')")
    assert root_value(page) == sum(large_ones)
    picture(page, "html-large")


@test(need_root, need_program("chromium"), timeout=100)
def waits_are_as_wide_as_they_took():
    with scratch() as folder:
        path, report = os.path.join(folder, "page.html"), os.path.join(folder, "json")
        done = run_memtraced("--off-cpu", "-o", f"html:{path}", "-o", f"json:{report}", "--",
                             target("waits"), "20", input="")
        assert done.returncode == 0, done.stderr
        checked(path)
        event, = load_report(report, allocations=False)["events"]
        with browser.page(f"file://{path}", folder) as page:
            page.until(READY)
            shown = page.value(DETAILS)
    assert shown.startswith("all (") and "100.0" in shown, shown
    value, unit = shown.partition("(")[2].replace("\u00a0", " ").split(",")[0].split()
    took = float(value) * {"us": 1e3, "\u00b5s": 1e3, "ms": 1e6, "s": 1e9}[unit]
    assert abs(took - event["ns"]) <= 0.01 * event["ns"], (shown, event["ns"])
