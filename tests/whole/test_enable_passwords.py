"""The password of `enable` comes from a vault, group variables or the environment, by model; a missing one is named."""

import os

import pytest
import yaml
from ansible.parsing.vault import VaultLib, VaultSecret

from command_line import commands
from command_line.terminal import Terminal
from tagloom.lab import process

pytestmark = pytest.mark.slow

PASSWORDS = {"powerconnect_5548": "deep-1", "powerconnect_6248": "deep-2"}
SWITCHES = {"s0": "powerconnect_5548", "s1": "powerconnect_6248"}
VAULT_SECRET = "vault's own"
FABRIC = """\
name: two
switches:
  s0: {model: powerconnect-5548}
  s1: {model: powerconnect-6248}
hosts:
  h0: {switch: s0, port: gi1/0/3}
  h1: {switch: s1, port: 1/g3}
links: [["s0:gi1/0/1", "s1:1/g1"]]
"""


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    """Return a terminal with a rack of two models, each of which wants a password of its own for `enable`."""
    terminal = Terminal(tmp_path_factory.mktemp("enable"))
    (terminal.home / "f.yml").write_text(FABRIC)
    terminal("plan", "f.yml", "-o", "b")
    terminal("lab", "up", "f.yml")
    try:
        for name, group in SWITCHES.items():
            terminal.type(name, f"enable password {PASSWORDS[group]}")
        process.keep(terminal.rack)
        yield terminal
    finally:
        terminal("lab", "down")


@pytest.fixture
def terminal(running):
    """Return the terminal with no variables but the rack's own."""
    for group in PASSWORDS:
        (running.rack / "group_vars" / f"{group}.yml").unlink(missing_ok=True)
    return running.fresh()


def check(terminal, *words, expect=0, **environment):
    done = commands.run(
        ("apply", "b", "--check", "--json", *words), terminal.home, os.environ | {"NO_COLOR": "1"} | environment
    )
    assert done.returncode == expect, done.stdout + done.stderr
    assert not any(secret in done.stdout + done.stderr for secret in PASSWORDS.values())
    return done.stdout


@pytest.mark.daily
def test_a_vault_of_each_models_group_gives_its_password(terminal):
    vault = VaultLib([("default", VaultSecret(VAULT_SECRET.encode()))])
    for group, password in PASSWORDS.items():
        page = yaml.safe_dump({"ansible_become_password": password})
        (terminal.rack / "group_vars" / f"{group}.yml").write_bytes(vault.encrypt(page))
    (terminal.home / "password").write_text(VAULT_SECRET)
    file = ("--vault-password-file", "password")
    check(terminal, *file)
    terminal("apply", "b", "--allow", "interrupt", *file)
    assert terminal.answer("lab", "ping")["lost"] == 0


def test_the_environment_gives_one_by_model_or_one_for_all_and_a_file_is_nearer(terminal):
    by_model = {f"TAGLOOM_ENABLE_PASSWORD_{group.upper()}": password for group, password in PASSWORDS.items()}
    check(terminal, **by_model)
    first, second = PASSWORDS
    (terminal.rack / "group_vars" / f"{first}.yml").write_text(f"ansible_become_password: {PASSWORDS[first]}\n")
    check(terminal, TAGLOOM_ENABLE_PASSWORD=PASSWORDS[second])


def test_a_password_that_is_missing_or_refused_names_the_switch_and_the_variable(terminal):
    first, second = PASSWORDS
    said = check(terminal, expect=3, TAGLOOM_ENABLE_PASSWORD=PASSWORDS[first])
    assert (
        "the password of ansible_become_password is refused for s1: another in a vault, "
        f"group_vars/{second}.yml or TAGLOOM_ENABLE_PASSWORD"
    ) in said
    said = check(terminal, expect=3)
    for name, group in SWITCHES.items():
        assert (
            f"a password is wanted: set ansible_become_password for {name} in a vault, group_vars/{group}.yml" in said
        )
