"""Which VLANs carry which sources, and the state of every switch for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tagloom.records.switch_state import FabricState


@dataclass(frozen=True, eq=False)
class VlanPlan:
    """A VLAN assignment and its state for every switch.

    assignment   "fixed" (a frame keeps its VLAN along the path) or "renamed" (each switch retags by in-port)
                 or "pinned" (one VLAN for each network, in which the destination alone chooses the path)
    vlans        VLANs of the fabric for fixed; the most in one switch for renamed (Koibuchi et al. 2011, Table 3)
    host_vlan    int32[H], the PVID of each host's port
    state        the target of every switch
    broadcast    how each broadcast arrives once: "flood" (by flooding alone), "tree" (by group entries along one tree),
                 or "static-arp" (it may arrive several times; the hosts must do without ARP requests)
    remarks      what the person who applies the plan must know
    """

    assignment: str
    vlans: int
    host_vlan: NDArray[np.int32]
    state: FabricState
    broadcast: str = "flood"
    remarks: tuple[str, ...] = ()
