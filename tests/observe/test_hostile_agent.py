"""Agents that attack: bounded bytes, rows and time, a reason on their own row, and the others' readings whole."""

import contextlib
import itertools
import json
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pysnmp.proto.api import v2c

from loopback import V3, following, heads_of, scripted, served, snmp, switch, truthful
from tagloom import observe, platforms
from tagloom.adapters import snmp as adapter
from tagloom.adapters.history import History
from tagloom.lab import ber
from tagloom.observe import rates_between
from tagloom.observe.discover import discover
from tagloom.observe.objects import COLUMNS, SCALARS
from tagloom.records.snmp import Raw, Wanted
from thinned import examples

NAME, OCTETS, STATUS = COLUMNS["ifName"], COLUMNS["ifHCInOctets"], COLUMNS["ifOperStatus"]
SPEED, UPTIME = COLUMNS["ifHighSpeed"], SCALARS["sysUpTime"]
WANTED = Wanted((UPTIME,), ((NAME, STATUS, SPEED, OCTETS),))
GOOD = {
    UPTIME: v2c.TimeTicks(100),
    **{(*NAME, port): v2c.OctetString(f"g{port}") for port in range(1, 25)},
    **{(*STATUS, port): v2c.Integer(1) for port in range(1, 25)},
    **{(*SPEED, port): v2c.Gauge32(1000) for port in range(1, 25)},
    **{(*OCTETS, port): v2c.Counter64(port << 40) for port in range(1, 25)},
}
PATIENCE_SECONDS = 2.0
AGENT_BYTES, MAX_ROWS = 1 << 20, 2000  # of the tests, so that an attack need not take long
PLATFORM = platforms.load("powerconnect-5324")


def raw(request, *bindings, tag=ber.RESPONSE):
    """Answer with bindings as they are given: name and whole value, byte by byte."""
    rows = b"".join(ber.tlv(ber.SEQUENCE, ber.oid(name) + value) for name, value in bindings)
    number = ber.integer(int(v2c.apiPDU.get_request_id(request.pdu)))
    pdu = ber.tlv(tag, number + ber.integer(0) + ber.integer(0) + ber.tlv(ber.SEQUENCE, rows))
    return [ber.tlv(ber.SEQUENCE, ber.integer(1) + ber.tlv(ber.OCTETS, b"lab") + pdu)]


def rows_of(value):
    """Answer truthfully, but that every value of the second column and on is this one, of any kind and size."""

    def answer(request):
        found = [following(GOOD, name) for name in request.heads]
        at = request.columns[:]
        bindings = [(name, ber.tlv(ber.TIME_TICKS, b"\x64")) for name, _ in found]
        for _ in range(min(max(1, request.repetitions), 6)):
            at = [following(GOOD, name)[0] for name in at]
            bindings += [
                (name, ber.tlv(ber.OCTETS, b"g%d" % name[-1]) if name[: len(NAME)] == NAME else value) for name in at
            ]
        return raw(request, *bindings)

    return answer


def again(data):
    """Answer with these bytes, whatever was asked."""
    return lambda _: [data]


def silent(_):
    return []


def nothing(request):
    return [request.reply([(name, v2c.NoSuchObject("")) for name in request.names])]


def ended(request):
    return [request.reply([(name, v2c.EndOfMibView("")) for name in request.names])]


def unasked(request):
    return [request.reply([((1, 3, 6, 1, 4, 1, 9, n), v2c.Integer(1)) for n, _ in enumerate(request.names)])]


def backwards(request):
    return [request.reply([((1, 3, 6, 1), v2c.Integer(1)) for _ in request.names])]


def standing(request):
    return [request.reply([(name, v2c.Integer(1)) for name in request.names])]


def other_number(request):
    return [request.reply([], request_id=int(v2c.apiPDU.get_request_id(request.pdu)) ^ 1)]


def flood_of_others(request):
    return other_number(request) * 200


def endless(request, value=None):
    heads = heads_of(request, GOOD)
    at = [(name[: len(NAME)], (name[len(NAME) :] or (0,))[0]) for name in request.columns]
    rows = [((*c, i + turn), value or v2c.Integer(1)) for turn in range(1, 6) for c, i in at]
    return [request.reply([*heads, *rows])]


def fat(request):
    return endless(request, v2c.OctetString(b"x" * 2500))


