"""Name ports, channels and links of a fabric in their models' own words, and find links by those names."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tagloom import platforms
from tagloom.errors import nearest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tagloom.platforms import Platform
    from tagloom.records.fabric import Fabric


_LONG_NAMES = (  # ifDescr of the families, as the family's own short name
    (re.compile(r"(?i)^ethernet(?=\d+(?:/\d+)?$)"), "Et"),  # EOS
    (re.compile(r"(?i)^gigabitethernet(?=\d+/\d+/\d+$)"), "GE"),  # Comware
    (re.compile(r"(?i)^xgigabitethernet(?=\d+/\d+/\d+$)"), "XGE"),  # Huawei
    (re.compile(r"(?i)^ten-gigabitethernet(?=\d+/\d+/\d+$)"), "XGE"),
    (re.compile(r"(?i)^fortygige(?=\d+/\d+/\d+$)"), "FGE"),
    (re.compile(r"(?i)^(?:gigabitethernet|gigabit ethernet)\s*"), "gi"),
    (re.compile(r"(?i)^(?:tengigabitethernet|ten-?gigabit ethernet)\s*"), "te"),
    (re.compile(r"(?i)^unit: (\d+) slot: \d+ port: (\d+) gigabit.*$"), r"\1/g\2"),
    (re.compile(r"(?i)^unit: (\d+) slot: \d+ port: (\d+) 10g.*$"), r"\1/xg\2"),
    (re.compile(r"(?i)^unit: (\d+) slot: (\d+) port: (\d+) gigabit.*$"), r"gi\1/\2/\3"),  # FASTPATH of slots
    (re.compile(r"(?i)^unit: (\d+) slot: (\d+) port: (\d+) 10g.*$"), r"te\1/\2/\3"),
    (re.compile(r"(?i)^ethernet(?: interface)?\s*"), ""),
)


def channel_name(fabric: Fabric, channel: int) -> str:
    """Write a channel as the ports at its two ends, in their models' own words."""
    ends = (
        (int(fabric.tail[channel]), int(fabric.tail_port[channel])),
        (int(fabric.head[channel]), int(fabric.head_port[channel])),
    )
    return " -> ".join(port_name(fabric, switch, port) for switch, port in ends)


def port_name(fabric: Fabric, switch: int, port: int) -> str:
    """Return a port as ``switch:port``, in its model's own words."""
    return f"{fabric.switches[switch].name}:{own_name(fabric, switch, port)}"


def own_name(fabric: Fabric, switch: int, port: int) -> str:
    """Return a port as its switch spells it, without the switch."""
    return platforms.load(fabric.switches[switch].model).port_name(port)


def too_fast(ends: Iterable[tuple[str, str, int]], mbps: int) -> str:
    """Return what a speed may be at most at some ports, (switch, model, port) each; "" where all of them have it."""
    for switch, model, port in ends:
        platform = platforms.load(model)
        if 0 < (best := platform.port_mbps[port - 1]) < mbps:
            return f"at most {best}, the best speed of {switch}:{platform.port_name(port)} in Mb/s"
    return ""


def link_ends(fabric: Fabric, link: int) -> tuple[str, str]:
    """Name a link by its ends, in their models' own words."""
    cable = fabric.links[link]
    return port_name(fabric, cable.a, cable.a_port), port_name(fabric, cable.b, cable.b_port)


def link_name(fabric: Fabric, link: int) -> str:
    """Return a link as people are told it: both ends, a dash between."""
    return " - ".join(link_ends(fabric, link))


def link_at(fabric: Fabric, end: str) -> int | None:
    """Return the link at a port, ``switch:port`` in its model's own words; None where none is."""
    name, _, word = end.partition(":")
    s = fabric.index.get(name)
    if s is None:
        return None
    port = platforms.load(fabric.switches[s].model).port_number(word)
    channel = int(fabric.port_channel[s, port]) if port is not None else -1
    if channel >= 0:
        return channel // 2
    bound = (i for i, x in enumerate(fabric.links) for a, b in x.members if (s, port) in ((x.a, a), (x.b, b)))
    return next(bound, None)  # a member names its whole link


def parts_at(fabric: Fabric, words: Iterable[str]) -> tuple[set[int], set[int], list[str]]:
    """Return the links and switches that words name, a link by one of its ends, and the words that name neither."""
    switches, links, unknown = set[int](), set[int](), list[str]()
    for word in words:
        if word in fabric.index:
            switches.add(fabric.index[word])
        elif (link := link_at(fabric, word)) is not None:
            links.add(link)
        else:
            unknown.append(word)
    return links, switches, unknown


def links_near(fabric: Fabric, word: str) -> str:
    """Return which links the switch in `word` has, else which switch may be meant, as the end of what is expected.

    "" where neither is found; of many links the first eight are named.
    """
    name = re.split(r"[:/ ]", word, maxsplit=1)[0]
    if (s := fabric.index.get(name)) is None:
        return nearest(name, fabric.index)
    ends = [end for i, link in enumerate(fabric.links) if s in (link.a, link.b) for end in link_ends(fabric, i)]
    own = [end for end in ends if end.partition(":")[0] == name]
    return f" (of {name}: {', '.join(own[:8])}{' ...' if len(own) > 8 else ''})" if own else ""


def port_numbers(fabric: Fabric) -> Callable[[str, str], int | None]:
    """Return what finds a port's number by switch and name, 0 for the switch itself (no name), None for strangers."""

    def number(switch: str, port: str) -> int | None:
        if switch not in fabric.index:
            return None
        return platforms.load(fabric.switches[fabric.index[switch]].model).port_number(port) if port else 0

    return number


def port_number(platform: Platform, words: str) -> int | None:
    """Return a port's number by its name in a MIB or NetBox, long or short; None if the model has no such port."""
    number = platform.port_number(words)
    for pattern, short in _LONG_NAMES:
        if number is None and pattern.search(words):
            number = platform.port_number(pattern.sub(short, words))
    return number


def port_at_path(platform: Platform, words: str) -> int | None:
    """Return the port that a path ends with: RouterOS puts the bridge and the bond before it, ``bridge/ether1``.

    A tail that begins with a digit is no name of its own: of ``Gi1/0/5`` only the whole is one.

    >>> crs = platforms.load("mikrotik-crs326-24g-2s")
    >>> port_at_path(crs, "bridge1/bond1/ether7"), port_at_path(crs, "ether7"), port_at_path(crs, "bridge/7")
    (7, 7, None)
    """
    parts = words.split("/")
    tails = ("/".join(parts[i:]).strip() for i in range(len(parts)) if i == 0 or parts[i][:1].isalpha())
    return next((number for tail in tails if (number := port_number(platform, tail)) is not None), None)
