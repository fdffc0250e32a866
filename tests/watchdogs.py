"""End the watchdog of a change that must be confirmed, as a computer does that loses its power."""

import os
import signal

from tagloom.apply.lock import alive
from tagloom.operate.watchdog import read_watchdog
from waiting import until


def end_watchdog(runs):
    """Kill the watchdog of an inventory's runs, which has to be there."""
    dog = until(lambda: read_watchdog(runs))
    os.kill(dog.pid, signal.SIGKILL)
    until(lambda: not alive(dog.pid))
