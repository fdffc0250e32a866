"""Get from a console's first words to its prompt: banners, questions, logins and keys that it waits for (sans-I/O)."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, NoReturn

from tagloom.errors import DeviceError
from tagloom.plain_text import printable
from tagloom.platforms.secrets import scrub, shown

if TYPE_CHECKING:
    from collections.abc import Iterable

# How a switch's log lines begin, which it writes unasked, by family; and what they have behind that.
_CLOCK, _DAY = r"\d\d:\d\d:\d\d", r"[A-Z][A-Za-z]{2} {1,2}\d{1,2}"
_AT_START = r"(?<![^\n>\]#])"  # of a line, or behind a prompt's sign: elsewhere a "#" is that sign
_ROUTEROS_DAY = r"(?:\w{3}/\d\d(?:/\d{4})?|\d{4}-\d\d-\d\d)"
_LOGS = (
    (rf"\d\d-\w{{3}}-\d{{4}} {_CLOCK}", r" {0,4}:? {0,4}%"),  # ROS
    (rf"<\d{{1,3}}> ?{_DAY} {_CLOCK}", r" [^\n]{0,200}%%"),  # FASTPATH, OS6
    (rf"(?:%|{_AT_START}[#*]){_DAY} {_CLOCK}:\d{{3}} \d{{4}} ", r"[^\n]{1,80}/\d/"),  # Comware; "#" is a trap
    (rf"(?:{_AT_START}#)?{_DAY} (?:\d{{4}} )?{_CLOCK}[^\n%]{{0,80}} (?:%%\d\d)?[A-Z][A-Z0-9_]{{1,39}}/\d/", ""),  # VRP
    (rf"\*?{_DAY} (?:\d{{4}} )?{_CLOCK}[^\n%]{{0,80}}: %", r"[A-Z0-9_-]{1,80}-\d-"),  # EOS
    # RouterOS, whose rule of its factory shows what is critical in every session; the date may be left out.
    (rf"(?:{_ROUTEROS_DAY} )?{_CLOCK} (?:echo: )?[a-z0-9-]{{2,20}}(?:,[a-z0-9-]{{2,20}}){{1,5}} ", ""),
    (r"\(\d{1,6} messages not shown\)", ""),
)
LOG_BEGINS = "(?:" + "|".join(begins for begins, _ in _LOGS) + ")"
_LOG = "(?:" + "|".join(begins + behind for begins, behind in _LOGS) + r")[^\n]*"
LOG_LINE = re.compile(rf"^{_LOG}\n?", re.MULTILINE)
_LOGGED = re.compile(rf" {{0,8}}{_LOG}\n?")
_LOGGED_WHOLE = re.compile(rf" {{0,8}}{_LOG}\n")
_LOGGED_LAST = re.compile(rf"(?:\n{{0,2}} {{0,8}}{_LOG})+\n{{0,2}}\Z")
PAGER = r"(?:More: <space>.{0,80}<(?:return|CR)> ?|--More-- or \(q\)uit)"
_MORE = r"^ {0,4}(?:-{2,8} ?(?i:more) ?-{2,8}(?: \(\d{1,3} ?%\))?|<-{1,8} ?(?i:more) ?-{1,8}>) ?"
# More may follow it, or it is the switch's own text.
VAGUE_PAGER = re.compile(rf"(?:{_MORE}|^Press any key to continue[^\n]{{0,40}})\Z", re.MULTILINE)
_USER = r"(?:user ?name|user|login) ?: ?"
_WHOSE = r"(?: (?:for|of) [^\n:]{1,64})?(?: \([^\n)]{1,40}\))? {0,4}: ?"
_PASSWORD = rf"password{_WHOSE}"
_YES, _NO = r"['\"]?\by(?:es)?\b['\"]?", r"['\"]?no?\b['\"]?"
_MORE_CHOICES, _DEFAULT = r"(?: ?[/|] ?[a-z?]{1,8}){0,2}", r"(?: ?[(\[](?:y(?:es)?|no?)[)\]])?"
_YES_OR_NO = (
    rf"(?:[(\[<{{]? ?{_YES} ?(?:/|\||or|,) ?{_NO}{_MORE_CHOICES} ?[)\]>}}]?{_DEFAULT}|\[y\]es ?(?:/|or) ?\[n\]o)"
    r" ?[?:.]? ?"
)
_ANY_KEY = r"(?:press|hit) (?:any|the|return|enter|<).{0,60}"
# A banner that has to be agreed to: Comware's and Huawei's `header legal`, OS6's `banner motd acknowledge`, and others.
_PRESS_YES = r"(?:press|hit|type|enter|input|key in) (?:the )?['\"\[(<]?y(?:es)?['\"\])>]?(?![\w-])[^\n]{0,100}"
_TYPES_YES = r"(?:type|enter|input|key in) (?:the )?['\"\[(<]?(y(?:es)?)\b"  # a line, where a prompt's sign ends it
_FAILED = r"^[^\w\n]{0,32}(?:authentication|login) failed"
_VIEW = r"^\[(?!y/|n/)[\w./~*-]{1,128}\] ?"  # of Comware
# Names may have blanks, quotes and signs: `(Core) #`, `sw1~#`, `"sw 1"#`. A line of # or = alone is a banner.
_AT_PROMPT = rf"(?:(?:[^\s#>=*]|\w[*=]) ?[>#] ?|{_VIEW})"
# The end of what a console says before it waits; no longer than `TAIL` characters of it are looked at.
WAITS = re.compile(
    rf"(?:{_USER}|{_PASSWORD}|{_YES_OR_NO}|^[^\n]{{0,60}}(?:{_ANY_KEY}|{_PRESS_YES})\n{{0,4}}|{_AT_PROMPT}|{PAGER}|{_MORE}"
    rf"|{_FAILED}[^\n]{{0,80}}\n{{0,4}})\Z",
    re.IGNORECASE | re.MULTILINE,
)
TAIL = 256
_AROUND = " \t\a"
# What a first login asks for: other credentials than the factory's.
_OLD, _NEW_USER = rf"(?:old|current\)?)(?: \w{{1,16}})? password{_WHOSE}", r"new user ?name ?: ?"
_NEW = rf"(?:(?:enter|confirm|re-?enter) (?:the )?new|confirm|re-?enter) password{_WHOSE}"
_RENEWS = (
    rf"(?:(?:new|re-?type|re-?enter|confirm|verify|repeat)[^\n]{{0,20}} password{_WHOSE}"
    r"|password \((?:again|repeat|confirm)[^\n)]{0,20}\) {0,4}: ?)"
)
# Offers of a switch that may be declined whenever it is logged in to.
_OFFERED = (
    r"wizard|initial config|set-?up|change (?:now|.{0,30}password)|password .{0,40}(?:change|modify)|continue to set it"
    r"|auto.{0,3}(?:config|install)|zero.?touch|license"
)
_AGREES = r"accept|agree|consent|acknowledg"
_OR_RETURN = r"\bor (?:press )?(?:the )?<?(?:enter|return)\b"
CONSENT = "consent"  # what stands for every banner that has to be agreed to, where answers are configured
_LINES_SHOWN = 4
_QUESTION = rf"{_YES_OR_NO}|{_ANY_KEY}|{_PRESS_YES}"
_ASKS = r"[?:\])>]$|(?i:\bmore\b.{0,40})$"  # how the last line of a console ends that waits for an answer
_MUST_SET = r"continue to set it\? ?\[y/n\]:? ?"  # a password of a Huawei switch's console
_MOST_ANSWERS = 24
_ROUNDS = 8  # of Returns, each of which brought something else than the one before
_SUBMODE = re.compile(r"\(config[^()\n]{0,64}\)$", re.IGNORECASE)


def without_log(text: str) -> str:
    """Return a text without what the switch has written unasked: whole lines, and what stands behind a prompt.

    A prompt that log lines have left behind stands at the end again.
    """
    return _LOGGED.sub("", _LOGGED_LAST.sub("", text))


def without_whole_log(text: str) -> str:
    """Return a text without log lines that have ended: what has come of another one stays until its end has come."""
    return _LOGGED_WHOLE.sub("", text)


def holds_log(text: str) -> bool:
    """Return whether a log line stands in a text, alone or inside another line."""
    return _LOGGED.search(text) is not None


def last_lines(said: str, *secrets: str) -> str:
    """Return the last lines of what a console said, on one line, to be shown in an error, without `secrets`.

    What may be a secret is hidden, but in questions: "press any key to accept" would lose its end.
    """
    text = _without_secrets(said[-4 * TAIL :], secrets)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    last = (line if _ends(line, _QUESTION) else shown(line) for line in lines[-_LINES_SHOWN:])
    return printable(" / ".join(last)[-TAIL:])


def last_of_answer(said: str, size: int, *secrets: str) -> str:
    """Return the last lines of an answer of `size` characters that never ended, of which `said` is the end.

    Of an answer that `said` is only the end of, a question alone is shown: it may be a configuration, whose earlier
    lines decide what in the last ones is a secret.
    """
    text = _without_secrets(said, secrets)
    *before, last = scrub(text).rstrip().split("\n")
    waits = text.rstrip().rpartition("\n")[2].strip()
    if _ends(waits, _QUESTION):
        last = waits
    elif size > len(said) and re.search(_ASKS, waits) is None:
        return ""
    lines = [*([] if size > len(said) else before), last]
    lines = [" ".join(line.split()) for line in lines if line.strip()]
    return printable(" / ".join(lines[-_LINES_SHOWN:])[-TAIL:])


def with_last_lines(why: str, seen: str) -> str:
    """Return what is wrong, with a console's last lines where there are some to be shown."""
    return f"{why}; the console's last lines: {seen}" if seen else why


