# SPDX-License-Identifier: GPL-2.0-or-later
"""Names that others chose (of processes, files, functions) reach no terminal and no log as
controls: escape sequences, C1 controls, direction marks, new lines, invalid UTF-8."""

import contextlib
import html.parser
import json
import os
import pty
import re
import socket
import subprocess
import threading
import xml.etree.ElementTree

import hostile
import lib
from cgroups import memory_cgroup, move, rmdir
import schema
from lib import eventually, memtraced, need_root, scratch, test
from test_post_mortem import JOURNAL
from test_service import Asking, service, until_traced

BESIDE_OTHERS = "services"
TEXT_FORMATS = ("table", "json", "html", "folded", "flamegraph", "perf-script", "gprof2dot",
                "speedscope", "callgrind", "massif", "heaptrack", "dhat", "prometheus",
                "openmetrics")
# A function's name, as formats have it whose readers take a backslash as it is.
SEEN = r"a\x1b[2J\u{9b}b"


def unsafe_of(outputs):
    return {name: found for name, data in outputs.items()
            if (found := hostile.unsafe(data)) is not None}


def output_of(*args, status=(0,)):
    """What memtraced wrote to stdout and stderr, as bytes."""
    done = subprocess.run([memtraced(), *args], stdin=subprocess.DEVNULL, capture_output=True,
                          timeout=60, check=False)
    assert done.returncode in status, done
    return done.stdout + done.stderr


@test(need_root, timeout=120)
def names_reach_no_report_as_controls():
    with scratch() as folder:
        program, recording = hostile.build(folder), os.path.join(folder, "run")
        traced = ("--", program, "50", "0")
        outputs = {name: output_of(*options, *traced) for name, options in (
            ("messages", ["-o", f"record:{recording}"]),
            ("jobs", ["--syscalls", "--stacks", "-e", "openat", "--hist=openat,by=comm",
                      "--mappings"]),
            ("leaks", ["--leak-check=full", "--gen-suppressions=all"]),
            ("stream", ["-e", "openat", "--each", "-f", "perf-script"]))}
        for name in TEXT_FORMATS:
            path = os.path.join(folder, name)
            output_of("report", recording, "-o", f"{name}:{path}")
            with open(path, "rb") as file:
                outputs[name] = file.read()
        for name in ("table", "json", "folded", "flamegraph"):
            outputs[f"diff {name}"] = output_of("diff", recording, recording, "-f", name)
    assert not unsafe_of(outputs), unsafe_of(outputs)
    for name in ("table", "folded", "callgrind", "massif", "flamegraph", "leaks"):
        assert SEEN in outputs[name].decode(), (name, outputs[name][:3000])
    assert schema.loads(outputs["json"])["processes"][0]["sites"]


class Elements(html.parser.HTMLParser):
    """Which elements a page has, with their attributes, and what its scripts are."""

    def __init__(self, text):
        super().__init__(convert_charrefs=False)
        self.found, self.scripts = [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, tuple(sorted(name for name, _ in attrs))))

    def handle_data(self, data):
        if self.found and self.found[-1][0] == "script":
            self.scripts.append(data)


def pages(folder, *how):
    """Reports of the program, and whether its names are in them: {format: text}."""
    program = hostile.build(folder, *how)
    found = {}
    for name in ("html", "flamegraph"):
        path = os.path.join(folder, name)
        output_of("-o", f"{name}:{path}", "--", program, "50", "0")
        with open(path, encoding="utf-8") as file:
            found[name] = file.read()
    return found


@test(need_root, timeout=90)
def names_are_no_markup_in_pages_and_pictures():
    """The same elements, attributes and scripts as where all names are plain."""
    plain_names = {name: name for name in hostile.SYMBOLS}
    with scratch() as folder, scratch() as other:
        evil = pages(folder, hostile.MARKUP_SYMBOLS, hostile.MARKUP_FOLDER, hostile.MARKUP_COMM)
        plain = pages(other, plain_names, b"x", b"leak")
    of_evil, of_plain = Elements(evil["html"]), Elements(plain["html"])
    assert of_evil.found == of_plain.found, (of_evil.found, of_plain.found)
    assert of_evil.scripts[1:] == of_plain.scripts[1:], "a script of a name's own"
    data = json.loads(of_evil.scripts[0])
    assert "<script>" in data["strings"] and "</style>" in str(data["strings"]), data["strings"]
    assert data["processes"][0]["comm"] == hostile.MARKUP_COMM.decode(), data["processes"]
    kinds = []
    for text in (evil["flamegraph"], plain["flamegraph"]):
        root = xml.etree.ElementTree.fromstring(text)
        kinds.append({(element.tag, *sorted(element.keys())) for element in root.iter()})
        assert text.count("<script>") == 1 and len(root.findall(".//{*}script")) == 1
    assert kinds[0] == kinds[1], kinds
    titles = [element.text for element in
              xml.etree.ElementTree.fromstring(evil["flamegraph"]).iter() if element.text]
    assert any(text.startswith("<script> (") for text in titles), titles


