# SPDX-License-Identifier: GPL-2.0-or-later
"""A user asks for profiles of an own process, which then becomes one that this user may not look
at: nothing that happens from then on is in the answer, nor is a name of a file's symbols."""

import contextlib
import os
import re
import shutil
import signal
import subprocess

import schema
from lib import (Skip, eventually, need_program, need_root, need_sampling, run, scratch, send_line,
                 started, target_for_all, test)
from test_ctl import as_nobody, ctl
from test_service import ASK_AS, NOBODY, ask_as, service, until_traced

BESIDE_OTHERS = "services"
# allocate_openly() until it is sent a line, allocate_secretly() after what `argv[1]` says.
PROGRAM = r"""
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

void *volatile kept;

static __attribute__((noinline)) void allocate_openly(void)
{
	for (int i = 0; i < 100; i++)
		kept = malloc(1000);
}

static __attribute__((noinline)) void allocate_secretly(void)
{
	struct timespec now, until;

	for (int i = 0; i < 100; i++)
		kept = malloc(2000);
	for (int i = 0; i < 64; i++)
		memset(mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			    -1, 0), 1, 1 << 20);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &until);
	do
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	while ((now.tv_sec - until.tv_sec) * 1000L + (now.tv_nsec - until.tv_nsec) / 1000000 < 300);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";

	if (*how) {
		puts("ready");
		fflush(stdout);
		do
			allocate_openly();
		while (poll(&(struct pollfd){ .events = POLLIN }, 1, 10) == 0);
		getchar();
	}
	if (strcmp(how, "hide") == 0)
		prctl(PR_SET_DUMPABLE, 0);
	allocate_secretly();
	if (argc > 2) {
		/* "stay", or what is executed next */
		if (strcmp(argv[2], "stay") != 0)
			execv(argv[2], argv + 2);
		puts("over");
		fflush(stdout);
		pause();
	}
	return 0;
}
"""


def become(uid=NOBODY, gid=NOBODY):
    def change():
        os.setgroups([])
        os.setresgid(gid, gid, gid)
        os.setresuid(uid, uid, uid)
    return change


def build(folder, name, mode=0o755, capabilities=None, source=PROGRAM):
    """A program of root's with these rights."""
    if os.statvfs(folder).f_flag & os.ST_NOSUID:
        raise Skip(f"{folder} is on a file system without set-user-ID programs")
    path = os.path.join(folder, name)
    done = run(["cc", "-g", "-O1", "-x", "c", "-", "-o", path], input=source)
    assert done.returncode == 0, done.stderr
    os.chown(path, 0, 0)
    os.chmod(path, mode)
    if capabilities:
        done = run(["setcap", capabilities, path])
        assert done.returncode == 0, done
    return path


def asked_by_nobody(served, address):
    return started(["/usr/bin/python3", "-c", ASK_AS, str(NOBODY), served.path, address],
                   stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)


def answer_of(asking):
    """Status and body."""
    out, errors = asking.communicate(timeout=60)
    assert asking.returncode == 0, errors
    status, _, body = out.decode().partition(" ")
    return int(status), body


@contextlib.contextmanager
def shell_that_executes(*words):
    """A process of the user's that replaces itself with these words once it is told to."""
    script = 'echo ready; read line; exec "$0" "$@"'
    with started(["/bin/sh", "-c", script, *words], preexec_fn=become()) as process:
        process.lines.until("ready")
        yield process


KINDS = {
    "set-user-ID": {"mode": 0o4711},
    "set-user-ID and readable": {"mode": 0o4755},
    "set-group-ID": {"mode": 0o2755},
    "file capabilities": {"mode": 0o755, "capabilities": "cap_net_raw+p"},
    "unreadable": {"mode": 0o711},
}
QUANTITIES = {
    "heap": "/debug/pprof/heap?pid={}&seconds=30&format=json",
    "allocs": "/debug/pprof/allocs?pid={}&seconds=30&format=folded",
    "cpu": "/debug/pprof/profile?pid={}&seconds=30&format=folded",
}


def holds_no_secret(text, path):
    assert "allocate_secretly" not in text, text[:3000]
    assert os.path.basename(path) not in text, text[:3000]


