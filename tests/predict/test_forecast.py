"""Whole forecasts: bandwidth, latency, energy, rollouts' interruptions, and the paper's networks beside one switch."""

from dataclasses import replace

import numpy as np
import pytest

from fabrics import ROOT, make_fabric
from tagloom.errors import InputError
from tagloom.platforms.power import fabric_watts, latency_seconds, switch_watts
from tagloom.predict.energy import Rates, energy, transition_joules
from tagloom.predict.interruption import interruption, lost_figure
from tagloom.predict.links import predict
from tagloom.predict.performance import move, performance
from tagloom.read import read_traffic
from tagloom.read.patterns import pattern
from tagloom.read.profiles import read_ranks
from tagloom.records.sleep import Eee
from tagloom.records.switch_state import SwitchEditor
from tagloom.records.traffic import Traffic
from tagloom.report.terminal import forecast_lines, forecast_payload
from tagloom.route import route

PROFILES = ROOT / "tests" / "data" / "profiles"


def ring_and_line():
    """Give a ring of four 5324s, and the same without one link: traffic that went over it takes the other way."""
    fabric = make_fabric("ring", 4, model="powerconnect-5324")
    return fabric, fabric.with_links_down({0})


def between(fabric, pairs, seconds=1.0, inside=None):
    volume = np.zeros((len(fabric.hosts),) * 2)
    for a, b, size in pairs:
        volume[a, b] = size
    return Traffic(volume, np.ceil(volume / 1000), seconds, communication_seconds=inside)


def asked(before, after, traffic, **options):
    """Forecast without sleep."""
    moved = move(before, route(before, "tree"), traffic), move(after, route(after, "tree"), traffic)
    return predict(before, after, traffic, None, moved=moved, **options)


def test_a_message_waits_2_75_us_in_every_switch_on_its_way():
    """Koibuchi et al. 2011, table 4: 2.75 us for a PowerConnect 5324."""
    fabric = make_fabric("mesh", 4, 1, model="powerconnect-5324")
    for b, switches in ((1, 2), (2, 3), (3, 4)):
        moved = move(fabric, route(fabric), between(fabric, [(0, b, 1000)]))
        assert moved.latency == pytest.approx(switches * 2.75e-6)
    known = ("powerconnect-5324", "powerconnect-6224", "powerconnect-6248", "sf-0420g")
    assert [latency_seconds(model) for model in known] == [2.75e-6, 3.85e-6, 3.85e-6, 3.42e-6]


def test_communication_grows_as_the_model_does_and_computation_stays():
    """What a profile calls communication takes as much longer as the traffic does in the model; the rest does not."""
    before = make_fabric("ring", 3, model="powerconnect-5324")
    after = before.with_links_down({next(i for i, x in enumerate(before.links) if {x.a, x.b} == {0, 1})})
    traffic = between(before, [(0, 1, 5e6), (2, 1, 5e6)], seconds=2.0, inside=0.5)
    direct, bent = (move(f, route(f, "up-down"), traffic) for f in (before, after))
    found = predict(before, after, traffic, None, moved=(direct, bent))
    assert (direct.seconds, bent.seconds) == pytest.approx((0.08, 0.08))  # the receiver's link was the narrowest before
    assert found.computation_seconds.value == 1.5
    ratio = bent.model_seconds / direct.model_seconds
    assert found.seconds_predicted.value == pytest.approx(1.5 + 0.5 * ratio)
    two = between(before, [(0, 1, 5e6), (0, 2, 5e6), (1, 0, 5e6), (2, 1, 5e6)], seconds=2.0, inside=0.5)
    slow = after.with_speeds(dict.fromkeys(range(3), 100))
    first, then = move(before, route(before, "up-down"), two), move(slow, route(slow, "up-down"), two)
    longer = predict(before, slow, two, None, moved=(first, then))
    assert then.seconds == pytest.approx(10 * 2 * 0.04)  # two flows over a tenth of the bandwidth
    expected = 1.5 + 0.5 * then.model_seconds / first.model_seconds
    assert longer.seconds_predicted.value == pytest.approx(expected)
    parts = dict(longer.causes["slow-down"])
    assert sum(parts.values()) == pytest.approx(expected - 2.0)
    assert longer.causes["slow-down"][0][0] == "less bandwidth"
    assert longer.seconds_predicted.low == 2.0
    assert longer.seconds_predicted.low < longer.seconds_predicted.value <= longer.seconds_predicted.high


