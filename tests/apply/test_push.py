"""Real ansible-playbook, real SSH, the virtual rack: what an apply does, and what it leaves alone."""

import contextlib
import json
import os
import re
import shutil
import signal
import stat
import time
from pathlib import Path

import pytest
import yaml

from tagloom.apply.outcomes import Fault, Outcome
from tagloom.apply.run_directory import Job, RunDirectory, request_stop
from tagloom.errors import InputError, PlanError
from tagloom.lab import process
from tagloom.operate import prepare
from tagloom.records.ownership import overlay
from waiting import until

NAMES = ("s0", "s1", "s2", "s3")


def foreign_lines(text):
    """Give the lines of a configuration that speak of nothing tagloom may touch."""
    return [line for line in text.splitlines() if re.match(r"(user|snmp|logging|hostname|ip |description)", line)]


def everything_written(bench, *, but="backups"):
    folders = (bench.run_directory, bench.build)
    files = [path for folder in folders for path in folder.rglob("*") if path.is_file() and but not in path.parts]
    return {path.name: path.read_text("utf-8") for path in files}


def test_check_mode_changes_nothing_and_shows_what_a_push_would_do(bench):
    bench.write_build()
    outcomes = bench.apply(check=True)
    assert outcomes.changed == NAMES
    assert bench.configurations() == bench.initial
    assert not (bench.run_directory / "backups").exists()
    ros, fastpath = outcomes.by_switch["s0"][0], outcomes.by_switch["s1"][0]
    for outcome in (ros, fastpath):
        assert not outcome.sent
        assert "vlan 100-101" in outcome.commands
        assert "+vlan 100-101\n" in outcome.diff
    assert "+bridge address 02:00:00:00:00:09 ethernet g1\n" in ros.diff
    assert "+bridge address 0200.0000.0009 ethernet 1/g1 permanent\n" in fastpath.diff
    plain = json.loads(json.dumps(outcomes.to_json()))
    assert [plain[key] for key in ("changed", "unchanged", "failed")] == [list(NAMES), [], []]
    assert outcomes.outcomes == tuple(map(Outcome.from_json, plain["outcomes"]))
    assert bench.by_hand("--check", "--diff") == 0
    assert bench.log().count("+vlan 100-101") == len(NAMES)
    assert bench.configurations() == bench.initial


@pytest.mark.usefixtures("executed")
def test_a_push_reaches_the_target_saves_it_and_a_second_push_finds_nothing_to_do(bench):
    bench.type("s0", "vlan database", "vlan 500", "exit", "interface vlan 500", "name office", "exit",
               "interface range ethernet g(7,24)", "switchport mode general",
               "switchport general allowed vlan add 500 tagged", "exit")  # fmt: skip
    before = {name: bench.state(name) for name in NAMES}
    texts = bench.configurations()
    bench.write_build()

    first = bench.apply()
    assert (first.changed, first.failed, first.error) == (NAMES, (), "")
    for name in NAMES:
        assert bench.state(name) == overlay(before[name], bench.target(name), bench.used[name])
        assert foreign_lines(bench.configurations()[name]) == foreign_lines(texts[name])
        assert first.by_switch[name][0].sent == first.by_switch[name][0].commands
    assert bench.state("s0").port(24).tagged == (500,)
    assert bench.state("s0").port(7).tagged == (500,)
    assert bench.configurations(startup=True) == bench.configurations()

    pushed = bench.configurations()
    second = bench.apply()
    assert (second.changed, second.unchanged, second.failed) == ((), NAMES, ())
    assert bench.configurations() == pushed


@pytest.mark.slow
def test_the_whole_configuration_is_kept_before_the_first_line_for_its_owner_alone(bench):
    bench.write_build()
    outcomes = bench.apply()
    backups = bench.run_directory / "backups"
    assert stat.S_IMODE(backups.stat().st_mode) == 0o700
    for name in NAMES:
        path = backups / f"{name}.cfg"
        assert outcomes.by_switch[name][0].backup == str(path)
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert path.read_text() == bench.initial[name].strip("\n") + "\n"
        assert "username plant password 0" in path.read_text()
    bench.write_rollout({"vlans": (100, 102)})
    bench.apply(bench.directory / "rollout")
    assert (backups / "s0.cfg").read_text() == bench.initial["s0"].strip("\n") + "\n", "the older backup stays"
    assert "vlan 100-101" in (backups / "s0.2.cfg").read_text()


