"""Profiles of parallel programs, flows and patterns: what they say, what they cannot, and what is wrong with them."""

import csv
import itertools
import re
import shutil
from pathlib import Path

import numpy as np
import pytest

from fabrics import ROOT, make_fabric
from tagloom.errors import InputError
from tagloom.read.patterns import PATTERNS
from tagloom.read.traffic import read_profile, read_traffic

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


@pytest.mark.parametrize(("name", "calls"), [("cg.S.4", 1680 + 3), ("is.S.16", 3 * 11 + 4)])
def test_paraprofs_summary_has_times_and_calls_but_not_what_was_sent(name, calls):
    """Its bytes of CG.S are 7,448.5 a message, of which there were 1,680 of 2,777.4; of IS.S they are 4."""
    path, fabric = PROFILES / f"{name}.mpisummary.txt", make_fabric("torus", 4, 4)
    ranks = int(name.rpartition(".")[2])
    with pytest.raises(InputError, match="--ranks"):
        read_profile(path, fabric)
    with pytest.raises(InputError, match="sums of mean sizes"):
        read_traffic(path, fabric, ranks=ranks)
    profile = read_profile(path, fabric, ranks=ranks)
    assert profile.calls == calls
    assert not profile.messages.any()
    assert 0 < profile.communication_seconds < profile.seconds
    assert "does not say what was sent" in profile.remarks[0]


@pytest.mark.parametrize(
    ("name", "times_the_wire", "remark"),
    [
        ("ft.S.4", 1.0, ""),
        ("ft.S.16", 1.0, ""),
        ("lu.S.4", 1.0, ""),
        ("cg.S.4", 18_664_484 / (18_664_484 - 4_659_200), "itself"),
        ("cg.S.16", 56_131_764 / (56_131_764 - 4_659_200), "itself"),
        ("mg.S.4", 2_258_664 / (2_258_664 - 392_576), "itself"),
        ("is.S.4", 0.0391, "no bytes of Alltoallv"),
        ("is.S.16", 0.089, "no bytes of Alltoallv"),
    ],
)
def test_two_readers_of_one_run_agree_or_say_why_not(npb, name, times_the_wire, remark):
    """MpiP beside what Open MPI's monitoring counted: messages to oneself, and collectives without bytes."""
    fabric = make_fabric("torus", 4, 4) if name.endswith("16") else make_fabric("torus", 2, 2)
    counted = read_traffic(npb / f"{name}.matrix.csv", fabric)
    told = read_traffic(PROFILES / f"{name}.mpiP.txt", fabric)
    assert told.volume_bytes.sum() / counted.volume_bytes.sum() == pytest.approx(times_the_wire, rel=0.01)
    assert remark in " ".join(told.remarks)


@pytest.mark.parametrize(("name", "calls"), [("ft.S.4", 8 + 6 + 5 + 1), ("lu.S.4", 1020 + 110 + 10 + 10 + 2)])
def test_mpip_counts_how_often_a_rank_waits_for_messages(torus, name, calls):
    assert read_traffic(PROFILES / f"{name}.mpiP.txt", torus).calls == pytest.approx(calls, abs=2.1)


def test_what_stays_on_a_host_is_remarked_by_every_reader(torus, npb, tmp_path):
    """CG on 4 ranks sends itself 832 messages; two ranks on a host keep theirs to it."""
    write_prof(tmp_path, npb, "cg.S.4")
    for path in (tmp_path, npb / "cg.S.4.matrix.csv"):
        assert any(
            "832 messages stay on their hosts, to oneself or to a neighbour, 4,659,200 bytes: no link" in r
            for r in read_traffic(path, torus).remarks
        )
    places = tmp_path / "places.csv"
    places.write_text("0,h0\n1,h0\n2,h1\n3,h1\n")
    both = read_traffic(npb / "cg.S.4.matrix.csv", torus, str(places))
    all_of_it = 18_664_484 - both.volume_bytes.sum()
    assert any(
        f"stay on their hosts, to oneself or to a neighbour, {all_of_it:,.0f} bytes" in remark
        for remark in both.remarks
    )


