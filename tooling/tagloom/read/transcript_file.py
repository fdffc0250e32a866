"""Read what tagloom record wrote of a switch's console."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from tagloom.errors import Finding, InputError
from tagloom.records.transcript import FORMAT, Page, Transcript
from tagloom.storage.document import Form, checked, read_json

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_MOST_PAGES = 10_000


class _PageForm(Form):
    kind: Literal["show", "help", "tried"]
    context: str
    typed: str
    seconds: float = Field(ge=0)
    answer: list[str]


class _Form(Form):
    format: int
    model: str
    family: str
    firmware: str
    tagloom: str
    manners: dict[str, Any] = Field(default_factory=dict)
    pages: list[_PageForm] = Field(max_length=_MOST_PAGES)


def read_transcript(path: Path) -> Transcript:
    """Return a transcript. Raises InputError with all that is wrong with the file."""
    form = checked(_Form, read_json(path, "a transcript of tagloom record"), str(path))
    if form.format != FORMAT:
        raise InputError([Finding(f"{path}: format", str(FORMAT), str(form.format))])
    pages = tuple(Page(p.kind, p.context, p.typed, "\n".join(p.answer), p.seconds) for p in form.pages)
    manners: Mapping[str, Any] = form.manners
    return Transcript(form.model, form.family, form.firmware, form.tagloom, pages, manners)
