# SPDX-License-Identifier: GPL-2.0-or-later
"""Attacks on how the service tells who asks: TCP peers, tokens, pages of other sites, names that
are not the asker's."""

import base64
import contextlib
import http.server
import json
import os
import signal
import socket
import threading

import browser
from lib import (Lines, Skip, eventually, need_kernel, need_program, need_root, run, scratch,
                 started, target, target_for_all, test)
from test_attacks_setuid import become, build
from test_ctl import nobodys_targets
from test_service import NOBODY, ask_as, service, until_traced
from test_systemd import inherit

BESIDE_OTHERS = "services"
# Sends a request and closes without reading the answer, while the service does not run.
SEND_AND_CLOSE = """
import os, socket, sys
os.setgroups([]); os.setgid(int(sys.argv[1])); os.setuid(int(sys.argv[1]))
client = socket.create_connection(("127.0.0.1", int(sys.argv[2])))
client.sendall(f"POST {sys.argv[3]} HTTP/1.1\\r\\nHost: localhost\\r\\n"
               "Content-Length: 0\\r\\n\\r\\n".encode())
client.close()
"""


# Asks for a profile of the whole host, which is root's.
ASK_FOR_ALL = """
import socket, sys
client = socket.socket(socket.AF_UNIX)
client.connect(sys.argv[1])
client.sendall(b"GET /debug/pprof/profile?seconds=1 HTTP/1.1\\r\\n"
               b"Host: localhost\\r\\nConnection: close\\r\\n\\r\\n")
print(client.recv(65536).split()[1].decode())
"""
# A set-user-ID program that asks the same over its standard input.
ASKER = r"""
#include <stdio.h>
#include <unistd.h>

int main(void)
{
	static const char ask[] = "GET /debug/pprof/profile?seconds=1 HTTP/1.1\r\n"
				  "Host: localhost\r\n\r\n";
	char answer[4096];
	ssize_t n = write(0, ask, sizeof(ask) - 1) < 0 ? -1 : read(0, answer, sizeof(answer) - 1);

	answer[n < 0 ? 0 : n] = 0;
	printf("uid %d %s\n", (int)geteuid(), answer);
	return 0;
}
"""
# Connects, and then is another program.
CONNECT_AND_EXECUTE = """
import os, socket, sys
client = socket.socket(socket.AF_UNIX)
client.connect(sys.argv[1])
os.dup2(client.fileno(), 0)
os.execv(sys.argv[2], sys.argv[2:])
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
                        f"/ctl/trace?pid={pid}&seconds=1"])
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
    """The names of cgroups, rules, servers and of others' processes, on all pages that list any."""
    with scratch() as folder, service(folder, trace=NAMED) as served, \
            started([target_for_all(folder, "leak", "leak-of-root"), "0", "60000"]) as process:
        process.lines.until("ready")

        def shown_to_root():
            """All names; none while a page lacks one: cgroups of others come and go."""
            cgroups = json.loads(served.text("/host"))["cgroups"]
            names = ["of-the-administrator", "to-the-administrator", "leak-of-root",
                     *(f'cgroup="{group["name"]}"' for group in cgroups)]
            roots = ask_as(served, where, "/metrics", uid=0)[0]
            assert roots.startswith("200 "), roots
            return names if cgroups and all(name in roots for name in names) else None

        names = eventually(shown_to_root, "each name on root's page")
        pages = ("/metrics", "/host", "/ctl/status", "/debug/pprof/", "/debug/pprof/heap")
        for page, answer in zip(pages, ask_as(served, where, *pages), strict=True):
            assert answer[:3] in ("200", "400"), (page, answer)
            shown = [name for name in [*names, "cgroup="] if name in answer]
            assert not shown, (page, shown)
        assert json.loads(ask_as(served, where, "/host")[0][4:])["cgroups"] == []


# --- tokens ------------------------------------------------------------------------------------

OTHER = 65533  # a user beside NOBODY


