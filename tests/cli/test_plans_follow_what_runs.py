"""A plan follows the build that runs by the journal, and no command loses its files."""

import argparse
import contextlib
import json
import shutil

import pytest

from tagloom.apply.journal import Journal
from tagloom.apply.run_states import Move
from tagloom.cli import main
from tagloom.cli.applying import source_of
from tagloom.operate.replacing import build_applied
from tagloom.operate.running import REQUESTED_DIGEST, build_digest
from tagloom.operate.status import recorded
from tagloom.platforms.port_names import link_name

pytestmark = pytest.mark.kernel

RING = "name: ring\nmodel: {model}\nshape: {{family: ring, dims: [4], parallel: 2, hosts: {hosts}}}\nswitches: {more}\n"


def fabric(model="powerconnect-5324", hosts=1, more="{}"):
    return RING.format(model=model, hosts=hosts, more=more)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Return a directory with a fabric, a build and an inventory without runs."""
    home = tmp_path_factory.mktemp("made")
    (home / "f.yml").write_text(fabric())
    (home / "inventory").mkdir()
    (home / "inventory" / "tagloom.yml").write_text("plugin: tagloom\nfabric: ../f.yml\n")
    with contextlib.chdir(home):
        assert main(["plan", "f.yml", "-o", "build"]) == 0
    return home


@pytest.fixture
def here(made, tmp_path, monkeypatch):
    """Return such a directory in which the build was applied."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    applied(tmp_path / "inventory", tmp_path / "build")
    return tmp_path


def applied(inventory, build, name="r1"):
    """Write down a run that brought a build to all switches, with its own copy, as `apply` does."""
    order = inventory / "runs" / f"{name}-apply" / "order"
    shutil.copytree(build, order)
    (order / REQUESTED_DIGEST).write_text(build_digest(build))
    journal = Journal(inventory / "runs" / "journal.db")
    what = {"fabric": "ring", "source": str(build), "command": "tagloom apply", "operator": "eve@desk"}
    run = journal.begin(name=name, kind="apply", waves=1, proven=True, order=order, **what)
    journal.begin_wave(run.id, 1)
    journal.move(run.id, Move.COMPLETE)
    return journal, run


def tree(directory):
    return {path.relative_to(directory): path.read_bytes() for path in directory.rglob("*") if path.is_file()}


def followed(answer, *words):
    status, page = answer("plan", *words, "-o", "next")
    assert status == 0
    return page["previous"], page["previous_use"]


def test_a_plan_follows_the_build_that_runs_and_says_so(here, answer, run):
    build = str(here / "build")
    assert followed(answer, "f.yml", "--off", "s0:g1") == (build, "ids")
    assert followed(answer, "f.yml", "--from-scratch") == (None, "")
    assert followed(answer, "f.yml", "--previous", "next") == ("next", "ids")
    said = " ".join(run("plan", "f.yml", "-o", "next")[1].split())
    assert "previous build, which runs at inventory: unchanged VLANs keep their ids" in said


@pytest.mark.parametrize(
    ("hosts", "words", "option"), [(1, ["--off", "s0:g1"], "--previous"), (2, [], "--keep")], ids=["ids", "paths"]
)
def test_a_plan_that_follows_is_the_one_that_names_the_build(here, run, hosts, words, option):
    (here / "f.yml").write_text(fabric(hosts=hosts))
    for name, more in (("a", []), ("b", [option, "build"])):
        assert run("plan", "f.yml", *words, "-o", name, *more)[0] == 0
    assert tree(here / "a" / "configs") == tree(here / "b" / "configs")


def test_a_plan_with_another_first_vlan_follows_no_ids(here, run, answer):
    (here / "g.yml").write_text(fabric() + "vlans: {first: 300}\n")
    assert followed(answer, "g.yml") == (None, "")
    assert "has other VLAN ids by vlans.first" in " ".join(run("plan", "g.yml", "-o", "next")[1].split())


def test_a_plan_keeps_the_paths_that_run_where_only_hosts_differ(here, answer):
    (here / "g.yml").write_text(fabric(hosts=2))
    build = str(here / "build")
    assert followed(answer, "g.yml") == (build, "paths")
    assert followed(answer, "g.yml", "--routing", "tree") == (build, "ids")
    assert followed(answer, "g.yml", "--off", "s0:g1") == (build, "ids")
    assert followed(answer, "g.yml", "--assignment", "renamed") == (build, "ids")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (fabric().replace("name: ring", "name: other"), "it runs fabric ring"),
        (fabric(model="powerconnect-6248"), "it runs switches with other names, models or addresses"),
        (fabric().replace("dims: [4]", "dims: [3]"), ""),
    ],
    ids=["name", "models", "fewer switches"],
)
def test_a_plan_follows_no_build_of_another_network(here, run, answer, text, why):
    (here / "g.yml").write_text(text)
    assert followed(answer, "g.yml") == ((None, "") if why else (str(here / "build"), "ids"))
    assert why in " ".join(run("plan", "g.yml", "-o", "next")[1].split())


