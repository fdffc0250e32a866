"""Give the switches that every connection is held against: the virtual rack's, and a real one where one is named.

TAGLOOM_SWITCH="model,address,port,user,password" adds a real switch; the tests make and remove one VLAN of their own
(id 3999, which must be free) and save once. A Linux machine must have no bridge named tagloom, a port swp1 that may be
taken, and root for a user.
"""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from tagloom import platforms
from tagloom.adapters.connect import connect
from tagloom.adapters.ssh import Access
from tagloom.lab import process
from tagloom.lab.directory import Order
from tagloom.records.fabric import Fabric, Host, Link, Switch

MODELS = (
    "powerconnect-5324",
    "powerconnect-5548",
    "powerconnect-6224",
    "n-series",
    "cisco-cbs350-24t-4g",
    "linux-bridge",
    "mikrotik-crs326-24g-2s",
    "hpe-5130-24g-4sfp",
    "huawei-s5731-s24t4x",
    "arista-7010t-48",
)
REAL = os.environ.get("TAGLOOM_SWITCH", "")


@pytest.fixture(scope="session")
def conformance_rack(tmp_path_factory):
    directory = tmp_path_factory.mktemp("conformance")
    fabric = Fabric(
        name="conformance",
        switches=tuple(Switch(model, model) for model in MODELS),
        hosts=(Host("h0", 0, 24, 0x02_00_00_00_00_00), Host("h1", 1, 24, 0x02_00_00_00_00_01)),
        links=tuple(Link(n, n + 1, n + 1, n + 1) for n in range(len(MODELS) - 1)),
        ports=tuple(platforms.load(model).ports for model in MODELS),
    )
    process.up(Order(fabric, Path(__file__).parents[2] / "templates"), directory)
    yield directory
    process.down(directory)


@pytest.fixture(params=[*MODELS, *(["real"] if REAL else [])])
def target(request):
    """Give a model and how to reach a switch of it."""
    if request.param == "real":
        model, address, port, user, password = REAL.split(",", 4)
        return model, Access(address, int(port), user, password)
    directory = request.getfixturevalue("conformance_rack")
    port = process.read_info(directory).ports[request.param]
    known_hosts = str(directory / "known_hosts")
    return request.param, Access("127.0.0.1", port, "lab", "lab", known_hosts=known_hosts, fast_cli=True)


@pytest.fixture
def platform(target):
    return platforms.load(target[0])


@pytest.fixture
def log_in(target, platform):
    """Make connections; `with log_in() as switch:` logs in."""

    def make(**changes):
        return connect("switch", platform, replace(target[1], **changes))

    return make
