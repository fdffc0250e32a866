"""Read every switch and say what a push would change, or one wave of it; nothing is sent."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from tagloom.apply.run_directory import Job, RunDirectory

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tagloom.apply.outcomes import Outcomes
    from tagloom.apply.playbook import Progress
    from tagloom.apply.pusher import Pusher
    from tagloom.records.fabric import Fabric


def survey(
    pusher: Pusher,
    place: Path,
    directory: Path,
    fabric: Fabric,
    *,
    wave: int = 0,
    own_lines: Mapping[str, list[dict[str, Any]]] = MappingProxyType({}),
    on_progress: Progress | None = None,
) -> Outcomes:
    """Survey the switches of a fabric against what `directory` would change, or one wave of it, and `own_lines`.

    `place` takes the survey's files. Raises KeyboardInterrupt at its end if it was interrupted: every switch has been
    read then.
    """
    names = [switch.name for switch in fabric.live]
    job = Job(directory, check=True, first_wave=wave, last_wave=wave, own_lines=dict(own_lines))
    found = pusher.do(job, place, names, on_progress=on_progress)
    if RunDirectory(place).stop.exists():
        raise KeyboardInterrupt
    return found
