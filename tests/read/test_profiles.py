"""Profiles of parallel programs, flows and patterns: what they say, what they cannot, and what is wrong with them."""

import csv
from pathlib import Path

import numpy as np
import pytest

from fabrics import ROOT, make_fabric
from tagloom.errors import InputError
from tagloom.read.patterns import PATTERNS
from tagloom.read.traffic import read_traffic

PROFILES = ROOT / "tests" / "data" / "profiles"


@pytest.fixture(scope="module")
def torus():
    return make_fabric("torus", 2, 2)


def write_prof(folder, npb, name):
    """Write a matrix as Open MPI's monitoring would have: E and I lines, the histogram, and nominal collectives."""
    lines: dict[str, list[str]] = {}
    with (npb / f"{name}.matrix.csv").open() as file:
        for row in csv.DictReader(file):
            for kind, what in (("E", "ext"), ("I", "int")):
                if int(row[f"{what}_msgs"]):
                    sent = f"{row[f'{what}_bytes']} bytes\t{row[f'{what}_msgs']} msgs sent"
                    text = f"{kind}\t{row['src']}\t{row['dst']}\t{sent}"
                    lines.setdefault(row["src"], []).append(text + ("\t0,0,3" if kind == "E" else ""))
    for rank, some in lines.items():
        nominal = f"# COLLECTIVES\nC\t{rank}\t0\t999999 bytes\t9 msgs sent\nD\tMPI_COMM_WORLD\tprocs: 0,1\n"
        (folder / f"run.{rank}.prof").write_text("# POINT TO POINT\n" + "\n".join(some) + "\n# OSC\n" + nominal)


def test_open_mpi_monitoring_adds_external_and_internal_lines_and_nothing_else(torus, npb, tmp_path):
    write_prof(tmp_path, npb, "cg.S.4")
    matrix = read_traffic(npb / "cg.S.4.matrix.csv", torus)
    for path in (tmp_path, tmp_path / "run.2.prof"):
        traffic = read_traffic(path, torus)
        assert np.array_equal(traffic.volume_bytes, matrix.volume_bytes)
        assert np.array_equal(traffic.messages, matrix.messages)
        assert "how long" in traffic.remarks[0]


def test_every_fault_of_monitoring_files_is_found(torus, npb, tmp_path):
    write_prof(tmp_path, npb, "cg.S.4")
    (tmp_path / "run.1.prof").unlink()
    (tmp_path / "run.2.prof").write_text("E\t0\t1\t5 bytes\t1 msgs sent\nE\t2\t1\t-5 bytes\t1 msgs sent\n")
    with pytest.raises(InputError) as caught:
        read_traffic(tmp_path, torus)
    found = str(caught.value)
    assert "rank 0" in found
    assert "-5 bytes" in found
    assert "none of [1]" in found


def test_tau_agrees_with_open_mpi_pair_by_pair_on_point_to_point(torus, npb):
    """TAU_COMM_MATRIX has the external messages; the internal ones of collectives it does not place."""
    traffic = read_traffic(PROFILES / "cg.S.4.tau", torus)
    with (npb / "cg.S.4.matrix.csv").open() as file:
        for row in csv.DictReader(file):
            a, b = int(row["src"]), int(row["dst"])
            if a != b:
                assert traffic.volume_bytes[a, b] == int(row["ext_bytes"])
                assert traffic.messages[a, b] == int(row["ext_msgs"])
    assert traffic.seconds == pytest.approx(0.457, abs=0.02)
    assert any("collective" in remark for remark in traffic.remarks)


def test_paraprofs_summary_needs_the_ranks_and_says_it_knows_no_partners(torus):
    with pytest.raises(InputError, match="--ranks"):
        read_traffic(PROFILES / "cg.S.4.mpisummary.txt", torus)
    traffic = read_traffic(PROFILES / "cg.S.4.mpisummary.txt", torus, ranks=4)
    assert traffic.messages.sum() == pytest.approx(1680 * 4)
    assert traffic.volume_bytes.sum() == pytest.approx(1680 * 4 * 7448.50633)
    assert "evenly" in traffic.remarks[0]


def test_mpip_scales_alltoall_by_the_other_ranks_and_misses_alltoallv(torus):
    traffic = read_traffic(PROFILES / "ft.S.4.mpiP.txt", torus)
    wire = 25_166_508
    assert traffic.volume_bytes.sum() == pytest.approx(wire, rel=0.01)
    assert any("Alltoallv" in r for r in read_traffic(PROFILES / "is.S.4.mpiP.txt", torus).remarks)


