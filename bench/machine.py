# SPDX-License-Identifier: GPL-2.0-or-later
"""On what a table was measured: kernel, processor, whether virtual, versions, trap costs."""

import os
import re
import subprocess


def output_of(*argv):
    """The first line that a command prints, None where it is not there or fails."""
    try:
        done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              check=False, timeout=20, errors="replace")
    except (FileNotFoundError, subprocess.TimeoutExpired):
        return None
    lines = [line for line in done.stdout.splitlines() if line.strip()]
    return lines[0].strip() if done.returncode == 0 and lines else None


def cpu_model():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        text = file.read()
    model = re.search(r"^model name\s*:\s*(.*)$", text, re.M)
    virtual = re.search(r"^flags\s*:.*\bhypervisor\b", text, re.M) is not None
    return model.group(1) if model else os.uname().machine, virtual


def system_name():
    with open("/etc/os-release", encoding="utf-8") as file:
        name = re.search(r'^PRETTY_NAME="?([^"\n]*)', file.read(), re.M)
    return name.group(1) if name else "unknown"


def trap_costs(memtraced):
    """(ns of an emulated trap, ns of a single-stepped one, the best attach path)"""
    done = subprocess.run([memtraced, "--features"], capture_output=True, text=True, check=False)
    hit = re.search(r"per hit\s+(\d+) ns emulated, (\d+) ns single-stepped", done.stdout)
    have = set(re.findall(r"^([\w-]+)\s+yes\b", done.stdout, re.M))
    path = ("session" if "uprobe-session" in have else
            "multi" if "uprobe-multi" in have else "perf")
    return (int(hit.group(1)), int(hit.group(2)), path) if hit else (None, None, path)


PEERS = {
    "heaptrack": ("heaptrack", "--version"), "valgrind": ("valgrind", "--version"),
    "bpftrace": ("bpftrace", "--version"), "node": ("node", "--version"),
    "clang": ("clang", "--version"), "rustc": ("rustc", "--version"),
    "redis-server": ("redis-server", "--version"), "perl": ("perl", "-e", "print $^V"),
    "python3": ("/usr/bin/python3", "--version"), "git": ("git", "--version"),
}


def facts(memtraced):
    model, virtual = cpu_model()
    emulated, stepped, path = trap_costs(memtraced)
    root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
    return {
        "kernel": os.uname().release, "architecture": os.uname().machine,
        "system": system_name(), "cpu": model, "cores": os.cpu_count(), "virtual": virtual,
        "load_before": os.getloadavg()[0],
        "memtraced": output_of(memtraced, "--version"),
        "commit": output_of("git", "-C", root, "describe", "--always", "--dirty"),
        "attach": path, "emulated_ns": emulated, "single_stepped_ns": stepped,
        "versions": {name: output_of(*argv) for name, argv in PEERS.items()},
    }


def as_text(found):
    lines = [
        f"- {found['memtraced']}, commit {found['commit']}, attach path {found['attach']}",
        f"- Linux {found['kernel']} {found['architecture']}, {found['system']}",
        f"- {found['cpu']}, {found['cores']} cores{', virtual' if found['virtual'] else ''}, "
        f"load {found['load_before']:.2f} when it began",
        f"- a trap costs {found['emulated_ns']} ns emulated, {found['single_stepped_ns']} ns "
        "single-stepped",
        "- " + ", ".join(f"{name}: {version}" for name, version in found["versions"].items()
                         if version),
    ]
    return "\n".join(lines)
