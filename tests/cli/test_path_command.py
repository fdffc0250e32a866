"""`tagloom path`: where a frame goes by a build's texts, before and after a failure; both ways, and why not."""

from itertools import pairwise

import pytest

from tagloom.cli import main


@pytest.fixture(scope="module")
def build(tmp_path_factory):
    home = tmp_path_factory.mktemp("path")
    assert main(["new", "mesh", "--dims", "3", "3", "-o", str(home / "f.yml")]) == 0
    assert main(["plan", str(home / "f.yml"), "-o", str(home / "b")]) == 0
    return home / "b"


def test_a_frame_takes_its_planned_path_and_the_answer_its_own(build, run, answer):
    status, page = answer("path", "h0", "h8", "--build", build)
    assert (status, page["reaches"], page["back"]["reaches"], page["after"]) == (0, True, True, [])
    hops = page["hops"]
    assert [hop["switch"] for hop in hops] == ["s0", "s1", "s2", "s5", "s8"]
    assert {(hop["by"], hop["why"]) for hop in hops} == {("entry", "")}
    assert len({hop["vlan"] for hop in hops}) == 1
    for here, there in pairwise(hops):
        assert here["ports_out"][0].startswith(f"{here['switch']}:")
        assert there["port_in"].startswith(f"{there['switch']}:")
    shown = run("path", "h0", "h8", "--build", build)[1]
    assert shown.splitlines()[0] == "path      h0 -> h8: arrives"
    assert shown.splitlines()[1] == "          s0 VLAN 100: g3 -> g1"


@pytest.mark.parametrize(("failure", "why"), [("s1", "s1 is down"), ("s0:g1", "the link at s0:g1 is down")])
def test_after_a_failure_it_says_where_the_frame_is_lost(build, answer, run, failure, why):
    status, page = answer("path", "h0", "h8", "--build", build, "--after", failure)
    assert (status, page["reaches"], page["why"]) == (1, False, why)
    assert [hop["switch"] for hop in page["hops"]] == ["s0"]
    assert f"h0 -> h8: does not arrive: {why}" in run("path", "h0", "h8", "--build", build, "--after", failure)[1]
    assert answer("path", "h6", "h8", "--build", build, "--after", failure)[0] == 0


def test_an_entry_that_is_missing_is_a_flood(build, answer):
    texts = build / "configs" / "s1.cfg"
    lines = texts.read_text()
    try:
        texts.write_text("".join(x for x in lines.splitlines(keepends=True) if "02:00:00:00:00:08" not in x))
        _, page = answer("path", "h0", "h8", "--build", build)
    finally:
        texts.write_text(lines)
    assert {hop["switch"]: hop["by"] for hop in page["hops"]}["s1"] == "flood"


def test_a_switch_that_is_down_takes_nothing_from_its_hosts(build, answer):
    status, page = answer("path", "h0", "h8", "--build", build, "--after", "s0")
    assert (status, page["reaches"], page["why"]) == (1, False, "s0 is down")
    assert [(hop["switch"], hop["by"], hop["ports_out"]) for hop in page["hops"]] == [("s0", "", [])]
    assert page["back"]["why"] == "s0 is down"


def test_bad_input_is_told_at_once(build, run):
    status, _, err = run("path", "h0", "h99", "--build", build, "--after", "s99", "s0:g77")
    assert status == 2
    assert err.count("expected") == 3
    assert run("path", "h0", "h0", "--build", build)[0] == 2
    status, _, err = run("path", "h0", "h1", "--build", build / "none")
    assert (status, err.count("expected")) == (2, 1)


@pytest.mark.parametrize("order", [(0, 1, 2), (1, 0, 2), (1, 2, 0)])
def test_the_build_may_stand_before_between_or_behind_the_hosts(build, answer, order):
    words = (build, "h0", "h8")
    status, page = answer("path", *(words[i] for i in order))
    assert (status, page) == answer("path", "h0", "h8", "--build", build)


def test_three_words_without_one_build_among_them_are_a_finding(build, run, answer, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "h0").mkdir()
    (tmp_path / "b").symlink_to(build)
    assert answer("path", "h0", "h8", "b") == answer("path", "h0", "h8", "--build", "b")
    for words in (("h1", "h2", "h3"), ("h1", "b", build), ("b", "h1", "h2", "--build", "b")):
        status, out, err = run("path", *words)
        assert (status, out, err.count("expected")) == (2, "", 1), err
        assert "--build" in err or "two hosts and one build" in err
    assert "(did you mean h1?), actual 'hh1'" in run("path", "hh1", "h2", "b")[2]


def test_without_a_name_the_build_at_hand_is_followed(build, run, answer, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    status, _, err = run("path", "h0", "h8")
    assert (status, err.count("expected"), "--build: expected a build" in err) == (2, 1, True)
    (tmp_path / "build").symlink_to(build)
    assert answer("path", "h0", "h8") == answer("path", "h0", "h8", "--build", build)
    status, _, err = run("path", "h0", "h8", "-i", tmp_path / "none")
    assert (status, err.count("expected"), "-i" in err) == (2, 1, True)
