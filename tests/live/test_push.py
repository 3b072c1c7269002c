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

import lib
from lib import (eventually, need_long, need_program, need_root, need_sampling,
                 run_memtraced, scratch, send_line, started, target, test)
from push_server import certificate, push_server, until_sent
from test_attach import counted, since, started_target, work
from test_ctl import ctl
from test_service import finish, service, until_traced

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "replay"))
import otlp_wire  # noqa: E402  (they are beside the golden files that they read)
import pprof_wire  # noqa: E402

BESIDE_OTHERS = "services"
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
    return [sum(values) for values in zip(*samples)][:2] or [0, 0]


def types(profile):
    strings = profile["string_table"]
    return [(strings[row["type"]], strings[row["unit"]]) for row in profile["sample_type"]]


HEAP = [("inuse_objects", "count"), ("inuse_space", "bytes"), ("mapped_regions", "count"),
        ("mapped_space", "bytes")]
ALLOCS = [("alloc_objects", "count"), ("alloc_space", "bytes"), ("mmap_calls", "count"),
          ("mmap_space", "bytes")]
CPU = [("samples", "count"), ("cpu", "nanoseconds")]
GROWTH = [("samples", "count"), ("growth", "bytes")]


def check_times(profile, request):
    """A level is of a moment; what came since the profile before has a length."""
    end = (profile["time_nanos"] + profile["duration_nanos"]) / 1e9
    assert request.time - 30 * lib.PATIENCE < end <= request.time + 1, (end, request.time)
    # What has mappings alone, as another test's process may, has no others in OTLP.
    is_level = types(profile)[:2] in (HEAP[:2], HEAP[2:])
    assert (profile["duration_nanos"] == 0) == is_level, profile["duration_nanos"]


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


LABELS = {"host.name": "host", "process.pid": "pid", "process.executable.name": "comm",
          "process.executable.path": "exe", "process.linux.cgroup": "cgroup"}


def otlp(request, wanted=(b"process.executable.build_id.gnu",)):
    """The same of OTLP/HTTP, with Prometheus' names for labels."""
    assert (request.method, request.path) == ("POST", "/v1development/profiles"), request.path
    assert request.headers["Content-Type"] == "application/x-protobuf" and not request.query
    assert request.headers["Content-Encoding"] == "gzip"
    read = otlp_wire.read(request.body)
    labels, profile = otlp_wire.as_pprof(read)
    assert isinstance(labels["process.pid"], int), labels
    words = read["dictionary"]
    keys = {words["strings"][row["key"]] for row in words["attributes"][1:]}
    assert {b"profile.frame.type", b"memtraced.exact", *wanted} <= keys, keys
    scope, = read["resource_profiles"][0]["scope_profiles"]
    ids = [row["profile_id"] for row in scope["profiles"]]
    assert len(set(ids)) == len(ids) in (2, 4) and {len(id_) for id_ in ids} == {16}, ids
    name = labels.pop("service.name")
    return name, {LABELS.get(key, key): str(value) for key, value in labels.items()}, profile


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


def otlp_of_anybody(request):
    """Whose stack may be of the kernel alone, or of no file that is known."""
    return otlp(request, wanted=())


READERS = {"pyroscope": pyroscope, "parca": parca, "otlp": otlp}


class Told:
    """What a server was told of one process: sums of what was allocated, and the last level."""

    def __init__(self, to, server, pid):
        self.allocs, self.heap = [0, 0], None
        for request in server.so_far():
            name, labels, profile = READERS[to](request)
            check_times(profile, request)
            if labels["pid"] != str(pid):
                continue
            assert name == "attach", name
            check_labels(labels, pid)
            values = of_function(profile, "new_blocks")
            if types(profile)[:2] == ALLOCS[:2]:
                self.allocs = [a + b for a, b in zip(self.allocs, values)]
            else:
                assert types(profile)[:2] == HEAP[:2]
                self.heap = values

    def levels(self):
        return self.heap, self.allocs


@test(need_root, each=["pyroscope", "parca", "otlp"], in_turn=1, timeout=90)
def counts_add_up_to_what_was_allocated(to):
    with scratch() as folder, scratch() as counts, started_target(counts) as process, \
            push_server() as server, pushing(folder, push(to, server.url)) as served:
        pid = int(process.lines.until("ready"))
        before = counted(counts, pid)
        work(process)
        own = since(counts, pid, before)
        heap, allocs = [own["live_blocks"], own["live_bytes"]], [own["allocs"], own["bytes"]]
        eventually(lambda: Told(to, server, pid).levels() == (heap, allocs),
                   "the heap as the target has it, and what was allocated", timeout=40)
        said = ctl(served, "status")
        assert re.search(rf"^push one to {server.url}: \d+ profiles sent, 0 rejected, 0 dropped; ",
                         said, re.M), said
        finish(process)
        served.process.send_signal(signal.SIGTERM)
        assert served.process.wait(30) == 0
        # What came between the last time and the end is not lost.
        own = since(counts, pid, before)
        assert Told(to, server, pid).allocs == [own["allocs"], own["bytes"]]


