"""Whatever manners a console has, it is recorded and configured, or refused without harm where no setting helps."""

import json

import pytest

from tagloom import platforms
from tagloom.adapters.ssh import SshSwitch
from tagloom.apply.session import Session
from tagloom.apply.switch import configure_switch
from tagloom.cli import main
from tagloom.errors import DeviceError
from tagloom.lab import process
from tagloom.lab.manners import MANNERS
from thinned import few

pytestmark = pytest.mark.slow

FAMILIES = ("s0", "s1")  # ROS asks for its login in the shell, FASTPATH by SSH
# What the inventory must say of a console, where it can be talked to then.
SETTINGS = {
    "asks-to-enable": {"enable_password": "lab"},
    "loses-some-typed": {"careful": True},
    "loses-some-shown": {"echo": False},
}
VARIABLES = {"enable_password": "ansible_become_password", "careful": "tagloom_careful", "echo": "tagloom_echo"}
SOON = {"tagloom_login_seconds": 15, "tagloom_answer_seconds": 60}
CASES = [(name, switch) for name in MANNERS for switch in FAMILIES]
DAILY = ("wrapped", "paged-by-more", "banner-like-prompts", "asks-name")
EVERY_DAY = [CASES.index((name, FAMILIES[number % 2])) for number, name in enumerate(DAILY)]


def test_twenty_kinds_and_more_are_recorded_and_applied_to_on_both_kinds_of_login():
    """Slow, wrapped, paged, banners, login dialogues, dropped characters: by name, so that none is lost."""
    assert len(MANNERS) >= 20
    assert {(name, switch) for name, switch in CASES} == {(name, switch) for name in MANNERS for switch in FAMILIES}
    kinds = ("slow", "wrapped", "paged", "banner", "asks-", "loses-")
    assert all(any(name.startswith(kind) for name in MANNERS) for kind in kinds)


@pytest.fixture
def behave(bench):
    """Give a switch a manner, and return what a session must know of it."""

    def begin(switch, name):
        process.manner(bench.rack, switch, name)
        return SETTINGS.get(name, {})

    yield begin
    for switch in bench.names:
        process.manner(bench.rack, switch)


def configure(bench, switch, settings, state):
    platform = platforms.load(bench.models[switch])
    session = SshSwitch(switch, platform, bench.access(switch, **settings))
    return configure_switch(
        Session(session, switch, backups=bench.directory / "backups"),
        bench.language(switch),
        state,
        (1, 2, 24),
        check=False,
        out_of_band=True,
    )


@pytest.mark.parametrize(("name", "switch"), few(CASES, *EVERY_DAY))
def test_a_console_of_any_manners_is_recorded_and_configured(bench, behave, name, switch, tmp_path, capsys):
    settings = behave(switch, name)
    inventory = bench.with_variables(**SOON, **{VARIABLES[key]: value for key, value in settings.items()})
    before = bench.configurations()[switch]
    status = main(["record", switch, "-i", str(inventory), "-o", str(tmp_path / "page.json"), "--json"])
    shown = capsys.readouterr()
    assert status == 0, shown
    page = json.loads(shown.out)
    assert page["refuted"] == []
    assert len(page["confirmed"]) > 10
    assert bench.configurations()[switch] == before

    outcome = configure(bench, switch, settings, bench.target(switch))
    assert (outcome.error, outcome.changed, outcome.saved) == ("", True, True)
    assert bench.language(switch).text(bench.state(switch)) == bench.rendered(switch)
    assert bench.configurations(startup=True)[switch] == bench.configurations()[switch]
    again = configure(bench, switch, settings, bench.target(switch))
    assert (again.error, again.changed) == ("", False)


@pytest.mark.parametrize("switch", few(FAMILIES, 0))
def test_a_console_that_shows_less_than_was_typed_is_refused_at_once(bench, behave, switch):
    """Whether the switch took what was typed or what it shows cannot be known: nothing further is sent."""
    behave(switch, "loses-some-shown")
    with pytest.raises(DeviceError, match="tagloom_careful: true if it loses"), bench.connection(switch):
        pass
    assert bench.configurations()[switch] == bench.initial[switch]


@pytest.mark.daily
def test_a_lost_return_is_typed_again(bench, behave):
    behave("s0", "loses-returns")
    with bench.connection("s0", answer_seconds=30.0) as connection:
        connection.ask("show interfaces status")  # some of it is lost, so that fewer keys are sent at once from here on
        assert len({connection.help("show ip interface ") for _ in range(8)}) == 1


@pytest.mark.parametrize("switch", few(FAMILIES, 0))
def test_a_careful_session_sends_no_line_that_arrived_in_part(bench, behave, switch):
    behave(switch, "loses-some-typed")
    with bench.connection(switch, careful=True) as connection:
        for vlans in ("100-109", "110-119", "120-129", "130-139", "140-149"):
            connection.send(("vlan database", f"vlan {vlans}", "exit"))
    assert set(bench.state(switch).vlans) == {1, *range(100, 150)}


def test_four_switches_of_different_manners_are_applied_to_by_ansible(bench, behave):
    for switch, name in zip(bench.names, ("banner-like-prompts", "asks-small", "paged-by-key", "wrapped"), strict=True):
        behave(switch, name)
    bench.write_build()
    outcomes = bench.apply(inventory=bench.with_variables(**SOON))
    assert {name: found[-1].error for name, found in outcomes.by_switch.items()} == dict.fromkeys(bench.names, "")
    assert all(bench.language(name).text(bench.state(name)) == bench.rendered(name) for name in bench.names)
