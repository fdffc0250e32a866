"""Find the secrets that lines of a configuration hold, so that these can be shown or kept without them."""

from __future__ import annotations

import re

from tagloom.plain_text import printable

SHOWN_CHARACTERS = 1000  # of an answer, in an error
_WORD = r'("[^"\n]*"|\S+)'
# Each is looked for by itself, since a line may hold several secrets.
_SECRETS = tuple(
    re.compile(rf"(?i)({before}){_WORD}")
    for before in (
        r"\bpassword (?:(?:role|level) \S+ |encrypted |(?:irreversible-)?cipher |simple |hash )*",
        r"\bsnmp-server community ",
        r"\b(?:radius|tacacs)-server [^\n]{0,400}?key (?:(?:encrypted|simple|cipher) )*",
        r"\bauthentication-key \d+ (?:md5|sha1) ",  # of sntp
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
    for pattern in _SECRETS:
        text = pattern.sub(r"\1<hidden>", text)
    return text


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
    found = {(match.start(2), match[2]) for pattern in _SECRETS for match in pattern.finditer(line)}
    return [word for _, word in sorted(found)]
