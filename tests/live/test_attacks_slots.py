# SPDX-License-Identifier: GPL-2.0-or-later
"""Users take all the traces that may run at once, for as long as they may: root, the rules and
other users get theirs all the same."""

import contextlib
import os
import shutil

import lib
import schema
from lib import Skip, eventually, memtraced, need_program, need_root, run, scratch, started, test
from test_attacks_setuid import become
from test_ctl import ctl
from test_service import ask_as, service, until_traced

BESIDE_OTHERS = "services"
ALICE, BOB, CAROL = 65531, 65532, 65533


def as_user(served, uid, *words):
    return run(["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", memtraced(), "ctl",
                f"--socket={served.path}", *words])


def begin(served, uid, pid):
    """A trace of ten minutes, as a user; the name of its report, or None if it is refused."""
    done = as_user(served, uid, "trace", pid, "--for=10m", "--format=json")
    if done.returncode == 0:
        return done.stdout.split()[-1]
    assert "max_traces" in done.stderr, done
    return None


@contextlib.contextmanager
def processes(folder, uid, n, name="leak"):
    path = os.path.join(folder, name)
    if not os.path.exists(path):
        shutil.copy(lib.target("leak"), path)
        os.chmod(path, 0o755)
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(started([path, "0", "60000"], preexec_fn=become(uid, uid)))
               .lines.until("ready") for _ in range(n)]


RULE = "[watch]\ninterval = 1s\n[rule of-root]\nwhen = rss > 1\ncomm = ruled\ntrace = 10m\n"


@test(need_root, need_program("setpriv"))
def two_users_keep_neither_root_nor_rules_nor_a_third_user_out():
    with scratch() as folder, \
            service(folder, trace="max_traces = 4\n" + RULE) as served, \
            processes(folder, ALICE, 2) as alices, processes(folder, BOB, 2) as bobs, \
            processes(folder, CAROL, 1) as (carols,), started(["sleep", "600"]) as roots, \
            started(["sleep", "600"]) as other:
        names = [begin(served, ALICE, pid) for pid in alices]
        assert None not in names, names
        assert [begin(served, BOB, pid) for pid in bobs][0], "one of two"
        # Who has two makes room for who has none,
        assert begin(served, CAROL, carols), "a third user is refused"
        served.said.until(f"memtraced: process {alices[0]} (leak): report {names[0]}")
        report = schema.loads(as_user(served, ALICE, "reports", names[0]).stdout)
        schema.check(report)
        assert report["coverage"]["budget"]["pre_empted"] is True, report["coverage"]
        assert report["coverage"]["budget"]["untraced_ns"] > 0, report["coverage"]
        # and all of them for root,
        for process in (roots, other):
            ctl(served, "trace", str(process.pid), "--for=10m")
        # and for a rule.
        with processes(folder, BOB, 1, "ruled") as (ruled,):
            served.said.until(f"memtraced: rule of-root: rss > 1: process {ruled} (ruled)")
            eventually(lambda: f"heap of process {ruled} (ruled)" in ctl(served, "status"),
                       "it is traced")
            until_traced(served, 4)
            assert served.metric("memtraced_traces_pre_empted_total") == 3


@test(need_root, need_program("setpriv", "unshare"))
def subordinate_uids_count_as_the_user_who_has_them():
    if not os.path.exists("/etc/subuid"):
        raise Skip("there is no /etc/subuid to be covered by another file")
    with scratch() as folder:
        subuid = os.path.join(folder, "subuid")
        with open(subuid, "w", encoding="ascii") as file:
            file.write(f"{ALICE}:200000:100\n")
        within = ["unshare", "-m", "sh", "-c", 'mount --bind "$0" /etc/subuid && exec "$@"', subuid]
        with service(folder, trace="max_traces = 8", within=within) as served, \
                processes(folder, ALICE, 1) as (own,), processes(folder, 200001, 1) as (first,), \
                processes(folder, 200099, 1) as (last,), processes(folder, 200100, 1) as (none,):
            assert begin(served, ALICE, own)
            assert begin(served, 200001, first)
            assert not begin(served, 200099, last), "a third trace of one user"
            assert begin(served, 200100, none), "this uid is another user's"


# Has a process asked for names without end, over ten connections.
ASK_FOR_NAMES = """
import socket, sys, threading
path, pid = sys.argv[1:]
with open(f"/proc/{pid}/maps") as file:
    code = [line.split("-")[0] for line in file if " r-xp " in line]
body = "+".join(f"0x{code[i % len(code)]}" for i in range(3000)).encode()
head = (f"POST /debug/pprof/symbol?pid={pid} HTTP/1.1\\r\\nHost: localhost\\r\\n"
        f"Connection: close\\r\\nContent-Length: {len(body)}\\r\\n\\r\\n").encode()
def ask():
    while True:
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(path)
            client.sendall(head + body)
            while client.recv(1 << 20):
                pass
for _ in range(10):
    threading.Thread(target=ask, daemon=True).start()
print("there", flush=True)
sys.stdin.readline()
"""


@test(need_root)
def questions_of_one_user_keep_neither_root_nor_others_out():
    with scratch() as folder, service(folder) as served, \
            processes(folder, ALICE, 1) as (alices,), processes(folder, BOB, 1) as (bobs,), \
            started(["/usr/bin/python3", "-c", ASK_FOR_NAMES, served.path, alices],
                    preexec_fn=become(ALICE, ALICE)) as asking:
        asking.lines.until("there")
        eventually(lambda: served.metric("memtraced_http_connections") > 8, "it asks")
        pages = 10 * [f"/debug/pprof/cmdline?pid={bobs}"]
        for uid in (0, BOB):
            answers = ask_as(served, "unix", *pages, uid=uid)
            assert all(answer.startswith("200 ") for answer in answers), (uid, answers)
