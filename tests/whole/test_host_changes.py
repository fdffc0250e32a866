"""A card is exchanged and a host is moved while the fabric runs: both are seen, and a proven rollout follows them."""

import pytest

from command_line.terminal import Terminal
from tagloom.read import read_fabric

CARD, PLACE = 0xF1, ("s1", "g10")  # of h1 and h3 on the rack


def hosts(fabric, cards, places):
    """Give the words of a fabric file about its hosts: cards by host, and places that are none of the family's."""
    lines = []
    for host in fabric.hosts:
        place = ", switch: {}, port: {}".format(*places[host.name]) if host.name in places else ""
        lines.append(f'  {host.name}: {{mac: "00:1e:c9:00:00:{cards.get(host.name, host.mac & 0xFF):02x}"{place}}}\n')
    return "hosts:\n" + "".join(lines)


@pytest.mark.long  # tests/observe/test_hosts_learn.py shows in seconds what is proposed
def test_what_changed_is_seen_on_a_running_fabric_proposed_and_applied(tmp_path):
    """The rack's h1 has another card than the plan, and its h3 stands at another switch."""
    terminal = Terminal(tmp_path)
    terminal("new", "ring", "--dims", 4, "-o", "family.yml")
    family, fabric = (tmp_path / "family.yml").read_text(), read_fabric(tmp_path / "family.yml")
    (tmp_path / "f.yml").write_text(family + hosts(fabric, {}, {}))
    (tmp_path / "rack.yml").write_text(family + hosts(fabric, {"h1": CARD}, {"h3": PLACE}))
    terminal("lab", "up", "rack.yml")
    try:
        terminal("plan", "f.yml", "-o", "build")
        terminal("apply", "build", "--allow", "interrupt")
        assert terminal.answer("lab", "ping", expect=1)["lost"] > 0
        watch = ("hosts", "learn", "f.yml", "--watch", "build", "--proposal", "next", "--every", "0.2s", "--count", 5)
        page = terminal.answer(*watch, expect=1)
        assert {each["host"]: (each["mac"], each["where"], each["moved"]) for each in page["changed"]} == {
            "h1": ("00:1e:c9:00:00:f1", "s1:g3", False),
            "h3": ("00:1e:c9:00:00:03", ":".join(PLACE), True),
        }
        assert (page["silent"], page["wrote"]) == (["h0", "h2"], "next")
        assert page["rollout"]["hitless"]
        terminal("hosts", "learn", "f.yml", "--replace")
        terminal("apply", "next")
        assert terminal.answer("lab", "ping")["lost"] == 0
    finally:
        terminal("lab", "down")
    written, true = read_fabric(tmp_path / "f.yml"), read_fabric(tmp_path / "rack.yml")
    assert written.hosts == true.hosts
