"""Write and read the basic encoding rules as far as SNMP uses them (ITU-T X.690, RFC 3417 section 8).

The rack's agents stand against pysnmp, which reads them; so nothing here is pysnmp's or pyasn1's.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

INTEGER, OCTETS, NULL, OID, SEQUENCE = 0x02, 0x04, 0x05, 0x06, 0x30
IP_ADDRESS, COUNTER32, GAUGE32, TIME_TICKS, COUNTER64 = 0x40, 0x41, 0x42, 0x43, 0x46  # RFC 2578 section 7.1
NO_SUCH_OBJECT, NO_SUCH_INSTANCE, END_OF_MIB_VIEW = 0x80, 0x81, 0x82  # RFC 3416 section 3
GET, GET_NEXT, RESPONSE, GET_BULK, INFORM, TRAP, REPORT = 0xA0, 0xA1, 0xA2, 0xA5, 0xA6, 0xA7, 0xA8

Oid = tuple[int, ...]


def tlv(tag: int, content: bytes) -> bytes:
    """Return one element: tag, definite length, content."""
    size = len(content)
    if size < 0x80:
        return bytes((tag, size)) + content
    octets = size.to_bytes((size.bit_length() + 7) // 8, "big")
    return bytes((tag, 0x80 | len(octets))) + octets + content


def integer(value: int, tag: int = INTEGER) -> bytes:
    """Return a whole number; a counter's tag does not change how it is written: shortest two's complement."""
    return tlv(tag, value.to_bytes((value + (value < 0)).bit_length() // 8 + 1, "big", signed=True))


@lru_cache(maxsize=1 << 16)
def oid(arcs: Oid) -> bytes:
    """Return an object identifier of at least two arcs.

    >>> oid((1, 3, 6, 1, 4, 1, 674)).hex()
    '06072b060104018522'
    """
    content = bytearray()
    for arc in (arcs[0] * 40 + arcs[1], *arcs[2:]):
        septets = [arc & 0x7F]
        while arc := arc >> 7:
            septets.append(arc & 0x7F | 0x80)
        content.extend(reversed(septets))
    return tlv(OID, bytes(content))


def header(data: bytes, at: int) -> tuple[int, int, int]:
    """Read the tag and the borders of the content of the element at `at`. Raises ValueError where it is cut short."""
    if at + 2 > len(data):
        raise ValueError("an element is cut short")
    tag, size, start = data[at], data[at + 1], at + 2
    if size & 0x80:
        start += size & 0x7F
        size = int.from_bytes(data[at + 2 : start], "big")
    if start + size > len(data):
        raise ValueError("an element is cut short")
    return tag, start, start + size


def elements(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Read elements that stand in a row: tag and content of each. Raises ValueError where one is cut short."""
    at = 0
    while at < len(data):
        tag, start, end = header(data, at)
        yield tag, data[start:end]
        at = end


def inside(data: bytes, tag: int) -> list[tuple[int, bytes]]:
    """Read what one element of a known tag holds. Raises ValueError for another tag."""
    found, start, end = header(data, 0)
    if found != tag:
        raise ValueError(f"tag {found:#x}, not {tag:#x}")
    return list(elements(data[start:end]))


def number(content: bytes) -> int:
    """Read a whole number's content."""
    return int.from_bytes(content, "big", signed=True)


def arcs(content: bytes) -> Oid:
    """Read an object identifier's content."""
    found, arc = [], 0
    for octet in content:
        arc = arc << 7 | octet & 0x7F
        if not octet & 0x80:
            found.append(arc)
            arc = 0
    first = min(found[0] // 40, 2) if found else 0
    return (first, found[0] - 40 * first, *found[1:]) if found else ()