def test_failures_are_told_by_switch_and_line_while_the_others_finish(bench):
    bench.write_build()
    bench.quirk("s0", reject_line="^name ")
    bench.quirk("s1", refuse_login=True)
    bench.quirk("s2", drop_after=11)
    outcomes = bench.apply()
    assert outcomes.failed == ("s0", "s1", "s2")
    assert outcomes.changed == ("s3",)
    refused, locked_out, dropped = (outcomes.by_switch[name][0] for name in ("s0", "s1", "s2"))
    assert refused.command == "name tagloom"
    assert refused.error.startswith("% ")
    assert refused.sent == refused.commands[: refused.commands.index("name tagloom")]
    assert (locked_out.command, locked_out.error, locked_out.sent) == ("login", "refused for user 'lab'", ())
    assert (dropped.command, dropped.error) == (dropped.commands[len(dropped.sent)], "the session was dropped")
    assert 0 < len(dropped.sent) < len(dropped.commands)

    again = bench.apply()  # s2's one cut is spent; s0's lines were sent half
    assert again.failed == ("s0", "s1")
    assert bench.state("s2") == bench.target("s2")


@pytest.mark.slow
def test_a_login_refused_inside_the_session_and_a_switch_that_is_not_there(bench):
    bench.write_build()
    bench.quirk("s0", refuse_login=True)
    inventory = bench.with_variables()
    page = (inventory / "fabric.yml").read_text()
    (inventory / "fabric.yml").write_text(page.replace(f"127.0.0.1:{bench.info.ports['s1']}", "127.0.0.1:1"))
    outcomes = bench.apply(inventory=inventory, check=True)
    assert outcomes.failed == ("s0", "s1")
    assert outcomes.changed == ("s2", "s3")
    assert outcomes.by_switch["s0"][0].error == "refused for user 'lab'"
    assert outcomes.by_switch["s1"][0].error.startswith("cannot reach 127.0.0.1:1 (")


def test_a_line_accepted_but_not_done_is_found_and_never_saved(bench):
    bench.write_build()
    bench.quirk("s3", ignore_line="general pvid 100")
    outcomes = bench.apply()
    assert outcomes.failed == ("s3",)
    (cell,) = outcomes.by_switch["s3"][0].findings
    assert str(cell) == "s3: 1/g24 pvid: expected 100, actual 1"
    assert bench.configurations(startup=True)["s3"] == bench.initial["s3"]


@pytest.mark.slow
def test_what_stands_in_the_way_is_named_and_nothing_is_sent(bench):
    bench.type("s2", "vlan database", "vlan 100", "exit", "interface vlan 100", "name office", "exit")
    before = bench.configurations()["s2"]
    bench.write_build()
    outcomes = bench.apply()
    assert outcomes.failed == ("s2",)
    assert outcomes.by_switch["s2"][0].error == (
        "refused, nothing was sent: s2: VLAN 100: expected a free VLAN id, actual a VLAN of others, named 'office'"
    )
    assert bench.configurations()["s2"] == before


@pytest.mark.slow
def test_the_last_way_to_a_switch_is_not_taken_unless_the_inventory_knows_another(bench):
    bench.type("s0", "interface range ethernet g(3-23)", "shutdown", "exit")
    bench.write_build()
    before = bench.configurations()["s0"]
    outcomes = bench.apply(inventory=bench.with_variables(tagloom_out_of_band=None))
    assert outcomes.failed == ("s0",)
    assert outcomes.changed == ("s1", "s2", "s3")
    assert "s0: management: expected an enabled port outside the fabric" in outcomes.by_switch["s0"][0].error
    assert bench.configurations()["s0"] == before
    assert bench.apply(inventory=bench.with_variables(tagloom_out_of_band="false")).failed == ("s0",)
    assert bench.apply(inventory=bench.with_variables(tagloom_out_of_band="true")).changed == ("s0",)