def _without_secrets(said: str, secrets: Iterable[str]) -> str:
    text = without_log(said)
    for secret in filter(None, secrets):
        text = text.replace(secret, "<hidden>")
    return text


def _ends(text: str, pattern: str) -> bool:
    return re.search(rf"(?:{pattern})\Z", text[-TAIL:], re.IGNORECASE | re.MULTILINE) is not None


def _is(line: str, pattern: str) -> bool:
    return re.fullmatch(pattern, line, re.IGNORECASE) is not None


def _last_line(said: str) -> str:
    return said.rstrip().rpartition("\n")[2][-TAIL:]


def _wants_consent(said: str) -> bool:
    """Return whether a console waits for an agreement: yes or no to what is no offer, or a key that means it."""
    last = _last_line(said)
    if _ends(said, rf"(?:{_PRESS_YES})\n{{0,4}}"):
        return True
    if _ends(said, _YES_OR_NO):
        return re.search(_OFFERED, last, re.IGNORECASE) is None
    return _ends(said, rf"(?:{_ANY_KEY})\n{{0,4}}") and re.search(_AGREES, last, re.IGNORECASE) is not None


def _words_of(words: str) -> str:
    """Return the pattern of an operator's words in a console's last line, or over the end of one and the next."""
    return r"\s{1,8}".join(map(re.escape, words.split())) + r"[^\n]{0,80}\n{0,4}"