def talk(served, request):
    """All that comes over TCP until the service closes the connection."""
    with served.tcp() as client:
        client.sendall(request.encode())
        data = b""
        with contextlib.suppress(ConnectionResetError):
            while got := client.recv(65536):
                data += got
    return data.decode(errors="replace")


def request_for(path, *headers, method="GET", more="Connection: close\r\n"):
    lines = "".join(f"{header}\r\n" for header in headers)
    return f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n{more}{lines}\r\n"


def status_of(served, path, *headers, method="GET"):
    return int(talk(served, request_for(path, *headers, method=method)).split()[1])


def basic(token, user=""):
    return f"Authorization: Basic {base64.b64encode(f'{user}:{token}'.encode()).decode()}"


@test(need_root)
def without_a_token_tcp_is_told_nothing():
    with scratch() as folder, service(folder) as served:
        for method, paths in (("GET", ("/", "/host", "/report?name=x", "/metrics", "/ctl/status",
                                       "/ctl/reports", "/debug/pprof", "/debug/pprof/",
                                       "/debug/pprof/heap", "/debug/pprof/profile?seconds=1",
                                       "/debug/pprof/growth", "/debug/pprof/cmdline?pid=1")),
                              ("POST", ("/ctl/trace?pid=1&seconds=1", "/ctl/token",
                                        "/ctl/token/revoke", "/debug/pprof/symbol?pid=1"))):
            for path in paths:
                said = talk(served, request_for(path, method=method, more=""))
                assert said.startswith("HTTP/1.1 401 "), (path, said)
                assert 'WWW-Authenticate: Basic realm="memtraced"' in said, said
                assert "/debug/pprof/" not in said and "pid" not in said.split("\r\n\r\n")[1], said
        assert talk(served, request_for("/healthz")).endswith("\r\n\r\nok\n")


def token_file(folder, token):
    """The line of [http] that names a file with that token."""
    path = os.path.join(folder, "token")
    with open(path, "w", encoding="ascii", opener=lambda *how: os.open(*how, 0o600)) as file:
        file.write(f"{token}\n")
    return f"token_file = {path}"


@test(need_root)
def a_wrong_token_is_refused_and_ends_its_connection():
    roots = "0123456789abcdef"
    with scratch() as folder, service(folder, token_file(folder, roots)) as served:
        for token in (served.token(NOBODY), roots):
            wrong = (token[:-1], token + "0", token[:-1] + "g", token.upper(), "", " ", "*",
                     token + "," + token, f'"{token}"', "x" * 300, "x" * 20000)
            headers = [f"Authorization: Bearer {text}" for text in wrong]
            headers += [basic(text) for text in wrong]
            headers += ["Authorization:", f"Authorization: {token}", basic(token)[:-3] + "===",
                        f"Authorization: Digest {token}", f"X-Authorization: Bearer {token}",
                        f"Proxy-Authorization: Bearer {token}", f"Cookie: token={token}"]
            for header in headers:
                # What comes behind a wrong one over this connection is not looked at.
                right = request_for("/metrics", f"Authorization: Bearer {token}")
                said = talk(served, request_for("/metrics", header, more="") + right)
                assert said.count("HTTP/1.1 ") == 1, (header, said)
                assert said.startswith("HTTP/1.1 401 "), (header, said)
            for header in (f"Authorization: Bearer {token}", basic(token), basic(token, "me")):
                assert status_of(served, "/metrics", header) == 200, header
        assert served.metric("memtraced_http_tokens_refused_total") > 40


