# SPDX-License-Identifier: GPL-2.0-or-later
"""Post-mortems of a running service: processes that are killed while they are traced."""

import contextlib
import os
import re
import signal
import socket
import subprocess

import lib
from cgroups import memory_cgroup, move
from lib import (breakpoints, eventually, libc_of_its_own, need_root, refused, run, run_memtraced,
                 schema, scratch, send_line, target, test)
from test_ctl import as_nobody, ctl, nobodys_targets
from test_deaths import AT_LIMIT, BLOCK, LIMIT, leaking_site, own_count, victim
from test_service import NOBODY, service

TRACED = "[post_mortem]\nformat = json\ntrace = deaths\ntrace = othe*"


def post_mortems(served):
    """Names, the newest first."""
    names = [line.split()[-1] for line in ctl(served, "reports").splitlines()]
    return [name for name in names if name.startswith("death-")]


def read(served, name):
    report = schema.loads(ctl(served, "reports", name))
    schema.check(report, False, True)
    return report


def summary(served, pid):
    return served.said.until(f"memtraced: process {pid} (deaths) was ended by signal ")


@contextlib.contextmanager
def traced(served, size=0):
    """A victim that is traced, and the file of its count. No other tracer knows its libc."""
    with scratch() as folder, libc_of_its_own() as env, \
            victim(folder, size, env) as (process, count):
        eventually(lambda: breakpoints(process.pid) > 0, "it is not traced", timeout=30)
        # Probes come one by one on old kernels; who has put them in all has time for an answer.
        served.text("/healthz")
        yield process, count


@test(need_root, every_kernel=True, timeout=120)
def who_is_killed_by_its_cgroups_limit_has_a_report_with_the_leaking_line():
    with scratch() as folder, memory_cgroup(LIMIT) as (_, inner, path), \
            service(folder, trace=TRACED) as served, traced(served, BLOCK) as (process, count):
        move(process.pid, inner)
        send_line(process)
        said = summary(served, process.pid)
        made, line = own_count(count)
        (name,) = post_mortems(served)
        assert re.match(rf"9, killed by the OOM killer(: | when )cgroup {path}{AT_LIMIT}; it held ",
                        said), said
        assert f"most from leaks (deaths.c:{line})" in said, said
        assert said.endswith(f"; memtraced ctl reports {name}"), said
        (one,) = read(served, name)["processes"]
        assert served.metric("memtraced_post_mortems_total", report="written") == 1
    assert one["pid"] == process.pid and one["death"]["full_cgroup"]["path"] == path, one["death"]
    assert one["end"] == {"exit": None, "signal": signal.SIGKILL, "oom": True}, one["end"]
    site = leaking_site(one)
    assert (site["live_blocks"], site["live_bytes"]) == (made, made * BLOCK), (site, made)
    assert line in [frame["line"] for frame in site["frames"]], site["frames"]


@test(need_root, timeout=120)
def who_ends_by_itself_or_by_sigterm_has_none_and_two_at_once_one_each():
    with scratch() as folder, contextlib.ExitStack() as stack, \
            service(folder, trace=TRACED) as served:
        ends, terminated, *victims = (stack.enter_context(traced(served, size))[0]
                                      for size in (1000, 0, 0, 0))
        send_line(ends)
        terminated.terminate()
        assert (ends.wait(), terminated.wait()) == (0, -signal.SIGTERM)
        run(["kill", "-9", *[str(process.pid) for process in victims]])
        eventually(lambda: len(post_mortems(served)) == 2, "two reports")
        pids = [read(served, name)["processes"][0]["pid"] for name in post_mortems(served)]
        assert sorted(pids) == sorted(process.pid for process in victims), pids
        assert served.metric("memtraced_post_mortems_total", report="written") == 2


@test(need_root)
def who_asked_for_the_trace_owns_the_report_and_is_answered_too():
    with scratch() as folder, service(folder) as served, nobodys_targets(1) as (pid,):
        said = run([*as_nobody(served), "trace", pid, "--for=10m", "--format=folded"])
        assert said.returncode == 0, said
        os.kill(int(pid), signal.SIGABRT)
        served.said.until(f"memtraced: process {pid} (leak): report")
        listed = run([*as_nobody(served), "reports"]).stdout.split()
        (name,) = [word for word in listed if word.startswith("death-")]
        assert name.endswith(".html") and said.stdout.split()[-1] in listed, listed
        assert os.stat(os.path.join(folder, "state", name)).st_uid == NOBODY
        assert b"killed by signal" in open(os.path.join(folder, "state", name), "rb").read()


@contextlib.contextmanager
def small_disk(folder, size):
    path = os.path.join(folder, "state")
    os.mkdir(path)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "none", path], check=True)
    try:
        yield path
    finally:
        subprocess.run(["umount", path], check=True)


