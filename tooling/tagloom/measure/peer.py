"""The two ends of a measurement: a listening side that answers the requests of a connecting side.

Every line on the control connection is one JSON object. Messages travel on a separate socket, so that nothing comes
between two of them.
"""

from __future__ import annotations

import hashlib
import json
import socket
import struct
import time
from array import array
from contextlib import nullcontext
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import TYPE_CHECKING, Any, Self

from tagloom.errors import DeviceError, Finding, InputError
from tagloom.measure import loops
from tagloom.records.measurement import PeerClock
from tagloom.units import joined_address, split_address

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import TracebackType

Network = IPv4Network | IPv6Network
Place = tuple[str, int]
LOOPBACK: tuple[Network, ...] = (ip_network("127.0.0.0/8"), ip_network("::1/128"))
PORT = 5302  # the default; no service is registered at it
LINE_BYTES = 4096  # the maximum of a control line
MAX_MESSAGE_BYTES = 256 << 20
MAX_DATAGRAM_BYTES = 65507  # 2^16 - 1 - IPv4 header - UDP header
MAX_REPEATS = 50_000_000
SESSION_SECONDS = 3600.0  # the longest session of a listening side
STALL_SECONDS = 10.0  # of silence on a stream: the peer is dead
LOSS_SECONDS = 0.25  # of silence between datagrams: one was lost
SINK_SECONDS = 1.0  # of silence after which a file transfer by datagrams has ended
ONCE_SECONDS = 60.0
CLOCK_ROUNDS = 16
PAUSE_FIRST_SECONDS, PAUSE_EVERY_SECONDS = 0.5, 1.0
CHUNK_BYTES = 1 << 18


def networks(words: Sequence[str], where: str = "--network") -> tuple[Network, ...]:
    """Return the networks that measurements may load, including loopback. Raises InputError with all invalid ones."""
    found, wrong = list(LOOPBACK), []
    for word in words:
        try:
            found.append(ip_network(word))
        except ValueError as error:
            wrong.append(Finding(where, "a network such as 192.0.2.0/24", f"{word!r}: {error}"))
    if wrong:
        raise InputError(wrong)
    return tuple(found)


def parse_place(text: str, port: int, where: str) -> Place:
    """Return the host and port of HOST, HOST:PORT or [2001:db8::1]:PORT; port 0 is any free one. Raises InputError.

    >>> parse_place("[::1]:0", 5302, "--listen"), parse_place("n1", 5302, "--connect")
    (('::1', 0), ('n1', 5302))
    """
    try:
        return split_address(text, port, any_free=True)
    except ValueError:
        raise InputError([Finding(where, "HOST or HOST:PORT", repr(text))]) from None


def format_place(place: Place) -> str:
    """Return a place as `parse_place` reads it."""
    return joined_address(*place)


def check_allowed_network(address: str, allowed: Sequence[Network], where: str) -> None:
    """Raise InputError for an address outside the networks that may be loaded."""
    plain = ip_address(address.partition("%")[0])
    plain = getattr(plain, "ipv4_mapped", None) or plain
    if not any(plain in network for network in allowed):
        own = f"{plain}/{plain.max_prefixlen}"
        expected = f"an address that --network names: a measurement floods what lies between (--network {own})"
        raise InputError([Finding(where, expected, str(plain))])


def resolve(place: Place, family: int, kind: int = socket.SOCK_STREAM) -> tuple[int, Any]:
    """Return the family and the socket address of a place. Raises InputError if it does not resolve."""
    try:
        found = socket.getaddrinfo(*place, family=family, type=kind)[0]
    except (OSError, UnicodeError) as error:
        raise InputError([Finding(place[0], "a host that has an address", str(error))]) from None
    return found[0], found[4]


def pattern(seed: str, size: int) -> bytes:
    """Return the `size` pseudo-random bytes of `seed`, which both ends can compute."""
    return hashlib.shake_128(seed.encode()).digest(size)


class _Control:
    """JSON lines over a socket."""

    def __init__(self, wire: socket.socket) -> None:
        self._wire = wire
        self._file = wire.makefile("rb")
        wire.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def send(self, **payload: Any) -> None:
        self._wire.sendall(json.dumps(payload).encode() + b"\n")

    def receive(self) -> dict[str, Any]:
        line = self._file.readline(LINE_BYTES)
        if not line.endswith(b"\n"):
            raise ConnectionResetError("the peer closed the connection")
        payload = json.loads(line)
        if not isinstance(payload, dict):
            raise TypeError("a control line is no object")
        return payload

    def close(self) -> None:
        self._file.close()
        self._wire.close()


# --- the listening side ----------------------------------------------------------------------------------------------


