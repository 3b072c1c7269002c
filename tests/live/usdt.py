# SPDX-License-Identifier: GPL-2.0-or-later
"""Who listens to otel_memory's probes without anything of memtraced: events of tracefs, made of
what readelf says of the notes. Each has its semaphore, so that the kernel counts it up."""

import contextlib
import dataclasses
import os
import platform
import re

from lib import Skip, run

TRACEFS = "/sys/kernel/tracing"
PROVIDER = "otel_memory"
ARGUMENTS = {"alloc": ("block", "size", "weight"), "free": ("block",)}
BUFFER_KIB = 65536


@dataclasses.dataclass
class Probe:
    name: str
    offset: int
    semaphore: int  # both are offsets in the file
    registers: list


def file_offset(segments, address):
    for start, at, size in segments:
        if start <= address < start + size:
            return at + address - start
    raise AssertionError(f"no segment has {address:#x}")


def probes_of(path):
    """The probes that a file's notes describe."""
    headers = run(["readelf", "-lW", path]).stdout
    segments = [tuple(int(word, 16) for word in (found[2], found[1], found[3]))
                for found in re.finditer(r"LOAD +(0x\w+) (0x\w+) 0x\w+ (0x\w+)", headers)]
    notes = run(["readelf", "-nW", path]).stdout
    shape = (r"Provider: (\S+)\s+Name: (\S+)\s+Location: (0x\w+), Base: 0x\w+, "
             r"Semaphore: (0x\w+)\s+Arguments: (.*)")
    return [Probe(name, file_offset(segments, int(place, 16)),
                  file_offset(segments, int(semaphore, 16)),
                  # as the kernel calls them: %di, but %r8
                  re.findall(r"8@(%\w+)", re.sub("%r([a-z])", r"%\1", arguments)))
            for provider, name, place, semaphore, arguments in re.findall(shape, notes)
            if provider == PROVIDER]


def need_tracefs():
    if not os.path.isdir(TRACEFS + "/events"):
        raise Skip("tracefs is not mounted")
    if platform.machine() != "x86_64":
        raise Skip("the client reads x86-64's registers alone")


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
    folder = f"{TRACEFS}/instances/{group}"
    probes = probes_of(library)
    assert sorted(probe.name for probe in probes) == ["alloc", "free"], probes
    for probe in probes:
        names = ARGUMENTS[probe.name]
        assert len(probe.registers) == len(names), probe
        fields = " ".join(f"{name}={register}:x64"
                          for name, register in zip(names, probe.registers))
        write(f"{TRACEFS}/uprobe_events", f"p:{group}/{probe.name} {library}:{probe.offset:#x}"
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
            write(f"{TRACEFS}/uprobe_events", f"-:{group}/{probe.name}\n")
