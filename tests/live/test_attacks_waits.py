# SPDX-License-Identifier: GPL-2.0-or-later
"""Files by which an unprivileged user holds up whoever opens or reads what a process maps."""

import contextlib
import os
import shutil
import signal
import stat
import sys
import time

import fuse_server
import schema
from lib import (Skip, attached, eventually, need_kernel, need_long, need_program, need_root,
                 need_sampling, run, run_memtraced, scratch, send_line, started, target, test)
from test_attach import started_target
from test_attacks_hang import traced_exactly
from test_service import NOBODY, ask_as, service, until_traced

BESIDE_OTHERS = "services"

# The kernel makes an open() wait as long for the holder of a lease (fs.lease-break-time).
LEASE_NS = 45
N_LIBRARIES = 10

# Maps files as code and holds a write lease on each, for which nobody else may have it open. It
# touches memory all the time, so that growth depth samples it.
LEASES = """
import fcntl, mmap, os, signal, sys, time
signal.signal(signal.SIGIO, signal.SIG_IGN)
kept, leased = [], []
def release(*_):
    for fd in leased:
        fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_UNLCK)
signal.signal(signal.SIGUSR1, release)
for path in sys.argv[1:]:
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    kept.append(mmap.mmap(fd, 0, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_EXEC))
    until = time.monotonic() + 20
    while True:  # of what nobody else has open: whoever watches the host may, for a moment
        try:
            fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_WRLCK)
            break
        except BlockingIOError:
            if time.monotonic() > until:
                raise
            time.sleep(0.01)
    leased.append(fd)
print("ready", flush=True)
while True:
    memory = mmap.mmap(-1, 1 << 22)
    for at in range(0, len(memory), 4096):
        memory[at] = 1
    memory.close()
"""


def libraries(folder):
    """Copies of a library with an allocator, which are the unprivileged user's."""
    paths = [os.path.join(folder, f"lease-{i}.so") for i in range(N_LIBRARIES)]
    for path in paths:
        shutil.copy(target("libcounter.so"), path)
        os.chown(path, NOBODY, NOBODY)
    return paths


@contextlib.contextmanager
def leases(folder):
    """The holder of the leases, and the files."""
    paths = libraries(folder)
    with started([sys.executable, "-c", LEASES, *paths], user=NOBODY, group=NOBODY) as process:
        process.lines.until("ready")
        yield process, paths


@test(need_root)
def leases_do_not_hold_up_a_trace_and_the_files_are_named():
    with scratch() as folder, leases(folder) as (process, paths):
        began = time.monotonic()
        done = run_memtraced("-p", str(process.pid), "-d", "1", "-f", "json", timeout=59)
        assert time.monotonic() - began < LEASE_NS, "it waited for a lease"
        assert done.returncode == 0, done.stderr
        coverage = schema.loads(done.stdout)["coverage"]
        assert coverage["lost"].get("file-not-opened") == N_LIBRARIES, coverage
        assert not coverage["exact"], coverage
        why = {row["object"]: row["why"] for row in coverage["unprobed"]}
        assert all("lease" in why[path] for path in paths), coverage["unprobed"]


@test(need_root)
def a_file_is_probed_once_its_lease_has_ended():
    with scratch() as folder, leases(folder) as (process, _), \
            attached([process.pid]) as session:
        assert "attached-late" not in session.latest["coverage"]["lost"], session.latest["coverage"]
        process.send_signal(signal.SIGUSR1)

        def is_probed():
            session.next_report()
            return session.latest["coverage"]["lost"].get("attached-late") == N_LIBRARIES
        eventually(is_probed, "the files are probed")
        # What was called before is not known.
        assert not session.latest["coverage"]["exact"], session.latest["coverage"]


@test(need_root, need_sampling)
def leases_do_not_hold_up_a_service_that_samples_growth():
    with scratch() as folder, leases(folder), \
            service(folder, growth="enabled = yes\nperiod = 10") as served:
        end = time.monotonic() + 6
        while time.monotonic() < end:
            assert served.text("/healthz", timeout=5)
            time.sleep(0.1)