def _is_yes(keys: str) -> bool:
    return keys.strip().lower() in {"", "y", "yes"}


@cache
def _waits(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE | re.MULTILINE)


class Greeting:
    """What to type until a console is at its prompt; `answer` raises DeviceError where it will never be.

    A prompt is a line that comes again, alone, where nothing but a Return is typed: a banner's line does not. Names and
    passwords are given once in each of the `tries`; some firmware asks for the name twice before the password (netmiko,
    cisco_s300). Where the prompt's `name` is known, a line of it is enough. `ends_view` leads out of every view, where
    prompts have brackets. `answers` are the operator's to what a console says: keys by words of its last lines, or by
    `CONSENT`. Without one, nothing is agreed to, and a question that is no offer is an error.
    """

    def __init__(
        self,
        switch: str,
        user: str,
        password: str,
        name: str = "",
        *,
        ends_view: str = "",
        tries: int = 1,
        answers: Iterable[tuple[str, str]] = (),
    ) -> None:
        self.name = name  # what stands before the prompt's sign, and
        self.sign = ""  # that sign: > or #
        self.mode = ""  # what stood between parentheses there: a serial line may have been left in a sub-mode
        self._switch, self._ends_view, self._tries = switch, ends_view, tries
        self._log_in_as(user, password)
        self._line, self._rounds, self._answers = "", 0, 0
        self._configured, self._agreed = dict(answers), set[str]()

    def _log_in_as(self, user: str, password: str) -> None:
        self._user, self._password = user, password
        self._names, self._passwords, self._given = [user] * 2, [password], False

    def is_clear(self, said: str) -> bool:
        """Return whether nothing that could follow what was said would change what to type."""
        line = said.rpartition("\n")[2].strip(_AROUND)
        if self.name:
            return line in (f"{self.name}>", f"{self.name}#")
        return (bool(self._line) and line == self._line) or (len(self._names) == 1 and _is(line, _PASSWORD))

    def answer(self, said: str) -> str | None:
        """Return the keys to type at what was said since the last were typed; None where `name` and `sign` are known.

        `said` ends with one of `WAITS`, behind which nothing came for a while.
        """
        self._check_rounds(said)
        if self._given and re.search(_FAILED, said, re.IGNORECASE | re.MULTILINE):
            self._be_refused()
        if (keys := self._as_configured(said)) is not None:
            return keys
        if _ends(said, f"{_OLD}|{_RENEWS}"):
            self._be_puzzled(said, "wants another password: log in once and set it")
        if _ends(said, _PASSWORD):
            if not self._passwords:
                self._be_refused()
            self._given = True
            return f"{self._passwords.pop()}\n"
        if _ends(said, _USER):
            if self._given or not self._names:
                self._be_refused()
            return f"{self._names.pop()}\n"
        if _wants_consent(said):
            self._be_puzzled(said, f"wants consent, which tagloom_console_answers gives: {{{CONSENT}: y}}")
        if _ends(said, _YES_OR_NO):  # a set-up wizard, a new password: not now
            return "n\n"
        if _ends(said, f"{PAGER}|{_MORE}"):
            return "q"
        if _ends(said, _AT_PROMPT):
            return self._at_prompt(said)
        return "\n"

    def _check_rounds(self, said: str) -> None:
        self._answers += 1
        if self._answers > _MOST_ANSWERS:
            raise DeviceError(self._switch, "login", f"asks without end: {last_lines(said, self._password)}")

    @property
    def waits(self) -> re.Pattern[str]:
        """Return `WAITS`, and the words that the operator's answers are to."""
        own = [_words_of(words) for words in self._configured if words != CONSENT]
        return _waits("|".join((WAITS.pattern, *(rf"(?:{words})\Z" for words in own)))) if own else WAITS

    def _as_configured(self, said: str) -> str | None:
        """Return the operator's keys for what a console says last, None where they have none; each text once.

        Behind a key that is waited for goes no Return: it would be an empty name at the login that follows.
        """
        text = " ".join(said[-TAIL:].split())
        pressed = _ends(said, rf"(?:{_PRESS_YES}|{_ANY_KEY})\n{{0,4}}")
        asks = pressed or _ends(said, _YES_OR_NO)
        if not asks and _ends(said, f"{_USER}|{_PASSWORD}|{_AT_PROMPT}"):
            return None
        consents = _wants_consent(said)
        for words, keys in self._configured.items():
            if consents if words == CONSENT else _ends(said, _words_of(words)):
                if text in self._agreed:
                    self._be_puzzled(said, f"asks again after {keys!r}")
                self._agreed.add(text)
                if pressed and _is_yes(keys) and re.search(_OR_RETURN, text, re.IGNORECASE):
                    return "\n"
                typed = re.search(_TYPES_YES, _last_line(said), re.IGNORECASE) if text.endswith((":", "?")) else None
                if typed is not None and keys.strip().lower() in {"y", "yes"}:
                    return f"{typed[1].lower()}\n"
                return keys if keys.endswith("\n") or (pressed and len(keys) == 1) else f"{keys}\n"
        return None

    def _be_puzzled(self, said: str, why: str) -> NoReturn:
        raise DeviceError(
            self._switch, "login", f"the console {why}; its last lines: {last_lines(said, self._password)}"
        )

    def _at_prompt(self, said: str) -> str | None:
        lines = [line.strip(_AROUND) for line in said.split("\n")]
        lines = [line for line in lines if line]
        if self.name and lines and lines[-1] in (f"{self.name}>", f"{self.name}#"):
            self._line = lines[-1]
            lines = lines[-1:]
        if self._ends_view and lines and _is(lines[-1], _VIEW):
            self._line = ""
            return f"{self._ends_view}\n"
        if lines and lines[-1] == self._line and set(lines) == {self._line}:
            name, self.sign = self._line[:-1], self._line[-1]
            mode = _SUBMODE.search(name[-TAIL:])
            self.mode = mode[0] if mode else ""
            self.name = name.removesuffix(self.mode)
            return None
        self._line, self._rounds = lines[-1] if lines else "", self._rounds + 1
        if self._rounds > _ROUNDS:
            last = last_lines(self._line, self._password)
            raise DeviceError(self._switch, "login", f"no line comes twice, as a prompt does: {last}")
        return "\n"

    def _be_refused(self) -> None:
        """Go on with another login where there is one. Raises DeviceError where there is none."""
        self._tries -= 1
        if not self._tries:
            raise DeviceError(self._switch, "login", f"refused for user {self._user!r}")
        self._log_in_as(self._user, self._password)