@pytest.mark.slow
def test_a_rollout_may_take_the_last_port_of_vlan_1_where_the_way_is_declared_in_band(bench):
    bench.type("s0", "interface range ethernet g(3-23)", "shutdown", "exit")
    place, inventory = bench.write_rollout({}), bench.with_variables(tagloom_out_of_band=None)
    assert bench.apply(place, inventory=inventory).failed == ("s0",)
    shutil.rmtree(place)
    place = bench.write_rollout({})
    with (place / "build/fabric.yml").open("a") as file:
        file.write('management: {vlan: 40, controller: "s0:g10", links: ["s0:g1", "s1:g1", "s2:g1"]}\n')
    assert bench.apply(place, inventory=inventory).failed == ()


@pytest.mark.parametrize("succeeds", [True, False], ids=["good login", "refused login"])
def test_no_password_is_ever_shown_or_written_but_in_backups(bench, succeeds):
    secret = "correct horse {} battery"  # braces: a template engine must not touch what it brings in
    bench.write_build()
    word = "ansible_become_password" if succeeds else "ansible_password"
    inventory = bench.with_variables(**{"vault_word": secret, word: "{{ vault_word }}"})
    bench.quirk("s2", reject_line="^name ")
    assert bench.by_hand("--diff", "-vvv", inventory=inventory) == 2
    outcomes = RunDirectory(bench.run_directory).read({})
    assert {o.switch for o in outcomes if not o.failed} == ({"s0", "s1", "s3"} if succeeds else set())
    texts = everything_written(bench)
    assert {"ansible.log", "1.s0.json", "hosts.json"} <= texts.keys()
    for name, text in texts.items():
        assert "horse" not in text, name
        assert "watchtower" not in text, name
        assert not re.search(r"password 0{31}", text), name


def test_a_changed_or_unknown_host_key_refuses_the_switch_unless_told_otherwise(bench):
    bench.write_build()
    lines = (bench.rack / "known_hosts").read_text().splitlines()
    by_port = {line.split("]:")[1].split()[0]: line for line in lines}
    ports = [str(bench.info.ports[name]) for name in NAMES]
    other = by_port[ports[1]].split()[1:]
    wrong = bench.directory / "wrong_hosts"
    kept = [by_port[port] for port in ports[2:]]
    wrong.write_text("\n".join([" ".join([by_port[ports[0]].split()[0], *other]), *kept]) + "\n")
    outcomes = bench.apply(inventory=bench.with_variables(tagloom_known_hosts=str(wrong)), check=True)
    if by_port[ports[0]].split()[1:] == other:  # the rack's switches may share one key
        assert outcomes.failed == ("s1",)
    else:
        assert outcomes.failed == ("s0", "s1")
        assert "is not the one in known_hosts" in outcomes.by_switch["s0"][0].error
    assert "not found in known_hosts" in outcomes.by_switch["s1"][0].error
    trusting = bench.with_variables(tagloom_known_hosts=str(wrong), tagloom_host_key_checking=False)
    assert bench.apply(inventory=trusting, check=True).failed == ()


@pytest.mark.slow
def test_variables_that_are_no_number_and_neither_yes_nor_no_are_told_together_and_nothing_is_sent(bench):
    bench.write_build()
    outcomes = bench.apply(inventory=bench.with_variables(tagloom_login_seconds="soon", tagloom_echo="perhaps"))
    assert outcomes.failed == NAMES
    said = outcomes.by_switch["s2"][0].error.splitlines()
    assert said == [
        "s2: tagloom_echo: expected true or false, actual perhaps",
        "s2: tagloom_login_seconds: expected a number, actual soon",
    ]
    assert bench.configurations() == bench.initial


@pytest.mark.slow
def test_a_play_of_ones_own_lays_its_variables_over_a_hosts_and_hears_of_every_switch(bench):
    bench.write_build()
    inventory = bench.with_variables(ansible_password="wrong")
    play = {
        "hosts": "all",
        "connection": "local",
        "gather_facts": False,
        "vars": {"ansible_password": "{{ the_word }}", "the_word": "lab"},
        "roles": ["tagloom_apply"],
    }
    page = bench.directory / "own.yml"
    page.write_text(yaml.safe_dump([play]))
    bench.quirk("s2", reject_line="^name ")
    assert bench.by_hand("--diff", inventory=inventory, page=page) == 2
    recap = {line.split()[0]: line for line in bench.log().splitlines() if " ok=" in line}
    assert [name for name, line in recap.items() if "changed=1" in line] == ["s0", "s1", "s3"]
    assert "failed=1" in recap["s2"]
    (told,) = [line for line in bench.log().splitlines() if line.startswith("fatal: ")]
    assert told.startswith("fatal: [s2]")
    assert "s2 at 'name tagloom'" in told
    assert "+++ after: s1 (apply)" in bench.log()
    assert bench.state("s1") == bench.target("s1")
    bench.quirk("s2", reject_line="")
    assert bench.by_hand(inventory=inventory, page=page) == 0
    assert bench.state("s2") == bench.target("s2")


