# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs of which less is seen than of C are named as what they are, with what helps: real
interpreters and run-times, whatever their files are called."""

import glob
import json
import os
import shutil

from lib import (Skip, load_report, need_program, need_root, need_sampling, run, run_memtraced,
                 scratch, started, target, test)
from test_host import program_32

BESIDE_OTHERS = True
PYTHON = "/usr/bin/python3"


def need_file(path):
    def check():
        if not os.path.exists(path):
            raise Skip(f"{path} is not there")
    return check


def notes(report):
    """{pid: {program: text}}"""
    return {p["pid"]: {n["program"]: n["text"] for n in p["notes"]}
            for p in report["processes"] if "notes" in p}


def of_command(words, *options, **how):
    """The report of a command, its table in one line, and what stderr says."""
    with scratch() as folder:
        files = {form: os.path.join(folder, form) for form in ("json", "table", "record")}
        outputs = [word for form, path in files.items() for word in ("-o", f"{form}:{path}")]
        done = run_memtraced(*options, *outputs, "--", *words, **how)
        assert done.returncode == 0, done.stderr
        report = load_report(files["json"], allocations="--cpu" not in options)
        with open(files["table"], encoding="utf-8") as file:
            table = " ".join(file.read().split())
        replayed = " ".join(run_memtraced("report", files["record"]).stdout.split())
    return report, table, replayed, done.stderr


def check_named(words, program, *texts, options=(), timeout=60):
    report, table, replayed, stderr = of_command(words, *options, timeout=timeout)
    (found,) = [n[program] for n in notes(report).values() if program in n]
    for text in texts:
        assert text in found, found
    assert found in table and found in replayed, (found, table, replayed)
    assert found not in stderr, "the table says it"
    return report


@test(need_root, need_file(PYTHON))
def a_python_of_any_name_is_one():
    with scratch() as folder:
        path = os.path.join(folder, "server")
        shutil.copy(os.path.realpath(PYTHON), path)
        check_named([path, "-c", "print(len([bytes(100) for i in range(1000)]))"], "python",
                    "PYTHONMALLOC=malloc", "-X perf")


@test(need_root, need_file(PYTHON))
def a_python_that_runs_is_named_once_on_stderr():
    with started([PYTHON, "-c", "print('ready', flush=True); input()"]) as process:
        process.lines.until("ready")
        done = run_memtraced("-p", str(process.pid), "-d", "0.5", "-i", "0.2", "-f", "json")
    assert done.returncode == 0, done.stderr
    for line in done.stdout.splitlines():
        assert set(notes(json.loads(line))[process.pid]) == {"python"}, line[:1000]
    assert done.stderr.count(f"process {process.pid} (python3): Python; objects") == 1, done.stderr


@test(need_root, need_file(PYTHON))
def where_no_report_says_it_stderr_does():
    with scratch() as folder:
        done = run_memtraced("-o", f"folded:{folder}/folded", "--", PYTHON, "-c", "pass")
    assert done.stderr.count("Python; objects") == 1, done.stderr


@test(need_root, need_program("node"), timeout=120)
def node_is_named_with_the_option_that_names_its_code():
    check_named(["node", "-e", "console.log(new Array(1000).fill({}).length)"], "node",
                "V8's own heap", "--perf-basic-prof", timeout=100)


@test(need_root, need_sampling, need_program("node"), timeout=120)
def a_profile_of_node_says_how_its_functions_get_names():
    report = check_named(["node", "-e", "let n = 0; while (n < 3e7) n += Math.random()"], "node",
                         "--perf-basic-prof", options=("--cpu",))
    assert report["events"][0]["count"] > 0, report["events"]


@test(need_root, timeout=240)
def java_is_named_by_its_machine():
    found = sorted(glob.glob("/usr/lib/jvm/*/bin/java"))
    if not found:
        raise Skip("no java")
    report = check_named([found[0], "-Xmx64m", "-version"], "java", "GC.class_histogram",
                         "Compiler.perfmap", options=("--max-stack=16",))
    (pid,) = notes(report)
    assert f"jcmd {pid} " in notes(report)[pid]["java"], notes(report)


@test(need_root, need_program("erl"), timeout=120)
def erlang_is_named_by_its_machine():
    check_named(["erl", "-noshell", "-eval",
                 'io:format("~p~n", [length(lists:seq(1, 100000))]), halt().'], "erlang",
                "erlang:memory()", "+JPperf true", timeout=100)


GO = """package main
import "fmt"
import "os"
func main() {
    fmt.Println("ready", len(make([]byte, 100000)))
    os.Stdin.Read(make([]byte, 1))
}
"""


@test(need_root, need_program("go"), timeout=300)
def a_stripped_program_of_go_is_one():
    with scratch() as folder:
        source, program = os.path.join(folder, "main.go"), os.path.join(folder, "server")
        with open(source, "w", encoding="ascii") as file:
            file.write(GO)
        done = run(["go", "build", "-ldflags=-s -w", "-o", program, source], timeout=240,
                   env=dict(os.environ, HOME=folder, GO111MODULE="off", CGO_ENABLED="0"))
        assert done.returncode == 0, done.stderr
        report, table, _, stderr = of_command([program])
        (note,) = notes(report).values()
        assert "--page-faults=10" in note["go"] and note["go"] in table, (note, table)
        assert stderr.count(f"(server): {note['go']}") == 1, stderr
        with started([program]) as process:
            process.lines.until("ready")
            refused = run_memtraced("-p", str(process.pid))
            assert refused.returncode == 2, refused
            assert "no allocator found: Go; the heap of Go code is not counted" \
                in refused.stderr, refused.stderr
            # what it names works
            done = run_memtraced("-p", str(process.pid), "--page-faults=1", "-d", "0.3")
            assert done.returncode == 0 and "page-faults" in done.stdout, done


@test(need_root, need_program("gcc"), timeout=120)
def a_32_bit_program_is_named_on_both_ways():
    with scratch() as folder, program_32(folder) as (path, process):
        done = run_memtraced("-p", str(process.pid))
        assert done.returncode == 2, done
        assert "(odd-32-bit): 32-bit program; only 64-bit programs can be traced" \
            in done.stderr, done.stderr
        process.kill()
        report, table, _, stderr = of_command(["sh", "-c", f"{path} & sleep 0.3; kill $!"])
    (note,) = notes(report).values()
    assert "valgrind" in note["32-bit"] and note["32-bit"] in table, (note, table)
    assert note["32-bit"] not in stderr, stderr


@test(need_root, each=["2", "kthreadd"])
def a_kernel_thread_is_named_as_one(pid_or_name):
    with open("/proc/2/comm", encoding="ascii") as file:
        if file.read() != "kthreadd\n":
            raise Skip("no kernel threads are to be seen here")
    done = run_memtraced("-p", pid_or_name)
    assert done.returncode == 2, done
    assert "process 2 (kthreadd) is a kernel thread" in done.stderr, done.stderr
    assert "memtraced -a -e kmem:kmalloc" in done.stderr, done.stderr


@test(need_root)
def a_plain_program_has_no_notes():
    report, _, _, stderr = of_command([target("forkrun"), "1", "5"])
    assert not notes(report) and not stderr, (report["processes"], stderr)
