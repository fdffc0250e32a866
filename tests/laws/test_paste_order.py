"""Law: a text reported to work when pasted does so on the virtual rack's console, and no other does."""

from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabrics import ROOT, make_fabric
from tagloom import platforms
from tagloom.lab.device import Device
from tagloom.lab.server import console_of
from tagloom.pipeline import plan
from tagloom.platforms.grammar import Grammar
from tagloom.render import parse_configuration, read_text
from thinned import examples


@cache
def planned(model):
    fabric, platform = make_fabric("ring", 3, model=model), platforms.load(model)
    way = {"assignment": "pinned", "routing": "tree"} if platform.assignments[0] else {}
    return fabric.used_ports[0], plan(fabric, ROOT / "templates", **way)[2]["s0"].splitlines()


def pasted(platform, lines):
    """Type lines at a factory-fresh console inside `configure`: (whether it took all, the state it ends in)."""
    device = Device("s0", platform, render=lambda _: "")
    console, grammar = console_of(device), Grammar.of(platform)
    words = grammar.session
    console.start()
    console.feed("lab\nlab\nenable\n" if console.family.login_in_shell else f"{words.enable}\n")
    if words.configure not in lines:
        console.feed(f"{words.configure}\n")
    answers, in_vain = [], False  # whether something is typed after the switch has hung up
    for line in lines:
        if not line.startswith(words.comment):
            in_vain |= console.closed and line != words.leave
            said = console.feed(f"{line}\n")
            answers.append(said if console.at_prompt else said + console.feed("y\n"))  # some are asked about
    return not in_vain and not any(map(grammar.is_error, answers)), device.editor.freeze()


MODELS = [
    "powerconnect-5324",
    "powerconnect-5548",
    "cisco-cbs350-24t-4g",
    "powerconnect-6224",
    "n-series",
    "hpe-5130-24g-4sfp",
    "huawei-s5731-s24t4x",
    "arista-7010t-48",
]


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("more", ["", "leave", "end", "leave end", "leave end leave", "leave leave end"])
def test_what_ends_configuration_is_not_taken_where_it_has_ended(model, more):
    """Found by random texts: a line that ends all contexts was said to work outside of configuration."""
    platform = platforms.load(model)
    ports, lines = planned(model)
    words = Grammar.of(platform).session
    while lines[-1] in (words.leave, words.end, words.comment):
        lines = lines[:-1]
    lines = [
        *lines,
        *([words.leave] if words.configure in lines else []),
        *(getattr(words, each) for each in more.split()),
    ]
    text = "\n".join(lines) + "\n"
    took, state = pasted(platform, lines)
    assert state == parse_configuration(platform, text).state
    assert (not read_text(platform, text, "s0", ports).refused) == took
    assert took or "end" in more


@pytest.mark.parametrize("model", [*MODELS, "cisco-sg300-28", "powerconnect-8024"])
def test_a_text_that_is_cut_anywhere_works_when_pasted_or_is_said_not_to(model):
    """A Comware text without its last line was said to work: where a text is silent, the factory default counts."""
    platform = platforms.load(model)
    ports, lines = planned(model)
    said_to_work = 0
    for at in range(1, len(lines) + 1):
        text = "\n".join(lines[:at]) + "\n"
        reading = read_text(platform, text, "s0", ports)
        took, state = pasted(platform, lines[:at])
        assert (not reading.refused) == (took and state == reading.state), f"{text}{reading.refused}"
        said_to_work += not reading.refused
    assert said_to_work
    assert not reading.refused, "the whole text"


@pytest.mark.parametrize("model", MODELS)
@examples(30)
@given(data=st.data())
def test_the_console_takes_what_is_said_to_work_and_nothing_else(model, data):
    platform = platforms.load(model)
    ports, lines = planned(model)
    lines, words = list(lines), Grammar.of(platform).session
    for _ in range(data.draw(st.integers(0, 3))):
        at = data.draw(st.integers(0, len(lines) - 1))
        how = data.draw(st.sampled_from(["drop an exit", "move a block", "add"]))
        if how == "drop an exit" and (exits := [n for n, line in enumerate(lines[:-1]) if line == words.leave]):
            del lines[data.draw(st.sampled_from(exits))]
        elif how == "add":
            lines.insert(
                at, data.draw(st.sampled_from([words.comment, words.leave, words.end, "no spanning-tree", "shutdown"]))
            )
        elif (
            starts := [n for n, line in enumerate(lines) if line.startswith(("interface", "vlan"))]
        ) and words.leave in lines:
            low = data.draw(st.sampled_from(starts))
            high = next((n for n in range(low, len(lines)) if lines[n] == words.leave), low) + 1
            block = lines[low:high]
            del lines[low:high]
            lines[at:at] = block
    text = "\n".join(lines) + "\n"
    reading = read_text(platform, text, "s0", ports)
    if not (reading.findings or reading.unknown_lines):
        took, state = pasted(platform, lines)
        assert (not reading.refused) == (took and state == parse_configuration(platform, text).state), text