def test_without_a_profile_only_what_the_network_takes_longer_counts():
    before, after = ring_and_line()
    traffic = between(before, [(0, 1, 1e6)])
    found = asked(before, after, traffic)
    ways = performance(*(move(f, route(f, "tree"), traffic) for f in (before, after)))
    longer = 1000 * (ways.latency_after.value - ways.latency_before.value)
    assert found.seconds_predicted.value == pytest.approx(1.0 + longer)
    assert found.performance.communication_after.value == pytest.approx(8e6 / 1e9)


def test_profilers_split_a_run_into_computation_and_communication():
    """TAU and paraprof saw the same run; MPI_Init and MPI_Finalize are no communication of the run."""
    tau = read_ranks(PROFILES / "cg.S.4.tau", "tau")
    summary = read_ranks(PROFILES / "cg.S.4.mpisummary.txt", "paraprof", 4)
    assert tau.communication_seconds == pytest.approx(summary.communication_seconds)
    assert tau.communication_seconds == pytest.approx(0.0658, abs=1e-4)
    assert read_ranks(PROFILES / "ft.S.4.mpiP.txt", "mpip").communication_seconds == 0.017056  # the row "Mean"


def test_the_seven_networks_rank_as_their_channels_allow():
    """Koibuchi et al. 2011, Fig. 10's networks: all-to-all on 16 hosts, relative to one ideal switch."""
    share = {}
    for name, family, dims, options in (
        ("mesh 4x2", "mesh", (4, 2), {"hosts": 2}),
        ("torus 4x2", "torus", (4, 2), {"hosts": 2, "parallel": 3}),
        ("myri-clos", "clos", (4, 4), {"hosts": 2}),
        ("mesh 4x4", "mesh", (4, 4), {}),
        ("torus 4x4", "torus", (4, 4), {}),
        ("fat tree", "fat-tree", (2, 4, 2), {"hosts": 2}),
    ):
        fabric = make_fabric(family, *dims, **options)
        moved = move(fabric, route(fabric), pattern(fabric, "pattern:all-to-all"))
        share[name] = performance(moved, moved).bandwidth_after.value
    tree = make_fabric("mesh", 4, 4)
    moved = move(tree, route(tree, "tree"), pattern(tree, "pattern:all-to-all"))
    tree_share = performance(moved, moved).bandwidth_after.value
    assert share["torus 4x4"] == pytest.approx(1.0)  # 8 of 15 flows a channel: the hosts' own links are the limit
    # 16 pairs of hosts cross the busiest channel of these: 16 x 1/15 MB against a host's 1 MB.
    for name in ("torus 4x2", "myri-clos", "mesh 4x4", "fat tree"):
        assert share[name] == pytest.approx(15 / 16), name
    assert share["mesh 4x2"] == pytest.approx(15 / 32)  # 8 hosts to 8 hosts over 2 channels
    assert tree_share < share["mesh 4x2"] < share["mesh 4x4"] < share["torus 4x4"]


def test_transitions_are_charged_there_and_back_and_say_when_they_pay():
    """Koibuchi et al. 2011, tables 2 and 6: 1.2 W at each end, 3.2 s to come up, 4.1 and 2.4 s for speeds."""
    before, after = ring_and_line()
    assert transition_joules(before, after) == pytest.approx(3.2 * 2.4)
    assert transition_joules(before, before.with_speeds({0: 100, 1: 100})) == pytest.approx(2 * (4.1 + 2.4) * 2.4)
    found = asked(before, after, between(before, [(0, 2, 1e6)]))
    assert found.energy.pays_after_seconds.value == pytest.approx(3.2)
    after_joules = found.watts_after.value * found.seconds_predicted.value + 3.2 * 2.4
    assert found.energy.joules_after.value == pytest.approx(after_joules)
    assert found.energy.joules_before.value == pytest.approx(fabric_watts(before))


def test_power_is_told_switch_by_switch_and_port_by_port():
    before, after = ring_and_line()
    rows = energy(before, after, asked(before, after, between(before, [(0, 2, 1e6)])), Rates()).switches
    assert sum(row.watts_before for row in rows) == pytest.approx(fabric_watts(before))
    assert sum(row.watts_after for row in rows) == pytest.approx(fabric_watts(after))
    s0 = rows[0]
    assert (s0.watts_before, s0.watts_after) == pytest.approx((15 + 3 * 1.2, 15 + 2 * 1.2))
    assert sorted(s0.ports.values()) == [(1.2, 0.0), (1.2, 1.2), (1.2, 1.2)]
    bound = make_fabric("mesh", 2, 1, parallel=2, lag=True, model="powerconnect-5324")
    assert [len(ports) for _, ports in switch_watts(bound)] == [3, 3]  # two cables and a host


