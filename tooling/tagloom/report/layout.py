"""Lay a fabric out on a plane: grids by coordinates, levels as rows, anything else by its graph."""

from __future__ import annotations

from dataclasses import dataclass
from math import cos, hypot, pi, sin
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tagloom.records.fabric import Fabric, Link

CELL = 60.0  # distance of two neighbours of a grid
LABEL_ASIDE = 12.0  # the largest shift of a vertical link's label along it
STUB = 0.55  # of a cell: length of the stubs of a link that wraps around
LEAN = 0.6  # of a stub: how far it leans aside where another dimension has its axis
LABEL_STEP = 9.0  # between labels that follow each other
GRIDS, LEVELS, CIRCLES = {"mesh", "torus", "hypercube"}, {"fat-tree", "tree", "clos"}, {"ring", "complete"}
STRESS_UP_TO = 150  # switches, for Kamada and Kawai's layout, which compares all pairs at every step


@dataclass(frozen=True, slots=True)
class Drawn:
    """A fabric on a plane: the drawing's size, a point for each switch, an SVG path for each link.

    `middle` is where each link has its label; `wraps` marks links drawn as two stubs only. `leads` says where such
    stubs lead: a point beyond their ends, and the switch at the other end, once for parallel links.
    """

    width: float
    height: float
    points: tuple[tuple[float, float], ...]
    paths: tuple[str, ...]
    middle: tuple[tuple[float, float], ...]
    wraps: tuple[bool, ...]
    leads: tuple[tuple[float, float, int], ...]


def draw(fabric: Fabric) -> Drawn:
    """Return a fabric's layout; parallel links bend apart, links around a torus's edge become two stubs."""
    at = _points(fabric)
    low = at.min(axis=0, initial=0.0)
    at = at - low + CELL
    width, height = at.max(axis=0) + CELL
    parallel_links: dict[tuple[int, int], list[int]] = {}
    for i, link in enumerate(fabric.links):
        parallel_links.setdefault((min(link.a, link.b), max(link.a, link.b)), []).append(i)
    paths, middle = [""] * len(fabric.links), [(0.0, 0.0)] * len(fabric.links)
    around = [_around(fabric, link) for link in fabric.links]
    leads: list[tuple[float, float, int]] = []
    for (a, b), links in parallel_links.items():
        out = _outward(at[a], at[b], around[links[0]])
        if around[links[0]] >= 0:
            ends = [
                (at[s] + way * (CELL * STUB + LABEL_STEP), other)
                for s, other, way in zip((a, b), (b, a), out, strict=True)
            ]
            leads += [(round(float(point[0]), 1), round(float(point[1]), 1), other) for point, other in ends]
        for n, i in enumerate(links):
            bend = (n - (len(links) - 1) / 2) * 9.0
            paths[i], middle[i] = _stubs((at[a], at[b]), out, bend, n) if around[i] >= 0 else _line(at, a, b, bend)
    points = tuple((round(float(x), 1), round(float(y), 1)) for x, y in at)
    return Drawn(
        float(width), float(height), points, tuple(paths), tuple(middle), tuple(d >= 0 for d in around), tuple(leads)
    )


def _points(fabric: Fabric) -> NDArray[np.float64]:
    family = fabric.shape.family if fabric.shape is not None else ""
    count, there = len(fabric.switches), fabric.points
    whole = there.shape[1] > 0
    if family in GRIDS and whole:
        return _nested(there)
    if family in LEVELS and whole:
        return _rows(there, upside_down=family != "tree")
    if family in CIRCLES or count < 3:
        radius = max(CELL, CELL * count / (2 * pi))
        turns = [2 * pi * i / max(count, 1) - pi / 2 for i in range(count)]
        return np.array([(radius * cos(t), radius * sin(t)) for t in turns]).reshape(-1, 2)
    if family == "dragonfly" and whole:
        return _groups(there)
    return _by_graph(fabric)