# Maps files as code and has read all of them.
MAPS = """
import mmap, os, sys
kept = []
for path in sys.argv[1:]:
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    kept.append(mmap.mmap(fd, 0, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_EXEC))
    assert kept[-1][:4] == b"\\x7fELF" and sum(kept[-1][::4096]) > 0
print("ready", flush=True)
sys.stdin.readline()
"""


# Holds its own mmap_lock for ever: a page of the file is locked while it is read, for which a
# mapping that goes past the page cache waits.
LOCKED = """
import ctypes, os, sys, threading, time
cached = os.open(sys.argv[1], os.O_RDONLY)
direct = os.open(sys.argv[1], os.O_RDONLY | os.O_DIRECT)
print("ready", flush=True)
sys.stdin.readline()
libc = ctypes.CDLL(None)
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
threading.Thread(target=os.pread, args=(cached, 1, 0), daemon=True).start()
time.sleep(0.3)
threading.Thread(target=libc.mmap, args=(None, 4096, 1, 2, direct, 0), daemon=True).start()
time.sleep(0.3)
print("locked", flush=True)
time.sleep(1000)
"""


@contextlib.contextmanager
def client_of(folder, uid, script):
    """A process that uses a file of a FUSE mount of that user, which then answers nobody."""
    path = os.path.join(folder, "served.so")
    shutil.copy(target("libcounter.so"), path)
    with fuse_server.served(folder, uid, path) as (point, stop, end):
        path = os.path.join(point, "served.so")
        with started([sys.executable, "-c", script, path], user=NOBODY, group=NOBODY) as process:
            process.lines.until("ready")
            stop()
            try:
                yield process, path
            finally:
                end()  # else the process would wait for it when its files are closed


@test(need_root, each=[("a user", 1000, "served by another user"),
                       ("root", 0, "does not answer in time")])
def a_file_whose_server_hangs_holds_nobody_up(case):
    _, uid, said = case
    with scratch() as folder, client_of(folder, uid, MAPS) as (process, path):
        done = run_memtraced("-p", str(process.pid), "-d", "1", "-f", "json", timeout=20)
        assert done.returncode == 0, done.stderr
        coverage = schema.loads(done.stdout)["coverage"]
        assert coverage["lost"].get("file-not-opened") == 1 and not coverage["exact"], coverage
        (why,) = [row["why"] for row in coverage["unprobed"] if row["object"] == path]
        assert said in why, why


OVERLAY = """
mount -t overlay overlay -o "lowerdir=$1:$2" "$3" && exec "$4" -c "$5" "$3/served.so"
"""


@contextlib.contextmanager
def maps_of_an_overlay(folder, lower):
    """A process in a user namespace of its own, with code from an overlay that it has mounted."""
    empty, merged = (os.path.join(folder, name) for name in ("empty", "merged"))
    for path in (empty, merged):
        os.mkdir(path)
        os.chmod(path, 0o755)
    command = ["unshare", "-U", "-r", "-m", "sh", "-c", OVERLAY, "sh", lower, empty, merged,
               sys.executable, MAPS]
    with started(command, user=NOBODY, group=NOBODY, extra_groups=[]) as process:
        process.lines.until("ready")
        yield process, os.path.join(merged, "served.so")


def unopened(process, path):
    """Why it was not opened; None: it was."""
    done = run_memtraced("-p", str(process.pid), "-d", "1", "-f", "json", timeout=20)
    assert done.returncode == 0, done.stderr
    coverage = schema.loads(done.stdout)["coverage"]
    why = [row["why"] for row in coverage["unprobed"] if row["object"] == path]
    assert len(why) == coverage["lost"].get("file-not-opened", 0) <= 1, coverage
    return why[0] if why else None