def test_a_saving_that_slows_the_run_may_cost_more_and_says_so():
    """Saravanan et al. 2013: the hosts that run longer cost more than the links that sleep save."""
    before, _ = ring_and_line()
    after = before.with_speeds(dict.fromkeys(range(4), 10))
    traffic = between(before, [(0, 2, 50e6), (1, 3, 50e6)], inside=0.9)
    cheap, dear = (
        forecast_payload(asked(before, after, traffic, rates=Rates(0.3, 0.4, watts))) for watts in (0.0, 200.0)
    )
    assert cheap["slowdown_percent"] > 100
    assert dear["joules"] > dear["joules_before"]
    assert any("costs more than it saves" in line for line in dear["warnings"])
    said = " ".join(forecast_lines(dear))
    assert "warning" in said
    assert dear["cost_after"] == pytest.approx(0.3 * dear["joules"] / 3.6e6)
    assert dear["co2_kg_after"] == pytest.approx(0.4 * dear["joules"] / 3.6e6)
    mild = asked(before, before.with_links_down({0}), between(before, [(0, 1, 1e6)], seconds=100.0))
    even = mild.energy.break_even_host_watts.value
    at_even = [
        asked(before, before.with_links_down({0}), between(before, [(0, 1, 1e6)], seconds=100.0), rates=rates).energy
        for rates in (Rates(host_watts=0.99 * even), Rates(host_watts=1.01 * even))
    ]
    saves = [e.joules_before.value - (e.joules_after.value - e.transition_joules.value) for e in at_even]
    assert saves[0] > 0 > saves[1]


def test_every_figure_has_a_source_and_those_of_models_an_interval_around_it():
    before, after = ring_and_line()
    page = forecast_payload(asked(before, after, between(before, [(0, 1, 1e6)]), rates=Rates(0.3, 0.4, 90.0)))
    for key, source in page["sources"].items():
        assert source, key
        if key in page["intervals"]:
            low, high = page["intervals"][key]
            assert low <= page[key] + 1e-9, key
            assert high is None or page[key] <= high + 1e-9, key
    without = set(page["sources"]) - set(page["intervals"])
    assert without <= {"break_even_host_watts"}
    assert page["intervals"]["saving_percent"][0] < page["saving_percent"] < page["intervals"]["saving_percent"][1]


def test_the_answer_fits_one_screen_and_begins_with_three_numbers():
    before, _ = ring_and_line()
    after = before.with_links_down({0}).with_speeds({1: 10})
    traffic = replace(between(before, [(0, 1, 1e6), (0, 2, 9e6)], inside=0.9), remarks=("something to know",) * 30)
    moved = tuple(move(f, route(f, "tree"), traffic) for f in (before, after))
    for eee in (None, Eee(1e-3, 182e-6, 60e-6)):
        found = predict(before, after, traffic, eee, moved=moved, rates=Rates(0.3, 0.4, 200.0))
        page = {**forecast_payload(found), "interruptions": [{"pairs": 12, "seconds": 10.0, "lost_bytes": 5.0}]}
        page["causes"]["loss"] = [["wave pause: a long reason", 7.5], ["wave resume: another", 2.5]]
        lines = forecast_lines(page)
        assert [line[:9].strip() for line in lines[:4]] == ["slow-down", "loss", "saving", "warning"]
        assert len(lines) <= 24
        assert max(map(len, lines)) <= 80
        assert any(line.startswith("assumed") for line in lines)
        assert lines[-1].endswith("(--json)")


@pytest.mark.parametrize("off", [{0}, {0, 3, 5}, set()])
def test_pairs_that_take_other_paths_are_counted_however_fast_these_are(off):
    """A parallel link in place of the one that is off is another path, of as many switches."""
    before = make_fabric("torus", 3, 3, parallel=2, model="powerconnect-5324")
    after = before.with_links_down(off)
    hosts = len(before.hosts)
    traffic = between(before, [(a, b, 100.0) for a in range(hosts) for b in range(hosts) if (a - b) % 4])
    moved = tuple(move(f, route(f, "up-down"), traffic) for f in (before, after))
    first, then = (m.flows for m in moved)
    ways = [[x.channel[x.first[f] : x.first[f + 1]].tolist() for f in range(len(x))] for x in (first, then)]
    count = sum(a != b for a, b in zip(*ways, strict=True))
    assert count > 0 or not off
    page = forecast_payload(predict(before, after, traffic, None, moved=moved))
    assert (page["rerouted_pairs"], page["sending_pairs"]) == (count, len(first))
    lines = "\n".join(forecast_lines({**page, "causes": {}}))
    assert f"network   {count} of {len(first)} pairs rerouted; " in lines
    why = f"other paths of {count} of {len(first)} pairs are no slower" if off else "same paths"
    assert f"slow by   nothing: {why}{';' if off else ','} no port asleep" in lines


