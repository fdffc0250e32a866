"""Be the SNMP agent of one virtual switch: v2c and v3 with USM, over whatever tree of objects it is given."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import secrets
import time
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Protocol

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms

try:
    from cryptography.hazmat.decrepit.ciphers.modes import CFB
except ImportError:  # cryptography before 46 has it among the others
    from cryptography.hazmat.primitives.ciphers.modes import CFB

from tagloom.lab import ber

if TYPE_CHECKING:
    from collections.abc import Callable

MAX_BYTES = 1472  # what an Ethernet frame carries of UDP over IPv4; a switch's agent answers no more
TIME_WINDOW_SECONDS = 150  # RFC 3414 section 2.2.3
_USM_STATS = (1, 3, 6, 1, 6, 3, 15, 1, 1)
_UNSUPPORTED_LEVEL, _NOT_IN_WINDOW, _UNKNOWN_USER, _UNKNOWN_ENGINE, _WRONG_DIGEST, _UNDECIPHERABLE = range(1, 7)
_AUTH, _PRIV, _REPORTABLE = 1, 2, 4  # msgFlags, RFC 3412 section 6.4
_DIGEST_BYTES = 12  # HMAC-SHA-96, RFC 3414 section 7


class Tree(Protocol):
    """Answer for objects by their identifiers, values encoded as they stand in a variable binding."""

    def refresh(self) -> None:
        """Look anew: a message begins."""
        ...

    def get(self, name: ber.Oid) -> bytes:
        """Return the value of an instance, or the exception of RFC 3416 that stands for none."""
        ...

    def after(self, name: ber.Oid) -> tuple[ber.Oid, bytes] | None:
        """Return the next instance in lexical order, None at the end of the view."""
        ...


@dataclass(frozen=True, slots=True)
class Login:
    """Who may read: a v2c community, and a USM user with HMAC-SHA-96 and CFB128-AES-128."""

    community: str
    user: str
    auth_password: str
    priv_password: str


@lru_cache(maxsize=64)
def _key_of(password: str) -> bytes:
    """Digest a mebibyte of repeated password (RFC 3414 section A.2.2)."""
    text = password.encode()
    return hashlib.sha1((text * ((1 << 20) // len(text) + 1))[: 1 << 20], usedforsecurity=False).digest()


def localized(password: str, engine_id: bytes) -> bytes:
    """Return the key of a password at one engine (RFC 3414 section 2.6)."""
    key = _key_of(password)
    return hashlib.sha1(key + engine_id + key, usedforsecurity=False).digest()


class _ReportError(Exception):
    """The message is answered with a report: the last arc of the usmStats counter that says why."""

    def __init__(self, counter: int, *, signed: bool = False) -> None:
        self.counter, self.signed = counter, signed
        super().__init__(f"usmStats {counter}")


@dataclass(slots=True)
class Agent:
    """Answer SNMP messages from a tree; `clock` gives seconds, and its zero means nothing.

    Every switch is an engine of its own: id, boots, and the time since its last boot (RFC 3411 section 5).
    While `quiet` says so it answers nothing, as a switch does whose agent has hung.
    """

    tree: Tree
    login: Login
    engine_id: bytes
    clock: Callable[[], float] = time.monotonic
    boots: int = 1
    quiet: Callable[[], bool] = bool
    _booted: float = 0.0
    _keys: tuple[bytes, bytes] = (b"", b"")
    _counters: dict[int, int] = field(default_factory=dict)
    answered: set[int] = field(default_factory=set)  # informs
    _notifications: int = 0

    def __post_init__(self) -> None:
        self._booted = self.clock()
        self._keys = (
            localized(self.login.auth_password, self.engine_id),
            localized(self.login.priv_password, self.engine_id)[:16],
        )

    @property
    def uptime_seconds(self) -> float:
        """Return how long ago it booted."""
        return self.clock() - self._booted

    def reboot(self) -> None:
        """Begin a new life: time from zero, one more boot."""
        self._booted = self.clock()
        self.boots += 1

    def elapse(self, seconds: float) -> None:
        """Pass time, as if it had booted so much earlier."""
        self._booted -= seconds

    def next_notification(self) -> int:
        """Return a number that no notification of this agent has had."""
        self._notifications += 1
        return self._notifications

    def with_community(self, pdu: bytes) -> bytes:
        """Return a message of v2c."""
        head = ber.integer(1) + ber.tlv(ber.OCTETS, self.login.community.encode())
        return ber.tlv(ber.SEQUENCE, head + pdu)

    def signed(self, identity: int, pdu: bytes) -> bytes:
        """Return a message of v3 that asks for no answer, of this engine, signed and encrypted."""
        return self._seal(identity, self.login.user.encode(), pdu, _AUTH | _PRIV)

    def answer(self, datagram: bytes) -> bytes | None:
        """Return the answer to a datagram; None where an agent is silent: garbage, or an unknown community."""
        if self.quiet():
            return None
        self.tree.refresh()
        try:
            parts = ber.inside(datagram, ber.SEQUENCE)
            version = ber.number(parts[0][1])
            if version == 1 and parts[1][1] == self.login.community.encode():
                if parts[2][0] == ber.RESPONSE:  # to an inform
                    self.answered.add(ber.number(next(ber.elements(parts[2][1]))[1]))
                    return None
                head = ber.integer(1) + ber.tlv(ber.OCTETS, parts[1][1])
                pdu = self._respond(*parts[2], MAX_BYTES - len(head) - 4)
                return ber.tlv(ber.SEQUENCE, head + pdu)
            if version == 3:
                return self._answer_v3(datagram, parts)
        except (ValueError, IndexError):
            pass
        return None

    # --- protocol operations, RFC 3416 section 4.2 -------------------------------------------------------------------

    def _respond(self, tag: int, content: bytes, room: int) -> bytes:
        request, first, second, bindings = (each[1] for each in ber.elements(content))
        names = [ber.arcs(next(ber.elements(binding))[1]) for _, binding in ber.elements(bindings)]
        if tag == ber.GET:
            found = [_binding(name, self.tree.get(name)) for name in names]
        elif tag == ber.GET_NEXT:
            found = [self._next(name)[1] for name in names]
        elif tag == ber.GET_BULK:
            found = self._bulk(names, ber.number(first), ber.number(second), room - 32)
        else:
            raise ValueError("an agent answers reads alone")
        body = b"".join(found)
        if len(body) > room - 32 and tag != ber.GET_BULK:
            return _pdu(ber.RESPONSE, ber.number(request), b"", status=1)  # tooBig
        return _pdu(ber.RESPONSE, ber.number(request), body)

    def _next(self, name: ber.Oid) -> tuple[ber.Oid, bytes]:
        found = self.tree.after(name)
        if found is None:
            return name, _binding(name, ber.tlv(ber.END_OF_MIB_VIEW, b""))
        return found[0], _binding(*found)

    def _bulk(self, names: list[ber.Oid], once: int, repetitions: int, room: int) -> list[bytes]:
        """Repeat get-next; an answer that would not fit ends where the room does (RFC 3416 section 4.2.3)."""
        found: list[bytes] = []
        used = 0
        at = names[:]
        for turn in range(max(repetitions, 1 if once else 0)):
            for i in range(0 if turn == 0 else once, len(at)):
                if turn >= repetitions and i >= once:
                    break
                at[i], binding = self._next(at[i])
                used += len(binding)
                if used > room:
                    return found
                found.append(binding)
        return found

    # --- user-based security, RFC 3414 section 3 ---------------------------------------------------------------------

    def _answer_v3(self, datagram: bytes, parts: list[tuple[int, bytes]]) -> bytes | None:
        (_, message_id), (_, _), (_, flags), _ = ber.elements(parts[1][1])
        identity, level = ber.number(message_id), flags[0] & (_AUTH | _PRIV)
        security = [content for _, content in ber.inside(parts[2][1], ber.SEQUENCE)]
        try:
            scoped = self._open(datagram, parts[3], security, level)
        except _ReportError as report:
            if not flags[0] & _REPORTABLE:
                return None
            self._counters[report.counter] = count = self._counters.get(report.counter, 0) + 1
            name = (*_USM_STATS, report.counter, 0)
            pdu = _pdu(ber.REPORT, 0, _binding(name, ber.integer(count, ber.COUNTER32)))
            return self._seal(identity, security[3], pdu, _AUTH if report.signed else 0)
        tag, pdu = scoped[2]
        return self._seal(identity, security[3], self._respond(tag, pdu, MAX_BYTES - 140), level)

    def _open(
        self, datagram: bytes, data: tuple[int, bytes], security: list[bytes], level: int
    ) -> list[tuple[int, bytes]]:
        engine_id, boots, seconds, user, digest, salt = security
        if engine_id != self.engine_id:
            raise _ReportError(_UNKNOWN_ENGINE)
        if user != self.login.user.encode():
            raise _ReportError(_UNKNOWN_USER)
        if level != _AUTH | _PRIV:
            raise _ReportError(_UNSUPPORTED_LEVEL)
        blank = datagram.replace(digest, bytes(_DIGEST_BYTES), 1) if len(digest) == _DIGEST_BYTES else b""
        if not hmac.compare_digest(self._digest(blank), digest):
            raise _ReportError(_WRONG_DIGEST)
        late = abs(ber.number(seconds) - int(self.uptime_seconds)) > TIME_WINDOW_SECONDS
        if ber.number(boots) != self.boots or late:
            raise _ReportError(_NOT_IN_WINDOW, signed=True)
        cipher = self._cipher(ber.number(boots), ber.number(seconds), salt).decryptor()
        plain = cipher.update(data[1]) + cipher.finalize()
        try:
            return ber.inside(plain, ber.SEQUENCE)
        except ValueError:
            raise _ReportError(_UNDECIPHERABLE) from None

    def _seal(self, identity: int, user: bytes, pdu: bytes, level: int) -> bytes:
        scoped = ber.tlv(ber.SEQUENCE, ber.tlv(ber.OCTETS, self.engine_id) + ber.tlv(ber.OCTETS, b"") + pdu)
        seconds, salt = int(self.uptime_seconds), b""
        if level & _PRIV:
            salt = secrets.token_bytes(8)
            cipher = self._cipher(self.boots, seconds, salt).encryptor()
            scoped = ber.tlv(ber.OCTETS, cipher.update(scoped) + cipher.finalize())
        globals_ = ber.integer(identity) + ber.integer(65507) + ber.tlv(ber.OCTETS, bytes((level,))) + ber.integer(3)

        def message(digest: bytes) -> bytes:
            security = (
                ber.tlv(ber.OCTETS, self.engine_id)
                + ber.integer(self.boots)
                + ber.integer(seconds)
                + ber.tlv(ber.OCTETS, user)
                + ber.tlv(ber.OCTETS, digest)
                + ber.tlv(ber.OCTETS, salt)
            )
            parts = ber.tlv(ber.SEQUENCE, globals_) + ber.tlv(ber.OCTETS, ber.tlv(ber.SEQUENCE, security))
            return ber.tlv(ber.SEQUENCE, ber.integer(3) + parts + scoped)

        return message(self._digest(message(bytes(_DIGEST_BYTES)))) if level & _AUTH else message(b"")

    def _digest(self, message: bytes) -> bytes:
        return hmac.digest(self._keys[0], message, "sha1")[:_DIGEST_BYTES]

    def _cipher(self, boots: int, seconds: int, salt: bytes) -> Cipher[CFB]:
        """Make the cipher of RFC 3826 section 3.1.2.1: boots, time and salt are its start."""
        if len(salt) != 8:
            raise _ReportError(_UNDECIPHERABLE)
        start = boots.to_bytes(4, "big") + seconds.to_bytes(4, "big") + salt
        return Cipher(algorithms.AES(self._keys[1]), CFB(start))


def _binding(name: ber.Oid, value: bytes) -> bytes:
    return ber.tlv(ber.SEQUENCE, ber.oid(name) + value)


def _pdu(tag: int, request: int, bindings: bytes, status: int = 0) -> bytes:
    head = ber.integer(request) + ber.integer(status) + ber.integer(0)
    return ber.tlv(tag, head + ber.tlv(ber.SEQUENCE, bindings))


class _Port(asyncio.DatagramProtocol):
    def __init__(self, agent: Agent) -> None:
        self._agent = agent

    def connection_made(self, transport: asyncio.DatagramTransport) -> None:  # type: ignore[override]  # it is one
        self._transport = transport

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        said = self._agent.answer(data)
        if said is not None:
            self._transport.sendto(said, addr)


async def serve(agent: Agent, address: tuple[str, int]) -> asyncio.DatagramTransport:
    """Listen for an agent's requests. Raises OSError for an address in use."""
    loop = asyncio.get_running_loop()
    transport, _ = await loop.create_datagram_endpoint(lambda: _Port(agent), local_addr=address)
    return transport
