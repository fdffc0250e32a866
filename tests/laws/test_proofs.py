"""Coq checks the theorems, without axioms; and the checker extracted from them says what the verifier proves."""

import os
import re
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from fabrics import ROOT, SMALL_FABRICS, make_fabric
from sending import stops
from tagloom import platforms
from tagloom.cli import main
from tagloom.errors import PlanError
from tagloom.graph.cycles import ranks
from tagloom.pipeline import plan, rollout, write_build
from tagloom.records.change import difference
from tagloom.records.lines import Lines
from tagloom.render import line_changes
from tagloom.render.certificate_text import certificate_text
from tagloom.verify import dependencies, prove_wave, verify
from test_verifier_agrees_with_frames import damage
from thinned import examples

PROOFS = ROOT / "tooling" / "proofs"
CLOSED = "Closed under the global context"
NEEDED = pytest.mark.needs("coqc", "ocamlopt")


def alone(state):
    """Return each switch's one state, as of a network that nobody changes."""
    return {name: [held] for name, held in state.items()}


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


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Build the proofs and the checker; return the directory and what Coq printed."""
    directory = tmp_path_factory.mktemp("proofs")
    done = subprocess.run([PROOFS / "build.sh", directory], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return directory, done.stdout


@pytest.fixture(scope="module")
def check(built):
    """Return what runs the checker on a text: its exit status, and what it prints."""
    directory, _ = built

    def check(text, *options):
        (directory / "certificate").write_text(text, "utf-8")
        words = [directory / "check-certificate", *options, directory / "certificate"]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    return check


@pytest.mark.slow
@NEEDED
def test_every_theorem_is_proven_without_axioms(built):
    assert answers(built[1]) == [CLOSED] * len(printed())


@NEEDED
@pytest.mark.parametrize("line", ["Axiom easy : 1 = 2.", "Lemma easy : 1 = 2. Proof. Admitted."])
def test_an_axiom_and_an_admitted_lemma_are_seen(tmp_path, line):
    (tmp_path / "Easy.v").write_text(f"{line}\nTheorem t : 1 = 2. Proof. exact easy. Qed.\nPrint Assumptions t.\n")
    shown = subprocess.run(["coqc", "Easy.v"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert answers(shown.stdout) == ["Axioms:\neasy : 1 = 2\n"]


@pytest.mark.slow
@NEEDED
@examples(200)
@given(st.data())
def test_the_proven_checker_says_what_the_verifier_proves(check, data):
    family, dims, options = data.draw(st.sampled_from(SMALL_FABRICS))
    assignment = data.draw(st.sampled_from(["fixed", "renamed", "pinned"]))
    fabric = make_fabric(family, *dims, **options)
    build, proof, _ = plan(fabric, ROOT / "templates", assignment=assignment)
    rank = proof.channel_rank
    state = damage(data.draw, fabric, build.state)
    swapped = data.draw(st.booleans())
    if swapped:  # two ranks change places
        a, b = (data.draw(st.integers(0, len(rank) - 1)) for _ in range(2))
        rank = rank.copy()
        rank[[a, b]] = rank[[b, a]]
    found = verify(fabric, state)
    try:
        text = certificate_text(fabric, alone(state), rank)
    except PlanError:
        assert not found.proven  # ends of a cable that do not fit
        return
    status, shown = check(text)
    assert status in {0, 1}
    if found.findings and all(each.where.endswith(" learning") for each in found.findings):
        return  # the verifier refuses to judge what switches may learn, and the checker tries all
    held, wanted = dependencies(fabric, state)
    assert (status == 0) == (found.proven and bool((rank[held] < rank[wanted]).all())), shown


def a_wave(data):
    """Draw a fabric, its state before a wave, and lines by switch: of a rollout, or to a damaged state."""
    family, dims, options = data.draw(st.sampled_from(SMALL_FABRICS))
    fabric = make_fabric(family, *dims, model="powerconnect-5324", **options)
    assignments = st.sampled_from(["fixed", "renamed"])
    before, after = (plan(fabric, ROOT / "templates", assignment=data.draw(assignments))[0].state for _ in range(2))
    words = platforms.load("powerconnect-5324")
    try:
        if data.draw(st.booleans()):
            waves = rollout(fabric, before, after, duplicates_allowed=data.draw(st.booleans())).waves
            assume(waves)
            wave = data.draw(st.sampled_from(waves))
            before, after = wave.before, wave.state
        else:
            after = damage(data.draw, fabric, before)
        changes = {name: (difference(held, after[name]), held) for name, held in before.items()}
        sent = {name: [line for _, line in line_changes(words, *each)] for name, each in changes.items()}
    except PlanError:  # no way, or no words for the damage
        assume(False)
    return fabric, before, sent


@pytest.mark.slow
@NEEDED
@examples(200)
@given(st.data())
def test_the_proven_checker_says_what_is_proven_of_a_wave(check, data):
    fabric, before, lines = a_wave(data)
    proof = prove_wave(fabric, before, {name: Lines.of(list(enumerate(sent, 1))) for name, sent in lines.items()})
    channels = len(fabric.tail)
    rank = np.zeros(channels, np.int32) if proof.cycle else ranks(channels, proof.held, proof.wanted)
    states = {name: stops(held, lines[name]) for name, held in before.items()}
    try:
        text = certificate_text(fabric, states, rank)
    except PlanError:
        return  # what the model lacks: speeds that change, VLANs without our name
    status, shown = check(text, "--change")
    where = [each.where for each in proof.findings]
    if any(each.endswith(("learning", "mode")) for each in where):
        return  # such lines are refused whatever they do
    assert (status == 0) == proof.proven, (shown, where)


WRONG = {
    "nothing": "",
    "another format": "certificate 2\n",
    "an unknown line": "certificate 1\nbridge 1\n",
    "no number": "certificate 1\nhost 0 x 1\n",
    "a negative number": "certificate 1\nhost 0 -1 1\n",
    "a number in another notation": "certificate 1\nhost 0 0x1 1\n",
    "a port used twice": "certificate 1\nhost 0 0 1\nlink 0 1 1 1\n",
    "a VLAN before any switch": "certificate 1\nvlan 1 u1\n",
    "a VLAN twice": "certificate 1\nswitch 0\nvlan 1 u1\nvlan 1 u2\n",
    "a member without a port": "certificate 1\nswitch 0\nvlan 1 u\n",
    "letters nobody knows": "certificate 1\nswitch 0\nport 1 1 ex\n",
}


@pytest.mark.slow
@NEEDED
@pytest.mark.parametrize("text", WRONG.values(), ids=WRONG)
def test_what_is_no_certificate_is_unreadable(check, text):
    status, shown = check(text)
    assert status == 2, shown
    assert "cannot read" in shown


TWO = """certificate 1
host 0 0 2
host 1 1 2
link 0 1 1 1
rank 0 1 1
rank 1 1 2
switch 0
port 1 - etifl
port 2 5 euifl
vlan 5 t1 u2
entry 5 0 2
entry 5 1 1
switch 1
port 1 - etifl
port 2 5 euifl
vlan 5 t1 u2
entry 5 0 1
entry 5 1 2
"""


@pytest.mark.slow
@NEEDED
def test_two_switches_by_hand(check):
    assert check(TWO) == (0, "yes: 2 hosts, 2 channels\n")
    assert check(TWO + "switch 0\nport 1 - etifl\nport 2 5 euifl\nvlan 5 t1 u2\nentry 5 0 2\nentry 5 1 1\n")[0] == 1, (
        "a change"
    )
    for line, other in [
        ("rank 1 1 2", "rank 1 1 0"),
        ("entry 5 0 1", "entry 5 0 2"),
        ("entry 5 1 1\n", ""),
        ("t1 u2", "u2"),
    ]:
        assert check(TWO.replace(line, other, 1))[0] == 1, line


@pytest.fixture(scope="module")
def write():
    """Return what writes the certificate of a build, or of a rollout's wave."""

    def write(*words):
        path = os.pathsep.join([str(ROOT / "tooling"), *filter(None, [os.environ.get("PYTHONPATH")])])
        command = [sys.executable, ROOT / "tooling" / "write_certificate.py", *map(str, words)]
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, env=os.environ | {"PYTHONPATH": path}
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return write


