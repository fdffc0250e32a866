"""Ping-pong loops as fast as Python can run them: no allocation, lookup or output between two messages."""

from __future__ import annotations

import gc
import os
import struct
from contextlib import ExitStack, contextmanager, suppress
from itertools import repeat
from pathlib import Path
from socket import (
    IPPROTO_TCP,
    MSG_DONTWAIT,
    MSG_WAITALL,
    SO_RCVBUF,
    SO_RCVTIMEO,
    SO_SNDBUF,
    SO_SNDTIMEO,
    SOCK_STREAM,
    SOL_SOCKET,
    TCP_NODELAY,
    socket,
)
from time import perf_counter_ns
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from array import array
    from collections.abc import Iterator

SO_BUSY_POLL = 46  # asm-generic/socket.h; Python has no name for it
BUSY_POLL_MICROSECONDS = 50


class SilenceError(OSError):
    """No message from the peer within the time-out."""


def prepare(wire: socket, stall_seconds: float, buffer_bytes: int = 0, *, busy_poll: bool = False) -> None:
    """Set socket options for the loops below.

    The time-out is the kernel's (SO_RCVTIMEO), since Python's own would poll before every call.
    """
    wire.setblocking(True)
    patience = struct.pack("@ll", int(stall_seconds), int(stall_seconds % 1 * 1e6))
    wire.setsockopt(SOL_SOCKET, SO_RCVTIMEO, patience)
    wire.setsockopt(SOL_SOCKET, SO_SNDTIMEO, patience)
    if wire.type == SOCK_STREAM:
        wire.setsockopt(IPPROTO_TCP, TCP_NODELAY, 1)
    if buffer_bytes:
        wire.setsockopt(SOL_SOCKET, SO_SNDBUF, buffer_bytes)
        wire.setsockopt(SOL_SOCKET, SO_RCVBUF, buffer_bytes)
    if busy_poll:
        try:
            wire.setsockopt(SOL_SOCKET, SO_BUSY_POLL, BUSY_POLL_MICROSECONDS)
        except OSError:
            return  # raising it needs CAP_NET_ADMIN; the loops poll anyway


