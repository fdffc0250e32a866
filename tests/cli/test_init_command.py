"""`tagloom init`: a project that plans as its family does, overwrites nothing, and asks nobody without a terminal."""

import dataclasses
import io
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from fabrics import make_fabric
from tagloom.apply.playbook import inventory_source
from tagloom.cli.bootstrapping import inventory_beside
from tagloom.read import fabric_of, fabric_path, read_fabric
from tagloom.read.project import VAULT
from tagloom.share import share_directory
from tagloom.storage.outputs import RECORD

FILES = [
    *("fabric.yml", ".gitignore", "ansible.cfg", "inventory/tagloom.yml", "inventory/snmp.yml"),
    *("inventory/group_vars/all/login.yml", VAULT, "cabling.csv", "cabling.txt", "tagloom.service"),
]
# Every family, and models of every command line that all families can be planned for.
PROJECTS = [
    ("mesh", (3, 2), 1, 2, "powerconnect-5324"),
    ("torus", (4, 4), 2, 1, "powerconnect-5548"),
    ("hypercube", (3,), 1, 1, "powerconnect-6248"),
    ("ring", (5,), 1, 1, "cisco-sg300-28"),
    ("fat-tree", (2, 4, 1), 1, 2, "hpe-5130-24g-4sfp"),
    ("clos", (2, 3), 1, 1, "huawei-s5731-s24t4x"),
    ("complete", (4,), 2, 1, "mikrotik-crs326-24g-2s"),
    ("tree", (2, 2), 1, 1, "linux-bridge"),
    ("dragonfly", (3, 2), 1, 1, "n-series"),
    ("torus", (3, 3), 1, 1, "cisco-cbs350-24t-4x"),
]


def options(family, dims, parallel, hosts, model):
    words = ["--family", family, "--dims", *dims, "--parallel", parallel, "--hosts", hosts, "--model", model]
    return [*map(str, words), "--network", "198.51.100.0/24"]


def tree(home):
    return {path.relative_to(home).as_posix(): path.read_bytes() for path in sorted(home.rglob("*")) if path.is_file()}


@pytest.mark.kernel
@pytest.mark.parametrize("project", PROJECTS, ids=lambda each: f"{each[0]}-{each[4]}")
def test_a_project_reads_back_as_its_family_and_plans_and_verifies(project, tmp_path, answer, monkeypatch):
    status, page = answer("init", tmp_path / "rack", *options(*project))
    assert status == 0
    assert page["wrote"] == [str(tmp_path / "rack" / name) for name in FILES]
    assert page["assumed"] == page["kept"] == []
    family, dims, parallel, hosts, model = project
    own = read_fabric(tmp_path / "rack" / "fabric.yml")
    whole = make_fabric(family, *dims, parallel=parallel, hosts=hosts, model=model)
    named = [dataclasses.replace(switch, address="") for switch in own.switches]
    assert tuple(named) == whole.switches
    assert [switch.address for switch in own.switches] == [f"198.51.100.{10 + n}" for n in range(len(named))]
    for each in dataclasses.fields(own):
        if each.name not in {"name", "switches"}:
            assert getattr(own, each.name) == getattr(whole, each.name), each.name
    monkeypatch.chdir(tmp_path / "rack")
    (plan,) = (words.split()[1:] for words in page["next"] if words.startswith("tagloom plan "))
    Path("family.yml").write_text(yaml.safe_dump({"model": model, "shape": dataclasses.asdict(whole.shape)}))
    (status, said), (_, planned) = answer(*plan), answer("plan", "family.yml", "-o", "family", *plan[4:])
    assert status == answer("verify", "build")[0] == 0
    for key in ("routing", "assignment", "vlans", "max_channel_load", "average_hops", "fdb_entries_max"):
        assert said[key] == planned[key]


