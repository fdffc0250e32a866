"""Read every switch and report what a push, or one wave of it, would change; nothing is sent."""

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
    """Return what `directory` (or one wave of it) and `own_lines` would change on a fabric's switches.

    `place` takes the survey's files. Raises KeyboardInterrupt at the end if it was interrupted; every switch has been
    read by then.
    """
    names = [switch.name for switch in fabric.live]
    job = Job(directory, check=True, first_wave=wave, last_wave=wave, own_lines=dict(own_lines))
    found = pusher.do(job, place, names, on_progress=on_progress)
    if RunDirectory(place).stop.exists():
        raise KeyboardInterrupt
    return found
