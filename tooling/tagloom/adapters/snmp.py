"""Read many SNMP agents at once, by pysnmp: v3 authPriv and v2c, GET and GETBULK.

Messages, protocol operations, and authentication and privacy are pysnmp's own records and services; its engine is not
used. That keeps every user and peer in a MIB database and every variable binding in a tree of objects, which took 25 to
33 ms of CPU for a poll of 200 values, v2c and v3. Here a response's bindings stay as they came, and `_bindings` reads
them: 2 and 4 ms, on the same machine.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
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

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping
    from types import TracebackType

    from tagloom.records.snmp import Address, Credentials, Oid, Rows, Value, Wanted

IN_FLIGHT = 64  # agents read at the same time
TIMEOUT_SECONDS = 1.0  # for one answer
RETRIES = 2
AGENT_SECONDS = 60.0  # for all answers of one agent: one that is slow all along ends too
MAX_BINDINGS = 100  # asked for in one GETBULK; an agent sends what fits its message
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
_TOO_BIG = 1
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
        self._waiting: dict[int, tuple[_Peer, asyncio.Future[_Answer | None]]] = {}
        self._peers: dict[Any, _Peer] = {}
        self._numbers = itertools.count(1)
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
        self, peer: _Peer, operation: Any, requested: tuple[int, int, bytes], patience: float, retries: int
    ) -> _Answer:
        """Send one request until it is answered, each time for `patience` seconds. Raises _LostError.

        `requested` is what follows the request id in an operation: two numbers and the names.
        """
        loop = asyncio.get_running_loop()
        answered: asyncio.Future[_Answer | None] = loop.create_future()
        numbers: list[int] = []
        left, reports = retries, 0
        peer.note = ""
        try:
            while True:
                number = next(self._numbers) & 0x7FFF_FFFF
                numbers.append(number)
                self._waiting[number] = peer, answered
                body = encoder.encode(_set(operation, number, *requested))
                self._transport.sendto(self._seal(peer, number, body), peer.address)
                timer = loop.call_later(patience, _give_up, answered)
                answer = await answered
                timer.cancel()
                answered = loop.create_future()
                if answer is None:
                    if left == 0:
                        raise _LostError(self._silence(peer, patience, retries))
                    left -= 1
                elif not answer.report:
                    return answer
                elif answer.report in {"engine", "clock"} and reports < MAX_REPORTS:
                    reports += 1
                else:
                    raise _LostError(self._refusal(answer.report))
                for old in numbers:  # an answer to an earlier try is as good
                    self._waiting[old] = peer, answered
        finally:
            for number in numbers:
                self._waiting.pop(number, None)

    def _silence(self, peer: _Peer, patience: float, retries: int) -> str:
        if peer.left < 0:
            return peer.note
        said = f"no answer in {patience:g} s, {retries + 1} times"
        if peer.note:
            return f"{said}; {peer.note}"
        if not self._v3:
            return f"{said}: no agent there, or it knows no such community"
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
        peer = self._peers.get(addr)
        if peer is None:
            return  # none of ours
        peer.left -= len(data)
        if peer.left < 0:
            peer.note = f"it sent more than {AGENT_BYTES:,} bytes"
            return
        try:
            self._take_v3(data, addr) if self._v3 else self._take_v2c(data, addr)
        except Exception as error:  # noqa: BLE001 - whatever comes off the wire must not end the run
            words = " ".join(str(error).split()) or type(error).__name__
            peer.note = printable(f"what came from it could not be read ({words})"[:160])

    def _take_v2c(self, data: bytes, addr: tuple[Any, ...]) -> None:
        message, _ = decoder.decode(data, asn1Spec=_COMMUNITY)
        if int(message[0]) != 1:
            raise ValueError(f"a message of version {int(message[0])}")
        body = bytes(message[2])
        operation, _ = decoder.decode(body, asn1Spec=_ANSWERS[body[0]])
        self._deliver(int(operation[0]), addr, _Answer("", int(operation[1]), bytes(operation[3])))

    def _take_v3(self, data: bytes, addr: tuple[Any, ...]) -> None:
        message, _ = decoder.decode(data, asn1Spec=_TEMPLATE)
        if int(message[0]) != 3:
            raise ValueError(f"a message of version {int(message[0])}")
        number, flags = int(message[1][0]), bytes(message[1][2])[0]
        peer, _ = self._waiting.get(number, (None, None))
        if peer is None or peer.address != addr:
            return  # too late, or none of ours
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
            report = self._heed(peer, engine_id, boots, seconds, bindings, signed=signed)
            self._deliver(number, addr, _Answer(report, 0, b""))
        elif flags & (_AUTH_FLAG | _PRIV_FLAG) != _AUTH_FLAG | _PRIV_FLAG:
            raise ValueError("an answer without authentication and privacy")
        else:
            if int(operation[0]) != number:
                raise ValueError("an answer to another request")
            peer.boots, peer.seconds, peer.seen = boots, seconds, self._clock()
            self._deliver(number, addr, _Answer("", int(operation[1]), bindings))

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

    def _deliver(self, number: int, addr: tuple[Any, ...], answer: _Answer) -> None:
        peer, answered = self._waiting.get(number, (None, None))
        if peer is not None and answered is not None and peer.address == addr and not answered.done():
            answered.set_result(answer)


def _empty(number: int) -> Any:
    operation = rfc1905.GetRequestPDU()
    v2c.apiPDU.set_defaults(operation)
    v2c.apiPDU.set_request_id(operation, number)
    return operation


def _give_up(answered: asyncio.Future[_Answer | None]) -> None:
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
    room: int = MAX_BINDINGS
    out_of_range: bool = False

    async def read(self, wanted: Wanted) -> None:
        self.columns = {column: {} for table in wanted.tables for column in table}
        scalars = wanted.scalars
        for table in wanted.tables:
            await self._part(self._walk(table, scalars))
            scalars = ()
        if self.at is None and wanted.scalars:
            await self._part(self._get(wanted.scalars))

    async def _part(self, reading: Coroutine[Any, Any, None]) -> None:
        try:
            await reading
        except _RefusedError as refused:
            self.complaints.append(str(refused))

    async def _ask(
        self, operation: Any, names: tuple[Oid, ...], once: int = 0, repetitions: int = 0
    ) -> list[tuple[Oid, Any]] | None:
        """Return the answer's bindings, None where it would be too big. Raises _RefusedError, _LostError."""
        body = (once, repetitions, _names(names))
        answer = await self.wire.exchange(self.peer, operation, body, self.timeout, self.retries)
        if answer.status == _TOO_BIG:
            return None
        if answer.status:
            raise _RefusedError(f"it answers {_STATUS.get(answer.status, answer.status)} for {_dotted(names[0])}")
        try:
            return list(_bindings(answer.bindings))
        except ValueError as error:
            raise _RefusedError(f"its answer for {_dotted(names[0])} cannot be read: {error}") from None

    async def _get(self, names: tuple[Oid, ...]) -> None:
        self._keep(names, await self._ask(_GET, names) or ())

    def _keep(self, names: tuple[Oid, ...], found: Iterable[tuple[Oid, Any]]) -> None:
        self.at = self.now()
        for name, value in found:
            if name in names and self._is_value(name, value):
                self.scalars[name] = value

    async def _walk(self, table: tuple[Oid, ...], scalars: tuple[Oid, ...]) -> None:
        """Walk columns side by side; a column ends where the next name is of another, or does not rise.

        Single instances come along with the first request, as what GETBULK does not repeat: it asks for what follows
        their object's name.
        """
        at = {column: column for column in table}
        heads = tuple(name[:-1] for name in scalars)
        while at:
            names = tuple(at.values())
            found = await self._ask(_GET_BULK, heads + names, len(heads), max(1, self.room // len(names)))
            if found is None and self.room > len(names):
                self.room = max(len(names), self.room // 2)
                continue
            if found is not None and heads:
                self._keep(scalars, found[: len(heads)])
                found, heads = found[len(heads) :], ()
            if not found:
                why = "is too big for it" if found is None else "is empty before the end"
                self.complaints.append(f"its answer for {_dotted(names[0])} {why}")
                return
            columns = list(at)
            for i, (name, value) in enumerate(found):
                column = columns[i % len(columns)]
                if column in at:
                    self._step(at, column, name, value)

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
        peer.left = AGENT_BYTES
        reading = _Reading(wire, peer, self._timeout, self._retries, self._now)
        failed = ""
        try:
            async with asyncio.timeout(self._agent_seconds):
                await reading.read(wanted)
        except _LostError as lost:
            failed = str(lost)
        except TimeoutError:
            failed = f"not read to the end in {self._agent_seconds:g} s"
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
