# SPDX-License-Identifier: GPL-2.0-or-later
"""Growth depth with mappings: what is mapped by processes that nobody has traced, by stack, as the
target counts it itself; and what bounds it."""

import contextlib
import os
import re
import signal
import time

import browser
from cgroups import memory_cgroup, move
import schema
from lib import (eventually, line_of, need_program, need_root, need_sampling, note, run, scaled,
                 scratch, send_line, started, target, test)
from test_ctl import as_nobody, ctl
from test_host_storm import FLAT
from test_memory import own_bytes
from test_metrics import need_parser, samples, value
from test_post_mortem import post_mortems
from test_pprof import GO, shown
from test_service import service
from test_service_growth import death_of, once_others_leave_room, summary

BESIDE_OTHERS = "services"
PAGE = 4096
MIB = 1 << 20
EACH = "enabled = yes\nmappings = yes\nperiod = 10"
DENSE = f"{EACH}\n[post_mortem]\nformat = json"
ALL = "[metrics]\nprocesses = 100000"
# of one process (daemon/growth/host_growth.c)
MOST_REGIONS = 16384
MOST_STACKS = 4096


@contextlib.contextmanager
def mapper():
    with started([target("mapper")]) as process:
        process.lines.until("ready")
        yield process


def told(process, line, timeout=60):
    """What it holds after it has done that: in all, by mmap, by brk."""
    send_line(process, line)
    return [int(word) for word in process.lines.until("held", timeout).split()]


def report_of(served, pid, what="mappings"):
    report = schema.loads(served.text(f"/debug/pprof/{what}?pid={pid}&format=json"))
    (one,) = report["processes"]
    assert one["pid"] == pid, (pid, one["pid"])
    return report, one


def held_by(one):
    """Bytes and regions of all of its sites."""
    return (sum(site["live_bytes"] for site in one["sites"]),
            sum(site["live_blocks"] for site in one["sites"]))


def known(served, process):
    """Stacks are cut until the service has read the process's files. What it holds by then."""
    def is_known():
        told(process, "churn 1 8")
        _, one = report_of(served, process.pid)
        return any({"churns", "_start"} <= {frame["function"] for frame in site["frames"]}
                   for site in one["sites"])
    told(process, "map 1 64")  # so much at once makes it known
    eventually(is_known, "its stacks are cut")
    return held_by(report_of(served, process.pid)[1])


def live_under(one, *functions):
    """Bytes and regions of the sites that have such a frame."""
    sites = [site for site in one["sites"]
             if any(frame["function"] in functions for frame in site["frames"])]
    assert all(site["class"] == "mmap" for site in sites), sites[:1]
    return (sum(site["live_bytes"] for site in sites), sum(site["live_blocks"] for site in sites))


def rewrite(served, folder, old, new):
    config = os.path.join(folder, "memtraced.conf")
    with open(config, encoding="ascii") as file:
        text = file.read()
    assert old in text, text
    with open(config, "w", encoding="ascii") as file:
        file.write(text.replace(old, new))
    served.process.send_signal(signal.SIGHUP)


@test(need_root, need_sampling, timeout=120, every_kernel=True)
def what_a_process_has_mapped_is_what_it_counts_itself():
    with scratch() as folder, service(folder, growth=EACH, trace=ALL) as served, \
            mapper() as process:
        before, _ = known(served, process)
        # What made it known may have had its whole stack already.
        early = live_under(report_of(served, process.pid)[1], "keeps")
        told(process, "map 30 16")
        told(process, "churn 500 32")
        told(process, "unmap 10")
        _, mapped, grown = told(process, "brk 300")
        mapped -= 64 * PAGE
        report, one = report_of(served, process.pid)
        assert report["events"] == [], "page faults are growth's"
        assert mapped == 20 * 16 * PAGE
        assert held_by(one)[0] == before + mapped + grown, (held_by(one), before)
        assert live_under(one, "keeps") == (early[0] + mapped, early[1] + 20), one["sites"]
        (of_obey,) = [site for site in one["sites"] if site["live_blocks"] >= 20]
        assert ["mmap", "keeps", "obey", "main"] == [
            frame["function"] for frame in of_obey["frames"]][:4], of_obey["frames"]
        assert live_under(one, "grows")[0] == grown == 300 * PAGE, one["sites"]
        assert live_under(one, "churns")[0] == 0, one["sites"]
        churned = [site["allocs"] for site in one["sites"]
                   if any(frame["function"] == "churns" for frame in site["frames"])]
        assert sum(churned) > 500, churned
        total, _ = held_by(one)
        assert served.metric("memtraced_process_mapped_bytes", pid=process.pid,
                             comm="mapper") == total
        assert served.metric("memtraced_growth_mappings") == 1
        assert served.metric("memtraced_growth_regions") >= 21
        assert served.metric("memtraced_growth_regions_left_out") == 0
        assert "; mappings are traced: " in ctl(served, "status")
        # unmapped to the last
        told(process, "unmap 21")
        _, one = report_of(served, process.pid)
        assert held_by(one)[0] == before - 64 * PAGE + grown, one["sites"]


