"""Send SNMP notifications of one virtual switch: traps and informs of linkDown and linkUp, as its agent signs them."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tagloom.errors import Finding, InputError
from tagloom.lab import ber

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from tagloom.lab.agent import Agent

KINDS = ("v2c-trap", "v2c-inform", "v3-trap")
RETRY_SECONDS, TRIES = 0.5, 5  # of an inform, until it is answered
_UPTIME, _TRAP = (1, 3, 6, 1, 2, 1, 1, 3, 0), (1, 3, 6, 1, 6, 3, 1, 1, 4, 1, 0)
_LINK_DOWN, _LINK_UP = (1, 3, 6, 1, 6, 3, 1, 1, 5, 3), (1, 3, 6, 1, 6, 3, 1, 1, 5, 4)
_IF_INDEX = (1, 3, 6, 1, 2, 1, 2, 2, 1, 1)


@dataclass(frozen=True, slots=True)
class Target:
    """Where notifications go, and of what kind: one of `KINDS`."""

    address: tuple[str, int]
    kind: str

    @classmethod
    def of(cls, order: Mapping[str, Any]) -> Target:
        """Read it from an order of the control channel. Raises InputError."""
        host, port, kind = order.get("host"), order.get("port"), order.get("kind")
        if not isinstance(host, str) or not isinstance(port, int) or kind not in KINDS:
            raise InputError([Finding("traps", "host, port, and kind: " + ", ".join(KINDS), repr(dict(order)))])
        return cls((host, port), kind)


def notify(agent: Agent, transport: asyncio.DatagramTransport, target: Target, port: int, *, up: bool) -> None:
    """Send word of one port from an agent's own address; an inform again and again until it is answered."""
    number = agent.next_notification()
    tag = ber.INFORM if target.kind == "v2c-inform" else ber.TRAP
    ticks = ber.integer(int(100 * agent.uptime_seconds) % (1 << 32), ber.TIME_TICKS)
    bindings = b"".join(
        ber.tlv(ber.SEQUENCE, ber.oid(name) + value)
        for name, value in (
            (_UPTIME, ticks),
            (_TRAP, ber.oid(_LINK_UP if up else _LINK_DOWN)),
            ((*_IF_INDEX, port), ber.integer(port)),
        )
    )
    head = ber.integer(number) + ber.integer(0) + ber.integer(0)
    pdu = ber.tlv(tag, head + ber.tlv(ber.SEQUENCE, bindings))
    message = agent.signed(number, pdu) if target.kind == "v3-trap" else agent.with_community(pdu)
    with contextlib.suppress(RuntimeError):  # the rack is ending
        asyncio.get_running_loop().create_task(_send(agent, transport, target, number, message))


async def _send(
    agent: Agent, transport: asyncio.DatagramTransport, target: Target, number: int, message: bytes
) -> None:
    tries = TRIES if target.kind == "v2c-inform" else 1
    for _ in range(tries):
        if agent.quiet() or transport.is_closing() or number in agent.answered:
            return
        transport.sendto(message, target.address)
        await asyncio.sleep(RETRY_SECONDS if tries > 1 else 0)
