# SPDX-License-Identifier: GPL-2.0-or-later
"""Attacks on `memtraced valgrind`: by who listens at its sockets, and by folders of other users in
which it is started or writes."""

import fcntl
import os
import socket
import struct
import tempfile
import termios
import time

from lib import eventually, memtraced, need_root, run, scratch, started, target, test

BESIDE_OTHERS = True
NOBODY = 65534
OPTIONS = ["-q", "--leak-check=full", "--show-leak-kinds=all", "--num-callers=60"]


@test(need_root, each=[("log", 0), ("xml", 0), ("log", 100)], in_turn=1,
      timeout=120)
def who_listens_and_reads_little_does_not_keep_it_from_its_end(case):
    """Of 8192 sites it writes more than sockets take. To read some bytes a second gains nothing."""
    what, rate = case
    with socket.socket() as server:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        server.bind(("127.0.0.1", 0))
        server.listen()
        address = f"--{what}-socket=127.0.0.1:{server.getsockname()[1]}"
        more = ["--xml=yes"] if what == "xml" else []
        with started([memtraced(), "valgrind", *OPTIONS, address, *more, target("many_heirs"),
                      "13", "0"]) as process:
            process.stdin.close()
            with server.accept()[0] as listener:
                until = time.monotonic() + 60
                while rate and process.poll() is None and time.monotonic() < until:
                    listener.recv(rate // 10)
                    time.sleep(0.1)
                assert process.wait(60) != 0


@test(need_root)
def a_link_of_another_user_does_not_choose_its_options():
    with scratch() as folder, scratch() as hostile:
        options = os.path.join(folder, "options")
        with open(options, "w", encoding="ascii") as file:
            file.write("--error-exitcode=77 --leak-check=full")
        link = os.path.join(hostile, ".valgrindrc")
        os.symlink(options, link)
        own = run([memtraced(), "valgrind", "-q", target("leak"), "5", "5"], cwd=hostile)
        os.chown(hostile, NOBODY, NOBODY)
        os.lchown(link, NOBODY, NOBODY)
        theirs = run([memtraced(), "valgrind", "-q", target("leak"), "5", "5"], cwd=hostile)
    assert own.returncode == 77, own
    assert theirs.returncode == 0 and "not read" in theirs.stderr, theirs


@test(need_root, each=["before", "meanwhile"])
def a_folder_that_another_user_swaps_for_a_link_is_not_written_to(when):
    with scratch() as hostile, scratch() as private:
        os.chown(hostile, NOBODY, NOBODY)
        folder, before = os.path.join(hostile, "logs"), os.path.join(private, "out.json")
        with open(before, "w", encoding="ascii") as file:
            file.write("root's")
        os.mkdir(folder)

        def swap():
            os.rename(folder, os.path.join(hostile, "old"))
            os.symlink(private, folder)
            os.lchown(folder, NOBODY, NOBODY)

        if when == "before":
            swap()
        with started([memtraced(), "-q", "-o", f"json:{folder}/out.json", "--",
                      "/bin/sleep", "2"]) as process:
            time.sleep(1)
            if when == "meanwhile":
                swap()
            assert process.wait(20) == 2
        with open(before, encoding="ascii") as file:
            assert file.read() == "root's"
        assert os.listdir(private) == ["out.json"], os.listdir(private)


PIPE_BYTES = 60000  # of the 64 KiB that a pipe takes


def waiting_bytes(pipe):
    return struct.unpack("i", fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)))[0]


@test(need_root, each=["log", "xml", "standard error"], timeout=120)
def a_pipe_that_nobody_reads_does_not_keep_it_from_its_end(what):
    """It waits for who reads, however long that takes, until it is told to end."""
    reader, writer = os.pipe()
    more = {"log": [f"--log-fd={writer}"], "xml": ["--xml=yes", f"--xml-fd={writer}"]}
    with tempfile.TemporaryFile() as said, \
            started([memtraced(), "valgrind", *OPTIONS, *more.get(what, []), target("many_heirs"),
                     "13", "0"], pass_fds=[writer],
                    stderr=said if what in more else writer) as process:
        process.stdin.close()
        os.close(writer)
        try:
            eventually(lambda: waiting_bytes(reader) >= PIPE_BYTES, "it writes too little", 60)
            process.terminate()
            assert process.wait(30) != 0
            said.seek(0)
            assert what not in more or f"--{what}-fd: " in said.read().decode()
        finally:
            os.close(reader)