def test_bytes_without_a_message_are_a_finding_at_their_row(torus, tmp_path):
    for head, rows in (
        ("source,destination,bytes,messages", "h0,h1,5,1\nh1,h2,7,0\nh2,h3,0,0\n"),
        ("src,dst,wire_bytes,wire_msgs", "0,1,5,1\n1,2,7,0\n2,3,0,0\n"),
    ):
        (tmp_path / "m.csv").write_text(f"{head}\n{rows}")
        with pytest.raises(InputError) as caught:
            read_traffic(tmp_path / "m.csv", torus)
        (finding,) = caught.value.findings
        assert (finding.where, finding.actual) == (f"{tmp_path / 'm.csv'}:3  messages", "0")


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
    assert partners("matrix-transpose")[[0, 1, 4, 7]].tolist() == [15, 11, 14, 2]
    assert partners("matrix-transpose")[[3, 6, 9, 12]].tolist() == [12, 9, 6, 3]  # x + y = 3: all 16 hosts send
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
        flows: "counted twice",
    }
    for path, words in formats.items():
        assert words in " ".join(read_traffic(path, torus, ranks=4).remarks), path
    unknown = " ".join(read_traffic(flows, torus).remarks)
    assert "without Ethernet's headers" in unknown
    assert "does not say when between its start and its end" in unknown
    assert "no partners of collective messages" in " ".join(read_traffic(PROFILES / "cg.S.4.tau", torus).remarks)


def refused(path, fabric, **how):
    with pytest.raises(InputError) as caught:
        read_traffic(path, fabric, **how)
    return str(caught.value)


def test_every_fault_of_tau_profiles_is_found(torus, tmp_path):
    folder = tmp_path / "run"
    shutil.copytree(PROFILES / "cg.S.4.tau", folder)
    first = next(folder.rglob("profile.0.0.0"))
    lines = first.read_text().splitlines(keepends=True)
    event = next(at for at, line in enumerate(lines) if line.startswith('"Message size sent to node'))
    timer = next(at for at, line in enumerate(lines) if line.startswith('"MPI_Wait'))
    lines[event] = re.sub(r'" \S+', '" 1e', lines[event])
    lines[timer] = re.sub(r'" \S+ \S+ \S+', '" 1 0 1e', lines[timer])
    first.write_text("".join(lines))
    next(folder.rglob("profile.3.0.0")).unlink()
    found = refused(folder, torus)
    assert f":{event + 1}: expected numbers" in found
    assert f":{timer + 1}: expected microseconds" in found
    assert "expected profiles of 4 nodes, actual 3 of them" in found


def test_tau_profiles_without_partners_are_told_how_to_be_made(torus, tmp_path):
    for file in (PROFILES / "cg.S.4.tau").rglob("profile.*"):
        kept = [line for line in file.read_text().splitlines(keepends=True) if "sent to node" not in line]
        (tmp_path / file.name).write_text("".join(kept))
    assert "set TAU_COMM_MATRIX=1 for the run" in refused(tmp_path, torus)


def test_every_fault_of_paraprofs_summary_and_of_a_report_of_mpip_is_found(torus, tmp_path):
    summary = (PROFILES / "cg.S.4.mpisummary.txt").read_text().splitlines(keepends=True)
    at = next(n for n, line in enumerate(summary) if re.match(r"\s+\d", line) and "   " in line)
    spoilt = tmp_path / "s.txt"
    spoilt.write_text("".join([*summary[:at], summary[at][:11] + "x" + summary[at][12:], *summary[at + 1 :]]))
    assert f":{at + 1}: expected 6 columns of 12 and 9 of 16" in refused(spoilt, torus, ranks=4)
    spoilt.write_text("".join(summary[:at]))
    assert "expected rows of paraprof --dumpmpisummary, actual none" in refused(spoilt, torus, ranks=4)

    report = (PROFILES / "cg.S.4.mpiP.txt").read_text().splitlines(keepends=True)
    times = next(n for n, line in enumerate(report) if line.split()[:1] == ["Max"])
    spoilt.write_text("".join([*report[:times], "Max  1e  2\n", *report[times + 1 :]]))
    assert f":{times + 1}: expected a row of mpiP's Task Time Statistics" in refused(spoilt, torus)
    spoilt.write_text("".join(line for line in report if "Task Assignment" not in line and "Time" not in line))
    assert "expected the task times of two or more ranks" in refused(spoilt, torus)


