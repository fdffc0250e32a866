"""A link that sleeps as EEE does: in virtual time for the rack, or by holding real frames between two interfaces."""

from __future__ import annotations

import contextlib
import os
import random
import select
import socket
import sys
from time import perf_counter
from typing import TYPE_CHECKING

from tagloom.records.sleep import Eee

if TYPE_CHECKING:
    from collections.abc import Callable

ETH_P_ALL = 3
FRAME_BYTES = 65536
OUTGOING = 4  # PACKET_OUTGOING of packet(7): our own frames come back


class SleepingLink:
    """A link's state: when it last carried a frame, both directions together."""

    def __init__(self, policy: Eee) -> None:
        self._policy, self._idle_since = policy, float("-inf")

    def passes(self, at: float) -> float:
        """Return when a frame that comes at `at` leaves: at once, after the rest of Ts and Tw, or after Tw.

        >>> link = SleepingLink(Eee(1e-3, 182e-6, 60e-6))
        >>> first = link.passes(0.0)  # it was asleep
        >>> [round((link.passes(first + g) - first - g) * 1e6) for g in (900e-6,)], round(first * 1e6)
        ([0], 60)
        """
        policy = self._policy
        asleep = self._idle_since + policy.timeout_seconds + policy.sleep_seconds
        leaves = at
        if at > self._idle_since + policy.timeout_seconds:
            leaves = max(at, asleep) + policy.wake_seconds
        self._idle_since = max(leaves, self._idle_since)
        return self._idle_since


def virtual_host(
    policy: Eee, seed: int = 0, wire_seconds: float = 15e-6, jitter_seconds: float = 2e-6
) -> Callable[[float, int], tuple[list[float], list[float]]]:
    """Return a host behind a sleeping link, in virtual time: ask(gap, repeats) gives gaps and round trips.

    Besides the link, a round trip takes `wire_seconds` twice, exponential jitter, and now and then a hundred times it.
    """
    link, chance, now = SleepingLink(policy), random.Random(seed), 0.0  # noqa: S311 - guards nothing

    def ask(gap: float, repeats: int) -> tuple[list[float], list[float]]:
        nonlocal now
        gaps, trips = [], []
        for _ in range(repeats):
            began = now + gap
            late = chance.expovariate(1 / jitter_seconds) * (100 if chance.random() < 0.03 else 1)
            there = link.passes(began + wire_seconds)
            back = link.passes(there + wire_seconds + late)
            gaps.append(gap)
            trips.append(back - began)
            now = back
        return gaps, trips

    return ask


def carry(near: str, far: str, policy: Eee) -> None:
    """Carry frames between two interfaces for ever, holding each as a sleeping link would (AF_PACKET: needs root)."""
    wires = {}
    for name in (near, far):
        wire = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
        wire.bind((name, ETH_P_ALL))
        wires[wire.fileno()] = wire
    first, second = wires.values()
    other = {first.fileno(): second, second.fileno(): first}
    link, ready, frame = SleepingLink(policy), select.poll(), bytearray(FRAME_BYTES)
    for number in wires:
        ready.register(number, select.POLLIN)
    with contextlib.suppress(PermissionError):  # or a busy machine would hold frames as well
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(3))
    while True:
        for number, _ in ready.poll():
            size, about = wires[number].recvfrom_into(frame)
            if about[2] == OUTGOING:
                continue
            leaves = link.passes(perf_counter())
            while perf_counter() < leaves:
                pass
            other[number].send(memoryview(frame)[:size])


if __name__ == "__main__":  # NEAR FAR TIMEOUT TS TW, in the network namespace that has both
    carry(sys.argv[1], sys.argv[2], Eee(float(sys.argv[3]), float(sys.argv[4]), float(sys.argv[5])))
