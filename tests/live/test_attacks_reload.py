# SPDX-License-Identifier: GPL-2.0-or-later
"""Reloads of the service's configuration are all or nothing: what is wrong with one, wherever it is
found, leaves everything as it was; and what runs meanwhile loses nothing by either kind."""

import contextlib
import os
import re
import resource
import signal
import socket

import schema
from lib import (breakpoints, eventually, exact, need_root, need_sampling, same, scratch, send_line,
                 test)
from push_server import push_server
from test_attach import counted, one, since, started_target
from test_ctl import ctl
from test_push import STANDING, Told, push
from test_service import Asking, Service, finish, service, until_traced

BESIDE_OTHERS = "services"
UNTRANSLATED = True  # a rule's trace may share links
TOKEN = "0123456789abcdef\n"
RULE = "[rule {name}]\nwhen = rss > 1T\ncomm = attach\n"


def token(folder, name, mode=0o600):
    path = os.path.join(folder, name)
    with open(path, "w", encoding="ascii") as file:
        file.write(TOKEN)
    os.chmod(path, mode)
    return path


class Configuration:
    """The file of a service that runs, by its parts."""

    def __init__(self, served, folder):
        self.served, self.path = served, os.path.join(folder, "memtraced.conf")
        with open(self.path, encoding="ascii") as file:
            self.text = file.read()

    def count(self, result):
        return self.served.metric("memtraced_reloads_total", result=result)

    def write(self, text):
        with open(self.path, "w", encoding="ascii") as file:
            file.write(text)

    def reload(self, text, result="done"):
        """Reads `text` anew, and waits for what comes of it."""
        self.write(text)
        n = self.count(result)
        self.served.process.send_signal(signal.SIGHUP)
        eventually(lambda: self.count(result) == n + 1, f"{result}: {text}")


def serves(path):
    """Does a socket answer?"""
    with contextlib.suppress(OSError):
        return Service(None, path, None, None).text("/healthz") == "ok\n"
    return False


# What is wrong, where it is found, and what is said of it. "@" is the folder.
BROKEN = {
    "a line that is no line": ("[http\n", "this is no [section]"),
    "a token that others may read": ("[push late]\nto = parca\nurl = http://127.0.0.1:1\n"
                                     "token_file = @/open\n",
                                     "@/open: others than its owner may not read it"),
    "a token that is not there": ("[push late]\nto = parca\nurl = http://127.0.0.1:1\n"
                                  "token_file = @/none\n", "@/none: No such file"),
    "an address in use": ("[http]\nlisten = unix @/new.sock\nlisten = unix @/used.sock\n",
                          "unix @/used.sock: another service listens there already"),
    "a folder that cannot be made": ("[http]\nlisten = unix @/open/below/http.sock\n",
                                     "unix @/open/below/http.sock: cannot listen there: "
                                     "Not a directory"),
    "a bad pattern": ("[post_mortem]\ntrace = [open\n", "it leaves a bracket open"),
    "a directory for reports that cannot be made": ("[state]\ndirectory = @/no/such/state\n",
                                                    "[state] directory @/no/such/state: "),
    "a group that is not there": ("[http]\nsocket_group = no-such-group\n",
                                  "there is no group of the name"),
    "a user that is not there": ("[rule late]\nwhen = rss > 1\nuid = no-such-user\n",
                                 "there is no user 'no-such-user'"),
}


def apply(text, more):
    """`more` behind it, in place of the directory that may be given once alone."""
    if "directory = " in more:
        text = re.sub("^directory = .*\n", "", text, flags=re.M)
    return text + more


@test(need_root, each=list(BROKEN), timeout=60)
def a_reload_changes_nothing_where_there_is(what):
    more, said = BROKEN[what]
    with scratch() as folder, push_server() as server, \
            service(folder, trace=RULE.format(name="early") +
                    push("parca", server.url)) as served, \
            socket.socket(socket.AF_UNIX) as used:
        used.bind(os.path.join(folder, "used.sock"))
        used.listen()
        token(folder, "open", 0o644)
        conf = Configuration(served, folder)
        # What is good in it must not be taken either.
        good = conf.text.replace("rule early", "rule changed").replace("[push one]", "[push other]")
        good = good.replace("[http]\n", f"[http]\nlisten = unix {folder}/other.sock\n")
        conf.reload(apply(good, more.replace("@", folder)), "failed")
        served.said.until("memtraced: the old configuration stays in use")
        status = ctl(served, "status")
        failed = re.search(r"^reloads: 0 done, 1 failed; the last one, .* ago, failed, and the "
                           r"configuration stayed as it was: (.*)$", status, re.M)
        assert failed and said.replace("@", folder) in failed.group(1), status
        assert "rule early" in status and "push one to" in status, status
        assert "changed" not in status.replace(failed.group(0), "") and "push other" not in status
        assert not serves(f"{folder}/other.sock") and not serves(f"{folder}/new.sock")
        assert sorted(name for name in os.listdir(folder) if name.endswith(".sock")) == [
            "http.sock", "used.sock"], os.listdir(folder)
        # Without that it is taken.
        conf.reload(good)
        status = ctl(served, "status")
        assert "reloads: 1 done, 1 failed; the last one" in status, status
        assert "rule changed" in status and "push other to" in status, status
        assert serves(f"{folder}/other.sock") and served.text("/healthz") == "ok\n"


