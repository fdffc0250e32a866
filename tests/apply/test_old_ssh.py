"""Old switches are reached: what is installed is not too new for them, and a host key that changed is explained."""

import tomllib
from pathlib import Path

import asyncssh
import paramiko
import pytest
from packaging.requirements import Requirement

from background_loop import BackgroundLoop
from tagloom.adapters import host_keys
from tagloom.adapters.connect import connect
from tagloom.adapters.ssh import Access, known_name
from tagloom.errors import DeviceError
from tagloom.lab import server
from tagloom.lab.device import Device
from tagloom.platforms import load
from tagloom.render import render_configuration
from tagloom.share import share_directory

# cryptography announces that it will drop this key exchange, which is why it is kept below 51.
pytestmark = pytest.mark.filterwarnings("ignore:Diffie-Hellman over finite fields")
ROOT = Path(__file__).parents[2]
MODEL = load("powerconnect-5324")
OLD = ["diffie-hellman-group1-sha1", "diffie-hellman-group14-sha1"]


def bounds(requirements):
    return {each.name: each.specifier for each in map(Requirement, requirements)}


def test_paramiko_and_cryptography_are_kept_below_what_would_cut_old_switches_off():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    default, legacy = bounds(project["dependencies"]), bounds(project["optional-dependencies"]["legacy-ssh"])
    assert default["paramiko"].contains("4.0.0")
    assert not default["paramiko"].contains("5.0.0")  # which has no SHA-1
    assert legacy["paramiko"].contains("3.5.1")
    assert not legacy["paramiko"].contains("4.0.0")  # which has no ssh-dss
    assert default["cryptography"].contains("50.0.0")
    assert not default["cryptography"].contains("51.0.0")
    risk = (ROOT / "SECURITY.md").read_text().partition("- **Old SSH.**")[2].partition("\n- **")[0]
    for words in ("tagloom[legacy-ssh]", "1024 bits", "SHA-1", "impersonate", "below 5", "below 51"):
        assert words in " ".join(risk.split())


@pytest.fixture
def old_console(monkeypatch):
    """Return what serves a 5324's console with one host key and one key exchange, and the port of it."""
    loop = BackgroundLoop()
    open_ports = []

    def serve(kind, exchange):
        device = Device("s0", MODEL, lambda state: render_configuration(MODEL, state, share_directory() / "templates"))
        key = asyncssh.generate_private_key(kind)

        monkeypatch.setattr(server, "LEGACY", {**server.LEGACY, "kex_algs": [exchange]})
        monkeypatch.setattr(server, "LEGACY_HOST_KEY", kind.encode())
        open_ports.append(loop.run(server.serve(device, [key], set(), legacy=True)))
        return open_ports[-1].get_port()

    yield serve
    for each in open_ports:
        loop.close_server(each)
    loop.close()


@pytest.mark.parametrize("exchange", OLD)
@pytest.mark.parametrize("kind", ["ssh-dss", "ssh-rsa"])
def test_a_console_that_speaks_nothing_newer_is_enrolled_and_logged_in_to(old_console, kind, exchange, tmp_path):
    port, known = old_console(kind, exchange), tmp_path / "known_hosts"
    key = host_keys.fetch("s0", "127.0.0.1", port, 5.0)
    assert key.get_name() == kind
    assert host_keys.enrol(known, "127.0.0.1", port, key)
    access = Access("127.0.0.1", port, "lab", "lab", known_hosts=str(known), fast_cli=True)
    with connect("s0", MODEL, access) as console:
        assert "Neyland" in console.identity()


def test_a_host_key_that_has_changed_is_refused_with_the_commands_that_accept_it(old_console, tmp_path):
    port, known = old_console("ssh-rsa", OLD[1]), tmp_path / "known_hosts"
    host_keys.enrol(known, "127.0.0.1", port, paramiko.RSAKey.generate(2048))
    access = Access("127.0.0.1", port, "lab", "lab", known_hosts=str(known), fast_cli=True)
    with pytest.raises(DeviceError) as refused, connect("s0", MODEL, access):
        pass
    said = str(refused.value)
    assert "is not the one in known_hosts" in said
    assert "tagloom replace s0 --new-key" in said
    assert f"ssh-keygen -R '{known_name('127.0.0.1', port)}' -f {known}" in said
