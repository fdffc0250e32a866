"""The theorems are checked by Coq, and rest on no axiom."""

import re
import subprocess

import pytest

from fabrics import ROOT

PROOFS = ROOT / "tooling" / "proofs"
CLOSED = "Closed under the global context"


def theorems():
    """List the theorems of all files."""
    sources = (path.read_text("utf-8") for path in PROOFS.glob("*.v"))
    return [name for source in sources for name in re.findall(r"^Theorem (\w+)", source, re.MULTILINE)]


def printed():
    """List the theorems whose assumptions the build prints, in order."""
    text = (PROOFS / "Assumptions.v").read_text("utf-8")
    return re.findall(r"^Print Assumptions (\w+)\.$", text, re.MULTILINE)


def answers(output):
    """Split what Coq prints into an answer for each theorem: CLOSED, or its axioms."""
    return re.findall(rf"^{CLOSED}$|^Axioms:\n(?:.+\n?)+", output, re.MULTILINE)


def test_the_assumptions_of_every_theorem_are_printed():
    assert sorted(printed()) == sorted(theorems())
    assert len(printed()) > 8


@pytest.mark.slow
@pytest.mark.needs("coqc")
def test_every_theorem_is_proven_without_axioms(tmp_path):
    built = subprocess.run([PROOFS / "build.sh", tmp_path], capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    assert answers(built.stdout) == [CLOSED] * len(printed())


@pytest.mark.needs("coqc")
@pytest.mark.parametrize("line", ["Axiom easy : 1 = 2.", "Lemma easy : 1 = 2. Proof. Admitted."])
def test_an_axiom_and_an_admitted_lemma_are_seen(tmp_path, line):
    (tmp_path / "Easy.v").write_text(f"{line}\nTheorem t : 1 = 2. Proof. exact easy. Qed.\nPrint Assumptions t.\n")
    shown = subprocess.run(["coqc", "Easy.v"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert answers(shown.stdout) == ["Axioms:\neasy : 1 = 2\n"]
