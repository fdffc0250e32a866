"""Commit files to tagloom's own git repository, with the machine's git and none of the user's settings or hooks."""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import TYPE_CHECKING

from tagloom.errors import Finding, InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

_OURS = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C",
    **{f"GIT_{who}_NAME": "tagloom" for who in ("AUTHOR", "COMMITTER")},
    **{f"GIT_{who}_EMAIL": "tagloom@localhost" for who in ("AUTHOR", "COMMITTER")},
}
_SETTINGS = ("core.hooksPath=/dev/null", "core.autocrlf=false", "core.fsmonitor=false", "commit.gpgSign=false")


def check_repository(directory: Path) -> None:
    """Raise InputError if git is missing, or if a directory that is no repository has files."""
    if shutil.which("git") is None:
        raise InputError([Finding("--git", "the program git", "none is installed")])
    try:
        if directory.exists() and not (directory / ".git").exists() and any(directory.iterdir()):
            raise InputError([Finding(str(directory), "an empty directory, or a git repository", "other files")])
    except OSError as error:
        raise InputError([Finding(str(directory), "a directory", error.strerror or str(error))]) from None


def commit(
    directory: Path, files: Sequence[str], message: Callable[[Sequence[str]], str], environment: Mapping[str, str]
) -> list[str]:
    """Commit those of `files` that changed and return them; `message` makes the commit message from their names.

    Without a change nothing is committed. A directory that is no repository becomes one. Raises InputError with git's
    message.
    """
    if not (directory / ".git").exists():
        _git(directory, environment, "init", "--quiet", "--initial-branch=main")
    _git(directory, environment, "add", "--", *files)
    reported = _git(directory, environment, "diff", "--cached", "--name-only", "-z", "--", *files)
    changed = sorted(name for name in reported.split("\0") if name)
    if changed:
        _git(directory, environment, "commit", "--quiet", "--message", message(changed), "--", *changed)
    return changed


def _git(directory: Path, environment: Mapping[str, str], *words: str) -> str:
    own = {name: value for name, value in environment.items() if not name.startswith("GIT_")}
    settings = (word for setting in _SETTINGS for word in ("-c", setting))
    done = subprocess.run(
        ["git", *settings, *words],
        cwd=directory,
        env=own | _OURS,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
        umask=0o077,  # configurations are for their owner alone, as objects of git too
    )
    if done.returncode:
        actual = done.stderr.strip() or f"status {done.returncode}"
        raise InputError([Finding(str(directory), f"git {words[0]}", actual)])
    return done.stdout
