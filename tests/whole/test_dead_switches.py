"""A dead switch is not contacted, the others are led round it; it is readmitted when it is back, or a new box is."""

import os
import re

import paramiko
import pytest

from command_line.commands import run
from command_line.terminal import Terminal
from tagloom import platforms
from tagloom.lab import process
from tagloom.read import read_fabric
from tagloom.records.switch_state import Membership
from tagloom.render import read_state
from thinned import few

pytestmark = pytest.mark.slow

OTHERS = ["s0", "s2", "s3"]
PLAN = "name: ring\nmodel: powerconnect-5324\nshape: {family: ring, dims: [4]}\n"
SILENT = {"s1": {"refuse_login": True}}
SPEAKS = {"s1": {"refuse_login": False}}


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    """Start a ring of four that runs a build, and plan one in which s1 is dead."""
    terminal = Terminal(tmp_path_factory.mktemp("dead"))
    (terminal.home / "f.yml").write_text(PLAN)
    (terminal.home / "down.yml").write_text(PLAN + "switches: {s1: {state: down}}\n")
    terminal("plan", "f.yml", "-o", "b")
    terminal("plan", "down.yml", "-o", "d", "--previous", "b")
    with terminal.lab("f.yml", ("apply", "b", "--allow", "interrupt")):
        yield terminal


@pytest.fixture
def terminal(running):
    """Return a terminal whose ring runs build b."""
    return running.fresh()


def commands(terminal):
    return process.status(terminal.rack)["switches"]["s1"]["commands"]


def test_a_switch_that_is_down_is_not_contacted_and_comes_back_into_its_place(terminal):
    process.quirks(terminal.rack, SILENT)
    typed = commands(terminal)
    page = terminal.answer("apply", "d", "--check")
    assert (page["changed"], page["failed"], page["hitless"], page["cut_off_pairs"]) == (OTHERS, [], True, 1)
    page = terminal.answer("apply", "d")
    assert (page["changed"], page["failed"], page["waves_reached"]) == (OTHERS, [], 3)
    assert (page["hitless"], page["cut_off_pairs"], page["restored_pairs"]) == (True, 1, 1)
    assert commands(terminal) == typed

    process.quirks(terminal.rack, SPEAKS)
    terminal("plan", "f.yml", "-o", "again", "--previous", "d")
    shown = " ".join(terminal("apply", "again", "--readmit", "s1", "--check").split())
    assert "reconnects all 6 disconnected host pairs; interrupts no others" in shown
    page = terminal.answer("apply", "again", "--readmit", "s1")
    assert (page["failed"], page["hitless"], page["restored_pairs"]) == ([], True, 6)
    assert terminal.answer("lab", "ping")["lost"] == 0
    assert terminal.answer("apply", "again")["changed"] == []


def test_where_a_switch_does_not_answer_the_advice_leads_to_the_end(terminal):
    process.quirks(terminal.rack, SILENT)
    page = terminal.answer("apply", "b", expect=3)
    assert (page["failed"], page["next"]) == (["s1"], "tagloom apply b --without s1")
    page = terminal.answer(*page["next"].split()[1:])
    assert (page["changed"], page["failed"], page["hitless"], page["restored_pairs"]) == (OTHERS, [], True, 1)
    assert terminal.answer("apply", "b", "--without", "s9", expect=2)["findings"][0]["where"] == "--without"


# --- a new box in the old place ---------------------------------------------------------------------------------------


def console(terminal, *words):
    return ["--telnet", process.console(terminal.rack, "s1")["telnet"], "--network", "127.0.0.0/8", *words]


def held(terminal, *names):
    texts = process.configurations(terminal.rack)
    return {name: texts[name] for name in names or texts}


def known_hosts(terminal):
    return (terminal.rack / "known_hosts").read_text().splitlines()