@test(need_root, need_program("cc", "setcap"), each=KINDS)
def a_program_that_the_user_may_not_see_and_that_has_ended_is_not_shown(kind):
    with scratch() as folder, service(folder) as served:
        path = build(folder, "hidden_program", **KINDS[kind])
        with shell_that_executes(path) as process, \
                asked_by_nobody(served, QUANTITIES["heap"].format(process.pid)) as asking:
            until_traced(served, 1)
            send_line(process)
            status, body = answer_of(asking)
            assert process.wait(10) == 0
            assert status == 200, (status, body)
            holds_no_secret(body, path)
            # What the shell did before was the user's to see.
            assert '"comm":"sh"' in body.replace(": ", ":"), body[:2000]


@test(need_root, need_program("cc"), each=["allocs", "cpu", "ctl"])
def nor_by_another_way_of_asking(way):
    if way == "cpu":
        need_sampling()
    with scratch() as folder, service(folder) as served:
        path = build(folder, "hidden_program", 0o4711)
        with shell_that_executes(path) as process:
            if way == "ctl":
                said = run([*as_nobody(served), "trace", str(process.pid), "--for=30s",
                            "--format=json"])
                assert said.returncode == 0, said
                name = said.stdout.split()[-1]
            else:
                asking = subprocess.Popen(
                    ["/usr/bin/python3", "-c", ASK_AS, str(NOBODY), served.path,
                     QUANTITIES[way].format(process.pid)], stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            until_traced(served, 1)
            send_line(process)
            assert process.wait(10) == 0
            if way == "ctl":
                eventually(lambda: name in ctl(served, "reports"), "its report")
                body = run([*as_nobody(served), "reports", name]).stdout
                assert body, "the user has a report"
            else:
                status, body = answer_of(asking)
                assert status == 200, (status, body)
            holds_no_secret(body, path)


@test(need_root, need_program("cc"))
def a_program_between_two_of_the_users_is_not_shown():
    """The last image is the user's again, and asked about while it runs."""
    with scratch() as folder, service(folder) as served:
        path = build(folder, "hidden_program", 0o4711)
        back = os.path.join(folder, "back")
        with open(back, "w", encoding="ascii") as file:
            file.write(f'#!/usr/bin/python3\nimport os, time\nos.setresuid({NOBODY}, {NOBODY}, '
                       f'{NOBODY})\nos.execv("/bin/sleep", ["sleep", "20"])\n')
        os.chmod(back, 0o755)
        with shell_that_executes(path, "", back) as process, \
                asked_by_nobody(served, "/debug/pprof/heap?pid={}&seconds=4&format=json"
                                .format(process.pid)) as asking:
            until_traced(served, 1)
            send_line(process)
            status, body = answer_of(asking)
            assert status == 200, (status, body)
            holds_no_secret(body, path)


@test(need_root, need_program("cc"), each=["and ends", "and goes on"])
def a_process_that_hides_itself_is_shown_until_then(end):
    more = ["stay"] if end == "and goes on" else []
    with scratch() as folder, service(folder) as served:
        path = build(folder, "own_program")
        with shell_that_executes(path, "hide", *more) as process, \
                asked_by_nobody(served, QUANTITIES["heap"].format(process.pid)) as asking:
            until_traced(served, 1)
            send_line(process)
            process.lines.until("ready")
            now = f"/debug/pprof/heap?pid={process.pid}&seconds=1&format=folded"
            eventually(lambda: "allocate_openly" in ask_as(served, "unix", now)[0],
                       "it is not probed", 30)
            send_line(process)
            status, body = answer_of(asking)
            assert status == 200, (status, body)
            # An exec of a program that the user may see goes on.
            assert "allocate_openly" in body, body[:3000]
            assert "allocate_secretly" not in body, body[:3000]
            image, = [image for image in schema.loads(body)["processes"]
                      if image["comm"] == "own_program"]
            assert image["end"].pop("hidden") is True, image["end"]


@test(need_root, need_sampling, need_program("cc"))
def growth_is_of_the_image_that_the_user_may_see_alone():
    """Page faults of all are sampled all the time: a process shows those of its last image."""
    with scratch() as folder, service(folder, growth="period = 1") as served:
        path, own = build(folder, "hidden_program", 0o4711), build(folder, "own_program")
        back = os.path.join(folder, "back")
        with open(back, "w", encoding="ascii") as file:
            file.write(f'#!/usr/bin/python3\nimport os, sys\nos.setresuid({NOBODY}, {NOBODY}, '
                       f'{NOBODY})\nos.execv("{own}", ["own_program", "wait", "stay"])\n')
        os.chmod(back, 0o755)
        address = "/debug/pprof/growth?pid={}&format=json"
        with shell_that_executes(path, "hold", back) as process:
            send_line(process)
            process.lines.until("ready")
            # What is over before the service sees it has no names: it stays until it has.
            eventually(lambda: "hidden_program" in served.text(address.format(process.pid)),
                       "nothing of it is shown", 30)
            send_line(process)
            process.lines.until("ready")
            send_line(process)
            process.lines.until("over")
            with asked_by_nobody(served, address.format(process.pid)) as asking:
                status, body = answer_of(asking)
            assert status == 200 and "own_program" in body, (status, body)
            assert "hidden_program" not in body, body[:3000]
            assert "hidden_program" in served.text(address.format(process.pid))


@test(need_root, need_program("cc"))
def another_process_with_the_same_pid_is_not_shown():
    with scratch() as folder, service(folder) as served:
        path = build(folder, "hidden_program", 0o700)
        with shell_that_executes("/bin/true") as process, \
                asked_by_nobody(served, QUANTITIES["heap"].format(process.pid)) as asking:
            until_traced(served, 1)
            os.kill(served.process.pid, signal.SIGSTOP)
            try:
                send_line(process)
                assert process.wait(10) == 0
                with open("/proc/sys/kernel/ns_last_pid", "w", encoding="ascii") as file:
                    file.write(str(process.pid - 1))
                    file.flush()
                    other = subprocess.Popen([path, "", "stay"], stdout=subprocess.PIPE)
                if other.pid != process.pid:
                    raise Skip("another process took the pid")
                other.stdout.readline()
            finally:
                os.kill(served.process.pid, signal.SIGCONT)
            status, body = answer_of(asking)
            other.kill()
            other.communicate()
            assert status == 200, (status, body)
            holds_no_secret(body, path)


@test(need_root, need_program("cc"))
def a_daemon_that_became_the_user_is_refused():
    """All of its ids are the user's, but it was root's: it is not dumpable."""
    with scratch() as folder, service(folder) as served:
        path = build(folder, "own_program")
        code = (f"import ctypes, os, time\nlibc = ctypes.CDLL(None)\nlibc.setgroups(0, None)\n"
                f"os.setresgid({NOBODY}, {NOBODY}, {NOBODY})\n"
                f"os.setresuid({NOBODY}, {NOBODY}, {NOBODY})\nprint('ready', flush=True)\n"
                f"time.sleep(30)\n")
        with started(["/usr/bin/python3", "-c", code]) as process:
            process.lines.until("ready")
            for address in (QUANTITIES["heap"], "/debug/pprof/cmdline?pid={}"):
                with asked_by_nobody(served, address.format(process.pid)) as asking:
                    status, body = answer_of(asking)
                assert status == 403 and "is not yours" in body, (status, body)
        # Nor is one whose group alone is another's.
        with started([path, "wait"], preexec_fn=become(gid=1)) as process:
            process.lines.until("ready")
            with asked_by_nobody(served, QUANTITIES["heap"].format(process.pid)) as asking:
                status, body = answer_of(asking)
            assert status == 403 and "is not yours" in body, (status, body)


# In a user namespace that root has made, the ids of the user: what is in it is root's to see.
IN_ROOTS_NAMESPACE = """
import ctypes, os, sys
libc, (made, make), (mapped, map_) = ctypes.CDLL(None, use_errno=True), os.pipe(), os.pipe()
pid = os.fork()
if pid == 0:
    assert libc.unshare(0x10000000) == 0, os.strerror(ctypes.get_errno())
    os.write(make, b"x"); os.read(mapped, 1)
    uid = int(sys.argv[1])
    os.setgroups([]); os.setresgid(uid, uid, uid); os.setresuid(uid, uid, uid)
    os.execv(sys.argv[2], sys.argv[2:])
os.read(made, 1)
for name in ("uid_map", "gid_map"):
    with open(f"/proc/{pid}/{name}", "w") as file:
        file.write("0 0 100000")
os.write(map_, b"x")
os.waitpid(pid, 0)
"""


@test(need_root, need_program("unshare"))
def in_a_user_namespace_it_is_seen_by_the_user_who_made_that():
    """Its capabilities there are of the user's own making."""
    with scratch() as folder, service(folder) as served:
        leak = target_for_all(folder, "leak")
        if run(["unshare", "-U", "true"], preexec_fn=become()).returncode != 0:
            raise Skip("users may make no user namespaces here")
        own = ["unshare", "-Ur", leak, "0", "20000"]
        roots = ["/usr/bin/python3", "-c", IN_ROOTS_NAMESPACE, str(NOBODY), leak, "0", "20000"]
        with started(own, preexec_fn=become()) as first, started(roots) as second:
            pids = [process.lines.until("ready") for process in (first, second)]
            for pid, expected in zip(pids, (200, 403)):
                with open(f"/proc/{pid}/status", encoding="ascii") as file:
                    assert re.search(rf"^Uid:(\t{NOBODY}){{4}}$", file.read(), re.M)
                address = f"/debug/pprof/heap?pid={pid}&seconds=1&format=json"
                with asked_by_nobody(served, address) as asking:
                    status, body = answer_of(asking)
                assert status == expected, (pid, status, body[:300])
                assert ("leak_one" in body) == (expected == 200), body[:3000]
            os.kill(int(pids[1]), signal.SIGKILL)


def with_debug_file_elsewhere(folder, theirs):
    """A stripped program of nobody's, whose debug file is a link to `theirs`; and its folder."""
    own = os.path.join(folder, "own")
    os.mkdir(own)
    whole = build(folder, "whole")
    program, link = os.path.join(own, "program"), os.path.join(own, "names.debug")
    for command in (["objcopy", "--only-keep-debug", whole, link],
                    ["objcopy", "--strip-all", f"--add-gnu-debuglink={link}", whole, program]):
        done = run(command)
        assert done.returncode == 0, done.stderr
    shutil.move(link, theirs)
    os.symlink(theirs, link)
    for path in (own, program):
        os.chown(path, NOBODY, NOBODY)
    return program


@test(need_root, need_program("cc", "objcopy"), each=["file", "folder", "none"])
def names_of_a_debug_file_are_for_users_who_may_read_it(hidden):
    """A user's program leads to a debug file of root's that the user may not read, or reach."""
    with scratch() as folder, service(folder) as served:
        os.chmod(folder, 0o755)
        secret = os.path.join(folder, "secret")
        os.mkdir(secret, 0o700 if hidden == "folder" else 0o755)
        theirs = os.path.join(secret, "names.debug")
        program = with_debug_file_elsewhere(folder, theirs)
        os.chmod(theirs, 0o600 if hidden == "file" else 0o644)
        with started([program, "open"], preexec_fn=become()) as process:
            process.lines.until("ready")
            now = f"/debug/pprof/heap?pid={process.pid}&seconds=1&format=folded"
            body = "\n".join(ask_as(served, "unix", now))
            roots = served.text(now)
            told = "\n".join(ask_as(served, "unix", now.replace("folded", "json")))
    assert ("allocate_openly" in body) == (hidden == "none"), body[:3000]
    assert "allocate_openly" in roots, roots[:3000]
    assert ('"symbols-unread"' in told) == (hidden != "none"), told[:3000]


@test(need_root, need_program("setpriv"))
def a_process_with_ambient_capabilities_is_not_its_users():
    """Its file gives it none: whoever has them gives them to what it executes."""
    with scratch() as folder, service(folder) as served:
        own = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups",
               "--inh-caps=+net_raw", "--ambient-caps=+net_raw", target_for_all(folder, "leak"),
               "0", "20000"]
        with started(own) as process:
            pid = process.lines.until("ready")
            answers = ask_as(served, "unix", f"/debug/pprof/heap?pid={pid}&seconds=1",
                             f"/debug/pprof/cmdline?pid={pid}")
    assert all(answer.startswith("403 ") for answer in answers), answers
