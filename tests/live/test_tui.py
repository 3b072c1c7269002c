# SPDX-License-Identifier: GPL-2.0-or-later
"""The full-screen view of memtraced -p, in a terminal of tmux's: what it shows is what the target
counts of itself, keys do what help says, and the terminal is given back, whatever ends it."""

import contextlib
import os
import re
import shlex
import signal
import sys

import schema

from lib import (descendants, eventually, memtraced, need_program, need_root, run, scratch,
                 send_line, started, target, test)
from tracees import kept_stopped

BESIDE_OTHERS = True
PROMPT = r"^bash\S*[#$] *$"


class Terminal:
    """A window with a shell, of a tmux server of its own."""

    def __init__(self, folder, width=100, height=24):
        self.socket = os.path.join(folder, "tmux")
        env = dict(os.environ, LC_ALL="C.UTF-8", TERM="screen")
        env.pop("TMUX", None)
        done = run(["tmux", "-S", self.socket, "-f", "/dev/null", "new-session", "-d", "-x",
                    str(width), "-y", str(height), "bash --norc --noprofile"], env=env)
        assert done.returncode == 0, done.stderr

    def tmux(self, *words):
        return run(["tmux", "-S", self.socket, *words]).stdout

    def keys(self, *keys):
        self.tmux("send-keys", *keys)

    def type(self, key, answer):
        """At a prompt."""
        self.keys(key)
        self.keys("-l", answer)
        self.keys("Enter")

    def screen(self):
        return self.tmux("capture-pane", "-p")

    def shows(self, pattern, timeout=30):
        """Waits until it shows that; the match."""
        found = []

        def look():
            found[:] = [re.search(pattern, self.screen(), re.M)]
            return found[0]
        try:
            eventually(look, f"it does not show {pattern}", timeout)
        except AssertionError as error:
            raise AssertionError(f"{error}:\n{self.screen()}") from None
        return found[0]

    def close(self):
        self.tmux("kill-server")


@contextlib.contextmanager
def terminal(**how):
    with scratch() as folder:
        window = Terminal(folder, **how)
        try:
            yield window
        finally:
            window.close()


def start(window, pid, *options):
    command = shlex.join([memtraced(), *options, "-p", str(pid)])
    window.keys("-l", command)
    window.keys("Enter")


def memtraced_of(pid):
    """The memtraced that traces this process, by what /proc says; not its guardian."""
    found = {int(name) for name in os.listdir("/proc") if name.isdigit()
             and command_of(name)[-2:] == ["-p", str(pid)]}
    [parent] = [each for each in found if found <= {each, *descendants(each)}]
    return parent


def guardian_of(memtraced_pid):
    """Of its processes the one that has its name."""
    [guardian] = [pid for pid, name in descendants(memtraced_pid).items() if name == "memtraced"]
    return guardian


def command_of(pid):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read().decode().rstrip("\0").split("\0")
    except OSError:
        return []


@contextlib.contextmanager
def traced(*options):
    """A window in which memtraced traces a process, and that process."""
    with terminal() as window, started([target("generations")]) as process:
        process.lines.until("ready")
        start(window, process.pid, *options)
        yield window, process


def check_given_back(window):
    """The shell's own screen, with echo and lines."""
    window.shows(PROMPT)
    window.keys("stty -a | grep -c -- '-icanon\\|-echo '", "Enter")
    window.shows("^0$")


@test(need_root, need_program("tmux"), timeout=120)
def totals_and_generations_are_the_targets_own():
    with traced() as (window, process):
        window.shows(r"^live 0 B \(0 B\) in 0 blocks")
        for generation in range(4):
            window.keys("m")
            window.shows(r"since the mark .*: 0 B \(0 B\) in 0 blocks still live")
            send_line(process)
            held, blocks, new, n_new = process.lines.until("holds").split()
            window.shows(rf"^live .* \({held} B\) in {blocks} blocks, peak ")
            window.shows(rf"since the mark .*: .* \({new} B\) in {n_new} blocks still live")
            window.shows(rf"^ *\S+ \S+ +{blocks} .*new_block +generations.c:\d+$")
        # What is freed of the last generation is no more: the next one frees ten of it.
        send_line(process)
        held, blocks, new, n_new = process.lines.until("holds").split()
        first = int(new) - 100 * 100  # the generation before has blocks of 100 bytes less
        freed = sum(1000 + 100 * 3 + i for i in range(10))
        window.shows(rf"\({first - freed + int(new)} B\) in 190 blocks still live")
        window.shows(r"^memtraced  generations \(pid \d+\), .* exact")
        window.keys("q")
        window.shows(r"^coverage: \d+ events seen, none lost: totals are exact")
        check_given_back(window)


@test(need_root, need_program("tmux"), timeout=120)
def keys_filter_open_and_save():
    with traced() as (window, process), scratch() as folder:
        window.shows(r"\*LIVE")
        send_line(process)
        held, _, _, _ = process.lines.until("holds").split()
        window.shows(rf"\({held} B\)")
        window.keys("b")
        window.shows(r" LIVE +\*BLOCKS")
        window.type("/", "no such function")
        window.shows(r"^0 of 2 sites with 'no such function'")
        window.keys("Escape")
        window.shows(r"^2 sites")
        # The first block's stack is also where the target's ledger was mapped.
        window.type("/", "NEW_BL")
        window.shows(r"^2 of 2 sites with 'NEW_BL'")
        window.keys("Enter")
        window.shows(r"^malloc.*\n__wrap_malloc.*\nnew_block +generations.c:\d+\n"
                     r"main +generations.c:\d+$")
        window.keys("q")
        window.shows(r"\*BLOCKS")
        window.keys("?")
        window.shows(r"^q +end: the final report")
        window.keys("Escape")
        window.type("s", "jsn:x")
        window.shows(r"not saved: unknown format 'jsn'; did you mean 'json'\?")
        path = os.path.join(folder, "saved.json")
        window.type("s", f"json:{path}")
        window.shows(rf"^saved {path}")
        with open(path, encoding="utf-8") as file:
            report = schema.load(file)
        schema.check(report)
        assert report["processes"][0]["alloc"]["live_bytes"] == int(held)


