# SPDX-License-Identifier: GPL-2.0-or-later
"""--leak-check: what memcheck says of the same programs, to the byte; when it takes place; what is
said, written and returned; and that targets go on whatever becomes of us."""

import fcntl
import glob
import os
import re
import select
import signal
import subprocess
import time

from leaks import KINDS, checked, leaker, memcheck, memcheck_variables, read_sums, records
from lib import (PATIENCE, Skip, eventually, heap_sites, memtraced, need_long, need_program,
                 need_root, run, run_memtraced, schema, scratch, send_line, started, target, test,
                 without)

BESIDE_OTHERS = True
TRANSLATES = True
F_SETPIPE_SZ = 1031  # fcntl.F_SETPIPE_SZ is of Python 3.10
PIPE_BYTES = 4096
# In make check; in make check-long all of tests/targets/leaks.
QUICK = ("list_lost", "shapes", "cycle_tail", "header_words", "threads_gone", "tls", "mapped",
         "exits_deep", "bases", "new_array", "arena_words", "freed_words", "pool_told",
         "stack_words", "handler_words", "sbrk_words", "sbrk_left", "red_zone", "mempools")

# What memcheck has the libraries free before it counts (--run-libc-freeres, --run-cxx-freeres). We
# cannot: it is suppressed, by the entries of user/analyze/suppressions.c.
FREED_BY_MEMCHECK = """
what memcheck frees before it counts      bytes         by
libstdc++'s room for exceptions           72,704        every program with libstdc++
buffers of standard output                1,024, 4,096  programs that write to it
lists of ld.so, for finding code          2,304 each    programs that use dlopen
ld.so's list of what an object needs      24 and more   programs that use dlopen
the environment                           as it is      programs that use setenv or putenv
"""

def all_leakers():
    folder = leaker("")
    return sorted(name for name in os.listdir(folder)
                  if not name.startswith("lib") and
                  name not in ("on_line", "executes", "first_ends"))


def compare(name):
    """The sums of both tools, with and without what the libraries hold; and whether they agree."""
    command = [leaker(name)]
    ours = read_sums(checked(command, *memcheck_variables()))
    theirs = read_sums(memcheck(command))
    all_ours = read_sums(checked(command, *memcheck_variables(), "--default-suppressions=no"))
    all_theirs = read_sums(memcheck(command, "--run-libc-freeres=no", "--run-cxx-freeres=no"))
    agree = ours.lost_and_held() == theirs.lost_and_held()
    all_agree = all_ours.lost_and_held() == all_theirs.lost_and_held()
    return agree and all_agree, (ours, theirs, all_ours, all_theirs)


def table(rows):
    print("# bytes/blocks: definitely lost, indirectly lost, possibly lost, still reachable")
    for name, agree, (ours, theirs, all_ours, all_theirs) in rows:
        print(f"# {name:16} {'same ' if agree else 'OTHER'} memcheck  {theirs}\n"
              f"# {'':22} memtraced {ours}\n"
              f"# {'':22} nothing freed: memcheck  {all_theirs}\n"
              f"# {'':22} nothing freed: memtraced {all_ours}", flush=True)


@test(need_root, need_program("valgrind"), each=QUICK, in_turn=3, timeout=120)
def the_sums_are_memchecks(name):
    agree, sums = compare(name)
    table([(name, agree, sums)])
    assert agree, f"{name}: {[str(s) for s in sums]}"


@test(need_root, need_program("valgrind"), need_long, timeout=120)
def the_sums_of_all_programs_are_memchecks():
    rows = []
    for name in all_leakers():
        agree, sums = compare(name)
        rows.append((name, agree, sums))
    table(rows)
    for line in FREED_BY_MEMCHECK.strip().splitlines():
        print("# " + line)
    assert len(rows) >= 40, f"only {len(rows)} programs"
    wrong = [name for name, agree, _ in rows if not agree]
    assert not wrong, f"other sums than memcheck's: {wrong}"


