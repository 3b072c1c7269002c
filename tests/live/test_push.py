# SPDX-License-Identifier: GPL-2.0-or-later
"""Profiles that --service pushes: what Pyroscope and Parca are sent, checked by their published
interfaces, and servers that fail in any way."""

import base64
import contextlib
import json
import os
import re
import signal
import sys
import time

import lib
from lib import (eventually, need_program, need_root, run_memtraced, scratch, started, target, test)
from push_server import certificate, push_server, until_sent
from test_ctl import ctl
from test_attach import counted, since, started_target, work
from test_service import finish, service

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "replay"))
import pprof_wire  # noqa: E402  (it is beside the golden files that it reads)

STANDING = "[post_mortem]\nreports = no\ntrace = attach\n"


def push(to, url, *more, profiles="heap, allocs", every="1s", name="one"):
    return "\n".join([f"[push {name}]", f"to = {to}", f"url = {url}", f"every = {every}",
                      f"profiles = {profiles}", *more, ""])


@contextlib.contextmanager
def pushing(folder, *targets):
    with service(folder, trace=STANDING + "".join(targets)) as served:
        yield served


def of_function(profile, function):
    """Sums of the values of the heap's samples whose stacks have it."""
    strings = profile["string_table"]
    functions = {row["id"] for row in profile["function"] if strings[row["name"]] == function}
    places = {row["id"] for row in profile["location"]
              if functions & {line["function_id"] for line in row["line"]}}
    for sample in profile["sample"]:
        assert [(strings[row["key"]], strings[row["str"]]) for row in sample["label"]] in (
            [], [("class", "mmap")]), sample
    samples = [s["value"] for s in profile["sample"]
               if places & set(s["location_id"]) and not s["label"]]
    return [sum(values) for values in zip(*samples)] or [0, 0]


def types(profile):
    strings = profile["string_table"]
    return [(strings[row["type"]], strings[row["unit"]]) for row in profile["sample_type"]]


HEAP = [("inuse_objects", "count"), ("inuse_space", "bytes")]
ALLOCS = [("alloc_objects", "count"), ("alloc_space", "bytes")]
CPU = [("samples", "count"), ("cpu", "nanoseconds")]


def check_times(profile, request):
    """A level is of a moment; what came since the profile before has a length."""
    end = (profile["time_nanos"] + profile["duration_nanos"]) / 1e9
    assert request.time - 30 * lib.PATIENCE < end <= request.time + 1, (end, request.time)
    assert (profile["duration_nanos"] == 0) == (types(profile) == HEAP), profile["duration_nanos"]


# --- what is sent ---------------------------------------------------------------------------------

def pyroscope(request):
    """The service's name, its labels, and the profile of POST /ingest."""
    assert (request.method, request.path) == ("POST", "/ingest"), (request.method, request.path)
    assert request.headers["Content-Type"] == "application/octet-stream"
    assert request.headers["User-Agent"].startswith("memtraced/")
    assert request.headers["Expect"] is None and request.headers["Content-Encoding"] is None
    assert set(request.query) == {"format", "spyName", "name", "from", "until"}, request.query
    assert (request.query["format"], request.query["spyName"]) == ("pprof", "memtraced")
    begin, end = int(request.query["from"]), int(request.query["until"])
    assert begin <= end <= request.time + 1, request.query
    found = re.fullmatch(r"([a-zA-Z0-9_./-]+)\{([^{}]*)\}", request.query["name"])
    assert found, request.query["name"]
    labels = dict(pair.split("=", 1) for pair in found.group(2).split(","))
    assert all(re.fullmatch("[a-zA-Z0-9_.]+", name) for name in labels), labels
    return found.group(1), labels, pprof_wire.read(request.body)


def parca(request):
    """The same of the JSON of WriteRaw."""
    assert (request.method, request.path) == ("POST", "/profiles/writeraw"), request.path
    assert request.headers["Content-Type"] == "application/json" and not request.query
    series, = json.loads(request.body)["series"]
    assert set(series) == {"labels", "samples"} and set(series["labels"]) == {"labels"}, series
    labels = {row["name"]: row["value"] for row in series["labels"]["labels"]}
    assert len(labels) == len(series["labels"]["labels"]), series["labels"]
    sample, = series["samples"]
    assert set(sample) == {"rawProfile"}
    profile = pprof_wire.read(base64.b64decode(sample["rawProfile"], validate=True))
    name = "process_cpu" if types(profile) == CPU else "memory"
    assert labels.pop("__name__") == name, (name, labels)
    return labels.pop("service_name"), labels, profile


def cgroup(pid="self"):
    """The path that says most, as the manual has it."""
    with open(f"/proc/{pid}/cgroup", encoding="utf-8") as file:
        rows = {names: path for _, names, path in (line.rstrip("\n").split(":", 2)
                                                   for line in file)}
    paths = [rows[names] for names in ("", "name=systemd", "memory") if names in rows]
    return next((path for path in paths if path != "/"), "/")


def check_labels(labels, pid):
    expected = {"host": os.uname().nodename, "pid": str(pid), "comm": "attach",
                "exe": os.path.realpath(target("attach")), "cgroup": cgroup()}
    assert expected.items() <= labels.items(), (expected, labels)


READERS = {"pyroscope": pyroscope, "parca": parca}


class Told:
    """What a server was told of one process: sums of what was allocated, and the last level."""

    def __init__(self, to, server, pid):
        self.allocs, self.heap, self.profiles = [0, 0], None, 0
        for request in server.so_far():
            name, labels, profile = READERS[to](request)
            check_times(profile, request)
            if labels["pid"] != str(pid):
                continue
            assert name == "attach", name
            check_labels(labels, pid)
            self.profiles += 1
            values = of_function(profile, "new_blocks")
            if types(profile) == ALLOCS:
                self.allocs = [a + b for a, b in zip(self.allocs, values)]
            else:
                assert types(profile) == HEAP
                self.heap = values


@test(need_root, each=["pyroscope", "parca"], timeout=90)
def counts_add_up_to_what_was_allocated(to):
    with scratch() as folder, scratch() as counts, started_target(counts) as process, \
            push_server() as server, pushing(folder, push(to, server.url)) as served:
        pid = int(process.lines.until("ready"))
        before = counted(counts, pid)
        work(process)
        own = since(counts, pid, before)
        eventually(lambda: Told(to, server, pid).heap == [own["live_blocks"], own["live_bytes"]],
                   "the heap as the target has it", timeout=40)
        assert Told(to, server, pid).allocs == [own["allocs"], own["bytes"]]
        said = ctl(served, "status")
        assert re.search(rf"^push one to {server.url}: \d+ profiles sent, 0 rejected, 0 dropped; ",
                         said, re.M), said
        finish(process)
        served.process.send_signal(signal.SIGTERM)
        assert served.process.wait(30) == 0
        # What came between the last time and the end is not lost.
        own = since(counts, pid, before)
        assert Told(to, server, pid).allocs == [own["allocs"], own["bytes"]]
