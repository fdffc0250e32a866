"""Sessions that stay open need no second login, are opened anew where they are lost, and end with who keeps them."""

import pytest

from tagloom.adapters.warm_sessions import WarmSessions
from tagloom.apply.run_directory import Job
from tagloom.errors import DeviceError
from tagloom.lab import process
from waiting import until


@pytest.fixture
def warm(bench):
    lost = []
    sessions = WarmSessions({name: bench.connection(name) for name in bench.names}, lost.append, every_seconds=0.2)
    yield sessions, lost
    sessions.close()
    assert sessions.open == ()


def test_a_session_that_is_open_is_used_again_and_again_without_a_login(bench, warm):
    sessions, lost = warm
    until(lambda: set(sessions.open) == set(bench.names))
    bench.quirk("s0", refuse_login=True)
    for _ in range(2):
        with sessions.lend("s0") as connection, connection:
            assert "interface" in connection.running_configuration()
            assert connection.sent == []
            connection.send(["vlan database", "vlan 77", "exit"])
            assert len(connection.sent) == 3
    assert lost == []


def test_a_session_that_failed_is_not_used_again(warm):
    sessions, _ = warm
    until(lambda: "s0" in sessions.open)
    with pytest.raises(DeviceError), sessions.lend("s0") as connection, connection:
        connection.send(["no such words"])
    with sessions.lend("s0") as connection, connection:
        assert "interface" in connection.running_configuration()


def test_a_session_that_is_lost_is_told_of_and_opened_anew(bench, warm):
    sessions, lost = warm
    until(lambda: "s1" in sessions.open)
    process.fault(bench.rack, "s1", "reboot", lasts=0.1)
    until(lambda: "s1" in lost)
    until(lambda: "s1" in sessions.open)


@pytest.mark.slow
def test_how_switches_are_logged_in_to_comes_from_ansible_and_stands_in_no_file(bench, tmp_path):
    (tmp_path / "hosts.yml").write_text(
        "all:\n  vars: {word: salamander-9, ansible_password: '{{ word }}'}\n"
        "  hosts: {s0: {ansible_host: 192.0.2.1, ansible_user: plant}, s1: {}}\n"
    )
    with bench.ansible(inventory=tmp_path / "hosts.yml") as ansible:
        found = ansible.access(tmp_path / "asked")
    assert set(found) == {"s0", "s1"}
    assert found["s0"] == {
        "inventory_hostname": "s0", "ansible_host": "192.0.2.1", "ansible_user": "plant",
        "ansible_password": "salamander-9", "tagloom_other_switches": ["s1"],
    }  # fmt: skip
    files = [path for path in tmp_path.rglob("*") if path.is_file() and path.name != "hosts.yml"]
    assert files
    assert not [path for path in files if b"salamander" in path.read_bytes()]


@pytest.mark.slow
def test_jobs_follow_after_ansible_was_asked_for_that(bench):
    bench.write_build()
    with bench.ansible() as ansible:
        ansible.access(bench.directory / "asked")
        assert bench.do(ansible, Job(bench.build)).good
