# SPDX-License-Identifier: GPL-2.0-or-later
"""Processes whose memory nobody sees, as no allocator is found in them: reports say so of each, by
process and file, and nothing else is taken for one."""

import os
import shutil
import signal
import subprocess
import time

import schema
from cgroups import cgroup, move
from lib import (attached, eventually, need_program, need_root, process_state, run, run_memtraced,
                 scaled, scratch, send_line, started, target, test, trace)
from test_host import known, program_32, run_counted, tracing

BESIDE_OTHERS = True
CAUSE = "no-allocator-found"


def unseen(report):
    """{file: why} of what was not probed for want of an allocator."""
    return {u["object"]: u["why"] for u in report["coverage"]["unprobed"]
            if u["function"] == "any allocator"}


def check_unseen(report, path, name, n=1):
    coverage = report["coverage"]
    assert not coverage["exact"] and coverage["lost"].get(CAUSE) == n, coverage
    assert name in unseen(report)[path], coverage


@test(need_root, every_kernel=True)
def a_static_program_without_symbols_is_not_exact():
    program = target("static-stripped")
    for words in ([program, "5"], ["sh", "-c", f"{program} 5; exec {program} 5"]):
        run_ = trace(words, "-q", library=None)
        check_unseen(run_.report, program, "(static-stripped)", 1 if words[0] == program else 2)
        assert "no allocator" not in run_.stderr, "-q says nothing"


@test(need_root)
def every_format_with_a_coverage_has_it():
    program = target("static-stripped")
    with scratch() as folder:
        files = {form: os.path.join(folder, form)
                 for form in ("table", "prometheus", "record")}
        outputs = [word for form, path in files.items() for word in ("-o", f"{form}:{path}")]
        done = run_memtraced("-q", *outputs, "--", program, "5")
        assert done.returncode == 0, done.stderr
        replayed = run_memtraced("report", files["record"]).stdout
        said = {form: open(path, encoding="utf-8").read() for form, path in files.items()
                if form != "record"}
    for text in (said["table"], replayed):
        assert f"NOT EXACT: 1 lost ({CAUSE} 1)" in text, text
        assert f"not probed: any allocator in {program}: process" in " ".join(text.split()), text
    line = f'memtraced_lost_events_total{{cause="{CAUSE}"}} 1'
    assert line in said["prometheus"], said["prometheus"]


@test(need_root, need_program("go"), timeout=300)
def a_program_of_go_has_no_allocator_that_is_known():
    with scratch() as folder:
        source, program = os.path.join(folder, "main.go"), os.path.join(folder, "of-go")
        with open(source, "w", encoding="ascii") as file:
            file.write("package main\nfunc main() { println(len(make([]int, 100000))) }\n")
        done = run(["go", "build", "-o", program, source], timeout=240,
                   env=dict(os.environ, HOME=folder, GO111MODULE="off", CGO_ENABLED="0"))
        assert done.returncode == 0, done.stderr
        run_ = trace([program], library=None)
        check_unseen(run_.report, program, "(of-go)")
        assert run_.stderr.count("no allocator found in anything") == 1, run_.stderr


@test(need_root, need_program("gcc"), timeout=120)
def a_program_for_32_bits_is_named_with_its_process():
    with scratch() as folder, program_32(folder) as (path, process):
        process.kill()
        with started(["sh", "-c", f"read x; exec {path}"]) as shell:
            with attached([shell.pid], "-q") as session:
                assert session.latest["coverage"]["exact"], session.latest["coverage"]
                send_line(shell)
                while not (report := session.next_report())["coverage"]["unprobed"]:
                    pass
                shell.kill()
                report = session.finish(None)
    check_unseen(report, path, "(odd-32-bit)")


@test(need_root)
def what_a_process_executes_late_is_looked_at_too():
    program = target("noheap")
    with started(["sh", "-c", f"read x; exec {program}"]) as shell:
        with attached([shell.pid], "-q") as session:
            assert session.latest["coverage"]["exact"], session.latest["coverage"]
            send_line(shell)
            while not (report := session.next_report())["coverage"]["unprobed"]:
                pass
            send_line(shell)
            report = session.finish(None)
    check_unseen(report, program, "(noheap)")


@test(need_root)
def what_has_ended_before_it_could_be_looked_at_is_not_exact():
    """A process that nobody has waited for has a list of mappings, which is empty."""
    with started(["sh", "-c", f"read x; exec {target('static-stripped')} 5"]) as shell:
        with attached([shell.pid]) as session:
            session.process.send_signal(signal.SIGSTOP)
            eventually(lambda: process_state(session.process.pid)[0] == "T", "a stop")
            send_line(shell)
            eventually(lambda: process_state(shell.pid)[0] == "Z", "an end")
            session.process.send_signal(signal.SIGCONT)
            report = session.finish(None)
    assert report["coverage"]["lost"]["attached-late"] == 1, report["coverage"]
    assert not report["coverage"]["exact"], report["coverage"]


