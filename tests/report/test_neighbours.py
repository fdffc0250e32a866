"""What other tools are given: read as they read it, and compared with the fabric."""

import json
import re
import shlex
import subprocess
from contextlib import closing
from string import ascii_uppercase

import networkx as nx
import pytest
import yaml

from fabrics import make_fabric, make_irregular
from tagloom.adapters.clock_metrics import ClockMetrics
from tagloom.adapters.exporter import Exporter
from tagloom.platforms.port_names import link_ends
from tagloom.records.timetable import ClockStatus
from tagloom.report.batfish import layer1
from tagloom.report.monitoring import PANELS, RULES, alert_rules, dashboard
from tagloom.report.slurm import host_list, topology_conf

FABRICS = {
    "torus": make_fabric("torus", 4, 4, 2, hosts=2),
    "hypercube": make_fabric("hypercube", 4),
    "fat-tree": make_fabric("fat-tree", 2, 4, 2),
    "tree": make_fabric("tree", 3, 2),
    "dragonfly": make_fabric("dragonfly", 5, 2),
    "irregular": make_irregular([1, 1, 0, 2], [(0, 1), (1, 2), (2, 3)]),
}


@pytest.fixture(scope="module")
def bridges(tmp_path_factory):
    """Return a build of Linux bridges, with a link off."""
    from tagloom.cli import main  # noqa: PLC0415 - beside its one use

    home = tmp_path_factory.mktemp("bridges")
    (home / "f.yml").write_text("name: square\nmodel: linux-bridge\nshape: {family: mesh, dims: [2, 2], parallel: 2}\n")
    assert main(["plan", str(home / "f.yml"), "--off", "s0:swp2", "-o", str(home / "b")]) == 0
    return home


# --- labs ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["containerlab", "netlab"])
def test_a_lab_has_every_port_that_a_script_sets_and_runs_that_very_script(bridges, run, kind):
    (bridges / "lab").mkdir(exist_ok=True)
    assert run("export", kind, bridges / "b", "-o", bridges / "lab" / "t.yml")[0] == 0
    page = yaml.safe_load((bridges / "lab" / "t.yml").read_text())
    if kind == "containerlab":
        nodes, links = page["topology"]["nodes"], [each["endpoints"] for each in page["topology"]["links"]]
        binds = {name: node.get("binds", []) for name, node in nodes.items()}
        lines = {name: node["exec"] for name, node in nodes.items()}
    else:
        nodes = page["nodes"]
        links = [[f"{end['node']}:{end['ifname']}" for end in each["interfaces"]] for each in page["links"]]
        assert all(each["prefix"] is False for each in page["links"])
        binds = {name: [f"{a}:{b}" for a, b in node["clab"].get("binds", {}).items()] for name, node in nodes.items()}
        lines = {name: node["clab"]["exec"] for name, node in nodes.items()}
    ends = [end for link in links for end in link]
    assert len(ends) == len(set(ends)) == 2 * (8 + 4)
    for s in range(4):
        (bind,) = binds[f"s{s}"]
        source, inside, mode = bind.split(":")
        script = (bridges / "lab" / source).resolve()
        assert script == (bridges / "b" / "configs" / f"s{s}.cfg").resolve()
        assert (lines[f"s{s}"], mode) == ([f"sh {inside}"], "ro")
        named = set(re.findall(r"\bdev (swp\d+)", script.read_text()))
        assert named == {end.partition(":")[2] for end in ends if end.startswith(f"s{s}:")}
    macs = [re.findall(r"address ([0-9a-f:]{17})", " ".join(lines[f"h{h}"])) for h in range(4)]
    static = {
        mac for s in range(4) for mac in re.findall(r"replace (\S+)", (bridges / f"b/configs/s{s}.cfg").read_text())
    }
    assert {mac for (mac,) in macs} == static
    assert len({shlex.split(lines[f"h{h}"][1])[3] for h in range(4)}) == 4  # an IP address each


def test_switches_that_no_container_runs_and_a_fabric_without_a_plan_are_findings(tmp_path, bridges, run):
    (tmp_path / "f.yml").write_text("name: ring\nmodel: powerconnect-5324\nshape: {family: ring, dims: [3]}\n")
    assert run("plan", tmp_path / "f.yml", "-o", tmp_path / "b")[0] == 0
    status, _, err = run("export", "containerlab", tmp_path / "b")
    assert status == 2
    assert err.count("expected linux-bridge, whose texts a container runs, actual powerconnect-5324") == 3
    status, _, err = run("export", "netlab", bridges / "f.yml")
    assert status == 2
    assert "expected a build" in err


