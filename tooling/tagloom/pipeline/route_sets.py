"""Prove routes that others made: paths, or the forwarding tables of switches."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tagloom.read.forwarding_tables import read_tables
from tagloom.read.route_paths import read_paths
from tagloom.storage.outputs import write_output
from tagloom.verify.lossless import dependencies, prove_lossless

if TYPE_CHECKING:
    from pathlib import Path

    from tagloom.records.route_set import LosslessProof, Sharing


def prove_paths(path: Path) -> LosslessProof:
    """Prove the paths of a file. Raises InputError."""
    return prove_lossless(read_paths(path))


def prove_tables(directory: Path, sharing: Sharing | None = None) -> LosslessProof:
    """Prove the forwarding tables of a directory. Raises InputError."""
    return prove_lossless(dependencies(read_tables(directory), sharing))


def write_certificate(proof: LosslessProof, path: Path, *, force: bool = False) -> None:
    """Write the ranks of channels, by which `tooling/check_routes.py` checks a proof."""
    write_output(path, json.dumps(proof.certificate(), separators=(",", ":")) + "\n", force=force)
