"""Whatever does not end well names the page to read: of the input that is wrong, or of the command."""

import re

import pytest

from fabrics import ROOT
from tagloom.cli import main
from tagloom.cli.pages import FILE_PAGES, INPUT_PAGES
from tagloom.cli.words import PAGES, docs_command


@pytest.fixture
def ring(tmp_path, run):
    fabric, build = tmp_path / "ring.yml", tmp_path / "build"
    assert run("new", "ring", "--dims", 4, "-o", fabric)[0] == 0
    assert run("plan", fabric, "-o", build)[0] == 0
    return fabric, build


@pytest.mark.parametrize("page", sorted({*INPUT_PAGES.values(), *FILE_PAGES.values(), *PAGES.values()}))
def test_every_page_that_is_named_is_in_the_site(page):
    assert (ROOT / "docs" / page).is_file()
    assert f" {page}\n" in (ROOT / "mkdocs.yml").read_text("utf-8")


@pytest.mark.parametrize("command", sorted(set(PAGES) - {"tagloom"}))
def test_wrong_arguments_name_the_page_of_their_command_in_the_last_line(command, run):
    status, _, err = run(command, "--no-such-option")
    assert status == 2
    assert err.splitlines()[-1] == f"1 finding; nothing was changed; read on: {docs_command(PAGES[command])}"


@pytest.mark.parametrize(
    ("words", "page"),
    [
        (["plan", "none.yml", "-o", "b"], "fabric-file.md"),
        (["regulate", "{fabric}", "--traffic", "none.csv"], "forecasts.md"),
        (["plan", "{fabric}", "--settings", "none.json", "-o", "b"], "timetable.md"),
        (["plan", "{fabric}", "--routing", "guess", "-o", "b"], "routing.md"),
        (["plan", "{fabric}", "--templates", "none", "-o", "b"], "site-lines.md"),
        (["verify", "--paths", "none.csv"], "lossless.md"),
        (["apply", "{build}", "-i", "none"], "first-login.md"),
        (["predict", "{build}", "--price", "nan"], "forecasts.md"),
        (["fly"], "index.md"),
    ],
    ids=lambda words: " ".join(words) if isinstance(words, list) else "",
)
def test_a_finding_names_the_page_of_what_it_is_about(ring, run, answer, words, page):
    fabric, build = ring
    words = [word.format(fabric=fabric, build=build) for word in words]
    status, _, err = run(*words)
    *_, last = err.splitlines()
    assert (status, last) == (2, f"1 finding; nothing was changed; read on: {docs_command(page)}")
    assert answer(*words)[1]["pages"] == [f"docs/{page}"]


def test_findings_about_several_inputs_name_the_page_of_each(ring, run):
    _, build = ring
    _, _, err = run("predict", build, "--traffic", "none.csv", "--settings", "none.json", "--price", "nan")
    (last,) = (line for line in err.splitlines() if "nothing was changed" in line)
    assert set(re.findall(r"tagloom docs [\w/-]+", last)) == {"tagloom docs forecasts", "tagloom docs timetable"}


def test_what_cannot_be_planned_names_the_page(ring, run, answer, tmp_path):
    words = ("plan", ring[0], "--routing", "fat-tree", "-o", tmp_path / "b")
    status, _, err = run(*words)
    assert (status, err.splitlines()[-1]) == (1, "read on   tagloom docs routing")
    assert answer(*words)[1]["pages"] == ["docs/routing.md"]


def test_an_answer_that_is_no_names_the_page_and_a_good_one_does_not(ring, run, capsys):
    _, build = ring
    assert "tagloom docs" not in run("verify", build)[2]
    text = (build / "configs" / "s0.cfg").read_text()
    (build / "configs" / "s0.cfg").write_text(text.replace("pvid 100", "pvid 101"))
    capsys.readouterr()
    assert main(["verify", str(build)]) == 1
    assert capsys.readouterr().err.splitlines()[-1] == "read on   tagloom docs verifying"
