# SPDX-License-Identifier: GPL-2.0-or-later
"""memtraced --service over HTTP: profiles on demand, metrics, and clients who mean no good."""

import contextlib
import http.client
import os
import re
import signal
import socket
import subprocess
import threading
import time

import browser
import lib
import schema
from lib import (Lines, breakpoints, eventually, exact, memtraced, need_program, need_root, refused,
                 resident, run, run_memtraced, same, scratch, send_line, started, target, test)
from test_attach import counted, one, since, started_target, work
from test_metrics import need_parser, samples, value
from test_pprof import GO, shown

BESIDE_OTHERS = "services"
NOBODY = 65534


class Local(http.client.HTTPConnection):
    """HTTP over a Unix socket."""

    def __init__(self, path, timeout):
        super().__init__("localhost", timeout=timeout)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class Service:
    def __init__(self, process, path, port, said):
        self.process, self.path, self.port, self.said = process, path, port, said

    def ask(self, target_, method="GET", body=None, timeout=40, **headers):
        """Status, headers and body of an answer over the Unix socket."""
        connection = Local(self.path, timeout * lib.PATIENCE)
        headers = {name.replace("_", "-"): text for name, text in headers.items()}
        connection.request(method, target_, body, headers)
        answer = connection.getresponse()
        with contextlib.closing(connection):
            return answer.status, answer.headers, answer.read()

    def text(self, target_, status=200, **how):
        got, _, body = self.ask(target_, **how)
        assert got == status, (target_, got, body[:500])
        return body.decode()

    def metric(self, name, **labels):
        parts = "".join(f',?{key}="{text}"' for key, text in labels.items())
        found = re.search(rf"^{name}(?:{{{parts}}})? (-?\d+)$", self.text("/metrics"), re.M)
        assert found, (name, labels)
        return int(found.group(1))

    def ctl(self, *words, uid=0, status=0):
        """What memtraced ctl prints for that user."""
        done = run_memtraced("ctl", f"--socket={self.path}", *words, user=uid, group=uid,
                             extra_groups=[])
        assert done.returncode == status, done
        return done.stdout

    def token(self, uid=0):
        return self.ctl("token", uid=uid).strip()

    def bearer(self, uid=0):
        """A header's line with a token of that user, which TCP needs."""
        return f"Authorization: Bearer {self.token(uid)}\r\n"

    def url(self, path, uid=0):
        """An address by TCP with a token in it, as pprof and browsers take it."""
        return f"http://:{self.token(uid)}@localhost:{self.port}{path}"

    def tcp(self):
        return socket.create_connection(("127.0.0.1", self.port), timeout=30 * lib.PATIENCE)


