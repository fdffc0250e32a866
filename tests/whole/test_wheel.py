"""The wheel: `pip install .` gives a tagloom with templates, playbooks and roles inside."""

import os
import subprocess
import sys
import zipfile

import pytest

from fabrics import ROOT


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """Build the wheel and unpack it where nothing of the checkout is importable."""
    home = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "-w", home, ROOT],
        check=True,
        capture_output=True,
    )
    (path,) = home.glob("tagloom-*.whl")
    with zipfile.ZipFile(path) as archive:
        archive.extractall(home / "site")
    return home / "site"


def test_it_brings_the_operators_files(wheel):
    share = wheel / "tagloom" / "_share"
    for name in (
        "playbooks/apply.yml",
        "roles/tagloom_apply/tasks/main.yml",
        "templates/ros",
        "inventory/testbed/fabric.yml",
    ):
        assert (share / name).exists(), name
    assert not list(share.rglob("__pycache__"))
    assert not (share / "inventory" / "lab").exists()


def test_it_brings_the_manual_page(wheel):
    (page,) = wheel.glob("tagloom-*.data/data/share/man/man1/tagloom.1")
    text = page.read_text("utf-8")
    assert text.startswith(".TH TAGLOOM")
    assert "tagloom rollout" in text.replace("\\", "")


def test_it_plans_and_verifies_away_from_the_checkout(wheel, tmp_path):
    environment = os.environ | {"PYTHONPATH": str(wheel)}
    where = [sys.executable, "-P", "-c", "import tagloom; print(tagloom.__file__)"]
    found = subprocess.run(where, env=environment, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert found.startswith(str(wheel))
    for words in (
        ["new", "torus", "--dims", "4", "4", "--parallel", "2", "-o", "f.yml"],
        ["plan", "f.yml", "-o", "b", "--json"],
        ["verify", "--fabric", "f.yml", "--configs", "b/configs"],
    ):
        command = [sys.executable, "-P", "-m", "tagloom.cli", *words]
        subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=True)
