"""Commit files to tagloom's own git repository, with the machine's git and none of the user's settings or hooks."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from functools import partial
from types import MappingProxyType
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


def check_repository(directory: Path, files: Sequence[str], environment: Mapping[str, str]) -> None:
    """Raise InputError if git is missing, or if a directory that is no repository has files.

    Raise it too if one of `files` in a repository is not as it was committed: nothing else keeps what it holds.
    """
    if shutil.which("git") is None:
        raise InputError([Finding("--git", "the program git", "none is installed")])
    try:
        if directory.exists() and not (directory / ".git").exists() and any(directory.iterdir()):
            raise InputError([Finding(str(directory), "an empty directory, or a git repository", "other files")])
    except OSError as error:
        raise InputError([Finding(str(directory), "a directory", error.strerror or str(error))]) from None
    there = [name for name in files if (directory / name).exists()]
    if there and (directory / ".git").exists():
        git = partial(_git, directory, environment)
        _, committed = _at_head(git, there)
        blobs = zip(there, git("hash-object", "--no-filters", "--", *there).split(), strict=True)
        rule, actual = "a file as it was committed", "one that git does not have (commit it, or --force overwrites it)"
        if changed := [name for name, blob in blobs if (name, blob) not in committed]:
            raise InputError(Finding(str(directory / name), rule, actual) for name in changed)


def commit(
    directory: Path, files: Sequence[str], message: Callable[[Sequence[str]], str], environment: Mapping[str, str]
) -> list[str]:
    """Commit those of `files` that changed and return them; `message` makes the commit message from their names.

    Without a change nothing is committed. A directory that is no repository becomes one. Files are committed unchanged:
    ignore rules, filters and hooks do not apply. Other staged files stay staged. Raises InputError with git's message.
    """
    git = partial(_git, directory, environment)
    if not (directory / ".git").exists():
        git("init", "--quiet", "--initial-branch=main")
    blobs = dict(zip(files, git("hash-object", "-w", "--no-filters", "--", *files).split(), strict=True))
    head, same = _at_head(git, files)
    changed = sorted(name for name, blob in blobs.items() if (name, blob) not in same)
    if not changed:
        return []
    rows = "".join(f"100644 {blobs[name]}\t{name}\0" for name in changed)
    with tempfile.TemporaryDirectory() as place:
        ours = {"GIT_INDEX_FILE": f"{place}/index"}
        if head:
            git("read-tree", "HEAD", more=ours)
        git("update-index", "-z", "--index-info", given=rows, more=ours)
        tree = git("write-tree", more=ours).strip()
    parents = ("-p", head) if head else ()
    made = git("commit-tree", *parents, "-m", message(changed), tree).strip()
    git("update-ref", "-m", "tagloom backup", "HEAD", made, *parents[1:])
    git("update-index", "-z", "--index-info", given=rows)
    return changed


def _at_head(git: Callable[..., str], files: Sequence[str]) -> tuple[str, set[tuple[str, str]]]:
    """Return the last commit, "" for none, and what it has of `files`, each with its blob."""
    head = git("rev-parse", "--verify", "--quiet", "HEAD", otherwise="").strip()
    rows = git("ls-tree", "-z", "HEAD", "--", *files).split("\0") if head else []
    return head, {(name, row.split()[-1]) for row, _, name in (each.partition("\t") for each in rows if each)}


def _git(
    directory: Path,
    environment: Mapping[str, str],
    *words: str,
    given: str = "",
    otherwise: str | None = None,
    more: Mapping[str, str] = MappingProxyType({}),
) -> str:
    own = {name: value for name, value in environment.items() if not name.startswith("GIT_")}
    settings = (word for setting in _SETTINGS for word in ("-c", setting))
    done = subprocess.run(
        ["git", *settings, *words],
        cwd=directory,
        env={**own, **_OURS, **more},
        input=given,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
        umask=0o077,  # configurations are for their owner alone, as objects of git too
    )
    if done.returncode:
        if otherwise is not None:
            return otherwise
        actual = done.stderr.strip() or f"status {done.returncode}"
        raise InputError([Finding(str(directory), f"git {words[0]}", actual)])
    return done.stdout
