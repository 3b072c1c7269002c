# SPDX-License-Identifier: GPL-2.0-or-later
"""A file system that an unprivileged process serves over /dev/fuse: one folder with copies of
files. It answers until it is told to stop, and from then on lets everybody wait who asks.
As a program: fuse_server.py MOUNT_POINT UID FILE..., "ready", and a line of input stops it."""

import contextlib
import ctypes
import errno
import os
import select
import struct
import subprocess
import sys
import threading

# linux/fuse.h
LOOKUP, FORGET, GETATTR, OPEN, READ, STATFS, RELEASE, FLUSH, INIT, OPENDIR, RELEASEDIR, ACCESS, \
    BATCH = 1, 2, 3, 14, 15, 17, 18, 25, 26, 27, 29, 34, 42
IN_HEADER, OUT_HEADER = struct.Struct("<IIQQIIIHH"), struct.Struct("<IiQ")
ATTR = struct.Struct("<QQQQQQIIIIIIIIII")
DIRECT_IO = 1
MNT_DETACH = 2
PATIENCE = 25  # seconds, after which who hangs is let go: not even SIGKILL ends that
PAGE = 4096


class Server:
    def __init__(self, fd, uid, paths):
        self.fd, self.uid = fd, uid
        self.files = {}
        for number, path in enumerate(paths, 2):
            with open(path, "rb") as file:
                self.files[number] = os.path.basename(path).encode(), file.read()

    def attr(self, node):
        size = len(self.files[node][1]) if node in self.files else 0
        mode = 0o100755 if node in self.files else 0o40755
        return ATTR.pack(node, size, (size + 511) // 512, 0, 0, 0, 0, 0, 0, mode, 1, self.uid,
                         self.uid, 0, PAGE, 0)

    def answer_of(self, code, node, body):
        """What is sent back, or an error's number. Nothing may be cached: each stat comes here."""
        if code == INIT:
            return struct.pack("<IIIIHHIIHH8I", 7, 31, 65536, 0, 16, 12, 65536, 1, 16, 0,
                               *[0] * 8)
        if code == LOOKUP:
            found = [n for n, (name, _) in self.files.items() if name == body.rstrip(b"\0")]
            return struct.pack("<QQQQII", found[0], 1, 0, 0, 0, 0) + self.attr(found[0]) \
                if found else errno.ENOENT
        if code == GETATTR:
            return struct.pack("<QII", 0, 0, 0) + self.attr(node)
        if code in (OPEN, OPENDIR):
            (flags,) = struct.unpack_from("<I", body)
            return struct.pack("<QII", node, DIRECT_IO if flags & os.O_DIRECT else 0, 0)
        if code == READ:
            _, offset, size = struct.unpack_from("<QQI", body)
            return self.files[node][1][offset:offset + size]
        if code == STATFS:
            return struct.pack("<5Q10I", 1, 0, 0, 1, 0, PAGE, 255, PAGE, *[0] * 7)
        return b"" if code in (RELEASE, RELEASEDIR, FLUSH, ACCESS) else errno.ENOSYS

    def serve_one(self):
        request = os.read(self.fd, 1 << 20)
        _, code, unique, node, *_ = IN_HEADER.unpack_from(request)
        if code in (FORGET, BATCH):
            return
        answer = self.answer_of(code, node, request[IN_HEADER.size:])
        error, body = (answer, b"") if isinstance(answer, int) else (0, answer)
        os.write(self.fd, OUT_HEADER.pack(OUT_HEADER.size + len(body), -error, unique) + body)

    def serve_until_told(self):
        while True:
            ready, _, _ = select.select([self.fd, 0], [], [])
            if 0 in ready:
                return
            self.serve_one()


def mount(point, uid, device="/dev/fuse"):
    fd = os.open(device, os.O_RDWR)
    options = f"fd={fd},rootmode=40755,user_id={uid},group_id={uid},allow_other"
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(b"memtraced-test", point.encode(), b"fuse", 6, options.encode()):
        raise OSError(ctypes.get_errno(), "mount")
    return fd


def main(point, uid, *paths):
    fd = mount(point, int(uid))
    server = Server(fd, int(uid), paths)
    os.setgid(int(uid) or 65534)
    os.setuid(int(uid) or 65534)
    print("ready", flush=True)
    server.serve_until_told()
    # Requests are read, so that nobody can take them back, and never answered.
    print("stopped", flush=True)
    while True:
        os.read(fd, 1 << 20)


@contextlib.contextmanager
def served(folder, uid, *paths):
    """The mount point, a function that stops the server, and one that ends it, which lets go of
    what hangs."""
    point = os.path.join(folder, "served")
    os.mkdir(point)
    command = [sys.executable, __file__, point, str(uid), *paths]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True) as process:
        timer = threading.Timer(PATIENCE, process.kill)
        timer.start()
        try:
            assert process.stdout.readline() == "ready\n", "no FUSE server"

            def stop():
                process.stdin.write("stop\n")
                process.stdin.flush()
                assert process.stdout.readline() == "stopped\n"
            yield point, stop, process.kill
        finally:
            timer.cancel()
            process.kill()  # its descriptor was the connection's: all who wait get an error
            ctypes.CDLL(None).umount2(point.encode(), MNT_DETACH)


if __name__ == "__main__":
    main(*sys.argv[1:])
