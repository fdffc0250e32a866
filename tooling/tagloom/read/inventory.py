"""Read the fabric that an inventory is of."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from tagloom.read.fabric_file import read_fabric
from tagloom.storage.document import read_yaml

if TYPE_CHECKING:
    from tagloom.records.fabric import Fabric


def fabric_of(inventory: Path) -> Fabric:
    """Read the fabric file of an inventory. Raises InputError where there is none."""
    return read_fabric(fabric_path(inventory))


def fabric_path(inventory: Path) -> Path:
    """Return where the fabric file of an inventory is: the one its tagloom.yml names. Raises InputError."""
    payload = inventory / "tagloom.yml" if inventory.is_dir() else inventory
    named = read_yaml(payload, "an inventory of tagloom's")
    name = named.get("fabric", "fabric.yml") if isinstance(named, dict) else "fabric.yml"
    return fabric_beside(payload.parent, str(name))


def fabric_beside(folder: Path, name: str) -> Path:
    """Return the fabric file that an inventory in a directory names, without the directory where it only leads back."""
    path = folder / name
    plain = Path(os.path.normpath(path))  # inventory/../fabric.yml is fabric.yml, unless inventory is a link
    return plain if plain.exists() and path.exists() and plain.samefile(path) else path
