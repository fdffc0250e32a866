"""Export a fabric's cabling as Batfish's layer-1 topology."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tagloom.report.lab_topologies import cabling

if TYPE_CHECKING:
    from tagloom.records.fabric import Fabric


def layer1(fabric: Fabric) -> str:
    """Return the text of batfish/layer1_topology.json: every cable once, those to hosts too.

    Batfish takes host names in lower case. Links that are off are cabled all the same: configurations shut them.
    """
    edges = [
        {"node1": {"hostname": a.lower(), "interfaceName": p}, "node2": {"hostname": b.lower(), "interfaceName": q}}
        for a, p, b, q in cabling(fabric)
    ]
    return json.dumps({"edges": edges}, indent=1) + "\n"
