"""What counters guarantee holds for the traffic there was, is as little as they allow, and names what they lack."""

import json
import time
from contextlib import closing
from dataclasses import replace
from itertools import combinations

import networkx as nx
import numpy as np
import pytest

from fabrics import make_fabric
from tagloom import pipeline, platforms
from tagloom.adapters.history import History
from tagloom.graph import counted_loads
from tagloom.graph.counted_loads import ALL, HOSTS, NEITHER, OWN_BYTES, TOLERANCE, CountedLoads, Setting
from tagloom.graph.floods import load_with_copies
from tagloom.graph.paths import channel_load, paths_to
from tagloom.observe import counted_interval
from tagloom.read import format_fabric, read_fabric
from tagloom.read.counter_history import history_of_counters
from tagloom.records.counted import PortCounts
from tagloom.records.headroom import ESTIMATED, GUARANTEED, MEASURED, UNKNOWN
from tagloom.records.observation import CountedInterval, Counters, Observation, Rate, Rates
from tagloom.records.traffic import Traffic
from tagloom.regulate.choose import RegulateOptions
from tagloom.regulate.headroom import headroom_of
from tagloom.regulate.settings_file import read_result, with_links_off
from tagloom.report.clock import day_lines
from tagloom.report.terminal import settings_lines
from tagloom.route import own_routes
from thinned import few

pytestmark = pytest.mark.kernel

GIGABIT = 125e6
FABRICS = {
    "ring": make_fabric("ring", 4, parallel=2, hosts=2, model="powerconnect-5324"),
    "mesh": make_fabric("mesh", 3, 2, parallel=2, model="powerconnect-5324"),
    "torus": make_fabric("torus", 3, 3, model="powerconnect-5324"),
    "flooded": make_fabric("ring", 4, model="powerconnect-5324", extra="hosts: {h1: {uplink: true}}\n"),
    "flooded beside": make_fabric("ring", 3, hosts=2, model="powerconnect-5324", extra="hosts: {h0: {uplink: true}}\n"),
}


def setting(fabric, off=()):
    smaller = fabric.with_links_down(off)
    return Setting(smaller, own_routes(smaller, "auto", "fixed"))


def counted(ran, truth, *, copies=load_with_copies):
    """Return what ports count of matrices, int bytes per second, [T, H, H], over the paths that ran."""
    scale = np.repeat([link.capacity_mbps() for link in ran.fabric.links], 2) / 1000.0
    channel = np.array([copies(ran.fabric, ran.routes, each) * scale for each in truth])
    heard = np.array([counted_loads_heard(ran.fabric, each) for each in truth])
    return PortCounts(truth.sum(2), heard, channel, np.ones(len(truth), np.bool_), np.zeros(len(truth)))


def counted_loads_heard(fabric, volume):
    """Return what leaves each host's port: bytes to a host without an address come to all others."""
    lost = [h for h, host in enumerate(fabric.hosts) if host.uplink and not host.macs]
    sent = volume[:, lost].sum(axis=1)
    return np.array([
        sent.sum() - sent[h] + (0.0 if h in lost else volume[:, h].sum()) for h in range(len(fabric.hosts))
    ])  # fmt: skip


def some_traffic(fabric, chance, intervals=5):
    """Return matrices of few busy pairs and much small talk."""
    hosts = len(fabric.hosts)
    truth = chance.random((intervals, hosts, hosts)) * 4e7 * (chance.random((intervals, hosts, hosts)) < 0.3)
    truth += chance.random((intervals, hosts, hosts)) * 1e5
    truth[:, np.arange(hosts), np.arange(hosts)] = 0.0
    return truth


def links_to_turn_off(fabric, chance):
    """Return some links without which all hosts are connected."""
    off = []
    for link in chance.permutation(len(fabric.links)).tolist():
        smaller = fabric.with_links_down([*off, link])
        graph = nx.Graph([(each.a, each.b) for each in smaller.links if each.up])
        if len(graph) == len(fabric.switches) and nx.is_connected(graph) and len(off) < 3:
            off.append(link)
    return off


