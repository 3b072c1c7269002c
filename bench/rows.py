# SPDX-License-Identifier: GPL-2.0-or-later
"""The rows of the table: what is run. A row whose program is not installed says so."""

import dataclasses
import glob
import os
import shutil
import subprocess
import typing

from measure import wait_until

LIBC = "/lib/x86_64-linux-gnu/libc.so.6"
REDIS_SOCKET = "redis.sock"
ONE_PAIR = "one pair"
DEPTHS = (4, 20, 50, 120)
QUICK_PAIRS = ((4, 1), (20, 1), (4, 2))
QUICK_PROGRAMS = ("python3 json", "jq", "C++ stress")

PYTHON_JSON = """
import json, sys
for _ in range(2):
    table = json.load(open(sys.argv[1]))
    names = {record["name"]: record["score"] for record in json.loads(json.dumps(table))}
assert names
"""

PERL = r"""
my %seen; my @kept;
open(my $in, '<', $ARGV[0]) or die;
while (my $line = <$in>) {
    chomp $line;
    my @words = split / /, $line;
    $seen{$_}++ for @words;
    push @kept, { words => [@words[0 .. 3]], text => join('-', reverse @words) } if @kept < 9000;
}
my @order = sort { $seen{$b} <=> $seen{$a} || $a cmp $b } keys %seen;
die unless @order;
"""

PERL_SORT = r"""
open(my $in, '<', $ARGV[0]) or die;
my @sorted = sort { lc $a cmp lc $b } <$in>;
die unless @sorted;
"""

NODE = """
const fs = require('fs'), zlib = require('zlib'), crypto = require('crypto');
const table = JSON.parse(fs.readFileSync(process.argv[2], 'utf8'));
let total = 0;
for (const record of table) {
  const path = encodeURIComponent(record.name) + '?id=' + record.id;
  const url = new URL('http://host.example/' + path);
  total += url.href.length + Buffer.from(JSON.stringify(record)).length;
  total += crypto.createHash('sha256').update(url.href).digest().length;
  if (record.id % 20 === 0) total += zlib.deflateSync(url.href).length;
}
if (!total) process.exit(1);
"""


@dataclasses.dataclass
class Row:
    name: str
    command: list
    env: dict = dataclasses.field(default_factory=dict)
    allocator: str = LIBC
    threads: int = 1
    quick: bool = False  # measured in a quick run as well
    pairs: int = 0  # of each thread, in the pair loop
    depth: int = 0
    driver: typing.Callable = None  # run beside the program
    missing: str = None             # why it cannot run here

    def times(self, factor):
        """The same row with so many times its pairs; other rows and one pair alone stay."""
        if self.pairs <= 1 or factor == 1:
            return self
        pairs = self.pairs * factor
        return dataclasses.replace(self, pairs=pairs, command=[*self.command[:-1], str(pairs)])

    @property
    def small(self):
        """Small enough to read a peer's whole recording for its count."""
        return self.pairs > 0


def libc():
    """The C library that dynamic programs of this machine map."""
    maps = open("/proc/self/maps", encoding="ascii")
    with maps:
        paths = [line.split()[-1] for line in maps if "/libc.so.6" in line]
    return os.path.realpath(paths[0]) if paths else LIBC


def jemalloc():
    found = glob.glob("/usr/lib/*/libjemalloc.so.2")
    return os.path.realpath(found[0]) if found else LIBC


def pair_rows(place, quick):
    """The pair loop by depth and threads, and one pair alone: what start and end cost."""
    program = place.program("pairs")
    pairs = 60000 if quick else 200000

    def row(depth, threads, count):
        plural = "s" if threads > 1 else ""
        name = f"{depth} frames, {threads} thread{plural}" if count > 1 else ONE_PAIR
        return Row(name, [program, str(depth), str(threads), str(count)], allocator=libc(),
                   threads=threads, pairs=count, depth=depth,
                   quick=count == 1 or (depth, threads) in QUICK_PAIRS)

    return [row(4, 1, 1)] + [row(depth, threads, pairs) for threads in (1, 2) for depth in DEPTHS]


def answers(socket):
    done = subprocess.run(["redis-cli", "-s", socket, "ping"], capture_output=True, check=False,
                          timeout=30)
    return done.stdout.strip() == b"PONG"


def drive_redis(requests):
    def drive(place):
        socket = place.file(REDIS_SOCKET)
        wait_until(lambda: answers(socket), "an answer of redis-server")
        subprocess.run(["redis-benchmark", "-s", socket, "-q", "-t", "set,lpush,hset", "-c", "8",
                        "-n", str(requests), "-r", "100000", "-d", "200"],
                       check=True, stdout=subprocess.DEVNULL, timeout=60)
        subprocess.run(["redis-cli", "-s", socket, "shutdown", "nosave"], check=True, timeout=30,
                       stdout=subprocess.DEVNULL)
    return drive


def program_rows(place, inputs):
    scale = inputs.scale
    python = "/usr/bin/python3"
    git_env = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_PAGER": "cat"}
    json_script = inputs.script("records.py", PYTHON_JSON)
    records = inputs.records()
    rows = [
        Row("gzip", ["gzip", "-c", inputs.text()]),
        Row("python3 json", [python, json_script, records]),
        Row("clang -O1", ["clang", "-O1", "-c", "-o", "/dev/null", inputs.c_source()]),
        Row("redis-server", ["redis-server", "--port", "0", "--save", "", "--appendonly", "no",
                             "--unixsocket", place.file(REDIS_SOCKET)],
            allocator=jemalloc(), driver=drive_redis(int(10000 * scale))),
        Row("node", ["node", inputs.script("urls.js", NODE), records]),
        Row("sqlite3", ["sqlite3", ":memory:", ".read " + inputs.sql()]),
        Row("git log -p", ["git", "-C", inputs.repository(), "log", "-p"], env=git_env),
        Row("jq", ["jq", "-c", "[.[] | select(.active) | .score * 2] | add", records]),
        Row("perl", ["perl", inputs.script("words.pl", PERL), inputs.text()]),
        Row("perl sort", ["perl", inputs.script("sort.pl", PERL_SORT), inputs.text()]),
        Row("C++ stress", [place.program("stress"), str(int(200 * scale))]),
        Row("python3 json, PYTHONMALLOC=malloc", [python, json_script, records],
            env={"PYTHONMALLOC": "malloc"}),
        Row("xmllint", ["xmllint", "--noout", inputs.xml()]),
        Row("Rust trees", [place.program("trees"), str(int(300 * scale))]),
    ]
    for row in rows:
        row.quick = row.name in QUICK_PROGRAMS
        row.allocator = libc() if row.allocator == LIBC else row.allocator
        if not shutil.which(row.command[0]):
            row.missing = f"{os.path.basename(row.command[0])} is not there"
    return rows
