"""See links come up while a push waits for them, so that the wait ends once both ends of each report up."""

from __future__ import annotations

from contextlib import contextmanager, suppress
from threading import Event, Thread
from typing import TYPE_CHECKING

import numpy as np

from tagloom.errors import TagloomError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping
    from contextlib import AbstractContextManager

    from tagloom.apply.run_directory import RunDirectory
    from tagloom.records.fabric import Fabric
    from tagloom.records.switch_state import FabricState

    Ports = Mapping[str, Collection[int]]  # by switch
    SeenUp = Callable[[Ports], bool]  # reads switches: whether ports are up, both ends of their cables
    SeesUp = Callable[[Fabric], AbstractContextManager[SeenUp]]  # opens what reads a fabric's

POLL_SECONDS = 0.25


def raised_ports(before: FabricState, after: FabricState) -> dict[str, list[int]]:
    """List by switch the ports that are enabled in one state and were not in the other."""
    raised = {
        name: [p + 1 for p in np.flatnonzero(held.enabled & ~before[name].enabled).tolist()]
        for name, held in after.items()
        if held is not before[name]
    }
    return {name: ports for name, ports in raised.items() if ports}


@contextmanager
def links_watched(
    files: RunDirectory, raised: Mapping[int, Ports], sees_up: Callable[[], AbstractContextManager[SeenUp]] | None
) -> Iterator[None]:
    """Record in a run's files that all links which a wave raised are up, while the context lasts.

    `raised` has the ports of each wave whose wait is for links alone; `sees_up` is opened for all of them. Where they
    cannot be read, the wait lasts as long as planned.
    """
    if sees_up is None or not raised:
        yield
        return
    ended = Event()

    def watch(sees_up: Callable[[], AbstractContextManager[SeenUp]]) -> None:
        waiting = dict(raised)
        with suppress(TagloomError, OSError), sees_up() as seen_up:
            while waiting and not ended.wait(POLL_SECONDS):
                wave = next((wave for wave in waiting if files.completed_at(wave) is not None), None)
                if wave is not None and seen_up(waiting[wave]):
                    files.links_up(wave).touch()
                    del waiting[wave]

    watcher = Thread(target=watch, args=(sees_up,), daemon=True)
    watcher.start()
    try:
        yield
    finally:
        ended.set()
        watcher.join()
