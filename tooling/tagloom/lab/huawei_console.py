"""One login's conversation with a Huawei switch: Comware's views with VRP's words, and a first password (sans-I/O)."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from tagloom.lab import huawei_pages as pages
from tagloom.lab.comware_console import EXEC, ComwareConsole
from tagloom.lab.device import VRP_HASH
from tagloom.platforms.grammar import CONFIG

if TYPE_CHECKING:
    from tagloom.platforms.interpreter import Interpreter

_TERMINAL = "user-interface con 0"
_WARNING = "Warning: The global STP state will be changed. Continue? [Y/N]"
_FIRST = """An initial password is required for the first login via the console.
Set a password and keep it safe. Otherwise you will not be able to login via the console.

Please configure the login password (8-16)
"""
_SET = (
    "Warning: The authentication mode was changed to password authentication and the user level was changed to 15 on "
    "con0 at the first user login.\n"
    "Warning: There is a risk on the user-interface which you login through. Please change the configuration of the "
    "user-interface as soon as possible.\n"
)
_PASSWORD_LENGTHS = range(8, 17)


class HuaweiConsole(ComwareConsole):
    """Answer the keys of one session on a Huawei switch, in words of the public sessions that its grammar names."""

    COMMANDS: ClassVar[tuple[str, ...]] = (*EXEC, "schedule")
    KEYS: ClassVar = "rsa local-key-pair create"
    KEY_QUESTION: ClassVar = (
        "The key name will be: HUAWEI_Host\nThe range of public key size is (512 ~ 2048).\n"
        "NOTES: If the key modulus is greater than 512,\n       it will take a few minutes.\n"
        "Input the bits in the modulus[default = 2048]:"
    )
    KEYS_DONE: ClassVar = "Generating keys...\n....+++++"
    SAVE_QUESTIONS: ClassVar[tuple[str, ...]] = (
        "The current configuration will be written to the device.\nAre you sure to continue?[Y/N]",
        "Info: Please input the file name ( *.cfg, *.zip ) [vrpcfg.zip]:",
    )
    SAVED: ClassVar = "Now saving the current configuration to the slot 0..\nSave the configuration successfully."
    FORCED: ClassVar = ""
    ENTERED: ClassVar = "Enter system view, return user view with Ctrl+Z."
    ERASE_QUESTION: ClassVar = (
        "Warning: The action will delete the saved configuration in the device.\n"
        "The configuration will be erased to reconfigure. Continue? [Y/N]:"
    )
    REBOOT_QUESTION: ClassVar = "System will reboot! Continue? [Y/N]:"
    PASSWORD: ClassVar = re.compile(r"(local-user \S+ password irreversible-cipher )(.+)")
    TERMINAL: ClassVar = _TERMINAL, "authentication-mode aaa"
    PAGES: ClassVar = {
        "display version": pages.version,
        "display device": pages.parts,
        "display vlan": pages.vlans,
        "display interface brief": pages.interfaces,
        "display mac-address": pages.addresses,
    }

    def start(self) -> str:
        """Greet: a serial line or telnet asks for a password, which is to be made up where there is none."""
        asks = self.device.foreign.blocks.get(_TERMINAL, [])
        if self._serial and self.device.foreign.from_factory and not asks:
            return (
                "\r\n" + _FIRST.replace("\n", "\r\n") + self._ask("Enter Password:", self._first_password, hidden=True)
            )
        if self._serial and "authentication-mode password" in asks:
            return "\r\n" + self._ask("Password:", self._own_password, hidden=True)
        return super().start()

    def _first_password(self, line: str) -> str:
        def confirm(again: str) -> str:
            if again != line or len(line) not in _PASSWORD_LENGTHS:
                said = "Error: The password length must range from 8 to 16.\r\n"
                return said + self._ask("Enter Password:", self._first_password, hidden=True)
            for kept in (
                "authentication-mode password",
                f"set authentication password cipher {VRP_HASH}{line.encode().hex()}",
            ):
                self.device.foreign.take(_TERMINAL, kept)
            return _SET.replace("\n", "\r\n") + self._prompt()

        return self._ask("Confirm Password:", confirm, hidden=True)

    def _own_password(self, line: str) -> str:
        if (
            f"set authentication password cipher {VRP_HASH}{line.encode().hex()}"
            in self.device.foreign.blocks[_TERMINAL]
        ):
            return self._prompt()
        return "Error: Authentication fail.\r\n" + self._ask("Password:", self._own_password, hidden=True)

    def _view(self, block: str) -> str:
        return (
            block.replace("interface ", "")
            if block.startswith("interface ")
            else re.sub(r"user-interface (\w+) (.+)", lambda found: f"ui-{found[1]}{found[2].replace(' ', '-')}", block)
        )

    def _hashed(self, words: str, password: str) -> str:
        return f"{words}{VRP_HASH}{password.encode().hex()}"

    def _save_questions(self) -> tuple[str, ...]:
        """Return what is asked: for the file's name where nothing was ever saved."""
        return self.SAVE_QUESTIONS if self.device.never_saved else self.SAVE_QUESTIONS[:1]

    def _configure_line(self, editing: Interpreter, line: str) -> str:
        changes = {"stp enable": True, "stp disable": False, "undo stp enable": False, "undo stp disable": True}
        wants = editing.context == CONFIG and not self._block and line in changes
        if wants and changes[line] is not self.device.editor.spanning_tree:
            return self._ask(_WARNING, partial(self._confirmed, editing, line))
        return super()._configure_line(editing, line)

    def _confirmed(self, editing: Interpreter, line: str, answer: str) -> str:
        if answer.strip().lower() not in ("y", "yes"):
            return self._prompt()
        return super()._configure_line(editing, line)
