"""Show what a release changes, or with --do make it: version, changelog, one commit, one tag. `make release` shows."""

from __future__ import annotations

import argparse
import difflib
import re
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

VERSION = r"\d+\.\d+\.\d+"
# Where the version stands, and the line it stands in.
PLACES = {
    "pyproject.toml": rf'(?m)^version = "{VERSION}"$',
    "tooling/tagloom/__init__.py": rf'(?m)^__version__ = "{VERSION}"$',
    "CITATION.cff": rf"(?m)^version: {VERSION}$",
}
EMPTY = "## Unreleased\n"


def main() -> int:
    """Return 0 where the release can be made, or was, and 2 where something is in the way."""
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("--version", metavar="X.Y.Z", help="the version to release (default: the one in pyproject.toml)")
    words.add_argument("--do", action="store_true", help="write, commit and tag; nothing is pushed")
    args = words.parse_args()
    root = Path(git("rev-parse", "--show-toplevel"))
    version = (
        args.version or re.search(VERSION, re.search(PLACES["pyproject.toml"], read(root, "pyproject.toml"))[0])[0]
    )  # type: ignore[index]  # both are there
    wrong = in_the_way(root, version)
    for each in wrong:
        print(each, file=sys.stderr)
    if wrong:
        return 2
    day = datetime.now(UTC).date().isoformat()
    after = released(root, version, day)
    for name, text in after.items():
        lines = read(root, name).splitlines(keepends=True), text.splitlines(keepends=True)
        print("".join(difflib.unified_diff(*lines, name, name, n=1)), end="")
    print(f"commit    Release {version}\ntag       v{version}")
    if not args.do:
        print(f"next      python tooling/release.py --version {version} --do   (this was a dry run)")
        return 0
    for name, text in after.items():
        (root / name).write_text(text, "utf-8")
    git("commit", "-qam", f"Release {version}")
    git("tag", "-a", f"v{version}", "-m", f"tagloom {version}")
    print("next      git push --follow-tags, then: pip wheel --no-deps -w dist . && make collection docs")
    return 0


def in_the_way(root: Path, version: str) -> list[str]:
    """Return what hinders a release, as findings: where, what was expected, what is there."""
    wrong = []
    if not re.fullmatch(VERSION, version):
        wrong.append(f"--version: expected X.Y.Z, actual {version!r}")
    if changed := git("status", "--porcelain"):
        wrong.append(f"work tree: expected all committed, actual {len(changed.splitlines())} files changed")
    if f"v{version}" in git("tag", "--list").splitlines():
        wrong.append(f"tag: expected v{version} to be free, actual there")
    for name, pattern in PLACES.items():
        if len(re.findall(pattern, read(root, name))) != 1:
            wrong.append(f"{name}: expected one line with the version, actual another number of them")
    notes = read(root, "CHANGELOG.md").partition(EMPTY)[2].partition("\n## ")[0].strip()
    if not notes:
        wrong.append("CHANGELOG.md: expected lines under Unreleased, actual none")
    return wrong


def released(root: Path, version: str, day: str) -> dict[str, str]:
    """Return the text of each file after the release."""
    after = {name: re.sub(p, lambda m: re.sub(VERSION, version, m[0]), read(root, name)) for name, p in PLACES.items()}
    log = read(root, "CHANGELOG.md").replace(EMPTY, f"{EMPTY}\n## {version} - {day}\n", 1)
    return {name: text for name, text in {**after, "CHANGELOG.md": log}.items() if text != read(root, name)}


def read(root: Path, name: str) -> str:
    """Return the text of a file."""
    return (root / name).read_text("utf-8")


def git(*words: str) -> str:
    """Return what git prints. Raises CalledProcessError where it fails."""
    return subprocess.run(["git", *words], check=True, capture_output=True, text=True).stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