@test(need_root, need_sampling, timeout=90)
def cpu_time_is_pushed_while_it_is_looked_at():
    with scratch() as folder, push_server() as server, \
            started(["dd", "if=/dev/zero", "of=/dev/null", "bs=1"]) as process, \
            pushing(folder, push("parca", server.url, profiles="cpu")) as served:
        status, _, body = served.ask(f"/debug/pprof/profile?pid={process.pid}&seconds=4")
        assert status == 200, body
        until_traced(served, 1)  # the names of the configuration stay
        asked = pprof_wire.read(body)

        def so_far():
            told = [parca(request) for request in server.so_far()]
            return told, [sample["value"] for _, _, profile in told for sample in profile["sample"]]
        # The last of them is of the trace's end, a moment after the answer.
        wanted = sum(s["value"][0] for s in asked["sample"])
        eventually(lambda: sum(n for n, _ in so_far()[1]) >= wanted > 0, "all that there was")
        told, values = so_far()
        assert told and {labels["pid"] for _, labels, _ in told} == {str(process.pid)}
        period = asked["period"]
        assert all((types(profile), profile["period"]) == (CPU, period) for _, _, profile in told)
        assert all(ns == period * n for n, ns in values), values
        # Each is as long as it is since the one before.
        for (_, _, one), (_, _, next_) in zip(told, told[1:]):
            assert one["time_nanos"] + one["duration_nanos"] == next_["time_nanos"]


TOUCH = "kept = [bytearray(1 << 20) for _ in range({})]; print(flush=True); input()\n"


@test(need_root, need_sampling, each=["pyroscope", "parca", "otlp"], in_turn=1, timeout=90)
def growth_is_pushed_of_who_is_not_traced_and_each_sample_once(to):
    # beside mappings, which are no heap, it is the second job
    mappings, profiles = ("yes", "heap, allocs, growth") if to == "parca" else ("no", "growth")
    with scratch() as folder, push_server() as server, contextlib.ExitStack() as stack:
        process = stack.enter_context(
            started([sys.executable, "-c", TOUCH.format(40) + TOUCH.format(20)]))
        # What it touched before the service came is not known; the rest is sent in parts.
        process.lines.next()
        served = stack.enter_context(service(folder, growth=f"period = 10\nmappings = {mappings}",
                                             trace=push(to, server.url, profiles=profiles)))
        send_line(process)
        process.lines.next()
        want = 20 << 20
        reader = otlp_of_anybody if to == "otlp" else READERS[to]

        def told():
            profiles = [profile for _, labels, profile in map(reader, server.so_far())
                        if labels["pid"] == str(process.pid)]
            assert all(types(profile) == GROWTH for profile in profiles)
            values = [sample["value"] for profile in profiles for sample in profile["sample"]]
            assert all(size == n * 10 * os.sysconf("SC_PAGESIZE") for n, size in values), values
            return sum(size for _, size in values)
        eventually(lambda: abs(told() - want) < 0.15 * want, "what it has touched", timeout=40)
        sent = served.metric("memtraced_push_profiles_total", target="one", result="sent")
        with started([sys.executable, "-c", TOUCH.format(20)]) as other:
            other.lines.next()
            eventually(lambda: served.metric("memtraced_push_profiles_total", target="one",
                                             result="sent") > sent, "the next time")
        assert abs(told() - want) < 0.15 * want, told()


# --- servers that fail ----------------------------------------------------------------------------

OK, NO_ANSWER = (200, {}, b""), (None, {}, b"")


@contextlib.contextmanager
def one_process():
    """Something to push: a process that has blocks and waits."""
    with scratch() as counts, started_target(counts) as process:
        process.pid_ = int(process.lines.until("ready"))
        work(process)
        yield process


@contextlib.contextmanager
def failing(answer, *more, to="pyroscope"):
    """A service that pushes a heap each second to a server that answers so."""
    with scratch() as folder, push_server() as server, one_process():
        server.answer = answer
        # A process that is traced from here on has nothing yet: its next blocks are counted.
        with pushing(folder, push(to, server.url, *more, profiles="heap")) as served, \
                one_process():
            served.folder = folder
            yield served, server


