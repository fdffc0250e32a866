"""Convert between the units people write and the SI units the records hold."""

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from ipaddress import AddressValueError, IPv4Address, IPv6Address

LISTED_NUMBERS = 16_384  # in one list; there are 4,094 VLANs, and a list that names each four times is none
_SSH_PORT = 22  # IANA's
_LABEL = r"[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?"
_HOST_NAME = re.compile(rf"(?=.{{1,253}}\Z){_LABEL}(?:\.{_LABEL})*\.?\Z")  # RFC 1123, section 2.1, and underscores
_NUMBER = re.compile(r"(?:\d+|0[xX][0-9A-Fa-f]*)\.?\Z", re.ASCII)  # the last label of an IPv4 address, never of a name
_ZONE = re.compile(r"[A-Za-z0-9_.-]+\Z")  # the name of an interface, RFC 4007, section 11


def parse_mac(text: str) -> int:
    """Read a MAC address in any usual spelling as a 48-bit integer.

    Colons, hyphens and dotted quads are taken (``02:00:00:00:00:0a``, ``0200.0000.000A``).
    Raises ValueError when the text is not twelve hexadecimal digits.

    >>> hex(parse_mac("0200.0000.000A"))
    '0x2000000000a'
    """
    digits = text.strip().replace(":", "").replace("-", "").replace(".", "")
    # int() alone would take "0x", "_", signs, and digits of other scripts.
    if len(digits) != 12 or not (digits.isascii() and digits.isalnum()) or digits[1] in "xX":
        raise ValueError(f"not a MAC address: {text!r}")
    return int(digits, 16)


def parse_mac_prefix(text: str) -> str:
    """Return the beginning of MAC addresses, one to five octets in any usual spelling, as `format_mac` writes it.

    Raises ValueError for anything else.

    >>> parse_mac_prefix("52-54-00"), parse_mac_prefix("0242.AC")
    ('52:54:00', '02:42:ac')
    """
    digits = text.strip().replace(":", "").replace("-", "").replace(".", "").lower()
    if not re.fullmatch(r"([0-9a-f]{2}){1,5}", digits):
        raise ValueError(f"no beginning of a MAC address: {text!r}")
    return ":".join(digits[i : i + 2] for i in range(0, len(digits), 2))


def is_host_address(mac: int) -> bool:
    """Return whether a MAC address can be a network card's: an individual one (IEEE 802-2014, 8.2.2), and not 0.

    >>> is_host_address(0x001EC9000001), is_host_address(0x01005E000001), is_host_address(0)
    (True, False, False)
    """
    return 0 < mac < 1 << 48 and not mac >> 40 & 1


def format_mac(mac: int, style: str = "colon") -> str:
    """Write a 48-bit integer as a MAC address.

    Style is ``colon``, ``dotted`` (upper-case), ``dotted-lower`` or ``hyphens``.

    >>> format_mac(0x0200000000_0A)
    '02:00:00:00:00:0a'
    >>> format_mac(0x0200000000_0A, "dotted")
    '0200.0000.000A'
    """
    digits = f"{mac:012x}"
    if style.startswith("dotted"):
        dotted = ".".join(digits[i : i + 4] for i in (0, 4, 8))
        return dotted.upper() if style == "dotted" else dotted
    if style == "hyphens":
        return "-".join(digits[i : i + 4] for i in (0, 4, 8))
    return ":".join(digits[i : i + 2] for i in range(0, 12, 2))


def joined_address(host: str, port: int) -> str:
    """Return a host and a port as `split_address` reads them.

    >>> joined_address("192.0.2.1", 2201), joined_address("2001:db8::1", 22)
    ('192.0.2.1:2201', '[2001:db8::1]:22')
    """
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def split_address(text: str, default: int = 0, *, any_free: bool = False) -> tuple[str, int]:
    """Return the host and port of ``host``, ``host:port``, ``2001:db8::1`` or ``[2001:db8::1]:port``.

    The port is `default` where none is said; port 0 may be said only where it means `any_free` one. Raises ValueError
    for anything but the name of a host or an IP address.

    >>> split_address("192.0.2.1:2201"), split_address("[2001:db8::1]"), split_address("rack-1.example")
    (('192.0.2.1', 2201), ('2001:db8::1', 0), ('rack-1.example', 0))
    """
    host, colon, number = text.rpartition(":")
    if not colon or (":" in host and not host.endswith("]")) or text.endswith("]"):
        host, number = text, ""
    elif not (number.isascii() and number.isdigit() and 0 < int(number[:6]) + any_free <= 0xFFFF + any_free):
        raise ValueError(f"not a port: {number!r}")
    bracketed = host.startswith("[") and host.endswith("]")
    host = host[1:-1] if bracketed else host
    if bracketed or ":" in host:
        try:
            zone = IPv6Address(host).scope_id
        except AddressValueError as error:
            raise ValueError(str(error)) from None
        if zone is not None and not _ZONE.match(zone):
            raise ValueError(f"not a zone: {zone!r}")
    elif not _HOST_NAME.match(host):
        raise ValueError(f"not the name of a host: {host!r}")
    elif _NUMBER.match(host.removesuffix(".").rpartition(".")[2]):
        IPv4Address(host)  # RFC 1123, section 2.1: what ends with a number is an address; resolvers read 192.0.2 as one
    return host, int(number) if number else default


