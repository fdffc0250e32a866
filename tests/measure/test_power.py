"""Meters that speak their own protocols on real wires, their lag, and what the watts mean for a message."""

import contextlib
import http.server
import itertools
import json
import os
import pty
import random
import signal
import threading
import time
import tty
from pathlib import Path

import pytest

from tagloom.adapters import meters_http, meters_ipmi, meters_powercap
from tagloom.adapters.meters import open_meter
from tagloom.cli import main
from tagloom.errors import DeviceError, InputError, PlanError
from tagloom.measure import energy, lag, power
from tagloom.measure.pingpong import Clocks
from tagloom.records.measurement import PingPong, Point, PowerTrace, Sample
from tagloom.records.snmp import Credentials
from tagloom.report.measured import scaled
from waiting import until


def opened(word, interval=0.05):
    community = Credentials(version="2c", community="watch")
    return open_meter(word, interval_seconds=interval, credentials=lambda: community, clock=time.monotonic)


# --- Watts Up? PRO on a pseudo-terminal ------------------------------------------------------------------------------


class WattsUp:
    """A meter at the far end of a pseudo-terminal: logs by its protocol once it is told to, `hertz` times a second."""

    def __init__(self, watts, hertz=20, *, unplugs=False):
        self.far, near = pty.openpty()
        tty.setraw(near)
        self.path, self.heard, self._near = os.ttyname(near), b"", near
        self._watts, self._hertz, self._over, self._unplugs = iter(watts), hertz, threading.Event(), unplugs
        self._thread = threading.Thread(target=self._work)
        self._thread.start()

    def _work(self):
        os.set_blocking(self.far, False)
        with contextlib.suppress(StopIteration, OSError):
            while not self._over.wait(1 / self._hertz):
                with contextlib.suppress(BlockingIOError):
                    self.heard += os.read(self.far, 4096)
                if b"#L,W,3,E,,1;" in self.heard:
                    os.write(self.far, next(self._watts))
        if self._unplugs:
            time.sleep(0.2)  # what was written is read before the other end is gone, or lost with it
            os.close(self.far)

    def unplug(self):
        self._over.set()
        self._thread.join()
        for end in (self.far, self._near):
            with contextlib.suppress(OSError):
                os.close(end)


def record(watts):
    return f"#d,-,18,{watts * 10:.0f},1191,97,0,_,_,_,_,_,_,_,_,_,_,_,_,_,_;\r\n".encode()


def test_a_watts_up_logs_its_watts_and_broken_records_are_passed_over():
    broken = [b"#d,-,18,99", b"9;", b"#v,-,8,0,9,1,11,200505162328,_,_,16383;", b"\xff\xfe#d,-,18,x;"]
    box = WattsUp([record(12.4), *broken, record(13.0), record(250.1)])
    try:
        meter = opened(f"wattsup:{box.path}")
        assert [meter.read().watts for _ in range(3)] == [12.4, 13.0, 250.1]
        meter.close()
        until(lambda: box.heard.startswith(b"#L,W,0;#O,W,1,3;#L,W,3,E,,1;"))
    finally:
        box.unplug()


def test_a_meter_that_is_unplugged_ends_the_run_with_what_it_gave(capsys):
    box = WattsUp([record(40 + i) for i in range(10)], unplugs=True)  # after its last record
    try:
        status = main(["measure", "power", "--meter", f"wattsup:{box.path}", "--seconds", "60", "--json"])
    finally:
        box.unplug()
    page = json.loads(capsys.readouterr().out)
    assert (status, page["complete"]) == (3, False)
    assert "Watts Up" in page["why"]
    assert [s["watts"] for s in page["samples"]] == [40.0 + i for i in range(10)]
    assert page["watts"] == pytest.approx(44.5)


@pytest.mark.parametrize("word", ["wattsup:/dev/tagloom-none", "shelly:127.0.0.1:1"])
def test_a_meter_that_is_not_there_is_a_device_that_failed(word, capsys):
    status = main(["measure", "power", "--meter", word, "--seconds", "1", "--json"])
    answer = json.loads(capsys.readouterr().out)
    assert status == 3, answer
    assert answer["failed"]


def test_a_meter_asked_by_snmp_without_a_user_or_community_is_bad_input(capsys):
    words = ["--meter", "entity:127.0.0.1:1", "--snmp", "/dev/null"]
    status = main(["measure", "power", *words, "--seconds", "1", "--json"])
    answer = json.loads(capsys.readouterr().out)
    assert status == 2, answer
    assert answer["findings"]


