# SPDX-License-Identifier: GPL-2.0-or-later
"""Growth depth of a running service: page faults of the whole host, of processes that nobody has
traced; what is left of those that are killed."""

import contextlib
import functools
import os
import re
import signal
import sys
import time

import lib
from cgroups import memory_cgroup, move
from lib import (eventually, line_of, need_long, need_program, need_root, need_sampling, note,
                 resident, run, scaled, schema, scratch, send_line, started, target, test, without)
from states import in_read
from test_ctl import as_nobody, ctl, nobodys_targets
from test_deaths import BLOCK, LIMIT, own_count, victim
from test_host_page import choose, host_page
from test_host_storm import FLAT
from test_memory import own_bytes
from test_post_mortem import TRACED, post_mortems, traced
from test_service import service

sys.path.append(os.path.join(lib.ROOT, "tests", "replay"))
import pprof_wire  # noqa: E402

PAGE = os.sysconf("SC_PAGESIZE")
EACH = "enabled = yes\nperiod = 10"
DENSE = f"{EACH}\n[post_mortem]\nformat = json"
MIB = 1 << 20
PYTHON = "kept = [bytearray(1 << 20) for _ in range(40)]; print('ready', flush=True); input()"


class Limited(AssertionError):
    """So many others were killed on this host at once that there was no report of this one."""


def summary(served, pid, comm="deaths"):
    for last in [False] * 5 + [True]:
        try:
            return served.said.until(f"memtraced: process {pid} ({comm}) was ended by signal ", 5)
        except AssertionError as error:
            if served.metric("memtraced_post_mortems_total", report="limited") > 0:
                raise Limited(*error.args) from error
            if last:
                raise
    return None


def once_others_leave_room(function):
    """A test that is made anew, by a service that has made no report yet, where it was limited."""
    @functools.wraps(function)
    def tried():
        for _ in range(4):
            with contextlib.suppress(Limited):
                return function()
        return function()
    return tried


def comm_of(process):
    with open(f"/proc/{process.pid}/comm", encoding="ascii") as file:
        return file.read().strip()


def death_of(served, pid):
    """The report of its end: there may be others on this host."""
    (name,) = [name for name in post_mortems(served) if f"-{pid}-" in name]
    report = schema.loads(ctl(served, "reports", name))
    schema.check(report, False, allocations=False)
    (one,), (faults,) = report["processes"], report["events"]
    assert one["pid"] == pid and faults["name"] == "page-faults", (pid, one["pid"])
    assert all(stack["pid"] == pid for stack in faults["stacks"]), "stacks of others"
    return one, faults


def touched(faults, function):
    return sum(stack["count"] for stack in faults["stacks"]
               if any(frame["function"] == function for frame in stack["frames"]))


def near(samples, pages, period=10):
    assert abs(samples * period - pages) < 0.1 * pages, (samples, pages)


@test(need_root, need_sampling, timeout=120)
@once_others_leave_room
def who_is_killed_by_its_cgroups_limit_and_was_not_traced_has_the_growing_line():
    grows = line_of("deaths.c", "memset(kept, 1, size)")
    with scratch() as folder, memory_cgroup(LIMIT) as (_, inner, path), \
            service(folder, growth=DENSE) as served, victim(folder, BLOCK) as (process, count):
        # Rows for every instruction of libc's memset come with the first fault that is seen there.
        with started([sys.executable, "-c", PYTHON]) as first:
            first.lines.until("ready")
            served.text(f"/debug/pprof/growth?pid={first.pid}&debug=1")
        move(process.pid, inner)
        send_line(process)
        said = summary(served, process.pid)
        made, _ = own_count(count)
        one, faults = death_of(served, process.pid)
    assert re.search(r"9, killed by the OOM killer(: | when )cgroup " + path +
                     r" was at its limit, ", said), said
    assert re.search(r"; \d+ of its page faults were sampled, one in 10, in [\d.]+ \S+: ~[\d.]+ "
                     r"MiB if all were of small pages, most from leaks "
                     rf"\(deaths.c:{grows}\), ~", said), said
    assert one["end"] == {"exit": None, "signal": signal.SIGKILL, "oom": True}, one["end"]
    assert one["death"]["full_cgroup"]["path"] == path, one["death"]
    assert faults["period"] == 10, faults["period"]
    near(touched(faults, "leaks"), made * BLOCK / PAGE)
    most = faults["stacks"][0]["frames"]
    assert ("leaks", grows) in [(frame["function"], frame["line"]) for frame in most], most


