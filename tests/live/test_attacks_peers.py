# SPDX-License-Identifier: GPL-2.0-or-later
"""Attacks on how the service tells who asks: TCP peers, tokens, pages of other sites, names that
are not the asker's."""

import contextlib
import json
import signal

from lib import eventually, need_root, run, scratch, started, target, test
from test_service import NOBODY, ask_as, service

# Sends a request and closes without reading the answer, while the service does not run.
SEND_AND_CLOSE = """
import os, socket, sys
os.setgroups([]); os.setgid(int(sys.argv[1])); os.setuid(int(sys.argv[1]))
client = socket.create_connection(("127.0.0.1", int(sys.argv[2])))
client.sendall(f"{sys.argv[3]} HTTP/1.1\\r\\nHost: localhost\\r\\nContent-Length: 0\\r\\n\\r\\n".encode())
client.close()
"""


@contextlib.contextmanager
def stopped(process):
    """A service that is busy: it accepts nothing meanwhile."""
    process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        process.send_signal(signal.SIGCONT)


def client_states(port):
    """The states of sockets that are connected to that port: include/net/tcp_states.h."""
    with open("/proc/net/tcp", encoding="ascii") as file:
        return [line.split()[3] for line in file if line.split()[2].endswith(f":{port:04X}")]


@test(need_root)
def a_socket_that_is_closed_before_it_is_accepted_is_not_roots():
    """The kernel's tables give an orphaned socket (FIN-WAIT-2, TIME-WAIT) uid 0."""
    with scratch() as folder, service(folder) as served, \
            started([target("leak"), "0", "60000"]) as process:
        pid = int(process.lines.until("ready"))
        with stopped(served.process):
            done = run(["/usr/bin/python3", "-c", SEND_AND_CLOSE, str(NOBODY), str(served.port),
                        f"POST /ctl/trace?pid={pid}&seconds=1"])
            assert done.returncode == 0, done.stderr
            # FIN-WAIT-2, also as TIME-WAIT: it has no owner any more.
            eventually(lambda: client_states(served.port) in (["05"], ["06"]), "it is orphaned")
        eventually(lambda: served.metric("memtraced_http_answers_total", code="4xx") +
                   served.metric("memtraced_traces_total") > 0, "it is answered")
        assert served.metric("memtraced_traces_total") == 0, "a user had root's process traced"


NAMED = """[watch]
interval = 1s
[rule of-the-administrator]
when = rss > 1TiB
[metrics]
processes = 1000
[push to-the-administrator]
to = parca
url = http://127.0.0.1:1"""


@test(need_root, each=["unix", "tcp"])
def what_is_about_all_users_is_shown_to_root_alone(where):
    """The names of cgroups, rules, servers and of others' processes, on all pages that list some."""
    with scratch() as folder, service(folder, trace=NAMED) as served, \
            started([target("leak"), "0", "60000"]) as process:
        process.lines.until("ready")
        cgroups = eventually(lambda: [group["name"] for group in
                                      json.loads(served.text("/host"))["cgroups"]], "cgroups")
        names = ["of-the-administrator", "to-the-administrator", "leak",
                 *(f'cgroup="{name}"' for name in cgroups)]
        roots = ask_as(served, where, "/metrics", uid=0)[0]
        assert roots.startswith("200 ") and all(name in roots for name in names), roots
        pages = ("/metrics", "/host", "/ctl/status", "/debug/pprof/", "/debug/pprof/heap")
        for page, answer in zip(pages, ask_as(served, where, *pages), strict=True):
            assert answer[:3] in ("200", "400"), (page, answer)
            shown = [name for name in [*names, "cgroup="] if name in answer]
            assert not shown, (page, shown)
        assert json.loads(ask_as(served, where, "/host")[0][4:])["cgroups"] == []