def write_tau(folder, metric, microseconds, heading="# Name Calls Subrs Excl Incl ProfileCalls #"):
    folder.mkdir(exist_ok=True, parents=True)
    for rank in (0, 1):
        words = [w for w in heading.strip("# ").split() if w in {"Calls", "Subrs", "Excl", "Incl", "SumExclSqr"}]
        row = {"Calls": 10, "Subrs": 0, "Excl": microseconds / 10, "Incl": microseconds, "SumExclSqr": 5}
        wait = " ".join(f"{row[word]:g}" for word in words)
        (folder / f"profile.{rank}.0.0").write_text(
            f'1 templated_functions{metric}\n{heading}\n"MPI_Wait()" {wait} 0 GROUP="MPI"\n0 aggregates\n1 userevents\n'
            f'# eventname numevents max min mean sumsqr\n"Message size sent to node {1 - rank}" 10 900 1 500 1e7\n'
        )


@pytest.mark.parametrize(
    "metrics",
    [
        ["_MULTI_TIME"],
        [""],
        ["_MULTI__TIME", "_MULTI_PAPI_TOT_CYC"],
        ["_MULTI_PAPI_L1_DCM", "_MULTI_GET_TIME_OF_DAY", "_MULTI_P_VIRTUAL_TIME"],
        ["_MULTI_LINUX_TIMERS", "_MULTI_ENERGY"],
    ],
)
def test_of_several_metrics_of_tau_wall_clock_time_is_read_once(torus, tmp_path, metrics):
    for metric in metrics:
        wall = metric.endswith(("TIME", "OF_DAY", "TIMERS")) and "VIRTUAL" not in metric
        write_tau(tmp_path / f"MULTI_{metric}", metric, 5e6 if wall or not metric else 12e9)
    profile = read_profile(tmp_path, torus)
    assert (profile.volume_bytes.sum(), profile.messages.sum(), profile.seconds) == (10_000, 20, 5.0)
    assert (profile.calls, profile.communication_seconds) == (10, 0.5)


@pytest.mark.parametrize("metric", ["_MULTI_PAPI_TOT_CYC", "_MULTI_CPU_TIME", "_MULTI_P_VIRTUAL_TIME"])
def test_a_metric_of_tau_that_is_no_wall_clock_time_is_refused(torus, tmp_path, metric):
    write_tau(tmp_path, metric, 5e6)
    assert "expected profiles of wall-clock time in microseconds" in refused(tmp_path, torus)


def test_tau_is_read_by_its_headings_and_counts(torus, tmp_path):
    columns = tmp_path / "columns"
    write_tau(columns, "_MULTI_TIME", 5e6, "# Name Calls Subrs SumExclSqr Incl Excl ProfileCalls #")
    assert read_profile(columns, torus).seconds == 5.0
    write_tau(columns, "_MULTI_TIME", 5e6, "# Name Calls Subrs Excl")
    assert "expected a heading with Calls, Excl, Incl" in refused(columns, torus)
    write_tau(tmp_path / "two" / "a", "_MULTI_TIME", 5e6)
    write_tau(tmp_path / "two" / "b", "_MULTI_TIME", 5e6)
    assert "expected one run in a folder" in refused(tmp_path / "two", torus)
    write_tau(columns, "_MULTI_TIME", 5e6)
    cut = columns / "profile.0.0.0"
    cut.write_text(cut.read_text().replace("1 userevents", "3 userevents"))
    assert "expected 3 rows, as it says above them, actual 1" in refused(columns, torus)
    cut.write_text("hello\n")
    assert "templated_functions_MULTI_METRIC" in refused(columns, torus)


