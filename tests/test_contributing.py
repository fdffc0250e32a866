"""CONTRIBUTING.md's map of the code is true to the tree."""

import re

from fabrics import ROOT

PACKAGE = ROOT / "tooling" / "tagloom"
PAGE = ROOT / "CONTRIBUTING.md"
MAP = re.compile(r"(?<=<!-- map -->\n).*?(?=<!-- end of map -->)", re.DOTALL)


def first_line(path):
    return path.read_text("utf-8").splitlines()[0].strip('"')


def rooms():
    """List the folders and files of the package, and what the first line of each says."""
    for path in sorted(PACKAGE.iterdir()):
        if (path / "__init__.py").is_file():
            yield f"{path.name}/", first_line(path / "__init__.py")
    for path in sorted(PACKAGE.glob("*.py")):
        if path.name != "__init__.py":
            yield path.name, first_line(path)


def test_the_map_names_every_room_by_its_own_first_line(pytestconfig):
    lines = ["| in `tooling/tagloom/` | |", "|---|---|", *(f"| `{name}` | {job} |" for name, job in rooms())]
    text, drawn = PAGE.read_text("utf-8"), "\n".join(lines) + "\n"
    if pytestconfig.option.update_golden:
        PAGE.write_text(MAP.sub(lambda _: drawn, text), "utf-8")
    else:
        assert MAP.findall(text) == [drawn], "pytest tests/test_contributing.py --update-golden draws it again"


def test_every_target_and_file_it_names_is_there():
    text = PAGE.read_text("utf-8")
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    assert set(re.findall(r"`make ([a-z-]+)`", text)) <= targets
    for name in re.findall(r"`([\w./-]+/[\w.-]*)`", MAP.sub("", text)):
        assert (ROOT / name).exists(), name
