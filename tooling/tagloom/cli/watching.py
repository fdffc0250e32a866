"""Start the watchdog of a change that must be confirmed, and be that process: tagloom confirm --watchdog."""

from __future__ import annotations

import os
import signal
import sys
import time
from typing import TYPE_CHECKING

from tagloom.cli.inputs import inventory_of, site_of
from tagloom.cli.screen import DEVICE_FAILED, GOOD
from tagloom.errors import PlanError, one_line
from tagloom.share import OWN_COMMAND

if TYPE_CHECKING:
    import argparse
    from pathlib import Path

    from tagloom.apply.confirmations import Confirmation
    from tagloom.cli.screen import Screen
    from tagloom.operate.watchdog import Watchdog

LOG = "watchdog.log"  # beside an inventory's runs
_POLL_SECONDS = 0.05
_START_SECONDS = 120.0  # on a busy machine
_RULE = "a change is sent with --confirm only while a watchdog runs that can take it back"


def start_watchdog(args: argparse.Namespace) -> None:
    """Start `tagloom confirm --watchdog` as a process that outlives this one, and wait until it watches.

    Raises PlanError where it does not come to that.
    """
    from tagloom.apply.abort import home_of
    from tagloom.operate.watchdog import read_watchdog

    inventory = inventory_of(args).absolute()
    home = home_of(inventory)
    words = [*OWN_COMMAND, "confirm", "--watchdog", "-i", str(inventory)]
    try:
        pid = _spawn(words, home / LOG)
    except OSError as error:
        raise PlanError(_RULE, f"it does not start: {error}", "tagloom apply without --confirm") from error
    deadline = time.monotonic() + _START_SECONDS
    while (found := read_watchdog(home)) is None or found.pid != pid:
        if os.waitpid(pid, os.WNOHANG)[0] or time.monotonic() > deadline:
            why = (home / LOG).read_text("utf-8", errors="replace").strip().splitlines()
            witness = f"it ended before it watched: {why[-1] if why else 'it printed nothing'} ({home / LOG})"
            raise PlanError(_RULE, witness, "tagloom apply without --confirm")
        time.sleep(_POLL_SECONDS)


def _spawn(words: list[str], log: Path) -> int:
    """Start a process that no terminal reaches, and return its id; what it prints is appended to `log`."""
    log.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    write = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    return os.posix_spawn(
        sys.executable,
        words,
        os.environ,
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, str(log), write, 0o600),
            (os.POSIX_SPAWN_DUP2, 1, 2),
        ],
        setsid=True,
    )


def watch(args: argparse.Namespace, screen: Screen) -> int:
    """Take back the change that waits, unless it is confirmed in time; return the exit status."""
    from tagloom.apply.abort import JOURNAL, home_of
    from tagloom.apply.confirmations import Confirmations
    from tagloom.apply.journal import Journal
    from tagloom.operate.status import watchdog_payload
    from tagloom.operate.watchdog import keep_watch
    from tagloom.report import terminal
    from tagloom.report.status import watchdog_words

    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    home = home_of(inventory_of(args))

    def show(dog: Watchdog) -> None:
        screen.remark(*terminal.row("watchdog", watchdog_words(watchdog_payload(dog), time.time())))

    ended = keep_watch(home, lambda: _take_back(args, screen), show)
    answer_confirmation(Confirmations(Journal(home / JOURNAL)).newest() if (home / JOURNAL).exists() else None, screen)
    return DEVICE_FAILED if ended.gave_up else GOOD


def answer_confirmation(found: Confirmation | None, screen: Screen) -> bool:
    """Answer what became of a change that must be confirmed, and return whether it was."""
    from tagloom.apply.confirmations import CONFIRMED
    from tagloom.report import terminal
    from tagloom.report.status import confirmation_words

    confirmed, shown = found is not None and found.state == CONFIRMED, found.to_json() if found else None
    screen.say(*terminal.row("confirm", confirmation_words(shown, time.time()) if shown else "nothing waits for it"))
    screen.answer({"confirmed": confirmed, "confirmation": shown, "pending": False})
    return confirmed


def _take_back(args: argparse.Namespace, screen: Screen) -> str:
    """Take a change back over the network, and return why that failed, "" where it did not."""
    from tagloom.cli.applying import context_at
    from tagloom.operate import confirming
    from tagloom.operate.apply import ApplyOptions
    from tagloom.operate.watchdog import trouble_of

    try:
        with context_at(args, screen, site_of(args)) as context:
            return trouble_of(confirming.take_back_left_over(context, ApplyOptions()))
    except Exception as error:  # noqa: BLE001 - whatever it is, the next try may go well, and status shows it
        return one_line(error)