def _nested(there: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return grid positions: dimensions 0, 2, 4, ... horizontal, 1, 3, 5, ... vertical, each nested in the next."""
    at = np.zeros((len(there), 2))
    stride = [1.0, 1.0]
    for d in range(there.shape[1]):
        axis = d % 2
        at[:, axis] += there[:, d] * stride[axis]
        stride[axis] *= float(there[:, d].max()) + 1.0
        stride[axis] += 0.7 if d + 2 < there.shape[1] else 0.0
    return np.asarray(at * CELL, np.float64)


def _rows(there: NDArray[np.int64], *, upside_down: bool) -> NDArray[np.float64]:
    """Return positions by level, one row each, as wide as the widest; a tree's root has level 0 and is on top."""
    level = there[:, 0]
    count = np.bincount(level)
    widest = float(count.max()) * CELL
    x = (there[:, 1] + 0.5) * widest / count[level]
    gap = max(2.2 * CELL, widest / 12.0)
    rank = level.max() - level if upside_down else level
    return np.stack([x, rank * gap], axis=1)


def _groups(there: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return groups on a circle, and the routers of each on a smaller one."""
    groups, routers = (int(n) + 1 for n in there.max(axis=0))
    small = max(CELL * 0.6, CELL * routers / (2 * pi))
    large = max(2.6 * small, 2.6 * small * groups / (2 * pi))
    out, inside = 2 * pi * there[:, 0] / groups - pi / 2, 2 * pi * there[:, 1] / routers
    return np.stack(
        [large * np.cos(out) + small * np.cos(inside), large * np.sin(out) + small * np.sin(inside)], axis=1
    )


def _by_graph(fabric: Fabric) -> NDArray[np.float64]:
    import networkx as nx  # noqa: PLC0415 - a third of a second that grids need not spend

    simple = nx.Graph(fabric.graph)
    count = len(fabric.switches)
    start = nx.circular_layout(simple)
    if count <= STRESS_UP_TO and nx.is_connected(simple):
        found = nx.kamada_kawai_layout(simple, pos=start)
    else:
        found = nx.spring_layout(simple, seed=1, iterations=60)
    at = np.array([found[switch.name] for switch in fabric.switches])
    nearest = np.median([hypot(*(at[link.a] - at[link.b])) for link in fabric.links] or [1.0])
    return np.asarray(at * (1.4 * CELL / max(float(nearest), 1e-9)), np.float64)


def _around(fabric: Fabric, link: Link) -> int:
    """Return the dimension in which a link wraps around the edge of a torus, -1 for a link that does not."""
    if fabric.shape is None or fabric.shape.family != "torus" or not fabric.points.shape[1]:
        return -1
    apart = np.abs(fabric.points[link.a] - fabric.points[link.b])
    return int(apart.argmax()) if apart.max() > 1 else -1


def _outward(a: NDArray[np.float64], b: NDArray[np.float64], dim: int) -> list[NDArray[np.float64]]:
    """Return the directions of a wrapping link's stubs, each away from the other switch.

    A third and further dimension shares its axis with one before it, so that its stubs lean aside.
    """
    direction = (b - a) / max(float(np.hypot(*(b - a))), 1e-9)
    lean = LEAN * (-1.0) ** (dim // 2 - 1) if dim >= 2 else 0.0
    aside = np.array([direction[1], -direction[0]]) * lean
    return [sign * direction * (1.0 - lean**2) ** 0.5 + aside for sign in (-1.0, 1.0)]


def _stubs(
    ends: tuple[NDArray[np.float64], NDArray[np.float64]],
    out: list[NDArray[np.float64]],
    bend: float,
    parallel_link: int,
) -> tuple[str, tuple[float, float]]:
    """Return a wrapping link's two stubs, and the label's point."""
    path = []
    for p, way, sign in zip(ends, out, (-1.0, 1.0), strict=True):
        q = p + np.array([-way[1], way[0]]) * sign * bend
        r = q + way * CELL * STUB
        path.append(f"M{p[0]:.1f} {p[1]:.1f}L{q[0]:.1f} {q[1]:.1f}L{r[0]:.1f} {r[1]:.1f}")
    # labels of parallel links follow each other, behind the name of the switch that they lead to
    label = ends[0] + out[0] * (CELL * STUB + LABEL_STEP * (2 + parallel_link))
    return " ".join(path), (round(float(label[0]), 1), round(float(label[1]), 1))


def _line(at: NDArray[np.float64], a: int, b: int, bend: float) -> tuple[str, tuple[float, float]]:
    """Return a link's path and label: straight, or bent for parallel links or past the switches of its row."""
    p, q = at[a], at[b]
    direction = q - p
    far = float(np.hypot(*direction))
    normal = np.array([-direction[1], direction[0]]) / max(far, 1e-9)
    parallel_link, along = bend, abs(direction[0]) < 1e-6 or abs(direction[1]) < 1e-6
    if along and far > 1.9 * CELL:
        bend += 0.16 * far
    c = (p + q) / 2 + normal * 2 * bend
    aside = max(-LABEL_ASIDE, min(LABEL_ASIDE, 1.3 * parallel_link))  # labels side by side would overlap
    middle = (p + q) / 2 + normal * bend + np.array([0.0, aside]) * abs(direction[1]) / max(far, 1e-9)
    label = round(float(middle[0]), 1), round(float(middle[1]), 1)
    if not bend:
        return f"M{p[0]:.1f} {p[1]:.1f}L{q[0]:.1f} {q[1]:.1f}", label
    return f"M{p[0]:.1f} {p[1]:.1f}Q{c[0]:.1f} {c[1]:.1f} {q[0]:.1f} {q[1]:.1f}", label
