"""The idle-gap probe: it finds the sleep policy of a link it knows nothing about, and says when there is none."""

import json
import random
import sqlite3

import pytest

from tagloom.lab.sleeping_link import virtual_host
from tagloom.measure import idle_gap
from tagloom.records.measurement import AWAKE, SLEPT, GapPoint
from tagloom.records.sleep import Eee
from thinned import daily

# PowerConnect 5548; a Raspberry Pi's 600 us; slow to sleep, slow to wake; no overshoot to speak of
POLICIES = [(1e-3, 182e-6, 60e-6), (600e-6, 182e-6, 16.5e-6), (2e-3, 700e-6, 300e-6), (1.5e-3, 50e-6, 120e-6)]


def probed(policy, seed=0, drift=0.0, **options):
    """Probe a virtual host; `drift` is what it answers later for every second of gap."""
    host = virtual_host(Eee(*policy), seed)

    def ask(gap, repeats):
        gaps, trips = host(gap, repeats)
        return GapPoint(tuple(gaps), tuple(t + drift * g for g, t in zip(gaps, trips, strict=True)))

    points = []
    limits = {"first": 0.3e-3, "last": 4e-3, "repeats": 40} | options
    idle_gap.probe(ask, **limits, note=lambda *_: None, into=points)
    return points


@pytest.mark.parametrize("policy", POLICIES, ids=["5548", "pi", "slow", "quick"])
@pytest.mark.parametrize("seed", daily([1, 2], 0))
def test_the_policy_is_found_within_five_percent(policy, seed):
    timeout, sleep, wake = policy
    found = idle_gap.fit_policy(probed(policy, seed))
    assert found.verdict == SLEPT
    assert found.timeout.value == pytest.approx(timeout, rel=0.05)
    assert found.overshoot.value == pytest.approx(sleep + wake, rel=0.05)
    assert found.wake.value == pytest.approx(wake, rel=0.05)
    assert found.sleep.value == pytest.approx(sleep, rel=0.05)
    assert found.timeout.low <= timeout <= found.timeout.high
    for each in (found.awake, found.timeout, found.overshoot, found.sleep, found.wake):
        assert each.low <= each.value <= each.high


def test_a_link_that_never_sleeps_is_said_to():
    assert idle_gap.fit_policy(probed((1.0, 182e-6, 60e-6))).verdict == AWAKE


def test_hosts_that_answer_later_after_longer_gaps_need_the_baseline_with_eee_off():
    slope = 0.03  # 30 us of every millisecond: as much as Tw
    baseline = probed((1.0, 0.0, 0.0), seed=5, drift=slope)
    found = idle_gap.fit_policy(probed((1e-3, 182e-6, 60e-6), seed=6, drift=slope), baseline)
    assert found.wake.value == pytest.approx(60e-6, rel=0.05)
    assert found.sleep.value == pytest.approx(182e-6, rel=0.05)


def test_without_a_baseline_it_is_said_that_hosts_may_look_like_a_link_that_sleeps(answer, tmp_path):
    words = ("measure", "idle-gap", "--emulate", "1e-3,182e-6,60e-6")
    _, alone = answer(*words)
    assert "EEE off" in alone["assumed"]
    off = tmp_path / "off.json"
    off.write_text(json.dumps(answer("measure", "idle-gap", "--emulate", "3600,0,0")[1]))
    _, beside = answer(*words, "--baseline", off)
    assert (beside["verdict"], beside["assumed"]) == (SLEPT, "")
    assert answer("measure", "idle-gap", "--emulate", "3600,0,0")[1]["assumed"] == ""


def test_gaps_that_were_not_paced_do_not_count():
    late = random.Random(3)
    points = [
        GapPoint((*p.gap_seconds[:-4], *[late.uniform(5e-3, 9e-3)] * 4), (*p.round_trip_seconds[:-4], *[8e-3] * 4))
        for p in probed((1e-3, 182e-6, 60e-6))
    ]
    assert idle_gap.fit_policy(points).wake.value == pytest.approx(60e-6, rel=0.05)


