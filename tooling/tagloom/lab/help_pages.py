"""Write what a switch answers to `?`: the words that may come next, and whether the line may end there.

How a family lays the page out is likely, not confirmed: one word a line with two blanks before it, <cr> for a Return.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tagloom.platforms.first_contact import first_lines
from tagloom.platforms.grammar import ContextKind

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tagloom.platforms.grammar import Grammar, Node

EXEC = ("configure", "copy", "delete", "disable", "exit", "reload", "show", "terminal")
RETURN = "<cr>"


def help_page(grammar: Grammar, context: str, typed: str, commands: tuple[str, ...] = EXEC) -> list[str] | None:
    """Return the lines for what was typed before the `?` in a context, "" for privileged exec; None for no such line.

    `commands` are those of privileged exec. Inside a block that is none of the grammar's contexts, of lines that it
    takes only those of a first login are known, and the one that leads out.
    A word that is not ended by a blank is completed, one that is has its followers listed.
    """
    words = typed.split()
    begun = words.pop() if words and not typed.endswith(" ") else ""
    if not context:
        return _of_exec(grammar, words, begun, commands)
    nodes = [grammar.trees[kind] for kind in ContextKind if kind.value == context]
    for word in words:
        nodes = [found for node in nodes for found in _following(node, word)]
    offered = {word for node in nodes for word in node.words if word.startswith(begun)}
    offered |= {f"<{node.kind}>" for node in nodes if node.value is not None and not begun}
    if any(node.end is not None for node in nodes) and not begun:
        offered.add(RETURN)
    offered |= _of_first_login(grammar, context, words, begun)
    if not nodes and not words and grammar.session.leave.startswith(begun):
        offered.add(grammar.session.leave)
    return _page(offered) if offered else None


def _of_exec(grammar: Grammar, words: list[str], begun: str, commands: tuple[str, ...]) -> list[str] | None:
    """Return the lines for privileged exec, of which only a reload at a set time is known in its words."""
    found = grammar.scheduled_reload
    offered: tuple[str, ...] = () if words else commands
    if words == ["show"] and "show" in commands:
        offered = ("interfaces", "running-config", "startup-config", "system", "version", "vlan")
        offered += ("reload",) if found is not None else ()
    elif found is not None and words == ["reload"]:
        offered = ("at", *found.offers, RETURN)
    elif found is not None and words == ["reload", found.offers[0]]:
        offered = ("<minutes>",)
    return _page(word for word in offered if word.startswith(begun)) if offered else None


def _of_first_login(grammar: Grammar, context: str, words: list[str], begun: str) -> set[str]:
    """Return what the lines of a first login have behind words, of which some are values."""
    offered = set()
    for line in first_lines(grammar.platform):
        parts = line.parts
        if line.context != context or len(parts) < len(words):
            continue
        if all(part in ("", typed) for part, typed in zip(parts, words, strict=False)):
            following = (parts[len(words)] or "<value>") if len(parts) > len(words) else RETURN
            offered |= {following} if following.startswith(begun) else set()
    return offered


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