@test(need_root, need_sampling, timeout=120)
@once_others_leave_room
def a_program_that_ran_before_the_service_and_is_killed_has_a_report():
    """An interpreter's bytearrays are its own code's to touch: calloc's, so in the C library."""
    with scratch() as folder, started([sys.executable, "-c", "input();" + PYTHON]) as process, \
            service(folder, growth=DENSE) as served:
        send_line(process)
        process.lines.until("ready")
        comm = comm_of(process)
        process.kill()
        said = summary(served, process.pid, comm)
        one, faults = death_of(served, process.pid)
    assert f"SIGKILL sent by process {os.getpid()} " in said, said
    near(faults["count"], 40 * MIB / PAGE, 10)
    assert one["exe"].endswith(os.path.basename(os.path.realpath(sys.executable))), one["exe"]
    assert one["death"]["sender"]["pid"] == os.getpid(), one["death"]


@test(need_root, need_sampling, timeout=60)
def growth_is_shown_in_bytes_and_names_the_process():
    with scratch() as folder, service(folder, growth=DENSE) as served, \
            started([sys.executable, "-c", PYTHON]) as other, \
            started([sys.executable, "-c", PYTHON]) as process:
        other.lines.until("ready")
        process.lines.until("ready")
        path = f"/debug/pprof/growth?pid={process.pid}"
        name = f"page-faults of {comm_of(process)} (pid {process.pid})"
        svg, page = (served.text(f"{path}&format={what}") for what in ("flamegraph", "html"))
        text = served.text(f"{path}&debug=1")
        _, _, body = served.ask(path)
        of_host = [served.text(f"/debug/pprof/growth?format={what}")
                   for what in ("flamegraph", "html")]
    assert re.search(f'<text id="title"[^>]*>{re.escape(name)}<', svg), svg[:2000]
    assert f"<title>{name}</title>" in page, page[:1000]
    assert re.search(r'id="remark"[^>]*>one page fault in 10 was sampled; bytes are right if all '
                     r"pages are small", svg), svg[:3000]
    for shown in of_host:
        assert re.search(r">page-faults of \d+ processes<", shown), shown[:2000]
    # All of it was touched first by calloc or by what calls it.
    faults, size = re.search(r"<title>all \(([\d,]+) page faults, ~([\d.]+) MiB, 100.00 %\)",
                             svg).groups()
    assert abs(int(faults.replace(",", "")) * PAGE / MIB - float(size)) < 0.06, (faults, size)
    assert 40 < float(size) < 80, size
    head, first = re.search(r"page-faults: \d+ samples, ~\d+ ± \d+ times, ~([\d.]+) MiB if all "
                            r"pages are small, on \d+ stacks? #1 ~\d+ ± \d+, ~([\d.]+) MiB, "
                            r"~[\d.]+%, ",
                            " ".join(text.split())).groups()
    assert 0 < float(first) <= float(head) < 80 and float(head) > 40, (first, head)
    assert "none lost: totals are ESTIMATES" in text and "totals are exact" not in text, text[-500:]
    profile = pprof_wire.read(body)
    strings = profile["string_table"]
    types = [(strings[one["type"]], strings[one["unit"]]) for one in profile["sample_type"]]
    assert types == [("samples", "count"), ("page-faults", "count"), ("growth", "bytes")], types
    sums = [sum(sample["value"][i] for sample in profile["sample"]) for i in range(3)]
    assert sums[2] == sums[1] * PAGE == sums[0] * 10 * PAGE and sums[2] > 40 * MIB, sums
    comments = [strings[index] for index in profile["comment"]]
    assert any(one.startswith("totals are estimates") for one in comments), comments


GROWS = """
kept = []
for _ in range(3):
    input()
    kept += [b"x" * (1 << 20) for _ in range(20)]
    print("grown", flush=True)
input()
"""
SWEEPS = "[watch]\ninterval = 1s"


