# SPDX-License-Identifier: GPL-2.0-or-later
"""How fast a service answers root, whatever else it does; for that it answers /healthz."""

import contextlib
import subprocess
import sys

from lib import started

# Asked for by the issue that these tests are of: root's /healthz is answered within so many
# seconds.
HEALTH_SECONDS = 0.1

# Root's /healthz until its input ends, by a process that need not wait for a CPU itself: how long
# each answer took, in seconds; negative where a CPU stood still meanwhile, as that of a shared
# machine does. (Threads that wake up before all others, each on a CPU of its own, came too late.)
HEALTH = """
import os, select, socket, sys, threading, time
LATE = 0.02
stills = []
def watch(cpu):
    os.sched_setaffinity(0, {cpu})
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    while True:
        due = time.monotonic() + 0.005
        time.sleep(0.005)
        now = time.monotonic()
        if now > due + LATE:
            stills.append((due, now))
os.nice(-20)
for cpu in os.sched_getaffinity(0):
    threading.Thread(target=watch, args=(cpu,), daemon=True).start()
answers = []
while not select.select([sys.stdin], [], [], 0.02)[0]:
    begun = time.monotonic()
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(30)
        client.connect(sys.argv[1])
        client.sendall(b"GET /healthz HTTP/1.1\\r\\nHost: localhost\\r\\n"
                       b"Connection: close\\r\\n\\r\\n")
        answer = b""
        while data := client.recv(4096):
            answer += data
    assert b" 200 " in answer and b"ok" in answer, answer
    answers.append((begun, time.monotonic()))
time.sleep(0.1)
for begun, end in answers:
    still = any(due < end and begun < now for due, now in stills)
    print(begun - end if still else end - begun)
"""


@contextlib.contextmanager
def health(served):
    """Gives a function that ends it, and says how long the answers took, ascending, and how many
    are left out, as a CPU stood still meanwhile."""
    with started([sys.executable, "-c", HEALTH, served.path], stderr=subprocess.PIPE) as process:
        def finish():
            out, errors = process.communicate(b"\n", timeout=60)
            assert process.returncode == 0, errors.decode()
            took = [float(word) for word in out.split()]
            kept = sorted(seconds for seconds in took if seconds >= 0)
            return kept, len(took) - len(kept)
        yield finish
