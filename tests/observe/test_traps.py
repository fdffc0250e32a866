"""Notifications of switches are heard, of v2c and v3, signed by who may; they say that something changed, no more."""

import asyncio
import socket
import subprocess

import pytest

from tagloom.adapters.snmp_traps import TrapReceiver
from tagloom.errors import InputError
from tagloom.lab import ber, traps
from tagloom.lab.agent import Agent, Login, serve
from tagloom.records.snmp import Credentials
from waiting import until

ENGINE = bytes.fromhex("80001f8803020000000001")
WORDS = {"community": "plant", "user": "watch", "auth_password": "auth-pass-9", "priv_password": "priv-pass-9"}


class Still:
    """A tree of no objects."""

    def refresh(self):
        pass


@pytest.fixture
def heard():
    return []


@pytest.fixture
def senders():
    return []


@pytest.fixture
def receiver(request, heard, senders):
    """Return a receiver by credentials of a version, 3 unless a test names another."""

    def hear(what, sender):
        senders.append(sender)
        heard.append(what)

    with TrapReceiver(Credentials(getattr(request, "param", "3"), **WORDS), ("127.0.0.1", 0), hear) as listening:
        yield listening


def send(receiver, kind, *, up=False, place=None, engine=ENGINE, **words):
    """Let an agent of the rack's send one notification; return it. `place` takes the address that it has."""

    async def once():
        agent = Agent(Still(), Login(**WORDS | words), engine)
        transport = await serve(agent, ("127.0.0.1", 0))
        if place is not None:
            place.append(transport.get_extra_info("sockname"))
        traps.notify(agent, transport, traps.Target(receiver.address, kind), 7, up=up)
        await asyncio.gather(*(asyncio.all_tasks() - {asyncio.current_task()}))
        transport.close()
        return agent

    return asyncio.run(once())


OF_2C = pytest.mark.parametrize("receiver", ["2c"], indirect=True)


@pytest.mark.parametrize(
    ("receiver", "kind"), [("2c", "v2c-trap"), ("2c", "v2c-inform"), ("3", "v3-trap")], indirect=["receiver"]
)
def test_a_link_that_goes_down_and_up_is_heard_and_whose_it_is(receiver, heard, senders, kind):
    receiver.trust([ENGINE])
    places = []
    send(receiver, kind, place=places)
    until(lambda: heard == ["linkDown"])
    send(receiver, kind, up=True, place=places)
    until(lambda: heard == ["linkDown", "linkUp"])
    assert senders == places


@OF_2C
def test_an_inform_is_answered_so_that_it_is_sent_once(receiver, heard):
    assert send(receiver, "v2c-inform").answered == {1}
    assert heard == ["linkDown"]


def nonsense(receiver):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as wire:
        for data in (b"", b"\x30", b"\x30\x84\xff\xff\xff\xff", ber.tlv(ber.SEQUENCE, ber.integer(1))):
            wire.sendto(data, receiver.address)


@OF_2C
def test_who_does_not_know_the_community_is_not_heard(receiver, heard):
    send(receiver, "v2c-trap", community="public")
    receiver.trust([ENGINE])
    send(receiver, "v3-trap")
    nonsense(receiver)
    send(receiver, "v2c-trap", up=True)  # who does is heard still
    until(lambda: heard)
    assert heard == ["linkUp"]


def test_who_is_not_the_user_is_not_heard_whatever_community_he_knows(receiver, heard):
    receiver.trust([ENGINE])
    send(receiver, "v3-trap", engine=ENGINE[:-1] + b"\2")  # that nobody knows
    send(receiver, "v3-trap", auth_password="another-9")
    send(receiver, "v2c-trap")
    nonsense(receiver)
    send(receiver, "v3-trap", up=True)  # who is the user is heard still
    until(lambda: heard)
    assert heard == ["linkUp"]


def test_an_address_that_is_taken_is_a_finding(receiver):
    with pytest.raises(InputError, match="a UDP address to listen at"):
        TrapReceiver(Credentials(**WORDS), receiver.address, lambda *_: None)


@pytest.mark.needs("snmpinform")
def test_an_inform_of_another_hand_is_heard_and_answered_by_v3(receiver, heard):
    place = ":".join(map(str, receiver.address))
    words = ("-v3", "-l", "authPriv", "-u", "watch", "-a", "SHA", "-A", "auth-pass-9", "-x", "AES", "-X", "priv-pass-9")
    done = subprocess.run(
        ["snmpinform", *words, "-t", "5", "-r", "1", place, "", "1.3.6.1.6.3.1.1.5.3"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    until(lambda: heard)
    assert heard == ["linkDown"]
