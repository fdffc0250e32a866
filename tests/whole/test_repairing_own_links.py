"""A cable is pulled that a network with links of its own has no other for: the repair refuses and names the network."""

import pytest

from command_line.terminal import Terminal
from tagloom.lab import process

pytestmark = pytest.mark.slow

FABRIC = """name: lab
model: powerconnect-5324
shape: {family: ring, dims: [3], hosts: 2, parallel: 2}
networks: {compute: [h0, h2, h4], storage: {hosts: [h1, h3], routing: tree, links: ["s0:g3"]}}
"""


def test_a_network_whose_own_links_no_longer_connect_it_is_named_and_nothing_is_sent(tmp_path):
    terminal = Terminal(tmp_path)
    (terminal.home / "f.yml").write_text(FABRIC)
    terminal("plan", "f.yml", "-o", "b")
    with terminal.lab("f.yml", ("apply", "b", "--allow", "interrupt")):
        process.fault(terminal.rack, "s0", "cable", port="g3")
        before = process.configurations(terminal.rack)
        page = terminal.answer("repair", expect=2)
        why = {"where": "networks.storage.links", "expected": "links to connect its hosts", "actual": "no way to s1"}
        assert page["findings"] == [why]
        assert process.configurations(terminal.rack) == before