@pytest.mark.parametrize(("name", "seed"), few([(name, seed) for seed in range(8) for name in FABRICS], 4, 9))
def test_no_traffic_that_was_counted_loads_a_channel_more_than_the_bound(name, seed):
    """Whatever was not read, however little counts differ, and whichever hosts use which of two settings' paths."""
    chance = np.random.default_rng(seed)
    fabric = FABRICS[name]
    ran, truth = setting(fabric), some_traffic(fabric, chance)
    one, other = (setting(fabric, links_to_turn_off(fabric, chance)) for _ in range(2))
    counts = counted(ran, truth)
    unread = np.repeat(chance.random((len(truth), len(fabric.links))) < 0.3, 2, axis=1)
    shaken = [each * chance.uniform(1 - TOLERANCE / 2, 1 + TOLERANCE / 2, each.shape)
              for each in (counts.sent, counts.received, counts.channel)]  # fmt: skip
    shaken[2][unread] = np.nan
    loads = CountedLoads(ran, replace(counts, sent=shaken[0], received=shaken[1], channel=shaken[2]))
    assert (loads.fits == ALL).all()
    for then in (ran, one, other):
        real = np.array([load_with_copies(then.fabric, then.routes, each).max() for each in truth])
        for limit in (None, float(np.median(real))):
            assert (loads.busiest([then], limit) >= real * (1 - 1e-9)).all()
    both = loads.busiest([one, other])
    for t, each in enumerate(truth):
        moved = chance.random(len(fabric.hosts)) < 0.5
        mine = [each * part[:, None] for part in (moved, ~moved)]
        loaded = [load_with_copies(s.fabric, s.routes, part) for s, part in zip((one, other), mine, strict=True)]
        mixed = loaded[0] + loaded[1]
        assert both[t] >= mixed.max() * (1 - 1e-9)


@pytest.fixture
def exact(monkeypatch):
    """Let counts have no tolerance."""
    for name in ("TOLERANCE", "OWN_BYTES", "TAG_SHARE", "NEARLY", "WIDER"):
        monkeypatch.setattr(counted_loads, name, 0.0)


def crossing(then, channel):
    """Return which pairs of hosts cross a channel, walked pair by pair."""
    fabric, routes = then.fabric, then.routes
    paths = paths_to(fabric, routes, fabric.host_switch)
    return {
        (a, b)
        for a in range(len(fabric.hosts))
        for b in range(len(fabric.hosts))
        if a != b and channel in paths[routes.source_of_host[a], b].tolist()
    }


@pytest.mark.parametrize("seed", few(range(6), 2, 6))
@pytest.mark.usefixtures("exact")
def test_by_hosts_ports_alone_it_is_the_cheapest_flow_of_networkx(seed):
    """Bytes flow from senders to receivers, and cost 1 less where they cross the channel: network simplex."""
    chance = np.random.default_rng(seed)
    fabric = FABRICS["torus"]
    ran, then = setting(fabric), setting(fabric, links_to_turn_off(fabric, chance))
    truth = np.round(some_traffic(fabric, chance, 1) / 1e5)
    counts = counted(ran, truth)
    loads = CountedLoads(ran, replace(counts, channel=np.full_like(counts.channel, np.nan)))
    best = 0
    for channel in range(len(fabric.tail)):
        crossed, graph = crossing(then, channel), nx.DiGraph()
        for h in range(len(fabric.hosts)):
            graph.add_node(("out", h), demand=-int(counts.sent[0, h]))
            graph.add_node(("in", h), demand=int(counts.received[0, h]))
        for a in range(len(fabric.hosts)):
            for b in range(len(fabric.hosts)):
                if a != b:
                    graph.add_edge(("out", a), ("in", b), weight=-int((a, b) in crossed))
        best = max(best, -nx.network_simplex(graph)[0])
    assert loads.busiest([then])[0] == pytest.approx(best, rel=1e-6)


