"""`tagloom paths`: where Ansible finds what tagloom brings along, in a checkout and in a wheel."""

import configparser
from pathlib import Path

import pytest

from tagloom import share


def test_each_path_is_there_and_can_be_asked_for_alone(run, answer):
    status, page = answer("paths")
    assert status == 0
    shown = run("paths")[1]
    for name, path in page["paths"].items():
        assert Path(path).exists()
        assert run("paths", name)[:2] == (0, f"{path}\n")
        assert f"{name:<17} {path}\n" in shown
    found = {name: Path(path) for name, path in page["paths"].items()}
    assert (found["playbooks"] / "apply.yml").is_file()
    assert (found["roles"] / "tagloom_apply").is_dir()
    assert (found["inventory"] / "tagloom.py").is_file()
    assert (found["templates"] / "ros" / "lines.j2").is_file()


def test_the_settings_of_ansible_name_these_paths(run, answer):
    page = answer("paths")[1]
    shown = run("paths", "--ansible-cfg")[1]
    assert shown == page["ansible_cfg"]
    read = configparser.ConfigParser()
    read.read_string(shown)
    assert read["defaults"]["roles_path"] == page["paths"]["roles"]
    assert read["defaults"]["inventory_plugins"] == page["paths"]["inventory"]


def test_an_installed_wheel_names_what_stands_in_its_package(tmp_path, answer, monkeypatch):
    package = tmp_path / "site-packages" / "tagloom"
    (package / "_share").mkdir(parents=True)
    monkeypatch.setattr(share, "__file__", str(package / "share.py"))
    assert answer("paths")[1]["paths"]["roles"] == str(package / "_share" / "roles")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["rolls"], "(did you mean roles?), actual 'rolls'"),
        (["roles", "--ansible-cfg"], "paths: expected NAME or --ansible-cfg, actual roles and --ansible-cfg"),
    ],
)
def test_a_path_that_is_none_is_a_finding(words, said, run):
    status, out, err = run("paths", *words)
    assert (status, out) == (2, "")
    assert said in err
