# SPDX-License-Identifier: GPL-2.0-or-later
"""Stacks at which something begins: threads, processes, images, functions that are bound late."""

import os

from lib import load_report, need_root, run_memtraced, scratch, target, test
from test_unwind import need_x86_64

BESIDE_OTHERS = True
UNTRANSLATED = True
KERNEL = "[kernel.kallsyms]"
STARTERS = {
    "clone3": (["spin", "1"], 1, ["pthread_create", "main"]),
    "clone": (["children", "vm", "3"], 3, ["by_clone", "run", "main"]),
    "vfork": (["children", "vfork", "3"], 3, ["by_vfork", "run", "main"]),
}


def events_of(command, *options):
    with scratch() as folder:
        done = run_memtraced(*options, "-o", f"json:{folder}/json", "--", *command)
        assert done.returncode == 0, done.stderr
        return load_report(f"{folder}/json", allocations=False)


def functions(stack):
    return [(frame["function"] or "").split("@")[0] for frame in stack["frames"]]


@test(need_root, need_x86_64, each=STARTERS, in_turn=1, every_kernel=["clone3"])
def who_makes_threads_and_processes_is_known_to_its_start(call):
    (name, *words), times, path = STARTERS[call]
    report = events_of([target(name), *words], "-e", call)
    stacks = [stack for stack in report["events"][0]["stacks"] if "main" in functions(stack)]
    assert sum(stack["count"] for stack in stacks) == times, report["events"]
    for stack in stacks:
        assert [f for f in functions(stack) if f in path] == path, functions(stack)
    assert report["coverage"]["all_stacks_complete"], report["coverage"]


# The first comes when the memory of before is gone, the other when all is there to begin.
@test(need_root, each=["task:task_rename", "sched:sched_process_exec"], in_turn=1,
      every_kernel=["task:task_rename"])
def inside_an_exec_there_is_only_the_kernel(event):
    report = events_of([target("execs"), "leader", "3"], "-e", event, "--kernel")
    stacks = [stack for stack in report["events"][0]["stacks"]
              if "bprm_execve" in functions(stack)]
    # of execs, which begins anew three times
    assert sum(stack["count"] for stack in stacks) >= 3, report["events"]
    for stack in stacks:
        assert {frame["object"] for frame in stack["frames"]} == {KERNEL}, functions(stack)
    assert report["coverage"]["all_stacks_complete"], report["coverage"]


# The loader tells of each function that it looks up at its first call: its writev is below the
# frame that is found by rbx. It also looks some up before the program runs.
@test(need_root, need_x86_64, every_kernel=True)
def stacks_go_on_behind_what_binds_a_function_at_its_first_call():
    report = events_of(["env", "LD_DEBUG=bindings", target("spin"), "1"], "-e", "writev")
    objects = [[os.path.basename(frame["object"] or "") for frame in stack["frames"]]
               for stack in report["events"][0]["stacks"]]
    assert all(names[0].startswith("ld-linux") for names in objects), objects
    assert any(not names[-2].startswith("ld-linux") for names in objects), objects
    assert report["coverage"]["all_stacks_complete"], report["coverage"]
