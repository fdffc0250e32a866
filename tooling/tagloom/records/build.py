"""A planned fabric: its routes, its VLANs, and what every switch must hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tagloom.records.detours import Detour, Protection
    from tagloom.records.fabric import Fabric
    from tagloom.records.routes import Routes
    from tagloom.records.switch_state import FabricState
    from tagloom.records.traffic import Traffic


@dataclass(frozen=True, eq=False)
class Build:
    """A planned fabric as it stands in a build directory; all but the first two and the last four as in VlanPlan.

    `load_bound` is what the busiest channel carries at least, whatever parallel links and trees were chosen, None where
    nobody asked yet; with `traffic`, loads are its bytes. `first_fit_vlans` is what the paper's Step 2 would need.
    `detours` are installed too, and no host's PVID names them until something is dead; `protection` says what they do.
    """

    fabric: Fabric
    routes: Routes
    assignment: str
    vlans: int
    state: FabricState
    broadcast: str = "flood"
    remarks: tuple[str, ...] = ()
    load_bound: float | None = None
    traffic: Traffic | None = None
    first_fit_vlans: int | None = None
    detours: tuple[Detour, ...] = ()
    protection: Protection | None = None

    @property
    def duplicates_allowed(self) -> bool:
        """Return whether broadcasts may come several times, the hosts knowing each other's addresses beforehand."""
        return self.broadcast == "static-arp"
