"""Configurations that are made to take long or much: what reading one costs is bounded, and nothing else is raised."""

import re
import time
import tracemalloc
from contextlib import contextmanager

import pytest

from tagloom.adapters import echoes, greeting, ssh
from tagloom.platforms import load, secrets
from tagloom.platforms.grammar import CONFIG, VLAN_DATABASE, Grammar
from tagloom.platforms.interpreter import WRITTEN_CELLS, Interpreter
from tagloom.records.switch_state import SwitchEditor
from tagloom.render import parse_configuration
from tagloom.units import LISTED_NUMBERS, parse_ranges
from thinned import daily

ROS, FASTPATH = "powerconnect-5324", "powerconnect-6248"
NEWER = (
    "mikrotik-crs326-24g-2s",
    "hpe-5130-24g-4sfp",
    "huawei-s5731-s24t4x",
    "arista-7010t-48",
    "cisco-cbs350-24t-4g",
    "linux-bridge",
    "n-series",
)
MEGABYTES = 1 << 20
ALL = ",".join(["1-4094"] * 20_000)  # 140 kB
MIXED = {ROS: "g(1-24)", FASTPATH: "1/g1-1/g48"}


@contextmanager
def bounded(megabytes, cpu_seconds=20.0):
    """See that what is done takes little memory, and no time that a product of lengths would take."""
    tracemalloc.start()
    began = time.thread_time()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < megabytes * MEGABYTES
        assert time.thread_time() - began < cpu_seconds
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("model", [ROS, FASTPATH])
@pytest.mark.parametrize(
    "line",
    [
        f"vlan {ALL}",
        f"no vlan {ALL}",
        "vlan " + ",".join(["1-9999"] * 20_000),
        "vlan " + "1" * 140_000,
        f"interface range ethernet g({ALL})",
        "interface range ethernet " + ",".join(["g(1-24)"] * 20_000),
        "interface range ethernet " + ",".join(["1/g1-1/g48"] * 20_000),
        "interface range ethernet " + "(" * 100_000,
        "bridge address " + "0" * 100_000 + " ethernet g1",
        f"interface port-channel {ALL}",
    ],
    ids=lambda line: line[:32],
)
def test_a_list_of_140_kb_takes_little_and_is_refused(model, line):
    interpreter = Interpreter(load(model), SwitchEditor.blank(load(model).ports))
    with bounded(20):
        for context in (CONFIG, VLAN_DATABASE):
            interpreter.context = context
            assert not interpreter.feed(line).accepted


@pytest.mark.slow
@pytest.mark.parametrize("model", [ROS, FASTPATH])
def test_lines_that_write_every_cell_again_and_again_are_refused_in_the_end(model):
    vlans = f"2-{load(model).max_vlan_id}"
    lines = ["vlan database", f"vlan {vlans}", "exit", f"interface range ethernet {MIXED[model]}"]
    lines += ["switchport mode general", *[f"switchport general allowed vlan add {vlans} tagged"] * 400, "exit"]
    found = parse_configuration(load(model), "\n".join(lines))
    whole = (load(model).max_vlan_id - 1) * {ROS: 24, FASTPATH: 48}[model]
    assert 8 <= 400 - len(found.unknown) <= WRITTEN_CELLS // whole
    assert found.state.membership[1:].sum() == 2 * whole


@pytest.mark.parametrize("model", [ROS, FASTPATH])
def test_a_vlan_that_a_line_names_twice_is_deleted_once(model):
    found = parse_configuration(load(model), "vlan database\nvlan 5-6\nno vlan 5,5\nexit\n")
    assert (found.unknown, found.state.vlans.tolist()) == ((), [1, 6])


def test_a_list_ends_where_there_are_no_more_numbers_to_mean():
    assert len(parse_ranges("1-4094,1-4094,1-4094,1-4094")) == 4 * 4094 <= LISTED_NUMBERS
    for text in (f"1-{LISTED_NUMBERS + 1}", "1-4094," * 5 + "1", "1-999999999999"):
        with pytest.raises(ValueError, match=f"more than {LISTED_NUMBERS} numbers"):
            parse_ranges(text)


STORMS = [
    "\n",
    "\r",
    " ",
    "% ",
    "\n% ",
    "s0#",
    "(",
    "\x1b[",
    "\x08",
    "01-Jan-2026 01:02:03 ",
    "vlan 1 ",
    "-",
    "1-",
    "x: ",
]
READERS = {
    "error": Grammar.of(load(ROS)).is_error,
    "secrets": secrets.scrub,
    "login": lambda text: greeting.Greeting("s0", "lab", "lab").answer(text),
    "waits": lambda text: greeting.WAITS.search(text, max(0, len(text) - greeting.TAIL)),
    "log lines": lambda text: (greeting.LOG_LINE.sub("", text), greeting.without_log(text)),
    "pager": lambda text: (re.search(greeting.PAGER, text), greeting.VAGUE_PAGER.search(text[-greeting.TAIL :])),
    "echo": lambda text: (echoes.echo_end(text, "vlan 100"), echoes.is_shown(text, "vlan 100")),
    "damaged": lambda text: echoes.damaged(text, "vlan 100"),
    "saved": lambda text: (ssh._SAVED.search(text), ssh._NOT_SAVED.search(text)),
    "shown": ssh.shown,
    "ros": lambda text: parse_configuration(load(ROS), text),
    "fastpath": lambda text: parse_configuration(load(FASTPATH), text),
    **{model: lambda text, model=model: parse_configuration(load(model), text) for model in NEWER},
}
OPENED = {  # of a block or menu, so that what follows is read there
    "mikrotik-crs326-24g-2s": "/interface bridge port\nadd ",
    "hpe-5130-24g-4sfp": "interface GigabitEthernet1/0/1\n",
    "huawei-s5731-s24t4x": "interface GigabitEthernet0/0/1\n",
    "arista-7010t-48": "interface Ethernet1\n",
}
MORE_STORMS = ("radius-server ", "password ", 'key "', "More: <space>", "copy ", "#")
WORDS = ["/interface bridge port ", "[find ", 'a="', "port hybrid vlan 10 tagged ", "1 to 2 ", "1-4094,", "vlan batch "]


@pytest.mark.slow
@pytest.mark.parametrize("storm", daily([*STORMS, *MORE_STORMS], 0, 8, 16))
def test_a_storm_of_one_word_is_read_in_linear_time(storm):
    for text in (storm * (60_000 // len(storm)), storm * (60_000 // len(storm)) + "!\n"):
        for name, read in READERS.items():
            began = time.thread_time()
            read(text)
            assert time.thread_time() - began < 5.0, (name, storm)


@pytest.mark.slow
@pytest.mark.parametrize("model", OPENED)
@pytest.mark.parametrize("word", daily(WORDS, 1, 5))
def test_a_storm_of_a_familys_own_words_is_read_in_linear_time(model, word):
    for text in (word * (60_000 // len(word)), f"{word}\n" * (60_000 // len(word))):
        began = time.thread_time()
        parse_configuration(load(model), OPENED[model] + text)
        assert time.thread_time() - began < 10.0
