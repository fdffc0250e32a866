"""Answer `/console inspect` as a RouterOS machine does: what its menus hold, and what may stand behind a property.

Of the tree there is what tagloom types. The form is that of public dumps (see `platforms/menu_evidence.py`).
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from tagloom import platforms
from tagloom.platforms.menu_evidence import ASKS, typed_lines

if TYPE_CHECKING:
    from tagloom.platforms import Platform

COLUMNS = 511  # that tagloom asks for with the user's name
_VERBS = ("add", "comment", "disable", "edit", "enable", "export", "find", "get", "print", "remove", "set")
_READ = frozenset(("default-name", "default", "dynamic"))  # what rows have, and nobody sets


def inspected(platform: Platform, line: str) -> str | None:
    """Return what the console answers to a line, None for one that inspects nothing."""
    found = ASKS.fullmatch(line)
    if found is None:
        return None
    menus, words = _tree(platform.model)
    what, requested = found.groups()
    if what == "child":
        return _broken(_children(menus, requested))
    path, _, name = requested.rpartition(" ")
    menu, _, verb = path.lstrip("/").rpartition(" ")
    offered = words.get((menu, verb, name.removesuffix("=")), ())
    if (verb, name) == ("get", "value-name="):
        offered = tuple(sorted(set().union(*menus.get(menu, {}).values())))
    rows = [
        f"completion={word};offset={len(requested)};preference=96;show=true;style=none;type=completion"
        for word in offered
    ]
    rows.append(f"completion=(;offset={len(requested)};preference=75;show=false;style=syntax-meta;type=completion")
    return _broken(";".join(rows))


def _broken(text: str) -> str:
    """Break a row where the terminal ends, as the console does."""
    return "\n".join(text[at : at + COLUMNS] for at in range(0, len(text), COLUMNS))


def _children(menus: dict[str, dict[str, set[str]]], requested: str) -> str:
    """Return a menu's verbs, or a verb's properties; nothing of what is not there, as the console says nothing then."""
    path = requested.replace(",", " ")
    menu, _, verb = path.rpartition(" ")
    if path == "console inspect":
        return _rows(("inspect", "cmd", "self"), *((word, "arg", "child") for word in ("as-value", "input", "request")))
    if path in menus:
        own = path.rpartition(" ")[2]
        return _rows((own, "dir", "self"), *((each, "cmd", "child") for each in sorted({*_VERBS, *menus[path]})))
    if verb in menus.get(menu, {}):
        settable = sorted(menus[menu][verb] - _READ)
        return _rows((verb, "cmd", "self"), *((name, "arg", "child") for name in settable))
    return ""


def _rows(*rows: tuple[str, str, str]) -> str:
    return ";".join(f"name={name};node-type={kind};type={place}" for name, kind, place in rows)


@cache
def _tree(model: str) -> tuple[dict[str, dict[str, set[str]]], dict[tuple[str, str, str], tuple[str, ...]]]:
    """Return the properties by menu and verb, and the words behind each, of all that is typed."""
    menus: dict[str, dict[str, set[str]]] = {}
    words: dict[tuple[str, str, str], tuple[str, ...]] = {}
    for each in typed_lines(platforms.load(model)):
        verbs = menus.setdefault(each.menu, {})
        verbs.setdefault(each.verb, set()).update(name for name, _ in each.properties)
        verbs.setdefault("set", set()).update(each.sought)
        for name, offered in each.properties:
            key = each.menu, each.verb, name
            words[key] = tuple(dict.fromkeys((*words.get(key, ()), *offered)))
    return menus, words
