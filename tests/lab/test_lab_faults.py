import time

import pytest

from lab_fabrics import TEMPLATES, fabric, frozen, torus
from tagloom import platforms
from tagloom.adapters.connect import connect
from tagloom.adapters.ssh import Access, Allowance
from tagloom.cli import main
from tagloom.errors import DeviceError, InputError
from tagloom.lab import process
from tagloom.lab.dataplane import Dataplane
from tagloom.lab.directory import Order
from tagloom.lab.faults import KINDS, Fault, Faults
from tagloom.lab.traffic import Traffic
from tagloom.records.switch_state import Membership, SwitchEditor
from waiting import until

MODELS = ["powerconnect-5324", "powerconnect-6224", "linux-bridge"]
BRIDGE = "ip link add name tagloom type bridge vlan_filtering 1 vlan_default_pvid 0 mcast_snooping 0 "
BRIDGE += "stp_state 0 ageing_time 30000"
# Two lines that configure, of which the second is seen in the running configuration.
LINES = {
    "powerconnect-5324": ("interface ethernet g1", "shutdown", "exit"),
    "powerconnect-6224": ("interface ethernet 1/g1", "shutdown", "exit"),
    "linux-bridge": (
        BRIDGE,
        "ip link set dev tagloom up",
    ),
}


class Bench:
    """A rack of one switch of each family, each cabled to the next, and logins to it."""

    def __init__(self, directory):
        self.directory = directory
        made = fabric(3, [(0, 1, 1, 1), (1, 2, 2, 2)], models=MODELS)
        self.ports = process.up(Order(made, TEMPLATES), directory).ports

    def login(self, number, **how):
        settings = {"host": "127.0.0.1", "port": self.ports[f"s{number}"], "user": "lab", "password": "lab"}
        settings |= {"known_hosts": str(self.directory / "known_hosts"), "fast_cli": True, "answer_seconds": 1.0}
        return connect(f"s{number}", platforms.load(MODELS[number]), Access(**settings | how))

    def type(self, number, *lines, **how):
        with self.login(number, **how) as connection:
            try:
                connection.send(lines)
            finally:
                self.sent = list(connection.sent)

    def shut(self, number):
        """Tell whether the second line was done."""
        if MODELS[number] == "linux-bridge":
            return '"tagloom"' in process.configurations(self.directory)["s2"]
        return "shutdown" in process.configurations(self.directory)[f"s{number}"]


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    made = Bench(tmp_path_factory.mktemp("faults"))
    yield made
    process.down(made.directory)


@pytest.fixture
def bench(running):
    process.mend(running.directory)
    process.reboot(running.directory)
    return running


def at(number, kind):
    """Give the line a fault shall strike at: that of the change of state we look for."""
    return {"at": 1 if MODELS[number] == "linux-bridge" and kind else 2}


@pytest.mark.parametrize("number", range(3), ids=MODELS)
@pytest.mark.parametrize(
    ("kind", "raised", "done"),
    [
        ("drop-before", "session was dropped", False),
        ("drop-inside", "session was dropped", False),
        ("drop-after", "session was dropped", True),
        ("reject", "port|ERROR|not permitted|parameter", False),
        ("ignore", None, False),
        ("late", "no answer in 1 s", True),
        ("slow", "no answer in 1 s", False),
    ],
)
def test_a_line_meets_its_fault_once(bench, number, kind, raised, done):
    process.fault(
        bench.directory, f"s{number}", kind, **at(number, kind), lasts=60.0 if kind in ("slow", "late") else 0.0
    )
    if raised is None:
        bench.type(number, *LINES[MODELS[number]][: 1 if number == 2 else None])
    else:
        with pytest.raises(DeviceError, match=raised):
            bench.type(number, *LINES[MODELS[number]])
    assert bench.shut(number) is done
    (struck,) = process.faults(bench.directory)["struck"][-1:]
    assert (struck["switch"], struck["kind"]) == (f"s{number}", kind)
    if not bench.shut(number):
        bench.type(number, *LINES[MODELS[number]])
    assert bench.shut(number)


@pytest.mark.parametrize("number", range(2), ids=MODELS[:2])
def test_a_lost_echo_and_garbled_output_leave_the_line_done(bench, number):
    for kind in ("no-echo", "garble"):
        process.reboot(bench.directory)
        process.fault(bench.directory, f"s{number}", kind, at=2, seed=3)
        with pytest.raises(DeviceError):
            bench.type(number, *LINES[MODELS[number]])
        assert bench.shut(number)


