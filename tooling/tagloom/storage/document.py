"""Read YAML, JSON and CSV, bounded in size, depth and digits, and check them against a form."""

from __future__ import annotations

import csv
import json
import math
import re
import reprlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from tagloom.errors import Finding, InputError
from tagloom.storage.text import decode, read_bytes, read_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

T = TypeVar("T")
Keys = tuple[str | int, ...]  # the way to a part of a document
YAML_BYTES = 1 << 26
MOST_DEPTH = 40  # nesting levels; a fabric file has four
MOST_ALIASED = 100_000  # parts that aliases may add: an alias of aliases of aliases grows exponentially
MOST_DIGITS = 100
_NUMBER = re.compile(r"[-+]?[0-9][0-9a-fA-FxXobB_:.]*")
_ODD_NUMBER = re.compile(r"[0-9]{20}|[eE]\+?[0-9]{3}|[IN][na][fN]")  # in JSON, only a text with unusual numbers matches
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
HALF_CHARACTER = "half of a character of UTF-16"
MOST_INT = 1 << 64
_MERGE = "tag:yaml.org,2002:merge"


class Form(BaseModel):
    """The form of a document: types are strict, numbers are finite, unknown keys are ignored."""

    model_config = ConfigDict(extra="ignore", frozen=True, strict=True, allow_inf_nan=False)


class _Short(reprlib.Repr):
    def __init__(self) -> None:
        super().__init__()
        self.maxlevel, self.maxstring, self.maxother, self.maxlist, self.maxdict = 3, 60, 60, 4, 4

    def repr_int(self, x: int, level: int) -> str:
        del level
        return repr(x) if abs(x) < MOST_INT else "a number of very many digits"


def shown(value: object, width: int = 60) -> str:
    """Return a value as a finding shows it: short, however large or deep it is.

    >>> shown([[[[[1]]]]]), shown(10**6000)
    ('[[[...]]]', 'a number of very many digits')
    """
    return _Short().repr(value)[:width]


@dataclass(frozen=True, slots=True)
class Yaml:
    """A YAML document: its value, and its nodes with their lines."""

    value: Any
    node: yaml.Node | None


class _Loader(yaml.CSafeLoader):
    """The safe loader that rejects numbers that are not finite, and keeps apart which keys `<<` gave a mapping."""

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        """Put the keys of `<<` before the mapping's own, which replace them."""
        own = [key for key, _ in node.value if key.tag != _MERGE]
        merges = len(node.value) - len(own)
        if merges > 1:
            raise yaml.constructor.ConstructorError(None, None, "<< stands twice in one mapping", node.start_mark)
        super().flatten_mapping(node)
        if merges:
            node.merged_keys = len(node.value) - len(own)  # type: ignore[attr-defined]


def keys_twice(node: yaml.Node | None, path: Keys = ()) -> Iterator[tuple[Keys, int]]:
    """Yield the path and line of each key that stands twice in one mapping; YAML itself would silently keep the last.

    A key that replaces one of `<<` stands there once.
    """
    if isinstance(node, yaml.MappingNode):
        seen: set[str] = set()
        for key, value in node.value[getattr(node, "merged_keys", 0) :]:
            if key.value in seen:
                yield (*path, key.value), key.start_mark.line + 1
            seen.add(key.value)
            yield from keys_twice(value, (*path, key.value))
    elif isinstance(node, yaml.SequenceNode):
        for i, value in enumerate(node.value):
            yield from keys_twice(value, (*path, i))


def dotted(path: Keys) -> str:
    """Return the path of a part of a document as a finding shows it, "" for the whole."""
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).lstrip(".")


def _float(loader: _Loader, node: yaml.ScalarNode) -> float:
    value = yaml.constructor.SafeConstructor.construct_yaml_float(loader, node)
    if not math.isfinite(value):
        raise yaml.constructor.ConstructorError(None, None, "a number that is not finite", node.start_mark)
    return value


_Loader.add_constructor("tag:yaml.org,2002:float", _float)


def read_yaml(path: Path, expected: str = "a readable YAML file") -> Any:
    """Return the one document of a YAML file. Raises InputError, also for keys that stand twice."""
    document = parse_yaml(read_text(path, expected, YAML_BYTES), str(path), expected)
    if twice := list(keys_twice(document.node)):
        raise InputError(Finding(f"{path}:{line}  {dotted(at)}", "each key once", "twice") for at, line in twice)
    return document.value


def parse_yaml(text: str, where: str, expected: str = "YAML") -> Yaml:
    """Return a YAML document. Raises InputError if it is invalid, too deep, or its aliases expand too far."""
    try:
        _check_size(text, where)
        loader = _Loader(text)
        try:
            node = loader.get_single_node()
            return Yaml(None if node is None else loader.construct_document(node), node)
        finally:
            loader.dispose()
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        at = f"{where}:{mark.line + 1}" if mark else where
        raise InputError([Finding(at, expected, getattr(error, "problem", None) or _one_line(error))]) from None
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError) as error:
        raise InputError([Finding(where, expected, _one_line(error))]) from None


