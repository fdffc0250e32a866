"""`tagloom explain`: what each check means, by any of its words, from the page of checks."""

import pytest

from tagloom.cli.reading import pages, sections_of

SECTIONS = sections_of(pages()["checks"].read_text("utf-8"))
# The whole answer, and what has no verdict of its own.
OTHER_KEYS = {"proven", "findings", "site_lines"}


def test_every_check_of_a_verdict_is_explained_once(answer, run):
    assert run("new", "ring", "--dims", "3", "-o", "f.yml")[0] == 0
    assert run("plan", "f.yml", "-o", "b")[0] == 0
    keys = set(answer("verify", "b")[1]) - OTHER_KEYS
    words = [word for section in SECTIONS for word in section.words]
    assert len(words) == len(set(words))
    assert keys <= set(words)


def test_all_are_listed_by_the_words_that_show_them(run, answer):
    status, out, _ = run("explain")
    *lines, following = out.splitlines()
    assert (status, following) == (0, f"next      tagloom explain {SECTIONS[0].words[0]}")
    assert dict(line.split("  ", 1) for line in lines).keys() == {section.words[0] for section in SECTIONS}
    assert list(answer("explain")[1]["checks"].values()) == [section.heading for section in SECTIONS]


@pytest.mark.parametrize("section", SECTIONS, ids=lambda section: section.words[0])
def test_a_check_is_shown_by_each_of_its_words_on_80_columns(section, run, answer):
    shown = {run("explain", *word.split())[:2] for word in (*section.words, section.heading)}
    ((status, out),) = shown
    assert (status, out.splitlines()[0]) == (0, section.heading)
    assert max(map(len, out.splitlines())) <= 80
    assert "##" not in out
    assert answer("explain", section.words[0])[1] == {
        "check": section.words[0],
        "words": list(section.words),
        "text": section.text,
    }


@pytest.mark.parametrize(("word", "near"), [("strom", "a check: storm"), ("qqq", "a check: delivery, storm, deadlock")])
def test_a_word_that_names_none_is_a_finding_with_those_near_it(word, near, run):
    status, out, err = run("explain", word)
    assert (status, out) == (2, "")
    assert f"word: expected {near}" in err
    assert repr(word) in err