@pytest.mark.kernel
def test_a_model_without_a_command_line_is_planned_without_texts_and_nothing_else_is_next(
    tmp_path, answer, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    status, page = answer("init", ".", "--switches", 4, "--model", "sf-0420g")
    assert (status, page["next"]) == (0, ["tagloom plan fabric.yml -o build --no-texts"])
    assert answer(*page["next"][0].split()[1:])[0] == 0


def test_the_fabric_file_explains_its_parts_and_has_no_address_that_is_made_up(tmp_path, run):
    assert run("init", tmp_path, "--switches", 4, "--network", "10.0.0.0/24", "--name", "lab")[0] == 0
    lines = (tmp_path / "fabric.yml").read_text().splitlines()
    for key in ("shape:", "switches:", "hosts:", "links:"):
        (at,) = (n for n, line in enumerate(lines) if line.startswith(key))
        assert lines[at - 1].startswith("#")
    assert '  h0: {switch: s0, port: "g3"}' in lines
    assert '  - ["s0:g2", "s1:g1"]' in lines
    assert (tmp_path / "cabling.csv").read_text().splitlines()[1] == "s0,g2,s1,g1,,up"
    assert "s0 (powerconnect-5324, 10.0.0.10)" in (tmp_path / "cabling.txt").read_text()


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_is_there_is_named_and_nothing_is_written(name, tmp_path, run):
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / name).write_text("mine")
    status, out, err = run("init", tmp_path, "--switches", 4)
    assert (status, out) == (2, "")
    assert f"{tmp_path / name}: expected a new file (--force replaces it)" in err
    assert tree(tmp_path) == {name: b"mine"}


def test_force_replaces_its_own_files_and_keeps_the_vault_and_all_others(tmp_path, answer, run):
    assert run("init", tmp_path, "--switches", 4)[0] == 0
    whole = tree(tmp_path)
    for name in [*FILES, "inventory/known_hosts", "notes.txt"]:
        (tmp_path / name).write_text("mine")
    status, page = answer("init", tmp_path, "--switches", 4, "--force")
    assert (status, page["kept"]) == (0, [str(tmp_path / VAULT)])
    mine = dict.fromkeys((VAULT, "inventory/known_hosts", "notes.txt"), b"mine")
    assert tree(tmp_path) == whole | mine
    assert page["wrote"] == [str(tmp_path / name) for name in FILES if name != VAULT]


def test_force_follows_no_link_and_removes_no_directory(tmp_path, run):
    (tmp_path / "other").write_text("mine")
    (tmp_path / "rack").mkdir()
    (tmp_path / "rack" / "fabric.yml").symlink_to(tmp_path / "other")
    (tmp_path / "rack" / "cabling.csv").mkdir()
    status, _, err = run("init", tmp_path / "rack", "--switches", 4, "--force")
    assert (status, err.count("something else: move it away")) == (2, 2)
    assert tree(tmp_path) == {"other": b"mine", "rack/fabric.yml": b"mine"}


def test_other_commands_overwrite_what_init_wrote_until_somebody_changes_it(tmp_path, run):
    home = tmp_path / "rack"
    assert run("init", home, *options(*PROJECTS[0]))[0] == 0
    words = ("export", "cabling", home / "fabric.yml", "-o", home / "cabling.csv")
    assert run(*words)[0] == 0
    (home / "cabling.csv").write_text("mine\n")
    assert run(*words)[0] == 2
    assert VAULT.rpartition("/")[2] not in (home / VAULT).with_name(RECORD).read_text(), "no digest of a password"


def test_passwords_are_for_the_owner_alone_and_out_of_git(tmp_path, run):
    assert run("init", tmp_path, "--switches", 4)[0] == 0
    assert (tmp_path / VAULT).stat().st_mode & 0o777 == 0o600
    ignored = (tmp_path / ".gitignore").read_text().splitlines()
    assert {f"/{VAULT}", "/inventory/runs/", "/inventory/lab/", "/ansible.cfg", "/first/"} <= set(ignored)


def test_without_a_terminal_nothing_is_asked_and_what_is_assumed_is_said(tmp_path, run, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO("torus\n"))
    status, out, _ = run("init", tmp_path / "rack")
    said = " ".join(out.split())
    assert status == 0
    for words in ("a ring (--family)", "4 switches (--switches)", "model powerconnect-5324 (--model)"):
        assert words in said
    assert "addresses of 192.0.2.0/24 (--network)" in said
    assert "change the addresses in fabric.yml: 192.0.2.0/24 is for examples" in said
    assert max(map(len, out.splitlines())) <= 80 + len(str(tmp_path))
    assert read_fabric(tmp_path / "rack" / "fabric.yml").shape == make_fabric("ring", 4).shape


