"""Keep what a network under spanning tree runs: its configurations, and the tree that is active."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict

from tagloom.read.build_directory import write_texts
from tagloom.storage.document import checked, read_json
from tagloom.storage.whole import OwnedDirectory

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from tagloom.errors import Finding

FILE = "spanning-tree.json"
_FILES = re.compile(rf"{re.escape(FILE)}|[^/]+\.cfg")


class ActiveTreeForm(BaseModel):
    """The file: the root, "" if it was not told, and ports as switch:port.

    blocked  they forward nothing
    outside  they lead to switches that are not the network's, or to many addresses
    """

    model_config = ConfigDict(extra="ignore", frozen=True, strict=True)

    root: str = ""
    blocked: list[str] = []
    outside: list[str] = []


def write_running_network(
    directory: Path,
    texts: Mapping[str, str],
    root: str,
    blocked: Sequence[str],
    outside: Sequence[str] = (),
    *,
    force: bool = False,
) -> None:
    """Write a directory of what runs, whole or not at all. Raises InputError where something else is in the way."""
    tree = {"root": root, "blocked": list(blocked), "outside": list(outside)}
    with _owned(directory, force=force) as fresh:
        write_texts(fresh, texts)
        (fresh / FILE).write_text(json.dumps(tree, indent=1) + "\n", "utf-8")


def running_in_the_way(directory: Path, *, force: bool = False) -> list[Finding]:
    """Find what is in the way where `write_running_network` is to write."""
    return _owned(directory, force=force).occupied()


def _owned(directory: Path, *, force: bool) -> OwnedDirectory:
    return OwnedDirectory(directory, "running", _FILES, FILE, (), force=force)


def read_active_tree(directory: Path) -> ActiveTreeForm | None:
    """Return the active tree of such a directory, None if it has none. Raises InputError for what is no such file."""
    path = directory / FILE
    if not path.is_file():
        return None
    return checked(ActiveTreeForm, read_json(path, "what tagloom adopt --running wrote"), str(path))