@test(need_root, need_program("valgrind"))
def the_records_are_memchecks_in_its_order():
    """Sizes, kinds, places and order; the innermost frame is the allocator's own here, and
    memcheck's there."""
    command = [leaker("objects")]
    ours = records(checked(command, "--show-leak-kinds=all"))
    theirs = records(memcheck(command, "--show-leak-kinds=all"))
    assert len(ours) > 5, ours
    assert ours == theirs, f"ours: {ours}\nmemcheck: {theirs}"


@test(need_root, each=("static", "static-pie"), in_turn=1)
def what_is_linked_statically_loses_what_it_does_with_shared_libraries(how):
    """memcheck does not see its allocator. What libc holds in pages that it has protected since is
    not lost, but of it are the blocks that it allocates before main."""
    options = ("--show-leak-kinds=all", "--default-suppressions=no")
    text = checked([target(f"shapes-{how}")], *options)
    sums, shared = read_sums(text), read_sums(checked([leaker("shapes")], *options))
    for kind in KINDS[:3]:
        assert sums[kind] == shared[kind], (kind, text)
    start = [(size, blocks) for _, size, _, blocks, kind, functions in records(text)
             if kind == "still reachable" and "main" not in functions]
    assert start, text
    more = tuple(map(sum, zip(*start)))
    held = shared["still reachable"]
    assert sums["still reachable"] == (held[0] + more[0], held[1] + more[1]), text


@test(need_root)
def a_summary_has_no_records_and_no_errors():
    text = checked([leaker("shapes")], "--leak-check=summary")
    assert "definitely lost: 48 bytes in 3 blocks" in text, text
    assert "Rerun with --leak-check=full" in text, text
    assert not records(text), text
    assert "ERROR SUMMARY: 0 errors from 0 contexts" in text, text


@test(need_root)
def text_goes_to_stderr_and_the_status_tells_of_errors():
    done = run_memtraced("--leak-check=full", "--", leaker("shapes"))
    assert done.returncode == 0, done.returncode
    assert done.stdout == "", done.stdout
    assert "definitely lost: 48 bytes in 3 blocks" in done.stderr, done.stderr
    assert re.search(r"^==\d+== ERROR SUMMARY: [1-9]", done.stderr, re.M), done.stderr
    done = run_memtraced("--leak-check=full", "--error-exitcode=33", "--", leaker("shapes"))
    assert done.returncode == 33, done.returncode
    done = run_memtraced("--leak-check=full", "--error-exitcode=33", "--errors-for-leak-kinds=none",
                         "--", leaker("shapes"))
    assert done.returncode == 0, done.returncode
    done = run_memtraced("--leak-check=full", "--", leaker("aborts"))
    assert done.returncode == 128 + signal.SIGABRT, done.returncode


@test(need_root)
def json_has_the_sums_and_the_class_of_each_site():
    with scratch() as folder:
        path = os.path.join(folder, "report.json")
        done = run_memtraced("--leak-check=full", "-o", f"json:{path}", "--", leaker("shapes"))
        assert done.returncode == 0, done.stderr
        with open(path, encoding="utf-8") as file:
            report = schema.load(file)
        schema.check(report)
    process = report["processes"][0]
    sums = {kind: (process["leaks"][kind]["bytes"], process["leaks"][kind]["blocks"])
            for kind in ("definite", "indirect", "possible", "reachable", "suppressed")}
    assert sums == {"definite": (48, 3), "indirect": (32, 2), "possible": (96, 6),
                    "reachable": (64, 4), "suppressed": (0, 0)}, sums
    assert process["leaks"]["complete"] and process["leaks"]["all_blocks_known"], process["leaks"]
    # each call on a line of its own, so each site has blocks of one class
    for kind in ("definite", "indirect", "possible", "reachable"):
        sites = [site for site in heap_sites(process) if site["leak"] == kind]
        assert sum(site["live_blocks"] for site in sites) == sums[kind][1], (kind, sites)


