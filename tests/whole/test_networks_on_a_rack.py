"""Several networks on a rack over real SSH: a host changes its network while all others go on, and nothing crosses."""

import pytest

from terminal import Terminal

FABRIC = "name: lab\nmodel: powerconnect-5324\nshape: {family: mesh, dims: [3], hosts: 2}\n"
NETWORKS = {"old": "{compute: [h0, h2, h4], storage: [h1, h3]}", "new": "{compute: [h0, h2], storage: [h1, h3, h4]}"}


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