@test(need_root)
def names_on_the_command_line_reach_no_message_as_controls():
    evil = "e\x1b]0;x\x07\u009b2J\u202e\n"
    with scratch() as folder:
        supp = os.path.join(folder, "supp")
        with open(supp, "w", encoding="utf-8") as file:
            file.write("{\n   " + evil[:-1] + "\n   Memcheck:" + evil + "}\n")
        outputs = {args: output_of(*args, status=(1, 2)) for args in (
            ("report", os.path.join(folder, evil)), ("--" + evil,), ("-p", evil), ("-e", evil),
            ("-o", f"{evil}:x", "-p", "1"), ("-o", f"json:{folder}/{evil}/{evil}", "-p", "1"),
            ("--where", evil, "-p", "1"), ("--hist", evil, "-p", "1"), ("--run-as", evil, "true"),
            ("--service", f"--config={folder}/{evil}"), ("sample", f"--unit={evil}", "--print"),
            ("ctl", f"--socket={folder}/{evil}", "status"), ("diff", evil, evil))}
        # A kind that is not known is left out, with a warning.
        outputs["suppressions"] = output_of("--suppressions=" + supp, "--leak-check=yes", "--",
                                            "true")
        assert b"is not known; skipping" in outputs["suppressions"], outputs["suppressions"]
    assert not unsafe_of(outputs), unsafe_of(outputs)


# Of Prometheus' text format: a label's value ends at the first quote without a backslash.
METRIC = re.compile(r'# (HELP|TYPE) |[a-z_]+({([a-z_]+="([^"\\\n]|\\[\\"n])*",?)*})? [-0-9.e]+$')
CGROUP = 'c"} 1 #\\\x1b[2J\u009b\u202e'
CGROUP_LABEL = r'/c"} 1 #\\x1b[2J\u{9b}\u{202e}'.replace("\\", "\\\\").replace('"', '\\"') + '"'


@contextlib.contextmanager
def hostile_cgroup(outer, process):
    path = os.path.join(outer, CGROUP)
    os.mkdir(path)
    move(process.pid, path)
    try:
        yield
    finally:
        process.kill()
        process.wait()
        eventually(lambda: not rmdir(path), "it is busy")


@test(need_root, timeout=120)
def names_reach_no_entry_of_the_journal_as_controls():
    trace = "[post_mortem]\nformat = json\ntrace = *1m*"
    with scratch() as folder, scratch() as place, \
            socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as journal:
        journal.bind(os.path.join(place, "socket"))
        journal.settimeout(30 * lib.PATIENCE)
        within = ["unshare", "--mount", "sh", "-c", JOURNAL, "sh", place]
        with service(folder, trace=trace, within=within), hostile.running(folder, "0") as process:
            eventually(lambda: lib.breakpoints(process.pid) > 0, "it is not traced", timeout=30)
            process.kill()
            text = journal.recv(65536)
    assert hostile.unsafe(text) is None, text
    fields = dict(line.split("=", 1) for line in text.decode().splitlines())
    assert fields["MEMTRACED_PID"] == str(process.pid), fields
    assert fields["MEMTRACED_COMM"] == r"l\x1b[1m\x0a\u{9b}2J\u{202e}\xff", fields
    assert fields["MEMTRACED_COMM"] in fields["MESSAGE"], fields


