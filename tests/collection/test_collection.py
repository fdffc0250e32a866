"""The Ansible collection: built, installed into a place of its own, documented, and run against a rack."""

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import build_collection
import pytest
import yaml

import needs
from command_line.terminal import Terminal
from fabrics import ROOT
from tagloom import __version__

MODULES = {"build": "tagloom_apply", "push": "tagloom_apply", "outcome": "tagloom_apply", "fetch": "tagloom_read"}


@pytest.fixture(scope="module")
def ansible(tmp_path_factory):
    """Return what runs an Ansible command where nothing but the installed collection is found."""
    home = tmp_path_factory.mktemp("collection")
    archive = build_collection.build(home)
    environment = {key: os.environ[key] for key in ("PATH", "COVERAGE_PROCESS_CONFIG") if key in os.environ}
    environment |= {"HOME": str(home), "ANSIBLE_COLLECTIONS_PATH": str(home / "installed"), "ANSIBLE_NOCOLOR": "1"}
    environment |= {"ANSIBLE_FORKS": "8", "ANSIBLE_INVENTORY_ENABLED": "tagloom.fabric.tagloom"}

    def run(*words, directory=home):
        command = [sys.executable, "-m", "ansible", *map(str, words)]
        done = subprocess.run(command, env=environment, cwd=directory, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    run("galaxy", "collection", "install", archive, "-p", home / "installed", "--offline")
    return run


@pytest.fixture(scope="module")
def installed(ansible):
    """Return the directory that the collection was installed to."""
    found = json.loads(ansible("galaxy", "collection", "list", "--format", "json"))
    return Path(next(place for place in found if "tagloom.fabric" in found[place]), "tagloom", "fabric")


def test_it_holds_every_role_plugin_and_playbook(installed):
    manifest = json.loads((installed / "MANIFEST.json").read_text("utf-8"))["collection_info"]
    assert (manifest["namespace"], manifest["name"], manifest["version"]) == ("tagloom", "fabric", __version__)
    roles = {path.name.removeprefix("tagloom_") for path in (ROOT / "roles").iterdir()}
    assert {path.name for path in (installed / "roles").iterdir()} == roles
    assert {path.stem for path in (installed / "plugins" / "action").glob("*.py")} == set(MODULES)
    assert len(list((installed / "playbooks").glob("*.yml"))) == len(list((ROOT / "playbooks").glob("*.yml")))
    for path in [*installed.glob("roles/*/tasks/*.yml"), *installed.glob("playbooks/*.yml")]:
        text = path.read_text("utf-8")
        assert not [name for name in MODULES if f" tagloom_{name}:\n" in text], "modules have their full names"
        assert "role: tagloom_" not in text


@pytest.mark.slow
def test_ansible_doc_knows_its_modules_roles_and_inventory(ansible):
    found = json.loads(ansible("doc", "-t", "module", "--json", *(f"tagloom.fabric.{name}" for name in MODULES)))
    for name in MODULES:
        page = found[f"tagloom.fabric.{name}"]
        assert page["doc"]["options"]["directory"]["required"] is True
        assert page["examples"]
        assert page["return"]
    roles = json.loads(ansible("doc", "-t", "role", "--json", "tagloom.fabric.apply"))
    assert "tagloom_apply_build" in roles["tagloom.fabric.apply"]["entry_points"]["main"]["options"]
    inventory = json.loads(ansible("doc", "-t", "inventory", "--json", "tagloom.fabric.tagloom"))
    assert inventory["tagloom.fabric.tagloom"]["doc"]["options"]["fabric"]["default"] == "fabric.yml"


@pytest.mark.parametrize("name", MODULES)
def test_a_modules_documentation_is_its_argument_specification(name):
    plugin = ROOT / "roles" / MODULES[name] / "action_plugins" / f"tagloom_{name}.py"
    (call,) = (
        node
        for node in ast.walk(ast.parse(plugin.read_text("utf-8")))
        if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "validate_argument_spec"
    )
    specified = ast.literal_eval(call.args[0])
    tree = ast.parse((ROOT / "collection" / "modules" / f"{name}.py").read_text("utf-8"))
    (text,) = (
        ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "DOCUMENTATION"
    )
    documented = yaml.safe_load(text)["options"]
    assert all(option.pop("description") for option in documented.values())
    assert documented == specified


@pytest.mark.slow
def test_every_playbook_of_it_is_read(ansible, installed):
    for playbook in sorted((installed / "playbooks").glob("*.yml")):
        ansible("playbook", "-i", "localhost,", "--syntax-check", f"tagloom.fabric.{playbook.stem}")


@pytest.mark.long
def test_it_looks_at_a_rack_and_pushes_to_it(ansible, tmp_path):
    terminal = Terminal(tmp_path)
    terminal("new", "mesh", "--dims", 2, 2, "-o", "f.yml")
    terminal("plan", "f.yml", "-o", "b")
    with terminal.lab("f.yml"):
        inventory = terminal.rack / "tagloom.yml"
        inventory.write_text(inventory.read_text("utf-8").replace("plugin: tagloom", "plugin: tagloom.fabric.tagloom"))
        words = ("playbook", "-i", inventory, "tagloom.fabric.apply", "-e", f"tagloom_apply_build={tmp_path / 'b'}")
        looked = ansible(*words, "-e", "tagloom_apply_allow=interrupt", "--check", "--diff", directory=tmp_path)
        assert "+vlan 100" in looked
        assert "changed=1" in ansible(*words, "-e", "tagloom_apply_allow=interrupt", directory=tmp_path)
        assert "changed=0" in ansible(*words, "-e", "tagloom_apply_allow=interrupt", directory=tmp_path)
        ansible("playbook", "-i", inventory, "tagloom.fabric.read", directory=tmp_path)
        terminal("lab", "ping")


def test_what_sanity_tests_pass_over_is_in_the_collection_with_a_reason(installed):
    listed = (installed / "tests" / "sanity" / "ignore-2.19.txt").read_text("utf-8").splitlines()
    assert listed
    for line in listed:
        named, _, reason = line.partition(" # ")
        assert (installed / named.split()[0]).is_file(), line
        assert reason, line


def test_an_execution_environment_of_it_has_tagloom_and_the_dependencies_of_tagloom(installed):
    definition = yaml.safe_load((installed / "meta" / "execution-environment.yml").read_text("utf-8"))
    assert definition["version"] == 1
    named = definition["dependencies"]["python"]
    assert (installed / named).read_text("utf-8").split() == [f"tagloom=={__version__}"]


@pytest.mark.needs("ansible-builder")
def test_ansible_builder_reads_those_dependencies(installed):
    words = [needs.path_of("ansible-builder"), "introspect", installed.parents[2]]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert [line.split("#")[0].strip() for line in yaml.safe_load(done.stdout)["python"]] == [f"tagloom=={__version__}"]
