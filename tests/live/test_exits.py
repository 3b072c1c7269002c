# SPDX-License-Identifier: GPL-2.0-or-later
"""Exit statuses and errors: what failed, on which object, and never a wrong status."""

import os
import re
import shutil
import signal

from lib import (load_report, memtraced, need_kernel, need_program, need_root, process_state,
                 refused, run, run_memtraced, scratch, Skip, started, target, test)

BESIDE_OTHERS = True
NOBODY = 65534


def unused_pid():
    with open("/proc/sys/kernel/pid_max", encoding="ascii") as file:
        top = int(file.read())
    return next(pid for pid in range(top - 1, 1, -1) if not os.path.exists(f"/proc/{pid}"))


@test(each=["--no-such-option", "-p", "-p 0", "--top=x", "-f nonsense -- true",
            "--attach=best -- true", "-c", "-i -- true", "-p 1 -- true"])
def wrong_usage_is_status_1(words):
    done = run_memtraced(*words.split())
    assert done.returncode == 1, f"{done.returncode}: {done.stderr}"
    assert done.stderr.strip() and done.stdout == "", (done.stdout, done.stderr)


@test()
def no_target_is_wrong_usage():
    assert run_memtraced().returncode == 1


@test(each=["--help", "--version"])
def asking_for_information_needs_no_rights(option):
    done = run(["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", memtraced(),
                option]) if os.geteuid() == 0 else run_memtraced(option)
    if done.returncode == 126 or "Permission denied" in done.stderr and not done.stdout:
        raise Skip("the build directory cannot be entered by nobody")
    assert done.returncode == 0 and "memtraced" in done.stdout, done


@test(need_root)
def features_are_listed_with_reasons():
    done = run_memtraced("--features")
    assert done.returncode == 0, done.stderr
    for word in ("session", "multi", "perf"):
        assert word in done.stdout, done.stdout


@test(need_root)
def without_rights_it_says_so():
    with scratch() as folder:
        copy = os.path.join(folder, "memtraced")
        assert run(["cp", memtraced(), copy]).returncode == 0
        done = run(["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups",
                    "--inh-caps=-all", copy, "--", "/bin/true"])
        refused(done, 2, "root")


@test(need_root, need_program("unshare"))
def a_kernel_without_btf():
    hide = 'mount -t tmpfs none /sys/kernel/btf && exec "$@"'
    done = run(["unshare", "-m", "sh", "-c", hide, "sh", memtraced(), "--", "/bin/true"])
    refused(done, 2, "btf", "CONFIG_DEBUG_INFO_BTF")


@test(need_root)
def no_such_process():
    pid = unused_pid()
    refused(run_memtraced("-p", str(pid)), 2, str(pid))


@test(need_root)
def one_missing_process_of_several_is_named():
    with started(["sleep", "100"]) as process:
        pid = unused_pid()
        done = run_memtraced("-p", f"{process.pid},{pid}")
        refused(done, 2, str(pid))
        assert process.poll() is None


@test(need_root)
def command_not_found():
    refused(run_memtraced("/nonexistent/command"), 127, "/nonexistent/command", "not found")
    refused(run_memtraced("--", "no-such-command-anywhere"), 127, "no-such-command-anywhere")
    refused(run_memtraced("repport", "run.mtr"), 127, "repport", "'memtraced report'")


@test(need_root)
def command_without_its_interpreter():
    """It is there, and its exec fails all the same."""
    with scratch() as folder:
        path = os.path.join(folder, "script")
        with open(path, "w", encoding="ascii") as file:
            file.write("#!/nonexistent/interpreter\n")
        os.chmod(path, 0o755)
        refused(run_memtraced(path), 127, path)


@test(need_root)
def command_not_executable():
    for path in ("/etc/passwd", "/usr"):
        refused(run_memtraced(path), 126, path, "not executable")


@test(need_root)
def the_first_word_is_the_command():
    """All behind it belongs to it; behind -- it may have a subcommand's name."""
    with scratch() as folder:
        program = os.path.join(folder, "report")
        os.symlink("/bin/echo", program)
        done = run_memtraced("-q", "echo", "-p", "--help")
        assert done.returncode == 0 and done.stdout.startswith("-p --help\n"), done
        done = run_memtraced("-q", "--env", f"PATH={folder}", "--", "report", "x")
        assert done.returncode == 0 and done.stdout.startswith("x\n"), done


@test(need_root)
def a_process_without_an_allocator():
    with started([target("noheap")]) as process:
        process.lines.until("ready")
        refused(run_memtraced("-p", str(process.pid)), 2, "allocator", "noheap", "--page-faults=10")
        assert process.poll() is None
        done = run_memtraced("-p", str(process.pid), "--page-faults=10", "-d", "0.2")
        assert done.returncode == 0 and "page-faults" in done.stdout, done