@contextlib.contextmanager
def service(folder, *more, trace="", growth="enabled = no", port=None, config=None, within=()):
    """A service on a Unix socket and on a port, when it is ready. `more`: lines of [http];
    `growth`: of [growth], which would tell of all that is killed on this host (test_service_growth
    has it); `config`: all of its configuration; `within`: a command that runs another."""
    path, port = os.path.join(folder, "http.sock"), port or lib.free_port()
    # Targets allocate as fast as they can, and reports shall be whole.
    trace = trace if "max_overhead" in trace else f"max_overhead = no\n{trace}"
    config_path = os.path.join(folder, "memtraced.conf")
    with open(config_path, "w", encoding="ascii") as file:
        file.write(config or "\n".join(
            ["[http]", f"listen = unix {path}", f"listen = 127.0.0.1:{port}", "socket_mode = 0666",
             *more, "[state]", f"directory = {folder}/state", "[growth]", growth, "[trace]", trace,
             ""]))
    command = [*within, memtraced(), "--service", f"--config={config_path}"]
    with started(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        said = Lines(process.stderr)
        said.until("memtraced: ready")
        yield Service(process, path, port, said)


class Asking:
    """A request that waits in a thread."""

    def __init__(self, service_, target_, **how):
        self.result, self.timeout = None, max(how.get("timeout", 0), 60) * lib.PATIENCE
        self.thread = threading.Thread(target=self.run, args=(service_, target_, how), daemon=True)
        self.thread.start()

    def run(self, service_, target_, how):
        try:
            self.result = service_.ask(target_, **how)
        except OSError as error:
            self.result = error

    def answer(self):
        """Status, headers and body."""
        self.thread.join(self.timeout)
        assert isinstance(self.result, tuple), self.result
        return self.result

    def body(self):
        assert self.answer()[0] == 200, self.result
        return self.result[2]


def until_traced(service_, n):
    eventually(lambda: service_.metric("memtraced_traces_running") == n, f"{n} traces", timeout=30)


def finish(process):
    send_line(process)
    process.lines.until("done")
    assert process.wait(10) == 0


@test(need_root, timeout=90)
def two_processes_are_traced_at_once_and_exactly():
    with scratch() as folder, scratch() as first_folder, scratch() as second_folder, \
            service(folder) as served, started_target(first_folder) as first, \
            started_target(second_folder) as second:
        pids = [int(process.lines.until("ready")) for process in (first, second)]
        befores = [counted(place, pid)
                   for place, pid in zip((first_folder, second_folder), pids)]
        asked = [Asking(served, f"/debug/pprof/heap?pid={pid}&seconds=600&format=json")
                 for pid in pids]
        until_traced(served, 2)
        for process in (first, second):
            work(process)
        for process in (first, second):
            finish(process)
        for place, pid, before, asking in zip((first_folder, second_folder), pids, befores, asked):
            report = schema.loads(asking.body())
            exact(report)
            same(one(report, pid), since(place, pid, before))
            assert len(report["processes"]) == 1, lib.brief(report["processes"])
        until_traced(served, 0)


@test(need_root, need_program("go"), timeout=90)
def go_shows_what_the_target_has_counted():
    with scratch() as folder, scratch() as counts, service(folder) as served, \
            started_target(counts) as process:
        pid = int(process.lines.until("ready"))
        before = counted(counts, pid)
        asked = [Asking(served, f"{path}?seconds=600{more}") for path, more in
                 ((f"/proc/{pid}/debug/pprof/heap", ""),
                  ("/debug/pprof/allocs", f"&pid={pid}"))]
        until_traced(served, 1)
        eventually(lambda: ", 2 wait for it" in served.text("/ctl/status"), "two wait for it")
        work(process)
        finish(process)
        own = since(counts, pid, before)
        for name, asking in zip(("inuse_space", "alloc_space"), asked):
            profile = os.path.join(folder, name)
            with open(profile, "wb") as file:
                file.write(asking.body())
            key = {"inuse_space": "live_bytes", "alloc_space": "bytes"}[name]
            sum_, functions = shown(GO, profile, name, "-tagignore=mmap")
            assert sum_ == own[key], (name, sum_, own)
            assert functions["new_blocks"] == own[key], (name, functions)
            plain = run([*GO, "-top", profile], env=dict(os.environ, HOME=folder))
            assert f"Type: {name}" in plain.stdout, plain.stdout
        assert served.metric("memtraced_traces_total") == 1, "it was not shared"


@test(need_root, need_program("go", "curl"), timeout=90)
def go_asks_by_itself_and_so_does_curl():
    with scratch() as folder, service(folder) as served, \
            started([target("spin"), "20000"]) as process:
        env = dict(os.environ, PPROF_TMPDIR=folder, HOME=folder)
        path = f"/debug/pprof/profile?pid={process.pid}"
        done = run([*GO, "-top", "-seconds=1", served.url(path)], env=env, timeout=60)
        assert done.returncode == 0 and "Type: cpu" in done.stdout, done
        url = f"http://127.0.0.1:{served.port}{path}"
        done = run([*GO, "-top", "-seconds=1", url], env=env, timeout=60)
        assert done.returncode != 0 and "401 Unauthorized" in done.stderr, done
        host = run(["curl", "-sS", "--unix-socket", served.path, "-o", f"{folder}/host",
                    "http://x/debug/pprof/profile?seconds=1"])
        assert host.returncode == 0, host
        top = run([*GO, "-top", f"{folder}/host"], env=env)
        assert top.returncode == 0 and "Type: cpu" in top.stdout, top


@test(need_root, timeout=90)
def an_answer_is_of_the_kind_that_was_asked_for():
    with scratch() as folder, service(folder) as served, \
            started([target("leak"), "0", "30000"]) as process:
        pid = process.lines.until("ready")
        heap = f"/debug/pprof/heap?pid={pid}&seconds=1"
        kinds = [("", {}, "application/octet-stream", b"\x1f\x8b"),
                 ("&debug=1", {}, "text/plain", b""),
                 ("", {"Accept": "text/html,*/*;q=0.8"}, "text/html", b"<!DOCTYPE html>"),
                 ("&format=json", {}, "application/json", b"{"),
                 ("&format=flamegraph", {}, "image/svg+xml", b"<?xml")]
        asked = [Asking(served, heap + more, **headers) for more, headers, _, _ in kinds]
        for (more, _, type_, start), asking in zip(kinds, asked):
            status, got, body = asking.answer()
            assert status == 200 and body.startswith(start), (more, status, body[:100])
            assert got["Content-Type"].startswith(type_), (more, got["Content-Type"])
            assert got["X-Content-Type-Options"] == "nosniff"
            assert "default-src 'none'" in got["Content-Security-Policy"]
        words = served.ask(f"/debug/pprof/cmdline?pid={pid}")[2].split(b"\0")
        assert words == [target("leak").encode(), b"0", b"30000"], words
        with open(f"/proc/{pid}/maps", encoding="ascii") as file:
            libc = next(int(line.split("-")[0], 16) for line in file if "libc.so.6" in line)
        symbols = run(["nm", "-D", "--defined-only", "/lib/x86_64-linux-gnu/libc.so.6"]).stdout
        malloc = re.search(r"^(\w+) T malloc@", symbols, re.M)
        if malloc:
            address = libc + int(malloc.group(1), 16)
            got = served.text(f"/debug/pprof/symbol?pid={pid}", method="POST",
                              body=f"0x{address:x}+0x1")
            assert got == f"num_symbols: 1\n0x{address:x}\tmalloc\n", got
        process.kill()


@test(need_root)
def without_a_pid_the_target_is_taken_or_the_candidates_are_named():
    with scratch() as folder, started([target("leak"), "0", "30000"]) as process:
        pid = process.lines.until("ready")
        with service(folder) as served:
            said = served.text("/debug/pprof/heap", status=400)
            assert "?pid=PID" in said and re.search(rf"^ *{pid} .* leak$", said, re.M), said
        with service(folder, trace=f"target = {pid}") as served:
            assert "leak" in served.text("/debug/pprof/heap?seconds=1&debug=1")
        with service(folder, trace="target = no-such-na*") as served:
            assert "no process that you may see" in served.text("/debug/pprof/heap", status=400)


@test(need_root, need_program("chromium"), timeout=120)
def a_browser_is_led_from_the_list_to_the_flame_graph():
    """The pages' policies let their own scripts run."""
    with scratch() as folder, service(folder, trace="seconds = 1") as served, \
            started([target("leak"), "0", "3000"]) as process:
        pid = process.lines.until("ready")
        with browser.page(served.url("/debug/pprof/"), folder) as page:
            link = f"document.querySelector('a[href=\"/debug/pprof/heap?pid={pid}\"]')"
            page.until(f"{link} !== null")
            page.value(f"{link}.click()")
            page.until("document.body && document.body.dataset.ready === '1'", timeout=60)
            names = page.value("[...document.querySelectorAll('.f')].map(f => f.textContent)")
            assert any("leak_one" in name for name in names), names
            page.open(f"http://localhost:{served.port}/debug/pprof/heap?pid={pid}"
                      "&format=flamegraph")
            page.until("document.documentElement.namespaceURI.endsWith('svg')")
            assert page.value("document.documentElement.outerHTML").count("leak_one") > 0


# Those of this host may be larger than the test's.
ALL_PROCESSES = "[metrics]\nprocesses = 1000"


@test(need_root)
def names_of_processes_are_text_in_pages():
    name = "<b>&\"'x"
    with scratch() as folder:
        script = os.path.join(folder, name)
        os.symlink("/bin/sleep", script)
        with started([script, "60"]), service(folder, trace=ALL_PROCESSES) as served:
            page = served.text("/debug/pprof/", Accept="text/html")
            assert "<b>&" not in page and "&lt;b&gt;&amp;" in page, page
            assert 'comm="<b>&\\"\'x"' in served.text("/metrics")


def states(pid):
    """The letter of each thread of a process."""
    return [lib.process_state(thread)[0] for thread in os.listdir(f"/proc/{pid}/task")]


@test(need_root, need_program("promtool"), need_parser)
def metrics_are_what_proc_says():
    with scratch() as folder, service(folder, trace=ALL_PROCESSES) as served, \
            started([target("attach"), "1000", "2"]) as process:
        pid = process.lines.until("ready")
        # All of its threads wait for the test.
        eventually(lambda: all(state == "S" for state in states(pid)), "it waits")
        # The kernel's counters are added up over CPUs now and then.
        held = None
        while held != resident(pid):
            held = resident(pid)
            text = served.text("/metrics")
            opened = served.ask("/metrics", Accept="application/openmetrics-text;version=1.0.0")
        done = run(["promtool", "check", "metrics"], input=text)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", ""), done
        assert opened[1]["Content-Type"].startswith("application/openmetrics-text"), opened[1]
        for body, dialect in ((text, ""), (opened[2].decode(), "openmetrics.")):
            path = os.path.join(folder, "metrics")
            with open(path, "w", encoding="utf-8") as file:
                file.write(body)
            found = samples(path, dialect)
            assert value(found, "memtraced_process_resident_bytes", pid=pid,
                         comm="attach") == held
            assert value(found, "memtraced_traces_running") == 0


# --- who may see what --------------------------------------------------------------------------

ASK_AS = """
import os, socket, sys
os.setgroups([]); os.setgid(int(sys.argv[1])); os.setuid(int(sys.argv[1]))
where, headers = sys.argv[2], sys.stdin.read().replace("\\n", "\\r\\n")
if where.startswith("/"):
    client = socket.socket(socket.AF_UNIX); client.connect(where)
else:
    client = socket.create_connection(("127.0.0.1", int(where)))
for target in sys.argv[3:]:
    client.sendall(f"GET {target} HTTP/1.1\\r\\nHost: localhost\\r\\n{headers}\\r\\n".encode())
    head = b""
    while b"\\r\\n\\r\\n" not in head:
        head += client.recv(65536)
    head, _, body = head.partition(b"\\r\\n\\r\\n")
    length = int([l for l in head.split(b"\\r\\n") if l.lower().startswith(b"content-length")][0]
                 .split(b":")[1])
    while len(body) < length:
        body += client.recv(65536)
    print(head.split()[1].decode(), body.decode(errors="replace").replace("\\n", " "))
"""


def ask_as(served, where, *targets, uid=NOBODY):
    """The answers that a user gets over "unix", or over "tcp" with a token of that user's."""
    place, header = (served.path, "") if where == "unix" else (str(served.port), served.bearer(uid))
    done = run(["/usr/bin/python3", "-c", ASK_AS, str(uid), place, *targets],
               input=header.replace("\r", ""))
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@test(need_root, each=["unix", "tcp"], in_turn=1)
def others_than_root_see_their_own_processes_alone(where):
    def become():
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)

    with scratch() as folder, service(folder) as served, \
            started([lib.target_for_all(folder, "leak", "leak-of-root"), "0", "60000"]) as roots, \
            started([lib.target_for_all(folder, "leak"), "0", "60000"], preexec_fn=become) as own:
        pid = own.lines.until("ready")
        # A process that changed its user is not dumpable until it executes a program.
        eventually(lambda: os.stat(f"/proc/{pid}/environ").st_uid == NOBODY, "its exec")
        answers = ask_as(served, where, f"/debug/pprof/heap?pid={roots.pid}&seconds=1",
                         f"/debug/pprof/cmdline?pid={roots.pid}", "/debug/pprof/profile?seconds=1",
                         f"/debug/pprof/cmdline?pid={pid}",
                         f"/debug/pprof/heap?pid={pid}&seconds=1&debug=1",
                         "/debug/pprof/heap", "/metrics")
        assert [answer.split()[0] for answer in answers] == \
            ["403", "403", "403", "200", "200", "400", "200"], answers
        assert f"process {roots.pid} is not yours" in answers[0], answers[0]
        assert "leak" in answers[4], answers[4]
        for said in answers[5:]:
            assert "leak" in said and "leak-of-root" not in said, said


