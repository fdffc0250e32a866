"""`tagloom docs`: every page that help and errors name, on a terminal of 80 columns, where no network is."""

import json
import re

import pytest

from fabrics import ROOT
from tagloom.cli.reading import pages

NAMES = [path.relative_to(ROOT / "docs").with_suffix("").as_posix() for path in (ROOT / "docs").rglob("*.md")]


def test_without_a_page_all_are_listed_with_their_titles(run, answer):
    status, out, _ = run("docs")
    *lines, following = out.splitlines()
    assert status == 0
    assert [line.split()[0] for line in lines] == list(pages())
    assert sorted(pages()) == sorted(NAMES)
    assert max(map(len, lines)) <= 80
    assert all(answer("docs")[1]["pages"].values())
    assert following == "next      tagloom docs tutorial"


@pytest.mark.parametrize("name", sorted(NAMES))
def test_a_page_is_shown_as_text_of_80_columns_with_all_its_words(name, run):
    status, out, _ = run("docs", name)
    assert status == 0
    assert max(map(len, out.splitlines())) <= 80
    assert not re.search(r"\x1b|\\x1b|<!--|\.md\)", out)
    text = (ROOT / "docs" / f"{name}.md").read_text("utf-8")
    for block in re.findall(r"^```console\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        for line in re.findall(r"^\$ (\S+ \S+)", block, re.MULTILINE):
            assert line in out, "commands can be read off"


@pytest.mark.parametrize("words", ["docs/explanation/eee.md", "explanation/eee", "eee", "eee.md"])
def test_a_page_has_several_names(words, run, answer):
    assert run("docs", words)[:2] == run("docs", "explanation/eee")[:2]
    page = answer("docs", words)[1]
    assert page["page"] == "explanation/eee"
    assert page["text"] == (ROOT / "docs/explanation/eee.md").read_text("utf-8")
    assert page["text"].startswith(f"# {page['title']}\n")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("ruting", "a page: routing"),
        ("commandz", "a page: commands"),
        ("qqq", "a page that tagloom docs lists"),
        ("../README", "a page"),
        ("", "a page that tagloom docs lists"),
    ],
)
def test_a_page_that_is_not_there_is_a_finding_that_names_those_near_it(words, said, run):
    status, out, err = run("docs", words)
    assert (status, out) == (2, "")
    assert f"page: expected {said}" in err


def test_two_pages_of_one_name_are_told_apart(run, answer):
    assert answer("docs", "commands")[1]["page"] == "commands"
    assert answer("docs", "reference/commands")[1]["page"] == "reference/commands"
    assert json.loads(run("docs", "tags", "--json")[1])["page"] == "explanation/tags"


def test_a_word_that_is_no_page_is_searched_for_in_all(run, answer):
    status, out, _ = run("docs", "GreenField")
    *lines, following = out.splitlines()
    assert (status, following) == (0, f"next      tagloom docs {lines[0].split()[0]}")
    assert max(map(len, out.splitlines())) <= 80
    assert all("greenfield" in line.lower() for line in lines)
    status, page = answer("docs", "greenfield")
    assert status == 0
    assert [each["page"] for each in page["found"]] == [line.split()[0] for line in lines]
    texts = {name: path.read_text("utf-8").lower() for name, path in pages().items()}
    assert {each["page"] for each in page["found"]} == {name for name, text in texts.items() if "greenfield" in text}
    assert all("greenfield" in line.lower() for each in page["found"] for line in each["lines"])


def test_several_words_are_searched_for_together(answer, run):
    found = [each["page"] for each in answer("docs", "known_hosts", "vault")[1]["found"]]
    assert "first-login" in found
    assert set(found) <= {each["page"] for each in answer("docs", "vault")[1]["found"]}
    status, out, err = run("docs", "vault", "qqqqq")
    assert (status, out) == (2, "")
    assert "page: expected a page that tagloom docs lists, actual 'vault qqqqq'" in err


def test_a_common_word_lists_the_pages_that_head_with_it_first(run):
    lines = run("docs", "switch")[1].splitlines()
    assert len(lines) == 17
    assert lines[15].startswith("more      ")
    assert len(run("docs", "switch", "-v")[1].splitlines()) > 17