@pytest.mark.usefixtures("exact")
def test_with_links_counts_it_is_the_best_corner_of_all_matrices():
    """Four hosts have twelve entries: every basic solution of the equations is tried."""
    fabric = make_fabric("ring", 4, model="powerconnect-5324")
    ran, then = setting(fabric), setting(fabric, [0])
    truth = np.array([[[0, 9, 2, 4], [3, 0, 8, 1], [7, 2, 0, 6], [1, 5, 3, 0]]]) * 1e6
    counts = counted(ran, truth)
    pairs = [(a, b) for a in range(4) for b in range(4) if a != b]
    read = range(4, 8)  # channels of two links; of the others nothing was counted
    counts.channel[:, :4] = np.nan
    over = [crossing(ran, c) for c in read]
    ends = [[p[end] == h for p in pairs] for end in (0, 1) for h in range(4)]
    members = np.array(ends + [[p in each for p in pairs] for each in over], float)
    sums = np.concatenate([counts.sent[0], counts.received[0], counts.channel[0, read]]) / 1e6
    rank = np.linalg.matrix_rank(members)
    cost = np.array([[p in crossing(then, c) for p in pairs] for c in range(len(fabric.tail))], float)
    best, corners = 0.0, 0
    for some in map(list, combinations(range(len(pairs)), rank)):
        found, _, own, _ = np.linalg.lstsq(members[:, some], sums, rcond=None)
        if own == rank and (found > -1e-9).all() and np.allclose(members[:, some] @ found, sums):
            best, corners = max(best, float((cost[:, some] @ found).max())), corners + 1
    assert corners > 1
    assert CountedLoads(ran, counts).busiest([then])[0] == pytest.approx(best * 1e6, rel=1e-6)
    real = channel_load(then.fabric, then.routes, truth[0]).max()
    assert best * 1e6 > real


def test_a_link_that_counted_little_is_bounded_by_its_count():
    """Two hosts at either end of a link could exchange 20 MB/s each way; it counted 6."""
    fabric = make_fabric("mesh", 2, hosts=2, model="powerconnect-5324")
    ran = setting(fabric)
    counts = PortCounts(
        np.full((2, 4), 1e7), np.full((2, 4), 1e7), np.array([[6e6, 6e6], [np.nan, np.nan]]), np.ones(2, np.bool_),
        np.array([0.0, 0.01]),
    )  # fmt: skip
    least, most = CountedLoads(ran, counts).busiest([ran])
    assert least == pytest.approx(6e6 * (1 + TOLERANCE) + OWN_BYTES, rel=1e-6)
    assert most == pytest.approx(2e7 * (1 + TOLERANCE + 0.01) + 2 * OWN_BYTES, rel=1e-6)


@pytest.fixture(scope="module")
def ring():
    fabric = FABRICS["ring"]
    truth = some_traffic(fabric, np.random.default_rng(1), 3)
    return setting(fabric), setting(fabric, [0]), counted(setting(fabric), truth)


def test_within_its_limit_it_is_guaranteed_and_above_it_estimated(ring):
    ran, then, counts = ring
    loads = CountedLoads(ran, counts)
    most = loads.busiest([then]).max()
    assert headroom_of(loads, [then], None, 1.001 * most).kind == GUARANTEED
    found = headroom_of(loads, [then], None, 0.999 * most)
    assert (found.kind, found.bound, found.missing) == (ESTIMATED, pytest.approx(most), ())
    assert headroom_of(None, [then], None, 0.0).kind == MEASURED


@pytest.mark.parametrize("more", [1.0, 1.05])  # the latter is met within wider limits
def test_counts_of_other_paths_and_links_that_were_down_leave_hosts_ports(ring, more):
    ran, then, counts = ring
    counts = replace(counts, received=counts.received * more)
    alone = replace(counts, channel=np.full_like(counts.channel, np.nan))
    by_hosts = CountedLoads(ran, alone).busiest([then])
    for other in (replace(counts, channel=counts.channel[:, ::-1]), replace(counts, usual=np.zeros(3, np.bool_))):
        loads = CountedLoads(ran, other)
        assert (loads.fits == HOSTS).all()
        assert loads.busiest([then]).max() == pytest.approx(by_hosts.max())
        (note,) = headroom_of(loads, [then], None, 1e9).notes
        assert "in 3 intervals links counted" in note
    notes = headroom_of(CountedLoads(ran, alone), [then], None, 1e9).notes
    assert [each.split(" ")[:2] for each in notes] == [["if", "the"], ["8", "links"]]