@pytest.mark.daily
def test_a_box_from_the_factory_takes_the_place_of_a_dead_switch_and_nobody_else_is_cut_off(terminal):
    whole, keys = held(terminal), known_hosts(terminal)
    process.fault(terminal.rack, "s1", "factory")
    process.traffic(terminal.rack, "start")
    cut = process.traffic(terminal.rack, "report")["unreached"]["frames"]
    assert len(cut) == 7, "those that went over the switch that died"
    page = terminal.answer("replace", "s1", *console(terminal, "--new-key"))
    seen = process.traffic(terminal.rack, "report")
    process.traffic(terminal.rack, "stop")
    assert (seen["unreached"]["frames"], seen["duplicated"], seen["storms"]) == (cut, 0, 0)
    assert (page["failed"], page["hitless"], page["restored_pairs"]) == ([], True, 7)
    assert (page["build"], page["enrolled"]) == (str(terminal.home / "b"), [])
    assert terminal.answer("lab", "ping")["lost"] == 0
    assert held(terminal, *OTHERS) == {name: whole[name] for name in OTHERS}
    assert "vlan 100" in held(terminal)["s1"]
    assert known_hosts(terminal) == keys
    log = terminal.answer("status", "--offline", "--log", 3)["log"]
    (typed,) = (each for each in log if each["kind"] == "typed")
    assert len(log) == 3
    assert (typed["command"], typed["switches"][0]["switch"]) == ("tagloom replace s1", "s1")
    assert f"s1 took {len(typed['switches'][0]['lines'])} lines over {typed['note']}" in " ".join(
        terminal("status", "--offline", "--log", 3).split()
    )


@pytest.mark.long
def test_a_replacement_that_ends_at_the_console_says_that_ports_are_shut_and_how_to_go_on(terminal):
    process.fault(terminal.rack, "s1", "factory")
    process.quirks(terminal.rack, {"s1": {"reject_line": "ip ssh server"}})
    text = terminal.answer("replace", "s1", *console(terminal, "--new-key"), expect=3)["error"]["text"]
    assert "the ports to s1 stay shut until the same command again and --used" in text
    process.quirks(terminal.rack, {"s1": {"reject_line": ""}})
    failed = terminal.answer("status", "--offline", "--log", 1, expect=0)["log"][0]["switches"][0]
    assert (failed["state"], failed["lines"][failed["sent"]]) == ("failed", "ip ssh server")
    assert terminal.answer("replace", "s1", *console(terminal, "--new-key"), expect=1)["advice"] == ["--used"]
    page = terminal.answer("replace", "s1", *console(terminal, "--new-key", "--used"))
    assert (page["failed"], page["hitless"]) == ([], True)
    assert terminal.answer("lab", "ping")["lost"] == 0


KINS = ["n-series", "powerconnect-6248", "powerconnect-5548", "cisco-sg300-28", "cisco-cbs350-24t-4g"]
KINS += ["hpe-5130-24g-4sfp", "huawei-s5731-s24t4x"]


def long_password(terminal, name, model):
    """Give a box that wants eight characters at its first login another password than the rack's."""
    if model.startswith("huawei"):
        (terminal.rack / "host_vars").mkdir()
        (terminal.rack / "host_vars" / f"{name}.yml").write_text("ansible_password: first-day-9\n")


@pytest.mark.daily
@pytest.mark.parametrize("model", few(KINS, 0))
def test_a_new_box_of_any_command_line_takes_the_place_of_a_dead_one(model, tmp_path):
    terminal = Terminal(tmp_path)
    (terminal.home / "f.yml").write_text(PLAN.replace("powerconnect-5324", model))
    terminal("plan", "f.yml", "-o", "b")
    with terminal.lab("f.yml", ("apply", "b", "--allow", "interrupt")):
        whole = held(terminal)
        process.fault(terminal.rack, "s1", "factory")
        long_password(terminal, "s1", model)
        page = terminal.answer("replace", "s1", *console(terminal, "--new-key"))
        assert (page["failed"], page["hitless"], page["factory"]) == ([], True, True)
        assert terminal.answer("lab", "ping")["lost"] == 0
        assert held(terminal, *OTHERS) == {name: whole[name] for name in OTHERS}


