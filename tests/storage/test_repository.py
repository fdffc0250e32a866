"""Backups are committed as they are, whatever the user or the repository tells git of ignored and filtered files."""

import os
import subprocess

import pytest

from tagloom.storage.repository import commit

TEXTS = {"s0.cfg": "hostname s0\r\nvlan 7 \n", "s1.cfg": "hostname s1\n"}


@pytest.fixture
def home(tmp_path):
    """Return a directory with files to commit, and how git is asked there."""
    place = tmp_path / "kept"
    place.mkdir()
    for name, text in TEXTS.items():
        (place / name).write_bytes(text.encode())
    return place


def git(place, *words):
    """Return what git prints with no settings of a user's."""
    environment = os.environ | {"GIT_CONFIG_GLOBAL": os.devnull, "HOME": str(place)}
    done = subprocess.run(["git", *words], cwd=place, capture_output=True, check=True, env=environment)
    return done.stdout.decode()


def kept(place, environment=os.environ):
    return commit(place, list(TEXTS), lambda names: f"Keep {', '.join(names)}", environment)


def assert_whole(place):
    assert {name: git(place, "cat-file", "blob", f"HEAD:{name}") for name in TEXTS} == TEXTS


def test_what_changed_is_committed_and_nothing_twice(home):
    assert kept(home) == ["s0.cfg", "s1.cfg"]
    assert kept(home) == []
    (home / "s1.cfg").write_text("hostname other\n")
    assert kept(home) == ["s1.cfg"]
    assert git(home, "log", "--format=%s").splitlines() == ["Keep s1.cfg", "Keep s0.cfg, s1.cfg"]
    assert git(home, "status", "--porcelain") == ""
    assert git(home, "fsck", "--strict") == ""


def test_a_users_list_of_ignored_files_is_not_heeded(home, tmp_path):
    (tmp_path / ".config/git").mkdir(parents=True)
    (tmp_path / ".config/git/ignore").write_text("*.cfg\n")
    (home / ".gitignore").write_text("*.cfg\n")
    assert kept(home, os.environ | {"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path / ".config")}) == list(TEXTS)
    assert_whole(home)


@pytest.mark.parametrize("where", [".git/info/attributes", ".gitattributes"])
def test_no_filter_or_hook_of_the_repository_runs_and_nothing_is_changed_by_one(home, where):
    git(home, "init", "-q")
    for kind in ("clean", "smudge", "process"):
        git(home, "config", f"filter.x.{kind}", "touch PWNED; cat")
    for hook in ("pre-commit", "commit-msg", "post-commit", "reference-transaction", "post-index-change"):
        path = home / ".git/hooks" / hook
        path.write_text("#!/bin/sh\ntouch PWNED\n")
        path.chmod(0o755)
    (home / where).parent.mkdir(exist_ok=True)
    (home / where).write_text("*.cfg filter=x text eol=lf ident\n")
    assert kept(home) == list(TEXTS)
    assert_whole(home)
    assert not list(home.rglob("PWNED"))


def test_what_its_owner_staged_stays_staged_and_a_detached_head_is_committed_to(home):
    kept(home)
    git(home, "checkout", "-q", "--detach")
    (home / "notes").write_text("mine\n")
    git(home, "add", "notes")
    (home / "s0.cfg").write_text(TEXTS["s0.cfg"] + "!\n")
    assert kept(home) == ["s0.cfg"]
    assert git(home, "show", "--format=", "--name-only").split() == ["s0.cfg"]
    assert git(home, "status", "--porcelain") == "A  notes\n"
