# SPDX-License-Identifier: GPL-2.0-or-later
"""A command that runs as another user than the owner of the terminal: it cannot type into that
terminal, and has all else that it had there."""

import contextlib
import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import textwrap
import time

from lib import (PATIENCE, Skip, eventually, memtraced, need_program, need_root, process_state,
                 scratch, test)
from test_attach import waits_for
from tracees import kept_stopped

BESIDE_OTHERS = True
PROMPT = "ready> "
need_shell = need_program("bash", "stty")
SYSCTL = "/proc/sys/dev/tty/legacy_tiocsti"

# Types argv[1] into each terminal that it can reach, also by the names of argv[2:].
TYPIST = """
import fcntl, os, sys, termios
streams = ("stdin", "stdout", "stderr")
reached = []
for name in (*streams, "/dev/tty", *sys.argv[2:]):
    try:
        fd = streams.index(name) if name in streams else os.open(name, os.O_RDWR)
        for byte in sys.argv[1].encode() + b"\\n":
            fcntl.ioctl(fd, termios.TIOCSTI, bytes([byte]))
        reached.append(name)
    except OSError as error:
        reached.append(f"{name}: {error.strerror}")
print("typed", reached, flush=True)
"""

# What a command sees of its terminal and of memtraced.
LOOK = """
import ctypes, os, signal, stat
def error(call, *args):
    try:
        call(*args)
    except OSError as failed:
        return failed.strerror
def ptrace_seize(pid):
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.ptrace(0x4206, pid, None, None) < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
with open("/proc/self/stat") as file:
    controlling = int(file.read().rsplit(")", 1)[1].split()[4])
device = os.stat(0).st_rdev
print("size", *os.get_terminal_size(0))
print("streams", *(os.stat(fd).st_rdev == device for fd in (0, 1, 2)))
print("controlling", controlling == device)
print("owned", os.stat(0).st_uid == os.getuid())
print("foreground", os.tcgetpgrp(0) == os.getpgrp())
for pid in (os.getppid(), os.getsid(0), os.getpgrp()):
    print("memtraced's", error(os.kill, pid, 0), error(ptrace_seize, pid))
print("files", sorted(int(fd) for fd in os.listdir("/proc/self/fd"))[:-1])
print("tty", os.ttyname(0))
os.execvp("stty", ["stty", "-a"])
"""

# Says what it is told: keys, signals, sizes. A handler of Python's that is due right before a read
# runs only after it: what waits here is select(), for the signal as well.
TALKER = """
import os, select, signal, sys
def say(*words):
    os.write(1, (" ".join(map(str, words)) + "\\n").encode())
def interrupted(sig, frame):
    say("got", signal.Signals(sig).name)
    if "stay" not in sys.argv:
        sys.exit(7)
def line():
    while True:
        try:
            return os.read(0, 4096).decode()  # in the background it is stopped here
        except BlockingIOError:
            if woken in select.select([0, woken], [], [])[0]:
                os.read(woken, 4096)
woken, wakes = os.pipe()
for fd in (0, woken, wakes):
    os.set_blocking(fd, False)
signal.set_wakeup_fd(wakes)
signal.signal(signal.SIGINT, interrupted)
signal.signal(signal.SIGCONT, lambda *_: say("continued"))
signal.signal(signal.SIGWINCH, lambda *_: say("size", *os.get_terminal_size(0)))
say("ready", os.getpid())
while typed := line():
    say("line", repr(typed))
say("end of input")
"""

# A full-screen program: line feeds that only go down, then its own modes back.
SCREEN = """
import os, termios, tty
before = termios.tcgetattr(0)
tty.setraw(0)
os.write(1, b"raw\\nlines\\r\\n")
key = os.read(0, 1)
termios.tcsetattr(0, termios.TCSANOW, before)
os.write(1, b"key " + str(key[0]).encode() + b"\\nlines\\n")
"""


# Writes until it cannot, and into a file why.
WRITER = """
import os, sys
os.write(1, b"ready\\n")
try:
    while True:
        os.write(1, b"x" * 4096)
except OSError as error:
    with open(sys.argv[1], "w") as file:
        file.write(error.strerror)
"""


