"""Virtual machines start and migrate on a rack that runs: tables or a list show it, and a proven rollout follows."""

from dataclasses import replace

import pytest

from command_line.terminal import Terminal
from tagloom.lab import process
from tagloom.read import read_fabric

pytestmark = pytest.mark.slow

FABRIC = """name: machines
model: powerconnect-5324
shape: {family: ring, dims: [4]}
hosts:
  h0: {mac: "00:1e:c9:00:00:00", mac_prefix: "52:54:00"}
  h1: {mac: "00:1e:c9:00:00:01"}
  h2: {mac: "00:1e:c9:00:00:02", mac_prefix: "52:54:00"}   # the other hypervisor
  h3: {mac: "00:1e:c9:00:00:03"}
"""
MACHINE = "52:54:00:00:00:07"


@pytest.mark.daily
def test_a_machine_that_starts_and_then_migrates_is_followed(tmp_path):
    terminal = Terminal(tmp_path)
    (tmp_path / "f.yml").write_text(FABRIC)
    own, machine = read_fabric(tmp_path / "f.yml").hosts, int(MACHINE.replace(":", ""), 16)

    def machine_at(name):
        process.plug(terminal.rack, [replace(each, also=(machine,)) if each.name == name else each for each in own])
        return process.ping(terminal.rack)["overheard"]

    terminal("plan", "f.yml", "-o", "b")
    with terminal.lab("f.yml", ("apply", "b", "--allow", "interrupt")):
        assert machine_at(None) == []
        assert machine_at("h0"), "frames to it are flooded"
        every = ("--every", "0.1s", "--count", 5)
        page = terminal.answer("hosts", "learn", "f.yml", "--watch", "b", "--proposal", "started", *every, expect=1)
        assert [(each["host"], each["mac"], each["before"]) for each in page["learned"]] == [
            ("h0", MACHINE, "00:1e:c9:00:00:00")
        ]
        assert (page["changed"], page["wrote"], page["rollout"]["hitless"]) == ([], "started", True)
        terminal("hosts", "learn", "f.yml")
        terminal("apply", "started")
        assert machine_at("h0") == []

        (tmp_path / "machines").write_text(f"{MACHINE} h0\n")
        watch = ("hosts", "import", "machines", "f.yml", "--watch", "started/build", "--proposal", "migrated", *every)
        assert terminal.answer(*watch)["rollout"] == {}
        (tmp_path / "machines").write_text(f"{MACHINE} h2\n")
        page = terminal.answer(*watch, expect=1)
        assert {each["host"]: (each["macs"], each["migrated"]) for each in page["changed"]} == {
            "h0": (["00:1e:c9:00:00:00"], [MACHINE]),
            "h2": (["00:1e:c9:00:00:02", MACHINE], [MACHINE]),
        }
        assert page["rollout"]["hitless"]
        terminal("hosts", "import", "machines", "f.yml", expect=1)
        terminal("hosts", "import", "machines", "f.yml", "--replace")
        terminal("apply", "migrated")
        assert machine_at("h2") == []
        assert terminal.answer("lab", "ping")["lost"] == 0
    hosts = {host.name: (host.macs, host.prefixes) for host in read_fabric(tmp_path / "f.yml").hosts}
    assert (hosts["h0"], hosts["h2"]) == (((own[0].mac,), ("52:54:00",)), ((own[2].mac, machine), ("52:54:00",)))
    assert "# the other hypervisor" in (tmp_path / "f.yml").read_text()
