"""What reads switches and sends them waves: Ansible, or sessions that are open."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from tagloom.apply.outcomes import Outcomes
    from tagloom.apply.playbook import Lock, Progress
    from tagloom.apply.run_directory import Job
    from tagloom.records.fabric import Fabric


class Pusher(Protocol):
    """Read switches and send them the waves of a job."""

    def hold(self, lock: Lock) -> None:
        """Take the locks with `lock` on switches, by their addresses, before any of them is spoken to."""
        ...

    def do(
        self,
        job: Job,
        directory: Path,
        switches: Sequence[str],
        *,
        meanwhile: Callable[[], object] = ...,
        on_progress: Progress | None = None,
    ) -> Outcomes:
        """Do one job, and return every switch's outcome."""
        ...


class DirectPusher(Pusher, Protocol):
    """Do the same over sessions that are open."""

    def reaches(self, fabric: Fabric) -> bool:
        """Return whether all that is to be read or sent of a fabric can be."""
        ...
