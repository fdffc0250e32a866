"""Derive each link's carrier from the port settings at its ends: enabled, in the port-channel, same speed."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tagloom.records.fabric import DEFAULT_SPEED_MBPS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from tagloom.records.fabric import Fabric
    from tagloom.records.switch_state import FabricState, SwitchState


class Carrier(IntEnum):
    """The fate of frames sent over a link."""

    NONE = 0  # all are lost
    PARTIAL = 1  # some may be lost, by cables that are not bound or ends that do not match
    WHOLE = 2


class CableEnds(NamedTuple):
    """One end of each of some cables, as columns of equal length.

    up           the port is enabled, and belongs to this link
    bound        it is a member of the link's port-channel; True for a link of one cable
    negotiation, speed_mbps   as in SwitchState
    """

    up: NDArray[np.bool_]
    bound: NDArray[np.bool_]
    negotiation: NDArray[np.bool_]
    speed_mbps: NDArray[np.int32]


def link_carriers(
    rows: int,
    row: NDArray[np.integer],
    one: CableEnds,
    other: CableEnds,
    closed: NDArray[np.bool_],
    strange: NDArray[np.bool_],
) -> NDArray[np.uint8]:
    """Return the Carrier of each of `rows` links from all their cables; `row` is the link of each cable.

    A cable has carrier if both ends are up and not forced to different speeds. Any other mismatch is unreliable: if one
    end is forced, the one that negotiates falls to half duplex (IEEE 802.3-2018, 28.2.3.1), and frames collide. A
    static aggregation spreads flows over all cables with carrier and knows nothing of the far end. So a cable that is
    not bound at both ends loses the flows hashed onto it, and so does a bound port that is not of the link. `strange`
    marks links with such a port at an end, `closed` those whose port-channel is shut at an end.
    """
    speeds = [np.where(end.speed_mbps > 0, end.speed_mbps, DEFAULT_SPEED_MBPS) for end in (one, other)]
    live = one.up & other.up & (one.negotiation | other.negotiation | (speeds[0] == speeds[1]))
    fit = (one.negotiation == other.negotiation) & (one.speed_mbps == other.speed_mbps)
    whole = one.bound & other.bound & fit
    some = np.bincount(row[live], minlength=rows) > 0
    bad = np.bincount(row[live & ~whole], minlength=rows) > 0
    found = np.where(bad | strange, np.uint8(Carrier.PARTIAL), np.uint8(Carrier.WHOLE))
    return np.where(some & ~closed, found, np.uint8(Carrier.NONE))


def carriers(fabric: Fabric, switches: Sequence[SwitchState]) -> NDArray[np.uint8]:
    """Return the Carrier of every link of a fabric, uint8[L]; `switches` are in the fabric's order."""
    ports = max(fabric.ports, default=0) + 1
    enabled, lag, negotiation, speed = (port_table(switches, ports, name) for name in CARRIER_COLUMNS)
    link, a, a_port, b, b_port = fabric.cables.T
    channels = fabric.tail[0::2], fabric.tail_port[0::2], fabric.head[0::2], fabric.head_port[0::2]

    def ends(s: NDArray[np.int32], port: NDArray[np.int32], speaker: NDArray[np.int32]) -> CableEnds:
        alone = port == speaker
        up = (enabled[s, port] > 0) & (~alone | (lag[s, port] == 0))
        return CableEnds(up, alone | (lag[s, port] == speaker), negotiation[s, port] > 0, speed[s, port])

    one, other = ends(a, a_port, channels[1][link]), ends(b, b_port, channels[3][link])
    closed = (enabled[channels[0], channels[1]] == 0) | (enabled[channels[2], channels[3]] == 0)
    bound = np.zeros((len(switches), ports), np.int64)  # the enabled ports of each port-channel
    s, port = np.nonzero((lag > 0) & (enabled > 0))
    np.add.at(bound, (s, lag[s, port]), 1)
    links = len(fabric.links)
    strange = np.zeros(links, np.bool_)
    for end, (at, speaker) in ((one, channels[:2]), (other, channels[2:])):
        mine = np.bincount(link[end.up & end.bound], minlength=links)
        strange |= fabric.aggregated & (bound[at, speaker] > mine)
    return link_carriers(links, link, one, other, closed, strange)


def links_on(fabric: Fabric, state: FabricState) -> NDArray[np.bool_]:
    """Return the links that carry every frame, bool[L]: enabled and matching at both ends, and not dead."""
    dead = np.array([link.dead for link in fabric.links], np.bool_)
    return np.equal(carriers(fabric, [state[switch.name] for switch in fabric.switches]), Carrier.WHOLE) & ~dead


CARRIER_COLUMNS = ("enabled", "lag", "negotiation", "speed_mbps")  # the columns of SwitchState that decide carrier


def port_table(switches: Sequence[SwitchState], ports: int, name: str) -> NDArray[np.int32]:
    """Return one column of all switches' ports as int32[switch, port number]; number 0 is unused."""
    table = np.zeros((len(switches), ports), np.int32)
    for s, switch in enumerate(switches):
        table[s, 1 : switch.ports + 1] = getattr(switch, name)
    return table
