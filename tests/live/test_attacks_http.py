# SPDX-License-Identifier: GPL-2.0-or-later
"""Requests that are made to be misunderstood, over the Unix socket: one request in another, headers
that can be read in two ways, paths that lead elsewhere."""

import contextlib
import os
import re
import socket

import lib
from lib import need_root, scratch, test
from test_service import service

BESIDE_OTHERS = "services"
POST = b"POST /debug/pprof/symbol?pid=1 HTTP/1.1\r\nHost: localhost\r\n"
GET = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n"
# The request within: it must not be answered.
INNER = GET + b"\r\n"
CHUNKED = b"Transfer-Encoding: chunked\r\n"


def length(n):
    return b"Content-Length: %d\r\n" % n


def answers(served, data):
    """The statuses of all answers, and how many were to INNER. The library writes the headers of
    its own refusals twice."""
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(30 * lib.PATIENCE)
        client.connect(served.path)
        got = b""
        with contextlib.suppress(ConnectionError):
            client.sendall(data)
            client.shutdown(socket.SHUT_WR)
            while data := client.recv(65536):
                got += data
    got = re.sub(rb"(HTTP/1\.1 4\d\d [^\r]*\r\nDate:[^\r]*\r\nConnection: close\r\n"
                 rb"Content-Length: \d+\r\n\r\n)\1", rb"\1", got)
    return [int(code) for code in re.findall(rb"^HTTP/1\.[01] (\d+)", got, re.M)], \
        got.count(b"\r\n\r\nok\n")


