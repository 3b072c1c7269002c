# SPDX-License-Identifier: GPL-2.0-or-later
"""What tests of histograms have in common: what targets counted of themselves (tests/targets/
calls.c), what is reported, and whether these are the same."""

import collections
import contextlib
import errno
import os
import re
import signal
import subprocess
import tempfile

import schema

from lib import INTERVAL, memtraced, run_memtraced, scratch, started, target

# --- what is expected --------------------------------------------------------------------------

Linear = collections.namedtuple("Linear", "low high step")


def bucket_of(value, linear=None):
    """The bucket's ends as reports have them."""
    if linear:
        if value < linear.low:
            return None, linear.low
        if value >= linear.high:
            return linear.high, None
        low = value - (value - linear.low) % linear.step
        return low, low + linear.step
    if value <= 0:
        return (0, 1) if value == 0 else (None, 0)
    low = 1 << (value.bit_length() - 1)
    return low, low * 2 if low < 1 << 62 else None


def linear_of(spec):
    found = re.search(r",lin=(-?\d+)-(-?\d+)/(\d+)", spec)
    return Linear(*map(int, found.groups())) if found else None


class Tallies:
    """What targets wrote of themselves: (pid, comm, channel, value) -> count."""

    def __init__(self, text):
        self.rows = []
        for line in text.splitlines():
            if line.startswith("tally "):
                pid, comm, channel, value, count = line.split()[1:]
                self.rows.append((int(pid), comm, channel, int(value), int(count)))
        assert self.rows, f"the target has counted nothing: {text[-500:]!r}"

    def of(self, spec, keep=lambda pid, comm: True):
        """{key: {bucket: count}} as a histogram of this spec should have it."""
        channel = spec.split(",")[0]
        groups = {}
        for pid, comm, name, value, count in self.rows:
            if name != channel or not keep(pid, comm):
                continue
            key = str(pid) if "by=pid" in spec else comm if "by=comm" in spec else None
            buckets = groups.setdefault(key, collections.Counter())
            buckets[bucket_of(value, linear_of(spec))] += count
        return groups

    def errors(self, spec):
        """{errno's name: count}"""
        counts = collections.Counter()
        for _, _, name, value, count in self.rows:
            if name == spec.split(",")[0] and -4096 < value < 0:
                counts[errno.errorcode[-value]] += count
        return dict(counts)

    def total(self, channel):
        return sum(row[4] for row in self.rows if row[2] == channel)


# --- what is reported --------------------------------------------------------------------------

def groups_of(report, spec):
    """{key: {bucket: count}} of the histogram that was asked for so."""
    groups = {}
    for histogram in report["histograms"]:
        if histogram["spec"] != spec or not histogram["count"]:
            continue
        assert histogram["key"] not in groups, f"{spec}: two groups {histogram['key']!r}"
        groups[histogram["key"]] = {(b["lo"], b["hi"]): b["count"] for b in histogram["buckets"]}
    return groups


def one(report, spec):
    found = [histogram for histogram in report["histograms"] if histogram["spec"] == spec]
    assert len(found) == 1, f"{len(found)} histograms {spec}"
    return found[0]


def differences(spec, got, expected):
    wrong = []
    for key in sorted(got.keys() | expected.keys(), key=str):
        ours, true = got.get(key, {}), expected.get(key, {})
        wrong += [f"{spec} [{key}] {bucket}: reported {ours.get(bucket, 0)}, true "
                  f"{true.get(bucket, 0)}" for bucket in sorted(ours.keys() | true.keys(), key=str)
                  if ours.get(bucket, 0) != true.get(bucket, 0)]
    return wrong


def same(report, tallies, *specs, keep=lambda pid, comm: True):
    """Each bucket of each group is what the target counted, no group is more or less."""
    assert report["coverage"]["exact"], f"not exact: {report['coverage']}"
    for spec in specs:
        expected = tallies.of(spec, keep)
        assert expected, f"the target has counted no {spec}"
        wrong = differences(spec, groups_of(report, spec), expected)
        assert not wrong, "; ".join(wrong[:20])


def options(specs):
    return [f"--hist={spec}" for spec in specs]


def counted(command, *specs, more=(), status=0, timeout=60, env=None):
    """Runs a command under memtraced: the report and what the command wrote."""
    with scratch() as folder:
        path = os.path.join(folder, "report.json")
        done = run_memtraced(*options(specs), *more, "-o", f"json:{path}", "--", *command,
                             timeout=timeout, env=env)
        assert done.returncode == status, \
            f"exit status {done.returncode}, not {status}; stderr: {done.stderr[-2000:]}"
        with open(path, encoding="utf-8") as file:
            report = schema.load(file)
    schema.check(report, allocations="--alloc" in more)
    return report, done.stdout


def calls(*words, specs, more=(), timeout=60):
    report, text = counted([target("calls"), *map(str, words)], *specs, more=more, timeout=timeout)
    return report, Tallies(text)


class Watch:
    """memtraced that counts until it is told to end."""

    def __init__(self, process, errors):
        self.process, self.errors = process, errors

    def next_report(self):
        line = self.process.lines.next()
        if line is None:
            self.process.wait(30)
            self.errors.seek(0)
            said = self.errors.read().decode(errors="replace")
            raise AssertionError(f"memtraced ended with {self.process.returncode}: {said[-1000:]}")
        report = schema.loads(line)
        schema.check(report, allocations=False)
        return report

    def finish(self, sig=signal.SIGINT):
        """The last report."""
        latest = None
        if sig is not None:
            self.process.send_signal(sig)
        while (line := self.process.lines.next()) is not None:
            latest = schema.loads(line)
        assert self.process.wait(30) == 0, f"exit status {self.process.returncode}"
        schema.check(latest, allocations=False)
        return latest


@contextlib.contextmanager
def watching(*words, **how):
    """Yields once the first report has come: what it counts is attached."""
    command = [memtraced(), *words, "-f", "json", "-i", INTERVAL]
    with tempfile.TemporaryFile() as errors, started(command, stdin=subprocess.DEVNULL,
                                                     stderr=errors, **how) as process:
        watch = Watch(process, errors)
        watch.next_report()
        yield watch


def ready(process):
    return int(process.lines.until("ready"))


def until_ready(process):
    """What a held target writes until it waits at its end, and lets it go."""
    lines = []
    while (line := process.lines.next()) is not None and not line.startswith("ready"):
        lines.append(line)
    assert line is not None, "the target ended"
    return "\n".join(lines)


def held(*words):
    return started([target("calls"), *map(str, words), "held"])
