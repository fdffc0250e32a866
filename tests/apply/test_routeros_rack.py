"""Real ansible-playbook and SSH through netmiko, RouterOS machines of the virtual rack: a ring under pinned."""

import shutil
from dataclasses import asdict

import pytest
import yaml

from command_line.terminal import Terminal
from tagloom.adapters.routeros import RouterOsSwitch
from tagloom.adapters.ssh import Access
from tagloom.errors import DeviceError
from tagloom.lab import process
from tagloom.lab.device import Quirks
from tagloom.lab.manners import MANNERS
from tagloom.observe.address_pages import address_page
from tagloom.platforms import load
from tagloom.render import parse_configuration
from thinned import few

pytestmark = pytest.mark.slow

CRS = load("mikrotik-crs326-24g-2s")
ALL = ["s0", "s1", "s2", "s3"]


class Ring(Terminal):
    """Hold a planned ring of four RouterOS switches and its running rack."""

    def __init__(self, home):
        super().__init__(home)
        self("new", "ring", "--dims", 4, "--model", CRS.model, "-o", "f.yml")
        self("plan", "f.yml", "--assignment", "pinned", "-o", "b")
        self("plan", "f.yml", "--assignment", "pinned", "--routing", "up-down", "--previous", "b", "-o", "c")
        self("lab", "up", "f.yml")

    def fresh(self):
        """Put every machine back to one without a bridge, and every quirk back."""
        process.quirks(self.rack, {"*": asdict(Quirks())})
        for name in ALL:
            with self.connection(name) as console:
                if "name=tagloom" in console.running_configuration():
                    console.send(["/interface bridge remove [ find name=tagloom ]"])

    def connection(self, name, **changes):
        port, known_hosts = process.read_info(self.rack).ports[name], str(self.rack / "known_hosts")
        access = {"user": "lab", "password": "lab", "known_hosts": known_hosts, "fast_cli": True} | changes
        return RouterOsSwitch(name, CRS, Access("127.0.0.1", port, **access))

    def state(self, name):
        return parse_configuration(CRS, process.configurations(self.rack)[name]).state

    def planned(self, name, build="b"):
        return parse_configuration(CRS, (self.home / build / "configs" / f"{name}.cfg").read_text()).state

    def reached(self):
        return process.ping(self.rack)["reached"]


@pytest.fixture(scope="module")
def running_ring(tmp_path_factory):
    made = Ring(tmp_path_factory.mktemp("routeros"))
    yield made
    made("lab", "down")


@pytest.fixture
def ring(running_ring):
    running_ring.fresh()
    return running_ring


def test_a_ring_is_checked_pushed_and_found_unchanged_and_other_paths_come_by_a_hitless_rollout(ring):
    assert ring.reached() == 0, "machines without a bridge forward nothing"
    shown = ring("apply", "b", "--check", "--diff=full")
    assert shown.count("+/interface bridge add name=tagloom ") == len(ALL)
    assert all(ring.state(name) != ring.planned(name) for name in ALL), "check mode sends nothing"
    page = ring.answer("apply", "b")
    assert (page["changed"], page["failed"]) == (ALL, [])
    assert not any(outcome["volatile"] for outcome in page["outcomes"]), "RouterOS keeps each line as it takes it"
    assert all(ring.state(name) == ring.planned(name) for name in ALL)
    assert ring.reached() == 12
    page = ring.answer("apply", "b")
    assert (page["changed"], page["unchanged"], page["failed"]) == ([], ALL, [])
    process.reboot(ring.rack)
    assert all(ring.state(name) == ring.planned(name) for name in ALL)

    page = ring.answer("rollout", "b", "c", "-o", "r")
    assert (page["hitless"], page["peak_lost_pairs"]) == (True, 0)
    page = ring.answer("apply", "r")
    assert page["failed"] == []
    assert ring.reached() == 12
    assert all(ring.state(name) == ring.planned(name, "r/build") for name in ALL)
    assert ring.answer("rollback")["failed"] == []
    assert all(ring.state(name) == ring.planned(name) for name in ALL)


def entries(state):
    return sorted(zip(state.entry_vlan.tolist(), state.entry_mac.tolist(), state.entry_port.tolist(), strict=True))


@pytest.mark.long
def test_a_cable_that_dies_under_pinned_is_led_around_and_paths_go_home_after_it(ring):
    """An entry that moves moves a path: the repair plans anew, and every pair it does not name goes on working."""
    ring("apply", "b", "--allow", "interrupt")
    process.fault(ring.rack, "s0", "cable", port="ether1")
    cut = 12 - ring.reached()
    assert cut > 0
    page = ring.answer("repair")
    assert (page["pairs_cut"], page["pairs_restored"]) == (cut, cut)
    assert page["failed"] == []
    assert ring.reached() == 12
    process.mend(ring.rack)
    assert ring.answer("repair", "--hold", "0s")["failed"] == []
    assert ring.reached() == 12
    for name in ALL:  # the tree of floods stays where the repair led it: under traffic it cannot change
        assert entries(ring.state(name)) == entries(ring.planned(name))


