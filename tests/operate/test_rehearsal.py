"""A rehearsed repair compiles the loops that a repair of another fabric needs."""

from __future__ import annotations

import os
import subprocess
import sys
from textwrap import dedent

import pytest

REHEARSED = """
from tagloom.operate.rehearsal import rehearse
from tagloom.share import share_directory

rehearse(share_directory() / "templates")
"""
REPAIRED = """
from tagloom.pipeline.planning import plan
from tagloom.pipeline.proving import proof_services
from tagloom.pipeline.rollouts import rollout_between
from tagloom.read.fabric_file import parse_fabric
from tagloom.read.fabric_text import format_family
from tagloom.rollout import keeping
from tagloom.share import share_directory

templates = share_directory() / "templates"
whole = parse_fabric(format_family("other", "torus", (4, 3), 1, 2, "powerconnect-6248"), "other")
home = plan(whole, templates)[0]
dead = whole.with_links_dead(frozenset({5}))
around = plan(dead, templates, previous=home)[0]
assert keeping(dead, home.state, around.state, proof_services(dead)) is not None
rollout_between(home, plan(whole, templates, routing="up-down", previous=home)[0])
"""


@pytest.mark.long
def test_a_repair_after_a_rehearsal_compiles_nothing(tmp_path):
    def compiled_after(program):
        around = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
        subprocess.run([sys.executable, "-P", "-c", dedent(program)], env=around, check=True)
        return {path.name for path in tmp_path.rglob("*.nbc")}

    rehearsed = compiled_after(REHEARSED)
    assert len(rehearsed) > 30
    assert compiled_after(REPAIRED) == rehearsed
