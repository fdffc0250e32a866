"""Read every switch and say what a push would change, or one wave of it; nothing is sent."""

from __future__ import annotations

import shutil
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tagloom.apply import playbook

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tagloom.apply.outcomes import Outcomes
    from tagloom.apply.playbook import Progress
    from tagloom.apply.site import Site
    from tagloom.records.fabric import Fabric

    Look = Callable[[Fabric, Progress | None], Outcomes]


@contextmanager
def started(directory: Path, site: Site, *, limit: str = "", wave: int = 0) -> Iterator[Look]:
    """Let Ansible start for a survey of what `directory` would change, and give the survey.

    No switch is reached for before that is called, which raises KeyboardInterrupt at its end if it was interrupted.
    Where it never is, no file of it stays.
    """
    place = site.directory("check")
    begun = False
    try:
        with playbook.started(
            directory,
            site.inventory,
            directory=place,
            share=site.share,
            environment=site.environment,
            check=True,
            limit=limit,
            first_wave=wave,
            last_wave=wave,
        ) as go:

            def look(fabric: Fabric, on_progress: Progress | None) -> Outcomes:
                nonlocal begun
                begun = True
                found = go([switch.name for switch in fabric.live], on_progress)
                if playbook.RunDirectory(place).stop.exists():
                    raise KeyboardInterrupt
                return found

            yield look
    finally:
        if not begun:
            shutil.rmtree(place, ignore_errors=True)


def survey(
    directory: Path, fabric: Fabric, site: Site, *, wave: int = 0, on_progress: Progress | None = None
) -> Outcomes:
    """Survey the switches of a fabric. An interrupt is told once every switch has been read."""
    with started(directory, site, wave=wave) as look:
        return look(fabric, on_progress)