@test(need_root, timeout=120)
def a_full_disk_is_said_and_counted_and_the_service_goes_on():
    with scratch() as folder, small_disk(folder, "64k") as state:
        with service(folder, trace=TRACED) as served:
            with open(os.path.join(state, "filler"), "wb") as file:
                with contextlib.suppress(OSError):
                    file.write(bytes(1 << 20))
            for full in (True, False):
                if not full:
                    os.remove(os.path.join(state, "filler"))
                with traced(served) as (process, _):
                    process.kill()
                    said = summary(served, process.pid)
                assert said.endswith("no report: No space left on device") == full, said
            assert served.metric("memtraced_post_mortems_total", report="failed") == 1
            assert len(post_mortems(served)) == 1 and len(os.listdir(state)) == 1, \
                os.listdir(state)


@test(need_root, timeout=120)
def reports_outlive_the_service_until_they_are_too_old():
    with scratch() as folder:
        with service(folder, trace=TRACED) as served:
            names = []
            for _ in range(2):
                with traced(served) as (process, _):
                    process.kill()
                    summary(served, process.pid)
                names.insert(0, post_mortems(served)[0])
        with service(folder, trace=TRACED) as served:
            assert post_mortems(served) == names
        old = os.path.join(folder, "state", names[1])
        os.utime(old, (os.stat(old).st_mtime - 3600 * 24 * 31,) * 2)
        with service(folder, trace=TRACED) as served:
            assert post_mortems(served) == names[:1]


@test(need_root, timeout=120)
def what_is_traced_follows_the_configuration():
    with scratch() as folder, libc_of_its_own() as env, victim(folder, 0, env) as (process, _), \
            service(folder) as served:
        config = os.path.join(folder, "memtraced.conf")
        assert breakpoints(process.pid) == 0
        with open(config, "a", encoding="ascii") as file:
            file.write(TRACED)
        served.process.send_signal(signal.SIGHUP)
        eventually(lambda: "all processes of the names deaths, othe*" in ctl(served, "status"),
                   "it is as configured")
        eventually(lambda: breakpoints(process.pid) > 0, "it is not traced", timeout=30)
        with open(config, encoding="ascii") as file:
            text = file.read()
        with open(config, "w", encoding="ascii") as file:
            file.write(text.replace(TRACED, "[post_mortem]\nformat = nothing"))
        served.process.send_signal(signal.SIGHUP)
        served.said.until("memtraced: [post_mortem] format = nothing: ")
        served.said.until("memtraced: the old configuration stays in use")
        with open(config, "w", encoding="ascii") as file:
            file.write(text.replace(TRACED, ""))
        served.process.send_signal(signal.SIGHUP)
        eventually(lambda: breakpoints(process.pid) == 0, "it is traced still", timeout=30)


JOURNAL = """mkdir -p /run/systemd && mount -t tmpfs none /run/systemd &&
mkdir /run/systemd/journal && mount --bind "$1" /run/systemd/journal && shift && exec "$@"
"""


def entry(journal):
    """The fields of the next entry, as systemd's native protocol has them."""
    text = journal.recv(65536).decode()
    return dict(line.split("=", 1) for line in text.splitlines())


@test(need_root, timeout=120)
def the_journal_has_a_summary_with_fields():
    with scratch() as folder, scratch() as place, \
            socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as journal:
        journal.bind(os.path.join(place, "socket"))
        journal.settimeout(30 * lib.PATIENCE)
        within = ["unshare", "--mount", "sh", "-c", JOURNAL, "sh", place]
        with service(folder, trace=TRACED, within=within) as served, traced(served) as (process, _):
            process.kill()
            fields = entry(journal)
            (name,) = post_mortems(served)
    assert fields["MESSAGE"].startswith(f"process {process.pid} (deaths) was ended by signal 9")
    wanted = {"MEMTRACED_PID": str(process.pid), "MEMTRACED_COMM": "deaths",
              "MEMTRACED_SIGNAL": "9", "MEMTRACED_OOM": "0", "MEMTRACED_LIVE_BYTES": "0",
              "MEMTRACED_SENDER_PID": str(os.getpid()), "MEMTRACED_REPORT": name,
              "MEMTRACED_EXE": target("deaths"), "PRIORITY": "4", "SYSLOG_IDENTIFIER": "memtraced"}
    assert {key: fields.get(key) for key in wanted} == wanted, fields


@test(need_root)
def a_configuration_that_names_no_format_is_refused():
    with scratch() as folder:
        config = os.path.join(folder, "conf")
        with open(config, "w", encoding="ascii") as file:
            file.write("[post_mortem]\nformat = pdf\n")
        refused(run_memtraced("--service", f"--config={config}"), 1, "[post_mortem] format = pdf",
                "html")
