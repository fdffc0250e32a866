"""A vault's password comes from a file or the terminal, and one that is missing is one sentence."""

import argparse
import getpass
import itertools
import os
import sys
from pathlib import Path

import pytest
import yaml
from ansible.parsing.vault import VaultLib, VaultSecret

from fabrics import ROOT
from tagloom.apply.site import Site
from tagloom.cli.inputs import logins_of
from tagloom.cli.vault import FILE, vault_password
from tagloom.errors import InputError

SECRET = "vault's own"
RUNS = itertools.count()


@pytest.fixture
def inventory(tmp_path):
    """Return an inventory with one host whose password a vault holds."""
    page = {"all": {"hosts": {"s0": {"ansible_host": "192.0.2.1"}}}}
    (tmp_path / "hosts.yml").write_text(yaml.safe_dump(page))
    (tmp_path / "group_vars").mkdir()
    vault = VaultLib([("default", VaultSecret(SECRET.encode()))])
    (tmp_path / "group_vars" / "all.yml").write_bytes(vault.encrypt("ansible_password: hidden\n"))
    return tmp_path / "hosts.yml"


def password(inventory, **words):
    """Return what Ansible knows for the host's password, with options of the command line."""
    before = dict(os.environ)
    try:
        with vault_password(argparse.Namespace(**words)):
            return logins_of(Site(inventory, ROOT, dict(os.environ), f"r{next(RUNS)}"))["s0"]["ansible_password"]
    finally:
        assert dict(os.environ) == before


@pytest.mark.slow
def test_a_password_is_read_from_a_file_or_typed_and_what_was_typed_is_in_no_file(inventory, tmp_path, monkeypatch):
    file = tmp_path / "password"
    file.write_text(f"{SECRET}\n")
    assert password(inventory, vault_password_file=file) == "hidden"
    file.unlink()
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(getpass, "getpass", lambda _prompt: SECRET)
    with vault_password(argparse.Namespace(ask_vault_pass=True)):
        script = Path(os.environ[FILE])
        assert SECRET not in script.read_text()
    assert not script.exists()
    assert password(inventory, ask_vault_pass=True) == "hidden"


@pytest.mark.slow
def test_a_process_that_outlives_the_command_has_what_was_typed_from_it(inventory, monkeypatch):
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(getpass, "getpass", lambda _prompt: SECRET)
    with vault_password(argparse.Namespace(ask_vault_pass=True)):
        inherited = dict(os.environ)
    assert not Path(inherited[FILE]).exists()
    for name, value in inherited.items():
        monkeypatch.setenv(name, value)
    assert password(inventory) == "hidden"


def test_a_password_that_is_missing_or_wrong_is_one_sentence(inventory, tmp_path, monkeypatch):
    monkeypatch.delenv(FILE, raising=False)
    with pytest.raises(InputError) as found:
        password(inventory)
    options = f"--ask-vault-pass, --vault-password-file or {FILE}"
    assert str(found.value) == f"{inventory}: expected the password of its vault ({options}), actual none"
    (tmp_path / "other").write_text("another\n")
    with pytest.raises(InputError, match="actual another"):
        password(inventory, vault_password_file=tmp_path / "other")


def test_a_password_that_cannot_be_had_is_a_finding(inventory, tmp_path, monkeypatch):
    with pytest.raises(InputError, match="a file that can be read"):
        password(inventory, vault_password_file=tmp_path / "none")
    monkeypatch.setattr(sys.stdin, "isatty", lambda: False, raising=False)
    with pytest.raises(InputError, match="a terminal to type the password at"):
        password(inventory, ask_vault_pass=True)
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(getpass, "getpass", lambda _prompt: "")
    with pytest.raises(InputError, match="nothing was typed"):
        password(inventory, ask_vault_pass=True)