def known(process, key):
    points = process["timeline"]["points"] if process["timeline"] else []
    return [point[key] for point in points if point[key] is not None]


@test(need_root, need_sampling, timeout=120)
@once_others_leave_room
def who_was_not_traced_has_what_was_resident_until_it_is_killed():
    """By the sweeps of the watch; while it runs, too. Others may be in its cgroup."""
    with scratch() as folder, memory_cgroup(500 * MIB) as (_, inner, _path), \
            service(folder, growth=DENSE, trace=SWEEPS) as served, \
            started([sys.executable, "-c", GROWS]) as process:
        move(process.pid, inner)
        path, before = f"/debug/pprof/growth?pid={process.pid}&format=json", 0
        for _ in range(3):
            send_line(process)
            process.lines.until("grown", 60)
            held = resident(process.pid)

            def is_seen(held=held):
                report = schema.loads(served.text(path))
                schema.check(report, False, allocations=False)
                (one,) = report["processes"]
                seen = known(one, "rss")
                return seen and seen[-1] >= held - MIB

            eventually(is_seen, f"it is not seen to have {held} bytes", timeout=60)
            assert held > before + 15 * MIB, (held, before)
            before = held
        comm = comm_of(process)
        process.kill()
        said = summary(served, process.pid, comm)
        one, _ = death_of(served, process.pid)
    seen, cgroup = known(one, "rss"), known(one, "cgroup")
    assert abs(seen[-1] - held) < 4 * MIB and len(seen) >= 4, (seen, held)
    assert seen[0] < held - 30 * MIB, (seen, held)
    assert cgroup and 20 * MIB < cgroup[-1] < 500 * MIB, cgroup
    assert re.search(r"; its resident memory was [\d.]+ [KM]iB, and [\d.]+ MiB when it was last "
                     r"looked at, ", said), said


@test(need_root, need_sampling, timeout=60)
@once_others_leave_room
def who_is_too_small_to_be_sampled_is_said_to_be_and_has_no_report():
    with scratch() as folder, service(folder, growth=DENSE.replace("10", "1000")) as served, \
            victim(folder) as (small, _), started([sys.executable, "-c", PYTHON]) as large:
        large.lines.until("ready")
        said = served.text(f"/debug/pprof/growth?pid={small.pid}", status=404)
        assert "one in 1000 is sampled, and none of its yet" in said, said
        comm = comm_of(large)
        small.kill()
        large.kill()
        summary(served, large.pid, comm)
        assert not [name for name in post_mortems(served) if f"-{small.pid}-" in name]


@test(need_root, need_sampling, timeout=120)
def who_is_traced_has_one_report_that_of_its_trace():
    with scratch() as folder, service(folder, trace=TRACED, growth=EACH) as served, \
            traced(served) as (process, _):
        process.kill()
        said = summary(served, process.pid)
        # both sessions have seen the end by then
        time.sleep(1)
        names = [name for name in post_mortems(served) if f"-{process.pid}-" in name]
        assert len(names) == 1 and " of heap" in said and "page faults" not in said, (names, said)
        report = schema.loads(ctl(served, "reports", names[0]))
        assert not report["events"] and report["processes"][0]["alloc"]["allocs"] is not None


@test(need_root, need_sampling, timeout=90)
def a_kill_in_numbers_has_few_reports_and_the_rest_is_counted():
    with scratch() as folder, service(folder, growth=DENSE) as served, contextlib.ExitStack() as at:
        grown = [at.enter_context(started([sys.executable, "-c", PYTHON])) for _ in range(12)]
        for process in grown:
            process.lines.until("ready")
        run(["kill", "-9", *[str(process.pid) for process in grown]])
        eventually(lambda: served.metric("memtraced_post_mortems_total", report="limited") >= 4,
                   "none is too many", timeout=60)
        pids = {str(process.pid) for process in grown}
        names = [name for name in post_mortems(served) if name.split("-")[3] in pids]
        # others that are killed on this host take some of the eight
        assert len(names) <= 8, names


