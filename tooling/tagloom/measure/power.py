"""Sample a meter on the clock of the trials, and switch a load to find the meter's lag."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Self

from tagloom.errors import DeviceError
from tagloom.measure.lag import modulation
from tagloom.records.measurement import PowerTrace

if TYPE_CHECKING:
    from types import TracebackType

    from tagloom.measure.pingpong import Clocks
    from tagloom.records.measurement import Meter, Sample


class Sampler:
    """A thread that reads a meter for the context's duration; if the meter fails, the trace ends and says why."""

    def __init__(self, meter: Meter) -> None:
        self._meter, self._why = meter, ""
        self._samples: list[Sample] = []
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._work, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join()
        self._meter.close()

    def _work(self) -> None:
        try:
            while not self._over.is_set():
                self._samples.append(self._meter.read())
                if not self._meter.paces_itself:
                    self._over.wait(self._meter.interval_seconds)
        except DeviceError as error:
            self._why = str(error)

    @property
    def gone(self) -> str:
        """Return why the meter is gone, "" if it is not."""
        return self._why

    def trace(self, lag_seconds: float | None = None, lag_sigma_seconds: float | None = None) -> PowerTrace:
        """Return the samples read so far."""
        return PowerTrace(
            self._meter.name,
            self._meter.sees,
            tuple(self._samples),
            lag_seconds,
            lag_sigma_seconds,
            complete=not self._why,
            why=self._why,
        )


class Spinners:
    """One busy-looping process per processor, which can be stopped and continued."""

    def __init__(self) -> None:
        self._processes: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Self:
        for _ in range(len(os.sched_getaffinity(0))):
            self._processes.append(subprocess.Popen([sys.executable, "-S", "-E", "-c", "while True: pass"]))
        self.switch(on=False)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for process in self._processes:
            process.kill()
            process.wait()

    def switch(self, *, on: bool) -> None:
        """Continue the processes, or stop them."""
        for process in self._processes:
            process.send_signal(signal.SIGCONT if on else signal.SIGSTOP)


def modulate(load: Spinners, seconds: float, seed: int, clocks: Clocks, sampler: Sampler) -> tuple[list[float], float]:
    """Switch a load on and off by `modulation`; return the actual switching times and the end (off)."""
    began, switched = clocks.monotonic(), []
    for i, due in enumerate(modulation(seconds, seed)):
        clocks.sleep(max(0.0, began + due - clocks.monotonic()))
        if sampler.gone:
            break
        load.switch(on=i % 2 == 0)
        switched.append(clocks.monotonic())
    clocks.sleep(max(0.0, began + seconds - clocks.monotonic()))
    load.switch(on=False)
    return switched, clocks.monotonic()