# --- Slurm -----------------------------------------------------------------------------------------------------------


def expanded(words):
    """Give the names of a Slurm host list, by its documentation: prefix[first-last,...], numbers padded like first."""
    for part in re.findall(r"[^,\[]+(?:\[[^\]]*\])?", words):
        prefix, _, numbers = part.rstrip("]").partition("[")
        for span in numbers.split(",") if numbers else [None]:
            first, _, last = (span or "").partition("-")
            yield from (
                [prefix]
                if span is None
                else (f"{prefix}{n:0{len(first)}d}" for n in range(int(first), int(last or first) + 1))
            )


def tree_of(text):
    """Give what Slurm reads: a graph from switch to what is below it."""
    graph = nx.DiGraph()
    for line in text.splitlines():
        if not line.startswith("#"):
            words = dict(word.split("=", 1) for word in line.split())
            assert set(words) in ({"SwitchName", "Nodes"}, {"SwitchName", "Switches"})
            kind = "Nodes" if "Nodes" in words else "Switches"
            graph.add_edges_from((words["SwitchName"], each) for each in expanded(words[kind]))
    return graph


@pytest.mark.parametrize("name", FABRICS)
def test_slurm_reads_one_tree_whose_leaves_are_the_hosts_at_their_switches(name):
    fabric = FABRICS[name]
    tree = tree_of(topology_conf(fabric))
    assert nx.is_arborescence(tree)
    assert {node for node in tree if not tree.out_degree(node)} == {host.name for host in fabric.hosts}
    for host in fabric.hosts:
        assert list(tree.predecessors(host.name)) == [fabric.switches[host.switch].name]


def test_slurm_has_near_switches_under_one():
    rows = tree_of(topology_conf(FABRICS["torus"]))
    assert set(rows["group-1-1"]) == {"s4", "s5", "s6", "s7"}
    assert set(rows["group-2-1"]) == {f"group-1-{n}" for n in range(4, 8)}
    levels = tree_of(topology_conf(FABRICS["fat-tree"]))
    near = set(levels["group-1-0"])
    fabric = FABRICS["fat-tree"]
    above = [set(fabric.graph[name]) for name in near]
    assert len(near) == 4
    assert all(each == above[0] for each in above)  # the leaves of one subtree, which share their switches above


def test_a_group_takes_no_name_of_a_switch_and_one_switch_needs_no_group():
    assert "SwitchName=group" not in topology_conf(make_irregular([3], []))


@pytest.mark.parametrize(
    "names", [["h0", "h1", "h2", "h5"], ["n08", "n09", "n10", "n11"], ["h9", "h10", "login"], ["a", "b"], ["x7"]]
)
def test_a_host_list_is_read_as_the_names_it_was_written_from(names):
    assert list(expanded(host_list(names))) == names


# --- Batfish ---------------------------------------------------------------------------------------------------------


def test_batfish_is_given_every_cable_at_its_ports():
    fabric = FABRICS["torus"]
    edges = json.loads(layer1(fabric))["edges"]
    assert all(set(edge) == {"node1", "node2"} for edge in edges), "as Batfish documents it"
    assert all(set(end) == {"hostname", "interfaceName"} for edge in edges for end in edge.values())
    assert all(end["hostname"] == end["hostname"].lower() for edge in edges for end in edge.values())
    found = [frozenset(f"{end['hostname']}:{end['interfaceName']}" for end in edge.values()) for edge in edges]
    assert found[: len(fabric.links)] == [frozenset(link_ends(fabric, i)) for i in range(len(fabric.links))]
    assert len(found) == len(set(found)) == len(fabric.links) + len(fabric.hosts)


# --- Prometheus and Grafana ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def exported():
    """Return the name of every metric that observe and run export, as Prometheus stores it."""
    clock = ClockMetrics(None, None)
    clock.show(ClockStatus(0.0, (), "", False, 0, 0.0, 0.0, 0.0, 0, 0.0, 0, 0))
    with closing(Exporter(("127.0.0.1", 0))) as exporter:
        exporter.show({}, 0)
        metrics = [*exporter.collect(), *clock.collect()]
    return {f"{each.name}_total" if each.type == "counter" else each.name: each for each in metrics}