@test(need_root, need_program("unshare"), lambda: need_kernel(5, 11))
def an_overlay_of_a_user_is_opened_unless_a_server_is_below():
    if run(["unshare", "-U", "true"], user=NOBODY, group=NOBODY, extra_groups=[]).returncode:
        raise Skip("users may make no user namespaces here")
    with scratch() as folder:
        lower = os.path.join(folder, "lower")
        os.mkdir(lower)
        os.chmod(lower, 0o755)
        shutil.copy(target("libcounter.so"), os.path.join(lower, "served.so"))
        with maps_of_an_overlay(folder, lower) as (process, path):
            assert unopened(process, path) is None
    with scratch() as folder:
        source = os.path.join(folder, "served.so")
        shutil.copy(target("libcounter.so"), source)
        with fuse_server.served(folder, 1000, source) as (point, stop, end), \
                maps_of_an_overlay(folder, point) as (process, path):
            assert "served by another user" in unopened(process, path)
            stop()
            try:
                assert "does not answer in time" in unopened(process, path)
            finally:
                end()


# Code that it made itself, which a map in /tmp would name: a FIFO, or a file under a lease.
MAKES_CODE = """
import fcntl, mmap, os, signal, sys
signal.signal(signal.SIGIO, signal.SIG_IGN)
path = f"/tmp/perf-{os.getpid()}.map"
if sys.argv[1] == "FIFO":
    os.mkfifo(path)
else:
    fd = os.open(path, os.O_CREAT | os.O_RDONLY, 0o600)
    fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_WRLCK)
code = mmap.mmap(-1, 4096, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
print("ready", flush=True)
while sys.stdin.readline():
    print(len(bytearray(1 << 20)), flush=True)
os.unlink(path)
os.kill(server, signal.SIGKILL)  # else it would be waited for as the files are closed
"""


@test(need_root, each=["FIFO", "lease"])
def a_perf_map_holds_nobody_up(kind):
    with started([sys.executable, "-c", MAKES_CODE, kind], user=NOBODY, group=NOBODY) as process:
        process.lines.until("ready")
        done = run_memtraced("-p", str(process.pid), "-d", "1", "-f", "json", timeout=20)
        process.stdin.close()
        process.wait()
        assert done.returncode == 0, done.stderr
        assert schema.loads(done.stdout)["coverage"]["exact"], done.stdout


@test(need_root, need_program("objcopy", "strip"), each=["FIFO", "lease"])
def a_debug_file_holds_nobody_up(kind):
    with scratch() as folder, contextlib.ExitStack() as stack:
        program, debug = (os.path.join(folder, name) for name in ("program", "program.debug"))
        shutil.copy(target("leak"), program)
        shutil.copy(program, debug)
        done = run(["objcopy", "--strip-all", "--remove-section=.note.gnu.build-id",
                    f"--add-gnu-debuglink={debug}", program])
        assert done.returncode == 0, done.stderr
        if kind == "FIFO":
            os.unlink(debug)
            os.mkfifo(debug)
        else:
            os.chown(debug, NOBODY, NOBODY)
            holder = stack.enter_context(started([sys.executable, "-c", LEASES, debug],
                                                 user=NOBODY, group=NOBODY))
            holder.lines.until("ready")
        done = run_memtraced("-f", "json", "--", program, "10", "0", timeout=20)
        assert done.returncode == 0, done.stderr
        coverage = schema.loads(done.stdout)["coverage"]
        assert coverage["exact"] and coverage["events"] > 0, coverage
        # A busy file has names that are missing, which is said; a FIFO is none.
        assert (coverage["lost"].get("symbols-unread", 0) > 0) == (kind == "lease"), coverage


# Its file shrinks and grows while it is read.
TRUNCATES = """
import mmap, os, sys
text = open(sys.argv[1], "rb").read()
fd = os.open(sys.argv[1], os.O_RDWR | os.O_CLOEXEC)
code = mmap.mmap(fd, 0, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_EXEC)
print("ready", flush=True)
while True:
    for size in (0, 100, 5000, len(text) // 2, len(text) - 1):
        os.ftruncate(fd, size)
        os.pwrite(fd, text[size:], size)
"""


