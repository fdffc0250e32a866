"""Record a switch's console, read-only, and try lines on ports that are named as free."""

from __future__ import annotations

import time
from collections import Counter
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from tagloom.apply.interrupts import counted
from tagloom.apply.typed_lines import Typing
from tagloom.errors import DeviceError, Finding, InputError
from tagloom.platforms.anonymous import Scrubber
from tagloom.records.change import difference
from tagloom.records.switch_state import Membership, PortMode, SwitchEditor
from tagloom.records.transcript import TRIED, Page
from tagloom.render import parse_configuration, render_commands
from tagloom.units import number_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from tagloom.platforms import Platform
    from tagloom.records.switch_state import SwitchState
    from tagloom.records.transcript import Transcript

TRIED_MAC = 0x02_00_00_00_0F_FE


class Console(Protocol):
    """What is asked of a connection; every method raises DeviceError. `sent` are the lines that it took."""

    sent: list[str]

    def ask(self, line: str) -> str:
        """Return the answer to a line that changes nothing, an error among them."""
        ...

    def send(self, lines: Sequence[str]) -> tuple[tuple[str, str], ...]:
        """Send lines from and to configuration."""
        ...


SomeConsole = TypeVar("SomeConsole", bound=Console)


def _unwritten(lines: Sequence[str]) -> AbstractContextManager[Typing]:
    del lines
    return nullcontext(Typing())


