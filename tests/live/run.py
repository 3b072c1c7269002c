#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs the live tests and prints TAP: run.py [--build DIR] [PATTERN...]. A pattern is a part of a
test's name ("accounting:", "[perf]"); a test runs if all patterns match, with --areas if it is of
one of these, and with --every-kernel if it is declared for every kernel. What failed the last time
comes first. --until-uptime: tests that have not begun so many seconds after the boot are skipped;
of each area and attach path one comes first then. MEMTRACED_LONG=1: at full size,
MEMTRACED_SMALL=1: on an emulated CPU."""

import argparse
import collections
import glob
import importlib
import os
import shutil
import signal
import subprocess
import sys
import time
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.dont_write_bytecode = True

import lib  # noqa: E402  (it is beside this file)
import clients  # noqa: E402
import matrix  # noqa: E402


class TooLong(Exception):
    pass


def on_alarm(_signal, _frame):
    raise TooLong


def comment(text):
    for line in text.splitlines():
        print("# " + line, flush=True)


def by_turns(tests):
    """The first of each area and argument, then the second ones."""
    seen = collections.Counter()
    ranks = []
    for test in tests:
        kind = test.name.split(":")[0], test.argument
        ranks.append(seen[kind])
        seen[kind] += 1
    return [test for _, test in sorted(zip(ranks, tests), key=lambda pair: pair[0])]


def run_one(number, test, until):
    begun = time.monotonic()
    if time.clock_gettime(time.CLOCK_BOOTTIME) > until:
        # scripts/check-kernels knows it by these words
        print(f"ok {number} - {test.name} # SKIP no time left", flush=True)
        return True
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

    def note(self, test, passed):
        before = len(self.names)
        (self.names.discard if passed else self.names.add)(test.name)
        if len(self.names) != before:
            os.makedirs(os.path.dirname(self.path), exist_ok=True)
            with open(self.path, "w", encoding="utf-8") as file:
                file.writelines(name + "\n" for name in sorted(self.names))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default=lib.Place.build)
    parser.add_argument("--every-kernel", action="store_true")
    parser.add_argument("--until-uptime", type=float, default=float("inf"))
    parser.add_argument("--areas", nargs="+", metavar="AREA")
    parser.add_argument("pattern", nargs="*")
    args = parser.parse_args()
    lib.Place.build = os.path.abspath(args.build)
    for path in sorted(glob.glob(os.path.join(HERE, "test_*.py"))):
        importlib.import_module(os.path.basename(path)[:-len(".py")])
    tests = [t for t in lib.TESTS if all(part in t.name for part in args.pattern) and
             (t.every_kernel or not args.every_kernel) and
             (not args.areas or t.area in args.areas)]
    if args.until_uptime < float("inf"):
        tests = by_turns(tests)
    failed = Failed(lib.Place.build)
    tests = failed.first(tests)
    print(f"1..{len(tests)}", flush=True)
    if not os.access(lib.memtraced(), os.X_OK):
        comment(f"{lib.memtraced()} is not built")
        return 1
    signal.signal(signal.SIGALRM, on_alarm)
    # Whoever started this may have had signals ignored, as shells do for background jobs and nohup.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    os.chdir("/")
    try:
        results = []
        for number, test in enumerate(tests, 1):
            results.append(run_one(number, test, args.until_uptime))
            failed.note(test, results[-1])
    finally:
        shutil.rmtree(lib.workdir(), ignore_errors=True)
    comment("\n".join("note: " + line for line in matrix.lines() + clients.lines()))
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