def test_chance_repeats_itself():
    for seed in range(20):
        fault = Fault("garble", seed=seed)
        assert fault.garbled("console(config)# shutdown") == Fault("late", seed=seed).garbled(
            "console(config)# shutdown"
        )
        assert 0 <= fault.cut("shutdown") == Fault("reject", seed=seed).cut("shutdown") < len("shutdown")
    assert len({Fault("garble", seed=seed).cut("switchport general pvid 100") for seed in range(20)}) > 5


def test_lines_are_counted_by_pattern_or_where_they_configure():
    faults = Faults()
    second, saved = Fault.of({"kind": "reject", "at": 2}), Fault.of({"kind": "drop-after", "line": "^copy"})
    faults.arm(second)
    faults.arm(saved)
    typed = [
        ("show version", False),
        ("configure", False),
        ("vlan database", True),
        ("vlan 10", True),
        ("copy a b", False),
    ]
    assert [faults.due(line, configures=inside) for line, inside in typed] == [None, None, None, second, saved]
    assert faults.waiting == ()


def test_two_faults_at_one_line_strike_one_after_the_other():
    faults = Faults()
    one, two = Fault("reject", at=1), Fault("ignore", at=1)
    faults.arm(one)
    faults.arm(two)
    assert [faults.due("vlan 10", configures=True) for _ in range(3)] == [one, two, None]


def test_orders_that_make_no_sense_are_findings_all_at_once():
    with pytest.raises(InputError) as caught:
        Fault.of({"kind": "melt", "at": -1, "line": "(", "after": "soon", "often": 3, "port": "g1"})
    assert [f.where for f in caught.value.findings] == [
        f"fault.{name}" for name in ("after", "at", "kind", "line", "often", "port")
    ]
    with pytest.raises(InputError, match="a port for a cable"):
        Fault.of({"kind": "cable"})


def test_a_held_line_goes_on_when_faults_are_mended(bench):
    process.fault(bench.directory, "s0", "slow", at=2, lasts=60.0)
    with bench.login(0, answer_seconds=20.0) as connection:
        connection._write("configure\ninterface ethernet g1\nshutdown\n", "configure")
        until(lambda: process.faults(bench.directory)["struck"])
        assert not bench.shut(0)
        process.mend(bench.directory)
        allowance = Allowance(60.0, 10_000)
        connection._until_echo("shutdown", allowance)
        connection._until(connection._prompt, "shutdown", allowance)
    assert bench.shut(0)


def test_a_switch_that_reboots_is_away_and_comes_back_as_it_was_saved(bench):
    process.fault(bench.directory, "s0", "reboot", at=2, lasts=600.0)
    with pytest.raises(DeviceError, match="session was dropped"):
        bench.type(0, *LINES[MODELS[0]])
    with pytest.raises(DeviceError):
        bench.login(0, login_seconds=2.0).__enter__()
    assert process.faults(bench.directory)["in_effect"]["s0"] == ["reboot"]
    assert process.ping(bench.directory, "h0", "h1")["lost"] == 1
    process.mend(bench.directory, "s0")
    until(lambda: not process.status(bench.directory)["switches"]["s0"]["down"])
    assert not bench.shut(0)
    assert process.ping(bench.directory, "h0", "h1")["lost"] == 0
    bench.type(0, *LINES[MODELS[0]])
    assert bench.shut(0)


def test_logins_are_refused_and_the_database_locked_as_long_as_it_was_said(bench):
    process.fault(bench.directory, "s0", "refuse-login")
    process.fault(bench.directory, "s1", "lock", lasts=600.0)
    with pytest.raises(DeviceError, match="refused for user"):
        bench.type(0, *LINES[MODELS[0]])
    with pytest.raises(DeviceError, match="locked by another"):
        bench.type(1, *LINES[MODELS[1]])
    process.mend(bench.directory, "s1")
    process.fault(bench.directory, "s1", "lock", lasts=0.1)
    until(lambda: not process.faults(bench.directory)["in_effect"].get("s1"))
    bench.type(1, *LINES[MODELS[1]])
    process.mend(bench.directory, "s0")
    bench.type(0, *LINES[MODELS[0]])
    status = process.status(bench.directory)["switches"]["s0"]
    assert status["logins"] > 1
    assert status["most_sessions"] == 1


def test_a_pulled_cable_takes_link_from_both_ends_until_it_is_plugged_again(bench):
    process.fault(bench.directory, "s0", "cable", port="g1")
    assert process.faults(bench.directory)["in_effect"] == {"s0": ["cable g1"], "s1": ["cable 1/g1"], "s2": []}
    assert process.ping(bench.directory, "h0", "h1")["lost"] == 1
    process.mend(bench.directory, "s1")
    assert process.ping(bench.directory, "h0", "h1")["lost"] == 0
    with pytest.raises(InputError, match="with a cable"):
        process.fault(bench.directory, "s0", "cable", port="g7")