# --- RAPL ------------------------------------------------------------------------------------------------------------


class Tree:
    """A directory tree with the kernel's powercap layout."""

    def __init__(self, root):
        self.root, self.now = root, 100.0
        for zone, name in (("0", "package-0"), ("0:0", "core"), ("0:1", "dram"), ("1", "psys")):
            folder = root / f"intel-rapl:{zone}"
            folder.mkdir()
            (folder / "name").write_text(f"{name}\n")
            (folder / "max_energy_range_uj").write_text("262143328850\n")
            (folder / "energy_uj").write_text("1000000\n")

    def spend(self, seconds, **uj):
        self.now += seconds
        for zone, amount in uj.items():
            path = self.root / f"intel-rapl:{zone.replace('z', '').replace('_', ':')}" / "energy_uj"
            path.write_text(f"{(int(path.read_text()) + amount) % 262143328850}\n")


def test_rapl_adds_packages_and_memory_and_minds_the_wrap(tmp_path):
    tree = Tree(tmp_path)
    meter = meters_powercap.Powercap(tmp_path, 1.0, lambda: tree.now)
    tree.spend(2.0, z0=30_000_000, z0_0=10_000_000, z0_1=4_000_000, z1=90_000_000)
    sample = meter.read()
    assert (sample.at_seconds, sample.watts) == (101.0, 17.0)  # (30 + 4) J in 2 s; the core is in the package
    for _ in range(2):  # 262143.3 J a turn: the second goes over the end
        tree.spend(1.0, z0=200_000_000_000)
        assert meter.read().watts == pytest.approx(200_000.0)
    assert "EEE is invisible" in meter.sees


def test_a_machine_without_rapl_says_so(tmp_path):
    with pytest.raises(DeviceError, match="a virtual machine has none"):
        meters_powercap.Powercap(tmp_path, 1.0, time.monotonic)


# --- SNMP ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "rest", "watts"),
    [
        ("apc", "", 370.0),
        ("apc", "/4", 112.0),
        ("raritan", "", 1234.5),
        ("raritan", "/7", 61.0),
        ("entity", "", 43.0),  # 42.5 W and 500 mW; the third sensor is degrees
        ("poe", "", 42.0),
        ("oid", "/1.3.6.1.4.1.318.1.1.26.9.4.3.1.7.4*0.5", 56.0),
    ],
    ids=["apc", "apc-outlet", "raritan", "raritan-outlet", "entity", "poe", "oid"],
)
def test_pdus_and_switches_are_read_over_snmp(agent, kind, rest, watts):
    deadline = time.monotonic() + 20
    while True:  # it may still be coming up
        try:
            meter = opened(f"{kind}:{agent}{rest}")
            break
        except DeviceError:
            assert time.monotonic() < deadline
    assert meter.read().watts == pytest.approx(watts)
    meter.close()


def test_an_outlet_that_cannot_measure_says_so(agent):
    with pytest.raises(DeviceError, match="no power reading"):
        opened(f"apc:{agent}/5")


# --- IPMI, plugs, recordings -----------------------------------------------------------------------------------------

DCMI = """    Instantaneous power reading:                   212 Watts
    Minimum during sampling period:                  4 Watts
    Sampling period:                          00000001 Seconds.
    Power reading state is:                   activated"""


def test_dcmi_is_read_from_ipmitool_and_its_refusals_are_passed_on(tmp_path):
    program = tmp_path / "ipmitool"
    program.write_text(f"#!/bin/sh\necho \"$@\" >> {tmp_path}/asked\ncat <<'X'\n{DCMI}\nX\n")
    program.chmod(0o755)
    meter = meters_ipmi.Dcmi("root@bmc", 1.0, time.monotonic, str(program))
    assert meter.read().watts == 212.0
    asked = (tmp_path / "asked").read_text().splitlines()[0]
    assert asked == "-I lanplus -H bmc -U root -E dcmi power reading"
    program.write_text("#!/bin/sh\necho 'DCMI request failed because: Invalid command (c1)' >&2; exit 1\n")
    with pytest.raises(DeviceError, match="Invalid command"):
        meter.read()
    with pytest.raises(DeviceError, match="No such file"):
        meters_ipmi.Dcmi("", 1.0, time.monotonic, str(tmp_path / "none"))


PAGES = {
    "shelly2": {"/rpc/Switch.GetStatus?id=1": {"id": 1, "apower": 31.7, "voltage": 230.2}},
    "shelly1": {"/status": {"meters": [{"power": 1.0}, {"power": 17.25, "is_valid": True}]}},
    "tasmota": {"/cm?cmnd=Status%208": {"StatusSNS": {"ENERGY": {"Power": 64, "Voltage": 229}}}},
}