@test(need_root, need_sampling, timeout=120)
def mappings_and_page_faults_are_profiles_of_their_own():
    with scratch() as folder, service(folder, growth=EACH) as served, mapper() as process:
        known(served, process)
        told(process, "fill 4 2560")
        path = f"/debug/pprof/mappings?pid={process.pid}"
        faults, one = report_of(served, process.pid, "growth")
        assert [event["name"] for event in faults["events"]] == ["page-faults"], faults["events"]
        assert one["sites"] == [], "mappings are no growth"
        words = served.text(f"{path}&debug=1")
        assert re.search(r"^  mmap: 4\d\.\d MiB live in \d+ regions, .* that it was looked at",
                         words.replace("\n        ", " "), re.M), words[:500]
        assert "keeps  mapper.c:" in words and "page-faults" not in words, words[:500]
        status, headers, body = served.ask(path, Accept="text/html")
        assert (status, headers["Content-Type"]) == (200, "image/svg+xml"), (status, headers)
        assert b"<svg" in body[:500] and b"keeps" in body, body[:500]
        _, _, growth = served.ask(path.replace("mappings", "growth"), Accept="text/html")
        assert b"mmap" not in growth.split(b"keeps")[0][-200:], "regions in the graph of faults"
        everybody = schema.loads(served.text("/debug/pprof/mappings?format=json"))
        assert process.pid in [each["pid"] for each in everybody["processes"] if each["sites"]]
        # who has ended holds nothing
        process.kill()
        process.wait()
        eventually(lambda: process.pid not in [
            each["pid"] for each in
            schema.loads(served.text("/debug/pprof/mappings?format=json"))["processes"]
            if each["sites"]], "what has ended still holds something")
        assert "/debug/pprof/mappings?pid=" in served.ask("/debug/pprof/", Accept="text/html")[
            2].decode()
        assert "mappings" in served.text("/debug/pprof/")
        assert "'seconds' does not apply" in served.text(f"{path}&seconds=3", status=400)
        said = run([*as_nobody(served)[:4], "curl", "-s", "--unix-socket", served.path,
                    "http://localhost/debug/pprof/mappings"]).stdout
        assert "only root may see" in said, said[:300]


@test(need_root, need_sampling, need_parser, timeout=90)
def metrics_of_it_are_well_formed():
    with scratch() as folder, service(folder, growth=EACH, trace=ALL) as served, \
            mapper() as process:
        _, mapped, _ = told(process, "fill 1 2560")
        path = os.path.join(folder, "metrics")

        def has_it():
            text = served.text("/metrics")
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            return f'mapped_bytes{{pid="{process.pid}"' in text
        # It is of the last second.
        eventually(has_it, "what it has mapped")
        found = samples(path)
        assert value(found, "memtraced_process_mapped_bytes", pid=str(process.pid)) >= mapped
        # an executable and its libraries map some, too
        assert value(found, "memtraced_process_mapped_bytes", pid=str(process.pid)) < mapped + MIB
        assert value(found, "memtraced_growth_mappings") == 1


@test(need_root, need_sampling, need_program("go"), timeout=120)
def pprof_shows_what_is_mapped():
    with scratch() as folder, service(folder, growth=EACH) as served, mapper() as process:
        known(served, process)
        _, mapped, _ = told(process, "map 5 640")
        told(process, "churn 7 640")
        path = os.path.join(folder, "mapped.pb.gz")
        with open(path, "wb") as file:
            file.write(served.ask(f"/debug/pprof/mappings?pid={process.pid}")[2])
        _, in_use = shown(GO, path, "mapped_space")
        _, in_all = shown(GO, path, "mmap_space")
    # with what it had mapped, and unmapped, until it was known
    assert 5 * 640 * PAGE <= in_use["keeps"] <= mapped, in_use
    assert in_all["churns"] >= 7 * 640 * PAGE, in_all
    assert in_use.get("churns", 0) == 0, in_use


