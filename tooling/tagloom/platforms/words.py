"""Read the words of a family's lines from the macros of its `lines.j2`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import jinja2
from jinja2 import nodes

from tagloom.errors import Finding, InputError
from tagloom.platforms import models
from tagloom.platforms.family import families, relatives
from tagloom.share import share_directory
from tagloom.storage.text import read_text

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

# The files of a directory of templates as (path in it, text) pairs, ascending: an operator's own travel with a fabric.
Templates = tuple[tuple[str, str], ...]
_OF_MENUS = {"list", "protocol", "time", "yes", "speed", "flow"}  # of RouterOS
KINDS = _OF_MENUS | frozenset(
    ("vlans", "vlan", "pvid", "ports", "port", "channels", "mac", "name", "seconds", "mbps", "number", "on", "switch")
)
OWN = ("lines.j2", "configuration.j2")  # what an operator may write anew: the order of commands is proven as it is
SITE, TRUSTED = "site", "trusted.txt"  # the folder of an operator's own lines, and in it the list of those trusted
_RULE = "text and {{ parameter | kind }} alone, each parameter once"
_HOLE = "\0"  # stands in a line for a value; no template has one
_PROPERTY = re.compile(rf"(?<= )([a-z][a-z-]*=){_HOLE}(?= |$)")


@dataclass(frozen=True, slots=True)
class Words:
    """The words of one line: literal ones, and (parameter, kind) where a value stands; `where` names file and line."""

    name: str
    parameters: tuple[str, ...]
    words: tuple[str | tuple[str, str], ...]
    where: str

    @property
    def format(self) -> str:
        """Return the line as a format string with the parameters' names.

        >>> Words("speed", ("mbps",), ("speed", ("mbps", "mbps")), "lines.j2:1").format
        'speed {mbps}'
        """
        escaped = (
            word.replace("{", "{{").replace("}", "}}") if isinstance(word, str) else f"{{{word[0]}}}"
            for word in self.words
        )
        return " ".join(escaped).replace("= {", "={")  # a value may stand right behind its property's name

    @property
    def kinds(self) -> dict[str, str]:
        """Return of each parameter what kind of value it takes."""
        return dict(word for word in self.words if not isinstance(word, str))


def read_templates(directory: Path, *, requested: bool = False) -> Templates:
    """Read the files of a directory that go before tagloom's own; others of names that tagloom has none of stay unread.

    Raises InputError for a file of a family that none reads, and where one `requested` for holds none.
    """
    if directory.resolve() == share_directory() / "templates":
        return ()
    found, findings = {}, []
    of_site = {TRUSTED, *(f"{name}.j2" for name in ("all", *families(), *models()))}
    for path in sorted(directory.glob("*/*")):
        name = path.relative_to(directory).as_posix()
        if path.parent.name == SITE:
            if path.name in of_site:
                found[name] = read_text(path, "a readable template")
            else:
                rule = "all.j2, the family's or the model's name, or trusted.txt"
                findings.append(Finding(str(path), rule, path.name))
        elif path.parent.name in families():
            if path.name in OWN:
                found[name] = read_text(path, "a readable template")
            else:
                findings.append(Finding(str(path), " or ".join(OWN), path.name))
    if requested and not found:
        rule = f"FAMILY/{' or FAMILY/'.join(OWN)} or {SITE}/all.j2"
        findings.append(Finding(str(directory), rule, "none of them"))
    if findings:
        raise InputError(findings)
    return tuple(sorted(found.items()))


def write_templates(templates: Templates, directory: Path) -> None:
    """Write templates as files, for `read_templates`."""
    for name, text in templates:
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_text(text, "utf-8")


@cache
def read_words(family: str, own: Templates = ()) -> dict[str, tuple[Words, ...]]:
    """Return the words of each macro of a family, and of a relative's that it has none of its own for.

    Macros of `own` files come before tagloom's, whose words stay among those to be read. Raises InputError with all
    that stands in the files and must not.
    """
    found: dict[str, tuple[Words, ...]] = {}
    findings: list[Finding] = []
    texts = dict(own)
    for name in reversed(relatives(family)):
        path = f"{name}/lines.j2"
        shipped = share_directory() / "templates" / path
        ours = _macros(shipped.read_text("utf-8"), f"tagloom's {path}", findings) if shipped.is_file() else {}
        theirs = _macros(texts[path], f"templates/{path}", findings) if path in texts else {}
        known = found | {key: (each,) for key, each in ours.items()}
        for key, each in theirs.items():
            if key not in known:
                findings.append(Finding(each.where, f"a macro of {shipped.parent.name}/{shipped.name}", key))
            elif each.kinds != known[key][0].kinds:
                findings.append(Finding(each.where, _signature(known[key][0]), _signature(each)))
        found = known | {key: (each, *known.get(key, ())) for key, each in theirs.items()}
    if findings:
        raise InputError(findings)
    return found


def _signature(line: Words) -> str:
    return f"{line.name}({', '.join(f'{name} | {kind}' for name, kind in sorted(line.kinds.items()))})"


def _macros(text: str, path: str, findings: list[Finding]) -> Mapping[str, Words]:
    """Compile the macros of a file, with a finding for each thing that is neither macro nor comment."""
    try:
        return _compiled_macros(text, path, findings)
    except jinja2.TemplateSyntaxError as error:
        findings.append(Finding(f"{path}:{error.lineno}", "Jinja", str(error.message)))
    except (RecursionError, ValueError) as error:  # brackets in brackets without end; a number of thousands of digits
        findings.append(Finding(path, "Jinja", str(error)))
    return {}


def _compiled_macros(text: str, path: str, findings: list[Finding]) -> Mapping[str, Words]:
    """Compile the macros of a file. Raises TemplateSyntaxError, RecursionError or ValueError where it is no Jinja."""
    body = jinja2.Environment(autoescape=False).parse(text).body  # noqa: S701 - switches read text, not HTML
    found: dict[str, Words] = {}
    for node in body:
        where = f"{path}:{node.lineno}"
        if isinstance(node, nodes.Macro):
            line = _compiled(node, where) if node.name not in found else f"{node.name}: a second of that name"
            problem = line if isinstance(line, str) else ""
            if not isinstance(line, str):
                found[node.name] = line
        else:
            loose = [each for each in node.find_all(nodes.TemplateData) if each.data.strip()]
            plain = isinstance(node, nodes.Output) and all(isinstance(each, nodes.TemplateData) for each in node.nodes)
            problem = repr(loose[0].data.strip()) if loose else "" if plain else type(node).__name__.lower()
        if problem:
            findings.append(Finding(where, f"macros of {_RULE}", problem))
    return found


def _compiled(macro: nodes.Macro, where: str) -> Words | str:
    """Return the words of a macro, or what is wrong with it."""
    (output, *more) = macro.body or [nodes.Output([])]
    if more or macro.defaults or not isinstance(output, nodes.Output):
        return f"{macro.name}: {'a default' if macro.defaults else type([output, *more][-1]).__name__.lower()}"
    line, values = "", []
    for node in output.nodes:
        if isinstance(node, nodes.TemplateData):
            line += node.data
        elif isinstance(node, nodes.Filter) and isinstance(node.node, nodes.Name) and not (node.args or node.kwargs):
            line += _HOLE
            values.append((node.node.name, node.name))
        else:
            return f"{macro.name}: {{{{ {type(node).__name__.lower()} }}}}"
    parameters = [argument.name for argument in macro.args]
    if sorted(name for name, _ in values) != sorted(parameters) or line.count(_HOLE) != len(values):
        return f"{macro.name}({', '.join(parameters)}), which writes {', '.join(name for name, _ in values) or 'none'}"
    if strange := [kind for _, kind in values if kind not in KINDS]:
        return f"{macro.name}: no kind {strange[0]}; there are {', '.join(sorted(KINDS))}"
    words = _PROPERTY.sub(rf"\1 {_HOLE}", line).split(" ")
    if not all(word and word.split() == [word] and (word == _HOLE or _HOLE not in word) for word in words):
        return f"{macro.name}: {line.replace(_HOLE, '{{ ... }}')!r}, not words and values with one blank between"
    left = iter(values)
    return Words(macro.name, tuple(parameters), tuple(next(left) if word == _HOLE else word for word in words), where)
