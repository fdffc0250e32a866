"""Find the secrets that lines of a configuration hold, so that these can be shown or kept without them."""

from __future__ import annotations

import re

from tagloom.plain_text import printable

SHOWN_CHARACTERS = 1000  # of an answer, in an error
_WORD = r'("[^"\n]*"|\S+)'
# Each is looked for by itself, since a line may hold several secrets.
_SECRETS = tuple(
    re.compile(rf"(?i){before}(?={_WORD})")  # looked ahead for, since a secret may be a word that another stands behind
    for before in (
        r"\bpassword (?:(?:role|level) \S+ |encrypted |(?:irreversible-)?cipher |simple |hash |sha512 |[057] (?=\S))*",
        r"\bsnmp-server community ",
        r"\b(?:radius|tacacs)-server [^\n]{0,400}?\bkey (?:(?:encrypted|simple|cipher) |[07] (?=\S))*",
        r"\bauthentication-key \d+ (?:md5|sha1) (?:[07] (?=\S))?",  # of sntp and ntp
        r"\bsecret (?:sha512 |[05] (?=\S))?",  # EOS: what it is written as, then it
        r"\bauth[ -](?:md5|sha)\w* ",  # of snmp-server user, as the two that follow
        r"\bpriv[ -](?:3?des|aes)\w* ",
        r"\bauth (?:md5|sha)\w* \S+ priv (?!(?:3?des|aes)\w* )",  # CBS350: the protocol is not named
        # Comware
        r"\bsnmp-agent community (?:(?:read|write|simple|cipher) )*",
        r"\bauthentication-mode (?:md5|sha|hmac)[\w-]* (?:(?:simple|cipher) )*",
        r"\bprivacy-mode (?:3?des|aes)[\w-]* (?:(?:simple|cipher) )*",
        r"\bsecurityname ",
        r"\bkey (?:(?:authentication|accounting|authorization) )+(?:(?:simple|cipher) )*",
        r"\bkey (?:simple|cipher) ",
        # a shell: chpasswd, snmpd.conf
        r"\bprintf '%s\\n' '?[a-z_][\w-]{0,31}:(?=\S{1,200} \| chpasswd)",
        r"\bcreateUser \S+ [A-Z][\w-]* (?:\S+ [A-Z][\w-]* )?",
        r"\bcreateUser \S+ [A-Z][\w-]* ",
        r"\brocommunity6? ",
        # RouterOS
        r"(?<![\w-])[\w-]{0,40}?(?:password|pre-shared-key|passphrase|secret)=",
        r"/snmp community [^\n]{0,400}?\bname=",
    )
)
# What people read, whatever words are in it.
_PROSE = re.compile(
    r"(?:no |undo )?(?:description|banner|hostname|sysname|asset-tag|snmp-server (?:location|contact)"
    r"|snmp-agent sys-info (?:location|contact)) "
)


def scrub(text: str) -> str:
    """Hide the secrets a configuration may hold, so that its lines can be shown or kept.

    >>> print(scrub("username plant password 0123 level 15 encrypted"))
    username plant password <hidden> level 15 encrypted
    """
    pieces, end = [], 0
    for first, last in _places(text):
        pieces += [text[end:first], "<hidden>"]
        end = last
    return "".join([*pieces, text[end:]])


def _places(text: str) -> list[tuple[int, int]]:
    """Return where the secrets of a text are, in order, none within another; all are looked for in the text itself.

    What is hidden first would hide from others what they stand behind: a secret may end as their word does.
    """
    found = sorted({(m.start(1), -m.end(1), m.start()) for pattern in _SECRETS for m in pattern.finditer(text)})
    places: list[tuple[int, int]] = []
    for first, last, word in found:
        inside = places and places[-1][0] < word < places[-1][1]  # a word within a secret is none of the switch's
        if (not places or first >= places[-1][1]) and not inside:
            places.append((first, -last))
    return places


def shown(answer: str, most: int = SHOWN_CHARACTERS) -> str:
    """Return the beginning of an answer as one line for an error: without secrets, and of printable characters."""
    words = " ".join(scrub(answer.lstrip()[: 64 * most]).split())
    return printable(words if len(words) <= most else f"{words[:most]} ...")


def secrets_in(line: str) -> list[str]:
    """List the words of a line that are secrets.

    >>> secrets_in("snmp-server community watchtower ro"), secrets_in("description password vault")
    (['watchtower'], [])
    """
    if _PROSE.match(line):
        return []
    return [line[first:last] for first, last in _places(line)]
