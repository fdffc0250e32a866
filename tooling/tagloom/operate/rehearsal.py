"""Repair a small fabric without switches, so that the loops a real repair needs are compiled beforehand."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tagloom.operate.interrupting import interrupted_at_once
from tagloom.pipeline.planning import plan
from tagloom.pipeline.proving import proof_services
from tagloom.pipeline.rollouts import rollout_between
from tagloom.read.fabric_file import parse_fabric
from tagloom.read.fabric_text import format_family
from tagloom.rollout import keeping

if TYPE_CHECKING:
    from pathlib import Path

_RING = format_family("rehearsal", "ring", (4,), 1, 1, "powerconnect-5324")


def rehearse(templates: Path) -> None:
    """Plan a ring of four switches, lead its paths around a dead link, prove every line, and lead them home.

    Compiling takes most of a minute, once per installation (`graph.kernel`); afterwards this takes a second or two.
    """
    whole = parse_fabric(_RING, "rehearsal")
    dead = whole.with_links_dead(frozenset({0}))
    for assignment in ("fixed", "renamed"):  # those with repairs that plan anew
        home = plan(whole, templates, assignment=assignment)[0]
        around = plan(dead, templates, assignment=assignment, previous=home)[0]
        interrupted_at_once(dead, home.state, around.state)
        keeping(dead, home.state, around.state, proof_services(dead))
        searched = plan(whole, templates, assignment=assignment, routing="any", previous=home)[0]
        rollout_between(home, searched)
