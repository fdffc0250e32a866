"""Write what a switch answers to `?`: the words that may come next, and whether the line may end there.

How a family lays the page out is likely, not confirmed: one word a line with two blanks before it, <cr> for a Return.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tagloom.platforms.grammar import ContextKind, Grammar, Node

EXEC = ("configure", "copy", "delete", "disable", "exit", "reload", "show", "terminal")
RETURN = "<cr>"


def help_page(grammar: Grammar, kind: ContextKind | None, typed: str) -> list[str] | None:
    """Return the lines for what was typed before the `?` in a context, None for privileged exec; None for no such line.

    A word that is not ended by a blank is completed, one that is has its followers listed.
    """
    words = typed.split()
    begun = words.pop() if words and not typed.endswith(" ") else ""
    if kind is None and words == ["reload"] and grammar.scheduled_reload is not None:
        return _page(word for word in ("at", *grammar.scheduled_reload.offers, RETURN) if word.startswith(begun))
    if kind is None:
        return None if words else _page(word for word in EXEC if word.startswith(begun))
    nodes = [grammar.trees[kind]]
    for word in words:
        nodes = [found for node in nodes for found in _following(node, word)]
    offered = {word for node in nodes for word in node.words if word.startswith(begun)}
    offered |= {f"<{node.kind}>" for node in nodes if node.value is not None and not begun}
    if any(node.end is not None for node in nodes) and not begun:
        offered.add(RETURN)
    return _page(offered) if offered else None


def _page(words: Iterable[str]) -> list[str]:
    return [f"  {word}" for word in sorted(words)]


def _following(node: Node, word: str) -> list[Node]:
    """Return where a word leads to: to that of its own, else to the value that it may be."""
    if word in node.words:
        return [node.words[word]]
    try:
        node.read(word)
    except ValueError:
        return []
    return [node.value] if node.value is not None else []
