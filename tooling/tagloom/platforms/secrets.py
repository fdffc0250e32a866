"""Find the secrets that lines of a configuration hold, so that these can be shown or kept without them.

What follows a word such as "key" or "password" is hidden, whatever it is, but for words that are known to be none of a
secret's. A word that is missing from these lists is hidden without need; none is shown that should not be.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import ip_interface
from itertools import chain
from typing import TYPE_CHECKING

from tagloom.plain_text import printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

SHOWN_CHARACTERS = 1000  # of an answer, in an error
HIDDEN = "<hidden>"
_MASKED = re.compile(r"""<hidden>|["']?\**["']?""")  # what shows nothing: hidden, asterisks, or empty

# A line, with those that a backslash joins to it (RouterOS); and its words, quoted ones whole.
_LINE = re.compile(r"(?:[^\n\\]++|\\\r?\n|\\)++")
_QUOTED = r'"(?:\\[\s\S]|[^"\\\n])*+"|\'[^\'\n]*+\''
_WORD = re.compile(
    rf"(?:%\^%#|%@%@|%\$%\$|@%@%)\S*+|{_QUOTED}"  # Huawei's ciphers may hold quotes
    rf"|[^\s=\"']++=(?:\\\r?\n[ \t]*+)?[^\s\"']*+(?:{_QUOTED})[^\s\"']*+"
    r"|[^\s=\"']++=(?:[^\s\"'\\]*+\\\r?\n[ \t]*+)++[^\s\"'\\]++|\S++"
)
_PAIR = re.compile(r"([^=:]*[^=:\s])[=:](?:\\\r?\n[ \t]*+)?(.+)", re.DOTALL)
_PARTS = re.compile(r"[^A-Za-z0-9]+")
_LONGEST_KNOWN = 60  # characters of a word that is compared with those that are known

# Parts of words that a secret follows, and those after which at least one word is a secret.
_STRONG = re.compile(
    r"\w*(?:passw(?:or)?d|passphrase|passcode|secrets?|community6?|psk|phrase|pwd)|(?:bind|root)pw|\w*key(?:string)?s?"
    r"|pass?(?:wo?r?)?|secre?|commu?n?i?t?|ciphe?"  # as consoles take them, too
)
_BEFORE = re.compile(
    rf"{_STRONG.pattern}|\w*(?:cipher|encrypt(?:ed|ion)?|auth|credentials?|digest)|auth(?:entication|enticate)"
    r"|\w*key\d+|priv|privacy|md5|sha\d{1,3}|securityname|cak|ckn|challenge|shared|aead|enc|token|communities|\w*passw(?:or)?d\w*|pin|puk|otp"
)
# Words that look so, and that no secret follows: settings of passwords and keys, and words that only sound so.
_SETTING = re.compile(
    r"passwords|(?:\w+-)*(?:password|key|\w*auth|authentication|community)-(?:aging|control|recovery|policy|encryption"
    r"|expiry|expire|length|min-length|history|strength|lockout|lock-out|retries|timeout|profile|size|usage|list"
    r"|exchange|rotation|id|port|period)"
    r"|password-auth\w*|user-key|key-?chain|keyring|key-id|(?:send|receive)-community|monkey|turkey|token-ring|rsa-keys"
)
_PROSE = re.compile(  # what people read, whatever words are in it
    r"[ \t]*(?:encrypted )?(?:no |undo )?(?:description|banner|hostname|sysname|asset-tag|name|remark"
    r"|snmp-server (?:location|contact)|snmp-agent sys-info (?:location|contact))[ \t]"
)
# Lines that hold no secret whatever is said in them: what decides forwarding, who may log in by which means, names.
_SHOWN_LINES = re.compile(
    r"(?:no |undo |default )?(?:(?:interface|vlan|switchport|spanning-tree|stp|mac|mac-address|port|trunk|ip ssh) "
    r"(?!.*\b(?:password|passphrase|secret|psk|cipher|md5|key) )"
    r"|aaa (?:authentication|authorization|accounting) |(?:ip https? |ip ssh |enable |login )authentication(?!-key) "
    r"|authentication (?:login|enable|default|dot1x|order|priority|event|host-mode|port-control|timer|violation) "
    r"|passwords? (?:min-length|aging|history|lock-out|strength|strength-check|complexity|encryption|exclude|unlock) "
    r"|(?:encrypted )?crypto key (?:generate|zeroize|pubkey-chain|import|export) "
    r"|(?:encrypted )?ip ssh-client key [rd]sa key-pair$"
    r"|(?:key[- ]?chain|keyring) "
    r"|snmp-(?:server|agent) group |snmp-agent community complexity-check |snmp(?:-server|-agent)? (?:enable )?traps? "
    r"(?!.*(?:host|communit))"
    r"|\S*-key(?:-code)? (?:begin|end)$|authentication ip-address |ip (?:ext|large-)?community-list |acl "
    r"|public-key (?:peer|local) |rsa peer-public-key |ssh (?:server|client) publickey |portal pass |pki key enhance "
    r"|password expire \d+$|local-aaa-user password policy \w+$|local-user password change-offline "
    r"|(?:set|match) (?:ext)?community \d|neighbor \S+ send-community|lacp [\w -]*key \d{1,5}$"
    r"|s?ntp(?:-service)? (?:server|peer|unicast-server|unicast-peer) \S+ (?:[\w-]+ )*?(?:key|authentication-keyid) \d"
    r"|s?ntp(?:-service)? (?:reliable |trusted-)(?:key|authentication-keyid) "
    r"|(?:encrypted )?snmp-server host (?=.* (?:version 3|v3)(?: |$))"
    r"|ssd (?:config$|file passphrase control |file integrity ))",
    re.IGNORECASE,
)


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Words behind them that may be shown: those that a number or a name follows, then all others.
_NUMBERED = _words("""
    level privilege priority timeout retransmit retries retry version port auth-port acct-port udp-port vlan weight
    key-id keyid authentication-keyid trusted-key min-length length aging lifetime minimum maximum expire usage index
    deadtime acl
""")
_NAMED = _words("""
    role group view mib-view vrf vpn-instance interface source-interface source source-ip acl scheme radius-scheme
    hwtacacs-scheme authentication-scheme template chain key-chain keychain access-class filter usage username name
    service-type
""")
_KNOWN = _words("""
    key keys string secret password passphrase pass phrase pre shared auth authentication accounting authorization
    priv privacy cipher encrypted encrypt encryption simple plain irreversible message digest mode usual nonstandard
    clear cleartext plaintext text hash hex hexadecimal ascii type keyid keystring community des mac ro rw su traps
    trap informs inform noauth 2c usm securityname params udp domain local remote none yes no enable disable enabled
    disabled address mask ipaddr ipaddress hostname host server primary secondary single connection ipv4 ipv6 dot1x
    all login enc comp acct super direction in out both fallback generate import export add set find where poll prefer
    scheme aaa radius tacacs hwtacacs ldap send receive level role id port state proto spi src dst reqid aead trunc
    min complexity check compatible snmp read write keyboard interactive = == : { } [ ] | & ; ( ) !
""")
_NO_SECRET = _words("none required")  # of a setting that asks for one, or for none
_EQUALS = _words("is was = :")
_COMPOUND_WORD = re.compile(r"[\w().@/+-]+")
_COMPOUND = _words("private public user peer network admin operator")  # known beside other known parts alone
_SENTENCE = _words("""
    is are was were has have had not must be been to the a an of for and or with by at on it this that your you too
    failed failure fails invalid incorrect wrong expired required denied device error rejected accepted changed long
    short missing unknown unsupported contain contains character characters timed refused
""")  # of an answer in which a switch speaks of passwords and keys
_VERDICTS = _words("failed failure error denied required incorrect invalid expired accepted rejected")
_SHOWN_WORDS = _KNOWN | _NUMBERED | _NAMED
_ALGORITHM = re.compile(
    r"md5|sha\d{0,3}|aes\d{0,3}|3?des\d{0,3}|cfb\d{0,3}|cbc|ctr|gcm|xpn|hmac|cmac|rsa|dsa|ecdsa|ecdh|ed25519"
    r"|curve25519|nistp\d{3}|dh|diffie|hellman|group\d{1,2}|tkip|ccmp?|gcmp|chacha20|poly1305|arcfour|rc4|wpa[23]?|psk|eap|peap|tls|ttls"
    r"|chap|mschap(?:v2)?|pap|v[123]c?|rfc\d{4}"
)
_SIZES = frozenset(("1", "2", "64", "96", "128", "160", "192", "224", "256", "384", "512"))
_ADDRESS = re.compile(r"[0-9a-f.:]{2,39}(?:/\d{1,3})?")
_HASHES = re.compile(r"(?:md5|sha|hmac|cmac)[\w-]*|cipher|plain|simple|encrypt")
_PORTS = frozenset(("49", "1645", "1646", "1812", "1813"))
# Whatever stands before it: a cipher of Huawei's, a hash, the password within an address.
_SELF_EVIDENT = re.compile(
    r"(?P<cipher>%\^%#.*%\^%#|%@%@.*%@%@|%\$%\$.*%\$%\$|@%@%.*@%@%)|(?P<hash>[\"']?\$\w{1,3}\$\S+)"
    r"|[a-z][a-z0-9+]{1,15}://[^/\s:@]{0,200}:(?P<password>[^@\s]{1,200})@"
    r"|[?&,;][\w-]{0,40}(?:pass(?:w(?:or)?d)?|passphrase|token|secret|psk|apikey|api_key)=(?P<option>[^,&;\s\"'\\]{1,200})"
    r"|\bcurl\b[^\n]{0,400}?\s(?:-u|--user)[ =]+[\"']?[^\s:]{1,100}:(?P<login>[^\s\"']{1,200})"
    r"|(?<!acl )\b(?:Bearer|Basic)[ ]+(?P<bearer>[\w.~+/=-]{1,2000})"
    r"|\b(?:Authorization|Cookie):[ ]*(?P<header>[^\"'\\\n]{1,2000})"
    r"|----BEGIN [\w -]{1,60}----(?P<pem>(?=.*\S).+?)(?=----+END |$)"
    r"|\bidentity=[\"']?\w{1,20}:\d:\w{1,300}:(?P<identity>[^\s\"'\\]{1,300})"
    r"|/system[ /]ntp[ /]key\b[^\n]{0,200}?\bval=[\"']?(?P<val>[^\s\"'\\]{1,200})"
    r"|/bot(?P<bot>\d{1,20}:[\w-]{1,100})"
    r"|\s-U[ ]+\S{1,100}%(?P<share>\S{1,200})"
    r"|\b(?:EAP|XAUTH)[ ]+(?P<quoted>[\"'][^\"'\n]{1,200}[\"'])"
    r"|:(?:local|global|set)[ ]+\w{0,40}(?:pw|pass|secret|key|token|psk)\w{0,40}[ ]+\\?[\"']?"
    r"(?P<variable>[^\s\"'\\;]{1,200})"
    r"|<(?:\w{1,40}:)?[\w-]{0,40}(?:password|passphrase|secret|key|community)[\w-]{0,40}>(?P<element>[^<]{1,400})<",
    re.DOTALL | re.IGNORECASE,
)
# Programs, and their options that a secret may be attached to.
_ATTACHED = tuple(
    (re.compile(program), re.compile(rf"(?:(?<=\s)|(?<=^))-[{options}](?P<attached>[^\s-]\S{{0,200}})"))
    for program, options in (
        (r"\b(?:sshpass|mysql\w*)\b", "p"),
        (r"\bipmitool\b", "P"),
        (r"\b(?:snmp(?:bulk)?(?:get|getnext|walk|set|status|table|trap|inform|df|test)|trapsess)\b", "cAX"),
    )
)
# Lines in which a secret has a place and no word before it: how many words are shown from where this ends.
_PLACES = tuple(
    (re.compile(r"(?:(?<![\w./-])|(?<=^-))" + pattern.replace(" ", r"[ \t]++"), re.IGNORECASE if any_case else 0), kept)
    for pattern, kept, any_case in (
        (r"snmp(?:-s[a-z]*+)? (?:vrf \S++ )?(?:(?:trap-?)?ho[a-z]*+|trap-?receiver) (?:vrf \S++ )?", 1, True),
        (r"(?:snmp-server )?snmptrap ", 0, True),
        (r"(?:trap2?sink|informsink|createUser)(?: -e \S++)? ", 1, True),
        (r"com2sec6? ", 2, True),
        (r"rmon event \d++ .{0,400}?\b(?:trap|both)(?: community)? ", 0, True),
        (r"(?:trapsess|proxy|snmp\w++) .{0,400}?-[cAXxax] ", 0, False),
        (r"usmUser ", 0, False),
        (r"r[ow]community6? ", 0, False),
        (r"snmp-a[a-z]*+ usm[a-z-]*+ v(?:1|2c) ", 0, True),
        (r"snmp-[a-z]{1,} com[a-z]{0,2} ", 0, True),
        (r"(?:radius|tac)[\w-]*+ (?:\S++ ){0,20}?ke? ", 0, True),
        (r"(?:useradd|usermod|sshpass|docker login|racadm) .{0,400}?-p ", 0, False),
        (r"(?:ldap\w++) .{0,400}?-w |redis-cli .{0,400}?-a |ipmitool .{0,400}?-P |ssh-keygen .{0,400}?-N ", 0, False),
        (r"keyctl p?add user \S++ ", 0, False),
    )
)
_VERSIONS = _words("1 2 3")
# What a shell pipes into a program that takes a secret, or writes to a file of one.
_PIPED = re.compile(
    r"\b(?:printf|echo)(?: -[neE]+)?(?: '%s\\n')? ['\"]?(?:[a-z_][\w-]{0,31}:)?(?P<piped>[^\s'\"\\]{1,200})"
    r"[^|>\n]{0,20}"
    r"(?:\| *(?:sudo )?(?:chpasswd|passwd|wg|openssl|cryptsetup)\b|> *\S{0,200}(?:key|secret|passw|psk))"
)
_COMMUNITY_MENU, _MENU_ABOVE = re.compile(r"/snmp[ /]+community\b"), re.compile(r"/snmp/?")
# Bodies over several lines: what opens one, what ends it.
_PEM = re.compile(r"----[- ]BEGIN [\w -]{1,60}----")
_PEM_END = re.compile(r"----[- ]END [\w -]{1,60}----")
_PEM_LINE = re.compile(r"[\w+/=]*\\?|<hidden>|[\w-]+: .*")
_BODY = re.compile(
    r"certificate (?:(?:ca|self-signed) )?[0-9A-Fa-f]+|(?:\S+ )*(?:public-)?key-code begin"
    r"|(?:\S+ )*(?:key-string|private-key)|chpasswd <<-?['\"]?\w+['\"]?",
    re.IGNORECASE,
)
_BODY_ENDS = frozenset(("quit", "exit", "end", "!", "#", ".", "", "public-key-code end", "key-code end"))
_BODY_LINE = re.compile(r"<hidden>|[0-9A-Fa-f]{2,}(?: [0-9A-Fa-f]{2,})*|[\w+/=:,.-]+")
_LONG_DUMP = re.compile(
    r"(?:[0-9A-Fa-f]{8} ){2,}[0-9A-Fa-f]{2,8}|[0-9A-Fa-f]{48,}|(?=\S*[+/=])[A-Za-z0-9+/]{40,}={0,2}"
)

# Without one of these a line holds nothing of the above: most lines of a large configuration are static entries.
_HINTS = (
    *("pas", "pw", "key", "sec", "com", "psk", "phrase", "ciph", "encrypt", "auth", "credential", "digest"),
    *("priv", "md5", "sha", "securityname", "cak", "ckn", "aead", "enc", "token", "snmp", "trap", "sink", "com2sec"),
    *("radius", "tac", "proxy", "usmuser", "curl", "bearer", "basic", "echo", "printf"),
    *("pin", "puk", "otp", "identity", "/bot", "cookie", "eap", " -"),
    *("createuser", "useradd", "usermod", "rmon", "certificate", "----", "%", "$", "://"),
)


def scrub(text: str) -> str:
    """Hide the secrets a configuration may hold, so that its lines can be shown or kept.

    >>> print(scrub("username plant password 0123 level 15 encrypted"))
    username plant password <hidden> level 15 encrypted
    """
    pieces, end = [], 0
    for first, last in _places(text):
        pieces += [text[end:first], HIDDEN]
        end = last
    return "".join([*pieces, text[end:]])


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


@dataclass(frozen=True, slots=True)
class _Word:
    """A word of a line and where it begins in the text; `bare` is without quotes and colons, in small letters."""

    text: str
    start: int

    @property
    def bare(self) -> str:
        return self.text.strip("\"':,;.!").lower()

    @property
    def place(self) -> tuple[int, int]:
        return self.start, self.start + len(self.text)

    @property
    def pair(self) -> tuple[str, str] | None:
        """Return the key and the value of ``key=value`` or ``key:value``, None where it is none."""
        found = _PAIR.fullmatch(self.text) if self.text[0] not in "\"'" else None
        return (found[1].strip("{[\"'-").lower(), found[2]) if found else None

    @property
    def is_before(self) -> bool:
        return self.pair is None and " " not in self.text and _comes_before(self.bare)

    @property
    def is_strong(self) -> bool:
        return _is_strong(self.bare)


def _places(text: str) -> list[tuple[int, int]]:
    """Return where the secrets of a text are, in order, apart from each other."""
    found: list[tuple[int, int]] = []
    pem, body, menu, above = False, False, False, False
    for line in _LINE.finditer(text):
        words = line[0].strip()
        start = line.start() + line[0].find(words)
        pem = pem and bool(_PEM_LINE.fullmatch(words))
        body = body and words.lower() not in _BODY_ENDS and bool(_BODY_LINE.fullmatch(words))
        if pem or body or _LONG_DUMP.fullmatch(words):
            found += [(start, start + len(words))] if words else []
            continue
        if words.startswith("/"):
            menu, above = bool(_COMMUNITY_MENU.match(words)), bool(_MENU_ABOVE.fullmatch(words))
        menu = menu or (above and words.startswith("community"))
        if not menu and not any(map(words.lower().__contains__, _HINTS)):
            continue
        begun = _PEM.match(words)
        pem = begun is not None
        if begun is not None and (rest := words[begun.end() :]).strip():  # its body, joined to it by a backslash or not
            first = words.find("\n") + 1 if rest.startswith(("\\\n", "\\\r\n")) else begun.end()
            found.append((start + first, start + len(words)))
            pem = not _PEM_END.search(words)
        body = bool(_BODY.fullmatch(words)) and not _PROSE.match(words)
        if not (pem or body or _PEM_END.match(words)):
            found += _places_of(words, start, menu=menu)
    apart: list[tuple[int, int]] = []
    for first, last in sorted(found):
        if apart and first <= apart[-1][1]:
            apart[-1] = (apart[-1][0], max(last, apart[-1][1]))
        else:
            apart.append((first, last))
    return apart


def _places_of(line: str, start: int, *, menu: bool = False) -> Iterator[tuple[int, int]]:
    """Find the secrets of one line that begins at `start`; `menu` says that it is of RouterOS's SNMP communities."""
    attached = (option.finditer(line) for program, option in _ATTACHED if program.search(line))
    for found in (*_SELF_EVIDENT.finditer(line), *_PIPED.finditer(line), *chain.from_iterable(attached)):
        at = found.lastgroup or 0
        yield start + found.start(at), start + found.end(at)
    words = [_Word(found[0], start + found.start()) for found in _WORD.finditer(line)]
    if _PROSE.match(line):
        yield from _of_prose(words)
    elif not _SHOWN_LINES.match(line):
        last = len(words) if line.startswith("/") else _first_before(words)
        for pattern, kept in _PLACES:
            if placed := pattern.search(line):
                last = len(words)
                behind = [word for word in words if word.start >= start + placed.end()][kept:]
                yield from _behind(behind, strong=True, numbers=_VERSIONS)
        keyed = any(word.pair is not None and word.pair[0] == "key" for word in words)
        for word in words:
            yield from _within(word, menu=menu, keyed=keyed)
        if last < len(words):
            yield from _behind(words[last + 1 :], strong=words[last].is_strong, before=words[last].bare)
            strong = [at for at, word in enumerate(words[:-1]) if at > last and word.is_strong and word.bare in _KNOWN]
            for at in strong[-1:]:  # a password may be a word that is known
                if words[at + 1].bare not in _NO_SECRET:
                    yield from _behind(words[at + 1 :], strong=True, before=words[at].bare)


def _first_before(words: Sequence[_Word]) -> int:
    """Return the place of the first word that a secret follows; how many words there are, where none is."""
    before = (at for at, word in enumerate(words) if word.is_before and (at or word.bare != "encrypted"))
    return next(before, len(words))


def _of_prose(words: Sequence[_Word]) -> Iterator[tuple[int, int]]:
    """Find what follows a password's own word among those that people read, "is" between them or not."""
    quoted = (list(_parts(word)) for word in words if word.text[0] in "\"'")
    for row in (words[1:], *quoted):
        for at, word in enumerate(row[:-1], start=1):
            if _STRONG.fullmatch(word.bare):
                yield from (each.place for each in row[at : at + 1 + (row[at].bare in _EQUALS)])


def _parts(word: _Word) -> Iterator[_Word]:
    """Yield the words within one that is quoted, without the quotes."""
    for found in re.finditer(r"[^\s\"']+", word.text):
        yield _Word(found[0], word.start + found.start())


def _within(word: _Word, *, menu: bool, keyed: bool) -> Iterator[tuple[int, int]]:
    """Find the secret that is a word's value (``key=...``), and those among the words that are quoted in one.

    In a `keyed` line a pair with a key of its own has its value apart: ``key=PASSWORD value=...``.
    """
    first = word.start
    value = word.text
    if pair := word.pair:
        key, value = pair
        first += len(word.text) - len(value)
        if key in {"comment", "description"} or _MASKED.fullmatch(value):
            return
        if (
            (menu and key == "name")
            or (keyed and key == "value")
            or (_comes_before(key) and (_is_strong(key) or not _is_known_list(value)))
        ):
            yield first, first + len(value)
            return
    if value[0] in "\"'" and len(value) > len("''"):
        yield from _places_of(value[1:-1], first + 1)


def _behind(
    words: Sequence[_Word], *, strong: bool, before: str = "", numbers: frozenset[str] = frozenset()
) -> Iterator[tuple[int, int]]:
    """Find the secrets behind a word that one follows: all words that are not known to be none.

    Where `strong`, one of them is a secret, so that all are hidden where all are known. `before` is the word itself.
    """
    bare = [before, *(word.bare for word in words), ""]
    spoken = sum(each in _SENTENCE for each in bare) > 1 or (len(words) == 1 and bare[1] in _VERDICTS)
    unknown = [
        word
        for at, word in enumerate(words, start=1)
        if not (_MASKED.fullmatch(word.text) or (spoken and word.bare in _SENTENCE | _VERDICTS))
        and not _may_be_shown(bare[at - 1], word.bare, bare[at + 1], numbers)
    ]
    hidden = any(_MASKED.fullmatch(word.text) for word in words)
    types = all(word.bare.isdigit() and len(word.bare) == 1 for word in unknown)  # how a secret stands there, and none
    for word in words if strong and types and not (hidden or spoken) else unknown:
        yield word.place


def _may_be_shown(before: str, word: str, after: str, numbers: frozenset[str]) -> bool:
    """Return whether a word between two others is none of a secret's."""
    if not word.isdigit():
        return before in _NAMED or _is_address(word) or _is_known(word)
    of_size = word in _SIZES and before.startswith("aes")
    of_key = len(word) <= 5 and _HASHES.fullmatch(after)
    of_type = len(word) == 1 and bool(after) and not _is_known(after)
    return bool(before in _NUMBERED or word in _PORTS or word in numbers or of_size or of_key or of_type)


def _is_address(word: str) -> bool:
    if not _ADDRESS.fullmatch(word):
        return False
    with suppress(ValueError):
        return bool(ip_interface(word))
    return False


def _is_known(word: str) -> bool:
    """Return whether a word is one of a command line's own, or put together of such."""
    parts = [part for part in _PARTS.split(word) if part] if len(word) <= _LONGEST_KNOWN else []
    if word in _SHOWN_WORDS or len(parts) < 2 or not _COMPOUND_WORD.fullmatch(word):
        return word in _SHOWN_WORDS or bool(_ALGORITHM.fullmatch(word))
    known = (part in _SHOWN_WORDS | _COMPOUND or _ALGORITHM.fullmatch(part) for part in parts[1:])
    return _is_known(parts[0]) | (parts[0] in _COMPOUND) and all(
        ok or part in _SIZES for ok, part in zip(known, parts[1:], strict=True)
    )


def _is_known_list(value: str) -> bool:
    return all(map(_is_known, value.strip("\"'").lower().split(",")))


def _comes_before(word: str) -> bool:
    """Return whether a secret follows a word."""
    if len(word) > _LONGEST_KNOWN or _SETTING.fullmatch(word):
        return False
    return any(map(_BEFORE.fullmatch, _PARTS.split(word)))


def _is_strong(word: str) -> bool:
    """Return whether at least one of the words that follow is a secret."""
    return bool(_STRONG.fullmatch(_PARTS.split(word)[-1]))
