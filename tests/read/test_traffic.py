"""Traffic matrices: by host and by rank, with what they cannot say found."""

import numpy as np
import pytest

from fabrics import make_fabric
from tagloom.errors import InputError
from tagloom.read.traffic import place, read_traffic


@pytest.fixture(scope="module")
def torus():
    return make_fabric("torus", 4, 4)


def test_a_rank_matrix_lands_on_the_hosts_without_messages_to_oneself(torus, npb):
    """CG.S on 16 ranks: 56,131,764 bytes on the wire, 4,659,200 of them from a rank to itself (transpose)."""
    traffic = read_traffic(npb / "cg.S.16.matrix.csv", torus)
    assert traffic.volume_bytes.sum() == 56_131_764 - 4_659_200
    assert traffic.messages.sum() == 47_198 - 1_664
    assert not np.diag(traffic.volume_bytes).any()
    assert traffic.volume_bytes[0, 1] == 1_171_716


def test_a_host_matrix_adds_up_and_says_its_seconds(torus, tmp_path):
    path = tmp_path / "m.csv"
    path.write_text("# seconds: 3600\nsource,destination,bytes,messages\nh0,h1,100,2\nh0,h1,50,1\nh3,h3,9,9\n")
    traffic = read_traffic(path, torus)
    assert (traffic.volume_bytes[0, 1], traffic.messages[0, 1], traffic.seconds) == (150, 3, 3600)
    assert traffic.volume_bytes.sum() == 150


def test_every_wrong_row_is_found_at_once(torus, tmp_path):
    path = tmp_path / "m.csv"
    path.write_text("# seconds: -1\nsource,destination,bytes\nh0,h99,5\nh0,h1,-4\nh0,h1,nan\nh0\nh1,h2,1e30\n")
    with pytest.raises(InputError) as caught:
        read_traffic(path, torus)
    found = str(caught.value)
    for words in ("'h99'", "'-4'", "'nan'", "3 columns", "'1e30'", ":1  seconds"):
        assert words in found
    assert len(caught.value.findings) == 6


@pytest.mark.parametrize("text", ["", "a,b,c\n1,2,3\n", "# only\n"])
def test_what_is_no_matrix_is_a_finding(torus, tmp_path, text):
    path = tmp_path / "m.csv"
    path.write_text(text)
    with pytest.raises(InputError):
        read_traffic(path, torus)


def test_ranks_go_one_to_a_host_or_spread_over_the_switches():
    torus = make_fabric("torus", 4, 2, hosts=3)
    assert list(place(torus, 24, "", "x")) == list(range(24))
    spread = place(torus, 8, "", "x")
    assert sorted(torus.hosts[h].switch for h in spread) == list(range(8))
    assert [torus.hosts[h].switch for h in place(torus, 4, "spread", "x")] == [0, 2, 4, 6]
    assert list(place(torus, 4, "block", "x")) == [0, 1, 2, 3]
    with pytest.raises(InputError):
        place(torus, 25, "", "x")


def test_several_ranks_go_to_a_host_one_after_another():
    torus = make_fabric("torus", 4, 2, hosts=3)
    assert list(place(torus, 48, ":2", "x")) == [host for host in range(24) for _ in range(2)]
    assert list(place(torus, 47, "block:2", "x")) == [rank // 2 for rank in range(47)]
    assert list(place(torus, 4, "block:16", "x")) == [0] * 4
    spread = place(torus, 32, ":4", "x")
    assert [torus.hosts[h].switch for h in spread] == [switch for switch in range(8) for _ in range(4)]
    assert [torus.hosts[h].switch for h in place(torus, 8, "spread:2", "x")] == [0, 0, 2, 2, 4, 4, 6, 6]
    with pytest.raises(InputError, match="x: expected at most 48 ranks, 2 on each host, actual 49"):
        place(torus, 49, ":2", "x")
    with pytest.raises(InputError, match="--ranks-per-host"):
        place(torus, 49, "", "x")
    for wrong in (":0", "block:", "block:-1", "spread:1000000"):
        with pytest.raises(InputError, match="--placement"):
            place(torus, 4, wrong, "x")


def test_a_row_without_a_count_is_one_message(torus, tmp_path):
    path = tmp_path / "m.csv"
    path.write_text("source,destination,bytes\nh0,h1,100\nh0,h1,50\nh1,h0,7\n")
    traffic = read_traffic(path, torus)
    assert (traffic.volume_bytes[0, 1], traffic.messages[0, 1], traffic.messages[1, 0]) == (150, 2, 1)
    assert traffic.messages.sum() == 3


def test_what_ranks_of_one_host_send_each_other_crosses_no_wire(tmp_path):
    """Ranks 0 and 1 on h1, rank 2 on h0: as an Open MPI profile, and as a matrix by rank."""
    fabric = make_fabric("torus", 2, 2)
    places = tmp_path / "places"
    places.write_text("0,h1\n1,h1\n2,h0\n")
    for rank, rows in enumerate(["E\t0\t1\t500 bytes\t5 msgs sent\nE\t0\t2\t30 bytes\t3 msgs sent\n", "", ""]):
        (tmp_path / f"phase.{rank}.prof").write_text(f"# POINT TO POINT\n{rows}# OSC\n# COLLECTIVES\n")
    matrix = tmp_path / "m.csv"
    matrix.write_text("src,dst,wire_bytes,wire_msgs\n0,1,500,5\n0,2,30,3\n")
    for path in (tmp_path / "phase.0.prof", matrix):
        traffic = read_traffic(path, fabric, str(places))
        assert (traffic.volume_bytes[1, 0], traffic.messages[1, 0]) == (30, 3)
        assert (traffic.volume_bytes.sum(), traffic.messages.sum()) == (30, 3)
