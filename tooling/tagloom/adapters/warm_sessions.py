"""Keep sessions with switches open, so that what has to be sent at once needs no login."""

from __future__ import annotations

import contextlib
import time
from concurrent.futures import ThreadPoolExecutor
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING

from tagloom.errors import DeviceError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from tagloom.adapters.routeros import RouterOsSwitch
    from tagloom.adapters.shell import LinuxSwitch
    from tagloom.adapters.ssh import SshSwitch

    Session = SshSwitch | LinuxSwitch | RouterOsSwitch

AT_ONCE = 8  # logins: each is computed for at both ends
MOST = 256  # sessions of one process; switches beyond are logged in to when they are needed
EVERY_SECONDS = 30.0  # between two words with a switch: some end a session after a few minutes of silence
GLANCE_SECONDS = 0.5  # between two looks at whether far ends have hung up, which costs no word
LONGEST_PAUSE = 20  # rounds between two logins that fail


class WarmSessions:
    """A session for each of some switches, opened in the background, asked now and then, opened anew when it is lost.

    What a switch says of itself is asked at the login. `lost` is called with a switch's name, from another thread, as
    a session that was open has ended.
    """

    def __init__(
        self,
        sessions: Mapping[str, Session],
        lost: Callable[[str], None] = lambda _switch: None,
        every_seconds: float = EVERY_SECONDS,
    ) -> None:
        self._sessions = dict(sessions)
        self._warm = list(self._sessions)[:MOST]
        for name in self._warm:
            self._sessions[name].kept = True
        self._locks = {name: Lock() for name in self._sessions}
        self._failed = dict.fromkeys(self._sessions, 0)  # logins that failed one after the other
        self._waits = dict.fromkeys(self._sessions, 0)  # rounds before the next
        self._opened = set[str]()  # seen to be open
        self._lost, self._every_seconds = lost, every_seconds
        self._ending = Event()
        self._keeper = Thread(target=self._keep, name="warm sessions", daemon=True)
        self._keeper.start()

    @property
    def open(self) -> tuple[str, ...]:
        """List the switches whose session is open, as far as this end knows."""
        return tuple(name for name, session in self._sessions.items() if name in self._opened and session.is_open)

    @contextlib.contextmanager
    def lend(self, name: str) -> Iterator[Session]:
        """Yield a switch's session to one user at a time, who enters it: that logs in where it is not open."""
        with self._locks[name]:
            yield self._sessions[name]

    def close(self) -> None:
        """Log out of all."""
        self._ending.set()
        self._keeper.join()
        with ThreadPoolExecutor(AT_ONCE) as threads:
            list(threads.map(self._log_out, self._warm))

    def _log_out(self, name: str) -> None:
        with self.lend(name) as session:
            session.kept = False
            if session.is_open:
                with contextlib.suppress(DeviceError), session:
                    pass

    def _keep(self) -> None:
        with ThreadPoolExecutor(AT_ONCE) as threads:
            while not self._ending.is_set():
                self._glance()
                list(threads.map(self._visit, self._warm))
                end = time.monotonic() + self._every_seconds
                while not self._ending.wait(max(0.0, min(GLANCE_SECONDS, end - time.monotonic()))):
                    self._glance()
                    if time.monotonic() >= end:
                        break

    def _glance(self) -> None:
        """Announce sessions that have ended since they were seen to be open."""
        ended = {name for name in self._opened if not self._sessions[name].is_open}
        self._opened -= ended
        for name in sorted(ended):
            self._lost(name)

    def _visit(self, name: str) -> None:
        """See that a session is open; one that cannot be opened is tried again after twice as many rounds."""
        if self._ending.is_set() or not self._locks[name].acquire(blocking=False):
            return
        session = self._sessions[name]
        was_open = session.is_open
        try:
            if was_open:
                self._opened.add(name)
            elif self._waits[name] > 0:
                self._waits[name] -= 1
                return
            with session:
                if was_open:
                    session.still_answers()
                else:
                    session.identity()
            self._failed[name] = 0
            self._opened.add(name)
        except DeviceError:
            self._failed[name] += 1
            self._waits[name] = min(2 ** self._failed[name] - 1, LONGEST_PAUSE)
        finally:
            self._locks[name].release()
