"""Hosts whose MAC addresses tagloom made up: the virtual rack takes entries for them, real switches never do."""

import pytest

from command_line.terminal import Terminal
from fabrics import make_fabric
from tagloom.errors import PlanError
from tagloom.lab import process
from tagloom.operate.waves import refuse_invented_addresses
from tagloom.read.fabric_file import parse_fabric
from tagloom.read.fabric_text import format_fabric


@pytest.mark.parametrize(
    ("address", "refused"),
    [
        *[("127.0.0.1", False), ("127.78.0.1", False), ("::1", False), ("localhost", False)],
        *[("192.0.2.1", True), ("2001:db8::1", True), ("s1.rack.example", True), ("127.1", True)],
    ],
)
def test_all_switches_but_those_on_loopback_are_real(address, refused):
    made_up = make_fabric("ring", 3)
    places = {"s0": ("127.0.0.1", 2201), "s1": (address, 22)}
    if refused:
        with pytest.raises(PlanError, match="h0 and 2 more have addresses that tagloom made up; s1 is no rack's"):
            refuse_invented_addresses(made_up, places)
    else:
        refuse_invented_addresses(made_up, places)
    own = format_fabric(made_up).replace('"02:00:00:', '"00:1e:c9:')
    refuse_invented_addresses(parse_fabric(own, "own"), places)


def test_a_push_to_real_switches_is_refused_before_a_line_is_sent(tmp_path):
    """By another spelling of the rack's address, which is none that a rack has."""
    terminal = Terminal(tmp_path)
    terminal("new", "ring", "--dims", 3, "-o", "f.yml")
    terminal("plan", "f.yml", "-o", "b")
    terminal("lab", "up", "f.yml")
    try:
        before = process.configurations(terminal.rack)
        for path in terminal.rack.iterdir():
            if path.name in {"fabric.yml", "tagloom.yml", "known_hosts"}:
                path.write_text(path.read_text().replace("127.0.0.1", "LOCALHOST"))
        page = terminal.answer("apply", "b", "--allow", "interrupt", expect=1)
        assert "addresses that hosts have" in page["refused"]
        assert "tagloom made up" in page["witness"]
        assert process.configurations(terminal.rack) == before
    finally:
        terminal("lab", "down")