@pytest.mark.parametrize(
    ("rows", "communication", "calls"),
    [
        (['"MPI_Wait() => [CONTEXT] MPI_Wait()" 9 0 0 5e5 0 GROUP="TAU_SAMPLE_CONTEXT"'], 0.5, 10),
        (['"MPI_Wait() => [CONTEXT] MPI_Wait() => [SUMMARY] poll" 9 0 5e5 5e5 0 GROUP="TAU_SAMPLE"'], 0.5, 10),
        (['"MPI_Wait() [ <tag> = <7> ]" 9 0 5e5 5e5 0 GROUP="TAU_PARAM"'], 0.5, 10),
        (
            [
                '"MPI_Reduce()" 2 2 1e5 3e5 0 GROUP="MPI"',
                '"MPI Collective Sync" 2 0 2e5 2e5 0 GROUP="MPI"',
                '"MPI_Reduce() => MPI Collective Sync" 2 0 2e5 2e5 0 GROUP="MPI | TAU_CALLPATH"',
            ],
            0.8,
            12,
        ),
        (['"MPI_Recv() [THROTTLED]" 7 0 1e5 1e5 0 GROUP="TAU_DISABLE"'], 0.6, 17),
    ],
)
def test_rows_of_tau_that_repeat_the_time_of_a_call_count_once(torus, tmp_path, rows, communication, calls):
    write_tau(tmp_path, "_MULTI_TIME", 5e6)
    for path in tmp_path.iterdir():
        text = path.read_text().replace("1 templated", f"{1 + len(rows)} templated")
        path.write_text(text.replace("0 aggregates", "\n".join((*rows, "0 aggregates"))))
    profile = read_profile(tmp_path, torus)
    assert (profile.communication_seconds, profile.calls) == (pytest.approx(communication), calls)
    assert ("stopped measuring MPI_Recv()" in " ".join(profile.remarks)) == ("THROTTLED" in rows[0])


def test_one_sided_messages_and_several_runs_of_monitoring_are_remarked(torus, tmp_path):
    for run, rank in itertools.product(("a", "b"), (0, 1)):
        pair = f"{rank}\t{1 - rank}\t"
        one_sided = f"# OSC\nS\t{pair}500 bytes\t1 msgs sent\nR\t{pair}2000 bytes\t3 msgs sent\n"
        (tmp_path / f"{run}.{rank}.prof").write_text(f"E\t{pair}100 bytes\t2 msgs sent\t0,2\n{one_sided}")
    one, both = read_traffic(tmp_path / "a.0.prof", torus), read_traffic(tmp_path, torus)
    assert (one.volume_bytes.sum(), both.volume_bytes.sum()) == (200, 400)
    assert "8 one-sided messages (MPI_Put, MPI_Get) of 5,000 bytes are not in the matrix" in one.remarks[1]
    assert [remark for remark in one.remarks if "added up" in remark] == []
    assert "files of 2 runs or phases are added up: a, b" in both.remarks[2]


MPIP_TASKS = (
    "@ mpiP\n@ Version                  : {version}\n@--- MPI Time (seconds) -----\n-----\n"
    "Task    AppTime    MPITime     MPI%\n   0         10          1    10.00\n   1         10          3    30.00\n"
    "   *         20          4    20.00\n"
)
MPIP_TIMES = "@--- Aggregate Time (top twenty, descending, milliseconds) ----\n-----\n"
MPIP_SIZES = (
    "@--- Aggregate Sent Message Size (top twenty, descending, bytes) ----\n-----\n"
    "Call                 Site      Count      Total       Avrg  {share}\nSend   1   100   1e+06   1e+04  90.00\n"
)
MPIP_SITES = (
    "@--- Callsite Time statistics (all, milliseconds): 6 -----\n-----\n"
    "Name              Site Rank  Count      Max     Mean      Min   App%   MPI%\n"
    "Wait                 2    0     60     9.97     9.97     9.97   0.00   0.01\n"
    "Wait                 2    *    110     9.97     9.97     9.97   0.00   0.01\n\n"
)