def test_what_is_missing_or_contradicts_itself_is_unknown_and_named(ring, monkeypatch):
    ran, then, counts = ring
    sent = counts.sent.copy()
    sent[1] *= 3
    loads = CountedLoads(ran, replace(counts, sent=sent))
    assert loads.fits.tolist() == [ALL, NEITHER, ALL]
    found = headroom_of(loads, [then], None, 1e9)
    assert (found.kind, found.bound) == (UNKNOWN, None)
    assert "contradict one another in 1 interval" in found.missing[0]
    assert headroom_of(loads, [then], np.array([True, False, True]), 1e9).kind == GUARANTEED
    sent[1] = np.nan
    lost = CountedLoads(ran, replace(counts, sent=sent, missing=("s2 gave no rates in 1 interval",)))
    assert headroom_of(lost, [then], None, 1e9).missing == ("s2 gave no rates in 1 interval",)
    monkeypatch.setattr(counted_loads, "TERMS", 3)
    assert "16 kinds of host pairs" in headroom_of(CountedLoads(ran, counts), [then], None, 1e9).missing[0]


@pytest.mark.parametrize("counted_there", [1.0, 0.5, 0.0])
def test_a_link_whose_ends_contradict_one_another_bounds_nothing(counted_there):
    """Two hosts at either end send 40 MB/s each over the link; one end counts all of it, the other less."""
    fabric = make_fabric("mesh", 2, hosts=2, model="powerconnect-5324")
    carried = {(host.switch, host.port): (4e7, 4e7) for host in fabric.hosts}
    (link,) = fabric.links
    carried |= {(link.a, link.a_port): (8e7, 8e7), (link.b, link.b_port): (8e7 * counted_there,) * 2}
    seen = {
        switch.name: Rates(switch.name, 300.0, tuple(
            Rate(port, str(port), into * 8, out * 8, None) for (s, port), (into, out) in carried.items() if s == i
        ))
        for i, switch in enumerate(fabric.switches)
    }  # fmt: skip
    loads = CountedLoads(setting(fabric), history_of_counters(fabric, [CountedInterval(1.7e9, seen)], "UTC").counts)
    found = headroom_of(loads, [loads.ran], np.array([True, False]), GIGABIT / 2)
    assert (found.kind, found.bound > 8e7) == (ESTIMATED, True)
    assert ("two ends that counted differently" in " ".join(found.notes)) == (counted_there < 1)


def test_no_busier_than_the_busiest_was_is_decided_by_what_links_counted(ring):
    """Without --headroom; how busy links could have been by hosts' ports alone is more, and no limit."""
    ran, _, _ = ring
    truth, seconds = some_traffic(ran.fabric, np.random.default_rng(1), 1) / 4, 300.0
    counts = counted(ran, truth)
    options = RegulateOptions(time_limit_seconds=1.0)

    def headroom(counts):
        traffic = Traffic(truth[0] * seconds, np.zeros_like(truth[0]), seconds, counts=counts)
        words = "auto", "fixed", lambda *_: None, options, time.process_time
        return pipeline.regulate(ran.fabric, traffic, *words).headroom

    unread = headroom(replace(counts, channel=np.full_like(counts.channel, np.nan)))
    assert (unread.kind, unread.bound) == (UNKNOWN, None)
    assert "no link was counted" in unread.missing[0]
    busiest = counts.channel.max() * (1 + TOLERANCE) + OWN_BYTES
    for usual in (True, False):
        found = headroom(replace(counts, usual=np.array([usual])))
        assert found.kind == (GUARANTEED if found.bound <= busiest * seconds * (1 + 1e-6) else ESTIMATED)
    assert CountedLoads(ran, replace(counts, usual=np.array([False]))).busiest([ran])[0] > busiest


