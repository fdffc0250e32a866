"""Run one rack of both families for the tests that talk to it over SSH."""

import contextlib
from dataclasses import asdict, replace

import netmiko
import pytest

from lab_fabrics import TEMPLATES, fabric
from tagloom.lab import process
from tagloom.lab.device import Quirks
from tagloom.lab.directory import Order

ROS, FASTPATH = "powerconnect-5324", "powerconnect-6224"


@pytest.fixture(scope="session")
def rack(tmp_path_factory):
    """Three switches in a row (ROS, FASTPATH, ROS), and five beside them for conversations that run at once."""
    directory = tmp_path_factory.mktemp("rack")
    models = [ROS, FASTPATH, ROS, ROS, FASTPATH, ROS, ROS, ROS]
    made = fabric(8, [(0, 1, 1, 1), (1, 2, 2, 2)], models=models)
    made = replace(made, hosts=made.hosts[:3])
    process.up(Order(made, TEMPLATES), directory)
    yield directory
    process.down(directory)


@pytest.fixture
def restore(rack):
    """Give every switch its factory configuration and manners back after the test."""
    yield
    process.quirks(rack, {"*": asdict(Quirks())})
    process.reboot(rack)


@pytest.fixture(scope="session")
def connect(rack):
    """Open netmiko connections that check the rack's own host keys; all are cut at the end.

    netmiko's own disconnect asks for two seconds first whether it is in configuration mode.
    """
    ports = process.read_info(rack).ports

    def cut(connection):
        with contextlib.suppress(EOFError, OSError):  # the switch may have rebooted since
            connection.paramiko_cleanup()

    with contextlib.ExitStack() as stack:

        def open_one(name, driver, **options):
            settings = {
                "username": "lab",
                "password": "lab",
                "ssh_strict": True,
                "alt_host_keys": True,
                "alt_key_file": str(rack / "known_hosts"),
            }
            connection = netmiko.ConnectHandler(
                device_type=driver, host="127.0.0.1", port=ports[name], **(settings | options)
            )
            stack.callback(cut, connection)
            return connection

        yield open_one
