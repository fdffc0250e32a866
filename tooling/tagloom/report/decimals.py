"""Write numbers for people: some significant digits, never an exponent."""

from __future__ import annotations

from math import floor, isfinite, log10

GROUPED_FROM = 1e4  # thousands are set apart from here on


def decimal(value: float, digits: int = 4) -> str:
    """Return a number with so many significant digits, in full where it has more before the point.

    >>> decimal(0.0000512, 2), decimal(61.25), decimal(1234567.8), decimal(0.0), decimal(-0.5)
    ('0.000051', '61.25', '1,234,568', '0', '-0.5')
    """
    if not isfinite(value):
        return str(value)
    if value == 0:
        return "0"
    places = max(0, digits - 1 - floor(log10(abs(value))))
    text = f"{value:,.{places}f}" if abs(value) >= GROUPED_FROM else f"{value:.{places}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
