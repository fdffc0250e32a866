"""The laws of text and change: rendering loses nothing, and the lines of a difference produce it."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strategies import switch_states
from tagloom.platforms import firmware_choices, iproute2, load, routeros
from tagloom.platforms.factory import factory
from tagloom.platforms.grammar import CONFIG
from tagloom.platforms.interpreter import Interpreter, OutcomeKind
from tagloom.records.change import Patch, apply_changes, difference
from tagloom.records.switch_state import SwitchEditor
from tagloom.render import parse_configuration, render_commands, render_configuration
from tagloom.render.steps import LONGEST_LINE
from thinned import examples

TEMPLATES = Path(__file__).parents[2] / "templates"
# Every model of a family reads and writes the same lines; every choice of firmware its own.
EACH_MODEL = pytest.mark.parametrize(
    ("model", "firmware"),
    [
        (model, firmware)
        for model in (
            "powerconnect-5324",
            "powerconnect-5548",
            "cisco-cbs350-24t-4g",
            "powerconnect-6224",
            "powerconnect-7024",
            "n-series",
            "linux-bridge",
            "mikrotik-crs326-24g-2s",
            "hpe-5130-24g-4sfp",
            "huawei-s5731-s24t4x",
            "arista-7050tx-64",
        )
        for firmware in (
            (),
            *(((v, c),) for v, choices in firmware_choices(model).items() if v != "lldp" for c in choices[1:]),
        )
    ],
    ids=lambda value: value if isinstance(value, str) else "=".join(*value) if value else "default",
)
LAW = examples(40)


def interpreter_of(platform, editor):
    kinds = {iproute2.FAMILY: iproute2.Shell, routeros.FAMILY: routeros.Menus}
    return kinds.get(platform.grammar, Interpreter)(platform, editor)


@EACH_MODEL
@LAW
@given(data=st.data())
def test_what_is_rendered_parses_back_to_the_same_state_with_nothing_unknown(model, firmware, data):
    platform = load(model, firmware)
    state = data.draw(switch_states(platform))
    parsed = parse_configuration(platform, render_configuration(platform, state, TEMPLATES))
    assert parsed.unknown == ()
    assert parsed.state == state


@EACH_MODEL
@LAW
@given(data=st.data())
def test_a_factory_switch_takes_every_rendered_line_and_ends_in_the_state(model, firmware, data):
    platform = load(model, firmware)
    state = data.draw(switch_states(platform))
    interpreter = interpreter_of(platform, factory(platform))
    for line in render_configuration(platform, state, TEMPLATES).splitlines():
        outcome = interpreter.feed(line)
        assert outcome.accepted, (line, outcome)
    assert interpreter.editor.freeze() == state


@EACH_MODEL
@LAW
@given(data=st.data())
def test_changes_lead_from_one_state_to_the_other_and_back(model, firmware, data):
    platform = load(model, firmware)
    before, after = data.draw(switch_states(platform)), data.draw(switch_states(platform))
    changes = difference(before, after)
    assert apply_changes(before, changes) == after
    assert apply_changes(after, Patch("s0", changes).inverse.changes) == before
    assert (changes == ()) == (before == after)


@EACH_MODEL
@LAW
@given(data=st.data())
def test_the_commands_of_a_difference_are_all_accepted_and_make_it_and_its_inverse(model, firmware, data):
    platform = load(model, firmware)
    before, after = data.draw(switch_states(platform)), data.draw(switch_states(platform))
    interpreter = interpreter_of(platform, SwitchEditor.of(before))
    changes = difference(before, after)
    for step, start, goal in ((changes, before, after), (Patch("s0", changes).inverse.changes, after, before)):
        for line in render_commands(platform, step, start):
            outcome = interpreter.feed(line)
            assert outcome.accepted, (line, outcome)
            assert outcome.kind is not OutcomeKind.LEFT, line
            assert len(line) <= LONGEST_LINE
        assert getattr(interpreter, "context", CONFIG) == CONFIG
        assert interpreter.editor.freeze() == goal


@EACH_MODEL
@LAW
@given(data=st.data())
def test_no_damage_to_a_text_breaks_the_parser(model, firmware, data):
    platform = load(model, firmware)
    lines = render_configuration(platform, data.draw(switch_states(platform)), TEMPLATES).split("\n")
    for at in data.draw(st.lists(st.integers(0, len(lines) - 1), max_size=4)):
        words = lines[at].split(" ")
        words[data.draw(st.integers(0, len(words) - 1))] = data.draw(st.text(max_size=12))
        lines[at] = " ".join(words)
    parsed = parse_configuration(platform, "\n".join(lines))
    for unknown in parsed.unknown:
        assert 1 <= unknown.number <= len("\n".join(lines).split("\n"))


@EACH_MODEL
@LAW
@given(data=st.data())
def test_a_port_or_vlan_line_that_is_lost_or_spoilt_never_goes_unseen(model, firmware, data):
    """What a text says differs from the state it was made of, or the line is reported."""
    platform = load(model, firmware)
    state = data.draw(switch_states(platform))
    lines = render_configuration(platform, state, TEMPLATES).splitlines()
    ours = (
        "switchport",
        "bridge address",
        "bridge vlan",
        "bridge fdb",
        "shutdown",
        "ip link",
        "ethtool",
        "/interface",
        "port ",
        "mac-address",
        "mac address-table static",
    )
    telling = [at for at, line in enumerate(lines) if line.startswith(ours)]
    if not telling:
        return
    at = data.draw(st.sampled_from(telling))
    spoilt = [*lines[:at], lines[at] + " wonder", *lines[at + 1 :]]
    parsed = parse_configuration(platform, "\n".join(spoilt))
    assert [unknown.number for unknown in parsed.unknown if unknown.text.endswith("wonder")] == [at + 1]
