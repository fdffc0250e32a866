"""The wire: two versions, wrong keys by name, agents that misbehave cost their own row."""

import asyncio
import contextlib
import itertools
import os
import socket
import subprocess
import sys
import threading
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyasn1.codec.ber import encoder
from pyasn1.type import univ
from pysnmp.proto.api import v2c

from background_loop import BackgroundLoop
from fabrics import ROOT
from loopback import LOGIN, V2C, V3, following, heads_of, scripted, served, snmp, switch, truthful
from tagloom.adapters import snmp as adapter
from tagloom.lab import ber
from tagloom.lab.agent import Agent
from tagloom.observe.objects import COLUMNS, EVERYTHING, SCALARS
from tagloom.records.snmp import Credentials, Wanted

NAME, OCTETS = COLUMNS["ifName"], COLUMNS["ifHCInOctets"]
UPTIME = SCALARS["sysUpTime"]
WANTED = Wanted((UPTIME,), ((NAME, OCTETS),))
GOOD = {
    UPTIME: v2c.TimeTicks(100),
    **{(*NAME, port): v2c.OctetString(f"g{port}") for port in range(1, 25)},
    **{(*OCTETS, port): v2c.Counter64(port << 40) for port in range(1, 25)},
}


# --- what is read ----------------------------------------------------------------------------------------------------


def test_both_versions_read_the_same_of_a_switch():
    device, agent = switch(octets=lambda port: (port << 33, port))
    with served(agent) as [place]:
        answers = []
        for credentials in (V3, V2C):
            with snmp(credentials) as wire:
                answers.append(wire.ask({"s0": place}, EVERYTHING)["s0"])
    v3, plain = answers
    assert v3.error == plain.error == ""
    assert v3.complaints == plain.complaints == ()
    assert v3.columns == plain.columns
    assert v3.columns[OCTETS] == {(port,): port << 33 for port in range(1, 33)} | {(100_000,): 0}
    assert plain.scalars[SCALARS["sysName"]] == b"s0"
    assert device.platform.sys_object_id == (".".join(map(str, v3.scalars[SCALARS["sysObjectID"]])),)


VALUES = st.one_of(
    st.integers(-(2**31), 2**31 - 1).map(lambda n: (v2c.Integer32(n), n)),
    st.integers(0, 2**32 - 1).map(lambda n: (v2c.Counter32(n), n)),
    st.integers(0, 2**32 - 1).map(lambda n: (v2c.Gauge32(n), n)),
    st.integers(0, 2**32 - 1).map(lambda n: (v2c.TimeTicks(n), n)),
    st.integers(0, 2**64 - 1).map(lambda n: (v2c.Counter64(n), n)),
    st.binary(max_size=300).map(lambda b: (v2c.OctetString(b), b)),
    st.binary(min_size=4, max_size=4).map(lambda b: (v2c.IpAddress(b), b)),
    st.lists(st.integers(0, 2**32 - 1), max_size=9).map(lambda a: (v2c.ObjectIdentifier((1, 3, *a)), (1, 3, *a))),
    st.sampled_from(
        [(v2c.NoSuchObject(""), "noSuchObject"), (v2c.NoSuchInstance(""), "noSuchInstance"), (v2c.null, None)]
    ),
)
NAMES = st.lists(st.integers(0, 2**32 - 1), max_size=14).map(lambda arcs: (1, 3, *arcs))


def bindings_of(rows):
    pdu = v2c.ResponsePDU()
    v2c.apiPDU.set_defaults(pdu)
    v2c.apiPDU.set_varbinds(pdu, rows)
    return encoder.encode(pdu[3])


@given(st.lists(st.tuples(NAMES, VALUES), max_size=20))
def test_bindings_are_read_as_pyasn1_writes_them(rows):
    data = bindings_of([(name, value) for name, (value, _) in rows])
    assert list(adapter._bindings(data)) == [(name, plain) for name, (_, plain) in rows]