@pytest.fixture
def typed(monkeypatch):
    """Return what types lines at a terminal, and ends the input behind them."""

    def typed(*lines):
        keyboard = io.StringIO("".join(f"{line}\n" for line in lines))
        monkeypatch.setattr(keyboard, "isatty", lambda: True)
        monkeypatch.setattr(sys, "stdin", keyboard)
        monkeypatch.setattr(sys.stderr, "isatty", lambda: True)

    return typed


def test_a_terminal_is_asked_for_what_no_option_says_until_the_answer_is_right(tmp_path, run, typed):
    typed("toruss", "torus", "4by4", "3 4", "", "two", "2", "10.1.2.3/24", "10.1.2.0/24")
    status, out, err = run("init", tmp_path / "rack", "--parallel", 2)
    assert status == 0
    assert "assumed" not in out
    assert "--family: expected one of mesh" in err
    assert "Sizes of the torus (k1 k2 ...):" in err
    assert "--dims: expected k1 k2 ..., whole numbers, actual '4by4'" in err
    assert err.count("Hosts on each switch [1]:") == err.count("Management network [192.0.2.0/24]:") == 2
    fabric = read_fabric(tmp_path / "rack" / "fabric.yml")
    assert fabric.shape == make_fabric("torus", 3, 4, parallel=2, hosts=2).shape
    assert fabric.switches[0].address == "10.1.2.10"


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ([], "--family: expected cabling (mesh, torus, "),
        (["torus"], "--dims: expected sizes of the torus (k1 k2 ...), actual no answer"),
        (["torus", "3 3"], "--model: expected model of the switches, actual no answer"),
    ],
)
def test_a_terminal_that_is_closed_ends_the_questions_and_nothing_is_written(lines, said, tmp_path, run, typed):
    typed(*lines)
    status, out, err = run("init", tmp_path / "rack")
    assert (status, out) == (2, "")
    assert said in err
    assert err.count("expected") == 1
    assert not (tmp_path / "rack").exists()


def test_an_option_that_is_wrong_is_told_before_anything_is_asked(tmp_path, run, typed):
    typed("torus", "3 3")
    status, _, err = run("init", tmp_path / "rack", "--model", 5548, "--hosts", 999, "--network", "x")
    assert (status, err.count("expected"), "Cabling" in err) == (2, 3, False)
    assert "--hosts" in err


def test_json_is_never_asked_for(tmp_path, answer, typed):
    typed("torus", "3 3")
    status, page = answer("init", tmp_path / "rack")
    assert (status, page["family"], page["dims"]) == (0, "ring", [4])
    assert "a ring" in page["assumed"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--family rnig", "--family: expected one of mesh, torus, hypercube, ring, fat-tree, clos, complete, tree, "),
        ("--dims 4 4", "--family: expected cabling (mesh, torus, "),
        ("--family torus", "--dims: expected sizes of the torus (k1 k2 ...), actual none"),
        ("--family torus --switches 16", "--switches: expected --dims k1 k2 ... instead, actual 16"),
        ("--family ring --dims 4 --switches 4", "--switches: expected --dims k instead, actual 4"),
        ("--family fat-tree --dims 3 4 2", "--dims: expected a number of links down that 3 links up divide, actual 4"),
        ("--switches 0", "--dims: expected numbers from 1, actual 0"),
        ("--switches 4 --model 5548", "(did you mean powerconnect-5548?), actual '5548'"),
        ("--switches 4 --hosts -1", "--hosts: expected a whole number from 0 to 512, actual '-1'"),
        ("--switches 4 --hosts 99", "--hosts, --parallel or --model: expected at most 24 ports on s0 and 3 more"),
        ("--switches 4 --parallel 0", "--parallel: expected greater than or equal to 1, actual 0"),
        ("--switches 4 --network 192.0.2.311/24", "--network: expected ADDRESS/BITS of IPv4, actual 192.0.2.311/24"),
        ("--switches 4 --network 224.0.0.0/24", "--network: expected a network that devices may have addresses of"),
        ("--switches 7 --network 10.0.0.0/29", "expected a network with 7 addresses for switches, actual 10.0.0.0/29"),
        ("--switches 4 --name a/b", "--name: expected a name of letters, digits, dot, hyphen, underscore"),
    ],
)
def test_an_option_that_is_wrong_is_a_finding_and_nothing_is_written(words, said, tmp_path, run):
    status, out, err = run("init", tmp_path / "rack", *words.split())
    assert (status, out) == (2, "")
    assert said in err
    assert not (tmp_path / "rack").exists()


