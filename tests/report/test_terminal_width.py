"""What a terminal is shown of a proof: 80 columns however large the fabric, and every word of it."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tagloom.records.findings import Findings
from tagloom.report.terminal import WIDTH, proof_lines, verdict

WORDS = st.lists(st.from_regex(r"[a-z0-9,]{1,20}", fullmatch=True), min_size=1, max_size=20).map(" ".join)
FIGURES = st.from_regex(r"[0-9][0-9,]{0,90}( of [0-9,]{1,20})?", fullmatch=True)


@given(what=WORDS, figure=FIGURES, good=st.booleans())
@example(what="every pair arrives on its own path", figure="1,047,552 of 1,047,552", good=True)
def test_a_verdict_is_80_columns_wide_at_most_and_says_all_of_it(what, figure, good):
    lines = verdict("proof", what, figure, good)
    assert max(map(len, lines)) <= WIDTH
    assert "".join("".join(lines).split()) == f"proof{what}{figure}{'yes' if good else 'NO'}".replace(" ", "")
    assert lines[-1][73:] == ("  yes" if good else "  NO")
    assert lines[-1][72] == figure[-1], "the figure ends where all figures end"


@pytest.mark.parametrize("hosts", [4, 1_024, 65_536])
def test_a_proof_of_a_large_fabric_fits_a_terminal_as_that_of_a_small_one_does(hosts):
    pairs = hosts * (hosts - 1)
    proof = Findings(
        pairs=pairs,
        reachable_pairs=pairs,
        off_path_pairs=0,
        storm_free=True,
        broadcast_exactly_once=True,
        deadlock_free=True,
        channels=pairs // 4,
        dependencies=pairs * 4,
        fdb_entries_max=hosts,
        foreign_vlans=tuple(range(2, min(hosts, 4000), 2)),
    )
    lines = proof_lines(proof, hosts)
    assert max(map(len, lines)) <= WIDTH
    for figure in (f"{pairs:,} of {pairs:,}", f"{hosts:,} hosts", f"{pairs // 4:,} channels", "no cycle"):
        assert any(figure in line for line in lines)