@pytest.mark.parametrize(("mbps", "usual"), [(1000, True), (100, False)])
def test_links_slower_than_in_the_fabric_file_had_other_paths(ring, mbps, usual):
    """As under settings that slow links: their paths are not those with all links at full speed."""
    fabric, (link, *_) = ring[0].fabric, ring[0].fabric.links
    looks = []
    for at in (1.7e9, 1.7e9 + 300):
        at_ports = {(end, port): 10**9 for each in fabric.links for end, port in
                    ((each.a, each.a_port), (each.b, each.b_port))}  # fmt: skip
        at_ports |= {(host.switch, host.port): 10**9 for host in fabric.hosts} | {(link.b, link.b_port): mbps * 10**6}
        looks.append({
            switch.name: Observation(switch.name, at, uptime_seconds=at - 1e9, ports=tuple(
                Counters(port, str(port), True, True, speed, in_octets=int(at), out_octets=int(at))
                for (end, port), speed in at_ports.items() if end == i
            ))
            for i, switch in enumerate(fabric.switches)
        })  # fmt: skip
    history = history_of_counters(fabric, [counted_interval(*looks)], "UTC")
    assert history.counts.usual.tolist() == [usual, True]  # then nothing was counted


# --- from a history file to what an operator reads -------------------------------------------------------------------

SECONDS, INTERVALS = 10_800.0, 8


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Write a fabric file and a day's history; return them and the real bytes per second, [T, H, H]."""
    home = tmp_path_factory.mktemp("site")
    (home / "fabric.yml").write_text(format_fabric(FABRICS["ring"]))
    fabric = read_fabric(home / "fabric.yml")
    ran, chance = setting(fabric), np.random.default_rng(1)
    hosts = len(fabric.hosts)
    truth = np.zeros((INTERVALS, hosts, hosts))
    for t in range(INTERVALS):
        for a, b in enumerate(chance.permutation(hosts).tolist()):
            if a != b:
                truth[t, a, b] = 35e6 * chance.uniform(0.5, 1) * (0.4 if t < 4 else 1)
    counts = counted(ran, truth)
    total = {switch.name: {} for switch in fabric.switches}
    with closing(History(home / "history.db")) as history:
        for t in range(INTERVALS + 1):
            at = 1_763_596_800.0 + SECONDS * t
            for h, host in enumerate(fabric.hosts):
                add(total, fabric.switches[host.switch].name, host.port, counts.sent, counts.received, t, h)
            for i, link in enumerate(fabric.links):
                channel = counts.channel
                add(total, fabric.switches[link.a].name, link.a_port, channel, channel, t, 2 * i + 1, 2 * i)
                add(total, fabric.switches[link.b].name, link.b_port, channel, channel, t, 2 * i, 2 * i + 1)
            name_of = platforms.load("powerconnect-5324").port_name
            history.append(fabric.name, at, {
                name: Observation(name, at, uptime_seconds=at - 1e9, ports=tuple(
                    Counters(n, name_of(n), True, True, 10**9, in_octets=a, out_octets=b)
                    for n, (a, b) in sorted(ports.items())
                ))
                for name, ports in total.items()
            })  # fmt: skip
    return home, fabric, truth


def add(total, switch, port, into, out, t, column, other=None):
    """Add an interval's octets to a port's counters, nothing at the first reading."""
    a, b = total[switch].get(port, (0, 0))
    if t:
        a += int(into[t - 1, column] * SECONDS)
        b += int(out[t - 1, column if other is None else other] * SECONDS)
    total[switch][port] = a, b


def real_shares(site, page, folder):
    """Return the share that the busiest channel really carries in each interval, under the settings in force then."""
    _, fabric, truth = site
    found = []
    for t, each in enumerate(truth):
        middle = SECONDS * (t + 0.5)
        began = [row for row in page["times"] if 3600 * int(row["at"][:2]) + 60 * int(row["at"][3:]) <= middle]
        name = (began or page["times"])[-1]["settings"]
        smaller, routes = fabric, own_routes(fabric, "auto", "fixed")
        if name != "all-on":
            smaller = with_links_off(fabric, [], folder / f"day.{name}.json")
            routes = read_result(smaller, folder / f"day.{name}.json").routes or routes
        found.append(float(channel_load(smaller, routes, each).max()) / GIGABIT)
    return found