def test_rules_and_panels_ask_for_nothing_that_is_not_exported(exported):
    expressions = [rule[1] for rule in RULES] + [words for panel in PANELS for words, _ in panel[2]]
    names = {name for words in expressions for name in re.findall(r"tagloom_\w+", words)}
    assert names <= set(exported)
    labels = {"switch", "port", "settings"}
    legends = [rule[4] for rule in RULES] + [legend for panel in PANELS for _, legend in panel[2]]
    assert {name for words in legends for name in re.findall(r"{{ ?(?:\$labels\.)?(\w+) ?}}", words)} <= labels


def test_a_dashboard_is_whole_and_its_panels_do_not_overlap():
    page = json.loads(dashboard(FABRICS["torus"]))
    places = set()
    for panel in page["panels"]:
        at = panel["gridPos"]
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert not cells & places
        assert max(x for x, _ in cells) < 24
        places |= cells
        assert "".join(target["refId"] for target in panel["targets"]) == ascii_uppercase[: len(panel["targets"])]
        assert panel["datasource"]["uid"] == "${source}"
    assert [each["name"] for each in page["templating"]["list"]] == ["source"]
    assert len({panel["id"] for panel in page["panels"]}) == len(PANELS)


def test_every_rule_has_what_prometheus_wants():
    (group,) = yaml.safe_load(alert_rules(FABRICS["torus"]))["groups"]
    assert group["name"]
    for rule in group["rules"]:
        assert set(rule) == {"alert", "expr", "for", "labels", "annotations"}
        assert re.fullmatch(r"[A-Za-z_]\w*", rule["alert"])
        assert re.fullmatch(r"\d+[smhd]", rule["for"])
        assert rule["expr"].count("(") == rule["expr"].count(")")
    assert len({rule["alert"] for rule in group["rules"]}) == len(RULES)


CASES = """
rule_files: [rules.yml]
evaluation_interval: 1m
tests:
- interval: 1m
  input_series:
  - {series: 'tagloom_switch_up{switch="s0"}', values: '1x30'}
  - {series: 'tagloom_switch_up{switch="s1"}', values: '0x30'}
  - {series: 'tagloom_port_oper_up{switch="s0", port="g1"}', values: '1x10 0x20'}
  - {series: 'tagloom_port_admin_up{switch="s0", port="g1"}', values: '1x30'}
  - {series: 'tagloom_port_oper_up{switch="s0", port="g2"}', values: '1x10 0x20'}
  - {series: 'tagloom_port_admin_up{switch="s0", port="g2"}', values: '1x10 0x20'}
  - {series: 'tagloom_port_oper_up{switch="s0", port="g3"}', values: '0x30'}
  - {series: 'tagloom_port_admin_up{switch="s0", port="g3"}', values: '1x30'}
  - {series: 'tagloom_run_pairs_cut', values: '0x20 4x10'}
  alert_rule_test:
  - eval_time: 20m
    alertname: TagloomSwitchSilent
    exp_alerts:
    - exp_labels: {severity: critical, switch: s1}
      exp_annotations: {summary: s1 does not answer over SNMP}
  - eval_time: 20m
    alertname: TagloomPortLost
    exp_alerts:
    - exp_labels: {severity: critical, switch: s0, port: g1}
      exp_annotations: {summary: 's0:g1 lost its link: tagloom repair --check'}
  - {eval_time: 20m, alertname: TagloomPairsCut, exp_alerts: []}
  - eval_time: 25m
    alertname: TagloomPairsCut
    exp_alerts:
    - exp_labels: {severity: critical}
      exp_annotations: {summary: '4 pairs of hosts are cut off, after the last repair'}
"""


@pytest.mark.needs("promtool")
def test_prometheus_takes_the_rules_and_fires_them_where_it_should_alone(tmp_path):
    (tmp_path / "rules.yml").write_text(alert_rules(FABRICS["torus"]))
    (tmp_path / "cases.yml").write_text(CASES)
    for words in (["check", "rules", "rules.yml"], ["test", "rules", "cases.yml"]):
        done = subprocess.run(["promtool", *words], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
