"""A switch that lost its configuration: who gets in, over a serial line and telnet, and how it is brought back."""

import contextlib
import os
import socket

import pytest

from lab_fabrics import TEMPLATES, fabric
from tagloom import platforms
from tagloom.adapters.connect import connect
from tagloom.adapters.ssh import Access
from tagloom.cli import main
from tagloom.errors import DeviceError
from tagloom.lab import process
from tagloom.lab.directory import Order
from waiting import until

MODELS = ["powerconnect-5324", "powerconnect-5548", "powerconnect-6248", "n-series"]
ADDRESS = ["interface vlan 1", "ip address 192.0.2.9 255.255.255.0", "exit"]
GLOBAL_ADDRESS = ["ip address 192.0.2.9 255.255.255.0"]  # of a 62xx
USER = ["username ops password first-day level 15", "crypto key generate rsa", "ip ssh server"]


class Line:
    """One end of a serial line or of a telnet session."""

    def __init__(self, directory, switch, kind):
        where = process.console(directory, switch)
        if kind == "telnet":
            host, port = where["telnet"].split(":")
            self._wire = socket.create_connection((host, int(port)))
            self._file = self._wire.fileno()
        else:
            self._file = os.open(where["serial"], os.O_RDWR | os.O_NOCTTY)
        os.set_blocking(self._file, False)
        self.shown = ""

    def type(self, line, then):
        """Type a line, and wait until the screen ends with what is expected."""
        self.shown = ""
        os.write(self._file, line.encode() + b"\r")
        until(lambda: self._read().endswith(then), seconds=20)
        return self.shown

    def _read(self):
        with contextlib.suppress(BlockingIOError):
            self.shown += os.read(self._file, 4096).decode("latin-1")
        return self.shown.rstrip(" ")


@pytest.fixture(scope="module")
def rack(tmp_path_factory):
    directory = tmp_path_factory.mktemp("factory")
    links = [(0, 1, 1, 1), (1, 2, 2, 2), (2, 3, 3, 3)]
    process.up(Order(fabric(4, links, models=MODELS), TEMPLATES), directory)
    process.keep(directory)
    yield directory
    process.down(directory)


@pytest.fixture
def factory(rack):
    """Return a rack whose switches all lost their configurations."""
    process.restore(rack)
    for number in range(len(MODELS)):
        process.fault(rack, f"s{number}", "factory")
    return rack


def login(directory, number, user, password):
    """Log in over SSH, and return the running configuration."""
    port = process.read_info(directory).ports[f"s{number}"]
    known = str(directory / "known_hosts")
    access = Access("127.0.0.1", port, user, password, known_hosts=known, fast_cli=True)
    with connect(f"s{number}", platforms.load(MODELS[number]), access) as connection:
        return connection.running_configuration()


@pytest.mark.parametrize("number", range(len(MODELS)), ids=MODELS)
def test_from_the_factory_only_a_console_gets_in_until_it_has_said_who_may(factory, number):
    with pytest.raises(DeviceError):
        login(factory, number, "lab", "lab")
    assert "hostname" not in process.configurations(factory)[f"s{number}"]
    line = Line(factory, f"s{number}", ["telnet", "serial"][number % 2])
    assert "User" not in line.type("", "console>")
    line.type("enable", "console#")
    line.type("configure", "(config)#")
    for each in [*(GLOBAL_ADDRESS if MODELS[number] == "powerconnect-6248" else ADDRESS), *USER]:
        line.type(each, ")#")
    assert "username ops" in login(factory, number, "ops", "first-day")
    with pytest.raises(DeviceError, match="refused for user 'ops'"):
        login(factory, number, "ops", "lab")
    line.type("exit", "console#")
    saved = line.type("copy running-config startup-config", "?" if number < 2 else ")")
    assert "(" in saved
    line.type("y", "console#")
    process.reboot(factory, f"s{number}")
    assert "username ops" in login(factory, number, "ops", "first-day")
    line = Line(factory, f"s{number}", "serial")
    line.type("", ":")
    line.type("ops", "Password:")
    line.type("wrong", ":")
    assert "failed" in line.shown
    line.type("ops", "Password:")
    line.type("first-day", "console>")


def test_delete_startup_config_and_reload_lead_there_too_and_a_lab_can_be_restored(rack):
    process.restore(rack)
    line = Line(rack, "s0", "telnet")
    line.type("", "User Name:")
    line.type("lab", "Password:")
    line.type("lab", ">")
    line.type("enable", "#")
    line.type("delete startup-config", "(y/n)")
    line.type("y", "#")
    assert "watchtower" in process.configurations(rack)["s0"]
    line.type("reload", "(y/n)")
    os.write(line._file, b"y\r")
    until(lambda: "watchtower" not in process.configurations(rack)["s0"])
    with pytest.raises(DeviceError):
        login(rack, 0, "lab", "lab")
    process.restore(rack)
    assert "watchtower" in login(rack, 0, "lab", "lab")


def test_the_command_says_where_consoles_are(rack, capsys):
    assert main(["lab", "console", "s1", "--dir", str(rack)]) == 0
    shown = capsys.readouterr().out
    assert all(each in shown for each in process.console(rack, "s1").values())
