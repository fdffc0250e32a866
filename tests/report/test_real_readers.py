"""Exports read by the very tools that they are for, where these are installed: `make neighbours` installs some."""

import json
import os
import re
import socket
import subprocess
from getpass import getuser
from pathlib import Path

import jsonschema
import pytest
import yaml

import needs
from fabrics import ROOT, make_fabric
from judges import grafana
from tagloom.report.batfish import layer1
from tagloom.report.monitoring import dashboard
from tagloom.report.slurm import topology_conf


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """Return a directory with a build of Linux bridges, a link off, and its topologies beside it."""
    from tagloom.cli import main  # noqa: PLC0415 - beside its one use

    home = tmp_path_factory.mktemp("lab")
    (home / "f.yml").write_text("name: square\nmodel: linux-bridge\nshape: {family: mesh, dims: [2, 2], parallel: 2}\n")
    assert main(["plan", str(home / "f.yml"), "--off", "s0:swp2", "-o", str(home / "b")]) == 0
    for kind in ("containerlab", "netlab"):
        (home / kind).mkdir()
        assert main(["export", kind, str(home / "b"), "-o", str(home / kind / "topology.yml")]) == 0
    return home


# --- labs ------------------------------------------------------------------------------------------------------------


@pytest.mark.needs("netlab")
def test_netlab_makes_the_lab_that_we_write_for_containerlab(lab):
    """netlab reads its topology and writes containerlab's: the same nodes, scripts, commands and cables as ours."""
    netlab = needs.path_of("netlab")
    done = subprocess.run(
        [netlab, "create", "topology.yml"], cwd=lab / "netlab", capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    made = yaml.safe_load((lab / "netlab" / "clab.yml").read_text("utf-8"))["topology"]
    ours = yaml.safe_load((lab / "containerlab" / "topology.yml").read_text("utf-8"))["topology"]
    assert set(made["nodes"]) == set(ours["nodes"])
    cables = [{frozenset(link["endpoints"]) for link in each["links"]} for each in (made, ours)]
    assert cables[0] == cables[1]
    for name, node in ours["nodes"].items():
        assert set(node["exec"]) <= set(made["nodes"][name]["exec"])
        bound = {each.rpartition("/")[2] for each in node.get("binds", ())}
        assert bound <= {each.rpartition("/")[2] for each in made["nodes"][name].get("binds", ())}
        assert made["nodes"][name]["kind"] == ours["defaults"]["kind"]


def without_what_python_cannot_match(each):
    """Return a schema without the patterns of ECMAScript that Python's `re` lacks (\\p{L})."""
    if "\\p{" in str(each.get("pattern", "")):
        del each["pattern"]
    return each


@pytest.mark.needs("containerlab's schema")
@pytest.mark.parametrize("kind", ["containerlab", pytest.param("netlab", marks=pytest.mark.needs("netlab"))])
def test_containerlabs_own_schema_takes_the_topology(lab, kind):
    """Ours, and what netlab makes of ours; and it refuses one that is wrong."""
    schema = json.loads(
        Path(os.environ["CLAB_SCHEMA"]).read_text("utf-8"), object_hook=without_what_python_cannot_match
    )
    judge = jsonschema.Draft7Validator(schema)
    file = lab / kind / ("topology.yml" if kind == "containerlab" else "clab.yml")
    if kind == "netlab":
        subprocess.run([needs.path_of("netlab"), "create", "topology.yml"], cwd=file.parent, check=True)
    page = yaml.safe_load(file.read_text("utf-8"))
    assert [error.message for error in judge.iter_errors(page)] == []
    page["topology"]["nodes"]["s0"]["exec"] = 3
    assert list(judge.iter_errors(page))


# --- Slurm -----------------------------------------------------------------------------------------------------------

SLURM = """\
ClusterName=fabric
SlurmctldHost=localhost(127.0.0.1)
SlurmUser={user}
SlurmctldPort={port}
AuthType=auth/none
CredType=cred/none
MpiDefault=none
StateSaveLocation={home}/state
SlurmctldPidFile={home}/slurmctld.pid
TopologyPlugin=topology/tree
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SchedulerType=sched/builtin
SelectType=select/linear
NodeName={nodes} NodeAddr=127.0.0.1 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES
"""
CASES = {
    "torus": make_fabric("torus", 4, 4, 2, hosts=2),
    "fat-tree": make_fabric("fat-tree", 2, 4, 2),
    "dragonfly": make_fabric("dragonfly", 5, 2),
}


@pytest.mark.needs("slurmctld", "scontrol")
@pytest.mark.parametrize("name", CASES)
def test_slurm_places_every_node_below_the_switches_that_we_say(name, tmp_path):
    """slurmctld reads topology.conf, and `scontrol show topology` shows what it took it for."""
    slurmctld, scontrol = needs.path_of("slurmctld"), needs.path_of("scontrol")
    fabric = CASES[name]
    (tmp_path / "state").mkdir()
    (tmp_path / "topology.conf").write_text(topology_conf(fabric), "utf-8")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    nodes = ",".join(host.name for host in fabric.hosts)
    settings = SLURM.format(user=getuser(), port=port, home=tmp_path, nodes=nodes)
    (tmp_path / "slurm.conf").write_text(settings, "utf-8")
    environment = os.environ | {"SLURM_CONF": str(tmp_path / "slurm.conf")}

    def ask(*words):
        done = subprocess.run([scontrol, *words], env=environment, capture_output=True, text=True, check=True)
        return done.stdout.splitlines()

    with subprocess.Popen([slurmctld, "-D"], env=environment, stderr=subprocess.PIPE, text=True) as running:
        try:
            log = []
            for line in running.stderr:  # until it serves, or ends
                log.append(line)
                if "Running as primary controller" in line:
                    break
            assert running.poll() is None, "".join(log)
            shown = [dict(word.split("=", 1) for word in line.split()) for line in ask("show", "topology")]
            took = {
                each["SwitchName"]: (int(each["Level"]), frozenset(ask("show", "hostnames", each["Nodes"])))
                for each in shown
            }
        finally:
            running.terminate()
            running.stderr.read()
    assert not [line for line in log if re.search("topology|switch", line, re.IGNORECASE) and "error" in line]
    below = {}  # by our own reading of the file: the hosts below each switch, and its height
    for line in topology_conf(fabric).splitlines()[1:]:
        words = dict(word.split("=", 1) for word in line.split())
        if "Nodes" in words:
            below[words["SwitchName"]] = (0, frozenset(ask("show", "hostnames", words["Nodes"])))
        else:
            parts = [below[each] for each in ask("show", "hostnames", words["Switches"])]
            below[words["SwitchName"]] = (parts[0][0] + 1, frozenset().union(*(hosts for _, hosts in parts)))
    assert took == below
    at = {host.name: fabric.switches[host.switch].name for host in fabric.hosts}
    assert {
        host for switch, (level, hosts) in took.items() if level == 0 for host in hosts if at[host] == switch
    } == set(at)


# --- Batfish ---------------------------------------------------------------------------------------------------------


@pytest.mark.needs("Batfish", "java")
@pytest.mark.parametrize("family", [("torus", 3, 3), ("tree", 2, 2)], ids=["torus", "tree"])
def test_batfishs_own_reader_takes_every_cable(family, tmp_path):
    """Its classes of a layer-1 topology, compiled from its source, read our file and write the same cables."""
    classes = os.environ["BATFISH_CLASSES"]
    path = tmp_path / "layer1_topology.json"
    path.write_text(layer1(make_fabric(*family)), "utf-8")
    java = [needs.path_of("java"), "-cp", classes, str(ROOT / "tests/judges/ReadLayer1.java"), str(path)]
    done = subprocess.run(java, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    read, written = (
        {tuple((end["hostname"], end["interfaceName"]) for end in (edge["node1"], edge["node2"])) for edge in edges}
        for edges in (json.loads(text)["edges"] for text in (done.stdout, path.read_text("utf-8")))
    )
    assert read == written


# --- Grafana ---------------------------------------------------------------------------------------------------------


def test_grafanas_own_types_take_the_whole_dashboard():
    """Every key is one of Grafana's, of the type that Grafana gives it: read into its records and written again."""
    assert grafana.faults(json.loads(dashboard(make_fabric("torus", 4, 4)))) == []


@pytest.mark.parametrize(
    ("key", "value", "fault"),
    [
        ("gridPos", {"h": 8, "w": "wide", "x": 0, "y": 0}, "panels.0.grid_pos.w"),
        ("gridpos", {"h": 8}, "panels.0.gridpos"),
        ("title", 7, "panels.0.title"),
        ("transparent", "no", "panels.0.transparent"),
        ("fieldConfig", {"defaults": {"unitt": "watt"}, "overrides": []}, "panels.0.fieldConfig.defaults.unitt"),
    ],
)
def test_grafanas_types_refuse_what_is_wrong(key, value, fault):
    page = json.loads(dashboard(make_fabric("torus", 4, 4)))
    page["panels"][0][key] = value
    assert fault in grafana.faults(page)
