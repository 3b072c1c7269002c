#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs the live tests and prints TAP: run.py [--build DIR] [PATTERN...]. A pattern is a part of a
test's name ("accounting:", "[perf]"); a test runs if all patterns match, with --areas if it is of
one of these, and with --every-kernel if it is declared for every kernel. What failed the last time
comes first. Without patterns, tests with several arguments run with some of them, which the commit
decides (turns.py), with MEMTRACED_LONG=1 with all, and all at full size. --until-uptime: tests that
have not begun so many seconds after the boot are one skip; those that are declared as first come
first then, and have the time that they need, as attacks have, then one of each area and attach
path. --lanes N: N areas at a time, of those whose tests look at processes of their own alone
(BESIDE_OTHERS in their modules; "services": one of these at a time, which look at the whole host;
TRANSLATES: not beside those with UNTRANSLATED, whose children are seen by links that all processes
share, which would end a program such as valgrind and are not there meanwhile); the others come
before, one by one. MEMTRACED_SMALL=1: on an emulated CPU."""

import argparse
import collections
import glob
import importlib
import itertools
import os
import pickle
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.dont_write_bytecode = True

import lib  # noqa: E402  (it is beside this file)
import clients  # noqa: E402
import matrix  # noqa: E402
import turns  # noqa: E402


class TooLong(Exception):
    pass


def on_alarm(_signal, _frame):
    raise TooLong


def comment(text):
    for line in text.splitlines():
        print("# " + line, flush=True)


def by_turns(tests):
    """Those that are first, then one of each area and argument, then the second ones, each time
    from another one on."""
    seen = collections.Counter()
    ranks = []
    tests = turns.picked("tests", tests, len(tests), turns.turn())
    for test in tests:
        kind = test.name.split(":")[0], test.argument
        ranks.append(-1 if test.first else seen[kind])
        seen[kind] += 1
    return [test for _, test in sorted(zip(ranks, tests), key=lambda pair: pair[0])]


def is_attack(test):
    return test.area.startswith("attacks_")


def run_one(number, test, until):
    """Whether it passed; None: there was no time for it."""
    begun = time.monotonic()
    if time.clock_gettime(time.CLOCK_BOOTTIME) > until and not test.first and not is_attack(test):
        return None
    signal.alarm(test.timeout * (20 if lib.LONG else lib.PATIENCE))
    try:
        test.run()
        print(f"ok {number} - {test.name}", flush=True)
        result = True
    except lib.Skip as skip:
        print(f"ok {number} - {test.name} # SKIP {skip}", flush=True)
        result = True
    except (TooLong, subprocess.TimeoutExpired):
        print(f"not ok {number} - {test.name}", flush=True)
        comment(f"took too long ({time.monotonic() - begun:.0f} s)\n" + traceback.format_exc())
        result = False
    except AssertionError as failure:
        print(f"not ok {number} - {test.name}", flush=True)
        where = traceback.extract_tb(failure.__traceback__)
        comment(f"{str(failure)[:2000]}\nat " + ", ".join(
            f"{os.path.basename(frame.filename)}:{frame.lineno}" for frame in where[1:]))
        result = False
    except Exception:  # a broken test is a failed one, and the others still run
        print(f"not ok {number} - {test.name}", flush=True)
        comment(traceback.format_exc())
        result = False
    finally:
        signal.alarm(0)
    comment(f"{time.monotonic() - begun:.1f} s")
    return result


class Failed:
    """Names of tests that failed when they last ran, kept with the build."""

    def __init__(self, build):
        self.path = os.path.join(build, "tests/live-failed")
        try:
            with open(self.path, encoding="utf-8") as file:
                self.names = set(file.read().splitlines())
        except FileNotFoundError:
            self.names = set()

    def first(self, tests):
        return sorted(tests, key=lambda test: test.name not in self.names)

    def note(self, results):
        """results: whether they passed, by name."""
        before = set(self.names)
        for name, passed in results.items():
            if passed is None:
                continue
            (self.names.discard if passed else self.names.add)(name)
        if self.names != before:
            os.makedirs(os.path.dirname(self.path), exist_ok=True)
            with open(self.path, "w", encoding="utf-8") as file:
                file.writelines(name + "\n" for name in sorted(self.names))


def run_each(numbered, until):
    """Whether they passed, by name."""
    return {test.name: run_one(number, test, until) for number, test in numbered}


def remove_workdir():
    shutil.rmtree(lib.workdir(), ignore_errors=True)


class Lane:
    """An area's tests in a process of their own, whose output is shown when it is complete."""

    def __init__(self, numbered, until):
        self.numbered = numbered
        self.said, self.told = tempfile.TemporaryFile(), tempfile.TemporaryFile()
        sys.stdout.flush()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                os.dup2(self.said.fileno(), 1)
                lib.workdir.cache_clear()  # one of its own
                results = run_each(numbered, until)
                with os.fdopen(self.told.fileno(), "wb", closefd=False) as file:
                    pickle.dump((results, matrix.ROWS, clients.ROWS), file)
            finally:
                remove_workdir()
                os._exit(0)

    def finish(self):
        """As run_each(); a test of which nothing is known has failed."""
        self.said.seek(0)
        print(self.said.read().decode(errors="replace"), end="", flush=True)
        self.told.seek(0)
        try:
            results, rows, showed = pickle.load(self.told)
        except EOFError:
            return {test.name: False for _, test in self.numbered}
        matrix.ROWS.update(rows)
        clients.ROWS.update(showed)
        return results