@test(need_root, need_program("curl", "setpriv"))
def a_token_is_as_good_as_root():
    token = "0123456789abcdef0123456789abcdef"
    with scratch() as folder:
        path = os.path.join(folder, "token")
        with open(path, "w", encoding="ascii") as file:
            file.write(token + "\n")
        with service(folder) as served:
            pass
        os.chmod(path, 0o644)
        config = os.path.join(folder, "memtraced.conf")
        with open(config, encoding="ascii") as file:
            text = file.read().replace("[state]", f"token_file = {path}\n[state]")
        with open(config, "w", encoding="ascii") as file:
            file.write(text)
        done = run_memtraced("--service", f"--config={config}")
        refused(done, 1, path, "others than its owner may not read it")
        os.chmod(path, 0o600)
        with service(folder, f"token_file = {path}") as served:
            curl = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "curl",
                    "-sS", "--unix-socket", served.path, "-o", "/dev/null", "-w",
                    "%{http_code}"]
            url = "http://x/debug/pprof/cmdline?pid=1"
            codes = [run([*curl, *header, url]).stdout for header in
                     ([], ["-H", f"Authorization: Bearer {token}"],
                      ["-H", f"Authorization: Bearer {token[:-1]}"])]
        assert codes == ["403", "200", "401"], codes