def pushed(served, result, name="one"):
    return served.metric("memtraced_push_profiles_total", target=name, result=result)


def failures(served):
    return served.metric("memtraced_push_failures_total", target="one")


@test(need_root, need_long, timeout=90)
def a_server_that_comes_late_gets_what_waited():
    with scratch() as folder, one_process():
        port = lib.free_port()
        with pushing(folder, push("pyroscope", f"http://127.0.0.1:{port}",
                                  profiles="heap")) as served, one_process():
            served.said.until(f"memtraced: push one: http://127.0.0.1:{port}: ")
            eventually(lambda: served.metric("memtraced_push_waiting_profiles", target="one") > 2,
                       "profiles that wait")
            assert "it fails now" in ctl(served, "status")
            assert pushed(served, "sent") == pushed(served, "dropped") == 0
            with push_server(port) as server:
                served.said.until(f"memtraced: push one: http://127.0.0.1:{port} accepts profiles "
                                  "again; 0 were dropped", timeout=60)
                eventually(lambda: pushed(served, "sent") > 2, "profiles that were sent")
                times = [int(request.query["until"]) for request in server.so_far()]
                assert times == sorted(times), times
                assert failures(served) > 0


@test(need_root, each=[429, 503], in_turn=1, timeout=90)
def a_server_is_asked_again_when_it_says_so(status):
    with failing(lambda request: (status, {"Retry-After": "4"}, b"busy")) as (served, server):
        until_sent(server, 1)
        first = server.so_far()[0]
        server.answer = lambda request: OK
        until_sent(server, 2)
        second = server.so_far()[1]
        # Whole seconds on its side, and our clocks are read at either end.
        assert second.time - first.time > 3, (first.time, second.time)
        assert second.body == first.body and second.query == first.query
        assert failures(served) == 1 and pushed(served, "rejected") == 0


@test(need_root, timeout=90)
def what_a_server_rejects_is_not_sent_again():
    with failing(lambda request: (400, {}, b"bad\x1b[31m profile\n")) as (served, server):
        served.said.until("memtraced: push one: " + server.url + " rejects this profile: it "
                          "answers with status 400: bad\\x1b[31m profile\\x0a")
        until_sent(server, 3)
        bodies = [request.body for request in server.so_far()]
        assert len(set(bodies)) == len(bodies)
        eventually(lambda: pushed(served, "rejected") >= 3, "rejections")
        assert failures(served) == pushed(served, "sent") == pushed(served, "dropped") == 0


@test(need_root, timeout=90)
def a_redirection_is_not_followed():
    with push_server() as other:
        where = {"Location": other.url + "/ingest"}
        with failing(lambda request: (307, where, b"")) as (served, server):
            until_sent(server, 2)
            eventually(lambda: pushed(served, "rejected") >= 2, "rejections")
            assert not other.so_far()


@test(need_root, need_long, timeout=120)
def a_server_that_hangs_holds_nothing_up():
    with failing(lambda request: NO_ANSWER, "timeout = 2s") as (served, server):
        until_sent(server, 1)
        assert served.text("/healthz") == "ok\n"
        eventually(lambda: failures(served) >= 2, "time-outs", timeout=40)
        assert pushed(served, "sent") == 0
        served.process.send_signal(signal.SIGTERM)
        served.said.until("memtraced: ")
        assert served.process.wait(30) == 0


@test(need_root, need_long, timeout=90)
def a_huge_answer_is_not_taken():
    with failing(lambda request: (200, {}, b"x" * (64 << 20))) as (served, _):
        eventually(lambda: pushed(served, "sent") >= 2, "profiles", timeout=40)
        assert failures(served) == 0
        rss = served.metric("process_resident_memory_bytes")
        eventually(lambda: pushed(served, "sent") >= 5, "more profiles", timeout=40)
        assert served.metric("process_resident_memory_bytes") < rss + (32 << 20)