@contextlib.contextmanager
def plug(pages):
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            page = pages.get(self.path)
            self.send_response(200 if page is not None else 404)
            self.end_headers()
            self.wfile.write(json.dumps(page).encode())

        def log_message(self, *_):
            pass

    with http.server.HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield f"127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.mark.parametrize(("name", "watts"), [("shelly2", 31.7), ("shelly1", 17.25), ("tasmota", 64.0)])
def test_plugs_are_read_over_http(name, watts):
    kind = name.rstrip("12")
    with plug(PAGES[name]) as place:
        meter = opened(f"{kind}:{place}{'/1' if kind == 'shelly' else ''}")
        assert meter.read().watts == watts
    with pytest.raises(DeviceError):
        meter.read()


def test_a_plug_without_a_power_reading_says_so():
    with plug({"/status": {"relays": []}}) as place, pytest.raises(DeviceError, match="no power"):
        meters_http.Plug("shelly", place, 1.0, time.monotonic)


def test_a_recording_is_played_again_and_kept(tmp_path, capsys):
    (tmp_path / "a.csv").write_text("seconds,watts\n5.0,10\n5.1,12\n5.3,14\n")
    words = ["measure", "power", "--meter", f"csv:{tmp_path}/a.csv", "--seconds", "30", "--csv", f"{tmp_path}/b.csv"]
    assert main([*words, "--json"]) == 3  # the recording ends before the 30 s: marked
    page = json.loads(capsys.readouterr().out)
    assert page["why"].endswith("the recording has ended")
    assert page["joules"] == pytest.approx(0.1 * 11 + 0.2 * 13)
    assert (tmp_path / "b.csv").read_text() == "seconds,watts\n0.000000,10\n0.100000,12\n0.300000,14\n"
    (tmp_path / "a.csv").write_text("0,1\nx,2\n3\n2,nan\n0,9\n")
    with pytest.raises(InputError) as error:
        opened(f"csv:{tmp_path}/a.csv")
    assert [f.where.rpartition(":")[2] for f in error.value.findings] == ["2", "3", "4", "5"]


# --- the meter's lag -------------------------------------------------------------------------------------------------


def metered(true_lag, seed, *, mean_of=0.0, noise=6.0, seconds=90.0):
    """Sample at 1 Hz a load of 60 W over 100 W idle, `true_lag` late, with noise; give samples, switches, end."""
    chance = random.Random(seed)
    start = chance.uniform(1000, 2000)
    switched = [start + at for at in lag.modulation(seconds, seed)]
    ended = start + seconds
    on = list(itertools.pairwise([*switched, ended]))[::2]

    def load(at):
        if not mean_of:
            return float(any(a <= at < b for a, b in on))
        return sum(max(0.0, min(at, b) - max(at - mean_of, a)) for a, b in on) / mean_of

    times = [start - 5 + chance.random() + i for i in range(int(seconds) + 18)]
    samples = [Sample(t, 100 + 60 * load(t - true_lag) + chance.gauss(0, noise)) for t in times]
    return samples, switched, ended


@pytest.mark.parametrize("true_lag", [0.3, 1.7, 2.0, 4.45])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_lag_is_found_within_a_tenth_of_a_second(true_lag, seed):
    found = lag.find_lag(*metered(true_lag, seed))
    assert found.seconds == pytest.approx(true_lag, abs=0.1)
    assert found.sigma_seconds < 0.1
    assert found.correlation > 0.8


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_lag_of_a_meter_that_averages_holds_half_its_mean(seed):
    found = lag.find_lag(*metered(1.7, seed, mean_of=1.0))
    assert found.seconds == pytest.approx(2.2, abs=0.1)


def test_a_meter_that_does_not_see_the_load_has_no_lag():
    samples, switched, ended = metered(1.0, 1)
    blind = [Sample(s.at_seconds, 100 + random.Random(i).gauss(0, 1)) for i, s in enumerate(samples)]
    with pytest.raises(PlanError, match="follow the load"):
        lag.find_lag(blind, switched, ended)


def test_a_load_runs_and_stops_as_it_is_told_and_ends(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0})
    with power.Spinners() as load:
        (process,) = load._processes
        stat = Path(f"/proc/{process.pid}/stat")
        for on in (True, False):
            load.switch(on=on)
            until(lambda on=on: (stat.read_text().rpartition(")")[2].split()[0] == "T") != on)
    assert process.returncode == -signal.SIGKILL