@test(need_root, need_sampling, timeout=120)
def it_is_switched_on_and_off_while_the_service_runs():
    """What was mapped before is not known, and reports say since when they know."""
    off = EACH.replace("mappings = yes", "mappings = no")
    with scratch() as folder, service(folder, growth=off) as served, mapper() as process:
        unseen, _, _ = told(process, "fill 10 256")
        assert served.metric("memtraced_growth_mappings") == 0
        path = f"/debug/pprof/mappings?pid={process.pid}"
        assert "[growth] mappings = no" in served.text(path, status=503)
        assert "mappings are not traced" in ctl(served, "status")
        served.text(path.replace("mappings", "growth") + "&debug=1")
        begun = time.monotonic()
        rewrite(served, folder, off, EACH)
        eventually(lambda: served.metric("memtraced_growth_mappings") == 1, "it is off")
        held, _, _ = told(process, "fill 3 256")
        report, one = report_of(served, process.pid)
        assert held_by(one) == (held - unseen, 3), one["sites"]
        # nothing is said of the time before
        assert report["elapsed_ns"] < (time.monotonic() - begun) * 1e9, report["elapsed_ns"]
        rewrite(served, folder, EACH, off)
        eventually(lambda: served.metric("memtraced_growth_mappings") == 0, "it is on")
        served.text(path, status=503)
        eventually(lambda: served.metric("memtraced_growth_running") == 1, "it runs on without")
        assert served.metric("memtraced_growth_failed_total") == 0


@test(need_root, need_sampling, timeout=120)
def regions_of_one_process_are_bounded_and_the_rest_is_counted():
    with scratch() as folder, service(folder, growth=EACH) as served, mapper() as process:
        before, others = known(served, process)
        wanted = MOST_REGIONS + 3000
        told(process, f"map {wanted} 2")
        report, one = report_of(served, process.pid)
        kept = MOST_REGIONS - others
        assert held_by(one) == (before + kept * 2 * PAGE, MOST_REGIONS), (held_by(one), before)
        lost = report["coverage"]["lost"]
        assert lost["process-mappings-full"] == wanted - kept, (lost, others)
        assert not report["coverage"]["exact"], report["coverage"]
        assert served.metric("memtraced_growth_regions_left_out") == wanted - kept
        assert f", {wanted - kept} left out" in ctl(served, "status")
        words = served.text(f"/debug/pprof/mappings?pid={process.pid}&debug=1")
        assert f"; {wanted - kept} more are not known any more: there were too many" in \
            words.replace("\n        ", " "), words[:600]
        told(process, f"unmap {wanted}")
        _, one = report_of(served, process.pid)
        assert held_by(one) == (before, others), held_by(one)
        told(process, "map 5 4")
        _, one = report_of(served, process.pid)
        assert held_by(one) == (before + 20 * PAGE, others + 5), held_by(one)


@test(need_root, need_sampling, timeout=120)
def stacks_of_one_process_are_bounded_and_its_bytes_stay_right():
    with scratch() as folder, service(folder, growth=EACH) as served, mapper() as process:
        before, _ = known(served, process)
        n = MOST_STACKS + 2000
        told(process, f"stacks {n}")
        first, one = report_of(served, process.pid)
        assert held_by(one)[0] == before + n * PAGE, (held_by(one), before)
        told(process, f"stacks {n}")
        second, one = report_of(served, process.pid)
        assert held_by(one)[0] == before + 2 * n * PAGE, (held_by(one), before)
        lost = [report["coverage"]["lost"].get("process-mapping-stacks-full", 0)
                for report in (first, second)]
        # by then it is known that there are too many
        assert lost[1] - lost[0] == n, lost


