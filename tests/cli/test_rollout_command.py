"""`tagloom rollout`: every finding at once, from factory default as between builds, what it writes reads back."""

import json

import pytest

from tagloom.operate import prepare
from tagloom.pipeline import parse, read_texts
from tagloom.read import read_fabric

pytestmark = pytest.mark.kernel


@pytest.fixture
def ring(tmp_path, answer):
    fabric, build = tmp_path / "f.yml", tmp_path / "b"
    assert answer("new", "ring", "--dims", 5, "-o", fabric)[0] == 0
    assert answer("plan", fabric, "-o", build)[0] == 0
    return build


def test_all_that_is_wrong_is_said_at_once(tmp_path, answer):
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "else").write_text("")
    words = ("rollout", tmp_path / "no", tmp_path / "nor", tmp_path / "nay", "-o", tmp_path / "there")
    status, page = answer(*words, "--strategy", "luck", "--root", "s1")
    assert status == 2
    where = [finding["where"] for finding in page["findings"]]
    assert where[:3] == ["--strategy", "rollout", "--root, --blocked"]
    assert [str(tmp_path / name) for name in ("there", "no", "nor", "nay")] == where[3:]


def test_a_greenfield_is_written_with_what_it_assumes_and_reads_back(ring, tmp_path, answer):
    change = tmp_path / "r"
    status, page = answer("rollout", "--greenfield", ring, "-o", change)
    assert status == 0
    assert (page["strategy"], page["waves"], page["peak_lost_pairs"]) == ("greenfield", 6, 0)
    assert "s0 is the root" in page["assumed"]
    assert page["expected_seconds"] > page["drain_seconds"] >= 5
    kept = json.loads((change / "rollout.json").read_text())
    assert [wave["floods"] for wave in kept["waves"]] == [True] * 5 + [False]
    fabric = read_fabric(ring / "fabric.yml")
    state, unknown = parse(fabric, read_texts(fabric, change / "waves/1"))
    assert not unknown
    assert all(held.bpdu_filtering and held.spanning_tree for held in state.values())
    sent = (change / "waves/1/commands/s0.txt").read_text().splitlines()
    assert sent[0] == "spanning-tree bpdu filtering"
    assert answer("verify", change / "build")[0] == 0
    assert prepare.prepare(change).proof.proven, "what the texts can prove of it"
    status, page = answer("rollout", "--greenfield", ring, "-o", change, "--root", "s9", "--blocked", "s0:g9")
    assert (status, len(page["findings"])) == (2, 2)
    status, page = answer("rollout", "--greenfield", ring, "-o", change, "--blocked", "s2:g1", "--root", "s0")
    assert (status, page["assumed"]) == (0, "")


KEPT = ("hitless", "interrupted_pairs", "interrupted_seconds_max", "pairs_kept", "pairs_restored", "pairs_added")


def test_pairs_are_counted_between_two_builds_of_one_fabric_too(ring, tmp_path, answer):
    off = tmp_path / "off"
    assert answer("plan", ring.parent / "f.yml", "-o", off, "--off", "s0:g1", "--previous", ring)[0] == 0
    status, page = answer("rollout", ring, off, "-o", tmp_path / "gentle")
    assert (status, *(page[key] for key in KEPT)) == (0, True, 0, 0.0, 20, 0, 0)
    drain = ("--strategy", "drain", "--allow", "drain")
    status, page = answer("rollout", ring, off, "-o", tmp_path / "paused", *drain)
    assert (status, *(page[key] for key in KEPT)) == (0, False, 20, page["downtime_seconds"], 20, 0, 0)
    assert page["downtime_seconds"] > 0
    assert (page["pairs_removed"], page["peak_lost_pairs"]) == (0, 20)
    assert answer("rollout", ring, ring, "-o", tmp_path / "none")[1]["pairs_kept"] == 20


def test_a_report_counts_what_each_wave_changes_and_reads_rollouts_that_say_less_or_something_else(
    ring, tmp_path, answer
):
    change, page = tmp_path / "r", tmp_path / "page.html"
    answer("rollout", "--greenfield", ring, "-o", change)
    words = ("report", ring, "--rollout", change, "-o", page)
    assert answer(*words)[0] == 0
    kept = json.loads((change / "rollout.json").read_text())
    first = kept["waves"][0]
    assert f"{first['changes']} cells, {first['proven_states']} states proven" in page.read_text()
    for damaged, status in (
        ({key: value for key, value in kept.items() if key not in {"strategy", "expected_seconds"}}, 0),
        (kept | {"strategy": 5}, 2),
        (kept | {"expected_seconds": {}}, 2),
        (kept | {"waves": [first | {"changes": []}]}, 2),
    ):
        (change / "rollout.json").write_text(json.dumps(damaged))
        assert answer(*words)[0] == status
