# SPDX-License-Identifier: GPL-2.0-or-later
"""--debuginfod, with a server of elfutils on this machine."""

import contextlib
import os
import shutil
import socket
import subprocess
import urllib.error
import urllib.request

from lib import (eventually, free_port, heap_sites, load_report, need_long, need_program,
                 need_root, run, run_memtraced, scratch, started, target, test)

BESIDE_OTHERS = True


def build_id(path):
    notes = run(["readelf", "-n", path]).stdout
    return notes.split("Build ID:")[1].split()[0]


def split_program(folder):
    """(a program without debug information, a folder with that alone)"""
    program, debug = os.path.join(folder, "program"), os.path.join(folder, "debug")
    os.mkdir(debug)
    shutil.copy(target("leak"), program)
    separate = os.path.join(debug, "program.debug")
    for command in (["objcopy", "--only-keep-debug", program, separate], ["strip", program]):
        assert run(command).returncode == 0, command
    return program, debug


@contextlib.contextmanager
def server(folder, *paths):
    """Its URL, once it knows the files."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    with started(["debuginfod", "-p", str(port), "-d", ":memory:", "-F", "-t", "0", *paths],
                 cwd=folder, stdin=subprocess.DEVNULL, env={**os.environ, "DEBUGINFOD_URLS": ""}):
        def scanned():
            try:
                with urllib.request.urlopen(url + "/metrics", timeout=5) as reply:
                    text = reply.read().decode()
            except OSError:
                return False
            return "thread_work_total{role=\"traverse\"} 1" in text and \
                "thread_busy{role=\"scan\"} 0" in text and "groom" in text
        eventually(scanned, "debuginfod has scanned its folder")
        yield url


def trace_program(folder, program, url, *options):
    path = os.path.join(folder, "report.json")
    env = {name: value for name, value in os.environ.items() if name != "DEBUGINFOD_URLS"}
    env["DEBUGINFOD_CACHE_PATH"] = os.path.join(folder, "cache")
    if url is not None:
        env["DEBUGINFOD_URLS"] = url
    done = run_memtraced(*options, "-o", f"json:{path}", "--", program, "20", "0",
                         env=env, timeout=100)
    assert done.returncode == 0, done.stderr
    frames = [frame for site in heap_sites(load_report(path)["processes"][0])
              for frame in site["frames"] if frame["object"] == program]
    assert frames
    return {(frame["function"], os.path.basename(frame["file"] or "")) for frame in frames}, done


@test(need_root, need_program("debuginfod", "objcopy", "readelf"), timeout=110)
def debug_file_is_fetched_only_when_asked_for():
    with scratch() as folder:
        program, debug = split_program(folder)
        with server(folder, debug) as url:
            names, done = trace_program(folder, program, url)
            assert names == {(None, "")}, names
            assert "debuginfod" not in done.stderr, done.stderr
            assert not os.path.exists(os.path.join(folder, "cache")), "asked all the same"
            names, done = trace_program(folder, program, url, "--debuginfod")
            assert ("leak_one", "leak.c") in names and ("main", "leak.c") in names, names
            assert "debuginfod: 1 debug files found" in done.stderr, done.stderr
            # The server's own word for the same file in capitals, which the client never uses.
            try:
                urllib.request.urlopen(f"{url}/buildid/{build_id(program).upper()}/debuginfo",
                                       timeout=10).close()
                raise AssertionError("capitals are taken now")
            except urllib.error.HTTPError as error:
                assert error.code in (404, 503), error


@test(need_root, need_program("debuginfod", "objcopy"), timeout=110)
def file_that_no_server_has_is_said():
    with scratch() as folder:
        program, _ = split_program(folder)
        empty = os.path.join(folder, "empty")
        os.mkdir(empty)
        with server(folder, empty) as url:
            names, done = trace_program(folder, program, url, "--debuginfod")
        assert names == {(None, "")}, names
        assert "debuginfod: 0 debug files found" in done.stderr, done.stderr
        assert "not asked for" not in done.stderr, done.stderr


@test(need_root, need_program("objcopy"), timeout=110)
def dead_server_is_asked_once():
    with scratch() as folder:
        program, _ = split_program(folder)
        names, done = trace_program(folder, program, f"http://127.0.0.1:{free_port()}",
                                    "--debuginfod")
        assert names == {(None, "")}, names
        assert "debuginfod: 0 debug files found" in done.stderr, done.stderr
        assert "Connection refused" in done.stderr, done.stderr


@test(need_root, need_long, need_program("objcopy"), timeout=110)
def silent_server_is_not_waited_for_without_end():
    """It takes the connection and never answers. It waits 15 s; tests/unit/test_debuginfod.c waits
    less."""
    with scratch() as folder, socket.socket() as silent:
        program, _ = split_program(folder)
        silent.bind(("127.0.0.1", 0))
        silent.listen(5)
        names, done = trace_program(folder, program,
                                    f"http://127.0.0.1:{silent.getsockname()[1]}", "--debuginfod")
        assert names == {(None, "")}, names
        assert "not asked for" in done.stderr, done.stderr


@test(need_root)
def asking_without_servers_is_refused():
    env = {name: value for name, value in os.environ.items() if name != "DEBUGINFOD_URLS"}
    done = run_memtraced("--debuginfod", "--", "true", env=env)
    assert done.returncode == 1 and "DEBUGINFOD_URLS" in done.stderr, done
