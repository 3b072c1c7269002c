# SPDX-License-Identifier: GPL-2.0-or-later
"""What is claimed of correct programs that are large or have many processes: no wrong use of the
heap, nobody killed, their own results, and totals that are exact or say why not: from their start,
and servers while they run, too. With MEMTRACED_CLAIMS=docs/results/NAME.md the table is written
there."""

import glob
import os
import re
import shutil
import signal
import subprocess

from lib import (ROOT, Skip, eventually, free_port, load_report, memtraced, need_long, need_root,
                 run, run_memtraced, scratch, started, test)
from test_leak_check import wait_attached
from test_programs import Redis, redis_command
from test_stack_programs import NODE, PAGE, clang_program, java_program

BESIDE_OTHERS = True
DOCUMENT = """# What is claimed of real programs

Made by `tests/live/test_claims.py` with `MEMTRACED_CLAIMS`: memtraced {version} (commit {commit})
on Linux {kernel}, {machine}. Each program is traced with `--leak-check`, from its start or by `-p`;
all of them are correct, so that each error would be a false one. *Unknown* are frees of blocks that
are not known: older ones, or of a child that was attached late. *Lost* says why totals are not
exact. redis-server saves in the background three times. Each command ended with its own result, and
the table has the totals of JSON.

```
{rows}
```
"""
ROWS = [f"{'program':17} {'processes':>9} {'allocations':>12} {'errors':>6} {'unknown':>7}  "
        "totals"]
POSTGRES = sorted(glob.glob("/usr/lib/postgresql/*/bin"))


def judge(name, report, n_least):
    """The processes have ended by themselves or are told to end, and nothing false is said."""
    processes = report["processes"]
    coverage = report["coverage"]
    assert len(processes) >= n_least, [process["comm"] for process in processes]
    errors = [error for process in processes for error in process["heap_errors"]]
    lost = {key: count for key, count in coverage["lost"].items() if count}
    allocs = sum(process["alloc"]["allocs"] or 0 for process in processes)
    unknown = sum(process["alloc"]["unknown_frees"] or 0 for process in processes)
    ROWS.append(f"{name:17} {len(processes):9} {allocs:12} {len(errors):6} {unknown:7}  "
                + ("exact" if coverage["exact"] else f"lost: {lost}"))
    print(f"# {ROWS[-1]}", flush=True)
    assert not errors, errors[:3]
    assert coverage["exact"] or lost, coverage
    for process in processes:
        end = process["end"] or {}
        assert end.get("signal") not in (signal.SIGTRAP, signal.SIGSEGV, signal.SIGABRT), process


def judge_table(report, text):
    """It says the same: whether totals are exact, and the sum of all processes."""
    exact = report["coverage"]["exact"]
    assert exact == ("none lost: totals are exact" in text), (report["coverage"], text[-2000:])
    allocs = sum(process["alloc"]["allocs"] or 0 for process in report["processes"])
    told = [int(n) for n in re.findall(r"(?<![\d≥~])(\d+) allocations of ", text)]
    assert allocs in told or not exact, (allocs, told)


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def need(*names):
    for name in names:
        if not shutil.which(name):
            raise Skip(f"{name} is not installed")


