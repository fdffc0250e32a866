"""Write a network, and an order of its channels, as the text that the checker with a machine-checked proof reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tagloom.errors import PlanError
from tagloom.records.carrier import Carrier, carriers
from tagloom.records.switch_state import BROADCAST, DISCARD_PVID, Frames, Membership

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from tagloom.records.fabric import Fabric
    from tagloom.records.switch_state import FabricState, SwitchState

_MEMBER = {int(Membership.UNTAGGED): "u", int(Membership.TAGGED): "t"}


def certificate_text(fabric: Fabric, state: FabricState, rank: NDArray[np.integer]) -> str:
    """Return the certificate of a network in one state; `rank` orders its channels, int[C].

    Raises PlanError for what the checker's model does not have. `docs/explanation/proofs.md` describes the lines.
    """
    held = [state[switch.name] for switch in fabric.switches]
    carrier = carriers(fabric, held)
    _refuse_what_the_model_lacks(fabric, held, carrier)
    return "\n".join(["certificate 1", *_cables(fabric, rank), *_switches(fabric, held, carrier)]) + "\n"


def _refuse_what_the_model_lacks(fabric: Fabric, held: Sequence[SwitchState], carrier: NDArray[np.uint8]) -> None:
    lacks = {
        "several host networks": len(fabric.networks) > 1,
        "hosts with tags, several addresses or none, and uplinks": any(
            host.tag or host.also or host.uplink or not host.mac for host in fabric.hosts
        ),
        "port-channels": any(link.members for link in fabric.links),
        "cables whose ends are set to different speeds": bool((carrier == Carrier.PARTIAL).any()),
        "switches that are down": not all(switch.up for switch in fabric.switches),
        "spanning tree": any(each.spanning_tree for each in held),
        "other VLANs": any(set(each.vlans[1:].tolist()) - set(each.owned_vlans) for each in held),
    }
    for what, found in lacks.items():
        if found:
            raise PlanError("certificates for the proven checker cover simple fabrics only", what, "tagloom verify")


def _cables(fabric: Fabric, rank: NDArray[np.integer]) -> Iterator[str]:
    for number, host in enumerate(fabric.hosts):
        yield f"host {number} {host.switch} {host.port}"
    for link in fabric.links:
        yield f"link {link.a} {link.a_port} {link.b} {link.b_port}"
    # Channels of hosts are lowest, by 0. So are links that are declared down: no frame may go there.
    for channel in np.flatnonzero(fabric.channel_up).tolist():
        yield f"rank {fabric.head[channel]} {fabric.head_port[channel]} {max(int(rank[channel]), 0) + 1}"


def _switches(fabric: Fabric, held: Sequence[SwitchState], carrier: NDArray[np.uint8]) -> Iterator[str]:
    on = {(host.switch, host.port) for host in fabric.hosts if held[host.switch].port(host.port).enabled}
    for link, there in zip(fabric.links, carrier.tolist(), strict=True):
        if there != Carrier.NONE:
            on |= {(link.a, link.a_port), (link.b, link.b_port)}
    numbers = {host.mac: str(number) for number, host in enumerate(fabric.hosts)} | {BROADCAST: "*"}
    for s, each in enumerate(held):
        yield f"switch {s}"
        used = fabric.used_ports[s]
        for port in used:
            yield _port_line(each, port, on=(s, port) in on)
        for row, vlan in enumerate(each.vlans.tolist()):
            members = ((_MEMBER.get(int(each.membership[row, port - 1])), port) for port in used)
            yield " ".join([f"vlan {vlan}", *(f"{how}{port}" for how, port in members if how)])
        yield from _entry_lines(each, numbers)


def _port_line(state: SwitchState, port: int, *, on: bool) -> str:
    p = port - 1
    letters = {
        "e": on,
        "t": state.frames[p] != Frames.UNTAGGED_ONLY,
        "u": state.frames[p] != Frames.TAGGED_ONLY,
        "i": state.ingress_filter[p],
        "f": state.flooding[p],
        "l": state.learning[p],
    }
    pvid = "-" if state.pvid[p] == DISCARD_PVID else str(state.pvid[p])
    return f"port {port} {pvid} {''.join(letter for letter, there in letters.items() if there) or '-'}"


def _entry_lines(state: SwitchState, numbers: dict[int, str]) -> Iterator[str]:
    keys = dict.fromkeys(zip(state.entry_vlan.tolist(), state.entry_mac.tolist(), strict=True))
    for vlan, mac in keys:
        if mac not in numbers:
            raise PlanError(
                "certificates for the proven checker cover simple fabrics only",
                "a static entry for an address that is no host's",
                "tagloom verify",
            )
        yield " ".join([f"entry {vlan} {numbers[mac]}", *map(str, state.entry(vlan, mac))])
