"""What each of several networks of hosts loads and holds, beside all of them together."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tagloom.graph.floods import load_by
from tagloom.graph.paths import channel_load
from tagloom.records.report import NetworkLoad
from tagloom.records.switch_state import Membership

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tagloom.graph.floods import LoadOf
    from tagloom.records.fabric import Fabric, Host
    from tagloom.records.routes import Routes
    from tagloom.records.switch_state import FabricState, SwitchState


def network_loads(
    fabric: Fabric,
    routes: Routes,
    state: FabricState,
    volume: NDArray[np.float64] | None = None,
    load_of: LoadOf = channel_load,
) -> tuple[NetworkLoad, ...]:
    """Return the load of each network alone, in the units of `channel_load`; none if there is but one network.

    `load_of` adds up bytes, where `volume` is given.
    """
    if len(fabric.networks) < 2:
        return ()
    found = []
    for (name, hosts), part in zip(fabric.networks.items(), fabric.by_network, strict=True):
        if volume is None:
            load = channel_load(part, routes.of_hosts(hosts))
        else:
            load = load_of_network(part, routes, hosts, volume, load_of)
        vlans = {vlan for host in part.hosts for vlan in _vlans_of(host, state[fabric.switches[host.switch].name])}
        found.append(NetworkLoad(name, len(hosts), len(hosts) * (len(hosts) - 1), tuple(sorted(vlans)), load))
    return tuple(found)


def busiest_of_networks(
    fabric: Fabric, routes: Routes, assignment: str, volume: NDArray[np.float64]
) -> dict[str, float]:
    """Return by name the bytes of each network on its busiest channel, scaled to 1 Gb/s; {} if there is but one."""
    if len(fabric.networks) < 2:
        return {}
    load_of = load_by(fabric, routes, assignment)
    return {
        name: float(load_of_network(part, routes, hosts, volume, load_of).max(initial=0.0))
        for (name, hosts), part in zip(fabric.networks.items(), fabric.by_network, strict=True)
    }


def load_of_network(
    part: Fabric,
    routes: Routes,
    hosts: NDArray[np.int64],
    volume: NDArray[np.float64],
    load_of: LoadOf,
) -> NDArray[np.float64]:
    """Return the load of one network alone, float64[C]: `part` is the fabric with its hosts, `volume` of all hosts."""
    return load_of(part, routes.of_hosts(hosts), volume[np.ix_(hosts, hosts)])


def _vlans_of(host: Host, held: SwitchState) -> set[int]:
    """Return the VLANs that a host hears: its tag's, or those that its port sends without a tag."""
    if host.tag:
        return {host.tag}
    return {*held.vlans[held.membership[:, host.port - 1] == Membership.UNTAGGED].tolist()}.intersection(
        held.owned_vlans
    )
