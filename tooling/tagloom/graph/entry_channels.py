"""Find the channel by which static entries lead frames for each host away from each switch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tagloom.records.fabric import Fabric
    from tagloom.records.switch_state import FabricState

NO_CHANNEL = -1
NO_LINK = -2


def entry_channels(fabric: Fabric, state: FabricState) -> NDArray[np.int64]:
    """Return the channel that entries lead frames for each host by, in its network's VLAN, int64[N, H].

    NO_CHANNEL where there is no entry, NO_LINK where it leads to no link, such as to the host, or to one that is down.
    """
    found = np.full((len(fabric.switches), len(fabric.hosts)), NO_CHANNEL, np.int64)
    vlan = [host.tag or int(state[fabric.switches[host.switch].name].pvid[host.port - 1]) for host in fabric.hosts]
    wanted = _keys(np.array(vlan, np.uint64), fabric.host_mac)
    up = np.append(fabric.channel_up, False)
    for s, switch in enumerate(fabric.switches):
        held = state[switch.name]
        if len(held.entry_vlan):
            of = _keys(held.entry_vlan, held.entry_mac)  # entries are in the order of VLAN and address
            at = np.minimum(np.searchsorted(of, wanted), len(of) - 1)
            channel = fabric.port_channel[s, held.entry_port[at]]
            found[s] = np.where(of[at] == wanted, np.where(up[channel], channel, NO_LINK), NO_CHANNEL)
    return found


def _keys(vlan: NDArray[np.integer], mac: NDArray[np.integer]) -> NDArray[np.uint64]:
    """Return VLANs and addresses of 48 bits as one number each."""
    return vlan.astype(np.uint64) << np.uint64(48) | mac.astype(np.uint64)
