# SPDX-License-Identifier: GPL-2.0-or-later
"""How fast a service answers root, whatever else it does; for that it answers /healthz."""

import contextlib
import subprocess
import sys

from lib import started

# Asked for by the issue that these tests are of: root's /healthz is answered within so many
# seconds.
HEALTH_SECONDS = 0.1

# Root's /healthz until its input ends: how long each answer took, in seconds, without the time for
# which the asking process, which comes before all without a deadline, had to wait for a CPU itself;
# negative where the hypervisor ran something else meanwhile (steal of proc(5)'s stat).
HEALTH = """
import os, select, socket, sys, time
def waited():
    with open("/proc/thread-self/schedstat") as file:
        return int(file.read().split()[1]) / 1e9
def stolen():
    with open("/proc/stat") as file:
        return int(file.readline().split()[8])
os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
answers = []
before = stolen()
while not select.select([sys.stdin], [], [], 0.02)[0]:
    begun = time.monotonic() - waited()
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(30)
        client.connect(sys.argv[1])
        client.sendall(b"GET /healthz HTTP/1.1\\r\\nHost: localhost\\r\\n"
                       b"Connection: close\\r\\n\\r\\n")
        answer = b""
        while data := client.recv(4096):
            answer += data
    took = time.monotonic() - waited() - begun
    assert b" 200 " in answer and b"ok" in answer, answer
    after = stolen()
    answers.append(took if after == before else -took)
    before = after
print(*answers, sep="\\n")
"""


@contextlib.contextmanager
def health(served):
    """Gives a function that ends it, and says how long the answers took, ascending, and how many
    are left out, as a CPU was the hypervisor's meanwhile."""
    with started([sys.executable, "-c", HEALTH, served.path], stderr=subprocess.PIPE) as process:
        def finish():
            out, errors = process.communicate(b"\n", timeout=60)
            assert process.returncode == 0, errors.decode()
            took = [float(word) for word in out.split()]
            kept = sorted(seconds for seconds in took if seconds >= 0)
            return kept, len(took) - len(kept)
        yield finish