def echoes_of_the_question(request):
    return [v2c_encode(request)]


def v2c_encode(request):
    return adapter.encoder.encode(request.message)


def long_names(request):
    rows = [((*name, *range(1, 100)), v2c.Integer(1)) for name in request.names]
    return [request.reply(rows)]


def endless_name(request):
    return raw(request, *[((*name, *([1] * 60_000)), ber.integer(1)) for name in request.names[:1]])


def huge_arc(request):
    return raw(request, *[((*name, 1 << 4000), ber.integer(1)) for name in request.names])


def deep(_):
    data = b""
    for _ in range(3000):
        data = ber.tlv(ber.SEQUENCE, data)[:60_000]
    return [data]


def report(request):
    return raw(request, ((1, 3, 6, 1, 6, 3, 15, 1, 1, 3, 0), ber.integer(1)), tag=ber.REPORT)


def truncated(cut):
    return lambda request: [each[:-cut] for each in truthful(GOOD)(request)]


INTEGER_2_63 = ber.tlv(ber.COUNTER64, (1 << 63).to_bytes(8, "big"))
ATTACKS = {
    "silence": (silent, "no answer in 2 s"),
    "one byte": (again(b"\x30"), "could not be read"),
    "no bytes": (again(b""), "could not be read"),
    "zeros": (again(bytes(2000)), "could not be read"),
    "length of 2^64": (again(b"\x30\x88" + b"\xff" * 8), "could not be read"),
    "length of lengths": (again(b"\x30\xff" + b"\xff" * 200), "could not be read"),
    "indefinite lengths": (again(b"\x30\x80" * 20_000), "could not be read"),
    "nested without end": (deep, "could not be read"),
    "another version": (again(b"\x30\x0b\x02\x01\x07\x04\x03lab\xa2\x01\x00"), "could not be read"),
    "the question itself": (echoes_of_the_question, "could not be read"),
    "a report": (report, ""),
    "cut by one": (truncated(1), "could not be read"),
    "cut by half": (truncated(120), "could not be read"),
    "another request's number": (other_number, "no answer in 2 s"),
    "a flood of other numbers": (flood_of_others, "no answer in 2 s|it sent more than 1,048,576 bytes"),
    "noSuchObject everywhere": (nothing, ""),
    "the end everywhere": (ended, ""),
    "what nobody asked": (unasked, ""),
    "names that go back": (backwards, "goes back to|goes round"),
    "names that stand still": (standing, "goes round"),
    "rows without end": (endless, "does not end after 2000 rows"),
    "fat rows without end": (fat, "it sent more than 1,048,576 bytes"),
    "names of 100 arcs": (long_names, ""),
    "a name of 60,000 arcs": (endless_name, "too long"),
    "an arc of 4,000 bits": (huge_arc, "too long"),
    "2^63 everywhere": (rows_of(INTEGER_2_63), "ifOperStatus: a number out of range"),
    "a Counter64 of 2,000 bytes": (rows_of(ber.tlv(ber.COUNTER64, b"\xff" * 2000)), "is a number out of range"),
    "a Counter32 of 5 bytes": (rows_of(ber.tlv(ber.COUNTER32, b"\x01" + bytes(4))), "is a number out of range"),
    "a Gauge32 below zero": (rows_of(ber.tlv(ber.INTEGER, b"\xff")), "ifOperStatus: a number out of range"),
    "an INTEGER of 2^31": (rows_of(ber.integer(1 << 31)), "is a number out of range"),
    "texts for numbers": (rows_of(ber.tlv(ber.OCTETS, b"\x1b]0;x\x07" * 30)), "expected a number, actual octets"),
    "names for numbers": (rows_of(ber.oid((1, 3, 6))), "expected a number, actual an object identifier"),
    "unknown types": (rows_of(ber.tlv(0x5F, b"x")), "missing for 24 of 24 ports"),
    "empty numbers": (rows_of(ber.tlv(ber.INTEGER, b"")), ""),
}