@given(st.lists(st.tuples(NAMES, VALUES), min_size=1, max_size=5), st.data())
def test_damaged_bindings_are_refused_or_read_but_nothing_else_happens(rows, data):
    whole = bytearray(bindings_of([(name, value) for name, (value, _) in rows]))
    for _ in range(data.draw(st.integers(1, 4))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(ValueError):
        list(adapter._bindings(bytes(whole[: data.draw(st.integers(1, len(whole)))])))


@given(st.integers(0, 2**64 - 1), NAMES)  # negative ones pyasn1 writes an octet too long, X.690 section 8.3.2
def test_the_rack_writes_numbers_and_names_as_pyasn1_does(number, name):
    assert ber.integer(number) == encoder.encode(univ.Integer(number))
    assert ber.oid(name) == encoder.encode(v2c.ObjectIdentifier(name))
    assert ber.arcs(next(ber.elements(ber.oid(name)))[1]) == name


# --- who may read ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("credentials", "says"),
    [
        (Credentials(user="nobody", auth_password="x" * 8, priv_password="y" * 8), "it knows no user 'nobody'"),
        (
            Credentials(user="lab", auth_password="wrong-password", priv_password=LOGIN.priv_password),
            "wrong authentication password or protocol for user 'lab'",
        ),
        (
            Credentials(user="lab", auth_password=LOGIN.auth_password, priv_password="wrong-password"),
            "wrong privacy password or protocol for user 'lab'",
        ),
        (
            Credentials(
                user="lab",
                auth_protocol="SHA-256",
                auth_password=LOGIN.auth_password,
                priv_password=LOGIN.priv_password,
            ),
            "wrong authentication password or protocol",
        ),
        (Credentials(version="2c", community="guess"), "it knows no such community"),
    ],
    ids=["user", "authentication", "privacy", "protocol", "community"],
)
def test_wrong_keys_say_so_by_name(credentials, says):
    _, agent = switch()
    with served(agent) as [place], snmp(credentials) as wire:
        found = wire.ask({"s0": place}, WANTED)["s0"]
    assert says in found.error
    assert not found.columns.get(NAME)
    for secret in filter(None, (credentials.auth_password, credentials.priv_password, credentials.community)):
        assert secret not in repr(credentials)
        assert secret not in repr(found)


@pytest.mark.parametrize("credentials", [V2C, V3], ids=["2c", "3"])
def test_where_no_agent_is_the_row_says_so(credentials):
    with snmp(credentials, timeout=0.05) as wire:
        found = wire.ask({"a": ("127.0.0.1", 9), "b": ("no-such-host.invalid", 161)}, WANTED)
    assert "no answer in 0.05 s, 2 times" in found["a"].error
    assert "no agent there" in found["a"].error
    assert "no address for 'no-such-host.invalid'" in found["b"].error


def test_a_switch_that_reboots_between_two_readings_is_read_again():
    _, agent = switch()
    with served(agent) as [place], snmp(V3) as wire:
        assert not wire.ask({"s0": place}, WANTED)["s0"].error
        agent.reboot()
        again = wire.ask({"s0": place}, WANTED)["s0"]
    assert again.error == ""
    assert len(again.columns[NAME]) == 33


class Stripped(Agent):
    """Answer without authentication and privacy, whatever was asked."""

    def _seal(self, identity, user, pdu, level):
        return super()._seal(identity, user, pdu, level if pdu[0] == ber.REPORT else 0)


def test_an_unsigned_answer_to_a_signed_question_is_refused():
    _, agent = switch()
    with served(Stripped(agent.tree, LOGIN, agent.engine_id)) as [place], snmp(V3, timeout=0.5) as wire:
        found = wire.ask({"s0": place}, WANTED)["s0"]
    assert "without authentication and privacy" in found.error


def test_a_forged_answer_is_refused():
    _, agent = switch()

    class Forger(Agent):
        def _seal(self, identity, user, pdu, level):
            whole = super()._seal(identity, user, pdu, level)
            return whole[:-1] + bytes([whole[-1] ^ 1])  # one bit of what was signed

    with served(Forger(agent.tree, LOGIN, agent.engine_id)) as [place], snmp(V3, timeout=0.5) as wire:
        found = wire.ask({"s0": place}, WANTED)["s0"]
    assert "its signature is wrong" in found.error


# --- agents that misbehave -------------------------------------------------------------------------------------------


def silent(_):
    return []


class Late:
    """Answer the first time when others are asked that wait until this one has been given up."""

    def __init__(self):
        self.given_up = threading.Event()

    def __call__(self, request):
        self.given_up.wait(30)
        return truthful(GOOD)(request)

    def after(self, request):
        """Be one of those others, and a good one."""
        self.given_up.set()
        return truthful(GOOD)(request)


