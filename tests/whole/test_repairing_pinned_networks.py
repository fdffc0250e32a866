"""A cable is pulled under several networks with one VLAN each: pairs are led round it and home, and nothing crosses."""

import pytest

from command_line.terminal import Terminal
from tagloom import pipeline
from tagloom.lab import process
from tagloom.read import read_fabric
from tagloom.verify import verify

pytestmark = pytest.mark.slow

FABRIC = """name: lab
model: linux-bridge
shape: {family: ring, dims: [4], hosts: 2}
networks: {compute: [h0, h2, h4], storage: [h1, h3, h5, h7]}
"""
PAIRS = 3 * 2 + 4 * 3  # h6 is alone in `default`, at s3


@pytest.mark.long
def test_pairs_of_each_network_are_led_round_a_pulled_cable_and_home(tmp_path):
    terminal = Terminal(tmp_path)
    (terminal.home / "f.yml").write_text(FABRIC)
    terminal("plan", "f.yml", "--assignment", "pinned", "-o", "b")
    fabric = read_fabric(terminal.home / "f.yml")

    def heard(expect):
        ping = terminal.answer("lab", "ping", expect=expect)
        assert (ping["overheard"], ping["duplicated"], ping["storm"]) == ([], [], "")
        held = pipeline.parse(fabric, process.configurations(terminal.rack))[0]
        assert verify(fabric, held).isolated
        return ping["reached"]

    with terminal.lab("f.yml", ("apply", "b", "--allow", "interrupt")):
        assert heard(expect=0) == PAIRS
        for port in ("swp1", "swp2"):  # one cable is on the tree that floods keep to, the other is perhaps not
            process.fault(terminal.rack, "s0", "cable", port=port)
            left = heard(expect=1)
            page = terminal.answer("repair")
            assert (page["means"], page["hitless"], page["failed"]) == ("replan", True, [])
            assert page["pairs_cut"] == page["pairs_restored"] == PAIRS - left > 0
            assert heard(expect=0) == PAIRS
            process.mend(terminal.rack)
            assert terminal.answer("repair", "--hold", "0s")["hitless"]
            assert heard(expect=0) == PAIRS
