# SPDX-License-Identifier: GPL-2.0-or-later
"""What systemd asks of a service: notification, watchdog, sockets, few rights; and installation.
systemd need not run here: the tests speak its side of sd_notify(3) and sd_listen_fds(3)."""

import glob
import os
import re
import signal
import socket
import subprocess
import sys

import lib
from lib import (Lines, ROOT, eventually, memtraced, need_kernel, need_program, need_root, refused,
                 run, run_memtraced, scratch, started, target, test)
from push_server import push_server, until_sent
from test_ctl import ctl
from test_sandbox import status
from test_service import NOBODY, Service, service

BESIDE_OTHERS = "services"

UNIT = os.path.join(ROOT, "systemd", "memtraced.service.in")
GENERATOR = os.path.join(ROOT, "systemd", "memtraced-generator")


def notified(listener, word, timeout=20):
    """The lines of the first message that has a line which begins with `word`."""
    listener.settimeout(timeout * lib.PATIENCE)
    while True:
        lines = listener.recv(4096).decode().split("\n")
        if any(line.startswith(word) for line in lines):
            return lines


@test(need_root)
def it_says_when_it_is_ready_alive_reloading_and_stopping():
    with scratch() as folder, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        path = os.path.join(folder, "notify")
        listener.bind(path)
        os.environ.update(NOTIFY_SOCKET=path, WATCHDOG_USEC="300000")
        try:
            with service(folder) as served:
                notified(listener, "READY=1")
                notified(listener, "WATCHDOG=1")
                notified(listener, "WATCHDOG=1")
                served.process.send_signal(signal.SIGHUP)
                lines = notified(listener, "RELOADING=1")
                assert any(re.fullmatch(r"MONOTONIC_USEC=\d+", line) for line in lines), lines
                notified(listener, "READY=1")
                served.process.send_signal(signal.SIGTERM)
                notified(listener, "STOPPING=1")
                assert served.process.wait(20 * lib.PATIENCE) == 0
        finally:
            del os.environ["NOTIFY_SOCKET"], os.environ["WATCHDOG_USEC"]


def inherit(folder, config, inherited):
    """A service that has `inherited` as its third descriptor, as sd_listen_fds(3) says."""
    # dash knows descriptors of one digit alone
    return started(["/bin/bash", "-c", f"LISTEN_FDS=1 LISTEN_PID=$$ exec {memtraced()} --service "
                                       f"--config={config} 3<&{inherited.fileno()}"],
                   pass_fds=[inherited.fileno()], stderr=subprocess.PIPE, cwd=folder)


@test(need_root)
def a_socket_that_it_is_given_is_served_in_place_of_its_own():
    with scratch() as folder, socket.socket(socket.AF_UNIX) as given:
        path, port = os.path.join(folder, "http.sock"), lib.free_port()
        config = os.path.join(folder, "memtraced.conf")
        with open(config, "w", encoding="ascii") as file:
            file.write(f"[http]\nlisten = unix {path}\nlisten = 127.0.0.1:{port}\n")
        given.bind(path)
        given.listen()
        with inherit(folder, config, given) as process:
            said = Lines(process.stderr)
            assert said.until("memtraced: listening on") == "a socket of systemd's"
            assert said.until("memtraced: listening on") == f"127.0.0.1:{port}"
            said.until("memtraced: ready")
            served = Service(process, path, port, said)
            assert served.text("/healthz") == "ok\n"
            with served.tcp():
                process.send_signal(signal.SIGTERM)
                assert process.wait(20 * lib.PATIENCE) == 0
        assert os.path.exists(path), "the socket is systemd's"


@test(need_root)
def a_socket_that_systemd_listens_on_is_not_taken_from_it():
    with scratch() as folder, socket.socket(socket.AF_UNIX) as given:
        path, config = os.path.join(folder, "http.sock"), os.path.join(folder, "memtraced.conf")
        with open(config, "w", encoding="ascii") as file:
            file.write(f"[http]\nlisten = unix {path}\n")
        given.bind(path)
        given.listen(1)
        # Nobody serves it yet: systemd starts a service when somebody asks. Then its queue is full.
        for _ in range(4):
            refused(run_memtraced("--service", f"--config={config}"), 2, path,
                    "another service listens there already")
        with inherit(folder, config, given) as process:
            Lines(process.stderr).until("memtraced: ready")
            refused(run_memtraced("--service", f"--config={config}"), 2, path,
                    "another service listens there already")
        assert os.path.exists(path), "the socket is systemd's"


