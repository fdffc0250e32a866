"""A command's preview has the exit status of the command; monitors exit with 1 where something is wrong."""

import os

import pytest

from command_line.loaded import ANSIBLE, run_ansible
from command_line.terminal import Terminal
from tagloom.apply.playbook import ansible_environment
from tagloom.lab import process
from tagloom.share import share_directory
from thinned import daily

pytestmark = pytest.mark.slow

GOOD, NO, BAD_INPUT, DEVICE_FAILED = 0, 1, 2, 3
SET_OTHERWISE = ("interface ethernet g20", "switchport mode access", "exit", "no spanning-tree")
OTHER_PVID = ("interface ethernet g3", "switchport general pvid 4095", "exit")
PUSHED = (("apply", "b", "--allow", "interrupt"),)
HITLESS = (("apply", "b"),)
DRIFTED = (*PUSHED, ("type", "s0", *OTHER_PVID))

# What was done before, the command, its exit status with and without --check, and whether something would be sent, or
# where it is refused is left to send (`pending`); None where the input is wrong.
COMMANDS = {
    "a first push finds a hitless way": ((), "apply b", GOOD, True),
    "an interruption is allowed": ((), "apply b --allow interrupt", GOOD, True),
    "a port is set otherwise": ((("type", "s1", *SET_OTHERWISE),), "apply b", NO, True),
    "that is allowed": ((("type", "s1", *SET_OTHERWISE),), "apply b --allow interrupt", GOOD, True),
    "some switches alone": ((), "apply b --limit s0", NO, True),
    "a file is not there": ((), "apply nowhere", BAD_INPUT, None),
    "nothing is to change": (PUSHED, "apply b", GOOD, False),
    "another build": (PUSHED, "apply other", GOOD, True),
    "a rollout": (PUSHED, "apply way", GOOD, True),
    "a rollout that pauses hosts": (PUSHED, "apply pausing", NO, True),
    "pausing is allowed": (PUSHED, "apply pausing --allow drain", GOOD, True),
    "a rollout from another state": ((), "apply way", NO, True),
    "drift": (DRIFTED, "apply other", NO, True),
    "drift in the way of a rollout": (DRIFTED, "apply way", NO, True),
    "drift is overwritten": (DRIFTED, "apply other --drift overwrite", GOOD, True),
    "a switch is unreachable": ((("fault", "s1"),), "apply b", DEVICE_FAILED, True),
    "a rollback of a first push": (HITLESS, "rollback", NO, True),
    "pausing for the rollback is allowed": (HITLESS, "rollback --allow drain", GOOD, True),
    "a rollback of a push at once": (PUSHED, "rollback", NO, False),
    "a rollback of a change": ((*PUSHED, ("apply", "other")), "rollback", GOOD, True),
    "a rollback with drift": ((*PUSHED, ("apply", "other"), ("type", "s0", *OTHER_PVID)), "rollback", NO, True),
    "a rollback of another build": ((*PUSHED, ("apply", "other")), "rollback b", BAD_INPUT, None),
    "a rollback of nothing": ((), "rollback", NO, False),
}
# One of each answer: a first push, none, another build, refusals by what is found, by input and by a switch, rollbacks.
EVERY_TIME = {
    "a first push finds a hitless way",
    "a port is set otherwise",
    "a file is not there",
    "nothing is to change",
    "a rollout that pauses hosts",
    "drift",
    "a switch is unreachable",
    "a rollback of a push at once",
    "a rollback of a change",
}


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    """Plan a ring of three and two changes of it, and start its rack."""
    terminal = Terminal(tmp_path_factory.mktemp("statuses"))
    terminal("new", "ring", "--dims", 3, "-o", "f.yml")
    terminal("plan", "f.yml", "-o", "b")
    terminal("plan", "f.yml", "-o", "other", "--routing", "tree", "--previous", "b")
    terminal("rollout", "b", "other", "-o", "way")
    terminal("rollout", "--to", "spanning-tree", "b", "-o", "pausing")
    with terminal.lab("f.yml"):
        yield terminal


@pytest.fixture
def terminal(running):
    """Return a terminal with the rack in factory state, where nothing was run yet."""
    return running.fresh()


def prepare(terminal, steps):
    for word, *more in steps:
        if word == "type":
            terminal.type(*more)
        elif word == "fault":
            process.fault(terminal.rack, more[0], "refuse-login")
        else:
            terminal(word, *more)


