"""Which VLANs carry which sources, and the state every switch must have for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tagloom.records.switch_state import FabricState


@dataclass(frozen=True, eq=False)
class VlanPlan:
    """A VLAN assignment and what it makes of every switch.

    assignment   "fixed" (a frame keeps its VLAN all the way) or "renamed" (each switch tags anew by in-port)
    vlans        VLANs of the fabric for fixed; the most in one switch for renamed (Koibuchi et al. 2011, Table 3)
    host_vlan    int32[H], the PVID of each host's port
    state        the target of every switch
    broadcast    how each broadcast comes once: "flood" (by flooding alone), "tree" (by group entries along one tree),
                 or "static-arp" (it may come several times; the hosts must do without ARP requests)
    remarks      what whoever applies the plan must know
    """

    assignment: str
    vlans: int
    host_vlan: NDArray[np.int32]
    state: FabricState
    broadcast: str = "flood"
    remarks: tuple[str, ...] = ()
