# SPDX-License-Identifier: GPL-2.0-or-later
"""Real programs by the library and by probes: are totals, sites and stacks the same? A program that
ends is run once each way, with addresses that do not go by chance; where both differ, probes are
asked once more, as programs differ from themselves. A server is told by both at once."""

import contextlib
import os
import platform
import signal
import subprocess
import time

from lib import (ENTRY, LONG, Place, attached, eventually, exact, free_port, heap_sites,
                 load_report, memtraced, need_program, need_root, note, process_state, run, scaled,
                 scratch, send_line, started, target, test, without_entries)
from test_programs import Redis, redis_command
from test_sample_programs import SETTLED, write_inputs
from test_sample_programs import PROGRAMS as WORDS
from test_stack_programs import CXX, NODE, RUST, built

BESIDE_OTHERS = True
QUICK = ("git", "sqlite3", "xmllint")
LIBRARY = os.path.join(Place.build, "libmemtraced-sample.so")


def words_of(name):
    def command(folder):
        write_inputs(folder)
        return [word.replace("{folder}", folder) for word in WORDS[name]]
    return command


# The program that is needed, and its command.
PROGRAMS = {
    **{name: (name, words_of(name)) for name in WORDS},
    "C++": ("g++", built(["g++"], "a.cc", CXX, "-O2")),
    "Rust": ("rustc", built(["rustc"], "a.rs", RUST, "-O")),
    "node": ("node", lambda _: ["node", "-e", NODE]),
    "a shell's children": ("/bin/sh", lambda _: [
        "/bin/sh", "-c", "for i in 1 2 3; do ls -l /usr | md5sum; done"]),
}
# Its own allocator has tables by addresses, which another library changes.
BY_MALLOC = {"PYTHONMALLOC": "malloc"}
TOTALS = ("allocs", "frees", "failed", "bytes", "live_bytes", "live_blocks", "unknown_frees",
          "peak_bytes", "temporary")
SITE = ("allocs", "bytes", "live_bytes", "live_blocks", "peak_bytes", "temporary")


def counted(command, way):
    """A shell keeps each variable: probes get as many, and as long ones."""
    variables = [] if way == "library" else [
        f"--env=LD_PRELOAX={os.path.realpath(LIBRARY)}", "--env=MEMTRACED_EXACX=1",
        "--env=ASAN_OPTIONX=verify_asan_link_order=0"]
    with scratch() as folder:
        path = os.path.join(folder, "json")
        done = run(["setarch", platform.machine(), "-R", memtraced(), f"--exact={way}", *variables,
                    "-q", "-o", f"json:{path}", "--", *command], timeout=120,
                   env={**os.environ, **SETTLED, **BY_MALLOC})
        assert done.returncode in (0, 1), f"{done.returncode}: {done.stderr[-2000:]}"
        return load_report(path)


def callers_of(site):
    return tuple((frame["function"], frame["line"], frame["object"])
                 for frame in site["frames"][1:])


def by_callers(processes, keys=SITE):
    sites = {}
    for process in processes:
        for site in heap_sites(process):
            sums = sites.setdefault((process["comm"], *callers_of(site)), dict.fromkeys(keys, 0))
            for key in keys:
                sums[key] += site[key]
    return sites


class Difference:
    """What is not the same in two reports."""

    def __init__(self, one, other):
        self.totals = [f"{key} {a} and {b}" for key in TOTALS
                       for a, b in [(total_of(one, key), total_of(other, key))] if a != b]
        ours, theirs = by_callers(one["processes"]), by_callers(other["processes"])
        self.n_sites = len({*ours, *theirs})
        self.sites = [(key, ours.get(key), theirs.get(key)) for key in {*ours, *theirs}
                      if ours.get(key) != theirs.get(key)]

    def __bool__(self):
        return bool(self.totals or self.sites)

    def __str__(self):
        if not self:
            return "the same"
        return f"{'; '.join(self.totals) or 'totals the same'}; " \
               f"{len(self.sites)} of {self.n_sites} sites differ"

    def short(self):
        return f"{len(self.totals)} totals, {len(self.sites)} of {self.n_sites} sites differ"


def total_of(report, key):
    return sum(process["alloc"][key] for process in report["processes"])


