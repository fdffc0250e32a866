"""The whole mission as an operator runs it: commands in a terminal against a rack of real SSH consoles."""

import shutil

import pytest

from command_line.terminal import Terminal
from fabrics import ROOT
from tagloom.demo import MATRIX, MATRIX_SECONDS
from tagloom.lab import process
from tagloom.report.terminal import WIDTH
from thinned import few

STEPS = (
    "plan",
    "apply",
    "verify",
    "ping",
    "apply_again",
    "rollout",
    "regulate",
    "verify_after",
    "ping_after",
    "predict",
)


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    """Plan a 2x2 mesh and start its rack."""
    terminal = Terminal(tmp_path_factory.mktemp("mission"))
    terminal("new", "mesh", "--dims", 2, 2, "--parallel", 2, "-o", "f.yml")
    terminal("plan", "f.yml", "-o", "planned")
    with terminal.lab("f.yml"):
        yield terminal


@pytest.fixture
def terminal(running):
    """Return a terminal with a planned mesh and its rack in factory state, where nothing was run yet."""
    running.fresh()
    shutil.rmtree(running.home / "b", ignore_errors=True)
    shutil.copytree(running.home / "planned", running.home / "b")
    return running


WORDS = ["new", "plan", "lab", "apply", "apply", "lab", "repair", "lab"]
FIRST = ("--allow", "interrupt")  # spanning tree connects the hosts of a rack in factory state, and goes off
ALL = ["s0", "s1", "s2", "s3"]


def test_check_then_push_then_nothing_left_to_do(terminal):
    assert terminal.answer("lab", "ping")["reached"] == 12, "a factory rack is one tree"
    page = terminal.answer("apply", "b", "--check")
    assert (page["changed"], page["unchanged"], page["failed"]) == (ALL, [], [])
    assert (page["hitless"], page["strategy"]) == (True, "greenfield")
    page = terminal.answer("apply", "b", "--check", *FIRST)
    assert (page["hitless"], page["interrupted_pairs"], page["strategy"]) == (False, 12, "in one go")
    assert 0 < page["interrupted_seconds_max"] < 60
    assert process.configurations(terminal.rack)["s0"].count("tagloom") == 0, "neither of them sends anything"
    for words in (("--diff=full",), ("--diff", "-v")):
        assert "+vlan 100-104" in terminal("apply", "b", "--check", *words)
    shown = terminal("apply", "b", "--check", "--diff").splitlines()
    assert shown[0].startswith("s0        +63 -0      spanning tree off, 5 VLANs, ")
    assert "          and 1 more switch alike: s2" in shown
    assert not any(line.startswith(("+", "@@")) for line in shown)
    outcomes = terminal.answer("apply", "b", "--check", "--diff")["outcomes"]
    assert all("vlan 100-104" in outcome["after"] for outcome in outcomes)
    page = terminal.answer("apply", "b", *FIRST)
    assert (page["changed"], page["failed"]) == (ALL, [])
    assert page["seconds"] > 0
    page = terminal.answer("apply", "b")
    assert (page["changed"], page["unchanged"], page["failed"]) == ([], ALL, [])
    terminal("rollout", "b", "b", "-o", "nothing")
    page = terminal.answer("apply", "nothing")
    assert (page["changed"], page["unchanged"], page["failed"]) == ([], ALL, [])
    ping = terminal.answer("lab", "ping")
    assert (ping["pairs"], ping["reached"], ping["lost"]) == (12, 12, 0)
    backups = sorted((terminal.rack / "runs").glob("*/backups/*.cfg"))
    assert [path.name for path in backups] == ["s0.cfg", "s1.cfg", "s2.cfg", "s3.cfg"]
    assert all(path.stat().st_mode & 0o777 == 0o600 for path in backups)
    assert process.configurations(terminal.rack, startup=True) == process.configurations(terminal.rack)


@pytest.mark.daily
@pytest.mark.slow
def test_a_running_fabric_is_led_to_another_build_by_a_rollout(terminal):
    terminal("apply", "b", *FIRST)
    terminal("plan", "f.yml", "-o", "off", "--off", "s0:g1", "s0:g3", "--previous", "b")
    shown = terminal("apply", "off", "--check")
    assert "in 3 waves" in shown
    page = terminal.answer("apply", "off")
    assert page["failed"] == []
    assert (page["waves"], page["waves_reached"]) == (3, 3)
    assert terminal.answer("lab", "ping")["reached"] == 12
    running = process.configurations(terminal.rack)
    assert "shutdown" in running["s0"]
    assert terminal.answer("apply", "off")["unchanged"] == ALL