def garbage(_):
    return [b"\x30\x82\xff\xff not SNMP", b"", b"\x00" * 40]


def other_request(request):
    return [request.reply([], request_id=4711)]


def liar(request):
    rows = {**GOOD, **{(*OCTETS, port): v2c.OctetString("lots") for port in range(1, 25)}}
    rows |= {(*NAME, port): v2c.Counter64(7) for port in range(1, 25)}
    return truthful(rows)(request)


def looping(request):
    """Go round: after g5 comes g1 again."""
    rounds = [(name[: len(NAME)], (name[len(NAME) :] or (0,))[0] % 5 + 1) for name in request.columns]
    rows = [((*column, index), v2c.OctetString("x")) for column, index in rounds]
    return [request.reply([*heads_of(request, GOOD), *rows])]


def endless(request):
    """Give a new row for ever."""
    at = [(name[: len(NAME)], (name[len(NAME) :] or (0,))[0]) for name in request.columns]
    rows = [((*c, i + turn), v2c.Integer(1)) for turn in range(1, request.repetitions + 1) for c, i in at]
    return [request.reply([*heads_of(request, GOOD), *rows])]


def truncating(request):
    return truthful(GOOD)(request) if request.heads else [request.reply([])]


def half_a_datagram(request):
    return [datagram[:-7] for datagram in truthful(GOOD)(request)]


def failing(request):
    return [request.reply([], status=5)] if request.bulk else truthful(GOOD)(request)


def too_big(request):
    return [request.reply([], status=1)] if request.repetitions > 4 else truthful(GOOD)(request)


BAD = {
    "silent": (silent, "error", "no answer in 0.3 s, 2 times"),
    "late": (None, "error", "no answer in 0.3 s, 2 times"),
    "garbage": (garbage, "error", "could not be read"),
    "other request": (other_request, "error", "no answer"),
    "half": (half_a_datagram, "error", "could not be read"),
    "looping": (looping, "complaint", "goes round at"),
    "endless": (endless, "complaint", "does not end after"),
    "truncating": (truncating, "complaint", "is empty before the end"),
    "failing": (failing, "complaint", "it answers genErr"),
}


@pytest.fixture(scope="module")
def one_run():
    """Read every bad agent and two good ones at once, at most four at a time."""
    _, agent = switch()
    with pytest.MonkeyPatch.context() as patch, contextlib.ExitStack() as stack:
        patch.setattr(adapter, "MAX_ROWS", 2_000)  # that "endless" need not send a hundred thousand
        late = Late()
        places = {name: stack.enter_context(scripted(how or late)) for name, (how, _, _) in BAD.items()}
        places |= {
            "liar": stack.enter_context(scripted(liar)),
            "too big": stack.enter_context(scripted(too_big)),
            "good": stack.enter_context(scripted(late.after)),
            "switch": stack.enter_context(served(agent))[0],
        }
        return stack.enter_context(snmp(in_flight=4)).ask(places, WANTED)


@pytest.mark.parametrize("name", BAD)
def test_a_bad_agent_costs_its_own_row_and_says_why(one_run, name):
    _, kind, says = BAD[name]
    found = one_run[name]
    if kind == "error":
        assert says in found.error
    else:
        assert found.error == ""
        assert any(says in each for each in found.complaints)
        assert found.scalars == {UPTIME: 100}


def test_the_others_of_the_same_run_are_whole(one_run):
    assert set(one_run) == {*BAD, "liar", "too big", "good", "switch"}
    for name in ("good", "too big"):
        found = one_run[name]
        assert (found.error, found.complaints) == ("", ())
        assert found.columns[OCTETS] == {(port,): port << 40 for port in range(1, 25)}
    assert one_run["switch"].error == ""
    assert len(one_run["switch"].columns[NAME]) == 33


def generous(request):
    """Answer with as many rows as are asked for."""
    if not request.bulk:
        return truthful(GOOD)(request)
    at, found = request.columns, heads_of(request, GOOD)
    for _ in range(request.repetitions):
        after = [following(GOOD, name) for name in at]
        found, at = found + after, [name for name, _ in after]
    return [request.reply(found)]


def lost_beyond(octets):
    return lambda request: [data for data in generous(request) if len(data) <= octets]


