"""Print a plain data view through a family's Jinja template, an operator's own before tagloom's."""

from __future__ import annotations

import sys
import traceback
from functools import cache
from typing import TYPE_CHECKING, Any

import jinja2
from jinja2.sandbox import ImmutableSandboxedEnvironment

from tagloom.errors import Finding, InputError
from tagloom.platforms.family import relatives
from tagloom.render.bounded_jinja import BOUNDS, BoundedEnvironment, TooMuchWorkError, at_most

if TYPE_CHECKING:
    from pathlib import Path

    from tagloom.platforms import Platform
    from tagloom.platforms.words import Templates


def print_page(templates: Path, platform: Platform, name: str, **view: Any) -> str:
    """Print the template `name`.j2 of a platform's family, or of its nearest relative that has one, with a view.

    Raises InputError with the line of a template that asks for more, or is none.
    """
    files = [f"{family}/{name}.j2" for family in relatives(platform.grammar)]
    file = next((each for each in files if each in dict(platform.templates)), "")
    try:
        if not file:
            return _environment(templates, platform.templates).select_template(files).render(view)
        with at_most(MOST_WORK):
            return _bounded_environment(templates, platform.templates).get_template(file).render(view)
    except jinja2.TemplateSyntaxError as error:
        raise InputError([Finding(f"templates/{file}:{error.lineno}", "Jinja", str(error.message))]) from None
    except _FAULTS as error:
        places = [frame.lineno for frame in traceback.extract_tb(sys.exc_info()[2]) if frame.filename == _OWN]
        if not file:
            raise
        if not places:  # it could not even be compiled
            said = str(error) or type(error).__name__
            raise InputError([Finding(f"templates/{file}", "Jinja", said)]) from None
        given = f"what tagloom gives it: {', '.join(sorted(view))}"
        requested = BOUNDS if isinstance(error, TooMuchWorkError) else given
        raise InputError([Finding(f"templates/{file}:{places[-1]}", requested, str(error))]) from None


_OWN = "<template>"  # what Jinja calls a template that comes from no file
MOST_WORK = 20_000_000  # units of an operator's own template for a switch
_FAULTS = (
    *(jinja2.TemplateError, TypeError, ValueError, ArithmeticError, NameError, RecursionError, MemoryError),
    SyntaxError,  # of Python, in which loops are nested 20 deep at most
)


@cache
def _environment(templates: Path, own: Templates) -> jinja2.Environment:
    return ImmutableSandboxedEnvironment(**_options(templates, own))


@cache
def _bounded_environment(templates: Path, own: Templates) -> jinja2.Environment:
    """Return the environment of operators' own templates: a build may bring some along that somebody else wrote."""
    return BoundedEnvironment(**_options(templates, own))


def _options(templates: Path, own: Templates) -> dict[str, Any]:
    return {
        "loader": jinja2.ChoiceLoader([jinja2.DictLoader(dict(own)), jinja2.FileSystemLoader(templates)]),
        "undefined": jinja2.StrictUndefined,
        "trim_blocks": True,
        "lstrip_blocks": True,
        "keep_trailing_newline": True,
        "auto_reload": False,  # a template is not asked for its age each time it prints
        "autoescape": False,
    }
