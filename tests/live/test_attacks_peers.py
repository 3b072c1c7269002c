# SPDX-License-Identifier: GPL-2.0-or-later
"""Attacks on how the service tells who asks: TCP peers, tokens, pages of other sites, names that
are not the asker's."""

import contextlib
import signal

from lib import eventually, need_root, run, scratch, started, target, test
from test_service import NOBODY, service

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
