"""Run the system's snmpd on loopback, with a PDU's and a switch's objects."""

import os
import socket
import subprocess
import time
from functools import partial

import pytest

from needs import PATH, require
from tagloom.measure import sessions

OBJECTS = """
override .1.3.6.1.4.1.318.1.1.26.4.3.1.5.1 integer 37
override .1.3.6.1.4.1.318.1.1.26.9.4.3.1.7.4 integer 112
override .1.3.6.1.4.1.318.1.1.26.9.4.3.1.7.5 integer -1
override .1.3.6.1.4.1.13742.6.5.2.3.1.4.1.1.5 integer 12345
override .1.3.6.1.4.1.13742.6.3.3.4.1.7.1.1.5 integer 1
override .1.3.6.1.4.1.13742.6.5.4.3.1.4.1.7.5 integer 61
override .1.3.6.1.4.1.13742.6.3.5.4.1.7.1.7.5 integer 0
override .1.3.6.1.2.1.99.1.1.1.1.3 integer 6
override .1.3.6.1.2.1.99.1.1.1.1.4 integer 8
override .1.3.6.1.2.1.99.1.1.1.1.9 integer 6
override .1.3.6.1.2.1.99.1.1.1.2.3 integer 9
override .1.3.6.1.2.1.99.1.1.1.2.4 integer 9
override .1.3.6.1.2.1.99.1.1.1.2.9 integer 8
override .1.3.6.1.2.1.99.1.1.1.3.3 integer 1
override .1.3.6.1.2.1.99.1.1.1.3.4 integer 0
override .1.3.6.1.2.1.99.1.1.1.3.9 integer 0
override .1.3.6.1.2.1.99.1.1.1.4.3 integer 425
override .1.3.6.1.2.1.99.1.1.1.4.4 integer 51
override .1.3.6.1.2.1.99.1.1.1.4.9 integer 500
override .1.3.6.1.2.1.105.1.3.1.1.4.1 integer 30
override .1.3.6.1.2.1.105.1.3.1.1.4.2 integer 12
"""


@pytest.fixture
def steady(monkeypatch):
    """Let commands that end where the machine's clock is set look at one that nobody sets."""
    monkeypatch.setattr(sessions, "Clocks", partial(sessions.Clocks, wall=time.monotonic))


@pytest.fixture(scope="module")
def agent(tmp_path_factory):
    """Run the system's snmpd on loopback with a PDU's and a switch's objects."""
    require("snmpd")
    folder = tmp_path_factory.mktemp("snmpd")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    lines = [f"agentAddress udp:127.0.0.1:{port}", "rocommunity watch", OBJECTS]
    (folder / "snmpd.conf").write_text("\n".join(lines))
    words = ["snmpd", "-f", "-C", "-c", str(folder / "snmpd.conf"), "-p", str(folder / "pid"), "-I", "-smux", "-Lf"]
    environment = {**os.environ, "PATH": PATH, "SNMP_PERSISTENT_DIR": str(folder)}
    process = subprocess.Popen([*words, str(folder / "log")], env=environment)
    yield f"127.0.0.1:{port}"
    process.terminate()
    process.wait()