@test(need_root)
def a_token_gives_the_rights_of_its_user_alone():
    with scratch() as folder, service(folder) as served, nobodys_targets(1) as (pid,):
        tokens = {uid: served.token(uid) for uid in (0, NOBODY, OTHER)}
        assert len(set(tokens.values())) == 3, "two users have one token"
        for uid, cmdline, host in ((0, 200, 200), (NOBODY, 200, 403), (OTHER, 403, 403)):
            header = f"Authorization: Bearer {tokens[uid]}"
            got = status_of(served, f"/debug/pprof/cmdline?pid={pid}", header)
            assert got == cmdline, (uid, got)
            got = status_of(served, "/debug/pprof/profile?seconds=1", header)
            assert got == host, (uid, got)
            # By a token no other one can be had, nor is one ended.
            for path in ("/ctl/token", "/ctl/token/revoke"):
                assert status_of(served, path, header, method="POST") == 403, (uid, path)
                assert status_of(served, path, header) == 405, (uid, path)
            assert status_of(served, "/metrics", header) == 200, uid
        # Over the Unix socket the kernel says whose token is made, whatever the request carries.
        asked = served.ask("/ctl/token", method="POST",
                           Authorization=f"Bearer {tokens[NOBODY]}")[2].decode().strip()
        assert status_of(served, f"/debug/pprof/cmdline?pid={os.getpid()}",
                         f"Authorization: Bearer {asked}") == 200


@test(need_root)
def a_token_ends_when_it_is_revoked_expires_or_is_one_too_many():
    with scratch() as folder, service(folder) as served:
        def answered(token):
            return status_of(served, "/metrics", f"Authorization: Bearer {token}")

        short, long = served.ctl("token", "--for=5s", uid=NOBODY).strip(), served.token(NOBODY)
        assert (answered(short), answered(long)) == (200, 200)
        eventually(lambda: answered(short) == 401, "it has expired")
        many = [served.token(NOBODY) for _ in range(9)]
        assert [answered(token) for token in (long, *many)] == [401, 401] + 8 * [200]
        others = served.token(OTHER)
        assert served.ctl("token", "--revoke", uid=NOBODY) == "8 tokens revoked\n"
        assert {answered(token) for token in many} == {401}
        assert answered(others) == 200
        assert served.ctl("token", "--for=25h", status=2) == ""
    with scratch() as folder, service(folder) as served:
        assert answered(others) == 401, "it is valid for another service"


@test(need_root)
def who_has_revoked_a_token_is_not_read_by_it_any_more():
    """A thief's request waits for a trace when the token is revoked."""
    with scratch() as folder, service(folder) as served, nobodys_targets(1) as (pid,), \
            served.tcp() as thief:
        header = f"Authorization: Bearer {served.token(NOBODY)}"
        thief.sendall(request_for(f"/debug/pprof/heap?pid={pid}&seconds=500", header).encode())
        until_traced(served, 1)
        served.ctl("token", "--revoke", uid=NOBODY)
        assert thief.recv(65536) == b""
        until_traced(served, 0)


@test(need_root)
def a_new_token_file_ends_what_the_old_one_has_begun():
    old, new = "0123456789abcdef", "fedcba9876543210"
    with scratch() as folder, service(folder, token_file(folder, old)) as served, \
            started([target("leak"), "0", "60000"]) as process, served.tcp() as thief:
        pid = process.lines.until("ready")
        own, header = served.token(NOBODY), f"Authorization: Bearer {old}"
        thief.sendall(request_for(f"/debug/pprof/heap?pid={pid}&seconds=500", header).encode())
        until_traced(served, 1)
        token_file(folder, new)
        served.process.send_signal(signal.SIGHUP)
        assert thief.recv(65536) == b""
        until_traced(served, 0)
        for token, status in ((old, 401), (new, 200), (own, 200)):
            got = status_of(served, "/metrics", f"Authorization: Bearer {token}")
            assert got == status, (token, got)