@test(need_root)
def log_files_have_the_pid_of_each_process():
    with scratch() as folder:
        script = f"{leaker('shapes')}; {leaker('list_lost')}; exit 4"
        done = run_memtraced("--leak-check=full", f"--log-file={folder}/leaks.%p", "--", "/bin/sh",
                             "-c", script)
        assert done.returncode == 4, done
        assert "HEAP SUMMARY" not in done.stderr, done.stderr
        texts = {}
        for name in os.listdir(folder):
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                text = file.read()
            pid = name.split(".")[1]
            assert set(re.findall(r"^==(\d+)==", text, re.M)) == {pid}, text
            texts[pid] = text
        found = [[read_sums(text)[kind] for kind in KINDS[:2]] for text in texts.values()]
        assert [(48, 3), (32, 2)] in found, found
        assert [(24, 1), (456, 19)] in found, found


def asked(process, log, count):
    """Sends SIGUSR1 and waits for that many checks in the log."""
    process.send_signal(signal.SIGUSR1)
    for _ in range(600):
        if os.path.exists(log):
            with open(log, encoding="utf-8") as file:
                text = file.read()
            if text.count("HEAP SUMMARY") >= count:
                return text
        time.sleep(0.05)
    raise AssertionError(f"no check number {count} in 30 s")


@test(need_root, need_program("valgrind"), each=("return", "exit", "exec", "alone"), in_turn=1,
      timeout=60)
def what_goes_on_without_its_first_thread_is_checked_where_it_ends(how):
    command = [leaker("first_ends"), how]
    text = checked(command, *memcheck_variables())
    ours = read_sums("HEAP SUMMARY:" + checks_of(text)[0])
    # memcheck looks at what goes on after an exec alone
    theirs = read_sums(memcheck([command[0], "exit" if how == "exec" else how]))
    assert ours.lost_and_held() == theirs.lost_and_held(), (str(ours), str(theirs))


def wait_attached(tracer, program):
    """Until a thread of the program is held, which comes after the probes."""
    for _ in range(400 * PATIENCE):
        for path in glob.glob(f"/proc/{program.pid}/task/*/status"):
            with open(path, encoding="utf-8") as file:
                if re.search(r"^TracerPid:\t[1-9]", file.read(), re.M):
                    return
        assert tracer.poll() is None, "memtraced has ended"
        time.sleep(0.05)
    raise AssertionError(f"not attached in {20 * PATIENCE} s")


def checks_of(text):
    """The text of each check, in order."""
    return text.split("HEAP SUMMARY:")[1:]


@test(need_root, each=("", "cookies"), first=[""], in_turn=1)
def a_process_is_checked_before_it_executes_another_program(lacks):
    with without(lacks or None):
        text = checked([leaker("executes")])
    assert "note: it is about to execute another program" in text, text
    sums = [read_sums("HEAP SUMMARY:" + check) for check in checks_of(text)]
    lost = [(check["definitely lost"], check["still reachable"]) for check in sums]
    assert lost == [((33, 1), (44, 1)), ((55, 1), (0, 0))], text


@test(need_root, each=("exit", "exec", "function"), in_turn=1)
def what_is_left_where_a_function_begins_is_not_held(where):
    """Below the stack pointer, and in registers that a call does not pass on."""
    options = ("--leak-check-at=looked_at",) if where == "function" else ()
    words = ("exec",) if where == "exec" else ()
    text = checked([leaker("red_zone"), *words], *options)
    sums = read_sums("HEAP SUMMARY:" + checks_of(text)[0])
    assert sums["definitely lost"] == (777 + 9, 2), text


