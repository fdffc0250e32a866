"""Name the switches that are told to reload unless a change that must be confirmed goes well, and the others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tagloom import platforms
from tagloom.platforms.grammar import Grammar

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
    if platform.is_shell:
        return "not told to reboot at a set time, which would end all that runs on it"
    if not platform.has_modes:
        return "not told to reload at a set time: it boots with every line that it has taken"
    if Grammar.of(platform).scheduled_reload is None:
        return "cannot be told to reload at a set time: no words for it are known of its family"
    return "told to reload from what is saved, unless the lines go well; called off once they are saved"
