# SPDX-License-Identifier: GPL-2.0-or-later
"""deploy/: what containers are given is what the unit gives, and is where the program looks."""

import json
import os
import re

import lib
from lib import ROOT, need_root, run, scratch, test
from test_service import service
from test_systemd import UNIT, capability_names

BESIDE_OTHERS = "services"
DAEMONSET = os.path.join(ROOT, "deploy", "daemonset.yaml")
SYSTEM_PYTHON = "/usr/bin/python3"
PARSE = "import json, sys, yaml; print(json.dumps(list(yaml.safe_load_all(open(sys.argv[1])))))"


def need_yaml():
    if run([SYSTEM_PYTHON, "-c", "import yaml"]).returncode != 0:
        raise lib.Skip("python3-yaml is not installed")


def read(*path):
    with open(os.path.join(ROOT, *path), encoding="utf-8") as file:
        return file.read()


def manifest():
    """The configuration, and what the pods are."""
    done = run([SYSTEM_PYTHON, "-c", PARSE, DAEMONSET])
    assert done.returncode == 0, done.stderr
    configuration, daemonset = json.loads(done.stdout)
    assert (configuration["kind"], daemonset["kind"]) == ("ConfigMap", "DaemonSet")
    return configuration, daemonset["spec"]


def default_of(name):
    return re.search(rf'#define {name} "(.*)"', read("user", "config", "service_config.h")).group(1)


@test(need_yaml)
def a_pod_has_the_units_capabilities_and_no_others():
    pod = manifest()[1]["template"]["spec"]
    container, = pod["containers"]
    context = container["securityContext"]
    units = sorted(name[len("CAP_"):] for name in capability_names([UNIT]))
    assert sorted(context["capabilities"]["add"]) == units, (context, units)
    assert context["capabilities"]["drop"] == ["ALL"]
    assert pod["hostPID"] and not context["privileged"] and context["readOnlyRootFilesystem"]
    said = re.search(r"--cap-add=(\S+)", read("deploy", "Containerfile")).group(1)
    assert sorted(said.split(",")) == units, said


@test(need_yaml)
def a_pod_finds_everything_where_it_looks():
    configuration, spec = manifest()
    pod = spec["template"]["spec"]
    container, = pod["containers"]
    volumes = {volume["name"]: volume for volume in pod["volumes"]}
    mounts = {mount["mountPath"]: mount for mount in container["volumeMounts"]}
    assert sorted(volumes) == sorted(mount["name"] for mount in mounts.values())
    assert spec["selector"]["matchLabels"] == spec["template"]["metadata"]["labels"]
    config = default_of("SERVICE_CONFIG_PATH")
    assert os.path.basename(config) in configuration["data"]
    mapped = volumes[mounts[os.path.dirname(config)]["name"]]["configMap"]["name"]
    assert mapped == configuration["metadata"]["name"]
    # On the node under the same name, where ctl and what reads reports look.
    for path in (default_of("SERVICE_STATE_PATH"), "/sys/kernel/tracing", "/sys/fs/cgroup",
                 os.path.dirname(default_of("SERVICE_SOCKET_PATH"))):
        assert volumes[mounts[path]["name"]]["hostPath"]["path"] == path, path
    # Its own file system is read-only: here it may write.
    cache = re.search(r'"(/var/cache/.*)/%s"', read("user", "base", "private_folder.c")).group(1)
    for path in ("/tmp", cache):
        assert "emptyDir" in volumes[mounts[path]["name"]], path
    entry = re.search(r"^ENTRYPOINT (.*)", read("deploy", "Containerfile"), re.M).group(1)
    assert " ".join(json.loads(entry)) == "/usr/bin/memtraced --service", entry
    # Room for the largest trace, and as much for the rest.
    trace = re.search(r"^#memory_limit = (\d+)M$", read("systemd", "memtraced.conf"), re.M).group(1)
    limit = re.fullmatch(r"(\d+)Gi", container["resources"]["limits"]["memory"]).group(1)
    assert int(limit) << 10 >= 2 * int(trace), (limit, trace)


@test(need_root, need_yaml)
def its_configuration_is_served_and_its_probes_are_answered():
    configuration, spec = manifest()
    container, = spec["template"]["spec"]["containers"]
    text = configuration["data"]["memtraced.conf"]
    probes = [container[name]["httpGet"] for name in ("startupProbe", "livenessProbe")]
    with scratch() as folder:
        # Of a node: its addresses are not ours here.
        socket_, port = default_of("SERVICE_SOCKET_PATH"), probes[0]["port"]
        assert f"listen = unix {socket_}\n" in text and f"listen = 127.0.0.1:{port}\n" in text, text
        free = lib.free_port()
        text = text.replace(socket_, f"{folder}/http.sock").replace(f":{port}\n", f":{free}\n")
        with service(folder, config=text + f"[state]\ndirectory = {folder}/state\n") as served:
            for probe in probes:
                assert (probe["host"], probe["port"]) == ("127.0.0.1", port), probe
                done = run(["curl", "-sS", f"http://127.0.0.1:{free}{probe['path']}"])
                assert done.stdout == "ok\n", done
            assert served.text("/healthz") == "ok\n"