@test(need_root, need_program("curl"))
def pages_of_other_sites_get_nothing():
    with scratch() as folder, service(folder) as served:
        url = f"http://127.0.0.1:{served.port}/metrics"
        for headers, code in (([], "200"), (["-H", "Host: evil.example"], "403"),
                              (["-H", "Host:"], "400"),
                              (["-H", "Sec-Fetch-Site: cross-site"], "403"),
                              (["-H", "Origin: http://evil.example"], "403"),
                              (["-X", "DELETE"], "405"), (["-X", "OPTIONS"], "405")):
            done = run(["curl", "-sS", "-o", "/dev/null", "-w", "%{http_code}", "-H",
                        served.bearer().strip(), *headers, url])
            assert done.stdout == code, (headers, done)


# --- clients who mean no good ------------------------------------------------------------------

BAD_TARGETS = ("/debug/pprof/%zz", "/debug/pprof/%", "/%00", "/../../etc/passwd",
               "/debug/pprof/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "//etc/passwd",
               "/debug/pprof/heap?pid=x", "/debug/pprof/heap?pid=1&pid=1",
               "/debug/pprof/heap?pid=99999999999999999999", "/proc/self/debug/pprof/heap",
               "/debug/pprof/heap?pid=1&seconds=999999", "/metrics?" + "a" * 3000)