@test(need_root, need_sampling, timeout=90)
def growth_of_a_process_and_of_the_host_is_there_without_a_trace():
    with scratch() as folder, service(folder, growth=EACH) as served, \
            nobodys_targets(1) as (pid,), started([sys.executable, "-c", PYTHON]) as process:
        process.lines.until("ready")
        eventually(lambda: in_read(process.pid), "it touches more")
        path = f"/debug/pprof/growth?pid={process.pid}"
        report = schema.loads(served.text(f"{path}&format=json"))
        (faults,) = report["events"]
        near(faults["count"], 40 * MIB / PAGE, 10)
        words = served.text(f"{path}&debug=1")
        assert f"page-faults: {faults['count']} samples, ~{faults['count'] * 10} ± " in words
        status, headers, body = served.ask(path, Accept="text/html")
        assert (status, headers["Content-Type"]) == (200, "image/svg+xml"), (status, headers)
        assert b"<svg" in body[:500]
        everybody = schema.loads(served.text("/debug/pprof/growth?format=json"))
        assert {one["pid"] for one in everybody["processes"]} > {process.pid, int(pid)}
        assert served.metric("memtraced_growth_running") == 1
        assert served.metric("memtraced_growth_period") == 10
        assert served.metric("memtraced_growth_samples") >= faults["count"]
        assert "page faults of the host: one in 10 is sampled" in ctl(served, "status")
        said = served.text(f"{path}&seconds=3", status=400)
        assert "'seconds' does not apply" in said, said
        asked = [*as_nobody(served)[:4], "curl", "-s", "--unix-socket", served.path]
        for target_, want in ((f"?pid={pid}&debug=1", "page-faults: "),
                              (f"?pid={process.pid}", "is not yours"), ("", "only root may see")):
            said = run([*asked, f"http://localhost/debug/pprof/growth{target_}"]).stdout
            assert want in said, (target_, said[:300])


@test(need_root, need_sampling, timeout=90)
def it_follows_the_configuration():
    with scratch() as folder, service(folder, growth=EACH) as served:
        config = os.path.join(folder, "memtraced.conf")
        with open(config, encoding="ascii") as file:
            text = file.read()
        for growth, running, period in (("enabled = no", 0, 10), ("period = 20", 1, 20),
                                        (EACH, 1, 10)):
            with open(config, "w", encoding="ascii") as file:
                file.write(text.replace(EACH, growth))
            served.process.send_signal(signal.SIGHUP)
            eventually(lambda want=running: served.metric("memtraced_growth_running") == want,
                       f"not so by {growth}", timeout=30)
            if running:
                eventually(lambda want=period: served.metric("memtraced_growth_period") == want,
                           f"not so by {growth}")
            else:
                said = served.text("/debug/pprof/growth", status=503)
                assert "[growth] enabled = no" in said, said


@test(need_root, timeout=60)
def what_the_kernel_lacks_is_said_once_and_the_rest_is_served():
    with scratch() as folder, without("sampling"), service(folder, growth=EACH) as served:
        for _ in range(2):
            assert served.metric("memtraced_growth_running") == 0
            assert served.metric("memtraced_growth_failed_total") == 1
            assert "the log says why" in served.text("/debug/pprof/growth", status=503)
        assert "page faults of the host are not sampled: the log says why" in ctl(served, "status")
        # what was said at the start was read with the rest until it was ready
        config = os.path.join(folder, "memtraced.conf")
        with open(config, encoding="ascii") as file:
            text = file.read()
        with open(config, "w", encoding="ascii") as file:
            file.write(text.replace(EACH, "period = 20"))
        served.process.send_signal(signal.SIGHUP)
        said = served.said.until("memtraced: --page-faults: this kernel lets no program sample (")
        assert "Linux 6.1 does" in said, said
        served.said.until("memtraced: [growth]: page faults of the host are not sampled: ")
        eventually(lambda: served.metric("memtraced_growth_failed_total") == 2, "not tried")


@test(need_root, need_sampling, timeout=90)
@once_others_leave_room
def two_services_do_not_disturb_each_other_nor_does_the_death_of_one():
    with scratch() as folder, scratch() as second, service(folder, growth=DENSE) as served:
        with service(second, growth=DENSE) as other:
            with started([sys.executable, "-c", PYTHON]) as process:
                process.lines.until("ready")
                for one in (served, other):
                    report = schema.loads(one.text(
                        f"/debug/pprof/growth?pid={process.pid}&format=json"))
                    near(report["events"][0]["count"], 40 * MIB / PAGE, 10)
                other.process.kill()
                other.process.wait()
                comm = comm_of(process)
                process.kill()
                summary(served, process.pid, comm)
        with service(second, growth=DENSE) as again:
            assert again.metric("memtraced_growth_running") == 1