@pytest.mark.parametrize("case", daily(COMMANDS, *(n for n, case in enumerate(COMMANDS) if case in EVERY_TIME)))
def test_a_preview_ends_as_the_command_would(case, terminal):
    steps, command, status, pending = COMMANDS[case]
    prepare(terminal, steps)
    before = process.configurations(terminal.rack)
    assert terminal.answer(*command.split(), "--check", expect=status).get("pending") is pending
    assert process.configurations(terminal.rack) == before
    page = terminal.answer(*command.split(), expect=status)
    assert page.get("pending") is (False if status == GOOD else pending), page


def test_a_preview_beside_an_interrupted_run_is_refused_as_the_command_is(terminal):
    terminal(*PUSHED[0])
    process.quirks(terminal.rack, {"s1": {"drop_after": 20}})
    terminal("apply", "other", expect=DEVICE_FAILED)
    page = terminal.answer("apply", "other", "--check", expect=NO)
    assert page["refused"] == "a run that was interrupted is finished or undone before another begins"
    assert page["advice"] == ["apply --resume", "rollback", "--drift overwrite"]
    assert page["pending"]
    both = terminal.answer("apply", "other", expect=NO)
    assert (both["refused"], both["pending"]) == (page["refused"], True)
    terminal("apply", "--resume", "--check")
    terminal("apply", "--resume")


def test_a_play_looks_and_ends_as_it_would_push(terminal):
    share = share_directory()
    environment = ansible_environment({key: os.environ[key] for key in ("PATH", "HOME")}, share)

    def play(build, *words):
        command = [*ANSIBLE, f"{share}/playbooks/apply.yml", "-i", f"{terminal.rack}/tagloom.yml"]
        command += ["-e", f"tagloom_apply_build={terminal.home / build}"]
        command += ["-e", f"tagloom_apply_directory={terminal.home}/by-hand", *words]
        return run_ansible(command, env=environment)

    allowed = ("-e", "tagloom_apply_allow=interrupt")
    before = process.configurations(terminal.rack)
    looked = play("b", "--check", "--diff")
    assert "+vlan 100" in looked.stdout  # all differences, then the refusal
    assert "tagloom_apply_allow: expected interrupt" in looked.stdout
    statuses = {
        "a build": (looked.returncode, play("b").returncode),
        "some hosts": [play("b", *allowed, *more, "--limit", "s0").returncode for more in (("--check",), ())],
        "a rollout from elsewhere": [play("way", *more).returncode for more in (("--check",), ())],
    }
    assert {case: [status != 0 for status in found] for case, found in statuses.items()} == {
        case: [True, True] for case in statuses
    }
    assert process.configurations(terminal.rack) == before
    assert play("b", *allowed, "--check").returncode == 0
    assert play("b", *allowed).returncode == 0
    assert play("way", "--check").returncode == 0
    terminal.type("s0", *OTHER_PVID)
    assert play("way", "--check").returncode != 0
    assert play("way").returncode != 0
    terminal.type("s0", "interface ethernet g3", "switchport general pvid 100", "exit")
    assert play("way").returncode == 0
    assert (play("pausing", "--check").returncode, play("pausing").returncode) == (2, 2)


MONITORS = (("status",), ("repair", "--check"), ("observe", "--against", "b", "--once"))


@pytest.mark.daily
def test_monitors_end_with_1_where_something_is_wrong(terminal):
    terminal("apply", "b")
    for words in MONITORS:
        terminal(*words)
    process.fault(terminal.rack, "s0", "cable", port="g1")
    for words in MONITORS:
        terminal(*words, expect=NO)
    terminal("repair")
    terminal("repair", "--check", expect=NO)  # all pairs work again, and the cable is still dead


@pytest.mark.daily
def test_a_build_with_a_switch_that_is_down_names_the_commands_that_lead_there_and_back(terminal):
    terminal("apply", "b", "--allow", "interrupt")
    more = "switches: {s2: {state: down}}\nhosts: {more: {switch: s0, port: g20}}\n"
    (terminal.home / "down.yml").write_text((terminal.home / "f.yml").read_text() + more)
    terminal("plan", "down.yml", "-o", "down", "--force")
    refused = terminal.answer("apply", "down", "--check", expect=NO)
    first = f"tagloom apply {terminal.home / 'b'} --without s2"
    assert first in refused["no_hitless_way"]
    terminal(*first.split()[1:])
    terminal("apply", "down")
    assert "--readmit s2" in terminal.answer("apply", "b", "--check", expect=NO)["no_hitless_way"]