@pytest.mark.parametrize(
    ("version", "times", "sites", "calls"),
    [
        ("3.1.2", "Call  Site  Time  App%  MPI%  COV\nWait  2  9.5e+03  1.2  66.1  0.32\n", MPIP_SITES, 55),
        ("3.4.1", "Call  Site  Time  App%  MPI%  COV\nWait  2  9.5e+03  1.2  66.1  0.32\n", "", None),
        ("3.5.0", "Call  Site  Time  App%  MPI%  Count\nWait  2  9.5e+03  1.2  66.1  110\n", "", 55),
        ("3.5.0", "Call  Site  Time  App%  MPI%  Count  COV\nWait  2  9.5e+03  1.2  66.1  110  0.32\n", MPIP_SITES, 55),
    ],
)
def test_mpip_of_every_version_counts_calls_by_its_heading(torus, tmp_path, version, times, sites, calls):
    path = tmp_path / "run.mpiP"
    sizes = MPIP_SIZES.format(share="Sent%" if version > "3.4" else "MPI%")
    path.write_text(MPIP_TASKS.format(version=version) + MPIP_TIMES + times + sizes + sites)
    profile = read_profile(path, torus)
    assert (profile.volume_bytes.sum(), profile.seconds) == (pytest.approx(1e6), 10)
    assert profile.communication_seconds == 2
    assert profile.calls == calls
    assert ("does not count calls" in " ".join(profile.remarks)) == (calls is None)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("3.5.0", "4.0", "a report of mpiP 2 or 3"),
        ("(seconds)", "(microseconds)", "MPI Time in seconds"),
        ("bytes)", "kilobytes)", "Aggregate Sent Message Size in bytes"),
        ("AppTime", "WallTime", "a heading with AppTime"),
        ("Total", "Volume", "a heading with Total"),
        ("1e+06   1e+04", "1e+06", "6 columns"),
    ],
)
def test_versions_units_and_headings_of_mpip_that_are_unknown_are_refused(torus, tmp_path, old, new, expected):
    path = tmp_path / "run.mpiP"
    path.write_text((MPIP_TASKS.format(version="3.5.0") + MPIP_SIZES.format(share="Sent%")).replace(old, new))
    assert f"expected {expected}" in refused(path, torus)


def test_what_a_report_of_mpip_has_apart_or_lacks_is_remarked(torus, tmp_path):
    path, tasks = tmp_path / "run.mpiP", MPIP_TASKS.format(version="3.5.0")
    sizes = MPIP_SIZES.format(share="Sent%")
    path.write_text(tasks + MPIP_SITES + "@--- End of Report -----\n")
    assert read_profile(path, torus).remarks[-1] == "this mpiP report has no messages that were sent"
    path.write_text(tasks + sizes)
    assert "may have been cut off" in read_profile(path, torus).remarks[-1]
    origin = sizes.replace("Sent Message", "RMA Origin").replace("Send ", "Put ")
    path.write_text(tasks + sizes + origin + "@--- End of Report -----\n")
    profile = read_profile(path, torus)
    assert profile.volume_bytes.sum() == pytest.approx(1e6)
    assert "one-sided messages: 1,000,000 bytes are not in the matrix" in profile.remarks[-1]


@pytest.mark.parametrize("call", ["Alltoall", "Ialltoall", "Allgather", "Allgatherv", "Iallgather", "Iallgatherv"])
def test_mpip_scales_calls_of_which_it_counts_one_block(torus, tmp_path, call):
    path = tmp_path / "run.mpiP"
    tasks = MPIP_TASKS.format(version="3.5.0").replace("   *", "   2         10          3    30.00\n   *")
    path.write_text(tasks + MPIP_SIZES.format(share="Sent%").replace("Send ", f"{call} "))
    profile = read_profile(path, torus)
    assert (profile.volume_bytes.sum(), profile.messages.sum()) == (pytest.approx(2e6), pytest.approx(200))


SITES_ALONE = "@--- Callsites: 2 ----\n-----\n ID Lev File/Address   Line Parent_Funct   MPI_Call\n"


