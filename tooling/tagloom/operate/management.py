"""Refuse a first push that would cut the only way by which a switch is managed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tagloom.errors import PlanError, TagloomError, one_line
from tagloom.records.switch_state import DEFAULT_VLAN, Membership
from tagloom.units import first_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from tagloom.operate.waves import Survey
    from tagloom.records.fabric import Fabric
    from tagloom.records.network import ReadNetwork
    from tagloom.records.observation import Observation
    from tagloom.records.switch_state import SwitchState

_SHOWN = 3  # names of switches
_RULE = "no switch may lose its management"
_ADVICE = (
    "Cable a management port that the fabric file doesn't name, or declare `management` in the fabric file. If the "
    "switch has an out-of-band port, set tagloom_out_of_band: true for it in the inventory"
)


def check_management(fabric: Fabric, found: Survey, read: ReadNetwork | None, tell: Callable[[str], None]) -> None:
    """Check that each switch whose links leave VLAN 1 keeps another port that is up in VLAN 1.

    Only switches count that are managed in band: the inventory names no out-of-band way, and the fabric file declares
    no management VLAN. `read` reads the ports over SNMP, None where SNMP isn't set up; `tell` takes a remark if that
    can't be checked. Raises PlanError with the switches that would be cut off.
    """
    names = [outcome.switch for outcome in found.outcomes.outcomes if outcome.leaves_vlan_1]
    if not names:
        return
    if read is None:
        which = first_of(names, _SHOWN)
        tell(f"management  not checked, since SNMP isn't set up: the fabric's ports of {which} leave VLAN 1")
        return
    try:
        seen = read(fabric)
    except TagloomError as error:
        tell(f"management  not checked, since SNMP failed: {one_line(error)}")
        return
    unread = [name for name in names if name not in seen or seen[name].error]
    cut = [name for name in names if name not in unread and not _kept(fabric, name, found, seen[name])]
    if cut:
        raise PlanError(
            _RULE,
            f"{first_of(cut, _SHOWN)}: every port that is up belongs to the fabric, and leaves VLAN 1, so this "
            f"computer would lose its connection. {_ADVICE}",
        )
    if unread:
        tell(f"management  not checked on {first_of(unread, _SHOWN)}: no answer over SNMP")


def _kept(fabric: Fabric, name: str, found: Survey, shown: Observation) -> bool:
    """Return whether a port outside the fabric is up in VLAN 1."""
    used, state = set(fabric.used_ports[fabric.index[name]]), found.read.get(name)
    return any(
        port.oper_up
        and port.number not in used
        and (state is None or port.number > state.ports or _in_vlan_1(state, port.number))
        for port in shown.ports
    )


def _in_vlan_1(state: SwitchState, port: int) -> bool:
    """Return whether a port is in VLAN 1, or bound to a port-channel that may be."""
    return bool(state.lag[port - 1]) or state.member(DEFAULT_VLAN, port) is not Membership.NONE
