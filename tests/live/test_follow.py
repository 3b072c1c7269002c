# SPDX-License-Identifier: GPL-2.0-or-later
"""Processes that fork, exec and spawn: each its own process in the report, nothing missed."""

import os

from lib import (ATTACH_PATHS, PATIENCE, SERIAL_KEYS, attach_option, attached, exact, heap_sites,
                 load_report, need_long, need_probes, need_root, run_memtraced, same, same_images,
                 scaled, scratch, send_line, started, target, test, trace)

BESIDE_OTHERS = True
UNTRANSLATED = True
EACH_PATH = sorted(ATTACH_PATHS)
# The perf path pays seconds for each process that it attaches to: its tests are smaller.
FEW = {"perf"}
FORK_KEYS = tuple(key for key in SERIAL_KEYS if key not in ("peak_bytes",))


def ended_well(run):
    for process in run.report["processes"]:
        end = process["end"]
        # An image that exec replaced did not end.
        assert end is None or end["exit"] == 0, process["end"]


@test(need_root, each=EACH_PATH, every_kernel=["multi", "perf", "session"])
def blocks_held_over_a_fork_are_freed_on_both_sides(path):
    run = trace([target("forks"), str(scaled(1200, 60000))], attach_option(path))
    assert len(run.everything) == 3, run.everything.keys()
    same_images(run, FORK_KEYS)
    ended_well(run)


# Children that end at once are read while the parent frees what they share.
@test(need_root, in_turn=1, every_kernel=["40"], each=["4", "40"], timeout=3600)
def blocks_freed_by_both_sides_of_a_fork_at_once_are_counted_once(children):
    steps = scaled(100000, 100000000, 15000)
    run = trace([target("fork_storm"), children, str(steps)], timeout=3600)
    assert len(run.everything) == int(children) + 1, run.everything.keys()
    same_images(run, FORK_KEYS)


@test(need_root, each=EACH_PATH)
def nothing_is_missed_of_children_that_live_a_moment(path):
    children = 3 if path in FEW else scaled(20, 500)
    run = trace([target("forkrun"), str(children), "60"], attach_option(path), timeout=300)
    # The parent itself need not allocate.
    assert len(run.everything) >= children
    same_images(run, FORK_KEYS)


@test(need_root, each=EACH_PATH, first=["perf", "session"])
def exec_begins_a_new_process_image(path):
    run = trace([target("execs"), "leader", "3"], attach_option(path))
    same_images(run, SERIAL_KEYS)
    (images,) = run.everything.values()
    assert len(images) == 4


@test(need_root)
def a_forked_child_runs_its_parents_file():
    run = trace([target("forks"), "24"])
    assert len(run.report["processes"]) == 3, run.report["processes"]
    assert {p["exe"] for p in run.report["processes"]} == {target("forks")}


@test(need_root, each=EACH_PATH)
def exec_from_another_thread_than_the_leader_is_followed(path):
    run = trace([target("execs"), "thread", "3"], attach_option(path))
    # Main may still have been allocating when the thread replaced it.
    same_images(run)


# The first thread is a zombie when it has ended.
LAST_THREAD = """
import ctypes, os, threading, time
libc = ctypes.CDLL(None)
def last():
    libc.prctl(15, b"a worker")
    while open(f"/proc/self/task/{os.getpid()}/stat").read().rsplit(") ")[1][0] != "Z":
        time.sleep(0.01)
    os._exit(0)
threading.Thread(target=last).start()
libc.prctl(15, b"the process")
libc.pthread_exit(None)
"""


@test(need_root)
def a_process_keeps_its_name_whichever_thread_ends_last():
    run = trace(["/usr/bin/python3", "-c", LAST_THREAD])
    process, = run.report["processes"]
    assert process["comm"] == "the process", process["comm"]


# Goes on, and maps an allocator that is not mapped before.
WITHOUT_FIRST = """
import ctypes, os, sys, threading, time
libc = ctypes.CDLL(None)
def last():
    while open(f"/proc/self/task/{os.getpid()}/stat").read().rsplit(") ")[1][0] != "Z":
        time.sleep(0.01)
    time.sleep(float(sys.argv[1]))
    try:
        ctypes.CDLL("libjemalloc.so.2")
    except OSError: # it may be mapped, and not be initialized
        pass
    for _ in range(500):
        libc.malloc(54321)
    os._exit(0)
threading.Thread(target=last).start()
libc.pthread_exit(None)
"""


@test(need_root, need_probes("links"), each=EACH_PATH, in_turn=2)
def a_process_without_its_first_thread_is_counted(path):
    """From a moment on that it does not wait for, which counts as lost."""
    run = trace(["/usr/bin/python3", "-c", WITHOUT_FIRST,
                 str((3 if path in FEW else 1) * PATIENCE)],
                attach_option(path))
    process, = run.report["processes"]
    # On one stack or more: newer interpreters call in another way what they have called before.
    held = [site["live_blocks"] for site in heap_sites(process)
            if site["live_blocks"] and site["live_bytes"] == site["live_blocks"] * 54321]
    assert sum(held) == 500, (held, process["sites"])
    assert set(run.report["coverage"]["lost"]) <= {"attached-late"}, run.report["coverage"]


