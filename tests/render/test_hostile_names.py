"""A VLAN's name is written whole or refused: no name brings a line of its own into a text, in any model's."""

import pytest

from fabrics import ROOT
from tagloom import platforms
from tagloom.errors import PlanError
from tagloom.platforms.factory import factory_state
from tagloom.records.change import difference
from tagloom.records.switch_state import OWNED_VLAN_NAME, Membership, PortMode, SwitchEditor
from tagloom.render import parse_configuration, render_commands, render_configuration

NAMES = [
    "storage",
    "two words",
    'say "x"',
    "two\nshutdown",
    "two\rshutdown",
    "tab\there",
    "two  blanks",
    " leads",
    "trails ",
    "esc\x1b]0;x\x07",
    "n" * 250,
    "$(reboot)",
    "a;reboot",
    "a'b",
    "a\\b",
    "a!b",
    "a?b",
    "#no",
    "%s",
    "{{ 7 * 7 }}",
]


BRIDGES = ("linux-bridge", "routeros")  # all VLANs of such a bridge are tagloom's, and have no names
NAMELESS = [model for model in platforms.models() if platforms.load(model).grammar in BRIDGES]
NAMING = [model for model in platforms.models() if platforms.load(model).grammar not in ("", *BRIDGES)]


def named(platform, name, mode):
    """Return a switch from the factory, and one with a VLAN of that name, tagged at two ports."""
    before = factory_state(platform)
    editor = SwitchEditor.of(before)
    editor.create_vlan(7)
    editor.name_vlan(7, name)
    for port in (1, 2):
        editor.mode[port - 1] = mode
        editor.set_member(7, port, Membership.TAGGED)
    return before, editor.freeze()


def text_of(platform, state):
    """Return a text, or "" where it is refused."""
    try:
        return render_configuration(platform, state, ROOT / "templates")
    except PlanError:
        return ""


@pytest.mark.parametrize("model", NAMING)
def test_a_name_is_read_back_as_it_was_or_refused_there_and_in_commands(model):
    platform = platforms.load(model)
    mode = next(mode for mode in (PortMode.GENERAL, PortMode.TRUNK) if text_of(platform, named(platform, "a", mode)[1]))
    written = []
    for name in NAMES:
        before, wanted = named(platform, name, mode)
        if text := text_of(platform, wanted):
            reading = parse_configuration(platform, text)
            assert reading.unknown == (), name
            assert reading.state == wanted, name
            written.append(name)
        else:
            with pytest.raises(PlanError):
                render_commands(platform, difference(before, wanted), before)
    assert NAMES[0] in written
    assert not {name for name in written if not name.isprintable()}


@pytest.mark.parametrize("model", NAMELESS)
def test_where_vlans_have_no_names_none_is_written(model):
    platform = platforms.load(model)
    assert text_of(platform, named(platform, OWNED_VLAN_NAME, PortMode.GENERAL)[1])
    for name in NAMES:
        assert not text_of(platform, named(platform, name, PortMode.GENERAL)[1])