def test_a_plan_follows_no_switches_at_other_addresses(here, run, answer):
    for name, subnet in (("f.yml", "192.0.2"), ("g.yml", "198.51.100")):
        more = ", ".join(f"s{s}: {{address: {subnet}.{s + 1}}}" for s in range(4))
        (here / name).write_text(fabric(more=f"{{{more}}}"))
    assert run("plan", "f.yml", "-o", "addressed")[0] == 0
    applied(here / "inventory", here / "addressed", "r2")
    assert followed(answer, "f.yml")[0] == str(here / "addressed")
    assert followed(answer, "g.yml") == (None, "")


def test_a_plan_follows_real_switches_before_those_of_a_rack(here, run, answer):
    assert run("plan", "f.yml", "-o", "tried", "--from-scratch")[0] == 0
    rack = here / "inventory" / "lab"
    rack.mkdir()
    (rack / "fabric.json").write_text(json.dumps({"fabric": {}, "templates": "", "quirks": {}}))
    applied(rack, here / "tried")
    assert followed(answer, "f.yml")[0] == str(here / "build")
    assert followed(answer, "f.yml", "-i", "inventory/lab")[0] == str(here / "tried")
    assert "not inventory/lab: -i inventory/lab follows it" in run("plan", "f.yml", "-o", "next")[1]
    assert run("plan", "f.yml", "-o", "build", "-i", "inventory/lab")[0] == 2, "it runs on the real switches"
    assert [each["where"] for each in answer("plan", "f.yml", "-o", "next", "-i", "none")[1]["findings"]] == ["-i"]


def test_after_a_rollback_a_plan_follows_what_ran_before(here, run, answer):
    assert run("plan", "f.yml", "--off", "s0:g1", "-o", "night")[0] == 0
    journal, last = applied(here / "inventory", here / "night", "r2")
    assert followed(answer, "f.yml")[0] == str(here / "night")
    journal.move(last.id, Move.UNDO)
    assert followed(answer, "f.yml")[0] == str(here / "build")


@pytest.mark.parametrize(
    "words",
    [("plan", "f.yml", "-o", "build"), ("plan", "f.yml", "-o", "link"), ("plan", "f.yml", "-o", "../here/build")],
    ids=["itself", "a link", "by another name"],
)
def test_no_plan_overwrites_the_build_that_runs(here, run, words):
    (here / "link").symlink_to("build")
    (here.parent / "here").unlink(missing_ok=True)
    (here.parent / "here").symlink_to(here.name)
    before = tree(here / "build")
    status, _, err = run(*words)
    assert status == 2
    assert "expected another directory, actual that of the build that runs, by run r1 (write to" in err
    assert tree(here / "build") == before
    assert run(*words, "--off", "s0:g1", "--force")[0] == 0
    assert run(*words)[0] == 0, "what runs is kept elsewhere now"


def test_no_rollout_overwrites_the_rollout_that_led_to_what_runs(here, run):
    assert run("plan", "f.yml", "--off", "s0:g1", "-o", "night")[0] == 0
    assert run("rollout", "build", "night", "-o", "change")[0] == 0
    applied(here / "inventory", here / "change", "r2")
    before = tree(here / "change")
    status, _, err = run("rollout", "night", "build", "-o", "change")
    assert (status, "change: expected another directory" in err) == (2, True)
    assert tree(here / "change") == before