@test(need_root)
def a_zombie_is_told_from_no_process():
    name = f"ended-{os.getpid()}"
    with scratch() as folder:
        os.symlink(shutil.which("true"), path := os.path.join(folder, name))
        with started([path]) as process:
            os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
            for word in (str(process.pid), name):
                refused(run_memtraced("-p", word), 2, str(process.pid), "zombie")


@test(need_root)
def a_static_program_without_symbols():
    done = run_memtraced("--", target("static-stripped"), "10")
    assert "static-stripped" in done.stderr, done.stderr
    assert "symbol" in done.stderr.lower(), done.stderr


@test(need_root)
def an_output_that_cannot_be_written_is_said_before_anything_starts():
    with scratch() as folder:
        touched = os.path.join(folder, "touched")
        for path in ("/nonexistent/dir/out.json", "/proc/out.json"):
            done = run_memtraced("-o", f"json:{path}", "--", "touch", touched)
            refused(done, 2, path)
            assert not os.path.exists(touched), "the command ran all the same"


def run_with_closed_stdout(*args):
    """Its exit status and what it said on stderr, which is also the stdout of a command, but for
    what this kernel lacks."""
    reading, writing = os.pipe()
    os.close(reading)
    with open("/dev/null", encoding="ascii") as null:
        done = run([memtraced(), *args], stdin=null, stdout=writing)
    os.close(writing)
    return done.returncode, re.sub(r"^memtraced: Linux \S+: .*\n", "", done.stderr)


@test(need_root)
def a_closed_stdout_leaves_the_command_and_the_other_outputs_alone():
    with scratch() as folder:
        path = os.path.join(folder, "report.json")
        ended = run_with_closed_stdout("-f", "folded", "-o", f"json:{path}", "--",
                                       target("million"), "20000")
        assert ended == (0, "done 20000\n"), ended
        assert load_report(path)["processes"][0]["end"]["exit"] == 0


@test(need_root, each=["0<&-", "1>&-", "2>&-", "0<&- 1>&- 2>&-"], in_turn=1)
def standard_streams_that_are_no_files_get_nothing_of_the_outputs(closed):
    """What is opened must not take the number of a closed stream."""
    with scratch() as folder:
        path = os.path.join(folder, "report.json")
        words = [memtraced(), "-o", f"json:{path}", "--", "true"]
        ended = run(["sh", "-c", f'exec "$@" {closed}', "sh", *words])
        assert ended.returncode == 0, (ended.returncode, ended.stderr)
        assert load_report(path)["processes"][0]["end"]["exit"] == 0
    if "1>" in closed:
        del words[1:3]
        refused(run(["sh", "-c", f'exec "$@" 1>&-', "sh", *words]), 2, "stdout")


@test(need_root)
def a_stdout_that_closes_during_the_run_leaves_the_commands_status():
    ended = run_with_closed_stdout("-f", "json", "-i", "0.1", "--", "/bin/sh", "-c",
                                   "sleep 1; echo end; exit 3")
    assert ended == (3, "end\n"), ended


@test(need_root)
def a_closed_stdout_has_sigpipes_status_where_no_commands_is_known():
    with started([target("leak"), "0", "1000"]) as process:
        pid = process.lines.until("ready")
        for how in (["-p", pid], ["-c", "sleep 3"]):
            ended = run_with_closed_stdout(*how, "-d", "0.5", "-f", "json")
            assert ended == (128 + signal.SIGPIPE, ""), (how, ended)
        assert process.poll() is None


@test(need_root, each=[0, 1, 3, 42, 127, 255], in_turn=2)
def the_commands_exit_status_is_passed_on(status):
    assert run_memtraced("--", "/bin/sh", "-c", f"exit {status}").returncode == status


@test(need_root, each=["TERM", "KILL", "SEGV", "INT"], in_turn=2)
def a_command_killed_by_a_signal_gives_128_and_its_number(name):
    number = getattr(signal, "SIG" + name)
    done = run_memtraced("--", "/bin/sh", "-c", f"kill -{name} $$")
    assert done.returncode == 128 + number, f"{done.returncode}: {done.stderr}"


@test(need_root, each=["TERM", "HUP"], in_turn=1)
def a_stop_signal_is_passed_to_the_command_first_as_sigterm(name):
    with scratch() as folder:
        path = os.path.join(folder, "report.json")
        script = "trap 'echo got it; exit 7' TERM; echo ready; while :; do sleep 0.1; done"
        with started([memtraced(), "-o", f"json:{path}", "--", "/bin/sh", "-c",
                      script]) as process:
            process.lines.until("ready")
            process.send_signal(getattr(signal, "SIG" + name))
            process.lines.until("got it")
            assert process.wait(20) == 7
        assert load_report(path)["processes"][0]["end"]["exit"] == 7