def device_at(address: str) -> tuple[str, int]:
    """Return the host and port of an address, one for all its spellings; without a port, that of SSH.

    Raises ValueError as `split_address` does.

    >>> device_at("[2001:DB8:0::1]") == device_at("2001:db8::1"), device_at("::ffff:192.0.2.1"), device_at("S0.")
    (True, ('192.0.2.1', 22), ('s0', 22))
    """
    host, port = split_address(address, _SSH_PORT)
    if ":" not in host:
        return host.lower().removesuffix("."), port
    ip = IPv6Address(host)
    return str(ip.ipv4_mapped or ip).lower(), port


def managed_at(address: str, name: str) -> tuple[str, int]:
    """Return the host and port (0 if none is named) of a switch's address; a switch without one is reached by its name.

    >>> managed_at("192.0.2.1:2201", "s0"), managed_at("", "1.1")
    (('192.0.2.1', 2201), ('1.1', 0))
    """
    return split_address(address) if address else (name, 0)


def format_ranges(numbers: list[int], joiner: str = "-") -> str:
    """Write ascending integers the way switches do, runs joined.

    >>> format_ranges([2, 3, 4, 8])
    '2-4,8'
    """
    runs: list[list[int]] = []
    for n in numbers:
        if runs and n == runs[-1][1] + 1:
            runs[-1][1] = n
        else:
            runs.append([n, n])
    return ",".join(str(a) if a == b else f"{a}{joiner}{b}" for a, b in runs)


def parse_ranges(text: str) -> list[int]:
    """Read ``2-4,8`` as ``[2, 3, 4, 8]``. Raises ValueError on anything else, and on more than `LISTED_NUMBERS`.

    >>> parse_ranges("2-4,8")
    [2, 3, 4, 8]
    """
    numbers: list[int] = []
    for part in text.split(","):
        first, dash, last = part.partition("-")
        low = int(first)
        high = int(last) if dash else low
        if high < low:
            raise ValueError(f"range runs backwards: {part!r}")
        if len(numbers) + high - low >= LISTED_NUMBERS:
            raise ValueError(f"more than {LISTED_NUMBERS} numbers: {part!r}")
        numbers.extend(range(low, high + 1))
    return numbers


def clock_time(at: float, now: float) -> str:
    """Return a moment by the computer's own clock, with its date where that is not today's; both since the epoch.

    >>> len(clock_time(43200.0, 43200.0)), len(clock_time(43200.0 + 86400, 43200.0))
    (8, 19)
    """
    then, today = datetime.fromtimestamp(at, UTC).astimezone(), datetime.fromtimestamp(now, UTC).astimezone()
    return f"{then:%H:%M:%S}" if then.date() == today.date() else f"{then:%Y-%m-%d %H:%M:%S}"


def first_of(names: Sequence[str], most: int) -> str:
    """Return the first names, and how many more there are.

    >>> first_of(["s0", "s1"], 2), first_of(["s0", "s1", "s2", "s3"], 2)
    ('s0, s1', 's0, s1 and 2 more')
    """
    shown = ", ".join(names[:most])
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown


def number_of(number: int, noun: str) -> str:
    """Return a number of things in words.

    >>> number_of(1, "link"), number_of(64, "switch"), number_of(2, "static entry")
    ('1 link', '64 switches', '2 static entries')
    """
    if number == 1:
        return f"1 {noun}"
    if noun.endswith("y"):
        return f"{number:,} {noun[:-1]}ies"
    return f"{number:,} {noun}{'es' if noun.endswith(('s', 'ch', 'sh', 'x')) else 's'}"