# How many areas of one kind run at the same time: services look at the whole machine, and see what
# another one's tests start.
MOST = {"services": 1}


def may_run(one, running):
    """`one` and each of those that run: a test of an area."""
    apart = any((one.translates and other.untranslated) or (one.untranslated and other.translates)
                for other in running)
    kinds = [other.beside for other in running]
    return not apart and kinds.count(one.beside) < MOST.get(one.beside, float("inf"))


def take_next(areas, running):
    """The numbered tests of the first area that may run beside those that do."""
    for area in areas:
        if may_run(area[0][1], [lane.numbered[0][1] for lane in running]):
            areas.remove(area)
            return area
    return None


def run_beside(areas, lanes, until):
    """The results of each area in turn, as it is over."""
    running = {}
    while areas or running:
        while len(running) < lanes and (area := take_next(areas, running.values())):
            lane = Lane(area, until)
            running[lane.pid] = lane
        pid, _ = os.wait()
        yield running.pop(pid).finish()


LONG_AREA = 1000  # seconds of all time-outs


def split(tests, lanes, failed):
    """Numbered tests: those of each area that goes beside others, and the rest. What failed the
    last time comes first, then attacks, then the areas that may take long, so that no lane is busy
    with one at the end."""
    areas, alone = collections.defaultdict(list), []
    for number, test in enumerate(tests, 1):
        (areas[test.area] if lanes > 1 and test.beside else alone).append((number, test))
    return sorted(areas.values(),
                  key=lambda area: (area[0][1].name not in failed.names, not is_attack(area[0][1]),
                                    sum(test.timeout for _, test in area) < LONG_AREA)), alone


def close_plan(results):
    """Those for which there was no time are one skip; scripts/check-kernels reads their names."""
    late = [name for name, passed in results.items() if passed is None]
    for name in late:
        comment(f"no time left: {name}")
    number = len(results) - len(late) + bool(late)
    if late:
        print(f"ok {number} - {len(late)} tests # SKIP no time left", flush=True)
    print(f"1..{number}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default=lib.Place.build)
    parser.add_argument("--every-kernel", action="store_true")
    parser.add_argument("--until-uptime", type=float, default=float("inf"))
    parser.add_argument("--areas", nargs="+", metavar="AREA")
    parser.add_argument("--lanes", type=int, default=1)
    parser.add_argument("pattern", nargs="*")
    args = parser.parse_args()
    lib.Place.build = os.path.abspath(args.build)
    for path in sorted(glob.glob(os.path.join(HERE, "test_*.py"))):
        importlib.import_module(os.path.basename(path)[:-len(".py")])
    failed = Failed(lib.Place.build)
    all_turns = lib.LONG or lib.SMALL or args.pattern
    tests = [t for t in lib.TESTS if all(part in t.name for part in args.pattern) and
             (t.usual or all_turns or t.name in failed.names) and
             (t.every_kernel or not args.every_kernel) and
             (not args.areas or t.area in args.areas)]
    if args.until_uptime < float("inf"):
        tests = by_turns(tests)
    tests = failed.first(tests)
    if args.until_uptime == float("inf"):
        print(f"1..{len(tests)}", flush=True)
    if not all_turns:
        comment(f"note: {len(tests)} tests, of each kind those whose turn it is: the same by "
                f"MEMTRACED_TURN={turns.turn():08x}, all in make check-long")
    if not os.access(lib.memtraced(), os.X_OK):
        comment(f"{lib.memtraced()} is not built")
        return 1
    signal.signal(signal.SIGALRM, on_alarm)
    # Whoever started this may have had signals ignored, as shells do for background jobs and nohup.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    os.chdir("/")
    areas, alone = split(tests, args.lanes, failed)
    every = {}
    try:
        for results in itertools.chain((run_each([test], args.until_uptime) for test in alone),
                                       run_beside(areas, args.lanes, args.until_uptime)):
            failed.note(results)
            every.update(results)
    finally:
        remove_workdir()
    if args.until_uptime < float("inf"):
        close_plan(every)
    comment("\n".join("note: " + line for line in matrix.lines() + clients.lines()))
    return 1 if False in every.values() else 0


if __name__ == "__main__":
    sys.exit(main())
