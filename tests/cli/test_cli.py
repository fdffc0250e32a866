"""The command line: the contract's keys, exit statuses, every finding at once, nothing written on a no."""

import json
import subprocess
import sys

import pytest

from tagloom.cli import main
from tagloom.errors import InputError
from tagloom.operate import prepare


@pytest.fixture
def torus(tmp_path, run):
    """Plan the issue's torus without detours, whose lines the tests edit: (fabric file, build)."""
    fabric, build = tmp_path / "f.yml", tmp_path / "b"
    assert run("new", "torus", "--dims", 4, 4, "--parallel", 2, "-o", fabric)[0] == 0
    assert run("plan", fabric, "-o", build, "--protect", "none")[0] == 0
    return fabric, build


def test_the_torus_plans_with_the_keys_and_figures_promised(tmp_path, answer, run):
    run("new", "torus", "--dims", 4, 4, "--parallel", 2, "-o", tmp_path / "f.yml")
    status, page = answer("plan", tmp_path / "f.yml", "-o", tmp_path / "b")
    assert status == 0
    assert (page["switches"], page["links"], page["hosts"], page["average_hops"]) == (16, 64, 16, 3.0)
    assert (page["routing"], page["assignment"], page["vlans"], page["max_channel_load"]) == ("dor", "fixed", 8, 8)
    assert page["deadlock_free"] is page["storm_free"] is page["broadcast_exactly_once"] is True
    assert (page["unreachable_pairs"], page["fdb_entries_max_without"], page["findings"]) == (0, 28, [])
    assert (page["protect"], page["protected"], page["unprotected"]) == ("auto", 240 * 64, 0)
    assert page["detour_vlans"] > 0
    assert page["fdb_entries_max"] > 28, "what the tables hold, detours included"
    assert all(isinstance(page[k], int) for k in ("switches", "links", "hosts", "vlans", "max_channel_load"))
    assert sorted(p.name for p in (tmp_path / "b").iterdir()) == [
        ".tagloom",
        "configs",
        "fabric.yml",
        "plan.json",
        "routes.npz",
    ]
    assert len(list((tmp_path / "b" / "configs").iterdir())) == 16


@pytest.mark.kernel
def test_a_verbose_plan_lists_what_other_routings_would_cost(tmp_path, run):
    run("new", "torus", "--dims", 6, 6, "--parallel", 2, "-o", tmp_path / "f.yml")
    status, out, _ = run("plan", tmp_path / "f.yml", "-o", tmp_path / "b", "-v")
    assert status == 0
    rows = {line.split()[0]: line.split()[1:] for line in out.splitlines() if line.strip().startswith("dor")}
    assert rows == {"dor": ["12", "4.11", "36"], "dor-r7": ["12", "4.22", "36"], "dor-r1": ["18", "4.00", "30"]}


def test_verify_tells_every_file_that_is_missing(answer, tmp_path):
    status, page = answer("verify", "--fabric", tmp_path / "f.yml", "--configs", tmp_path / "configs")
    assert status == 2
    assert [each["where"] for each in page["findings"]] == [str(tmp_path / "f.yml"), str(tmp_path / "configs")]


def test_verify_says_the_same_from_text_alone(torus, answer):
    fabric, build = torus
    for words in ((build,), ("--fabric", fabric, "--configs", build / "configs")):
        status, page = answer("verify", *words)
        assert status == 0
        assert (page["reachable_pairs"], page["unreachable_pairs"], page["off_path_pairs"]) == (240, 0, 0)
        assert page["storm_free"] is page["broadcast_exactly_once"] is page["deadlock_free"] is True
        assert (page["deadlock_cycle"], page["fdb_entries_max"], page["findings"]) == ([], 28, [])


