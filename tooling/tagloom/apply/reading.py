"""Run the read playbook, and give every switch's running configuration."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

from tagloom.apply.playbook import ansible_environment, inventory_source
from tagloom.errors import DeviceError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path


def read_running(
    inventory: Path, *, switches: Sequence[str], directory: Path, share: Path, environment: Mapping[str, str]
) -> dict[str, str]:
    """Read the running configuration of every switch over SSH with ``playbooks/read.yml`` of `share`.

    `directory` takes the texts, secrets and all, in files that only the user can read. Raises DeviceError for the
    first switch that could not be read; what the others said is kept.
    """
    paths = {switch: directory / f"{switch}.cfg" for switch in switches}
    for path in paths.values():
        path.unlink(missing_ok=True)
    arguments = json.dumps({"tagloom_read_directory": str(directory.absolute())})
    done = subprocess.run(
        [
            *(sys.executable, "-m", "ansible", "playbook", str(share / "playbooks" / "read.yml")),
            *("--inventory", str(inventory_source(inventory)), "--extra-vars", arguments),
        ],
        env=ansible_environment(environment, share),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    for switch, path in paths.items():
        if not path.exists():
            said = [line for line in done.stdout.splitlines() if switch in line and "fatal" in line]
            raise DeviceError(switch, "show running-config", said[0] if said else "no word from it")
    return {switch: path.read_text("utf-8") for switch, path in paths.items()}
