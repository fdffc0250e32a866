"""Weave VLANs through routes: which tag carries which source, and what every switch must hold for it."""

from tagloom.weave.asleep import asleep
from tagloom.weave.assign import ASSIGNMENTS, Alternative, unknown_assignment, weave, weave_detours
from tagloom.weave.broadcast import broadcast_tree
from tagloom.weave.detours import name_detours
from tagloom.weave.fixed import first_fit_count
from tagloom.weave.moved_entries import moved_entries
from tagloom.weave.renamed import table_3_remarks

__all__ = [
    "ASSIGNMENTS",
    "Alternative",
    "asleep",
    "broadcast_tree",
    "first_fit_count",
    "moved_entries",
    "name_detours",
    "table_3_remarks",
    "unknown_assignment",
    "weave",
    "weave_detours",
]