@test(need_root, each=["datagrams", "all addresses"], in_turn=1)
def a_socket_that_cannot_be_served_is_refused(kind):
    family, type_ = (socket.AF_UNIX, socket.SOCK_DGRAM) if kind == "datagrams" else \
        (socket.AF_INET, socket.SOCK_STREAM)
    with scratch() as folder, socket.socket(family, type_) as given:
        config = os.path.join(folder, "memtraced.conf")
        with open(config, "w", encoding="ascii") as file:
            file.write(f"[http]\nlisten = unix {folder}/http.sock\n")
        if kind == "all addresses":
            given.bind(("0.0.0.0", 0))
            given.listen()
        with inherit(folder, config, given) as process:
            assert process.wait(20 * lib.PATIENCE) == 2
            said = process.stderr.read().decode()
        assert "a socket of systemd's" in said, said
        assert ("other hosts" in said) == (kind == "all addresses"), said


def capability_names(paths):
    """What these files of a unit give."""
    found = []
    for path in paths:
        with open(path, encoding="ascii") as file:
            found += re.findall(r"^CapabilityBoundingSet=(.*)", file.read(), re.M)
    names = " ".join(found).split()
    assert len(names) > 4, names
    return names


def capabilities(folder):
    """The unit's, with what is added on this kernel."""
    assert run([GENERATOR, folder, folder, folder]).returncode == 0
    names = capability_names([UNIT, *glob.glob(f"{folder}/memtraced.service.d/*.conf")])
    return ",".join("+" + name[len("CAP_"):].lower() for name in names)


# What the unit's lines make of the file systems, and its capabilities: without a systemd.
CONFINED = """
mount --make-rprivate / &&
{ mountpoint -q /sys/kernel/tracing || mount -t tracefs tracefs /sys/kernel/tracing; } &&
mount -t proc -o hidepid=invisible proc /proc &&
mount -o remount,bind,ro /sys &&
mount -t tmpfs tmpfs /home &&
exec setpriv --no-new-privs --inh-caps=-all --bounding-set=-all,%s %s --service --config=%s
"""


@test(need_root, need_kernel(5, 9), need_program("unshare", "setpriv"), timeout=90)
def the_units_capabilities_are_enough():
    with scratch() as folder, push_server() as server, \
            started([target("leak"), "0", "30000"]) as process:
        pid = process.lines.until("ready")
        path, config = os.path.join(folder, "http.sock"), os.path.join(folder, "memtraced.conf")
        with open(config, "w", encoding="ascii") as file:
            file.write(f"[http]\nlisten = unix {path}\n[state]\ndirectory = {folder}/state\n"
                       f"[push one]\nto = pyroscope\nurl = {server.url}\n")
        script = CONFINED % (capabilities(folder), memtraced(), config)
        with started(["unshare", "-m", "sh", "-c", script], stderr=subprocess.PIPE) as confined:
            said = Lines(confined.stderr)
            said.until("memtraced: ready")
            served = Service(confined, path, None, said)
            heap = served.text(f"/debug/pprof/heap?pid={pid}&seconds=2&debug=1")
            assert "leak_one" in heap and "exact" in heap, heap
            # It stands by itself, where the kernel can sample; and begins anew with these rights.
            with open(config, "a", encoding="ascii") as file:
                file.write("[growth]\nperiod = 10\n")
            sampled = lib.kernel_version() >= (6, 1)
            assert served.metric("memtraced_growth_running") == sampled
            confined.send_signal(signal.SIGHUP)
            eventually(lambda: served.metric("memtraced_growth_period") == 10, "the new period")
            touches = "kept = bytearray(1 << 24); print(flush=True); input()"
            with started([sys.executable, "-c", touches]) as grown:
                grown.lines.next()
                answer = served.ask(f"/debug/pprof/growth?pid={grown.pid}")
                assert answer[0] == (200 if sampled else 503), answer
            assert "CPU time" in served.text("/debug/pprof/profile?seconds=1&debug=1")
            done = run_memtraced("ctl", f"--socket={path}", "trace", pid, "--for=1s")
            assert done.returncode == 0, done
            said.until(f"memtraced: process {pid} (leak): report")
            until_sent(server, 1)  # by libcurl


# include/uapi/linux/capability.h
NUMBERS = {"chown": 0, "dac_read_search": 2, "sys_ptrace": 19, "sys_admin": 21, "sys_nice": 23,
           "perfmon": 38, "bpf": 39, "checkpoint_restore": 40}