# A body that contains a request, by headers of which two readers may believe different ones.
SMUGGLED = {
    "Content-Length and Transfer-Encoding": POST + length(4) + CHUNKED + b"\r\n0\r\n\r\n" + INNER,
    "the other way around": POST + CHUNKED + length(5 + len(INNER)) + b"\r\n0\r\n\r\n" + INNER,
    "two lengths": POST + length(3) + length(3 + len(INNER)) + b"\r\n0x1" + INNER,
    "two lengths, the longer first": POST + length(3 + len(INNER)) + length(3) + b"\r\n0x1" + INNER,
    "a list of lengths": POST + b"Content-Length: 3, 999\r\n\r\n0x1" + INNER,
    "a length with a sign": POST + b"Content-Length: +3\r\n\r\n0x1" + INNER,
    "a length with a space": POST + b"Content-Length: 3 4\r\n\r\n0x1" + INNER,
    "a length in hexadecimal": POST + b"Content-Length: 0x3\r\n\r\n0x1" + INNER,
    "a negative length": POST + b"Content-Length: -3\r\n\r\n0x1" + INNER,
    "a length of 2^64 + 3": POST + b"Content-Length: 18446744073709551619\r\n\r\n0x1" + INNER,
    "a length behind a zero byte": POST + b"Content-Length: 3\0 4\r\n\r\n0x1" + INNER,
    "a space before the colon": POST + b"Content-Length : 3\r\n\r\n0x1" + INNER,
    "a folded length": POST + b"Content-Length:\r\n 3\r\n\r\n0x1" + INNER,
    "an unknown coding": POST + b"Transfer-Encoding: x\r\n\r\n0\r\n\r\n" + INNER,
    "two codings": POST + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n" + INNER,
    "two headers of codings": POST + CHUNKED + b"Transfer-Encoding: x\r\n\r\n0\r\n\r\n" + INNER,
    "a coding behind a control": POST + b"Transfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n" + INNER,
    "a coding, a space, a colon": POST + b"Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n" + INNER,
    "a coding behind a tab": POST + b"Transfer-Encoding:\tchunked\r\n\r\n0\r\n\r\n" + INNER,
    "a coding in HTTP/1.0": POST.replace(b"1.1", b"1.0") + CHUNKED + b"\r\n0\r\n\r\n" + INNER,
    "a chunk without end": POST + CHUNKED + b"\r\nffffffffffffffffff\r\n" + INNER,
    "a negative chunk": POST + CHUNKED + b"\r\n-1\r\n" + INNER,
    "a chunk in hexadecimal's other form": POST + CHUNKED + b"\r\n0x3\r\n0x1\r\n0\r\n\r\n" + INNER,
    "a chunk that ends elsewhere": POST + CHUNKED + b"\r\n3\r\n0x1XX0\r\n\r\n" + INNER,
    "chunks with bare line feeds": POST + CHUNKED + b"\r\n3\n0x1\n0\n\n" + INNER,
    "an extension with a line feed": POST + CHUNKED + b"\r\n3;a\nx\r\n0x1\r\n0\r\n\r\n" + INNER,
    "a request behind a whole one": POST + length(3) + b"\r\n0x1" + INNER,
}
# Refused, or taken for what all readers take them for.
ODD = {
    "a folded header": (GET + b"X: a\r\n b: c\r\n\r\n", (400,)),
    "a carriage return": (GET + b"X: a\rContent-Length: 5\r\n\r\n", (400,)),
    "a zero byte in a name": (GET + b"X\0: a\r\n\r\n", (400,)),
    "a header without a colon": (GET + b"nonsense\r\n\r\n", (400,)),
    "a name with a space": (GET + b"X Y: x\r\n\r\n", (400,)),
    "two hosts": (GET + b"Host: evil.example\r\n\r\n", (400,)),
    "a proxy's form": (b"GET http://localhost/healthz HTTP/1.1\r\nHost: localhost\r\n\r\n", (400,)),
    "a tunnel": (b"CONNECT localhost:80 HTTP/1.1\r\nHost: localhost\r\n\r\n", (400,)),
    "HTTP/2": (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", (400, 505)),
    "HTTP/0.9": (b"GET /healthz\r\n\r\n", (400,)),
    "a lower case method": (INNER.replace(b"GET", b"get"), (405,)),
    "an overridden method": (b"POST /healthz HTTP/1.1\r\nHost: localhost\r\n"
                             b"X-HTTP-Method-Override: GET\r\nContent-Length: 0\r\n\r\n", (405,)),
    "five thousand headers": (GET + b"".join(b"X%d: a\r\n" % i for i in range(5000)) + b"\r\n",
                              (431,)),
    "a line without end": (b"GET /" + b"a" * (1 << 17), (400, 414, 431)),
    "a header without end": (GET + b"X: " + b"a" * (1 << 17), (400, 413, 431)),
    "a body without end": (POST + length(1 << 30) + b"\r\n" + b"0x1+" * (1 << 16), (413,)),
}


@test(need_root, timeout=90)
def a_request_within_another_is_not_answered():
    with scratch() as folder, service(folder, "timeout = 1s") as served:
        for name, data in SMUGGLED.items():
            codes, smuggled = answers(served, data)
            assert len(codes) <= 1 and smuggled == 0, (name, codes, smuggled)
            assert not codes or codes[0] >= 400, (name, codes)
        for name, (data, allowed) in ODD.items():
            codes, _ = answers(served, data)
            assert len(codes) <= 1 and (not codes or codes[0] in allowed), (name, codes)
        # Of requests without bodies, several may follow each other.
        assert answers(served, 3 * INNER) == ([200, 200, 200], 3)
        assert served.text("/healthz") == "ok\n" and served.process.poll() is None


UP = ("../memtraced.conf", "..%2fmemtraced.conf", "%2e%2e/memtraced.conf", "..%252fmemtraced.conf",
      "%252e%252e%252fmemtraced.conf", "death-/../../memtraced.conf",
      "trace-%2f..%2f../memtraced.conf",
      "/etc/shadow", "%2fetc%2fshadow", "trace-x%00.json", "..%c0%af..%c0%afmemtraced.conf",
      "..\\memtraced.conf", "..%5cmemtraced.conf", "trace-link.json", "trace-folder.json",
      "trace-fifo.json", "file:///etc/shadow", "~root", ".", "..", "%2e", "")
ROUTES = ("/ctl/reports?name=", "/report?name=", "/ctl/reports/", "/report/", "/", "/debug/pprof/")


@test(need_root, timeout=60)
def no_path_leads_out_of_the_reports():
    with scratch() as folder, service(folder) as served:
        state = os.path.join(folder, "state")
        os.makedirs(state, exist_ok=True)
        with open(os.path.join(folder, "memtraced.conf"), encoding="ascii") as file:
            secret = file.read()
        os.symlink(os.path.join(folder, "memtraced.conf"), os.path.join(state, "trace-link.json"))
        os.mkdir(os.path.join(state, "trace-folder.json"))
        os.mkfifo(os.path.join(state, "trace-fifo.json"))
        with open(os.path.join(state, "trace-own.json"), "w", encoding="ascii") as file:
            file.write("own")
        assert served.text("/ctl/reports?name=trace-own.json") == "own"
        for route in ROUTES:
            for name in UP:
                status, _, body = served.ask(route + name)
                assert secret.encode() not in body and b"root:" not in body, (route, name)
                assert status in (400, 404) or name == "", (route, name, status)
