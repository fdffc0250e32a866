"""Read many SNMP agents at once, by pysnmp: v3 authPriv and v2c, GET and GETBULK, or GETNEXT where that fails.

Messages, protocol operations, and authentication and privacy are pysnmp's own records and services; its engine is not
used. That keeps every user and peer in a MIB database and every variable binding in a tree of objects, which took 25 to
33 ms of CPU for a poll of 200 values, v2c and v3. Here a response's bindings stay as they came, and `_bindings` reads
them: 2 and 4 ms, on the same machine.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import socket
import time
from dataclasses import dataclass, field
from functools import lru_cache
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, Self

from pyasn1.codec.ber import decoder, encoder
from pyasn1.type import namedtype, univ
from pysnmp.entity import config
from pysnmp.proto import rfc1905
from pysnmp.proto.api import v2c
from pysnmp.proto.error import ProtocolError, StatusInformation
from pysnmp.proto.mpmod.rfc3412 import SNMPv3Message
from pysnmp.proto.secmod.rfc3414.service import SnmpUSMSecurityModel, UsmSecurityParameters

from tagloom.plain_text import printable
from tagloom.records.snmp import Raw
from tagloom.units import joined_address

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
    from types import TracebackType

    from tagloom.records.snmp import Address, Credentials, Oid, Rows, Value, Wanted

IN_FLIGHT = 64  # agents read at the same time
TIMEOUT_SECONDS = 1.0  # for one answer
RETRIES = 2
AGENT_SECONDS = 60.0  # for all answers of one agent: one that is slow all along ends too
MAX_BINDINGS = 100  # asked for in one GETBULK; an agent sends what fits its message
WHOLE_ANSWERS = 64  # of the largest size that is asked for, before a larger one is tried again
MAX_ROWS = 50_000  # of one column: an agent may go on for ever; the largest filtering database has 32,768
AGENT_BYTES = 16 << 20  # of all answers of one agent; 32,768 learnt entries are 3 MB
KEPT_OCTETS = 64  # of a name that is kept for the next agent; the longest one asked for has 40
_SHOWN_ARCS = 24  # of a name, in a complaint
MAX_ARCS = 128  # of a name (RFC 2578 section 3.5)
MAX_REPORTS = 4  # for one request: engine id, clock, and both again after a reboot
RECEIVE_BYTES = 4 << 20
MAX_MESSAGE_BYTES = 65507  # RFC 3417 section 3.2

AUTH = {
    "MD5": config.USM_AUTH_HMAC96_MD5,
    "SHA": config.USM_AUTH_HMAC96_SHA,
    "SHA-224": config.USM_AUTH_HMAC128_SHA224,
    "SHA-256": config.USM_AUTH_HMAC192_SHA256,
    "SHA-384": config.USM_AUTH_HMAC256_SHA384,
    "SHA-512": config.USM_AUTH_HMAC384_SHA512,
}
PRIV = {
    "DES": config.USM_PRIV_CBC56_DES,
    "AES": config.USM_PRIV_CFB128_AES,
    "AES-192": config.USM_PRIV_CFB192_AES_BLUMENTHAL,
    "AES-256": config.USM_PRIV_CFB256_AES_BLUMENTHAL,
}
_AUTH_FLAG, _PRIV_FLAG, _REPORTABLE = 1, 2, 4
_ENGINE_OCTETS, _MOST_SECONDS = 32, (1 << 31) - 1  # RFC 3411 section 5, RFC 3414 section 2.2
_TOO_BIG, _NO_SUCH_NAME = 1, 2
_FEW_ROWS = 2  # an agent that does not answer for so many, and never did for more, does not know GETBULK
_OF_SIZE = {_TOO_BIG, 5, 13}  # tooBig, genErr, resourceUnavailable: a smaller request may be answered
# What a number may be, by its tag (RFC 2578 section 7.1): INTEGER, Counter32, Gauge32, TimeTicks, Counter64.
_RANGES = {
    0x02: (-(1 << 31), (1 << 31) - 1),
    0x41: (0, (1 << 32) - 1),
    0x42: (0, (1 << 32) - 1),
    0x43: (0, (1 << 32) - 1),
    0x46: (0, (1 << 64) - 1),
    0x47: (0, (1 << 32) - 1),
}
_NUMBER_OCTETS = 9  # of the largest, which has a zero before its high bit
OUT_OF_RANGE = "a number out of range"
_EXCEPTIONS = {0x80: "noSuchObject", 0x81: "noSuchInstance", 0x82: "endOfMibView"}
_REPORTS: dict[Oid, str] = {  # RFC 3414 section 5, usmStats
    (1, 3, 6, 1, 6, 3, 15, 1, 1, 1, 0): "level",
    (1, 3, 6, 1, 6, 3, 15, 1, 1, 2, 0): "clock",
    (1, 3, 6, 1, 6, 3, 15, 1, 1, 3, 0): "user",
    (1, 3, 6, 1, 6, 3, 15, 1, 1, 4, 0): "engine",
    (1, 3, 6, 1, 6, 3, 15, 1, 1, 5, 0): "digest",
    (1, 3, 6, 1, 6, 3, 15, 1, 1, 6, 0): "cipher",
}


# --- messages: pysnmp's, with the variable bindings left as they are -------------------------------------------------


def _plain(names: str, *types: univ.Any) -> namedtype.NamedTypes:
    return namedtype.NamedTypes(*map(namedtype.NamedType, names.split(), types))


def _record(name: str, fields: str, *types: Any, tags: Any = univ.Sequence.tagSet) -> Any:
    return type(name, (univ.Sequence,), {"componentType": _plain(fields, *types), "tagSet": tags})()


def _operation(of: type[Any]) -> Any:
    types = univ.Integer(), univ.Integer(), univ.Integer(), univ.Any()
    return _record(of.__name__, "request first second bindings", *types, tags=of.tagSet)


_SCOPED = _record("Scoped", "engine context pdu", univ.OctetString(), univ.OctetString(), univ.Any())
_COMMUNITY = _record("Community", "version community pdu", univ.Integer(), univ.OctetString(), univ.Any())
_MESSAGE, _SECURITY = SNMPv3Message(), UsmSecurityParameters()
_TEMPLATE = SNMPv3Message()  # never filled: what comes is read into copies
_GET, _GET_BULK = _operation(rfc1905.GetRequestPDU), _operation(rfc1905.GetBulkRequestPDU)
_GET_NEXT = _operation(rfc1905.GetNextRequestPDU)
_ANSWERS = {0xA2: _operation(rfc1905.ResponsePDU), 0xA8: _operation(rfc1905.ReportPDU)}
_STATUS = dict(zip(rfc1905.errorStatus.namedValues.values(), rfc1905.errorStatus.namedValues.keys(), strict=True))


def _element(data: bytes, at: int, end: int) -> tuple[int, int, int]:
    """Read tag, and where the content begins and ends. Raises ValueError where that is beyond `end`."""
    if at + 2 > end:
        raise ValueError("an element is cut short")
    tag, size, start = data[at], data[at + 1], at + 2
    if size & 0x80:
        start += size & 0x7F
        size = int.from_bytes(data[at + 2 : start], "big")
    if start + size > end:
        raise ValueError("an element is cut short")
    return tag, start, start + size


def _arcs(content: bytes) -> Oid:
    """Read an object identifier (X.690 section 8.19). Raises ValueError for what is none (RFC 2578 section 3.5)."""
    return _known_arcs(content) if len(content) <= KEPT_OCTETS else _read_arcs(content)


def _read_arcs(content: bytes) -> Oid:
    if len(content) > 5 * MAX_ARCS:
        raise ValueError("an object identifier is too long")
    arcs, arc = [], 0
    for octet in content:
        arc = arc << 7 | octet & 0x7F
        if not octet & 0x80:
            arcs.append(arc)
            arc = 0
    if not arcs or content[-1] & 0x80:
        raise ValueError("an object identifier is cut short")
    if len(arcs) >= MAX_ARCS or max(arcs) >= (1 << 32) + 80:
        raise ValueError("an object identifier is too long")
    first = min(arcs[0] // 40, 2)
    return (first, arcs[0] - 40 * first, *arcs[1:])


_known_arcs = lru_cache(maxsize=1 << 16)(_read_arcs)  # the same few thousand come from every switch


def _bindings(data: bytes) -> Iterator[tuple[Oid, Value | str | None]]:
    """Read variable bindings (RFC 3416 section 3): name and value, or the name of the exception in its place.

    Some fifty times as fast as objects for all of them; a property test holds it to what pyasn1 reads. Counters are
    read without a sign, since some agents forget the zero before a high bit. Raises ValueError for what is none.
    """
    tag, at, end = _element(data, 0, len(data))
    if tag != 0x30:
        raise ValueError("variable bindings are no sequence")
    while at < end:
        tag, start, stop = _element(data, at, end)
        kind, low, high = _element(data, start, stop)
        if tag != 0x30 or kind != 0x06:
            raise ValueError("a variable binding does not begin with a name")
        name = _arcs(data[low:high])
        kind, low, high = _element(data, high, stop)
        content = data[low:high]
        if bounds := _RANGES.get(kind):
            number = int.from_bytes(content[: _NUMBER_OCTETS + 1], "big", signed=kind == 0x02)
            yield name, number if bounds[0] <= number <= bounds[1] else OUT_OF_RANGE
        elif kind in {0x04, 0x40, 0x44}:
            yield name, content
        elif kind == 0x06:
            yield name, _arcs(content)
        else:
            yield name, _EXCEPTIONS.get(kind)
        at = stop


@lru_cache(maxsize=1 << 14)
def _names(names: tuple[Oid, ...]) -> bytes:
    """Encode names that are asked for, each bound to null; every switch is asked the same ones."""
    operation = rfc1905.GetRequestPDU()
    v2c.apiPDU.set_defaults(operation)
    v2c.apiPDU.set_varbinds(operation, [(name, v2c.null) for name in names])
    return bytes(encoder.encode(operation[3]))


def _set(record: Any, *values: Any) -> Any:
    for i, value in enumerate(values):
        record.setComponentByPosition(i, value, verifyConstraints=False)
    return record


# --- one agent -------------------------------------------------------------------------------------------------------


class _LostError(Exception):
    """There is nothing to be had from this agent, and why."""


class _SilentError(_LostError):
    """The agent does not answer, however little it is asked for."""


class _RefusedError(Exception):
    """The agent does not give this part of the reading, and why; it may give others."""


@dataclass(slots=True)
class _Peer:
    """What is known of one agent: where it is, and as an engine its id, boots and clock (RFC 3414 section 2.2)."""

    address: Any
    engine_id: bytes = b""
    boots: int = 0
    seconds: int = 0
    seen: float = 0.0  # on our clock, when its clock said `seconds`
    auth_key: Any = None
    priv_key: Any = None
    note: str = ""  # what else came from it, for when nothing better does
    left: int = AGENT_BYTES  # that it may send yet
    elsewhere: str = ""  # the address that it answers from, where that is another
    room: int = MAX_BINDINGS  # asked for at once, and the most that may be tried
    ceiling: int = MAX_BINDINGS
    whole: int = 0  # answers of that size
    bulk: bool | None = None  # whether it answers GETBULK; None = not known


@dataclass(slots=True)
class _Answer:
    """A response or a report: request id, error status, bindings."""

    report: str
    status: int
    bindings: bytes


class _Wire(asyncio.DatagramProtocol):
    """Send requests of many peers by one socket, and give every answer to whom it is for."""

    def __init__(self, credentials: Credentials, clock: Callable[[], float]) -> None:
        self._credentials, self._clock = credentials, clock
        self._waiting: dict[int, tuple[_Peer, asyncio.Future[tuple[int, _Answer] | None]]] = {}
        self._peers: dict[Any, _Peer] = {}
        self._v3 = credentials.version == "3"
        if self._v3:
            self._auth_id = AUTH[credentials.auth_protocol]
            self._auth: Any = SnmpUSMSecurityModel.AUTH_SERVICES[self._auth_id]
            self._priv: Any = SnmpUSMSecurityModel.PRIV_SERVICES[PRIV[credentials.priv_protocol]]
            self._passwords = (
                self._auth.hash_passphrase(credentials.auth_password),
                self._priv.hash_passphrase(self._auth_id, credentials.priv_password),
            )

    def connection_made(self, transport: asyncio.DatagramTransport) -> None:  # type: ignore[override]  # it is one
        self._transport = transport
        wire = transport.get_extra_info("socket")
        wire.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BYTES)

    def close(self) -> None:
        """Close the socket."""
        self._transport.close()

    def peer(self, address: Any) -> _Peer:
        """Return the agent at an address; what was learnt of it earlier holds."""
        return self._peers.setdefault(address, _Peer(address))

    @property
    def peers(self) -> list[_Peer]:
        """List the agents that were asked something."""
        return list(self._peers.values())

    async def exchange(
        self, peer: _Peer, bodies: Sequence[tuple[Any, int, int, bytes]], patience: float
    ) -> tuple[_Answer, int]:
        """Send a request until it is answered; return the answer, and which try it is to. Raises _LostError.

        Each try has a body of its own, that of a smaller answer than the one before: large ones may get lost. A body is
        an operation and what follows the request id in it: two numbers and the names.
        """
        loop = asyncio.get_running_loop()
        answered: asyncio.Future[tuple[int, _Answer] | None] = loop.create_future()
        tries: dict[int, int] = {}
        at, reports = 0, 0
        peer.note = ""
        try:
            while True:
                number = secrets.randbelow(0x7FFF_FFFF) + 1
                tries[number] = at
                for each in tries:  # an answer to an earlier try is as good
                    self._waiting[each] = peer, answered
                operation, *content = bodies[at]
                body = encoder.encode(_set(operation, number, *content))
                self._transport.sendto(self._seal(peer, number, body), peer.address)
                timer = loop.call_later(patience, _give_up, answered)
                found = await answered
                timer.cancel()
                answered = loop.create_future()
                if found is None:
                    at += 1
                    if at == len(bodies):
                        raise _SilentError(self._silence(peer, patience, bodies))
                    continue
                number, answer = found
                if not answer.report:
                    return answer, tries[number]
                if answer.report not in {"engine", "clock"} or reports == MAX_REPORTS:
                    raise _LostError(self._refusal(answer.report))
                reports += 1
        finally:
            for number in tries:
                self._waiting.pop(number, None)

    def _silence(self, peer: _Peer, patience: float, bodies: Sequence[tuple[Any, int, int, bytes]]) -> str:
        if peer.left < 0:
            return peer.note
        said = f"no answer in {patience:g} s, {len(bodies)} time{'s' if len(bodies) > 1 else ''}"
        if peer.note:
            return f"{said}; {peer.note}"
        if not self._v3:
            lost = ", or its large answers get lost (--retries 1 asks for smaller ones)" if bodies[-1][2] > 1 else ""
            return f"{said}: no agent there, or it knows no such community{lost}"
        if peer.engine_id:
            return f"{said}, though it told its engine id: it may not take the privacy password of {self._user}"
        return f"{said}: no agent there"

    @property
    def _user(self) -> str:
        return f"user {self._credentials.user!r}"

    def _refusal(self, report: str) -> str:
        return {
            "level": f"it does not let {self._user} in with authentication and privacy",
            "user": f"it knows no {self._user}",
            "digest": f"wrong authentication password or protocol for {self._user}",
            "cipher": f"wrong privacy password or protocol for {self._user}",
        }.get(report, f"it keeps sending reports ({report})")

    # --- out ---

    def _seal(self, peer: _Peer, number: int, body: bytes) -> bytes:
        if not self._v3:
            return bytes(encoder.encode(_set(_COMMUNITY, 1, self._credentials.community.encode(), body)))
        scoped = encoder.encode(_set(_SCOPED, peer.engine_id, b"", body))
        known = bool(peer.engine_id)
        boots, seconds = peer.boots, peer.seconds + int(self._clock() - peer.seen) if known else 0
        _MESSAGE.clear()
        _set(_MESSAGE, 3)
        level = (_AUTH_FLAG | _PRIV_FLAG if known else 0) | _REPORTABLE
        _set(_MESSAGE.setComponentByPosition(1)[1], number, MAX_MESSAGE_BYTES, bytes((level,)), 3)
        data = _MESSAGE.setComponentByPosition(3)[3]
        user, digest, salt = b"", b"", b""
        if known:
            user, digest = self._credentials.user.encode(), bytes(self._auth.digest_length)
            cipher, salt = self._priv.encrypt_data(peer.priv_key, (boots, seconds, None), scoped)
            data.setComponentByPosition(1, cipher)
        else:  # RFC 3414 section 4: who are you
            plain = data.setComponentByPosition(0)[0]
            _set(plain, b"", b"")
            plain.setComponentByPosition(2)[2].setComponentByType(rfc1905.GetRequestPDU.tagSet, _empty(number))
        security = _set(_SECURITY, peer.engine_id, boots, seconds, user, digest, salt)
        _MESSAGE.setComponentByPosition(2, encoder.encode(security))
        whole = encoder.encode(_MESSAGE)
        return bytes(self._auth.authenticate_outgoing_message(peer.auth_key, whole) if known else whole)

    # --- in ---

    def datagram_received(self, data: bytes, addr: tuple[Any, ...]) -> None:
        """Take an answer by its request id: a switch of several addresses may answer from another than it was asked at.

        Request ids are drawn at random, and v3 proves the engine beside.
        """
        peer = self._peers.get(addr)
        if peer is not None and not self._charge(peer, data):
            return
        try:
            message, number = self._opened(data)
            waiting, _ = self._waiting.get(number, (None, None))
            if waiting is None:
                return  # too late, or none of ours
            if waiting is not peer and not self._charge(waiting, data):
                return
            peer = waiting
            if addr[:2] != peer.address[:2]:
                self._check_stranger(message)
            answer = self._answer_v3(peer, number, message, data) if self._v3 else self._answer_v2c(message)
            if addr[:2] != peer.address[:2]:
                peer.elsewhere = joined_address(*addr[:2]) if addr[0] == peer.address[0] else addr[0]
            self._deliver(number, answer)
        except Exception as error:  # noqa: BLE001 - whatever comes off the wire must not end the run
            if peer is not None:
                words = " ".join(str(error).split()) or type(error).__name__
                where = "" if addr[:2] == peer.address[:2] else f" by way of {addr[0]}"
                peer.note = printable(f"what came from it{where} could not be read ({words})"[:160])

    def _charge(self, peer: _Peer, data: bytes) -> bool:
        """Return whether an agent may send so much more."""
        peer.left -= len(data)
        if peer.left < 0:
            peer.note = f"it sent more than {AGENT_BYTES:,} bytes"
        return peer.left >= 0

    def _opened(self, data: bytes) -> tuple[Any, int]:
        """Return a message and its request id. Raises ValueError, or what pyasn1 raises, for what is none."""
        message, _ = decoder.decode(data, asn1Spec=_TEMPLATE if self._v3 else _COMMUNITY)
        if int(message[0]) != (3 if self._v3 else 1):
            raise ValueError(f"a message of version {int(message[0])}")
        if self._v3:
            return message, int(message[1][0])
        body = bytes(message[2])
        operation, _ = decoder.decode(body, asn1Spec=_ANSWERS[body[0]])
        return message, int(operation[0])

    def _check_stranger(self, message: Any) -> None:
        """Raise ValueError unless a message from another address has our community; v3 is signed."""
        if not self._v3 and bytes(message[1]) != self._credentials.community.encode():
            raise ValueError("an answer of another community")

    @staticmethod
    def _answer_v2c(message: Any) -> _Answer:
        body = bytes(message[2])
        operation, _ = decoder.decode(body, asn1Spec=_ANSWERS[body[0]])
        return _Answer("", int(operation[1]), bytes(operation[3]))

    def _answer_v3(self, peer: _Peer, number: int, message: Any, data: bytes) -> _Answer:
        flags = bytes(message[1][2])[0]
        security, _ = decoder.decode(bytes(message[2]), asn1Spec=_SECURITY)
        engine_id, boots, seconds = bytes(security[0]), int(security[1]), int(security[2])
        if not (len(engine_id) <= _ENGINE_OCTETS and 0 <= boots <= _MOST_SECONDS and 0 <= seconds <= _MOST_SECONDS):
            raise ValueError("an engine that cannot be")
        signed = bool(flags & _AUTH_FLAG)
        if signed:
            if peer.auth_key is None or engine_id != peer.engine_id:
                raise ValueError("signed by another engine")
            try:
                self._auth.authenticate_incoming_message(peer.auth_key, security[4], data)
            except (StatusInformation, ProtocolError):
                raise ValueError("its signature is wrong") from None
        if flags & _PRIV_FLAG:
            cipher = message[3].getComponent()
            plain = self._priv.decrypt_data(peer.priv_key, (boots, seconds, security[5]), cipher)
            scoped, _ = decoder.decode(plain, asn1Spec=_SCOPED)
            body = bytes(scoped[2])
        else:
            body = bytes(encoder.encode(message[3].getComponent()[2].getComponent()))
        operation, _ = decoder.decode(body, asn1Spec=_ANSWERS[body[0]])
        bindings = bytes(operation[3])
        if body[0] == 0xA8:
            return _Answer(self._heed(peer, engine_id, boots, seconds, bindings, signed=signed), 0, b"")
        if flags & (_AUTH_FLAG | _PRIV_FLAG) != _AUTH_FLAG | _PRIV_FLAG:
            raise ValueError("an answer without authentication and privacy")
        if int(operation[0]) != number:
            raise ValueError("an answer to another request")
        peer.boots, peer.seconds, peer.seen = boots, seconds, self._clock()
        return _Answer("", int(operation[1]), bindings)

    def _heed(self, peer: _Peer, engine_id: bytes, boots: int, seconds: int, bindings: bytes, *, signed: bool) -> str:
        """Learn an engine's id from a report, its clock from a signed one; return what it reports."""
        names = [name for name, _ in _bindings(bindings)]
        report = _REPORTS.get(names[0], ".".join(map(str, names[0]))) if names else "nothing"
        if report == "engine" and engine_id and engine_id != peer.engine_id:
            ours = univ.OctetString(engine_id)
            peer.engine_id, peer.boots, peer.seconds, peer.seen = engine_id, boots, seconds, self._clock()
            peer.auth_key = self._auth.localize_key(self._passwords[0], ours)
            peer.priv_key = self._priv.localize_key(self._auth_id, self._passwords[1], ours)
        elif report == "clock" and signed:
            peer.boots, peer.seconds, peer.seen = boots, seconds, self._clock()
        return report

    def _deliver(self, number: int, answer: _Answer) -> None:
        _, answered = self._waiting.get(number, (None, None))
        if answered is not None and not answered.done():
            answered.set_result((number, answer))