class Shell:
    """An interactive shell of root's with a terminal of its own, which we are."""

    def __init__(self, folder, owner=0):
        self.text, self.raw, self.seen = "", b"", 0
        self.most, self.pause = 1 << 16, 0  # of a read, and seconds before each
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chown(os.ttyname(0), owner, -1)
            os.closerange(3, 1024)
            os.chdir(folder)
            env = {"PATH": os.environ["PATH"], "PS1": PROMPT, "TERM": "dumb", "LC_ALL": "C.UTF-8"}
            os.execvpe("bash", ["bash", "--norc", "--noprofile", "--noediting", "-i"], env)
        self.until(re.escape(PROMPT))

    def type(self, text):
        os.write(self.fd, text.encode())

    def run(self, line):
        """A command's output, as the terminal shows it, once the shell is back."""
        self.type(line + "\n")
        return self.until(re.escape(PROMPT)).split("\n", 1)[1]

    def until(self, pattern, timeout=30):
        """What has come up to the pattern's end, from where the last call ended."""
        deadline = time.monotonic() + timeout * PATIENCE
        while not (match := re.search(pattern, self.text[self.seen:])):
            left = deadline - time.monotonic()
            assert left > 0, f"no {pattern!r} in {timeout} s: {self.text[self.seen:]!r}"
            if select.select([self.fd], [], [], left)[0]:
                time.sleep(self.pause)
                data = os.read(self.fd, self.most)
                self.raw += data
                self.text = re.sub(r"\r+\n", "\n", self.text + data.decode(errors="replace"))
        text = self.text[self.seen:self.seen + match.end()]
        self.seen += match.end()
        return text

    def resize(self, rows, columns):
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("4H", rows, columns, 0, 0))

    def hang_up(self):
        fd, self.fd = self.fd, os.open("/dev/null", os.O_RDONLY)
        os.close(fd)

    def close(self):
        os.kill(self.pid, signal.SIGKILL)  # a zombie at least
        os.waitpid(self.pid, 0)
        os.close(self.fd)


@contextlib.contextmanager
def shell(**how):
    with scratch() as folder:
        it = Shell(folder, **how)
        try:
            yield it, folder
        finally:
            it.close()


def script(folder, name, text):
    """A program that every user may run."""
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write("#!/usr/bin/python3\n" + textwrap.dedent(text))
    os.chmod(path, 0o755)
    return path


def is_running(pid):
    try:
        return process_state(pid)[0] != "Z"
    except OSError:
        return False