ROLE = {"ansible.builtin.include_role": {"name": "tagloom_apply"}}
LOOK = {"ansible.builtin.include_role": {"name": "tagloom_apply", "apply": {"check_mode": True}}}
ONLY_S3 = "inventory_hostname == 's3'"
REFUSE_S2 = {"ansible.builtin.assert": {"that": "inventory_hostname != 's2'"}}
LIMITED = {
    "a condition on the included role": ({"tasks": [ROLE | {"when": ONLY_S3}]}, "s0 s1 s2"),
    "a failure before": ({"pre_tasks": [REFUSE_S2], "roles": ["tagloom_apply"]}, "s2"),
}
MORE_LIMITED = {
    "a condition on the role": ({"roles": [{"role": "tagloom_apply", "when": ONLY_S3}]}, "s0 s1 s2"),
    "a batch": ({"serial": 3, "roles": ["tagloom_apply"]}, "s3"),
    "its hosts": ({"hosts": "s0,s1", "roles": ["tagloom_apply"]}, "s2 s3"),
    "an earlier look that all hosts took part in": ({"tasks": [LOOK, ROLE | {"when": ONLY_S3}]}, "s0 s1 s2"),
}


def play_of_ones_own(bench, **words):
    page = bench.directory / "own.yml"
    page.write_text(yaml.safe_dump([{"hosts": "all", "connection": "local", "gather_facts": False} | words]))
    return page


@pytest.mark.parametrize(
    "limit",
    [*LIMITED, *(pytest.param(name, marks=pytest.mark.slow) for name in MORE_LIMITED)],
)
def test_no_switch_that_a_play_leaves_out_is_changed_and_the_refusal_names_them(bench, limit):
    words, left_out = (LIMITED | MORE_LIMITED)[limit]
    bench.write_build()
    assert bench.by_hand(page=play_of_ones_own(bench, **words)) == 2
    assert bench.configurations() == bench.initial
    assert sorted(set(re.findall(r"(s\d): expected in the play", bench.log()))) == left_out.split()
    assert f"tagloom apply {bench.build} --limit" in bench.log()


@pytest.mark.slow
def test_a_play_takes_its_whole_fabric_through_a_condition_or_a_second_call(bench):
    bench.write_build()
    page = play_of_ones_own(bench, tasks=[ROLE | {"when": "inventory_hostname != 's9'"}, ROLE])
    assert bench.by_hand(page=page) == 0, bench.log()
    assert bench.state("s3") == bench.target("s3")


@pytest.mark.slow
def test_a_play_that_leaves_out_the_push_tells_nothing_of_an_earlier_one(bench):
    bench.write_build()
    assert bench.by_hand("--check") == 0, bench.log()
    assert bench.by_hand("--start-at-task", "Say what became of each switch.") == 2
    assert "nothing was pushed: --start-at-task or --tags leave out tasks of the role" in bench.log()
    assert bench.configurations() == bench.initial
    assert bench.by_hand("--tags", "tagloom_apply_by_hand") == 0, bench.log()
    assert bench.state("s3") == bench.target("s3")


@pytest.mark.daily
def test_a_play_under_another_strategy_is_refused(bench):
    bench.write_build()
    page = play_of_ones_own(bench, strategy="host_pinned", roles=["tagloom_apply"])
    assert bench.by_hand(page=page) == 2
    assert "strategy of the play: expected linear or debug, actual host_pinned" in bench.log()
    assert bench.configurations() == bench.initial