@test(need_root, need_program("tmux"), timeout=120)
def rows_narrow_while_a_filter_is_typed():
    with traced() as (window, process):
        window.shows(r"\*LIVE")
        send_line(process)
        process.lines.until("holds")
        window.shows(r"^2 sites")
        window.keys("/")
        window.keys("-l", "new_bl")
        window.shows(r"^2 of 2 sites with 'new_bl'")
        window.keys("-l", "x")
        window.shows(r"^0 of 2 sites with 'new_blx'")
        window.keys("BSpace")
        window.shows(r"^2 of 2 sites with 'new_bl'")
        window.keys("Escape")
        window.shows(r"^2 sites")
        window.keys("/")
        window.keys("-l", "main")
        window.keys("Enter")
        window.shows(r"^\?: help")
        assert "sites with 'main'" in window.screen(), window.screen()


@test(need_root, need_program("tmux"), timeout=120)
def the_header_tells_what_is_resident():
    with traced() as (window, process):
        resident = window.shows(r"^RSS (\d+)\.(\d) KiB|^RSS (\d+)\.(\d) MiB: ").group()
        with open(f"/proc/{process.pid}/smaps_rollup", encoding="ascii") as file:
            size = int(re.search(r"^Rss: +(\d+) kB", file.read(), re.M).group(1))
        said = float(resident.split()[1]) * (1024 if "MiB" in resident else 1)
        assert abs(said - size) <= size / 4, (resident, size)


@test(need_root, need_program("tmux"), timeout=120)
def programs_of_which_less_is_seen_have_a_note():
    with terminal() as window, started([sys.executable, "-c", "input()"]) as process:
        start(window, process.pid)
        window.shows(rf"^\S+ \(pid {process.pid}\): Python; ")
        window.keys("i")
        window.shows(rf"^notes\n\S+ \(pid {process.pid}\): Python; ")


@test(need_root, need_program("tmux"), timeout=120)
def windows_of_any_size_are_drawn():
    with traced() as (window, process):
        window.shows(r"\*LIVE")
        send_line(process)
        held = process.lines.until("holds").split()[0]
        window.shows(rf"^live .* \({held} B\) in 100 blocks")
        for width, height in ((40, 6), (12, 3), (4, 1), (2, 2), (200, 60)):
            window.tmux("resize-window", "-x", str(width), "-y", str(height))
            window.shows(r"^mem|^\?" if height > 1 else r"^\?:")
        window.shows(rf"^live .* \({held} B\) in 100 blocks, peak")
        window.keys("C-c")
        window.shows(r"^coverage: \d+ events seen, none lost")
        check_given_back(window)


@test(need_root, need_program("tmux"), each=["SIGTERM", "SIGSEGV", "SIGKILL"], in_turn=1,
      timeout=120)
def the_terminal_is_given_back_after(name):
    with traced() as (window, process):
        window.shows(r"\*LIVE")
        os.kill(memtraced_of(process.pid), getattr(signal, name))
        if name == "SIGTERM":
            window.shows(r"^coverage: \d+ events seen, none lost")
        else:
            window.shows(rf"-p {process.pid}$")  # the guardian has left the alternate screen
            window.keys("Enter")  # a prompt of before that is lost with it
        check_given_back(window)
        assert "*LIVE" not in window.screen()
        send_line(process)
        process.lines.until("holds")


@test(need_root, need_program("tmux"), timeout=120)
def a_shell_that_has_the_terminal_before_the_guardian_keeps_its_modes():
    with traced() as (window, process):
        window.shows(r"\*LIVE")
        traced_by = memtraced_of(process.pid)
        guardian = guardian_of(traced_by)
        os.kill(guardian, signal.SIGSTOP)
        with kept_stopped(guardian):  # the kernel continues it, as its parent ends
            os.kill(traced_by, signal.SIGKILL)
            window.shows(PROMPT)
        eventually(lambda: not command_of(guardian), "the guardian is there")
        assert "*LIVE" not in window.screen()
        device = window.tmux("display-message", "-p", "#{pane_tty}").strip()
        modes = run(["stty", "-F", device, "-a"]).stdout.split()
        assert {"-icanon", "-echo"} <= set(modes), modes  # readline's
        window.keys("Enter")
        check_given_back(window)


@test(need_root, need_program("tmux"), timeout=120)
def the_plain_table_is_there_when_asked_for():
    with traced("--no-tui") as (window, process):
        window.shows(r"^coverage: 0 events seen")
        window.keys("C-c")
        check_given_back(window)
        window.keys("export TERM=dumb; clear", "Enter")
        start(window, process.pid)
        window.shows(r"^coverage: 0 events seen")
        window.keys("C-c")
        window.shows(PROMPT)
