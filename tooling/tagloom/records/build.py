"""A planned fabric: its routes, its VLANs, and the target state of every switch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tagloom.records.detours import Detour, Protection
    from tagloom.records.fabric import Fabric
    from tagloom.records.routes import Routes
    from tagloom.records.switch_state import FabricState
    from tagloom.records.traffic import Traffic


LEARNS = (  # why a build whose switches are taught by hosts is not pushed
    "one whose switches learn from hosts (--learning-only): its changes are not proven. Paste its configurations, run "
    "hosts/learning.sh on every host, and check with tagloom verify"
)


@dataclass(frozen=True, eq=False)
class Build:
    """A planned fabric, as in a build directory; `assignment` to `remarks` are as in VlanPlan.

    `load_bound` is a lower bound on the busiest channel's load over all choices of parallel links and trees that the
    routing leaves free, None if not computed. With `traffic`, loads are bytes. `first_fit_vlans` is what Step 2 of the
    paper would need. `detours` are installed, but no host's PVID selects them before a failure; `protection` counts
    what they protect, or `unprotected_why` says why there are none although none were refused. If switches are `taught`
    by hosts, they have no static entries.
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
    unprotected_why: str = ""
    taught: bool = False

    @property
    def duplicates_allowed(self) -> bool:
        """Return whether broadcasts may arrive several times, because hosts know each other's addresses beforehand."""
        return self.broadcast == "static-arp"