@pytest.fixture(scope="module")
def attacked(tmp_path_factory):
    """Read every attacker and one good agent at once, and do with the readings what observe does; gives them all."""
    with pytest.MonkeyPatch.context() as patch, contextlib.ExitStack() as stack:
        patch.setattr(adapter, "MAX_ROWS", MAX_ROWS)
        patch.setattr(adapter, "AGENT_BYTES", AGENT_BYTES, raising=False)
        places = {name: stack.enter_context(scripted(how)) for name, (how, _) in ATTACKS.items()}
        places["good"] = stack.enter_context(scripted(truthful(GOOD)))
        wire = stack.enter_context(snmp(in_flight=16, timeout=PATIENCE_SECONDS, agent_seconds=120.0))
        answers = wire.ask(places, WANTED)
        seen = {name: observe.interpret(name, each, PLATFORM, range(1, 25)) for name, each in answers.items()}
        history = stack.enter_context(contextlib.closing(History(tmp_path_factory.mktemp("history") / "h.db")))
        history.append("fabric", 1.0, seen)
        return seen, history.last("fabric"), answers


@pytest.mark.parametrize("name", ATTACKS)
def test_an_attack_is_its_agents_own_row(attacked, name):
    seen, kept, _ = attacked
    said = (seen[name].error, *seen[name].complaints)
    assert adapter_says(said, ATTACKS[name][1]), said
    assert all(each.isprintable() and len(each) < 300 for each in said)
    assert any(said)
    assert len(said) < 60
    assert kept[name].error == seen[name].error
    json.dumps(seen[name].to_json())


def adapter_says(said, wanted):
    return not wanted or any(part in each for part in wanted.split("|") for each in said)


def test_the_agent_beside_them_is_read_whole(attacked):
    seen, kept, answers = attacked
    assert (seen["good"].error, seen["good"].complaints) == ("", ())
    assert [port.in_octets for port in seen["good"].ports] == [port << 40 for port in range(1, 25)]
    assert kept["good"].ports == seen["good"].ports
    assert max(sum(map(len, each.columns.values())) for each in answers.values()) <= 4 * MAX_ROWS


@pytest.mark.parametrize("engine_id", [b"\x80" * 4000, b"\x80" * 33])
def test_an_engine_that_cannot_be_is_refused(engine_id):
    _, agent = switch()
    agent.engine_id = engine_id
    _, good = switch(number=1)
    with served(agent, good) as [place, other], snmp(V3, timeout=1.0) as wire:
        found = wire.ask({"bad": place, "good": other}, WANTED)
    assert "an engine that cannot be" in found["bad"].error
    assert found["good"].error == ""


def test_names_that_are_long_are_not_kept_for_ever():
    adapter._known_arcs.cache_clear()
    for n in range(200):
        adapter._arcs(bytes([0x2B, *([1] * 100), n & 0x7F]))
    assert adapter._known_arcs.cache_info().currsize == 0


def test_arcs_that_are_no_name_take_no_time():
    began = time.thread_time()
    for content in (b"\xff" * 60_000, b"\x2b" * 60_000, b"\x2b" + b"\xff" * 60_000 + b"\x01"):
        with pytest.raises(ValueError, match=r"too long|cut short"):
            adapter._arcs(content)
    assert time.thread_time() - began < 2.0


# --- what is made of it ----------------------------------------------------------------------------------------------

ANYTHING = st.one_of(
    st.integers(-(2**70), 2**70),
    st.sampled_from([0, 1, 2, 4, 6, 7, 2**31, 2**32, 2**63, 2**64]),
    st.binary(max_size=40),
    st.sampled_from([b"g1", b"g2", "²".encode(), "٣".encode(), b"9" * 6000, b"\x1b[2J", bytes(70_000)]),
    st.lists(st.integers(0, 2**32), max_size=12).map(tuple),
)
INDEX = st.one_of(
    st.lists(st.integers(0, 2**32), max_size=12).map(tuple),
    st.sampled_from([(1,), (2,), (0, 1, 1), (0, 2, 1), (0, 1, 1, 1, 4, 127, 0, 0, 1), (1, 2, 0, 0, 0, 0, 0, 1)]),
)


@st.composite
def readings(draw):
    scalars = {oid: draw(ANYTHING) for oid in SCALARS.values() if draw(st.booleans())}
    picked = draw(st.dictionaries(st.sampled_from(sorted(COLUMNS)), st.dictionaries(INDEX, ANYTHING, max_size=3)))
    columns = {oid: dict(picked.get(name, {})) for name, oid in COLUMNS.items()}
    columns[NAME] |= {(1,): b"g1", (2,): b"g2"}
    columns[COLUMNS["dot1dBasePortIfIndex"]] |= {(1,): 1, (2,): 2}
    return Raw(1.0, scalars=scalars, columns=columns)