@pytest.mark.daily
def test_only_switches_that_a_play_has_are_read(bench):
    role = {"ansible.builtin.include_role": {"name": "tagloom_read"}, "when": ONLY_S3}
    page = play_of_ones_own(bench, tasks=[role], vars={"tagloom_read_directory": str(bench.build / "texts")})
    assert bench.by_hand(page=page) == 0, bench.log()
    assert sorted(path.stem for path in (bench.build / "texts").glob("*.cfg")) == ["s3"]


@pytest.mark.slow
def test_of_switches_whose_addresses_are_swapped_none_is_changed(bench):
    bench.write_build()
    place, (a, b) = bench.with_variables(), [f"127.0.0.1:{bench.info.ports[name]}" for name in ("s0", "s2")]
    page = (place / "fabric.yml").read_text()
    (place / "fabric.yml").write_text(page.replace(a, "x").replace(b, a).replace("x", b))
    assert bench.models["s0"] == bench.models["s2"]
    outcomes = bench.apply(inventory=place)
    assert outcomes.failed == ("s0", "s2")
    assert bench.configurations()["s0"] == bench.initial["s0"]


def test_a_limit_reaches_the_named_switches_only(bench):
    bench.write_build()
    outcomes = bench.apply(limit="s1,s2")
    assert (outcomes.changed, outcomes.unchanged, outcomes.failed) == (("s1", "s2"), (), ())
    assert bench.configurations()["s0"] == bench.initial["s0"]
    with pytest.raises(InputError, match=r"--limit: expected a switch or a group of .*, actual s9"):
        bench.apply(limit="s9")


def test_an_inventory_that_is_not_the_builds_reaches_no_switch(bench):
    bench.write_build()
    page = (bench.build / "fabric.yml").read_text()
    (bench.build / "fabric.yml").write_text(page.replace("s3:", "s4:").replace("switch: s3", "switch: s4"))
    with pytest.raises(InputError) as raised:
        bench.apply()
    assert [finding.where for finding in raised.value.findings] == ["s3", "s4"]
    assert bench.configurations() == bench.initial
    with pytest.raises(InputError, match="nothing there"):
        bench.apply(bench.directory / "nowhere")


@pytest.mark.daily
def test_a_target_with_a_line_that_is_not_understood_is_not_pushed(bench):
    bench.write_build()
    with (bench.build / "configs/s0.cfg").open("a") as file:
        file.write("interface ethernet g1\nswitchport frobnicate\nexit\n")
    outcomes = bench.apply()
    assert outcomes.failed == ("s0",)
    assert outcomes.by_switch["s0"][0].error.endswith("expected a known line, actual switchport frobnicate")
    assert bench.configurations()["s0"] == bench.initial["s0"]


@pytest.mark.daily
@pytest.mark.usefixtures("executed")
def test_a_switch_whose_worker_was_killed_has_failed(bench):
    bench.write_build()
    process.fault(bench.rack, "s0", "slow", at=1, lasts=3600)  # of its first line, until its session is gone
    heard = []

    def kill_the_last_worker(outcome):
        heard.append(outcome.switch)
        if len(heard) == len(NAMES) - 1:
            for worker in workers(bench.rack):
                os.kill(worker, signal.SIGKILL)

    outcomes = bench.apply(on_progress=kill_the_last_worker)
    assert set(heard) == {"s1", "s2", "s3"}
    assert outcomes.failed == ("s0",)
    assert outcomes.changed == ("s1", "s2", "s3")
    assert outcomes.by_switch["s0"][0].error.startswith("no word from it: ")


def workers(inventory):
    """Find the processes that the ansible-playbook of an inventory forked."""
    found = family(inventory)
    return [pid for pid, parent in found.items() if parent in found]


def ansibles(inventory):
    """Find the ansible-playbooks of an inventory."""
    found = family(inventory)
    return [pid for pid, parent in found.items() if parent not in found]


def family(inventory):
    """Find the ansible-playbooks of an inventory and what they forked, each with its parent."""
    found = {}
    for place in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if f"{inventory}/tagloom.yml" in (place / "cmdline").read_text():
                found[int(place.name)] = int((place / "stat").read_text().rpartition(")")[2].split()[1])
    return found


# Rollouts