class Table:
    lines = []

    @classmethod
    def add(cls, name, report, what):
        coverage = report["coverage"]
        cls.lines.append(
            f"{name:18} {total_of(report, 'allocs'):10} "
            f"{len(by_callers(report['processes'])):7} {coverage['stacks_truncated']:9}  {what}")
        note(cls.lines[-1])


HEAD = f"{'program':18} {'calls':>10} {'sites':>7} {'truncated':>9}  by the library and by probes"


@test(need_root, each=sorted(PROGRAMS) if LONG else QUICK, in_turn=1, timeout=300)
def both_ways_count_the_same(name):
    program, command = PROGRAMS[name]
    need_program(program)()
    with scratch() as folder:
        words = command(folder)
        probes, library = (counted(words, way) for way in ("probes", "library"))
        assert library["coverage"]["exact"] and probes["coverage"]["exact"]
        assert all(process["alloc"]["by_library"] for process in library["processes"])
        differs = Difference(library, probes)
        of_itself = Difference(counted(words, "probes"), probes) if differs else None
    Table.add(name, library, f"{differs.short()}; two runs by probes: {of_itself.short()}"
              if of_itself else str(differs))
    assert not differs or of_itself, f"{differs}\n" + "\n".join(map(str, differs.sites[:5]))


# --- servers ------------------------------------------------------------------------------------

@contextlib.contextmanager
def redis(folder, env):
    server = Redis(free_port())
    with started(redis_command(server.port, folder), env=env,
                 stdout=subprocess.DEVNULL) as process:
        server.wait()
        yield process.pid, lambda: server.load(2000, 300)
        process.terminate()


@contextlib.contextmanager
def nginx(folder, env):
    port = free_port()
    path = os.path.join(folder, "nginx.conf")
    with open(path, "w", encoding="ascii") as file:
        file.write(f"daemon off; master_process off; pid {folder}/pid; error_log {folder}/log;\n"
                   f"events {{}}\nhttp {{ access_log off; server {{ listen 127.0.0.1:{port};\n"
                   f"location / {{ return 200 'text'; }} }} }}\n")
    words = ["curl", "-s", *[f"http://127.0.0.1:{port}/{i}" for i in range(200)]]
    with started(["nginx", "-c", path], env=env, stdout=subprocess.DEVNULL) as process:
        run(["curl", "-s", "--retry", "20", "--retry-connrefused", "--retry-delay", "1", words[2]])
        yield process.pid, lambda: run(words)
        process.terminate()


SERVERS = {"redis-server": (redis, "redis-cli"), "nginx": (nginx, "curl")}


def since(before, after, keys=("allocs", "bytes")):
    """What sites have allocated; frees of what nobody saw made are known to one of both alone."""
    earlier = by_callers(before["processes"], keys)
    made = {}
    for key, sums in by_callers(after["processes"], keys).items():
        was = earlier.get(key, dict.fromkeys(keys, 0))
        if sums != was:
            made[key] = {name: sums[name] - was[name] for name in keys}
    return made


def reports_at_rest(pid, sessions):
    """Of one moment: a server has timers of its own."""
    os.kill(pid, signal.SIGSTOP)
    eventually(lambda: process_state(pid)[0] == "T", "it does not stop")
    reports = [session.later_report() for session in sessions]
    os.kill(pid, signal.SIGCONT)
    return reports


@test(need_root, each=sorted(SERVERS) if LONG else ["nginx"], timeout=120)
def a_server_is_told_the_same_by_both_at_once(name):
    server, client = SERVERS[name]
    need_program(name, client)()
    env = {**os.environ, "LD_PRELOAD": os.path.realpath(LIBRARY), "MEMTRACED_EXACT": "keep"}
    with scratch() as folder, server(folder, env) as (pid, load):
        with attached([pid]) as by_book, attached([pid], "--exact=probes") as by_probes:
            sessions = by_book, by_probes
            before = reports_at_rest(pid, sessions)
            load()
            after = reports_at_rest(pid, sessions)
            for session in sessions:
                session.finish()
    assert after[0]["processes"][0]["alloc"]["by_library"]
    book, probes = (since(*pair) for pair in zip(before, after))
    frees = [total_of(b, "frees") + total_of(b, "unknown_frees") - total_of(a, "frees") -
             total_of(a, "unknown_frees") for a, b in zip(before, after)]
    different = [(key, book.get(key), probes.get(key)) for key in {*book, *probes}
                 if book.get(key) != probes.get(key)]
    Table.add(name, after[0], "the same" if not different and frees[0] == frees[1] else
              f"{len(different)} of {len(book)} sites differ, frees {frees}")
    assert book and not different, different[:5]
    assert frees[0] == frees[1], frees