def test_the_command_line_orders_faults_lists_and_mends_them(bench, capsys):
    where = ("--dir", str(bench.directory))
    assert main(["lab", "fault", "s0", "reboot", "--at", "7", "--for", "20", *where]) == 0
    assert main(["lab", "fault", "s1", "lock", *where]) == 0
    shown = capsys.readouterr().out
    assert "waits     s0: reboot at line 7 of those that configure" in shown
    assert "now       s1: lock" in shown
    assert main(["lab", "mend", *where]) == 0
    capsys.readouterr()
    assert main(["lab", "fault", *where]) == 0
    assert "now" not in capsys.readouterr().out
    assert main(["lab", "fault", "s0", "melt", *where]) == 2
    assert "expected one of drop-before" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["lab", "fault", "--help"])
    told = capsys.readouterr().out
    assert [kind for kind in KINDS if f"  {kind} " not in told] == []


# --- traffic ---------------------------------------------------------------------------------------------------------


def ring():
    """Give a ring of four whose VLAN 10 is the tree s0 - s1 - s2 - s3, with static entries for every host."""
    made = fabric(4, [(i, 1, (i + 1) % 4, 2) for i in range(4)])
    editors = {}
    for s in range(4):
        editor = SwitchEditor.blank(made.ports[s])
        editor.spanning_tree = False
        editor.create_vlan(10)
        for port, how in ((1, Membership.TAGGED), (2, Membership.TAGGED), (24, Membership.UNTAGGED)):
            if (s, port) not in ((3, 1), (0, 2)):
                editor.set_member(10, port, how)
            editor.set_member(1, port, Membership.NONE)
        editor.set_pvid(24, 10)
        for h in range(4):
            editor.set_entry(10, 0x0200_0000_0000 + h, [24 if h == s else 1 if h > s else 2])
        editors[f"s{s}"] = editor
    return made, editors


def test_a_good_fabric_loses_duplicates_and_floods_nothing():
    made, editors = ring()
    traffic = Traffic(Dataplane(made, frozen(editors)), time.monotonic)
    for _ in range(5):
        traffic.landed("nothing")
    traffic.stop()
    page = traffic.report()
    assert page["frames"] > 5 * 16
    assert [page[w] for w in ("lost", "lost_to_faults", "duplicated", "flooded", "overheard", "storms")] == [0] * 6


def test_frames_under_way_find_what_a_line_has_changed():
    """Take away a cable's VLAN behind a frame: only those on the way to it are lost, however short the gap."""
    made, editors = ring()
    plane = Dataplane(made, frozen(editors))
    traffic = Traffic(plane, time.monotonic, seed=1)
    editors["s2"].set_member(10, 2, Membership.NONE)
    plane.change("s2", editors["s2"].freeze())
    traffic._flows = []  # nobody sends into the gap
    traffic.landed("s2 switchport general allowed vlan remove 10")
    editors["s2"].set_member(10, 2, Membership.TAGGED)
    plane.change("s2", editors["s2"].freeze())
    traffic.stop()
    page = traffic.report()
    assert page["lost"] > 0
    assert {w["what"] for w in page["witnesses"]} == {"lost"}
    assert all("s2" in w["after"] for w in page["witnesses"])


def test_the_time_is_counted_for_which_each_pair_is_cut():
    made, editors = ring()
    plane, at = Dataplane(made, frozen(editors)), {"now": 0.0}
    traffic = Traffic(plane, lambda: at["now"], seed=1)
    steps = [(1.0, Membership.NONE), (3.5, Membership.TAGGED), (5.0, Membership.TAGGED), (9.0, Membership.NONE)]
    for seconds, how in steps:
        at["now"] = seconds
        editors["s2"].set_member(10, 2, how)
        plane.change("s2", editors["s2"].freeze())
        traffic.landed("s2 a line")
        traffic.round()
    at["now"] = 10.0
    traffic.stop()
    at["now"] = 60.0  # nobody has sent since
    page = traffic.report()
    lost = {tuple(pair) for what in page["unreached"].values() for pair in what}
    assert lost
    assert {(a, b): seconds for a, b, seconds in page["cut_seconds"]} == dict.fromkeys(lost, 2.5)