@test(need_root, need_kernel(5, 9))
def who_starts_it_with_more_leaves_it_with_the_units_capabilities():
    admin = 1 << NUMBERS["sys_admin"]
    with scratch() as folder, service(folder) as served:
        names = [name.lstrip("+") for name in capabilities(folder).split(",")]
        bits = sum(1 << NUMBERS[name] for name in names)
        said = status(served.process.pid)
        assert int(said["CapEff"], 16) == bits, said
        assert int(said["CapPrm"], 16) | admin == bits | admin, said
        assert int(said["CapBnd"], 16) == bits & ~admin, said
        assert int(said["CapInh"], 16) == int(said["CapAmb"], 16) == 0, said
        assert said["NoNewPrivs"] == "1", said
        line, = [line for line in ctl(served, "status").splitlines()
                 if line.startswith("capabilities:")]
        assert sorted(line.split()[1:]) == sorted(names), line


def make(goal, *variables, **how):
    done = run(["make", "-s", "-C", ROOT, f"O={os.path.relpath(lib.Place.build, ROOT)}", goal,
                *variables], timeout=100, **how)
    assert done.returncode == 0, done


def files_below(folder):
    return sorted(os.path.relpath(os.path.join(place, name), folder)
                  for place, _, names in os.walk(folder) for name in names)


def pages(folder):
    return os.listdir(os.path.join(ROOT, folder))


@test(need_root, need_program("make"), timeout=120)
def who_is_not_root_installs_and_uninstalls_elsewhere():
    with scratch() as folder:
        places = ("PREFIX=/opt/memtraced", "SYSCONFDIR=/opt/memtraced/etc", "UNITDIR=/units",
                  "GENERATORDIR=/generators", f"DESTDIR={folder}")
        make("install", *places, user=NOBODY, group=NOBODY)
        config = "opt/memtraced/etc/memtraced/memtraced.conf"
        share = "opt/memtraced/share"
        written = sorted([
            config, "generators/memtraced-generator", "opt/memtraced/bin/memtraced",
            "opt/memtraced/bin/valgrind-memtraced", "opt/memtraced/include/memtraced.h",
            "opt/memtraced/include/memtraced_pools.h",
            "opt/memtraced/lib/memtraced/libmemtraced-sample.so",
            f"{share}/bash-completion/completions/memtraced",
            f"{share}/doc/memtraced/memtraced.conf",
            *(f"{share}/doc/memtraced/guide/{page}" for page in pages("docs/guide")),
            *(f"{share}/man/man{page[-1]}/{page}" for page in pages("docs/man")),
            "units/memtraced.service", "units/memtraced.socket"])
        assert files_below(folder) == written, files_below(folder)
        with open(f"{folder}/units/memtraced.service", encoding="ascii") as file:
            assert f"\nExecStart=/opt/memtraced/bin/memtraced --service --config=/{config}\n" \
                in file.read()
        make("uninstall", *places, user=NOBODY, group=NOBODY)
        assert files_below(folder) == [config], files_below(folder)
        make("uninstall", *places)


@test(need_root, need_program("make", "systemd-analyze"), timeout=120)
def it_is_installed_whole_and_well_confined():
    with scratch() as folder:
        def install():
            make("install", f"DESTDIR={folder}", "PREFIX=/usr")

        # Version 0.1.0 was there, before bin in root's PATH.
        os.makedirs(f"{folder}/usr/sbin")
        with open(f"{folder}/usr/sbin/memtraced", "wb"):
            pass
        install()
        assert os.listdir(f"{folder}/usr/sbin") == []
        config = f"{folder}/etc/memtraced/memtraced.conf"
        for path in ("bin/memtraced", "share/man/man1/memtraced.1",
                     "share/bash-completion/completions/memtraced",
                     "lib/systemd/system/memtraced.service", "lib/systemd/system/memtraced.socket",
                     "lib/systemd/system-generators/memtraced-generator"):
            assert os.path.getsize(f"{folder}/usr/{path}") > 0, path
        with open(config, "a", encoding="ascii") as file:
            file.write("# mine\n")
        install()
        with open(config, encoding="ascii") as file:
            text = file.read()
        assert text.endswith("# mine\n"), "a configuration was overwritten"
        unit = f"{folder}/usr/lib/systemd/system/memtraced.service"
        with open(unit, encoding="ascii") as file:
            assert "\nExecStart=/usr/bin/memtraced --service\n" in file.read()
        done = run(["systemd-analyze", "security", "--offline=true", "--threshold=28", unit])
        assert done.returncode == 0, done.stdout[-200:] + done.stderr
        # Each line that is commented out is one that could stand there.
        with open(config, "w", encoding="ascii") as file:
            file.write(re.sub(r"^#(?=[a-z_]+ =|\[)", "", text, flags=re.M))
        done = run_memtraced("--service", f"--config={config}")
        refused(done, 1, "/etc/memtraced/token: No such file")
