# SPDX-License-Identifier: GPL-2.0-or-later
"""What live tests are made of: declaring tests, running memtraced on targets, the targets' own
counts (see tests/targets/ledger.h), comparisons. Python's standard library only."""

import contextlib
import functools
import glob
import os
import platform
import re
import select
import shutil
import socket
import signal
import struct
import subprocess
import sys
import tempfile
import time

import schema
import turns

LONG = os.environ.get("MEMTRACED_LONG", "") not in ("", "0")
# On an emulated CPU, where a probe's hit takes 20 us: at most 20,000 events a test.
SMALL = os.environ.get("MEMTRACED_SMALL", "") not in ("", "0")
PATIENCE = 5 if SMALL else 1  # times each time-out
ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))

# What the four attach paths need; from these kernels on they must work, so that a broken one fails
# and is not skipped.
ATTACH_PATHS = {"session": (6, 13), "multi": (6, 6), "perf": (4, 17), "exit": (4, 17)}

EXACT_KEYS = ("allocs", "frees", "failed", "bytes", "live_bytes", "live_blocks", "unknown_frees")
# Where one thread at a time allocates, the order of events has no two readings.
SERIAL_KEYS = EXACT_KEYS + ("peak_bytes", "temporary")


GONE = (FileNotFoundError, ProcessLookupError)  # what reading /proc raises of what has ended


class Place:
    """Where things are; run.py fills it in."""
    build = os.path.join(ROOT, "build")


class Skip(Exception):
    pass


# --- declaring tests ---------------------------------------------------------------------------

TESTS = []


def kernel_version():
    return tuple(int(n) for n in re.findall(r"\d+", os.uname().release)[:2])


def attach_path(argument):
    """The attach path that an argument of a test ends with, if this kernel has it; else ""."""
    path = str(argument).split(" ")[-1]
    return path if ATTACH_PATHS.get(path, (1 << 32,)) <= kernel_version() else ""


class Test:
    def __init__(self, function, area, argument, needs, timeout):
        self.function, self.argument = function, argument
        self.needs, self.timeout = needs, timeout
        self.area = area
        name = function.__name__.replace("_", " ")
        self.name = f"{area}: {name}" + (f" [{argument}]" if argument is not None else "")
        self.usual = True  # its turn is now
        self.every_kernel = self.first = False
        self.beside, self.translates, self.untranslated = (
            getattr(sys.modules[function.__module__], name, False)
            for name in ("BESIDE_OTHERS", "TRANSLATES", "UNTRANSLATED"))

    def run(self):
        for need in self.needs:
            need()
        if self.argument is None:
            self.function()
        else:
            self.function(self.argument)


def among(argument, which):
    """which: all (True), none (False), or these arguments of a test."""
    return which if isinstance(which, bool) else argument in which


def test(*needs, each=(None,), in_turn=None, timeout=60, every_kernel=False, first=False,
         alone=False):
    """Makes a function a test, or several: one for each argument. `needs` raise Skip.
    `in_turn`: with so many of the arguments make check runs it, the others have their turn with
    another commit; of attach paths one has its turn (turns.py).
    `every_kernel`: it is among those that make check runs on other kernels, too, as far as there is
    time (make check-kernels runs all of these, make check-long all tests); or with which arguments
    it is. `first`: there is always time for it. `alone`: not beside others, though its module's
    tests are, as it needs all CPUs."""
    def declare(function):
        area = re.sub(r"^test_", "", function.__module__)
        usual = turns.usual(function.__name__, each, in_turn, attach_path)
        for argument in each:
            one = Test(function, area, argument, needs, timeout)
            one.usual, one.first = argument in usual, among(argument, first)
            one.every_kernel = one.first or among(argument, every_kernel)
            one.beside = one.beside and not alone
            TESTS.append(one)
        return function
    return declare


def need_root():
    if os.geteuid() != 0:
        raise Skip("needs root")


def need_program(*names):
    def check():
        for name in names:
            if not shutil.which(name):
                raise Skip(f"{name} is not installed")
    return check


