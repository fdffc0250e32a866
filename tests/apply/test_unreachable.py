"""Real ansible-playbook, and switches that nobody reaches: what it is started with, asked, and what becomes of it."""

import json
import os
import socket
from dataclasses import replace
from pathlib import Path

import pytest

from command_line import loaded
from fabrics import make_fabric
from tagloom.apply.outcomes import Fault
from tagloom.apply.playbook import Ansible
from tagloom.apply.reading import read_each, read_running
from tagloom.apply.run_directory import Job
from tagloom.apply.site import Site
from tagloom.errors import DeviceError, InputError
from tagloom.read import format_fabric
from tagloom.share import share_directory

SHARE = share_directory()
NAMES = ("s0", "s1")
ENVIRONMENT = {key: os.environ[key] for key in ("PATH", "HOME", "COVERAGE_PROCESS_CONFIG") if key in os.environ}
VARIABLES = "{ansible_user: lab, ansible_password: hunter2, tagloom_login_seconds: 5, tagloom_out_of_band: true}\n"


@pytest.fixture(scope="module", autouse=True)
def _loaded():
    loaded.use()


@pytest.fixture
def inventory(tmp_path):
    """An inventory of two switches at ports where nobody listens."""
    place, fabric = tmp_path / "inventory", make_fabric("mesh", 2, 1)
    with socket.socket() as one, socket.socket() as other:
        for wire in (one, other):
            wire.bind(("127.0.0.1", 0))
        ports = [wire.getsockname()[1] for wire in (one, other)]
        named = zip(fabric.switches, ports, strict=True)
        fabric = replace(fabric, switches=tuple(replace(each, address=f"127.0.0.1:{port}") for each, port in named))
        for folder in (place / "group_vars", tmp_path / "build/configs"):
            folder.mkdir(parents=True)
        for folder in (place, tmp_path / "build"):
            (folder / "fabric.yml").write_text(format_fabric(fabric))
        (place / "tagloom.yml").write_text("{plugin: tagloom, fabric: fabric.yml}\n")
        (place / "group_vars/all.yml").write_text(VARIABLES)
        for name in NAMES:
            (tmp_path / f"build/configs/{name}.cfg").write_text("")
        yield place


def site(inventory):
    return Site(inventory, SHARE, ENVIRONMENT, "7")


@pytest.mark.slow
@pytest.mark.parametrize("limit", ["", "s1"])
def test_logins_are_those_of_the_hosts_it_is_limited_to(inventory, tmp_path, limit):
    with Ansible(site(inventory), limit) as ansible:
        ansible.start()
        begun = ansible._process
        ansible.start()  # it runs already
        found = ansible.access(tmp_path / "run")
        assert ansible._process is begun
        assert ansible._owed == 0
    assert set(found) == ({"s1"} if limit else {*NAMES})
    assert all(each["ansible_password"] == "hunter2" for each in found.values())
    assert "hunter2" not in "".join(path.read_text() for path in tmp_path.glob("run/*") if path.is_file())
    assert begun.poll() is not None
    assert site(inventory).log.stat().st_mode & 0o777 == 0o600


@pytest.mark.slow
def test_where_no_host_is_left_nothing_starts(inventory, tmp_path):
    with Ansible(site(inventory), "s9") as ansible:
        with pytest.raises(InputError) as raised:
            ansible.access(tmp_path / "run")
        with pytest.raises(InputError) as again:  # it is started anew
            ansible.do(Job(tmp_path / "build"), tmp_path / "run", NAMES)
    for each in (raised, again):
        (finding,) = each.value.findings
        assert str(finding) == f"--limit: expected a switch or a group of {inventory}, actual s9"


@pytest.mark.slow
def test_a_switch_that_nobody_reaches_has_failed_and_is_locked_before(inventory, tmp_path):
    locked, told, meanwhile = [], [], []

    def lock(addresses):
        locked.append(addresses)
        return ()

    with Ansible(site(inventory)) as ansible:
        ansible.hold(lock)
        found = ansible.do(
            Job(tmp_path / "build", check=True),
            tmp_path / "run",
            (*reversed(NAMES), "s7"),
            meanwhile=lambda: meanwhile.append(len(locked)),
            on_progress=told.append,
        )
        assert found.failed == ("s1", "s0")
        assert ansible._last_texts == {}
    assert {each.fault for each in found.outcomes} == {Fault.DEVICE}
    assert {each.switch for each in told} == {*NAMES}
    assert (found.waves, found.reached, found.error, found.stopped) == (1, 1, "", False)
    assert found.seconds > 0.0
    (addresses,) = locked
    assert set(addresses) == {*NAMES}
    assert all(host == "127.0.0.1" for host, _ in addresses.values())
    assert meanwhile == [1]


@pytest.mark.slow
def test_what_fails_during_the_logins_ends_the_process(inventory, tmp_path):
    def fail():
        raise KeyboardInterrupt

    with Ansible(site(inventory)) as ansible:
        with pytest.raises(KeyboardInterrupt):
            ansible.do(Job(tmp_path / "build", check=True), tmp_path / "run", NAMES, meanwhile=fail)
        assert ansible._process.poll() is not None
        assert ansible._line is None


@pytest.mark.slow
def test_what_was_read_last_is_handed_to_a_push_and_to_no_look(inventory, tmp_path):
    with Ansible(site(inventory)) as ansible:
        ansible._last_texts["s0"] = "text"
        for check in (True, False):
            ansible.do(Job(tmp_path / "build", check=check), tmp_path / "run", NAMES)
            ansible._last_texts["s0"] = "text"
            held = Path(tmp_path / "run/held.json")
            assert held.exists() is not check
    assert json.loads(held.read_text()) == {"s0": "text"}
    assert held.stat().st_mode & 0o777 == 0o600


@pytest.mark.slow
def test_switches_that_cannot_be_read_are_named_with_the_reason(inventory, tmp_path):
    words = {"switches": NAMES, "directory": tmp_path / "read", "share": SHARE, "environment": ENVIRONMENT}
    (tmp_path / "read").mkdir()
    (tmp_path / "read/s0.cfg").write_text("of an older look")
    texts, failed = read_each(inventory, **words)
    assert texts == {}
    assert set(failed) == {*NAMES}
    assert all("refused" in said or "connect" in said for said in failed.values())
    with pytest.raises(DeviceError, match="s0 at 'show running-config'"):
        read_running(inventory, **words)


@pytest.mark.usefixtures("executed")
def test_a_process_that_died_before_its_first_job_is_started_anew(inventory):
    with Ansible(site(inventory), "s1") as ansible:
        ansible.start()
        first = ansible._process
        assert str(first.args).endswith("'--limit', 's1']")
        first.kill()
        first.wait()
        ansible._owed = 0
        ansible.start()
        assert ansible._process is not first
        ansible._process.kill()
    assert not site(inventory).log.exists()