@pytest.mark.parametrize(
    ("network", "count", "first"),
    [("10.0.0.0/24", 4, "10.0.0.10"), ("10.0.0.0/28", 6, "10.0.0.1"), ("10.0.0.0/28", 5, "10.0.0.10")],
)
def test_addresses_begin_at_the_tenth_where_there_is_room(network, count, first, tmp_path, run):
    assert run("init", tmp_path, "--switches", count, "--network", network)[0] == 0
    assert read_fabric(tmp_path / "fabric.yml").switches[0].address == first


def test_the_inventory_is_of_the_fabric_file_beside_it(tmp_path, run, monkeypatch):
    assert run("init", tmp_path, "--switches", 3, "--model", "linux-bridge")[0] == 0
    monkeypatch.chdir(tmp_path)
    assert fabric_path(Path("inventory")) == Path("fabric.yml")
    assert len(fabric_of(Path("inventory")).switches) == 3
    assert inventory_beside(Path("fabric.yml")) == Path("inventory")
    assert inventory_source(Path("inventory")) == Path("inventory/tagloom.yml")
    assert yaml.safe_load(Path("inventory/group_vars/all/login.yml").read_text())["tagloom_become"] == "sudo -n"


def test_first_lines_for_consoles_are_written_from_the_project_alone(tmp_path, run, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run("init", ".", "--switches", 3, "--network", "10.0.0.0/24")[0] == 0
    monkeypatch.setattr("tagloom.cli.bootstrapping.logins", lambda *_: {})  # Ansible takes a second
    assert run("bootstrap", "fabric.yml", "--network", "10.0.0.0/24", "-o", "first")[0] == 0
    lines = Path("first/s0.txt").read_text()
    assert "ip address 10.0.0.10 255.255.255.0" in lines
    assert "snmp-server user tagloom tagloom auth-sha <auth-password>" in lines


@pytest.mark.slow
def test_plain_ansible_finds_every_switch_and_login_beside_a_running_rack(tmp_path, run):
    assert run("init", tmp_path, "--switches", 3, "--network", "10.0.0.0/24")[0] == 0
    for name, text in {
        "lab/tagloom.yml": "plugin: tagloom",
        "known_hosts": "h ssh-rsa A",
        "runs/x.yml": "a: b",
    }.items():
        (tmp_path / "inventory" / name).parent.mkdir(exist_ok=True)
        (tmp_path / "inventory" / name).write_text(text)
    words = [Path(sys.executable).with_name("ansible-inventory"), "-i", "inventory", "--list", "--yaml"]
    environment = {**os.environ, "PYTHONPATH": str(share_directory() / "tooling"), "TAGLOOM_PASSWORD": "secret"}
    done = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    assert "WARNING" not in done.stderr
    (group,) = (found["hosts"] for found in yaml.safe_load(done.stdout)["all"]["children"].values() if found)
    assert {name: said["ansible_host"] for name, said in group.items()} == {
        f"s{n}": f"10.0.0.{10 + n}" for n in range(3)
    }
    assert all(said["tagloom_known_hosts"] == str(tmp_path / "inventory/known_hosts") for said in group.values())


@pytest.mark.kernel
def test_in_a_project_without_a_rack_the_next_command_names_its_inventory(tmp_path, run, monkeypatch):
    run("init", tmp_path / "rack", "--family", "ring", "--dims", 4, "--network", "198.51.100.0/24")
    monkeypatch.chdir(tmp_path / "rack")
    status, out, _ = run("plan", "fabric.yml", "-o", "build")
    assert (status, out.splitlines()[-1]) == (0, "next      tagloom apply build -i inventory --check --diff")
    status, _, err = run("apply", "build", "--check")
    assert status == 2
    assert "an inventory (-i inventory), or a running lab" in err
    Path("inventory", "lab").mkdir()
    assert (
        run("plan", "fabric.yml", "-o", "again")[1].splitlines()[-1] == "next      tagloom apply again --check --diff"
    )