def answer_to(client):
    """The status of what comes, or None where the connection is closed without a word."""
    data = b""
    with contextlib.suppress(ConnectionError):
        while b"\r\n" not in data:
            got = client.recv(65536)
            if not got:
                break
            data += got
    return int(data.split()[1]) if data.startswith(b"HTTP/") else None


@test(need_root, timeout=90)
def nonsense_is_refused_and_the_service_goes_on():
    # what looks like half a request is answered, or hung up on, when that is over
    with scratch() as folder, service(folder, "timeout = 2s") as served:
        for bad in BAD_TARGETS:
            status, _, body = served.ask(bad)
            assert status == 400, (bad, status, body)
        for data, allowed in ((b"\0" * 4096 + b"\r\n\r\n", (400, None)),
                              (b"GET\r\n\r\n", (400, None)),
                              (b"GET /metrics HTTP/9.9\r\n\r\n", (400, 505, None)),
                              (b"GET /metrics HTTP/1.1\r\n\r\n", (400, 403)),
                              (b"GET /" + b"a" * (1 << 20), (400, 414, 431, None)),
                              (b"GET /metrics HTTP/1.1\r\nX: " + b"a" * (1 << 20),
                               (400, 413, 431, None)),
                              (b"POST /debug/pprof/symbol?pid=1 HTTP/1.1\r\nHost: localhost\r\n"
                               b"Content-Length: 1000000\r\n\r\n" + b"0x1+" * 250000, (413,)),
                              (b"POST /debug/pprof/symbol?pid=1 HTTP/1.1\r\nHost: localhost\r\n"
                               b"Content-Length: -1\r\n\r\n", (400, None))):
            with served.tcp() as client:
                with contextlib.suppress(ConnectionError):
                    client.sendall(data)
                status = answer_to(client)
            assert status in allowed, (data[:60], status)
        assert served.text("/healthz") == "ok\n"
        assert served.process.poll() is None


