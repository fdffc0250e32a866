"""A cable parts a fabric on the rack: the smaller part goes on by itself, and is not called dead."""

import pytest

from command_line.terminal import Terminal
from tagloom.lab import process

pytestmark = [pytest.mark.slow, pytest.mark.long]

STAR = """name: parted
model: powerconnect-5324
switches: {s0: , s1: , s2: , s3: , s4: }
hosts:
  a: {switch: s0, port: g10, mac: "02:00:00:00:77:10"}
  b: {switch: s0, port: g11, mac: "02:00:00:00:77:11"}
  c: {switch: s0, port: g12, mac: "02:00:00:00:77:12"}
  d: {switch: s2, port: g10, mac: "02:00:00:00:77:13"}
  e: {switch: s3, port: g10, mac: "02:00:00:00:77:14"}
links:
  - ["s0:g1", "s1:g1"]
  - ["s1:g2", "s2:g1"]
  - ["s1:g3", "s3:g1"]
  - ["s2:g2", "s4:g1"]
  - ["s3:g2", "s4:g2"]
"""
BROKEN = STAR.replace('["s1:g2", "s2:g1"]', '{ends: ["s1:g2", "s2:g1"], state: down}')


def lost(terminal):
    return terminal.answer("lab", "ping", expect=1)["lost"]


def test_a_second_cable_in_the_smaller_part_is_led_around_by_hand(tmp_path):
    terminal = Terminal(tmp_path)
    for name, text in {"whole": STAR, "broken": BROKEN}.items():
        (terminal.home / f"{name}.yml").write_text(text)
    terminal("plan", "whole.yml", "-o", "whole")
    terminal("plan", "broken.yml", "-o", "broken", "--previous", "whole")
    with terminal.lab("whole.yml"):
        terminal("apply", "whole", "--allow", "interrupt")
        process.fault(terminal.rack, "s0", "cable", port="g1")
        page = terminal.answer("repair")
        assert (page["dead_switches"], page["dead_links"]) == ([], ["s0:g1 - s1:g1"])
        assert (page["pairs_cut"], page["pairs_apart"], page["hosts_apart"]) == (12, 12, ["d", "e"])
        assert lost(terminal) == 12
        process.fault(terminal.rack, "s1", "cable", port="g2")
        assert terminal.answer("repair")["changed"] == []
        assert lost(terminal) == 14
        assert terminal.answer("apply", "broken", "--allow", "interrupt")["failed"] == []
        assert lost(terminal) == 12
