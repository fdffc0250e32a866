"""Plan a 4x4 mesh in every way; between any two of these plans a rollout must be found."""

from functools import cache, partial

import numpy as np

from fabrics import make_fabric
from tagloom.graph.trees import per_switch, rooted
from tagloom.records.routes import Routes
from tagloom.route import route
from tagloom.route.up_down import up_down
from tagloom.verify import broadcasts_once
from tagloom.weave import weave


def mesh():
    return make_fabric("mesh", 4, 4, model="powerconnect-5324")


def woven(fabric, routes, assignment="fixed"):
    return weave(fabric, routes, assignment, broadcasts_once=partial(broadcasts_once, fabric)).state


def row_and_columns(fabric, row):
    """Return one row and all columns for every source: the trees of dimension order."""
    links = [
        i
        for i, link in enumerate(fabric.links)
        if link.a // 4 != link.b // 4 or (link.a // 4 == row and link.b // 4 == row)
    ]
    source, root = per_switch(fabric)
    return Routes("tree", "", source, root, np.array([rooted(fabric, links, int(r)) for r in root]))


@cache
def plans():
    """Return 46 states by name: fixed, renamed, 4 trees, 24 with a link off, up*/down* from 16 roots."""
    fabric = mesh()
    found = {"fixed": woven(fabric, route(fabric)), "renamed": woven(fabric, route(fabric), "renamed")}
    for row in range(4):
        found[f"tree of row {row}"] = woven(fabric, row_and_columns(fabric, row))
    for link in range(len(fabric.links)):
        less = fabric.with_links_down({link})
        found[f"link {link} off"] = woven(less, route(less))
    for root in range(len(fabric.switches)):
        found[f"up*/down* from {root}"] = woven(fabric, up_down(fabric, root))
    return found
