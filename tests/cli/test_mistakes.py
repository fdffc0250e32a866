"""A beginner's mistakes on the command line are answered with what to type instead."""

import pytest

MISTAKES = {
    "new ring 4": "tagloom new: expected the family's sizes behind --dims: tagloom new ring --dims 4, actual ring 4",
    "new mesh": "tagloom new: expected --dims, as in 'tagloom new torus --dims 4 4 --parallel 2 -o fabric.yml', "
    "actual nothing there",
    "new mesh --dims 4x4": "tagloom new --dims: expected whole numbers with blanks between, such as 4 4, actual '4x4'",
    "new mesh --dims 4 --parallel two": "tagloom new --parallel: expected a whole number, actual 'two'",
    "pln fabric.yml": "tagloom: expected a command of tagloom --help (did you mean plan?), actual 'pln'",
    "xyzzy": "tagloom: expected a command of tagloom --help, actual 'xyzzy'",
    "help": "tagloom: expected a command; tagloom --help lists them, actual 'help'",
    "": "tagloom: expected a command (see tagloom --help), as in 'tagloom demo', actual none",
    "lab": "tagloom lab: expected a command (see tagloom lab --help), as in 'tagloom lab up fabric.yml', actual none",
    "lab pign": "tagloom lab: expected a command of tagloom lab --help (did you mean ping?), actual 'pign'",
    "hosts lern": "tagloom hosts: expected a command of tagloom hosts --help (did you mean learn?), actual 'lern'",
    "plan fabric.yml --ouput build": "tagloom plan: expected -o/--output (did you mean --output?), actual --ouput",
    "plan fabric.yml": "tagloom plan: expected -o/--output, as in 'tagloom plan fabric.yml -o build', "
    "actual nothing there",
    "plan fabric.yml -o build --prefr load": "tagloom plan: expected arguments as in --help (did you mean --prefer?), "
    "actual --prefr load",
    "plan f.yml -o b --prefer lod": "tagloom plan --prefer: expected one of vlans, load (did you mean load?), "
    "actual 'lod'",
    "new rnig --dims 4": "new:3  shape.family: expected one of mesh, torus, hypercube, ring, fat-tree, clos, complete, "
    "tree, dragonfly (did you mean ring?), actual 'rnig'",
    "regulate f.yml": "tagloom regulate: expected --traffic or --prometheus, as in 'tagloom regulate fabric.yml "
    "--traffic matrix.csv -o night.json', actual neither",
    "regulate f.yml --traffic m.csv --prometheus http://p": "tagloom regulate: expected --traffic or --prometheus, "
    "actual both",
    "fit": "fit: expected --pairs FILE or --probe FILE, actual neither",
    "fit --pairs p.csv --probe p.json": "fit: expected --pairs FILE or --probe FILE, actual both",
    "verify b --fabric f.yml --configs c": "verify: expected BUILD, or --fabric FABRIC and --configs DIR, actual BUILD "
    "and --fabric and --configs",
    "verify --configs c": "verify: expected BUILD, or --fabric FABRIC and --configs DIR, actual --configs",
    "verify": "verify: expected BUILD, or --fabric FABRIC and --configs DIR, actual neither",
    "timetable f.yml -o t.json": "timetable: expected --traffic FILES or --calendar FILE, actual neither",
    "lab ping h0 h1 h2": "tagloom lab ping: expected arguments as in --help, actual h2",
    "export svg build": "tagloom export FORMAT: expected one of simgrid, containerlab, netlab, graphml, dot, slurm, "
    "batfish, prometheus, grafana, cabling, cabling-table, netbox-context, actual 'svg'",
}


@pytest.mark.parametrize("line", MISTAKES, ids=lambda line: line or "nothing")
def test_a_mistake_is_answered_with_what_leads_on(line, run):
    status, out, err = run(*line.split())
    assert (status, out) == (2, "")
    assert err.splitlines()[0] == MISTAKES[line]


def test_a_file_or_port_of_another_kind_is_answered_with_the_one_that_is_meant(tmp_path, run):
    fabric, build = tmp_path / "fabric.yml", tmp_path / "build"
    run("new", "mesh", "--dims", 2, 2, "-o", fabric)
    run("plan", fabric, "-o", build)
    links = "switch:port of a link of the fabric, or a switch"

    def first(*words):
        status, _, err = run(*words)
        assert status == 2
        return err.splitlines()[0]

    assert (
        first("lab", "up", build)
        == f"{build}: expected a readable fabric file ({build}/fabric.yml is one), actual Is a directory"
    )
    assert first("verify", fabric) == f"{fabric}: expected a build made by tagloom plan, actual a file"
    rollout = "a rollout, a directory that tagloom rollout OLD NEW -o DIR writes"
    assert first("predict", build, "--rollout", build) == f"{build}: expected {rollout}, actual a build"
    assert first("predict", build, "--rollout", "none") == f"none: expected {rollout}, actual nothing there"
    assert first("verify", "none") == "none: expected a build made by tagloom plan, actual no such directory"
    plan = ("plan", fabric, "-o", tmp_path / "night")
    for option, word, meant in (("routing", "updown", "up-down"), ("assignment", "Fxed", "fixed")):
        assert f"(did you mean {meant}?), actual '{word}'" in first(*plan, f"--{option}", word)
    assert "(did you mean 10GBASE-T?)" in first("eee", "--phy", "10gbase-tee", "--load", 0.1, "--frame-bytes", 1500)
    ways = ("rollout", build, build, "-o", tmp_path / "way", "--strategy", "perport")
    assert "(did you mean per-port?), actual 'perport'" in first(*ways)
    off = ("plan", fabric, "-o", tmp_path / "night", "--off")
    assert first(*off, "s0:g99") == f"--off: expected {links} (of s0: s0:g1, s0:g2), actual 's0:g99'"
    assert first(*off, "s0/g1") == f"--off: expected {links} (of s0: s0:g1, s0:g2), actual 's0/g1'"
    assert first(*off, "s33") == f"--off: expected {links} (did you mean s3?), actual 's33'"
    assert first(*off, "g2") == f"--off: expected {links}, actual 'g2'"
    after = ("path", "h0", "h1", "--build", build, "--after")
    assert "(of s1: s1:g1, s1:g2)" in first(*after, "s1:x")
    assert "(did you mean powerconnect-5324?), actual '5324'" in first("new", "ring", "--dims", 4, "--model", 5324)
