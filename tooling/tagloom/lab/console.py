"""One login's conversation with a switch: keys in, text out, and no wire in between (sans-I/O).

Both families under the PowerConnect brand are here: ROS (5324) and FASTPATH (6224, 6248). What they print differs as
data; what they do differs where the methods below say so.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from tagloom.lab import shows
from tagloom.lab.device import USER_KEYS
from tagloom.lab.help_pages import help_page
from tagloom.lab.returns import Returns
from tagloom.platforms.first_contact import first_context
from tagloom.platforms.grammar import CONFIG, ContextKind, Grammar
from tagloom.platforms.interpreter import Interpreter, OutcomeKind
from tagloom.records.transcript import HELP, SHOW

if TYPE_CHECKING:
    from collections.abc import Callable

    from tagloom.lab.device import Device
    from tagloom.lab.faults import Fault

# The words of Cisco's CLI guide, from memory: likely.
_WHOLE_SYSTEM = (
    "This command will reset the whole system and disconnect your current session. "
    "Reload is scheduled for later (in {minutes} minutes).\r\nDo you want to continue ? (Y/N)[N] "
)
LOCKED = "Configuration Database locked by another application - try later"
LOGIN_TRIES = 3
_RETURN, _CONTROL_C, _CONTROL_Z, _ERASE = "\r\n", "\x03", "\x1a", "\x7f\b"


@dataclass(frozen=True, slots=True)
class Family:
    """What a family prints around its answers."""

    user_question: str
    login_in_shell: bool  # asks `User Name:` inside the session, and takes SSH authentication "none"
    page_lines: int
    pager: str
    pager_wipe: str  # what takes the pager's line away again
    repeats_header: bool
    save_question: str
    save_by_key: bool  # one key, no Return
    saved: str
    not_saved: str
    paging_off: str
    paging_on: str
    after_prompt: str
    blank_after: bool  # an accepted command answers with one blank line
    exit_closes: bool  # `exit` at the privileged prompt ends the session; else it leads back to `>`


_ROS_PAGER = "More: <space>,  Quit: q, One line: <return>"
_FASTPATH_PAGER = "--More-- or (q)uit"
FAMILIES = {
    "ros": Family(
        user_question="User Name:",
        login_in_shell=True,
        page_lines=24,
        pager=_ROS_PAGER,
        pager_wipe="\r" + " " * len(_ROS_PAGER) + "\r\x1b[K",
        repeats_header=False,
        save_question="Overwrite file [startup-config].... (Y/N)[N] ?",
        save_by_key=False,
        saved="Copy succeeded",
        not_saved="",
        paging_off="terminal datadump",
        paging_on="no terminal datadump",
        after_prompt=" ",
        blank_after=False,
        exit_closes=True,
    ),
    "fastpath": Family(
        user_question="User:",
        login_in_shell=False,
        page_lines=23,
        pager=_FASTPATH_PAGER,
        pager_wipe="\r" + " " * len(_FASTPATH_PAGER) + "\r",
        repeats_header=True,
        save_question=(
            "\nThis operation may take a few minutes.\n"
            "Management interfaces will not be available during this time.\n\n"
            "Are you sure you want to save? (y/n) "
        ),
        save_by_key=True,
        saved="\n\nConfiguration Saved!\n",
        not_saved="\n\nConfiguration Not Saved!\n",
        paging_off="terminal length 0",
        paging_on="terminal length 24",
        after_prompt="",
        blank_after=True,
        exit_closes=False,
    ),
    "comware": Family(  # what is saved, and where it leads, is said in comware_console.py
        user_question="login: ",
        login_in_shell=False,
        page_lines=24,
        pager="  ---- More ----",
        pager_wipe="\x1b[16D" + " " * 16 + "\x1b[16D",
        repeats_header=False,
        save_question="",
        save_by_key=False,
        saved="",
        not_saved="",
        paging_off="screen-length disable",
        paging_on="undo screen-length disable",
        after_prompt="",
        blank_after=False,
        exit_closes=True,
    ),
}
FAMILIES["huawei"] = replace(
    FAMILIES["comware"],
    user_question="Username:",
    paging_off="screen-length 0 temporary",
    paging_on="undo screen-length temporary",
)
FAMILIES["eos"] = replace(  # what is saved is said in eos_console.py
    FAMILIES["comware"],
    pager=" --More-- ",
    pager_wipe="\r" + " " * 10 + "\r",
    paging_off="terminal length 0",
    paging_on="terminal length 24",
)


def is_abbreviated(line: str, pattern: str) -> bool:
    """Return whether the words of a line abbreviate those of a command, as `conf` does `configure`."""
    typed, words = line.lower().split(), pattern.split()
    return len(typed) == len(words) and all(w.startswith(t) for t, w in zip(typed, words, strict=True))


class Console:
    """Answer the keys of one session on `device`; every returned text is ready for the wire.

    `closed` turns true when the switch hangs up. Each character is echoed when it is processed, never before: an
    answer is always behind the echo of what it answers, however far ahead a client types.
    """

    def __init__(self, device: Device, *, serial: bool = False, known: bool = False) -> None:
        self.device = device
        self._serial, self._known = serial, known
        self.family = FAMILIES[Grammar.of(device.platform).code]
        self.closed = False
        self._grammar = Grammar.of(device.platform)
        self._line = ""
        self._returns = Returns()
        self._hidden = False  # a password is being typed
        self._on_line: Callable[[str], str] = self._command
        self._on_key: Callable[[str], str] | None = None
        self._question = ""  # what a dialog asked; "" at a command prompt
        self._user = ""
        self._tries = 0
        self._privileged = False
        self._paging = True
        self._commands = 0
        self._requested_at = ""  # the prompt that the current line was typed behind
        self._waiting: list[str] = []
        self._header: tuple[str, ...] = ()
        self._editing: Interpreter | None = None
        self._whose = ""  # key is typed in the block of users' keys
        self._block = ""  # of lines that are none of tagloom's, which the interpreter does not know
        self._instead = ""

    @property
    def at_prompt(self) -> bool:
        """Return whether it waits for a command."""
        return not self._question and self._on_key is None

    @property
    def waits_with(self) -> str:
        """Return what ends the screen: a prompt, or what a dialog asked."""
        return self._question or self._prompt_text()

    def start(self) -> str:
        """Greet: the login dialog of ROS, or the prompt where SSH has asked for the password.

        A serial line or telnet asks in every family, where there is any user. One who is `known` is asked nothing.
        """
        if bool(self.device.users) if self._serial else self.family.login_in_shell and not self._known:
            return _RETURN + self._ask(self.family.user_question, self._user_name)
        return _RETURN + self._prompt()

    @property
    def pause_seconds(self) -> float:
        """Return how long the switch thinks before it takes the next line."""
        return 0.0 if self._question else self.device.quirks.delay_seconds

    def due(self, typed: str) -> Fault | None:
        """Return which fault strikes at the line that `typed` completes; none does inside a dialog."""
        if self._question or self._on_key is not None:
            return None
        line = (self._line + typed).strip()
        return self.device.faults.due(line, configures=self._editing is not None) if line else None

    def instead(self, kind: str) -> None:
        """Answer the next line with the family's error ("reject"), or as if it were done ("ignore")."""
        self._instead = kind

    def close(self) -> None:
        """Hang up, and leave `configure` to others."""
        self.closed = True
        self._leave_configuration()

    def feed(self, keys: str) -> str:
        """Take keys as they come, whole lines or one at a time, and return what the screen shows for them."""
        shown = []
        for key in keys:
            if self.closed:
                break
            shown.append(self._key(key))
        return "".join(shown)

    def _key(self, key: str) -> str:
        if self._returns.is_second(key):
            return ""
        if self._on_key is not None:
            return self._on_key(key)
        if key == "?" and not self._question:
            return key + _RETURN + self._help() + self._prompt() + self._line
        if key in _RETURN:
            line, self._line = self._line, ""
            return _RETURN + self._on_line(line)
        if key == _CONTROL_Z:
            self._line = ""
            self._leave_configuration()
            return _RETURN + self._prompt()
        if key == _CONTROL_C:
            self._line = ""
            return _RETURN + (self._question or self._prompt())
        if key in _ERASE:
            echo, self._line = ("\b \b" if self._line else ""), self._line[:-1]
            return echo
        return self._typed(key) if key.isprintable() else ""

    def _typed(self, key: str) -> str:
        self._line += key
        return "*" if self._hidden else key

    # Prompts and dialogs

    def _prompt(self) -> str:
        self._question, self._on_line, self._hidden = "", self._command, False
        return ("\r\n\r\r\x1b[K" if self.device.quirks.raw else "") + self._prompt_text()

    def _prompt_text(self) -> str:
        if self._block:
            return f"{self.device.hostname}(config-if)#"
        if self._editing is not None:
            return self._grammar.prompt(self.device.hostname, self._editing.context)
        return self.device.hostname + ("#" if self._privileged else ">") + self.family.after_prompt

    def _ask(self, question: str, answer: Callable[[str], str], *, hidden: bool = False) -> str:
        self._question, self._on_line, self._hidden = question, answer, hidden
        return question

    def _user_name(self, line: str) -> str:
        if not line:
            return self._ask(self.family.user_question, self._user_name)
        self._user = line
        return self._ask("Password:", self._password, hidden=True)

    def _password(self, line: str) -> str:
        if self.device.accepts(self._user, line):
            return _RETURN + (self._prompt() if self.device.users != self.device.factory_users else self._renew())
        self._tries += 1
        if self._tries == LOGIN_TRIES:
            self.close()
            return "authentication failed" + _RETURN
        return "authentication failed" + _RETURN + _RETURN + self._ask(self.family.user_question, self._user_name)

    def _renew(self) -> str:
        """Ask for other credentials than the factory's: an SG300 whether, a CBS350 until it has them."""
        if Grammar.of(self.device.platform).platform.grammar == "sg300":
            text = f"Please change your password from the default settings.{_RETURN}{_RETURN}"
            return text + self._ask("Do you want to change the password (Y/N)[Y] ?", self._renew_or_not)
        text = f"Please change your username AND password from the default settings.{_RETURN}{_RETURN}"
        return text + self._ask("Enter new username: ", self._new_user)

    def _renew_or_not(self, line: str) -> str:
        if line.strip().lower() in ("n", "no"):
            return self._prompt()
        return self._ask("Enter old password  : ", self._old_password, hidden=True)

    def _old_password(self, line: str) -> str:
        if not self.device.accepts(self._user, line):
            return f"Incorrect old password{_RETURN}" + self._ask(
                "Enter old password  : ", self._old_password, hidden=True
            )
        return self._ask("Enter new password  : ", self._new_password, hidden=True)

    def _new_user(self, line: str) -> str:
        self._user = line.strip() or self._user
        return self._ask("Enter new password: ", self._new_password, hidden=True)

    def _new_password(self, line: str) -> str:
        def confirm(again: str) -> str:
            if again != line or again in self.device.factory_users.values() or not line:
                return f"Passwords do not fit{_RETURN}" + self._ask(
                    "Enter new password: ", self._new_password, hidden=True
                )
            self.device.foreign.take("", f"username {self._user} password {line} privilege 15")
            return f"Username and password were successfully updated.{_RETURN}{_RETURN}" + self._prompt()

        return self._ask("Confirm new password: ", confirm, hidden=True)

    # Answers

    def _answer(self, text: str = "") -> str:
        """Frame an answer: FASTPATH puts blank lines around it, but a caret must stand under what it points at."""
        blank = _RETURN if self.family.blank_after else ""
        if not text:
            return blank + self._prompt()
        lead = blank
        if text.lstrip(" ").startswith("^"):
            text, lead = " " * len(self._requested_at) + text, ""
        return lead + text.replace("\n", _RETURN) + _RETURN + blank + self._prompt()

    def _refuse(self, error: str) -> str:
        return self._answer(self._grammar.error(error, caret=""))

    def _page(self, page: shows.Page) -> str:
        self._header = page.lines[: page.header] if self.family.repeats_header else ()
        self._waiting = list(page.lines)
        lead = _RETURN if self.family.blank_after else ""
        return lead + self._show_lines(self.family.page_lines if self._paging else len(page.lines))

    def _show_lines(self, count: int) -> str:
        now, self._waiting = self._waiting[:count], self._waiting[count:]
        text = "".join(line + _RETURN for line in now)
        if self._waiting:
            self._on_key = self._pager_key
            return text + self.family.pager
        self._on_key = None
        return text + (_RETURN if self.family.blank_after else "") + self._prompt()

    def _pager_key(self, key: str) -> str:
        if key in _RETURN:
            return self.family.pager_wipe + self._show_lines(1)
        if key in "qQ\x1a":
            self._waiting, self._on_key = [], None
            return self.family.pager_wipe + self._prompt()
        if key in " mM":
            self._waiting[:0] = self._header
            return self.family.pager_wipe + self._show_lines(self.family.page_lines)
        return ""

    # Help

    def _help(self) -> str:
        """Return what `?` shows behind the line that is typed, of a transcript where the switch plays one."""
        played = self._played(HELP, self._line)
        lines = played.split("\n") if played is not None else help_page(self._grammar, self._context, self._line)
        text = self._grammar.error("unknown") if lines is None else "\n".join(lines)
        return text.strip("\n").replace("\n", _RETURN) + _RETURN

    def _played(self, kind: str, typed: str) -> str | None:
        if self.device.transcript is None:
            return None
        return self.device.transcript.answer(kind, self._context, typed)

    @property
    def _context(self) -> str:
        """Return what a transcript calls the place that the session stands in, "" for privileged exec."""
        if self._block:
            return first_context(self._grammar.platform, [self._block, *([self._whose] if self._whose else [])])
        return self._editing.context.kind.value if self._editing is not None else ""

    # Commands

    def _command(self, line: str) -> str:
        line = line.strip()
        if not line:
            return self._prompt()
        self._commands += 1
        self._requested_at = self._prompt_text()
        instead, self._instead = self._instead, ""
        if instead:
            return self._refuse("ports") if instead == "reject" else self._answer()
        answer = self._answer_to(line)
        if 0 < self.device.quirks.drop_after <= self._commands:
            self.device.drop_done()
            self.close()
            return ""
        return answer

    def _answer_to(self, line: str) -> str:
        if self._editing:
            return self._configure_line(self._editing, line)
        played = self._played(SHOW, line) if self._privileged else None
        return self._exec(line) if played is None else self._page(shows.Page(tuple(played.split("\n"))))

    def _exec(self, line: str) -> str:
        device, family = self.device, self.family
        if any(is_abbreviated(line, word) for word in ("quit", "logout")) or (
            is_abbreviated(line, "exit") and (family.exit_closes or not self._privileged)
        ):
            self.close()
            return ""
        if is_abbreviated(line, "exit") or is_abbreviated(line, "disable"):
            self._privileged = False
            return self._answer()
        if is_abbreviated(line, "enable"):
            self._privileged = True
            return self._answer()
        if line in (family.paging_off, family.paging_on):
            self._paging = line == family.paging_on
            return self._answer()
        pages = {
            "show version": shows.version,
            "show system": shows.system,
            "show vlan": shows.vlan,
            "show interfaces status": shows.interfaces_status,
            Grammar.of(device.platform).shows_addresses: shows.address_table,
        }
        for command, page in pages.items():
            if is_abbreviated(line, command):
                return self._page(page(device))
        if port := re.fullmatch(
            r"show interfaces switchport (?:ethernet )?(\S+)", self._grammar.port_lists.shorten(line)
        ):
            number = device.platform.port_number(port[1])
            if number is None:
                return self._refuse("ports")
            return self._page(shows.switchport(device, number))
        return self._privileged_exec(line) if self._privileged else self._refuse("unknown")

    def _privileged_exec(self, line: str) -> str:
        device, family = self.device, self.family
        if is_abbreviated(line, "configure") or is_abbreviated(line, "configure terminal"):
            if (
                device.quirks.locked
                or device.locked
                or (device.quirks.exclusive and device.editing not in (None, self))
            ):
                return self._answer(LOCKED)
            device.editing = self
            self._editing = Interpreter(device.platform, device.editor)
            return self._answer()
        for words, text_of in (
            ("show running-config", device.running_config),
            ("show startup-config", device.startup_config),
        ):
            if is_abbreviated(line, words):
                return self._page(shows.Page(tuple(text_of().splitlines())))
        if is_abbreviated(line, "copy running-config startup-config"):
            text = family.save_question.replace("\n", _RETURN)
            if family.save_by_key:
                self._on_key = self._save_key
                return text
            return self._ask(text, self._save_line)
        for words, question, answer in (
            ("delete startup-config", "Delete startup-config? (y/n) ", self._delete_line),
            ("reload", "This will reset the switch. Do you want to continue? (y/n) ", self._reload_line),
        ):
            if is_abbreviated(line, words):
                return self._ask(question, answer)
        if (said := self._of_scheduled_reload(line)) is not None:
            return said
        begun = line in ("show", "copy", "copy running-config", "terminal")
        return self._refuse("incomplete" if begun else "unknown")

    def _save_key(self, key: str) -> str:
        self._on_key = None
        return (key if key.isprintable() else "") + self._save_line(key)

    def _save_line(self, line: str) -> str:
        yes = line.strip().lower() in ("y", "yes")
        if yes:
            self.device.save()
        text = self.family.saved if yes else self.family.not_saved
        return (text.replace("\n", _RETURN) + _RETURN if text else "") + self._prompt()

    def _opens_block(self, line: str) -> bool:
        """Return whether a line opens the block of users' keys, or of a VLAN's address where tagloom has none there."""
        of_address = line.startswith("interface vlan ") and "interface vlan " in self._grammar.foreign_blocks
        return of_address or line == USER_KEYS

    def _take_in_block(self, line: str) -> str:
        if not self._block:
            self._block = line
        elif self._block == USER_KEYS:
            return self._take_user_key(line)
        elif line == "exit":
            self._block = ""
        elif self._grammar.is_foreign(ContextKind.INTERFACE_VLAN, line):
            self.device.foreign.take(self._block, line)
        else:
            return self._grammar.error("ports")
        return ""

    def _take_user_key(self, line: str) -> str:
        """Take a line of the block of users' keys, in which that of each user is a block of its own."""
        if line == "exit":
            self._block, self._whose = (USER_KEYS, "") if self._whose else ("", "")
        elif re.fullmatch(r"user-key \S+ rsa", line):
            self._whose = line
            self.device.foreign.take(USER_KEYS, line)
        elif self._whose and re.fullmatch(r"key-string row \S{1,160}", line):
            self.device.foreign.take(USER_KEYS, line)
        else:
            return self._grammar.error("unknown")
        return ""

    def _delete_line(self, line: str) -> str:
        if line.strip().lower() in ("y", "yes"):
            self.device.reset()
        return self._prompt()

    def _of_scheduled_reload(self, line: str) -> str | None:
        """Answer a line about a reload at a set time; None for any other line, and in a family without such lines."""
        words, left = self._grammar.scheduled_reload, self.device.reloads_in()
        if words is None:
            return None
        if is_abbreviated(line, words.show):
            shown = f"Image reload scheduled for later (in {left / 60:.0f} minutes)" if left is not None else ""
            return self._answer(shown or "No scheduled reload")
        if is_abbreviated(line, words.call_off):
            self.device.schedule(0)
            return self._answer("Reload cancelled.")
        if found := re.fullmatch(words.arm.format(minutes=r"(\d{1,5})"), line):
            minutes = int(found[1])
            return self._ask(_WHOLE_SYSTEM.format(minutes=minutes), partial(self._schedule_line, minutes))
        return None

    def _schedule_line(self, minutes: int, line: str) -> str:
        if line.strip().lower() in ("y", "yes"):
            self.device.schedule(minutes)
        return self._prompt()

    def _reload_line(self, line: str) -> str:
        if line.strip().lower() not in ("y", "yes"):
            return self._prompt()
        self.close()
        self.device.reload()
        return ""

    def _leave_configuration(self) -> None:
        self._editing, self._block = None, ""
        if self.device.editing is self:
            self.device.editing = None

    def _configure_line(self, editing: Interpreter, line: str) -> str:
        device = self.device
        if device.quirks.reject_line and re.search(device.quirks.reject_line, line):
            return self._refuse("ports")
        if device.quirks.ignore_line and re.search(device.quirks.ignore_line, line):
            return self._answer()
        context = editing.context
        if self._block or (context == CONFIG and self._opens_block(line)):
            return self._answer(self._take_in_block(line))
        if context == CONFIG and is_abbreviated(line, "crypto key generate rsa"):  # which no configuration shows
            device.has_host_key = True
            return self._answer(
                "RSA key generation started, this may take a few minutes....\nRSA key generation complete."
            )
        if line.removeprefix("no username ") in device.factory_users:
            device.quirks = replace(device.quirks, keeps_factory=False)
        if any(self._grammar.is_foreign(context.kind, words) for words in (line, line.removeprefix("no "))):
            device.foreign.take("" if context == CONFIG else self._grammar.enter(context), line)
            return self._answer()
        outcome = editing.feed(line)
        if outcome.kind is OutcomeKind.LEFT:
            self._leave_configuration()
        device.last_line = line
        device.changed()
        return self._answer(outcome.text)