@pytest.mark.parametrize("over", few(["console", "ssh"], 0))
@pytest.mark.long
def test_a_new_linux_machine_takes_the_place_of_a_dead_one_from_its_installation_on(over, tmp_path):
    terminal = Terminal(tmp_path)
    (terminal.home / "f.yml").write_text(PLAN.replace("powerconnect-5324", "linux-bridge"))
    terminal("plan", "f.yml", "--assignment", "pinned", "-o", "b")
    with terminal.lab("f.yml", ("apply", "b", "--allow", "interrupt")):
        whole = held(terminal)
        process.fault(terminal.rack, "s1", "factory")
        process.traffic(terminal.rack, "start")
        cut = process.traffic(terminal.rack, "report")["unreached"]["frames"]
        page = terminal.answer("replace", "s1", expect=3)
        assert "s1" in str(page), "nobody is there over SSH yet"
        look = ("replace", "s1", *console(terminal, "--new-key", "--check"))
        said = run(look, terminal.home, os.environ | {"NO_COLOR": "1"}).stderr.splitlines()
        assert f"console   s1 over telnet {look[3]}: passwords go there in clear" in said
        if over == "ssh":  # brought to its login beforehand
            terminal(
                "bootstrap", "inventory/lab/fabric.yml", "-i", "inventory/lab", "--switch", "s1", *console(terminal)
            )
        page = terminal.answer("replace", "s1", *(console(terminal, "--new-key") if over == "console" else ()))
        seen = process.traffic(terminal.rack, "report")
        process.traffic(terminal.rack, "stop")
        assert (seen["unreached"]["frames"], seen["duplicated"], seen["storms"]) == (cut, 0, 0)
        assert (page["over"], page["failed"], page["hitless"], page["factory"]) == (over, [], True, True)
        assert terminal.answer("lab", "ping")["lost"] == 0
        assert held(terminal) == whole


OF_ADDRESS = {  # which words the families have for an address in the management VLAN
    "powerconnect-6248": r"ip address vlan 40",
    "hpe-5130-24g-4sfp": r"interface Vlan-interface40\n *ip address 127",
    "huawei-s5731-s24t4x": r"interface Vlanif40\n *ip address 127",
}


@pytest.mark.daily
@pytest.mark.parametrize("model", few(["powerconnect-5324", *KINS], 0))
def test_a_switch_at_the_end_of_the_management_vlan_is_replaced_over_its_one_link(model, tmp_path):
    """Its console says how it is reached; of its ports that one alone carries anything until it holds what it must."""
    terminal = Terminal(tmp_path)
    platform = platforms.load(model)
    uplink, other, controller = (platform.port_name(n) for n in (2, 1, 24))
    ways = ", ".join(f'"{end}"' for end in (f"s0:{other}", f"s1:{uplink}", f"s2:{uplink}"))
    text = PLAN.replace("powerconnect-5324", model)
    (terminal.home / "f.yml").write_text(
        f'{text}management: {{vlan: 40, controller: "s0:{controller}", links: [{ways}]}}\n'
    )
    terminal("plan", "f.yml", "-o", "b")
    end = end_of(terminal, "b")
    with terminal.lab("f.yml", ("apply", "b", "--allow", "interrupt")):
        whole = held(terminal)
        process.fault(terminal.rack, end, "factory")
        long_password(terminal, end, model)
        process.traffic(terminal.rack, "start")
        cut = process.traffic(terminal.rack, "report")["unreached"]["frames"]
        words = ["--telnet", process.console(terminal.rack, end)["telnet"], "--network", "127.0.0.0/8", "--new-key"]
        page = terminal.answer("replace", end, *words, "--check")
        assert sum(map(len, page["isolated"].values())) == 1, "of its two links the other"
        page = terminal.answer("replace", end, *words)
        seen = process.traffic(terminal.rack, "report")
        process.traffic(terminal.rack, "stop")
        assert (seen["unreached"]["frames"], seen["duplicated"], seen["storms"]) == (cut, 0, 0)
        assert (page["failed"], page["hitless"], page["factory"]) == ([], True, True)
        assert terminal.answer("lab", "ping")["lost"] == 0
        others = [name for name in whole if name != end]
        assert held(terminal, *others) == {name: whole[name] for name in others}
        box = held(terminal)[end]
        assert re.search(OF_ADDRESS.get(model, r"interface vlan 40\n *ip address 127"), box)
        state = read_state(platform, box, end, (1, 2, 3))[0]
        assert [state.member(40, p) is Membership.TAGGED for p in (1, 2)].count(True) == 1
        assert terminal.answer("apply", "b")["changed"] == []


def end_of(terminal, build):
    """Return the switch that ends the tree of management links, which the computer is not plugged in at."""
    fabric = read_fabric(terminal.home / build / "fabric.yml")
    ends = [s for i in fabric.management.links for s in (fabric.links[i].a, fabric.links[i].b)]
    return next(x.name for s, x in enumerate(fabric.switches) if ends.count(s) == 1 and s != fabric.management.switch)


