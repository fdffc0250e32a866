"""Prove what a fabric will do from the states of its switches alone."""

from tagloom.verify.assumptions import assumptions
from tagloom.verify.foreign_wave import prove_foreign
from tagloom.verify.frame_path import frame_path
from tagloom.verify.guard import guard
from tagloom.verify.interrupted import kept_pairs, prove_kept, working_pairs
from tagloom.verify.management import prove_managed, prove_management
from tagloom.verify.missing import missing_entry
from tagloom.verify.protection import protection
from tagloom.verify.prove import (
    Plan,
    broadcasts_once,
    dependencies,
    foreign_findings,
    foreign_waiting,
    looping_vlans,
    tagged_frames_storm,
    verify,
)
from tagloom.verify.running import as_settled, prove_running
from tagloom.verify.taught import verify_taught
from tagloom.verify.wave import foreign_dependencies, live_vlans, own_dependencies, prove_wave
from tagloom.verify.what_if import what_if

__all__ = [
    "Plan",
    "as_settled",
    "assumptions",
    "broadcasts_once",
    "dependencies",
    "foreign_dependencies",
    "foreign_findings",
    "foreign_waiting",
    "frame_path",
    "guard",
    "kept_pairs",
    "live_vlans",
    "looping_vlans",
    "missing_entry",
    "own_dependencies",
    "protection",
    "prove_foreign",
    "prove_kept",
    "prove_managed",
    "prove_management",
    "prove_running",
    "prove_wave",
    "tagged_frames_storm",
    "verify",
    "verify_taught",
    "what_if",
    "working_pairs",
]
