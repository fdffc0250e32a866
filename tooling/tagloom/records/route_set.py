"""Routes of any lossless network: the channels, and which channel a frame may wait for while it holds another."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

    from tagloom.errors import Finding

NONE, DELIVERED = -1, -2  # in place of a group of channels: no route, and a frame that leaves the switches here
NOT_COVERED = (
    "nothing floods: every frame goes where a route says, and a frame without one is dropped",
    "every host takes what arrives: a network card that sends PAUSE without end stops any network",
    "a frame keeps its priority, and waits for buffers of its next channel alone",
)


class Shard(NamedTuple):
    """The tables of some destinations, to be followed anywhere; arrays as in `ForwardingTables`."""

    ends: NDArray[np.int32]
    group: NDArray[np.int32]
    first: NDArray[np.int32]
    members: NDArray[np.int32]
    senders: NDArray[np.bool_]


class Followed(NamedTuple):
    """What following a shard found: cells marked, ascending, the entries that frames met, and how many were missing."""

    marked: NDArray[np.int64]
    met: int
    dead: int


class Sharing(NamedTuple):
    """In how many shards destinations are followed, and what runs a function on each, as `map` does."""

    shards: int
    run: Callable[[Callable[[Shard], Followed], Sequence[Shard]], Iterable[Followed]]


class Turn(NamedTuple):
    """A frame that came over one channel and leaves the switch between over another."""

    switch: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class ForwardingTables:
    """Where each switch sends the frames to each destination.

    With S switches, C channels between them, D destinations and G groups: channel c leads from ``ends[c, 0]`` to
    ``ends[c, 1]``; ``group[s, d]`` is the group of channels that switch s spreads frames to d over, NONE or DELIVERED;
    group g holds ``members[first[g]:first[g + 1]]``. `senders` are the switches at which hosts send. `findings` tell
    what the tables get wrong by themselves, such as a port that leads nowhere.
    """

    switches: tuple[str, ...]
    channels: tuple[str, ...]
    destinations: tuple[str, ...]
    ends: NDArray[np.int32]
    group: NDArray[np.int32]
    first: NDArray[np.int32]
    members: NDArray[np.int32]
    senders: NDArray[np.bool_]
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True, eq=False)
class RouteSet:
    """The dependencies between channels that routes cause.

    `before[i] -> after[i]` says that a frame may hold channel `before[i]` while it waits for `after[i]`; each stands
    once. Numbers from ``len(channels)`` on are groups: a frame that holds a channel before a group waits for one of the
    channels after it. `priority` is the priority (IEEE 802.1Q) of each, None where routes serve every priority alike.
    Channel c leads from switch ``ends[c, 0]`` to ``ends[c, 1]``. `routes` counts the paths, or the table entries that
    frames meet; `dead_ends` the (switch, destination) that frames reach and that have no entry.
    """

    channels: tuple[str, ...]
    switches: tuple[str, ...]
    ends: NDArray[np.int32]
    before: NDArray[np.int64]
    after: NDArray[np.int64]
    priority: NDArray[np.int64] | None
    destinations: int
    routes: int
    dead_ends: int = 0
    findings: tuple[Finding, ...] = ()

    @property
    def vertices(self) -> int:
        """Count the channels and groups."""
        return max(len(self.channels), 1 + int(max(self.before.max(initial=-1), self.after.max(initial=-1))))

    @cached_property
    def pairs(self) -> NDArray[np.int64]:
        """Return the dependencies between channels in any priority, int64[2, dependencies], each once."""
        count = len(self.channels)
        direct, (held, wanted) = (self.before < count) & (self.after < count), self._by_group
        keys = np.concatenate([self.before[direct] * count + self.after[direct], held * count + wanted])
        return np.stack(np.divmod(np.unique(keys), max(1, count)))

    @property
    def _by_group(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the channels held and wanted by way of groups."""
        count = len(self.channels)
        into, out = self.after >= count, self.before >= count
        group, member = self.before[out], self.after[out]
        order = np.argsort(group, kind="stable")
        first = np.searchsorted(group[order], np.arange(count, self.vertices + 1))
        at = self.after[into] - count
        size = first[at + 1] - first[at]
        place = np.repeat(first[at] - (np.cumsum(size) - size), size) + np.arange(int(size.sum()))
        return np.repeat(self.before[into], size), member[order][place]

    @cached_property
    def dependencies(self) -> int:
        """Count the dependencies between channels."""
        count = len(self.channels)
        out = self.before >= count
        if not out.any() or len(np.unique(self.after[out])) < int(out.sum()):
            return int(self.pairs.shape[1])
        size = np.bincount(self.before[out] - count, minlength=self.vertices - count)
        return int(size[self.after[self.after >= count] - count].sum())  # no channel is in two groups


@dataclass(frozen=True, eq=False)
class LosslessProof:
    """Whether routes can deadlock where no frame may be dropped (PFC, PAUSE, InfiniBand credits).

    `cycle` lists the channels of a shortest dependency cycle, or is empty. `any_priority` says that no assignment of
    priorities to frames can deadlock, `cycles_by_priority` what each priority does by itself where routes name any.
    `turns` are turns without which no cycle is left: `turns_at_least` of them are needed whatever is chosen.
    `ranks` (int32[channels], by priority) climb along every dependency; empty where there is a cycle.
    """

    routes: RouteSet
    cycle: tuple[str, ...]
    any_priority: bool
    cycles_by_priority: dict[int, tuple[str, ...]]
    turns: tuple[Turn, ...]
    turns_at_least: int
    ranks: dict[int, NDArray[np.int32]]

    @cached_property
    def deadlock_free(self) -> bool:
        """Return whether no priority has a cycle."""
        return not any(self.cycles_by_priority.values()) if self.cycles_by_priority else not self.cycle

    @property
    def proven(self) -> bool:
        """Return whether nothing can deadlock and nothing was found."""
        return self.deadlock_free and not self.routes.findings and not self.routes.dead_ends

    def to_json(self) -> dict[str, Any]:
        """Return the verdict with the keys of the command line."""
        return {
            "proven": self.proven,
            "deadlock_free": self.deadlock_free,
            "deadlock_free_any_priority": self.any_priority,
            "deadlock_cycle": list(self.cycle),
            "priorities": {
                str(priority): {"deadlock_free": not cycle, "deadlock_cycle": list(cycle)}
                for priority, cycle in self.cycles_by_priority.items()
            },
            "turns_to_forbid": [turn._asdict() for turn in self.turns],
            "turns_to_forbid_at_least": self.turns_at_least,
            "switches": len(self.routes.switches),
            "destinations": self.routes.destinations,
            "channels": len(self.routes.channels),
            "routes": self.routes.routes,
            "dependencies": self.routes.dependencies,
            "dead_ends": self.routes.dead_ends,
            "findings": [finding.to_json() for finding in self.routes.findings],
            "not_covered": list(NOT_COVERED),
        }

    def certificate(self) -> dict[str, Any]:
        """Return what lets anybody check the proof: a rank of each channel, by priority ("" where all are alike)."""
        return {
            "format": 1,
            "channels": list(self.routes.channels),
            "ranks": {"" if priority < 0 else str(priority): rank.tolist() for priority, rank in self.ranks.items()},
        }
