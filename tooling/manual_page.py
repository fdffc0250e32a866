"""Bring the manual page, from what --help says, and the pages of docs/ into the wheel (hatchling calls this)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

# The program puts the path in: pip's build environment takes out of PYTHONPATH what an editable tagloom has there.
PROGRAM = """
import os, sys
sys.path[:0] = sys.argv.pop(1).split(os.pathsep)
from argparse_manpage.cli import main
sys.exit(main())
"""
WORDS = ["--module", "tagloom.cli", "--function", "parser", "--prog", "tagloom", "--project-name", "tagloom"]


class Pages(BuildHookInterface):  # type: ignore[type-arg]  # whatever is configured
    """The manual page of a wheel, and what `tagloom docs` shows; an editable install reads the checkout's."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write the manual page into the build directory, have it installed below share/man, and add the pages."""
        if version == "editable":
            return
        page = Path(self.directory) / "tagloom.1"
        page.parent.mkdir(parents=True, exist_ok=True)
        words = [*WORDS, "--manual-title", "Operator's manual", "--output", str(page)]
        path = [str(Path(self.root) / "tooling"), *sys.path]  # pip's build environment is on the path alone
        subprocess.run([sys.executable, "-c", PROGRAM, os.pathsep.join(path), *words], check=True)
        build_data["shared_data"][str(page)] = "share/man/man1/tagloom.1"
        docs = Path(self.root) / "docs"
        for path in sorted(docs.rglob("*.md")):
            build_data["force_include"][str(path)] = f"tagloom/_share/docs/{path.relative_to(docs).as_posix()}"