@test(need_root, need_long, timeout=90)
def a_full_queue_drops_the_oldest_and_counts_them():
    with failing(lambda request: (503, {"Retry-After": "3000"}, b""),
                 "queue = 64k", to="parca") as (served, server), contextlib.ExitStack() as more:
        for _ in range(8):
            more.enter_context(one_process())
        until_sent(server, 1)
        eventually(lambda: pushed(served, "dropped") >= 3, "drops", timeout=60)
        assert served.metric("memtraced_push_waiting_bytes", target="one") <= 64 << 10
        waiting = served.metric("memtraced_push_waiting_profiles", target="one")
        assert waiting > 0
        served.process.send_signal(signal.SIGTERM)
        left = None
        while not left:
            left = re.fullmatch(r"memtraced: (\d+) queued profiles were not pushed",
                                served.said.next())
        left = int(left.group(1))
        assert left >= waiting - 1, (left, waiting)
        assert served.process.wait(30) == 0
        assert len(server.so_far()) == 1


@test(need_root, timeout=90)
def a_part_that_is_rejected_is_not_sent_again():
    # ExportProfilesServiceResponse: 1 rejected, "too old"
    body = b"\x0a\x0b\x08\x01\x12\x07too old"
    with failing(lambda request: (200, {"Content-Type": "application/x-protobuf"}, body),
                 to="otlp") as (served, server):
        served.said.until(f"memtraced: push one: {server.url} rejects this profile: it rejects a "
                          "part: too old")
        until_sent(server, 2)
        bodies = [request.body for request in server.so_far()]
        assert len(set(bodies)) == len(bodies)
        assert failures(served) == pushed(served, "sent") == 0


# --- configuration --------------------------------------------------------------------------------

def reload(served, folder, change):
    path = os.path.join(folder, "memtraced.conf")
    with open(path, encoding="ascii") as file:
        text = change(file.read())
    with open(path, "w", encoding="ascii") as file:
        file.write(text)
    served.process.send_signal(signal.SIGHUP)


@test(need_root, timeout=120)
def a_reload_moves_a_target_with_what_waits():
    with push_server() as other, failing(lambda request: (503, {}, b"")) as (served, server):
        until_sent(server, 1)
        first = server.so_far()[0]
        reload(served, served.folder, lambda text: text.replace(server.url, other.url))
        served.said.until("memtraced: configuration reloaded")
        until_sent(other, 1)
        assert other.so_far()[0].body == first.body
        # Then there is none any more.
        reload(served, served.folder, lambda text: text[:text.index("[push")])
        served.said.until("memtraced: configuration reloaded")
        assert 'target="one"' not in served.text("/metrics")
        n = len(other.so_far())
        assert served.text("/healthz") == "ok\n" and len(other.so_far()) == n


@test(need_root, each=["Bearer", "Basic"], in_turn=1, timeout=90)
def a_token_is_sent(scheme):
    with scratch() as folder, push_server() as server, one_process():
        path = os.path.join(folder, "token")
        with open(path, "w", encoding="ascii") as file:
            file.write("0123456789abcdefXYZ\n")
        os.chmod(path, 0o600)
        more = [f"token_file = {path}", *(["user = me"] if scheme == "Basic" else [])]
        with pushing(folder, push("parca", server.url, *more, profiles="heap")), one_process():
            until_sent(server, 1)
            sent = "0123456789abcdefXYZ"
            if scheme == "Basic":
                sent = base64.b64encode(b"me:" + sent.encode()).decode()
            assert server.so_far()[0].headers["Authorization"] == f"{scheme} {sent}"


@test(need_root, need_program("openssl"), timeout=120)
def a_servers_certificate_is_checked():
    with scratch() as folder, one_process():
        pem = certificate(folder)
        with push_server(certificate=pem) as server:
            targets = (push("pyroscope", server.url, profiles="heap", name="no"),
                       push("pyroscope", server.url, f"ca_file = {pem}.crt", profiles="heap"))
            with pushing(folder, *targets) as served, one_process():
                said = served.said.until(f"memtraced: push no: {server.url}: ")
                assert "certificate" in said, said
                eventually(lambda: pushed(served, "sent") > 0, "profiles by TLS")
                assert pushed(served, "sent", name="no") == 0
                pyroscope(server.so_far()[0])


@test(need_root, each=["token_file = /no/such|/no/such: No such file or directory",
                       "every = 0|invalid every '0'",
                       "user = me|[push one] has a 'user', but no 'token_file'"])
def what_is_wrong_is_refused_at_the_start(case):
    line, words = case.split("|")
    with scratch() as folder:
        path = os.path.join(folder, "memtraced.conf")
        text = push("parca", "http://127.0.0.1:1").replace("every = 1s\n", "") + line + "\n"
        with open(path, "w", encoding="ascii") as file:
            file.write(f"[http]\nlisten = unix {folder}/http.sock\n" + text)
        lib.refused(run_memtraced("--service", f"--config={path}"), 1, words)
