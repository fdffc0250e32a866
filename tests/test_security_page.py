"""SECURITY.md promises what a test shows: every test that it names is there."""

import re

from fabrics import ROOT


def test_every_test_that_the_page_names_is_there():
    page = (ROOT / "SECURITY.md").read_text("utf-8")
    named = re.findall(r"`((?:tests/[\w/]+\.py)?)::(\w+)`", page)
    assert len(named) > 25
    path = ""
    for place, test in named:
        path = place or path
        assert f"\ndef {test}(" in (ROOT / path).read_text("utf-8"), f"{path}::{test}"


def test_the_readme_leads_to_it():
    assert "(SECURITY.md)" in (ROOT / "README.md").read_text("utf-8")


def test_reports_go_through_the_repository_and_no_address_is_invented():
    reporting = (ROOT / "SECURITY.md").read_text("utf-8").partition("## Reporting")[2].partition("\n## ")[0]
    assert "**Report a vulnerability**" in reporting
    assert re.findall(r"[\w.+-]+@[\w-]+|https?://|mailto:", reporting) == []
