"""An apply amid what does not belong to it: a directory of somebody else's code, another tagloom, other settings."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import tagloom
from command_line.terminal import Terminal
from tagloom.apply.playbook import Ansible, ansible_environment
from tagloom.apply.reading import read_running
from tagloom.apply.run_directory import Job
from tagloom.apply.site import Site
from tagloom.errors import DeviceError, InputError
from tagloom.lab import process
from tagloom.share import share_directory

pytestmark = pytest.mark.slow

SHARE = share_directory()
PACKAGE = Path(tagloom.__file__).resolve().parent
MARK = "import pathlib; pathlib.Path({mark!r}).write_text(__name__)\n"
SETTINGS = """[defaults]
vault_password_file = ./vault.sh
callback_plugins = ./callbacks
callbacks_enabled = ours
stdout_callback = ours
"""
CALLBACK = """
from ansible.plugins.callback import CallbackBase

class CallbackModule(CallbackBase):
    CALLBACK_NAME = "ours"
"""


@pytest.fixture
def trap(tmp_path):
    """A directory whose modules, vault script and callback write a mark where they are run."""
    place = tmp_path / "trap"
    (place / "callbacks").mkdir(parents=True)
    mark = MARK.format(mark=str(tmp_path / "mark"))
    for name in ("ansible", "tagloom"):
        (place / name).mkdir()
        (place / name / "__init__.py").write_text(mark)
    for name in ("yaml", "numpy", "netmiko", "asyncio", "json"):
        (place / f"{name}.py").write_text(mark)
    (place / "callbacks/ours.py").write_text(mark + CALLBACK)
    (place / "ansible.cfg").write_text(SETTINGS)
    (place / "vault.sh").write_text(f"#!/bin/sh\necho vault > {tmp_path / 'mark'}\necho word\n")
    (place / "vault.sh").chmod(0o755)
    return place


def run(*words, cwd, expect=0):
    command = [sys.executable, "-P", "-m", "tagloom.cli", *map(str, words)]
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == expect, done.stdout + done.stderr
    return done.stdout


def test_an_apply_runs_nothing_of_the_current_directory(bench, trap):
    bench.write_build()
    page = json.loads(run("apply", bench.build, "--check", "-i", bench.rack, "--json", cwd=trap, expect=1))
    assert page["findings"], "the build by hand delivers nothing"
    with pytest.MonkeyPatch.context() as here:
        here.chdir(trap)
        assert bench.apply(check=True).changed == ("s0", "s1", "s2", "s3")
        read_running(bench.rack, switches=bench.names, directory=bench.build, share=SHARE, environment={**os.environ})
    assert not (trap.parent / "mark").exists()


def test_a_rack_runs_nothing_of_the_current_directory(trap, tmp_path):
    run("new", "ring", "--dims", 3, "-o", "f.yml", cwd=tmp_path)
    try:
        run("lab", "up", tmp_path / "f.yml", "--dir", tmp_path / "rack", cwd=trap)
        assert not (tmp_path / "mark").exists()
    finally:
        process.down(tmp_path / "rack")


def test_the_settings_are_those_that_the_operator_names_then_their_own_then_ours(tmp_path):
    ours = {"ANSIBLE_CONFIG": str(SHARE / "playbooks/ansible.cfg")}
    (tmp_path / "home").mkdir()
    home = {"HOME": str(tmp_path / "home")}
    assert ansible_environment(home, SHARE).items() >= ours.items() or Path("/etc/ansible/ansible.cfg").exists()
    (tmp_path / "home/.ansible.cfg").write_text("[defaults]\n")
    assert ansible_environment(home, SHARE)["ANSIBLE_CONFIG"] == str(tmp_path / "home/.ansible.cfg")
    (tmp_path / "site.cfg").write_text("[defaults]\n")
    named = home | {"ANSIBLE_CONFIG": str(tmp_path / "site.cfg")}
    assert ansible_environment(named, SHARE)["ANSIBLE_CONFIG"] == str(tmp_path / "site.cfg")
    named["ANSIBLE_CONFIG"] = "nowhere.cfg"  # Ansible itself would pass over it, and take one that lies here
    with pytest.raises(InputError, match=r"ANSIBLE_CONFIG: expected a file that can be read, actual nowhere\.cfg"):
        ansible_environment(named, SHARE)


def test_ansible_that_imports_another_tagloom_reaches_no_switch(bench, tmp_path):
    bench.write_build()
    other = tmp_path / "checkout/tooling"
    shutil.copytree(PACKAGE, other / "tagloom", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "checkout/templates").symlink_to(SHARE / "templates")
    (tmp_path / "first").mkdir()
    (tmp_path / "first/sitecustomize.py").write_text(f"import sys; sys.path.insert(0, {str(other)!r})\n")
    environment = bench.environment() | {"PYTHONPATH": str(tmp_path / "first")}
    logins = {name: each["logins"] for name, each in process.status(bench.rack)["switches"].items()}
    with Ansible(Site(bench.rack, SHARE, environment, "test")) as ansible, pytest.raises(InputError) as raised:
        bench.do(ansible, Job(bench.build))
    finding = f"tagloom of Ansible's Python: expected {PACKAGE}, actual {other / 'tagloom'}"
    assert list(map(str, raised.value.findings)) == [finding]
    with pytest.raises(DeviceError) as refused:
        read_running(
            bench.rack, switches=bench.names, directory=tmp_path / "read", share=SHARE, environment=environment
        )
    assert finding.partition(": ")[2] in str(refused.value)
    assert {name: each["logins"] for name, each in process.status(bench.rack)["switches"].items()} == logins


def test_ansible_imports_the_tagloom_under_test_wherever_it_is_installed():
    installed = {"PATH": os.environ["PATH"], "HOME": os.environ["HOME"], "PYTHONPATH": "/elsewhere"}
    words = [sys.executable, "-P", "-c", "import tagloom; print(tagloom.__file__)"]
    said = subprocess.run(words, env=ansible_environment(installed, SHARE), capture_output=True, text=True, check=True)
    assert Path(said.stdout.strip()).resolve().parent == PACKAGE


def test_a_switch_called_like_a_group_of_the_inventory_is_refused(bench):
    inventory = bench.with_variables()
    (inventory / "groups").mkdir()
    (inventory / "groups/more.yml").write_text("all: {children: {s1: {hosts: {}}}}\n")
    command = [sys.executable, "-P", "-m", "ansible", "inventory", "-i", inventory / "groups/more.yml"]
    command += ["-i", inventory / "tagloom.yml", "--list"]
    environment = ansible_environment(bench.environment(), SHARE)
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert "switches.s1: expected a name that no group has" in done.stderr


def test_the_name_of_a_directory_is_no_template(tmp_path):
    """Its whole way through Ansible: what is built, read, pushed, kept and led back stands where it was asked for."""
    mark = "mark-of-a-template"
    home = tmp_path / f"x{{{{ lookup('pipe', 'touch {mark}') }}}}y{{{{ 7 * 7 }}}} {{% raw %}}z"
    home.mkdir()
    terminal = Terminal(home)
    terminal("new", "ring", "--dims", 3, "-o", "f.yml")
    terminal("plan", "f.yml", "-o", "{{ 2 }}")
    with terminal.lab("f.yml"):
        assert terminal.answer("apply", "{{ 2 }}", "--allow", "interrupt")["changed"] == ["s0", "s1", "s2"]
        assert terminal.answer("apply", "{{ 2 }}")["changed"] == []
        assert terminal.answer("backup", "-o", "kept {{ 1 + 1 }}")["failed"] == []
    assert list((home / "kept {{ 1 + 1 }}").rglob("s0.cfg"))
    assert {path.name for path in home.iterdir()} == {
        ".tagloom-files",
        "f.yml",
        "inventory",
        "{{ 2 }}",
        "kept {{ 1 + 1 }}",
    }
    for place in (tmp_path, SHARE, Path.cwd()):
        assert not list(place.rglob(mark))
