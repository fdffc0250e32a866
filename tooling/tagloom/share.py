"""Find the operator's files, playbooks, roles and templates, and name the command that starts this tagloom."""

import sys
from pathlib import Path

# -P: no module is looked for in the directory that it starts in.
OWN_COMMAND = (sys.executable, "-P", "-m", "tagloom.cli")


def share_directory() -> Path:
    """Return the directory that holds `playbooks`, `roles` and `templates`: in the wheel, or the root of a checkout."""
    package = Path(__file__).resolve().parent
    packed = package / "_share"
    return packed if packed.is_dir() else package.parents[1]
