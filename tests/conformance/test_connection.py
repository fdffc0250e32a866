"""Say what every connection to a switch must do; nothing here knows whether the switch is virtual."""

import re
from pathlib import Path

import pytest

from tagloom.errors import DeviceError
from tagloom.platforms.detect import by_text
from tagloom.platforms.factory import factory
from tagloom.platforms.grammar import Grammar
from tagloom.records.change import Cell, Change, difference
from tagloom.records.switch_state import DISCARD_PVID, Membership, PortMode, SwitchEditor
from tagloom.render import parse_configuration, render_commands

TEMPLATES = Path(__file__).parents[2] / "templates"
VLAN = 3999


def with_probe(platform, state):
    """Give the state with a VLAN of the tests' own; on a bridge a VLAN is there while a port is in it."""
    editor = SwitchEditor.of(state)
    editor.create_vlan(VLAN)
    if platform.has_modes:
        editor.name_vlan(VLAN, "tagloom-probe")
        return editor.freeze()
    editor.name_vlan(VLAN, "tagloom")
    editor.mode[0], editor.pvid[0], editor.spanning_tree = PortMode.GENERAL, DISCARD_PVID, False
    editor.set_member(1, 1, Membership.NONE)
    editor.set_member(VLAN, 1, Membership.TAGGED)
    return editor.freeze()


@pytest.fixture
def lines(platform):
    if not platform.has_modes:
        born = factory(platform).freeze()
        states = born, with_probe(platform, born)
        return tuple(list(render_commands(platform, difference(a, b), a)) for a, b in (states, states[::-1]))
    name = Change(Cell.VLAN_NAME, "", "tagloom-probe", vlan=VLAN)
    create = render_commands(platform, (Change(Cell.VLAN, 0, 1, vlan=VLAN), name))
    return list(create), list(render_commands(platform, (Change(Cell.VLAN, 1, 0, vlan=VLAN),)))


def foreign(text):
    """Give the lines of a running configuration that no plan of ours ever wrote."""
    others = (
        r"\s*(hostname|sysname|username|snmp-server|snmp-agent|logging|info-center|ip )"
        r'|.*"ifname":"(lo|eth0)"|/(ip|system) '
    )
    return [line for line in text.splitlines() if re.match(others, line)]


def is_there(text):
    """Tell whether a running configuration has the tests' own VLAN."""
    return re.search(rf"(?m)^\s*vlan .*\b{VLAN}\b|\"vlan\":{VLAN}\b|vlan-ids={VLAN}\b", text) is not None


def test_two_readings_of_an_idle_switch_are_the_same(log_in):
    with log_in() as switch:
        assert switch.running_configuration() == switch.running_configuration()


def test_the_running_configuration_is_whole_and_free_of_the_session(log_in):
    with log_in() as switch:
        text = switch.running_configuration()
    assert not re.search(r"\r|\x1b|More:|--More--|---- More|show running-config|display current|echo ", text)
    assert foreign(text)
    assert not re.search(r"[>#$] ?$|\n\[[\w-]+\]$", text)


def test_lines_are_done_and_undone_and_leave_no_trace(log_in, lines):
    create, delete = lines
    with log_in() as switch:
        before = switch.running_configuration()
        transcript = switch.send(create)
        assert [line for line, _ in transcript] == create
        between = switch.running_configuration()
        assert is_there(between)
        assert not is_there(before)
        switch.send(delete)
        assert switch.running_configuration() == before
        assert foreign(between) == foreign(before) != []


def test_what_it_shows_is_what_we_read(log_in, lines, platform):
    create, delete = lines
    with log_in() as switch:
        before = parse_configuration(platform, switch.running_configuration()).state
        switch.send(create)
        after = parse_configuration(platform, switch.running_configuration()).state
        switch.send(delete)
    assert after == with_probe(platform, before)


@pytest.fixture
def refused(platform):
    """Give lines of which the last takes away what is not there."""
    if platform.grammar == "linux-bridge":
        return [f"bridge vlan del dev nosuchport vid {VLAN}"]
    if not platform.has_modes:
        return [f"/interface bridge vlan remove [ find bridge=tagloom vlan-ids={VLAN} ]"]
    missing = Grammar.of(platform).line("vlan_delete", vlans=[VLAN])
    return (
        [Grammar.of(platform).line("vlan_database"), missing]
        if Grammar.of(platform).has("vlan_database")
        else [missing]
    )


def test_a_refused_line_names_itself_changes_nothing_and_leaves_the_session_usable(log_in, lines, refused, platform):
    with log_in() as switch:
        before = switch.running_configuration()
        with pytest.raises(DeviceError) as caught:
            switch.send([*refused, Grammar.of(platform).session.leave if platform.has_modes else "exit"])
        assert caught.value.command == refused[-1]
        assert caught.value.text
        assert switch.running_configuration() == before
        create, delete = lines
        switch.send(create)
        switch.send(delete)
        assert switch.running_configuration() == before


def test_an_unknown_word_is_refused(log_in):
    with log_in() as switch, pytest.raises(DeviceError):
        switch.send(["tagloom-knows-no-such-line"])


def test_batches_follow_one_another(log_in, lines):
    create, delete = lines
    with log_in() as switch:
        before = switch.running_configuration()
        for batch in (create, delete, create, delete):
            switch.send(batch)
        assert switch.running_configuration() == before


def test_saving_is_confirmed_and_the_session_goes_on(log_in):
    with log_in() as switch:
        switch.save()
        assert foreign(switch.running_configuration())


def test_two_sessions_see_one_switch(log_in, lines):
    create, delete = lines
    with log_in() as first, log_in() as second:
        first.send(create)
        assert is_there(second.running_configuration())
        first.send(delete)
        assert not is_there(second.running_configuration())


def test_a_wrong_password_is_refused(log_in):
    with pytest.raises(DeviceError), log_in(password="not-the-password"):
        pass


def test_it_says_what_it_is(log_in, platform):
    with log_in() as switch:
        assert by_text(switch.identity()).models == (platform.model,)
