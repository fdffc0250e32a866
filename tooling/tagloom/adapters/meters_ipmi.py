"""Read a server's own power sensor over IPMI DCMI, by ipmitool."""

from __future__ import annotations

import re
import subprocess
from typing import TYPE_CHECKING

from tagloom.errors import DeviceError
from tagloom.records.measurement import Sample

if TYPE_CHECKING:
    from collections.abc import Callable

PATIENCE_SECONDS = 10.0
_WATTS = re.compile(r"Instantaneous power reading:\s*([0-9]+) Watts")


class Dcmi:
    """What the baseboard controller measures.

    `host` may be USER@HOST; ipmitool takes the password from IPMI_PASSWORD.
    """

    paces_itself = False
    sees = "the whole server, as its power supplies say"

    def __init__(
        self, host: str, interval_seconds: float, clock: Callable[[], float], program: str = "ipmitool"
    ) -> None:
        self.name, self.interval_seconds, self._clock = f"IPMI of {host or 'this machine'}", interval_seconds, clock
        user, at, address = host.rpartition("@")
        login = ["-I", "lanplus", "-H", address, *(["-U", user] if at else []), "-E"] if host else []  # -E: see above
        self._words = [program, *login, "dcmi", "power", "reading"]
        self.read()

    def read(self) -> Sample:
        """Return the reading. Raises DeviceError with what ipmitool said."""
        began = self._clock()
        try:
            done = subprocess.run(self._words, capture_output=True, text=True, check=False, timeout=PATIENCE_SECONDS)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise DeviceError(self.name, " ".join(self._words), str(error)) from None
        found = _WATTS.search(done.stdout)
        if done.returncode or found is None:
            said = (done.stderr or done.stdout).strip() or f"exit status {done.returncode}"
            raise DeviceError(self.name, " ".join(self._words), said)
        return Sample((began + self._clock()) / 2, float(found[1]))

    def close(self) -> None:
        """Do nothing: no connection is held."""
