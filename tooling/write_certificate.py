"""Write a certificate for the proven checker: python3 tooling/write_certificate.py BUILD > FILE (or ROLLOUT WAVE).

Reads the configuration texts with tagloom's parsers. A wave's certificate (check-certificate --change FILE) holds what
each switch holds before its lines and after each. What is then checked, and what stays trusted:
docs/explanation/proofs.md. Exit: 0 written, 1 not proven or the checker's model lacks something, 2 bad input.
"""

import json
import sys
from pathlib import Path

import numpy as np

from tagloom import platforms
from tagloom.errors import PlanError, TagloomError
from tagloom.graph.cycles import ranks
from tagloom.operate.waves import read_sequence
from tagloom.pipeline import read_build
from tagloom.records.change import apply_changes, difference
from tagloom.records.lines import BOUNCES
from tagloom.records.wave_proof import AS_PLANNED
from tagloom.render import line_changes, line_effects
from tagloom.render.certificate_text import certificate_text
from tagloom.verify import prove_wave


def of_build(directory: Path) -> str:
    """Return the certificate of a build, with the ranks of its plan.json."""
    build = read_build(directory)
    rows = json.loads((directory / "plan.json").read_text("utf-8"))["certificate"]["ranks"]
    states = {name: [state] for name, state in build.state.items()}
    return certificate_text(build.fabric, states, np.array([rank for *_, rank in rows]))


def of_wave(directory: Path, number: int) -> str:
    """Return the certificate of a rollout's wave, ranked by the dependencies of all its lines."""
    sequence = read_sequence(directory)
    if not 1 <= number <= sequence.waves:
        raise PlanError(f"{directory} has waves 1 to {sequence.waves}", f"wave {number}")
    if sequence.assumptions[number - 1] != AS_PLANNED:
        raise PlanError("certificates for the proven checker cover simple waves only", f"wave {number} assumes more")
    fabric = sequence.part(number)[0].with_links_up()
    before, after = sequence.states[number - 1], sequence.states[number]
    lines, states = {}, {}
    for switch in fabric.switches:
        held, wanted, platform = before[switch.name], after[switch.name], platforms.of(switch)
        lines[switch.name], states[switch.name] = line_effects(platform, held, wanted), [held]
        for _, changes in line_changes(platform, difference(held, wanted), held):
            if any(change.cell in BOUNCES for change in changes):
                raise PlanError("certificates for the proven checker cover simple waves only", "a link may bounce")
            states[switch.name].append(apply_changes(states[switch.name][-1], tuple(changes)))
    proof = prove_wave(fabric, before, lines, duplicates_allowed=sequence.duplicates_allowed)
    if proof.cycle:
        raise PlanError("the dependencies of a certificate have no cycle", "; ".join(proof.cycle))
    return certificate_text(fabric, states, ranks(len(fabric.tail), proof.held, proof.wanted))


if __name__ == "__main__":
    try:
        place, *wave = sys.argv[1:]
        sys.stdout.write(of_wave(Path(place), *map(int, wave)) if wave else of_build(Path(place)))
    except TagloomError as error:
        print(error, file=sys.stderr)
        sys.exit(error.exit_status)
    except (KeyError, TypeError, ValueError) as error:
        print(f"usage: write_certificate.py BUILD, or ROLLOUT WAVE; {error!r:.200}", file=sys.stderr)
        sys.exit(2)
