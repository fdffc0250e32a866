"""A release is shown before it is made: version, changelog, commit and tag; what is in the way is named."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

from fabrics import ROOT
from tagloom import __version__

SCRIPT = ROOT / "tooling" / "release.py"
FILES = ("pyproject.toml", "tooling/tagloom/__init__.py", "CITATION.cff", "CHANGELOG.md")


@pytest.fixture
def checkout(tmp_path):
    """Return a repository with the files that a release changes, its changelog with a line, all committed."""
    for name in FILES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text((ROOT / name).read_text("utf-8"), "utf-8")
    (tmp_path / "CHANGELOG.md").write_text("# Changelog\n\n## Unreleased\n\n- Something.\n", "utf-8")
    git(tmp_path, "init", "-q", "-b", "main")
    git(tmp_path, "config", "user.name", "someone")
    git(tmp_path, "config", "user.email", "someone@example.org")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "Begin")
    return tmp_path


def git(where, *words):
    return subprocess.run(["git", *words], cwd=where, check=True, capture_output=True, text=True).stdout


def release(where, *words):
    done = subprocess.run([sys.executable, SCRIPT, *words], cwd=where, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


def test_a_dry_run_shows_everything_and_changes_nothing(checkout):
    status, shown, _ = release(checkout, "--version", "9.8.7")
    assert status == 0
    for line in ('+version = "9.8.7"', '+__version__ = "9.8.7"', "+version: 9.8.7", "tag       v9.8.7", "dry run"):
        assert line in shown
    assert re.search(r"^\+## 9\.8\.7 - \d{4}-\d\d-\d\d$", shown, re.MULTILINE)
    assert git(checkout, "status", "--porcelain") == git(checkout, "tag") == ""


def test_a_release_is_one_commit_and_one_tag(checkout):
    assert release(checkout, "--version", "9.8.7", "--do")[0] == 0
    assert git(checkout, "log", "--format=%s").splitlines() == ["Release 9.8.7", "Begin"]
    assert git(checkout, "tag").split() == ["v9.8.7"]
    assert (checkout / "CHANGELOG.md").read_text("utf-8").startswith("# Changelog\n\n## Unreleased\n\n## 9.8.7 - ")
    assert git(checkout, "status", "--porcelain") == ""


def test_all_that_is_in_the_way_is_named_at_once(checkout):
    (checkout / "CHANGELOG.md").write_text("# Changelog\n\n## Unreleased\n\n## 0.0.1\n\n- Old.\n", "utf-8")
    git(checkout, "tag", f"v{__version__}")
    status, shown, wrong = release(checkout)
    assert (status, shown) == (2, "")
    for said in ("work tree: expected all committed", f"v{__version__} to be free", "lines under Unreleased"):
        assert said in wrong


def test_the_version_is_the_same_everywhere():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    assert citation["version"] == __version__
    assert f'version = "{__version__}"' in (ROOT / "pyproject.toml").read_text("utf-8").splitlines()
    assert all(
        paper["authors"] and paper["year"] for paper in [citation["preferred-citation"], *citation["references"]]
    )


def test_the_hosted_run_is_that_of_the_checkout_with_every_python_that_the_wheel_names():
    (job,) = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text("utf-8"))["jobs"].values()
    assert [step["run"].split()[-1] for step in job["steps"] if "run" in step] == [".ci/run"]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    named = [line.rpartition(" :: ")[2] for line in project["classifiers"] if ":: Python :: 3." in line]
    assert job["strategy"]["matrix"]["python"] == named
    assert named[0] == project["requires-python"].removeprefix(">=")


@pytest.mark.parametrize("path", sorted(Path(ROOT, ".github/ISSUE_TEMPLATE").glob("[!c]*.yml")), ids=lambda p: p.name)
def test_an_issue_template_asks_for_what_it_needs(path):
    form = yaml.safe_load(path.read_text("utf-8"))
    assert {"name", "description", "body"} <= set(form)
    assert any(part.get("validations", {}).get("required") for part in form["body"])