@contextmanager
def undisturbed() -> Iterator[None]:
    """Disable the garbage collector within the context."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


@contextmanager
def promptly(priority: int = 1) -> Iterator[None]:
    """Run with real-time priority and without processor sleep states, if the system allows it.

    On a busy host a process that waits for the clock loses its processor for milliseconds otherwise. On a quiet one the
    processor sleeps the deeper the longer it waits, which looks like a link that does. SCHED_RR needs root or
    RLIMIT_RTPRIO, and the kernel reserves a share for other processes (sched_rt_runtime_us). A latency of 0 written to
    /dev/cpu_dma_latency holds while the file is open (kernel documentation, power/pm_qos_interface).
    """
    was = os.sched_getscheduler(0), os.sched_getparam(0)
    with ExitStack() as stack:
        with suppress(OSError):
            stack.enter_context(Path("/dev/cpu_dma_latency").open("wb", buffering=0)).write(struct.pack("i", 0))
        with suppress(PermissionError):
            os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(priority))
            stack.callback(os.sched_setscheduler, 0, *was)
        yield


def _rest(wire: socket, into: memoryview, got: int) -> None:
    """Receive the rest of a stream message that a signal or the time-out cut short."""
    while got < len(into):
        more = _received(wire, into[got:])
        if more == 0:
            raise ConnectionResetError("the peer closed the connection")
        got += more


def _received(wire: socket, into: memoryview) -> int:
    try:
        return wire.recv_into(into, len(into), MSG_WAITALL)
    except BlockingIOError:
        raise SilenceError("no answer in time") from None


def ping_stream(wire: socket, out: memoryview, into: memoryview, repeats: int) -> int:
    """Send `out` and receive `into` `repeats` times over a stream; return nanoseconds. Raises OSError."""
    send, receive, size = wire.sendall, wire.recv_into, len(into)
    try:
        began = perf_counter_ns()
        for _ in repeat(None, repeats):
            send(out)
            got = receive(into, size, MSG_WAITALL)
            if got != size:
                _rest(wire, into, got)
        return perf_counter_ns() - began
    except BlockingIOError:
        raise SilenceError("no answer in time") from None


def pong_stream(wire: socket, out: memoryview, into: memoryview, repeats: int) -> int:
    """Receive `into` and send `out` `repeats` times over a stream; return how many. Raises OSError."""
    send, receive, size = wire.sendall, wire.recv_into, len(into)
    try:
        for _ in repeat(None, repeats):
            got = receive(into, size, MSG_WAITALL)
            if got != size:
                _rest(wire, into, got)
            send(out)
    except BlockingIOError:
        raise SilenceError("no message in time") from None
    return repeats


def ping_datagrams(wire: socket, out: memoryview, into: memoryview, repeats: int) -> int:
    """Send `out` and receive `into` `repeats` times as datagrams; return nanoseconds. Raises SilenceError on a loss."""
    send, receive, size = wire.send, wire.recv_into, len(into)
    try:
        began = perf_counter_ns()
        for _ in repeat(None, repeats):
            send(out)
            receive(into, size)
        return perf_counter_ns() - began
    except BlockingIOError:
        raise SilenceError("a datagram was lost") from None


def pong_datagrams(wire: socket, out: memoryview, into: memoryview, repeats: int) -> int:
    """Receive `into` and send `out` `repeats` times as datagrams; return how many, fewer if one was lost."""
    send, receive, size = wire.send, wire.recv_into, len(into)
    done = 0
    try:
        for _ in repeat(None, repeats):
            receive(into, size)
            send(out)
            done += 1
    except BlockingIOError:
        return done
    return done


def ping_polling(wire: socket, out: memoryview, into: memoryview, repeats: int, patience_ns: int) -> int:
    """Ping as above, but poll for the answer instead of sleeping; return nanoseconds."""
    began = perf_counter_ns()
    for _ in repeat(None, repeats):
        wire.sendall(out)
        poll(wire, into, patience_ns)
    return perf_counter_ns() - began


def pong_polling(wire: socket, out: memoryview, into: memoryview, repeats: int, patience_ns: int) -> int:
    """Pong as above, but poll for the message instead of sleeping; return how many."""
    for _ in repeat(None, repeats):
        poll(wire, into, patience_ns)
        wire.sendall(out)
    return repeats


def poll(wire: socket, into: memoryview, patience_ns: int) -> None:
    """Receive a whole message by polling the socket. Raises SilenceError, ConnectionResetError."""
    receive, size, got, end = wire.recv_into, len(into), 0, perf_counter_ns() + patience_ns
    while got < size:
        try:
            more = receive(into[got:] if got else into, size - got, MSG_DONTWAIT)
        except BlockingIOError:
            if perf_counter_ns() > end:
                raise SilenceError("no answer in time") from None
            continue
        if more == 0:
            raise ConnectionResetError("the peer closed the connection")
        got += more


def ping_stamped(wire: socket, out: memoryview, into: memoryview, stamps: array[int]) -> None:
    """Fill `stamps` with the nanoseconds of single round trips. Raises OSError."""
    send = wire.sendall
    for i in range(len(stamps)):
        began = perf_counter_ns()
        send(out)
        _rest(wire, into, 0)
        stamps[i] = perf_counter_ns() - began


def ping_paced(
    wire: socket, out: memoryview, into: memoryview, gap_ns: int, gaps: array[int], trips: array[int], patience_ns: int
) -> None:
    """Fill `gaps` and `trips` (nanoseconds) with idle gaps and the round trips after them. Raises OSError.

    A gap runs from the answer's arrival to the next message. The loop polls the clock, since no sleep is accurate to a
    microsecond. It polls for the answer, since waking up takes longer after a longer sleep.
    """
    send = wire.sendall
    idle_since = perf_counter_ns()
    for i in range(len(trips)):
        due = idle_since + gap_ns
        while perf_counter_ns() < due:
            pass
        began = perf_counter_ns()
        send(out)
        poll(wire, into, patience_ns)
        ended = perf_counter_ns()
        gaps[i], trips[i] = began - idle_since, ended - began
        idle_since = ended
