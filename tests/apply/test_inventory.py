"""What Ansible sees of a fabric file, and what the read playbook leaves behind."""

import json
import stat
import subprocess
import sys

import pytest

from tagloom.apply.playbook import ansible_environment
from tagloom.apply.reading import read_running
from tagloom.errors import DeviceError
from tagloom.share import share_directory
from thinned import daily

SHARE = share_directory()


def ansible(*words, bench):
    environment = ansible_environment(bench.environment(), SHARE)
    command = [sys.executable, "-m", "ansible", *map(str, words)]
    return subprocess.run(command, env=environment, cwd=bench.directory, capture_output=True, text=True, check=False)


def test_every_switch_is_a_host_with_its_address_said_once(bench):
    answer = ansible("inventory", "-i", bench.rack / "tagloom.yml", "--list", bench=bench)
    page = json.loads(answer.stdout)
    variables = {  # Ansible marks as unsafe what did not come out of a file of its own: no templates in there
        name: value.get("__ansible_unsafe", value) if isinstance(value, dict) else value
        for name, value in page["_meta"]["hostvars"]["s1"].items()
    }
    assert variables["ansible_host"] == "127.0.0.1"
    assert variables["ansible_port"] == bench.info.ports["s1"]
    assert variables["tagloom_model"] == "powerconnect-6248"
    assert variables["tagloom_known_hosts"] == str(bench.rack / "known_hosts")
    assert page["powerconnect_6248"]["hosts"] == ["s1", "s3"]


def test_a_wrong_fabric_file_is_told_with_all_its_findings(bench):
    inventory = bench.with_variables()
    (inventory / "fabric.yml").write_text("name: x\nswitches: {s0: {model: abacus}}\nlinks: [[s0:g1, s9:g1]]\n")
    answer = ansible("inventory", "-i", inventory / "tagloom.yml", "--list", bench=bench)
    assert "abacus" in answer.stderr
    assert "s9" in answer.stderr


@pytest.mark.slow
@pytest.mark.parametrize("by_hand", daily([False, True], 0), ids=["environment", "ansible.cfg"])
def test_reading_gives_every_running_configuration_to_its_owner_alone(bench, by_hand):
    words = [
        "-i",
        bench.rack / "tagloom.yml",
        SHARE / "playbooks/read.yml",
        "-e",
        f"tagloom_read_directory={bench.build}",
    ]
    if by_hand:
        command = [sys.executable, "-m", "ansible", "playbook", *map(str, words)]
        answer = subprocess.run(command, cwd=SHARE, capture_output=True, text=True, check=False)
    else:
        answer = ansible("playbook", *words, bench=bench)
    assert answer.returncode == 0, answer.stdout
    assert stat.S_IMODE(bench.build.stat().st_mode) == 0o700
    for name in bench.names:
        path = bench.build / f"{name}.cfg"
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert path.read_text().strip("\n") == bench.initial[name].strip("\n")
    assert "watchtower" not in answer.stdout


def read(bench, inventory):
    return read_running(
        inventory, switches=bench.names, directory=bench.build, share=SHARE, environment=bench.environment()
    )


@pytest.mark.slow
def test_a_switch_that_cannot_be_read_is_told_and_the_others_are_read(bench):
    bench.quirk("s1", refuse_login=True)
    inventory = bench.with_variables(tagloom_login_seconds="{{ 'soon' if inventory_hostname == 's2' else 30 }}")
    words = [
        "-i",
        inventory / "tagloom.yml",
        SHARE / "playbooks/read.yml",
        "-e",
        f"tagloom_read_directory={bench.build}",
    ]
    answer = ansible("playbook", *words, bench=bench)
    assert answer.returncode == 2
    told = {line.split()[1]: line for line in answer.stdout.splitlines() if line.startswith("fatal: ")}
    assert set(told) == {"[s1]:", "[s2]:"}
    assert "s1 at 'login': refused for user 'lab'" in told["[s1]:"]
    assert "tagloom_login_seconds" in told["[s2]:"]
    assert sorted(path.stem for path in bench.build.glob("*.cfg")) == ["s0", "s3"]
    with pytest.raises(DeviceError, match=r"s1 at 'show running-config': .*refused for user 'lab'"):
        read(bench, inventory)
    bench.quirk("s1", refuse_login=False)
    with pytest.raises(DeviceError, match="s2: tagloom_login_seconds: expected a number, actual soon"):
        read(bench, inventory)
