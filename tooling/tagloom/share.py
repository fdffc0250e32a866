"""Find the operator's files: playbooks, roles and templates."""

from pathlib import Path


def share_directory() -> Path:
    """Return the directory that holds `playbooks`, `roles` and `templates`: in the wheel, or the root of a checkout."""
    package = Path(__file__).resolve().parent
    packed = package / "_share"
    return packed if packed.is_dir() else package.parents[1]
