# SPDX-License-Identifier: GPL-2.0-or-later
"""Requests without end: 10,000, in check-long a million, of all pages, right and wrong ones, over
connections that stay, end and break off. Each has its status, and the service stays as large as it
was; what it held at each tenth is a table in lines "# note:"."""

import os
import re
import socket
import time

from lib import need_root, note, resident, scaled, scratch, started, target, test
from test_service import service, until_traced

# (how many of 1,000, request line's target, more header lines, status)
MIX = (
    (600, "/healthz", "", 200),
    (150, "/debug/pprof/cmdline?pid={pid}", "", 200),
    (100, "/ctl/status", "", 200),
    (40, "/ctl/reports", "", 200),
    (30, "/metrics", "", 200),
    (10, "/host", "", 200),
    (4, "/", "Accept: text/html\r\n", 200),
    (1, "/debug/pprof/", "Accept: text/html\r\n", 200),
    (25, "/no/such/page", "", 404),
    (20, "/debug/pprof/heap?pid=no-number", "", 400),
    (10, "/healthz", "Sec-Fetch-Site: cross-site\r\n", 403),
    (10, "/ctl/trace", "", 405),
)
EACH = 1000  # requests of a connection, in batches of
BATCH = 20
TRACES = scaled(2, 20)  # among all requests, a second each
ANSWER = re.compile(rb"HTTP/1\.1 (\d+) .*?\r\n\r\n", re.S)
LENGTH = re.compile(rb"\r\nContent-Length: (\d+)\r\n", re.I)
# Over half a million requests: not five bytes of each.
FLAT = 2 << 20


def in_turn(pid):
    """The requests of a connection, well mixed, as (bytes, status)."""
    requests = []
    for n, what, headers, status in MIX:
        line = f"GET {what.format(pid=pid)} HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n"
        requests += [((k + 0.5) / n, line.encode(), status) for k in range(n)]
    assert len(requests) == EACH
    return [(line, status) for _, line, status in sorted(requests)]


class Client:
    """One connection over the Unix socket, several requests at a time."""

    def __init__(self, path):
        self.socket, self.buffer = socket.socket(socket.AF_UNIX), b""
        self.socket.settimeout(60)
        self.socket.connect(path)

    def more(self):
        data = self.socket.recv(1 << 18)
        assert data, f"the service hung up: {self.buffer[:500]}"
        self.buffer += data

    def answer(self):
        """The next one's status."""
        while not (head := ANSWER.match(self.buffer)):
            self.more()
        end = head.end() + int(LENGTH.search(head.group()).group(1))
        while len(self.buffer) < end:
            self.more()
        self.buffer = self.buffer[end:]
        return int(head.group(1))

    def ask(self, requests):
        self.socket.sendall(b"".join(line for line, _ in requests))
        for line, status in requests:
            got = self.answer()
            assert got == status, (line, got, status)


def descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def connection(served, requests, is_whole):
    """All of them, and one more, whole or half, whose answer nobody waits for."""
    client = Client(served.path)
    for i in range(0, len(requests), BATCH):
        client.ask(requests[i:i + BATCH])
    line = requests[0][0]
    client.socket.sendall(line if is_whole else line[:len(line) // 2])
    client.socket.close()


@test(need_root, timeout=300)
def many_requests_leave_it_as_large_as_it_was():
    connections = scaled(10, 1000)
    with scratch() as folder, service(folder) as served, \
            started([target("leak"), "0", "1000000"]) as process:
        pid, daemon = process.lines.until("ready"), served.process.pid
        requests, begun, held = in_turn(pid), time.monotonic(), []
        note("  requests  seconds  resident KiB  descriptors")
        for i in range(connections):
            if i % max(connections // TRACES, 1) == 0:
                served.text(f"/debug/pprof/heap?pid={pid}&seconds=1&debug=1")
                until_traced(served, 0)
            connection(served, requests, i % 2 == 0)
            if (i + 1) % (connections // 10) == 0:
                held.append((resident(daemon), descriptors(daemon)))
                note(f"{(i + 1) * EACH:10} {time.monotonic() - begun:8.0f} "
                     f"{held[-1][0] >> 10:13} {held[-1][1]:12}")
        assert served.metric("memtraced_traces_total") == min(connections, TRACES)
    first, second = held[:5], held[5:]
    for of, more in enumerate((FLAT, 1)):
        assert max(h[of] for h in second) <= max(h[of] for h in first) + more, f"it grows: {held}"
