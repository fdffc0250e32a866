"""Read a text that names ports which the model's page lacks: of a stack, a module, or further port-channels."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from tagloom import platforms
from tagloom.platforms.grammar import Grammar
from tagloom.render.command_line import parse_configuration

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tagloom.platforms import Platform
    from tagloom.records.switch_state import SwitchState
    from tagloom.render.parsed import Parsed, UnknownLine

_BY_PORT = (
    *("mode", "pvid", "ingress_filter", "frames", "enabled", "negotiation", "speed_mbps", "flow_control", "eee"),
    *("port_spanning_tree", "flooding", "learning"),
)
_PORT = re.compile(r"[A-Za-z]{0,4}\d{1,3}(?:/[A-Za-z]{0,4}\d{1,3})*", re.ASCII)
_CHANNEL = re.compile(r"^(?:interface port-channel|channel-group) ?(\d{1,3})\b", re.IGNORECASE)


def further_ports(platform: Platform, parsed: Parsed) -> tuple[str, ...]:
    """Return the ports that lines of a text name and the model lacks, though other machines of the model have them."""
    if not (platform.further_names and platform.has_known_modes):
        return ()
    known = platform.further_by_name
    ports = Grammar.of(platform).port_lists
    lines = (line.text for line in (*parsed.unknown, *parsed.foreign) if not line.text.startswith("description "))
    channels = len(platform.port_names) - platform.physical_ports
    named: dict[str, None] = {}
    for line in lines:
        named |= dict.fromkeys(
            known[word] for word in map(str.lower, _PORT.findall(ports.shorten(line))) if word in known
        )
        for number in map(int, _CHANNEL.findall(line)):
            if channels < number <= channels + platform.further_channels:
                named[platform.further_names[number - channels - 1]] = None
    return tuple(named)


def with_further_ports(platform: Platform, text: str) -> Parsed:
    """Read a text by all ports that the model may have; those that this machine lacks are numbered behind its own."""
    wide = platforms.of_all_ports(platform)
    parsed = parse_configuration(wide, text)
    number = {name: at for at, name in enumerate((*platform.port_names, *platform.further_names), start=1)}
    new = {at: number[name] for at, name in enumerate(wide.port_names, start=1)}
    return replace(
        parsed,
        state=_renumbered(parsed.state, new),
        unknown=_moved(parsed.unknown, new),
        foreign=_moved(parsed.foreign, new),
        refused=None if parsed.refused is None else _moved(parsed.refused, new),
        duplex={new[port]: said for port, said in parsed.duplex.items()},
    )


def _moved(lines: tuple[UnknownLine, ...], new: Mapping[int, int]) -> tuple[UnknownLine, ...]:
    return tuple(replace(line, ports=tuple(new[port] for port in line.ports)) for line in lines)


def _renumbered(state: SwitchState, new: Mapping[int, int]) -> SwitchState:
    """Return a state with its ports in another order: `new` maps numbers."""
    numbers = np.array([0, *(new[at] for at in range(1, state.ports + 1))], np.int32)
    order = np.argsort(numbers[1:])
    entry_port = numbers[state.entry_port]
    rows = np.lexsort((entry_port, state.entry_mac, state.entry_vlan))
    return replace(
        state,
        membership=state.membership[:, order],
        lag=numbers[state.lag[order]],
        entry_vlan=state.entry_vlan[rows],
        entry_mac=state.entry_mac[rows],
        entry_port=entry_port[rows],
        **{name: getattr(state, name)[order] for name in _BY_PORT},
    )
