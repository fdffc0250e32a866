"""A change that cuts off pairs that work says so, and is not begun unless that is allowed; one that does not is."""

import os
import shlex
import subprocess
import sys

import pytest

from command_line.terminal import Terminal, without_waits
from tagloom.apply.playbook import ansible_environment
from tagloom.lab import process
from tagloom.rollout.back import CONVERGING_SECONDS
from tagloom.share import share_directory

pytestmark = pytest.mark.slow

ALL = ["s0", "s1", "s2"]
KEYS = ("hitless", "interrupted_pairs", "cut_off_pairs", "restored_pairs")


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    """Plan a ring of three and start its rack."""
    terminal = Terminal(tmp_path_factory.mktemp("unannounced"))
    terminal("new", "ring", "--dims", 3, "-o", "f.yml")
    terminal("plan", "f.yml", "-o", "b")
    terminal("plan", "f.yml", "-o", "other", "--routing", "tree", "--previous", "b")
    with terminal.lab("f.yml"):
        yield terminal


@pytest.fixture
def terminal(running):
    """Return a terminal with a planned ring and its rack in factory state, where nothing was run yet."""
    return running.fresh()


def seen(page):
    return [page[key] for key in KEYS]


def test_a_first_push_finds_its_hitless_way_and_a_rollback_announces_the_way_back(terminal):
    before = process.configurations(terminal.rack)
    page = terminal.answer("apply", "b", "--check")
    assert (page["strategy"], page["rollback_possible"], *seen(page)) == ("greenfield", True, True, 0, 0, 0)
    assert page["pending"]
    shown = " ".join(terminal("apply", "b", "--check").split())
    assert "spanning tree is off afterwards, and its automatic failover with it" in shown
    assert shown.endswith("next tagloom apply b")
    process.traffic(terminal.rack, "start")
    page = terminal.answer("apply", "b")
    assert (page["changed"], page["strategy"], *seen(page)) == (ALL, "greenfield", True, 0, 0, 0)
    assert (page["pending"], page["failover"]) == (False, "not running")
    assert "failover  not running" in terminal("status", "--offline", expect=0)
    sent = process.traffic(terminal.rack, "report")
    process.traffic(terminal.rack, "stop")
    assert (sent["lost"], sent["storm"], sent["frames"] > 0) == (0, "", True)
    page = terminal.answer("apply", "b")
    assert (page["changed"], page["unchanged"], page["advice"], page["strategy"]) == ([], ALL, [], "")

    page = terminal.answer("rollback", expect=1)
    assert (page["advice"], page["interrupted_pairs"]) == (["--allow drain"], 6)
    assert page["interrupted_seconds_max"] >= CONVERGING_SECONDS
    assert "spanning tree comes on" in page["witness"]
    assert terminal.answer("rollback", "--allow", "drain")["changed"] == ALL
    assert process.configurations(terminal.rack) == before


@pytest.mark.daily
def test_where_no_hitless_way_is_known_a_first_push_says_why_and_needs_to_be_allowed(terminal):
    before = process.configurations(terminal.rack)
    settings = terminal.rack / "snmp.yml"
    kept = settings.read_text()
    try:
        settings.unlink()
        page = terminal.answer("apply", "b", expect=1)
        assert "SNMP, which is not set up" in page["no_hitless_way"]
        settings.write_text(kept.replace("auth_password: ", "auth_password: not-"))
        page = terminal.answer("apply", "b", expect=1)
        assert "3 of 3 switches do not answer" in page["no_hitless_way"]
    finally:
        settings.write_text(kept)
    terminal.type("s1", "interface ethernet g20", "switchport mode access", "exit", "no spanning-tree")
    page = terminal.answer("apply", "b", "--check", expect=1)
    assert "a port or a switch is set otherwise" in page["no_hitless_way"]
    assert page["refused"] == "pairs that work are cut off only with --allow interrupt"
    terminal.type("s1", "spanning-tree")
    process.restore(terminal.rack)
    settings.unlink()
    try:
        shown = " ".join(terminal("apply", "b", "--check", expect=1).split())
        assert "NOT hitless: 6 of 6 pairs interrupted, about " in shown
        assert "h0 -> h1" in shown
        assert "undo none: tagloom rollback can't undo a change in one go" in shown
        assert "next tagloom apply b --allow interrupt" in shown
        assert "nothing was sent" in terminal("apply", "b", expect=1)
        page = terminal.answer("apply", "b", expect=1)
        assert (seen(page), page["advice"]) == ([False, 6, 0, 0], ["--allow interrupt"])
        assert (page["strategy"], page["rollback_possible"]) == ("in one go", False)
        assert (page["changed"], page["unchanged"], page["refused"], page["next"]) == (
            *([], ALL, "pairs that work are cut off only with --allow interrupt"),
            "tagloom apply b --allow interrupt",
        )
        assert process.configurations(terminal.rack) == before
    finally:
        settings.write_text(kept)