@test(need_root, timeout=120)
def names_reach_no_answer_and_no_log_of_the_service_as_controls():
    rule = "[rule big]\nwhen = rss > 64KiB\ncomm = *2J*\ntrace = 1s\ncooldown = 1h"
    watch = "[watch]\ninterval = 1s"
    with scratch() as folder, memory_cgroup(1 << 30) as (outer, _, _), \
            service(folder, trace=f"{watch}\n{rule}") as served, \
            hostile.running(folder, "0") as process, hostile_cgroup(outer, process):
        outputs, pid = {}, process.pid

        def ask(target, **how):
            _, headers, outputs[target] = served.ask(target, **how)
            return dict(headers)

        heap = f"/debug/pprof/heap?pid={pid}&seconds=1&format="
        waiting = {f"{heap}{name}": Asking(served, f"{heap}{name}")
                   for name in ("table", "folded", "perf-script")}
        until_traced(served, 1)
        ask(f"/ctl/trace?pid={pid}&seconds=1&format=folded", method="POST")
        outputs["headers"] = str(ask("/ctl/status")).encode()
        eventually(lambda: b"} 1 #" in served.ask("/metrics")[2], "the cgroup is seen")
        for target in ("/metrics", "/host", "/debug/pprof/"):
            ask(target)
        _, _, outputs["html"] = served.ask("/debug/pprof/", Accept="text/html")
        for target, asking in waiting.items():
            outputs[target] = asking.body()
        with open(f"/proc/{pid}/maps", "rb") as maps:
            address = next(line for line in maps if b" r-xp " in line).split(b"-")[0].decode()
        ask("/debug/pprof/symbol?pid=%d" % pid, method="POST",
            body="+".join(hex(int(address, 16) + at) for at in range(0, 4096, 16)))
        assert b"\\x1b[2J" in outputs["/debug/pprof/symbol?pid=%d" % pid], outputs
        ask("/ctl/reports")
        begins = f"memtraced: process {pid} "
        log = [f"{begins}{served.said.until(begins)}"]
        # Separated by zero bytes, as pprof reads them.
        _, _, command = served.ask(f"/debug/pprof/cmdline?pid={pid}")
        outputs["cmdline"] = command.replace(b"\0", b" ")
        process.kill()
        process.wait()
        served.process.terminate()
        served.process.wait()
        while (line := served.said.next()) is not None:
            log.append(line)
        outputs["log"] = "\n".join(log)
        assert not [line for line in log if not line.startswith("memtraced: ")], log
    assert not unsafe_of(outputs), unsafe_of(outputs)
    assert any(r"\u{9b}2J\u{202e}" in line for line in log), log
    bad = [line for line in outputs["/metrics"].decode().splitlines() if not METRIC.match(line)]
    assert not bad, bad
    assert CGROUP_LABEL in outputs["/metrics"].decode(), \
        re.findall(".*cgroup=.*", outputs["/metrics"].decode())


class Liar:
    """A service that answers with what it likes, once."""

    def __init__(self, path, answer):
        self.server = socket.socket(socket.AF_UNIX)
        self.server.bind(path)
        self.server.listen(1)
        self.answer = answer
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        client, _ = self.server.accept()
        with client, contextlib.suppress(OSError):
            client.recv(65536)
            client.sendall(self.answer)


@test(need_root)
def ctl_believes_no_service_that_writes_to_its_terminal():
    """On a terminal alone: what goes to a file or a pipe are the bytes of the report."""
    body = b"a\x1b]0;x\x07\xc2\x9b31m\xe2\x80\xae\xff\x00b\tc\n"
    shown = rb"a\x1b]0;x\x07\u{9b}31m\u{202e}\xff"
    for status, expected in ((200, shown + rb"\x00b" + b"\tc\r\n"), (404, shown + b"\r\n")):
        with scratch() as folder:
            path = os.path.join(folder, "sock")
            Liar(path, b"HTTP/1.1 %d x\r\n\r\n" % status + body)
            ours, theirs = pty.openpty()
            done = subprocess.Popen([memtraced(), "ctl", f"--socket={path}", "status"],
                                    stdin=theirs, stdout=theirs, stderr=theirs)
            os.close(theirs)
            seen = b""
            with contextlib.suppress(OSError):
                while data := os.read(ours, 65536):
                    seen += data
            os.close(ours)
            assert done.wait() == (0 if status == 200 else 2), done
            assert hostile.unsafe(seen, "\r\n\t") is None and seen.endswith(expected), seen
    with scratch() as folder:
        path = os.path.join(folder, "sock")
        Liar(path, b"HTTP/1.1 200 x\r\n\r\n" + body)
        assert output_of("ctl", f"--socket={path}", "reports", "x") == body
