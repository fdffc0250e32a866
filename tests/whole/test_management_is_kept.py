"""A first push takes VLAN 1 off the fabric's links, and cuts off no switch that is managed over them alone."""

import pytest

from command_line import commands
from command_line.terminal import Terminal
from tagloom.lab import process

pytestmark = pytest.mark.slow

HOSTS = "hosts:\n" + "".join(f"  m{s}: {{switch: s{s}, port: g20}}\n" for s in range(2))


@pytest.fixture(scope="module")
def terminal(tmp_path_factory):
    """Return a terminal beside a rack of three switches, managed in band, two of them over a cable at g20."""
    terminal = Terminal(tmp_path_factory.mktemp("managed"))
    terminal("new", "ring", "--dims", 3, "-o", "f.yml")
    terminal("plan", "f.yml", "-o", "b")
    (terminal.home / "cabled.yml").write_text((terminal.home / "f.yml").read_text() + HOSTS)
    with terminal.lab("cabled.yml"):
        variables = terminal.rack / "group_vars" / "all.yml"
        variables.write_text(variables.read_text().replace("tagloom_out_of_band: true", "tagloom_out_of_band: false"))
        yield terminal


def shown_by(terminal, *words):
    """Return the exit status of a command and all that it shows, on one line."""
    done = commands.run(words, terminal.home, together=True)
    return done.returncode, " ".join(done.stdout.split())


@pytest.mark.parametrize(
    "more",
    [
        pytest.param((), marks=pytest.mark.daily, id="hitless"),
        pytest.param(("--allow", "interrupt"), id="at once"),
        pytest.param(("--check",), marks=pytest.mark.daily, id="check"),
    ],
)
def test_a_switch_without_another_cable_is_named_and_nothing_is_sent(terminal, more):
    before = process.configurations(terminal.rack)
    status, shown = shown_by(terminal, "apply", "b", *more)
    assert status == 1
    assert "s2: every port that is up belongs to the fabric" in shown
    assert "s0: every" not in shown
    assert "s1: every" not in shown
    assert "tagloom_out_of_band: true" in shown
    assert process.configurations(terminal.rack) == before


def test_without_snmp_it_is_not_checked_and_that_is_said(terminal):
    settings = terminal.rack / "snmp.yml"
    kept = settings.read_text()
    settings.unlink()
    try:
        _, shown = shown_by(terminal, "apply", "b", "--check", "--allow", "interrupt")
    finally:
        settings.write_text(kept)
    assert "management not checked" in shown


def test_with_an_out_of_band_port_or_a_cable_at_each_the_push_goes_on(terminal):
    host = terminal.rack / "host_vars"
    host.mkdir()
    (host / "s2.yml").write_text("tagloom_out_of_band: true\n")
    assert terminal.answer("apply", "b")["hitless"]