@test(need_root)
def a_file_that_is_truncated_meanwhile_ends_nothing():
    with scratch() as folder:
        (path, *_) = libraries(folder)
        with started([sys.executable, "-c", TRUNCATES, path], user=NOBODY,
                     group=NOBODY) as process:
            process.lines.until("ready")
            for _ in range(3):
                done = run_memtraced("-p", str(process.pid), "-d", "0.2", "-f", "json", timeout=20)
                assert done.returncode == 0, done.stderr
                assert schema.loads(done.stdout)["processes"], done.stdout


# Alone on a host: whoever attaches or detaches a uprobe meanwhile, in a file that this process has
# mapped, waits in the kernel for its lock, and all forks wait for that.
@test(need_root, need_long)
def a_process_that_holds_its_mmap_lock_holds_nobody_up():
    with scratch() as folder, client_of(folder, 1000, LOCKED) as (process, _):
        send_line(process)
        process.lines.until("locked")
        done = run_memtraced("--syscalls", "-p", str(process.pid), "-d", "1", "-f", "json",
                             timeout=20)
        assert done.returncode == 0, done.stderr
        (one,) = schema.loads(done.stdout)["processes"]
        assert one["pid"] == process.pid, one


# With mounts of its own: a server, whose files it has as its map of code and as code, and whose
# folder as that of debug files.
OWN_SERVER = """
import ctypes, mmap, os, signal, sys, time
folder, device = sys.argv[1:3]
sys.path.insert(0, sys.argv[3])
import fuse_server
libc = ctypes.CDLL(None, use_errno=True)
def bind(source, point):
    if libc.mount(source.encode(), point.encode(), None, 4096, None):
        raise OSError(ctypes.get_errno(), "mount")
text, library = (os.path.join(folder, name) for name in ("map.txt", "served.so"))
with open(text, "w") as file:
    file.write("7f0000000000 1000 jitted\\n")
told, end = os.pipe()
point = os.path.join(folder, "point")
os.mkdir(point)
fd = fuse_server.mount(point, 0, device)
server = os.fork()
if server == 0:
    os.dup2(told, 0)
    fuse_server.Server(fd, 0, [text, library]).serve_until_told()
    signal.alarm(fuse_server.PATIENCE)
    while True:
        os.read(fd, 1 << 20)
os.close(fd)
with open(os.path.join(point, "served.so"), "rb") as file:
    code = mmap.mmap(file.fileno(), 0, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_EXEC)
assert code[:4] == b"\\x7fELF" and sum(code[::4096]) > 0
if os.path.isdir("/usr/lib/debug"):
    bind(point, "/usr/lib/debug")
path = f"/tmp/perf-{os.getpid()}.map"
open(path, "w").close()
bind(os.path.join(point, "map.txt"), path)
made = mmap.mmap(-1, 4096, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
os.write(end, b"stop")
time.sleep(0.3)
print("ready", flush=True)
sys.stdin.readline()
libc.umount2(path.encode(), 2)
os.unlink(path)
os.kill(server, signal.SIGKILL)  # else it would be waited for as the files are closed
"""


@test(need_root, need_program("unshare"))
def a_server_in_a_users_own_namespace_holds_nobody_up():
    if run(["unshare", "-U", "true"], user=NOBODY, group=NOBODY, extra_groups=[]).returncode:
        raise Skip("users may make no user namespaces here")
    with scratch() as folder:
        os.chmod(folder, 0o777)
        device = os.path.join(folder, "fuse")
        os.mknod(device, stat.S_IFCHR | 0o666, os.stat("/dev/fuse").st_rdev)
        os.chmod(device, 0o666)
        shutil.copy(target("libcounter.so"), os.path.join(folder, "served.so"))
        command = ["unshare", "-U", "-r", "-m", sys.executable, "-c", OWN_SERVER, folder, device,
                   os.path.dirname(fuse_server.__file__)]
        with started(command, user=NOBODY, group=NOBODY, extra_groups=[]) as process:
            process.lines.until("ready")
            why = unopened(process, os.path.join(folder, "point", "served.so"))
            send_line(process)
            assert process.wait(20) == 0
    assert "served by another user" in why, why