def parent_of(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        return int(file.read().rsplit(")", 1)[1].split()[1])


def traced(command, *options, user="nobody"):
    words = [memtraced(), "-q", "-o", "json:/dev/null", *options, f"--run-as={user}", "--", command]
    return " ".join(words)


@contextlib.contextmanager
def typing_allowed():
    """TIOCSTI as it always was before Linux 6.2."""
    try:
        with open(SYSCTL, encoding="ascii") as file:
            before = file.read()
        with open(SYSCTL, "w", encoding="ascii") as file:
            file.write("1")
    except FileNotFoundError:
        yield  # an older kernel
        return
    except OSError as error:
        raise Skip(f"{SYSCTL}: {error.strerror}") from None
    try:
        yield
    finally:
        with open(SYSCTL, "w", encoding="ascii") as file:
            file.write(before)


def check_nothing_typed(it, folder):
    """What was typed into the shell's terminal would have run before this."""
    it.run("echo over")
    it.run("true")
    assert not os.path.exists(f"{folder}/typed"), f"a command was typed: {it.text}"


@test(need_root, need_shell, each=["run-as", "sudo"])
def a_command_cannot_type_into_roots_terminal(how):
    with typing_allowed(), shell() as (it, folder):
        command = f"{script(folder, 'typist', TYPIST)} 'touch {folder}/typed' $(tty)"
        if how == "run-as":
            shown = it.run(traced(command))
        else:
            shown = it.run(f"SUDO_UID=65534 SUDO_GID=65534 {memtraced()} -q -o json:/dev/null -- "
                           f"{command}")
        assert "typed [" in shown, shown
        check_nothing_typed(it, folder)


# --- what the command has all the same ------------------------------------------------------------

@test(need_root, need_shell)
def a_terminal_of_its_own_is_like_the_other():
    with shell() as (it, folder):
        it.resize(31, 77)
        before = it.run("stty -a; tty")
        shown = it.run(traced(script(folder, "look", LOOK)))
        for line in ("size 77 31", "streams True True True", "controlling True", "owned True",
                     "foreground True", "files [0, 1, 2]",
                     "memtraced's Operation not permitted Operation not permitted\n" * 3):
            assert line in shown, f"no {line!r}: {shown}"
        modes, tty = before.rsplit("\n", 2)[0].rsplit("\n", 1)
        assert shown.split("tty ", 1)[1].split("\n", 1)[0] != tty, shown
        assert modes in shown, (modes, shown)
        assert it.run("stty -a; tty") == before


@test(need_root, need_shell)
def the_owner_of_a_terminal_keeps_it():
    with shell(owner=65534) as (it, folder):
        tty = it.run("tty").split("\n")[0]
        assert f"tty {tty}\n" in it.run(traced(script(folder, "look", LOOK)))


@test(need_root, need_shell)
def keys_reach_the_command():
    with shell() as (it, folder):
        command = traced(script(folder, "talker", TALKER)) + "; echo status $?"
        it.type(command + "\n")
        it.until("ready")
        it.resize(20, 60)
        it.until("size 60 20")
        it.type("some wrods\x7f\x7f\x7f\x7frds\n")
        it.until("line 'some wrds")
        it.type("\x04")
        it.until("end of input")
        it.until("status 0\n")
        it.until(PROMPT)
        for key, status in (("\x03", 7), ("\x1c", 128 + signal.SIGQUIT)):
            it.type(command + "\n")
            it.until("ready")
            it.type(key)
            it.until(f"status {status}\n")
            it.until(PROMPT)


@test(need_root, need_shell)
def a_full_screen_program_has_its_modes():
    with shell() as (it, folder):
        it.type(traced(script(folder, "screen", SCREEN)) + "\n")
        it.until("lines")
        it.type("\x03")
        it.until(PROMPT)
        assert b"raw\nlines\r" in it.raw, it.raw
        assert re.search(rb"key 3\r+\nlines\r+\n", it.raw), it.raw


@test(need_root, need_shell)
def a_shell_of_the_user_has_jobs_of_its_own():
    with shell() as (it, _):
        inner = "inner> "
        it.type(traced(f"env PS1='{inner}' bash --norc --noediting -i") + "; echo status $?\n")
        it.until(f"\n{inner}")
        it.type("sh -c 'echo $$; exec sleep 100'\n")
        sleep = int(it.until(r"\n\d+\n").split()[-1])
        wait_until_in_foreground(sleep)
        it.type("\x1a")
        it.until("Stopped")
        it.until(inner)
        it.type("fg\n")
        wait_until_in_foreground(sleep)
        it.type("\x03")
        it.until(inner)  # memtraced goes on
        it.type("echo $UID; exit 5\n")
        it.until("65534\n")
        it.until("status 5\n")


@test(need_root, need_shell)
def an_interrupt_ends_the_tracing_of_a_command_that_stays():
    with shell() as (it, folder):
        it.type(traced(script(folder, "talker", TALKER) + " stay") + "; echo status $?\n")
        pid = int(it.until(r"ready \d+\n").split()[-1])
        it.type("\x03")
        it.until("got SIGINT")
        it.until("status 0\n")  # after a second
        it.until(PROMPT)
        it.run("true")
        assert process_state(pid)[0] in "RS", "the command does not go on"
        os.kill(pid, signal.SIGINT)
        it.until("got SIGINT")  # its terminal still leads to the other


@test(need_root, need_shell, each=["Ctrl-Z", "background"])
def job_control_stops_and_continues_both(how):
    with shell() as (it, folder):
        command = traced(script(folder, "talker", TALKER))
        modes = it.run("stty -a")
        if how == "background":
            it.type(command + " &\n")
            it.until("ready")  # then it wants to read
        else:
            it.type(command + "\n")
            it.until("ready")
            it.type("before\n")
            it.until("line 'before")
            it.type("\x1a")
            it.until("Stopped")
            it.until(PROMPT)
        stopped = lambda: "Stopped" in it.run("jobs")  # noqa: E731
        eventually(stopped, "it is not stopped")
        assert it.run("stty -a") == modes
        it.type("fg\n")
        it.until("continued\n")
        it.type("after\n")
        it.until("line 'after")
        it.type("\x1a")
        it.until("Stopped")
        it.until(PROMPT)
        it.type("bg\n")  # it reads again
        it.until("continued\n")
        eventually(stopped, "it reads in the background")
        it.type("fg; echo status $?\n")
        it.until("continued\n")
        it.type("\x04")
        it.until("end of input")
        it.until("status 0\n")
        it.until(PROMPT)
        assert it.run("stty -a") == modes


def foreground(shell):
    return os.tcgetpgrp(shell.fd)


def wait_until_in_foreground(pid):
    """Of its own terminal, as a shell has put it."""
    def is_there():
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        return fields[2] == fields[5]
    eventually(is_there, f"{pid} is not in the foreground")


def pending(pid, sig):
    with open(f"/proc/{pid}/status", encoding="utf-8") as file:
        masks = dict(line.split(":\t", 1) for line in file if "Pnd" in line)
    return any(int(mask, 16) >> (sig - 1) & 1 for mask in masks.values())


@test(need_root, need_shell, each=["Ctrl-C", "Ctrl-Z", "Ctrl-\\"])
def keys_typed_right_after_fg_reach_the_commands_foreground(name):
    """Before memtraced, which is in the foreground already, has made the terminal raw. A Ctrl-Z
    that comes so early stops the whole job again: the command does not run yet."""
    key, sig, shown = {"Ctrl-C": ("\x03", signal.SIGINT, "\\^C"),
                       "Ctrl-Z": ("\x1a", signal.SIGTSTP, f"Stopped[^\0]*{PROMPT}"),
                       "Ctrl-\\": ("\x1c", signal.SIGQUIT, "Quit")}[name]
    with shell() as (it, _):
        inner = "inner> "
        it.type(traced(f"env PS1='{inner}' bash --norc --noediting -i") + "\n")
        it.until(f"\n{inner}")
        it.type("sh -c 'echo $PPID; kill -STOP $PPID; exec sleep 100'\n")
        command = int(it.until(r"\n\d+\n").split()[-1])
        it.until("Stopped")
        it.until(re.escape(PROMPT))
        tracer = parent_of(command)
        eventually(lambda: process_state(tracer)[0] in "Tt", "it is not stopped")
        with kept_stopped(tracer):
            it.type("fg\n")
            eventually(lambda: foreground(it) == tracer, "it is not in the foreground")
            it.type(key)
            eventually(lambda: pending(tracer, sig), f"{name} made no signal")
        it.until(shown)
        if name == "Ctrl-Z":
            it.type("fg\n")
            eventually(lambda: process_state(command)[0] == "S", "it does not go on")
            it.type("\x03")
            it.until("\\^C")
        it.until(inner)  # memtraced goes on, and so does the command
        it.type("echo $UID; exit 5\n")
        it.until("65534\n")
        it.until(re.escape(PROMPT))
        assert it.run("echo status $?").startswith("status 5\n")


@test(need_root, need_shell)
def all_output_arrives():
    with shell() as (it, folder):
        shown = it.run(traced("seq 50000") + "; echo status $?")
        assert shown.split("\n")[:-2] == [str(n) for n in range(1, 50001)], shown[-200:]
        assert it.run(traced("seq 50000") + " | wc -l").startswith("50000\n")
        shown = it.run(traced("sh -c 'echo out; echo err >&2'") + " >out 2>err; cat err out")
        assert shown.startswith("err\nout\n"), shown


@test(need_root, need_shell)
def all_output_arrives_at_a_slow_terminal_before_the_shell_goes_on():
    """The command has ended when it is read: some of its output is in its own terminal, as much in
    memtraced as there is room for, and the rest in memtraced's terminal. memtraced writes at each
    look at its clocks, and not only where that terminal has become nearly empty."""
    with shell() as (it, folder):
        it.most, it.pause = 700, 0.01
        for _ in range(3):
            shown = it.run(traced("seq 10000 22000"))
            assert shown.split("\n")[:-1] == [str(n) for n in range(10000, 22001)], shown[-200:]


def waits_in_write(pid):
    with open(f"/proc/{pid}/syscall", encoding="ascii") as file:
        return file.read().startswith("1 0x1 ")


@test(need_root, need_shell)
def what_memtraced_has_read_of_the_output_is_there_after_its_end():
    """It ends, the command goes on, and the terminal is read late."""
    with shell() as (it, folder):
        writer = script(folder, "writer", """
            import os
            os.write(1, b"ready %d\\n" % os.getpid())
            for n in range(10000, 22001):
                os.write(1, b"%d\\n" % n)
            os.write(1, b"over\\n")
        """)
        it.type(traced(f"sh -c 'trap \"\" TERM; exec {writer}'") + "\n")
        pid = int(it.until(r"ready \d+\n").split()[-1])
        eventually(lambda: waits_in_write(pid), "it does not wait for its terminal")
        tracer = parent_of(pid)
        for _ in range(2):
            os.kill(tracer, signal.SIGTERM)
            eventually(lambda: not is_running(tracer) or not pending(tracer, signal.SIGTERM),
                       "the signal is not read")
        eventually(lambda: not is_running(tracer), "memtraced does not end")
        shown = it.until("over\n") + it.text[it.seen:]
        assert re.findall(r"\d{5}", shown) == [str(n) for n in range(10000, 22001)], shown[-300:]


@test(need_root, need_shell)
def in_a_pipeline_what_is_typed_stays_for_others():
    with shell() as (it, folder):
        # The command does not read; the other one does, from the terminal.
        it.type(traced("sh -c 'echo ready; sleep 1; echo over'") +
                " | sh -c 'read a </dev/tty; echo read $a; cat'\n")
        it.type("mine\n")
        it.until("read mine")
        it.until("over")
        it.until(PROMPT)
        it.type(traced("sh -c 'read a </dev/tty; echo read $a'") + " | cat\n")
        time.sleep(0.5)
        it.type("its\n")
        it.until("read its")
        it.until(PROMPT)
        # The keys that make signals are for all of the pipeline.
        sleeper = traced("sh -c 'echo ready; exec sleep 100'") + " | cat"
        it.type(sleeper + "\n")
        it.until("\nready\n")
        it.type("\x1a")
        it.until("Stopped")
        it.until(PROMPT)
        shells = foreground(it)
        it.type("fg\n")
        eventually(lambda: foreground(it) != shells, "the pipeline is not in the foreground")
        it.type("\x03")
        it.until(PROMPT)
        it.run("set -o pipefail")
        it.type(sleeper + "\n")
        it.until("\nready\n")
        it.type("\x03")
        it.until(PROMPT)
        assert "status 130\n" in it.run("echo status $?")


@test(need_root, need_shell, each=["SIGKILL", "SIGTERM", "SIGQUIT"])
def the_terminal_is_given_back_after(name):
    with shell() as (it, folder):
        modes = it.run("stty -a")
        it.type(traced(script(folder, "talker", TALKER)) + "\n")
        pid = int(it.until(r"ready \d+\n").split()[-1])
        os.kill(parent_of(pid), getattr(signal, name))
        it.until(PROMPT)
        assert it.run("stty -a") == modes


@test(need_root, need_shell)
def the_end_of_the_terminal_ends_all():
    with shell() as (it, folder):
        it.type(traced(script(folder, "talker", TALKER)) + "\n")
        pid = int(it.until(r"ready \d+\n").split()[-1])
        keeper = os.getsid(pid)
        it.hang_up()
        for process in (pid, keeper):
            eventually(lambda: not is_running(process), "it outlives its terminal")  # noqa: B023


@test(need_root, need_shell)
def a_command_that_stays_finds_its_terminal_gone():
    with shell() as (it, folder):
        # As nohup(1) has it.
        command = f"{script(folder, 'writer', WRITER)} {folder}/end"
        it.type(f"trap '' HUP; {traced(command)}\n")
        it.until("ready\n")
        it.hang_up()
        end = f"{folder}/end"
        eventually(lambda: os.path.exists(end) and os.path.getsize(end), "it waits for a terminal")
        with open(end, encoding="ascii") as file:
            assert file.read() == "Input/output error"


@test(need_root, need_shell)
def what_keeps_the_terminal_open_does_not_hold_up_memtraced():
    with shell() as (it, folder):
        left_behind = f"sh -c '(sleep {10 * PATIENCE}; echo later) & echo over'"
        shown = it.run(traced(left_behind, "--no-follow"))
        assert "later" not in shown, "it waits for what the command has left behind"
        it.until("later\n")


@test(need_root, need_shell)
def a_terminal_that_is_not_read_holds_up_only_the_command():
    with shell() as (it, folder):
        report = f"{folder}/report"
        it.type(f"{memtraced()} -q -o json:{report} --run-as=nobody -- yes & echo pid $!\n")
        pid = int(it.until(r"pid \d+\n").split()[-1])
        eventually(lambda: waits_for(pid, signal.SIGUSR1), "it does not wait for it", 30)
        time.sleep(1)  # its buffers and the terminal's are full
        os.kill(pid, signal.SIGUSR1)
        eventually(lambda: os.path.exists(report), "no report")
        os.kill(pid, signal.SIGKILL)