def test_waves_land_in_order_each_on_what_the_one_before_left(bench):
    place = bench.write_rollout({}, {"pvid": 101}, {"vlans": (101,), "pvid": 101})
    order = []
    preview = bench.apply(place, check=True)
    assert [(o.number, o.changed) for o in preview.outcomes] == [(n, True) for n in (1, 2, 3) for _ in NAMES]
    assert bench.configurations() == bench.initial
    outcomes = bench.apply(place, on_progress=lambda outcome: order.append(outcome.number))
    assert outcomes.changed == NAMES
    assert (outcomes.waves, outcomes.reached) == (3, 3)
    assert order == sorted(order)
    assert bench.state("s1") == bench.target("s1", vlans=(101,), pvid=101)
    for name in NAMES:
        seen = outcomes.by_switch[name]
        foretold = preview.by_switch[name]
        assert [o.commands for o in seen] == [o.commands for o in foretold]


def test_a_failure_stops_the_waves_after_its_own_and_the_run_can_go_on_from_there(bench):
    place = bench.write_rollout({}, {"pvid": 101})
    bench.quirk("s0", drop_after=9)
    first = bench.apply(place)
    assert first.failed == ("s0",)
    assert first.changed == ("s1", "s2", "s3")
    assert first.reached == 1
    assert all(bench.state(name) == bench.target(name) for name in ("s1", "s2", "s3"))
    again = bench.apply(place)  # from the start: switches at the wave's target, and s0 half way, are taken as they are
    assert (again.failed, again.reached) == ((), 2)
    assert bench.state("s0") == bench.target("s0", pvid=101)
    last = bench.apply(place, first_wave=2)
    assert (last.unchanged, last.reached) == (NAMES, 2)


def test_a_switch_that_holds_something_else_than_the_wave_before_left_is_drift_and_stops_the_wave(bench):
    place = bench.write_rollout({}, {"pvid": 101})
    bench.type("s1", "interface ethernet 1/g24", "shutdown", "exit")
    before = bench.configurations()
    for check in (True, False):
        outcomes = bench.apply(place, check=check)
        assert outcomes.failed_by(Fault.DRIFT) == ("s1",)
        assert outcomes.failed == (("s1",) if check else NAMES)
        assert bench.configurations() == before
        assert outcomes.by_switch["s1"][0].error == (
            "refused, nothing was sent: s1: 1/g24 enabled: expected on, actual off"
        )
    assert outcomes.failed_by(Fault.STOPPED) == ("s0", "s2", "s3")
    assert outcomes.by_switch["s0"][0].error.startswith("nothing was sent: another switch of this wave holds ")


@pytest.mark.daily
def test_switches_are_logged_in_to_while_old_frames_leave_and_hear_no_line_before(bench):
    drain_seconds = 4
    place = bench.write_rollout({}, {"pvid": 101}, drain_seconds=drain_seconds)
    heard = []

    def look_while_frames_leave(outcome):
        heard.append((outcome.number, time.monotonic()))
        if len(heard) == len(NAMES):  # the first wave has landed
            until(lambda: all(each["sessions"] == 1 for each in process.status(bench.rack)["switches"].values()))
            assert not any(bench.state(name) == bench.target(name, pvid=101) for name in NAMES)

    outcomes = bench.apply(place, on_progress=look_while_frames_leave)
    assert outcomes.good
    landed, first = (min(at for number, at in heard if number == wave) for wave in (1, 2))
    assert first - landed > drain_seconds - 1, "a wave is heard of later than it lands"
    last = max(at for number, at in heard if number == 2)
    assert time.monotonic() - last > drain_seconds - 1, "the last wave's frames leave too"
    spent = max(each.seconds for each in outcomes.outcomes if each.number == 2)
    assert spent < last - landed - drain_seconds / 2, "nobody's fault that it waited"


@pytest.mark.daily
@pytest.mark.parametrize("how", ["asked", "gone"])
def test_a_run_that_is_to_end_while_old_frames_leave_ends_at_once_and_begins_no_wave(bench, how):
    place = bench.write_rollout({}, {"pvid": 101}, drain_seconds=3600)  # who waited for that would never be seen to end

    def end(_outcome):
        if how == "gone":
            raise ConnectionResetError("as if this process were gone")
        request_stop(bench.run_directory)

    if how == "asked":
        outcomes = bench.apply(place, on_progress=end)
        assert outcomes.stopped
        assert (outcomes.failed, outcomes.reached, outcomes.error) == ((), 1, "")
    else:
        with pytest.raises(ConnectionResetError):
            bench.apply(place, on_progress=end)
        log = next(bench.rack.glob("runs/*-ansible.log")).read_text()
        assert "stopped before wave 2: the command that began is gone" in log
    assert all(bench.state(name) == bench.target(name) for name in NAMES)
    assert {o.number for o in RunDirectory(bench.run_directory).read({})} == {1}
    assert [each["sessions"] for each in process.status(bench.rack)["switches"].values()] == [0] * len(NAMES)