@pytest.mark.slow
def test_a_day_of_counters_says_how_busy_a_channel_can_be_and_can_be_guaranteed(site, answer):
    """The estimate keeps half of every channel free; the traffic that there was does not."""
    home, _, _ = site
    words = "timetable", home / "fabric.yml", "--traffic", home / "history.db", "--most-settings", 2
    status, page = answer(*words, "-o", home / "out" / "day.yml")
    assert (status, page["headroom_is"]) == (0, ESTIMATED)
    (chosen,) = page["settings"]
    assert (chosen["headroom_is"], chosen["headroom_missing"]) == (ESTIMATED, [])
    real = max(real_shares(site, page, home / "out"))
    assert chosen["max_channel_share"] <= 0.5 < real <= chosen["max_channel_share_bound"] < 1.05 * real
    text = "\n".join(day_lines(page))
    assert "headroom  NOT GUARANTEED: some traffic that the counts allow makes a channel" in text
    at_most = f"(estimated; at most {int(np.ceil(100 * chosen['max_channel_share_bound']))} % with these counts)"
    assert f"busiest   settings-1: {100 * chosen['max_channel_share']:.0f} % {at_most}" in text
    kept = json.loads((home / "out" / "day.settings-1.json").read_text())
    assert kept["headroom_is"] == ESTIMATED
    assert kept["max_channel_share_bound"] == chosen["max_channel_share_bound"]
    status, page = answer(*words, "--guarantee", "-o", home / "sure" / "day.yml")
    assert (status, page["headroom_is"]) == (0, GUARANTEED)
    assert all(each["links_off"] and each["headroom_is"] == GUARANTEED for each in page["settings"])
    bound = max(each["max_channel_share_bound"] for each in page["settings"])
    assert max(real_shares(site, page, home / "sure")) <= bound <= 0.5
    assert "headroom  guaranteed: whatever traffic" in "\n".join(day_lines(page))


@pytest.mark.slow
def test_nothing_is_guaranteed_while_links_change_speed(site, answer):
    """Hosts are parked on paths of their own meanwhile, so settings that are guaranteed slow no link."""
    home, _, _ = site
    words = "timetable", home / "fabric.yml", "--traffic", home / "history.db", "--most-settings", 2, "--levels"
    _, page = answer(*words, "off,100")
    assert page["changes"]
    assert {each["links_slowed"] > 0 for each in page["settings"]} == {True, False}
    assert (page["headroom_is"], page["headroom_in_changes"]["headroom_is"]) == (UNKNOWN, UNKNOWN)
    assert "headroom  UNKNOWN: while links change speed" in "\n".join(day_lines(page))
    _, page = answer(*words, "off,100", "--guarantee")
    assert (page["headroom_is"], page["headroom_in_changes"]["headroom_is"]) == (GUARANTEED, GUARANTEED)
    assert not any(each["links_slowed"] for each in page["settings"])


def test_links_chosen_from_counters_say_so_and_can_be_refused(site, answer):
    """All eight intervals together: the counts of four links that stay on do not say what the others' pairs send."""
    home, fabric, truth = site
    words = "regulate", home / "fabric.yml", "--traffic", home / "history.db"
    status, page = answer(*words, "--headroom", "0.5", "-o", home / "half.json")
    assert status == 0
    smaller = with_links_off(fabric, [], home / "half.json")
    routes = read_result(smaller, home / "half.json").routes or own_routes(smaller, "auto", "fixed")
    real = float(channel_load(smaller, routes, truth.mean(axis=0)).max()) / GIGABIT
    assert real <= page["max_channel_share_bound"] <= 0.5
    assert page["headroom_is"] == GUARANTEED
    assert "within its limit, whatever traffic the counts allow" in " ".join(" ".join(settings_lines(page)).split())
    between = f"{1 - (page['max_channel_share'] + page['max_channel_share_bound']) / 2:.6f}"
    assert answer(*words, "--headroom", between)[1]["headroom_is"] == ESTIMATED
    status, page = answer(*words, "--headroom", between, "--guarantee")
    assert (status, page["witness"].partition(" carries ")[0]) == (1, "with some, a channel")
