"""Know the lines of others that cannot change what frames do, from the families' data files."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any

from tagloom.platforms.family import family
from tagloom.units import parse_ranges

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

# One shell command: no pipe, redirection, substitution, continuation or open quote that would reach beyond the line.
_ONE_COMMAND = re.compile(r"""(?:[^'"\\;&|`$<>(){}]|'[^']*'|"[^"\\`$]*")*""")


_NO_CONTEXT = "(?!)"


class Harmless:
    """The lines of a family that a proof may pass over, by the place they stand in.

    `places` are config, vlan-database, interface and interface-vlan, and outside-interface and outside-vlan for what
    holds besides on ports and in VLANs that are not the fabric's. Of a row marked `as_said` a "no" or "undo" before its
    lines is not harmless. The other keys of the family that count are `never`, `not_sent`, `named`, `trees`,
    `reserves` and `sends`.
    """

    def __init__(self, family_data: Mapping[str, Any]) -> None:
        data, trees = family_data["harmless"], family_data.get("trees", {})
        places = {place: rows for place, rows in data.items() if place != "blocks"}
        self._places = {place: _lines_of(rows) for place, rows in places.items()}
        blocks = data.get("blocks", ())
        self._blocks = [(re.compile(rf"(?:{row['opens']})(?:[ \d].*)?"), _lines_of([row])) for row in blocks]
        self._nested = [
            re.compile(rf"(?:{row['nested']})(?: .*)?" if row.get("nested") else _NO_CONTEXT) for row in blocks
        ]
        self._never = [(row["why"], [each.split() for each in row["words"]]) for row in family_data.get("never", ())]
        unsent = family_data.get("not_sent", ())
        self._not_sent = [(row["why"], re.compile(_beginnings(row["lines"]), re.IGNORECASE)) for row in unsent]
        named = family_data.get("named", {})
        self._named = {place: re.compile("|".join(f"(?:{each})" for each in rows)) for place, rows in named.items()}
        self._reserves = [re.compile(each) for each in family_data.get("reserves", ())]
        self._sends = [re.compile(each) for each in family_data.get("sends", ())]
        self._treeless, self._several_trees = (
            [re.compile(each) for each in trees.get(kind, ())] for kind in ("none", "several")
        )
        self._whole = re.compile("|".join(f"(?:{each})" for row in places["config"] for each in row["lines"]))

    def covers(self, line: str, *places: str) -> bool:
        """Return whether a line is harmless in one of these places, however many blanks are between its words."""
        line = _one_blank(line)
        known = any(place in self._places and self._places[place].fullmatch(line) for place in places)
        return known and not self.never(line)

    def never(self, line: str) -> str:
        """Return why a line is harmless nowhere; "" where it may be.

        Of the line's words each may be abbreviated, quoted, in capitals and behind any blanks: consoles take them all.
        """
        words = _typed_words(line)
        return next((why for why, rows in self._never if any(_may_mean(words, row) for row in rows)), "")

    def opens(self, line: str) -> bool:
        """Return whether a line opens a context of its own in which nothing touches forwarding."""
        line = _one_blank(line)
        return not self.never(line) and any(opener.fullmatch(line) for opener, _ in self._blocks)

    def inside(self, opener: str, line: str) -> bool:
        """Return whether a line is harmless in the context that `opener` opens."""
        opener, line = _one_blank(opener), _one_blank(line)
        known = any(opens.fullmatch(opener) and lines.fullmatch(line) for opens, lines in self._blocks)
        return known and not self.never(line)

    def nests(self, opener: str, line: str) -> bool:
        """Return whether a line opens a context of its own in the context that `opener` opens."""
        pairs = zip(self._blocks, self._nested, strict=True)
        return any(opens.fullmatch(opener) and nested.fullmatch(line) for (opens, _), nested in pairs)

    def has_contexts(self, opener: str) -> bool:
        """Return whether there are contexts of their own in the one that `opener` opens."""
        pairs = zip(self._blocks, self._nested, strict=True)
        return any(opens.fullmatch(opener) and nested.pattern != _NO_CONTEXT for (opens, _), nested in pairs)

    def not_sent(self, line: str) -> str:
        """Return why a line is not sent for an operator, wherever it stands; "" where it may be."""
        typed = " ".join(_typed_words(line))
        return self.never(line) or next((why for why, lines in self._not_sent if lines.fullmatch(typed)), "")

    def reserves(self, line: str) -> range:
        """Return the VLANs that a line keeps for the switch's own use."""
        found = _first_match(self._reserves, line)
        return range(int(found["first"]), int(found["last"]) + 1) if found else range(0)

    def sends_into(self, line: str) -> frozenset[int] | None:
        """Return the VLANs that a line names by which the switch sends frames of its own; None where it is no such.

        Of a line that names none there are none: it is about the VLAN of its block, or about all.
        """
        found = _first_match(self._sends, line)
        return None if found is None else _vlans_of(found)

    def named(self, line: str, place: str) -> str:
        """Return the words by which a line names what it sets, which "no" takes away; "" where that is not known."""
        found = self._named[place].match(line) if place in self._named else None
        return found[0] if found and line[found.end() :][:1] in {"", " "} else ""

    def without_tree(self, line: str) -> frozenset[int] | None:
        """Return the VLANs that a line leaves without the spanning tree that the switch runs; None where it is no such.

        Of a line that takes ports, instances or all VLANs out of the tree there are none.
        """
        found = _first_match(self._treeless, line)
        if found is None:
            return None
        return _vlans_of(found)

    def has_trees(self, line: str) -> bool:
        """Return whether a line gives VLANs trees of their own, which block other ports than the tree of VLAN 1."""
        return _first_match(self._several_trees, line) is not None

    def covers_command(self, line: str) -> bool:
        """Return whether a shell's line is one harmless command and nothing else."""
        return bool(_ONE_COMMAND.fullmatch(line) and self._whole.fullmatch(line))


def _first_match(patterns: Iterable[re.Pattern[str]], line: str) -> re.Match[str] | None:
    """Return the match of the first pattern that is a whole line, single blanks between its words."""
    typed = _one_blank(line)
    return next((found for each in patterns if (found := each.fullmatch(typed))), None)


def _vlans_of(found: re.Match[str]) -> frozenset[int]:
    """Return the VLANs that a match names; none where it names none, or no list of them."""
    vlans = (found.groupdict().get("vlans") or "").strip().replace(" to ", "-").replace(" ", ",")
    try:
        return frozenset(parse_ranges(vlans)) if vlans else frozenset()
    except ValueError:
        return frozenset()


def _one_blank(line: str) -> str:
    """Return a line with one blank between its words, as consoles take it."""
    return " ".join(line.split())


def _typed_words(line: str) -> list[str]:
    return line.replace('"', " ").replace("'", " ").lower().split()


def _may_mean(words: Sequence[str], row: Sequence[str]) -> bool:
    """Return whether words, perhaps behind a "no", begin with those of a row, in full or abbreviated."""
    bare = words[1:] if words[:1] in (["no"], ["undo"]) else words
    return len(bare) >= len(row) and all(whole.startswith(typed) for typed, whole in zip(bare, row, strict=False))


def _lines_of(rows: Iterable[Mapping[str, Any]]) -> re.Pattern[str]:
    """Compile the lines of a place: those that may be undone, and those that may not."""
    return re.compile("|".join(_beginnings(row["lines"], as_said=row.get("as_said", False)) for row in rows))


def _beginnings(lines: Iterable[str], *, as_said: bool = False) -> str:
    """Join expressions for how a line begins, behind an optional "no" or "undo", each up to the end of a word."""
    undone = "" if as_said else "(?:(?:no|undo) )?"
    return rf"(?:{undone}(?:{'|'.join(f'(?:{each})' for each in lines)})(?: .*)?)"


@cache
def harmless(name: str) -> Harmless:
    """Return the harmless lines of a family."""
    return Harmless(family(name))
