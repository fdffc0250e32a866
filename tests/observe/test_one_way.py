"""A cable of which one end receives nothing that the other sends is noticed, and nothing else is."""

import pytest

from fabrics import make_fabric
from tagloom.observe import OneWayWatch, dead_parts, with_links_lost
from tagloom.observe.one_way import LEAST_SECONDS, LOOKS
from tagloom.operate.one_way_links import FILE, OneWayLinks
from tagloom.operate.repair_runs import FOLDER
from tagloom.records.dead_parts import DeadParts
from tagloom.records.observation import Counters, Observation

FABRIC = make_fabric("ring", 3, model="powerconnect-5324")
LINK = FABRIC.links[1]
SENDER, RECEIVER = (LINK.a, LINK.a_port), (LINK.b, LINK.b_port)
SECONDS = LEAST_SECONDS / (LOOKS - 1)  # between two looks


class Look:
    """Readings one after the other, in which ports send and receive some more."""

    def __init__(self):
        self.at, self.out, self.into, self.changed = 1000.0, {}, {}, {}
        self.watch = OneWayWatch()

    def __call__(self, sent=None, received=None, seconds=SECONDS, down=()):
        self.at += seconds
        for counts, more in ((self.out, sent or {}), (self.into, received or {})):
            for end, packets in more.items():
                counts[end] = counts.get(end, 0) + packets
        seen = {}
        for s, switch in enumerate(FABRIC.switches):
            ports = tuple(
                Counters(
                    p, "", True, (s, p) not in down, last_change_seconds=self.changed.get((s, p), 0.0),
                    in_packets=self.into.get((s, p), 0), out_packets=self.out.get((s, p), 0),
                )
                for p in FABRIC.used_ports[s]
            )  # fmt: skip
            seen[switch.name] = Observation(switch.name, self.at, ports=ports, uptime_seconds=self.at)
        self.seen = seen
        return self.watch.look(FABRIC, seen)


def lose(look, looks=LOOKS, **how):
    """Send over the link, of which the far end receives nothing; return what is noticed at last."""
    found = frozenset()
    for _ in range(looks):
        found = look({SENDER: 100}, **how)
    return found


def test_a_cable_that_loses_what_one_end_sends_is_noticed_after_some_looks_and_counts_as_dead():
    look = Look()
    look()
    assert lose(look, LOOKS - 1) == set()
    assert lose(look, 1) == {1}
    dead = dead_parts(FABRIC, with_links_lost(FABRIC, look.seen, frozenset({1})), DeadParts())
    assert (dead.links, dead.switches) == ({1}, set())


@pytest.mark.parametrize("sender", [SENDER, RECEIVER])
def test_nothing_is_noticed_where_nobody_sends_or_all_arrives(sender):
    look = Look()
    other = RECEIVER if sender == SENDER else SENDER
    for _ in range(3 * LOOKS):
        assert look() == set()
    for _ in range(3 * LOOKS):
        assert look({sender: 100}, {other: 100}) == set()


def test_what_is_counted_a_look_later_is_not_lost():
    look = Look()
    look()
    for _ in range(5):
        assert lose(look, LOOKS - 1) == set()
        assert look({}, {RECEIVER: 200}) == set()


def test_looks_in_which_nobody_sends_neither_count_nor_excuse():
    look = Look()
    look()
    assert lose(look, LOOKS - 1) == set()
    for _ in range(5):
        assert look() == set()
    assert lose(look, 1) == {1}


def test_many_looks_in_a_short_time_and_a_few_frames_are_not_enough():
    look = Look()
    look()
    assert lose(look, 10, seconds=LEAST_SECONDS / 20) == set()
    look = Look()
    look()
    for _ in range(LOOKS + 1):
        assert look({SENDER: 1}) == set()


def test_a_port_that_is_down_and_a_switch_that_starts_anew_are_no_sign():
    look = Look()
    look()
    assert lose(look, 2 * LOOKS, down={RECEIVER}) == set()
    look = Look()
    look({RECEIVER: 50}, {SENDER: 50})
    lose(look, LOOKS - 1)
    look.into[RECEIVER] = look.out[SENDER] = 0
    assert look() == set()


@pytest.mark.parametrize("how", ["received", "changed"])
def test_it_is_good_again_where_something_is_received_or_a_port_went_down_and_up_but_not_where_nobody_sends(how):
    look = Look()
    look()
    assert lose(look) == {1}
    assert look() == {1}
    if how == "received":
        assert look({}, {RECEIVER: 1}) == set()
    else:
        look.changed[RECEIVER] = 1.0
        assert look() == set()
    assert look() == set()


def test_it_is_remembered_by_whoever_looks_next_until_it_is_good_again(tmp_path):
    look = Look()
    told = []
    links = OneWayLinks(tmp_path, told.append)

    def poll(_fabric):
        look({SENDER: 100})
        return look.seen

    for _ in range(LOOKS + 1):
        shown = links.looking(poll)(FABRIC)
    assert links.lost == {1}
    assert dead_parts(FABRIC, shown, DeadParts()).links == {1}
    after = OneWayLinks(tmp_path, told.append)  # another process, whose first look this is
    assert dead_parts(FABRIC, after.looking(poll)(FABRIC), DeadParts()).links == {1}
    look.changed[SENDER] = 5.0
    assert dead_parts(FABRIC, after.looking(poll)(FABRIC), DeadParts()).links == set()
    assert dead_parts(FABRIC, OneWayLinks(tmp_path, told.append).looking(poll)(FABRIC), DeadParts()).links == set()
    assert told == []


@pytest.mark.parametrize("damaged", ["", "[[", '{"a": 1}', '[["s0:g1"]]'])
def test_a_damaged_memory_is_set_aside_and_told_and_a_look_goes_on(tmp_path, damaged):
    told = []
    home = tmp_path / FOLDER
    home.mkdir()
    (home / FILE).write_text(damaged)
    look = Look()
    look()
    shown = OneWayLinks(tmp_path, told.append).looking(lambda _fabric: look.seen)(FABRIC)
    assert dead_parts(FABRIC, shown, DeadParts()).links == set()
    assert [FILE in line and f"{FILE}.damaged" in line for line in told] == [True]
    assert ((home / f"{FILE}.damaged").read_text(), (home / FILE).exists()) == (damaged, False)