PYTHON = """
import asyncio, email, http.client, json, threading, unittest, xml.dom.minidom
def work():
    return json.loads(json.dumps([{"n": str(n)} for n in range(2000)]))
threads = [threading.Thread(target=work) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""


def documents(folder):
    path = os.path.join(folder, "text.txt")
    with open(path, "w", encoding="ascii") as file:
        file.write("a line\n" * 1000)
    return ["soffice", f"-env:UserInstallation=file://{folder}/profile", "--headless",
            "--convert-to", "pdf", "--outdir", folder, path]


# The command, by its folder, and the processes that there are at the least.
COMMANDS = {
    "chromium": (lambda _: ["chromium", "--headless", "--no-sandbox", "--disable-gpu",
                            "--dump-dom", PAGE], 4),
    "soffice": (documents, 2),
    "node": (lambda _: ["node", "-e", NODE], 1),
    "java": (java_program, 1),
    "clang++": (clang_program, 1),
    "python3": (lambda _: ["/usr/bin/python3", "-c", PYTHON], 1),
}


@test(need_root, need_long, each=COMMANDS, timeout=400)
def of_a_command(name):
    need(name)
    make, n_least = COMMANDS[name]
    with scratch() as folder:
        path = os.path.join(folder, "report.json")
        table_path = os.path.join(folder, "table.txt")
        done = run_memtraced("--leak-check=summary", "-o", f"json:{path}", "-o",
                             f"table:{table_path}", "--", *make(folder), timeout=350)
        assert done.returncode == 0, done.stderr[-2000:]
        judge(name, load_report(path), n_least)
        judge_table(load_report(path), read(table_path))


class Server:
    """command: in the foreground. wait(): until it answers. use(): a second of work. stop()."""

    options, user = (), []  # of memtraced, and what begins the command as that user


class RedisServer(Server):
    n_least = 4

    def __init__(self, folder):
        need("redis-server", "redis-cli")
        self.redis = Redis(free_port())
        self.command = redis_command(self.redis.port, folder)
        self.wait = self.redis.wait

    def use(self):
        self.redis.load(20000, 200)
        for _ in range(3):
            assert "started" in self.redis.ask("bgsave")
            eventually(lambda: "rdb_bgsave_in_progress:0" in self.redis.ask("info"), "it saves")

    def stop(self):
        self.redis.ask("shutdown", "nosave")


NGINX = """
daemon off; worker_processes 2; pid {0}/pid; error_log {0}/log;
events {{}}
http {{
    access_log off; client_body_temp_path {0}/body; proxy_temp_path {0}/proxy;
    fastcgi_temp_path {0}/fastcgi; uwsgi_temp_path {0}/uwsgi; scgi_temp_path {0}/scgi;
    server {{ listen 127.0.0.1:{1}; location / {{ return 200 "a page"; }} }}
}}
"""


class Nginx(Server):
    n_least = 3

    def __init__(self, folder):
        need("nginx", "curl")
        port, self.config = free_port(), os.path.join(folder, "nginx.conf")
        self.page = f"http://127.0.0.1:{port}/"
        with open(self.config, "w", encoding="ascii") as file:
            file.write(NGINX.format(folder, port))
        self.command = ["nginx", "-c", self.config]

    def wait(self):
        eventually(lambda: run(["curl", "-sf", self.page]).returncode == 0, "it does not answer")

    def use(self):
        assert run(["curl", "-sf", *[self.page] * 300]).returncode == 0

    def stop(self):
        assert run(["nginx", "-c", self.config, "-s", "quit"]).returncode == 0


class Postgres(Server):
    options = ("--run-as=postgres",)
    n_least = 8

    def __init__(self, folder):
        if not POSTGRES:
            raise Skip("postgres is not installed")
        need("setpriv")
        self.data, port = os.path.join(folder, "data"), free_port()
        os.mkdir(self.data)
        os.chmod(folder, 0o755)
        shutil.chown(self.data, "postgres")
        self.user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups", "--"]
        assert run([*self.user, f"{POSTGRES[-1]}/initdb", "-D", self.data]).returncode == 0
        self.command = [f"{POSTGRES[-1]}/postgres", "-D", self.data, "-p", str(port), "-k",
                        self.data]
        self.ask = [*self.user, "psql", "-h", self.data, "-p", str(port), "postgres", "-c"]

    def wait(self):
        eventually(lambda: run([*self.ask, "select 1"]).returncode == 0, "it does not answer", 60)

    def use(self):
        for _ in range(6):
            done = run([*self.ask, "select count(*) from generate_series(1, 100000)"])
            assert done.returncode == 0, done.stderr

    def stop(self):
        assert run([*self.user, f"{POSTGRES[-1]}/pg_ctl", "-D", self.data, "stop"]).returncode == 0


SERVERS = {"redis-server": RedisServer, "nginx": Nginx, "postgres": Postgres}


@test(need_root, need_long, each=SERVERS, timeout=300)
def of_a_server_from_its_start(name):
    with scratch() as folder:
        server, path = SERVERS[name](folder), os.path.join(folder, "report.json")
        table_path = os.path.join(folder, "table.txt")
        with started([memtraced(), "--leak-check=summary", *server.options, "-o", f"json:{path}",
                      "-o", f"table:{table_path}", "--", *server.command]) as process:
            server.wait()
            server.use()
            server.stop()
            assert process.wait(120) == 0
        judge(name, load_report(path), server.n_least)
        judge_table(load_report(path), read(table_path))


@test(need_root, need_long, each=SERVERS, timeout=300)
def of_a_server_that_runs(name):
    """It is attached to, used, let go, and ends by itself then."""
    with scratch() as folder:
        server, path = SERVERS[name](folder), os.path.join(folder, "report.json")
        table_path = os.path.join(folder, "table.txt")
        with started([*server.user, *server.command]) as process:
            server.wait()
            with started([memtraced(), "-p", str(process.pid), "--leak-check=summary", "-o",
                          f"json:{path}", "-o", f"table:{table_path}"],
                         stdin=subprocess.DEVNULL) as tracer:
                wait_attached(tracer, process)
                server.use()
                tracer.send_signal(signal.SIGINT)
                assert tracer.wait(60) == 0
            server.use()
            server.stop()
            assert process.wait(120) == 0
        judge(f"{name} (-p)", load_report(path), server.n_least)
        judge_table(load_report(path), read(table_path))


@test(need_root, need_long)
def table():
    path = os.environ.get("MEMTRACED_CLAIMS")
    if not path or len(ROWS) == 1:
        raise Skip("no table is asked for, or no program was traced")
    uname = os.uname()
    commit = run(["git", "-C", ROOT, "rev-parse", "--short", "HEAD"]).stdout.strip()
    with open(path, "w", encoding="utf-8") as file:
        file.write(DOCUMENT.format(version=run_memtraced("--version").stdout.split()[1],
                                   commit=commit, kernel=uname.release, machine=uname.machine,
                                   rows="\n".join(ROWS)))
