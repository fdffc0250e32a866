"""Ping-pong: NetPIPE's sizes and repeats, both ends as real processes, and every way a run may end early."""

import csv
import itertools
import json
import os
import signal
import sqlite3
import subprocess
import sys
from array import array

import pytest

from tagloom.errors import InputError
from tagloom.measure import ends, np_out, peer, pingpong, sessions, sizes

PLAN = ["--min-bytes", "--max-bytes", "--trials", "--target"]
QUICK = ("--target", "0.002", "--trials", "2")
# What NPtcp 3.7.2 printed up to 195 bytes.
NPTCP_SIZES = [1, 2, 3, 4, 6, 8, 12, 13, 16, 19, 21, 24, 27, 29, 32, 35, 45, 48, 51, 61, 64, 67, 93, 96, 99]
NPTCP_SIZES += [125, 128, 131, 189, 192, 195]
NPTCP_OUT = "       1 1.051194   0.00000726\n       2 1.527902   0.00000999\n       3 3.183910   0.00000719\n"


class VirtualWire:
    """A wire in virtual time: `latency` seconds and `rate_bps`; also the clocks of its run."""

    def __init__(self, latency=10e-6, rate_bps=1e9, dies_at=0, slips_at=0, loses=()):
        self.latency, self.rate_bps, self.now, self.slip = latency, rate_bps, 0.0, 0.0
        self.dies_at, self.slips_at, self.loses = dies_at, slips_at, set(loses)
        self.bits, self.asked, self.slept = 0, [], 0.0
        self.clocks = pingpong.Clocks(lambda: self.now, lambda: 1e9 + self.now + self.slip, self.sleep)

    def sleep(self, seconds):
        self.now += seconds
        self.slept += seconds

    def trial(self, size, repeats):
        self.asked.append((size, repeats))
        if size == self.dies_at:
            raise ConnectionResetError("the peer closed the connection")
        if len(self.asked) in self.loses:
            raise pingpong.SilenceError("a datagram was lost")
        if size == self.slips_at:
            self.slip = 3.0
        took = 2 * repeats * (self.latency + 8 * size / self.rate_bps)
        self.now += took
        self.bits += 16 * size * repeats
        return round(took * 1e9)

    def stamped(self, size, repeats):
        each = self.trial(size, 1)
        return array("q", [each] * repeats)

    def content(self, _size, _seed):
        return True

    def run(self, **plan):
        options = {"max_bytes": 96, "trials": 3} | plan
        return pingpong.run(self, "tcp", "virtual", pingpong.Plan(**options), self.clocks)


def test_the_sizes_are_those_of_nptcp():
    assert list(sizes.sizes(1, 192)) == NPTCP_SIZES
    assert list(sizes.sizes(1, 131072))[-3:] == [131069, 131072, 131075]
    assert len(list(sizes.sizes(1, 131072))) == 88


def test_a_run_finds_latency_and_bandwidth_and_repeats_by_the_target():
    wire = VirtualWire()
    run = wire.run(target_seconds=0.5, max_bytes=1 << 16, percentiles=False)
    assert run.complete
    for before, point in itertools.pairwise(run.points):
        true = wire.latency + 8 * point.bytes / wire.rate_bps
        assert point.seconds == pytest.approx(true, rel=1e-6)
        assert point.bits_per_second == pytest.approx(8 * point.bytes / true, rel=1e-6)
        assert point.repeats == max(3, int(0.5 * before.bytes / (before.seconds * point.bytes)))
        assert len(point.trials_seconds) == 3


@pytest.mark.parametrize(
    ("wire", "plan", "says"),
    [
        ({"dies_at": 48}, {}, "the peer is gone"),
        ({"slips_at": 48}, {}, "the wall clock was set by +3.000 s"),
        ({}, {"target_seconds": 1.0, "time_limit_seconds": 20}, "the time limit of 20 s"),
        ({"latency": 0.9, "rate_bps": 1e3}, {"time_limit_seconds": 1e9}, "takes more than 1 s"),
        ({"loses": range(20, 60)}, {}, "in a row lost a datagram"),
    ],
    ids=["dies", "clock", "limit", "slow", "loses"],
)
def test_whatever_ends_a_run_early_leaves_what_there_is_and_says_so(wire, plan, says):
    run = VirtualWire(**wire).run(**plan)
    assert not run.complete
    assert says in run.why
    assert [p.bytes for p in run.points] == NPTCP_SIZES[: len(run.points)]
    assert 0 < len(run.points) < len(list(sizes.sizes(1, 96)))


def test_a_lost_datagram_costs_a_trial_and_is_counted():
    run = VirtualWire(loses=(9, 10)).run()
    assert run.complete
    assert sum(p.lost for p in run.points) == 2
    assert {len(p.trials_seconds) for p in run.points} == {3}


