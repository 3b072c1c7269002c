# SPDX-License-Identifier: GPL-2.0-or-later
"""Real programs, compared to the byte with a preloaded counter."""

import contextlib
import os
import signal
import threading
import time

from lib import (Skip, attached, counting, eventually, exact, free_port, load_report, memtraced,
                 need_program, need_root, process_state, read_counts, run, same, same_calls,
                 same_images, scaled, scratch, started, target, test, trace)

BESIDE_OTHERS = True
UNTRANSLATED = True
PYTHON_SCRIPT = """
import json, re
data = [json.loads(json.dumps({"id": i, "tags": ["x" * (i % 50)] * 5})) for i in range(3000)]
table = {item["id"]: item for item in data if item["id"] % 3}
words = re.findall(r"x+", " ".join(data[i]["tags"][0] for i in range(500)))
print(len(table), len(words))
"""

JEMALLOC = "/usr/lib/x86_64-linux-gnu/libjemalloc.so.2"

C_FILE = """
#include <stdio.h>
#include <stdlib.h>
int part_%(n)d(int n) { int *p = malloc(n * sizeof(*p)); p[0] = n;
	n = p[0] + %(n)d; free(p); return n; }
"""

MAKEFILE = """
all: program
program: $(patsubst %.c,%.o,$(wildcard *.c))
\tgcc -o $@ $^
%.o: %.c
\tgcc -O1 -c -o $@ $<
"""


@test(need_root, need_program("/usr/bin/python3"))
def python3():
    run_ = trace(["/usr/bin/python3", "-c", PYTHON_SCRIPT])
    assert "2000 " in run_.stdout, run_.stdout
    same_images(run_)
    assert run_.only_count()["allocs"] > 1000


@test(need_root, need_program("jq"))
def jq():
    with scratch() as folder:
        path = os.path.join(folder, "in.json")
        with open(path, "w", encoding="ascii") as file:
            file.write("[" + ",".join(f'{{"a": {i}, "b": "{i * i}"}}' for i in range(2000)) + "]")
        run_ = trace(["jq", "[.[] | select(.a % 2 == 0) | .b] | length", path])
    assert run_.stdout.strip() == "1000"
    same_images(run_)


@test(need_root, need_program("git"))
def git_log():
    with scratch() as folder:
        identity = ["-c", "user.name=t", "-c", "user.email=t@example.com"]
        run(["git", "init", "-q", folder])
        for i in range(20):
            with open(os.path.join(folder, "file"), "a", encoding="ascii") as file:
                file.write(f"line {i}\n" * (i + 1))
            run(["git", "-C", folder, "add", "file"])
            done = run(["git", "-C", folder, *identity, "commit", "-q", "-m", f"change {i}"])
            assert done.returncode == 0, done.stderr
        run_ = trace(["git", "-c", f"safe.directory={folder}", "-C", folder, "log", "-p"])
    assert run_.stdout.count("commit ") == 20
    same_images(run_)


@test(need_root, need_program("clang"), timeout=90)
def clang():
    with scratch() as folder:
        with open(os.path.join(folder, "a.c"), "w", encoding="ascii") as file:
            file.write("#include <stdio.h>\nint main(void) { return puts(\"x\") < 0; }\n")
        run_ = trace(["clang", "-O2", "-c", "-o", f"{folder}/a.o", f"{folder}/a.c"])
        assert os.path.exists(f"{folder}/a.o")
    same_images(run_)


@test(need_root, need_program("make", "gcc"), timeout=120)
def make_with_two_jobs():
    with scratch() as folder:
        for n in range(scaled(4, 40)):
            with open(f"{folder}/part{n}.c", "w", encoding="ascii") as file:
                file.write(C_FILE % {"n": n})
        with open(f"{folder}/main.c", "w", encoding="ascii") as file:
            file.write("int part_0(int);\nint main(void) { return part_0(1) != 1; }\n")
        with open(f"{folder}/Makefile", "w", encoding="ascii") as file:
            file.write(MAKEFILE)
        run_ = trace(["make", "-j2", "-C", folder], timeout=900)
        assert run([f"{folder}/program"]).returncode == 0
    # gcc's drivers, cc1, as, collect2, ld and make itself.
    assert len(run_.everything) > 3 * scaled(4, 40)
    same_images(run_)


def counted(folder, pid):
    return read_counts(os.path.join(folder, "all"))[pid][0]