class EnableGreeting(Greeting):
    """What to type behind `enable` at a console whose `name` is known; `group` is the inventory's of its model.

    A password that is missing, or refused, is one sentence with the variable that gives it.
    """

    def __init__(self, switch: str, password: str, name: str, group: str) -> None:
        super().__init__(switch, "", password, name)
        self._group, self._heard, self._looked = group, "", False

    def answer(self, said: str) -> str | None:
        """Return the keys to type, as of `Greeting`. Raises DeviceError for a password that is missing or refused."""
        self._heard = (self._heard + said)[-4 * TAIL :]
        if not self._password and _ends(said, _PASSWORD):
            self._be_refused()
        found = super().answer(said)
        if found is None and self.sign != "#":
            if self._looked or "enable" in "".join(self._heard.split()):
                self._be_refused()
            self._looked = True  # a prompt of before, drawn again behind a log line: the answer is yet to come
            return "\n"
        return found

    def _be_refused(self) -> NoReturn:
        where = f"a vault, group_vars/{self._group}.yml or TAGLOOM_ENABLE_PASSWORD"
        said = f"the password of ansible_become_password is refused for {self._switch}: another in {where}"
        if not self._password:
            said = f"a password is wanted: set ansible_become_password for {self._switch} in {where}"
        lines = [line.strip() for line in self._heard.splitlines()]
        usual = {"", "enable", f"{self.name}>"}
        if any(line not in usual and not _is(line, _PASSWORD) for line in lines):
            said = with_last_lines(said, last_lines(self._heard, self._password))
        raise DeviceError(self._switch, "enable", said)