@test(need_root)
def a_process_is_checked_before_a_function_that_is_named():
    """puts: it is called once at the start, and for each line."""
    with scratch() as folder:
        path = os.path.join(folder, "log")
        done = run([memtraced(), "--leak-check=full", "--leak-check-at=puts", f"--log-file={path}",
                    "--", leaker("on_line")], input="\n\n\n")
        assert done.returncode == 0, done.stderr
        with open(path, encoding="utf-8") as file:
            text = file.read()
    sums = [read_sums("HEAP SUMMARY:" + check) for check in checks_of(text)]
    lost = [(check["definitely lost"], check["still reachable"]) for check in sums]
    assert lost == [((100 * n, n), (70 * n, n)) for n in (0, 1, 2, 3, 3)], text
    used = re.findall(r"total heap usage: (\d+) allocs", text)
    assert used == ["0", "2", "4", "6", "6"], text
    done = run_memtraced("--leak-check=full", "--leak-check-at=no_such_function", "--",
                         leaker("on_line"))
    assert "no_such_function" in done.stderr, done.stderr


@test(need_root, timeout=90)
def a_target_goes_on_when_memtraced_is_killed():
    with started([leaker("on_line")]) as program:
        program.lines.until("ready")
        for _ in range(5):
            with started([memtraced(), "-p", str(program.pid), "--leak-check=full", "-i", "0.05",
                          "--log-file=/dev/null"]) as tracer:
                wait_attached(tracer, program)
                time.sleep(0.3)
                tracer.kill()
                tracer.wait()
            send_line(program)
            program.lines.until("done")
        program.stdin.close()
        assert program.wait(30) == 0


@test(need_root)
def a_process_that_was_killed_is_said_not_to_be_checked():
    with started([memtraced(), "--leak-check=full", "--", leaker("on_line")],
                 stderr=subprocess.PIPE) as tracer:
        tracer.lines.until("ready")
        send_line(tracer)
        tracer.lines.until("done")
        pid = int(run(["pgrep", "-P", str(tracer.pid), "on_line"]).stdout)
        os.kill(pid, signal.SIGKILL)
        said = tracer.stderr.read().decode()
        assert tracer.wait(30) == 128 + signal.SIGKILL
    assert f"process {pid} (on_line) ended before it could be checked" in said or \
        "definitely lost: 100 bytes in 1 blocks" in said, said


@test(need_root, need_program("gdb"))
def a_process_under_a_debugger_is_said_not_to_be_checked():
    with started([leaker("on_line")]) as program:
        program.lines.until("ready")
        with started(["gdb", "-q", "-batch", "-p", str(program.pid), "-ex", "continue"]) as gdb:
            wait_attached(gdb, program)
            done = run_memtraced("-p", str(program.pid), "--leak-check=full", "-d", "1")
            assert "debugger" in done.stderr, done.stderr
            assert "HEAP SUMMARY" not in done.stderr, done.stderr
            assert done.returncode == 0, done


@test(need_root, each=("", "--error-exitcode=9"), in_turn=1)
def a_check_that_was_not_made_is_no_check_without_errors(option):
    """Of 100,000 blocks it takes longer than a millisecond to know which they are."""
    done = run_memtraced("--leak-check=full", "--max-stop=1", *option.split(), "--",
                         leaker("many"))
    assert "no leak check: --max-stop expired before" in done.stderr, done.stderr
    # the table of places, and the blocks but for those that were not lost
    assert re.search(r"note: it ended before it could be checked, so there is no leak check: "
                     r"[\d,]+ bytes in 100,001 blocks were in use", done.stderr), done.stderr
    assert "HEAP SUMMARY" not in done.stderr, done.stderr
    assert "ERROR SUMMARY: 0 errors from 0 contexts" in done.stderr, done.stderr
    assert done.returncode == (2 if option else 0), done.returncode