@test(need_root, each=["TERM TERM", "TERM INT", "TERM HUP", "HUP TERM"], in_turn=1)
def a_second_stop_signal_ends_at_once_and_the_command_goes_on(names):
    first, second = (getattr(signal, "SIG" + name) for name in names.split())
    script = "trap 'echo got it' TERM; echo ready $$; while :; do sleep 0.1; done"
    with scratch() as folder:
        path = os.path.join(folder, "report.json")
        with started([memtraced(), "-o", f"json:{path}", "--", "/bin/sh", "-c",
                      script]) as process:
            pid = int(process.lines.until("ready"))
            try:
                process.send_signal(first)
                process.lines.until("got it")
                assert process.poll() is None, "it did not wait for the command's end"
                process.send_signal(second)
                assert process.wait(20) == 0
                state, tracer = process_state(pid)
                assert state not in "Tt" and tracer == 0, (state, tracer)
                os.kill(pid, signal.SIGTERM)
                process.lines.until("got it")
            finally:
                os.kill(pid, signal.SIGKILL)
        (shell,) = [p for p in load_report(path)["processes"] if p["pid"] == pid]
        assert shell["end"] is None, shell["end"]


@test(need_root)
def sigint_ends_with_a_report_while_the_command_runs():
    with scratch() as folder:
        path = os.path.join(folder, "report.json")
        with started([memtraced(), "-o", f"json:{path}", "--", target("leak"), "0",
                      "500"]) as process:
            pid = int(process.lines.until("ready"))
            process.lines.until("step")
            process.send_signal(signal.SIGINT)
            process.wait(20)
            assert os.path.exists(path)
            if os.path.exists(f"/proc/{pid}"):
                os.kill(pid, signal.SIGKILL)


@test(need_root)
def a_duration_ends_the_run():
    with started([target("leak"), "0", "1000"]) as process:
        pid = process.lines.until("ready")
        done = run_memtraced("-p", pid, "-d", "0.5", "-f", "json", timeout=30)
        assert done.returncode == 0 and done.stdout.count("\n") == 1, done
        assert process.poll() is None


@test(need_root, need_program("setpriv"), need_kernel(5, 11))
def a_memlock_limit_that_cannot_be_raised_is_not_fatal():
    done = run(["setpriv", "--bounding-set=-sys_resource", "--inh-caps=-sys_resource", "sh", "-c",
                'ulimit -l 64; exec "$@"', "sh", memtraced(), "-f", "json", "--", "/bin/true"])
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("{"), done.stdout


@test(need_root)
def open_files_are_as_many_as_may_be_and_the_command_has_its_own_limit():
    done = run(["sh", "-c", 'ulimit -Sn 200; ulimit -Hn 3000; exec "$@"', "sh", memtraced(), "-q",
                "-o", "json:/dev/null", "--", "/bin/sh", "-c",
                'ulimit -Sn; grep "open files" /proc/$PPID/limits'])
    assert done.returncode == 0, done.stderr
    own, line = done.stdout.splitlines()
    assert own == "200" and line.split()[3:5] == ["3000", "3000"], done.stdout


@test(need_root)
def the_command_runs_as_the_user_that_called_sudo():
    env = dict(os.environ, SUDO_UID=str(NOBODY), SUDO_GID=str(NOBODY), SUDO_USER="nobody")
    done = run([memtraced(), "-q", "-o", "json:/dev/null", "--", "/bin/sh", "-c",
                'id -u; id -g; echo "$USER"'], env=env)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [str(NOBODY), str(NOBODY), "nobody"], done.stdout


@test(need_root)
def run_as_and_env_shape_the_command():
    done = run_memtraced("-q", "-o", "json:/dev/null", "--run-as=nobody", "--env=COLOUR=red", "--",
                         "/bin/sh", "-c", 'id -un; echo "$COLOUR"; echo "$USER"')
    assert done.stdout.split() == ["nobody", "red", "nobody"], (done.stdout, done.stderr)


@test(need_root)
def dash_c_splits_words_as_a_shell_and_expands_nothing():
    done = run_memtraced("-q", "-o", "json:/dev/null", "-c",
                         r"""printf '%s|' 'a b' "c d" e\ f $HOME *""")
    assert done.stdout == "a b|c d|e f|$HOME|*|", (done.stdout, done.stderr)
