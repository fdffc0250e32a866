"""Write the manual page into the wheel, from what --help says (hatchling calls this)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PROGRAM = "import sys; from argparse_manpage.cli import main; sys.exit(main())"
WORDS = ["--module", "tagloom.cli", "--function", "parser", "--prog", "tagloom", "--project-name", "tagloom"]


class ManualPage(BuildHookInterface):  # type: ignore[type-arg]  # whatever is configured
    """The manual page of a wheel; an editable install has none."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write the page into the build directory and have it installed below share/man."""
        if version == "editable":
            return
        page = Path(self.directory) / "tagloom.1"
        page.parent.mkdir(parents=True, exist_ok=True)
        words = [*WORDS, "--manual-title", "Operator's manual", "--output", str(page)]
        path = [str(Path(self.root) / "tooling"), *sys.path]  # pip's build environment is on the path alone
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(path)}
        subprocess.run([sys.executable, "-c", PROGRAM, *words], env=environment, check=True)
        build_data["shared_data"][str(page)] = "share/man/man1/tagloom.1"
