"""Run the read playbook, and return every switch's running configuration."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING

from tagloom.apply.controller import PACKAGE
from tagloom.apply.playbook import ansible_environment, playbook_words, trouble_in
from tagloom.errors import DeviceError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path


def read_running(
    inventory: Path, *, switches: Sequence[str], directory: Path, share: Path, environment: Mapping[str, str]
) -> dict[str, str]:
    """Return the running configuration of every switch, as `read_each` does.

    Raises DeviceError for the first switch that could not be read; the texts of the others stay in `directory`.
    """
    texts, failed = read_each(inventory, switches=switches, directory=directory, share=share, environment=environment)
    for switch, said in failed.items():
        raise DeviceError(switch, "show running-config", said)
    return texts


def read_each(
    inventory: Path, *, switches: Sequence[str], directory: Path, share: Path, environment: Mapping[str, str]
) -> tuple[dict[str, str], dict[str, str]]:
    """Return the running configurations of switches, and the errors of those that could not be read, by name.

    They are read over SSH with ``playbooks/read.yml`` of `share`. `directory` takes the texts, with secrets, in files
    that only the user can read.
    """
    paths = {switch: directory / f"{switch}.cfg" for switch in switches}
    excuses = directory / "unread.json"
    for path in (*paths.values(), excuses):
        path.unlink(missing_ok=True)
    done = subprocess.run(
        playbook_words(share, "read", inventory, directory=str(directory.absolute()), package=str(PACKAGE)),
        env=ansible_environment(environment, share),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    unread = json.loads(excuses.read_text("utf-8")) if excuses.is_file() else {}
    failed = {name: unread.get(name) or trouble_in(done.stdout) for name, path in paths.items() if not path.exists()}
    return {name: path.read_text("utf-8") for name, path in paths.items() if name not in failed}, failed