@pytest.mark.parametrize("lost", ["removed", "changed"])
def test_what_runs_is_found_after_its_directory_was_lost(here, run, answer, lost):
    wanted = answer("path", "h0", "h1", "-i", "inventory")[1]
    assert answer("status", "--offline", "-i", "inventory")[1]["source_state"] == ""
    if lost == "removed":
        shutil.rmtree(here / "build")
    else:
        assert run("plan", "f.yml", "--off", "s0:g1", "-o", "build", "--force")[0] == 0
    page = answer("status", "--offline", "-i", "inventory")[1]
    assert (page["source"], page["source_state"]) == (str(here / "build"), lost)
    assert answer("verify", page["build"])[1]["findings"] == []
    said = "".join(run("status", "--offline", "-i", "inventory")[1].split())
    assert f"files{here}/buildwas{lost}since;therun'sowncopyisinventory/runs/r1-apply/order" in said
    assert answer("path", "h0", "h1", "-i", "inventory")[1] == wanted
    kept = here / "inventory" / "runs" / "r1-apply" / "order"
    assert followed(answer, "f.yml") == (str(kept), "ids")
    home = here / "inventory" / "runs"
    assert build_applied(Journal(home / "journal.db"), home) == kept
    shutil.rmtree(kept.parent)
    page = answer("status", "--offline", "-i", "inventory")[1]
    assert answer("verify", page["build"])[0] == 0, "the journal has a copy, too"


def test_a_run_that_did_not_end_does_not_count_as_all_of_its_build(here, run):
    assert run("plan", "f.yml", "--off", "s0:g1", "-o", "night")[0] == 0
    journal = Journal(here / "inventory" / "runs" / "journal.db")
    what = {"fabric": "ring", "source": str(here / "night"), "command": "tagloom apply", "operator": "eve@desk"}
    last = journal.begin(name="r2", kind="apply", waves=3, proven=True, order=here / "night", **what)
    said = "".join(run("status", "--offline", "-i", "inventory")[1].split())
    assert f"runs{here}/build,applied" in said
    journal.begin_wave(last.id, 1)
    journal.move(last.id, Move.FAIL)
    said = "".join(run("status", "--offline", "-i", "inventory")[1].split())
    assert f"runsnotallof{here}/night,begun" in said


def test_a_journal_that_cannot_be_read_stops_a_plan_only_where_it_would_overwrite(here, run):
    (here / "inventory" / "runs" / "journal.db").write_bytes(b"no journal")
    status, _, err = run("plan", "f.yml", "-o", "build")
    assert (status, "inventory/runs/journal.db" in err) == (2, True)
    assert run("plan", "f.yml", "-o", "next")[0] == 0
    assert run("plan", "f.yml", "-o", "build", "--force")[0] == 0


def test_what_to_type_next_leads_beside_the_build_that_runs(here, run):
    (here / "m.csv").write_text("# seconds: 60\nsource,destination,bytes\nh0,h1,1\n")
    assert "-o build-night" in run("regulate", "f.yml", "--traffic", "m.csv", "-o", "night.json")[1]
    assert "tagloom plan g.yml -o build-new" in run("new", "ring", "--dims", 4, "-o", "g.yml")[1]
    status, said, _ = run("plan", "f.yml", "--settings", "night.json", "-o", "build-night")
    assert (status, "wrote     build-night/" in said) == (0, True)
    applied(here / "inventory", here / "build-night", "r2")
    assert "-o build-night-new" in run("regulate", "f.yml", "--traffic", "m.csv", "-o", "night.json")[1]


@pytest.mark.usefixtures("here")
def test_from_scratch_goes_with_no_build_to_follow(answer):
    status, page = answer("plan", "f.yml", "-o", "next", "--from-scratch", "--keep", "build")
    assert (status, [each["where"] for each in page["findings"]]) == (2, ["--from-scratch"])


def test_links_that_a_run_has_yet_to_open_are_not_dead(here, run):
    assert run("plan", "f.yml", "--off", "s0:g1", "-o", "night")[0] == 0
    assert run("rollout", "night", "build", "-o", "change")[0] == 0
    journal = Journal(here / "inventory" / "runs" / "journal.db")
    what = {"fabric": "ring", "source": str(here / "change"), "command": "tagloom apply", "operator": "eve@desk"}
    last = journal.begin(name="r2", kind="apply", waves=3, proven=True, order=here / "change", **what)
    journal.begin_wave(last.id, 1)
    journal.move(last.id, Move.FAIL)
    known = recorded(here / "inventory" / "runs")
    assert [link_name(known.fabric, i) for i in known.opening] == ["s3:g3 - s0:g1"]
    journal.move(last.id, Move.LEAVE)
    assert recorded(here / "inventory" / "runs").opening == frozenset()


def test_advice_names_the_copy_of_a_run_whose_directory_is_gone(here):
    (run,) = Journal(here / "inventory" / "runs" / "journal.db").runs()
    args = argparse.Namespace(inventory=here / "inventory")
    assert source_of(args, run) == here / "build"
    shutil.rmtree(here / "build")
    assert source_of(args, run) == here / "inventory" / "runs" / "r1-apply" / "order"