class Server:
    """A listening side that serves one peer after another. Raises InputError if it cannot listen on the address."""

    def __init__(self, place: Place, allowed: Sequence[Network], family: int = socket.AF_UNSPEC) -> None:
        self._allowed = tuple(allowed)
        family, address = resolve(place, family)
        check_allowed_network(address[0], allowed, "--listen")
        try:
            self._door = socket.create_server(address[:2], family=socket.AddressFamily(family))
        except OSError as error:
            raise InputError([Finding("--listen", "an address of this host and a free port", str(error))]) from None
        self.place: Place = self._door.getsockname()[:2]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._door.close()

    def serve(self, note: Callable[[str], None], *, once: bool, pause: Callable[[float], None] | None = None) -> None:
        """Serve peers one after another, or one; a peer's error is noted and does not affect the next.

        `pause` sends a PAUSE frame for peers that request it; without it they are refused. With `once` it waits at most
        ONCE_SECONDS, since the process that started it may be gone.
        """
        self._door.settimeout(ONCE_SECONDS if once else None)
        while True:
            try:
                wire, peer = self._door.accept()
            except TimeoutError:
                note(f"nobody came in {ONCE_SECONDS:g} s")
                return
            try:
                check_allowed_network(peer[0], self._allowed, "peer")
            except InputError as error:
                note(str(error))
                wire.close()
                continue
            session = _Session(wire, pause)
            try:
                session.run()
                note(f"{peer[0]}: measured")
            except (OSError, ValueError, TypeError, KeyError) as error:
                note(f"{peer[0]}: {error or type(error).__name__}")
            finally:
                session.close()
            if once:
                return


class _Session:
    """One peer's session."""

    def __init__(self, wire: socket.socket, pause: Callable[[float], None] | None) -> None:
        wire.settimeout(SESSION_SECONDS)
        self._pause = pause
        self._here, self._there = wire.getsockname()[0], wire.getpeername()[0]
        self._family = wire.family
        self._control = _Control(wire)
        self._data: socket.socket | None = None
        self._datagrams = self._polling = False
        self._patience = STALL_SECONDS
        self._end = time.monotonic() + SESSION_SECONDS
        self._buffer = memoryview(bytearray(1))

    def close(self) -> None:
        self._control.close()
        if self._data is not None:
            self._data.close()

    def run(self) -> None:
        while time.monotonic() < self._end:
            payload = self._control.receive()
            if payload["op"] == "bye":
                return
            answer = getattr(self, f"do_{str(payload['op']).replace('-', '_')}", None)
            if answer is None:
                raise ValueError(f"asked for {payload['op']!r}, which this version does not know")
            answer(payload)

    def do_clock(self, _: dict[str, Any]) -> None:
        self._control.send(wall=time.time())

    def do_open(self, payload: dict[str, Any]) -> None:
        self._datagrams, self._polling = payload["protocol"] == "udp", bool(payload.get("poll"))
        self._patience = LOSS_SECONDS if self._datagrams else float(payload.get("stall", STALL_SECONDS))
        kind = socket.SOCK_DGRAM if self._datagrams else socket.SOCK_STREAM
        if self._data is not None:
            self._data.close()
        with socket.socket(self._family, kind) as door:
            door.bind((self._here, 0))
            if not self._datagrams:
                door.listen(1)
            self._control.send(port=door.getsockname()[1])
            door.settimeout(STALL_SECONDS)
            if self._datagrams:
                _, peer = door.recvfrom(1)
                wire = door.dup()
                wire.connect(peer)
            else:
                wire, peer = door.accept()
        self._data = wire
        if peer[0] != self._there:
            raise ConnectionRefusedError(f"the data came from {peer[0]}")
        loops.prepare(wire, self._patience, int(payload.get("buffer", 0)), busy_poll=self._polling)
        self._control.send(open=True)

    def _room(self, size: int, most: int = MAX_MESSAGE_BYTES) -> memoryview:
        if not 0 < size <= most:
            raise ValueError(f"a message of {size} bytes was asked for; from 1 to {most} are served")
        if len(self._buffer) < size:
            self._buffer = memoryview(bytearray(size))
        return self._buffer[:size]

    def _wire(self) -> socket.socket:
        if self._data is None:
            raise ValueError("asked for a measurement before a socket was opened")
        return self._data

    def do_trial(self, payload: dict[str, Any]) -> None:
        message, times = self._room(int(payload["bytes"])), min(int(payload["repeats"]), MAX_REPEATS)
        wire = self._wire()
        if self._datagrams:
            drain(wire)
        self._control.send(ready=True)
        with loops.undisturbed(), loops.promptly(2) if payload.get("promptly") else nullcontext():
            if self._polling:
                try:
                    done = loops.pong_polling(wire, message, message, times, int(self._patience * 1e9))
                except loops.SilenceError:
                    done = -1
            elif self._datagrams:
                done = loops.pong_datagrams(wire, message, message, times)
            else:
                done = loops.pong_stream(wire, message, message, times)
        self._control.send(done=done)

    def do_content(self, payload: dict[str, Any]) -> None:
        size, seed = int(payload["bytes"]), str(payload["seed"])
        message, mine = self._room(size), pattern(f"{seed} back", size)
        wire = self._wire()
        self._control.send(ready=True)
        try:
            receive(wire, message, datagram=self._datagrams)
        except loops.SilenceError:
            self._control.send(good=None)
            return
        good = bytes(message) == pattern(seed, size)
        wire.sendall(mine)
        self._control.send(good=good)

    def do_sink(self, payload: dict[str, Any]) -> None:
        """Receive a file: all bytes of a stream, or datagrams until they stop."""
        wire = self._wire()
        expected, room = int(payload["bytes"]), self._room(CHUNK_BYTES)
        pause_seconds = float(payload.get("pause", 0))
        if pause_seconds and self._pause is None:
            self._control.send(refused="PAUSE frames were not allowed there (--serve --pause INTERFACE)")
            return
        wire.setsockopt(
            socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("@ll", int(SINK_SECONDS if self._datagrams else 60), 0)
        )
        self._control.send(ready=True)
        got = packets = 0
        due = time.monotonic() + PAUSE_FIRST_SECONDS
        try:
            while got < expected:
                if pause_seconds and self._pause is not None and time.monotonic() >= due:
                    self._pause(pause_seconds)
                    due += PAUSE_EVERY_SECONDS
                more = wire.recv_into(room)
                if not more:
                    break
                got, packets = got + more, packets + 1
        except BlockingIOError:
            pass
        self._control.send(got=got, packets=packets)


