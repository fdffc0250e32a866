"""Show a state to a configuration template: what differs from the factory default, and the lines that say it."""

from __future__ import annotations

from dataclasses import dataclass, fields
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from tagloom.errors import Finding, InputError, PlanError
from tagloom.platforms.factory import factory_state
from tagloom.platforms.grammar import Context, ContextKind
from tagloom.records.change import PORT_CELLS, Cell
from tagloom.records.switch_state import (
    DEFAULT_AGING_SECONDS,
    DEFAULT_VLAN,
    FlowControl,
    Frames,
    Membership,
    PortMode,
    SwitchState,
)
from tagloom.render.steps import (
    check_name,
    fitting,
    fitting_ports,
    outside_general,
    same_for_all,
    without_floods_by_port,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tagloom.platforms.grammar import Grammar

_FLOW = {FlowControl.OFF: "", FlowControl.ON: "on", FlowControl.AUTO: "auto"}
_FRAMES = {Frames.ALL: "", Frames.TAGGED_ONLY: "tagged", Frames.UNTAGGED_ONLY: "untagged"}
_BLOCK = "\0\n"  # stands in a printed text for a block of `SwitchLines.on`


@dataclass(frozen=True, slots=True)
class PortLines:
    """What is to be said of a port: False, 0, "", None or () where it is as the factory left it.

    `access_vlan` and `native_vlan` are those of access and trunk ports, `says_access` that an access port must be told
    to be one, as it leaves the factory as a trunk, `trunk_vlans` what a trunk carries tagged. Of a port in general
    mode `untagged` and `tagged` are its VLANs, `leaves_default` says that VLAN 1 is none of them, and a `pvid` of 0
    drops untagged frames. `channel` is the port number of its port-channel.
    """

    number: int
    mode: str = "access"
    says_access: bool = False
    shut: bool = False
    access_vlan: int = 0
    native_vlan: int = 0
    trunk_vlans: tuple[int, ...] = ()
    untagged: tuple[int, ...] = ()
    tagged: tuple[int, ...] = ()
    leaves_default: bool = False
    pvid: int | None = None
    unfiltered: bool = False
    frames: str = ""
    no_negotiation: bool = False
    speed: int = 0
    flow: str = ""
    eee: str = ""
    channel: int = 0
    no_spanning_tree: bool = False


@dataclass(frozen=True, slots=True)
class VlanLines:
    """A VLAN with a name or static entries; `entries` are their lines."""

    number: int
    name: str
    entries: str


class SwitchLines:
    """The lines of a switch as a template calls them, by name: ``lines.pvid(7)``; a long list of VLANs makes several.

    Raises PlanError for a line that the model has not.
    """

    def __init__(self, grammar: Grammar) -> None:
        self.grammar = grammar
        self._blocks: list[tuple[str, str]] = []
        self._where = ""

    def __getattr__(self, key: str) -> Callable[..., str]:
        if key.startswith("_"):
            raise AttributeError(key)
        return lambda *values: self.write(key, *values)

    def has(self, key: str) -> bool:
        """Return whether the switch has a line of that name."""
        return self.grammar.has(key)

    def write(self, key: str, *values: Any) -> str:
        """Write a line from its values, in the order of its macro's parameters."""
        grammar = self.grammar
        if not grammar.has(key):
            raise PlanError(f"{grammar.platform.title} has no line for {key}", self._where or "the switch itself")
        named = dict(zip(grammar.parameters(key), values, strict=True))
        if "vlans" in named:
            line = grammar.lines[key]
            parts = fitting(list(named["vlans"]), lambda some: grammar.line(key, vlans=some), line.runs)
            leave = f"\n{grammar.session.leave}" if line.enters_one else ""
            return "\n".join(grammar.line(key, vlans=part) + leave * line.leads_away(len(part)) for part in parts)
        return grammar.line(key, printed=True, **named)

    def enter_vlan(self, vlan: int) -> str:
        """Write the line that enters a VLAN's block."""
        return self.grammar.enter(Context(ContextKind.INTERFACE_VLAN, vlan=vlan))

    def enter(self, port: PortLines) -> str:
        """Write the line that enters a port's block."""
        self._where = f"port {self.grammar.platform.port_name(port.number)}"
        return self.grammar.enter(Context(ContextKind.INTERFACE, ports=(port.number,)))

    def on(self, ports: Iterable[PortLines], caller: Callable[[PortLines], str]) -> str:
        """Print a block for each range of ports of which `caller` says the same."""
        grammar = self.grammar
        groups: dict[tuple[str, str], list[int]] = {}
        for port in ports:
            self._where = f"port {grammar.platform.port_name(port.number)}"
            if _BLOCK in (text := caller(port)):
                raise ValueError("a block of ports within another")
            if text:
                groups.setdefault((grammar.port_lists.kind(port.number), text), []).append(port.number)
        self._where = ""
        count = len(self._blocks)
        for (_, text), numbers in groups.items():
            for part in fitting_ports(grammar, numbers):
                self._blocks.append((self._enter(part), text))
        return _BLOCK * (len(self._blocks) - count)

    def _enter(self, numbers: list[int]) -> str:
        return self.grammar.enter(Context(ContextKind.INTERFACE, ports=tuple(numbers)))

    def joined(self, text: str) -> str:
        """Put the blocks in their places; two of the same ports with nothing between become one.

        Raises InputError where a template has thrown a block away, or printed it twice.
        """
        if not self._blocks:
            return text
        first, *between = text.split(_BLOCK)
        if len(between) != len(self._blocks):
            places = f"{len(self._blocks)} blocks of ports in {len(between)} places"
            raise InputError([Finding("templates", "each block of ports where it was printed", places)])
        parts, opened, leave = [first], "", f"{self.grammar.session.leave}\n"
        for (enter, lines), after in zip(self._blocks, between, strict=True):
            if enter == opened:
                parts[-1:] = [lines, leave]  # in the place of the block's end
            else:
                parts += [f"{enter}\n{lines}", leave]
            parts += [after] if after else []
            opened = "" if after else enter
        return "".join(parts)


def view_of(lines: SwitchLines, state: SwitchState) -> dict[str, Any]:
    """Return what a template is given. Raises PlanError where the model has no words for the state."""
    grammar = lines.grammar
    factory = factory_state(grammar.platform)
    if factory.ports != state.ports:
        raise ValueError(f"{state.ports} ports, of {factory.ports}")
    at_once: dict[Cell, Any] = {}
    for cell in sorted(grammar.switchwide):
        mine, theirs = (getattr(each, PORT_CELLS[cell][0]) for each in (state, factory))
        if (mine != theirs).any():
            at_once[cell] = same_for_all(grammar, cell, mine[mine != theirs].tolist())
    flow, eee = at_once.get(Cell.FLOW_CONTROL), at_once.get(Cell.EEE)
    ports = [_port(grammar, state, factory, number) for number in _changed(state, factory)]
    named = {vlan: name for vlan, name in zip(state.vlans.tolist(), state.vlan_names, strict=True) if name}
    for name in named.values():
        check_name(grammar, name)
    entries = dict(_entries(grammar, state))
    return {
        "lines": lines,
        "on": lines.on,
        "ports": [port for port in ports if port != PortLines(port.number)],
        "new_vlans": [vlan for vlan in state.vlans.tolist() if vlan != DEFAULT_VLAN],
        "vlans": [VlanLines(v, named.get(v, ""), entries.get(v, "")) for v in sorted(named.keys() | entries.keys())],
        "switch": {
            "aging": state.aging_seconds if state.aging_seconds != DEFAULT_AGING_SECONDS else 0,
            "no_spanning_tree": not state.spanning_tree,
            "bpdu_filtering": state.bpdu_filtering,
            "flow": "" if flow is None else _FLOW[FlowControl(int(flow))],
            "eee": "" if eee is None else "on" if eee else "off",
        },
    }


def _changed(state: SwitchState, factory: SwitchState) -> list[int]:
    """List the ports in which a state differs from the factory default."""
    changed = np.zeros(state.ports, bool)
    for each in fields(state):
        mine, theirs = getattr(state, each.name), getattr(factory, each.name)
        if each.name == "membership":
            changed |= (mine[state.vlans != DEFAULT_VLAN] != Membership.NONE).any(axis=0)
            changed |= (mine[state.vlans == DEFAULT_VLAN] != Membership.UNTAGGED).any(axis=0)
        elif isinstance(mine, np.ndarray) and each.name not in ("vlans", "entry_vlan", "entry_mac", "entry_port"):
            changed |= mine != theirs
    return (np.flatnonzero(changed) + 1).tolist()


def _port(grammar: Grammar, state: SwitchState, factory: SwitchState, number: int) -> PortLines:
    port, at = state.port(number), number - 1
    mode = {PortMode.ACCESS: "access", PortMode.GENERAL: "general", PortMode.TRUNK: "trunk"}[port.mode]
    general, pvid = port.mode is PortMode.GENERAL, port.pvid if port.pvid != DEFAULT_VLAN else None
    if not general and (
        not port.ingress_filter or port.frames is not Frames.ALL or (port.tagged and port.mode is PortMode.ACCESS)
    ):
        raise outside_general(grammar, number, port.mode)
    if not (port.flooding and port.learning):
        raise without_floods_by_port(grammar, number)
    flow = "" if Cell.FLOW_CONTROL in grammar.switchwide else _FLOW[port.flow_control]
    eee = "" if Cell.EEE in grammar.switchwide or port.eee == factory.eee[at] else "on" if port.eee else "off"
    return PortLines(
        number=number,
        mode=mode,
        shut=not port.enabled,
        access_vlan=pvid or 0 if mode == "access" else 0,
        says_access=grammar.trunks_by_default and mode == "access" and pvid is not None,
        native_vlan=pvid or 0 if mode == "trunk" else 0,
        trunk_vlans=port.tagged if mode == "trunk" else (),
        untagged=tuple(vlan for vlan in port.untagged if vlan != DEFAULT_VLAN) if general else (),
        tagged=port.tagged if general else (),
        leaves_default=general and DEFAULT_VLAN not in port.untagged and DEFAULT_VLAN not in port.tagged,
        pvid=pvid if general else None,
        unfiltered=not port.ingress_filter,
        frames=_FRAMES[port.frames],
        no_negotiation=not port.negotiation,
        speed=port.speed_mbps,
        flow=flow,
        eee=eee,
        channel=port.lag,
        no_spanning_tree=not port.spanning_tree,
    )


def _entries(grammar: Grammar, state: SwitchState) -> Iterable[tuple[int, str]]:
    """Yield of each VLAN the lines of its static entries, which are nearly all lines of a large fabric."""
    vlans, starts = np.unique(state.entry_vlan, return_index=True)
    for vlan, (start, end) in zip(vlans.tolist(), pairwise([*starts.tolist(), len(state.entry_vlan)]), strict=True):
        macs, ports = state.entry_mac[start:end].tolist(), state.entry_port[start:end].tolist()
        if len(set(macs)) == len(macs):
            lines = grammar.entry_lines(vlan, macs, ports, printed=True)
        else:
            groups: dict[int, list[int]] = {}
            for mac, port in zip(macs, ports, strict=True):
                groups.setdefault(mac, []).append(port)
            lines = [grammar.entry_line(vlan, mac, at, printed=True) for mac, at in groups.items()]
        yield vlan, "\n".join(lines)