@test(need_root, timeout=120)
def who_is_slow_is_left_behind_and_holds_nobody_up():
    with scratch() as folder, service(folder, "timeout = 2s") as served:
        slow = [served.tcp() for _ in range(8)]
        begun = time.monotonic()
        for client in slow:
            client.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nX: ")
        closed = set()
        while len(closed) < len(slow):
            assert time.monotonic() - begun < 60 * lib.PATIENCE, f"{len(closed)} were closed"
            assert served.text("/healthz") == "ok\n"
            for client in slow:
                # A byte now and then: never silent for as long as the timeout.
                try:
                    client.send(b"a")
                except ConnectionError:
                    closed.add(client)
            time.sleep(0.2)
        for client in slow:
            client.close()
        assert served.metric("memtraced_http_closed_connections_total", cause="slow") >= 8


@test(need_root, timeout=120)
def who_takes_no_answer_is_left_behind_and_holds_nobody_up():
    with scratch() as folder, service(folder, "timeout = 1s") as served:
        request = f"GET /metrics HTTP/1.1\r\nHost: localhost\r\n{served.bearer()}\r\n"
        with socket.socket() as client:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            client.connect(("127.0.0.1", served.port))
            client.settimeout(60 * lib.PATIENCE)
            with contextlib.suppress(ConnectionError):
                # Of 10 KB each, more answers than the two buffers hold, and none is read.
                client.sendall(request.encode() * 1000)
                eventually(lambda: served.metric("memtraced_http_connections") == 1,
                           "it is closed", timeout=60)
            assert served.text("/healthz") == "ok\n"


@test(need_root, timeout=60)
def a_user_has_so_many_connections_and_no_more():
    flood = """
import os, socket, sys, time
os.setgroups([]); os.setgid(65534); os.setuid(65534)
clients = [socket.socket(socket.AF_UNIX) for _ in range(40)]
for client in clients:
    client.connect(sys.argv[1])
print("there", flush=True)
sys.stdin.readline()
"""
    with scratch() as folder, service(folder, "max_connections_of_user = 4") as served, \
            started(["/usr/bin/python3", "-c", flood, served.path]) as flooding:
        flooding.lines.until("there")
        eventually(lambda: served.metric("memtraced_http_closed_connections_total",
                                         cause="many") == 36, "36 are closed")
        assert served.metric("memtraced_http_connections") <= 5 + 1


@test(need_root)
def a_token_counts_the_connection_for_its_user():
    with scratch() as folder, service(folder, "max_connections_of_user = 4") as served, \
            contextlib.ExitStack() as stack:
        clients = [stack.enter_context(contextlib.closing(
            http.client.HTTPConnection("localhost", served.port, timeout=30 * lib.PATIENCE)))
            for _ in range(6)]
        for uid, statuses in ((NOBODY, 4 * [200] + 2 * [503]), (0, 6 * [200])):
            got = []
            for client in clients:
                client.request("GET", "/ctl/status",
                               headers={"Authorization": f"Bearer {served.token(uid)}"})
                answer = client.getresponse()
                answer.read()
                got.append(answer.status)
            assert got == statuses, (uid, got)
        assert served.metric("memtraced_http_closed_connections_total", cause="many") == 2


@test(need_root, timeout=60)
def a_trace_ends_when_nobody_waits_for_it_any_more():
    with scratch() as folder, service(folder, trace="max_traces = 1") as served, \
            started([target("leak"), "0", "60000"]) as process:
        pid = process.lines.until("ready")
        with served.tcp() as client:
            client.sendall(f"GET /debug/pprof/heap?pid={pid}&seconds=500 HTTP/1.1\r\n"
                           f"Host: localhost\r\n{served.bearer()}\r\n".encode())
            until_traced(served, 1)
            assert "max_traces" in served.text("/debug/pprof/profile?seconds=1", status=503)
        until_traced(served, 0)
        eventually(lambda: not breakpoints(int(pid)), "the probes are gone")


# --- its end -----------------------------------------------------------------------------------