class Redis:
    def __init__(self, port):
        self.port = port

    def ask(self, *words, **how):
        return run(["redis-cli", "-p", str(self.port), *words], **how).stdout.strip()

    def wait(self):
        deadline = time.monotonic() + 20
        while self.ask("ping") != "PONG":
            assert time.monotonic() < deadline, "redis-server does not answer"
            time.sleep(0.1)

    def load(self, n, size):
        commands = "".join(f"SET key:{i} {'v' * (size + i % 10)}\n" for i in range(n))
        commands += "".join(f"DEL key:{i}\n" for i in range(0, n, 3))
        self.ask(input=commands)


def redis_command(port, folder):
    return ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir",
            folder, "--appendonly", "no"]


@contextlib.contextmanager
def redis_in_use(folder):
    """The command of a redis-server for the caller to run: it is used meanwhile, then shut down."""
    redis = Redis(free_port())

    def use():
        redis.wait()
        redis.load(300, 100)
        redis.ask("shutdown", "nosave")

    thread = threading.Thread(target=use)
    thread.start()
    yield redis_command(redis.port, folder)
    thread.join()


@test(need_root, need_program("redis-server", "redis-cli"), timeout=120)
def redis_server_with_jemalloc_under_load():
    keys = scaled(2000, 100000)
    with scratch() as folder:
        redis = Redis(free_port())
        environ = dict(os.environ, **counting(folder, "libcounter-next.so"))
        with started(redis_command(redis.port, folder), env=environ) as process:
            redis.wait()
            # Its timer allocates ten times a second: stopped where two counts are compared.
            process.send_signal(signal.SIGSTOP)
            eventually(lambda: process_state(process.pid)[0] == "T", "it does not stop")
            before = counted(folder, process.pid)
            with attached([process.pid]) as session:
                process.send_signal(signal.SIGCONT)
                redis.load(keys, 200)
                process.send_signal(signal.SIGSTOP)
                eventually(lambda: process_state(process.pid)[0] == "T", "it does not stop")
                report = session.finish()
                true = counted(folder, process.pid).minus(before)
            process.send_signal(signal.SIGCONT)
            exact(report)
            alloc = report["processes"][0]["alloc"]
            for key in ("allocs", "bytes", "failed"):
                assert alloc[key] == true[key], f"{key}: reported {alloc[key]}, true {true[key]}"
            # Blocks from before the attach are unknown to memtraced when they are freed.
            assert alloc["frees"] + alloc["unknown_frees"] == true["frees"], (alloc, true)
            assert alloc["live_blocks"] == true["live_blocks"] + alloc["unknown_frees"]
            assert alloc["live_bytes"] > keys * 2 // 3 * 200
            process.send_signal(signal.SIGTERM)
            assert process.wait(20) == 0


@test(need_root, need_program("redis-server", "redis-cli"), timeout=120)
def redis_server_from_start_to_end():
    with scratch() as folder:
        redis = Redis(free_port())
        path = os.path.join(folder, "report.json")
        variables = counting(folder, "libcounter-next.so")
        words = [f"--env={name}={value}" for name, value in variables.items()]
        with started([memtraced(), "-o", f"json:{path}", *words, "--",
                      *redis_command(redis.port, folder)]) as process:
            redis.wait()
            redis.load(scaled(1000, 50000), 100)
            redis.ask("shutdown", "nosave")
            assert process.wait(30) == 0
        report = load_report(path)
        exact(report)
        (counts,), = read_counts(os.path.join(folder, "all")).values()
        same(report["processes"][0], counts)


def need_jemalloc():
    if not os.path.exists(JEMALLOC):
        raise Skip("libjemalloc.so.2 is not installed")


@test(need_root, need_jemalloc)
def a_preloaded_jemalloc_is_found_and_counted():
    ops = scaled(30000, 1000000)
    run_ = trace([target("threads"), "4", str(ops)], library=None, preload=JEMALLOC, timeout=300)
    exact(run_.report)
    (own,), = run_.own.values()
    same_calls(run_.only_process(), own, "threads")


@test(need_root, need_program("bash"))
def a_shell_pipeline():
    run_ = trace(["bash", "-c", "seq 1 2000 | sort -R | grep 7 | sort -n | tail -n 3"])
    assert run_.stdout.split() == ["1979", "1987", "1997"], run_.stdout
    assert len(run_.everything) >= 6
    same_images(run_)