@dataclass
class Recorder(Generic[SomeConsole]):
    """What is written down of one switch of a model; `private` are words known to be secret, `heard` its raw bytes.

    `not_asked` says of contexts why no help was asked for there. `tried_on` is what a switch held before a trial that
    was not seen to be undone; `written` writes down what is about to be typed.
    """

    platform: Platform
    private: Iterable[str] = ()
    heard: bytearray = field(default_factory=bytearray)
    clock: Callable[[], float] = time.monotonic
    not_asked: dict[str, str] = field(default_factory=dict)
    tried_on: SwitchState | None = None
    written: Callable[[Sequence[str]], AbstractContextManager[Typing]] = _unwritten
    _pages: list[Page] = field(default_factory=list)
    _scrubber: Scrubber = field(default_factory=Scrubber)
    _running: str = ""  # what shows the running configuration

    def record(self, console: SomeConsole, port: int) -> str:
        """Walk a console: its pages, then the help of every line that is marked likely, at `port` where it needs one.

        Nothing is changed. Return how the running configuration differs at the end all the same, "" for not at all.
        """
        before = self._page(console, self._running)
        self._walk(console, port, before)
        lost, new = _differing(before, console.ask(self._running))
        if not (lost or new):
            return ""
        return f"the running configuration is another than at the beginning: {lost} lines less, {new} more"

    def transcript(self) -> Transcript:
        """Return all that was recorded, without what is the owner's."""
        raise NotImplementedError

    def keep(self, line: str, answer: str, seconds: float) -> None:
        """Write down the answer to a line; names and secrets of a running configuration are hidden from then on."""
        raise NotImplementedError

    def _walk(self, console: SomeConsole, port: int, running: str) -> None:
        raise NotImplementedError

    def _page(self, console: SomeConsole, line: str) -> str:
        begin = self.clock()
        answer = console.ask(line)
        self.keep(line, answer, self.clock() - begin)
        return answer

    def try_lines(self, console: SomeConsole, ports: Sequence[int], vlans: Sequence[int]) -> None:
        """Type tagloom's lines on free ports and VLANs, read them back, undo them; the startup stays as it was.

        An interrupt is heard once all is undone. Raises InputError where they are not free, DeviceError where a line
        is refused or not done, or where the switch does not hold in the end what it held before: then a reload without
        saving leads back. Where the session broke, `take_back` undoes it in another.
        """
        before = self._state(console)
        taken = [f"VLAN {vlan}" for vlan in vlans if vlan in before.vlan_index]
        taken += [self.platform.port_name(p) for p in ports if set(before.membership[:, p - 1].nonzero()[0]) != {0}]
        if taken:
            raise InputError(Finding("--try", "VLANs that are not there, and ports in VLAN 1 alone", t) for t in taken)
        after = _trial(before, ports, vlans)
        with counted() as interrupts:
            self.tried_on = before
            problem = self._type(console, before, after)
            now = self._state(console)
            if not problem and now != after:
                problem = f"{number_of(len(difference(now, after)), 'setting')} are not as they were typed"
            problem = self._undo(console, now, before, problem)
        if interrupts.came:
            raise KeyboardInterrupt
        if problem:
            raise DeviceError("", "--try", f"{problem}; all was undone")

    def take_back(self, console: SomeConsole) -> None:
        """Undo, in a session of its own, a trial whose session broke. Raises DeviceError where that fails."""
        if self.tried_on is not None:
            with counted():
                self._undo(console, self._state(console), self.tried_on, "")

    @property
    def leads_back(self) -> str:
        """Return what an operator undoes a trial by."""
        if self.platform.has_modes:
            return "nothing was saved, a reload leads back"
        return "undo it by hand, it keeps every line that it takes"

    def _undo(self, console: SomeConsole, here: SwitchState, before: SwitchState, problem: str) -> str:
        """Lead back to the state before; return what went wrong, `problem` among it, "" for nothing.

        Raises DeviceError where the switch does not hold that state in the end.
        """
        problem = self._type(console, here, before) or problem
        left = difference(before, self._state(console))
        self.tried_on = None
        if left:
            why = f"{problem}; " if problem else ""
            text = f"{why}{number_of(len(left), 'setting')} are not as before the trial: {self.leads_back}"
            raise DeviceError("", "--try", text)
        return problem

    def _type(self, console: SomeConsole, here: SwitchState, there: SwitchState) -> str:
        """Send what leads from one state to another, and write it down; return what went wrong, "" for nothing."""
        lines = render_commands(self.platform, difference(here, there), here)
        begin, took = self.clock(), len(console.sent)
        try:
            with self.written(lines) as typing:
                try:
                    answers = console.send(lines)
                finally:
                    typing.sent = min(len(lines), len(console.sent) - took)
        except DeviceError as error:
            self._pages.append(Page(TRIED, "", error.command, self._scrubber.clean(error.text), self.clock() - begin))
            return f"{error.command!r} was answered {error.text!r}"
        seconds = round((self.clock() - begin) / max(1, len(lines)), 3)
        self._pages += [
            Page(TRIED, "", line, self._scrubber.clean(answer).strip(), seconds) for line, answer in answers
        ]
        return ""

    def _state(self, console: SomeConsole) -> SwitchState:
        return parse_configuration(self.platform, console.ask(self._running)).state


def _differing(before: str, after: str) -> tuple[int, int]:
    """Return how many lines one configuration has that the other has not; comments, such as times, do not count."""
    both = [
        Counter(line.strip() for line in text.splitlines() if line.strip() and line.lstrip()[0] not in "!#")
        for text in (before, after)
    ]
    return (both[0] - both[1]).total(), (both[1] - both[0]).total()


def _trial(before: SwitchState, ports: Sequence[int], vlans: Sequence[int]) -> SwitchState:
    """Return a state with every cell of tagloom's own plans set once on free ports and VLANs."""
    editor = SwitchEditor.of(before)
    for vlan in vlans:
        editor.create_vlan(vlan)
        editor.name_vlan(vlan, "tagloom")
    for port in ports:
        editor.mode[port - 1] = PortMode.GENERAL
        editor.set_member(1, port, Membership.NONE)
        for vlan in vlans:
            editor.set_member(vlan, port, Membership.UNTAGGED if vlan == vlans[0] else Membership.TAGGED)
        editor.set_pvid(port, vlans[0])
    editor.set_entry(vlans[0], TRIED_MAC, [ports[0]])
    return editor.freeze()
