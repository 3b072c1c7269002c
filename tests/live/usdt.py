# SPDX-License-Identifier: GPL-2.0-or-later
"""Who listens to otel_memory's probes without anything of memtraced: events of tracefs, made of
a file's notes. Each has its semaphore, so that the kernel counts it up."""

import contextlib
import ctypes
import dataclasses
import functools
import os
import re
import struct

from lib import Skip

TRACEFS = "/sys/kernel/tracing"
PROVIDER = "otel_memory"
ARGUMENTS = {"alloc": ("block", "size", "weight"), "free": ("block",)}
BUFFER_KIB = 65536
PT_LOAD = 1


@dataclasses.dataclass
class Probe:
    name: str
    offset: int
    semaphore: int  # both are offsets in the file
    registers: list


class File:
    """A 64-bit, little-endian ELF file: a guest has no readelf."""

    def __init__(self, path):
        with open(path, "rb") as file:
            self.data = file.read()
        assert self.data[:6] == b"\x7fELF\2\1", path
        programs, sections = struct.unpack_from("<QQ", self.data, 32)
        size, n, section_size, n_sections, names = struct.unpack_from("<5H", self.data, 54)
        # type, flags, offset, address, physical address, bytes in the file
        self.segments = [struct.unpack_from("<IIQQQQ", self.data, programs + i * size)
                         for i in range(n)]
        # name, type, flags, address, offset, bytes
        self.sections = [struct.unpack_from("<IIQQQQ", self.data, sections + i * section_size)
                         for i in range(n_sections)]
        self.names = self.sections[names][4]

    def text(self, at):
        return self.data[at:self.data.index(b"\0", at)].decode()

    def section(self, name):
        """Where its bytes begin and end."""
        found, = (s for s in self.sections if self.text(self.names + s[0]) == name)
        return found[4], found[4] + found[5]

    def offset(self, address):
        at, = (offset + address - start for kind, _, offset, start, _, size in self.segments
               if kind == PT_LOAD and start <= address < start + size)
        return at


def registers(arguments):
    """Their names as the kernel has them: %di, but %r8; %x0."""
    return [re.sub("^%r([a-z])", r"%\1", "%" + name)
            for name in re.findall(r"8@%?(\w+)", arguments)]


def probes_of(path):
    """The probes that a file's notes describe. It is linked as it is loaded (no prelink)."""
    file, probes = File(path), []
    at, end = file.section(".note.stapsdt")
    while at < end:
        name_size, size, _ = struct.unpack_from("<III", file.data, at)
        at += 12 + -(-name_size // 4) * 4
        place, _, semaphore = struct.unpack_from("<QQQ", file.data, at)
        provider, name, arguments, _ = file.data[at + 24:at + size].decode().split("\0")
        if provider == PROVIDER:
            probes.append(Probe(name, file.offset(place), file.offset(semaphore),
                                registers(arguments)))
        at += -(-size // 4) * 4
    return probes


# System calls of all architectures (asm-generic/unistd.h), and constants of <linux/mount.h>.
FSOPEN, FSCONFIG, FSMOUNT = 430, 431, 432
FSCONFIG_CMD_CREATE = 6


def checked(number, *words):
    result = ctypes.CDLL(None, use_errno=True).syscall(number, *words)
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


@functools.lru_cache(maxsize=1)
def tracefs():
    """Where it is mounted, or a mount of our own that is nowhere and goes with this process."""
    if os.path.isdir(TRACEFS + "/events"):
        return TRACEFS
    context = checked(FSOPEN, b"tracefs", 0)
    try:
        checked(FSCONFIG, context, FSCONFIG_CMD_CREATE, None, None, 0)
        return f"/proc/{os.getpid()}/fd/{checked(FSMOUNT, context, 0, 0)}"
    finally:
        os.close(context)


def need_tracefs():
    try:
        tracefs()
    except OSError as error:
        raise Skip(f"tracefs is not mounted, and mounting it failed: {error.strerror}") from error


def write(path, text):
    """As a shell's >>: tracefs knows no end of a file that could be sought."""
    fd = os.open(path, os.O_WRONLY | os.O_APPEND)
    try:
        os.write(fd, text.encode())
    finally:
        os.close(fd)


@dataclasses.dataclass
class Event:
    pid: int  # of the thread
    name: str
    block: int
    size: int = 0
    weight: int = 0


class Listener:
    def __init__(self, folder):
        self.folder = folder

    def events(self):
        """All so far, in their order; that none was lost is made sure."""
        for cpu in os.listdir(f"{self.folder}/per_cpu"):
            with open(f"{self.folder}/per_cpu/{cpu}/stats", encoding="ascii") as file:
                lost = re.findall(r"(?:overrun|dropped events): ([1-9]\d*)", file.read())
            assert not lost, f"tracefs has lost {lost} events on {cpu}"
        shape = re.compile(r"-(\d+) +.*: (alloc|free): \(\S+\) (.*)")
        with open(f"{self.folder}/trace", encoding="utf-8", errors="replace") as file:
            found = [shape.search(line) for line in file if not line.startswith("#")]
        return [Event(int(each[1]), each[2], *(int(value, 16) for value in
                                               re.findall(r"=(0x\w+)", each[3])))
                for each in found if each]

    def listen(self, on=True):
        write(f"{self.folder}/events/{os.path.basename(self.folder)}/enable", str(int(on)))


@contextlib.contextmanager
def listening(library, on=True):
    """Listens to the library's probes in all processes that have it: take a copy of one's own."""
    group = f"memtraced_test_{os.getpid()}"
    folder = f"{tracefs()}/instances/{group}"
    probes = probes_of(library)
    assert sorted(probe.name for probe in probes) == ["alloc", "free"], probes
    for probe in probes:
        names = ARGUMENTS[probe.name]
        assert len(probe.registers) == len(names), probe
        fields = " ".join(f"{name}={register}:x64"
                          for name, register in zip(names, probe.registers))
        write(f"{tracefs()}/uprobe_events", f"p:{group}/{probe.name} {library}:{probe.offset:#x}"
                                            f"({probe.semaphore:#x}) {fields}\n")
    os.mkdir(folder)
    listener = Listener(folder)
    try:
        write(f"{folder}/buffer_size_kb", str(BUFFER_KIB))
        listener.listen(on)
        yield listener
    finally:
        listener.listen(False)
        os.rmdir(folder)
        for probe in probes:
            write(f"{tracefs()}/uprobe_events", f"-:{group}/{probe.name}\n")
