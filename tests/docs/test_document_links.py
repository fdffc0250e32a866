"""Links of the documents lead to files and headings that are there, and every page can be reached."""

import re
from urllib.parse import unquote

import pytest
import yaml

from fabrics import ROOT

PAGES = [
    *ROOT.glob("*.md"),
    *(ROOT / "docs").rglob("*.md"),
    *(ROOT / "benchmarks").rglob("*.md"),
    ROOT / "templates" / "README.md",
]
LINK = re.compile(r"\]\(([^)\s]+)\)")
CODE = re.compile(r"^```.*?^```$|`[^`\n]*`", re.DOTALL | re.MULTILINE)


def plain(page):
    return CODE.sub("", page.read_text("utf-8"))


def anchors(page):
    heads = re.findall(r"^#+ (.*)$", page.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", head.replace("`", "")).strip().lower().replace(" ", "-") for head in heads}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_link_leads_somewhere(page):
    for target in LINK.findall(plain(page)):
        path, _, anchor = unquote(target).partition("#")
        if not target.startswith(("https://", "http://", "mailto:")):
            place = (page.parent / path).resolve() if path else page
            assert place.is_file(), target
            assert not anchor or anchor in anchors(place), target


def test_the_navigation_names_every_page_once():
    text = (ROOT / "mkdocs.yml").read_text("utf-8")
    named = re.findall(r"[\w./-]+\.md\b", text.split("\nnav:\n")[1])
    there = {page.relative_to(ROOT / "docs").as_posix() for page in (ROOT / "docs").rglob("*.md")}
    outside = {name for name in named if name not in there}
    assert sorted(set(named)) == sorted(named)
    assert there <= set(named)
    assert [name for name in outside if not (ROOT / name).is_file()] == []


def test_the_site_fetches_nothing_from_elsewhere():
    settings = yaml.safe_load((ROOT / "mkdocs.yml").read_text("utf-8"))
    assert settings["theme"]["font"] is False
    assert not [name for name in settings.get("extra_css", []) + settings.get("extra_javascript", []) if "//" in name]
