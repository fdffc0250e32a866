"""Weave VLANs through routes: which tag carries which source, and what every switch must hold for it."""

from tagloom.weave.assign import ASSIGNMENTS, weave

__all__ = ["ASSIGNMENTS", "weave"]
