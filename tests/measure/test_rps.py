"""File transfers while the link is blocked once a second, and the frames and counters they need."""

import contextlib
import socket
import sqlite3
import subprocess
import time
from pathlib import Path

import pytest

from tagloom.adapters.snmp import Snmp
from tagloom.errors import DeviceError, InputError
from tagloom.measure import ends, namespaces, pause, rps, sessions
from tagloom.records.measurement import Transfer
from tagloom.records.snmp import Credentials
from waiting import AT_MOST_SECONDS

bench = pytest.mark.needs("root", "ip", "tc", "bridge", "ethtool")


@pytest.mark.slow
@bench
@pytest.mark.usefixtures("steady")
def test_packets_are_lost_while_the_link_is_blocked_and_only_then(answer, tmp_path):
    words = ("--namespaces", "--seconds", 2, "--rate", 20e6, "--block", 0, 200, "--keep", tmp_path / "k.db")
    status, page = answer("measure", "rps", *words)
    assert (status, page["complete"]) == (0, True)
    tcp, tcp_blocked, udp, udp_blocked = page["transfers"]
    assert [t["protocol"] for t in page["transfers"]] == ["tcp", "tcp", "udp", "udp"]
    assert {t["bytes"] for t in page["transfers"]} == {5_000_000}
    assert tcp["slowdown_percent"] == 0
    assert tcp_blocked["disruptions"] >= 1  # and the stream came whole all the same, or it had not ended
    assert udp["sent_packets"] == -(-5_000_000 // rps.DATAGRAM_BYTES)
    assert udp["lost_percent"] < udp_blocked["lost_percent"]
    assert udp_blocked["lost_percent"] > udp_blocked["expected_lost_percent"] / 4
    with sqlite3.connect(tmp_path / "k.db") as store:
        assert store.execute("SELECT count(*) FROM measurement WHERE kind = 'rps'").fetchone() == (6,)


def test_repeated_transfers_count_as_their_mean():
    one = Transfer("udp", 0.01, 500, 28.0, 28, sent_packets=100, received_packets=99)
    mean = rps.mean_of([one, Transfer("udp", 0.01, 500, 29.0, 29, sent_packets=100, received_packets=96)])
    assert (mean.seconds, mean.sent_packets, mean.lost_percent) == (28.5, 200, pytest.approx(2.5))
    with pytest.raises(InputError, match="--repetitions"):
        sessions.check_files(sessions.Files(repetitions=0))


def within(made, names):
    with made:
        assert all(Path("/run/netns", name).exists() for name in names)
        raise ZeroDivisionError


@bench
def test_a_bench_is_removed_whatever_happens():
    made = namespaces.Bench(bridged=False)
    names = made.near, made.middle, made.far
    with pytest.raises(ZeroDivisionError):
        within(made, names)
    assert not any(Path("/run/netns", name).exists() for name in names)


@bench
def test_a_pause_frame_leaves_by_the_interface_it_was_meant_for():
    with namespaces.Bench(bridged=False) as made:
        with namespaces.inside(made.middle):
            heard = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
            heard.bind(("far", 3))
            heard.settimeout(5)
        with heard:
            words = ["-c", "from tagloom.measure.pause import Pauser; Pauser('eth0')(0.002)"]
            subprocess.run(ends.in_namespace(made.far, [ends.HERE[0], *words]), check=True)
            deadline = time.monotonic() + AT_MOST_SECONDS
            while not (frame := heard.recv(2048)).startswith(pause.DESTINATION):
                assert time.monotonic() < deadline
    assert (frame[12:16], len(frame)) == (bytes.fromhex("88080001"), 60)
    assert int.from_bytes(frame[16:18], "big") == round(0.002 * 10e9 / 512)  # a veth says that it is 10 Gb/s


def test_a_pause_that_one_frame_cannot_give_is_a_finding():
    assert pause.pause_frame(bytes(6), 0.0335, 1e9)[16:18] == (65430).to_bytes(2, "big")
    with pytest.raises(InputError, match=r"at most 0.03355 s"):
        pause.pause_frame(bytes(6), 0.0336, 1e9)


def test_pause_is_refused_by_a_listening_side_that_was_not_told_to(answer):
    with ends.Listening("near", [*ends.HERE, *sessions.serving_words("127.0.0.1:0")]) as near:
        place = f"{near.place[0]}:{near.place[1]}"
        words = ("--connect", place, "--protocols", "udp", "--seconds", 0.1, "--rate", 1e6, "--block", 0, 10)
        status, page = answer("measure", "rps", *words)
    assert (status, page["complete"], len(page["transfers"])) == (3, False, 1)
    assert "PAUSE frames were not allowed" in page["why"]
    assert page["transfers"][0]["received_packets"] == page["transfers"][0]["sent_packets"]


def test_what_came_is_counted_by_snmp(agent):
    with Snmp(Credentials(version="2c", community="watch")) as snmp:
        host, port = agent.split(":")
        read, count, deadline = (
            sessions.unicast_counter(snmp.ask, (host, int(port)), 1),
            0,
            time.monotonic() + AT_MOST_SECONDS,
        )
        while not count:  # it may still be coming up, and reads its counters now and then only
            assert time.monotonic() < deadline
            with contextlib.suppress(DeviceError):
                count = read()
        assert count <= int(Path("/sys/class/net/lo/statistics/rx_packets").read_text())
        with pytest.raises(DeviceError, match="no interface 999"):
            sessions.unicast_counter(snmp.ask, (host, int(port)), 999)()


@pytest.mark.parametrize(
    ("words", "wheres"),
    [
        ([], ["measure rps"]),
        (["--namespaces", "--connect", "127.0.0.1"], ["measure rps"]),
        (["--connect", "192.0.2.1"], ["peer"]),
        (["--namespaces", "--counter", "h/1"], ["--counter"]),
        (["--namespaces", "--seconds", "0", "--rate", "1", "--block", "900"], ["--seconds", "--rate", "--block"]),
    ],
    ids=["none", "both", "stranger", "counter", "files"],
)
def test_bad_words_are_findings(answer, words, wheres):
    status, page = answer("measure", "rps", *words)
    assert status == 2
    assert [f["where"] for f in page["findings"]] == wheres