class Still:
    """A load, and a sampler, in virtual time."""

    gone = ""

    def __init__(self):
        self.now, self.states = 50.0, []

    def sleep(self, seconds):
        self.now += seconds

    def switch(self, *, on):
        self.states.append((self.now, on))


def test_a_load_is_switched_at_random_and_is_off_at_the_end():
    still = Still()
    clocks = Clocks(lambda: still.now, lambda: still.now, still.sleep)
    switched, ended = power.modulate(still, 30.0, 1, clocks, still)
    assert switched == pytest.approx([50 + at for at in lag.modulation(30.0, 1)])
    assert (ended, still.states[-1]) == (80.0, (80.0, False))
    assert [on for _, on in still.states[:4]] == [True, False, True, False]
    gaps = [b - a for a, b in itertools.pairwise(switched)]
    assert lag.SHORTEST_SECONDS <= min(gaps) < max(gaps) <= lag.LONGEST_SECONDS


@contextlib.contextmanager
def plug_that_sees_our_load(lag_seconds, noise):
    """Answer as a Tasmota plug that feeds the processes this one starts: 60 W while one of them spins, seen late."""
    seen, ended, chance = [(0.0, False)], threading.Event(), random.Random(7)

    def ours_of(pages):
        for page in pages:
            with contextlib.suppress(OSError):
                state, parent = page.read_text().rpartition(")")[2].split()[:2]
                if int(parent) == os.getpid():
                    yield page, state

    def look():
        children = []
        for turn in itertools.count():
            if ended.wait(0.01):
                return
            if turn % 50 == 0:
                children = [page for page, _ in ours_of(Path("/proc").glob("[0-9]*/stat"))]
            now = any(state == "R" for _, state in ours_of(children))
            if now != seen[-1][1]:
                seen.append((time.monotonic(), now))

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            at = time.monotonic() - lag_seconds
            watts = 100 + 60 * [on for since, on in seen if since <= at][-1] + chance.gauss(0, noise)
            self.send_response(200)
            self.end_headers()
            self.wfile.write(json.dumps({"StatusSNS": {"ENERGY": {"Power": watts}}}).encode())

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threads = [threading.Thread(target=look), threading.Thread(target=server.serve_forever, args=(0.02,))]
        for thread in threads:
            thread.start()
        yield f"tasmota:127.0.0.1:{server.server_port}"
        ended.set()
        server.shutdown()
        for thread in threads:
            thread.join()


@pytest.mark.daily
@pytest.mark.slow
@pytest.mark.usefixtures("steady")
def test_the_command_finds_the_lag_of_a_meter_by_a_real_load(monkeypatch, capsys):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0})  # one spinning process will do
    with plug_that_sees_our_load(1.7, noise=3.0) as meter:
        words = ["measure", "power", "--meter", meter, "--interval", "0.2", "--calibrate", "20", "--seconds", "1"]
        assert main([*words, "--json"]) == 0
    page = json.loads(capsys.readouterr().out)
    # A busy machine begins the load and reads the meter some tenths late, which is no lag of the meter's.
    assert page["lag_seconds"] == pytest.approx(1.7, abs=0.6)


# --- energy ----------------------------------------------------------------------------------------------------------


def test_bandwidth_and_its_error_are_those_of_the_paper_with_eq_3_corrected():
    b, sigma = energy.bandwidth(8 * 1e6, 50, 4.0, 0.2)
    assert (b, sigma / b) == (2e8, pytest.approx(0.2 / 4.0))


def test_the_uncertainty_of_the_time_is_that_of_its_mean_and_shrinks_with_the_root_of_the_trials():
    few, many = Point(8, 1, (1.0, 2.0, 3.0)), Point(8, 1, (1.0, 2.0, 3.0) * 100)
    assert few.mean_sigma_seconds == pytest.approx(few.sigma_seconds / 3**0.5) == pytest.approx(1 / 3**0.5)
    assert many.mean_sigma_seconds == pytest.approx(few.mean_sigma_seconds / 10, rel=0.2)


def test_power_as_uncertain_as_it_is_large_has_no_most_bits_per_joule():
    assert energy.extremes(100.0, 3.0, 2.0, 2.0) == (pytest.approx(97 / 4), None)


