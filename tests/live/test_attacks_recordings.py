# SPDX-License-Identifier: GPL-2.0-or-later
"""Recordings that others made, which root reads: what a reader that was taken over could do. gdb
plays the attacker: it has the process call functions while the recording is read."""

import array
import fcntl
import os
import re
import resource
import signal
import struct
import subprocess
import termios

from lib import (eventually, memtraced, need_program, need_root, run_memtraced,
                 scratch, started, target, test)

BESIDE_OTHERS = True
NOBODY = 65534
HEADER = b"\x89MTREC\r\n" + struct.pack("<II", 2, 0x01020304)  # docs/recording.md


class Reading:
    """A `memtraced report` or `diff` that waits in the middle of a recording."""

    def __init__(self, folder, *command, **how):
        self.pipe = os.path.join(folder, "recording")
        os.mkfifo(self.pipe)
        self.words = [memtraced(), *command]
        self.how = how

    def __enter__(self):
        self.process = subprocess.Popen(self.words, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.PIPE, **self.how)
        self.file = os.open(self.pipe, os.O_WRONLY)
        os.write(self.file, HEADER)
        eventually(self.waits, "the reader waits for more")
        return self

    def waits(self):
        with open(f"/proc/{self.process.pid}/syscall", encoding="ascii") as file:
            words = file.read().split()
        with open(f"/proc/{self.process.pid}/stat", encoding="ascii") as file:
            state = file.read().rpartition(")")[2].split()[0]
        # It has read the header, and read(2) has nothing more for it.
        return state == "S" and words[0] == "0" and self.drained()

    def drained(self):
        left = array.array("i", [0])
        fcntl.ioctl(self.file, termios.FIONREAD, left)
        return left[0] == 0

    def status(self):
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as file:
            return dict(re.findall(r"^(\w+):\s*(.*)$", file.read(), re.M))

    def calls(self, *calls):
        """What these calls return when the process makes them."""
        words = ["gdb", "-q", "-nx", "-batch", "-p", str(self.process.pid)]
        for call in calls:
            words += ["-ex", f'printf "returned %ld\\n", (long){call}']
        done = subprocess.run(words, capture_output=True, text=True, timeout=50, check=True)
        found = [int(value) for value in re.findall(r"^returned (-?\d+)$", done.stdout, re.M)]
        assert len(found) == len(calls), done.stdout + done.stderr
        return found

    def __exit__(self, *error):
        os.close(self.file)
        self.process.wait(20)
        self.process.stderr.close()


def has_landlock():
    """Linux 5.13 and later, where it is built in: /proc/kallsyms has its system calls."""
    with open("/proc/kallsyms", encoding="ascii") as file:
        return "sys_landlock_restrict_self" in file.read()


def attack(reading, folder, victim):
    """What it got: nothing, if all is well."""
    written, kept, mounted = (os.path.join(folder, name)
                              for name in ("written", "kept", "mounted"))
    os.mkdir(mounted)
    with open(kept, "w", encoding="ascii") as file:
        file.write("as it was")
    os.chmod(folder, 0o755)
    command = f'((int (*)(const char *))system)("echo owned > {written}")'
    calls = {
        "system() runs a program": command,
        "a socket": "((int (*)(int, int, int))socket)(2, 1, 0)",
        "ptrace() of another process": f"((long (*)(int, int, long, long))ptrace)"
                                       f"(0x4206, {victim.pid}, 0, 0)",
        "kill() of another process": f"((int (*)(int, int))kill)({victim.pid}, 9)",
        "writing another file": f'((int (*)(const char *, int))open)("{kept}", 1)',
        "reading /etc/shadow": '((int (*)(const char *, int))open)("/etc/shadow", 0)',
        "making a file elsewhere": f'((int (*)(const char *, int, int))open)'
                                   f'("{folder}/made", 0101, 0600)',
        "removing a file elsewhere": f'((int (*)(const char *))unlink)("{kept}")',
        "bpf()": "((long (*)(long, long, long, long))syscall)(321, 0, 0, 0)",
        "mount()": '((int (*)(const char *, const char *, const char *, long, long))mount)'
                   f'("none", "{mounted}", "tmpfs", 0, 0)',
    }
    if os.uname().machine != "x86_64":
        del calls["bpf()"]
    if not has_landlock():
        for name in [name for name in calls if " file" in name or "/etc" in name]:
            del calls[name]
    got = [name for name, value in zip(calls, reading.calls(*calls.values()))
           if value >= 0 and not name.startswith("system")]
    if os.path.ismount(mounted):
        subprocess.run(["umount", mounted], check=True)
    if os.path.exists(written):
        got.append("a program ran")
    if victim.poll() is not None:
        got.append("a process was killed")
    return got


