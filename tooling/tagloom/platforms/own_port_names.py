"""Read the names that a model's ports have on one machine, from behind the model's name: ``lan1-4,wan``."""

from __future__ import annotations

import re

_NAME = re.compile(r"[A-Za-z][\w.-]{0,14}", re.ASCII)  # what a kernel takes is more: 15 bytes without blank and slash
_RANGE = re.compile(r"([A-Za-z][\w.-]*?)(\d{1,3})-(?:\1)?(\d{1,3})", re.ASCII)
_TAKEN = {"lo", "tagloom", "all", "default"}  # loopback, the bridge, and names of sysctl's
MOST_PORTS = 512
_CHARACTERS = 4096
RULE = f"ports as lan1-4,wan: names of at most 15 letters, digits and _ . -, each once, {MOST_PORTS} at most"


def own_port_names(text: str) -> tuple[str, ...]:
    """Return the names in order. Raises ValueError for one that no port can have, or that stands there twice.

    >>> own_port_names("lan1-4,wan")
    ('lan1', 'lan2', 'lan3', 'lan4', 'wan')
    >>> own_port_names("enp3s0-enp3s1")
    ('enp3s0', 'enp3s1')
    """
    names: list[str] = []
    for part in text.split(",") if len(text) <= _CHARACTERS else ():
        run = _RANGE.fullmatch(part)
        low, high = (int(run[2]), int(run[3])) if run else (0, 0)
        names += [f"{run[1]}{n}" for n in range(low, high + 1)] if run else [part]
        if len(names) > MOST_PORTS:
            break
    alone = {name.lower() for name in names}
    if not 0 < len(names) <= MOST_PORTS or len(alone) < len(names) or not alone.isdisjoint(_TAKEN):
        raise ValueError(RULE)
    if not all(map(_NAME.fullmatch, names)):
        raise ValueError(RULE)
    return tuple(names)
