# SPDX-License-Identifier: GPL-2.0-or-later
"""Metrics, as promtool, Prometheus and the parser of its Python client read them."""

import ast
import json
import os
import subprocess
import sys
import time
import urllib.parse
import urllib.request

import clients
import lib
from lib import (load_report, need_long, need_program, need_root, run, run_memtraced, scratch,
                 started, target, test, total, with_function)

BESIDE_OTHERS = True
SYSTEM_PYTHON = "/usr/bin/python3"  # where Debian's packages are
PARSE = """
import sys
from prometheus_client.%sparser import text_string_to_metric_families as parse
for family in parse(open(sys.argv[1], encoding="utf-8").read()):
    for sample in family.samples:
        print([sample.name, sample.labels, sample.value])
"""


def need_parser():
    if run([SYSTEM_PYTHON, "-c", "import prometheus_client"]).returncode != 0:
        raise lib.Skip("python3-prometheus-client is not installed")


def samples(path, dialect=""):
    """[(name, labels, value)] as the parser of Prometheus' client gives them."""
    done = run([SYSTEM_PYTHON, "-c", PARSE % dialect, path])
    assert done.returncode == 0, done.stderr
    return [ast.literal_eval(line) for line in done.stdout.splitlines()]


def value(found, name, **labels):
    values = [v for n, l, v in found if n == name and labels.items() <= l.items()]
    assert len(values) == 1, (name, labels, values)
    return values[0]


def written(folder, *options, allocations=True):
    report = os.path.join(folder, "json")
    paths = [os.path.join(folder, name) for name in ("prometheus", "openmetrics")]
    done = run_memtraced(*options, f"-oprometheus:{paths[0]}", f"-oopenmetrics:{paths[1]}",
                         f"-ojson:{report}", "--", target("leak"), "100", "0")
    assert done.returncode == 0, done.stderr
    return paths, load_report(report, allocations=allocations)


@test(need_root, need_parser)
def both_dialects_say_what_we_report():
    with scratch() as folder:
        paths, report = written(folder)
        process, = report["processes"]
        own = [site for site in with_function(process["sites"], "leak_one")
               if site["class"] == "heap"]
        for path, dialect in zip(paths, ("", "openmetrics.")):
            found = samples(path, dialect)
            pid = str(process["pid"])
            assert value(found, "memtraced_live_bytes", pid=pid, comm="leak") == \
                process["alloc"]["live_bytes"]
            assert value(found, "memtraced_allocations_total", pid=pid) == 200
            assert value(found, "memtraced_site_live_bytes", site=own[0]["id"]) == \
                total(own, "live_bytes")
            assert value(found, "memtraced_exact") == 1


@test(need_root, need_program("promtool"))
def promtool_has_nothing_to_say():
    with scratch() as folder:
        paths, _ = written(folder, "--alloc", "--syscalls", "-e", "write", "--hist", "read",
                           "--hist", "write:count,by=pid")
        with open(paths[0], encoding="utf-8") as file:
            done = run(["promtool", "check", "metrics"], stdin=file)
        clients.same("promtool", "prometheus", "what is wrong", done.stdout + done.stderr or
                     "nothing", "nothing")
        assert done.returncode == 0
        with open(paths[0], encoding="utf-8") as file:
            assert 'memtraced_values_bucket{spec="read",le="+Inf"}' in file.read()


@test(need_root, need_parser)
def histograms_of_openmetrics_are_accepted():
    with scratch() as folder:
        paths, report = written(folder, "--hist", "read", allocations=False)
        found = samples(paths[1], "openmetrics.")
        histogram, = report["histograms"]
        assert value(found, "memtraced_values_bucket", le="+Inf") == histogram["count"]
        assert value(found, "memtraced_values_bucket", le="0.0") == \
            sum(bucket["count"] for bucket in histogram["buckets"]
                if bucket["hi"] is not None and bucket["hi"] <= 1)


CONFIG = """
global: {scrape_interval: 1s}
scrape_configs: [{job_name: memtraced, static_configs: [{targets: ["127.0.0.1:%d"]}]}]
"""


def ask(port, query):
    url = f"http://127.0.0.1:{port}/api/v1/query?" + urllib.parse.urlencode({"query": query})
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            return json.load(answer)["data"]["result"]
    except OSError:
        return []


@test(need_root, need_long, need_program("prometheus"), timeout=120)
def prometheus_stores_what_we_report():
    with scratch() as folder:
        paths, report = written(folder)
        process, = report["processes"]
        served, port = os.path.join(folder, "served"), lib.free_port()
        os.mkdir(served)
        os.rename(paths[0], os.path.join(served, "metrics"))
        config = os.path.join(folder, "prometheus.yml")
        with open(config, "w", encoding="ascii") as file:
            file.write(CONFIG % port)
        own = lib.free_port()
        with started([sys.executable, "-m", "http.server", "--bind", "127.0.0.1", "-d", served,
                      str(port)], stderr=subprocess.DEVNULL), \
                started(["prometheus", f"--config.file={config}",
                         f"--storage.tsdb.path={folder}/db",
                         f"--web.listen-address=127.0.0.1:{own}"], stderr=subprocess.DEVNULL):
            deadline = time.monotonic() + 60
            while not (result := ask(own, "memtraced_live_bytes")):
                assert time.monotonic() < deadline, "nothing was scraped"
                time.sleep(0.5)
            assert ask(own, "up")[0]["value"][1] == "1"
    assert result[0]["metric"]["pid"] == str(process["pid"]), result
    assert int(result[0]["value"][1]) == process["alloc"]["live_bytes"], result
