"""Several networks on a rack over real SSH: a host changes its network while all others go on, and nothing crosses."""

import pytest

from command_line.terminal import Terminal
from tagloom import pipeline
from tagloom.lab import process
from tagloom.lab.dataplane import Dataplane
from tagloom.read import read_fabric

pytestmark = pytest.mark.slow

FABRIC = "name: lab\nmodel: powerconnect-5324\nshape: {family: mesh, dims: [3], hosts: 2}\n"
NETWORKS = {"old": "{compute: [h0, h2, h4], storage: [h1, h3]}", "new": "{compute: [h0, h2], storage: [h1, h3, h4]}"}
STORAGE = "{compute: [h0, h2, h4], storage: {hosts: [h1, h3], tagged: %s, vlan: 20}}"
TAGGED = {"one": "[h0]", "two": "[h2, h4]", "all": "[h0, h2, h4]"}  # all: what is plugged in


@pytest.fixture(scope="module")
def terminal(tmp_path_factory):
    """Return a terminal with a rack as from the factory, and two plans for it."""
    terminal = Terminal(tmp_path_factory.mktemp("networks"))
    for name, networks in NETWORKS.items():
        (terminal.home / f"{name}.yml").write_text(f"{FABRIC}networks: {networks}\n")
    terminal("plan", "old.yml", "-o", "old")
    terminal("plan", "new.yml", "-o", "new", "--keep", "old")
    with terminal.lab("old.yml"):
        yield terminal


def reached(terminal):
    """Return the pairs of one network that a frame reaches, and those of two between which one was heard."""
    ping = terminal.answer("lab", "ping")
    return ping["reached"], ping["lost"], ping["overheard"]


def test_a_host_changes_its_network_by_the_new_build_and_goes_back(terminal):
    terminal.answer("apply", "old", "--allow", "interrupt")
    assert reached(terminal) == (8, 0, [])
    answered = terminal.answer("apply", "new")
    assert (answered["hitless"], answered["interrupted_pairs"]) == (True, 0)
    assert terminal.answer("lab", "ping", "h4", "h1")["reached"] == 1
    assert terminal.answer("lab", "ping", "h4", "h0", expect=1)["reached"] == 0
    terminal.answer("rollback")
    assert reached(terminal) == (8, 0, [])


@pytest.fixture
def trunks(tmp_path):
    """Return a terminal with a rack whose hosts send tagged too, and two plans by which other ports carry storage."""
    terminal = Terminal(tmp_path)
    for name, tagged in TAGGED.items():
        (terminal.home / f"{name}.yml").write_text(f"{FABRIC}networks: {STORAGE % tagged}\n")
    terminal("plan", "one.yml", "-o", "one")
    terminal("plan", "two.yml", "-o", "two", "--keep", "one")
    with terminal.lab("all.yml"):
        yield terminal


def in_storage(terminal):
    """Return the hosts that send tagged and reach h1; no network hears another."""
    fabric = read_fabric(terminal.home / "all.yml")
    network = {host.name: host.network for host in fabric.hosts}
    ping = terminal.answer("lab", "ping", expect=1)  # not all that are plugged in reach one another
    assert [(a, b) for a, b in ping["overheard"] if network[a] != network[b]] == []
    plane = Dataplane(fabric, pipeline.parse(fabric, process.configurations(terminal.rack))[0])
    tagged = (name for name in network if name.endswith("@storage"))
    return [name for name in tagged if plane.unicast(name, "h1").delivered_to == {"h1": 1}]


@pytest.mark.daily
def test_ports_leave_a_tagged_network_and_others_join_it_and_all_goes_back(trunks):
    trunks.answer("apply", "one", "--allow", "interrupt")
    assert in_storage(trunks) == ["h0@storage"]
    asked = trunks.answer("rollout", "one", "two", "-o", "change")
    assert (asked["pairs_kept"], asked["pairs_added"], asked["pairs_removed"], asked["hitless"]) == (8, 10, 4, True)
    answered = trunks.answer("apply", "two")
    assert (answered["hitless"], answered["interrupted_pairs"]) == (True, 0)
    assert in_storage(trunks) == ["h2@storage", "h4@storage"]
    trunks.answer("rollback")
    assert in_storage(trunks) == ["h0@storage"]
