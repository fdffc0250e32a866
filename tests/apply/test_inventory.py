"""What Ansible sees of a fabric file, and what the read playbook leaves behind."""

import json
import stat
import subprocess
import sys

import pytest

from tagloom.apply.playbook import ansible_environment
from tagloom.share import share_directory

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


@pytest.mark.parametrize("by_hand", [False, True], ids=["environment", "ansible.cfg"])
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
        assert path.read_text().strip("\n") == bench.born[name].strip("\n")
    assert "watchtower" not in answer.stdout
