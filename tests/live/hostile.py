# SPDX-License-Identifier: GPL-2.0-or-later
"""Names that steer terminals, a program that has them everywhere, and what no output may hold."""

import contextlib
import os
import shutil
import unicodedata

from lib import started, target

# A function and a source file of `leak`, in as many bytes: ESC, a C1 control, direction marks.
SYMBOLS = {
    b"leak_one": b"a\x1b[2J\xc2\x9bb",
    b"work_one": b"w\xe2\x80\xae\xe2\x81\xa6k",
    b"leak.c": b"\x1b[1m.c",
}
FOLDER = b"d\xe2\x81\xa7\x1b]0;x\x07\xff"
# 14 bytes, which the kernel takes for the process's name: a newline, and a byte that is no UTF-8.
COMM = b"l\x1b[1m\n\xc2\x9b2J\xe2\x80\xae\xff"


# The same of markup.
MARKUP_SYMBOLS = {b"leak_one": b"<script>", b"work_one": b"</style>", b"leak.c": b"<a x=\""}
MARKUP_FOLDER = b"]]><!--"
MARKUP_COMM = b"'\"><img src=x>"


def build(folder, symbols=None, inner=FOLDER, comm=COMM):
    """The path, as bytes, of such a program."""
    inner = os.path.join(os.fsencode(folder), inner)
    os.makedirs(inner, exist_ok=True)
    os.chmod(inner, 0o755)
    path = os.path.join(inner, comm)
    with open(target("leak"), "rb") as file:
        code = file.read()
    for name, evil in (symbols or SYMBOLS).items():
        assert len(name) == len(evil) and code.count(name), name
        code = code.replace(name, evil)
    with open(path, "wb") as file:
        file.write(code)
    shutil.copymode(target("leak"), path)
    return path


@contextlib.contextmanager
def running(folder, *args, **how):
    with started([build(folder), *args], **how) as process:
        process.lines.until("ready")
        yield process


def unsafe(data, layout="\n\t"):
    """The first character of the output that a terminal would obey or not show, with what is
    around it; None: there is none. Invalid UTF-8, also where it was replaced, is one, too."""
    text = data.decode("utf-8", "surrogateescape") if isinstance(data, bytes) else data
    for at, char in enumerate(text):
        if char not in layout and (unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp")
                                   or char == "\ufffd"):
            return f"U+{ord(char):04X} at {at}: {text[max(0, at - 60):at + 20]!r}"
    return None