def silent_beyond(rows):
    return lambda request: generous(request) if request.repetitions <= rows else []


def refusing_beyond(bindings, status):
    def answer(request):
        asked = len(request.heads) + len(request.columns) * request.repetitions if request.bulk else len(request.names)
        return [request.reply([], status)] if asked > bindings else generous(request)

    return answer


def without_bulk(*statuses):
    """Answer GETBULK by an error status, or not at all."""

    def answer(request):
        if request.bulk and not request.next:
            return [request.reply([], status) for status in statuses]
        return generous(request)

    return answer


def as_version_1(request):
    """Say noSuchName where anything that is asked for is not there, as agents of version 1 do (RFC 1157)."""
    found = [truthful(GOOD, most=1)(request)[0]] if request.next or not request.bulk else generous(request)
    message, _ = adapter.decoder.decode(found[0], asn1Spec=v2c.Message())
    values = [value for _, value in v2c.apiPDU.get_varbinds(v2c.apiMessage.get_pdu(message))]
    gone = any(isinstance(value, v2c.EndOfMibView | v2c.NoSuchObject) for value in values)
    return [request.reply([], 2)] if gone else found


@pytest.mark.parametrize(
    "answer",
    [
        *(without_bulk(status) for status in (1, 2, 5)),
        without_bulk(),
        as_version_1,
        *(lost_beyond(octets) for octets in (1472, 484, 150)),
        *(silent_beyond(rows) for rows in (20, 1)),
        *(refusing_beyond(most, status) for most in (30, 3, 2, 1) for status in (1, 5, 13)),
    ],
)
def test_an_agent_that_answers_small_requests_alone_is_read_whole(answer):
    with scripted(answer) as place, snmp(timeout=0.25) as wire:
        for _ in range(2):
            found = wire.ask({"a": place}, WANTED)["a"]
            assert (found.error, found.complaints, found.scalars) == ("", (), {UPTIME: 100})
            assert found.columns[OCTETS] == {(port,): port << 40 for port in range(1, 25)}
            assert len(found.columns[NAME]) == 24


def test_an_agent_of_version_1_that_lacks_some_objects_gives_the_others_and_is_no_complaint():
    lacks = SCALARS["sysName"], COLUMNS["ifHighSpeed"]
    with scripted(as_version_1) as place, snmp() as wire:
        found = wire.ask({"a": place}, Wanted((UPTIME, lacks[0]), ((NAME, lacks[1]), (OCTETS,))))["a"]
    assert (found.error, found.complaints, found.scalars) == ("", (), {UPTIME: 100})
    assert [len(found.columns[column]) for column in (NAME, lacks[1], OCTETS)] == [24, 0, 24]


def test_an_agent_without_getbulk_is_asked_for_it_no_more():
    asked = []

    def answer(request):
        asked.append(request.bulk and not request.next)
        return without_bulk(5)(request)

    with scripted(answer) as place, snmp(timeout=2.0) as wire:
        wire.ask({"a": place}, WANTED)
        asked.clear()
        wire.ask({"a": place}, WANTED)
    assert asked
    assert not any(asked)


def test_a_size_that_was_lost_is_not_tried_at_each_reading_and_returns_where_nothing_is_lost(monkeypatch):
    monkeypatch.setattr(adapter, "WHOLE_ANSWERS", 4)
    asked, counted = [], itertools.count()

    def first_lost(request):
        asked.append(request.repetitions)
        return generous(request) if next(counted) else []

    with scripted(first_lost) as place, snmp(timeout=2.0) as wire:
        wire.ask({"a": place}, WANTED)
        assert asked[:4] == [50, 1, 2, 4]
        sizes = []
        for _ in range(20):
            asked.clear()
            wire.ask({"a": place}, WANTED)
            sizes.append(tuple(asked))
        assert sizes[1] == (25,)
        assert sizes[-1] == (50,)


def test_what_an_agent_refuses_or_keeps_silent_about_is_named_and_the_rest_is_read():
    for beside in (lambda request: [request.reply([], 5)], lambda _: []):

        def answer(request, beside=beside):
            hurt = any(name[: len(OCTETS)] == OCTETS for name in request.names)
            return beside(request) if hurt else generous(request)

        with scripted(answer) as place, snmp(timeout=0.25) as wire:
            found = wire.ask({"a": place}, Wanted((UPTIME,), ((NAME,), (NAME, OCTETS))))["a"]
        assert len(found.columns[NAME]) == 24
        assert "no answer" in found.error or found.complaints == (
            f"it answers genErr for {'.'.join(map(str, OCTETS))}",
        )


