"""Law: the stand-alone checker accepts exactly if the verifier proves the texts and their dependencies ascend.

Damage to a build may leave it deadlock-free by other dependencies than the certificate ranks; the checker then rejects.
"""

import tempfile
from pathlib import Path

from hypothesis import assume, given
from hypothesis import strategies as st

from fabrics import ROOT, SMALL_FABRICS, make_fabric
from tagloom.errors import PlanError
from tagloom.pipeline import plan, render, write_build, write_texts
from tagloom.verify import dependencies, verify
from test_verifier_agrees_with_frames import damage
from thinned import examples


@examples(120)
@given(st.data())
def test_the_checker_says_what_the_verifier_proves(check_certificate, data):
    family, dims, options = data.draw(st.sampled_from(SMALL_FABRICS))
    assignment = data.draw(st.sampled_from(["fixed", "renamed", "pinned"]))
    model = data.draw(st.sampled_from(["powerconnect-5324", "powerconnect-6248"]))
    fabric = make_fabric(family, *dims, model=model, **options)
    routing = "tree" if assignment == "pinned" else "auto"  # these models flood by every port
    build, proof, texts = plan(fabric, ROOT / "templates", assignment=assignment, routing=routing)
    rank = proof.channel_rank
    state = damage(data.draw, fabric, build.state)
    with tempfile.TemporaryDirectory() as folder:
        directory = Path(folder) / "b"
        write_build(build, proof, texts, directory)
        try:
            write_texts(directory / "configs", render(fabric, state, ROOT / "templates"))
        except PlanError:
            assume(False)  # the model has no words for this damage
        status, said = check_certificate(directory)
    held, wanted = dependencies(fabric, state)
    assert (status == 0) == (verify(fabric, state).proven and bool((rank[held] < rank[wanted]).all())), said
    assert status in {0, 1}