@pytest.mark.parametrize(
    ("was", "now", "names"),
    [
        ("switchport general pvid 100", "switchport general pvid 107", "h0 -> "),
        ("bridge address 02:00:00:00:00:01 ethernet g4", "bridge address 02:00:00:00:00:01 ethernet g2", "h0 -> h1"),
        ("bridge address 02:00:00:00:00:01 ethernet g4\n", "", "flooded at s0 in VLAN 100"),
        ("allowed vlan add 102-105 tagged", "allowed vlan add 102-104 tagged", "-> "),
        ("vlan 100-107", "vlan 100-106", "VLAN was not created by user"),
        ("name tagloom", "nome tagloom", "expected a line tagloom knows, actual 'nome tagloom'"),
    ],
)  # fmt: skip
def test_an_edited_line_is_found_and_named_with_exit_1(torus, run, answer, was, now, names):
    fabric, build = torus
    text = (build / "configs" / "s0.cfg").read_text()
    assert was in text
    (build / "configs" / "s0.cfg").write_text(text.replace(was, now, 1))
    status, out, _ = run("verify", "--fabric", fabric, "--configs", build / "configs")
    assert status == 1
    assert names in out
    status, page = answer("verify", build)
    assert status == 1
    assert page["findings"]


def test_a_loop_in_a_vlan_is_named_as_switches_and_ports(torus, run):
    fabric, build = torus
    for name, port in (("s3", 3), ("s0", 1)):  # the link that closes row 0, which parallel link 0 leaves out
        path = build / "configs" / f"{name}.cfg"
        more = f"interface ethernet g{port}\nswitchport general allowed vlan add 100-107 tagged\nexit\n"
        path.write_text(path.read_text() + more)
    status, out, _ = run("verify", "--fabric", fabric, "--configs", build / "configs")
    assert status == 1
    assert "expected no storm, actual copies go round" in out
    assert "(VLAN 10" in out