@pytest.mark.slow
def test_where_a_wave_cannot_be_written_down_neither_it_nor_one_after_it_begins_and_the_reason_is_told(bench):
    place = bench.write_rollout({}, {"pvid": 101}, {"vlans": (101,), "pvid": 101}, drain_seconds=2)

    def take_its_place(_outcome):
        begun = RunDirectory(bench.run_directory).begun
        if begun.is_file():
            begun.unlink()
            begun.mkdir()

    try:
        outcomes = bench.apply(place, on_progress=take_its_place)
    finally:
        RunDirectory(bench.run_directory).begun.rmdir()
    assert (outcomes.failed, outcomes.stopped) == ((), False)
    assert "stopped before wave 2: " in outcomes.error
    assert "Is a directory" in outcomes.error
    assert {o.number for o in RunDirectory(bench.run_directory).read({})} == {1}
    assert all(bench.state(name) == bench.target(name) for name in NAMES)


# One ansible-playbook


@pytest.mark.slow
@pytest.mark.usefixtures("executed")
def test_one_ansible_does_a_job_after_the_other_and_a_new_one_what_comes_after_its_end(bench):
    place = bench.write_rollout({}, {"pvid": 101})
    with bench.ansible() as ansible:
        look = bench.do(ansible, Job(place, check=True, last_wave=1))
        (first,) = ansibles(bench.rack)
        assert (look.changed, bench.configurations()) == (NAMES, bench.initial)
        some = bench.do(ansible, Job(place, last_wave=1, limit=("s0", "s2")))
        assert (some.changed, some.waves) == (("s0", "s2"), 1)
        rest = bench.do(ansible, Job(place, last_wave=1))
        assert (rest.changed, rest.unchanged) == (("s1", "s3"), ("s0", "s2"))
        assert ansibles(bench.rack) == [first]

        def find_that_it_must_not_be():
            raise PlanError("every state must be proven", "this one is not")

        with pytest.raises(PlanError, match="every state must be proven"):
            bench.do(ansible, Job(place, first_wave=2), meanwhile=find_that_it_must_not_be)
        assert ansibles(bench.rack) == []
        assert all(bench.state(name) == bench.target(name) for name in NAMES), "it was logged in to, and no more"
        assert bench.do(ansible, Job(place, first_wave=2)).changed == NAMES
    assert ansibles(bench.rack) == []


@pytest.mark.daily
def test_an_ansible_without_a_job_reaches_for_nothing_and_leaves_nothing(bench):
    logins = {name: each["logins"] for name, each in process.status(bench.rack)["switches"].items()}
    before = sorted(bench.rack.rglob("*"))
    with bench.ansible() as ansible:
        ansible.start()
    assert {name: each["logins"] for name, each in process.status(bench.rack)["switches"].items()} == logins
    assert [path for path in sorted(bench.rack.rglob("*")) if path not in before and path.name != "runs"] == []


@pytest.mark.daily
def test_a_switch_of_another_model_is_refused_before_a_line_is_sent(bench):
    """Both speak FASTPATH: every line would be taken, and mean ports that a 6224 has not."""
    outcome = bench.bring_as("s1", "powerconnect-6224")
    assert outcome.error == (
        "refused, nothing was sent: switch: model: expected powerconnect-6224, actual powerconnect-6248 "
        "(1.3.6.1.4.1.674.10895.3011)"
    )
    assert (outcome.sent, outcome.changed) == ((), False)


def test_a_model_that_nobody_can_log_in_to_is_refused(tmp_path):
    (tmp_path / "fabric.yml").write_text("model: sf-0420g\nshape: {family: ring, dims: [3]}\n")
    with pytest.raises(InputError, match="model sf-0420g: expected a model that tagloom can log in to"):
        prepare.prepare(tmp_path)