def need_forms():
    """Forms of new and delete are told by unwinding: rules are of x86-64 alone."""
    if platform.machine() != "x86_64":
        raise Skip("stacks are unwound on x86-64 alone")


def need_long():
    if not LONG:
        raise Skip("only in make check-long")


def need_speed():
    if SMALL:
        raise Skip("an emulated CPU is too slow for it")


def need_kernel(*version):
    def check():
        if kernel_version() < version:
            raise Skip(f"needs Linux {'.'.join(map(str, version))}")
    return check


def need_sampling():
    """Programs at the kernel's own events: --cpu, --off-cpu, --page-faults, growth depth."""
    need_kernel(6, 1)()


def scaled(usual, long, small=None):
    """How many: usually, in make check-long, and on an emulated CPU (else a 20th)."""
    if SMALL:
        return small or max(usual // 20, 1)
    return long if LONG else usual


def by_library():
    return os.environ.get("MEMTRACED_TEST_EXACT") == "library"


def attach_option(path):
    """--attach=PATH, or a skip where the kernel is older than the path. By the library none."""
    need_kernel(*ATTACH_PATHS[path])()
    return "--exact=auto" if by_library() else f"--attach={path}"


def note(line):
    """A line for whoever reads what a test has measured."""
    print(f"# note: {line}", flush=True)


# --- running -----------------------------------------------------------------------------------

@contextlib.contextmanager
def variable(name, value):
    """What is started meanwhile has it in its environment; None: it has none of that name."""
    def put(text):
        if text is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = text

    before = os.environ.get(name)
    put(value)
    try:
        yield
    finally:
        put(before)


def without(features):
    """Features of the kernel are left out, by the names of --features with commas (None: none)."""
    return variable("MEMTRACED_WITHOUT", features) if features else contextlib.nullcontext()


def memtraced():
    return os.path.join(Place.build, "memtraced")


def target(name):
    return os.path.join(Place.build, "tests", "targets", name)


def line_of(source, text):
    """The line of a target's source that has the text: "deaths.c"."""
    with open(os.path.join(ROOT, "tests", "targets", source), encoding="utf-8") as file:
        (found,) = [number for number, line in enumerate(file, 1) if text in line]
    return found


@functools.lru_cache(maxsize=1)
def workdir():
    return tempfile.mkdtemp(prefix="memtraced-test-")


@contextlib.contextmanager
def scratch():
    """A directory of the test's own, where every user may write."""
    path = tempfile.mkdtemp(dir=workdir())
    os.chmod(workdir(), 0o755)
    os.chmod(path, 0o777)
    yield path
    shutil.rmtree(path, ignore_errors=True)


def target_for_all(folder, name, called=None):
    """A copy that every user may run, wherever the build is; maybe by another name, which tests
    beside this one do not have."""
    path = os.path.join(folder, called or name)
    shutil.copy(target(name), path)
    os.chmod(path, 0o755)
    return path


def run(command, timeout=60, **how):
    """A finished process, with what it wrote as text; no input unless given."""
    if "input" not in how:
        how.setdefault("stdin", subprocess.DEVNULL)
    how.setdefault("stdout", subprocess.PIPE)
    how.setdefault("stderr", subprocess.PIPE)
    return subprocess.run(command, timeout=timeout * PATIENCE, text=True, errors="replace",
                          check=False, **how)


def need_probes(what):
    """Of a test that is about what the library does not have."""
    def check():
        if by_library():
            raise Skip(f"counting by the library has no {what}")
    return check


# Tests are about probes, unless they ask for something else. With MEMTRACED_TEST_EXACT=library they
# are run as users run commands, who say nothing of it: by the library, where that can be used.
PRELOAD = "MEMTRACED_EXACT_PRELOAD"
if not by_library():
    os.environ[PRELOAD] = "no"


def as_users_do():
    """Nothing is said, whatever the run of all tests says."""
    return variable(PRELOAD, None)


def run_memtraced(*args, timeout=60, **how):
    return run([memtraced(), *args], timeout=timeout, **how)


class Lines:
    """Reads a process's output line by line, with a deadline."""

    def __init__(self, stream):
        self.fd, self.buffer, self.searched = stream.fileno(), bytearray(), 0

    def next(self, timeout=30):
        """The next line without its end; None at the end of the stream."""
        deadline = time.monotonic() + timeout * PATIENCE
        # a report of the host is one line of many megabytes
        while (end := self.buffer.find(b"\n", self.searched)) < 0:
            self.searched = len(self.buffer)
            left = deadline - time.monotonic()
            assert left > 0, f"no line in {timeout} s, only {bytes(self.buffer[:200])!r}"
            if not select.select([self.fd], [], [], left)[0]:
                continue
            data = os.read(self.fd, 1 << 20)
            if not data:
                return None
            self.buffer += data
        line = self.buffer[:end].decode(errors="replace")
        del self.buffer[:end + 1]
        self.searched = 0
        return line

    def forget(self):
        """What has come so far is not asked for; of a line that has not come whole it is kept."""
        while select.select([self.fd], [], [], 0)[0] and (data := os.read(self.fd, 1 << 20)):
            self.buffer += data
        del self.buffer[:self.buffer.rfind(b"\n") + 1]
        self.searched = 0

    def until(self, start, timeout=30):
        """The rest of the first line that begins with `start`."""
        while True:
            line = self.next(timeout)
            assert line is not None, f"ended without a line {start!r}"
            if line.startswith(start):
                return line[len(start):].strip()


LAST_LINES = 10


def show_last_lines(name, file):
    said = os.pread(file.fileno(), 1 << 20, 0)  # whoever writes it shares its position
    for line in said.decode(errors="replace").splitlines()[-LAST_LINES:]:
        print(f"# {name}: {line}")


@contextlib.contextmanager
def started(command, **how):
    """A running process, killed at the end if it still runs; .lines reads its stdout. What it says
    on stderr is shown if the test fails."""
    said = None if "stderr" in how else tempfile.TemporaryFile()
    how.setdefault("stdin", subprocess.PIPE)
    how.setdefault("stdout", subprocess.PIPE)
    process = subprocess.Popen(command, **{"stderr": said, **how})
    if process.stdout:
        process.lines = Lines(process.stdout)
    try:
        yield process
    except BaseException:
        if said:
            show_last_lines(os.path.basename(command[0]), said)
        raise
    finally:
        if said:
            said.close()
        if process.poll() is None:
            process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream:
                with contextlib.suppress(BrokenPipeError):
                    stream.close()


def free_port():
    """Of TCP on the loopback interface, free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def send_line(process, line=""):
    process.stdin.write(line.encode() + b"\n")
    process.stdin.flush()


# --- the targets' own counts -------------------------------------------------------------------

FIELDS = ("pid", "allocs", "frees", "failed", "bytes", "live_bytes", "live_blocks", "peak_bytes",
          "temporary", "unknown_frees")


class Counts(dict):
    """What one process image counted of itself."""

    @classmethod
    def read(cls, path):
        with open(path, "rb") as file:
            return cls(zip(FIELDS, struct.unpack("=10q", file.read())))

    def minus(self, before):
        return Counts({key: value - before.get(key, 0) for key, value in self.items()})


def read_counts(folder):
    """{pid: [counts of its first image, of the next, ...]}"""
    images = {}
    for path in glob.glob(os.path.join(folder, "*.*")):
        pid, image = os.path.basename(path).split(".")
        images.setdefault(int(pid), []).append((int(image), Counts.read(path)))
    return {pid: [counts for _, counts in sorted(found, key=lambda item: item[0])]
            for pid, found in images.items()}


def counting(folder, library="libcounter.so", preload=""):
    """The environment under which a target counts its own calls into folder/all and folder/own."""
    for name in ("all", "own"):
        os.makedirs(os.path.join(folder, name), exist_ok=True)
        os.chmod(os.path.join(folder, name), 0o777)
    env = {"COUNTS": os.path.join(folder, "all"), "SELF_COUNTS": os.path.join(folder, "own")}
    libraries = [target(library)] if library else []
    libraries += [preload] if preload else []
    if libraries:
        env["LD_PRELOAD"] = ":".join(libraries)
    return env


# --- one traced run ----------------------------------------------------------------------------

class Run:
    """What came of `memtraced ... -- COMMAND`."""

    def __init__(self, done, report, everything, own):
        self.status, self.stdout, self.stderr = done.returncode, done.stdout, done.stderr
        self.report, self.everything, self.own = report, everything, own

    def only_process(self):
        processes = self.report["processes"]
        assert len(processes) == 1, f"{len(processes)} processes, not 1: {brief(processes)}"
        return processes[0]

    def only_count(self):
        images = [counts for found in self.everything.values() for counts in found]
        assert len(images) == 1, f"{len(images)} images counted themselves, not 1"
        return images[0]


def brief(processes):
    return [(process["pid"], process["comm"], process["alloc"]["allocs"]) for process in processes]


def load_report(path, filtered=False, allocations=True):
    assert os.path.exists(path), f"no report at {path}"
    with open(path, encoding="utf-8") as file:
        report = schema.load(file)
    schema.check(report, filtered, allocations)
    return report


def refused(done, status, *words):
    """An error: its status, nothing on stdout, one clear message, and no trace of a crash."""
    assert done.returncode == status, f"{done.returncode}, not {status}: {done.stderr}"
    assert done.stdout == "", done.stdout
    text = done.stderr.lower()
    for word in words:
        assert word.lower() in text, f"stderr does not say '{word}': {done.stderr}"


ALL_CALLS = "--max-overhead=none"  # of what runs already, whatever a target does all day


def all_calls(options):
    """What counts all calls of a process that runs, where allocations are counted at all."""
    others = ("--max-overhead", "--sample", "--hist", "-e", "--syscalls", "--page-faults",
              "--mappings", "--cpu", "--off-cpu")
    only_others = any(option.startswith(others) for option in options)
    return () if only_others and "--alloc" not in options else (ALL_CALLS,)


def less_room(options):
    """Room for fewer blocks, but in make check-long: for two million it takes a fifth of the time
    of a start to make, on an emulated CPU half a second, and as long to read for each report. Not
    for tests of how many there can be, and not where no allocations are counted."""
    others = ("--max-blocks", "--memory-limit", "--hist", "-e", "--syscalls", "--page-faults",
              "--mappings")
    if (LONG and not SMALL) or any(option.startswith(others) for option in options):
        return ()
    return ("--max-blocks=64k",)


def trace(command, *options, library="libcounter.so", preload="", status=0, timeout=60, env=None,
          filtered=False):
    """Runs a target under memtraced with a report in JSON; the target counts itself meanwhile."""
    with scratch() as folder:
        path = os.path.join(folder, "report.json")
        variables = dict(counting(folder, library, preload), **(env or {}))
        words = [f"--env={name}={value}" for name, value in variables.items()]
        done = run_memtraced(*options, *less_room(options), *words, "-o", f"json:{path}", "--",
                             *command, timeout=timeout)
        assert done.returncode == status, \
            f"exit status {done.returncode}, not {status}; stderr: {done.stderr[-2000:]}"
        report = load_report(path, filtered)
        return Run(done, report, read_counts(os.path.join(folder, "all")),
                   read_counts(os.path.join(folder, "own")))


# An emulated CPU would be busy with reports alone.
INTERVAL = "0.5" if SMALL else "0.2"


class Attached:
    """memtraced -p on running processes, with a report as a line of JSON every INTERVAL seconds."""

    def __init__(self, process):
        self.process, self.latest = process, None

    def next_report(self, timeout=30, filtered=False):
        line = self.process.lines.next(timeout)
        if line is None:
            return None
        self.latest = schema.loads(line)
        schema.check(self.latest, filtered)
        return self.latest

    def later_report(self):
        """The first that is begun from now on: what has come is older, and the next may be."""
        self.process.lines.forget()
        self.next_report()
        return self.next_report()

    def finish(self, sig=signal.SIGINT, status=0, timeout=30, filtered=False):
        """Ends it by a signal (None: it ends by itself) and returns the final report."""
        if sig is not None:
            self.process.send_signal(sig)
        while self.next_report(timeout, filtered) is not None:
            continue
        got = self.process.wait(timeout * PATIENCE)
        assert got == status, f"exit status {got}, not {status}"
        return self.latest


@contextlib.contextmanager
def attached(pids, *options, filtered=False):
    """Yields once the first report has come: the probes are in."""
    command = [memtraced(), "-p", ",".join(str(pid) for pid in pids), "-f", "json", "-i",
               INTERVAL, *less_room(options), *all_calls(options), *options]
    with tempfile.TemporaryFile() as errors, started(command, stdin=subprocess.DEVNULL,
                                                     stderr=errors) as process:
        session = Attached(process)
        if session.next_report(filtered=filtered) is None:
            process.wait(30 * PATIENCE)
            errors.seek(0)
            said = errors.read().decode(errors="replace")
            raise AssertionError(f"memtraced ended with {process.returncode}: {said[-2000:]}")
        yield session


# --- comparisons -------------------------------------------------------------------------------

# Of which a counter behind the library knows nothing: as a module with thread-local storage of its
# own it has an entry in each thread's vector, which is none of the program's.
OF_LIBRARY = {"bytes": "allocs", "live_bytes": "live_blocks", "peak_bytes": "peak_blocks"}
ENTRY = 16


def without_entries(counts, entries):
    """entries: how many, by the keys of numbers of blocks."""
    return {key: value - ENTRY * entries[OF_LIBRARY[key]] if key in OF_LIBRARY else value
            for key, value in counts.items()}


def without_library(process, counts):
    if not process["alloc"].get("by_library"):
        return counts
    vectors = with_function(heap_sites(process), "_dl_allocate_tls")
    return without_entries(counts, {key: total(vectors, key) for key in OF_LIBRARY.values()})


def same(process, counts, keys=EXACT_KEYS):
    """The report's totals of a process are what it counted itself."""
    counts = without_library(process, counts)
    wrong = [f"{key}: reported {process['alloc'][key]}, true {counts[key]}"
             for key in keys if process["alloc"][key] != counts[key]]
    assert not wrong, f"pid {process['pid']} ({process['comm']}): " + "; ".join(wrong)
    assert process["alloc"]["missed_frees"] == 0, f"missed frees: {process['alloc']}"
    if "peak_bytes" in keys:
        # Where threads race, which site's bytes were in the peak has two right answers.
        peak = total(heap_sites(process), "peak_bytes")
        assert peak == counts["peak_bytes"], f"sites' peak {peak}, true {counts['peak_bytes']}"


def blocks_lost(report):
    """Those that found no room in all, or none in what one process may take."""
    lost = report["coverage"]["lost"]
    return lost.get("block-map-full", 0) + lost.get("process-blocks-full", 0)


def exact(report):
    coverage = report["coverage"]
    assert coverage["exact"], f"totals are not exact: {coverage}"


def same_images(run_, keys=EXACT_KEYS):
    """Each image that counted itself is in the report, newest first, with the same totals; what the
    report has besides did nothing."""
    exact(run_.report)
    for pid, images in run_.everything.items():
        processes = [p for p in run_.report["processes"] if p["pid"] == pid]
        busy = [p for p in processes if p["alloc"]["allocs"] or p["alloc"]["frees"]]
        assert len(busy) == len(images), \
            f"pid {pid}: {len(images)} images counted, reported: {brief(processes)}"
        for process, counts in zip(reversed(busy), images):
            same(process, counts, keys)
    strangers = [p for p in run_.report["processes"]
                 if p["pid"] not in run_.everything and p["alloc"]["allocs"]]
    assert not strangers, f"reported, but never counted: {brief(strangers)}"


def called_by(process, name):
    """The heap sites whose allocator call was made by code of the object `name`. The innermost
    frame is the allocator's function itself."""
    return [site for site in heap_sites(process) if len(site["frames"]) > 1 and
            os.path.basename(site["frames"][1]["object"] or "") == name]


def heap_sites(process):
    return [site for site in process["sites"] if site["class"] == "heap"]


def mapped_sites(process):
    return [site for site in process["sites"] if site["class"] == "mmap"]


def with_function(sites, function):
    """Of these sites the ones that have the function somewhere on their stack."""
    return [site for site in sites
            if any((frame["function"] or "") == function for frame in site["frames"])]


def total(sites, key):
    return sum(site[key] for site in sites)


def same_calls(process, counts, name):
    """The sites of the program's own calls are what its wrappers counted."""
    sites = called_by(process, name)
    wrong = [f"{key}: reported {total(sites, key)}, true {counts[key]}"
             for key in ("allocs", "bytes", "live_bytes", "live_blocks")
             if total(sites, key) != counts[key]]
    assert not wrong, f"calls from {name}: " + "; ".join(wrong)


# --- the state of the system -------------------------------------------------------------------

def resident(pid):
    """In bytes, as of now."""
    with open(f"/proc/{pid}/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")


def process_state(pid):
    """The letter of /proc/PID/stat, and the pid of its tracer."""
    with open(f"/proc/{pid}/status", encoding="utf-8", errors="replace") as file:
        fields = dict(line.split(":", 1) for line in file if ":" in line)
    return fields["State"].split()[0], int(fields["TracerPid"])


def eventually(condition, what, timeout=15):
    """Waits for what must come about by itself, such as the kernel's clean-up; what it gave."""
    deadline = time.monotonic() + timeout * PATIENCE
    while not (value := condition()):
        assert time.monotonic() < deadline, f"{what}, after {timeout} s"
        time.sleep(0.05)
    return value


def descendants(pid):
    """pid: name, of all processes below this one."""
    found, below = {}, [pid]
    while below:
        parent = below.pop()
        with contextlib.suppress(OSError):
            for task in os.listdir(f"/proc/{parent}/task"):
                with open(f"/proc/{parent}/task/{task}/children", encoding="ascii") as file:
                    for child in map(int, file.read().split()):
                        with open(f"/proc/{child}/comm", encoding="ascii") as comm:
                            found[child] = comm.read().strip()
                        below.append(child)
    return found


def breakpoints(pid, object_name="libc.so.6"):
    """How many bytes of an object's code in the process differ from its file."""
    count = 0
    with open(f"/proc/{pid}/maps", encoding="utf-8", errors="replace") as maps, \
            open(f"/proc/{pid}/mem", "rb") as memory:
        for line in maps:
            words = line.split(None, 5)
            if len(words) < 6 or "x" not in words[1] or not words[5].strip().endswith(object_name):
                continue
            start, end = (int(word, 16) for word in words[0].split("-"))
            memory.seek(start)
            mapped = memory.read(end - start)
            with open(words[5].strip(), "rb") as file:
                file.seek(int(words[2], 16))
                stored = file.read(end - start)
            for at in range(0, len(stored), 4096):  # most pages are equal as a whole
                ours, theirs = mapped[at:at + 4096], stored[at:at + 4096]
                if ours != theirs:
                    count += sum(a != b for a, b in zip(ours, theirs))
            assert len(mapped) >= len(stored) > 0, f"cannot compare {words[5].strip()}"
    return count


@contextlib.contextmanager
def libc_of_its_own():
    """The environment in which a program runs with a copy of libc, into which no tracer of another
    program puts its probes."""
    with open("/proc/self/maps", encoding="utf-8") as maps, scratch() as folder:
        libc = next(line.split(None, 5)[5].strip() for line in maps
                    if line.rstrip().endswith("/libc.so.6"))
        shutil.copy(libc, folder)
        yield dict(os.environ, LD_LIBRARY_PATH=folder)