@examples(60)
@given(st.lists(readings(), min_size=1, max_size=2))
def test_whatever_agents_say_is_observed_kept_and_discovered(several):
    seen = {f"s{n}": observe.interpret(f"s{n}", each, PLATFORM, range(1, 25)) for n, each in enumerate(several)}
    with contextlib.closing(History(Path(":memory:"))) as history:
        history.append("fabric", 1.0, seen)
        rates_between(history.last("fabric"), seen)
    for each in seen.values():
        json.dumps(each.to_json())
        assert all(words.isprintable() for words in (each.name, each.description, each.chassis, *each.complaints))
    found = {each.chassis or name: each for name, each in seen.items()}
    observe.cabling_of("x", found, dict.fromkeys(found, "powerconnect-5324"), {})
    observe.next_agents(seen.values(), found, 161)


def test_a_chassis_id_that_is_no_address_is_no_mac():
    rows = {
        COLUMNS["lldpRemChassisId"]: {(0, 1, 1): b"\xff\xfezz", (0, 2, 1): b"\x02\0\0\0\0\x09"},
        COLUMNS["lldpRemChassisIdSubtype"]: {(0, 1, 1): 4, (0, 2, 1): 4},
        COLUMNS["lldpRemSysCapEnabled"]: {(0, 1, 1): b"\x01", (0, 2, 1): b"\x01"},  # Station Only
        NAME: {(1,): b"g1", (2,): b"g2"},
    }
    seen = observe.interpret("s0", Raw(1.0, columns=rows), PLATFORM)
    assert [each.chassis for each in seen.neighbours] == ["unknown fffe7a7a", "mac 02:00:00:00:00:09"]
    assert [host.mac for host in observe.cabling_of("x", {"a": seen}, {"a": PLATFORM.model}, {}).fabric.hosts] == [
        0x0200_0000_0009
    ]


def telling(number):
    """Give what a switch says that has a neighbour of the next number, at an address of its own."""
    near, far = (0x0200_0000_0000 + each for each in (number, number + 1))
    place = (127, 0, (number + 1) >> 8, (number + 1) & 0xFF)
    lldp = {
        "lldpRemChassisIdSubtype": 4,
        "lldpRemChassisId": far.to_bytes(6, "big"),
        "lldpRemPortIdSubtype": 5,
        "lldpRemPortId": b"g2",
        "lldpRemSysCapEnabled": b"\x20",
    }
    columns = {COLUMNS[name]: {(0, 1, 1): value} for name, value in lldp.items()}
    columns |= {COLUMNS["lldpRemManAddrIfSubtype"]: {(0, 1, 1, 1, 4, *place): 2}, NAME: {(1,): b"g1", (2,): b"g2"}}
    chassis = {"lldpLocChassisIdSubtype": 4, "lldpLocChassisId": near.to_bytes(6, "big")}
    return Raw(1.0, scalars={SCALARS[name]: value for name, value in chassis.items()}, columns=columns)


def test_agents_that_tell_of_others_for_ever_come_to_an_end(monkeypatch):
    """Whoever is asked is the switch that was told of, and tells of one more."""
    monkeypatch.setattr("tagloom.observe.discover.DISCOVERED", 40)
    asked = itertools.count()
    found = discover(
        "x",
        [("127.0.0.0", 161)],
        lambda places, _: {key: telling(next(asked)) for key in places},
        "powerconnect-5324",
    )
    assert 39 <= len(found.fabric.switches) <= 40
    assert any("only 40 are asked" in each for each in found.complaints)


def test_an_agent_is_one_switch():
    """It says of itself what is wanted to be heard, at the same address each time."""
    asked = itertools.count()

    def ask(places, _):
        answers = {key: telling(next(asked)) for key in places}
        for each in answers.values():
            each.columns[COLUMNS["lldpRemManAddrIfSubtype"]] = {(0, 1, 1, 1, 4, 127, 0, 0, 1): 2}
        return answers

    found = discover("x", [("127.0.0.1", 161)], ask, "powerconnect-5324")
    assert len(found.fabric.switches) == 1
    assert [each.why for each in found.unreached] == ["the agent at 127.0.0.1 said before that it is another switch"]