@pytest.mark.parametrize(
    ("listed", "remark"),
    [
        (
            f"{SITES_ALONE}  1   0 a b.c   10 main   Startall\n  2   0 a.c   11 main   Send\n",
            "Startall: they are missing",
        ),
        (MPIP_SITES.replace("Wait", "Scatterv").replace("0.01", "7.00"), "Scatterv, 7 % of the time in MPI: they"),
        (
            MPIP_TIMES + "Call  Site  Time  App%  MPI%  Count  COV\nReduce_scatter  1  9.5e+03  1.2  66.1  30  0.32\n",
            "Reduce_scatter, 66 % of the time in MPI: they are missing",
        ),
    ],
)
def test_calls_of_which_mpip_has_no_bytes_are_remarked(torus, tmp_path, listed, remark):
    path = tmp_path / "run.mpiP"
    path.write_text(MPIP_TASKS.format(version="3.5.0") + listed + MPIP_SIZES.format(share="Sent%"))
    found = [each for each in read_profile(path, torus).remarks if "no bytes of" in each]
    assert len(found) == 1
    assert f"mpiP has no bytes of {remark}" in found[0]


def test_call_sites_count_the_waits_that_a_list_of_twenty_leaves_out(torus, tmp_path):
    path = tmp_path / "run.mpiP"
    times = MPIP_TIMES + "Call  Site  Time  App%  MPI%  Count  COV\nRecv  1  9.5e+03  1.2  66.1  30  0.32\n"
    path.write_text(MPIP_TASKS.format(version="3.5.0") + times + MPIP_SIZES.format(share="Sent%") + MPIP_SITES)
    assert read_profile(path, torus).calls == 55


def test_a_row_of_mpip_that_cannot_be_read_and_a_second_report_are_refused(torus, tmp_path):
    path = tmp_path / "run.mpiP"
    text = MPIP_TASKS.format(version="3.5.0") + MPIP_SIZES.format(share="Sent%")
    path.write_text(text.replace("1   100   1e+06", "112345678901e+06 1"))
    assert "a row of mpiP's Aggregate Sent Message Size: Call Site Count" in refused(path, torus)
    path.write_text(text + text)
    assert "expected one report of mpiP, actual 2" in refused(path, torus)
    path.write_text(text + MPIP_SIZES.format(share="Sent%"))
    assert "expected Aggregate Sent Message Size once, as on line" in refused(path, torus)


def test_paraprofs_summary_is_read_by_its_heading(tmp_path):
    """With -x it lacks child calls and exclusive times; another metric than time is no seconds."""
    path, fabric = tmp_path / "s.txt", make_fabric("torus", 2, 2)
    lines = (PROFILES / "cg.S.4.mpisummary.txt").read_text().splitlines()
    rows = [line for line in lines if re.match(r"\s+\d", line) and "   " in line]
    short = "".join(f"{row[:36]}{row[72 + 48 : 72 + 144]}{row[72 + 144 :]}\n" for row in rows)
    heading = (
        "\n   Calls     Inclusive TIME (Microseconds)     Bytes Transferred       Name\n" + "Min Max Mean " * 3 + "\n"
    )
    path.write_text(heading + short)
    whole = read_profile(PROFILES / "cg.S.4.mpisummary.txt", fabric, ranks=4)
    assert read_profile(path, fabric, ranks=4).seconds == whole.seconds
    assert read_profile(path, fabric, ranks=4).calls == whole.calls
    path.write_text((heading + short).replace("Inclusive TIME (Microseconds)", "Inclusive PAPI_TOT_CYC (counts)"))
    with pytest.raises(InputError, match="wall-clock time"):
        read_profile(path, fabric, ranks=4)


def test_flows_of_both_directions_and_columns_elsewhere_lose_no_bytes(torus, tmp_path):
    flows, matrix = tmp_path / "flows.csv", tmp_path / "m.csv"
    head = "ts,te,sa,da,ipkt,ibyt,opkt,obyt\n2026-11-21 02:00:00,2026-11-21 02:00:10,h0,h1,10,15000,"
    flows.write_text(head + "0,0\nSummary\n")
    assert read_traffic(flows, torus).volume_bytes.sum() == 15_000
    flows.write_text(head + "7,500\nSummary\n")
    assert "flows of one direction" in refused(flows, torus)
    matrix.write_text("source,destination,bytes,packets,messages\nh0,h1,500,9,2\n")
    assert read_traffic(matrix, torus).messages.sum() == 2