@test(need_root)
def a_token_in_an_address_is_no_token_and_is_written_nowhere():
    with scratch() as folder, service(folder) as served:
        token, roots = served.token(NOBODY), served.token()
        for text in (token, roots):
            for path in (f"/metrics?token={text}", f"/metrics?access_token={text}",
                         f"/{text}/metrics", f"/metrics?name={text}", f"/ctl/reports?name={text}",
                         f"http://:{text}@localhost/metrics"):
                assert status_of(served, path) in (400, 401, 404), path
            assert status_of(served, f"/ctl/reports?name={text}",
                             f"Authorization: Bearer {text}") == 404
            assert served.ask(f"/ctl/trace?pid=1&seconds=1&format={text}", method="POST")[0] == 400
        pages = "".join(served.text(page) for page in ("/metrics", "/host", "/ctl/status"))
        served.process.send_signal(signal.SIGTERM)
        assert served.process.wait(20) == 0
        written = served.process.stderr.read().decode() + served.said.buffer.decode() + pages
        for place, _, names in os.walk(folder):
            for name in names:
                with open(os.path.join(place, name), encoding="utf-8", errors="replace") as file:
                    written += file.read()
        assert token not in written and roots not in written


# --- connections that are held -----------------------------------------------------------------

HOLD = """
import os, socket, sys, time
where, uids = sys.argv[1], [int(uid) for uid in sys.argv[2].split(",")]
held = []
for uid in uids:
    os.setresuid(uid, uid, 0)
    for _ in range(int(sys.argv[3])):
        held.append(socket.socket(socket.AF_UNIX if where[0] == "/" else socket.AF_INET))
        held[-1].connect(where if where[0] == "/" else ("127.0.0.1", int(where)))
    os.setresuid(0, 0, 0)
print("there", flush=True)
sys.stdin.readline()
"""


@test(need_root, each=["unix", "tcp"])
def users_who_hold_connections_keep_no_others_out(where):
    """Five users with as many as they may have, or 200 over TCP without a token; none asks, and
    none is closed for that while the test runs."""
    with scratch() as folder, service(folder, "timeout = 10m") as served:
        place, users, each = (served.path, range(2000, 2005), 16) if where == "unix" else \
            (str(served.port), [NOBODY], 200)
        with started(["/usr/bin/python3", "-c", HOLD, place, ",".join(map(str, users)),
                      str(each)]) as holding:
            holding.lines.until("there")
            for _ in range(5):
                assert served.text("/healthz") == "ok\n"
                assert ask_as(served, where, "/ctl/status", uid=0)[0].startswith("200 ")
            if where == "tcp":
                assert status_of(served, "/healthz") == 200
                assert ask_as(served, where, "/ctl/status")[0].startswith("200 ")
            assert served.metric("memtraced_http_connections") > (64 if where == "unix" else 32)


def passes_descriptor(client):
    """Whoever receives it closes it, and waits then: for what is not sent of a TCP connection, for
    as long as SO_LINGER says."""
    try:
        socket.send_fds(client, [b"G"], [client.fileno()])
    except PermissionError:
        return False
    return True


@test(need_root, lambda: need_kernel(6, 16))
def no_descriptor_can_be_passed_to_a_service():
    with scratch() as folder, service(folder) as served, \
            started([target("leak"), "0", "60000"]) as process, \
            socket.socket(socket.AF_UNIX) as client:
        pid = int(process.lines.until("ready"))
        client.connect(served.path)
        assert not passes_descriptor(client)
        client.sendall(request_for(f"/debug/pprof/heap?pid={pid}&seconds=500").encode())
        until_traced(served, 1)
        assert not passes_descriptor(client)
        with stopped(served.process), socket.socket(socket.AF_UNIX) as not_accepted:
            not_accepted.connect(served.path)
            assert not passes_descriptor(not_accepted)


@test(need_root, lambda: need_kernel(6, 16))
def no_descriptor_can_be_passed_over_a_socket_of_systemds():
    with scratch() as folder, socket.socket(socket.AF_UNIX) as given, \
            socket.socket(socket.AF_UNIX) as before, socket.socket(socket.AF_UNIX) as later:
        path, config = (os.path.join(folder, name) for name in ("http.sock", "memtraced.conf"))
        with open(config, "w", encoding="ascii"):
            pass
        given.bind(path)
        given.listen()
        before.connect(path)
        with inherit(folder, config, given) as process:
            Lines(process.stderr).until("memtraced: ready")
            before.sendall(request_for("/healthz", more="").encode())
            assert before.recv(65536).endswith(b"\r\n\r\nok\n")
            later.connect(path)
            assert not passes_descriptor(before) and not passes_descriptor(later)


