# SPDX-License-Identifier: GPL-2.0-or-later
"""What is claimed of correct programs that are large or have many processes: no wrong use of the
heap, nobody killed, their own results, and totals that are exact or say why not. With
MEMTRACED_CLAIMS=docs/results/NAME.md the table is written there."""

import contextlib
import glob
import os
import shutil
import signal

from lib import (Skip, eventually, free_port, load_report, memtraced, need_long, need_root, run,
                 run_memtraced, scratch, started, test)
from test_programs import Redis, redis_command
from test_stack_programs import NODE, PAGE, clang_program, java_program

BESIDE_OTHERS = True
DOCUMENT = """# What is claimed of real programs

Made by `tests/live/test_claims.py` with `MEMTRACED_CLAIMS`: memtraced {version} on Linux {kernel},
{machine}. Each program is traced from its start with `--leak-check`; all of them are correct, so
that each error would be a false one. *Lost* says why totals are not exact.

```
{rows}
```
"""
ROWS = [f"{'program':14} {'processes':>9} {'allocations':>12} {'errors':>6}  totals"]
POSTGRES = sorted(glob.glob("/usr/lib/postgresql/*/bin"))


def judge(name, report, n_least):
    """The processes have ended by themselves or are told to end, and nothing false is said."""
    processes = report["processes"]
    coverage = report["coverage"]
    assert len(processes) >= n_least, [process["comm"] for process in processes]
    errors = [error for process in processes for error in process["heap_errors"]]
    lost = {key: count for key, count in coverage["lost"].items() if count}
    allocs = sum(process["alloc"]["allocs"] for process in processes)
    ROWS.append(f"{name:14} {len(processes):9} {allocs:12} {len(errors):6}  "
                + ("exact" if coverage["exact"] else f"lost: {lost}"))
    print(f"# {ROWS[-1]}", flush=True)
    assert not errors, errors[:3]
    assert coverage["exact"] or lost, coverage
    for process in processes:
        end = process["end"] or {}
        assert end.get("signal") not in (signal.SIGTRAP, signal.SIGSEGV, signal.SIGABRT), process


def need(*names):
    for name in names:
        if not shutil.which(name):
            raise Skip(f"{name} is not installed")


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
}


@test(need_root, need_long, each=COMMANDS, timeout=400)
def of_a_command(name):
    need(name)
    make, n_least = COMMANDS[name]
    with scratch() as folder:
        path = os.path.join(folder, "report.json")
        done = run_memtraced("--leak-check=summary", "-o", f"json:{path}", "--", *make(folder),
                             timeout=350)
        assert done.returncode == 0, done.stderr[-2000:]
        judge(name, load_report(path), n_least)


@contextlib.contextmanager
def served(folder, command, *options):
    """A server under -c; ends when the server has been told to. Yields what is to be the report."""
    path = os.path.join(folder, "report.json")
    with started([memtraced(), "--leak-check=summary", *options, "-o", f"json:{path}", "--",
                  *command]) as process:
        yield path
        assert process.wait(120) == 0


@test(need_root, need_long, timeout=200)
def of_redis_that_saves_in_the_background():
    need("redis-server", "redis-cli")
    with scratch() as folder:
        redis = Redis(free_port())
        with served(folder, redis_command(redis.port, folder)) as path:
            redis.wait()
            redis.load(20000, 200)
            for _ in range(2):
                assert "started" in redis.ask("bgsave")
                eventually(lambda: "rdb_bgsave_in_progress:0" in redis.ask("info"), "it saves")
            redis.ask("shutdown", "nosave")
        judge("redis-server", load_report(path), 3)


NGINX = """
daemon off; worker_processes 2; pid {0}/pid; error_log {0}/log;
events {{}}
http {{
    access_log off; client_body_temp_path {0}/body; proxy_temp_path {0}/proxy;
    fastcgi_temp_path {0}/fastcgi; uwsgi_temp_path {0}/uwsgi; scgi_temp_path {0}/scgi;
    server {{ listen 127.0.0.1:{1}; location / {{ return 200 "a page"; }} }}
}}
"""


@test(need_root, need_long, timeout=200)
def of_nginx():
    need("nginx", "curl")
    with scratch() as folder:
        port, config = free_port(), os.path.join(folder, "nginx.conf")
        with open(config, "w", encoding="ascii") as file:
            file.write(NGINX.format(folder, port))
        with served(folder, ["nginx", "-c", config]) as path:
            page = f"http://127.0.0.1:{port}/"
            eventually(lambda: run(["curl", "-sf", page]).returncode == 0, "it does not answer")
            assert run(["curl", "-sf", *[page] * 300]).returncode == 0
            assert run(["nginx", "-c", config, "-s", "quit"]).returncode == 0
        judge("nginx", load_report(path), 3)


@test(need_root, need_long, timeout=300)
def of_postgres():
    if not POSTGRES:
        raise Skip("postgres is not installed")
    need("runuser")
    with scratch() as folder:
        data, port = os.path.join(folder, "data"), free_port()
        os.mkdir(data)
        os.chmod(folder, 0o755)
        shutil.chown(data, "postgres")
        user = ["runuser", "-u", "postgres", "--"]
        assert run([*user, f"{POSTGRES[-1]}/initdb", "-D", data]).returncode == 0
        with served(folder, [f"{POSTGRES[-1]}/postgres", "-D", data, "-p", str(port), "-k", data],
                    "--run-as=postgres") as path:
            ask = [*user, "psql", "-h", data, "-p", str(port), "postgres", "-c"]
            eventually(lambda: run([*ask, "select 1"]).returncode == 0, "it does not answer", 60)
            for _ in range(6):
                done = run([*ask, "select count(*) from generate_series(1, 100000)"])
                assert done.returncode == 0, done.stderr
            assert run([*user, f"{POSTGRES[-1]}/pg_ctl", "-D", data, "stop"]).returncode == 0
        judge("postgres", load_report(path), 8)


@test(need_root, need_long)
def table():
    path = os.environ.get("MEMTRACED_CLAIMS")
    if not path or len(ROWS) == 1:
        raise Skip("no table is asked for, or no program was traced")
    uname = os.uname()
    with open(path, "w", encoding="utf-8") as file:
        file.write(DOCUMENT.format(version=run_memtraced("--version").stdout.split()[1],
                                   kernel=uname.release, machine=uname.machine,
                                   rows="\n".join(ROWS)))
