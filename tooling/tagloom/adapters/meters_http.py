"""Read plugs that measure, over HTTP: Shelly of both generations, and Tasmota."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from typing import TYPE_CHECKING, Any

from tagloom.errors import DeviceError, Finding, InputError
from tagloom.records.measurement import Sample

if TYPE_CHECKING:
    from collections.abc import Callable

PATIENCE_SECONDS = 5.0
PAGE_BYTES = 1 << 16
# Gen2: shelly-api-docs, Switch.GetStatus, apower in watts. Gen1: /status, meters[].power. Tasmota: Status 8.
PLUGS: dict[str, tuple[tuple[str, Callable[[Any, int], Any]], ...]] = {
    "shelly": (
        ("/rpc/Switch.GetStatus?id={channel}", lambda page, _: page["apower"]),
        ("/status", lambda page, channel: page["meters"][channel]["power"]),
    ),
    "tasmota": (("/cm?cmnd=Status%208", lambda page, _: page["StatusSNS"]["ENERGY"]["Power"]),),
}


class Plug:
    """The watts of what hangs on a plug."""

    paces_itself = False
    sees = "all that is plugged into it, its power supply's losses too"

    def __init__(self, kind: str, where: str, interval_seconds: float, clock: Callable[[], float]) -> None:
        host, _, channel = where.partition("/")
        if channel and not channel.isdigit():
            raise InputError([Finding("--meter", f"{kind}:HOST[:PORT][/CHANNEL]", f"{kind}:{where}")])
        self.name, self.interval_seconds, self._clock = f"{kind} at {where}", interval_seconds, clock
        self._base, self._channel = f"http://{host}", int(channel or 0)
        errors = []
        for page, watts in PLUGS[kind]:
            self._page, self._watts = page.format(channel=self._channel), watts
            try:
                self.read()
            except DeviceError as error:
                errors.append(error.text)
            else:
                return
        raise DeviceError(self.name, "open", "; ".join(errors))

    def read(self) -> Sample:
        """Return the reading. Raises DeviceError."""
        began = self._clock()
        try:
            with urllib.request.urlopen(self._base + self._page, timeout=PATIENCE_SECONDS) as answer:  # noqa: S310 - http
                page = json.loads(answer.read(PAGE_BYTES))
            watts = float(self._watts(page, self._channel))
        except (OSError, urllib.error.URLError, ValueError, LookupError, TypeError) as error:
            words = str(error) if isinstance(error, OSError | ValueError) else f"no power in {self._page}"
            raise DeviceError(self.name, self._page, words) from None
        return Sample((began + self._clock()) / 2, watts)

    def close(self) -> None:
        """Do nothing: no connection is held."""
