"""Read the data file of a command line family, with what it takes over from a relative and what firmware changes."""

from __future__ import annotations

import csv
from functools import cache
from importlib.resources import files
from typing import Any

import yaml

SETTLED = "settled.csv"  # family,line,source: what `make settle` has written
RELOAD = "scheduled_reload"  # the family's words for it, which are settled as one line is
FIRST_LOGIN = "first login: "  # before the words of a line that bootstrap types
CLASSES = "classes/benign.yml"  # lines that no family's forwarding is changed by, judged by class
LIKELY, _CONFIRMED = "likely", "confirmed"
Firmware = tuple[tuple[str, str], ...]  # (variable, choice) pairs, ascending by variable


@cache
def family(name: str, firmware: Firmware = ()) -> dict[str, Any]:
    """Return a family's data: its relative's (`extends`), then its own, then the choices of `firmware`.

    A variable that `firmware` does not name has its default. Raises KeyError for a variable or choice there is not.
    """
    data = settled_lines(_with_classes(name, _whole(name)), settled().get(name, {}))
    chosen = dict(firmware)
    for variable, spec in data.get("firmware", {}).items():
        data = _merged(data, spec["choices"][chosen.pop(variable, spec["default"])])
    if chosen:
        raise KeyError(min(chosen))
    return data


@cache
def variables(name: str) -> dict[str, tuple[str, ...]]:
    """List what firmware of a family may differ in: variable -> choices, the default first."""
    specs = _whole(name).get("firmware", {}) if name else {}
    return {
        variable: (spec["default"], *(choice for choice in spec["choices"] if choice != spec["default"]))
        for variable, spec in specs.items()
    }


@cache
def families() -> tuple[str, ...]:
    """List the families there are, sorted."""
    folder = files("tagloom.platforms") / "grammars"
    return tuple(sorted(f.name.removesuffix(".yml") for f in folder.iterdir() if f.name.endswith(".yml")))


@cache
def relatives(name: str) -> tuple[str, ...]:
    """Return a family and those it takes over from, the nearest first."""
    parent = _own(name).get("extends", "")
    return (name, *relatives(parent)) if parent else (name,)


@cache
def _whole(name: str) -> dict[str, Any]:
    if name not in families():  # spoken by code of its own
        return {}
    own = _own(name)
    return _merged(_whole(own["extends"]), own) if "extends" in own else own


@cache
def settled() -> dict[str, dict[str, str]]:
    """Return what transcripts of real switches have confirmed: family -> line -> the transcript that says so."""
    found: dict[str, dict[str, str]] = {}
    for row in csv.DictReader((files("tagloom.platforms") / SETTLED).read_text("utf-8").splitlines()):
        found.setdefault(row["family"], {})[row["line"]] = row["source"]
    return found


def settled_lines(data: dict[str, Any], found: dict[str, str]) -> dict[str, Any]:
    """Return a family's data with the lines that were found marked confirmed in place of likely, each with its source.

    >>> settled_lines({"lines": {"a": {"mark": "likely"}}}, {"a": "s0.json"})
    {'lines': {'a': {'mark': 'confirmed', 'source': 's0.json'}}}
    """
    over = {
        key: {"mark": _CONFIRMED, "source": source}
        for key, source in found.items()
        if str(data.get("lines", {}).get(key, {}).get("mark", "")).startswith(LIKELY)
    }
    first = {key.removeprefix(FIRST_LOGIN): source for key, source in found.items() if key.startswith(FIRST_LOGIN)}
    marks = data.get("first_lines", {})
    likely = {
        words: {"mark": _CONFIRMED, "source": source}
        for words, source in first.items()
        if marks.get(words, {}).get("mark", LIKELY) == LIKELY
    }
    data = _merged(data, {"first_lines": likely}) if likely else data
    reload_words = data.get(RELOAD, {})
    if RELOAD in found and str(reload_words.get("mark", "")).startswith(LIKELY):
        data = _merged(data, {RELOAD: {"mark": _CONFIRMED, "source": found[RELOAD]}})
    return _merged(data, {"lines": over}) if over else data


def _with_classes(name: str, data: dict[str, Any]) -> dict[str, Any]:
    """Return a family's data with the classes of benign lines for it: `harmless`, `not_sent`, `banners` and `idle`."""
    if "harmless" not in data:
        return data
    kin = [each for each in relatives(name) if _whole(each)["code"] == data["code"]] if "code" in data else [name]
    places, unsent, banners = dict(data["harmless"]), list(data.get("not_sent", ())), list[Any]()
    idle: list[dict[str, Any]] = []
    for row in _classes():
        lines = [line for each in kin for line in row["lines"].get(each, ())]
        if not lines:
            continue
        added = {"why": row["why"], "as_said": row.get("as_said", False), "lines": lines}
        blocks = [  # each with the lines of its own family, and not with a relative's
            added
            | {"opens": row["opens"][each], "lines": row["lines"][each], "nested": row.get("nested", {}).get(each, "")}
            for each in kin
            if each in row.get("opens", {})
        ]
        openers = [block["opens"] for block in blocks]
        if row["place"] == "banners":
            banners += lines
            continue
        if row["place"] == "idle":
            idle.append({"given": row["given"], "lines": lines})
            continue
        places[row["place"]] = [*places.get(row["place"], ()), *(blocks or [added])]
        if "unsent" in row:
            unsent.append({"why": row["unsent"], "lines": openers or lines})
    return {**data, "harmless": places, "not_sent": unsent, "banners": banners, "idle": idle}


@cache
def _classes() -> list[dict[str, Any]]:
    document = (files("tagloom.platforms") / CLASSES).read_text("utf-8")
    rows: list[dict[str, Any]] = yaml.load(document, Loader=yaml.CSafeLoader)
    return rows


def _own(name: str) -> dict[str, Any]:
    document = files("tagloom.platforms") / "grammars" / f"{name}.yml"
    data: dict[str, Any] = yaml.load(document.read_text("utf-8"), Loader=yaml.CSafeLoader)
    return data


def _merged(base: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    """Lay one mapping over another, mapping by mapping; what is null goes, lists are replaced whole.

    >>> _merged({"a": {"b": 1, "c": 2}, "d": [3]}, {"a": {"b": None, "e": 4}, "d": [5]})
    {'a': {'c': 2, 'e': 4}, 'd': [5]}
    """
    both = dict(base)
    for key, value in over.items():
        if value is None:
            both.pop(key, None)
        elif isinstance(value, dict) and isinstance(both.get(key), dict):
            both[key] = _merged(both[key], value)
        else:
            both[key] = value
    return both