def test_the_mean_rate_of_a_run_stays_below_its_bound():
    free, held = VirtualWire(), VirtualWire()
    assert free.run(max_bytes=1 << 15).complete
    assert free.bits / free.now > 2e8
    assert held.run(max_bytes=1 << 15, max_rate_bps=1e8, time_limit_seconds=1e6).complete
    burst = 16 * 3 * (1 << 15)
    assert held.bits / held.now <= 1e8 * (1 + burst / held.bits)
    assert held.slept > 0


def test_np_out_is_read_and_written_as_nptcp_does():
    points = np_out.parse_np_out(NPTCP_OUT)
    assert [(p.bytes, p.seconds) for p in points] == [(1, 7.26e-6), (2, 9.99e-6), (3, 7.19e-6)]
    again = np_out.format_np_out(points)
    assert [line.split()[::2] for line in again.splitlines()] == [line.split()[::2] for line in NPTCP_OUT.splitlines()]
    for ours, theirs in zip(again.splitlines(), NPTCP_OUT.splitlines(), strict=True):
        assert float(ours.split()[1]) == pytest.approx(float(theirs.split()[1]), rel=1e-3)  # seconds are rounded
    with pytest.raises(InputError) as error:
        np_out.parse_np_out("1 0.9094 0.00000839\nx\n1 8.0 0.0\n1 500.0 0.00000839\n")
    assert [f.where for f in error.value.findings] == ["np.out:2", "np.out:3", "np.out:4"]
    decimal = 64 * 8 / 7.1e-4 / 1e6  # decimal Mb/s, which NetPIPE never writes
    with pytest.raises(InputError, match=r"np.out:1"):
        np_out.parse_np_out(f"64 {decimal} 0.00071")
    with pytest.raises(InputError, match=r"np.out:1"):
        np_out.parse_np_out(f"{'9' * 400} 1.0 0.00071")


@pytest.mark.parametrize("protocol", ["tcp", "udp"])
@pytest.mark.parametrize("family", [(), ("-6",)], ids=["ipv4", "ipv6"])
def test_two_processes_measure_on_loopback(answer, tmp_path, protocol, family):
    files = {name: tmp_path / name for name in ("np.out", "a.csv", "kept.db")}
    words = ("--np-out", files["np.out"], "--csv", files["a.csv"], "--keep", files["kept.db"], "--fabric", "desk")
    status, page = answer(
        "measure", "pingpong", "--local", "--max-bytes", 48, *QUICK, "--protocol", protocol, *family, *words
    )
    assert (status, page["complete"], page["why"]) == (0, True, "")
    assert [p["bytes"] for p in page["points"]] == list(sizes.sizes(1, 48))
    for p in page["points"]:
        assert p["content"] is True
        assert p["bits_per_second"] == pytest.approx(8 * p["bytes"] / p["seconds"])
        assert p["netpipe_mbps"] == pytest.approx(p["bits_per_second"] / 2**20)
        assert 0 < p["seconds"] <= p["mean_seconds"]
        assert 0 < p["percentiles_seconds"]["50"] <= p["percentiles_seconds"]["99"] <= p["percentiles_seconds"]["100"]
        assert p["began_seconds"] < p["ended_seconds"]
    assert page["clock"]["uncertainty_seconds"] < 1
    assert abs(page["clock"]["offset_seconds"]) <= page["clock"]["uncertainty_seconds"]  # one clock, really
    read = np_out.parse_np_out(files["np.out"].read_text())
    assert [p.bytes for p in read] == [p["bytes"] for p in page["points"]]
    rows = list(csv.DictReader(files["a.csv"].read_text().splitlines()))
    assert [float(r["seconds"]) for r in rows] == [p["seconds"] for p in page["points"]]
    with sqlite3.connect(files["kept.db"]) as store:
        kept = store.execute(
            'SELECT kind, fabric, parameters, quantity, value, unit, "when" FROM measurement'
        ).fetchall()
    assert len(kept) == 2 * len(page["points"])
    first = {row[3]: row for row in kept[:2]}
    assert first["seconds"][:2] == ("pingpong", "desk")
    assert json.loads(first["bandwidth"][2])["bytes"] == 1
    assert first["bandwidth"][4:] == (page["points"][0]["bits_per_second"], "bit/s", page["began_wall_seconds"])


@pytest.fixture
def near():
    """Give a listening side that is a process of its own."""
    with ends.Listening("near", [*ends.HERE, *sessions.serving_words("127.0.0.1:0")]) as listening:
        yield listening


