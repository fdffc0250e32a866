"""Print templates that others wrote within bounds of time and memory: a sandbox that meters what it does.

Every pass of a loop or macro takes a unit of a template's work, and every operation takes as many as its operands and
its result are long, before it begins. So no template takes longer than its units, and none is stopped by a clock.
"""

from __future__ import annotations

import re
import types
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import TYPE_CHECKING, Any

from jinja2 import nodes, pass_context, pass_environment
from jinja2.filters import make_attrgetter
from jinja2.sandbox import ImmutableSandboxedEnvironment, SandboxedFormatter
from jinja2.visitor import NodeTransformer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from jinja2 import Environment
    from jinja2.runtime import Context

MOST_TEXT = 1 << 18  # characters of one text
MOST_ITEMS = 10_000  # of one list
MOST_BITS = 4096  # of one number
MOST_WIDTH = 4096  # characters that something is padded to
_CHARACTERS_A_UNIT = 32
_CALL = 8  # units of a macro's or block's pass, which takes the time of as many of a loop
BOUNDS = "a template that ends within tagloom's bounds of time and memory"
_TICK, _METERED, _CONCAT = "_tick", "_metered", "_concat"
# What a template may call of values: all that makes no more of a text than `_grown_by` foresees.
_METHOD_NAMES: dict[type, str] = {
    str: "capitalize casefold center count endswith expandtabs find format format_map index isalnum isalpha isascii "
    "isdecimal isdigit isidentifier islower isnumeric isprintable isspace istitle isupper join ljust lower lstrip "
    "partition removeprefix removesuffix replace rfind rindex rjust rpartition rsplit rstrip split splitlines "
    "startswith strip swapcase title upper zfill",
    dict: "copy get items keys values",
    list: "copy count index",
    tuple: "count index",
    int: "bit_length conjugate",
    float: "is_integer",
}
_METHODS = {kind: frozenset(names.split()) for kind, names in _METHOD_NAMES.items()}
_LIST_FILTERS = (
    "abs attr batch count d default dictsort first float groupby int items join last length list map max min random "
    "reject rejectattr reverse round select selectattr slice sort sum unique"
)
_UNBOUNDED = ("pprint", "striptags", "urlize", "wordwrap", "xmlattr")  # filters of web pages, whose work is unforeseen
_WIDE = ("batch", "center", "filesizeformat", "indent", "round", "slice", "tojson", "truncate")  # have a width
# Filters that take a list as one; all others may write it as a text.
_OF_LISTS = frozenset(_LIST_FILTERS.split())
_PADDED = ("ljust", "rjust", "center", "zfill")


class TooMuchWorkError(ValueError):
    """Raised where a template would take more time or memory than it may."""


class _Meter:
    def __init__(self, units: int) -> None:
        self.units, self.left = units, units

    def take(self, units: int) -> None:
        self.left -= units
        if self.left < 0:
            raise TooMuchWorkError(f"more than {self.units:,} steps")


_METER: ContextVar[_Meter | None] = ContextVar("meter", default=None)


@contextmanager
def at_most(units: int) -> Iterator[None]:
    """Bound what is printed within by units: a step, an item or 32 characters each."""
    token = _METER.set(_Meter(units))
    try:
        yield
    finally:
        _METER.reset(token)


def _take(units: int) -> None:
    meter = _METER.get()
    if meter is not None:  # a constant, while a template is compiled: bounds of one value hold
        meter.take(units)


def _take_of(*values: Any) -> None:
    """Take the units of reading values, with all that is in them."""
    meter = _METER.get()
    most = meter.left if meter is not None else MOST_TEXT
    _take(1 + _measured(values, most)[0])


def _take_shown(value: Any) -> None:
    """Take the units of writing a value as a text. Raises TooMuchWorkError where it would be too long."""
    if isinstance(value, (list, tuple, dict)):
        _take_text(max(_measured((value,), MOST_TEXT)))


