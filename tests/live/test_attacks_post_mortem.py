# SPDX-License-Identifier: GPL-2.0-or-later
"""Post-mortems are of all that is killed but memtraced itself, and nobody hides behind its name."""

import os
import shutil
import signal
import sys

import schema
from lib import (attached, eventually, memtraced, need_root, need_sampling, run, run_memtraced,
                 scratch, started, target, test)
from test_ctl import as_nobody, ctl
from test_post_mortem import post_mortems
from test_sandbox import helpers
from test_service import NOBODY, service
from test_service_growth import DENSE, Limited, once_others_leave_room

BESIDE_OTHERS = "services"
GROWS = "kept = [bytearray(1 << 20) for _ in range(20)]; print('ready', flush=True); input()"
NAMED = "open('/proc/self/comm', 'w').write('memtraced-parse');" + GROWS
# Code of a user's own in a process that executes memtraced's program file.
PRELOADED = """
#include <string.h>
#include <stdlib.h>
#include <unistd.h>
__attribute__((constructor)) static void grow(void)
{
	size_t size = 40 << 20;
	memset(malloc(size), 1, size);
	(void)!write(1, "ready\\n", 6);
	pause();
}
"""


def reported(served, pid):
    return [name for name in post_mortems(served) if f"-{pid}-" in name]


def executed(served, name):
    return schema.loads(ctl(served, "reports", name))["processes"][0]["exe"]


def is_reported(served, pid):
    """Whatever it is called: it may have changed its name after it was seen first."""
    def limited():
        return served.metric("memtraced_post_mortems_total", report="limited")
    eventually(lambda: reported(served, pid) or limited(), "it has no post-mortem")
    if not reported(served, pid):
        raise Limited


@test(need_root, need_sampling, timeout=120)
@once_others_leave_room
def memtraced_and_its_helpers_have_no_post_mortem():
    with scratch() as folder, service(folder, growth=DENSE) as served:
        recording = os.path.join(folder, "run")
        pids = set()
        # Of short runs and of one that lasts; each ends with its worker killed by its keeper.
        for _ in range(3):
            done = run_memtraced("-o", f"record:{recording}", "--", target("leak"), "50", "0")
            assert done.returncode == 0, done
        with started([target("leak"), "0"]) as leak, attached([leak.pid]) as session:
            session.next_report()
            keeper, worker = helpers(session.process.pid)
            os.kill(worker, signal.SIGKILL)
            session.next_report()
            pids |= {session.process.pid, keeper, worker, helpers(session.process.pid)[1]}
            session.process.kill()
        os.chmod(recording, 0o644)
        done = run([*as_nobody(served)[:4], memtraced(), "report", recording])
        assert done.returncode == 0, done
        # Another process that is killed last: by then the others would have been told of.
        with started([sys.executable, "-c", GROWS]) as last:
            last.lines.until("ready")
            last.kill()
            is_reported(served, last.pid)
        # Other builds of memtraced may run on this host: they are not ours.
        ours = [name for name in post_mortems(served) if executed(served, name) == memtraced()]
        assert not ours and not [pid for pid in pids if reported(served, pid)], ours
        assert served.metric("memtraced_post_mortems_total", report="own") > 0


@test(need_root, need_sampling, timeout=120)
@once_others_leave_room
def a_process_that_calls_itself_memtraced_has_a_post_mortem():
    with scratch() as folder, service(folder, growth=DENSE) as served:
        program = os.path.join(folder, "memtraced")
        shutil.copy(sys.executable, program)
        os.chmod(program, 0o755)
        nobody = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
        env = dict(os.environ, PYTHONHOME=sys.prefix)
        for command in ([sys.executable, "-c", NAMED], [program, "-c", GROWS],
                        [*nobody, program, "-c", GROWS]):
            with started(command, env=env) as process:
                process.lines.until("ready")
                process.kill()
                is_reported(served, process.pid)


@test(need_root, need_sampling, timeout=120)
@once_others_leave_room
def a_user_who_runs_his_code_in_memtraceds_program_has_a_post_mortem():
    with scratch() as folder, service(folder, growth=DENSE) as served:
        library = os.path.join(folder, "evil.so")
        done = run(["gcc", "-shared", "-fPIC", "-x", "c", "-", "-o", library], input=PRELOADED)
        assert done.returncode == 0, done
        os.chmod(library, 0o755)
        program = memtraced()
        with started(["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "env",
                      f"LD_PRELOAD={library}", program]) as process:
            process.lines.until("ready")
            process.kill()
            is_reported(served, process.pid)
