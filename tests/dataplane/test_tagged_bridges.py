"""The benchmark of tags in kernel bridges: both networks carry its messages, and its page has a row for each size."""

import importlib.util

import pytest

from fabrics import ROOT

SPEC = importlib.util.spec_from_file_location("tagged_bridges", ROOT / "benchmarks" / "tagged_bridges.py")
tagged_bridges = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(tagged_bridges)


@pytest.mark.long
@pytest.mark.needs("user-mode Linux")
def test_messages_of_every_size_cross_both_networks():
    found = tagged_bridges.measure(1)
    assert {kind: len(rounds[0]) for kind, rounds in found.items()} == dict.fromkeys(("untagged", "tagged"), 4)
    assert all(seconds > 0 for rounds in found.values() for seconds in rounds[0])


def test_the_page_is_laid_out_by_the_script_and_has_every_size():
    """A page of made-up rounds has the words and the sizes of the one that was measured; the times are a machine's."""
    rounds = [[1e-5 * (number + 1)] * len(tagged_bridges.SIZES) for number in range(tagged_bridges.ROUNDS)]
    made = tagged_bridges.page({"untagged": rounds, "tagged": rounds}).splitlines()
    written = (ROOT / "benchmarks" / "results" / "tagged-bridges.md").read_text("utf-8").splitlines()
    assert [line.split(" | ")[0] for line in made] == [line.split(" | ")[0] for line in written]
    assert made[-3].endswith("| 1.00 (1.00 to 1.00) |")
