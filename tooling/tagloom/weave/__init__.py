"""Weave VLANs through routes: which tag carries which source, and what every switch must hold for it."""

from tagloom.weave.assign import ASSIGNMENTS, Alternative, weave, weave_detours
from tagloom.weave.fixed import first_fit_count

__all__ = ["ASSIGNMENTS", "Alternative", "first_fit_count", "weave", "weave_detours"]