@test(need_root, each=["TERM", "INT", "KILL"], in_turn=1, timeout=60)
def its_end_leaves_targets_alone(name):
    with scratch() as folder, scratch() as counts, started_target(counts) as process:
        pid = int(process.lines.until("ready"))
        with service(folder) as served:
            asked = Asking(served, f"/debug/pprof/heap?pid={pid}&seconds=50")
            until_traced(served, 1)
            assert breakpoints(pid)
            served.process.send_signal(getattr(signal, "SIG" + name))
            status = served.process.wait(20 * lib.PATIENCE)
            asked.thread.join(20)
            if name == "KILL":
                assert status == -signal.SIGKILL
            else:
                assert status == 0, (status, served.said.buffer)
                assert isinstance(asked.result, tuple) and asked.result[0] == 503, asked.result
                assert not os.path.exists(served.path)
        eventually(lambda: not breakpoints(pid), "the probes are gone")
        work(process)
        finish(process)
        # What a killed one leaves behind is no hindrance.
        with service(folder) as served:
            assert served.text("/healthz") == "ok\n"


# As jemalloc tells of each arena, at the end of a process.
ARENA = re.compile(rb'"\d+":\{"nthreads":(\d+)[^{}]*"dirty_decay_ms":(-?\d+)')


@test(need_root)
def its_loop_waits_neither_for_room_for_descriptors_nor_for_others_memory():
    """It has that room, and an arena that no other thread has, which gives nothing back."""
    tells = ("env", "MALLOC_CONF=stats_print:true,stats_print_opts:J")
    with scratch() as folder, scratch() as counts, started_target(counts) as process, \
            service(folder, within=tells) as served:
        pid = int(process.lines.until("ready"))
        with open(f"/proc/{served.process.pid}/status", encoding="ascii") as file:
            room = next(int(line.split()[1]) for line in file if line.startswith("FDSize:"))
        assert room >= 4096, room
        asked = Asking(served, f"/debug/pprof/heap?pid={pid}&seconds=50")
        until_traced(served, 1)
        served.process.send_signal(signal.SIGTERM)
        said = bytearray()
        while (line := served.said.next()) is not None:
            said += line.encode() + b"\n"
        said += served.said.buffer
        asked.thread.join(20)
    if b'"jemalloc"' not in said:
        raise lib.Skip("this build does not allocate from jemalloc")
    arenas = [(int(threads), int(decay)) for threads, decay in ARENA.findall(said)]
    assert [threads for threads, decay in arenas if decay < 0] == [1], arenas


@test(need_root)
def what_ends_while_it_is_traced_is_answered_at_once():
    with scratch() as folder, scratch() as counts, service(folder) as served, \
            started_target(counts) as process:
        pid = int(process.lines.until("ready"))
        before = counted(counts, pid)
        asked = Asking(served, f"/debug/pprof/heap?pid={pid}&seconds=500&format=json")
        until_traced(served, 1)
        work(process)
        own = since(counts, pid, before)
        process.kill()
        report = schema.loads(asked.body())
        exact(report)
        same(one(report, pid), own)
        assert one(report, pid)["end"]["signal"] == signal.SIGKILL


@test(need_root)
def two_on_one_socket_are_refused():
    with scratch() as folder, service(folder) as served:
        done = run_memtraced("--service", f"--config={folder}/memtraced.conf")
        refused(done, 2, served.path, "another service listens there already")
        assert served.text("/healthz") == "ok\n"


@test(need_root)
def a_wrong_configuration_is_refused_and_at_a_reload_left_aside():
    with scratch() as folder:
        config = os.path.join(folder, "memtraced.conf")
        with open(config, "w", encoding="ascii") as file:
            file.write("[http]\n\nlissten = 127.0.0.1:1\n")
        done = run_memtraced("--service", f"--config={config}")
        refused(done, 1, f"{config}:3:", "did you mean '[http] listen'?")
        with service(folder, trace="max_seconds = 7s") as served:
            too_long = "/debug/pprof/heap?pid=1&seconds=8"
            assert "at most 7 seconds" in served.text(too_long, status=400)
            with open(config, encoding="ascii") as file:
                text = file.read()
            for new, word in ((text.replace("= 7s", "= 7x"), "memtraced: the old configuration"),
                              (text.replace("= 7s", "= 6s"), "memtraced: configuration reloaded")):
                with open(config, "w", encoding="ascii") as file:
                    file.write(new)
                served.process.send_signal(signal.SIGHUP)
                served.said.until(word)
            assert "at most 6 seconds" in served.text(too_long, status=400)