def test_a_second_copy_a_flood_and_a_storm_are_seen():
    made, editors = ring()
    plane = Dataplane(made, frozen(editors))
    traffic = Traffic(plane, time.monotonic)
    editors["s1"].set_entry(10, 0x0200_0000_0003, [])
    plane.change("s1", editors["s1"].freeze())
    traffic.landed("s1 no bridge address")
    assert (traffic.report()["flooded"] > 0, traffic.report()["lost"], traffic.report()["overheard"] > 0) == (
        True,
        0,
        True,
    )
    for switch, port in (("s3", 1), ("s0", 2)):
        editors[switch].set_member(10, port, Membership.TAGGED)
        plane.change(switch, editors[switch].freeze())
    traffic.landed("s0 switchport general allowed vlan add 10 tagged")
    page = traffic.report()
    assert "still circulates" in page["storm"]
    assert (page["running"], page["storms"]) == (False, 1)


def test_losses_to_a_fault_are_told_from_others():
    made, editors = ring()
    plane = Dataplane(made, frozen(editors))
    traffic = Traffic(plane, time.monotonic)
    plane.break_off({}, {(1, 1): "cable s1:g1", (2, 2): "cable s1:g1"})
    traffic.landed("a fault")
    page = traffic.report()
    assert (page["lost"], list(page["by_fault"])) == (0, ["cable s1:g1"])
    assert page["lost_to_faults"] >= 8 + 8  # four hosts beyond it for unicasts both ways, and for broadcasts
    beyond = [[a, b] for a in ("h0", "h1") for b in ("h2", "h3")]
    assert page["unreached"] == dict.fromkeys(("frames", "broadcasts"), sorted(beyond + [[b, a] for a, b in beyond]))
    editors["s3"].set_entry(10, 0x0200_0000_0003, [2])  # back where it came from: nothing to do with the cable
    plane.change("s3", editors["s3"].freeze())
    traffic.landed("s3 bridge address")
    assert {(w["from"], w["to"]) for w in traffic.report()["witnesses"]} <= {("h2", "h3"), ("h0", "h3"), ("h1", "h3")}
    assert traffic.report()["lost"] > 0


def test_a_cable_that_loses_frames_one_way_loses_no_others():
    made, editors = ring()
    plane = Dataplane(made, frozen(editors))
    plane.break_off({}, {}, {(1, 1): "one-way s1:g1"})
    lost = set(plane.ping_all().lost)
    assert lost
    assert {(b, a) for a, b in lost} & lost == set()
    assert plane.sent["s1", 1] > 0
    assert plane.received["s2", 2] == 0
    plane.break_off({}, {})
    assert plane.ping_all().lost == ()


def test_what_a_rebooting_switch_loses_is_its_own():
    made, editors = ring()
    plane = Dataplane(made, frozen(editors))
    traffic = Traffic(plane, time.monotonic)
    plane.break_off({1: "reboot s1"}, {})
    traffic.landed("a fault")
    before = traffic.report()
    assert (before["lost"], list(before["by_fault"])) == (0, ["reboot s1"])
    plane.break_off({}, {})
    plane.change("s1", SwitchEditor.blank(made.ports[1]).freeze())  # it had saved nothing
    traffic.landed("s1 up again")
    assert traffic.report()["lost"] > 0


@pytest.fixture
def square(tmp_path):
    """Give the inventory of a rack of four, at the factory: one tree of VLAN 1."""
    process.up(Order(torus(2, 2), TEMPLATES), tmp_path)
    yield tmp_path
    process.down(tmp_path)


def test_hosts_send_without_any_line_landing(square):
    first = process.traffic(square, "start")["frames"]
    until(lambda: process.traffic(square, "report")["frames"] > 2 * first)
    page = process.traffic(square, "stop")
    assert page["frames"] > 2 * first
    assert (page["lost"], page["storms"]) == (0, 0)


def test_a_rack_counts_frames_while_lines_land_over_ssh(square, capsys):
    where = ("--dir", str(square))
    assert main(["lab", "traffic", "start", *where]) == 0
    known = Access(
        "127.0.0.1", process.read_info(square).ports["s0"], "lab", "lab", host_key_checking=False, fast_cli=True
    )
    with connect("s0", platforms.load(MODELS[0]), known) as connection:
        connection.send(("interface ethernet g24", "shutdown", "exit"))  # that of h0
    capsys.readouterr()
    assert main(["lab", "traffic", "report", *where]) == 1
    shown = capsys.readouterr().out
    assert "lost: h0 -> h1 h1, after s0 shutdown" in shown
    page = process.traffic(square, "stop")
    assert page["lost"] > 0 == page["lost_to_faults"]
    assert {w["after"] for w in page["witnesses"] if w["what"] == "lost"} <= {"s0 shutdown", "s0 exit"}
    assert not page["running"]
    assert process.traffic(square, "report")["frames"] == page["frames"]