@test(need_root, need_sampling, timeout=120)
def what_is_too_much_to_keep_is_forgotten_as_a_whole():
    """It is looked at once a minute: of a clock that is 20 times as fast, which others have not."""
    fast = ["env", f"LD_PRELOAD={target('libfast_clock.so')}", "FAST_CLOCK=20",
            f"FAST_CLOCK_START={time.monotonic_ns()}"]
    growth = "period = 1\nmax_stacks = 200"
    with scratch() as folder, service(folder, "timeout = 600s", growth=growth,
                                      within=fast) as served:
        for times in (1, 2):
            with started([sys.executable, "-c", PYTHON]) as process:
                process.lines.until("ready")
                eventually(lambda n=times: served.metric("memtraced_growth_renewed_total") >= n,
                           "it is kept", timeout=60)
            # For a while it does not run when very much has come at once, as here.
            eventually(lambda: served.metric("memtraced_growth_running") == 1,
                       "it is not begun anew", timeout=60)
        failed = served.metric("memtraced_growth_failed_total")
        assert failed == 0, f"{failed} starts failed"


@test(need_root, need_sampling, need_long, need_program("chromium"), timeout=120)
def a_click_on_the_page_of_the_host_shows_growth():
    watch = "[watch]\ninterval = 1s"
    growth = f"{EACH}\nmappings = yes"
    with scratch() as folder, service(folder, growth=growth, trace=watch) as served, \
            started([sys.executable, "-c", PYTHON]) as process, \
            host_page(served, folder) as page:
        process.lines.until("ready")
        choose(page, process.pid)
        link = "document.querySelector('#process a[href^=\"/debug/pprof/growth\"]')"
        page.until(f"{link} !== null")
        path = page.value(f"{link}.getAttribute('href')")
        assert path == f"/debug/pprof/growth?pid={process.pid}", path
        mapped = page.value(f"{link.replace('growth', 'mappings')}.getAttribute('href')")
        assert mapped == path.replace("growth", "mappings"), mapped
        for each in (path, mapped):
            page.open(f"http://localhost:{served.port}{each}")
            page.until("document.documentElement.tagName === 'svg'")
            assert "python" in page.value("document.documentElement.textContent")


STORM = 'while [ -e "$0" ]; do for i in 1 2 3 4 5 6 7 8 9 10; do /bin/true; done; echo; done'


@test(need_root, need_sampling, timeout=1500)
def memory_stays_while_short_processes_come_and_go():
    """At full size 20 bytes of each would be seen; what others do on this host is in it, too."""
    seconds = int(os.environ.get("MEMTRACED_SECONDS") or scaled(8, 600))
    with scratch() as folder, service(folder, growth="enabled = yes\nperiod = 100") as served:
        go, output, memory = os.path.join(folder, "go"), os.path.join(folder, "rounds"), []
        with open(go, "w", encoding="ascii"), open(output, "w", encoding="ascii") as file, \
                started(["sh", "-c", STORM, go], stdout=file):
            for _ in range(10):
                time.sleep(seconds / 10)
                memory.append(own_bytes(served.process.pid))
                with open(output, encoding="ascii") as done:
                    n = 10 * done.read().count("\n")
                note(f"{memory[-1] / MIB:6.1f} MiB after {n} processes, "
                     f"{served.metric('memtraced_growth_stacks')} stacks of "
                     f"{served.metric('memtraced_growth_samples')} samples")
            os.unlink(go)
        assert n > 50 * seconds, n
        assert served.metric("memtraced_growth_failed_total") == 0
        assert served.metric("memtraced_growth_samples") > n / 100, "it sees nothing"
    # what is kept of those that have ended is there by then
    third = len(memory) // 3
    assert max(memory[-third:]) < max(memory[:third * 2]) + FLAT, memory