@test(need_root)
def what_was_read_at_the_attach_is_checked_like_the_rest():
    """A block of 100 bytes is lost, one of 70 kept, before the attach and after it."""
    with scratch() as folder, started([leaker("on_line")]) as program:
        log = os.path.join(folder, "log")
        program.lines.until("ready")
        send_line(program)
        program.lines.until("done")
        with started([memtraced(), "-p", str(program.pid), "--existing", "--leak-check=full",
                      f"--log-file={log}", "-f", "json", "-i", "1000"]) as tracer:
            wait_attached(tracer, program)
            send_line(program)
            program.lines.until("done")
            text = asked(tracer, log, 1)
            program.stdin.close()
            assert program.wait(30) == 0 and tracer.wait(30) == 0
    assert "blocks from before the attach are not known" not in text, text
    assert "note: blocks from before the attach have the sizes that can be used" in text, text
    # glibc's malloc(100) has 104 bytes that can be used (malloc_usable_size)
    assert read_sums(text)["definitely lost"] == (104 + 100, 2), text


@test(need_root, need_program("valgrind"))
def words_that_were_never_set_hold_blocks_unless_glibc_overwrites_them():
    """memcheck knows which words were set."""
    command = [target("stale_words")]
    perturb = "--env=GLIBC_TUNABLES=glibc.malloc.perturb=165:glibc.malloc.tcache_count=0"
    sums = [read_sums(text)["definitely lost"]
            for text in (memcheck(command), checked(command, perturb), checked(command))]
    assert sums == [(777, 1), (777, 1), (0, 0)], sums


def allocator_library(name):
    (library, *_) = sorted(glob.glob(f"/usr/lib/*/lib{name}.so.*")) or [None]
    if not library:
        raise Skip(f"{name} is not installed")
    return library


@test(need_root, each=("arrays", "hash", "large_lost", "lists", "many", "mapped", "shapes"),
      in_turn=2)
def what_jemalloc_keeps_for_itself_holds_nothing(name):
    """It has a record of each large block and slab, and caches with addresses that nobody has
    written over since: none of these is the program's."""
    text = checked([leaker(name)], f"--env=LD_PRELOAD={allocator_library('jemalloc')}")
    sums, without = read_sums(text), read_sums(checked([leaker(name)]))
    # libstdc++ comes with it, and what that keeps for exceptions.
    for key in ("in use", "suppressed"):
        del sums[key], without[key]
    assert sums == without, text
    assert "blocks are jemalloc's" not in text, text


@test(need_root, each=("tcmalloc_minimal", "mimalloc"), in_turn=1)
def allocators_that_leave_addresses_in_blocks_are_said(name):
    """In the first word of a block, of the next free one. So of large ones none is held."""
    text = checked([leaker("large_lost")], f"--env=LD_PRELOAD={allocator_library(name)}")
    noted = re.findall(r"note: ([\d,]+) blocks are (\w+)'s, which hands them out with addr", text)
    assert noted and int(noted[0][0]) >= 20 and name.startswith(noted[0][1]), text
    assert re.search(r"800,000 bytes in 20 blocks are definitely lost", text), text


@test(need_root, each=("jemalloc", "tcmalloc_minimal", "mimalloc"), in_turn=1)
def a_programs_own_memory_by_brk_holds_blocks_of_any_allocator(name):
    """Two have none by brk themselves, tcmalloc has some between the program's. It loses a block of
    8 bytes of its own, and holds one."""
    text = checked([leaker("sbrk_words")], f"--env=LD_PRELOAD={allocator_library(name)}")
    sums, without = read_sums(text), read_sums(checked([leaker("sbrk_words")]))
    own = {"tcmalloc_minimal": (8, 1)}.get(name, (0, 0))
    lost, held = sums["definitely lost"], sums["still reachable"]
    assert (lost[0] - own[0], lost[1] - own[1]) == without["definitely lost"] == (555, 1), text
    assert held[0] - 2 * own[0] == without["still reachable"][0], text