@test(need_root, timeout=240)
def of_a_host_each_such_process_is_one_and_no_other():
    """They end before anybody can look at them in /proc; shells beside them are none."""
    n = scaled(50, 500)
    script = "read x; i=0; while [ $i -lt $1 ]; do echo | $0; /bin/true; (:); i=$((i + 1)); done"
    with scratch() as folder, cgroup() as (path, _):
        program = os.path.join(folder, "in-no-symbols")
        shutil.copy(target("noheap"), program)
        with started([program]) as first:
            first.lines.until("ready")
            move(first.pid, path)
            with tracing(f"--cgroup={path}") as wide, \
                    started(["sh", "-c", script, program, str(n)]) as shell:
                move(shell.pid, path)
                send_line(shell)
                assert shell.wait(240) == 0
                report = wide.finish()
    check_unseen(report, program, "(in-no-symbols)", n + 1)


@test(need_root, timeout=240)
def what_is_killed_while_it_is_being_loaded_had_no_allocator_yet():
    with scratch() as folder, cgroup() as (path, _):
        program = os.path.join(folder, "in-a-storm")
        shutil.copy(target("forkrun"), program)
        with tracing("--comm=in-a-storm") as wide:
            known(wide, [program, "2", "60"])
            for i in range(scaled(60, 600)):
                with started([program, "1", "60"], stdout=subprocess.DEVNULL) as process:
                    time.sleep(i % 20 / 10000)
                    process.kill()
            run_counted([program, "2", "60"])
            report = wide.finish()
    assert CAUSE not in report["coverage"]["lost"], report["coverage"]
    assert not unseen(report), report["coverage"]


SLOW_LINKER = r"""
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
struct link_map { uintptr_t addr; const char *name; };
unsigned int la_version(unsigned int version) { return version; }
unsigned int la_objopen(struct link_map *map, long lmid, uintptr_t *cookie)
{
	static const struct timespec second = { 1, 0 };
	const char *at = map->name, *want = "libfirst.so";
	(void)lmid, (void)cookie;
	for (; *at; at++) {
		int i = 0;
		while (want[i] && at[i] == want[i])
			i++;
		if (!want[i])
			(void)RAW_SYSCALL3(SYS_nanosleep, (long)&second, 0, 0);
	}
	return 0;
}
"""


@test(need_root, need_program("gcc"))
def a_program_that_is_being_loaded_is_not_taken_for_one_without_an_allocator():
    """Its first library is mapped, and the C library is not yet, while several reports are made."""
    raw = os.path.join(os.path.dirname(os.path.dirname(__file__)), "targets", "raw_syscall.h")
    with scratch() as folder:
        def build(name, source, *options):
            with open(os.path.join(folder, f"{name}.c"), "w", encoding="ascii") as file:
                file.write(source)
            done = run(["gcc", "-o", os.path.join(folder, name), file.name, *options])
            assert done.returncode == 0, done.stderr
            return os.path.join(folder, name)
        build("libfirst.so", "int first(void) { return 0; }", "-shared", "-fPIC", "-nostdlib")
        audit = build("libslow.so", f'#include "{raw}"\n{SLOW_LINKER}', "-shared", "-fPIC",
                      "-nostdlib", "-O1", "-fno-stack-protector")
        program = build("slow", "#include <stdlib.h>\nint first(void);\n"
                                "int main(void) { free(malloc(1000)); return first(); }",
                        f"-L{folder}", "-lfirst", f"-Wl,-rpath,{folder}")
        done = run_memtraced("-q", "-i", "0.1", "-f", "json", f"--env=LD_AUDIT={audit}", "--",
                             program)
        assert done.returncode == 0, done.stderr
        reports = [schema.loads(line) for line in done.stdout.splitlines() if line.strip()]
    assert len(reports) > 5, len(reports)
    assert CAUSE not in reports[-1]["coverage"]["lost"], reports[-1]["coverage"]
    assert reports[-1]["processes"][0]["alloc"]["allocs"] >= 1, reports[-1]["processes"][0]


@test(need_root, each=["--existing", "--cpu"], in_turn=1)
def a_run_that_saw_nothing_says_what_to_try(other):
    """A process that waits: all was seen, and that was nothing."""
    options = [] if other == "--existing" else ["--off-cpu", "--top=1"]
    with started(["sh", "-c", "read x; read y"]) as shell, scratch() as folder:
        eventually(lambda: process_state(shell.pid)[0] == "S", "a wait")
        said = {}
        for form in ("table", "folded"):
            done = run_memtraced("-p", str(shell.pid), "-d", "0.2", *options, "-o",
                                 f"{form}:{folder}/{form}")
            assert done.returncode == 0, done.stderr
            said[form] = done.stderr
        with open(f"{folder}/table", encoding="utf-8") as file:
            table = " ".join(file.read().split())
    assert f"{other} " in table and "totals are exact" not in table, table
    assert f"{other} " in said["folded"] and f"{other} " not in said["table"], said


@test(need_root)
def that_nothing_matched_is_no_missing_allocator():
    done = run_memtraced("--comm=nosuch-name", "-d", "0.2")
    assert done.returncode == 0, done
    assert "no process matched --comm: nothing was traced" in done.stderr, done.stderr
    assert "no allocator" not in done.stderr, done.stderr
