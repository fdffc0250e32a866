"""The site, built anew: every page that is listed is there, and a browser reads it without a network."""

import os
import re
import subprocess
import sys
from urllib.parse import urlsplit

import pytest
import yaml
from browser import Browser

import needs
from fabrics import ROOT

HOW_TO = {
    "first login": "first-login.md",
    "a cable died, a switch died": "repair.md",
    "replace": "replacing.md",
    "add or remove a host": "growing.md",
    "real MACs": "hosts.md",
    "beside production VLANs": "shared-networks.md",
    "leave spanning tree": "adopting.md",
    "tenants": "tenants.md",
    "a day's timetable": "timetable.md",
    "Slurm": "slurm.md",
    "read a forecast": "forecasts.md",
    "add a family": "adding-a-family.md",
}
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", *sorted((ROOT / "docs").rglob("*.md"))]
EXPLAINED = ("tags", "deadlock", "waves", "eee")
LOADED = re.compile(
    r"""<(?:script|img|iframe|source|video)[^>]*\ssrc=["']?(?:https?:)?//|<link[^>]*stylesheet[^>]*//"""
)


def listed():
    """Return the pages of the site's contents, by the headings that they stand under."""
    text = re.sub(r"(?ms)^theme:.*?^plugins:", "plugins:", (ROOT / "mkdocs.yml").read_text("utf-8"))
    found = {}
    for entry in yaml.safe_load(text)["nav"]:
        ((heading, pages),) = entry.items()
        found[heading] = [pages] if isinstance(pages, str) else [page for each in pages for page in each.values()]
    return found


@pytest.mark.parametrize("what", HOW_TO)
def test_there_is_a_how_to_for_all_that_an_operator_does(what):
    page = HOW_TO[what]
    assert page in listed()["How to"]
    text = (ROOT / "docs" / page).read_text("utf-8")
    assert "```" in text, "it shows what to type or write"


@pytest.mark.parametrize("name", EXPLAINED)
def test_an_explanation_has_a_drawing_of_our_own(name):
    page = f"explanation/{name}.md"
    assert page in listed()["Explanation"]
    (drawing,) = re.findall(r"!\[[^\]]+\]\(([^)]+\.svg)\)", (ROOT / "docs" / page).read_text("utf-8"))
    assert (ROOT / "docs/explanation" / drawing).is_file()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_what_stands_inside_an_item_of_a_list_is_read_as_such(page):
    """Python's Markdown asks for four blanks: with fewer, a block ends the list, and its numbers begin anew."""
    text = re.sub(r"(?ms)^```.*?^```$", "", page.read_text("utf-8"))
    assert re.findall(r"(?m)^ {1,3}(?:```|\||[-*] |\d+\. ).*", text) == []


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    needs.require("MkDocs Material")
    home = tmp_path_factory.mktemp("site")
    words = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", home]
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(words, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return home


@pytest.mark.long
def test_every_page_that_is_listed_is_built_and_none_loads_anything_from_elsewhere(site):
    pages = [page for pages in listed().values() for page in pages]
    built = {path.relative_to(site).as_posix(): path.read_text("utf-8") for path in site.rglob("*.html")}
    missing = [
        page
        for page in pages
        if re.sub(r"(README|index)\.md$", "index.html", page).replace(".md", ".html") not in built
    ]
    assert missing == []
    assert [page for page, text in built.items() if LOADED.search(text)] == []
    styles = "".join(path.read_text("utf-8") for path in site.rglob("*.css"))
    assert not re.search(r"url\(\s*[\"']?(?:https?:)?//|@import", styles)


@pytest.mark.long
@pytest.mark.needs("chromium")
def test_a_browser_reads_it_without_a_network_in_the_colours_of_the_system(site, tmp_path):
    page = Browser(tmp_path / "browser")
    names = ("index.html", "tutorial.html", "explanation/tags.html", "reference/commands.html")
    try:
        for name, dark in zip(names * 2, (False, True, True, False) * 2, strict=True):
            page.open(site / name, dark=dark)
            assert {urlsplit(each).scheme for each in page.asked} <= {"file", "data", "blob"}
            assert page.ask("getComputedStyle(document.body).backgroundColor") == (
                "rgb(30, 33, 41)" if dark else "rgb(255, 255, 255)"
            )
            wide = page.ask("[...document.images].filter(each => !each.naturalWidth).length")
            assert wide == 0, "every picture is there"
    finally:
        page.close()
