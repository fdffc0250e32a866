"""One login's conversation with a switch that runs Comware: user view, system view, and those inside (sans-I/O)."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from tagloom.lab import comware_pages as pages
from tagloom.lab.console import LOCKED, Console, is_abbreviated
from tagloom.lab.device import HASHED
from tagloom.lab.help_pages import help_page
from tagloom.lab.shows import Page
from tagloom.platforms.grammar import CONFIG, ContextKind
from tagloom.platforms.harmless import harmless
from tagloom.platforms.interpreter import Interpreter
from tagloom.records.transcript import HELP, SHOW

if TYPE_CHECKING:
    from collections.abc import Callable

    from tagloom.lab.device import Device

EXEC = ("display", "quit", "reboot", "reset", "save", "screen-length", "system-view")
KEYS_MADE = "public-key local create rsa"
_SAVED = "Validating file. Please wait...\nSaved the current configuration to mainboard device successfully."
# Said by public sessions of switches; who types "save force" is asked nothing.
_SAVE_QUESTIONS = (
    "The current configuration will be written to the device. Are you sure? [Y/N]:",
    """Please input the file name(*.cfg)[flash:/startup.cfg]
(To leave the existing filename unchanged, press the enter key):""",
    "flash:/startup.cfg exists, overwrite? [Y/N]:",
)
_MODULUS = (
    "The range of public key modulus is (512 ~ 4096).\n"
    "If the key modulus is greater than 512, it will take a few minutes.\n"
    "Press CTRL+C to abort.\n"
    "Input the modulus length [default = 1024]:"
)


class ComwareConsole(Console):
    """Answer the keys of one session on a switch with Comware; its words are data, of which a relative has others."""

    COMMANDS: ClassVar[tuple[str, ...]] = EXEC
    KEYS: ClassVar = KEYS_MADE
    KEY_QUESTION: ClassVar = _MODULUS
    KEYS_DONE: ClassVar = "Generating Keys...\n.\nCreate the key pair successfully."
    SAVE_QUESTIONS: ClassVar[tuple[str, ...]] = _SAVE_QUESTIONS
    SAVED: ClassVar = _SAVED
    FORCED: ClassVar = "save force"
    ENTERED: ClassVar = "System View: return to User View with Ctrl+Z."
    ERASE_QUESTION: ClassVar = "The saved configuration file will be erased. Are you sure? [Y/N]:"
    REBOOT_QUESTION: ClassVar = "This command will reboot the device. Continue? [Y/N]:"
    PASSWORD: ClassVar = re.compile("(password simple )(.+)")  # what no configuration shows as it was typed
    TERMINAL: ClassVar = (
        "line aux 0",
        "authentication-mode scheme",
    )  # of the serial line, and what makes it ask for a name
    PAGES: ClassVar[dict[str, Callable[[Device], Page]]] = {
        "display version": pages.version,
        "display device manuinfo": pages.manufacture,
        "display vlan all": pages.vlans,
        "display interface brief": pages.interfaces,
        "display mac-address": pages.addresses,
    }

    def start(self) -> str:
        """Greet: the prompt; a serial line or telnet asks who it is where its own terminal was told to."""
        terminal, asks = self.TERMINAL
        if self._serial and not (self.device.users and asks in self.device.foreign.blocks.get(terminal, [])):
            return "\r\n" + self._prompt()
        return super().start()

    def _view(self, block: str) -> str:
        """Return what the prompt calls a block that is none of the interpreter's."""
        return block.replace("interface ", "").split(" class")[0].replace(" ", "-")

    def _prompt_text(self) -> str:
        if self._block:
            return f"[{self.device.hostname}-{self._view(self._block)}]"
        if self._editing is not None:
            return self._grammar.prompt(self.device.hostname, self._editing.context)
        return f"<{self.device.hostname}>"

    def _help(self) -> str:
        played = self._played(HELP, self._line)
        lines = (
            played.split("\n")
            if played is not None
            else help_page(self._grammar, self._context, self._line, self.COMMANDS)
        )
        text = self._grammar.error("unknown", caret="") if lines is None else "\n".join(lines)
        return text.strip("\n").replace("\n", "\r\n") + "\r\n"

    def _answer_to(self, line: str) -> str:
        if self._editing:
            return self._configure_line(self._editing, line)
        played = self._played(SHOW, line)
        return self._exec(line) if played is None else self._page(Page(tuple(played.split("\n"))))

    def _exec(self, line: str) -> str:
        device, family = self.device, self.family
        if is_abbreviated(line, "quit"):
            self.close()
            return ""
        if line in (family.paging_off, family.paging_on):
            self._paging = line == family.paging_on
            return self._answer()
        if is_abbreviated(line, "system-view"):
            return self._system_view()
        if (page := self._displayed(line)) is not None:
            return self._page(page)
        if self.FORCED and is_abbreviated(line, self.FORCED):
            device.save()
            return self._answer(self.SAVED)
        if is_abbreviated(line, "save"):
            return self._save_question(0)
        for words, question, done in (
            ("reset saved-configuration", self.ERASE_QUESTION, "erase"),
            ("reboot", self.REBOOT_QUESTION, "reboot"),
        ):
            if is_abbreviated(line, words):
                return self._ask(question, partial(self._done, done))
        return self._refuse("incomplete" if line in ("display", "reset") else "unknown")

    def _displayed(self, line: str) -> Page | None:
        """Return the page that a line asks for, None where it asks for none; `display` works in every view."""
        device = self.device
        texts: dict[str, Callable[[], str]] = {
            "display current-configuration": device.running_config,
            "display saved-configuration": device.startup_config,
            "display clock": lambda: "00:00:00.000 UTC Sat 01/01/2000",
        }
        for words, text_of in texts.items():
            if is_abbreviated(line, words):
                return Page(tuple(text_of().splitlines()))
        return next((page(device) for words, page in self.PAGES.items() if is_abbreviated(line, words)), None)

    def _system_view(self) -> str:
        device = self.device
        held = device.quirks.exclusive and device.editing not in (None, self)
        if device.quirks.locked or device.locked or held:
            return self._answer(LOCKED)
        device.editing = self
        self._editing = Interpreter(device.platform, device.editor)
        return self._answer(self.ENTERED)

    def _save_question(self, number: int) -> str:
        text = self._save_questions()[number].replace("\n", "\r\n")
        return self._ask(text, partial(self._saving, number))

    def _saving(self, number: int, line: str) -> str:
        """Take the answer to a question of `save`: the name of the file stays where only Return is pressed."""
        if number != 1 and line.strip().lower() not in ("y", "yes"):
            return self._prompt()
        if number + 1 < len(self._save_questions()):
            return self._save_question(number + 1)
        self.device.save()
        return self._answer(self.SAVED)

    def _save_questions(self) -> tuple[str, ...]:
        return self.SAVE_QUESTIONS

    def _done(self, what: str, line: str) -> str:
        if line.strip().lower() not in ("y", "yes"):
            return self._prompt()
        if what == "erase":
            self.device.reset()
            return self._prompt()
        self.close()
        self.device.reload()
        return ""

    def _configure_line(self, editing: Interpreter, line: str) -> str:
        if (page := self._displayed(line)) is not None:
            return self._page(page)
        if line == "return":
            self._leave_configuration()
            return self._answer()
        if editing.context == CONFIG and not self._block and line == self.KEYS:
            return self._ask(self.KEY_QUESTION.replace("\n", "\r\n"), self._made_keys)
        return super()._configure_line(editing, line)

    def _made_keys(self, line: str) -> str:
        del line  # any length will do
        self.device.has_host_key = True
        return self._answer(self.KEYS_DONE)

    def _hashed(self, words: str, password: str) -> str:
        del words
        return f"{HASHED}{password.encode().hex()}"

    def _opens_block(self, line: str) -> bool:
        return harmless(self._grammar.platform.grammar).opens(line)

    def _take_in_block(self, line: str) -> str:
        known = harmless(self._grammar.platform.grammar)
        if not self._block:
            self._block = line
        elif line == "quit":
            self._block = ""
        elif line == "return":
            self._leave_configuration()
        elif known.inside(self._block, line):
            if found := self.PASSWORD.fullmatch(line):
                line = self._hashed(found[1], found[2])
            self.device.foreign.take(self._block, line)
        elif self._opens_block(line):
            self._block = line
        elif self._grammar.is_foreign(ContextKind.CONFIG, line):
            self._block = ""
            self.device.foreign.take("", line)
        else:
            return self._grammar.error("unknown", caret="")
        return ""