def test_the_command_writes_what_predict_reads_and_keeps_the_rows(answer, tmp_path):
    words = ("measure", "idle-gap", "--emulate")
    status, page = answer(*words, "1e-3,182e-6,60e-6", "-o", tmp_path / "eee.yml", "--keep", tmp_path / "k.db")
    assert (status, page["verdict"], page["complete"]) == (0, SLEPT, True)
    with sqlite3.connect(tmp_path / "k.db") as store:
        rows = dict(store.execute("SELECT quantity, value FROM measurement WHERE kind = 'idle-gap' AND unit = 's'"))
    assert rows["wake"] == page["wake_seconds"]["value"]
    again = answer(*words, tmp_path / "eee.yml")[1]  # the same reader as predict --eee
    assert again["wake_seconds"]["value"] == pytest.approx(60e-6, rel=0.1)
    assert answer("measure", "idle-gap", "--emulate", "3600,0,0", "-o", tmp_path / "none.yml")[0] == 2
    assert not (tmp_path / "none.yml").exists()


@pytest.mark.kernel
def test_predict_takes_the_file_the_probe_wrote(answer, tmp_path):
    assert answer("measure", "idle-gap", "--emulate", "1e-3,182e-6,60e-6", "-o", tmp_path / "eee.yml")[0] == 0
    assert answer("new", "mesh", "--dims", 2, 2, "-o", tmp_path / "f.yml")[0] == 0
    assert answer("plan", tmp_path / "f.yml", "-o", tmp_path / "b")[0] == 0
    (tmp_path / "t.csv").write_text("# seconds: 10\nsource,destination,bytes,messages\nh0,h3,1000000,2000\n")
    words = ("predict", tmp_path / "b", "--traffic", tmp_path / "t.csv", "--eee")
    (status, file), (_, given) = answer(*words, tmp_path / "eee.yml"), answer(*words, "1e-3,182e-6,60e-6")
    assert status == 0
    assert file["slowdown_percent"] == pytest.approx(given["slowdown_percent"], rel=0.05)
    inner, outer = (page["intervals"]["slowdown_percent"] for page in (given, file))
    assert outer[1] - outer[0] > inner[1] - inner[0], "the probe's own intervals widen the forecast's"
    assert given["slowdown_percent"] > 0


@pytest.mark.parametrize(
    ("words", "wheres"),
    [
        ([], ["measure idle-gap"]),
        (["--connect", "192.0.2.1"], ["peer"]),
        (["--emulate", "1,2"], ["--emulate"]),
        (["--emulate", "1e-3,182e-6,60e-6", "--shortest", "0.01", "--repeats", "1"], ["--shortest", "--repeats"]),
        (["--emulate", "1e-3,182e-6,60e-6", "--baseline", "/dev/null"], ["/dev/null"]),
    ],
    ids=["none", "stranger", "policy", "gaps", "baseline"],
)
def test_bad_words_are_findings(answer, words, wheres):
    status, page = answer("measure", "idle-gap", *words)
    assert status == 2
    assert [f["where"] for f in page["findings"]] == wheres


def test_a_peer_that_dies_leaves_the_gaps_that_were_tried(monkeypatch, answer):
    calls = []

    def dying(policy):
        host = virtual_host(policy)

        def ask(gap, repeats):
            calls.append(gap)
            if len(calls) > 12:
                raise ConnectionResetError("the peer closed the connection")
            return host(gap, repeats)

        return ask

    monkeypatch.setattr("tagloom.lab.sleeping_link.virtual_host", dying)
    status, page = answer("measure", "idle-gap", "--emulate", "1e-3,182e-6,60e-6")
    assert (status, page["complete"], len(page["gaps"])) == (3, False, 12)
    assert "the peer is gone" in page["why"]


@pytest.mark.slow
@pytest.mark.needs("root", "ethtool")
@pytest.mark.usefixtures("steady")
def test_real_frames_held_by_a_sleeping_link_show_its_policy(answer):
    """Each time is found to 1.5 ms, less than half of any difference: a busy machine lets a held frame go that late."""
    words = ("--namespaces", "--from", 0.012, "--to", 0.04, "--gaps", 12, "--repeats", 6)
    status, page = answer("measure", "idle-gap", "--emulate", "20e-3,8e-3,4e-3", *words)
    assert (status, page["verdict"]) == (0, SLEPT)
    for name, seconds in (("timeout", 20e-3), ("overshoot", 12e-3), ("sleep", 8e-3), ("wake", 4e-3)):
        assert page[f"{name}_seconds"]["value"] == pytest.approx(seconds, abs=1.5e-3), name
