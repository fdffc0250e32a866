"""docs/can-it.md is what the models' pages say, and every model and every claim stands there with its source."""

from fabrics import ROOT
from tagloom import platforms
from tagloom.platforms.can_it import as_markdown, not_yet, row_of
from tagloom.platforms.grammar import Grammar

PAGE = ROOT / "docs" / "can-it.md"
MARKS = {"confirmed", "confirmed-kin", "likely"}


def test_the_page_is_current(pytestconfig):
    if pytestconfig.option.update_golden:
        PAGE.write_text(as_markdown(), "utf-8")
    assert PAGE.read_text("utf-8") == as_markdown(), "--update-golden writes it"


def test_every_model_has_a_row_that_says_what_its_command_line_can():
    for model in platforms.models():
        platform = platforms.load(model)
        row = row_of(model)
        assert row[0] == model
        assert row[5] == (platform.netmiko_driver or "no")
        if platform.has_known_modes:
            grammar = Grammar.of(platform)
            assert row[7] == ("yes" if grammar.has("frames_untagged") else "no")
            assert row[9] == ("yes" if grammar.has("lag_join") else "no")


def test_every_claim_of_the_others_has_a_mark_a_reason_and_a_source():
    assert {row["fixed"] for row in not_yet()} <= {"likely can", "unsure", "cannot"}
    for row in not_yet():
        assert row["mark"] in MARKS, row
        assert row["why"], row
        assert row["source"], row
    assert len({row["switches"] for row in not_yet()}) == len(not_yet())