def test_a_rollout_interrupts_pairs_whose_hosts_are_paused_or_whose_ports_train_anew():
    fabric = make_fabric("mesh", 2, 1, hosts=2, model="powerconnect-5324")
    blank = {switch.name: SwitchEditor.blank(24).freeze() for switch in fabric.switches}
    editor = SwitchEditor.of(blank["s0"])
    editor.speed_mbps[fabric.hosts[0].port - 1] = 100
    slow = {**blank, "s0": editor.freeze()}
    traffic = between(fabric, [(0, 2, 8e6), (1, 3, 4e6)], seconds=16.0)
    waves = [("add", "nothing", 0.0), ("slow", "a host's port", 0.0), ("pause", "everyone", 2.0)]
    found = interruption(fabric, [blank, blank, slow, slow], waves, lambda _: 3.2, traffic)
    assert [name for name, *_ in found.waves] == ["slow", "pause"]
    assert found.seconds[0].tolist() == pytest.approx([0.0, 5.2, 5.2, 5.2])
    assert found.seconds[1].tolist() == pytest.approx([5.2, 0.0, 2.0, 2.0])
    # L = min(B, R T) - S: 0.5 MB a second for 3.2 and 2 s, and 0.25 MB for 2 s.
    assert found.lost_bytes[0, 2] == pytest.approx(0.5e6 * 5.2)
    assert found.lost_bytes[1, 3] == pytest.approx(0.25e6 * 2)
    figure = lost_figure(found, traffic)
    assert figure.value == pytest.approx(0.5e6 * 5.2 + 0.25e6 * 2)
    assert figure.low == pytest.approx(figure.value - 4 * 9e3)
    none = interruption(fabric, [blank, blank], [("add", "nothing", 0.0)], lambda _: 3.2, traffic)
    assert lost_figure(none, traffic).value == 0.0


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"communication_seconds": 3.0}, ["inside MPI calls"]),
        ({"seconds": 1e10}, ["another unit"]),
        ({"seconds": 1e-9, "communication_seconds": 1.0}, ["another unit", "inside MPI calls"]),
        ({"messages": np.zeros((4, 4)), "communication_seconds": 0.5}, ["n = 0"]),
        ({"seconds": None, "communication_seconds": 0.5, "messages": np.zeros((4, 4))}, ["how long", "n = 0"]),
        ({"volume_bytes": 1e14 * np.eye(4)[[1, 0, 3, 2]]}, ["another unit"]),
        ({"volume_bytes": 1e9 * np.eye(4)[[1, 0, 3, 2]]}, ["h0, sending", "h1, sending"]),
    ],
)
def test_profiles_that_cannot_be_are_findings_all_at_once(change, words):
    fabric = make_fabric("mesh", 4, 1, model="powerconnect-5324")
    good = between(fabric, [(0, 1, 1e6), (1, 0, 1e6)], inside=0.5)
    assert predict(fabric, fabric, good, None).seconds_predicted.value == 1.0
    with pytest.raises(InputError) as raised:
        predict(fabric, fabric, replace(good, **change), None)
    said = [str(finding) for finding in raised.value.findings]
    for word in words:
        assert any(word in line for line in said), said


def test_more_flows_than_are_followed_are_bounded_by_the_busiest_channel(monkeypatch):
    fabric = make_fabric("torus", 4, 4, parallel=2)
    traffic = replace(read_traffic(ROOT / "tests" / "data" / "npb" / "cg.S.16.matrix.csv", fabric), seconds=2.0)
    followed = move(fabric, route(fabric), traffic)
    monkeypatch.setattr("tagloom.predict.performance.FOLLOWED_UP_TO", 10)
    bounded = move(fabric, route(fabric), traffic)
    assert bounded.seconds == bounded.least == followed.least <= followed.seconds <= bounded.stuck
