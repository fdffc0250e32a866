"""README: five minutes, one picture, two commands; what it does not run is run by CI."""

import re

from console_blocks import blocks_of
from fabrics import ROOT

README = (ROOT / "README.md").read_text("utf-8")
WORDS_A_MINUTE = 220


def test_it_is_read_in_five_minutes():
    assert len(README.splitlines()) <= 120
    assert len(re.sub(r"\]\([^)]*\)|<!--.*?-->", "", README).split()) <= 5 * WORDS_A_MINUTE


def test_it_says_what_this_is_in_three_sentences_and_one_picture():
    heading, first, picture, *_ = README.split("\n\n")
    assert heading == "# tagloom"
    assert len(re.findall(r"\.(?:\s|$)", first)) == 3
    assert re.findall(r"!\[[^\]]+\]\(([^)]*)\)", README) == ["docs/pictures/torus.svg"]
    assert picture.startswith("![")


def test_it_says_that_no_real_switch_was_tried_and_how_to_be_the_first():
    said = README.partition("## Does it work with your switch?")[2].partition("\n## ")[0]
    for words in ("No real switch yet", "Be the first", "`tagloom record SWITCH -o FILE`"):
        assert words in said


def test_the_one_block_of_it_that_is_not_run_is_what_ci_runs():
    (left,) = (block for block in blocks_of(ROOT / "README.md") if block.example is not None)
    (command,) = left.commands
    ran = re.findall(r"(?m)^stage .*", (ROOT / ".ci/run").read_text("utf-8"))
    assert set(command.words[1:]) <= {word for line in ran for word in line.split()}


def test_what_installing_takes_is_what_was_measured_and_less_than_a_minute():
    record = (ROOT / "benchmarks/results/install.md").read_text("utf-8")
    wheel = re.search(r"The wheel has \*\*([\d.]+) MB\*\*", record)[1]
    rows = [line.strip("| ").split(" | ") for line in record.splitlines() if line.startswith("| 3.")]
    seconds = sorted(int(row[1]) for row in rows)
    assert seconds[-1] < 60
    *_, downloaded, installed = rows[0]
    said = " ".join(README.split())
    assert f"a wheel of {wheel} MB, {downloaded} MB to download with what it needs, {installed} MB installed" in said
    assert f"in [{seconds[0]} to {seconds[-1]} seconds](benchmarks/results/install.md)" in said


def test_its_first_screen_says_what_it_is_for_which_switch_what_is_given_up_and_what_to_type():
    screen = "\n".join(README.splitlines()[:40])
    given_up = "give up spanning tree and its automatic failover"
    for words in ("Does it work with your switch?", given_up, "pipx install tagloom"):
        assert words in screen
