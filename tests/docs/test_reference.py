"""The pages of docs/reference are those that docs/reference/write.py writes from the code."""

import pytest
import write

from tagloom.cli import parser

PAGES = ("commands.md", "exit-status.md", "fabric-keys.md", "fabric.schema.json", "json-keys.md", "metrics.md")


@pytest.fixture(scope="module")
def written():
    return dict(write.pages())


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_current(name, written, pytestconfig):
    if pytestconfig.option.update_golden:
        (write.HERE / name).write_text(written[name], "utf-8")
    assert (write.HERE / name).read_text("utf-8") == written[name], "python docs/reference/write.py writes it"
    assert set(written) == set(PAGES)


def test_every_command_and_option_stands_there(written):
    for name, command in write.below(parser(), ""):
        (part,) = (each for each in written["commands.md"].split("\n## ") if each.startswith(f"tagloom {name}\n"))
        options = [option for action in command._actions for option in action.option_strings]
        common = {"-h", "--help", "--json", "-v", "--verbose"}
        assert [option for option in options if option not in common and f"`{option}" not in part] == [], name