def test_a_broken_fabric_gets_all_findings_and_exit_2_and_writes_nothing(tmp_path, run, answer):
    broken = tmp_path / "broken.yml"
    broken.write_text(
        'shape: {family: mesh, dims: [2, 2]}\ncolour: red\nhosts:\n  h2: {mac: "zz"}\nlinks:\n  - ["s0:g1", "s3:g9"]\n'
    )
    status, out, err = run("plan", broken, "-o", tmp_path / "b")
    assert (status, out) == (2, "")
    assert err.splitlines() == [
        f"{broken}:2  colour: expected a key the fabric file has, actual 'colour'",
        f'{broken}:4  hosts.h2.mac: expected six hex pairs, actual "zz"',
        f"{broken}:6  links[0]: expected a free port, actual s0:g1 (taken by shape)",
        "3 findings; nothing was changed; read on: tagloom docs fabric-file",
    ]
    assert not (tmp_path / "b").exists()
    status, page = answer("plan", broken, "-o", tmp_path / "b")
    assert status == 2
    assert len(page["findings"]) == 3
    assert set(page["findings"][0]) == {"where", "expected", "actual"}


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["fly"],
        ["plan"],
        ["plan", "none.yml", "-o", "b"],
        ["new", "torus", "--dims", "four"],
        ["new", "star", "--dims", "4"],
        ["verify"],
        ["verify", "nowhere"],
        ["rollout", "a", "b", "-o", "c"],
        ["apply", "nowhere", "-i", "nowhere"],
        ["predict", "nowhere"],
        ["regulate", "none.yml", "--traffic", "none.csv"],
        ["lab", "status", "--dir", "nowhere"],
        ["lab", "ping", "--dir", "nowhere"],
        ["lab", "down", "--dir", "nowhere"],
    ],
    ids=" ".join,
)
def test_bad_input_is_exit_2_without_a_traceback(words, run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    status, out, err = run(*words)
    assert status == 2
    assert out == ""
    assert ": expected " in err
    assert "Traceback" not in err
    assert not list(tmp_path.iterdir())


def test_a_plan_never_replaces_a_directory_that_is_not_one(torus, run, tmp_path):
    fabric, _ = torus
    home = tmp_path / "home"
    home.mkdir()
    (home / "thesis.tex").write_text("years of work")
    status, _, err = run("plan", fabric, "-o", home)
    assert status == 2
    assert "expected a new directory" in err
    assert (home / "thesis.tex").read_text() == "years of work"


def test_a_new_plan_replaces_the_old_one_but_not_the_backups_of_a_run(torus, run):
    fabric, build = torus
    (build / "apply" / "backups").mkdir(parents=True)
    (build / "apply" / "backups" / "s0.cfg").write_text("precious")
    assert run("plan", fabric, "-o", build, "--assignment", "renamed")[0] == 0
    assert json.loads((build / "plan.json").read_text())["summary"]["assignment"] == "renamed"
    assert (build / "apply" / "backups" / "s0.cfg").read_text() == "precious"


@pytest.mark.parametrize(
    ("words", "where"),
    [
        (["apply", "nothing", "-i", "nowhere"], ["-i", "nothing"]),
        (["apply", "-i", "nowhere"], ["-i", "apply"]),
        (["apply", "--resume", "--drift", "keep", "--limit", "s0", "-i", "nowhere"], ["-i", "--drift", "--limit"]),
    ],
    ids=["no build", "neither", "a resume"],
)
def test_a_push_tells_at_once_what_is_wrong_with_inventory_build_and_options(
    words, where, answer, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    status, page = answer(*words)
    assert (status, [finding["where"] for finding in page["findings"]]) == (2, where)
    assert list(tmp_path.iterdir()) == []


def test_a_model_without_a_known_command_line_is_a_finding(tmp_path, run):
    run("new", "mesh", "--dims", 2, 2, "--model", "sf-0420g", "-o", tmp_path / "f.yml")
    status, _, err = run("plan", tmp_path / "f.yml", "-o", tmp_path / "b")
    assert status == 2
    assert "expected a model whose command line is known" in err


def test_links_off_that_cut_the_fabric_are_a_finding(tmp_path, run):
    run("new", "mesh", "--dims", 2, 1, "-o", tmp_path / "f.yml")
    status, _, err = run("plan", tmp_path / "f.yml", "-o", tmp_path / "b", "--off", "s0:g1")
    assert status == 2
    assert "no way to s1" in err
    status, _, err = run("plan", tmp_path / "f.yml", "-o", tmp_path / "b", "--off", "s0:g9", "s7:g1")
    assert status == 2
    assert err.count("expected switch:port of a link") == 2


def test_a_routing_that_cannot_be_deadlock_free_is_exit_1_with_a_next_step(tmp_path, run):
    run("new", "ring", "--dims", 7, "-o", tmp_path / "f.yml")
    status, _, err = run("plan", tmp_path / "f.yml", "-o", tmp_path / "b", "--routing", "dor")
    assert status == 1
    assert "dependency cycle" in err
    assert "--routing up-down" in err


def test_up_down_is_rooted_where_asked(tmp_path, run, answer):
    fabric, build = tmp_path / "f.yml", tmp_path / "b"
    run("new", "mesh", "--dims", 4, 3, "-o", fabric)
    pages = {}
    for root in ("s0", "s5", "best"):
        for assignment in ("fixed", "renamed"):
            words = ("plan", fabric, "-o", build, "--routing", "up-down", "--root", root, "--assignment", assignment)
            status, out, _ = run(*words)
            assert status == 0
            assert (f"from {root};" in out) == (root != "best")
            assert ("the best of the 12 most central roots" in out) == (root == "best")
            assert answer("verify", build)[0] == 0
            pages[root, assignment] = answer(*words)[1]
    unasked = answer("plan", fabric, "-o", build, "--routing", "up-down")[1]
    assert unasked == pages["best", "fixed"]
    assert unasked["max_channel_load"] != pages["s0", "fixed"]["max_channel_load"]


def test_plan_and_regulate_tell_wrong_words_and_missing_files_at_once(tmp_path, run):
    fabric = tmp_path / "f.yml"
    words = "--routing", "upp-down", "--assignment", "painted"
    status, _, err = run("plan", tmp_path / "none.yml", "-o", tmp_path / "b", *words, "--keep", tmp_path / "old")
    assert (status, err.count("expected")) == (2, 4), err
    run("new", "mesh", "--dims", 2, 2, "-o", fabric)
    status, _, err = run("plan", fabric, "-o", tmp_path / "b", *words, "--off", "s9", "--protect", "link")
    assert (status, err.count("expected")) == (2, 3), err
    status, _, err = run("plan", fabric, "-o", tmp_path / "b", *words, "--protect", "link", "--root", "s9")
    assert (status, err.count("expected")) == (2, 3), err
    status, _, err = run("regulate", fabric, "--traffic", tmp_path / "none.csv", *words, "--headroom", "2")
    assert (status, err.count("expected")) == (2, 4), err


def test_a_root_that_is_none_is_a_finding(tmp_path, run):
    fabric, build = tmp_path / "f.yml", tmp_path / "b"
    run("new", "mesh", "--dims", 2, 2, "-o", fabric)
    status, _, err = run("plan", fabric, "-o", build, "--routing", "dor", "--root", "s9")
    assert status == 2
    assert "--root: expected --routing up-down, which has a root to choose, actual --routing dor" in err
    assert "--root: expected best, or a switch of the fabric that is up, actual 's9'" in err
    assert run("plan", fabric, "-o", build, "--root", "best")[0] == 2
    status, _, err = run("plan", fabric, "-o", build, "--routing", "upp-down", "--root", "s9")
    assert (status, err.count("expected")) == (2, 2)
    assert not build.exists()


@pytest.mark.kernel
@pytest.mark.slow
def test_regulate_plan_rollout_and_predict_follow_from_one_another(torus, tmp_path, npb, answer, run):
    fabric, build = torus
    settings, off, change = tmp_path / "s.json", tmp_path / "off", tmp_path / "r"
    status, chosen = answer("regulate", fabric, "--traffic", npb / "is.S.16.matrix.csv", "-o", settings)
    assert status == 0
    assert chosen["links_off"] == 32
    assert chosen["links_slowed"] == 0
    assert chosen["saving_percent"] == pytest.approx(18.6, abs=0.05)
    assert chosen["max_channel_load_after"] <= chosen["max_channel_load_before"]
    assert chosen["watts_before"] == 412.8
    assert chosen["lower_bound_watts"] <= chosen["watts_after"]
    assert chosen["gap_percent"] == pytest.approx(
        100 * (chosen["watts_after"] - chosen["lower_bound_watts"]) / chosen["watts_after"], abs=1e-4
    )
    assert chosen["two_connected"] is True
    status, page = answer("plan", fabric, "--settings", settings, "--previous", build, "-o", off)
    assert status == 0
    assert page["links_off"] == 32
    assert chosen["average_hops_before"] == json.loads((build / "plan.json").read_text())["summary"]["average_hops"]
    assert chosen["average_hops_after"] == page["average_hops"]
    status, page = answer("rollout", build, off, "-o", change)
    assert status == 0
    assert (page["waves"], page["strategy"], page["peak_lost_pairs"], page["downtime_seconds"]) == (3, "direct", 0, 0.0)
    assert page["proven_states"] > 4 * 16, "each line of each switch, not only the ends of waves"
    assert page["changes"] > 100
    assert page["expected_seconds"] > page["drain_seconds"] >= 5
    kept = json.loads((change / "rollout.json").read_text())
    lines = [path.read_text().splitlines() for path in sorted((change / "waves/2/commands").glob("*.txt"))]
    assert kept["waves"][1]["commands"] == sum(map(len, lines))
    assert any("pvid" in line for line in lines[0])
    again = answer("rollout", build, off, "-o", change)
    assert again == (0, page)
    assert json.loads((change / "rollout.json").read_text()) == kept
    assert run("rollout", build, off, "-o", change, "--strategy", "luck")[0] == 2
    assert run("rollout", build, off, "-o", change, "--strategy", "drain")[0] == 2
    status, _, err = run("rollout", build, off, "-o", change, "--strategy", "slides")
    assert (status, "--strategy auto" in err) == (1, True), "trees are no way where none is needed"
    assert answer("verify", change / "build")[0] == 0
    status, page = answer(
        "predict", build, "--settings", settings, "--traffic", npb / "is.S.16.matrix.csv", "--seconds", 1
    )
    assert status == 0
    keys = "watts_before watts_after saving_percent joules seconds_base seconds_predicted slowdown_percent lost_bytes"
    assert set(keys.split()) | {"toggle_seconds"} <= set(page)
    assert page["saving_percent"] == chosen["saving_percent"]
    assert page["toggle_seconds"] == 3.2
    assert page["seconds_predicted"] >= page["seconds_base"] == 1
    assert run("predict", build, "--eee", "1,2")[0] == 2


def test_every_command_has_help_that_opens_with_an_example(capsys):
    for words in (["plan"], ["verify"], ["apply"], ["lab"], ["lab", "up"], ["demo"], []):
        with pytest.raises(SystemExit) as ended:
            main([*words, "--help"])
        assert ended.value.code == 0
        shown = capsys.readouterr().out
        assert "usage: tagloom" in shown
        if words != ["lab", "up"]:
            assert "example:\n  tagloom" in shown


def test_the_installed_command_answers(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "tagloom.cli", "new", "ring", "--dims", "4"],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
    )
    assert done.stdout.startswith("name: ring\n")


@pytest.mark.kernel
def test_static_arp_is_planned_proven_written_and_rolled_out(tmp_path, run, answer):
    """A ring with one link between neighbours repeats broadcasts under renamed up*/down*."""
    ring, tree, arp, fixed = (tmp_path / name for name in ("f.yml", "tree", "arp", "fixed"))
    run("new", "ring", "--dims", 5, "-o", ring)
    status, page = answer("plan", ring, "-o", tree, "--assignment", "renamed")
    assert (status, page["broadcast"], page["broadcast_exactly_once"]) == (0, "tree", True)
    assert "--static-arp" in page["remarks"][0]
    assert not (tree / "hosts").exists()
    status, page = answer("plan", ring, "-o", arp, "--assignment", "renamed", "--static-arp")
    assert (status, page["broadcast"], page["broadcast_exactly_once"]) == (0, "static-arp", False)
    assert page["broadcast_duplicates_allowed"] is page["proven"] is True
    assert "tagloom_static_arp_hosts:" in (arp / "hosts" / "static-arp.yml").read_text()
    assert answer("verify", arp)[0] == 0
    status, page = answer("verify", "--fabric", ring, "--configs", arp / "configs")
    assert status == 1, "without the plan nothing says that broadcasts may come twice"
    assert (page["off_path_pairs"], page["storm_free"]) == (0, True)
    run("plan", ring, "-o", fixed)
    for old, new in ((fixed, tree), (tree, fixed), (fixed, arp), (arp, fixed)):
        status, page = answer("rollout", old, new, "-o", tmp_path / "roll")
        assert (status, page["waves"]) == (0, 3)
        assert page["broadcast_duplicates_allowed"] is (arp in {old, new})
        assert prepare.prepare(tmp_path / "roll").proof.proven
    assert prepare.prepare(arp).proof.proven


def test_learning_is_written_where_its_frames_are_safe_and_refused_elsewhere(tmp_path, run):
    run("new", "mesh", "--dims", 4, 4, "-o", tmp_path / "f.yml")
    status, out, _ = run("plan", tmp_path / "f.yml", "-o", tmp_path / "a", "--learning", "--routing", "dor")
    assert (status, "no PAUSE on any port: frames that hosts tag" in " ".join(out.split())) == (0, True)
    with (tmp_path / "f.yml").open("a") as file:
        file.write('flow_control: "on"\n')
    status, _, err = run("plan", tmp_path / "f.yml", "-o", tmp_path / "c", "--learning")
    assert (status, "dependency cycle" in err, "--routing tree" in err, "flow_control" in err) == (1, True, True, True)
    assert run("plan", tmp_path / "f.yml", "-o", tmp_path / "b", "--learning", "--routing", "tree")[0] == 0
    for build in ("a", "b"):
        assert (tmp_path / build / "hosts" / "learning.sh").read_text().startswith("#!/bin/sh\n")
    status, _, err = run("plan", tmp_path / "f.yml", "-o", tmp_path / "c", "--learning", "--assignment", "renamed")
    assert (status, "--assignment fixed" in err) == (1, True)
    assert not (tmp_path / "c").exists()


def test_a_plan_whose_switches_learn_is_proven_with_its_plan_alone_and_not_pushed(tmp_path, answer, run):
    """Figure 1 of Koibuchi et al. 2011: texts alone show no path, so they are no yes."""
    fabric, build, pinned = (tmp_path / name for name in ("f.yml", "b", "p"))
    run("new", "mesh", "--dims", 2, 2, "-o", fabric)
    status, out, _ = run("plan", fabric, "-o", build, "--learning-only", "--routing", "dor")
    assert (status, "once taught" in out, "paste" in out, "no static entries" in out) == (0, True, True, True)
    assert "bridge address" not in "".join(path.read_text() for path in (build / "configs").glob("*.cfg"))
    assert "Those hold no static entries" in (build / "hosts" / "learning.sh").read_text()
    status, page = answer("verify", build)
    assert (status, page["proven"], page["learned_entries_max"], page["fdb_entries_max"]) == (0, True, 8, 0)
    status, page = answer("verify", "--fabric", fabric, "--configs", build / "configs")
    assert (status, page["proven"], page["off_path_pairs"], page["reachable_pairs"]) == (1, False, 12, 12)
    assert run("verify", build, "--what-if", "links")[0] == 2
    assert run("plan", fabric, "-o", pinned)[0] == 0
    status, _, err = run("rollout", pinned, build, "-o", tmp_path / "r")
    assert (status, "--learning-only" in err) == (2, True)
    with pytest.raises(InputError, match="--learning-only"):
        prepare.prepare(build)
    status, _, err = run(
        "plan", fabric, "-o", tmp_path / "c", "--learning-only", "--assignment", "renamed", "--protect", "link"
    )
    assert (status, "--assignment" in err, "--protect" in err) == (2, True, True)
    text = (build / "configs" / "s0.cfg").read_text()
    (build / "configs" / "s0.cfg").write_text(text.replace("100-101 untagged", "100 untagged"))
    assert answer("verify", build)[0] == 1


def test_a_whole_switch_is_off_as_if_the_fabric_file_said_so(tmp_path, answer, run):
    text = "name: ring\nmodel: powerconnect-5324\nshape: {family: ring, dims: [4]}\n"
    (tmp_path / "f.yml").write_text(text)
    (tmp_path / "down.yml").write_text(text + "switches: {s1: {state: down}}\n")
    traffic = tmp_path / "t.csv"
    traffic.write_text("source,destination,bytes\nh0,h1,5\nh0,h2,7\n")
    off, down = tmp_path / "off", tmp_path / "down"
    status, page = answer(
        "plan", tmp_path / "f.yml", "-o", off, "--off", "s1", "--traffic", traffic, "--prefer", "vlans"
    )
    assert (status, page["switches_down"], page["hosts_cut_off"], page["hosts"]) == (0, 1, ["h1"], 3)
    assert page["max_channel_load"] == 7, "what the hosts that are left send"
    assert answer("plan", tmp_path / "down.yml", "-o", down)[0] == 0
    configs = [{path.name: path.read_text() for path in (build / "configs").iterdir()} for build in (off, down)]
    assert configs[0] == configs[1]
    assert sorted(configs[0]) == ["s0.cfg", "s2.cfg", "s3.cfg"]
    assert answer("verify", off)[0] == 0
    assert "h1: their switch is off" in run("plan", tmp_path / "f.yml", "-o", off, "--off", "s1")[1]
    status, page = answer("plan", tmp_path / "f.yml", "-o", tmp_path / "no", "--off", "s9", "s0", "s1", "s2", "s3")
    assert (status, [each["actual"] for each in page["findings"]]) == (2, ["'s9'", "all are named"])
