"""Send files over a link that is blocked briefly once a second (Blanquicet and Christensen's RPS experiment)."""

from __future__ import annotations

import subprocess
import threading
import time
from dataclasses import replace
from socket import SOL_SOCKET
from statistics import fmean
from typing import TYPE_CHECKING, Self

from tagloom.errors import DeviceError
from tagloom.measure.loops import promptly
from tagloom.measure.peer import CHUNK_BYTES, PAUSE_EVERY_SECONDS, PAUSE_FIRST_SECONDS
from tagloom.records.measurement import Transfer

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Sequence
    from types import TracebackType

    from tagloom.measure.peer import Peer

BURST_SECONDS = 0.002
SO_MAX_PACING_RATE, UNPACED = 47, (1 << 32) - 1  # asm-generic/socket.h, bytes per second
DATAGRAM_BYTES = 1400  # of payload: fits into a frame with all headers
BLOCKED_SECONDS = (0.0, 0.001, 0.010, 0.020)
# Their Table I: a file by TCP took 15.64 s undisturbed. With one disruption of 1, 10, 20 ms a second it took these
# seconds, without and with PAUSE. Their Table II: percent of UDP packets lost, measured.
PAPER_TCP_BASE = 15.64
PAPER_TCP = {0.0: (15.64, 15.64), 0.001: (15.64, 16.16), 0.010: (15.64, 16.41), 0.020: (15.93, 16.65)}
PAPER_UDP = {0.001: 0.05, 0.010: 1.00, 0.020: 1.98}
# Their times of the UDP stream, without and with PAUSE.
PAPER_UDP_SECONDS = {0.0: (28.08, 28.08), 0.001: (28.18, 28.25), 0.010: (28.14, 28.35), 0.020: (28.14, 28.68)}


class Disruptions:
    """A thread that blocks a link briefly once a second for the context's duration; `count` is how often."""

    def __init__(self, block: Callable[[float], None], seconds: float) -> None:
        self._block, self._seconds, self.count, self.error = block, seconds, 0, ""
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._work, daemon=True)

    def __enter__(self) -> Self:
        if self._seconds:
            self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        if self._seconds:
            self._thread.join()

    def _work(self) -> None:
        due = time.monotonic() + PAUSE_FIRST_SECONDS
        try:
            with promptly():
                while not self._over.wait(max(0.0, due - time.monotonic())):
                    self._block(self._seconds)
                    self.count += 1
                    due += PAUSE_EVERY_SECONDS
        except (OSError, DeviceError) as error:
            self.error = str(error)


def mean_of(runs: Sequence[Transfer]) -> Transfer:
    """Return the mean of repeated transfers: its seconds and disruptions are means, its packets sums."""
    came = [run.received_packets for run in runs]
    return replace(
        runs[0],
        seconds=fmean(run.seconds for run in runs),
        disruptions=round(fmean(run.disruptions for run in runs)),
        sent_packets=sum(run.sent_packets for run in runs),
        received_packets=None if None in came else sum(each or 0 for each in came),
    )


class PortBlocker:
    """Sets a port of a Linux bridge to disabled and back to forwarding, by one long-running `bridge` process.

    Frames that arrive meanwhile are lost, as on a link that changes its rate without PAUSE. The interface stays up,
    since taking it down and up costs the kernel tens of milliseconds.
    """

    def __init__(self, namespace: str, port: str) -> None:
        self._port = port
        self._process = subprocess.Popen(
            ["bridge", "-n", namespace, "-force", "-batch", "-"], stdin=subprocess.PIPE, text=True, encoding="ascii"
        )

    def _say(self, state: int) -> None:
        assert self._process.stdin is not None  # noqa: S101 - it is a pipe
        self._process.stdin.write(f"link set dev {self._port} state {state}\n")
        self._process.stdin.flush()

    def __call__(self, seconds: float) -> None:
        """Block the port for `seconds`."""
        self._say(0)  # disabled; IEEE 802.1D port states as numbered by bridge(8)
        time.sleep(seconds)
        self._say(3)  # forwarding

    def close(self) -> None:
        """End the process."""
        self._process.communicate()


def transfer(
    far: Peer,
    protocol: str,
    size: int,
    blocked_seconds: float,
    rate_bps: float,
    block: Callable[[float], None] | None,
    received: Callable[[], int] | None,
) -> Transfer:
    """Send a file of `size` bytes at `rate_bps` while the link is blocked once a second.

    `block` blocks it here; without it the far end does, by PAUSE. The time of a stream ends when the far end has all of
    it. `received` counts the packets that left the link. Raises OSError, DeviceError.
    """
    far.open(protocol)
    before = received() if received else 0
    there = blocked_seconds if block is None else 0.0
    sent = 0
    with Disruptions(block or (lambda _: None), blocked_seconds if block is not None else 0.0) as disruptions:
        wire = far.sink(size, there)
        began = time.monotonic()
        if protocol == "tcp":
            send_stream(wire, size, rate_bps)
            far.sunk()
            ended = time.monotonic()
        else:
            sent = send_datagrams(wire, size, rate_bps)
            ended = time.monotonic()
    if disruptions.error:
        raise DeviceError("the link", "block", disruptions.error)
    came = None
    if protocol == "udp":
        _, packets = far.sunk()
        came = min(received() - before, sent) if received else packets
    count = (
        disruptions.count if block is not None else int((ended - began - PAUSE_FIRST_SECONDS) / PAUSE_EVERY_SECONDS + 1)
    )
    return Transfer(protocol, blocked_seconds, size, ended - began, count if blocked_seconds else 0, sent, came)


def send_stream(wire: socket.socket, size: int, rate_bps: float) -> None:
    """Send `size` bytes over a stream, paced by the kernel to `rate_bps`."""
    wire.setsockopt(SOL_SOCKET, SO_MAX_PACING_RATE, min(int(rate_bps / 8), UNPACED - 1))
    chunk = memoryview(bytes(CHUNK_BYTES))
    left = size
    while left:
        left -= wire.send(chunk[: min(left, CHUNK_BYTES)])


def send_datagrams(wire: socket.socket, size: int, rate_bps: float) -> int:
    """Send `size` bytes as datagrams at `rate_bps`; return how many datagrams.

    A delay above BURST_SECONDS is not made up for: a burst would overflow a queue on the path.
    """
    datagram, count = bytes(DATAGRAM_BYTES), -(-size // DATAGRAM_BYTES)
    each, began = 8 * DATAGRAM_BYTES / rate_bps, time.monotonic()
    for i in range(count):
        ahead = began + i * each - time.monotonic()
        if ahead > 0.0005:  # sleep cannot be shorter
            time.sleep(ahead)
        elif ahead < -BURST_SECONDS:
            began -= ahead
        wire.send(datagram)
    return count
