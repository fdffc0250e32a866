"""Remember which cables pass frames one way only, for as long as nothing shows that they are good again."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from pydantic import RootModel

from tagloom.errors import InputError
from tagloom.observe import OneWayWatch, with_links_lost
from tagloom.operate.running import FOLDER
from tagloom.platforms import of
from tagloom.storage.document import checked, read_json
from tagloom.storage.whole import write_whole

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tagloom.operate.repair_runs import Poll
    from tagloom.records.fabric import Fabric
    from tagloom.records.observation import Observation

FILE = "one-way.json"  # among the files of the runs


class OneWayForm(RootModel[list[tuple[str, str, float | None, float | None]]]):
    """The ports that send and receive, as switch:port, and when each last went up or down."""


class OneWayLinks:
    """What cables of a fabric pass frames one way only, kept in a file among the runs: `home` has them.

    A file that cannot be read is set aside and told: such cables are noticed again by their counters. `lost` are the
    links of the last look.
    """

    def __init__(self, home: Path, tell: Callable[[str], None]) -> None:
        self._path = home / FOLDER / FILE
        self._tell = tell
        self._watch: OneWayWatch | None = None
        self.lost: frozenset[int] = frozenset()

    def looking(self, poll: Poll) -> Callable[[Fabric], dict[str, Observation]]:
        """Return what reads as `poll` does, and shows the ports of such links down."""

        def look(fabric: Fabric) -> dict[str, Observation]:
            watch = self._watch = self._watch or self._read(fabric)
            before = dict(watch.found)
            seen = poll(fabric)
            self.lost = watch.look(fabric, seen)
            if watch.found != before:
                self._write(fabric, watch)
            return with_links_lost(fabric, seen, self.lost)

        return look

    def _read(self, fabric: Fabric) -> OneWayWatch:
        if not self._path.exists():
            return OneWayWatch()
        try:
            known = checked(OneWayForm, read_json(self._path, "what tagloom run wrote"), str(self._path)).root
        except InputError as error:
            aside = self._path.replace(self._path.with_name(f"{FILE}.damaged"))
            self._tell(
                f"{error.findings[0]}; set aside as {aside}: cables that lose frames one way are looked for anew"
            )
            return OneWayWatch()
        found = {}
        for sender, receiver, *changes in known:
            names = [end.partition(":") for end in (sender, receiver)]
            if all(name in fabric.index for name, _, _ in names):
                a, b = ((fabric.index[name], _number(fabric, name, word)) for name, _, word in names)
                found[a, b] = changes[0], changes[1]
        return OneWayWatch(found)

    def _write(self, fabric: Fabric, watch: OneWayWatch) -> None:
        def name(end: tuple[int, int]) -> str:
            switch = fabric.switches[end[0]]
            return f"{switch.name}:{of(switch).port_name(end[1])}"

        rows = [[*map(name, both), *changes] for both, changes in watch.found.items()]
        write_whole(self._path, json.dumps(rows) + "\n")


def _number(fabric: Fabric, switch: str, port: str) -> int:
    return of(fabric.switches[fabric.index[switch]]).port_number(port) or 0
