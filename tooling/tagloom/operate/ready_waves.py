"""Waves that lead around what is dead from what runs, proven and rendered, so that they need only be sent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tagloom.operate.waves import WaveSequence, digests
from tagloom.pipeline.files import write_rollout
from tagloom.records.switch_state import dead_states
from tagloom.render import parse, render

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tagloom.records.build import Build
    from tagloom.records.fabric import Fabric
    from tagloom.records.rollout import Rollout
    from tagloom.records.switch_state import FabricState


@dataclass(frozen=True)
class ReadyWaves:
    """A proven rollout from what runs to a build, and the text of every state in its waves.

    `texts` are by the identity of the state; `text_characters` counts what those have that the waves alone need.
    They are `complete` if all pairs work afterwards, and their broadcasts arrive.
    """

    build: Build
    change: Rollout
    texts: Mapping[int, str]
    text_characters: int
    complete: bool = True

    def write(self, templates: Path, directory: Path) -> WaveSequence:
        """Write it as a rollout, and return that."""

        def known(fabric: Fabric, state: FabricState, _templates: Path) -> dict[str, str]:
            return {switch.name: self.texts[id(state[switch.name])] for switch in fabric.live}

        write_rollout(self.build, self.change, templates, directory, known)
        fabric, waves = self.build.fabric, self.change.waves
        states = (self.change.before, *(wave.state for wave in waves))
        return WaveSequence(
            directory,
            fabric,
            states,
            tuple(wave.name for wave in waves),
            tuple(wave.drain_seconds for wave in waves),
            (False,) * len(waves),
            tuple(wave.assumptions for wave in waves),
            self.build.duplicates_allowed,
            digests([known(fabric, state, templates) for state in states], fabric),
        )


def texts_of_changed(before: FabricState, after: FabricState, fabric: Fabric, templates: Path) -> dict[str, str] | None:
    """Return the texts of the switches that change; None where none does, or one does not read back as it is."""
    moved = {name for name, state in after.items() if state is not before[name]}
    less = fabric.with_live(moved)
    lines = render(less, after, templates)
    return lines if moved and parse(less, lines)[0] == {**after, **dead_states(less)} else None
