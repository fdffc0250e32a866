"""Serve SNMP agents on loopback for tests: virtual switches, and agents that misbehave."""

import asyncio
import contextlib
import socket
import threading

from pyasn1.codec.ber import decoder, encoder
from pysnmp.proto.api import v2c

from tagloom import platforms
from tagloom.adapters.snmp import Snmp
from tagloom.lab.agent import Agent, Login, serve
from tagloom.lab.device import Device
from tagloom.lab.mib import SwitchTree, switch_mac
from tagloom.records.snmp import Credentials
from tagloom.records.switch_state import SwitchEditor

LOGIN = Login("lab", "lab", "lab-auth-password", "lab-priv-password")
V3 = Credentials(user="lab", auth_password="lab-auth-password", priv_password="lab-priv-password")
V2C = Credentials(version="2c", community="lab")


def snmp(credentials=V2C, **options):
    return Snmp(credentials, **({"timeout": 0.3, "retries": 1, "agent_seconds": 5.0} | options))


def switch(model="powerconnect-5324", state=None, number=0, octets=lambda _: (0, 0), neighbours=dict):
    """Make one virtual switch and its agent."""
    device = Device(f"s{number}", platforms.load(model), lambda _: "")
    device.foreign.take("", f"hostname s{number}")
    if state is not None:
        device.editor = SwitchEditor.of(state)
    tree = SwitchTree(device, number, octets, neighbours, lambda: agent.uptime_seconds, lambda _port: 0.0)
    agent = Agent(tree, LOGIN, b"\x80\x00\x1f\x88\x03" + switch_mac(number).to_bytes(6, "big"))
    return device, agent


@contextlib.contextmanager
def served(*agents):
    """Serve agents on loopback from a thread of their own; gives their addresses."""
    loop = asyncio.new_event_loop()
    transports = [loop.run_until_complete(serve(agent, ("127.0.0.1", 0))) for agent in agents]
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        yield [transport.get_extra_info("sockname") for transport in transports]
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        for transport in transports:
            transport.close()
        loop.run_until_complete(asyncio.sleep(0))
        loop.close()


@contextlib.contextmanager
def scripted(answer, source="127.0.0.1"):
    """Serve a v2c agent written by the test: answer(request) gives the datagrams to send; gives its address.

    It answers from the address `source`, by the port that it is asked at.

    `request` has `names`, and of a GETBULK `heads` (asked for once), `columns` and `repetitions`; its `reply(bindings)`
    makes a datagram. GETNEXT (`next`) is a GETBULK of one repetition.
    """
    wire = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    wire.bind(("127.0.0.1", 0))
    wire.settimeout(0.05)
    away = wire
    if source != wire.getsockname()[0]:
        away = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        away.bind((source, wire.getsockname()[1]))
    over = threading.Event()

    def work():
        while not over.is_set():
            try:
                data, sender = wire.recvfrom(65535)
            except TimeoutError:
                continue
            for datagram in answer(Request(data)):
                away.sendto(datagram, sender)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield wire.getsockname()
    finally:
        over.set()
        thread.join()
        wire.close()
        away.close()


class Request:
    """One v2c request as pysnmp reads it."""

    def __init__(self, data):
        self.message, _ = decoder.decode(data, asn1Spec=v2c.Message())
        self.pdu = v2c.apiMessage.get_pdu(self.message)
        self.next = self.pdu.tagSet == v2c.GetNextRequestPDU.tagSet
        self.bulk = self.next or self.pdu.tagSet == v2c.GetBulkRequestPDU.tagSet
        self.names = [tuple(name) for name, _ in v2c.apiPDU.get_varbinds(self.pdu)]
        once = int(v2c.apiBulkPDU.get_non_repeaters(self.pdu)) if self.bulk and not self.next else 0
        self.heads, self.columns = self.names[:once], self.names[once:]
        self.repetitions = 1 if self.next else int(v2c.apiBulkPDU.get_max_repetitions(self.pdu)) if self.bulk else 0

    def reply(self, bindings, status=0, request_id=None):
        message = v2c.apiMessage.get_response(self.message)
        pdu = v2c.apiMessage.get_pdu(message)
        if request_id is not None:
            v2c.apiPDU.set_request_id(pdu, request_id)
        if status:
            v2c.apiPDU.set_error_status(pdu, status)
        v2c.apiPDU.set_varbinds(pdu, bindings)
        return encoder.encode(message)


def truthful(rows, most=10):
    """Answer as an agent does that holds `rows` (name -> pysnmp value), with `most` repetitions at once."""

    def answer(request):
        if not request.bulk:
            return [request.reply([(n, rows.get(n, v2c.NoSuchObject(""))) for n in request.names])]
        at, found = request.columns[:], heads_of(request, rows)
        for _ in range(min(request.repetitions, most)):
            after = [following(rows, name) for name in at]
            found += after
            at = [name for name, _ in after]
        return [request.reply(found)]

    return answer


def heads_of(request, rows):
    """Answer what a GETBULK asks for once."""
    return [following(rows, name) for name in request.heads]


def following(rows, name):
    """Give the next row after a name."""
    later = min((n for n in rows if n > name), default=None)
    return (name, v2c.EndOfMibView("")) if later is None else (later, rows[later])
