"""Trees around single link failures, found without compiled loops: sets of failures and switches as long integers."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from numpy.typing import NDArray

    from tagloom.route.net import Net

MOST_DRAWS = 20_000  # moves of one channel that a search for an order draws
SEARCH_WORK = 10_000_000_000  # bits that the moves it tries may touch: about half a second
ROOT_WORK = 2048  # channels that trees are grown over for each choice of one
OUTSIDE = -1  # instead of the channel into a switch that a tree leaves out
ROOT = -2  # and into its root


class Sweep:
    """The switches that ascending paths reach after every failure of a link, for all failures at once.

    A field of `width` bits belongs to each failure; bit v of it is switch v. Channels 2i and 2i + 1 belong to link i.
    """

    def __init__(self, net: Net) -> None:
        self.tail, self.head = net.tail.tolist(), net.head.tolist()
        self.width, self.channels = len(net.switch), len(net.channel)
        self.links = self.channels // 2
        self.every = sum(1 << (self.width * f) for f in range(self.links))  # bit 0 of each field
        field_bits = (1 << self.width) - 1
        whole = self.every * field_bits
        self.without = [whole ^ (field_bits << (self.width * f)) for f in range(self.links)]
        self.targets = net.target.tolist()
        self.hosts = self.every * sum(1 << v for v in self.targets)
        self.cut = self._lost(self._connected())

    @property
    def work(self) -> int:
        """Return the bits that one sweep touches, with the cost of a step in bits."""
        return self.channels * (6_000 + self.links * self.width)

    def reach(self, order: Sequence[int]) -> list[int]:
        """Return for each switch what ascending paths from it reach after each failure."""
        tail, head, without = self.tail, self.head, self.without
        seen = [self.every << v for v in range(self.width)]
        for c in reversed(order):
            seen[tail[c]] |= seen[head[c]] & without[c >> 1]
        return seen

    def unprotected(self, seen: Sequence[int]) -> int:
        """Return how many (ordered pair of switches with hosts, failure) are connected but have no ascending path."""
        return self._lost(seen) - self.cut

    def _lost(self, seen: Sequence[int]) -> int:
        return sum((self.hosts & ~seen[v]).bit_count() for v in self.targets)

    def _connected(self) -> list[int]:
        """Return what all paths reach after each failure."""
        seen = [self.every << v for v in range(self.width)]
        before: list[int] = []
        while seen != before:
            before = list(seen)
            for c in range(self.channels):
                seen[self.tail[c]] |= seen[self.head[c]] & self.without[c >> 1]
        return seen


def protecting_order(
    sweep: Sweep, order: Sequence[int], turns: Collection[tuple[int, int]], seed: int = 0
) -> tuple[list[int], int]:
    """Return an order of the channels along which fewer pairs are unprotected, and their number over all failures.

    The order ascends along the given `turns`, from channel to channel, and so does the one that is returned. Each move
    shifts one channel so that one more turn is allowed, and is kept if no more pairs are unprotected.
    """
    now = list(order)
    before: list[list[int]] = [[] for _ in now]
    after: list[list[int]] = [[] for _ in now]
    for x, y in turns:
        after[x].append(y)
        before[y].append(x)
    leaving: list[list[int]] = [[] for _ in range(sweep.width)]
    for c in range(sweep.channels):
        leaving[sweep.tail[c]].append(c)
    place = {c: i for i, c in enumerate(now)}
    left = sweep.unprotected(sweep.reach(now))
    tries = SEARCH_WORK // max(1, sweep.work)
    for first, second, how in np.random.default_rng(seed).integers(0, 1 << 40, (MOST_DRAWS, 3)).tolist():
        if not left or not tries:
            break
        x = first % len(now)
        following = leaving[sweep.head[x]]
        y = following[second % len(following)]
        low, high = place[y], place[x]
        if y == x ^ 1 or high < low:
            continue
        if how & 1:  # x moves before y
            if any(place[z] >= low for z in before[x]):
                continue
            part = [x, *now[low:high]]
        else:  # y moves after x
            if any(place[z] <= high for z in after[y]):
                continue
            part = [*now[low + 1 : high + 1], y]
        trial = [*now[:low], *part, *now[high + 1 :]]
        tries -= 1
        count = sweep.unprotected(sweep.reach(trial))
        if count <= left:
            now, left = trial, count
            place.update((c, low + i) for i, c in enumerate(part))
    return now, left


@dataclass(slots=True)
class Growth:
    """Trees along an order, and the failures after which they serve sources.

    Channels are numbered by their positions in the order. A tree is a list: for each switch the channel into it, ROOT
    or OUTSIDE. A set of failures has bit ``width * f`` for failure f.
    """

    sweep: Sweep
    order: list[int]
    roots: list[int]  # by source
    sources_at: dict[int, list[int]] = field(init=False)
    tail: list[int] = field(init=False)
    head: list[int] = field(init=False)
    back: list[int] = field(init=False)
    failure: list[int] = field(init=False)
    leaving: list[list[int]] = field(init=False)
    reach: list[int] = field(init=False)
    hearing: dict[tuple[int, int], int] = field(init=False)

    def __post_init__(self) -> None:
        sweep, place = self.sweep, {c: i for i, c in enumerate(self.order)}
        self.tail, self.head = [sweep.tail[c] for c in self.order], [sweep.head[c] for c in self.order]
        self.back, self.failure = [place[c ^ 1] for c in self.order], [c >> 1 for c in self.order]
        self.leaving = [[] for _ in range(sweep.width)]
        for c, v in enumerate(self.tail):
            self.leaving[v].append(c)
        self.reach = sweep.reach(self.order)
        self.sources_at = {}
        for source, root in enumerate(self.roots):
            self.sources_at.setdefault(root, []).append(source)
        # After which failures ascending paths from a switch reach another, both with hosts.
        self.hearing = {(k, h): self.reach[k] >> h & sweep.every for k in sweep.targets for h in sweep.targets}

    def bit(self, failure: int) -> int:
        """Return a failure as a set."""
        return 1 << (self.sweep.width * failure)

    def ascending(self, tree: Sequence[int]) -> list[int]:
        """Return a tree without the branches that no ascending path from its root reaches."""
        kept = list(tree)
        for c, (u, v) in enumerate(zip(self.tail, self.head, strict=True)):
            if kept[v] == c and kept[u] != ROOT and not 0 <= kept[u] < c:
                kept[v] = OUTSIDE
        return kept

    def needed(self, source: int, tree: Sequence[int]) -> int:
        """Return the failures after which a source's tree loses hosts that ascending paths from it still reach."""
        below: list[list[int]] = [[] for _ in tree]
        lost = 0
        for h in self.sweep.targets:
            below[h].append(h)
        for c in range(len(self.tail) - 1, -1, -1):
            v = self.head[c]
            if tree[v] == c:
                own = self.bit(self.failure[c])
                if any(self.hearing[self.roots[source], h] & own for h in below[v]):
                    lost |= own
                below[self.tail[c]] += below[v]
        return lost

    def grown(self, root: int, dead: int, shunned: Collection[int], *, foremost: bool) -> list[int]:
        """Return a tree from `root` to all that ascending paths reach without the link `dead`.

        First level by level, by the earliest channel of links that are not `shunned`. The rest, or with `foremost`
        everything, is reached by the earliest arrivals, over shunned links where there is no other way.
        """
        tree, near = [OUTSIDE] * self.sweep.width, [-1] * self.sweep.width
        tree[root], near[root] = ROOT, 0
        queue = deque([root] if not foremost else [])
        while queue:
            u = queue.popleft()
            for c in self.leaving[u]:
                v = self.head[c]
                if c <= tree[u] or self.failure[c] == dead or self.failure[c] in shunned or v == root:
                    continue
                if near[v] < 0:
                    near[v], tree[v] = near[u] + 1, c
                    queue.append(v)
                elif near[v] == near[u] + 1 and c < tree[v]:
                    tree[v] = c
        for barred in (shunned, ()):
            self._grow_foremost(root, dead, barred, tree, near)
        return tree

    def _grow_foremost(self, root: int, dead: int, shunned: Collection[int], tree: list[int], near: list[int]) -> None:
        """Add to a tree the switches that earliest arrivals reach; `near` is negative for those that it leaves out."""
        never = len(self.tail)
        early = [never] * len(tree)
        early[root] = -1
        for c, (u, v) in enumerate(zip(self.tail, self.head, strict=True)):
            if early[u] < c < early[v] and self.failure[c] != dead and self.failure[c] not in shunned:
                early[v] = c
        for v in range(len(tree)):
            at = v
            while near[at] < 0 or (at != v and tree[at] > early[at]):
                c = early[at]
                if c == never:
                    break
                near[at], tree[at] = 0, c
                at = self.tail[c]

    def pruned(self, tree: Sequence[int]) -> list[int]:
        """Return a tree without the branches that lead to no host."""
        kept = [False] * len(tree)
        for h in self.sweep.targets:
            kept[h] = tree[h] != OUTSIDE
        cut = list(tree)
        for c in range(len(self.tail) - 1, -1, -1):
            v = self.head[c]
            if tree[v] == c:
                if kept[v]:
                    kept[self.tail[c]] = True
                else:
                    cut[v] = OUTSIDE
        return cut

    def served(self, tree: Sequence[int], wanted: dict[int, int]) -> dict[int, int]:
        """Return the `wanted` failures, by source, after which a tree leads each source to all that it can reach."""
        holds, inside = 0, set[int]()
        for v, c in enumerate(tree):
            if c != OUTSIDE:
                inside.add(v)
            if c >= 0:
                holds |= self.bit(self.failure[c])
        outside = [h for h in self.sweep.targets if h not in inside]
        found = {}
        for k in self._legal_roots(tree):
            able = self.sweep.every & ~holds
            for h in outside:
                able &= ~self.hearing.get((k, h), 0)
            for source in self.sources_at.get(k, ()):
                if left := wanted.get(source, 0) & able:
                    found[source] = left
        return found

    def _legal_roots(self, tree: Sequence[int]) -> list[int]:
        """Return the switches from which all paths of a tree ascend.

        The root may move over a link if the opposite channel precedes every other channel of the tree that leaves it.
        """
        links: list[list[int]] = [[] for _ in tree]  # the channels of the tree's links that leave each switch
        for c in tree:
            if c >= 0:
                links[self.tail[c]].append(c)
                links[self.head[c]].append(self.back[c])
        root = list(tree).index(ROOT)
        found, queue, met = [root], deque([root]), {root}
        while queue:
            a = queue.popleft()
            first = sorted(links[a])[:2]
            for c in links[a]:
                b = self.head[c]
                others = [each for each in first if each != c]
                if b not in met and (not others or self.back[c] < others[0]):
                    met.add(b)
                    found.append(b)
                    queue.append(b)
        return found

    def rerooted(self, tree: Sequence[int], root: int) -> list[int]:
        """Return a tree rerooted at another of its switches."""
        turned = list(tree)
        c = tree[root]
        turned[root] = ROOT
        while c >= 0:
            u = self.tail[c]
            turned[u], c = self.back[c], tree[u]
        return turned

    def hops(self, tree: Sequence[int]) -> int:
        """Return the length of a tree's paths from its root to all switches with hosts."""
        depth = [0] * len(tree)
        for c, v in enumerate(self.head):
            if tree[v] == c:
                depth[v] = depth[self.tail[c]] + 1
        return sum(depth[h] for h in self.sweep.targets)

    def failures_in(self, some: int) -> NDArray[np.uint8]:
        """Return which failures a set holds, uint8[F] of zeros and ones."""
        sweep = self.sweep
        octets = np.frombuffer(some.to_bytes(-(-sweep.links * sweep.width // 8), "little"), np.uint8)
        return np.unpackbits(octets, bitorder="little")[: sweep.links * sweep.width : sweep.width]

    def shared(self, wanted: dict[int, int], most: int) -> list[list[int]]:
        """Return at most `most` trees that serve the `wanted` failures of sources, each time the one that serves most.

        What no tree of those that are tried serves stays without one.
        """
        left, found = dict(wanted), list[list[int]]()
        several = max(2, ROOT_WORK // len(self.tail))
        tried = np.unique(np.linspace(0, self.sweep.width - 1, several).astype(int)).tolist()
        while left and len(found) < most:
            count = np.sum([self.failures_in(each) for each in left.values()], axis=0)
            dead = int(count.argmax())
            if not count[dead]:
                break
            shunned = frozenset(np.flatnonzero(2 * count > count[dead]).tolist())
            own = [(self.roots[k], False) for k, each in left.items() if each & self.bit(dead)][:1]
            best, most_served, gain = list[int](), dict[int, int](), 0
            for root, foremost in [*product(tried, (True, False)), *own]:
                tree = self.pruned(self.grown(root, dead, shunned, foremost=foremost))
                served = self.served(tree, left)
                total = sum(each.bit_count() for each in served.values())
                if total > gain and any(each & self.bit(dead) for each in served.values()):
                    best, most_served, gain = tree, served, total
            if gain:
                found.append(best)
            else:
                most_served = {k: each & self.bit(dead) for k, each in left.items()}
            left = {k: rest for k, each in left.items() if (rest := each & ~most_served.get(k, 0))}
        return found

    def chosen(self, wanted: dict[int, int], trees: Sequence[list[int]]) -> dict[tuple[int, int], list[int]]:
        """Return the tree of fewest hops for each source and failure that some tree serves, rerooted at the source.

        Equal trees are one object.
        """
        least: dict[tuple[int, int], int] = {}
        found: dict[tuple[int, int], list[int]] = {}
        for tree in trees:
            for source, served in self.served(tree, wanted).items():
                own = self.rerooted(tree, self.roots[source])
                hops = self.hops(own)
                for f in np.flatnonzero(self.failures_in(served)).tolist():
                    if hops < least.get((source, f), 1 << 60):
                        least[source, f], found[source, f] = hops, own
        return found