@test(need_root)
def what_jemalloc_had_mapped_before_the_attach_is_said():
    with scratch() as folder, \
            started([leaker("on_line")],
                    env=dict(os.environ, LD_PRELOAD=allocator_library("jemalloc"))) as program:
        log = os.path.join(folder, "log")
        program.lines.until("ready")
        with started([memtraced(), "-p", str(program.pid), "--leak-check=full",
                      f"--log-file={log}", "-f", "json", "-i", "1000"]) as tracer:
            wait_attached(tracer, program)
            send_line(program)
            program.lines.until("done")
            text = asked(tracer, log, 1)
            program.stdin.close()
            assert program.wait(30) == 0 and tracer.wait(30) == 0
    assert re.search(r"note: 2 blocks are jemalloc's, whose own data may hold", text), text


@test(need_root)
def suppressions_are_used_counted_and_refused_with_their_line():
    with scratch() as folder:
        path = os.path.join(folder, "mine.supp")
        with open(path, "w", encoding="utf-8") as file:
            file.write("{\n   of shapes\n   Memcheck:Leak\n   match-leak-kinds: definite\n"
                       "   fun:calloc\n   fun:block\n   fun:lose\n}\n")
        text = checked([leaker("shapes")], f"--suppressions={path}")
        sums = read_sums(text)
        assert sums["definitely lost"] == (0, 0), text
        assert sums["suppressed"] == (48, 3), text
        assert re.search(r"used_suppression: +\d+ of shapes \S*mine\.supp:2 suppressed: 48 bytes "
                         r"in 3 blocks", text), text
        with open(path, "a", encoding="utf-8") as file:
            file.write("{\n   broken\n   Memcheck:Leak\n   fum:main\n}\n")
        done = run_memtraced("--leak-check=full", f"--suppressions={path}", "--", "/bin/true")
        assert done.returncode == 1, done
        assert f"{path}:12: " in done.stderr, done.stderr
        done = run_memtraced("--leak-check=full", "--suppressions=/nonexistent", "--", "/bin/true")
        assert done.returncode == 2 and "/nonexistent" in done.stderr, done


@test(need_root, need_program("valgrind"), each=("objects", "maps"), in_turn=1, timeout=90)
def generated_suppressions_are_read_by_both(name):
    """What is made from all records leaves no record, in valgrind as here."""
    text = checked([leaker(name)], "--gen-suppressions=all", "--show-leak-kinds=all")
    entries = re.findall(r"^\{$.*?^\}$", text, re.M | re.S)
    assert len(entries) == len(records(text)) > 2, text
    with scratch() as folder:
        path = os.path.join(folder, "made.supp")
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join(entries) + "\n")
        for again in (checked([leaker(name)], f"--suppressions={path}", "--show-leak-kinds=all"),
                      memcheck([leaker(name)], f"--suppressions={path}", "--show-leak-kinds=all")):
            assert not records(again), again
            assert read_sums(again)["suppressed"] != (0, 0), again
            assert "ERROR SUMMARY: 0 errors" in again, again


@test(need_root)
def a_checked_process_runs_on_while_nobody_reads_the_report():
    """A pipe that is full holds nothing up."""
    with started([target("waves")]) as process:
        pid = process.lines.until("ready ")
        read_fd, write_fd = os.pipe()
        fcntl.fcntl(write_fd, F_SETPIPE_SZ, PIPE_BYTES)
        with started([memtraced(), "-q", "-p", pid, "--leak-check=summary", "-i", "0.2", "-f",
                      "json"], stdin=subprocess.DEVNULL, stdout=write_fd) as tracer:
            eventually(lambda: is_full(write_fd), "it writes no report")
            for _ in range(3):
                send_line(process, "keep 10 100")
                process.lines.until("done ", timeout=10)
            tracer.kill()
            os.close(write_fd)
            os.close(read_fd)


def is_full(pipe_fd):
    return not select.select([], [pipe_fd], [], 0)[1]