def test_energy_of_a_size_takes_the_samples_of_its_trials_less_the_lag():
    points = tuple(
        Point(n, 10, (t, 1.1 * t), began_seconds=10.0 * i, ended_seconds=10.0 * i + 8)
        for i, (n, t) in enumerate([(1000, 1e-5), (10_000, 2e-5), (100_000, 1e-4)], start=1)
    )
    watts = {1: (50.0, 52.0), 2: (60.0, 61.0), 3: (70.0, 74.0)}
    samples = [Sample(10.0 * i + 2 + 3 * j + 2.0, w) for i, pair in watts.items() for j, w in enumerate(pair)]
    samples += [Sample(10.0 * i + 0.5, 999.0) for i in (1, 2, 3)]  # of the pause before, since they come 2 s late
    trace = PowerTrace("m", "all", tuple(sorted(samples, key=lambda s: s.at_seconds)), lag_seconds=2.0)
    run = energy.with_energy(PingPong("tcp", "x", points, 0.0), [trace])
    first = run.points[0].energy
    mean_seconds, sigma_seconds = 1.05e-5, 1e-6 / 2  # the standard deviation of the mean of 1.0 and 1.1e-5
    rate = 8000 / mean_seconds / 51.0
    assert (first.watts, first.samples) == (51.0, 2)
    assert first.bits_per_joule == pytest.approx(rate)
    relative = ((sigma_seconds / mean_seconds) ** 2 + (2**0.5 / 51.0) ** 2) ** 0.5
    assert first.bits_per_joule_sigma == pytest.approx(rate * relative)
    b, spread = rate * 51.0, sigma_seconds / mean_seconds
    assert first.bits_per_joule_least == pytest.approx(b * (1 - spread) / (51.0 + 2**0.5))
    assert first.bits_per_joule_most == pytest.approx(b * (1 + spread) / (51.0 - 2**0.5))
    assert first.joules_per_bit == pytest.approx(1 / rate)
    assert first.joules_per_bit_sigma == pytest.approx(relative / rate)
    rates = [p.energy.bits_per_joule for p in run.points]
    assert rates == sorted(rates)
    assert 0.99 < energy.correlation(run.points) < 1


def test_the_watts_of_two_meters_add_up_and_so_do_their_variances():
    point = Point(1000, 10, (1e-5, 1.1e-5), began_seconds=0.0, ended_seconds=10.0)
    near = PowerTrace("a", "one host", (Sample(3.0, 50.0), Sample(5.0, 52.0)))
    far = PowerTrace("b", "the other", (Sample(4.0, 70.0), Sample(5.0, 76.0), Sample(11.5, 999.0)), lag_seconds=1.0)
    found = energy.energy_of(point, [near, far])
    assert (found.watts, found.samples) == (124.0, 2)
    assert found.watts_sigma == pytest.approx((2.0 + 18.0) ** 0.5)
    assert energy.energy_of(point, [near, PowerTrace("b", "the other", (Sample(4.0, 70.0),))]) is None


def test_a_ping_pong_beside_a_meter_knows_its_energy(tmp_path, capsys):
    rows = "".join(f"{i / 50:.3f},{80 + i % 3}\n" for i in range(2000))
    (tmp_path / "a.csv").write_text(rows)
    words = ["measure", "pingpong", "--local", "--max-bytes", "8", "--target", "0.03", "--trials", "2", "--json"]
    meters = ["--meter", f"csv:{tmp_path}/a.csv"] * 2  # as of two hosts: each sees 80 to 82 W
    assert main([*words, *meters, "--plot", str(tmp_path / "a.svg")]) == 0
    page = json.loads(capsys.readouterr().out)
    assert [p["bytes"] for p in page["points"]] == [1, 2, 3, 4, 6, 8]
    measured = [p for p in page["points"] if p["energy"]]
    assert len(measured) >= 3  # a size after a very slow one gets few repeats, and then too few samples
    for p in measured:
        assert 160 <= p["energy"]["watts"] <= 164
        expected = 8 * p["bytes"] / p["mean_seconds"] / p["energy"]["watts"]
        assert p["energy"]["bits_per_joule"] == pytest.approx(expected)
    assert page["correlation"] > 0.5
    assert page["power"]["sees"] == page["other_power"][0]["sees"] == "what it saw when it was recorded"
    assert 0 < 2 * page["timer_seconds"] < 0.01 * page["shortest_trial_seconds"]
    drawn = (tmp_path / "a.svg").read_text()
    assert "<svg" in drawn
    shares = scaled(measured)
    assert max(shares["bandwidth"]) == max(shares["energy rate"]) == 1.0
    assert shares["difference"][0] == pytest.approx(shares["bandwidth"][0] - shares["energy rate"][0])
