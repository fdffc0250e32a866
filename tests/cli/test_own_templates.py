"""An operator's own templates go before tagloom's, from plan to verify and rollout, or are refused by file and line."""

import contextlib
import io
import json

import pytest

from fabrics import ROOT
from tagloom.cli import main
from tagloom.operate.prepare import prepare

RING = "name: ring\nmodel: {model}\nshape: {{family: ring, dims: [3]}}\n"
SPELT = "{# as our firmware prints it #}\n{% macro no_shutdown() %}admin up{% endmacro %}\n"
LONG = (
    "{% macro entry_printed(mac, ports) %}"
    "bridge address {{ mac | mac }} ethernet {{ ports | ports }} forever{% endmacro %}"
)
BLOCKS = (
    "{{% macro two(port) %}}{{% call(p) on(ports) %}}y{{% endcall %}}{{% endmacro %}}"
    "{{% set again %}}{{% call(port) on(ports) %}}{}{{% endcall %}}{{% endset %}}{}"
)


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "f.yml").write_text(RING.format(model="powerconnect-5324"))
    return tmp_path


def write(directory, **files):
    for name, text in files.items():
        path = directory / (name.replace("__", "/") + ".j2")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def shipped(name):
    return (ROOT / "templates" / name).read_text()


def refused(*words):
    said = io.StringIO()
    with contextlib.redirect_stderr(said):
        assert main(list(words)) == 2
    return said.getvalue()


def test_another_spelling_and_a_comment_are_written_read_and_kept_with_the_build(here):
    page = "! racked by night shift\n" + shipped("ros/configuration.j2")
    write(here / "own", ros__lines=LONG, ros__configuration=page)
    assert main(["plan", "f.yml", "--templates", "own", "-o", "b"]) == 0
    text = (here / "b" / "configs" / "s0.cfg").read_text()
    assert text.startswith("! racked by night shift\n")
    assert text.count("forever\n") == text.count("bridge address") > 0
    assert (here / "b" / "templates" / "ros" / "lines.j2").read_text() == LONG
    (here / "own").rename(here / "gone")
    assert main(["verify", "b"]) == 0
    assert main(["verify", "--fabric", "f.yml", "--configs", "b/configs", "--templates", "gone"]) == 0
    assert main(["verify", "--fabric", "f.yml", "--configs", "b/configs"]) == 1  # tagloom's own words lack that line


def test_templates_beside_the_fabric_file_are_found(here):
    write(here / "templates", ros__lines=LONG, motd="nothing of tagloom's")
    assert main(["plan", "f.yml", "-o", "b"]) == 0
    assert "forever\n" in (here / "b" / "configs" / "s0.cfg").read_text()
    assert [p.name for p in sorted((here / "b" / "templates").rglob("*.j2"))] == ["lines.j2"]


@pytest.mark.kernel
def test_a_rollout_and_an_apply_read_by_the_templates_of_the_new_build(here):
    assert main(["plan", "f.yml", "-o", "old"]) == 0
    write(here / "own", ros__lines=LONG + SPELT)
    assert main(["plan", "f.yml", "--off", "s0:g1", "--templates", "own", "-o", "new"]) == 0
    assert main(["rollout", "old", "new", "-o", "r"]) == 0
    assert main(["plan", "f.yml", "--templates", "own", "-o", "on"]) == 0
    assert main(["rollout", "new", "on", "-o", "back"]) == 0
    assert (here / "r" / "build" / "templates" / "ros" / "lines.j2").read_text() == LONG + SPELT
    for directory in ("new", "r", "back"):
        assert prepare(here / directory).proof.proven
    assert "admin up" in "".join(p.read_text() for p in (here / "back").glob("waves/*/commands/*.txt"))


def test_a_build_whose_templates_were_changed_is_another_build(here):
    write(here / "own", ros__lines=LONG)
    assert main(["plan", "f.yml", "--templates", "own", "-o", "b"]) == 0
    before = prepare(here / "b").sequence.proven
    (here / "b" / "templates" / "ros" / "lines.j2").write_text(f"{LONG}\n")
    assert prepare(here / "b").sequence.proven != before


