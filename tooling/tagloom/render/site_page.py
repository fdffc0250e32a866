"""Print an operator's site templates for each switch, every line with the file and line of the template it is from."""

from __future__ import annotations

import json
import re
import traceback
from functools import cache
from typing import TYPE_CHECKING, Any, NoReturn

import jinja2
from jinja2 import nodes

from tagloom import platforms
from tagloom.errors import Finding
from tagloom.platforms.grammar import Context, ContextKind, Grammar
from tagloom.platforms.words import SITE
from tagloom.render.bounded_jinja import BOUNDS, BoundedEnvironment, TooMuchWorkError, at_most

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tagloom.platforms import Platform
    from tagloom.records.fabric import Fabric, Switch

    CableEnds = dict[int, tuple[str, str, str]]

MOST_LINES = 4096  # of one switch
MOST_WORK = 2_000_000  # units of a template for a switch
_MARK = re.compile("\0(\\d+)\1")  # the template's line, in what it prints; no value can hold one
_FIRST_MARKS = re.compile("(?: *\0(\\d+)\1)+")  # a line of a tag alone leaves its own before that of the next
_PAGE = "<template>"  # what Jinja calls a template that comes from no file
_RULE = "what a site template is given: switch, fabric, site, secret"


class _Secret:
    """A secret by its name alone: its value is known where lines are sent, and nowhere before."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __str__(self) -> str:
        return f"<secret:{self._name}>"


class _Secrets:
    """Stand for any secret that a template asks for by name."""

    def __getitem__(self, name: object) -> _Secret:
        if not (isinstance(name, str) and re.fullmatch(r"[A-Za-z_]\w*", name)):
            raise KeyError(name)
        return _Secret(name)


def site_files(switch: Switch) -> list[tuple[str, str]]:
    """List the site templates of a switch as (path, text): all.j2, then its family's, then its model's."""
    own, family = dict(switch.templates), platforms.of(switch).grammar
    names = dict.fromkeys(f"{SITE}/{name}.j2" for name in ("all", family or "none", platforms.page_of(switch.model)))
    return [(name, own[name]) for name in names if name in own]


def site_rows(
    fabric: Fabric, s: int, ends: Sequence[CableEnds], spent: set[str]
) -> tuple[list[tuple[str, str]], list[Finding]]:
    """Print the site templates of switch `s` (an index): (place, line) pairs without comments, and what is wrong.

    `ends` is what `cable_ends` gives. Templates that exceeded their bounds are added to `spent`, and none of these is
    tried again on another switch.
    """
    rows: list[tuple[str, str]] = []
    findings: list[Finding] = []
    files = site_files(fabric.switches[s])
    view = _view(fabric, s, ends[s]) if files else {}
    for name, text in files:
        path = f"templates/{name}"
        if name in spent:
            continue
        try:
            with at_most(MOST_WORK):
                printed = _compiled(text).render(view)
        except TooMuchWorkError as error:
            spent.add(name)
            findings.append(Finding(f"{path}:{_line_of(error)}", BOUNDS, str(error)))
        except jinja2.TemplateSyntaxError as error:
            findings.append(Finding(f"{path}:{error.lineno}", "Jinja", str(error.message)))
        except (
            jinja2.TemplateError,
            TypeError,
            ValueError,
            ArithmeticError,
            LookupError,
            NameError,
            RecursionError,
            SyntaxError,  # of Python, in which loops are nested 20 deep at most
            MemoryError,
        ) as error:
            findings.append(Finding(f"{path}:{_line_of(error)}", _RULE, str(error) or type(error).__name__))
        else:
            rows += _placed(path, printed)
    if len(rows) > MOST_LINES:
        findings.append(Finding(rows[MOST_LINES][0], f"at most {MOST_LINES} lines for a switch", str(len(rows))))
        rows = []
    return rows, findings


def _line_of(error: BaseException) -> int:
    """Return the line of a template that raised an error, 1 where it could not even be compiled."""
    places = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == _PAGE]
    return places[-1] or 1 if places else 1


def _placed(path: str, printed: str) -> Iterator[tuple[str, str]]:
    number = 1
    for raw in printed.split("\n"):
        if found := _FIRST_MARKS.match(raw) or _MARK.search(raw):
            number = int(found[1])
        line = _MARK.sub("", raw).strip(" ")
        if line and line[0] != "!":
            yield f"{path}:{number}", line


class _SiteEnvironment(BoundedEnvironment):
    """Jinja in a sandbox, of which each value is one line's part."""

    def __init__(self) -> None:
        super().__init__(
            undefined=jinja2.StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            autoescape=False,
            finalize=_one_line,
        )

    def getattr(self, obj: Any, attribute: str) -> Any:
        """Look keys up before attributes: a switch's `name` is not a method of a mapping."""
        return self.getitem(obj, attribute)


