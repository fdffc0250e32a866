"""Find the secrets that lines of a configuration hold, so that these can be shown or kept without them."""

from __future__ import annotations

import re

_SECRETS = re.compile(
    r"(?i)(\b(?:"
    r"password (?:level \d+ |encrypted )*"
    r"|snmp-server community "
    r"|(?:radius|tacacs)-server [^\n]{0,400}?key (?:encrypted )?"
    r"|authentication-key \d+ (?:md5|sha1) "  # of sntp
    r"|auth[ -](?:md5|sha)\w* |priv[ -](?:3?des|aes)\w* "  # of snmp-server user
    r'))("[^"\n]*"|\S+)'
)
# What people read, whatever words are in it.
_PROSE = re.compile(r"(?:no )?(?:description|banner|hostname|asset-tag|snmp-server (?:location|contact)) ")


def scrub(text: str) -> str:
    """Hide the secrets a configuration may hold, so that its lines can be shown or kept.

    >>> print(scrub("username plant password 0123 level 15 encrypted"))
    username plant password <hidden> level 15 encrypted
    """
    return _SECRETS.sub(r"\1<hidden>", text)


def secrets_in(line: str) -> list[str]:
    """List the words of a line that are secrets.

    >>> secrets_in("snmp-server community watchtower ro"), secrets_in("description password vault")
    (['watchtower'], [])
    """
    return [] if _PROSE.match(line) else [found[2] for found in _SECRETS.finditer(line)]
