"""Generate the regular families: which switches there are, which neighbours they have, which carry hosts."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, product
from math import prod
from typing import TYPE_CHECKING

from tagloom.errors import Finding, one_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MAX_SWITCHES = 20_000  # twice the size the planner is made for; a typing error asks for millions


@dataclass(frozen=True, slots=True)
class Edge:
    """Join neighbours `a` and `b`; b lies in the plus direction of dimension `dim` seen from a.

    Families without directions use dimension 0 and a < b, so that ports come in the order of the neighbours.
    """

    a: int
    b: int
    dim: int = 0


@dataclass(frozen=True, slots=True)
class Layout:
    """A generated family: coordinates by switch, edges between neighbours, switches that carry hosts."""

    at: tuple[tuple[int, ...], ...]
    edges: tuple[Edge, ...]
    with_hosts: tuple[int, ...]


def grid(dims: tuple[int, ...], *, wrap: bool) -> Layout:
    """Lay out a mesh, or a torus where `wrap`; the first dimension runs fastest.

    A ring of two switches would have two links between the same neighbours; it has one.
    """
    at = tuple(tuple(reversed(c)) for c in product(*(range(k) for k in reversed(dims))))
    stride = [prod(dims[:d]) for d in range(len(dims))]
    edges: list[Edge] = []
    for s, c in enumerate(at):
        for d, k in enumerate(dims):
            if c[d] + 1 < k:
                edges.append(Edge(s, s + stride[d], d))
            elif wrap and k > 2:
                edges.append(Edge(s, s - (k - 1) * stride[d], d))
    return Layout(at, tuple(edges), tuple(range(len(at))))


def fat_tree(up: int, down: int, levels: int) -> Layout:
    """Lay out a fat tree of down^levels/up leaves, `up` links up and `down` links down (Koibuchi et al. 2011, Fig. 9a).

    A switch of level l is (x_r .. x_(l+1); w_1 .. w_l): x names its way down from the top, w its way up. A step up
    replaces x_(l+1) by any w_(l+1). With down/up branches under the top, the top switches that differ only in
    w_(r-1) are one switch, which makes u^(r-1) of them with `down` links each.
    """
    r = levels
    width = [down] * (r - 1) + [down // up]  # x_1 .. x_r
    nodes: list[list[tuple[int, ...]]] = []
    for level in range(r):
        below = [range(up)] * level
        above = [range(width[i]) for i in range(level, r)]
        # keys read (w_1 .. w_l, x_(l+1) .. x_r); x_(l+1) runs fastest, so neighbours in a pod stand together
        nodes.append([(*w, *reversed(x)) for x in product(*reversed(above)) for w in product(*below)])
    tops = [tuple(w) for w in product(*[range(up)] * (r - 1))]
    first = [0]
    for level in range(r):
        first.append(first[-1] + len(nodes[level]))
    edges: list[Edge] = []
    for level in range(r - 1):
        number = {key: first[level + 1] + i for i, key in enumerate(nodes[level + 1])}
        for i, key in enumerate(nodes[level]):
            w, x = key[:level], key[level:]
            edges.extend(Edge(first[level] + i, number[(*w, v, *x[1:])]) for v in range(up))
    number = {key: first[r] + i for i, key in enumerate(tops)}
    for i, key in enumerate(nodes[r - 1]):
        w = key[: r - 1]
        edges.extend(Edge(first[r - 1] + i, number[(*w[: r - 2], v) if r > 1 else ()]) for v in range(up))
    at = tuple((level, i) for level, row in enumerate([*nodes, tops]) for i in range(len(row)))
    return Layout(at, tuple(edges), tuple(range(len(nodes[0]))))


def clos(a: int, b: int) -> Layout:
    """Lay out a complete bipartite graph with hosts on all switches (the paper's Myri-clos)."""
    at = tuple((0, i) for i in range(a)) + tuple((1, j) for j in range(b))
    return Layout(at, tuple(Edge(i, a + j) for i in range(a) for j in range(b)), tuple(range(a + b)))


def complete(n: int) -> Layout:
    """Lay out a complete graph."""
    return Layout(
        tuple((i,) for i in range(n)), tuple(Edge(i, j) for i, j in combinations(range(n), 2)), tuple(range(n))
    )


def tree(arity: int, depth: int) -> Layout:
    """Lay out a tree: the root is s0, `depth` levels lie below it."""
    at = tuple((level, i) for level in range(depth + 1) for i in range(arity**level))
    edges = tuple(Edge((child - 1) // arity, child) for child in range(1, len(at)))
    return Layout(at, edges, tuple(range(len(at))))


def dragonfly(groups: int, routers: int) -> Layout:
    """Lay out groups of fully connected routers, one global link between every two groups, spread over the routers."""
    per_router = (groups - 1) // routers
    at = tuple((g, i) for g in range(groups) for i in range(routers))
    edges = [Edge(g * routers + i, g * routers + j) for g in range(groups) for i, j in combinations(range(routers), 2)]
    for g in range(groups):
        # global link j of group g leads to group g + j + 1, and is number groups - 2 - j there
        edges += [
            Edge(g * routers + j // per_router, (g + j + 1) * routers + (groups - 2 - j) // per_router, 1)
            for j in range(groups - 1 - g)
        ]
    return Layout(at, tuple(edges), tuple(range(len(at))))


@dataclass(frozen=True, slots=True)
class Family:
    """Describe a family: how its dims read, how many there are (None = one or more), how many switches they make."""

    dims: str
    count: int | None
    switches: Callable[[tuple[int, ...]], int]
    build: Callable[[tuple[int, ...]], Layout]


def _fat_tree_switches(d: tuple[int, ...]) -> int:
    up, down, levels = d
    return sum(down**levels // up * up**i // down**i for i in range(levels + 1))


FAMILIES: dict[str, Family] = {
    "mesh": Family("k1 k2 ...", None, prod, lambda d: grid(d, wrap=False)),
    "torus": Family("k1 k2 ...", None, prod, lambda d: grid(d, wrap=True)),
    "hypercube": Family("n", 1, lambda d: 2 ** d[0], lambda d: grid((2,) * d[0], wrap=False)),
    "ring": Family("k", 1, prod, lambda d: grid(d, wrap=True)),
    "fat-tree": Family("up down levels", 3, _fat_tree_switches, lambda d: fat_tree(*d)),
    "clos": Family("a b", 2, sum, lambda d: clos(*d)),
    "complete": Family("n", 1, prod, lambda d: complete(*d)),
    "tree": Family("arity depth", 2, lambda d: sum(d[0] ** i for i in range(d[1] + 1)), lambda d: tree(*d)),
    "dragonfly": Family("groups routers", 2, prod, lambda d: dragonfly(*d)),
}


def family_named(words: str) -> str:
    """Return the family that words mean, in any case and with blanks or underscores for hyphens; else the words."""
    spelt = "-".join(words.casefold().replace("_", " ").split())
    return spelt if spelt in FAMILIES else words


def check(family: str, dims: tuple[int, ...]) -> Iterator[Finding]:
    """Find what keeps `dims` from making a fabric of the family."""
    if family not in FAMILIES:
        yield Finding("shape.family", one_of(FAMILIES, family), repr(family))
        return
    wanted = FAMILIES[family]
    if not dims or (wanted.count is not None and len(dims) != wanted.count):
        yield Finding("shape.dims", f"{wanted.dims} for {family}", f"{len(dims)} numbers")
    elif min(dims) < 1:
        yield Finding("shape.dims", "numbers from 1", str(min(dims)))
    elif sum(dims) > 4 * MAX_SWITCHES or (family == "hypercube" and dims[0] > 14):
        yield Finding("shape.dims", f"at most {MAX_SWITCHES} switches", f"dims {list(dims)}")
    elif family == "fat-tree" and dims[1] % dims[0]:
        yield Finding("shape.dims", f"a number of links down that {dims[0]} links up divide", str(dims[1]))
    elif family in {"fat-tree", "tree"} and dims[-1] > 16:
        yield Finding("shape.dims", "at most 16 levels", str(dims[-1]))
    elif family == "dragonfly" and (dims[0] < 2 or (dims[0] - 1) % dims[1]):
        yield Finding("shape.dims", f"a number of groups that is 1 more than a multiple of {dims[1]}", str(dims[0]))
    elif (count := wanted.switches(dims)) > MAX_SWITCHES:
        yield Finding("shape.dims", f"at most {MAX_SWITCHES} switches", str(count))