@contextlib.contextmanager
def few_files(pid, more):
    """So many more may a process open."""
    limits = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    taken, most = {int(fd) for fd in os.listdir(f"/proc/{pid}/fd")}, 0
    while more > 0:
        more -= most not in taken
        most += 1
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (most, limits[1]))
    try:
        yield
    finally:
        resource.prlimit(pid, resource.RLIMIT_NOFILE, limits)


@test(need_root, need_sampling, each=["[growth] period = 20", "[post_mortem] trace = [d]eaths"],
      timeout=60)
def what_cannot_begin_to_trace_leaves_what_does(line):
    section, key = line.split(" ", 1)
    with scratch() as folder, scratch() as counts, started_target(counts) as process, \
            service(folder, growth="period = 10", trace=STANDING) as served:
        conf = Configuration(served, folder)
        process.lines.until("ready")
        # What is open until the start is over would be room.
        eventually(lambda: breakpoints(process.pid) > 0 and
                   "names attach, for" in ctl(served, "status"), "it is traced")
        good = conf.text.replace("trace = attach", key) if "trace" in key else \
            conf.text.replace("period = 10", key)
        good += RULE.format(name="new")
        with few_files(served.process.pid, 4):
            conf.write(good)
            served.process.send_signal(signal.SIGHUP)
            served.said.until(f"memtraced: {section}")
        said = ctl(served, "status")
        assert "one in 10 is sampled" in said and "names attach, for" in said, said
        assert "rule new" in said and breakpoints(process.pid) > 0, said
        conf.reload(good)
        want = "one in 20 is sampled" if "growth" in line else "names [d]eaths, for"
        eventually(lambda: want in ctl(served, "status"), want)


def fifty(conf, folder, server, process):
    """Alternately good and bad: of the good no two are the same, and of the bad neither."""
    bad = list(BROKEN.values())
    for i in range(50):
        more = push("parca", server.url, f"token_file = {folder}/token", f"label = round={i}")
        more += RULE.format(name=f"rule-{i % 3}")
        if i % 4 == 0:
            more += f"[http]\nlisten = unix {folder}/extra.sock\n"
        if i == 25:
            send_line(process)  # it works while the service reads that
        if i % 2:
            conf.reload(apply(conf.text + more, bad[i // 2 % len(bad)][0].replace("@", folder)),
                        "failed")
        else:
            conf.reload(conf.text + more)
            # Who has connected before the round of the reload is over is served still.
            eventually(lambda want=i % 4 == 0: serves(f"{folder}/extra.sock") == want,
                       f"not so in round {i}")
        assert breakpoints(process.pid) > 0, "its trace was begun anew"


@test(need_root, timeout=150)
def fifty_reloads_under_load_lose_nothing_and_begin_nothing_anew():
    with scratch() as folder, scratch() as counts, started_target(counts) as process, \
            push_server() as server, service(folder, trace=STANDING) as served, \
            socket.socket(socket.AF_UNIX) as used:
        used.bind(os.path.join(folder, "used.sock"))
        used.listen()
        token(folder, "open", 0o644)
        token(folder, "token")
        conf = Configuration(served, folder)
        pid = int(process.lines.until("ready"))
        first = push("parca", server.url, f"token_file = {folder}/token")
        conf.reload(conf.text + f"[http]\nlisten = unix {folder}/extra.sock\n" + first)
        before = counted(counts, pid)
        # One waits on a socket that goes meanwhile.
        extra = Service(None, f"{folder}/extra.sock", None, None)
        address = f"/debug/pprof/heap?pid={pid}&seconds=600&format=json"
        asked = [Asking(place, address, timeout=120) for place in (served, extra)]
        kept = ctl(served, "trace", str(pid), "--for=10m", "--format=json").split()[-1]
        until_traced(served, 2)
        fifty(conf, folder, server, process)
        process.lines.until("worked")
        assert served.metric("memtraced_traces_total") == 1, "a trace was begun anew"
        assert (conf.count("done"), conf.count("failed")) == (26, 25)
        own = since(counts, pid, before)
        # By the trace that stands, and by the one that was asked for.
        eventually(lambda: Told("parca", server, pid).levels() == (
            [own["live_blocks"], own["live_bytes"]], [2 * own["allocs"], 2 * own["bytes"]]),
            "what was allocated is pushed, once by each", timeout=15)
        finish(process)
        own = since(counts, pid, before)
        for asking in asked:
            report = schema.loads(asking.body())
            exact(report)
            same(one(report, pid), own)
        served.said.until(f"memtraced: process {pid} (attach): report {kept}")
        served.process.send_signal(signal.SIGTERM)
        assert served.process.wait(30) == 0