def _measured(values: Sequence[Any], most: int) -> tuple[int, int]:
    """Return how many units values have, and how many characters they are at least as a text; not far beyond `most`."""
    units = characters = 0
    rest = list(values)
    while rest and units <= most and characters <= most * _CHARACTERS_A_UNIT:
        value = rest.pop()
        units += 1
        if isinstance(value, str):
            units += len(value) // _CHARACTERS_A_UNIT
            characters += len(value)
        elif isinstance(value, int):
            units += value.bit_length() // MOST_WIDTH
            characters += 1 + value.bit_length() // 4
        elif isinstance(value, dict):
            units += len(value)
            rest += value.keys()
            rest += value.values()
        elif isinstance(value, (list, tuple)):
            units += len(value)
            characters += 2 * len(value)
            rest += value
    return units, characters


def _take_text(characters: int) -> None:
    """Take the units of a text that is to be made. Raises TooMuchWorkError where it would be too long."""
    if characters > MOST_TEXT:
        raise TooMuchWorkError(f"a text of more than {MOST_TEXT:,} characters")
    _take(1 + characters // _CHARACTERS_A_UNIT)


def _take_items(items: int) -> None:
    if items > MOST_ITEMS:
        raise TooMuchWorkError(f"a list of more than {MOST_ITEMS:,} items")
    _take(1 + items)


def _check_width(*widths: Any) -> None:
    if any(isinstance(width, int) and abs(width) > MOST_WIDTH for width in widths):
        raise TooMuchWorkError(f"a width of more than {MOST_WIDTH:,}")


def _grown_by(text: str, name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
    """Take the units of what a method makes of a text."""
    given = (*args, *kwargs.values())
    if name in _PADDED:
        _check_width(*given)
    elif name == "expandtabs":
        width = next((each for each in given if isinstance(each, int)), 8)
        _take_text(len(text) + text.count("\t") * max(0, width))
    elif name == "replace" and len(args) >= 2 and isinstance(args[0], str) and isinstance(args[1], str):
        _take_text(len(text) + text.count(args[0]) * len(args[1]))


class _BoundedFormatter(SandboxedFormatter):
    def format_field(self, value: Any, format_spec: str) -> str:
        """Format a value whose width is not excessive."""
        _check_width(*map(int, re.findall(r"\d{1,9}", format_spec)))
        _take_shown(value)
        text = str(super().format_field(value, format_spec))
        _take_text(len(text))
        return text


def _printf(text: str, values: Any) -> None:
    """Take the units of ``text % values``."""
    specs = re.findall(r"%(?:\([^)]*\))?[^A-Za-z%]*", text)
    if any("*" in spec for spec in specs):
        raise TooMuchWorkError("a width that is a value (%*)")
    widths = [int(digits) for spec in specs for digits in re.findall(r"\d{1,9}", spec.rpartition(")")[2])]
    _check_width(*widths)
    _take_shown(values)
    listed = values.values() if isinstance(values, dict) else values if isinstance(values, tuple) else (values,)
    longest = max((_length(each) for each in listed), default=0)
    _take_text(len(text) + sum(widths) + len(specs) * longest)


def _length(value: Any) -> int:
    """Return how long a value is as a text, roughly where it is a list; numbers have their bits as bound."""
    return len(value) if isinstance(value, str) else len(str(value)) if isinstance(value, (list, dict, tuple)) else 32


def _times(one: Any, other: Any) -> None:
    for listed, count in ((one, other), (other, one)):
        if isinstance(count, int) and isinstance(listed, str):
            return _take_text(len(listed) * max(0, count))
        if isinstance(count, int) and isinstance(listed, (list, tuple)):
            return _take_items(len(listed) * max(0, count))
    if isinstance(one, int) and isinstance(other, int):
        _check_bits(one.bit_length() + other.bit_length())
    return None


def _power(base: Any, exponent: Any) -> None:
    if isinstance(base, int) and isinstance(exponent, int) and abs(base) > 1:
        _check_bits(base.bit_length() * max(0, exponent))


def _check_bits(bits: int) -> None:
    if bits > MOST_BITS:
        raise TooMuchWorkError(f"a number of more than {MOST_BITS:,} bits")


def _plus(one: Any, other: Any) -> None:
    if isinstance(one, str) and isinstance(other, str):
        _take_text(len(one) + len(other))
    elif isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        _take_items(len(one) + len(other))


def _modulo(one: Any, other: Any) -> None:
    if isinstance(one, str):
        _printf(one, other)


_OPERATIONS: dict[str, Callable[[Any, Any], None]] = {"+": _plus, "*": _times, "**": _power, "%": _modulo}


@pass_context
def _tick(_context: Context, weight: int) -> str:
    """Take the units of one pass of a loop or macro, and of the text in it."""
    _take(weight)
    return ""


@pass_context
def _metered(_context: Context, value: Any) -> Any:
    """Return a value that is to be compared, and take its units."""
    _take_of(value)
    return value


@pass_environment
def _join(environment: Environment, value: Iterable[Any], d: str = "", attribute: str | int | None = None) -> str:
    """Join items as Jinja's filter does."""
    items = list(value) if attribute is None else [make_attrgetter(environment, attribute)(each) for each in value]
    _take_shown(items)
    texts = [str(each) for each in items]
    _take_text(sum(map(len, texts)) + len(str(d)) * len(texts))
    return str(d).join(texts)


def _sum(inner: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Add numbers: lists would be copied for each of them."""
    start = kwargs.get("start", args[3] if len(args) > 3 else 0)
    if not isinstance(start, (int, float)):
        raise TooMuchWorkError(f"a sum of numbers expected, not of {type(start).__name__}")
    return inner(*args, **kwargs)


def _of_filter(name: str, inner: Callable[..., Any]) -> Callable[..., Any]:
    """Return a filter that takes the units of what it is given and of what it makes."""
    first = 1 + hasattr(inner, "jinja_pass_arg")

    @wraps(inner)
    def run(*args: Any, **kwargs: Any) -> Any:
        _take_of(*args, *kwargs.values())
        given = (*args[first:], *kwargs.values())
        if name in _WIDE:
            _check_width(*given)
            _take(sum(abs(each) for each in given if isinstance(each, int)))
        value = args[first - 1] if len(args) >= first else ""
        if name not in _OF_LISTS:
            _take_shown(value)
        if name == "tojson" and given:
            raise TooMuchWorkError("an indent")
        if name == "replace" and len(given) >= 2:
            _grown_by(str(value), "replace", tuple(map(str, given[:2])), {})
        elif name == "format":
            _printf(str(value), kwargs or tuple(given))
        elif name == "indent" and given:
            width = given[0] if isinstance(given[0], int) else len(str(given[0]))
            _take_text(len(str(value)) + (str(value).count("\n") + 1) * abs(width))
        result = _sum(inner, *args, **kwargs) if name == "sum" else inner(*args, **kwargs)
        if isinstance(result, str):
            _take_text(len(result))
        elif isinstance(result, (list, tuple)):
            _take(1 + len(result))
        return result

    return run


def _of_test(inner: Any) -> Callable[..., Any]:
    @wraps(inner)
    def run(*args: Any, **kwargs: Any) -> Any:
        _take_of(*args, *kwargs.values())
        return inner(*args, **kwargs)

    return run


def _range(*args: int) -> range:
    found = range(*args)
    if len(found) > MOST_ITEMS:
        raise TooMuchWorkError(f"a list of more than {MOST_ITEMS:,} items")
    return found


def _filtered(node: nodes.Expr, name: str) -> nodes.Filter:
    return nodes.Filter(node, name, [], [], None, None, lineno=node.lineno)


class _Metering(NodeTransformer):
    """Put the meter into a template: into each file, loop, macro, block, and around what nothing else intercepts."""

    def _ticking(self, node: Any) -> Any:
        self.generic_visit(node)
        text = sum(len(each.data) for each in node.find_all(nodes.TemplateData))
        weight = (1 if isinstance(node, nodes.For) else _CALL) + text // _CHARACTERS_A_UNIT
        counted = _filtered(nodes.Const(weight, lineno=node.lineno), _TICK)
        node.body.insert(0, nodes.ExprStmt(counted, lineno=node.lineno))
        return node

    def _slicing(self, node: nodes.Getitem) -> nodes.Node:
        """Take the units of a part of a text or list."""
        self.generic_visit(node)
        return _filtered(node, _METERED) if isinstance(node.arg, nodes.Slice) else node

    def _concatenating(self, node: nodes.Concat) -> nodes.Node:
        """Join texts by a filter that foresees how long they are together."""
        self.generic_visit(node)
        return _filtered(nodes.List(node.nodes, lineno=node.lineno), _CONCAT)

    def _comparing(self, node: nodes.Compare) -> nodes.Node:
        """Take the units of both sides."""
        self.generic_visit(node)
        node.expr = _filtered(node.expr, _METERED)
        for each in node.ops:
            each.expr = _filtered(each.expr, _METERED)
        return node

    # Jinja's names: visit_ and the class of the nodes.
    visit_For = visit_Macro = visit_CallBlock = visit_FilterBlock = visit_Block = visit_Template = _ticking  # noqa: N815
    visit_Concat, visit_Compare, visit_Getitem = _concatenating, _comparing, _slicing  # noqa: N815


class BoundedEnvironment(ImmutableSandboxedEnvironment):
    """Jinja in a sandbox whose templates print within bounds: see `at_most`."""

    intercepted_binops = frozenset(ImmutableSandboxedEnvironment.default_binop_table)

    def __init__(self, *, finalize: Callable[[Any], Any] | None = None, **options: Any) -> None:
        def metered(value: Any) -> Any:
            _take_of(value)
            _take_shown(value)
            return value if finalize is None else finalize(value)

        super().__init__(finalize=metered, **options)
        self.globals = {name: each for name, each in self.globals.items() if name != "lipsum"} | {"range": _range}
        kept = {name: each for name, each in self.filters.items() if name not in _UNBOUNDED}
        self.filters = {name: _of_filter(name, each) for name, each in kept.items()}
        self.filters |= {"join": _join, _CONCAT: _join, _TICK: _tick, _METERED: _metered}
        self.tests = {name: _of_test(each) for name, each in self.tests.items()}

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        if len(source) > MOST_TEXT:
            raise TooMuchWorkError(f"a template of more than {MOST_TEXT:,} characters")
        page = _Metering().visit(super()._parse(source, name, filename))
        assert isinstance(page, nodes.Template)  # noqa: S101 - it replaces none
        return page

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        """Compute an operation whose result is not too long."""
        _take(1)
        if (check := _OPERATIONS.get(operator)) is not None:
            check(left, right)
        return super().call_binop(context, operator, left, right)

    def call(self, context: Context, obj: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Call what a template may call, if what it makes is not too long."""
        owner, name = getattr(obj, "__self__", None), getattr(obj, "__name__", "")
        kind = next((kind for kind in _METHODS if isinstance(owner, kind)), None)
        builtin = isinstance(obj, types.BuiltinMethodType) and not isinstance(owner, types.ModuleType)
        if (kind is None and builtin) or (kind is not None and name not in _METHODS[kind]):
            raise TooMuchWorkError(f"a method of {type(owner).__name__} that templates may call, not {name}")
        if isinstance(owner, str) and name == "join" and len(args) == 1:
            items = list(args[0])
            args = (items,)
            _take_shown(items)
            _take_text(sum(len(str(each)) + len(owner) for each in items))
        _take_of(owner, *args, *kwargs.values())
        if isinstance(owner, str):
            _grown_by(owner, name, args, kwargs)
        result = super().call(context, obj, *args, **kwargs)
        if kind is not None and isinstance(result, str):
            _take_text(len(result))
        elif kind is not None and isinstance(result, (list, tuple)):
            _take(len(result))
        return result

    def wrap_str_format(self, value: Any) -> Callable[..., str] | None:
        """Return what formats a text in the sandbox, with bounded widths."""
        owner = getattr(value, "__self__", None)
        if super().wrap_str_format(value) is None or not isinstance(owner, str):
            return None
        formatter = _BoundedFormatter(self)

        def run(*args: Any, **kwargs: Any) -> str:
            mapped = value.__name__ == "format_map"
            text = formatter.vformat(str(owner), () if mapped else args, args[0] if mapped else kwargs)
            _take_text(len(text))
            return text

        return run
