# SPDX-License-Identifier: GPL-2.0-or-later
"""A server that profiles are pushed to: keeps what was sent, and answers as a test says."""

import contextlib
import http.server
import os
import ssl
import subprocess
import threading
import time
import urllib.parse

import lib


class Request:
    def __init__(self, handler, body):
        self.time = time.time()
        self.method, self.headers, self.body = handler.command, handler.headers, body
        url = urllib.parse.urlsplit(handler.path)
        self.path = url.path
        self.query = dict(urllib.parse.parse_qsl(url.query, strict_parsing=True)
                          if url.query else [])


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        request = Request(self, body)
        with self.server.lock:
            self.server.requests.append(request)
        status, headers, answer = self.server.answer(request)
        if status is None:  # nothing at all, until the client has gone
            self.server.stopped.wait(60)
            self.close_connection = True
            return
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        with contextlib.suppress(OSError):  # who does not want that much has gone
            self.wfile.write(answer)

    do_GET = do_POST

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, port=0):
        super().__init__(("127.0.0.1", port), Handler)
        self.requests, self.lock, self.stopped = [], threading.Lock(), threading.Event()
        self.answer = lambda request: (200, {}, b"")

    def so_far(self):
        with self.lock:
            return list(self.requests)

    def handle_error(self, *_):
        pass  # connections that are closed on it


@contextlib.contextmanager
def push_server(port=0, certificate=None):
    """A server on the loopback interface; .url, .so_far(), .answer(request) -> (status, headers,
    body); a status of None answers nothing."""
    server = Server(port)
    scheme = "http"
    if certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
        scheme = "https"
    server.url = f"{scheme}://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.stopped.set()
        server.shutdown()
        server.server_close()
        thread.join()


def certificate(folder):
    """Key and certificate of 127.0.0.1, signed by itself, in one file."""
    path = os.path.join(folder, "server.pem")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
                    "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1",
                    "-keyout", path, "-out", path + ".crt"], check=True, capture_output=True)
    with open(path + ".crt", encoding="ascii") as crt, open(path, "a", encoding="ascii") as file:
        file.write(crt.read())
    return path


def until_sent(server, n):
    lib.eventually(lambda: len(server.so_far()) >= n, f"{n} requests", timeout=40)
