"""Bring pages that stand outside docs/ into the site, and keep links between all of them (MkDocs calls these)."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[1]
OUTSIDE = ("SECURITY.md", "CONTRIBUTING.md", "CHANGELOG.md", "templates/README.md", "benchmarks/results/*.md")
FETCHED = re.compile(
    r"""<(?:script|img|iframe)[^>]*\ssrc=["']?https?:|<link[^>]*rel=["']?(?:stylesheet|preconnect)[^>]*https?:"""
)
LINK = re.compile(r"(?<=\]\()(?!https?:|#|mailto:)([^)#\s]+)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages outside docs/, each at its own path."""
    for pattern in OUTSIDE:
        for path in sorted(ROOT.glob(pattern)):
            name = path.relative_to(ROOT).as_posix()
            files.append(File.generated(config, name, abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, **_: Any) -> str:  # noqa: ARG001 - as MkDocs calls
    """Return a page's text with its links as seen in the site, where docs/ is the top."""
    name = page.file.src_uri
    outside = (ROOT / name).is_file() and not (ROOT / "docs" / name).is_file()
    here = posixpath.dirname(name if outside else f"docs/{name}")

    def link(found: re.Match[str]) -> str:
        whole = posixpath.normpath(posixpath.join(here, found[1]))
        target = "docs/index.md" if whole == "README.md" else whole
        return posixpath.relpath(target.removeprefix("docs/"), posixpath.dirname(name) or ".")

    return LINK.sub(link, markdown)


def on_post_page(output: str, page: Page, **_: Any) -> str:
    """Return a page as it is. Raises PluginError where it would fetch something from elsewhere."""
    if found := FETCHED.search(output):
        raise PluginError(f"{page.file.src_uri} fetches from elsewhere: {found[0]}")
    return output