@test(need_root)
def a_failing_exec_changes_nothing():
    run = trace([target("execs"), "missing", "1"])
    same_images(run, SERIAL_KEYS)


@test(need_root, each=[f"{how} {path}" for how in ("vfork", "fork", "spawn", "vm")
                       for path in EACH_PATH], in_turn=2, timeout=120)
def children_of_every_kind(how_path):
    how, path = how_path.split()
    run = trace([target("children"), how, "2" if path in FEW else "5"], attach_option(path),
                timeout=120)
    # A child on its own stack in shared memory is a thread of its own to memtraced, but uses the
    # parent's thread-local "last block" when the target counts.
    same_images(run, [key for key in FORK_KEYS if how != "vm" or key != "temporary"])
    children = [int(line.split()[1]) for line in run.stdout.splitlines()]
    reported = {process["pid"] for process in run.report["processes"]}
    if how == "vm":
        assert len(reported) == 1, "processes that share their memory are one"
    else:
        assert set(children) <= reported, (children, reported)


@test(need_root)
def no_follow_leaves_children_alone():
    run = trace([target("children"), "fork", "3"], "--no-follow")
    children = {int(line.split()[1]) for line in run.stdout.splitlines()}
    exact(run.report)
    process = run.only_process()
    assert process["pid"] not in children
    same(process, run.everything[process["pid"]][0], FORK_KEYS)


@test(need_root, each=["vfork session", "spawn session", *(f"vm {path}" for path in EACH_PATH)],
      in_turn=1,
      timeout=120)
def a_child_in_its_parents_memory_is_counted_without_follow_until_its_exec(how_path):
    how, path = how_path.split()
    run = trace([target("children"), how, "2" if path in FEW else "5"], attach_option(path),
                "--no-follow", timeout=120)
    children = {int(line.split()[1]) for line in run.stdout.splitlines()}
    exact(run.report)
    process = run.only_process()
    assert process["pid"] not in children
    same(process, run.everything[process["pid"]][0],
         [key for key in FORK_KEYS if how != "vm" or key != "temporary"])


@test(need_root, each=[f"{how} {follow}" for how in ("vfork", "spawn", "vm")
                       for follow in ("--verbose", "--no-follow")], in_turn=2)
def a_child_in_its_parents_memory_that_links_cannot_see_is_a_loss(how_follow):
    how, follow = how_follow.split()
    with started([target("children"), how, "3", "wait"]) as process:
        pid = int(process.lines.until("ready"))
        with attached([pid], follow) as session:
            send_line(process)
            process.lines.until("done")
            report = session.finish()
    assert not report["coverage"]["exact"]
    lost = report["coverage"]["lost"]["child-in-shared-memory"]
    # The first one has the links shared, which see those that come later.
    assert lost == 3 or (follow == "--verbose" and lost > 0), report["coverage"]


def traced(*command):
    with scratch() as folder:
        path = os.path.join(folder, "report.json")
        done = run_memtraced("-o", f"json:{path}", "--", *command, timeout=60)
        assert done.returncode == 0, done.stderr
        return load_report(path)


@test(need_root, each=[0, 2])
def calls_in_the_memory_of_a_process_that_has_ended_are_a_loss(blocks):
    report = traced("sh", "-c", '"$0" outlive 200 "$1"; sleep 1', target("children"), str(blocks))
    assert report["coverage"]["lost"] == {"child-in-shared-memory": 5}, report["coverage"]
    assert not report["coverage"]["exact"]


# Twelve programs have the links shared, with which slots are used again. The children allocate when
# the slots of their parents have rested, and the programs that come then would have them.
OUTLIVED = """
for i in 1 2 3 4 5 6 7 8 9 10 11 12; do "$1" leaf; done
for i in 1 2 3 4 5 6 7 8; do "$1" outlive 2500; done
sleep 1; "$1" leaf; sleep 0.3
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do sleep 3 & done
wait
"""


@test(need_root, need_long, timeout=120)
def nor_are_they_counted_for_another_process():
    report = traced("sh", "-c", OUTLIVED, "sh", target("children"))
    wrong = [(process["comm"], site["bytes"]) for process in report["processes"]
             for site in process["sites"] if (site["allocs"], site["bytes"]) == (5, 5 * 55)]
    assert not wrong, wrong
    assert report["coverage"]["lost"] == {"child-in-shared-memory": 40}, report["coverage"]


@test(need_root)
def the_command_is_the_first_process():
    run = trace([target("children"), "spawn", "3"])
    first = run.report["processes"][0]
    assert first["exe"] == target("children") and first["comm"] == "children", first["exe"]
    children = {int(line.split()[1]) for line in run.stdout.splitlines()}
    assert first["pid"] not in children