def _one_line(value: Any) -> Any:
    """Return a value that may stand in a line. Raises ValueError for one that would end it or steer a console."""
    if isinstance(value, jinja2.Undefined):
        str(value)  # says what is not there
    if isinstance(value, _Secret):
        return value
    if value is None or isinstance(value, (bool, dict, list, tuple)) or not isinstance(value, (str, int, float)):
        return _refuse(f"a value of one line expected, not {type(value).__name__}")
    text = str(value)
    if not (text.isascii() and text.isprintable()) or "<secret:" in text:
        return _refuse(f"a value of one line of plain characters expected, not {text!r}")
    return text


def _refuse(why: str) -> NoReturn:
    raise ValueError(why)


@cache
def _compiled(text: str) -> jinja2.Template:
    """Compile a template so that each line it prints begins with a mark of where that stands in the template."""
    environment = _environment()
    page = environment.parse(text)
    for data in page.find_all(nodes.TemplateData):
        number, parts = data.lineno, data.data.split("\n")
        data.data = "\n".join(f"\0{number + n}\1{part}" for n, part in enumerate(parts))
    code = environment.compile(page)
    return environment.template_class.from_code(environment, code, environment.make_globals(None))


@cache
def _environment() -> jinja2.Environment:
    return _SiteEnvironment()


def _view(fabric: Fabric, s: int, ends: CableEnds) -> dict[str, Any]:
    """Return what a template is given of a switch and its fabric."""
    switch = fabric.switches[s]
    platform = platforms.of(switch)
    return {
        "switch": {
            "name": switch.name,
            "number": s,
            "model": switch.model,
            "family": platform.grammar,
            "address": switch.address,
            "ports": _ports(platform, ends),
        },
        "fabric": {
            "name": fabric.name,
            "switches": [each.name for each in fabric.switches],
            "hosts": [each.name for each in fabric.hosts],
        },
        "site": json.loads(switch.site or "{}"),
        "secret": _Secrets(),
    }


def cable_ends(fabric: Fabric) -> list[CableEnds]:
    """Return by switch what is at the other end of each port's cable: its kind, its name, and its port in words."""
    ends: list[CableEnds] = [{} for _ in fabric.switches]
    models = [platforms.of(switch) for switch in fabric.switches]
    for link in fabric.links:
        for p, q in link.cables:
            ends[link.a][p] = "link", fabric.switches[link.b].name, models[link.b].port_name(q)
            ends[link.b][q] = "link", fabric.switches[link.a].name, models[link.a].port_name(p)
    for host in fabric.hosts:
        ends[host.switch][host.port] = "host", host.name, ""
    return ends


def _ports(platform: Platform, ends: CableEnds) -> list[dict[str, str]]:
    """List the cables of a switch: its port, the line that opens the port's block, and what is at the other end."""
    spoken = platform.has_known_modes
    return [
        {
            "name": platform.port_name(port),
            "interface": Grammar.of(platform).enter(Context(ContextKind.INTERFACE, (port,))) if spoken else "",
            "kind": kind,
            "peer": peer,
            "peer_port": peer_port,
        }
        for port, (kind, peer, peer_port) in sorted(ends.items())
    ]
