"""One login's conversation with an Arista switch: exec, configuration, and what it says to each (sans-I/O)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ClassVar

from tagloom.lab import eos_pages as pages
from tagloom.lab.console import Console, is_abbreviated
from tagloom.platforms.harmless import harmless

if TYPE_CHECKING:
    from collections.abc import Callable

    from tagloom.lab.device import Device
    from tagloom.lab.shows import Page

_SAVED = "Copy completed successfully."  # netmiko's and Ansible's users
_ERASE = "Proceed with erasing startup configuration? [confirm]"  # likely


class EosConsole(Console):
    """Answer the keys of one session on a switch with EOS."""

    PAGES: ClassVar[dict[str, Callable[[Device], Page]]] = {
        "show version": pages.version,
        "show clock": pages.clock,
        "show vlan": pages.vlans,
        "show interfaces status": pages.interfaces,
        "show mac address-table": pages.addresses,
    }

    def _exec(self, line: str) -> str:
        device = self.device
        if found := re.fullmatch(r"terminal width (\d{1,5})", line):
            return self._answer(f"Width set to {found[1]} columns.")
        if line in (self.family.paging_off, self.family.paging_on):
            self._paging = line == self.family.paging_on
            return self._answer(f"Pagination {'enabled' if self._paging else 'disabled'}.")
        for words, page in self.PAGES.items():
            if is_abbreviated(line, words):
                return self._page(page(device))
        short = self._grammar.port_lists.shorten(line)
        if (found := re.fullmatch(r"show interfaces (\S+) switchport", short)) is not None:
            number = device.platform.port_number(found[1])
            return self._refuse("ports") if number is None else self._page(pages.switchport(device, number))
        return super()._exec(line)

    def _privileged_exec(self, line: str) -> str:
        saving = ("write", "write memory", "copy running-config startup-config")
        if any(is_abbreviated(line, words) for words in saving):
            self.device.save()
            return self._answer(_SAVED)
        if is_abbreviated(line, "write erase"):
            return self._ask(_ERASE, self._erase_line)
        return super()._privileged_exec(line)

    def _erase_line(self, line: str) -> str:
        """Erase the startup configuration where the question is answered by Return, or by yes."""
        if line.strip().lower() in ("", "y", "yes"):
            self.device.reset()
        return self._prompt()

    def _opens_block(self, line: str) -> bool:
        return harmless(self._grammar.platform.grammar).opens(line)

    def _take_in_block(self, line: str) -> str:
        if not self._block:
            self._block = line
        elif line == self._grammar.session.leave:
            self._block = ""
        elif harmless(self._grammar.platform.grammar).inside(self._block, line):
            self.device.foreign.take(self._block, line)
        else:
            return self._grammar.error("unknown")
        return ""
