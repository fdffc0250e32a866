"""Print a plain data view through a family's Jinja template."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import jinja2

if TYPE_CHECKING:
    from pathlib import Path


def print_page(templates: Path, family: str, name: str, **view: Any) -> str:
    """Print `templates`/`family`/`name`.j2 with a view. Raises jinja2 errors for a template that asks for more."""
    return _environment(templates).get_template(f"{family}/{name}.j2").render(view)


@cache
def _environment(templates: Path) -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(templates),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        auto_reload=False,  # a template is not asked for its age each time it prints
        autoescape=False,  # noqa: S701 - switches read text, not HTML
    )
