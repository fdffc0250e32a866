"""Renamed assignment: in-ports share a VLAN exactly if one table serves both."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tagloom.weave.renamed import _conflicts

RULES = st.lists(st.tuples(st.integers(0, 1), st.lists(st.integers(0, 2), min_size=3, max_size=3)), max_size=5)


@given(RULES)
def test_two_in_ports_conflict_exactly_where_a_table_for_both_would_mislead_one(rules):
    """A VLAN has one member set, and one out-port for an address; 0 is an address that no frame from there goes to."""
    members = np.array([[kind, 1] for kind, _ in rules], np.bool_).reshape(-1, 2)
    out = np.array([row for _, row in rules], np.uint8).reshape(-1, 3)
    found = _conflicts(members, out)
    for i, (kind, row) in enumerate(rules):
        for j, (other_kind, other) in enumerate(rules):
            one_table = all(len({a, b} - {0}) <= 1 for a, b in zip(row, other, strict=True))
            assert found[i, j] == (kind != other_kind or not one_table), (i, j)