def _check_size(text: str, where: str) -> None:
    """Check depth, aliases and digits on the event stream, in memory bounded by the depth, before nodes are built."""
    open_: list[list[Any]] = []  # anchor, parts, depth below
    anchors: dict[str | None, tuple[int, int]] = {}
    aliased = 0

    def refuse(event: yaml.Event, expected: str, actual: str) -> InputError:
        at = f"{where}:{event.start_mark.line + 1}" if event.start_mark else where
        return InputError([Finding(at, expected, actual)])

    for event in yaml.parse(text, Loader=_Loader):
        parts, below = 1, 0
        if isinstance(event, yaml.CollectionStartEvent):
            open_.append([event.anchor, 1, 0])
            if len(open_) > MOST_DEPTH:
                raise refuse(event, f"parts at most {MOST_DEPTH} deep in one another", "more")
            continue
        if isinstance(event, yaml.AliasEvent):
            if any(each[0] == event.anchor for each in open_):
                raise refuse(event, "no part inside itself", f"*{event.anchor}")
            parts, below = anchors.get(event.anchor, (1, 0))
            aliased += parts
            if aliased > MOST_ALIASED or len(open_) + below > MOST_DEPTH:
                raise refuse(event, f"aliases of at most {MOST_ALIASED} parts, {MOST_DEPTH} deep", "more")
        elif isinstance(event, yaml.ScalarEvent):
            if event.implicit[0] and len(event.value) > MOST_DIGITS and _NUMBER.fullmatch(event.value):
                raise refuse(event, f"a number of at most {MOST_DIGITS} digits", str(len(event.value)))
            if event.anchor:
                anchors[event.anchor] = (1, 0)
        elif isinstance(event, yaml.CollectionEndEvent):
            anchor, parts, below = open_.pop()
            if anchor:
                anchors[anchor] = (parts, below)
        else:
            continue
        if open_:
            open_[-1][1] += parts
            open_[-1][2] = max(open_[-1][2], below + 1)


def read_json(path: Path, expected: str) -> Any:
    """Return the value of a JSON file. Raises InputError."""
    return parse_json(read_bytes(path, expected), str(path), expected)


def parse_json(text: str | bytes, where: str, expected: str) -> Any:
    """Return a JSON value. Raises InputError if it is invalid, too deep, or a number is infinite or beyond 64 bits.

    So is half of a character of UTF-16 alone, which could not be written again.
    """
    if isinstance(text, bytes):
        text = decode(text, where, expected)
    try:
        if _ODD_NUMBER.search(text) is None:
            value = json.loads(text)
        else:
            value = json.loads(text, parse_int=_json_int, parse_float=_json_float, parse_constant=_json_float)
    except (ValueError, RecursionError) as error:
        raise InputError([Finding(where, expected, _one_line(error))]) from None
    if _SURROGATE.search(text) and not _writable(json.dumps(value, ensure_ascii=False)):
        raise InputError([Finding(where, expected, HALF_CHARACTER)])
    return value


def _writable(text: str) -> bool:
    """Return whether a text can be written: half of a pair of UTF-16 alone is no character."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _json_int(text: str) -> int:
    if len(text) > MOST_DIGITS or abs(int(text)) > MOST_INT:
        raise ValueError("a number beyond 64 bits")
    return int(text)


def _json_float(text: str) -> float:
    if not math.isfinite(value := float(text)):
        raise ValueError(f"a number that is not finite: {text[:MOST_DIGITS]}")
    return value


def checked(form: type[T] | TypeAdapter[T], raw: Any, where: str) -> T:
    """Return a document checked against its form. Raises InputError with up to 20 differences."""
    adapter: TypeAdapter[T] = form if isinstance(form, TypeAdapter) else TypeAdapter(form)
    try:
        return adapter.validate_python(raw)
    except ValidationError as error:
        raise InputError(_differences(error, where)) from None
    except RecursionError:
        raise InputError([Finding(where, "parts not as deep in one another", "more")]) from None


def _differences(error: ValidationError, where: str) -> Iterator[Finding]:
    for each in error.errors(include_url=False, include_context=False)[:20]:
        path = ".".join(shown(step).strip("'") for step in each["loc"])
        expected = "this key" if each["type"] == "missing" else each["msg"].removeprefix("Input should be ")
        actual = "none" if each["type"] == "missing" else shown(each["input"])
        yield Finding(f"{where}: {path}" if path else where, expected, actual)


def split_rows(lines: Iterable[str], where: str) -> list[tuple[int, list[str]]]:
    """Return the cells of each line of CSV with its line number, from 1; empty lines and comments are left out.

    Raises InputError with all lines that cannot be split.
    """
    rows: list[tuple[int, list[str]]] = []
    wrong: list[Finding] = []
    for number, line in enumerate(lines, start=1):
        if not line.strip() or line.startswith("#"):
            continue
        try:
            rows += [(number, cells) for cells in csv.reader([line])]
        except csv.Error as error:
            wrong.append(Finding(f"{where}:{number}", "cells with commas between", str(error)))
    if wrong:
        raise InputError(wrong)
    return rows


def _one_line(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "parts too deep in one another"
    return " ".join(str(error).split())[:200] or type(error).__name__