def test_a_peer_that_is_killed_leaves_what_was_measured(near):
    with peer.Peer(near.place, peer.LOOPBACK) as far:
        far.open("tcp")

        def kill(done, _of):
            if done == 5:
                near._process.send_signal(signal.SIGKILL)

        plan = pingpong.Plan(max_bytes=96, target_seconds=0.001, trials=2)
        run = pingpong.run(far, "tcp", far.name, plan, pingpong.Clocks(), kill)
    assert (len(run.points), run.complete) == (5, False)
    assert "the peer is gone" in run.why


def test_a_command_whose_peer_dies_answers_with_what_there_is(near, answer, monkeypatch):
    real = pingpong._point
    sizes_seen = []

    def point(exchange, size, *rest):  # the peer dies while the fourth size is measured
        sizes_seen.append(size)
        if len(sizes_seen) == 4:
            near._process.kill()
            near._process.wait()
        return real(exchange, size, *rest)

    monkeypatch.setattr(pingpong, "_point", point)
    place = f"{near.place[0]}:{near.place[1]}"
    status, page = answer("measure", "pingpong", "--connect", place, "--max-bytes", 96, *QUICK)
    assert (status, page["complete"], len(page["points"])) == (3, False, 3)
    assert "the peer is gone" in page["why"]


def test_bytes_that_come_otherwise_are_found(near, answer, monkeypatch):
    real = peer.pattern
    monkeypatch.setattr(peer, "pattern", lambda seed, size: real(seed, size) if size != 6 else b"\0" * 6)
    place = f"{near.place[0]}:{near.place[1]}"
    status, page = answer("measure", "pingpong", "--connect", place, "--max-bytes", 8, *QUICK)
    assert status == 1
    assert [p["bytes"] for p in page["points"] if not p["content"]] == [6]


@pytest.mark.parametrize(
    ("words", "wheres"),
    [
        (["--connect", "192.0.2.1"], ["peer"]),
        (["--connect", "2001:db8::1"], ["peer"]),
        (["--serve", "--listen", "192.0.2.1"], ["--listen"]),
        (["--local", "--network", "192.0.2.0/33"], ["--network"]),
        (["--local", "--serve"], ["measure pingpong"]),
        ([], ["measure pingpong"]),
        (["--local", "--max-bytes", "0", "--trials", "0", "--target", "nan"], PLAN),
        (["--local", "--protocol", "udp", "--max-bytes", "65507"], ["--max-bytes"]),
        (["--local", "--keep", "/dev/null/x"], ["/dev/null/x"]),
        (["--read", "/dev/null"], ["/dev/null"]),
        (["--local", "--meter", "sundial:/dev/sun"], ["--meter"]),
        (["--read", "np.out", "--meter", "rapl"], ["--meter"]),
    ],
    ids=[
        "stranger",
        "stranger6",
        "listen",
        "network",
        "two",
        "none",
        "plan",
        "datagram",
        "keep",
        "read",
        "meter",
        "beside",
    ],
)
def test_bad_words_are_findings_and_nothing_is_sent(answer, words, wheres):
    status, page = answer("measure", "pingpong", *words)
    assert status == 2
    assert [f["where"] for f in page["findings"]] == wheres


def test_nobody_listening_is_a_device_that_failed(answer):
    status, page = answer("measure", "pingpong", "--connect", "127.0.0.1:1")
    assert status == 3
    assert "refused" in page["error"]["text"]


def test_plots_are_drawn(answer, tmp_path):
    (tmp_path / "np.out").write_text(NPTCP_OUT)
    status, _ = answer("measure", "pingpong", "--read", tmp_path / "np.out", "--plot", tmp_path / "a.svg")
    assert status == 0
    assert "<svg" in (tmp_path / "a.svg").read_text()
    status, page = answer("measure", "pingpong", "--read", tmp_path / "np.out", "--plot", tmp_path / "a.xyz")
    assert (status, page["findings"][0]["where"]) == (2, "--plot")


@pytest.mark.needs("mpirun")
def test_two_ranks_of_mpi_measure():
    words = ["measure", "pingpong", "--protocol", "mpi", "--max-bytes", "16", *QUICK, "--json"]
    root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    done = subprocess.run(
        ["mpirun", "--oversubscribe", "-np", "2", sys.executable, "-m", "tagloom.cli", *words],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | root,
    )
    page = json.loads(done.stdout)
    assert page["complete"]
    assert [p["bytes"] for p in page["points"]] == list(sizes.sizes(1, 16))
    assert all(p["content"] for p in page["points"])


def test_mpi_that_is_not_there_is_said_loudly(answer, monkeypatch):
    monkeypatch.setitem(sys.modules, "mpi4py", None)
    status, page = answer("measure", "pingpong", "--protocol", "mpi")
    assert status == 2
    assert page["findings"][0]["where"] == "--protocol mpi"