@pytest.mark.daily
def test_failures_are_told_by_line_and_the_next_push_goes_on_from_there(ring):
    process.quirks(ring.rack, {"s0": {"reject_line": "bridge host add"}, "s1": {"refuse_login": True}})
    process.quirks(ring.rack, {"s2": {"drop_after": 18}, "s3": {"ignore_line": " pvid="}})
    page = ring.answer("apply", "b", "--allow", "interrupt", expect=3)
    assert page["failed"] == ALL
    refused, locked_out, dropped, ignored = page["outcomes"]
    assert refused["error"] == "failure: not permitted"
    assert refused["command"].startswith("/interface bridge host add ")
    assert refused["sent"] == refused["commands"][: refused["commands"].index(refused["command"])]
    assert (locked_out["command"], locked_out["error"]) == ("login", "refused for user 'lab'")
    assert dropped["error"] == "the session was dropped"
    assert 0 < len(dropped["sent"]) < len(dropped["commands"])
    assert ignored["findings"][0]["where"] == "s3: ether3 pvid"
    process.quirks(ring.rack, {"*": asdict(Quirks())})
    assert ring.answer("apply", "b", "--allow", "interrupt")["failed"] == []
    assert ring.reached() == 12


def test_a_bridge_that_was_only_begun_and_a_port_on_a_bridge_of_others_are_named_and_nothing_is_sent(ring):
    with ring.connection("s0") as console:
        console.send(["/interface bridge add name=tagloom vlan-filtering=yes"])
        assert "name=tagloom" in console.running_configuration()
    page = ring.answer("apply", "b", "--limit", "s0", "--allow", "interrupt", expect=3)
    assert page["outcomes"][0]["sent"] == []
    assert "the bridge has no port" in str(page)


@pytest.mark.daily
def test_snmp_shows_what_was_pushed(ring):
    ring("apply", "b")
    assert ring.answer("observe", "--against", "b")["findings"] == []


def telnet(ring, name):
    return ["--telnet", process.console(ring.rack, name)["telnet"]]


@pytest.mark.long
def test_a_ring_out_of_its_boxes_is_brought_to_a_login_and_pushed_by_what_bootstrap_says(ring):
    """The factory's bridge holds every port: bootstrap takes those of the fabric out of it."""
    (ring.home / "new").mkdir()
    for name in ("fabric.yml", "tagloom.yml", "snmp.yml"):
        shutil.copy(ring.rack / name, ring.home / "new" / name)
    variables = yaml.safe_load((ring.rack / "group_vars/all.yml").read_text())
    variables |= {"ansible_user": "ops", "ansible_password": "first-day-9", "tagloom_known_hosts": "new/known_hosts"}
    (ring.home / "new/group_vars").mkdir()
    (ring.home / "new/group_vars/all.yml").write_text(yaml.safe_dump(variables))
    process.keep(ring.rack)
    for name in ALL:
        process.fault(ring.rack, name, "factory")
    try:
        for number, name in enumerate(ALL):
            kind = ("serial", "telnet")[number % 2]
            where = ["--switch", name, f"--{kind}", process.console(ring.rack, name)[kind]]
            ring("bootstrap", "new/fabric.yml", "--network", "127.0.0.0/8", *where)
        page = ring.answer("apply", "b", "-i", "new")
        assert (page["changed"], page["failed"]) == (ALL, [])
        assert ring.reached() == 12
        assert all(ring.state(name) == ring.planned(name) for name in ALL)
        assert "name=bridge" in process.configurations(ring.rack)["s0"], "the switch is still reached by it"

        process.fault(ring.rack, "s1", "factory")
        assert 0 < ring.reached() < 12, "the pairs that do not go over it"
        process.traffic(ring.rack, "start")
        cut = process.traffic(ring.rack, "report")["unreached"]["frames"]
        words = [*telnet(ring, "s1"), "--network", "127.0.0.0/8", "--new-key"]
        page = ring.answer("replace", "s1", "-i", "new", "--build", "b", *words, "--check")
        assert (page["factory"], page["isolated"]) == (True, {"s0": ["ether2"], "s2": ["ether1"]})
        page = ring.answer("replace", "s1", "-i", "new", "--build", "b", *words)
        seen = process.traffic(ring.rack, "report")
        process.traffic(ring.rack, "stop")
        assert (seen["unreached"]["frames"], seen["duplicated"], seen["storms"]) == (cut, 0, 0), "no pair of others"
        assert (page["over"], page["failed"], page["hitless"], page["factory"]) == ("console", [], True, True)
        assert all(ring.state(name) == ring.planned(name) for name in ALL)
        assert ring.reached() == 12

        page = ring.answer(
            "replace", "s1", "-i", "new", "--build", "b", *telnet(ring, "s1"), "--network", "127.0.0.0/8", expect=1
        )
        assert "has the key of the old one" in page["witness"]
        page = ring.answer("replace", "s1", "-i", "new", "--build", "b", expect=1)
        assert "/system reset-configuration" in ring("replace", "s1", "-i", "new", "--build", "b", expect=1)
    finally:
        process.restore(ring.rack)


@pytest.mark.parametrize("name", few([name for name, each in MANNERS.items() if each.of_shells], 1, 5))
def test_a_console_is_talked_to_whatever_it_greets_with(ring, name):
    process.manner(ring.rack, "s0", name)
    try:
        with ring.connection("s0") as console:
            assert console.running_configuration().startswith("# ")
            assert console.identity().count("board-name: CRS326-24G-2S+") == 1
            assert address_page(CRS, console.address_table()).learned == {}
            with pytest.raises(DeviceError, match="no such item"):
                console.send(["/interface bridge vlan remove [ find bridge=tagloom vlan-ids=7 ]"])
    finally:
        process.manner(ring.rack, "s0")
