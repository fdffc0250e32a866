"""Name the switches that are told to reload unless a change that must be confirmed goes well, and the others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tagloom import platforms

if TYPE_CHECKING:
    from collections.abc import Collection

    from tagloom.platforms import Platform
    from tagloom.records.fabric import Fabric


def reload_remarks(fabric: Fabric, changed: Collection[str]) -> tuple[str, ...]:
    """Return a sentence for each model among the switches that a change sends lines to."""
    by_title: dict[str, tuple[Platform, list[str]]] = {}
    for switch in fabric.live:
        if switch.name in changed:
            platform = platforms.of(switch)
            by_title.setdefault(platform.title, (platform, []))[1].append(switch.name)
    return tuple(
        f"reload: {', '.join(names)} ({title}): {_manner(platform)}" for title, (platform, names) in by_title.items()
    )


def _manner(platform: Platform) -> str:
    if platform.why_no_reload:
        return f"not told to reload at a set time: {platform.why_no_reload}"
    return "told to reload from what is saved, unless the lines go well; called off once they are saved"
