"""Install a unit for systemd, of the computer or of the user, and start it."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from pathlib import Path

from tagloom.errors import DeviceError

BOOTED = Path("/run/systemd/system")  # exists where systemd runs the computer: sd_booted(3)
_PATIENCE_SECONDS = 60.0


def units_directory(config: Path, *, own: bool) -> Path:
    """Return where units are: of the user, with `own`, in the directory `config` of settings, else of the computer."""
    return config / "systemd" / "user" if own else Path("/etc/systemd/system")


def start_commands(unit: str, *, own: bool) -> list[tuple[str, ...]]:
    """Return the commands that start a unit now and at every boot."""
    systemctl = ("systemctl", "--user") if own else ("systemctl",)
    linger = [("loginctl", "enable-linger")] if own else []  # else it ends when the user logs out
    return [(*systemctl, "daemon-reload"), (*systemctl, "enable", unit), (*systemctl, "restart", unit), *linger]


def is_there() -> bool:
    """Return whether systemd runs here and can be told to start a unit."""
    return BOOTED.is_dir() and shutil.which("systemctl") is not None


def run(command: tuple[str, ...]) -> None:
    """Run a command of systemd. Raises DeviceError with what it printed if it fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_PATIENCE_SECONDS)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise DeviceError("systemd", shlex.join(command), str(error)) from error
    if done.returncode:
        raise DeviceError("systemd", shlex.join(command), (done.stderr or done.stdout).strip())
