# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs with windows on a screen that nobody sees: what is written there, as tesseract reads it
off a picture."""

import contextlib
import os
import re
import subprocess
import time

from lib import PATIENCE, need_program, run

PROGRAMS = ("Xvfb", "dbus-run-session", "import", "convert", "tesseract")
need_windows = need_program(*PROGRAMS)


@contextlib.contextmanager
def screen():
    """The name of a display of its own."""
    back, number = os.pipe()
    with subprocess.Popen(["Xvfb", "-displayfd", str(number), "-screen", "0", "1400x900x24"],
                          pass_fds=(number,), stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL) as process:
        os.close(number)
        try:
            display = os.read(back, 16).decode().strip()
            assert display, "Xvfb does not run"
            yield f":{display}"
        finally:
            process.terminate()
            os.close(back)


def read(env, picture):
    """The text on the screen, without blanks and commas within numbers."""
    taken = run(["import", "-window", "root", picture], env=env)
    assert taken.returncode == 0, taken.stderr
    larger = picture + ".large.png"
    run(["convert", picture, "-resize", "250%", larger])
    # by columns, and as sparse text
    text = "".join(run(["tesseract", larger, "-", "--psm", mode],
                       env=dict(env, OMP_THREAD_LIMIT="1")).stdout for mode in ("3", "11"))
    os.unlink(larger)
    return re.sub(r"(?<=\d)[ ,](?=\d)", "", text)


def press(env, title, key):
    """Gives the keyboard to a window, as there is no window manager."""
    window = run(["xdotool", "search", "--onlyvisible", "--name", title], env=env).stdout.split()[0]
    done = run(["xdotool", "windowfocus", "--sync", window, "key", key], env=env)
    assert done.returncode == 0, done.stderr


def shown(folder, command, patterns, picture, timeout=60, keys=()):
    """Runs the command until all patterns are on the screen: {name: what its group matched}.
    `keys`, (pattern, title of a window, key): pressed while the pattern is on the screen."""
    with screen() as display:
        env = dict(os.environ, DISPLAY=display, HOME=folder, XDG_RUNTIME_DIR=folder,
                   XDG_CONFIG_HOME=folder, QT_QPA_PLATFORM="xcb",
                   LC_ALL="C")  # hotspot 1.3 dies in C.UTF-8
        with subprocess.Popen(["dbus-run-session", "--", *command], env=env,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                              start_new_session=True) as process:
            try:
                deadline = time.monotonic() + timeout * PATIENCE
                while True:
                    time.sleep(1)
                    text = read(env, picture)
                    found = {name: re.search(pattern, text) for name, pattern in patterns.items()}
                    if all(found.values()):
                        return {name: match.group(1) for name, match in found.items()}
                    for pattern, title, key in keys:
                        if re.search(pattern, text):
                            press(env, title, key)
                    assert time.monotonic() < deadline and process.poll() is None, \
                        f"{command[0]} shows no {[n for n, m in found.items() if not m]}: {text}"
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, 15)