class FirstGreeting(Greeting):
    """What to type at a console whose switch may be as from its factory.

    Where the login given is refused, `factory` is tried, a user and a password. A switch that asks for other
    credentials than those gets the login given: `renewed`.
    """

    def __init__(
        self,
        switch: str,
        user: str,
        password: str,
        factory: tuple[str, str] | None,
        ends_view: str = "",
        answers: Iterable[tuple[str, str]] = (),
    ) -> None:
        super().__init__(switch, user, password, ends_view=ends_view, answers=answers)
        self.renewed = False
        self._own, self._factory = (user, password), factory

    def answer(self, said: str) -> str | None:
        """Return the keys to type, as of `Greeting`, or the credentials that are asked for."""
        if _ends(said, _OLD):
            self._check_rounds(said)
            return f"{self._password}\n"
        if _ends(said, _MUST_SET):
            self._check_rounds(said)
            return "y\n"
        if _ends(said, f"{_NEW_USER}|{_NEW}"):
            self._check_rounds(said)
            self.renewed = True
            return f"{self._own[not _ends(said, _NEW_USER)]}\n"
        return super().answer(said)

    def _be_refused(self) -> None:
        if self._factory is None:
            raise DeviceError(self._switch, "login", "the console knows neither no login nor the inventory's")
        factory, self._factory = self._factory, None
        self._log_in_as(*factory)