@test(need_root, need_program("gdb"), each=("report", "diff"))
def who_reads_a_recording_has_no_rights(action):
    with scratch() as folder, started(["sleep", "100"]) as victim:
        outputs = os.path.join(folder, "outputs")
        os.mkdir(outputs)
        recording = os.path.join(folder, "recording")
        files = [recording] if action == "report" else [recording, recording]
        with Reading(folder, action, *files, "-o", f"json:{outputs}/json") as reading:
            status = reading.status()
            got = attack(reading, folder, victim)
        assert not got, got
        assert status["CapEff"] == status["CapPrm"] == "0" * 16, status
        assert status["NoNewPrivs"] == "1" and status["Seccomp"] == "2", status


@test(need_root, each=("report", "diff"))
def who_reads_a_recording_has_limits_by_its_size(action):
    with scratch() as folder:
        recording, kept = os.path.join(folder, "recording"), os.path.join(folder, "kept")
        assert run_memtraced("-q", "-o", f"record:{kept}", "--", "true").returncode == 0
        os.truncate(kept, 50 << 20)
        files = [recording] if action == "report" else [kept, recording]
        size = (256 << 20) + (action == "diff") * os.path.getsize(kept)  # of a pipe: as much
        with Reading(folder, action, *files) as reading:
            data = resource.prlimit(reading.process.pid, resource.RLIMIT_DATA)[0]
            cpu = resource.prlimit(reading.process.pid, resource.RLIMIT_CPU)[0]
            assert data == (1 << 30) + 256 * size, data
            assert cpu == 120 + 20 * (size >> 20), cpu
            reading.process.send_signal(signal.SIGXCPU)
            said = reading.process.stderr.read().decode()
            assert reading.process.wait(20) == 2 and "more CPU time" in said, said


@test(need_root)
def a_recording_that_needs_too_much_memory_is_not_taken_for_damaged():
    with scratch() as folder:
        recording = os.path.join(folder, "recording")
        done = run_memtraced("-q", "-o", f"record:{recording}", "--", "/usr/bin/python3", "-c",
                             "import json")
        assert done.returncode == 0, done.stderr
        # With the first ones the program does not even start.
        limits = [(mib << 20, mib << 20) for mib in range(6, 32)]
        all_done = [run_memtraced("report", recording, "-f", "json", preexec_fn=lambda limit=limit:
                                  resource.setrlimit(resource.RLIMIT_DATA, limit))
                    for limit in limits]
    said = [done.stderr for done in all_done if done.returncode == 2]
    # Which of what is allocated is the first to fail is another one for each C library.
    assert any("Cannot allocate memory" in text or "out of memory" in text for text in said), said
    assert not any("damaged" in done.stderr for done in all_done), all_done


@test(need_root)
def under_sudo_a_recording_is_read_as_the_user():
    with scratch() as folder:
        os.chmod(folder, 0o755)
        outputs = os.path.join(folder, "outputs")
        os.mkdir(outputs)
        os.chown(outputs, NOBODY, NOBODY)
        recording, output = os.path.join(folder, "recording"), os.path.join(outputs, "json")
        done = run_memtraced("-o", f"record:{recording}.real", "--", target("leak"), "100", "0")
        assert done.returncode == 0, done.stderr
        with open(f"{recording}.real", "rb") as file:
            data = file.read()
        os.chmod(f"{recording}.real", 0o600)  # root's: it is opened before
        env = dict(os.environ, SUDO_UID=str(NOBODY), SUDO_GID=str(NOBODY))
        with Reading(folder, "report", recording, "-o", f"json:{output}", env=env) as reading:
            status = reading.status()
            os.write(reading.file, data[len(HEADER):])
        assert status["Uid"].split() == [str(NOBODY)] * 4, status
        assert status["Gid"].split() == [str(NOBODY)] * 4, status
        assert status["CapEff"] == status["CapPrm"] == "0" * 16, status
        assert reading.process.returncode == 0
        assert os.stat(output).st_uid == NOBODY
        done = run_memtraced("report", f"{recording}.real", "-o", f"json:{output}", env=env)
        assert done.returncode == 0, done.stderr


@test(need_root)
def root_writes_reports_into_folders_of_others():
    with scratch() as folder:
        os.chown(folder, NOBODY, NOBODY)
        os.chmod(folder, 0o755)
        recording, output = (os.path.join(folder, name) for name in ("run", "json"))
        done = run_memtraced("-o", f"record:{recording}", "--", target("leak"), "100", "0")
        assert done.returncode == 0, done.stderr
        for _ in range(2):  # made, then replaced
            done = run_memtraced("report", recording, "-o", f"json:{output}", "-o",
                                 f"massif:{folder}/massif-%p", "-o", f"folded:{folder}/f.gz")
            assert done.returncode == 0, done.stderr
            os.chown(output, NOBODY, NOBODY)
        assert os.path.getsize(output) > 0
