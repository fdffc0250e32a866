"""Read the processor's own energy counters (RAPL) from the kernel's powercap tree."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from tagloom.errors import DeviceError
from tagloom.records.measurement import Sample

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

ROOT = "/sys/class/powercap"  # Documentation/power/powercap/powercap.rst
SETTLE_SECONDS = 0.1  # between the two readings of the first sample


class Powercap:
    """The mean watts between two readings of all packages, at the middle of the two.

    Only the packages (intel-rapl:N) are added up: their parts (intel-rapl:N:M) are in them, but for "dram", which is
    not, and is added. A counter that went down has wrapped at max_energy_range_uj.
    """

    paces_itself = False
    sees = "processors and memory of this machine alone; no network card, PHY or switch: saving by EEE is invisible"

    def __init__(self, root: Path, interval_seconds: float, clock: Callable[[], float]) -> None:
        self.name, self.interval_seconds, self._clock = f"RAPL in {root}", interval_seconds, clock
        zones = sorted(root.glob("intel-rapl:*"))
        try:
            names = {zone: (zone / "name").read_text("utf-8").strip() for zone in zones}
            self._zones = {
                zone: int((zone / "max_energy_range_uj").read_text("utf-8"))
                for zone, name in names.items()
                if name.startswith("package") or name == "dram"
            }
            if not self._zones:
                raise DeviceError(self.name, "open", "no package: a virtual machine has none")
            self._before = self._read()
        except (OSError, ValueError) as error:
            words = "; since Linux 5.10 only root may read it" if isinstance(error, PermissionError) else ""
            raise DeviceError(self.name, "open", f"{error}{words}") from None
        self._first = True

    def _read(self) -> tuple[float, dict[Path, int]]:
        counts = {zone: int((zone / "energy_uj").read_text("utf-8")) for zone in self._zones}
        return self._clock(), counts

    def read(self) -> Sample:
        """Return the mean since the last sample. Raises DeviceError where the tree is gone."""
        if self._first:
            time.sleep(SETTLE_SECONDS)
            self._first = False
        try:
            at, counts = self._read()
        except (OSError, ValueError) as error:
            raise DeviceError(self.name, "read", str(error)) from None
        was, before = self._before
        used = 0
        for zone, most in self._zones.items():
            step = counts[zone] - before[zone]
            used += step if step >= 0 else step + most
        self._before = at, counts
        return Sample((was + at) / 2, used / 1e6 / (at - was))

    def close(self) -> None:
        """Do nothing: no connection is held."""