class Elsewhere(asyncio.DatagramProtocol):
    """Answer as an agent does, from another address."""

    def __init__(self, agent, away):
        self.agent, self.away = agent, away

    def datagram_received(self, data, sender):
        if found := self.agent.answer(data):
            self.away.sendto(found, sender)


@contextlib.contextmanager
def answering_from(agent, address):
    loop = BackgroundLoop()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as away:
        away.bind((address, 0))
        opening = loop.loop.create_datagram_endpoint(lambda: Elsewhere(agent, away), local_addr=("127.0.0.1", 0))
        here, _ = loop.run(opening)
        try:
            yield here.get_extra_info("sockname"), away.getsockname()
        finally:
            loop.loop.call_soon_threadsafe(here.close)
            loop.run(asyncio.sleep(0))
            loop.close()


@pytest.mark.parametrize(("credentials", "proof"), [(V2C, "its request id"), (V3, "its engine's signature")])
@pytest.mark.parametrize("address", ["127.0.0.2", "127.0.0.1"])
def test_an_answer_from_another_address_of_the_switch_is_taken_and_named(credentials, proof, address):
    """Of several addresses it answers from the one of its route; some answer from another port."""
    _, agent = switch()
    with answering_from(agent, address) as (place, away), snmp(credentials) as wire:
        found = wire.ask({"s0": place}, WANTED)["s0"]
    shown = address if address != "127.0.0.1" else f"127.0.0.1:{away[1]}"
    assert (found.error, found.complaints) == ("", (f"it answers from {shown}, not 127.0.0.1: taken by {proof}",))
    assert len(found.columns[NAME]) == 33


def test_a_stranger_that_has_no_request_id_community_or_key_is_not_taken():
    def guessing(request):
        return [request.reply([(UPTIME, v2c.TimeTicks(4711))], request_id=number) for number in range(1, 200)]

    with scripted(guessing) as place, snmp(timeout=0.25) as wire:
        assert "no answer" in wire.ask({"a": place}, WANTED)["a"].error
    _, agent = switch()

    class Other(Agent):
        def answer(self, datagram):
            return super().answer(datagram).replace(b"\x04\x03lab", b"\x04\x03bal")

    class Forger(Agent):
        def _seal(self, identity, user, pdu, level):
            whole = super()._seal(identity, user, pdu, level)
            return whole[:-1] + bytes([whole[-1] ^ (1 if level else 0)])

    for kind, credentials, why in ((Other, V2C, "another community"), (Forger, V3, "its signature is wrong")):
        false = kind(agent.tree, LOGIN, agent.engine_id)
        with answering_from(false, "127.0.0.2") as (place, _), snmp(credentials, timeout=0.25) as wire:
            error = wire.ask({"s0": place}, WANTED)["s0"].error
        assert "what came from it by way of 127.0.0.2 could not be read (" in error
        assert why in error


def test_a_datagram_that_is_lost_is_asked_for_again():
    counted = itertools.count()

    def lossy(request):
        return [] if next(counted) % 2 == 0 else truthful(GOOD)(request)

    with scripted(lossy) as place, snmp(timeout=0.2, retries=5) as wire:
        found = wire.ask({"a": place}, WANTED)["a"]
    assert found.error == ""
    assert len(found.columns[OCTETS]) == 24


def test_an_agent_that_is_slow_all_along_ends_too():
    counted = itertools.count()

    def drip(request):
        next(counted)
        time.sleep(0.1)
        return endless(request)

    with scripted(drip) as place, snmp(agent_seconds=0.5) as wire:
        found = wire.ask({"a": place}, WANTED)["a"]
    assert found.error == "not read to the end in 0.5 s"
    assert next(counted) <= 10, "at 0.1 s each, no more is asked in that time"


def test_agents_are_served_from_the_root_too_without_other_modules_of_the_tests():
    """Cases of others, which run there, serve them so."""
    words = [sys.executable, "-c", "from tests.observe.loopback import scripted, served"]
    subprocess.run(words, cwd=ROOT, env=os.environ | {"PYTHONPATH": str(ROOT / "tooling")}, check=True)