def test_a_change_between_builds_is_hitless_and_needs_no_word(terminal):
    page = terminal.answer("apply", "b", "--allow", "interrupt")
    assert (page["changed"], *seen(page)) == (ALL, False, 6, 0, 0)
    assert 0 < page["interrupted_seconds_max"] < 60

    assert "no host pair loses connectivity" in terminal("apply", "other", "--check")
    process.traffic(terminal.rack, "start")
    page = terminal.answer("apply", "other")
    assert (page["waves"], *seen(page), page["interrupted_seconds_max"]) == (3, True, 0, 0, 0, 0.0)
    page = terminal.answer("rollback")
    assert (page["changed"], *seen(page)) == (ALL, True, 0, 0, 0)
    sent = process.traffic(terminal.rack, "report")
    process.traffic(terminal.rack, "stop")
    assert (sent["lost"], sent["frames"] > 0) == (0, True)


def test_what_a_slip_cut_off_is_brought_back_without_asking_where_nothing_else_is_cut(terminal):
    terminal("apply", "b", "--allow", "interrupt")
    terminal.type("s0", "interface ethernet g3", "switchport general pvid 4095", "exit")
    assert terminal.answer("lab", "ping", expect=1)["lost"] == 2
    words = ("apply", "b", "--drift", "overwrite")
    shown = " ".join(terminal(*words, "--check").split())
    assert "reconnects all 2 disconnected host pairs; interrupts no others" in shown
    page = terminal.answer(*words)
    assert (page["changed"], *seen(page)) == (["s0"], True, 0, 2, 2)
    assert terminal.answer("lab", "ping")["lost"] == 0


def test_a_switch_back_at_the_factory_is_set_up_again_only_where_that_is_allowed(terminal):
    terminal("apply", "b", "--allow", "interrupt")
    process.restore(terminal.rack)
    process.quirks(terminal.rack, {"s1": {"drop_after": 20}})
    page = terminal.answer("apply", "b", "--allow", "interrupt", expect=3)
    assert (page["failed"], page["advice"]) == (["s1"], ["apply --resume", "rollback"])
    resumed = terminal.answer("apply", "--resume", "--check")
    assert resumed["hitless"] is False
    page = terminal.answer("apply", "--resume")  # which was allowed when it began
    assert (page["changed"], page["failed"], page["state"]) == (["s1"], [], "done")
    assert terminal.answer("lab", "ping")["lost"] == 0


def test_ansible_alone_sends_a_build_only_where_an_interrupt_is_allowed(terminal):
    share = share_directory()
    environment = ansible_environment({key: os.environ[key] for key in ("PATH", "HOME")}, share)

    def play(*words):
        command = [sys.executable, "-m", "ansible", "playbook", share / "playbooks/apply.yml"]
        command += ["-i", terminal.rack / "tagloom.yml", "-e", f"tagloom_apply_build={terminal.home}/b"]
        return subprocess.run(
            [*command, "-e", f"tagloom_apply_directory={terminal.home}/by-hand", *words],
            env=environment, capture_output=True, text=True, check=False,
        )  # fmt: skip

    before = process.configurations(terminal.rack)
    refused = play()
    assert refused.returncode == 2
    assert "tagloom_apply_allow: expected interrupt" in refused.stdout
    assert process.configurations(terminal.rack) == before
    assert play("-e", "tagloom_apply_allow=interrupt").returncode == 0
    assert terminal.answer("lab", "ping")["lost"] == 0


@pytest.mark.daily
def test_the_way_back_from_a_first_push_is_named_and_leads_to_spanning_tree(terminal):
    terminal("apply", "b", "--allow", "interrupt")
    page = terminal.answer("rollback", expect=1)
    assert page["advice"] == ["rollout --to spanning-tree BUILD", "apply BUILD"]
    first, then = (shlex.split(words) for words in page["next"].partition(";")[0].split(", then "))
    terminal(*first[1:])
    without_waits(terminal.home / "back")
    terminal(*then[1:])
    assert terminal.answer("lab", "ping")["lost"] == 0
    assert all("no spanning-tree" not in text for text in process.configurations(terminal.rack).values())


@pytest.mark.daily
def test_a_preview_outside_the_maintenance_windows_shows_the_change_and_ends_as_the_push_would(terminal):
    (terminal.rack / "windows.yml").write_text('windows:\n- {when: "0 0 29 2 *", hours: 0.01}\n')
    try:
        page = terminal.answer("apply", "b", "--check", expect=1)
        assert (page["changed"], page["pending"], page["advice"]) == (ALL, True, ["--outside-window"])
        assert "maintenance windows" in page["refused"]
        assert "maintenance windows" in terminal.answer("apply", "b", expect=1)["refused"]
        assert "refused" not in terminal.answer("apply", "b", "--check", "--outside-window")
        terminal("apply", "b", "--outside-window")
        page = terminal.answer("replace", "s1", "--check", "--used", "--allow", "interrupt", expect=1)
        assert "maintenance windows" in page["refused"]
    finally:
        (terminal.rack / "windows.yml").unlink()
