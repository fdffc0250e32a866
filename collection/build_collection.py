"""Build the Ansible collection tagloom.fabric from the roles, plugins and playbooks here: `make collection`.

Roles and plugins lose the prefix `tagloom_`, which the collection's name says; variables keep theirs.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from tagloom import __version__

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
TASK = re.compile(r"^(\s+)tagloom_(build|push|outcome|fetch):$", re.MULTILINE)
ROLE = re.compile(r"\brole: tagloom_(\w+)")


def main() -> int:
    """Write dist/tagloom-fabric-VERSION.tar.gz."""
    target = ROOT / "dist"
    target.mkdir(exist_ok=True)
    print(f"wrote     {build(target).relative_to(ROOT)}")
    return 0


def build(target: Path) -> Path:
    """Build the collection into a directory, and return the archive."""
    with TemporaryDirectory() as place:
        gather(Path(place))
        words = ["-m", "ansible", "galaxy", "collection", "build", place, "--output-path", str(target), "--force"]
        subprocess.run([sys.executable, *words], check=True, stdout=subprocess.DEVNULL)
    return target / f"tagloom-fabric-{__version__}.tar.gz"


def gather(place: Path) -> None:
    """Lay out the collection's files in a directory."""
    ignored = shutil.ignore_patterns("__pycache__", "action_plugins")
    galaxy = (HERE / "galaxy.yml").read_text("utf-8")
    (place / "galaxy.yml").write_text(f"{galaxy}version: {__version__}\n", "utf-8")
    shutil.copy(HERE / "README.md", place)
    shutil.copy(ROOT / "LICENSE", place)
    shutil.copytree(HERE / "meta", place / "meta")
    shutil.copytree(HERE / "tests", place / "tests")
    (place / "requirements.txt").write_text(f"tagloom=={__version__}\n", "utf-8")
    shutil.copytree(HERE / "modules", place / "plugins" / "modules", ignore=ignored)
    for name in ("action", "inventory"):
        (place / "plugins" / name).mkdir()
    for plugin in sorted(ROOT.glob("roles/*/action_plugins/*.py")):
        shutil.copy(plugin, place / "plugins" / "action" / plugin.name.removeprefix("tagloom_"))
    for plugin in sorted((ROOT / "playbooks" / "inventory_plugins").glob("*.py")):
        shutil.copy(plugin, place / "plugins" / "inventory")
    for role in sorted((ROOT / "roles").glob("tagloom_*")):
        shutil.copytree(role, place / "roles" / role.name.removeprefix("tagloom_"), ignore=ignored)
    (place / "playbooks").mkdir()
    for playbook in sorted((ROOT / "playbooks").glob("*.yml")):
        shutil.copy(playbook, place / "playbooks" / playbook.name.replace("-", "_"))
    for path in [*place.glob("roles/*/tasks/*.yml"), *place.glob("playbooks/*.yml")]:
        path.write_text(qualified(path.read_text("utf-8")), "utf-8")


def qualified(text: str) -> str:
    """Return tasks or a playbook with the collection's full names of modules and roles."""
    return ROLE.sub(r"role: tagloom.fabric.\1", TASK.sub(r"\1tagloom.fabric.\2:", text))


if __name__ == "__main__":
    sys.exit(main())