@test(need_root, need_sampling, timeout=180)
def who_fills_it_at_once_is_not_let_do_so_again_at_once():
    """Stacks of several processes, of a clock that is 20 times as fast."""
    fast = ["env", f"LD_PRELOAD={target('libfast_clock.so')}", "FAST_CLOCK=20",
            f"FAST_CLOCK_START={time.monotonic_ns()}"]
    growth = f"{EACH}\nmax_stacks = 100"
    with scratch() as folder, service(folder, "timeout = 600s", growth=growth,
                                      within=fast) as served, mapper() as process:
        told(process, "map 1 64")
        told(process, "stacks 1000")
        eventually(lambda: served.metric("memtraced_growth_renewed_total") >= 1, "it is kept",
                   timeout=60)
        eventually(lambda: served.metric("memtraced_growth_running") == 1, "it does not run again",
                   timeout=60)
        assert served.metric("memtraced_growth_failed_total") == 0


@test(need_root, need_sampling, timeout=120, every_kernel=True)
@once_others_leave_room
def who_is_killed_by_its_cgroups_limit_has_the_line_that_mapped():
    line = line_of("mapper.c", "char *at = mmap(NULL, size")
    with scratch() as folder, memory_cgroup(20 * MIB) as (_, inner, path), \
            service(folder, growth=DENSE) as served, mapper() as process:
        before, others = known(served, process)
        move(process.pid, inner)
        send_line(process, "fill 100 256")
        said = summary(served, process.pid, "mapper")
        one, _ = death_of(served, process.pid)
    found = re.search(r"; ([\d.]+) MiB of address space was mapped in that time and not unmapped "
                      r"\((\d+) regions\), "
                      rf"most from keeps \(mapper.c:{line}\), ([\d.]+) MiB", said)
    assert found and f"cgroup {path} was at its limit" in said, said
    assert " of its page faults were sampled, one in 10, in " in said, said
    # all that it held was in memory but for a part of the last one
    assert 18 < float(found[3]) <= 22 and float(found[3]) <= float(found[1]), said
    assert " of heap" not in said, said
    bytes_, regions = held_by(one)
    assert bytes_ - before == (regions - others) * 256 * PAGE, (bytes_, regions, before, others)
    assert one["end"] == {"exit": None, "signal": signal.SIGKILL, "oom": True}, one["end"]


@test(need_root, need_sampling, need_program("chromium"), timeout=120)
@once_others_leave_room
def a_browser_shows_what_a_killed_process_had_mapped():
    with scratch() as folder, service(folder, growth=EACH) as served, mapper() as process:
        _, others = known(served, process)
        told(process, "fill 20 256")
        process.kill()
        summary(served, process.pid, "mapper")
        (name,) = [name for name in post_mortems(served) if f"-{process.pid}-" in name]
        path = os.path.join(folder, "death.html")
        with open(path, "w", encoding="utf-8") as file:
            file.write(ctl(served, "reports", name))
        with browser.page(f"file://{path}", folder) as page:
            page.until("document.getElementById('mmap') !== null")
            words = page.value("document.getElementById('mmap').textContent")
    assert f" bytes live in {others + 20} regions, " in words, words
    assert re.search(r" mappings, in [\d.]+\s\S+ that it was looked at$", words), words


@test(need_root, need_sampling, timeout=900, alone=True)
def memory_stays_while_regions_stacks_and_processes_come_and_go():
    """Of processes that map and unmap, and of those that end with what they hold."""
    # a thousand that have ended are kept, which are those of a hundred rounds
    rounds, n, memory = scaled(4, 300), scaled(20000, 20000, 2000), []
    with scratch() as folder, service(folder, growth=EACH) as served, mapper() as first, \
            mapper() as second:
        for _ in range(rounds):
            for process in (first, second):
                told(process, f"churn {n} 16")
                told(process, "map 2000 2")
                told(process, "stacks 1000")
                told(process, "unmap 3000")
            for _ in range(10):
                with mapper() as short:
                    told(short, "map 500 16")
                    told(short, "stacks 200")
            memory.append(own_bytes(served.process.pid))
            note(f"{memory[-1] / MIB:6.1f} MiB, {served.metric('memtraced_growth_stacks')} "
                 f"stacks, {served.metric('memtraced_growth_regions')} regions")
        report, one = report_of(served, first.pid)
        assert held_by(one)[1] < 100, held_by(one)
        assert served.metric("memtraced_growth_failed_total") == 0
        assert report["coverage"]["lost"].get("ring-full", 0) == 0, report["coverage"]["lost"]
    third = len(memory) // 3
    assert max(memory[-third:]) < max(memory[:third * 2]) + FLAT, memory