def drain(wire: socket.socket) -> None:
    """Discard datagrams that came too late."""
    try:
        while True:
            wire.recv(MAX_DATAGRAM_BYTES, socket.MSG_DONTWAIT)
    except BlockingIOError:
        return


def receive(wire: socket.socket, into: memoryview, *, datagram: bool) -> None:
    """Receive one whole message. Raises SilenceError, ConnectionResetError."""
    got = 0
    try:
        while got < len(into):
            more = wire.recv_into(into[got:])
            if not more:
                raise ConnectionResetError("the peer closed the connection")
            got += more
            if datagram:
                return
    except BlockingIOError:
        raise loops.SilenceError("no message in time") from None


# --- the connecting side ---------------------------------------------------------------------------------------------


class Peer:
    """The connecting side. Raises InputError for a network that is not allowed, DeviceError if there is no answer."""

    def __init__(
        self,
        place: Place,
        allowed: Sequence[Network],
        family: int = socket.AF_UNSPEC,
        stall_seconds: float = STALL_SECONDS,
    ) -> None:
        self._family, self._address = resolve(place, family)
        check_allowed_network(self._address[0], allowed, "peer")
        self.name, self._stall = f"{place[0]}:{place[1]}", stall_seconds
        self.loopback = any(ip_address(self._address[0].split("%")[0]) in network for network in LOOPBACK)
        try:
            wire = socket.create_connection(self._address[:2], timeout=stall_seconds)
        except OSError as error:
            raise DeviceError(self.name, "connect", str(error)) from None
        # A trial takes time, and the far end may wait for its own time-out to notice a loss.
        wire.settimeout(stall_seconds + 60.0)
        self._control = _Control(wire)
        self.data: socket.socket | None = None
        self._datagrams = self._polling = False
        self._out = self._in = memoryview(bytearray(1))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._control.send(op="bye")
        except OSError:
            pass  # it has already gone
        finally:
            self._control.close()
            if self.data is not None:
                self.data.close()

    def clock(self, now: Callable[[], float] = time.time) -> PeerClock:
        """Return the offset of the peer's wall clock, from the quickest of several exchanges, as NTP does."""
        best = PeerClock(0.0, float("inf"))
        for _ in range(CLOCK_ROUNDS):
            requested = now()
            self._control.send(op="clock")
            theirs = float(self._control.receive()["wall"])
            came = now()
            if 0 <= came - requested < 2 * best.uncertainty_seconds:
                best = PeerClock(theirs - (requested + came) / 2, (came - requested) / 2)
        return best

    def open(self, protocol: str, buffer_bytes: int = 0, *, poll: bool = False) -> None:
        """Open the socket for messages: "tcp" or "udp"."""
        self._datagrams, self._polling = protocol == "udp", poll
        self._control.send(op="open", protocol=protocol, buffer=buffer_bytes, poll=poll, stall=self._stall)
        port = int(self._control.receive()["port"])
        kind = socket.SOCK_DGRAM if self._datagrams else socket.SOCK_STREAM
        if self.data is not None:
            self.data.close()
        self.data = socket.socket(self._family, kind)
        self.data.settimeout(self._stall)
        self.data.connect((self._address[0], port, *self._address[2:]))
        if self._datagrams:
            self.data.send(b"x")  # tells the far end the address for its datagrams
        self._control.receive()
        self.patience_seconds = LOSS_SECONDS if self._datagrams else self._stall
        loops.prepare(self.data, self.patience_seconds, buffer_bytes, busy_poll=poll)

    def _begin(self, **payload: Any) -> socket.socket:
        assert self.data is not None  # noqa: S101 - open() comes first
        if self._datagrams:
            drain(self.data)
        self._control.send(**payload)
        self._control.receive()
        return self.data

    def _room(self, size: int) -> tuple[memoryview, memoryview]:
        # One buffer for both directions, as in NPtcp: the answer is as warm in the cache as the message.
        if len(self._out) < size:
            self._out = self._in = memoryview(bytearray(size))
        return self._out[:size], self._in[:size]

    def trial(self, size: int, repeats: int) -> int:
        """Return the nanoseconds of `repeats` round trips. Raises SilenceError after a lost datagram."""
        out, into = self._room(size)
        wire = self._begin(op="trial", bytes=size, repeats=repeats)
        with loops.undisturbed():
            try:
                if self._polling:
                    took = loops.ping_polling(wire, out, into, repeats, int(self.patience_seconds * 1e9))
                elif self._datagrams:
                    took = loops.ping_datagrams(wire, out, into, repeats)
                else:
                    took = loops.ping_stream(wire, out, into, repeats)
            except loops.SilenceError:
                if self._datagrams:
                    self._control.receive()
                raise
        self._control.receive()
        return took

    def stamped(self, size: int, repeats: int) -> array[int]:
        """Return the nanoseconds of each of `repeats` round trips. Raises SilenceError after a lost datagram."""
        out, into = self._room(size)
        stamps = array("q", bytes(8 * repeats))
        wire = self._begin(op="trial", bytes=size, repeats=repeats)
        with loops.undisturbed():
            try:
                loops.ping_stamped(wire, out, into, stamps)
            except loops.SilenceError:
                if self._datagrams:
                    self._control.receive()
                raise
        self._control.receive()
        return stamps

    def paced(self, size: int, gap_seconds: float, repeats: int) -> tuple[array[int], array[int]]:
        """Return nanoseconds of idle gaps of this length and of the round trips after them. Raises SilenceError."""
        out, into = self._room(size)
        gaps, trips = array("q", bytes(8 * repeats)), array("q", bytes(8 * repeats))
        wire = self._begin(op="trial", bytes=size, repeats=repeats, promptly=True)
        with loops.undisturbed(), loops.promptly():
            try:
                loops.ping_paced(wire, out, into, int(gap_seconds * 1e9), gaps, trips, int(self.patience_seconds * 1e9))
            except loops.SilenceError:
                self._control.receive()
                raise
        self._control.receive()
        return gaps, trips

    def content(self, size: int, seed: str) -> bool | None:
        """Return whether bytes arrive unchanged both ways; None if a datagram was lost."""
        _, into = self._room(size)
        wire = self._begin(op="content", bytes=size, seed=seed)
        wire.sendall(pattern(seed, size))
        back: bool | None = None
        try:
            receive(wire, into, datagram=self._datagrams)
            back = bytes(into) == pattern(f"{seed} back", size)
        except loops.SilenceError:
            pass
        there = self._control.receive()["good"]
        return None if there is None or back is None else bool(there and back)

    def sink(self, size: int, pause_seconds: float = 0.0) -> socket.socket:
        """Return a socket on which the far end receives a file of this size; it pauses its switch once a second.

        Raises DeviceError if the far end may not send PAUSE.
        """
        assert self.data is not None  # noqa: S101 - open() comes first
        self._control.send(op="sink", bytes=size, pause=pause_seconds)
        answer = self._control.receive()
        if "refused" in answer:
            raise DeviceError(self.name, "sink", str(answer["refused"]))
        return self.data

    def sunk(self) -> tuple[int, int]:
        """Return the numbers of bytes and of datagrams that the far end received."""
        payload = self._control.receive()
        return int(payload["got"]), int(payload["packets"])
