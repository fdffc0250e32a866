"""Start a wave when the previous one is complete, its old frames have left, and no stop was requested."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tagloom.apply.journal import Journal
from tagloom.errors import TagloomError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tagloom.apply.controller import Controller
    from tagloom.apply.run_directory import RunDirectory

AHEAD_SECONDS = 5.0  # sessions open this long before their wave may begin: a slow switch's login takes that
_POLL_SECONDS = 0.1


@dataclass
class Gate:
    """The start of one wave of a run; `order` is from `tagloom_build`, `reason` says why the wave may not start.

    `early` returns whether the wait after the previous wave may end early.
    """

    files: RunDirectory
    order: Mapping[str, Any]
    number: int
    controller: Controller
    reason: str = ""
    early: Callable[[], bool] = lambda: False

    def __post_init__(self) -> None:
        self._may_go = not self.first  # only the first wave needs GO

    @property
    def wave(self) -> Mapping[str, Any]:
        """Return the wave's part of the order."""
        part: Mapping[str, Any] = self.order["waves"][str(self.number)]
        return part

    @property
    def first(self) -> bool:
        """Return whether the wave is the first of the run."""
        return self.wave["after"] is None

    @property
    def reached(self) -> bool:
        """Return whether the previous wave, if any, is complete on all its switches."""
        return self.first or self.files.completed_at(self.wave["after"]) is not None

    def approach(self) -> bool:
        """Wait until sessions may be opened. Returns False, with the `reason`, if the wave cannot start."""
        if self.first and not self.controller.hold_lock():
            self._stop("the command that began is gone")
            return False
        self._wait(self._clear_at() - AHEAD_SECONDS, self._may_end)
        return not self._hindered()

    def wait_for_wave(self) -> bool:
        """Wait until lines may be sent, and record the wave's start. Returns False, with the `reason`, if it cannot."""
        self._may_go = self._may_go or self.controller.says_go()
        if not self._may_go:
            self._stop("the command that began did not go on")
            return False
        self._wait(self._clear_at(), self._may_end)
        if self._hindered():
            return False
        try:
            self.files.begun.write_text(str(self.number), "utf-8")
            if self.order["journal"] and not self.order["check"]:
                Journal(Path(self.order["journal"])).begin_wave(self.order["run"], self.number)
        except (TagloomError, OSError) as error:
            self._stop(str(error))
        return not self.reason

    def close(self, early: Callable[[], bool] = lambda: False) -> None:
        """Record that the wave is complete; after the last one, wait until its old frames have left.

        Or until the links that it switched on are up; `early` returns whether that wait may end, and so do the files.
        """
        self.files.complete(self.number)
        if self.wave["last"] and not self.order["check"]:
            end = time.monotonic() + self._drain_seconds(self.number)
            self._wait(
                end,
                lambda: self.files.stop_now.exists() or self.controller.gone or early() or self._links_up(self.number),
            )

    def _clear_at(self) -> float:
        """Return when frames from before the last wave have left the fabric, on the monotonic clock."""
        if self.first or self.order["check"]:
            return 0.0
        before = self.wave["after"]
        return (self.files.completed_at(before) or 0.0) + self._drain_seconds(before)

    def _drain_seconds(self, wave: int) -> float:
        """Return how long to wait after a wave."""
        return float(self.order["waves"][str(wave)]["drain_seconds"])

    def _may_end(self) -> bool:
        return self._hindered() or self.early() or self._links_up(self.wave["after"])

    def _links_up(self, wave: int | None) -> bool:
        """Return whether a wave waits for links alone, and all were seen up."""
        if wave is None or not self.order["waves"][str(wave)].get("until_up"):
            return False
        return self.files.links_up(wave).exists()

    def _hindered(self) -> bool:
        if self.files.stop.exists():
            self._stop("as asked")
        elif self._may_go and self.controller.gone:  # no message follows GO: readable means ended
            self._stop("the command that began is gone")
        return bool(self.reason)

    def _stop(self, why: str) -> None:
        self.reason = f"stopped before wave {self.number}: {why}"

    @staticmethod
    def _wait(until: float, ended: Callable[[], bool]) -> None:
        """Wait until a time on the monotonic clock, or until `ended` returns True."""
        while (rest := until - time.monotonic()) > 0 and not ended():
            time.sleep(min(rest, _POLL_SECONDS))