# Children that execute a program, for which the kernel unmaps a file first, and waits for its
# server to take what was written. Until then, who reads /proc/PID/stat or exe waits as well.
EXECS = """
import mmap, os, sys
fd = os.open(sys.argv[1], os.O_RDWR | os.O_CLOEXEC)
shared = mmap.mmap(fd, 0, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE)
shared[0]
print("ready", flush=True)
sys.stdin.readline()
shared[:4] = b"abcd"
children = []
for _ in range(4):
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.read(read, 1)
        os.execv("/bin/sleep", ["sleep", "1000"])
    children.append((child, write))
print(*(child for child, _ in children), flush=True)
sys.stdin.readline()
for _, write in children:
    os.write(write, b"x")
print("executed", flush=True)
sys.stdin.readline()
"""


def is_executing(pid):
    """Its new image has no words yet."""
    with open(f"/proc/{pid}/cmdline", "rb") as file:
        return file.read() == b""


@contextlib.contextmanager
def executors(folder):
    """Such children, and a function that has them wait."""
    with client_of(folder, 1000, EXECS) as (process, _):
        send_line(process)
        pids = [int(word) for word in process.lines.next().split()]

        def execute():
            send_line(process)
            process.lines.until("executed")
            eventually(lambda: all(is_executing(pid) for pid in pids), "they do not wait")
        try:
            yield pids, execute
        finally:
            for pid in pids:
                os.kill(pid, signal.SIGKILL)


@test(need_root, need_sampling)
def an_exec_that_waits_for_a_server_holds_up_nothing_of_a_service():
    watch = "[watch]\ninterval = 1s"
    with scratch() as folder, scratch() as counts, \
            service(folder, growth="enabled = yes\nperiod = 10", trace=watch) as served, \
            started_target(counts) as other, executors(folder) as (pids, execute):
        until_traced(served, 0)
        execute()
        began = time.monotonic()
        status = ask_as(served, "unix", f"/debug/pprof/heap?pid={pids[0]}&seconds=1")
        while time.monotonic() - began < 3:
            for path in ("/healthz", "/host", "/metrics", "/debug/pprof/", "/ctl/status"):
                assert served.text(path, timeout=5)
        traced_exactly(served, counts, other)
        assert all(is_executing(pid) for pid in pids), "they wait no more"
    assert "503" in status[0], status


def parent_of(pid):
    with open(f"/proc/{pid}/status", encoding="utf-8") as file:
        return next(line.split()[1] for line in file if line.startswith("PPid:"))


@test(need_root, each=["named", "traced", "all", "children"])
def an_exec_that_waits_for_a_server_holds_up_no_trace(which):
    with scratch() as folder, executors(folder) as (pids, execute):
        if which == "traced":
            with attached(pids) as session:
                execute()
                report = session.later_report()
                session.finish()
                assert all(is_executing(pid) for pid in pids), "they wait no more"
            assert {process["pid"] for process in report["processes"]} >= set(pids), report
            return
        execute()
        target_ = {"all": ["-a"], "named": ["-p", str(pids[0])],
                   "children": ["-p", parent_of(pids[0])]}[which]
        done = run_memtraced(*target_, "-d", "1", "-f", "json", timeout=60)
        assert all(is_executing(pid) for pid in pids), "they wait no more"
        assert done.returncode == (2 if which == "named" else 0), done.stderr
        assert "cannot be read in time" in done.stderr, done.stderr
        if which != "named":
            coverage = schema.loads(done.stdout)["coverage"]
            assert coverage["lost"].get("process-not-read") == len(pids), coverage
            assert not coverage["exact"], coverage