@pytest.mark.slow
def test_a_build_that_would_reuse_ids_of_a_running_fabric_is_refused(terminal):
    terminal("apply", "b", *FIRST)
    terminal("plan", "f.yml", "-o", "clash", "--off", "s0:g1", "s0:g3", "--routing", "tree", "--from-scratch")
    shown = terminal.answer("apply", "clash", expect=1)
    assert "VLAN id must not be reused" in shown["refused"]
    assert "--previous" in shown["next"]
    assert terminal.answer("apply", "b")["unchanged"] == ALL


@pytest.mark.slow
def test_a_slip_of_the_hand_is_shown_and_mended(terminal):
    terminal("apply", "b", *FIRST)
    process.restore(terminal.rack)  # all switches back at the factory: the grossest slip
    assert terminal.answer("apply", "b", *FIRST)["changed"] == ALL
    assert terminal.answer("lab", "ping")["reached"] == 12


@pytest.mark.slow
@pytest.mark.parametrize(
    ("quirk", "where", "logged_in"),
    few(
        [
            ({"refuse_login": True}, "login", False),
            ({"reject_line": "switchport general pvid"}, "switchport general pvid", True),
            ({"drop_after": 12}, "session was dropped", True),
        ],
        1,
    ),
    ids=["refused login", "rejected line", "dropped session"],
)
def test_a_switch_that_fails_is_named_and_the_others_finish(terminal, quirk, where, logged_in):
    process.quirks(terminal.rack, {"s2": quirk})
    page = terminal.answer("apply", "b", *FIRST, expect=3)
    assert page["failed"] == ["s2"]
    assert page["changed"] == ["s0", "s1", "s3"]
    (failure,) = [o for o in page["outcomes"] if o["failed"]]
    assert failure["error"]
    assert where in failure["command"] + failure["error"]
    assert (len(failure["sent"]) < len(failure["commands"])) is logged_in
    process.quirks(terminal.rack, {"s2": {"refuse_login": False, "reject_line": "", "drop_after": 0}})
    assert terminal.answer("apply", "b", *FIRST)["failed"] == []
    assert terminal.answer("lab", "ping")["reached"] == 12
    assert terminal.answer("apply", "b")["unchanged"] == ALL


def test_a_build_with_an_edited_text_never_reaches_a_switch(terminal):
    path = terminal.home / "b" / "configs" / "s1.cfg"
    text = path.read_text()
    path.write_text(text.replace("switchport general pvid 100", "switchport general pvid 101"))
    assert path.read_text() != text
    before = process.status(terminal.rack)["switches"]
    shown = terminal("apply", "b", expect=1)
    assert "refused: nothing goes to a switch that was not proven" in shown
    assert process.status(terminal.rack)["switches"] == before, "nobody logged in"
    assert not list((terminal.rack / "runs").glob("*"))


def test_the_demo_holds(tmp_path):
    terminal = Terminal(tmp_path)
    page = terminal.answer("demo")
    assert set(STEPS) <= set(page)
    assert page["plan"]["proven"] is page["verify"]["proven"] is page["verify_after"]["proven"] is True
    assert page["ping"] == page["ping_after"] == {"pairs": 240, "on_path": 240, "broadcasts_exactly_once": 16}
    assert (len(page["apply"]["changed"]), page["apply"]["failed"]) == (16, [])
    assert (page["apply_again"]["changed"], len(page["apply_again"]["unchanged"])) == ([], 16)
    assert (page["rollout"]["waves"], page["rollout"]["peak_lost_pairs"]) == (3, 0)
    assert page["regulate"]["links_off"] > 16
    assert page["predict"]["watts_after"] < page["predict"]["watts_before"] == 412.8
    traffic = ("--traffic", ROOT / "tests" / "data" / "npb" / MATRIX, "--seconds", MATRIX_SECONDS)
    asked = terminal.answer("predict", "demo/build-saving", *traffic, "--rollout", "demo/rollout")
    assert page["predict"] == {key: asked[key] for key in page["predict"]}, "the demo and predict give one forecast"
    assert page["predict"]["rerouted_pairs"] > 0
    assert not (tmp_path / "demo" / "rack" / "rack.json").exists(), "the rack was ended"


@pytest.mark.slow
def test_the_demo_is_read_at_a_glance_and_what_it_suggests_works_as_typed(tmp_path):
    terminal = Terminal(tmp_path)
    lines = terminal("demo").splitlines()
    assert len(lines) <= 47
    assert max(map(len, lines)) <= WIDTH
    assert "          frames arrive, each on exactly its planned path      240 of 240  yes" in lines
    assert any(line.startswith("saving    21.5 %") for line in lines)
    assert "What happened" in lines
    assert lines[-1].startswith("everything held, ")
    typed = [line.split()[1:] for line in lines if line.startswith("          tagloom ") and line.split()[1] in WORDS]
    assert [words[0] for words in typed] == WORDS
    try:
        for words in typed:
            terminal(*words)
    finally:  # the last of them ends the rack
        if (terminal.rack / "rack.json").exists():
            terminal("lab", "down")