@pytest.mark.long
def test_a_switch_managed_over_the_fabrics_own_links_is_replaced_by_what_the_refusal_names(tmp_path):
    terminal = Terminal(tmp_path)
    ways = 'management: {vlan: 40, controller: "s0:g24", links: ["s1:g1", "s1:g2", "s3:g1"]}\n'
    (terminal.home / "f.yml").write_text(PLAN + ways)
    terminal("plan", "f.yml", "-o", "b")
    with terminal.lab("f.yml", ("apply", "b", "--allow", "interrupt")):
        process.fault(terminal.rack, "s1", "factory")
        before, typed = held(terminal), commands(terminal)
        page = terminal.answer("replace", "s1", *console(terminal, "--new-key"), "--build", "b", expect=1)
        assert "a way that is not the fabric's" in page["refused"]
        assert "port of its own" in page["next"]
        assert (held(terminal), commands(terminal)) == (before, typed)

        (terminal.home / "own-ports.yml").write_text(PLAN)  # every switch has a management port of its own by now
        terminal("plan", "own-ports.yml", "--previous", "b", "-o", "new")
        page = terminal.answer("replace", "s1", *console(terminal, "--new-key"), "--build", "new")
        assert page["failed"] == []
        assert terminal.answer("lab", "ping")["lost"] == 0


@pytest.mark.long
def test_a_box_that_is_not_new_or_is_not_the_one_or_has_another_key_is_refused_with_what_leads_on(terminal):
    process.fault(terminal.rack, "s1", "factory")
    before = held(terminal)
    page = terminal.answer("replace", "s1", *console(terminal, "--new-key", "--check"))
    assert (page["factory"], page["holds"], page["changed"], page["enrolled"]) == (True, [], [], [])
    assert page["isolated"] == {"s0": ["g2"], "s2": ["g1"]}
    assert held(terminal) == before, "a look changes nothing"
    page = terminal.answer("replace", "s1", *console(terminal), expect=1)
    assert (page["advice"], "SHA256:" in page["witness"]) == (["--new-key"], True)
    assert terminal("replace", "s1", expect=3) == ""

    process.restore(terminal.rack)
    before = held(terminal)
    page = terminal.answer("replace", "s1", *console(terminal, "--new-key"), expect=1)
    assert "the old box is taken out" in page["refused"]
    page = terminal.answer("replace", "s1", expect=1)
    assert (page["advice"], page["factory"]) == (["--used"], False)
    assert "VLAN 100" in str(page["holds"])
    page = terminal.answer("replace", "s1", "--used", expect=1)
    assert (page["advice"], "7 would be cut off" in page["refused"]) == (["--allow interrupt"], True)
    assert held(terminal) == before
    words = ["replace", "s9", "--serial", "/dev/null", "--telnet", "x:y", "--build", "nowhere"]
    assert {each["where"] for each in terminal.answer(*words, expect=2)["findings"]} == {
        *("--serial", "--network", "--telnet", "nowhere"),
    }
    assert terminal.answer("replace", "s9", expect=2)["findings"][0]["where"] == "SWITCH"


@pytest.mark.long
def test_a_box_that_had_its_first_login_is_joined_over_ssh_and_its_new_key_takes_the_place_of_the_old(terminal):
    process.fault(terminal.rack, "s1", "factory")
    fabric = terminal.rack / "fabric.yml"
    words = ["--network", "127.0.0.0/8", "--switch", "s1", "--telnet", process.console(terminal.rack, "s1")["telnet"]]
    terminal("bootstrap", fabric, "-i", terminal.rack, *words)
    port, other = process.read_info(terminal.rack).ports["s1"], paramiko.RSAKey.generate(2048)
    mine = f"[127.0.0.1]:{port} "
    keys = known_hosts(terminal)
    kept = [line for line in keys if not line.startswith(mine)]
    old = f"{mine}{other.get_name()} {other.get_base64()}"
    (terminal.rack / "known_hosts").write_text("\n".join([*kept, old]) + "\n")
    page = terminal.answer("replace", "s1", expect=1)
    assert (page["advice"], other.fingerprint in page["witness"]) == (["--new-key"], True)
    assert known_hosts(terminal) == [*kept, old]
    page = terminal.answer("replace", "s1", "--new-key")
    assert (page["enrolled"], page["old_fingerprints"]) == (["s1"], [other.fingerprint])
    assert known_hosts(terminal)[:-1] == kept
    assert known_hosts(terminal)[-1] in keys
    assert terminal.answer("lab", "ping")["lost"] == 0