# --- threads --------------------------------------------------------------------------------------

def peak_beyond(before, after):
    """Of what is allocated since: probes have seen nothing of what was there."""
    return total_of(after, "peak_bytes") - total_of(before, "live_bytes")


@test(need_root, each=[1, 64], timeout=1800)
def each_operation_is_told_by_both_at_once(threads):
    """Allocations and frees, mostly of other threads' blocks, with the library and with probes on
    the allocator behind it. What is live at a time is another's view where threads race."""
    allocs = scaled(500_000, 50_000_000)
    env = {**os.environ, "LD_PRELOAD": os.path.realpath(LIBRARY), "MEMTRACED_EXACT": "keep"}
    command = [target("threads"), str(threads), str(allocs), "held"]
    with started(command, env=env) as process:
        assert process.lines.next() == "ready"
        with attached([process.pid]) as by_book, \
                attached([process.pid], "--exact=probes") as by_probes:
            sessions = by_book, by_probes
            before = [session.later_report() for session in sessions]
            began = time.monotonic()
            send_line(process)
            process.lines.until("done", timeout=1700)
            took = time.monotonic() - began
            after = [session.later_report() for session in sessions]
            for session in sessions:
                session.finish()
        send_line(process)
    assert after[0]["processes"][0]["alloc"]["by_library"]
    for report in after:
        exact(report)
    keys = ("allocs", "bytes", "live_bytes", "live_blocks", "temporary")
    book, probes = (since(*pair, keys) for pair in zip(before, after))
    for key, sums in probes.items():
        if any(function == "_dl_allocate_tls" for function, *_ in key[1:]):
            probes[key] = without_entries(sums, sums)
    different = [(key, book.get(key), probes.get(key)) for key in {*book, *probes}
                 if book.get(key) != probes.get(key)]
    frees = [total_of(b, "frees") - total_of(a, "frees") for a, b in zip(before, after)]
    peaks = [peak_beyond(*pair) for pair in zip(before, after)]
    peaks[1] -= ENTRY * threads
    n = sum(sums["allocs"] for sums in book.values()) + frees[0]
    same = not different and frees[0] == frees[1]
    Table.add(f"threads {threads}", after[0],
              f"{n} operations in {took:.0f} s: "
              f"{'the same' if same else f'{len(different)} sites differ, frees {frees}'}; peak "
              f"{'the same' if peaks[0] == peaks[1] else f'{peaks[0]} and {peaks[1]}'}")
    assert n > 2 * allocs - 5000 and not different, different[:5]
    assert frees[0] == frees[1], frees
    assert threads > 1 or peaks[0] == peaks[1], peaks


@test(need_root)
def all_programs_together():
    """The last one: those before it have filled the table."""
    path = os.environ.get("MEMTRACED_BOOKS")
    if path and Table.lines:
        version = run([memtraced(), "--version"]).stdout.split()[1]
        text = "\n".join([HEAD, *sorted(Table.lines)])
        with open(path, "w", encoding="ascii") as file:
            file.write(DOCUMENT.format(version=version, kernel=platform.release(), table=text))


DOCUMENT = """# Counting by a library beside probes

Made by `tests/live/test_book_programs.py` with `MEMTRACED_LONG=1` and
`MEMTRACED_BOOKS=docs/results/NAME.md` (docs/hacking/books.md):
memtraced {version} on Linux {kernel}.

Each program is run by probes and by the library, with addresses that do not go by chance, and
compared to the byte: totals with the peak, and each site by the functions and lines that have
called the allocator, of all processes. Where both differ, a second run by probes tells whether the
program differs from itself. Servers were told by both at once, under load.

```
{table}
```
"""
