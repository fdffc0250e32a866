"""The pages of docs/reference are those that docs/reference/write.py writes from the code."""

import subprocess
import sys

import pytest
import write

from tagloom import pipeline
from tagloom.cli import parser

pytestmark = pytest.mark.kernel

PAGES = ("commands.md", "exit-status.md", "fabric-keys.md", "fabric.schema.json", "json-keys.md", "metrics.md")
PAGES += ("python-api.md",)


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


def test_the_example_of_the_python_api_runs(tmp_path):
    write_fabric = [sys.executable, "-m", "tagloom.cli", "new", "mesh", "--dims", "2", "2", "-o", "fabric.yml"]
    subprocess.run(write_fabric, cwd=tmp_path, check=True, capture_output=True)
    done = subprocess.run(
        [sys.executable, "-c", write.API_EXAMPLE], cwd=tmp_path, check=True, capture_output=True, text=True
    )
    assert done.stdout == "2 VLANs\n"
    assert (tmp_path / "api-build" / "plan.json").is_file()


def test_all_that_others_may_call_stands_on_the_page_with_words(written):
    for name in (*pipeline.__all__, "read_fabric", "share_directory"):
        _, _, part = written["python-api.md"].partition(f"\n### {name}\n")
        assert part.partition("```\n\n")[2].strip(), name
