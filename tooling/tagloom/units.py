"""Convert between the units people write and the SI units the records hold."""


def parse_mac(text: str) -> int:
    """Read a MAC address in any usual spelling as a 48-bit integer.

    Colons, hyphens and dotted quads are taken (``02:00:00:00:00:0a``, ``0200.0000.000A``).
    Raises ValueError when the text is not twelve hexadecimal digits.

    >>> hex(parse_mac("0200.0000.000A"))
    '0x2000000000a'
    """
    digits = text.strip().replace(":", "").replace("-", "").replace(".", "")
    if len(digits) != 12 or not digits.isalnum() or digits[1] in "xX":  # int() alone would take "0x", "_" and signs
        raise ValueError(f"not a MAC address: {text!r}")
    return int(digits, 16)


def format_mac(mac: int, style: str = "colon") -> str:
    """Write a 48-bit integer as a MAC address; style is ``colon`` or ``dotted`` (upper-case quads).

    >>> format_mac(0x0200000000_0A)
    '02:00:00:00:00:0a'
    >>> format_mac(0x0200000000_0A, "dotted")
    '0200.0000.000A'
    """
    digits = f"{mac:012x}"
    if style == "dotted":
        return ".".join(digits[i : i + 4] for i in (0, 4, 8)).upper()
    return ":".join(digits[i : i + 2] for i in range(0, 12, 2))


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
    """Read ``2-4,8`` as ``[2, 3, 4, 8]``. Raises ValueError on anything else.

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
        numbers.extend(range(low, high + 1))
    return numbers