@pytest.mark.parametrize(
    ("name", "edit", "where", "actual"),
    [
        (
            "ros__lines",
            "{% macro pvid(vlan) %}{% if vlan %}pvid{% endif %}{% endmacro %}",
            "ros/lines.j2:1",
            "pvid: if",
        ),
        ("ros__lines", "\n{% macro mode_general() %}switchport mode access{% endmacro %}", "ros/lines.j2:2", "mode"),
        ("ros__configuration", lambda page: f"! by night\nswitchport flies\n{page}", "ros/configuration.j2:2", "flies"),
        ("ros__configuration", lambda page: f"snmp-server x\n{page}", "ros/configuration.j2:1", "snmp-server x"),
        ("ros__configuration", lambda page: page + "no spanning-tree disable\n", "ros/configuration.j2:", "disable"),
        ("ros__configuration", "! nothing at all\n", "ros/configuration.j2", "another"),
        ("ros__configuration", "!\n{{ ports[0].color }}\n", "ros/configuration.j2:2", "color"),
        ("ros__configuration", "!\n\n{% for %}\n", "ros/configuration.j2:3", "Expected an expression"),
        ("ros__configuration", "{{ title.__class__.__mro__ }}\n", "ros/configuration.j2:1", "unsafe"),
        (
            "ros__configuration",
            "!\n" + BLOCKS.format("{{ two(port) }}", ""),
            "ros/configuration.j2:2",
            "within another",
        ),
        ("ros__configuration", BLOCKS.format("x", "{{ again }}" * 2), "templates", "blocks of ports in"),
        ("ros__commands", "", "ros/commands.j2", "commands.j2"),
    ],
)
def test_an_edit_that_does_not_read_back_is_refused_with_file_and_line(here, name, edit, where, actual):
    text = edit(shipped("ros/configuration.j2")) if callable(edit) else edit
    write(here / "own", **{name: text})
    said = refused("plan", "f.yml", "--templates", "own", "-o", "b")
    assert where in said
    assert actual in said
    assert not (here / "b").exists()


def test_a_directory_without_templates_is_refused(here):
    (here / "own").mkdir()
    assert "own: expected FAMILY/lines.j2 or FAMILY/configuration.j2 or site/all.j2, actual none of them" in refused(
        "plan", "f.yml", "--templates", "own", "-o", "b"
    )


def test_the_family_of_the_page_is_planned_proven_and_pasted(here, capsys):
    """docs/adding-a-family.md, followed for Cisco's SG300."""
    (here / "f.yml").write_text(RING.format(model="cisco-sg300-28"))
    assert main(["plan", "f.yml", "-o", "b"]) == 0
    assert "\ninterface range gi1-3\n" in f"\n{(here / 'b' / 'configs' / 's0.cfg').read_text()}"
    capsys.readouterr()
    assert main(["verify", "b", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["paste_order"] is True


@pytest.mark.parametrize("model", ["powerconnect-6248", "linux-bridge"])
def test_every_family_takes_its_own(here, model):
    (here / "f.yml").write_text(RING.format(model=model))
    spelt = {
        "fastpath__lines": "{% macro mode_general() %}switchport mode GENERAL{% endmacro %}",
        "linux-bridge__lines": "{% macro port_up(port) %}ip link set {{ port | port }} up # by hand{% endmacro %}",
    }
    write(here / "own", **spelt)
    assert main(["plan", "f.yml", "--templates", "own", "-o", "b"]) == 0
    assert main(["verify", "b"]) == 0
    lines = (here / "b" / "configs" / "s0.cfg").read_text()
    assert ("mode GENERAL" if model == "powerconnect-6248" else "up # by hand") in lines
    assert json.loads((here / "b" / "plan.json").read_text())["summary"]["hosts"] == 3


@pytest.mark.kernel
def test_a_rollout_between_fabrics_that_differ_is_written_and_read_by_them(here):
    write(here / "own", ros__lines=LONG)
    more = RING.format(model="powerconnect-5324").replace("[3]", "[3], hosts: 2")
    (here / "g.yml").write_text(more)
    assert main(["plan", "f.yml", "--templates", "own", "-o", "old"]) == 0
    assert main(["plan", "g.yml", "--templates", "own", "--keep", "old", "-o", "new"]) == 0
    assert main(["rollout", "old", "new", "-o", "r"]) == 0
    assert (here / "r" / "waves" / "1" / "s0.cfg").read_text().count("forever\n") > 0
    assert prepare(here / "r").proof.proven


def test_a_page_that_prints_an_infinite_number_is_a_finding(here):
    """Jinja writes it into its compiled page as a name that is none."""
    write(here / "own", ros__configuration="{{ 1e999 }}\n")
    assert "templates/ros/configuration.j2" in refused("plan", "f.yml", "--templates", "own", "-o", "b")


@pytest.mark.parametrize(
    "text",
    ["{% macro no_shutdown() %}" + "{{ " + "(" * 3000, "{{ " + "a + " * 3000 + "a }}", "{{ " + "9" * 5000 + " }}"],
    ids=["brackets", "a long sum", "a number of 5,000 digits"],
)
@pytest.mark.parametrize("name", ["lines", "configuration"])
def test_a_template_that_is_nested_without_end_or_counts_too_far_is_a_finding(here, name, text):
    write(here / "own", **{f"ros__{name}": text})
    assert f"templates/ros/{name}.j2" in refused("plan", "f.yml", "--templates", "own", "-o", "b")
    assert not (here / "b").exists()