def test_flows_are_placed_by_a_file_of_addresses(torus, tmp_path):
    flows, places = tmp_path / "flows.csv", tmp_path / "places.csv"
    flows.write_text(
        "ts,te,td,sa,da,sp,dp,pr,flg,fwd,stos,ipkt,ibyt\n"
        "2026-11-21 02:00:00,2026-11-21 02:00:10,10.0,10.0.0.1,10.0.0.2,1,2,TCP,.,0,0,10,15000\n"
        "2026-11-21 02:00:05,2026-11-21 02:01:00,55.0,10.0.0.2,10.0.0.1,2,1,TCP,.,0,0,5,500\n"
        "Summary\nflows,bytes,packets\n2,15500,15\n"
    )
    places.write_text("10.0.0.1,h0\n10.0.0.2,h3\n")
    traffic = read_traffic(flows, torus, str(places))
    assert (traffic.volume_bytes[0, 3], traffic.messages[0, 3], traffic.volume_bytes[3, 0]) == (15_000, 10, 500)
    assert traffic.seconds == 60
    with pytest.raises(InputError) as caught:
        read_traffic(flows, torus)
    assert len(caught.value.findings) == 4


def test_a_placement_file_may_put_two_ranks_on_a_host(torus, npb, tmp_path):
    places = tmp_path / "places.csv"
    places.write_text("0,h0\n1,h0\n2,h1\n3,h1\n")
    traffic = read_traffic(npb / "cg.S.4.matrix.csv", torus, str(places))
    assert traffic.volume_bytes[0, 1] == 4 + 0 + 2_329_600 + 4
    places.write_text("0,h0\n1,h9\n2,h1\n2,h2\n")
    with pytest.raises(InputError) as caught:
        read_traffic(npb / "cg.S.4.matrix.csv", torus, str(places))
    assert len(caught.value.findings) == 2


@pytest.mark.parametrize("name", PATTERNS)
def test_patterns_send_a_megabyte_from_each_host_that_sends(name):
    fabric = make_fabric("mesh", 4, 4)
    volume = read_traffic(Path(f"pattern:{name}"), fabric).volume_bytes
    sums = volume.sum(axis=1)
    assert np.all((sums == 0) | (np.abs(sums - 1e6) < 16))
    assert np.any(sums)
    assert not np.diag(volume).any()


def test_patterns_are_what_their_names_say():
    fabric = make_fabric("mesh", 4, 4)

    def partners(name):
        return np.argmax(read_traffic(Path(f"pattern:{name}"), fabric).volume_bytes, axis=1)

    assert partners("bit-reversal")[[1, 3, 8]].tolist() == [8, 12, 1]
    assert partners("matrix-transpose")[[1, 4, 7]].tolist() == [4, 1, 13]
    near = read_traffic(Path("pattern:nearest-neighbour"), fabric).volume_bytes
    assert np.flatnonzero(near[0]).tolist() == [1, 4]
    with pytest.raises(InputError, match="all-to-all"):
        read_traffic(Path("pattern:nonsense"), fabric)


def test_every_format_says_what_it_cannot_know(torus, npb, tmp_path):
    """What counters cannot know is tested beside their estimate."""
    write_prof(tmp_path, npb, "cg.S.4")
    hosts = tmp_path / "m.csv"
    hosts.write_text("# seconds: 60\nsource,destination,bytes\nh0,h1,9\n")
    flows = tmp_path / "flows.csv"
    row = "2026-11-21 02:00:00,2026-11-21 02:00:10,10.0,h0,h1,1,2,TCP,.,0,0,10,15000"
    flows.write_text(f"ts,te,td,sa,da,sp,dp,pr,flg,fwd,stos,ipkt,ibyt\n{row}\nSummary\n")
    formats = {
        tmp_path / "run.0.prof": "nor when messages were sent",
        hosts: "does not say when",
        npb / "cg.S.4.matrix.csv": "how many seconds it took",
        PROFILES / "is.S.4.mpiP.txt": "who sent to whom",
        Path("pattern:uniform"): "made up",
        PROFILES / "cg.S.4.tau": "TAU does not say when messages were sent",
        PROFILES / "cg.S.4.mpisummary.txt": "has no bytes of collectives",
        flows: "counted twice",
    }
    for path, words in formats.items():
        assert words in " ".join(read_traffic(path, torus, ranks=4).remarks), path
    unknown = " ".join(read_traffic(flows, torus).remarks)
    assert "without Ethernet's headers" in unknown
    assert "does not say when between its start and its end" in unknown
    assert "who sent to whom" in " ".join(read_traffic(PROFILES / "cg.S.4.mpisummary.txt", torus, ranks=4).remarks)
    assert "no partners of collective messages" in " ".join(read_traffic(PROFILES / "cg.S.4.tau", torus).remarks)