@pytest.mark.slow
@NEEDED
def test_a_build_has_a_certificate_until_a_text_is_changed(tmp_path, check, write):
    build, proof, texts = plan(make_fabric("torus", 3, 3, model="powerconnect-6248"), ROOT / "templates")
    write_build(build, proof, texts, tmp_path / "b")
    assert check(write(tmp_path / "b")) == (0, "yes: 9 hosts, 36 channels\n")
    text = tmp_path / "b" / "configs" / "s4.cfg"
    text.write_text(re.sub(r"pvid 10\d", "pvid 1", text.read_text("utf-8")), "utf-8")
    assert check(write(tmp_path / "b"))[0] == 1


@pytest.mark.slow
@NEEDED
def test_each_wave_of_a_rollout_has_a_certificate(tmp_path, check, write):
    commands = [
        ["new", "mesh", "--dims", "3", "2", "-o", tmp_path / "f.yml"],
        ["plan", tmp_path / "f.yml", "-o", tmp_path / "a"],
        ["plan", tmp_path / "f.yml", "--off", "s0:g1", "-o", tmp_path / "b"],
        ["rollout", tmp_path / "a", tmp_path / "b", "-o", tmp_path / "way"],
    ]
    for words in commands:
        assert main(list(map(str, words))) == 0
    waves = sorted((tmp_path / "way" / "waves").iterdir())
    assert len(waves) == 3
    for number in range(1, 4):
        text = write(tmp_path / "way", number)
        assert text.count("\nswitch ") > 6, "more than one configuration of some switch"
        assert check(text, "--change") == (0, "yes: 6 hosts, 14 channels\n")
    assert check(re.sub(r"\nentry \d+ 5 \d+", "", text, count=8), "--change")[0] == 1, (
        "no entry for a host on some switch"
    )


LACKING = {
    "port-channels": ({"parallel": 2, "lag": True}, ""),
    "uplinks": ({}, "hosts:\n  h0: {uplink: true}\n"),
}


@pytest.mark.parametrize("what", LACKING)
def test_what_the_model_lacks_is_refused(what):
    options, extra = LACKING[what]
    fabric = make_fabric("mesh", 2, 2, model="powerconnect-5324", extra=extra, **options)
    build, proof, _ = plan(fabric, ROOT / "templates", assignment="fixed")
    with pytest.raises(PlanError, match="simple fabrics only") as refused:
        certificate_text(build.fabric, alone(build.state), proof.channel_rank)
    assert what in str(refused.value)