# --- pages of other sites, in a browser that knows the token -------------------------------------

OTHER_SITE = """<!DOCTYPE html><body>
<form method="POST" target="form" action="{url}/ctl/trace?pid={pid}&seconds=1"></form>
<iframe name="form"></iframe><iframe src="{url}/debug/pprof/heap?pid={pid}&seconds=1"></iframe>
<img src="{url}/debug/pprof/heap?pid={pid}&seconds=1">
<link rel="stylesheet" href="{url}/debug/pprof/heap?pid={pid}&seconds=1">
<script src="{url}/debug/pprof/heap?pid={pid}&seconds=1"></script>
<script>
document.forms[0].submit();
const how = {{ mode: "no-cors", credentials: "include" }};
Promise.allSettled([
    fetch("{url}/ctl/trace?pid={pid}&seconds=1", {{ method: "POST", ...how }}),
    fetch("{url}/ctl/token", {{ method: "POST", ...how }}),
    fetch("{url}/host", how).then(a => a.text()).then(t => {{ document.title = t; }}),
    fetch("{url}/metrics", {{ credentials: "include" }}),
    fetch("{url}/debug/pprof/heap?pid={pid}&seconds=1", how),
]).then(() => {{ document.body.dataset.done = "1"; }});
</script></body>"""


@test(need_root, need_program("chromium"), timeout=120)
def pages_of_other_sites_cannot_use_a_token_that_a_browser_knows():
    """The other site is another port of this host, which any user may listen on."""
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):  # the name is http.server's
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(page_text.encode())

        def log_message(self, *words):
            pass

    with scratch() as folder, service(folder) as served, nobodys_targets(1) as (pid,), \
            http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as other:
        threading.Thread(target=other.serve_forever, daemon=True).start()
        url = f"http://localhost:{served.port}"
        page_text = OTHER_SITE.format(url=url, pid=pid)
        with browser.page(served.url("/metrics"), folder) as page:
            assert "memtraced_traces" in page.value("document.body.innerText")
            for name in ("localhost", "127.0.0.1"):
                before = served.metric("memtraced_http_answers_total", code="4xx")
                page.open(f"http://{name}:{other.server_address[1]}/")
                page.until("document.body.dataset.done === '1'")
                # 5 requests by scripts and 5 by elements of the page, of which it waits for none.
                eventually(lambda before=before: served.metric(
                    "memtraced_http_answers_total", code="4xx") >= before + 10, "all are answered")
                assert page.value("document.title") == ""
            # The browser still knows the token.
            page.open(f"{url}/metrics")
            assert "memtraced_traces" in page.value("document.body.innerText")
        other.shutdown()
        assert served.metric("memtraced_traces_total") == 0


@test(need_root, need_program("unshare"))
def root_of_an_own_user_namespace_is_its_user():
    with scratch() as folder, service(folder) as served:
        os.chmod(folder, 0o755)
        if run(["unshare", "-Ur", "true"], preexec_fn=become()).returncode != 0:
            raise Skip("users may make no user namespaces here")
        asked = run(["unshare", "-Ur", "/usr/bin/python3", "-c", ASK_FOR_ALL, served.path],
                    preexec_fn=become())
        assert asked.stdout == "403\n", asked


@test(need_root, need_program("cc"))
def a_connection_stays_that_of_the_user_who_made_it():
    """Its maker executes a set-user-ID program, which asks."""
    with scratch() as folder, service(folder) as served:
        os.chmod(folder, 0o755)
        program = build(folder, "asker", 0o4755, source=ASKER)
        asked = run(["/usr/bin/python3", "-c", CONNECT_AND_EXECUTE, served.path, program],
                    preexec_fn=become())
        assert asked.stdout.startswith("uid 0 "), asked
        assert "HTTP/1.1 403 " in asked.stdout, asked