def _empty(number: int) -> Any:
    operation = rfc1905.GetRequestPDU()
    v2c.apiPDU.set_defaults(operation)
    v2c.apiPDU.set_request_id(operation, number)
    return operation


def _give_up(answered: asyncio.Future[tuple[int, _Answer] | None]) -> None:
    if not answered.done():
        answered.set_result(None)


# --- one reading -----------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Reading:
    """Gather what one agent answers, and what was wrong with it."""

    wire: _Wire
    peer: _Peer
    timeout: float
    retries: int
    now: Callable[[], float]
    at: float | None = None
    scalars: Rows = field(default_factory=dict)
    columns: dict[Oid, Rows] = field(default_factory=dict)
    complaints: list[str] = field(default_factory=list)
    out_of_range: bool = False

    async def read(self, wanted: Wanted) -> None:
        self.columns = {column: {} for table in wanted.tables for column in table}
        scalars = wanted.scalars
        for table in wanted.tables:
            await self._part(self._walk({column: column for column in table}, scalars))
            scalars = ()
        if self.at is None and wanted.scalars:
            await self._part(self._get(wanted.scalars))

    async def _part(self, reading: Coroutine[Any, Any, None]) -> None:
        try:
            await reading
        except _RefusedError as refused:
            self.complaints.append(str(refused))

    async def _ask(
        self, names: tuple[Oid, ...], tries: Sequence[tuple[Any, int, int]]
    ) -> tuple[list[tuple[Oid, Any]] | int, int]:
        """Return the answer's bindings, and which of `tries` it is to: operations and their two numbers.

        In place of the bindings it is an error status that a smaller request may not have. Raises _RefusedError,
        _LostError.
        """
        encoded = _names(names)
        answer, tried = await self.wire.exchange(self.peer, [(*each, encoded) for each in tries], self.timeout)
        if answer.status in _OF_SIZE or answer.status == _NO_SUCH_NAME:
            return answer.status, tried
        if answer.status:
            raise _RefusedError(_status_words(answer.status, names[0]))
        try:
            return list(_bindings(answer.bindings)), tried
        except ValueError as error:
            raise _RefusedError(f"its answer for {_dotted(names[0])} cannot be read: {error}") from None

    async def _get(self, names: tuple[Oid, ...]) -> None:
        """Read single instances; what the agent does not give together, it may give one by one."""
        found, _ = await self._ask(names, [(_GET, 0, 0)] * (self.retries + 1))
        if not isinstance(found, int):
            self._keep(names, found)
        elif len(names) == 1 and found == _NO_SUCH_NAME:  # as agents of version 1 call noSuchObject
            self._keep(names, ())
        elif len(names) == 1:
            raise _RefusedError(_status_words(found, names[0]))
        else:
            half = len(names) // 2
            await self._part(self._get(names[:half]))
            await self._part(self._get(names[half:]))

    def _keep(self, names: tuple[Oid, ...], found: Iterable[tuple[Oid, Any]]) -> None:
        self.at = self.now()
        for name, value in found:
            if name in names and self._is_value(name, value):
                self.scalars[name] = value

    async def _walk(self, at: dict[Oid, Oid], scalars: tuple[Oid, ...] = (), *, bulk: bool = True) -> None:
        """Walk columns side by side, each from its name in `at`.

        A column ends where the next name is of another, or does not rise. Single instances come along with the first
        request, as what GETBULK does not repeat: it asks for what follows their object's name. What is not answered is
        asked for again in smaller requests: fewer rows, then without the instances, then one column at a time. A single
        row is asked for by GETNEXT where more were refused or not answered, and each where not `bulk`.
        """
        heads = tuple(name[:-1] for name in scalars)
        while at:
            names = tuple(at.values())
            tries = self._requests(len(names), len(heads), bulk=bulk)
            try:
                found, tried = await self._ask(heads + names, tries)
            except _SilentError:
                if self.at is None or len(names) == 1:  # it has never answered, or not for the least
                    raise
                await self._one_by_one(at)
                return
            operation, _, rows = tries[tried]
            self._learn(tries, tried, found, len(names))
            if isinstance(found, int):
                if rows > 1 and found in _OF_SIZE:
                    self._shrink(rows, rows // 2, len(names))
                elif heads:
                    await self._part(self._get(scalars))
                    heads = ()
                elif len(names) > 1:
                    await self._one_by_one(at)
                    return
                elif found in _OF_SIZE:
                    raise _RefusedError(_status_words(found, names[0]))
                elif operation is _GET_NEXT:  # the end, as agents of version 1 call it
                    return
                else:
                    bulk = False
                continue
            self._grow()
            if heads:
                self._keep(scalars, found[: len(heads)])
                found, heads = found[len(heads) :], ()
            if not found:
                self.complaints.append(f"its answer for {_dotted(names[0])} is empty before the end")
                return
            self._take(at, found)

    def _requests(self, columns: int, once: int, *, bulk: bool) -> list[tuple[Any, int, int]]:
        """Return the operation of each try for the next rows, and its two numbers."""
        peer = self.peer
        if not bulk or peer.bulk is False:
            return [(_GET_NEXT, 0, 0)] * (self.retries + 1)
        rows = max(1, peer.room // columns)
        return [
            (_GET_NEXT, 0, 0) if each == 1 and (i or peer.ceiling < MAX_BINDINGS) else (_GET_BULK, once, each)
            for i, each in enumerate(_fewer(rows, self.retries))
        ]

    def _learn(
        self, tries: Sequence[tuple[Any, int, int]], tried: int, found: list[tuple[Oid, Any]] | int, columns: int
    ) -> None:
        """Learn from which try was answered, and how, what may be asked for next."""
        operation, _, rows = tries[0]
        if tried and operation is _GET_BULK:
            self._shrink(rows, max(1, tries[tried][2]), columns)
        if tries[tried][0] is _GET_BULK and not isinstance(found, int):
            self.peer.bulk = True
        elif operation is _GET_BULK and rows <= _FEW_ROWS and (tried or found in _OF_SIZE) and self.peer.bulk is None:
            self.peer.bulk = False

    def _take(self, at: dict[Oid, Oid], found: Sequence[tuple[Oid, Any]]) -> None:
        columns = list(at)
        for i, (name, value) in enumerate(found):
            column = columns[i % len(columns)]
            if column in at:
                self._step(at, column, name, value)

    async def _one_by_one(self, at: dict[Oid, Oid]) -> None:
        for column, name in at.items():
            await self._part(self._walk({column: name}))

    def _shrink(self, failed: int, rows: int, columns: int) -> None:
        """Ask for so few rows from here on, and never again for as many as were not answered."""
        self.peer.ceiling = max(1, min(self.peer.ceiling, failed * columns // 2))
        self.peer.room = max(1, min(self.peer.ceiling, rows * columns))

    def _grow(self) -> None:
        """Ask for more again, up to what was lost, and rarely beyond: it may have been lost by chance."""
        peer = self.peer
        if peer.room == peer.ceiling < MAX_BINDINGS:
            peer.whole += 1
            if peer.whole % WHOLE_ANSWERS == 0:
                peer.ceiling = min(MAX_BINDINGS, peer.ceiling + max(1, peer.ceiling // 4))
        peer.room = min(peer.ceiling, 2 * peer.room)

    def _step(self, at: dict[Oid, Oid], column: Oid, name: Oid, value: Any) -> None:
        rows = self.columns[column]
        if value == "endOfMibView" or name[: len(column)] != column:
            if value != "endOfMibView" and name <= at[column]:
                self.complaints.append(f"its walk of {_dotted(column)} goes back to {_dotted(name)}")
            del at[column]
        elif name <= at[column] or len(rows) >= MAX_ROWS:
            why = f"goes round at {_dotted(name)}" if name <= at[column] else f"does not end after {len(rows)} rows"
            self.complaints.append(f"its walk of {_dotted(column)} {why}")
            del at[column]
        else:
            at[column] = name
            if self._is_value(name, value):
                rows[name[len(column) :]] = value

    def _is_value(self, name: Oid, value: Any) -> bool:
        """Return whether there is a value; one that its type cannot have is a complaint, the first time."""
        if value == OUT_OF_RANGE and not self.out_of_range:
            self.out_of_range = True
            self.complaints.append(f"{_dotted(name)} is {OUT_OF_RANGE}")
        return value is not None and not isinstance(value, str)


def _fewer(rows: int, retries: int) -> list[int]:
    """Return how many rows each try asks for: as many, once more if that may be chance, ever fewer, and one at last.

    >>> _fewer(50, 0), _fewer(50, 1), _fewer(50, 2), _fewer(50, 4)
    ([50], [50, 1], [50, 50, 1], [50, 50, 6, 1, 1])
    """
    return [rows, *(max(1, rows >> 3 * i) for i in range(retries - 1)), 1][: retries + 1]


def _status_words(status: int, name: Oid) -> str:
    if status == _TOO_BIG:
        return f"its answer for {_dotted(name)} is too big for it"
    return f"it answers {_STATUS.get(status, status)} for {_dotted(name)}"


def _dotted(name: Oid) -> str:
    return ".".join(map(str, name[:_SHOWN_ARCS])) + ("..." if len(name) > _SHOWN_ARCS else "")


class Snmp:
    """Read agents with one set of credentials; what is learnt of them is kept until the end.

    At most `in_flight` agents are read at a time. An agent is given `timeout` seconds for an answer, is asked `retries`
    times more, and has `agent_seconds` for all of it. `clock` never goes back; `now` gives the time of a reading.
    """

    def __init__(
        self,
        credentials: Credentials,
        *,
        in_flight: int = IN_FLIGHT,
        timeout: float = TIMEOUT_SECONDS,
        retries: int = RETRIES,
        agent_seconds: float = AGENT_SECONDS,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._credentials, self._in_flight = credentials, in_flight
        self._timeout, self._retries, self._agent_seconds = timeout, retries, agent_seconds
        self._clock, self._now = clock, now
        self._runner = asyncio.Runner()
        self._opening = asyncio.Lock()
        self._wires: dict[socket.AddressFamily, _Wire] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for wire in self._wires.values():
            wire.close()
        with contextlib.suppress(KeyboardInterrupt):  # of a reading that it ended: it was raised then, too
            self._runner.close()

    def ask(self, agents: Mapping[str, Address], wanted: Wanted) -> dict[str, Raw]:
        """Read every agent; one that fails has an error, and costs the others nothing."""
        return self._runner.run(self._ask(agents, wanted))

    @property
    def engines(self) -> set[bytes]:
        """Return the ids of the agents' engines that are known by now (v3)."""
        return {peer.engine_id for wire in self._wires.values() for peer in wire.peers if peer.engine_id}

    async def _ask(self, agents: Mapping[str, Address], wanted: Wanted) -> dict[str, Raw]:
        places = asyncio.Semaphore(self._in_flight)

        async def one(address: Address) -> Raw:
            async with places:
                return await self._read(address, wanted)

        found = await asyncio.gather(*(one(address) for address in agents.values()))
        return dict(zip(agents, found, strict=True))

    async def _read(self, address: Address, wanted: Wanted) -> Raw:
        began = self._clock()
        try:
            wire, place = await self._reach(address)
        except (OSError, UnicodeError) as error:
            return Raw(self._now(), error=f"no address for {address[0]!r}: {getattr(error, 'strerror', None) or error}")
        peer = wire.peer(place)
        peer.left, peer.elsewhere = AGENT_BYTES, ""
        reading = _Reading(wire, peer, self._timeout, self._retries, self._now)
        failed = ""
        try:
            async with asyncio.timeout(self._agent_seconds):
                await reading.read(wanted)
        except _LostError as lost:
            failed = str(lost)
        except TimeoutError:
            failed = f"not read to the end in {self._agent_seconds:g} s"
        if peer.elsewhere:
            proof = "its engine's signature" if self._credentials.version == "3" else "its request id"
            reading.complaints.append(f"it answers from {peer.elsewhere}, not {address[0]}: taken by {proof}")
        seconds, complaints = self._clock() - began, tuple(reading.complaints)
        at = self._now() if reading.at is None else reading.at
        return Raw(at, seconds, reading.scalars, reading.columns, complaints, failed)

    async def _reach(self, address: Address) -> tuple[_Wire, Any]:
        loop = asyncio.get_running_loop()
        try:
            family = socket.AF_INET6 if ip_address(address[0]).version == 6 else socket.AF_INET
            place: Any = (*address, 0, 0) if family == socket.AF_INET6 else address
        except ValueError:
            found = await loop.getaddrinfo(*address, type=socket.SOCK_DGRAM)
            family, place = found[0][0], found[0][4]
        async with self._opening:
            if family not in self._wires:
                _, wire = await loop.create_datagram_endpoint(
                    lambda: _Wire(self._credentials, self._clock), family=family
                )
                self._wires[family] = wire
        return self._wires[family], place
