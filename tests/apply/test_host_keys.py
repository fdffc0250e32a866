"""A host key takes the place of another one only where that was said, and for that host alone."""

from pathlib import Path

import paramiko
import pytest

from tagloom.adapters import host_keys
from tagloom.adapters.ssh import Access
from tagloom.cli.bootstrapping import is_looked_in, known_hosts_of
from tagloom.errors import InputError

OLD, NEW = (paramiko.RSAKey.generate(1024) for _ in range(2))


def entry(names, key):
    return f"{names} {key.get_name()} {key.get_base64()}\n"


@pytest.fixture
def known(tmp_path):
    hashed = paramiko.HostKeys.hash_host("192.0.2.1")
    path = tmp_path / "known_hosts"
    path.write_text(
        "# kept\n"
        + entry("192.0.2.1", OLD)
        + entry("192.0.2.2,192.0.2.1,s1", OLD)
        + entry(hashed, OLD)
        + entry("[192.0.2.1]:2222", OLD)
        + entry("192.0.2.11", OLD).rstrip()
    )
    return path


def test_another_key_is_refused_and_the_file_stays(known):
    before = known.read_text()
    with pytest.raises(InputError, match=r"ssh-keygen -R '192\.0\.2\.1'"):
        host_keys.enrol(known, "192.0.2.1", 22, NEW)
    assert known.read_text() == before


def test_only_the_keys_of_that_host_go(known):
    assert host_keys.enrolled(known, "192.0.2.1", 22) == (OLD.fingerprint,)
    assert host_keys.enrol(known, "192.0.2.1", 22, NEW, instead=True)
    assert known.read_text() == "# kept\n" + entry("192.0.2.2,s1", OLD) + entry("[192.0.2.1]:2222", OLD) + entry(
        "192.0.2.11", OLD
    ) + entry("192.0.2.1", NEW)
    assert host_keys.enrolled(known, "192.0.2.1", 22) == (NEW.fingerprint,)
    assert not host_keys.enrol(known, "192.0.2.1", 22, NEW, instead=True)


def test_a_file_that_is_no_known_hosts_is_a_finding(tmp_path):
    path = tmp_path / "known_hosts"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(InputError):
        host_keys.enrol(path, "192.0.2.1", 22, NEW)


@pytest.mark.parametrize(
    ("named", "plugin", "looked_in"), [("", False, False), ("", True, True), ("~/keys", False, True)]
)
def test_pushes_look_where_the_key_is_put_if_the_inventory_says_so(tmp_path, named, plugin, looked_in):
    if plugin:
        (tmp_path / "tagloom.yml").touch()
    access = Access("192.0.2.1", 22, "admin", "", known_hosts=named)
    assert is_looked_in(access, tmp_path) is looked_in
    assert known_hosts_of(access, tmp_path) == (Path(named).expanduser() if named else tmp_path / "known_hosts")
